"""The audit of whole games: every command decided again, against the mere fold of the same events."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from benchmarks.durability import MISSED
from domain.audit import audit
from domain.cards import DECK
from domain.dealing import Seeds
from domain.decider import Command, fold
from domain.events import GENESIS, Cause, Event, chain, player_actor
from domain.record_reading import read_record
from domain.records import write_record
from domain.tables import Join, Start
from domain.tickle.facts import LaidCard, Options
from domain.tickle.grid import Laid
from domain.tickle.hints import best_laydowns
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle
from domain.tickle.table import TickleTable

__all__ = ["measure_auditing"]

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
GAMES: Final = 6
RUNS: Final = 15
LIMIT: Final = 30
"""How many times the fold of its events the audit of a game may take: an audit decides, and a fold does not."""


def _played(number: int) -> list[Event]:
    """Return all events of a game that plays itself to its end, the same for the same number."""
    deal, seats, chance = UUID(int=number + 1), 2 + number % 5, random.Random(number)
    players = [UUID(int=100 + seat) for seat in range(seats)]
    table = TICKLE.empty(Seeds.backwards(deal, last=bytes([number] * 32), deals=1))
    events: list[Event] = []

    def do(command: Command, player: UUID) -> None:
        nonlocal table
        facts = TICKLE.decide(command, table, START)
        head = events[-1].hash if events else GENESIS
        events.extend(chain(deal, len(events), head, facts, Cause(player_actor(player), START)))
        table = fold(TICKLE.evolve, table, facts)

    do(OpenTickle(player=players[0], options=Options(seats=seats)), players[0])
    for player in players[1:]:
        do(Join(player=player), player)
    do(Start(player=players[0]), players[0])
    while not table.over:
        do(_choice(table, chance), table.players[table.turn - 1])
    return events


def _choice(table: TickleTable, chance: random.Random) -> Command:
    """Return one of the best laydowns; without one draw, or after a draw decline."""
    seat = table.turn
    best = best_laydowns(table.grid, table.hand_set(seat), table.drawn_card, first=5, bound=300).laydowns
    if best:
        return _laid(chance.choice(best)[1], seat)
    return DrawCard(seat=seat) if table.drawn is None else DeclineLaydown(seat=seat)


def _laid(laid: Laid, seat: int) -> LayDown:
    return LayDown(seat=seat, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in laid))


def _seconds(*works: Callable[[], object]) -> list[float]:
    """Return the least time of each over several runs, by turns: what else runs on a shared machine only adds."""
    best = [float("inf")] * len(works)
    for _ in range(RUNS):
        for at, work in enumerate(works):
            started = time.perf_counter()
            work()
            best[at] = min(best[at], time.perf_counter() - started)
    return best


def measure_auditing(_url: str, _folder: Path) -> Iterator[str]:
    """Yield lines that tell what reading, folding and auditing a whole Tickle game take, and the ratio of the last."""
    ratios, audits = [], []
    for number in range(GAMES):
        events = _played(number)
        lines = list(write_record(events))
        record = read_record(lines)
        if not audit(record).holds:
            raise RuntimeError("the game that was played does not hold")
        facts = [event.fact for event in record.events]
        folding, reading, auditing = _seconds(
            lambda facts=facts: fold(TICKLE.evolve, TICKLE.empty(None), facts),  # type: ignore[misc]
            lambda lines=lines: read_record(lines),  # type: ignore[misc]
            lambda record=record: audit(record),  # type: ignore[misc]
        )
        ratios.append(auditing / folding)
        audits.append(auditing)
        yield (
            f"{len(events)} events of {2 + number % 5} players: folded in {folding * 1e3:.2f} ms, read in"
            f" {reading * 1e3:.2f} ms, audited in {auditing * 1e3:.2f} ms: ratio {ratios[-1]:.1f}"
        )
    missed = MISSED if max(ratios) > LIMIT else ""
    middle = statistics.median(audits)
    yield (
        f"{missed}the audit of a whole Tickle game takes at most {max(ratios):.1f} times the fold of its events"
        f" (at most {LIMIT}); {1 / middle:.0f} games a second"
    )
