"""Players who play, whatever happens: over HTTP, against one server or several, and every answer is written down.

Some have a game to themselves. Some come to one game over several connections and race, each naming the version it
decided upon. Two sit at a table of Tickle. Every command has a key of its own; where no answer tells the outcome, some
send the same again until one does, and others walk away and look.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import httpx

from tests.client import authorization
from tests.faults.histories import Acknowledged, Histories, Outcome, Read, Refused, Request, Unknown
from tests.faults.shown import SHOWN

__all__ = ["PATIENCE", "Client", "Load", "Mix", "Player", "loaded"]

PATIENCE: Final = 60.0
"""Seconds for what must come sooner or later."""
ANSWER: Final = 10.0
"""Seconds that a client waits for an answer."""
PAUSE: Final = 0.05
"""Seconds before a client tries again after it got no answer."""
LENGTH: Final = 40
"""Moves after which a player gives a game up and opens another."""

TOPICS: Final = {
    "openTicitaire": "ticitaire.GameOpened",
    "moveTicitaireCards": "ticitaire.CardsMoved",
    "turnTicitaireStock": "ticitaire.StockTurned",
    "recycleTicitaireWaste": "ticitaire.WasteRecycled",
    "takeBackTicitaireMoves": "ticitaire.MovesTakenBack",
    "giveUpTicitaire": "game.PlayerResigned",
    "openTickle": "tickle.GameOpened",
    "joinGame": "game.PlayerJoined",
    "layTickleCards": "tickle.LaydownPlayed",
    "drawTickleCard": "tickle.CardDrawn",
    "declineTickleLaydown": "tickle.LaydownDeclined",
    "resignGame": "game.PlayerResigned",
}
"""With which fact the events of a mutation begin."""
INPUTS: Final = {
    "openTicitaire": "OpenTicitaireInput",
    "moveTicitaireCards": "MoveTicitaireCardsInput",
    "takeBackTicitaireMoves": "TakeBackTicitaireMovesInput",
    "giveUpTicitaire": "PlayInput",
    "openTickle": "OpenTickleInput",
    "joinGame": "JoinGameInput",
    "layTickleCards": "LayTickleCardsInput",
    "resignGame": "PlayInput",
}
"""The type of each mutation's input, where it is not `MoveInput`."""
ENDS: Final = frozenset({"giveUpTicitaire", "resignGame", "leaveGame"})

GAME: Final = SHOWN + "legalActions { mutation ... on TicitaireMove { from to } }"
READ: Final = f"query ($id: ID!) {{ game(id: $id) {{ {GAME} }} }}"
LAYDOWNS: Final = (
    "query ($id: ID!) { game(id: $id) { ... on TickleGame {"
    " laydowns(first: 1) { nodes { cards { x y card { name } } } } } } }"
)
ANSWERED: Final = f"""
  __typename
  ... on CommandAccepted {{ version hash repeated events {{ seq hash }} game {{ {GAME} }} }}
  ... on UserError {{ code }}
  ... on VersionConflict {{ currentVersion }}
"""
REGISTER: Final = """
mutation ($name: String!) {
  registerPlayer(input: {name: $name}) { ... on PlayerRegistered { token player { uuid } } }
}
"""

Shown = Mapping[str, Any]
"""A game as an answer showed it."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How many play, and how."""

    solitary: int = 4
    """Players with a game to themselves; every second one walks away from an unknown outcome."""
    contested: int = 2
    """Games that are played over three connections at once."""
    pairs: int = 1
    """Tables of Tickle for two."""
    opening: Mapping[str, Any] = field(default_factory=dict)
    """With what games of Ticitaire are opened, besides taking back."""
    pace: float = 0.0
    """Seconds that a client thinks between two commands."""
    length: int = LENGTH
    """Moves until a game that a player has to himself is given up."""


@dataclass(frozen=True, slots=True)
class Player:
    """Who plays: an account."""

    name: str
    id: UUID
    token: str


