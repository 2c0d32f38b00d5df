"""What is counted of a finished game of TIC Poker."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from domain.counting import Counter, SeatCount
from domain.decider import Position
from domain.poker.facts import PokerFinished
from domain.poker.hands import Rank
from domain.poker.table import PokerTable

__all__ = ["COUNTERS", "count"]

COUNTERS: Final = (
    Counter("points", board=True),
    Counter("places", board=True),
    Counter("wins"),
    Counter("games"),
    Counter("rounds"),
    Counter("rounds_won"),
    Counter("calls"),
    Counter("calls_won"),
    Counter("exchanges"),
    Counter("kept"),
    *(Counter(rank.name.lower()) for rank in Rank),
    Counter("late_declarations"),
    Counter("resignations"),
    Counter("time_outs"),
)


def count(positions: Iterable[Position[PokerTable]], lasted: timedelta) -> tuple[SeatCount, ...]:  # noqa: ARG001
    """Count a finished game, seat by seat.

    Raises:
        ValueError: the game is not finished.
    """
    finished = next((fact for fact, *_ in positions if isinstance(fact, PokerFinished)), None)
    if finished is None:
        raise ValueError("the game is not finished")
    return tuple(
        SeatCount(
            line.seat,
            line.place,
            line.points,
            line.resigned,
            {"games": 1, "wins": int(line.place == 1), "points": line.points},
        )
        for line in finished.places
    )
