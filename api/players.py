"""Players, tokens, and the caller."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Self, TypeVar, cast
from uuid import UUID

import strawberry

from api import accounts
from api.accounts import Accounts, IssuedToken, Scope, TooManyTokens, display_name, token_id
from api.context import Info
from api.errors import InvalidInputError, invalid_input
from api.faults import NotFound, Unauthenticated
from api.ids import read_id, write_id
from api.kinds import GameKind, Scoreboard, ScoreboardPeriod
from api.nodes import After, First, Node
from api.shortcuts import AT_HAND
from api.statistics import (
    HeadToHead,
    Rating,
    RatingChangeConnection,
    Statistics,
    list_rating_changes,
    show_head_to_head,
    show_rating,
)

if TYPE_CHECKING:
    from api.results import PlayedGameConnection
    from api.scoreboards import Standing

__all__ = ["Player", "PlayersMutation", "Token", "must_find_player", "player", "players_shown"]

T = TypeVar("T")

LONGEST_NAME: Final = 50

strawberry.enum(
    Scope,
    description="What a token is good for: PLAY to open and play games, ORGANISE to run tournaments, AUDIT to read "
    "what is under embargo; the last two are without effect in this version. A new player has PLAY; an operator grants "
    "the others.",
)


class _Unread:
    """Stands for an account that was not looked up yet."""


_UNREAD: Final = _Unread()

KindOfGame = Annotated[GameKind, strawberry.argument(description="Of games of this kind.")]


def _name(known: accounts.Player | None) -> str | None:
    return known.name if known else None


def _registered_at(known: accounts.Player | None) -> datetime | None:
    return known.registered_at if known else None


@strawberry.type(description="A player. Those who erased their account keep only the random id, and what they played.")
class Player(Node):
    """A player."""

    uuid: UUID = strawberry.field(description="The random id by which the log of every game knows the player.")
    known: strawberry.Private[accounts.Player | _Unread | None] = _UNREAD
    """The account; None for a player without one."""

    @strawberry.field(
        description="The name, or null for a player who erased it.",
        metadata={AT_HAND: lambda player: player.now(_name)},
    )
    def name(self, info: Info) -> str | None:
        """Tell the name."""
        return self._told(info, _name)

    @strawberry.field(
        description="What to call the player: the name or, for one who erased it, a pseudonym that always stays the "
        "same, such as `Erased player 3f9a2c`. Never empty.",
        metadata={AT_HAND: lambda player: player.now(partial(display_name, player.uuid))},
    )
    def display_name(self, info: Info) -> str:
        """Tell the name or the pseudonym."""
        return self._told(info, partial(display_name, self.uuid))

    @strawberry.field(
        description="When the player registered, or null for one who erased the account.",
        metadata={AT_HAND: lambda player: player.now(_registered_at)},
    )
    def registered_at(self, info: Info) -> datetime | None:
        """Tell when the player registered."""
        return self._told(info, _registered_at)

    @strawberry.field(
        description="What is counted of the player in the games of a kind; take the fields from the kind's own type."
    )
    async def statistics(self, info: Info, kind: KindOfGame) -> Statistics:
        """Return what is counted."""
        counts = await info.context.statistics.load(self.uuid)
        shown: Statistics = info.context.world.kinds[kind.value].statistics(counts.get(kind.value, {}))
        return shown

    @strawberry.field(
        description="The player's ratings, one for each kind for several of which a game was rated; before the first "
        "one there is none, and the player counts as a newcomer."
    )
    async def ratings(self, info: Info) -> list[Rating]:
        """Return the ratings."""
        return [show_rating(one) for one in await info.context.ratings.load(self.uuid)]

    @strawberry.field(
        description="What each game made of the player's rating in a kind, the newest first: every rating can be "
        "traced from the first game on."
    )
    async def rating_changes(
        self, info: Info, kind: KindOfGame, first: First = 20, after: After = None
    ) -> RatingChangeConnection:
        """List the changes."""
        return await list_rating_changes(info, self.uuid, kind.value, first=first, after=after)

    @strawberry.field(
        description="The player's finished games, those that finished last at the top, with what became of the player "
        "in them. Games under way are in the list `games`."
    )
    async def history(
        self,
        info: Info,
        first: First = 20,
        after: After = None,
        kind: Annotated[GameKind | None, strawberry.argument(description="Only games of this kind.")] = None,
        label: Annotated[str | None, strawberry.argument(description="Only games that bear this label.")] = None,
        opponent_id: Annotated[
            strawberry.ID | None, strawberry.argument(description="Only games in which this player took part as well.")
        ] = None,
    ) -> Annotated[PlayedGameConnection, strawberry.lazy("api.results")]:
        """List finished games."""
        from api.results import list_played  # noqa: PLC0415 - games show players, and players games

        opponent = None if opponent_id is None else (await must_find_player(info, opponent_id)).uuid
        wanted = kind.value if kind else None
        return await list_played(info, self.uuid, first=first, after=after, kind=wanted, label=label, opponent=opponent)

    @strawberry.field(
        description="How the player stands against another, for each kind of which both played a game that counts."
    )
    async def head_to_head(
        self, info: Info, opponent_id: Annotated[strawberry.ID, strawberry.argument(description="The other player.")]
    ) -> list[HeadToHead]:
        """Compare with another player."""
        opponent, world = (await must_find_player(info, opponent_id)).uuid, info.context.world
        return show_head_to_head(
            await world.blocking(lambda: world.standings.statistics.head_to_head(self.uuid, opponent))
        )

    @strawberry.field(
        description="The player's line on a scoreboard, with those around it; null where the player has none. The "
        "arguments are those of Query.scoreboard."
    )
    async def standing(
        self,
        info: Info,
        board: Annotated[Scoreboard, strawberry.argument(description="What the scoreboard is by.")],
        period: Annotated[
            ScoreboardPeriod, strawberry.argument(description="Which games it is of.")
        ] = ScoreboardPeriod.ALL_TIME,
        of: Annotated[str | None, strawberry.argument(description="Which month or week: 2026-11 or 2026-W48.")] = None,
        label: Annotated[str | None, strawberry.argument(description="Of the games that bear this label.")] = None,
        neighbours: Annotated[
            int, strawberry.argument(description="How many lines above and below at most, 0..10.")
        ] = 3,
    ) -> Annotated[Standing, strawberry.lazy("api.scoreboards")] | None:
        """Find the player's line."""
        from api.scoreboards import find_scoreboard  # noqa: PLC0415 - scoreboards show players, and players a line

        scoreboard = await find_scoreboard(info, board.value, period, of=of, label=label)
        return await scoreboard.line_of(info, self.uuid, neighbours)

    def _told(self, info: Info, tell: Callable[[accounts.Player | None], T]) -> T:
        """Tell something of the account: at once where it is known, else in a moment, together with others."""
        if isinstance(self.known, _Unread):
            return cast("T", self._told_later(info, tell))  # who asked waits for it
        return tell(self.known)

    def now(self, tell: Callable[[accounts.Player | None], T]) -> T:
        """Tell something of the account where it is known.

        Raises:
            LookupError: it was not looked up.
        """
        if isinstance(self.known, _Unread):
            raise LookupError(f"the account of {self.uuid} was not looked up")  # noqa: TRY004 - no type is wrong
        return tell(self.known)

    async def _told_later(self, info: Info, tell: Callable[[accounts.Player | None], T]) -> T:
        return tell(await info.context.players.load(self.uuid))


