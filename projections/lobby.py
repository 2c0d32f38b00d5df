"""The list of games: which there are, of which kind, in which state, with whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow, tuple_row
from psycopg.sql import SQL, Composable

from domain.decider import Fact
from domain.entropy import EntropyDue, EntropyRevealed
from domain.events import Event
from domain.games import DECIDERS
from domain.lifecycle import Dealt, GameCancelled, GameFinished, GameLabelled, GameOpened, PlayerResigned, PlayerSeated
from domain.poker.facts import HandDeclared, HandsRevealed
from domain.storage import Datastore, Logged
from domain.tables import PlayerJoined, PlayerLeft, TableOpened
from domain.tickle.facts import TurnPassed
from domain.turns import TurnBegan

__all__ = ["AWAITING", "GameRow", "Lobby", "LobbyQueries", "Status"]

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
        label text,
        closed boolean NOT NULL DEFAULT false
    )
    """,
    "CREATE INDEX IF NOT EXISTS lobby_games_by_kind ON lobby_games (kind, position)",
    "CREATE INDEX IF NOT EXISTS lobby_games_by_status ON lobby_games (status, position)",
    "CREATE INDEX IF NOT EXISTS lobby_games_by_label ON lobby_games (label, position) WHERE label IS NOT NULL",
    """
    CREATE TABLE IF NOT EXISTS lobby_players (
        game uuid NOT NULL,
        player uuid NOT NULL,
        joined bigint NOT NULL,
        seat integer,
        position bigint NOT NULL,
        awaited boolean NOT NULL DEFAULT false,
        PRIMARY KEY (game, player)
    )
    """,
    "CREATE INDEX IF NOT EXISTS lobby_players_by_player ON lobby_players (player, position)",
    "CREATE INDEX IF NOT EXISTS lobby_players_awaited ON lobby_players (player, position) WHERE awaited",
)


JOINABLE: Final = (
    "status = 'open' AND NOT private AND NOT closed"
    " AND takes > (SELECT count(*) FROM read_models.lobby_players p WHERE p.game = g.game)"
)


LISTED: Final = (
    GameOpened,
    GameLabelled,
    PlayerJoined,
    EntropyDue,
    EntropyRevealed,
    PlayerSeated,
    PlayerLeft,
    Dealt,
    GameFinished,
    GameCancelled,
)
"""What the list takes in; of all other facts it only notes that they came."""

AWAITING: Final = (TurnBegan, TurnPassed, Dealt, HandsRevealed, HandDeclared, PlayerResigned, GameFinished)
"""The facts after which a game may wait for other seats than before. Before the deal it waits for no seat, but for the
players whose entropy is due."""


@cache
def _among(fact_type: type[Fact], some: tuple[type[Fact], ...]) -> bool:
    """Tell whether it is one of some facts: asked of every event, and dear where it is worked out."""
    return issubclass(fact_type, some)


