"""Where read models live: in schemas of their own, with their place in the log beside their rows.

The server may run as a role that may create nothing in the schema of the log. It owns what is in these two, so it can
make tables, build new ones beside them and put those in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import psycopg
import structlog
from psycopg import Cursor
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from domain.storage import Logged, log_after

__all__ = ["BUILD", "LIVE", "Projection", "drop_tables", "make_room", "place", "set_place", "take_in", "within"]

LIVE: Final = "read_models"
"""The schema of the tables that are shown."""
BUILD: Final = "read_models_rebuild"
"""The schema of those that are being built."""

POSITIONS: Final = """
CREATE TABLE IF NOT EXISTS {}.projection_positions (
    name text PRIMARY KEY,
    position bigint NOT NULL,
    version integer NOT NULL
)
"""
LEFTOVERS: Final = ("lobby_games", "lobby_players", "lobby_seats", "deadlines", "projection_positions")
"""What earlier programs kept in the schema of the log. A model that is newer than these has nothing there."""

_logger: Final = structlog.get_logger(__name__)


class Projection(Protocol):
    """A read model. Its statements name its tables without a schema."""

    name: str
    """Stable: the position in the log is kept under it."""
    version: int
    """Of its tables: where those that are there are older, they are made and filled anew from the log."""
    tables: tuple[str, ...]
    """Its tables, those first that its queries name first: in this order they are locked."""

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log."""


def within(cursor: Cursor[DictRow], schema: str) -> None:
    """Let names without a schema mean those of this one, until the transaction ends."""
    cursor.execute("SELECT set_config('search_path', %s, true)", (schema,))


def make_room(cursor: Cursor[DictRow]) -> None:
    """Make the schemas, and in each the table of positions, where they are missing; clear away what was there before.

    Raises:
        ProgrammingError: a schema is missing and this role may not make it.
    """
    _drop_leftovers(cursor)
    for schema in (LIVE, BUILD):
        # Not IF NOT EXISTS: that asks for the right to create schemas also where there is nothing to create.
        if cursor.execute("SELECT to_regnamespace(%s) AS there", (schema,)).fetchone() == {"there": None}:
            cursor.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        cursor.execute(SQL(POSITIONS).format(Identifier(schema)))


def _drop_leftovers(cursor: Cursor[DictRow]) -> None:
    query = (
        "SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('public') AND relkind = 'r'"
        " AND relname = ANY(%s) AND pg_has_role(relowner, 'USAGE')"
    )
    for row in cursor.execute(query, (list(LEFTOVERS),)).fetchall():
        try:
            with cursor.connection.transaction():
                cursor.execute(SQL("DROP TABLE {}").format(Identifier("public", row["name"])))
        except psycopg.errors.DependentObjectsStillExist as error:
            _logger.warning("an old table stays: something was built on it", table=row["name"], error=str(error))


def drop_tables(cursor: Cursor[DictRow], projection: Projection, schema: str) -> None:
    """Drop a read model's tables where they are there."""
    tables = SQL(", ").join(Identifier(schema, table) for table in projection.tables)
    cursor.execute(SQL("DROP TABLE IF EXISTS {}").format(tables))


def place(cursor: Cursor[DictRow], projection: Projection) -> int:
    """Return how far in the log a read model is, and hold everyone else off it until the transaction ends.

    Raises:
        LookupError: it has no tables yet, or they are another program's.
    """
    query = "SELECT position, version FROM projection_positions WHERE name = %s FOR UPDATE"
    row = cursor.execute(query, (projection.name,)).fetchone()
    if row is None:
        raise LookupError(f"the projection {projection.name} has no tables yet")
    if row["version"] != projection.version:  # nothing is written into tables that one does not know
        known = f"version {row['version']}; this program knows {projection.version}"
        raise LookupError(f"the tables of {projection.name} have {known}")
    return int(row["position"])


def set_place(cursor: Cursor[DictRow], projection: Projection, position: int) -> None:
    """Note how far in the log a read model is."""
    update = "UPDATE projection_positions SET position = %s WHERE name = %s"
    cursor.execute(update, (position, projection.name))


def take_in(cursor: Cursor[DictRow], projection: Projection, *, most: int) -> int:
    """Take in what follows in the log, at most so many events; return how many it was.

    Raises:
        LookupError: there are no tables yet, or they are another program's.
    """
    events = log_after(cursor, place(cursor, projection), limit=most)
    if events:
        with cursor.connection.pipeline():  # no statement waits for the answer to the one before
            projection.apply(cursor, events)
            set_place(cursor, projection, events[-1].position)
    return len(events)
