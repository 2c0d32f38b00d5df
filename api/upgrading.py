"""Takes the steps by which the tables grow, as their owner, while servers run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import structlog
from psycopg import Cursor, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from api import migrations
from api.migrations import Step
from api.privileges import appenders, extend
from api.standing import UNGUARDED, NotSetUp, Standing, must_not_be_newer, standing, usable
from domain.storage import Datastore

__all__ = ["be_owner", "make", "migrate", "patiently", "prepare_tables", "refused"]

LOCK_WAIT: Final = "500ms"
"""How long a step waits for writers. Others wait behind it, so it gives up, lets them through, and tries again."""
TRIES: Final = 20
RETRY_SECONDS: Final = 1.0

_logger: Final = structlog.get_logger(__name__)

T = TypeVar("T")


class _Held(NotSetUp):
    """Others hold tables that are to be changed."""


def prepare_tables(datastore: Datastore) -> None:
    """Have ready what is needed without the read models: the owner takes steps, any other role looks for them.

    Raises:
        NotSetUp: something is missing that this role may not make, or others hold the tables.
        PersistenceError: the database is away, or said no.
    """
    with datastore.transaction() as cursor:
        found = usable(cursor)
    while not found.up_to_date:
        found = patiently(lambda: _step_as_owner(datastore))


def _step_as_owner(datastore: Datastore, *, contract: bool = True) -> Standing:
    """Take the next step, or make anew what was lost; return what is there now."""
    with datastore.alone() as cursor:
        found = usable(cursor)  # another may have made it meanwhile, or a newer program
        with refused(found):
            make(cursor, found, steps := _next(found, contract=contract))
            now = standing(cursor)
        if not steps and not now.whole:
            raise NotSetUp(f"{now.lost}, and no step makes that")
        return now


def _next(found: Standing, *, contract: bool) -> list[Step]:
    """Return the step that comes next; none where all was taken, or where it only takes away and may not yet."""
    return [step for step in found.pending[:1] if contract or not step.contracts]


def patiently(attempt: Callable[[], T]) -> T:
    """Make an attempt, in a transaction of its own, again and again while others hold the tables.

    Raises:
        NotSetUp: they held them at the last attempt as well, or something else is in the way.
    """
    for left in range(TRIES - 1, 0, -1):
        try:
            return attempt()
        except _Held:
            _logger.info("others hold the tables that are to be changed", tries_left=left)
        time.sleep(RETRY_SECONDS)
    return attempt()


def migrate(datastore: Datastore, *, contract: bool) -> tuple[list[Step], list[Step]]:
    """Take the steps that this program knows and the database does not have, each in a transaction, as their owner.

    Servers go on meanwhile. Whoever may append is given what servers of this program need of what is new.

    Args:
        datastore: on the database, as the log's owner.
        contract: whether steps are taken that older programs can't run on.

    Returns:
        The steps that were taken, and those that are left, the first of which is one of those.

    Raises:
        NotSetUp: the role is not the owner, there is no log, a newer program was here, or others hold the tables.
        PersistenceError: the database is away, or said no. Steps that were taken stay.
    """
    with datastore.transaction() as cursor:
        found = standing(cursor)
        if found.owner is None:
            raise NotSetUp(f"There is no log in the database {found.database} yet. {found.remedy}")
        must_not_be_newer(found)
        if not found.owns:
            raise NotSetUp(f"The log belongs to {found.owner}: run this with the DATABASE_URL of that role")
    taken: list[Step] = []
    while coming := _next(found, contract=contract):
        found = patiently(lambda: _step_as_owner(datastore, contract=contract))
        taken += [step for step in coming if step not in found.pending]
    if not found.whole:
        found = patiently(lambda: _step_as_owner(datastore, contract=contract))
    return taken, found.pending


def make(cursor: Cursor[DictRow], found: Standing, steps: Sequence[Step]) -> None:
    """Be the log's owner from now on, take steps, and make anew what was lost.

    Raises:
        NotSetUp: something was lost that only a newer program knows how to make.
        psycopg.Error: the database said no, or others hold the tables.
    """
    be_owner(cursor, found)
    if found.whole and not steps:
        return
    if found.set_up and not found.guarded:
        _logger.warning(f"{UNGUARDED}; it is made anew", database=found.database, owner=found.owner)
    cursor.execute(SQL("SET LOCAL lock_timeout = {}").format(LOCK_WAIT))
    migrations.apply(cursor, steps[:1], make=not found.only_unnoted)
    migrations.apply(cursor, steps[1:])
    now = standing(cursor)
    if not now.needed and not now.whole:
        if now.newer:
            raise NotSetUp(f"{now.lost}, and a newer program was here: start that one, which makes it anew")
        for step in now.taken:  # all of them in their order: a later one may have changed what an earlier one made
            step.make(cursor)
    for role in appenders(cursor):
        extend(cursor, role)
    needed = max(step.needs_program for step in now.applied or ())
    if needed != now.version:
        note = f"The events of all games. Append-only: no row is ever changed or deleted. (tic, set-up {needed})"
        cursor.execute(SQL("COMMENT ON TABLE public.game_events IS {}").format(note))


def be_owner(cursor: Cursor[DictRow], found: Standing) -> None:
    """Act as the owner until the transaction ends, so that all is his, whoever is connected."""
    if found.owner not in {None, found.role}:
        cursor.execute(SQL("SET LOCAL ROLE {}").format(Identifier(found.owner or "")))


@contextmanager
def refused(found: Standing) -> Iterator[None]:
    """Say what to do where the database refuses to make something."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        said = error.diag.message_primary
        raise NotSetUp(
            f"The database {found.database} is not set up, and the role {found.role} may not do it ({said})."
            f" {found.remedy}"
        ) from error
    except errors.LockNotAvailable as error:
        raise _Held(
            f"The database {found.database} is not set up yet, and others hold its tables. Try again in a moment"
        ) from error
