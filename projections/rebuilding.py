"""Build a read model anew beside the one that is shown, and put it in its place.

Many transactions build it, in a schema of its own. A last, short one holds off the followers, takes in what is left of
the log, drops the old tables and moves the new ones to where those were. Killed before its commit, the old ones stand,
whole and with their position; what was half built is thrown away by the next rebuild.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
import structlog
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from domain.storage import Datastore, log_end
from projections.tables import (
    BUILD,
    LIVE,
    Projection,
    TablesHeld,
    drop_tables,
    hold_off,
    place,
    set_place,
    take_in,
    when_free,
    within,
    without_readers,
)

__all__ = ["RebuildUnderWay", "rebuilt"]

TAKE_OVER_WAIT: Final = "2s"
"""How long a rebuild waits for the end of another one, which may have been killed and be about to be noticed."""
SWAP_RETRY_SECONDS: Final = 0.2
KNOWN_FROM: Final = 10_000
"""After so many events, and whenever they have doubled, the database learns anew how much is in the tables."""

_logger: Final = structlog.get_logger(__name__)

Connection = psycopg.Connection[DictRow]


class RebuildUnderWay(Exception):
    """The read model is being rebuilt by someone else."""


def rebuilt(
    datastore: Datastore,
    projection: Projection,
    *,
    batch: int,
    progress: Callable[[int, int], None],
    over_newer: bool = False,
) -> int:
    """Build a read model from the whole log and put it in the place of the old one.

    All of it goes over one connection, which holds the lock: where that is lost, so is the rebuild.

    Args:
        batch: how many events are taken in in one transaction.
        progress: is told how many events are taken in, and how many there are.
        over_newer: whether the old one may be a newer program's.

    Returns:
        How many events were taken in.

    Raises:
        LookupError: there are no tables yet, or they are a newer program's.
        RebuildUnderWay: someone else is at it.
        TablesHeld: someone stays in what a killed rebuild has left.
        PersistenceError: the database is away, or said no; the old tables stand.
    """
    with datastore.get_connection() as conn, _alone(conn, projection):
        total, done, swapped = when_free(lambda: _begin(conn, projection, over_newer=over_newer)), 0, False
        while not swapped:
            for taken in _built(conn, projection, batch):
                done += taken
                progress(done, max(total, done))
            rest, swapped = _swap(conn, projection, batch, over_newer=over_newer)
            if swapped and rest:
                done += rest
                progress(done, max(total, done))
        return done


@contextmanager
def _alone(conn: Connection, projection: Projection) -> Iterator[None]:
    """Hold the lock of those who rebuild this model; it ends with the connection, if not before."""
    lock = (f"tic rebuild {projection.name}",)
    try:
        with conn.transaction():
            conn.execute("SELECT set_config('lock_timeout', %s, true)", (TAKE_OVER_WAIT,))
            conn.execute("SELECT pg_advisory_lock(hashtext(%s))", lock)
    except psycopg.errors.LockNotAvailable as error:
        raise RebuildUnderWay(f"{projection.name} is being rebuilt already") from error
    try:
        yield
    finally:
        try:
            conn.execute("SELECT pg_advisory_unlock(hashtext(%s))", lock)
        except psycopg.Error:
            conn.close()  # which gives the lock back as well


def _begin(conn: Connection, projection: Projection, *, over_newer: bool) -> int:
    """Clear away what a killed rebuild has left, and make empty tables; return how long the log is."""
    with conn.transaction(), conn.cursor() as cursor:
        within(cursor, LIVE)
        hold_off(cursor, projection, over_newer=over_newer)  # says whether the tables are ours to replace
        within(cursor, BUILD)
        drop_tables(cursor, projection, BUILD)
        projection.create_tables(cursor)
        cursor.execute("DELETE FROM projection_positions WHERE name = %s", (projection.name,))
        insert = "INSERT INTO projection_positions VALUES (%s, 0, %s)"
        cursor.execute(insert, (projection.name, projection.version))
        return log_end(cursor)


def _built(conn: Connection, projection: Projection, batch: int) -> Iterator[int]:
    """Take the log in, a batch in each transaction; yield how many events each one had."""
    taken, done, known = batch, 0, KNOWN_FROM
    while taken == batch:
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")  # a crash ends the rebuild anyway
            within(cursor, BUILD)
            taken = take_in(cursor, projection, most=batch)
        if taken:
            yield taken
        done += taken
        if done >= known:  # or the statements would go on by plans for empty tables, and read whole ones
            known = 2 * done
            _analyze(conn, projection)
    _analyze(conn, projection)  # or the first queries would be planned for empty tables


def _analyze(conn: Connection, projection: Projection) -> None:
    """Let the database learn how much is in the tables that are built."""
    with conn.transaction(), conn.cursor() as cursor:
        tables = SQL(", ").join(Identifier(BUILD, table) for table in projection.tables)
        cursor.execute(SQL("ANALYZE {}").format(tables))


def _swap(conn: Connection, projection: Projection, batch: int, *, over_newer: bool) -> tuple[int, bool]:
    """Take in the rest and put the new tables in the place of the old ones.

    Return how many events the rest had, and whether it was done: where readers stay in the old tables it was not, and
    everything is as before.
    """
    try:
        with conn.transaction(), conn.cursor() as cursor:
            within(cursor, LIVE)
            hold_off(cursor, projection, over_newer=over_newer)  # waits for a follower's step to end
            within(cursor, BUILD)
            rest = 0
            while taken := take_in(cursor, projection, most=batch):
                rest += taken
            reached = place(cursor, projection)
            cursor.execute("DELETE FROM projection_positions WHERE name = %s", (projection.name,))
            drop_tables(cursor, projection, LIVE)
            with without_readers(cursor, *(f"{BUILD}.{table}" for table in projection.tables)):
                for table in projection.tables:
                    move = SQL("ALTER TABLE {} SET SCHEMA {}").format(Identifier(BUILD, table), Identifier(LIVE))
                    cursor.execute(move)
            within(cursor, LIVE)
            set_place(cursor, projection, reached)
            update = "UPDATE projection_positions SET version = %s WHERE name = %s"
            cursor.execute(update, (projection.version, projection.name))
    except TablesHeld as held:
        _logger.info("the new tables wait for readers of the old ones", projection=projection.name, tables=str(held))
        time.sleep(SWAP_RETRY_SECONDS)
        return 0, False
    return rest, True
