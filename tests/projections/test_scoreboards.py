"""Scoreboards against one that sorts everything: each page, each place, each standing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.counting import Counts, Keeps
from domain.events import Event
from domain.results import Result, SeatResult, result_of
from domain.storage import Datastore
from projections.boards import BITS, LEVELS, key_of, nodes, nodes_left, value_of
from projections.counted import COUNTERS, CountedGame
from projections.entering import enter
from projections.ratings import RatingQueries, shown
from projections.scoreboards import ALL_TIME, BOARDS, Board, Line, Period, ScoreboardQueries, Span
from projections.tables import LIVE, within
from tests.given import NOON
from tests.projections.finished import some_finished_games, taken_in

POINTS, WINS, BEST = (BOARDS[f"tickle_{name}"] for name in ("points", "wins", "best_laydown"))
MOVES, STREAK = BOARDS["ticitaire_moves"], BOARDS["ticitaire_streak"]
PLACES = BOARDS["poker_places"]
EXTREME: Final = 2**62


# A scoreboard that keeps every game and sorts


@dataclass
class Kept:
    """What one player has on a board, with all that it came from."""

    numbers: list[int]
    value: int
    reached: tuple[int, int]
    game: UUID


def worth(keeps: Keeps | None, numbers: Sequence[int]) -> int:
    """What a player's games come to."""
    match keeps:
        case Keeps.SUM:
            return sum(numbers)
        case Keeps.GREATEST:
            return max(numbers)
        case Keeps.LEAST:
            return min(numbers)
        case Keeps.IN_A_ROW:
            rows = "".join("x" if number else " " for number in numbers).split()
            return max(map(len, rows), default=0)
        case _:
            return numbers[-1]


def periods_of(result: Result) -> list[Period]:
    at = result.finished_at
    year, week, _ = at.isocalendar()
    label = [Period(Span.LABEL, result.label)] if result.label else []
    return [ALL_TIME, Period(Span.MONTH, f"{at:%Y-%m}"), Period(Span.WEEK, f"{year}-W{week:02}"), *label]


Sorted = list[tuple[int, UUID, int, UUID, int, int]]
"""Place, player, value, game, number of games and position."""


def sorted_boards(games: Sequence[CountedGame]) -> dict[tuple[Board, Period], Sorted]:
    boards: dict[tuple[Board, Period], dict[UUID, Kept]] = {}
    for game in games:
        for seat in game.result.seats:
            for board in BOARDS.values():
                number = seat.counts.get(board.counter) if board.kind == game.result.kind else None
                if number is None:
                    continue
                for period in periods_of(game.result):
                    lines = boards.setdefault((board, period), {})
                    kept = lines.setdefault(seat.player, Kept([], 0, (0, 0), game.result.game))
                    kept.numbers.append(number)
                    value = worth(board.keeps, kept.numbers)
                    if value != kept.value or len(kept.numbers) == 1:
                        kept.value, kept.reached, kept.game = value, (game.position, seat.seat), game.result.game
    return {where: in_order(where[0], lines) for where, lines in boards.items()}


FROM_ONE = ("tickle_wins", "poker_places", "ticitaire_wins", "ticitaire_streak")
"""The boards that list only those who have something."""


def in_order(board: Board, lines: dict[UUID, Kept]) -> Sorted:
    best_first = 1 if board.keeps is Keeps.LEAST else -1
    if board.name in FROM_ONE:
        lines = {player: kept for player, kept in lines.items() if kept.value > 0}
    order = sorted(lines.items(), key=lambda line: (best_first * line[1].value, line[1].reached))
    values = [kept.value for _, kept in order]
    return [
        (values.index(kept.value) + 1, player, kept.value, kept.game, len(kept.numbers), kept.reached[0])
        for player, kept in order
    ]


def plain(lines: Sequence[Line]) -> Sorted:
    return [(line.place, line.player, line.value, UUID(str(line.game)), line.games, line.position) for line in lines]


# Games that never were


def game_of(
    number: int,
    kind: str,
    seats: Sequence[tuple[int, Counts]],
    *,
    at: datetime = NOON,
    label: str | None = None,
    position: int | None = None,
) -> CountedGame:
    """The game of this number, by players with these numbers and what is counted of each."""
    ids = [UUID(int=player) for player, _ in seats]
    told = tuple(
        SeatResult(seat, ids[seat - 1], None, None, False, seats[seat - 1][1]) for seat in range(1, len(ids) + 1)
    )
    result = Result(UUID(int=number), kind, 1, ids[0], label, "won", at, at, at, 9, "00" * 32, True, None, told)
    return CountedGame(number * 10 if position is None else position, result)


