"""Whether a server lives, and whether it is ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from starlette.applications import Starlette

from api.app import create_app
from api.health import ANSWER_SECONDS, Behind, Bounds, Pulse, health_routes
from api.settings import Settings
from domain.application import Games
from domain.storage import Datastore, NoConnection
from domain.ticitaire.rules import OpenTicitaire
from projections.models import PROJECTIONS
from projections.runner import Follower
from tests.api.clock import StandingClock
from tests.api.roles import house
from tests.client import Client
from tests.conftest import KEYRING, in_memory
from tests.monitored import monitored

BOUNDS = Bounds(seconds=60, events=10_000)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def pulse(datastore: Datastore, clock: StandingClock) -> Pulse:
    return pulse_of(datastore, clock)


def pulse_of(datastore: Datastore, clock: StandingClock, bounds: Bounds | None = BOUNDS) -> Pulse:
    return Pulse(datastore, PROJECTIONS.values(), bounds=bounds, clock=clock)


def play(games: Games) -> int:
    """Open a game; return how many events that took."""
    player = uuid4()
    return games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None).game.version


def catch_up(datastore: Datastore) -> None:
    for projection in PROJECTIONS.values():
        Follower(datastore, projection).step()


def is_ready(pulse: Pulse) -> bool:
    return all(part["ready"] for part in pulse.parts().values())


# The database


def test_a_server_is_not_ready_before_the_database_has_answered(pulse: Pulse) -> None:
    assert pulse.parts() == {"database": {"ready": False, "reason": "it does not answer"}}


def test_a_server_whose_database_answers_is_ready(pulse: Pulse) -> None:
    pulse.look()
    assert set(pulse.parts()) == {"database", *PROJECTIONS}
    assert is_ready(pulse)


def test_an_answer_grows_old(pulse: Pulse, clock: StandingClock) -> None:
    pulse.look()
    clock.now += ANSWER_SECONDS
    assert is_ready(pulse)
    clock.now += 0.1
    assert not is_ready(pulse)


def test_a_database_that_is_away_leaves_the_last_answer_to_grow_old(
    pulse: Pulse, clock: StandingClock, datastore: Datastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> Any:
        raise NoConnection

    pulse.look()
    monkeypatch.setattr(datastore, "read", away)
    clock.now += ANSWER_SECONDS + 1
    pulse.look()
    assert pulse.parts() == {"database": {"ready": False, "reason": "it does not answer"}}
    monkeypatch.undo()
    pulse.look()
    assert is_ready(pulse)


@pytest.fixture
def read_only(admin: psycopg.Connection, database_url: str) -> Iterator[Datastore]:
    """A database that takes no writes, as a standby does."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET default_transaction_read_only = on')
    datastore = Datastore(database_url)
    yield datastore
    datastore.close()


def test_a_server_whose_database_takes_no_writes_is_not_ready(read_only: Datastore, clock: StandingClock) -> None:
    pulse = pulse_of(read_only, clock)
    pulse.look()
    assert pulse.parts() == {"database": {"ready": False, "reason": "it takes no writes"}}


def test_the_role_of_servers_may_look_at_all_that_is_looked_at(
    admin: psycopg.Connection, postgres: str, clock: StandingClock
) -> None:
    with house(admin, postgres) as home:
        home.init()
        with Datastore(home.apps_url) as datastore:
            for projection in PROJECTIONS.values():
                Follower(datastore, projection).create_tables()
            pulse = pulse_of(datastore, clock)
            pulse.look()
            assert is_ready(pulse)
            assert set(pulse.parts()) == {"database", *PROJECTIONS}


# Those who follow


def test_a_follower_that_lacks_more_events_than_it_may_is_named(
    datastore: Datastore, games: Games, clock: StandingClock
) -> None:
    events = play(games)
    Follower(datastore, PROJECTIONS["lobby"]).step()
    pulse = pulse_of(datastore, clock, Bounds(seconds=0, events=events - 1))
    pulse.look()
    parts = pulse.parts()
    assert parts["lobby"] == {"ready": True, "eventsBehind": 0, "secondsBehind": 0.0}
    assert parts["deadlines"] == {"ready": False, "eventsBehind": events, "secondsBehind": 0.0}


def test_a_follower_that_stands_still_is_behind_since_an_event_came_that_it_lacks(
    pulse: Pulse, datastore: Datastore, games: Games, clock: StandingClock
) -> None:
    pulse.look()
    clock.now += 1_000  # in which nothing happens: nobody is behind for that
    play(games)
    pulse.look()
    clock.now += 60
    play(games)
    pulse.look()
    assert pulse.last is not None
    assert pulse.last.behind["lobby"] == Behind(pulse.last.log_end, 60)
    assert is_ready(pulse)
    clock.now += 1
    pulse.look()
    assert not pulse.parts()["lobby"]["ready"]
    catch_up(datastore)
    pulse.look()
    assert is_ready(pulse)


