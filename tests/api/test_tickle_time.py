"""Turns of Tickle that run out of time: the timekeeper ends them, and gives back the time in which no server ran."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest

from api.timekeeper import Timekeeper
from domain.application import Games
from domain.decider import Command
from domain.lifecycle import RunOutOfTime
from domain.storage import Datastore
from domain.tables import Cancel, Join, Seating, Start
from domain.tickle.facts import DeckPart, Options
from domain.tickle.rules import DrawCard, LayDown, OpenTickle
from projections.deadlines import Deadlines
from projections.runner import Follower
from tests.api.clock import Clock
from tests.api.company import HANDS, actions, do, known_deck, laid, started_by
from tests.client import Client

ADA, BOB, CYD = UUID(int=1), UUID(int=2), UUID(int=3)
LIMIT = 60


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    known_deck(monkeypatch)
    return Clock(monkeypatch)


@pytest.fixture
def timekeeper(datastore: Datastore, games: Games) -> Timekeeper:
    keeper = Timekeeper(datastore, games, clock=itertools.count().__next__)  # a second passes between any two looks
    keeper.step()
    return keeper


@pytest.fixture
def follow(datastore: Datastore) -> Callable[[], int]:
    return Follower(datastore, Deadlines()).step


def play(games: Games, game: UUID, player: UUID, command: Callable[[int], Command]) -> list[str]:
    """Hand in a player's command; return the facts that came of it."""
    events = games.handle(game, command, player=player, expected_version=None, key=None).events
    return [event.fact.topic for event in events]


def _same(command: Command, _seat: int) -> Command:
    return command


def table(games: Games, *guests: UUID) -> UUID:
    options = Options(turn_seconds=LIMIT, seating=Seating.AS_JOINED, deck=DeckPart.HALF)
    game = games.open("tickle", OpenTickle(player=ADA, options=options), player=ADA, key=None).game.id
    for guest in guests:
        joining = Join(player=guest)
        games.handle(game, partial(_same, joining), player=guest, expected_version=None, key=None, seated=False)
    return game


@pytest.fixture
def of_two(games: Games, clock: Clock) -> UUID:
    game = table(games, BOB)
    play(games, game, ADA, lambda _: Start(player=ADA))
    return game


def listed(database_url: str) -> int:
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT count(*) FROM read_models.deadlines").fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def run_out(
    timekeeper: Timekeeper, games: Games, clock: Clock, follow: Callable[[], int], database_url: str
) -> Callable[[UUID], list[str]]:
    """Lets the turn of a game run out; tells the facts that came of it."""

    def let_it(game: UUID) -> list[str]:
        follow()
        version = games.game(game).version
        clock.wind_on(LIMIT)
        with psycopg.connect(database_url) as connection:
            connection.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp()")
        timekeeper.step()
        events = games.events(game, after=version, first=100)
        assert {event.cause.actor for event in events} <= {"server"}
        return [event.fact.topic for event in events]

    return let_it


RunOut = Callable[[UUID], list[str]]


def opens(games: Games, game: UUID) -> None:
    """Seat 1 lays the cards after which seat 2 can't lay."""
    cards = [{"x": 0, "y": 0, "card": HANDS[0][2]}, {"x": 1, "y": 0, "card": HANDS[0][0]}]
    play(games, game, ADA, lambda seat: LayDown.model_validate({"seat": seat, "cards": cards}))


# --- what runs out ---


def test_a_turn_that_runs_out_passes_on(games: Games, of_two: UUID, run_out: RunOut) -> None:
    assert run_out(of_two) == ["game.TimedOut", "game.TurnBegan"]
    assert games.game(of_two).table.turn == 2


def test_the_draw_that_was_due_is_made(games: Games, of_two: UUID, run_out: RunOut) -> None:
    opens(games, of_two)
    assert run_out(of_two) == ["game.TimedOut", "tickle.CardDrawn", "game.TurnBegan"]


def test_no_second_card_is_drawn(games: Games, of_two: UUID, run_out: RunOut) -> None:
    opens(games, of_two)
    play(games, of_two, BOB, lambda seat: DrawCard(seat=seat))
    assert run_out(of_two) == ["game.TimedOut", "game.TurnBegan"]


def test_a_draw_gives_no_more_time(games: Games, of_two: UUID, clock: Clock) -> None:
    opens(games, of_two)
    before = games.game(of_two).table.deadline
    clock.wind_on(10)
    play(games, of_two, BOB, lambda seat: DrawCard(seat=seat))
    assert games.game(of_two).table.deadline == before


def test_every_turn_has_its_own_time(games: Games, of_two: UUID, clock: Clock) -> None:
    clock.wind_on(LIMIT - 10)
    opens(games, of_two)
    record = games.game(of_two)
    assert record.table.deadline - record.at == timedelta(seconds=LIMIT)


