"""What happens in a game of Ticitaire: the storage format."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import Field

from domain.cards import CardName
from domain.decider import Fact
from domain.entropy import ENTROPY_FACTS, EntropyOpened, EntropyOptions
from domain.lifecycle import (
    DeadlineExtended,
    Dealt,
    GameCancelled,
    GameFinished,
    GameLabelled,
    PlayerResigned,
    PlayerSeated,
    SeedsHeldBack,
    SeedsRevealed,
    Timed,
    TimedOut,
)

__all__ = [
    "COLUMNS",
    "FACTS",
    "PILES",
    "CardTurnedUp",
    "CardsMoved",
    "Ending",
    "MovesTakenBack",
    "Options",
    "Spot",
    "StockTurned",
    "TableauDealt",
    "TicitaireFinished",
    "TicitaireOpened",
    "WasteRecycled",
]


class Spot(StrEnum):
    """A place that cards move from or to."""

    COLUMN_1 = "column-1"
    COLUMN_2 = "column-2"
    COLUMN_3 = "column-3"
    COLUMN_4 = "column-4"
    COLUMN_5 = "column-5"
    COLUMN_6 = "column-6"
    COLUMN_7 = "column-7"
    LOW = "low"
    HIGH = "high"
    WASTE = "waste"


COLUMNS: Final = tuple(spot for spot in Spot if spot.startswith("column"))
PILES: Final = (Spot.LOW, Spot.HIGH)
"""The two sequence piles."""


class Options(EntropyOptions):
    """What a table can ask for."""

    take_back: bool = False
    """Moves may be taken back (S11)."""
    strict_duo: bool = False
    """A Duo's third property must be equal (C4)."""
    time_limit: int | None = Field(default=None, ge=60, le=30 * 24 * 3600)
    """Seconds from the deal until the game ends as given up (G2); None for no limit."""


class Ending(StrEnum):
    """How a game of Ticitaire ends."""

    WON = "won"
    GIVEN_UP = "given-up"


class TicitaireOpened(EntropyOpened):
    """A game of Ticitaire was opened."""

    topic: ClassVar[str] = "ticitaire.GameOpened"
    kind: ClassVar[str] = "ticitaire"

    options: Options


class TableauDealt(Dealt, Timed):
    """The 56 cards of the tableau and the stock of 69 were dealt (S1)."""

    topic: ClassVar[str] = "ticitaire.TableauDealt"

    exposed: tuple[CardName, ...] = Field(min_length=7, max_length=7)
    """The face-up card of each column, column 1 first."""


class CardsMoved(Fact):
    """Face-up cards went from one place to another."""

    topic: ClassVar[str] = "ticitaire.CardsMoved"

    source: Spot
    target: Spot
    cards: tuple[CardName, ...] = Field(min_length=1)
    """The whole run, top first, between columns; else the single card."""


class CardTurnedUp(Fact):
    """The run over a face-down card was gone, so the card was turned up (S7)."""

    topic: ClassVar[str] = "ticitaire.CardTurnedUp"

    column: Spot
    card: CardName


class StockTurned(Fact):
    """The stock's next card went to the waste, face up (S8)."""

    topic: ClassVar[str] = "ticitaire.StockTurned"

    card: CardName


class WasteRecycled(Fact):
    """The waste was turned over, unshuffled, and is the stock again (S8)."""

    topic: ClassVar[str] = "ticitaire.WasteRecycled"

    cards: int
    """How many."""


class MovesTakenBack(Fact):
    """The table went back to an earlier position; what was seen stays seen (S11)."""

    topic: ClassVar[str] = "ticitaire.MovesTakenBack"

    moves: int = Field(ge=1)
    """How many moves, turns and recyclings were undone."""
    to_version: int
    """The version whose position stands again."""


class TicitaireFinished(GameFinished):
    """The game is won (S9) or given up (S9, G1); a time-out before it tells that time ran out (G2)."""

    topic: ClassVar[str] = "ticitaire.GameFinished"

    ending: Ending
    buried: int
    """Cards still face-down in the columns."""
    unplayed: int
    """Cards still in stock and waste."""
    moves: int
    """Moves of cards played, those taken back included."""
    turns: int
    """Cards turned from the stock."""
    recycles: int
    """Times the waste was turned over."""
    take_backs: int
    """Times that moves were taken back (S11)."""


FACTS: Final[tuple[type[Fact], ...]] = (
    TicitaireOpened,
    GameLabelled,
    PlayerSeated,
    *ENTROPY_FACTS,
    GameCancelled,
    TableauDealt,
    CardsMoved,
    CardTurnedUp,
    StockTurned,
    WasteRecycled,
    MovesTakenBack,
    PlayerResigned,
    DeadlineExtended,
    TimedOut,
    TicitaireFinished,
    SeedsHeldBack,
    SeedsRevealed,
)
