"""Erasing one's account: out of every game first, then name and tokens, everywhere and at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from api.accounts import TRUSTED_SECONDS, Accounts, Scope
from api.erasing import Erasure
from api.ids import read_id
from domain.application import Games
from domain.storage import Datastore
from domain.ticitaire.rules import OpenTicitaire
from tests.api.company import id_of, opened, started_by
from tests.api.finished import give_up, id_of_player, listed_as_finished, resigned
from tests.api.poker_evening import poker_started
from tests.client import Client, connected, over_events

ERASE = """
mutation ($id: ID!) { erasePlayer(input: {playerId: $id}) {
  __typename ... on PlayerErased { gamesLeft player { uuid name displayName } } ... on UserError { code message path }
} }
"""
STATUS = "status seats { player { name displayName } } players { displayName }"
WATCH = "subscription ($id: ID!) { gameChanged(gameId: $id) { version } }"


async def erased(client: Client) -> Any:
    return (await client.ask(ERASE, id=await id_of_player(client)))["erasePlayer"]


async def turned_away(client: Client) -> bool:
    answer = await client.post("{ viewer { scopes } }")
    return answer.status_code == 401 and answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def status(client: Client, game: Any) -> str:
    return str((await client.game(game["id"], "status"))["status"])


@pytest.fixture
async def ada(client: Client) -> Client:
    return await client.register("Ada")


@pytest.fixture
async def bob(client: Client) -> Client:
    return await client.register("Bob")


# --- the account ---


async def test_an_erased_account_has_no_name_and_a_pseudonym(client: Client, ada: Client) -> None:
    uuid = read_id(await id_of_player(ada), "player")[1]
    assert await erased(ada) == {
        "__typename": "PlayerErased",
        "gamesLeft": 0,
        "player": {"uuid": str(uuid), "name": None, "displayName": f"Erased player {uuid.hex[:6]}"},
    }


async def test_every_token_of_the_account_is_turned_away(client: Client, ada: Client) -> None:
    issued = await ada.ask("mutation { issueToken(input: {}) { ... on TokenIssued { token } } }")
    other = replace(ada, token=issued["issueToken"]["token"])
    assert not await turned_away(other)
    await erased(ada)
    assert [await turned_away(ada), await turned_away(other)] == [True, True]


async def test_connections_of_the_account_are_ended(client: Client, ada: Client, bob: Client, address: str) -> None:
    game = (await bob.open_ticitaire())["game"]
    told = over_events(address, WATCH, token=ada.token, id=game["id"])
    async with connected(address, ada.token) as socket, asyncio.timeout(10):
        await anext(told)
        await erased(ada)
        assert await socket.closing() == (4403, "The token was revoked")
        (last,) = [result async for result in told]
    assert last["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_others_are_left_alone(client: Client, ada: Client, bob: Client) -> None:
    await erased(ada)
    assert not await turned_away(bob)
    assert (await bob.ask("{ viewer { player { name } } }"))["viewer"]["player"]["name"] == "Bob"


async def test_nobody_erases_another_account(client: Client, ada: Client, bob: Client) -> None:
    for id in (await id_of_player(bob), "", "x", id_of("game", "x")):
        refused = (await ada.ask(ERASE, id=id))["erasePlayer"]
        assert (refused["__typename"], refused["code"]) == ("InvalidInput", "INVALID_INPUT")
        assert refused["path"] == ["input", "playerId"]
    assert [await turned_away(ada), await turned_away(bob)] == [False, False]


async def test_nobody_erases_an_account_without_a_token(client: Client, ada: Client) -> None:
    error = await client.error(ERASE, id=await id_of_player(ada))
    assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_token_that_may_not_play_erases_nothing(client: Client, ada: Client, datastore: Datastore) -> None:
    id = await id_of_player(ada)
    auditor = replace(ada, token=Accounts(datastore).issue(read_id(id)[1], [Scope.AUDIT]))
    assert (await auditor.error(ERASE, id=id))["extensions"]["code"] == "FORBIDDEN"
    assert not await turned_away(ada)


# --- the games ---


async def test_a_game_is_left_in_whatever_state_it_is(client: Client, ada: Client, bob: Client) -> None:
    hosted, joined = await opened(ada, bob), await opened(bob, ada)
    played, poker = await started_by(ada, bob), await poker_started(bob, ada)
    alone = (await ada.open_ticitaire())["game"]
    assert (await erased(ada))["gamesLeft"] == 5
    found = [await status(client, game) for game in (hosted, joined, played, poker, alone)]
    assert found == ["CANCELLED", "OPEN", "FINISHED", "FINISHED", "FINISHED"]
    assert (await client.game(joined["id"], "players { name }"))["players"] == [{"name": "Bob"}]


async def test_a_game_of_several_goes_on_without_the_player(client: Client, ada: Client, bob: Client) -> None:
    cyd = await client.register("Cyd")
    game = await started_by(ada, bob, cyd)
    assert (await erased(ada))["gamesLeft"] == 1
    assert await status(client, game) == "PLAYING"


async def test_a_game_that_the_player_had_resigned_is_no_game_to_leave(
    client: Client, ada: Client, bob: Client
) -> None:
    cyd = await client.register("Cyd")
    game = await started_by(ada, bob, cyd)
    await ada.ask("mutation ($id: ID!) { resignGame(input: {gameId: $id}) { __typename } }", id=game["id"])
    assert (await erased(ada))["gamesLeft"] == 0
    assert await turned_away(ada)


async def test_games_that_are_over_stay_whole(client: Client, ada: Client, bob: Client) -> None:
    over = await resigned(bob, ada)
    before = await client.history(over["id"])
    assert (await erased(ada))["gamesLeft"] == 0
    assert await client.history(over["id"]) == before


async def test_more_games_than_a_page_are_left(client: Client, ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.erasing.PAGE", 2)
    games = [(await ada.open_ticitaire())["game"] for _ in range(5)]
    assert (await erased(ada))["gamesLeft"] == 5
    assert {await status(client, game) for game in games} == {"FINISHED"}


async def test_who_is_erased_still_stands_on_scoreboards(client: Client, ada: Client, bob: Client) -> None:
    id = await id_of_player(ada)
    await listed_as_finished(client, await give_up(ada), await resigned(ada, bob))
    pseudonym = (await erased(ada))["player"]["displayName"]
    query = "{ scoreboard(board: TICKLE_WINS) { lines { nodes { place player { id displayName } } } } }"
    lines = (await client.ask(query))["scoreboard"]["lines"]["nodes"]
    assert lines[0] == {"place": 1, "player": {"id": id, "displayName": pseudonym}}
    played = "query ($id: ID!) { player(id: $id) { displayName history { nodes { game { id } } } } }"
    shown = (await client.ask(played, id=id))["player"]
    assert (shown["displayName"], len(shown["history"]["nodes"])) == (pseudonym, 2)


async def test_replays_call_an_erased_player_by_the_pseudonym(client: Client, ada: Client, bob: Client) -> None:
    game = await resigned(bob, ada)
    pseudonym = (await erased(ada))["player"]["displayName"]
    query = "query ($id: ID!) { replay(gameId: $id) { positions(first: 100) { nodes { words(names: true) } } } }"
    told = (await client.ask(query, id=game["id"]))["replay"]["positions"]["nodes"]
    assert any(pseudonym in position["words"] for position in told)


async def test_what_was_begun_with_a_token_that_was_still_trusted_is_left_in_a_while(
    games: Games, datastore: Datastore, ada: Client
) -> None:
    player = read_id(await id_of_player(ada), "player")[1]
    planned: list[tuple[float, Callable[[], None]]] = []
    erasure = Erasure(datastore, games, Accounts(datastore), later=lambda *plan: planned.append(plan))
    await asyncio.to_thread(erasure.erase, player)
    begun = await asyncio.to_thread(games.open, "ticitaire", OpenTicitaire(player=player), player=player, key=None)
    ((seconds, leave),) = planned
    assert seconds > TRUSTED_SECONDS
    await asyncio.to_thread(leave)
    assert games.game(begun.game.id).table.over


async def test_tokens_are_issued_and_revoked_while_players_are_being_erased(
    client: Client, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take long, for whoever has many games; and a token that is to be revoked may be in wrong hands."""
    go_on, erase = threading.Event(), Erasure.erase

    def erase_later(erasure: Erasure, player: UUID) -> tuple[bool, int]:
        assert go_on.wait(20)
        return erase(erasure, player)

    monkeypatch.setattr(Erasure, "erase", erase_later)
    players = [await client.register(name) for name in ("Ada", "Cleo", "Dora")]
    async with asyncio.TaskGroup() as group:
        under_way = [group.create_task(erased(player)) for player in players]
        try:
            async with asyncio.timeout(10):
                answer = await bob.ask(
                    "mutation { issueToken(input: {scopes: [PLAY]}) { __typename ... on UserError { code } } }"
                )
        finally:
            go_on.set()
    assert answer["issueToken"]["__typename"] == "TokenIssued"
    assert [task.result()["__typename"] for task in under_way] == ["PlayerErased"] * 3


async def test_erasing_again_does_no_harm(games: Games, datastore: Datastore, ada: Client) -> None:
    player = read_id(await id_of_player(ada), "player")[1]
    await ada.open_ticitaire()
    erasure = Erasure(datastore, games, Accounts(datastore))
    first = await asyncio.to_thread(erasure.erase, player)
    assert (first, await asyncio.to_thread(erasure.erase, player)) == ((True, 1), (False, 0))
