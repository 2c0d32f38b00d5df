"""The event store: the eventsourcing library on PostgreSQL, with our own bytes.

An append holds a lock until its commit, as the library's does, so events become visible in the order of their positions
in the log, and a follower that reads on from the last position it has seen misses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString, TypeVar, cast, overload
from uuid import UUID

import psycopg
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    JSONTranscoder,
    Mapper,
    OperationalError,
    PersistenceError,
    ProgrammingError,
    StoredEvent,
)
from eventsourcing.postgres import ConnectionPool, PostgresApplicationRecorder, PostgresDatastore
from psycopg import Cursor
from psycopg.rows import DictRow, RowFactory, dict_row, tuple_row
from psycopg.sql import Composed
from psycopg_pool import PoolTimeout

from domain.appending import GroupCommit
from domain.events import Event, FactTypes, read_event
from domain.games import FACT_TYPES

__all__ = [
    "CHANNEL",
    "DATABASE_AWAY",
    "Datastore",
    "EventMapper",
    "EventRecorder",
    "LogBusy",
    "Logged",
    "PersistenceError",
    "log_after",
    "log_end",
    "open_recorder",
]

EVENTS_TABLE: Final = "game_events"  # stands in the statements below as it is: they are sent for every command
CHANNEL: Final = "game_events"
"""PostgreSQL's notification channel: something was appended. A hint; the log itself is the truth."""

DATABASE_AWAY: Final = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
"""What is raised where the database can't be reached. A ``PersistenceError`` is whatever the database says."""

IDLE_SECONDS: Final = 10
"""A transaction that says nothing for so long is ended: its machine may be gone, with the log's lock."""
AWAY_SECONDS: Final = 1.0
"""How long it is believed that the database is away, without asking."""

T = TypeVar("T")

LOG_LOCK: Final = 8_420_125
"""The advisory lock by which writers take turns. A lock of the table would wait for a vacuum, and stop it."""
MOST_WAIT: Final = "5s"
"""How long a writer waits for his turn."""

APPEND_FUNCTION: Final = f"""
CREATE OR REPLACE FUNCTION append_events(games uuid[], versions bigint[], topics text[], states bytea[])
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '{MOST_WAIT}', true);
    -- Held until the commit: the order of positions is the order of commits, and a follower misses nothing.
    PERFORM pg_advisory_xact_lock({LOG_LOCK});
    PERFORM pg_notify('{CHANNEL}', '');
    RETURN QUERY
        INSERT INTO game_events (originator_id, originator_version, topic, state)
        SELECT * FROM unnest(games, versions, topics, states)
        RETURNING notification_id;
END
$$
"""  # noqa: S608 - made of constants

LOG_VIEW: Final = """
CREATE OR REPLACE VIEW game_log AS
SELECT notification_id AS position,
       originator_id AS game,
       originator_version AS seq,
       topic AS type,
       convert_from(state, 'UTF8')::json AS event,
       encode(sha256('tic/event/v1\n'::bytea || state), 'hex') AS hash
  FROM game_events
"""


