"""``tic log``: the key that signs the log's checkpoints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import structlog
import typer

from api.app import Signing
from api.settings import Settings, SettingsError, is_mounted_read_only, write_whole
from api.signing import CheckpointFile
from domain.notes import SigningKey

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
    return key, CheckpointFile(settings.checkpoint_copy)
