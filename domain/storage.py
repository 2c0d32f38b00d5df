"""The event store: the eventsourcing library on PostgreSQL, with our own bytes.

An append holds a lock until its commit, as the library's does, so events become visible in the order of their positions
in the log, and a follower that reads on from the last position it has seen misses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
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
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, RowFactory, dict_row, tuple_row
from psycopg.sql import Composed
from psycopg_pool import PoolTimeout

from domain.events import Event, FactTypes, UnknownEvent, must_be_known, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import GameLabelled
from domain.log_tables import EVENTS_TABLE

__all__ = [
    "CHANNEL",
    "DATABASE_AWAY",
    "Datastore",
    "EventMapper",
    "EventRecorder",
    "LogBusy",
    "Logged",
    "NoConnection",
    "NotAsked",
    "PersistenceError",
    "log_after",
    "log_end",
]

CHANNEL: Final = "game_events"
"""PostgreSQL's notification channel: something was appended. A hint; the log itself is the truth."""

DATABASE_AWAY: Final = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
"""What is raised where the database can't be reached. A ``PersistenceError`` is whatever the database says."""

IDLE_SECONDS: Final = 10
"""A transaction that says nothing for so long is ended: its machine may be gone, with the log's lock."""
AWAY_SECONDS: Final = 1.0
"""How long it is believed that the database is away, without asking."""

UNLESS_THE_URL_SAYS: Final[dict[str, str | int]] = {
    "application_name": "tic",
    # A machine that has vanished must be noticed before the kernel would, which waits for a quarter of an hour.
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""How connections are opened."""

T = TypeVar("T")


class Datastore(PostgresDatastore):
    """The library's datastore, opened by a PostgreSQL URL with all that such a URL can say.

    A connection that can't be had within ``patience`` seconds raises the library's OperationalError.
    """

    def __init__(self, url: str, *, connections: int = 16, patience: float = 2.0) -> None:
        super().__init__(
            dbname="", host="", port="", user="", password="", idle_in_transaction_session_timeout=IDLE_SECONDS
        )
        self._away_until = 0.0
        unsaid = {
            name: value
            for name, value in {**UNLESS_THE_URL_SAYS, "connect_timeout": max(2, round(patience))}.items()
            if name not in conninfo_to_dict(url)
        }
        self.pool = ConnectionPool(
            url,
            connection_class=psycopg.Connection[DictRow],
            kwargs={"row_factory": dict_row, **unsaid},
            min_size=1,
            max_size=connections,
            open=True,
            configure=self.after_connect_func(),
            timeout=patience,
            max_idle=60.0,
            reconnect_timeout=0.5,
        )

    def after_connect_func(self) -> Callable[[psycopg.Connection[Any]], None]:
        """Return what readies a new connection: as the library does, and whatever the database's defaults are."""
        ready = super().after_connect_func()

        def after_connect(conn: psycopg.Connection[Any]) -> None:
            ready(conn)
            # A commit that is told is on disk; and whoever has waited for the log's lock sees what came before him.
            conn.execute(
                "SELECT set_config('default_transaction_isolation', 'read committed', false),"
                " CASE WHEN current_setting('synchronous_commit') = 'off'"
                " THEN set_config('synchronous_commit', 'on', false) END"
            )

        return after_connect

    @contextmanager
    def get_connection(self) -> Iterator[psycopg.Connection[DictRow]]:
        """Yield a connection.

        Where none could be had a moment ago, say so at once: callers would wait in a queue for the same answer.

        Raises:
            NoConnection: none can be had, so the database has not been asked for anything.
            OperationalError: the database is away.
        """
        if time.monotonic() < self._away_until:
            raise NoConnection("the database was away a moment ago")
        try:
            with self.pool.connection() as conn:
                try:
                    yield conn
                except psycopg.errors.ReadOnlySqlTransaction:
                    conn.close()  # to a standby, perhaps, which it will stay; the next one may lead elsewhere
                    raise
        except PoolTimeout as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            raise NoConnection(str(error)) from error
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
    def alone(self) -> Iterator[Cursor[DictRow]]:
        """Begin a transaction that makes tables, while no other server does; it is committed at the end.

        What makes them holds the lock, or the lock would end where its own transaction is idle for too long.

        Raises:
            OperationalError: the database is away.
        """
        with self.transaction(commit=True) as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('tic schema'))")
            yield cursor


def _told(error: psycopg.Error) -> PersistenceError:
    """Return what the library raises for an error of the driver."""
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(str(error))
    return PersistenceError(str(error))


