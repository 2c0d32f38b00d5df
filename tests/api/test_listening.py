"""Whoever reads nothing is let go, whatever it was that he did not read, and before he says who he is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from api.endpoint import GraphQLEndpoint
from api.limits import Limits
from api.listening import BoundedHTTP, BoundedWebSocket, uvicorn_options
from tests.api.test_subscriptions import narrow, narrow_to
from tests.audit.toy import application, toy_endpoint
from tests.conftest import listening

UPGRADE = (
    b"GET /graphql HTTP/1.1\r\nHost: tic.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==\r\n"
    b"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
)
STREAM = (
    b"GET /graphql?query=subscription{count(to:8000)} HTTP/1.1\r\nHost: tic.test\r\nAccept: text/event-stream\r\n\r\n"
)
MASK = b"\0\0\0\0"
PINGS = (b"\x89\xfd" + MASK + b"x" * 125) * 1_000


def said(text: bytes) -> bytes:
    """A short message as a client sends it."""
    return b"\x81" + bytes([0x80 | len(text)]) + MASK + text


SUBSCRIPTION = said(b'{"type":"connection_init"}') + said(
    b'{"type":"subscribe","id":"1","payload":{"query":"subscription{count(to:8000)}"}}'
)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event to offer
            await asyncio.sleep(0.001)


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The connections that the server has let go."""
    found: list[object] = []
    for kind in (BoundedHTTP, BoundedWebSocket):

        def noted(connection: Any, exc: Exception | None, let_go: Any = kind.connection_lost) -> None:
            found.append(connection)
            let_go(connection, exc)

        monkeypatch.setattr(kind, "connection_lost", noted)
    return found


@asynccontextmanager
async def unread(endpoint: GraphQLEndpoint, *sent: bytes, **options: Any) -> AsyncIterator[socket.socket]:
    """A connection over which this was sent, and nothing is read but the beginnings of answers to all but the last."""
    async with listening(application(endpoint), [narrow()], **options) as address:
        reader = narrow_to(address)
        try:
            loop = asyncio.get_running_loop()
            for part in sent[:-1]:
                await loop.sock_sendall(reader, part)
                await loop.sock_recv(reader, 4096)
            await loop.sock_sendall(reader, sent[-1])
            yield reader
        finally:
            reader.close()


async def flooded(connection: socket.socket) -> None:
    """Send 26 megabytes of pings."""
    for _ in range(200):
        await asyncio.get_running_loop().sock_sendall(connection, PINGS)


async def test_whoever_pings_and_does_not_read_the_answers_is_cut_off() -> None:
    async with unread(toy_endpoint(), UPGRADE, b"") as reader:
        with pytest.raises(ConnectionError):
            await flooded(reader)


async def test_whoever_reads_may_ping_as_often_as_he_likes() -> None:
    async with (
        listening(application(toy_endpoint())) as address,
        connect(f"ws://{address}/graphql", subprotocols=[Subprotocol("graphql-transport-ws")], proxy=None) as client,
    ):
        for _ in range(50):
            answers = [await client.ping(f"{number:0125}") for number in range(100)]
            async with asyncio.timeout(10):
                await asyncio.gather(*answers)


async def test_a_socket_that_was_ended_and_is_not_read_is_let_go(
    lost: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.listening.CLOSING_SECONDS", 0.05)
    endpoint = toy_endpoint(Limits(write_seconds=0.05))
    async with unread(endpoint, UPGRADE, SUBSCRIPTION):
        await until(lambda: lost)
        assert endpoint.open_streams == 0


async def test_a_socket_that_does_not_answer_pings_is_let_go_though_it_takes_nothing(
    lost: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.listening.CLOSING_SECONDS", 0.05)
    endpoint = toy_endpoint()  # which would wait longer
    async with unread(endpoint, UPGRADE, SUBSCRIPTION, ws_ping_interval=0.05, ws_ping_timeout=0.05):
        await until(lambda: lost)
        await until(lambda: endpoint.open_streams == 0)


async def test_an_event_stream_that_is_not_read_is_let_go(lost: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.listening.STALL_SECONDS", 0.05)
    endpoint = toy_endpoint()
    async with unread(endpoint, STREAM):
        await until(lambda: lost)
        await until(lambda: endpoint.open_streams == 0)


async def test_messages_are_not_compressed_for_each_reader_again() -> None:
    async with (
        listening(application(toy_endpoint())) as address,
        connect(f"ws://{address}/graphql", subprotocols=[Subprotocol("graphql-transport-ws")], proxy=None) as client,
    ):
        assert client.protocol.extensions == []


# --- who reads slowly ---


class Timer:
    """The only timer of a loop that has no other, and of which no time passes by itself."""

    def __init__(self) -> None:
        self.due: Callable[[], None] | None = None

    def call_later(self, _seconds: float, call: Callable[..., None], *arguments: Any) -> Timer:
        self.due = lambda: call(*arguments)
        return self

    def cancel(self) -> None:
        self.due = None

    def pass_by(self) -> None:
        due, self.due = self.due, None
        assert due is not None
        due()


class Transport:
    """A transport that is read from as the test says."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.unread = 0
        self.is_aborted = False

    def get_extra_info(self, name: str) -> Any:
        return self.connection if name == "socket" else None

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.is_aborted = True


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def transport() -> Any:
    with socket.socket() as connection:
        yield Transport(connection)


@pytest.fixture
async def http(timer: Timer, transport: Transport) -> BoundedHTTP:
    """The server's side of a connection."""
    config = uvicorn.Config(application(toy_endpoint()), log_config=None, **uvicorn_options())
    config.load()
    protocol = BoundedHTTP(config, ServerState(), {}, _loop=cast("asyncio.AbstractEventLoop", timer))
    protocol.connection_made(cast("asyncio.Transport", transport))
    return protocol


async def test_whoever_reads_slowly_is_waited_for_as_long_as_he_reads(
    http: BoundedHTTP, timer: Timer, transport: Transport
) -> None:
    transport.unread = 100_000
    http.pause_writing()
    for transport.unread in (99_000, 98_999):
        timer.pass_by()
        assert not transport.is_aborted
    timer.pass_by()
    assert transport.is_aborted


async def test_whoever_has_read_is_waited_for_no_longer(http: BoundedHTTP, timer: Timer, transport: Transport) -> None:
    transport.unread = 100_000
    http.pause_writing()
    http.resume_writing()
    assert timer.due is None


async def test_a_connection_that_is_lost_is_waited_for_no_longer(http: BoundedHTTP, timer: Timer) -> None:
    http.pause_writing()
    http.connection_lost(ConnectionResetError())
    assert timer.due is None


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system can't do that")
async def test_the_operating_system_cuts_off_whoever_takes_nothing(http: BoundedHTTP, transport: Transport) -> None:
    assert transport.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
