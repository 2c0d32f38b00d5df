"""Playing a finished game again over HTTP: whoever asks first opens the table, whoever asks after that joins it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import actions, caught_up, do, house, names, opened, started_by, types
from tests.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Company(NamedTuple):
    """Who played, and who did not."""

    ada: Client
    bob: Client
    cyd: Client
    stranger: Client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nobody(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A client without a token."""
    async with house(admin, template, postgres) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def company(nobody: Client) -> Company:
    ada, bob, cyd, stranger = [await nobody.register(name) for name in ("Ada", "Bob", "Cyd", "Eve")]
    return Company(ada, bob, cyd, stranger)


async def finished(host: Client, *guests: Client, **options: Any) -> Any:
    """A game that all guests have resigned from."""
    game = await started_by(host, *guests, **{"seating": "AS_JOINED", **options})
    for guest in guests:
        game = (await do(guest, "resignGame", game))["game"]
    return game


async def again(player: Client, game: Any, **input: Any) -> Any:
    return await do(player, "rematchGame", game, **input)


async def of_three(company: Company, **options: Any) -> Any:
    """A game that Ada, Bob and Cyd have played, in this order."""
    return await finished(company.ada, company.bob, company.cyd, **options)


async def test_whoever_asks_first_opens_the_table_and_is_its_host(company: Company) -> None:
    outcome = await again(company.bob, await of_three(company))
    assert types(outcome) == ["tickle.GameOpened", "game.PlayerJoined"]
    assert (outcome["game"]["host"]["name"], names(outcome["game"]["players"])) == ("Bob", ["Bob"])


async def test_whoever_asks_after_that_joins_it(company: Company) -> None:
    game = await of_three(company)
    first = await again(company.bob, game)
    outcome = await again(company.ada, game)
    assert (types(outcome), outcome["game"]["id"]) == (["game.PlayerJoined"], first["game"]["id"])
    assert names(outcome["game"]["players"]) == ["Bob", "Ada"]


async def test_the_table_has_the_options_of_the_game_before_it(company: Company) -> None:
    asked = {"seats": 4, "startWhenFull": True, "private": True, "seating": "SHUFFLED"}
    asked |= {"turnSeconds": 60, "deck": "HALF", "target": 100}
    private = await opened(company.ada, **asked)
    await do(company.bob, "joinGame", private, code=private["invitation"])
    game = (await do(company.ada, "startGame", private))["game"]
    await do(company.bob, "resignGame", game)
    rematch = (await again(company.ada, game))["game"]
    shown = await company.bob.game(
        rematch["id"],
        "... on TickleGame { options { seats startWhenFull private seating turnSeconds deck target } }",
    )
    assert shown["options"] == asked


OPENING = "events(first: 1) { nodes { fact { ... on TickleOpened { rematchOf movedOn rematchPlayers { name } } } } }"


@pytest.mark.parametrize("moved_on", [True, False])
async def test_the_opening_tells_what_is_played_again_and_how(company: Company, moved_on: bool) -> None:
    game = await of_three(company)
    rematch = (await again(company.ada, game, movedOn=moved_on))["game"]
    (event,) = (await company.stranger.game(rematch["id"], OPENING))["events"]["nodes"]
    players = [{"name": name} for name in ("Ada", "Bob", "Cyd")]
    assert event["fact"] == {"rematchOf": game["id"], "movedOn": moved_on, "rematchPlayers": players}


async def test_a_game_that_is_no_rematch_says_so(company: Company) -> None:
    (event,) = (await company.stranger.game((await opened(company.ada))["id"], OPENING))["events"]["nodes"]
    assert event["fact"] == {"rematchOf": None, "movedOn": False, "rematchPlayers": []}


