"""The audit of a game from its record alone: everything that its log says is worked out again.

A record that was read (``record_reading``) has the bytes, the order and the chain of a log. What is left to show is
that the game in it was dealt as committed, played by its rules by those who sat there, and counted rightly; and that
this log is the one that a checkpoint of the server vouches for, and that players have receipts of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final, TypeVar
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Deciders, Fact, RuleViolation, fold, write_instant
from domain.differences import difference, short
from domain.entropy import BeaconGiven, EntropyOpened, EntropyWithheld
from domain.events import SERVER, Event, player_actor
from domain.games import DECIDERS
from domain.lifecycle import (
    Dealt,
    ExtendDeadline,
    GameCancelled,
    GameFinished,
    GameOpened,
    RunOutOfTime,
    SeedsHeldBack,
    SeedsRevealed,
    Table,
)
from domain.merkle import NotProved, leaf_hash, verify_inclusion
from domain.notes import Checkpoint, LogProof, NoteKey, NotSigned, Receipt, read_checkpoint
from domain.records import BrokenRecord, Record
from domain.tables import Join

__all__ = ["Audited", "Check", "Included", "Standing", "Wrong", "audit"]

T = TypeVar("T")


class Check(StrEnum):
    """What is checked, in the order in which it is."""

    RECORD = "record"
    """The bytes, the order and the chain of the events."""
    COMMITMENT = "commitment"
    """The seeds lead to what was committed to before the deal."""
    DEAL = "deal"
    """The cards were dealt as the seeds say."""
    COMMANDS = "commands"
    """Each command came from who may give it, and led by the rules to what is recorded."""
    RESULT = "result"
    """The scores, places and ranks are those that the game came to."""
    INCLUSION = "inclusion"
    """A signed checkpoint of the log vouches for the game's last event, and so for all before it."""
    RECEIPTS = "receipts"
    """The log is the one that players were told."""


class Standing(StrEnum):
    """What became of a check."""

    HOLDS = "holds"
    WRONG = "wrong"
    OPEN = "open"
    """It can't be told: what it needs was not given, or is not out yet."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that is wrong with a game."""

    check: Check
    line: int
    """In the file, from 1."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Included:
    """Where in the log a game's last event is."""

    index: int
    """From 0."""
    leaf: bytes
    checkpoint: Checkpoint
    """Which vouches for it."""


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit of one game found."""

    game: UUID
    kind: str
    line: int
    """Where its record begins."""
    events: int
    checks: Mapping[Check, Standing]
    wrongs: tuple[Wrong, ...]
    """The first thing wrong with the game itself, after which nothing more of it was looked at; then what is wrong with
    its place in the log, and with what players were told: these tell which side has departed."""
    remarks: tuple[str, ...]
    """Why something could not be told, and what whoever reads the report should look up or know."""
    included: Included | None
    """Where in the log it is, as far as that was shown."""

    @property
    def wrong(self) -> Wrong | None:
        """The first thing wrong."""
        return self.wrongs[0] if self.wrongs else None

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(standing is Standing.HOLDS for standing in self.checks.values())


class _Departs(Exception):
    """An event is not what it should be."""

    def __init__(self, check: Check, event: Event, message: str) -> None:
        super().__init__(message)
        self.check: Final = check
        self.event: Final = event


class _NotTold(Exception):
    """Something can't be told."""


def audit(
    record: Record,
    *,
    proofs: Sequence[LogProof] = (),
    key: NoteKey | None = None,
    receipts: Sequence[Receipt] = (),
    deciders: Deciders = DECIDERS,
) -> Audited:
    """Audit one game. It needs nothing but what it is given.

    A game that was cancelled before its deal may hold in full: nothing was dealt, so there are no cards, no result and
    no seeds to check, and every command that led there was judged. Only who was admitted to a private table stays open,
    because the invitation follows from the seed. A game under way, one whose seeds are held back, and one that never
    told its seeds stay open in all that the seeds decide, with a remark that says why: they do not hold.

    Args:
        record: the game, as ``read_each`` has read it. One with a misfit is judged up to it, with the seeds that it
            tells: what led there may be wrong already.
        proofs: that its last event is in the log; one that shows it is enough, and none leaves it open.
        key: of whoever signs the log's checkpoints, which must come from somewhere else than the proof; None where the
            game alone is to be checked.
        receipts: what players were told; those of other games are passed over.
        deciders: the rules.
    """
    own = [receipt for receipt in receipts if receipt.game == record.game]
    found = _Findings(record)
    for shown, step in (
        ((Check.COMMITMENT,), lambda: _commitment(record)),
        ((Check.DEAL, Check.COMMANDS), lambda: _judge(record, deciders)),
        ((Check.RESULT,), lambda: _result(record)),
    ):
        found.take(shown, step, asked=not found.wrongs)
    if record.misfit is not None:
        found.misfits(record.misfit)
    included = None
    if key is not None:
        included = found.take((Check.INCLUSION,), lambda: _inclusion(record, proofs, key))
    if own:
        found.take((Check.RECEIPTS,), lambda: _receipts(record, own))
    remarks = dict.fromkeys([*found.untold, *_remarks(record)])
    return Audited(
        record.game,
        record.header.kind,
        record.line,
        len(record.events),
        found.checks,
        tuple(found.wrongs),
        tuple(remarks),
        included,
    )


