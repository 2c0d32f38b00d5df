"""The list of games, as it follows them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any
from uuid import UUID

import pytest

from api.accounts import Accounts
from tests.api.company import do, started_by
from tests.api.company import opened as opened_table
from tests.api.poker_evening import poker_started
from tests.client import Client

LIST = """
query ($filter: GameFilter, $first: Int = 20, $after: String) {
  games(filter: $filter, first: $first, after: $after) {
    nodes { id kind status ending label version openedAt changedAt seats { number player { id name } } }
    edges { cursor node { id } }
    pageInfo { hasNextPage endCursor }
  }
}
"""
MINE = "query ($filter: GameFilter) { viewer { player { id } games(filter: $filter) { nodes { id } } } }"


async def listed(viewer: Client, **variables: Any) -> Any:
    return (await viewer.ask(LIST, **variables))["games"]


async def ids(viewer: Client, **filter: Any) -> list[str]:
    return [node["id"] for node in (await listed(viewer, filter=filter))["nodes"]]


async def caught_up(viewer: Client, *games: Any) -> None:
    """Wait until the list shows these games at these versions at least."""
    wanted = {game["id"]: game["version"] for game in games}
    async with asyncio.timeout(10):
        while True:
            shown = {node["id"]: node["version"] for node in (await listed(viewer, first=100))["nodes"]}
            if all(shown.get(id, 0) >= version for id, version in wanted.items()):
                return
            await asyncio.sleep(0.01)


async def opened(player: Client) -> Any:
    return (await player.open_ticitaire())["game"]


@pytest.fixture
async def ada(client: Client) -> Client:
    return await client.register("Ada")


@pytest.fixture
async def bob(client: Client) -> Client:
    return await client.register("Bob")


async def test_a_list_without_games_is_empty(client: Client) -> None:
    assert await listed(client) == {"nodes": [], "edges": [], "pageInfo": {"hasNextPage": False, "endCursor": None}}


async def test_a_game_is_listed_as_it_stands(client: Client, ada: Client) -> None:
    game = await opened(ada)
    turned = (await ada.play("turnTicitaireStock", game))["game"]
    await caught_up(client, turned)
    (line,) = (await listed(client))["nodes"]
    shown = await client.game(
        game["id"], "id kind status label version openedAt changedAt seats { number player { id name } }"
    )
    assert line == {**shown, "ending": None}


async def test_a_game_that_is_over_is_listed_with_its_ending(client: Client, ada: Client) -> None:
    over = (await ada.play("giveUpTicitaire", await opened(ada)))["game"]
    await caught_up(client, over)
    (line,) = (await listed(client))["nodes"]
    assert (line["status"], line["ending"], line["version"]) == ("FINISHED", "GIVEN_UP", 6)


async def test_games_are_listed_the_newest_first(client: Client, ada: Client) -> None:
    games = [await opened(ada) for _ in range(5)]
    games[0] = (await ada.play("turnTicitaireStock", games[0]))["game"]  # which makes it no newer
    await caught_up(client, *games)
    assert await ids(client) == [game["id"] for game in reversed(games)]


async def test_the_pages_list_each_game_once(client: Client, ada: Client) -> None:
    games = [await opened(ada) for _ in range(7)]
    await caught_up(client, *games)
    pages, after, more = [], None, True
    while more:
        page = await listed(client, first=3, after=after)
        pages.append([node["id"] for node in page["nodes"]])
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    newest_first = [game["id"] for game in reversed(games)]
    assert pages == [newest_first[:3], newest_first[3:6], newest_first[6:]]


async def test_a_game_opened_meanwhile_disturbs_no_pages(client: Client, ada: Client) -> None:
    games = [await opened(ada) for _ in range(4)]
    await caught_up(client, *games)
    first = await listed(client, first=2)
    await caught_up(client, await opened(ada))
    second = await listed(client, first=2, after=first["pageInfo"]["endCursor"])
    assert [node["id"] for node in second["nodes"]] == [games[1]["id"], games[0]["id"]]


async def test_a_list_is_read_on_from_any_edge(client: Client, ada: Client) -> None:
    games = [await opened(ada) for _ in range(3)]
    await caught_up(client, *games)
    cursor = (await listed(client))["edges"][0]["cursor"]
    rest = (await listed(client, after=cursor))["nodes"]
    assert [node["id"] for node in rest] == [games[1]["id"], games[0]["id"]]


async def test_games_are_found_by_how_far_they_have_come(client: Client, ada: Client) -> None:
    playing = await opened(ada)
    over = (await ada.play("giveUpTicitaire", await opened(ada)))["game"]
    await caught_up(client, playing, over)
    found = {status: await ids(client, status=status) for status in ("OPEN", "PLAYING", "FINISHED")}
    assert found == {"OPEN": [], "PLAYING": [playing["id"]], "FINISHED": [over["id"]]}


async def test_games_are_found_by_their_kind(client: Client, ada: Client) -> None:
    game = await opened(ada)
    await caught_up(client, game)
    assert await ids(client, kind="TICITAIRE") == [game["id"]]


async def test_games_are_found_by_who_plays_them(client: Client, ada: Client, bob: Client) -> None:
    adas, bobs = await opened(ada), await opened(bob)
    await caught_up(client, adas, bobs)
    players = [(await player.ask(MINE))["viewer"]["player"]["id"] for player in (ada, bob)]
    assert [await ids(client, playerId=player) for player in players] == [[adas["id"]], [bobs["id"]]]


async def test_filters_narrow_each_other(client: Client, ada: Client, bob: Client) -> None:
    adas, bobs = await opened(ada), (await bob.play("giveUpTicitaire", await opened(bob)))["game"]
    await caught_up(client, adas, bobs)
    player = (await ada.ask(MINE))["viewer"]["player"]["id"]
    assert await ids(client, playerId=player, status="FINISHED", kind="TICITAIRE") == []


async def test_a_viewer_finds_the_games_to_go_on_with(client: Client, ada: Client, bob: Client) -> None:
    games = [await opened(ada), await opened(ada)]
    over = (await ada.play("giveUpTicitaire", await opened(ada)))["game"]
    await caught_up(client, *games, over, await opened(bob))
    mine = (await ada.ask(MINE))["viewer"]["games"]["nodes"]
    playing = (await ada.ask(MINE, filter={"status": "PLAYING"}))["viewer"]["games"]["nodes"]
    assert [node["id"] for node in mine] == [over["id"], games[1]["id"], games[0]["id"]]
    assert [node["id"] for node in playing] == [games[1]["id"], games[0]["id"]]


async def test_a_line_of_the_list_leads_to_the_game(client: Client, ada: Client) -> None:
    game = await opened(ada)
    await caught_up(client, game)
    found = await client.ask("{ games { nodes { game { id version } } } }")
    assert found == {"games": {"nodes": [{"game": {"id": game["id"], "version": 3}}]}}


# --- whom games wait for ---


async def waiting(player: Client, **arguments: Any) -> list[str]:
    query = (
        "query ($me: Boolean = true, $filter: GameFilter, $first: Int = 20, $after: String)"
        " { viewer { games(awaitingMe: $me, filter: $filter, first: $first, after: $after) { nodes { id } } } }"
    )
    return [node["id"] for node in (await player.ask(query, **arguments))["viewer"]["games"]["nodes"]]


async def test_a_player_finds_the_games_that_wait_for_them(ada: Client, bob: Client) -> None:
    game, table = await started_by(ada, bob, seating="AS_JOINED"), await opened_table(ada, bob)
    await caught_up(ada, game, table)
    assert [await waiting(player) for player in (ada, bob)] == [[game["id"]], []]


async def test_a_game_that_a_player_is_done_with_waits_for_the_other(ada: Client, bob: Client) -> None:
    game = await poker_started(ada, bob)
    game = (await do(ada, "keepPokerCards", game))["game"]
    await caught_up(ada, game)
    assert [await waiting(player) for player in (ada, bob)] == [[], [game["id"]]]


async def test_hands_are_awaited_until_they_are_declared(ada: Client, bob: Client) -> None:
    game = await poker_started(ada, bob)
    for player, mutation in ((ada, "callPoker"), (bob, "keepPokerCards")):
        game = (await do(player, mutation, game))["game"]
    await caught_up(ada, game)
    assert await ada.game(game["id"], "awaits") == {"awaits": [1, 2]}
    assert [await waiting(player) for player in (ada, bob)] == [[game["id"]], [game["id"]]]


async def test_a_game_of_one_waits_for_its_player_until_it_is_over(ada: Client) -> None:
    game = await opened(ada)
    await caught_up(ada, game)
    before = await waiting(ada)
    over = (await ada.play("giveUpTicitaire", game))["game"]
    await caught_up(ada, over)
    assert (before, await waiting(ada)) == ([game["id"]], [])


async def test_a_player_who_does_not_ask_for_what_waits_is_told_all(ada: Client, bob: Client) -> None:
    game = await started_by(ada, bob, seating="AS_JOINED")
    await caught_up(ada, game)
    assert await waiting(bob, me=False) == [game["id"]]


async def test_what_waits_is_narrowed_and_paged_like_any_list(ada: Client) -> None:
    games = [await opened(ada) for _ in range(3)]
    labelled = (await ada.open_ticitaire(label="cup"))["game"]
    await caught_up(ada, *games, labelled)
    assert await waiting(ada, filter={"label": "cup"}) == [labelled["id"]]
    assert await waiting(ada, filter={"status": "OPEN"}) == []
    first = await ada.ask("{ viewer { games(awaitingMe: true, first: 2) { nodes { id } pageInfo { endCursor } } } }")
    page = first["viewer"]["games"]
    rest = await waiting(ada, after=page["pageInfo"]["endCursor"])
    assert [node["id"] for node in page["nodes"]] + rest == [labelled["id"], *(game["id"] for game in reversed(games))]


async def test_a_game_tells_whom_it_waits_for(client: Client, ada: Client, bob: Client) -> None:
    table = await opened_table(ada, bob, seating="AS_JOINED")
    shown = [(await client.game(table["id"], "awaits"))["awaits"]]
    game = (await do(ada, "startGame", table))["game"]
    shown.append((await client.game(game["id"], "awaits"))["awaits"])
    over = (await do(bob, "resignGame", game))["game"]
    shown.append((await client.game(over["id"], "awaits"))["awaits"])
    assert shown == [[], [1], []]


async def test_a_position_tells_whom_the_game_waited_for(client: Client, ada: Client) -> None:
    over = (await ada.play("giveUpTicitaire", await opened(ada)))["game"]
    fields = "position(version: 3) { awaits }"
    assert await client.game(over["id"], fields) == {"position": {"awaits": [1]}}


async def test_the_names_of_a_page_are_read_at_once(
    client: Client, ada: Client, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caught_up(client, *[await started_by(ada, bob) for _ in range(5)])
    asked: list[int] = []
    read = Accounts.players

    def counting(accounts: Accounts, ids: Collection[UUID]) -> Any:
        asked.append(len(ids))
        return read(accounts, ids)

    monkeypatch.setattr(Accounts, "players", counting)
    nodes = (
        await client.ask("{ games { nodes { host { name } players { displayName } seats { player { name } } } } }")
    )["games"]["nodes"]
    assert [node["host"]["name"] for node in nodes] == ["Ada"] * 5
    assert asked == [2]
