"""The event store: the eventsourcing library on PostgreSQL, with our own bytes.

An append holds a lock until its commit, as the library's does, so events become visible in the order of their positions
in the log, and a follower that reads on from the last position it has seen misses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

import psycopg
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import IntegrityError, JSONTranscoder, Mapper, PersistenceError, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder
from psycopg import Cursor
from psycopg.rows import DictRow, tuple_row

from domain.datastore import (
    DATABASE_AWAY,
    TIMELINE,
    TRUSTED,
    Datastore,
    NoConnection,
    NotAsked,
    NotReplicated,
    confirm,
)
from domain.events import Event, FactTypes, UnknownEvent, must_be_known, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import GameLabelled
from domain.log_tables import EVENTS_TABLE

__all__ = [
    "CHANNEL",
    "DATABASE_AWAY",
    "Datastore",
    "EventMapper",
    "EventRecorder",
    "LogBusy",
    "Logged",
    "Newer",
    "NoConnection",
    "NotAsked",
    "NotReplicated",
    "PersistenceError",
    "confirm",
    "log_after",
    "log_end",
]

CHANNEL: Final = "game_events"
"""PostgreSQL's notification channel: something was appended. A hint; the log itself is the truth."""


class LogBusy(NotAsked):
    """Another writer held the log for too long; nothing was appended."""


class Newer(NamedTuple):
    """What the log has of some games."""

    events: list[list[bytes]]
    """For each game, as stored."""
    now: datetime
    """The database's time."""
    timeline: int
    """Of the database: it grows with each failover, and with nothing else that a server lives to see."""


class EventMapper(Mapper[UUID]):
    """Between events and stored events: the bytes that were hashed are the bytes that are stored."""

    def __init__(self, types: FactTypes = FACT_TYPES) -> None:
        super().__init__(JSONTranscoder())
        self.types = types

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Return an event's stored form."""
        event = cast("Event", domain_event)
        return StoredEvent(event.game, event.seq, event.fact.topic, event.data)

    def to_domain_event(self, stored_event: StoredEvent) -> Event:
        """Read an event.

        Raises:
            ValueError: the bytes are not an event that this program knows.
        """
        return read_event(stored_event.state, self.types)


