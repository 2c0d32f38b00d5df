"""Finished games over HTTP, for programs that follow the list for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import pytest_asyncio

from domain.lifecycle import SeedsRevealed
from domain.storage import Datastore
from projections.results import ResultQueries, Results
from projections.runner import Follower
from tests.api.company import id_of, opened
from tests.api.finished import (
    ADA,
    BOB,
    CYD,
    DEE,
    FINISHED,
    GAMES,
    LABEL,
    game_id,
    give_up,
    listed_as_finished,
    played,
    resigned,
)
from tests.client import Client
from tests.projections.finished import logged, recorded, with_facts

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def recorder(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A client of a server with recorded games, of which none is added."""
    async with played(admin, template, postgres) as client:
        yield client


async def finished(client: Client, **variables: Any) -> Any:
    return (await client.ask(FINISHED, **variables))["finishedGames"]


async def ids(client: Client, **filter: Any) -> list[str]:
    return [node["id"] for node in (await finished(client, filter=filter))["nodes"]]


def numbered(*numbers: int) -> list[str]:
    return [game_id(number) for number in numbers]


# --- what is told ---


async def test_finished_games_are_listed_in_the_order_in_which_they_finished(recorder: Client) -> None:
    assert await ids(recorder) == numbered(*range(len(GAMES)))


async def test_a_finished_game_tells_who_came_to_what(recorder: Client) -> None:
    told = (await finished(recorder))["nodes"][3]
    assert [
        (seat["number"], seat["player"]["displayName"], seat["place"], seat["points"], seat["resigned"])
        for seat in told["seats"]
    ] == [
        (1, "Ada", 1, 21, False),
        (2, "Bob", 1, 21, False),
        (3, "Cyd", 4, 11, False),
        (4, "Erased player dee000", 3, 18, False),
    ]
    assert [seat["player"]["id"] for seat in told["seats"]] == [id_of("player", uuid) for uuid in (ADA, BOB, CYD, DEE)]


async def test_a_finished_game_tells_the_same_as_the_game_itself(recorder: Client) -> None:
    told = (await finished(recorder))["nodes"]
    fields = "id uuid kind ruleset label version hash openedAt host { id displayName }"
    for one in told:
        game = await recorder.game(one["id"], fields)
        assert {name: one[name] for name in game} == game


async def test_a_game_without_places_says_so(recorder: Client) -> None:
    (seat,) = (await finished(recorder))["nodes"][4]["seats"]
    assert (seat["place"], seat["points"], seat["resigned"]) == (None, None, True)


async def test_the_record_is_where_it_is_said_to_be(recorder: Client) -> None:
    told = (await finished(recorder))["nodes"][0]
    answer = await recorder.http.get(told["recordUrl"])
    assert answer.status_code == 200
    assert answer.headers["etag"] == f'"{told["hash"]}"'
    assert len(answer.text.splitlines()) == told["version"] + 2  # and the lines around them


async def test_filters_narrow_the_list(recorder: Client) -> None:
    assert await ids(recorder, kind="TICITAIRE") == numbered(2, 4, 5)
    assert await ids(recorder, label=f"  {LABEL}") == numbered(1, 3, 6)
    assert await ids(recorder, label=LABEL, kind="TICKLE") == numbered(3, 6)
    assert await ids(recorder, playerId=id_of("player", DEE)) == numbered(3)
    assert await ids(recorder, playerId=id_of("player", CYD), kind="POKER") == numbered(1)
    assert await ids(recorder, proved=False) == []
    assert await ids(recorder, proved=True) == numbered(*range(len(GAMES)))


async def test_games_are_found_by_who_opened_them(recorder: Client) -> None:
    told = (await finished(recorder))["nodes"]
    for host in {one["host"]["id"] for one in told}:
        assert await ids(recorder, hostId=host) == [one["id"] for one in told if one["host"]["id"] == host]


# --- pages, for ever ---


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100])
async def test_the_pages_tell_every_game_once(recorder: Client, size: int) -> None:
    pages, after, more = [], None, True
    while more:
        page = await finished(recorder, first=size, after=after)
        pages.append([node["id"] for node in page["nodes"]])
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert [id for page in pages for id in page] == numbered(*range(len(GAMES)))
    assert all(len(page) == size for page in pages[:-1])


async def test_an_empty_page_gives_the_cursor_back(recorder: Client) -> None:
    end = (await finished(recorder))["pageInfo"]["endCursor"]
    page = await finished(recorder, after=end)
    assert page == {"nodes": [], "edges": [], "pageInfo": {"hasNextPage": False, "endCursor": end}}


