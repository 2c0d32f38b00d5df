"""Operations over a WebSocket, in the graphql-transport-ws protocol, and the register of all open streams.

One socket carries many operations. Each gets a context and a request id of its own, so nothing an operation loads
outlives it; the token given when the socket was initialised is presented anew for each.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final, Protocol

from graphql import GraphQLError
from pydantic_core import from_json
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket, WebSocketDisconnect
from structlog.contextvars import bind_contextvars, bound_contextvars

from api.documents import NotExecuted, Operation, Operations, Parameters, encoded
from api.faults import BadRequest, Fault, Forbidden, TooManyOperations, Unauthenticated, Unavailable, fault_of, told
from api.limits import Limits
from api.observing import Observation, Observatory

__all__ = ["PROTOCOL", "ContextOf", "OpenStreams", "Shared", "Socket", "bearer", "digest_of"]

PROTOCOL: Final = "graphql-transport-ws"
LONGEST_ID: Final = 128
"""Characters of an operation's id."""
FAREWELL_SECONDS: Final = 1.0
"""How long the clients' reading is waited for when all streams are closed."""

_SLOW: Final = "Slow reader: connect again and subscribe with afterSeq, the last seq you have"
_AWAY: Final = "The server can't reach its database, or is starting or stopping: connect again in a moment"

ContextOf = Callable[[HTTPConnection, str | None, str], Awaitable[object]]
"""Makes the context of one operation from the connection, the bearer token (None for nobody) and the request id.

It may raise a `Fault`, which is then the answer.
"""

_PLAIN = re.compile(r"[A-Za-z0-9._:-]+")
_TOKEN = re.compile(r"bearer +([A-Za-z0-9\-._~+/]{1,4096}=*)", re.IGNORECASE)


def bearer(credentials: Sequence[str]) -> str | None:
    """Take the token from the values of Authorization headers; None if there is no such header.

    Raises `Unauthenticated` for more than one, for another scheme than Bearer and for what can't be a token.
    """
    if not credentials:
        return None
    match = _TOKEN.fullmatch(credentials[0]) if len(credentials) == 1 else None
    if match is None:
        raise Unauthenticated("Give one Authorization, of the form `Bearer <token>`, or none.")
    return match[1]


def digest_of(token: str | None) -> str | None:
    """What a token is known by where it must not be kept: the SHA-256 of it, in hexadecimal."""
    return None if token is None else sha256(token.encode()).hexdigest()


class Sending:
    """A coroutine that sends something, begun at once; await it for the rest, if there is one.

    Nearly all that is sent is taken at once. So it needs neither a task nor a timer, which cost more than the sending.
    Whoever awaits the rest may be another task than the one that began it: the `send` of uvicorn does not mind.
    """

    __slots__ = ("_coroutine", "_wait", "is_done")

    def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._coroutine = coroutine
        self._resume(coroutine.send, None)

    def _resume(self, step: Callable[[Any], Any], with_: Any) -> None:
        try:
            self._wait = step(with_)
            self.is_done = False
        except StopIteration:
            self.is_done = True

    def __await__(self) -> Generator[Any, Any, None]:
        while not self.is_done:
            try:
                answer = yield self._wait
            except BaseException as error:  # noqa: BLE001 - a cancellation, as a rule: the coroutine is to deal with it
                self._resume(self._coroutine.throw, error)
            else:
                self._resume(self._coroutine.send, answer)


class Stream(Protocol):
    """Something open that can be ended from outside."""

    def end(self, code: int, reason: str) -> asyncio.Task[None] | None:
        """End it now. `code` is a close code of WebSockets, `reason` a sentence for the client.

        Returns what tells the client, which may take its time, where a task of its own does that.
        """
        ...


