"""Two servers on one database: callers of both, and races between them that come to pass every time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

import httpx
import psycopg
from psycopg.sql import SQL

from tests.api.company import do
from tests.client import PATIENCE, Client
from tests.server import Server

__all__ = [
    "APPENDS",
    "TIMEKEEPING",
    "Both",
    "Held",
    "Pair",
    "accepted",
    "at_once",
    "calling",
    "holding",
    "log_size",
    "turned",
]

APPENDS: Final = SQL("LOCK TABLE game_events IN SHARE MODE")
"""While this is held, games can be read, and whatever is to be appended to the log waits."""
TIMEKEEPING: Final = SQL("LOCK TABLE outages IN ACCESS EXCLUSIVE MODE")
"""While this is held, every timekeeper waits, once in each of its steps, before it looks what has run out."""

WAITING: Final = """
SELECT DISTINCT pid FROM pg_locks
 WHERE NOT granted AND locktype IN ('relation', 'advisory')
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Pair(NamedTuple):
    """Two servers on one database."""

    one: Server
    other: Server
    settings: dict[str, str]
    """With which a third one would run on it."""


class Both(NamedTuple):
    """One caller, at either server."""

    one: Client
    other: Client

    async def register(self, name: str = "Ada") -> Both:
        """Register a player at the one server; return callers of both as that player."""
        player = await self.one.register(name)
        return Both(player, replace(self.other, token=player.token))

    def copies(self, ask: Callable[[Client], Coroutine[Any, Any, Any]], times: int) -> list[Coroutine[Any, Any, Any]]:
        """The same request so many times at each server, by turns."""
        return [ask(client) for _ in range(times) for client in self]


@asynccontextmanager
async def calling(server: Server) -> AsyncIterator[Client]:
    """A client of a server, without a token."""
    base_url = f"http://{server.address}"
    async with httpx.AsyncClient(base_url=base_url, timeout=PATIENCE, trust_env=False, verify=False) as http:
        yield Client(http)


class Held:
    """A lock that a test holds, and the connections of the servers that wait for it."""

    def __init__(self, watcher: psycopg.AsyncConnection) -> None:
        self._watcher: Final = watcher

    async def _waiting(self) -> list[int]:
        return [pid for (pid,) in await (await self._watcher.execute(WAITING)).fetchall()]

    async def awaited_by(self, number: int) -> None:
        """Wait until so many connections wait for it: a server takes one for whatever it appends, and one to look."""
        async with asyncio.timeout(PATIENCE):
            while len(await self._waiting()) < number:  # noqa: ASYNC110 - locks tell nobody
                await asyncio.sleep(0.005)

    async def cut_off(self) -> None:
        """End the connections that wait for it."""
        await self._watcher.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s) pid", [await self._waiting()]
        )


@asynccontextmanager
async def holding(database_url: str, lock: SQL) -> AsyncIterator[Held]:
    """Hold a lock until the block ends."""
    async with (
        await psycopg.AsyncConnection.connect(database_url) as holder,
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as watcher,
    ):
        await holder.execute(lock)
        yield Held(watcher)


async def at_once(
    database_url: str, requests: Sequence[Coroutine[Any, Any, Any]], *, cut_off: bool = False
) -> list[Any]:
    """Return the answers to requests which both servers have decided before either of them can append anything.

    With ``cut_off`` both then lose the connections by which they were about to append, as in a failover.
    """
    async with asyncio.TaskGroup() as group, holding(database_url, APPENDS) as appends:
        asked = [group.create_task(request) for request in requests]
        await appends.awaited_by(2)
        if cut_off:
            await appends.cut_off()
    return [request.result() for request in asked]


async def log_size(database_url: str) -> int:
    """How many events there are, of all games."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        row = await (await connection.execute("SELECT count(*) FROM game_log")).fetchone()
        return int(row[0]) if row else 0


# What players do


def accepted(outcome: Any) -> Any:
    """The outcome of a command that must have been accepted."""
    assert outcome["__typename"] == "CommandAccepted", outcome
    return outcome


async def turned(players: Sequence[Client], game: Any, times: int) -> Any:
    """Turn the stock so many times, by turns of the callers; return the game after it."""
    for number in range(times):
        game = accepted(await do(players[number % len(players)], "turnTicitaireStock", game))["game"]
    return game
