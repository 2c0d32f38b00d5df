"""The legal laydowns that are found for a hand: all of them, each once; and the best, within a bound."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import hypothesis
import pytest
from hypothesis import event
from hypothesis import strategies as st

from domain.tickle.grid import EMPTY_GRID, Grid, Laid
from domain.tickle.hints import BOUND, Hints, Laydowns, best_laydowns
from domain.tickle.placement import faults
from domain.tickle.scoring import total
from tests.domain.tickle.grids import Position, canonical, grid, hand, index, laydowns, position, row, stuck

some = hypothesis.settings(deadline=None, max_examples=6, suppress_health_check=[hypothesis.HealthCheck.too_slow])
seeds = st.integers(0, 2**32)
small = st.one_of(
    st.builds(position, seeds, cards=st.integers(1, 3), held=st.integers(1, 6)),
    st.builds(position, seeds, cards=st.integers(4, 30), held=st.integers(1, 6)),
    st.builds(position, seeds, cards=st.integers(31, 80), held=st.integers(1, 5)),
)
late = st.builds(position, seeds, cards=st.integers(30, 80), held=st.integers(3, 6))
HAND_OF_26 = 26


def found(where: Position, drawn: int | None = None, bound: int | None = None) -> list[Laid]:
    return list(Laydowns(where.grid, where.hand, drawn, bound=bound))


def with_card(where: Position, card: int) -> Position:
    return where._replace(hand=where.hand | 1 << card)


# All of them


@some
@hypothesis.given(small)
def test_they_are_exactly_those_that_trying_all_of_them_finds(where: Position) -> None:
    every = laydowns(where.old, where.hand)
    event(f"as many as {10 ** len(str(len(every)))}")
    assert set(map(canonical, found(where))) == every


@some
@hypothesis.given(st.builds(position, seeds, cards=st.integers(0, 60), held=st.integers(4, 6)))
def test_each_is_found_once(where: Position) -> None:
    assert [laid for laid, times in Counter(map(canonical, found(where))).items() if times > 1] == []


@some
@hypothesis.given(late)
def test_none_of_them_is_illegal(where: Position) -> None:
    all_of_them = found(where)
    for laid in random.Random(0).sample(all_of_them, min(300, len(all_of_them))):
        assert faults(where.grid, where.hand, laid) == ()


@some
@hypothesis.given(st.builds(stuck, seeds, cards=st.integers(1, 12), held=st.integers(1, 4)), st.data())
def test_after_a_draw_they_are_exactly_those_with_the_drawn_card(where: Position, data: st.DataObject) -> None:  # K7
    able = [card for card in where.unseen if where.grid.takes_one_of(1 << card)]
    drawn = data.draw(st.sampled_from(able or where.unseen))
    drew = with_card(where, drawn)
    assert set(map(canonical, found(drew, drawn))) == laydowns(drew.old, drew.hand, drawn)


@some
@hypothesis.given(st.builds(position, seeds, cards=st.integers(2, 8), held=st.integers(2, 5)))
def test_those_with_one_card_are_all_where_the_hand_could_lay_before(where: Position) -> None:
    """A search for a drawn card does not count on the hand that it came to."""
    drawn = where.unseen[0]
    drew = with_card(where, drawn)
    assert set(map(canonical, found(drew, drawn))) == laydowns(drew.old, drew.hand, drawn)


@hypothesis.settings(some, max_examples=15)
@hypothesis.given(st.builds(position, seeds, cards=st.just(0), held=st.integers(1, 9)))
def test_the_openings_are_all_those_in_a_row_from_the_middle_on(where: Position) -> None:  # K3
    assert sorted(found(where)) == sorted(laydowns({}, where.hand))


@hypothesis.settings(some, max_examples=15)
@hypothesis.given(st.builds(stuck, seeds, cards=st.just(0), held=st.integers(1, 9)), st.data())
def test_after_a_draw_the_openings_have_the_drawn_card(where: Position, data: st.DataObject) -> None:  # K4
    drawn = data.draw(st.sampled_from(where.unseen))
    drew = with_card(where, drawn)
    assert sorted(found(drew, drawn)) == sorted(laydowns({}, drew.hand, drawn))


def test_an_opening_and_its_mirror_image_are_two() -> None:
    cards = hand("1-star-red 2-star-red")
    assert sorted(Laydowns(EMPTY_GRID, cards)) == [
        row(0, 0, "1-star-red 2-star-red"),
        row(0, 0, "2-star-red 1-star-red"),
    ]


@pytest.mark.parametrize("lies", [EMPTY_GRID, grid("1-star-red 2-star-red")], ids=["opening", "later"])
def test_a_hand_without_cards_has_none(lies: Grid) -> None:
    assert list(Laydowns(lies, 0)) == []


def test_the_cards_of_each_are_told_along_its_line() -> None:
    lies = grid("1-circle-red 1-star-red")
    assert row(-1, 0, "2-circle-red . . 2-star-red") in list(Laydowns(lies, hand("2-circle-red 2-star-red")))


class Shape(NamedTuple):
    sentence: str
    grid: Grid
    laid: Laid


PAIR = grid("1-circle-red 1-star-red")
BESIDE = grid("1-circle-red 1-star-red . .\n. . . 3-square-cyan")
SHAPES = [
    Shape(
        "five cards before their anchor",
        PAIR,
        row(-5, 1, "5-circle-cyan 4-circle-cyan 4-circle-orange 3-circle-orange 3-circle-cyan 1-circle-cyan"),
    ),
    Shape(
        "five cards behind their anchor",
        PAIR,
        row(2, 0, "2-star-red 3-star-red 4-star-red 4-star-cyan 4-circle-cyan 5-circle-cyan"),
    ),
    Shape(
        "a card before the anchor that has its Tic from the one before it",
        PAIR,
        row(-1, 1, "1-triangle-orange 1-triangle-yellow 1-star-cyan"),
    ),
    Shape(
        "a card behind the anchor that has its Tic from the one behind it",
        PAIR,
        row(2, 0, "2-star-red 2-square-cyan 3-square-cyan"),
    ),
    Shape("both ends of a row", PAIR, row(-1, 0, "2-circle-red . . 2-star-red")),
    Shape(
        "behind straddled cards a group whose second card is the anchor",
        BESIDE,
        row(-1, 0, "2-circle-red . . 2-square-red 2-square-cyan"),
    ),
    Shape(
        "behind straddled cards a group whose third card is the anchor",
        grid("1-circle-red 1-star-red . . .\n. . . . 3-square-cyan"),
        row(-1, 0, "2-circle-red . . 2-square-red 2-square-orange 2-square-cyan"),
    ),
    Shape(
        "behind straddled cards the anchor is the last of six",
        BESIDE,
        row(-4, 0, "5-circle-red 4-circle-red 3-circle-red 2-circle-red . . 2-square-red 2-square-cyan"),
    ),
    Shape(
        "three groups",
        grid("1-circle-red . 1-star-red"),
        row(-1, 0, "2-circle-red . 1-square-red . 2-star-red"),
    ),
]


def turned(shape: Shape) -> Shape:
    """The same with rows for columns."""
    cards = {(y, x): card for (x, y), card in shape.grid.cards.items()}
    return Shape(f"{shape.sentence}, in a column", Grid.of(cards), tuple(((y, x), card) for (x, y), card in shape.laid))


ALL_SHAPES = [*SHAPES, *map(turned, SHAPES)]


def those_of(shape: Shape) -> list[Laid]:
    return list(Laydowns(shape.grid, sum(1 << card for _, card in shape.laid), bound=None))


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.sentence)
def test_a_laydown_of_every_shape_is_found(shape: Shape) -> None:
    assert shape.laid in those_of(shape)


@pytest.mark.parametrize(
    "shape", [shape for shape in ALL_SHAPES if len(shape.laid) < 6], ids=lambda shape: shape.sentence
)
def test_with_its_cards_exactly_those_are_found_that_trying_all_of_them_finds(shape: Shape) -> None:
    cards = sum(1 << card for _, card in shape.laid)
    assert sorted(map(canonical, those_of(shape))) == sorted(laydowns(shape.grid.cards, cards))


# The bound


@some
@hypothesis.given(late, st.integers(0, 2_000))
def test_a_search_ends_at_its_bound(where: Position, bound: int) -> None:
    search = Laydowns(where.grid, where.hand, bound=bound)
    for _ in search:
        pass
    event(f"bound reached: {search.bound_reached}")
    assert search.steps <= bound + 2 * 6


@some
@hypothesis.given(late)
def test_a_bound_that_is_just_enough_is_not_reached_and_nothing_is_missing(where: Position) -> None:
    whole = Laydowns(where.grid, where.hand, bound=None)
    every = list(whole)
    assert not whole.bound_reached
    search = Laydowns(where.grid, where.hand, bound=whole.steps)
    assert list(search) == every
    assert not search.bound_reached


@some
@hypothesis.given(late)
def test_a_bound_that_is_one_short_is_reached(where: Position) -> None:
    whole = Laydowns(where.grid, where.hand, bound=None)
    every = list(whole)
    hypothesis.assume(whole.steps)
    search = Laydowns(where.grid, where.hand, bound=whole.steps - 1)
    assert set(search) <= set(every)
    assert search.bound_reached


@some
@hypothesis.given(late, st.integers(0, 200))
def test_a_bounded_search_finds_the_single_cards_in_any_case(where: Position, bound: int) -> None:
    alone = {laid for laid in found(where) if len(laid) == 1}
    assert alone <= set(found(where, bound=bound))


@some
@hypothesis.given(late, st.integers(0, 500))
def test_a_bounded_search_finds_each_once_and_none_that_is_illegal(where: Position, bound: int) -> None:
    some_of_them = found(where, bound=bound)
    assert len(set(map(canonical, some_of_them))) == len(some_of_them)
    assert set(some_of_them) <= set(found(where))


def openings_of(cards: int) -> Iterator[tuple[int, bool]]:
    """How far an opening's search goes for every bound up to the whole, and whether it says that it was cut short."""
    whole = Laydowns(EMPTY_GRID, cards, bound=None)
    every = list(whole)
    for bound in range(whole.steps + 2):
        search = Laydowns(EMPTY_GRID, cards, bound=bound)
        yield len(every) - len(list(search)), search.bound_reached