class OpenStreams:
    """The open sockets and event streams, by the digest of the token each was opened with."""

    def __init__(self) -> None:
        self._streams: defaultdict[str | None, set[Stream]] = defaultdict(set)

    def __len__(self) -> int:
        return sum(map(len, self._streams.values()))

    def digests(self) -> set[str]:
        """Return the digests of the tokens that open streams came with."""
        return {digest for digest in self._streams if digest is not None}

    def hold(self, digest: str | None, stream: Stream) -> None:
        """Hold a stream until it is let go.

        Do so before the token is checked: whoever revokes the token then either finds the stream here, or was early
        enough for the check to find the token revoked.
        """
        self._streams[digest].add(stream)

    def let_go(self, digest: str | None, stream: Stream) -> None:
        """Hold a stream no longer; does nothing with one that is not held."""
        if (streams := self._streams.get(digest)) is not None:
            streams.discard(stream)
            if not streams:
                del self._streams[digest]

    @contextmanager
    def holding(self, digest: str | None, stream: Stream) -> Iterator[None]:
        """Hold a stream for as long as the block runs."""
        self.hold(digest, stream)
        try:
            yield
        finally:
            self.let_go(digest, stream)

    def end(self, matches: Callable[[str | None], bool], code: int, reason: str) -> Sequence[asyncio.Task[None] | None]:
        """End every stream whose digest matches. Returns for each of them what tells its client, as `Stream.end`."""
        ending = [stream for digest, streams in self._streams.items() if matches(digest) for stream in streams]
        return [stream.end(code, reason) for stream in ending]

    async def close(self, code: int, reason: str) -> None:
        """End every stream and wait until the clients are told so, but not long for one that reads nothing."""
        telling = [task for task in self.end(lambda _: True, code, reason) if task is not None]
        if telling:
            await asyncio.wait(telling, timeout=FAREWELL_SECONDS)


@dataclass(frozen=True, slots=True)
class Shared:
    """What one endpoint's transports have in common."""

    operations: Operations
    context: ContextOf
    limits: Limits
    streams: OpenStreams
    observatory: Observatory


