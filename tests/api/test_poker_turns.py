"""TIC Poker over HTTP: how a table is opened, and which turns are refused and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import actions, do, house, known_deck, started_by
from tests.api.poker_evening import ADAS, Evening, poker_opened, poker_started, what
from tests.api.poker_played import ON_TABLE, names
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


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def company(nobody: Client) -> list[Client]:
    return [await nobody.register(name) for name in ("Ada", "Bob", "Eve")]


@pytest_asyncio.fixture(loop_scope="module")
async def evening(company: list[Client]) -> Evening:
    ada, bob, eve = company
    return Evening(ada, bob, eve, await poker_started(ada, bob, rounds=2))


# --- opening ---


USUAL = {"seats": 8, "startWhenFull": False, "private": False, "seating": "SHUFFLED", "turnSeconds": None}
USUAL |= {"rounds": 5, "variation": "STANDARD", "stages": 3, "cardsSpeak": False}
OPTIONS = "seats startWhenFull private seating turnSeconds rounds variation stages cardsSpeak"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"seats": 2, "seating": "AS_JOINED"}, {"seats": 2, "seating": "AS_JOINED"}, id="the table's"),
        pytest.param({"rounds": 64, "turnSeconds": 5}, {"rounds": 64, "turnSeconds": 5}, id="at their most"),
        pytest.param({"rounds": 1, "cardsSpeak": True}, {"rounds": 1, "cardsSpeak": True}, id="cards speak"),
        pytest.param({"variation": "COMMUNITY_EXCHANGE"}, {"variation": "COMMUNITY_EXCHANGE"}, id="community exchange"),
        pytest.param({"variation": "DRAW", "drawStages": 5}, {"variation": "DRAW", "stages": 5}, id="draw"),
        pytest.param({"drawStages": 5}, {"stages": 3}, id="stages of another variation"),
    ],
)
async def test_the_options_of_a_table_are_kept(company: list[Client], asked: Any, told: Any) -> None:
    game = await poker_opened(company[0], **asked)
    shown = await company[2].game(game["id"], f"... on PokerGame {{ options {{ {OPTIONS} }} turn round {{ number }} }}")
    assert shown == {"options": USUAL | told, "turn": None, "round": None}


@pytest.mark.parametrize(
    ("option", "values"),
    [
        pytest.param("seats", [-1, 0, 1, 9, 2**31 - 1], id="seats"),
        pytest.param("rounds", [-1, 0, 65, 2**31 - 1], id="rounds"),
        pytest.param("drawStages", [-1, 0, 6], id="drawStages"),
        pytest.param("turnSeconds", [-1, 0, 4, 2_592_001], id="turnSeconds"),
    ],
)
async def test_an_option_out_of_range_is_invalid_input(company: list[Client], option: str, values: list[int]) -> None:
    asked: list[dict[str, Any]] = [{option: value} for value in values]
    refused = [await do(company[0], "openPoker", **one) for one in asked]
    assert [(one["__typename"], one["path"]) for one in refused] == [("InvalidInput", ["input", option])] * len(values)


async def test_the_same_key_finds_the_same_table(company: list[Client]) -> None:
    first, again = [await do(company[0], "openPoker", rounds=3, idempotencyKey="three rounds") for _ in range(2)]
    assert again == {**first, "repeated": True}


@pytest.mark.parametrize("players", [2, 8])
async def test_a_table_starts_with_its_last_seat(company: list[Client], nobody: Client, players: int) -> None:
    guests = [await nobody.register(f"Guest {seat}") for seat in range(2, players + 1)]
    game = await poker_opened(company[0], *guests, seats=players, startWhenFull=True)
    shown = await company[0].game(game["id"], ON_TABLE)
    assert len({seat["number"] for seat in shown["round"]["seats"]}) == players
    own = [seat["number"] for seat in shown["round"]["seats"] if "hidden" not in names(seat["cards"])]
    assert own == [shown["viewerSeat"]]


# --- turns ---


def slots(*some: int) -> dict[str, Any]:
    return {"slots": list(some)}


def turn(options: dict[str, Any], mutation: str, input: dict[str, Any], *expected: str, id: str) -> Any:
    return pytest.param(options, mutation, input, expected, id=id)


STANDARD: dict[str, Any] = {}
COMMUNITY = {"variation": "COMMUNITY_EXCHANGE"}
DRAW = {"variation": "DRAW"}
EXCHANGE, SWAP = "exchangePokerCards", "exchangePokerCommunityCard"


@pytest.mark.parametrize(
    ("options", "mutation", "input", "expected"),
    [
        turn(STANDARD, EXCHANGE, slots(), "NO_SLOTS", "P2", id="no slot"),
        turn(STANDARD, EXCHANGE, slots(0), "NO_SUCH_SLOT", "P2", id="slot 0"),
        turn(STANDARD, EXCHANGE, slots(-1), "NO_SUCH_SLOT", "P2", id="slot -1"),
        turn(STANDARD, EXCHANGE, slots(4), "NO_SUCH_SLOT", "P2", id="slot 4 of three"),
        turn(STANDARD, EXCHANGE, slots(9), "NO_SUCH_SLOT", "P2", id="slot 9"),
        turn(STANDARD, EXCHANGE, slots(2**31 - 1), "NO_SUCH_SLOT", "P2", id="the greatest number"),
        turn(STANDARD, EXCHANGE, slots(1, 1), "SLOT_TWICE", "P2", id="a slot twice"),
        turn(STANDARD, EXCHANGE, slots(1, 2), "TOO_MANY_SLOTS", "P2", id="two slots"),
        turn(STANDARD, EXCHANGE, slots(1, 2, 3, 4, 5), "NO_SUCH_SLOT", "P2", id="five slots of three"),
        turn(STANDARD, SWAP, {"slot": 1}, "NO_COMMUNITY_EXCHANGE", "P10", id="a community card, standard"),
        turn(COMMUNITY, EXCHANGE, slots(1, 3), "TOO_MANY_SLOTS", "P2", id="two slots, community exchange"),
        turn(COMMUNITY, SWAP, {"slot": 0}, "NO_SUCH_SLOT", "P10", id="community slot 0"),
        turn(COMMUNITY, SWAP, {"slot": 3}, "NO_SUCH_SLOT", "P10", id="community slot 3 of two"),
        turn(COMMUNITY, SWAP, {"slot": -(2**31)}, "NO_SUCH_SLOT", "P10", id="the least number"),
        turn(DRAW, EXCHANGE, slots(), "NO_SLOTS", "P11", id="no slot, draw"),
        turn(DRAW, EXCHANGE, slots(6), "NO_SUCH_SLOT", "P11", id="slot 6 of five"),
        turn(DRAW, EXCHANGE, slots(2, 2), "SLOT_TWICE", "P11", id="a slot twice, draw"),
        turn(DRAW, EXCHANGE, slots(1, 2, 3), "TOO_MANY_SLOTS", "P11", id="three slots, draw"),
        turn(DRAW, SWAP, {"slot": 1}, "NO_COMMUNITY_EXCHANGE", "P10", id="a community card, draw"),
        turn(DRAW, "callPoker", {}, "NO_CALLS", "P11", id="a call, draw"),
    ],
)
async def test_a_turn_that_the_rules_do_not_have_is_refused(
    evening: Evening, options: Any, mutation: str, input: Any, expected: tuple[str, str]
) -> None:
    evening = await evening.playing(**options)
    refused = await do(evening.ada, mutation, evening.game, **input)
    assert what(refused) == expected
    assert await evening.version() == evening.game["version"]


async def test_six_slots_are_no_input(evening: Evening) -> None:
    refused = await do(evening.ada, EXCHANGE, evening.game, slots=[1, 2, 3, 4, 5, 5])
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "slots"])


async def test_a_slot_past_32_bits_is_the_clients_mistake(evening: Evening) -> None:
    document = "mutation ($input: ExchangePokerCardsInput!) { exchangePokerCards(input: $input) { __typename } }"
    input = {"gameId": evening.game["id"], "expectedVersion": evening.game["version"]}
    errors = [await evening.ada.error(document, input={**input, "slots": [slot]}) for slot in (2**31, 10**300)]
    assert [error["extensions"]["code"] for error in errors] == ["BAD_USER_INPUT"] * 2


async def test_slots_may_be_named_in_any_order(evening: Evening) -> None:
    evening = await evening.playing(**DRAW)
    before = (await evening.ada.game(evening.game["id"], ON_TABLE))["round"]["seats"][0]["cards"]
    outcome = await do(evening.ada, EXCHANGE, evening.game, slots=[4, 2])
    after = (await evening.ada.game(evening.game["id"], ON_TABLE))["round"]["seats"][0]["cards"]
    first, second = names(outcome["events"][0]["cards"])
    one, _, three, _, five = names(before)
    assert names(after) == [one, first, three, second, five]


async def test_there_is_one_call_in_a_round(evening: Evening) -> None:
    evening = await evening.called()
    assert what(await do(evening.bob, "callPoker", evening.game)) == ("ALREADY_CALLED", "P3")


async def test_after_a_call_community_cards_stay(evening: Evening) -> None:
    evening = await (await evening.playing(**COMMUNITY)).called()
    refused = await do(evening.bob, SWAP, evening.game, slot=1)
    assert what(refused) == ("ONLY_PRIVATE_CARDS", "P10")
    assert await actions(evening.bob, evening.game) == ["keepPokerCards", *[EXCHANGE] * 3, "resignGame"]


TURN: list[tuple[str, dict[str, Any]]] = [(EXCHANGE, slots(1)), (SWAP, {"slot": 1})]
TURN += [("keepPokerCards", {}), ("callPoker", {})]
DECLARATION = {"cards": ADAS, "rank": "TWO_TIC_PAIRS"}
ALL = [*TURN, ("declarePokerHand", DECLARATION)]
turns = pytest.mark.parametrize(("mutation", "input"), TURN, ids=[name for name, _ in TURN])
whatever = pytest.mark.parametrize(("mutation", "input"), ALL, ids=[name for name, _ in ALL])


@turns
async def test_nobody_plays_out_of_turn(evening: Evening, mutation: str, input: Any) -> None:
    assert what(await do(evening.bob, mutation, evening.game, **input)) == ("NOT_YOUR_TURN", "G4")


@turns
async def test_nothing_is_exchanged_while_hands_are_declared(evening: Evening, mutation: str, input: Any) -> None:
    evening = await evening.declaring()
    assert what(await do(evening.ada, mutation, evening.game, **input)) == ("HANDS_ARE_DECLARED", "P5")


@whatever
async def test_nobody_plays_before_the_deal(evening: Evening, mutation: str, input: Any) -> None:
    game = await poker_opened(evening.ada, evening.bob)
    assert what(await do(evening.ada, mutation, game, **input)) == ("NOT_STARTED", "G3")


@whatever
async def test_nobody_plays_after_the_end(evening: Evening, mutation: str, input: Any) -> None:
    over = await evening.then(("resignGame", 1))
    assert what(await do(over.ada, mutation, over.game, **input)) == ("GAME_OVER", "P9")


@whatever
async def test_who_is_not_at_the_table_does_not_play(evening: Evening, mutation: str, input: Any) -> None:
    refused = await do(evening.eve, mutation, evening.game, **input)
    assert (refused["__typename"], refused["path"]) == ("NotSeated", ["input", "gameId"])


@whatever
async def test_who_does_not_say_who_he_is_does_not_play(
    evening: Evening, nobody: Client, mutation: str, input: Any
) -> None:
    type_ = {EXCHANGE: "ExchangePokerCardsInput", SWAP: "ExchangePokerCommunityCardInput"}.get(mutation, "MoveInput")
    type_ = "DeclarePokerHandInput" if mutation == "declarePokerHand" else type_
    document = f"mutation ($input: {type_}!) {{ {mutation}(input: $input) {{ __typename }} }}"
    sent = {"gameId": evening.game["id"], "expectedVersion": evening.game["version"], **input}
    assert (await nobody.error(document, input=sent))["extensions"]["code"] == "UNAUTHENTICATED"


async def test_who_does_not_say_who_he_is_opens_no_table(nobody: Client) -> None:
    error = await nobody.error("mutation { openPoker(input: {rounds: 0}) { __typename } }")
    assert error["extensions"]["code"] == "UNAUTHENTICATED"


@whatever
async def test_a_stale_version_is_refused_with_the_current_one(evening: Evening, mutation: str, input: Any) -> None:
    evening = await evening.declaring() if mutation == "declarePokerHand" else evening
    version = evening.game["version"]
    refused = await do(evening.ada, mutation, evening.game, expectedVersion=version - 1, **input)
    assert (refused["__typename"], refused["currentVersion"]) == ("VersionConflict", version)


@whatever
async def test_what_is_said_twice_with_a_key_is_done_once(evening: Evening, mutation: str, input: Any) -> None:
    evening = await evening.playing(**COMMUNITY)
    evening = await evening.declaring() if mutation == "declarePokerHand" else evening
    first, again = [
        await do(evening.ada, mutation, evening.game, **input, idempotencyKey="once is enough") for _ in range(2)
    ]
    assert again == {**first, "repeated": True}
    assert await evening.version() == first["version"]


# --- games of other kinds ---


@whatever
async def test_games_of_other_kinds_know_nothing_of_it(evening: Evening, mutation: str, input: Any) -> None:
    others = [await started_by(evening.ada, evening.bob), (await evening.ada.open_ticitaire())["game"]]
    refused = [await do(evening.ada, mutation, game, **input) for game in others]
    assert [(one["__typename"], one["path"]) for one in refused] == [("InvalidInput", ["input", "gameId"])] * 2


@pytest.mark.parametrize(
    ("mutation", "input"),
    [
        ("layTickleCards", {"cards": [{"x": 0, "y": 0, "card": ADAS[0]}]}),
        ("drawTickleCard", {}),
        ("declineTickleLaydown", {}),
        ("turnTicitaireStock", {}),
        ("giveUpTicitaire", {}),
    ],
)
async def test_a_game_of_poker_knows_nothing_of_other_kinds(evening: Evening, mutation: str, input: Any) -> None:
    refused = await do(evening.ada, mutation, evening.game, **input)
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "gameId"])
    assert await evening.version() == evening.game["version"]
