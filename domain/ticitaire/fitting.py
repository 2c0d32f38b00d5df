"""What the facts of Ticitaire must be like to follow a table, where they come from outside (``domain.fitting``)."""

from __future__ import annotations

from domain import fitting
from domain.decider import Fact, Misfit
from domain.ticitaire import facts as f
from domain.ticitaire.table import TicitaireTable

__all__ = ["must_fit"]


def must_fit(table: TicitaireTable, fact: Fact) -> None:
    """Refuse a fact that can't follow a table: no card comes into being, and none is lost.

    Raises:
        Misfit: it can't.
    """
    match fact:
        case f.CardsMoved(source=source, target=target):
            if source is target:
                raise Misfit("cards go from one place to another")
        case f.CardTurnedUp(column=column):
            if table.layout.to_turn_up(column) is None:
                raise Misfit(f"no face-down card lies open in {column}")
        case f.StockTurned():
            if not table.layout.stock:
                raise Misfit("the stock is empty")
        case f.WasteRecycled(cards=cards):
            fitting.must_be_cards(fact, cards)
        case f.MovesTakenBack(moves=moves):
            if moves > len(table.earlier):
                raise Misfit(f"there are {len(table.earlier)} moves to take back")
        case f.TableauDealt():
            if table.dealt is not None:
                raise Misfit("the cards are dealt once")
            fitting.must_fit(table, fact)
        case _:
            fitting.must_fit(table, fact)
