"""Hands of five cards: which rank they have, how strong they are, and the best five of up to eight (P6, P7).

Up to eight cards are sorted, the strongest first, and a set of them is a number of eight bits whose highest bit is the
strongest card. Then of two sets of five the one whose cards are stronger, compared card by card from the strongest on,
is the greater number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from itertools import combinations
from typing import Final, NamedTuple

from domain.cards import DECK, Card

__all__ = [
    "HAND",
    "MOST_CARDS",
    "Comparison",
    "Rank",
    "Step",
    "Strength",
    "best_hand",
    "compared",
    "highest_cards",
    "ranks_of",
    "strength_as",
]

HAND: Final = 5
MOST_CARDS: Final = 8


class Rank(IntEnum):
    """The ranks of hands in the sheet's order, the lowest first (P6)."""

    HIGH_CARD = 1
    THREE_CARD_SINGLE = 2
    TIC_PAIR = 3
    FOUR_CARD_SINGLE = 4
    LITTLE_HOUSE = 5
    FIVE_CARD_SINGLE = 6
    TWO_TIC_PAIRS = 7
    THREE_CARD_TIC = 8
    BIG_HOUSE = 9
    FOUR_CARD_TIC = 10
    FIVE_CARD_TIC = 11


class Strength(NamedTuple):
    """A hand: the greater one wins, and equal ones share the place (P7)."""

    rank: Rank
    total: int
    """The value of the five cards."""
    order: tuple[int, ...]
    """The places of the five cards in the order of strength, the strongest first."""

    @property
    def cards(self) -> tuple[Card, ...]:
        """The five cards, the strongest first."""
        return tuple(_BY_STRENGTH[place] for place in self.order)


_BY_STRENGTH: Final = sorted(DECK, key=lambda card: (card.value, card))
"""All cards, the weakest first: by value, number, shape, colour (P7)."""
_PLACE: Final = [_BY_STRENGTH.index(card) for card in DECK]
"""For each card's index, its place. (A list of numbers, for hashing cards would take most of the time.)"""
_VALUE: Final = [card.value for card in _BY_STRENGTH]

_SINGLES: Final = [(card.number, 5 + card.shape, 10 + card.colour) for card in _BY_STRENGTH]
"""For each place, the numbers of the card's three properties: 1..15."""
_PAIRS: Final = [
    (
        16 + 5 * card.number + card.shape,
        46 + 5 * card.number + card.colour,
        76 + 5 * card.shape + card.colour,
    )
    for card in _BY_STRENGTH
]
"""For each place, the numbers of the card's three combinations of two properties: 17..."""

_SETS: Final = range(1 << MOST_CARDS)
_SIZE: Final = [members.bit_count() for members in _SETS]
_MEMBERS: Final = [[at for at in range(MOST_CARDS) if members & (0x80 >> at)] for members in _SETS]


def _strongest(members: int, wanted: int) -> int:
    """Return the strongest so many members of a set, or all of it."""
    while _SIZE[members] > wanted:
        members &= members - 1
    return members


_TWO: Final = [_strongest(members, 2) for members in _SETS]
_THREE: Final = [_strongest(members, 3) for members in _SETS]
_FIVE: Final = [_strongest(members, 5) for members in _SETS]
_FILLED: Final = [
    members | _strongest(0xFF & ~members, HAND - _SIZE[members]) if _SIZE[members] <= HAND else members
    for members in _SETS
]
"""A set filled up to five with the strongest of the others."""


def _cores(tics: list[int], singles: list[int]) -> tuple[Rank, list[int]]:
    """Return the highest rank that the cards make, and the sets that make it, before they are filled up to five.

    Filling adds the strongest of the other cards: as no higher rank is in reach, it can't raise the rank.

    Args:
        tics: for each combination of two properties that two or more cards have, their set.
        singles: for each value of a property that three or more cards have, their set.
    """
    most = max(map(_SIZE.__getitem__, tics), default=0)
    if most > 3:
        rank = Rank.FIVE_CARD_TIC if most == 5 else Rank.FOUR_CARD_TIC
        return rank, [tic for tic in tics if _SIZE[tic] == most]
    if most == 3:
        threes = [tic for tic in tics if _SIZE[tic] == 3]
        houses = [three | _TWO[tic & ~three] for three in threes for tic in tics if _SIZE[tic & ~three] > 1]
        return (Rank.BIG_HOUSE, houses) if houses else (Rank.THREE_CARD_TIC, threes)
    if most == 2:
        pairs = [a | b for at, a in enumerate(tics) for b in tics[:at] if not a & b]
        if pairs:
            return Rank.TWO_TIC_PAIRS, pairs
    same = max(map(_SIZE.__getitem__, singles), default=0)
    if same > 4:
        return Rank.FIVE_CARD_SINGLE, [_FIVE[single] for single in singles if _SIZE[single] > 4]
    if most == 2 and singles:
        houses = [tic | _THREE[single & ~tic] for tic in tics for single in singles if _SIZE[single & ~tic] > 2]
        if houses:
            return Rank.LITTLE_HOUSE, houses
    if same == 4:
        return Rank.FOUR_CARD_SINGLE, [single for single in singles if _SIZE[single] == 4]
    if most == 2:
        return Rank.TIC_PAIR, tics
    return (Rank.THREE_CARD_SINGLE, singles) if singles else (Rank.HIGH_CARD, [0])


