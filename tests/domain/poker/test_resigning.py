"""How seats resign in a round of TIC Poker: given a position, when a command, then these facts. P12, G1."""

from __future__ import annotations

import pytest

from domain.cards import Card
from domain.lifecycle import PlayerResigned, Resign
from domain.poker.facts import CardsKept, CommunityCardTurned, Options, Variation
from domain.poker.rules import POKER, KeepCards
from domain.tables import Leave
from domain.turns import TurnBegan
from tests.domain.poker.players import PLAYERS
from tests.domain.poker.positions import (
    FIFTH,
    FIRST,
    FIVE_1,
    FIVE_2,
    FOUR,
    HAND_1,
    HAND_2,
    HAND_3,
    HIGH,
    HIGHEST_4,
    LOW,
    Case,
    declare,
    declares_last,
    declaring,
    next_round,
    position,
    revealed,
    scored,
)
from tests.given import given


def turns_to(seat: int) -> TurnBegan:
    return TurnBegan(seat=seat, round=2)


IN_A_ROUND = [
    Case(
        "P12: one who does not have the turn resigns, and the turn stays",
        position(HAND_1, HAND_2, HAND_3),
        Resign(seat=3),
        (PlayerResigned(seat=3),),
    ),
    Case(
        "P12: one who has the turn resigns, and the next has it",
        position(HAND_1, HAND_2, HAND_3),
        Resign(seat=1),
        (PlayerResigned(seat=1), turns_to(2)),
    ),
    Case(
        "G1: leaving a game that has started is resigning",
        position(HAND_1, HAND_2, HAND_3),
        Leave(player=PLAYERS[2]),
        (PlayerResigned(seat=3),),
    ),
    Case(
        "P12: a seat that resigned is passed over in the stage",
        position(HAND_1, HAND_2, HAND_3, resigned=(2,)),
        KeepCards(seat=1),
        (CardsKept(seat=1), turns_to(3)),
    ),
    Case(
        "P12: the last seat of a stage is passed over, and the stage is over",
        position(HAND_1, HAND_2, HAND_3, turn=2, resigned=(3,)),
        KeepCards(seat=2),
        (CardsKept(seat=2), CommunityCardTurned(card=FIRST), turns_to(1)),
    ),
    Case(
        "P12: the first seat of the next stage is passed over",
        position(HAND_1, HAND_2, HAND_3, turn=3, resigned=(1,)),
        KeepCards(seat=3),
        (CardsKept(seat=3), CommunityCardTurned(card=FIRST), turns_to(2)),
    ),
    Case(
        "P12: the last of a stage resigns in the turn, and the stage is over",
        position(HAND_1, HAND_2, HAND_3, turn=3),
        Resign(seat=3),
        (PlayerResigned(seat=3), CommunityCardTurned(card=FIRST), turns_to(1)),
    ),
    Case(
        "P12: one who resigned is not revealed",
        position(HAND_1, HAND_2, HAND_3, turn=3, stage=3, community=FOUR, deck=FIFTH),
        Resign(seat=3),
        (
            PlayerResigned(seat=3),
            CommunityCardTurned(card=Card.parse(FIFTH)),
            revealed((1, HAND_1), (2, HAND_2)),
        ),
    ),
    Case(
        "P11, P12: also in Draw Poker, where the resignation ends the last stage",
        position(
            FIVE_1,
            FIVE_2,
            f"{HAND_3} 1-square-cyan 1-square-violet",
            turn=3,
            stage=3,
            community="",
            deck="",
            options=Options(variation=Variation.DRAW),
        ),
        Resign(seat=3),
        (PlayerResigned(seat=3), revealed((1, FIVE_1), (2, FIVE_2))),
    ),
    Case(
        "P12: the caller resigns, and the turn stays",
        position(HAND_1, HAND_2, HAND_3, turn=3, to_act=(3, 1), caller=2),
        Resign(seat=2),
        (PlayerResigned(seat=2),),
    ),
    Case(
        "P12: the call stands: no community card is turned, and the caller is not revealed",
        position(HAND_1, HAND_2, HAND_3, turn=1, to_act=(1,), caller=2, resigned=(2,)),
        KeepCards(seat=1),
        (CardsKept(seat=1), revealed((1, HAND_1), (3, HAND_3))),
    ),
    Case(
        "P3, P12: one who has a last turn resigns, and the next has it",
        position(HAND_1, HAND_2, HAND_3, turn=3, to_act=(3, 1), caller=2),
        Resign(seat=3),
        (PlayerResigned(seat=3), turns_to(1)),
    ),
    Case(
        "P3, P12: one who has the very last turn resigns, and the cards are turned up",
        position(HAND_1, HAND_2, HAND_3, turn=1, to_act=(1,), caller=2),
        Resign(seat=1),
        (PlayerResigned(seat=1), revealed((2, HAND_2), (3, HAND_3))),
    ),
    Case(
        "P3, P12: one who waits for a last turn resigns and is passed over",
        position(HAND_1, HAND_2, HAND_3, turn=3, to_act=(3, 1), caller=2, resigned=(1,)),
        KeepCards(seat=3),
        (CardsKept(seat=3), revealed((2, HAND_2), (3, HAND_3))),
    ),
]

IN_DECLARING = [
    Case(
        "P12: one who has not declared resigns, and the others go on",
        declaring(LOW[0]),
        Resign(seat=3),
        (PlayerResigned(seat=3),),
    ),
    Case(
        "P12: one who has declared resigns, and the others go on",
        declaring(LOW[0]),
        Resign(seat=1),
        (PlayerResigned(seat=1),),
    ),
    Case(
        "P12: the last who has not declared resigns, and the others are ranked; there are as many points as before",
        declaring(LOW[0], LOW[1]),
        Resign(seat=3),
        (
            PlayerResigned(seat=3),
            scored((2, 1, 3), (1, 2, 2)),
            *next_round(1, 2, 1, players=3),
        ),
    ),
    declares_last(
        "P12: one who declared the best hand and resigned is not ranked",
        declaring(LOW[1], LOW[0], resigned=(2,)),
        3,
        scored((1, 1, 3), (3, 2, 2)),
        *next_round(1, 3, 1, players=3),
    ),
    declares_last(
        "P12: nor is one who resigned before the reveal, though the points count the seats dealt in",
        declaring(LOW[0], LOW[2], count=4, resigned=(2,)),
        4,
        scored((1, 1, 4), (3, 2, 3), (4, 3, 2)),
        *next_round(1, 3, 4, 1, players=4),
    ),
    declares_last(
        "P12: a seat that was not dealt in does not count",
        declaring(LOW[0], LOW[2], count=4, resigned=(2,), gone=(2,)),
        4,
        scored((1, 1, 3), (3, 2, 2), (4, 3, 1)),
        *next_round(1, 3, 4, 1, players=4),
    ),
]

CASES = [*IN_A_ROUND, *IN_DECLARING]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_game_goes_on(case: Case) -> None:
    given(table=case.table, decider=POKER).when(case.command, case.at).then(*case.facts)


def test_a_seat_that_resigned_in_a_round_scores_nothing_in_it() -> None:  # P12
    table = declaring(LOW[0], LOW[2], count=4, resigned=(2,), points=(5, 6, 7, 8))
    after = given(table=table, decider=POKER).when(declare(4, HIGH, HIGHEST_4)).after
    assert after.points == (9, 6, 10, 10)
