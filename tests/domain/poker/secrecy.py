"""The checker of secrecy: what a viewer receives may depend on no card that the viewer does not know.

Two *worlds* have the same stored facts, and the same cards lie open or came to the viewer; all other cards of every
round lie in another order, and so do the rounds to come. Whatever a viewer receives must be equal in both.

Some facts are there to reveal cards: those that are turned up, and what follows of them in the same command. In these
the cards are left out where they are the ones that are due. A fact that reveals another card is compared as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from unittest.mock import patch

from domain import dealing
from domain.cards import DECK, Card
from domain.dealing import MAX_DEALS, NO_ENTROPY, Seeds
from domain.decider import AnyDecider, Command, Fact, RuleViolation, Viewer
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime, SeedsRevealed
from domain.poker.facts import (
    CommunityCardExchanged,
    CommunityCardTurned,
    HandDeclared,
    HandsRevealed,
    PokerFinished,
    RoundDealt,
    RoundScored,
)
from domain.poker.hands import Rank, best_hand, strength_as
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards
from domain.poker.table import PokerTable
from domain.tables import Cancel, Join, Leave, Start
from tests.domain.poker.players import PLAYERS, best_declaration, lies
from tests.given import NOON

__all__ = ["CHANNELS", "Channels", "differing", "hidden_positions", "other_worlds"]

CHANNELS: Final = ("view", "legal commands", "refusals", "facts", "cards that came")
MOST_USED: Final = 120
"""No round uses more cards (P11): those after them are hidden in a round that is over."""

Deck = tuple[Card, ...]
Received = dict[str, dict[str, str]]
"""What came to a viewer, in print, so that order and length count too: by channel, and by what was asked."""


class _OtherSeeds(Seeds):
    """The seeds of another world, in which the rounds so far have the decks that are given."""

    def __init__(self, deal: Seeds, number: int, decks: Mapping[int, Deck]) -> None:
        self.chain: Final = Seeds.backwards(deal.deal, last=bytes([number]) * 32, deals=MAX_DEALS)
        super().__init__(deal.deal, [deal.commitment, *(self.chain.seed(at) for at in range(1, MAX_DEALS + 1))])
        self.decks: Final = decks


def _deal_order(seeds: Seeds, *, number: int, entropies: Collection[str], beacon: str = "") -> Deck:
    if isinstance(seeds, _OtherSeeds) and number in seeds.decks:
        return seeds.decks[number]
    return dealing.deal_order(seeds, number=number, entropies=entropies, beacon=beacon)


def _deck(table: PokerTable, number: int) -> Deck:
    """Return the deck of a round of this world."""
    assert table.seeds is not None
    return _deal_order(table.seeds, number=number, entropies=(NO_ENTROPY,) * len(table.joined))


@dataclass(frozen=True)
class Channels:
    """All ways by which something comes to a viewer."""

    decider: AnyDecider = POKER

    def received(self, table: PokerTable, viewer: Viewer, of_others: Collection[Command] = ()) -> Received:
        """Return what the viewer gets of a table, and of accepted commands of other seats."""
        with patch("domain.lifecycle.deal_order", _deal_order):
            return self._received(table, viewer, of_others)

    def _received(self, table: PokerTable, viewer: Viewer, of_others: Collection[Command]) -> Received:
        refusals, facts = [], {}
        for at, command in enumerate([*_commands(viewer, table), *of_others]):
            try:
                decided = self.decider.decide(command, table, _at(command, table))
            except RuleViolation as refused:
                refusals.append((at, refused.code, refused.ruling, refused.message, refused.args, refused.reasons))
            else:
                facts[f"{at} {command.name}"] = repr(list(_told(decided, table)))
        seat, versions = viewer.seat, range(1, table.version + 2)
        return {
            "view": {"": repr(self.decider.view(table, viewer))},
            "legal commands": {"": repr(self.decider.legal_commands(table, viewer))},
            "refusals": {"": repr(refusals)},
            "facts": facts,
            "cards that came": {"": repr([self.decider.came_to(table, seat, version) for version in versions])},
        }


def _at(command: Command, table: PokerTable) -> datetime:
    return table.deadline if table.deadline and isinstance(command, RunOutOfTime) else NOON


def _commands(viewer: Viewer, table: PokerTable) -> Iterator[Command]:
    """Yield all kinds of commands: declarations with every card, whoever holds it, among them."""
    seat, player = viewer.seat, viewer.player or PLAYERS[-1]
    yield from (KeepCards(seat=seat), Call(seat=seat))
    yield from (ExchangeCards(seat=seat, slots=slots) for slots in ((), (1, 1), (2, 1), (1, 2, 3), *zip(range(7))))
    yield from (ExchangeCommunityCard(seat=seat, slot=slot) for slot in range(7))
    known = (*(table.private(seat) if seat in table.slots else ()), *table.community, *DECK[:9])
    four = tuple(dict.fromkeys(known))[:4]
    for card in DECK:
        yield DeclareHand(seat=seat, cards=(*four, card), rank=Rank.HIGH_CARD)
    for at, rank in enumerate(Rank):
        yield DeclareHand(seat=seat, cards=DECK[at : at + 5], rank=rank)
        yield DeclareHand(seat=seat, cards=tuple(dict.fromkeys(known))[:5], rank=rank)
    if seat in table.undeclared:
        yield best_declaration(table, seat)
    yield from (RunOutOfTime(), ExtendDeadline(seconds=60))
    yield from (kind(player=player) for kind in (Join, Leave, Start, Cancel))
    if seat:
        yield Resign(seat=seat)


def _of_others(viewer: Viewer, table: PokerTable) -> list[Command]:
    """Return what other seats may do: what becomes of it is told to all."""
    if table.over or table.dealt is None:
        return []
    others: list[Command] = [Resign(seat=seat) for seat in table.still_in if seat != viewer.seat]
    others += [best_declaration(table, seat) for seat in table.undeclared if seat != viewer.seat]
    if not table.declaring and table.turn != viewer.seat:
        seat = table.turn
        others += [KeepCards(seat=seat), Call(seat=seat)]
        others += [ExchangeCards(seat=seat, slots=slots) for slots in ((1,), (2,), (3,), (3, 1))]
        others += [ExchangeCommunityCard(seat=seat, slot=slot) for slot in (1, 2)]
    return others


def _told(facts: Collection[Fact], table: PokerTable) -> Iterator[Any]:
    """Yield what facts say, without what they are there to reveal: cards that are turned up, and what follows."""
    shown = False
    for fact in facts:
        left_out: set[str] = set()
        match fact:
            case SeedsRevealed(seeds=seeds):
                yield len(seeds)
                left_out = {"seeds"}
            case CommunityCardTurned(card=card) | CommunityCardExchanged(card=card) if card == table.card(table.next):
                left_out = {"card"}
            case HandsRevealed(hands=hands) if all(hand.cards == lies(table, hand.seat) for hand in hands):
                yield [hand.seat for hand in hands]
                left_out, shown = {"hands"}, True
            case HandDeclared(seat=seat) if shown and _best(table, seat) == strength_as(fact.rank, fact.cards):
                left_out = {"cards", "rank"}
            case RoundScored() if shown and _as_declared(fact, table):
                left_out = {"places"}
            case PokerFinished() if shown and [line.points for line in fact.places] == list(table.points):
                left_out = {"places"}
            case RoundDealt(number=number, seats=seats, private=private, community=lying):
                first = private * len(seats)
                if lying == _deck(table, number)[first : first + len(lying)]:
                    yield len(lying)
                    left_out = {"community"}
        yield fact.topic, fact.model_dump(exclude=left_out)
        table = POKER.evolve(table, fact)


def _best(table: PokerTable, seat: int) -> object:
    return best_hand((*lies(table, seat), *table.community))


def _as_declared(fact: RoundScored, table: PokerTable) -> bool:
    """Whether the strongest hand is first, and so on."""
    hands = {told.seat: strength_as(told.rank, told.cards) for told in table.declared}
    return all((a.place < b.place) == (hands[a.seat] > hands[b.seat]) for a in fact.places for b in fact.places)


def _hidden(table: PokerTable, viewer: Viewer, number: int) -> list[int]:
    """Return the deck positions of a round's cards that a viewer does not know."""
    deck, came, others = _deck(table, number), table.came, list[int]()
    while came is not None:
        if came.deal == number and came.seat != viewer.seat:
            others += came.positions
        came = came.before
    now = table.dealt is not None and number == table.dealt.number
    revealed = table.revealed_hands.hands if now and table.revealed_hands else ()
    revealed += table.played[number - 1].hands if number <= len(table.played) and not now else ()
    turned_up = {card for hand in revealed for card in hand.cards}
    first = table.next if now else MOST_USED
    return sorted({*(at for at in others if deck[at] not in turned_up), *range(first, len(DECK))})