class Socket:
    """One WebSocket, from its handshake to its end. A server has thousands of them: each is small."""

    __slots__ = (
        "_begun",
        "_closing",
        "_is_acknowledged",
        "_is_ended",
        "_is_initialised",
        "_patience",
        "_request_id",
        "_running",
        "_shared",
        "_token",
        "_unfinished",
        "_websocket",
    )

    def __init__(self, websocket: WebSocket, request_id: str, shared: Shared) -> None:
        self._websocket = websocket
        self._request_id = request_id
        self._shared = shared
        self._token: str | None = None
        self._is_initialised = False
        self._is_acknowledged = False
        self._is_ended = False
        self._running: dict[str, asyncio.Task[None]] = {}
        self._begun = 0
        self._unfinished: asyncio.Task[None] | None = None  # sends what was offered and not taken at once
        self._patience: asyncio.Timeout | None = None  # what `serve` waits with: until the initialisation, or the end
        self._closing: asyncio.Task[None] | None = None  # tells the client the end

    async def serve(self) -> None:
        """Speak the protocol until either side closes the socket."""
        if PROTOCOL not in self._websocket.scope["subprotocols"]:
            await self._websocket.accept()  # a close code can only be read on an accepted socket
            await self._websocket.close(4406, "Subprotocol not acceptable")
            return
        await self._websocket.accept(PROTOCOL, headers=[(b"x-request-id", self._request_id.encode())])
        try:
            async with asyncio.timeout(self._shared.limits.init_seconds) as self._patience:
                while not self._is_ended:
                    await self._take(await self._websocket.receive())
        except TimeoutError:  # too late for the initialisation, unless it was ended otherwise
            self.end(4408, "Connection initialisation timeout")
        except WebSocketDisconnect:
            pass
        finally:
            self._is_ended = True
            self._shared.streams.let_go(digest_of(self._token), self)
            await self._stop_running()
            if self._closing is not None:
                await self._closing

    def end(self, code: int, reason: str) -> asyncio.Task[None] | None:
        """Stop every operation at once, and close the socket in a task, which is returned. Once closed, do nothing.

        An operation that ends its own socket goes on until it wants to send something.
        """
        if self._is_ended:
            return self._closing
        self._is_ended = True
        for task in self._others():
            task.cancel()
        self._closing = asyncio.create_task(self._close(code, reason))
        if self._patience is not None and not self._patience.expired():
            # What `serve` waits for need not come: nothing is received from one who neither reads nor says anything.
            self._patience.reschedule(0)
        return self._closing

    async def _close(self, code: int, reason: str) -> None:
        # a peer that is gone, or reads nothing, can't be told
        with suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
            async with asyncio.timeout(self._shared.limits.write_seconds):
                await self._websocket.close(code, reason.encode()[:123].decode(errors="ignore"))

    async def _take(self, received: Mapping[str, Any]) -> None:
        if received["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(received.get("code", 1005))
        if self._is_ended:
            return
        text = received.get("text")
        if text is None:
            self.end(4400, "Messages must be text")
        elif len(text) > self._shared.limits.body_bytes:
            self.end(1009, "Message too big")
        else:
            try:
                message = from_json(text, allow_inf_nan=False)
            except ValueError:
                self.end(4400, "Messages must be JSON")
            else:
                await self._obey(message)

    async def _obey(self, message: object) -> None:
        match message:
            case {"type": "connection_init", **rest}:
                await self._initialise(rest.get("payload"))
            case {"type": "ping"}:
                await self._send({"type": "pong"})
            case {"type": "pong"}:
                pass
            case {"type": "subscribe", "id": str(id_)} if not 0 < len(id_) <= LONGEST_ID:
                self.end(4400, f"An id has 1 to {LONGEST_ID} characters")  # each message of the operation repeats it
            case {"type": "subscribe", "id": str(id_), "payload": payload}:
                await self._subscribe(id_, payload)
            case {"type": "complete", "id": str(id_)}:
                if task := self._running.pop(id_, None):
                    task.cancel()
            case _:
                self.end(4400, "Invalid message")

    async def _initialise(self, payload: object) -> None:
        if self._is_initialised:
            self.end(4429, "Too many initialisation requests")
            return
        self._is_initialised = True
        try:
            self._token = bearer(self._credentials(payload))
            self._shared.streams.hold(digest_of(self._token), self)
            with bound_contextvars(request_id=self._request_id):
                await self._shared.context(self._websocket, self._token, self._request_id)
        except Exception as error:  # noqa: BLE001 - whatever is raised about the caller is told as a fault
            fault = fault_of(error, self._request_id)
            self.end(_close_code(fault), _AWAY if isinstance(fault, Unavailable) else fault.message)
            return
        await self._send({"type": "connection_ack"})
        self._is_acknowledged = True
        if self._patience is not None and not self._is_ended and not self._patience.expired():
            self._patience.reschedule(None)

    def _credentials(self, payload: object) -> list[str]:
        """Authorization as the payload gives it or else as the handshake does; browsers can't set headers there."""
        if payload is not None and not isinstance(payload, dict):
            raise BadRequest("The payload of connection_init must be an object.")
        given = [value for key, value in (payload or {}).items() if key.lower() == "authorization"]
        if not all(isinstance(value, str) for value in given):
            raise Unauthenticated("Authorization must be a string.")
        return given or self._websocket.headers.getlist("authorization")

    async def _subscribe(self, id_: str, payload: object) -> None:
        if not self._is_acknowledged:
            self.end(4401, "Unauthorized")
        elif id_ in self._running:
            self.end(4409, f"Subscriber for {id_} already exists")
        elif len(self._running) >= self._shared.limits.socket_operations:
            fault = TooManyOperations(
                f"A socket runs at most {self._shared.limits.socket_operations} operations at a time: complete one, or "
                "open another socket."
            )
            with self._shared.observatory.operation("websocket", self._request_id) as seen:
                await self._send_errors(id_, [fault], self._request_id, seen)
        else:
            try:
                parameters = Parameters.read(payload)
            except BadRequest as fault:
                self.end(4400, fault.message)
                return
            self._begun += 1
            self._running[id_] = asyncio.create_task(self._run(id_, parameters, f"{self._request_id}.{self._begun}"))

    async def _run(self, id_: str, parameters: Parameters, request_id: str) -> None:
        # The task has a context of its own. A terminal may read the log: nothing gets there that could steer it.
        bind_contextvars(request_id=request_id, operation_id=id_ if _PLAIN.fullmatch(id_) else ascii(id_))
        headers = self._websocket.scope["headers"]
        with (
            suppress(WebSocketDisconnect),
            self._shared.observatory.operation("websocket", request_id, headers) as seen,
        ):
            try:
                operation = self._shared.operations.find(parameters)
                seen.found(operation.kind, operation.tops)
                del parameters  # a stream may run for hours, and every one would keep its own copy of the document
                await self._pump(id_, operation, request_id)
            except WebSocketDisconnect:
                raise
            except NotExecuted as refused:
                await self._send_errors(self._forget(id_), refused.errors, request_id, seen)
            except Exception as error:  # noqa: BLE001 - whatever is raised about the caller is told as a fault
                await self._send_errors(self._forget(id_), [fault_of(error, request_id)], request_id, seen)
            else:
                await self._send({"id": self._forget(id_), "type": "complete"})

    async def _pump(self, id_: str, operation: Operation, request_id: str) -> None:
        head = encoded({"id": id_, "type": "next"}).decode()[:-1]
        context = await self._shared.context(self._websocket, self._token, request_id)
        payloads = self._shared.operations.stream(operation, context, request_id, partial(self._offer, head))
        del operation, context
        async with aclosing(payloads):
            async for payload in payloads:
                await self._send_text(f'{head},"payload":{payload}}}')
                del payload

    def _forget(self, id_: str) -> str:
        """Free the id before the last message about it goes out: on seeing that, the client may use it again."""
        if self._running.get(id_) is asyncio.current_task():
            del self._running[id_]
        return id_

    async def _send_errors(self, id_: str, errors: Iterable[GraphQLError], request_id: str, seen: Observation) -> None:
        payload = told(errors, request_id, limit=self._shared.limits.errors)
        seen.answered(payload)
        await self._send({"id": id_, "type": "error", "payload": payload})

    async def _send(self, message: Mapping[str, Any]) -> None:
        await self._send_text(encoded(message).decode())

    async def _send_text(self, text: str) -> None:
        """Send a message, or cut the reader off if it takes nothing for too long.

        Raises `WebSocketDisconnect` then, and on a socket that has ended: nothing more needs to be made for it.
        """
        while self._unfinished is not None and not self._unfinished.done():
            await asyncio.wait((self._unfinished,))
        if self._is_ended:
            raise WebSocketDisconnect(1006)
        sending = Sending(self._websocket.send({"type": "websocket.send", "text": text}))
        if not sending.is_done:
            await self._finish(sending)

    def _offer(self, head: str, payload: str) -> bool:
        """Send a payload if nothing is being sent, and say whether it goes out; it is not waited for."""
        if self._is_ended or (self._unfinished is not None and not self._unfinished.done()):
            return False
        text = f'{head},"payload":{payload}}}'
        try:
            sending = Sending(self._websocket.send({"type": "websocket.send", "text": text}))
        except WebSocketDisconnect:
            self._is_ended = True  # the server says so to `serve` as well, in a moment
            return False
        except Exception:  # noqa: BLE001 - whoever waits for the payload sends it himself, and meets it again
            return False
        if not sending.is_done:
            self._unfinished = asyncio.create_task(self._finish_offered(sending))
        return True

    async def _finish_offered(self, sending: Sending) -> None:
        try:
            with suppress(WebSocketDisconnect):
                await self._finish(sending)
        finally:
            self._unfinished = None

    async def _finish(self, sending: Sending) -> None:
        try:
            async with asyncio.timeout(self._shared.limits.write_seconds):
                await sending
        except TimeoutError:
            self._shared.observatory.stalled("websocket")
            self.end(1013, _SLOW)
            raise WebSocketDisconnect(1013) from None

    def _others(self) -> list[asyncio.Task[None]]:
        """The running operations, without the one that asks: an operation may end the socket that it runs on."""
        tasks = self._running.values() if self._unfinished is None else (*self._running.values(), self._unfinished)
        return [task for task in tasks if task is not asyncio.current_task()]

    async def _stop_running(self) -> None:
        tasks = self._others()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _close_code(fault: Fault) -> int:
    match fault:
        case Unauthenticated() | Forbidden():
            return 4403
        case BadRequest():
            return 4400
        case Unavailable():
            return 1013
        case _:
            return 4500
