"""What an organiser may call the games that belong together, and how such an opening is told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from domain.decider import AnyDecider, Command
from domain.events import content_digest
from domain.games import DECIDERS
from domain.labels import Label
from domain.lifecycle import GameLabelled
from domain.poker.rules import OpenPoker
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.rules import OpenTickle
from tests.given import NOON, PLAYER, SEEDS, given

GIVEN = TypeAdapter[str](Label)

OPENINGS: dict[str, type[Any]] = {"ticitaire": OpenTicitaire, "tickle": OpenTickle, "poker": OpenPoker}

GOOD = [
    "A",
    "Spring Cup 2030",
    "12:30, table 4!",
    "L" * 64,
    "Кубок",
    "春のカップ",
    "गर्मी कप",
    "כוס האביב",
    "Café",
    "Cup 🏆",
]

BAD = {
    "nothing": "",
    "too long": "L" * 65,
    "nothing but a space": " ",
    "a space before": " Cup",
    "a space behind": "Cup ",
    "two spaces": "Spring  Cup",
    "a space that does not break": "Spring\u00a0Cup",
    "a line": "Spring\nCup",
    "a tab": "Spring\tCup",
    "a separator of lines": "Spring\u2028Cup",
    "a bell": "Cup\a",
    "a zero": "Cup\0",
    "an escape sequence": "\x1b[2JCup",
    "a control of the second row": "Cup\u0085",
    "right to left from here": "Cup\u202egnirpS",
    "an isolate of directions": "\u2067Cup\u2069",
    "a mark of direction": "Cup\u200f",
    "a space without width": "Spring\u200bCup",
    "a joiner without width": "Spring\u200dCup",
    "a mark of byte order": "\ufeffCup",
    "a soft hyphen": "Spring\u00adCup",
    "a tag": "Cup\U000e0041",
    "half a pair": "Cup\ud800",
    "a character of private use": "Cup\ue000",
    "a character that there is not": "Cup\u0378",
    "a Hangul filler": "\u3164",
    "a Hangul filler of half width": "Cup\uffa0",
    "a Hangul filler of a vowel": "\u1160",
    "a blank of Braille": "\u2800",
    "a joiner of graphemes": "Cu\u034fp",
    "a selector of variants": "Cup\ufe0f",
    "a selector of variants of another plane": "Cup\U000e0100",
    "a Mongolian selector": "Cup\u180b",
    "a Khmer vowel that shows nothing": "Cup\u17b4",
    "letters in two characters": "Cafe\u0301",
    "letters of full width": "\uff23up",
    "letters that are one character": "o\ufb03ce cup",
    "the sign of the Kelvin": "\u212aup",
    "an accent upon nothing": "\u0300Cup",
    "an accent upon a space": "Spring \u0300Cup",
    "a heap of accents": "C" + "\u0316" * 5 + "up",
}

each_kind = pytest.mark.parametrize("kind", OPENINGS)


def decider_of(kind: str) -> AnyDecider:
    return DECIDERS[kind, 1]


def opening_of(kind: str, label: str | None) -> Command:
    opening: Command = OPENINGS[kind](player=PLAYER, label=label)
    return opening


def test_every_kind_can_be_opened_with_a_label() -> None:
    assert {kind for kind, _ in DECIDERS} == OPENINGS.keys()


@pytest.mark.parametrize("label", BAD.values(), ids=BAD)
def test_a_label_that_could_be_taken_for_another_or_spoil_a_page_is_refused(label: str) -> None:
    with pytest.raises(ValidationError, match=r"(a label|of a label)"):
        GIVEN.validate_python(label)


@pytest.mark.parametrize("label", GOOD)
def test_a_good_label_is_taken_as_it_is(label: str) -> None:
    assert GIVEN.validate_python(label) == label


@pytest.mark.parametrize(("label", "written"), [("Cafe\u0301", "Café"), ("\uff23up", "Cup")])
def test_the_refusal_says_how_to_write_it(label: str, written: str) -> None:
    with pytest.raises(ValidationError, match=f"write “{written}”"):
        GIVEN.validate_python(label)
    assert GIVEN.validate_python(written) == written


@each_kind
@pytest.mark.parametrize("label", GOOD)
def test_no_rule_refuses_a_label_and_it_is_told_directly_after_the_opening(kind: str, label: str) -> None:
    decider = decider_of(kind)
    outcome = given(table=decider.empty(SEEDS), decider=decider).when(opening_of(kind, label))
    assert outcome.violation is None
    assert outcome.facts[1] == GameLabelled(label=label)
    assert outcome.after.label == label


@each_kind
@pytest.mark.parametrize("label", [None, "Spring Cup"])
def test_the_command_is_found_again_from_its_facts_with_its_label_or_without(kind: str, label: str | None) -> None:
    decider = decider_of(kind)
    command, table = opening_of(kind, label), decider.empty(SEEDS)
    facts = decider.decide(command, table, NOON)
    assert decider.command_of(facts, table) == command
    assert any(isinstance(fact, GameLabelled) for fact in facts) == (label is not None)


@each_kind
def test_an_opening_without_a_label_has_the_digest_that_it_had_before_there_were_labels(kind: str) -> None:
    assert "label" not in opening_of(kind, None).model_dump(mode="json")


@each_kind
def test_the_same_key_with_another_label_asks_for_something_else(kind: str) -> None:
    digests = {content_digest(opening_of(kind, label), "key") for label in (None, "Spring Cup", "Autumn Cup")}
    assert len(digests) == 3


def test_a_label_that_was_stored_is_read_also_where_a_character_of_it_is_not_known_yet() -> None:
    newer = "Cup \u0378"
    assert GameLabelled(label=newer).label == newer


@each_kind
def test_an_opening_with_such_a_label_is_decided_again_as_it_was(kind: str) -> None:
    decider, newer = decider_of(kind), "Cup \u0378"
    table = decider.empty(SEEDS)
    facts = decider.decide(opening_of(kind, newer), table, NOON)
    assert decider.decide(decider.command_of(facts, table), table, NOON) == facts
    assert facts[1] == GameLabelled(label=newer)


@pytest.mark.parametrize("label", ["", "L" * 65, "Cup\u202egnirpS", "Spring\u200bCup", "Cup\x1b[2J"])
def test_no_log_holds_a_label_that_no_version_of_unicode_makes_good(label: str) -> None:
    with pytest.raises(ValidationError):
        GameLabelled(label=label)