def some_counts(chance: random.Random, kind: str) -> dict[str, int]:
    """What may be counted of a game, alike in many of them."""
    few = chance.choice((3, 3, 3, 40, 5000))
    counts = {}
    for counter in COUNTERS[kind]:
        if counter.board and (counter.keeps in (Keeps.SUM, Keeps.IN_A_ROW) or chance.random() < 0.7):
            low = -few if counter.keeps is Keeps.SUM and counter.name == "points" else 0
            counts[counter.name] = chance.randint(0, 1) if counter.keeps is Keeps.IN_A_ROW else chance.randint(low, few)
    return counts


def made_up(seed: int, *, games: int, players: int) -> list[CountedGame]:
    chance = random.Random(seed)
    made = []
    for number in range(1, games + 1):
        kind = chance.choice(("tickle", "tickle", "ticitaire", "poker"))
        seated = chance.sample(range(1, players + 1), 1 if kind == "ticitaire" else chance.randint(2, 6))
        at = NOON + timedelta(days=chance.randrange(70), hours=chance.randrange(24))
        label = chance.choice((None, None, "Spring Cup", "Club Evening"))
        made.append(game_of(number, kind, [(who, some_counts(chance, kind)) for who in seated], at=at, label=label))
    return made


def entered(datastore: Datastore, games: Sequence[CountedGame], *, batch: int = 50) -> ScoreboardQueries:
    for start in range(0, len(games), batch):
        with datastore.transaction(commit=True) as cursor:
            within(cursor, LIVE)
            enter(cursor, games[start : start + batch], [])
    return ScoreboardQueries(datastore)


def pages(queries: ScoreboardQueries, board: Board, period: Period, size: int) -> Iterator[list[Line]]:
    """Every page, one after the other."""
    page = queries.lines(board, period, first=size)
    while page:
        yield page
        page = queries.lines(board, period, after=page[-1].after, first=size)


# Pages and standings


@pytest.mark.parametrize("seed", range(2))
def test_every_board_has_the_lines_and_the_places_that_sorting_gives(datastore: Datastore, seed: int) -> None:
    games = made_up(seed, games=400, players=250)
    queries, boards = entered(datastore, games), sorted_boards(games)
    assert len(boards) > 60
    for (board, period), expected in boards.items():
        assert plain(queries.lines(board, period, first=1000)) == expected, (board, period)
        assert queries.players(board, period) == len(expected)


@pytest.mark.parametrize("size", [1, 2, 7, 100, 1000])
def test_pages_of_every_size_have_each_line_once_and_its_place(datastore: Datastore, size: int) -> None:
    games = made_up(7, games=200, players=120)
    queries, boards = entered(datastore, games), sorted_boards(games)
    for board in (POINTS, WINS, BEST, MOVES, PLACES):
        read = list(pages(queries, board, ALL_TIME, size))
        assert {len(page) for page in read[:-1]} <= {size}
        assert plain([line for page in read for line in page]) == boards[board, ALL_TIME], board


@pytest.mark.parametrize("board", [POINTS, WINS, MOVES, STREAK], ids=lambda board: str(board.name))
def test_the_board_can_be_read_on_behind_every_line(datastore: Datastore, board: Board) -> None:
    games = made_up(8, games=200, players=100)
    queries, expected = entered(datastore, games), sorted_boards(games)[board, ALL_TIME]
    for number, line in enumerate(queries.lines(board, ALL_TIME, first=1000), 1):
        assert plain(queries.lines(board, ALL_TIME, after=line.after, first=5)) == expected[number : number + 5]


@pytest.mark.parametrize("neighbours", [0, 1, 4, 500])
@pytest.mark.parametrize("board", [POINTS, WINS, MOVES], ids=lambda board: str(board.name))
def test_a_standing_is_the_stretch_of_the_board_around_a_player(
    datastore: Datastore, board: Board, neighbours: int
) -> None:
    games = made_up(9, games=150, players=80)
    queries, expected = entered(datastore, games), sorted_boards(games)[board, ALL_TIME]
    for number, (_, player, *_) in enumerate(expected):
        standing = queries.standing(board, ALL_TIME, player, neighbours=neighbours)
        assert standing is not None
        assert plain([standing.line]) == [expected[number]]
        assert plain(standing.above) == expected[max(0, number - neighbours) : number]
        assert plain(standing.below) == expected[number + 1 : number + 1 + neighbours]
        assert standing.players == len(expected)


