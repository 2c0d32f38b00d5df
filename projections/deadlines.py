"""Which games have a deadline: what the timekeeper looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow

from domain.lifecycle import CLOSING, DeadlineExtended, GameFinished, Timed
from domain.storage import Datastore, Logged

__all__ = ["Deadline", "DeadlineQueries", "Deadlines"]

TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS deadlines (
        game uuid PRIMARY KEY,
        due_at timestamptz NOT NULL,
        since timestamptz NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS deadlines_by_time ON deadlines (due_at)",
)


class Deadlines:
    """The projection."""

    name: str = "deadlines"
    version: int = 1
    tables: tuple[str, ...] = ("deadlines",)

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""
        for statement in TABLES:
            cursor.execute(statement)

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log."""
        began: dict[UUID, tuple[datetime, datetime]] = {}
        extended: dict[UUID, datetime] = {}
        ended: set[UUID] = set()
        for logged in events:
            if not issubclass(logged.fact_type, (Timed, GameFinished, *CLOSING)):  # the others are not read at all
                continue
            game = logged.game
            match logged.event.fact:
                case DeadlineExtended(deadline=datetime() as due_at):
                    # The time was running all along: what a second outage took is given back as well.
                    if game in began:
                        began[game] = due_at, began[game][1]
                    else:
                        extended[game] = due_at
                case Timed(deadline=datetime() as due_at):
                    began[game] = due_at, logged.event.cause.at
                    ended.discard(game)
                case _:
                    began.pop(game, None)
                    ended.add(game)
        _write(cursor, began, extended, ended)


def _write(
    cursor: Cursor[DictRow],
    began: dict[UUID, tuple[datetime, datetime]],
    extended: dict[UUID, datetime],
    ended: set[UUID],
) -> None:
    """Write what a batch comes to, each game once: a game under way has a new deadline with every turn."""
    if ended:
        cursor.execute("DELETE FROM deadlines WHERE game = ANY(%s)", (list(ended),))
    if later := extended.keys() - began.keys() - ended:
        cursor.execute(
            "UPDATE deadlines AS d SET due_at = e.due_at"
            " FROM unnest(%s::uuid[], %s::timestamptz[]) AS e (game, due_at) WHERE d.game = e.game",
            (list(later), [extended[game] for game in later]),
        )
    if began:
        cursor.execute(
            "INSERT INTO deadlines SELECT * FROM unnest(%s::uuid[], %s::timestamptz[], %s::timestamptz[])"
            " ON CONFLICT (game) DO UPDATE SET due_at = EXCLUDED.due_at, since = EXCLUDED.since",
            (list(began), [due_at for due_at, _ in began.values()], [since for _, since in began.values()]),
        )


@dataclass(frozen=True, slots=True)
class Deadline:
    """A game's deadline."""

    game: UUID
    due_at: datetime
    since: datetime
    """When the time began that ends with it."""


class DeadlineQueries:
    """What can be asked."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore: Final = datastore

    def due(self, at: datetime, *, after: Deadline | None = None, first: int) -> list[Deadline]:
        """Return at most ``first`` games whose deadline had passed at that time, the oldest first.

        Args:
            at: the time.
            after: those that follow this one.
            first: how many.

        Raises:
            OperationalError: the database is away.
        """
        query = (
            "SELECT game, due_at, since FROM read_models.deadlines"
            " WHERE due_at <= %s AND (due_at, game) > (%s, %s) ORDER BY due_at, game LIMIT %s"
        )
        place = (after.due_at, after.game) if after else (datetime.min.replace(tzinfo=UTC), UUID(int=0))
        return [Deadline(**row) for row in self._datastore.read(query, (at, *place, first))]

    def running_during(self, began: datetime, ended: datetime) -> list[Deadline]:
        """Return the games whose time was running at some moment between the two, and did not run out before.

        Raises:
            OperationalError: the database is away.
        """
        query = (
            "SELECT game, due_at, since FROM read_models.deadlines"
            " WHERE since < %s AND due_at > %s ORDER BY due_at, game"
        )
        return [Deadline(**row) for row in self._datastore.read(query, (ended, began))]
