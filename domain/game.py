"""The one aggregate: a game as the fold of its events. It hosts every kind and knows no rules.

It has the shape of the eventsourcing library's immutable aggregates: ``id`` and ``version``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from domain.decider import AnyDecider, Command, OpenCommand, Viewer
from domain.events import GENESIS, Cause, Event, chain

__all__ = ["Answered", "Game"]


@dataclass(frozen=True, slots=True)
class Answered:
    """The events that answered a command with an idempotency key."""

    first: int
    last: int
    content: str | None


@dataclass(frozen=True, slots=True)
class Game:
    """A game at one version. Immutable, so that it can be read while the next command is decided."""

    id: UUID
    decider: AnyDecider
    table: Any
    """The state that the kind's decider folds."""
    version: int
    head: str
    """The hash of the last event."""
    opened_at: datetime
    at: datetime
    """When the last event happened."""
    answered: dict[str, Answered]
    """By key digest; grows with committed events only, so all versions of a game share it."""

    @classmethod
    def unopened(cls, game: UUID, decider: AnyDecider, table: Any) -> Game:
        """Return a game before its first event."""
        never = datetime.min.replace(tzinfo=UTC)
        return cls(game, decider, table, 0, GENESIS, never, never, {})

    def events_of(self, command: Command, cause: Cause) -> tuple[Event, ...]:
        """Decide a command; return the events that would follow.

        Raises:
            RuleViolation: the rules refuse it.
        """
        at = max(cause.at, self.at)
        facts = self.decider.decide(command, self.table, at)
        return chain(self.id, self.version, self.head, facts, cause._replace(at=at))

    def after(self, events: Sequence[Event]) -> Game:
        """Return the game after committed events that follow this version."""
        if not events:
            return self
        table, evolve = self.table, self.decider.evolve
        for event in events:
            table = evolve(table, event.fact)
            if event.cause.key is not None:
                first = event.seq - event.part + 1
                self.answered[event.cause.key] = Answered(first, first + event.parts - 1, event.cause.content)
        last = events[-1]
        opened_at = self.opened_at if self.version else events[0].cause.at
        # Not by ``replace``, which takes longer than the fold of most commands.
        return Game(self.id, self.decider, table, last.seq, last.hash, opened_at, last.cause.at, self.answered)

    def view(self, viewer: Viewer) -> Any:
        """Return what a viewer may see at this version."""
        return self.decider.view(self.table, viewer)

    def legal_commands(self, viewer: Viewer) -> Sequence[OpenCommand]:
        """Return what is open to a viewer."""
        return self.decider.legal_commands(self.table, viewer)
