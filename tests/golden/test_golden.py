"""What was stored once is read for ever, and whole games come out as they did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from domain.dealing import Seeds
from domain.decider import Fact, fold
from domain.events import GENESIS, SERVER, Event, chain, content_digest, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import DeadlineExtended, SeedsRevealed, TimedOut
from domain.ticitaire.facts import Ending, MovesTakenBack, TicitaireFinished, TicitaireOpened
from domain.ticitaire.rules import TICITAIRE
from tests.golden.samples import FOLDER, add_missing, recorded_games, results, samples

SAMPLES = samples()
GAMES = {name: [read_event(line, FACT_TYPES) for line in lines] for name, lines in recorded_games().items()}
RESULTS = results()

each_sample = pytest.mark.parametrize("name", SAMPLES)
each_game = pytest.mark.parametrize("name", GAMES)


def facts_of(name: str) -> list[Fact]:
    return [event.fact for event in GAMES[name]]


def seeds_of(name: str) -> Seeds:
    """The seeds that the game's last event tells."""
    first, last = GAMES[name][0].fact, GAMES[name][-1].fact
    assert isinstance(first, TicitaireOpened)
    assert isinstance(last, SeedsRevealed)
    return Seeds.revealed(first.deal, [bytes.fromhex(seed) for seed in last.seeds])


def commands_of(name: str) -> Iterator[list[Event]]:
    """The events of each command of a game."""
    events = iter(GAMES[name])
    for event in events:
        yield [event, *(next(events) for _ in range(event.parts - 1))]


# One sample of every version of every fact


@pytest.mark.parametrize("topic", FACT_TYPES)
def test_every_version_of_every_fact_has_a_sample(topic: str) -> None:
    versions = range(1, FACT_TYPES[topic].version + 1)
    assert {f"{topic}.v{version}.json" for version in versions} <= SAMPLES.keys()


@each_sample
def test_every_sample_is_read(name: str) -> None:
    event = read_event(SAMPLES[name], FACT_TYPES)
    assert name.startswith(f"{event.fact.topic}.v")
    assert name == f"{event.fact.topic}.v{json.loads(SAMPLES[name])['v']}.json"


@pytest.mark.parametrize("topic", FACT_TYPES)
def test_a_sample_of_the_present_version_is_written_again_byte_for_byte(topic: str) -> None:
    sample = SAMPLES[f"{topic}.v{FACT_TYPES[topic].version}.json"]
    event = read_event(sample, FACT_TYPES)
    (again,) = chain(event.game, event.seq - 1, event.prev, [event.fact], event.cause)
    assert again.data == sample


# Whole games


def test_a_game_of_every_ending_is_recorded() -> None:
    assert {RESULTS[name]["result"]["ending"] for name in GAMES} == {str(ending) for ending in Ending}
    assert any(RESULTS[name]["timed_out"] for name in GAMES)


def test_games_with_every_option_and_every_fact_are_recorded() -> None:
    opened = [facts_of(name)[0] for name in GAMES]
    options = [fact.options for fact in opened if isinstance(fact, TicitaireOpened)]
    assert {option.take_back for option in options} == {option.strict_duo for option in options} == {True, False}
    told = {type(fact) for name in GAMES for fact in facts_of(name)}
    assert told == set(FACT_TYPES.values())
    assert {DeadlineExtended, TimedOut, MovesTakenBack} <= told


@each_game
def test_a_recorded_game_is_one_chain_from_the_first_event_to_the_head(name: str) -> None:
    events = GAMES[name]
    assert [event.seq for event in events] == list(range(1, RESULTS[name]["events"] + 1))
    assert events[0].prev == GENESIS
    assert all(later.prev == earlier.hash for earlier, later in pairwise(events))
    assert events[-1].hash == RESULTS[name]["head"]


@each_game
def test_a_recorded_game_is_written_again_byte_for_byte(name: str) -> None:
    version, head = 0, GENESIS
    for events in commands_of(name):
        again = chain(events[0].game, version, head, [event.fact for event in events], events[0].cause)
        assert [event.data for event in again] == [event.data for event in events]
        version, head = again[-1].seq, again[-1].hash


