"""What is counted of players, and how they stand against each other, against counting it all again."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from itertools import permutations
from uuid import UUID

import pytest

from domain.counting import Counts, Keeps
from domain.results import Result, SeatResult, result_of
from domain.storage import Datastore
from projections.counted import COUNTERS, CountedGame
from projections.players import HeadToHead, PlayerQueries, count_meetings, count_players
from projections.results import ResultQueries
from projections.tables import LIVE, within
from tests.given import NOON
from tests.projections.finished import some_finished_games, taken_in

ADA, BEN, CLEO = (UUID(int=number) for number in (1, 2, 3))


def game_of(
    number: int,
    counts: Mapping[UUID, Counts],
    *,
    kind: str = "tickle",
    places: Sequence[int | None] | None = None,
) -> CountedGame:
    seats = tuple(
        SeatResult(seat, player, places[seat - 1] if places else None, None, False, counts[player])
        for seat, player in enumerate(counts, 1)
    )
    host, when = seats[0].player, (NOON, NOON, NOON)
    result = Result(UUID(int=number), kind, 1, host, None, "won", *when, 9, "0", True, None, seats)
    return CountedGame(number * 10, result)


def counted(datastore: Datastore, *games: CountedGame) -> PlayerQueries:
    with datastore.transaction(commit=True) as cursor:
        within(cursor, LIVE)
        count_players(cursor, games)
        count_meetings(cursor, games)
    return PlayerQueries(datastore)


def test_what_is_summed_up_is_added_game_by_game(datastore: Datastore) -> None:
    counted(datastore, game_of(1, {ADA: {"points": 12, "wins": 1}}), game_of(2, {ADA: {"points": -5, "wins": 0}}))
    queries = counted(datastore, game_of(3, {ADA: {"points": 3}}))
    assert queries.statistics(ADA) == {"tickle": {"points": 10, "wins": 1}}


def test_of_the_greatest_the_greatest_stays_and_of_the_least_the_least(datastore: Datastore) -> None:
    games = [game_of(n, {ADA: {"best_laydown": best}}) for n, best in enumerate((7, 12, 9))]
    fewest = [game_of(n, {ADA: {"moves": moves}}, kind="ticitaire") for n, moves in enumerate((99, 90, 95))]
    queries = counted(datastore, *games, *fewest)
    assert queries.statistics(ADA) == {"ticitaire": {"moves": 90}, "tickle": {"best_laydown": 12}}


def test_of_games_in_a_row_the_longest_row_is_kept_and_the_one_that_runs(datastore: Datastore) -> None:
    seen = []
    for number, won in enumerate((0, 1, 1, 1, 0, 1)):
        queries = counted(datastore, game_of(number, {ADA: {"streak": won}}, kind="ticitaire"))
        statistics = queries.statistics(ADA)["ticitaire"]
        seen.append((statistics["streak"], statistics["streak_now"]))
    assert seen == [(0, 0), (1, 1), (2, 2), (3, 3), (3, 0), (3, 1)]


def test_a_counter_of_which_no_game_says_anything_is_left_out(datastore: Datastore) -> None:
    queries = counted(datastore, game_of(1, {ADA: {"games": 1, "of another program": 5}}))
    assert queries.statistics(ADA) == {"tickle": {"games": 1}}


def test_who_never_played_has_no_statistics(datastore: Datastore) -> None:
    assert PlayerQueries(datastore).statistics(ADA) == {}
    assert PlayerQueries(datastore).head_to_head(ADA, BEN) == {}


def test_of_many_players_the_same_is_told_as_of_each(datastore: Datastore) -> None:
    queries = counted(
        datastore, game_of(1, {ADA: {"points": 5}, BEN: {"points": 7}}), game_of(2, {ADA: {"wins": 1}}, kind="poker")
    )
    players = [ADA, BEN, CLEO]
    assert queries.of_players(players) == {player: queries.statistics(player) for player in players}


@pytest.mark.parametrize(
    ("places", "ahead", "behind", "level"), [([1, 2], 1, 0, 0), ([2, 1], 0, 1, 0), ([1, 1], 0, 0, 1)]
)
def test_ahead_is_who_has_the_better_place(
    datastore: Datastore, places: list[int | None], ahead: int, behind: int, level: int
) -> None:
    queries = counted(datastore, game_of(1, {BEN: {}, ADA: {}}, places=places))
    (met,) = queries.head_to_head(BEN, ADA).values()
    assert (met.games, met.ahead, met.behind, met.level) == (1, ahead, behind, level)
    assert queries.head_to_head(ADA, BEN) == {"tickle": HeadToHead(1, behind, ahead)}


def test_where_one_has_no_place_the_two_have_not_met(datastore: Datastore) -> None:
    queries = counted(datastore, game_of(1, {ADA: {}, BEN: {}, CLEO: {}}, places=[None, 1, 2]))
    assert queries.head_to_head(ADA, BEN) == {}
    assert queries.head_to_head(BEN, CLEO) == {"tickle": HeadToHead(1, 1, 0)}


def test_a_player_never_meets_himself(datastore: Datastore) -> None:
    queries = counted(datastore, game_of(1, {ADA: {}, BEN: {}}, places=[1, 2]))
    assert queries.head_to_head(ADA, ADA) == {}


# Real games


def again_from(results: Sequence[Result]) -> dict[tuple[UUID, str], Tally[str]]:
    """The statistics, counted without any step between: from all numbers of a player at once."""
    said: dict[tuple[UUID, str, str], list[int]] = {}
    for result in results:
        for seat in result.seats:
            for name, number in seat.counts.items():
                said.setdefault((seat.player, result.kind, name), []).append(number)
    keeps = {(kind, counter.name): counter.keeps for kind, counters in COUNTERS.items() for counter in counters}
    found: dict[tuple[UUID, str], Tally[str]] = {}
    for (player, kind, name), numbers in said.items():
        tally = found.setdefault((player, kind), Tally())
        rows = "".join("x" if number else " " for number in numbers)
        match keeps[kind, name]:
            case Keeps.SUM:
                tally[name] = sum(numbers)
            case Keeps.GREATEST:
                tally[name] = max(numbers)
            case Keeps.LEAST:
                tally[name] = min(numbers)
            case Keeps.IN_A_ROW:
                tally[name] = max(map(len, rows.split()), default=0)
                tally[f"{name}_now"] = len(rows) - len(rows.rstrip("x"))
    return found


@pytest.mark.parametrize("batch", [7, 500])
def test_the_statistics_of_real_games_are_what_counting_them_again_gives(datastore: Datastore, batch: int) -> None:
    games = {events[0].game: result_of(events) for events in some_finished_games(datastore)}
    taken_in(datastore, batch=batch)
    in_order = [games[game.game] for game in ResultQueries(datastore).finished(first=100)]
    expected = again_from(in_order)
    assert len(expected) >= 8
    for player in {player for player, _ in expected}:
        found = PlayerQueries(datastore).statistics(player)
        assert found == {kind: dict(tally) for (who, kind), tally in expected.items() if who == player}


def test_who_met_whom_in_real_games_is_what_their_places_say(datastore: Datastore) -> None:
    results = [result_of(events) for events in some_finished_games(datastore)]
    taken_in(datastore)
    met = Tally[tuple[UUID, UUID, str, int]]()
    for result in results:
        for one, other in permutations(result.seats, 2):
            assert one.place is not None
            assert other.place is not None
            sign = (one.place > other.place) - (one.place < other.place)
            met[one.player, other.player, result.kind, sign] += 1
    assert len(met) > 10
    for player, opponent, kind, _ in met:
        found = PlayerQueries(datastore).head_to_head(player, opponent)[kind]
        told = {-1: found.ahead, 0: found.level, 1: found.behind}
        assert told == {sign: met[player, opponent, kind, sign] for sign in told}
