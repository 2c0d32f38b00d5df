"""What happens in a game of Tickle: the storage format."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from domain.cards import CardName, Colour, Shape
from domain.decider import Cell, Fact
from domain.entropy import ENTROPY_FACTS
from domain.lifecycle import (
    DeadlineExtended,
    Dealt,
    GameCancelled,
    GameFinished,
    GameLabelled,
    Place,
    PlayerResigned,
    PlayerSeated,
    SeedsHeldBack,
    SeedsRevealed,
    TimedOut,
)
from domain.tables import PlayerJoined, PlayerLeft, TableOpened, TableOptions
from domain.turns import TurnBegan

__all__ = [
    "FACTS",
    "HAND",
    "CardDrawn",
    "Closing",
    "Contact",
    "DeckPart",
    "Ending",
    "FinalStageBegan",
    "Group",
    "HandRefilled",
    "HandsDealt",
    "LaidCard",
    "LaydownDeclined",
    "LaydownPlayed",
    "Options",
    "Score",
    "TargetReached",
    "TickleFinished",
    "TickleOpened",
    "TickleResult",
    "TurnPassed",
]

HAND: Final = 6
"""Cards that a hand is dealt and refilled to (K8)."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DeckPart(StrEnum):
    """How much of the shuffled deck is played with (K15)."""

    WHOLE = "whole"
    TWO_THIRDS = "two-thirds"
    HALF = "half"

    @property
    def set_aside(self) -> int:
        """How many cards are set aside unseen: a third or a half of the deck, rounded down (K15)."""
        return {DeckPart.WHOLE: 0, DeckPart.TWO_THIRDS: 41, DeckPart.HALF: 62}[self]


class Options(TableOptions):
    """What a table can ask for."""

    seats: int = Field(default=6, ge=2, le=6)
    """How many players it takes at most."""
    deck: DeckPart = DeckPart.WHOLE
    """The short game with a part of the deck (K15)."""
    target: int | None = Field(default=None, ge=1, le=1_000)
    """The short game to a score (K16); None for none."""


class TickleOpened(TableOpened):
    """A game of Tickle was opened."""

    topic: ClassVar[str] = "tickle.GameOpened"
    kind: ClassVar[str] = "tickle"

    options: Options


class HandsDealt(Dealt):
    """Each seat got six cards, which nobody else sees; the rest is the deck."""

    topic: ClassVar[str] = "tickle.HandsDealt"

    each: int
    """Cards of each hand."""
    deck: int
    """Cards left to draw from."""
    set_aside: int
    """Cards out of play, the end of the shuffled deck (K15)."""


class LaidCard(_Value):
    """A card and its cell."""

    x: int
    """Grows to the right."""
    y: int
    """Grows downwards."""
    card: CardName

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.x, self.y


class Contact(_Value):
    """A new card beside another card (K9)."""

    a: Cell
    """[x, y]; the cell on the left, or above."""
    b: Cell
    """The other one."""
    common: int
    """Equal properties: 2 is a Tic, 1 a Single."""


class Group(_Value):
    """Cards connected side to side that all have the same two properties (K10)."""

    number: int | None
    """The number they share, or null."""
    shape: Shape | None
    """The shape they share (1 circle, ... 5 star), or null."""
    colour: Colour | None
    """The colour they share (1 violet, ... 5 red), or null."""
    cells: tuple[Cell, ...]
    """Where its cards lie, sorted."""
    bonus: int
    """3, 4 or 10 points for 3, 4 or 5 cards."""
    extreme: int
    """The Extreme bonus that is paid now (K11)."""


class Score(_Value):
    """What a laydown scores, taken apart."""

    contacts: tuple[Contact, ...]
    """Every new contact, sorted."""
    groups: tuple[Group, ...]
    """Every group that scores."""
    tic_points: int
    """2 for each Tic (K9)."""
    group_points: int
    """The bonuses of the groups (K10)."""
    extreme_points: int
    """The Extreme bonuses (K11)."""
    six_card_points: int
    """6 for six cards (K12)."""
    total: int


class LaydownPlayed(Fact):
    """A seat laid cards (K2 to K5)."""

    topic: ClassVar[str] = "tickle.LaydownPlayed"

    seat: int
    cards: tuple[LaidCard, ...] = Field(min_length=1)
    score: Score


class CardDrawn(Fact):
    """A seat that had no legal laydown drew a card (K4, K7)."""

    topic: ClassVar[str] = "tickle.CardDrawn"

    seat: int


class LaydownDeclined(Fact):
    """A seat ended its turn after a draw (K4, K7)."""

    topic: ClassVar[str] = "tickle.LaydownDeclined"

    seat: int


class HandRefilled(Fact):
    """A hand was filled up from the deck after a laydown (K8)."""

    topic: ClassVar[str] = "tickle.HandRefilled"

    seat: int
    cards: int = Field(ge=1)
    """How many."""


class TurnPassed(Fact):
    """A turn that began with an empty deck and without a legal laydown ended at once (K7)."""

    topic: ClassVar[str] = "tickle.TurnPassed"

    seat: int
    round: int


class Closing(StrEnum):
    """What begins the final stage (K13)."""

    HAND_LAID = "hand-laid"
    NO_LAYDOWN = "no-laydown"


class FinalStageBegan(Fact):
    """The round is played to its end, and with it the game (K13)."""

    topic: ClassVar[str] = "tickle.FinalStageBegan"

    seat: int
    """Whose laydown, or turn, began it."""
    cause: Closing


class TargetReached(Fact):
    """A running score reached the target: the round is played to its end, and with it the game (K16)."""

    topic: ClassVar[str] = "tickle.TargetReached"

    seat: int


class Ending(StrEnum):
    """How a game of Tickle ends."""

    FINAL_STAGE = "final-stage"
    TARGET = "target"
    RESIGNATIONS = "resignations"


class TickleResult(Place):
    """One seat's line in the result."""

    place: int
    """1 for the winner; equal results share the place (K14)."""
    points: int
    """Scored with laydowns."""
    cards: int
    """Cards left in hand; those of a seat that resigned, when it did."""
    total: int
    """The points less 5 for each of these cards (K14)."""
    resigned: bool


class TickleFinished(GameFinished):
    """The game is over."""

    topic: ClassVar[str] = "tickle.GameFinished"

    ending: Ending
    places: tuple[TickleResult, ...]
    """One for each seat, seat 1 first."""


FACTS: Final[tuple[type[Fact], ...]] = (
    TickleOpened,
    GameLabelled,
    PlayerJoined,
    PlayerLeft,
    *ENTROPY_FACTS,
    GameCancelled,
    PlayerSeated,
    HandsDealt,
    TurnBegan,
    LaydownPlayed,
    CardDrawn,
    LaydownDeclined,
    HandRefilled,
    TurnPassed,
    FinalStageBegan,
    TargetReached,
    PlayerResigned,
    DeadlineExtended,
    TimedOut,
    TickleFinished,
    SeedsHeldBack,
    SeedsRevealed,
)
