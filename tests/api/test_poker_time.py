"""Turns and declarations of TIC Poker that run out of time: the timekeeper keeps cards, and declares High Card."""

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
from domain.cards import Card
from domain.decider import Command
from domain.lifecycle import RunOutOfTime
from domain.poker.facts import Options, Variation
from domain.poker.hands import Rank, highest_cards
from domain.poker.rules import Call, DeclareHand, ExchangeCards, KeepCards, OpenPoker
from domain.storage import Datastore
from domain.tables import Join, Seating, Start
from projections.deadlines import Deadlines
from projections.runner import Follower
from tests.api.clock import Clock
from tests.api.company import actions, do, known_deck
from tests.api.poker_evening import ADAS, BOBS, poker_started, what
from tests.api.poker_played import names
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


def _same(command: Command, _seat: int) -> Command:
    return command


def play(games: Games, game: UUID, player: UUID, command: Callable[[int], Command]) -> list[str]:
    """Hand in a player's command; return the facts that came of it."""
    events = games.handle(game, command, player=player, expected_version=None, key=None).events
    return [event.fact.topic for event in events]


Table = Callable[..., UUID]


@pytest.fixture
def table(games: Games, clock: Clock) -> Table:
    """Opens a table that sets a time, and starts the game."""

    def start(*guests: UUID, **options: Any) -> UUID:
        asked = Options(turn_seconds=LIMIT, seating=Seating.AS_JOINED, **options)
        game = games.open("poker", OpenPoker(player=ADA, options=asked), player=ADA, key=None).game.id
        for guest in guests:
            joining = partial(_same, Join(player=guest))
            games.handle(game, joining, player=guest, expected_version=None, key=None, seated=False)
        play(games, game, ADA, partial(_same, Start(player=ADA)))
        return game

    return start


RunOut = Callable[[UUID], list[str]]


@pytest.fixture
def run_out(timekeeper: Timekeeper, games: Games, clock: Clock, datastore: Datastore, database_url: str) -> RunOut:
    """Lets the time of a game run out; tells the facts that came of it."""
    follow = Follower(datastore, Deadlines()).step

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


def turned_up(games: Games, game: UUID, caller: UUID, *others: UUID) -> None:
    """Let a player call, and the others keep their cards."""
    play(games, game, caller, lambda seat: Call(seat=seat))
    for player in others:
        play(games, game, player, lambda seat: KeepCards(seat=seat))


def declaration(cards: list[str], rank: Rank) -> Callable[[int], Command]:
    return lambda seat: DeclareHand(seat=seat, cards=tuple(map(Card.parse, cards)), rank=rank)


# --- turns ---


def test_a_turn_that_runs_out_keeps_the_cards_and_passes_on(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB)
    before = games.game(game).table.slots
    assert run_out(game) == ["game.TimedOut", "game.TurnBegan"]
    assert (games.game(game).table.turn, games.game(game).table.slots) == (2, before)


def test_the_last_turn_of_a_stage_that_runs_out_ends_it(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB)
    play(games, game, ADA, lambda seat: ExchangeCards(seat=seat, slots=(1,)))
    assert run_out(game) == ["game.TimedOut", "poker.CommunityCardTurned", "game.TurnBegan"]


def test_the_last_turn_after_a_call_that_runs_out_turns_the_cards_up(
    games: Games, table: Table, run_out: RunOut
) -> None:
    game = table(BOB)
    turned_up(games, game, ADA)
    assert run_out(game) == ["game.TimedOut", "poker.HandsRevealed"]


def test_a_turn_of_draw_poker_that_runs_out_turns_no_card(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB, variation=Variation.DRAW)
    assert [run_out(game) for _ in range(2)] == [["game.TimedOut", "game.TurnBegan"]] * 2


def test_a_last_turn_that_runs_out_scores_the_round_where_cards_speak(
    games: Games, table: Table, run_out: RunOut
) -> None:
    game = table(BOB, cards_speak=True, rounds=1)
    turned_up(games, game, ADA)
    declared = ["poker.HandDeclared"] * 2
    over = ["poker.RoundScored", "poker.GameFinished", "game.SeedsRevealed"]
    assert run_out(game) == ["game.TimedOut", "poker.HandsRevealed", *declared, *over]


# --- declaring ---


def test_declaring_has_its_own_time_from_the_reveal_on(games: Games, table: Table, clock: Clock) -> None:
    game = table(BOB)
    clock.wind_on(LIMIT - 10)
    turned_up(games, game, ADA, BOB)
    record = games.game(game)
    assert record.table.deadline - record.at == timedelta(seconds=LIMIT)


