"""Hands of five against an independent engine (``tests/vectors``), and against P6 and P7 once more in plain words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest
from hypothesis import event
from hypothesis import strategies as st

from domain.cards import DECK, Card
from domain.poker.hands import (
    HAND,
    Rank,
    Step,
    Strength,
    best_hand,
    compared,
    highest_cards,
    ranks_of,
    strength_as,
)

VECTORS: Final = Path(__file__).parent.parent.parent / "vectors"
HANDS: Final[list[dict[str, Any]]] = json.loads((VECTORS / "poker_hands.json").read_text("utf-8"))["hands"]
COMPARISONS: Final[list[dict[str, Any]]] = json.loads((VECTORS / "poker_hands.json").read_text("utf-8"))["comparisons"]
BEST: Final[list[dict[str, Any]]] = json.loads((VECTORS / "poker_best.json").read_text("utf-8"))["cases"]

many = hypothesis.settings(deadline=None, max_examples=200)
some = hypothesis.settings(deadline=None, max_examples=60)


def cards(names: Iterable[str]) -> tuple[Card, ...]:
    return tuple(map(Card.parse, names))


def five(names: str) -> tuple[Card, ...]:
    return cards(names.split())


# The cases of the independent engine


def key(strength: Strength) -> list[int]:
    """A strength as the cases write it: rank, total, and the indices of the cards."""
    return [strength.rank, strength.total, *(card.index for card in strength.cards)]


@pytest.mark.parametrize("case", HANDS, ids=lambda case: f"{case['id']}: {case['label']}")
def test_a_hand_has_the_rank_the_total_and_the_order_of_the_case(case: dict[str, Any]) -> None:
    strength = best_hand(cards(case["cards"]))
    assert key(strength) == case["key"]
    assert [str(card) for card in strength.cards] == case["order"]
    assert strength.rank.name == case["category_name"].upper().replace(" ", "_").replace("-", "_")


@pytest.mark.parametrize("case", HANDS, ids=lambda case: f"{case['id']}: {case['label']}")
def test_the_ranks_that_fit_are_those_of_the_case(case: dict[str, Any]) -> None:
    assert ranks_of(cards(case["cards"])) == set(case["also_qualifies"])


@pytest.mark.parametrize("case", COMPARISONS, ids=lambda case: f"{case['id']}: {case['decided_by']}")
def test_two_hands_are_decided_by_the_step_of_the_case(case: dict[str, Any]) -> None:
    stronger, step, card = compared(best_hand(cards(case["a"])), best_hand(cards(case["b"])))
    assert stronger == {"a": 1, "tie": 0, "b": -1}[case["winner"]]
    assert (f"card{card}-{step}" if card else step) == case["decided_by"].replace("identical", "equal")


@pytest.mark.parametrize("case", BEST, ids=lambda case: f"{case['id']}: rank {case['category']}")
def test_the_best_hand_is_that_of_the_case(case: dict[str, Any]) -> None:
    strength = best_hand(cards(case["private"] + case["community"]))
    assert key(strength) == case["key"]
    assert [str(card) for card in strength.cards] == case["best"]


def test_the_cases_are_all_there() -> None:
    assert (len(HANDS), len(COMPARISONS), len(BEST)) == (309, 74, 152)
    assert {case["category"] for case in HANDS} == set(Rank)
    assert {len(case["private"] + case["community"]) for case in BEST} == {5, 6, 7, 8}


# P6 and P7 in plain words

PARTS: Final[dict[Rank, tuple[tuple[int, int], ...]]] = {
    Rank.HIGH_CARD: (),
    Rank.THREE_CARD_SINGLE: ((3, 1),),
    Rank.TIC_PAIR: ((2, 2),),
    Rank.FOUR_CARD_SINGLE: ((4, 1),),
    Rank.LITTLE_HOUSE: ((2, 2), (3, 1)),
    Rank.FIVE_CARD_SINGLE: ((5, 1),),
    Rank.TWO_TIC_PAIRS: ((2, 2), (2, 2)),
    Rank.THREE_CARD_TIC: ((3, 2),),
    Rank.BIG_HOUSE: ((3, 2), (2, 2)),
    Rank.FOUR_CARD_TIC: ((4, 2),),
    Rank.FIVE_CARD_TIC: ((5, 2),),
}
"""The parts of a hand of each rank: how many cards, and how many properties they all share at least (P6)."""


def divisions(sizes: Sequence[int], places: frozenset[int]) -> list[tuple[tuple[int, ...], ...]]:
    """Every way to take parts of these sizes, without a common card, from some places."""
    if not sizes:
        return [()]
    return [
        (part, *others)
        for part in combinations(sorted(places), sizes[0])
        for others in divisions(sizes[1:], places - set(part))
    ]


DIVISIONS: Final = {
    rank: divisions([size for size, _ in parts], frozenset(range(HAND))) for rank, parts in PARTS.items()
}


def in_common(part: Sequence[Card]) -> int:
    """How many properties all cards of a part share."""
    return sum(len(set(values)) == 1 for values in zip(*((c.number, c.shape, c.colour) for c in part), strict=True))


def plain_ranks(hand: Sequence[Card]) -> set[Rank]:
    """Every rank whose parts five cards can be divided into (P6)."""
    return {
        rank
        for rank, parts in PARTS.items()
        if any(
            all(in_common([hand[at] for at in part]) >= least for part, (_, least) in zip(division, parts, strict=True))
            for division in DIVISIONS[rank]
        )
    }


PlainStrength = tuple[Rank, int, list[tuple[int, int, int, int]]]


def plain_strength(hand: Sequence[Card]) -> PlainStrength:
    """Rank, total, and the cards by value, number, shape and colour, the highest first (P7)."""
    order = sorted(((card.value, card.number, int(card.shape), int(card.colour)) for card in hand), reverse=True)
    return max(plain_ranks(hand)), sum(card.value for card in hand), order


def plain_step(a: PlainStrength, b: PlainStrength) -> tuple[Step, int]:
    """What decides between two hands, and which card it was (P7)."""
    if a[:2] != b[:2]:
        return (Step.RANK if a[0] != b[0] else Step.TOTAL), 0
    for nth, pair in enumerate(zip(a[2], b[2], strict=True), 1):
        for step, mine, theirs in zip((Step.VALUE, Step.NUMBER, Step.SHAPE, Step.COLOUR), *pair, strict=True):
            if mine != theirs:
                return step, nth
    return Step.EQUAL, 0


def told(strength: Strength) -> PlainStrength:
    order = [(card.value, card.number, int(card.shape), int(card.colour)) for card in strength.cards]
    return strength.rank, strength.total, order


@st.composite
def some_cards(draw: st.DrawFn, least: int = 5, most: int = 8) -> tuple[Card, ...]:
    """Different cards, mostly from a part of the deck: there the higher ranks are not rare."""
    count = draw(st.integers(least, most))
    number, shape, colour = draw(
        st.tuples(*[st.sets(st.integers(1, 5), min_size=1)] * 3).filter(
            lambda values: len(values[0]) * len(values[1]) * len(values[2]) >= count
        )
    )
    part = [card for card in DECK if card.number in number and card.shape in shape and card.colour in colour]
    return tuple(draw(st.lists(st.sampled_from(part), min_size=count, max_size=count, unique=True)))


@many
@hypothesis.given(some_cards())
def test_the_best_hand_is_the_best_of_all_choices_of_five(given: tuple[Card, ...]) -> None:
    best = best_hand(given)
    event(f"{len(given)} cards: {best.rank.name}")
    assert told(best) == max(map(plain_strength, combinations(given, HAND)))


@many
@hypothesis.given(some_cards(most=5))
def test_five_cards_have_exactly_the_ranks_that_they_can_be_divided_into(hand: tuple[Card, ...]) -> None:
    assert ranks_of(hand) == plain_ranks(hand)
    assert best_hand(hand).rank == max(ranks_of(hand))


@many
@hypothesis.given(some_cards(least=6), st.data())
def test_two_hands_compare_as_in_plain_words(given: tuple[Card, ...], data: st.DataObject) -> None:
    a, b = (data.draw(st.permutations(given))[:HAND] for _ in range(2))
    mine, theirs, result = plain_strength(a), plain_strength(b), compared(best_hand(a), best_hand(b))
    event(f"decided by {result.step}")
    assert result.stronger == (mine > theirs) - (mine < theirs)
    assert (result.step, result.card) == plain_step(mine, theirs)


@some
@hypothesis.given(some_cards(), st.data())
def test_the_order_in_which_cards_are_named_does_not_matter(given: tuple[Card, ...], data: st.DataObject) -> None:
    again = data.draw(st.permutations(given))
    assert best_hand(again) == best_hand(given)
    assert highest_cards(again) == highest_cards(given)


@some
@hypothesis.given(some_cards(most=7), st.sampled_from(DECK))
def test_another_card_never_makes_the_best_hand_weaker(given: tuple[Card, ...], more: Card) -> None:
    hypothesis.assume(more not in given)
    assert best_hand((*given, more)) >= best_hand(given)


# One by one

FULL_RED: Final = five("5-star-red 5-square-red 5-triangle-red 5-crescent-red 5-circle-red")

ONE_BY_ONE: Final = [
    ("nothing in common", "1-circle-violet 2-crescent-cyan 3-triangle-yellow 4-square-orange 5-star-red", 1),
    ("three of a number", "1-circle-violet 1-crescent-cyan 1-triangle-yellow 4-square-orange 5-star-red", 2),
    ("two that Tic", "1-circle-violet 1-circle-cyan 3-triangle-yellow 4-square-orange 5-star-red", 3),
    ("four of a shape", "1-circle-violet 2-circle-cyan 3-circle-yellow 4-circle-orange 5-star-red", 4),
    (
        "a Tic Pair beside a Three-Card Single of other properties",
        "1-circle-violet 1-circle-cyan 2-star-yellow 3-star-orange 4-star-red",
        5,
    ),
    (
        "no Little House where the pair is needed for the three",
        "1-circle-violet 1-circle-cyan 1-triangle-yellow 4-square-orange 5-star-red",
        3,
    ),
    ("five of a colour", "1-circle-red 2-crescent-red 3-triangle-red 4-square-red 5-star-red", 6),
    (
        "five of a number with one Tic Pair are no Two Tic Pairs",
        "1-circle-red 1-circle-cyan 1-triangle-violet 1-square-yellow 1-star-orange",
        6,
    ),
    ("two pairs", "1-circle-violet 1-circle-cyan 3-triangle-yellow 3-triangle-orange 5-star-red", 7),
    (
        "three cards of which two pairs share one are no Two Tic Pairs",
        "1-circle-violet 1-circle-cyan 1-star-cyan 3-triangle-yellow 5-square-red",
        3,
    ),
    (
        "four cards in a ring, each a Tic with the next",
        "1-circle-violet 1-circle-cyan 1-star-cyan 1-star-violet 3-triangle-yellow",
        7,
    ),
    ("three that share the same two", "1-circle-violet 1-circle-cyan 1-circle-red 4-square-orange 5-star-yellow", 8),
    (
        "three that share two, and a pair of the others",
        "1-circle-violet 1-circle-cyan 1-circle-red 4-square-orange 4-square-yellow",
        9,
    ),
    ("four that share the same two", "1-circle-violet 1-circle-cyan 1-circle-red 1-circle-orange 5-star-yellow", 10),
    ("five that share the same two", "1-circle-violet 1-circle-cyan 1-circle-red 1-circle-orange 1-circle-yellow", 11),
]


@pytest.mark.parametrize(("hand", "rank"), [pytest.param(hand, rank, id=name) for name, hand, rank in ONE_BY_ONE])
def test_the_rank_of_a_hand(hand: str, rank: int) -> None:
    assert best_hand(five(hand)).rank == rank


TIES: Final = [
    (
        "the rank beats any total",
        "1-circle-violet 1-circle-cyan 2-crescent-yellow 2-triangle-orange 3-square-red",
        "5-star-red 5-square-orange 5-triangle-yellow 4-crescent-cyan 2-circle-violet",
        1,
        Step.RANK,
        0,
    ),
    (
        "of equal ranks, the total of all five cards",
        "1-circle-violet 2-crescent-cyan 3-triangle-yellow 4-square-orange 5-star-orange",
        "1-circle-violet 2-crescent-cyan 3-triangle-yellow 4-square-orange 5-star-red",
        -1,
        Step.TOTAL,
        0,
    ),
    (
        "of equal totals, the value of the highest card",
        "5-star-red 1-square-orange 2-triangle-cyan 4-circle-yellow 3-crescent-violet",
        "5-star-orange 2-square-red 1-triangle-cyan 4-circle-yellow 3-crescent-violet",
        1,
        Step.VALUE,
        1,
    ),
    (
        "number trumps shape",
        "5-star-orange 1-square-red 2-triangle-cyan 4-circle-yellow 3-crescent-violet",
        "4-star-red 1-square-orange 2-triangle-cyan 5-circle-yellow 3-crescent-violet",
        1,
        Step.NUMBER,
        1,
    ),
    (
        "shape trumps colour",
        "5-square-red 1-star-orange 2-triangle-cyan 4-circle-yellow 3-crescent-violet",
        "5-star-orange 1-square-red 2-triangle-cyan 4-circle-yellow 3-crescent-violet",
        -1,
        Step.SHAPE,
        1,
    ),
    (
        "the same five cards in another order are equal",
        "5-star-red 1-square-orange 2-triangle-cyan 4-circle-yellow 3-crescent-violet",
        "3-crescent-violet 5-star-red 4-circle-yellow 1-square-orange 2-triangle-cyan",
        0,
        Step.EQUAL,
        0,
    ),
]


@pytest.mark.parametrize(
    ("a", "b", "stronger", "step", "card"), [pytest.param(*others, id=name) for name, *others in TIES]
)
def test_ties_are_broken_step_by_step(a: str, b: str, stronger: int, step: Step, card: int) -> None:
    mine, theirs = best_hand(five(a)), best_hand(five(b))
    assert compared(mine, theirs) == (stronger, step, card)
    assert compared(theirs, mine) == (-stronger, step, card)
    assert (mine > theirs, mine == theirs, mine < theirs) == (stronger == 1, stronger == 0, stronger == -1)


@pytest.mark.parametrize("count", [0, 4, 9])
def test_a_best_hand_is_made_of_five_to_eight_cards(count: int) -> None:
    with pytest.raises(ValueError, match="5 to 8 different cards"):
        best_hand(DECK[:count])


@pytest.mark.parametrize("count", [6, 7, 8])
def test_a_best_hand_is_not_made_with_one_card_twice(count: int) -> None:
    with pytest.raises(ValueError, match="5 to 8 different cards"):
        best_hand((*DECK[: count - 1], DECK[0]))


@pytest.mark.parametrize(
    "hand",
    [
        pytest.param(DECK[:4], id="four"),
        pytest.param(DECK[:6], id="six"),
        pytest.param((*DECK[:4], DECK[0]), id="twice"),
    ],
)
def test_ranks_are_of_five_different_cards(hand: tuple[Card, ...]) -> None:
    with pytest.raises(ValueError, match="5 different cards"):
        ranks_of(hand)
    with pytest.raises(ValueError, match="5 different cards"):
        strength_as(Rank.HIGH_CARD, hand)


def test_a_hand_may_count_as_less_than_it_is() -> None:
    modest = strength_as(Rank.TIC_PAIR, reversed(FULL_RED))
    assert (modest.rank, modest.total, modest.cards) == (Rank.TIC_PAIR, 65, FULL_RED)
    assert modest < strength_as(Rank.FIVE_CARD_SINGLE, FULL_RED) < best_hand(FULL_RED)


def test_the_highest_cards_are_by_value_then_number_shape_and_colour() -> None:
    high = five("1-star-red 5-circle-red 5-star-violet 2-star-orange")
    highest = highest_cards((*five("3-crescent-violet 1-circle-violet 4-circle-cyan 2-circle-cyan"), *high))
    assert highest.rank == Rank.HIGH_CARD
    assert [str(card) for card in highest.cards] == [
        "5-star-violet",
        "5-circle-red",
        "2-star-orange",
        "1-star-red",
        "4-circle-cyan",
    ]
    assert highest.total == 11 + 11 + 11 + 11 + 7


def test_the_highest_of_four_cards_are_no_hand() -> None:
    with pytest.raises(ValueError, match="5 different cards"):
        highest_cards(DECK[:4])
