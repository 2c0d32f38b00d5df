"""Turns of Tickle over HTTP: what is refused, with all its reasons; drawing and declining."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import actions, do, house, known_deck, opened, started_by, types
from tests.api.tickle_evening import (
    AT_THE_OPENING,
    IN_THE_GRID,
    NO_LAYDOWNS,
    OPENING,
    WITH_THE_DRAWN_CARD,
    Evening,
    Told,
    told,
)
from tests.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nobody(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A client without a token."""
    async with house(admin, template, postgres) as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
def deck() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        known_deck(patch)
        yield


@pytest_asyncio.fixture(loop_scope="module")
async def evening(nobody: Client) -> Evening:
    ada, bob = await nobody.register("Ada"), await nobody.register("Bob")
    return Evening(ada, bob, await started_by(ada, bob, seating="AS_JOINED"))


@pytest.mark.parametrize(("cards", "reasons"), AT_THE_OPENING)
async def test_an_illegal_opening_is_refused_with_every_reason(evening: Evening, cards: Any, reasons: Told) -> None:
    refused = await do(evening.ada, "layTickleCards", evening.game, cards=cards)
    assert told(refused["reasons"]) == reasons
    assert (refused["code"], refused["ruling"], refused["path"]) == ("ILLEGAL_LAYDOWN", reasons[0][1], ["input"])


@pytest.mark.parametrize(("cards", "reasons"), IN_THE_GRID)
async def test_an_illegal_laydown_is_refused_with_every_reason(evening: Evening, cards: Any, reasons: Told) -> None:
    evening = await evening.opened()
    refused = await do(evening.bob, "layTickleCards", evening.game, cards=cards)
    assert told(refused["reasons"]) == reasons


async def test_the_message_of_a_refusal_tells_every_reason(evening: Evening) -> None:
    refused = await do(evening.ada, "layTickleCards", evening.game, cards=AT_THE_OPENING[-2].values[0])
    assert [reason for reason in refused["reasons"] if reason["message"] not in refused["message"]] == []


async def test_a_refusal_records_nothing(evening: Evening) -> None:
    await do(evening.ada, "layTickleCards", evening.game, cards=[])
    assert (await evening.ada.game(evening.game["id"], "version"))["version"] == evening.game["version"]


# --- drawing and declining ---


async def test_a_seat_that_can_not_lay_draws_and_declines(evening: Evening) -> None:
    evening = await evening.opened()
    drawn = await do(evening.bob, "drawTickleCard", evening.game)
    declined = await do(evening.bob, "declineTickleLaydown", drawn["game"])
    assert [types(drawn), types(declined)] == [["tickle.CardDrawn"], ["tickle.LaydownDeclined", "game.TurnBegan"]]


async def test_a_seat_lays_with_the_card_that_it_drew(evening: Evening) -> None:
    evening = await evening.later()
    outcome = await do(evening.ada, "layTickleCards", evening.game, cards=WITH_THE_DRAWN_CARD)
    assert types(outcome) == ["tickle.LaydownPlayed", "tickle.HandRefilled", "game.TurnBegan"]


@pytest.mark.parametrize("drawn", [False, True], ids=["before a draw", "after a draw"])
async def test_what_is_open_in_a_turn_is_listed(evening: Evening, drawn: bool) -> None:
    evening = await evening.later() if drawn else evening
    more = ["declineTickleLaydown"] if drawn else []
    assert await actions(evening.ada, evening.game) == ["layTickleCards", *more, "resignGame"]


async def refusal(evening: Evening, seat: int, mutation: str, **input: Any) -> tuple[str, str]:
    refused = await do(evening[seat], mutation, evening.game, **input)
    assert refused["__typename"] == "RuleViolation"
    return refused["code"], refused["ruling"]


async def test_no_card_is_drawn_by_who_can_open(evening: Evening) -> None:
    assert await refusal(evening, 0, "drawTickleCard") == ("MUST_LAY_DOWN", "K4")


async def test_no_card_is_drawn_by_who_can_lay(evening: Evening) -> None:
    evening = await (await evening.later()).then("layTickleCards", 0, cards=WITH_THE_DRAWN_CARD)
    assert await refusal(evening, 1, "drawTickleCard") == ("MUST_LAY_DOWN", "K6")


async def test_one_card_is_drawn_in_a_turn(evening: Evening) -> None:
    evening = await (await evening.opened()).then("drawTickleCard", 1)
    assert await refusal(evening, 1, "drawTickleCard") == ("ALREADY_DRAWN", "K7")


async def test_an_opening_is_not_declined(evening: Evening) -> None:
    assert await refusal(evening, 0, "declineTickleLaydown") == ("NOT_DRAWN", "K4")


async def test_a_laydown_is_not_declined_before_a_draw(evening: Evening) -> None:
    assert await refusal(await evening.opened(), 1, "declineTickleLaydown") == ("NOT_DRAWN", "K6")


TURN = [("layTickleCards", {"cards": OPENING}), ("drawTickleCard", {}), ("declineTickleLaydown", {})]
turns = pytest.mark.parametrize(("mutation", "input"), TURN, ids=[name for name, _ in TURN])


@turns
async def test_nobody_plays_out_of_turn(evening: Evening, mutation: str, input: dict[str, Any]) -> None:
    assert await refusal(evening, 1, mutation, **input) == ("NOT_YOUR_TURN", "G4")


@turns
async def test_nobody_plays_before_the_deal(evening: Evening, mutation: str, input: dict[str, Any]) -> None:
    table = evening._replace(game=await opened(evening.ada, evening.bob))
    assert await refusal(table, 0, mutation, **input) == ("NOT_STARTED", "G3")


@turns
async def test_nobody_plays_after_the_end(evening: Evening, mutation: str, input: dict[str, Any]) -> None:
    over = await evening.then("resignGame", 1)
    assert await refusal(over, 0, mutation, **input) == ("GAME_OVER", "G1")


@turns
async def test_a_stale_version_is_refused_with_the_current_one(
    evening: Evening, mutation: str, input: dict[str, Any]
) -> None:
    version = evening.game["version"]
    refused = await do(evening.ada, mutation, evening.game, expectedVersion=version - 1, **input)
    assert (refused["__typename"], refused["currentVersion"]) == ("VersionConflict", version)


async def test_a_laydown_said_twice_with_a_key_is_played_once(evening: Evening) -> None:
    first, again = [
        await do(evening.ada, "layTickleCards", evening.game, cards=OPENING, idempotencyKey="the opening")
        for _ in range(2)
    ]
    assert again == {**first, "repeated": True}


# --- what is no laydown at all ---


@pytest.mark.parametrize(("cards", "path"), NO_LAYDOWNS)
async def test_what_is_no_laydown_is_invalid_input(evening: Evening, cards: Any, path: list[str]) -> None:
    refused = await do(evening.ada, "layTickleCards", evening.game, cards=cards)
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", *path])
