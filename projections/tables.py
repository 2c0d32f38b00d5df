"""Where read models live: in schemas of their own, with their place in the log beside their rows.

The server may run as a role that may create nothing in the schema of the log. It owns what is in these two, so it can
make tables, build new ones beside them and put those in their place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, LiteralString, Protocol, TypeVar

import psycopg
import structlog
from psycopg import Cursor
from psycopg.rows import DictRow, class_row
from psycopg.sql import SQL, Identifier

from domain.storage import Logged, PersistenceError, log_after

__all__ = ["BUILD", "LIVE", "OthersThings", "Projection", "TablesHeld", "Thing", "drop_tables", "drop_things"]
__all__ += ["hold_off", "make_room", "make_schemas", "others_things", "place", "set_place", "take_in", "when_free"]
__all__ += ["within", "without_readers"]

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

LOCK_WAIT: Final = "200ms"
"""How long readers of a table that is to go are waited for. It is short: whoever comes meanwhile waits behind that."""
TRIES: Final = 30
"""How often that is tried, before it is given up."""
RETRY_SECONDS: Final = 2.0
"""Between two tries. Readers come to their turn."""

_logger: Final = structlog.get_logger(__name__)

T = TypeVar("T")


class TablesHeld(PersistenceError):
    """Others hold tables that are to be dropped or moved; nothing was changed."""


class OthersThings(PersistenceError):
    """In the schemas of the read models is something that another role has made."""


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


@contextmanager
def without_readers(cursor: Cursor[DictRow], *tables: str) -> Iterator[None]:
    """Do what readers of some tables hold up; where they do for longer than a moment, undo it.

    Raises:
        TablesHeld: they did. The message tells who holds the tables.
    """
    try:
        with cursor.connection.transaction():
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_WAIT,))
            yield
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except psycopg.errors.LockNotAvailable as error:
        raise TablesHeld(f"{', '.join(tables)}: held by {_holders(cursor, tables)}") from error


_HOLDERS: Final = """
SELECT DISTINCT format('%%s (role %%s, pid %%s)', coalesce(nullif(a.application_name, ''), 'someone'), a.usename, a.pid)
       AS holder
  FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
 WHERE l.granted AND l.locktype = 'relation' AND l.pid <> pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.relation IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)
 ORDER BY holder
"""


def _holders(cursor: Cursor[DictRow], tables: Sequence[str]) -> str:
    found = cursor.execute(_HOLDERS, (list(tables),)).fetchall()
    return ", ".join(row["holder"] for row in found) or "someone who is gone by now"


def when_free(attempt: Callable[[], T]) -> T:
    """Make an attempt, in a transaction of its own, again and again while others hold its tables; return its result.

    The log says what is waited for.

    Raises:
        TablesHeld: they held them at the last attempt as well.
    """
    left = TRIES
    while True:
        try:
            return attempt()
        except TablesHeld as held:
            left -= 1
            if not left:
                raise
            _logger.warning("old tables can't be dropped yet", tables=str(held), tries_left=left)
        time.sleep(RETRY_SECONDS)


def make_room(cursor: Cursor[DictRow]) -> None:
    """Make the schemas, and in each the table of positions, where they are missing; clear away what was there before.

    Raises:
        ProgrammingError: a schema is missing and this role may not make it.
        OthersThings: another role has put something in there.
    """
    make_schemas(cursor)
    for schema in (LIVE, BUILD):
        cursor.execute(SQL(POSITIONS).format(Identifier(schema)))
    # Only now: what was looked at before a table is made may be in its place afterwards, and call what it likes in
    # the name of whoever writes to it. What is ours nobody else can replace.
    row = cursor.execute("SELECT current_user::text AS role").fetchone()
    if row and (things := others_things(cursor, row["role"])):
        raise OthersThings(f"{things[0]} belongs to the role {things[0].owner}, and {row['role']} is connected")


def make_schemas(cursor: Cursor[DictRow]) -> None:
    """Make the schemas where they are missing, and clear away what was there before them.

    Raises:
        ProgrammingError: a schema is missing and this role may not make it.
    """
    _drop_leftovers(cursor)
    for schema in (LIVE, BUILD):
        # Not IF NOT EXISTS: that asks for the right to create schemas also where there is nothing to create.
        if cursor.execute("SELECT to_regnamespace(%s) AS there", (schema,)).fetchone() == {"there": None}:
            cursor.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))


@dataclass(frozen=True, slots=True)
class Thing:
    """A table, view, function, type, operator or whatever else a schema can hold."""

    kind: LiteralString
    name: LiteralString
    """With its schema, and its arguments where it has some; quoted by the database as a statement wants it."""
    owner: str
    is_relation: bool

    def __str__(self) -> str:
        return f"the {self.kind} {self.name}"


# Every owner but one is noted for each thing: the database's own superuser, who has the number 10.
_OTHERS_THINGS: Final = """
SELECT i.type AS kind, i.identity AS name, pg_get_userbyid(coalesce(o.refobjid, 10))::text AS owner,
       d.classid = 'pg_class'::regclass AS is_relation
  FROM pg_namespace AS n
  JOIN pg_depend AS d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid AND d.deptype = 'n'
  LEFT JOIN pg_shdepend AS o ON o.classid = d.classid AND o.objid = d.objid AND o.objsubid = 0 AND o.deptype = 'o'
                            AND o.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
 CROSS JOIN pg_identify_object(d.classid, d.objid, 0) AS i
 WHERE n.nspname IN (%s, %s) AND i.schema = n.nspname AND pg_get_userbyid(coalesce(o.refobjid, 10)) <> %s
 ORDER BY NOT d.classid = 'pg_class'::regclass, i.identity
