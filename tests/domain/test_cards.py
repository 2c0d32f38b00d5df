"""The deck and how cards relate: C1 to C4."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
from pydantic import TypeAdapter, ValidationError

from domain.cards import (
    DECK,
    Card,
    CardName,
    Colour,
    Shape,
    commonness,
    is_duo,
    is_nic,
    is_single,
    is_tic,
    is_tripo,
    sequence,
)

SHAPES = ["circle", "crescent", "triangle", "square", "star"]
COLOURS = ["violet", "cyan", "yellow", "orange", "red"]
NAME = TypeAdapter[Card](CardName)


def c(name: str) -> Card:
    return Card.parse(name)


def test_the_deck_has_each_number_shape_and_colour_once_together() -> None:  # C1
    assert {str(card) for card in DECK} == {
        f"{number}-{shape}-{colour}" for number in range(1, 6) for shape in SHAPES for colour in COLOURS
    }
    assert len(DECK) == 125


def test_shapes_and_colours_have_the_values_of_the_sheet() -> None:  # C1
    assert [shape.name.lower() for shape in sorted(Shape)] == SHAPES
    assert [colour.name.lower() for colour in sorted(Colour)] == COLOURS
    assert [*Shape] == [*Colour] == [1, 2, 3, 4, 5]


def test_the_deck_lies_in_the_canonical_order() -> None:  # C2
    assert [card.index for card in DECK] == list(range(125))
    assert sorted(DECK, reverse=True) == list(reversed(DECK))


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [("1-circle-violet", 0, 3), ("1-circle-cyan", 1, 4), ("2-circle-violet", 25, 4), ("5-star-red", 124, 15)],
)
def test_a_name_gives_index_and_value(name: str, index: int, value: int) -> None:  # C2
    assert (c(name).index, c(name).value) == (index, value)


def test_every_name_reads_back_as_its_card() -> None:  # C2
    assert all(Card.parse(str(card)) is card for card in DECK)


@pytest.mark.parametrize("name", ["", "6-star-red", "5-STAR-red", "5-red-star", "5-star-red ", "05-star-red"])
def test_what_is_no_name_is_no_card(name: str) -> None:
    with pytest.raises(ValueError, match="no such card"):
        Card.parse(name)


@pytest.mark.parametrize("text", ['"6-star-red"', "5", "null", '["5-star-red"]', "{}"])
def test_what_is_no_name_in_json_is_no_card(text: str) -> None:
    with pytest.raises(ValidationError, match="no such card"):
        NAME.validate_json(text)


def test_a_card_leaves_the_program_as_its_name_and_comes_back() -> None:
    assert [NAME.validate_json(NAME.dump_json(card)) for card in DECK] == list(DECK)
    assert NAME.validate_python(DECK[7]) is DECK[7]


def test_the_schema_of_a_card_lists_all_names() -> None:
    assert NAME.json_schema()["enum"] == [str(card) for card in DECK]
    assert json.loads(NAME.dump_json(DECK[124])) == "5-star-red"


def test_a_card_is_in_commonness_with_the_others_as_counting_foretells() -> None:  # C3
    # Of 124 others, 3 properties x 4 values share two, 3 x 16 share one, 64 share none; none share all three.
    for card in DECK:
        others = Counter(commonness(card, other) for other in DECK if other != card)
        assert others == {2: 12, 1: 48, 0: 64}


def test_two_cards_are_a_tic_a_single_or_a_nic_and_only_one_of_them() -> None:  # C3
    for a, b in itertools.combinations(DECK, 2):
        assert [is_nic(a, b), is_single(a, b), is_tic(a, b)].index(True) == commonness(a, b)
        assert is_nic(a, b) + is_single(a, b) + is_tic(a, b) == 1


def test_commonness_and_sequence_do_not_mind_which_card_comes_first() -> None:
    for a, b in itertools.combinations(DECK, 2):
        assert (commonness(a, b), sequence(a, b)) == (commonness(b, a), sequence(b, a))


@pytest.mark.parametrize(
    ("a", "b", "steps", "duo", "strict", "tripo"),
    [
        pytest.param("5-triangle-red", "4-square-red", 2, True, True, False, id="the sheet's example is a Duo"),
        pytest.param("5-triangle-red", "4-square-violet", 2, True, False, False, id="a Duo's third property is free"),
        pytest.param("3-triangle-cyan", "4-square-yellow", 3, False, False, True, id="three steps are a Tripo"),
        pytest.param("3-triangle-cyan", "2-square-violet", 3, False, False, True, id="steps go up and down together"),
        pytest.param("3-triangle-cyan", "4-triangle-cyan", 1, False, False, False, id="one step is nothing"),
        pytest.param("3-triangle-cyan", "5-star-cyan", 0, False, False, False, id="two at once are no step"),
        pytest.param("5-star-red", "1-circle-red", 0, False, False, False, id="values do not wrap"),
        pytest.param("5-star-red", "1-square-orange", 2, True, False, False, id="5 and 1 are 4 apart, not 1"),
    ],
)
def test_sequences(a: str, b: str, steps: int, duo: bool, strict: bool, tripo: bool) -> None:  # C4
    assert sequence(c(a), c(b)) == steps
    assert is_duo(c(a), c(b)) is duo
    assert is_duo(c(a), c(b), strict=True) is strict
    assert is_tripo(c(a), c(b)) is tripo


def test_every_sequence_is_what_the_differences_of_values_say() -> None:  # C4
    for a, b in itertools.combinations(DECK, 2):
        steps = sorted(abs(x - y) for x, y in [(a.number, b.number), (a.shape, b.shape), (a.colour, b.colour)])
        assert is_tripo(a, b) == (steps == [1, 1, 1])
        assert is_duo(a, b) == (steps.count(1) == 2)
        assert is_duo(a, b, strict=True) == (steps == [0, 1, 1])
