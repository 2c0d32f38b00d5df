"""What is counted of players of Tickle."""

from __future__ import annotations

import strawberry

from api.kinds import GameKind
from api.statistics import Statistics, every_count
from domain.counting import Counts
from domain.tickle.rules import TICKLE

__all__ = ["TickleStatistics", "show_statistics"]


@strawberry.type(description="What is counted of a player in games of Tickle that count.")
class TickleStatistics(Statistics):
    """A player's statistics."""

    points: float = strawberry.field(
        description="The totals of all games together, a whole number: below 0 where cards left in hand took more than "
        "laydowns gave (ruling K14)."
    )
    best_laydown: int | None = strawberry.field(
        description="The most points of one laydown; null before the first one."
    )
    best_game: int | None = strawberry.field(description="The best total of a game; null before the first one.")
    laydowns: int = strawberry.field(description="Laydowns.")
    cards_laid: int = strawberry.field(description="Cards laid.")
    tics: int = strawberry.field(description="Tics between cards laid and their neighbours (ruling K9).")
    singles: int = strawberry.field(description="Singles between cards laid and their neighbours (ruling K9).")
    groups_of_three: int = strawberry.field(description="Groups of three, each time that one scored (ruling K10).")
    groups_of_four: int = strawberry.field(description="Groups of four, each time that one scored (ruling K10).")
    tickles: int = strawberry.field(description="Groups of five: Tickles, each time that one scored (ruling K10).")
    extremes: int = strawberry.field(description="Groups that paid an Extreme bonus (ruling K11).")
    six_card_laydowns: int = strawberry.field(description="Laydowns of six cards.")
    draws: int = strawberry.field(description="Cards drawn for want of a laydown, by oneself or when time ran out.")
    declined: int = strawberry.field(description="Turns ended without a laydown.")
    hands_laid: int = strawberry.field(description="Times that the last card of the hand was laid (ruling K13).")
    resignations: int = strawberry.field(description="Games resigned, also by running out of time (ruling G1).")
    time_outs: int = strawberry.field(description="Turns in which the time ran out (ruling G2).")


def show_statistics(counts: Counts) -> TickleStatistics:
    """Show what is counted of a player."""
    return TickleStatistics(kind=GameKind(TICKLE.kind), **every_count(TICKLE.counters, counts))
