"""Which games are played: their kinds, options, labels, players and their pace, each from a seed and a number."""

from __future__ import annotations

import bisect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

from domain.decider import Command
from domain.entropy import Entropy
from domain.poker.facts import Options as PokerOptions
from domain.poker.facts import Variation
from domain.poker.rules import OpenPoker
from domain.tables import Seating, TableOptions
from domain.ticitaire.facts import Options as TicitaireOptions
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import DeckPart
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import OpenTickle

__all__ = ["HOUR", "LABELS", "Plan", "Pool", "plan"]

HOUR: Final = 3600.0
KINDS: Final = {"ticitaire": 0.3, "tickle": 0.25, "poker": 0.45}
"""How many of the games are of each kind. Tickle's are the dearest to play."""
LABELS: Final = ("friday league", "spring cup 2026", "beginners", "club evening")
LABELLED: Final = 0.3
WITH_ENTROPY: Final = 0.15
"""How many of the games take entropy of their players."""
WITH_BEACON: Final = 0.1
SEALED: Final = 0.1
"""How many hold their seeds back, where they end early enough."""
LONGEST_THOUGHT: Final = 12 * HOUR
"""On the average, in a game at the slowest pace."""
SHORTEST_LIMIT: Final = 60
LONGEST_LIMIT: Final = 30 * 24 * 3600


class Pool:
    """Those who play: the first of them ten times as often as the hundredth or so."""

    def __init__(self, seed: int, size: int) -> None:
        """Take the seed of their ids and skills, and how many there are: two at least."""
        chance = random.Random(f"players {seed}")
        self.players: Final = tuple(UUID(int=chance.getrandbits(128), version=4) for _ in range(size))
        self.skill: Final = {player: chance.random() for player in self.players}
        """From 0 to 1, by player."""
        self._weights: Final = list(accumulate((n + 10) ** -0.9 for n in range(size)))

    def some(self, chance: random.Random, count: int) -> tuple[UUID, ...]:
        """Return different players, as many as there are at most."""
        found = dict[UUID, None]()
        while len(found) < min(count, len(self.players)):
            at = bisect.bisect(self._weights, chance.random() * self._weights[-1])
            found[self.players[min(at, len(self.players) - 1)]] = None
        return tuple(found)


@lru_cache(maxsize=2)
def _pool(seed: int, size: int) -> Pool:
    return Pool(seed, size)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a game before it is played. What comes of it is left to chance and to the rules."""

    game: UUID
    kind: str
    opening: Command
    players: tuple[UUID, ...]
    """The host first."""
    skill: Mapping[UUID, float]
    pace: float
    """How long a player thinks, on the average, in seconds."""
    cancelled: bool
    """Whether the host calls it off before the deal."""
    absent: float
    """How likely a player goes for good, at each of his turns."""
    resigns: float
    """How likely a player gives up, at each turn."""
    private: bool = False
    """Whether one joins with the invitation."""
    entropy: Entropy = Entropy.NONE
    """Whether players commit to entropy of their own."""


def plan(seed: int, number: int, players: int, chance: random.Random, at: datetime) -> Plan:
    """Return the plan of a game.

    Args:
        seed: of the whole log.
        number: of the game.
        players: how many there are in the pool.
        chance: the game's own.
        at: when it is opened.
    """
    pool = _pool(seed, players)
    kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
    # Some games are played in an evening, and some by a move a day.
    pace = min(LONGEST_THOUGHT, chance.lognormvariate(8.0, 1.5))
    count = 1 if kind == "ticitaire" else min(len(pool.players), chance.choice((2, 2, 3, 3, 4, 4, 5, 6)))
    label = chance.choice(LABELS) if chance.random() < LABELLED else None
    company = pool.some(chance, count)
    fair = _fairness(random.Random(f"fairness {seed} {number}"), at)
    opening = _OPENINGS[kind](company, label, pace, chance, fair)
    options = getattr(opening, "options", None)
    return Plan(
        game=UUID(int=random.Random(f"game {seed} {number}").getrandbits(128), version=4),
        kind=kind,
        opening=opening,
        players=company,
        skill=pool.skill,
        pace=pace if count > 1 else pace / 10,  # alone one need not wait for anybody
        cancelled=count > 1 and chance.random() < 0.05,
        absent=0.01 if chance.random() < 0.15 else 0.0,
        resigns=chance.choice((0.0, 0.0, 0.0, 0.004, 0.02)),
        private=isinstance(options, TableOptions) and options.private,
        entropy=fair["entropy"],
    )


def _limit(seconds: float) -> int:
    return min(LONGEST_LIMIT, max(SHORTEST_LIMIT, round(seconds)))


_Fairness = Mapping[str, Any]
"""Those options of a table that concern the fairness of its deal."""


def _fairness(chance: random.Random, at: datetime) -> _Fairness:
    """Return what a table asks for, by a chance of its own: the others are played as if there were none of it."""
    fair: dict[str, Any] = {"entropy": Entropy.NONE}
    if chance.random() < WITH_ENTROPY:
        fair["entropy"] = chance.choice((Entropy.ALLOWED, Entropy.DEMANDED))
        fair["reveal_seconds"] = chance.choice((60, 120, 600, 24 * 3600))
    if chance.random() < WITH_BEACON:
        fair["beacon"] = f"drand quicknet {chance.randrange(10**7, 10**8)}"
    if chance.random() < SEALED:
        fair["sealed_until"] = at + timedelta(days=chance.randint(1, 30))
    return fair


def _ticitaire(
    players: tuple[UUID, ...], label: str | None, pace: float, chance: random.Random, fair: _Fairness
) -> Command:
    options = TicitaireOptions(
        take_back=chance.random() < 0.5,
        strict_duo=chance.random() < 0.2,
        time_limit=_limit(pace * chance.choice((10, 40, 100))) if chance.random() < 0.4 else None,
        **fair,
    )
    return OpenTicitaire(player=players[0], options=options, label=label)


def _tickle(
    players: tuple[UUID, ...], label: str | None, pace: float, chance: random.Random, fair: _Fairness
) -> Command:
    options = TickleOptions(
        seats=chance.randint(len(players), 6),
        start_when_full=chance.random() < 0.4 and "beacon" not in fair,
        private=chance.random() < 0.2,
        seating=chance.choice(list(Seating)),
        turn_seconds=_limit(8 * pace) if chance.random() < 0.7 else None,
        deck=chance.choices(list(DeckPart), (1, 2, 3))[0],
        target=chance.choice((20, 50, 100)) if chance.random() < 0.4 else None,
        **fair,
    )
    return OpenTickle(player=players[0], options=options, label=label)


def _poker(
    players: tuple[UUID, ...], label: str | None, pace: float, chance: random.Random, fair: _Fairness
) -> Command:
    options = PokerOptions(
        seats=chance.randint(len(players), 8),
        start_when_full=chance.random() < 0.4 and "beacon" not in fair,
        private=chance.random() < 0.2,
        seating=chance.choice(list(Seating)),
        turn_seconds=_limit(8 * pace) if chance.random() < 0.7 else None,
        rounds=chance.choice((1, 2, 2, 3, 5)),
        variation=chance.choice(list(Variation)),
        draw_stages=chance.randint(1, 4),
        cards_speak=chance.random() < 0.3,
        **fair,
    )
    return OpenPoker(player=players[0], options=options, label=label)


_OPENINGS: Final[Mapping[str, Callable[[tuple[UUID, ...], str | None, float, random.Random, _Fairness], Command]]] = {
    "ticitaire": _ticitaire,
    "tickle": _tickle,
    "poker": _poker,
}
