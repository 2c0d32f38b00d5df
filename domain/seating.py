"""How a table for several comes to its deal: it is opened, joined, left, started or cancelled (G3, G4)."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from domain import entropy
from domain.dealing import Seeds, seat_order
from domain.decider import Command, Fact, OpenCommand, RuleViolation, Viewer, fold
from domain.entropy import BeaconGiven, Entropy, EntropyDue, EntropyWithheld, RevealEntropy, beacon_of, commitment_of
from domain.lifecycle import (
    ExtendDeadline,
    GameCancelled,
    PlayerSeated,
    RunOutOfTime,
    Table,
    changed,
    extended,
    in_time,
    labelled,
    still_open,
)
from domain.tables import (
    FEWEST_PLAYERS,
    SEATING_COMMANDS,
    Cancel,
    Join,
    Leave,
    OpenTable,
    PlayerJoined,
    PlayerLeft,
    Seating,
    SharedTable,
    Start,
    TableOpened,
)

__all__ = [
    "belongs_before_the_deal",
    "command_of",
    "decide",
    "entropies",
    "evolve",
    "invitation",
    "invitation_for",
    "must_be_host",
    "must_have_started",
    "open_commands",
    "opening",
]

S = TypeVar("S", bound=SharedTable)


def opening(
    fact: type[TableOpened],
    table: SharedTable,
    command: OpenTable,
    *,
    ruleset: int,
    at: datetime,
) -> tuple[Fact, ...]:
    """Return the facts of a table that a player opens, who joins it as the first.

    Raises:
        RuleViolation: a rule refuses it.
        LookupError: the table was folded without seeds.
    """
    if table.seeds is None:
        raise LookupError("a game is opened with its seeds")
    if table.opened is not None:
        raise ValueError("a game is opened once")
    player, options = command.player, command.options
    if command.rematch is not None:
        if not command.rematch.of_several:
            raise RuleViolation("NO_REMATCH", "G4", "A rematch is of a game of two or more players, each in one seat.")
        if player not in command.rematch.players:
            raise _not_invited_to_the_rematch()
    entropy.must_have_fitting_seal(options, at)
    committed = entropy.commit(options, player, command.commitment)
    opened = fact(
        ruleset=ruleset,
        host=player,
        deal=table.seeds.deal,
        commitment=table.seeds.commitment.hex(),
        options=options,
        rematch=command.rematch,
    )
    return opened, *labelled(command.label), PlayerJoined(player=player), *committed


def _not_invited_to_the_rematch() -> RuleViolation:
    return RuleViolation("NOT_INVITED", "G4", "A rematch is for those who played the game before it.")


def entropies(table: SharedTable) -> tuple[str, ...]:
    """Return the players' own entropy in the order of joining."""
    return entropy.entropies(table, table.joined)


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


def belongs_before_the_deal(command: Command, table: SharedTable) -> bool:
    """Whether a command concerns how the table comes to its deal, also where it comes too late for that."""
    if isinstance(command, (RunOutOfTime, ExtendDeadline)):
        return table.gathers_entropy
    return isinstance(command, SEATING_COMMANDS)


def decide(
    command: Command,
    table: S,
    at: datetime,
    *,
    deal: Callable[[S], tuple[Fact, ...]],
    after: Callable[[S, Fact], S],
) -> tuple[Fact, ...]:
    """Return the facts of a command that ``belongs_before_the_deal``.

    Args:
        command: the command.
        table: the table.
        at: when it is given.
        deal: returns the facts of the deal, once seats are given.
        after: the kind's own evolve.

    Raises:
        RuleViolation: a rule refuses it.
        LookupError: the table was folded without its seeds.
    """
    still_open(table, "G3")
    if table.deals:
        raise RuleViolation("ALREADY_STARTED", "G3", "This game has started: it can be watched; open or join another.")

    def seat_and_deal(ready: S) -> tuple[Fact, ...]:
        seated = tuple(PlayerSeated(seat=seat, player=player) for seat, player in enumerate(_order(ready), 1))
        return *seated, *deal(fold(after, ready, seated))

    match command:
        case RevealEntropy():
            return entropy.reveal(command, table, at, deal=seat_and_deal, after=after)
        case _ if table.due:
            return _decide_while_due(command, table, at)
        case Join(player=player):
            _must_be_admitted(command, table)
            options = table.table_opened.options
            committed = entropy.commit(options, player, command.commitment, table.committed)
            joined = (PlayerJoined(player=player), *committed)
            with_it = fold(after, table, joined)
            if not (len(with_it.joined) == table.takes and options.start_when_full):
                return joined
            return *joined, *entropy.begin(with_it, None, at, deal=seat_and_deal, after=after)
        case Leave(player=player):
            _must_be_a_guest(table, player)
            return (PlayerLeft(player=player),)
        case Start(player=player):
            must_be_host(table, player)
            if len(table.joined) < FEWEST_PLAYERS:
                raise RuleViolation(
                    "TOO_FEW_PLAYERS", "G3", f"It takes {FEWEST_PLAYERS} players to start: wait until another joins."
                )
            return entropy.begin(table, command.beacon, at, deal=seat_and_deal, after=after)
        case Cancel(player=player):
            must_be_host(table, player)
            return (GameCancelled(),)
        case _:
            raise TypeError(f"{type(command).__name__} is no command of a table before its deal")