class _Findings:
    """What was found of one game so far."""

    def __init__(self, record: Record) -> None:
        self._record: Final = record
        self.checks: Final[dict[Check, Standing]] = {Check.RECORD: Standing.HOLDS}
        self.wrongs: Final[list[Wrong]] = []
        self.untold: Final[list[str]] = []

    def take(self, checks: tuple[Check, ...], step: Callable[[], T], *, asked: bool = True) -> T | None:
        """Note what a step shows; it is not taken where it is not asked for."""
        self.checks.update(dict.fromkeys(checks, Standing.OPEN))
        if not asked:
            return None
        try:
            shown = step()
        except _NotTold as reason:
            self.untold.append(str(reason))
            return None
        except _Departs as departs:
            self.checks[departs.check] = Standing.WRONG
            self.wrongs.append(Wrong(departs.check, self._record.line + departs.event.seq, str(departs)))
            return None
        self.checks.update(dict.fromkeys(checks, Standing.HOLDS))
        return shown

    def misfits(self, misfit: BrokenRecord) -> None:
        """Note the first event that can't follow what stands before it: nothing from there on was looked at."""
        if self.wrongs and self.wrongs[0].line < misfit.line:
            return
        for check in (Check.COMMITMENT, Check.DEAL, Check.COMMANDS, Check.RESULT):
            self.checks[check] = Standing.OPEN
        self.checks[Check.RECORD] = Standing.WRONG
        self.wrongs[:] = [Wrong(Check.RECORD, misfit.line, misfit.message)]


def _remarks(record: Record) -> Iterator[str]:
    """Say what no record proves, and what one would not see in a list of checks."""
    for event in record.events:
        match event.fact:
            case BeaconGiven(beacon=value):
                opened = _opened(record)
                name = opened.options.beacon if isinstance(opened, EntropyOpened) else None
                yield f"its beacon was to be {short(name)} and is said to be {short(value)}: look up whether it was"
            case EntropyWithheld(player=player):
                yield f"the player {player} did not reveal the entropy that was committed to, so nothing was dealt"
            case GameCancelled():
                yield "it was called off before its deal: there are no cards, no result and no seeds"


def _opened(record: Record) -> GameOpened:
    opened = record.events[0].fact
    if not isinstance(opened, GameOpened):
        raise TypeError("a record that was read begins with an opening")
    return opened


def _seeds(record: Record) -> Seeds:
    """Return the seeds that a record tells; for a game that was cancelled what was committed to and no more.

    Raises:
        _NotTold: they are not out.
        _Departs: none are told by the event that reveals them.
    """
    opened, last = _opened(record), record.events[-1].fact
    if isinstance(last, SeedsRevealed):
        if not last.seeds:
            raise _Departs(Check.COMMITMENT, record.events[-1], "it reveals no seeds: nothing was dealt")
        return Seeds.revealed(opened.deal, [bytes.fromhex(seed) for seed in last.seeds])
    if not any(isinstance(event.fact, Dealt) for event in record.events) and record.closing.over:
        return Seeds(opened.deal, [bytes.fromhex(opened.commitment)])
    if isinstance(last, SeedsHeldBack) and last.deadline is not None:
        until = write_instant(last.deadline)
        raise _NotTold(
            f"the game is over and its seeds are held back until {until}: its deal can be checked after that"
        )
    if record.closing.over:
        raise _NotTold("the game is over and its seeds are not out: it is unverifiable until they are")
    raise _NotTold("the game is under way: its deal can be checked once its seeds are out")


def _commitment(record: Record) -> None:
    seeds, opened, last = _seeds(record), _opened(record), record.events[-1]
    if opened.deal != record.game:
        raise _Departs(Check.COMMITMENT, record.events[0], "the deal is that of another game")
    if seeds.commitment.hex() != opened.commitment:
        raise _Departs(Check.COMMITMENT, last, "the seeds are not those that the first event commits to")


# The rules, once more


def _commands(events: Iterable[Event]) -> Iterator[tuple[Event, ...]]:
    """Yield the events of each command."""
    together: list[Event] = []
    for event in events:
        together.append(event)
        if event.part == event.parts:
            yield tuple(together)
            together = []


