"""Players and their tokens: what is kept of them, what they are good for, and how they end."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from api.accounts import Accounts, Scope
from domain.storage import Datastore
from tests.client import Client, Socket, connected, over_events

REGISTER = """
mutation ($name: String!) {
  registerPlayer(input: {name: $name}) {
    __typename
    ... on PlayerRegistered { token player { id uuid name } }
    ... on UserError { code message path }
  }
}
"""
REVOKE = """
mutation ($id: ID) {
  revokeToken(input: {tokenId: $id}) {
    __typename ... on TokenRevoked { tokenId } ... on UserError { code path }
  }
}
"""
TOKENS = "{ viewer { tokens { id scopes current issuedAt } } }"
ISSUE = "mutation { issueToken(input: {}) { ... on TokenIssued { token } } }"
EVENTS = "subscription ($id: ID!) { gameEvents(gameId: $id) { seq } }"


async def register(client: Client, name: str = "Ada") -> tuple[Client, Any]:
    answer = (await client.ask(REGISTER, name=name))["registerPlayer"]
    return replace(client, token=answer["token"]), answer["player"]


async def tokens(caller: Client) -> list[Any]:
    found: list[Any] = (await caller.ask(TOKENS))["viewer"]["tokens"]
    return found


def another_server(datastore: Datastore) -> Accounts:
    """The accounts as another server process knows them, on the same database."""
    return Accounts(datastore)


# --- registering ---


async def test_a_new_player_is_the_viewer_and_may_play(client: Client) -> None:
    ada, player = await register(client)
    viewer = (await ada.ask("{ viewer { player { id uuid name } scopes } }"))["viewer"]
    assert viewer == {"player": player, "scopes": ["PLAY"]}


async def test_without_a_token_there_is_no_viewer(client: Client) -> None:
    assert await client.ask("{ viewer { scopes } }") == {"viewer": None}


async def test_a_token_is_stored_as_its_sha_256_and_nothing_else(client: Client, database_url: str) -> None:
    ada, _ = await register(client)
    assert ada.token is not None
    with psycopg.connect(database_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = "".join(str(connection.execute(f'SELECT * FROM "{table}"'.encode()).fetchall()) for (table,) in tables)
    assert hashlib.sha256(ada.token.encode()).hexdigest() in rows
    assert ada.token not in rows


async def test_a_token_is_never_told_again(client: Client) -> None:
    ada, _ = await register(client)
    assert ada.token is not None
    assert ada.token not in str(await tokens(ada))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("Ada", "Ada"), ("  Ada \t Lovelace\n", "Ada Lovelace"), ("今日は", "今日は"), ("x" * 50, "x" * 50)],
)
async def test_a_name_is_kept_without_superfluous_space(client: Client, given: str, kept: str) -> None:
    assert (await register(client, given))[1]["name"] == kept


async def test_a_name_that_is_none_is_invalid_input(client: Client) -> None:
    names = ["", " \n ", "x" * 51, "A\x00da", "A\x1b[31mda", "A\u202eda", "A\u200bda"]
    refused = [(await client.ask(REGISTER, name=name))["registerPlayer"] for name in names]
    assert [(one["__typename"], one["code"], one["path"]) for one in refused] == [
        ("InvalidInput", "INVALID_INPUT", ["input", "name"])
    ] * len(names)


async def test_a_player_is_found_by_the_id(client: Client) -> None:
    _, player = await register(client)
    found = await client.ask("query ($id: ID!) { node(id: $id) { id ... on Player { name } } }", id=player["id"])
    assert found == {"node": {"id": player["id"], "name": "Ada"}}


# --- tokens ---


@pytest.mark.parametrize(
    "credentials", ["Bearer tic_unknown", "Bearer", "Basic YWRhOmFkYQ==", "tic_unknown", "Bearer a b", ""]
)
async def test_a_token_that_is_none_is_turned_away_whatever_is_asked(client: Client, credentials: str) -> None:
    answer = await replace(client, headers={"Authorization": credentials}).post("{ serverInfo { version } }")
    assert answer.status_code == 401
    assert [error["extensions"]["code"] for error in answer.json()["errors"]] == ["UNAUTHENTICATED"]
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_tokens_are_listed_the_newest_first_and_the_current_one_is_marked(client: Client) -> None:
    ada, _ = await register(client)
    await ada.ask(ISSUE)
    listed = await tokens(ada)
    assert [(token["current"], token["scopes"]) for token in listed] == [(False, ["PLAY"]), (True, ["PLAY"])]
    assert listed[0]["issuedAt"] > listed[1]["issuedAt"]


async def test_an_issued_token_is_of_the_same_player(client: Client) -> None:
    ada, player = await register(client)
    other = replace(ada, token=(await ada.ask(ISSUE))["issueToken"]["token"])
    assert (await other.ask("{ viewer { player { id } } }"))["viewer"]["player"]["id"] == player["id"]


async def test_a_token_without_the_scope_may_not_play(client: Client, datastore: Datastore) -> None:
    ada, player = await register(client)
    auditor = replace(ada, token=another_server(datastore).issue(UUID(player["uuid"]), [Scope.AUDIT]))
    error = await auditor.error("mutation { openTicitaire(input: {}) { __typename } }")
    assert (error["extensions"]["code"], "play" in error["message"]) == ("FORBIDDEN", True)


async def test_a_token_gives_no_other_token_more_scopes_than_it_has(client: Client, datastore: Datastore) -> None:
    ada, player = await register(client)
    auditor = replace(ada, token=another_server(datastore).issue(UUID(player["uuid"]), [Scope.AUDIT]))
    issued = replace(ada, token=(await auditor.ask(ISSUE))["issueToken"]["token"])
    assert (await issued.ask("{ viewer { scopes } }"))["viewer"]["scopes"] == ["AUDIT"]


# --- revoking ---


async def test_a_revoked_token_is_turned_away(client: Client) -> None:
    ada, _ = await register(client)
    assert (await ada.ask(REVOKE))["revokeToken"]["__typename"] == "TokenRevoked"
    answer = await ada.post("{ viewer { scopes } }")
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


async def test_another_token_of_ones_own_is_revoked_by_its_id(client: Client) -> None:
    ada, _ = await register(client)
    other = replace(ada, token=(await ada.ask(ISSUE))["issueToken"]["token"])
    (named,) = [token["id"] for token in await tokens(ada) if not token["current"]]
    assert (await ada.ask(REVOKE, id=named))["revokeToken"] == {"__typename": "TokenRevoked", "tokenId": named}
    assert (await other.post("{ __typename }")).status_code == 401
    assert [token["current"] for token in await tokens(ada)] == [True]


async def test_a_token_of_another_player_can_not_be_revoked(client: Client) -> None:
    (ada, _), (bob, _) = await register(client, "Ada"), await register(client, "Bob")
    (token,) = await tokens(bob)
    refused = (await ada.ask(REVOKE, id=token["id"]))["revokeToken"]
    assert refused == {"__typename": "InvalidInput", "code": "INVALID_INPUT", "path": ["input", "tokenId"]}
    assert len(await tokens(bob)) == 1


async def test_a_token_id_that_is_none_is_invalid_input(client: Client) -> None:
    ada, _ = await register(client)
    refused = [(await ada.ask(REVOKE, id=id))["revokeToken"]["__typename"] for id in ("x", "0" * 16, "\x00", "%", "ä")]
    assert refused == ["InvalidInput"] * 5


async def following(socket: Socket, game: Any) -> None:
    """Subscribe to the events of a game, and read those of its opening."""
    await socket.subscribe(EVENTS, id=game["id"])
    assert [(await socket.next())["seq"] for _ in range(3)] == [1, 2, 3]


async def test_revoking_ends_the_tokens_sockets_and_what_runs_on_them(client: Client, address: str) -> None:
    ada, _ = await register(client)
    game = (await ada.open_ticitaire())["game"]
    async with connected(address, ada.token) as idle, connected(address, ada.token) as busy, asyncio.timeout(10):
        await following(busy, game)
        await ada.ask(REVOKE)
        async with asyncio.timeout(1):
            assert [await idle.closing(), await busy.closing()] == [(4403, "The token was revoked")] * 2


async def test_revoking_leaves_the_sockets_of_other_tokens_alone(client: Client, address: str) -> None:
    (ada, _), (bob, _) = await register(client, "Ada"), await register(client, "Bob")
    game = (await ada.open_ticitaire())["game"]
    async with connected(address, ada.token) as adas, connected(address, bob.token) as bobs:
        await following(adas, game)
        await bob.ask(REVOKE)
        await bobs.closing()
        await ada.play("turnTicitaireStock", game)
        assert (await adas.next())["seq"] == 4


async def test_revoking_ends_the_tokens_event_streams(client: Client, address: str) -> None:
    ada, _ = await register(client)
    game = (await ada.open_ticitaire())["game"]
    told = over_events(address, EVENTS, token=ada.token, id=game["id"])
    assert [(await anext(told))["data"]["gameEvents"]["seq"] for _ in range(3)] == [1, 2, 3]
    await ada.ask(REVOKE)
    async with asyncio.timeout(1):
        (last,) = [result async for result in told]
    assert last["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_revocation_on_another_server_ends_the_sockets_of_this_one(
    client: Client, address: str, datastore: Datastore
) -> None:
    ada, _ = await register(client)
    game = (await ada.open_ticitaire())["game"]
    (token,) = await tokens(ada)
    async with connected(address, ada.token) as socket:
        await following(socket, game)
        await asyncio.to_thread(another_server(datastore).revoke, token["id"])
        async with asyncio.timeout(1):
            assert (await socket.closing())[0] == 4403


async def test_after_a_revocation_on_another_server_the_token_is_turned_away_here(
    client: Client, address: str, datastore: Datastore
) -> None:
    ada, _ = await register(client)
    (token,) = await tokens(ada)
    async with connected(address, ada.token) as socket:
        await asyncio.to_thread(another_server(datastore).revoke, token["id"])
        await socket.closing()  # so this server has heard of it
    assert (await ada.post("{ viewer { scopes } }")).status_code == 401


# --- erasing ---


async def test_an_erased_player_has_no_name_and_the_games_stay_whole(client: Client, datastore: Datastore) -> None:
    ada, player = await register(client)
    game = (await ada.open_ticitaire())["game"]
    before = await client.history(game["id"])
    another_server(datastore).erase(UUID(player["uuid"]))
    seats = (await client.game(game["id"], "seats { player { uuid name registeredAt } }"))["seats"]
    assert seats == [{"player": {"uuid": player["uuid"], "name": None, "registeredAt": None}}]
    assert await client.history(game["id"]) == before


async def test_an_erased_player_without_games_is_found_no_more(client: Client, datastore: Datastore) -> None:
    _, player = await register(client)
    another_server(datastore).erase(UUID(player["uuid"]))
    assert await client.ask("query ($id: ID!) { node(id: $id) { id } }", id=player["id"]) == {"node": None}


async def test_an_erased_player_is_turned_away_and_cut_off(client: Client, address: str, datastore: Datastore) -> None:
    ada, player = await register(client)
    async with connected(address, ada.token) as socket:
        await asyncio.to_thread(another_server(datastore).erase, UUID(player["uuid"]))
        async with asyncio.timeout(1):
            assert (await socket.closing())[0] == 4403
    assert (await ada.post("{ viewer { scopes } }")).status_code == 401


async def test_the_log_knows_a_player_by_the_random_id_alone(client: Client) -> None:
    ada, player = await register(client, "Ada Lovelace")
    game = (await ada.open_ticitaire())["game"]
    told = "".join(event["bytes"] for event in await client.history(game["id"]))
    assert player["uuid"] in told
    assert "Lovelace" not in told
    assert base64.urlsafe_b64decode(player["id"] + "=" * (-len(player["id"]) % 4)).decode().endswith(player["uuid"])


async def test_a_token_can_be_issued_with_less_but_not_with_more(client: Client) -> None:
    ada = await client.register()
    query = (
        "mutation ($scopes: [Scope!]) { issueToken(input: {scopes: $scopes}) { __typename ... on UserError { path } } }"
    )
    answers = [(await ada.ask(query, scopes=scopes))["issueToken"] for scopes in (["PLAY"], ["PLAY", "AUDIT"], [])]
    assert answers == [
        {"__typename": "TokenIssued"},
        {"__typename": "InvalidInput", "path": ["input", "scopes"]},
        {"__typename": "InvalidInput", "path": ["input", "scopes"]},
    ]
