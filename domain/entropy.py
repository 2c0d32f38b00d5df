"""How players, and a public random value, add entropy to a deal, so that nobody can have chosen it (G3).

A player *commits* when coming to the table: SHA-256 of 32 bytes that stay with the player. Once the table is closed
and every commitment is in the log, each of them *reveals* the bytes, and the last to do so brings on the deal. The
server had committed to its seed before all of them, so neither it nor any player knew the deal while there was a choice
left; one player whom you trust is enough, and that may be yourself.

A *beacon* is a public random value of a future moment that the table names when it is opened. Its value comes with the
start of the game: after the last commitment, so that none was chosen by it, and before the first entropy is revealed,
so that whoever gives it knows none; and so the last revealed entropy is all that a deal waits for, with a beacon or
without. Whoever checks it asks two things of the world outside: that the value is that of the named moment, and that
the moment came after the last player had joined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, ClassVar, Final, NamedTuple, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from domain import lifecycle
from domain.dealing import NO_ENTROPY
from domain.decider import Command, Digest, Fact, Instant, RuleViolation, Viewer, fold
from domain.lifecycle import GameOpened, RunOutOfTime, Table, Timed, changed, in_time

__all__ = [
    "ENTROPY_FACTS",
    "MOST_BEACON",
    "BeaconGiven",
    "BeaconText",
    "Commitment",
    "Committed",
    "Entropy",
    "EntropyCommitted",
    "EntropyDue",
    "EntropyOpened",
    "EntropyOptions",
    "EntropyRevealed",
    "EntropyTable",
    "EntropyWithheld",
    "RevealEntropy",
    "beacon_of",
    "begin",
    "command_of",
    "commit",
    "commitment_of",
    "entropies",
    "evolve",
    "may_reveal",
    "must_have_fitting_seal",
    "owing",
    "reveal",
    "run_out",
    "withhold",
]

MOST_BEACON: Final = 200
REVEAL_SECONDS: Final = 120
LONGEST_SEAL: Final = timedelta(days=366)
"""A game whose seeds stay away for longer than this could as well never be checked."""

BeaconText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MOST_BEACON, pattern=r"^[0-9A-Za-z./:+=_-]+( [0-9A-Za-z./:+=_-]+)*$"),
]
"""The name of a beacon, or its value: it goes into the salt of the deal as it is written."""

Commitment = Digest
"""SHA-256 of the 32 bytes that a player keeps, in hex."""


class Entropy(StrEnum):
    """Whether players add entropy of their own."""

    NONE = "none"
    ALLOWED = "allowed"
    """Who commits to some when joining reveals it before the deal."""
    DEMANDED = "demanded"
    """Everyone does."""


class EntropyOptions(BaseModel):
    """What every table can ask for that concerns the fairness of its deal."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    # Not written where they are not asked for: the bytes of games without them stay what they always were.
    entropy: Entropy = Field(default=Entropy.NONE, exclude_if=lambda entropy: entropy is Entropy.NONE)
    """Whether players add entropy of their own."""
    reveal_seconds: int = Field(
        default=REVEAL_SECONDS, ge=10, le=24 * 3600, exclude_if=lambda seconds: seconds == REVEAL_SECONDS
    )
    """Time to reveal it in, from the start of the game."""
    beacon: BeaconText | None = Field(default=None, exclude_if=lambda beacon: beacon is None)
    """Which public random value of a future moment goes into the deal, such as "drand quicknet 12345678"."""
    sealed_until: Instant | None = Field(default=None, exclude_if=lambda until: until is None)
    """The seeds are held back until then, where the game ends before it; None to reveal them with the result."""

    @field_validator("reveal_seconds")
    @classmethod
    def _must_be_of_use(cls, seconds: int, told: ValidationInfo) -> int:
        if seconds != REVEAL_SECONDS and told.data.get("entropy") is Entropy.NONE:
            raise ValueError("a time to reveal entropy in is for a table with entropy: allow it, or leave the time out")
        return seconds

    @field_validator("sealed_until")
    @classmethod
    def _must_be_an_instant(cls, until: datetime | None) -> datetime | None:
        if until is None:
            return None
        if until.tzinfo is None:
            raise ValueError("the time until which seeds are held back needs its offset from UTC, such as Z")
        try:
            return until.astimezone(UTC)
        except OverflowError:
            raise ValueError("the time until which seeds are held back is none that there is in UTC") from None

    def again(self) -> Self:
        """Return the options of a rematch, which are those of its game without what has passed by then."""
        if self.beacon is None and self.sealed_until is None:
            return self
        return self.model_copy(update={"beacon": None, "sealed_until": None})


class EntropyOpened(GameOpened):
    """A game was opened. Each kind has its own, with its options."""

    options: EntropyOptions


class EntropyCommitted(Fact):
    """A player who comes to the table committed to entropy of the player's own."""

    topic: ClassVar[str] = "game.EntropyCommitted"

    player: UUID
    commitment: Commitment
    """SHA-256 of the entropy's 32 bytes, hex."""


