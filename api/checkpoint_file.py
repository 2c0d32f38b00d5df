"""The copy of the last checkpoint outside the database, and how it is said that nothing is signed.

A database that was restored from a backup believes what it believed then. This file does not, where no backup of the
database puts it back as well.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from api.settings import put_whole
from domain.notes import LONGEST_NOTE

__all__ = ["CheckpointFile", "NothingSigned", "NothingYet"]

CALLED: Final = "The copy of the last checkpoint outside the database"
"""In what everyone is told. Where it lies is the operator's matter."""


class NothingSigned(Exception):
    """Nothing is signed; the message says why and what to do. Strangers read it too: it names no path."""


class NothingYet(NothingSigned):
    """Nothing is signed as yet; it takes nothing but time."""


class CheckpointFile:
    """The copy of the last checkpoint that is not in the database. Where it is a symbolic link, that stays one."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def read(self) -> str | None:
        """Return the note; None where there is no file.

        Raises:
            NothingSigned: it can't be read.
        """
        try:
            with open(os.path.realpath(self.path), "rb", opener=_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise NothingSigned(f"{CALLED} is not a file. Name one: TIC_CHECKPOINT_FILE")
                content = file.read(LONGEST_NOTE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NothingSigned(f"{CALLED} can't be read: {_reason(error)}") from None
        if len(content) > LONGEST_NOTE:
            raise NothingSigned(f"{CALLED} is longer than a checkpoint can be. Name another file: TIC_CHECKPOINT_FILE")
        try:
            return content.decode()
        except UnicodeError:
            raise NothingSigned(f"{CALLED} is no checkpoint: it is not UTF-8") from None

    def write(self, note: str) -> None:
        """Put a note in the place of the last one, on disk, whole or not at all.

        Raises:
            NothingSigned: it can't be written.
        """
        try:
            put_whole(Path(os.path.realpath(self.path)), note, replace=True)
        except OSError as error:
            told = f"{CALLED} can't be written: {_reason(error)}"
            raise NothingSigned(f"{told}. Name a file that this server may write: TIC_CHECKPOINT_FILE") from None


def _at_once(path: str, flags: int) -> int:
    """Open what may be no file, without waiting for anybody at its other end and without making it our terminal."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _reason(error: OSError) -> str:
    """Say what an error is, and neither where nor whose the file is."""
    return os.strerror(error.errno or errno.EIO)
