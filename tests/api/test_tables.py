"""Tables for several over HTTP: they are opened, joined, left, started, cancelled and resigned from."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import actions, do, house, id_of, laid, names, opened, started_by, types
from tests.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Company(NamedTuple):
    """Who comes to the tables."""

    ada: Client
    bob: Client
    cyd: Client
    nobody: Client
    """A client without a token."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nobody(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    async with house(admin, template, postgres) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def company(nobody: Client) -> Company:
    ada, bob, cyd = [await nobody.register(name) for name in ("Ada", "Bob", "Cyd")]
    return Company(ada, bob, cyd, nobody)


def what(refused: Any) -> tuple[str, str]:
    """The code and the ruling of a rule that said no, with a sentence."""
    assert refused["__typename"] == "RuleViolation", refused
    assert refused["message"].endswith(".")
    assert [(one["code"], one["ruling"]) for one in refused["reasons"]] == [(refused["code"], refused["ruling"])]
    return refused["code"], refused["ruling"]


# --- opening ---


async def test_a_table_is_opened_with_its_host_as_the_first_to_come(company: Company) -> None:
    outcome = await do(company.ada, "openTickle")
    game = outcome["game"]
    assert types(outcome) == ["tickle.GameOpened", "game.PlayerJoined"]
    assert (game["status"], game["host"]["name"], names(game["players"])) == ("OPEN", "Ada", ["Ada"])
    assert (game["seats"], game["viewerSeat"]) == ([], None)


OPTIONS = "options { seats startWhenFull private seating turnSeconds deck target }"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"seats": 2, "startWhenFull": True, "private": True, "seating": "AS_JOINED"}, id="the table's"),
        pytest.param({"turnSeconds": 5, "deck": "TWO_THIRDS", "target": 1}, id="the game's, at their least"),
        pytest.param({"turnSeconds": 2_592_000, "deck": "HALF", "target": 1_000}, id="the game's, at their most"),
    ],
)
async def test_the_options_of_a_table_are_kept(company: Company, asked: dict[str, Any]) -> None:
    usual = {"seats": 6, "startWhenFull": False, "private": False, "seating": "SHUFFLED"}
    usual |= {"turnSeconds": None, "deck": "WHOLE", "target": None}
    game = await opened(company.ada, **asked)
    shown = await company.nobody.game(game["id"], f"... on TickleGame {{ {OPTIONS} }}")
    assert shown["options"] == usual | asked


@pytest.mark.parametrize(
    ("option", "values"),
    [
        pytest.param("seats", [-1, 0, 1, 7, 2**31 - 1], id="seats"),
        pytest.param("target", [-1, 0, 1_001], id="target"),
        pytest.param("turnSeconds", [-1, 0, 4, 2_592_001], id="turnSeconds"),
    ],
)
async def test_an_option_out_of_range_is_invalid_input(company: Company, option: str, values: list[int]) -> None:
    asked: list[dict[str, Any]] = [{option: value} for value in values]
    refused = [await do(company.ada, "openTickle", **one) for one in asked]
    assert [(one["__typename"], one["path"]) for one in refused] == [("InvalidInput", ["input", option])] * len(values)


async def test_the_same_key_finds_the_same_table(company: Company) -> None:
    first = await do(company.ada, "openTickle", seats=3, idempotencyKey="a table for three")
    again = await do(company.ada, "openTickle", seats=3, idempotencyKey="a table for three")
    assert again == {**first, "repeated": True}


async def test_a_key_used_for_another_table_is_refused(company: Company) -> None:
    await do(company.ada, "openTickle", seats=3, idempotencyKey="a table or two")
    refused = await do(company.ada, "openTickle", seats=4, idempotencyKey="a table or two")
    assert refused["__typename"] == "IdempotencyKeyReused"


# --- joining ---


async def test_who_joins_is_told_in_the_order_of_joining(company: Company) -> None:
    game = await opened(company.ada, company.cyd, company.bob)
    shown = await company.nobody.game(game["id"], "players { name } seats { number }")
    assert (names(shown["players"]), shown["seats"]) == (["Ada", "Cyd", "Bob"], [])


async def test_who_has_joined_does_not_join_again(company: Company) -> None:
    game = await opened(company.ada, company.bob)
    refused = [await do(player, "joinGame", game) for player in (company.ada, company.bob)]
    assert [what(one) for one in refused] == [("ALREADY_JOINED", "G3")] * 2


