"""Ticitaire over GraphQL: the table as it is shown, and the mutations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Annotated, Final
from uuid import UUID

import strawberry
from pydantic import ValidationError

from api.cards import Card, CardSlot, faces, slots
from api.context import Info
from api.errors import invalid_input
from api.facts import LIFECYCLE_FACTS, Fact, Place, places
from api.games import CommandResult, Game, Kind, LegalAction, MoveInput, PlayInput, open_game, play
from api.players import Player, player
from domain.decider import Command
from domain.game import Game as Record
from domain.lifecycle import Resign
from domain.ticitaire import facts as f
from domain.ticitaire import rules
from domain.ticitaire.dead import Verdict, verdict
from domain.ticitaire.views import TicitaireView

__all__ = ["KIND", "TicitaireGame", "TicitaireMutation"]

strawberry.enum(f.Spot, name="TicitaireSpot", description="A place that cards move from or to.")
strawberry.enum(f.Ending, name="TicitaireEnding", description="How a game of Ticitaire ends.")


# The table


@strawberry.type(description="One of the seven columns.")
class TicitaireColumn:
    """One of the seven columns."""

    buried: list[CardSlot] = strawberry.field(
        description="The face-down cards, the last is turned up first. A card that lay open before a take-back is told."
    )
    run: list[Card] = strawberry.field(description="The face-up cards, the top first, the exposed card last.")


@strawberry.type(description="What the table was opened with.")
class TicitaireOptions:
    """The table's options."""

    take_back: bool = strawberry.field(description="Moves may be taken back (ruling S11).")
    strict_duo: bool = strawberry.field(description="A Duo's third property must be equal (ruling C4).")
    time_limit: int | None = strawberry.field(
        description="Seconds from the deal until the game ends as given up (ruling G2); null for no limit."
    )


@strawberry.type(description="What has been done so far, including what was taken back.")
class TicitaireTally:
    """The counts of a game."""

    moves: int = strawberry.field(description="Moves of cards.")
    turns: int = strawberry.field(description="Cards turned from the stock (ruling S8).")
    recycles: int = strawberry.field(description="Times the waste was turned over (ruling S8).")
    take_backs: int = strawberry.field(description="Times that moves were taken back (ruling S11).")


