"""The mutations of TIC Poker."""

from __future__ import annotations

from typing import Annotated

import strawberry

from api.accounts import Scope
from api.cards import read_card
from api.context import Info
from api.errors import InvalidInput, invalid_input
from api.games import CommandResult, MoveInput, PlayInput, play
from api.tables import OpenTableInput, open_table
from domain.poker import facts as f
from domain.poker import rules
from domain.poker.hands import HAND, Rank

__all__ = ["PokerMutation"]


@strawberry.input(description="What a table of TIC Poker is opened with.")
class OpenPokerInput(OpenTableInput):
    """A new table."""

    seats: int = strawberry.field(default=8, description="How many players it takes at most, 2 to 8.")
    rounds: int = strawberry.field(default=5, description="How many rounds are played (ruling P9), 1 to 64.")
    variation: f.Variation = strawberry.field(
        default=f.Variation.STANDARD, description="Which game is played (rulings P10, P11)."
    )
    draw_stages: int = strawberry.field(
        default=3, description="Exchange stages of a round of Draw Poker (ruling P11), 1 to 5."
    )
    cards_speak: bool = strawberry.field(
        default=False, description="The server declares the best hand of every seat (ruling P5)."
    )


@strawberry.input(description="Which of your cards to exchange.")
class ExchangePokerCardsInput(MoveInput):
    """An exchange."""

    slots: list[int] = strawberry.field(description="Slots of your cards, from 1: one, or in Draw Poker up to two.")


@strawberry.input(description="Which community card to exchange.")
class ExchangePokerCommunityCardInput(MoveInput):
    """An exchange of a community card."""

    slot: int = strawberry.field(description="Its slot, from 1.")


@strawberry.input(description="Which five cards count, and as what.")
class DeclarePokerHandInput(PlayInput):
    """A declaration."""

    cards: list[str] = strawberry.field(
        description="The names of five cards among your private cards and the community cards, as in 5-star-red."
    )
    rank: Rank = strawberry.field(description="A rank that these five cards have; it may be lower than their highest.")


Input = strawberry.argument(description="The request.")

_WANTED = {
    "seats": "A table of TIC Poker takes 2 to 8 players.",
    "rounds": "A game has 1 to 64 rounds.",
    "draw_stages": "A round of Draw Poker has 1 to 5 exchange stages.",
    "turn_seconds": "Time for a turn is 5 to 2,592,000 seconds.",
}


@strawberry.type
class PokerMutation:
    """The mutations of TIC Poker."""

    @strawberry.mutation(
        description="Open a table of TIC Poker, and join it. Others come with joinGame; you deal with startGame."
    )
    async def open_poker(self, info: Info, input: Annotated[OpenPokerInput, Input]) -> CommandResult:
        """Open a table."""
        return await open_table(
            info,
            rules.POKER.kind,
            input,
            f.Options,
            lambda host, options, label, commitment: rules.OpenPoker(
                player=host, options=options, label=label, commitment=commitment
            ),
            _WANTED,
        )

    @strawberry.mutation(description="Exchange private cards on your turn (rulings P2, P11).")
    async def exchange_poker_cards(self, info: Info, input: Annotated[ExchangePokerCardsInput, Input]) -> CommandResult:
        """Exchange cards."""
        info.context.must_have(Scope.PLAY)
        if len(input.slots) > HAND:
            return invalid_input("A hand has no more than five slots.", "slots")
        return await play(info, input, lambda seat: rules.ExchangeCards(seat=seat, slots=tuple(input.slots)))

    @strawberry.mutation(description="Exchange a community card on your turn, where the table plays that (ruling P10).")
    async def exchange_poker_community_card(
        self, info: Info, input: Annotated[ExchangePokerCommunityCardInput, Input]
    ) -> CommandResult:
        """Exchange a community card."""
        return await play(info, input, lambda seat: rules.ExchangeCommunityCard(seat=seat, slot=input.slot))

    @strawberry.mutation(description="Exchange nothing on your turn (ruling P2).")
    async def keep_poker_cards(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Keep cards."""
        return await play(info, input, lambda seat: rules.KeepCards(seat=seat))

    @strawberry.mutation(description="Call on your turn: every other seat gets one last turn (ruling P3).")
    async def call_poker(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Call."""
        return await play(info, input, lambda seat: rules.Call(seat=seat))

    @strawberry.mutation(
        description="Declare your hand after the reveal (ruling P5): seats declare in any order. A declaration that is "
        "not true is refused, and you may try again."
    )
    async def declare_poker_hand(self, info: Info, input: Annotated[DeclarePokerHandInput, Input]) -> CommandResult:
        """Declare a hand."""
        info.context.must_have(Scope.PLAY)
        if len(input.cards) != HAND:
            return invalid_input("A hand has five cards.", "cards")
        try:
            five = tuple(read_card(name, "cards", str(nth)) for nth, name in enumerate(input.cards))
        except InvalidInput as error:
            return invalid_input(str(error), *error.path)
        return await play(info, input, lambda seat: rules.DeclareHand(seat=seat, cards=five, rank=input.rank))
