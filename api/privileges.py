"""What the role that a server runs as may do in the database: this, and nothing more.

It reads the log and appends to it by the one function that the log's owner has made. Its read models are its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Cursor
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier

from domain.log_tables import APPEND_SIGNATURE
from projections.tables import BUILD, LIVE

__all__ = ["TABLES", "appenders", "extend", "grant", "lacks", "makers", "oversteps", "take_room"]


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
    Grant("log_checkpoints", "SELECT"),
    Grant("log_checkpoints", "INSERT", ("size", "note")),
    Grant("log_departures", "SELECT"),
    Grant("log_departures", "INSERT", ("note",)),
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
    Grant("schema_steps", "SELECT"),
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
_CREATE: Final = "SELECT has_database_privilege(%s, current_database(), 'CREATE')"
_HAS: Final = "SELECT (SELECT to_json(r) -> %s FROM pg_roles AS r WHERE rolname = %s)"

_STRONG: Final = (
    *("pg_write_all_data", "pg_read_all_data", "pg_maintain", "pg_create_subscription", "pg_signal_backend"),
    *("pg_execute_server_program", "pg_write_server_files", "pg_read_server_files"),
)
"""PostgreSQL's own roles that may do what a server need not. Those that only look at how it runs are none of them."""

# A membership is what lets a role act as another one, whether or not it inherits, over however many others.
_STRONG_MEMBERSHIPS: Final = """
SELECT DISTINCT g.rolname::text AS granted, pg_get_userbyid(m.grantor)::text AS grantor,
       m.grantor = 10 OR current_setting('server_version_num')::integer < 160000 AS by_anyone
  FROM pg_auth_members AS m JOIN pg_roles AS g ON g.oid = m.roleid
 WHERE m.member = (SELECT oid FROM pg_roles WHERE rolname = %s)
   AND EXISTS (SELECT FROM pg_roles AS r
                WHERE pg_has_role(g.oid, r.oid, 'MEMBER')
                  AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls OR r.rolname = ANY(%s)
                       OR r.oid IN (SELECT datdba FROM pg_database WHERE datname = current_database()
                                    UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = 'public'
                                    UNION ALL SELECT relowner FROM pg_class WHERE oid = ANY(%s::regclass[]))))
 ORDER BY granted, grantor
"""
_OWNED: Final = """
SELECT 'DATABASE' AS kind, ARRAY[datname::text] AS name FROM pg_database
 WHERE datname = current_database() AND pg_get_userbyid(datdba) = %(role)s
UNION ALL
SELECT 'SCHEMA', ARRAY['public'] FROM pg_namespace WHERE nspname = 'public' AND pg_get_userbyid(nspowner) = %(role)s
UNION ALL
SELECT 'TABLE', ARRAY['public', relname::text] FROM pg_class
 WHERE oid = ANY(%(tables)s::regclass[]) AND pg_get_userbyid(relowner) = %(role)s
"""
_OWNER: Final = "SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = 'public.game_events'::regclass"

_MAKERS: Final = """
SELECT DISTINCT CASE may.maker WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(may.maker)::text END AS maker
  FROM (SELECT a.grantee
          FROM pg_namespace AS n CROSS JOIN aclexplode(n.nspacl) AS a
         WHERE n.nspname IN (%(live)s, %(build)s) AND a.privilege_type = 'CREATE'
         UNION SELECT nspowner FROM pg_namespace WHERE nspname IN (%(live)s, %(build)s)) AS may (maker)
  LEFT JOIN pg_roles AS r ON r.oid = may.maker
 WHERE r.rolsuper IS NOT TRUE AND r.rolname IS DISTINCT FROM %(role)s
   AND may.maker IS DISTINCT FROM (SELECT relowner FROM pg_class WHERE oid = to_regclass('public.game_events'))
 ORDER BY maker
"""

_APPENDERS: Final = """
SELECT r.rolname::text AS role
  FROM pg_proc AS p CROSS JOIN aclexplode(p.proacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee
 WHERE p.oid = to_regprocedure(%s) AND a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
 ORDER BY role
"""


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


