"""The GraphQL endpoint: GraphQL over HTTP, over server-sent events and over WebSockets, for any Strawberry schema.

Follows the GraphQL over HTTP specification, the distinct connections mode of GraphQL over SSE and the
graphql-transport-ws protocol. Whatever a client sends, the answer is a GraphQL response whose errors have a code and a
request id.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

import strawberry
from graphql import GraphQLError, OperationType
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.http.ides import get_graphql_ide_html
from structlog.contextvars import bind_contextvars, reset_contextvars

from api.documents import Documents, NotExecuted, Operation, Operations, Parameters, encoded, response
from api.faults import BadRequest, BodyTooLarge, Fault, Unauthenticated, Unavailable, fault_of, told
from api.limits import Limits
from api.observing import Observation, Observatory
from api.requests import request_id_of
from api.sockets import ContextOf, OpenStreams, Shared, Socket, bearer, digest_of

__all__ = ["GraphQLEndpoint", "Limits"]

_JSON: Final = "application/json"
_GRAPHQL: Final = "application/graphql-response+json"
_EVENTS: Final = "text/event-stream"
_HTML: Final = "text/html"

_ALLOW: Final = {"Allow": "GET, POST, OPTIONS"}
_ALLOW_POST: Final = {"Allow": "POST"}
_MOST_URL_PARAMETERS = 16  # GraphQL knows four

_Headers = Mapping[str, str]
_NO_HEADERS: Final[_Headers] = {}


class GraphQLEndpoint:
    """An ASGI application that answers GraphQL at whatever path it is mounted.

    `context` makes what resolvers find in `info.context`, once for every operation; see `ContextOf`. `graphiql` says
    whether a browser gets the GraphiQL page. `public` names the fields below subscriptions that show the same to every
    viewer, as `reach_of` has them. `documents` are those of the same schema, limits and public fields, where endpoints
    share them. The `observatory` is told of each operation. Raises `ValueError` for a schema with extensions or
    operation directives.
    """

    def __init__(
        self,
        schema: strawberry.Schema,
        *,
        context: ContextOf,
        limits: Limits | None = None,
        graphiql: bool = True,
        public: Collection[str] = (),
        documents: Documents | None = None,
        observatory: Observatory | None = None,
    ) -> None:
        self.limits = limits or Limits()
        operations = Operations(schema, self.limits, public=public, documents=documents)
        self._shared = Shared(operations, context, self.limits, OpenStreams(), observatory or Observatory())
        self._page = get_graphql_ide_html("graphiql").encode() if graphiql else None

    @property
    def open_streams(self) -> int:
        """How many initialised sockets and event streams are open."""
        return len(self._shared.streams)

    def open_tokens(self) -> set[str]:
        """Return the digests of the tokens that the open sockets and event streams came with."""
        return self._shared.streams.digests()

    def disconnect(
        self, matches: Callable[[str | None], bool], code: int = 4403, reason: str = "The token was revoked"
    ) -> int:
        """End the sockets and event streams whose token digest matches, with all that runs on them.

        The digest is the SHA-256 of the token in hexadecimal, None for a stream opened without one. A socket is closed
        with `code` and `reason`; an event stream is told the reason and completed. Returns how many were ended.
        """
        return len(self._shared.streams.end(matches, code, reason))

    async def close(self, code: int, reason: str) -> None:
        """End every socket and event stream, as `disconnect`, and wait a moment until the clients are told so."""
        await self._shared.streams.close(code, reason)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request, or serve one WebSocket."""
        if scope["type"] == "http":
            request_id = request_id_of(scope)
            with self._shared.observatory.operation("http", request_id, scope["headers"]) as seen:
                await self._answer(_Exchange(scope, receive, send, request_id, seen))
        elif scope["type"] == "websocket":
            socket = WebSocket(scope, receive, send)
            await Socket(socket, request_id_of(scope), self._shared).serve()
        else:
            raise ValueError(f"this endpoint does not speak {scope['type']}")

    async def _answer(self, exchange: "_Exchange") -> None:
        bound = bind_contextvars(request_id=exchange.request_id)
        try:
            await self._reply(exchange)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except NotExecuted as refused:
            # a client of application/json alone takes any other status for a failure of the transport
            await exchange.refuse(200 if exchange.media_type == _JSON else 400, refused.errors, self.limits)
        except Exception as error:  # noqa: BLE001 - whatever is raised, the answer is a GraphQL response
            fault = fault_of(error, exchange.request_id)
            await exchange.refuse(fault.status, (fault,), self.limits, fault.headers)
        finally:
            reset_contextvars(**bound)

    async def _reply(self, exchange: "_Exchange") -> None:
        method = exchange.method
        if method == "OPTIONS":
            await exchange.start(204, _JSON, _ALLOW)
            await exchange.send({"type": "http.response.body", "body": b""})
            return
        if method not in {"GET", "POST"}:
            raise BadRequest("GraphQL is spoken by GET and POST.", status=405, headers=_ALLOW)
        accept = exchange.header(b"accept")
        is_bare = method == "GET" and b"query=" not in exchange.scope["query_string"]
        if self._page and is_bare and _negotiated(accept, (_HTML,)) == _HTML:
            await exchange.respond(200, self._page, _HTML)
            return
        wanted = _negotiated(accept)
        if wanted != _EVENTS:
            exchange.media_type = wanted
        parameters = Parameters.read(
            await self._from_body(exchange) if method == "POST" else _from_url(exchange.scope["query_string"])
        )
        if wanted == _EVENTS:
            await self._reply_with_events(exchange, parameters)
            return
        operation = self._find(exchange, parameters)
        if operation.kind is OperationType.SUBSCRIPTION:
            raise BadRequest("A subscription needs `Accept: text/event-stream`, or a WebSocket.")
        context = await self._shared.context(HTTPConnection(exchange.scope), exchange.token(), exchange.request_id)
        result = await self._shared.operations.execute(operation, context)
        body = response(result, exchange.request_id, self.limits)
        exchange.seen.answered(body.get("errors"))
        await exchange.respond(200, encoded(body), exchange.media_type)

    async def _reply_with_events(self, exchange: "_Exchange", parameters: Parameters) -> None:
        """Answer in events. Who may not ask is told so by the status, what is wrong with the document by an event."""
        exchange.seen.transport = "sse"
        stream = _EventStream(exchange, self.limits, self._shared.observatory)
        token = exchange.token()
        try:
            operation = self._find(exchange, parameters)
        except NotExecuted as refused:
            await stream.refuse(refused.errors)
            return
        with ExitStack() as held:
            if operation.kind is OperationType.SUBSCRIPTION:  # anything else ends by itself
                held.enter_context(self._shared.streams.holding(digest_of(token), stream))
            context = await self._shared.context(HTTPConnection(exchange.scope), token, exchange.request_id)
            await stream.run(self._shared.operations.stream(operation, context, exchange.request_id))

    def _find(self, exchange: "_Exchange", parameters: Parameters) -> Operation:
        operation = self._shared.operations.find(parameters)
        if operation.kind is OperationType.MUTATION and exchange.method == "GET":
            raise BadRequest("A mutation must be sent by POST.", status=405, headers=_ALLOW_POST)
        exchange.seen.found(operation.kind, operation.tops)
        return operation

    async def _from_body(self, exchange: "_Exchange") -> object:
        media_type, _, parameters = exchange.header(b"content-type").partition(";")
        if media_type.strip().lower() != _JSON or exchange.header(b"content-encoding") not in {"", "identity"}:
            raise BadRequest("Send `Content-Type: application/json`, not encoded further.", status=415)
        name, _, charset = parameters.partition("=")
        if name.strip().lower() == "charset" and charset.strip(' "').lower() not in {"utf-8", "utf8"}:
            raise BadRequest("JSON is read as UTF-8 only.", status=415)
        try:
            return from_json(await exchange.body(self.limits.body_bytes), allow_inf_nan=False)
        except ValueError:
            raise BadRequest("The body is not JSON.") from None


