"""The kinds of games, and the scoreboards and their periods, as the schema names them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, cast

import strawberry

from domain.games import RULESETS
from projections.scoreboards import BOARDS

__all__ = ["GameKind", "Scoreboard", "ScoreboardPeriod"]

GameKind: Any = strawberry.enum(
    cast("type[Enum]", Enum("GameKind", {kind.upper(): kind for kind in RULESETS})),
    description="Which rules are played.",
)
"""Every kind that can be played, from the domain's own list."""

_COUNTED: Final = {
    "tickle_points": "The totals of all games of Tickle together.",
    "tickle_wins": "Games of Tickle that were won, with a first place.",
    "tickle_best_laydown": "The most points of one laydown.",
    "tickle_rating": "The rating in Tickle, as the last game left it.",
    "poker_points": "The points of all games of TIC Poker together.",
    "poker_places": "Places in games of TIC Poker as a table of medals: by first, then second, then third places.",
    "poker_rating": "The rating in TIC Poker, as the last game left it.",
    "ticitaire_wins": "Games of Ticitaire that were won.",
    "ticitaire_moves": "The fewest moves of cards of a game of Ticitaire that was won.",
    "ticitaire_time": "The shortest time of a game of Ticitaire that was won, from the deal to the end.",
    "ticitaire_streak": "The most games of Ticitaire won in a row.",
}
"""What each scoreboard is by."""

Scoreboard: Any = strawberry.enum(
    cast(
        "type[Enum]",
        Enum(
            "Scoreboard",
            {name.upper(): strawberry.enum_value(name, description=_COUNTED[name]) for name in sorted(BOARDS)},
        ),
    ),
    description="What a scoreboard is by. The games that count are those that are finished, and proved.",
)
"""Every scoreboard, from the read model's own list."""


@strawberry.enum(
    description="Which games a scoreboard is of: those finished at any time, in a month of the calendar, or in a week "
    "of ISO 8601, which begins on Monday; both in UTC."
)
class ScoreboardPeriod(Enum):
    """The periods of scoreboards."""

    ALL_TIME = "all-time"
    MONTH = "month"
    WEEK = "week"
