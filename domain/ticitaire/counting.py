"""What is counted of a finished game of Ticitaire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from domain.counting import Counter, Keeps, SeatCount, from_zero
from domain.decider import Position
from domain.lifecycle import TimedOut
from domain.ticitaire.facts import COLUMNS, CardsMoved, CardTurnedUp, Ending, MovesTakenBack, Spot, TicitaireFinished
from domain.ticitaire.table import Column, TicitaireTable

__all__ = ["COUNTERS", "count"]

COUNTERS: Final = (
    Counter("wins", board=True, from_one=True),
    Counter("moves", Keeps.LEAST, board=True),
    Counter("time", Keeps.LEAST, board=True),
    Counter("streak", Keeps.IN_A_ROW, board=True, from_one=True),
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


_EMPTY: Final = Column()


def count(positions: Iterable[Position[TicitaireTable]], lasted: timedelta) -> tuple[SeatCount, ...]:
    """Count a finished game of the only seat.

    - ``wins``, ``streak``: 1 for a game that is won, else 0 (S9).
    - ``moves``, ``time``: the moves of cards played, those taken back included, and the milliseconds from the deal to
      the end; of won games only, else left out.
    - ``moves_made``, ``stock_turns``, ``recycles``, ``take_backs``: as the result of any game has them.
    - ``columns_cleared``: columns that a move left without a card, each counted once, for who moves a 5 from one empty
      column to another clears nothing (S6); ``cards_turned_up``: face-down cards that were laid open (S7). What was
      taken back does not count in these two (S11).
    - ``given_up``: 1 for a game that is not won, whether the player gave it up or the time ran out; ``time_outs`` tells
      the latter (G2).

    Raises:
        ValueError: the game is not finished.
    """
    finished: TicitaireFinished | None = None
    cleared: dict[Spot, int] = {}  # with which version first
    turned_up: list[int] = []  # with which versions
    time_outs = 0
    for fact, _, after in positions:  # types are compared, for that is quicker than asking for instances
        if type(fact) is CardsMoved:
            if fact.source in COLUMNS and after.layout.column(fact.source) == _EMPTY:
                cleared.setdefault(fact.source, after.version)
        elif type(fact) is CardTurnedUp:
            turned_up.append(after.version)
        elif type(fact) is MovesTakenBack:
            cleared = {column: version for column, version in cleared.items() if version <= fact.to_version}
            turned_up = [version for version in turned_up if version <= fact.to_version]
        elif type(fact) is TimedOut:
            time_outs += 1
        elif type(fact) is TicitaireFinished:
            finished = fact
    if finished is None:
        raise ValueError("the game is not finished")
    won = int(finished.ending is Ending.WON)
    counts = from_zero(COUNTERS) | {
        "wins": won,
        "streak": won,
        "games": 1,
        "moves_made": finished.moves,
        "columns_cleared": len(cleared),
        "cards_turned_up": len(turned_up),
        "stock_turns": finished.turns,
        "recycles": finished.recycles,
        "take_backs": finished.take_backs,
        "given_up": 1 - won,
        "time_outs": time_outs,
    }
    if won:
        counts |= {"moves": finished.moves, "time": lasted // timedelta(milliseconds=1)}
    return tuple(SeatCount(line.seat, line.place, None, not won, counts) for line in finished.places)
