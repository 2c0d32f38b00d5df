"""How a table for several comes to its deal: it is opened, joined, left, started or cancelled (G3, G4)."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from domain import lifecycle
from domain.dealing import NO_ENTROPY, Seeds, seat_order
from domain.decider import Command, Fact, OpenCommand, RuleViolation, Viewer, fold
from domain.lifecycle import GameCancelled, GameOpened, PlayerSeated, Table, changed, labelled, still_open

__all__ = [
    "SEATING_COMMANDS",
    "Cancel",
    "Join",
    "Leave",
    "PlayerJoined",
    "PlayerLeft",
    "Rematch",
    "Seating",
    "SharedTable",
    "Start",
    "TableOpened",
    "TableOptions",
    "command_of",
    "decide",
    "entropies",
    "evolve",
    "invitation",
    "invitation_for",
    "must_have_started",
    "open_commands",
    "opening",
]

FEWEST_PLAYERS: Final = 2


class Seating(StrEnum):
    """How seats are given (G4)."""

    SHUFFLED = "shuffled"
    """By the committed shuffle of the players in the order of joining."""
    AS_JOINED = "as-joined"
    """In the order of joining."""


class TableOptions(BaseModel):
    """What every table for several can ask for."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seats: int
    """How many players it takes at most."""
    start_when_full: bool = False
    """Deal as soon as the last seat is taken; else the host starts."""
    private: bool = False
    """Join with the invitation only."""
    seating: Seating = Seating.SHUFFLED
    """How seats are given (G4)."""
    turn_seconds: int | None = Field(default=None, ge=5, le=30 * 24 * 3600)
    """Time for each turn (G2); None for no limit."""


class Rematch(BaseModel):
    """The game that is played again, and who may join."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    game: UUID
    players: tuple[UUID, ...]
    """Those who sat there, seat 1 first: they join without an invitation, and nobody else joins."""
    moved_on: bool
    """They are seated in that order moved on by one, so that its seat 2 is seat 1; else anew (G4)."""


class TableOpened(GameOpened):
    """A table for several was opened. Each kind has its own, with its options."""

    options: TableOptions
    rematch: Rematch | None = None
    """Null where it is no rematch."""

    @property
    def takes(self) -> int:
        """How many players it takes at most."""
        return min(self.options.seats, len(self.rematch.players)) if self.rematch else self.options.seats


class PlayerJoined(Fact):
    """A player came to the table; the host is the first to."""

    topic: ClassVar[str] = "game.PlayerJoined"

    player: UUID


class PlayerLeft(Fact):
    """A player went before the deal."""

    topic: ClassVar[str] = "game.PlayerLeft"

    player: UUID


class Join(Command):
    """Come to an open table (G3)."""

    name: ClassVar[str] = "game.Join"

    player: UUID
    code: str | None = Field(default=None, max_length=64)
    """The invitation of a private table."""


class Leave(Command):
    """Go before the deal; after it, resign (G1)."""

    name: ClassVar[str] = "game.Leave"

    player: UUID


class Start(Command):
    """The host's: deal to those who have joined (G3)."""

    name: ClassVar[str] = "game.Start"

    player: UUID


class Cancel(Command):
    """The host's: call the game off before its deal (G3)."""

    name: ClassVar[str] = "game.Cancel"

    player: UUID


SEATING_COMMANDS: Final = (Join, Leave, Start, Cancel)


@dataclass(frozen=True, kw_only=True)
class SharedTable(Table):
    """The part of a state that every game for several has."""

    joined: tuple[UUID, ...] = ()
    """Who is at the table, in the order of joining; it stays as it was when the cards were dealt."""

    @property
    def table_opened(self) -> TableOpened:
        """The opening, with the table's options.

        Raises:
            LookupError: the table is not opened yet.
        """
        if isinstance(self.opened, TableOpened):
            return self.opened
        raise LookupError("the table is not opened yet")

    @property
    def takes(self) -> int:
        """How many players the table takes at most."""
        return self.table_opened.takes

    @property
    def company(self) -> tuple[UUID, ...]:
        """Who is at the table, with a seat or before there are seats, in the order of joining."""
        return self.joined