class EventRecorder(PostgresApplicationRecorder):
    """The library's recorder, writing through our function: many appends go in one transaction, each as if alone."""

    def __init__(self, datastore: Datastore, *, appended: Callable[[], None] = lambda: None) -> None:
        """Take what is to be told after each commit, in the thread that made it."""
        super().__init__(datastore, events_table_name=EVENTS_TABLE)
        self._datastore: Final = datastore
        self.appended = appended

    def append(
        self, appends: Sequence[Sequence[StoredEvent]], *, timeline: int | None = None
    ) -> list[Sequence[int] | None]:
        """Append the events of several commands in one transaction, the first command's first.

        Args:
            appends: each command's events.
            timeline: of the database on which their games were read; None where that does not matter.

        Returns:
            For each the positions of its events in the log, which are on disk; None where it does not follow the
            last event of its game: others came first, and none of its events was appended. Where the database is on
            another timeline that is so of all: what they follow may not be there.

        Raises:
            LogBusy: another writer holds the log; nothing was appended.
            IntegrityError: two of the appends want the same place; nothing was appended.
            NotReplicated: the events were appended, and may not be on the standby.
            OperationalError, InterfaceError: the database is away; the events may or may not have been appended.
        """
        numbered = [(number, event) for number, events in enumerate(appends) for event in events]
        columns = (
            [number for number, _ in numbered],
            [event.originator_id for _, event in numbered],
            [event.originator_version for _, event in numbered],
            [event.topic for _, event in numbered],
            [event.state for _, event in numbered],
        )
        with self._datastore.get_connection() as conn, conn.cursor(binary=True, row_factory=tuple_row) as cursor:
            try:
                refused, positions, *_ = cursor.execute(_APPEND, (timeline, *columns), prepare=True).fetchall()[0]
            except psycopg.errors.NullValueNotAllowed:
                if timeline is None:
                    raise
                return [None] * len(appends)
            except psycopg.errors.LockNotAvailable as error:
                raise LogBusy from error
        self.appended()
        taken, at = iter(positions), set(refused)
        return [None if number in at else [next(taken) for _ in events] for number, events in enumerate(appends)]

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Append the events of one command, as the library wants it; return their positions.

        Raises:
            IntegrityError: others came first; nothing was appended.
            LogBusy, OperationalError, InterfaceError: as ``append``.
        """
        (positions,) = self.append([stored_events])
        if positions is None:
            raise IntegrityError("the game has gone on: nothing was appended")
        return positions

    def drop_dead_connections(self) -> None:
        """Replace the idle connections that a failover has left dead."""
        self._datastore.pool.check()

    def newer(self, games: Sequence[tuple[UUID, int]]) -> Newer:
        """Return, for each game and version, the game's events after that version; and what else goes with them.

        Raises:
            OperationalError: the database is away, or is a standby.
        """
        ids, versions = [game for game, _ in games], [version for _, version in games]
        (_, timeline, now, _), *rows = self._datastore.read(_NEWER, (ids, versions), row_factory=tuple_row)
        found: list[list[bytes]] = [[] for _ in games]
        for place, _, _, state in rows:
            found[place - 1].append(state)
        return Newer(found, now, timeline)

    def now(self) -> datetime:
        """Return the database's time.

        Raises:
            OperationalError: the database is away.
        """
        now: datetime = self._datastore.read(_NOW, ())[0]["now"]
        return now

    def span(self, game: UUID, *, after: int, first: int) -> list[Event]:
        """Return at most ``first`` events of a game after a sequence number.

        Raises:
            OperationalError: the database is away.
        """
        rows = self._datastore.read(_SPAN, (game, after, first))
        return [read_event(row["state"], FACT_TYPES) for row in rows]

    def safe_span(self, game: UUID, *, after: int, first: int) -> list[Event]:
        """Do what ``span`` does, and make sure that the events are where they must be to be acknowledged.

        Raises:
            NotReplicated: they are in the log, and may not be on the standby.
            OperationalError: the database is away.
        """
        # In one transaction, so of one server, also behind a pooler; it ends after what was seen in it.
        with self._datastore.get_connection() as conn, conn.transaction():
            rows = conn.execute(_SPAN, (game, after, first), binary=True).fetchall()
            if rows:
                confirm(conn)
        return [read_event(row["state"], FACT_TYPES) for row in rows]

    def newest(self, game: UUID) -> Event | None:
        """Return the last event of a game; None where there is no such game.

        Raises:
            OperationalError: the database is away.
        """
        rows = self._datastore.read(_NEWEST, (game,))
        return read_event(rows[0]["state"], FACT_TYPES) if rows else None

    def opened(
        self,
        topics: Collection[str],
        *,
        changed_after: int = 0,
        among: Collection[UUID] | None = None,
        label: str | None = None,
    ) -> list[UUID]:
        """Return the games whose first facts have one of the topics, in the order of the log.

        Args:
            topics: of the facts that open games.
            changed_after: only games with an event after this position in the log.
            among: only these games; None for all.
            label: only games that bear this label; None for all.

        Raises:
            OperationalError: the database is away.
        """
        ids = None if among is None else list(among)
        labelled = (label, GameLabelled.topic, label)
        rows = self._datastore.read(_OPENED, (list(topics), changed_after, ids, ids, *labelled))
        return [row["game"] for row in rows]


class Logged:
    """An event and its position in the log of all games. It is read from its bytes when it is asked for."""

    __slots__ = ("_event", "_state", "_types", "fact_type", "game", "position", "seq")

    def __init__(self, position: int, game: UUID, seq: int, topic: str, state: bytes, types: FactTypes) -> None:
        """Take a row of the log.

        Raises:
            UnknownEvent: a newer program has written it.
        """
        self.position: Final = position
        self.game: Final = game
        self.seq: Final = seq
        self._state: Final = state
        self._types: Final = types
        self._event: Event | None = None
        self.fact_type: Final = must_be_known(topic, _version(state), types)

    @property
    def data(self) -> bytes:
        """The bytes that are stored."""
        return self._state

    @property
    def event(self) -> Event:
        """The event.

        Raises:
            ValueError: the bytes are not an event that this program knows.
        """
        if self._event is None:
            self._event = read_event(self._state, self._types)
        return self._event


def log_after(cursor: Cursor[Any], position: int, *, limit: int, types: FactTypes = FACT_TYPES) -> list[Logged]:
    """Return at most ``limit`` events of all games after a position in the log, in its order.

    They end before the first one that a newer program has written.

    Raises:
        UnknownEvent: that one is the next.
    """
    with cursor.connection.cursor(binary=True, row_factory=tuple_row) as reading:
        rows = reading.execute(_LOG, (position, limit), prepare=True).fetchall()
    found: list[Logged] = []
    for place, game, seq, topic, state in rows:
        try:
            found.append(Logged(place, game, seq, topic, state, types))
        except UnknownEvent:
            if not found:
                raise
            break
    return found


def _version(state: bytes) -> int:
    """Return the version of the fact in an event, without reading all of it; 0 where that can't be told so.

    Most events are not read by those who follow the log. Whether they may pass over one must be known all the same.
    """
    version = state[state.rfind(b'"v":') + 4 : -1]  # keys are sorted, and this is the last
    return int(version) if len(version) < 10 and version.isdigit() else 0


def log_end(cursor: Cursor[DictRow]) -> int:
    """Return the position of the newest event; 0 where there is none."""
    row = cursor.execute(_LOG_END).fetchone()
    return int(row["position"]) if row else 0


_APPEND: Final = (
    f"SELECT refused, positions, {TRUSTED.format(local='true')}"  # noqa: S608 - made of constants
    # Nothing of nothing is refused by the function, before it does anything.
    f" FROM public.append_events(CASE WHEN coalesce({TIMELINE} = %b::bigint, true) THEN %b::integer[] END,"
    " %b::uuid[], %b::bigint[], %b::text[], %b::bytea[])"
)
_NEWER: Final = (
    f"SELECT 0::bigint AS place, {TIMELINE} AS seq, clock_timestamp() AS now, NULL::bytea AS state"  # noqa: S608
    " UNION ALL"
    " SELECT k.place, e.originator_version, NULL, e.state"
    " FROM unnest(%b::uuid[], %b::bigint[]) WITH ORDINALITY AS k (game, version, place) CROSS JOIN LATERAL ("
    "SELECT originator_version, state FROM public.game_events"
    " WHERE originator_id = k.game AND originator_version > k.version ORDER BY originator_version) AS e"
    " ORDER BY place, seq"
)
_NOW: Final = "SELECT clock_timestamp() AS now"
_SPAN: Final = (
    "SELECT state FROM public.game_events WHERE originator_id = %s AND originator_version > %s"
    " ORDER BY originator_version LIMIT %s"
)
_NEWEST: Final = (
    "SELECT state FROM public.game_events WHERE originator_id = %s ORDER BY originator_version DESC LIMIT 1"
)
_OPENED: Final = (
    "SELECT o.originator_id AS game FROM public.game_events AS o"
    " WHERE o.originator_version = 1 AND o.topic = ANY (%b::text[])"
    " AND EXISTS (SELECT FROM public.game_events AS e"
    " WHERE e.originator_id = o.originator_id AND e.notification_id > %b::bigint)"
    " AND (%b::uuid[] IS NULL OR o.originator_id = ANY (%b::uuid[]))"
    " AND (%b::text IS NULL OR EXISTS (SELECT FROM public.game_events AS l"
    " WHERE l.originator_id = o.originator_id AND l.originator_version = 2 AND l.topic = %b::text"
    " AND convert_from(l.state, 'UTF8')::json -> 'fact' ->> 'label' = %b::text))"
    " ORDER BY o.notification_id"
)
_LOG: Final = (
    "SELECT notification_id, originator_id, originator_version, topic, state FROM public.game_events"
    " WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
)
_LOG_END: Final = "SELECT coalesce(max(notification_id), 0) AS position FROM public.game_events"
