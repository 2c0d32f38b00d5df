"""What is counted of a finished game of Ticitaire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from domain.counting import Counter, Keeps, SeatCount
from domain.decider import Position
from domain.ticitaire.facts import Ending, TicitaireFinished
from domain.ticitaire.table import TicitaireTable

__all__ = ["COUNTERS", "count"]

COUNTERS: Final = (
    Counter("wins", board=True),
    Counter("moves", Keeps.LEAST, board=True),
    Counter("time", Keeps.LEAST, board=True),
    Counter("streak", Keeps.IN_A_ROW, board=True),
    Counter("games"),
    Counter("moves_made"),
    Counter("columns_cleared"),
    Counter("cards_turned_up"),
    Counter("stock_turns"),
    Counter("recycles"),
    Counter("take_backs"),
    Counter("given_up"),
    Counter("time_outs"),
)


def count(positions: Iterable[Position[TicitaireTable]], lasted: timedelta) -> tuple[SeatCount, ...]:
    """Count a finished game, seat by seat.

    Raises:
        ValueError: the game is not finished.
    """
    finished = next((fact for fact, *_ in positions if isinstance(fact, TicitaireFinished)), None)
    if finished is None:
        raise ValueError("the game is not finished")
    won = int(finished.ending is Ending.WON)
    counts = {"games": 1, "wins": won, "streak": won}
    if won:
        counts |= {"moves": finished.moves, "time": lasted // timedelta(milliseconds=1)}
    return (SeatCount(1, finished.places[0].place, None, not won, counts),)
