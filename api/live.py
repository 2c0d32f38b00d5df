"""Subscriptions: what happened, then what happens, without a gap.

One connection reads the log for the whole process, on every hint that something was appended and every so often without
one: a hint is only quick, the log is the truth. Whoever subscribes is first registered and then told the past from the
log, so nothing can fall in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

import psycopg
import structlog

from api.readers import Reader, Watcher, closes_the_record
from api.sharing import Edition, Offer
from domain.events import Event, read_event
from domain.game import Game
from domain.games import FACT_TYPES
from domain.storage import DATABASE_AWAY, PersistenceError
from projections.pace import Pace

__all__ = ["Live", "patiently", "stopped"]

PAUSE_SECONDS: Final = 0.005
"""Between two looks at the log, so that under load one look finds many events."""
RETRY_SECONDS: Final = 0.5
BATCH: Final = 1_000
"""Events that are read from the log at once."""
AT_ONCE: Final = 100
"""Subscribers that are told before the event loop comes to something else."""
PAGE: Final = 200
"""Events of the past that are read for a subscriber at once."""

T = TypeVar("T")

_logger: Final = structlog.get_logger(__name__)

Past = Callable[[UUID, int, int], Awaitable[tuple[Event, ...]]]
"""Reads at most so many events of a game after a sequence number."""
Newest = Callable[[UUID], Awaitable[Game]]
"""Reads a game as it is now."""

_END: Final = "SELECT coalesce(max(notification_id), 0) FROM public.game_events"
_NEWER: Final = (
    "SELECT notification_id, originator_id, CASE WHEN originator_id = ANY(%s) THEN state END"
    " FROM public.game_events WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
)


def _read(state: bytes) -> Event | None:
    try:
        return read_event(bytes(state), FACT_TYPES)
    except ValueError:  # from a newer server: its subscribers learn it when they read on, the others go on
        return None


async def _encoded(edition: Edition[Event], event: Event) -> str | None:
    try:
        return await edition.text(event)
    except Exception:  # noqa: BLE001 - each reader meets it himself, and is told
        return None


async def patiently(read: Callable[[], Awaitable[T]]) -> T:
    """Return what is read for a subscriber; where the database is away, wait and read again, as `Live` itself does."""
    while True:
        try:
            return await read()
        except DATABASE_AWAY:
            await asyncio.sleep(RETRY_SECONDS)


class _Followed:
    """A game that somebody follows."""

    __slots__ = ("game", "is_outdated", "news", "readers", "reading", "telling", "watchers")

    def __init__(self, game: UUID) -> None:
        self.game: Final = game
        self.readers: Final[dict[Edition[Event] | None, set[Reader]]] = {}
        """By the edition they are told; those without one encode for themselves."""
        self.watchers: Final[set[Watcher]] = set()
        self.news: list[Event | None] = []
        """What the readers are to be told; None stands for what must be read from the log."""
        self.telling: asyncio.Task[None] | None = None
        self.is_outdated = False
        """Whether the watchers are to be shown the game anew."""
        self.reading: asyncio.Task[None] | None = None

    def stop(self) -> list[asyncio.Task[None]]:
        """Stop what is done for them; return the tasks that are about to end."""
        tasks = [task for task in (self.telling, self.reading) if task is not None]
        for task in tasks:
            task.cancel()
        return tasks


class Live:
    """The process's eye on the log, and the subscribers it tells."""

    def __init__(self, url: str, past: Past, newest: Newest) -> None:
        self._url: Final = url
        self._past: Final = past
        self._newest: Final = newest
        self._followed: Final[dict[UUID, _Followed]] = {}
        self._position: int | None = None
        """Up to where the log is read; None while nobody follows a game."""
        self._hint: Final = asyncio.Event()
        self._company: Final = asyncio.Event()
        """Set as soon as somebody follows a game."""

    def wake(self) -> None:
        """Look at the log at once; without it, `Live` looks by itself before long. Call it in the loop's thread."""
        self._hint.set()

    async def run(self) -> None:
        """Follow the log until cancelled, also over times when the database is away."""
        try:
            while True:
                try:
                    async with await psycopg.AsyncConnection.connect(
                        self._url,
                        autocommit=True,
                        connect_timeout=2,
                        application_name="tic live",
                        tcp_user_timeout=5_000,
                    ) as conn:
                        await self._follow(conn)
                except (psycopg.Error, PersistenceError) as error:
                    _logger.warning("subscriptions wait for the database", error=type(error).__name__)
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            ending = [task for followed in self._followed.values() for task in followed.stop()]
            await asyncio.gather(*ending, return_exceptions=True)

    async def _follow(self, conn: psycopg.AsyncConnection) -> None:
        pace = Pace()
        while True:
            while not self._followed:
                self._position = None  # nothing is read meanwhile, and none of it when somebody comes
                self._company.clear()
                await self._company.wait()
            self._hint.clear()  # before the look: what is appended during it is worth another one
            found = await self._look(conn)
            await asyncio.sleep(PAUSE_SECONDS if found < BATCH else 0)
            if found < BATCH:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pace.next(found > 0)):
                        await self._hint.wait()

    async def _look(self, conn: psycopg.AsyncConnection) -> int:
        """Hand out what is new; return how many events there were, of all games."""
        if self._position is None:
            row = await (await conn.execute(_END, prepare=True)).fetchone()
            self._position = int(row[0]) if row else 0
            # Who came before the answer may have read the past before the end of it was written.
            for followed in self._followed.values():
                self._hand_out(followed, [None])
        cursor = await conn.execute(_NEWER, (list(self._followed), self._position, BATCH), prepare=True)
        rows = await cursor.fetchall()
        news: dict[UUID, list[Event | None]] = {}
        for position, game, state in rows:
            if game in self._followed:
                # Whoever came while the database answered finds no state here; he is told to look himself.
                news.setdefault(game, []).append(_read(state) if state is not None else None)
            self._position = position
        for game, events in news.items():
            self._hand_out(self._followed[game], events)
        return len(rows)

    def _hand_out(self, followed: _Followed, news: Sequence[Event | None]) -> None:
        if followed.readers:
            followed.news += news
            if followed.telling is None:
                followed.telling = asyncio.create_task(self._tell(followed))
        if followed.watchers:
            followed.is_outdated = True
            if followed.reading is None:
                followed.reading = asyncio.create_task(self._show(followed))

    async def _tell(self, followed: _Followed) -> None:
        """Hand out a game's news, in their order, encoded once for each edition."""
        try:
            while followed.news:
                news, followed.news = followed.news, []
                events = [event for event in news if event is not None]
                has_missed = len(events) < len(news)
                for edition, readers in list(followed.readers.items()):
                    texts = [await _encoded(edition, event) for event in events] if edition else ()
                    # Who comes during this is told the same by the log.
                    for count, reader in enumerate(list(readers), 1):
                        if events:
                            reader.push(events, texts)
                        if has_missed:
                            reader.miss()
                        if count % AT_ONCE == 0:
                            await asyncio.sleep(0)
        finally:
            followed.telling = None

    async def _show(self, followed: _Followed) -> None:
        """Read a game once for all who watch it, and again if it has changed meanwhile."""
        try:
            while followed.is_outdated and followed.watchers:
                followed.is_outdated = False
                game = await patiently(partial(self._newest, followed.game))
                for watcher in followed.watchers:
                    watcher.show(game)
        except Exception as error:  # noqa: BLE001 - it is theirs
            for watcher in followed.watchers:
                watcher.fail(error)
        finally:
            followed.reading = None

    def _entry(self, game: UUID) -> _Followed:
        if (followed := self._followed.get(game)) is None:
            followed = self._followed[game] = _Followed(game)
            self._company.set()
        return followed

    def _leave(self, followed: _Followed) -> None:
        for edition in [edition for edition, readers in followed.readers.items() if not readers]:
            del followed.readers[edition]
        if not followed.readers and not followed.watchers:
            del self._followed[followed.game]
            followed.stop()

    async def events(
        self, game: UUID, after: int, edition: Edition[Event] | None = None, offer: Offer | None = None
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Yield a game's events after a sequence number: those of the past, then those that happen, as they come.

        They are contiguous and complete. Ends after the event that closes the record, where the game has one. What
        happens while the subscriber waits for it is offered to him in the words of the edition, where he has one, and
        not yielded if he takes it.

        Raises:
            SlowReader: the subscriber left too many waiting; he may come back with the last number he saw.
        """
        reader, followed = Reader(after, offer), self._entry(game)
        readers = followed.readers.setdefault(edition, set())
        readers.add(reader)
        del edition, offer  # they are kept elsewhere, the edition once for all
        try:
            while True:
                while page := await patiently(partial(self._past, game, reader.after, PAGE)):
                    reader.after, is_over, is_last = page[-1].seq, closes_the_record(page[-1]), len(page) < PAGE
                    yield page
                    del page
                    if is_over:
                        return
                    if is_last:
                        break
                has_gap = False
                while not has_gap:
                    await reader.heard()
                    following, has_gap = reader.take()
                    if following:
                        is_over = closes_the_record(following[-1])
                        yield following
                        if is_over:
                            return
                    del following
        finally:
            readers.discard(reader)
            self._leave(followed)

    async def versions(self, game: UUID, _edition: object, _offer: object) -> AsyncGenerator[Sequence[Game], None]:
        """Yield a game as it is, and then its newest version whenever it has changed since.

        Changes that come faster than they are taken count as one. Ends when the record is closed.
        """
        watcher, followed = Watcher(), self._entry(game)
        followed.watchers.add(watcher)
        try:
            shown = await patiently(partial(self._newest, game))
            while True:
                yield (shown,)
                if shown.table.closed:
                    return
                shown = await watcher.newer(shown.version)
        finally:
            followed.watchers.discard(watcher)
            self._leave(followed)


async def stopped(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