"""


def others_things(cursor: Cursor[DictRow], role: str) -> list[Thing]:
    """Return all in the schemas of the read models that belongs to another role than this one, tables first."""
    with cursor.connection.cursor(row_factory=class_row(Thing)) as reading:
        return reading.execute(_OTHERS_THINGS, (LIVE, BUILD, role)).fetchall()


_DROPPED_AS: Final[dict[str, LiteralString]] = {"composite type": "type", "statistics object": "statistics"}
"""What a statement calls a kind of things, where that is not what the database calls it."""


def drop_things(cursor: Cursor[DictRow], things: Sequence[Thing]) -> None:
    """Drop things, and all that depends on them.

    Raises:
        TablesHeld: others hold one of the tables; nothing was dropped.
    """
    with without_readers(cursor, *(thing.name for thing in things if thing.is_relation)):
        for thing in things:
            kind = _DROPPED_AS.get(thing.kind, thing.kind)
            # Not there: it went with another one.
            cursor.execute(SQL("DROP {} IF EXISTS {} CASCADE").format(SQL(kind), SQL(thing.name)))


def _drop_leftovers(cursor: Cursor[DictRow]) -> None:
    query = (
        "SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('public') AND relkind = 'r'"
        " AND relname = ANY(%s) AND pg_has_role(relowner, 'USAGE')"
    )
    for row in cursor.execute(query, (list(LEFTOVERS),)).fetchall():
        try:
            with without_readers(cursor, f"public.{row['name']}"):
                cursor.execute(SQL("DROP TABLE {}").format(Identifier("public", row["name"])))
        except psycopg.errors.DependentObjectsStillExist as error:
            _logger.warning("an old table stays: something was built on it", table=row["name"], error=str(error))
        except TablesHeld as error:  # it is in nobody's way: the next start drops it
            _logger.warning("an old table stays until the next start", table=row["name"], error=str(error))


def drop_tables(cursor: Cursor[DictRow], projection: Projection, schema: str) -> None:
    """Drop a read model's tables where they are there.

    Raises:
        TablesHeld: others hold them; nothing was dropped.
    """
    tables = SQL(", ").join(Identifier(schema, table) for table in projection.tables)
    with without_readers(cursor, *(f"{schema}.{table}" for table in projection.tables)):
        cursor.execute(SQL("DROP TABLE IF EXISTS {}").format(tables))


def place(cursor: Cursor[DictRow], projection: Projection) -> int:
    """Return how far in the log a read model is, and hold everyone else off it until the transaction ends.

    Raises:
        LookupError: it has no tables yet, or they are another program's.
    """
    position, version = _held(cursor, projection)
    if version != projection.version:  # nothing is written into tables that one does not know
        raise _of_another(projection, version)
    return position


def hold_off(cursor: Cursor[DictRow], projection: Projection, *, over_newer: bool) -> None:
    """Hold everyone off a read model, whose tables may be an older program's, until the transaction ends.

    Raises:
        LookupError: it has no tables yet, or they are a newer program's, and may not be.
    """
    _, version = _held(cursor, projection)
    if version > projection.version and not over_newer:
        raise _of_another(projection, version)


def _held(cursor: Cursor[DictRow], projection: Projection) -> tuple[int, int]:
    query = "SELECT position, version FROM projection_positions WHERE name = %s FOR UPDATE"
    row = cursor.execute(query, (projection.name,)).fetchone()
    if row is None:
        raise LookupError(f"the projection {projection.name} has no tables yet")
    return int(row["position"]), int(row["version"])


def _of_another(projection: Projection, version: int) -> LookupError:
    known = f"version {version}; this program knows {projection.version}"
    return LookupError(f"the tables of {projection.name} have {known}")


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
