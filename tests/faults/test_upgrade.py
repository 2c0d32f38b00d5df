"""An upgrade without a pause: servers of an older and of a newer program on one database, and nobody meets an error."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest

from tests.api.company import do
from tests.api.roles import House, house
from tests.client import Client
from tests.conftest import KEYRING
from tests.newer import NEWER
from tests.server import ROOT, TIC, environment, serving
from tests.servers.pair import accepted, calling

OLDER: Final[Sequence[str | Path]] = (TIC,)
NEWER_PROGRAM: Final[Sequence[str | Path]] = (sys.executable, "-m", "tests.newer")
LISTED: Final = "{ games(first: 100) { nodes { id version } } }"


@dataclass(frozen=True)
class Place:
    """A database that is upgraded."""

    rooms: House
    settings: dict[str, str]

    def run(self, program: Sequence[str | Path], *words: str, owner: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command of a program, as the role of servers or as the owner."""
        url = self.rooms.owners_url if owner else self.rooms.apps_url
        settings = environment(**self.settings, DATABASE_URL=url)
        return subprocess.run(
            [*program, *words], cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60, check=False
        )

    @asynccontextmanager
    async def serve(self, program: Sequence[str | Path]) -> AsyncIterator[Client]:
        """A client of a server of a program; the server ends in good order with the block."""
        settings = {**self.settings, "DATABASE_URL": self.rooms.apps_url}
        with ExitStack() as stack:
            server = await asyncio.to_thread(stack.enter_context, serving(settings, program=program))
            async with calling(server) as client:
                yield client
            assert await asyncio.to_thread(server.stop) == 0


@pytest.fixture
def place(admin: psycopg.Connection, postgres: str, tmp_path: Path) -> Iterator[Place]:
    key_file = tmp_path / "server.key"
    key_file.write_text(KEYRING.write())
    with house(admin, postgres) as rooms:
        rooms.init()
        yield Place(rooms, {"TIC_SERVER_KEY_FILE": str(key_file)})


class Load:
    """Players who go on playing, at the servers by turns, whichever there are; each answer must be what was asked."""

    def __init__(self, *servers: Client) -> None:
        self.servers: Final = list(servers)
        self.played: Final[Counter[httpx.AsyncClient]] = Counter()
        self.ending = False
        self._grown: Final = asyncio.Event()

    async def play(self, player: Client) -> Any:
        """Play a game until the load ends, at all servers by turns; return it."""
        game = accepted(await do(player, "openTicitaire"))["game"]
        while not self.ending:
            for server in list(self.servers):
                there = replace(player, http=server.http)
                mutation = "turnTicitaireStock" if "turnTicitaireStock" in open_to(game) else "recycleTicitaireWaste"
                game = accepted(await do(there, mutation, game))["game"]
                shown = await there.game(game["id"], "version")
                assert shown["version"] == game["version"]
                await there.ask(LISTED)
                self.played[server.http] += 1
                self._grown.set()
        return game

    async def goes_on(self, more: int = 12) -> None:
        """Wait until so much more was played at each server."""
        wanted = {server.http: self.played[server.http] + more for server in self.servers}
        async with asyncio.timeout(30):
            while any(self.played[server] < many for server, many in wanted.items()):
                self._grown.clear()
                await self._grown.wait()


def open_to(game: Any) -> set[str]:
    return {action["mutation"] for action in game["legalActions"]}


async def listed(client: Client, *games: Any) -> None:
    """Wait until a server lists games at these versions."""
    wanted = {game["id"]: game["version"] for game in games}
    async with asyncio.timeout(20):
        while True:
            shown = {node["id"]: node["version"] for node in (await client.ask(LISTED))["games"]["nodes"]}
            if all(shown.get(id) == version for id, version in wanted.items()):
                return
            await asyncio.sleep(0.02)


async def test_an_older_and_a_newer_server_play_on_through_an_upgrade(place: Place) -> None:
    async with place.serve(OLDER) as older, asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        load = Load(older)
        players = [await older.register(name) for name in ("Ada", "Bob")]
        games = [group.create_task(load.play(player)) for player in players]
        await load.goes_on()

        too_early = await asyncio.to_thread(place.run, NEWER_PROGRAM, "serve", "--port", "0")
        assert (too_early.returncode, "Run `tic db migrate`" in too_early.stderr) == (1, True), too_early.stderr
        for words, owner in ((("db", "migrate"), True), (("project", "rebuild", "lobby"), False)):
            done = await asyncio.to_thread(place.run, NEWER_PROGRAM, *words, owner=owner)
            assert done.returncode == 0, done.stderr
            await load.goes_on()

        newer = await stack.enter_async_context(place.serve(NEWER_PROGRAM))
        load.servers.append(newer)
        await load.goes_on()
        load.ending = True
        shown = [await game for game in games]
        for server in (older, newer):
            await listed(server, *shown)


async def test_a_game_that_only_the_newer_server_can_read_is_refused_by_the_older_one_and_others_go_on(
    place: Place,
) -> None:
    assert place.run(NEWER_PROGRAM, "db", "migrate", owner=True).returncode == 0
    async with place.serve(OLDER) as older, place.serve(NEWER_PROGRAM) as newer:
        ada = await older.register("Ada")
        at_the_newer = replace(ada, http=newer.http)
        game, other = [accepted(await do(ada, "openTicitaire", takeBack=True))["game"] for _ in range(2)]
        game = accepted(await do(ada, "turnTicitaireStock", game))["game"]
        taken_back = accepted(await do(at_the_newer, "takeBackTicitaireMoves", game, moves=1))
        assert [event["type"] for event in taken_back["events"]] == [NEWER.topic]

        asked = await ada.error("query ($id: ID!) { game(id: $id) { version } }", id=game["id"])
        assert asked["extensions"]["code"] == "NEWER_GAME"
        move = "mutation ($i: MoveInput!) { turnTicitaireStock(input: $i) { __typename } }"
        moved = await ada.error(move, i={"gameId": game["id"], "expectedVersion": game["version"] + 1})
        assert moved["extensions"]["code"] == "NEWER_GAME"
        record = await ada.http.get(f"/games/{game['id']}.jsonl")
        assert (record.status_code, record.json()["code"]) == (503, "NEWER_GAME")

        other = accepted(await do(ada, "turnTicitaireStock", other))["game"]
        # Whichever server takes it in: the list has what both have written, and the older one has not passed it over.
        for server in (older, newer):
            await listed(server, taken_back["game"], other)
        accepted(await do(at_the_newer, "turnTicitaireStock", taken_back["game"]))
