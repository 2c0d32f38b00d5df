"""Every request has an id, which stands in its answer, in its errors and in each line that is logged on its behalf."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from secrets import token_hex
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

__all__ = ["Counting", "Requests", "Uncounted", "request_id_of"]

_FORM: Final = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_KEY: Final = "tic.request_id"
_HEADER: Final = b"x-request-id"


def request_id_of(scope: Scope) -> str:
    """Return the id of a request, or of a connection: the client's own if it is safe to repeat, else a new one."""
    known = scope.get(_KEY)
    if known is None:
        sent = [value for name, value in scope["headers"] if name == _HEADER]
        known = sent[0].decode() if len(sent) == 1 and _FORM.fullmatch(sent[0]) else token_hex(16)
        scope[_KEY] = known
    return str(known)


class Counting(Protocol):
    """Counts requests. It must not block, and it raises nothing."""

    def requested(self, route: str, status: int, seconds: float) -> None:
        """Learn of an answer: which route gave it, and after what time it began."""

    def connected(self, change: int) -> None:
        """Learn that a WebSocket came (1) or went (-1)."""


class Uncounted:
    """Counts nothing."""

    def requested(self, route: str, status: int, seconds: float) -> None:
        """Do nothing."""

    def connected(self, change: int) -> None:
        """Do nothing."""


class Requests:
    """ASGI middleware, outside of all other: gives each request its id, and has it counted."""

    def __init__(self, app: ASGIApp, *, routes: Mapping[object, str], counting: Counting) -> None:
        """Take the names of the routes by their endpoints: what clients ask for beside them has one name together."""
        self._app: Final = app
        self._routes: Final = routes
        self._counting: Final = counting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            self._counting.connected(1)
            try:
                await self._app(scope, receive, send)  # its protocol tells the id, which each operation has a part of
            finally:
                self._counting.connected(-1)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, request_id = time.perf_counter(), request_id_of(scope)
        status, seconds = 0, 0.0

        async def telling(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - began
                _must_name(message, request_id)
            await send(message)

        bound = bind_contextvars(request_id=request_id)
        try:
            await self._app(scope, receive, telling)
        except Exception:
            # What was bound stays: whoever logs this, further out, is still at this request.
            self._counting.requested(self._route(scope), status or 500, seconds or time.perf_counter() - began)
            raise
        reset_contextvars(**bound)
        if status:  # else the client was gone before there was an answer
            self._counting.requested(self._route(scope), status, seconds)

    def _route(self, scope: Scope) -> str:
        return self._routes.get(scope.get("endpoint"), "none")


def _must_name(message: dict[str, Any] | Message, request_id: str) -> None:
    headers = [*message.get("headers", ())]
    if not any(name == _HEADER for name, _ in headers):
        message["headers"] = [*headers, (_HEADER, request_id.encode())]