def test_a_search_for_openings_says_exactly_whether_it_missed_any() -> None:
    for missed, reached in openings_of(hand("1-star-red 2-star-red 3-star-red 3-star-cyan 3-circle-cyan")):
        assert reached == bool(missed)


# The best of them


def ranked(lies: Grid, laid: Laid) -> tuple[int, int]:
    return -total(lies, laid), len(laid)


@some
@hypothesis.given(late, st.integers(1, 40))
def test_the_best_are_the_first_of_all_when_sorted(where: Position, first: int) -> None:
    best = best_laydowns(where.grid, where.hand, first=first, bound=None)
    every = sorted(ranked(where.grid, laid) for laid in found(where))
    assert [(-points, len(laid)) for points, laid in best.laydowns] == every[:first]
    assert not best.bound_reached


@some
@hypothesis.given(late)
def test_each_of_the_best_has_its_points(where: Position) -> None:
    best = best_laydowns(where.grid, where.hand, first=20)
    assert [total(where.grid, laid) for _, laid in best.laydowns] == [points for points, _ in best.laydowns]


@some
@hypothesis.given(late, st.integers(0, 500))
def test_the_best_within_a_bound_come_sorted_from_what_the_search_found(where: Position, bound: int) -> None:
    best = best_laydowns(where.grid, where.hand, first=10, bound=bound)
    every = sorted(ranked(where.grid, laid) for laid in found(where, bound=bound))
    assert [(-points, len(laid)) for points, laid in best.laydowns] == every[:10]