@strawberry.type(description="How a game of Ticitaire ended.")
class TicitaireResult:
    """A result."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[Place] = strawberry.field(description="The player's line.")
    buried: int = strawberry.field(description="Cards that were still face-down in the columns.")
    unplayed: int = strawberry.field(description="Cards that were still in stock and waste.")
    tally: TicitaireTally = strawberry.field(description="What was done.")


@strawberry.enum(description="Whether the position can still lead on (ruling S10).")
class TicitaireProspect(Enum):
    """What a search of the position has shown."""

    ALIVE = strawberry.enum_value(Verdict.ALIVE, description="Moves lead to a card uncovered or a stock card played.")
    DEAD = strawberry.enum_value(Verdict.DEAD, description="Proved: no sequence of moves leads to either.")
    UNKNOWN = strawberry.enum_value(Verdict.UNKNOWN, description="Neither was shown within the bound of the search.")


@strawberry.type(name="TicitaireGame", description="A game of Ticitaire.")
class TicitaireGame(Game):
    """A game of Ticitaire, as one viewer may see it."""

    @strawberry.field(description="What the table was opened with.")
    def options(self) -> TicitaireOptions:
        """Return the options."""
        return _options(self._view.options)

    @strawberry.field(description="The seven columns, column 1 first.")
    def columns(self) -> list[TicitaireColumn]:
        """Return the columns."""
        return [TicitaireColumn(buried=slots(col.buried), run=faces(col.run)) for col in self._view.columns]

    @strawberry.field(description="The low sequence pile, its top card last.")
    def low(self) -> list[Card]:
        """Return the low pile."""
        return faces(self._view.low)

    @strawberry.field(description="The high sequence pile, its top card last.")
    def high(self) -> list[Card]:
        """Return the high pile."""
        return faces(self._view.high)

    @strawberry.field(
        description="The stock, the next card first. Cards that went through the waste are told: their order is kept."
    )
    def stock(self) -> list[CardSlot]:
        """Return the stock."""
        return slots(self._view.stock)

    @strawberry.field(description="The waste, the playable card last.")
    def waste(self) -> list[Card]:
        """Return the waste."""
        return faces(self._view.waste)

    @strawberry.field(description="How many cards are in the stock.")
    def stock_count(self) -> int:
        """Return the size of the stock."""
        return len(self._view.stock)

    @strawberry.field(description="How many cards are face-down in the columns.")
    def buried_count(self) -> int:
        """Return how many cards are buried."""
        return sum(len(column.buried) for column in self._view.columns)

    @strawberry.field(description="What has been done so far.")
    def tally(self) -> TicitaireTally:
        """Return the counts."""
        view = self._view
        return TicitaireTally(moves=view.moves, turns=view.turns, recycles=view.recycles, take_backs=view.take_backs)

    @strawberry.field(description="How many moves, turns and recyclings could be taken back now.")
    def take_backs_left(self) -> int:
        """Return how many steps can be taken back."""
        return self._view.take_backs_left

    @strawberry.field(description="How the game ended; null while it is played.")
    def result(self) -> TicitaireResult | None:
        """Return the result."""
        result = self._view.result
        if result is None:
            return None
        return TicitaireResult(
            ending=result.ending,
            places=places(result),
            buried=result.buried,
            unplayed=result.unplayed,
            tally=_tally(result),
        )

    @strawberry.field(
        description="Whether the position can still lead on, from the cards that you have seen and nothing else "
        "(ruling S10). The game never ends by itself for it; null once it is over."
    )
    async def prospect(self, info: Info) -> TicitaireProspect | None:
        """Search the position."""
        table = self.record.table
        if table.over:
            return None
        return TicitaireProspect(await info.context.world.blocking(lambda: verdict(table)))

    @property
    def _view(self) -> TicitaireView:
        view: TicitaireView = self.view
        return view


# What may be done


@strawberry.type(description="Cards may go from one place to another: moveTicitaireCards.")
class TicitaireMove(LegalAction):
    """A move of cards that the rules allow."""

    from_: f.Spot = strawberry.field(name="from", description="Where the cards are.")
    to: f.Spot = strawberry.field(description="Where they may go.")
    cards: list[Card] = strawberry.field(description="The whole run between columns, else the single card.")


@strawberry.type(description="A mutation that needs nothing but the game.")
class TicitaireStep(LegalAction):
    """Turning, recycling, taking back, giving up."""


_STEPS: Final[dict[type[Command], str]] = {
    rules.TurnStock: "turnTicitaireStock",
    rules.RecycleWaste: "recycleTicitaireWaste",
    rules.TakeBack: "takeBackTicitaireMoves",
    Resign: "giveUpTicitaire",
}


def actions(record: Record, commands: Sequence[Command]) -> list[LegalAction]:
    """Show the commands that are open."""
    shown: list[LegalAction] = []
    layout, card = record.table.layout, record.table.card
    for command in commands:
        if isinstance(command, rules.MoveCards):
            taken = faces(map(card, layout.taken(command.source, command.target)))
            move = TicitaireMove(mutation="moveTicitaireCards", from_=command.source, to=command.target, cards=taken)
            shown.append(move)
        else:
            shown.append(TicitaireStep(mutation=_STEPS[type(command)]))
    return shown


# The facts


@strawberry.type(description="A game of Ticitaire was opened.")
class TicitaireOpened(Fact):
    """A game was opened."""

    ruleset: int = strawberry.field(description="The numbered set of rulings.")
    host: Player = strawberry.field(description="Who opened it.")
    deal: UUID = strawberry.field(description="The deal that the seeds belong to.")
    commitment: str = strawberry.field(description="s_0 of the deal, hex.")
    dealing: str = strawberry.field(description="The published algorithm of the deal.")
    options: TicitaireOptions = strawberry.field(description="The table's options.")


@strawberry.type(description="The tableau and the stock were dealt (ruling S1).")
class TicitaireDealt(Fact):
    """The tableau was dealt."""

    number: int = strawberry.field(description="Which deal of the chain of seeds, from 1.")
    entropies: list[str] = strawberry.field(description='The players\' own entropy in hex; "-" for none.')
    beacon: str = strawberry.field(description="The public random value named in advance; empty if none was.")
    exposed: list[Card] = strawberry.field(description="The face-up card of each column, column 1 first.")
    deadline: datetime | None = strawberry.field(description="When the time runs out, where the table sets a limit.")


@strawberry.type(description="Face-up cards went from one place to another.")
class TicitaireCardsMoved(Fact):
    """Cards were moved."""

    from_: f.Spot = strawberry.field(name="from", description="Where they were.")
    to: f.Spot = strawberry.field(description="Where they went.")
    cards: list[Card] = strawberry.field(description="The whole run, top first, between columns; else the single card.")


@strawberry.type(description="A face-down card was turned up, for the run over it was gone (ruling S7).")
class TicitaireCardTurnedUp(Fact):
    """A card was uncovered."""

    column: f.Spot = strawberry.field(description="The column.")
    card: Card = strawberry.field(description="The card.")


@strawberry.type(description="The stock's next card went to the waste (ruling S8).")
class TicitaireStockTurned(Fact):
    """The stock was turned."""

    card: Card = strawberry.field(description="The card.")


@strawberry.type(description="The waste was turned over and is the stock again (ruling S8).")
class TicitaireWasteRecycled(Fact):
    """The waste was recycled."""

    cards: int = strawberry.field(description="How many cards.")


@strawberry.type(description="The table went back to an earlier position; what was seen stays seen (ruling S11).")
class TicitaireMovesTakenBack(Fact):
    """Moves were taken back."""

    moves: int = strawberry.field(description="How many moves, turns and recyclings were undone.")
    to_version: int = strawberry.field(description="The version whose position stands again.")


@strawberry.type(description="The game is won or given up (ruling S9).")
class TicitaireFinished(Fact):
    """The game is over."""

    ending: f.Ending = strawberry.field(description="How it ended.")
    places: list[Place] = strawberry.field(description="The player's line.")
    buried: int = strawberry.field(description="Cards that were still face-down.")
    unplayed: int = strawberry.field(description="Cards that were still in stock and waste.")
    tally: TicitaireTally = strawberry.field(description="What was done.")


def _tally(fact: f.TicitaireFinished) -> TicitaireTally:
    return TicitaireTally(moves=fact.moves, turns=fact.turns, recycles=fact.recycles, take_backs=fact.take_backs)


def _options(options: f.Options) -> TicitaireOptions:
    return TicitaireOptions(take_back=options.take_back, strict_duo=options.strict_duo, time_limit=options.time_limit)


def _opened(fact: f.TicitaireOpened) -> TicitaireOpened:
    return TicitaireOpened(
        type=fact.topic,
        ruleset=fact.ruleset,
        host=player(fact.host),
        deal=fact.deal,
        commitment=fact.commitment,
        dealing=fact.dealing,
        options=_options(fact.options),
    )


def _dealt(fact: f.TableauDealt) -> TicitaireDealt:
    return TicitaireDealt(
        type=fact.topic,
        number=fact.number,
        entropies=list(fact.entropies),
        beacon=fact.beacon,
        exposed=faces(fact.exposed),
        deadline=fact.deadline,
    )


def _moved(fact: f.CardsMoved) -> TicitaireCardsMoved:
    return TicitaireCardsMoved(type=fact.topic, from_=fact.source, to=fact.target, cards=faces(fact.cards))


def _turned_up(fact: f.CardTurnedUp) -> TicitaireCardTurnedUp:
    return TicitaireCardTurnedUp(type=fact.topic, column=fact.column, card=faces([fact.card])[0])


def _turned(fact: f.StockTurned) -> TicitaireStockTurned:
    return TicitaireStockTurned(type=fact.topic, card=faces([fact.card])[0])


def _recycled(fact: f.WasteRecycled) -> TicitaireWasteRecycled:
    return TicitaireWasteRecycled(type=fact.topic, cards=fact.cards)


def _taken_back(fact: f.MovesTakenBack) -> TicitaireMovesTakenBack:
    return TicitaireMovesTakenBack(type=fact.topic, moves=fact.moves, to_version=fact.to_version)


def _finished(fact: f.TicitaireFinished) -> TicitaireFinished:
    return TicitaireFinished(
        type=fact.topic,
        ending=fact.ending,
        places=places(fact),
        buried=fact.buried,
        unplayed=fact.unplayed,
        tally=_tally(fact),
    )


KIND: Final = Kind(
    name=rules.TICITAIRE.kind,
    game=TicitaireGame,
    facts={
        **LIFECYCLE_FACTS,
        f.TicitaireOpened: _opened,
        f.TableauDealt: _dealt,
        f.CardsMoved: _moved,
        f.CardTurnedUp: _turned_up,
        f.StockTurned: _turned,
        f.WasteRecycled: _recycled,
        f.MovesTakenBack: _taken_back,
        f.TicitaireFinished: _finished,
    },
    actions=actions,
    types=(
        TicitaireGame,
        TicitaireMove,
        TicitaireStep,
        TicitaireOpened,
        TicitaireDealt,
        TicitaireCardsMoved,
        TicitaireCardTurnedUp,
        TicitaireStockTurned,
        TicitaireWasteRecycled,
        TicitaireMovesTakenBack,
        TicitaireFinished,
    ),
    usual_lengths={
        "TicitaireGame.columns": 7,
        "TicitaireColumn.buried": 7,
        "TicitaireColumn.run": 7,
        "TicitaireGame.low": 20,
        "TicitaireGame.high": 20,
        "TicitaireGame.stock": 69,
        "TicitaireGame.waste": 30,
        "TicitaireGame.legalActions": 12,
        "TicitaireGame.seats": 1,
        "TicitaireMove.cards": 3,
        "TicitaireResult.places": 1,
        "TicitaireDealt.exposed": 7,
        "TicitaireCardsMoved.cards": 3,
        "TicitaireFinished.places": 1,
    },
)


# The mutations


@strawberry.input(description="What a table of Ticitaire is opened with.")
class OpenTicitaireInput:
    """A new game."""

    take_back: bool = strawberry.field(default=False, description="Moves may be taken back (ruling S11).")
    strict_duo: bool = strawberry.field(default=False, description="A Duo's third property must be equal (ruling C4).")
    time_limit: int | None = strawberry.field(
        default=None,
        description="Seconds from the deal until the game ends as given up (ruling G2): 60 to 2,592,000; left out, "
        "there is no limit.",
    )
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

    @strawberry.mutation(description="Open a game of Ticitaire. It is dealt at once.")
    async def open_ticitaire(self, info: Info, input: Annotated[OpenTicitaireInput, Input]) -> CommandResult:
        """Open a game."""
        try:
            options = f.Options(take_back=input.take_back, strict_duo=input.strict_duo, time_limit=input.time_limit)
        except ValidationError:
            return invalid_input("A time limit is 60 to 2,592,000 seconds.", "timeLimit")
        return await open_game(
            info,
            rules.TICITAIRE.kind,
            lambda host: rules.OpenTicitaire(player=host, options=options),
            input.idempotency_key,
        )

    @strawberry.mutation(description="Move a run or a single card; a card that is uncovered is turned up (S2 to S7).")
    async def move_ticitaire_cards(self, info: Info, input: Annotated[MoveTicitaireCardsInput, Input]) -> CommandResult:
        """Move cards."""
        source, target = input.from_, input.to
        return await play(
            info,
            input,
            lambda seat: rules.MoveCards(seat=seat, source=source, target=target),
            input.expected_version,
        )

    @strawberry.mutation(description="Turn the stock's next card to the waste (ruling S8).")
    async def turn_ticitaire_stock(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Turn the stock."""
        return await play(info, input, lambda seat: rules.TurnStock(seat=seat), input.expected_version)

    @strawberry.mutation(description="Turn the waste over when the stock is empty (ruling S8).")
    async def recycle_ticitaire_waste(self, info: Info, input: Annotated[MoveInput, Input]) -> CommandResult:
        """Recycle the waste."""
        return await play(info, input, lambda seat: rules.RecycleWaste(seat=seat), input.expected_version)

    @strawberry.mutation(description="Take moves back, where the table allows it (ruling S11).")
    async def take_back_ticitaire_moves(
        self, info: Info, input: Annotated[TakeBackTicitaireMovesInput, Input]
    ) -> CommandResult:
        """Take moves back."""
        if input.moves < 1:
            return invalid_input("At least one move is taken back.", "moves")
        return await play(
            info, input, lambda seat: rules.TakeBack(seat=seat, moves=input.moves), input.expected_version
        )

    @strawberry.mutation(description="Give up (ruling S9). The game is over and its seed is revealed.")
    async def give_up_ticitaire(self, info: Info, input: Annotated[PlayInput, Input]) -> CommandResult:
        """Give up."""
        return await play(info, input, lambda seat: Resign(seat=seat), None)