async def test_every_game_tells_how_many_it_takes_and_what_it_plays_again(company: Company, nobody: Client) -> None:
    game = await of_three(company, seats=5)
    shown = {
        "a game": game,
        "its rematch": (await again(company.ada, game))["game"],
        "a game of one": (await company.ada.open_ticitaire())["game"],
    }
    found = {what: await nobody.game(one["id"], "takes rematchOf") for what, one in shown.items()}
    assert found == {
        "a game": {"takes": 5, "rematchOf": None},
        "its rematch": {"takes": 3, "rematchOf": game["id"]},
        "a game of one": {"takes": 1, "rematchOf": None},
    }


async def test_everybody_finds_the_rematch_at_the_game_before_it(company: Company, nobody: Client) -> None:
    game = await of_three(company)
    before = (await nobody.game(game["id"], "rematch { id }"))["rematch"]
    rematch = (await again(company.ada, game))["game"]
    assert (before, (await nobody.game(game["id"], "rematch { id }"))["rematch"]) == (None, {"id": rematch["id"]})


# --- who may ask, and when ---


@pytest.mark.parametrize("moved_on", [False, True], ids=["anew", "moved on"])
async def test_whoever_did_not_play_does_not_play_again(company: Company, moved_on: bool) -> None:
    refused = await again(company.stranger, await of_three(company), movedOn=moved_on)
    assert (refused["__typename"], refused["path"]) == ("NotSeated", ["input", "gameId"])


async def test_whoever_did_not_play_does_not_join_the_rematch(company: Company) -> None:
    rematch = (await again(company.ada, await of_three(company)))["game"]
    refused = await do(company.stranger, "joinGame", rematch)
    assert (refused["code"], refused["ruling"]) == ("NOT_INVITED", "G4")


async def test_a_rematch_is_offered_to_those_who_played_and_to_nobody_else(company: Company) -> None:
    rematch = (await again(company.ada, await of_three(company)))["game"]
    found = [await actions(viewer, rematch) for viewer in company]
    assert found == [["cancelGame"], ["joinGame"], ["joinGame"], []]


async def test_joining_the_rematch_by_its_id_is_the_same(company: Company) -> None:
    game = await of_three(company)
    rematch = (await again(company.ada, game))["game"]
    await do(company.bob, "joinGame", rematch)
    assert (await again(company.bob, game))["code"] == "ALREADY_JOINED"


async def test_a_game_that_is_still_played_is_not_played_again(company: Company) -> None:
    refused = await again(company.ada, await started_by(company.ada, company.bob))
    assert (refused["code"], refused["ruling"]) == ("NOT_FINISHED", "G4")


@pytest.mark.parametrize("cancelled", [False, True], ids=["open", "cancelled"])
async def test_a_game_that_was_not_dealt_is_not_played_again(company: Company, cancelled: bool) -> None:
    game = await opened(company.ada, company.bob)
    if cancelled:
        game = (await do(company.ada, "cancelGame", game))["game"]
    for player in (company.ada, company.bob):
        refused = await again(player, game)
        assert (refused["__typename"], refused["code"]) == ("RuleViolation", "NOT_FINISHED")


async def test_whoever_asks_again_has_joined(company: Company) -> None:
    game = await of_three(company)
    for player in (company.ada, company.bob):
        await again(player, game)
    refused = [await again(player, game) for player in (company.ada, company.bob)]
    assert [(one["code"], one["ruling"]) for one in refused] == [("ALREADY_JOINED", "G3")] * 2


async def test_a_rematch_that_has_started_takes_nobody(company: Company) -> None:
    game = await of_three(company)
    _, outcome = [await again(player, game) for player in (company.ada, company.bob)]
    await do(company.ada, "startGame", outcome["game"])
    refused = [await again(player, game) for player in company[:3]]
    assert [(one["code"], one["ruling"]) for one in refused] == [("REMATCH_STARTED", "G4")] * 3


async def test_asking_twice_with_a_key_has_the_first_answer_again_though_the_game_has_started(company: Company) -> None:
    game = await of_three(company)
    first = [await again(player, game, idempotencyKey="once again") for player in (company.ada, company.bob)]
    await do(company.ada, "startGame", first[0]["game"])
    later = [await again(player, game, idempotencyKey="once again") for player in (company.ada, company.bob)]
    assert later == [{**outcome, "repeated": True} for outcome in first]


