"""What is counted of a finished game: numbers of each seat, from which scoreboards and statistics are added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Counter", "Counts", "Keeps", "SeatCount", "from_zero"]

Counts = Mapping[str, int]
"""Numbers by the names of their counters. Of what is summed up every game says something, if only 0; a counter that
keeps the greatest, the least or a row is left out where a game says nothing of it."""


class Keeps(StrEnum):
    """What a player's counter keeps of game after game."""

    SUM = "sum"
    GREATEST = "greatest"
    LEAST = "least"
    """The least is the best: so few moves, so short a time."""
    IN_A_ROW = "in-a-row"
    """A game counts 1 or 0; kept is the longest row of ones."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One number that is counted in the games of a kind."""

    name: str
    """Stable: read models know it by this name."""
    keeps: Keeps = Keeps.SUM
    board: bool = False
    """Whether there is a scoreboard by it."""
    from_one: bool = False
    """Whether only those are listed there who have something: nobody leads with no wins."""


@dataclass(frozen=True, slots=True)
class SeatCount:
    """What a finished game comes to for one seat."""

    seat: int
    place: int | None
    """1 for the winner; None where a game has no places."""
    points: int | None
    """What the result gives it; None in a game without points."""
    resigned: bool
    counts: Counts


def from_zero(counters: Iterable[Counter]) -> dict[str, int]:
    """Return a zero for each counter that is summed up, to count from."""
    return {counter.name: 0 for counter in counters if counter.keeps is Keeps.SUM}