class BeaconGiven(Fact):
    """The public random value came that the opening names: it goes into the deal."""

    topic: ClassVar[str] = "game.BeaconGiven"

    beacon: BeaconText
    """The value, as it goes into the salt."""


class EntropyDue(Timed):
    """The table is closed, and waits for the entropy that players have committed to."""

    topic: ClassVar[str] = "game.EntropyDue"

    players: tuple[UUID, ...] = Field(min_length=1)
    """Who owes some, in the order of joining."""


class EntropyRevealed(Fact):
    """A player revealed the entropy behind the commitment."""

    topic: ClassVar[str] = "game.EntropyRevealed"

    player: UUID
    entropy: Digest
    """32 bytes, hex."""


class EntropyWithheld(Fact):
    """A player did not reveal what was due, so that the game is called off (G3)."""

    topic: ClassVar[str] = "game.EntropyWithheld"

    player: UUID
    deadline: Instant | None = None
    """When the time for it had run out; null where the player went, or called the game off, before that."""


ENTROPY_FACTS: Final = (EntropyCommitted, BeaconGiven, EntropyDue, EntropyRevealed, EntropyWithheld)
"""What every kind can record of it."""


class RevealEntropy(Command):
    """Reveal the entropy behind one's commitment (G3)."""

    # What is refused may be a secret yet.
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)

    name: ClassVar[str] = "game.RevealEntropy"

    player: UUID
    entropy: Digest = Field(repr=False)


class Committed(NamedTuple):
    """What a player committed to."""

    player: UUID
    commitment: str
    entropy: str | None = None
    """Once it is revealed."""


@dataclass(frozen=True, kw_only=True)
class EntropyTable(Table):
    """The part of a state that every game has whose players may add entropy."""

    committed: tuple[Committed, ...] = ()
    """In the order of joining."""
    beacon: str = ""
    """The value of the beacon, once it was given."""
    due: bool = False
    """Whether the table was closed to wait for entropy."""

    @property
    def fairness(self) -> EntropyOptions:
        """What the opening asks for.

        Raises:
            LookupError: the table is not opened yet.
        """
        if isinstance(self.opened, EntropyOpened):
            return self.opened.options
        raise LookupError("the table is not opened yet")

    @property
    def gathers_entropy(self) -> bool:
        """Whether the table waits for entropy now."""
        return self.due and not self.deals and not self.over


E = TypeVar("E", bound=EntropyTable)


def owing(table: Table) -> tuple[UUID, ...]:
    """Return the players whose entropy a table waits for, in the order of joining."""
    if not isinstance(table, EntropyTable) or not table.gathers_entropy:
        return ()
    return tuple(one.player for one in table.committed if one.entropy is None)


def entropies(table: EntropyTable, joined: Sequence[UUID]) -> tuple[str, ...]:
    """Return what goes into the salt for each of the players, who are in the order of joining."""
    revealed = {one.player: one.entropy for one in table.committed}
    return tuple(revealed.get(player) or NO_ENTROPY for player in joined)


# What a command leads to


def must_have_fitting_seal(options: EntropyOptions, at: datetime) -> None:
    """Refuse a table whose seeds would be held back for longer than anyone waits for them, or not at all."""
    if options.sealed_until is not None and options.sealed_until < at:
        message = "The time until which seeds are held back is past: look at its offset from UTC, or leave it out."
        raise RuleViolation("SEAL_IS_PAST", "G3", message)
    if options.sealed_until is not None and options.sealed_until > at + LONGEST_SEAL:
        days = LONGEST_SEAL.days
        message = f"Seeds are held back for at most {days} days from the opening: name an earlier time."
        raise RuleViolation("SEALED_TOO_LONG", "G3", message)


def commit(
    options: EntropyOptions, player: UUID, commitment: str | None, others: Sequence[Committed] = ()
) -> tuple[EntropyCommitted, ...]:
    """Return the fact that a player who comes to a table commits to entropy; none where that is not asked for.

    Raises:
        RuleViolation: the table does without, or demands it, or another player has committed to the same.
    """
    if commitment is None:
        if options.entropy is Entropy.DEMANDED:
            message = "This table demands entropy of every player: commit to the SHA-256 of 32 random bytes of yours."
            raise RuleViolation("ENTROPY_DEMANDED", "G3", message)
        return ()
    if options.entropy is Entropy.NONE:
        message = "This table takes no entropy from its players: come without a commitment, or open one that does."
        raise RuleViolation("ENTROPY_NOT_WANTED", "G3", message)
    if any(commitment == other.commitment for other in others):
        # Whoever copies a commitment could reveal what the other reveals, and would have chosen nothing.
        message = "Another player has committed to the same: take 32 random bytes of your own."
        raise RuleViolation("ENTROPY_REPEATED", "G3", message)
    return (EntropyCommitted(player=player, commitment=commitment),)


