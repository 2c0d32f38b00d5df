"""Ratings: each is the last of a chain of changes, and each change comes of one game."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from uuid import UUID

import pytest
from openskill.models import PlackettLuce

from domain.events import Event
from domain.results import Result, SeatResult, result_of
from domain.storage import Datastore
from projections.counted import CountedGame
from projections.ratings import Rating, RatingChange, RatingQueries, rate, shown
from projections.results import ResultQueries
from projections.tables import LIVE, within
from tests.given import NOON
from tests.projections.finished import again, logged, some_finished_games, taken_in

NEWCOMER = (25.0, 25.0 / 3)


def game_of(number: int, places: Sequence[int | None], *, kind: str = "tickle") -> CountedGame:
    """The game of this number, in which players 1, 2, ... have these places."""
    seats = tuple(SeatResult(seat, UUID(int=seat), place, 0, False, {}) for seat, place in enumerate(places, 1))
    host, when = UUID(int=1), (NOON, NOON, NOON)
    result = Result(UUID(int=number), kind, 1, host, None, "won", *when, 9, "00" * 32, True, None, seats)
    return CountedGame(number * 10, result)


def rated(datastore: Datastore, *games: CountedGame) -> list[RatingChange]:
    with datastore.transaction(commit=True) as cursor:
        within(cursor, LIVE)
        return rate(cursor, games)


def all_changes(datastore: Datastore) -> list[RatingChange]:
    """Every change, in the order of the log."""
    queries = RatingQueries(datastore)
    games = ResultQueries(datastore).finished(first=1000)
    changes = [change for game in games for change in queries.of_game(game.game)]
    return sorted(changes, key=lambda change: change.position)


def test_a_newcomer_is_shown_a_thousand() -> None:
    assert shown(*NEWCOMER) == 1000


@pytest.mark.parametrize(("mu", "sigma", "number"), [(30.0, 2.0, 1960), (25.0, 1.0, 1880), (10.0, 8.0, 440)])
def test_what_is_shown_is_what_a_player_very_likely_has(mu: float, sigma: float, number: int) -> None:
    assert shown(mu, sigma) == number


def test_who_wins_rises_who_loses_falls_and_both_are_known_better(datastore: Datastore) -> None:
    won, lost = rated(datastore, game_of(1, [1, 2]))
    assert won.mu > NEWCOMER[0] > lost.mu
    assert won.sigma < NEWCOMER[1] > lost.sigma


def test_who_shares_a_place_changes_alike(datastore: Datastore) -> None:
    _, one, other, _ = rated(datastore, game_of(1, [1, 2, 2, 4]))
    assert (one.mu, one.sigma) == (other.mu, other.sigma)


def test_a_change_tells_all_of_where_it_comes_from(datastore: Datastore) -> None:
    rated(datastore, game_of(1, [2, 1]))
    winner, loser = RatingQueries(datastore).of_game(UUID(int=1))
    assert (winner.player, winner.place, loser.player, loser.place) == (UUID(int=2), 1, UUID(int=1), 2)
    assert (winner.kind, winner.game, winner.position) == ("tickle", UUID(int=1), 10)
    assert (winner.mu_before, winner.sigma_before) == NEWCOMER
    (rating,) = RatingQueries(datastore).ratings(UUID(int=2))
    assert rating == Rating("tickle", UUID(int=2), winner.mu, winner.sigma, 1, UUID(int=1), 10)


@pytest.mark.parametrize("together", [True, False])
def test_each_change_begins_where_the_one_before_ended_to_the_last_bit(datastore: Datastore, together: bool) -> None:
    games = [game_of(number, places) for number, places in enumerate(([1, 2, 3], [3, 1, 2], [1, 1], [2, 1, 2]), 1)]
    changes = rated(datastore, *games) if together else [change for game in games for change in rated(datastore, game)]
    for _, found in groupby(sorted(changes, key=lambda c: (c.player, c.position)), key=lambda c: c.player):
        chain = list(found)
        assert (chain[0].mu_before, chain[0].sigma_before) == NEWCOMER
        assert all((one.mu, one.sigma) == (next_.mu_before, next_.sigma_before) for one, next_ in pairwise(chain))
        (rating,) = RatingQueries(datastore).ratings(chain[0].player)
        assert (rating.mu, rating.sigma, rating.games) == (chain[-1].mu, chain[-1].sigma, len(chain))


def test_in_batches_or_alone_the_games_give_the_same_ratings(datastore: Datastore) -> None:
    games = [game_of(n, [1, 2, 3] if n % 3 else [2, 1, 2]) for n in range(1, 12)]
    in_one = rated(datastore, *games)
    with datastore.transaction(commit=True) as cursor:
        cursor.execute("TRUNCATE read_models.ratings, read_models.rating_changes")
    assert [change for game in games for change in rated(datastore, game)] == in_one


def test_each_kind_has_ratings_of_its_own(datastore: Datastore) -> None:
    rated(datastore, game_of(1, [1, 2]), game_of(2, [2, 1], kind="poker"))
    assert [each.kind for each in RatingQueries(datastore).ratings(UUID(int=1))] == ["poker", "tickle"]
    changes = [change.game.int for change in RatingQueries(datastore).changes(UUID(int=1), kind="poker", first=9)]
    assert changes == [2]


@pytest.mark.parametrize(
    "game",
    [game_of(1, [1], kind="ticitaire"), game_of(1, [1]), game_of(1, [None, None]), game_of(1, [None, 1])],
    ids=["a game for one", "one player", "no places", "one place"],
)
def test_where_no_two_have_places_nothing_is_rated(datastore: Datastore, game: CountedGame) -> None:
    assert rated(datastore, game) == []
    assert RatingQueries(datastore).of_game(UUID(int=1)) == []


def test_changes_are_read_page_by_page_the_newest_first(datastore: Datastore) -> None:
    rated(datastore, *(game_of(number, [1, 2]) for number in range(1, 8)))
    queries, read = RatingQueries(datastore), list[int]()
    page = queries.changes(UUID(int=1), kind="tickle", first=3)
    while page:
        read += [change.game.int for change in page]
        page = queries.changes(UUID(int=1), kind="tickle", before=page[-1].position, first=3)
    assert read == [7, 6, 5, 4, 3, 2, 1]


def test_of_many_players_and_games_the_same_is_told_as_of_each(datastore: Datastore) -> None:
    rated(datastore, game_of(1, [1, 2]), game_of(2, [2, 1, 3], kind="poker"), game_of(3, [1, 2]))
    queries, players = RatingQueries(datastore), [UUID(int=number) for number in (1, 3, 9)]
    assert queries.of_players(players) == {player: queries.ratings(player) for player in players}
    changes = queries.changes_in(UUID(int=2), [UUID(int=1), UUID(int=2), UUID(int=8)])
    assert {game.int: change.place for game, change in changes.items()} == {1: 2, 2: 1}


# Real games


def test_the_ratings_of_real_games_are_what_rating_their_places_one_by_one_gives(datastore: Datastore) -> None:
    games: dict[UUID, list[Event]] = {events[0].game: events for events in some_finished_games(datastore)}
    taken_in(datastore, batch=40)
    changes = all_changes(datastore)
    model, ratings = PlackettLuce(), dict[tuple[str, UUID], tuple[float, float]]()
    rated_games = list(dict.fromkeys(change.game for change in changes))
    for game in rated_games:
        result = result_of(games[game])
        known = [ratings.get((result.kind, seat.player), NEWCOMER) for seat in result.seats]
        places = [float(seat.place or 0) for seat in result.seats]
        new = model.rate([[model.rating(mu=mu, sigma=sigma)] for mu, sigma in known], ranks=places)
        for seat, ((rating,)) in zip(result.seats, new, strict=True):
            ratings[result.kind, seat.player] = rating.mu, rating.sigma
    assert len(rated_games) == sum(result_of(events).kind != "ticitaire" for events in games.values()) == 10
    for (kind, player), (mu, sigma) in ratings.items():
        (found,) = [each for each in RatingQueries(datastore).ratings(player) if each.kind == kind]
        assert (found.mu, found.sigma) == (mu, sigma)


def test_a_seat_that_resigned_is_rated_by_its_place(datastore: Datastore) -> None:
    logged(datastore, [again("poker-resignations", 1)])
    taken_in(datastore)
    (game,) = ResultQueries(datastore).finished(first=1)
    places = {change.player: change.place for change in RatingQueries(datastore).of_game(game.game)}
    assert any(seat.resigned for seat in game.seats)
    assert places == {seat.player: seat.place for seat in game.seats}
