"""The facts of TIC Poker as clients see them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import strawberry

from api.cards import Card, faces
from api.facts import LIFECYCLE_FACTS, Dealt, Fact, FactPresenters, dealt_of
from api.poker.table import PokerHand, PokerOptions, PokerResultLine, hand_of, options_of, result_lines
from api.tables import OpenedTable, opening_of
from domain.poker import facts as f

__all__ = ["PRESENTERS", "TYPES"]


@strawberry.type(description="A table for a game of TIC Poker was opened.")
class PokerOpened(OpenedTable):
    """A table was opened."""

    options: PokerOptions = strawberry.field(description="The table's options.")


@strawberry.type(
    description="A round was dealt (ruling P1). Private cards are told to nobody else: the field `cards` of the event "
    "tells yours."
)
class PokerRoundDealt(Dealt):
    """A round was dealt."""

    dealer: int = strawberry.field(description="The seat that deals.")
    seats: list[int] = strawberry.field(description="The seats dealt in, in the order of their turns.")
    private: int = strawberry.field(description="Private cards of each seat.")
    community: list[Card] = strawberry.field(description="The community cards that lie open at once.")


@strawberry.type(
    description="A seat exchanged private cards (rulings P2, P11): the slots are told, not the cards. The field "
    "`cards` of the event tells yours."
)
class PokerCardsExchanged(Fact):
    """Cards were exchanged."""

    seat: int = strawberry.field(description="The seat, from 1.")
    slots: list[int] = strawberry.field(description="The slots, ascending: the lowest gets the deck's next card.")


@strawberry.type(description="A seat exchanged a community card (ruling P10).")
class PokerCommunityCardExchanged(Fact):
    """A community card was exchanged."""

    seat: int = strawberry.field(description="The seat, from 1.")
    slot: int = strawberry.field(description="The slot, from 1.")
    card: Card = strawberry.field(description="The card that lies there now.")


@strawberry.type(description="A seat kept its cards (ruling P2).")
class PokerCardsKept(Fact):
    """Cards were kept."""

    seat: int = strawberry.field(description="The seat, from 1.")


@strawberry.type(description="A seat called: every other seat gets one last turn (ruling P3).")
class PokerCalled(Fact):
    """A seat called."""

    seat: int = strawberry.field(description="The seat, from 1.")


@strawberry.type(description="A stage was over, and another community card was laid open (ruling P2).")
class PokerCommunityCardTurned(Fact):
    """A community card was laid open."""

    card: Card = strawberry.field(description="The card.")


@strawberry.type(description="One seat's private cards, turned up.")
class PokerRevealedHand:
    """A revealed hand."""

    seat: int = strawberry.field(description="The seat, from 1.")
    cards: list[Card] = strawberry.field(description="Its cards by slot.")


@strawberry.type(description="All private cards were turned up (ruling P5).")
class PokerHandsRevealed(Fact):
    """Hands were revealed."""

    hands: list[PokerRevealedHand] = strawberry.field(description="Of the seats in the round.")
    deadline: datetime | None = strawberry.field(
        description="When the time to declare runs out, where the table sets a time."
    )


@strawberry.type(description="A seat's hand counts as this (ruling P5).")
class PokerHandDeclared(Fact):
    """A hand was declared."""

    seat: int = strawberry.field(description="The seat, from 1.")
    hand: PokerHand = strawberry.field(description="The five cards and the rank.")


@strawberry.type(description="One seat's line in a round.")
class PokerRoundPlace:
    """One seat's line."""

    seat: int = strawberry.field(description="The seat, from 1.")
    place: int = strawberry.field(description="1 for the strongest hand; equal hands share the place.")
    points: int = strawberry.field(description="The points of that place.")


@strawberry.type(description="A round is over (ruling P8).")
class PokerRoundScored(Fact):
    """A round was scored."""

    places: list[PokerRoundPlace] = strawberry.field(description="Of the seats that were ranked, the strongest first.")


@strawberry.type(description="The game is over.")
class PokerFinished(Fact):
    """The game is over."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[PokerResultLine] = strawberry.field(description="One line for each seat, seat 1 first.")


def _opened(fact: f.PokerOpened) -> PokerOpened:
    return PokerOpened(**opening_of(fact), options=options_of(fact.options))


def _dealt(fact: f.RoundDealt) -> PokerRoundDealt:
    return PokerRoundDealt(
        **dealt_of(fact),
        dealer=fact.dealer,
        seats=list(fact.seats),
        private=fact.private,
        community=faces(fact.community),
    )


def _revealed(fact: f.HandsRevealed) -> PokerHandsRevealed:
    hands = [PokerRevealedHand(seat=hand.seat, cards=faces(hand.cards)) for hand in fact.hands]
    return PokerHandsRevealed(type=fact.topic, hands=hands, deadline=fact.deadline)


def _scored(fact: f.RoundScored) -> PokerRoundScored:
    places = [PokerRoundPlace(seat=line.seat, place=line.place, points=line.points) for line in fact.places]
    return PokerRoundScored(type=fact.topic, places=places)


PRESENTERS: Final[FactPresenters] = {
    **LIFECYCLE_FACTS,
    f.PokerOpened: _opened,
    f.RoundDealt: _dealt,
    f.CardsExchanged: lambda fact: PokerCardsExchanged(type=fact.topic, seat=fact.seat, slots=list(fact.slots)),
    f.CommunityCardExchanged: lambda fact: PokerCommunityCardExchanged(
        type=fact.topic, seat=fact.seat, slot=fact.slot, card=faces([fact.card])[0]
    ),
    f.CardsKept: lambda fact: PokerCardsKept(type=fact.topic, seat=fact.seat),
    f.Called: lambda fact: PokerCalled(type=fact.topic, seat=fact.seat),
    f.CommunityCardTurned: lambda fact: PokerCommunityCardTurned(type=fact.topic, card=faces([fact.card])[0]),
    f.HandsRevealed: _revealed,
    f.HandDeclared: lambda fact: PokerHandDeclared(
        type=fact.topic, seat=fact.seat, hand=hand_of(fact.rank, fact.cards)
    ),
    f.RoundScored: _scored,
    f.PokerFinished: lambda fact: PokerFinished(type=fact.topic, ending=fact.ending, places=result_lines(fact)),
}
TYPES: Final = (
    PokerOpened,
    PokerRoundDealt,
    PokerCardsExchanged,
    PokerCommunityCardExchanged,
    PokerCardsKept,
    PokerCalled,
    PokerCommunityCardTurned,
    PokerHandsRevealed,
    PokerHandDeclared,
    PokerRoundScored,
    PokerFinished,
)
