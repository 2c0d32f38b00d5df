"""Every read model built anew, from ten thousand events on: what an event costs there, and then in longer logs.

The default stays at a hundred thousand; `TIC_BENCHMARK_EVENTS=1000000` goes on to a million. While all models are built
side by side, events are appended, followers take them in and readers ask: how long each of them waited is told.

What an event costs is told in seconds of processors, of this process and of the database's that works for it: what else
a shared machine does makes them wait, and cost little more.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from api.collector import settle_collector
from api.database import prepare
from benchmarks.calibrate import calibration_seconds
from benchmarks.durability import MISSED
from benchmarks.generated.filling import fill
from benchmarks.generated.weaving import Entry, Recipe, woven
from domain.storage import Datastore
from projections.lobby import LobbyQueries
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.scoreboards import ALL_TIME, BOARDS, ScoreboardQueries
from projections.side_by_side import rebuilt_side_by_side

__all__ = ["measure_rebuilding"]

LENGTHS: Final = (10_000, 100_000, 1_000_000)
RECIPE: Final = Recipe(at_first=2, until_more=40)
"""Where the log is longer, more games are under way, so that at any length as small a part of it is of games that are
not over yet: what is taken in when they are would else come to less in a short log."""
USUAL: Final = 100_000
MOST_GROWTH: Final = 1.2
"""How many times the cost of an event may grow from the shortest log to the longest."""
RUNS: Final = {10_000: 7, 100_000: 3}
"""How often a model is built of a log; of a longer one once. The least counts: what else a machine does only adds."""
MEANWHILE: Final = 20
"""Events that are appended at a time while all is built anew."""
REST_SECONDS: Final = 0.05
LONGEST_PAUSE: Final = 1.0
"""Seconds that a reader may wait while all is built anew: a swap, and a moment of a machine that has other work."""


def measure_rebuilding(url: str, _folder: Path) -> Iterator[str]:
    """Yield lines that tell events per second, the growth of an event's cost, and what readers notice."""
    settle_collector()  # as `tic project rebuild` does
    wanted = int(os.environ.get("TIC_BENCHMARK_EVENTS", USUAL))
    lengths = [length for length in LENGTHS if length <= wanted] or [wanted]
    with closing(Datastore(url, connections=8)) as datastore:
        prepare(datastore)
        followers = {name: Follower(datastore, projection) for name, projection in PROJECTIONS.items()}
        for follower in followers.values():
            follower.create_tables()
        costs: dict[str, list[_Cost]] = {name: [] for name in followers}
        with closing(woven(RECIPE, workers=os.cpu_count() or 1)) as entries:  # type: ignore[type-var]
            filled = 0
            for length in lengths:
                started, before = time.perf_counter(), filled
                filled += fill(url, entries, events=length - filled)
                took = time.perf_counter() - started
                yield f"{filled - before} events played and appended in {took:.0f} s: {(filled - before) / took:.0f}/s"
                for name in followers:
                    costs[name].append(min(_cost(url, name) for _ in range(RUNS.get(length, 1))))
            unit = calibration_seconds()
            yield f"the calibration loop takes {unit * 1000:.1f} ms here"
            for name, found in costs.items():
                yield _growth(name, lengths, found, unit)
            yield from _side_by_side(datastore, followers, unit, url=url, entries=entries)


class _Cost(NamedTuple):
    """What an event costs, in seconds."""

    work: float
    """Of processors, where the system tells; else as long as it took."""
    took: float


def _cost(url: str, name: str) -> _Cost:
    """Rebuild a model, alone."""
    with closing(Datastore(url, connections=1)) as datastore:
        with datastore.get_connection() as connection:
            backend = connection.info.backend_pid
        started, before = time.perf_counter(), _work(backend)
        events = Follower(datastore, PROJECTIONS[name]).rebuild(lambda _done, _total: None)
        took = time.perf_counter() - started
        work = _work(backend) - before if before else took
    return _Cost(work / events, took / events)


def _work(backend: int) -> float:
    """Return the seconds of processors that this process and one of the database have had; 0 where nothing tells."""
    told = Path(f"/proc/{backend}/stat")
    if not told.exists():
        return 0.0
    *_, numbers = told.read_text().rpartition(")")
    user, system = numbers.split()[11:13]
    return time.process_time() + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _growth(name: str, lengths: Sequence[int], costs: Sequence[_Cost], unit: float) -> str:
    """Tell what an event costs at each length, and how it grows."""
    told = ", ".join(
        f"{cost.work * 1e6:.1f} us of {length} ({1 / cost.took:.0f} events/s)"
        for length, cost in zip(lengths, costs, strict=True)
    )
    grown = costs[-1].work / costs[0].work
    return (
        f"{'' if grown <= MOST_GROWTH else MISSED}{name} alone: an event costs {told}; {grown:.2f} times as much in the"
        f" longest log as in the shortest (at most {MOST_GROWTH}), and {costs[-1].work / unit:.5f} of the loop"
    )


def _side_by_side(
    datastore: Datastore, followers: Mapping[str, Follower], unit: float, *, url: str, entries: Iterator[Entry]
) -> Iterator[str]:
    lobby, scoreboards = LobbyQueries(datastore), ScoreboardQueries(datastore)
    board = next(iter(BOARDS.values()))
    acts: dict[str, Callable[[], object]] = {
        "an append": lambda: fill(url, entries, events=MEANWHILE),
        "a look at the list of games": partial(lobby.games, first=20),
        "a look at a scoreboard": partial(scoreboards.lines, board, ALL_TIME, first=20),
        **{f"a follower's step of {name}": follower.step for name, follower in followers.items()},
    }
    with _busy(acts) as waits:
        started = time.perf_counter()
        rebuilt = rebuilt_side_by_side(url, list(followers), lambda *_: None, begin=settle_collector)
        took = time.perf_counter() - started
    events = max(rebuilt.values())
    yield (
        f"all of {', '.join(rebuilt)} side by side: {events} events in {took:.1f} s, {events / took:.0f}/s;"
        f" an event costs {took / events / unit:.5f} of the loop"
    )
    for name, found in waits.items():
        late = max(found)
        yield (
            f"{'' if late <= LONGEST_PAUSE else MISSED}meanwhile {name} was done {len(found)} times: in"
            f" {statistics.median(found) * 1000:.1f} ms mostly, at the longest in {late * 1000:.0f} ms"
            f" (at most {LONGEST_PAUSE:g} s)"
        )


@contextmanager
def _busy(acts: Mapping[str, Callable[[], object]]) -> Iterator[dict[str, list[float]]]:
    """Do each of these again and again as long as the block lasts; yield how long each time took."""
    waits: dict[str, list[float]] = {name: [] for name in acts}
    over = threading.Event()

    def act(name: str) -> None:
        while not over.wait(REST_SECONDS):
            started = time.perf_counter()
            acts[name]()
            waits[name].append(time.perf_counter() - started)

    with ThreadPoolExecutor(len(acts)) as pool:
        acting = [pool.submit(act, name) for name in acts]
        try:
            yield waits
        finally:
            over.set()
        for each in acting:
            each.result()  # fails where one of them has failed
