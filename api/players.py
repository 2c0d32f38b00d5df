"""Players, tokens, and the caller."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Self
from uuid import UUID

import strawberry

from api import accounts
from api.accounts import IssuedToken, Scope, TooManyTokens, token_id
from api.context import Info
from api.errors import InvalidInputError, invalid_input
from api.faults import Unauthenticated
from api.ids import write_id
from api.nodes import Node

__all__ = ["Player", "PlayersMutation", "Token", "player"]

LONGEST_NAME: Final = 50

strawberry.enum(
    Scope,
    description="What a token is good for: PLAY to open and play games, ORGANISE to run tournaments, AUDIT to read "
    "what is under embargo; the last two are without effect in this version. A new player has PLAY; an operator grants "
    "the others.",
)


@strawberry.type(description="A player's account.")
class Player(Node):
    """A player. Those who erased themselves keep only the id."""

    uuid: UUID = strawberry.field(description="The random id by which the log of every game knows the player.")
    known: strawberry.Private[accounts.Player | None] = None

    @strawberry.field(description="The name, or null for a player who erased it.")
    async def name(self, info: Info) -> str | None:
        """Look the name up, together with others."""
        known = self.known or await info.context.players.load(self.uuid)
        return known.name if known else None

    @strawberry.field(description="When the player registered, or null for one who erased the account.")
    async def registered_at(self, info: Info) -> datetime | None:
        """Look the account up, together with others."""
        known = self.known or await info.context.players.load(self.uuid)
        return known.registered_at if known else None


def player(uuid: UUID, known: accounts.Player | None = None) -> Player:
    """Show a player."""
    return Player(id=strawberry.ID(write_id("player", uuid)), uuid=uuid, known=known)


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
        registered, token = await world.blocking(lambda: world.accounts.register(name))
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
            token = await world.blocking(lambda: world.accounts.issue(caller.player, scopes))
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
        if not await world.blocking(lambda: world.accounts.revoke(wanted, player=caller.player)):
            return invalid_input("You have no such token; viewer.tokens lists yours.", "tokenId")
        return TokenRevoked(token_id=strawberry.ID(wanted))
