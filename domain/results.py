"""What a finished game came to, as read models take it in: who played, who is where, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.counting import Counts
from domain.dealing import Seeds
from domain.decider import Deciders, positions
from domain.events import Event
from domain.games import DECIDERS
from domain.lifecycle import GameFinished, GameOpened, SeedsRevealed, Table

__all__ = ["Result", "SeatResult", "proved", "result_of"]


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
    seats: tuple[SeatResult, ...]
    """Seat 1 first."""


def result_of(events: Sequence[Event], deciders: Deciders = DECIDERS) -> Result:
    """Return what a game came to, from all its events so far.

    Raises:
        ValueError: the game is not finished.
        LookupError: this program does not know its kind and ruleset.
    """
    opened = events[0].fact
    finished = next((event.fact for event in events if isinstance(event.fact, GameFinished)), None)
    if not isinstance(opened, GameOpened) or finished is None:
        raise ValueError("these are not the events of a finished game")
    decider = deciders[opened.kind, opened.ruleset]
    told = list(positions(decider.evolve, decider.empty(None), (event.fact for event in events)))
    table: Table = told[-1].after
    dealt_at = next(event.cause.at for event, step in zip(events, told, strict=True) if step.after.deals)
    finished_at = next(event.cause.at for event, step in zip(events, told, strict=True) if step.after.over)
    counted = decider.count(told, finished_at - dealt_at)
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
        proved=proved(opened, table.revealed, table.deals),
        seats=tuple(
            SeatResult(line.seat, player, line.place, line.points, line.resigned, line.counts)
            for line, player in zip(counted, table.players, strict=True)
        ),
    )


def proved(opened: GameOpened, revealed: SeedsRevealed | None, deals: int) -> bool:
    """Tell whether the seeds of all deals lead back to the commitment, link by link."""
    if revealed is None or not revealed.seeds or len(revealed.seeds) < deals:
        return False
    chain = [bytes.fromhex(seed) for seed in revealed.seeds]
    again = Seeds.backwards(opened.deal, last=chain[-1], deals=len(chain))
    return again == Seeds.revealed(opened.deal, chain) and again.commitment.hex() == opened.commitment
