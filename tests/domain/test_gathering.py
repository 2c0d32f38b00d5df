"""Gathering: what comes while a batch is at work goes in the next one, each item as if it were alone."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

import pytest

from domain.gathering import Gathering, Item, Unfinished, asked

PATIENCE = 10

T = TypeVar("T")

Batch = Sequence[Item[str, str]]


def hand_in(gathering: Gathering[T, T], value: T) -> Future[T]:
    """Hand in an item; return what becomes of it."""
    return asked(lambda told: gathering.submit(value, told))


class Desk:
    """Works on words, whose first letter is their key. It holds the first batch until it is told to go on."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.ends: Callable[[Item[str, str]], None] = lambda item: item.end(item.value.upper())

    def work(self, items: Batch) -> None:
        self.batches.append([item.value for item in items])
        self.entered.set()
        assert self.go_on.wait(PATIENCE)
        for item in items:
            self.ends(item)


def gathered(desk: Desk, words: Sequence[str], most: int = 256) -> list[Future[str]]:
    """Hand in a first word, and the others while it is at work; return what becomes of the others."""
    gathering = Gathering[str, str](desk.work, key=lambda word: word[0], most=most)
    first = hand_in(gathering, "_")
    assert desk.entered.wait(PATIENCE)
    others = [hand_in(gathering, word) for word in words]
    desk.go_on.set()
    wait([first, *others], timeout=PATIENCE)
    return others


def test_what_comes_while_a_batch_is_at_work_goes_together() -> None:
    desk = Desk()
    others = gathered(desk, ["ant", "bee", "cat"])
    assert desk.batches == [["_"], ["ant", "bee", "cat"]]
    assert [other.result() for other in others] == ["ANT", "BEE", "CAT"]


def test_one_alone_is_worked_on_at_once() -> None:
    desk = Desk()
    desk.go_on.set()
    assert hand_in(Gathering[str, str](desk.work, key=len), "ant").result(PATIENCE) == "ANT"


def test_items_with_the_same_key_are_worked_on_one_after_the_other_in_the_order_of_their_coming() -> None:
    desk = Desk()
    gathered(desk, ["ant", "ape", "bee", "asp", "cat"])
    assert desk.batches == [["_"], ["ant", "bee", "cat"], ["ape"], ["asp"]]


def test_no_batch_is_larger_than_the_most() -> None:
    desk = Desk()
    gathered(desk, ["ant", "bee", "cat", "dog", "eel"], most=2)
    assert desk.batches == [["_"], ["ant", "bee"], ["cat", "dog"], ["eel"]]


def test_an_item_that_fails_fails_alone() -> None:
    desk = Desk()

    def ends(item: Item[str, str]) -> None:
        if item.value == "bee":
            item.end(ValueError("stung"))
        else:
            item.end("fine")

    desk.ends = ends
    ant, bee, cat = gathered(desk, ["ant", "bee", "cat"])
    assert (ant.result(), cat.result()) == ("fine", "fine")
    assert isinstance(bee.exception(), ValueError)


def test_what_the_work_raises_is_raised_to_all_that_it_had_not_ended() -> None:
    desk = Desk()

    def ends(item: Item[str, str]) -> None:
        if item.value == "bee":
            raise ConnectionError("the line is cut")
        item.end("fine")

    desk.ends = ends
    ant, bee, cat = gathered(desk, ["ant", "bee", "cat"])
    assert ant.result() == "fine"
    assert [type(other.exception()) for other in (bee, cat)] == [ConnectionError, ConnectionError]


def test_an_item_that_the_work_forgets_is_told_so() -> None:
    desk = Desk()
    desk.ends = lambda _: None
    (ant,) = gathered(desk, ["ant"])
    assert isinstance(ant.exception(), Unfinished)


def test_an_item_that_is_ended_later_holds_up_nobody() -> None:
    desk, later = Desk(), []

    def ends(item: Item[str, str]) -> None:
        if item.value == "ant":
            item.ended_later()
            later.append(item)
        else:
            item.end("fine")

    desk.ends = ends
    gathering = Gathering[str, str](desk.work, key=lambda word: word[0])
    desk.go_on.set()
    ant, ape = hand_in(gathering, "ant"), hand_in(gathering, "ape")
    assert ape.result(PATIENCE) == "fine"
    assert not ant.done()
    later[0].end("at last")
    assert ant.result(PATIENCE) == "at last"


def test_several_batches_at_work_share_no_key() -> None:
    desk = Desk()
    gathering = Gathering[str, str](desk.work, key=lambda word: word[0], batches=2)
    first = hand_in(gathering, "ant")
    assert desk.entered.wait(PATIENCE)
    desk.entered.clear()
    second, third = hand_in(gathering, "ape"), hand_in(gathering, "bee")
    assert desk.entered.wait(PATIENCE)
    assert desk.batches == [["ant"], ["bee"]]
    desk.go_on.set()
    assert [one.result(PATIENCE) for one in (first, second, third)] == ["ANT", "APE", "BEE"]


def test_nothing_of_it_is_left_once_it_is_forgotten() -> None:
    desk = Desk()
    desk.go_on.set()
    gathering = Gathering[str, str](desk.work, key=len)
    hand_in(gathering, "ant").result(PATIENCE)
    (thread,) = (one for one in threading.enumerate() if one in gathering._threads._threads)
    there = weakref.ref(gathering)
    del gathering
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert there() is None


def test_one_who_fails_to_be_told_holds_up_nobody() -> None:
    desk = Desk()
    desk.ends = lambda _: None  # so that all are told that they were forgotten

    def fails(_: object) -> None:
        raise RuntimeError("nobody at home")

    gathering = Gathering[str, str](desk.work, key=lambda word: word[0])
    gathering.submit("_", fails)
    assert desk.entered.wait(PATIENCE)
    gathering.submit("ant", fails)
    bee = hand_in(gathering, "bee")
    desk.go_on.set()
    assert isinstance(bee.exception(PATIENCE), Unfinished)
    assert isinstance(hand_in(gathering, "cat").exception(PATIENCE), Unfinished)


def test_an_item_for_which_no_thread_can_be_started_is_refused_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    desk.go_on.set()
    gathering = Gathering[str, str](desk.work, key=lambda word: word[0])
    with monkeypatch.context() as patch:

        def fails(_: object) -> None:
            raise RuntimeError("can't start new thread")

        patch.setattr(gathering._threads, "submit", fails)
        with pytest.raises(RuntimeError, match="can't start"):
            hand_in(gathering, "ant")
    assert hand_in(gathering, "bee").result(PATIENCE) == "BEE"
    assert desk.batches == [["bee"]]


def test_closing_waits_until_all_that_was_handed_in_is_ended() -> None:
    desk = Desk()
    gathering = Gathering[str, str](desk.work, key=lambda word: word[0])
    first = hand_in(gathering, "_")
    assert desk.entered.wait(PATIENCE)
    others = [hand_in(gathering, word) for word in ("ant", "ape", "bee")]
    desk.go_on.set()
    gathering.close()
    assert all(one.done() for one in (first, *others))


def test_many_threads_at_once_are_all_answered() -> None:
    total: list[int] = []

    def work(items: Sequence[Item[int, int]]) -> None:
        for item in items:
            total.append(item.value)
            item.end(item.value)

    gathering = Gathering[int, int](work, key=lambda number: number % 7, batches=3)
    answers: list[Future[int]] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.extend(hand_in(gathering, n * 100 + i) for i in range(100)))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.result(PATIENCE) for answer in answers) == sorted(total) == list(range(800))
