"""What the rules of Ticitaire refuse: every code, by its ruling."""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

import domain
from domain.decider import Command
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.tables import Leave
from domain.ticitaire.facts import Options, Spot
from domain.ticitaire.rules import RecycleWaste, TakeBack, TurnStock
from domain.ticitaire.table import TicitaireTable
from tests.domain.ticitaire.positions import move, opening, position
from tests.domain.ticitaire.test_entropy import REFUSED as BEFORE_THE_DEAL
from tests.given import NOON, PLAYER, given

STRICT = Options(strict_duo=True)
TAKE_BACK = Options(take_back=True)
HOUR = timedelta(hours=1)


class Case(NamedTuple):
    sentence: str
    table: TicitaireTable
    command: Command
    code: str
    ruling: str


def over() -> TicitaireTable:
    """A game that its player gave up."""
    table: TicitaireTable = given(*opening(TAKE_BACK)).when(Resign(seat=1)).after
    return table


TIC = position("2-circle-cyan", "2-circle-red")
STEPS = position("2-circle-cyan 2-circle-red", "4-star-yellow", low="1-circle-cyan", high="5-star-red")
TIMED = position("5-star-red", stock="1-circle-violet", deadline=NOON + HOUR)

CASES = [
    # S2 is about columns
    Case("a move from a place to itself is none", TIC, move("column-1", "column-1"), "SAME_SPOT", "S2"),
    Case("a move from the waste to itself is none", TIC, move("waste", "waste"), "SAME_SPOT", "S2"),
    Case("an empty column has nothing to move", TIC, move("column-3", "column-1"), "NOTHING_THERE", "S2"),
    Case("an empty waste has nothing to move", TIC, move("waste", "column-1"), "NOTHING_THERE", "S2"),
    Case("an empty pile has nothing to move", TIC, move("low", "column-1"), "NOTHING_THERE", "S2"),
    Case("an empty column has nothing for a pile", TIC, move("column-3", "low"), "NOTHING_THERE", "S2"),
    Case(
        "a single card that makes no Tic stays",
        position("2-circle-cyan", "2-star-red"),
        move("column-1", "column-2"),
        "RUN_NO_TIC",
        "S2",
    ),
    Case(
        "the end of a run can't leave it for a column, Tic or not",
        position("3-circle-cyan 2-circle-cyan", "2-circle-red"),
        move("column-1", "column-2"),
        "RUN_NO_TIC",
        "S2",
    ),
    Case(
        "a Tic with a card further up the other column is none",
        position("2-circle-cyan", "2-circle-red 4-circle-red"),
        move("column-1", "column-2"),
        "RUN_NO_TIC",
        "S2",
    ),
    Case(
        "the waste's card needs a Tic",
        position("2-circle-cyan", waste="3-star-red"),
        move("waste", "column-1"),
        "CARD_NO_TIC",
        "S2",
    ),
    Case(
        "a waste card under the top is out of reach",
        position("2-circle-cyan", waste="2-circle-red 3-star-red"),
        move("waste", "column-1"),
        "CARD_NO_TIC",
        "S2",
    ),
    # S4 and C4 are about sequence piles
    *(
        Case(f"the low pile does not start with {card}", position(card), move("column-1", "low"), "LOW_START", "S4")
        for card in ("1-crescent-cyan", "2-circle-cyan", "2-crescent-violet", "5-star-red")
    ),
    *(
        Case(f"the high pile does not start with {card}", position(card), move("column-1", "high"), "HIGH_START", "S4")
        for card in ("5-square-orange", "4-star-orange", "4-square-red", "1-circle-violet")
    ),
    Case(
        "a waste card under the top does not start a pile",
        position(waste="1-circle-violet 3-star-cyan"),
        move("waste", "low"),
        "LOW_START",
        "S4",
    ),
    Case(
        "the top of a run that is longer does not go to a pile",
        position("1-circle-violet 2-circle-violet 2-circle-cyan"),
        move("column-1", "low"),
        "LOW_START",
        "S4",
    ),
    Case("one step is no sequence", STEPS, move("column-1", "low"), "NO_SEQUENCE", "S4"),
    Case(
        "values do not wrap",
        position("1-circle-violet", high="5-star-red"),
        move("column-1", "high"),
        "NO_SEQUENCE",
        "S4",
    ),
    Case(
        "a sequence with a card under the pile's top is none",
        position("1-circle-cyan", low="1-circle-violet 2-crescent-cyan 3-crescent-red"),
        move("column-1", "low"),
        "NO_SEQUENCE",
        "S4",
    ),
    Case(
        "the strict Duo wants its third property equal",
        position("4-square-violet", high="5-star-red", options=STRICT),
        move("column-1", "high"),
        "NO_STRICT_DUO",
        "C4",
    ),
    Case(
        "what is no Duo at all is none by the strict Duo either",
        position("3-star-red", high="5-star-red", options=STRICT),
        move("column-1", "high"),
        "NO_SEQUENCE",
        "S4",
    ),
    # S5 is about what never moves
    Case("no pile's card goes to the other pile", STEPS, move("low", "high"), "PILE_TO_PILE", "S5"),
    Case("nor back", STEPS, move("high", "low"), "PILE_TO_PILE", "S5"),
    Case("nor from a pile without cards", TIC, move("low", "high"), "PILE_TO_PILE", "S5"),
    Case("a pile's card needs a Tic", STEPS, move("high", "column-2"), "PILE_NO_TIC", "S5"),
    *(
        Case(f"nothing goes from {spot} to the waste", STEPS, move(spot, "waste"), "NOT_TO_WASTE", "S5")
        for spot in Spot
        if spot is not Spot.WASTE
    ),
    # S6 is about empty columns
    Case("an empty column takes no 4", position("4-star-red"), move("column-1", "column-2"), "NEEDS_FIVE", "S6"),
    Case(
        "an empty column takes no 4 from the waste",
        position(waste="5-star-red 4-star-red"),
        move("waste", "column-1"),
        "NEEDS_FIVE",
        "S6",
    ),
    Case(
        "an empty column takes no 4 from a pile",
        position(high="5-star-red 4-square-red"),
        move("high", "column-1"),
        "NEEDS_FIVE",
        "S6",
    ),
    Case(
        "an empty column takes no run for the 5 at its end",
        position("4-star-red 5-star-red"),
        move("column-1", "column-2"),
        "NEEDS_FIVE",
        "S6",
    ),
    # S8 is about stock and waste
    Case("an empty stock is not turned", position(waste="1-star-red"), TurnStock(seat=1), "STOCK_EMPTY", "S8"),
    Case("nor where the waste is empty too", TIC, TurnStock(seat=1), "STOCK_EMPTY", "S8"),
    Case(
        "the waste is not turned over while there is stock",
        position(stock="2-star-red", waste="1-star-red"),
        RecycleWaste(seat=1),
        "STOCK_NOT_EMPTY",
        "S8",
    ),
    Case("no waste is not turned over", TIC, RecycleWaste(seat=1), "WASTE_EMPTY", "S8"),
    # S9 and G3 are about what is over
    *(
        Case(f"a game that is over knows no {type(command).__name__}", over(), command, "GAME_OVER", "S9")
        for command in (
            move("column-1", "column-2"),
            TurnStock(seat=1),
            RecycleWaste(seat=1),
            TakeBack(seat=1),
            Resign(seat=1),
            Leave(player=PLAYER),
            RunOutOfTime(),
            ExtendDeadline(seconds=60),
        )
    ),
    # S11 is about taking back
    Case(
        "a table without taking back takes nothing back",
        given(table=position(stock="1-star-red")).when(TurnStock(seat=1)).after,
        TakeBack(seat=1),
        "TAKE_BACK_OFF",
        "S11",
    ),
    Case(
        "before the first move there is nothing to take back",
        given(*opening(TAKE_BACK)).table,
        TakeBack(seat=1),
        "NOTHING_TO_TAKE_BACK",
        "S11",
    ),
    Case(
        "two moves are not taken back after one",
        given(*opening(TAKE_BACK)).when(TurnStock(seat=1)).after,
        TakeBack(seat=1, moves=2),
        "NOTHING_TO_TAKE_BACK",
        "S11",
    ),
    # G2 is about time
    Case("time does not run out early", TIMED, RunOutOfTime(), "TIME_IS_LEFT", "G2"),
    Case("time that is not limited does not run out", TIC, RunOutOfTime(), "TIME_IS_LEFT", "G2"),
    Case("time that is not limited is not extended", TIC, ExtendDeadline(seconds=60), "NO_DEADLINE", "G2"),
    Case(
        "time is given back to a deadline that is not there any more",
        TIMED,
        ExtendDeadline(seconds=60, deadline=NOON),
        "OTHER_DEADLINE",
        "G2",
    ),
]

