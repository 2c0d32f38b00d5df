"""Whoever hears of one game from its first event to its last."""

from __future__ import annotations

import asyncio
import json
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from websockets.exceptions import ConnectionClosed

from tests.client import connected
from tests.faults.histories import Hash, Heard, Histories

__all__ = ["Subscriber"]

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
