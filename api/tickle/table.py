"""The table of Tickle as clients see it, and what they may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import strawberry

from api.cards import CardSlot, slots
from api.context import Info
from api.errors import InvalidInput, reasons
from api.faults import BadUserInput
from api.games import Game, LegalAction
from api.nodes import page_size
from api.tables import TableSettings, plain_action, settings_of
from api.tickle.laydowns import (
    LayCardInput,
    TickleLaidCard,
    TickleLaydownCheck,
    TickleLaydownPage,
    laid_cards,
    read_laydown,
    score_of,
    shown_laydown,
)
from domain.decider import Command, OpenCommand
from domain.game import Game as Record
from domain.tickle import facts as f
from domain.tickle import rules
from domain.tickle.hints import BOUND, best_laydowns
from domain.tickle.placement import faults
from domain.tickle.rules import laid_of
from domain.tickle.scoring import score
from domain.tickle.table import TickleTable
from domain.tickle.views import SeatView, TickleView

__all__ = ["EFFORTS", "TYPES", "USUAL_LENGTHS", "TickleGame", "TickleOptions", "TickleResultLine", "actions"]
__all__ += ["options_of", "result_lines"]

strawberry.enum(f.DeckPart, name="TickleDeck", description="How much of the deck is played with (ruling K15).")
strawberry.enum(f.Closing, name="TickleClosing", description="What begins the final stage (ruling K13).")
strawberry.enum(f.Ending, name="TickleEnding", description="How a game of Tickle ends.")


@strawberry.type(description="What the table was opened with.")
class TickleOptions(TableSettings):
    """The table's options."""

    deck: f.DeckPart = strawberry.field(description="How much of the deck is played with (ruling K15).")
    target: int | None = strawberry.field(description="The score that ends the game (ruling K16); null for none.")


def options_of(options: f.Options) -> TickleOptions:
    """Show the options of a table."""
    return TickleOptions(**settings_of(options), deck=options.deck, target=options.target)


@strawberry.type(description="A seat with what it scored and holds.")
class TickleSeat:
    """A seat."""

    number: int = strawberry.field(description="The seat, from 1.")
    points: int = strawberry.field(description="What its laydowns scored; cards in hand are not counted yet.")
    hand: list[CardSlot] = strawberry.field(
        description="Its cards, in the order in which they came; yours are open to you."
    )
    hand_count: int = strawberry.field(description="How many cards it has in hand.")
    resigned: bool = strawberry.field(description="Whether it resigned (ruling G1).")
    time_outs: int = strawberry.field(description="Its time-outs in the game: the sixth resigns it (ruling G2).")
    time_outs_in_a_row: int = strawberry.field(description="Its last time-outs in a row: the third resigns it.")


def _seat(seat: SeatView) -> TickleSeat:
    return TickleSeat(
        number=seat.seat,
        points=seat.points,
        hand=slots(seat.hand),
        hand_count=len(seat.hand),
        resigned=seat.resigned,
        time_outs=seat.time_outs,
        time_outs_in_a_row=seat.time_outs_in_a_row,
    )


@strawberry.type(description="Whose turn it is.")
class TickleTurn:
    """A turn."""

    seat: int = strawberry.field(description="The seat, from 1.")
    round: int = strawberry.field(description="From 1; a round is one turn of each seat still in (ruling K1).")
    drawn: CardSlot | None = strawberry.field(
        description="The card that was drawn in this turn, which a laydown must have (ruling K7); null if none was."
    )


@strawberry.type(description="One seat's line in the result of a game of Tickle.")
class TickleResultLine:
    """One seat's line."""

    seat: int = strawberry.field(description="The seat, from 1.")
    place: int = strawberry.field(description="1 for the winner; equal totals share the place (ruling K14).")
    points: int = strawberry.field(description="What its laydowns scored.")
    cards: int = strawberry.field(description="Cards left in hand; of a seat that resigned, when it did.")
    total: int = strawberry.field(description="The points less 5 for each of these cards (ruling K14).")
    resigned: bool = strawberry.field(description="Whether it resigned: then it stands behind all who did not.")


