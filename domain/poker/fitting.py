"""What the facts of TIC Poker must be like to follow a table, where they come from outside (``domain.fitting``)."""

from __future__ import annotations

from domain import fitting
from domain.cards import DECK
from domain.decider import Fact, Misfit
from domain.poker import facts as f
from domain.poker.table import PokerTable

__all__ = ["must_fit"]


def must_fit(table: PokerTable, fact: Fact) -> None:
    """Refuse a fact that can't follow a table: no more cards leave a deck than it has, and each hand is one seat's.

    Raises:
        Misfit: it can't.
    """
    fitting.must_fit(table, fact)
    left = len(DECK) - table.next
    match fact:
        case f.RoundDealt():
            _must_be_the_round(table, fact)
        case f.CardsExchanged(slots=slots):
            fitting.must_leave_the_deck(fact, len(slots), left)
        case f.CommunityCardExchanged(slot=slot):
            if slot > len(table.community):
                raise Misfit(f"no community card lies in slot {slot}")
            fitting.must_leave_the_deck(fact, 1, left)
        case f.CommunityCardTurned():
            fitting.must_leave_the_deck(fact, 1, left)
        case f.HandDeclared():
            if table.dealt is None or fact.seat not in table.dealt.seats:
                raise Misfit(f"seat {fact.seat} has no hand in this round")
            if any(fact.seat == declared.seat for declared in table.declared):
                raise Misfit(f"seat {fact.seat} has declared its hand")
        case f.RoundScored():
            if len(table.played) == table.deals:
                raise Misfit("no round is under way that could be scored")
        case _:
            pass


def _must_be_the_round(table: PokerTable, fact: f.RoundDealt) -> None:
    for number in (fact.private, fact.private * len(fact.seats) + len(fact.community)):
        fitting.must_be_cards(fact, number)
    if fact.number > table.options.rounds:
        raise Misfit(f"this table plays {table.options.rounds} rounds")
    if len(set(fact.seats)) != len(fact.seats) or not set(fact.seats) <= set(range(1, len(table.players) + 1)):
        raise Misfit("the seats dealt in are not seats of this table, each once")
    if fact.private != table.options.variation.private:
        raise Misfit(f"each seat is dealt {table.options.variation.private} cards")