# --- said twice, and at once ---


async def test_asking_twice_with_a_key_has_the_first_answer_again(company: Company) -> None:
    game = await of_three(company)
    first = [await again(player, game, idempotencyKey="once again") for player in (company.ada, company.bob)]
    later = [await again(player, game, idempotencyKey="once again") for player in (company.ada, company.bob)]
    assert later == [{**outcome, "repeated": True} for outcome in first]


async def test_a_key_used_to_seat_otherwise_is_refused(company: Company) -> None:
    game = await of_three(company)
    await again(company.ada, game, idempotencyKey="once again")
    refused = await again(company.ada, game, idempotencyKey="once again", movedOn=True)
    assert refused["__typename"] == "IdempotencyKeyReused"


async def test_a_key_that_is_none_is_invalid_input(company: Company) -> None:
    refused = await again(company.ada, await of_three(company), idempotencyKey="short")
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "idempotencyKey"])


async def test_players_who_ask_at_the_same_time_come_to_one_table(company: Company) -> None:
    for _ in range(5):
        game = await of_three(company)
        outcomes = await asyncio.gather(*(again(player, game) for player in company[:3]))
        assert len({outcome["game"]["id"] for outcome in outcomes}) == 1
        shown = await company.ada.game(outcomes[0]["game"]["id"], "version players { name }")
        assert (shown["version"], sorted(names(shown["players"]))) == (4, ["Ada", "Bob", "Cyd"])


async def test_copies_of_one_request_at_once_have_one_effect(company: Company) -> None:
    game = await of_three(company)
    outcomes = await asyncio.gather(*(again(company.ada, game, idempotencyKey="once again") for _ in range(8)))
    assert sorted(outcome.pop("repeated") for outcome in outcomes) == [False, *[True] * 7]
    assert all(outcome == outcomes[0] for outcome in outcomes)


# --- cancelled ---


async def test_after_a_rematch_that_was_cancelled_another_is_opened(company: Company) -> None:
    game = await of_three(company)
    first = await do(company.ada, "cancelGame", (await again(company.ada, game))["game"])
    between = (await company.ada.game(game["id"], "rematch { id }"))["rematch"]
    second = await again(company.bob, game)
    assert types(second) == ["tickle.GameOpened", "game.PlayerJoined"]
    assert second["game"]["id"] != first["game"]["id"]
    assert between is None
    assert (await company.ada.game(game["id"], "rematch { id }"))["rematch"] == {"id": second["game"]["id"]}


@pytest.mark.parametrize("who", ["ada", "bob"], ids=["who opened it", "who joined it"])
async def test_asking_twice_with_a_key_opens_no_other_table_after_the_first_was_cancelled(
    company: Company, who: str
) -> None:
    game, player = await of_three(company), company[Company._fields.index(who)]
    opening = await again(company.ada, game, idempotencyKey="once again")
    first = opening if who == "ada" else await again(player, game, idempotencyKey="once again")
    await do(company.ada, "cancelGame", opening["game"])
    assert await again(player, game, idempotencyKey="once again") == {**first, "repeated": True}


async def test_whoever_cancelled_three_lets_another_ask(company: Company) -> None:
    game = await of_three(company)
    for _ in range(3):
        await do(company.ada, "cancelGame", (await again(company.ada, game))["game"])
    refused = await again(company.ada, game)
    assert (refused["code"], refused["ruling"]) == ("NO_MORE_REMATCHES", "G4")
    outcomes = [await again(player, game) for player in (company.bob, company.ada)]
    assert names(outcomes[-1]["game"]["players"]) == ["Bob", "Ada"]


# --- seats ---


def seating(game: Any) -> list[str]:
    return names(seat["player"] for seat in game["seats"])


