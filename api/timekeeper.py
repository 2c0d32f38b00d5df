"""The timekeeper: ends what has run out of time, and gives back the time in which no server ran (ruling G2).

Every server has one, and they need not know of each other: a time-out is decided by the rules, so it is never an
early one, and the version of the game allows one of two rivals only.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from domain.application import (
    GameNotFound,
    Games,
    KeyReused,
    SealedElsewhere,
    SealUnopened,
    Undecided,
    VersionConflict,
)
from domain.decider import Command, RuleViolation
from domain.lifecycle import ExtendDeadline, RunOutOfTime
from domain.storage import Datastore, PersistenceError, log_end
from projections.deadlines import Deadline, DeadlineQueries

__all__ = ["GRACE_SECONDS", "TABLES", "Outage", "Timekeeper"]

INTERVAL_SECONDS: Final = 1.0
GRACE_SECONDS: Final = 10
"""Silence of all servers that is longer than this is an outage, and given back."""
BATCH: Final = 100
ASIDE_SECONDS: Final = 60.0
"""Before a game that could not be read, or whose seal could not be opened, is tried again."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS public.heartbeat (
    one boolean PRIMARY KEY DEFAULT TRUE CHECK (one),
    at timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS public.outages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    began timestamptz NOT NULL,
    ended timestamptz NOT NULL,
    given_back boolean NOT NULL DEFAULT FALSE
);
"""

_logger: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which no server ran."""

    id: int
    began: datetime
    ended: datetime

    def took(self, deadline: Deadline) -> int:
        """Return how much of a deadline's time it took, in seconds, rounded up."""
        return math.ceil((self.ended - max(self.began, deadline.since)).total_seconds())


class Timekeeper:
    """One server's timekeeper."""

    def __init__(self, datastore: Datastore, games: Games, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock: Final = clock
        self._beaten = -math.inf
        self._set_aside: Final[dict[UUID, float]] = {}
        self._last_beat = datetime.min.replace(tzinfo=UTC)
        self._datastore: Final = datastore
        self._games: Final = games
        self._deadlines: Final = DeadlineQueries(datastore)
        self._grace: Final = GRACE_SECONDS
        self.kept_at = 0.0
        """When it was last done with all that had run out of time, in seconds since 1970; 0 before that."""

    @property
    def set_aside(self) -> int:
        """How many games it can't keep the time of at present."""
        return len(self._set_aside)

    def run(self, stop: threading.Event) -> None:
        """Keep the time until ``stop`` is set, whatever happens: no game can end by its time without it."""
        while not stop.is_set():
            try:
                self.step()
                self.kept_at = time.time()
            except (PersistenceError, Undecided) as error:
                _logger.warning("the timekeeper waits for the database", error=type(error).__name__)
            except Exception:
                _logger.exception("the timekeeper failed, and tries again")
            stop.wait(INTERVAL_SECONDS)

    def step(self) -> None:
        """Note that a server runs, give back what an outage took, and end what has run out.

        Raises:
            PersistenceError, Undecided: the database is away; the next step goes on from there.
        """
        now = self._beat()
        for outage in self._to_give_back():
            if not self._caught_up() or not self._give_back(outage):
                return  # nothing is ended before all has been given back
        # By the time of the heartbeat: had the clock leapt since then, an outage would first have to be given back.
        last: Deadline | None = None
        while due := self._deadlines.due(now, after=last, first=BATCH):
            last = due[-1]
            for deadline in due:
                if self._set_aside.get(deadline.game, -math.inf) <= self._clock():
                    self._act(deadline, RunOutOfTime(), key=None)

    def _beat(self) -> datetime:
        """Leave a heartbeat, at most one a second, and note an outage where the last one is too old.

        Return the time of the last one.
        """
        if self._clock() - self._beaten < INTERVAL_SECONDS / 2:
            return self._last_beat
        with self._datastore.transaction(commit=True) as cursor:
            # On the standby as well, where there is one: while nobody's move can be, no server counts as running.
            now = "SELECT clock_timestamp() AS now, (SELECT at FROM heartbeat FOR UPDATE) AS last"
            row = cursor.execute(now).fetchone()
            if row is None:
                raise LookupError("the database does not tell the time")
            if row["last"] and (row["now"] - row["last"]).total_seconds() > self._grace:
                insert = "INSERT INTO outages (began, ended) VALUES (%s, %s)"
                cursor.execute(insert, (row["last"], row["now"]))
            upsert = "INSERT INTO heartbeat (at) VALUES (%s) ON CONFLICT (one) DO UPDATE SET at = EXCLUDED.at"
            cursor.execute(upsert, (row["now"],))
        self._beaten, self._last_beat = self._clock(), row["now"]
        return self._last_beat

    def _to_give_back(self) -> list[Outage]:
        with self._datastore.get_connection() as conn:
            rows = conn.execute("SELECT id, began, ended FROM outages WHERE NOT given_back ORDER BY id").fetchall()
        return [Outage(**row) for row in rows]

    def _caught_up(self) -> bool:
        with self._datastore.transaction() as cursor:
            end = log_end(cursor)
            query = "SELECT position FROM read_models.projection_positions WHERE name = 'deadlines'"
            row = cursor.execute(query).fetchone()
            return row is not None and int(row["position"]) >= end

    def _give_back(self, outage: Outage) -> bool:
        """Give an outage back to every game it took from; tell whether all have it."""
        # Whoever began within the grace before its end began when a server ran again, and had not beaten yet.
        until = outage.ended - timedelta(seconds=self._grace)
        whole, found = True, self._deadlines.running_during(outage.began, until)
        for deadline in found:
            # The key makes it happen once, whichever server comes to it, and however often.
            # It names the deadline, for the turn may end meanwhile, and the next one has lost no time.
            extend = ExtendDeadline(seconds=outage.took(deadline), deadline=deadline.due_at)
            whole &= self._act(deadline, extend, key=f"outage {outage.id}")
        if whole:
            with self._datastore.transaction(commit=True) as cursor:
                cursor.execute("UPDATE outages SET given_back = TRUE WHERE id = %s", (outage.id,))
            if found:
                _logger.info(
                    "time was given back",
                    began=outage.began.isoformat(),
                    ended=outage.ended.isoformat(),
                    games=len(found),
                )
        return whole

    def _act(self, deadline: Deadline, command: Command, *, key: str | None) -> bool:
        """Give a command for a game; tell whether that is done with, which it is not while others come first."""
        self._beat()  # many games take long, and the server is there all the while
        try:
            self._games.act(deadline.game, command, key=key)
        except VersionConflict:
            return False
        except (RuleViolation, GameNotFound, KeyReused):
            return True  # it is over, or has been given more time already: the list follows in a moment
        except (PersistenceError, Undecided):
            raise
        except SealedElsewhere:
            self._set_aside[deadline.game] = math.inf  # for as long as this server runs: its time is kept elsewhere
        except SealUnopened:
            self._set_aside[deadline.game] = self._clock() + ASIDE_SECONDS  # the key may come back; the log tells of it
        except Exception:
            # One game that can't be read must not keep the time of all others.
            _logger.exception("a game's time can't be kept", game=str(deadline.game))
            self._set_aside[deadline.game] = self._clock() + ASIDE_SECONDS
        else:
            self._set_aside.pop(deadline.game, None)
        return True
