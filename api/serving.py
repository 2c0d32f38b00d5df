"""The web server, from its start to its end."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import uvicorn

from api.app import GRAPHQL_PATH, Keys, create_app
from api.collector import settle_collector
from api.listening import uvicorn_options
from api.logs import uvicorn_log_config
from api.settings import LogFormat, Settings
from api.signing import Signing

__all__ = ["serve_until_stopped"]

_logger: Final = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Says where it listens as soon as it does, and does not wait for subscribers when it stops."""

    def __init__(
        self, config: uvicorn.Config, end_streams: Callable[[], Awaitable[None]], tell: Callable[[str], None] | None
    ) -> None:
        """Take what ends the streams, and what tells a person; where that is None, the log is told."""
        super().__init__(config)
        self._end_streams = end_streams
        self._tell = tell

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._end_streams()
        await super().shutdown(sockets=sockets)
        if self._tell is None:
            _logger.info("stopped")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for server in self.servers if self.started else ():
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                if self._tell is None:
                    _logger.info("listening", at=f"http://{address}{GRAPHQL_PATH}")
                    continue
                self._tell(f"TIC listens on [bold]http://{address}{GRAPHQL_PATH}[/bold] (GraphiQL in a browser)")
                self._tell(f"            and ws://{address}{GRAPHQL_PATH}. Stop it with Ctrl-C.")


def serve_until_stopped(
    settings: Settings,
    url: str,
    keys: Keys,
    signing: Signing | None,
    address: tuple[str, int],
    *,
    tell: Callable[[str], None],
) -> bool:
    """Run the server on the database at ``url`` until it is stopped; return whether it had started.

    Args:
        settings, url, keys, signing: as ``create_app`` takes them.
        address: the host and the port at which it listens.
        tell: is given what a person at the terminal is to know, with the marks of rich; where the log is in JSON, the
            log is told instead.
    """
    application = create_app(settings, url, keys, signing=signing)
    config = uvicorn.Config(
        application,
        host=address[0],
        port=address[1],
        log_config=uvicorn_log_config(),
        lifespan="on",
        **uvicorn_options(),
    )
    settle_collector()
    of_people = tell if settings.log_format is LogFormat.CONSOLE else None
    server = _Server(config, application.state.end_streams, of_people)
    server.run()
    return bool(server.started)
