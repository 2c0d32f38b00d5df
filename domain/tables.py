"""What a table for several is, whichever its kind: its options, its facts and commands before the deal, its state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from domain.decider import Command, Fact
from domain.entropy import BeaconText, Commitment, EntropyOpened, EntropyOptions, EntropyTable, RevealEntropy
from domain.labels import StoredLabel

__all__ = [
    "FEWEST_PLAYERS",
    "SEATING_COMMANDS",
    "Cancel",
    "Join",
    "Leave",
    "OpenTable",
    "PlayerJoined",
    "PlayerLeft",
    "Rematch",
    "Seating",
    "SharedTable",
    "Start",
    "TableOpened",
    "TableOptions",
]


FEWEST_PLAYERS: Final = 2


class Seating(StrEnum):
    """How seats are given (G4)."""

    SHUFFLED = "shuffled"
    """By the committed shuffle of the players in the order of joining."""
    AS_JOINED = "as-joined"
    """In the order of joining."""


class TableOptions(EntropyOptions):
    """What every table for several can ask for."""

    seats: int
    """How many players it takes at most."""
    start_when_full: bool = False
    """Deal as soon as the last seat is taken; else the host starts."""
    private: bool = False
    """Join with the invitation only."""
    seating: Seating = Seating.SHUFFLED
    """How seats are given (G4)."""
    turn_seconds: int | None = Field(default=None, ge=5, le=30 * 24 * 3600)
    """Time for each turn (G2); None for no limit."""

    @field_validator("start_when_full")
    @classmethod
    def _must_have_a_start_for_its_beacon(cls, when_full: bool, told: ValidationInfo) -> bool:
        if when_full and told.data.get("beacon") is not None:
            raise ValueError("a table with a beacon is started by its host, who gives its value: it can't when full")
        return when_full


class Rematch(BaseModel):
    """The game that is played again, and who may join."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    game: UUID
    players: tuple[UUID, ...]
    """Those who sat there, seat 1 first: they join without an invitation, and nobody else joins."""
    moved_on: bool
    """They are seated in that order moved on by one, so that its seat 2 is seat 1; else anew (G4)."""

    @property
    def of_several(self) -> bool:
        """Whether these are the players of a game: two or more, each in one seat."""
        return len(self.players) >= FEWEST_PLAYERS and len(set(self.players)) == len(self.players)


class TableOpened(EntropyOpened):
    """A table for several was opened. Each kind has its own, with its options."""

    options: TableOptions
    rematch: Rematch | None = None
    """Null where it is no rematch."""

    @property
    def by_invitation(self) -> bool:
        """Whether only those join who are invited: to a private table, or to a rematch."""
        return self.options.private or self.rematch is not None

    @property
    def takes(self) -> int:
        """How many players it takes at most."""
        return min(self.options.seats, len(self.rematch.players)) if self.rematch else self.options.seats


class PlayerJoined(Fact):
    """A player came to the table; the host is the first to."""

    topic: ClassVar[str] = "game.PlayerJoined"

    player: UUID


class PlayerLeft(Fact):
    """A player went before the deal."""

    topic: ClassVar[str] = "game.PlayerLeft"

    player: UUID


class OpenTable(Command):
    """Open a table for several. Each kind has its own, with its options."""

    player: UUID
    options: TableOptions
    rematch: Rematch | None = None
    label: StoredLabel | None = Field(default=None, exclude_if=lambda label: label is None)
    """Given anew, it is a ``Label``: what was given once is decided again by programs that know another Unicode."""
    commitment: Commitment | None = Field(default=None, exclude_if=lambda commitment: commitment is None)
    """To the host's own entropy."""


class Join(Command):
    """Come to an open table (G3)."""

    name: ClassVar[str] = "game.Join"

    player: UUID
    code: str | None = Field(default=None, max_length=64)
    """The invitation of a private table."""
    commitment: Commitment | None = Field(default=None, exclude_if=lambda commitment: commitment is None)
    """To the player's own entropy."""


class Leave(Command):
    """Go before the deal; after it, resign (G1)."""

    name: ClassVar[str] = "game.Leave"

    player: UUID


class Start(Command):
    """The host's: deal to those who have joined (G3)."""

    name: ClassVar[str] = "game.Start"

    player: UUID
    beacon: BeaconText | None = Field(default=None, exclude_if=lambda beacon: beacon is None)
    """The value of the beacon that the table names."""


class Cancel(Command):
    """The host's: call the game off before its deal (G3)."""

    name: ClassVar[str] = "game.Cancel"

    player: UUID


SEATING_COMMANDS: Final = (Join, Leave, Start, Cancel, RevealEntropy)


@dataclass(frozen=True, kw_only=True)
class SharedTable(EntropyTable):
    """The part of a state that every game for several has."""

    joined: tuple[UUID, ...] = ()
    """Who is at the table, in the order of joining; it stays as it was when the cards were dealt."""

    @property
    def table_opened(self) -> TableOpened:
        """The opening, with the table's options.

        Raises:
            LookupError: the table is not opened yet.
        """
        if isinstance(self.opened, TableOpened):
            return self.opened
        raise LookupError("the table is not opened yet")

    @property
    def takes(self) -> int:
        """How many players the table takes at most."""
        return self.table_opened.takes

    @property
    def company(self) -> tuple[UUID, ...]:
        """Who is at the table, with a seat or before there are seats, in the order of joining."""
        return self.joined