def _judge(record: Record, deciders: Deciders) -> None:
    """Make each command anew of what it led to, and decide it again."""
    opened = _opened(record)
    decider = deciders[opened.kind, opened.ruleset]
    table = decider.empty(_seeds(record))
    untold: _NotTold | None = None
    for events in _commands(record.events):
        try:
            _judge_one(decider, table, events)
        except _NotTold as reason:
            untold = reason
        if record.misfit is not None and record.line + events[-1].seq >= record.misfit.line:
            break
        table = fold(decider.evolve, table, (event.fact for event in events))
    if untold is not None:
        raise untold


def _judge_one(decider: AnyDecider, table: Any, events: Sequence[Event]) -> None:
    facts, first = tuple(event.fact for event in events), events[0]
    try:
        command = decider.command_of(facts, table)
    except (ValueError, LookupError) as error:
        message = f"no command of {decider.kind} leads to {first.fact.topic} here: {error}"
        raise _Departs(Check.COMMANDS, first, message) from None
    if first.cause.actor not in _who_may(command, table):
        message = f"{command.name} was asked for by {first.cause.actor}, who may not"
        raise _Departs(Check.COMMANDS, first, message)
    try:
        again = decider.decide(command, table, first.cause.at)
    except RuleViolation as violation:
        message = f"the rules refuse {command.name}: {violation.message} ({violation.code}, ruling {violation.ruling})"
        raise _Departs(Check.COMMANDS, first, message) from None
    except LookupError:
        if isinstance(command, Join) and not table.seeds:
            raise _NotTold(
                "the table was private and called off: who was admitted can't be checked, for its seed never comes out"
            ) from None
        message = f"by the rules {command.name} needs a card or a deal here whose seed the record does not tell"
        raise _Departs(Check.COMMANDS, first, message) from None
    except OverflowError:
        raise _Departs(Check.COMMANDS, first, "no time can be counted from when it is said to have happened") from None
    for event, fact in zip_longest(events, again):
        if event is None:
            raise _Departs(Check.COMMANDS, events[-1], f"by the rules {fact.topic} follows in the same command")
        if event.fact != fact:
            raise _Departs(_check_of(event.fact), event, difference(event.fact, fact))


def _who_may(command: Command, table: Table) -> set[str]:
    """Return the actors from whom a command may come."""
    if isinstance(command, (RunOutOfTime, ExtendDeadline)):
        return {SERVER}
    player = getattr(command, "player", None)
    if player is None and 1 <= command.seat <= len(table.players):
        player = table.players[command.seat - 1]
    return set() if player is None else {player_actor(player)}


def _check_of(fact: Fact) -> Check:
    if isinstance(fact, Dealt):
        return Check.DEAL
    return Check.RESULT if isinstance(fact, GameFinished) else Check.COMMANDS


def _result(record: Record) -> None:
    """What the result says was worked out with its command; here it is asked whether there is one."""
    _seeds(record)
    if not record.closing.over:
        raise _NotTold("the game is under way: it has no result yet")


# The log around it


def _inclusion(record: Record, proofs: Sequence[LogProof], key: NoteKey) -> Included:
    last = record.events[-1]
    leaf, why = leaf_hash(last.data), None
    for proof in proofs:
        try:
            checkpoint = read_checkpoint(proof.checkpoint, key)
            verify_inclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root)
        except (NotSigned, NotProved) as error:
            why = why or str(error)
        else:
            if proof.index >= last.seq - 1:
                return Included(proof.index, leaf, checkpoint)
            why = why or f"the events before it have no room in a log where it is number {proof.index}"
    if why is None:
        raise _NotTold("no proof was given that the log has this game: /games/GAME.tlog-proof is one")
    raise _Departs(
        Check.INCLUSION,
        last,
        f"the proof does not show that the log has this event: {why}. The record was altered, or the proof is of"
        " another log, game or time: fetch both again",
    )


def _receipts(record: Record, receipts: Sequence[Receipt]) -> None:
    later = None
    for receipt in sorted(receipts, key=lambda receipt: (receipt.version, not receipt.vouched)):
        event = record.events[min(max(receipt.version, 1), len(record.events)) - 1]
        if receipt.version < 1:
            message = f"tells of event {receipt.version}, and there is none before the first"
        elif receipt.version > len(record.events):
            message = f"tells of event {receipt.version}, and the record ends before it"
            if not record.closing.over:
                later = later or f"{_named(receipt)} {message}: take a newer record of this game"
                continue
        elif event.hash != receipt.hash:
            message = f"for event {receipt.version} has another hash: the log has departed from what was told"
        else:
            continue
        word = "" if receipt.vouched else " (it is not signed: this is the word of whoever shows it)"
        raise _Departs(Check.RECEIPTS, event, f"{_named(receipt)} {message}{word}")
    if later:
        raise _NotTold(later)


def _named(receipt: Receipt) -> str:
    whose = "a receipt that the log's key has signed" if receipt.vouched else "a receipt"
    return f"{whose}, {receipt.source}," if receipt.source else whose