async def test_joining_said_twice_with_a_key_has_the_first_answer_again(company: Company) -> None:
    game = await opened(company.ada)
    first = await do(company.bob, "joinGame", game, idempotencyKey="bob joins once")
    await do(company.cyd, "joinGame", game)
    again = await do(company.bob, "joinGame", game, idempotencyKey="bob joins once")
    assert again == {**first, "repeated": True}


async def test_ten_copies_of_joining_at_once_have_one_effect(company: Company) -> None:
    game = await opened(company.ada)
    copies = (do(company.bob, "joinGame", game, idempotencyKey="bob joins once") for _ in range(10))
    outcomes = await asyncio.gather(*copies)
    assert sorted(outcome["repeated"] for outcome in outcomes) == [False, *[True] * 9]
    assert (await company.ada.game(game["id"], "version"))["version"] == game["version"] + 1


async def test_a_full_table_takes_nobody(company: Company) -> None:
    game = await opened(company.ada, company.bob, seats=2)
    assert what(await do(company.cyd, "joinGame", game)) == ("TABLE_FULL", "G3")


async def test_of_many_who_want_the_last_seat_one_gets_it(company: Company) -> None:
    game = await opened(company.ada, seats=2)
    crowd = [await company.nobody.register(f"Guest {n}") for n in range(6)]
    outcomes = await asyncio.gather(*(do(guest, "joinGame", game) for guest in crowd))
    assert Counter(outcome.get("code") for outcome in outcomes) == {None: 1, "TABLE_FULL": 5}


async def test_joining_at_a_version_that_has_gone_is_refused(company: Company) -> None:
    game = await opened(company.ada)
    await do(company.bob, "joinGame", game)
    refused = await do(company.cyd, "joinGame", game, expectedVersion=game["version"])
    assert (refused["__typename"], refused["currentVersion"]) == ("VersionConflict", game["version"] + 1)


async def test_a_table_that_starts_when_full_starts_with_the_last_to_join(company: Company) -> None:
    game = await opened(company.ada, company.bob, seats=3, startWhenFull=True)
    assert game["status"] == "OPEN"
    outcome = await do(company.cyd, "joinGame", game)
    seated = ["game.PlayerSeated"] * 3
    assert types(outcome) == ["game.PlayerJoined", *seated, "tickle.HandsDealt", "game.TurnBegan"]


async def test_nobody_joins_a_game_that_has_started(company: Company) -> None:
    game = await started_by(company.ada, company.bob)
    assert what(await do(company.cyd, "joinGame", game)) == ("ALREADY_STARTED", "G3")


# --- leaving ---


async def test_who_leaves_is_at_the_table_no_more(company: Company) -> None:
    outcome = await do(company.bob, "leaveGame", await opened(company.ada, company.bob, company.cyd))
    assert (types(outcome), names(outcome["game"]["players"])) == (["game.PlayerLeft"], ["Ada", "Cyd"])


async def test_leaving_said_twice_with_a_key_has_the_first_answer_again(company: Company) -> None:
    game = await opened(company.ada, company.bob, company.cyd)
    first = await do(company.bob, "leaveGame", game, idempotencyKey="bob leaves once")
    again = await do(company.bob, "leaveGame", game, idempotencyKey="bob leaves once")
    assert again == {**first, "repeated": True}
    assert (await do(company.bob, "leaveGame", game))["__typename"] == "NotSeated"


async def test_who_has_left_may_come_again_as_the_last(company: Company) -> None:
    game = (await do(company.bob, "leaveGame", await opened(company.ada, company.bob, company.cyd)))["game"]
    outcome = await do(company.bob, "joinGame", game)
    assert names(outcome["game"]["players"]) == ["Ada", "Cyd", "Bob"]


async def test_a_place_that_was_left_is_free(company: Company) -> None:
    game = (await do(company.bob, "leaveGame", await opened(company.ada, company.bob, seats=2)))["game"]
    assert types(await do(company.cyd, "joinGame", game)) == ["game.PlayerJoined"]


async def test_the_host_does_not_leave(company: Company) -> None:
    assert what(await do(company.ada, "leaveGame", await opened(company.ada))) == ("HOST_STAYS", "G3")


async def test_leaving_a_game_that_has_started_is_resigning(company: Company) -> None:
    game = await started_by(company.ada, company.bob, company.cyd)
    outcome = await do(company.bob, "leaveGame", game)
    assert types(outcome)[0] == "game.PlayerResigned"
    assert names(outcome["game"]["players"]) == ["Ada", "Bob", "Cyd"]


# --- starting ---


