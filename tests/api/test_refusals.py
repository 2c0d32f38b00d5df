"""Refusals: each is a value with a code, a message and a path; nothing is recorded, and no hidden card is told."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from domain.cards import DECK
from tests.client import Client

SPOTS = (*(f"COLUMN_{n}" for n in range(1, 8)), "LOW", "HIGH", "WASTE")
ROUTES = [{"from": source, "to": target} for source in SPOTS for target in SPOTS]


@dataclass(frozen=True)
class Evening:
    """Two players, a game of Ada's that is under way, and one that is over."""

    ada: Client
    bob: Client
    game: Any
    over: Any


@pytest.fixture
async def evening(client: Client) -> Evening:
    ada, bob = await client.register("Ada"), await client.register("Bob")
    game = (await ada.open_ticitaire())["game"]
    over = await ada.play("giveUpTicitaire", (await ada.open_ticitaire())["game"])
    return Evening(ada, bob, game, over["game"])


def id_of(kind: str, value: object) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{value}".encode()).decode().rstrip("=")


async def events_of(viewer: Client, *games: Any) -> list[str]:
    return [event["hash"] for game in games for event in await viewer.history(game["id"])]


def what(refused: Any) -> tuple[str, str, list[str]]:
    """The type, code and path of a refusal, which has a sentence as well."""
    assert refused["message"].endswith("."), refused
    return refused["__typename"], refused["code"], refused["path"]


async def test_a_stale_version_is_refused_with_the_current_one(evening: Evening) -> None:
    refused = await evening.ada.play("turnTicitaireStock", evening.game, expectedVersion=2)
    assert what(refused) == ("VersionConflict", "VERSION_CONFLICT", ["input", "expectedVersion"])
    assert refused["currentVersion"] == 3


async def test_a_version_of_the_future_is_refused_as_well(evening: Evening) -> None:
    refused = await evening.ada.play("turnTicitaireStock", evening.game, expectedVersion=4)
    assert refused["__typename"] == "VersionConflict"


async def test_whoever_has_no_seat_can_not_play(evening: Evening) -> None:
    refused = await evening.bob.play("turnTicitaireStock", evening.game)
    assert what(refused) == ("NotSeated", "NOT_SEATED", ["input", "gameId"])


async def test_whoever_has_no_seat_can_not_give_up_for_the_player(evening: Evening) -> None:
    refused = await evening.bob.play("giveUpTicitaire", evening.game)
    assert what(refused) == ("NotSeated", "NOT_SEATED", ["input", "gameId"])


@pytest.mark.parametrize("mutation", ["turnTicitaireStock", "recycleTicitaireWaste", "giveUpTicitaire"])
async def test_nothing_is_played_in_a_game_that_is_over(evening: Evening, mutation: str) -> None:
    refused = await evening.ada.play(mutation, evening.over)
    assert what(refused) == ("RuleViolation", "GAME_OVER", ["input"])
    assert refused["ruling"] == "S9"


async def test_a_game_that_does_not_exist_is_not_found(evening: Evening) -> None:
    refused = await evening.ada.play("turnTicitaireStock", {"id": id_of("game", uuid4()), "version": 3})
    assert what(refused) == ("GameNotFound", "GAME_NOT_FOUND", ["input", "gameId"])


async def test_the_id_of_a_player_is_not_one_of_a_game(evening: Evening) -> None:
    player = (await evening.ada.ask("{ viewer { player { id } } }"))["viewer"]["player"]
    refused = await evening.ada.play("turnTicitaireStock", {**player, "version": 3})
    assert what(refused) == ("InvalidInput", "INVALID_INPUT", ["input", "gameId"])


NO_IDS = ["", "x", "====", "nonsense", "päivä", "game:1", id_of("game", 1), id_of("game", ""), "\x00", "A" * 5_000]


async def test_what_is_no_id_at_all_is_invalid_input(evening: Evening) -> None:
    refused = [await evening.ada.play("turnTicitaireStock", {"id": id, "version": 3}) for id in NO_IDS]
    expected = ("InvalidInput", "INVALID_INPUT", ["input", "gameId"])
    assert {id: what(one) for id, one in zip(NO_IDS, refused, strict=True)} == dict.fromkeys(NO_IDS, expected)


async def test_what_is_no_id_is_told_in_words_for_people(evening: Evening) -> None:
    refused = [await evening.ada.play("turnTicitaireStock", {"id": id, "version": 3}) for id in NO_IDS]
    assert [one["message"] for one in refused if "hexadecimal" in one["message"] or "base64" in one["message"]] == []