class Status(StrEnum):
    """How far a game has come."""

    OPEN = "open"
    PLAYING = "playing"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class Lobby:
    """The projection. Positions are those of the event that opened the game, so newer games have greater ones."""

    name: str = "lobby"
    version: int = 4
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
            if _among(logged.fact_type, LISTED):  # most are not, and those are not read at all
                self._take_in(cursor, logged)
        cursor.execute(
            "UPDATE lobby_games AS g SET version = c.version, changed_at = c.at"
            " FROM unnest(%s::uuid[], %s::bigint[], %s::timestamptz[]) AS c (game, version, at) WHERE g.game = c.game",
            (list(last), [each.seq for each in last.values()], [each.event.cause.at for each in last.values()]),
        )
        _note_awaited(cursor, [logged for logged in events if _among(logged.fact_type, AWAITING)])

    def _take_in(self, cursor: Cursor[DictRow], logged: Logged) -> None:
        event, fact = logged.event, logged.event.fact
        match fact:
            case GameOpened():
                at = event.cause.at
                takes, private = 1, False
                if isinstance(fact, TableOpened):
                    takes, private = fact.takes, fact.by_invitation
                cursor.execute(
                    "INSERT INTO lobby_games VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
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
            case GameLabelled():
                cursor.execute("UPDATE lobby_games SET label = %s WHERE game = %s", (fact.label, event.game))
            case PlayerJoined():
                self._take_in_player(cursor, event, fact.player, None)
            case PlayerSeated():
                self._take_in_player(cursor, event, fact.player, fact.seat)
            case PlayerLeft():
                cursor.execute("DELETE FROM lobby_players WHERE game = %s AND player = %s", (event.game, fact.player))
            case EntropyDue():
                cursor.execute("UPDATE lobby_games SET closed = true WHERE game = %s", (event.game,))
                self._take_in_waiting(cursor, event, fact.players, awaited=True)
            case EntropyRevealed():
                self._take_in_waiting(cursor, event, [fact.player], awaited=False)
            case Dealt():
                cursor.execute("UPDATE lobby_games SET status = %s WHERE game = %s", (Status.PLAYING, event.game))
            case GameFinished():
                cursor.execute(
                    "UPDATE lobby_games SET status = %s, ending = %s WHERE game = %s",
                    (Status.FINISHED, fact.ending, event.game),
                )
            case GameCancelled():
                cursor.execute("UPDATE lobby_games SET status = %s WHERE game = %s", (Status.CANCELLED, event.game))
                cursor.execute("UPDATE lobby_players SET awaited = false WHERE game = %s AND awaited", (event.game,))
            case _:
                pass

    @staticmethod
    def _take_in_player(cursor: Cursor[DictRow], event: Event, player: UUID, seat: int | None) -> None:
        cursor.execute(
            "INSERT INTO lobby_players SELECT %s, %s, %s, %s, position FROM lobby_games WHERE game = %s"
            " ON CONFLICT (game, player) DO UPDATE SET seat = EXCLUDED.seat",
            (event.game, player, event.seq, seat, event.game),
        )

    @staticmethod
    def _take_in_waiting(cursor: Cursor[DictRow], event: Event, players: Sequence[UUID], *, awaited: bool) -> None:
        """Note that a game waits for the entropy of players, or does so no longer; from the deal on it never does."""
        cursor.execute(
            "UPDATE lobby_players AS p SET awaited = %s FROM lobby_games AS g"
            " WHERE g.game = %s AND g.status = %s AND p.game = g.game AND p.player = ANY(%s)",
            (awaited, event.game, Status.OPEN, list(players)),
        )


def _note_awaited(cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
    """Note whom games wait for after events, whose facts are of ``AWAITING``."""
    if not events:
        return
    query = (
        "SELECT g.game, g.kind, g.ruleset, ARRAY(SELECT seat FROM lobby_players AS p"
        " WHERE p.game = g.game AND p.awaited ORDER BY seat) AS seats"
        " FROM lobby_games AS g WHERE g.game = ANY (%s)"
    )
    with cursor.connection.cursor(binary=True, row_factory=tuple_row) as reading:
        found = reading.execute(query, (list({logged.game for logged in events}),)).fetchall()
    folds = {game: DECIDERS[kind, ruleset].awaited_after for game, kind, ruleset, _ in found}
    before = {game: tuple(seats) for game, _, _, seats in found}
    after = dict(before)
    for logged in events:
        after[logged.game] = folds[logged.game](after[logged.game], logged.event.fact)
    changes = [
        (game, seat, seat in after[game])
        for game, seats in before.items()
        for seat in set(seats).symmetric_difference(after[game])
    ]
    if changes:
        cursor.execute(
            "UPDATE lobby_players AS p SET awaited = c.awaited"
            " FROM unnest(%s::uuid[], %s::integer[], %s::boolean[]) AS c (game, seat, awaited)"
            " WHERE p.game = c.game AND p.seat = c.seat",
            tuple(map(list, zip(*changes, strict=True))),
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
    label: str | None
    """What its opening was labelled with."""
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

    def games(  # noqa: PLR0913 - each narrows the list, and is named
        self,
        *,
        kind: str | None = None,
        status: Status | None = None,
        label: str | None = None,
        player: UUID | None = None,
        awaited: bool = False,
        private: bool | None = None,
        joinable: bool = False,
        before: int | None = None,
        first: int = 20,
    ) -> list[GameRow]:
        """Return at most ``first`` games, the newest first, that were opened before a position.

        ``awaited`` wants those only that wait for the player, ``joinable`` those that anyone may join now.

        Raises:
            ValueError: games are asked for that wait for a player, and not for whom.
            OperationalError: the database is away.
        """
        if awaited and player is None:
            raise ValueError("a game waits for somebody: name the player")
        source, place = SQL("read_models.lobby_games g"), SQL("g.position")
        conditions: list[Composable] = [SQL("TRUE")]
        parameters: list[Any] = []
        if player is not None:
            # The positions stand beside the players as well: so the games of one are read in the order of an index.
            source = SQL("read_models.lobby_players s JOIN read_models.lobby_games g ON g.game = s.game")
            place = SQL("s.position")
            conditions.append(SQL("s.player = %s AND s.awaited") if awaited else SQL("s.player = %s"))
            parameters.append(player)
        wanted: dict[LiteralString, object] = {
            "kind = %s": kind,
            "status = %s": status,
            "label = %s": label,
            "private = %s": private,
        }
        for condition, value in wanted.items():
            if value is not None:
                conditions.append(SQL(condition))
                parameters.append(value)
        if before is not None:
            conditions.append(SQL("{} < %s").format(place))
            parameters.append(before)
        if joinable:
            conditions.append(SQL(JOINABLE))
        query = SQL(
            "SELECT g.game, g.position, g.kind, g.ruleset, g.status, g.host, g.takes, g.private, g.opened_at,"
            " g.changed_at, g.version, g.ending, g.label, g.closed,"
            " ARRAY(SELECT player FROM read_models.lobby_players p"
            " WHERE p.game = g.game ORDER BY joined) AS players,"
            " ARRAY(SELECT player FROM read_models.lobby_players p"
            " WHERE p.game = g.game AND seat > 0 ORDER BY seat) AS seated"
            " FROM {} WHERE {} ORDER BY {} DESC LIMIT %s"
        ).format(source, SQL(" AND ").join(conditions), place)
        rows = self._datastore.read(query, (*parameters, first))
        return [_row(row) for row in rows]


def _row(row: DictRow) -> GameRow:
    told = {"status": Status(row["status"]), "players": tuple(row["players"]), "seated": tuple(row["seated"])}
    return GameRow(**{**row, **told})
