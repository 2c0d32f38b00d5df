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

from domain.entropy import EntropyDue
from domain.events import Event
from domain.lifecycle import Dealt, GameCancelled, GameFinished, GameOpened, PlayerSeated
from domain.seating import PlayerJoined, PlayerLeft, TableOpened
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
        takes integer NOT NULL,
        private boolean NOT NULL,
        opened_at timestamptz NOT NULL,
        changed_at timestamptz NOT NULL,
        version bigint NOT NULL,
        ending text,
        closed boolean NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS lobby_games_by_kind ON lobby_games (kind, position)",
    "CREATE INDEX IF NOT EXISTS lobby_games_by_status ON lobby_games (status, position)",
    """
    CREATE TABLE IF NOT EXISTS lobby_players (
        game uuid NOT NULL,
        player uuid NOT NULL,
        joined bigint NOT NULL,
        seat integer,
        position bigint NOT NULL,
        PRIMARY KEY (game, player)
    )
    """,
    "CREATE INDEX IF NOT EXISTS lobby_players_by_player ON lobby_players (player, position)",
)


JOINABLE: Final = (
    "status = 'open' AND NOT private AND NOT closed"
    " AND takes > (SELECT count(*) FROM read_models.lobby_players p WHERE p.game = g.game)"
)


LISTED: Final = (GameOpened, PlayerJoined, EntropyDue, PlayerSeated, PlayerLeft, Dealt, GameFinished, GameCancelled)
"""What the list takes in; of all other facts it only notes that they came."""


class Status(StrEnum):
    """How far a game has come."""

    OPEN = "open"
    PLAYING = "playing"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class Lobby:
    """The projection. Positions are those of the event that opened the game, so newer games have greater ones."""

    name: str = "lobby"
    version: int = 3
    tables: tuple[str, ...] = ("lobby_games", "lobby_players")

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""
        for statement in TABLES:
            cursor.execute(statement)

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log."""
        last: dict[UUID, Logged] = {}
        for logged in events:
            last[logged.game] = logged
            if issubclass(logged.fact_type, LISTED):  # most are not, and those are not read at all
                self._take_in(cursor, logged)
        cursor.execute(
            "UPDATE lobby_games AS g SET version = c.version, changed_at = c.at"
            " FROM unnest(%s::uuid[], %s::bigint[], %s::timestamptz[]) AS c (game, version, at) WHERE g.game = c.game",
            (list(last), [each.seq for each in last.values()], [each.event.cause.at for each in last.values()]),
        )

    def _take_in(self, cursor: Cursor[DictRow], logged: Logged) -> None:
        event, fact = logged.event, logged.event.fact
        match fact:
            case GameOpened():
                at = event.cause.at
                takes, private = 1, False
                if isinstance(fact, TableOpened):
                    takes, private = fact.takes, fact.options.private or fact.rematch is not None
                cursor.execute(
                    "INSERT INTO lobby_games VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, NULL, FALSE)",
                    (
                        event.game,
                        logged.position,
                        fact.kind,
                        fact.ruleset,
                        Status.OPEN,
                        fact.host,
                        takes,
                        private,
                        at,
                        at,
                        event.seq,
                    ),
                )
            case PlayerJoined():
                self._take_in_player(cursor, event, fact.player, None)
            case PlayerSeated():
                self._take_in_player(cursor, event, fact.player, fact.seat)
            case PlayerLeft():
                cursor.execute("DELETE FROM lobby_players WHERE game = %s AND player = %s", (event.game, fact.player))
            case EntropyDue():
                cursor.execute("UPDATE lobby_games SET closed = TRUE WHERE game = %s", (event.game,))
            case Dealt():
                cursor.execute("UPDATE lobby_games SET status = %s WHERE game = %s", (Status.PLAYING, event.game))
            case GameFinished():
                cursor.execute(
                    "UPDATE lobby_games SET status = %s, ending = %s WHERE game = %s",
                    (Status.FINISHED, fact.ending, event.game),
                )
            case GameCancelled():
                cursor.execute("UPDATE lobby_games SET status = %s WHERE game = %s", (Status.CANCELLED, event.game))
            case _:
                pass

    @staticmethod
    def _take_in_player(cursor: Cursor[DictRow], event: Event, player: UUID, seat: int | None) -> None:
        cursor.execute(
            "INSERT INTO lobby_players SELECT %s, %s, %s, %s, position FROM lobby_games WHERE game = %s"
            " ON CONFLICT (game, player) DO UPDATE SET seat = EXCLUDED.seat",
            (event.game, player, event.seq, seat, event.game),
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
    takes: int
    """How many players it takes at most."""
    private: bool
    """Whether only those join who are invited: with an invitation, or to a rematch."""
    opened_at: datetime
    changed_at: datetime
    version: int
    ending: str | None
    closed: bool
    """Whether nobody can join any more, though it is not dealt: it waits for entropy that players have committed to."""
    players: tuple[UUID, ...]
    """Who is at the table, in the order of joining."""
    seated: tuple[UUID, ...]
    """Seat 1 first; empty before the deal."""


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
        private: bool | None = None,
        joinable: bool = False,
        before: int | None = None,
        first: int = 20,
    ) -> list[GameRow]:
        """Return at most ``first`` games, the newest first, that were opened before a position.

        ``joinable`` wants those only that anyone may join now.

        Raises:
            OperationalError: the database is away.
        """
        conditions: list[Composable] = [SQL("TRUE")]
        parameters: list[Any] = []
        wanted = {"kind = %s": kind, "status = %s": status, "private = %s": private, "position < %s": before}
        for condition, value in wanted.items():
            if value is not None:
                conditions.append(SQL(condition))
                parameters.append(value)
        if joinable:
            conditions.append(SQL(JOINABLE))
        if player is not None:
            conditions.append(
                SQL("EXISTS (SELECT FROM read_models.lobby_players s WHERE s.game = g.game AND s.player = %s)")
            )
            parameters.append(player)
        query = SQL(
            "SELECT g.*,"
            " ARRAY(SELECT player FROM read_models.lobby_players p"
            " WHERE p.game = g.game ORDER BY joined) AS players,"
            " ARRAY(SELECT player FROM read_models.lobby_players p"
            " WHERE p.game = g.game AND seat > 0 ORDER BY seat) AS seated"
            " FROM read_models.lobby_games g WHERE {} ORDER BY position DESC LIMIT %s"
        ).format(SQL(" AND ").join(conditions))
        rows = self._datastore.read(query, (*parameters, first))
        return [_row(row) for row in rows]


def _row(row: DictRow) -> GameRow:
    told = {"status": Status(row["status"]), "players": tuple(row["players"]), "seated": tuple(row["seated"])}
    return GameRow(**{**row, **told})
