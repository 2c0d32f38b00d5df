"""Two of the fault tests, short ones: `make test-faults` runs all of them."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from tests.faults.house import House, kill
from tests.faults.load import Mix, loaded
from tests.faults.proxy import PostgresProxy

FEW: Final = Mix(solitary=2, contested=1, pairs=0)
BETWEEN: Final = 20
"""Commands that are acknowledged before the fault, and again after it."""


async def test_a_server_killed_under_load_loses_nothing(database_url: str, tmp_path: Path) -> None:
    async with House(database_url, tmp_path, sys.stdout.write) as house:
        doomed, other = await house.serve(), await house.serve()
        async with loaded([doomed.url], seed=1, mix=FEW) as load:
            await load.until(acknowledged=BETWEEN)
            await kill(doomed)
            load.addresses[:] = [other.url]
            await load.until(acknowledged=BETWEEN)
        house.judge("one of two servers killed", load)


async def test_a_commit_whose_reply_is_lost_is_looked_up_and_acknowledged(database_url: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(PostgresProxy(database_url).listening())
        house = await stack.enter_async_context(House(database_url, tmp_path, sys.stdout.write, through=proxy.url))
        server = await house.serve()
        async with loaded([server.url], seed=2, mix=FEW) as load:
            await load.until(acknowledged=BETWEEN)
            proxy.loses = lambda kind: kind == "append" and not proxy.lost["append"]
            await load.until(acknowledged=BETWEEN)
        house.judge("one reply to commit lost", load)
    assert proxy.lost["append"] == 1
    assert load.histories.unknown == 0
