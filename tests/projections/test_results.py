"""Finished games are listed as the log tells them, and count where their seeds prove them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any
from uuid import UUID

import psycopg
import pytest

from domain.events import Event
from domain.lifecycle import GameFinished, GameOpened, PlayerSeated, SeedsHeldBack, SeedsRevealed
from domain.storage import Datastore, Logged
from projections.models import PROJECTIONS
from projections.players import PlayerQueries
from projections.ratings import RatingQueries
from projections.results import FinishedGame, ResultQueries, Results
from projections.runner import Follower
from projections.scoreboards import ALL_TIME, BOARDS, ScoreboardQueries
from tests.projections.finished import FINISHED, again, logged, recorded, some_finished_games, taken_in, with_facts
from tests.projections.shown import contents, position

RESULTS = PROJECTIONS["results"]


def listed(datastore: Datastore, **wanted: Any) -> list[FinishedGame]:
    return ResultQueries(datastore).finished(**{"first": 1000, **wanted})


def fact_of(events: Sequence[Event], kind: type[Any]) -> Any:
    return next(event.fact for event in events if isinstance(event.fact, kind))


def counts_nowhere(datastore: Datastore, players: Sequence[UUID]) -> bool:
    boards = ScoreboardQueries(datastore)
    return not (
        any(boards.players(board, ALL_TIME) for board in BOARDS.values())
        or any(PlayerQueries(datastore).statistics(player) for player in players)
        or any(RatingQueries(datastore).ratings(player) for player in players)
        or PlayerQueries(datastore).head_to_head(*players[:2])
    )


def players_of(events: Sequence[Event]) -> list[UUID]:
    return [event.fact.player for event in events if isinstance(event.fact, PlayerSeated)]


# What is listed


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_game_is_listed_as_its_facts_tell_it(datastore: Datastore, name: str) -> None:
    events = recorded(name)
    logged(datastore, [events])
    taken_in(datastore)
    (game,) = listed(datastore)
    opened, finished = fact_of(events, GameOpened), fact_of(events, GameFinished)
    ended = next(event for event in events if isinstance(event.fact, GameFinished))
    assert (game.game, game.kind, game.ruleset, game.host) == (events[0].game, opened.kind, 1, opened.host)
    assert (game.position, game.finished_at, game.ending) == (ended.seq, ended.cause.at, finished.ending)
    assert (game.version, game.hash, game.proved) == (len(events), events[-1].hash, True)
    assert game.opened_at == events[0].cause.at <= game.dealt_at <= game.finished_at
    assert [seat.player for seat in game.seats] == players_of(events)
    assert [(seat.seat, seat.place) for seat in game.seats] == [(line.seat, line.place) for line in finished.places]


def test_games_are_listed_in_the_order_in_which_they_finish(datastore: Datastore) -> None:
    some_finished_games(datastore)
    taken_in(datastore)
    games = listed(datastore)
    assert len(games) == 12
    assert [game.position for game in games] == sorted(game.position for game in games)
    assert listed(datastore, newest_first=True) == games[::-1]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("page", [1, 5, 12, 100])
def test_page_by_page_each_game_is_listed_once(datastore: Datastore, page: int, newest_first: bool) -> None:
    some_finished_games(datastore)
    taken_in(datastore)
    found: list[FinishedGame] = []
    while more := listed(
        datastore,
        first=page,
        newest_first=newest_first,
        **({"before" if newest_first else "after": found[-1].position} if found else {}),
    ):
        found += more
    assert found == listed(datastore, newest_first=newest_first)


def test_each_filter_lists_what_it_says_and_all_of_it(datastore: Datastore) -> None:
    played = some_finished_games(datastore)
    taken_in(datastore)
    games = listed(datastore)
    wanted: dict[str, tuple[Callable[[FinishedGame, Any], bool], list[Any]]] = {
        "kind": (lambda game, kind: game.kind == kind, ["poker", "ticitaire", "chess"]),
        "label": (lambda game, label: game.label == label, ["Spring Cup", "Autumn Cup"]),
        "host": (lambda game, host: game.host == host, [games[0].host, games[-1].host]),
        "player": (
            lambda game, who: who in [seat.player for seat in game.seats],
            [*players_of(played[0]), UUID(int=1)],
        ),
        "proved": (lambda game, proved: game.proved == proved, [True, False]),
        "after": (lambda game, after: game.position > after, [games[3].position]),
        "before": (lambda game, before: game.position < before, [games[9].position]),
    }
    values = [[(name, None), *((name, value) for value in values)] for name, (_, values) in wanted.items()]
    seen = 0
    for asked in product(*values):
        given = {name: value for name, value in asked if value is not None}
        if len(given) > 3:
            continue
        expected = [game for game in games if all(wanted[name][0](game, value) for name, value in given.items())]
        assert listed(datastore, **given) == expected, given
        seen += bool(expected)
    assert seen > 50


def test_an_unfinished_game_and_a_cancelled_one_are_not_listed(datastore: Datastore) -> None:
    finished = next(n for n, event in enumerate(recorded("won")) if isinstance(event.fact, GameFinished))
    logged(datastore, [recorded("poker-cancelled"), again("tickle-cancelled", 2), again("won", 1)[:finished]])
    taken_in(datastore)
    assert listed(datastore) == []
    assert counts_nowhere(datastore, players_of(recorded("poker-declared")))


def test_a_label_is_told_with_the_game(datastore: Datastore) -> None:
    logged(datastore, [again("given-up", 1, label="Spring Cup"), again("given-up", 2)])
    taken_in(datastore)
    assert [game.label for game in listed(datastore)] == ["Spring Cup", None]


# What counts


def without_seeds(events: Sequence[Event]) -> list[Event]:
    assert isinstance(events[-1].fact, SeedsRevealed)
    return list(events[:-1])


def with_other_seeds(events: Sequence[Event]) -> list[Event]:
    revealed = fact_of(events, SeedsRevealed)
    wrong = tuple(seed[::-1] for seed in revealed.seeds)
    return [*events[:-1], *with_facts(events, [*(e.fact for e in events[:-1]), SeedsRevealed(seeds=wrong)])[-1:]]


def with_too_few_seeds(events: Sequence[Event]) -> list[Event]:
    return with_facts(events, [*(event.fact for event in events[:-1]), SeedsRevealed(seeds=())])


@pytest.mark.parametrize("spoilt", [without_seeds, with_other_seeds, with_too_few_seeds])
@pytest.mark.parametrize("name", ["poker-declared", "tickle-timed-out", "won"])
def test_a_game_that_nothing_proves_is_listed_and_counts_nowhere(
    datastore: Datastore, spoilt: Callable[[Sequence[Event]], list[Event]], name: str
) -> None:
    events = recorded(name)
    told = spoilt(with_facts(events, [event.fact for event in events]))
    logged(datastore, [told])
    taken_in(datastore)
    (game,) = listed(datastore)
    assert (game.proved, game.version) == (False, len(told))
    assert counts_nowhere(datastore, [*players_of(events), UUID(int=1)])


def test_the_same_game_with_its_seeds_counts(datastore: Datastore) -> None:
    events = recorded("poker-declared")
    logged(datastore, [with_facts(events, [event.fact for event in events])])
    taken_in(datastore)
    assert [game.proved for game in listed(datastore)] == [True]
    assert not counts_nowhere(datastore, players_of(events))


def test_a_game_counts_when_its_seeds_come_however_far_the_log_is(datastore: Datastore) -> None:
    events = recorded("poker-declared")
    finished = next(event.seq for event in events if isinstance(event.fact, GameFinished))
    logged(datastore, [events])
    follower = Follower(datastore, Results(), batch=finished)
    follower.step()
    assert [(game.proved, game.version) for game in listed(datastore, newest_first=True)] == [(False, finished)]
    assert counts_nowhere(datastore, players_of(events))
    follower.step()
    assert [(game.proved, game.version) for game in listed(datastore)] == [(True, len(events))]
    assert not counts_nowhere(datastore, players_of(events))


def test_who_reads_on_and_on_is_told_of_no_game_before_its_seeds_are_taken_in(datastore: Datastore) -> None:
    events = recorded("poker-declared")
    finished = next(event.seq for event in events if isinstance(event.fact, GameFinished))
    logged(datastore, [events])
    follower = Follower(datastore, Results(), batch=finished)
    follower.step()
    assert listed(datastore) == []
    follower.step()
    assert [game.proved for game in listed(datastore)] == [True]


HELD_BACK = tuple(name for name in FINISHED if any(isinstance(event.fact, SeedsHeldBack) for event in recorded(name)))


@pytest.mark.parametrize("batch", [1, 500])
@pytest.mark.parametrize("name", HELD_BACK)
def test_a_game_whose_seeds_are_held_back_is_listed_at_its_end_and_counts_when_they_come(
    datastore: Datastore, name: str, batch: int
) -> None:
    *events, revealed = recorded(name)
    logged(datastore, [events])
    taken_in(datastore, batch=batch)
    (before,) = listed(datastore)
    assert (before.proved, before.version, before.hash) == (False, len(events), events[-1].hash)
    assert counts_nowhere(datastore, [*players_of(events), UUID(int=1)])
    logged(datastore, [[revealed]])
    taken_in(datastore, batch=batch)
    (after,) = listed(datastore)
    assert (after.proved, after.version, after.hash) == (True, revealed.seq, revealed.hash)
    assert (after.position, after.finished_at) == (before.position, before.finished_at)
    assert not counts_nowhere(datastore, [*players_of(events), UUID(int=1)])


def test_what_follows_a_closed_game_changes_nothing(datastore: Datastore, database_url: str) -> None:
    events = again("poker-declared", 1)
    logged(datastore, [events])
    taken_in(datastore)
    before = contents(database_url, RESULTS)
    facts = [event.fact for event in events]
    more = with_facts(events, [*facts, facts[-1], facts[-2], facts[-1]])
    logged(datastore, [more[len(events) :]])
    taken_in(datastore)
    after = contents(database_url, RESULTS)
    assert after.pop("projection_positions") != before.pop("projection_positions")
    assert after == before


def test_a_game_of_unknown_rules_stops_the_read_model_until_a_program_knows_them(
    datastore: Datastore, database_url: str
) -> None:
    events = recorded("given-up")
    opened = events[0].fact.model_copy(update={"ruleset": 99})
    logged(datastore, [with_facts(events, [opened, *(event.fact for event in events[1:])])])
    with pytest.raises(LookupError):
        taken_in(datastore, batch=1000)
    assert position(database_url, "results") == 0


def test_a_finished_game_whose_facts_do_not_fit_together_is_passed_over(datastore: Datastore) -> None:
    told = recorded("given-up")
    undealt = [event.fact for event in told if isinstance(event.fact, (GameOpened, PlayerSeated, GameFinished))]
    logged(datastore, [with_facts(again("given-up", 1), undealt), again("given-up", 2)])
    taken_in(datastore)
    assert [game.game.int for game in listed(datastore)] == [2]


# However the log is cut


@pytest.mark.parametrize("batch", [1, 7])
def test_whatever_the_batches_are_every_table_is_the_same(datastore: Datastore, database_url: str, batch: int) -> None:
    some_finished_games(datastore)
    taken_in(datastore, batch=batch)
    followed = contents(database_url, RESULTS)
    assert all(followed.values())
    Follower(datastore, RESULTS).rebuild(lambda *_: None)
    assert contents(database_url, RESULTS) == followed


def test_many_games_that_end_at_once_are_all_taken_in(datastore: Datastore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projections.results.TOGETHER", 2)
    logged(datastore, [again("poker-shared-first-place", number) for number in range(1, 8)])
    taken_in(datastore)
    assert {game.game.int for game in listed(datastore)} == set(range(1, 8))


def test_nothing_is_read_of_a_batch_in_which_no_game_ends(
    datastore: Datastore, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    logged(datastore, [recorded("won")[:150]])
    monkeypatch.setattr(Logged, "event", property(lambda _: pytest.fail("it was read")))
    taken_in(datastore)
    assert position(database_url, "results") == 150


# A log that seats a player twice


def seated_twice(events: Sequence[Event], player: UUID) -> list[Event]:
    """The game as if this player had the first and the last seat of it."""
    seats = len(players_of(events))
    facts = [
        fact.model_copy(update={"player": player})
        if isinstance(fact := event.fact, PlayerSeated) and fact.seat in (1, seats)
        else fact
        for event in events
    ]
    return with_facts(events, facts)


def test_a_player_who_sits_twice_is_counted_once_by_the_first_seat(datastore: Datastore, database_url: str) -> None:
    events, twice = recorded("poker-declared"), UUID(int=77)
    logged(datastore, [seated_twice(events, twice)])
    taken_in(datastore)
    (game,) = listed(datastore, player=twice)
    first, *_, last = game.seats
    assert first.player == last.player == twice
    assert PlayerQueries(datastore).statistics(twice)["poker"]["games"] == 1
    assert PlayerQueries(datastore).statistics(twice)["poker"]["points"] == first.points
    (change,) = [each for each in RatingQueries(datastore).of_game(game.game) if each.player == twice]
    assert change.place == first.place
    with psycopg.connect(database_url) as connection:
        (met,) = connection.execute("SELECT sum(games) FROM read_models.head_to_head").fetchone() or (0,)
    others = len(game.seats) - 1
    assert met == others * (others - 1) // 2
