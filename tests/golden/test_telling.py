"""Recorded games, told whole: every fact has its sentence, nothing hidden is told, and what is noted stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import pytest

from domain.dealing import Seeds
from domain.decider import AnyDecider, Fact, Position
from domain.games import DECIDERS
from domain.lifecycle import GameOpened, SeedsRevealed
from domain.telling import NOBODY_NAMED, WIDTH, counted
from tests.golden.replayed import decider_of, facts_of, folded
from tests.golden.samples import FOLDER, notation_of, recorded_games, results

RECORDED: Final = recorded_games()
RESULTS: Final = results()
FINISHED: Final = [name for name in RECORDED if RESULTS[name]["result"]]
CARD: Final = re.compile(r"\d-[a-z]+-[a-z]+")

each_game = pytest.mark.parametrize("name", RECORDED)
each_finished_game = pytest.mark.parametrize("name", FINISHED)


def with_seeds(facts: Sequence[Fact]) -> list[Position[Any]]:
    opened, last = facts[0], facts[-1]
    assert isinstance(opened, GameOpened)
    assert isinstance(last, SeedsRevealed)
    return folded(facts, Seeds.revealed(opened.deal, [bytes.fromhex(seed) for seed in last.seeds]))


def told(facts: Sequence[Fact]) -> list[str]:
    decider = decider_of(facts)
    return [decider.tell(*position, NOBODY_NAMED) for position in folded(facts)]


# Every fact, in a sentence


@pytest.mark.parametrize("decider", DECIDERS.values(), ids=lambda decider: f"{decider.kind} {decider.ruleset}")
def test_every_fact_that_a_kind_can_record_is_told_in_some_recorded_game(decider: AnyDecider) -> None:
    games = [facts for facts in map(facts_of, RECORDED) if decider_of(facts) is decider]
    assert {type(fact) for facts in games for fact, _ in zip(facts, told(facts), strict=True)} == {*decider.facts}


@pytest.mark.parametrize("decider", DECIDERS.values(), ids=lambda decider: f"{decider.kind} {decider.ruleset}")
def test_a_fact_without_words_is_told_of_by_no_kind(decider: AnyDecider) -> None:
    class Unheard(Fact):
        topic = "toy.Unheard"

    with pytest.raises(LookupError, match=r"there are no words for toy\.Unheard"):
        decider.tell(Unheard(), decider.empty(None), decider.empty(None), NOBODY_NAMED)


@each_game
def test_every_fact_is_told_in_one_sentence(name: str) -> None:
    assert [text for text in told(facts_of(name)) if not re.fullmatch(r"[\dA-Z][^.\n]*\.", text)] == []


@each_game
def test_numbers_are_right_in_singular_and_plural(name: str) -> None:
    things = "card|point|Tic|player|seat|round|move|turn|step|take-back|minute|hour|day|second"
    wrong = re.compile(rf"(?<![\w-])1 ({things})s\b|(?<![\w-])(?!1 )-?\d+ ({things})\b")
    assert [text for text in told(facts_of(name)) if wrong.search(text)] == []


# Nothing hidden


@each_finished_game
def test_a_game_is_told_alike_with_its_seeds_and_without(name: str) -> None:
    facts = facts_of(name)
    tell = decider_of(facts).tell
    assert [tell(*position, NOBODY_NAMED) for position in with_seeds(facts)] == told(facts)


@each_game
def test_a_sentence_names_no_card_that_the_log_has_not_told_before(name: str) -> None:
    facts, seen = facts_of(name), set[str]()
    for fact, sentence in zip(facts, told(facts), strict=True):
        seen |= {*CARD.findall(fact.model_dump_json())}
        assert {*CARD.findall(sentence)} <= seen


@each_finished_game
def test_a_game_is_noted_alike_with_its_seeds_and_without(name: str) -> None:
    facts = facts_of(name)
    note = decider_of(facts).note
    assert list(note(with_seeds(facts))) == list(note(folded(facts)))


# The curve


@each_game
def test_the_curve_begins_with_the_deal_and_has_a_value_for_each_seat(name: str) -> None:
    facts = facts_of(name)
    for _, _, table in folded(facts):
        points = decider_of(facts).score(table)
        assert points is None if not table.deals else points is not None and len(points) == len(table.players)


@each_finished_game
def test_the_curve_ends_with_what_the_result_says(name: str) -> None:
    facts, result = facts_of(name), RESULTS[name]["result"]
    last = decider_of(facts).score(folded(facts)[-1].after)
    if "buried" in result:
        assert last == (125 - result["buried"] - result["unplayed"],)
    else:
        assert last == tuple(line.get("total", line["points"]) for line in result["places"])


# Notation


@each_game
def test_a_recorded_game_is_noted_as_it_was(name: str) -> None:
    assert notation_of(RECORDED[name]) == (FOLDER / "games" / f"{name}.txt").read_text("utf-8")


@each_game
def test_no_line_of_a_notation_is_too_long_or_ends_with_a_space(name: str) -> None:
    lines = notation_of(RECORDED[name]).splitlines()
    assert [line for line in lines if len(line) > WIDTH or line != line.rstrip()] == []


@each_game
def test_a_game_that_is_not_over_is_noted_as_far_as_it_has_come(name: str) -> None:
    facts = facts_of(name)
    whole, begun = notation_of(RECORDED[name]), folded(facts)[: len(facts) // 2]
    lines = list(decider_of(facts).note(begun))
    assert lines
    assert whole.startswith("\n".join(lines))


def test_one_of_a_thing_has_no_s() -> None:
    assert [counted(number, "Tic") for number in (0, 1, 2, -1)] == ["0 Tics", "1 Tic", "2 Tics", "-1 Tics"]
