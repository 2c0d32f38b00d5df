"""How often the log is looked at: soon again while something comes, seldom while nothing does."""

from __future__ import annotations

from typing import Final

__all__ = ["LONGEST_SECONDS", "SHORTEST_SECONDS", "Pace"]

SHORTEST_SECONDS: Final = 0.02
LONGEST_SECONDS: Final = 1.0


class Pace:
    """The pauses of one who looks at the log by himself.

    After a look that found something the pause is the shortest one, so that under load one look finds many events; each
    look that found nothing doubles it, up to the longest.

    >>> pace = Pace()
    >>> [pace.next(found) for found in (True, False, False, True)]
    [0.02, 0.04, 0.08, 0.02]
    """

    def __init__(self) -> None:
        self._pause = 0.0

    def next(self, found: bool) -> float:
        """Return the seconds to wait before the next look, after one that found something or nothing."""
        self._pause = SHORTEST_SECONDS if found else min(max(SHORTEST_SECONDS, 2 * self._pause), LONGEST_SECONDS)
        return self._pause
