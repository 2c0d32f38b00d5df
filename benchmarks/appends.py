"""Appends through the group commit against the eventsourcing library's recorder as it is: 32 and 128 writers.

A writer appends one event of a game of its own after the other, each on disk before the next. Rounds of both take
turns.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict

from api.arrivals import Arrivals
from api.database import prepare
from benchmarks.durability import MISSED, must_be_durable
from domain.gathering import Gathering, Item
from domain.storage import Datastore, EventRecorder

__all__ = ["gathered_per_second", "measure_appends"]

FLOORS = {32: 6.0, 128: 10.0}
"""The least ratio, by the number of writers."""
ROUNDS = 5
SECONDS = 2.0


def _event(game: UUID, version: int) -> StoredEvent:
    """An event whose bytes are as long as a usual one's."""
    state = f'{{"game":"{game}","pad":"{"x" * 210}","seq":{version},"type":"bench"}}'
    return StoredEvent(game, version, "bench", state.encode())


def _library_per_second(library: PostgresApplicationRecorder, writers: int) -> float:
    """Let threads append: the library knows no other way."""
    counts, until = [0] * writers, time.perf_counter() + SECONDS

    def write(number: int) -> None:
        game = uuid4()
        while time.perf_counter() < until:
            counts[number] += 1
            library.insert_events([_event(game, counts[number])])

    started = time.perf_counter()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)


def gathered_per_second(
    recorder: EventRecorder, writers: int, *, event: Callable[[UUID, int], StoredEvent] = _event
) -> float:
    """Let coroutines append, as the server's requests do: what comes during a commit goes in the next one."""

    def work(items: Sequence[Item[StoredEvent, int]]) -> None:
        appended = recorder.append([[item.value] for item in items])
        for item, positions in zip(items, appended, strict=True):
            item.end(positions[0] if positions else RuntimeError("somebody else appends here"))

    def game(event: StoredEvent) -> UUID | str:
        return event.originator_id

    gathering, arrivals = Gathering[StoredEvent, int](work, key=game), Arrivals()

    async def write(until: float) -> int:
        game, version = uuid4(), 0
        while time.perf_counter() < until:
            version += 1
            await arrivals.told(partial(gathering.submit, event(game, version)))
        return version

    async def run() -> float:
        started = time.perf_counter()
        counts = await asyncio.gather(*(write(started + SECONDS) for _ in range(writers)))
        return sum(counts) / (time.perf_counter() - started)

    return asyncio.run(run())


def _library(url: str) -> PostgresDatastore:
    where = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    return PostgresDatastore(
        dbname=where["dbname"],
        host=where.get("host", ""),
        port=where.get("port", ""),
        user=where.get("user", ""),
        password=where.get("password", ""),
        pool_size=16,
    )


def measure_appends(url: str, _folder: Path) -> Iterator[str]:
    """Yield lines that tell the rates and their ratios."""
    yield must_be_durable(url)
    ours = Datastore(url)
    prepare(ours)
    with ours, _library(url) as theirs:
        library = PostgresApplicationRecorder(theirs, events_table_name="library_events")
        library.create_table()
        recorder = EventRecorder(ours)
        for writers, floor in FLOORS.items():
            rounds = [
                (gathered_per_second(recorder, writers), _library_per_second(library, writers)) for _ in range(ROUNDS)
            ]
            gathered, alone = (statistics.median(found) for found in zip(*rounds, strict=True))
            ok = gathered / alone >= floor
            yield (
                f"{'' if ok else MISSED}{writers} writers: {gathered:.0f} appends/s through the group commit against"
                f" {alone:.0f} through the library's recorder: ratio {gathered / alone:.1f} (at least {floor:g})"
            )
