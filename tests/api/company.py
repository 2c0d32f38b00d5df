"""Tables for several over the API: who comes to them, what is asked, and a deal that is known beforehand."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from graphql import GraphQLInputObjectType, GraphQLNonNull, get_named_type

from api.schema import schema
from domain.cards import DECK, Card
from domain.dealing import Seeds, deal_order
from tests.client import Client
from tests.conftest import cloned, in_memory, started

__all__ = ["ACTIONS", "DEAL", "HANDS", "SEED", "SHOWN", "actions", "caught_up", "do", "house", "id_of", "laid", "names"]
__all__ += ["known_deal", "known_deck", "opened", "order_of", "started_by", "types"]

SHOWN: Final = """
  __typename
  ... on CommandAccepted {
    version hash repeated
    events { seq type bytes cards { name } }
    game {
      id uuid version status invitation viewerSeat
      host { name } players { name } seats { number player { name } } legalActions { mutation }
    }
  }
  ... on UserError { code message path }
  ... on RuleViolation { ruling reasons { code ruling message cells { x y } } }
  ... on VersionConflict { currentVersion }
"""
ACTIONS: Final = "legalActions { mutation }"

SEED: Final = (16).to_bytes(32, "big")
DEAL: Final = UUID("00000000-0000-4000-8000-0000000000d1")
"""The id of a game that is dealt from ``SEED``: what follows from both is told below, and was played beforehand."""
HANDS: Final = (
    ("3-star-violet", "2-square-red", "3-star-yellow", "1-circle-violet", "5-square-orange", "2-square-yellow"),
    ("5-square-red", "4-square-orange", "3-crescent-orange", "3-crescent-red", "4-crescent-orange", "2-square-orange"),
)
"""What two players are dealt there. Seat 1 can open; then seat 2 can't lay, nor with the card that it draws."""


def known_deal(patch: pytest.MonkeyPatch) -> None:
    """Let the next game that is opened be the one that is dealt from ``SEED``."""
    patch.setattr("domain.application.uuid4", lambda: DEAL)
    drawn = SimpleNamespace(token_bytes=lambda size: SEED if size == len(SEED) else secrets.token_bytes(size))
    patch.setattr("domain.vault.secrets", drawn)


def known_deck(patch: pytest.MonkeyPatch) -> None:
    """Deal any two players what would be dealt from ``SEED``, whatever seed their game has."""
    deck, _ = order_of({"seeds": [SEED.hex()], "deal": str(DEAL)}, ["-", "-"])
    order = tuple(map(Card.parse, deck))

    def deal(seeds: Seeds, *, number: int, entropies: Sequence[str], beacon: str = "") -> tuple[Card, ...]:
        two = len(entropies) == len(HANDS)
        return order if two else deal_order(seeds, number=number, entropies=entropies, beacon=beacon)

    patch.setattr("domain.lifecycle.deal_order", deal)


def _shuffled(items: list[str], seed: bytes, entropies: list[str], info: str) -> list[str]:
    """The shuffle of docs/dealing.md, written out."""
    lines = "".join(f"{line}\n" for line in (*entropies, ""))
    salt = hashlib.sha256(b"tic/entropy/v1\n" + lines.encode()).digest()
    key, block, stream = hmac.digest(salt, seed, "sha256"), b"", b""
    for counter in range(1, 20):
        block = hmac.digest(key, block + info.encode() + bytes([counter]), "sha256")
        stream += block
    draws = iter(stream)
    for last in range(len(items) - 1, 0, -1):
        size = last + 1
        draw = next(byte for byte in draws if byte < 256 - 256 % size)
        items[last], items[draw % size] = items[draw % size], items[last]
    return items


def order_of(fairness: Any, entropies: list[str]) -> tuple[list[str], list[str]]:
    """The deck, and the players by their place in the order of joining, as they follow from revealed seeds."""
    (seed,), deal = fairness["seeds"], fairness["deal"]
    players = [str(number) for number in range(len(entropies))]
    deck = _shuffled(list(map(str, DECK)), bytes.fromhex(seed), entropies, f"tic/deck/v1\n{deal}\n1\n")
    return deck, _shuffled(players, bytes.fromhex(seed), entropies, f"tic/seats/v1\n{deal}\n")


@asynccontextmanager
async def house(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A server for many tests, on a database of its own, and a client without a token."""
    with cloned(admin, template, postgres) as url:
        async with started(url) as app, in_memory(app) as client:
            yield client


# What players do


async def do(player: Client, mutation: str, game: Any = None, *, show: str = SHOWN, **input: Any) -> Any:
    """Send a mutation, for a game as it was shown if one is given; return what it shows of the outcome.

    The version that was shown is sent along where the mutation asks for one.
    """
    assert schema._schema.mutation_type is not None
    type_ = schema._schema.mutation_type.fields[mutation].args["input"].type
    fields = get_named_type(type_)
    assert isinstance(fields, GraphQLInputObjectType)
    if game is not None:
        input.setdefault("gameId", game["id"])
        wanted = fields.fields.get("expectedVersion")
        if wanted is not None and isinstance(wanted.type, GraphQLNonNull):
            input.setdefault("expectedVersion", game["version"])
    query = f"mutation ($input: {type_}) {{ {mutation}(input: $input) {{ {show} }} }}"
    return (await player.ask(query, input=input))[mutation]


async def opened(host: Client, *guests: Client, **options: Any) -> Any:
    """Open a table of Tickle that guests come to; return the game as the last of them sees it."""
    outcome = await do(host, "openTickle", **options)
    for guest in guests:
        outcome = await do(guest, "joinGame", outcome["game"])
    return outcome["game"]


async def started_by(host: Client, *guests: Client, **options: Any) -> Any:
    """Open a table of Tickle and start the game; return it as its host sees it."""
    return (await do(host, "startGame", await opened(host, *guests, **options)))["game"]


def laid(*cards: tuple[int, int, str]) -> list[dict[str, Any]]:
    """Cards in their cells as an input: x, y, name."""
    return [{"x": x, "y": y, "card": card} for x, y, card in cards]


# What is shown


def types(outcome: Any) -> list[str]:
    """The facts that an outcome tells."""
    assert outcome["__typename"] == "CommandAccepted", outcome
    return [event["type"] for event in outcome["events"]]


def names(players: Any) -> list[str]:
    return [player["name"] for player in players]


async def actions(viewer: Client, game: Any) -> list[str]:
    """The mutations that are open to a viewer."""
    return [action["mutation"] for action in (await viewer.game(game["id"], ACTIONS))["legalActions"]]


async def caught_up(viewer: Client, *games: Any) -> None:
    """Wait until the list shows these games at these versions at least."""
    wanted = {game["id"]: game["version"] for game in games}
    async with asyncio.timeout(10):
        while True:
            lines = (await viewer.ask("{ games(first: 100) { nodes { id version } } }"))["games"]["nodes"]
            shown = {line["id"]: line["version"] for line in lines}
            if all(shown.get(id, 0) >= version for id, version in wanted.items()):
                return
            await asyncio.sleep(0.01)


def id_of(kind: str, value: object) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{value}".encode()).decode().rstrip("=")
