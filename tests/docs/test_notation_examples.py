"""The examples in docs/notation.md are recorded games in the notation of today."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from domain.cards import Card, Colour, Shape
from domain.telling import short

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
EXAMPLES: Final = re.findall(r"^```text ([\w-]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_example_is_found() -> None:
    assert 2 * len(EXAMPLES) == PAGE.count("```")


@pytest.mark.parametrize(("game", "example"), EXAMPLES)
def test_an_example_stands_line_for_line_in_the_notation_of_its_game(game: str, example: str) -> None:
    assert f"\n{example}" in "\n" + (ROOT / "tests" / "golden" / "games" / f"{game}.txt").read_text("utf-8")


def test_the_page_has_the_sign_of_every_shape_and_the_letter_of_every_colour() -> None:
    rows = re.findall(r"^\| `(.)` \| (\w+) \| \| `(.)` \| (\w+) \|$", PAGE, re.MULTILINE)
    assert [(sign + letter, shape, colour) for sign, shape, letter, colour in rows] == [
        (short(Card(1, shape, colour))[1:], shape.name.lower(), colour.name.lower())
        for shape, colour in zip(Shape, Colour, strict=True)
    ]


@pytest.mark.parametrize(("notation", "name"), re.findall(r"`(\S{3})` (?:is )?(\d-[a-z]+-[a-z]+)", PAGE))
def test_a_card_that_the_page_names_is_noted_so(notation: str, name: str) -> None:
    assert short(Card.parse(name)) == notation
