"""The list of games, as it follows them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.client import Client

LIST = """
query ($filter: GameFilter, $first: Int = 20, $after: String) {
  games(filter: $filter, first: $first, after: $after) {
    nodes { id kind status ending version openedAt changedAt seats { number player { id name } } }
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
        game["id"], "id kind status version openedAt changedAt seats { number player { id name } }"
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
