"""What a game is: facts, commands, and two pure functions over an immutable table.

``decide(command, table, at) -> facts`` holds all legality and may refuse; ``evolve(table, fact) -> table`` never
refuses, so tightening a rule can't break an old game. Everything that is shown folds the same facts with the
same ``evolve`` and then passes through ``view(table, viewer)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Annotated, Any, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PlainSerializer, StringConstraints, WithJsonSchema

from domain.cards import Card
from domain.counting import Counter, SeatCount
from domain.dealing import Seeds

__all__ = [
    "EVERYTHING",
    "PUBLIC",
    "AnyDecider",
    "Cell",
    "Command",
    "Decider",
    "Fact",
    "Instant",
    "Misfit",
    "Names",
    "OpenCommand",
    "Position",
    "Reason",
    "RuleViolation",
    "Viewer",
    "fold",
    "positions",
    "write_instant",
]


def write_instant(at: datetime) -> str:
    """Write a time as events do: UTC, with six digits of a second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Instant = Annotated[
    datetime,
    PlainSerializer(write_instant, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time in a fact."""

Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
"""32 bytes in lower-case hex, in a fact."""


class Fact(BaseModel):
    """What happened, as everyone at the table may know it: the storage format.

    Fields are never renamed or given a new meaning. A new meaning is a new fact, or a higher ``version`` with an
    ``upcast`` and a test on a stored sample.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )

    topic: ClassVar[str]
    """The stable name under which the fact is stored, such as ``ticitaire.StockTurned``; never a Python path."""
    version: ClassVar[int] = 1

    @classmethod
    def upcast(cls, stored: dict[str, Any], version: int) -> dict[str, Any]:  # noqa: ARG003 - for those who override it
        """Bring the stored fields of an older ``version`` to the present one.

        Raises:
            ValueError: this program does not know the version.
        """
        raise ValueError(f"{cls.topic} version {version} is not known here (this program knows {cls.version})")


class Command(BaseModel):
    """A request in the imperative. Rules know seats only, 1 being the first; 0 is nobody at the table."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: ClassVar[str]
    """The stable name of the command, such as ``ticitaire.TurnStock``: it goes into the digest of what was asked."""

    seat: int = 0


Cell = tuple[int, int]
"""A cell of a shared grid: x grows to the right, y downwards."""


class Reason(NamedTuple):
    """One rule that says no."""

    code: str
    """The rule, in capitals; stable."""
    ruling: str
    """The ruling's id, as in docs/rules.md."""
    message: str
    """A sentence for a person."""
    cells: tuple[Cell, ...] = ()
    """Where, in a game with a grid."""


class RuleViolation(Exception):
    """A rule said no. Nothing happened, and nothing in it tells of a hidden card."""

    def __init__(self, code: str, ruling: str, message: str, reasons: Sequence[Reason] = ()) -> None:
        """Tell what is wrong; ``reasons`` tells all of it where several rules say no."""
        super().__init__(message)
        self.code: Final = code
        """The rule, in capitals; stable."""
        self.ruling: Final = ruling
        """The ruling's id, as in docs/rules.md."""
        self.message: Final = message
        """A sentence for a person."""
        self.reasons: Final = tuple(reasons) or (Reason(code, ruling, message),)
        """Every rule that says no."""

    def __reduce__(self) -> tuple[type[RuleViolation], tuple[str, str, str, tuple[Reason, ...]]]:
        return type(self), (self.code, self.ruling, self.message, self.reasons)


class Misfit(ValueError):
    """A fact can't follow what has happened, whoever tells it."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: a seat, the public, or everything for whoever re-plays a finished game."""

    seat: int = 0
    """1-based; 0 for one without a seat."""
    player: UUID | None = None
    """Who it is, for what is open to those who have no seat yet; None for a stranger without a name."""
    everything: bool = False


PUBLIC: Final = Viewer()
EVERYTHING: Final = Viewer(everything=True)


class AnyTable(Protocol):
    """What the log and the application need to know of a game's table."""

    @property
    def version(self) -> int: ...
    @property
    def players(self) -> tuple[UUID, ...]: ...
    @property
    def over(self) -> bool: ...
    def seat_of(self, player: UUID) -> int: ...
    def attends(self, player: UUID) -> bool: ...


OpenCommand = Command | type[Command]
"""A command that would be accepted; where there are too many of a kind to list, or not all of it is known, its type."""

Names = Mapping[int, str]
"""Who sits where, as plain text, by seat. A seat without a name is told by its number."""

T = TypeVar("T", bound=AnyTable)
V = TypeVar("V")


class Position(NamedTuple, Generic[T]):
    """A fact, with the table before and after it."""

    fact: Fact
    before: T
    after: T


@dataclass(frozen=True)
class Decider(Generic[T, V]):
    """One game under one ruleset. A game is found by its kind and ruleset, and old rulesets stay for ever."""

    kind: str
    ruleset: int
    deals: int
    """The length of the chain of seeds that the server draws for a game."""
    facts: tuple[type[Fact], ...]
    """Every fact that the game can record."""
    commands: tuple[type[Command], ...]
    """Every command that the game knows."""
    empty: Callable[[Seeds | None], T]
    """The table before the first fact. Without seeds the hidden cards stay unknown."""
    decide: Callable[[Command, T, datetime], tuple[Fact, ...]]
    """What a command leads to at a time, which its events then bear. Raises RuleViolation."""
    evolve: Callable[[T, Fact], T]
    must_fit: Callable[[T, Fact], None]
    """Raises Misfit where a fact that comes from outside can't follow a table. What fits may break the rules, which is
    for ``decide`` to say. But it keeps tables of bounded size, so that folding facts takes time in proportion to their
    number, as ``evolve`` copies what changes. Any other error means that a fact does not fit, too."""
    view: Callable[[T, Viewer], V]
    command_of: Callable[[Sequence[Fact], T], Command]
    """The command that these facts, all of one command, answer at a table: an auditor decides it again."""
    legal_commands: Callable[[T, Viewer], tuple[OpenCommand, ...]]
    """What is open to a viewer."""
    tell: Callable[[Fact, T, T, Names], str]
    """What a commentator says of a fact: one sentence, from the table before it, the table after it and the names. It
    says what everyone at the table may know, whether the tables were folded with seeds or without."""
    score: Callable[[T], tuple[int, ...] | None]
    """What each seat has scored so far, seat 1 first, for a curve; once the game is over, what its result says. None
    before the deal."""
    note: Callable[[Iterable[Position[T]]], Iterator[str]]
    """A game from its first fact on in the short notation of its kind, line by line (docs/notation.md)."""
    counters: tuple[Counter, ...]
    """What is counted of its finished games."""
    count: Callable[[Iterable[Position[T]], timedelta], tuple[SeatCount, ...]]
    """A finished game, seat 1 first, from its first fact on and the time from its first deal to its end. It counts what
    the log tells, whether the tables were folded with seeds or without."""
    awaits: Callable[[T], tuple[int, ...]]
    """The seats that the game waits for, ascending."""
    awaited_after: Callable[[tuple[int, ...], Fact], tuple[int, ...]]
    """The seats that the game waits for after a fact, from those before it: what ``awaits`` says of the tables, for
    those who fold none."""
    came_to: Callable[[T, int, int], tuple[Card, ...]] = lambda _table, _seat, _version: ()
    """The hidden cards that came to a seat with an event: the table, the seat, the event's number."""
    rematch: Callable[[T, UUID, UUID, bool], Command] | None = None
    """The command by which a player plays a finished game again: its table, its id, the player, and whether to seat in
    the earlier order moved on by one (G4). None where a kind has no rematch."""


AnyDecider = Decider[Any, Any]
Deciders = Mapping[tuple[str, int], AnyDecider]


def fold(evolve: Callable[[T, Fact], T], table: T, facts: Iterable[Fact]) -> T:
    """Return the table after the facts."""
    return reduce(evolve, facts, table)


def positions(evolve: Callable[[T, Fact], T], table: T, facts: Iterable[Fact]) -> Iterator[Position[T]]:
    """Yield each of the facts that follow a table, with the table before and after it."""
    for fact in facts:
        after = evolve(table, fact)
        yield Position(fact, table, after)
        table = after
