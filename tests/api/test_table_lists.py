"""Tables for several in the list of games, and the invitation of private ones, which only their host is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from starlette.applications import Starlette

from tests.api.company import actions, caught_up, do, house, names, opened, started_by
from tests.client import Client, over_socket

pytestmark = pytest.mark.asyncio(loop_scope="module")

LINE = "id status takes private version host { name } players { name } seats { number player { name } }"
LIST = f"query ($filter: GameFilter) {{ games(filter: $filter, first: 100) {{ nodes {{ {LINE} }} }} }}"
MINE = "query ($filter: GameFilter) { viewer { games(filter: $filter) { nodes { id } } } }"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nobody(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A client without a token."""
    async with house(admin, template, postgres) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def ada(nobody: Client) -> Client:
    return await nobody.register("Ada")


@pytest_asyncio.fixture(loop_scope="module")
async def bob(nobody: Client) -> Client:
    return await nobody.register("Bob")


async def line(viewer: Client, game: Any) -> Any:
    """A game's line in the list, once it is there at the game's version."""
    await caught_up(viewer, game)
    lines = (await viewer.ask(LIST))["games"]["nodes"]
    return next(each for each in lines if each["id"] == game["id"])


async def mine(player: Client, **filter: Any) -> list[str]:
    return [node["id"] for node in (await player.ask(MINE, filter=filter))["viewer"]["games"]["nodes"]]


# --- the list ---


async def test_an_open_table_is_listed_with_those_who_have_come(nobody: Client, ada: Client, bob: Client) -> None:
    game = await opened(ada, bob, seats=4)
    assert await line(nobody, game) == {
        "id": game["id"],
        "status": "OPEN",
        "takes": 4,
        "private": False,
        "version": 3,
        "host": {"name": "Ada"},
        "players": [{"name": "Ada"}, {"name": "Bob"}],
        "seats": [],
    }


async def test_a_game_that_started_is_listed_with_its_seats(nobody: Client, ada: Client, bob: Client) -> None:
    game = await started_by(ada, bob)
    shown = await line(nobody, game)
    assert (shown["status"], shown["seats"]) == ("PLAYING", game["seats"])


async def test_whoever_left_is_listed_no_more(nobody: Client, ada: Client, bob: Client) -> None:
    game = (await do(bob, "leaveGame", await opened(ada, bob)))["game"]
    assert names((await line(nobody, game))["players"]) == ["Ada"]


async def test_whoever_came_again_is_listed_as_the_last(nobody: Client, ada: Client, bob: Client) -> None:
    cyd = await nobody.register("Cyd")
    game = (await do(bob, "leaveGame", await opened(ada, bob, cyd)))["game"]
    game = (await do(bob, "joinGame", game))["game"]
    assert names((await line(nobody, game))["players"]) == ["Ada", "Cyd", "Bob"]


async def test_whoever_left_a_game_that_had_started_is_listed_with_the_seat(
    nobody: Client, ada: Client, bob: Client
) -> None:
    game = (await do(bob, "leaveGame", await started_by(ada, bob)))["game"]
    shown = await line(nobody, game)
    assert (shown["status"], sorted(names(seat["player"] for seat in shown["seats"]))) == ("FINISHED", ["Ada", "Bob"])


async def test_games_are_found_by_how_far_they_have_come(ada: Client, bob: Client) -> None:
    games = {"OPEN": await opened(ada, bob), "PLAYING": await started_by(ada, bob)}
    games["FINISHED"] = (await do(bob, "resignGame", await started_by(ada, bob)))["game"]
    games["CANCELLED"] = (await do(ada, "cancelGame", await opened(ada, bob)))["game"]
    await caught_up(ada, *games.values())
    found = {status: await mine(ada, status=status) for status in games}
    assert found == {status: [game["id"]] for status, game in games.items()}


async def test_games_are_found_by_whether_they_are_private(ada: Client) -> None:
    private, public = await opened(ada, private=True), await opened(ada)
    await caught_up(ada, private, public)
    assert [await mine(ada, private=True), await mine(ada, private=False)] == [[private["id"]], [public["id"]]]


