"""What every game has: it is opened, seated, dealt, left, finished, and its seeds are revealed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Final, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from domain.cards import Card
from domain.dealing import ALGORITHM, Seeds, are_chained, deal_order
from domain.decider import Command, Digest, Fact, Instant, RuleViolation
from domain.labels import StoredLabel

__all__ = [
    "CLOSING",
    "DeadlineExtended",
    "Dealt",
    "ExtendDeadline",
    "GameCancelled",
    "GameFinished",
    "GameLabelled",
    "GameOpened",
    "Place",
    "PlayerResigned",
    "PlayerSeated",
    "Resign",
    "RunOutOfTime",
    "SeedsHeldBack",
    "SeedsRevealed",
    "Table",
    "Timed",
    "TimedOut",
    "are_committed",
    "changed",
    "command_of",
    "evolve",
    "extended",
    "in_time",
    "label_of",
    "labelled",
    "order_of",
    "passed",
    "reveal",
    "reveal_at_last",
    "reveal_or_hold_back",
    "still_open",
    "time_out",
]


class GameOpened(Fact):
    """A game was opened. Each kind has its own, with its options."""

    kind: ClassVar[str]

    ruleset: int
    """The numbered set of rulings that the game keeps for life."""
    host: UUID
    """The player who opened the game."""
    deal: UUID
    """The deal that the seeds belong to: the game's own id, unless several games share one deal."""
    commitment: Digest
    """s_0 of the deal, hex: what the server committed to before it dealt."""
    dealing: str = ALGORITHM
    """The published algorithm of the deal."""


class GameLabelled(Fact):
    """The game belongs to those that bear this label; it follows the opening, where a label was given."""

    topic: ClassVar[str] = "game.GameLabelled"

    label: StoredLabel
    """What an organiser calls the games that belong together."""


class PlayerSeated(Fact):
    """A player took a seat."""

    topic: ClassVar[str] = "game.PlayerSeated"

    seat: int
    player: UUID


class Dealt(Fact):
    """Cards were dealt. Each kind has its own, with the cards that everyone may see."""

    number: int
    """Which deal of the chain, from 1."""
    entropies: tuple[str, ...]
    """One for each player in the order of joining: lower-case hex, or "-" for none."""
    beacon: str = ""
    """The public random value named in advance; empty if none was."""


class Timed(Fact):
    """A fact that starts, or changes, the time in which something must be done (G2)."""

    deadline: Instant | None = None
    """UTC; null where the table sets no time."""


class DeadlineExtended(Timed):
    """The servers were down, and the time they took is given back (G2)."""

    topic: ClassVar[str] = "game.DeadlineExtended"


class TimedOut(Fact):
    """A seat's time ran out, and the engine acted (G2)."""

    topic: ClassVar[str] = "game.TimedOut"

    seat: int
    deadline: Instant
    """When the time had run out."""


class PlayerResigned(Fact):
    """A player gave up (G1)."""

    topic: ClassVar[str] = "game.PlayerResigned"

    seat: int


class Place(BaseModel):
    """One seat's line in the result."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seat: int
    place: int | None
    """1 for the winner; equal results share the place. Null where the game was not won and has no places."""


class GameFinished(Fact):
    """The game is over. Each kind has its own, with what its result records."""

    ending: str
    """How it ended, as the kind names it."""
    places: tuple[Place, ...]


class GameCancelled(Fact):
    """The game was called off before its deal (G3), which closes the record: nothing was dealt."""

    topic: ClassVar[str] = "game.GameCancelled"


class SeedsRevealed(Fact):
    """The seeds that were used, which closes the record: from here on anyone can deal the game again."""

    topic: ClassVar[str] = "game.SeedsRevealed"

    seeds: tuple[Digest, ...]
    """s_1, s_2, ... in hex, as many as there were deals."""


class SeedsHeldBack(Timed):
    """The game is over, and its seeds are held back until the deadline: until then all stays sealed that is hidden."""

    topic: ClassVar[str] = "game.SeedsHeldBack"


CLOSING: Final = (GameCancelled, SeedsRevealed)
"""The facts that nothing can follow."""


class Resign(Command):
    """Give up (G1)."""

    name: ClassVar[str] = "game.Resign"


class RunOutOfTime(Command):
    """The server's: a deadline has passed (G2)."""

    name: ClassVar[str] = "game.RunOutOfTime"


