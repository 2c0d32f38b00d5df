"""The Merkle tree over all events, in tiles: what checkpoints and proofs are worked out from.

A leaf is an event's stored bytes, and the leaves stand in the order of the log. Positions in the log have gaps, the
numbers of leaves have none: of each tile of leaves it is noted where in the log it begins, so that the number of a leaf
is found by counting a few events, and the event of a leaf likewise.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString, TypeAlias
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import DictRow, tuple_row

from domain.merkle import HASH_BYTES, WIDTH, TileId, Tiles, grown, leaf_hash
from domain.storage import Datastore, Logged

__all__ = ["Ask", "CachedTiles", "Entry", "Reached", "Transparency", "TreeQueries", "asking"]

TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS merkle_tiles (
        level integer NOT NULL,
        number bigint NOT NULL,
        hashes bytea NOT NULL,
        PRIMARY KEY (level, number)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS merkle_beginnings (
        number bigint PRIMARY KEY,
        position bigint NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS merkle_beginnings_by_position ON merkle_beginnings (position)",
)

# A tree of eight levels of tiles has more leaves than a position can count.
_NEWEST: Final = (
    "SELECT t.level, t.number, t.hashes FROM generate_series(0, 7) AS l (level) CROSS JOIN LATERAL ("
    "SELECT level, number, hashes FROM merkle_tiles WHERE level = l.level ORDER BY number DESC LIMIT 1) AS t"
)
_WRITE: Final = (
    "INSERT INTO merkle_tiles SELECT * FROM unnest(%b::integer[], %b::bigint[], %b::bytea[])"
    " ON CONFLICT (level, number) DO UPDATE SET hashes = EXCLUDED.hashes"
)
_BEGIN: Final = (
    "INSERT INTO merkle_beginnings SELECT * FROM unnest(%b::bigint[], %b::bigint[])"
    " ON CONFLICT (number) DO UPDATE SET position = EXCLUDED.position"
)


class Transparency:
    """The projection. It parses nothing."""

    name: str = "transparency"
    version: int = 1
    tables: tuple[str, ...] = ("merkle_tiles", "merkle_beginnings")

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        """Make the tables if they are missing."""
        for statement in TABLES:
            cursor.execute(statement)

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        """Take in the next events of the log.

        Raises:
            LookupError: a tile is missing that was there: the tables are to be built anew.
        """
        rows = cursor.execute(_NEWEST, binary=True).fetchall()
        newest = {(row["level"], row["number"]): row["hashes"] for row in rows}
        size = _size(newest)
        try:
            changed = grown(size, newest, [leaf_hash(logged.data) for logged in events])
        except KeyError as missing:
            raise LookupError(f"the tile {missing} is not there: tic project rebuild {self.name}") from None
        levels, numbers = zip(*changed, strict=True)
        cursor.execute(_WRITE, (list(levels), list(numbers), list(changed.values())))
        if begun := range(-size % WIDTH, len(events), WIDTH):
            positions = [events[offset].position for offset in begun]
            cursor.execute(_BEGIN, ([(size + offset) // WIDTH for offset in begun], positions))


def _size(tiles: Tiles) -> int:
    """Return how many leaves a tree has whose newest tiles these are."""
    number = max((number for level, number in tiles if level == 0), default=0)
    return number * WIDTH + len(tiles.get((0, number), b"")) // HASH_BYTES


# Queries

Ask: TypeAlias = Callable[[LiteralString, Sequence[object]], list[tuple[Any, ...]]]
"""Returns the rows of a query, with binary values: of the newest state, or of a transaction's."""


