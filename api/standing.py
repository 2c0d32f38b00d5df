"""What a role finds in the database: who owns the log, which steps were taken, and what is missing."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from psycopg import Cursor
from psycopg.rows import DictRow

from api import migrations
from api.migrations import Applied, Step
from api.privileges import TABLES, lacks
from domain.log_tables import TRIGGERS, is_guarded

__all__ = ["UNGUARDED", "NotSetUp", "Standing", "must_be_usable", "must_not_be_newer", "standing", "usable"]

UNGUARDED: Final = f"The trigger {' or '.join(TRIGGERS)}, which keeps the log append-only, is missing or disabled"

_STANDING: Final = """
SELECT current_user::text AS role, current_database()::text AS database,
       pg_get_userbyid(d.datdba)::text AS database_owner, pg_get_userbyid(log.relowner)::text AS owner,
       coalesce(pg_has_role(log.relowner, 'MEMBER'), false) AS owns,
       coalesce(substring(obj_description(log.oid, 'pg_class') FROM 'set-up ([0-9]+)')::integer, 0) AS version,
       ARRAY(SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass('public.' || name) IS NULL) AS missing,
       (SELECT bool_and(to_regclass(name) IS NOT DISTINCT FROM to_regclass('public.' || name))
          FROM unnest(%s::text[]) AS name) AS found
  FROM pg_database AS d LEFT JOIN pg_class AS log ON log.oid = to_regclass('public.game_events')
 WHERE d.datname = current_database()
"""


class NotSetUp(Exception):
    """The database lacks what this role needs of it; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Who is connected, and what that role finds."""

    role: str
    database: str
    database_owner: str
    owner: str | None
    """Whose the log is; None where there is no log."""
    owns: bool
    """Whether the role may act as the owner."""
    version: int
    """How many steps a program must know, as it is noted for those from before there were steps; 0 where it is not."""
    missing: list[str]
    """The tables that are not there."""
    found: bool
    """Whether the tables' bare names lead to them."""
    guarded: bool
    """Whether the triggers that keep the log and its checkpoints are on."""
    applied: tuple[Applied, ...] | None
    """The steps that were taken; None where the role may not read that."""

    @property
    def pending(self) -> list[Step]:
        """The steps that this program knows and the database does not have."""
        return [step for step in migrations.STEPS if step not in self.taken]

    @property
    def taken(self) -> list[Step]:
        """The steps that this program knows and the database has."""
        there = {step.number for step in self.applied or ()}
        return [step for step in migrations.STEPS if step.number in there]

    @property
    def needed(self) -> list[Step]:
        """Those of them that a server needs: all but what only takes something away."""
        return [step for step in self.pending if not step.contracts]

    @property
    def newer(self) -> list[Applied]:
        """The steps that the database has and this program does not know."""
        return [step for step in self.applied or () if step.number > len(migrations.STEPS)]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of what the steps make."""
        return self.owner is not None and not self.missing and self.guarded

    @property
    def set_up(self) -> bool:
        """Whether steps were taken, or the first one before steps were noted."""
        return self.applied is None or bool(self.applied) or self.version > 0

    @property
    def only_unnoted(self) -> bool:
        """Whether all is there from before steps were noted, and nothing but the note is missing."""
        unnoted = self.applied == () and self.version > 0 and self.guarded
        return unnoted and self.missing == [migrations.STEPS_TABLE]

    @property
    def lost(self) -> str:
        """What is missing."""
        lacking = ", ".join(self.missing) or "a trigger that keeps the log append-only"
        return f"The database {self.database} lacks {lacking}"

    @property
    def up_to_date(self) -> bool:
        """Whether all is there that this program needs."""
        return self.whole and not self.needed

    @property
    def remedy(self) -> str:
        """What to do about a database that is not set up for the role."""
        owner = self.owner or f"{self.database_owner}, or of another who may create tables in it"
        role = "ROLE" if self.role in {self.owner, self.database_owner} else shlex.quote(self.role)
        return f"Run `tic db init --app-role {role}` with the DATABASE_URL of {owner}"


def standing(cursor: Cursor[DictRow]) -> Standing:
    """Return who is connected and what that role finds."""
    row = cursor.execute(_STANDING, (list(TABLES), list(TABLES))).fetchone()
    if row is None:
        raise LookupError("the database does not know itself")
    return Standing(**row, guarded=is_guarded(cursor), applied=migrations.applied(cursor))


def usable(cursor: Cursor[DictRow]) -> Standing:
    """Return what the role finds: all that it needs, or what it may make itself.

    Raises:
        NotSetUp: neither.
    """
    found = standing(cursor)
    must_not_be_newer(found)
    if found.owner is not None and not found.owns:
        must_be_usable(cursor, found)
    return found


def must_not_be_newer(found: Standing) -> None:
    """Make sure that this program can run on the steps that were taken, and that they are those that it knows.

    Raises:
        NotSetUp: it can't, or they are not.
    """
    last = max(found.newer, key=lambda step: step.needs_program, default=None)
    known = len(migrations.STEPS)
    if found.version > known or (last is not None and last.needs_program > known):
        told = f"step {last.number}, {last.name}, of program {last.program}" if last else f"set-up {found.version}"
        raise NotSetUp(
            f"The database {found.database} was set up by a newer program ({told}), and this one, which knows {known}"
            f" {'step' if known == 1 else 'steps'}, can't run on it any more. Start that one"
        )
    checksums = {step.number: step.checksum for step in migrations.STEPS}
    for step in found.applied or ():
        if checksums.get(step.number, step.checksum) != step.checksum:
            raise NotSetUp(
                f"Step {step.number} of the database {found.database} ({step.name}, of program {step.program}) is not"
                " the one that this program knows: one of the two never was a release. Start the program that made it"
            )


def must_be_usable(cursor: Cursor[DictRow], found: Standing) -> None:
    """Make sure that a server can run as a role that makes nothing.

    Raises:
        NotSetUp: something is missing; the message says what to do.
    """
    if found.set_up and not found.guarded:
        raise NotSetUp(
            f"{UNGUARDED}. Only {found.owner}, who owns the log of {found.database}, or a superuser can have done"
            f" that: find out who, and whether events were changed. {found.remedy}: it makes the trigger anew"
        )
    if found.applied is not None and (needed := found.needed):
        told = ", ".join(f"{step.number} ({step.name})" for step in needed)
        remedy = (
            f"Run `tic db migrate` with the DATABASE_URL of {found.owner}: servers may run meanwhile"
            if found.set_up
            else found.remedy
        )
        raise NotSetUp(f"The database {found.database} has yet to be taken to step {told}. {remedy}")
    if found.missing:
        raise NotSetUp(f"{found.lost}. {found.remedy}")
    if missing := lacks(cursor, found.role):
        raise NotSetUp(f"The role {found.role} may not do what a server does. {found.remedy}. Missing: {missing[0]}")
    if not found.found:
        raise NotSetUp(
            f"The role {found.role} has a search_path that does not lead to the schema public first."
            " Leave it out of DATABASE_URL, and see ALTER ROLE ... RESET search_path"
        )
