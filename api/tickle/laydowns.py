"""Laydowns and what they score, as clients give and see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

import strawberry

from api.cards import Card, faces, read_card
from api.errors import InvalidInput, Reason
from api.grid import GridCell, cells
from domain import cards
from domain.cards import DECK
from domain.tickle import facts as f
from domain.tickle.grid import Laid

__all__ = ["LayCardInput", "TickleLaidCard", "TickleLaydown", "TickleLaydownCheck", "TickleLaydownPage", "TickleScore"]
__all__ += ["laid_cards", "read_laydown", "score_of", "shown_laydown"]

FARTHEST: Final = 100_000
MOST_CARDS: Final = 26


@strawberry.input(description="A card and the cell to lay it in.")
class LayCardInput:
    """A card and its cell."""

    card: str = strawberry.field(description="The card's name: number-shape-colour, as in 5-star-red.")
    x: int = strawberry.field(description="The column; it grows to the right and may be negative.")
    y: int = strawberry.field(description="The row; it grows downwards and may be negative.")


def read_laydown(given: Sequence[LayCardInput]) -> tuple[f.LaidCard, ...]:
    """Return the cards of a request.

    Raises:
        InvalidInput: there are more than any laydown needs, a name is no card's, or a cell is too far out.
    """
    if len(given) > MOST_CARDS:
        raise InvalidInput("A laydown has 1 to 6 cards.", "cards")
    laid = []
    for at, one in enumerate(given):
        card = read_card(one.card, "cards", str(at), "card")
        if max(abs(one.x), abs(one.y)) > FARTHEST:
            raise InvalidInput(f"x and y are -{FARTHEST:,} to {FARTHEST:,}.", "cards", str(at))
        laid.append(f.LaidCard(x=one.x, y=one.y, card=card))
    return tuple(laid)


@strawberry.type(description="A card in its cell: x grows to the right, y downwards; both may be negative.")
class TickleLaidCard:
    """A card in the grid."""

    x: int = strawberry.field(description="The column.")
    y: int = strawberry.field(description="The row.")
    card: Card = strawberry.field(description="The card.")


def laid_cards(shown: Iterable[tuple[tuple[int, int], cards.Card]]) -> list[TickleLaidCard]:
    """Show cards in their cells."""
    return [TickleLaidCard(x=x, y=y, card=faces([card])[0]) for (x, y), card in shown]


@strawberry.enum(description="What two cards that touch have in common (ruling C3).")
class TickleContactKind(Enum):
    """What two cards have in common."""

    TIC = strawberry.enum_value(2, description="Two properties: 2 points.")
    SINGLE = strawberry.enum_value(1, description="One property: no points.")


@strawberry.type(description="A new card beside another card, new or old (ruling K9).")
class TickleContact:
    """A new contact."""

    a: GridCell = strawberry.field(description="The cell on the left, or above.")
    b: GridCell = strawberry.field(description="The other cell.")
    kind: TickleContactKind = strawberry.field(description="A Tic or a Single.")


@strawberry.type(
    description="Cards connected side to side that share the same two properties (ruling K10). Two of number, shape "
    "and colour are given: the combination."
)
class TickleGroup:
    """A scoring group."""

    number: int | None = strawberry.field(description="The number they share; null if numbers are free.")
    shape: cards.Shape | None = strawberry.field(description="The shape they share; null if shapes are free.")
    colour: cards.Colour | None = strawberry.field(description="The colour they share; null if colours are free.")
    cells: list[GridCell] = strawberry.field(description="Where its cards lie.")
    size: int = strawberry.field(description="How many cards: 3, 4, or 5, which is a Tickle.")
    bonus: int = strawberry.field(description="3, 4 or 10 points for 3, 4 or 5 cards.")
    extreme: int = strawberry.field(description="The Extreme bonus that is paid now (ruling K11), else 0.")


@strawberry.type(description="What a laydown scores, taken apart (rulings K9 to K12).")
class TickleScore:
    """A score."""

    contacts: list[TickleContact] = strawberry.field(description="Every new contact, sorted by cells.")
    groups: list[TickleGroup] = strawberry.field(description="Every group that scores, sorted by combination.")
    tic_points: int = strawberry.field(description="2 for each new Tic.")
    group_points: int = strawberry.field(description="The bonuses of the groups.")
    extreme_points: int = strawberry.field(description="The Extreme bonuses.")
    six_card_points: int = strawberry.field(description="6 for laying six cards.")
    total: int = strawberry.field(description="All of them.")


def score_of(score: f.Score) -> TickleScore:
    """Show a score."""
    contacts = [
        TickleContact(a=a, b=b, kind=TickleContactKind(contact.common))
        for contact in score.contacts
        for a, b in [cells((contact.a, contact.b))]
    ]
    groups = [
        TickleGroup(
            number=group.number,
            shape=group.shape,
            colour=group.colour,
            cells=cells(group.cells),
            size=len(group.cells),
            bonus=group.bonus,
            extreme=group.extreme,
        )
        for group in score.groups
    ]
    return TickleScore(
        contacts=contacts,
        groups=groups,
        tic_points=score.tic_points,
        group_points=score.group_points,
        extreme_points=score.extreme_points,
        six_card_points=score.six_card_points,
        total=score.total,
    )


@strawberry.type(description="Whether a laydown would be legal, and what it would score.")
class TickleLaydownCheck:
    """A laydown looked at."""

    legal: bool = strawberry.field(description="Whether the rules allow it on this grid with this hand.")
    reasons: list[Reason] = strawberry.field(description="Every reason why not, each with its cells and its ruling.")
    score: TickleScore | None = strawberry.field(description="What it scores; null if it is not legal.")


@strawberry.type(description="A legal laydown.")
class TickleLaydown:
    """A legal laydown."""

    cards: list[TickleLaidCard] = strawberry.field(description="The cards in their cells.")
    points: int = strawberry.field(description="What it scores. checkLaydown takes it apart.")


def shown_laydown(points: int, laid: Laid) -> TickleLaydown:
    """Show a legal laydown."""
    return TickleLaydown(cards=laid_cards((cell, DECK[card]) for cell, card in laid), points=points)


@strawberry.type(description="Legal laydowns that a bounded search found, those with most points first.")
class TickleLaydownPage:
    """The best laydowns found."""

    nodes: list[TickleLaydown] = strawberry.field(
        description="The laydowns; of equal ones, those with fewer cards first."
    )
    bound: int = strawberry.field(description="How many cards the search puts down in trying, before it ends.")
    bound_reached: bool = strawberry.field(
        description="Whether the search ended at its bound: then there may be better laydowns than these."
    )
