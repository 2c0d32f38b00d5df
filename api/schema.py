"""The schema: what every game has, and each kind's own, merged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from typing import Annotated, Final
from uuid import UUID

import strawberry
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

from api import poker, ticitaire, tickle
from api.accounts import Scope
from api.boards import BOARD_LENGTHS
from api.context import Info
from api.documents import Documents
from api.facts import LIFECYCLE_TYPES
from api.faults import NotFound
from api.games import EFFORTS, USUAL_LENGTHS, Game, GameKind, Kind, PlainAction, show
from api.ids import read_id
from api.limits import Limits
from api.lobby import After, First, GameConnection, GameFilter, list_games
from api.nodes import Node
from api.players import Player, PlayersMutation, Token, must_find_player, player
from api.replays import REPLAY_EFFORTS, REPLAY_LENGTHS, ReplaysQuery
from api.results import RESULTS_EFFORTS, RESULTS_LENGTHS, ResultsQuery
from api.scoreboards import SCOREBOARD_EFFORTS, SCOREBOARD_LENGTHS, ScoreboardsQuery
from api.shortcuts import ShortExecutor, shortened
from api.statistics import STATISTICS_EFFORTS, STATISTICS_LENGTHS
from api.subscriptions import PUBLIC, GameId, Subscription, must_find
from api.tables import TablesMutation
from api.transparency import LOG_EFFORTS, LOG_LENGTHS, LogQuery
from domain.dealing import ALGORITHM
from domain.games import RULESETS

__all__ = ["DOCUMENTS", "KINDS", "LIMITS", "build_schema", "schema"]

_KINDS: Final = (ticitaire.KIND, tickle.KIND, poker.KIND)
KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in _KINDS}


def _together(*tables: Mapping[str, int]) -> dict[str, int]:
    return {field: number for table in tables for field, number in table.items()}


LIMITS: Final = Limits(
    usual_lengths=_together(
        *(USUAL_LENGTHS, BOARD_LENGTHS, REPLAY_LENGTHS, RESULTS_LENGTHS, SCOREBOARD_LENGTHS, STATISTICS_LENGTHS),
        LOG_LENGTHS,
        *(kind.usual_lengths for kind in _KINDS),
    ),
    efforts=_together(
        *(EFFORTS, REPLAY_EFFORTS, RESULTS_EFFORTS, SCOREBOARD_EFFORTS, STATISTICS_EFFORTS, LOG_EFFORTS),
        *(kind.efforts for kind in _KINDS),
    ),
)
"""What one request may ask for."""


@strawberry.type(description="The rules under which new games of a kind are opened.")
class Ruleset:
    """A kind and the number of its rulings."""

    kind: GameKind = strawberry.field(description="The kind.")
    number: int = strawberry.field(description="The numbered set of rulings, as in docs/rules.md.")


@strawberry.type(description="What this server is.")
class ServerInfo:
    """The server."""

    time: datetime = strawberry.field(description="The time by which events and deadlines are told.")
    version: str = strawberry.field(description="The program's version.")
    rulesets: list[Ruleset] = strawberry.field(description="What can be played, and under which rules.")
    dealing: str = strawberry.field(description="The published algorithm by which decks are dealt.")


@strawberry.type(description="You.")
class Viewer:
    """The caller."""

    player: Player = strawberry.field(description="Your account.")
    scopes: list[Scope] = strawberry.field(description="What your token is good for.")

    @strawberry.field(description="Your valid tokens, the newest first.")
    async def tokens(self, info: Info) -> list[Token]:
        """Return the caller's tokens."""
        caller, world = info.context.must_be_known(), info.context.world
        issued = await world.blocking(lambda: world.accounts.tokens(caller.player))
        return [Token.of(token, caller.token_id) for token in issued]

    @strawberry.field(description="The games at whose tables you are, the newest first.")
    async def games(
        self,
        info: Info,
        filter: Annotated[GameFilter | None, strawberry.argument(description="Which of them.")] = None,
        first: First = 20,
        after: After = None,
        awaiting_me: Annotated[
            bool,
            strawberry.argument(
                description="Only those that wait for you now. The list follows the games within moments: `awaits` "
                "and `entropyDue` of a game are of the moment."
            ),
        ] = False,
    ) -> GameConnection:
        """List the caller's games."""
        mine = info.context.must_be_known().player
        return await list_games(info, wanted=filter, first=first, after=after, player=mine, awaited=awaiting_me)


