"""The rules by themselves, as multiples of the calibration loop."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from benchmarks.calibrate import calibration_seconds
from domain.dealing import NO_ENTROPY, Seeds, deal_order
from domain.decider import Viewer
from domain.events import Cause, Event, read_event
from domain.game import Game
from domain.games import FACT_TYPES
from domain.lifecycle import Resign
from domain.ticitaire.dead import verdict
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire

__all__ = ["measure_rules"]

LENGTH = 300
SEAT = Viewer(seat=1)


def _played(length: int) -> tuple[Game, list[Event]]:
    chance, game_id = random.Random(3), UUID(int=3)
    seeds, cause = Seeds.backwards(game_id, last=bytes(32), deals=1), Cause("server", datetime.now(UTC))
    game, log = Game.unopened(game_id, TICITAIRE, TICITAIRE.empty(seeds)), list[Event]()
    command = OpenTicitaire(player=game_id)
    while game.version < length:
        events = game.events_of(command, cause)
        game, log = game.after(events), [*log, *events]
        command = chance.choice([open_ for open_ in game.legal_commands(SEAT) if not isinstance(open_, Resign)])  # type: ignore[assignment]
    return game, log


def _seconds(work: Callable[[], object], least: float = 0.3) -> float:
    """Return the least time that a piece of work took, over runs that fill ``least`` seconds."""
    best, ends = float("inf"), time.perf_counter() + least
    while time.perf_counter() < ends:
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def measure_rules(_url: str, _folder: Path) -> Iterator[str]:
    """Yield a line for each piece of the rules."""
    unit = calibration_seconds()
    yield f"the calibration loop takes {unit * 1000:.1f} ms here"
    game, log = _played(LENGTH)
    seeds = game.table.seeds
    data = [event.data for event in log]
    unfolded = Game.unopened(game.id, TICITAIRE, TICITAIRE.empty(seeds))
    pieces: dict[str, Callable[[], object]] = {
        "a deck dealt": lambda: deal_order(seeds, number=1, entropies=(NO_ENTROPY,)),
        "all legal moves listed": lambda: game.legal_commands(SEAT),
        f"{len(data)} events read": lambda: [read_event(one, FACT_TYPES) for one in data],
        f"{len(data)} events folded": lambda: unfolded.after(log),
        "a position's prospect searched": lambda: verdict(game.table),
    }
    for name, work in pieces.items():
        took = _seconds(work)
        yield f"{name}: {took / unit:.4f} of the loop ({took * 1e6:.0f} us)"
