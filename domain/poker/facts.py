"""What happens in a game of TIC Poker: the storage format. No fact holds a private card before the reveal."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from domain.cards import CardName
from domain.dealing import MAX_DEALS
from domain.decider import Fact
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
    Timed,
    TimedOut,
)
from domain.poker.hands import HAND, Rank
from domain.tables import PlayerJoined, PlayerLeft, TableOpened, TableOptions
from domain.turns import TurnBegan

__all__ = [
    "FACTS",
    "Called",
    "CardsExchanged",
    "CardsKept",
    "CommunityCardExchanged",
    "CommunityCardTurned",
    "Ending",
    "HandDeclared",
    "HandsRevealed",
    "Options",
    "PokerFinished",
    "PokerOpened",
    "PokerResult",
    "RevealedHand",
    "RoundDealt",
    "RoundPlace",
    "RoundScored",
    "Slot",
    "Variation",
]

Slot = Annotated[int, Field(ge=1, le=HAND)]
"""The place in which a card was dealt, from 1; a replacement takes the place of the card before it."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Variation(StrEnum):
    """Which game is played."""

    STANDARD = "standard"
    COMMUNITY_EXCHANGE = "community-exchange"
    """A community card may be exchanged instead of a private one (P10)."""
    DRAW = "draw"
    """Five private cards, no community cards, no calls (P11)."""

    @property
    def private(self) -> int:
        """How many private cards a seat is dealt."""
        return HAND if self is Variation.DRAW else 3


class Options(TableOptions):
    """What a table can ask for."""

    seats: int = Field(default=8, ge=2, le=8)
    """How many players it takes at most."""
    rounds: int = Field(default=5, ge=1, le=MAX_DEALS)
    """How many rounds are played (P9)."""
    variation: Variation = Variation.STANDARD
    draw_stages: int = Field(default=3, ge=1, le=5)
    """Exchange stages of a round of Draw Poker (P11); otherwise there are three."""
    cards_speak: bool = False
    """The engine declares the best hand of every seat (P5)."""

    @property
    def stages(self) -> int:
        """How many exchange stages a round has."""
        return self.draw_stages if self.variation is Variation.DRAW else 3


class PokerOpened(TableOpened):
    """A game of TIC Poker was opened."""

    topic: ClassVar[str] = "poker.GameOpened"
    kind: ClassVar[str] = "poker"

    options: Options


class RoundDealt(Dealt):
    """A round was dealt from a freshly shuffled deck (P1). Its number is the deal's."""

    topic: ClassVar[str] = "poker.RoundDealt"

    dealer: int
    """The seat that deals; the one on its left acts first."""
    seats: tuple[int, ...]
    """The seats dealt in, in the order of their turns; the dealer is the last."""
    private: int
    """Cards of each seat."""
    community: tuple[CardName, ...]
    """The community cards that lie open at once."""


class CardsExchanged(Fact):
    """A seat exchanged private cards (P2, P11): the slots, not the cards."""

    topic: ClassVar[str] = "poker.CardsExchanged"

    seat: int
    slots: tuple[Slot, ...] = Field(min_length=1, max_length=2)
    """Ascending; the lowest gets the deck's next card."""


class CommunityCardExchanged(Fact):
    """A seat exchanged a community card (P10)."""

    topic: ClassVar[str] = "poker.CommunityCardExchanged"

    seat: int
    slot: Slot
    card: CardName
    """The card that lies there now."""


class CardsKept(Fact):
    """A seat kept its cards (P2)."""

    topic: ClassVar[str] = "poker.CardsKept"

    seat: int


class Called(Fact):
    """A seat called: every other seat gets one last turn (P3)."""

    topic: ClassVar[str] = "poker.Called"

    seat: int


class CommunityCardTurned(Fact):
    """A stage was over, and another community card was laid open (P2)."""

    topic: ClassVar[str] = "poker.CommunityCardTurned"

    card: CardName


class RevealedHand(_Value):
    """One seat's private cards."""

    seat: int
    cards: tuple[CardName, ...]
    """By slot."""


class HandsRevealed(Timed):
    """All private cards were turned up (P5). The deadline, if there is one, is that of declaring."""

    topic: ClassVar[str] = "poker.HandsRevealed"

    hands: tuple[RevealedHand, ...]
    """Of the seats that are in the round, in the order of their turns."""


class HandDeclared(Fact):
    """A seat's hand counts as this (P5)."""

    topic: ClassVar[str] = "poker.HandDeclared"

    seat: int
    cards: tuple[CardName, ...] = Field(min_length=HAND, max_length=HAND)
    """The strongest first."""
    rank: Rank
    """1 High Card, ... 11 Five-Card Tic."""


class RoundPlace(_Value):
    """One seat's line in a round."""

    seat: int
    place: int
    points: int


class RoundScored(Fact):
    """A round is over (P8)."""

    topic: ClassVar[str] = "poker.RoundScored"

    places: tuple[RoundPlace, ...]
    """Of the seats that were ranked, the strongest first."""


class Ending(StrEnum):
    """How a game of TIC Poker ends."""

    ROUNDS = "rounds"
    """The agreed rounds were played."""
    RESIGNATIONS = "resignations"


class PokerResult(Place):
    """One seat's line in the result."""

    place: int
    """1 for the winner; equal points share the place (P9)."""
    points: int
    resigned: bool


class PokerFinished(GameFinished):
    """The game is over."""

    topic: ClassVar[str] = "poker.GameFinished"

    ending: Ending
    places: tuple[PokerResult, ...]
    """One for each seat, seat 1 first."""


FACTS: Final[tuple[type[Fact], ...]] = (
    PokerOpened,
    GameLabelled,
    PlayerJoined,
    PlayerLeft,
    *ENTROPY_FACTS,
    GameCancelled,
    PlayerSeated,
    RoundDealt,
    TurnBegan,
    CardsExchanged,
    CommunityCardExchanged,
    CardsKept,
    Called,
    CommunityCardTurned,
    HandsRevealed,
    HandDeclared,
    RoundScored,
    PlayerResigned,
    DeadlineExtended,
    TimedOut,
    PokerFinished,
    SeedsHeldBack,
    SeedsRevealed,
)
