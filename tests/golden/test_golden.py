"""What was stored once is read for ever, and whole games come out as they did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from domain.dealing import Seeds
from domain.decider import AnyDecider, Fact, fold
from domain.events import GENESIS, SERVER, Event, acting_player, chain, content_digest, key_digest, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import CLOSING, DeadlineExtended, GameCancelled, GameOpened, SeedsRevealed, TimedOut
from domain.poker import facts as poker
from domain.poker.facts import Called, PokerFinished, PokerOpened, RoundScored, Variation
from domain.tables import Seating
from domain.ticitaire import facts as ticitaire
from domain.ticitaire.facts import MovesTakenBack, TicitaireFinished, TicitaireOpened
from domain.tickle import facts as tickle
from domain.tickle.facts import Closing, DeckPart, FinalStageBegan, TickleFinished, TickleOpened
from tests.golden.samples import FOLDER, add_missing, counts, recorded_games, results, samples


def opened_of(events: list[Event]) -> GameOpened:
    """The fact that opens a game."""
    opened = events[0].fact
    assert isinstance(opened, GameOpened)
    return opened


def kind_of(events: list[Event]) -> str:
    return opened_of(events).kind


SAMPLES = samples()
GAMES = {name: [read_event(line, FACT_TYPES) for line in lines] for name, lines in recorded_games().items()}
RESULTS = results()

each_sample = pytest.mark.parametrize("name", SAMPLES)
CANCELLED = [name for name, events in GAMES.items() if isinstance(events[-1].fact, GameCancelled)]
OF_KIND = {kind: [name for name, events in GAMES.items() if kind_of(events) == kind] for kind, _ in DECIDERS}

each_game = pytest.mark.parametrize("name", GAMES)
each_finished_game = pytest.mark.parametrize("name", [name for name in GAMES if name not in CANCELLED])


def facts_of(name: str) -> list[Fact]:
    return [event.fact for event in GAMES[name]]


def decider_of(name: str) -> AnyDecider:
    """The rules that the game keeps for life."""
    opened = opened_of(GAMES[name])
    return DECIDERS[opened.kind, opened.ruleset]


def seeds_of(name: str) -> Seeds:
    """The seeds that the game's last event tells; of a cancelled one no more is known than what was committed to."""
    opened, last = opened_of(GAMES[name]), GAMES[name][-1].fact
    if isinstance(last, GameCancelled):
        return Seeds(opened.deal, [bytes.fromhex(opened.commitment)])
    assert isinstance(last, SeedsRevealed)
    return Seeds.revealed(opened.deal, [bytes.fromhex(seed) for seed in last.seeds])


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


@pytest.mark.parametrize(
    ("kind", "endings"), [("ticitaire", ticitaire.Ending), ("tickle", tickle.Ending), ("poker", poker.Ending)]
)
def test_a_game_of_every_ending_is_recorded(kind: str, endings: type[StrEnum]) -> None:
    finished = [RESULTS[name] for name in OF_KIND[kind] if name not in CANCELLED]
    assert {told["result"]["ending"] for told in finished} == {str(ending) for ending in endings}
    assert any(told["timed_out"] for told in finished)


def test_a_cancelled_game_is_recorded_without_a_result() -> None:
    assert CANCELLED
    assert [RESULTS[name]["result"] for name in CANCELLED] == [None] * len(CANCELLED)


@pytest.mark.parametrize("kind", OF_KIND)
def test_every_fact_of_every_kind_is_recorded(kind: str) -> None:
    told = {type(fact) for name in OF_KIND[kind] for fact in facts_of(name)}
    assert told == {fact for (of, _), decider in DECIDERS.items() if of == kind for fact in decider.facts}
    assert {DeadlineExtended, TimedOut} <= told


def test_games_of_ticitaire_with_every_option_are_recorded() -> None:
    opened = [facts_of(name)[0] for name in OF_KIND["ticitaire"]]
    options = [fact.options for fact in opened if isinstance(fact, TicitaireOpened)]
    assert {option.take_back for option in options} == {option.strict_duo for option in options} == {True, False}
    assert MovesTakenBack in {type(fact) for name in OF_KIND["ticitaire"] for fact in facts_of(name)}


def test_games_of_tickle_with_every_option_and_every_closing_are_recorded() -> None:
    opened = [fact for name in OF_KIND["tickle"] if isinstance(fact := facts_of(name)[0], TickleOpened)]
    options = [fact.options for fact in opened]
    assert {option.deck for option in options} == set(DeckPart)
    assert {option.seating for option in options} == set(Seating)
    for flags in zip(
        *((option.private, option.start_when_full, bool(option.target)) for option in options), strict=True
    ):
        assert set(flags) == {True, False}
    assert {fact.rematch is None for fact in opened} == {True, False}
    facts = [fact for name in OF_KIND["tickle"] for fact in facts_of(name)]
    assert {fact.cause for fact in facts if isinstance(fact, FinalStageBegan)} == set(Closing)


def test_games_of_poker_with_every_option_are_recorded() -> None:
    opened = [fact for name in OF_KIND["poker"] if isinstance(fact := facts_of(name)[0], PokerOpened)]
    options = [fact.options for fact in opened]
    assert {option.variation for option in options} == set(Variation)
    assert {option.seating for option in options} == set(Seating)
    for flags in zip(
        *(
            (option.private, option.start_when_full, option.cards_speak, bool(option.turn_seconds))
            for option in options
        ),
        strict=True,
    ):
        assert set(flags) == {True, False}
    assert {fact.rematch is None for fact in opened} == {True, False}


