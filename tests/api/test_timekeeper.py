"""Time limits: the server ends what has run out, and gives back the time in which no server ran."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from api.timekeeper import Timekeeper
from domain.application import Games
from domain.lifecycle import Resign, TimedOut
from domain.storage import Datastore
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import OpenTicitaire
from projections.deadlines import Deadlines
from projections.runner import Follower

ADA = UUID(int=1)


@pytest.fixture
def timekeeper(datastore: Datastore, games: Games) -> Timekeeper:
    keeper = Timekeeper(datastore, games)
    keeper.create_tables()
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
        connection.execute("UPDATE deadlines SET due_at = due_at - %s, since = since - %s", (back, back))


def test_a_game_whose_time_is_left_goes_on(timekeeper: Timekeeper, games: Games, limited: UUID) -> None:
    timekeeper.step()
    assert not games.game(limited).table.over


def test_a_list_that_says_too_early_that_time_is_up_ends_nothing(
    timekeeper: Timekeeper, games: Games, limited: UUID, datastore: Datastore
) -> None:
    with datastore.transaction(commit=True) as cursor:
        cursor.execute("UPDATE deadlines SET due_at = clock_timestamp() - interval '1 second'")
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
        connection.execute("UPDATE deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    Timekeeper(datastore, games).step()
    game = games.game(limited)
    assert game.version == 4
    assert timedelta(seconds=30) <= game.table.deadline - deadline <= timedelta(seconds=32)


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
        connection.execute("UPDATE deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    assert games.game(limited).version == 3
    follow()
    timekeeper.step()
    assert games.game(limited).version == 4


def test_what_has_run_out_ends_as_given_up_and_names_the_time_out(
    timekeeper: Timekeeper, games: Games, limited: UUID, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    later = games._recorder.newer

    def in_two_minutes(game: UUID, version: int):  # type: ignore[no-untyped-def]
        events, now = later(game, version)
        return events, now + timedelta(minutes=2)

    monkeypatch.setattr(games._recorder, "newer", in_two_minutes)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE deadlines SET due_at = clock_timestamp()")
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
        assert connection.execute("SELECT count(*) FROM deadlines").fetchone() == (0,)
