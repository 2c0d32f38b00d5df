"""How games stand, told as it changes: of one game, and of a whole lobby."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from starlette.applications import Starlette

from api import tallies
from api.app import create_app
from api.boards import show_board
from api.settings import Settings
from api.sharing import Encodings
from tests.api.company import HANDS, do, known_deck, laid, opened, started_by
from tests.client import Client, connected, over_events, over_socket
from tests.conftest import KEYRING, in_memory, listening

LINES = "lines { seat player { name } score place resigned awaited }"
BOARD = f"subscription ($id: ID!) {{ scoreboardChanged(gameId: $id) {{ id status version round {LINES} }} }}"
LOBBY = f"""subscription ($filter: LobbyFilter) {{
  lobbyChanged(filter: $filter) {{ games {{ id kind status version label private takes {LINES} }} hasMore }}
}}"""

Follow = Callable[..., AsyncGenerator[Any]]


@pytest.fixture(params=[over_socket, over_events], ids=["graphql-transport-ws", "server-sent events"])
def follow(request: pytest.FixtureRequest, address: str) -> Follow:
    """Follows a subscription over either transport."""
    return partial(request.param, address)


@pytest.fixture
async def ada(client: Client) -> Client:
    return await client.register("Ada")


@pytest.fixture
async def bert(client: Client) -> Client:
    return await client.register("Bert")


async def told(results: AsyncGenerator[Any]) -> Any:
    """What a subscription without errors tells next."""
    async with asyncio.timeout(10):
        result = await anext(results)
    assert "errors" not in result, result["errors"]
    return next(iter(result["data"].values()))


async def rest(results: AsyncGenerator[Any]) -> list[Any]:
    """All that a subscription tells until it completes."""
    async with asyncio.timeout(10), aclosing(results):
        return [next(iter(result["data"].values())) async for result in results]


async def refused(results: AsyncGenerator[Any]) -> Any:
    """The code of the only error of a subscription that can't begin."""
    (result,) = [result async for result in results]
    (error,) = result["errors"]
    return error["extensions"]["code"]


def lines(board: Any) -> list[tuple[Any, ...]]:
    """Each line as seat, name, score, place; with a word for who resigned, and for whom the game waits for."""
    return [
        (line["seat"], line["player"]["name"], line["score"], line["place"])
        + ("resigned",) * line["resigned"]
        + ("awaited",) * line["awaited"]
        for line in board["lines"]
    ]


# --- one game ---


async def test_before_the_deal_the_board_has_the_players_in_the_order_of_joining(
    follow: Follow, ada: Client, bert: Client
) -> None:
    table = await opened(ada, seats=3)
    async with aclosing(follow(BOARD, id=table["id"])) as boards:
        board = await told(boards)
        assert (board["id"], board["status"], board["round"]) == (table["id"], "OPEN", None)
        assert lines(board) == [(None, "Ada", None, None)]
        await do(bert, "joinGame", table)
        assert lines(await told(boards)) == [(None, "Ada", None, None), (None, "Bert", None, None)]


async def test_the_board_tells_whose_entropy_the_deal_waits_for(follow: Follow, ada: Client, bert: Client) -> None:
    entropy = "aa" * 32
    commitment = hashlib.sha256(bytes.fromhex(entropy)).hexdigest()
    table = (await do(ada, "openTickle", entropy="ALLOWED", entropyCommitment=commitment, seating="AS_JOINED"))["game"]
    await do(bert, "joinGame", table)
    async with aclosing(follow(BOARD, id=table["id"])) as boards:
        assert lines(await told(boards)) == [(None, "Ada", None, None), (None, "Bert", None, None)]
        await do(ada, "startGame", table)
        assert lines(await told(boards)) == [(None, "Ada", None, None, "awaited"), (None, "Bert", None, None)]
        await do(ada, "revealEntropy", table, entropy=entropy)
        assert lines(await told(boards)) == [(1, "Ada", 0, 1, "awaited"), (2, "Bert", 0, 1)]


async def test_a_table_that_waits_for_entropy_leaves_the_lobby_of_those_that_anyone_may_join(
    follow: Follow, ada: Client, bert: Client
) -> None:
    table = (await do(ada, "openTickle", entropy="ALLOWED", entropyCommitment="bb" * 32, seats=3))["game"]
    await do(bert, "joinGame", table)
    async with aclosing(follow(LOBBY, filter={"joinable": True})) as news:
        assert [game["id"] for game in (await told(news))["games"]] == [table["id"]]
        await do(ada, "startGame", table)
        assert [(game["id"], game["status"]) for game in (await told(news))["games"]] == [(table["id"], "OPEN")]
        another = await opened(bert)
        assert [game["id"] for game in (await told(news))["games"]] == [another["id"]]
    async with aclosing(follow(LOBBY, filter={"joinable": True})) as news:
        assert [game["id"] for game in (await told(news))["games"]] == [another["id"]]


