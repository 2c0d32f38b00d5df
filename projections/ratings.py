"""How strong players are: ratings by kind of game, each change of them traceable to the game it came from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from openskill.models import PlackettLuce
from psycopg import Cursor
from psycopg.rows import DictRow

from domain.games import FOR_SEVERAL
from domain.storage import Datastore
from projections.counted import CountedGame

__all__ = ["RATING_TABLES", "Rating", "RatingChange", "RatingQueries", "rate", "shown"]

RATING_TABLES: Final = {
    "ratings": (
        """
        CREATE TABLE IF NOT EXISTS ratings (
            player uuid NOT NULL,
            kind text NOT NULL,
            mu double precision NOT NULL,
            sigma double precision NOT NULL,
            games integer NOT NULL,
            game uuid NOT NULL,
            position bigint NOT NULL,
            PRIMARY KEY (player, kind)
        )
        """,
    ),
    "rating_changes": (
        """
        CREATE TABLE IF NOT EXISTS rating_changes (
            player uuid NOT NULL,
            kind text NOT NULL,
            position bigint NOT NULL,
            game uuid NOT NULL,
            place bigint NOT NULL,
            mu_before double precision NOT NULL,
            sigma_before double precision NOT NULL,
            mu double precision NOT NULL,
            sigma double precision NOT NULL,
            PRIMARY KEY (player, kind, position)
        )
        """,
        "CREATE INDEX IF NOT EXISTS rating_changes_by_game ON rating_changes (game)",
    ),
}
"""Statements by the table that they make."""

# By name, here and wherever read models are read: those of a newer program may have columns more.
_RATINGS: Final = "SELECT kind, player, mu, sigma, games, game, position FROM read_models.ratings"
_CHANGES: Final = (
    "SELECT kind, game, position, player, place, mu_before, sigma_before, mu, sigma FROM read_models.rating_changes"
)

_MODEL: Final = PlackettLuce()


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's strength in the games of a kind, as far as it is known."""

    kind: str
    player: UUID
    mu: float
    """What it is taken to be."""
    sigma: float
    """How uncertain that is: the standard deviation."""
    games: int
    """How many were rated."""
    game: UUID
    """The last of them."""
    position: int
    """In the log, where that game came to count."""


@dataclass(frozen=True, slots=True)
class RatingChange:
    """What one game made of one player's rating."""

    kind: str
    game: UUID
    position: int
    """In the log, where the game came to count."""
    player: UUID
    place: int
    """1 for the winner."""
    mu_before: float
    sigma_before: float
    mu: float
    sigma: float


def shown(mu: float, sigma: float) -> int:
    """Return a rating as one number: a strength that the player very likely has. A newcomer's is 1000."""
    return round(1000 + 40 * (mu - 3 * sigma))


def rate(cursor: Cursor[DictRow], games: Sequence[CountedGame]) -> list[RatingChange]:
    """Rate games, in the order given; return what they changed, in that order and by seat.

    A game is rated where two or more players have places in it. The ratings before are those of the tables.
    """
    rated = [(game, placed) for game in games if len(placed := _placed(game)) > 1]
    if not rated:
        return []
    players = {(player, game.result.kind) for game, placed in rated for player, _ in placed}
    ratings = _stored(cursor, players)
    changes: list[RatingChange] = []
    for game, placed in rated:
        result = game.result
        before = [ratings.get((player, result.kind)) for player, _ in placed]
        known = [(rating.mu, rating.sigma) if rating else (_MODEL.mu, _MODEL.sigma) for rating in before]
        teams = _MODEL.rate(
            [[_MODEL.rating(mu=mu, sigma=sigma)] for mu, sigma in known], ranks=[float(place) for _, place in placed]
        )
        for (player, place), earlier, (mu, sigma), (new,) in zip(placed, before, known, teams, strict=True):
            change = RatingChange(result.kind, result.game, game.position, player, place, mu, sigma, new.mu, new.sigma)
            changes.append(change)
            number = earlier.games + 1 if earlier else 1
            ratings[player, result.kind] = Rating(
                result.kind, player, new.mu, new.sigma, number, result.game, game.position
            )
    _write(cursor, [ratings[key] for key in players], changes)
    return changes


def _placed(game: CountedGame) -> list[tuple[UUID, int]]:
    """Return who has which place, by seat, where games of the kind are rated."""
    if game.result.kind not in FOR_SEVERAL:
        return []
    return [(seat.player, seat.place) for seat in game.seats if seat.place is not None]


