"""Hands of five cards: which rank they have, how strong they are, and the best five of up to eight (P6, P7).

Up to eight cards are sorted, the strongest first, and a set of them is a number of eight bits whose highest bit is the
strongest card. Then of two sets of five the one whose cards are stronger, compared card by card from the strongest on,
is the greater number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum, StrEnum
from itertools import combinations
from operator import attrgetter, getitem, itemgetter
from typing import Final, NamedTuple

from domain.cards import DECK, WEIGHT_OF_A_POINT, Card

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
    """The weights of the five cards, the strongest first."""

    @property
    def cards(self) -> tuple[Card, ...]:
        """The five cards, the strongest first."""
        return tuple(DECK[weight % WEIGHT_OF_A_POINT] for weight in self.order)


_SETS: Final = range(1 << MOST_CARDS)
_SIZE: Final = bytes(members.bit_count() for members in _SETS)
_UP_TO_1, _UP_TO_2, _UP_TO_3, _UP_TO_4 = (
    bytes(members for members in _SETS if _SIZE[members] <= size) for size in range(1, HAND)
)
"""All sets that are no larger than this."""
_SINGLES: Final = 15
"""How many values of properties there are; combinations of two come behind them."""


def _marks(card: Card) -> tuple[int, ...]:
    """Return the numbers of the card's three values of properties and of its three combinations of two of them."""
    number, shape, colour = card.number - 1, card.shape - 1, card.colour - 1
    pairs = (5 * number + shape, 25 + 5 * number + colour, 50 + 5 * shape + colour)
    return number, 5 + shape, 10 + colour, *(_SINGLES + pair for pair in pairs)


_MARKED: Final = [
    {card.weight: sum((0x80 >> at) << 8 * mark for mark in _marks(card)) for card in DECK} for at in range(MOST_CARDS)
]
"""For each place among the sorted cards, and each card by its weight: a byte for each mark, with the bit of the place
in those that the card has."""


def _strongest(members: int, wanted: int) -> int:
    """Return the strongest so many members of a set, or all of it."""
    while _SIZE[members] > wanted:
        members &= members - 1
    return members


def _filled(members: int) -> int:
    """Return a set filled up to five with the strongest of the others; of more than five, the strongest five."""
    return _strongest(members, HAND) | _strongest(0xFF & ~members, max(0, HAND - _SIZE[members]))


_TWO: Final = [_strongest(members, 2) for members in _SETS]
_THREE: Final = [_strongest(members, 3) for members in _SETS]
_HANDS: Final = [
    (hand, itemgetter(*(at for at in range(MOST_CARDS) if hand & (0x80 >> at)))) for hand in map(_filled, _SETS)
]
"""For each set, the hand that it is filled up to, and what takes that out of the sorted cards."""

_weight_of: Final = attrgetter("weight")
_hand_of: Final = _HANDS.__getitem__


def _cores(sets: bytes) -> tuple[Rank, Sequence[int]]:
    """Return the highest rank that the cards make, and the sets that make it, before they are filled up to five.

    Filling adds the strongest of the other cards: as no higher rank is in reach, it can't raise the rank.

    Args:
        sets: for each mark, the set of the cards that have it.
    """
    tics = sets[_SINGLES:].translate(None, _UP_TO_1)
    if threes := tics.translate(None, _UP_TO_2):
        if fours := threes.translate(None, _UP_TO_3):
            fives = fours.translate(None, _UP_TO_4)
            return (Rank.FIVE_CARD_TIC, fives) if fives else (Rank.FOUR_CARD_TIC, fours)
        houses = [three | _TWO[tic & ~three] for three in threes for tic in tics if _SIZE[tic & ~three] > 1]
        return (Rank.BIG_HOUSE, houses) if houses else (Rank.THREE_CARD_TIC, threes)
    if pairs := [a | b for a, b in combinations(tics, 2) if not a & b]:
        return Rank.TWO_TIC_PAIRS, pairs
    singles = sets[:_SINGLES].translate(None, _UP_TO_2)
    if fives := singles.translate(None, _UP_TO_4):
        return Rank.FIVE_CARD_SINGLE, fives
    if houses := [tic | _THREE[single & ~tic] for tic in tics for single in singles if _SIZE[single & ~tic] > 2]:
        return Rank.LITTLE_HOUSE, houses
    if fours := singles.translate(None, _UP_TO_3):
        return Rank.FOUR_CARD_SINGLE, fours
    if tics:
        return Rank.TIC_PAIR, tics
    return (Rank.THREE_CARD_SINGLE, singles) if singles else (Rank.HIGH_CARD, b"\0")


def best_hand(cards: Collection[Card]) -> Strength:
    """Return the strongest hand that five to eight different cards make (P6, P7).

    Raises:
        ValueError: there are fewer than five cards, or more than eight, or one is there twice.
    """
    ordered = sorted({*map(_weight_of, cards)}, reverse=True)
    if len(ordered) != len(cards) or not HAND <= len(ordered) <= MOST_CARDS:
        raise ValueError(f"a hand is made of {HAND} to {MOST_CARDS} different cards")
    rank, cores = _cores(sum(map(getitem, _MARKED, ordered)).to_bytes(90, "little"))
    if len(cores) == 1:
        best = cores[0]
    else:
        best = max([sum(pick(ordered)) >> 10 << 8 | hand for hand, pick in map(_hand_of, cores)]) & 0xFF  # 10: a point
    order = _hand_of(best)[1](ordered)
    return tuple.__new__(Strength, (rank, sum(order) >> 10, order))  # as its constructor does, which takes its time


def strength_as(rank: Rank, cards: Iterable[Card]) -> Strength:
    """Return the strength of five cards that count as a hand of a rank, which they may exceed (P5).

    Raises:
        ValueError: they are not five different cards.
    """
    order = tuple(sorted((card.weight for card in cards), reverse=True))
    if len(set(order)) != HAND or len(order) != HAND:
        raise ValueError(f"a hand has {HAND} different cards")
    return Strength(rank, sum(order) // WEIGHT_OF_A_POINT, order)


def highest_cards(cards: Iterable[Card]) -> Strength:
    """Return High Card with the five highest of some cards (P5)."""
    strongest_last = sorted(cards, key=_weight_of)
    return strength_as(Rank.HIGH_CARD, strongest_last[-HAND:])


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
