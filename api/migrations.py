"""The steps by which the tables grow that can't be made anew from the log.

Those are the log and its checkpoints, the sealed seeds, the accounts, and what the timekeeper keeps. Each step is one
transaction of their owner, and is noted in the database with a digest of its statements. A step that has landed is
never edited: databases have it, and would not get the change. What is to be different is a step more.

**Expand, then contract.** During an upgrade programs run side by side that know different steps. So a step adds only:
what an older program reads stays, and what it leaves out when it writes has a default. What nothing uses any more goes
in a later step, which says by ``needs_program`` how many steps a program must know to run on. Such a step is never
waited for: the program that brings it runs without it as well, until the last older server is gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, LiteralString, cast

from psycopg import Cursor
from psycopg.rows import DictRow, class_row

from api import accounts, timekeeper
from domain import vault
from domain.log_tables import create_log

__all__ = ["STEPS", "STEPS_TABLE", "Applied", "Make", "Step", "applied", "apply", "statements"]

STEPS_TABLE: Final = "schema_steps"

_TABLE: Final = f"""
CREATE TABLE IF NOT EXISTS public.{STEPS_TABLE} (
    number integer PRIMARY KEY CHECK (number > 0),
    name text NOT NULL,
    checksum text NOT NULL,
    needs_program integer NOT NULL,
    program text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
"""Programs of any age read it: no step changes it but by columns more."""

Make = Callable[[Cursor[DictRow]], object]
"""Makes what a step is about, with statements that may be run again: where a table was lost, all steps are."""


def statements(*each: LiteralString) -> Make:
    """Return what runs statements one after the other."""

    def make(cursor: Cursor[DictRow]) -> None:
        for statement in each:
            cursor.execute(statement)

    return make


class _Written:
    """Stands for a cursor: runs nothing and keeps what would be run on a database that has nothing yet."""

    def __init__(self) -> None:
        self.statements: Final[list[str]] = []

    def execute(self, statement: str) -> _Written:
        self.statements.append(statement)
        return self

    def fetchone(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    number: int
    """From 1, without gaps."""
    name: str
    """What it is about, for the operator."""
    make: Make
    needs_program: int = 1
    """How many steps a program must know to run on a database that has this one."""

    @property
    def contracts(self) -> bool:
        """Whether it takes away what programs use that don't know it."""
        return self.needs_program > 1

    @property
    def checksum(self) -> str:
        """Of its statements: SHA-256, hex."""
        written = _Written()
        self.make(cast("Cursor[DictRow]", written))
        return hashlib.sha256("\n;\n".join(written.statements).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    """A step that a database has, whichever program knows it."""

    number: int
    name: str
    checksum: str
    needs_program: int
    program: str
    """The version of the program that has applied it."""


def _beginning(cursor: Cursor[DictRow]) -> None:
    create_log(cursor)
    for tables in (vault.TABLES, accounts.TABLES, timekeeper.TABLES):
        cursor.execute(tables)


STEPS: Final[tuple[Step, ...]] = (
    Step(1, "the log, its checkpoints, sealed seeds, accounts, heartbeat and outages", _beginning),
)
"""Append only. ``tests/api/test_migrations.py`` has the digest of each that has landed."""


def applied(cursor: Cursor[DictRow]) -> tuple[Applied, ...] | None:
    """Return the steps that the database has, in their order; None where this role may not read which."""
    query = "SELECT has_table_privilege(to_regclass(%s), 'SELECT') AS may"
    row = cursor.execute(query, (f"public.{STEPS_TABLE}",)).fetchone()
    if row is None or row["may"] is None:
        return ()
    if not row["may"]:
        return None
    with cursor.connection.cursor(row_factory=class_row(Applied)) as reading:
        query = "SELECT number, name, checksum, needs_program, program FROM public.schema_steps ORDER BY number"
        return tuple(reading.execute(query).fetchall())


def apply(cursor: Cursor[DictRow], steps: Iterable[Step], *, make: bool = True) -> None:
    """Take steps and note them, in the transaction that is under way.

    Args:
        cursor: of the tables' owner, who holds the lock of those that make tables.
        steps: those that come next.
        make: whether what they make is missing; a database from before there were steps has it already.
    """
    cursor.execute(_TABLE)
    for step in steps:
        if make:
            step.make(cursor)
        insert = (
            "INSERT INTO public.schema_steps (number, name, checksum, needs_program, program)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (number) DO NOTHING"
        )
        program = version("tic-server")
        cursor.execute(insert, (step.number, step.name, step.checksum, step.needs_program, program))
