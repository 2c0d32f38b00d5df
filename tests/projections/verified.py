"""Games of every sort that there is in what can be said of them by their seeds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from domain.decider import Fact
from domain.events import Event
from domain.lifecycle import SeedsHeldBack, SeedsRevealed
from domain.verification import Verification
from tests.projections.finished import again, with_facts

__all__ = ["SAID", "every_sort"]

HELD_BACK: Final = "tickle-entropy-of-some-beacon-seeds-held-back"
LONG_AGO: Final = datetime(2020, 5, 1, 12, tzinfo=UTC)

SAID: Final[dict[str, Verification | None]] = {
    "under way": Verification.PENDING,
    "called off": None,
    "revealed with the result": Verification.PROVED,
    "revealed after they were held back": Verification.PROVED,
    "held back": Verification.PENDING,
    "held back until a time that has passed": Verification.UNVERIFIABLE,
    "never revealed": Verification.UNVERIFIABLE,
    "revealed, and others than were committed to": Verification.UNVERIFIABLE,
    "revealed, and not all of them": Verification.UNVERIFIABLE,
}
"""What is to be said of each today, many years before the recorded games say that they were played."""


def every_sort() -> dict[str, list[Event]]:
    """A game of each sort, as ``SAID`` has them."""
    held = again(HELD_BACK, 5)
    proved, unproved = again("poker-declared", 3), again("tickle-timed-out", 7)
    foreign, fewer = again("poker-declared", 8), again("poker-declared", 9)
    games = [
        again("won", 1)[:19],
        again("tickle-cancelled", 2),
        proved,
        again(HELD_BACK, 4),
        held[:-1],
        with_facts(again(HELD_BACK, 6), [_long_ago(event.fact) for event in held[:-1]]),
        with_facts(unproved, _facts(unproved)[:-1]),
        with_facts(foreign, [*_facts(foreign)[:-1], SeedsRevealed(seeds=("5a" * 32, "5b" * 32))]),
        with_facts(fewer, [*_facts(fewer)[:-1], SeedsRevealed(seeds=_seeds(fewer)[:-1])]),
    ]
    assert all(isinstance(game[-1].fact, SeedsRevealed) for game in (unproved, held))
    assert len(_seeds(fewer)) == len(_seeds(foreign)) == 2
    return dict(zip(SAID, games, strict=True))


def _facts(events: Sequence[Event]) -> list[Fact]:
    return [event.fact for event in events]


def _seeds(events: Sequence[Event]) -> tuple[str, ...]:
    revealed = events[-1].fact
    assert isinstance(revealed, SeedsRevealed)
    return revealed.seeds


def _long_ago(fact: Fact) -> Fact:
    return SeedsHeldBack(deadline=LONG_AGO) if isinstance(fact, SeedsHeldBack) else fact
