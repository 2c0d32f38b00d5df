"""TIC Poker: the best five of eight beside two evaluators of ordinary poker, and a whole game folded."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

import pokerkit
import treys  # type: ignore[import-untyped]

from benchmarks.calibrate import calibration_seconds
from benchmarks.durability import MISSED
from domain.cards import DECK
from domain.dealing import MAX_DEALS, Seeds
from domain.decider import Command, Fact, fold
from domain.poker.facts import Options
from domain.poker.hands import MOST_CARDS, best_hand
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, KeepCards, OpenPoker
from domain.poker.table import PokerTable
from domain.tables import Join, Start

__all__ = ["measure_poker"]

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
SEATS: Final = 4
LEAST_RATIO: Final = {"treys": 1, "pokerkit": 40}
"""How many times the evaluations of each ours must be; of the first more than that."""
ROUNDS: Final = 41
HANDS: Final = 200
"""Hands in a round; the slowest of the three evaluates a tenth of them."""
ORDINARY: Final = 7
"""Cards of which the others choose five."""

T = TypeVar("T")


class Evaluator(NamedTuple):
    """What finds the best five of some cards."""

    name: str
    work: Callable[[int], object]
    """Evaluates so many hands, other ones each time."""
    hands: int


def _dealt(deck: Sequence[T], cards: int) -> list[list[T]]:
    """Return hands, the same each time."""
    chance = random.Random(1)
    return [chance.sample(deck, cards) for _ in range(ROUNDS * HANDS)]


def _evaluators() -> tuple[Evaluator, ...]:
    """Return ours and the others, each with its own cards made beforehand."""
    ours = iter(_dealt(DECK, MOST_CARDS))
    whole = [treys.Card.new(rank + suit) for rank in "23456789TJQKA" for suit in "shdc"]
    treys_hands, evaluate = iter(_dealt(whole, ORDINARY)), treys.Evaluator().evaluate
    pokerkit_hands = iter(_dealt(tuple(pokerkit.Deck.STANDARD), ORDINARY))
    from_game = pokerkit.StandardHighHand.from_game

    def by_us(hands: int) -> None:
        for _ in range(hands):
            best_hand(next(ours))

    def by_treys(hands: int) -> None:
        for _ in range(hands):
            cards = next(treys_hands)
            evaluate(cards[:2], cards[2:])

    def by_pokerkit(hands: int) -> None:
        for _ in range(hands):
            cards = next(pokerkit_hands)
            from_game(cards[:2], cards[2:])

    return (
        Evaluator("ours", by_us, HANDS),
        Evaluator("treys", by_treys, HANDS),
        Evaluator("pokerkit", by_pokerkit, HANDS // 10),
    )


def _best_of_eight() -> Iterator[str]:
    """Yield our rate, and its ratio to the others': rounds take turns, and the median of them counts."""
    rates: dict[str, list[float]] = {}
    evaluators = _evaluators()
    for _ in range(ROUNDS):
        for name, work, hands in evaluators:
            started = time.perf_counter()
            work(hands)
            rates.setdefault(name, []).append(hands / (time.perf_counter() - started))
    ours = rates.pop("ours")
    yield f"the best five of {MOST_CARDS} cards with its strength: {statistics.median(ours):,.0f} a second"
    for name, theirs in rates.items():
        ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
        least = LEAST_RATIO[name]
        missed = MISSED if ratio < least or ratio <= 1 else ""
        wanted = f"at least {least}" if least > 1 else "more than 1"
        yield (
            f"{missed}against {name}, the best five of {ORDINARY} ordinary cards, {statistics.median(theirs):,.0f}"
            f" a second: ratio {ratio:.2f} ({wanted})"
        )


class _Play:
    """A game that plays itself, always the same, of as many rounds as there can be."""

    def __init__(self) -> None:
        self.chance: Final = random.Random(1)
        self.seeds: Final = Seeds.backwards(UUID(int=1), last=bytes(32), deals=MAX_DEALS)
        self.table: PokerTable = POKER.empty(self.seeds)
        self.facts: list[Fact] = []
        players = [UUID(int=100 + seat) for seat in range(SEATS)]
        self.do(OpenPoker(player=players[0], options=Options(seats=SEATS, rounds=MAX_DEALS)))
        for player in players[1:]:
            self.do(Join(player=player))
        self.do(Start(player=players[0]))

    def do(self, command: Command) -> None:
        facts = POKER.decide(command, self.table, START)
        self.table = fold(POKER.evolve, self.table, facts)
        self.facts += facts

    def go_on(self) -> None:
        """Take the next turn, or declare the best hand of the next seat that has to."""
        table = self.table
        if table.declaring:
            seat = table.undeclared[0]
            best = best_hand((*table.private(seat), *table.community))
            self.do(DeclareHand(seat=seat, cards=best.cards, rank=best.rank))
        elif not table.caller and self.chance.random() < 0.02:
            self.do(Call(seat=table.turn))
        elif self.chance.random() < 0.7:
            self.do(ExchangeCards(seat=table.turn, slots=(self.chance.randint(1, 3),)))
        else:
            self.do(KeepCards(seat=table.turn))


def _seconds(work: Callable[[], object], least: float = 0.5) -> float:
    """Return the least time that a piece of work took, over runs that fill ``least`` seconds."""
    best, ends = float("inf"), time.perf_counter() + least
    while time.perf_counter() < ends:
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def measure_poker(_url: str, _folder: Path) -> Iterator[str]:
    """Yield a line for each piece."""
    unit = calibration_seconds()
    yield f"the calibration loop takes {unit * 1000:.1f} ms here"
    yield from _best_of_eight()
    play = _Play()
    first_turns: dict[int, PokerTable] = {}
    while not play.table.over:
        first_turns.setdefault(play.table.deals, play.table)
        play.go_on()

    def exchanged(number: int) -> Callable[[], object]:
        table = first_turns[number]
        command = ExchangeCards(seat=table.turn, slots=(2,))
        return lambda: POKER.decide(command, table, START)

    pieces: dict[str, Callable[[], object]] = {
        f"a game of {MAX_DEALS} rounds folded, {len(play.facts):,} facts": lambda: fold(
            POKER.evolve, POKER.empty(play.seeds), play.facts
        ),
        "an exchange decided in round 1": exchanged(1),
        f"an exchange decided in round {MAX_DEALS}": exchanged(MAX_DEALS),
    }
    for name, work in pieces.items():
        took = _seconds(work)
        yield f"{name}: {took / unit:.5f} of the loop ({took * 1e6:,.0f} us)"
