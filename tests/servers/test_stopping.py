"""A server goes away in the middle of everything: the others go on, and what it was asked can be asked again there.

One departure each way, of a third server, looked at from all sides.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.api.company import do
from tests.client import PATIENCE, Client, Socket, connected
from tests.server import Server, serving
from tests.servers.pair import APPENDS, Both, Pair, accepted, calling, holding, log_size, turned

EVENTS = "subscription ($id: ID!, $after: Int = 0) { gameEvents(gameId: $id, afterSeq: $after) { seq hash } }"
KEY = "asked-of-a-server-that-goes"
MOVES = 6
"""That are under way when the server goes, each in a game of its own."""
LENGTH = 20
"""Of the game that is followed meanwhile: events."""


@dataclass
class Departure:
    """What was seen of it."""

    how: signal.Signals
    before: Any = None
    """The outcome of a move that was played before the server came."""
    known: Any = None
    """What the server answered when that move was sent to it again with its key."""
    asked: list[Any] = field(default_factory=list)
    """Its answers to moves that were under way when it went; None for what it did not answer any more."""
    again: list[Any] = field(default_factory=list)
    """What another server answered to the same requests meanwhile."""
    once_more: list[Any] = field(default_factory=list)
    """What the first one answered to the same requests afterwards."""
    appended: int = 0
    """Events that came of it all."""
    status: int | None = None
    """With which the server ended."""
    told: list[Any] = field(default_factory=list)
    """What a follower was told by it, and by another server after it."""
    record: list[Any] = field(default_factory=list)
    """The events of the game that was followed."""


async def _answered(request: Coroutine[Any, Any, Any]) -> Any:
    with suppress(httpx.TransportError):
        return accepted(await request)


async def _told_until_it_went(socket: Socket) -> list[Any]:
    told = list[Any]()
    with suppress(ConnectionClosed):
        while True:
            told.append(await socket.next())
    return told


async def _moves_under_way(leaving: Server, pair: Pair, ada: Both, seen: Departure) -> None:
    database_url = pair.settings["DATABASE_URL"]
    games = [accepted(await do(ada[number % 2], "openTicitaire"))["game"] for number in range(MOVES)]
    before = await log_size(database_url)

    def moves(player: Client) -> list[Coroutine[Any, Any, Any]]:
        return [do(player, "turnTicitaireStock", game, idempotencyKey=KEY) for game in games]

    async with calling(leaving) as nobody, asyncio.TaskGroup() as group:
        async with holding(database_url, APPENDS) as appends:
            asked = [group.create_task(_answered(move)) for move in moves(Client(nobody.http, ada.one.token))]
            await appends.awaited_by(1)
            leaving.process.send_signal(seen.how)
            if seen.how == signal.SIGKILL:  # what it has sent is still under way in the database, and its reply is lost
                await asyncio.to_thread(leaving.process.wait, PATIENCE)
            again = [group.create_task(_answered(move)) for move in moves(ada.other)]
            await appends.awaited_by(2)
        seen.status = await asyncio.to_thread(leaving.process.wait, 2 * PATIENCE)
    seen.asked, seen.again = [task.result() for task in asked], [task.result() for task in again]
    seen.once_more = await asyncio.gather(*moves(ada.one))
    seen.appended = await log_size(database_url) - before


async def _live_through(pair: Pair, how: signal.Signals) -> Departure:
    seen = Departure(how)
    async with calling(pair.one) as one, calling(pair.other) as other:
        ada = await Both(one, other).register()
        game = accepted(await do(ada.one, "openTicitaire"))["game"]
        seen.before = accepted(await do(ada.one, "turnTicitaireStock", game, idempotencyKey=KEY))
        with serving(pair.settings) as leaving:
            async with calling(leaving) as nobody:
                player = Client(nobody.http, ada.one.token)
                seen.known = await do(player, "turnTicitaireStock", game, idempotencyKey=KEY)
            async with connected(leaving.address) as socket:
                await socket.subscribe(EVENTS, id=game["id"])
                game = await turned(ada, seen.before["game"], 3)
                seen.told = [await socket.next() for _ in range(7)]
                await _moves_under_way(leaving, pair, ada, seen)
                game = await turned(ada, game, 10)
                seen.told += await _told_until_it_went(socket)
        async with connected(pair.other.address) as socket:
            await socket.subscribe(EVENTS, id=game["id"], after=len(seen.told))
            accepted(await do(ada.one, "giveUpTicitaire", game))
            seen.told += [await socket.next() for _ in range(LENGTH - len(seen.told))]
        seen.record = await ada.one.history(game["id"], fields="seq hash")
    return seen


@pytest.fixture(scope="module", params=[signal.SIGTERM, signal.SIGKILL], ids=["asked to stop", "killed"])
def departure(request: pytest.FixtureRequest, pair: Pair) -> Departure:
    return asyncio.run(_live_through(pair, request.param))


def test_it_knew_when_it_came_what_the_others_had_answered(departure: Departure) -> None:
    assert departure.known == {**departure.before, "repeated": True}


def test_it_ended_as_it_was_told(departure: Departure) -> None:
    assert departure.status == {signal.SIGTERM: 0, signal.SIGKILL: -signal.SIGKILL}[departure.how]


def test_it_answered_what_it_had_begun_unless_it_was_killed(departure: Departure) -> None:
    assert {answer is not None for answer in departure.asked} == {departure.how == signal.SIGTERM}


def test_moves_under_way_there_have_one_effect_when_they_are_sent_again_to_another(departure: Departure) -> None:
    assert [answer["version"] for answer in departure.again] == [4] * MOVES
    assert departure.appended == MOVES


def test_everyone_who_was_answered_has_the_same_answer(departure: Departure) -> None:
    for answers in zip(departure.asked, departure.again, departure.once_more, strict=True):
        told = [{**answer, "repeated": None} for answer in answers if answer is not None]
        assert told == [told[0]] * len(told)


def test_afterwards_the_others_know_that_it_was_done(departure: Departure) -> None:
    assert [answer["repeated"] for answer in departure.once_more] == [True] * MOVES


def test_whoever_followed_a_game_there_misses_nothing_at_another(departure: Departure) -> None:
    assert departure.told == departure.record
    assert len(departure.record) == LENGTH