def test_a_declaration_gives_the_others_no_more_time(games: Games, table: Table, clock: Clock) -> None:
    game = table(BOB)
    turned_up(games, game, ADA, BOB)
    before = games.game(game).table.deadline
    clock.wind_on(10)
    play(games, game, BOB, declaration(BOBS, Rank.HIGH_CARD))
    assert games.game(game).table.deadline == before


def test_whoever_does_not_declare_in_time_has_declared_high_card(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB, rounds=1)
    turned_up(games, game, ADA, BOB)
    late = ["game.TimedOut", "poker.HandDeclared"]
    assert run_out(game) == [*late, *late, "poker.RoundScored", "poker.GameFinished", "game.SeedsRevealed"]
    declared = games.game(game).table.played[0].declared
    expected = [highest_cards(map(Card.parse, cards)) for cards in (ADAS, BOBS)]
    assert [(one.seat, one.rank, one.cards) for one in declared] == [
        (seat, Rank.HIGH_CARD, hand.cards) for seat, hand in enumerate(expected, 1)
    ]


def test_of_more_than_five_cards_the_five_highest_are_declared(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB)
    for player in (ADA, BOB):
        play(games, game, player, lambda seat: KeepCards(seat=seat))
    turned_up(games, game, ADA, BOB)
    assert "poker.HandDeclared" in run_out(game)
    declared = {one.seat: one.cards for one in games.game(game).table.played[0].declared}
    expected = [highest_cards(map(Card.parse, [*cards, "3-crescent-orange"])).cards for cards in (ADAS, BOBS)]
    assert [declared[seat] for seat in (1, 2)] == expected


def test_what_was_declared_in_time_stands(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB)
    turned_up(games, game, ADA, BOB)
    play(games, game, ADA, declaration(ADAS, Rank.TIC_PAIR))
    late = ["game.TimedOut", "poker.HandDeclared"]
    assert run_out(game) == [*late, "poker.RoundScored", "poker.RoundDealt", "game.TurnBegan"]
    declared = games.game(game).table.played[0].declared
    assert [(one.seat, one.rank) for one in declared] == [(1, Rank.TIC_PAIR), (2, Rank.HIGH_CARD)]


def test_three_time_outs_in_a_row_resign_the_seat(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB)
    for _ in range(4):
        run_out(game)
    over = ["game.TimedOut", "game.PlayerResigned", "poker.GameFinished", "game.SeedsRevealed"]
    assert run_out(game) == over
    finished = games.game(game).table.finished
    assert [(line.place, line.resigned) for line in finished.places] == [(2, True), (1, False)]


def test_the_others_play_on_when_a_seat_is_resigned_for_its_time(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB, CYD)
    found = [run_out(game) for _ in range(7)]
    assert found[-1] == ["game.TimedOut", "game.PlayerResigned", "game.TurnBegan"]
    assert games.game(game).table.still_in == (2, 3)


def test_time_outs_in_turns_and_in_declaring_are_counted_together(games: Games, table: Table, run_out: RunOut) -> None:
    game = table(BOB, CYD)
    for _ in range(2):  # two stages in which Ada does nothing
        run_out(game)
        for player in (BOB, CYD):
            play(games, game, player, lambda seat: KeepCards(seat=seat))
    turned_up(games, game, ADA, BOB, CYD)  # by herself: no time-outs in a row any more
    run_out(game)
    assert games.game(game).table.in_a_row == (1, 1, 1)
    assert games.game(game).table.timed_out.count(1) == 3


def test_an_outage_is_given_back_to_those_who_declare(
    timekeeper: Timekeeper, games: Games, table: Table, datastore: Datastore, database_url: str
) -> None:
    game = table(BOB)
    turned_up(games, game, ADA, BOB)
    Follower(datastore, Deadlines()).step()
    deadline = games.game(game).table.deadline
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE heartbeat SET at = at - interval '30 seconds'")
        connection.execute("UPDATE read_models.deadlines SET since = since - interval '40 seconds'")
    timekeeper.step()
    table_now = games.game(game).table
    assert timedelta(seconds=30) <= table_now.deadline - deadline <= timedelta(seconds=32)
    assert table_now.undeclared == (1, 2)


# --- as players see it ---

SHOWN = """
  changedAt deadline
  ... on PokerGame {
    turn standings { timeOuts timeOutsInARow }
    round { declaring seats { toAct declared { rank cards { name } } } } playedRounds { seats { declared { rank } } }
  }
"""