def test_rounds_of_poker_of_every_course_are_recorded() -> None:
    called, shared, unranked, late = False, False, False, False
    for name in OF_KIND["poker"]:
        dealt_in = 0
        for fact, before in zip(facts_of(name)[1:], facts_of(name), strict=False):
            called |= isinstance(fact, Called)
            late |= isinstance(fact, poker.HandDeclared) and isinstance(before, TimedOut)
            if isinstance(fact, poker.RoundDealt):
                dealt_in = len(fact.seats)
            if isinstance(fact, RoundScored):
                shared |= len({line.place for line in fact.places}) < len(fact.places)
                unranked |= len(fact.places) < dealt_in
    assert (called, shared, unranked, late) == (True, True, True, True)


@each_game
def test_a_recorded_game_ends_with_the_fact_that_closes_it(name: str) -> None:
    *before, last = facts_of(name)
    assert isinstance(last, CLOSING)
    assert not [fact for fact in before if isinstance(fact, CLOSING)]


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


@each_finished_game
def test_a_recorded_game_ends_with_the_recorded_result(name: str) -> None:
    table = fold(decider_of(name).evolve, decider_of(name).empty(None), facts_of(name))
    assert table.finished.model_dump(mode="json") == RESULTS[name]["result"]


@pytest.mark.parametrize("name", [name for name in OF_KIND["ticitaire"] if name not in CANCELLED])
def test_the_result_of_ticitaire_is_that_of_the_table(name: str) -> None:
    table = fold(decider_of(name).evolve, decider_of(name).empty(None), facts_of(name))
    assert isinstance(table.finished, TicitaireFinished)
    assert (table.layout.buried, table.layout.unplayed) == (table.finished.buried, table.finished.unplayed)
    assert (table.moves, table.turns, table.recycles, table.take_backs) == (
        table.finished.moves,
        table.finished.turns,
        table.finished.recycles,
        table.finished.take_backs,
    )


@pytest.mark.parametrize("name", [name for name in OF_KIND["tickle"] if name not in CANCELLED])
def test_the_result_of_tickle_is_that_of_the_table(name: str) -> None:
    table = fold(decider_of(name).evolve, decider_of(name).empty(None), facts_of(name))
    assert isinstance(table.finished, TickleFinished)
    lines = table.finished.places
    assert tuple(line.points for line in lines) == table.points
    assert tuple(line.cards for line in lines) == table.held == tuple(len(table.hand(line.seat)) for line in lines)
    assert [line.total for line in lines] == [line.points - 5 * line.cards for line in lines]
    assert {line.seat for line in lines if line.resigned} == set(table.resigned)


@pytest.mark.parametrize("name", [name for name in OF_KIND["poker"] if name not in CANCELLED])
def test_the_result_of_poker_is_that_of_the_table(name: str) -> None:
    table = fold(decider_of(name).evolve, decider_of(name).empty(None), facts_of(name))
    assert isinstance(table.finished, PokerFinished)
    lines = table.finished.places
    assert tuple(line.points for line in lines) == table.points
    assert {line.seat for line in lines if line.resigned} == set(table.resigned)
    scored = [line for fact in facts_of(name) if isinstance(fact, RoundScored) for line in fact.places]
    assert [sum(line.points for line in scored if line.seat == seat.seat) for seat in lines] == list(table.points)


@each_game
def test_the_seeds_of_a_recorded_game_hash_to_the_commitment_of_its_first_event(name: str) -> None:
    commitment = opened_of(GAMES[name]).commitment
    assert seeds_of(name).commitment.hex() == commitment == RESULTS[name]["commitment"]


@each_game
def test_a_recorded_game_is_judged_today_as_it_was_then(name: str) -> None:
    decider = decider_of(name)
    table = decider.empty(seeds_of(name))
    for events in commands_of(name):
        facts = [event.fact for event in events]
        command = decider.command_of(facts, table)
        assert decider.decide(command, table, events[0].cause.at) == tuple(facts)
        table = fold(decider.evolve, table, facts)


@each_game
def test_the_log_bears_the_digest_of_every_command_of_a_player(name: str) -> None:
    decider = decider_of(name)
    table = decider.empty(seeds_of(name))
    for number, events in enumerate(commands_of(name)):
        facts, cause = [event.fact for event in events], events[0].cause
        if cause.actor != SERVER:
            assert cause.content == content_digest(decider.command_of(facts, table), f"command {number}")
        table = fold(decider.evolve, table, facts)


@each_game
def test_a_command_of_a_player_bears_the_key_of_the_player_who_acted(name: str) -> None:
    for number, events in enumerate(commands_of(name)):
        player = acting_player(events[0].cause.actor)
        assert events[0].cause.key == (key_digest(player, f"command {number}") if player else None)


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


def test_what_is_counted_of_a_game_is_added_where_it_is_missing_and_else_stays(copy: Path) -> None:
    told = counts(copy)
    path = copy / "games" / "counts.json"
    path.write_text(
        json.dumps({name: told[name] for name in told if name != "won"} | {"given-up": "long ago"}), "utf-8"
    )
    assert list(add_missing(copy)) == [path]
    assert counts(copy) == told | {"given-up": "long ago"}


def test_every_game_that_was_finished_is_counted() -> None:
    assert counts().keys() == {name for name in GAMES if name not in CANCELLED}


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
        opened = opened_of(events)
        assert {event.game for event in events} == {opened.deal}, name
        assert isinstance(opened.deal, UUID)