async def test_the_board_tells_scores_places_and_whom_the_game_waits_for_as_they_change(
    follow: Follow, ada: Client, bert: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_deck(monkeypatch)
    game = await started_by(ada, bert, seating="AS_JOINED")
    async with aclosing(follow(BOARD, id=game["id"])) as boards:
        board = await told(boards)
        assert (board["status"], board["round"], board["version"]) == ("PLAYING", 1, game["version"])
        assert lines(board) == [(1, "Ada", 0, 1, "awaited"), (2, "Bert", 0, 1)]
        cards = laid((0, 0, HANDS[0][2]), (1, 0, HANDS[0][0]))
        game = (await do(ada, "layTickleCards", game, cards=cards))["game"]
        (first, second) = lines(await told(boards))
        assert first[:2] == (1, "Ada")
        assert first[2] > 0
        assert second == (2, "Bert", 0, 2, "awaited")
        await do(ada, "resignGame", game)
        board = await told(boards)
        assert board["status"] == "FINISHED"
        assert [line[1:2] + line[3:] for line in lines(board)] == [("Bert", 1), ("Ada", 2, "resigned")]
        assert await rest(boards) == []


async def test_events_that_change_nothing_on_the_board_are_not_told(follow: Follow, ada: Client) -> None:
    game = (await ada.open_ticitaire())["game"]
    async with aclosing(follow(BOARD, id=game["id"])) as boards:
        assert lines(await told(boards)) == [(1, "Ada", 7, None, "awaited")]
        for _ in range(5):
            game = (await ada.play("turnTicitaireStock", game))["game"]
        over = await ada.play("giveUpTicitaire", game)
        (last,) = await rest(boards)
    assert (last["version"], last["status"]) == (over["version"], "FINISHED")
    assert lines(last) == [(1, "Ada", 7, None, "resigned")]


async def test_the_board_of_a_game_that_is_over_is_told_once(follow: Follow, ada: Client) -> None:
    game = (await ada.open_ticitaire())["game"]
    await ada.play("giveUpTicitaire", game)
    assert [board["status"] for board in await rest(follow(BOARD, id=game["id"]))] == ["FINISHED"]


async def test_a_game_that_does_not_exist_has_no_board(follow: Follow) -> None:
    assert [await refused(follow(BOARD, id=id)) for id in ("nonsense", "\x00")] == ["NOT_FOUND"] * 2


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often it was computed how a game stands at a version, and how often that was shown to be encoded."""
    counted: Counter[Any] = Counter()
    compute = tallies.tally_of

    def tally_of(game: Any) -> Any:
        counted["computed", game.id, game.version] += 1
        return compute(game)

    def counted_show(tally: Any) -> Any:
        counted["shown", tally.game, tally.version] += 1
        return show_board(tally)

    monkeypatch.setattr("api.tallies.tally_of", tally_of)
    monkeypatch.setattr("api.subscriptions.show_board", counted_show)
    monkeypatch.setattr("api.boards.show_board", counted_show)
    monkeypatch.setattr("api.documents.Encodings", partial(Encodings, seconds=3600))  # however slow this machine is
    return counted


async def test_a_board_is_computed_and_encoded_once_for_all_who_watch_it(
    computed: Counter[Any], address: str, ada: Client, bert: Client
) -> None:
    game = await opened(ada, seats=3)
    tokens = [None, ada.token, None, bert.token, None]
    watching = [over_socket(address, BOARD, token, id=game["id"]) for token in tokens]
    first = await asyncio.gather(*map(told, watching))
    coming = [asyncio.ensure_future(told(boards)) for boards in watching]
    await do(bert, "joinGame", game)
    second = await asyncio.gather(*coming)
    assert (first, second) == ([first[0]] * 5, [second[0]] * 5)
    assert sorted(computed.values()) == [1] * 4
    for boards in watching:
        await boards.aclose()


# --- the lobby ---


def states(news: Any) -> dict[str, str]:
    return {game["id"]: game["status"] for game in news["games"]}


async def test_whoever_comes_to_a_lobby_is_told_what_is_there_the_newest_first(
    follow: Follow, ada: Client, bert: Client
) -> None:
    over = (await ada.open_ticitaire())["game"]
    await ada.play("giveUpTicitaire", over)
    older, newer = await started_by(ada, bert), await opened(bert)
    async with aclosing(follow(LOBBY)) as lobby:
        news = await told(lobby)
    assert list(states(news).items()) == [(newer["id"], "OPEN"), (older["id"], "PLAYING")]
    assert news["hasMore"] is False
    assert lines(news["games"][0]) == [(None, "Bert", None, None)]


async def test_an_empty_lobby_is_told_as_well(follow: Follow) -> None:
    async with aclosing(follow(LOBBY)) as lobby:
        assert await told(lobby) == {"games": [], "hasMore": False}


async def test_each_change_is_told_and_a_game_that_ends_is_told_once_and_then_no_more(
    follow: Follow, ada: Client, bert: Client
) -> None:
    async with aclosing(follow(LOBBY)) as lobby:
        await told(lobby)
        table = await opened(ada, seats=4, private=True)
        (board,) = (await told(lobby))["games"]
        assert (board["id"], board["status"], board["private"], board["takes"]) == (table["id"], "OPEN", True, 4)
        await do(ada, "cancelGame", table)
        assert states(await told(lobby)) == {table["id"]: "CANCELLED"}
        game = (await ada.open_ticitaire())["game"]
        assert states(await told(lobby)) == {game["id"]: "PLAYING"}
        await ada.play("giveUpTicitaire", game)
        assert states(await told(lobby)) == {game["id"]: "FINISHED"}
        await ada.mutate("openTicitaire")
        assert list(states(await told(lobby)).values()) == ["PLAYING"]


async def test_games_of_another_kind_or_label_are_not_told(follow: Follow, ada: Client) -> None:
    await opened(ada, label="Autumn Cup")
    async with aclosing(follow(LOBBY, filter={"kind": "TICKLE", "label": " Spring   Cup "})) as lobby:
        assert await told(lobby) == {"games": [], "hasMore": False}
        await ada.open_ticitaire(label="Spring Cup")
        await opened(ada, label="Autumn Cup")
        await opened(ada)
        table = await opened(ada, label="Spring Cup")
        (board,) = (await told(lobby))["games"]
    assert (board["id"], board["kind"], board["label"]) == (table["id"], "TICKLE", "Spring Cup")


async def test_a_table_that_nobody_may_join_any_more_is_told_once_more_and_then_no_more(
    follow: Follow, ada: Client, bert: Client, client: Client
) -> None:
    async with aclosing(follow(LOBBY, filter={"joinable": True})) as lobby:
        await told(lobby)
        table = await opened(ada, seats=2)
        assert states(await told(lobby)) == {table["id"]: "OPEN"}
        await do(bert, "joinGame", table)
        (board,) = (await told(lobby))["games"]
        assert (board["id"], len(board["lines"]), board["takes"]) == (table["id"], 2, 2)
        await do(ada, "startGame", table)
        other = await opened(bert)
        assert states(await told(lobby)) == {other["id"]: "OPEN"}


@pytest.mark.parametrize(
    "filter", [{"status": "FINISHED"}, {"status": "CANCELLED"}, {"label": ""}, {"label": "x" * 65}, {"label": "\x00"}]
)
async def test_a_filter_that_no_game_of_a_lobby_can_fit_is_refused(address: str, filter: Any) -> None:
    assert await refused(over_socket(address, LOBBY, filter=filter)) == "BAD_USER_INPUT"


async def test_whoever_watches_a_lobby_is_told_the_same_computed_and_encoded_once(
    computed: Counter[Any], address: str, ada: Client, bert: Client
) -> None:
    await opened(ada)
    tokens = [None, ada.token, None, bert.token, None]
    watching = [over_socket(address, LOBBY, token) for token in tokens]
    first = await asyncio.gather(*map(told, watching))
    coming = [asyncio.ensure_future(told(lobby)) for lobby in watching]
    await ada.open_ticitaire()
    second = await asyncio.gather(*coming)
    assert (first, second) == ([first[0]] * 5, [second[0]] * 5)
    assert sorted(computed.values()) == [1] * 4
    for lobby in watching:
        await lobby.aclose()


@asynccontextmanager
async def without_followers(url: str) -> AsyncIterator[tuple[Client, str]]:
    """A server whose list of games is not brought up to the log, and its address."""
    app = create_app(Settings(follow=False), url, KEYRING)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        yield await stack.enter_async_context(in_memory(app)), await stack.enter_async_context(listening(app))


async def test_what_the_list_does_not_show_yet_is_told_from_the_log(database_url: str) -> None:
    async with without_followers(database_url) as (client, address):
        ada = await client.register()
        table = await opened(ada)
        over = (await ada.open_ticitaire())["game"]
        await ada.play("giveUpTicitaire", over)
        async with aclosing(over_socket(address, LOBBY)) as lobby:
            assert states(await told(lobby)) == {table["id"]: "OPEN"}


async def test_a_list_that_is_being_made_anew_says_so(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.seams.MOST_BEHIND", 1)
    async with without_followers(database_url) as (client, address):
        await opened(await client.register())
        assert await refused(over_socket(address, LOBBY)) == "UNAVAILABLE"


@pytest.mark.parametrize("lost", ["tic live", "tic%"])
async def test_a_lobby_goes_on_when_connections_to_the_database_are_lost(
    address: str, ada: Client, database_url: str, lost: str
) -> None:
    async with connected(address) as subscriber:
        await subscriber.subscribe(LOBBY)
        assert (await subscriber.next())["games"] == []
        with psycopg.connect(database_url, autocommit=True) as connection:
            assert connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE %s AND datname = current_database()",
                (lost,),
            ).fetchall()
        table = await opened(ada)
        assert states(await subscriber.next()) == {table["id"]: "OPEN"}


async def test_when_nobody_watches_any_more_nothing_is_kept_for_them(app: Starlette, ada: Client) -> None:
    async with listening(app) as address, aclosing(over_socket(address, LOBBY)) as lobby:
        await told(lobby)
        house = app.state.end_streams.__self__
        assert house.world.live._listeners
    async with asyncio.timeout(10):
        while house.world.live._listeners:  # noqa: ASYNC110 - what is waited for has no event to offer
            await asyncio.sleep(0.001)
    assert house.world.lobby_watch._halls == {}
