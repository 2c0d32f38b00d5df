"""The database's clock in a test's hands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.storage import EventRecorder

__all__ = ["Clock"]


class Clock:
    """The database's clock, which the test winds on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.later = timedelta()
        newer = EventRecorder.newer

        def wound_on(recorder: EventRecorder, games: Sequence[tuple[UUID, int]]) -> Any:
            found = newer(recorder, games)
            return found._replace(now=found.now + self.later)

        patch.setattr(EventRecorder, "newer", wound_on)

    def wind_on(self, seconds: int) -> None:
        self.later += timedelta(seconds=seconds)
