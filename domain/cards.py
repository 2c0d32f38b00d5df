"""The 125 cards of the TIC deck and how two of them relate (rulings C1 to C4).

>>> a, b = Card.parse("5-triangle-red"), Card.parse("4-square-red")
>>> is_single(a, b), is_duo(a, b)
(True, True)
>>> a.index, a.value
(114, 13)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Annotated, Any, Final

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

__all__ = [
    "DECK",
    "HIDDEN",
    "WEIGHT_OF_A_POINT",
    "Card",
    "CardName",
    "Colour",
    "Hidden",
    "Shape",
    "commonness",
    "is_duo",
    "is_nic",
    "is_single",
    "is_tic",
    "is_tripo",
    "sequence",
]


class Shape(IntEnum):
    """The five shapes, lowest first (C1)."""

    CIRCLE = 1
    CRESCENT = 2
    TRIANGLE = 3
    SQUARE = 4
    STAR = 5


class Colour(IntEnum):
    """The five colours, lowest first (C1)."""

    VIOLET = 1
    CYAN = 2
    YELLOW = 3
    ORANGE = 4
    RED = 5


WEIGHT_OF_A_POINT: Final = 1 << 10
"""More than the indexes of five cards together."""


@dataclass(frozen=True, slots=True, order=True)
class Card:
    """One of the 125 cards. Cards sort in the canonical order of the deck (C2)."""

    number: int
    shape: Shape
    colour: Colour
    index: int = field(init=False, repr=False, compare=False)
    """The place in the canonical order, 0..124, on which shuffles are defined (C2)."""

    weight: int = field(init=False, repr=False, compare=False)
    """The value in units of ``WEIGHT_OF_A_POINT``, plus the index: cards compare by it in order of value, number, shape
    and colour (P7), and the sum of several weights tells the sum of the values."""

    def __post_init__(self) -> None:
        index = 25 * (self.number - 1) + 5 * (self.shape - 1) + (self.colour - 1)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "weight", self.value * WEIGHT_OF_A_POINT + index)

    @property
    def value(self) -> int:
        """Number + shape + colour, 3..15 (C2)."""
        return self.number + self.shape + self.colour

    def __str__(self) -> str:
        """Return the card's name, ``number-shape-colour`` (C2)."""
        return _NAMES[self]

    @staticmethod
    def parse(name: str) -> Card:
        """Return the card of that name.

        Raises:
            ValueError: no card has the name.
        """
        try:
            return _BY_NAME[name]
        except (KeyError, TypeError):
            raise ValueError("no such card; a card is named number-shape-colour, as in 5-star-red") from None


DECK: Final[tuple[Card, ...]] = tuple(Card(n, s, c) for n in range(1, 6) for s in Shape for c in Colour)
"""All cards in canonical order: ``DECK[card.index] is card``."""

_NAMES: Final = {card: f"{card.number}-{card.shape.name.lower()}-{card.colour.name.lower()}" for card in DECK}
_BY_NAME: Final = {name: card for card, name in _NAMES.items()}


def _read(value: Any) -> Card:
    try:
        return _BY_NAME[value]  # most facts are read from text, and most of reading a fact is this
    except (KeyError, TypeError):
        return value if isinstance(value, Card) else Card.parse(value)


_NAME_SCHEMA: Final = {
    "type": "string",
    "enum": list(_BY_NAME),
    "description": "a card: number-shape-colour (ruling C2)",
}

CardName = Annotated[Card, PlainValidator(_read), PlainSerializer(str), WithJsonSchema(_NAME_SCHEMA)]
"""A card that is written as its name wherever it leaves the program: in facts and commands."""


class Hidden(Enum):
    """What stands in a view for a card that the viewer may not see."""

    HIDDEN = "hidden"


HIDDEN: Final = Hidden.HIDDEN


def commonness(a: Card, b: Card) -> int:
    """Count the equal properties of two different cards, 0..2 (C3)."""
    return (a.number == b.number) + (a.shape == b.shape) + (a.colour == b.colour)


def is_tic(a: Card, b: Card) -> bool:
    """Two properties are equal (C3)."""
    return commonness(a, b) == 2


def is_single(a: Card, b: Card) -> bool:
    """One property is equal (C3)."""
    return commonness(a, b) == 1


def is_nic(a: Card, b: Card) -> bool:
    """No property is equal (C3)."""
    return commonness(a, b) == 0


def sequence(a: Card, b: Card) -> int:
    """Count the properties that differ by exactly 1; values do not wrap (C4)."""
    return (abs(a.number - b.number) == 1) + (abs(a.shape - b.shape) == 1) + (abs(a.colour - b.colour) == 1)


def is_duo(a: Card, b: Card, *, strict: bool = False) -> bool:
    """Exactly two properties change by one step; the strict Duo wants the third equal (C4)."""
    return sequence(a, b) == 2 and (not strict or commonness(a, b) == 1)


def is_tripo(a: Card, b: Card) -> bool:
    """All three properties change by one step (C4)."""
    return sequence(a, b) == 3
