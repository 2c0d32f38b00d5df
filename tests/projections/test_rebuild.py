"""Read models are built anew beside the ones that are shown, and take their place all at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Self

import psycopg
import pytest
from psycopg.sql import SQL

from domain.application import Games
from domain.storage import Datastore
from projections.lobby import LobbyQueries
from projections.models import PROJECTIONS
from projections.results import ResultQueries
from projections.runner import Follower, Projection, RebuildUnderWay
from projections.tables import BUILD
from tests.projections.conftest import Running
from tests.projections.shown import contents, position, some_games, until

LOBBY = PROJECTIONS["lobby"]


def quietly(_done: int, _total: int) -> None:
    """Tell nobody how far it is."""


def caught_up(follower: Follower) -> None:
    while follower.step():
        pass


@pytest.mark.parametrize("batch", [1, 3, 500])
def test_however_the_log_is_cut_the_tables_are_the_same(
    datastore: Datastore, games: Games, projection: Projection, database_url: str, batch: int
) -> None:
    some_games(games)
    caught_up(Follower(datastore, projection, batch=batch))
    in_pieces = contents(database_url, projection)
    Follower(datastore, projection).rebuild(quietly, batch=batch + 1)
    assert contents(database_url, projection) == in_pieces


def test_a_rebuild_begins_anew_whatever_was_in_the_tables(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games)
    follower = Follower(datastore, projection)
    follower.step()
    live = contents(database_url, projection)
    with psycopg.connect(database_url) as connection:
        connection.execute(f"DELETE FROM read_models.{projection.tables[0]}")
    follower.rebuild(quietly)
    assert contents(database_url, projection) == live


def test_a_rebuild_tells_how_far_it_is(datastore: Datastore, games: Games, projection: Projection) -> None:
    some_games(games, 2)
    told: list[tuple[int, int]] = []
    follower = Follower(datastore, projection)
    assert follower.rebuild(lambda done, total: told.append((done, total)), batch=4) == 11
    assert told == [(4, 11), (8, 11), (11, 11)]


def test_while_it_builds_the_database_learns_again_and_again_how_much_is_in_the_tables(
    datastore: Datastore, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.rebuilding.KNOWN_FROM", 4)
    some_games(games, 4)
    known = list[int]()

    def look(_done: int, _total: int) -> None:
        query = SQL("SELECT reltuples::int AS rows FROM pg_class WHERE oid = to_regclass(%s)")
        known.append(datastore.read(query.format(), (f"{BUILD}.lobby_games",))[0]["rows"])

    Follower(datastore, LOBBY).rebuild(look, batch=3)
    assert known == [-1, -1, 1, 1, 3, 3, 3, 3]  # after 6 events, and after 12


def test_after_a_rebuild_the_tables_have_all_their_indexes_and_nothing_is_left_of_the_building(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    def made() -> list[tuple[object, ...]]:
        with psycopg.connect(database_url) as connection:
            query = "SELECT schemaname, tablename, indexdef FROM pg_indexes WHERE schemaname LIKE 'read_models%'"
            return sorted(connection.execute(query).fetchall())

    before = made()
    some_games(games)
    Follower(datastore, projection).rebuild(quietly)
    assert made() == before


def test_a_follower_goes_on_where_the_rebuild_has_come_to(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games)
    follower = Follower(datastore, projection)
    follower.rebuild(quietly)
    some_games(games)
    caught_up(follower)
    followed = contents(database_url, projection)
    follower.rebuild(quietly)
    assert contents(database_url, projection) == followed


def test_readers_see_the_old_tables_until_the_new_ones_are_whole(
    datastore: Datastore, games: Games, database_url: str
) -> None:
    some_games(games)
    follower = Follower(datastore, LOBBY, batch=2)
    caught_up(follower)
    live, seen = contents(database_url, LOBBY), []
    follower.rebuild(lambda _done, _total: seen.append(contents(database_url, LOBBY)), batch=2)
    assert seen == [live] * len(seen)
    assert len(seen) > 5


def test_followers_go_on_with_the_old_tables_while_the_new_ones_are_built(
    datastore: Datastore, games: Games, database_url: str
) -> None:
    some_games(games)
    follower = Follower(datastore, LOBBY, batch=2)
    reached: list[int] = []

    def more(_done: int, _total: int) -> None:
        if len(reached) < 3:
            some_games(games, 1)
            caught_up(follower)
            reached.append(position(database_url))

    follower.rebuild(more, batch=2)
    assert reached == [22, 29, 36]
    assert position(database_url) == 36


def test_what_was_half_built_is_thrown_away_by_the_next_rebuild(
    datastore: Datastore, games: Games, projection: Projection, database_url: str
) -> None:
    some_games(games)
    follower = Follower(datastore, projection, batch=5)
    caught_up(follower)
    live = contents(database_url, projection)

    class Ended(Exception):
        """The rebuild goes no further."""

    def end(done: int, _total: int) -> None:
        if done >= 10:
            raise Ended

    with pytest.raises(Ended):
        follower.rebuild(end, batch=5)
    assert contents(database_url, projection, BUILD)["projection_positions"] == [
        (projection.name, 10, projection.version)
    ]
    assert contents(database_url, projection) == live
    assert follower.rebuild(quietly) == 15
    assert contents(database_url, projection) == live


def test_of_two_rebuilds_of_one_model_the_second_is_refused(
    datastore: Datastore, games: Games, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.rebuilding.TAKE_OVER_WAIT", "10ms")
    some_games(games, 1)
    follower, refused = Follower(datastore, LOBBY), list[str]()

    def another(_done: int, _total: int) -> None:
        with pytest.raises(RebuildUnderWay) as refusal:
            follower.rebuild(quietly)
        refused.append(str(refusal.value))

    follower.rebuild(another)
    assert refused == ["lobby is being rebuilt already"]
    assert follower.rebuild(quietly) == 7


def test_two_models_are_rebuilt_at_the_same_time(datastore: Datastore, games: Games, database_url: str) -> None:
    some_games(games)
    one, other = Follower(datastore, PROJECTIONS["lobby"]), Follower(datastore, PROJECTIONS["deadlines"])

    def both(_done: int, _total: int) -> None:
        assert other.rebuild(quietly) == 15

    assert one.rebuild(both) == 15
    assert position(database_url, "deadlines") == position(database_url, "lobby") == 15


def test_a_reader_who_stays_in_the_old_tables_holds_up_the_swap_and_no_other_reader(
    datastore: Datastore, games: Games, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.tables.LOCK_WAIT", "10ms")
    monkeypatch.setattr("projections.rebuilding.SWAP_RETRY_SECONDS", 0.01)
    some_games(games)
    caught_up(Follower(datastore, LOBBY))
    tries = threading.Semaphore(0)
    monkeypatch.setattr("projections.rebuilding._logger.info", lambda *_, **__: tries.release())
    with psycopg.connect(database_url) as stays, ThreadPoolExecutor(1) as pool:
        stays.execute("SELECT FROM read_models.lobby_games")
        rebuild = pool.submit(Follower(datastore, LOBBY).rebuild, quietly)
        for _ in range(3):
            assert tries.acquire(timeout=20)
            assert len(LobbyQueries(datastore).games()) == 3
        some_games(games, 1)
        assert Follower(datastore, LOBBY).step() == 7
        stays.rollback()
        assert rebuild.result() == 22
    assert len(LobbyQueries(datastore).games()) == 4


def test_a_reader_who_stays_in_what_a_killed_rebuild_left_holds_up_no_follower(
    datastore: Datastore, games: Games, database_url: str, tries: threading.Semaphore
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE read_models_rebuild.lobby_games ()")
    follower = Follower(datastore, LOBBY)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url) as stays:
        stays.execute("SELECT FROM read_models_rebuild.lobby_games")
        rebuild = pool.submit(follower.rebuild, quietly)
        for reached in (7, 14, 21):
            assert tries.acquire(timeout=20)
            some_games(games, 1)
            caught_up(follower)
            assert position(database_url) == reached
        stays.rollback()
        assert rebuild.result(20) == 21


class OverAndOver:
    """Does something in a thread of its own as long as the block lasts; fails where it failed."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.times = 0
        self._act = act
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._worker = self._pool.submit(self._work)

    def _work(self) -> None:
        while not self._stop.is_set():
            self._act()
            self.times += 1

    def wait_for_one_more(self) -> None:
        """Wait until it was done once from beginning to end, or failed."""
        wanted = self.times + 2
        until(lambda: self.times >= wanted or self._worker.done())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        self._worker.result()


