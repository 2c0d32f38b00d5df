"""How finished games come onto the scoreboards: lines of those who played, and the counts by which they are ranked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow, tuple_row

from domain.counting import Keeps
from projections.boards import (
    ALL_TIME,
    RATING,
    Board,
    Period,
    Span,
    key_of,
    nodes,
    nodes_left,
    reached_by,
    value_of,
)
from projections.counted import COUNTERS, CountedGame
from projections.ratings import RatingChange, shown

__all__ = ["SCOREBOARD_TABLES", "enter"]

SCOREBOARD_TABLES: Final = {
    "scoreboards": (
        """
        CREATE TABLE IF NOT EXISTS scoreboards (
            scoreboard integer PRIMARY KEY,
            board text NOT NULL,
            span text NOT NULL,
            period text NOT NULL,
            UNIQUE (board, span, period)
        )
        """,
    ),
    "scoreboard_lines": (
        """
        CREATE TABLE IF NOT EXISTS scoreboard_lines (
            scoreboard integer NOT NULL,
            player uuid NOT NULL,
            key bigint NOT NULL,
            reached bigint NOT NULL,
            running integer NOT NULL,
            games integer NOT NULL,
            game uuid NOT NULL,
            PRIMARY KEY (scoreboard, player)
        )
        """,
        "CREATE INDEX IF NOT EXISTS scoreboard_lines_in_order ON scoreboard_lines (scoreboard, key, reached)",
    ),
    "scoreboard_counts": (
        """
        CREATE TABLE IF NOT EXISTS scoreboard_counts (
            scoreboard integer NOT NULL,
            level smallint NOT NULL,
            prefix bigint NOT NULL,
            lines integer NOT NULL,
            PRIMARY KEY (scoreboard, level, prefix)
        )
        """,
    ),
}
"""Statements by the table that they make."""

_BOARDS: Final[Mapping[str, tuple[tuple[str, Board], ...]]] = {
    kind: tuple((counter.name, Board(kind, counter.name)) for counter in counters if counter.board)
    for kind, counters in COUNTERS.items()
}

Scoreboard = tuple[Board, Period]
_Place = tuple[int, UUID]
"""A line: the number of its scoreboard, and whose it is."""


class _Gain(NamedTuple):
    """What a game brings one player on one scoreboard."""

    scoreboard: Scoreboard
    player: UUID
    number: int
    game: UUID
    reached: int


@dataclass(slots=True)
class _Held:
    """A line as it is kept."""

    key: int
    reached: int
    running: int
    """How long the row of games is that runs, where rows are counted; else 0."""
    games: int
    game: UUID


def enter(cursor: Cursor[DictRow], games: Sequence[CountedGame], changes: Sequence[RatingChange]) -> None:
    """Enter games, and what they changed of ratings, in the order of the log."""
    changed = defaultdict[UUID, list[RatingChange]](list)
    for change in changes:
        changed[change.game].append(change)
    gains = [gain for game in games for gain in _gains(game, changed[game.result.game])]
    numbers = _numbers(cursor, list(dict.fromkeys(gain.scoreboard for gain in gains)))
    wanted = dict.fromkeys((numbers[gain.scoreboard], gain.player) for gain in gains)
    lines = _held(cursor, list(wanted))
    before = {place: line.key for place, line in lines.items()}
    for gain in gains:
        place = numbers[gain.scoreboard], gain.player
        lines[place] = _advanced(lines.get(place), gain)
    _write_lines(cursor, lines)
    _write_counts(cursor, _moved(before, lines))


def _gains(game: CountedGame, changes: Sequence[RatingChange]) -> Iterator[_Gain]:
    """Yield what a game brings, seat by seat."""
    result, ratings = game.result, {change.player: change for change in changes}
    finished = result.finished_at
    periods = [ALL_TIME, Period.of(Span.MONTH, finished), Period.of(Span.WEEK, finished)]
    if result.label is not None:
        periods.append(Period(Span.LABEL, result.label))
    boards = _BOARDS[result.kind]
    for seat in game.seats:
        reached = reached_by(game.position, seat.seat)
        for name, board in boards:
            if (number := seat.counts.get(name)) is not None:
                for period in periods:
                    yield _Gain((board, period), seat.player, number, result.game, reached)
        if (change := ratings.get(seat.player)) is not None:
            board, number = Board(result.kind, RATING), shown(change.mu, change.sigma)
            yield _Gain((board, ALL_TIME), seat.player, number, result.game, reached)


def _advanced(line: _Held | None, gain: _Gain) -> _Held:
    """Return a player's line after a gain; None is a player who had no line."""
    keeps = gain.scoreboard[0].keeps
    before = None if line is None else value_of(line.key, keeps)
    running, value = 0, gain.number
    match keeps:
        case Keeps.SUM if before is not None:
            value += before
        case Keeps.GREATEST if before is not None:
            value = max(before, value)
        case Keeps.LEAST if before is not None:
            value = min(before, value)
        case Keeps.IN_A_ROW:
            running = (line.running if line else 0) + 1 if value else 0
            value = max(before or 0, running)
        case _:
            pass
    key = key_of(value, keeps)
    if line is None:
        return _Held(key, gain.reached, running, 1, gain.game)
    if key == line.key:
        return _Held(key, line.reached, running, line.games + 1, line.game)
    return _Held(key, gain.reached, running, line.games + 1, gain.game)


