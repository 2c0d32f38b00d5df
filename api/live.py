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

from api import readers
from api.readers import Listener, Onlooker, Reader, Watcher, closes_the_record
from api.sharing import Edition, Offer
from domain.datastore import TIMELINE
from domain.events import Event, UnknownEvent, read_event
from domain.game import Game
from domain.games import FACT_TYPES
from domain.storage import DATABASE_AWAY, PersistenceError
from projections.answers import ANSWER_SECONDS, answering
from projections.pace import Pace

__all__ = ["Live", "patiently", "stopped"]

PAUSE_SECONDS: Final = 0.005
"""Between two looks at the log, so that under load one look finds many events."""
RETRY_SECONDS: Final = 0.5
BATCH: Final = 1_000
"""Events that are read from the log at once."""
AT_ONCE: Final = 100
"""Subscribers that are told before the event loop comes to something else."""
SLICE: Final = 100
"""Events that a subscriber is told before he is given the time to take them."""
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
    "SELECT notification_id, originator_id, topic FROM public.game_events WHERE notification_id > %s"
    " ORDER BY notification_id LIMIT %s"
)
_STATES: Final = "SELECT notification_id, state FROM public.game_events WHERE notification_id = ANY (%s)"


def _read(state: bytes) -> Event | None:
    try:
        return read_event(bytes(state), FACT_TYPES)
    except (ValueError, UnknownEvent):  # its subscribers learn it when they read on, the others go on
        return None
    except Exception:
        _logger.exception("an event can't be read")  # nor can its subscribers, who are told; the others go on
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


class _Circle:
    """Those readers of a game who are told it in the same words; one circle does not wait for another."""

    __slots__ = ("edition", "news", "readers", "telling")

    def __init__(self, edition: Edition[Event] | None) -> None:
        self.edition: Final = edition
        """None where each encodes for himself."""
        self.readers: Final[set[Reader]] = set()
        self.news: list[Event | None] = []
        """What they are to be told; None stands for what must be read from the log."""
        self.telling: asyncio.Task[None] | None = None

    def hear(self, news: Sequence[Event | None]) -> None:
        """Tell them in their time. Where that takes too long for so many events, they are to look at the log."""
        self.news += news
        if len(self.news) > readers.BACKLOG:
            self.news = [None]
        if self.telling is None:
            self.telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        """Hand out what is new, in its order, encoded once."""
        try:
            while self.news:
                news, self.news = self.news[:SLICE], self.news[SLICE:]
                events = [event for event in news if event is not None]
                texts = [await _encoded(self.edition, event) for event in events] if self.edition else ()
                await self._push(events, texts, has_missed=len(events) < len(news))
        except Exception:
            _logger.exception("a game's news can't be told, and is looked up")
            for reader in self.readers:
                reader.miss()
        finally:
            self.telling = None

    async def _push(self, events: Sequence[Event], texts: Sequence[str | None], *, has_missed: bool) -> None:
        # Who comes during this is told the same by the log.
        for count, reader in enumerate(list(self.readers), 1):
            if events:
                reader.push(events, texts)
            if has_missed:
                reader.miss()
            if count % AT_ONCE == 0:
                await asyncio.sleep(0)
        if self.news:
            await asyncio.sleep(0)  # so that they take these before they are told more


