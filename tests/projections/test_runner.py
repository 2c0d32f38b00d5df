"""Read models follow the log exactly once, whether they are told of it or not."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import psycopg
import pytest
from psycopg import Cursor
from psycopg.rows import DictRow

from domain.application import Games
from domain.storage import Datastore, Logged
from projections.lobby import Lobby
from projections.models import PROJECTIONS
from projections.runner import Follower, Projection
from tests.projections.conftest import Running
from tests.projections.shown import contents, position, some_games, until

LOBBY = PROJECTIONS["lobby"]


def test_a_step_takes_in_one_batch(datastore: Datastore, games: Games, projection: Projection) -> None:
    some_games(games, 2)
    follower = Follower(datastore, projection, batch=7)
    assert [follower.step() for _ in range(3)] == [7, 4, 0]


def test_a_step_that_finds_nothing_waits_for_nobody_and_writes_nothing(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games, 1)
    follower = Follower(datastore, projection)
    follower.step()
    with psycopg.connect(database_url) as other:
        other.execute("SELECT FROM read_models.projection_positions FOR UPDATE")
        assert follower.step() == 0


class Turns:
    """Turns that followers take; it tells whether somebody's is under way."""

    under_way = False

    def __enter__(self) -> None:
        self.under_way = True

    def __exit__(self, *_: object) -> None:
        self.under_way = False


def test_where_followers_take_turns_all_of_a_step_is_within_one(datastore: Datastore, games: Games) -> None:
    turns, within = Turns(), list[bool]()

    class Watched(Lobby):
        def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
            within.append(turns.under_way)
            super().apply(cursor, events)

    some_games(games, 1)
    assert Follower(datastore, Watched(), turns=turns).step() > 0
    assert (within, turns.under_way) == ([True], False)


class Killed(Exception):
    """What happens to a process at any moment."""


class KilledAtStatement:
    """A projection whose process is killed at a statement."""

    def __init__(self, projection: Projection, statement: int) -> None:
        self.name = projection.name
        self.version = projection.version
        self.tables = projection.tables
        self.create_tables = projection.create_tables
        self._projection = projection
        self._left = statement

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        self._projection.apply(cast("Cursor[DictRow]", Counting(cursor, self._left)), events)
        raise Killed


class Counting:
    """A cursor that does so many statements and no more."""

    def __init__(self, cursor: Cursor[DictRow], left: int) -> None:
        self._cursor = cursor
        self._left = left

    def execute(self, *arguments: Any, **named: Any) -> Any:
        if not self._left:
            raise Killed
        self._left -= 1
        return self._cursor.execute(*arguments, **named)

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """For cursors of other kinds, which read: what they read is not counted."""
        return self._cursor.connection


def test_what_a_step_that_failed_has_written_is_taken_back(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games)
    empty = contents(database_url, projection)
    for statement in range(12):
        with pytest.raises(Killed):
            Follower(datastore, KilledAtStatement(projection, statement)).step()
        assert contents(database_url, projection) == empty


def test_followers_that_run_at_the_same_time_take_turns(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games, 6)

    def follow() -> int:
        follower, taken = Follower(datastore, projection, batch=2), 0
        while batch := follower.step():
            taken += batch
        return taken

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: follow(), range(4))) == position(database_url, projection.name)


# Running


class Looks:
    """When a follower has looked at the log."""

    def __init__(self, patch: pytest.MonkeyPatch, follower: Follower) -> None:
        self.times: list[float] = []
        step = follower.step

        def looked() -> int:
            found = step()
            self.times.append(time.monotonic())
            return found

        patch.setattr(follower, "step", looked)

    def wait_for(self, number: int) -> None:
        until(lambda: len(self.times) >= number)


class Patient:
    """A pace that never looks by itself."""

    def next(self, found: bool) -> float:
        return 3600.0


@pytest.fixture
def only_when_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projections.runner.Pace", Patient)


def test_without_any_hint_a_follower_sees_everything(
    datastore: Datastore, games: Games, projection: Projection, database_url: str, running: Running
) -> None:
    with running(Follower(datastore, projection)):
        for end in (7, 14, 21):
            some_games(games, 1)
            until(lambda: position(database_url, projection.name) == end)  # noqa: B023 - called at once


@pytest.mark.usefixtures("only_when_woken")
def test_a_follower_that_is_woken_looks_at_once(
    datastore: Datastore, games: Games, database_url: str, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(datastore, LOBBY)
    looks = Looks(monkeypatch, follower)
    with running(follower):
        looks.wait_for(1)
        some_games(games, 1)
        assert position(database_url) == 0
        follower.wake()
        until(lambda: position(database_url) == 7)


@pytest.mark.usefixtures("only_when_woken")
def test_what_wakes_a_follower_while_it_looks_is_not_lost(
    datastore: Datastore, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(datastore, LOBBY)
    looking, go_on, steps = threading.Event(), threading.Event(), list[int]()

    def slow() -> int:
        steps.append(1)
        looking.set()
        go_on.wait(20)
        return 0

    monkeypatch.setattr(follower, "step", slow)
    with running(follower):
        looking.wait(20)
        follower.wake()
        go_on.set()
        until(lambda: len(steps) == 2)


def test_however_often_it_is_woken_a_follower_does_not_spin(
    datastore: Datastore, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(datastore, LOBBY)
    looks = Looks(monkeypatch, follower)
    with running(follower):
        while len(looks.times) < 6:
            follower.wake()
    assert looks.times[5] - looks.times[0] >= 5 * 0.02


@pytest.mark.usefixtures("only_when_woken")
def test_a_follower_stops_at_once(datastore: Datastore, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    follower = Follower(datastore, LOBBY)
    looks = Looks(monkeypatch, follower)
    with running(follower) as thread:
        looks.wait_for(1)
    assert not thread.is_alive()


def test_a_follower_holds_no_connection_while_it_waits(
    datastore: Datastore, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(datastore, LOBBY)
    looks = Looks(monkeypatch, follower)
    with running(follower):
        looks.wait_for(2)
        until(lambda: datastore.pool.get_stats()["pool_available"] == datastore.pool.get_stats()["pool_size"])


def test_a_follower_goes_on_after_its_connection_was_cut(
    datastore: Datastore, games: Games, database_url: str, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.runner.RETRY_SECONDS", 0.01)
    with Datastore(database_url, connections=2) as its_own, running(Follower(its_own, LOBBY)):
        some_games(games, 1)
        until(lambda: position(database_url) == 7)
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        datastore.pool.check()
        some_games(games, 1)
        until(lambda: position(database_url) == 14)


def test_a_follower_outlives_an_event_that_it_does_not_know(
    datastore: Datastore, games: Games, database_url: str, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_games(games, 1)
    monkeypatch.setattr("projections.runner.RETRY_SECONDS", 0.01)
    follower = Follower(datastore, LOBBY)
    step, failures = follower.step, list[int]()

    def unknown_at_first() -> int:
        if len(failures) < 2:
            failures.append(1)
            raise ValueError("this program knows no fact tomorrow.Fact")
        return step()

    monkeypatch.setattr(follower, "step", unknown_at_first)
    with running(follower):
        until(lambda: position(database_url) == 7)


def test_the_library_s_own_function_for_appending_is_not_there(datastore: Datastore, games: Games) -> None:
    with datastore.get_connection() as conn:
        row = conn.execute("SELECT count(*) AS n FROM pg_proc WHERE proname LIKE 'es_insert_events%'").fetchone()
    assert row == {"n": 0}
