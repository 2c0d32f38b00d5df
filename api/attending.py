"""All games of a player, followed as they change: also those that the player comes to while they are followed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import structlog

from api.live import Live
from api.readers import Bell
from api.seams import COMING, Reading, Seams
from domain.events import Event
from domain.game import Game

__all__ = ["PlayerWatch"]

AT_ONCE: Final = 50
"""Games that are read in one go of a thread."""

_logger: Final = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Attended:
    """A game at whose table a player is, as one subscriber knows it."""

    came: int
    """The number of the event by which the player came; 0 where it is not known."""
    told: int = 0
    """The version that the subscriber was told last; 0 for none."""


class _Attendance(Bell):
    """Where the games of a player wait for one subscriber: of each the newest version."""

    __slots__ = ("_live", "_player", "_shown", "games", "has_missed")

    def __init__(self, live: Live, player: UUID) -> None:
        super().__init__()
        self._live: Final = live
        self._player: Final = player
        self._shown: dict[UUID, Game] = {}
        self.games: Final[dict[UUID, _Attended]] = {}
        self.has_missed = True
        """Whether there may be games that must be looked up."""

    def come(self, game: UUID, *, seq: int = 0) -> None:
        """Be shown a game from now on; and at once, where the event is known by which the player came to it."""
        attended = self.games.setdefault(game, _Attended(seq))
        attended.came = max(attended.came, seq)
        self._live.watch(game, self, now=seq > 0)

    def leave(self, game: UUID) -> None:
        """Be shown a game no longer."""
        del self.games[game]
        self._live.unwatch(game, self)

    def show(self, game: Game) -> None:
        """Put a version there, in place of an older one."""
        shown = self._shown.get(game.id)
        if shown is None or shown.version < game.version:
            self._shown[game.id] = game
        self.ring()

    def fail(self, game: UUID, error: Exception) -> None:
        """Go on without a game that can't be read: it is shown again when that has changed."""
        _logger.error("a game can't be shown to its player", game=str(game), error=str(error))

    def miss(self) -> None:
        """Say that the player may have come to other games."""
        self.has_missed = True
        self.ring()

    def taken(self) -> list[Game]:
        """Take what the subscriber is to be told; leave the games that are over or that the player has left."""
        shown, self._shown = self._shown, {}
        return [game for game in shown.values() if game.id in self.games and self._is_told(game, self.games[game.id])]

    def _is_told(self, game: Game, attended: _Attended) -> bool:
        if game.version <= attended.told:
            return False
        is_there: bool = game.table.attends(self._player)
        if is_there and not game.table.over:
            attended.told = game.version
            return True
        if game.version < attended.came:
            return False
        self.leave(game.id)
        # Of what was never told, the end is told only where it has happened under the subscriber's eyes.
        return attended.told > 0 or (is_there and attended.came > 0)


class PlayerWatch:
    """The process's one watch over who comes to which table, for all who follow their games."""

    topics: Collection[str] = tuple(fact.topic for fact in COMING)

    def __init__(self, live: Live, seams: Seams, read: Reading) -> None:
        self._live: Final = live
        self._seams: Final = seams
        self._read: Final = read
        self._attendances: Final[dict[UUID, set[_Attendance]]] = {}

    def hear(self, _games: Sequence[UUID], events: Sequence[Event]) -> None:
        """Note who has come to which table."""
        for event in events:
            if isinstance(event.fact, COMING):
                for attendance in self._attendances.get(event.fact.player, ()):
                    attendance.come(event.game, seq=event.seq)

    def miss(self) -> None:
        """Note that anyone may have come to any table."""
        for attendances in self._attendances.values():
            for attendance in attendances:
                attendance.miss()

    async def follow(self, player: UUID, _edition: object, _offer: object) -> AsyncGenerator[Sequence[Game]]:
        """Yield the unfinished games of a player, then the newest version of each whenever it has changed.

        Also those that the player comes to later. The last version of a game that is told is that with which it ends,
        or with which the player has left it.
        """
        attendance = _Attendance(self._live, player)
        self._enter(player, attendance)
        try:
            while True:
                while attendance.has_missed:
                    attendance.has_missed = False
                    attended = await self._read(partial(self._seams.attended, player))
                    unknown = [game for game in attended if game not in attendance.games]
                    for game in unknown:
                        attendance.come(game)
                    for begin in range(0, len(unknown), AT_ONCE):
                        for found in await self._read(partial(self._seams.games, unknown[begin : begin + AT_ONCE])):
                            attendance.show(found)
                        if told := attendance.taken():
                            yield told
                await attendance.heard()
                if told := attendance.taken():
                    yield told
        finally:
            self._leave(player, attendance)

    def _enter(self, player: UUID, attendance: _Attendance) -> None:
        if not self._attendances:
            self._live.listen(self)
        self._attendances.setdefault(player, set()).add(attendance)

    def _leave(self, player: UUID, attendance: _Attendance) -> None:
        for game in tuple(attendance.games):
            attendance.leave(game)
        attendances = self._attendances[player]
        attendances.remove(attendance)
        if not attendances:
            del self._attendances[player]
        if not self._attendances:
            self._live.unlisten(self)