async def test_the_host_starts_the_game(company: Company) -> None:
    outcome = await do(company.ada, "startGame", await opened(company.ada, company.bob))
    assert types(outcome) == ["game.PlayerSeated"] * 2 + ["tickle.HandsDealt", "game.TurnBegan"]
    assert outcome["game"]["status"] == "PLAYING"


async def test_seats_are_given_as_players_joined_where_the_table_says_so(company: Company) -> None:
    game = await started_by(company.ada, company.cyd, company.bob, seating="AS_JOINED")
    assert [(seat["number"], seat["player"]["name"]) for seat in game["seats"]] == [(1, "Ada"), (2, "Cyd"), (3, "Bob")]


async def test_the_host_alone_can_not_start(company: Company) -> None:
    assert what(await do(company.ada, "startGame", await opened(company.ada))) == ("TOO_FEW_PLAYERS", "G3")


@pytest.mark.parametrize("mutation", ["startGame", "cancelGame"])
async def test_a_guest_does_not_decide_for_the_host(company: Company, mutation: str) -> None:
    assert what(await do(company.bob, mutation, await opened(company.ada, company.bob))) == ("NOT_THE_HOST", "G3")


@pytest.mark.parametrize("mutation", ["startGame", "cancelGame"])
async def test_a_game_that_has_started_is_neither_started_nor_cancelled(company: Company, mutation: str) -> None:
    game = await started_by(company.ada, company.bob)
    assert what(await do(company.ada, mutation, game)) == ("ALREADY_STARTED", "G3")


# --- cancelling ---


async def test_the_host_cancels_the_game_before_its_deal(company: Company) -> None:
    outcome = await do(company.ada, "cancelGame", await opened(company.ada, company.bob))
    shown = await company.nobody.game(outcome["game"]["id"], "status fairness { seeds }")
    assert types(outcome) == ["game.GameCancelled"]
    assert shown == {"status": "CANCELLED", "fairness": {"seeds": None}}


@pytest.mark.parametrize("mutation", ["joinGame", "leaveGame", "startGame", "cancelGame", "resignGame"])
async def test_nothing_happens_at_a_table_that_was_cancelled(company: Company, mutation: str) -> None:
    game = (await do(company.ada, "cancelGame", await opened(company.ada, company.bob)))["game"]
    refused = [await do(player, mutation, game) for player in (company.ada, company.bob)]
    assert [what(one) for one in refused] == [("GAME_CANCELLED", "G3")] * 2


# --- resigning ---


async def test_there_is_nothing_to_resign_from_before_the_deal(company: Company) -> None:
    game = await opened(company.ada, company.bob)
    assert what(await do(company.bob, "resignGame", game)) == ("NOT_STARTED", "G3")


async def test_a_game_goes_on_while_two_are_left(company: Company) -> None:
    game = await started_by(company.ada, company.bob, company.cyd)
    outcome = await do(company.bob, "resignGame", game)
    assert (types(outcome)[0], outcome["game"]["status"]) == ("game.PlayerResigned", "PLAYING")


async def test_nobody_resigns_twice(company: Company) -> None:
    game = (await do(company.bob, "resignGame", await started_by(company.ada, company.bob, company.cyd)))["game"]
    assert what(await do(company.bob, "resignGame", game)) == ("RESIGNED", "G1")


@pytest.mark.parametrize("mutation", ["resignGame", "leaveGame"])
async def test_the_last_who_is_left_has_won(company: Company, mutation: str) -> None:
    game = await started_by(company.ada, company.bob, seating="AS_JOINED")
    outcome = await do(company.ada, mutation, game)
    assert types(outcome) == ["game.PlayerResigned", "tickle.GameFinished", "game.SeedsRevealed"]
    shown = await company.nobody.game(
        game["id"], "status ... on TickleGame { result { ending places { seat place cards total resigned } } }"
    )
    lost, won = ({"seat": seat, "place": 3 - seat, "cards": 6, "total": -30, "resigned": seat == 1} for seat in (1, 2))
    assert shown == {"status": "FINISHED", "result": {"ending": "RESIGNATIONS", "places": [lost, won]}}


# --- what is open to whom ---


async def test_what_is_open_to_each_at_each_stage_is_listed(company: Company) -> None:
    async def listed(game: Any) -> list[list[str]]:
        return [await actions(viewer, game) for viewer in company]

    game = await opened(company.ada, seats=2, seating="AS_JOINED")
    found = {"alone": await listed(game)}
    await do(company.bob, "joinGame", game)
    found["full"] = await listed(game)
    game = (await do(company.ada, "startGame", game))["game"]
    found["started"] = [[action for action in each if "Tickle" not in action] for each in await listed(game)]
    await do(company.bob, "resignGame", game)
    found["over"] = await listed(game)
    assert found == {
        "alone": [["cancelGame"], ["joinGame"], ["joinGame"], []],
        "full": [["startGame", "cancelGame"], ["leaveGame"], [], []],
        "started": [["resignGame"], ["resignGame"], [], []],
        "over": [[], [], [], []],
    }


