"""The facts of Ticitaire as clients see them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import strawberry

from api.cards import Card, faces
from api.facts import LIFECYCLE_FACTS, Dealt, Fact, FactPresenters, Opened, Place, dealt_of, opened_of, places
from api.ticitaire.table import TicitaireOptions, TicitaireTally, options_of, tally_of
from domain.ticitaire import facts as f

__all__ = ["PRESENTERS", "TYPES"]


@strawberry.type(description="A game of Ticitaire was opened.")
class TicitaireOpened(Opened):
    """A game was opened."""

    options: TicitaireOptions = strawberry.field(description="The table's options.")


@strawberry.type(description="The tableau and the stock were dealt (ruling S1).")
class TicitaireDealt(Dealt):
    """The tableau was dealt."""

    exposed: list[Card] = strawberry.field(description="The face-up card of each column, column 1 first.")
    deadline: datetime | None = strawberry.field(description="When the time runs out, where the table sets a limit.")


@strawberry.type(description="Face-up cards went from one place to another.")
class TicitaireCardsMoved(Fact):
    """Cards were moved."""

    from_: f.Spot = strawberry.field(name="from", description="Where they were.")
    to: f.Spot = strawberry.field(description="Where they went.")
    cards: list[Card] = strawberry.field(description="The whole run, top first, between columns; else the single card.")


@strawberry.type(description="A face-down card was turned up, for the run over it was gone (ruling S7).")
class TicitaireCardTurnedUp(Fact):
    """A card was uncovered."""

    column: f.Spot = strawberry.field(description="The column.")
    card: Card = strawberry.field(description="The card.")


@strawberry.type(description="The stock's next card went to the waste (ruling S8).")
class TicitaireStockTurned(Fact):
    """The stock was turned."""

    card: Card = strawberry.field(description="The card.")


@strawberry.type(description="The waste was turned over and is the stock again (ruling S8).")
class TicitaireWasteRecycled(Fact):
    """The waste was recycled."""

    cards: int = strawberry.field(description="How many cards.")


@strawberry.type(description="The table went back to an earlier position; what was seen stays seen (ruling S11).")
class TicitaireMovesTakenBack(Fact):
    """Moves were taken back."""

    moves: int = strawberry.field(description="How many moves, turns and recyclings were undone.")
    to_version: int = strawberry.field(description="The version whose position stands again.")


@strawberry.type(description="The game is won or given up (ruling S9).")
class TicitaireFinished(Fact):
    """The game is over."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[Place] = strawberry.field(description="The player's line.")
    buried: int = strawberry.field(description="Cards that were still face-down.")
    unplayed: int = strawberry.field(description="Cards that were still in stock and waste.")
    tally: TicitaireTally = strawberry.field(description="What was done.")


def _opened(fact: f.TicitaireOpened) -> TicitaireOpened:
    return TicitaireOpened(**opened_of(fact), options=options_of(fact.options))


def _dealt(fact: f.TableauDealt) -> TicitaireDealt:
    return TicitaireDealt(
        **dealt_of(fact),
        exposed=faces(fact.exposed),
        deadline=fact.deadline,
    )


def _moved(fact: f.CardsMoved) -> TicitaireCardsMoved:
    return TicitaireCardsMoved(type=fact.topic, from_=fact.source, to=fact.target, cards=faces(fact.cards))


def _turned_up(fact: f.CardTurnedUp) -> TicitaireCardTurnedUp:
    return TicitaireCardTurnedUp(type=fact.topic, column=fact.column, card=faces([fact.card])[0])


def _turned(fact: f.StockTurned) -> TicitaireStockTurned:
    return TicitaireStockTurned(type=fact.topic, card=faces([fact.card])[0])


def _recycled(fact: f.WasteRecycled) -> TicitaireWasteRecycled:
    return TicitaireWasteRecycled(type=fact.topic, cards=fact.cards)


def _taken_back(fact: f.MovesTakenBack) -> TicitaireMovesTakenBack:
    return TicitaireMovesTakenBack(type=fact.topic, moves=fact.moves, to_version=fact.to_version)


def _finished(fact: f.TicitaireFinished) -> TicitaireFinished:
    return TicitaireFinished(
        type=fact.topic,
        ending=fact.ending,
        places=places(fact),
        buried=fact.buried,
        unplayed=fact.unplayed,
        tally=tally_of(fact),
    )


PRESENTERS: Final[FactPresenters] = {
    **LIFECYCLE_FACTS,
    f.TicitaireOpened: _opened,
    f.TableauDealt: _dealt,
    f.CardsMoved: _moved,
    f.CardTurnedUp: _turned_up,
    f.StockTurned: _turned,
    f.WasteRecycled: _recycled,
    f.MovesTakenBack: _taken_back,
    f.TicitaireFinished: _finished,
}
TYPES: Final = (
    TicitaireOpened,
    TicitaireDealt,
    TicitaireCardsMoved,
    TicitaireCardTurnedUp,
    TicitaireStockTurned,
    TicitaireWasteRecycled,
    TicitaireMovesTakenBack,
    TicitaireFinished,
)
