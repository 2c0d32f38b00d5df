"""Append generated events to a log, by COPY.

The server's function appends one command of each game in a transaction, for it looks which is the last event of each.
Two hundred games that take turns would come to a transaction of two hundred commands at most, and not in their true
order. COPY keeps the order, takes thousands of events at once and leaves the same rows: positions come from the same
sequence, one lock makes writers take turns, both unique indexes and the trigger that refuses changes are in force. What
the function checks beside that is checked here by a test, which reads every generated game back. Only the owner of the
log may do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

from benchmarks.generated.weaving import Entry
from domain.log_tables import EVENTS_TABLE, LOG_LOCK

__all__ = ["fill"]

TOGETHER: Final = 5_000
"""Events in one transaction, about."""
_COPY: Final = SQL("COPY {} (originator_id, originator_version, topic, state) FROM STDIN (FORMAT BINARY)").format(
    Identifier("public", EVENTS_TABLE)
)


def fill(url: str, entries: Iterator[Entry], *, events: int, progress: Callable[[int], None] = lambda _: None) -> int:
    """Append commands to a log until so many more events are in it; return how many it was.

    The last command comes whole. What is not taken of ``entries`` may be appended later.

    Args:
        url: of the database, as the owner of the log.
        entries: the commands that follow.
        events: how many events at least.
        progress: is told how many were appended, after each commit.

    Raises:
        psycopg.Error: the database is away, or said no; what was committed stays.
    """
    done = 0
    with psycopg.connect(url, autocommit=True) as connection:
        while done < events:
            done += _some(connection, entries, min(TOGETHER, events - done))
            progress(done)
    return done


def _some(connection: psycopg.Connection, entries: Iterator[Entry], events: int) -> int:
    # Taken before the lock, so that servers that append don't wait for games that are played.
    taken, rows = 0, []
    while taken < events:
        game, (_, first, told) = next(entries)
        rows += [(game, seq, topic, state) for seq, (topic, state) in enumerate(told, first)]
        taken += len(told)
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (LOG_LOCK,))
        with cursor.copy(_COPY) as copy:
            copy.set_types(("uuid", "int8", "text", "bytea"))
            for row in rows:
                copy.write_row(row)
    return taken
