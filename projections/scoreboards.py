"""Scoreboards as they are read: a page, and where one player stands, at the same cost at whatever place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.sql import SQL, Literal

from domain.counting import Keeps
from domain.storage import Datastore
from projections.boards import ALL_TIME, BITS, BOARDS, LEVELS, Board, Period, Span, position_of, value_of

__all__ = ["ALL_TIME", "BOARDS", "Board", "Line", "Period", "ScoreboardQueries", "Span", "Standing"]


@dataclass(frozen=True, slots=True)
class Line:
    """One player's line on a scoreboard."""

    place: int
    """1 for the best; equal values share the place, and leave out those that follow: 1, 2, 2, 4."""
    player: UUID
    value: int
    """As it is counted: points, games, milliseconds, a rating as it is shown."""
    game: UUID | None
    """The one that set the value: the best one, or else the last that changed it."""
    games: int
    """How many have said something of what is counted here."""
    position: int
    """In the log, where the value was reached."""
    after: tuple[int, int]
    """Where the board can be read on from, behind this line."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A player's line, and those around it."""

    line: Line
    above: tuple[Line, ...]
    """In the order of the board: the nearest is the last."""
    below: tuple[Line, ...]
    players: int
    """How many lines the board has."""


_BOARD: Final = SQL("""
board AS MATERIALIZED (
    SELECT scoreboard FROM read_models.scoreboards WHERE board = %s AND span = %s AND period = %s
)
""")

_RANKED: Final = SQL("""
top AS MATERIALIZED (
    SELECT scoreboard, key FROM page ORDER BY key LIMIT 1
), ranked AS (
    SELECT page.*, (
        SELECT coalesce(sum(c.lines), 0)::bigint
          FROM top
         CROSS JOIN generate_series(0, {last}) AS own_level
         CROSS JOIN LATERAL (SELECT top.key >> ({bits} * ({last} - own_level)) AS prefix) AS own
         CROSS JOIN LATERAL (
            SELECT sum(lines) AS lines FROM read_models.scoreboard_counts AS n
             WHERE n.scoreboard = top.scoreboard AND n.level = own_level::smallint
               AND n.prefix >= own.prefix >> {bits} << {bits} AND n.prefix < own.prefix
         ) AS c
    ) AS better, (
        SELECT n.lines FROM top JOIN read_models.scoreboard_counts AS n
            ON n.scoreboard = top.scoreboard AND n.level = {last} AND n.prefix = top.key
    ) AS alike
    FROM page
)
""").format(bits=Literal(BITS), last=Literal(LEVELS - 1))
"""A page's lines, each with how many of the whole board are better than the first of them, and how many equal it."""

_PLAYERS: Final = SQL("""
SELECT coalesce(sum(CASE level WHEN 0 THEN lines ELSE -lines END), 0)::bigint AS players
  FROM read_models.scoreboard_counts
 WHERE scoreboard = (SELECT scoreboard FROM board) AND (level = 0 OR (level = {last} AND prefix > %s))
""").format(last=Literal(LEVELS - 1))
"""All lines, less those at the end that are not listed: they have one key, of no wins, say."""

_COUNT: Final = SQL("WITH {} {}").format(_BOARD, _PLAYERS)

_LINES: Final = SQL("""
WITH {}, page AS MATERIALIZED (
    SELECT * FROM read_models.scoreboard_lines
     WHERE scoreboard = (SELECT scoreboard FROM board) AND (key, reached) > (%s, %s) AND key <= %s
     ORDER BY key, reached LIMIT %s
), {}
SELECT player, key, game, games, reached, better, alike FROM ranked ORDER BY key, reached
""").format(_BOARD, _RANKED)

_STANDING: Final = SQL("""
WITH {}, own AS MATERIALIZED (
    SELECT * FROM read_models.scoreboard_lines
     WHERE scoreboard = (SELECT scoreboard FROM board) AND player = %s AND key <= %s
), page AS MATERIALIZED (
    SELECT * FROM own
    UNION ALL
    SELECT above.* FROM own CROSS JOIN LATERAL (
        SELECT * FROM read_models.scoreboard_lines AS l
         WHERE l.scoreboard = own.scoreboard AND (l.key, l.reached) < (own.key, own.reached)
         ORDER BY l.key DESC, l.reached DESC LIMIT %s
    ) AS above
    UNION ALL
    SELECT below.* FROM own CROSS JOIN LATERAL (
        SELECT * FROM read_models.scoreboard_lines AS l
         WHERE l.scoreboard = own.scoreboard AND (l.key, l.reached) > (own.key, own.reached) AND l.key <= %s
         ORDER BY l.key, l.reached LIMIT %s
    ) AS below
), {}
SELECT player, key, game, games, reached, better, alike, ({}) AS players FROM ranked ORDER BY key, reached
""").format(_BOARD, _RANKED, _PLAYERS)


_ABOVE_ALL: Final = (-1, 0)
"""What the best line follows."""


class ScoreboardQueries:
    """What can be asked of scoreboards, each in one query: it sees the board as it is at one moment."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore: Final = datastore

    def lines(self, board: Board, period: Period, *, after: tuple[int, int] | None = None, first: int) -> list[Line]:
        """Return at most ``first`` lines, the best first, that follow a line.

        Args:
            board: which.
            period: of which games.
            after: the line's ``after``; None for the top of the board.
            first: how many.

        Raises:
            OperationalError: the database is away.
        """
        wanted = (*_names(board, period), *(after or _ABOVE_ALL), board.last, first)
        return _told(self._datastore.read(_LINES, wanted), board.keeps)

    def standing(self, board: Board, period: Period, player: UUID, *, neighbours: int) -> Standing | None:
        """Return a player's line with at most so many on either side; None where the player has no line.

        Raises:
            OperationalError: the database is away.
        """
        last = board.last
        wanted = (*_names(board, period), player, last, neighbours, last, neighbours, last)
        rows = self._datastore.read(_STANDING, wanted)
        lines = _told(rows, board.keeps)
        own = next((n for n, line in enumerate(lines) if line.player == player), None)
        if own is None:
            return None
        return Standing(lines[own], tuple(lines[:own]), tuple(lines[own + 1 :]), rows[0]["players"])

    def players(self, board: Board, period: Period) -> int:
        """Return how many lines a board lists.

        Raises:
            OperationalError: the database is away.
        """
        players: int = self._datastore.read(_COUNT, (*_names(board, period), board.last))[0]["players"]
        return players


def _names(board: Board, period: Period) -> tuple[str, str, str]:
    return board.name, period.span, period.name


def _told(rows: Sequence[DictRow], keeps: Keeps | None) -> list[Line]:
    """Return lines that follow each other, from rows of which the first tells its place."""
    if not rows:
        return []
    key, place = rows[0]["key"], rows[0]["better"] + 1
    # From the first line with another key on, all that are before a line are on the page, or counted.
    number = place + rows[0]["alike"]
    lines = []
    for row in rows:
        if row["key"] != rows[0]["key"]:
            if row["key"] != key:
                key, place = row["key"], number
            number += 1
        lines.append(
            Line(
                place=place,
                player=row["player"],
                value=value_of(row["key"], keeps),
                game=row["game"],
                games=row["games"],
                position=position_of(row["reached"]),
                after=(row["key"], row["reached"]),
            )
        )
    return lines
