"""How the server listens: uvicorn's options, and its two protocols, which let go of whoever reads nothing.

A connection is closed once all that was written has been read. So a client that reads nothing, and keeps its connection
open, would never be let go; here it is, whatever it was that it did not read.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from api.schema import LIMITS

__all__ = ["BoundedHTTP", "BoundedWebSocket", "uvicorn_options"]

MOST_UNREAD: Final = 256 * 1024
"""Bytes that wait for a client when a ping of his is not answered any more, and he is cut off."""
STALL_SECONDS: Final = LIMITS.write_seconds
"""Whoever takes nothing of an answer for so long is cut off."""
CLOSING_SECONDS: Final = 10.0
"""What is left to a WebSocket's client to read, and to say goodbye, after the end."""
UNREAD_SECONDS: Final = 30
"""Whoever takes nothing of what was sent for so long is cut off by the operating system, where it can do that."""


class BoundedHTTP(HttpToolsProtocol):
    """One connection to the server, until it becomes a WebSocket, if it does."""

    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a connection on."""
        super().connection_made(transport)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            with suppress(OSError):  # it need not be TCP
                connection = transport.get_extra_info("socket")
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the connection go."""
        super().connection_lost(exc)
        self._go_on()

    def pause_writing(self) -> None:
        """Wait until the client has read some of what waits for it, but not for ever."""
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        super().resume_writing()
        self._go_on()

    def _look_again(self, unread: int) -> None:
        self._stall = self.loop.call_later(STALL_SECONDS, self._must_have_read, unread)

    def _must_have_read(self, unread: int) -> None:
        if (left := self.transport.get_write_buffer_size()) < unread:
            self._look_again(left)  # slow, but it reads
        else:
            self.transport.abort()

    def _go_on(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """One WebSocket, whose client may neither have its pings answered without reading, nor stay after the end."""

    _parting: asyncio.TimerHandle | None = None

    def handle_ping(self) -> None:
        """Answer a ping. A client that does not read the answers is cut off: they would fill the memory."""
        if self.transport.get_write_buffer_size() > MOST_UNREAD:
            self.transport.abort()
        else:
            super().handle_ping()

    def keepalive_timeout(self) -> None:
        """Close the connection to a client that has not answered a ping."""
        super().keepalive_timeout()
        self._part()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Close the connection when the application is done with it."""
        super().on_task_complete(task)
        self._part()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the connection go."""
        super().connection_lost(exc)
        if self._parting is not None:
            self._parting.cancel()

    def _part(self) -> None:
        if not self.disconnected and self._parting is None:
            self._parting = self.loop.call_later(CLOSING_SECONDS, self.transport.abort)


def uvicorn_options() -> dict[str, Any]:
    """Return the options of uvicorn that are the same wherever this server runs, in tests as well."""
    return {
        "http": BoundedHTTP,
        "ws": BoundedWebSocket,
        "ws_max_size": LIMITS.body_bytes,
        # Messages are small, and one that goes to thousands is encoded once: compressed, each would be again.
        "ws_per_message_deflate": False,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": 5,
    }