async def of_ada_and_bob(client: Client, **options: Any) -> tuple[Client, Client, Any]:
    ada, bob = await client.register("Ada"), await client.register("Bob")
    return ada, bob, await poker_started(ada, bob, turnSeconds=LIMIT, **options)


async def declaring(client: Client) -> tuple[Client, Client, Any]:
    ada, bob, game = await of_ada_and_bob(client)
    called = await do(ada, "callPoker", game)
    return ada, bob, (await do(bob, "keepPokerCards", called["game"]))["game"]


async def test_a_table_that_sets_a_time_tells_the_deadline_of_the_turn(client: Client) -> None:
    ada, _, game = await of_ada_and_bob(client)
    shown = await ada.game(game["id"], SHOWN)
    began, deadline = (datetime.fromisoformat(shown[at]) for at in ("changedAt", "deadline"))
    assert deadline - began == timedelta(seconds=LIMIT)


async def test_the_reveal_tells_the_deadline_of_declaring(client: Client) -> None:
    ada, _, game = await declaring(client)
    shown = await ada.game(game["id"], SHOWN)
    began, deadline = (datetime.fromisoformat(shown[at]) for at in ("changedAt", "deadline"))
    assert deadline - began == timedelta(seconds=LIMIT)
    told = await ada.history(game["id"], fields="fact { type ... on PokerHandsRevealed { deadline } }")
    assert told[-1]["fact"] == {"type": "poker.HandsRevealed", "deadline": shown["deadline"]}


async def test_nothing_is_played_after_the_deadline(client: Client, clock: Clock) -> None:
    ada, _, game = await of_ada_and_bob(client)
    clock.wind_on(LIMIT)
    assert what(await do(ada, "keepPokerCards", game)) == ("TIME_IS_UP", "G2")


async def test_nothing_is_declared_after_the_deadline(client: Client, clock: Clock) -> None:
    ada, _, game = await declaring(client)
    clock.wind_on(LIMIT)
    refused = await do(ada, "declarePokerHand", {"id": game["id"]}, cards=ADAS, rank="TIC_PAIR")
    assert what(refused) == ("TIME_IS_UP", "G2")


@pytest.mark.parametrize("reach", [of_ada_and_bob, declaring], ids=["in a turn", "in declaring"])
async def test_after_the_deadline_nothing_but_resigning_is_listed(
    client: Client, clock: Clock, monkeypatch: pytest.MonkeyPatch, reach: Any
) -> None:
    ada, bob, game = await reach(client)

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
    assert shown["turn"] == 2
    assert shown["standings"] == [{"timeOuts": 1, "timeOutsInARow": 1}, {"timeOuts": 0, "timeOutsInARow": 0}]


async def test_who_plays_again_has_no_time_outs_in_a_row(client: Client, clock: Clock, games: Games) -> None:
    ada, bob, game = await of_ada_and_bob(client)
    clock.wind_on(LIMIT)
    game["version"] = games.act(UUID(game["uuid"]), RunOutOfTime()).game.version
    for player in (bob, ada):
        game = (await do(player, "keepPokerCards", game))["game"]
    shown = await client.game(game["id"], SHOWN)
    assert shown["standings"] == [{"timeOuts": 1, "timeOutsInARow": 0}, {"timeOuts": 0, "timeOutsInARow": 0}]


async def test_what_counts_for_those_who_were_late_is_told_to_all(client: Client, clock: Clock, games: Games) -> None:
    ada, _, game = await declaring(client)
    await do(ada, "declarePokerHand", {"id": game["id"]}, cards=ADAS, rank="TWO_TIC_PAIRS")
    clock.wind_on(LIMIT)
    games.act(UUID(game["uuid"]), RunOutOfTime())
    shown = await client.game(game["id"], SHOWN)
    ranks = [seat["declared"]["rank"] for seat in shown["playedRounds"][0]["seats"]]
    assert (ranks, shown["turn"]) == (["TWO_TIC_PAIRS", "HIGH_CARD"], 2)


async def test_a_turn_that_ran_out_in_the_middle_of_a_round_shows_no_card(
    client: Client, clock: Clock, games: Games
) -> None:
    _, _, game = await of_ada_and_bob(client)
    clock.wind_on(LIMIT)
    games.act(UUID(game["uuid"]), RunOutOfTime())
    cards = "... on PokerGame { round { seats { cards { ... on Card { name } } } } }"
    seats = (await client.game(game["id"], cards))["round"]["seats"]
    assert [names(seat["cards"]) for seat in seats] == [["hidden"] * 3] * 2