@each_game
def test_a_recorded_game_ends_with_the_recorded_result(name: str) -> None:
    table = fold(TICITAIRE.evolve, TICITAIRE.empty(None), facts_of(name))
    assert isinstance(table.finished, TicitaireFinished)
    assert table.finished.model_dump(mode="json") == RESULTS[name]["result"]
    assert (table.layout.buried, table.layout.unplayed) == (table.finished.buried, table.finished.unplayed)
    assert (table.moves, table.turns, table.recycles, table.take_backs) == (
        table.finished.moves,
        table.finished.turns,
        table.finished.recycles,
        table.finished.take_backs,
    )


@each_game
def test_the_seeds_of_a_recorded_game_hash_to_the_commitment_of_its_first_event(name: str) -> None:
    opened = GAMES[name][0].fact
    assert isinstance(opened, TicitaireOpened)
    assert seeds_of(name).commitment.hex() == opened.commitment == RESULTS[name]["commitment"]


@each_game
def test_a_recorded_game_is_judged_today_as_it_was_then(name: str) -> None:
    decider = DECIDERS["ticitaire", 1]
    table = decider.empty(seeds_of(name))
    for events in commands_of(name):
        facts = [event.fact for event in events]
        command = decider.command_of(facts, table)
        assert decider.decide(command, table, events[0].cause.at) == tuple(facts)
        table = fold(decider.evolve, table, facts)


@each_game
def test_the_log_bears_the_digest_of_every_command_of_a_player(name: str) -> None:
    table = TICITAIRE.empty(seeds_of(name))
    for number, events in enumerate(commands_of(name)):
        facts, cause = [event.fact for event in events], events[0].cause
        if cause.actor != SERVER:
            assert cause.content == content_digest(TICITAIRE.command_of(facts, table), f"command {number}")
        table = fold(TICITAIRE.evolve, table, facts)


# Adding samples


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for part in ("facts", "games"):
        shutil.copytree(FOLDER / part, tmp_path / part)
    return tmp_path


def test_nothing_is_missing() -> None:
    assert list(add_missing()) == []


def test_a_sample_that_is_missing_is_added(copy: Path) -> None:
    missing = copy / "facts" / "ticitaire.StockTurned.v1.json"
    missing.unlink()
    assert list(add_missing(copy)) == [missing]
    event = read_event(missing.read_bytes(), FACT_TYPES)
    assert event.fact.topic == "ticitaire.StockTurned"


def test_a_game_that_is_missing_is_added(copy: Path) -> None:
    missing = copy / "games" / "given-up.jsonl"
    missing.unlink()
    assert list(add_missing(copy)) == [missing]
    last = read_event(missing.read_bytes().splitlines()[-1], FACT_TYPES)
    assert isinstance(last.fact, SeedsRevealed)


def test_a_sample_that_is_there_is_never_touched(copy: Path) -> None:
    sample, game = copy / "facts" / "ticitaire.StockTurned.v1.json", copy / "games" / "won.jsonl"
    before = {sample: b"an old sample", game: game.read_bytes().splitlines(keepends=True)[0]}
    for path, content in before.items():
        path.write_bytes(content)
    (copy / "games" / "results.json").write_text(json.dumps({"won": "long ago"}), "utf-8")
    (copy / "games" / "given-up.jsonl").unlink()
    assert [path.name for path in add_missing(copy)] == ["given-up.jsonl"]
    assert {path: path.read_bytes() for path in before} == before
    assert results(copy)["won"] == "long ago"


def test_a_game_belongs_to_the_deal_of_its_own_id() -> None:
    for name, events in GAMES.items():
        opened = events[0].fact
        assert isinstance(opened, TicitaireOpened)
        assert {event.game for event in events} == {opened.deal}, name
        assert isinstance(opened.deal, UUID)
