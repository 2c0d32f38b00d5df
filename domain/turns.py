"""Whose turn it is, and who is still in: what games with turns share (G1, G2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final, Generic, TypeVar

from domain import seating
from domain.decider import Command, Fact, RuleViolation
from domain.lifecycle import GameFinished, PlayerResigned, Resign, Table, Timed, TimedOut, changed
from domain.tables import Leave, SharedTable

__all__ = [
    "IN_A_ROW",
    "TurnBegan",
    "TurnTable",
    "Unfolding",
    "acted",
    "awaited_after",
    "awaits",
    "deadline_at",
    "evolve",
    "leaving",
    "must_be_in",
    "must_have_the_turn",
    "places",
    "times_out",
]

IN_A_ROW: Final = 3
"""So many time-outs one after the other resign a seat, and so do so many in a game (G2)."""
IN_A_GAME: Final = 6


class TurnBegan(Timed):
    """A seat has the turn."""

    topic: ClassVar[str] = "game.TurnBegan"

    seat: int
    round: int
    """From 1: in Tickle one turn of each seat still in (K1), in TIC Poker a deal (P1)."""


@dataclass(frozen=True, kw_only=True)
class TurnTable(SharedTable):
    """The part of a state that every game with turns has."""

    turn: int = 0
    """The seat whose turn it is; 0 before the first turn."""
    round: int = 0
    resigned: tuple[int, ...] = ()
    """The seats that resigned, the first to do so first."""
    timed_out: tuple[int, ...] = ()
    """The seat of every time-out, in order."""
    in_a_row: tuple[int, ...] = ()
    """For each seat, how many of its turns in a row ended by a time-out (G2)."""

    @property
    def still_in(self) -> tuple[int, ...]:
        """The seats that have not resigned, in playing order."""
        return tuple(seat for seat in range(1, len(self.players) + 1) if seat not in self.resigned)

    @property
    def next_turn(self) -> tuple[int, int]:
        """The seat that has the next turn, and its round: a greater round where this one is complete."""
        seats = self.still_in
        later = [seat for seat in seats if seat > self.turn]
        return (later[0], self.round) if later else (seats[0], self.round + 1)


T = TypeVar("T", bound=TurnTable)


class Unfolding(Generic[T]):
    """The facts of a command as they are decided, one after the other, and the table after them."""

    def __init__(self, evolve: Callable[[T, Fact], T], table: T) -> None:
        self._evolve: Final = evolve
        self.table = table
        self.facts: tuple[Fact, ...] = ()

    def then(self, *facts: Fact) -> None:
        """Let facts follow."""
        for fact in facts:
            self.table = self._evolve(self.table, fact)
        self.facts += facts


def deadline_at(table: SharedTable, at: datetime) -> datetime | None:
    """Return when a turn that begins now runs out (G2)."""
    seconds = table.table_opened.options.turn_seconds
    return None if seconds is None else at + timedelta(seconds=seconds)


def leaving(command: Command, table: Table) -> Command:
    """Return the resignation that leaving a started game is (G1); any other command as it is."""
    if isinstance(command, Leave) and table.deals and table.seat_of(command.player):
        return Resign(seat=table.seat_of(command.player))
    return command


def must_be_in(table: TurnTable, seat: int) -> None:
    """Refuse a command of a seat that resigned, or that the game does not have."""
    if not 1 <= seat <= len(table.players):
        raise RuleViolation("NOT_AT_THE_TABLE", "G3", "You have no seat in this game: you can watch it.")
    if seat in table.resigned:
        raise RuleViolation("RESIGNED", "G1", "You have resigned from this game: you can watch it to its end.")


def must_have_the_turn(table: TurnTable, seat: int) -> None:
    """Refuse a command of a seat that does not have the turn."""
    must_be_in(table, seat)
    if seat != table.turn:
        raise RuleViolation("NOT_YOUR_TURN", "G4", f"It is the turn of seat {table.turn}; yours is seat {seat}.")


def times_out(table: TurnTable, seat: int) -> bool:
    """Whether a seat that has just timed out is thereby resigned: three times in a row, or six in the game (G2)."""
    return table.in_a_row[seat - 1] >= IN_A_ROW or table.timed_out.count(seat) >= IN_A_GAME


def places(scores: Sequence[int], resigned: Sequence[int]) -> tuple[int, ...]:
    """Return each seat's place: the highest score first, equal scores sharing it and the places below skipped (K14).

    Seats that resigned stand behind all others, the first to resign last (G1).

    Args:
        scores: of each seat, seat 1 first.
        resigned: the seats that resigned, the first to do so first.
    """
    finishers = [score for seat, score in enumerate(scores, 1) if seat not in resigned]
    return tuple(
        len(scores) - resigned.index(seat) if seat in resigned else 1 + sum(other > score for other in finishers)
        for seat, score in enumerate(scores, 1)
    )


def evolve(table: T, fact: Fact) -> T:
    """Apply a fact of the turns, or one that a table before its deal or every game has."""
    table = seating.evolve(table, fact)
    match fact:
        case TurnBegan(seat=seat, round=number):
            return changed(table, turn=seat, round=number)
        case PlayerResigned(seat=seat):
            return changed(table, resigned=(*table.resigned, seat))
        case TimedOut(seat=seat):
            row = table.in_a_row or (0,) * len(table.players)
            return changed(table, timed_out=(*table.timed_out, seat), in_a_row=_with(row, seat, row[seat - 1] + 1))
        case _:
            return table


def awaits(table: TurnTable) -> tuple[int, ...]:
    """Return the seats that a game waits for: the one that has the turn.

    Between the facts of a command that may be a seat which has just done with it: the next turn has not begun.
    """
    return (table.turn,) if table.turn and not table.over and table.turn not in table.resigned else ()


def awaited_after(seats: tuple[int, ...], fact: Fact) -> tuple[int, ...]:
    """Return the seats that a game waits for after a fact, from those before it."""
    match fact:
        case TurnBegan(seat=seat):
            return (seat,)
        case PlayerResigned(seat=seat):
            return tuple(other for other in seats if other != seat)
        case GameFinished():
            return ()
        case _:
            return seats


def acted(table: T, seat: int) -> T:
    """Return the table after a seat has ended its turn by itself: no time-outs in a row any more (G2)."""
    if not table.in_a_row or not table.in_a_row[seat - 1]:
        return table
    return changed(table, in_a_row=_with(table.in_a_row, seat, 0))


def _with(values: tuple[int, ...], seat: int, value: int) -> tuple[int, ...]:
    return *values[: seat - 1], value, *values[seat:]
