"""A game whose seeds do not come is said to be unverifiable wherever it appears, and stays readable."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
import structlog.testing
from starlette.applications import Starlette

from api.app import create_app
from api.settings import Settings
from api.timekeeper import ASIDE_SECONDS, Timekeeper
from domain.application import Games
from domain.storage import Datastore, EventRecorder
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import OpenTicitaire
from domain.vault import Keyring, ServerKey, Vault
from projections.deadlines import Deadlines
from projections.runner import Follower
from tests.api.clock import Clock
from tests.api.company import actions, caught_up, do, id_of, started_by, types
from tests.api.finished import id_of_player, listed_as_finished, resigned
from tests.api.poker_evening import poker_started
from tests.client import Client, over_socket
from tests.conftest import KEYRING, in_memory, listening, started
from tests.projections.finished import logged
from tests.projections.verified import SAID, every_sort

WITHOUT: Final = Keyring([ServerKey.generate()])
"""Keys that open no seal of these databases."""
KINDS: Final = ("Ticitaire", "Tickle", "Poker")


async def begun(kind: str, ada: Client, bob: Client) -> Any:
    """A game of Ada's in which it is her turn."""
    match kind:
        case "Ticitaire":
            return (await do(ada, "openTicitaire"))["game"]
        case "Tickle":
            return await started_by(ada, bob, seating="AS_JOINED")
        case _:
            return await poker_started(ada, bob)


class Lost:
    """A server whose key is away, and those who play there."""

    def __init__(
        self, app: Starlette, client: Client, games: dict[str, Any], keys: list[Keyring], *tokens: str
    ) -> None:
        self.app, self.games, self.keys, self.nobody = app, games, keys, client
        self.ada, self.bob = (replace(client, token=token) for token in tokens)


@asynccontextmanager
async def without_key(url: str) -> AsyncIterator[Lost]:
    """A game of each kind that was begun while the key was there, and one of Tickle whose seeds are held back."""
    async with started(url) as app, in_memory(app) as client:
        ada, bob = await client.register("Ada"), await client.register("Bob")
        games = {kind: await begun(kind, ada, bob) for kind in KINDS}
        until = datetime.now(UTC) + timedelta(days=7)
        games["held back"] = await resigned(ada, bob, seating="AS_JOINED", sealedUntil=until.isoformat())
        await caught_up(client, *games.values())
    with psycopg.connect(url) as connection:  # another key seals something too: a server with none of the keys stops
        sealing = WITHOUT.current
        connection.execute(
            "INSERT INTO sealed_seeds (deal, deals, key_id, sealed) VALUES (gen_random_uuid(), 1, %s, '')",
            (sealing.id,),
        )
    keys = [WITHOUT]
    app = create_app(Settings(), url, lambda: keys[0])
    async with app.router.lifespan_context(app), in_memory(app) as client:
        yield Lost(app, client, games, keys, str(ada.token), str(bob.token))


@pytest.fixture
async def lost(database_url: str) -> AsyncIterator[Lost]:
    async with without_key(database_url) as lost:
        yield lost


ALL_OF_IT: Final = """
  status version deadline awaits seats { number player { name } }
  fairness { seeds verification }
  events(first: 100) { nodes { seq type cards { __typename } fact { type } } }
  legalActions { mutation }
  position(version: 3) { version }
  ... on TicitaireGame { columns { buried { __typename } } prospect stock { __typename } }
  ... on TickleGame {
    hands { hand { __typename } } deck { __typename } laydowns(first: 3) { __typename }
    checkLaydown(cards: [{x: 0, y: 0, card: "1-star-red"}]) { __typename }
  }
  ... on PokerGame { standings { points } round { seats { cards { __typename } best { __typename } } } }
"""
REPLAY: Final = """
query ($id: ID!, $view: ReplayView = PUBLIC) {
  replay(gameId: $id, as: $view) {
    verification notation curve { seat scores }
    positions(first: 100) { nodes { seq words scores game { version fairness { verification } } } }
  }
}
"""


# --- the key is away ---


