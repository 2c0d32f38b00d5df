"""The schema: what every game has, and each kind's own, merged."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from datetime import datetime
from functools import partial
from importlib.metadata import version
from operator import attrgetter
from typing import Annotated, Any, Final, TypeVar, cast
from uuid import UUID

import strawberry
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

from api import poker, ticitaire, tickle
from api.accounts import Scope
from api.context import Context, Info
from api.facts import LIFECYCLE_TYPES, FactPresenters, GameEvent
from api.faults import BadUserInput, NotFound
from api.games import EFFORTS, USUAL_LENGTHS, Game, GameKind, Kind, PlainAction, show
from api.ids import read_id
from api.limits import Limits
from api.lobby import After, First, GameConnection, GameFilter, list_games
from api.nodes import Node
from api.players import Player, PlayersMutation, Token, player
from api.replays import REPLAY_EFFORTS, REPLAY_LENGTHS, ReplaysQuery
from api.sharing import Edition, Feed, Offer
from api.tables import TablesMutation
from api.transparency import LOG_EFFORTS, LOG_LENGTHS, LogQuery
from domain.application import GameNotFound
from domain.dealing import ALGORITHM
from domain.events import Event
from domain.game import Game as Record
from domain.games import RULESETS

__all__ = ["KINDS", "LIMITS", "PUBLIC", "build_schema", "schema"]

T = TypeVar("T")

_KINDS: Final = (ticitaire.KIND, tickle.KIND, poker.KIND)
KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in _KINDS}
LIMITS: Final = Limits(
    usual_lengths=dict(
        ChainMap(USUAL_LENGTHS, REPLAY_LENGTHS, LOG_LENGTHS, *(dict(kind.usual_lengths) for kind in _KINDS))
    ),
    efforts=dict(ChainMap(EFFORTS, REPLAY_EFFORTS, LOG_EFFORTS, *(dict(kind.efforts) for kind in _KINDS))),
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
    ) -> GameConnection:
        """List the caller's games."""
        mine = info.context.must_be_known().player
        return await list_games(info, wanted=filter, first=first, after=after, player=mine)


GameId = Annotated[strawberry.ID, strawberry.argument(description="The game's id.")]


@strawberry.type(description="What can be asked.")
class Query(LogQuery, ReplaysQuery):
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
            kind, uuid = read_id(id)
        except ValueError:
            return None
        if kind == "game":
            return await _find_game(info, id)
        known = await info.context.players.load(uuid) if kind == "player" else None
        return player(uuid, known) if known else None

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


@strawberry.type(description="What can be followed as it happens.")
class Subscription:
    """The subscriptions."""

    @strawberry.subscription(
        description="The events of a game after a number: those of the past, then each as it happens, contiguous and "
        "complete. Ends when the game's record is closed. If you are cut off, subscribe again with the last seq."
    )
    async def game_events(
        self,
        info: Info,
        game_id: GameId,
        after_seq: Annotated[int, strawberry.argument(description="The last number you have; 0 for all.")] = 0,
    ) -> AsyncGenerator[GameEvent, None]:
        """Follow a game's events."""
        record = await _must_find(info, game_id)
        if not 0 <= after_seq <= record.version:
            raise BadUserInput(f"The game has {record.version} events: afterSeq is 0 to {record.version}.")
        live = info.context.world.live
        is_told = record.table.closed and after_seq == record.version
        return _feed(
            info.context,
            _nothing if is_told else partial(live.events, record.id, after_seq),
            key=attrgetter("data"),
            show=partial(_shown, info.context.world.facts),
        )

    @strawberry.subscription(
        description="The game as you may see it, now and after each change; if changes come faster than you read, you "
        "get the newest. Ends when the game's record is closed."
    )
    async def game_changed(self, info: Info, game_id: GameId) -> AsyncGenerator[Game, None]:
        """Follow a game's state."""
        record = await _must_find(info, game_id)
        return _feed(
            info.context,
            partial(info.context.world.live.versions, record.id),
            key=attrgetter("head"),
            show=partial(show, info),
        )


PUBLIC: Final = frozenset(
    {
        "Subscription.gameEvents",
        *(f"GameEvent.{field}" for field in ("seq", "at", "player", "part", "parts", "type", "fact")),
        *(f"GameEvent.{field}" for field in ("bytes", "hash", "previousHash")),
        *(f"Player.{field}" for field in ("name", "registeredAt")),
    }
)
"""The fields below a subscription that are computed, and show the same to everyone who is told the event.

A fact itself is made of what is stored and nothing else, without knowing for whom: what it holds needs no mention here.
Whoever selects anything else shares with nobody but himself, as of a game, which is always one viewer's."""


def _feed(
    context: Context,
    follow: Callable[[Edition[T] | None, Offer | None], AsyncGenerator[Sequence[T], None]],
    *,
    key: Callable[[T], Hashable],
    show: Callable[[T], object],
) -> AsyncGenerator[Any, None]:
    """Return a subscription's source that encodes once what several callers are told."""
    viewer = (context.caller.player, context.caller.scopes) if context.caller else None
    again = partial(Context, context.world, context.caller, context.request_id)
    feed = Feed(follow, key=key, viewer=viewer, show=show, context=again)
    return cast("AsyncGenerator[Any, None]", feed)  # as Strawberry wants it annotated


def _shown(facts: FactPresenters, one: Event) -> GameEvent:
    return GameEvent(event=one, presenters=facts)


async def _nothing(_edition: object, _offer: object) -> AsyncGenerator[Sequence[Event], None]:
    """Yield nothing."""
    empty: tuple[Sequence[Event], ...] = ()
    for batch in empty:
        yield batch


async def _find_game(info: Info, id: str) -> Game | None:
    try:
        return show(info, await _must_find(info, id))
    except NotFound:
        return None


async def _must_find(info: Info, id: str) -> Record:
    games = info.context.world.games
    try:
        uuid = read_id(id, "game")[1]
        return await info.context.world.blocking(lambda: games.game(uuid))
    except (ValueError, GameNotFound):
        raise NotFound("There is no such game. Take the id from the field `id` of a game.") from None


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
    return strawberry.Schema(
        query=Query,
        mutation=strawberry.type(type("Mutation", mutations, {}), description="What can be done."),
        subscription=Subscription,
        types=[*LIFECYCLE_TYPES, PlainAction, *(type_ for kind in _KINDS for type_ in kind.types)],
        config=StrawberryConfig(scalar_map=_SCALARS),
    )


schema: Final = build_schema()
