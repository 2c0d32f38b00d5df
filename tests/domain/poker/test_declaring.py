"""Hands are declared and a round is scored: given revealed hands, when a command, then these facts. P5, P7, P8, G2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from domain.cards import Card
from domain.decider import Fact
from domain.poker.facts import CardsKept, CommunityCardTurned, HandDeclared, Options, Variation
from domain.poker.hands import Rank
from domain.poker.rules import POKER, KeepCards
from domain.poker.table import PokerTable
from domain.turns import TurnBegan
from tests.domain.poker.positions import (
    BEST_1,
    BEST_2,
    BEST_3,
    CARDS_SPEAK,
    FIFTH,
    FIVE_1,
    FIVE_2,
    FOUR,
    FULL,
    HAND_1,
    HAND_2,
    HAND_3,
    HIGH,
    HIGHEST_1,
    HIGHEST_2,
    HIGHEST_3,
    MINUTE,
    OPEN,
    Case,
    counts_as,
    dealt,
    declare,
    next_round,
    position,
    revealed,
    scored,
)
from tests.given import NOON, given

SINGLE, PAIR = Rank.THREE_CARD_SINGLE, Rank.TIC_PAIR
COMMON = "5-star-cyan 4-triangle-red 2-square-yellow 1-star-yellow 3-crescent-violet"
"""The five community cards."""
LOW_2 = "5-star-cyan 3-circle-red 2-square-yellow 1-star-yellow 3-crescent-violet"
NEXT = next_round(1, 2, 3, 1, players=3)


def shown(
    *declared: HandDeclared, hands: Sequence[str] = (HAND_1, HAND_2, HAND_3), community: str = FULL
) -> PokerTable:
    """A table on which all hands were turned up, and some were declared."""
    seats = tuple(range(1, len(hands) + 1))
    return position(*hands, community=community, deck="", stage=3, open_hands=seats, declared=declared)


def declares(sentence: str, seat: int, rank: Rank, names: str, told: str, *others: HandDeclared) -> Case:
    """A hand is declared, and the last one has not declared yet."""
    return Case(sentence, shown(*others), declare(seat, rank, names), (counts_as(seat, rank, told),))


def ends(sentence: str, *hands: HandDeclared, places: Sequence[tuple[int, int, int]]) -> Case:
    """The last of the hands is declared, and the round is scored."""
    *before, last = hands
    command = declare(last.seat, last.rank, " ".join(map(str, last.cards)))
    return Case(sentence, shown(*before), command, (last, scored(*places), *NEXT))


DECLARATIONS = [
    declares("P5: the best hand is declared", 1, SINGLE, HIGHEST_1, HIGHEST_1),
    declares("P5: hands are declared in any order", 3, HIGH, HIGHEST_3, HIGHEST_3),
    declares("P5: also after others", 3, HIGH, HIGHEST_3, HIGHEST_3, BEST_1),
    declares(
        "P5: the cards are named in any order, and told the strongest first",
        1,
        SINGLE,
        "1-star-yellow 3-triangle-yellow 5-star-cyan 2-square-yellow 4-triangle-red",
        HIGHEST_1,
    ),
    declares("P5: a hand may be declared lower than it is", 2, HIGH, HIGHEST_2, HIGHEST_2),
    declares("P5: and with cards that make less than others would", 2, HIGH, LOW_2, LOW_2),
    declares("P5: five community cards are a hand", 1, HIGH, COMMON, COMMON),
]

SCORES = [
    ends("P8: the last declaration ends the round", BEST_1, BEST_2, BEST_3, places=[(2, 1, 3), (1, 2, 2), (3, 3, 1)]),
    ends("P8: whoever it is", BEST_3, BEST_2, BEST_1, places=[(2, 1, 3), (1, 2, 2), (3, 3, 1)]),
    ends(
        "P5: a hand that holds more counts as what was declared",
        BEST_1,
        counts_as(2, HIGH, HIGHEST_2),
        BEST_3,
        places=[(1, 1, 3), (3, 2, 2), (2, 3, 1)],
    ),
    ends(
        "P7: of equal totals the first card that differs decides",
        counts_as(1, HIGH, HIGHEST_1),
        counts_as(3, HIGH, HIGHEST_3),
        counts_as(2, HIGH, COMMON),
        places=[(1, 1, 3), (3, 2, 2), (2, 3, 1)],
    ),
    ends(
        "P8: equal hands share the first place and its points, and the second is skipped",
        counts_as(3, HIGH, COMMON),
        counts_as(2, HIGH, LOW_2),
        counts_as(1, HIGH, COMMON),
        places=[(1, 1, 3), (3, 1, 3), (2, 3, 1)],
    ),
    ends(
        "P8: equal hands share the second place",
        counts_as(3, HIGH, COMMON),
        BEST_2,
        counts_as(1, HIGH, COMMON),
        places=[(2, 1, 3), (1, 2, 2), (3, 2, 2)],
    ),
    ends(
        "P8: all hands may be equal",
        *(counts_as(seat, HIGH, COMMON) for seat in (2, 3, 1)),
        places=[(1, 1, 3), (2, 1, 3), (3, 1, 3)],
    ),
    Case(
        "P8, P11: five private cards are a hand of Draw Poker",
        position(
            FIVE_1,
            FIVE_2,
            community="",
            deck="",
            stage=3,
            open_hands=(1, 2),
            declared=[
                counts_as(1, HIGH, "5-star-orange 4-square-red 3-triangle-yellow 2-crescent-cyan 1-circle-violet")
            ],
            options=Options(variation=Variation.DRAW),
        ),
        declare(2, HIGH, FIVE_2),
        (
            counts_as(2, HIGH, "5-star-red 4-square-orange 3-circle-red 2-triangle-cyan 1-star-violet"),
            scored((2, 1, 2), (1, 2, 1)),
            *next_round(1, 2, 1, players=2, variation=Variation.DRAW),
        ),
    ),
    Case(
        "P3: after a call hands are made of what is there",
        shown(
            counts_as(1, HIGH, "5-star-cyan 3-triangle-yellow 2-square-yellow 2-crescent-cyan 1-circle-violet"),
            hands=(HAND_1, HAND_2),
            community=OPEN,
        ),
        declare(2, PAIR, "5-star-cyan 5-star-red 4-square-orange 3-circle-red 2-square-yellow"),
        (
            counts_as(2, PAIR, "5-star-red 5-star-cyan 4-square-orange 3-circle-red 2-square-yellow"),
            scored((2, 1, 2), (1, 2, 1)),
            *next_round(1, 2, 1, players=2),
        ),
    ),
]


def speaks(sentence: str, options: Options, *next_facts: Fact) -> Case:
    """The last seat keeps its cards, and the best hand of every seat is declared."""
    table = position(HAND_1, HAND_2, HAND_3, community=FOUR, deck=FIFTH, turn=3, stage=3, options=options)
    facts = (
        CardsKept(seat=3),
        CommunityCardTurned(card=Card.parse(FIFTH)),
        revealed((1, HAND_1), (2, HAND_2), (3, HAND_3)),
        BEST_1,
        BEST_2,
        BEST_3,
        scored((2, 1, 3), (1, 2, 2), (3, 3, 1)),
        *next_facts,
    )
    return Case(sentence, table, KeepCards(seat=3), facts)


SPEAKING = [
    speaks("P5: where cards speak, the best hand of every seat is declared", CARDS_SPEAK, *NEXT),
    speaks(
        "P5, G2: and nobody has a time for declaring",
        CARDS_SPEAK.model_copy(update={"turn_seconds": 60}),
        dealt(3, 1, 2, 3, 1, players=3),
        TurnBegan(seat=2, round=3, deadline=NOON + MINUTE),
    ),
]


CASES = [*DECLARATIONS, *SCORES, *SPEAKING]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_rules_allow(case: Case) -> None:
    given(table=case.table, decider=POKER).when(case.command, case.at).then(*case.facts)


def test_points_are_added_to_those_of_the_rounds_before() -> None:
    table = replace(shown(BEST_1, BEST_2), points=(4, 2, 6))
    after = given(table=table, decider=POKER).when(declare(3, HIGH, HIGHEST_3)).after
    assert (after.points, [played.scored for played in after.played]) == (
        (6, 5, 7),
        [scored((2, 1, 3), (1, 2, 2), (3, 3, 1))],
    )


def test_hands_are_kept_in_the_order_of_declaring() -> None:
    after = given(table=shown(BEST_3), decider=POKER).when(declare(1, SINGLE, HIGHEST_1)).after
    assert (after.declared, after.undeclared) == ((BEST_3, BEST_1), (2,))
