"""Where the database's addresses lead: to PostgreSQL itself, or through a pooler such as pgbouncer.

A pooler that lends its connections for one transaction at a time keeps nothing for us between two of them: no
listening, no lock of a session, no prepared statement, no setting. So a server wants a second address, past it, for
what needs those; and what each of them can't give is found when the server starts, not when it is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import structlog
from psycopg.rows import dict_row

__all__ = ["AddressError", "check_pooler", "must_not_be_pooled"]

CONNECT_SECONDS: Final = 5

_logger: Final = structlog.get_logger(__name__)

_WHERE: Final = (
    "SELECT (SELECT oid FROM pg_database WHERE datname = current_database()) AS database,"
    " pg_postmaster_start_time() AS started, current_user::text AS role"
)
_DEFAULTS: Final = (
    # Not what is set at present: that is what the last one has left who had this connection.
    "SELECT name, reset_val AS value FROM pg_settings WHERE name = ANY ("
    "'{default_transaction_isolation,synchronous_commit,client_min_messages,idle_in_transaction_session_timeout}')"
)
_NEEDED: Final = {
    "default_transaction_isolation": ("read committed",),
    "synchronous_commit": ("on", "remote_apply"),
    "client_min_messages": ("warning", "notice", "log", "debug1", "debug2", "debug3", "debug4", "debug5"),
}


class AddressError(Exception):
    """An address does not lead where it must; the message says what to set, and holds no password."""


def must_not_be_pooled(connection: psycopg.Connection[Any], name: str) -> None:
    """Make sure that there is no pooler between us and the database.

    A pooler gives its clients keys of its own for cancelling, for it has more clients than the database has processes;
    so the process that it names is not the one that answers.

    Raises:
        AddressError: there is one; ``name`` is the setting that has the address.
    """
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    if row is None or connection.info.backend_pid in tuple(row):
        return
    if name == "DATABASE_URL":
        raise AddressError(
            "DATABASE_URL leads through a pooler. Set DATABASE_DIRECT_URL as well, to the URL of the database itself: a"
            " server listens there, and holds locks. It asks through the pooler for everything else"
        )
    raise AddressError(f"{name} leads through a pooler as well: it must be the URL of the database itself")


def check_pooler(pooler: str, direct: str) -> None:
    """Make sure that a pooler leads to the same database, as the same role, and that what it lends can be relied upon.

    Raises:
        AddressError: it does not, or not so.
    """
    try:
        with psycopg.connect(direct, connect_timeout=CONNECT_SECONDS, row_factory=dict_row) as connection:
            there = connection.execute(_WHERE).fetchone()
    except psycopg.Error as error:
        raise AddressError(f"the database can't be reached by DATABASE_DIRECT_URL: {_said(error)}") from None
    try:
        with psycopg.connect(
            pooler, connect_timeout=CONNECT_SECONDS, row_factory=dict_row, prepare_threshold=None
        ) as connection:
            here = connection.execute(_WHERE).fetchone()
            defaults = {row["name"]: row["value"] for row in connection.execute(_DEFAULTS)}
    except psycopg.Error as error:
        raise AddressError(
            f"the pooler of DATABASE_URL does not do: {_said(error)}. Of pgbouncer's modes, transaction and session do,"
            " and statement does not"
        ) from None
    if here is None or here != there:
        raise AddressError(
            "DATABASE_URL and DATABASE_DIRECT_URL must lead to the same database on the same server, as the same role"
        )
    if statements := list(_amended(here["role"], defaults)):
        raise AddressError(
            "What a server sets for its connections does not last behind a pooler, so the role must have it by default."
            f" Let an administrator run: {'; '.join(statements)}"
        )
    if defaults["idle_in_transaction_session_timeout"] == "0":
        _logger.warning(
            "the database ends no transaction of a server that has vanished",
            next_step=f"ALTER ROLE {_quoted(here['role'])} SET idle_in_transaction_session_timeout = '10s'",
        )


def _amended(role: str, defaults: dict[str, str]) -> Iterator[str]:
    for name, values in _NEEDED.items():
        if defaults[name] not in values:
            yield f"ALTER ROLE {_quoted(role)} SET {name} = '{values[0]}'"


def _quoted(name: str) -> str:
    return psycopg.sql.Identifier(name).as_string()


def _said(error: psycopg.Error) -> str:
    return str(error).strip()
