"""Tickle on late grids: can a hand lay, is this legal, what is there to lay; and a turn after many events."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from benchmarks.calibrate import calibration_seconds
from benchmarks.durability import MISSED
from domain.cards import DECK
from domain.dealing import Seeds
from domain.decider import Command, Fact, fold
from domain.lifecycle import ExtendDeadline, RunOutOfTime, changed
from domain.tables import Join, Start
from domain.tickle.facts import HAND, HandRefilled, LaidCard, LaydownPlayed, Options
from domain.tickle.grid import EMPTY_GRID, Grid, Laid, set_of
from domain.tickle.hints import Laydowns, best_laydowns
from domain.tickle.placement import faults
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle
from domain.tickle.scoring import score
from domain.tickle.table import TickleTable
from domain.turns import IN_A_GAME, IN_A_ROW, TurnBegan

__all__ = ["measure_tickle"]

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
LATE: Final = 60
"""A grid with more cards than this is late."""
GAMES: Final = 10
POSITIONS: Final = 40
LONG: Final = 200
"""Events of the long game."""
TURNS: Final = 80
BIG_HAND: Final = 26
BEST: Final = 10

CAN_LAY: Final = "whether a hand can lay, with all that is built for it"
CAN_STILL_LAY: Final = "whether a hand can lay, after one more laydown"
LISTED: Final = "all laydowns of a hand of 6 listed"
LIMITS: Final = {CAN_LAY: 0.2 / 20, LISTED: 15 / 20}
"""What an independent engine in plain Python took, in milliseconds, where the calibration loop took about 20."""
TURN_LIMIT: Final = 1.0
NOISE: Final = 1.25
"""How much worse than its limit a figure may be on a shared machine."""


class Late(NamedTuple):
    """A position on a late grid: what lay there, the laydown after it, and the hand whose turn it then is."""

    before: Grid
    laid: Laid
    hand: int

    @property
    def grid(self) -> Grid:
        """The grid after the laydown."""
        return self.before.after(self.laid)


def _command_of(laid: Laid, seat: int) -> LayDown:
    return LayDown(seat=seat, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in laid))


class _Play:
    """A game that plays itself, the same for the same number."""

    def __init__(self, number: int, seats: int) -> None:
        self.chance: Final = random.Random(number)
        self.table = TICKLE.empty(Seeds.backwards(UUID(int=number + 1), last=bytes([number] * 32), deals=1))
        players = [UUID(int=100 + seat) for seat in range(seats)]
        self.do(OpenTickle(player=players[0], options=Options(seats=seats, turn_seconds=60)))
        for player in players[1:]:
            self.do(Join(player=player))
        self.do(Start(player=players[0]))

    def do(self, command: Command, at: datetime = START) -> tuple[Fact, ...]:
        facts = TICKLE.decide(command, self.table, at)
        self.table = fold(TICKLE.evolve, self.table, facts)
        return facts

    def go_on(self, laid: Laid | None, at: datetime = START) -> None:
        """Lay cards; without a laydown draw, or after a draw decline."""
        seat, drawn = self.table.turn, self.table.drawn
        without = DrawCard(seat=seat) if drawn is None else DeclineLaydown(seat=seat)
        self.do(without if laid is None else _command_of(laid, seat), at)

    def choice(self, bound: int, first: int) -> Laid | None:
        """Return one of the best laydowns of a search, or None where there is none, or none any more."""
        table = self.table
        found = best_laydowns(table.grid, table.hand_set(table.turn), table.drawn_card, first=first, bound=bound)
        return self.chance.choice(found.laydowns)[1] if found.laydowns else None


def _late_positions() -> list[Late]:
    """Return positions in which a hand of six has its turn on a late grid, from games played well and less well."""
    found = []
    for number in range(GAMES):
        play = _Play(number, seats=2 + number % 5)
        while not play.table.over:
            before = play.table.grid
            laid = play.choice(bound=300, first=1 + 10 * (number % 3))
            play.go_on(laid)
            after = play.table
            if laid and len(after.grid.cards) > LATE and not after.over and after.held[after.turn - 1] == HAND:
                found.append(Late(before, laid, after.hand_set(after.turn)))
    return random.Random(0).sample(found, min(POSITIONS, len(found)))


def _long_game() -> tuple[TickleTable, Laid]:
    """Return a late table to which many events led, and a laydown: its players lay little, are late, or decline."""
    for number in range(GAMES, 10 * GAMES):
        play, at = _Play(number, seats=4), START
        while play.table.left:
            table, chance = play.table, play.chance.random()
            if table.version >= LONG and len(table.grid.cards) > LATE and table.drawn is None:
                laid = play.choice(bound=300, first=1)
                if laid is not None:
                    return table, laid
            if chance < 0.15:
                play.do(ExtendDeadline(seconds=30), at)
            elif chance < 0.3 and _may_be_late(table):
                at = (table.deadline or at) + timedelta(seconds=1)
                play.do(RunOutOfTime(), at)
            elif chance < 0.6 and table.drawn is not None:
                play.do(DeclineLaydown(seat=table.turn), at)
            else:
                few = Laydowns(table.grid, table.hand_set(table.turn), table.drawn_card, bound=50)
                play.go_on(min(few, key=len, default=None), at)
    raise RuntimeError("no game was long enough")


def _may_be_late(table: TickleTable) -> bool:
    """Whether the seat whose turn it is stays in after one more time-out."""
    row = table.in_a_row[table.turn - 1] if table.in_a_row else 0
    return row < IN_A_ROW - 1 and table.timed_out.count(table.turn) < IN_A_GAME - 1


def _at_a_stroke(long: TickleTable) -> TickleTable:
    """Return a table with the grid, the hands and the deck of another, to which few events led.

    Each hand gets its cards at once, seat 1 besides all those that lie in the grid, and lays them.
    """
    play = _Play(0, seats=len(long.players))
    hands = [long.hand(seat) for seat in range(1, len(long.players) + 1)]
    lying = tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in long.grid.cards.items())
    more = [hand[HAND:] for hand in hands]
    more[0] += tuple(laid.card for laid in lying)
    deck = [card for cards in (*(hand[:HAND] for hand in hands), *more) for card in cards]
    facts = (
        *(HandRefilled(seat=seat, cards=len(cards)) for seat, cards in enumerate(more, 1) if cards),
        LaydownPlayed(seat=1, cards=lying, score=score(EMPTY_GRID, ())),
        TurnBegan(seat=long.turn, round=long.round, deadline=long.deadline),
    )
    rest = (long.card(position) for position in range(len(deck), len(DECK)))
    return fold(TICKLE.evolve, changed(play.table, deck=(*deck, *rest)), facts)


def _seconds(work: Callable[[], object], runs: int = 3) -> float:
    """Return the least time of several runs."""
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def _turn_after_many_events() -> Iterator[str]:
    long, laid = _long_game()
    short, command = _at_a_stroke(long), _command_of(laid, long.turn)
    times: dict[int, list[float]] = {long.version: [], short.version: []}

    def turn(table: TickleTable) -> tuple[Fact, ...]:
        facts = TICKLE.decide(command, table, START)
        fold(TICKLE.evolve, table, facts)
        return facts

    if turn(long) != turn(short):
        raise RuntimeError("the two games are not at the same position")
    for _ in range(TURNS):
        for table in (long, short):
            started = time.perf_counter()
            turn(table)
            times[table.version].append(time.perf_counter() - started)
    # The lower quartile: what else runs on a shared machine only adds.
    after_many, after_few = (statistics.quantiles(times[table.version], n=4)[0] for table in (long, short))
    ratio = after_many / after_few
    missed = MISSED if ratio > TURN_LIMIT * NOISE else ""
    yield (
        f"{missed}a laydown decided and folded, {len(long.grid.cards)} cards in the"
        f" grid: {after_many * 1e6:.0f} us after {long.version} events against {after_few * 1e6:.0f} us after"
        f" {short.version}: ratio {ratio:.2f} (about 1)"
    )


def _pieces(late: Late) -> dict[str, Callable[[], object]]:
    """Return what is measured on a position, by name."""
    before, laid, hand = late
    grid = late.grid
    unseen = [card for card in range(len(DECK)) if card not in grid.cards.values() and not hand >> card & 1]
    pieces: dict[str, Callable[[], object]] = {
        CAN_LAY: lambda: Grid.of(grid.cards).takes_one_of(hand),
        CAN_STILL_LAY: lambda: before.after(laid).takes_one_of(hand),
        LISTED: lambda: sum(1 for _ in Laydowns(grid, hand, bound=None)),
        f"the best {BEST} of a hand of {HAND}, within the bound": lambda: best_laydowns(grid, hand, first=BEST),
    }
    if len(unseen) >= BIG_HAND - HAND:
        big = hand | set_of(random.Random(hand).sample(unseen, BIG_HAND - HAND))
        pieces[f"the best {BEST} of a hand of {BIG_HAND}, within the bound"] = lambda: best_laydowns(
            grid, big, first=BEST
        )
    longest = max(Laydowns(grid, hand), key=len, default=())
    if longest:
        pieces["a laydown checked and scored"] = lambda: (faults(grid, hand, longest), score(grid, longest))
    return pieces


def measure_tickle(_url: str, _folder: Path) -> Iterator[str]:
    """Yield a line for each piece: the median of many positions, each the least of several runs."""
    unit = calibration_seconds()
    yield f"the calibration loop takes {unit * 1000:.1f} ms here"
    positions, times = _late_positions(), dict[str, list[float]]()
    sizes = [len(late.grid.cards) for late in positions]
    yield f"{len(positions)} positions with {min(sizes)} to {max(sizes)} cards in the grid"
    for late in positions:
        for name, work in _pieces(late).items():
            times.setdefault(name, []).append(_seconds(work))
    for name, found in times.items():
        middle, limit = statistics.median(found), LIMITS.get(name)
        missed = MISSED if limit is not None and middle / unit > limit * NOISE else ""
        at_most = f" (at most {limit})" if limit else ""
        yield (
            f"{missed}{name}: {middle / unit:.5f} of the loop{at_most}, {middle * 1e6:.0f} us;"
            f" in the slowest position {max(found) * 1e6:.0f} us"
        )
    yield from _turn_after_many_events()