@pytest.mark.parametrize("kind", KINDS)
async def test_a_game_whose_key_is_away_can_be_looked_at_in_every_way(lost: Lost, kind: str) -> None:
    game = lost.games[kind]
    for viewer in (lost.ada, lost.nobody):
        shown = await viewer.game(game["id"], ALL_OF_IT)
        assert (shown["status"], shown["version"], shown["legalActions"]) == ("PLAYING", game["version"], [])
        assert shown["fairness"] == {"seeds": None, "verification": "PENDING"}
        assert [hand for hand in hidden(shown) if hand != {"HiddenCard"}] == []
    told = (await lost.ada.ask(REPLAY, id=game["id"]))["replay"]
    assert [position["seq"] for position in told["positions"]["nodes"]] == [*range(1, game["version"] + 1)]
    assert told["verification"] == "PENDING"
    lines = (await lost.nobody.http.get(f"/games/{game['uuid']}.jsonl")).text.splitlines()
    assert len(lines) == game["version"] + 2


def hidden(shown: Any) -> list[set[str]]:
    """The kinds of cards that lie face down, or in each hand."""
    if "stock" in shown:
        hands = [shown["stock"], *[column["buried"] for column in shown["columns"] if column["buried"]]]
    elif "round" in shown:
        hands = [seat["cards"] for seat in shown["round"]["seats"]]
    else:
        hands = [shown["deck"], *[hand["hand"] for hand in shown["hands"]]]
    assert all(hands)
    return [{card["__typename"] for card in hand} for hand in hands]


async def test_one_such_game_spoils_no_page_of_games(lost: Lost) -> None:
    data = await lost.nobody.ask("{ games(first: 5) { nodes { status game { status } } } }")
    assert [(line["status"], line["game"]["status"]) for line in data["games"]["nodes"]] == [
        ("FINISHED", "FINISHED"),
        *[("PLAYING", "PLAYING")] * 3,
    ]


@pytest.mark.parametrize(
    ("kind", "mutation"), [("Ticitaire", "turnTicitaireStock"), ("Tickle", "resignGame"), ("Poker", "callPoker")]
)
async def test_who_would_play_is_told_what_is_the_matter(lost: Lost, kind: str, mutation: str) -> None:
    game = lost.games[kind]
    refused = await do(lost.ada, mutation, game)
    assert (refused["__typename"], refused["code"], refused["path"]) == (
        "InvalidInput",
        "INVALID_INPUT",
        ["input", "gameId"],
    )
    assert "is played on once the key is there again" in refused["message"]
    assert not any(key.id in json.dumps(refused) for key in (*KEYRING.keys, *WITHOUT.keys))
    assert (await lost.ada.game(game["id"], "version"))["version"] == game["version"]


@pytest.mark.parametrize("kind", KINDS)
async def test_when_the_key_is_put_back_the_game_goes_on_without_a_restart(lost: Lost, kind: str) -> None:
    game = lost.games[kind]
    assert await actions(lost.ada, game) == []
    lost.keys[0] = Keyring([*WITHOUT.keys, *KEYRING.keys])
    assert len(await actions(lost.ada, game)) > 1
    mutation = "giveUpTicitaire" if kind == "Ticitaire" else "resignGame"
    assert types(await do(lost.ada, mutation, game))[-1] == "game.SeedsRevealed"


async def test_such_a_game_can_be_followed(lost: Lost) -> None:
    game = lost.games["Tickle"]
    query = "subscription ($id: ID!) { gameChanged(gameId: $id) { version legalActions { mutation } } }"
    async with listening(lost.app) as address:
        told = over_socket(address, query, lost.ada.token, id=game["id"])
        first = (await anext(told))["data"]["gameChanged"]
        assert first == {"version": game["version"], "legalActions": []}
        lost.keys[0] = Keyring([*WITHOUT.keys, *KEYRING.keys])
        await do(lost.bob, "resignGame", game)
        last = (await anext(told))["data"]["gameChanged"]
        assert last["version"] > game["version"]


async def test_a_player_who_goes_for_good_leaves_such_games_as_they_are(lost: Lost) -> None:
    query = "mutation ($id: ID!) { erasePlayer(input: {playerId: $id}) { ... on PlayerErased { gamesLeft } } }"
    erased = await lost.ada.ask(query, id=await id_of_player(lost.ada))
    assert erased["erasePlayer"] == {"gamesLeft": 0}
    assert (await lost.nobody.game(lost.games["Tickle"]["id"], "status"))["status"] == "PLAYING"


async def test_seeds_that_are_held_back_may_be_played_again_though_their_key_is_away(lost: Lost) -> None:
    again = await do(lost.ada, "rematchGame", lost.games["held back"])
    assert types(again)[0] == "tickle.GameOpened"


# --- the timekeeper ---


