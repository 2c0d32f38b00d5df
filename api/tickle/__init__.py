"""Tickle over GraphQL."""

from __future__ import annotations

from typing import Final

from api.games import Kind
from api.tickle import facts, table
from api.tickle.drawing import draw
from api.tickle.mutations import TickleMutation
from domain.tickle.rules import TICKLE

__all__ = ["KIND"]

KIND: Final = Kind(
    name=TICKLE.kind,
    game=table.TickleGame,
    facts=facts.PRESENTERS,
    actions=table.actions,
    types=(*table.TYPES, *facts.TYPES),
    mutation=TickleMutation,
    usual_lengths=table.USUAL_LENGTHS,
    efforts=table.EFFORTS,
    draw=draw,
)
"""How Tickle is shown."""