async def test_nothing_is_open_at_a_table_that_was_cancelled(company: Company) -> None:
    game = (await do(company.ada, "cancelGame", await opened(company.ada, company.bob)))["game"]
    assert [await actions(viewer, game) for viewer in company] == [[]] * 4


async def test_only_the_seat_that_has_the_turn_is_offered_to_play(company: Company) -> None:
    game = await started_by(company.ada, company.bob, seating="AS_JOINED")
    first, second = [await actions(player, game) for player in (company.ada, company.bob)]
    assert first in (["layTickleCards", "resignGame"], ["drawTickleCard", "resignGame"])
    assert second == ["resignGame"]


async def test_whoever_resigned_may_do_nothing(company: Company) -> None:
    game = await started_by(company.ada, company.bob, company.cyd)
    await do(company.bob, "resignGame", game)
    assert await actions(company.bob, game) == []


# --- who may not ask, and of what ---

AT_THE_TABLE = ["leaveGame", "startGame", "cancelGame", "resignGame", "drawTickleCard", "declineTickleLaydown"]
LAYDOWN: dict[str, Any] = {"cards": laid((0, 0, "5-star-red"))}
ALL = [*((name, {}) for name in ["joinGame", *AT_THE_TABLE, "rematchGame"]), ("layTickleCards", LAYDOWN)]


@pytest.mark.parametrize("mutation", AT_THE_TABLE)
async def test_whoever_is_not_at_the_table_has_no_say(company: Company, mutation: str) -> None:
    game = await opened(company.ada, company.bob)
    refused = await do(company.cyd, mutation, game)
    assert (refused["__typename"], refused["path"]) == ("NotSeated", ["input", "gameId"])


@pytest.mark.parametrize(("mutation", "input"), ALL, ids=[name for name, _ in ALL])
async def test_a_game_that_does_not_exist_is_not_found(company: Company, mutation: str, input: dict[str, Any]) -> None:
    refused = await do(company.ada, mutation, {"id": id_of("game", uuid4()), "version": 1}, **input)
    assert (refused["__typename"], refused["path"]) == ("GameNotFound", ["input", "gameId"])


@pytest.mark.parametrize(("mutation", "input"), ALL, ids=[name for name, _ in ALL])
async def test_what_is_no_id_is_invalid_input(company: Company, mutation: str, input: dict[str, Any]) -> None:
    refused = await do(company.ada, mutation, {"id": "nonsense", "version": 1}, **input)
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "gameId"])


@pytest.mark.parametrize(("mutation", "input"), ALL, ids=[name for name, _ in ALL])
async def test_each_needs_a_token(company: Company, mutation: str, input: dict[str, Any]) -> None:
    fields = {"gameId": id_of("game", uuid4()), **input}
    if "Tickle" in mutation:
        fields["expectedVersion"] = 1
    type_ = {
        "joinGame": "JoinGameInput",
        "startGame": "StartGameInput",
        "rematchGame": "RematchGameInput",
        "layTickleCards": "LayTickleCardsInput",
    }
    named = type_.get(mutation, "MoveInput" if "Tickle" in mutation else "PlayInput")
    query = f"mutation ($input: {named}!) {{ {mutation}(input: $input) {{ __typename }} }}"
    assert (await company.nobody.error(query, input=fields))["extensions"]["code"] == "UNAUTHENTICATED"


BAD_INPUT = {
    "openTickle": {"seats": 99},
    "openTicitaire": {"timeLimit": -1},
    "layTickleCards": {"gameId": "nonsense", "expectedVersion": 1, "cards": laid((0, 0, "no card"))},
}


@pytest.mark.parametrize("mutation", BAD_INPUT)
async def test_a_token_is_asked_for_before_the_input_is_looked_at(company: Company, mutation: str) -> None:
    type_ = f"{mutation[0].upper()}{mutation[1:]}Input"
    query = f"mutation ($input: {type_}!) {{ {mutation}(input: $input) {{ __typename }} }}"
    error = await company.nobody.error(query, input=BAD_INPUT[mutation])
    answer = await company.ada.ask(query, input=BAD_INPUT[mutation])
    assert (error["extensions"]["code"], answer[mutation]["__typename"]) == ("UNAUTHENTICATED", "InvalidInput")
