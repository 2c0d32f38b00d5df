"""Who is calling, and what a resolver may reach."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from uuid import UUID

import strawberry
from strawberry.dataloader import DataLoader

from api.accounts import Accounts, Caller, Player, Scope
from api.arrivals import Arrivals
from api.faults import Forbidden, Unauthenticated
from api.live import Live
from api.proving import Prover
from domain.application import Games
from domain.game import Game
from domain.gathering import Told
from domain.rematches import Rematches
from projections.lobby import LobbyQueries

if TYPE_CHECKING:
    from api.games import Kind

__all__ = ["Context", "Info", "World"]

T = TypeVar("T")


class World:
    """What the resolvers of one server process share."""

    def __init__(
        self,
        *,
        games: Games,
        accounts: Accounts,
        lobby: LobbyQueries,
        live: Live,
        prover: Prover,
        kinds: Mapping[str, Kind],
        threads: int,
    ) -> None:
        self.games: Final = games
        self.rematches: Final = Rematches(games)
        self.accounts: Final = accounts
        self.lobby: Final = lobby
        self.live: Final = live
        self.prover: Final = prover
        """Shows the log as a whole."""
        self.kinds: Final = kinds
        """How each kind of game is shown."""
        self.facts: Final = {fact: presenter for kind in kinds.values() for fact, presenter in kind.facts.items()}
        self._threads: Final = ThreadPoolExecutor(threads, thread_name_prefix="tic")
        self._arrivals: Final = Arrivals()

    async def blocking(self, call: Callable[[], T]) -> T:
        """Run what waits for the database, or computes for long, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def told(self, ask: Callable[[Told[T]], None]) -> T:
        """Return what is told, in another thread, to the function that ``ask`` is given; raise it if it is an error."""
        return await self._arrivals.told(ask)

    def close(self) -> None:
        """Wait for the calls under way."""
        self.games.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

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


@dataclass(slots=True)
class Context:
    """One operation of one caller."""

    world: World
    caller: Caller | None
    request_id: str
    _loader: DataLoader[UUID, Player | None] | None = None
    _records: dict[UUID, asyncio.Future[Game]] = field(default_factory=dict)

    @property
    def players(self) -> DataLoader[UUID, Player | None]:
        """The names of players, asked for together. Made when it is needed: every open stream has a context."""
        if self._loader is None:
            self._loader = DataLoader(self._players)
        return self._loader

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

    async def _players(self, ids: Collection[UUID]) -> list[Player | None]:
        found = await self.world.blocking(lambda: self.world.accounts.players(ids))
        return [found.get(id_) for id_ in ids]

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