class Datastore(PostgresDatastore):
    """The library's datastore, opened by a PostgreSQL URL with all that such a URL can say.

    A connection that can't be had within ``patience`` seconds raises the library's OperationalError.
    """

    def __init__(self, url: str, *, connections: int = 16, patience: float = 2.0) -> None:
        super().__init__(
            dbname="", host="", port="", user="", password="", idle_in_transaction_session_timeout=IDLE_SECONDS
        )
        self._away_until = 0.0
        self.pool = ConnectionPool(
            url,
            connection_class=psycopg.Connection[DictRow],
            kwargs={"row_factory": dict_row, "connect_timeout": max(2, round(patience)), "application_name": "tic"},
            min_size=1,
            max_size=connections,
            open=True,
            configure=self.after_connect_func(),
            timeout=patience,
            max_idle=60.0,
            reconnect_timeout=0.5,
        )

    def after_connect_func(self) -> Callable[[psycopg.Connection[Any]], None]:
        """Return what readies a new connection: as the library does, and with commits that are on disk."""
        ready = super().after_connect_func()

        def after_connect(conn: psycopg.Connection[Any]) -> None:
            ready(conn)
            conn.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )

        return after_connect

    @contextmanager
    def get_connection(self) -> Iterator[psycopg.Connection[DictRow]]:
        """Yield a connection.

        Where none could be had a moment ago, say so at once: callers would wait in a queue for the same answer.

        Raises:
            OperationalError: the database is away.
        """
        if time.monotonic() < self._away_until:
            raise OperationalError("the database was away a moment ago")
        try:
            with self.pool.connection() as conn:
                yield conn
        except PoolTimeout as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            raise OperationalError(str(error)) from error
        except psycopg.Error as error:
            raise _told(error) from error

    @overload
    def read(self, query: LiteralString | Composed, parameters: Sequence[object]) -> list[DictRow]: ...
    @overload
    def read(
        self, query: LiteralString | Composed, parameters: Sequence[object], *, row_factory: RowFactory[T]
    ) -> list[T]: ...
    def read(
        self,
        query: LiteralString | Composed,
        parameters: Sequence[object],
        *,
        row_factory: RowFactory[Any] = dict_row,
    ) -> list[Any]:
        """Return the rows of a query, tried twice: after a failover every idle connection is a dead one.

        Raises:
            OperationalError: the database is away.
        """
        try:
            return self._read(query, parameters, row_factory)
        except (OperationalError, InterfaceError):
            if time.monotonic() < self._away_until:
                raise
            self.pool.check()
        return self._read(query, parameters, row_factory)

    def _read(
        self, query: LiteralString | Composed, parameters: Sequence[object], row_factory: RowFactory[Any]
    ) -> list[Any]:
        with self.get_connection() as conn, conn.cursor(binary=True, row_factory=row_factory) as cursor:
            return cursor.execute(query, parameters, prepare=True).fetchall()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold a lock that keeps other servers from making tables at the same time.

        Raises:
            OperationalError: the database is away.
        """
        with self.transaction(commit=True) as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('tic schema'))")
            yield


def _told(error: psycopg.Error) -> PersistenceError:
    """Return what the library raises for an error of the driver."""
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(str(error))
    return PersistenceError(str(error))


_ERRORS: Final[tuple[tuple[type[psycopg.Error], type[PersistenceError]], ...]] = (
    (psycopg.InterfaceError, InterfaceError),
    (psycopg.OperationalError, OperationalError),
    (psycopg.IntegrityError, IntegrityError),
    (psycopg.ProgrammingError, ProgrammingError),
    (psycopg.DatabaseError, DatabaseError),
)


class LogBusy(OperationalError):
    """Another writer held the log for too long; nothing was appended."""


class EventMapper(Mapper[UUID]):
    """Between events and stored events: the bytes that were hashed are the bytes that are stored."""

    def __init__(self, types: FactTypes = FACT_TYPES) -> None:
        super().__init__(JSONTranscoder())
        self.types = types

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Return an event's stored form."""
        event = cast("Event", domain_event)
        return StoredEvent(event.game, event.seq, event.fact.topic, event.data)

    def to_domain_event(self, stored_event: StoredEvent) -> Event:
        """Read an event.

        Raises:
            ValueError: the bytes are not an event that this program knows.
        """
        return read_event(stored_event.state, self.types)