def _decide_while_due(command: Command, table: SharedTable, at: datetime) -> tuple[Fact, ...]:
    """Decide what there is to decide while entropy is due: a table that loses a player then is called off (G3)."""
    match command:
        case RunOutOfTime():
            withheld = entropy.run_out(table, at)
            return *withheld, *(PlayerLeft(player=fact.player) for fact in withheld), GameCancelled()
        case ExtendDeadline():
            return (extended(table, command),)
        case Leave(player=player):
            in_time(table, at)
            _must_be_a_guest(table, player)
            return *entropy.withhold(table, player), PlayerLeft(player=player), GameCancelled()
        case Cancel(player=player):
            in_time(table, at)
            must_be_host(table, player)
            return *entropy.withhold(table, player), GameCancelled()
        case _:
            message = "This table is closed and waits for the entropy that its players have committed to."
            raise RuleViolation("ENTROPY_IS_DUE", "G3", message)


def must_be_host(table: Table, player: UUID) -> None:
    """Refuse what is for the host alone to do."""
    if table.opened is None or player != table.opened.host:
        raise RuleViolation("NOT_THE_HOST", "G3", "Only the host, who opened the table, starts or cancels the game.")


def _must_be_a_guest(table: SharedTable, player: UUID) -> None:
    if player == table.table_opened.host:
        raise RuleViolation("HOST_STAYS", "G3", "You are the host of this table: cancel the game instead.")
    if player not in table.joined:
        raise RuleViolation("NOT_AT_THE_TABLE", "G3", "You have not joined this table.")


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
    return seat_order(table.joined, table.seeds, entropies=entropies(table), beacon=table.beacon)


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
            # Who goes before the start takes the commitment away; later it stays, to show who withheld what.
            kept = table.committed if table.due else tuple(one for one in table.committed if one.player != player)
            return changed(table, version=table.version + 1, joined=joined, committed=kept)
        case _:
            return entropy.evolve(table, fact)


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
            code = invitation(table.seeds) if by_code and table.seeds else None
            return Join(player=player, code=code, commitment=commitment_of(facts))
        case PlayerLeft(player=player):
            return Leave(player=player)
        case BeaconGiven() | EntropyDue() | PlayerSeated():
            return Start(player=table.table_opened.host, beacon=beacon_of(facts))
        case EntropyWithheld(player=player, deadline=None) if any(isinstance(fact, PlayerLeft) for fact in facts):
            return Leave(player=player)
        case GameCancelled() | EntropyWithheld(deadline=None):
            return Cancel(player=table.table_opened.host)
        case _:
            return entropy.command_of(facts, table)


def open_commands(table: SharedTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    """Return what a viewer may do with a table before its deal; a private table is not offered to strangers."""
    if table.opened is None or table.deals or table.over or viewer.player is None:
        return ()
    opened, player = table.table_opened, viewer.player
    reveal = entropy.may_reveal(table, viewer)
    if player == opened.host:
        ready = len(table.joined) >= FEWEST_PLAYERS and not table.due
        start: OpenCommand = Start(player=player) if opened.options.beacon is None else Start
        return *reveal, *((start,) if ready else ()), Cancel(player=player)
    if player in table.joined:
        return *reveal, Leave(player=player)
    invited = player in opened.rematch.players if opened.rematch else not opened.options.private
    if not invited or table.due or len(table.joined) >= opened.takes:
        return ()
    return (Join,) if opened.options.entropy is Entropy.DEMANDED else (Join(player=player),)
