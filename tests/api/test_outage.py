"""The database goes away and comes back: every operation says so at once, and the same server goes on afterwards.

One outage of a PostgreSQL that these tests have to themselves, looked at from all sides.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from api.embedded_postgres import embedded_postgres
from tests.client import Client, Socket, connected
from tests.conftest import in_memory, listening, started

SOON = 6.0
"""Seconds within which an operation must say that the database is away: the patience of the pool, and some."""

TURN = "mutation ($input: MoveInput!) { turnTicitaireStock(input: $input) { __typename } }"
EVENTS = "subscription ($id: ID!) { gameEvents(gameId: $id, afterSeq: 3) { seq } }"
CHANGES = "subscription ($id: ID!) { gameChanged(gameId: $id) { version } }"


@dataclass
class Outage:
    """What was seen of it."""

    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The status and the code of each operation while the database was away."""
    slowest: float = 0.0
    """Seconds that the slowest of them took."""
    health: int = 0
    """The status of /healthz meanwhile."""
    again: Any = None
    """The outcome of the move that had not been answered, sent with its key until it was, and once more."""
    events: list[int] = field(default_factory=list)
    """What a subscriber from before heard of the moves afterwards."""
    newest: int = 0
    """The version that a subscriber of the game's state from before was shown last."""
    listed: int = 0
    """The game's version in the list of games, once that had followed."""


async def _answered(call: Awaitable[Any]) -> tuple[int, str, float]:
    began = time.monotonic()
    answer = await call
    code = answer.json()["errors"][0]["extensions"]["code"]
    return answer.status_code, code, time.monotonic() - began


async def _eventually(attempt: Callable[[], Awaitable[Any]]) -> None:
    """Try an operation until it is answered without errors."""
    async with asyncio.timeout(20):
        while "errors" in (await attempt()).json():  # noqa: ASYNC110 - the database tells nobody that it is back
            await asyncio.sleep(0.1)


async def _while_away(outage: Outage, ada: Client, anyone: Client, game: Any, move: dict[str, Any]) -> None:
    operations = {
        "a game": ada.post("query ($id: ID!) { game(id: $id) { version } }", id=game["id"]),
        "the list of games": ada.post("{ games { nodes { id } } }"),
        "the caller's tokens": ada.post("{ viewer { tokens { id } } }"),
        "a player": ada.post("{ viewer { player { name } } }"),
        "a move": ada.post(TURN, input=move),
        "opening a game": ada.post("mutation { openTicitaire(input: {}) { __typename } }"),
        "giving up": ada.post(
            "mutation ($id: ID!) { giveUpTicitaire(input: {gameId: $id}) { __typename } }", id=game["id"]
        ),
        "registering": anyone.post('mutation { registerPlayer(input: {name: "Bob"}) { __typename } }'),
        "a token never seen before": Client(anyone.http, "tic_unknown").post("{ serverInfo { version } }"),
    }
    answers = await asyncio.gather(*map(_answered, operations.values()))
    outage.answers = {what: answer[:2] for what, answer in zip(operations, answers, strict=True)}
    outage.slowest = max(seconds for *_, seconds in answers)
    outage.health = (await anyone.http.get("/healthz")).status_code


async def _afterwards(outage: Outage, ada: Client, game: Any, move: dict[str, Any], sockets: list[Socket]) -> None:
    await _eventually(lambda: ada.post(TURN, input=move))
    outage.again = await ada.mutate("turnTicitaireStock", **move)
    played = await ada.play("turnTicitaireStock", outage.again["game"])
    events, changes = sockets
    outage.events = [(await events.next())["seq"] for _ in range(2)]
    while outage.newest < played["version"]:
        outage.newest = (await changes.next())["version"]
    async with asyncio.timeout(20):
        while outage.listed < played["version"]:
            await asyncio.sleep(0.05)
            # Where the list had not even the game before the outage, it is still empty.
            lines = (await ada.ask("{ games { nodes { version } } }"))["games"]["nodes"]
            outage.listed = max((line["version"] for line in lines), default=0)


async def _live_through(folder: Path) -> Outage:
    outage, database = Outage(), ExitStack()
    url = await asyncio.to_thread(database.enter_context, embedded_postgres(folder))
    try:
        async with (
            started(url) as app,
            in_memory(app) as anyone,
            listening(app) as address,
            connected(address) as events,
            connected(address) as changes,
        ):
            ada = await anyone.register()
            game = (await ada.open_ticitaire())["game"]
            await events.subscribe(EVENTS, id=game["id"])
            await changes.subscribe(CHANGES, id=game["id"])
            game = (await ada.play("turnTicitaireStock", game))["game"]
            assert (await events.next())["seq"] == 4
            while (await changes.next())["version"] < 4:
                pass
            move = {"gameId": game["id"], "expectedVersion": 4, "idempotencyKey": "in the outage"}
            await asyncio.to_thread(database.close)
            await _while_away(outage, ada, anyone, game, move)
            await asyncio.to_thread(database.enter_context, embedded_postgres(folder))
            await _afterwards(outage, ada, game, move, [events, changes])
    finally:
        await asyncio.to_thread(database.close)
    return outage


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Outage:
    return asyncio.run(_live_through(tmp_path_factory.mktemp("outage") / "postgres"))


def test_while_the_database_is_away_every_operation_says_so(outage: Outage) -> None:
    assert {what: code for what, (_, code) in outage.answers.items()} == dict.fromkeys(outage.answers, "UNAVAILABLE")
    assert len(outage.answers) == 9


def test_it_is_said_with_the_status_that_asks_to_come_back(outage: Outage) -> None:
    # An operation that has begun is answered by a GraphQL response, and only a caller who can't be told from others
    # is turned away before it begins.
    assert outage.answers["a token never seen before"] == (503, "UNAVAILABLE")
    assert {status for status, _ in outage.answers.values()} == {200, 503}


def test_it_is_said_soon(outage: Outage) -> None:
    assert outage.slowest < SOON


def test_the_server_itself_stays_healthy(outage: Outage) -> None:
    assert outage.health == 200


def test_afterwards_a_move_that_was_not_answered_is_sent_again_and_has_one_effect(outage: Outage) -> None:
    assert (outage.again["repeated"], outage.again["version"]) == (True, 5)


def test_subscribers_to_events_miss_nothing_and_need_not_come_back(outage: Outage) -> None:
    assert outage.events == [5, 6]


def test_subscribers_to_the_state_are_shown_the_newest(outage: Outage) -> None:
    assert outage.newest == 6


def test_the_list_of_games_follows_again(outage: Outage) -> None:
    assert outage.listed == 6
