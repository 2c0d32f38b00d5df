"""Run the benchmarks, all or those that are named: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from api.embedded_postgres import embedded_postgres
from benchmarks.appends import measure_appends
from benchmarks.auditing import measure_auditing
from benchmarks.durability import MISSED
from benchmarks.idle import measure_idle
from benchmarks.loading import measure_loading
from benchmarks.monitoring import measure_monitoring
from benchmarks.moves import measure_moves
from benchmarks.pages import measure_pages
from benchmarks.poker import measure_poker
from benchmarks.rebuilding import measure_rebuilding
from benchmarks.rules import measure_rules
from benchmarks.spectators import measure_spectators
from benchmarks.standings import measure_standings
from benchmarks.tickle import measure_tickle
from benchmarks.transparency import measure_transparency

BENCHMARKS: dict[str, Callable[[str, Path], Iterator[str]]] = {
    "rules": measure_rules,
    "tickle": measure_tickle,
    "poker": measure_poker,
    "loading": measure_loading,
    "appends": measure_appends,
    "transparency": measure_transparency,
    "auditing": measure_auditing,
    "moves": measure_moves,
    "monitoring": measure_monitoring,
    "spectators": measure_spectators,
    "pages": measure_pages,
    "standings": measure_standings,
    "rebuilding": measure_rebuilding,
    "idle": measure_idle,
}


def main() -> None:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    missed = False
    out = Console(highlight=False, soft_wrap=True)
    for name in wanted:
        if name not in BENCHMARKS:
            raise SystemExit(f"there is no benchmark {name}; there are: {', '.join(BENCHMARKS)}")
        with (
            tempfile.TemporaryDirectory() as folder,
            out.status(f"{name} ..."),
            embedded_postgres(Path(folder) / "postgres") as url,
        ):
            for line in BENCHMARKS[name](url, Path(folder)):
                missed |= line.startswith(MISSED)
                out.print(f"{name}: {line}", style="red" if line.startswith(MISSED) else None)
    if missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
