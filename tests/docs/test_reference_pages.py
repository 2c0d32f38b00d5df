"""The reference pages name every refusal, every event and every field that there is, and nothing that there is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from domain.decider import Fact
from domain.games import FACT_TYPES
from domain.lifecycle import Dealt, GameOpened
from domain.seating import TableOpened, TableOptions
from domain.ticitaire.facts import Options as TicitaireOptions
from domain.tickle.facts import Contact, Group, LaidCard, Options, Score, TickleResult

ROOT: Final = Path(__file__).parents[2]
RULES: Final = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
EVENTS: Final = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")


def _refusals() -> Iterator[tuple[str, str]]:
    """Yield the code of every refusal in the rules, with its ruling: "" where the source does not write it beside."""
    for path in sorted((ROOT / "domain").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Tuple([ast.Constant(str() as code), ast.Constant(str() as ruling), ast.Constant(str())]):
                    yield code, ruling
                case ast.Call(func=ast.Name("RuleViolation" | "Reason"), args=[ast.Constant(str() as code), ruled, *_]):
                    yield code, ruled.value if isinstance(ruled, ast.Constant) and isinstance(ruled.value, str) else ""


OF_THE_SERVER: Final = ("TIME_IS_LEFT", "NO_DEADLINE", "OTHER_DEADLINE")
"""What its own commands are refused by: named below the tables."""
REFUSALS: Final = sorted({(code, ruling) for code, ruling in _refusals() if code.isupper() and code.isascii()})


def rows(page: str) -> dict[str, list[str]]:
    """Return the rows of a page's tables by the code in their first column; of some codes there are several."""
    found: dict[str, list[str]] = {}
    for name, rest in re.findall(r"^\| `([\w.]+)` \|(.*)$", page, re.MULTILINE):
        found.setdefault(name, []).append(rest)
    return found


def test_the_rules_are_found_in_the_source() -> None:
    assert {("TABLE_FULL", "G3"), ("NIC_CONTACT", "K5"), ("RUN_NO_TIC", "S2"), ("MUST_LAY_DOWN", "")} <= set(REFUSALS)


@pytest.mark.parametrize(("code", "ruling"), REFUSALS)
def test_every_refusal_is_on_the_page_with_its_ruling(code: str, ruling: str) -> None:
    if code in OF_THE_SERVER:
        assert f"`{code}` (G2" in RULES
        return
    rulings = " ".join(row.split("|")[0] for row in rows(RULES)[code])
    assert ruling in rulings.replace(";", " ").replace(",", " ").split() or not ruling


def test_the_page_has_no_refusal_that_the_rules_do_not_have() -> None:
    told = {code for code in rows(RULES) if code.isupper()}
    assert told - {code for code, _ in REFUSALS} == set()


@pytest.mark.parametrize(
    "ruling", [*(f"K{n}" for n in range(1, 17)), *(f"S{n}" for n in range(1, 12)), *(f"G{n}" for n in range(1, 5))]
)
def test_every_ruling_has_its_paragraph(ruling: str) -> None:
    assert RULES.count(f"\n**{ruling}. ") == 1


def _fields(fact: type[Fact]) -> set[str]:
    """Return the fields that a fact's own row has to name: what all openings have is told apart."""
    common = next((kind for kind in (TableOpened, GameOpened) if issubclass(fact, kind)), None)
    return set(fact.model_fields) - (set(common.model_fields) - {"options"} if common else set())


@pytest.mark.parametrize("topic", FACT_TYPES)
def test_every_fact_is_on_the_page_with_its_fields(topic: str) -> None:
    (row,) = rows(EVENTS)[topic]
    assert {field for field in _fields(FACT_TYPES[topic]) if f"`{field}`" not in row} == set()


@pytest.mark.parametrize(
    "values",
    [
        GameOpened,
        TableOpened,
        Dealt,
        TableOptions,
        Options,
        TicitaireOptions,
        Score,
        Contact,
        Group,
        LaidCard,
        TickleResult,
    ],
    ids=lambda values: f"{values.__module__}.{values.__name__}",
)
def test_what_facts_are_made_of_is_on_the_page(values: type[Fact]) -> None:
    assert {field for field in values.model_fields if f"`{field}`" not in EVENTS} == set()
