"""The table of Ticitaire in a terminal: the seven columns, and the piles above them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

from rich.console import Group, RenderableType
from rich.text import Text

from api.drawing import CARD_WIDTH, Pen
from domain.cards import HIDDEN, Card, Hidden
from domain.decider import Fact
from domain.telling import counted
from domain.ticitaire.facts import CardsMoved, CardTurnedUp, StockTurned
from domain.ticitaire.views import ColumnView, TicitaireView

__all__ = ["draw"]

_GAP = "   "


def draw(view: TicitaireView, fact: Fact, pen: Pen) -> RenderableType:
    """Draw the table; the cards that the fact has moved stand out."""
    if not any(column.buried or column.run for column in view.columns) and not view.stock and not view.moves:
        return Text("(nothing is dealt)", "dim")
    new = _new(fact)
    return Group(pen.listed(_remarks(view)), "", _piles(view, new, pen), "", *_columns(view.columns, new, pen))


def _remarks(view: TicitaireView) -> Iterator[str]:
    yield counted(view.moves, "move")
    yield f"{counted(view.turns, 'turn')} of the stock"
    if view.recycles:
        yield counted(view.recycles, "recycling")
    if view.take_backs:
        yield counted(view.take_backs, "take-back")
    if view.options.strict_duo:
        yield "strict Duo"


def _new(fact: Fact) -> Collection[Card]:
    match fact:
        case CardsMoved(cards=cards):
            return cards
        case CardTurnedUp(card=card) | StockTurned(card=card):
            return [card]
        case _:
            return []


def _piles(view: TicitaireView, new: Collection[Card], pen: Pen) -> Text:
    """Draw the top of each pile, of the stock what is known of it, and how many cards it has."""
    piles = {"low": view.low[::-1], "high": view.high[::-1], "waste": view.waste[::-1], "stock": view.stock}
    return Text(_GAP).join([_pile(name, pile, new, pen) for name, pile in piles.items()])


def _pile(name: str, pile: Sequence[Card | Hidden], new: Collection[Card], pen: Pen) -> Text:
    card = pile[0] if pile else None
    face_down = name == "stock"
    drawn = pen.card(card, new=card in new, face_down=face_down)
    return Text.assemble((f"{name} ", "dim"), drawn, (f" {len(pile):>2}", "dim"))


def _columns(columns: Sequence[ColumnView], new: Collection[Card], pen: Pen) -> Iterator[Text]:
    yield Text(_GAP.join(f"{number:^{CARD_WIDTH}}" for number in range(1, len(columns) + 1)), "dim")
    rows = max(pen.height - 5, 3)  # the remarks, the piles, the numbers of the columns, and two empty lines
    lying = [_shortened([*_lying(column, new, pen)], rows) for column in columns]
    for row in zip_longest(*lying, fillvalue=pen.card(None)):
        yield Text(_GAP).join(row)


def _shortened(lying: Sequence[Text], rows: int) -> Sequence[Text]:
    """Leave out cards before the last ones where there are too many, for the last ones are those that move."""
    if len(lying) <= rows:
        return lying
    first = rows // 3
    left_out = Text(f"+{len(lying) - rows + 1:<2}", "dim")
    return [*lying[:first], left_out, *lying[first + 1 - rows :]]


def _lying(column: ColumnView, new: Collection[Card], pen: Pen) -> Iterator[Text]:
    for card in column.buried:
        yield pen.card(card, face_down=card is not HIDDEN)
    for card in column.run:
        yield pen.card(card, new=card in new)
