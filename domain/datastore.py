"""Connections to PostgreSQL: how they are opened and given out, and when what was committed over one may be told of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, LiteralString, TypeVar, overload

import psycopg
from eventsourcing.persistence import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    PersistenceError,
    ProgrammingError,
)
from eventsourcing.postgres import ConnectionPool, PostgresDatastore
from psycopg import Cursor
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import Diagnostic
from psycopg.pq.abc import PGconn
from psycopg.rows import DictRow, RowFactory, dict_row
from psycopg.sql import Composed
from psycopg_pool import PoolTimeout

__all__ = ["CONFIRMING", "DATABASE_AWAY", "TIMELINE", "TRUSTED", "Datastore", "NoConnection", "NotAsked"]
__all__ += ["NotReplicated", "confirm"]

DATABASE_AWAY: Final = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
"""What is raised where the database can't be reached. A ``PersistenceError`` is whatever the database says."""

IDLE_SECONDS: Final = 10
"""A transaction that says nothing for so long is ended: its machine may be gone, with the log's lock."""
AWAY_SECONDS: Final = 1.0
"""How long it is believed that the database is away, without asking."""

PREPARED_AFTER: Final = 5
"""How often a statement is asked for before the server keeps it, as the driver has it."""

UNLESS_THE_URL_SAYS: Final[dict[str, str | int]] = {
    "application_name": "tic",
    # A machine that has vanished must be noticed before the kernel would, which waits for a quarter of an hour.
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""How connections are opened."""

TRUSTED: Final = (
    "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"
    " THEN set_config('synchronous_commit', 'on', {local}) END,"
    " CASE WHEN current_setting('client_min_messages') = 'error'"
    " THEN set_config('client_min_messages', 'warning', {local}) END"
)
"""Says that a commit that is told is on disk, and on the standby's; and that one hears where it is not."""
TIMELINE: Final = "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint"
"""Tells the database's timeline, which grows with each failover; a standby refuses to."""
CONFIRMING: Final = (
    "CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'tic', '') END"
)
"""Puts an empty message into PostgreSQL's own log, so that there is something to commit, and a standby to wait for."""
_CONFIRM: Final = f"SELECT {CONFIRMING}, {TRUSTED.format(local='true')}"

T = TypeVar("T")


class _Doubt:
    """Whether a commit was told of with PostgreSQL's warning that its wait for the standby was called off.

    The command itself succeeds all the same. The warning's code is 01000, or 57P01 where the connection is ended as
    well (``SyncRepWaitForLSN`` in PostgreSQL's syncrep.c); its words are in the server's language. Nothing else that is
    asked for here warns with these codes, and what does is better doubted than believed.
    """

    __slots__ = ("raised",)

    def __init__(self) -> None:
        self.raised = False

    def hear(self, notice: Diagnostic) -> None:
        """Take a notice of the server's."""
        self.raised |= notice.severity_nonlocalized == "WARNING" and notice.sqlstate in {"01000", "57P01"}

    def settle(self) -> None:
        """End the doubt; it has been told then.

        Raises:
            NotReplicated: there was one.
        """
        raised, self.raised = self.raised, False
        if raised:
            raise NotReplicated("the wait for the standby was called off: what was committed may not be there")


class _Connection(psycopg.Connection[DictRow]):
    """A connection that hears when a commit is on this machine's disk and perhaps on no standby's."""

    def __init__(self, pgconn: PGconn, row_factory: RowFactory[Any] = dict_row) -> None:
        super().__init__(pgconn, row_factory)
        self.doubt: Final = _Doubt()
        self.add_notice_handler(self.doubt.hear)


def confirm(conn: psycopg.Connection[Any]) -> None:
    """Make sure that all that could be seen over a connection until now is on the standby as well.

    The log that a standby gets is one sequence, so a commit that it confirms confirms all before it. Where the database
    has no synchronous standby this asks for nothing: what can be seen is on disk. It waits for as long as the standby
    is away. Within a transaction it is so once that has ended.

    Raises:
        NotReplicated: the wait was called off.
    """
    conn.execute(_CONFIRM)
    _doubt_of(conn).settle()


def _doubt_of(conn: psycopg.Connection[Any]) -> _Doubt:
    if not isinstance(conn, _Connection):
        raise TypeError("a connection of another pool than the datastore's")
    return conn.doubt


class Datastore(PostgresDatastore):
    """The library's datastore, opened by a PostgreSQL URL with all that such a URL can say.

    A connection that can't be had within ``patience`` seconds raises the library's OperationalError. Behind a pooler
    that gives out connections for single transactions (``pooled``) nothing is asked for that outlasts one.
    """

    def __init__(self, url: str, *, connections: int = 16, patience: float = 2.0, pooled: bool = False) -> None:
        self._pooled: Final = pooled
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
            connection_class=_Connection,
            kwargs={"row_factory": dict_row, "prepare_threshold": None if pooled else PREPARED_AFTER, **unsaid},
            min_size=1,
            max_size=connections,
            open=True,
            configure=self.after_connect_func(),
            timeout=patience,
            max_idle=60.0,
            reconnect_timeout=0.5,
        )

    def after_connect_func(self) -> Callable[[psycopg.Connection[Any]], None]:
        """Return what readies a new connection: as the library does, and whatever the database's defaults are.

        Behind a pooler a setting would go to whoever has the connection next, so there the database's defaults must do.
        """
        if self._pooled:
            return _by_single_statements
        ready = super().after_connect_func()

        def after_connect(conn: psycopg.Connection[Any]) -> None:
            ready(conn)
            # Whoever has waited for the log's lock sees what came before him.
            isolation = "set_config('default_transaction_isolation', 'read committed', false)"
            conn.execute(f"SELECT {isolation}, {TRUSTED.format(local='false')}")

        return after_connect

    @contextmanager
    def get_connection(self) -> Iterator[psycopg.Connection[DictRow]]:
        """Yield a connection.

        Where none could be had a moment ago, say so at once: callers would wait in a queue for the same answer.

        Raises:
            NoConnection: none can be had, so the database has not been asked for anything.
            NotReplicated: what was committed may not be on the standby.
            OperationalError: the database is away.
        """
        if time.monotonic() < self._away_until:
            raise NoConnection("the database was away a moment ago")
        try:
            with self.pool.connection() as conn:
                doubt = _doubt_of(conn)
                doubt.raised = False  # what a transaction that failed was warned of
                try:
                    yield conn
                except (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.ObjectNotInPrerequisiteState):
                    conn.close()  # to a standby, perhaps, which it will stay; the next one may lead elsewhere
                    raise
                doubt.settle()
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
            NotReplicated: it has written something that may not be on the standby.
            OperationalError: the database is away.
        """
        try:
            return self._read(query, parameters, row_factory)
        except NotReplicated:  # it would find its own rows, and have nothing to wait for
            raise
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


def _by_single_statements(conn: psycopg.Connection[Any]) -> None:
    conn.autocommit = True


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


class NotReplicated(OperationalError):
    """It was committed, and can be seen by everyone; but a failover may lose it, so it must not be acknowledged."""