def begin(
    table: E,
    beacon: str | None,
    at: datetime,
    *,
    deal: Callable[[E], tuple[Fact, ...]],
    after: Callable[[E, Fact], E],
) -> tuple[Fact, ...]:
    """Return the facts of a start: the deal, or first of all a call for the entropy that players have committed to.

    Args:
        table: the table.
        beacon: the value of the beacon that the table names.
        at: when the time to reveal begins.
        deal: returns the facts of the deal.
        after: the kind's own evolve.

    Raises:
        RuleViolation: a beacon's value is missing, or not wanted.
    """
    options = table.fairness
    if options.beacon is not None and beacon is None:
        message = f"This table deals with a beacon: start it with the value of “{options.beacon}”, once that is public."
        raise RuleViolation("BEACON_MISSING", "G3", message)
    if options.beacon is None and beacon is not None:
        message = "This table named no beacon when it was opened: start it without a value."
        raise RuleViolation("BEACON_NOT_WANTED", "G3", message)
    given = () if beacon is None else (BeaconGiven(beacon=beacon),)
    ready = fold(after, table, given)
    players = tuple(one.player for one in ready.committed)
    if not players:
        return *given, *deal(ready)
    return *given, EntropyDue(players=players, deadline=at + timedelta(seconds=options.reveal_seconds))


def reveal(
    command: RevealEntropy,
    table: E,
    at: datetime,
    *,
    deal: Callable[[E], tuple[Fact, ...]],
    after: Callable[[E, Fact], E],
) -> tuple[Fact, ...]:
    """Return the facts of a reveal before the deal; the last one brings on the deal. Arguments as ``begin`` has them.

    Raises:
        RuleViolation: nothing is due from the player, the time is up, or the entropy is not what was committed to.
    """
    if not table.gathers_entropy:
        message = "Entropy is revealed once the game is started, and not before: keep it to yourself till then."
        raise RuleViolation("ENTROPY_NOT_DUE", "G3", message)
    in_time(table, at)
    own = next((one for one in table.committed if one.player == command.player), None)
    if own is None:
        raise RuleViolation("NOTHING_COMMITTED", "G3", "You have not committed to entropy at this table.")
    if own.entropy is not None:
        raise RuleViolation("ENTROPY_REVEALED", "G3", "You have revealed your entropy: wait for the others.")
    if hashlib.sha256(bytes.fromhex(command.entropy)).hexdigest() != own.commitment:
        message = "This is not what you committed to: its SHA-256 is another one. Reveal the 32 bytes themselves."
        raise RuleViolation("ENTROPY_MISMATCH", "G3", message)
    revealed = EntropyRevealed(player=command.player, entropy=command.entropy)
    ready = after(table, revealed)
    return (revealed,) if owing(ready) else (revealed, *deal(ready))


def withhold(table: EntropyTable, player: UUID) -> tuple[EntropyWithheld, ...]:
    """Return the fact that a player who ends the game by going, or calls it off, owes entropy; none where not."""
    return (EntropyWithheld(player=player),) if player in owing(table) else ()


def run_out(table: EntropyTable, at: datetime) -> tuple[EntropyWithheld, ...]:
    """Return the facts that the time to reveal has run out, one for each who owes entropy; never early ones (G2).

    Raises:
        RuleViolation: there is no deadline, or it has not passed.
    """
    deadline = lifecycle.passed(table, at)
    return tuple(EntropyWithheld(player=player, deadline=deadline) for player in owing(table))


# How the table evolves


def evolve(table: E, fact: Fact) -> E:
    """Apply a fact of the entropy, or one that every game has."""
    match fact:
        case EntropyCommitted(player=player, commitment=commitment):
            committed = (*table.committed, Committed(player, commitment))
            return changed(table, version=table.version + 1, committed=committed)
        case EntropyRevealed(player=player, entropy=entropy):
            committed = tuple(one._replace(entropy=entropy) if one.player == player else one for one in table.committed)
            return changed(table, version=table.version + 1, committed=committed)
        case BeaconGiven(beacon=beacon):
            return changed(table, version=table.version + 1, beacon=beacon)
        case EntropyDue():
            return changed(lifecycle.evolve(table, fact), due=True)
        case _:
            return lifecycle.evolve(table, fact)


# Back from facts to the command, and what is open


def commitment_of(facts: Sequence[Fact]) -> str | None:
    """Return the commitment that came with who opened a table, or joined it."""
    return next((fact.commitment for fact in facts if isinstance(fact, EntropyCommitted)), None)


def beacon_of(facts: Sequence[Fact]) -> str | None:
    """Return the value of the beacon that came with a start."""
    return next((fact.beacon for fact in facts if isinstance(fact, BeaconGiven)), None)


def command_of(facts: Sequence[Fact], table: Table) -> Command:
    """Return the command that these facts answered: to reveal, to end the waiting, or one of every game.

    Raises:
        ValueError: no command leads to such facts.
    """
    match facts[0]:
        case EntropyRevealed(player=player, entropy=entropy):
            return RevealEntropy(player=player, entropy=entropy)
        case EntropyWithheld(deadline=datetime()):
            return RunOutOfTime()
        case _:
            return lifecycle.command_of(facts, table)


def may_reveal(table: EntropyTable, viewer: Viewer) -> tuple[type[RevealEntropy], ...]:
    """Return the command to reveal where a viewer owes entropy: what it is, the player alone knows."""
    return (RevealEntropy,) if viewer.player in owing(table) else ()