@dataclass(slots=True)
class _Exchange:
    """One HTTP request on its way to its answer."""

    scope: Scope
    receive: Receive
    send: Send
    request_id: str
    seen: Observation
    media_type: str = _JSON

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    def header(self, name: bytes) -> str:
        return ",".join(self.headers(name))

    def headers(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for key, value in self.scope["headers"] if key == name]

    def token(self) -> str | None:
        return bearer(self.headers(b"authorization"))

    async def body(self, most: int) -> bytes:
        """Read the body, but never more of it than `most` bytes, whatever Content-Length says."""
        declared = self.header(b"content-length")
        if declared.isdecimal() and (len(declared) > 18 or int(declared) > most):
            raise BodyTooLarge(f"A request body may have {most} bytes.")
        chunks: list[bytes] = []
        room = most
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk = message.get("body", b"")
            room -= len(chunk)
            if room < 0:
                raise BodyTooLarge(f"A request body may have {most} bytes.")
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)

    async def start(self, status: int, media_type: str, headers: _Headers = _NO_HEADERS, length: int = -1) -> None:
        raw = [
            (b"content-type", f"{media_type}; charset=utf-8".encode()),
            (b"cache-control", b"no-store"),
            (b"vary", b"accept"),
            (b"x-content-type-options", b"nosniff"),
            (b"x-request-id", self.request_id.encode()),
        ]
        if length >= 0:
            raw.append((b"content-length", b"%d" % length))
        raw.extend((name.lower().encode(), value.encode()) for name, value in headers.items())
        await self.send({"type": "http.response.start", "status": status, "headers": raw})

    async def respond(self, status: int, body: bytes, media_type: str = _JSON, headers: _Headers = _NO_HEADERS) -> None:
        await self.start(status, media_type, headers, len(body))
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(
        self, status: int, errors: Iterable[GraphQLError], limits: Limits, headers: _Headers = _NO_HEADERS
    ) -> None:
        rows = told(errors, self.request_id, limit=limits.errors)
        self.seen.answered(rows)
        await self.respond(status, encoded({"errors": rows}), self.media_type, headers)


