"""The games of a log in the order of time: a server that begins with a few games at a time, and grows."""

from __future__ import annotations

import heapq
import multiprocessing
import random
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Final, NamedTuple
from uuid import UUID

from benchmarks.generated.playing import Played, Recorded, played

__all__ = ["Entry", "Recipe", "woven"]

TOGETHER: Final = 8
"""Games that a worker plays between two answers."""
AHEAD: Final = 3
"""Answers of each worker that may wait to be taken."""
HOURS: Final = 45.0
"""What a game takes on the average, from its opening to its end."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a log follows from, event by event."""

    seed: int = 1
    players: int = 2_000
    """How many there are in the pool."""
    at_once: int = 200
    """Games under way at a time, about, once the server is busy."""
    at_first: int = 10
    """Games under way at a time in the beginning."""
    until_more: int = 10
    """After so many games that were opened, one more is under way at a time."""
    begins: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    """When the first game is opened."""


class Entry(NamedTuple):
    """The events of one command, and whose game it is."""

    game: UUID
    recorded: Recorded


def woven(recipe: Recipe, *, workers: int = 0) -> Iterator[Entry]:
    """Yield every command of a log in the order of time, and no end of them; a game's are in their order.

    Args:
        recipe: what the log follows from: the same one gives the same bytes.
        workers: processes that play; with none the games are played in this one.
    """
    coming: list[tuple[datetime, int, int, Entry]] = []
    number = count()
    for begins, games in _played(recipe, workers):
        while coming and coming[0][0] < begins:
            yield heapq.heappop(coming)[-1]
        nth = next(number)
        entries = (Entry(game.game, recorded) for game in games for recorded in game.commands)
        for at, entry in enumerate(entries):
            heapq.heappush(coming, (entry.recorded.at, nth, at, entry))


def _openings(recipe: Recipe) -> Iterator[tuple[int, datetime]]:
    """Yield each game's number and when it is opened."""
    chance, at = random.Random(f"openings {recipe.seed}"), recipe.begins
    for number in count():
        yield number, at
        under_way = min(recipe.at_once, recipe.at_first + number / recipe.until_more)
        at += timedelta(hours=chance.expovariate(under_way / HOURS))


def _some(recipe: Recipe, openings: Sequence[tuple[int, datetime]]) -> list[tuple[Played, ...]]:
    return [played(recipe.seed, number, players=recipe.players, at=at) for number, at in openings]


def _played(recipe: Recipe, workers: int) -> Iterator[tuple[datetime, tuple[Played, ...]]]:
    """Yield when a game is opened, and the game with its rematches, in the order of opening."""
    openings = _openings(recipe)
    if not workers:
        for number, at in openings:
            yield at, played(recipe.seed, number, players=recipe.players, at=at)
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        asked = deque[tuple[list[tuple[int, datetime]], Future[list[tuple[Played, ...]]]]]()
        while True:
            while len(asked) < workers * AHEAD:
                some = list(islice(openings, TOGETHER))
                asked.append((some, pool.submit(_some, recipe, some)))
            some, answer = asked.popleft()
            for (_, at), games in zip(some, answer.result(), strict=True):
                yield at, games
    finally:
        pool.shutdown(cancel_futures=True)
