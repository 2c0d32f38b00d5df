"""An evening of Tickle that is dealt as is known, and laydowns at its beginning that the rules refuse."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.api.company import HANDS, do, laid
from tests.client import Client

__all__ = ["AT_THE_OPENING", "IN_THE_GRID", "NO_LAYDOWNS", "OPENING", "WITH_THE_DRAWN_CARD", "Evening", "Told", "told"]

OPENING = laid((0, 0, "3-star-yellow"), (1, 0, "3-star-violet"))
"""Seat 1's, after which seat 2 has no legal laydown, and none with the card that it draws."""
LATER = [
    ("drawTickleCard", 1),
    ("declineTickleLaydown", 1),
    ("drawTickleCard", 0),
    ("declineTickleLaydown", 0),
    ("drawTickleCard", 1),
    ("declineTickleLaydown", 1),
    ("drawTickleCard", 0),
]
"""What happens after it until seat 1 can lay again, with the card that it draws."""
WITH_THE_DRAWN_CARD = laid(
    (0, 1, "3-crescent-yellow"),
    (0, 2, "2-square-yellow"),
    (0, 3, "2-square-red"),
    (0, 4, "5-square-orange"),
    (0, 5, "1-square-orange"),
)


class Evening(NamedTuple):
    """Two players and a game between them, which is dealt as is known."""

    ada: Client
    """At seat 1."""
    bob: Client
    """At seat 2."""
    game: Any

    async def then(self, mutation: str, seat: int, **input: Any) -> Evening:
        """The evening after a seat, 0 or 1, has done something."""
        outcome = await do(self[seat], mutation, self.game, **input)
        assert outcome["__typename"] == "CommandAccepted", outcome
        return self._replace(game=outcome["game"])

    async def opened(self) -> Evening:
        return await self.then("layTickleCards", 0, cards=OPENING)

    async def later(self) -> Evening:
        """The evening when seat 1 has drawn, and can lay with the drawn card."""
        evening = await self.opened()
        for mutation, seat in LATER:
            evening = await evening.then(mutation, seat)
        return evening


def cells(*where: tuple[int, int]) -> list[dict[str, int]]:
    return [{"x": x, "y": y} for x, y in where]


Told = list[tuple[str, str, list[dict[str, int]]]]


def told(reasons: Any) -> Told:
    """The reasons, each with its ruling and its cells, and a sentence besides."""
    assert [reason for reason in reasons if not reason["message"].endswith(".")] == []
    return [(reason["code"], reason["ruling"], reason["cells"]) for reason in reasons]


def case(cards: Any, *reasons: tuple[str, str, list[dict[str, int]]], id: str) -> Any:
    return pytest.param(cards, list(reasons), id=id)