def reading(number: Callable[[], int]) -> Callable[[], None]:
    """A reader of a list, to whom it may never be shorter than it was."""
    longest = 0

    def read() -> None:
        nonlocal longest
        found = number()
        assert found >= longest
        longest = found

    return read


def test_under_load_readers_never_see_less_than_before_and_rebuilt_equals_live_row_for_row(
    datastore: Datastore, games: Games, database_url: str, running: Running
) -> None:
    some_games(games)
    followers = {projection: Follower(datastore, projection) for projection in PROJECTIONS.values()}
    for follower in followers.values():
        caught_up(follower)
    with ExitStack() as stack:
        for follower in followers.values():
            stack.enter_context(running(follower))
        listed = reading(lambda: len(LobbyQueries(datastore).games(first=10_000)))
        finished = reading(lambda: len(ResultQueries(datastore).finished(first=10_000)))
        busy = [OverAndOver(act) for act in (listed, finished, lambda: some_games(games, 1))]
        for each in busy:
            stack.enter_context(each)
        for _ in range(5):
            for follower in followers.values():
                follower.rebuild(quietly)
                for each in busy:  # the swap is among readings and moves, not after the last of them
                    each.wait_for_one_more()
    for projection, follower in followers.items():
        caught_up(follower)
        live = contents(database_url, projection)
        follower.rebuild(quietly)
        assert contents(database_url, projection) == live
