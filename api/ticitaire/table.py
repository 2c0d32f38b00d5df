"""The table of Ticitaire as clients see it, and what they may do."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

import strawberry

from api.cards import Card, CardSlot, faces, slots
from api.context import Info
from api.facts import Place, places
from api.fairness import EntropySettings, entropy_settings_of
from api.games import Game, LegalAction
from api.tables import plain_action
from domain.decider import Command, OpenCommand
from domain.game import Game as Record
from domain.lifecycle import Resign
from domain.ticitaire import facts as f
from domain.ticitaire import rules
from domain.ticitaire.dead import Verdict, verdict
from domain.ticitaire.views import TicitaireView

__all__ = [
    "EFFORTS",
    "TYPES",
    "USUAL_LENGTHS",
    "TicitaireGame",
    "TicitaireOptions",
    "TicitaireTally",
    "actions",
    "options_of",
    "tally_of",
]

strawberry.enum(f.Spot, name="TicitaireSpot", description="A place that cards move from or to.")
strawberry.enum(f.Ending, name="TicitaireEnding", description="How a game of Ticitaire ends.")


@strawberry.type(description="One of the seven columns.")
class TicitaireColumn:
    """One of the seven columns."""

    buried: list[CardSlot] = strawberry.field(
        description="The face-down cards, the last is turned up first. A card that lay open before a take-back is told."
    )
    run: list[Card] = strawberry.field(description="The face-up cards, the top first, the exposed card last.")


@strawberry.type(description="What the table was opened with.")
class TicitaireOptions(EntropySettings):
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


def options_of(options: f.Options) -> TicitaireOptions:
    """Show the options of a table."""
    return TicitaireOptions(
        **entropy_settings_of(options),
        take_back=options.take_back,
        strict_duo=options.strict_duo,
        time_limit=options.time_limit,
    )


def tally_of(fact: f.TicitaireFinished) -> TicitaireTally:
    """Show the counts of a result."""
    return TicitaireTally(moves=fact.moves, turns=fact.turns, recycles=fact.recycles, take_backs=fact.take_backs)


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
        return options_of(self._view.options)

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
            tally=tally_of(result),
        )

    @strawberry.field(
        description="Whether the position can still lead on, from the cards that you have seen and nothing else "
        "(ruling S10). The game never ends by itself for it; null before the deal and once it is over."
    )
    async def prospect(self, info: Info) -> TicitaireProspect | None:
        """Search the position."""
        table = self.record.table
        if table.over or table.dealt is None:
            return None
        return TicitaireProspect(await info.context.world.blocking(lambda: verdict(table)))

    @property
    def _view(self) -> TicitaireView:
        view: TicitaireView = self.view
        return view


@strawberry.type(description="Cards may go from one place to another: moveTicitaireCards.")
class TicitaireMove(LegalAction):
    """A move of cards that the rules allow."""

    from_: f.Spot = strawberry.field(name="from", description="Where the cards are.")
    to: f.Spot = strawberry.field(description="Where they may go.")
    cards: list[Card] = strawberry.field(description="The whole run between columns, else the single card.")


@strawberry.type(description="A step that names no cards: its input is the game and the version.")
class TicitaireStep(LegalAction):
    """Turning, recycling, taking back, giving up."""


_STEPS: Final[dict[type[Command], str]] = {
    rules.TurnStock: "turnTicitaireStock",
    rules.RecycleWaste: "recycleTicitaireWaste",
    rules.TakeBack: "takeBackTicitaireMoves",
    Resign: "giveUpTicitaire",
}


def actions(record: Record, commands: Sequence[OpenCommand]) -> list[LegalAction]:
    """Show the commands that are open."""
    shown: list[LegalAction] = []
    layout, card = record.table.layout, record.table.card
    for command in commands:
        if isinstance(command, rules.MoveCards):
            taken = faces(map(card, layout.taken(command.source, command.target)))
            move = TicitaireMove(mutation="moveTicitaireCards", from_=command.source, to=command.target, cards=taken)
            shown.append(move)
        elif isinstance(command, Command) and type(command) in _STEPS:
            shown.append(TicitaireStep(mutation=_STEPS[type(command)]))
        else:
            shown.append(plain_action(command, {}))
    return shown


TYPES: Final = (TicitaireGame, TicitaireMove, TicitaireStep)
EFFORTS: Final = {"TicitaireGame.prospect": 2_000}
USUAL_LENGTHS: Final = {
    "TicitaireGame.columns": 7,
    "TicitaireColumn.buried": 7,
    "TicitaireColumn.run": 7,
    "TicitaireGame.low": 20,
    "TicitaireGame.high": 20,
    "TicitaireGame.stock": 69,
    "TicitaireGame.waste": 30,
    "TicitaireGame.seats": 1,
    "TicitaireMove.cards": 3,
    "TicitaireResult.places": 1,
    "TicitaireDealt.exposed": 7,
    "TicitaireCardsMoved.cards": 3,
    "TicitaireFinished.places": 1,
}