AT_THE_OPENING = [
    case([], ("NO_CARDS", "K2", []), id="no cards"),
    case(laid((4, -7, "3-star-violet")), ("OPENING_TOO_SMALL", "K3", cells((4, -7))), id="one card"),
    case(
        laid((0, 0, "3-star-violet"), (0, 1, "5-square-orange")),
        ("OPENING_CONTACT_NO_TIC", "K3", cells((0, 0), (0, 1))),
        id="a Nic",
    ),
    case(
        laid((0, 0, "2-square-red"), (-1, 0, "5-square-orange")),
        ("OPENING_CONTACT_NO_TIC", "K3", cells((-1, 0), (0, 0))),
        id="a Single",
    ),
    case(
        laid((0, 0, "3-star-violet"), (2, 0, "3-star-yellow")),
        ("GAP_IN_LINE", "K2", cells((1, 0))),
        id="a gap",
    ),
    case(
        laid((0, 0, "3-star-violet"), (1, 1, "3-star-yellow")),
        ("NOT_ONE_LINE", "K2", cells((0, 0), (1, 1))),
        id="off a line",
    ),
    case(
        laid((0, 0, "3-star-violet"), (0, 0, "3-star-yellow")),
        ("CELL_USED_TWICE", "K2", cells((0, 0))),
        id="two in a cell",
    ),
    case(
        laid((0, 0, "3-star-violet"), (0, 1, "3-star-violet")),
        ("CARD_LAID_TWICE", "K2", cells((0, 0), (0, 1))),
        id="a card twice",
    ),
    case(
        laid((0, 1001, "3-star-violet"), (0, 1000, "3-star-yellow")),
        ("OPENING_TOO_FAR", "K3", []),
        id="too far from the middle",
    ),
    case(
        laid((0, 0, "5-square-red"), (0, 1, "5-square-orange")),
        ("CARD_NOT_IN_HAND", "K2", cells((0, 0))),
        id="a card of the other player's hand",
    ),
    case(
        laid((0, 0, "5-star-red"), (0, 1, "5-square-orange"), (0, 3, "2-square-yellow")),
        ("CARD_NOT_IN_HAND", "K2", cells((0, 0))),
        ("GAP_IN_LINE", "K2", cells((0, 2))),
        ("OPENING_CONTACT_NO_TIC", "K3", cells((0, 0), (0, 1))),
        id="several of them",
    ),
    case(
        laid(*((0, y, card) for y, card in enumerate((*HANDS[0], "2-square-red")))),
        ("TOO_MANY_CARDS", "K2", []),
        ("CARD_LAID_TWICE", "K2", cells((0, 1), (0, 6))),
        id="seven cards",
    ),
]


IN_THE_GRID = [
    case(laid((0, 0, "5-square-red")), ("CELL_OCCUPIED", "K2", cells((0, 0))), id="on a card"),
    case(
        laid((0, 1, "5-square-red")),
        ("NIC_CONTACT", "K5", cells((0, 0), (0, 1))),
        ("CARD_WITHOUT_TIC", "K5", cells((0, 1))),
        ("GROUP_NOT_ATTACHED", "K5", cells((0, 1))),
        id="a Nic",
    ),
    case(
        laid((0, 1, "3-crescent-red")),
        ("CARD_WITHOUT_TIC", "K5", cells((0, 1))),
        ("GROUP_NOT_ATTACHED", "K5", cells((0, 1))),
        id="a Single alone",
    ),
    case(
        laid((2, 0, "3-crescent-red"), (3, 0, "3-crescent-orange")),
        ("GROUP_NOT_ATTACHED", "K5", cells((2, 0), (3, 0))),
        id="a Single that attaches a Tic",
    ),
    case(
        laid((7, 7, "5-square-red"), (8, 7, "4-square-orange")),
        ("CARD_WITHOUT_TIC", "K5", cells((7, 7))),
        ("CARD_WITHOUT_TIC", "K5", cells((8, 7))),
        ("GROUP_NOT_ATTACHED", "K5", cells((7, 7), (8, 7))),
        id="away from the grid",
    ),
    case(laid((0, 0, "5-square-red"), (90_000, 0, "3-crescent-red")), ("CELL_OCCUPIED", "K2", cells((0, 0))), id="far"),
]


NO_LAYDOWNS = [
    *(
        pytest.param(laid((0, 0, "3-star-violet"), (0, 1, name)), ["cards", "1", "card"], id=what)
        for name, what in {
            "": "no name",
            "3-star": "half a name",
            "6-star-red": "a number too high",
            "3-star-green": "a colour that is none",
            "3-STAR-VIOLET": "in capitals",
            " 3-star-violet": "with a blank",
            "star-3-violet": "in another order",
            "0x3-star-violet": "a number otherwise written",
            "٣-star-violet": "a digit of another script",
        }.items()
    ),
    pytest.param(laid(*((n, 0, "3-star-violet") for n in range(27))), ["cards"], id="27 cards"),
    pytest.param(laid((0, 0, "3-star-violet"), (100_001, 0, "3-star-yellow")), ["cards", "1"], id="a column far away"),
    pytest.param(laid((0, -100_001, "3-star-violet")), ["cards", "0"], id="a row far away"),
]
