"""Whole games of several players as they are played: what is the same whichever the kind."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import Command, Decider, Fact, fold
from domain.entropy import Entropy, EntropyOptions, EntropyTable, RevealEntropy, owing
from domain.events import GENESIS, SERVER, Cause, Event, chain, content_digest, key_digest, player_actor
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime, Table
from domain.seating import invitation
from domain.tables import Cancel, Join, Leave, OpenTable, Rematch, Start, TableOptions
from domain.turns import TurnTable
from tests.given import NOON

__all__ = ["BEACON", "DAY", "PLAYERS", "WITHOUT_ENTROPY", "Course", "Played", "Sitting", "Step", "commitment_of"]
__all__ += ["entropy_of", "reveal_what_is_due"]

PLAYERS: Final = tuple(UUID(f"00000000-0000-4000-8000-0000000000{number:02x}") for number in range(10, 18))
"""Who plays, the host first; a player who comes and goes is none of them."""
PASSER_BY: Final = UUID("00000000-0000-4000-8000-0000000000ff")
DAY: Final = 24 * 3600
BEACON: Final = "the value of the beacon"


def entropy_of(deal: UUID, player: UUID) -> str:
    """The 32 bytes of a player's own at a table."""
    return hashlib.sha256(f"{deal} {player}".encode()).hexdigest()


def commitment_of(deal: UUID, player: UUID, options: EntropyOptions) -> str | None:
    """What a player commits to: nothing where entropy is only allowed and the player's id is an odd one."""
    if options.entropy is Entropy.NONE or (options.entropy is Entropy.ALLOWED and player.int % 2):
        return None
    return hashlib.sha256(bytes.fromhex(entropy_of(deal, player))).hexdigest()


T = TypeVar("T", bound=Table)
U = TypeVar("U", bound=TurnTable)


class Course(Enum):
    """How a game is to go, unless it ends before."""

    TO_THE_END = "played to its end"
    RESIGNED = "resigned on the way, seat after seat"
    TIMED_OUT = "left to run out of time, turn after turn"
    CANCELLED = "cancelled before its deal"
    WITHHELD = "closed to wait for entropy of which some is not revealed"
    LEFT = "left lying unfinished"


WITHOUT_ENTROPY: Final = tuple(course for course in Course if course is not Course.WITHHELD)


@dataclass(frozen=True)
class Step(Generic[T]):
    """One accepted command, between the tables before and after it."""

    decider: Decider[T, Any]
    before: T
    command: Command
    player: UUID | None
    """Whose command it is; None for the server's."""
    at: datetime
    facts: tuple[Fact, ...]

    @property
    def after(self) -> T:
        return fold(self.decider.evolve, self.before, self.facts)


@dataclass(frozen=True)
class Played(Generic[T]):
    """A game, or the beginning of one, as it was played."""

    decider: Decider[T, Any]
    seeds: Seeds
    steps: tuple[Step[T], ...]
    table: T
    """At the end."""
    recipe: str
    """How to play it again."""

    def __repr__(self) -> str:
        return self.recipe

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for step in self.steps for fact in step.facts)

    @property
    def ending(self) -> str:
        """How it ended: as its result names it, or timed-out, cancelled, unfinished."""
        if self.table.cancelled:
            return "cancelled"
        if self.table.finished is None:
            return "unfinished"
        last = next(step for step in reversed(self.steps) if not step.before.over)
        timed_out = self.table.finished.ending == "resignations" and isinstance(last.command, RunOutOfTime)
        return "timed-out" if timed_out else str(self.table.finished.ending)

    def tables(self) -> Iterator[T]:
        """Yield the table after every fact."""
        table = self.decider.empty(self.seeds)
        for fact in self.facts:
            table = self.decider.evolve(table, fact)
            yield table

    def events(self) -> Iterator[tuple[Event, ...]]:
        """Yield the events of every command."""
        version, head = 0, GENESIS
        for number, step in enumerate(self.steps):
            cause = Cause(SERVER, step.at)
            if step.player is not None:
                key = f"command {number}"
                digests = key_digest(step.player, key), content_digest(step.command, key)
                cause = Cause(player_actor(step.player), step.at, *digests)
            events = chain(self.seeds.deal, version, head, step.facts, cause)
            version, head = events[-1].seq, events[-1].hash
            yield events


class Acting(Protocol):
    """A game whose players act."""

    @property
    def table(self) -> EntropyTable: ...
    @property
    def chance(self) -> random.Random: ...
    def do(self, command: Command, player: UUID | None) -> None: ...


def reveal_what_is_due(game: Acting, *, withheld: bool) -> None:
    """Let the players reveal their entropy in any order, with time given back now and then; or some of them not."""
    while due := owing(game.table):
        player = game.chance.choice(due)
        if game.chance.random() < 0.05:
            game.do(ExtendDeadline(seconds=game.chance.randrange(1, DAY)), None)
        elif withheld and game.chance.random() < 0.4:
            _withhold(game, player)
            return
        else:
            assert game.table.opened is not None
            game.do(RevealEntropy(player=player, entropy=entropy_of(game.table.opened.deal, player)), player)