_ERRORS: Final[tuple[tuple[type[psycopg.Error], type[PersistenceError]], ...]] = (
    # The driver takes these two for faults of ours. They say that this database, or connection, will not do for now.
    (psycopg.errors.ReadOnlySqlTransaction, OperationalError),
    (psycopg.errors.IdleInTransactionSessionTimeout, OperationalError),
    (psycopg.InterfaceError, InterfaceError),
    (psycopg.OperationalError, OperationalError),
    (psycopg.IntegrityError, IntegrityError),
    (psycopg.ProgrammingError, ProgrammingError),
    (psycopg.DatabaseError, DatabaseError),
)


class NotAsked(OperationalError):
    """The database was not asked, or has done nothing: nothing is in doubt."""


class NoConnection(NotAsked):
    """No connection could be had."""


class LogBusy(NotAsked):
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
    """The library's recorder, writing through our function: many appends go in one transaction, each as if alone."""

    def __init__(self, datastore: Datastore, *, appended: Callable[[], None] = lambda: None) -> None:
        """Take what is to be told after each commit, in the thread that made it."""
        super().__init__(datastore, events_table_name=EVENTS_TABLE)
        self._datastore: Final = datastore
        self.appended = appended

    def append(self, appends: Sequence[Sequence[StoredEvent]]) -> list[Sequence[int] | None]:
        """Append the events of several commands in one transaction, the first command's first.

        Returns:
            For each the positions of its events in the log, which are on disk; None where it does not follow the
            last event of its game: others came first, and none of its events was appended.

        Raises:
            LogBusy: another writer holds the log; nothing was appended.
            IntegrityError: two of the appends want the same place; nothing was appended.
            OperationalError, InterfaceError: the database is away; the events may or may not have been appended.
        """
        numbered = [(number, event) for number, events in enumerate(appends) for event in events]
        columns = (
            [number for number, _ in numbered],
            [event.originator_id for _, event in numbered],
            [event.originator_version for _, event in numbered],
            [event.topic for _, event in numbered],
            [event.state for _, event in numbered],
        )
        with self._datastore.get_connection() as conn, conn.cursor(binary=True, row_factory=tuple_row) as cursor:
            try:
                refused, positions = cursor.execute(_APPEND, columns, prepare=True).fetchall()[0]
            except psycopg.errors.LockNotAvailable as error:
                raise LogBusy from error
        self.appended()
        taken, at = iter(positions), set(refused)
        return [None if number in at else [next(taken) for _ in events] for number, events in enumerate(appends)]

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Append the events of one command, as the library wants it; return their positions.

        Raises:
            IntegrityError: others came first; nothing was appended.
            LogBusy, OperationalError, InterfaceError: as ``append``.
        """
        (positions,) = self.append([stored_events])
        if positions is None:
            raise IntegrityError("the game has gone on: nothing was appended")
        return positions

    def drop_dead_connections(self) -> None:
        """Replace the idle connections that a failover has left dead."""
        self._datastore.pool.check()

    def newer(self, games: Sequence[tuple[UUID, int]]) -> tuple[list[list[bytes]], datetime]:
        """Return, for each game and version, the game's events after that version as stored; and the database's time.

        Raises:
            OperationalError: the database is away.
        """
        ids, versions = [game for game, _ in games], [version for _, version in games]
        (_, _, now, _), *rows = self._datastore.read(_NEWER, (ids, versions), row_factory=tuple_row)
        found: list[list[bytes]] = [[] for _ in games]
        for place, _, _, state in rows:
            found[place - 1].append(state)
        return found, now

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

    def newest(self, game: UUID) -> Event | None:
        """Return the last event of a game; None where there is no such game.

        Raises:
            OperationalError: the database is away.
        """
        rows = self._datastore.read(_NEWEST, (game,))
        return read_event(rows[0]["state"], FACT_TYPES) if rows else None

    def opened(
        self,
        topics: Collection[str],
        *,
        changed_after: int = 0,
        among: Collection[UUID] | None = None,
        label: str | None = None,
    ) -> list[UUID]:
        """Return the games whose first facts have one of the topics, in the order of the log.

        Args:
            topics: of the facts that open games.
            changed_after: only games with an event after this position in the log.
            among: only these games; None for all.
            label: only games that bear this label; None for all.

        Raises:
            OperationalError: the database is away.
        """
        ids = None if among is None else list(among)
        labelled = (label, GameLabelled.topic, label)
        rows = self._datastore.read(_OPENED, (list(topics), changed_after, ids, ids, *labelled))
        return [row["game"] for row in rows]


class Logged:
    """An event and its position in the log of all games. It is read from its bytes when it is asked for."""

    __slots__ = ("_event", "_state", "_types", "fact_type", "game", "position", "seq")

    def __init__(self, position: int, game: UUID, seq: int, topic: str, state: bytes, types: FactTypes) -> None:
        """Take a row of the log.

        Raises:
            UnknownEvent: a newer program has written it.
        """
        self.position: Final = position
        self.game: Final = game
        self.seq: Final = seq
        self._state: Final = state
        self._types: Final = types
        self._event: Event | None = None
        self.fact_type: Final = must_be_known(topic, _version(state), types)

    @property
    def data(self) -> bytes:
        """The bytes that are stored."""
        return self._state

    @property
    def event(self) -> Event:
        """The event.

        Raises:
            ValueError: the bytes are not an event that this program knows.
        """
        if self._event is None:
            self._event = read_event(self._state, self._types)
        return self._event


def log_after(cursor: Cursor[Any], position: int, *, limit: int, types: FactTypes = FACT_TYPES) -> list[Logged]:
    """Return at most ``limit`` events of all games after a position in the log, in its order.

    They end before the first one that a newer program has written.

    Raises:
        UnknownEvent: that one is the next.
    """
    with cursor.connection.cursor(binary=True, row_factory=tuple_row) as reading:
        rows = reading.execute(_LOG, (position, limit), prepare=True).fetchall()
    found: list[Logged] = []
    for place, game, seq, topic, state in rows:
        try:
            found.append(Logged(place, game, seq, topic, state, types))
        except UnknownEvent:
            if not found:
                raise
            break
    return found


def _version(state: bytes) -> int:
    """Return the version of the fact in an event, without reading all of it; 0 where that can't be told so.

    Most events are not read by those who follow the log. Whether they may pass over one must be known all the same.
    """
    version = state[state.rfind(b'"v":') + 4 : -1]  # keys are sorted, and this is the last
    return int(version) if len(version) < 10 and version.isdigit() else 0


def log_end(cursor: Cursor[DictRow]) -> int:
    """Return the position of the newest event; 0 where there is none."""
    row = cursor.execute(_LOG_END).fetchone()
    return int(row["position"]) if row else 0


_APPEND: Final = (
    "SELECT refused, positions"
    " FROM public.append_events(%b::integer[], %b::uuid[], %b::bigint[], %b::text[], %b::bytea[])"
)
_NEWER: Final = (
    "SELECT 0::bigint AS place, 0::bigint AS seq, clock_timestamp() AS now, NULL::bytea AS state"
    " UNION ALL"
    " SELECT k.place, e.originator_version, NULL, e.state"
    " FROM unnest(%b::uuid[], %b::bigint[]) WITH ORDINALITY AS k (game, version, place) CROSS JOIN LATERAL ("
    "SELECT originator_version, state FROM public.game_events"
    " WHERE originator_id = k.game AND originator_version > k.version ORDER BY originator_version) AS e"
    " ORDER BY place, seq"
)
_NOW: Final = "SELECT clock_timestamp() AS now"
_SPAN: Final = (
    "SELECT state FROM public.game_events WHERE originator_id = %s AND originator_version > %s"
    " ORDER BY originator_version LIMIT %s"
)
_NEWEST: Final = (
    "SELECT state FROM public.game_events WHERE originator_id = %s ORDER BY originator_version DESC LIMIT 1"
)
_OPENED: Final = (
    "SELECT o.originator_id AS game FROM public.game_events AS o"
    " WHERE o.originator_version = 1 AND o.topic = ANY (%b::text[])"
    " AND EXISTS (SELECT FROM public.game_events AS e"
    " WHERE e.originator_id = o.originator_id AND e.notification_id > %b::bigint)"
    " AND (%b::uuid[] IS NULL OR o.originator_id = ANY (%b::uuid[]))"
    " AND (%b::text IS NULL OR EXISTS (SELECT FROM public.game_events AS l"
    " WHERE l.originator_id = o.originator_id AND l.originator_version = 2 AND l.topic = %b::text"
    " AND convert_from(l.state, 'UTF8')::json -> 'fact' ->> 'label' = %b::text))"
    " ORDER BY o.notification_id"
)
_LOG: Final = (
    "SELECT notification_id, originator_id, originator_version, topic, state FROM public.game_events"
    " WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
)
_LOG_END: Final = "SELECT coalesce(max(notification_id), 0) AS position FROM public.game_events"
