"""The catalogue admits every stored event and nothing else."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from domain.catalogue import catalogue
from domain.games import FACT_TYPES
from tests.golden.samples import recorded_games, samples

CATALOGUE = catalogue()
VALIDATOR = jsonschema_rs.Draft202012Validator(CATALOGUE, validate_formats=True)
SAMPLES = samples()
RECORDED = recorded_games()
MOVED: dict[str, Any] = json.loads(SAMPLES["ticitaire.CardsMoved.v1.json"])


def test_the_catalogue_is_itself_a_valid_schema() -> None:
    assert jsonschema_rs.meta.is_valid(CATALOGUE)


def test_the_catalogue_has_every_topic() -> None:
    assert set(CATALOGUE["$defs"]) == set(FACT_TYPES)
    assert CATALOGUE["oneOf"] == [{"$ref": f"#/$defs/{topic}"} for topic in sorted(FACT_TYPES)]


@pytest.mark.parametrize("topic", FACT_TYPES)
def test_every_field_of_a_fact_is_described_or_named_by_its_words(topic: str) -> None:
    event = CATALOGUE["$defs"][topic]
    assert event["description"]
    assert set(event["properties"]["fact"]["properties"]) == set(FACT_TYPES[topic].model_fields)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_in_the_catalogue(name: str) -> None:
    VALIDATOR.validate(json.loads(SAMPLES[name]))


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_event_is_in_the_catalogue(name: str) -> None:
    assert all(VALIDATOR.is_valid(json.loads(line)) for line in RECORDED[name])


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"mood": "good"}, id="a field too many"),
        pytest.param({"v": 2}, id="another version"),
        pytest.param({"type": "ticitaire.StockTurned"}, id="another fact's topic"),
        pytest.param({"type": "ticitaire.Unheard"}, id="an unknown topic"),
        pytest.param({"seq": 0}, id="a sequence number before the first"),
        pytest.param({"seq": 1.5}, id="a sequence number in between"),
        pytest.param({"prev": "0" * 63}, id="a hash too short"),
        pytest.param({"game": "nobody"}, id="a game that is no UUID"),
        pytest.param({"key": "ABC"}, id="a key that is no digest"),
        pytest.param({"fact": MOVED["fact"] | {"cards": []}}, id="a move of no card"),
        pytest.param({"fact": MOVED["fact"] | {"cards": ["6-star-red"]}}, id="a move of no such card"),
        pytest.param({"fact": MOVED["fact"] | {"why": "because"}}, id="a fact with a field too many"),
        pytest.param({"fact": {}}, id="a fact without fields"),
    ],
)
def test_nothing_else_is_in_the_catalogue(changes: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(MOVED | changes)


@pytest.mark.parametrize("field", MOVED)
def test_no_field_of_an_event_may_be_missing(field: str) -> None:
    assert not VALIDATOR.is_valid({name: value for name, value in MOVED.items() if name != field})
