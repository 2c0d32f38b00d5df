"""The table of TIC Poker as clients see it, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import strawberry

from api.cards import Card, CardSlot, faces, slots
from api.faults import BadUserInput
from api.games import Game, LegalAction
from api.nodes import page_size
from api.tables import TableSettings, plain_action, settings_of
from domain import cards
from domain.decider import Command, OpenCommand
from domain.game import Game as Record
from domain.poker import facts as f
from domain.poker import rules
from domain.poker.hands import Rank, Step
from domain.poker.views import PokerView, RoundSeatView, RoundView

__all__ = ["EFFORTS", "TYPES", "USUAL_LENGTHS", "PokerGame", "PokerHand", "PokerOptions", "PokerResultLine", "actions"]
__all__ += ["hand_of", "options_of", "result_lines"]

strawberry.enum(f.Variation, name="PokerVariation", description="Which game of TIC Poker is played (rulings P10, P11).")
strawberry.enum(f.Ending, name="PokerEnding", description="How a game of TIC Poker ends.")
strawberry.enum(Step, name="PokerStep", description="The steps in which hands are compared, in order (ruling P7).")
strawberry.enum(Rank, name="PokerRank", description="The ranks of hands, the lowest first (ruling P6).")


@strawberry.type(description="What the table was opened with.")
class PokerOptions(TableSettings):
    """The table's options."""

    rounds: int = strawberry.field(description="How many rounds are played (ruling P9).")
    variation: f.Variation = strawberry.field(description="Which game is played.")
    stages: int = strawberry.field(description="How many exchange stages a round has.")
    cards_speak: bool = strawberry.field(description="The server declares the best hand of every seat (ruling P5).")


def options_of(options: f.Options) -> PokerOptions:
    """Show the options of a table."""
    return PokerOptions(
        **settings_of(options),
        rounds=options.rounds,
        variation=options.variation,
        stages=options.stages,
        cards_speak=options.cards_speak,
    )


@strawberry.type(description="Five cards and what they count as.")
class PokerHand:
    """A hand."""

    rank: Rank = strawberry.field(description="The rank.")
    total: int = strawberry.field(description="The value of the five cards (ruling P7).")
    cards: list[Card] = strawberry.field(description="The five cards, the strongest first.")


def hand_of(rank: Rank, five: Iterable[cards.Card]) -> PokerHand:
    """Show a hand."""
    shown = tuple(five)
    return PokerHand(rank=rank, total=sum(card.value for card in shown), cards=faces(shown))


@strawberry.type(description="A seat with its points.")
class PokerSeat:
    """A seat."""

    number: int = strawberry.field(description="The seat, from 1.")
    points: int = strawberry.field(description="From the rounds that are over (ruling P8).")
    resigned: bool = strawberry.field(description="Whether it resigned (rulings G1, P12).")
    time_outs: int = strawberry.field(description="Its time-outs in the game: the sixth resigns it (ruling G2).")
    time_outs_in_a_row: int = strawberry.field(description="Its last time-outs in a row: the third resigns it.")


@strawberry.type(description="What decided between two hands (ruling P7).")
class PokerDecision:
    """The step that decided."""

    step: Step = strawberry.field(description="The first step in which they differ.")
    card: int | None = strawberry.field(
        description="Which card of the two hands differed, 1 the strongest; null where the rank or the total decided."
    )


@strawberry.type(description="A seat in a round.")
class PokerRoundSeat:
    """A seat in a round."""

    number: int = strawberry.field(description="The seat, from 1.")
    cards: list[CardSlot] = strawberry.field(
        description="Its private cards by slot, slot 1 first: yours are open to you, those of others once revealed."
    )
    to_act: bool = strawberry.field(description="Whether it has a turn in this stage yet, or a hand to declare.")
    declared: PokerHand | None = strawberry.field(description="What its hand counts as (ruling P5); null before that.")
    late: bool = strawberry.field(
        description="Whether its time to declare ran out: then the server declared High Card for it (ruling P5)."
    )
    place: int | None = strawberry.field(description="Its place in the round; null before it is scored, or unranked.")
    points: int | None = strawberry.field(description="The points of that place (ruling P8).")
    shown: strawberry.Private[RoundView]
    view: strawberry.Private[RoundSeatView]

    @strawberry.field(
        description="The best hand that was possible: told when the round is over, of seats whose cards you may see."
    )
    def best(self) -> PokerHand | None:
        """Return the best hand."""
        best = self.shown.best(self.view)
        return hand_of(best.rank, best.cards) if best else None

    @strawberry.field(
        description="What put its hand behind the next stronger one (ruling P7): null for the strongest, for an "
        "unranked one, and before the round is over."
    )
    def decided_by(self) -> PokerDecision | None:
        """Return the step that decided."""
        decided = self.shown.decided(self.view)
        return PokerDecision(step=decided.step, card=decided.card or None) if decided else None


@strawberry.type(description="A round.")
class PokerRound:
    """A round."""

    number: int = strawberry.field(description="From 1.")
    dealer: int = strawberry.field(description="The seat that deals; the one on its left acts first (ruling P1).")
    stage: int = strawberry.field(description="The exchange stage, from 1; 0 until the first turn begins.")
    caller: int | None = strawberry.field(description="The seat that called (ruling P3); null if none did.")
    declaring: bool = strawberry.field(description="Whether hands are declared now (ruling P5).")
    over: bool = strawberry.field(description="Whether it is scored.")
    community: list[Card] = strawberry.field(description="The community cards by slot, slot 1 first.")
    seats: list[PokerRoundSeat] = strawberry.field(
        description="The seats that were dealt in, in the order of their turns: the dealer is the last."
    )


