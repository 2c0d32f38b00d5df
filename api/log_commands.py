"""``tic log``: the key that signs the log's checkpoints."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import structlog
import typer
from rich.markup import escape

from api.evidence import note_key, read_evidence
from api.settings import Settings, SettingsError, is_mounted_read_only, write_whole
from api.shell import datastore_of, err, fail, out
from api.signing import CheckpointFile, NothingSigned, Signer, Signing
from domain.notes import SigningKey
from domain.witness import Forked

__all__ = ["UNSIGNED", "log_app", "signing_of"]

UNSIGNED: Final = "No checkpoints of the log are signed: TIC_LOG_KEY_FILE is not set"
"""What is said where there is nothing to sign with."""

log_app = typer.Typer(help="The log as a whole, and its checkpoints.", no_args_is_help=True)
key_app = typer.Typer(help="The key that signs the log's checkpoints.", no_args_is_help=True)
log_app.add_typer(key_app, name="key")

_logger = structlog.get_logger(__name__)


@key_app.command("new")
def log_key_new(
    name: Annotated[
        str,
        typer.Option(help="Of the log, for everyone and for ever: a URL without its scheme, such as tic.example/log."),
    ],
    output: Annotated[Path, typer.Option(help="Write it to this new file, for its owner alone.")],
) -> None:
    """Make a new key, for the file that TIC_LOG_KEY_FILE names, and print the key that verifies what it signs."""
    try:
        key = SigningKey.new(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not write_whole(output, f"{key.written()}\n", replace=False, called="log's key file"):
        raise SettingsError(f"There is a file {output}, and it stays as it is. If it has signed checkpoints, keep it")
    sys.stdout.write(f"{key.public}\n")


@key_app.command("show")
def log_key_show() -> None:
    """Print the key that verifies the log's checkpoints: tell it to everyone, by other ways than this server."""
    key = Settings.load().log_key()
    if key is None:
        raise SettingsError("TIC_LOG_KEY_FILE names no file: checkpoints of this log are not signed here")
    sys.stdout.write(f"{key.public}\n")


@log_app.command("adopt")
def log_adopt(yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether to.")] = False) -> None:
    """Take the last checkpoint in the database for the last that was ever signed, where its copy is missing.

    Run it as the user whom servers run as, and only where you are sure: if more was signed, the log forks.
    """
    settings = Settings.load()
    key = settings.log_key()
    if key is None:
        raise SettingsError(UNSIGNED)
    copy = _copy_of(settings)
    with datastore_of(settings) as datastore:
        signer = Signer(datastore, key, copy)
        try:
            found = signer.adoptable()
            newest = _moment(found.newest) if found.newest else "an unknown time"
            err.print(f"The log has {found.events} events, the newest of {newest}.")
            err.print(f"The last checkpoint in the database is of {found.size}, signed {_moment(found.signed_at)}.")
            err.print(f"Its copy will be {escape(str(copy.path))}")
            if not yes:
                question = "Is this the newest that this log ever was: no backup, and no copy of another database?"
                typer.confirm(question, abort=True, err=True)
            signer.adopt()
        except NothingSigned as refusal:
            fail(f"{refusal}. The copy is {copy.path}")
    err.print("The copy is made. Servers sign again within seconds.")


@log_app.command("check")
def log_check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files of checkpoints that someone kept, and of answers of /log/consistency that tie them."
        ),
    ],
    key: Annotated[str, typer.Option(help="The verifier key of the log, or a file that holds it: from the operator.")],
) -> None:
    """Check that checkpoints are signed, and that the newest has grown from all others. It needs no network.

    The exit status is 0 only if all of it was shown.
    """
    try:
        witness = read_evidence(note_key(key), checkpoints=files).witness
    except OSError as error:
        fail(f"{error.filename or 'a file'} can't be read: {error.strerror or error}")
    except (ValueError, Forked) as error:
        fail(str(error))
    untied = witness.untied()
    for size in witness.sizes():
        sign = "[yellow]not shown to be the same log[/yellow]" if size in untied else "[green]the same log[/green]"
        out.print(f"{size:>12} events  {sign}")
    if not witness.sizes():
        fail("there is no checkpoint in these files")
    if untied:
        newest = witness.sizes()[-1]
        fail(f"ask for what is missing: /log/consistency?old={untied[-1]}&new={newest}, and add the answer to a file")


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def signing_of(settings: Settings) -> Signing | None:
    """Return what checkpoints are signed with; None where they are not.

    Raises:
        SettingsError: the key is missing or can't be read.
    """
    key = settings.log_key(create=True)
    if key is None:
        return None
    path = settings.log_key_path
    if path.stat().st_mode & 0o077 and not is_mounted_read_only(path):
        _logger.warning("the log's key file can be read by others than its owner: chmod 600", file=str(path))
    copy = _copy_of(settings)
    if settings.database_url is None and settings.is_within_folder(copy.path):
        _logger.warning(
            "the copy of the last checkpoint lies in the folder of the database: whoever puts back an old one puts back"
            " both, and nothing tells. Name a file elsewhere: TIC_CHECKPOINT_FILE",
            copy=str(copy.path),
        )
    return key, copy


def _copy_of(settings: Settings) -> CheckpointFile:
    path = settings.checkpoint_copy
    if settings.checkpoint_file is None:  # or the disk of the folder that was named may just not be there
        with suppress(OSError):  # whoever writes there tells
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return CheckpointFile(path)
