"""What is counted of a finished game of Tickle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Final

from domain.counting import Counter, Keeps, SeatCount, from_zero
from domain.decider import Position
from domain.lifecycle import TimedOut
from domain.tickle import facts as f
from domain.tickle.facts import Closing
from domain.tickle.table import TickleTable

__all__ = ["COUNTERS", "count"]

COUNTERS: Final = (
    Counter("points", board=True),
    Counter("wins", board=True, from_one=True),
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


_GROUPS: Final = {3: "groups_of_three", 4: "groups_of_four", 5: "tickles"}
"""What groups that score are counted as, by how many cards they have (K10)."""


def count(positions: Iterable[Position[TickleTable]], lasted: timedelta) -> tuple[SeatCount, ...]:  # noqa: ARG001
    """Count a finished game, seat by seat.

    - ``points``, ``best_game``: the result's total, cards in hand paid for (K14); ``wins``: a first place, also a
      shared one.
    - ``best_laydown``: the most points of one laydown; left out where the seat made none.
    - ``tics``, ``singles``: new contacts of its laydowns (K9). ``groups_of_three``, ``groups_of_four``, ``tickles``:
      groups that scored, each time they did (K10); ``extremes``: those that paid an Extreme bonus (K11).
    - ``draws``: cards drawn for want of a laydown (K4, K7), also where the time ran out: such a draw was due all the
      same (G2). A hand that is filled up is no draw.
    - ``hands_laid``: the last card of the hand was laid, and the final stage began with it (K13).
    - ``resignations``: also those that follow from time-outs, each of which is among ``time_outs`` (G2).

    Raises:
        ValueError: the game is not finished.
    """
    tallies = defaultdict[int, dict[str, int]](partial(from_zero, COUNTERS))
    finished: f.TickleFinished | None = None
    for fact, *_ in positions:  # types are compared, for that is quicker than asking for instances
        if type(fact) is f.LaydownPlayed:
            _add_laydown(tallies[fact.seat], fact)
        elif type(fact) is f.CardDrawn:
            tallies[fact.seat]["draws"] += 1
        elif type(fact) is f.LaydownDeclined:
            tallies[fact.seat]["declined"] += 1
        elif type(fact) is TimedOut:
            tallies[fact.seat]["time_outs"] += 1
        elif type(fact) is f.FinalStageBegan and fact.cause is Closing.HAND_LAID:
            tallies[fact.seat]["hands_laid"] += 1
        elif type(fact) is f.TickleFinished:
            finished = fact
    if finished is None:
        raise ValueError("the game is not finished")
    return tuple(_counted(line, tallies[line.seat]) for line in finished.places)


def _add_laydown(tally: dict[str, int], fact: f.LaydownPlayed) -> None:
    score = fact.score
    tics = sum(contact.common == 2 for contact in score.contacts)
    tally["laydowns"] += 1
    tally["cards_laid"] += len(fact.cards)
    tally["tics"] += tics
    tally["singles"] += len(score.contacts) - tics  # a Nic is never laid (K5)
    tally["six_card_laydowns"] += score.six_card_points > 0
    tally["best_laydown"] = max(score.total, tally.get("best_laydown", score.total))
    for group in score.groups:
        tally[_GROUPS[len(group.cells)]] += 1
        tally["extremes"] += group.extreme > 0


def _counted(line: f.TickleResult, tally: dict[str, int]) -> SeatCount:
    tally |= {
        "games": 1,
        "wins": int(line.place == 1),
        "points": line.total,
        "best_game": line.total,
        "resignations": int(line.resigned),
    }
    return SeatCount(line.seat, line.place, line.total, line.resigned, tally)
