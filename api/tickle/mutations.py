"""The mutations of Tickle."""

from __future__ import annotations

from typing import Annotated

import strawberry

from api.accounts import Scope
from api.context import Info
from api.errors import InvalidInput, invalid_input
from api.games import CommandResult, MoveInput, play
from api.tables import OpenTableInput, open_table
from api.tickle.laydowns import LayCardInput, read_laydown
from domain.tickle import facts as f
from domain.tickle import rules

__all__ = ["TickleMutation"]


@strawberry.input(description="What a table of Tickle is opened with.")
class OpenTickleInput(OpenTableInput):
    """A new table."""

    seats: int = strawberry.field(default=6, description="How many players it takes at most, 2 to 6.")
    deck: f.DeckPart = strawberry.field(
        default=f.DeckPart.WHOLE, description="The short game with a part of the deck (ruling K15)."
    )
    target: int | None = strawberry.field(
        default=None, description="The short game to a score (ruling K16), 1 to 1,000; left out, there is none."
    )


@strawberry.input(description="Which cards go where.")
class LayTickleCardsInput(MoveInput):
    """A laydown."""

    cards: list[LayCardInput] = strawberry.field(description="1 to 6 cards of your hand, each with its cell.")


Input = strawberry.argument(description="The request.")

_WANTED = {
    "seats": "A table of Tickle takes 2 to 6 players.",
    "target": "A target is 1 to 1,000 points.",
    "turn_seconds": "Time for a turn is 5 to 2,592,000 seconds.",
}


@strawberry.type
class TickleMutation:
    """The mutations of Tickle."""

    @strawberry.mutation(
        description="Open a table of Tickle, and join it. Others come with joinGame; you deal with startGame."
    )
    async def open_tickle(self, info: Info, input: Annotated[OpenTickleInput, Input]) -> CommandResult:
        """Open a table."""
        return await open_table(
            info,
            rules.TICKLE.kind,
            input,
            f.Options,
            lambda host, options, label, commitment: rules.OpenTickle(
                player=host, options=options, label=label, commitment=commitment
            ),
            _WANTED,
        )

    @strawberry.mutation(
        description="Lay cards of your hand into the grid (rulings K2 to K6). Your hand is filled, the turn passes on."
    )
    async def lay_tickle_cards(self, info: Info, input: Annotated[LayTickleCardsInput, Input]) -> CommandResult:
        """Lay cards."""
        info.context.must_have(Scope.PLAY)
        try:
            cards = read_laydown(input.cards)
        except InvalidInput as error:
            return invalid_input(str(error), *error.path)
        return await play(info, input, lambda seat: rules.LayDown(seat=seat, cards=cards))

    @strawberry.mutation(
        description="Draw a card, which you may do only if you have no legal laydown (rulings K4, K7). Then lay cards "
        "with it among them, or decline."
    )
    async def draw_tickle_card(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Draw a card."""
        return await play(info, input, lambda seat: rules.DrawCard(seat=seat))

    @strawberry.mutation(description="End your turn after a draw (rulings K4, K7).")
    async def decline_tickle_laydown(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Decline."""
        return await play(info, input, lambda seat: rules.DeclineLaydown(seat=seat))
