"""The facts of Tickle as clients see them."""

from __future__ import annotations

from typing import Final

import strawberry

from api.facts import LIFECYCLE_FACTS, Dealt, Fact, FactPresenters, dealt_of
from api.tables import OpenedTable, opening_of
from api.tickle.laydowns import TickleLaidCard, TickleScore, laid_cards, score_of
from api.tickle.table import TickleOptions, TickleResultLine, options_of, result_lines
from domain.tickle import facts as f

__all__ = ["PRESENTERS", "TYPES"]


@strawberry.type(description="A table for a game of Tickle was opened.")
class TickleOpened(OpenedTable):
    """A table was opened."""

    options: TickleOptions = strawberry.field(description="The table's options.")


@strawberry.type(description="Each seat got its cards, which only it sees: the field `cards` of the event tells yours.")
class TickleHandsDealt(Dealt):
    """Hands were dealt."""

    each: int = strawberry.field(description="Cards of each hand.")
    deck: int = strawberry.field(description="Cards left to draw.")
    set_aside: int = strawberry.field(description="Cards out of play (ruling K15).")


@strawberry.type(description="A seat laid cards (rulings K2 to K5).")
class TickleLaydownPlayed(Fact):
    """Cards were laid."""

    seat: int = strawberry.field(description="The seat, from 1.")
    cards: list[TickleLaidCard] = strawberry.field(description="The cards in their cells.")
    score: TickleScore = strawberry.field(description="What they scored, taken apart.")


@strawberry.type(
    description="A seat without a legal laydown drew a card (rulings K4, K7): `cards` of the event tells yours."
)
class TickleCardDrawn(Fact):
    """A card was drawn."""

    seat: int = strawberry.field(description="The seat, from 1.")


@strawberry.type(description="A seat ended its turn after a draw (rulings K4, K7).")
class TickleLaydownDeclined(Fact):
    """A turn was declined."""

    seat: int = strawberry.field(description="The seat, from 1.")


@strawberry.type(
    description="A hand was filled up from the deck (ruling K8): the field `cards` of the event tells yours."
)
class TickleHandRefilled(Fact):
    """A hand was refilled."""

    seat: int = strawberry.field(description="The seat, from 1.")
    count: int = strawberry.field(description="How many cards came.")


@strawberry.type(
    description="A turn that began with an empty deck and without a legal laydown ended at once (ruling K7)."
)
class TickleTurnPassed(Fact):
    """A turn was passed."""

    seat: int = strawberry.field(description="The seat, from 1.")
    round: int = strawberry.field(description="From 1.")


@strawberry.type(
    description="The final stage began: the round is played to its end, and with it the game (ruling K13)."
)
class TickleFinalStageBegan(Fact):
    """The final stage began."""

    seat: int = strawberry.field(description="Whose laydown, or turn, began it.")
    cause: f.Closing = strawberry.field(description="What began it.")


@strawberry.type(
    description="A score reached the target: the round is played to its end, and with it the game (ruling K16)."
)
class TickleTargetReached(Fact):
    """The target was reached."""

    seat: int = strawberry.field(description="The seat, from 1.")


@strawberry.type(description="The game is over.")
class TickleFinished(Fact):
    """The game is over."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[TickleResultLine] = strawberry.field(description="One line for each seat, seat 1 first.")


def _opened(fact: f.TickleOpened) -> TickleOpened:
    return TickleOpened(**opening_of(fact), options=options_of(fact.options))


def _dealt(fact: f.HandsDealt) -> TickleHandsDealt:
    return TickleHandsDealt(
        **dealt_of(fact),
        each=fact.each,
        deck=fact.deck,
        set_aside=fact.set_aside,
    )


def _laid(fact: f.LaydownPlayed) -> TickleLaydownPlayed:
    cards = laid_cards((laid.cell, laid.card) for laid in fact.cards)
    return TickleLaydownPlayed(type=fact.topic, seat=fact.seat, cards=cards, score=score_of(fact.score))


PRESENTERS: Final[FactPresenters] = {
    **LIFECYCLE_FACTS,
    f.TickleOpened: _opened,
    f.HandsDealt: _dealt,
    f.LaydownPlayed: _laid,
    f.CardDrawn: lambda fact: TickleCardDrawn(type=fact.topic, seat=fact.seat),
    f.LaydownDeclined: lambda fact: TickleLaydownDeclined(type=fact.topic, seat=fact.seat),
    f.HandRefilled: lambda fact: TickleHandRefilled(type=fact.topic, seat=fact.seat, count=fact.cards),
    f.TurnPassed: lambda fact: TickleTurnPassed(type=fact.topic, seat=fact.seat, round=fact.round),
    f.FinalStageBegan: lambda fact: TickleFinalStageBegan(type=fact.topic, seat=fact.seat, cause=fact.cause),
    f.TargetReached: lambda fact: TickleTargetReached(type=fact.topic, seat=fact.seat),
    f.TickleFinished: lambda fact: TickleFinished(type=fact.topic, ending=fact.ending, places=result_lines(fact)),
}
TYPES: Final = (
    TickleOpened,
    TickleHandsDealt,
    TickleLaydownPlayed,
    TickleCardDrawn,
    TickleLaydownDeclined,
    TickleHandRefilled,
    TickleTurnPassed,
    TickleFinalStageBegan,
    TickleTargetReached,
    TickleFinished,
)
