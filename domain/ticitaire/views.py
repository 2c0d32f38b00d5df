"""What one viewer may see of a game of Ticitaire.

Built up from the cards that the log has told: at this game every viewer sees the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.cards import HIDDEN, Card, Hidden
from domain.decider import Viewer
from domain.ticitaire.facts import Options, TicitaireFinished
from domain.ticitaire.table import TicitaireTable

__all__ = ["ColumnView", "TicitaireView", "view"]

Seen = Card | Hidden


@dataclass(frozen=True, slots=True)
class ColumnView:
    """One column."""

    buried: tuple[Seen, ...]
    """Face-down, the last is turned up first; a card that was face up before a take-back is told."""
    run: tuple[Card, ...]
    """Face-up, the top first, the exposed card last."""


@dataclass(frozen=True, slots=True)
class TicitaireView:
    """The whole table as a viewer may see it."""

    version: int
    options: Options
    columns: tuple[ColumnView, ...]
    low: tuple[Card, ...]
    high: tuple[Card, ...]
    stock: tuple[Seen, ...]
    """The next card first; cards that went through the waste are told, for their order never changes (S8)."""
    waste: tuple[Card, ...]
    """The playable card last."""
    moves: int
    turns: int
    recycles: int
    take_backs: int
    take_backs_left: int
    """How many moves could be taken back now."""
    result: TicitaireFinished | None


def view(table: TicitaireTable, viewer: Viewer) -> TicitaireView:
    """Return what the viewer may see."""
    told: tuple[Card | None, ...] = table.seen
    if viewer.everything and table.deck is not None:
        told = table.deck

    def slots(positions: tuple[int, ...]) -> tuple[Seen, ...]:
        return tuple(told[position] or HIDDEN for position in positions)

    def faces(positions: tuple[int, ...]) -> tuple[Card, ...]:
        return tuple(card for position in positions if (card := told[position]) is not None)

    layout = table.layout
    return TicitaireView(
        version=table.version,
        options=table.options,
        columns=tuple(ColumnView(slots(column.buried), faces(column.run)) for column in layout.columns),
        low=faces(layout.low),
        high=faces(layout.high),
        stock=slots(layout.stock),
        waste=faces(layout.waste),
        moves=table.moves,
        turns=table.turns,
        recycles=table.recycles,
        take_backs=table.take_backs,
        take_backs_left=0 if table.over else len(table.earlier),
        result=table.finished if isinstance(table.finished, TicitaireFinished) else None,
    )
