"""The audit of files: records held against the log, against what players were told, and against each other.

It needs no database and no network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from api.evidence import Evidence
from domain.audit import Audited, Check, Standing, Wrong, audit
from domain.merkle import HASH_BYTES
from domain.notes import Receipt
from domain.record_reading import read_each
from domain.records import BrokenRecord, Record
from domain.witness import Forked

__all__ = ["Auditor", "FileReport", "Report"]


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file."""

    file: str
    games: tuple[Audited | BrokenRecord, ...]
    """Each record, in the order of the file: audited, or refused with its first wrong line."""

    @property
    def audited(self) -> Sequence[Audited]:
        """Those that could be read."""
        return [game for game in self.games if isinstance(game, Audited)]

    @property
    def holds(self) -> bool:
        """Whether every check of every game holds."""
        return bool(self.games) and all(isinstance(game, Audited) and game.holds for game in self.games)


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit came to."""

    files: tuple[FileReport, ...]
    missing: tuple[Receipt, ...]
    """Of games that are in none of the files: a log that leaves a game out departs from them too."""
    unrecorded: tuple[UUID, ...]
    """Games whose proofs were given, and that are in none of the files."""
    receipts: int
    """How many were compared."""
    checkpoints: tuple[int, ...]
    """The sizes of those that were given or relied on."""
    untied: tuple[int, ...]
    """The sizes of those that the newest was not shown to have grown from."""
    compared: bool
    """Whether checkpoints were given to be compared."""

    @property
    def holds(self) -> bool:
        """Whether there is something, and everything about it holds."""
        return (
            bool(self.files)
            and all(report.holds for report in self.files)
            and not (self.missing or self.unrecorded or (self.compared and self.untied))
        )


class Auditor:
    """Audits files one after the other, and holds them against each other."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence: Final = evidence
        self._seen: Final[dict[UUID, _Seen]] = {}
        self._broken: Final[set[UUID]] = set()

    def audited(self, file: str, lines: Iterator[bytes]) -> Iterator[Audited | BrokenRecord]:
        """Audit the records of a file one by one; broken ones are told, and passed over."""
        for record in read_each(lines):
            if isinstance(record, BrokenRecord):
                if record.game is not None:
                    self._broken.add(record.game)
                yield record
            else:
                yield self._beside_others(file, record, self._by_itself(record))

    def _by_itself(self, record: Record) -> Audited:
        evidence, game = self._evidence, record.game
        proofs, receipts = evidence.proofs.get(game, ()), evidence.receipts.get(game, ())
        return audit(record, proofs=proofs, key=evidence.key, receipts=receipts)

    def _beside_others(self, file: str, record: Record, found: Audited) -> Audited:
        if found.included:
            checkpoint, place = found.included.checkpoint, f"{file}, line {record.line + len(record.events)}"
            try:
                self._evidence.witness.saw(checkpoint, f"the proof of {place}")
                self._evidence.witness.placed(found.included.index, found.included.leaf, f"the proof of {place}")
            except Forked as forked:
                found = _with(found, Wrong(Check.INCLUSION, record.line + len(record.events), str(forked)))
        here = _Seen(file, record.line, b"".join(bytes.fromhex(event.hash) for event in record.events))
        before = self._seen.get(record.game)
        self._seen[record.game] = max(here, before or here, key=lambda seen: len(seen.hashes))
        return found if before is None else _compared(found, here, before)

    def report(self, files: Sequence[FileReport]) -> Report:
        """Return what it all came to."""
        evidence, had = self._evidence, self._seen.keys() | self._broken
        return Report(
            tuple(files),
            tuple(receipt for game, kept in evidence.receipts.items() if game not in had for receipt in kept),
            tuple(game for game in evidence.proofs if game not in had),
            sum(len(evidence.receipts.get(game, ())) for game in self._seen),
            tuple(evidence.witness.sizes()),
            tuple(evidence.witness.untied()),
            evidence.checkpoints_given,
        )


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record that was audited."""

    file: str
    line: int
    hashes: bytes
    """Of its events, one after the other."""


def _with(found: Audited, wrong: Wrong) -> Audited:
    """Return what was found, and one thing more that is wrong; with the record itself, that comes first."""
    wrongs = (wrong, *found.wrongs) if wrong.check is Check.RECORD else (*found.wrongs, wrong)
    return replace(found, checks={**found.checks, wrong.check: Standing.WRONG}, wrongs=wrongs)


def _compared(found: Audited, here: _Seen, before: _Seen) -> Audited:
    """Return what was found, with how the record stands to an earlier one of the same game."""
    place = f"{before.file}, line {before.line}"
    for seq, (hash_, other) in enumerate(zip(_each(here.hashes), _each(before.hashes), strict=False), 1):
        if hash_ != other:
            message = f"this game is in {place}, too, with another event {seq}: one of the two is not the log's"
            return _with(found, Wrong(Check.RECORD, here.line + seq, message))
    return replace(found, remarks=(*found.remarks, f"this game is in {place}, too"))


def _each(hashes: bytes) -> Iterator[bytes]:
    return (hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))
