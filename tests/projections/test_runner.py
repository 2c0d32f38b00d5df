"""Read models follow the log exactly once, and can be built anew."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
from psycopg import Cursor
from psycopg.rows import DictRow

from domain.application import Games
from domain.lifecycle import Resign
from domain.storage import Datastore, Logged
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from projections.models import PROJECTIONS
from projections.runner import Follower, Projection

ADA = UUID(int=1)


def some_games(games: Games, number: int = 3) -> None:
    """Games in every state; a time limit for every second one."""
    for n in range(number):
        options = Options(time_limit=60 if n % 2 else None)
        game = games.open("ticitaire", OpenTicitaire(player=ADA, options=options), player=ADA, key=None).game.id
        games.handle(game, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=None)
        if n % 3 == 0:
            games.handle(game, lambda seat: Resign(seat=seat), player=ADA, expected_version=None, key=None)


def contents(database_url: str, projection: Projection) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(database_url) as connection:
        tables = (*projection.tables, "projection_positions")
        return {table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def position(database_url: str, name: str = "lobby") -> int:
    with psycopg.connect(database_url) as connection:
        query = "SELECT position FROM projection_positions WHERE name = %s"
        row = connection.execute(query, (name,)).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture(params=PROJECTIONS.values(), ids=list(PROJECTIONS))
def projection(request: pytest.FixtureRequest) -> Projection:
    model: Projection = request.param
    return model


def test_a_step_takes_in_one_batch(datastore: Datastore, games: Games, projection: Projection) -> None:
    some_games(games, 2)
    follower = Follower(datastore, projection, batch=7)
    assert [follower.step() for _ in range(3)] == [7, 4, 0]


@pytest.mark.parametrize("batch", [1, 3, 500])
def test_however_the_log_is_cut_the_tables_are_the_same(
    datastore: Datastore, games: Games, projection: Projection, database_url: str, batch: int
) -> None:
    some_games(games)
    follower = Follower(datastore, projection, batch=batch)
    while follower.step():
        pass
    in_pieces = contents(database_url, projection)
    Follower(datastore, projection).rebuild(lambda _done, _total: None)
    assert contents(database_url, projection) == in_pieces


def test_a_rebuild_begins_anew_whatever_was_in_the_tables(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games)
    follower = Follower(datastore, projection)
    follower.step()
    live = contents(database_url, projection)
    with psycopg.connect(database_url) as connection:
        connection.execute(f"DELETE FROM {projection.tables[0]}")
    follower.rebuild(lambda _done, _total: None)
    assert contents(database_url, projection) == live


def test_a_rebuild_tells_how_far_it_is(datastore: Datastore, games: Games, projection: Projection) -> None:
    some_games(games, 2)
    told: list[tuple[int, int]] = []
    assert Follower(datastore, projection, batch=4).rebuild(lambda done, total: told.append((done, total))) == 11
    assert told == [(4, 11), (8, 11), (11, 11)]


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

    def execute(self, *arguments: Any) -> Any:
        self._count()
        return self._cursor.execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self._count()
        return self._cursor.executemany(*arguments)

    def _count(self) -> None:
        if not self._left:
            raise Killed
        self._left -= 1


def test_killed_at_any_statement_it_neither_skips_nor_repeats(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games)
    empty = contents(database_url, projection)
    for statement in range(12):
        with pytest.raises(Killed):
            Follower(datastore, KilledAtStatement(projection, statement)).step()
        assert contents(database_url, projection) == empty
    Follower(datastore, projection).step()
    once = contents(database_url, projection)
    Follower(datastore, projection).rebuild(lambda _done, _total: None)
    assert contents(database_url, projection) == once


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


def test_readers_see_the_old_tables_until_the_new_ones_are_whole(
    datastore: Datastore, games: Games, database_url: str
) -> None:
    some_games(games)
    lobby = PROJECTIONS["lobby"]
    follower = Follower(datastore, lobby, batch=2)
    while follower.step():
        pass
    live, seen = contents(database_url, lobby), []
    follower.rebuild(lambda _done, _total: seen.append(contents(database_url, lobby)))
    assert seen == [live] * len(seen)
    assert seen


def test_a_follower_goes_on_after_its_connection_was_cut(datastore: Datastore, games: Games, database_url: str) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=Follower(datastore, PROJECTIONS["lobby"]).run, args=(stop,))
    thread.start()
    try:
        some_games(games, 1)
        until(lambda: position(database_url) == 7)
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        some_games(games, 1)
        until(lambda: position(database_url) == 14)
    finally:
        stop.set()
        thread.join()


def test_the_library_s_own_function_for_appending_is_not_there(datastore: Datastore, games: Games) -> None:
    with datastore.get_connection() as conn:
        row = conn.execute("SELECT count(*) AS n FROM pg_proc WHERE proname LIKE 'es_insert_events%'").fetchone()
    assert row == {"n": 0}


def test_a_follower_outlives_an_event_that_it_does_not_know(
    datastore: Datastore, games: Games, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_games(games, 1)
    monkeypatch.setattr("projections.runner.RETRY_SECONDS", 0.01)
    follower, stop = Follower(datastore, PROJECTIONS["lobby"]), threading.Event()
    step, failures = follower.step, list[int]()

    def unknown_at_first() -> int:
        if len(failures) < 2:
            failures.append(1)
            raise ValueError("this program knows no fact tomorrow.Fact")
        return step()

    monkeypatch.setattr(follower, "step", unknown_at_first)
    thread = threading.Thread(target=follower.run, args=(stop,))
    thread.start()
    try:
        until(lambda: position(database_url) == 7)
    finally:
        stop.set()
        thread.join()
