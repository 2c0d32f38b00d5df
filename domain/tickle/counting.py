"""What is counted of a finished game of Tickle."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from domain.counting import Counter, Keeps, SeatCount
from domain.decider import Position
from domain.tickle.facts import TickleFinished
from domain.tickle.table import TickleTable

__all__ = ["COUNTERS", "count"]

COUNTERS: Final = (
    Counter("points", board=True),
    Counter("wins", board=True),
    Counter("best_laydown", Keeps.GREATEST, board=True),
    Counter("best_game", Keeps.GREATEST),
    Counter("games"),
    Counter("laydowns"),
    Counter("cards_laid"),
    Counter("tics"),
    Counter("singles"),
    Counter("groups_of_three"),
    Counter("groups_of_four"),
    Counter("tickles"),
    Counter("extremes"),
    Counter("six_card_laydowns"),
    Counter("draws"),
    Counter("declined"),
    Counter("hands_laid"),
    Counter("resignations"),
    Counter("time_outs"),
)


def count(positions: Iterable[Position[TickleTable]], lasted: timedelta) -> tuple[SeatCount, ...]:  # noqa: ARG001
    """Count a finished game, seat by seat.

    Raises:
        ValueError: the game is not finished.
    """
    finished = next((fact for fact, *_ in positions if isinstance(fact, TickleFinished)), None)
    if finished is None:
        raise ValueError("the game is not finished")
    return tuple(
        SeatCount(
            line.seat,
            line.place,
            line.total,
            line.resigned,
            {"games": 1, "wins": int(line.place == 1), "points": line.total},
        )
        for line in finished.places
    )
