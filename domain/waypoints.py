"""Waypoints: positions of games that were looked at, kept every few dozen events, so that others are near one.

Games are immutable and share what did not change between two positions, so a waypoint is small.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final
from uuid import UUID

from domain.game import Game

__all__ = ["APART", "Waypoints", "next_waypoint"]

APART: Final = 32
"""Events between two waypoints."""
GAMES: Final = 200
"""Games whose waypoints are kept, those that were looked at last."""


def next_waypoint(version: int) -> int:
    """Return the version of the waypoint that follows a version.

    >>> [next_waypoint(version) for version in (0, 31, 32)]
    [32, 32, 64]
    """
    return version - version % APART + APART


class Waypoints:
    """The waypoints of many games. They may be asked for from many threads."""

    def __init__(self, *, games: int = GAMES) -> None:
        """Keep those of so many games."""
        self._most: Final = games
        self._games: Final[OrderedDict[UUID, dict[int, Game]]] = OrderedDict()
        self._lock: Final = threading.Lock()

    def before(self, game_id: UUID, version: int) -> Game | None:
        """Return the last waypoint of a game that is not after a version, if one is kept."""
        with self._lock:
            kept = self._games.get(game_id)
            if kept is None:
                return None
            self._games.move_to_end(game_id)
            # They are kept on the way from the first event, so all before one that is there are there.
            return kept.get(min(version - version % APART, APART * len(kept)))

    def keep(self, game: Game) -> None:
        """Keep a position, if it is a waypoint."""
        if game.version % APART:
            return
        with self._lock:
            self._games.setdefault(game.id, {})[game.version] = game
            self._games.move_to_end(game.id)
            while len(self._games) > self._most:
                self._games.popitem(last=False)
