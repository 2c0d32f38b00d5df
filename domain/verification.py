"""What can be said of a deal by its seeds: the same of a game, of a line in a list and of a replay.

It follows from the log and the time alone, so every server says the same, whichever seals it can open.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from domain.events import Event
from domain.lifecycle import Table, are_committed

__all__ = ["LATE", "Verification", "is_proved", "of_finished", "of_table", "seeds_due"]

LATE: Final = timedelta(seconds=10)
"""For so long after their time seeds are on their way, for the timekeeper is a moment behind; then they are missed."""


class Verification(StrEnum):
    """What can be said of a deal."""

    PENDING = "pending"
    """The game is not over, or its seeds are held back yet."""
    PROVED = "proved"
    """The seeds are revealed, and lead to what was committed to."""
    UNVERIFIABLE = "unverifiable"
    """The game is over, and its seeds are missing, or lead to something else. Should they come out later after all, it
    is proved from then on."""


def of_finished(*, proved: bool, due: datetime | None, at: datetime) -> Verification:
    """Return what can be said of a game that is finished.

    Args:
        proved: whether its revealed seeds lead to what was committed to.
        due: when seeds that are not revealed come out, as ``seeds_due`` tells; None where none are on their way.
        at: the time now.
    """
    if proved:
        return Verification.PROVED
    return Verification.PENDING if due is not None and at < due + LATE else Verification.UNVERIFIABLE


def is_proved(table: Table) -> bool:
    """Tell whether a game's seeds are out, and lead to what was committed to before the deal."""
    return table.revealed is not None and are_committed(table.revealed, table)


def of_table(table: Table, at: datetime | None) -> Verification | None:
    """Return what can be said of a game; None where it was called off undealt, so that there is nothing to prove.

    Args:
        table: the game.
        at: the time now; None for a position of the past, at which seeds that are not revealed were still to come.
    """
    if table.cancelled:
        return None
    if table.revealed is not None:
        return Verification.PROVED if is_proved(table) else Verification.UNVERIFIABLE
    if table.finished is None or at is None:
        return Verification.PENDING
    return of_finished(proved=False, due=table.deadline if table.held_back else None, at=at)


def seeds_due(table: Table, last: Event) -> datetime | None:
    """Return when the seeds of a finished game come out; None where they are out, or none are on their way.

    Args:
        table: the game after an event.
        last: that event. Where more of its command follow, the seeds are among them: they are due at its time.
    """
    if table.revealed is not None:
        return None
    if table.held_back:
        return table.deadline
    return last.cause.at if last.part < last.parts else None