def _round(shown: RoundView) -> PokerRound:
    return PokerRound(
        number=shown.number,
        dealer=shown.dealer,
        stage=shown.stage,
        caller=shown.caller or None,
        declaring=shown.declaring,
        over=shown.over,
        community=faces(shown.community),
        seats=[_round_seat(shown, seat) for seat in shown.seats],
    )


def _round_seat(shown: RoundView, seat: RoundSeatView) -> PokerRoundSeat:
    declared = seat.declared
    return PokerRoundSeat(
        number=seat.seat,
        cards=slots(seat.cards),
        to_act=seat.to_act,
        declared=hand_of(declared.rank, declared.cards) if declared else None,
        late=seat.late,
        place=seat.place,
        points=seat.points,
        shown=shown,
        view=seat,
    )


@strawberry.type(description="One seat's line in the result of a game of TIC Poker.")
class PokerResultLine:
    """One seat's line."""

    seat: int = strawberry.field(description="The seat, from 1.")
    place: int = strawberry.field(description="1 for the winner; equal points share the place (ruling P9).")
    points: int = strawberry.field(description="From all rounds.")
    resigned: bool = strawberry.field(description="Whether it resigned: then it stands behind all who did not.")


@strawberry.type(description="How a game of TIC Poker ended.")
class PokerResult:
    """A result."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[PokerResultLine] = strawberry.field(description="One line for each seat, seat 1 first.")


def result_lines(finished: f.PokerFinished) -> list[PokerResultLine]:
    """Show the lines of a result."""
    return [
        PokerResultLine(seat=line.seat, place=line.place, points=line.points, resigned=line.resigned)
        for line in finished.places
    ]


@strawberry.type(name="PokerGame", description="A game of TIC Poker.")
class PokerGame(Game):
    """A game of TIC Poker, as one viewer may see it."""

    @strawberry.field(description="What the table was opened with.")
    def options(self) -> PokerOptions:
        """Return the options."""
        return options_of(self._view.options)

    @strawberry.field(description="The seats with their points, seat 1 first; empty before the first deal.")
    def standings(self) -> list[PokerSeat]:
        """Return the seats."""
        return [
            PokerSeat(
                number=seat.seat,
                points=seat.points,
                resigned=seat.resigned,
                time_outs=seat.time_outs,
                time_outs_in_a_row=seat.time_outs_in_a_row,
            )
            for seat in self._view.seats
        ]

    @strawberry.field(
        description="The seat whose turn it is; null while hands are declared, before the deal and at the end."
    )
    def turn(self) -> int | None:
        """Return the seat that has the turn."""
        return self._view.turn or None

    @strawberry.field(description="The round that is played, or was played last; null before the first deal.")
    def round(self) -> PokerRound | None:
        """Return the round."""
        shown = self._view.round
        return _round(shown) if shown else None

    @strawberry.field(
        description="The rounds that were scored, in order, after the one of a number. One that the end of the game "
        "cut short is in `round` only."
    )
    def played_rounds(
        self,
        after: Annotated[int, strawberry.argument(description="The number of the last round you have; 0 for all.")] = 0,
        first: Annotated[int, strawberry.argument(description="At most so many, 1..100.")] = 20,
    ) -> list[PokerRound]:
        """Return rounds that were scored."""
        if after < 0:
            raise BadUserInput(f"`after` is the number of a round, or 0 for all; not {after}.")
        return [_round(shown) for shown in self._view.played[after : after + page_size(first)]]

    @strawberry.field(description="How the game ended; null while it is played.")
    def result(self) -> PokerResult | None:
        """Return the result."""
        result = self._view.result
        return PokerResult(ending=result.ending, places=result_lines(result)) if result else None

    @property
    def _view(self) -> PokerView:
        view: PokerView = self.view
        return view


@strawberry.type(
    description="Cards may be exchanged: exchangePokerCards, or exchangePokerCommunityCard for its one slot."
)
class PokerExchange(LegalAction):
    """An exchange that the rules allow."""

    slots: list[int] = strawberry.field(description="The slots, from 1.")


_ACTIONS: Final[dict[type[Command], str]] = {
    rules.KeepCards: "keepPokerCards",
    rules.Call: "callPoker",
    rules.DeclareHand: "declarePokerHand",
}


def actions(record: Record, commands: Sequence[OpenCommand]) -> list[LegalAction]:  # noqa: ARG001 - as every kind's
    """Show what is open."""
    shown: list[LegalAction] = []
    for command in commands:
        match command:
            case rules.ExchangeCards(slots=some):
                shown.append(PokerExchange(mutation="exchangePokerCards", slots=list(some)))
            case rules.ExchangeCommunityCard(slot=slot):
                shown.append(PokerExchange(mutation="exchangePokerCommunityCard", slots=[slot]))
            case _:
                shown.append(plain_action(command, _ACTIONS))
    return shown


TYPES: Final = (PokerGame, PokerExchange)
EFFORTS: Final = {"PokerGame.playedRounds": 200, "PokerRoundSeat.best": 2, "PokerRoundSeat.decidedBy": 2}
USUAL_LENGTHS: Final = {
    "PokerGame.legalActions": 6,
    "PokerGame.standings": 4,
    "PokerRound.community": 4,
    "PokerRound.seats": 6,
    "PokerRoundSeat.cards": 3,
    "PokerHand.cards": 5,
    "PokerExchange.slots": 1,
    "PokerResult.places": 4,
    "PokerFinished.places": 4,
    "PokerOpened.rematchPlayers": 1,
    "PokerRoundDealt.seats": 4,
    "PokerRoundDealt.community": 2,
    "PokerCardsExchanged.slots": 1,
    "PokerHandsRevealed.hands": 4,
    "PokerRevealedHand.cards": 3,
    "PokerRoundScored.places": 4,
}