class Load:
    """All who play, between the beginning and the end of a load."""

    def __init__(self, addresses: Sequence[str], http: httpx.AsyncClient, *, seed: int, mix: Mix) -> None:
        self.addresses: Final = list(addresses)
        """Where the servers are; may be changed while the load runs."""
        self.histories: Final = Histories()
        self.http: Final = http
        self.mix: Final = mix
        self.seed: Final = seed
        self.stopping = False
        self.games: Final[dict[str, UUID]] = {}
        """Every game of Ticitaire that was opened: its opaque id and its id in the log."""
        self._owners: Final[dict[str, Player]] = {}
        self._grown: Final = asyncio.Event()

    async def until(self, *, acknowledged: int) -> None:
        """Wait until so many more commands have been acknowledged."""
        await self._grow(acknowledged, lambda: self.histories.acknowledged)

    async def until_unknown(self, more: int) -> None:
        """Wait until so many more outcomes are unknown."""
        await self._grow(more, lambda: self.histories.unknown)

    async def until_unanswered(self, more: int) -> None:
        """Wait until so many more commands and reads had no answer that tells."""
        await self._grow(more, self.histories.unanswered.total)

    def leave_unanswered(self, why: str) -> None:
        """Write down that there was no answer that tells, and why."""
        self.histories.unanswered[why] += 1
        self._grown.set()

    async def _grow(self, more: int, count: Callable[[], int]) -> None:
        wanted = count() + more
        async with asyncio.timeout(PATIENCE):
            while count() < wanted:
                self._grown.clear()
                await self._grown.wait()

    def opened(self, game: Shown, player: Player) -> None:
        """Take note of a game of Ticitaire."""
        self.games[game["id"]] = UUID(game["uuid"])
        self._owners[game["id"]] = player

    def record(self, request: Request) -> None:
        """Write down what became of a command."""
        self.histories.requests.append(request)
        self._grown.set()

    async def register(self, name: str) -> Player:
        """Register a player."""
        body = {"query": REGISTER, "variables": {"name": name}}
        answer = (await self.http.post(self.addresses[0], json=body)).json()
        told = answer["data"]["registerPlayer"]
        return Player(name, UUID(told["player"]["uuid"]), told["token"])

    async def look(self) -> None:
        """Let everybody look at every game of his on every server: nothing is lost, and all servers show the same."""
        clients = self._clients("at the end")
        async with asyncio.timeout(PATIENCE):
            for game, player in self._owners.items():
                for server in range(len(self.addresses)):
                    while await clients[player.id].read(game, server=server) is None:
                        pass

    async def close_games(self) -> None:
        """Give up every game of Ticitaire that is still played."""
        clients = self._clients("closing")
        await asyncio.gather(*(clients[player.id].close(game) for game, player in self._owners.items()))

    def _clients(self, when: str) -> dict[UUID, Client]:
        return {player.id: Client(self, f"{player.name}, {when}", player) for player in self._owners.values()}

    async def play(self, group: asyncio.TaskGroup) -> None:
        """Set everybody to play."""
        mix = self.mix
        alone = [await self.register(f"solitary {n}") for n in range(mix.solitary)]
        shared = [await self.register(f"contested {n}") for n in range(mix.contested)]
        pairs = [(await self.register(f"host {n}"), await self.register(f"guest {n}")) for n in range(mix.pairs)]
        for n, player in enumerate(alone):
            group.create_task(_solitary(Client(self, player.name, player, persists=n % 2 == 0)))
        for player in shared:
            clients = [Client(self, f"{player.name} ({n})", player, persists=n % 2 == 0) for n in range(3)]
            group.create_task(_contested(clients))
        for host, guest in pairs:
            group.create_task(_pair(Client(self, host.name, host), Client(self, guest.name, guest)))


