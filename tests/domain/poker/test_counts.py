"""How many of all 234,531,275 hands have each rank, exactly.

Which rank five cards have depends only on which of them are equal in number, which in shape and which in colour. That
is three *partitions* of five places, each telling which places have the same value; there are 52 partitions of five
places. A partition with k blocks is given k different values out of five in 5 · 4 · ... (k factors) ways, so three
partitions stand for the product of their three numbers of ways, if no two places are equal in all three; each hand is
counted once for each of the 120 orders of its cards. So it is enough to rank one hand for each three partitions,
52 · 52 · 52 of them. And since it does not matter which property is which, three partitions are ranked in one order
alone, and counted in every order that they have.

The tests below count so, and test what the argument rests on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, factorial, perm, prod
from typing import Final

import hypothesis
import pytest
from hypothesis import strategies as st

from domain.cards import DECK, Card, Colour, Shape
from domain.poker.hands import HAND, Rank, best_hand, ranks_of

Partition = tuple[int, ...]
"""For each of five places the number of its block; blocks are numbered as they come, from 0."""

COUNTS: Final = {
    Rank.HIGH_CARD: 51_260_400,
    Rank.THREE_CARD_SINGLE: 28_584_000,
    Rank.TIC_PAIR: 108_656_000,
    Rank.FOUR_CARD_SINGLE: 9_828_000,
    Rank.LITTLE_HOUSE: 5_580_000,
    Rank.FIVE_CARD_SINGLE: 145_800,
    Rank.TWO_TIC_PAIRS: 25_090_500,
    Rank.THREE_CARD_TIC: 4_830_000,
    Rank.BIG_HOUSE: 511_500,
    Rank.FOUR_CARD_TIC: 45_000,
    Rank.FIVE_CARD_TIC: 75,
}


def partitions(places: int) -> Iterator[Partition]:
    """Every way to tell which of some places have the same value."""
    if not places:
        yield ()
        return
    for before in partitions(places - 1):
        yield from ((*before, block) for block in range(max(before, default=-1) + 2))


def partition(values: tuple[int, ...]) -> Partition:
    blocks: dict[int, int] = {}
    return tuple(blocks.setdefault(value, len(blocks)) for value in values)


def hand_of(number: Partition, shape: Partition, colour: Partition) -> list[Card]:
    """The hand that has the lowest values for each block."""
    return [Card(n + 1, Shape(s + 1), Colour(c + 1)) for n, s, c in zip(number, shape, colour, strict=True)]


def pattern(hand: tuple[Card, ...]) -> tuple[Partition, Partition, Partition]:
    return (
        partition(tuple(card.number for card in hand)),
        partition(tuple(card.shape for card in hand)),
        partition(tuple(card.colour for card in hand)),
    )


@cache
def ranked() -> dict[tuple[Rank, tuple[int, int, int]], int]:
    """How many times three partitions have so many blocks in number, shape and colour, and which rank they make."""
    found = Counter[tuple[Rank, tuple[int, int, int]]]()
    for three in combinations_with_replacement(list(partitions(HAND)), 3):
        hand = hand_of(*three)
        if len(set(hand)) == HAND:
            rank = best_hand(hand).rank
            found.update((rank, (max(a) + 1, max(b) + 1, max(c) + 1)) for a, b, c in set(permutations(three)))
    return found


def counts(*values: int) -> dict[Rank, int]:
    """How many hands of each rank there are in a deck of so many numbers, shapes and colours."""
    found = Counter[Rank]()
    for (rank, blocks), times in ranked().items():
        found[rank] += times * prod(map(perm, values, blocks))
    assert all(count % factorial(HAND) == 0 for count in found.values())
    return {rank: count // factorial(HAND) for rank, count in sorted(found.items()) if count}


def test_there_are_52_partitions_of_five_places() -> None:
    assert len(set(partitions(HAND))) == 52
    assert {partition(values) for values in partitions(HAND)} == set(partitions(HAND))


def test_the_exact_number_of_hands_of_each_rank() -> None:
    assert counts(5, 5, 5) == COUNTS
    assert sum(COUNTS.values()) == comb(len(DECK), HAND) == 234_531_275


# What the argument rests on


@st.composite
def hands(draw: st.DrawFn) -> tuple[Card, ...]:
    """Five different cards in which many properties are equal."""
    value = st.integers(1, draw(st.integers(2, 5)))
    cards = st.builds(lambda n, s, c: Card(n, Shape(s), Colour(c)), value, value, value)
    return tuple(draw(st.lists(cards, min_size=HAND, max_size=HAND, unique=True)))


some = hypothesis.settings(deadline=None, max_examples=100)
renamings = st.permutations(range(1, 6))


@some
@hypothesis.given(hands(), renamings, renamings, renamings)
def test_the_ranks_stay_when_numbers_shapes_and_colours_change_their_names(
    hand: tuple[Card, ...], number: list[int], shape: list[int], colour: list[int]
) -> None:
    renamed = [
        Card(number[card.number - 1], Shape(shape[card.shape - 1]), Colour(colour[card.colour - 1])) for card in hand
    ]
    assert best_hand(renamed).rank == best_hand(hand).rank
    assert ranks_of(renamed) == ranks_of(hand)


@some
@hypothesis.given(hands(), st.permutations(range(3)))
def test_the_ranks_stay_when_the_three_properties_change_places(hand: tuple[Card, ...], places: list[int]) -> None:
    values = [(card.number, int(card.shape), int(card.colour)) for card in hand]
    turned = [Card(one[places[0]], Shape(one[places[1]]), Colour(one[places[2]])) for one in values]
    assert best_hand(turned).rank == best_hand(hand).rank
    assert ranks_of(turned) == ranks_of(hand)


def test_real_hands_have_the_rank_of_their_partitions() -> None:
    chance = random.Random(125)
    for _ in range(2_000):
        hand = tuple(chance.sample(DECK, HAND))
        assert best_hand(hand).rank == best_hand(hand_of(*pattern(hand))).rank


@pytest.mark.parametrize(("numbers", "shapes", "colours"), [(5, 3, 1), (2, 2, 4), (3, 2, 2)])
def test_the_count_by_partitions_is_that_of_every_hand_of_a_small_deck(numbers: int, shapes: int, colours: int) -> None:
    deck = [card for card in DECK if card.number <= numbers and card.shape <= shapes and card.colour <= colours]
    every = Counter(max(ranks_of(hand)) for hand in combinations(deck, HAND))
    assert counts(numbers, shapes, colours) == dict(sorted(every.items()))
