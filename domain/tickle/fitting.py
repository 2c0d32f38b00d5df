"""What the facts of Tickle must be like to follow a table, where they come from outside (``domain.fitting``)."""

from __future__ import annotations

from domain import fitting
from domain.cards import DECK
from domain.decider import Fact, Misfit
from domain.tickle import facts as f
from domain.tickle.facts import HAND
from domain.tickle.table import TickleTable

__all__ = ["must_fit"]


def must_fit(table: TickleTable, fact: Fact) -> None:
    """Refuse a fact that can't follow a table: no more cards are dealt, drawn and laid than there are.

    Raises:
        Misfit: it can't.
    """
    fitting.must_fit(table, fact)
    match fact:
        case f.HandsDealt():
            _must_be_the_deal(table, fact)
        case f.HandRefilled(cards=cards):
            fitting.must_leave_the_deck(fact, cards, table.left)
        case f.CardDrawn():
            fitting.must_leave_the_deck(fact, 1, table.left)
        case f.LaydownPlayed():
            lying = table.grid.cards.keys() | {laid.cell for laid in fact.cards}
            if len(lying) > table.next:
                raise Misfit(f"{len(lying)} cards lie in the grid, and {table.next} have left the deck")
        case _:
            pass


def _must_be_the_deal(table: TickleTable, fact: f.HandsDealt) -> None:
    if table.dealt is not None:
        raise Misfit("the cards are dealt once")
    for number in (fact.each, fact.set_aside, fact.each * len(table.players) + fact.set_aside):
        fitting.must_be_cards(fact, number)
    if fact.each != HAND:
        raise Misfit(f"each hand is dealt {HAND} cards")
    if fact.set_aside != table.options.deck.set_aside:
        raise Misfit(f"this table sets {table.options.deck.set_aside} of the {len(DECK)} cards aside")
