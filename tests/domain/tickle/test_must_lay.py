"""Who can lay must (K6): whether a hand has a legal laydown, told without looking for one, against trying them all."""

from __future__ import annotations

import random
from typing import NamedTuple

import hypothesis
import pytest
from hypothesis import event
from hypothesis import strategies as st

from domain.tickle.grid import EMPTY_GRID, Grid, indexes, set_of
from domain.tickle.placement import can_lay, faults
from tests.domain.tickle.grids import Position, edge, grid, hand, index, is_legal, laydowns, position, stuck

some = hypothesis.settings(deadline=None, max_examples=7, suppress_health_check=[hypothesis.HealthCheck.too_slow])
seeds = st.integers(0, 2**32)


def exists(where: Position, drawn: int | None = None, more: int = 0) -> bool:
    """Whether trying them all finds a legal laydown; the real rules agree that it is one."""
    found = laydowns(where.old, where.hand | more, drawn)
    assert not any(faults(where.grid, where.hand | more, laid, drawn) for laid in found)
    event(f"there is one: {bool(found)}")
    return bool(found)


@some
@hypothesis.given(st.builds(position, seeds, cards=st.integers(1, 8), held=st.integers(1, 6)))
def test_a_hand_can_lay_exactly_where_some_laydown_is_legal(where: Position) -> None:
    assert can_lay(where.grid, where.hand) == exists(where)


@some
@hypothesis.given(st.builds(position, seeds, cards=st.integers(30, 60), held=st.integers(1, 4)))
def test_so_it_is_on_a_late_grid(where: Position) -> None:
    assert can_lay(where.grid, where.hand) == exists(where)


@hypothesis.settings(some, max_examples=4)
@hypothesis.given(st.builds(position, seeds, cards=st.integers(1, 3), held=st.integers(7, 8)))
def test_so_it_is_for_a_hand_of_more_than_six(where: Position) -> None:
    assert can_lay(where.grid, where.hand) == exists(where)


@some
@hypothesis.given(st.builds(stuck, seeds, cards=st.integers(1, 15), held=st.integers(2, 7)))
def test_cards_of_which_none_can_be_laid_alone_can_not_be_laid_together(where: Position) -> None:
    event(f"cards in hand: {where.hand.bit_count()}")
    assert not laydowns(where.old, where.hand)
    assert not can_lay(where.grid, where.hand)


@hypothesis.settings(some, max_examples=25)
@hypothesis.given(st.builds(position, seeds, cards=st.just(0), held=st.integers(1, 9)))
def test_a_hand_can_open_exactly_where_some_opening_is_legal(where: Position) -> None:  # K4
    assert can_lay(EMPTY_GRID, where.hand) == exists(where)


@hypothesis.settings(some, max_examples=5)
@hypothesis.given(st.builds(stuck, seeds, cards=st.integers(1, 20), held=st.integers(1, 5)), st.data())
def test_a_drawn_card_can_be_laid_with_others_exactly_where_it_can_be_laid_alone(  # K7
    where: Position, data: st.DataObject
) -> None:
    for drawn in data.draw(st.lists(st.sampled_from(where.unseen), min_size=2, max_size=2, unique=True)):
        more = 1 << drawn
        assert can_lay(where.grid, where.hand | more, drawn) == exists(where, drawn, more)


@hypothesis.settings(some, max_examples=30)
@hypothesis.given(st.builds(stuck, seeds, cards=st.just(0), held=st.integers(1, 9)), st.data())
def test_a_drawn_card_opens_exactly_where_some_opening_has_it(where: Position, data: st.DataObject) -> None:  # K4
    for drawn in data.draw(st.lists(st.sampled_from(where.unseen), min_size=4, max_size=4, unique=True)):
        more = 1 << drawn
        assert can_lay(EMPTY_GRID, where.hand | more, drawn) == exists(where, drawn, more)


@some
@hypothesis.given(st.builds(position, seeds, cards=st.integers(1, 90), held=st.just(0)))
def test_every_empty_cell_beside_the_grid_knows_the_cards_that_it_takes(where: Position) -> None:  # K5
    takes = {cell: {card for card in where.unseen if is_legal(where.old, {cell: card})} for cell in edge(where.old)}
    unseen = set_of(where.unseen)
    assert {cell: set(indexes(cards & unseen)) for cell, cards in where.grid.playable.items()} == takes


@some
@hypothesis.given(seeds, st.integers(2, 60))
def test_a_grid_is_the_same_in_whatever_order_its_cards_came(seed: int, cards: int) -> None:
    where, grown = position(seed, cards, 0), EMPTY_GRID
    for one in random.Random(seed).sample(sorted(where.old.items()), len(where.old)):
        grown = grown.after([one])
    assert (grown.cards, grown.playable) == (where.grid.cards, where.grid.playable)


class Case(NamedTuple):
    sentence: str
    grid: Grid
    hand: str
    drawn: str | None
    can: bool


PAIR = grid("1-circle-red 1-star-red")
CASES = [
    Case("K6: a Tic with the grid", PAIR, "2-star-red 3-triangle-cyan", None, True),
    Case("K6: Singles alone", PAIR, "2-square-red 1-square-cyan", None, False),
    Case("K6: Nics alone", PAIR, "4-square-cyan 2-triangle-orange", None, False),
    Case(
        "K6: a Tic of two cards in hand that touch the grid in Singles",
        PAIR,
        "2-square-red 2-triangle-red",
        None,
        False,
    ),
    Case("K6: an empty hand", PAIR, "", None, False),
    Case(
        "K6: a hole that wants a Tic and no Nic, filled",
        grid(". 1-circle-red .\n1-star-violet . 4-star-violet\n. 1-circle-orange ."),
        "1-star-red",
        None,
        True,
    ),
    Case("K7: a drawn card that Tics with the grid", PAIR, "4-square-cyan", "1-star-cyan", True),
    Case("K7: a drawn card that Tics with the hand alone", PAIR, "4-square-cyan", "4-square-orange", False),
    Case("K7: a drawn card without a Tic, to a hand with one", PAIR, "1-star-cyan", "4-square-orange", False),
    Case("K4: two cards that Tic", EMPTY_GRID, "4-square-cyan 1-star-red 4-square-orange", None, True),
    Case("K4: Singles alone", EMPTY_GRID, "4-square-cyan 4-star-red 4-circle-orange", None, False),
    Case("K4: one card", EMPTY_GRID, "4-square-cyan", None, False),
    Case("K4: a drawn card that Tics with one in hand", EMPTY_GRID, "4-square-cyan 1-star-red", "2-star-red", True),
    Case("K4: a drawn card that Tics with none in hand", EMPTY_GRID, "4-square-cyan 1-star-red", "2-star-cyan", False),
    Case(
        "K4: a drawn card without a Tic, to two that Tic", EMPTY_GRID, "1-star-red 2-star-red", "4-square-cyan", False
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.sentence}: {'can' if case.can else 'can not'}")
def test_a_hand_can_lay_or_not(case: Case) -> None:
    drawn = None if case.drawn is None else index(case.drawn)
    cards = hand(case.hand) | (0 if drawn is None else 1 << drawn)
    assert can_lay(case.grid, cards, drawn) == case.can
