"""Several read models are rebuilt at the same time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal

import psycopg
import pytest

from domain.application import Games
from domain.storage import Datastore
from projections import side_by_side
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.side_by_side import NotRebuilt, rebuilt_side_by_side
from tests.projections.shown import contents, some_games, until

NAMES = ["lobby", "deadlines"]


def quietly(_name: str, _done: int, _total: int) -> None:
    """Tell nobody how far it is."""


def wrong(datastore: Datastore, url: str, name: str) -> object:
    """Take a model in, spoil its tables, and return what it held."""
    follower = Follower(datastore, PROJECTIONS[name])
    while follower.step():
        pass
    held = contents(url, PROJECTIONS[name])
    with psycopg.connect(url) as connection:
        connection.execute(f"DELETE FROM read_models.{PROJECTIONS[name].tables[0]}")
    return held


def test_all_are_rebuilt_and_each_tells_how_far_it_is(datastore: Datastore, games: Games, database_url: str) -> None:
    some_games(games)
    held = {name: wrong(datastore, database_url, name) for name in PROJECTIONS}
    told = list[tuple[str, int, int]]()
    done = rebuilt_side_by_side(database_url, list(PROJECTIONS), lambda *far: told.append(far))
    assert done == dict.fromkeys(PROJECTIONS, 15)
    assert set(told) == {(name, 15, 15) for name in PROJECTIONS}
    assert {name: contents(database_url, PROJECTIONS[name]) for name in PROJECTIONS} == held


def test_one_alone_is_rebuilt_in_this_process(
    datastore: Datastore, games: Games, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(side_by_side, "_PROCESSES")
    some_games(games)
    held = wrong(datastore, database_url, "lobby")
    assert rebuilt_side_by_side(database_url, ["lobby"], quietly) == {"lobby": 15}
    assert contents(database_url, PROJECTIONS["lobby"]) == held


def test_what_can_be_rebuilt_is_and_the_others_are_told_with_the_reason(
    datastore: Datastore, games: Games, database_url: str
) -> None:
    some_games(games)
    held = wrong(datastore, database_url, "deadlines")
    with psycopg.connect(database_url) as first:
        first.execute("SELECT pg_advisory_lock(hashtext('tic rebuild lobby'))")
        with pytest.raises(NotRebuilt) as refused:
            rebuilt_side_by_side(database_url, NAMES, quietly)
    assert refused.value.reasons == {"lobby": "lobby is being rebuilt already"}
    assert contents(database_url, PROJECTIONS["deadlines"]) == held


def kill_lobby_s(name: str, _done: int, _total: int) -> None:
    """Kill the process that rebuilds the list of games, once another has told how far it is."""
    if name == "deadlines":
        (process,) = (each for each in multiprocessing.active_children() if each.name == "tic lobby")
        os.kill(process.pid or 0, signal.SIGKILL)


def test_of_a_process_that_is_killed_the_old_tables_stand(
    datastore: Datastore, games: Games, database_url: str
) -> None:
    some_games(games)
    old = contents(database_url, PROJECTIONS["lobby"])
    with psycopg.connect(database_url) as holds:
        holds.execute("SELECT FROM read_models.projection_positions WHERE name = 'lobby' FOR UPDATE")
        with pytest.raises(NotRebuilt) as ended:
            rebuilt_side_by_side(database_url, NAMES, kill_lobby_s)
    assert "its process was ended" in ended.value.reasons["lobby"]
    assert contents(database_url, PROJECTIONS["lobby"]) == old


def test_whoever_gives_up_takes_the_processes_along(datastore: Datastore, games: Games, database_url: str) -> None:
    some_games(games)

    class GivenUp(Exception):
        """Nobody wants it any more."""

    def give_up(*_: object) -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        rebuilt_side_by_side(database_url, NAMES, give_up)
    until(lambda: not multiprocessing.active_children())


def test_a_process_whose_parent_is_gone_stops_and_the_old_tables_stand(
    datastore: Datastore, games: Games, database_url: str
) -> None:
    some_games(games)
    wrong(datastore, database_url, "lobby")
    old = contents(database_url, PROJECTIONS["lobby"])
    hears, tells = multiprocessing.Pipe(duplex=False)
    hears.close()
    side_by_side._rebuild(database_url, "lobby", tells, bool)
    assert contents(database_url, PROJECTIONS["lobby"]) == old
