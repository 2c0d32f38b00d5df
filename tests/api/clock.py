"""Clocks in a test's hands: the database's, and one that stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.storage import EventRecorder

__all__ = ["Clock", "StandingClock"]


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


class StandingClock:
    """Tells the time, in seconds, that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now