def asking(datastore: Datastore) -> Ask:
    """Return what asks for the newest state, in a statement of its own each time."""

    def ask(query: LiteralString, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        return datastore.read(query, parameters, row_factory=tuple_row)

    return ask


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the tree has come."""

    size: int
    """Its leaves."""
    position: int
    """In the log, of the last one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as the tree has it."""

    index: int
    """Of its leaf, from 0."""
    game: UUID
    seq: int
    data: bytes


_REACHED: Final = (
    "SELECT coalesce((SELECT number * 256 + length(hashes) / 32 FROM read_models.merkle_tiles"
    " WHERE level = 0 ORDER BY number DESC LIMIT 1), 0), position"
    " FROM read_models.projection_positions WHERE name = 'transparency'"
)
_TILES: Final = (
    "SELECT t.level, t.number, t.hashes FROM unnest(%b::integer[], %b::bigint[]) AS w (level, number)"
    " JOIN read_models.merkle_tiles AS t USING (level, number)"
)
_ENTRY: Final = (
    "SELECT b.number * 256 + (SELECT count(*) FROM public.game_events AS o"
    " WHERE o.notification_id >= b.position AND o.notification_id < e.notification_id), e.state"
    " FROM public.game_events AS e"
    " JOIN read_models.projection_positions AS p ON p.name = 'transparency' AND p.position >= e.notification_id"
    " CROSS JOIN LATERAL (SELECT number, position FROM read_models.merkle_beginnings"
    " WHERE position <= e.notification_id ORDER BY position DESC LIMIT 1) AS b"
    " WHERE e.originator_id = %b AND e.originator_version = %b"
)
_OF_TILE: Final = (
    "SELECT e.notification_id, e.state FROM read_models.merkle_beginnings AS b"
    " JOIN read_models.projection_positions AS p ON p.name = 'transparency'"
    " CROSS JOIN LATERAL (SELECT notification_id, state FROM public.game_events AS o"
    " WHERE o.notification_id >= b.position AND o.notification_id <= p.position"
    " ORDER BY o.notification_id OFFSET %b::bigint LIMIT %b::bigint) AS e"
    " WHERE b.number = %b::bigint"
)
_LEAVES: Final = (
    "SELECT notification_id, state FROM public.game_events"
    " WHERE notification_id > %b::bigint AND notification_id <= %b::bigint ORDER BY notification_id LIMIT %b::bigint"
)
_MORE: Final = (
    "SELECT count(*) FROM (SELECT FROM public.game_events WHERE notification_id > %b::bigint LIMIT %b::bigint) AS more"
)


class TreeQueries:
    """What can be asked of the tree, and of the log beneath it. What asks says of which moment."""

    def __init__(self, ask: Ask) -> None:
        self._ask: Final = ask

    def reached(self) -> Reached:
        """Return how far the tree has come."""
        return next((Reached(*row) for row in self._ask(_REACHED, ())), Reached(0, 0))

    def tiles(self, ids: Sequence[TileId]) -> dict[TileId, bytes]:
        """Return those of the tiles that are there."""
        if not ids:
            return {}
        levels, numbers = [level for level, _ in ids], [number for _, number in ids]
        return {(level, number): hashes for level, number, hashes in self._ask(_TILES, (levels, numbers))}

    def entry(self, game: UUID, seq: int) -> Entry | None:
        """Return an event with the number of its leaf; None where the tree does not have it (yet)."""
        return next((Entry(index, game, seq, data) for index, data in self._ask(_ENTRY, (game, seq))), None)

    def entries(self, number: int, most: int) -> list[bytes]:
        """Return the stored bytes of the first events whose leaves are in a tile of leaves, in their order."""
        return [data for _, data in self._ask(_OF_TILE, (0, most, number))]

    def position(self, index: int) -> int | None:
        """Return where in the log a leaf stands; None where the tree has no such leaf."""
        return next((place for place, _ in self._ask(_OF_TILE, (index % WIDTH, 1, index // WIDTH))), None)

    def leaves(self, *, after: int, up_to: int, most: int) -> list[tuple[int, bytes]]:
        """Return events with their positions between two positions in the log, as it has them."""
        return [(position, data) for position, data in self._ask(_LEAVES, (after, up_to, most))]

    def more(self, *, after: int, most: int) -> int:
        """Return how many events the log has after a position; no more than ``most`` are counted."""
        ((number,),) = self._ask(_MORE, (after, most))
        return int(number)


class CachedTiles:
    """Tiles, of which those that are whole are kept: they never change, unless someone has changed them."""

    def __init__(self, source: Callable[[Sequence[TileId]], Tiles], *, most: int = 256) -> None:
        self._source: Final = source
        self._most: Final = most
        self._kept: Final[OrderedDict[TileId, bytes]] = OrderedDict()
        self._lock: Final = threading.Lock()

    def __call__(self, ids: Sequence[TileId]) -> Tiles:
        """Return those of the tiles that are there."""
        with self._lock:
            found = {id: self._kept[id] for id in ids if id in self._kept}
            for id in found:
                self._kept.move_to_end(id)
        read = self._source([id for id in ids if id not in found]) if len(found) < len(ids) else {}
        with self._lock:
            self._kept.update({id: tile for id, tile in read.items() if len(tile) == WIDTH * HASH_BYTES})
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return {**found, **read}

    def forget(self) -> None:
        """Keep nothing: a tile was not what it should be."""
        with self._lock:
            self._kept.clear()
