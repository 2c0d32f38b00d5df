"""Which scoreboards there are, and the order of their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from domain.counting import Keeps
from domain.games import FOR_SEVERAL
from projections.counted import COUNTERS

__all__ = ["ALL_TIME", "BITS", "BOARDS", "LEVELS", "RATING", "Board", "Period", "Span"]
__all__ += ["key_of", "nodes", "nodes_left", "position_of", "reached_by", "value_of"]

RATING: Final = "rating"
"""What boards of ratings are counted by."""


@dataclass(frozen=True, slots=True)
class Board:
    """What a scoreboard is by."""

    kind: str
    """Of the games that count."""
    counter: str
    """Which of the kind's counters, or ``rating``."""

    @property
    def name(self) -> str:
        """Its name, which is stable."""
        return f"{self.kind}_{self.counter}"

    @property
    def keeps(self) -> Keeps | None:
        """What a line keeps of game after game; None for a rating, which each game sets anew."""
        return _KEEPS[self]

    @property
    def last(self) -> int:
        """The greatest key of a line that is listed."""
        return key_of(1, self.keeps) if self in _FROM_ONE else _GREATEST_KEY


_KEEPS: Final[Mapping[Board, Keeps | None]] = {
    Board(kind, counter.name): counter.keeps for kind in COUNTERS for counter in COUNTERS[kind] if counter.board
} | {Board(kind, RATING): None for kind in sorted(FOR_SEVERAL)}

_FROM_ONE: Final = frozenset(
    Board(kind, counter.name) for kind in COUNTERS for counter in COUNTERS[kind] if counter.board and counter.from_one
)

BOARDS: Final[Mapping[str, Board]] = {board.name: board for board in _KEEPS}
"""Every scoreboard, by name. Those of ratings are of all time only."""


class Span(StrEnum):
    """By what it is told which games a scoreboard is of."""

    ALL_TIME = "all-time"
    MONTH = "month"
    WEEK = "week"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Period:
    """The games that a scoreboard is of."""

    span: Span
    name: str
    """A month as 2026-11, a week of ISO 8601 as 2026-W48, the label they bear; empty for all games."""

    @classmethod
    def of(cls, span: Span, at: datetime) -> Period:
        """Return the month or the week, in UTC, of the games that were finished at a time.

        Raises:
            ValueError: the time does not tell what games of this span have in common.
        """
        day = at.astimezone(UTC).date()
        match span:
            case Span.MONTH:
                return cls(span, f"{day.year:04}-{day.month:02}")
            case Span.WEEK:
                week = day.isocalendar()
                return cls(span, f"{week.year:04}-W{week.week:02}")
            case _:
                raise ValueError(f"{span} is neither a month nor a week")


ALL_TIME: Final = Period(Span.ALL_TIME, "")


# The order of a board
#
# A line's key says how good its value is: the lesser the better, so that all of the order ascends and one comparison of
# rows, which an index answers, tells what follows a line. Of equal ones the first to get there stands first.

_LIMIT: Final = 2**62
"""Values lie from this, negated, up to this. What would leave the range, which no sum of true games does, stays at its
end: a log that was made up must not stop who follows it."""
_SEAT_BITS: Final = 8
_GREATEST_KEY: Final = 2**63 - 1


def key_of(value: int, keeps: Keeps | None) -> int:
    """Return the key of a value: 0 or more, less than 2**63."""
    # The keys of small values have all but their last bits in common, and so nearly all their nodes.
    within = min(max(value, -_LIMIT), _LIMIT - 1)
    return _LIMIT + within if keeps is Keeps.LEAST else _LIMIT - 1 - within


def value_of(key: int, keeps: Keeps | None) -> int:
    """Return the value of a key."""
    return key - _LIMIT if keeps is Keeps.LEAST else _LIMIT - 1 - key


def reached_by(position: int, seat: int) -> int:
    """Return what tells of equal lines which stands first: the position in the log, and the seat within a game.

    No two lines have the same.
    """
    return position << _SEAT_BITS | seat


def position_of(reached: int) -> int:
    """Return the position in the log at which something was reached."""
    return reached >> _SEAT_BITS


# The tree of counts
#
# To count the lines that are better than one would take as long as they are many, so they are counted beforehand. A
# node is all keys with the same leading bits, 6 bits more on each level down to the last, where it is one key; its row
# tells how many lines are in it. All that is less than a key is, on each level, in the nodes before the key's own under
# the same parent: no more than 63 rows, which lie side by side in the index.

BITS: Final = 6
LEVELS: Final = 11
_SHIFTS: Final = tuple((level, BITS * (LEVELS - 1 - level)) for level in reversed(range(LEVELS)))


def nodes(key: int) -> Iterator[tuple[int, int]]:
    """Yield the level and the prefix of each node that a key is in, the smallest first."""
    for level, shift in _SHIFTS:
        yield level, key >> shift


def nodes_left(old: int, new: int) -> Iterator[tuple[int, int, int]]:
    """Yield each level on which a line with another key is in another node, with the prefixes of the two nodes."""
    for level, shift in _SHIFTS:
        before, after = old >> shift, new >> shift
        if before == after:  # and so are those above
            return
        yield level, before, after
