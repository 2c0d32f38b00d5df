"""What is counted of a finished game of TIC Poker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Final

from domain.counting import Counter, SeatCount, from_zero
from domain.decider import Position
from domain.lifecycle import TimedOut
from domain.poker import facts as f
from domain.poker.hands import Rank
from domain.poker.table import PokerTable

__all__ = ["COUNTERS", "count", "medals"]

COUNTERS: Final = (
    Counter("points", board=True),
    Counter("places", board=True, from_one=True),
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


_BITS: Final = 20
_MEDALS: Final = {1: 1 << 2 * _BITS, 2: 1 << _BITS, 3: 1}
"""What a place in a game is counted as, so that sums compare as a table of medals does: one first place is more than
any number of second ones, of which there may be a million before they reach it."""
_RANKS: Final = {rank: rank.name.lower() for rank in Rank}


def medals(value: int) -> tuple[int, int, int]:
    """Return how many first, second and third places a sum of ``places`` stands for.

    >>> medals(2 * 2**40 + 5 * 2**20 + 1)
    (2, 5, 1)
    """
    seconds, thirds = divmod(value, 1 << _BITS)
    firsts, seconds = divmod(seconds, 1 << _BITS)
    return firsts, seconds, thirds


def count(positions: Iterable[Position[PokerTable]], lasted: timedelta) -> tuple[SeatCount, ...]:  # noqa: ARG001
    """Count a finished game, seat by seat.

    - ``points``: of all rounds (P9); ``wins``: a first place in the game, also a shared one.
    - ``places``: the place in the game as a medal (``medals``); 0 from the fourth on. Seats that resigned have places,
      too: the last ones (G1).
    - ``rounds``: those in which the seat was ranked (P12); ``rounds_won``: a first place there, also a shared one.
    - ``calls``: also in a round that was not scored; ``calls_won``: the caller took a first place in the round.
    - ``exchanges``: turns in which cards were exchanged, private ones or a community card (P2, P10, P11); ``kept``:
      turns in which the seat kept its cards by its own word. A turn that ran out of time is among ``time_outs`` only.
    - by the name of each rank: rounds in which the seat was ranked with such a hand, by whoever's declaration (P5).
    - ``late_declarations``: times that the time to declare ran out (P5). These are among ``time_outs``, too.
    - ``resignations``: also those that follow from time-outs (G2).

    Raises:
        ValueError: the game is not finished.
    """
    tallies = defaultdict[int, dict[str, int]](partial(from_zero, COUNTERS))
    finished: f.PokerFinished | None = None
    ranks: dict[int, Rank] = {}
    caller = 0
    for fact, before, _ in positions:  # types are compared, for that is quicker than asking for instances
        if type(fact) is f.CardsExchanged or type(fact) is f.CommunityCardExchanged:
            tallies[fact.seat]["exchanges"] += 1
        elif type(fact) is f.CardsKept:
            tallies[fact.seat]["kept"] += 1
        elif type(fact) is f.HandDeclared:
            ranks[fact.seat] = fact.rank
        elif type(fact) is f.RoundDealt:
            ranks, caller = {}, 0
        elif type(fact) is f.Called:
            caller = fact.seat
            tallies[caller]["calls"] += 1
        elif type(fact) is f.RoundScored:
            _add_round(tallies, fact, caller, ranks)
        elif type(fact) is TimedOut:
            tallies[fact.seat]["time_outs"] += 1
            tallies[fact.seat]["late_declarations"] += before.declaring
        elif type(fact) is f.PokerFinished:
            finished = fact
    if finished is None:
        raise ValueError("the game is not finished")
    return tuple(_counted(line, tallies[line.seat]) for line in finished.places)


def _add_round(
    tallies: Mapping[int, dict[str, int]], fact: f.RoundScored, caller: int, ranks: Mapping[int, Rank]
) -> None:
    for line in fact.places:
        tally = tallies[line.seat]
        tally["rounds"] += 1
        tally["rounds_won"] += line.place == 1
        tally["calls_won"] += line.place == 1 and line.seat == caller
        tally[_RANKS[ranks[line.seat]]] += 1


def _counted(line: f.PokerResult, tally: dict[str, int]) -> SeatCount:
    tally |= {
        "games": 1,
        "wins": int(line.place == 1),
        "points": line.points,
        "places": _MEDALS.get(line.place, 0),
        "resignations": int(line.resigned),
    }
    return SeatCount(line.seat, line.place, line.points, line.resigned, tally)
