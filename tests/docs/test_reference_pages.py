"""The reference pages name every refusal, every event and every field that there is, and nothing that there is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from math import comb
from pathlib import Path
from typing import Final

import pytest

from domain.decider import Fact
from domain.games import FACT_TYPES
from domain.lifecycle import Dealt, GameOpened
from domain.poker.facts import Ending, PokerResult, RevealedHand, RoundPlace, Variation
from domain.poker.facts import Options as PokerOptions
from domain.poker.hands import Rank
from domain.tables import TableOpened, TableOptions
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
    found = {("TABLE_FULL", "G3"), ("NIC_CONTACT", "K5"), ("RUN_NO_TIC", "S2"), ("ALREADY_CALLED", "P3")}
    assert found | {("MUST_LAY_DOWN", "")} <= set(REFUSALS)


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
    "ruling",
    [f"{kind}{n}" for kind, last in (("C", 4), ("K", 16), ("S", 11), ("P", 12), ("G", 4)) for n in range(1, last + 1)],
)
def test_every_ruling_has_its_paragraph(ruling: str) -> None:
    assert RULES.count(f"\n**{ruling}. ") == 1


def test_the_page_has_the_ranks_in_their_order_with_counts_that_make_up_all_hands() -> None:
    table = re.findall(r"^\| (\d+) \| ([\w -]+) \| [^|]+ \| ([\d,]+) \| ([\d.]+) % \|$", RULES, re.MULTILINE)
    assert [(int(number), re.sub("[ -]", "_", name.upper())) for number, name, *_ in table] == [
        (rank.value, rank.name) for rank in Rank
    ]
    counts = [int(count.replace(",", "")) for *_, count, _ in table]
    assert sum(counts) == comb(125, 5)
    assert [float(share) for *_, share in table] == [float(f"{100 * count / comb(125, 5):.4g}") for count in counts]


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
        PokerOptions,
        RevealedHand,
        RoundPlace,
        PokerResult,
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


@pytest.mark.parametrize("values", [Variation, Ending])
def test_the_values_of_poker_facts_are_on_the_page(values: type[StrEnum]) -> None:
    assert {value for value in values if f"`{value}`" not in EVENTS} == set()
