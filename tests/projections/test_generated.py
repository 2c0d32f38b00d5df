"""Generated logs are what a server would have written: every game of them is read back and proved, byte by byte."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice, pairwise
from typing import Any

import psycopg
import pytest

from benchmarks.generated.filling import fill
from benchmarks.generated.plans import plan
from benchmarks.generated.weaving import Entry, Recipe, woven
from domain.application import Games
from domain.archive import events_up_to
from domain.dealing import Seeds
from domain.events import Event, acting_player, read_event
from domain.game import Game
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import GameCancelled, GameOpened
from domain.poker.facts import Options as PokerOptions
from domain.record_reading import read_record
from domain.records import Record, write_record
from domain.rematches import Rematches
from domain.results import result_of
from domain.storage import EventRecorder
from domain.tables import TableOpened
from domain.ticitaire.facts import Options as TicitaireOptions
from domain.tickle.facts import Options as TickleOptions

RECIPE = Recipe(seed=22, players=40)
EVENTS = 3_000


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    """The first commands of a log, as many as make so many events."""
    found, events = list[Entry](), 0
    coming = woven(RECIPE)
    while events < EVENTS:
        found.append(next(coming))
        events += len(found[-1].recorded.events)
    return found


@pytest.fixture(scope="module")
def events(entries: list[Entry]) -> list[Event]:
    return [read_event(data, FACT_TYPES) for entry in entries for _, data in entry.recorded.events]


@pytest.fixture(scope="module")
def records(events: list[Event]) -> list[Record]:
    """Each game's record, read as one reads what comes from outside: chained, folded, and proved."""
    games = dict[Any, list[Event]]()
    for event in events:
        games.setdefault(event.game, []).append(event)
    return [read_record(write_record(game)) for game in games.values()]


def test_the_same_recipe_gives_the_same_bytes_whoever_plays(entries: list[Entry]) -> None:
    with closing(woven(RECIPE, workers=1)) as again:  # type: ignore[type-var]
        assert list(islice(again, 300)) == entries[:300]


def test_another_seed_gives_other_games(entries: list[Entry]) -> None:
    another = {entry.game for entry in islice(woven(Recipe(seed=4, players=40)), 100)}
    assert another.isdisjoint(entry.game for entry in entries)


def test_a_generated_log_is_in_the_order_of_time_and_its_games_take_turns(events: list[Event]) -> None:
    times = [event.cause.at for event in events]
    assert times == sorted(times)
    changes = sum(one.game != other.game for one, other in pairwise(events))
    assert changes > len(events) / 10


def test_every_command_of_a_generated_log_is_decided_again_to_the_same_facts(events: list[Event]) -> None:
    tables, commands = dict[Any, Any](), dict[Any, list[Event]]()
    revealed = dict(_decks(events))
    for event in events:
        if event.game not in revealed:
            continue
        decider, seeds = revealed[event.game]
        table = tables.setdefault(event.game, decider.empty(seeds))
        together = commands.setdefault(event.game, [])
        together.append(event)
        if event.part == event.parts:
            facts = tuple(each.fact for each in together)
            assert decider.decide(decider.command_of(facts, table), table, event.cause.at) == facts
            for fact in facts:
                table = decider.evolve(table, fact)
            tables[event.game] = table
            together.clear()
    assert tables


def _decks(events: list[Event]) -> Iterator[tuple[Any, tuple[Any, Any]]]:
    """The games whose seeds are out: their deciders and the whole chains."""
    openings = {event.game: event.fact for event in events if isinstance(event.fact, GameOpened)}
    for event in events:
        if event.fact.topic == "game.SeedsRevealed":
            opened = openings[event.game]
            chain = [bytes.fromhex(seed) for seed in event.fact.seeds]  # type: ignore[attr-defined]
            yield event.game, (DECIDERS[opened.kind, opened.ruleset], Seeds.revealed(opened.deal, chain))


