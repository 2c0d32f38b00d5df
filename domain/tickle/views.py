"""What one viewer may see of a game of Tickle: the grid, how many cards each hand has, and the viewer's own hand."""

from __future__ import annotations

from dataclasses import dataclass

from domain.cards import DECK, HIDDEN, Card, Hidden
from domain.decider import Cell, Viewer
from domain.tickle.facts import Closing, Options, TickleFinished
from domain.tickle.table import TickleTable

__all__ = ["SeatView", "TickleView", "view"]


@dataclass(frozen=True, slots=True)
class SeatView:
    """One seat."""

    seat: int
    points: int
    """What its laydowns scored; cards in hand are not counted yet."""
    hand: tuple[Card | Hidden, ...]
    """In the order in which the cards came."""
    resigned: bool
    time_outs: int
    """In the whole game (G2)."""
    time_outs_in_a_row: int


@dataclass(frozen=True, slots=True)
class TickleView:
    """The whole table as a viewer may see it."""

    version: int
    options: Options
    grid: tuple[tuple[Cell, Card], ...]
    """Sorted by row, then by column."""
    seats: tuple[SeatView, ...]
    deck: tuple[Card | Hidden, ...]
    """The cards left to draw, the next one first."""
    set_aside: tuple[Card | Hidden, ...]
    """The cards out of play (K15)."""
    turn: int
    """The seat whose turn it is; 0 where none has it."""
    round: int
    drawn: Card | Hidden | None
    """The card that was drawn in this turn; None where none was."""
    closing: Closing | None
    target_reached: bool
    """Whether some seat's points have reached the target (K16)."""
    result: TickleFinished | None


def view(table: TickleTable, viewer: Viewer) -> TickleView:
    """Return what the viewer may see."""

    everything = viewer.everything or table.revealed is not None

    def sees(seat: int) -> bool:
        return (everything or seat == viewer.seat) and table.deck is not None

    def undealt(positions: range) -> tuple[Card | Hidden, ...]:
        if table.dealt is None:
            return ()
        return tuple(map(table.card, positions)) if everything and table.deck else (HIDDEN,) * len(positions)

    def seat_view(seat: int) -> SeatView:
        return SeatView(
            seat=seat,
            points=table.points[seat - 1],
            hand=table.hand(seat) if sees(seat) else (HIDDEN,) * table.held[seat - 1],
            resigned=seat in table.resigned,
            time_outs=table.timed_out.count(seat),
            time_outs_in_a_row=table.in_a_row[seat - 1] if table.in_a_row else 0,
        )

    drawn: Card | Hidden | None = None
    if table.drawn is not None:
        drawn = table.card(table.drawn) if sees(table.turn) else HIDDEN
    return TickleView(
        version=table.version,
        options=table.options,
        grid=tuple(
            (cell, DECK[card]) for cell, card in sorted(table.grid.cards.items(), key=lambda item: item[0][::-1])
        ),
        seats=tuple(seat_view(seat) for seat in range(1, len(table.got) + 1)),
        deck=undealt(range(table.next, table.end)),
        set_aside=undealt(range(table.end, len(DECK))),
        turn=0 if table.over else table.turn,
        round=table.round,
        drawn=drawn,
        closing=table.closing,
        target_reached=table.options.target is not None and max(table.points, default=0) >= table.options.target,
        result=table.finished if isinstance(table.finished, TickleFinished) else None,
    )
