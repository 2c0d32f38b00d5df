"""Which games have a deadline: what the timekeeper looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow

from domain.events import Event
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
        for logged in events:
            if issubclass(logged.fact_type, (Timed, GameFinished, *CLOSING)):  # the others are not read at all
                self._take_in(cursor, logged.event)

    @staticmethod
    def _take_in(cursor: Cursor[DictRow], event: Event) -> None:
        match event.fact:
            case DeadlineExtended(deadline=datetime() as due_at):
                # The time was running all along: what a second outage took is given back as well.
                cursor.execute("UPDATE deadlines SET due_at = %s WHERE game = %s", (due_at, event.game))
            case Timed(deadline=datetime() as due_at):
                cursor.execute(
                    "INSERT INTO deadlines VALUES (%s, %s, %s)"
                    " ON CONFLICT (game) DO UPDATE SET due_at = EXCLUDED.due_at, since = EXCLUDED.since",
                    (event.game, due_at, event.cause.at),
                )
            case _:
                cursor.execute("DELETE FROM deadlines WHERE game = %s", (event.game,))


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
