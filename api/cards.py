"""Cards as clients see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

import strawberry

from api.errors import InvalidInput
from domain import cards
from domain.cards import DECK

__all__ = ["Card", "CardSlot", "HiddenCard", "faces", "read_card", "slots"]

strawberry.enum(cards.Shape, description="The five shapes, lowest first: their values are 1 to 5.")
strawberry.enum(cards.Colour, description="The five colours, lowest first: their values are 1 to 5.")


@strawberry.type(description="One of the 125 cards, open to you.")
class Card:
    """A card."""

    name: str = strawberry.field(description="number-shape-colour, as in 5-star-red (ruling C2).")
    index: int = strawberry.field(description="The card's place in the canonical order, 0..124 (ruling C2).")
    number: int = strawberry.field(description="1..5.")
    shape: cards.Shape = strawberry.field(description="The shape.")
    colour: cards.Colour = strawberry.field(description="The colour.")
    value: int = strawberry.field(description="number + shape + colour, 3..15 (ruling C2).")


@strawberry.type(description="A card that lies there and that you may not see.")
class HiddenCard:
    """A card that the viewer may not see."""

    hidden: bool = strawberry.field(default=True, description="Always true.")


CardSlot = Annotated[
    Card | HiddenCard, strawberry.union("CardSlot", description="A card that lies there: open to you, or hidden.")
]

_FACES: Final = {
    card: Card(
        name=str(card),
        index=card.index,
        number=card.number,
        shape=card.shape,
        colour=card.colour,
        value=card.value,
    )
    for card in DECK
}
_HIDDEN: Final = HiddenCard()


def read_card(name: str, *path: str) -> cards.Card:
    """Return the card of a name in a request, ``path`` leading to it.

    Raises:
        InvalidInput: no card has the name.
    """
    try:
        return cards.Card.parse(name)
    except ValueError:
        message = "There is no such card: a card is named number-shape-colour, as in 5-star-red."
        raise InvalidInput(message, *path) from None


def faces(shown: Iterable[cards.Card]) -> list[Card]:
    """Show open cards."""
    return [_FACES[card] for card in shown]


def slots(shown: Iterable[cards.Card | cards.Hidden]) -> list[Card | HiddenCard]:
    """Show cards of which some are hidden."""
    return [_FACES[card] if isinstance(card, cards.Card) else _HIDDEN for card in shown]
