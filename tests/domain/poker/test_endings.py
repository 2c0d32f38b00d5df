"""How rounds follow each other, how seats go, and how a game of TIC Poker ends. P1, P9, P12, G1, G2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from domain.cards import Card
from domain.lifecycle import PlayerResigned, Resign, RunOutOfTime, SeedsRevealed, TimedOut
from domain.poker.facts import (
    FACTS,
    CardsKept,
    CommunityCardTurned,
    Ending,
    HandDeclared,
    Options,
    PokerFinished,
    RoundScored,
)
from domain.poker.hands import Rank
from domain.poker.rules import POKER, KeepCards
from tests.domain.poker.positions import (
    CARDS_SPEAK,
    FIFTH,
    FOUR,
    HAND_1,
    HAND_2,
    HAND_3,
    HAND_4,
    HIGH,
    HIGHEST_1,
    HIGHEST_2,
    HIGHEST_4,
    IN_ORDER,
    LOW,
    MINUTE,
    TIMED,
    Case,
    counts_as,
    declare,
    declares_last,
    declaring,
    finished,
    next_round,
    position,
    revealed,
    scored,
)
from tests.given import NOON, given

TWO_ROUNDS = Options(rounds=2)


def deals_next(sentence: str, dealer: int, *seats: int, before: int, gone: Sequence[int] = ()) -> Case:
    """After the last declaration another dealer deals.

    Args:
        sentence: what is the case.
        dealer: the next one.
        seats: those dealt in, in the order of their turns.
        before: the dealer of the round that ends.
        gone: seats that resigned before it.
    """
    *declared, last = [seat for seat in (1, 2, 3, 4) if seat not in gone]
    order = [seat for seat in (2, 1, 3, 4) if seat not in gone]
    places = [(seat, place, len(order) + 1 - place) for place, seat in enumerate(order, 1)]
    table = declaring(*(LOW[seat - 1] for seat in declared), count=4, dealer=before, resigned=gone, gone=gone)
    return declares_last(sentence, table, last, scored(*places), *next_round(dealer, *seats, players=4))


ROTATION = [
    deals_next("P1: the dealer moves one seat to the left", 2, 3, 4, 1, 2, before=1),
    deals_next("P1: and again", 3, 4, 1, 2, 3, before=2),
    deals_next("P1: to the last seat, so that the first acts first", 4, 1, 2, 3, 4, before=3),
    deals_next("P1: and round the table", 1, 2, 3, 4, 1, before=4),
    deals_next("P12: seats that resigned do not deal, act or get cards", 3, 4, 1, 3, before=1, gone=(2,)),
    deals_next("P12: also round the table", 2, 3, 4, 2, before=4, gone=(1,)),
    deals_next("P12: two left deal by turns", 1, 4, 1, before=4, gone=(3, 2)),
    deals_next("P12: and the other", 4, 1, 4, before=1, gone=(3, 2)),
    Case(
        "P12: a dealer who resigned in the round is followed by the seat on the left",
        declaring(LOW[0], LOW[2], count=4, dealer=2, resigned=(2,)),
        declare(4, HIGH, HIGHEST_4),
        (LOW[3], scored((1, 1, 4), (3, 2, 3), (4, 3, 2)), *next_round(3, 4, 1, 3, players=4)),
    ),
]

ROUNDS = [
    declares_last(
        "P9: after the agreed rounds the most points win",
        declaring(LOW[0], LOW[1], points=(3, 2, 1), options=TWO_ROUNDS),
        3,
        scored(*IN_ORDER),
        *finished(Ending.ROUNDS, (1, 5), (1, 5), (3, 2), deals=2),
    ),
    declares_last(
        "P9: which need not be those of the last round's winner",
        declaring(LOW[0], LOW[1], points=(3, 1, 2), options=TWO_ROUNDS),
        3,
        scored(*IN_ORDER),
        *finished(Ending.ROUNDS, (1, 5), (2, 4), (3, 3), deals=2),
    ),
    declares_last(
        "P9: equal points share the place, and the places below are skipped",
        declaring(LOW[0], LOW[1], LOW[2], points=(1, 1, 2, 4), count=4, options=TWO_ROUNDS),
        4,
        scored((2, 1, 4), (1, 2, 3), (3, 3, 2), (4, 4, 1)),
        *finished(Ending.ROUNDS, (3, 4), (1, 5), (3, 4), (1, 5), deals=2),
    ),
    declares_last(
        "P9: one round may be all",
        replace(declaring(LOW[1], count=2, options=Options(rounds=1)), deals=1),
        1,
        scored((2, 1, 2), (1, 2, 1)),
        *finished(Ending.ROUNDS, (2, 1), (1, 2), deals=1),
    ),
    declares_last(
        "G1: seats that resigned stand behind all who finished, the first to resign last",
        declaring(LOW[0], count=4, points=(3, 1, 9, 8), resigned=(3, 4), gone=(3, 4), options=TWO_ROUNDS),
        2,
        scored((2, 1, 2), (1, 2, 1)),
        *finished(Ending.ROUNDS, (1, 4), (2, 3), (4, 9), (3, 8), deals=2, resigned=(3, 4)),
    ),
    Case(
        "P5, P9: where cards speak, the last turn of the last round ends the game",
        position(
            HAND_1,
            HAND_2,
            community=FOUR,
            deck=FIFTH,
            turn=2,
            stage=3,
            options=CARDS_SPEAK.model_copy(update={"rounds": 2}),
        ),
        KeepCards(seat=2),
        (
            CardsKept(seat=2),
            CommunityCardTurned(card=Card.parse(FIFTH)),
            revealed((1, HAND_1), (2, HAND_2)),
            counts_as(1, Rank.THREE_CARD_SINGLE, HIGHEST_1),
            counts_as(2, Rank.TIC_PAIR, HIGHEST_2),
            scored((2, 1, 2), (1, 2, 1)),
            *finished(Ending.ROUNDS, (2, 1), (1, 2), deals=2),
        ),
    ),
    Case(
        "P9, G2: a time-out in declaring may end the game",
        declaring(LOW[0], count=2, options=Options(rounds=2, turn_seconds=60)),
        RunOutOfTime(),
        (
            TimedOut(seat=2, deadline=NOON + MINUTE),
            LOW[1],
            scored((2, 1, 2), (1, 2, 1)),
            *finished(Ending.ROUNDS, (2, 1), (1, 2), deals=2),
        ),
        NOON + MINUTE,
    ),
    Case(
        "P9, P12: a resignation in declaring may end the game by its rounds",
        declaring(LOW[0], LOW[1], points=(0, 0, 9), options=TWO_ROUNDS),
        Resign(seat=3),
        (
            PlayerResigned(seat=3),
            scored((2, 1, 3), (1, 2, 2)),
            *finished(Ending.ROUNDS, (2, 2), (1, 3), (3, 9), deals=2, resigned=(3,)),
        ),
    ),
]


ONE_LEFT = [
    Case(
        "P12: with one seat left the game ends at once, and the open round is not scored",
        position(HAND_1, HAND_2, points=(1, 2)),
        Resign(seat=1),
        (PlayerResigned(seat=1), *finished(Ending.RESIGNATIONS, (2, 1), (1, 2), deals=2, resigned=(1,))),
    ),
    Case(
        "P12: also where another has the turn",
        position(HAND_1, HAND_2, points=(1, 2)),
        Resign(seat=2),
        (PlayerResigned(seat=2), *finished(Ending.RESIGNATIONS, (1, 1), (2, 2), deals=2, resigned=(2,))),
    ),
    Case(
        "P12: the last turn after a call is not waited for",
        position(HAND_1, HAND_2, caller=2, to_act=(1,)),
        Resign(seat=2),
        (PlayerResigned(seat=2), *finished(Ending.RESIGNATIONS, (1, 0), (2, 0), deals=2, resigned=(2,))),
    ),
    Case(
        "P12: declared hands are not scored any more",
        declaring(LOW[1], count=2, points=(1, 2)),
        Resign(seat=1),
        (PlayerResigned(seat=1), *finished(Ending.RESIGNATIONS, (2, 1), (1, 2), deals=2, resigned=(1,))),
    ),
    Case(
        "P12: nor is the seat that is left waited for",
        declaring(LOW[1], count=2, points=(1, 2)),
        Resign(seat=2),
        (PlayerResigned(seat=2), *finished(Ending.RESIGNATIONS, (1, 1), (2, 2), deals=2, resigned=(2,))),
    ),
    Case(
        "G1: those who resigned stand behind, the first to resign last, whatever their points",
        position(HAND_1, "", HAND_3, HAND_4, turn=1, points=(0, 9, 7, 8), resigned=(2, 4)),
        Resign(seat=3),
        (
            PlayerResigned(seat=3),
            *finished(Ending.RESIGNATIONS, (1, 0), (4, 9), (2, 7), (3, 8), deals=2, resigned=(2, 3, 4)),
        ),
    ),
    Case(
        "P12, G2: a time-out in declaring that leaves one seat ends the game, and the round is not scored",
        replace(
            declaring(LOW[0], count=2, points=(1, 2), options=TIMED),
            timed_out=(2, 2),
            in_a_row=(0, 2),
        ),
        RunOutOfTime(),
        (
            TimedOut(seat=2, deadline=NOON + MINUTE),
            LOW[1],
            PlayerResigned(seat=2),
            *finished(Ending.RESIGNATIONS, (1, 1), (2, 2), deals=2, resigned=(2,)),
        ),
        NOON + MINUTE,
    ),
]

CASES = [*ROTATION, *ROUNDS, *ONE_LEFT]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_game_goes_on_or_ends(case: Case) -> None:
    given(table=case.table, decider=POKER).when(case.command, case.at).then(*case.facts)


def test_every_fact_of_the_end_and_every_ending_comes_of_some_case() -> None:
    facts = [fact for case in CASES for fact in case.facts]
    assert {type(fact) for fact in facts} >= {HandDeclared, RoundScored, PokerFinished, SeedsRevealed} & set(FACTS)
    assert {fact.ending for fact in facts if isinstance(fact, PokerFinished)} == set(Ending)
