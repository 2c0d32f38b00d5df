"""A server is told to stop under load, with 200 subscribers: it ends in time, and nobody misses anything."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from websockets.exceptions import ConnectionClosed

from tests.client import connected
from tests.faults.histories import Hash, Heard, Histories
from tests.faults.house import House
from tests.faults.load import PATIENCE, Mix, loaded
from tests.server import Server

SUBSCRIBERS: Final = 200
GRACE: Final = 10.0
"""Seconds within which a server that is told to stop has ended."""
COME_BACK: Final = "1001"
"""The close code by which a socket is told that its server goes away."""
BETWEEN: Final = 60
"""Commands that are acknowledged before the server is told to stop, and again after it."""
EVENTS: Final = "subscription ($id: ID!, $after: Int!) { gameEvents(gameId: $id, afterSeq: $after) { seq hash } }"


class Subscriber:
    """Hears of one game, over one server after the other, until all of it is told."""

    def __init__(self, name: str, game: str, uuid: UUID, told: Histories) -> None:
        self.hearing: Final = asyncio.Event()
        """Set as soon as the first event has come."""
        self._name: Final = name
        self._game: Final = game
        self._uuid: Final = uuid
        self._told: Final = told

    async def hear_all(self, servers: list[str]) -> None:
        """Listen to the newest of the servers there are, each time from where the last one ended."""
        after, ended = 0, ""
        while ended != "complete":
            events: list[Hash] = []
            ended = await self._hear(servers[-1], after, events)
            piece = Heard(self._name, self._uuid, after, tuple(events), ended)
            self._told.heard.append(piece)
            after = piece.last

    async def _hear(self, server: str, after: int, events: list[Hash]) -> str:
        """Listen to the end; return what ended it: `complete`, the code of an error, or the close code."""
        async with connected(urlsplit(server).netloc) as socket:
            await socket.subscribe(EVENTS, id=self._game, after=after)
            try:
                while True:
                    message = json.loads(await socket.connection.recv())
                    if message["type"] == "error":
                        return str(message["payload"][0]["extensions"]["code"])
                    if message["type"] == "complete":
                        return "complete"
                    told = message["payload"]["data"]["gameEvents"]
                    events.append((told["seq"], told["hash"]))
                    self.hearing.set()
            except ConnectionClosed:
                return str(socket.connection.close_code)


async def ended(server: Server) -> tuple[int, float]:
    """Tell a server to stop; return its exit status, and how many seconds it took."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = await asyncio.to_thread(server.process.wait, 2 * GRACE)
    return status, time.monotonic() - began


async def test_a_server_told_to_stop_under_load_loses_nothing_and_its_subscribers_miss_nothing(house: House) -> None:
    stopping, other = await house.serve(), await house.serve()
    mix = Mix(solitary=8, contested=4, pairs=0, pace=0.1, length=10_000)
    async with loaded([stopping.url, other.url], seed=7, mix=mix) as load:
        await load.until(acknowledged=5 * mix.solitary)
        told, games, servers = load.histories, sorted(load.games.items()), [stopping.url]
        subscribers = [Subscriber(f"subscriber {n}", *games[n % len(games)], told) for n in range(SUBSCRIBERS)]
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for subscriber in subscribers:
                group.create_task(subscriber.hear_all(servers))
            await asyncio.gather(*(subscriber.hearing.wait() for subscriber in subscribers))
            await load.until(acknowledged=BETWEEN)
            servers.append(other.url)
            status, seconds = await ended(stopping)
            load.addresses[:] = [other.url]
            await load.until(acknowledged=BETWEEN)
            await load.close_games()
    house.judge(f"a server told to stop with {SUBSCRIBERS} subscribers, ended in {seconds:.1f} s", load)
    assert status == 0
    assert seconds < GRACE
    assert Counter(piece.ended for piece in told.heard) == {COME_BACK: SUBSCRIBERS, "complete": SUBSCRIBERS}
