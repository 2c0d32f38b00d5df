"""What metrics cost: durable moves over HTTP on a server that is measured, against one that is not."""

from __future__ import annotations

import statistics
import time
import timeit
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from graphql import OperationType

from api.metrics import Metrics
from api.observing import Observatory
from benchmarks.calibrate import calibration_seconds
from benchmarks.durability import MISSED
from benchmarks.moves import CONNECTIONS, QUERY, SMALL, free_port, load, served, tables

__all__ = ["measure_monitoring"]

ROUNDS = 14
FLOOR = 0.9
REPEATS = 5_000


def measure_monitoring(url: str, folder: Path) -> Iterator[str]:
    """Yield lines that tell the rates and their ratio, rounds of both kinds taking turns; and what a scrape takes."""
    metrics_port = free_port()
    with served(url, folder) as plain, served(url, folder, TIC_METRICS_PORT=str(metrics_port)) as measured:
        token, games = tables(plain, CONNECTIONS)
        versions = [3] * CONNECTIONS
        query = QUERY % " ".join(SMALL.split())
        rates: dict[int, list[float]] = {plain: [], measured: []}
        scrapes: list[float] = []
        size = 0
        for number in range(ROUNDS):
            # By turns, and each first in every second round: a shared machine is slower for seconds at a time.
            for port, found in list(rates.items())[:: 1 if number % 2 else -1]:
                players = [
                    {"mutation": "turnTicitaireStock", "query": query, "game": game, "version": version}
                    | {"recycles": True, "step": 1, "stock": 69 - (version - 3) % 70}
                    for game, version in zip(games, versions, strict=True)
                ]
                result = load(port, {"token": token, "players": players})
                versions = result["versions"]
                found.append(result["per_second"])
            began = time.perf_counter()
            with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10) as answer:
                size = len(answer.read())
            scrapes.append(time.perf_counter() - began)
    without, with_ = (statistics.median(found) for found in rates.values())
    ratio = statistics.median(measured / plain for plain, measured in zip(*rates.values(), strict=True))
    yield (
        f"{'' if ratio >= FLOOR else MISSED}{with_:.0f} durable moves/s with metrics against {without:.0f} without, at"
        f" {CONNECTIONS} connections: ratio {ratio:.2f} (at least {FLOOR})"
    )
    yield f"a scrape: {statistics.median(scrapes) * 1000:.0f} ms, {size / 1024:.0f} KiB"
    yield (
        f"what is counted of a move takes {_counting_seconds() * 1e6:.0f} microseconds, where the calibration loop"
        f" takes {calibration_seconds() * 1000:.0f} ms"
    )


def _counting_seconds() -> float:
    """Return the least time of several in which one move is counted: as a command, an operation and a request."""
    metrics = Metrics()
    measured, unmeasured = Observatory(metrics), Observatory()

    def operate(observatory: Observatory) -> None:
        with observatory.operation("http", "0" * 32) as operation:
            operation.found(OperationType.MUTATION, ("turnTicitaireStock",))
            operation.answered(None)

    def counted() -> None:
        operate(measured)
        metrics.ended("ticitaire", None, 0.01)
        metrics.requested("/graphql", 200, 0.01)

    with_, without = (
        min(timeit.repeat(each, number=REPEATS, repeat=5)) for each in (counted, lambda: operate(unmeasured))
    )
    return (with_ - without) / REPEATS
