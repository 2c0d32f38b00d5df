"""The list of games: which there are, of which kind, in which state, with whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composable

from domain.lifecycle import Dealt, GameFinished, GameOpened, PlayerSeated
from domain.storage import Datastore, Logged

__all__ = ["GameRow", "Lobby", "LobbyQueries", "Status"]

TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS lobby_games (
        game uuid PRIMARY KEY,
        position bigint NOT NULL UNIQUE,
        kind text NOT NULL,
        ruleset integer NOT NULL,
        status text NOT NULL,
        host uuid NOT NULL,
        opened_at timestamptz NOT NULL,
        changed_at timestamptz NOT NULL,
        version bigint NOT NULL,
        ending text
    )
    """,
    "CREATE INDEX IF NOT EXISTS lobby_games_by_kind ON lobby_games (kind, position)",
    "CREATE INDEX IF NOT EXISTS lobby_games_by_status ON lobby_games (status, position)",
    """
    CREATE TABLE IF NOT EXISTS lobby_seats (
        game uuid NOT NULL,
        seat integer NOT NULL,
        player uuid NOT NULL,
        position bigint NOT NULL,
        PRIMARY KEY (game, seat)
    )
    """,
    "CREATE INDEX IF NOT EXISTS lobby_seats_by_player ON lobby_seats (player, position)",
)


class Status(StrEnum):
    """How far a game has come."""

    OPEN = "open"
    PLAYING = "playing"
    FINISHED = "finished"


class Lobby:
    """The projection. Positions are those of the event that opened the game, so newer games have greater ones."""

    name: str = "lobby"
    tables: tuple[str, ...] = ("lobby_games", "lobby_seats")

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""
        for statement in TABLES:
            cursor.execute(statement)

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log."""
        changed: dict[UUID, tuple[int, datetime]] = {}
        for logged in events:
            event, fact = logged.event, logged.event.fact
            changed[event.game] = (event.seq, event.cause.at)
            match fact:
                case GameOpened():
                    at = event.cause.at
                    cursor.execute(
                        "INSERT INTO lobby_games VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, NULL)",
                        (
                            event.game,
                            logged.position,
                            fact.kind,
                            fact.ruleset,
                            Status.OPEN,
                            fact.host,
                            at,
                            at,
                            event.seq,
                        ),
                    )
                case PlayerSeated():
                    cursor.execute(
                        "INSERT INTO lobby_seats SELECT %s, %s, %s, position FROM lobby_games WHERE game = %s",
                        (event.game, fact.seat, fact.player, event.game),
                    )
                case Dealt():
                    cursor.execute("UPDATE lobby_games SET status = %s WHERE game = %s", (Status.PLAYING, event.game))
                case GameFinished():
                    cursor.execute(
                        "UPDATE lobby_games SET status = %s, ending = %s WHERE game = %s",
                        (Status.FINISHED, fact.ending, event.game),
                    )
                case _:
                    pass
        cursor.execute(
            "UPDATE lobby_games AS g SET version = c.version, changed_at = c.at"
            " FROM unnest(%s::uuid[], %s::bigint[], %s::timestamptz[]) AS c (game, version, at) WHERE g.game = c.game",
            (list(changed), [seq for seq, _ in changed.values()], [at for _, at in changed.values()]),
        )


@dataclass(frozen=True, slots=True)
class GameRow:
    """One line of the list."""

    game: UUID
    position: int
    """Where the list can be read on from."""
    kind: str
    ruleset: int
    status: Status
    host: UUID
    opened_at: datetime
    changed_at: datetime
    version: int
    ending: str | None
    players: tuple[UUID, ...]
    """Seat 1 first."""


class LobbyQueries:
    """What can be asked of the list."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore: Final = datastore

    def games(
        self,
        *,
        kind: str | None = None,
        status: Status | None = None,
        player: UUID | None = None,
        before: int | None = None,
        first: int = 20,
    ) -> list[GameRow]:
        """Return at most ``first`` games, the newest first, that were opened before a position.

        Raises:
            OperationalError: the database is away.
        """
        conditions: list[Composable] = [SQL("TRUE")]
        parameters: list[Any] = []
        for condition, value in (("kind = %s", kind), ("status = %s", status), ("position < %s", before)):
            if value is not None:
                conditions.append(SQL(condition))
                parameters.append(value)
        if player is not None:
            conditions.append(SQL("EXISTS (SELECT FROM lobby_seats s WHERE s.game = g.game AND s.player = %s)"))
            parameters.append(player)
        query = SQL(
            "SELECT g.*, ARRAY(SELECT s.player FROM lobby_seats s WHERE s.game = g.game ORDER BY s.seat) AS players"
            " FROM lobby_games g WHERE {} ORDER BY position DESC LIMIT %s"
        ).format(SQL(" AND ").join(conditions))
        rows = self._datastore.read(query, (*parameters, first))
        return [GameRow(**{**row, "status": Status(row["status"]), "players": tuple(row["players"])}) for row in rows]
