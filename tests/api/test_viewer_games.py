"""All games of a player in one subscription: what is there, what comes, and the last of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
import structlog
from starlette.applications import Starlette

from api.attending import PlayerWatch, _Attendance
from api.live import Live
from api.seams import Seams
from domain.game import Game
from tests.api.company import ACTIONS, do, known_deck, opened, started_by
from tests.api.test_boards import refused, told, without_followers
from tests.client import Client, connected, over_events, over_socket
from tests.conftest import listening

MINE = """subscription { viewerGameChanged {
  awaitingYou version game { id version status viewerSeat players { name } } } }"""

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


class Player:
    """What a player was told last of each game."""

    def __init__(self, changes: AsyncGenerator[Any]) -> None:
        self.changes = changes
        self.games: dict[str, Any] = {}

    async def next(self) -> Any:
        change = await told(self.changes)
        self.games[change["game"]["id"]] = change
        return change

    async def until(self, game: Any, version: int) -> Any:
        """Read on until a game is told at a version, or a newer one; return that."""
        while self.games.get(game["id"], {"version": 0})["version"] < version:
            await self.next()
        return self.games[game["id"]]


def state(change: Any) -> tuple[Any, ...]:
    return change["game"]["status"], change["game"]["viewerSeat"], change["awaitingYou"]


# --- what is there ---


async def test_whoever_has_no_token_has_no_games(follow: Follow) -> None:
    assert await refused(follow(MINE)) == "UNAUTHENTICATED"


async def test_at_once_every_game_that_is_not_over_is_told_and_whether_it_waits(
    follow: Follow, ada: Client, bert: Client
) -> None:
    over = (await ada.open_ticitaire())["game"]
    await ada.play("giveUpTicitaire", over)
    table = await opened(bert, ada, seats=3)
    his = await started_by(bert, ada, seating="AS_JOINED")
    hers = await started_by(ada, bert, seating="AS_JOINED")
    await opened(bert)
    async with aclosing(follow(MINE, token=ada.token)) as changes:
        player = Player(changes)
        for game in (table, his, hers):
            await player.until(game, game["version"])
    assert {id: state(change) for id, change in player.games.items()} == {
        table["id"]: ("OPEN", None, False),
        his["id"]: ("PLAYING", 2, False),
        hers["id"]: ("PLAYING", 1, True),
    }


async def test_a_table_waits_for_the_player_whose_entropy_is_due(follow: Follow, ada: Client, bert: Client) -> None:
    table = (await do(ada, "openTickle", entropy="ALLOWED"))["game"]
    table = (await do(bert, "joinGame", table, entropyCommitment="cc" * 32))["game"]
    table = (await do(ada, "startGame", table))["game"]
    for player, awaited in ((ada, False), (bert, True)):
        async with aclosing(follow(MINE, token=player.token)) as changes:
            assert state(await Player(changes).until(table, table["version"])) == ("OPEN", None, awaited)


# --- what comes ---


async def test_games_that_the_player_opens_joins_and_plays_again_are_told_to_their_ends(
    follow: Follow, ada: Client, bert: Client
) -> None:
    async with aclosing(follow(MINE, token=bert.token)) as changes:
        player = Player(changes)
        own = (await bert.open_ticitaire())["game"]
        assert state(await player.until(own, 3)) == ("PLAYING", 1, True)
        table = await opened(ada, bert, seating="AS_JOINED")
        assert state(await player.until(table, table["version"])) == ("OPEN", None, False)
        game = (await do(ada, "startGame", table))["game"]
        assert state(await player.until(game, game["version"])) == ("PLAYING", 2, False)
        over = await do(ada, "resignGame", game)
        assert state(await player.until(game, over["version"])) == ("FINISHED", 2, False)
        again = (await do(ada, "rematchGame", game))["game"]
        await do(bert, "rematchGame", game)
        assert (await player.until(again, 1))["game"]["players"] == [{"name": "Ada"}, {"name": "Bert"}]
        last = await bert.play("giveUpTicitaire", own)
        assert state(await player.until(own, last["version"])) == ("FINISHED", 1, False)


async def test_of_a_game_that_is_over_or_that_the_player_left_nothing_is_told_any_more(
    follow: Follow, ada: Client, bert: Client, client: Client
) -> None:
    async with aclosing(follow(MINE, token=bert.token)) as changes:
        player = Player(changes)
        table = await opened(ada, bert, seats=3)
        await player.until(table, table["version"])
        left = await do(bert, "leaveGame", table)
        assert state(await player.until(table, left["version"])) == ("OPEN", None, False)
        await do(await client.register("Carol"), "joinGame", table)
        back = await do(bert, "joinGame", table)
        assert (await player.next())["version"] == back["version"]
        await do(ada, "cancelGame", table)
        assert state(await player.next()) == ("CANCELLED", None, False)
        own = (await bert.open_ticitaire())["game"]
        assert (await player.next())["game"]["id"] == own["id"]


async def test_what_others_play_is_not_told(follow: Follow, ada: Client, bert: Client) -> None:
    async with aclosing(follow(MINE, token=bert.token)) as changes:
        player = Player(changes)
        await opened(ada, seats=3)
        await ada.open_ticitaire()
        own = (await bert.open_ticitaire())["game"]
        assert (await player.next())["game"]["id"] == own["id"]


async def test_each_is_told_the_own_view_of_a_game(
    follow: Follow, ada: Client, bert: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_deck(monkeypatch)
    shown = "id version viewerSeat legalActions { mutation }"
    game = await started_by(ada, bert, seating="AS_JOINED")
    found = []
    for caller in (ada, bert):
        async with aclosing(
            follow(f"subscription {{ viewerGameChanged {{ game {{ {shown} }} }} }}", caller.token)
        ) as changes:
            found.append((await told(changes))["game"])
        assert found[-1] == await caller.game(game["id"], shown)
    assert [[action["mutation"] for action in one["legalActions"]] for one in found] == [
        ["layTickleCards", "resignGame"],
        ["resignGame"],
    ]


# --- a bot ---


LOOP = f"""subscription {{ viewerGameChanged {{ awaitingYou version game {{ id status {ACTIONS} }} }} }}"""


BEST = "... on TickleGame { laydowns(first: 1) { nodes { cards { x y card { name } } } } }"


async def play_on(bot: Client, address: str, game: Any) -> tuple[int, int]:
    """Play a game of Tickle to its end by the subscription alone; return how many moves it took, and conflicts."""
    moves = conflicts = 0
    async with aclosing(over_socket(address, LOOP, bot.token)) as changes:
        while (change := await told(changes))["game"]["status"] != "FINISHED":
            shown = {"id": game["id"], "version": change["version"]}
            if not change["awaitingYou"]:
                continue
            if best := (await bot.game(game["id"], BEST))["laydowns"]["nodes"]:
                cards = [{"x": one["x"], "y": one["y"], "card": one["card"]["name"]} for one in best[0]["cards"]]
                outcome = await do(bot, "layTickleCards", shown, cards=cards)
            else:
                (mutation,) = {action["mutation"] for action in change["game"]["legalActions"]} & {
                    "drawTickleCard",
                    "declineTickleLaydown",
                }
                outcome = await do(bot, mutation, shown)
            assert outcome["__typename"] in {"CommandAccepted", "VersionConflict"}, outcome
            conflicts += outcome["__typename"] == "VersionConflict"
            moves += 1
    return moves, conflicts


async def test_bots_that_do_nothing_but_receive_and_answer_play_a_game_to_its_end(
    address: str, ada: Client, bert: Client
) -> None:
    game = await started_by(ada, bert, deck="HALF", target=40)
    async with asyncio.timeout(60):
        played = await asyncio.gather(*(play_on(bot, address, game) for bot in (ada, bert)))
    assert [moves > 1 for moves, _ in played] == [True, True]
    assert [conflicts for _, conflicts in played] == [0, 0]


# --- the seam between the list and the log ---


async def test_a_game_that_the_list_does_not_show_yet_is_told_from_the_log(database_url: str) -> None:
    async with without_followers(database_url) as (client, address):
        ada, bert = await client.register("Ada"), await client.register("Bert")
        table = await opened(ada, bert, seats=3)
        over = (await bert.open_ticitaire())["game"]
        await bert.play("giveUpTicitaire", over)
        async with aclosing(over_socket(address, MINE, bert.token)) as changes:
            player = Player(changes)
            assert (await player.next())["game"]["id"] == table["id"]
            own = (await bert.open_ticitaire())["game"]
            assert (await player.next())["game"]["id"] == own["id"]


async def test_no_game_is_missed_by_one_who_subscribes_at_any_moment(address: str, ada: Client, bert: Client) -> None:
    async def join(moment: int) -> set[str]:
        for _ in range(moment):
            await asyncio.sleep(0)
        async with aclosing(over_socket(address, MINE, bert.token)) as changes:
            player = Player(changes)
            while len(player.games) < 5:
                await player.next()
        return set(player.games)

    async def play() -> set[str]:
        return {(await opened(ada, bert, seats=3))["id"] for _ in range(5)}

    *found, games = await asyncio.gather(*(join(25 * number) for number in range(16)), play())
    assert found == [games] * 16


async def test_where_something_may_have_been_missed_the_player_s_games_are_looked_up_again(
    address: str, app: Starlette, bert: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = app.state.end_streams.__self__.world.player_watch
    monkeypatch.setattr(watch, "hear", lambda *_: None)
    first = (await bert.open_ticitaire())["game"]
    async with aclosing(over_socket(address, MINE, bert.token)) as changes:
        player = Player(changes)
        assert (await player.next())["game"]["id"] == first["id"]
        second = (await bert.open_ticitaire())["game"]
        watch.miss()
        assert (await player.next())["game"]["id"] == second["id"]


# --- what may go wrong ---


async def test_a_revoked_token_ends_it(address: str, ada: Client) -> None:
    async with connected(address, ada.token) as subscriber:
        await subscriber.subscribe(MINE)
        await ada.open_ticitaire()
        assert (await subscriber.next())["awaitingYou"] is True
        await ada.ask("mutation { revokeToken(input: {}) { __typename } }")
        assert await subscriber.closing() == (4403, "The token was revoked")


@pytest.mark.parametrize("lost", ["tic live", "tic%"])
async def test_it_goes_on_when_connections_to_the_database_are_lost(
    address: str, ada: Client, database_url: str, lost: str
) -> None:
    async with aclosing(over_socket(address, MINE, ada.token)) as changes:
        player = Player(changes)
        first = (await ada.open_ticitaire())["game"]
        await player.until(first, 3)
        with psycopg.connect(database_url, autocommit=True) as connection:
            assert connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE %s AND datname = current_database()",
                (lost,),
            ).fetchall()
        second = (await ada.open_ticitaire())["game"]
        assert state(await player.until(second, 3)) == ("PLAYING", 1, True)


async def test_when_nobody_follows_any_more_nothing_is_kept_for_them(app: Starlette, ada: Client) -> None:
    live = app.state.end_streams.__self__.world.live
    async with listening(app) as address, aclosing(over_socket(address, MINE, ada.token)) as changes:
        await ada.open_ticitaire()
        await told(changes)
        assert (len(live._followed), len(live._listeners)) == (1, 1)
    async with asyncio.timeout(10):
        while live._followed or live._listeners:  # noqa: ASYNC110 - what is waited for has no event to offer
            await asyncio.sleep(0.001)


# --- where they wait ---

PLAYER, GAME = UUID(int=1), UUID(int=2)


class Watched:
    """Stands for `Live`: which games are watched, and which of them were to be shown at once."""

    def __init__(self) -> None:
        self.games: list[UUID] = []
        self.now: list[UUID] = []

    def watch(self, game: UUID, _: object, *, now: bool) -> None:
        self.games.append(game)
        self.now += [game] if now else []

    def unwatch(self, game: UUID, _: object) -> None:
        self.games.remove(game)


def record(version: int, *, there: bool = True, over: bool = False) -> Game:
    """A game at a version; nothing else of it is looked at."""
    table = SimpleNamespace(attends=lambda _: there, over=over)
    return cast("Game", SimpleNamespace(id=GAME, version=version, table=table))


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def attendance(watched: Watched) -> _Attendance:
    return _Attendance(cast("Live", watched), PLAYER)


def versions(attendance: _Attendance, *shown: Game) -> list[int]:
    """The versions that are told when these are shown."""
    for game in shown:
        attendance.show(game)
    return [game.version for game in attendance.taken()]


def test_of_many_versions_that_wait_the_newest_is_told_and_none_twice(attendance: _Attendance) -> None:
    attendance.come(GAME)
    assert versions(attendance, record(3), record(5), record(4)) == [5]
    assert versions(attendance, record(5), record(4)) == []


def test_a_game_that_was_over_before_it_could_be_told_is_told_only_where_the_player_came_to_it_meanwhile(
    attendance: _Attendance, watched: Watched
) -> None:
    attendance.come(GAME)
    assert versions(attendance, record(9, over=True)) == []
    attendance.come(GAME, seq=2)
    assert versions(attendance, record(9, over=True)) == [9]
    assert (watched.games, watched.now) == ([], [GAME])


def test_a_game_that_the_player_had_left_is_not_told(attendance: _Attendance, watched: Watched) -> None:
    attendance.come(GAME)
    assert (versions(attendance, record(9, there=False)), watched.games) == ([], [])


def test_a_player_who_left_and_came_back_is_told_how_it_is_now(attendance: _Attendance, watched: Watched) -> None:
    attendance.come(GAME)
    assert versions(attendance, record(5)) == [5]
    attendance.come(GAME, seq=7)  # and the version before is still being shown
    assert versions(attendance, record(6, there=False)) == []
    assert versions(attendance, record(7)) == [7]
    assert versions(attendance, record(8, there=False)) == [8]
    assert (attendance.games, watched.games.count(GAME)) == ({}, 1)


def test_a_game_that_can_not_be_read_ends_nothing_and_is_logged(attendance: _Attendance) -> None:
    attendance.come(GAME)
    with structlog.testing.capture_logs() as logs:
        attendance.fail(GAME, ValueError("an event of a newer server"))
    assert [entry["log_level"] for entry in logs] == ["error"]
    assert versions(attendance, record(5)) == [5]


async def test_a_player_with_many_games_is_told_the_first_before_the_last_is_read(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.attending.AT_ONCE", 2)
    read: list[UUID] = []

    class Found:
        def attended(self, _: UUID) -> list[UUID]:
            return [UUID(int=number) for number in range(5)]

        def games(self, games: list[UUID]) -> list[Any]:
            read.extend(games)
            return [SimpleNamespace(**{**record(1).__dict__, "id": game}) for game in games]

    async def ask(call: Callable[[], Any], /) -> Any:
        return call()

    live = SimpleNamespace(watch=watched.watch, unwatch=watched.unwatch, listen=lambda _: None, unlisten=lambda _: None)
    watch = PlayerWatch(cast("Live", live), cast("Seams", Found()), ask)
    async with aclosing(watch.follow(PLAYER, None, None)) as told_games:
        assert [len(await anext(told_games)), len(read)] == [2, 2]
        assert [len(await anext(told_games)), len(read)] == [2, 4]
    assert watched.games == []