@strawberry.type(description="How a game of Tickle ended.")
class TickleResult:
    """A result."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[TickleResultLine] = strawberry.field(description="One line for each seat, seat 1 first.")


def result_lines(finished: f.TickleFinished) -> list[TickleResultLine]:
    """Show the lines of a result."""
    return [
        TickleResultLine(
            seat=line.seat,
            place=line.place,
            points=line.points,
            cards=line.cards,
            total=line.total,
            resigned=line.resigned,
        )
        for line in finished.places
    ]


SeatArgument = Annotated[
    int | None,
    strawberry.argument(
        description="With the hand of this seat: your own, which is the default; any in a revealed position."
    ),
]


@strawberry.type(name="TickleGame", description="A game of Tickle.")
class TickleGame(Game):
    """A game of Tickle, as one viewer may see it."""

    @strawberry.field(description="What the table was opened with.")
    def options(self) -> TickleOptions:
        """Return the options."""
        return options_of(self._view.options)

    @strawberry.field(description="The cards that were laid, row by row from above.")
    def grid(self) -> list[TickleLaidCard]:
        """Return the grid."""
        return laid_cards(self._view.grid)

    @strawberry.field(description="The seats with what they scored and hold, seat 1 first; empty before the deal.")
    def hands(self) -> list[TickleSeat]:
        """Return the seats."""
        return [_seat(seat) for seat in self._view.seats]

    @strawberry.field(description="Cards left to draw.")
    def deck_count(self) -> int:
        """Return the size of the deck."""
        return len(self._view.deck)

    @strawberry.field(description="The cards left to draw, the next one first; open once the seeds are revealed.")
    def deck(self) -> list[CardSlot]:
        """Return the deck."""
        return slots(self._view.deck)

    @strawberry.field(description="Cards out of play in a short game (ruling K15).")
    def set_aside_count(self) -> int:
        """Return how many cards are set aside."""
        return len(self._view.set_aside)

    @strawberry.field(description="The cards out of play (ruling K15); open once the seeds are revealed.")
    def set_aside(self) -> list[CardSlot]:
        """Return the cards that are set aside."""
        return slots(self._view.set_aside)

    @strawberry.field(description="Whose turn it is; null before the deal and once the game is over.")
    def turn(self) -> TickleTurn | None:
        """Return the turn."""
        view = self._view
        if not view.turn:
            return None
        drawn = None if view.drawn is None else slots([view.drawn])[0]
        return TickleTurn(seat=view.turn, round=view.round, drawn=drawn)

    @strawberry.field(
        description="What began the final stage: the game ends with this round (ruling K13). Null before it."
    )
    def final_stage(self) -> f.Closing | None:
        """Return what began the final stage."""
        return self._view.closing

    @strawberry.field(
        description="Whether some seat has scored the target: the game ends with this round (ruling K16)."
    )
    def target_reached(self) -> bool:
        """Return whether the target is reached."""
        return self._view.target_reached

    @strawberry.field(description="How the game ended; null while it is played.")
    def result(self) -> TickleResult | None:
        """Return the result."""
        result = self._view.result
        return TickleResult(ending=result.ending, places=result_lines(result)) if result else None

    @strawberry.field(
        description="Whether a laydown would be legal, with every reason why not, and what it would score; nothing is "
        "played. It looks at the grid and your hand as they are, also out of turn. Null if you have no hand."
    )
    def check_laydown(
        self,
        cards: Annotated[list[LayCardInput], strawberry.argument(description="The cards in their cells.")],
        seat: SeatArgument = None,
    ) -> TickleLaydownCheck | None:
        """Check a laydown without playing it."""
        of = self._whose_hand(seat)
        if of is None:
            return None
        table: TickleTable = self.record.table
        try:
            laid = laid_of(read_laydown(cards))
        except InvalidInput as error:
            raise BadUserInput(f"{'.'.join(error.path)}: {error}") from None
        drawn = table.drawn_card if of == table.turn else None
        found = faults(table.grid, table.hand_set(of), laid, drawn)
        shown = None if found else score_of(score(table.grid, laid))
        return TickleLaydownCheck(legal=not found, reasons=reasons(found), score=shown)

    @strawberry.field(
        description="Legal laydowns of your hand on the grid as they are, those with most points first, found by a "
        "search with a bound. On an empty grid only laydowns in a row from (0, 0) on are told; others are the same. "
        "Null if you have no hand."
    )
    async def laydowns(
        self,
        info: Info,
        first: Annotated[int, strawberry.argument(description="At most so many, 1..100.")] = 10,
        seat: SeatArgument = None,
    ) -> TickleLaydownPage | None:
        """Search laydowns."""
        of, most = self._whose_hand(seat), page_size(first)
        if of is None:
            return None
        table: TickleTable = self.record.table
        drawn = table.drawn_card if of == table.turn else None
        hand = table.hand_set(of)
        found = await info.context.world.blocking(lambda: best_laydowns(table.grid, hand, drawn, first=most))
        nodes = [shown_laydown(points, laid) for points, laid in found.laydowns]
        return TickleLaydownPage(nodes=nodes, bound=BOUND, bound_reached=found.bound_reached)

    def _whose_hand(self, seat: int | None) -> int | None:
        """Return a seat whose hand the viewer may see: the one that was named, or his own; None where he has none.

        None too where no hand is known here, as in a record of a game that is played elsewhere.

        Raises:
            BadUserInput: there is no such seat, or the viewer may not see its hand.
        """
        seats, known = len(self._view.seats), self.record.table.deck is not None
        if seat is None:
            return self.viewer.seat if known and 1 <= self.viewer.seat <= seats else None
        if not 1 <= seat <= seats:
            raise BadUserInput(f"`seat` is 1 to {seats}." if seats else "There are no hands before the deal.")
        if seat != self.viewer.seat and not self.viewer.everything and self._table.revealed is None:
            raise BadUserInput(
                "The hands of others are not open before the seeds of the game are revealed; from then on, also those "
                "of the past are, in `position(version, revealed: true)`."
            )
        return seat if known else None

    @property
    def _view(self) -> TickleView:
        view: TickleView = self.view
        return view


_ACTIONS: Final[dict[type[Command], str]] = {
    rules.LayDown: "layTickleCards",
    rules.DrawCard: "drawTickleCard",
    rules.DeclineLaydown: "declineTickleLaydown",
}


def actions(record: Record, commands: Sequence[OpenCommand]) -> list[LegalAction]:  # noqa: ARG001 - as every kind's
    """Show what is open."""
    return [plain_action(command, _ACTIONS) for command in commands]


TYPES: Final = (TickleGame,)
EFFORTS: Final = {
    "TickleGame.checkLaydown": 20,
    "TickleGame.laydowns": 4_000,
}
USUAL_LENGTHS: Final = {
    "TickleGame.grid": 60,
    "TickleGame.hands": 3,
    "TickleGame.deck": 50,
    "TickleGame.setAside": 20,
    "TickleGame.legalActions": 3,
    "TickleSeat.hand": 7,
    "TickleResult.places": 3,
    "TickleFinished.places": 3,
    "TickleOpened.rematchPlayers": 1,
    "TickleLaydown.cards": 3,
    "TickleLaydownPage.nodes": 1,  # the page was counted where it was opened
    "TickleLaydownPlayed.cards": 3,
    "TickleLaydownCheck.reasons": 2,
    "TickleScore.contacts": 4,
    "TickleScore.groups": 1,
    "TickleGroup.cells": 4,
}
