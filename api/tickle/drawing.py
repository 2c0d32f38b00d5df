"""The table of Tickle in a terminal: the grid, and the hands below it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from api.drawing import CARD_WIDTH, Pen, window
from domain.cards import HIDDEN, Card
from domain.decider import Cell, Fact
from domain.telling import counted, named
from domain.tickle.facts import LaydownPlayed
from domain.tickle.views import SeatView, TickleView

__all__ = ["draw"]

_MARGIN: Final = 5
"""Columns for the number of a row."""


def draw(view: TickleView, fact: Fact, pen: Pen) -> RenderableType:
    """Draw the table; what the fact has laid stands out."""
    laid = {each.cell for each in fact.cards} if isinstance(fact, LaydownPlayed) else set()
    hands = [*_hands(view, pen)]
    rows = pen.height - len(hands) - 4  # the remarks, the numbers of the columns, and two empty lines
    return Group(pen.listed(_remarks(view)), "", *_grid(dict(view.grid), laid, rows, pen), "", *hands)


def _remarks(view: TickleView) -> Iterator[str]:
    if view.round:
        yield f"round {view.round}"
    if view.options.target is not None:
        yield f"to {counted(view.options.target, 'point')}"
    if view.closing is not None or view.target_reached:
        yield "the last round"
    if view.seats:
        yield f"{counted(len(view.deck), 'card')} in the deck"
    if view.set_aside:
        yield f"{len(view.set_aside)} set aside"


def _grid(cards: Mapping[Cell, Card], laid: Collection[Cell], rows: int, pen: Pen) -> Iterator[Text]:
    if not cards:
        yield Text("(nothing is laid)", "dim")
        return
    most = (pen.width - _MARGIN) // (CARD_WIDTH + 1)
    columns = window((x for x, _ in cards), (x for x, _ in laid), most)
    yield Text(" " * _MARGIN + " ".join(f"{x:>{CARD_WIDTH}}" for x in columns), "dim")
    for y in window((y for _, y in cards), (y for _, y in laid), rows):
        in_row = (pen.card(cards.get((x, y)), new=(x, y) in laid) for x in columns)
        yield Text.assemble((f"{y:>{_MARGIN - 1}} ", "dim"), Text(" ").join(in_row))


def _hands(view: TickleView, pen: Pen) -> Iterator[Text]:
    for seat in view.seats:
        yield Text.assemble(pen.pointer(here=seat.seat == view.turn), f" {named(seat.seat)}  ", _hand(seat, view, pen))
    if view.deck and HIDDEN not in view.deck:
        yield Text.assemble("  next    ", pen.cards(view.deck), no_wrap=True, overflow="ellipsis")


def _hand(seat: SeatView, view: TickleView, pen: Pen) -> Text:
    new = [view.drawn] if isinstance(view.drawn, Card) and seat.seat == view.turn else []
    hand = pen.cards(seat.hand, new=new) if seat.hand else Text("no cards", "dim")
    return Text.assemble(hand, ("  resigned", "dim") if seat.resigned else "")
