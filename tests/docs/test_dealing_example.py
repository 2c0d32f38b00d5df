"""The example of docs/dealing.md, run as a reader would run it: another implementation, and it must agree with ours."""

from __future__ import annotations

import ast
import doctest
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from domain.cards import DECK
from domain.dealing import Seeds
from domain.decider import Command, fold
from domain.lifecycle import Resign, SeedsRevealed
from domain.ticitaire.facts import StockTurned, TableauDealt, TicitaireOpened
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire, TurnStock

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "dealing.md"
VECTOR: Final = json.loads((ROOT / "tests" / "vectors" / "dealing.json").read_text(encoding="utf-8"))

DEAL: Final[str] = VECTOR["game"]
COMMITMENT: Final[str] = VECTOR["commit"]
SEEDS: Final[list[str]] = [deal["s"] for deal in VECTOR["deals"]]
ENTROPIES: Final[list[str]] = [entropy or "-" for entropy in VECTOR["entropies"]]


def only_block(language: str) -> str:
    """Return the one code block of the page in a language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """What the example defines, by name."""
    names: dict[str, Any] = {}
    exec(compile(only_block("python"), str(PAGE), "exec"), names)
    return names


def test_the_example_needs_the_standard_library_alone() -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(only_block("python"))):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert imported
    assert imported <= sys.stdlib_module_names


def test_the_worked_case_on_the_page_is_what_the_example_answers(example: dict[str, Any]) -> None:
    case = doctest.DocTestParser().get_doctest(only_block("pycon"), dict(example), PAGE.name, str(PAGE), None)
    told: list[str] = []
    assert doctest.DocTestRunner().run(case, out=told.append).attempted
    assert not told


def test_the_worked_case_on_the_page_is_the_one_of_the_vector() -> None:
    page = only_block("pycon")
    assert [value for value in (DEAL, COMMITMENT, *SEEDS) if f'"{value}"' not in page] == []
    assert [value for deal in VECTOR["deals"] if (value := str(deal["deck"][:10])) not in page] == []


@pytest.mark.parametrize("deal", VECTOR["deals"], ids=lambda deal: f"deal {deal['deal']}")
def test_the_example_shuffles_as_the_vector_does(example: dict[str, Any], deal: dict[str, Any]) -> None:
    order = example["deck_order"](DEAL, deal["deal"], deal["s"], ENTROPIES)
    assert order == [str(DECK[index]) for index in deal["deck"]]


def test_the_example_accepts_the_seeds_that_were_committed_to(example: dict[str, Any]) -> None:
    example["check_seeds"](COMMITMENT, DEAL, SEEDS)


@pytest.mark.parametrize(
    ("deal", "seeds"),
    [
        pytest.param(DEAL, ["00" * 32], id="a seed of somebody else's"),
        pytest.param(DEAL, [SEEDS[0], "00" * 32], id="a second seed of somebody else's"),
        pytest.param(DEAL, SEEDS[::-1], id="the seeds in another order"),
        pytest.param(str(UUID(int=1)), SEEDS, id="the seeds of another deal"),
    ],
)
def test_the_example_refuses_other_seeds(example: dict[str, Any], deal: str, seeds: list[str]) -> None:
    with pytest.raises(ValueError, match="not the one that was committed to"):
        example["check_seeds"](COMMITMENT, deal, seeds)


def test_the_example_deals_a_finished_game_again_from_its_facts(example: dict[str, Any]) -> None:
    player, noon = UUID(int=7), datetime(2026, 1, 1, 12, tzinfo=UTC)
    table = TICITAIRE.empty(Seeds.backwards(UUID(DEAL), last=bytes(range(32)), deals=TICITAIRE.deals))
    commands: list[Command] = [OpenTicitaire(player=player), TurnStock(seat=1), Resign(seat=1)]
    facts: dict[type, Any] = {}
    for command in commands:
        decided = TICITAIRE.decide(command, table, noon)
        table = fold(TICITAIRE.evolve, table, decided)
        facts |= {type(fact): fact for fact in decided}
    opened, dealt, revealed = facts[TicitaireOpened], facts[TableauDealt], facts[SeedsRevealed]

    face_down, face_up, stock = example["deal_ticitaire"](
        opened.commitment, str(opened.deal), revealed.seeds, dealt.entropies, dealt.beacon
    )

    assert face_up == [str(card) for card in dealt.exposed]
    assert stock[0] == str(facts[StockTurned].card)
    assert face_down == [[str(table.card(position)) for position in column.buried] for column in table.layout.columns]
    assert stock[1:] == [str(table.card(position)) for position in table.layout.stock]