def test_a_follower_that_works_on_is_behind_by_the_oldest_event_that_it_lacks(
    pulse: Pulse, datastore: Datastore, games: Games, clock: StandingClock
) -> None:
    for _ in range(3):
        play(games)
        catch_up(datastore)
        play(games)
        pulse.look()
        clock.now += 2
    assert pulse.last is not None
    assert pulse.last.behind["lobby"] is not None
    assert pulse.last.behind["lobby"].seconds == 0


def test_each_follower_is_behind_for_a_time_of_its_own(
    pulse: Pulse, datastore: Datastore, games: Games, clock: StandingClock
) -> None:
    play(games)
    pulse.look()
    clock.now += 10
    Follower(datastore, PROJECTIONS["lobby"]).step()
    play(games)
    pulse.look()
    clock.now += 5
    pulse.look()
    assert pulse.last is not None
    behind = {name: found.seconds for name, found in pulse.last.behind.items() if found is not None}
    assert (behind["lobby"], behind["deadlines"]) == (5, 15)


def test_with_no_bound_a_server_is_ready_however_far_behind(
    datastore: Datastore, games: Games, clock: StandingClock
) -> None:
    pulse = pulse_of(datastore, clock, Bounds(seconds=0, events=0))
    play(games)
    for _ in range(2):
        pulse.look()
        clock.now += 5
    assert is_ready(pulse)
    assert pulse.parts()["lobby"]["eventsBehind"] > 0


def test_a_server_that_does_not_follow_does_not_wait_for_those_who_do(
    datastore: Datastore, games: Games, clock: StandingClock
) -> None:
    pulse = pulse_of(datastore, clock, bounds=None)
    play(games)
    pulse.look()
    assert pulse.parts() == {"database": {"ready": True}}
    assert pulse.last is not None  # and yet it can be measured
    assert pulse.last.behind["lobby"] is not None


def test_the_tables_of_a_newer_program_are_not_this_ones_business(
    pulse: Pulse, datastore: Datastore, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE read_models.projection_positions SET version = 1000 WHERE name = 'lobby'")
    pulse.look()
    assert pulse.parts()["lobby"] == {"ready": True}


def test_an_older_backup_takes_the_log_back_and_nobody_is_behind(
    pulse: Pulse, datastore: Datastore, games: Games, clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(games)
    pulse.look()
    positions = {name: [0, projection.version] for name, projection in PROJECTIONS.items()}
    row = {"log_end": 0, "read_only": False, "positions": positions, "signed": None}
    monkeypatch.setattr(datastore, "read", lambda *_: [row])
    pulse.look()
    assert pulse.last is not None
    assert pulse.last.behind["lobby"] == Behind(0, 0.0)
    clock.now += 100
    monkeypatch.setattr(datastore, "read", lambda *_: [row | {"log_end": 1}])
    pulse.look()
    assert pulse.last.behind["lobby"] == Behind(1, 0.0)


# What is answered


async def test_who_asks_is_told_each_part_and_asks_nobody(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> Any:
        raise AssertionError("a probe asked the database")

    monkeypatch.setattr("api.health.LOOK_SECONDS", 60.0)
    monkeypatch.setattr(Pulse, "look", asked)
    answers = [await client.http.get("/readyz") for _ in range(100)]
    answer = answers[-1]
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["ready"] is True
    assert {"database", "lobby", "results"} <= set(answer.json()["parts"])


async def test_who_is_not_ready_says_so_by_the_status_and_says_which_part(
    datastore: Datastore, clock: StandingClock
) -> None:
    pulse = pulse_of(datastore, clock)
    async with in_memory(Starlette(routes=health_routes(lambda: pulse))) as client:
        answer = await client.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "ready": False,
        "parts": {"database": {"ready": False, "reason": "it does not answer"}},
    }


async def test_a_server_that_has_not_started_lives_and_is_not_ready(database_url: str) -> None:
    async with in_memory(create_app(Settings(), database_url, KEYRING)) as client:
        lives, ready = await client.http.get("/healthz"), await client.http.get("/readyz")
    assert (lives.status_code, lives.text) == (200, "ok\n")
    assert (ready.status_code, ready.json()["parts"]["server"]["ready"]) == (503, False)


async def test_a_server_that_is_about_to_stop_is_not_ready(app: Starlette, client: Client) -> None:
    assert (await client.http.get("/readyz")).status_code == 200
    await app.state.end_streams()
    assert (await client.http.get("/readyz")).status_code == 503


async def test_health_is_told_where_metrics_are_too(database_url: str) -> None:
    async with monitored(database_url) as server:
        assert (await server.get("/healthz")).text == "ok\n"
        assert (await server.get("/readyz")).json()["ready"] is True


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_may_ask_for_the_head_alone(client: Client, path: str) -> None:
    answer: httpx.Response = await client.http.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
