"""Which laydowns are legal, and every reason why one is not, with its cells (K2 to K5, K7)."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

import domain
from domain.decider import Cell
from domain.tickle.grid import EMPTY_GRID, Grid, Laid
from domain.tickle.placement import faults
from tests.domain.tickle.grids import column, grid, hand, index, row

PAIR = grid("1-circle-red 1-star-red")
THREE = grid("1-circle-red 1-star-red 1-square-red")
AROUND_A_HOLE = grid(". 4-square-cyan .\n1-star-red . .\n. 4-square-orange .")
FAR = 10**9


class No(NamedTuple):
    """A reason without its sentence."""

    code: str
    ruling: str
    cells: tuple[Cell, ...] = ()


class Case(NamedTuple):
    sentence: str
    grid: Grid
    laid: Laid
    reasons: tuple[No, ...] = ()
    hand: str | None = None
    """The cards that are laid, unless others are named."""
    drawn: str | None = None


def nic(a: Cell, b: Cell) -> No:
    return No("NIC_CONTACT", "K5", (a, b))


def no_tic(cell: Cell) -> No:
    return No("CARD_WITHOUT_TIC", "K5", (cell,))


def loose(*cells: Cell) -> No:
    return No("GROUP_NOT_ATTACHED", "K5", cells)


def gap(*cells: Cell) -> No:
    return No("GAP_IN_LINE", "K2", cells)


def bend(*cells: Cell) -> No:
    return No("NOT_ONE_LINE", "K2", cells)


def not_held(*cells: Cell) -> No:
    return No("CARD_NOT_IN_HAND", "K2", cells)


def no_opening(a: Cell, b: Cell) -> No:
    return No("OPENING_CONTACT_NO_TIC", "K3", (a, b))


LEGAL = [
    Case("K3: two cards that Tic open in a row", EMPTY_GRID, row(0, 0, "1-circle-red 1-star-red")),
    Case("K3: two cards that Tic open in a column", EMPTY_GRID, column(7, -3, "1-circle-red 1-star-red")),
    Case(
        "K3: six cards open",
        EMPTY_GRID,
        row(0, 0, "1-star-red 2-star-red 3-star-red 4-star-red 5-star-red 5-star-cyan"),
    ),
    Case("K3: an opening lies as far off as 1,000 cells", EMPTY_GRID, row(-1000, 1000, "1-circle-red 1-star-red")),
    Case("K4: an opening has the drawn card", EMPTY_GRID, row(0, 0, "1-star-red 2-star-red"), drawn="2-star-red"),
    Case("K5: a card goes on the end of a row", PAIR, row(2, 0, "2-star-red")),
    Case("K5: a card goes before a row", PAIR, row(-1, 0, "2-circle-red")),
    Case("K5: a column starts from a row", PAIR, column(1, 1, "1-star-cyan 2-star-cyan")),
    Case("K5: a column crosses a row", PAIR, column(1, -1, "1-star-cyan . 2-star-red")),
    Case("K5: a row lies along a row with a Tic and a Single", PAIR, row(0, 1, "1-circle-cyan 1-triangle-cyan")),
    Case("K5: a card that Tics in the grid with one card and Singles with another", THREE, row(1, 1, "1-star-cyan")),
    Case("K2: both ends are laid at once", PAIR, row(-1, 0, "2-circle-red . . 2-star-red")),
    Case(
        "K2: the cards are named in any order",
        PAIR,
        (*row(2, 0, "2-star-red"), *row(-2, 0, "3-circle-red 2-circle-red")),
    ),
    Case(
        "K2: three groups straddle two old cards, each with a Tic of its own",
        grid(". 1-circle-red . 1-star-red ."),
        row(0, 0, "2-circle-red . 1-square-red . 2-star-red"),
    ),
    Case("K5: a group is attached by its last card", PAIR, row(-2, 1, "5-circle-cyan 4-circle-cyan 1-circle-cyan")),
    Case("K5: a group is attached beside the line alone", PAIR, row(1, 1, "1-star-cyan 2-star-cyan")),
    Case("K5: Nics corner to corner do not matter", PAIR, column(2, 0, "2-star-red 2-star-cyan")),
    Case("K5: a card Tics with a new card, and touches nothing else", PAIR, row(2, 0, "2-star-red 2-star-cyan")),
    Case("K7: the drawn card is laid with others", PAIR, row(2, 0, "2-star-red 2-star-cyan"), drawn="2-star-cyan"),
    Case(
        "K12: six cards of a hand of eight",
        PAIR,
        row(2, 0, "2-star-red 3-star-red 4-star-red 5-star-red 5-star-cyan 4-star-cyan"),
        hand="2-star-red 3-star-red 4-star-red 5-star-red 5-star-cyan 4-star-cyan 1-square-cyan 2-square-cyan",
    ),
]

SEVEN = "2-star-red 3-star-red 4-star-red 5-star-red 5-star-cyan 4-star-cyan 3-star-cyan"

ILLEGAL = [
    # the hand
    Case("K2: no card", PAIR, (), (No("NO_CARDS", "K2"),)),
    Case("K2: no card opens", EMPTY_GRID, (), (No("NO_CARDS", "K2"),)),
    Case("K2: seven cards", PAIR, row(2, 0, SEVEN), (No("TOO_MANY_CARDS", "K2"),)),
    Case("K3: seven cards open", EMPTY_GRID, row(0, 0, SEVEN), (No("TOO_MANY_CARDS", "K2"),)),
    Case("K2: a card of another hand", PAIR, row(2, 0, "2-star-red"), (not_held((2, 0)),), hand="3-star-red"),
    Case("K2: a card of the grid", PAIR, row(2, 0, "1-circle-red"), (not_held((2, 0)),), hand="3-star-red"),
    Case(
        "K2: two cards of three of other hands",
        PAIR,
        row(2, 0, "2-star-red 3-star-red 4-star-red"),
        (not_held((2, 0), (4, 0)),),
        hand="3-star-red",
    ),
    Case(
        "K2: a card in two cells",
        PAIR,
        row(2, 0, "2-star-red 2-star-red"),
        (No("CARD_LAID_TWICE", "K2", ((2, 0), (3, 0))),),
    ),
    Case(
        "K2: two cards in two cells each",
        PAIR,
        row(2, 0, "2-star-red 3-star-red 2-star-red 3-star-red"),
        (No("CARD_LAID_TWICE", "K2", ((2, 0), (4, 0))), No("CARD_LAID_TWICE", "K2", ((3, 0), (5, 0)))),
    ),
    Case(
        "K7: the drawn card is missing",
        PAIR,
        row(2, 0, "2-star-red"),
        (No("DRAWN_CARD_MISSING", "K7"),),
        drawn="2-star-cyan",
    ),
    Case(
        "K4: the drawn card is missing from an opening",
        EMPTY_GRID,
        row(0, 0, "2-star-red 3-star-red"),
        (No("DRAWN_CARD_MISSING", "K4"),),
        drawn="2-star-cyan",
    ),
    Case(
        "K7: no card after a draw",
        PAIR,
        (),
        (No("NO_CARDS", "K2"), No("DRAWN_CARD_MISSING", "K7")),
        drawn="2-star-cyan",
    ),
    # the cells
    Case(
        "K2: two cards in a cell",
        PAIR,
        (*row(2, 0, "2-star-red"), *row(2, 0, "3-star-red")),
        (No("CELL_USED_TWICE", "K2", ((2, 0),)),),
    ),
    Case("K2: a cell that is taken", PAIR, row(1, 0, "2-star-red"), (No("CELL_OCCUPIED", "K2", ((1, 0),)),)),
    Case(
        "K2: cells that are taken, among others",
        PAIR,
        row(0, 0, "2-circle-red 3-star-red 2-star-red"),
        (No("CELL_OCCUPIED", "K2", ((0, 0), (1, 0))),),
    ),
    # the line
    Case(
        "K2: cards above and below that do not lie in one column",
        PAIR,
        (*row(1, -1, "2-star-red"), *row(0, 1, "1-circle-cyan")),
        (bend((0, 1), (1, -1)),),
    ),
    Case(
        "K2: three cards round a corner",
        PAIR,
        (*row(2, 0, "2-star-red 2-star-cyan"), *row(3, 1, "3-star-cyan")),
        (bend((2, 0), (3, 0), (3, 1)),),
    ),
    Case("K2: an empty cell between two in a row", THREE, row(0, 1, "1-circle-cyan . 1-square-cyan"), (gap((1, 1)),)),
    Case(
        "K2: an empty cell between two in a column",
        grid("1-circle-red\n1-star-red\n1-square-red"),
        column(1, 0, "1-circle-cyan . 1-square-cyan"),
        (gap((1, 1)),),
    ),
    Case(
        "K2: an empty cell behind the end of a row",
        PAIR,
        row(3, 0, "2-star-red 3-star-red"),
        (loose((3, 0), (4, 0)),),
    ),
    Case(
        "K2: empty cells on both sides of the straddled cards",
        PAIR,
        row(-2, 0, "2-circle-red . . . . 2-star-red"),
        (gap((-1, 0), (2, 0)), no_tic((-2, 0)), no_tic((3, 0)), loose((-2, 0)), loose((3, 0))),
    ),
    Case(
        "K3: an empty cell in the opening",
        EMPTY_GRID,
        row(0, 0, "1-star-red . 2-star-red"),
        (gap((1, 0)),),
    ),
    Case(
        "K3: an opening round a corner",
        EMPTY_GRID,
        (*row(0, 0, "1-star-red 2-star-red"), *row(1, 1, "3-star-red")),
        (bend((0, 0), (1, 0), (1, 1)),),
    ),
    # the opening
    Case("K3: one card opens", EMPTY_GRID, row(0, 0, "1-star-red"), (No("OPENING_TOO_SMALL", "K3", ((0, 0),)),)),
    Case("K3: a Single", EMPTY_GRID, row(0, 0, "1-star-red 1-circle-cyan"), (no_opening((0, 0), (1, 0)),)),
    Case("K3: a Nic", EMPTY_GRID, column(0, 0, "1-star-red 2-circle-cyan"), (no_opening((0, 0), (0, 1)),)),
    Case(
        "K3: a Tic between a Single and a Nic",
        EMPTY_GRID,
        row(-1, 4, "1-star-red 1-circle-cyan 1-circle-red 2-star-cyan"),
        (no_opening((-1, 4), (0, 4)), no_opening((1, 4), (2, 4))),
    ),
    *(
        Case(f"K3: an opening at {at}", EMPTY_GRID, row(*at, "1-star-red 2-star-red"), (No("OPENING_TOO_FAR", "K3"),))
        for at in ((1000, 0), (-1001, 0), (0, 1001), (0, -1001), (FAR, -FAR))
    ),
    # Nics, later on
    Case(
        "K5: a Nic with the end of a row",
        PAIR,
        row(2, 0, "2-circle-cyan"),
        (nic((1, 0), (2, 0)), no_tic((2, 0)), loose((2, 0))),
    ),
    Case("K5: a Nic beside the line", PAIR, row(0, 1, "1-circle-cyan 2-circle-cyan"), (nic((1, 0), (1, 1)),)),
    Case("K5: a Nic above the line", PAIR, row(0, -1, "1-circle-cyan 2-circle-cyan"), (nic((1, -1), (1, 0)),)),
    Case("K5: a Nic of two new cards in a row", PAIR, row(0, 1, "1-circle-cyan 2-star-red"), (nic((0, 1), (1, 1)),)),
    Case(
        "K5: a Nic of two new cards in a column",
        grid("1-circle-red\n1-star-red"),
        column(-1, 0, "1-circle-cyan 2-star-red"),
        (nic((-1, 0), (-1, 1)),),
    ),
    Case(
        "K5: a Nic with a straddled card",
        grid("1-circle-red . 1-star-red"),
        row(-1, 0, "2-star-cyan . 1-square-red . 2-star-red"),
        (nic((-1, 0), (0, 0)), no_tic((-1, 0)), loose((-1, 0))),
    ),
    Case(
        "K5: two Nics of a card that Tics besides",
        AROUND_A_HOLE,
        row(1, 1, "2-star-red"),
        (nic((1, 0), (1, 1)), nic((1, 1), (1, 2))),
    ),
    # Tics, later on
    Case("K5: a Single with the grid", PAIR, row(2, 0, "1-square-cyan"), (no_tic((2, 0)), loose((2, 0)))),
    Case("K5: a card without a Tic at the end", PAIR, row(2, 0, "2-star-red 2-circle-cyan"), (no_tic((3, 0)),)),
    Case(
        "K5: a card without a Tic between two that have one",
        THREE,
        row(0, 1, "1-circle-cyan 4-star-cyan 1-square-cyan"),
        (no_tic((1, 1)),),
    ),
    # groups
    Case(
        "K5: two cards attached by a Single", PAIR, row(2, 0, "2-square-red 2-triangle-red"), (loose((2, 0), (3, 0)),)
    ),
    Case("K5: two cards that touch nothing", PAIR, row(5, 5, "2-star-red 3-star-red"), (loose((5, 5), (6, 5)),)),
    Case(
        "K5: two cards corner to corner with the grid",
        PAIR,
        row(2, 1, "2-star-red 3-star-red"),
        (loose((2, 1), (3, 1)),),
    ),
    Case(
        "K5: a card that touches nothing", PAIR, row(FAR, -FAR, "2-star-red"), (no_tic((FAR, -FAR)), loose((FAR, -FAR)))
    ),
    Case(
        "K5: of two groups that straddle the grid the first is attached by a Single",
        PAIR,
        row(-2, 0, "2-triangle-red 2-square-red . . 2-star-red"),
        (loose((-2, 0), (-1, 0)),),
    ),
    Case(
        "K5: of two groups that straddle the grid the second is attached by a Single",
        PAIR,
        row(-1, 0, "2-circle-red . . 2-square-red 2-triangle-red"),
        (loose((2, 0), (3, 0)),),
    ),
    Case(
        "K5: both groups that straddle the grid are attached by Singles",
        PAIR,
        row(-2, 0, "2-triangle-red 2-square-red . . 3-square-red 3-triangle-red"),
        (loose((-2, 0), (-1, 0)), loose((2, 0), (3, 0))),
    ),
    Case(
        "K5: a column that straddles a row, one side of it attached by a Single",
        PAIR,
        column(1, -2, "2-triangle-red 2-square-red . 2-star-red"),
        (loose((1, -2), (1, -1)),),
    ),
    # several at once, and what nobody would ask for
    Case(
        "cards not held, round a corner, with a Nic and without a Tic",
        PAIR,
        (*row(2, 0, "2-circle-cyan"), *row(0, 1, "1-circle-cyan")),
        (not_held((2, 0)), bend((0, 1), (2, 0)), nic((1, 0), (2, 0)), no_tic((2, 0)), loose((2, 0))),
        hand="1-circle-cyan",
    ),
    Case(
        "seven cards without the drawn one, away from the grid",
        PAIR,
        row(5, 5, SEVEN),
        (No("TOO_MANY_CARDS", "K2"), No("DRAWN_CARD_MISSING", "K7"), loose(*((x, 5) for x in range(5, 12)))),
        drawn="1-square-cyan",
    ),
    Case(
        "the same card three times in the same cell, which is taken, and not held",
        PAIR,
        row(0, 0, "2-star-red") * 3,
        (
            not_held((0, 0), (0, 0), (0, 0)),
            No("CARD_LAID_TWICE", "K2", ((0, 0), (0, 0), (0, 0))),
            No("CELL_USED_TWICE", "K2", ((0, 0),)),
            No("CELL_OCCUPIED", "K2", ((0, 0),)),
        ),
        hand="3-star-red",
    ),
    Case(
        "a gap too wide to name its cells",
        PAIR,
        (*row(2, 0, "2-star-red"), *row(FAR, 0, "3-star-red")),
        (gap(), no_tic((FAR, 0)), loose((FAR, 0))),
    ),
    Case(
        "an opening with a gap too wide to name its cells, too far away",
        EMPTY_GRID,
        (*column(0, -FAR, "2-star-red"), *column(0, FAR, "3-star-red")),
        (gap(), No("OPENING_TOO_FAR", "K3")),
    ),
    Case(
        "one card that opens too far away, not held and without the drawn one",
        EMPTY_GRID,
        row(FAR, FAR, "1-star-red"),
        (
            not_held((FAR, FAR)),
            No("DRAWN_CARD_MISSING", "K4"),
            No("OPENING_TOO_SMALL", "K3", ((FAR, FAR),)),
            No("OPENING_TOO_FAR", "K3"),
        ),
        hand="2-star-cyan",
        drawn="2-star-red",
    ),
]


def told(case: Case) -> tuple[No, ...]:
    """The reasons of a case, as the rules tell them."""
    cards = sum({1 << card for _, card in case.laid}) if case.hand is None else hand(case.hand)
    drawn = None if case.drawn is None else index(case.drawn)
    found = faults(case.grid, cards | (0 if drawn is None else 1 << drawn), case.laid, drawn)
    assert all(reason.message.endswith(".") for reason in found)
    return tuple(No(reason.code, reason.ruling, reason.cells) for reason in found)


@pytest.mark.parametrize("case", LEGAL, ids=lambda case: case.sentence)
def test_a_laydown_is_legal(case: Case) -> None:
    assert told(case) == ()


@pytest.mark.parametrize("case", ILLEGAL, ids=lambda case: case.sentence)
def test_a_laydown_is_illegal_for_exactly_these_reasons(case: Case) -> None:
    assert told(case) == case.reasons


def test_every_reason_that_the_rules_know_is_told_here() -> None:
    source = (Path(domain.__path__[0]) / "tickle" / "placement.py").read_text("utf-8")
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason"
    ]
    codes = {ast.literal_eval(node.args[0]) for node in calls}
    assert {reason.code for case in ILLEGAL for reason in case.reasons} == codes