LATE = [
    Case(f"{type(command).__name__} comes too late at the deadline", TIMED, command, "TIME_IS_UP", "G2")
    for command in (move("column-1", "column-2"), TurnStock(seat=1), RecycleWaste(seat=1), TakeBack(seat=1))
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.ruling}: {case.sentence}")
def test_a_rule_says_no(case: Case) -> None:
    given(table=case.table).when(case.command).refused(case.code, case.ruling)


@pytest.mark.parametrize("case", LATE, ids=lambda case: case.sentence)
def test_a_deadline_says_no(case: Case) -> None:
    given(table=case.table).when(case.command, at=NOON + HOUR).refused(case.code, case.ruling)


def test_a_refused_turn_says_whether_there_is_a_waste_to_recycle() -> None:
    with_waste = given(table=position(waste="1-star-red")).when(TurnStock(seat=1)).violation
    without = given(table=TIC).when(TurnStock(seat=1)).violation
    assert with_waste is not None
    assert with_waste.message == "The stock is empty. Recycle the waste."
    assert without is not None
    assert without.message == "The stock is empty. Every card of it is in play."


def codes_in(source: str) -> set[str]:
    """The codes of a module: first of the arguments of RuleViolation, or of a triple of code, ruling, sentence."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name("RuleViolation"), args=[ast.Constant(str() as code), _, _]) | ast.Tuple(
                [ast.Constant(str() as code), ast.Constant(str()), ast.Constant(str())]
            ) if code.isupper():
                found.add(code)
    return found


def test_every_code_of_the_rules_is_refused_here() -> None:
    top = Path(domain.__path__[0])
    modules = [top / "lifecycle.py", *(top / "ticitaire").glob("*.py")]
    codes = set().union(*(codes_in(module.read_text("utf-8")) for module in modules))
    before_the_deal = {"GAME_CANCELLED", *(case.code for case in BEFORE_THE_DEAL)}
    assert {case.code for case in [*CASES, *LATE]} == codes - before_the_deal


def test_a_code_is_found_in_whichever_way_it_is_written() -> None:
    source = """
WET: Final = ("WET_CARD", "S2", "A wet card does not move.")
def decide(): raise RuleViolation("NO_TEA", "G1", f"No {tea}.")
def over(ruling): raise RuleViolation("NO_CUP", ruling, "No cup.")
"""
    assert codes_in(source) == {"WET_CARD", "NO_TEA", "NO_CUP"}


def test_every_violation_of_the_rules_is_written_in_a_way_that_is_found() -> None:
    top = Path(domain.__path__[0])
    for module in [*top.glob("*.py"), *(top / "ticitaire").glob("*.py")]:
        raised = [
            node
            for node in ast.walk(ast.parse(module.read_text("utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RuleViolation"
        ]
        for node in raised:
            written_out = len(node.args) == 3 and isinstance(node.args[0], ast.Constant)
            assert written_out or isinstance(node.args[0], ast.Starred), ast.unparse(node)
