"""Erasing a player: out of every game under way first, then name and tokens. The games keep the random id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import Timer
from typing import Final
from uuid import UUID

import structlog

from api.accounts import TRUSTED_SECONDS, Accounts
from domain.application import Games, NotHandled
from domain.decider import Command, RuleViolation
from domain.game import Game
from domain.storage import Datastore
from domain.tables import Cancel, Leave
from projections.lobby import Lobby, LobbyQueries, Status
from projections.models import PROJECTIONS
from projections.runner import Follower

__all__ = ["Erasure"]

ATTEMPTS: Final = 3
"""At one game, which may start or end while it is left."""
PAGE: Final = 100
LATE_SECONDS: Final = TRUSTED_SECONDS + 1
"""After the tokens have ended: no server trusts one any more, and what was under way with one is done."""
MOST_BATCHES: Final = 50
"""Of the log, that the list of games is brought on by before a player's games are looked up in it."""

_logger: Final = structlog.get_logger(__name__)


def _in_a_while(seconds: float, call: Callable[[], None]) -> None:
    timer = Timer(seconds, call)
    timer.daemon = True  # a server that stops does not wait for it
    timer.start()


class Erasure:
    """Erases players. Methods block, and raise OperationalError where the database is away."""

    def __init__(
        self,
        datastore: Datastore,
        games: Games,
        accounts: Accounts,
        *,
        later: Callable[[float, Callable[[], None]], None] = _in_a_while,
    ) -> None:
        """Take what calls a function after some seconds."""
        self._later: Final = later
        self._games: Final = games
        self._accounts: Final = accounts
        self._lobby: Final = LobbyQueries(datastore)
        self._follower: Final = Follower(datastore, PROJECTIONS[Lobby.name])

    def erase(self, player: UUID) -> tuple[bool, int]:
        """Leave a player's games under way, then erase the name and all tokens.

        Tables that the player hosts are called off, others left, and games resigned. What can't be left, such as a
        game that came here as a record, or one whose seal can't be opened, stays as it is. Whoever does it again does
        no harm, and takes the player out of what was begun meanwhile: with a token that another server trusted yet,
        say. Where this program goes on it does so itself, in a while.

        Returns:
            Whether there was such a player, and how many games were left.
        """
        left = self._leave_all(player)
        erased = self._accounts.erase(player)
        left += self._leave_all(player)  # what was begun until the tokens ended
        self._later(LATE_SECONDS, partial(self._leave_late, player))
        return erased, left

    def _leave_late(self, player: UUID) -> None:
        try:
            self._leave_all(player)
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            _logger.warning("games of an erased player may have been left under way", why=type(error).__name__)

    def _leave_all(self, player: UUID) -> int:
        try:
            for _ in range(MOST_BATCHES):
                if not self._follower.step():
                    break
        except LookupError:  # the tables are made by another program, which follows the log itself
            _logger.warning("the list of games can't be brought on before a player's games are looked up in it")
        return sum(self._leave(game, player) for game in list(self._under_way(player)))

    def _under_way(self, player: UUID) -> Iterator[UUID]:
        for status in (Status.OPEN, Status.PLAYING):
            before: int | None = None
            while rows := self._lobby.games(player=player, status=status, before=before, first=PAGE):
                yield from (row.game for row in rows)
                before = rows[-1].position

    def _leave(self, game: UUID, player: UUID) -> bool:
        """Leave a game, however far it has come; tell whether it was there to be left."""
        for _ in range(ATTEMPTS):
            try:
                command = _way_out(self._games.game(game), player)
                if command is None:
                    return False
                self._games.handle(game, lambda _, c=command: c, player=player, expected_version=None, key=None)  # type: ignore[misc]
            except RuleViolation:
                continue  # it has started or ended meanwhile
            except NotHandled as error:
                _logger.warning("a game of an erased player stays as it is", game=str(game), why=type(error).__name__)
                return False
            return True
        return False


def _way_out(game: Game, player: UUID) -> Command | None:
    """Return the command by which a player gets out of a game; None where there is nothing to get out of."""
    table = game.table
    if table.over or not table.attends(player):
        return None
    is_host = table.opened is not None and table.opened.host == player
    return Cancel(player=player) if is_host and not table.deals else Leave(player=player)
