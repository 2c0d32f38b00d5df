"""How a game of Tickle ends: the final stage, a target, resignations."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.lifecycle import PlayerResigned, Resign
from domain.tables import Leave
from domain.tickle.facts import (
    Closing,
    Ending,
    FinalStageBegan,
    HandRefilled,
    LaydownDeclined,
    Options,
    TargetReached,
    TickleFinished,
    TurnPassed,
)
from domain.tickle.rules import TICKLE, DeclineLaydown
from domain.turns import TurnBegan
from tests.domain.tickle.players import PLAYERS
from tests.domain.tickle.positions import (
    ABLE,
    GRID,
    OF_THE_END,
    REST,
    STUCK_1,
    STUCK_2,
    STUCK_3,
    Case,
    finished,
    lay,
    lays,
    position,
    row,
)
from tests.given import given

THIRD = PLAYERS[2]
MINUTE = timedelta(minutes=1)

FINAL_STAGE = [
    lays(
        "K13: the last card of a hand begins the final stage, and the round goes on",
        position("3-star-cyan", ABLE, grid=GRID),
        lay(1, "3-star-cyan", x=2),
        FinalStageBegan(seat=1, cause=Closing.HAND_LAID),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K13: the last card of the last seat ends the game",
        position(STUCK_1, "3-star-cyan", grid=GRID, turn=2),
        lay(2, "3-star-cyan", x=2),
        FinalStageBegan(seat=2, cause=Closing.HAND_LAID),
        *finished(Ending.FINAL_STAGE, (2, 0, 2), (1, 2, 0)),
    ),
    lays(
        "K13: a hand that is filled again was not the last",
        position("3-star-cyan", ABLE, grid=GRID, deck="1-star-violet"),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=1),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K7, K13: a turn that begins without cards to draw or lay ends at once, and begins the final stage",
        position("3-star-cyan 1-circle-violet", STUCK_2, ABLE, grid=GRID),
        lay(1, "3-star-cyan", x=2),
        TurnPassed(seat=2, round=3),
        FinalStageBegan(seat=2, cause=Closing.NO_LAYDOWN),
        TurnBegan(seat=3, round=3),
    ),
    lays(
        "K13: the final stage begins once, however many can't lay",
        position("3-star-cyan 1-circle-violet", STUCK_2, STUCK_3, grid=GRID, points=(0, 7, 7)),
        lay(1, "3-star-cyan", x=2),
        TurnPassed(seat=2, round=3),
        FinalStageBegan(seat=2, cause=Closing.NO_LAYDOWN),
        TurnPassed(seat=3, round=3),
        *finished(Ending.FINAL_STAGE, (1, 2, 1), (1, 7, 2), (1, 7, 2)),
    ),
    lays(
        "K13: a turn passed at the beginning of a round lets the others have theirs",
        position(STUCK_1, "3-star-cyan " + STUCK_2, grid=row("3-square-yellow 3-square-cyan"), turn=2),
        lay(2, "3-star-cyan", x=2),
        TurnPassed(seat=1, round=4),
        FinalStageBegan(seat=1, cause=Closing.NO_LAYDOWN),
        TurnPassed(seat=2, round=4),
        *finished(Ending.FINAL_STAGE, (2, 0, 2), (1, 2, 2)),
    ),
    lays(
        "K13: in the final stage the seats after have their turn",
        position("", "3-star-cyan 1-circle-violet", ABLE, grid=GRID, turn=2, closing=Closing.HAND_LAID),
        lay(2, "3-star-cyan", x=2),
        TurnBegan(seat=3, round=3),
    ),
    lays(
        "K13: and a second hand that is laid changes nothing",
        position("", "3-star-cyan", ABLE, grid=GRID, turn=2, closing=Closing.HAND_LAID),
        lay(2, "3-star-cyan", x=2),
        TurnBegan(seat=3, round=3),
    ),
    lays(
        "K13, K14: with the round the game ends, and each card in hand costs 5 points",
        position(
            "", STUCK_2, "3-star-cyan 1-circle-violet", grid=GRID, turn=3, points=(4, 30, 12), closing=Closing.HAND_LAID
        ),
        lay(3, "3-star-cyan", x=2),
        *finished(Ending.FINAL_STAGE, (3, 4, 0), (1, 30, 2), (2, 14, 1)),
    ),
    Case(
        "K14: a score may be negative, and equal scores share the place and skip the next",
        position(
            "",
            STUCK_2,
            STUCK_3,
            STUCK_1,
            grid=GRID,
            turn=4,
            points=(0, 10, 5, 5),
            drawn=True,
            closing=Closing.NO_LAYDOWN,
        ),
        DeclineLaydown(seat=4),
        (LaydownDeclined(seat=4), *finished(Ending.FINAL_STAGE, (1, 0, 0), (1, 10, 2), (3, 5, 2), (3, 5, 2))),
    ),
]

TWO, THREE = Options(target=2), Options(target=3)
TARGETS = [
    lays(
        "K16: a running score reaches the target, and the round goes on",
        position("3-star-cyan " + STUCK_1, ABLE, grid=GRID, deck=REST, options=TWO),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=3),
        TargetReached(seat=1),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K16: what was scored before counts",
        position("3-star-cyan " + STUCK_1, ABLE, grid=GRID, deck=REST, options=THREE, points=(1, 0)),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=3),
        TargetReached(seat=1),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K16: one point less is not enough",
        position("3-star-cyan " + STUCK_1, ABLE, grid=GRID, deck=REST, options=THREE, points=(0, 2)),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=3),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K16: the last seat's score ends the game, and cards in hand are counted against it only then",
        position(STUCK_1, "3-star-cyan " + STUCK_2, grid=GRID, deck=REST, options=TWO, turn=2),
        lay(2, "3-star-cyan", x=2),
        HandRefilled(seat=2, cards=3),
        TargetReached(seat=2),
        *finished(Ending.TARGET, (1, 0, 2), (2, 2, 5)),
    ),
    lays(
        "K16: the target is reached once",
        position(
            "", "3-star-cyan", ABLE, grid=GRID, deck=REST, options=TWO, turn=2, target_reached=True, points=(5, 0, 0)
        ),
        lay(2, "3-star-cyan", x=2),
        HandRefilled(seat=2, cards=3),
        TurnBegan(seat=3, round=3),
    ),
    lays(
        "K13, K16: in the final stage a target changes nothing",
        position("", "3-star-cyan 1-circle-violet", ABLE, grid=GRID, options=TWO, turn=2, closing=Closing.HAND_LAID),
        lay(2, "3-star-cyan", x=2),
        TurnBegan(seat=3, round=3),
    ),
    lays(
        "K13, K16: nor is a final stage begun in a round that ends the game anyway",
        position("5-star-violet", "3-star-cyan", STUCK_2, grid=GRID, options=TWO, turn=2, target_reached=True),
        lay(2, "3-star-cyan", x=2),
        TurnPassed(seat=3, round=3),
        *finished(Ending.TARGET, (2, 0, 1), (1, 2, 0), (3, 0, 2)),
    ),
    lays(
        "K13, K16: a last card that reaches the target begins the final stage",
        position("3-star-cyan", ABLE, grid=GRID, options=TWO),
        lay(1, "3-star-cyan", x=2),
        FinalStageBegan(seat=1, cause=Closing.HAND_LAID),
        TurnBegan(seat=2, round=3),
    ),
]

RESIGNATIONS = [
    Case(
        "G1: one who does not have the turn resigns, and the turn stays",
        position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST),
        Resign(seat=3),
        (PlayerResigned(seat=3),),
    ),
    Case(
        "G1: one who has the turn resigns, and the next has it",
        position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST),
        Resign(seat=1),
        (PlayerResigned(seat=1), TurnBegan(seat=2, round=3)),
    ),
    Case(
        "G1: one who has drawn resigns",
        position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST, turn=2, drawn=True),
        Resign(seat=2),
        (PlayerResigned(seat=2), TurnBegan(seat=3, round=3)),
    ),
    Case(
        "G1, K1: the last seat resigns, and the next round begins",
        position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST, turn=3),
        Resign(seat=3),
        (PlayerResigned(seat=3), TurnBegan(seat=1, round=4)),
    ),
    Case(
        "G1: leaving a game that has started is resigning",
        position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST),
        Leave(player=THIRD),
        (PlayerResigned(seat=3),),
    ),
    Case(
        "G1: with one seat left the game ends at once, and that seat is first",
        position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST, resigned=(3,), points=(1, 50, 80)),
        Resign(seat=2),
        (PlayerResigned(seat=2), *finished(Ending.RESIGNATIONS, (1, 1, 2), (2, 50, 2), (3, 80, 2), resigned=(2, 3))),
    ),
    Case(
        "G1: also where it is the seat with the turn that resigns",
        position(ABLE, STUCK_2, grid=GRID, deck=REST),
        Resign(seat=1),
        (PlayerResigned(seat=1), *finished(Ending.RESIGNATIONS, (2, 0, 2), (1, 0, 2), resigned=(1,))),
    ),
    Case(
        "G1: the last to have a turn in the final stage resigns, and the game ends",
        position("", ABLE, STUCK_3, grid=GRID, turn=3, drawn=True, closing=Closing.HAND_LAID, points=(0, 3, 99)),
        Resign(seat=3),
        (PlayerResigned(seat=3), *finished(Ending.FINAL_STAGE, (1, 0, 0), (2, 3, 2), (3, 99, 2), resigned=(3,))),
    ),
    Case(
        "G1, K7: after a resignation, too, turns pass that can't be played",
        position(ABLE, STUCK_2, "3-square-yellow", grid=GRID),
        Resign(seat=1),
        (
            PlayerResigned(seat=1),
            TurnPassed(seat=2, round=3),
            FinalStageBegan(seat=2, cause=Closing.NO_LAYDOWN),
            TurnBegan(seat=3, round=3),
        ),
    ),
]


CASES = [*FINAL_STAGE, *TARGETS, *RESIGNATIONS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_game_goes_on_or_ends(case: Case) -> None:
    given(table=case.table, decider=TICKLE).when(case.command, case.at).then(*case.facts)


def test_every_fact_of_the_end_every_ending_and_every_closing_comes_of_some_case() -> None:
    facts = [fact for case in CASES for fact in case.facts]
    assert {type(fact) for fact in facts} >= OF_THE_END
    assert {fact.ending for fact in facts if isinstance(fact, TickleFinished)} == set(Ending)
    assert {fact.cause for fact in facts if isinstance(fact, FinalStageBegan)} == set(Closing)
