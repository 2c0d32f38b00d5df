"""What the role that a server runs as may do in the database: this, and nothing more.

It reads the log and appends to it by the one function that the log's owner has made. Its read models are its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Cursor
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier

from domain.log_tables import APPEND_SIGNATURE
from projections.tables import BUILD, LIVE

__all__ = ["TABLES", "grant", "lacks", "oversteps"]


@dataclass(frozen=True, slots=True)
class Grant:
    """What may be done with a table, or with some of its columns only."""

    table: str
    privilege: LiteralString
    columns: tuple[str, ...] = ()

    def to(self, role: Identifier) -> Composed:
        """Return the statement."""
        columns = SQL(" ({})").format(SQL(", ").join(map(Identifier, self.columns))) if self.columns else SQL("")
        table = Identifier("public", self.table)
        return SQL("GRANT {}{} ON {} TO {}").format(SQL(self.privilege), columns, table, role)


GRANTS: Final = (
    Grant("game_events", "SELECT"),
    Grant("game_log", "SELECT"),
    Grant("sealed_seeds", "SELECT"),
    Grant("sealed_seeds", "INSERT"),
    Grant("sealed_seeds", "UPDATE", ("key_id", "sealed")),
    Grant("players", "SELECT"),
    Grant("players", "INSERT"),
    Grant("players", "UPDATE", ("name",)),  # what SELECT ... FOR UPDATE asks for
    Grant("players", "DELETE"),
    Grant("tokens", "SELECT"),
    Grant("tokens", "INSERT"),
    Grant("tokens", "UPDATE", ("revoked_at",)),
    Grant("heartbeat", "SELECT"),
    Grant("heartbeat", "INSERT", ("at",)),
    Grant("heartbeat", "UPDATE", ("at",)),
    Grant("outages", "SELECT"),
    Grant("outages", "INSERT", ("began", "ended")),
    Grant("outages", "UPDATE", ("given_back",)),
)

TABLES: Final = tuple(dict.fromkeys(one.table for one in GRANTS))
"""What a server finds in the schema public, the view of the log included."""

_SEQUENCES: Final = ("game_events_notification_id_seq", "outages_id_seq")
_SCHEMAS: Final[tuple[tuple[str, LiteralString], ...]] = (
    ("public", "USAGE"),
    (LIVE, "USAGE"),
    (LIVE, "CREATE"),
    (BUILD, "USAGE"),
    (BUILD, "CREATE"),
)
_WRITING: Final[tuple[LiteralString, ...]] = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
_OF_COLUMNS: Final = frozenset({"INSERT", "UPDATE", "REFERENCES"})
_ATTRIBUTES: Final[dict[str, LiteralString]] = {
    "rolcreaterole": "NOCREATEROLE",
    "rolreplication": "NOREPLICATION",
    "rolbypassrls": "NOBYPASSRLS",
}

_CONNECT: Final = "SELECT has_database_privilege(%s, current_database(), 'CONNECT')"
_SCHEMA: Final = "SELECT coalesce(has_schema_privilege(%s, to_regnamespace(%s), %s), false)"
_TABLE: Final = "SELECT coalesce(has_table_privilege(%s, to_regclass('public.' || %s), %s), false)"
_COLUMN: Final = "SELECT coalesce(has_column_privilege(%s, to_regclass('public.' || %s), %s, %s), false)"
_SOME_COLUMN: Final = "SELECT coalesce(has_any_column_privilege(%s, to_regclass('public.' || %s), %s), false)"
_SEQUENCE: Final = "SELECT coalesce(has_sequence_privilege(%s, to_regclass('public.' || %s), 'USAGE, UPDATE'), false)"
_FUNCTION: Final = "SELECT coalesce(has_function_privilege(%s, to_regprocedure(%s), 'EXECUTE'), false)"
_OWNERS_MEMBER: Final = (
    "SELECT (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass('public.game_events')"
    " AND pg_has_role(%s, relowner, 'MEMBER'))"
)
_HAS: Final = "SELECT (SELECT to_json(r) -> %s FROM pg_roles AS r WHERE rolname = %s)"


def grant(cursor: Cursor[DictRow], role: str) -> None:
    """Give a role what a server needs, and take from it and from everyone what it does not; as the tables' owner.

    What this owner may not give or take stays as it is: ``lacks`` and ``oversteps`` tell.
    """
    to = Identifier(role)
    tables = SQL(", ").join(Identifier("public", table) for table in TABLES)
    sequences = SQL(", ").join(Identifier("public", sequence) for sequence in _SEQUENCES)
    cursor.execute(SQL("REVOKE {} ON {} FROM PUBLIC").format(SQL(", ").join(map(SQL, _WRITING)), tables))
    cursor.execute(SQL("REVOKE ALL ON {} FROM {}").format(tables, to))
    cursor.execute(SQL("REVOKE ALL ON SEQUENCE {} FROM PUBLIC, {}").format(sequences, to))
    for one in GRANTS:
        cursor.execute(one.to(to))
    cursor.execute(_execute(to))
    cursor.execute(SQL("GRANT USAGE, CREATE ON SCHEMA {}, {} TO {}").format(Identifier(LIVE), Identifier(BUILD), to))
    # These may belong to someone else: nothing is tried where there is nothing to do.
    if not _told(cursor, _CONNECT, role):
        _attempt(cursor, _connect(cursor, to))
    if not _told(cursor, _SCHEMA, role, "public", "USAGE"):
        _attempt(cursor, SQL("GRANT USAGE ON SCHEMA public TO {}").format(to))
    if _told(cursor, _SCHEMA, role, "public", "CREATE"):
        _attempt(cursor, SQL("REVOKE CREATE ON SCHEMA public FROM PUBLIC, {}").format(to))


def lacks(cursor: Cursor[DictRow], role: str) -> list[str]:
    """Return what a server needs and the role may not do, each as the statement that would give it."""
    return [statement.as_string(cursor) for statement in _lacking(cursor, role)]


def oversteps(cursor: Cursor[DictRow], role: str) -> list[str]:
    """Return what the role may do and a server need not, each as the statement that would take it away."""
    return [statement.as_string(cursor) for statement in _excess(cursor, role)]


def _lacking(cursor: Cursor[DictRow], role: str) -> Iterator[Composed]:
    name = Identifier(role)
    if not _told(cursor, _HAS, "rolcanlogin", role):
        yield SQL("ALTER ROLE {} LOGIN").format(name)
    if not _told(cursor, _CONNECT, role):
        yield _connect(cursor, name)
    for schema, privilege in _SCHEMAS:
        if not _told(cursor, _SCHEMA, role, schema, privilege):
            yield SQL("GRANT {} ON SCHEMA {} TO {}").format(SQL(privilege), Identifier(schema), name)
    for one in GRANTS:
        if one.columns:
            may = all(_told(cursor, _COLUMN, role, one.table, column, one.privilege) for column in one.columns)
        else:
            may = _told(cursor, _TABLE, role, one.table, one.privilege)
        if not may:
            yield one.to(name)
    if not _told(cursor, _FUNCTION, role, APPEND_SIGNATURE):
        yield _execute(name)


def _excess(cursor: Cursor[DictRow], role: str) -> Iterator[Composed]:
    name = Identifier(role)
    if _told(cursor, _HAS, "rolsuper", role):
        yield SQL("ALTER ROLE {} NOSUPERUSER").format(name)
        return  # no privilege binds it
    if owner := _told(cursor, _OWNERS_MEMBER, role):
        yield SQL("REVOKE {} FROM {}").format(Identifier(owner), name)
        return  # it may do whatever the owner may
    for attribute, without in _ATTRIBUTES.items():
        if _told(cursor, _HAS, attribute, role):
            yield SQL("ALTER ROLE {} {}").format(name, SQL(without))
    for table in TABLES:
        for privilege in _WRITING:
            given = [one for one in GRANTS if (one.table, one.privilege) == (table, privilege)]
            if any(not one.columns for one in given):
                continue
            asked = _SOME_COLUMN if privilege in _OF_COLUMNS and not given else _TABLE
            if _told(cursor, asked, role, table, privilege):
                parts = SQL(privilege), Identifier("public", table), name
                yield SQL("REVOKE {} ON {} FROM PUBLIC, {}").format(*parts)
    for sequence in _SEQUENCES:
        if _told(cursor, _SEQUENCE, role, sequence):
            yield SQL("REVOKE ALL ON SEQUENCE {} FROM PUBLIC, {}").format(Identifier("public", sequence), name)
    if _told(cursor, _SCHEMA, role, "public", "CREATE"):
        yield SQL("REVOKE CREATE ON SCHEMA public FROM PUBLIC, {}").format(name)


def _execute(to: Identifier) -> Composed:
    return SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(SQL(APPEND_SIGNATURE), to)


def _connect(cursor: Cursor[DictRow], to: Identifier) -> Composed:
    database = _told(cursor, "SELECT current_database()")
    return SQL("GRANT CONNECT ON DATABASE {} TO {}").format(Identifier(database), to)


def _told(cursor: Cursor[DictRow], query: LiteralString, *parameters: str) -> Any:
    """Return what a query tells that has one row with one value."""
    row = cursor.execute(query, parameters).fetchone()
    return next(iter(row.values())) if row else None


def _attempt(cursor: Cursor[DictRow], statement: Composed) -> None:
    try:
        with cursor.connection.transaction():
            cursor.execute(statement)
    except InsufficientPrivilege:
        pass
