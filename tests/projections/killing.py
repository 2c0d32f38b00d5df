"""Processes of their own that follow the log or rebuild a read model, and are killed at a statement.

They are killed when it is sent and its answer not read. To the database this is the same as just before the next one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from typing import Any, Final

import psycopg

from domain.application import Games
from domain.storage import Datastore
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.tables import Projection
from tests.projections.finished import again, logged
from tests.projections.shown import Contents, contents, some_games

__all__ = ["Act", "killed_at_each"]

BATCH: Final = 14
_PROCESSES: Final = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


class Act(Enum):
    """What the process does."""

    FOLLOW = "follow"
    REBUILD = "rebuild"


def _quietly(_done: int, _total: int) -> None:
    """Tell nobody how far it is."""


def caught_up(follower: Follower) -> None:
    """Take in the whole log."""
    while follower.step():
        pass


def _kill_at(statement: int) -> None:
    """Have this process killed when its first thread has sent a statement, also one that begins or commits."""
    wait, first_thread = psycopg.Connection.wait, threading.get_ident()
    left = statement

    def counted(connection: psycopg.Connection[Any], answer: Any, *rest: Any, **named: Any) -> Any:
        nonlocal left
        if threading.get_ident() == first_thread:
            if not left:
                with suppress(StopIteration):
                    next(answer)
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return wait(connection, answer, *rest, **named)

    psycopg.Connection.wait = counted  # type: ignore[assignment]


def _live(url: str, name: str, act: Act, statement: int) -> None:
    with Datastore(url, connections=2) as datastore:
        datastore.pool.wait()
        _kill_at(statement)
        follower = Follower(datastore, PROJECTIONS[name], batch=BATCH)
        if act is Act.FOLLOW:
            caught_up(follower)
        else:
            follower.rebuild(_quietly, batch=BATCH)


def _killed(url: str, name: str, act: Act, statement: int) -> bool:
    """Run such a process to its end; tell whether it was killed, and had not done before."""
    process = _PROCESSES.Process(target=_live, args=(url, name, act, statement))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


class _Kept:
    """A copy of a read model, to begin from again."""

    def __init__(self, url: str, projection: Projection) -> None:
        self._url = url
        self._tables = (*projection.tables, "projection_positions")
        with psycopg.connect(url) as connection:
            connection.execute("CREATE SCHEMA kept")
            for table in self._tables:
                connection.execute(f"CREATE TABLE kept.{table} AS TABLE read_models.{table}")

    def restore(self) -> None:
        with psycopg.connect(self._url) as connection:
            for table in reversed(self._tables):  # the position first: it holds off whoever is still at work
                connection.execute(f"DELETE FROM read_models.{table}")
                connection.execute(f"INSERT INTO read_models.{table} SELECT * FROM kept.{table}")


def killed_at_each(
    statements: Iterable[int],
    act: Act,
    projection: Projection,
    *,
    datastore: Datastore,
    games: Games,
    url: str,
) -> int:
    """Kill a process at each of these statements, until one is done before; return how many were killed.

    After each the tables are what they were at some moment of an undisturbed run, and another process's follower and
    rebuild go on to exactly what an undisturbed model holds.
    """
    follower = Follower(datastore, projection, batch=BATCH)
    _played(datastore, games, 1)
    if act is Act.REBUILD:  # the live tables are wrong, and behind: what is rebuilt can be told from them
        caught_up(follower)
        with psycopg.connect(url) as connection:
            connection.execute(f"DELETE FROM read_models.{projection.tables[0]}")
        _played(datastore, games, 2)
    kept = _Kept(url, projection)
    undisturbed = _undisturbed(follower, act, projection, url)
    kills = 0
    for statement in statements:
        kept.restore()
        if not _killed(url, projection.name, act, statement):
            break
        kills += 1
        assert contents(url, projection) in undisturbed, f"{act} was killed at statement {statement}"
        if act is Act.REBUILD:
            caught_up(follower)
            follower.rebuild(_quietly, batch=BATCH)
        caught_up(follower)
        assert contents(url, projection) == undisturbed[-1], f"{act} was killed at statement {statement}"
    return kills


def _played(datastore: Datastore, games: Games, number: int) -> None:
    """Games for one, in every state, and one for several that is finished and bears a label."""
    some_games(games, 2)
    logged(datastore, [again("poker-labelled-one-round", number)])


def _undisturbed(follower: Follower, act: Act, projection: Projection, url: str) -> list[Contents]:
    """What the tables hold, one after the other, where nothing is killed."""
    seen = [contents(url, projection)]
    if act is Act.REBUILD:
        follower.rebuild(_quietly, batch=BATCH)
        return [*seen, contents(url, projection)]
    while follower.step():
        seen.append(contents(url, projection))
    return seen
