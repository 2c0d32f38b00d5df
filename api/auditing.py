"""The audit of files: records in, a report out, for people and for machines. It needs no database and no network."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from domain.audit import Audited, Check, Standing, Wrong, audit
from domain.merkle import HASH_BYTES
from domain.notes import LogProof, NoteKey, Receipt
from domain.record_reading import read_each
from domain.records import BrokenRecord

__all__ = ["REPORT", "Auditor", "FileReport", "shown", "told"]

REPORT: Final = "tic/audit/v1"

_SIGNS: Final = {
    Standing.HOLDS: ("yes", "green"),
    Standing.WRONG: ("WRONG", "bold red"),
    Standing.OPEN: ("open", "yellow"),
}


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file."""

    file: str
    games: tuple[Audited | BrokenRecord, ...]
    """Each record, in the order of the file: audited, or refused with its first wrong line."""

    @property
    def holds(self) -> bool:
        """Whether every check of every game holds."""
        return bool(self.games) and all(isinstance(game, Audited) and game.holds for game in self.games)


class Auditor:
    """Audits files one after the other, and what they hold against each other."""

    def __init__(
        self, *, key: NoteKey | None = None, proofs: Mapping[UUID, LogProof], receipts: Sequence[Receipt] = ()
    ) -> None:
        """Take what the audit of each game takes (``audit``): of all games."""
        self._key: Final = key
        self._proofs: Final = proofs
        self._receipts: Final = defaultdict[UUID, list[Receipt]](list)
        for receipt in receipts:
            self._receipts[receipt.game].append(receipt)
        self._seen: Final[dict[UUID, _Seen]] = {}

    def audited(self, file: str, lines: Iterator[bytes]) -> Iterator[Audited | BrokenRecord]:
        """Audit the records of a file one by one; broken ones are told, and passed over."""
        for record in read_each(lines):
            if isinstance(record, BrokenRecord):
                yield record
                continue
            game = record.game
            found = audit(record, proof=self._proofs.get(game), key=self._key, receipts=self._receipts.get(game, ()))
            seen = _Seen(file, record.line, b"".join(bytes.fromhex(event.hash) for event in record.events))
            yield _compared(found, seen, before) if (before := self._seen.get(game)) else found
            self._seen[game] = max(seen, before or seen, key=lambda seen: len(seen.hashes))

    def unmet(self) -> list[Receipt]:
        """Return the receipts of games that no file has had: a log that leaves a game out departs from them too."""
        return [receipt for game, kept in self._receipts.items() if game not in self._seen for receipt in kept]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record that was audited."""

    file: str
    line: int
    hashes: bytes
    """Of its events, one after the other."""


def _compared(found: Audited, here: _Seen, before: _Seen) -> Audited:
    """Return what an audit has found, with how the record stands to an earlier one of the same game."""
    place = f"{before.file}, line {before.line}"
    for seq, (hash_, other) in enumerate(zip(_each(here.hashes), _each(before.hashes), strict=False), 1):
        if hash_ != other:
            message = f"this game is in {place}, too, with another event {seq}: one of the two is not the log's"
            wrong = Wrong(Check.RECORD, here.line + seq, message)
            return replace(found, checks={**found.checks, Check.RECORD: Standing.WRONG}, wrong=wrong)
    return replace(found, remarks=(*found.remarks, f"this game is in {place}, too"))


def _each(hashes: bytes) -> Iterator[bytes]:
    return (hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))


# The report


def told(reports: Sequence[FileReport], missed: Sequence[Receipt] = ()) -> str:
    """Return the report as JSON, for machines; with the receipts of games that are in none of the files."""
    files = [
        {"file": report.file, "games": [_game_told(game) for game in report.games], "holds": report.holds}
        for report in reports
    ]
    holds = bool(reports) and not missed and all(report.holds for report in reports)
    missing = [{"game": str(receipt.game), "version": receipt.version, "hash": receipt.hash} for receipt in missed]
    report = {"report": REPORT, "files": files, "missing": missing, "holds": holds}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _game_told(game: Audited | BrokenRecord) -> dict[str, Any]:
    if isinstance(game, BrokenRecord):
        return {"holds": False, "wrong": {"check": Check.RECORD, "line": game.line, "message": game.message}}
    wrong = game.wrong
    return {
        "game": str(game.game),
        "kind": game.kind,
        "line": game.line,
        "events": game.events,
        "holds": game.holds,
        "checks": dict(game.checks),
        "wrong": {"check": wrong.check, "line": wrong.line, "message": wrong.message} if wrong else None,
        "remarks": list(game.remarks),
    }


def shown(reports: Sequence[FileReport], missed: Sequence[Receipt] = ()) -> RenderableType:
    """Return the report for people: a line for each game, what is wrong, and what it comes to; as ``told``."""
    checks = list(dict.fromkeys(check for report in reports for game in _audited(report) for check in game.checks))
    table = Table("line", "game", "kind", "events", *checks, box=None, header_style="bold")
    notes: list[Text] = []
    for report in reports:
        for game in report.games:
            if isinstance(game, BrokenRecord):
                table.add_row(str(game.line), "-", "", "", Text("WRONG", "bold red"))
                notes.append(Text(f"{report.file}, line {game.line}: {game.message}", "red"))
                continue
            signs = [Text(*_SIGNS[game.checks[check]]) if check in game.checks else Text("") for check in checks]
            table.add_row(str(game.line), str(game.game)[:8], game.kind, str(game.events), *signs)
            if game.wrong:
                notes.append(Text(f"{report.file}, {game.wrong} (game {game.game})", "red"))
            notes += [Text(f"{report.file}, line {game.line}: {remark}", "yellow") for remark in game.remarks]
    games = dict.fromkeys(receipt.game for receipt in missed)
    notes += [Text(f"There are receipts of game {game}, and none of the files has it.", "red") for game in games]
    return Group(table, *notes, _sum(reports, missed))


def _audited(report: FileReport) -> list[Audited]:
    return [game for game in report.games if isinstance(game, Audited)]


def _sum(reports: Sequence[FileReport], missed: Sequence[Receipt]) -> Text:
    records = [game for report in reports for game in report.games]
    hold = sum(isinstance(game, Audited) and game.holds for game in records)
    wrong = sum(isinstance(game, BrokenRecord) or game.wrong is not None for game in records)
    left = len(records) - hold - wrong
    if records and hold == len(records) and not missed:
        games = len({game.game for report in reports for game in _audited(report)})
        twice = "" if games == len(records) else f", in {len(records)} records"
        return Text(f"Everything holds: {games} of {games} games{twice}.", "bold green")
    words = (
        f"Records: {len(records)}. Everything holds: {hold}. Something is wrong: {wrong}. Not all can be told: {left}."
    )
    return Text(words, "bold red" if wrong or missed else "bold yellow")