S = TypeVar("S", bound=SharedTable)


def opening(
    fact: type[TableOpened],
    table: SharedTable,
    *,
    player: UUID,
    ruleset: int,
    options: TableOptions,
    rematch: Rematch | None,
    label: str | None,
) -> tuple[Fact, ...]:
    """Return the facts of a table that a player opens, who joins it as the first.

    Raises:
        LookupError: the table was folded without seeds.
    """
    if table.seeds is None:
        raise LookupError("a game is opened with its seeds")
    if table.opened is not None:
        raise ValueError("a game is opened once")
    if rematch is not None and player not in rematch.players:
        raise _not_invited_to_the_rematch()
    opened = fact(
        ruleset=ruleset,
        host=player,
        deal=table.seeds.deal,
        commitment=table.seeds.commitment.hex(),
        options=options,
        rematch=rematch,
    )
    return opened, *labelled(label), PlayerJoined(player=player)


def _not_invited_to_the_rematch() -> RuleViolation:
    return RuleViolation("NOT_INVITED", "G4", "A rematch is for those who played the game before it.")


def entropies(table: SharedTable) -> tuple[str, ...]:
    """Return the players' own entropy in the order of joining."""
    return (NO_ENTROPY,) * len(table.joined)


def invitation(seeds: Seeds) -> str:
    """Return what a private table is joined with: 26 letters and digits.

    It is an HMAC under the sealed seed of the first deal, 128 bits of it: nobody finds it by trying, the log holds
    nothing to try it on, and it tells nothing of the seed.
    """
    digest = hmac.digest(seeds.seed(1), f"tic/invitation/v1\n{seeds.deal}\n".encode("ascii"), "sha256")
    return base64.b32encode(digest[:16]).decode("ascii").rstrip("=").lower()


def invitation_for(table: Table, viewer: Viewer) -> str | None:
    """Return the invitation of a private table to its host, before the deal; None to everyone else, and elsewhere."""
    if not isinstance(table, SharedTable) or not isinstance(table.opened, TableOpened) or table.seeds is None:
        return None
    wanted = table.opened.options.private and table.opened.rematch is None and not table.deals and not table.over
    return invitation(table.seeds) if wanted and viewer.player == table.opened.host else None


# What a command leads to


def decide(
    command: Command, table: S, deal: Callable[[S], tuple[Fact, ...]], after: Callable[[S, Fact], S]
) -> tuple[Fact, ...]:
    """Return the facts of a command of ``SEATING_COMMANDS`` before the deal.

    Args:
        command: the command.
        table: the table.
        deal: returns the facts of the deal, once seats are given.
        after: the kind's own evolve.

    Raises:
        RuleViolation: a rule refuses it.
        LookupError: the table was folded without its seeds.
    """
    still_open(table, "G3")
    if table.deals:
        raise RuleViolation("ALREADY_STARTED", "G3", "This game has started: it can be watched; open or join another.")
    match command:
        case Join(player=player):
            _must_be_admitted(command, table)
            joined = PlayerJoined(player=player)
            with_it = after(table, joined)
            opened = table.table_opened
            full = len(with_it.joined) == opened.takes
            if not (full and opened.options.start_when_full):
                return (joined,)
            return joined, *_start(with_it, deal, after)
        case Leave(player=player):
            if player == table.table_opened.host:
                raise RuleViolation("HOST_STAYS", "G3", "You are the host of this table: cancel the game instead.")
            if player not in table.joined:
                raise RuleViolation("NOT_AT_THE_TABLE", "G3", "You have not joined this table.")
            return (PlayerLeft(player=player),)
        case Start(player=player):
            _must_be_host(table, player)
            if len(table.joined) < FEWEST_PLAYERS:
                raise RuleViolation(
                    "TOO_FEW_PLAYERS", "G3", f"It takes {FEWEST_PLAYERS} players to start: wait until another joins."
                )
            return _start(table, deal, after)
        case Cancel(player=player):
            _must_be_host(table, player)
            return (GameCancelled(),)
        case _:
            raise TypeError(f"{type(command).__name__} is no command of a table before its deal")