@strawberry.type(description="What can be asked.")
class Query(ReplaysQuery, ScoreboardsQuery, ResultsQuery, LogQuery):
    """The queries."""

    @strawberry.field(description="What this server is and plays.")
    async def server_info(self, info: Info) -> ServerInfo:
        """Describe the server."""
        rulesets = [Ruleset(kind=GameKind(kind), number=number) for kind, number in RULESETS.items()]
        time = await info.context.world.blocking(info.context.world.games.now)
        return ServerInfo(time=time, version=version("tic-server"), rulesets=rulesets, dealing=ALGORITHM)

    @strawberry.field(description="You; null if you came without a token.")
    def viewer(self, info: Info) -> Viewer | None:
        """Return the caller."""
        caller = info.context.caller
        if caller is None:
            return None
        scopes = sorted(caller.scopes, key=lambda scope: scope.value)
        return Viewer(player=player(caller.player), scopes=scopes)

    @strawberry.field(description="Whatever has this id: a game or a player; null if nothing has.")
    async def node(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> Node | None:
        """Find a node."""
        try:
            kind, _ = read_id(id)
        except ValueError:
            return None
        if kind == "game":
            return await _find_game(info, id)
        try:
            return await must_find_player(info, id)
        except NotFound:
            return None

    @strawberry.field(
        description="A player, with what the player has come to; NOT_FOUND where there is none with this id. Also one "
        "who erased the account is found, as long as there are games of that player."
    )
    async def player(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The player's id.")]
    ) -> Player | None:
        """Find a player."""
        return await must_find_player(info, id)

    @strawberry.field(description="A game, as you may see it; null if there is none with this id.")
    async def game(self, info: Info, id: GameId) -> Game | None:
        """Find a game."""
        return await _find_game(info, id)

    @strawberry.field(description="The list of games, the newest first.")
    async def games(
        self,
        info: Info,
        filter: Annotated[GameFilter | None, strawberry.argument(description="Which games.")] = None,
        first: First = 20,
        after: After = None,
    ) -> GameConnection:
        """List games."""
        return await list_games(info, wanted=filter, first=first, after=after)


async def _find_game(info: Info, id: str) -> Game | None:
    try:
        return show(info, await must_find(info, id))
    except NotFound:
        return None


_SCALARS: Final[dict[object, ScalarDefinition]] = {
    UUID: strawberry.scalar(
        name="UUID", serialize=str, parse_value=UUID, description="A UUID: 36 characters, as RFC 9562 writes it."
    ),
    datetime: strawberry.scalar(
        name="DateTime",
        serialize=datetime.isoformat,
        parse_value=datetime.fromisoformat,
        description="A time in UTC, as ISO 8601 writes it.",
    ),
}
"""The scalars beside GraphQL's own. None of them is ever an input."""


def build_schema(*more_mutations: type) -> strawberry.Schema:
    """Return the schema; ``more_mutations`` are merged in, for measuring."""
    mutations = (PlayersMutation, TablesMutation, *(kind.mutation for kind in _KINDS), *more_mutations)
    return shortened(
        strawberry.Schema(
            query=Query,
            mutation=strawberry.type(type("Mutation", mutations, {}), description="What can be done."),
            subscription=Subscription,
            types=[*LIFECYCLE_TYPES, PlainAction, *(type_ for kind in _KINDS for type_ in kind.types)],
            execution_context_class=ShortExecutor,
            config=StrawberryConfig(scalar_map=_SCALARS),
        )
    )


schema: Final = build_schema()

DOCUMENTS: Final = Documents(schema._schema, LIMITS, public=PUBLIC)  # noqa: SLF001 - there is no public way to it
"""The documents that this process has examined, whichever of its servers was sent them."""
