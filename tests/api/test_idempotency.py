"""Saying a thing twice: the same key with the same content has one effect and one answer, however often it comes."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.client import Client


async def test_the_same_key_finds_the_same_game(client: Client) -> None:
    ada = await client.register()
    first = await ada.open_ticitaire(idempotencyKey="a-first-game")
    again = await ada.open_ticitaire(idempotencyKey="a-first-game")
    assert again == {**first, "repeated": True}


async def test_without_a_key_every_request_opens_a_game(client: Client) -> None:
    ada = await client.register()
    assert (await ada.open_ticitaire())["game"]["id"] != (await ada.open_ticitaire())["game"]["id"]


async def test_the_same_key_of_another_player_opens_another_game(client: Client) -> None:
    ada, bob = await client.register("Ada"), await client.register("Bob")
    games = [(await player.open_ticitaire(idempotencyKey="a-first-game"))["game"]["id"] for player in (ada, bob)]
    assert games[0] != games[1]


async def test_a_move_said_again_later_has_the_first_answer_again(client: Client) -> None:
    ada = await client.register()
    opened = (await ada.open_ticitaire())["game"]
    first = await ada.play("turnTicitaireStock", opened, idempotencyKey="turn-number-1")
    later = await ada.play("turnTicitaireStock", first["game"])
    again = await ada.play("turnTicitaireStock", opened, idempotencyKey="turn-number-1")
    assert again == {**first, "repeated": True}
    assert (await ada.game(opened["id"], "version"))["version"] == later["version"]


async def test_a_key_used_for_another_move_is_refused(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire(takeBack=True))["game"]
    game = (await ada.play("turnTicitaireStock", game, idempotencyKey="turn-number-1"))["game"]
    refused = await ada.play("takeBackTicitaireMoves", game, idempotencyKey="turn-number-1")
    assert refused == {
        "__typename": "IdempotencyKeyReused",
        "code": "IDEMPOTENCY_KEY_REUSED",
        "message": refused["message"],
        "path": ["input", "idempotencyKey"],
    }


async def test_a_key_used_for_another_table_is_refused(client: Client) -> None:
    ada = await client.register()
    await ada.open_ticitaire(idempotencyKey="a-first-game")
    refused = await ada.open_ticitaire(idempotencyKey="a-first-game", takeBack=True)
    assert refused["__typename"] == "IdempotencyKeyReused"


@pytest.mark.parametrize(
    ("mutation", "version"),
    [
        pytest.param("recycleTicitaireWaste", 3, id="a rule"),
        pytest.param("turnTicitaireStock", 2, id="a stale version"),
    ],
)
async def test_a_refusal_spends_no_key(client: Client, mutation: str, version: int) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire())["game"]
    assert (await ada.play(mutation, game, expectedVersion=version, idempotencyKey="not-spent-yet"))["code"]
    outcome = await ada.play("turnTicitaireStock", game, idempotencyKey="not-spent-yet")
    assert (outcome["__typename"], outcome["repeated"]) == ("CommandAccepted", False)


async def test_ten_copies_of_an_opening_at_once_open_one_game(client: Client) -> None:
    ada = await client.register()
    outcomes = await asyncio.gather(*(ada.open_ticitaire(idempotencyKey="all-at-once") for _ in range(10)))
    assert sorted(outcome.pop("repeated") for outcome in outcomes) == [False, *[True] * 9]
    assert all(one == other for one, other in pairwise(outcomes))


async def test_ten_copies_of_a_move_at_once_have_one_effect(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire())["game"]
    copies = (ada.play("turnTicitaireStock", game, idempotencyKey="all-at-once") for _ in range(10))
    outcomes = await asyncio.gather(*copies)
    assert sorted(outcome.pop("repeated") for outcome in outcomes) == [False, *[True] * 9]
    assert all(one == other for one, other in pairwise(outcomes))
    assert (await ada.game(game["id"], "version"))["version"] == game["version"] + 1


async def test_of_ten_different_moves_at_once_one_is_played(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire())["game"]
    outcomes = await asyncio.gather(*(ada.play("turnTicitaireStock", game) for _ in range(10)))
    assert sorted(outcome["__typename"] for outcome in outcomes) == ["CommandAccepted", *["VersionConflict"] * 9]


NO_KEYS = {
    "empty": "",
    "7 characters": "seven..",
    "101 characters": "k" * 101,
    "a line break": "line\nline",
    "NUL": "nothing\x00there",
    "a direction override": "right\u202eto-left",
}


async def test_a_key_that_is_none_is_invalid_input(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire())["game"]
    refused = {what: await ada.play("turnTicitaireStock", game, idempotencyKey=key) for what, key in NO_KEYS.items()}
    refused |= {f"{what}, to open": await ada.open_ticitaire(idempotencyKey=key) for what, key in NO_KEYS.items()}
    expected = ("InvalidInput", ["input", "idempotencyKey"])
    assert {what: (one["__typename"], one["path"]) for what, one in refused.items()} == dict.fromkeys(refused, expected)


async def test_a_key_of_8_to_100_printable_characters_is_taken(client: Client) -> None:
    ada = await client.register()
    outcomes = [await ada.open_ticitaire(idempotencyKey=key) for key in ("k" * 8, "k" * 100, "päivä 今日は")]
    assert [outcome["__typename"] for outcome in outcomes] == ["CommandAccepted"] * 3
