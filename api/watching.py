"""How one game stands, or a whole lobby, followed as it changes.

A lobby is looked at at a pace: the games that changed meanwhile are read and computed once for all who watch any part
of it, and those who watch the same part are handed the same news.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import Final
from uuid import UUID

from api.faults import SlowReader
from api.live import Live
from api.readers import BACKLOG, Bell
from api.seams import Opening, Reading, Seams, Wanted
from api.tallies import Tallies, Tally
from domain.events import Event

__all__ = ["LobbyNews", "LobbyWatch", "tallies_of"]

PACE_SECONDS: Final = 0.25
"""Between two looks at the games that changed, and so between two messages to one who watches a lobby."""
MOST_LISTED: Final = 100
"""Games that somebody who comes to a lobby is told of."""
AT_ONCE: Final = 50
"""Games that are read in one go of a thread."""
MOST_OPENINGS: Final = 20_000
"""Games of which it is remembered what they are for life."""


async def tallies_of(
    live: Live, tallies: Tallies, game: UUID, _edition: object, _offer: object
) -> AsyncGenerator[Sequence[Tally], None]:
    """Yield how a game stands, and how it stands then whenever that is not the same any more, the newest only.

    Ends when the record is closed.
    """
    last: Tally | None = None
    async with aclosing(live.versions(game, None, None)) as versions:
        async for (record,) in versions:
            tally = tallies.of(record)
            if tally != last:
                last = tally
                yield (tally,)


# A lobby


@dataclass(frozen=True)
class LobbyNews:
    """What is new in a lobby: the same object for all who are told the same."""

    tallies: tuple[Tally, ...]
    has_more: bool = False
    """Whether there are more games than those that one who comes is told of."""

    @cached_property
    def key(self) -> bytes:
        """What is told, as a digest."""
        told = "\n".join((str(self.has_more), *(tally.head for tally in self.tallies)))
        return hashlib.sha256(told.encode()).digest()


class _Slot(Bell):
    """Where the news of a lobby wait for one subscriber: of each game the newest."""

    __slots__ = ("_error", "_is_overrun", "_news")

    def __init__(self) -> None:
        super().__init__()
        self._news: LobbyNews | None = None
        self._error: Exception | None = None
        self._is_overrun = False

    def put(self, news: LobbyNews) -> None:
        """Put news there, with those that wait there."""
        if self._news is not None:
            merged = {tally.game: tally for tally in chain(self._news.tallies, news.tallies)}
            self._is_overrun = self._is_overrun or len(merged) > BACKLOG
            news = LobbyNews(() if self._is_overrun else tuple(merged.values()), self._news.has_more)
        self._news = news
        self.ring()

    def fail(self, error: Exception) -> None:
        """Say that the lobby can't be told any more."""
        self._error = error
        self.ring()

    async def taken(self) -> LobbyNews:
        """Wait for news and take them.

        Raises:
            SlowReader: too many games waited.
            Exception: what the lobby could not be read for.
        """
        while True:
            await self.heard()
            if self._error is not None:
                raise self._error
            if self._is_overrun:
                raise SlowReader("You fell behind and were cut off. Subscribe again: you are told the lobby anew.")
            news, self._news = self._news, None
            if news is not None:
                return news


