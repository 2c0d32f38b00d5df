"""Finished games, and all that is made of those that count: scoreboards, ratings, statistics of players.

One read model, so that the events of a game are read and folded once. It takes a game in where it finishes, and once
more where its seeds are revealed, which closes it: at once, or after they were held back. If these lead to what was
committed to before the deal, the game counts, in the order of the log: whatever the batches are, the rows are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, LiteralString
from uuid import UUID

import structlog
from psycopg import Cursor
from psycopg.rows import DictRow, tuple_row
from psycopg.sql import SQL, Identifier

from domain.events import read_event
from domain.games import FACT_TYPES
from domain.lifecycle import GameFinished, SeedsHeldBack, SeedsRevealed
from domain.results import Result, result_of
from domain.storage import Datastore, Logged
from projections.counted import CountedGame
from projections.entering import SCOREBOARD_TABLES, enter
from projections.players import PLAYER_TABLES, count_meetings, count_players
from projections.ratings import RATING_TABLES, rate

__all__ = ["FinishedGame", "FinishedSeat", "ResultQueries", "Results"]

RESULT_TABLES: Final = {
    "finished_games": (
        """
        CREATE TABLE IF NOT EXISTS finished_games (
            game uuid PRIMARY KEY,
            position bigint NOT NULL UNIQUE,
            kind text NOT NULL,
            ruleset integer NOT NULL,
            host uuid NOT NULL,
            label text,
            ending text NOT NULL,
            opened_at timestamptz NOT NULL,
            dealt_at timestamptz NOT NULL,
            finished_at timestamptz NOT NULL,
            version bigint NOT NULL,
            hash bytea NOT NULL,
            proved boolean NOT NULL,
            seeds_due timestamptz
        )
        """,
        "CREATE INDEX IF NOT EXISTS finished_games_by_kind ON finished_games (kind, position)",
        "CREATE INDEX IF NOT EXISTS finished_games_by_host ON finished_games (host, position)",
        """
        CREATE INDEX IF NOT EXISTS finished_games_by_label ON finished_games (label, position) WHERE label IS NOT NULL
        """,
    ),
    "finished_seats": (
        """
        CREATE TABLE IF NOT EXISTS finished_seats (
            game uuid NOT NULL,
            seat integer NOT NULL,
            player uuid NOT NULL,
            place bigint,
            points bigint,
            resigned boolean NOT NULL,
            position bigint NOT NULL,
            PRIMARY KEY (game, seat)
        )
        """,
        "CREATE INDEX IF NOT EXISTS finished_seats_by_player ON finished_seats (player, position)",
    ),
}
"""Statements by the table that they make."""

TABLES: Final = RESULT_TABLES | SCOREBOARD_TABLES | RATING_TABLES | PLAYER_TABLES

ENDS: Final = (GameFinished, SeedsHeldBack, SeedsRevealed)
"""The facts with which a game is taken in."""
_FINISHING: Final = frozenset(topic for topic, fact in FACT_TYPES.items() if issubclass(fact, GameFinished))
_AFTER: Final = (SeedsRevealed.topic, SeedsHeldBack.topic)
"""What follows upon the end; the later one first."""
TOGETHER: Final = 100
"""Games whose events are read at once: a batch may end many, and long ones."""


class Results:
    """The projection."""

    name: str = "results"
    version: int = 2
    tables: tuple[str, ...] = tuple(TABLES)

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""
        for statements in TABLES.values():
            for statement in statements:
                cursor.execute(statement)

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log."""
        ending = list(dict.fromkeys(each.game for each in events if issubclass(each.fact_type, ENDS)))
        if not ending:
            return
        ended = _ended(cursor, ending, since=events[0].position, until=events[-1].position)
        _write(cursor, ended)
        counted = [CountedGame(each.position, each.result) for each in ended if each.result.proved]
        if counted:
            counted.sort(key=attrgetter("position"))
            enter(cursor, counted, rate(cursor, counted))
            count_players(cursor, counted)
            count_meetings(cursor, counted)


_logger: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Ended:
    """A finished game as it is after one of the events by which it is taken in."""

    position: int
    """Of that event in the log."""
    finished: int
    """Of the event that finished it."""
    result: Result


_Row = tuple[UUID, int, str, bytes]
"""An event: its game, its position in the log, its topic, its bytes."""

_EVENTS: Final = (
    "SELECT e.originator_id, e.notification_id, e.topic, e.state"
    " FROM unnest(%b::uuid[]) AS w (game) CROSS JOIN LATERAL ("
    "SELECT originator_id, originator_version, notification_id, topic, state FROM public.game_events"
    " WHERE originator_id = w.game AND notification_id <= %b::bigint ORDER BY originator_version) AS e"
)


