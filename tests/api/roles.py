"""Databases whose owner is no superuser, with a role for servers beside: as on a managed server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from api.database import AppRole, init
from domain.storage import Datastore

__all__ = ["PASSWORD", "House", "house"]

PASSWORD = "a password of the tests"
"""Of every role here: whether a server asks for it is its own matter."""


@dataclass(frozen=True)
class House:
    """A database, its owner, and the role that servers are to run as."""

    postgres: str
    database: str
    owner: str
    app: str

    def url(self, role: str) -> str:
        return make_conninfo(self.postgres, dbname=self.database, user=role, password=PASSWORD)

    @property
    def owners_url(self) -> str:
        return self.url(self.owner)

    @property
    def apps_url(self) -> str:
        return self.url(self.app)

    @property
    def admins_url(self) -> str:
        return make_conninfo(self.postgres, dbname=self.database)

    def init(self) -> AppRole:
        """Set the database up, as its owner."""
        with Datastore(self.owners_url, connections=2) as datastore:
            return init(datastore, self.app, password=PASSWORD)


@contextmanager
def house(
    admin: psycopg.Connection, postgres: str, *, makes_roles: bool = True, app: str | None = None
) -> Iterator[House]:
    """A new, empty database with an owner of its own; all is gone afterwards, the roles as well."""
    name = uuid4().hex
    made = House(postgres, f"tic_test_{name}", f"tic_owner_{name}", app or f"tic_app_{name}")
    may = SQL("CREATEROLE" if makes_roles else "NOCREATEROLE")
    owner, database = Identifier(made.owner), Identifier(made.database)
    admin.execute(SQL("CREATE ROLE {} LOGIN {} PASSWORD {}").format(owner, may, Literal(PASSWORD)))
    admin.execute(SQL("CREATE DATABASE {} OWNER {}").format(database, owner))
    try:
        yield made
    finally:
        admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(database))
        admin.execute(SQL("DROP ROLE IF EXISTS {}, {}").format(Identifier(made.app), owner))
