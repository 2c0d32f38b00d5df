"""Where metrics are read: an address of its own, which need not be open to those who play.

Metrics tell how much is played, what fails and how much room is left. Players come in by one port from anywhere, and
whoever watches over servers by another one, from a network of theirs: so nothing has to be filtered, by a path or by a
token, which could be forgotten.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.health import Pulse, health_routes
from api.listening import uvicorn_options
from api.metrics import Metrics

__all__ = ["monitored"]

_logger = structlog.get_logger(__name__)


def monitoring_app(metrics: Metrics, pulse: Callable[[], Pulse | None]) -> Starlette:
    """Return the ASGI application that shows metrics at ``/metrics``, and health beside them."""

    async def shown(request: Request) -> Response:
        # In a thread: to write them takes some milliseconds, in which the loop would do nothing else.
        body, media_type = await asyncio.to_thread(metrics.written, request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type, "cache-control": "no-store"})

    return Starlette(routes=[Route("/metrics", shown), *health_routes(pulse)])


def monitoring_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 takes any free port.

    Raises:
        OSError: the address can't be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


class _Listener(uvicorn.Server):
    """Listens beside the server proper, which is the one that hears signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def monitored(metrics: Metrics, pulse: Callable[[], Pulse | None], *, host: str, port: int) -> AsyncIterator[str]:
    """Show metrics at an address of their own until the block ends, and measure the event loop; yield the address.

    Raises:
        OSError: the address can't be had.
    """
    feeling = asyncio.create_task(metrics.feel_the_loop())
    try:
        async with _served(monitoring_app(metrics, pulse), monitoring_socket(host, port)) as address:
            yield address
    finally:
        feeling.cancel()
        await asyncio.gather(feeling, return_exceptions=True)


@asynccontextmanager
async def _served(app: Starlette, listening: socket.socket) -> AsyncIterator[str]:
    """Serve an application at a socket until the block ends, and close it; yield its address."""
    host, port = listening.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    options = uvicorn_options() | {"timeout_graceful_shutdown": 1}
    server = _Listener(uvicorn.Config(app, lifespan="off", log_config=None, **options))
    serving = asyncio.create_task(server.serve([listening]))
    _logger.info("metrics can be read", at=f"http://{address}/metrics")
    try:
        yield address
    finally:
        server.should_exit = True
        await serving
        listening.close()