def _withhold(game: Acting, player: UUID) -> None:
    """End the waiting in one of the three ways in which it ends without a deal."""
    host = game.table.opened.host if game.table.opened else player
    way = game.chance.randrange(3)
    if way == 0 or (way == 1 and game.table.players):
        game.do(RunOutOfTime(), None)
    elif way == 1 and player != host:
        game.do(Leave(player=player), player)
    else:
        game.do(Cancel(player=host), host)


class Sitting(Generic[U]):
    """A game while it is played."""

    def __init__(self, decider: Decider[U, Any], chance: random.Random, seeds: Seeds | None = None) -> None:
        """Deal from these seeds, or from any."""
        self.decider: Final = decider
        self.chance: Final = chance
        deal = UUID(int=chance.getrandbits(128), version=4)
        self.seeds: Final = seeds or Seeds.backwards(deal, last=chance.randbytes(32), deals=decider.deals)
        self.table = decider.empty(self.seeds)
        self.at = NOON
        self.steps: list[Step[U]] = []

    def do(self, command: Command, player: UUID | None) -> None:
        self.at += timedelta(milliseconds=self.chance.randrange(1, 50))
        if isinstance(command, RunOutOfTime) and self.table.deadline:
            self.at = self.table.deadline + timedelta(milliseconds=self.chance.randrange(500))
        facts = self.decider.decide(command, self.table, self.at)
        self.steps.append(Step(self.decider, self.table, command, player, self.at, facts))
        self.table = self.steps[-1].after

    def of_seat(self, command: Command) -> None:
        self.do(command, self.table.players[command.seat - 1])

    def gather(self, opening: OpenTable, count: int, options: TableOptions, rematch: Rematch | None) -> None:
        """Open a table; let the players come, and some go and come again."""
        host, *guests = PLAYERS[:count]
        commitments = {player: commitment_of(self.seeds.deal, player, options) for player in (*PLAYERS, PASSER_BY)}
        self.do(opening.model_copy(update={"commitment": commitments[host]}), host)
        code = invitation(self.seeds) if options.private and rematch is None else None
        most = count if rematch else options.seats
        for guest in guests:
            if self.chance.random() < 0.15:
                comer = guest if rematch else self.chance.choice([guest, PASSER_BY])
                if len(self.table.joined) + 1 < most or not options.start_when_full:
                    self.do(Join(player=comer, code=code, commitment=commitments[comer]), comer)
                    self.do(Leave(player=comer), comer)
            self.do(Join(player=guest, code=code, commitment=commitments[guest]), guest)

    def begin(self, course: Course, beacon: str | None) -> None:
        """Start the game, if it has not by itself, and reveal what is due; or end it before that."""
        if course is Course.CANCELLED and not self.table.deals:
            self.do(Cancel(player=PLAYERS[0]), PLAYERS[0])
        elif not self.table.deals and not self.table.due:
            self.do(Start(player=PLAYERS[0], beacon=None if beacon is None else BEACON), PLAYERS[0])
        reveal_what_is_due(self, withheld=course is Course.WITHHELD)

    def go(
        self,
        course: Course,
        *,
        length: int,
        accidents: float,
        whims: Sequence[int],
        open_: Callable[[U], Sequence[Command]],
        choice: Callable[[U], Command],
    ) -> Played[U]:
        """Play from the gathered table on.

        Args:
            course: how it is to go.
            length: after how many commands of the game it is resigned, timed out or left.
            accidents: how often a time runs out, where there is a limit; and a tenth as often, a seat resigns.
            whims: the first commands after the deal: each picks one of those that are open, whatever good comes of it.
            open_: what the seat with the turn may do, but for resigning; nothing where no seat has it.
            choice: what is done of one's own mind.
        """
        chance, pending, steps = self.chance, list(whims), 0
        self.begin(course, self.table.table_opened.options.beacon)
        while not self.table.over and steps < length:
            steps += 1
            table = self.table
            if table.deadline and chance.random() < 0.02:
                self.do(ExtendDeadline(seconds=chance.randrange(1, DAY)), None)
            elif table.deadline and chance.random() < accidents:
                self.do(RunOutOfTime(), None)
            elif len(table.still_in) > 2 and chance.random() < accidents / 10:
                self.of_seat(Resign(seat=chance.choice(table.still_in)))
            elif pending and (commands := open_(table)):
                self.of_seat(commands[pending.pop(0) % len(commands)])
            else:
                self.of_seat(choice(table))
        while not self.table.over and course in (Course.RESIGNED, Course.TIMED_OUT):
            if course is Course.TIMED_OUT and self.table.deadline:
                self.do(RunOutOfTime(), None)
            else:
                self.of_seat(Resign(seat=chance.choice(self.table.still_in)))
        if self.table.held_back and course is not Course.LEFT:
            self.do(RunOutOfTime(), None)
        return Played(self.decider, self.seeds, tuple(self.steps), self.table, "a game played by hand")
