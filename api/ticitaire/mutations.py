"""The mutations of Ticitaire."""

from __future__ import annotations

from typing import Annotated

import strawberry
from pydantic import ValidationError

from api.accounts import Scope
from api.context import Info
from api.errors import InvalidInput, invalid_input
from api.fairness import EntropyInput, refused_option
from api.games import CommandResult, MoveInput, PlayInput, open_game, play
from api.labels import LABEL_DESCRIPTION, read_label
from api.tables import read_commitment
from domain.lifecycle import Resign
from domain.ticitaire import facts as f
from domain.ticitaire import rules

__all__ = ["TicitaireMutation"]


@strawberry.input(description="What a table of Ticitaire is opened with.")
class OpenTicitaireInput(EntropyInput):
    """A new game."""

    take_back: bool = strawberry.field(default=False, description="Moves may be taken back (ruling S11).")
    strict_duo: bool = strawberry.field(default=False, description="A Duo's third property must be equal (ruling C4).")
    time_limit: int | None = strawberry.field(
        default=None,
        description="Seconds from the deal until the game ends as given up (ruling G2): 60 to 2,592,000; left out, "
        "there is no limit.",
    )
    label: str | None = strawberry.field(default=None, description=LABEL_DESCRIPTION)
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="8 to 100 characters of your choice. The same key again finds the same game, so that a request "
        "whose answer was lost can be sent again safely.",
    )


@strawberry.input(description="Which cards go where.")
class MoveTicitaireCardsInput(MoveInput):
    """A move of cards."""

    from_: f.Spot = strawberry.field(
        name="from",
        description="A column, a sequence pile or the waste. Between columns the whole run moves (ruling S2), else the "
        "exposed or top card (rulings S3, S5).",
    )
    to: f.Spot = strawberry.field(description="A column or a sequence pile.")


@strawberry.input(description="How many moves to take back.")
class TakeBackTicitaireMovesInput(MoveInput):
    """How far back."""

    moves: int = strawberry.field(default=1, description="How many moves, turns and recyclings, at least 1.")


Input = strawberry.argument(description="The request.")


@strawberry.type
class TicitaireMutation:
    """The mutations of Ticitaire."""

    @strawberry.mutation(
        description="Open a game of Ticitaire. It is dealt at once, unless you commit to entropy, which revealEntropy "
        "then brings into the deal, or name a beacon, with which startGame deals."
    )
    async def open_ticitaire(self, info: Info, input: Annotated[OpenTicitaireInput, Input]) -> CommandResult:
        """Open a game."""
        info.context.must_have(Scope.PLAY)
        try:
            options = f.Options(
                take_back=input.take_back,
                strict_duo=input.strict_duo,
                time_limit=input.time_limit,
                entropy=input.entropy,
                reveal_seconds=input.reveal_seconds,
                beacon=input.beacon,
                sealed_until=input.sealed_until,
            )
            label, commitment = read_label(input.label), read_commitment(input.entropy_commitment)
        except ValidationError as error:
            return refused_option(error, {"time_limit": "A time limit is 60 to 2,592,000 seconds."})
        except InvalidInput as error:
            return invalid_input(str(error), *error.path)
        return await open_game(
            info,
            rules.TICITAIRE.kind,
            lambda host: rules.OpenTicitaire(player=host, options=options, label=label, commitment=commitment),
            input.idempotency_key,
        )

    @strawberry.mutation(description="Move a run or a single card; a card that is uncovered is turned up (S2 to S7).")
    async def move_ticitaire_cards(self, info: Info, input: Annotated[MoveTicitaireCardsInput, Input]) -> CommandResult:
        """Move cards."""
        source, target = input.from_, input.to
        return await play(info, input, lambda seat: rules.MoveCards(seat=seat, source=source, target=target))

    @strawberry.mutation(description="Turn the stock's next card to the waste (ruling S8).")
    async def turn_ticitaire_stock(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Turn the stock."""
        return await play(info, input, lambda seat: rules.TurnStock(seat=seat))

    @strawberry.mutation(description="Turn the waste over when the stock is empty (ruling S8).")
    async def recycle_ticitaire_waste(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Recycle the waste."""
        return await play(info, input, lambda seat: rules.RecycleWaste(seat=seat))

    @strawberry.mutation(description="Take moves back, where the table allows it (ruling S11).")
    async def take_back_ticitaire_moves(
        self, info: Info, input: Annotated[TakeBackTicitaireMovesInput, Input]
    ) -> CommandResult:
        """Take moves back."""
        if input.moves < 1:
            return invalid_input("At least one move is taken back.", "moves")
        return await play(info, input, lambda seat: rules.TakeBack(seat=seat, moves=input.moves))

    @strawberry.mutation(
        description="Give up (ruling S9). The game is over, and its seed is revealed unless it is held back."
    )
    async def give_up_ticitaire(self, info: Info, input: Annotated[PlayInput, Input]) -> CommandResult:
        """Give up."""
        return await play(info, input, lambda seat: Resign(seat=seat), kind=rules.TICITAIRE.kind)
