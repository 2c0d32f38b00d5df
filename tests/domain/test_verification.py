"""What is said of a deal by its seeds, as time passes: of a game's table, and of a result that tells no more of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from domain.decider import Fact, fold
from domain.games import DECIDERS
from domain.lifecycle import GameCancelled, GameFinished, SeedsHeldBack, SeedsRevealed
from domain.results import result_of
from domain.verification import LATE, Verification, of_finished, of_table
from tests.given import NOON
from tests.projections.finished import FINISHED, recorded, with_facts

HELD_BACK: Final = "poker-entropy-of-all-beacon-seeds-held-back"
FOREIGN: Final = "5a" * 32
"""No seed of any game."""
PENDING, PROVED, UNVERIFIABLE = Verification
LONG_AFTER: Final = NOON + timedelta(days=10_000)


def facts_of(name: str) -> list[Fact]:
    return [event.fact for event in recorded(name)]


def up_to(name: str, kind: type[Fact]) -> list[Fact]:
    """The facts of a game up to one of a kind."""
    facts = facts_of(name)
    return facts[: next(number for number, fact in enumerate(facts, 1) if isinstance(fact, kind))]


def table_after(facts: Sequence[Fact]) -> Any:
    opened: Any = facts[0]
    decider = DECIDERS[opened.kind, opened.ruleset]
    return fold(decider.evolve, decider.empty(None), facts)


def said(facts: Sequence[Fact], at: datetime) -> list[Verification | None]:
    """What is said of a game of such facts, by its table and by its result, each fact in a command of its own."""
    result = result_of(with_facts(recorded(HELD_BACK), facts))
    return [of_table(table_after(facts), at), of_finished(proved=result.proved, due=result.seeds_due, at=at)]


def time_of_seeds() -> datetime:
    (held,) = (fact.deadline for fact in facts_of(HELD_BACK) if isinstance(fact, SeedsHeldBack))
    assert held is not None
    return held


@pytest.mark.parametrize("name", FINISHED)
def test_a_game_whose_seeds_lead_to_the_commitment_is_proved_whenever_it_is_asked(name: str) -> None:
    assert said(facts_of(name), NOON) == said(facts_of(name), LONG_AFTER) == [PROVED, PROVED]


@pytest.mark.parametrize("name", FINISHED)
def test_a_game_that_goes_on_is_pending(name: str) -> None:
    for facts in (facts_of(name)[:1], up_to(name, GameFinished)[:-1]):
        assert of_table(table_after(facts), LONG_AFTER) is PENDING


def test_of_a_game_that_was_called_off_nothing_is_said() -> None:
    assert of_table(table_after(up_to("tickle-cancelled", GameCancelled)), LONG_AFTER) is None


@pytest.mark.parametrize("name", FINISHED)
def test_a_game_that_is_over_without_a_word_of_its_seeds_is_unverifiable_at_once(name: str) -> None:
    assert said(up_to(name, GameFinished), NOON) == [UNVERIFIABLE, UNVERIFIABLE]


@pytest.mark.parametrize("name", FINISHED)
def test_a_game_whose_seeds_lead_to_something_else_is_unverifiable(name: str) -> None:
    facts = facts_of(name)
    assert isinstance(facts[-1], SeedsRevealed)
    others = SeedsRevealed(seeds=(FOREIGN, *facts[-1].seeds[1:]))
    fewer, more = SeedsRevealed(seeds=facts[-1].seeds[:-1]), SeedsRevealed(seeds=(*facts[-1].seeds, FOREIGN))
    for revealed in (others, fewer, more):
        assert said([*facts[:-1], revealed], NOON) == [UNVERIFIABLE, UNVERIFIABLE]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (timedelta(days=-1), PENDING),
        (timedelta(0), PENDING),
        (LATE - timedelta(microseconds=1), PENDING),
        (LATE, UNVERIFIABLE),
        (timedelta(days=1), UNVERIFIABLE),
    ],
)
def test_held_back_seeds_are_missed_a_moment_after_their_time(after: timedelta, expected: Verification) -> None:
    assert said(up_to(HELD_BACK, SeedsHeldBack), time_of_seeds() + after) == [expected, expected]


def test_seeds_that_come_after_they_were_missed_prove_the_game() -> None:
    late = time_of_seeds() + timedelta(days=30)
    assert said(facts_of(HELD_BACK), late) == [PROVED, PROVED]


@pytest.mark.parametrize("name", FINISHED)
def test_between_the_end_and_the_seeds_of_one_command_they_are_on_their_way(name: str) -> None:
    events = recorded(name)
    end = next(n for n, event in enumerate(events, 1) if isinstance(event.fact, GameFinished))
    result = result_of(events[:end])
    assert of_finished(proved=result.proved, due=result.seeds_due, at=result.finished_at) is PENDING
    assert of_table(table_after([event.fact for event in events[:end]]), None) is PENDING


@pytest.mark.parametrize("name", FINISHED)
def test_seeds_that_were_never_committed_to_open_no_card(name: str) -> None:
    facts = facts_of(name)
    assert isinstance(facts[-1], SeedsRevealed)
    table = table_after([*facts[:-1], SeedsRevealed(seeds=(FOREIGN,) * len(facts[-1].seeds))])
    assert (table.seeds, getattr(table, "deck", None)) == (None, None)