def player(uuid: UUID, known: accounts.Player | _Unread | None = _UNREAD) -> Player:
    """Show a player, whose account is looked up when it is asked for unless it is ``known``; None for no account."""
    return Player(id=strawberry.ID(write_id("player", uuid)), uuid=uuid, known=known)


def players_shown(accounts: Accounts, uuids: Collection[UUID]) -> dict[UUID, Player]:
    """Show players by their UUIDs, those without an account too, whose names are read at once; it blocks."""
    found = accounts.players(uuids)
    return {uuid: player(uuid, found.get(uuid)) for uuid in uuids}


async def must_find_player(info: Info, id: str) -> Player:
    """Return the player of an id: with an account, or erased and known by games.

    Raises:
        NotFound: there is no such player.
    """
    world = info.context.world
    try:
        uuid = read_id(id, "player")[1]
    except ValueError as error:
        raise NotFound(f"There is no such player: {error}. Take the id from the field `id` of a player.") from None
    known = await info.context.players.load(uuid)
    if known is None and not await world.blocking(lambda: world.lobby.games(player=uuid, first=1)):
        raise NotFound("There is no such player. Take the id from the field `id` of a player.")
    return player(uuid, known)


@strawberry.type(description="A token, after it was issued: the secret itself is not kept.")
class Token:
    """An issued token."""

    id: strawberry.ID = strawberry.field(description="Names the token, for revoking it.")
    scopes: list[Scope] = strawberry.field(description="What it is good for.")
    issued_at: datetime = strawberry.field(description="When it was issued.")
    current: bool = strawberry.field(description="Whether you are calling with it.")

    @classmethod
    def of(cls, token: IssuedToken, current: str) -> Self:
        """Show a token."""
        scopes = sorted(token.scopes, key=lambda scope: scope.value)
        return cls(id=strawberry.ID(token.id), scopes=scopes, issued_at=token.issued_at, current=token.id == current)


@strawberry.input(description="Who registers.")
class RegisterPlayerInput:
    """Who registers."""

    name: str = strawberry.field(
        description="The name others see: 1 to 50 printable characters. Spaces and line ends in a row count as one."
    )


@strawberry.type(description="The player is registered.")
class PlayerRegistered:
    """A new player."""

    player: Player = strawberry.field(description="The new player.")
    token: str = strawberry.field(
        description="Send it as `Authorization: Bearer <token>`. It is shown this once and never again: keep it."
    )


@strawberry.type(description="A token was issued.")
class TokenIssued:
    """A new token."""

    token: str = strawberry.field(description="Shown this once and never again: keep it.")
    token_id: strawberry.ID = strawberry.field(description="Names the token, for revoking it.")


