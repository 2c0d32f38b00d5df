"""An encoding is made once however many ask for it, whoever of them goes away, and kept for a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from api.sharing import Encoding, Encodings
from tests.api.clock import StandingClock


class Maker:
    """Makes an encoding when it is let, and counts how often it was asked."""

    def __init__(self, text: str = "text", *, shared: bool = True, error: Exception | None = None) -> None:
        self.made = 0
        self.go = asyncio.Event()
        self.encoding = Encoding(text, shared)
        self.error = error

    async def __call__(self) -> Encoding:
        self.made += 1
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return self.encoding


async def asked(encodings: Encodings, make: Callable[[], Encoding | Awaitable[Encoding]], times: int) -> list[Any]:
    """So many ask for the same, one after the other, none of them answered yet."""
    asking = [asyncio.ensure_future(encodings.ask("key", make)) for _ in range(times)]
    for _ in range(3):
        await asyncio.sleep(0)
    return asking


async def test_what_many_ask_for_at_once_is_made_once() -> None:
    make = Maker()
    asking = await asked(Encodings(), make, 5)
    make.go.set()
    assert (await asyncio.gather(*asking), make.made) == (["text"] * 5, 1)


async def test_if_the_one_who_asked_first_goes_away_the_others_are_answered_all_the_same() -> None:
    make = Maker()
    first, *others = await asked(Encodings(), make, 5)
    first.cancel()
    make.go.set()
    assert (await asyncio.gather(*others), make.made) == (["text"] * 4, 1)
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_one_of_those_who_wait_may_go_away() -> None:
    make = Maker()
    asking = await asked(Encodings(), make, 3)
    asking[1].cancel()
    make.go.set()
    assert [await asking[0], await asking[2]] == ["text"] * 2


async def test_if_all_go_away_what_was_begun_is_kept_for_the_next() -> None:
    encodings, make = Encodings(), Maker()
    (only,) = await asked(encodings, make, 1)
    only.cancel()
    make.go.set()
    await asyncio.gather(only, return_exceptions=True)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert encodings.known("key") == "text"


async def test_what_is_not_for_others_is_made_by_each() -> None:
    encodings, make = Encodings(), Maker(shared=False)
    asking = await asked(encodings, make, 3)
    make.go.set()
    assert (await asyncio.gather(*asking), make.made, encodings.known("key")) == (["text"] * 3, 3, None)


async def test_what_could_not_be_made_is_tried_by_each() -> None:
    encodings, make = Encodings(), Maker(error=ValueError("broken"))
    asking = await asked(encodings, make, 3)
    make.go.set()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert ([type(outcome) for outcome in outcomes], make.made) == ([ValueError] * 3, 3)


async def test_what_needs_no_waiting_is_made_at_once() -> None:
    encodings = Encodings()
    assert await encodings.ask("key", lambda: Encoding("text", True)) == "text"
    assert (encodings.known("key"), encodings.known("other")) == ("text", None)


async def test_what_needs_no_waiting_and_is_not_for_others_is_not_kept() -> None:
    encodings = Encodings()
    assert await encodings.ask("key", lambda: Encoding("text", False)) == "text"
    assert encodings.known("key") is None


def test_an_encoding_is_kept_for_a_moment_only() -> None:
    clock = StandingClock()
    encodings = Encodings(seconds=2, clock=clock)
    encodings.keep("key", "text")
    clock.now += 1.9
    assert encodings.known("key") == "text"
    clock.now += 0.1
    assert encodings.known("key") is None


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    encodings = Encodings(characters=100)
    for number in range(50):
        encodings.keep(number, "x" * 10)
        assert encodings.characters <= 100
    assert [number for number in range(50) if encodings.known(number)] == list(range(40, 50))


def test_what_is_too_long_to_be_kept_pushes_everything_out_and_is_not_kept() -> None:
    encodings = Encodings(characters=100)
    encodings.keep(1, "x")
    encodings.keep(2, "x" * 101)
    assert (encodings.known(1), encodings.known(2), encodings.characters) == (None, None, 0)


def test_what_nobody_needs_any_more_goes_when_something_comes() -> None:
    clock = StandingClock()
    encodings = Encodings(seconds=2, clock=clock)
    encodings.keep(1, "old")
    clock.now += 3
    encodings.keep(2, "new")
    assert encodings.characters == len("new")


def test_an_encoding_kept_anew_counts_once() -> None:
    encodings = Encodings()
    encodings.keep(1, "old")
    encodings.keep(1, "newer")
    assert (encodings.known(1), encodings.characters) == ("newer", 5)


def test_the_keys_count_as_well() -> None:
    encodings = Encodings(characters=100)
    keys = [(b"x" * 10, ("y" * 10, None, number)) for number in range(50)]
    for key in keys:
        encodings.keep(key, "z" * 5)
        assert encodings.characters <= 100
    assert [key for key in keys if encodings.known(key)] == keys[-4:]


def test_what_goes_takes_its_key_along() -> None:
    clock = StandingClock()
    encodings = Encodings(seconds=2, clock=clock)
    encodings.keep(b"a long key", "old")
    clock.now += 3
    encodings.keep(2, "new")
    assert encodings.characters == len("new")
