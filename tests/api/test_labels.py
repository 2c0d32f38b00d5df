"""Labels: what the games that belong together are called, when they are opened and where they are shown."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import caught_up, do, house, started_by
from tests.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPENINGS = ["openTickle", "openPoker", "openTicitaire"]
SHOWN = """
  __typename
  ... on CommandAccepted {
    repeated
    events { seq type bytes fact { ... on GameLabelled { label } } }
    game { id version label }
  }
  ... on UserError { code message path }
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nobody(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    async with house(admin, template, postgres) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ada(nobody: Client) -> Client:
    return await nobody.register("Ada")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def bob(nobody: Client) -> Client:
    return await nobody.register("Bob")


async def opened(player: Client, opening: str, **input: Any) -> Any:
    return await do(player, opening, show=SHOWN, **input)


async def labels(viewer: Client, **filter: Any) -> list[tuple[str, str | None]]:
    """The games of a list, with their labels."""
    query = "query ($filter: GameFilter) { games(filter: $filter) { nodes { id label } } }"
    nodes = (await viewer.ask(query, filter=filter))["games"]["nodes"]
    return [(node["id"], node["label"]) for node in nodes]


@pytest.mark.parametrize("opening", OPENINGS)
async def test_a_game_of_any_kind_is_opened_with_a_label(ada: Client, opening: str) -> None:
    outcome = await opened(ada, opening, label="Ghent 2026")
    second = outcome["events"][1]
    assert (second["type"], second["fact"]) == ("game.GameLabelled", {"label": "Ghent 2026"})
    assert json.loads(second["bytes"])["fact"] == {"label": "Ghent 2026"}
    assert outcome["game"]["label"] == "Ghent 2026"


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("input", [{}, {"label": None}])
async def test_a_game_that_is_given_none_bears_none(ada: Client, opening: str, input: dict[str, Any]) -> None:
    outcome = await opened(ada, opening, **input)
    assert outcome["game"]["label"] is None
    assert "game.GameLabelled" not in [event["type"] for event in outcome["events"]]


async def test_everyone_is_told_the_label(nobody: Client, ada: Client) -> None:
    game = (await opened(ada, "openTickle", label="open house"))["game"]
    assert await nobody.game(game["id"], "label") == {"label": "open house"}


async def test_spaces_are_taken_out_of_a_label_before_it_is_looked_at(ada: Client) -> None:
    outcome = await opened(ada, "openTickle", label=f"  club \t\n night{' ' * 100}")
    assert outcome["game"]["label"] == "club night"


@pytest.mark.parametrize("label", ["x", "x" * 64, "Čtvrtfinále", "国际象棋", "10.-12. 🃏"])
async def test_a_label_is_up_to_64_characters_of_any_language(ada: Client, label: str) -> None:
    outcome = await opened(ada, "openPoker", label=label)
    assert outcome["game"]["label"] == label


@pytest.mark.parametrize(
    ("given", "kept"), [("ﬁnal", "final"), ("Cafe\u0301", "Café"), ("\uff23up", "Cup"), ("e\u0301" * 40, "é" * 40)]
)
async def test_of_labels_that_look_alike_one_form_is_kept(ada: Client, given: str, kept: str) -> None:
    outcome = await opened(ada, "openPoker", label=given)
    assert outcome["game"]["label"] == kept


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize(
    "label",
    ["", " \n ", "x" * 65, "a\x00b", "a\x07b", "club\u202enight", "club\u200bnight", "\u2800", "\u0301x"],
)
async def test_what_is_no_label_is_refused(ada: Client, opening: str, label: str) -> None:
    refused = await opened(ada, opening, label=label)
    assert (refused["__typename"], refused["code"], refused["path"]) == (
        "InvalidInput",
        "INVALID_INPUT",
        ["input", "label"],
    )
    assert refused["message"].startswith(("A label ", "An accent "))
    assert refused["message"].endswith(".")


async def test_a_refused_label_opens_no_game(ada: Client) -> None:
    before = await labels(ada)
    key = str(uuid4())
    assert (await opened(ada, "openTicitaire", label="x" * 65, idempotencyKey=key))["__typename"] == "InvalidInput"
    again = await opened(ada, "openTicitaire", label="x" * 64, idempotencyKey=key)
    await caught_up(ada, again["game"])
    assert await labels(ada) == [(again["game"]["id"], "x" * 64), *before][:20]


async def test_a_key_that_comes_again_with_another_label_is_refused(ada: Client) -> None:
    key = str(uuid4())
    first = await opened(ada, "openTickle", label="one", idempotencyKey=key)
    same = await opened(ada, "openTickle", label=" one ", idempotencyKey=key)
    other = await opened(ada, "openTickle", label="two", idempotencyKey=key)
    assert (same["game"]["id"], same["repeated"]) == (first["game"]["id"], True)
    assert other["__typename"] == "IdempotencyKeyReused"


async def test_games_are_found_by_their_label(ada: Client) -> None:
    label = f"cup {uuid4()}"
    games = [(await opened(ada, opening, label=label))["game"] for opening in OPENINGS]
    other = (await opened(ada, "openTickle", label=f"{label} B"))["game"]
    await caught_up(ada, *games, other)
    assert await labels(ada, label=label) == [(game["id"], label) for game in reversed(games)]


async def test_a_label_narrows_what_else_is_asked_for(ada: Client, bob: Client) -> None:
    label = f"cup {uuid4()}"
    adas, bobs = (await opened(ada, "openTickle", label=label)), (await opened(bob, "openPoker", label=label))
    await caught_up(ada, adas["game"], bobs["game"])
    assert await labels(ada, label=label, kind="POKER") == [(bobs["game"]["id"], label)]


async def test_spaces_do_not_matter_when_games_are_looked_for(ada: Client) -> None:
    game = (await opened(ada, "openTickle", label="winter  league"))["game"]
    await caught_up(ada, game)
    assert (game["id"], "winter league") in await labels(ada, label=" winter \n league")


@pytest.mark.parametrize("label", ["", "x" * 65, "a\x00b", "club\u202enight"])
async def test_what_no_game_can_bear_is_not_looked_for(nobody: Client, label: str) -> None:
    query = "query ($filter: GameFilter) { games(filter: $filter) { nodes { id } } }"
    error = await nobody.error(query, filter={"label": label})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert "label" in error["message"]


async def test_a_rematch_bears_no_label(ada: Client, bob: Client) -> None:
    game = await started_by(ada, bob, label="club night")
    over = (await do(bob, "resignGame", game))["game"]
    again = (await do(ada, "rematchGame", over, show=SHOWN))["game"]
    assert (again["label"], (await ada.game(over["id"], "label"))["label"]) == (None, "club night")


async def test_a_label_is_told_from_the_event_on_that_gives_it(ada: Client) -> None:
    game = (await opened(ada, "openTickle", label="club night"))["game"]
    fields = "before: position(version: 1) { label } after: position(version: 2) { label }"
    assert await ada.game(game["id"], fields) == {"before": {"label": None}, "after": {"label": "club night"}}


async def test_a_replay_tells_the_label_in_words(nobody: Client, ada: Client) -> None:
    game = (await opened(ada, "openTicitaire", label="club night"))["game"]
    query = "query ($id: ID!) { replay(gameId: $id) { positions(afterSeq: 1, first: 1) { nodes { words } } } }"
    (told,) = (await nobody.ask(query, id=game["id"]))["replay"]["positions"]["nodes"]
    assert "club night" in told["words"]


@pytest.mark.parametrize("input", ["OpenTickleInput", "OpenPokerInput", "OpenTicitaireInput"])
async def test_whoever_gives_a_label_is_told_that_it_is_public_for_ever(nobody: Client, input: str) -> None:
    query = "query ($name: String!) { __type(name: $name) { inputFields { name description } } }"
    fields = (await nobody.ask(query, name=input))["__type"]["inputFields"]
    (said,) = (field["description"] for field in fields if field["name"] == "label")
    assert "for ever" in said
    assert "nothing personal" in said
    assert "Anyone may give any label" in said
