"""The database as a server finds it: made where its role is the log's owner, and otherwise looked at.

Two roles keep the log append-only. The owner makes the tables, and the function by which alone events are appended.
Servers run as another, which may read the log and call that function: `tic db init` makes it so. Where there is only
one role, as with the embedded database, the log's trigger still refuses every change; but its owner could drop it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

import structlog
from psycopg import Cursor, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier, Literal

from api.privileges import appenders, grant, lacks, makers, oversteps, take_room
from api.standing import NotSetUp, Standing, must_be_usable, must_not_be_newer, standing
from api.upgrading import be_owner, make, patiently, prepare_tables, refused
from domain.storage import Datastore
from projections.tables import BUILD, LIVE, drop_things, make_schemas, others_things, when_free

__all__ = ["AppRole", "NotSetUp", "Standing", "check", "init", "may_show_password", "prepare", "prepare_tables"]
__all__ += ["standing", "url_as"]

LONGEST_NAME: Final = 63
"""Bytes; PostgreSQL cuts off what is longer."""

_OF_THE_SERVER: Final[tuple[str, ...]] = (
    *("hostaddr", "service", "connect_timeout", "options", "target_session_attrs", "load_balance_hosts"),
    *("sslmode", "sslnegotiation", "sslrootcert", "channel_binding", "gssencmode"),
)
"""What a URL says of the server, and not of the role."""

_logger: Final = structlog.get_logger(__name__)


def prepare(datastore: Datastore) -> None:
    """Have ready what a server needs: the tables are made by their owner, and looked for by any other role.

    Raises:
        NotSetUp: something is missing that this role may not make.
        PersistenceError: the database is away, or said no.
    """
    prepare_tables(datastore)
    with datastore.transaction() as cursor:
        found = standing(cursor)
        _must_have_read_models(cursor, found)
        if found.owns and (others := appenders(cursor)):
            _logger.warning(
                "a server runs as the owner of the log, which could change it, though there is a role for servers",
                owner=found.owner,
                roles_for_servers=others,
            )


def _must_have_read_models(cursor: Cursor[DictRow], found: Standing) -> None:
    """Make sure that nobody but the connected role has something among the read models."""
    others = _whose(cursor, found.role, makers_too=found.owns)
    if "PUBLIC" in others:
        raise NotSetUp(
            "Everyone may put something among the read models. Let their owner run:"
            f" REVOKE ALL ON SCHEMA {LIVE}, {BUILD} FROM PUBLIC"
        )
    if not others:
        return
    said = f"The read models belong to the role {' and '.join(others)}, and {found.role} is connected."
    if others == [found.owner]:  # who has run servers, and should not
        raise NotSetUp(f"{said} {found.remedy}: it drops what the owner's servers have made there")
    raise NotSetUp(
        f"{said} Run servers as {' and '.join(one for one in others if one != found.owner)}; or run"
        f" `tic db init --take-over --app-role ROLE` as {found.owner}, with the role for servers from now on"
    )


def _whose(cursor: Cursor[DictRow], role: str, *, makers_too: bool) -> list[str]:
    """Return which other roles have something in the schemas of the read models; or may put it there, if asked.

    What lies there may call what its owner likes, in the name of whoever uses it. So the log's owner stays away also
    where it is not there yet.
    """
    owners = [thing.owner for thing in others_things(cursor, role)]
    return list(dict.fromkeys(owners + (makers(cursor, role) if makers_too else [])))


def check(datastore: Datastore) -> tuple[Standing, list[str]]:
    """Look whether a server can run as the connected role, and make nothing.

    Returns:
        Who that is; and what the role may do and a server need not, each as the statement that would take it away.

    Raises:
        NotSetUp, PersistenceError: as ``prepare``.
    """
    with datastore.transaction() as cursor:
        found = standing(cursor)
        must_not_be_newer(found)
        if found.owns and found.up_to_date:
            return found, []
        must_be_usable(cursor, found)
        _must_have_read_models(cursor, found)
        return found, oversteps(cursor, found.role)


def may_show_password(url: str) -> bool:
    """Tell whether a piece of the password may be taken for the host, the port or the database.

    That is where it has special characters that are not written as %40 and the like. What the driver says of such a
    host would show it.

    Raises:
        psycopg.ProgrammingError: it is no URL; the message may show the password as well.
    """
    said = conninfo_to_dict(url)
    if not re.fullmatch("[0-9,]*", str(said.get("port", ""))):
        return True
    scheme, separator, rest = url.partition("://")
    if not separator or "=" in scheme:  # of words and values
        return False
    begin = rest.partition("/")[0]
    after = rest.partition("@")[2] if "@" in begin else rest
    return "@" in after.partition("?")[0]


def url_as(url: str, role: str, *, database: str) -> str:
    """Return the URL of the same server for a role, with no password or any other secret."""
    said = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    rest = {name: said[name] for name in _OF_THE_SERVER if name in said}
    host, port = said.get("host", ""), said.get("port", "")
    if re.fullmatch(r"[\w.-]+", host) and re.fullmatch("[0-9]*", port):
        address = f"{host}:{port}" if port else host
    else:  # several, or the folder of a socket
        address, rest = "", {"host": host, "port": port, **rest}
    rest = {name: value for name, value in rest.items() if value}
    question = "?" + urlencode(rest, quote_via=quote, safe="") if rest else ""
    return f"postgresql://{quote(role, safe='')}@{address}/{quote(database, safe='')}{question}"


@dataclass(frozen=True, slots=True)
class AppRole:
    """What became of the role that servers run as."""

    role: str
    database: str
    made: bool
    """Whether it was made now."""
    password_set: bool
    lacks: list[str]
    """Statements that are still to be run by an administrator, so that it can do its work."""
    oversteps: list[str]
    """Statements that would take from it what it need not have, and that the owner may not run."""


def init(datastore: Datastore, role: str, *, password: str | None, take_over: bool = False) -> AppRole:
    """Make all that is missing, as the owner, and a role for servers with the privileges that they need.

    It may be done again at any time. Nothing is done where any of it can't be. The password goes to the server as what
    it keeps of it, which is made here.

    Args:
        datastore: on the database, as its owner.
        role: that of servers from now on.
        password: of the role; None leaves it as it is.
        take_over: whether the read models of another role may be dropped. Those of the owner are in any case.

    Raises:
        NotSetUp: the connected role may not make what is missing, or the other one can't be the servers'.
        TablesHeld: someone stays in read models that are to be dropped.
        PersistenceError: the database is away, or said no.
    """
    return patiently(lambda: when_free(lambda: _init(datastore, role, password, take_over=take_over)))


def _init(datastore: Datastore, role: str, password: str | None, *, take_over: bool) -> AppRole:
    with datastore.alone() as cursor:
        found = standing(cursor)
        must_not_be_newer(found)
        if found.owner is not None and not found.owns:
            raise NotSetUp(f"The log belongs to {found.owner}: run this with the DATABASE_URL of that role")
        if role in {found.role, found.owner}:
            raise NotSetUp(f"{role} owns the log, or is about to: servers need another role, which does not")
        if not 0 < len(role.encode()) <= LONGEST_NAME or "\0" in role:
            raise NotSetUp(f"The name of a role has 1 to {LONGEST_NAME} bytes")
        others = set(_whose(cursor, role, makers_too=True)) - {found.owner, found.role, "PUBLIC"}
        if others and not take_over:
            raise NotSetUp(
                f"The read models belong to the role {' and '.join(sorted(others))}. With --take-over they are dropped,"
                f" also under servers that run as that role, which can't go on; servers that run as {role} then fill"
                " their own from the log"
            )
        if _is_superuser(cursor, role):
            raise NotSetUp(f"{role} is a superuser, whom no privilege binds: servers need a role of their own")
        fresh = found.owner is None  # with no server that knows fewer steps
        steps = [step for step in found.pending if fresh or not step.contracts]
        with refused(found):
            make(cursor, found, steps)  # first: whoever may not do this need not be given a role for servers
            make_schemas(cursor)
            cursor.execute("RESET ROLE")  # the connected role may create roles, and the owner perhaps not
            made, password_set = _have_role(cursor, found, role, password)
            be_owner(cursor, found)
            take_room(cursor, makers(cursor, role))
            if things := others_things(cursor, role):
                drop_things(cursor, things)  # a server of the role fills its own from the log
            grant(cursor, role)
        return AppRole(role, found.database, made, password_set, lacks(cursor, role), oversteps(cursor, role))


def _is_superuser(cursor: Cursor[DictRow], role: str) -> bool:
    return cursor.execute("SELECT FROM pg_roles WHERE rolname = %s AND rolsuper", (role,)).fetchone() is not None


def _have_role(cursor: Cursor[DictRow], found: Standing, role: str, password: str | None) -> tuple[bool, bool]:
    """Make the role where it is missing; tell whether it was made, and whether the password was set."""
    there = cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None
    if there and password is None:
        return False, False
    statement = SQL("{} ROLE {} {}").format(
        SQL("ALTER" if there else "CREATE"), Identifier(role), SQL("" if there else "LOGIN")
    )
    if password is not None:
        kept = cursor.connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        statement += SQL(" PASSWORD {}").format(Literal(kept.decode()))
    try:
        with cursor.connection.transaction():
            cursor.execute(statement)
    except errors.InsufficientPrivilege:
        if there:
            return False, False
        name = Identifier(role).as_string(cursor)
        raise NotSetUp(
            f"{found.role} may not create roles, and there is no role {role}. Let an administrator run:"
            f" CREATE ROLE {name} LOGIN PASSWORD '...'; then run this again"
        ) from None
    return not there, password is not None
