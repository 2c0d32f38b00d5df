"""What a finished game came to, as read models take it in: who played, who is where, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.counting import Counts
from domain.decider import Deciders, positions
from domain.events import Event
from domain.games import DECIDERS
from domain.lifecycle import GameFinished, GameOpened, Table
from domain.verification import is_proved, seeds_due

__all__ = ["Result", "SeatResult", "result_of"]


@dataclass(frozen=True, slots=True)
class SeatResult:
    """One seat's part in a result."""

    seat: int
    player: UUID
    place: int | None
    """1 for the winner; None where a game has no places."""
    points: int | None
    """None in a game without points."""
    resigned: bool
    counts: Counts


@dataclass(frozen=True, slots=True)
class Result:
    """A finished game."""

    game: UUID
    kind: str
    ruleset: int
    host: UUID
    label: str | None
    ending: str
    opened_at: datetime
    dealt_at: datetime
    finished_at: datetime
    version: int
    """Of the last event that was taken in."""
    hash: str
    """Of that event."""
    proved: bool
    """Whether seeds were revealed that lead to what was committed to before the deal. A result that is not proved
    counts nowhere."""
    seeds_due: datetime | None
    """When seeds that are not revealed come out; None where none are on their way."""
    seats: tuple[SeatResult, ...]
    """Seat 1 first."""


def result_of(events: Sequence[Event], deciders: Deciders = DECIDERS) -> Result:
    """Return what a game came to, from all its events so far.

    Raises:
        ValueError: the game is not finished; or its facts tell of no game that can be counted, as a log may that was
            imported: it was folded, but never judged.
        LookupError: this program does not know its kind and ruleset.
    """
    opened = events[0].fact if events else None
    finished = next((event.fact for event in events if isinstance(event.fact, GameFinished)), None)
    if not isinstance(opened, GameOpened) or finished is None:
        raise ValueError("these are not the events of a finished game")
    decider = deciders[opened.kind, opened.ruleset]
    told = list(positions(decider.evolve, decider.empty(None), (event.fact for event in events)))
    table: Table = told[-1].after
    dealt_at = next((event.cause.at for event, step in zip(events, told, strict=True) if step.after.deals), None)
    finished_at = next(event.cause.at for event, step in zip(events, told, strict=True) if step.after.over)
    if dealt_at is None:
        raise ValueError("this game was finished before it was dealt")
    try:
        counted = decider.count(told, finished_at - dealt_at)
    except LookupError as error:
        raise ValueError("the facts of this game do not fit together") from error
    if [line.seat for line in counted] != list(range(1, len(table.players) + 1)):
        raise ValueError("the result of this game has not one line for each seat")
    return Result(
        game=events[0].game,
        kind=opened.kind,
        ruleset=opened.ruleset,
        host=opened.host,
        label=table.label,
        ending=finished.ending,
        opened_at=events[0].cause.at,
        dealt_at=dealt_at,
        finished_at=finished_at,
        version=events[-1].seq,
        hash=events[-1].hash,
        proved=is_proved(table),
        seeds_due=seeds_due(table, events[-1]),
        seats=tuple(
            SeatResult(line.seat, player, line.place, line.points, line.resigned, line.counts)
            for line, player in zip(counted, table.players, strict=True)
        ),
    )
