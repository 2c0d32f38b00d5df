"""A server is told to stop under load, with 200 subscribers: it ends in time, and nobody misses anything."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from typing import Final

from tests.faults.house import House
from tests.faults.load import PATIENCE, Mix, loaded
from tests.faults.subscriber import Subscriber
from tests.server import STOPS_WITHIN, Server

SUBSCRIBERS: Final = 200
COME_BACK: Final = "1001"
"""The close code by which a socket is told that its server goes away."""
BETWEEN: Final = 60
"""Commands that are acknowledged before the server is told to stop, and again after it."""


async def ended(server: Server) -> tuple[int, float]:
    """Tell a server to stop; return its exit status, and how many seconds it took."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = await asyncio.to_thread(server.process.wait, 2 * STOPS_WITHIN)
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
    assert seconds < STOPS_WITHIN
    assert Counter(piece.ended for piece in told.heard) == {COME_BACK: SUBSCRIBERS, "complete": SUBSCRIBERS}