def test_three_time_outs_in_a_row_resign_the_seat(games: Games, of_two: UUID, run_out: RunOut) -> None:
    passed = ["game.TimedOut", "game.TurnBegan"]
    assert [run_out(of_two) for _ in range(4)] == [passed] * 4
    over = ["game.TimedOut", "game.PlayerResigned", "tickle.GameFinished", "game.SeedsRevealed"]
    assert run_out(of_two) == over
    finished = games.game(of_two).table.finished
    assert [(line.place, line.resigned) for line in finished.places] == [(2, True), (1, False)]


def test_the_others_play_on_when_a_seat_is_resigned_for_its_time(games: Games, clock: Clock, run_out: RunOut) -> None:
    game = table(games, BOB, CYD)
    play(games, game, ADA, lambda _: Start(player=ADA))
    found = [run_out(game) for _ in range(7)]
    drawn = ["tickle.CardDrawn"] if "tickle.CardDrawn" in found[-1] else []  # by whom the deal gave no laydown (K4)
    assert found[-1] == ["game.TimedOut", *drawn, "game.PlayerResigned", "game.TurnBegan"]
    assert games.game(game).table.still_in == (2, 3)


def test_a_game_that_is_over_has_no_deadline(
    games: Games, of_two: UUID, run_out: RunOut, follow: Callable[[], int], database_url: str
) -> None:
    for _ in range(5):
        run_out(of_two)
    follow()
    assert listed(database_url) == 0


def test_a_table_has_no_deadline_before_its_deal(
    games: Games, clock: Clock, follow: Callable[[], int], database_url: str
) -> None:
    game = table(games, BOB)
    follow()
    before = listed(database_url)
    play(games, game, ADA, lambda _: Cancel(player=ADA))
    follow()
    assert (before, listed(database_url)) == (0, 0)


def test_a_turn_is_not_ended_early(
    timekeeper: Timekeeper, games: Games, of_two: UUID, follow: Callable[[], int], database_url: str
) -> None:
    follow()
    version = games.game(of_two).version
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp()")
    timekeeper.step()
    assert games.game(of_two).version == version


def test_an_outage_is_given_back_to_the_turn(
    timekeeper: Timekeeper, games: Games, of_two: UUID, follow: Callable[[], int], database_url: str
) -> None:
    follow()
    deadline = games.game(of_two).table.deadline
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    table = games.game(of_two).table
    assert timedelta(seconds=30) <= table.deadline - deadline <= timedelta(seconds=32)
    assert table.turn == 1


# --- as players see it ---

SHOWN = "changedAt deadline ... on TickleGame { turn { seat } hands { timeOuts timeOutsInARow } }"


async def of_ada_and_bob(client: Client) -> tuple[Client, Client, Any]:
    ada, bob = await client.register("Ada"), await client.register("Bob")
    return ada, bob, await started_by(ada, bob, seating="AS_JOINED", turnSeconds=LIMIT)


async def test_a_table_that_sets_a_time_tells_the_deadline_of_the_turn(client: Client) -> None:
    ada, _, game = await of_ada_and_bob(client)
    shown = await ada.game(game["id"], SHOWN)
    began, deadline = (datetime.fromisoformat(shown[at]) for at in ("changedAt", "deadline"))
    assert deadline - began == timedelta(seconds=LIMIT)


async def test_nothing_is_played_after_the_deadline(client: Client, clock: Clock) -> None:
    ada, _, game = await of_ada_and_bob(client)
    clock.wind_on(LIMIT)
    cards = laid((0, 0, HANDS[0][2]), (1, 0, HANDS[0][0]))
    refused = await do(ada, "layTickleCards", game, cards=cards)
    assert (refused["code"], refused["ruling"]) == ("TIME_IS_UP", "G2")


async def test_a_seat_resigns_after_the_deadline_as_before(client: Client, clock: Clock) -> None:
    ada, _, game = await of_ada_and_bob(client)
    clock.wind_on(LIMIT)
    assert (await do(ada, "resignGame", game))["__typename"] == "CommandAccepted"


async def test_after_the_deadline_nothing_but_resigning_is_listed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob, game = await of_ada_and_bob(client)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=LIMIT)

    monkeypatch.setattr("api.games.datetime", Later)
    assert [await actions(player, game) for player in (ada, bob)] == [["resignGame"]] * 2


async def test_time_outs_are_told_to_all(client: Client, clock: Clock, games: Games) -> None:
    _, _, game = await of_ada_and_bob(client)
    clock.wind_on(LIMIT)
    games.act(UUID(game["uuid"]), RunOutOfTime())
    shown = await client.game(game["id"], SHOWN)
    assert shown["turn"] == {"seat": 2}
    assert shown["hands"] == [{"timeOuts": 1, "timeOutsInARow": 1}, {"timeOuts": 0, "timeOutsInARow": 0}]
