"""What is counted of players of Ticitaire."""

from __future__ import annotations

import strawberry

from api.kinds import GameKind
from api.statistics import Statistics, every_count
from domain.counting import Counts
from domain.ticitaire.rules import TICITAIRE

__all__ = ["TicitaireStatistics", "show_statistics"]


@strawberry.type(description="What is counted of a player in games of Ticitaire that count.")
class TicitaireStatistics(Statistics):
    """A player's statistics."""

    moves: int | None = strawberry.field(
        description="The fewest moves of cards of a game that was won, those taken back included; null before the "
        "first win."
    )
    seconds: float | None = strawberry.field(
        description="The shortest time of a game that was won, from the deal to the end; null before the first win."
    )
    streak: int = strawberry.field(description="The most games won in a row.")
    streak_now: int = strawberry.field(description="The games won in a row up to the last one.")
    moves_made: float = strawberry.field(
        description="Moves of cards in all games, those taken back included; a whole number."
    )
    columns_cleared: int = strawberry.field(description="Columns that were left without a card, each once in a game.")
    cards_turned_up: int = strawberry.field(description="Face-down cards that were laid open (ruling S7).")
    stock_turns: int = strawberry.field(description="Cards turned from the stock.")
    recycles: int = strawberry.field(description="Times that the waste became the stock again.")
    take_backs: int = strawberry.field(description="Moves taken back (ruling S11).")
    given_up: int = strawberry.field(description="Games that were not won, whether given up or out of time.")
    time_outs: int = strawberry.field(description="Games in which the time ran out (ruling G2).")


def show_statistics(counts: Counts) -> TicitaireStatistics:
    """Show what is counted of a player."""
    told = every_count(TICITAIRE.counters, counts)
    milliseconds = told.pop("time")
    seconds = None if milliseconds is None else milliseconds / 1000
    return TicitaireStatistics(kind=GameKind(TICITAIRE.kind), seconds=seconds, **told)
