"""Rematches: whoever asks first opens the table, whoever asks after that joins it (G4)."""

from __future__ import annotations

import hashlib
from typing import Final
from uuid import UUID

from domain.application import GameNotFound, Games, KeyReused, NotSeated, Outcome, WrongKind
from domain.decider import RuleViolation
from domain.events import key_digest
from domain.game import Game
from domain.tables import Join

__all__ = ["Rematches"]

MOST_EACH: Final = 3
"""Tables that one player opens and cancels again, for one finished game."""
MOST: Final = 8 * MOST_EACH + 1
"""Tables that there can be for one finished game, whoever opens them."""


class Rematches:
    """The rematches of finished games. Their ids follow from the finished game's, so nobody opens a second one."""

    def __init__(self, games: Games) -> None:
        self._games: Final = games

    def latest(self, game_id: UUID) -> Game | None:
        """Return the rematch of a game, if one was opened and not cancelled.

        Raises:
            OperationalError: the database is away.
        """
        for turn in range(MOST):
            try:
                game = self._games.game(_rematch_id(game_id, turn))
            except GameNotFound:
                return None
            if not game.table.cancelled:
                return game
        return None

    def play_again(
        self, game_id: UUID, *, player: UUID, moved_on: bool, key: str | None, commitment: str | None = None
    ) -> Outcome:
        """Open the rematch of a finished game, or join it where another player has opened it.

        Args:
            game_id: the finished game.
            player: who asks.
            moved_on: seat in the earlier order, moved on by one; it counts for the one who opens.
            key: the same key again returns the first outcome.
            commitment: to the player's own entropy, where the table takes it.

        Raises:
            GameNotFound, NotSeated, WrongKind, VersionConflict, KeyReused: nothing was recorded.
            RuleViolation: the rules refuse it, and nothing was recorded.
            Undecided, OperationalError: the database is away.
        """
        finished = self._games.game(game_id)
        opening = finished.decider.rematch
        if opening is None:
            raise WrongKind(finished.decider.kind)
        if not finished.table.attends(player):
            raise NotSeated
        if finished.table.finished is None:
            raise RuleViolation("NOT_FINISHED", "G4", "Only a game that was played to its end can be played again.")
        command = opening(finished.table, game_id, player, moved_on)
        if commitment is not None:
            command = command.model_copy(update={"commitment": commitment})
        digest = None if key is None else key_digest(player, key)
        again, table = self._table_for(game_id, player, digest)
        if table is not None and table.table.deals and digest not in table.answered:
            message = "This game was played again already, as its field `rematch` tells: ask for a rematch of that one."
            raise RuleViolation("REMATCH_STARTED", "G4", message)
        try:
            return self._games.open(finished.decider.kind, command, player=player, key=key, game_id=again)
        except KeyReused:  # it is there; the key, if there is one, may have joined it
            join = Join(player=player, commitment=commitment)
            return self._games.handle(
                again, lambda _: join, player=player, expected_version=None, key=key, seated=False
            )

    def _table_for(self, game_id: UUID, player: UUID, key: str | None) -> tuple[UUID, Game | None]:
        """Return the rematch that has answered a key, or was not cancelled, with its id; or else the id of the next."""
        cancelled = 0
        for turn in range(MOST):
            again = _rematch_id(game_id, turn)
            try:
                game = self._games.game(again)
            except GameNotFound:
                if cancelled >= MOST_EACH:
                    break
                return again, None
            cancelled += game.table.cancelled and game.table.table_opened.host == player
            if key in game.answered or not game.table.cancelled:
                return again, game
        message = (
            f"You have opened and cancelled {MOST_EACH} rematches of this game: let another ask, or open a new table."
        )
        raise RuleViolation("NO_MORE_REMATCHES", "G4", message)


def _rematch_id(game_id: UUID, turn: int) -> UUID:
    digest = hashlib.sha256(f"tic/rematch/v1\n{game_id}\n{turn}".encode()).digest()
    return UUID(bytes=digest[:16], version=5)
