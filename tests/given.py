"""Tests that read as they are told: given these facts, when this command, then those facts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Fact, RuleViolation, fold
from domain.ticitaire.rules import TICITAIRE

__all__ = ["NOON", "PLAYER", "SEEDS", "Given", "Outcome", "given"]

NOON: Final = datetime(2030, 5, 1, 12, tzinfo=UTC)
PLAYER: Final = UUID("00000000-0000-4000-8000-00000000000a")
SEEDS: Final = Seeds.backwards(UUID("00000000-0000-4000-8000-000000000001"), last=bytes(range(32)), deals=1)


@dataclass(frozen=True)
class Outcome:
    """What became of a command: facts, or a violation."""

    decider: AnyDecider
    before: Any
    facts: tuple[Fact, ...]
    violation: RuleViolation | None

    @property
    def after(self) -> Any:
        """The table after the facts."""
        return fold(self.decider.evolve, self.before, self.facts)

    def then(self, *facts: Fact) -> None:
        """Exactly these facts came of it."""
        assert self.violation is None, f"refused: {self.violation.code}, {self.violation}"
        assert self.facts == facts

    def refused(self, code: str, ruling: str) -> None:
        """The rule of that code said no, by that ruling, with a sentence for a person."""
        assert self.violation is not None, f"accepted: {self.facts}"
        assert (self.violation.code, self.violation.ruling) == (code, ruling)
        assert self.violation.message.endswith(".")


@dataclass(frozen=True)
class Given:
    """A table on which something has happened."""

    decider: AnyDecider
    table: Any

    def when(self, command: Command, at: datetime = NOON) -> Outcome:
        """Decide a command at a time."""
        try:
            facts = self.decider.decide(command, self.table, at)
        except RuleViolation as violation:
            return Outcome(self.decider, self.table, (), violation)
        return Outcome(self.decider, self.table, facts, None)


def given(*facts: Fact, table: Any = None, decider: AnyDecider = TICITAIRE) -> Given:
    """Start from facts: on a table without any, dealt from ``SEEDS``, or on the table that is given."""
    start = decider.empty(SEEDS) if table is None else table
    return Given(decider, fold(decider.evolve, start, facts))
