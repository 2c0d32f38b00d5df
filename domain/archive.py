"""Between the log and records: the events of a game to be written out, and records that are taken into a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol
from uuid import UUID

from domain.events import Event
from domain.records import Record
from domain.storage import EventMapper, EventRecorder

__all__ = ["HeldOtherwise", "events_up_to", "holds", "take_in"]

PAGE: Final = 200
"""Events that are read at once."""
TOGETHER: Final = 2_000
"""Events that are appended in one transaction; a game with more of them has one of its own."""


class Span(Protocol):
    """Reads at most ``first`` events of a game after a sequence number."""

    def __call__(self, game: UUID, /, *, after: int, first: int) -> Sequence[Event]: ...


class HeldOtherwise(Exception):
    """The store holds the game of a record, and not with the record's events."""

    def __init__(self, record: Record) -> None:
        super().__init__(f"the store holds the game {record.game} with other events, or with fewer")
        self.record: Final = record


def events_up_to(last: Event, span: Span) -> Iterator[Event]:
    """Yield all events of a game up to one of them, read page by page: what comes after it meanwhile is left out.

    Raises:
        OperationalError: the database is away.
    """
    after = 0
    while after < last.seq:
        page = span(last.game, after=after, first=min(PAGE, last.seq - after))
        yield from page
        after = page[-1].seq


def holds(recorder: EventRecorder, record: Record) -> bool:
    """Tell whether the store holds every event of a record, be it with later ones.

    Raises:
        HeldOtherwise: it holds that game with other events, or with fewer.
        OperationalError: the database is away.
    """
    # The hash of an event fixes all events before it.
    stored = recorder.span(record.game, after=len(record.events) - 1, first=1)
    if stored and stored[0].hash == record.closing.hash:
        return True
    if recorder.newest(record.game) is not None:
        raise HeldOtherwise(record)
    return False


def take_in(recorder: EventRecorder, records: Iterable[Record]) -> Iterator[bool]:
    """Append the events of records to the log, each game whole or not at all.

    Yield for each record whether it was taken in, once it is on disk: one that the store holds already is passed over.

    Raises:
        HeldOtherwise: the store holds a game with other events, or with fewer. The others that came before are in.
        LogBusy, OperationalError, InterfaceError: as ``EventRecorder.append``.
    """
    together: dict[UUID, Record] = {}
    for record in records:
        if record.game in together or sum(len(each.events) for each in together.values()) >= TOGETHER:
            yield from _append(recorder, tuple(together.values()))
            together.clear()
        together[record.game] = record
    yield from _append(recorder, tuple(together.values()))


def _append(recorder: EventRecorder, records: Sequence[Record]) -> Iterator[bool]:
    held = {record.game for record in records if holds(recorder, record)}
    wanted = [record for record in records if record.game not in held]
    mapper = EventMapper()
    offered = [[mapper.to_stored_event(event) for event in record.events] for record in wanted]
    appended = recorder.append(offered) if offered else []
    others_first = [record for record, positions in zip(wanted, appended, strict=True) if positions is None]
    yield from (record.game not in held for record in records if record not in others_first)
    if others_first:
        raise HeldOtherwise(others_first[0])
