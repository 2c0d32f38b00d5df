"""Connections end where they like: after the commit and before its answer, or anywhere."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from pathlib import Path

from tests.faults.house import House, Tell
from tests.faults.load import loaded
from tests.faults.proxy import PostgresProxy, Proxy, cutting

BETWEEN = 60
"""Commands that are acknowledged before the fault, and again after it."""
MEANWHILE = 200
"""Commands that are acknowledged while it goes on."""


class Mood:
    """Loses an answer now and then: mostly one alone, at times so many in a row that nobody can look it up."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._to_lose = 0

    def loses(self, _kind: str) -> bool:
        if not self._to_lose and self._chance.random() < 0.1:
            self._to_lose = self._chance.choice([1, 1, 8])
        lost = self._to_lose > 0
        self._to_lose -= lost
        return lost


async def test_the_reply_to_commit_is_lost_many_times(database_url: str, tmp_path: Path, tell: Tell) -> None:
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(PostgresProxy(database_url).listening())
        house = await stack.enter_async_context(House(database_url, tmp_path, tell, through=proxy.url))
        server = await house.serve()
        async with loaded([server.url], seed=4) as load:
            await load.until(acknowledged=BETWEEN)
            proxy.loses = Mood(seed=4).loses
            await load.until(acknowledged=MEANWHILE)
            proxy.loses = lambda _: False
            await load.until(acknowledged=BETWEEN)
        house.judge(f"replies to commit lost: {dict(proxy.lost)}", load)
    assert proxy.lost["append"] >= 10
    assert load.histories.unknown + load.histories.looked_up > 0


async def test_connections_to_the_database_and_to_the_server_are_cut_at_random(
    database_url: str, tmp_path: Path, tell: Tell
) -> None:
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(PostgresProxy(database_url).listening())
        house = await stack.enter_async_context(House(database_url, tmp_path, tell, through=postgres.url))
        server = await house.serve()
        host, port = server.url.removeprefix("http://").removesuffix("/graphql").rsplit(":", 1)
        front = await stack.enter_async_context(Proxy.to(host, int(port)).listening())
        async with loaded([f"http://127.0.0.1:{front.port}/graphql"], seed=5) as load:
            await load.until(acknowledged=BETWEEN)
            async with cutting(postgres, every=0.1, seed=5), cutting(front, every=0.1, seed=6):
                await load.until(acknowledged=MEANWHILE)
            await load.until(acknowledged=BETWEEN)
        house.judge(f"{postgres.cuts} connections to the database cut, {front.cuts} to the server", load)
    assert min(postgres.cuts, front.cuts) >= 5
    assert load.histories.unknown > 0