def test_the_best_say_truly_whether_there_may_be_better_ones() -> None:
    where = position(1, 60, 6)
    whole = Laydowns(where.grid, where.hand, bound=None)
    assert list(whole)
    told = {
        bound: best_laydowns(where.grid, where.hand, first=1, bound=bound).bound_reached
        for bound in (whole.steps - 1, whole.steps)
    }
    assert told == {whole.steps - 1: True, whole.steps: False}


def test_the_best_after_a_draw_have_the_drawn_card() -> None:
    lies, drawn = grid("1-circle-red 1-star-red"), index("2-star-red")
    best = best_laydowns(lies, hand("4-square-cyan 4-square-orange 2-star-red"), drawn, first=10)
    assert best.laydowns
    assert all(drawn in dict(laid).values() for _, laid in best.laydowns)


def test_a_hand_that_can_lay_nothing_has_no_best() -> None:
    lies = grid("1-circle-red 1-star-red")
    assert best_laydowns(lies, hand("4-square-cyan"), first=10) == Hints((), False)


@pytest.mark.parametrize("seed", range(4))
def test_a_hand_of_twenty_six_on_a_late_grid_ends_within_the_bound(seed: int) -> None:
    where = position(seed, 70, HAND_OF_26)
    search = Laydowns(where.grid, where.hand)
    put_down = Counter(len(laid) > 1 for laid in search)
    assert search.bound_reached
    assert BOUND < search.steps <= BOUND + 2 * 6
    assert put_down[True] <= search.steps
    assert best_laydowns(where.grid, where.hand, first=10).bound_reached


def test_an_opening_hand_of_twenty_six_ends_within_the_bound() -> None:
    cards = (1 << HAND_OF_26) - 1
    search = Laydowns(EMPTY_GRID, cards)
    assert len(list(search)) <= BOUND
    assert search.bound_reached
    assert search.steps <= BOUND + HAND_OF_26 + 6
