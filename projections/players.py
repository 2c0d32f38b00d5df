"""What players have come to: their statistics by kind of game, and how they stand against each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from domain.counting import Counter, Counts, Keeps
from domain.storage import Datastore
from projections.counted import COUNTERS, CountedGame

__all__ = ["PLAYER_TABLES", "HeadToHead", "PlayerQueries", "count_meetings", "count_players"]

PLAYER_TABLES: Final = {
    "player_statistics": (
        """
        CREATE TABLE IF NOT EXISTS player_statistics (
            player uuid NOT NULL,
            kind text NOT NULL,
            counts jsonb NOT NULL,
            PRIMARY KEY (player, kind)
        )
        """,
    ),
    "head_to_head": (
        """
        CREATE TABLE IF NOT EXISTS head_to_head (
            one uuid NOT NULL,
            other uuid NOT NULL CHECK (one < other),
            kind text NOT NULL,
            games integer NOT NULL,
            one_ahead integer NOT NULL,
            other_ahead integer NOT NULL,
            PRIMARY KEY (one, other, kind)
        )
        """,
    ),
}
"""Statements by the table that they make."""


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """The games of a kind in which two players had places, as one of the two sees them."""

    games: int
    ahead: int
    """In how many this player had the better place."""
    behind: int
    """In how many the opponent had."""

    @property
    def level(self) -> int:
        """In how many they shared a place."""
        return self.games - self.ahead - self.behind


def running(counter: Counter) -> str:
    """Return the name by which statistics keep the row that runs, of a counter that keeps the longest."""
    return f"{counter.name}_now"


def count_players(cursor: Cursor[DictRow], games: Sequence[CountedGame]) -> None:
    """Add what games count to the statistics of those who played them."""
    played = dict.fromkeys((seat.player, game.result.kind) for game in games for seat in game.seats)
    rows = cursor.execute(
        "SELECT s.* FROM unnest(%b::uuid[], %b::text[]) AS w (player, kind)"
        " JOIN player_statistics AS s USING (player, kind)",
        ([player for player, _ in played], [kind for _, kind in played]),
        prepare=False,
    )
    found = {(row["player"], row["kind"]): row["counts"] for row in rows.fetchall()}
    statistics: dict[tuple[UUID, str], dict[str, int]] = {key: found.get(key, {}) for key in played}
    for game in games:
        for seat in game.seats:
            add(statistics[seat.player, game.result.kind], COUNTERS[game.result.kind], seat.counts)
    cursor.execute(
        "INSERT INTO player_statistics SELECT * FROM unnest(%b::uuid[], %b::text[], %b::jsonb[])"
        " ON CONFLICT (player, kind) DO UPDATE SET counts = EXCLUDED.counts",
        (
            [player for player, _ in statistics],
            [kind for _, kind in statistics],
            [Jsonb(counts) for counts in statistics.values()],
        ),
    )


def add(statistics: dict[str, int], counters: Sequence[Counter], counts: Counts) -> None:
    """Add the counts of one game to those of the games before."""
    for counter in counters:
        name = counter.name
        if (number := counts.get(name)) is None:
            continue
        match counter.keeps:
            case Keeps.SUM:
                statistics[name] = statistics.get(name, 0) + number
            case Keeps.GREATEST:
                statistics[name] = max(statistics.get(name, number), number)
            case Keeps.LEAST:
                statistics[name] = min(statistics.get(name, number), number)
            case Keeps.IN_A_ROW:
                row = statistics.get(running(counter), 0) + 1 if number else 0
                statistics[running(counter)] = row
                statistics[name] = max(statistics.get(name, 0), row)


def count_meetings(cursor: Cursor[DictRow], games: Sequence[CountedGame]) -> None:
    """Note for all who met in games who was ahead of whom."""
    met: dict[tuple[UUID, UUID, str], list[int]] = {}
    for game in games:
        for one, other, first in _meetings(game):
            line = met.setdefault((one, other, game.result.kind), [0, 0, 0])
            line[0] += 1
            line[1] += first < 0
            line[2] += first > 0
    if not met:
        return
    cursor.execute(
        "INSERT INTO head_to_head AS h SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::text[], %b::integer[],"
        " %b::integer[], %b::integer[])"
        " ON CONFLICT (one, other, kind) DO UPDATE SET games = h.games + EXCLUDED.games,"
        " one_ahead = h.one_ahead + EXCLUDED.one_ahead, other_ahead = h.other_ahead + EXCLUDED.other_ahead",
        (
            [one for one, _, _ in met],
            [other for _, other, _ in met],
            [kind for _, _, kind in met],
            [line[0] for line in met.values()],
            [line[1] for line in met.values()],
            [line[2] for line in met.values()],
        ),
    )


def _meetings(game: CountedGame) -> Iterator[tuple[UUID, UUID, int]]:
    """Yield each two players of a game, the lesser id first, and by how many places the first is behind the second."""
    placed = sorted((seat.player, seat.place) for seat in game.seats if seat.place is not None)
    for (one, place), (other, others_place) in combinations(placed, 2):
        yield one, other, place - others_place


class PlayerQueries:
    """What can be asked of players."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore: Final = datastore

    def statistics(self, player: UUID) -> Mapping[str, Counts]:
        """Return what is counted of a player, by kind of game; no line for a kind of which no game counts.

        Each has the kind's counters by their names, without those of which no game said anything. Where the longest
        row of games is kept, ``<name>_now`` is the one that runs.

        Raises:
            OperationalError: the database is away.
        """
        query = "SELECT kind, counts FROM read_models.player_statistics WHERE player = %s ORDER BY kind"
        return {row["kind"]: row["counts"] for row in self._datastore.read(query, (player,))}

    def of_players(self, players: Collection[UUID]) -> dict[UUID, dict[str, Counts]]:
        """Return what ``statistics`` does of several players, each of whom has an entry.

        Raises:
            OperationalError: the database is away.
        """
        query = "SELECT player, kind, counts FROM read_models.player_statistics WHERE player = ANY(%s) ORDER BY kind"
        found: dict[UUID, dict[str, Counts]] = {player: {} for player in players}
        for row in self._datastore.read(query, (list(found),)):
            found[row["player"]][row["kind"]] = row["counts"]
        return found

    def head_to_head(self, player: UUID, opponent: UUID) -> Mapping[str, HeadToHead]:
        """Return how a player stands against another, by kind of game; no line for a kind in which they never met.

        Raises:
            OperationalError: the database is away.
        """
        query = (
            "SELECT kind, games, one_ahead, other_ahead FROM read_models.head_to_head"
            " WHERE one = %s AND other = %s ORDER BY kind"
        )
        one, other = sorted((player, opponent))
        found = {}
        for row in self._datastore.read(query, (one, other)):
            ahead, behind = row["one_ahead"], row["other_ahead"]
            found[row["kind"]] = HeadToHead(row["games"], *((ahead, behind) if one == player else (behind, ahead)))
        return found