class _Followed:
    """A game that somebody follows."""

    __slots__ = ("circles", "game", "is_outdated", "reading", "watchers")

    def __init__(self, game: UUID) -> None:
        self.game: Final = game
        self.circles: Final[dict[Edition[Event] | None, _Circle]] = {}
        self.watchers: Final[set[Onlooker]] = set()
        self.is_outdated = False
        """Whether the watchers are to be shown the game anew."""
        self.reading: asyncio.Task[None] | None = None

    def circle(self, edition: Edition[Event] | None) -> _Circle:
        """Return those who are told this edition."""
        if (circle := self.circles.get(edition)) is None:
            circle = self.circles[edition] = _Circle(edition)
        return circle

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return what is being done for them."""
        telling = (circle.telling for circle in self.circles.values())
        return [task for task in (*telling, self.reading) if task is not None]


class Live:
    """The process's eye on the log, and the subscribers it tells."""

    def __init__(self, url: str, past: Past, newest: Newest) -> None:
        self._url: Final = url
        self._past: Final = past
        self._newest: Final = newest
        self._followed: Final[dict[UUID, _Followed]] = {}
        self._listeners: Final[set[Listener]] = set()
        self._position: int | None = None
        """Up to where the log is read; None while nobody follows a game or listens."""
        self._timeline = 0
        """That of the database, on which the position was read."""
        self._hint: Final = asyncio.Event()
        self._company: Final = asyncio.Event()
        """Set as soon as somebody follows a game or listens."""

    def wake(self) -> None:
        """Look at the log at once; without it, `Live` looks by itself before long. Call it in the loop's thread."""
        self._hint.set()

    async def run(self) -> None:
        """Follow the log until cancelled, also over times when the database is away, and over events that break it."""
        try:
            while True:
                await self._somebody()  # a connection for nobody would be one too many
                try:
                    async with await self._connected() as conn:
                        await self._follow(conn)
                except (psycopg.Error, PersistenceError) as error:
                    _logger.warning("subscriptions wait for the database", error=type(error).__name__)
                except Exception:
                    # From the end of the log, and everyone looks for himself: what broke it is not met for ever.
                    _logger.exception("subscriptions broke off, and go on from the end of the log")
                    self._position = None
                await asyncio.sleep(RETRY_SECONDS)
        finally:
            ending = [task for followed in self._followed.values() for task in followed.tasks()]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    async def _connected(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._url,
            autocommit=True,
            connect_timeout=2,
            application_name="tic live",
            # A connection that says nothing for hours, since nobody follows, must notice that the other side is gone.
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=5_000,
        )

    async def _somebody(self) -> None:
        """Wait until somebody follows a game or listens."""
        while not self._followed and not self._listeners:
            self._position = None  # nothing is read meanwhile, and none of it when somebody comes
            self._company.clear()
            await self._company.wait()

    async def _be_on_its_timeline(self, conn: psycopg.AsyncConnection) -> None:
        """Begin at the end of the log where the database has had a failover: positions may have been given anew."""
        with answering(conn, ANSWER_SECONDS):
            row = await (await conn.execute(f"SELECT {TIMELINE}")).fetchone()
        timeline = int(row[0]) if row else 0
        if timeline != self._timeline:
            self._position, self._timeline = None, timeline

    async def _follow(self, conn: psycopg.AsyncConnection) -> None:
        await self._be_on_its_timeline(conn)
        pace = Pace()
        while True:
            await self._somebody()
            self._hint.clear()  # before the look: what is appended during it is worth another one
            with answering(conn, ANSWER_SECONDS):
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
            for listener in self._listeners:
                listener.miss()
        rows = await (await conn.execute(_NEWER, (self._position, BATCH), prepare=True)).fetchall()
        # A second question for those that are told: to name all of them in the first costs the more the more are.
        wanted = [position for position, game, topic in rows if self._is_told(game, topic)]
        states: dict[int, bytes] = {}
        if wanted:
            states = dict(await (await conn.execute(_STATES, (wanted,), prepare=True)).fetchall())
        news: dict[UUID, list[Event | None]] = {}
        told: list[tuple[str, Event | None]] = []
        for position, game, topic in rows:
            if self._is_told(game, topic):
                # Whoever came while the database answered finds no state here; he is told to look himself.
                told.append((topic, _read(states[position]) if position in states else None))
                if game in self._followed:
                    news.setdefault(game, []).append(told[-1][1])
            elif game in self._followed:
                news.setdefault(game, []).append(None)
            self._position = position
        for game, events in news.items():
            self._hand_out(self._followed[game], events)
        if rows:
            self._call_out([game for _, game, _ in rows], told)
        return len(rows)

    def _is_told(self, game: UUID, topic: str) -> bool:
        """Whether somebody is to be told the event itself."""
        followed = self._followed.get(game)
        return bool(followed and followed.circles) or any(topic in listener.topics for listener in self._listeners)

    def _call_out(self, games: Sequence[UUID], told: Sequence[tuple[str, Event | None]]) -> None:
        for listener in self._listeners:
            events = [event for topic, event in told if topic in listener.topics]
            listener.hear(games, [event for event in events if event is not None])
            if None in events:
                listener.miss()

    def _hand_out(self, followed: _Followed, news: Sequence[Event | None]) -> None:
        for circle in followed.circles.values():
            circle.hear(news)
        if followed.watchers:
            self._refresh(followed)

    def _refresh(self, followed: _Followed) -> None:
        followed.is_outdated = True
        if followed.reading is None:
            followed.reading = asyncio.create_task(self._show(followed))

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
                watcher.fail(followed.game, error)
        finally:
            followed.reading = None

    def _entry(self, game: UUID) -> _Followed:
        if (followed := self._followed.get(game)) is None:
            followed = self._followed[game] = _Followed(game)
            self._company.set()
        return followed

    def _leave(self, followed: _Followed) -> None:
        """Forget a game that nobody follows."""
        if not followed.circles and not followed.watchers:
            del self._followed[followed.game]
            if followed.reading is not None:
                followed.reading.cancel()

    def listen(self, listener: Listener) -> None:
        """Let a listener hear of what happens from now on; what was before it must look up after this."""
        self._listeners.add(listener)
        self._company.set()

    def unlisten(self, listener: Listener) -> None:
        """Let a listener hear of nothing more."""
        self._listeners.discard(listener)

    def watch(self, game: UUID, watcher: Onlooker, *, now: bool = False) -> None:
        """Show an onlooker each new version of a game, and also the present one if it is to be shown ``now``."""
        followed = self._entry(game)
        followed.watchers.add(watcher)
        if now:
            self._refresh(followed)

    def unwatch(self, game: UUID, watcher: Onlooker) -> None:
        """Show an onlooker a game no longer."""
        if (followed := self._followed.get(game)) is not None:
            followed.watchers.discard(watcher)
            self._leave(followed)

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
        circle = followed.circle(edition)
        circle.readers.add(reader)
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
            circle.readers.discard(reader)
            if not circle.readers:
                del followed.circles[circle.edition]
                if circle.telling is not None:
                    circle.telling.cancel()
            self._leave(followed)

    async def versions(self, game: UUID, _edition: object, _offer: object) -> AsyncGenerator[Sequence[Game], None]:
        """Yield a game as it is, and then its newest version whenever it has changed since.

        Changes that come faster than they are taken count as one. Ends when the record is closed.
        """
        watcher = Watcher()
        self.watch(game, watcher)
        try:
            shown = await patiently(partial(self._newest, game))
            while True:
                yield (shown,)
                if shown.table.closed:
                    return
                shown = await watcher.newer(shown.version)
        finally:
            self.unwatch(game, watcher)


async def stopped(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
