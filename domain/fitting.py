"""What facts must be like to follow a table, where they come from outside: what all games have in common.

A record may tell of a thousand players at one table, or of a seat 0. The rules never lead there, but records are
folded before the rules are asked. So here is asked, of each fact, what keeps tables of bounded size: that there is
such a seat, that the table takes so many players, that the deck has so many cards. Whether the rules allow it is
another question, and a fact that they don't allow may stand before one that does not fit.
"""

from __future__ import annotations

from typing import Final

from domain.cards import DECK
from domain.dealing import NO_ENTROPY
from domain.decider import Fact, Misfit
from domain.entropy import EntropyCommitted, EntropyTable
from domain.lifecycle import Dealt, PlayerResigned, PlayerSeated, Table, TimedOut
from domain.tables import PlayerJoined, PlayerLeft, SharedTable, TableOpened
from domain.turns import IN_A_GAME, TurnTable

__all__ = ["must_be_cards", "must_fit", "must_leave_the_deck"]

_HEX: Final = frozenset("0123456789abcdef")


def must_fit(table: Table, fact: Fact) -> None:
    """Refuse a fact that every game has, or every game for several, and that can't follow a table.

    Raises:
        Misfit: it can't.
    """
    match fact:
        case TableOpened():
            if fact.rematch is not None and not fact.rematch.of_several:
                raise Misfit("a rematch is of a game of two or more players, each in one seat")
        case PlayerJoined():
            _must_find_room(table, fact)
        case PlayerLeft():
            _must_be_there(table, fact)
        case PlayerSeated():
            _must_have_come(table, fact)
        case EntropyCommitted():
            _must_commit_once(table, fact)
        case Dealt():
            _must_be_the_next_deal(table, fact)
        case _:
            _must_have_a_seat(table, fact)


def _must_find_room(table: Table, fact: PlayerJoined) -> None:
    if table.deals or (isinstance(table, EntropyTable) and table.due):
        raise Misfit("nobody joins a table once it is closed")
    if table.attends(fact.player):
        raise Misfit("this player has joined already")
    if len(table.company) >= table.takes:
        raise Misfit(f"the table takes {table.takes} players, and they are there")


def _must_be_there(table: Table, fact: PlayerLeft) -> None:
    if table.deals:
        raise Misfit("nobody leaves a table after its deal but by resigning")
    if not table.attends(fact.player):
        raise Misfit("this player is not at the table")


def _must_have_come(table: Table, fact: PlayerSeated) -> None:
    seat = len(table.players) + 1
    if fact.seat != seat:
        raise Misfit(f"seat {seat} is the next to be given")
    if seat > table.takes:
        raise Misfit(f"the table takes {table.takes} players, and they are seated")
    if fact.player in table.players:
        raise Misfit("this player has a seat already")
    if isinstance(table, SharedTable) and fact.player not in table.joined:
        raise Misfit("this player has not joined the table")


def _must_commit_once(table: Table, fact: EntropyCommitted) -> None:
    if not isinstance(table, EntropyTable) or table.opened is None:
        raise Misfit("there is no table to come to")
    if fact.player not in (*table.company, table.opened.host):
        raise Misfit("this player is not at the table")
    if any(fact.player == one.player for one in table.committed):
        raise Misfit("this player has committed to entropy already")


def _must_be_the_next_deal(table: Table, fact: Dealt) -> None:
    if fact.number != table.deals + 1:
        raise Misfit(f"deal {table.deals + 1} is the next")
    if not all(entropy == NO_ENTROPY or (len(entropy) == 64 and set(entropy) <= _HEX) for entropy in fact.entropies):
        raise Misfit(f"each entropy has 64 hex digits, or is {NO_ENTROPY!r} where there is none")
    if not fact.beacon.isascii():
        raise Misfit("the value of a beacon is ASCII")


def _must_have_a_seat(table: Table, fact: Fact) -> None:
    seat = getattr(fact, "seat", None)
    if seat is not None and not 1 <= seat <= len(table.players):
        raise Misfit(f"there is no seat {seat}")
    if not isinstance(table, TurnTable):
        return
    if isinstance(fact, (PlayerResigned, TimedOut)) and fact.seat in table.resigned:
        raise Misfit(f"seat {fact.seat} has resigned")
    if isinstance(fact, TimedOut) and table.timed_out.count(fact.seat) == IN_A_GAME:
        raise Misfit(f"seat {fact.seat} has run out of time {IN_A_GAME} times")


# Cards


def must_be_cards(fact: Fact, number: int) -> None:
    """Refuse a number of cards that no deck has."""
    if not 0 <= number <= len(DECK):
        raise Misfit(f"{fact.topic} tells of more cards than there are")


def must_leave_the_deck(fact: Fact, cards: int, left: int) -> None:
    """Refuse a fact with which more cards leave the deck than it has left."""
    must_be_cards(fact, cards)
    if cards > left:
        raise Misfit(f"the deck has {left} cards left")