async def test_tables_that_anyone_may_join_now_are_found_as_such(nobody: Client, ada: Client, bob: Client) -> None:
    finished = (await do(bob, "resignGame", await started_by(ada, bob)))["game"]
    games = {
        "open": await opened(ada, bob),
        "full": await opened(ada, bob, seats=2),
        "private": await opened(ada, private=True),
        "started": await started_by(ada, bob),
        "finished": finished,
        "rematch": (await do(ada, "rematchGame", finished))["game"],
        "cancelled": (await do(ada, "cancelGame", await opened(ada, bob)))["game"],
        "of one": (await ada.open_ticitaire())["game"],
    }
    await caught_up(nobody, *games.values())
    found = await mine(ada, joinable=True)
    assert found == [games["open"]["id"]]
    assert sorted(await mine(ada, joinable=False)) == sorted(game["id"] for game in games.values())


async def test_a_full_table_that_is_left_may_be_joined_again(ada: Client, bob: Client) -> None:
    game = await opened(ada, bob, seats=2)
    await caught_up(ada, game)
    full = await mine(ada, joinable=True)
    game = (await do(bob, "leaveGame", game))["game"]
    await caught_up(ada, game)
    assert (full, await mine(ada, joinable=True)) == ([], [game["id"]])


async def test_games_are_found_by_their_kind(ada: Client) -> None:
    tickle, ticitaire = await opened(ada), (await ada.open_ticitaire())["game"]
    await caught_up(ada, tickle, ticitaire)
    assert [await mine(ada, kind="TICKLE"), await mine(ada, kind="TICITAIRE")] == [[tickle["id"]], [ticitaire["id"]]]


async def test_a_player_finds_the_tables_that_others_opened(ada: Client, bob: Client) -> None:
    joined, left = await opened(ada, bob), (await do(bob, "leaveGame", await opened(ada, bob)))["game"]
    await caught_up(bob, joined, left)
    assert await mine(bob) == [joined["id"]]


async def test_a_line_of_the_list_leads_to_the_table_as_the_viewer_sees_it(ada: Client) -> None:
    game = await opened(ada, private=True)
    await caught_up(ada, game)
    query = "{ viewer { games { nodes { game { id invitation } } } } }"
    (shown,) = (await ada.ask(query))["viewer"]["games"]["nodes"]
    assert shown["game"] == {"id": game["id"], "invitation": game["invitation"]}


# --- private tables ---


async def invited(host: Client, *, guests: tuple[Client, ...] = (), **options: Any) -> tuple[Any, str]:
    """A private table that guests have come to, and its invitation."""
    game = await opened(host, private=True, **options)
    code: str = game["invitation"]
    for guest in guests:
        game = (await do(guest, "joinGame", game, code=code))["game"]
    return game, code


async def test_the_host_of_a_private_table_is_told_its_invitation(ada: Client) -> None:
    _, code = await invited(ada)
    assert len(code) == 26
    assert code.isalnum()


async def test_every_table_has_an_invitation_of_its_own(ada: Client) -> None:
    assert (await invited(ada))[1] != (await invited(ada))[1]


async def test_a_table_that_is_not_private_has_none(ada: Client) -> None:
    assert (await opened(ada))["invitation"] is None


async def test_nobody_else_is_told_the_invitation(nobody: Client, ada: Client, bob: Client) -> None:
    game, _ = await invited(ada, guests=(bob,))
    viewers = {"a guest": bob, "a stranger": await nobody.register(), "the public": nobody}
    found = {who: (await viewer.game(game["id"], "invitation"))["invitation"] for who, viewer in viewers.items()}
    assert found == dict.fromkeys(viewers)


async def test_the_host_is_told_it_until_the_deal(ada: Client, bob: Client) -> None:
    game, code = await invited(ada, guests=(bob,))
    before = (await ada.game(game["id"], "invitation"))["invitation"]
    started = (await do(ada, "startGame", game))["game"]
    assert (before, started["invitation"]) == (code, None)


async def test_a_table_that_was_cancelled_invites_nobody(ada: Client) -> None:
    game, _ = await invited(ada)
    assert (await do(ada, "cancelGame", game))["game"]["invitation"] is None


