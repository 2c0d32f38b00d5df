"""Files of records: many games in one, compressed where the name ends in ``.gz``."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from domain.record_reading import lines_of
from domain.records import BrokenRecord

__all__ = ["lines_in", "writing"]


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

    Raises:
        OSError: the file can't be read.
    """
    with path.open("rb") as file:
        if not _is_compressed(path):
            yield lines_of(file), file.tell
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield _unpacked(unpacked), file.tell


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
