"""A proxy between two programs that cuts their connections, or loses what one has answered the other.

`Proxy` passes bytes on and knows nothing of them. `PostgresProxy` reads the messages of PostgreSQL's protocol on their
way: it knows when a commit is asked for and when it has been answered, and so can let it happen and lose the answer.
"""

from __future__ import annotations

import asyncio
import random
import struct
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["PostgresProxy", "Proxy", "cutting"]

Ends = tuple[StreamReader, StreamWriter]

CHUNK: Final = 64 * 1024
APPEND: Final = "append"
COMMIT: Final = "commit"


class Proxy:
    """Listens on a port of the loopback interface and passes every connection on, until it is cut."""

    def __init__(self, upstream: Callable[[], Awaitable[Ends]]) -> None:
        """Take what opens a connection to the program that is meant."""
        self._upstream: Final = upstream
        self._open: Final[list[tuple[StreamWriter, StreamWriter]]] = []
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._failures: Final[list[Exception]] = []
        self.port = 0
        self.cuts = 0

    @classmethod
    def to(cls, host: str, port: int) -> Self:
        """Return a proxy in front of a host's port."""
        return cls(lambda: asyncio.open_connection(host, port))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Self]:
        """Pass connections on until the block ends."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await server.wait_closed()
        if self._failures:
            raise ExceptionGroup("the proxy failed", self._failures)

    def cut(self, chance: random.Random) -> None:
        """Cut one of the open connections, if there is one."""
        if self._open:
            self.cuts += 1
            self._abort(*chance.choice(self._open))

    def _abort(self, *ends: StreamWriter) -> None:
        """End a connection on both sides at once; what is on its way is lost."""
        self._open[:] = [pair for pair in self._open if pair[0] is not ends[0]]
        for end in ends:
            end.transport.abort()

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._pass_on((reader, writer), await self._upstream())
        except (OSError, IncompleteReadError):
            pass  # one side is gone, and so is the connection
        except Exception as error:  # noqa: BLE001 - told when the proxy ends: here nobody would hear of it
            self._failures.append(error)
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _pass_on(self, client: Ends, server: Ends) -> None:
        self._open.append((client[1], server[1]))
        both = [asyncio.ensure_future(way) for way in self._ways(client, server)]
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            self._abort(client[1], server[1])
            for way in both:
                way.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    def _ways(self, client: Ends, server: Ends) -> tuple[Awaitable[None], Awaitable[None]]:
        return _copy(client[0], server[1]), _copy(server[0], client[1])


async def _copy(reader: StreamReader, writer: StreamWriter) -> None:
    while read := await reader.read(CHUNK):
        writer.write(read)
        await writer.drain()


class PostgresProxy(Proxy):
    """In front of a PostgreSQL: loses the answers to commits, as often as it is told to."""

    def __init__(self, url: str) -> None:
        """Take the URL of the database. ``loses`` says of each commit whether its answer is to be lost."""
        to = conninfo_to_dict(url)
        host, port = str(to.get("host") or "localhost"), int(to.get("port") or 5432)

        async def upstream() -> Ends:
            if host.startswith("/"):
                return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
            return await asyncio.open_connection(host, port)

        super().__init__(upstream)
        self._url: Final = url
        self.loses: Callable[[str], bool] = lambda _kind: False
        self.lost: Final[Counter[str]] = Counter()
        """Commits that happened and whose answer was lost: `append` for commands, `commit` for all else."""

    @property
    def url(self) -> str:
        """The database's URL through the proxy, unencrypted: it has to be read."""
        return make_conninfo(
            self._url, host="127.0.0.1", hostaddr="", port=self.port, sslmode="disable", gssencmode="disable"
        )

    def _ways(self, client: Ends, server: Ends) -> tuple[Awaitable[None], Awaitable[None]]:
        wire = _Wire(self)
        return wire.ask(client[0], server[1]), wire.answer(server[0], client[1])


class _Wire:
    """One connection's messages."""

    def __init__(self, proxy: PostgresProxy) -> None:
        self._proxy = proxy
        self._prepared: dict[bytes, str | None] = {}
        """What each prepared statement commits, by its name."""
        self._commits: str | None = None
        """What the messages since the last answer will have committed."""
        self._losing: str | None = None

    async def ask(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Pass on what the client asks; decide at the end of each question whether its answer is to be lost."""
        length = await reader.readexactly(4)  # the first message alone has no type
        writer.write(length + await reader.readexactly(struct.unpack("!I", length)[0] - 4))
        while True:
            kind, body = await _message(reader)
            self._notice(kind, body)
            writer.write(_written(kind, body))
            await writer.drain()

    def _notice(self, kind: bytes, body: bytes) -> None:
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self._prepared[name] = _what_commits(text)
        elif kind == b"B":
            _portal, name, _ = body.split(b"\0", 2)
            self._commits = self._prepared.get(name) or self._commits
        elif kind == b"Q":
            self._commits = _what_commits(body)
        if kind in {b"S", b"Q"} and self._commits:
            if self._proxy.loses(self._commits):
                self._losing = self._commits
            self._commits = None

    async def answer(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Pass on what the server answers; of an answer that is to be lost nothing, and the connection ends with it."""
        failed = False
        while True:
            kind, body = await _message(reader)
            if self._losing is None:
                writer.write(_written(kind, body))
                await writer.drain()
                continue
            failed = failed or kind == b"E"
            if kind == b"Z":  # the server is ready for the next question: this one has its commit
                if not failed:
                    self._proxy.lost[self._losing] += 1
                return


async def _message(reader: StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


def _written(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _what_commits(text: bytes) -> str | None:
    if b"append_events(" in text:
        return APPEND  # a statement by itself is a transaction
    return COMMIT if text.lstrip().upper().startswith(b"COMMIT") else None


@asynccontextmanager
async def cutting(proxy: Proxy, *, every: float, seed: int) -> AsyncIterator[None]:
    """Cut connections at random until the block ends, one in so many seconds on the average."""
    chance = random.Random(seed)

    async def go_on() -> None:
        while True:
            await asyncio.sleep(chance.expovariate(1 / every))
            proxy.cut(chance)

    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
