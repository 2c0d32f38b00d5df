"""Pages of 100 against pages of 10 of every list, over HTTP, with the fields that a client would show.

Ten times as many lines are to cost three times as much at most. Both are asked for by turns, on one connection to a
server of one worker, and of each the lower quartile is told: what else runs on a shared machine only adds.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg

from api.database import prepare
from api.ids import write_id
from benchmarks.durability import MISSED
from benchmarks.generated.filling import fill
from benchmarks.generated.weaving import Recipe, woven
from domain.application import CONNECTIONS, Games
from domain.decider import Command
from domain.lifecycle import Resign
from domain.poker.rules import OpenPoker
from domain.storage import Datastore, EventRecorder
from domain.tables import Join, Start
from domain.vault import Keyring, ServerKey, Vault
from projections.models import PROJECTIONS
from projections.runner import Follower

__all__ = ["LISTS", "measure_pages"]

MOST: Final = 3.0
FEW, MANY = 10, 100
ROUNDS: Final = 40
RECIPE: Final = Recipe(players=1_000)
EVENTS: Final = 15_000
"""Of games of many players. Besides, two players meet in short games, so that each has a long history."""

_PLAYER: Final = "player { id displayName }"
_FINISHED: Final = f"id kind label ending finishedAt proved seats {{ number {_PLAYER} place points resigned }}"
_END: Final = "pageInfo { hasNextPage endCursor }"

LISTS: Final[Mapping[str, str]] = {
    "scoreboard lines": f"scoreboard(board: POKER_POINTS) {{ lines(first: %d) {{ "
    f"nodes {{ place {_PLAYER} value games gameId }} {_END} }} }}",
    "finishedGames": f"finishedGames(first: %d) {{ nodes {{ {_FINISHED} }} {_END} }}",
    "Player.history": f"player(id: $player) {{ history(first: %d) {{ nodes {{ game {{ {_FINISHED} }} "
    f"seat place points ratingChange {{ change rating }} }} {_END} }} }}",
    "Player.ratingChanges": "player(id: $player) { ratingChanges(kind: POKER, first: %d) { "
    f"nodes {{ gameId place change ratingBefore rating }} {_END} }} }}",
    "games": "games(first: %d) { nodes { id kind label status ending version changedAt takes private "
    f"host {{ id displayName }} players {{ id displayName }} }} {_END} }}",
    "games of a player": "games(first: %d, filter: {playerId: $player}) { nodes { id kind status changedAt "
    f"players {{ id displayName }} }} {_END} }}",
    "Game.events": f"game(id: $game) {{ events(first: %d) {{ nodes {{ seq at type {_PLAYER} hash }} hasMore }} }}",
    "replay positions": "replay(gameId: $game) { positions(first: %d) { "
    "nodes { seq event { at type } words(names: true) scores } hasMore } }",
}
"""What is asked for of each, by its size."""


def measure_pages(url: str, folder: Path) -> Iterator[str]:
    """Yield a line for every list that tells what both pages cost, and the ratio."""
    keyring = Keyring([ServerKey.generate()])
    asked = _filled(url, keyring)
    with _server(url, folder, keyring) as connection:
        for name, fields in LISTS.items():
            few, many = _milliseconds(connection, fields, asked)
            ratio = many / few
            missed = "" if ratio <= MOST else MISSED
            yield f"{missed}{name}: {many:.1f} ms for {MANY} against {few:.1f} ms for {FEW}: {ratio:.2f} times as much"


def _filled(url: str, keyring: Keyring) -> dict[str, str]:
    """Fill a database with games and the names of their players; return whose history and which game to ask for."""
    with closing(Datastore(url, connections=CONNECTIONS + 1)) as datastore:
        prepare(datastore)
        with closing(woven(RECIPE, workers=os.cpu_count() or 1)) as entries:  # type: ignore[type-var]
            fill(url, entries, events=EVENTS)
        player = _meet_often(datastore, keyring)
        for projection in PROJECTIONS.values():
            follower = Follower(datastore, projection)
            follower.create_tables()
            while follower.step():
                pass
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO players (id, name)"
            " SELECT player, 'Player ' || row_number() OVER (ORDER BY player)"
            " FROM (SELECT DISTINCT player FROM read_models.lobby_players) AS p"
        )
        query = "SELECT game FROM read_models.finished_games WHERE version > %s AND kind = 'tickle' ORDER BY game"
        game = connection.execute(query, (MANY,)).fetchone()
    if game is None:
        raise LookupError("the log holds no game of so many events")
    return {"player": write_id("player", player), "game": write_id("game", game[0])}


def _meet_often(datastore: Datastore, keyring: Keyring) -> UUID:
    """Let one player lose to another again and again; return who does."""
    loser, winner = uuid4(), uuid4()
    with closing(Games(EventRecorder(datastore), Vault(datastore, keyring))) as games:
        for _ in range(MANY + 1):
            opened = games.open("poker", OpenPoker(player=loser), player=loser, key=None).game.id
            commands: list[tuple[UUID, Callable[[int], Command]]] = [
                (winner, lambda _: Join(player=winner)),
                (loser, lambda _: Start(player=loser)),
                (loser, lambda seat: Resign(seat=seat)),
            ]
            for player, command in commands:
                seated = player == loser
                games.handle(opened, command, player=player, expected_version=None, key=None, seated=seated)
    return loser


@contextmanager
def _server(url: str, folder: Path, keyring: Keyring) -> Iterator[HTTPConnection]:
    key_file = folder / "pages.key"
    key_file.write_text(keyring.write(), encoding="ascii")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.server", url, str(key_file), str(port)])
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        for _ in range(300):
            try:
                _ask(connection, "{ serverInfo { version } }", {})
                break
            except OSError:
                connection.close()
                time.sleep(0.1)
        yield connection
    finally:
        connection.close()
        process.terminate()
        process.wait(20)


def _ask(connection: HTTPConnection, query: str, variables: Mapping[str, str]) -> Any:
    body = json.dumps({"query": query, "variables": variables})
    connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    if "errors" in answer:
        raise LookupError(answer["errors"][0]["message"])
    return answer["data"]


def _milliseconds(connection: HTTPConnection, fields: str, asked: Mapping[str, str]) -> list[float]:
    """Return what a page of few lines costs, and one of many."""
    variables = {name: value for name, value in asked.items() if f"${name}" in fields}
    declared = ", ".join(f"${name}: ID!" for name in variables)
    head = f"query ({declared})" if declared else ""
    queries = {size: f"{head} {{ {fields % size} }}" for size in (FEW, MANY)}
    found: dict[int, list[float]] = {size: [] for size in queries}
    for size, query in queries.items():
        told = len(_lines(_ask(connection, query, variables)))  # and so its document is known
        if told != size:
            raise LookupError(f"there are {told} lines where {size} were asked for")
    for _ in range(ROUNDS):
        for size, query in queries.items():
            started = time.perf_counter()
            _ask(connection, query, variables)
            found[size].append((time.perf_counter() - started) * 1000)
    return [statistics.quantiles(times, n=4)[0] for times in found.values()]


def _lines(data: Any) -> list[Any]:
    """Return the nodes, however deep they are."""
    while "nodes" not in data:
        data = next(value for value in data.values() if isinstance(value, dict))
    nodes: list[Any] = data["nodes"]
    return nodes
