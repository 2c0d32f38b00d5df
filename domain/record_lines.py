"""The lines of a file of records: bounded, counted, and looked at before they are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from domain.records import BrokenRecord

__all__ = ["LONGEST_LINE", "CountedLines", "Lines", "lines_of"]

LONGEST_LINE: Final = 16 * 1024
"""Bytes of a line, its end included: ten times what the longest event takes."""


class Lines(Protocol):
    """A file that is open for reading."""

    def readline(self, most: int, /) -> bytes:
        """Return the next line with its end, or its beginning, of that many bytes; empty at the end of the file."""


def lines_of(file: Lines) -> Iterator[bytes]:
    """Yield the lines of a file with their ends; of one that is refused for its length no more than shows that."""
    while line := file.readline(LONGEST_LINE + 1):
        yield line
        if len(line) > LONGEST_LINE:  # what is left of it is no line of its own
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE + 1)


class CountedLines:
    """Lines that are counted, and may be looked at before they are taken."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines: Final = iter(lines)
        self._peeked: bytes | None = None
        self.number = 0
        """Of the line that was taken last."""
        self.taken = b""
        """That line; empty where it was refused."""
        self.breaks_off = False
        """Whether the lines ended in an error, such as a compressed file that is cut short."""

    def peek(self) -> bytes | None:
        """Return the next line; None at the end.

        Raises:
            BrokenRecord: the lines break off here.
        """
        if self._peeked is None:
            try:
                self._peeked = next(self._lines, None)
            except BrokenRecord:
                self.breaks_off = True
                raise
        return self._peeked

    def next(self, missing: str) -> bytes:
        """Take the next line.

        Args:
            missing: what is said where there is none.

        Raises:
            BrokenRecord: there is none, it is too long, or it does not end as lines do.
        """
        line, self._peeked = self.peek(), None
        self.number += 1
        self.taken = b""
        if line is None:
            raise BrokenRecord(self.number, missing)
        if len(line) > LONGEST_LINE:
            raise BrokenRecord(self.number, f"it has more than {LONGEST_LINE} bytes")
        if not line.endswith(b"\n"):
            raise BrokenRecord(self.number, "it is cut short: a line ends with a line feed")
        if line.endswith(b"\r\n"):
            message = "it ends with CR LF, and lines of records with LF alone: take the file as it was before something"
            raise BrokenRecord(self.number, f"{message} changed its line ends")
        self.taken = line
        return line
