"""Time limits: the server ends what has run out, and gives back the time in which no server ran."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
import structlog.testing

from api.timekeeper import GRACE_SECONDS, Timekeeper
from domain.application import Games
from domain.lifecycle import Resign, TimedOut
from domain.storage import Datastore
from domain.tables import Join, Seating, Start
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import OpenTickle
from domain.vault import SealError
from projections.deadlines import Deadlines
from projections.runner import Follower
from tests.api.clock import Clock

ADA, BOB, CYD = UUID(int=1), UUID(int=2), UUID(int=3)


@pytest.fixture
def timekeeper(datastore: Datastore, games: Games) -> Timekeeper:
    keeper = Timekeeper(datastore, games, clock=itertools.count().__next__)  # a second passes between any two looks
    keeper.step()
    return keeper


@pytest.fixture
def follow(datastore: Datastore) -> Callable[[], int]:
    return Follower(datastore, Deadlines()).step


@pytest.fixture
def limited(games: Games, follow: Callable[[], int]) -> UUID:
    """A game with a limit of a minute."""
    options = Options(time_limit=60)
    game = games.open("ticitaire", OpenTicitaire(player=ADA, options=options), player=ADA, key=None).game.id
    follow()
    return game


def wind_on(database_url: str, seconds: int) -> None:
    """Let time pass for the whole database: every clock that is compared with now goes back."""
    with psycopg.connect(database_url) as connection:
        back = timedelta(seconds=seconds)
        connection.execute("UPDATE heartbeat SET at = at - %s", (back,))
        connection.execute("UPDATE read_models.deadlines SET due_at = due_at - %s, since = since - %s", (back, back))


def test_a_game_whose_time_is_left_goes_on(timekeeper: Timekeeper, games: Games, limited: UUID) -> None:
    timekeeper.step()
    assert not games.game(limited).table.over


def test_a_list_that_says_too_early_that_time_is_up_ends_nothing(
    timekeeper: Timekeeper, games: Games, limited: UUID, datastore: Datastore
) -> None:
    with datastore.transaction(commit=True) as cursor:
        cursor.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp() - interval '1 second'")
    timekeeper.step()
    assert not games.game(limited).table.over


def test_a_short_silence_is_no_outage(timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str) -> None:
    wind_on(database_url, 5)
    timekeeper.step()
    assert games.game(limited).version == 3


def test_an_outage_is_given_back_by_a_fact_and_once(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str, datastore: Datastore
) -> None:
    deadline = games.game(limited).table.deadline
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    Timekeeper(datastore, games).step()
    game = games.game(limited)
    assert game.version == 4
    assert timedelta(seconds=30) <= game.table.deadline - deadline <= timedelta(seconds=32)


def test_two_outages_that_wait_are_both_given_back(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str, follow: Callable[[], int]
) -> None:
    deadline = games.game(limited).table.deadline
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '90 seconds'")
        for ago in (80, 40):
            connection.execute(
                "INSERT INTO outages (began, ended) SELECT t - make_interval(secs => %s),"
                " t - make_interval(secs => %s) FROM clock_timestamp() t",
                (ago, ago - 20),
            )
    for _ in range(3):
        timekeeper.step()
        follow()
    game = games.game(limited)
    assert game.version == 5
    assert timedelta(seconds=40) <= game.table.deadline - deadline <= timedelta(seconds=42)


def test_many_games_to_give_back_to_do_not_look_like_another_outage(
    timekeeper: Timekeeper, games: Games, database_url: str, follow: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(time_limit=60)
    for _ in range(3):
        games.open("ticitaire", OpenTicitaire(player=ADA, options=options), player=ADA, key=None)
    follow()
    act = games.act

    def slowly(*arguments: Any, **more: Any) -> Any:
        wind_on(database_url, GRACE_SECONDS - 1)  # as long as can be without an outage, for each game
        return act(*arguments, **more)

    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")
    monkeypatch.setattr(games, "act", slowly)
    timekeeper.step()
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM outages").fetchone() == (1,)


def test_an_outage_is_given_back_once_by_two_servers_that_know_nothing_of_each_other(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str, datastore: Datastore
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE outages SET given_back = FALSE")  # the other server has not seen it yet
    Timekeeper(datastore, games).step()
    assert games.game(limited).version == 4


def meanwhile(games: Games, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen after the timekeeper has read its list, and before it first acts."""
    act = games.act

    def later(*arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(games, "act", act)
        happens()
        return act(*arguments, **more)

    monkeypatch.setattr(games, "act", later)


def begin_outage(database_url: str) -> None:
    """Let no server have run for half a minute."""
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")


@pytest.fixture
def turns(games: Games, follow: Callable[[], int]) -> UUID:
    """A game with a minute for each turn: three play, and seat 1 has the turn."""
    options = TickleOptions(turn_seconds=60, seating=Seating.AS_JOINED)
    game = games.open("tickle", OpenTickle(player=ADA, options=options), player=ADA, key=None).game.id

    def hand_in(command: Join | Start) -> None:
        games.handle(game, lambda _: command, player=command.player, expected_version=None, key=None, seated=False)

    for command in (Join(player=BOB), Join(player=CYD), Start(player=ADA)):
        hand_in(command)
    follow()
    return game


def topics(games: Games, game: UUID, *, after: int) -> list[str]:
    return [event.fact.topic for event in games.events(game, after=after, first=10)]


def test_a_turn_that_ended_after_the_timekeeper_looked_gives_its_time_to_none(
    timekeeper: Timekeeper, games: Games, turns: UUID, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = games.game(turns)

    def end_the_turn() -> None:
        games.handle(turns, lambda seat: Resign(seat=seat), player=ADA, expected_version=None, key=None)

    begin_outage(database_url)
    meanwhile(games, monkeypatch, end_the_turn)
    timekeeper.step()
    after = games.game(turns)
    assert topics(games, turns, after=before.version) == ["game.PlayerResigned", "game.TurnBegan"]
    assert (before.table.turn, after.table.turn) == (1, 2)


def test_after_it_the_outage_is_done_with(
    timekeeper: Timekeeper,
    games: Games,
    turns: UUID,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    follow: Callable[[], int],
) -> None:
    begin_outage(database_url)
    meanwhile(
        games,
        monkeypatch,
        lambda: games.handle(turns, lambda seat: Resign(seat=seat), player=ADA, expected_version=None, key=None),
    )
    timekeeper.step()
    follow()
    version = games.game(turns).version
    timekeeper.step()
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT given_back FROM outages").fetchall() == [(True,)]
    assert games.game(turns).version == version


def test_a_turn_that_goes_on_gets_its_time_whatever_others_do_meanwhile(
    timekeeper: Timekeeper, games: Games, turns: UUID, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = games.game(turns)

    def another_resigns() -> None:
        games.handle(turns, lambda seat: Resign(seat=seat), player=CYD, expected_version=None, key=None)

    begin_outage(database_url)
    meanwhile(games, monkeypatch, another_resigns)
    timekeeper.step()
    given_back = games.game(turns).table.deadline - before.table.deadline
    assert topics(games, turns, after=before.version) == ["game.PlayerResigned", "game.DeadlineExtended"]
    assert timedelta(seconds=30) <= given_back <= timedelta(seconds=32)


def test_a_game_of_one_that_ended_meanwhile_gets_nothing(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_outage(database_url)
    meanwhile(
        games,
        monkeypatch,
        lambda: games.handle(limited, lambda seat: Resign(seat=seat), player=ADA, expected_version=None, key=None),
    )
    timekeeper.step()
    assert games.game(limited).version == 6


def test_what_another_server_gave_back_is_no_fault_when_the_list_tells_of_it(
    timekeeper: Timekeeper,
    games: Games,
    limited: UUID,
    database_url: str,
    datastore: Datastore,
    follow: Callable[[], int],
) -> None:
    begin_outage(database_url)
    timekeeper.step()
    follow()
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE outages SET given_back = FALSE")  # the server went down before it noted that
    with structlog.testing.capture_logs() as logs:
        Timekeeper(datastore, games).step()
    assert games.game(limited).version == 4
    assert [line["event"] for line in logs if line["log_level"] == "error"] == []


def test_games_that_can_not_be_read_do_not_keep_the_time_of_others(
    timekeeper: Timekeeper,
    games: Games,
    limited: UUID,
    follow: Callable[[], int],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.timekeeper.BATCH", 2)
    options, act, tried = Options(time_limit=60), games.act, list[UUID]()
    broken = {
        games.open("ticitaire", OpenTicitaire(player=ADA, options=options), player=ADA, key=None).game.id
        for _ in range(5)
    }
    follow()

    def acts(game: UUID, *command: Any, **key: Any) -> Any:
        tried.append(game)
        if game in broken:
            raise SealError("a seed is sealed by a key that is not here")
        return act(game, *command, **key)

    monkeypatch.setattr(games, "act", acts)
    Clock(monkeypatch).wind_on(120)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp() - interval '2 seconds'")
        connection.execute(
            "UPDATE read_models.deadlines SET due_at = clock_timestamp() - interval '1 second' WHERE game = %s",
            (limited,),
        )
    timekeeper.step()
    assert games.game(limited).table.over
    assert set(tried) == broken | {limited}
    tried.clear()
    timekeeper.step()
    assert not broken & set(tried)  # not at every step: they fill the log with what is wrong


def test_the_timekeeper_outlives_whatever_fails(timekeeper: Timekeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, steps = threading.Event(), list[int]()

    def fail() -> None:
        steps.append(1)
        if len(steps) == 2:
            stop.set()
        raise RuntimeError("a fault")

    monkeypatch.setattr(timekeeper, "step", fail)
    monkeypatch.setattr("api.timekeeper.INTERVAL_SECONDS", 0)
    timekeeper.run(stop)
    assert len(steps) == 2


def test_a_game_that_began_after_the_last_heartbeat_is_given_back_what_it_lost(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str
) -> None:
    deadline = games.game(limited).table.deadline
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = (SELECT at + interval '1 second' FROM heartbeat)")
    timekeeper.step()
    assert timedelta(seconds=29) <= games.game(limited).table.deadline - deadline <= timedelta(seconds=31)


def test_a_clock_that_leaps_between_the_heartbeat_and_the_look_at_what_is_due_ends_nothing(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat = timekeeper._beat

    def leaps() -> datetime:
        now = beat()
        wind_on(database_url, 90)
        Clock(monkeypatch).wind_on(90)
        return now - timedelta(seconds=90)  # what it was before the leap, as the clock tells it after

    monkeypatch.setattr(timekeeper, "_beat", leaps)
    timekeeper.step()
    assert not games.game(limited).table.over


def test_a_game_opened_after_the_outage_gets_nothing(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
    timekeeper.step()
    assert games.game(limited).version == 3


def test_an_outage_is_not_given_back_before_the_list_of_deadlines_is_complete(
    timekeeper: Timekeeper, games: Games, limited: UUID, database_url: str, follow: Callable[[], int]
) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    assert games.game(limited).version == 3
    follow()
    timekeeper.step()
    assert games.game(limited).version == 4


def test_what_has_run_out_ends_as_given_up_and_names_the_time_out(
    timekeeper: Timekeeper, games: Games, limited: UUID, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    Clock(monkeypatch).wind_on(120)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp()")
    timekeeper.step()
    timekeeper.step()
    events = games.events(limited, after=3, first=10)
    assert [type(event.fact).__name__ for event in events] == ["TimedOut", "TicitaireFinished", "SeedsRevealed"]
    assert isinstance(events[0].fact, TimedOut)
    assert {event.cause.actor for event in events} == {"server"}
    assert games.game(limited).table.finished.ending == "given-up"


def test_the_list_forgets_games_that_are_over(
    games: Games, limited: UUID, follow: Callable[[], int], database_url: str
) -> None:
    games.handle(limited, lambda seat: Resign(seat=seat), player=ADA, expected_version=None, key=None)
    follow()
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM read_models.deadlines").fetchone() == (0,)
