"""PostgreSQL is killed with -9 under load, five times: nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import psycopg

from api.embedded_postgres import embedded_postgres
from tests.api.postgres_folders import can_connect, eventually, postmaster
from tests.faults.house import House, Tell
from tests.faults.load import PATIENCE, loaded

KILLS = 5
BETWEEN = 60
"""Commands that are acknowledged between two kills."""


def kill_all_of_it(folder: Path, url: str) -> int:
    """Kill the postmaster and, in the same moment, every process of its; return the next one, which answers."""
    with psycopg.connect(url) as connection:
        backends = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity")]
    first = postmaster(folder)
    for process in (first, *backends):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    assert eventually(lambda: postmaster(folder) not in {0, first} and can_connect(url), within=PATIENCE)
    return postmaster(folder)


async def test_postgres_killed_five_times_loses_nothing(scratch: Path, tmp_path: Path, tell: Tell) -> None:
    folder = scratch / "tic"
    with embedded_postgres(folder) as url:
        async with House(url, tmp_path, tell) as house:
            servers = [await house.serve(), await house.serve()]
            async with loaded([server.url for server in servers], seed=3) as load:
                postmasters = {postmaster(folder)}
                for _ in range(KILLS):
                    await load.until(acknowledged=BETWEEN)
                    postmasters.add(await asyncio.to_thread(kill_all_of_it, folder, url))
                await load.until(acknowledged=BETWEEN)
            house.judge(f"PostgreSQL killed {KILLS} times", load)
            assert len(postmasters) == KILLS + 1
