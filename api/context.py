"""Who is calling, and what a resolver may reach."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias, TypeVar
from uuid import UUID

import strawberry
from strawberry.dataloader import DataLoader

from api.accounts import Accounts, Caller, Player, Scope
from api.arrivals import Arrivals
from api.attending import PlayerWatch
from api.erasing import Erasure
from api.faults import Forbidden, Unauthenticated
from api.live import Live, patiently
from api.proving import Prover
from api.seams import Seams
from api.tallies import Tallies
from api.watching import LobbyWatch
from domain.application import Games
from domain.counting import Counts
from domain.game import Game
from domain.gathering import Told
from domain.rematches import Rematches
from domain.storage import Datastore
from projections.lobby import LobbyQueries
from projections.players import PlayerQueries
from projections.ratings import Rating, RatingQueries
from projections.results import ResultQueries
from projections.scoreboards import ScoreboardQueries

if TYPE_CHECKING:
    from api.games import Kind

__all__ = ["ERASERS", "WRITERS", "Context", "Info", "Standings", "World"]

WRITERS: Final = 2
"""Threads for what changes accounts."""
ERASERS: Final = 1
"""Threads for erasing players, each of whom may have many games to be taken out of."""

K = TypeVar("K")
T = TypeVar("T")


class _Loader(DataLoader[K, T]):
    """Asks for together what several fields ask for; where one of them is called off, the others are told all the same.

    A field is called off where another one, beside it or above, may not be null and has failed.
    """

    def load(self, key: K) -> Awaitable[T]:
        """Return what a key stands for, as soon as it is known."""
        return asyncio.shield(super().load(key))


@dataclass(frozen=True, slots=True)
class Standings:
    """What is made of finished games."""

    results: ResultQueries
    scoreboards: ScoreboardQueries
    ratings: RatingQueries
    statistics: PlayerQueries

    @classmethod
    def on(cls, datastore: Datastore) -> Self:
        """Return what can be asked of the read model in a database."""
        return cls(
            ResultQueries(datastore), ScoreboardQueries(datastore), RatingQueries(datastore), PlayerQueries(datastore)
        )


class World:
    """What the resolvers of one server process share."""

    def __init__(  # noqa: PLR0913 - what a server consists of
        self,
        *,
        games: Games,
        accounts: Accounts,
        erasure: Erasure,
        lobby: LobbyQueries,
        standings: Standings,
        live: Live,
        seams: Seams,
        prover: Prover,
        receipt: Callable[[UUID, int, str], str | None],
        kinds: Mapping[str, Kind],
        threads: int,
    ) -> None:
        self.games: Final = games
        self.rematches: Final = Rematches(games)
        self.accounts: Final = accounts
        self.lobby: Final = lobby
        self.standings: Final = standings
        self.erasure: Final = erasure
        self.live: Final = live
        self.tallies: Final = Tallies()
        self.lobby_watch: Final = LobbyWatch(live, seams, self._patiently, self.tallies)
        self.player_watch: Final = PlayerWatch(live, seams, self._patiently)
        self.prover: Final = prover
        """Shows the log as a whole."""
        self.receipt: Final = receipt
        """Signs what is told after a command: game, version, hash; None where nothing is signed."""
        self.kinds: Final = kinds
        """How each kind of game is shown."""
        self.facts: Final = {fact: presenter for kind in kinds.values() for fact, presenter in kind.facts.items()}
        self.calls = 0
        """How many calls of ``blocking`` are under way, in threads or waiting for one."""
        self.threads: Final = threads
        """How many can be in threads at a time."""
        self._threads: Final = ThreadPoolExecutor(threads, thread_name_prefix="tic")
        self._writers: Final = ThreadPoolExecutor(WRITERS, thread_name_prefix="tic-accounts")
        self._erasers: Final = ThreadPoolExecutor(ERASERS, thread_name_prefix="tic-erasing")
        self._arrivals: Final = Arrivals()

    async def blocking(self, call: Callable[[], T]) -> T:
        """Run what waits for the database, or computes for long, off the event loop."""
        self.calls += 1
        try:
            return await _run(self._threads, call)
        finally:
            self.calls -= 1

    async def writing(self, call: Callable[[], T]) -> T:
        """Do what ``blocking`` does with what changes accounts.

        It ends when that is on the standby as well, where there is one: however long that is away, reads go on.
        """
        return await _run(self._writers, call)

    async def erase(self, player: UUID) -> int:
        """Erase a player, and return how many games were left; nobody but others who are erased waits for it."""
        _, left = await _run(self._erasers, lambda: self.erasure.erase(player))
        return left

    async def _patiently(self, call: Callable[[], T]) -> T:
        return await patiently(lambda: self.blocking(call))

    async def told(self, ask: Callable[[Told[T]], None]) -> T:
        """Return what is told, in another thread, to the function that ``ask`` is given; raise it if it is an error."""
        return await self._arrivals.told(ask)

    def close(self) -> None:
        """Wait for the calls under way."""
        self.games.close()
        for threads in (self._threads, self._writers, self._erasers):
            threads.shutdown(wait=True, cancel_futures=True)

    async def caller(self, token: str | None) -> Caller | None:
        """Return whom a token stands for; None where none came.

        Raises:
            Unauthenticated: the token is unknown or revoked.
        """
        if token is None:
            return None
        caller = self.accounts.remembered(token) or await self.blocking(lambda: self.accounts.authenticate(token))
        if caller is None:
            raise Unauthenticated("This token is unknown or was revoked. Register, or ask the operator for a new one.")
        return caller


async def _run(threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    # In the caller's context: what is logged there bears the id of his request.
    return await asyncio.get_running_loop().run_in_executor(threads, contextvars.copy_context().run, call)


@dataclass(slots=True)
class Context:
    """One operation of one caller."""

    world: World
    caller: Caller | None
    request_id: str
    _players: DataLoader[UUID, Player | None] | None = None
    _statistics: DataLoader[UUID, Mapping[str, Counts]] | None = None
    _ratings: DataLoader[UUID, list[Rating]] | None = None
    _records: dict[UUID, asyncio.Future[Game]] = field(default_factory=dict)

    # Made when they are needed: every open stream has a context.

    @property
    def players(self) -> DataLoader[UUID, Player | None]:
        """The accounts of players, asked for together."""
        if self._players is None:
            accounts = self.world.accounts
            self._players = self._together(lambda ids: [*map(accounts.players(ids).get, ids)])
        return self._players

    @property
    def statistics(self) -> DataLoader[UUID, Mapping[str, Counts]]:
        """What is counted of players, by kind, asked for together."""
        if self._statistics is None:
            statistics = self.world.standings.statistics
            self._statistics = self._together(lambda ids: [*map(statistics.of_players(ids).__getitem__, ids)])
        return self._statistics

    @property
    def ratings(self) -> DataLoader[UUID, list[Rating]]:
        """The ratings of players, asked for together."""
        if self._ratings is None:
            ratings = self.world.standings.ratings
            self._ratings = self._together(lambda ids: [*map(ratings.of_players(ids).__getitem__, ids)])
        return self._ratings

    def _together(self, read: Callable[[list[UUID]], list[T]]) -> DataLoader[UUID, T]:
        return _Loader(lambda ids: self.world.blocking(lambda: read(ids)))

    async def record(self, game_id: UUID, *, at_least: int) -> Game:
        """Return a game at some version from ``at_least`` on: read once for a whole page of its events.

        Raises:
            GameNotFound: there is no such game.
        """
        while True:
            reading = self._records.get(game_id)
            if fresh := reading is None:
                reading = asyncio.ensure_future(self.world.blocking(lambda: self.world.games.game(game_id)))
                self._records[game_id] = reading
            try:
                found = await asyncio.shield(reading)  # others wait for it too
            except Exception:
                self._forget(game_id, reading)
                raise
            if fresh or found.version >= at_least:
                return found
            self._forget(game_id, reading)  # the first of those who wait reads again, for all of them

    def _forget(self, game_id: UUID, reading: asyncio.Future[Game]) -> None:
        if self._records.get(game_id) is reading:
            del self._records[game_id]

    @property
    def player(self) -> UUID | None:
        """Who calls, if that is known."""
        return self.caller.player if self.caller else None

    def must_be_known(self) -> Caller:
        """Return the caller, who must have come with a token.

        Raises:
            Unauthenticated: no token came.
        """
        if self.caller is None:
            raise Unauthenticated("This needs a token: send `Authorization: Bearer <token>` as registerPlayer gave it.")
        return self.caller

    def must_have(self, scope: Scope) -> Caller:
        """Return the caller, who must have come with a token of that scope.

        Raises:
            Unauthenticated: no token came.
            Forbidden: the token lacks the scope.
        """
        caller = self.must_be_known()
        if scope not in caller.scopes:
            raise Forbidden(
                f"This needs a token with the scope `{scope.value}`; an operator grants one (tic token grant)."
            )
        return caller


Info: TypeAlias = strawberry.Info[Context, None]