@pytest.mark.parametrize("board", FROM_ONE)
def test_nobody_leads_with_nothing(datastore: Datastore, board: str) -> None:
    wanted = BOARDS[board]
    numbers = [(1, 0), (2, 1), (3, 0)]
    games = [game_of(n, wanted.kind, [(who, {wanted.counter: number})]) for n, (who, number) in enumerate(numbers, 1)]
    queries = entered(datastore, games)
    assert [line.player.int for line in queries.lines(wanted, ALL_TIME, first=10)] == [2]
    assert queries.players(wanted, ALL_TIME) == 1
    assert queries.standing(wanted, ALL_TIME, UUID(int=1), neighbours=3) is None
    standing = queries.standing(wanted, ALL_TIME, UUID(int=2), neighbours=3)
    assert standing is not None
    assert (standing.above, standing.below, standing.players) == ((), (), 1)


def test_who_is_not_on_a_board_has_no_standing(datastore: Datastore) -> None:
    queries = entered(datastore, [game_of(1, "tickle", [(1, {"points": 5})])])
    assert queries.standing(POINTS, ALL_TIME, UUID(int=2), neighbours=3) is None
    assert queries.standing(WINS, ALL_TIME, UUID(int=1), neighbours=3) is None


def test_a_board_of_which_nothing_is_known_is_empty(datastore: Datastore) -> None:
    queries = ScoreboardQueries(datastore)
    assert queries.lines(POINTS, Period(Span.LABEL, "no such label"), first=10) == []
    assert queries.players(POINTS, ALL_TIME) == 0
    assert queries.standing(POINTS, ALL_TIME, UUID(int=1), neighbours=3) is None


# What a line tells


def board_of(datastore: Datastore, board: Board, games: Sequence[CountedGame]) -> list[tuple[int, int, int]]:
    """Place, player and value of each line."""
    lines = entered(datastore, games).lines(board, ALL_TIME, first=100)
    return [(line.place, line.player.int, line.value) for line in lines]


def test_equal_values_share_a_place_and_who_was_first_stands_first(datastore: Datastore) -> None:
    points = [(4, 10), (2, 30), (3, 30), (1, 50)]
    games = [game_of(n, "tickle", [(player, {"points": number})]) for n, (player, number) in enumerate(points, 1)]
    assert board_of(datastore, POINTS, games) == [(1, 1, 50), (2, 2, 30), (2, 3, 30), (4, 4, 10)]


def test_in_one_game_the_lower_seat_was_first(datastore: Datastore) -> None:
    game = game_of(1, "tickle", [(9, {"points": 5}), (3, {"points": 5})])
    assert board_of(datastore, POINTS, [game]) == [(1, 9, 5), (1, 3, 5)]


def test_a_value_that_is_left_and_reached_again_is_reached_the_second_time(datastore: Datastore) -> None:
    numbers = [(1, 10), (2, 10), (1, 5), (1, -5)]
    games = [game_of(n, "tickle", [(player, {"points": number})]) for n, (player, number) in enumerate(numbers, 1)]
    assert board_of(datastore, POINTS, games) == [(1, 2, 10), (1, 1, 10)]


def test_sums_may_be_less_than_nothing(datastore: Datastore) -> None:
    numbers = [(1, -10), (2, 0), (3, 4), (4, -10)]
    games = [game_of(n, "tickle", [(player, {"points": number})]) for n, (player, number) in enumerate(numbers, 1)]
    assert board_of(datastore, POINTS, games) == [(1, 3, 4), (2, 2, 0), (3, 1, -10), (3, 4, -10)]


def test_fewer_moves_are_better(datastore: Datastore) -> None:
    games = [game_of(n, "ticitaire", [(player, {"moves": 90 + n * player})]) for n, player in ((1, 1), (2, 2), (3, 1))]
    assert board_of(datastore, MOVES, games) == [(1, 1, 91), (2, 2, 94)]


def test_a_row_is_broken_by_a_game_that_was_not_won_and_the_longest_stays(datastore: Datastore) -> None:
    games = [game_of(n, "ticitaire", [(1, {"streak": won})]) for n, won in enumerate((1, 1, 1, 0, 1, 1))]
    assert board_of(datastore, STREAK, games) == [(1, 1, 3)]
    games = [game_of(n, "ticitaire", [(1, {"streak": 1})]) for n in range(7, 9)]
    assert board_of(datastore, STREAK, games) == [(1, 1, 4)]


