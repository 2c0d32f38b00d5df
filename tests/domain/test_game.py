"""The one aggregate: a game as the fold of its events."""

from __future__ import annotations

from datetime import timedelta

from domain.decider import EVERYTHING, PUBLIC, Viewer
from domain.events import GENESIS, Cause, player_actor
from domain.game import Answered, Game
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire, RecycleWaste, TurnStock
from tests.given import NOON, PLAYER, SEEDS

OPEN = OpenTicitaire(player=PLAYER)
MINUTE = timedelta(minutes=1)


def cause(minutes: int, key: str | None = None, content: str | None = None) -> Cause:
    return Cause(player_actor(PLAYER), NOON + minutes * MINUTE, key, content)


def unopened() -> Game:
    return Game.unopened(SEEDS.deal, TICITAIRE, TICITAIRE.empty(SEEDS))


def opened(key: str | None = None, content: str | None = None) -> Game:
    game = unopened()
    return game.after(game.events_of(OPEN, cause(0, key, content)))


def test_a_game_before_its_first_event_has_no_version() -> None:
    assert (unopened().version, unopened().head) == (0, GENESIS)


def test_the_events_of_a_command_follow_the_head() -> None:
    game = opened()
    (turned,) = game.events_of(TurnStock(seat=1), cause(1))
    assert (turned.game, turned.seq, turned.prev) == (game.id, game.version + 1, game.head)


def test_deciding_a_command_changes_nothing() -> None:
    game = opened()
    game.events_of(TurnStock(seat=1), cause(1))
    assert game == opened()


def test_a_game_after_its_events_stands_at_the_last_of_them() -> None:
    game = opened()
    events = game.events_of(TurnStock(seat=1), cause(1))
    later = game.after(events)
    assert (later.version, later.head, later.at) == (4, events[-1].hash, NOON + MINUTE)
    assert later.table == TICITAIRE.evolve(game.table, events[0].fact)


def test_no_events_leave_a_game_as_it_is() -> None:
    game = opened()
    assert game.after(()) is game


def test_a_game_remembers_when_it_was_opened() -> None:
    game = opened()
    assert game.after(game.events_of(TurnStock(seat=1), cause(7))).opened_at == NOON


def test_a_clock_that_runs_backwards_does_not_turn_a_game_back() -> None:
    game = opened()
    (turned,) = game.events_of(TurnStock(seat=1), cause(-5))
    assert turned.cause.at == NOON


def test_the_events_that_answered_a_key_are_remembered_as_one_answer() -> None:
    assert opened("a" * 64, "b" * 64).answered == {"a" * 64: Answered(first=1, last=3, content="b" * 64)}


def test_an_answer_read_in_two_halves_is_the_same_answer() -> None:
    game = unopened()
    first, second, third = game.events_of(OPEN, cause(0, "a" * 64, "b" * 64))
    assert game.after([first, second]).after([third]) == opened("a" * 64, "b" * 64)


def test_a_command_without_a_key_is_not_remembered() -> None:
    assert opened().answered == {}


def test_a_game_shows_what_its_rules_show() -> None:
    game = opened()
    assert game.view(PUBLIC) == TICITAIRE.view(game.table, PUBLIC)
    assert game.view(EVERYTHING) == TICITAIRE.view(game.table, EVERYTHING) != game.view(PUBLIC)


def test_a_game_offers_what_its_rules_offer() -> None:
    game = opened()
    assert TurnStock(seat=1) in game.legal_commands(Viewer(seat=1))
    assert RecycleWaste(seat=1) not in game.legal_commands(Viewer(seat=1))
    assert game.legal_commands(Viewer(seat=2)) == ()
