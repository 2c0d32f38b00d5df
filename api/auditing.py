"""The audit of files: records in, a report out, for people and for machines. It needs no database and no network."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from api.ids import game_of
from domain.audit import Audited, Check, Receipt, Standing, audit
from domain.notes import LogProof, NoteKey, read_proofs
from domain.record_reading import read_each
from domain.records import BrokenRecord

__all__ = ["REPORT", "FileReport", "audited", "read_proof_files", "read_receipts", "shown", "told", "unmet"]

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


def audited(
    lines: Iterator[bytes], *, key: NoteKey | None, proofs: Mapping[UUID, LogProof], receipts: Sequence[Receipt]
) -> Iterator[Audited | BrokenRecord]:
    """Audit the records of a file one by one; broken ones are told, and passed over."""
    told_of = defaultdict[UUID, list[Receipt]](list)
    for receipt in receipts:
        told_of[receipt.game].append(receipt)
    for record in read_each(lines):
        if isinstance(record, BrokenRecord):
            yield record
        else:
            yield audit(record, proof=proofs.get(record.game), key=key, receipts=told_of.get(record.game, ()))


def unmet(reports: Sequence[FileReport], receipts: Sequence[Receipt]) -> list[Receipt]:
    """Return the receipts of games that none of the files has: a log that leaves a game out departs from them too."""
    had = {game.game for report in reports for game in _audited(report)}
    return [receipt for receipt in receipts if receipt.game not in had]


# What an auditor brings


def read_proof_files(files: Sequence[Path]) -> dict[UUID, LogProof]:
    """Read files of proofs, each of which names its game in the `extra` line.

    Raises:
        OSError: a file can't be read.
        ValueError: it holds something else than proofs.
    """
    found: dict[UUID, LogProof] = {}
    for file in files:
        try:
            for proof in read_proofs(file.read_text(encoding="utf-8")):
                found[_game_named(proof)] = proof
        except UnicodeDecodeError:
            raise ValueError(f"{file}: this is not a proof: it is not text") from None
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    return found


def _game_named(proof: LogProof) -> UUID:
    try:
        return UUID(proof.extra.decode("ascii"))
    except ValueError:
        raise ValueError("this proof does not name its game: `extra` is the game's UUID, in base64") from None


class _Told(BaseModel):
    """A receipt as a client kept it."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    game: str
    version: int
    hash: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


def read_receipts(file: Path) -> list[Receipt]:
    """Read receipts, a JSON object a line: `game` (an id or a UUID), `version` and `hash`, as a client was answered.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is no receipt.
    """
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                told = _Told.model_validate_json(line)
                found.append(Receipt(game_of(told.game), told.version, told.hash))
            except (ValidationError, ValueError):
                wanted = '{"game": "...", "version": 12, "hash": "..."}'
                raise ValueError(f"{file}, line {number}: this is not a receipt, which looks like {wanted}") from None
    return found


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
    games = [game for report in reports for game in report.games]
    hold = sum(isinstance(game, Audited) and game.holds for game in games)
    wrong = sum(isinstance(game, BrokenRecord) or game.wrong is not None for game in games)
    left = len(games) - hold - wrong
    if games and hold == len(games) and not missed:
        return Text(f"Everything holds: {hold} of {len(games)} games.", "bold green")
    words = f"Games: {len(games)}. Everything holds: {hold}. Something is wrong: {wrong}. Not all can be told: {left}."
    return Text(words, "bold red" if wrong or missed else "bold yellow")
