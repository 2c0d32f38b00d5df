"""Whoever follows a game at one server is told what is played at the other."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

from tests.api.company import do, started_by
from tests.client import PATIENCE, Client, connected, over_events, over_socket
from tests.servers.pair import Both, Pair, accepted, turned

EVENTS = "subscription ($id: ID!, $after: Int = 0) { gameEvents(gameId: $id, afterSeq: $after) { seq hash bytes } }"
CHANGES = "subscription ($id: ID!) { gameChanged(gameId: $id) { version hash status viewerSeat } }"
EVENT = "seq hash bytes"
REVOKE = "mutation ($id: ID!) { revokeToken(input: {tokenId: $id}) { __typename } }"

Follow = Callable[..., AsyncGenerator[Any]]


@pytest.fixture(params=[over_socket, over_events], ids=["graphql-transport-ws", "server-sent events"])
def follow(request: pytest.FixtureRequest, pair: Pair) -> Follow:
    """Follows a subscription at the other server, over either transport."""
    return partial(request.param, pair.other.address)


@pytest.fixture
async def ada(both: Both) -> Both:
    return await both.register()


@pytest.fixture
async def game(ada: Both) -> Any:
    return accepted(await do(ada.one, "openTicitaire"))["game"]


async def heard(results: AsyncGenerator[Any]) -> list[Any]:
    """What a subscription without errors tells until it completes."""
    async with asyncio.timeout(2 * PATIENCE), aclosing(results):
        return [next(iter(result["data"].values())) async for result in results]


async def heard_during(playing: Coroutine[Any, Any, None], followers: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """What each follower is told while a game is played."""
    *told, _ = await asyncio.gather(*followers, playing)
    return told


async def played_to_the_end(players: Both, game: Any, moves: int) -> None:
    """Turn the stock at the servers by turns, then give up at the one."""
    accepted(await do(players.one, "giveUpTicitaire", await turned(players, game, moves)))


# --- events ---


async def test_a_follower_of_the_other_server_is_told_every_event_in_order(
    follow: Follow, both: Both, ada: Both, game: Any
) -> None:
    game = await turned([ada.one], game, 5)

    async def play_at_the_one() -> None:
        accepted(await do(ada.one, "giveUpTicitaire", await turned([ada.one], game, 40)))

    told, _ = await asyncio.gather(heard(follow(EVENTS, id=game["id"])), play_at_the_one())
    assert [event["seq"] for event in told] == list(range(1, 52))
    assert told == await both.one.history(game["id"], fields=EVENT)


async def test_a_follower_of_the_other_server_is_told_of_a_move_soon(follow: Follow, ada: Both, game: Any) -> None:
    waits = []
    async with asyncio.timeout(2 * PATIENCE), aclosing(follow(EVENTS, id=game["id"], after=2)) as told:
        assert (await anext(told))["data"]["gameEvents"]["seq"] == 3
        for seq in range(4, 14):
            game = await turned([ada.one], game, 1)
            acknowledged = time.monotonic()
            assert (await anext(told))["data"]["gameEvents"]["seq"] == seq
            waits.append(time.monotonic() - acknowledged)
    assert statistics.median(waits) < 1


async def test_many_followers_of_both_servers_are_told_everything_while_both_play(
    pair: Pair, both: Both, ada: Both, game: Any
) -> None:
    async def join(version: int, results: AsyncGenerator[Any]) -> list[Any]:
        """Follow from the beginning, but come only when the game has got so far."""
        while (await both.one.game(game["id"], "version"))["version"] < version:  # noqa: ASYNC110 - a poll is meant
            await asyncio.sleep(0.02)
        return await heard(results)

    places = [(over_socket, pair.other)] * 10 + [(over_events, pair.other)] * 3 + [(over_socket, pair.one)] * 3
    followers = [
        join(3 + number, transport(server.address, EVENTS, id=game["id"]))
        for number, (transport, server) in enumerate(places)
    ]
    told = await heard_during(played_to_the_end(ada, game, 25), followers)
    assert told == [await both.one.history(game["id"], fields=EVENT)] * 16
    assert len(told[0]) == 31


async def test_a_follower_who_changes_servers_at_every_event_misses_none_and_is_told_none_twice(
    pair: Pair, both: Both, ada: Both, game: Any
) -> None:
    async def wander() -> list[Any]:
        told = list[Any]()
        while len(told) < 23:
            server = (pair.one, pair.other)[len(told) % 2]
            async with aclosing(over_socket(server.address, EVENTS, id=game["id"], after=len(told))) as results:
                told.append((await anext(results))["data"]["gameEvents"])
        return told

    async with asyncio.timeout(2 * PATIENCE):
        told, _ = await asyncio.gather(wander(), turned(ada, game, 20))
    assert told == await both.one.history(game["id"], fields=EVENT)


# --- changes ---


async def test_a_follower_of_the_other_server_is_shown_the_game_as_it_changes(
    follow: Follow, ada: Both, game: Any
) -> None:
    async with asyncio.timeout(2 * PATIENCE), aclosing(follow(CHANGES, token=ada.other.token, id=game["id"])) as shown:
        assert (await anext(shown))["data"]["gameChanged"]["version"] == 3
        for _ in range(5):
            outcome = accepted(await do(ada.one, "turnTicitaireStock", game))
            game = outcome["game"]
            expected = {"version": game["version"], "hash": outcome["hash"], "status": "PLAYING", "viewerSeat": 1}
            assert (await anext(shown))["data"]["gameChanged"] == expected
        accepted(await do(ada.one, "giveUpTicitaire", game))
        assert [result["data"]["gameChanged"]["status"] async for result in shown] == ["FINISHED"]


async def test_the_versions_that_are_shown_while_both_servers_play_only_grow_to_the_last(
    follow: Follow, ada: Both, game: Any
) -> None:
    followers = [heard(follow(CHANGES, id=game["id"])) for _ in range(10)]
    shown = await heard_during(played_to_the_end(ada, game, 30), followers)
    versions = [[view["version"] for view in views] for views in shown]
    assert versions == [sorted(set(seen)) for seen in versions]
    assert [seen[-1] for seen in versions] == [36] * 10


# --- a whole game ---


TABLE = "version legalActions { mutation } ... on TickleGame { turn { seat } }"
BEST = "... on TickleGame { laydowns(first: 1) { nodes { cards { x y card { name } } } } }"


async def play_turn(player: Client, game: Any, table: Any) -> None:
    """Lay the best cards that a search finds, or else draw, or decline."""
    at = {"id": game["id"], "version": table["version"]}
    if best := (await player.game(game["id"], BEST))["laydowns"]["nodes"]:
        cards = [{"x": one["x"], "y": one["y"], "card": one["card"]["name"]} for one in best[0]["cards"]]
        accepted(await do(player, "layTickleCards", at, cards=cards))
        return
    open_to_him = {action["mutation"] for action in table["legalActions"]}
    (mutation,) = open_to_him & {"drawTickleCard", "declineTickleLaydown"}
    accepted(await do(player, mutation, at))


async def test_two_players_each_at_a_server_of_his_own_play_a_game_that_followers_of_both_see(
    pair: Pair, both: Both, ada: Both
) -> None:
    bob = await both.register("Bob")
    players = {1: ada.one, 2: bob.other}
    game = await started_by(*players.values(), deck="HALF", seating="AS_JOINED", target=60)

    async def play() -> None:
        seat = 1
        while (table := await players[seat].game(game["id"], TABLE))["turn"] is not None:
            if table["turn"]["seat"] == seat:
                await play_turn(players[seat], game, table)
            else:
                seat = table["turn"]["seat"]

    followers = [heard(over_socket(server.address, EVENTS, id=game["id"])) for server in (pair.one, pair.other)]
    told = await heard_during(play(), followers)
    assert told == [await both.one.history(game["id"], fields=EVENT)] * 2
    laydowns = await both.one.history(game["id"], fields="fact { ... on TickleLaydownPlayed { seat } }")
    assert {event["fact"].get("seat") for event in laydowns} == {None, 1, 2}


# --- tokens ---


async def revoke(player: Client) -> None:
    """Revoke the token that a player calls with."""
    (token,) = (await player.ask("{ viewer { tokens { id } } }"))["viewer"]["tokens"]
    assert (await player.ask(REVOKE, id=token["id"]))["revokeToken"]["__typename"] == "TokenRevoked"


async def test_a_token_revoked_at_one_server_closes_its_sockets_at_the_other(pair: Pair, ada: Both, game: Any) -> None:
    address = pair.other.address
    async with connected(address, ada.other.token) as idle, connected(address, ada.other.token) as busy:
        await busy.subscribe(EVENTS, id=game["id"])
        assert (await busy.next())["seq"] == 1
        await revoke(ada.one)
        assert [await idle.closing(), await busy.closing()] == [(4403, "The token was revoked")] * 2


async def test_a_token_revoked_at_one_server_ends_its_event_streams_at_the_other(
    pair: Pair, ada: Both, game: Any
) -> None:
    told = over_events(pair.other.address, EVENTS, token=ada.other.token, id=game["id"], after=2)
    async with asyncio.timeout(PATIENCE), aclosing(told):
        assert (await anext(told))["data"]["gameEvents"]["seq"] == 3
        await revoke(ada.one)
        (last,) = [result async for result in told]
    assert last["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_when_its_socket_is_closed_a_token_is_turned_away_by_both_servers(pair: Pair, ada: Both) -> None:
    async with connected(pair.other.address, ada.other.token) as socket:
        await revoke(ada.one)
        await socket.closing()
    assert [(await client.post("{ viewer { scopes } }")).status_code for client in ada] == [401, 401]


async def test_a_token_revoked_at_one_server_leaves_the_sockets_of_others_alone(
    pair: Pair, both: Both, ada: Both, game: Any
) -> None:
    bob = await both.register("Bob")
    address = pair.other.address
    async with connected(address, ada.other.token) as adas, connected(address, bob.other.token) as bobs:
        await adas.subscribe(EVENTS, id=game["id"], after=3)
        await revoke(bob.one)
        assert (await bobs.closing())[0] == 4403
        await turned([ada.one], game, 1)
        assert (await adas.next())["seq"] == 4
