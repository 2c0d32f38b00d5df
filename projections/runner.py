"""Follow the log, exactly once: a read model and its position in the log change in one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

import structlog

from domain.storage import Datastore, PersistenceError
from projections.pace import SHORTEST_SECONDS, Pace
from projections.rebuilding import RebuildUnderWay, rebuilt
from projections.tables import LIVE, Projection, drop_tables, make_room, set_place, take_in, when_free, within

__all__ = ["BATCH", "Follower", "Projection", "RebuildUnderWay", "make_tables"]

BATCH: Final = 500
"""Events in one transaction."""
REBUILD_BATCH: Final = 5_000
REST_SECONDS: Final = 0.1
"""After a look that found something, so that under load one step takes in many events."""
RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 60.0
"""Between two attempts at an event that this program does not know."""

_logger: Final = structlog.get_logger(__name__)

_NO_TURNS: Final = nullcontext()

_BEGIN: Final = (
    "INSERT INTO projection_positions SELECT name, 0, version"
    " FROM unnest(%s::text[], %s::integer[]) AS p (name, version) ON CONFLICT DO NOTHING"
)
_VERSIONS: Final = "SELECT name, version FROM projection_positions WHERE name = ANY (%s) FOR UPDATE"
_NOTHING_NEW: Final = (
    # The greatest position stands at the end of an index. That none is greater would be looked for in the whole log.
    "SELECT position >= coalesce((SELECT max(notification_id) FROM public.game_events), 0) AS nothing_new"
    " FROM read_models.projection_positions WHERE name = %s AND version = %s"
)


def make_tables(datastore: Datastore, projections: Collection[Projection], *, keep_older: bool = False) -> None:
    """Make the tables of projections if they are missing, or older than this program's.

    What is missing is made at once. Older tables are dropped, projection after projection, unless they are kept for a
    rebuild to take their place when it is whole: readers who stay in them are waited for, for a minute or so.

    Raises:
        ProgrammingError: the schemas are missing, and this role may not make them.
        OthersThings: another role has put something in there.
        TablesHeld: readers stay in older tables; those stand, and are what is shown.
        OperationalError: the database is away.
    """
    for projection in _older_after_making(datastore, projections):
        if not keep_older:
            when_free(partial(_make_anew, datastore, projection))


def _older_after_making(datastore: Datastore, projections: Collection[Projection]) -> list[Projection]:
    """Make what is missing, all in one transaction; return the projections whose tables are older, and left alone."""
    known = {projection.name: projection.version for projection in projections}
    with datastore.alone() as cursor:
        make_room(cursor)
        within(cursor, LIVE)
        cursor.execute(_BEGIN, (list(known), list(known.values())))
        rows = cursor.execute(_VERSIONS, (list(known),)).fetchall()
        found = {row["name"]: row["version"] for row in rows}
        with cursor.connection.pipeline():  # most are there, and no statement waits for the answer to the one before
            for projection in projections:
                if found[projection.name] == projection.version:
                    projection.create_tables(cursor)
    return [projection for projection in projections if found[projection.name] < projection.version]


def _make_anew(datastore: Datastore, projection: Projection) -> None:
    with datastore.alone() as cursor:
        within(cursor, LIVE)
        (row,) = cursor.execute(_VERSIONS, ([projection.name],)).fetchall()
        if row["version"] >= projection.version:  # another server was first
            return
        drop_tables(cursor, projection, LIVE)
        update = "UPDATE projection_positions SET version = %s WHERE name = %s"
        cursor.execute(update, (projection.version, projection.name))
        set_place(cursor, projection, 0)
        projection.create_tables(cursor)


class Follower:
    """Keeps one projection up with the log. Several processes may follow for the same one: each waits its turn."""

    def __init__(
        self,
        datastore: Datastore,
        projection: Projection,
        *,
        batch: int = BATCH,
        turns: AbstractContextManager[object] = _NO_TURNS,
    ) -> None:
        """Take how many events one step takes in at most; and what it holds meanwhile, where followers take turns."""
        self._datastore: Final = datastore
        self._projection: Final = projection
        self._batch: Final = batch
        self._turns: Final = turns
        self._woken: Final = threading.Event()

    def create_tables(self, *, keep_older: bool = False) -> None:
        """Make the projection's tables if they are missing, or older than this program's.

        Older ones are dropped, unless they are kept for a rebuild to take their place when it is whole: readers who
        stay in them are waited for, for a minute or so.

        Raises:
            ProgrammingError: the schemas are missing, and this role may not make them.
            OthersThings: another role has put something in there.
            TablesHeld: readers stay in the older tables; those stand, and are what is shown.
            OperationalError: the database is away.
        """
        make_tables(self._datastore, [self._projection], keep_older=keep_older)

    def step(self) -> int:
        """Take in the next batch, if there is one; return how many events it had.

        Raises:
            LookupError: there are no tables yet, or they are another program's.
            PersistenceError: the database is away, or said no; nothing was taken in.
        """
        with self._turns:
            return self._step()

    def _step(self) -> int:
        # First a look that holds nobody up and writes nothing: most find nothing, or what another process takes in.
        found = self._datastore.read(_NOTHING_NEW, (self._projection.name, self._projection.version))
        if found and found[0]["nothing_new"]:
            return 0
        with self._datastore.transaction(commit=True) as cursor:
            # A read model that a crash takes back comes with its position: it takes the same events in again.
            cursor.execute("SET LOCAL synchronous_commit = off")
            within(cursor, LIVE)
            return take_in(cursor, self._projection, most=self._batch)

    def rebuild(
        self, progress: Callable[[int, int], None], *, batch: int = REBUILD_BATCH, over_newer: bool = False
    ) -> int:
        """Build the tables anew from the whole log; readers see the old ones until the new ones are whole.

        Followers go on with the old ones meanwhile, also those of an older program, if they are of its version.

        Args:
            progress: is told how many events are taken in, and how many there are.
            batch: how many events are taken in in one transaction.
            over_newer: whether the old ones may be a newer program's, to which this one does not go on.

        Returns:
            How many events were taken in.

        Raises:
            LookupError: there are no tables yet, or they are a newer program's.
            RebuildUnderWay: someone else is at it.
            PersistenceError: the database is away, or said no; the old tables stand.
        """
        return rebuilt(self._datastore, self._projection, batch=batch, progress=progress, over_newer=over_newer)

    def wake(self) -> None:
        """Say that there may be something new in the log; from any thread, at no cost."""
        self._woken.set()

    def run(self, stop: threading.Event) -> None:
        """Follow until ``stop`` is set, also over times when the database is away.

        It looks when it is woken, and by itself: what wakes it may be lost.
        """
        threading.Thread(target=self._wake_at_the_end, args=(stop,), daemon=True).start()
        pace, trouble = Pace(), RETRY_SECONDS
        while not stop.is_set():
            self._woken.clear()
            try:
                found = self._catch_up(stop)
            except PersistenceError as error:
                _logger.warning("projection waits for the database", projection=self._projection.name, error=str(error))
                stop.wait(RETRY_SECONDS)
            except Exception as error:
                # An event of a newer server, perhaps: nothing is passed over, and a newer program takes it in.
                _logger.error(  # noqa: TRY400 - with its traceback the first time only
                    "projection can't go on",
                    projection=self._projection.name,
                    error=str(error),
                    exc_info=trouble == RETRY_SECONDS,
                )
                stop.wait(trouble)
                trouble = min(2 * trouble, LONGEST_RETRY_SECONDS)
            else:
                trouble = RETRY_SECONDS
                self._pause(pace.next(found), REST_SECONDS if found else SHORTEST_SECONDS, stop)

    def _catch_up(self, stop: threading.Event) -> bool:
        """Take in all there is; tell whether there was something."""
        taken = most = self.step()
        while taken == self._batch and not stop.is_set():
            taken = self.step()
        return most > 0

    def _pause(self, seconds: float, rest: float, stop: threading.Event) -> None:
        """Wait so long, or until woken; but ``rest`` in any case, so that hints can't make it spin."""
        if not stop.wait(rest) and seconds > rest:
            self._woken.wait(seconds - rest)

    def _wake_at_the_end(self, stop: threading.Event) -> None:
        stop.wait()
        self._woken.set()
