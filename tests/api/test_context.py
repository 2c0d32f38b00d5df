"""How often a game is read for what one operation asks of it: once for a whole page, and again for what is newer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from eventsourcing.persistence import OperationalError

from api.context import Context, World
from domain.application import GameNotFound, Games
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from tests.client import Client

PAGE = "events(first: 20) { nodes { seq cards { name } } }"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The games that are read, as often as they are."""
    found: list[UUID] = []
    game = Games.game

    def counted(games: Games, game_id: UUID) -> Any:
        found.append(game_id)
        return game(games, game_id)

    monkeypatch.setattr(Games, "game", counted)
    return found


async def played(client: Client) -> tuple[Client, Any]:
    """A player, and a game of 13 events."""
    ada = await client.register()
    game = (await ada.open_ticitaire())["game"]
    for _ in range(10):
        game = (await ada.play("turnTicitaireStock", game))["game"]
    return ada, game


async def test_for_the_cards_of_a_page_of_events_the_game_is_read_once_more(client: Client, read: list[UUID]) -> None:
    ada, game = await played(client)
    read.clear()
    shown = (await ada.game(game["id"], PAGE))["events"]["nodes"]
    assert [event["seq"] for event in shown] == list(range(1, 14))
    assert read == [UUID(game["uuid"])] * 2  # for `game`, and for all of its events


async def test_for_many_pages_at_once_it_is_read_once_more(client: Client, read: list[UUID]) -> None:
    ada, game = await played(client)
    read.clear()
    shown = await ada.game(game["id"], " ".join(f"page{n}: {PAGE}" for n in range(20)))
    assert len(shown) == 20
    assert len(read) == 2


async def test_without_the_cards_it_is_not_read_for_its_events(client: Client, read: list[UUID]) -> None:
    ada, game = await played(client)
    read.clear()
    await ada.game(game["id"], "events(first: 20) { nodes { seq } }")
    assert len(read) == 1


# --- what is newer ---

ADA = UUID(int=1)


@pytest.fixture
def context(games: Games) -> Context:
    """An operation, of which nothing is needed but the games."""

    async def blocking(call: Callable[[], Any]) -> Any:
        return await asyncio.to_thread(call)

    return Context(cast("World", SimpleNamespace(games=games, blocking=blocking)), None, "a request")


@pytest.fixture
def game(games: Games) -> UUID:
    """A game of 3 events."""
    return games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id


def turn(games: Games, game: UUID) -> None:
    games.handle(game, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=None)


async def test_a_game_that_was_read_is_not_read_again_for_older_events(
    context: Context, game: UUID, read: list[UUID]
) -> None:
    found = [await context.record(game, at_least=version) for version in (3, 1, 3)]
    assert ([record.version for record in found], len(read)) == ([3, 3, 3], 1)


async def test_it_is_read_again_for_an_event_that_is_newer(
    context: Context, games: Games, game: UUID, read: list[UUID]
) -> None:
    before = await context.record(game, at_least=3)
    turn(games, game)
    after = await context.record(game, at_least=4)
    assert (before.version, after.version, len(read)) == (3, 4, 2)
    assert await context.record(game, at_least=3) is after


async def test_many_who_wait_for_an_event_that_is_newer_read_it_once_together(
    context: Context, games: Games, game: UUID, read: list[UUID]
) -> None:
    await context.record(game, at_least=3)
    turn(games, game)
    read.clear()
    found = await asyncio.gather(*(context.record(game, at_least=version) for version in [4] * 10))
    assert ({record.version for record in found}, len(read)) == ({4}, 1)


async def test_each_game_is_read_by_itself(context: Context, games: Games, game: UUID, read: list[UUID]) -> None:
    other = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id
    found = await asyncio.gather(*(context.record(id, at_least=3) for id in (game, other) * 3))
    assert ([record.id for record in found], sorted(read)) == ([game, other] * 3, sorted([game, other]))


async def test_a_game_that_is_not_there_is_not_found_by_any_who_wait(context: Context) -> None:
    asked = (context.record(UUID(int=7), at_least=1) for _ in range(3))
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(error) for error in found] == [GameNotFound] * 3


async def test_a_game_that_could_not_be_read_once_is_read_when_it_is_asked_for_again(
    context: Context, games: Games, game: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Games, game_id: UUID) -> Any:
        raise OperationalError(f"the database is away, and {game_id} with it")

    with monkeypatch.context() as patch:
        patch.setattr(Games, "game", away)
        with pytest.raises(OperationalError):
            await context.record(game, at_least=3)
    assert (await context.record(game, at_least=3)).version == 3


@pytest.mark.parametrize("hasty", [0, 1], ids=["the first", "a later one"])
async def test_one_who_gives_up_waiting_does_not_stop_the_others(context: Context, game: UUID, hasty: int) -> None:
    waiting = [asyncio.ensure_future(context.record(game, at_least=3)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[hasty].cancel()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    versions = [getattr(record, "version", type(record)) for record in found]
    assert versions == [asyncio.CancelledError if number == hasty else 3 for number in range(3)]


# --- what several fields ask for together ---


async def test_a_field_that_fails_calls_off_no_other_that_waits_for_the_same(client: Client) -> None:
    ada = await client.register()
    query = """{ viewer {
      failing: player { statistics(kind: TICKLE) { games } history(after: "no cursor") { __typename } }
      player { statistics(kind: TICKLE) { games } }
    } }"""
    assert (await ada.error(query))["extensions"]["code"] == "BAD_USER_INPUT"


@pytest.mark.parametrize("loader", ["players", "statistics", "ratings"])
async def test_who_waits_for_what_another_waited_for_is_told_when_that_one_is_called_off(loader: str) -> None:
    read = asyncio.Event()

    async def blocking(_: Callable[[], Any]) -> Any:
        await read.wait()
        return ["what was read"]

    loaded = getattr(Context(cast("World", SimpleNamespace(blocking=blocking, **READ)), None, "a request"), loader)
    one, other = (asyncio.ensure_future(loaded.load(ADA)) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    read.set()
    assert await other == "what was read"


READ: Any = {"accounts": None, "standings": SimpleNamespace(statistics=None, ratings=None)}
"""What is asked where nothing is read in truth."""
