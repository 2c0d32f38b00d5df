"""Follow the log, exactly once: a read model and its position in the log change in one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import structlog
from psycopg import Cursor
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from domain.storage import CHANNEL, Datastore, Logged, PersistenceError, log_after, log_end

__all__ = ["BATCH", "Follower", "Projection"]

BATCH: Final = 500
"""Events in one transaction."""
POLL_SECONDS: Final = 0.5
"""How long a follower waits for a notification before it looks by itself."""
RETRY_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.1
"""Between two steps, so that under load one step takes in many events."""

POSITIONS: Final = (
    """
    CREATE TABLE IF NOT EXISTS projection_positions (
        name text PRIMARY KEY,
        position bigint NOT NULL
    )
    """,
    "ALTER TABLE projection_positions ADD COLUMN IF NOT EXISTS version integer NOT NULL DEFAULT 1",
)

_logger: Final = structlog.get_logger(__name__)


class Projection(Protocol):
    """A read model."""

    name: str
    """Stable: the position in the log is kept under it."""
    version: int
    """Of its tables: where those that are there are older, they are made and filled anew from the log."""
    tables: tuple[str, ...]
    """Its tables, for clearing."""

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log."""


class Follower:
    """Keeps one projection up with the log. Several processes may follow for the same one: each waits its turn."""

    def __init__(self, datastore: Datastore, projection: Projection, *, batch: int = BATCH) -> None:
        self._datastore: Final = datastore
        self._projection: Final = projection
        self._batch: Final = batch

    def create_tables(self) -> None:
        """Make the projection's tables if they are missing, or older than this program's.

        Raises:
            OperationalError: the database is away.
        """
        name, version = self._projection.name, self._projection.version
        with self._datastore.alone(), self._datastore.transaction(commit=True) as cursor:
            for statement in POSITIONS:
                cursor.execute(statement)
            insert = (
                "INSERT INTO projection_positions (name, position, version) VALUES (%s, 0, %s) ON CONFLICT DO NOTHING"
            )
            cursor.execute(insert, (name, version))
            query = "SELECT version FROM projection_positions WHERE name = %s FOR UPDATE"
            row = cursor.execute(query, (name,)).fetchone()
            if row is not None and row["version"] < version:
                for table in self._projection.tables:
                    cursor.execute(SQL("DROP TABLE IF EXISTS {}").format(Identifier(table)))
                update = "UPDATE projection_positions SET position = 0, version = %s WHERE name = %s"
                cursor.execute(update, (version, name))
            if row is None or row["version"] <= version:
                self._projection.create_tables(cursor)

    def step(self) -> int:
        """Take in the next batch, if there is one; return how many events it had.

        Raises:
            PersistenceError: the database is away, or said no; nothing was taken in.
        """
        with self._datastore.transaction(commit=True) as cursor:
            # A read model that a crash takes back comes with its position: it takes the same events in again.
            cursor.execute("SET LOCAL synchronous_commit = off")
            return self._take_in(cursor, self._position(cursor))

    def rebuild(self, progress: Callable[[int, int], None]) -> int:
        """Build the tables anew from the whole log; readers see the old ones until the new ones are whole.

        Args:
            progress: is told how many events are taken in, and how many there are.

        Returns:
            How many events were taken in.

        Raises:
            PersistenceError: the database is away, or said no; the old tables stand.
        """
        with self._datastore.transaction(commit=True) as cursor:
            self._position(cursor)  # waits for a follower's step to end, and holds off the next one
            end = log_end(cursor)
            for table in self._projection.tables:
                cursor.execute(SQL("DELETE FROM {}").format(Identifier(table)))
            self._set_position(cursor, 0)
            done, position = 0, 0
            while taken := self._take_in(cursor, position):
                position = self._position(cursor)
                done += taken
                progress(done, max(end, done))
            return done

    def run(self, stop: threading.Event) -> None:
        """Follow until ``stop`` is set, also over times when the database is away."""
        while not stop.is_set():
            try:
                with self._datastore.get_connection() as conn:
                    conn.execute(SQL("LISTEN {}").format(Identifier(CHANNEL)))
                    while not stop.is_set():
                        while self.step() == self._batch and not stop.is_set():
                            pass
                        stop.wait(PAUSE_SECONDS)
                        for _ in conn.notifies(timeout=POLL_SECONDS, stop_after=1):
                            pass
                    conn.execute("UNLISTEN *")
            except PersistenceError as error:
                _logger.warning("projection waits for the database", projection=self._projection.name, error=str(error))
                stop.wait(RETRY_SECONDS)
            except Exception:
                # An event of a newer server, perhaps: nothing is passed over, and a newer program takes it in.
                _logger.exception("projection can't go on", projection=self._projection.name)
                stop.wait(RETRY_SECONDS)

    def _take_in(self, cursor: Cursor[DictRow], position: int) -> int:
        events = log_after(cursor, position, limit=self._batch)
        if events:
            self._projection.apply(cursor, events)
            self._set_position(cursor, events[-1].position)
        return len(events)

    def _position(self, cursor: Cursor[DictRow]) -> int:
        name, version = self._projection.name, self._projection.version
        query = "SELECT position, version FROM projection_positions WHERE name = %s FOR UPDATE"
        row = cursor.execute(query, (name,)).fetchone()
        if row is None:
            raise LookupError(f"the projection {name} has no tables yet")
        if row["version"] != version:  # another program's: nothing is written into tables that one does not know
            raise LookupError(f"the tables of {name} have version {row['version']}; this program knows {version}")
        return int(row["position"])

    def _set_position(self, cursor: Cursor[DictRow], position: int) -> None:
        update = "UPDATE projection_positions SET position = %s WHERE name = %s"
        cursor.execute(update, (position, self._projection.name))