def hidden_positions(table: PokerTable, viewer: Viewer) -> list[int]:
    """Return the deck positions of the cards of this round that a viewer does not know, those of hands first."""
    return _hidden(table, viewer, table.deals)


def other_worlds(table: PokerTable, viewer: Viewer, count: int) -> Iterator[PokerTable]:
    """Yield tables that the viewer can't tell from this one: every card that the viewer does not know is another."""
    assert table.seeds is not None
    for world in range(1, count + 1):
        decks = {}
        for number in range(1, table.deals + 1):
            hidden, old = _hidden(table, viewer, number), _deck(table, number)
            turn = 1 + (world - 1) * (len(hidden) - 1) // count
            deck = list(old)
            for at, other in zip(hidden, hidden[turn:] + hidden[:turn], strict=True):
                deck[at] = old[other]
            decks[number] = tuple(deck)
        yield replace(table, deck=decks[table.deals], seeds=_OtherSeeds(table.seeds, world, decks))


def differing(table: PokerTable, viewer: Viewer, channels: Channels, *, worlds: int) -> set[str]:
    """Return the channels by which a viewer can tell this world from some of its others."""
    others = _of_others(viewer, table)
    here = channels.received(table, viewer, others)
    return {
        channel
        for other in other_worlds(table, viewer, worlds)
        for channel, received in channels.received(other, viewer, others).items()
        if here[channel] != received
    }
