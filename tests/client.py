"""A small GraphQL client for the tests."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import httpx

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


@dataclass(frozen=True)
class Client:
    """Speaks to a server as one caller."""

    http: httpx.AsyncClient
    token: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    async def post(self, query: str, **variables: Any) -> httpx.Response:
        headers = dict(self.headers)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
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

    async def open_ticitaire(self, **input: Any) -> Any:
        """Open a game; return the outcome."""
        query = f"mutation ($input: OpenTicitaireInput!) {{ openTicitaire(input: $input) {{ {ACCEPTED} }} }}"
        return (await self.ask(query, input=input))["openTicitaire"]

    async def play(self, mutation: str, game: Any, **input: Any) -> Any:
        """Send a mutation for a game as an outcome showed it, at its version unless another is named."""
        types = {
            "moveTicitaireCards": "MoveTicitaireCardsInput",
            "takeBackTicitaireMoves": "TakeBackTicitaireMovesInput",
            "giveUpTicitaire": "PlayInput",
        }
        if mutation != "giveUpTicitaire":
            input.setdefault("expectedVersion", game["version"])
        query = (
            f"mutation ($input: {types.get(mutation, 'MoveInput')}!) {{ {mutation}(input: $input) {{ {ACCEPTED} }} }}"
        )
        return (await self.ask(query, input={"gameId": game["id"], **input}))[mutation]
