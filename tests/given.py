"""Tests that read as they are told: given these facts, when this command, then those facts."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Fact, RuleViolation, fold
from domain.ticitaire.rules import TICITAIRE

__all__ = ["NOON", "PLAYER", "SEEDS", "Given", "Outcome", "codes_of", "given"]

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


def codes_of(module: ModuleType) -> set[str]:
    """Return the codes of all violations that a module raises, each written out where it is raised."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
    raised = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "RuleViolation"]
    codes = {code.value for code in raised if isinstance(code, ast.Constant) and isinstance(code.value, str)}
    assert all(isinstance(code, ast.Constant) for code in raised), f"a code of {module.__name__} is not written out"
    return codes
