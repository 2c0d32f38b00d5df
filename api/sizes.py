"""What the database takes on the disk, table by table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from psycopg.rows import class_row, tuple_row

from domain.storage import Datastore
from projections.models import PROJECTIONS
from projections.tables import LIVE

__all__ = ["Part", "Sizes", "measured"]

_BESIDE: Final = {
    "sealed seeds": ("sealed_seeds",),
    "accounts": ("players", "tokens"),
    "checkpoints": ("log_checkpoints", "log_departures"),
}

_COUNTS: Final = """
SELECT count(*) FILTER (WHERE originator_version = 1), count(*) FROM public.game_events
"""
_TABLES: Final = """
SELECT n.nspname::text AS schema, c.relname::text AS name, greatest(c.reltuples, 0)::bigint AS rows,
       pg_table_size(c.oid) AS heap, pg_indexes_size(c.oid) AS indexes
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.relkind = 'r' AND n.nspname = ANY (%b)
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One line: a table, or several that belong together."""

    name: str
    rows: int | None
    """As the database last counted them, which may be a while ago; of the log as they are."""
    size: int
    """Bytes on the disk, indexes included unless they have a line of their own."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What there is, and what it takes."""

    games: int
    events: int
    parts: tuple[Part, ...]

    @property
    def events_a_game(self) -> float:
        """How many events a game has, on the average."""
        return self.events / max(1, self.games)

    @property
    def total(self) -> Part:
        """All parts together."""
        return Part("all of it", None, sum(part.size for part in self.parts))


@dataclass(frozen=True, slots=True)
class _Table:
    schema: str
    name: str
    rows: int
    heap: int
    indexes: int


def measured(datastore: Datastore) -> Sizes:
    """Return what the database takes. It reads the log once: that is some seconds for ten million events.

    Raises:
        PersistenceError: the database is away, or has no log.
    """
    ((games, events),) = datastore.read(_COUNTS, (), row_factory=tuple_row)
    found = datastore.read(_TABLES, (["public", LIVE],), row_factory=class_row(_Table))
    tables = {(table.schema, table.name): table for table in found}
    log = tables["public", "game_events"]
    parts = [Part("the log", events, log.heap), Part("its indexes", None, log.indexes)]
    parts += [_together(name, [("public", table) for table in names], tables) for name, names in _BESIDE.items()]
    for name, projection in PROJECTIONS.items():
        parts.append(_together(f"read model {name}", [(LIVE, table) for table in projection.tables], tables))
    return Sizes(games, events, tuple(parts))


def _together(name: str, wanted: list[tuple[str, str]], tables: dict[tuple[str, str], Any]) -> Part:
    there = [tables[each] for each in wanted if each in tables]
    return Part(name, sum(table.rows for table in there), sum(table.heap + table.indexes for table in there))