@pytest.mark.asyncio(loop_scope="function")
async def test_who_polls_hears_of_every_game_once(client: Client) -> None:
    ada, bob = await client.register("Ada"), await client.register("Bob")
    cursor, heard, games = None, [], []
    for play in (give_up, None, give_up, give_up, None):
        games.append(await (play(ada) if play else resigned(ada, bob)))
        await listed_as_finished(client, games[-1])
        page = await finished(client, first=1, after=cursor)
        heard += [node["id"] for node in page["nodes"]]
        cursor = page["pageInfo"]["endCursor"]
    assert heard == [game["id"] for game in games]


@pytest.mark.asyncio(loop_scope="function")
async def test_who_polls_before_the_first_game_is_given_a_cursor_to_go_on_with(client: Client) -> None:
    page = await finished(client)
    assert page["nodes"] == []
    game = await give_up(await client.register())
    await listed_as_finished(client, game)
    later = await finished(client, after=page["pageInfo"]["endCursor"])
    assert [node["id"] for node in later["nodes"]] == [game["id"]]


@pytest.mark.asyncio(loop_scope="function")
async def test_a_game_under_way_and_one_called_off_are_not_finished(client: Client) -> None:
    ada = await client.register("Ada")
    table = await opened(ada)
    await ada.ask("mutation ($id: ID!) { cancelGame(input: {gameId: $id}) { __typename } }", id=table["id"])
    await ada.open_ticitaire()
    over = await give_up(ada)
    await listed_as_finished(client, over)
    assert await ids(client) == [over["id"]]


# --- games that prove nothing ---


@pytest.mark.asyncio(loop_scope="function")
async def test_a_game_whose_seeds_were_never_revealed_is_listed_and_counts_nowhere(
    client: Client, datastore: Datastore
) -> None:
    events = [event for event in recorded("tickle-timed-out") if not isinstance(event.fact, SeedsRevealed)]
    logged(datastore, [with_facts(events, [event.fact for event in events])])
    game = {"id": id_of("game", events[0].game)}
    await listed_as_finished(client, game)
    (told,) = (await finished(client))["nodes"]
    assert (told["id"], told["proved"]) == (game["id"], False)
    assert [await ids(client, proved=proved) for proved in (True, False)] == [[], [game["id"]]]
    assert (await client.ask("{ scoreboard(board: TICKLE_POINTS) { players } }"))["scoreboard"]["players"] == 0


@pytest.mark.asyncio(loop_scope="function")
async def test_a_game_is_not_told_between_its_end_and_its_seeds(datastore: Datastore) -> None:
    events = recorded("given-up")
    logged(datastore, [events])
    results, follower = ResultQueries(datastore), Follower(datastore, Results(), batch=len(events) - 1)
    follower.step()
    assert isinstance(events[-1].fact, SeedsRevealed)
    assert results.finished(first=1) == []
    follower.step()
    assert [game.proved for game in results.finished(first=1)] == [True]


# --- what is refused ---


@pytest.mark.parametrize("first", [0, -1, 101])
async def test_a_page_has_1_to_100_games(recorder: Client, first: int) -> None:
    error = await recorder.error(FINISHED, first=first)
    assert (error["extensions"]["code"], "`first`" in error["message"]) == ("BAD_USER_INPUT", True)


async def test_a_cursor_of_another_list_is_the_clients_mistake(recorder: Client) -> None:
    games = (await recorder.ask("{ games { pageInfo { endCursor } } }"))["games"]["pageInfo"]["endCursor"]
    query = "query ($id: ID!) { player(id: $id) { history { pageInfo { endCursor } } } }"
    history = (await recorder.ask(query, id=id_of("player", ADA)))["player"]["history"]["pageInfo"]["endCursor"]
    for after in (games, history, game_id(0), "", "x", "ä"):
        error = await recorder.error(FINISHED, after=after)
        assert (error["extensions"]["code"], "`after`" in error["message"]) == ("BAD_USER_INPUT", True)


async def test_the_cursor_of_this_list_is_none_of_the_list_of_games(recorder: Client) -> None:
    cursor = (await finished(recorder))["pageInfo"]["endCursor"]
    error = await recorder.error("query ($after: String) { games(after: $after) { nodes { id } } }", after=cursor)
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


@pytest.mark.parametrize("field", ["playerId", "hostId"])
async def test_an_id_that_is_no_players_is_the_clients_mistake(recorder: Client, field: str) -> None:
    for id in ("", "x", game_id(0), id_of("player", "x")):
        error = await recorder.error(FINISHED, filter={field: id})
        assert (error["extensions"]["code"], field in error["message"]) == ("BAD_USER_INPUT", True)


async def test_a_player_who_played_nothing_has_no_games(recorder: Client) -> None:
    assert await ids(recorder, playerId=id_of("player", uuid4()), hostId=id_of("player", UUID(int=1))) == []
