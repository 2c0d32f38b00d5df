"""A game played by its plan: every command decided by the rules, every fact in its envelope and chained."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from benchmarks.generated.minds import MINDS
from benchmarks.generated.plans import Plan, plan
from domain.dealing import Seeds
from domain.decider import Command
from domain.entropy import Entropy, RevealEntropy, owing
from domain.events import GENESIS, SERVER, Cause, chain, content_digest, key_digest, player_actor
from domain.games import DECIDERS, RULESETS
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.seating import invitation
from domain.tables import Cancel, Join, Leave, SharedTable, Start

__all__ = ["Played", "Recorded", "played"]

LONGEST: Final = 1_000
"""Commands of a game, whatever comes."""
WITH_KEY: Final = 0.8
"""How many commands come with an idempotency key."""
OUTAGES: Final = 0.001
"""How likely a server has been away before a command, so that time is given back."""
PASSERS_BY: Final = 0.1
"""How likely a player comes and goes again before the deal."""
REMATCHES: Final = 0.15
"""How many of the games for several are played again."""
WITHHOLDING: Final = 0.05
"""How likely a player does not reveal the entropy that is due."""


class Recorded(NamedTuple):
    """The events of one accepted command, as they stand in the log."""

    at: datetime
    seq: int
    """Of its first event."""
    events: tuple[tuple[str, bytes], ...]
    """Topic and bytes of each."""


class Played(NamedTuple):
    """A game from its opening on, to its end or to where its players left it."""

    game: UUID
    commands: tuple[Recorded, ...]


def played(seed: int, number: int, *, players: int, at: datetime) -> tuple[Played, ...]:
    """Play a game of a log, and perhaps its rematches after it.

    Args:
        seed: of the log.
        number: of the game in it.
        players: how many there are in the pool.
        at: when it is opened.
    """
    chance = random.Random(f"{seed} {number}")
    return tuple(_in_a_row(plan(seed, number, players, chance, at), chance, at))


def _in_a_row(first: Plan, chance: random.Random, at: datetime) -> Iterator[Played]:
    again: Plan | None = first
    while again:
        sitting = _Sitting(again, chance, at)
        sitting.play()
        yield Played(again.game, tuple(sitting.commands))
        at = sitting.ended + timedelta(seconds=chance.uniform(5, 300))
        again = _rematch(sitting, chance) if chance.random() < REMATCHES else None


def _rematch(sitting: _Sitting, chance: random.Random) -> Plan | None:
    opening = sitting.decider.rematch
    if opening is None or sitting.table.finished is None:
        return None
    before = sitting.plan
    company = chance.sample(sitting.table.players, len(sitting.table.players))
    command = opening(sitting.table, before.game, company[0], chance.random() < 0.5)
    digest = hashlib.sha256(f"tic/rematch/v1\n{before.game}\n0".encode()).digest()
    game = UUID(bytes=digest[:16], version=5)
    return replace(before, game=game, opening=command, players=tuple(company), cancelled=False, private=False)


class _Sitting:
    """A game while it is played."""

    def __init__(self, plan: Plan, chance: random.Random, at: datetime) -> None:
        self.plan: Final = plan
        self.decider: Final = DECIDERS[plan.kind, RULESETS[plan.kind]]
        self.commands: Final[list[Recorded]] = []
        self.at = self.ended = at
        self._chance: Final = chance
        self._fair: Final = random.Random(f"entropy {plan.game}")
        """The chance by which entropy comes or not: games without it go as if there were none."""
        self._seeds: Final = Seeds.backwards(plan.game, last=chance.randbytes(32), deals=self.decider.deals)
        self.table: Any = self.decider.empty(self._seeds)
        self._version, self._head = 0, GENESIS
        self._gone: Final[set[int]] = set()

    def play(self) -> None:
        """Play it to its end, or to where its players leave it."""
        host = self.plan.players[0]
        self._do(self.plan.opening.model_copy(update={"commitment": self._commitment(host)}), host)
        if isinstance(self.table, SharedTable):
            self._gather()
        elif not self.table.deals and not self.table.due:
            self._start(host)
        self._reveal()
        mind, chance = MINDS[self.plan.kind], self._chance
        while not self.table.over and len(self.commands) < LONGEST:
            seat = chance.choice(self.decider.awaits(self.table))
            if chance.random() < self.plan.absent:
                self._gone.add(seat)
            if seat in self._gone and self.table.deadline is None:
                return  # nobody comes back, and nothing ends it
            if self._in_time(seat):
                player = self.table.players[seat - 1]
                resigns = chance.random() < self.plan.resigns
                skill = self.plan.skill[player]
                self._do(Resign(seat=seat) if resigns else mind(self.table, seat, skill, chance), player)
        self.ended = self.at
        if self.table.held_back:
            self._run_out(self._fair)

    def _in_time(self, seat: int) -> bool:
        """Let a seat think; tell whether its time has not run out over that."""
        thought = timedelta(seconds=self._chance.expovariate(1 / self.plan.pace))
        deadline = self.table.deadline
        if deadline and self._chance.random() < OUTAGES:
            away = self._chance.randint(11, 600)
            self.at += timedelta(seconds=away)
            self._do(ExtendDeadline(seconds=away), None)
            return False
        if deadline and (seat in self._gone or self.at + thought >= deadline):
            self._run_out(self._chance)
            return False
        self.at += thought
        return True

    def _gather(self) -> None:
        """Let the players come, and some go; then the host starts, or calls it off."""
        host, *guests = self.plan.players
        if self.plan.cancelled:
            guests = guests[: self._chance.randrange(len(guests) + 1)]
        code = invitation(self._seeds) if self.plan.private else None
        for guest in guests:
            if self._chance.random() < PASSERS_BY and len(self.table.joined) + 1 < self.table.takes:
                self._wait()
                self._do(Join(player=guest, code=code, commitment=self._commitment(guest)), guest)
                self._wait()
                self._do(Leave(player=guest), guest)
            self._wait()
            self._do(Join(player=guest, code=code, commitment=self._commitment(guest)), guest)
        if self.table.deals or self.table.due:
            return
        if self.plan.cancelled:
            self._wait()
            self._do(Cancel(player=host), host)
        else:
            self._start(host)

    def _start(self, host: UUID) -> None:
        self._wait()
        name = self.table.fairness.beacon
        beacon = None if name is None else hashlib.sha256(f"value of {name}".encode()).hexdigest()
        self._do(Start(player=host, beacon=beacon), host)

    def _own(self, player: UUID) -> bytes:
        """Return the entropy of a player."""
        return hashlib.sha256(f"entropy {self.plan.game} {player}".encode()).digest()

    def _commitment(self, player: UUID) -> str | None:
        """Return what a player commits to; where nobody must, every other one commits to nothing."""
        entropy = self.plan.entropy
        if entropy is Entropy.NONE or (entropy is Entropy.ALLOWED and player.int % 2):
            return None
        return hashlib.sha256(self._own(player)).hexdigest()

    def _reveal(self) -> None:
        """Let each player reveal in time the entropy that is due, in any order; or one of them not, which ends it."""
        due = owing(self.table)
        for player in self._fair.sample(due, len(due)):
            if self._fair.random() < WITHHOLDING:
                self._run_out(self._fair)
                return
            self.at += (self.table.deadline - self.at) * self._fair.uniform(0, 0.5)
            self._do(RevealEntropy(player=player, entropy=self._own(player).hex()), player)

    def _run_out(self, chance: random.Random) -> None:
        self.at = max(self.at, self.table.deadline) + timedelta(milliseconds=chance.randrange(500))
        self._do(RunOutOfTime(), None)

    def _wait(self) -> None:
        self.at += timedelta(seconds=self._chance.expovariate(1 / (self.plan.pace / 4)))

    def _do(self, command: Command, player: UUID | None) -> None:
        """Decide a command; the server's has no player."""
        cause = Cause(SERVER, self.at)
        if player is not None:
            key = f"{self.plan.game} {len(self.commands)}" if self._chance.random() < WITH_KEY else None
            digests = (key_digest(player, key), content_digest(command, key)) if key else (None, None)
            cause = Cause(player_actor(player), self.at, *digests)
        facts = self.decider.decide(command, self.table, self.at)
        events = chain(self.plan.game, self._version, self._head, facts, cause)
        for fact in facts:
            self.table = self.decider.evolve(self.table, fact)
        self.commands.append(
            Recorded(self.at, self._version + 1, tuple((event.fact.topic, event.data) for event in events))
        )
        self._version, self._head = events[-1].seq, events[-1].hash