@strawberry.input(description="Which token to revoke.")
class RevokeTokenInput:
    """Which token to revoke."""

    token_id: strawberry.ID | None = strawberry.field(
        default=None, description="The id of one of your tokens; left out, it is the one you are calling with."
    )


@strawberry.type(description="The token is revoked: connections that came with it are being closed.")
class TokenRevoked:
    """A revoked token."""

    token_id: strawberry.ID = strawberry.field(description="The token's id.")


@strawberry.input(description="What the new token is to be good for.")
class IssueTokenInput:
    """A new token."""

    scopes: list[Scope] | None = strawberry.field(
        default=None, description="Some of the scopes of the token you are calling with; left out, all of them."
    )


@strawberry.input(description="Whose account to erase.")
class ErasePlayerInput:
    """Whose account."""

    player_id: strawberry.ID = strawberry.field(
        description="Your own id, as viewer.player.id tells it: so that nobody erases an account by mistake."
    )


@strawberry.type(
    description="The account is erased, with its name and all its tokens: connections that came with them are being "
    "closed."
)
class PlayerErased:
    """An erased player."""

    player: Player = strawberry.field(description="What is left: the random id, and what was played under it.")
    games_left: int = strawberry.field(
        description="How many games under way the player was taken out of: resigned, left or called off."
    )


ErasePlayerResult = Annotated[
    PlayerErased | InvalidInputError,
    strawberry.union("ErasePlayerResult", description="The outcome of erasePlayer."),
]
IssueTokenResult = Annotated[
    TokenIssued | InvalidInputError,
    strawberry.union("IssueTokenResult", description="The outcome of issueToken."),
]
RegisterPlayerResult = Annotated[
    PlayerRegistered | InvalidInputError,
    strawberry.union("RegisterPlayerResult", description="The outcome of registerPlayer."),
]
RevokeTokenResult = Annotated[
    TokenRevoked | InvalidInputError,
    strawberry.union("RevokeTokenResult", description="The outcome of revokeToken."),
]


@strawberry.type
class PlayersMutation:
    """Accounts and tokens."""

    @strawberry.mutation(description="Register a player; needs no token and takes no idempotency key.")
    async def register_player(
        self, info: Info, input: Annotated[RegisterPlayerInput, strawberry.argument(description="Who registers.")]
    ) -> RegisterPlayerResult:
        """Make an account."""
        world, name = info.context.world, " ".join(input.name.split())
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            return invalid_input(f"A name has 1 to {LONGEST_NAME} printable characters.", "name")
        registered, token = await world.writing(lambda: world.accounts.register(name))
        return PlayerRegistered(player=player(registered.id, registered), token=token)

    @strawberry.mutation(
        description="Issue one more token of yours, for another device, good for what yours is or less."
    )
    async def issue_token(
        self, info: Info, input: Annotated[IssueTokenInput, strawberry.argument(description="What it is good for.")]
    ) -> IssueTokenResult:
        """Give the caller another token, with no scope that his own lacks."""
        caller, world = info.context.must_be_known(), info.context.world
        scopes = caller.scopes if input.scopes is None else frozenset(input.scopes)
        if not scopes or not scopes <= caller.scopes:
            return invalid_input("Name scopes that your own token has; an operator grants others.", "scopes")
        try:
            token = await world.writing(lambda: world.accounts.issue(caller.player, scopes))
        except TooManyTokens as error:
            return invalid_input(f"No more tokens: {error}.")
        except LookupError:
            raise Unauthenticated("The account of this token was erased.") from None
        return TokenIssued(token=token, token_id=strawberry.ID(token_id(token)))

    @strawberry.mutation(description="Revoke a token of yours, at once and everywhere.")
    async def revoke_token(
        self, info: Info, input: Annotated[RevokeTokenInput, strawberry.argument(description="Which token.")]
    ) -> RevokeTokenResult:
        """Revoke one of the caller's tokens."""
        caller = info.context.must_be_known()
        world, wanted = info.context.world, input.token_id or caller.token_id
        if not await world.writing(lambda: world.accounts.revoke(wanted, player=caller.player)):
            return invalid_input("You have no such token; viewer.tokens lists yours.", "tokenId")
        return TokenRevoked(token_id=strawberry.ID(wanted))

    @strawberry.mutation(
        description="Erase your account, for good: your name and all your tokens, everywhere and at once. Before that "
        "you are taken out of every game under way: tables that you host are called off, others left, and games "
        "resigned (ruling G1). The games stay whole: in them, and on scoreboards, you are known by the random id and a "
        "pseudonym. It can't be undone."
    )
    async def erase_player(
        self, info: Info, input: Annotated[ErasePlayerInput, strawberry.argument(description="Whose account.")]
    ) -> ErasePlayerResult:
        """Erase the caller's account."""
        me, world = info.context.must_have(Scope.PLAY).player, info.context.world
        if input.player_id != write_id("player", me):
            return invalid_input("This is not your own id: viewer.player.id tells it.", "playerId")
        left = await world.erase(me)
        return PlayerErased(player=player(me, None), games_left=left)
