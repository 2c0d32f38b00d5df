"""``tic export``, ``import``, ``replay`` and ``audit``: games as records, from the log, into it, and by themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Final, NoReturn
from uuid import UUID

import typer
from rich.console import Console
from rich.markup import escape

from api.accounts import Accounts, display_name
from api.archives import STANDARD_INPUT, lines_in, size_of, writing
from api.audit_report import shown, told
from api.auditing import Auditor, FileReport
from api.evidence import note_key, read_evidence
from api.ids import game_of
from api.proving import LogUnproved, NotYetSigned, Prover
from api.settings import Settings
from api.shell import datastore_of, err, fail, out, progress_bar
from api.viewpoints import ReplayView
from domain.archive import HeldOtherwise, events_up_to, holds, take_in
from domain.audit import Audited
from domain.decider import Names
from domain.events import Event
from domain.games import FACT_TYPES, RULESETS
from domain.lifecycle import GameOpened, PlayerSeated
from domain.notes import Checkpoint
from domain.record_reading import read_record, read_records
from domain.records import BrokenRecord, Record, write_record
from domain.storage import EventRecorder, log_end
from domain.telling import NOBODY_NAMED
from domain.witness import Forked

__all__ = ["record_app"]

record_app = typer.Typer()


def _game(text: str) -> UUID:
    try:
        return game_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}, or the game's UUID") from None


@record_app.command("export")
def export_records(
    games: Annotated[
        list[UUID] | None, typer.Argument(parser=_game, help="The games' ids or UUIDs.", metavar="[GAME]...")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every game of the log.")] = False,
    kind: Annotated[str | None, typer.Option(help=f"Only games of this kind: {', '.join(RULESETS)}.")] = None,
    label: Annotated[str | None, typer.Option(help="Only games that bear this label.")] = None,
    since: Annotated[
        int | None, typer.Option(min=0, help="Only games with an event after this position in the log; each whole.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file instead of printing; compressed if its name ends in .gz.")
    ] = None,
    proofs: Annotated[
        Path | None, typer.Option(help="Write to this file the proofs that the signed log has them, for `tic audit`.")
    ] = None,
) -> None:
    """Write games as records, in the order of the log: lines of JSON with the exact bytes of every event."""
    if bool(games) == (every or not (since is None and kind is None and label is None)):
        raise typer.BadParameter(
            "name the games, or ask for --all of them, those of a --kind, with a --label, or --since a position"
        )
    if kind not in (None, *RULESETS):
        raise typer.BadParameter(f"there is no kind {kind!r}; there are: {', '.join(RULESETS)}")
    topics = [fact.topic for fact in FACT_TYPES.values() if issubclass(fact, GameOpened) and kind in (None, fact.kind)]
    with datastore_of(Settings.load()) as datastore:
        recorder, events = EventRecorder(datastore), 0
        with datastore.transaction() as cursor:
            end = log_end(cursor)  # before the list is made, so that whatever comes after is after it
        found = recorder.opened(topics, changed_after=since or 0, among=games, label=label)
        if missing := set(games or ()).difference(found):
            fail(f"there is no game {', '.join(sorted(map(str, missing)))}")
        proved = _Proofs(Prover(datastore, refusal=lambda: None, key=None))
        with (
            writing(output) as write,
            writing(proofs) if proofs else nullcontext() as write_proof,
            progress_bar() as progress,
        ):
            for game in progress.track(found, description="Exporting games"):
                if last := recorder.newest(game):
                    write(write_record(events_up_to(last, recorder.span)))
                    events += last.seq
                    if write_proof:
                        write_proof(proved.of(last))
    err.print(f"Games: {len(found)}. Events: {events}. For what comes later: --since {end}")
    if proofs:
        err.print(proved.told())


class _Proofs:
    """Proofs of games, and how many have none."""

    def __init__(self, prover: Prover) -> None:
        self._prover: Final = prover
        self._signed: tuple[Checkpoint, str] | None = None
        """The checkpoint under which all are proved: the one that is the newest at the first."""
        self._proved = self._unsigned = 0

    def of(self, last: Event) -> Iterator[bytes]:
        """Yield the proof of a game's last event, where the checkpoint covers it."""
        try:
            self._signed = self._signed or self._prover.newest()
            proof = self._prover.proof(last.game, last.seq, self._signed)
        except NotYetSigned:
            self._unsigned += 1
        except LogUnproved as error:
            fail(str(error))
        else:
            self._proved += 1
            yield str(proof).encode()

    def told(self) -> str:
        """Say how many there are."""
        said = f"Proofs: {self._proved}."
        if not self._unsigned:
            return said
        return (
            f"{said} Not covered by a checkpoint yet: {self._unsigned}. One is signed every few seconds by a running"
            " server that has the log's key: export again then"
        )


