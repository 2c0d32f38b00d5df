"""A finished game that counts: what scoreboards, ratings and statistics take in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from domain.counting import Counter
from domain.games import DECIDERS
from domain.results import Result, SeatResult

__all__ = ["COUNTERS", "CountedGame"]

COUNTERS: Final[Mapping[str, tuple[Counter, ...]]] = {
    kind: tuple({c.name: c for key in sorted(DECIDERS) if key[0] == kind for c in DECIDERS[key].counters}.values())
    for kind, _ in DECIDERS
}
"""What is counted of the games of each kind, under whichever ruleset."""


@dataclass(frozen=True, slots=True)
class CountedGame:
    """A finished game whose seeds were revealed and lead to what was committed to before the deal."""

    position: int
    """Of the event in the log that made it count: in the order of these positions games are counted."""
    result: Result

    @property
    def seats(self) -> tuple[SeatResult, ...]:
        """The seats that are counted, seat 1 first.

        The rules let a player sit once. Where a log says otherwise, the player's first seat is what counts.
        """
        seats = self.result.seats
        first = {seat.player: seat for seat in reversed(seats)}
        return seats if len(first) == len(seats) else tuple(seat for seat in seats if first[seat.player] is seat)
