"""Where what happens waits for one subscriber: few bytes each, and never more than so much."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final, Protocol
from uuid import UUID

from api.faults import SlowReader
from api.sharing import Offer
from domain.events import Event
from domain.game import Game
from domain.lifecycle import CLOSING

__all__ = ["Bell", "Listener", "Onlooker", "Reader", "Watcher", "closes_the_record"]

BACKLOG: Final = 1_000
"""Events that wait for one subscriber before he is cut off."""


def closes_the_record(event: Event) -> bool:
    """Whether nothing can follow this event in its game."""
    return isinstance(event.fact, CLOSING)


def _too_slow(last: int) -> SlowReader:
    return SlowReader(
        f"You fell behind and were cut off. Subscribe again with afterSeq: {last}.", extensions={"afterSeq": last}
    )


class Onlooker(Protocol):
    """Is shown the newest version of games."""

    def show(self, game: Game) -> None:
        """Take a version: the newest, and it may be one that was shown before."""

    def fail(self, game: UUID, error: Exception) -> None:
        """Learn that a game can't be read."""


class Listener(Protocol):
    """Hears of the events of all games, as they come."""

    topics: Collection[str]
    """The facts that it is told; of all others it hears only that they came."""

    def hear(self, games: Sequence[UUID], events: Sequence[Event]) -> None:
        """Take what is new in the log, in its order: the game of each event, and the events that it is to be told."""

    def miss(self) -> None:
        """Learn that events may have come which it does not hear of: it must look at the log itself."""


class Bell:
    """Wakes the one who waits for it. A server has thousands: an `asyncio.Event` takes ten times the space."""

    __slots__ = ("_has_rung", "_waiter")

    def __init__(self) -> None:
        self._has_rung = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_attended(self) -> bool:
        """Whether somebody waits for it, or has been woken and not had the time to come."""
        return self._waiter is not None

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for it, and neither has it rung nor has he been called away."""
        return self._waiter is not None and not self._waiter.done()

    def ring(self) -> None:
        """Wake whoever waits, or else the next who comes."""
        self._has_rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def heard(self) -> None:
        """Wait until it has rung since it was heard last."""
        if not self._has_rung:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._has_rung = False


class Reader(Bell):
    """One subscriber's place: the events of a game that wait for him."""

    __slots__ = ("_events", "_has_missed", "_is_overrun", "_offer", "after")

    def __init__(self, after: int, offer: Offer | None = None) -> None:
        super().__init__()
        self.after = after
        """The last event that he has been told."""
        self._offer: Final = offer
        self._events: list[Event] = []
        self._has_missed = False
        self._is_overrun = False

    def __len__(self) -> int:
        return len(self._events)

    def push(self, events: Sequence[Event], texts: Sequence[str | None] = ()) -> None:
        """Hand out events, with their encodings where there are any: whoever waits for them is told at once.

        The others find them when they come back. If there are too many of them, they are all dropped: whoever was there
        all the time must read them from the log, and whoever was not is cut off.
        """
        if self.is_awaited and self._offer is not None and (told := self._tell(events, texts, self._offer)):
            events = events[told:]
            if not events:
                return
        if self._is_overrun or len(self._events) + len(events) > BACKLOG:
            self._events.clear()
            self._is_overrun = self._is_overrun or not self.is_attended
            self._has_missed = True
        else:
            self._events += events
        self.ring()

    def _tell(self, events: Sequence[Event], texts: Sequence[str | None], offer: Offer) -> int:
        told = 0
        for event, text in zip(events, texts, strict=False):
            # After the last event of a record the subscription has to end, so that one is left to it.
            if text is None or event.seq != self.after + 1 or closes_the_record(event) or not offer(text):
                break
            self.after = event.seq
            told += 1
        return told

    def miss(self) -> None:
        """Say that there may be events which must be read from the log."""
        self._has_missed = True
        self.ring()

    def take(self) -> tuple[Sequence[Event], bool]:
        """Return the events that follow what he has been told, and whether some must be read from the log before more.

        Raises:
            SlowReader: too many waited.
        """
        waiting, has_gap, is_overrun = self._events, self._has_missed, self._is_overrun
        self._events, self._has_missed, self._is_overrun = [], False, False
        if is_overrun:
            raise _too_slow(self.after)
        following: list[Event] = []
        for event in waiting:
            if event.seq == self.after + 1:
                following.append(event)
                self.after = event.seq
            has_gap = has_gap or event.seq > self.after
        return following, has_gap


class Watcher(Bell):
    """One subscriber's place where he finds the newest version of a game, and no other."""

    __slots__ = ("_error", "_newest")

    def __init__(self) -> None:
        super().__init__()
        self._newest: Game | None = None
        self._error: Exception | None = None

    def show(self, game: Game) -> None:
        """Put a version there, in place of an older one."""
        self._newest = game
        self.ring()

    def fail(self, _game: UUID, error: Exception) -> None:
        """Say that the game can't be shown any more."""
        self._error = error
        self.ring()

    async def newer(self, version: int) -> Game:
        """Wait for a version after this one and return it.

        Raises:
            Exception: what the game could not be read for.
        """
        while True:
            await self.heard()
            if self._error is not None:
                raise self._error
            newest, self._newest = self._newest, None
            if newest is not None and newest.version > version:
                return newest
