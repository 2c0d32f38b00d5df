"""Following games as they happen, over WebSockets and server-sent events, against a listening server."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import structlog
from eventsourcing.persistence import OperationalError
from psycopg_pool import PoolTimeout
from starlette.applications import Starlette

from api import subscriptions
from api.accounts import Accounts
from api.app import kept_running
from api.games import show
from api.live import patiently, stopped
from api.sharing import Encodings
from tests.api.company import do, opened
from tests.client import Client, connected, over_events, over_socket
from tests.conftest import in_memory, listening, started

EVENTS = "subscription ($id: ID!, $after: Int = 0) { gameEvents(gameId: $id, afterSeq: $after) { seq hash bytes } }"
CHANGES = "subscription ($id: ID!) { gameChanged(gameId: $id) { version hash status viewerSeat } }"
BULKY = EVENTS.replace("hash bytes", " ".join(f"copy{n}: bytes" for n in range(25)))
"""Some ten kilobytes an event, so that a connection that nobody reads is full soon."""

Follow = Callable[..., AsyncGenerator[Any]]


@pytest.fixture(params=[over_socket, over_events], ids=["graphql-transport-ws", "server-sent events"])
def follow(request: pytest.FixtureRequest, address: str) -> Follow:
    """Follows a subscription over either transport: follow(query, **variables) yields its results."""
    return partial(request.param, address)


@pytest.fixture
async def ada(client: Client) -> Client:
    return await client.register()


@pytest.fixture
async def game(ada: Client) -> Any:
    return (await ada.open_ticitaire())["game"]


async def turned(player: Client, game: Any, times: int) -> Any:
    """Turn the stock so many times; return the game after it."""
    for _ in range(times):
        game = (await player.play("turnTicitaireStock", game))["game"]
    return game


async def heard(results: AsyncGenerator[Any]) -> list[Any]:
    """What a subscription without errors tells until it completes."""
    async with asyncio.timeout(10), aclosing(results):
        return [next(iter(result["data"].values())) async for result in results]


async def refused(results: AsyncGenerator[Any]) -> dict[str, Any]:
    """The extensions of the only error of a subscription that can't begin."""
    (result,) = [result async for result in results]
    (error,) = result["errors"]
    extensions: dict[str, Any] = error["extensions"]
    return extensions


# --- events ---


async def test_the_past_and_the_present_are_told_without_a_gap(follow: Follow, ada: Client, game: Any) -> None:
    game = await turned(ada, game, 10)

    async def play_on() -> None:
        await ada.play("giveUpTicitaire", await turned(ada, game, 40))

    told, _ = await asyncio.gather(heard(follow(EVENTS, id=game["id"])), play_on())
    assert [event["seq"] for event in told] == list(range(1, 57))
    assert told == await ada.history(game["id"], fields="seq hash bytes")


async def test_many_who_join_at_any_moment_are_all_told_everything(address: str, ada: Client, game: Any) -> None:
    async def join(moment: int) -> list[int]:
        for _ in range(moment):
            await asyncio.sleep(0)
        return [event["seq"] for event in await heard(over_socket(address, EVENTS, id=game["id"]))]

    async def play() -> None:
        await ada.play("giveUpTicitaire", await turned(ada, game, 20))

    *told, _ = await asyncio.gather(*(join(20 * number) for number in range(20)), play())
    assert told == [list(range(1, 27))] * 20


async def test_whoever_was_cut_off_resumes_after_the_last_event_seen(follow: Follow, ada: Client, game: Any) -> None:
    await ada.play("giveUpTicitaire", await turned(ada, game, 3))
    told = await heard(follow(EVENTS, id=game["id"], after=5))
    assert [event["seq"] for event in told] == [6, 7, 8, 9]


async def test_whoever_has_everything_waits_for_the_next_event(follow: Follow, ada: Client, game: Any) -> None:
    async with asyncio.timeout(10), aclosing(follow(EVENTS, id=game["id"], after=3)) as results:
        waiting = asyncio.ensure_future(anext(results))
        await turned(ada, game, 1)
        assert (await waiting)["data"]["gameEvents"]["seq"] == 4


async def test_after_the_last_event_of_a_closed_record_nothing_is_told(follow: Follow, ada: Client, game: Any) -> None:
    over = await ada.play("giveUpTicitaire", game)
    assert await heard(follow(EVENTS, id=game["id"], after=over["version"])) == []


