"""What holds for any accepted sequence of commands, won games, take-backs and time-outs among them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import hypothesis
from hypothesis import event

from domain.cards import DECK
from domain.decider import EVERYTHING, PUBLIC, Command, RuleViolation, Viewer, fold
from domain.events import read_event
from domain.games import FACT_TYPES
from domain.lifecycle import Resign, SeedsRevealed
from domain.ticitaire.facts import CardsMoved, Options, Spot, StockTurned, TicitaireFinished, WasteRecycled
from domain.ticitaire.rules import TICITAIRE, MoveCards, RecycleWaste, TakeBack, TurnStock
from domain.ticitaire.table import TicitaireTable
from tests.domain.ticitaire.players import Course, Played, games, play

ALL_COMMANDS: tuple[Command, ...] = (
    *(MoveCards(seat=1, source=source, target=target) for source in Spot for target in Spot),
    TurnStock(seat=1),
    RecycleWaste(seat=1),
    TakeBack(seat=1),
    Resign(seat=1),
)
"""All that a player can ask for, taking back for one move."""

some = hypothesis.settings(deadline=None, max_examples=10, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def of(played: Played) -> Played:
    """Let the run tell which endings it saw."""
    event(f"ending: {played.ending}")
    return played


def now_and_then(played: Played, every: int) -> Iterator[TicitaireTable]:
    """The table before every so-manieth command, and at the end."""
    yield from (step.before for step in played.steps[1::every])
    yield played.table


def verdict_of(command: Command, table: TicitaireTable, played: Played) -> str | None:
    """The code of the refusal, or None."""
    try:
        TICITAIRE.decide(command, table, played.steps[0].at)
    except RuleViolation as violation:
        event(f"refused: {violation.code}")
        return violation.code
    return None


def test_at_least_half_of_the_generated_games_reach_their_end() -> None:
    endings = Counter[str]()

    @hypothesis.settings(some, max_examples=30, derandomize=True, database=None)
    @hypothesis.given(games())
    def count(played: Played) -> None:
        endings[of(played).ending] += 1

    count()
    assert endings.keys() == {"won", "given-up", "timed-out", "unfinished"}
    assert endings["unfinished"] <= endings.total() / 2, endings
    assert endings["won"] >= endings.total() / 10, endings


@some
@hypothesis.given(games())
def test_every_card_lies_somewhere_and_only_there(played: Played) -> None:
    for table in of(played).tables():
        if table.dealt is None:
            continue
        layout = table.layout
        columns: Iterable[int] = (at for column in layout.columns for at in (*column.buried, *column.run))
        positions = [*columns, *layout.low, *layout.high, *layout.stock, *layout.waste]
        assert sorted(positions) == list(range(125))


@some
@hypothesis.given(games())
def test_every_card_that_was_seen_is_the_one_that_was_dealt(played: Played) -> None:
    for table in of(played).tables():
        if table.deck is not None:
            assert sorted(table.deck) == list(DECK)
            assert all(card in (None, table.deck[at]) for at, card in enumerate(table.seen))


@some
@hypothesis.given(games())
def test_every_fact_comes_back_from_its_stored_bytes(played: Played) -> None:
    for command in of(played).events():
        for told in command:
            assert read_event(told.data, FACT_TYPES) == told


@some
@hypothesis.given(games())
def test_the_fold_of_the_stored_facts_is_the_live_table(played: Played) -> None:
    stored = [read_event(told.data, FACT_TYPES).fact for command in of(played).events() for told in command]
    assert fold(TICITAIRE.evolve, TICITAIRE.empty(played.seeds), stored) == played.table


@some
@hypothesis.given(games())
def test_a_refusal_changes_nothing_and_records_nothing(played: Played) -> None:
    for table in now_and_then(of(played), 40):
        before = repr(table)
        refused = [command for command in ALL_COMMANDS if verdict_of(command, table, played) is not None]
        assert refused
        assert repr(table) == before


@some
@hypothesis.given(games())
def test_the_legal_commands_are_exactly_those_that_are_accepted(played: Played) -> None:
    for table in now_and_then(of(played), 11):
        accepted = {command for command in ALL_COMMANDS if verdict_of(command, table, played) is None}
        legal = TICITAIRE.legal_commands(table, Viewer(seat=1))
        assert set(legal) == accepted
        assert len(legal) == len(accepted)


@some
@hypothesis.given(games())
def test_the_public_view_without_seeds_is_that_of_the_full_table_at_every_version(played: Played) -> None:
    bare = TICITAIRE.empty(None)
    for fact, full in zip(of(played).facts, played.tables(), strict=True):
        bare = TICITAIRE.evolve(bare, fact)
        for viewer in (PUBLIC, Viewer(seat=1)):
            assert TICITAIRE.view(bare, viewer) == TICITAIRE.view(full, viewer)


@some
@hypothesis.given(games((Course.TO_THE_END, Course.GIVEN_UP, Course.TIMED_OUT)))
def test_after_the_reveal_everyone_sees_everything(played: Played) -> None:
    bare = fold(TICITAIRE.evolve, TICITAIRE.empty(None), of(played).facts)
    assert bare.deck == played.table.deck
    assert bare.seeds == played.seeds
    assert TICITAIRE.view(bare, PUBLIC) == TICITAIRE.view(played.table, EVERYTHING)


@some
@hypothesis.given(games())
def test_every_command_is_found_again_from_its_facts_and_decided_alike(played: Played) -> None:
    for step in of(played).steps:
        command = TICITAIRE.command_of(step.facts, step.before)
        assert command == step.command
        assert TICITAIRE.decide(command, step.before, step.at) == step.facts


@some
@hypothesis.given(games())
def test_what_is_counted_is_what_the_facts_tell_and_never_goes_down(played: Played) -> None:
    def counted(table: TicitaireTable) -> tuple[int, ...]:
        return table.version, table.moves, table.turns, table.recycles, table.take_backs

    tables = list(of(played).tables())
    assert all(all(a <= b for a, b in zip(*map(counted, pair), strict=True)) for pair in pairwise(tables))
    facts = Counter(type(fact) for fact in played.facts)
    assert counted(played.table)[:4] == (
        len(played.facts),
        facts[CardsMoved],
        facts[StockTurned],
        facts[WasteRecycled],
    )


@some
@hypothesis.given(games((Course.TO_THE_END, Course.GIVEN_UP, Course.TIMED_OUT)))
def test_a_game_ends_once_with_its_result_and_then_the_seeds(played: Played) -> None:
    facts = of(played).facts
    assert [isinstance(fact, TicitaireFinished) for fact in facts].count(True) == 1
    assert isinstance(facts[-2], TicitaireFinished)
    assert isinstance(facts[-1], SeedsRevealed)
    assert played.table.layout.won == (facts[-2].ending == "won")


@some
@hypothesis.given(games())
def test_a_position_that_was_taken_back_to_is_the_one_that_stood_at_that_version(played: Played) -> None:
    layouts = {table.version: table.layout for table in of(played).tables()}
    for step in played.steps:
        if isinstance(step.command, TakeBack):
            (back,) = step.facts
            assert step.after.layout == layouts[back.model_dump()["to_version"]]


def test_a_table_in_print_shows_neither_its_deck_nor_a_seed() -> None:
    left = play(random.Random(1), options=Options(), course=Course.LEFT, length=40)
    shown = repr(left.table)
    assert "deck=" not in shown
    assert left.seeds.seed(1).hex() not in shown