class ExtendDeadline(Command):
    """The server's: give back time in which no server ran (G2)."""

    name: ClassVar[str] = "game.ExtendDeadline"

    seconds: int = Field(ge=1)
    deadline: Instant | None = None
    """The deadline that was running then; None for whichever runs now."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """The part of a game's state that every kind has. Change it with ``changed``."""

    version: int = 0
    """How many facts it has seen."""
    opened: GameOpened | None = None
    label: str | None = None
    """What its opening was labelled with."""
    players: tuple[UUID, ...] = ()
    """Who sits where, seat 1 first."""
    deals: int = 0
    finished: GameFinished | None = None
    cancelled: bool = False
    revealed: SeedsRevealed | None = None
    deadline: datetime | None = None
    """When the time runs out that is running now."""
    seeds: Seeds | None = field(default=None, repr=False)
    """Known to the server, and once they are revealed to everyone. Without them the hidden cards are unknown."""

    @property
    def over(self) -> bool:
        """Whether the game is finished, or was cancelled."""
        return self.finished is not None or self.cancelled

    @property
    def held_back(self) -> bool:
        """Whether the game is finished, and its seeds come out at the deadline."""
        return self.finished is not None and self.revealed is None and self.deadline is not None

    @property
    def closed(self) -> bool:
        """Whether nothing can follow any more."""
        return self.revealed is not None or self.cancelled

    def seat_of(self, player: UUID) -> int:
        """Return the player's seat, or 0."""
        return self.players.index(player) + 1 if player in self.players else 0

    @property
    def takes(self) -> int:
        """How many players the table takes at most."""
        return 1

    @property
    def company(self) -> tuple[UUID, ...]:
        """Who is at the table, with a seat or before there are seats."""
        return self.players

    def attends(self, player: UUID) -> bool:
        """Whether the player is at the table, with a seat or before there are seats."""
        return player in self.company


T = TypeVar("T", bound=Table)


def labelled(label: str | None) -> tuple[GameLabelled, ...]:
    """Return the fact that follows the opening of a game with a label; nothing where it has none."""
    return () if label is None else (GameLabelled(label=label),)


def label_of(facts: Sequence[Fact]) -> str | None:
    """Return the label that the facts of an opening tell."""
    return next((fact.label for fact in facts if isinstance(fact, GameLabelled)), None)


def changed(table: T, **changes: object) -> T:
    """Return the table with other values in some fields.

    It is ``dataclasses.replace`` without a step for each field: games are folded fact by fact, and that is most of the
    time of reading one.
    """
    new: T = object.__new__(type(table))
    object.__setattr__(new, "__dict__", table.__dict__ | changes)
    return new


def evolve(table: T, fact: Fact) -> T:
    """Apply a fact that every game has; a kind's own evolve does its own facts and leaves the others to this."""
    changes: dict[str, object] = {"version": table.version + 1}
    if isinstance(fact, Timed):
        changes["deadline"] = fact.deadline
    match fact:
        case GameOpened():
            changes["opened"] = fact
        case GameLabelled():
            changes["label"] = fact.label
        case PlayerSeated():
            changes["players"] = (*table.players, fact.player)
        case Dealt():
            changes["deals"] = fact.number
        case GameFinished():
            changes |= {"finished": fact, "deadline": None}
        case GameCancelled():
            changes |= {"cancelled": True, "deadline": None}
        case SeedsRevealed():
            changes |= {"revealed": fact, "deadline": None, "seeds": table.seeds or _seeds_of(table, fact)}
        case _:
            pass
    return changed(table, **changes)


def _seeds_of(table: Table, fact: SeedsRevealed) -> Seeds | None:
    if table.opened is None or not fact.seeds or not are_committed(fact, table):  # others would show cards never dealt
        return None
    return Seeds.revealed(table.opened.deal, [bytes.fromhex(seed) for seed in fact.seeds])


def reveal(table: Table) -> SeedsRevealed:
    """Publish the seeds of the deals that were dealt.

    Raises:
        LookupError: the table was folded without seeds, so it can't decide.
    """
    if table.seeds is None:
        raise LookupError("this table was folded without its seeds")
    return SeedsRevealed(seeds=tuple(table.seeds.seed(d).hex() for d in range(1, table.deals + 1)))


