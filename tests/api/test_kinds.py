"""What is asked of a game of another kind, and what every kind knows: leaving and resigning."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import do, house, laid, opened, started_by, types
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
async def company(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Company]:
    async with house(admin, template, postgres) as nobody:
        ada, bob, cyd = [await nobody.register(name) for name in ("Ada", "Bob", "Cyd")]
        yield Company(ada, bob, cyd, nobody)


OF_TICKLE: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("joinGame", "rematchGame")),
    *((name, {}) for name in ("drawTickleCard", "declineTickleLaydown")),
    ("layTickleCards", {"cards": laid((0, 0, "5-star-red"))}),
]


@pytest.mark.parametrize(("mutation", "input"), OF_TICKLE, ids=[name for name, _ in OF_TICKLE])
@pytest.mark.parametrize("over", [False, True], ids=["under way", "over"])
async def test_a_game_of_ticitaire_does_not_know_what_a_table_for_several_does(
    company: Company, mutation: str, input: dict[str, Any], over: bool
) -> None:
    game = (await company.ada.open_ticitaire())["game"]
    if over:
        game = (await company.ada.play("giveUpTicitaire", game))["game"]
    refused = await do(company.ada, mutation, game, **input)
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "gameId"])


@pytest.mark.parametrize("mutation", ["startGame", "cancelGame"])
async def test_a_game_of_ticitaire_that_is_dealt_is_neither_started_nor_called_off(
    company: Company, mutation: str
) -> None:
    game = (await company.ada.open_ticitaire())["game"]
    refused = await do(company.ada, mutation, game)
    assert (refused["__typename"], refused["code"], refused["ruling"]) == ("RuleViolation", "ALREADY_STARTED", "G3")
    await company.ada.play("giveUpTicitaire", game)
    refused = await do(company.ada, mutation, game)
    assert (refused["__typename"], refused["code"], refused["ruling"]) == ("RuleViolation", "GAME_OVER", "S9")


@pytest.mark.parametrize("mutation", ["resignGame", "leaveGame", "giveUpTicitaire"])
async def test_leaving_or_resigning_from_a_game_of_ticitaire_is_giving_up(company: Company, mutation: str) -> None:
    game = (await company.ada.open_ticitaire())["game"]
    outcome = await do(company.ada, mutation, game)
    assert types(outcome) == ["game.PlayerResigned", "ticitaire.GameFinished", "game.SeedsRevealed"]
    shown = await company.nobody.game(game["id"], "... on TicitaireGame { result { ending } }")
    assert shown["result"]["ending"] == "GIVEN_UP"


@pytest.mark.parametrize("mutation", ["resignGame", "leaveGame", "giveUpTicitaire"])
async def test_nobody_leaves_a_game_of_ticitaire_for_another_or_twice(company: Company, mutation: str) -> None:
    game = (await company.ada.open_ticitaire())["game"]
    assert (await do(company.bob, mutation, game))["__typename"] == "NotSeated"
    await do(company.ada, mutation, game)
    refused = await do(company.ada, mutation, game)
    assert (refused["__typename"], refused["code"], refused["ruling"]) == ("RuleViolation", "GAME_OVER", "S9")


@pytest.mark.parametrize("begin", [opened, started_by], ids=["open", "started"])
async def test_a_game_of_tickle_is_not_given_up_as_one_of_ticitaire(company: Company, begin: Any) -> None:
    game = await begin(company.ada, company.bob)
    refused = [await do(player, "giveUpTicitaire", game) for player in (company.ada, company.bob, company.cyd)]
    assert [(one["__typename"], one["path"]) for one in refused] == [("InvalidInput", ["input", "gameId"])] * 3
    assert (await company.ada.game(game["id"], "version"))["version"] == game["version"]


OF_TICITAIRE = [
    ("moveTicitaireCards", {"from": "COLUMN_1", "to": "LOW"}),
    ("turnTicitaireStock", {}),
    ("recycleTicitaireWaste", {}),
    ("takeBackTicitaireMoves", {}),
]


@pytest.mark.parametrize(("mutation", "input"), OF_TICITAIRE, ids=[name for name, _ in OF_TICITAIRE])
@pytest.mark.parametrize("begin", [opened, started_by], ids=["open", "started"])
async def test_a_game_of_tickle_does_not_know_the_moves_of_ticitaire(
    company: Company, mutation: str, input: dict[str, Any], begin: Any
) -> None:
    refused = await do(company.ada, mutation, await begin(company.ada, company.bob), **input)
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "gameId"])