async def seats_of_a_rematch(company: Company, *order: int, moved_on: tuple[bool, ...]) -> list[str]:
    """The seats of the rematch of Ada, Bob and Cyd's game which they ask for in that order."""
    game, rematch = await of_three(company), None
    for number, moved in zip(order, moved_on, strict=True):
        rematch = (await again(company[number], game, movedOn=moved))["game"]
    return seating((await do(company[order[0]], "startGame", rematch))["game"])


@pytest.mark.parametrize(
    ("order", "moved_on", "expected"),
    [
        pytest.param((2, 0, 1), (False, False, False), ["Cyd", "Ada", "Bob"], id="anew, as they came"),
        pytest.param((2, 0, 1), (True, True, True), ["Bob", "Cyd", "Ada"], id="moved on by one"),
        pytest.param((2, 0, 1), (True, False, False), ["Bob", "Cyd", "Ada"], id="as the first to ask said"),
        pytest.param((2, 0, 1), (False, True, True), ["Cyd", "Ada", "Bob"], id="not as those who came later said"),
        pytest.param((2, 0), (True, True), ["Cyd", "Ada"], id="moved on by one, with fewer"),
        pytest.param((2, 1), (True, True), ["Bob", "Cyd"], id="moved on by one, without the first"),
    ],
)
async def test_seats_are_given_anew_or_moved_on(
    company: Company, order: tuple[int, ...], moved_on: tuple[bool, ...], expected: list[str]
) -> None:
    assert await seats_of_a_rematch(company, *order, moved_on=moved_on) == expected


async def test_a_rematch_that_starts_when_full_starts_when_all_who_played_are_there(company: Company) -> None:
    game = await of_three(company, seats=6, startWhenFull=True)
    outcomes = [await again(player, game) for player in company[:3]]
    assert [outcome["game"]["status"] for outcome in outcomes] == ["OPEN", "OPEN", "PLAYING"]


async def test_a_rematch_is_played_again_in_its_turn(company: Company) -> None:
    game = await of_three(company)
    for _ in range(2):
        _, outcome = [await again(player, game, movedOn=True) for player in (company.ada, company.bob)]
        game = (await do(company.ada, "startGame", outcome["game"]))["game"]
        await do(company.bob, "resignGame", game)
    assert seating(game) == ["Ada", "Bob"]  # moved on twice: Bob, Ada, then Ada, Bob


# --- private tables ---


async def private_rematch(company: Company) -> Any:
    table = await opened(company.ada, private=True)
    await do(company.bob, "joinGame", table, code=table["invitation"])
    game = (await do(company.ada, "startGame", table))["game"]
    await do(company.bob, "resignGame", game)
    return (await again(company.ada, game))["game"]


async def test_a_rematch_of_a_private_table_has_no_invitation(company: Company) -> None:
    assert (await private_rematch(company))["invitation"] is None


async def test_who_played_at_a_private_table_joins_its_rematch_without_one(company: Company) -> None:
    assert types(await do(company.bob, "joinGame", await private_rematch(company))) == ["game.PlayerJoined"]


async def test_a_rematch_of_a_private_table_is_listed_as_private_and_takes_those_who_played(
    company: Company, nobody: Client
) -> None:
    rematch = await private_rematch(company)
    await caught_up(nobody, rematch)
    assert await listed(nobody, rematch) == {"id": rematch["id"], "private": True, "takes": 2}


async def test_every_rematch_is_listed_as_private(company: Company, nobody: Client) -> None:
    game = await of_three(company)
    rematch = (await again(company.ada, game))["game"]
    await caught_up(nobody, rematch)
    assert [(await listed(nobody, one))["private"] for one in (game, rematch)] == [False, True]


async def listed(viewer: Client, game: Any) -> Any:
    """A game's line in the list."""
    lines = (await viewer.ask("{ games(first: 100) { nodes { id private takes } } }"))["games"]["nodes"]
    return next(line for line in lines if line["id"] == game["id"])