class _EventStream:
    """One answer in server-sent events: results as they come, a comment when none does, and the end.

    One task runs the operation from beginning to end, as generators with time-outs or task groups inside need it.
    """

    def __init__(self, exchange: _Exchange, limits: Limits, observatory: Observatory) -> None:
        loop = asyncio.get_running_loop()
        self._observatory = observatory
        self._exchange = exchange
        self._limits = limits
        self._ending: asyncio.Future[Fault] = loop.create_future()
        self._clock = loop.time
        self._said_at = loop.time()
        self._is_cut_off = False

    def end(self, code: int, reason: str) -> None:
        """Stop the operation and tell the client why: that the token is no longer good, or to come back later."""
        if not self._ending.done():
            self._ending.set_result(Unauthenticated(reason) if code == 4403 else Unavailable(reason))

    async def refuse(self, errors: Iterable[GraphQLError]) -> None:
        """Answer with these errors and nothing else. Raises `ClientDisconnect` as `run` does."""
        await self._in_time(self._exchange.start(200, _EVENTS))
        await self._say(self._errors(errors) + _COMPLETE)
        await self._close()

    async def run(self, responses: AsyncGenerator[str]) -> None:
        """Answer with these responses, until they end, the client goes away or `end` is called.

        Raises `ClientDisconnect` if the client takes nothing for too long, as a rule.
        """
        await self._in_time(self._exchange.start(200, _EVENTS, {"X-Accel-Buffering": "no"}))
        pumping = asyncio.create_task(self._pump(responses))
        leaving = asyncio.create_task(self._until_gone())
        watched = (pumping, leaving, self._ending)
        try:
            await self._say(_COMMENT)  # so that the client, and what is in between, sees the stream open
            while True:
                silence = self._clock() - self._said_at
                if silence >= self._limits.heartbeat_seconds:
                    await self._say(_COMMENT)
                    silence = 0.0
                done, _ = await asyncio.wait(
                    watched, timeout=self._limits.heartbeat_seconds - silence, return_when=asyncio.FIRST_COMPLETED
                )
                if done:
                    break
        finally:
            pumping.cancel()
            leaving.cancel()
            await asyncio.gather(pumping, leaving, return_exceptions=True)
        if self._ending in done and leaving not in done and pumping not in done:
            await self._say(self._errors([self._ending.result()]) + _COMPLETE)
        if not self._is_cut_off:
            await self._close()

    async def _pump(self, responses: AsyncGenerator[str]) -> None:
        request_id = self._exchange.request_id
        try:
            async with aclosing(responses):
                async for text in responses:
                    await self._say(_event(text.encode()))
        except ClientDisconnect:
            return
        except NotExecuted as refused:
            await self._say(self._errors(refused.errors))
        except Exception as error:  # noqa: BLE001 - whatever is raised, the client is told a fault
            await self._say(self._errors([fault_of(error, request_id)]))
        await self._say(_COMPLETE)

    async def _until_gone(self) -> None:
        while (await self._exchange.receive())["type"] != "http.disconnect":
            pass

    def _errors(self, errors: Iterable[GraphQLError]) -> bytes:
        rows = told(errors, self._exchange.request_id, limit=self._limits.errors)
        self._exchange.seen.answered(rows)
        return _event(encoded({"errors": rows}))

    async def _say(self, text: bytes) -> None:
        await self._in_time(self._exchange.send({"type": "http.response.body", "body": text, "more_body": True}))
        self._said_at = self._clock()

    async def _close(self) -> None:
        await self._in_time(self._exchange.send({"type": "http.response.body", "body": b"", "more_body": False}))

    async def _in_time(self, sending: Awaitable[None]) -> None:
        """Send a part. Raises `ClientDisconnect` if the client takes nothing for too long."""
        try:
            async with asyncio.timeout(self._limits.write_seconds):
                await sending
        except TimeoutError:
            self._is_cut_off = True
            self._observatory.stalled("sse")
            raise ClientDisconnect from None


