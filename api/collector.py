"""Python's garbage collector, set for a server that folds events."""

from __future__ import annotations

import gc
from typing import Final

__all__ = ["settle_collector"]

YOUNG: Final = 20_000
"""Objects made before the collector looks: reading one long game makes thousands, and all of them stay."""


def settle_collector() -> None:
    """Leave alone what was made at the start, the schema above all, and look less often at what is made later."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)