def are_committed(revealed: SeedsRevealed, table: Table) -> bool:
    """Tell whether there is a seed for each deal, and each leads to the one before it, the first to the commitment."""
    opened = table.opened
    if opened is None or len(revealed.seeds) != table.deals:
        return False
    commitment, *seeds = map(bytes.fromhex, (opened.commitment, *revealed.seeds))
    return are_chained(opened.deal, commitment, seeds)


def reveal_or_hold_back(table: Table, until: datetime | None, at: datetime) -> SeedsRevealed | SeedsHeldBack:
    """Publish the seeds of a game that ends now, or say that they are held back until a later time.

    Raises:
        LookupError: the table was folded without seeds, so it can't decide.
    """
    return reveal(table) if until is None or until <= at else SeedsHeldBack(deadline=until)


def reveal_at_last(table: Table, at: datetime) -> SeedsRevealed:
    """Publish seeds that were held back, once their time has come.

    Raises:
        RuleViolation: it has not come yet.
        LookupError: the table was folded without seeds, so it can't decide.
    """
    passed(table, at)
    return reveal(table)


def order_of(table: Table, dealt: Dealt) -> tuple[Card, ...] | None:
    """Return the deck order of a deal, or None where its seed is not known."""
    if table.seeds is None or len(table.seeds) < dealt.number:
        return None
    return deal_order(table.seeds, number=dealt.number, entropies=dealt.entropies, beacon=dealt.beacon)


def command_of(facts: Sequence[Fact], table: Table) -> Command:
    """Return the command of every game that these facts answered; a kind's own command_of asks this for what is left.

    Raises:
        ValueError: no command leads to such facts.
    """
    match facts[0]:
        case PlayerResigned() as fact:
            return Resign(seat=fact.seat)
        case TimedOut():
            return RunOutOfTime()
        case SeedsRevealed() if table.held_back:
            return RunOutOfTime()
        case DeadlineExtended() as fact if fact.deadline and table.deadline:
            return ExtendDeadline(seconds=round((fact.deadline - table.deadline).total_seconds()))
        case fact:
            kind = table.opened.kind if table.opened else "a game"
            raise ValueError(f"no command of {kind} starts with {fact.topic}")


def still_open(table: Table, ruling: str) -> None:
    """Refuse any command to a game that is over, by the ruling that ends the kind."""
    if table.cancelled:
        raise RuleViolation("GAME_CANCELLED", "G3", "This game was called off before its deal: open or join another.")
    if table.over:
        raise RuleViolation("GAME_OVER", ruling, "This game is over: it can be read, and another can be opened.")


def in_time(table: Table, at: datetime) -> None:
    """Refuse a player's command after the deadline: the time-out itself may be a moment behind (G2)."""
    if table.deadline is not None and at >= table.deadline:
        raise RuleViolation("TIME_IS_UP", "G2", "The time has run out: the server acts upon it in a moment.")


def time_out(table: Table, at: datetime, seat: int) -> TimedOut:
    """Return the fact that a seat's time has run out; never an early one (G2).

    Raises:
        RuleViolation: there is no deadline, or it has not passed.
    """
    return TimedOut(seat=seat, deadline=passed(table, at))


def passed(table: Table, at: datetime) -> datetime:
    """Return the deadline, which has passed (G2).

    Raises:
        RuleViolation: there is no deadline, or it has not passed.
    """
    if table.deadline is None or at < table.deadline:
        raise RuleViolation("TIME_IS_LEFT", "G2", "The time has not run out.")
    return table.deadline


def extended(table: Table, command: ExtendDeadline) -> DeadlineExtended:
    """Return the fact that a deadline is later by some seconds (G2).

    Raises:
        RuleViolation: there is no deadline, or another one than that which the time is given back to.
    """
    if table.deadline is None:
        raise RuleViolation("NO_DEADLINE", "G2", "This game has no deadline.")
    if command.deadline not in (None, table.deadline):
        raise RuleViolation("OTHER_DEADLINE", "G2", "The turn whose time is given back has ended.")
    return DeadlineExtended(deadline=table.deadline + timedelta(seconds=command.seconds))
