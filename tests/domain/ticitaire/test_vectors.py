"""Ticitaire against the cases of an independent engine: ``tests/vectors``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain.cards import Card
from domain.decider import Command, Viewer, fold
from domain.ticitaire.facts import COLUMNS, TableauDealt, TicitaireFinished
from domain.ticitaire.rules import TICITAIRE, MoveCards, RecycleWaste, TurnStock, empty
from domain.ticitaire.table import TicitaireTable
from tests.domain.ticitaire.positions import move, opening, picture, position
from tests.given import NOON, SEEDS

VECTORS = Path(__file__).parent.parent.parent / "vectors"


def cases(name: str) -> list[Any]:
    found: list[Any] = json.loads((VECTORS / name).read_text("utf-8"))["cases"]
    return found


MOVES = cases("ticitaire_moves.json")
SOLUTIONS = cases("ticitaire_solutions.json")


def told(case: dict[str, Any]) -> str:
    return f"{case['id']}: {case['label']}, {case['source']}"


def laid_out(state: dict[str, Any]) -> TicitaireTable:
    """The table of a case; its stock has the next card on the right."""
    return position(
        *(f"{' '.join(column['down'])} | {' '.join(column['up'])}" for column in state["columns"]),
        low=" ".join(state["low"]),
        high=" ".join(state["high"]),
        stock=" ".join(reversed(state["stock"])),
        waste=" ".join(state["waste"]),
    )


def command(words: list[Any]) -> Command:
    """The command that a move of the cases means; their columns count from 0."""
    match words:
        case ["column", source, target]:
            return move(COLUMNS[source], COLUMNS[target])
        case ["build", source, pile]:
            return move(COLUMNS[source], pile)
        case ["unbuild", pile, target]:
            return move(pile, COLUMNS[target])
        case ["waste_column", target]:
            return move("waste", COLUMNS[target])
        case ["waste_pile", pile]:
            return move("waste", pile)
        case ["turn"]:
            return TurnStock(seat=1)
        case ["recycle"]:
            return RecycleWaste(seat=1)
    raise ValueError(words)


def after(table: TicitaireTable, asked: Command) -> TicitaireTable:
    return fold(TICITAIRE.evolve, table, TICITAIRE.decide(asked, table, NOON))


@pytest.mark.parametrize("case", [case for case in MOVES if not case["won"]], ids=told)
def test_the_legal_moves_are_exactly_those(case: dict[str, Any]) -> None:
    open_commands = TICITAIRE.legal_commands(laid_out(case["state"]), Viewer(seat=1))
    moves = {asked for asked in open_commands if isinstance(asked, (MoveCards, TurnStock, RecycleWaste))}
    assert moves == {command(words) for words in case["moves"]}


@pytest.mark.parametrize("case", [case for case in MOVES if "apply" in case], ids=told)
def test_a_move_leads_to_that_position(case: dict[str, Any]) -> None:
    table = laid_out(case["state"])
    assert table.deck is not None
    later = after(table, command(case["apply"]["move"]))
    assert picture(later.layout, table.deck) == case["apply"]["after"]


@pytest.mark.parametrize("case", MOVES, ids=told)
def test_a_position_is_won_or_not(case: dict[str, Any]) -> None:
    assert laid_out(case["state"]).layout.won == case["won"]


def dealt(deck: tuple[Card, ...]) -> TicitaireTable:
    """A game whose deck is in a given order, which no seed is known for."""
    opened, seated, deal = opening()
    assert isinstance(deal, TableauDealt)
    exposed = deal.model_copy(update={"exposed": deck[49:56]})
    table = fold(TICITAIRE.evolve, empty(SEEDS), [opened, seated, exposed])
    return replace(table, deck=deck)


def played(case: dict[str, Any]) -> Iterator[TicitaireTable]:
    table = dealt(tuple(map(Card.parse, case["deck_top_first"])))
    yield table
    for words in case["moves"]:
        table = after(table, command(words))
        yield table


@pytest.mark.parametrize("case", SOLUTIONS, ids=lambda case: case["id"])
def test_a_solution_wins_with_its_last_move_and_not_before(case: dict[str, Any]) -> None:
    *before, last = played(case)
    assert not any(table.over for table in before)
    assert isinstance(last.finished, TicitaireFinished)
    assert last.finished.ending == "won"
    assert last.finished.turns == sum(words == ["turn"] for words in case["moves"])
    assert last.finished.recycles == sum(words == ["recycle"] for words in case["moves"])
    assert last.finished.moves == len(case["moves"]) - last.finished.turns - last.finished.recycles


@pytest.mark.parametrize("case", SOLUTIONS, ids=lambda case: case["id"])
def test_a_solution_ends_in_that_position(case: dict[str, Any]) -> None:
    *_, last = played(case)
    assert picture(last.layout, tuple(map(Card.parse, case["deck_top_first"]))) == case["final"]
