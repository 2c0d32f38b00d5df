"""Drawing in a terminal: cards by their shapes and colours, and what the drawings of all kinds share."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from domain.cards import Card, Colour, Hidden, Shape
from domain.telling import short

__all__ = ["CARD_WIDTH", "Pen", "window"]

CARD_WIDTH: Final = 3
"""Columns of a card, like that of a notation."""

_SHAPES: Final = {
    Shape.CIRCLE: "●",
    Shape.CRESCENT: "☾",
    Shape.TRIANGLE: "▲",
    Shape.SQUARE: "■",
    Shape.STAR: "★",
}
_COLOURS: Final = {
    Colour.VIOLET: "color(135)",
    Colour.CYAN: "color(44)",
    Colour.YELLOW: "color(220)",
    Colour.ORANGE: "color(208)",
    Colour.RED: "color(196)",
}


def window(every: Iterable[int], wanted: Iterable[int], most: int) -> range:
    """Return as many numbers in a row as can be drawn: all from the least to the greatest, or those around the wanted.

    >>> window([-2, 5], [], 9), window([-2, 5], [5], 3)
    (range(-2, 6), range(3, 6))
    """
    ordered, most = sorted(every), max(most, 1)
    first, end = ordered[0], ordered[-1] + 1
    shown = sorted(wanted) or ordered
    begin = (shown[0] + shown[-1] + 1 - most) // 2
    begin = max(first, min(begin, end - most))
    return range(begin, min(begin + most, end))


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws on a terminal."""

    width: int = 80
    """Columns that there are for the table."""
    height: int = 1_000
    """Lines that there are for it; what needs more is drawn in part."""
    ascii: bool = False
    """Whether the terminal has letters and signs of ASCII only."""

    def card(self, card: Card | Hidden | None, *, new: bool = False, face_down: bool = False) -> Text:
        """Draw a card: its number, its shape and the first letter of its colour, which tells it without colours too.

        Args:
            card: the card; blank where there is none.
            new: whether it has just come there.
            face_down: whether it lies face-down, though it is known to who looks.
        """
        if card is None:
            return Text(" " * CARD_WIDTH)
        if isinstance(card, Hidden):
            return Text("..." if self.ascii else "▒▒▒", "dim")
        sign = short(card)
        drawn = sign if self.ascii else f"{sign[0]}{_SHAPES[card.shape]}{sign[-1]}"
        return Text(drawn, f"{_COLOURS[card.colour]} {'reverse' if new else 'dim' if face_down else 'bold'}")

    def cards(self, cards: Iterable[Card | Hidden], *, new: Collection[Card] = ()) -> Text:
        """Draw cards in a row."""
        return Text(" ").join(self.card(card, new=card in new) for card in cards)

    def pointer(self, *, here: bool) -> Text:
        """Draw what points at the seat that has the turn, or a blank of the same width."""
        return Text((">" if self.ascii else "▶") if here else " ", "bold")

    def listed(self, parts: Iterable[str]) -> Text:
        """Return short remarks in a line."""
        return Text((" | " if self.ascii else " · ").join(parts), "dim", no_wrap=True)
