"""TIC Poker over GraphQL."""

from __future__ import annotations

from typing import Final

from api.games import Kind
from api.poker import facts, table
from api.poker.drawing import draw
from api.poker.mutations import PokerMutation
from api.poker.statistics import PokerStatistics, show_statistics
from domain.poker.rules import POKER

__all__ = ["KIND"]

KIND: Final = Kind(
    name=POKER.kind,
    game=table.PokerGame,
    facts=facts.PRESENTERS,
    actions=table.actions,
    types=(*table.TYPES, *facts.TYPES, PokerStatistics),
    mutation=PokerMutation,
    usual_lengths=table.USUAL_LENGTHS,
    efforts=table.EFFORTS,
    statistics=show_statistics,
    draw=draw,
)
"""How TIC Poker is shown."""
