"""What a game is: facts, commands, and two pure functions over an immutable table.

``decide(command, table, at) -> facts`` holds all legality and may refuse; ``evolve(table, fact) -> table`` never
refuses, so tightening a rule can't break an old game. Everything that is shown folds the same facts with the
same ``evolve`` and then passes through ``view(table, viewer)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Annotated, Any, ClassVar, Final, Generic, Protocol, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PlainSerializer, StringConstraints, WithJsonSchema

from domain.dealing import Seeds

__all__ = [
    "EVERYTHING",
    "PUBLIC",
    "AnyDecider",
    "Command",
    "Decider",
    "Fact",
    "Instant",
    "RuleViolation",
    "Viewer",
    "fold",
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


class RuleViolation(Exception):
    """A rule said no. Nothing happened, and nothing in it tells of a hidden card."""

    def __init__(self, code: str, ruling: str, message: str) -> None:
        super().__init__(message)
        self.code: Final = code
        """The rule, in capitals; stable."""
        self.ruling: Final = ruling
        """The ruling's id, as in docs/rules.md."""
        self.message: Final = message
        """A sentence for a person."""

    def __reduce__(self) -> tuple[type[RuleViolation], tuple[str, str, str]]:
        return type(self), (self.code, self.ruling, self.message)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: a seat, the public, or everything for whoever re-plays a finished game."""

    seat: int = 0
    """1-based; 0 for one without a seat."""
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


T = TypeVar("T", bound=AnyTable)
V = TypeVar("V")


@dataclass(frozen=True)
class Decider(Generic[T, V]):
    """One game under one ruleset. A game is found by its kind and ruleset, and old rulesets stay for ever."""

    kind: str
    ruleset: int
    deals: int
    """The length of the chain of seeds that the server draws for a game."""
    facts: tuple[type[Fact], ...]
    """Every fact that the game can record."""
    empty: Callable[[Seeds | None], T]
    """The table before the first fact. Without seeds the hidden cards stay unknown."""
    decide: Callable[[Command, T, datetime], tuple[Fact, ...]]
    """What a command leads to at a time, which its events then bear. Raises RuleViolation."""
    evolve: Callable[[T, Fact], T]
    view: Callable[[T, Viewer], V]
    command_of: Callable[[Sequence[Fact], T], Command]
    """The command that these facts, all of one command, answer at a table: an auditor decides it again."""
    legal_commands: Callable[[T, int], tuple[Command, ...]]
    """The commands open to a seat, where they are few enough to list."""


AnyDecider = Decider[Any, Any]
Deciders = Mapping[tuple[str, int], AnyDecider]


def fold(evolve: Callable[[T, Fact], T], table: T, facts: Iterable[Fact]) -> T:
    """Return the table after the facts."""
    return reduce(evolve, facts, table)
