"""The past and the present of a game are joined without a gap, whatever comes late or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from api.live import Live
from domain.events import SERVER, Cause, Event, chain
from domain.lifecycle import Resign
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from tests.given import NOON, PLAYER, given

GAME = UUID(int=5)


def log_of(turns: int) -> tuple[Event, ...]:
    """The events of a game in which the stock is turned so often, and then given up."""
    facts = list(given().when(OpenTicitaire(player=PLAYER)).facts)
    for _ in range(turns):
        facts += given(*facts).when(TurnStock(seat=1)).facts
    facts += given(*facts).when(Resign(seat=1)).facts
    return chain(GAME, 0, "0" * 64, facts, Cause(SERVER, NOON))


class Log:
    """A log that shows so many of its events, and tells when it is asked."""

    def __init__(self, events: tuple[Event, ...], shown: int) -> None:
        self.events = events
        self.shown = shown
        self.asked = asyncio.Event()

    async def past(self, _game: UUID, after: int, first: int) -> tuple[Event, ...]:
        self.asked.set()
        return self.events[: self.shown][after : after + first]


async def nothing() -> None:
    """What is done about revoked tokens here."""


def live(log: Log) -> Live:
    return Live("postgresql://nowhere", log.past, on_tokens=nothing)


async def next_of(events: AsyncGenerator[Event, None]) -> int:
    return (await anext(events)).seq


async def told_after(handed_out: list[int]) -> list[int]:
    """Read three events of the past; return the next two, when these were handed out and five are in the log."""
    log = Log(log_of(4), shown=3)
    ear = live(log)
    async with aclosing(ear.events(GAME, 0)) as events:
        assert [await next_of(events) for _ in range(3)] == [1, 2, 3]
        log.shown = 5
        for reader in ear._readers[GAME]:
            for seq in handed_out:
                reader.push(log.events[seq - 1])
        return [await next_of(events) for _ in range(2)]


async def test_an_event_that_was_not_handed_out_is_read_from_the_log() -> None:
    assert await told_after([5]) == [4, 5]


async def test_an_event_that_comes_twice_is_told_once() -> None:
    assert await told_after([3, 4, 4, 5]) == [4, 5]


async def test_a_hint_that_something_is_there_is_enough() -> None:
    log = Log(log_of(4), shown=3)
    ear = live(log)
    async with aclosing(ear.events(GAME, 3)) as events:
        coming = asyncio.ensure_future(anext(events))
        await log.asked.wait()
        await asyncio.sleep(0)  # the answer is taken in, and there is nothing more
        log.shown = 4
        for reader in ear._readers[GAME]:
            reader.push(None)
        assert (await coming).seq == 4


async def test_the_stream_ends_with_the_record() -> None:
    log = Log(log_of(1), shown=100)
    async with aclosing(live(log).events(GAME, 0)) as events:
        assert [event.seq async for event in events] == list(range(1, len(log.events) + 1))