def _moved(before: Mapping[_Place, int], lines: Mapping[_Place, _Held]) -> dict[tuple[int, int, int], int]:
    """Return by how many lines each node changes: its scoreboard, level and prefix."""
    moved: dict[tuple[int, int, int], int] = defaultdict(int)
    for place, line in lines.items():
        scoreboard, _ = place
        old = before.get(place)
        if old is None:
            for level, prefix in nodes(line.key):
                moved[scoreboard, level, prefix] += 1
        elif old != line.key:
            for level, left, entered in nodes_left(old, line.key):
                moved[scoreboard, level, left] -= 1
                moved[scoreboard, level, entered] += 1
    return {node: lines for node, lines in moved.items() if lines}


def _numbers(cursor: Cursor[DictRow], wanted: Sequence[Scoreboard]) -> dict[Scoreboard, int]:
    """Return the numbers of scoreboards; those that are new get the next ones, in the order given."""
    columns = (
        [board.name for board, _ in wanted],
        [period.span for _, period in wanted],
        [period.name for _, period in wanted],
    )
    with cursor.connection.cursor(row_factory=tuple_row) as reading:
        reading.execute(
            "SELECT w.number, s.scoreboard, (SELECT coalesce(max(scoreboard), 0) FROM scoreboards)"
            " FROM unnest(%b::text[], %b::text[], %b::text[]) WITH ORDINALITY AS w (board, span, period, number)"
            " LEFT JOIN scoreboards AS s USING (board, span, period) ORDER BY w.number",
            columns,
            prepare=False,
        )
        rows = reading.fetchall()
    numbers: dict[Scoreboard, int] = {}
    new: list[int] = []
    for each, (_, number, last) in zip(wanted, rows, strict=True):
        if number is None:
            new.append(last + len(new) + 1)
        numbers[each] = new[-1] if number is None else number
    if new:
        fresh = set(new)
        added = [(board.name, period.span, period.name) for board, period in wanted if numbers[board, period] in fresh]
        cursor.execute(
            "INSERT INTO scoreboards SELECT * FROM unnest(%b::integer[], %b::text[], %b::text[], %b::text[])",
            (new, *map(list, zip(*added, strict=True))),
        )
    return numbers


def _held(cursor: Cursor[DictRow], places: Sequence[_Place]) -> dict[_Place, _Held]:
    """Return the lines that players have."""
    with cursor.connection.cursor(binary=True, row_factory=tuple_row) as reading:
        reading.execute(
            "SELECT scoreboard, player, key, reached, running, games, game"
            " FROM unnest(%b::integer[], %b::uuid[]) AS w (scoreboard, player)"
            " JOIN scoreboard_lines USING (scoreboard, player)",
            ([scoreboard for scoreboard, _ in places], [player for _, player in places]),
            prepare=False,
        )
        rows = reading.fetchall()
    return {(scoreboard, player): _Held(*line) for scoreboard, player, *line in rows}


def _write_lines(cursor: Cursor[DictRow], lines: Mapping[_Place, _Held]) -> None:
    kept = lines.values()
    cursor.execute(
        "INSERT INTO scoreboard_lines SELECT * FROM unnest(%b::integer[], %b::uuid[], %b::bigint[], %b::bigint[],"
        " %b::integer[], %b::integer[], %b::uuid[])"
        " ON CONFLICT (scoreboard, player) DO UPDATE SET key = EXCLUDED.key, reached = EXCLUDED.reached,"
        " running = EXCLUDED.running, games = EXCLUDED.games, game = EXCLUDED.game",
        (
            [scoreboard for scoreboard, _ in lines],
            [player for _, player in lines],
            [line.key for line in kept],
            [line.reached for line in kept],
            [line.running for line in kept],
            [line.games for line in kept],
            [line.game for line in kept],
        ),
    )


def _write_counts(cursor: Cursor[DictRow], moved: Mapping[tuple[int, int, int], int]) -> None:
    if not moved:
        return
    nodes_moved = sorted(moved)
    cursor.execute(
        "INSERT INTO scoreboard_counts AS c SELECT * FROM unnest(%b::integer[], %b::smallint[], %b::bigint[],"
        " %b::integer[])"
        " ON CONFLICT (scoreboard, level, prefix) DO UPDATE SET lines = c.lines + EXCLUDED.lines",
        (*map(list, zip(*nodes_moved, strict=True)), [moved[node] for node in nodes_moved]),
    )
    left = [node for node in nodes_moved if moved[node] < 0]
    if left:  # what is empty goes, or a board by time would keep a row for every time there ever was
        cursor.execute(
            "DELETE FROM scoreboard_counts AS c USING unnest(%b::integer[], %b::smallint[], %b::bigint[])"
            " AS l (scoreboard, level, prefix)"
            " WHERE (c.scoreboard, c.level, c.prefix) = (l.scoreboard, l.level, l.prefix) AND c.lines = 0",
            tuple(map(list, zip(*left, strict=True))),
            prepare=False,
        )
