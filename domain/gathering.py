"""Gathering: while one batch is at work the next items gather, then go together.

An append must hold the log's lock until its commit, so that the order of the log is the order of commits. One command
at a time would then wait for each other's disk flush; many in one transaction share it (group commit), and share the
round trips to the database as well.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Generic, TypeAlias, TypeVar

__all__ = ["Gathering", "Item", "Told", "asked"]

MOST: Final = 256
"""Items in one batch."""

T = TypeVar("T")
R = TypeVar("R")

Told: TypeAlias = Callable[[R | BaseException], None]
"""Takes what becomes of an item: its result, or what it failed with. Called once, in any thread; it must not block."""


class Unfinished(Exception):
    """The work ended and said nothing of this item."""


class Item(Generic[T, R]):
    """Something to be worked on, and who is told what becomes of it."""

    __slots__ = ("_told", "accounted_for", "key", "value")

    def __init__(self, value: T, key: Hashable, told: Told[R]) -> None:
        self.value: Final = value
        self.key: Final = key
        self.accounted_for = False
        self._told: Final = told

    def end(self, result: R | BaseException) -> None:
        """Tell what became of it."""
        self.accounted_for = True
        self._told(result)

    def ended_later(self) -> None:
        """Say that the item is ended outside of its batch, which is not waited for."""
        self.accounted_for = True


def asked(ask: Callable[[Told[R]], object]) -> Future[R]:
    """Return the future of what is told to the function that ``ask`` is given."""
    answer: Future[R] = Future()

    def told(result: R | BaseException) -> None:
        if isinstance(result, BaseException):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    ask(told)
    return answer


class Gathering(Generic[T, R]):
    """Items that come from many threads, worked on in few batches.

    No two items with the same key are at work at a time; those of one key are worked on in the order of their coming.
    The threads begin with the first item and end when the object is forgotten.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item[T, R]]], None],
        *,
        key: Callable[[T], Hashable],
        most: int = MOST,
        batches: int = 1,
    ) -> None:
        """Take ``work``, which must end every item of a batch, and say how many batches may be at work at a time.

        What ``work`` raises is raised to everyone whose item it had not ended.
        """
        self._work: Final = work
        self._key: Final = key
        self._most: Final = most
        self._batches: Final = batches
        self._waiting: deque[Item[T, R]] = deque()
        self._busy: Final[set[Hashable]] = set()
        self._at_work = 0
        self._lock: Final = threading.Lock()
        self._threads: Final = ThreadPoolExecutor(batches, thread_name_prefix="tic-gathering")

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, value: T, told: Told[R]) -> None:
        """Add an item; never blocks."""
        item: Item[T, R] = Item(value, self._key(value), told)
        with self._lock:
            self._waiting.append(item)
            if self._at_work >= self._batches or item.key in self._busy:
                return
            self._at_work += 1
        try:
            self._threads.submit(self._run)
        except BaseException:  # closed, or no thread can be started: the next one tries again
            with self._lock:
                self._at_work -= 1
                self._waiting.remove(item)
            raise

    def close(self) -> None:
        """Wait until all that was submitted is ended. Nothing can be submitted any more."""
        self._threads.shutdown()

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._finish(batch)
            finally:
                self._free(batch)

    def _finish(self, batch: Sequence[Item[T, R]]) -> None:
        error: BaseException = Unfinished()
        try:
            self._work(batch)
        except BaseException as raised:  # noqa: BLE001 - whoever waits is told, whatever it was
            error = raised
        for item in batch:
            if not item.accounted_for:
                with suppress(Exception):  # of the one who is told: the others are waiting
                    item.end(error)

    def _take(self) -> list[Item[T, R]]:
        """Take the next batch, in the order of coming, at most one item for a key; none ends the thread's turn."""
        with self._lock:
            batch: list[Item[T, R]] = []
            later: list[Item[T, R]] = []
            while self._waiting and len(batch) < self._most:
                item = self._waiting.popleft()
                if item.key in self._busy:
                    later.append(item)
                else:
                    self._busy.add(item.key)
                    batch.append(item)
            self._waiting.extendleft(reversed(later))
            if not batch:
                self._at_work -= 1
            return batch

    def _free(self, batch: Iterable[Item[T, R]]) -> None:
        with self._lock:
            self._busy.difference_update(item.key for item in batch)
