"""What can be followed as it happens, and what of it is the same for everyone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final, TypeVar, cast

import strawberry

from api.boards import (
    GameScoreboard,
    LobbyChange,
    LobbyFilter,
    ViewerGameChange,
    show_board,
    show_change,
    show_news,
    wanted_by,
)
from api.context import Context, Info
from api.facts import FactPresenters, GameEvent
from api.faults import BadUserInput, NotFound
from api.games import Game, show
from api.ids import read_id
from api.sharing import Edition, Feed, Offer
from api.watching import tallies_of
from domain.application import GameNotFound
from domain.events import Event
from domain.game import Game as Record

__all__ = ["PUBLIC", "GameId", "Subscription", "must_find"]

T = TypeVar("T")

GameId = Annotated[strawberry.ID, strawberry.argument(description="The game's id.")]


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
        record = await must_find(info, game_id)
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
        record = await must_find(info, game_id)
        return _feed(
            info.context,
            partial(info.context.world.live.versions, record.id),
            key=attrgetter("head"),
            show=partial(show, info),
        )

    @strawberry.subscription(
        description="The scoreboard of a game, now and whenever it shows something else: a score, a place, whose turn "
        "it is, the status, who is at the table. If changes come faster than you read, you get the newest. Ends when "
        "the game's record is closed."
    )
    async def scoreboard_changed(self, info: Info, game_id: GameId) -> AsyncGenerator[GameScoreboard, None]:
        """Follow how a game stands."""
        record, world = await must_find(info, game_id), info.context.world
        return _feed(
            info.context,
            partial(tallies_of, world.live, world.tallies, record.id),
            key=attrgetter("head"),
            show=show_board,
        )

    @strawberry.subscription(
        description="The scoreboards of all games that are open or being played: at first those that are there, then "
        "each that is opened or changes, until its end; one that opens and ends between two messages is not told. You "
        "get at most some four messages a second, each with all games that changed meanwhile. If you are cut off, "
        "subscribe again: you are told the lobby anew."
    )
    async def lobby_changed(
        self,
        info: Info,
        filter: Annotated[LobbyFilter | None, strawberry.argument(description="Which games.")] = None,
    ) -> AsyncGenerator[LobbyChange, None]:
        """Follow the lobby."""
        return _feed(
            info.context,
            partial(info.context.world.lobby_watch.follow, wanted_by(filter)),
            key=attrgetter("key"),
            show=show_news,
        )

    @strawberry.subscription(
        description="All your games: at once each that is not over, then each whenever it has changed, also those that "
        "you open, join or play again later, here or on another connection. If a game changes faster than you read, "
        "you get its newest state. Of a game that ends, or that you leave, the last state is told, and then no more. "
        "A bot does this: receive; if `awaitingYou`, choose one of `game.legalActions` and send that mutation "
        "with `version` as `expectedVersion`, for a conflict tells only that a newer state is on its way; receive "
        "again. Before the deal a game waits for nobody: start your own table when it has players enough, or open it "
        "with `startWhenFull`; a rematch is told once you have joined it. If you are cut off, subscribe again: you are "
        "told all your games anew. Needs a token, and ends when that is revoked."
    )
    async def viewer_game_changed(self, info: Info) -> AsyncGenerator[ViewerGameChange, None]:
        """Follow the caller's games."""
        mine = info.context.must_be_known().player
        return _feed(
            info.context,
            partial(info.context.world.player_watch.follow, mine),
            key=attrgetter("head"),
            show=partial(show_change, info),
        )


PUBLIC: Final = frozenset(
    {
        "Subscription.gameEvents",
        "Subscription.scoreboardChanged",
        "Subscription.lobbyChanged",
        *(f"GameEvent.{field}" for field in ("seq", "at", "player", "part", "parts", "type", "fact")),
        *(f"GameEvent.{field}" for field in ("bytes", "hash", "previousHash")),
        *(f"Player.{field}" for field in ("name", "displayName", "registeredAt")),
    }
)
"""The fields below a subscription that are computed, and show the same to everyone who is told the item.

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


async def must_find(info: Info, id: str) -> Record:
    """Return the game that an id of the input stands for.

    Raises:
        NotFound: there is none.
    """
    games = info.context.world.games
    try:
        uuid = read_id(id, "game")[1]
        return await info.context.world.blocking(lambda: games.game(uuid))
    except (ValueError, GameNotFound):
        raise NotFound("There is no such game. Take the id from the field `id` of a game.") from None