def _ended(cursor: Cursor[DictRow], games: Sequence[UUID], *, since: int, until: int) -> list[_Ended]:
    """Return those of some games that finish between two positions in the log, or are closed there after it.

    What comes later is not read: the log may be further than a batch.
    """
    ended: list[_Ended] = []
    for start in range(0, len(games), TOGETHER):
        with cursor.connection.cursor(binary=True, row_factory=tuple_row) as reading:
            reading.execute(_EVENTS, (list(games[start : start + TOGETHER]), until), prepare=False)
            rows: list[_Row] = reading.fetchall()
        for _, group in groupby(rows, key=itemgetter(0)):
            events = list(group)
            finished, last = _end(events)
            if finished is None or events[last][1] < since:
                continue
            if (result := _result_of(events[: last + 1])) is not None:
                ended.append(_Ended(events[last][1], events[finished][1], result))
    return ended


def _result_of(rows: Sequence[_Row]) -> Result | None:
    """Return what a game came to; None where its facts do not fit together, as those of an import may.

    Raises:
        ValueError: there is a fact among them that this program does not know.
        LookupError: this program does not know its kind and ruleset.
    """
    events = [read_event(state, FACT_TYPES) for *_, state in rows]
    try:
        return result_of(events)
    except ValueError as error:
        _logger.warning("a finished game has no result", game=str(events[0].game), error=str(error))
        return None


def _end(events: Sequence[_Row]) -> tuple[int | None, int]:
    """Return which event finishes a game, None where none does; and which one is the last that is taken in.

    That is the one which closes it, or else the one that holds its seeds back, or else the one that finishes it: so
    however often a game is taken in, and however the log is cut, it is taken in as it is after the same events.
    """
    finished = next((n for n, event in enumerate(events) if event[2] in _FINISHING), None)
    after = (next((n for n, event in enumerate(events) if event[2] == topic), 0) for topic in _AFTER)
    return finished, max(finished or 0, next(filter(None, after), 0))


def _write(cursor: Cursor[DictRow], ended: Sequence[_Ended]) -> None:
    if not ended:
        return
    results = [each.result for each in ended]
    cursor.execute(
        "INSERT INTO finished_games SELECT * FROM unnest(%b::uuid[], %b::bigint[], %b::text[], %b::integer[],"
        " %b::uuid[], %b::text[], %b::text[], %b::timestamptz[], %b::timestamptz[], %b::timestamptz[], %b::bigint[],"
        " %b::bytea[], %b::boolean[], %b::timestamptz[])"
        " ON CONFLICT (game) DO UPDATE SET version = EXCLUDED.version, hash = EXCLUDED.hash, proved = EXCLUDED.proved,"
        " seeds_due = EXCLUDED.seeds_due",
        (
            [result.game for result in results],
            [each.finished for each in ended],
            [result.kind for result in results],
            [result.ruleset for result in results],
            [result.host for result in results],
            [result.label for result in results],
            [result.ending for result in results],
            [result.opened_at for result in results],
            [result.dealt_at for result in results],
            [result.finished_at for result in results],
            [result.version for result in results],
            [bytes.fromhex(result.hash) for result in results],
            [result.proved for result in results],
            [result.seeds_due for result in results],
        ),
    )
    seats = [(each, seat) for each in ended for seat in each.result.seats]
    cursor.execute(
        "INSERT INTO finished_seats SELECT * FROM unnest(%b::uuid[], %b::integer[], %b::uuid[], %b::bigint[],"
        " %b::bigint[], %b::boolean[], %b::bigint[]) ON CONFLICT DO NOTHING",
        (
            [each.result.game for each, _ in seats],
            [seat.seat for _, seat in seats],
            [seat.player for _, seat in seats],
            [seat.place for _, seat in seats],
            [seat.points for _, seat in seats],
            [seat.resigned for _, seat in seats],
            [each.finished for each, _ in seats],
        ),
    )


