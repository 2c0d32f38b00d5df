"""Answers from other threads reach the event loop: all of them, many at a time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.arrivals import Arrivals
from domain.gathering import Told


async def test_what_is_told_in_another_thread_is_returned() -> None:
    with ThreadPoolExecutor(1) as pool:

        def ask(told: Told[str]) -> None:
            pool.submit(told, "an answer")

        assert await Arrivals().told(ask) == "an answer"


async def test_an_error_is_raised_to_the_one_who_asked() -> None:
    with pytest.raises(LookupError, match="nowhere"):
        await Arrivals().told(lambda told: told(LookupError("nowhere")))


async def test_what_is_raised_while_asking_is_raised_at_once() -> None:
    def ask(_told: Told[None]) -> None:
        raise ValueError("not a question")

    with pytest.raises(ValueError, match="not a question"):
        await Arrivals().told(ask)


async def test_answers_that_come_together_wake_the_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals, waiting = Arrivals(), list[Told[int]]()
    answers = [asyncio.ensure_future(arrivals.told(waiting.append)) for _ in range(20)]
    await asyncio.sleep(0)
    loop, wakes = asyncio.get_running_loop(), list[Any]()
    wake = loop.call_soon_threadsafe

    def counted(*call: Any) -> Any:
        wakes.append(call)
        return wake(*call)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    for number, told in enumerate(waiting):
        told(number)
    assert await asyncio.gather(*answers) == list(range(20))
    assert len(wakes) == 1


async def test_an_answer_that_nobody_waits_for_any_more_disturbs_no_other() -> None:
    arrivals, waiting = Arrivals(), list[Told[str]]()
    gone, there = (asyncio.ensure_future(arrivals.told(waiting.append)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    for told in waiting:
        told("an answer")
    assert await there == "an answer"


async def test_no_answer_is_lost_however_they_come() -> None:
    arrivals = Arrivals()
    with ThreadPoolExecutor(8) as pool:
        together = threading.Barrier(8)

        def tell(told: Told[int], number: int) -> None:
            if number < 8:
                together.wait(10)
            told(number)

        async def asked(number: int) -> int:
            return await arrivals.told(lambda told: pool.submit(tell, told, number))

        assert await asyncio.gather(*map(asked, range(400))) == list(range(400))


def test_an_answer_that_comes_after_the_end_of_the_loop_is_dropped() -> None:
    waiting: list[Told[str]] = []

    async def ask() -> None:
        asking = asyncio.ensure_future(Arrivals().told(waiting.append))
        await asyncio.sleep(0)
        asking.cancel()

    asyncio.run(ask())
    waiting[0]("too late")