@pytest.mark.parametrize("after", [-1, 4, 2**31 - 1])
async def test_a_number_out_of_range_is_the_clients_mistake(follow: Follow, game: Any, after: int) -> None:
    assert (await refused(follow(EVENTS, id=game["id"], after=after)))["code"] == "BAD_USER_INPUT"


@pytest.mark.parametrize("query", [EVENTS, CHANGES], ids=["gameEvents", "gameChanged"])
async def test_a_game_that_does_not_exist_can_not_be_followed(follow: Follow, query: str) -> None:
    unknown = base64.urlsafe_b64encode(f"game:{uuid4()}".encode()).decode().rstrip("=")
    codes = [(await refused(follow(query, id=id)))["code"] for id in (unknown, "nonsense", "\x00")]
    assert codes == ["NOT_FOUND"] * 3


async def test_a_subscription_that_goes_away_disturbs_no_other(address: str, ada: Client, game: Any) -> None:
    staying = over_socket(address, EVENTS, id=game["id"], after=3)
    first = asyncio.ensure_future(anext(staying))
    async with aclosing(over_socket(address, EVENTS, id=game["id"])) as leaving:
        await anext(leaving)
    game = await turned(ada, game, 1)
    assert (await first)["data"]["gameEvents"]["seq"] == 4
    await ada.play("giveUpTicitaire", game)
    assert [event["seq"] for event in await heard(staying)] == [5, 6, 7]


async def test_other_games_are_not_told(address: str, ada: Client, game: Any) -> None:
    other = (await ada.open_ticitaire())["game"]

    async def play() -> None:
        await ada.play("giveUpTicitaire", await turned(ada, other, 5))
        await ada.play("giveUpTicitaire", game)

    told, _ = await asyncio.gather(heard(over_socket(address, EVENTS, id=game["id"])), play())
    assert told == await ada.history(game["id"], fields="seq hash bytes")


@pytest.mark.parametrize("lost", ["tic live", "tic hints", "tic%"])
async def test_subscriptions_go_on_when_connections_to_the_database_are_lost(
    address: str, ada: Client, game: Any, database_url: str, lost: str
) -> None:
    async with connected(address) as subscriber:
        await subscriber.subscribe(EVENTS, id=game["id"], after=3)
        game = await turned(ada, game, 1)
        assert (await subscriber.next())["seq"] == 4
        with psycopg.connect(database_url, autocommit=True) as connection:
            killed = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE %s AND datname = current_database()",
                (lost,),
            ).fetchall()
        assert killed
        await turned(ada, game, 3)
        assert [(await subscriber.next())["seq"] for _ in range(3)] == [5, 6, 7]


