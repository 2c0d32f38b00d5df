"""Every read model, one line each."""

from __future__ import annotations

from typing import Final

from projections.deadlines import Deadlines
from projections.lobby import Lobby
from projections.results import Results
from projections.tables import Projection
from projections.transparency import Transparency

__all__ = ["PROJECTIONS"]

_MODELS: Final[tuple[Projection, ...]] = (Lobby(), Deadlines(), Results(), Transparency())

PROJECTIONS: Final = {projection.name: projection for projection in _MODELS}
"""By name."""