def test_the_best_game_is_the_one_that_set_the_value(datastore: Datastore) -> None:
    games = [game_of(n, "tickle", [(1, {"best_laydown": number})]) for n, number in ((1, 12), (2, 19), (3, 19), (4, 5))]
    (line,) = entered(datastore, games).lines(BEST, ALL_TIME, first=10)
    assert (line.value, line.game, line.games, line.position) == (19, UUID(int=2), 4, 20)


def test_medals_are_compared_firsts_first_in_sums_of_sixty_bits(datastore: Datastore) -> None:
    first, second, third = 2**40, 2**20, 1
    sums = [(1, 900_000 * third), (2, second), (3, first), (4, 700_000 * first + 5 * second), (5, 700_000 * first)]
    games = [game_of(n, "poker", [(player, {"places": places})]) for n, (player, places) in enumerate(sums, 1)]
    assert [player for _, player, _ in board_of(datastore, PLACES, games)] == [4, 5, 3, 2, 1]


def test_sums_beyond_all_bounds_stay_at_the_end_of_the_board(datastore: Datastore) -> None:
    games = [game_of(n, "tickle", [(1, {"points": 2**61}), (2, {"points": -(2**61)})]) for n in range(1, 6)]
    assert board_of(datastore, POINTS, games) == [(1, 1, EXTREME - 1), (2, 2, -EXTREME)]


def test_places_are_right_however_far_apart_the_values_are(datastore: Datastore) -> None:
    powers = [2**power for power in range(0, 62, 2)]
    numbers = [number for power in powers for number in (power, power, -power, EXTREME - power, power - EXTREME)]
    chance = random.Random(5)
    chance.shuffle(numbers)
    games = [game_of(n, "tickle", [(n, {"points": number})]) for n, number in enumerate(numbers, 1)]
    queries, expected = entered(datastore, games), sorted_boards(games)[POINTS, ALL_TIME]
    assert plain([line for page in pages(queries, POINTS, ALL_TIME, 1) for line in page]) == expected


# Periods


@pytest.mark.parametrize(
    ("at", "month", "week"),
    [
        ("2026-11-30T23:59:59.999999+00:00", "2026-11", "2026-W49"),
        ("2026-12-01T00:00:00+00:00", "2026-12", "2026-W49"),
        ("2026-12-01T00:30:00+01:00", "2026-11", "2026-W49"),
        ("2027-01-03T23:59:59+00:00", "2027-01", "2026-W53"),
        ("2027-01-04T00:00:00+00:00", "2027-01", "2027-W01"),
        ("2024-12-30T00:00:00+00:00", "2024-12", "2025-W01"),
    ],
)
def test_a_game_is_of_the_month_and_the_week_in_which_it_was_finished_in_utc(at: str, month: str, week: str) -> None:
    time = datetime.fromisoformat(at)
    assert Period.of(Span.MONTH, time) == Period(Span.MONTH, month)
    assert Period.of(Span.WEEK, time) == Period(Span.WEEK, week)


@pytest.mark.parametrize("span", [Span.ALL_TIME, Span.LABEL])
def test_of_what_is_no_stretch_of_time_a_time_tells_nothing(span: Span) -> None:
    with pytest.raises(ValueError, match="neither a month nor a week"):
        Period.of(span, datetime.now(UTC))


def test_a_row_begins_anew_in_each_period(datastore: Datastore) -> None:
    days = ("2026-11-29", "2026-11-30", "2026-12-01", "2026-12-02")
    games = [
        game_of(n, "ticitaire", [(1, {"streak": 1})], at=datetime.fromisoformat(f"{day}T12:00:00+00:00"))
        for n, day in enumerate(days, 1)
    ]
    queries = entered(datastore, games)
    periods = [ALL_TIME, *(Period(Span.MONTH, name) for name in ("2026-11", "2026-12")), Period(Span.WEEK, "2026-W49")]
    assert [queries.lines(STREAK, period, first=9)[0].value for period in periods] == [4, 2, 2, 3]


def test_a_label_has_boards_of_its_own_and_all_else_that_it_may_be_called_none(datastore: Datastore) -> None:
    label = "2026-11"
    games = [game_of(1, "tickle", [(1, {"points": 5})], label=label), game_of(2, "tickle", [(1, {"points": 7})])]
    queries = entered(datastore, games)
    periods = [Period(Span.LABEL, label), ALL_TIME, Period(Span.LABEL, "")]
    assert [[line.value for line in queries.lines(POINTS, period, first=9)] for period in periods] == [[5], [12], []]


# Real games


