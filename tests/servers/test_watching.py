"""Whoever watches boards, a lobby or his own games at one server is told what is done at the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from tests.api.company import do
from tests.client import PATIENCE, over_events, over_socket
from tests.servers.pair import Both, Pair, accepted

BOARD = "subscription ($id: ID!) { scoreboardChanged(gameId: $id) { status lines { player { name } } } }"
LOBBY = "subscription ($label: String!) { lobbyChanged(filter: {label: $label}) { games { id status } } }"
MINE = "subscription { viewerGameChanged { awaitingYou version game { id status } } }"

Follow = Callable[..., AsyncGenerator[Any]]


@pytest.fixture(params=[over_socket, over_events], ids=["graphql-transport-ws", "server-sent events"])
def follow(request: pytest.FixtureRequest, pair: Pair) -> Follow:
    """Follows a subscription at the other server, over either transport."""
    return partial(request.param, pair.other.address)


async def told(results: AsyncGenerator[Any]) -> Any:
    async with asyncio.timeout(PATIENCE):
        return next(iter((await anext(results))["data"].values()))


async def test_a_board_at_the_other_server_shows_who_joins_at_the_one(follow: Follow, both: Both) -> None:
    ada, bert = await both.register("Ada"), await both.register("Bert")
    table = accepted(await do(ada.one, "openTickle", seats=2))["game"]
    async with aclosing(follow(BOARD, id=table["id"])) as boards:
        assert await told(boards) == {"status": "OPEN", "lines": [{"player": {"name": "Ada"}}]}
        await do(bert.one, "joinGame", table)
        assert [line["player"]["name"] for line in (await told(boards))["lines"]] == ["Ada", "Bert"]
        await do(ada.one, "cancelGame", table)
        assert (await told(boards))["status"] == "CANCELLED"
        assert [board async for board in boards] == []


async def test_a_lobby_at_the_other_server_shows_what_is_opened_and_ended_at_the_one(
    follow: Follow, both: Both
) -> None:
    ada, label = await both.register(), f"Cup {uuid4()}"
    async with aclosing(follow(LOBBY, label=label)) as lobby:
        assert await told(lobby) == {"games": []}
        table = accepted(await do(ada.one, "openTickle", label=label))["game"]
        assert await told(lobby) == {"games": [{"id": table["id"], "status": "OPEN"}]}
        await do(ada.one, "cancelGame", table)
        assert await told(lobby) == {"games": [{"id": table["id"], "status": "CANCELLED"}]}


async def test_a_player_s_games_at_the_other_server_show_what_is_opened_joined_and_started_at_the_one(
    follow: Follow, both: Both
) -> None:
    ada, bert = await both.register("Ada"), await both.register("Bert")
    async with aclosing(follow(MINE, token=bert.other.token)) as changes:
        own = accepted(await do(bert.one, "openTicitaire"))["game"]
        assert await told(changes) == {
            "awaitingYou": True,
            "version": own["version"],
            "game": {"id": own["id"], "status": "PLAYING"},
        }
        table = accepted(await do(ada.one, "openTickle", seating="AS_JOINED"))["game"]
        joined = accepted(await do(bert.one, "joinGame", table))["game"]
        assert (await told(changes))["version"] == joined["version"]
        begun = accepted(await do(ada.one, "startGame", table))["game"]
        shown = await told(changes)
        assert (shown["version"], shown["awaitingYou"]) == (begun["version"], False)
        await do(ada.one, "resignGame", begun)
        assert (await told(changes))["game"] == {"id": table["id"], "status": "FINISHED"}
