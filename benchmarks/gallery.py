"""The server as it is, and beside it plain WebSockets: the measure of what spectators cost.

    python -m benchmarks.gallery URL KEYFILE PORT

Two more paths, under the same uvicorn with the same options and the same middleware: a socket at `/plain` is accepted
and kept open. `POST /plain` with `{"frames": n, "characters": m}` sends so many frames to each of them, the text made
once: every frame to all sockets, then the next one, as one who broadcasts what happens would.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from api.app import create_app
from api.collector import settle_collector
from api.listening import uvicorn_options
from api.logs import configure_logs
from api.settings import LogFormat, Settings
from domain.vault import Keyring

_open: set[WebSocket] = set()


async def _keep_open(websocket: WebSocket) -> None:
    await websocket.accept("graphql-transport-ws")
    _open.add(websocket)
    try:
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
    finally:
        _open.discard(websocket)


async def _broadcast(request: Request) -> Response:
    asked = await request.json()
    text = "x" * asked["characters"]
    for _ in range(asked["frames"]):
        for websocket in list(_open):
            await websocket.send_text(text)
        await asyncio.sleep(0)  # lets the frames out
    return PlainTextResponse("sent\n")


def main() -> None:
    url, key_file, port = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    configure_logs(LogFormat.JSON)
    app = create_app(Settings(), url, Keyring.parse(Path(key_file).read_text(encoding="ascii")))
    app.router.routes += [WebSocketRoute("/plain", _keep_open), Route("/plain", _broadcast, methods=["POST"])]
    settle_collector()
    uvicorn.run(app, port=int(port), log_level="warning", lifespan="on", **uvicorn_options())


if __name__ == "__main__":
    main()