def extend(cursor: Cursor[DictRow], role: str) -> None:
    """Give a role what a server needs of the tables that are there, and take nothing from it; as their owner.

    Older servers of that role go on with what they have.
    """
    for one in GRANTS:
        if _told(cursor, "SELECT to_regclass('public.' || %s)::text", one.table) and not _has(cursor, role, one):
            cursor.execute(one.to(Identifier(role)))


def appenders(cursor: Cursor[DictRow]) -> list[str]:
    """Return which roles were given the function that appends; its owner is none of them."""
    return [row["role"] for row in cursor.execute(_APPENDERS, (APPEND_SIGNATURE,)).fetchall()]


def makers(cursor: Cursor[DictRow], role: str) -> list[str]:
    """Return which others may put something into the schemas of the read models; PUBLIC, where everyone may.

    Others are all but this role, the log's owner and superusers.
    """
    parameters = {"live": LIVE, "build": BUILD, "role": role}
    return [row["maker"] for row in cursor.execute(_MAKERS, parameters).fetchall()]


def take_room(cursor: Cursor[DictRow], roles: Sequence[str]) -> None:
    """Let these roles, and PUBLIC if it is named, use the schemas of the read models no longer; as their owner."""
    for role in roles:
        whose = SQL("PUBLIC") if role == "PUBLIC" else Identifier(role)
        cursor.execute(SQL("REVOKE ALL ON SCHEMA {}, {} FROM {}").format(Identifier(LIVE), Identifier(BUILD), whose))


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
        if not _has(cursor, role, one):
            yield one.to(name)
    if not _told(cursor, _FUNCTION, role, APPEND_SIGNATURE):
        yield _execute(name)


def _has(cursor: Cursor[DictRow], role: str, grant: Grant) -> bool:
    if grant.columns:
        return all(_told(cursor, _COLUMN, role, grant.table, column, grant.privilege) for column in grant.columns)
    return bool(_told(cursor, _TABLE, role, grant.table, grant.privilege))


def _excess(cursor: Cursor[DictRow], role: str) -> Iterator[Composed]:
    name = Identifier(role)
    if _told(cursor, _HAS, "rolsuper", role):
        yield SQL("ALTER ROLE {} NOSUPERUSER").format(name)
        return  # no privilege binds it
    for attribute, without in _ATTRIBUTES.items():
        if _told(cursor, _HAS, attribute, role):
            yield SQL("ALTER ROLE {} {}").format(name, SQL(without))
    if as_others := [*_strong_memberships(cursor, role), *_owned(cursor, role)]:
        yield from as_others
        return  # by these it has privileges that no REVOKE takes away
    yield from _excess_of_privileges(cursor, role)


def _strong_memberships(cursor: Cursor[DictRow], role: str) -> Iterator[Composed]:
    tables = [f"public.{table}" for table in TABLES]
    for row in cursor.execute(_STRONG_MEMBERSHIPS, (role, list(_STRONG), tables)).fetchall():
        # Since PostgreSQL 16, what is taken away without a name is what the first superuser has granted.
        by = SQL("") if row["by_anyone"] else SQL(" GRANTED BY {}").format(Identifier(row["grantor"]))
        yield SQL("REVOKE {} FROM {}{}").format(Identifier(row["granted"]), Identifier(role), by)


def _owned(cursor: Cursor[DictRow], role: str) -> Iterator[Composed]:
    owner = Identifier(_told(cursor, _OWNER))
    parameters = {"role": role, "tables": [f"public.{table}" for table in TABLES]}
    for row in cursor.execute(_OWNED, parameters).fetchall():
        yield SQL("ALTER {} {} OWNER TO {}").format(SQL(row["kind"]), Identifier(*row["name"]), owner)


def _excess_of_privileges(cursor: Cursor[DictRow], role: str) -> Iterator[Composed]:
    name = Identifier(role)
    if _told(cursor, _CREATE, role):
        database = Identifier(_told(cursor, "SELECT current_database()"))
        yield SQL("REVOKE CREATE ON DATABASE {} FROM PUBLIC, {}").format(database, name)
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