@record_app.command("import")
def import_records(files: Annotated[list[Path], typer.Argument(help="Files of records; .gz if compressed.")]) -> None:
    """Take the games of records into the store, for reading and replaying.

    A file is checked whole before any of it is taken in. A game that the store holds already is passed over if it has
    every event of the record; if not, the file is refused.
    """
    with datastore_of(Settings.load()) as datastore:
        recorder = EventRecorder(datastore)
        for file in files:
            taken: list[bool] = []
            try:
                if size_of(file) is None:
                    fail(f"{file} is no file that can be read twice, as an import does: save what comes in first")
                for record in _records(file, "Checking"):
                    holds(recorder, record)
                taken += take_in(recorder, _records(file, "Importing"))
            except OSError as error:
                fail(f"{file} can't be read: {error.strerror or error}")
            except BrokenRecord as error:
                fail(f"{file}, {error}")
            except HeldOtherwise as error:
                fail(f"{file}, line {error.record.line}: {error}")
            err.print(f"{file}: games taken in: {sum(taken)}; here already: {taken.count(False)}.", markup=False)


def _records(file: Path, doing: str) -> Iterator[Record]:
    with lines_in(file) as (lines, position), progress_bar() as progress:
        task = progress.add_task(f"{doing} {escape(file.name)}", total=size_of(file))
        for record in read_records(lines):
            progress.update(task, completed=position())
            yield record
        progress.update(task, completed=position())


@record_app.command("replay")
def replay(
    game: Annotated[
        str,
        typer.Argument(
            help="A file with one record (.gz if compressed), - for one that comes in, or a game's id or UUID.",
            metavar="FILE|GAME",
        ),
    ],
    seen_as: Annotated[
        ReplayView,
        typer.Option(
            "--as", case_sensitive=False, help="Whose eyes it is seen with; others than PUBLIC's once it is over."
        ),
    ] = ReplayView.PUBLIC,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print a sentence for each event, as where there is no terminal.")
    ] = False,
    notation: Annotated[bool, typer.Option("--notation", help="Print the game in short: docs/notation.md.")] = False,
    pace: Annotated[
        float, typer.Option(min=0.05, max=60, help="Seconds for each position where it plays by itself.")
    ] = 1.0,
) -> None:
    """Play a game again in a terminal, forwards and backwards: a record, or a game of the log.

    The last line says whether its seeds prove it.
    """
    from api.faults import Fault
    from api.replaying import HAS_KEYS, Reel, keyboard, watch

    try:
        events, names = _told_of(game)
        reel = Reel(events, seen_as, names)
    except Fault as error:
        fail(error.message)
    screen = Console(highlight=False)
    if notation:
        out.print(*reel.notation(), "", reel.verdict, sep="\n", markup=False)
    elif plain or not screen.is_terminal or screen.is_dumb_terminal:
        for seq in range(1, len(reel) + 1):
            out.print(f"{seq:>4}  {reel.words(seq)}", markup=False)
        out.print("", reel.verdict, sep="\n", markup=False)
    elif not HAS_KEYS:
        fail("there are no keys to be read on Windows: ask for --plain or --notation")
    else:
        try:
            with keyboard() as keys:
                watch(reel, screen, keys, pace=pace)
        except OSError as error:
            fail(f"no keys can be read here ({error.strerror or error}): ask for --plain or --notation")