async def test_what_another_server_appends_is_told_also_when_its_hints_are_lost(
    database_url: str, address: str, ada: Client, game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.hints.Hints.tell", lambda _: None)
    async with started(database_url) as other, in_memory(other) as elsewhere, connected(address) as subscriber:
        await subscriber.subscribe(EVENTS, id=game["id"], after=2)
        assert (await subscriber.next())["seq"] == 3
        await turned(replace(elsewhere, token=ada.token), game, 1)
        assert (await subscriber.next())["seq"] == 4


async def test_a_revocation_that_could_not_be_looked_up_is_looked_up_again(
    address: str, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.app.RETRY_SECONDS", 0)
    errors, valid = [ValueError("a bug")], Accounts.valid

    def failing_once(accounts: Accounts, digests: Collection[str]) -> set[str]:
        if errors:
            raise errors.pop()
        return valid(accounts, digests)

    async with connected(address, ada.token) as subscriber:
        monkeypatch.setattr(Accounts, "valid", failing_once)
        await ada.ask("mutation { revokeToken(input: {}) { __typename } }")
        assert (await subscriber.closing(), errors) == ((4403, "The token was revoked"), [])


@pytest.mark.parametrize("end", [None, ValueError("a bug"), asyncio.CancelledError()], ids=repr)
async def test_what_should_run_for_ever_is_begun_anew_where_it_ends_unasked_and_that_is_logged(
    end: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.app.RETRY_SECONDS", 0)
    ends, runs_on = [end, end], asyncio.Event()

    async def run() -> None:
        if not ends:
            runs_on.set()
            await asyncio.Event().wait()
        if (error := ends.pop()) is not None:
            raise error

    with structlog.testing.capture_logs() as logs:
        running = asyncio.create_task(kept_running(run))
        async with asyncio.timeout(5):
            await runs_on.wait()
        await stopped(running)
    assert (running.cancelled(), [entry["log_level"] for entry in logs]) == (True, ["error"] * 2)


async def test_what_is_read_for_a_subscriber_is_read_again_while_the_database_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.live.RETRY_SECONDS", 0)
    outcomes: list[Any] = [OperationalError("away"), PoolTimeout("still away"), "the game"]

    async def read() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return str(outcome)

    assert await patiently(read) == "the game"


# --- changes ---


async def test_the_game_is_shown_at_once_and_then_as_it_changes(follow: Follow, ada: Client, game: Any) -> None:
    async with asyncio.timeout(10), aclosing(follow(CHANGES, token=ada.token, id=game["id"])) as results:
        assert (await anext(results))["data"]["gameChanged"]["version"] == 3
        turn = await ada.play("turnTicitaireStock", game)
        assert (await anext(results))["data"]["gameChanged"] == {
            "version": 4,
            "hash": turn["hash"],
            "status": "PLAYING",
            "viewerSeat": 1,
        }
        await ada.play("giveUpTicitaire", turn["game"])
        assert [result["data"]["gameChanged"]["status"] async for result in results] == ["FINISHED"]


async def test_a_game_that_is_over_is_shown_once(follow: Follow, ada: Client, game: Any) -> None:
    await ada.play("giveUpTicitaire", game)
    assert [shown["version"] for shown in await heard(follow(CHANGES, id=game["id"]))] == [6]


async def test_the_versions_that_are_shown_only_grow(address: str, ada: Client, game: Any) -> None:
    async def play() -> None:
        await ada.play("giveUpTicitaire", await turned(ada, game, 30))

    shown, _ = await asyncio.gather(heard(over_socket(address, CHANGES, id=game["id"])), play())
    versions = [view["version"] for view in shown]
    assert versions == sorted(set(versions))
    assert versions[-1] == 36


# --- what is shared ---


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is made for a subscription to show: (seq,) of an event, or the version of a game and its viewer."""
    found: list[tuple[Any, ...]] = []
    shown = subscriptions._shown

    def counted_game(info: Any, record: Any) -> Any:
        found.append((record.version, info.context.player))
        return show(info, record)

    def counted_event(facts: Any, event: Any) -> Any:
        found.append((event.seq,))
        return shown(facts, event)

    monkeypatch.setattr("api.subscriptions.show", counted_game)
    monkeypatch.setattr("api.subscriptions._shown", counted_event)
    monkeypatch.setattr("api.documents.Encodings", partial(Encodings, seconds=3600))  # however slow this machine is
    return found


async def test_an_event_is_executed_once_for_all_who_follow_it(
    executed: list[tuple[Any, ...]], address: str, ada: Client, game: Any
) -> None:
    tokens = [None, None, ada.token, None, ada.token]
    following = [asyncio.ensure_future(heard(over_socket(address, EVENTS, token, id=game["id"]))) for token in tokens]
    await ada.play("giveUpTicitaire", await turned(ada, game, 5))
    told = await asyncio.gather(*following)
    assert sorted(executed) == [(seq,) for seq in range(1, 12)]
    assert told == [await ada.history(game["id"], fields="seq hash bytes")] * 5


async def test_a_version_is_executed_once_for_each_viewer(
    executed: list[tuple[Any, ...]], address: str, ada: Client, game: Any, client: Client
) -> None:
    bert = await client.register("Bert")
    tokens = [ada.token, None, bert.token, ada.token, None]
    streams = [over_socket(address, CHANGES, token, id=game["id"]) for token in tokens]
    try:
        shown = await asyncio.gather(*(anext(stream) for stream in streams))
        for turns in range(1, 4):
            coming = [asyncio.ensure_future(anext(stream)) for stream in streams]
            game = await turned(ada, game, 1)
            shown = await asyncio.gather(*coming)
            views = [result["data"]["gameChanged"] for result in shown]
            assert [view["version"] for view in views] == [3 + turns] * 5
            assert [view["viewerSeat"] for view in views] == [1, None, None, 1, None]
    finally:
        for stream in streams:
            await stream.aclose()
    assert len(executed) == len(set(executed)) == 4 * 3


async def test_one_s_own_cards_are_told_to_nobody_else(address: str, client: Client) -> None:
    ada, bert = await client.register("Ada"), await client.register("Bert")
    table = await opened(ada, bert)
    query = "subscription ($id: ID!) { gameEvents(gameId: $id) { seq cards { name } } }"
    tokens = {"ada": ada.token, "bert": bert.token, "spectator": None, "another": None}
    streams = {who: over_socket(address, query, token, id=table["id"]) for who, token in tokens.items()}
    told: dict[str, list[Any]] = {who: [] for who in streams}

    async def read(who: str, until: int) -> None:
        while len(told[who]) < until:
            told[who].append((await anext(streams[who]))["data"]["gameEvents"])

    async with asyncio.timeout(10):
        await asyncio.gather(*(read(who, table["version"]) for who in streams))
        started_game = (await do(ada, "startGame", table))["game"]
        await asyncio.gather(*(read(who, started_game["version"]) for who in streams))
    for stream in streams.values():
        await stream.aclose()
    hands = {who: [card["name"] for event in events for card in event["cards"]] for who, events in told.items()}
    assert [len(hand) for hand in hands.values()] == [6, 6, 0, 0]
    assert not set(hands["ada"]) & set(hands["bert"])


# --- readers who are slow ---


def narrow() -> socket.socket:
    """A listening socket whose connections hold little that nobody has read."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    return listener


def narrow_to(address: str) -> socket.socket:
    """A connection to the address that takes in little which nobody has read."""
    host, _, port = address.partition(":")
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.connect((host, int(port)))
    reader.setblocking(False)
    return reader


async def test_a_slow_reader_is_cut_off_and_can_resume_and_a_fast_one_is_not_disturbed(
    app: Starlette, ada: Client, game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.readers.BACKLOG", 5)
    async with (
        listening(app, [narrow()]) as address,
        connected(address, sock=narrow_to(address), max_queue=1, compression=None) as slow,
        connected(address) as fast,
    ):
        await slow.subscribe(BULKY, id=game["id"])
        await fast.subscribe(EVENTS, id=game["id"])
        assert [(await slow.next())["seq"], (await fast.next())["seq"]] == [1, 1]
        slow.connection.transport.pause_reading()
        for seq in range(4, 73):  # the fast reader keeps up with the game
            game = await turned(ada, game, 1)
            while (await fast.next())["seq"] < seq:
                pass
        slow.connection.transport.resume_reading()
        told = [1]
        while (message := await slow.hear())["type"] == "next":
            told.append(message["payload"]["data"]["gameEvents"]["seq"])
        (error,) = message["payload"]
    assert told == list(range(1, len(told) + 1))
    assert (error["extensions"]["code"], error["extensions"]["afterSeq"]) == ("SLOW_READER", told[-1])
    await ada.play("giveUpTicitaire", game)
    async with listening(app) as address:
        rest = await heard(over_socket(address, EVENTS, id=game["id"], after=told[-1]))
    assert [event["seq"] for event in rest] == list(range(told[-1] + 1, 76))


async def test_a_slow_reader_of_changes_is_shown_the_newest_and_skips_the_others(
    app: Starlette, ada: Client, game: Any
) -> None:
    game = await turned(ada, game, 40)
    copies = " ".join(f"copy{n}: events(first: 40) {{ nodes {{ bytes }} }}" for n in range(3))
    async with (
        listening(app, [narrow()]) as address,
        connected(address, sock=narrow_to(address), max_queue=1, compression=None) as slow,
    ):
        await slow.subscribe(CHANGES.replace("hash", copies), id=game["id"])
        assert (await slow.next())["version"] == 43
        slow.connection.transport.pause_reading()
        await ada.play("giveUpTicitaire", await turned(ada, game, 29))
        slow.connection.transport.resume_reading()
        versions = []
        while (message := await slow.hear())["type"] == "next":
            versions.append(message["payload"]["data"]["gameChanged"]["version"])
    assert message["type"] == "complete"
    assert versions == sorted(set(versions))
    assert (versions[-1], len(versions) < 10) == (75, True)