EVERYTHING = f"""
  invitation legalActions {{ mutation }} hash fairness {{ deal commitment seeds }}
  events(first: 100) {{ nodes {{ bytes hash cards {{ name }} fact {{ type }} }} }} {LINE.replace("takes private", "")}
"""


async def test_the_invitation_stands_in_nothing_that_others_are_shown(nobody: Client, ada: Client, bob: Client) -> None:
    game, code = await invited(ada, guests=(bob,))
    for viewer in (bob, nobody):
        shown = [await viewer.game(game["id"], EVERYTHING), await line(viewer, game)]
        refused = await do(await nobody.register(), "joinGame", game, code=code[:-1])
        assert code not in json.dumps([shown, refused]).lower()


async def test_the_invitation_stands_in_no_event(ada: Client, bob: Client) -> None:
    game, code = await invited(ada, guests=(bob,))
    over = (await do(bob, "leaveGame", (await do(ada, "startGame", game))["game"]))["game"]
    assert code not in json.dumps(await ada.history(over["id"])).lower()


@pytest.mark.parametrize("whose", ["none", "empty", "another table's", "nearly right", "too long"])
async def test_without_the_invitation_nobody_joins(ada: Client, bob: Client, whose: str) -> None:
    game, code = await invited(ada)
    codes = {"none": None, "empty": "", "another table's": (await invited(ada))[1]}
    codes |= {"nearly right": code[:-1] + ("a" if code[-1] != "a" else "b"), "too long": code + "a"}
    refused = await do(bob, "joinGame", game, code=codes[whose])
    assert (refused["code"], refused["ruling"]) == ("NOT_INVITED", "G3")


@pytest.mark.parametrize("form", [str.upper, " {} ".format], ids=["in capitals", "with blanks around"])
async def test_an_invitation_may_be_written_by_hand(ada: Client, bob: Client, form: Any) -> None:
    game, code = await invited(ada)
    assert (await do(bob, "joinGame", game, code=form(code)))["__typename"] == "CommandAccepted"


async def test_the_last_letter_of_an_invitation_counts(ada: Client, bob: Client) -> None:
    game, code = await invited(ada)
    others = [code[:-1] + letter for letter in "abcdefghijklmnopqrstuvwxyz234567" if letter != code[-1]]
    refused = [await do(bob, "joinGame", game, code=other) for other in others]
    assert {one["__typename"] for one in refused} == {"RuleViolation"}


async def test_a_code_for_a_table_that_is_not_private_does_not_matter(ada: Client, bob: Client) -> None:
    assert (await do(bob, "joinGame", await opened(ada), code="whatever"))["__typename"] == "CommandAccepted"


async def test_who_left_a_private_table_needs_the_invitation_again(ada: Client, bob: Client) -> None:
    game, _ = await invited(ada, guests=(bob,))
    await do(bob, "leaveGame", game)
    assert (await do(bob, "joinGame", game))["code"] == "NOT_INVITED"


async def test_a_private_table_is_not_offered_to_strangers(nobody: Client, ada: Client, bob: Client) -> None:
    game, _ = await invited(ada, guests=(bob,))
    stranger = await nobody.register()
    found = [await actions(viewer, game) for viewer in (ada, bob, stranger, nobody)]
    assert found == [["startGame", "cancelGame"], ["leaveGame"], [], []]


# --- a table that is cancelled, to those who follow it ---


@pytest.mark.parametrize(
    ("query", "told"),
    [
        pytest.param(
            "subscription ($id: ID!) { gameEvents(gameId: $id) { type } }",
            ["tickle.GameOpened", "game.PlayerJoined", "game.GameCancelled"],
            id="gameEvents",
        ),
        pytest.param(
            "subscription ($id: ID!) { gameChanged(gameId: $id) { status } }", ["CANCELLED"], id="gameChanged"
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="function")
async def test_what_follows_a_table_ends_with_its_cancellation(
    app: Starlette, client: Client, address: str, query: str, told: list[str]
) -> None:
    host = await client.register()
    game = await opened(host)
    results = over_socket(address, query, token=host.token, id=game["id"])
    first = await anext(results)
    await do(host, "cancelGame", game)
    heard = [first, *[result async for result in results]]
    shown = [value for result in heard for value in next(iter(result["data"].values())).values()]
    assert shown[-len(told) :] == told