def _best(places: Sequence[int]) -> Strength:
    """Return the strongest five of five to eight cards, given by their places in the order of strength."""
    ordered = sorted(places, reverse=True)
    masks = [0] * 111
    bit = 0x80
    for place in ordered:
        a, b, c = _SINGLES[place]
        d, e, f = _PAIRS[place]
        masks[a] |= bit
        masks[b] |= bit
        masks[c] |= bit
        masks[d] |= bit
        masks[e] |= bit
        masks[f] |= bit
        bit >>= 1
    singles = [mask for mask in masks[:16] if _SIZE[mask] > 2]
    tics = [mask for mask in masks[16:] if mask & (mask - 1)]
    rank, cores = _cores(tics, singles)
    best = -1
    for core in cores:
        hand = _FILLED[core]
        total = 0
        for at in _MEMBERS[hand]:
            total += _VALUE[ordered[at]]
        key = total << 8 | hand
        best = max(best, key)
    return Strength(rank, best >> 8, tuple([ordered[at] for at in _MEMBERS[best & 0xFF]]))


def best_hand(cards: Iterable[Card]) -> Strength:
    """Return the strongest hand that five to eight different cards make (P6, P7).

    Raises:
        ValueError: there are fewer than five cards, or more than eight, or one is there twice.
    """
    places = [_PLACE[card.index] for card in cards]
    if not HAND <= len(places) <= MOST_CARDS or len(set(places)) != len(places):
        raise ValueError(f"a hand is made of {HAND} to {MOST_CARDS} different cards")
    return _best(places)


def strength_as(rank: Rank, cards: Iterable[Card]) -> Strength:
    """Return the strength of five cards that count as a hand of a rank, which they may exceed (P5).

    Raises:
        ValueError: they are not five different cards.
    """
    order = tuple(sorted((_PLACE[card.index] for card in cards), reverse=True))
    if len(set(order)) != HAND or len(order) != HAND:
        raise ValueError(f"a hand has {HAND} different cards")
    return Strength(rank, sum(_VALUE[place] for place in order), order)


def highest_cards(cards: Iterable[Card]) -> Strength:
    """Return High Card with the five highest of some cards (P5)."""
    order = sorted((_PLACE[card.index] for card in cards), reverse=True)[:HAND]
    return strength_as(Rank.HIGH_CARD, (_BY_STRENGTH[place] for place in order))


def ranks_of(cards: Iterable[Card]) -> frozenset[Rank]:
    """Return every rank that five cards have, not the highest alone (P6).

    Raises:
        ValueError: they are not five different cards.
    """
    hand = strength_as(Rank.HIGH_CARD, cards).cards
    same = {size: [some for some in combinations(hand, size) if _shared(some) == 2] for size in (2, 3, 4, 5)}
    singles = {size: [some for some in combinations(hand, size) if _shared(some)] for size in (3, 4, 5)}
    held: dict[Rank, object] = {
        Rank.HIGH_CARD: True,
        Rank.THREE_CARD_SINGLE: singles[3],
        Rank.TIC_PAIR: same[2],
        Rank.FOUR_CARD_SINGLE: singles[4],
        Rank.LITTLE_HOUSE: _apart(same[2], singles[3]),
        Rank.FIVE_CARD_SINGLE: singles[5],
        Rank.TWO_TIC_PAIRS: _apart(same[2], same[2]),
        Rank.THREE_CARD_TIC: same[3],
        Rank.BIG_HOUSE: _apart(same[2], same[3]),
        Rank.FOUR_CARD_TIC: same[4],
        Rank.FIVE_CARD_TIC: same[5],
    }
    return frozenset(rank for rank, holds in held.items() if holds)


def _shared(cards: Sequence[Card]) -> int:
    """Count the properties that all of some cards share."""
    first, *others = cards
    return sum(
        all(getattr(other, name) == getattr(first, name) for other in others) for name in ("number", "shape", "colour")
    )


def _apart(some: Iterable[tuple[Card, ...]], others: Sequence[tuple[Card, ...]]) -> bool:
    """Whether a group of the one kind and a group of the other have no card in common."""
    return any(set(one).isdisjoint(other) for one in some for other in others)


class Step(StrEnum):
    """What decides between two hands (P7)."""

    RANK = "rank"
    TOTAL = "total"
    VALUE = "value"
    NUMBER = "number"
    SHAPE = "shape"
    COLOUR = "colour"
    EQUAL = "equal"


class Comparison(NamedTuple):
    """How two hands compare (P7)."""

    stronger: int
    """1 where the first is stronger, -1 where the second is, 0 where both are equal."""
    step: Step
    """What decided."""
    card: int
    """Which card of the hands decided, 1 the strongest; 0 where it was none of them."""


def compared(a: Strength, b: Strength) -> Comparison:
    """Compare two hands, with the step that decides (P7)."""
    stronger = (a > b) - (a < b)
    if a.rank != b.rank:
        return Comparison(stronger, Step.RANK, 0)
    if a.total != b.total:
        return Comparison(stronger, Step.TOTAL, 0)
    for nth, (mine, theirs) in enumerate(zip(a.cards, b.cards, strict=True), 1):
        for step in (Step.VALUE, Step.NUMBER, Step.SHAPE, Step.COLOUR):
            if getattr(mine, step) != getattr(theirs, step):
                return Comparison(stronger, step, nth)
    return Comparison(0, Step.EQUAL, 0)
