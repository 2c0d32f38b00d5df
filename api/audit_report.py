"""What an audit came to, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from api.auditing import Report
from domain.audit import Audited, Check, Standing
from domain.records import BrokenRecord

__all__ = ["REPORT", "shown", "told"]

REPORT: Final = "tic/audit/v1"
MOST_ROWS: Final = 100
"""Games that all have a row. Where there are more, those that hold are counted only."""

_SIGNS: Final = {
    Standing.HOLDS: ("yes", "green"),
    Standing.WRONG: ("WRONG", "bold red"),
    Standing.OPEN: ("open", "yellow"),
}


def told(report: Report) -> str:
    """Return it as JSON, for machines."""
    content = {
        "report": REPORT,
        "files": [
            {"file": file.file, "games": [_game_told(game) for game in file.games], "holds": file.holds}
            for file in report.files
        ],
        "missing": [
            {"game": str(receipt.game), "version": receipt.version, "hash": receipt.hash} for receipt in report.missing
        ],
        "unrecorded": [str(game) for game in report.unrecorded],
        "receipts": report.receipts,
        "checkpoints": list(report.checkpoints),
        "untied": list(report.untied),
        "holds": report.holds,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _game_told(game: Audited | BrokenRecord) -> dict[str, Any]:
    if isinstance(game, BrokenRecord):
        wrong = {"check": Check.RECORD, "line": game.line, "message": game.message}
        named = {"game": str(game.game), "kind": game.kind} if game.game else {}
        return {**named, "holds": False, "wrong": wrong}
    wrongs = [{"check": wrong.check, "line": wrong.line, "message": wrong.message} for wrong in game.wrongs]
    return {
        "game": str(game.game),
        "kind": game.kind,
        "line": game.line,
        "events": game.events,
        "holds": game.holds,
        "checks": dict(game.checks),
        "wrong": wrongs[0] if wrongs else None,
        "also": wrongs[1:],
        "remarks": list(game.remarks),
    }


def shown(report: Report) -> RenderableType:
    """Return it for people: a line for each game, what is wrong, and what it all comes to."""
    return Group(_table(report), *_notes(report), *_log(report), _sum(report))


def _table(report: Report) -> Table:
    checks = list(dict.fromkeys(check for file in report.files for game in file.audited for check in game.checks))
    several, games = len(report.files) > 1, sum(len(file.games) for file in report.files)
    columns = (["file"] if several else []) + ["line", "game", "kind", "events", *checks]
    table = Table(*columns, box=None, header_style="bold")
    for column in table.columns:
        column.no_wrap = True
    for file in report.files:
        name = [file.file] if several else []
        for game in file.games:
            if isinstance(game, BrokenRecord):
                table.add_row(*name, str(game.line), _short(game), game.kind or "", "", Text("WRONG", "bold red"))
            elif games <= MOST_ROWS or not game.holds:
                signs = [Text(*_SIGNS[game.checks[check]]) if check in game.checks else Text("") for check in checks]
                table.add_row(*name, str(game.line), _short(game), game.kind, str(game.events), *signs)
    return table


def _short(game: Audited | BrokenRecord) -> str:
    return str(game.game)[:8] if game.game else "-"


def _notes(report: Report) -> Iterator[Text]:
    """Say of each game what is wrong, and what its reader should know."""
    for file in report.files:
        for game in file.games:
            if isinstance(game, BrokenRecord):
                yield Text(f"{file.file}, line {game.line}: {game.message}{_of(game)}", "red")
                continue
            for wrong in game.wrongs:
                also = "" if wrong is game.wrong else "and "
                yield Text(f"{also}{file.file}, {wrong}{_of(game)}", "red")
            for remark in game.remarks:
                yield Text(f"{file.file}, line {game.line}: {remark}{_of(game)}", "yellow")
    for receipt in {receipt.game: receipt for receipt in report.missing}.values():
        place = f" ({receipt.source})" if receipt.source else ""
        yield Text(f"There are receipts of game {receipt.game}{place}, and none of the files has it.", "red")
    for unrecorded in report.unrecorded:
        yield Text(f"There is a proof of game {unrecorded}, and none of the files has it.", "red")


def _of(game: Audited | BrokenRecord) -> str:
    return f" (game {game.game})" if game.game else ""


def _log(report: Report) -> Iterator[Text]:
    """Say what was known of the log as a whole."""
    if not report.checkpoints:
        return
    sizes = ", ".join(map(str, report.checkpoints[-5:]))
    more = f"{len(report.checkpoints) - 5} smaller ones, " if len(report.checkpoints) > 5 else ""
    yield Text(f"Checkpoints of the log: {more}{sizes} events.")
    if report.untied:
        untied = ", ".join(map(str, report.untied[-5:]))
        yield Text(
            f"That the log of {report.checkpoints[-1]} events has grown from those of {untied} was not shown:"
            " /log/consistency?old=N&new=M gives the proofs, for --checkpoints.",
            "red" if report.compared else "yellow",
        )


def _sum(report: Report) -> Text:
    records = [game for file in report.files for game in file.games]
    hold = sum(isinstance(game, Audited) and game.holds for game in records)
    wrong = sum(isinstance(game, BrokenRecord) or game.wrong is not None for game in records)
    left = len(records) - hold - wrong
    receipts = f" Receipts compared: {report.receipts}." if report.receipts else ""
    if report.holds:
        games = len({game.game for file in report.files for game in file.audited})
        twice = "" if games == len(records) else f", in {len(records)} records"
        return Text(f"Everything holds: {games} of {games} games{twice}.{receipts}", "bold green")
    missing = len({receipt.game for receipt in report.missing} | set(report.unrecorded))
    words = f"Records: {len(records)}. Everything holds: {hold}. Something is wrong: {wrong}. Can't be told: {left}."
    words += f" Games that are missing: {missing}." if missing else ""
    return Text(words + receipts, "bold red" if wrong or missing else "bold yellow")
