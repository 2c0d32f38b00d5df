"""What is counted of players of TIC Poker."""

from __future__ import annotations

import strawberry

from api.kinds import GameKind
from api.statistics import Medals, Statistics, every_count, show_medals
from domain.counting import Counts
from domain.poker.rules import POKER

__all__ = ["PokerStatistics", "show_statistics"]


@strawberry.type(description="What is counted of a player in games of TIC Poker that count.")
class PokerStatistics(Statistics):
    """A player's statistics. The last fields count the ranks of hands in rounds in which the seat was ranked."""

    points: float = strawberry.field(description="The points of all games together, a whole number (ruling P9).")
    places: Medals = strawberry.field(description="Places in games, as medals.")
    rounds: int = strawberry.field(description="Rounds in which the player's hand was ranked (ruling P12).")
    rounds_won: int = strawberry.field(description="Rounds that were won, with others or alone.")
    calls: int = strawberry.field(description="Rounds that the player called.")
    calls_won: int = strawberry.field(description="Rounds that the player called, and won.")
    exchanges: int = strawberry.field(description="Turns in which cards were exchanged.")
    kept: int = strawberry.field(description="Turns in which all cards were kept, by the player's own word.")
    high_card: int = strawberry.field(description="Rounds ranked with a High Card.")
    three_card_single: int = strawberry.field(description="Rounds ranked with a Three-Card Single.")
    tic_pair: int = strawberry.field(description="Rounds ranked with a Tic Pair.")
    four_card_single: int = strawberry.field(description="Rounds ranked with a Four-Card Single.")
    little_house: int = strawberry.field(description="Rounds ranked with a Little House.")
    five_card_single: int = strawberry.field(description="Rounds ranked with a Five-Card Single.")
    two_tic_pairs: int = strawberry.field(description="Rounds ranked with Two Tic Pairs.")
    three_card_tic: int = strawberry.field(description="Rounds ranked with a Three-Card Tic.")
    big_house: int = strawberry.field(description="Rounds ranked with a Big House.")
    four_card_tic: int = strawberry.field(description="Rounds ranked with a Four-Card Tic.")
    five_card_tic: int = strawberry.field(description="Rounds ranked with a Five-Card Tic.")
    late_declarations: int = strawberry.field(description="Times that the time to declare ran out (ruling P5).")
    resignations: int = strawberry.field(description="Games resigned, also by running out of time (ruling G1).")
    time_outs: int = strawberry.field(
        description="Times that the player's time ran out, late declarations included (ruling G2)."
    )


def show_statistics(counts: Counts) -> PokerStatistics:
    """Show what is counted of a player."""
    told = every_count(POKER.counters, counts)
    places = show_medals(told.pop("places"))
    return PokerStatistics(kind=GameKind(POKER.kind), places=places, **told)