class _Hall:
    """Those who watch a lobby with the same filter."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted: Final = wanted
        self.slots: Final[set[_Slot]] = set()
        """Of those who know all of ``games`` that were there when they came."""
        self.comers: Final[set[_Slot]] = set()
        self.games: Final[dict[UUID, Tally]] = {}
        """The games that they were told of and that are still wanted, as they were told."""
        self._news: list[Tally] = []

    def take_in(self, tally: Tally) -> None:
        """Note how a game stands. One that is wanted no longer is told once more."""
        known = self.games.get(tally.game)
        if self.wanted.fits(tally):
            self.games[tally.game] = tally
        elif self.games.pop(tally.game, None) is None:
            return
        if tally != known:
            self._news.append(tally)

    def hand_out(self) -> None:
        """Tell everyone what is new."""
        if not self._news:
            return
        news, self._news = LobbyNews(tuple(self._news)), []
        for slot in self.slots:
            slot.put(news)

    def forget(self) -> None:
        """Know no game any more: what changed may have been missed, and whoever comes next is told what there is."""
        self.games.clear()
        self._news.clear()

    def welcome(self, comers: Iterable[_Slot], *, has_more: bool) -> None:
        """Tell those who come what there is."""
        newest = sorted(self.games.values(), key=attrgetter("opened_at"), reverse=True)
        news = LobbyNews(tuple(newest[:MOST_LISTED]), has_more or len(newest) > MOST_LISTED)
        for slot in comers:
            if slot in self.comers:  # he may have gone away
                self.comers.remove(slot)
                self.slots.add(slot)
                slot.put(news)


class LobbyWatch:
    """The process's one watch over the lobby, for all who follow some part of it."""

    topics: Collection[str] = ()

    def __init__(
        self,
        live: Live,
        seams: Seams,
        read: Reading,
        tallies: Tallies,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the clock, in seconds, and the sleep by which the pace is kept."""
        self._live: Final = live
        self._seams: Final = seams
        self._read: Final = read
        self._tallies: Final = tallies
        self._clock: Final = clock
        self._sleep: Final = sleep
        self._halls: Final[dict[str | None, dict[Wanted, _Hall]]] = {}
        """By the label that is wanted, and the filter."""
        self._openings: Final[OrderedDict[UUID, Opening]] = OrderedDict()
        self._changed: set[UUID] = set()
        self._has_missed = False
        self._stir = Bell()
        self._arrivals = Bell()
        self._turn = asyncio.Lock()
        """One looks at a time: so what is told of a game is never older than what was told before."""
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._next_at = -float("inf")

    def hear(self, games: Sequence[UUID], _events: Sequence[Event]) -> None:
        """Note which games changed."""
        self._changed.update(games)
        self._stir.ring()

    def miss(self) -> None:
        """Note that any game may have changed."""
        self._has_missed = True
        self._stir.ring()

    async def follow(self, wanted: Wanted, _edition: object, _offer: object) -> AsyncGenerator[Sequence[LobbyNews]]:
        """Yield the newest games that are wanted, then each that changes, and those that are wanted no longer once."""
        slot = _Slot()
        hall = self._enter(wanted, slot)
        try:
            while True:
                yield (await slot.taken(),)
        finally:
            self._leave(hall, slot)

    def _enter(self, wanted: Wanted, slot: _Slot) -> _Hall:
        if not self._halls:
            self._stir, self._arrivals = Bell(), Bell()  # others may still be leaving the old ones
            self._live.listen(self)
            looks = (self._kept_up(self._stir, self._look_at_a_pace), self._kept_up(self._arrivals, self._admit))
            self._tasks = tuple(asyncio.create_task(look) for look in looks)
        halls = self._halls.setdefault(wanted.label, {})
        if (hall := halls.get(wanted)) is None:
            hall = halls[wanted] = _Hall(wanted)
        hall.comers.add(slot)
        self._arrivals.ring()
        return hall

    def _leave(self, hall: _Hall, slot: _Slot) -> None:
        hall.comers.discard(slot)
        hall.slots.discard(slot)
        if hall.comers or hall.slots:
            return
        halls = self._halls[hall.wanted.label]
        del halls[hall.wanted]
        if not halls:
            del self._halls[hall.wanted.label]
        if not self._halls:
            self._live.unlisten(self)
            for task in self._tasks:
                task.cancel()
            self._tasks, self._changed, self._has_missed = (), set(), False

    async def _kept_up(self, bell: Bell, look: Callable[[], Awaitable[None]]) -> None:
        while True:
            await bell.heard()
            try:
                await look()
            except Exception as error:  # noqa: BLE001 - it is theirs
                for hall in self._all_halls():
                    hall.forget()
                    for slot in hall.comers | hall.slots:
                        slot.fail(error)

    async def _look_at_a_pace(self) -> None:
        """Tell what changed, but not too soon after the last time."""
        if (pause := self._next_at - self._clock()) > 0:
            await self._sleep(pause)
        async with self._turn:
            self._next_at = self._clock() + PACE_SECONDS
            changed, self._changed = self._changed, set()
            halls = self._all_halls()
            if self._has_missed:
                self._has_missed = False
                for hall in halls:
                    changed.update(hall.games, (await self._listed(hall))[0])
            await self._take_in(changed, self._halls_for)
            for hall in halls:
                hall.hand_out()

    async def _admit(self) -> None:
        """Tell those who have come what there is, all who want the same together."""
        async with self._turn:
            for hall in self._all_halls():
                if comers := tuple(hall.comers):
                    try:
                        await self._welcome(hall, comers)
                    except Exception as error:  # noqa: BLE001 - it is theirs
                        for slot in comers:
                            slot.fail(error)

    async def _welcome(self, hall: _Hall, comers: Collection[_Slot]) -> None:
        listed, has_more = await self._listed(hall)
        await self._take_in([game for game in listed if game not in hall.games], lambda _: (hall,))
        hall.hand_out()  # what those who were there have not been told of
        hall.welcome(comers, has_more=has_more)

    async def _listed(self, hall: _Hall) -> tuple[list[UUID], bool]:
        return await self._read(partial(self._seams.listed, hall.wanted, MOST_LISTED))

    async def _take_in(self, games: Collection[UUID], halls_for: Callable[[str | None], Iterable[_Hall]]) -> None:
        """Read those games that some of the halls for their labels may want, each once; compute how they stand."""
        if unknown := [game for game in games if game not in self._openings]:
            self._openings.update(await self._read(partial(self._seams.openings, unknown)))
        openings = {game: opening for game in games if (opening := self._openings.get(game)) is not None}
        wanted = [
            game
            for game, opening in openings.items()
            if any(hall.wanted.may_be(opening) for hall in halls_for(opening.label))
        ]
        while len(self._openings) > MOST_OPENINGS:
            self._openings.popitem(last=False)
        for begin in range(0, len(wanted), AT_ONCE):
            found = await self._read(partial(self._seams.games, wanted[begin : begin + AT_ONCE]))
            for tally in map(self._tallies.of, found):
                for hall in halls_for(tally.label):
                    if hall.wanted.may_be(tally):
                        hall.take_in(tally)

    def _halls_for(self, label: str | None) -> Iterable[_Hall]:
        """Return the halls whose label will do."""
        labels = (None,) if label is None else (None, label)
        return chain.from_iterable(self._halls.get(one, {}).values() for one in labels)

    def _all_halls(self) -> list[_Hall]:
        return [hall for halls in self._halls.values() for hall in halls.values()]
