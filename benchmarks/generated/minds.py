"""What a seat does when a game waits for it: well, where the player's skill has it so, else anything that is open.

A mind sees what its player sees. The searches are short ones, so that thousands of games are played in seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from domain.cards import DECK, Card
from domain.decider import Command
from domain.lifecycle import Resign
from domain.poker.facts import Variation
from domain.poker.hands import HAND, Rank, best_hand, ranks_of
from domain.poker.rules import Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards
from domain.poker.table import PokerTable
from domain.ticitaire.facts import PILES, Spot
from domain.ticitaire.moves import legal_routes
from domain.ticitaire.rules import MoveCards, RecycleWaste, TakeBack, TurnStock
from domain.ticitaire.table import TicitaireTable
from domain.tickle.facts import LaidCard
from domain.tickle.grid import Laid, indexes
from domain.tickle.hints import Laydowns, best_laydowns
from domain.tickle.rules import DeclineLaydown, DrawCard, LayDown
from domain.tickle.table import TickleTable

__all__ = ["MINDS", "Mind"]

Mind = Callable[[Any, int, float, random.Random], Command]
"""Of a table, a seat that it waits for, the player's skill from 0 to 1, and chance."""

PATIENCE: Final = 6
"""So many times a player of Ticitaire goes through the stock, and gives up once nothing comes of it."""
SEARCH: Final = 12
"""Cards that a player of Tickle puts down in his mind to see what they score."""


# Ticitaire


def _solitaire(table: TicitaireTable, seat: int, skill: float, chance: random.Random) -> Command:
    layout = table.layout
    if table.earlier and chance.random() < 0.02:
        return TakeBack(seat=seat, moves=chance.randint(1, min(3, len(table.earlier))))
    routes = list(legal_routes(layout, table.card, strict_duo=table.options.strict_duo))
    chance.shuffle(routes)
    route = min(routes, key=lambda route: _rank(table, *route), default=None)
    rank = _rank(table, *route) if route else ASIDE
    if route and (rank < ASIDE or chance.random() < 0.15 + 0.2 * skill):
        return MoveCards(seat=seat, source=route[0], target=route[1])
    if table.recycles > PATIENCE and not layout.stock:
        return Resign(seat=seat)
    if layout.stock:
        return TurnStock(seat=seat)
    if layout.waste:
        return RecycleWaste(seat=seat)
    return MoveCards(seat=seat, source=route[0], target=route[1]) if route else Resign(seat=seat)


ASIDE: Final = 4


def _rank(table: TicitaireTable, source: Spot, target: Spot) -> int:
    """Return how little a move brings on: the least is a card turned up."""
    if table.layout.moved(source, target).to_turn_up(source) is not None:
        return 1 if target in PILES else 0
    if source is Spot.WASTE:
        return 2 if target in PILES else 3
    return ASIDE


# Tickle


def _laying(table: TickleTable, seat: int, skill: float, chance: random.Random) -> Command:
    grid, hand, drawn = table.grid, table.hand_set(seat), table.drawn_card
    if not grid.cards:
        found = list(islice(Laydowns(grid, hand, drawn, bound=SEARCH), 8))
        if found:
            return _laid(seat, max(found, key=len))
    elif chance.random() < skill:
        best = best_laydowns(grid, hand, drawn, first=1, bound=SEARCH)
        if best.laydowns:
            return _laid(seat, best.laydowns[0][1])
    else:
        able = hand if drawn is None else 1 << drawn
        spots = [(cell, cards & able) for cell, cards in grid.playable.items() if cards & able]
        if spots:
            cell, cards = chance.choice(spots)
            return _laid(seat, ((cell, chance.choice(list(indexes(cards)))),))
    return DrawCard(seat=seat) if drawn is None else DeclineLaydown(seat=seat)


def _laid(seat: int, laid: Laid) -> LayDown:
    return LayDown(seat=seat, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in laid))


# TIC Poker


def _betting(table: PokerTable, seat: int, skill: float, chance: random.Random) -> Command:
    known = (*table.private(seat), *table.community)
    if table.declaring:
        return _declared(seat, known, skill, chance)
    variation = table.options.variation
    draw = variation is Variation.DRAW
    well, mood = chance.random() < skill, chance.random()
    needed = set(best_hand(known).cards) if well and len(known) > HAND else set[Card]()
    if not draw and not table.caller and (mood < 0.04 or (needed and best_hand(known).rank >= Rank.TWO_TIC_PAIRS)):
        return Call(seat=seat)
    spare = [slot for slot, card in enumerate(table.private(seat), 1) if card not in needed]
    if variation is Variation.COMMUNITY_EXCHANGE and not table.caller and mood > 0.85:
        return ExchangeCommunityCard(seat=seat, slot=chance.randint(1, len(table.community)))
    if not spare or mood > 0.7:
        return KeepCards(seat=seat)
    wanted = chance.randint(1, min(2 if draw else 1, len(spare)))
    return ExchangeCards(seat=seat, slots=tuple(chance.sample(spare, wanted)))


def _declared(seat: int, known: tuple[Card, ...], skill: float, chance: random.Random) -> Command:
    if chance.random() < 0.5 + skill / 2:
        best = best_hand(known)
        return DeclareHand(seat=seat, cards=best.cards, rank=best.rank)
    five = chance.sample(known, HAND)
    return DeclareHand(seat=seat, cards=tuple(five), rank=chance.choice(sorted(ranks_of(five))))


MINDS: Final[Mapping[str, Mind]] = {"ticitaire": _solitaire, "tickle": _laying, "poker": _betting}
"""By kind."""