class Client:
    """One connection of a player: one thing after the other."""

    def __init__(self, load: Load, name: str, player: Player, *, persists: bool = True) -> None:
        """Send a command whose outcome is unknown again until it is told, if it ``persists``; else walk away."""
        self.name: Final = name
        self.player: Final = player
        self._load: Final = load
        self._persists: Final = persists
        # Not the clock, nor a hash that differs from run to run: the same choices each time, as far as answers allow.
        self.random: Final = random.Random(f"{load.seed} {name}")
        self._keys = 0

    @property
    def stopping(self) -> bool:
        """Whether the load is to end."""
        return self._load.stopping

    @property
    def mix(self) -> Mix:
        """How is played."""
        return self._load.mix

    async def open(self, mutation: str, **input: Any) -> Shown | None:
        """Open a game; return it as it was shown, if the answer came."""
        outcome = await self.send(mutation, None, expected=None, **input)
        assert not isinstance(outcome, Refused), f"nothing forbids {self.name} to open a game: {outcome.code}"
        if isinstance(outcome, Unknown):
            return None
        if mutation == "openTicitaire":
            self._load.opened(outcome.shown, self.player)
        return outcome.shown

    async def send(self, mutation: str, game: Shown | None, *, expected: int | None, **input: Any) -> Outcome:
        """Send a command under a new key, and write down what became of it."""
        self._keys += 1
        key = f"{self.name}, command {self._keys}"
        input |= {"idempotencyKey": key}
        if game is not None:
            input |= {"gameId": game["id"]}
        if expected is not None:
            input |= {"expectedVersion": expected}
        called, tries = time.monotonic(), 1
        outcome = await self._ask(mutation, input)
        while isinstance(outcome, Unknown) and self._persists and time.monotonic() < called + PATIENCE:
            await asyncio.sleep(PAUSE)
            tries += 1
            outcome = await self._ask(mutation, input)
        known = UUID(game["uuid"]) if game is not None else None
        request = Request(
            self.name,
            self.player.id,
            key,
            known,
            TOPICS[mutation],
            expected,
            called,
            time.monotonic(),
            outcome,
            tries,
        )
        self._load.record(request)
        await asyncio.sleep(PAUSE if isinstance(outcome, Unknown) else self.mix.pace)
        return outcome

    async def _ask(self, mutation: str, input: Mapping[str, Any]) -> Outcome:
        type_ = INPUTS.get(mutation, "MoveInput")
        query = f"mutation ($input: {type_}!) {{ {mutation}(input: $input) {{ {ANSWERED} }} }}"
        answer = await self._post(query, {"input": input})
        if isinstance(answer, Unknown):
            return answer
        told = answer[mutation]
        if told["__typename"] == "CommandAccepted":
            events = tuple((event["seq"], event["hash"]) for event in told["events"])
            return Acknowledged(told["version"], told["hash"], events, told["game"], told["repeated"])
        return Refused(told["code"], told.get("currentVersion"))

    async def read(self, id: str, *, server: int | None = None) -> Shown | None:
        """Read a game, on any of the servers unless one is named; return it as it was shown, if an answer came."""
        called = time.monotonic()
        answer = await self._post(READ, {"id": id}, server=server)
        if isinstance(answer, Unknown):
            await asyncio.sleep(PAUSE)
            return None
        shown: Shown | None = answer["game"]
        assert shown is not None, f"{self.name} was told of the game {id}, and now there is none"
        read = Read(self.name, self.player.id, UUID(shown["uuid"]), called, time.monotonic(), shown)
        self._load.histories.reads.append(read)
        return shown

    async def close(self, id: str) -> None:
        """Give a game up, unless it is over."""
        game = None
        while game is None:
            game = await self.read(id)
        if game["status"] == "PLAYING":
            await self.send("giveUpTicitaire", game, expected=None)

    async def _post(self, query: str, variables: Mapping[str, Any], *, server: int | None = None) -> Any:
        """Return the data of an answer, or that none came."""
        addresses = self._load.addresses
        address = self.random.choice(addresses) if server is None else addresses[server]
        body = {"query": query, "variables": variables}
        try:
            response = await self._load.http.post(address, json=body, headers=authorization(self.player.token))
            answer = response.json()
        except (httpx.HTTPError, ValueError) as error:
            return self._unanswered(type(error).__name__)
        if "errors" in answer:
            return self._unanswered(answer["errors"][0]["extensions"]["code"])
        return answer["data"]

    def _unanswered(self, why: str) -> Unknown:
        self._load.leave_unanswered(why)
        return Unknown(why)

    # One step of a game

    async def step(self, game: Shown) -> Shown | None:
        """Do something with a game as it was shown; return it as it is shown then, None where that is not known."""
        choice = self.random.random()
        if choice < 0.1:
            return await self.read(game["id"])
        if choice < 0.15:
            stale = max(game["version"] - 1, 1)
            return self._after(game, await self.send("turnTicitaireStock", game, expected=stale))
        if choice < 0.2 and game["stock"]:
            # Against rule S8: the waste is turned over only when the stock is empty.
            return self._after(game, await self.send("recycleTicitaireWaste", game, expected=game["version"]))
        actions = [action for action in game["legalActions"] if action["mutation"] not in ENDS]
        if not actions:  # nothing moves; or the time is up, and perhaps it is given back
            await asyncio.sleep(PAUSE)
            return None
        action = self.random.choice(actions)
        input = {name: action[name] for name in ("from", "to") if name in action}
        return self._after(game, await self.send(action["mutation"], game, expected=game["version"], **input))

    def _after(self, game: Shown, outcome: Outcome) -> Shown | None:
        match outcome:
            case Acknowledged():
                # The answer to a command that was sent again shows the game as it was then.
                return None if outcome.repeated else outcome.shown
            case Refused(current=None):
                return game
            case _:
                return None

    async def sit(self, id: str, *, moves: int | None = None) -> None:
        """Play a game until it is over, or after so many steps, or the load stops."""
        game: Shown | None = None
        while not self.stopping and moves != 0:
            moves = None if moves is None else moves - 1
            if game is None:
                game = await self.read(id)
            elif game["status"] == "FINISHED":
                return
            else:
                game = await self.step(game)

    async def sit_at_tickle(self, id: str) -> None:
        """Play Tickle until the game is over, or the load stops."""
        while not self.stopping:
            game = await self.read(id)
            if game is None:
                continue
            if game["status"] == "FINISHED":
                return
            open_to_me = {action["mutation"] for action in game["legalActions"]} - ENDS
            if "layTickleCards" in open_to_me:
                await self._lay(game)
            elif open_to_me:
                await self.send(min(open_to_me), game, expected=game["version"])
            else:
                await asyncio.sleep(PAUSE)  # it is the other's turn

    async def _lay(self, game: Shown) -> None:
        answer = await self._post(LAYDOWNS, {"id": game["id"]})
        found = [] if isinstance(answer, Unknown) else answer["game"]["laydowns"]["nodes"]
        if found:
            cards = [{"x": at["x"], "y": at["y"], "card": at["card"]["name"]} for at in found[0]["cards"]]
            await self.send("layTickleCards", game, expected=game["version"], cards=cards)


