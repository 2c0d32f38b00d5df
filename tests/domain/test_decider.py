"""What every game is made of: violations that travel, facts that do not change, the fold."""

from __future__ import annotations

import pickle
from typing import ClassVar

import pytest
from pydantic import ValidationError

from domain.decider import EVERYTHING, PUBLIC, Fact, RuleViolation, Viewer, fold, positions
from domain.games import DECIDERS, FACT_TYPES, RULESETS
from domain.lifecycle import PlayerResigned


class Counted(Fact):
    topic: ClassVar[str] = "toy.Counted"

    by: int


def test_a_violation_has_a_code_a_ruling_and_a_sentence() -> None:
    violation = RuleViolation("STOCK_EMPTY", "S8", "The stock is empty.")
    assert (violation.code, violation.ruling, violation.message) == ("STOCK_EMPTY", "S8", "The stock is empty.")
    assert str(violation) == "The stock is empty."


def test_a_violation_survives_the_way_to_another_process() -> None:
    violation = pickle.loads(pickle.dumps(RuleViolation("STOCK_EMPTY", "S8", "The stock is empty.")))
    assert isinstance(violation, RuleViolation)
    assert (violation.code, violation.ruling, violation.message) == ("STOCK_EMPTY", "S8", "The stock is empty.")


def test_a_fact_can_not_be_changed() -> None:
    fact = Counted(by=1)
    with pytest.raises(ValidationError, match="frozen"):
        fact.by = 2  # type: ignore[misc]


def test_a_fact_has_no_fields_but_its_own() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Counted.model_validate({"by": 1, "because": "why not"})


def test_the_fold_takes_the_facts_in_their_order() -> None:
    def told(table: str, fact: Fact) -> str:
        return f"{table}{fact.model_dump()['by']}"

    assert fold(told, "", [Counted(by=n) for n in (3, 1, 2)]) == "312"  # type: ignore[type-var]


def test_a_position_has_the_table_before_its_fact_and_after_it() -> None:
    one, two = Counted(by=1), Counted(by=2)
    found = positions(lambda total, fact: total + fact.by, 0, [one, two])  # type: ignore[type-var, attr-defined]
    assert list(found) == [(one, 0, 1), (two, 1, 3)]


def test_the_public_has_no_seat_and_only_one_viewer_sees_everything() -> None:
    assert Viewer(seat=0) == PUBLIC != Viewer(seat=1)
    assert EVERYTHING.everything
    assert not PUBLIC.everything


def test_every_game_is_found_by_its_kind_and_ruleset() -> None:
    assert [(decider.kind, decider.ruleset) for decider in DECIDERS.values()] == list(DECIDERS)


def test_a_new_game_of_each_kind_is_opened_under_the_newest_ruleset() -> None:
    assert {kind: max(ruleset for k, ruleset in DECIDERS if k == kind) for kind, _ in DECIDERS} == RULESETS


def test_every_topic_stands_for_one_fact() -> None:
    facts = {fact for decider in DECIDERS.values() for fact in decider.facts}
    assert set(FACT_TYPES.values()) == facts
    assert all(fact.topic == topic for topic, fact in FACT_TYPES.items())
    assert FACT_TYPES["game.PlayerResigned"] is PlayerResigned
