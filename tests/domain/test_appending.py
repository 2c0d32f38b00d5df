"""Group commit: many appends in one transaction, each as if it were alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from domain.appending import GroupCommit, _Append


class Taken(Exception):
    """A row stands there already."""


class Log:
    """A log of numbers, each of which it takes once. It holds the first append until it is told to go on."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.batches: list[list[int]] = []
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.broken = False

    def insert(self, rows: Sequence[int]) -> Sequence[int]:
        self.entered.set()
        assert self.go_on.wait(10)
        self.batches.append(list(rows))
        if self.broken:
            raise ConnectionError("the database is gone")
        if set(rows) & set(self.rows) or len(set(rows)) < len(rows):
            raise Taken
        self.rows += rows
        return [self.rows.index(row) for row in rows]


def gathered(log: Log, appends: Sequence[Sequence[int]], most: int = 256) -> list[Sequence[int] | Exception]:
    """Append a first row, and the others while it is under way; return what became of the others."""
    group = GroupCommit[int](log.insert, conflict=Taken, most=most)

    def append(rows: Sequence[int]) -> Sequence[int] | Exception:
        try:
            return group.append(rows)
        except (Taken, ConnectionError) as error:
            return error

    with ThreadPoolExecutor(len(appends) + 1) as pool:
        first = pool.submit(append, [0])
        assert log.entered.wait(10)
        others = [pool.submit(append, rows) for rows in appends]
        while len(group._waiting) < len(appends):
            wait(others, timeout=0.001)
        log.go_on.set()
        assert first.result() is not None
        return [other.result() for other in others]


def test_what_comes_while_an_append_is_under_way_goes_together() -> None:
    log = Log()
    positions = gathered(log, [[n] for n in range(1, 9)])
    assert [sorted(batch) for batch in log.batches] == [[0], list(range(1, 9))]
    assert [log.rows[position[0]] for position in positions if not isinstance(position, Exception)] == list(range(1, 9))


def test_rows_of_one_append_stay_together_in_their_order() -> None:
    log = Log()
    gathered(log, [[10, 11, 12], [20, 21], [30]])
    text = ",".join(map(str, log.rows))
    assert "10,11,12" in text
    assert "20,21" in text


def test_a_conflict_fails_the_one_append_that_has_it() -> None:
    log = Log()
    outcomes = gathered(log, [[1], [0, 5], [2]])
    assert [isinstance(outcome, Taken) for outcome in outcomes] == [False, True, False]
    assert 5 not in log.rows


def test_of_two_rivals_in_one_transaction_one_wins() -> None:
    outcomes = gathered(Log(), [[1], [1]])
    assert sorted(isinstance(outcome, Taken) for outcome in outcomes) == [False, True]


def test_a_lost_connection_is_told_to_everyone_in_the_transaction() -> None:
    log = Log()
    log.broken = True
    assert all(isinstance(outcome, ConnectionError) for outcome in gathered(log, [[1], [2], [3]]))


def test_no_transaction_is_larger_than_the_most() -> None:
    log = Log()
    gathered(log, [[n] for n in range(1, 8)], most=3)
    assert [len(batch) for batch in log.batches] == [1, 3, 3, 1]


def test_one_alone_is_appended_at_once() -> None:
    log = Log()
    log.go_on.set()
    assert GroupCommit[int](log.insert, conflict=Taken).append([7]) == [0]


def test_an_error_is_raised_to_the_caller_alone() -> None:
    log = Log()
    log.go_on.set()
    group = GroupCommit[int](log.insert, conflict=Taken)
    group.append([1])
    with pytest.raises(Taken):
        group.append([1])
    assert group.append([2]) == [1]


def test_whoever_is_interrupted_has_acknowledged_nothing_for_others() -> None:
    log = Log()
    log.go_on.set()
    log.rows = [0]

    def insert(rows: Sequence[int]) -> Sequence[int]:
        if list(rows) == [2]:
            raise KeyboardInterrupt
        return log.insert(rows)

    group = GroupCommit[int](insert, conflict=Taken)
    appends = [_Append([0]), _Append([2]), _Append([3])]
    with pytest.raises(KeyboardInterrupt):
        group._flush(appends)
    assert all(append.error is not None for append in appends)