class EventRecorder(PostgresApplicationRecorder):
    """The library's recorder with one attempt an insert: whoever calls it looks up what became of a lost one."""

    def __init__(self, datastore: Datastore, *, events_table_name: str) -> None:
        super().__init__(datastore, events_table_name=events_table_name)
        self._datastore: Final = datastore
        self._group: Final = GroupCommit[StoredEvent](self._insert, conflict=IntegrityError)
        # The library's function for inserting leaves the lock out, and a follower then misses events.
        del self.sql_create_statements[self.create_insert_function_statement_index]

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Append events, all or none; return their positions in the log once they are on disk.

        Raises:
            IntegrityError: one of the versions is taken already; nothing was appended.
            OperationalError: the database is away; the events may or may not have been appended.
        """
        return self._group.append(stored_events)

    def _insert(self, stored_events: Sequence[StoredEvent]) -> Sequence[int]:
        columns = zip(*((e.originator_id, e.originator_version, e.topic, e.state) for e in stored_events), strict=True)
        with self.datastore.get_connection() as conn:
            try:
                cursor = conn.execute(_APPEND, [list(column) for column in columns], prepare=True)
            except psycopg.errors.LockNotAvailable as error:
                raise LogBusy("the log is held by another writer: nothing was appended") from error
            return [row["position"] for row in cursor.fetchall()]

    def drop_dead_connections(self) -> None:
        """Replace the idle connections that a failover has left dead."""
        self._datastore.pool.check()

    def newer(self, game: UUID, version: int) -> tuple[list[Event], datetime]:
        """Return a game's events after a version and the database's time, in one round trip.

        Raises:
            OperationalError: the database is away.
        """
        (_, now, _), *rows = self._datastore.read(_NEWER, (game, version), row_factory=tuple_row)
        return [read_event(state, FACT_TYPES) for _, _, state in rows], now

    def now(self) -> datetime:
        """Return the database's time.

        Raises:
            OperationalError: the database is away.
        """
        now: datetime = self._datastore.read(_NOW, ())[0]["now"]
        return now

    def span(self, game: UUID, *, after: int, first: int) -> list[Event]:
        """Return at most ``first`` events of a game after a sequence number.

        Raises:
            OperationalError: the database is away.
        """
        rows = self._datastore.read(_SPAN, (game, after, first))
        return [read_event(row["state"], FACT_TYPES) for row in rows]


@dataclass(frozen=True, slots=True)
class Logged:
    """An event and its position in the log of all games."""

    position: int
    event: Event


def log_after(cursor: Cursor[DictRow], position: int, *, limit: int, types: FactTypes = FACT_TYPES) -> list[Logged]:
    """Return at most ``limit`` events of all games after a position in the log, in its order."""
    rows = cursor.execute(_LOG, (position, limit), prepare=True).fetchall()
    return [Logged(row["position"], read_event(bytes(row["state"]), types)) for row in rows]


def log_end(cursor: Cursor[DictRow]) -> int:
    """Return the position of the newest event; 0 where there is none."""
    row = cursor.execute(_LOG_END).fetchone()
    return int(row["position"]) if row else 0


_APPEND: Final = "SELECT append_events(%s::uuid[], %s::bigint[], %s::text[], %b::bytea[]) AS position"
_NEWER: Final = (
    "SELECT 0::bigint AS seq, clock_timestamp() AS now, NULL::bytea AS state"
    " UNION ALL"
    " SELECT originator_version, NULL, state FROM game_events WHERE originator_id = %s AND originator_version > %s"
    " ORDER BY seq"
)
_NOW: Final = "SELECT clock_timestamp() AS now"
_SPAN: Final = (
    "SELECT state FROM game_events WHERE originator_id = %s AND originator_version > %s"
    " ORDER BY originator_version LIMIT %s"
)
_LOG: Final = (
    "SELECT notification_id AS position, state FROM game_events WHERE notification_id > %s"
    " ORDER BY notification_id LIMIT %s"
)
_LOG_END: Final = "SELECT coalesce(max(notification_id), 0) AS position FROM game_events"


def open_recorder(datastore: Datastore) -> EventRecorder:
    """Return the recorder of game events, its table and the SQL view ``game_log`` made if they were missing.

    Raises:
        OperationalError: the database is away.
    """
    with datastore.alone():
        recorder = EventRecorder(datastore, events_table_name=EVENTS_TABLE)
        if datastore.read("SELECT to_regclass('game_events') AS there", ())[0]["there"] is None:
            recorder.create_table()
        with datastore.transaction(commit=True) as cursor:
            cursor.execute(APPEND_FUNCTION)
            cursor.execute(LOG_VIEW)
    return recorder