def test_the_timekeeper_leaves_a_game_alone_until_its_key_is_back(
    recorder: EventRecorder, datastore: Datastore, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    keys, time = [KEYRING], itertools.count()
    games = Games(recorder, Vault(datastore, lambda: keys[0]))
    game = limited(games)
    while Follower(datastore, Deadlines()).step():
        pass
    keys[0] = WITHOUT
    games = Games(recorder, Vault(datastore, lambda: keys[0]))
    keeper = Timekeeper(datastore, games, clock=lambda: float(next(time)))
    Clock(monkeypatch).wind_on(120)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp()")
    with structlog.testing.capture_logs() as logs:
        keeper.step()
        keeper.step()
    assert [line["event"] for line in logs] == ["a seal can't be opened, so games can be read and not played on"]
    assert not games.game(game).table.over
    keys[0] = KEYRING
    for _ in range(int(ASIDE_SECONDS)):
        next(time)
    keeper.step()
    assert games.game(game).table.over


def limited(games: Games) -> UUID:
    """A game with a limit of a minute."""
    ada = UUID(int=1)
    opening = OpenTicitaire(player=ada, options=Options(time_limit=60))
    return games.open("ticitaire", opening, player=ada, key=None).game.id


# --- what is said, wherever a game appears ---

LISTED: Final = (
    "{ games(first: 100) { nodes { id verification } } finishedGames(first: 100) { nodes { id verification proved } } }"
)


async def said(client: Client, id: str) -> dict[str, Any]:
    """What is said of a game, by each who says it; of one that is not over, or was called off, fewer do."""
    data = await client.ask(LISTED)
    replay = (await client.ask(REPLAY, id=id))["replay"]
    places = {
        "the game": (await client.game(id, "fairness { verification }"))["fairness"]["verification"],
        "its replay": replay["verification"],
        "the end of its replay": replay["positions"]["nodes"][-1]["game"]["fairness"]["verification"],
        "the list": next(line["verification"] for line in data["games"]["nodes"] if line["id"] == id),
    }
    for line in data["finishedGames"]["nodes"]:
        if line["id"] == id:
            places["the list of results"] = line["verification"]
            assert line["proved"] == (line["verification"] == "PROVED")
    return places


async def test_of_games_of_every_sort_the_same_is_said_wherever_they_appear(
    client: Client, datastore: Datastore
) -> None:
    sorts = every_sort()
    logged(datastore, sorts.values())
    ids = {name: id_of("game", events[0].game) for name, events in sorts.items()}
    await caught_up(client, *({"id": ids[name], "version": len(events)} for name, events in sorts.items()))
    over = [name for name in sorts if name not in ("under way", "called off")]
    await listed_as_finished(client, *({"id": ids[name]} for name in over))
    await settled(client, {ids["revealed after they were held back"], ids["revealed with the result"]})
    for name, expected in SAID.items():
        told = await said(client, ids[name])
        assert set(told.values()) == {expected and expected.name}, (name, told)
        assert ("the list of results" in told) == (name in over)


async def settled(client: Client, ids: set[str]) -> None:
    """Wait until these are listed as proved."""
    async with asyncio.timeout(10):
        while True:
            nodes = (await client.ask(LISTED))["finishedGames"]["nodes"]
            if ids <= {node["id"] for node in nodes if node["proved"]}:
                return
            await asyncio.sleep(0.01)


async def test_the_scoreboard_of_a_game_says_it_too(client: Client, datastore: Datastore, address: str) -> None:
    sorts = every_sort()
    logged(datastore, sorts.values())
    query = "subscription ($id: ID!) { scoreboardChanged(gameId: $id) { verification } }"
    for name, expected in SAID.items():
        told = over_socket(address, query, id=id_of("game", sorts[name][0].game))
        board = (await anext(told))["data"]["scoreboardChanged"]
        await told.aclose()
        assert board == {"verification": expected and expected.name}, name


@pytest.mark.parametrize(
    "name", ["revealed with the result", "held back until a time that has passed", "never revealed"]
)
async def test_at_positions_of_the_past_the_seeds_were_still_to_come(
    client: Client, datastore: Datastore, name: str
) -> None:
    events = every_sort()[name]
    logged(datastore, [events])
    id, last = id_of("game", events[0].game), len(events)
    positions = (await client.ask(REPLAY, id=id))["replay"]["positions"]["nodes"]
    verified = "fairness { verification }"
    then = await client.game(id, f"before: position(version: {last - 1}) {{ {verified} }}")
    assert {position["game"]["fairness"]["verification"] for position in positions[:-1]} == {"PENDING"}
    assert then["before"]["fairness"]["verification"] == "PENDING"
