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
from typing import Any, Final
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Deciders, Fact, RuleViolation, fold, write_instant
from domain.events import SERVER, Event, player_actor
from domain.games import DECIDERS
from domain.lifecycle import (
    Dealt,
    ExtendDeadline,
    GameFinished,
    GameOpened,
    RunOutOfTime,
    SeedsHeldBack,
    SeedsRevealed,
    Table,
)
from domain.merkle import NotProved, leaf_hash, verify_inclusion
from domain.notes import LogProof, NoteKey, NotSigned, Receipt, read_checkpoint
from domain.records import Record, stored_form
from domain.tables import Join

__all__ = ["Audited", "Check", "Standing", "Wrong", "audit"]


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
    """The first thing that is wrong with a game."""

    check: Check
    line: int
    """In the file, from 1."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit of one game found."""

    game: UUID
    kind: str
    line: int
    """Where its record begins."""
    events: int
    checks: Mapping[Check, Standing]
    wrong: Wrong | None
    """The first thing wrong; what comes after it was not looked at."""
    remarks: tuple[str, ...]
    """Why something could not be told."""

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
    proof: LogProof | None = None,
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
        record: the game, as ``read_records`` has read it.
        proof: that its last event is in the log; None leaves that open.
        key: of whoever signs the log's checkpoints, which must come from somewhere else than the proof; None where the
            game alone is to be checked.
        receipts: what players were told; those of other games are passed over.
        deciders: the rules.
    """
    own = [receipt for receipt in receipts if receipt.game == record.game]
    steps: list[tuple[tuple[Check, ...], Callable[[], None]]] = [
        ((Check.COMMITMENT,), lambda: _commitment(record)),
        ((Check.DEAL, Check.COMMANDS), lambda: _judge(record, deciders)),
        ((Check.RESULT,), lambda: _result(record)),
        *[((Check.INCLUSION,), lambda: _inclusion(record, proof, key))] * (key is not None),
        *[((Check.RECEIPTS,), lambda: _receipts(record, own))] * bool(own),
    ]
    checks = {Check.RECORD: Standing.HOLDS} | {check: Standing.OPEN for shown, _ in steps for check in shown}
    wrong: Wrong | None = None
    remarks: list[str] = []
    for shown, step in steps:
        try:
            step()
        except _NotTold as reason:
            remarks.append(str(reason))
            continue
        except _Departs as departs:
            checks[departs.check] = Standing.WRONG
            wrong = Wrong(departs.check, record.line + departs.event.seq, str(departs))
            break
        checks |= dict.fromkeys(shown, Standing.HOLDS)
    return Audited(
        record.game, record.header.kind, record.line, len(record.events), checks, wrong, tuple(dict.fromkeys(remarks))
    )


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
            raise _Departs(_check_of(event.fact), event, _difference(event.fact, fact))


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


def _difference(told: Fact, right: Fact | None) -> str:
    """Say in what a fact that is told differs from the right one."""
    if right is None:
        return f"{told.topic} does not follow from the command by the rules"
    if type(told) is not type(right):
        return f"it tells of {told.topic}, and by the rules {right.topic} stands here"
    says, should = told.model_dump(mode="json"), right.model_dump(mode="json")
    field = next(name for name in should if says[name] != should[name])
    return f"{field} of {told.topic} is {_short(says[field])}, and by the rules it is {_short(should[field])}"


def _short(value: Any) -> str:
    text = stored_form(value).decode()
    return text if len(text) <= 200 else f"{text[:200]} ..."


def _result(record: Record) -> None:
    """What the result says was worked out with its command; here it is asked whether there is one."""
    _seeds(record)
    if not record.closing.over:
        raise _NotTold("the game is under way: it has no result yet")


# The log around it


def _inclusion(record: Record, proof: LogProof | None, key: NoteKey | None) -> None:
    last = record.events[-1]
    if proof is None or key is None:
        raise _NotTold("no proof was given that the log has this game: /games/GAME.tlog-proof is one")
    try:
        checkpoint = read_checkpoint(proof.checkpoint, key)
        verify_inclusion(leaf_hash(last.data), proof.index, checkpoint.size, proof.path, checkpoint.root)
    except (NotSigned, NotProved) as error:
        message = f"the proof does not show that the log has this event: {error}"
        raise _Departs(Check.INCLUSION, last, message) from None


def _receipts(record: Record, receipts: Sequence[Receipt]) -> None:
    for receipt in sorted(receipts, key=lambda receipt: (receipt.version, not receipt.vouched)):
        if not 1 <= receipt.version <= len(record.events):
            event, message = record.events[-1], f"tells of event {receipt.version}, and the record ends before it"
        elif (event := record.events[receipt.version - 1]).hash != receipt.hash:
            message = f"for event {receipt.version} has another hash: the log has departed from what was told"
        else:
            continue
        whose = "a receipt that the log's key has signed" if receipt.vouched else "a receipt"
        word = "" if receipt.vouched else " (it is not signed: this is the word of whoever shows it)"
        raise _Departs(Check.RECEIPTS, event, f"{whose} {message}{word}")
