"""A small GraphQL client for the tests: over HTTP, over WebSockets and over server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

PATIENCE = 10
"""Seconds that a test waits for a message before it fails."""

ACCEPTED = """
  __typename
  ... on CommandAccepted {
    version hash repeated
    events { seq type bytes hash previousHash }
    game { id uuid version status legalActions { mutation ... on TicitaireMove { from to } } }
  }
  ... on UserError { code message path }
  ... on RuleViolation { ruling }
  ... on VersionConflict { currentVersion }
"""

INPUTS = {
    "openTicitaire": "OpenTicitaireInput",
    "moveTicitaireCards": "MoveTicitaireCardsInput",
    "turnTicitaireStock": "MoveInput",
    "recycleTicitaireWaste": "MoveInput",
    "takeBackTicitaireMoves": "TakeBackTicitaireMovesInput",
    "giveUpTicitaire": "PlayInput",
}
"""The type of each game mutation's input."""


@dataclass(frozen=True)
class Client:
    """Speaks to a server as one caller."""

    http: httpx.AsyncClient
    token: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    async def post(self, query: str, **variables: Any) -> httpx.Response:
        headers = {**self.headers, **authorization(self.token)}
        return await self.http.post("/graphql", json={"query": query, "variables": variables}, headers=headers)

    async def ask(self, query: str, **variables: Any) -> Any:
        """Return the data of an operation that has no top-level errors."""
        answer = (await self.post(query, **variables)).json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    async def error(self, query: str, **variables: Any) -> Any:
        """Return the only top-level error of an operation."""
        (error,) = (await self.post(query, **variables)).json()["errors"]
        return error

    async def register(self, name: str = "Ada") -> Client:
        """Register a player; return a client that calls as that player."""
        data = await self.ask(
            "mutation ($name: String!) { registerPlayer(input: {name: $name}) { ... on PlayerRegistered { token } } }",
            name=name,
        )
        return replace(self, token=data["registerPlayer"]["token"])

    async def mutate(self, mutation: str, *, show: str = ACCEPTED, **input: Any) -> Any:
        """Send a game mutation with exactly this input; return what it shows of the outcome."""
        query = f"mutation ($input: {INPUTS[mutation]}!) {{ {mutation}(input: $input) {{ {show} }} }}"
        return (await self.ask(query, input=input))[mutation]

    async def open_ticitaire(self, *, show: str = ACCEPTED, **input: Any) -> Any:
        """Open a game; return the outcome."""
        return await self.mutate("openTicitaire", show=show, **input)

    async def play(self, mutation: str, game: Any, *, show: str = ACCEPTED, **input: Any) -> Any:
        """Send a mutation for a game as an outcome showed it, at its version unless another is named."""
        if mutation != "giveUpTicitaire":
            input.setdefault("expectedVersion", game["version"])
        return await self.mutate(mutation, show=show, gameId=game["id"], **input)

    async def game(self, id: str, fields: str) -> Any:
        """Return fields of a game."""
        return (await self.ask(f"query ($id: ID!) {{ game(id: $id) {{ {fields} }} }}", id=id))["game"]

    async def history(self, id: str, *, fields: str = "seq type bytes hash previousHash", first: int = 100) -> Any:
        """Return all events of a game, read page by page."""
        query = (
            "query ($id: ID!, $after: Int!) { game(id: $id) {"
            f" events(afterSeq: $after, first: {first}) {{ nodes {{ {fields} }} hasMore }} }} }}"
        )
        found: list[Any] = []
        page = {"hasMore": True}
        while page["hasMore"]:
            page = (await self.ask(query, id=id, after=len(found)))["game"]["events"]
            found += page["nodes"]
        return found


def authorization(token: str | None) -> dict[str, str]:
    """Return the header that a token is sent in."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True)
class Socket:
    """A graphql-transport-ws connection, initialised."""

    connection: ClientConnection

    async def say(self, message: object) -> None:
        await self.connection.send(json.dumps(message))

    async def hear(self) -> Any:
        """Return the next message."""
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self.connection.recv())

    async def subscribe(self, query: str, /, **variables: Any) -> None:
        """Begin the socket's only operation."""
        await self.say({"type": "subscribe", "id": "1", "payload": {"query": query, "variables": variables}})

    async def next(self) -> Any:
        """Return what the next result holds under its only field."""
        message = await self.hear()
        assert message["type"] == "next", message
        (shown,) = message["payload"]["data"].values()
        return shown

    async def closing(self) -> tuple[int, str]:
        """Read until the server closes the socket; return its close code and reason."""
        with suppress(ConnectionClosed):
            while True:
                await self.hear()
        return self.connection.close_code or 0, self.connection.close_reason or ""


@asynccontextmanager
async def connected(address: str, token: str | None = None, **options: Any) -> AsyncIterator[Socket]:
    """A socket to the server at an address, initialised as the token's holder; ``options`` are for ``connect``."""
    protocol = Subprotocol("graphql-transport-ws")
    async with connect(f"ws://{address}/graphql", subprotocols=[protocol], proxy=None, **options) as connection:
        socket = Socket(connection)
        await socket.say({"type": "connection_init", "payload": authorization(token)})
        assert await socket.hear() == {"type": "connection_ack"}
        yield socket


async def over_socket(address: str, query: str, /, token: str | None = None, **variables: Any) -> AsyncGenerator[Any]:
    """Yield the results of a subscription over a WebSocket; one that fails ends in a result with ``errors``."""
    async with connected(address, token) as socket:
        await socket.subscribe(query, **variables)
        while (message := await socket.hear())["type"] != "complete":
            if message["type"] == "error":
                yield {"errors": message["payload"]}
                return
            yield message["payload"]


async def over_events(address: str, query: str, /, token: str | None = None, **variables: Any) -> AsyncGenerator[Any]:
    """Yield the results of a subscription over server-sent events; one that fails ends in one with ``errors``."""
    headers = {"Accept": "text/event-stream", **authorization(token)}
    body = {"query": query, "variables": variables}
    async with (
        httpx.AsyncClient(base_url=f"http://{address}", timeout=PATIENCE, trust_env=False) as http,
        http.stream("POST", "/graphql", json=body, headers=headers) as response,
    ):
        event = ""
        async for line in response.aiter_lines():
            name, _, value = line.partition(":")
            if name == "event":
                event = value.strip()
            if event == "complete":
                return
            if name == "data":
                yield json.loads(value)
