"""Laydowns of Tickle looked at over HTTP before they are played: what they would score, which there are, and whose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import HANDS, house, known_deck, laid, opened, started_by
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


REASONS = "reasons { code ruling message cells { x y } }"
CHECK = (
    "query ($id: ID!, $cards: [LayCardInput!]!, $seat: Int) { game(id: $id) { ... on TickleGame { "
    f"checkLaydown(cards: $cards, seat: $seat) {{ legal {REASONS} score {{ total ticPoints }} }} }} }} }}"
)
SEARCH = (
    "query ($id: ID!, $first: Int!, $seat: Int) { game(id: $id) { ... on TickleGame { "
    "laydowns(first: $first, seat: $seat) { nodes { points cards { x y card { name } } } bound boundReached } } } }"
)


async def check(viewer: Client, game: Any, cards: Any, seat: int | None = None) -> Any:
    return (await viewer.ask(CHECK, id=game["id"], cards=cards, seat=seat))["game"]["checkLaydown"]


async def search(viewer: Client, game: Any, first: int = 10, seat: int | None = None) -> Any:
    return (await viewer.ask(SEARCH, id=game["id"], first=first, seat=seat))["game"]["laydowns"]


async def looked(viewer: Client, query: str, game: Any, **more: Any) -> Any:
    """What a check or a search finds; None where there is no hand to look at."""
    shown: dict[str, Any] = (await viewer.ask(query, id=game["id"], **more))["game"]
    (found,) = shown.values()
    return found


async def fault(viewer: Client, query: str, game: Any, **more: Any) -> tuple[str, str]:
    error = await viewer.error(query, id=game["id"], **more)
    return error["extensions"]["code"], error["message"]


# --- one laydown ---


@pytest.mark.parametrize(("cards", "reasons"), AT_THE_OPENING)
async def test_a_check_of_an_illegal_opening_tells_the_same(evening: Evening, cards: Any, reasons: Told) -> None:
    found = await check(evening.ada, evening.game, cards)
    assert (found["legal"], found["score"], told(found["reasons"])) == (False, None, reasons)


@pytest.mark.parametrize(("cards", "reasons"), IN_THE_GRID)
async def test_a_check_of_an_illegal_laydown_tells_the_same(evening: Evening, cards: Any, reasons: Told) -> None:
    found = await check(evening.bob, (await evening.opened()).game, cards)
    assert (found["legal"], found["score"], told(found["reasons"])) == (False, None, reasons)


async def test_a_check_of_a_legal_laydown_tells_its_score_and_plays_nothing(evening: Evening) -> None:
    found = await check(evening.ada, evening.game, OPENING)
    assert found == {"legal": True, "reasons": [], "score": {"total": 2, "ticPoints": 2}}
    assert (await evening.ada.game(evening.game["id"], "version"))["version"] == evening.game["version"]


async def test_a_seat_checks_its_hand_also_when_it_is_not_its_turn(evening: Evening) -> None:
    theirs = laid((0, 0, "3-crescent-orange"), (0, 1, "3-crescent-red"))
    assert (await check(evening.bob, evening.game, theirs))["legal"]


async def test_after_a_draw_the_check_asks_for_the_drawn_card(evening: Evening) -> None:
    evening = await evening.later()
    without = await check(evening.ada, evening.game, [])
    assert [reason["code"] for reason in without["reasons"]] == ["NO_CARDS", "DRAWN_CARD_MISSING"]
    assert (await check(evening.ada, evening.game, WITH_THE_DRAWN_CARD))["legal"]


async def test_every_laydown_that_is_found_is_legal_and_the_best_come_first(evening: Evening) -> None:
    found = await search(evening.ada, evening.game, first=100)
    assert (found["bound"], found["boundReached"]) == (5_000, False)
    points = [one["points"] for one in found["nodes"]]
    assert points == sorted(points, reverse=True)
    for one in found["nodes"]:
        cards = [{**card, "card": card["card"]["name"]} for card in one["cards"]]
        checked = await check(evening.ada, evening.game, cards)
        assert (checked["legal"], checked["score"]["total"]) == (True, one["points"])


async def test_no_more_laydowns_are_told_than_were_asked_for(evening: Evening) -> None:
    found = [(await search(evening.ada, evening.game, first=first))["nodes"] for first in (1, 2)]
    assert [len(nodes) for nodes in found] == [1, 2]


async def test_after_a_draw_laydowns_have_the_drawn_card(evening: Evening) -> None:
    evening = await evening.later()
    found = await search(evening.ada, evening.game, first=100)
    shown = await evening.ada.game(evening.game["id"], "... on TickleGame { turn { drawn { ... on Card { name } } } }")
    drawn = shown["turn"]["drawn"]["name"]
    assert len(found["nodes"]) > 5
    assert [one for one in found["nodes"] if drawn not in [card["card"]["name"] for card in one["cards"]]] == []


@pytest.mark.parametrize("first", [-1, 0, 101])
async def test_a_number_of_laydowns_out_of_range_is_the_clients_mistake(evening: Evening, first: int) -> None:
    assert (await fault(evening.ada, SEARCH, evening.game, first=first))[0] == "BAD_USER_INPUT"


ASKED = [pytest.param(CHECK, {"cards": OPENING}, id="check"), pytest.param(SEARCH, {"first": 1}, id="laydowns")]


@pytest.mark.parametrize(("query", "more"), ASKED)
@pytest.mark.parametrize(
    ("who", "seat"),
    [
        pytest.param("ada", 2, id="another seat's"),
        pytest.param("ada", 0, id="no seat's"),
        pytest.param("ada", 3, id="a seat's that is not there"),
        pytest.param("ada", -1, id="a seat's below the first"),
        pytest.param("nobody", 1, id="a seat's, to the public"),
        pytest.param("stranger", 2, id="a seat's, to a stranger"),
        pytest.param("stranger", 0, id="no seat's, to a stranger"),
    ],
)
async def test_hands_that_are_not_ones_own_are_not_looked_at(
    evening: Evening, nobody: Client, query: str, more: dict[str, Any], who: str, seat: int | None
) -> None:
    viewer = {"ada": evening.ada, "nobody": nobody, "stranger": await nobody.register()}[who]
    code, message = await fault(viewer, query, evening.game, seat=seat, **more)
    assert (code, [card for hand in HANDS for card in hand if card in message]) == ("BAD_USER_INPUT", [])


@pytest.mark.parametrize(("query", "more"), ASKED)
async def test_there_are_no_hands_to_look_at_before_the_deal(
    evening: Evening, query: str, more: dict[str, Any]
) -> None:
    table = await opened(evening.ada, evening.bob)
    assert await looked(evening.ada, query, table, **more) is None
    assert await fault(evening.ada, query, table, seat=1, **more) == (
        "BAD_USER_INPUT",
        "There are no hands before the deal.",
    )


@pytest.mark.parametrize(("query", "more"), ASKED)
@pytest.mark.parametrize("over", [False, True], ids=["under way", "over"])
async def test_whoever_has_no_hand_is_told_nothing(
    evening: Evening, nobody: Client, query: str, more: dict[str, Any], over: bool
) -> None:
    evening = await evening.then("resignGame", 1) if over else evening
    for viewer in (nobody, await nobody.register()):
        assert await looked(viewer, query, evening.game, **more) is None


@pytest.mark.parametrize(("query", "more"), ASKED)
async def test_every_hand_is_looked_at_once_the_game_is_over(
    evening: Evening, nobody: Client, query: str, more: dict[str, Any]
) -> None:
    evening = await evening.then("resignGame", 1)
    for viewer in (evening.ada, evening.bob, nobody):
        found = [await looked(viewer, query, evening.game, seat=seat, **more) for seat in (1, 2)]
        assert [one is None for one in found] == [False, False]
        assert found[0] != found[1]
        assert (await fault(viewer, query, evening.game, seat=3, **more))[0] == "BAD_USER_INPUT"


@pytest.mark.parametrize(("query", "more"), ASKED)
async def test_whoever_resigned_looks_at_the_hand_that_was_left(
    evening: Evening, query: str, more: dict[str, Any]
) -> None:
    evening = await evening.then("resignGame", 1)
    assert await looked(evening.bob, query, evening.game, **more) == await looked(
        evening.ada, query, evening.game, seat=2, **more
    )


async def test_every_hand_is_looked_at_in_a_revealed_position(evening: Evening, nobody: Client) -> None:
    evening = await (await evening.opened()).then("resignGame", 1)
    look = f"laydowns(first: 1, seat: 2) {{ nodes {{ points }} }} checkLaydown(cards: $cards, seat: 2) {{ {REASONS} }}"
    query = (
        "query ($id: ID!, $cards: [LayCardInput!]!) { game(id: $id) { "
        f"position(version: 8, revealed: true) {{ ... on TickleGame {{ {look} }} }} }} }}"
    )
    shown = await nobody.ask(query, id=evening.game["id"], cards=laid((0, 1, "3-crescent-red")))
    then = shown["game"]["position"]
    assert then["laydowns"]["nodes"] == []
    assert [reason["code"] for reason in then["checkLaydown"]["reasons"]] == ["CARD_WITHOUT_TIC", "GROUP_NOT_ATTACHED"]


# --- what is no laydown at all ---


@pytest.mark.parametrize(("cards", "path"), NO_LAYDOWNS)
async def test_what_is_no_laydown_is_not_checked(evening: Evening, cards: Any, path: list[str]) -> None:
    code, message = await fault(evening.ada, CHECK, evening.game, cards=cards)
    assert (code, message.partition(":")[0]) == ("BAD_USER_INPUT", ".".join(path))


async def test_26_cards_are_told_what_is_wrong_with_them(evening: Evening) -> None:
    cards = laid(*((n, 100_000, "3-star-violet") for n in range(26)))
    assert [reason["code"] for reason in (await check(evening.ada, evening.game, cards))["reasons"]] == [
        "TOO_MANY_CARDS",
        "CARD_LAID_TWICE",
    ]
