"""Tickle over GraphQL."""

from __future__ import annotations

from typing import Final

from api.games import Kind
from api.tickle import facts, table
from api.tickle.drawing import draw
from api.tickle.mutations import TickleMutation
from api.tickle.statistics import TickleStatistics, show_statistics
from domain.tickle.rules import TICKLE

__all__ = ["KIND"]

KIND: Final = Kind(
    name=TICKLE.kind,
    game=table.TickleGame,
    facts=facts.PRESENTERS,
    actions=table.actions,
    types=(*table.TYPES, *facts.TYPES, TickleStatistics),
    mutation=TickleMutation,
    usual_lengths=table.USUAL_LENGTHS,
    efforts=table.EFFORTS,
    statistics=show_statistics,
    draw=draw,
)
"""How Tickle is shown."""
