"""The tree over the log: growing it against the group commit, and what roots and proofs take as it grows."""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from eventsourcing.persistence import StoredEvent

from api.database import prepare
from api.signing import CheckpointFile, Signer
from benchmarks.appends import gathered_per_second
from benchmarks.durability import MISSED, must_be_durable
from domain import merkle
from domain.merkle import Tree, leaf_hash
from domain.notes import SigningKey
from domain.storage import Datastore, EventRecorder
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.transparency import TreeQueries, asking

__all__ = ["measure_transparency"]

EVENTS = 60_000
LEAST = 2.0
"""Events that the tree takes in for each that is appended, at least: a tree that fell behind catches up."""
WRITERS = 128
SIZES = (1_000, 20_000, 200_000, 1_000_000)
SAMPLES = 400
GROWTH = 2.0
"""How much a proof may take for each step of log2, at the largest size against the smallest."""
TOPIC = "ticitaire.StockTurned"


def _event(game: UUID, seq: int) -> StoredEvent:
    """An event whose bytes are as long as a usual one's."""
    state = {"game": str(game), "pad": "x" * 200, "seq": seq, "type": TOPIC}
    return StoredEvent(game, seq, TOPIC, json.dumps(state).encode())


def _fill(recorder: EventRecorder, number: int) -> None:
    for _ in range(number // 2_000):
        game = uuid4()
        recorder.append([[_event(game, seq) for seq in range(1, 2_001)]])


def _seconds(call: Callable[[int], object], samples: Iterable[int], *, before: Callable[[], object] = int) -> float:
    """Return the lower quartile of what a call takes: what else runs on a shared machine only adds."""
    found = []
    for sample in samples:
        before()
        started = time.perf_counter()
        call(sample)
        found.append(time.perf_counter() - started)
    return statistics.quantiles(found, n=4)[0]


def measure_transparency(url: str, folder: Path) -> Iterator[str]:
    """Yield lines that tell the rates and their ratios."""
    yield must_be_durable(url)
    with Datastore(url) as datastore:
        prepare(datastore)
        for projection in PROJECTIONS.values():
            Follower(datastore, projection).create_tables()
        yield from _growing(datastore, url, folder)
    yield from _proving()


def _growing(datastore: Datastore, url: str, folder: Path) -> Iterator[str]:
    recorder, tree = EventRecorder(datastore), TreeQueries(asking(datastore))
    appends = gathered_per_second(recorder, WRITERS, event=_event)
    _fill(recorder, EVENTS)
    for name, batch in (("following", 500), ("rebuilding", 2_000)):
        with psycopg.connect(url) as connection:
            connection.execute("TRUNCATE read_models.merkle_tiles, read_models.merkle_beginnings")
            connection.execute("UPDATE read_models.projection_positions SET position = 0 WHERE name = 'transparency'")
        follower = Follower(datastore, PROJECTIONS["transparency"], batch=batch)
        started = time.perf_counter()
        while follower.step():
            pass
        rate = tree.reached().size / (time.perf_counter() - started)
        yield (
            f"{MISSED if rate / appends < LEAST else ''}{name}: {rate:.0f} events/s against {appends:.0f} appends/s"
            f" of {WRITERS} writers: ratio {rate / appends:.1f} (at least {LEAST:g})"
        )
    signer = Signer(datastore, SigningKey("bench.example/log", bytes(32)), CheckpointFile(folder / "checkpoint"))
    started, more = time.perf_counter(), True
    while more:
        _, more = signer.step()
    rate = tree.reached().size / (time.perf_counter() - started)
    yield f"signing, worked out again from the log: {rate:.0f} events/s: ratio {rate / appends:.1f} to the appends"
    _fill(recorder, 2_000)
    Follower(datastore, PROJECTIONS["transparency"]).step()
    signer.step()
    alone = _seconds(lambda _: signer.step(), range(20))
    yield f"a look at what was signed, with nothing new: {1000 * alone:.2f} ms"


def _proving() -> Iterator[str]:
    chance, first, tree, forget = random.Random(1), None, Tree(), merkle._levels.cache_clear  # noqa: SLF001
    for size in SIZES:
        tree.append([leaf_hash(b"%d" % number) for number in range(tree.size, size)])
        anywhere = [chance.randrange(size) for _ in range(SAMPLES)]
        root = _seconds(lambda _: tree.root(tree.size), range(SAMPLES))
        cold = _seconds(lambda index: tree.inclusion(index, tree.size), anywhere, before=forget)
        warm = _seconds(lambda index: tree.inclusion(index, tree.size), [anywhere[n % 50] for n in range(SAMPLES)])
        step = cold / math.log2(size)
        first = first or step
        yield (
            f"{MISSED if step / first > GROWTH else ''}{size} leaves: root {1000 * root:.3f} ms; proof"
            f" {1000 * cold:.3f} ms, and {1000 * warm:.3f} where its tiles were in use; for each step of log2"
            f" {step / first:.2f} times that of {SIZES[0]} (at most {GROWTH:g})"
        )