@record_app.command("audit")
def audit_records(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files of records, and of proofs (.tlog-proof); .gz if packed; - for what comes in."),
    ],
    key: Annotated[
        str | None, typer.Option(help="The verifier key of the log, or a file that holds it: from the operator.")
    ] = None,
    proofs: Annotated[
        list[Path] | None, typer.Option(help="More files of proofs that the log has these games, whatever their names.")
    ] = None,
    receipts: Annotated[
        list[Path] | None,
        typer.Option(help="Files of receipts that players kept: as signed, or JSON: `game`, `version` and `hash`."),
    ] = None,
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option(help="Files of checkpoints that someone kept, and of answers of /log/consistency that tie them."),
    ] = None,
    without_log: Annotated[bool, typer.Option(help="Check the games alone, not that a signed log has them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a report for machines.")] = False,
) -> None:
    """Check games from their records alone: the chain, the deal, every move by the rules, the result, the log's proof.

    It needs no database and no network. The exit status is 0 only if everything holds, and 1 if something is wrong or
    can't be told. A game that was called off before its deal holds, but for who was admitted to a private table.
    """
    given = [*(proofs or []), *(file for file in files if _holds_proofs(file))]
    records = [file for file in files if not _holds_proofs(file)]
    if without_log == (key is not None) or (without_log and (given or checkpoints)):
        raise typer.BadParameter("give the log's --key and the games' proofs, or say --without-log")
    if not records:
        raise typer.BadParameter("name at least one file of records beside the proofs")
    trusted = None if key is None else note_key(key)
    try:
        auditor = Auditor(read_evidence(trusted, proofs=given, receipts=receipts or [], checkpoints=checkpoints or []))
        report = auditor.report([_audited(file, auditor) for file in records])
    except OSError as error:
        _cannot_read(error)
    except (ValueError, Forked) as error:
        fail(str(error))
    if as_json:
        sys.stdout.write(told(report))
    else:
        # A file has no width, and whatever reads it no patience for words cut short.
        wide = out if out.is_terminal else Console(highlight=False, soft_wrap=True, width=240)
        wide.print(shown(report))
    raise typer.Exit(0 if report.holds else 1)


def _holds_proofs(file: Path) -> bool:
    return file.name.removesuffix(".gz").endswith(".tlog-proof")


def _audited(file: Path, auditor: Auditor) -> FileReport:
    found: list[Audited | BrokenRecord] = []
    with lines_in(file) as (lines, position), progress_bar() as progress:
        task = progress.add_task(f"Auditing {escape(file.name)}", total=size_of(file))
        for game in auditor.audited(str(file), lines):
            found.append(game)
            progress.update(task, completed=position())
        progress.update(task, completed=position())
    return FileReport(str(file), tuple(found))


def _cannot_read(error: OSError) -> NoReturn:
    fail(f"{error.filename or 'a file'} can't be read: {error.strerror or error}")


def _told_of(game: str) -> tuple[Sequence[Event], Names]:
    """Return all events of the game that a record holds, or the log; of the log, with what its seats are called."""
    try:
        if (file := Path(game)) == STANDARD_INPUT or file.is_file():
            with lines_in(file) as (lines, _):
                return read_record(lines).events, NOBODY_NAMED
    except BrokenRecord as error:
        fail(f"{'the record' if game == '-' else game}, {error}")
    except OSError as error:
        fail(f"{game} can't be read: {error.strerror or error}")
    try:
        id_ = game_of(game)
    except ValueError:
        fail(f"{game} is neither a file nor the id of a game")
    with datastore_of(Settings.load()) as datastore:
        recorder = EventRecorder(datastore)
        last = recorder.newest(id_)
        if last is None:
            fail(f"there is no game {game}")
        events = tuple(events_up_to(last, recorder.span))
        return events, _names_in(events, Accounts(datastore))


def _names_in(events: Iterable[Event], accounts: Accounts) -> Names:
    """Return what the seats of a game are called: those who erased their names by a pseudonym."""
    seated = {event.fact.seat: event.fact.player for event in events if isinstance(event.fact, PlayerSeated)}
    known = accounts.players(set(seated.values()))
    return {seat: display_name(player, known.get(player)) for seat, player in seated.items()}
