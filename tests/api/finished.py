"""Finished games over the API: recorded ones that were played anew by players with names, and short ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg

from domain.events import Event
from domain.storage import Datastore
from projections.models import PROJECTIONS
from projections.runner import Follower
from tests.api.company import do, id_of, started_by
from tests.client import Client
from tests.conftest import cloned, in_memory, started
from tests.projections.finished import again, logged

__all__ = ["ADA", "BOB", "CYD", "DEE", "FINISHED", "GAMES", "LABEL", "PEOPLE", "game_id", "give_up", "id_of_player"]
__all__ += ["listed_as_finished", "played", "resigned"]

ADA, BOB, CYD, DEE = PEOPLE = tuple(
    UUID(f"{begins}00000-0000-4000-8000-000000000000") for begins in ("ada", "b0b", "c1d", "dee")
)
"""Players; Dee has erased her account."""
LABEL: Final = "Spring Cup"

_WEEK: Final = timedelta(weeks=1)

GAMES: Final[tuple[tuple[str, timedelta, str | None], ...]] = (
    ("tickle-timed-out", 0 * _WEEK, None),
    ("poker-declared", 0 * _WEEK, LABEL),
    ("won", 0 * _WEEK, None),
    ("tickle-target-as-joined", 0 * _WEEK, LABEL),
    ("given-up", 1 * _WEEK, None),
    ("won-strict-duo", 1 * _WEEK, None),
    ("tickle-timed-out", 1 * _WEEK, LABEL),
    ("poker-shared-first-place", 5 * _WEEK, None),
)
"""Recorded games, how much later than they were recorded, on the first of May 2030, and their labels. They are in the
log one after the other."""

FINISHED: Final = """
query ($filter: FinishedGameFilter, $first: Int = 100, $after: String) {
  finishedGames(filter: $filter, first: $first, after: $after) {
    nodes {
      id uuid kind ruleset label ending version hash proved recordUrl openedAt dealtAt finishedAt
      host { id displayName }
      seats { number player { id displayName } place points resigned }
    }
    edges { cursor node { id } }
    pageInfo { hasNextPage endCursor }
  }
}
"""


def _games() -> Sequence[list[Event]]:
    """The games, whose seats are taken by these players in turn."""
    told = []
    for number, (name, later, label) in enumerate(GAMES):
        recorded = again(name, number)
        seated = [event.fact.player for event in recorded if event.fact.topic == "game.PlayerSeated"]  # type: ignore[attr-defined]
        players = dict(zip(seated, PEOPLE, strict=False))
        told.append(again(name, number + 1, players=players, later=later, label=label))
    return told


@asynccontextmanager
async def played(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A server on a database that holds the games, all of them taken in; and a client without a token."""
    with cloned(admin, template, postgres) as url:
        datastore = Datastore(url, connections=4)
        for game in _games():
            logged(datastore, [game])
        for projection in PROJECTIONS.values():
            follower = Follower(datastore, projection)
            while follower.step():
                pass
        datastore.close()
        with psycopg.connect(url) as connection:
            for name, player in zip(("Ada", "Bob", "Cyd"), PEOPLE, strict=False):
                connection.execute("INSERT INTO players (id, name) VALUES (%s, %s)", (player, name))
        async with started(url) as app, in_memory(app) as client:
            yield client


async def id_of_player(client: Client) -> str:
    return str((await client.ask("{ viewer { player { id } } }"))["viewer"]["player"]["id"])


def game_id(number: int) -> str:
    """The id of one of the games, from 0."""
    return id_of("game", UUID(int=number + 1))


async def give_up(player: Client, **options: Any) -> Any:
    """Open a game of Ticitaire and give it up; return it as it is then."""
    outcome = await do(player, "openTicitaire", **options)
    return (await do(player, "giveUpTicitaire", outcome["game"]))["game"]


async def resigned(winner: Client, loser: Client, **options: Any) -> Any:
    """Play a game of Tickle that one player wins since the other resigns; return it as it is then."""
    game = await started_by(winner, loser, **options)
    return (await do(loser, "resignGame", game))["game"]


async def listed_as_finished(viewer: Client, *games: Any) -> None:
    """Wait until finished games are listed, and so counted."""
    wanted = {game["id"] for game in games}
    async with asyncio.timeout(10):
        while True:
            found, more, after = set[str](), True, None
            while more:
                page = (await viewer.ask(FINISHED, after=after))["finishedGames"]
                found |= {node["id"] for node in page["nodes"]}
                more, after = page["pageInfo"]["hasNextPage"], page["pageInfo"]["endCursor"]
            if wanted <= found:
                return
            await asyncio.sleep(0.01)
