"""A scoreboard of a million players: where one of them stands, near the top and far below, and pages of all sizes.

`TIC_BENCHMARK_PLAYERS` makes it fewer, or more.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

import psycopg
from psycopg.sql import SQL, Identifier

from api.collector import settle_collector
from api.database import prepare
from benchmarks.durability import MISSED
from domain.storage import Datastore
from projections.boards import BITS, LEVELS, key_of
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.scoreboards import ALL_TIME, BOARDS, ScoreboardQueries

__all__ = ["measure_standings"]

K = TypeVar("K")

USUAL: Final = 1_000_000
BOARD: Final = BOARDS["ticitaire_time"]
"""Of its players half share few values, thousands each; the others have one of their own, or nearly so."""
NEIGHBOURS: Final = 3
ROUNDS: Final = 200
"""How often each question is asked; they take turns, so that what else a machine does falls on all of them."""
DEEPER: Final = 2.0
"""How many times longer a standing may take at any place than at place 10, and the deepest page than the first."""
LARGER: Final = 3.0
"""How many times longer a page of 100 lines may take than one of 10."""


def measure_standings(url: str, _folder: Path) -> Iterator[str]:
    """Yield lines that tell what a standing costs at each place against place 10, and pages against each other."""
    settle_collector()
    players = int(os.environ.get("TIC_BENCHMARK_PLAYERS", USUAL))
    with closing(Datastore(url, connections=2)) as datastore:
        prepare(datastore)
        for projection in PROJECTIONS.values():
            Follower(datastore, projection).create_tables()
        started = time.perf_counter()
        by_place = _filled(url, players)
        yield f"{BOARD.name}: a board of {players:,} players, filled in {time.perf_counter() - started:.0f} s"
        yield from _measured(ScoreboardQueries(datastore), by_place)


_LINES: Final = SQL("""
INSERT INTO read_models.scoreboard_lines
SELECT 1, id, %(best)s
       + (CASE WHEN random() < 0.5 THEN floor(random() * 300) * 10000 ELSE floor(random() * 1e8) END)::bigint,
       number << 8 | 1, 0, 1, id
  FROM generate_series(1, %(players)s) AS number, CAST(lpad(to_hex(number), 32, '0') AS uuid) AS id
""")
_COUNTS: Final = SQL("""
INSERT INTO read_models.scoreboard_counts
SELECT 1, %(level)s, key >> %(shift)s, count(*) FROM read_models.scoreboard_lines GROUP BY 3
""")
_IN_ORDER: Final = "SELECT player FROM read_models.scoreboard_lines ORDER BY key, reached"


def _filled(url: str, players: int) -> list[UUID]:
    """Write the board as the read model would; return the players in its order."""
    with psycopg.connect(url, autocommit=True) as connection:
        insert = "INSERT INTO read_models.scoreboards VALUES (1, %s, %s, %s)"
        connection.execute(insert, (BOARD.name, ALL_TIME.span, ALL_TIME.name))
        connection.execute("SELECT setseed(0.5)")
        connection.execute(_LINES, {"best": key_of(0, BOARD.keeps), "players": players})
        for level in range(LEVELS):
            connection.execute(_COUNTS, {"level": level, "shift": BITS * (LEVELS - 1 - level)})
        for table in ("scoreboard_lines", "scoreboard_counts"):
            connection.execute(SQL("VACUUM ANALYZE {}").format(Identifier("read_models", table)))
        return [player for (player,) in connection.execute(_IN_ORDER)]


def _measured(queries: ScoreboardQueries, by_place: Sequence[UUID]) -> Iterator[str]:
    """Yield what standings and pages cost, each against another."""
    total = len(by_place)
    places = sorted({10, min(1_000, total), total // 2, total})

    def standing(place: int) -> Callable[[int], object]:
        # Others near the place each time: the same one would be remembered by every cache there is.
        at = [min(total - 1, max(0, place - 1 + step)) for step in range(-5, 5)]
        return lambda turn: queries.standing(BOARD, ALL_TIME, by_place[at[turn % len(at)]], neighbours=NEIGHBOURS)

    found = _timed({place: standing(place) for place in places})
    for place in places[1:]:
        yield _compared(f"a standing at line {place:,}", found[place], "at line 10", found[10], limit=DEEPER)
    last = queries.standing(BOARD, ALL_TIME, by_place[-101], neighbours=0)
    assert last is not None
    deep = last.line.after
    pages = _timed(
        {
            "of 10 at the top": lambda _: queries.lines(BOARD, ALL_TIME, first=10),
            "of 100 at the top": lambda _: queries.lines(BOARD, ALL_TIME, first=100),
            "of 10 at the bottom": lambda _: queries.lines(BOARD, ALL_TIME, after=deep, first=10),
            "of 100 at the bottom": lambda _: queries.lines(BOARD, ALL_TIME, after=deep, first=100),
        }
    )
    for one, other, limit in (
        ("of 100 at the top", "of 10 at the top", LARGER),
        ("of 100 at the bottom", "of 10 at the bottom", LARGER),
        ("of 10 at the bottom", "of 10 at the top", DEEPER),
        ("of 100 at the bottom", "of 100 at the top", DEEPER),
    ):
        yield _compared(f"a page {one}", pages[one], f"of one {other}", pages[other], limit=limit)


def _timed(questions: dict[K, Callable[[int], object]]) -> dict[K, float]:
    """Ask each question again and again, in turn; return the lower quartile of its times, in milliseconds."""
    times: dict[K, list[float]] = {name: [] for name in questions}
    for turn in range(ROUNDS):
        for name, ask in questions.items():
            started = time.perf_counter()
            ask(turn)
            times[name].append(time.perf_counter() - started)
    return {name: statistics.quantiles(found, n=4)[0] * 1000 for name, found in times.items()}


def _compared(what: str, took: float, other: str, others: float, *, limit: float) -> str:
    ratio = took / others
    missed = "" if ratio <= limit else MISSED
    return f"{missed}{what}: {took:.2f} ms against {others:.2f} ms {other}: ratio {ratio:.2f} (at most {limit})"