_COMMENT: Final = b":\n\n"
_COMPLETE: Final = b"event: complete\ndata:\n\n"  # without a data field browsers drop the event


def _event(body: bytes) -> bytes:
    return b"event: next\ndata: " + body + b"\n\n"


def _from_url(query_string: bytes) -> dict[str, object]:
    try:
        sent: dict[str, Any] = dict(
            parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_URL_PARAMETERS)
        )
        for name in ("variables", "extensions"):
            sent[name] = from_json(sent[name], allow_inf_nan=False) if sent.get(name) else None
    except ValueError:
        raise BadRequest("The parameters of the URL can't be read.") from None
    return sent


@lru_cache(maxsize=64)
def _negotiated(accept: str, besides: tuple[str, ...] = ()) -> str:
    """Choose the media type of the answer. Raise `BadRequest` with the status 406 if none will do."""
    best, best_quality = None, 0.0
    for entry in accept.split(",") if accept.strip() else [_JSON]:
        wanted, *parameters = (part.strip().lower() for part in entry.split(";"))
        offered = _JSON if wanted in {"*/*", "application/*"} else wanted
        quality = next((_quality(value[2:]) for value in parameters if value.startswith("q=")), 1.0)
        if offered in (_JSON, _GRAPHQL, _EVENTS, *besides) and quality > best_quality:
            best, best_quality = offered, quality
    if best is None:
        raise BadRequest(f"The answer can be had as {_GRAPHQL}, {_JSON} or {_EVENTS}.", status=406)
    return best


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