# Who plays


async def _solitary(client: Client) -> None:
    while not client.stopping:
        game = await client.open("openTicitaire", takeBack=True, **client.mix.opening)
        if game is not None:
            await client.sit(game["id"], moves=client.mix.length)
            if not client.stopping:
                await client.send("giveUpTicitaire", game, expected=None)


async def _contested(clients: Sequence[Client]) -> None:
    first = clients[0]
    while not first.stopping:
        game = await first.open("openTicitaire", takeBack=True, **first.mix.opening)
        if game is not None:
            await asyncio.gather(*(client.sit(game["id"]) for client in clients))


async def _pair(host: Client, guest: Client) -> None:
    while not host.stopping:
        game = await host.open("openTickle", seats=2, startWhenFull=True)
        if game is None:
            continue
        joined = await guest.send("joinGame", game, expected=None)
        if isinstance(joined, Acknowledged):
            await asyncio.gather(host.sit_at_tickle(game["id"]), guest.sit_at_tickle(game["id"]))


@asynccontextmanager
async def loaded(addresses: Sequence[str], *, seed: int, mix: Mix | None = None) -> AsyncIterator[Load]:
    """Run a load until the block ends; then everybody finishes what he is at, and looks at the servers once more."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=ANSWER, trust_env=False) as http:
        load = Load(addresses, http, seed=seed, mix=mix or Mix())
        async with asyncio.TaskGroup() as group:
            await load.play(group)
            try:
                yield load
            finally:
                load.stopping = True
        await load.look()
