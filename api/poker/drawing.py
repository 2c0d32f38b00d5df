"""The table of TIC Poker in a terminal: the round, its community cards, and the hands."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from api.drawing import Pen
from domain.cards import Card
from domain.decider import Fact
from domain.poker.facts import CardsExchanged, CommunityCardExchanged, CommunityCardTurned, HandDeclared
from domain.poker.telling import RANKS
from domain.poker.views import PokerView, RoundSeatView, RoundView
from domain.telling import counted, named, nth

__all__ = ["draw"]


def draw(view: PokerView, fact: Fact, pen: Pen) -> RenderableType:
    """Draw the table; the cards that the fact is about stand out."""
    if view.round is None:
        return Text("(nothing is dealt)", "dim")
    lines = [pen.listed(_remarks(view, view.round)), Text()]
    if view.round.community:
        new = [fact.card] if isinstance(fact, CommunityCardExchanged | CommunityCardTurned) else []
        lines.append(Text.assemble("  open    ", pen.cards(view.round.community, new=new)))
    resigned = {seat.seat for seat in view.seats if seat.resigned}
    for seat in sorted(view.round.seats, key=lambda seat: seat.seat):
        lines.append(_seat(seat, view, fact, pen))
        if seat.seat in resigned:
            lines[-1].append("  resigned", "dim")
    return Group(*lines)


def _remarks(view: PokerView, round_: RoundView) -> Iterator[str]:
    yield f"round {round_.number} of {view.options.rounds}"
    if round_.over:
        yield "scored"
    elif round_.declaring:
        yield "hands are declared"
    else:
        yield f"{nth(round_.stage)} exchange"
    yield f"{named(round_.dealer)} deals"
    if round_.caller:
        yield f"{named(round_.caller)} has called"


def _seat(seat: RoundSeatView, view: PokerView, fact: Fact, pen: Pen) -> Text:
    new: Collection[Card] = []
    if isinstance(fact, CardsExchanged) and fact.seat == seat.seat:
        came = [seat.cards[slot - 1] for slot in fact.slots]
        new = [card for card in came if isinstance(card, Card)]
    line = Text.assemble(
        pen.pointer(here=seat.seat == view.turn or (seat.to_act and view.round is not None and view.round.declaring)),
        f" {named(seat.seat)}  ",
        pen.cards(seat.cards, new=new),
    )
    if seat.declared is not None:
        line.append_text(_declared(seat.declared, pen))
    if seat.place is not None:
        line.append(f"  {nth(seat.place)}, {counted(seat.points or 0, 'point')}")
    return line


def _declared(declared: HandDeclared, pen: Pen) -> Text:
    return Text.assemble(f"  {RANKS[declared.rank]}: ", pen.cards(declared.cards))
