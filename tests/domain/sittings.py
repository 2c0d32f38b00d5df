"""Whole games of several players as they are played: what is the same whichever the kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import Command, Decider, Fact, fold
from domain.events import GENESIS, SERVER, Cause, Event, chain, content_digest, key_digest, player_actor
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime, Table
from domain.seating import Cancel, Join, Leave, Rematch, Start, TableOptions, invitation
from domain.turns import TurnTable
from tests.given import NOON

__all__ = ["DAY", "PLAYERS", "Course", "Played", "Sitting", "Step"]

PLAYERS: Final = tuple(UUID(f"00000000-0000-4000-8000-0000000000{number:02x}") for number in range(10, 18))
"""Who plays, the host first; a player who comes and goes is none of them."""
PASSER_BY: Final = UUID("00000000-0000-4000-8000-0000000000ff")
DAY: Final = 24 * 3600

T = TypeVar("T", bound=Table)
U = TypeVar("U", bound=TurnTable)


class Course(Enum):
    """How a game is to go, unless it ends before."""

    TO_THE_END = "played to its end"
    RESIGNED = "resigned on the way, seat after seat"
    TIMED_OUT = "left to run out of time, turn after turn"
    CANCELLED = "cancelled before its deal"
    LEFT = "left lying unfinished"


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
        timed_out = self.table.finished.ending == "resignations" and isinstance(self.steps[-1].command, RunOutOfTime)
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


class Sitting(Generic[U]):
    """A game while it is played."""

    def __init__(self, decider: Decider[U, Any], chance: random.Random) -> None:
        self.decider: Final = decider
        self.chance: Final = chance
        deal = UUID(int=chance.getrandbits(128), version=4)
        self.seeds: Final = Seeds.backwards(deal, last=chance.randbytes(32), deals=decider.deals)
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

    def gather(self, opening: Command, count: int, options: TableOptions, rematch: Rematch | None) -> None:
        """Open a table; let the players come, and some go and come again."""
        host, *guests = PLAYERS[:count]
        self.do(opening, host)
        code = invitation(self.seeds) if options.private and rematch is None else None
        most = count if rematch else options.seats
        for guest in guests:
            if self.chance.random() < 0.15:
                comer = guest if rematch else self.chance.choice([guest, PASSER_BY])
                if len(self.table.joined) + 1 < most or not options.start_when_full:
                    self.do(Join(player=comer, code=code), comer)
                    self.do(Leave(player=comer), comer)
            self.do(Join(player=guest, code=code), guest)

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
        if course is Course.CANCELLED and not self.table.deals:
            self.do(Cancel(player=PLAYERS[0]), PLAYERS[0])
        elif not self.table.deals:
            self.do(Start(player=PLAYERS[0]), PLAYERS[0])
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
        return Played(self.decider, self.seeds, tuple(self.steps), self.table, "a game played by hand")
