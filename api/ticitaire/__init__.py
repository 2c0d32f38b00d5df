"""Ticitaire over GraphQL."""

from __future__ import annotations

from typing import Final

from api.games import Kind
from api.ticitaire import facts, table
from api.ticitaire.drawing import draw
from api.ticitaire.mutations import TicitaireMutation
from api.ticitaire.statistics import TicitaireStatistics, show_statistics
from domain.ticitaire.rules import TICITAIRE

__all__ = ["KIND"]

KIND: Final = Kind(
    name=TICITAIRE.kind,
    game=table.TicitaireGame,
    facts=facts.PRESENTERS,
    actions=table.actions,
    types=(*table.TYPES, *facts.TYPES, TicitaireStatistics),
    mutation=TicitaireMutation,
    usual_lengths=table.USUAL_LENGTHS,
    efforts=table.EFFORTS,
    statistics=show_statistics,
    draw=draw,
)
"""How Ticitaire is shown."""