def test_all_kinds_are_in_it_and_all_ways_to_end(records: list[Record]) -> None:
    endings = Counter[str]()
    for record in records:
        finished = next((event.fact for event in record.events if event.fact.topic.endswith("GameFinished")), None)
        ending = getattr(finished, "ending", "under way") if record.closing.revealed else "under way"
        cancelled = isinstance(record.events[-1].fact, GameCancelled)
        endings[f"{record.header.kind} {'cancelled' if cancelled else ending}"] += 1
    assert set(endings) >= {
        "ticitaire won",
        "ticitaire given-up",
        "ticitaire under way",
        "tickle final-stage",
        "tickle target",
        "poker rounds",
        "poker resignations",
    }, endings
    assert any(name.endswith("resignations") for name in endings)
    assert any(name.endswith("cancelled") for name in endings)


def test_all_options_are_played_with_several_values() -> None:
    values = dict[str, set[object]]()
    for number in range(150):
        one = plan(RECIPE.seed, number, RECIPE.players, random.Random(number), RECIPE.begins)
        for name, value in one.opening.options:  # type: ignore[attr-defined]
            values.setdefault(f"{one.kind}.{name}", set()).add(value)
    assert [name for name, found in values.items() if len(found) < 2] == []
    assert len(values) == sum(
        map(len, (TicitaireOptions.model_fields, TickleOptions.model_fields, PokerOptions.model_fields))
    )


def test_what_happens_seldom_is_in_it_too(events: list[Event]) -> None:
    topics = Counter(event.fact.topic for event in events)
    seldom = (
        "game.TimedOut",
        "game.PlayerResigned",
        "game.GameLabelled",
        "game.PlayerLeft",
        "game.BeaconGiven",
        "game.EntropyRevealed",
        "game.SeedsHeldBack",
        "ticitaire.MovesTakenBack",
    )
    assert [topic for topic in seldom if not topics[topic]] == []
    rematches = [event for event in events if isinstance(event.fact, TableOpened) and event.fact.rematch]
    assert rematches
    keys = Counter(event.cause.key is None for event in events if acting_player(event.cause.actor))
    assert keys[True]
    assert keys[False]


def test_its_finished_games_are_proved(records: list[Record]) -> None:
    finished = [record for record in records if record.closing.revealed]
    assert len(finished) >= 8
    assert all(result_of(record.events).proved for record in finished)


def test_a_filled_log_is_read_by_the_server_as_its_own(
    entries: list[Entry], events: list[Event], database_url: str, recorder: EventRecorder, games: Games
) -> None:
    coming = iter(entries)
    done = fill(database_url, coming, events=EVENTS // 2)
    done += fill(database_url, coming, events=EVENTS - done)
    assert done == len(events)
    with psycopg.connect(database_url) as connection:
        log = connection.execute("SELECT position, game, seq, type, hash FROM game_log ORDER BY position").fetchall()
    assert log == [
        (position, event.game, event.seq, event.fact.topic, event.hash) for position, event in enumerate(events, 1)
    ]
    last = {event.game: event for event in events}
    for game, event in last.items():
        read = games.game(game)
        assert (read.version, read.head) == (event.seq, event.hash)
        assert list(events_up_to(event, recorder.span)) == [each for each in events if each.game == game]


def test_a_rematch_is_found_by_the_game_before_it(entries: list[Entry], database_url: str, games: Games) -> None:
    fill(database_url, iter(entries), events=EVENTS)
    again = next(
        record
        for record in (games.game(entry.game) for entry in entries if entry.recorded.seq == 1)
        if isinstance(record.table.opened, TableOpened) and record.table.opened.rematch
    )
    latest: Game | None = Rematches(games).latest(again.table.opened.rematch.game)
    assert latest is not None
    assert latest.id == again.id


def test_progress_is_told_after_each_commit(entries: list[Entry], database_url: str) -> None:
    told = list[int]()
    done = fill(database_url, iter(entries), events=100, progress=told.append)
    assert told == [done]
    assert done >= 100


def test_the_same_game_is_not_appended_twice(entries: list[Entry], database_url: str) -> None:
    fill(database_url, iter(entries), events=100)
    with pytest.raises(psycopg.errors.UniqueViolation):
        fill(database_url, iter(entries), events=100)
