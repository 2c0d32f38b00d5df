"""Subscriptions: what happened, then what happens, without a gap.

One connection listens for the whole process. A notification is a hint; the log, which is asked on every hint and
every so often without one, is the truth. Whoever subscribes is first registered and then told the past from the
log, so nothing can fall in between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

import psycopg
import structlog
from psycopg.sql import SQL, Identifier

from api.accounts import TOKENS_CHANNEL
from api.faults import SlowReader
from domain.events import Event, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import CLOSING
from domain.storage import CHANNEL, DATABASE_AWAY, PersistenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Live", "Reader", "patiently"]

POLL_SECONDS: Final = 0.5
PAUSE_SECONDS: Final = 0.02
"""Between two looks at the log, so that under load one look finds many events."""
RETRY_SECONDS: Final = 0.5
BATCH: Final = 1_000
"""Events that are read from the log at once."""
BACKLOG: Final = 1_000
"""Events that wait for one subscriber before he is cut off."""
PAGE: Final = 200
"""Events of the past that are read for a subscriber at once."""

T = TypeVar("T")

_logger: Final = structlog.get_logger(__name__)

Past = Callable[[UUID, int, int], Awaitable[tuple[Event, ...]]]
"""Reads at most so many events of a game after a sequence number."""

_END: Final = "SELECT coalesce(max(notification_id), 0) FROM game_events"
_NEWER: Final = (
    "SELECT notification_id, originator_id, CASE WHEN originator_id = ANY(%s) THEN state END"
    " FROM game_events WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
)


def _read(state: bytes) -> Event | None:
    try:
        return read_event(bytes(state), FACT_TYPES)
    except ValueError:  # from a newer server: its subscribers learn it when they read on, the others go on
        return None


async def patiently(read: Callable[[], Awaitable[T]]) -> T:
    """Return what is read for a subscriber; where the database is away, wait and read again, as `Live` itself does."""
    while True:
        try:
            return await read()
        except DATABASE_AWAY:
            await asyncio.sleep(RETRY_SECONDS)


def closes_the_record(event: Event) -> bool:
    """Whether nothing can follow this event in its game."""
    return isinstance(event.fact, CLOSING)


def _too_slow(last: int) -> SlowReader:
    return SlowReader(
        f"You fell behind and were cut off. Subscribe again with afterSeq: {last}.", extensions={"afterSeq": last}
    )


class Reader:
    """One subscriber's place: the events of a game that wait for him."""

    __slots__ = ("_events", "_missed", "_overrun", "_wake")

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._wake: Final = asyncio.Event()
        self._missed = False
        self._overrun = False

    def push(self, event: Event | None) -> None:
        """Hand out an event; None says that there is one which must be read from the log."""
        if event is None:
            self._missed = True
        elif len(self._events) >= BACKLOG:
            self._overrun = True
        else:
            self._events.append(event)
        self._wake.set()

    async def wait(self) -> None:
        """Wait until something is there."""
        await self._wake.wait()
        self._wake.clear()

    def take(self) -> tuple[list[Event], bool, bool]:
        """Return what waits, whether some of it must be read from the log, and whether the reader was too slow."""
        events, missed, overrun = list(self._events), self._missed, self._overrun
        self._events.clear()
        self._missed = self._overrun = False
        return events, missed, overrun


class Live:
    """The process's ear on the log, and the readers it tells."""

    def __init__(self, url: str, past: Past, *, on_tokens: Callable[[], Awaitable[None]]) -> None:
        self._url: Final = url
        self._past: Final = past
        self._on_tokens: Final = on_tokens
        self._readers: Final[dict[UUID, set[Reader]]] = {}
        self._position = 0

    async def run(self) -> None:
        """Listen until cancelled, also over times when the database is away."""
        known = False
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, connect_timeout=2, application_name="tic live"
                ) as conn:
                    for channel in (CHANNEL, TOKENS_CHANNEL):
                        await conn.execute(SQL("LISTEN {}").format(Identifier(channel)))
                    if not known:
                        self._position, known = await self._end(conn), True
                    await self._follow(conn)
            except (psycopg.Error, PersistenceError) as error:
                _logger.warning("subscriptions wait for the database", error=type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)

    @staticmethod
    async def _end(conn: psycopg.AsyncConnection) -> int:
        row = await (await conn.execute(_END, prepare=True)).fetchone()
        return int(row[0]) if row else 0

    async def _follow(self, conn: psycopg.AsyncConnection) -> None:
        await self._on_tokens()  # what was revoked while nobody listened
        while True:
            while await self._hand_out(conn) == BATCH:
                pass
            await asyncio.sleep(PAUSE_SECONDS)
            tokens = False
            async for notification in conn.notifies(timeout=POLL_SECONDS, stop_after=1):
                tokens = tokens or notification.channel == TOKENS_CHANNEL
            if tokens:
                await self._on_tokens()

    async def _hand_out(self, conn: psycopg.AsyncConnection) -> int:
        if not self._readers:
            end = await self._end(conn)
            if not self._readers:  # a reader who came meanwhile is told all that follows what he has read
                self._position = end
                return 0
        cursor = await conn.execute(_NEWER, (list(self._readers), self._position, BATCH), prepare=True)
        rows = await cursor.fetchall()
        for position, game, state in rows:
            if readers := self._readers.get(game):
                # A reader who came while the database answered finds no state here; he is told to look himself.
                event = _read(state) if state is not None else None
                for reader in readers:
                    reader.push(event)
            self._position = position
        return len(rows)

    @contextmanager
    def reading(self, game: UUID) -> Iterator[Reader]:
        """Register a reader of a game's events."""
        reader = Reader()
        self._readers.setdefault(game, set()).add(reader)
        try:
            yield reader
        finally:
            readers = self._readers[game]
            readers.discard(reader)
            if not readers:
                del self._readers[game]

    async def events(self, game: UUID, after: int) -> AsyncGenerator[Event, None]:
        """Yield a game's events after a sequence number: those of the past, then each as it happens.

        They are contiguous and complete. Ends after the event that closes the record, where the game has one.

        Raises:
            SlowReader: the subscriber left too many waiting; he may come back with the last number he saw.
        """
        with self.reading(game) as reader:
            while True:
                async for event in self._from_the_log(game, after):
                    yield event
                    after = event.seq
                    if closes_the_record(event):
                        return
                gap = False
                while not gap:
                    await reader.wait()
                    events, gap, overrun = reader.take()
                    if overrun:
                        raise _too_slow(after)
                    for event in events:
                        if event.seq == after + 1:
                            yield event
                            after = event.seq
                            if closes_the_record(event):
                                return
                        gap = gap or event.seq > after

    async def _from_the_log(self, game: UUID, after: int) -> AsyncGenerator[Event, None]:
        while True:
            page = await patiently(lambda: self._past(game, after, PAGE))  # noqa: B023 - called before it changes
            for event in page:
                yield event
                after = event.seq
            if len(page) < PAGE:
                return

    async def changes(self, game: UUID) -> AsyncGenerator[None, None]:
        """Yield at once, and then whenever the game has changed since; changes in between count as one."""
        with self.reading(game) as reader:
            while True:
                yield None
                await reader.wait()
                reader.take()


async def stopped(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