@dataclass(frozen=True, slots=True)
class FinishedSeat:
    """One seat of a finished game."""

    seat: int
    player: UUID
    place: int | None
    """1 for the winner; None where the game has no places."""
    points: int | None
    """None in a game without points."""
    resigned: bool


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A finished game."""

    game: UUID
    position: int
    """In the log, of the event that finished it."""
    kind: str
    ruleset: int
    host: UUID
    label: str | None
    ending: str
    opened_at: datetime
    dealt_at: datetime
    finished_at: datetime
    version: int
    """Of its last event that was taken in."""
    hash: str
    """Of that event, in hex."""
    proved: bool
    """Whether its seeds are revealed and lead to what was committed to before the deal. One that is not proved counts
    nowhere; where seeds are held back, that may yet come."""
    seeds_due: datetime | None
    """When seeds that are not revealed come out; None where none are on their way."""
    seats: tuple[FinishedSeat, ...]
    """Seat 1 first."""


_SETTLED: Final = (
    # The seeds follow in the log at once, unless they are held back. Where the read model has not come to what follows,
    # the game is not told yet: who reads on from it would never hear that it is proved.
    "(g.proved OR g.position < (SELECT m.position FROM read_models.projection_positions AS m WHERE m.name = 'results')"
    " OR g.position >= (SELECT max(e.notification_id) FROM public.game_events AS e))"
)
_PLAYED_BY: Final = (
    # A log may seat a player twice; his game is listed once.
    " JOIN read_models.finished_seats AS p ON p.game = g.game AND p.player = %s"
    " AND NOT EXISTS (SELECT FROM read_models.finished_seats AS e"
    " WHERE e.game = p.game AND e.player = p.player AND e.seat < p.seat)"
)


_AGAINST: Final = "EXISTS (SELECT FROM read_models.finished_seats AS o WHERE o.game = g.game AND o.player = %s)"


class ResultQueries:
    """What can be asked of finished games."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore: Final = datastore

    def finished(  # noqa: PLR0913 - each narrows the list by one thing more
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        kind: str | None = None,
        label: str | None = None,
        player: UUID | None = None,
        host: UUID | None = None,
        opponent: UUID | None = None,
        proved: bool | None = None,
        first: int,
        newest_first: bool = False,
    ) -> list[FinishedGame]:
        """Return at most ``first`` finished games, in the order in which the log finishes them or the other way round.

        In the order of the log none is left out by those who read on and on, and none is told before all that its
        last command says of it is taken in.

        Args:
            after: only those that finished after this position in the log.
            before: only those that finished before this one.
            kind: only those of this kind.
            label: only those that bear this label.
            player: only those in which this player has a seat.
            host: only those that this player opened.
            opponent: only those in which this player, too, has a seat.
            proved: only those that are proved, or those that are not.
            first: how many.
            newest_first: which way round.

        Raises:
            OperationalError: the database is away.
        """
        position = "p.position" if player is not None else "g.position"
        wanted: list[tuple[LiteralString, object]] = [
            ("g.kind = %s", kind),
            ("g.label = %s", label),
            ("g.host = %s", host),
            (_AGAINST, opponent),
            ("g.proved = %s", proved),
            (f"{position} > %s", after),
            (f"{position} < %s", before),
        ]
        asked = [(condition, value) for condition, value in wanted if value is not None]
        conditions = [SQL(condition) for condition, _ in asked] + [SQL("TRUE" if newest_first else _SETTLED)]
        query = SQL(
            "WITH page AS MATERIALIZED ("
            "SELECT g.* FROM read_models.finished_games AS g{} WHERE {} ORDER BY {} LIMIT %s)"
            " SELECT {}, s.seat, s.player, s.place, s.points, s.resigned"
            " FROM page JOIN read_models.finished_seats AS s USING (game) ORDER BY {}, s.seat"
        ).format(
            SQL(_PLAYED_BY if player is not None else ""),
            SQL(" AND ").join(conditions),
            SQL(position + (" DESC" if newest_first else "")),
            SQL(", ").join(Identifier("page", column) for column in _GAME_COLUMNS),
            SQL("page.position DESC" if newest_first else "page.position"),
        )
        parameters = [*([player] if player is not None else []), *(value for _, value in asked), first]
        rows = self._datastore.read(query, parameters, row_factory=tuple_row)
        return [_told(list(seats)) for _, seats in groupby(rows, key=itemgetter(_POSITION))]


def _told(rows: Sequence[tuple[Any, ...]]) -> FinishedGame:
    """Return a game from its rows, one of each seat."""
    *game, hash_, proved, seeds_due = rows[0][:_GAMES]
    seats = tuple(FinishedSeat(*row[_GAMES:]) for row in rows)
    told: list[Any] = [*game, hash_.hex(), proved, seeds_due, seats]
    return FinishedGame(*told)


_GAME_COLUMNS: Final = tuple(field.name for field in fields(FinishedGame) if field.name != "seats")
"""In the order in which a game and, after them, a seat has its fields."""
_GAMES: Final = len(_GAME_COLUMNS)
_POSITION: Final = _GAME_COLUMNS.index("position")
