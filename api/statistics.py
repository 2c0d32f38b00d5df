"""What players have come to: what is counted of them, their ratings, and how two of them stand against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import strawberry

from api.context import Info
from api.cursors import read_cursor, write_cursor
from api.ids import write_id
from api.kinds import GameKind
from api.nodes import PageInfo, page_size
from domain.counting import Counter, Counts, Keeps
from domain.poker.counting import medals
from projections import ratings as rated
from projections.players import HeadToHead as Met

__all__ = ["STATISTICS_EFFORTS", "STATISTICS_LENGTHS", "HeadToHead", "Medals", "Rating", "RatingChange"]
__all__ += ["RatingChangeConnection", "Statistics", "every_count", "list_rating_changes", "show_head_to_head"]
__all__ += ["show_change", "show_medals", "show_rating"]


@strawberry.interface(
    description="What is counted of a player in the games of a kind that count: those that are finished, and whose "
    "revealed seeds prove the deal. Every kind has a type of its own."
)
class Statistics:
    """The statistics of one player in the games of one kind."""

    kind: GameKind = strawberry.field(description="The kind.")
    games: int = strawberry.field(description="The games that count.")
    wins: int = strawberry.field(description="Those that were won: with a first place, also a shared one.")


def every_count(counters: Sequence[Counter], counts: Counts) -> dict[str, Any]:
    """Return a number for every counter: 0, or None for a best one, where nothing was counted.

    The running row of a counter that keeps the longest is under its name with ``_now`` behind it.
    """
    told: dict[str, int | None] = {}
    for counter in counters:
        is_best = counter.keeps in {Keeps.GREATEST, Keeps.LEAST}
        names = [counter.name, f"{counter.name}_now"] if counter.keeps is Keeps.IN_A_ROW else [counter.name]
        told |= {name: counts.get(name, None if is_best else 0) for name in names}
    return told


@strawberry.type(
    description="Places in games, counted like medals. They compare by the first places, then by the second, then by "
    "the third ones."
)
class Medals:
    """How many first, second and third places."""

    firsts: int = strawberry.field(description="First places, shared ones included.")
    seconds: int = strawberry.field(description="Second places.")
    thirds: int = strawberry.field(description="Third places.")


def show_medals(value: int) -> Medals:
    """Show a sum of places."""
    firsts, seconds, thirds = medals(value)
    return Medals(firsts=firsts, seconds=seconds, thirds=thirds)


@strawberry.type(
    description="A player's strength in the games of a kind for several, as the Plackett-Luce model of OpenSkill has "
    "it. Every game that counts changes it by the places; see ratingChanges."
)
class Rating:
    """A rating."""

    kind: GameKind = strawberry.field(description="The kind.")
    rating: int = strawberry.field(
        description="The rating in one number, 1000 + 40 · (mu - 3 · sigma), rounded: a newcomer has 1000. Scoreboards "
        "of ratings are by it."
    )
    mu: float = strawberry.field(description="What the strength is taken to be; 25 for a newcomer.")
    sigma: float = strawberry.field(description="How uncertain that is, a standard deviation; 25/3 for a newcomer.")
    games: int = strawberry.field(description="The games that were rated.")
    game_id: strawberry.ID = strawberry.field(description="The last of them.")


def show_rating(one: rated.Rating) -> Rating:
    """Show a rating."""
    return Rating(
        kind=GameKind(one.kind),
        rating=rated.shown(one.mu, one.sigma),
        mu=one.mu,
        sigma=one.sigma,
        games=one.games,
        game_id=strawberry.ID(write_id("game", one.game)),
    )


@strawberry.type(description="What one game made of a player's rating.")
class RatingChange:
    """A change of a rating."""

    game_id: strawberry.ID = strawberry.field(description="The game.")
    kind: GameKind = strawberry.field(description="Its kind.")
    place: int = strawberry.field(description="The player's place in it, 1 for the winner.")
    change: int = strawberry.field(description="By how much the rating grew or, below 0, fell.")
    rating_before: int = strawberry.field(description="The rating before the game, in one number as Rating has it.")
    rating: int = strawberry.field(description="The rating after it.")
    mu_before: float = strawberry.field(description="The strength before the game.")
    sigma_before: float = strawberry.field(description="Its uncertainty before the game.")
    mu: float = strawberry.field(description="The strength after it.")
    sigma: float = strawberry.field(description="Its uncertainty after it.")


def show_change(one: rated.RatingChange) -> RatingChange:
    """Show what a game made of a rating."""
    before, after = rated.shown(one.mu_before, one.sigma_before), rated.shown(one.mu, one.sigma)
    return RatingChange(
        game_id=strawberry.ID(write_id("game", one.game)),
        kind=GameKind(one.kind),
        place=one.place,
        change=after - before,
        rating_before=before,
        rating=after,
        mu_before=one.mu_before,
        sigma_before=one.sigma_before,
        mu=one.mu,
        sigma=one.sigma,
    )


@strawberry.type(description="A change of a rating in a page.")
class RatingChangeEdge:
    """An edge."""

    cursor: str = strawberry.field(description="Give it as `after` to read on from here.")
    node: RatingChange = strawberry.field(description="The change.")


@strawberry.type(description="A page of a player's rating changes, the newest first.")
class RatingChangeConnection:
    """A page of changes."""

    edges: list[RatingChangeEdge] = strawberry.field(description="The changes with their cursors.")
    nodes: list[RatingChange] = strawberry.field(description="The changes.")
    page_info: PageInfo = strawberry.field(description="Where the page ends.")


async def list_rating_changes(
    info: Info, player: UUID, kind: str, *, first: int, after: str | None
) -> RatingChangeConnection:
    """Return a page of a player's rating changes in a kind.

    Raises:
        BadUserInput: ``first`` is no size of a page, or ``after`` no cursor of this list.
    """
    world, most, list_ = info.context.world, page_size(first), f"rating changes {player} {kind}"
    before = read_cursor(after, of=list_)
    rows = await world.blocking(
        lambda: world.standings.ratings.changes(player, kind=kind, before=before, first=most + 1)
    )
    nodes = [show_change(row) for row in rows[:most]]
    edges = [
        RatingChangeEdge(cursor=write_cursor(row.position, of=list_), node=node)
        for row, node in zip(rows, nodes, strict=False)
    ]
    end = edges[-1].cursor if edges else None
    page_info = PageInfo(has_next_page=len(rows) > most, end_cursor=end)
    return RatingChangeConnection(edges=edges, nodes=nodes, page_info=page_info)


@strawberry.type(description="How a player stands against another in the games of a kind that count and both played.")
class HeadToHead:
    """Two players against each other."""

    kind: GameKind = strawberry.field(description="The kind.")
    games: int = strawberry.field(description="The games that both played.")
    ahead: int = strawberry.field(description="Those in which the player had a better place than the opponent.")
    behind: int = strawberry.field(description="Those in which the opponent had the better place.")
    level: int = strawberry.field(description="Those in which they shared a place.")


def show_head_to_head(met: Mapping[str, Met]) -> list[HeadToHead]:
    """Show how a player stands against another, kind by kind."""
    return [
        HeadToHead(kind=GameKind(kind), games=one.games, ahead=one.ahead, behind=one.behind, level=one.level)
        for kind, one in met.items()
    ]


STATISTICS_EFFORTS: Final = {
    "Player.statistics": 20,
    "Player.ratings": 20,
    "Player.ratingChanges": 50,
    "Player.headToHead": 50,
    "Player.history": 50,
    "Player.standing": 50,
}
STATISTICS_LENGTHS: Final = {"Player.ratings": 2, "Player.headToHead": 2}
