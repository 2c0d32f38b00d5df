"""Fill an empty log: `python -m benchmarks.generated --events 1000000 DATABASE_URL`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import closing

from psycopg.errors import InsufficientPrivilege
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.database import prepare
from benchmarks.generated.filling import fill
from benchmarks.generated.weaving import Recipe, woven
from domain.storage import Datastore, PersistenceError, log_end

MOST: int = 100_000_000


def _within(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"it is {least} to {most}")
        return value

    return number


def main() -> None:
    """Read the arguments, and fill the log with a progress bar."""
    usual = Recipe()
    parser = argparse.ArgumentParser("python -m benchmarks.generated", description="Fill an empty log with true games.")
    parser.add_argument("url", metavar="DATABASE_URL", help="a database without events, as the owner of its log")
    parser.add_argument("--events", type=_within(1, MOST), default=100_000, help="how many, at least (%(default)s)")
    parser.add_argument("--seed", type=int, default=usual.seed, help="the same gives the same bytes (%(default)s)")
    parser.add_argument(
        "--players", type=_within(2, 10_000_000), default=usual.players, help="in the pool (%(default)s)"
    )
    parser.add_argument("--at-once", type=_within(1, 100_000), default=usual.at_once, help="games (%(default)s)")
    parser.add_argument("--workers", type=_within(0, 256), default=os.cpu_count() or 1, help="(%(default)s)")
    asked = parser.parse_args()
    try:
        with closing(Datastore(asked.url, connections=2)) as datastore:
            prepare(datastore)
            with datastore.transaction() as cursor:
                begun = log_end(cursor) > 0
        if begun:  # nothing is ever taken out of a log
            parser.exit(1, "This log has events, and generated ones would stay in it: take an empty database.\n")
        recipe = Recipe(asked.seed, asked.players, asked.at_once)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns) as progress, closing(woven(recipe, workers=asked.workers)) as entries:  # type: ignore[type-var]
            task = progress.add_task("Playing", total=asked.events)
            fill(asked.url, entries, events=asked.events, progress=lambda done: progress.update(task, completed=done))
    except (PersistenceError, InsufficientPrivilege) as error:
        parser.exit(1, f"The log can't be filled: {error}\n")


if __name__ == "__main__":
    main()