def counted(games: Sequence[Sequence[Event]], datastore: Datastore) -> list[CountedGame]:
    """The games in the order of the log in which they were closed."""
    query = (
        "SELECT originator_id AS game, max(notification_id) AS position FROM game_events"
        " WHERE topic = 'game.SeedsRevealed' GROUP BY game"
    )
    at = {row["game"]: row["position"] for row in datastore.read(query, ())}
    told = [CountedGame(at[events[0].game], result_of(events)) for events in games]
    return sorted(told, key=lambda game: game.position)


@pytest.mark.parametrize("batch", [7, 500])
def test_the_boards_of_real_games_are_what_sorting_their_results_gives(datastore: Datastore, batch: int) -> None:
    games = some_finished_games(datastore)
    taken_in(datastore, batch=batch)
    queries, boards = ScoreboardQueries(datastore), sorted_boards(counted(games, datastore))
    assert {period.span for _, period in boards} == set(Span)
    for (board, period), expected in boards.items():
        assert plain(queries.lines(board, period, first=100)) == expected, (board, period)


@pytest.mark.parametrize("kind", ["tickle", "poker"])
def test_the_board_of_ratings_has_each_player_by_the_rating_that_is_shown(datastore: Datastore, kind: str) -> None:
    some_finished_games(datastore)
    taken_in(datastore, batch=40)
    lines = ScoreboardQueries(datastore).lines(BOARDS[f"{kind}_rating"], ALL_TIME, first=100)
    assert len(lines) >= 3
    assert [line.value for line in lines] == sorted((line.value for line in lines), reverse=True)
    for line in lines:
        (rating,) = [each for each in RatingQueries(datastore).ratings(line.player) if each.kind == kind]
        assert line.value == shown(rating.mu, rating.sigma)
        assert line.games == rating.games


def test_boards_of_ratings_are_of_all_time_only(datastore: Datastore, database_url: str) -> None:
    some_finished_games(datastore)
    taken_in(datastore)
    with psycopg.connect(database_url) as connection:
        query = "SELECT DISTINCT span FROM read_models.scoreboards WHERE board LIKE '%rating'"
        assert connection.execute(query).fetchall() == [(Span.ALL_TIME,)]


# The counts by which lines are ranked


@pytest.mark.parametrize("batch", [1, 50])
def test_the_counts_are_those_of_the_lines_and_what_is_empty_is_gone(
    datastore: Datastore, database_url: str, batch: int
) -> None:
    entered(datastore, made_up(11, games=80, players=30), batch=batch)
    expected: dict[tuple[int, int, int], int] = {}
    with psycopg.connect(database_url) as connection:
        for scoreboard, key in connection.execute("SELECT scoreboard, key FROM read_models.scoreboard_lines"):
            for level, prefix in nodes(key):
                expected[scoreboard, level, prefix] = expected.get((scoreboard, level, prefix), 0) + 1
        query = "SELECT scoreboard, level, prefix, lines FROM read_models.scoreboard_counts"
        assert {row[:3]: row[3] for row in connection.execute(query)} == expected


VALUES = st.integers(-EXTREME, EXTREME - 1) | st.integers(-1000, 1000)
each_way = pytest.mark.parametrize("keeps", [*Keeps, None])


@each_way
@given(one=VALUES, other=VALUES)
@example(one=EXTREME - 1, other=-EXTREME)
def test_the_better_value_has_the_lesser_key(keeps: Keeps | None, one: int, other: int) -> None:
    better = one < other if keeps is Keeps.LEAST else one > other
    assert (key_of(one, keeps) < key_of(other, keeps)) == better


@each_way
@given(value=VALUES)
@example(value=-EXTREME)
@example(value=EXTREME - 1)
def test_a_key_fits_and_gives_its_value_back(keeps: Keeps | None, value: int) -> None:
    key = key_of(value, keeps)
    assert 0 <= key < 2**63
    assert value_of(key, keeps) == value


@given(old=st.integers(0, 2**63 - 1), new=st.integers(0, 2**63 - 1))
def test_a_line_leaves_the_nodes_that_only_its_old_key_is_in(old: int, new: int) -> None:
    moved = list(nodes_left(old, new))
    assert {(level, left) for level, left, _ in moved} == set(nodes(old)) - set(nodes(new))
    assert {(level, entered) for level, _, entered in moved} == set(nodes(new)) - set(nodes(old))


@given(key=st.integers(0, 2**63 - 1))
def test_on_the_last_level_a_node_is_one_key_and_on_the_first_there_are_few(key: int) -> None:
    found = dict(nodes(key))
    assert found[LEVELS - 1] == key
    assert found[0] < 2**BITS
    assert set(found) == set(range(LEVELS))