def _stored(cursor: Cursor[DictRow], players: set[tuple[UUID, str]]) -> dict[tuple[UUID, str], Rating]:
    rows = cursor.execute(
        "SELECT r.* FROM unnest(%b::uuid[], %b::text[]) AS w (player, kind) JOIN ratings AS r USING (player, kind)",
        ([player for player, _ in players], [kind for _, kind in players]),
        prepare=False,
    )
    return {(row["player"], row["kind"]): Rating(**row) for row in rows.fetchall()}


def _write(cursor: Cursor[DictRow], ratings: Sequence[Rating], changes: Sequence[RatingChange]) -> None:
    cursor.execute(
        "INSERT INTO ratings SELECT * FROM unnest(%b::uuid[], %b::text[], %b::double precision[],"
        " %b::double precision[], %b::integer[], %b::uuid[], %b::bigint[])"
        " ON CONFLICT (player, kind) DO UPDATE SET mu = EXCLUDED.mu, sigma = EXCLUDED.sigma, games = EXCLUDED.games,"
        " game = EXCLUDED.game, position = EXCLUDED.position",
        (
            [rating.player for rating in ratings],
            [rating.kind for rating in ratings],
            [rating.mu for rating in ratings],
            [rating.sigma for rating in ratings],
            [rating.games for rating in ratings],
            [rating.game for rating in ratings],
            [rating.position for rating in ratings],
        ),
    )
    cursor.execute(
        "INSERT INTO rating_changes SELECT * FROM unnest(%b::uuid[], %b::text[], %b::bigint[], %b::uuid[],"
        " %b::bigint[], %b::double precision[], %b::double precision[], %b::double precision[],"
        " %b::double precision[])",
        (
            [change.player for change in changes],
            [change.kind for change in changes],
            [change.position for change in changes],
            [change.game for change in changes],
            [change.place for change in changes],
            [change.mu_before for change in changes],
            [change.sigma_before for change in changes],
            [change.mu for change in changes],
            [change.sigma for change in changes],
        ),
    )


class RatingQueries:
    """What can be asked of ratings."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore: Final = datastore

    def ratings(self, player: UUID) -> list[Rating]:
        """Return a player's ratings, by the name of the kind; none for a kind of which no game was rated.

        Raises:
            OperationalError: the database is away.
        """
        query = _RATINGS + " WHERE player = %s ORDER BY kind"
        return [Rating(**row) for row in self._datastore.read(query, (player,))]

    def of_players(self, players: Collection[UUID]) -> dict[UUID, list[Rating]]:
        """Return what ``ratings`` does of several players, each of whom has an entry.

        Raises:
            OperationalError: the database is away.
        """
        query = _RATINGS + " WHERE player = ANY(%s) ORDER BY kind"
        found: dict[UUID, list[Rating]] = {player: [] for player in players}
        for row in self._datastore.read(query, (list(found),)):
            found[row["player"]].append(Rating(**row))
        return found

    def changes(self, player: UUID, *, kind: str, before: int | None = None, first: int) -> list[RatingChange]:
        """Return at most ``first`` changes of a player's rating in a kind, the newest first.

        Args:
            player: whose.
            kind: of game.
            before: only those from before this position in the log.
            first: how many.

        Raises:
            OperationalError: the database is away.
        """
        query = _CHANGES + (
            " WHERE player = %s AND kind = %s AND position < coalesce(%s, 9223372036854775807)"
            " ORDER BY position DESC LIMIT %s"
        )
        return [RatingChange(**row) for row in self._datastore.read(query, (player, kind, before, first))]

    def of_game(self, game: UUID) -> list[RatingChange]:
        """Return what a game changed, the winner's first; nothing where it was not rated.

        Raises:
            OperationalError: the database is away.
        """
        query = _CHANGES + " WHERE game = %s ORDER BY place, player"
        return [RatingChange(**row) for row in self._datastore.read(query, (game,))]

    def changes_in(self, player: UUID, games: Collection[UUID]) -> dict[UUID, RatingChange]:
        """Return what games changed for a player, by game; without those that were not rated.

        Raises:
            OperationalError: the database is away.
        """
        query = _CHANGES + " WHERE game = ANY(%s) AND player = %s"
        return {row["game"]: RatingChange(**row) for row in self._datastore.read(query, (list(games), player))}
