"""A whole game of Tickle over HTTP and WebSockets, as it is played and told to all who look and follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.api.company import do, opened
from tests.client import Client, over_socket
from tests.conftest import in_memory, listening, started

__all__ = ["VIEWERS", "Laydown", "Played", "Told", "play_over_the_api"]

SLOT = "{ ... on Card { name } ... on HiddenCard { hidden } }"
TABLE: Final = f"""
  version status hash viewerSeat legalActions {{ mutation }} deckCount setAsideCount finalStage targetReached
  turn {{ seat round drawn {SLOT} }} grid {{ x y card {{ name }} }}
  hands {{ number points handCount resigned timeOuts timeOutsInARow hand {SLOT} }}
  result {{ ending places {{ seat place points cards total resigned }} }} deck {SLOT} setAside {SLOT}
"""
ON_TABLE: Final = f"... on TickleGame {{ {TABLE} }}"
EVENT: Final = "seq type bytes hash previousHash cards { name }"
SCORE: Final = """
  score {
    contacts { a { x y } b { x y } kind } groups { number shape colour size cells { x y } bonus extreme }
    ticPoints groupPoints extremePoints sixCardPoints total
  }
"""
EVENTS: Final = f"subscription ($id: ID!) {{ gameEvents(gameId: $id) {{ {EVENT} }} }}"
CHANGES: Final = f"subscription ($id: ID!) {{ gameChanged(gameId: $id) {{ {ON_TABLE} }} }}"
OUTCOME: Final = (
    f"__typename ... on CommandAccepted {{ events {{ {EVENT} fact {{ ... on TickleLaydownPlayed {{ {SCORE} }} }} }} "
    f"game {{ id {ON_TABLE} }} }}"
)
CHECK: Final = (
    "query ($id: ID!, $cards: [LayCardInput!]!) { game(id: $id) { ... on TickleGame { "
    f"checkLaydown(cards: $cards) {{ legal reasons {{ code }} {SCORE} }} }} }} }}"
)
SEARCH: Final = "... on TickleGame { laydowns(first: 1) { nodes { points cards { x y card { name } } } } }"

VIEWERS: Final = ("seat 1", "seat 2", "a stranger", "nobody")
Cards = list[dict[str, Any]]


@dataclass
class Laydown:
    """A laydown, and what was told of its points before it and with it."""

    seat: int
    cards: Cards
    promised: int
    checked: Any
    scored: Any


@dataclass
class Told:
    """What one viewer was told of the game."""

    answers: list[Any] = field(default_factory=list)
    """The outcomes of the viewer's own commands."""
    shown: dict[int, Any] = field(default_factory=dict)
    """The game as it was, by version."""
    positions: dict[int, Any] = field(default_factory=dict)
    """What `position` shows of these versions when the game is over."""
    history: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    """What gameEvents told."""
    changes: list[Any] = field(default_factory=list)
    """What gameChanged told."""


@dataclass
class Played:
    """A game, as it was played and told."""

    told: dict[str, Told]
    laydowns: list[Laydown] = field(default_factory=list)
    chosen: list[tuple[list[str], str]] = field(default_factory=list)
    """What was open to the seat that had the turn, and what it did."""
    refused: Any = None
    """The error of asking for all cards in the middle of the game."""
    revealed: dict[int, Any] = field(default_factory=dict)
    """What everybody sees afterwards of each version, with all cards open."""
    fairness: Any = None
    over: Any = None
    """The game, as everybody sees it at its end."""

    @property
    def record(self) -> list[Any]:
        return self.told["nobody"].history


async def heard(results: AsyncGenerator[Any]) -> list[Any]:
    return [next(iter(result["data"].values())) async for result in results]


def position(version: int, *options: str) -> str:
    return f"position({', '.join([f'version: {version}', *options])}) {{ {ON_TABLE} }}"


async def _turn(player: Client, game: Any, played: Played) -> Any:
    """Lay the best cards that a search finds, or else draw, or decline; return the outcome."""
    legal = [action["mutation"] for action in game["legalActions"]]
    best = (await player.game(game["id"], SEARCH))["laydowns"]["nodes"]
    if not best:
        mutation = "declineTickleLaydown" if game["turn"]["drawn"] else "drawTickleCard"
        played.chosen.append((legal, mutation))
        return await do(player, mutation, game, show=OUTCOME)
    cards = [{"x": one["x"], "y": one["y"], "card": one["card"]["name"]} for one in best[0]["cards"]]
    checked = (await player.ask(CHECK, id=game["id"], cards=cards))["game"]["checkLaydown"]
    outcome = await do(player, "layTickleCards", game, show=OUTCOME, cards=cards)
    scored = outcome["events"][0]["fact"]["score"]
    played.chosen.append((legal, "layTickleCards"))
    played.laydowns.append(Laydown(game["viewerSeat"], cards, best[0]["points"], checked, scored))
    return outcome


async def play_over_the_api(url: str) -> Played:
    async with started(url) as app, in_memory(app) as nobody, listening(app) as address:
        host, guest = await nobody.register("Ada"), await nobody.register("Bob")
        id = (await opened(host, guest, deck="HALF"))["id"]
        stranger = await nobody.register("Eve")
        seats = {"seat 1": guest, "seat 2": host, "a stranger": stranger, "nobody": nobody}  # as SEED shuffles them
        played = Played({viewer: Told() for viewer in VIEWERS})
        following = {
            (viewer, query): asyncio.ensure_future(heard(over_socket(address, query, token=client.token, id=id)))
            for viewer, client in seats.items()
            for query in (EVENTS, CHANGES)
        }

        async def look() -> None:
            for viewer, client in seats.items():
                shown = await client.game(id, f"id {ON_TABLE}")
                played.told[viewer].shown[shown["version"]] = shown

        played.told["seat 2"].answers.append(await do(host, "startGame", {"id": id}, show=OUTCOME))
        await look()
        version = max(played.told["nobody"].shown)
        while (turn := played.told["nobody"].shown[version]["turn"]) is not None:
            viewer = f"seat {turn['seat']}"
            outcome = await _turn(seats[viewer], played.told[viewer].shown[version], played)
            played.told[viewer].answers.append(outcome)
            version = outcome["game"]["version"]
            await look()
            if len(played.laydowns) == 5 and played.refused is None:
                played.refused = await host.error(f'{{ game(id: "{id}") {{ {position(8, "revealed: true")} }} }}')
        async with asyncio.timeout(10):
            for (viewer, query), told in following.items():
                setattr(played.told[viewer], "events" if query == EVENTS else "changes", await told)
        for viewer, client in seats.items():
            told_to = played.told[viewer]
            told_to.history = await client.history(id, fields=EVENT, first=11)
            for each in told_to.shown:
                told_to.positions[each] = (await client.game(id, position(each)))["position"]
        for each in played.told["nobody"].shown:
            played.revealed[each] = (await nobody.game(id, position(each, "revealed: true")))["position"]
        played.fairness = (await nobody.game(id, "fairness { algorithm deal commitment seeds }"))["fairness"]
        played.over = played.told["nobody"].shown[version]
        return played
