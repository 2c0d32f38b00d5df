"""Files of records: many games in one, compressed where the name ends in ``.gz``."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, Final

from domain.record_lines import lines_of
from domain.records import BrokenRecord

__all__ = ["STANDARD_INPUT", "lines_in", "size_of", "writing"]

STANDARD_INPUT: Final = Path("-")
"""How a command is told to read what comes in."""


@contextmanager
def writing(path: Path | None) -> Iterator[Callable[[Iterable[bytes]], None]]:
    """Yield what writes lines to a file, which is there whole in the end or not at all; or to the standard output."""
    if path is None:
        yield sys.stdout.buffer.writelines
        sys.stdout.buffer.flush()
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            # Without its name and time, so that the same games are the same bytes.
            packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if _is_compressed(path) else nullcontext(file)
            with packed as inner:
                yield inner.writelines
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def lines_in(path: Path) -> Iterator[tuple[Iterator[bytes], Callable[[], int]]]:
    """Yield the lines of a file, and what tells how many of its bytes have been read.

    Args:
        path: the file, which may be a pipe; ``-`` for the standard input.

    Raises:
        OSError: the file can't be read.
    """
    with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb") as file:
        counted = _Counted(file)
        if not _is_compressed(path):
            yield lines_of(counted), counted.count
            return
        with gzip.GzipFile("", "rb", fileobj=counted) as unpacked:
            yield _unpacked(unpacked), counted.count


def size_of(path: Path) -> int | None:
    """Return how many bytes there are to be read of a file; None where that is not known, as of a pipe.

    Raises:
        OSError: there is no such file.
    """
    if path == STANDARD_INPUT:
        return None
    told = path.stat()
    return told.st_size if stat.S_ISREG(told.st_mode) else None


class _Counted:
    """A file whose bytes are counted as they are read: a pipe does not tell where it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file: Final = file
        self._read = 0

    def count(self) -> int:
        """Return how many bytes have been read."""
        return self._read

    def read(self, most: int = -1, /) -> bytes:
        """Read some bytes, as files do."""
        return self._taken(self._file.read(most))

    def readline(self, most: int = -1, /) -> bytes:
        """Read a line, as files do."""
        return self._taken(self._file.readline(most))

    def seek(self, _to: int, /) -> int:
        """Refuse to go back, as a pipe does."""
        raise OSError(errno.ESPIPE, os.strerror(errno.ESPIPE))

    def _taken(self, data: bytes) -> bytes:
        self._read += len(data)
        return data


def _unpacked(file: gzip.GzipFile) -> Iterator[bytes]:
    number, lines = 1, lines_of(file)
    while True:
        try:
            line = next(lines, None)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise BrokenRecord(number, "the file is not compressed as .gz files are, or is cut short here") from None
        if line is None:
            return
        yield line
        number += 1


def _is_compressed(path: Path) -> bool:
    return path.suffix == ".gz"
