"""A database that stands still: its connections stay open and nothing comes over them any more."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable

from tests.faults.proxy import CHUNK, Ends, PostgresProxy


class StandingProxy(PostgresProxy):
    """In front of a PostgreSQL: holds up what goes over the connections of before, when it is told to."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.accepted = 0
        self._moves = asyncio.Event()
        self._moves.set()

    def stand_still(self) -> None:
        """Pass nothing on over the connections that are open; those to come are served."""
        self._moves.clear()
        self._moves = asyncio.Event()
        self._moves.set()

    def _ways(self, client: Ends, server: Ends) -> tuple[Awaitable[None], Awaitable[None]]:
        self.accepted += 1
        moves = self._moves

        async def passed(reader: StreamReader, writer: StreamWriter) -> None:
            while read := await reader.read(CHUNK):
                await moves.wait()
                writer.write(read)
                await writer.drain()

        return passed(client[0], server[1]), passed(server[0], client[1])