@pytest.mark.parametrize(
    ("mutation", "input", "code", "ruling"),
    [
        ("moveTicitaireCards", {"from": "LOW", "to": "LOW"}, "SAME_SPOT", "S2"),
        ("moveTicitaireCards", {"from": "LOW", "to": "COLUMN_1"}, "NOTHING_THERE", "S2"),
        ("moveTicitaireCards", {"from": "WASTE", "to": "HIGH"}, "NOTHING_THERE", "S2"),
        ("moveTicitaireCards", {"from": "COLUMN_1", "to": "WASTE"}, "NOT_TO_WASTE", "S5"),
        ("moveTicitaireCards", {"from": "LOW", "to": "HIGH"}, "PILE_TO_PILE", "S5"),
        ("recycleTicitaireWaste", {}, "STOCK_NOT_EMPTY", "S8"),
        ("takeBackTicitaireMoves", {}, "TAKE_BACK_OFF", "S11"),
    ],
)
async def test_a_rule_says_no_with_its_ruling(
    evening: Evening, mutation: str, input: dict[str, Any], code: str, ruling: str
) -> None:
    refused = await evening.ada.play(mutation, evening.game, **input)
    assert (*what(refused), refused["ruling"]) == ("RuleViolation", code, ["input"], ruling)


async def test_more_is_not_taken_back_than_was_played(evening: Evening) -> None:
    game = (await evening.ada.open_ticitaire(takeBack=True))["game"]
    refused = await evening.ada.play("takeBackTicitaireMoves", game, moves=2**31 - 1)
    assert (refused["code"], refused["ruling"]) == ("NOTHING_TO_TAKE_BACK", "S11")


async def test_no_moves_or_fewer_are_not_taken_back(evening: Evening) -> None:
    refused = [await evening.ada.play("takeBackTicitaireMoves", evening.game, moves=moves) for moves in (0, -1)]
    assert [what(one) for one in refused] == [("InvalidInput", "INVALID_INPUT", ["input", "moves"])] * 2


async def every_refusal(evening: Evening) -> list[Any]:
    """Everything that can be refused of a game at its start."""
    ada, game = evening.ada, evening.game
    legal = {(action["from"], action["to"]) for action in game["legalActions"] if "from" in action}
    routes = [route for route in ROUTES if (route["from"], route["to"]) not in legal]
    return [
        *[await ada.play("moveTicitaireCards", game, **route) for route in routes],
        await ada.play("recycleTicitaireWaste", game),
        await ada.play("takeBackTicitaireMoves", game),
        await ada.play("turnTicitaireStock", game, expectedVersion=99),
        await ada.play("turnTicitaireStock", game, idempotencyKey="short"),
        await evening.bob.play("turnTicitaireStock", game),
        await evening.bob.play("giveUpTicitaire", game),
        await ada.play("giveUpTicitaire", evening.over),
        await ada.error(f'{{ game(id: "{game["id"]}") {{ position(version: 3, revealed: true) {{ id }} }} }}'),
        await ada.error(f'{{ game(id: "{game["id"]}") {{ position(version: 4) {{ id }} }} }}'),
    ]


async def test_a_refusal_records_nothing(evening: Evening) -> None:
    before = await events_of(evening.bob, evening.game, evening.over)
    await every_refusal(evening)
    assert await events_of(evening.bob, evening.game, evening.over) == before


async def test_no_refusal_names_a_hidden_card(evening: Evening) -> None:
    text = json.dumps(await every_refusal(evening))
    await evening.ada.play("giveUpTicitaire", evening.game)
    cards = "... on Card { name } ... on HiddenCard { hidden }"
    slots = f"... on TicitaireGame {{ columns {{ buried {{ {cards} }} run {{ name }} }} stock {{ {cards} }} }}"
    shown = await evening.ada.game(
        evening.game["id"],
        f"position(version: 3, revealed: true) {{ {slots} }} dealt: position(version: 3) {{ {slots} }}",
    )
    everything, open_then = (set(re.findall(r"\d-\w+-\w+", json.dumps(shown[at]))) for at in ("position", "dealt"))
    assert len(everything) == len(DECK)
    assert [card for card in everything - open_then if card in text] == []


# --- who is calling ---

TURN = "mutation ($input: MoveInput!) { turnTicitaireStock(input: $input) { __typename } }"


async def test_a_move_needs_a_token(evening: Evening, client: Client) -> None:
    error = await client.error(TURN, input={"gameId": evening.game["id"], "expectedVersion": 3})
    assert error["extensions"]["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    "operation",
    [
        "openTicitaire(input: {}) { __typename }",
        "issueToken(input: {}) { __typename }",
        "revokeToken(input: {}) { __typename }",
    ],
)
async def test_a_mutation_of_ones_own_things_needs_a_token(client: Client, operation: str) -> None:
    error = await client.error(f"mutation {{ {operation} }}")
    assert error["extensions"]["code"] == "UNAUTHENTICATED"