def _must_be_host(table: SharedTable, player: UUID) -> None:
    if player != table.table_opened.host:
        raise RuleViolation("NOT_THE_HOST", "G3", "Only the host, who opened the table, starts or cancels the game.")


def _must_be_admitted(command: Join, table: SharedTable) -> None:
    opened = table.table_opened
    if command.player in table.joined:
        raise RuleViolation("ALREADY_JOINED", "G3", "You have joined this table: wait for its start.")
    if opened.rematch is not None:
        if command.player not in opened.rematch.players:
            raise _not_invited_to_the_rematch()
    elif opened.options.private:
        if table.seeds is None:
            raise LookupError("an invitation is checked with the seeds")
        if not hmac.compare_digest((command.code or "").strip().lower().encode(), invitation(table.seeds).encode()):
            raise RuleViolation("NOT_INVITED", "G3", "This table is private: give the invitation that its host has.")
    if len(table.joined) >= opened.takes:
        raise RuleViolation("TABLE_FULL", "G3", "Every seat of this table is taken: join another, or open one.")


def _start(table: S, deal: Callable[[S], tuple[Fact, ...]], after: Callable[[S, Fact], S]) -> tuple[Fact, ...]:
    seated = tuple(PlayerSeated(seat=seat, player=player) for seat, player in enumerate(_order(table), 1))
    return *seated, *deal(fold(after, table, seated))


def _order(table: SharedTable) -> tuple[UUID, ...]:
    """Return the players in the order of their seats (G4)."""
    opened = table.table_opened
    if opened.rematch is not None and opened.rematch.moved_on:
        first, *others = opened.rematch.players
        return tuple(player for player in (*others, first) if player in table.joined)
    if opened.options.seating is Seating.AS_JOINED:
        return table.joined
    if table.seeds is None:
        raise LookupError("seats are shuffled with the seeds")
    return seat_order(table.joined, table.seeds, entropies=entropies(table))


def must_have_started(table: SharedTable) -> None:
    """Refuse what is played with cards before there are any."""
    if not table.deals and not table.over:
        raise RuleViolation("NOT_STARTED", "G3", "This game has not started: wait for its host, or leave.")


# How the table evolves


def evolve(table: S, fact: Fact) -> S:
    """Apply a fact of a table before its deal, or one that every game has."""
    match fact:
        case PlayerJoined(player=player):
            return changed(table, version=table.version + 1, joined=(*table.joined, player))
        case PlayerLeft(player=player):
            joined = tuple(other for other in table.joined if other != player)
            return changed(table, version=table.version + 1, joined=joined)
        case _:
            return lifecycle.evolve(table, fact)


# Back from facts to the command, and what is open


def command_of(facts: Sequence[Fact], table: SharedTable) -> Command:
    """Return the command of ``SEATING_COMMANDS``, or of every game, that these facts answered.

    The invitation, which is in no fact, follows from the seeds.

    Raises:
        ValueError: no command leads to such facts.
    """
    match facts[0]:
        case PlayerJoined(player=player):
            opened = table.table_opened
            by_code = opened.options.private and opened.rematch is None and table.seeds is not None
            return Join(player=player, code=invitation(table.seeds) if by_code and table.seeds else None)
        case PlayerLeft(player=player):
            return Leave(player=player)
        case PlayerSeated():
            return Start(player=table.table_opened.host)
        case GameCancelled():
            return Cancel(player=table.table_opened.host)
        case _:
            return lifecycle.command_of(facts, table)


def open_commands(table: SharedTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    """Return what a viewer may do with a table before its deal; a private table is not offered to strangers."""
    if table.opened is None or table.deals or table.over or viewer.player is None:
        return ()
    opened, player = table.table_opened, viewer.player
    if player == opened.host:
        start = (Start(player=player),) if len(table.joined) >= FEWEST_PLAYERS else ()
        return *start, Cancel(player=player)
    if player in table.joined:
        return (Leave(player=player),)
    invited = player in opened.rematch.players if opened.rematch else not opened.options.private
    return (Join(player=player),) if invited and len(table.joined) < opened.takes else ()
