"""How a game stands: who is at the table, with which score, and for whom it waits. The same for everyone who looks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from domain.entropy import EntropyTable, owing
from domain.game import Game
from domain.lifecycle import GameOpened, Table
from domain.tables import TableOpened
from domain.turns import TurnTable, places
from domain.verification import is_proved
from projections.lobby import Status

__all__ = ["Tallies", "Tally", "TallyLine", "is_private", "status_of", "tally_of"]

MOST_KEPT: Final = 2_000
"""Tallies that are kept for whoever asks next: as many as games are kept in memory."""


@dataclass(frozen=True, slots=True)
class TallyLine:
    """One player's line."""

    seat: int | None
    """None before the deal."""
    player: UUID
    score: int | None
    """As the kind counts; None before the deal."""
    place: int | None
    """By the scores so far, as it would be if the game ended now; None before the deal. In a game for one it is None
    until the result gives one."""
    resigned: bool
    awaited: bool
    """Whether the game waits for this player: for the seat, or before the deal for entropy that is due."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How a game stands at a version. It is equal to another that shows the same of the game, at whatever version."""

    game: UUID
    kind: str
    status: Status
    label: str | None
    private: bool
    takes: int
    closed: bool
    """Whether it has started and waits for entropy, so that nobody can join, or did so before its deal."""
    round: int | None
    """None before the first turn, and in games without turns."""
    deadline: datetime | None
    proved: bool
    """Whether its seeds are revealed and lead to what was committed to before the deal."""
    lines: tuple[TallyLine, ...]
    """The leader first, and seats that share a place in their order; before the deal in the order of joining."""
    opened_at: datetime
    version: int = field(compare=False)
    head: str = field(compare=False)
    """The hash of the last event: no other tally has it."""

    @property
    def is_joinable(self) -> bool:
        """Whether anyone may join now."""
        return self.status is Status.OPEN and not self.private and not self.closed and len(self.lines) < self.takes


UNFINISHED: Final = (Status.OPEN, Status.PLAYING)


class Tallies:
    """The tallies of games at their versions, each computed once however many ask for it."""

    def __init__(self) -> None:
        self._kept: Final[OrderedDict[str, Tally]] = OrderedDict()

    def of(self, game: Game) -> Tally:
        """Return how a game stands."""
        if (tally := self._kept.get(game.head)) is None:
            tally = self._kept[game.head] = tally_of(game)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(game.head)
        return tally


def tally_of(game: Game) -> Tally:
    """Compute how a game stands."""
    table: Table = game.table
    lines = _seated(game) if table.players else _waiting(table)
    return Tally(
        game=game.id,
        kind=game.decider.kind,
        status=status_of(table),
        label=table.label,
        private=table.opened is not None and is_private(table.opened),
        takes=table.takes,
        closed=isinstance(table, EntropyTable) and table.due,
        round=table.round or None if isinstance(table, TurnTable) else None,
        deadline=table.deadline,
        proved=is_proved(table),
        lines=lines,
        opened_at=game.opened_at,
        version=game.version,
        head=game.head,
    )


def status_of(table: Table) -> Status:
    """Return how far a game has come."""
    if table.cancelled:
        return Status.CANCELLED
    if table.over:
        return Status.FINISHED
    return Status.PLAYING if table.deals else Status.OPEN


def is_private(opened: GameOpened) -> bool:
    """Whether only those join who are invited: to a private table, or to a rematch."""
    return isinstance(opened, TableOpened) and opened.by_invitation


def _waiting(table: Table) -> tuple[TallyLine, ...]:
    awaited = owing(table)
    return tuple(
        TallyLine(seat=None, player=player, score=None, place=None, resigned=False, awaited=player in awaited)
        for player in table.company
    )


def _seated(game: Game) -> tuple[TallyLine, ...]:
    table: Table = game.table
    scores, awaited = game.decider.score(table), game.decider.awaits(table)
    placed, resigned, owed = _places(table, scores), _resigned(table), owing(table)
    lines = [
        TallyLine(
            seat=seat,
            player=player,
            score=scores[seat - 1] if scores else None,
            place=placed.get(seat),
            resigned=seat in resigned,
            awaited=seat in awaited or player in owed,
        )
        for seat, player in enumerate(table.players, 1)
    ]
    return tuple(sorted(lines, key=lambda line: (line.place or len(lines), line.seat)))


def _places(table: Table, scores: tuple[int, ...] | None) -> dict[int, int | None]:
    if table.finished is not None:
        return {line.seat: line.place for line in table.finished.places}
    if scores is None or not isinstance(table, TurnTable):
        return {}
    return dict(enumerate(places(scores, table.resigned), 1))


def _resigned(table: Table) -> tuple[int, ...]:
    if isinstance(table, TurnTable):
        return table.resigned
    # A game for one that is over without a place was given up, or its time ran out.
    return tuple(line.seat for line in table.finished.places if line.place is None) if table.finished else ()
