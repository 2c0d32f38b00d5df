"""Group commit: while one append is on its way to the disk the next ones gather, then go together.

An append must hold the log's lock until its commit, so that the order of the log is the order of commits. One command
at a time would then wait for each other's disk flush; many in one transaction share it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

__all__ = ["GroupCommit"]

MOST: Final = 256
"""Appends in one transaction."""

T = TypeVar("T")


class Unfinished(Exception):
    """The thread that appended for this one was ended before it was done."""


@dataclass(slots=True, eq=False)
class _Append(Generic[T]):
    """One caller's append."""

    rows: Sequence[T]
    done: bool = False
    positions: Sequence[int] = field(default=())
    error: BaseException | None = field(default_factory=Unfinished)


class GroupCommit(Generic[T]):
    """Merges the appends of many threads into few transactions.

    There is no thread of its own: whoever finds nobody at it takes all that wait, and the others find theirs done. For
    each caller it is as if he had appended alone.
    """

    def __init__(
        self, insert: Callable[[Sequence[T]], Sequence[int]], *, conflict: type[Exception], most: int = MOST
    ) -> None:
        """Take ``insert``, which appends rows in one transaction and raises ``conflict`` where one of them is taken."""
        self._insert: Final = insert
        self._conflict: Final = conflict
        self._most: Final = most
        self._waiting: Final[deque[_Append[T]]] = deque()
        self._inserting: Final = threading.Lock()

    def append(self, rows: Sequence[T]) -> Sequence[int]:
        """Append rows, with those of others; return their positions once they are on disk.

        Raises:
            Exception: what ``insert`` raised; a conflict of others is not told.
        """
        mine = _Append(rows)
        self._waiting.append(mine)
        with self._inserting:
            while not mine.done:
                self._flush([self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))])
        if mine.error is not None:
            raise mine.error
        return mine.positions

    def _flush(self, appends: Sequence[_Append[T]]) -> None:
        try:
            positions = iter(self._insert([row for append in appends for row in append.rows]))
            for append in appends:
                append.positions = [next(positions) for _ in append.rows]
                append.error = None
        except self._conflict as error:
            if len(appends) == 1:
                appends[0].error = error
            else:  # one of them: each alone then, so that the others go through
                for append in appends:
                    self._flush([append])
        except Exception as error:  # noqa: BLE001 - each caller is told what became of his append
            for append in appends:
                append.error = error
        finally:
            for append in appends:
                append.done = True
