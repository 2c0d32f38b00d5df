"""Seeds that are held back after the end of a game: sealed until their time, and then revealed. All kinds."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any, Final

import pytest

from domain.cards import HIDDEN, Card
from domain.decider import EVERYTHING, PUBLIC, AnyDecider, Fact, Viewer, fold
from domain.lifecycle import (
    ExtendDeadline,
    GameFinished,
    Resign,
    RunOutOfTime,
    SeedsHeldBack,
    SeedsRevealed,
    changed,
    reveal_or_hold_back,
)
from domain.poker.facts import Options as PokerOptions
from domain.results import result_of
from domain.ticitaire.facts import Options
from domain.tickle.facts import DeckPart
from domain.tickle.facts import Options as TickleOptions
from tests.domain.poker import players as poker
from tests.domain.sittings import Played
from tests.domain.ticitaire import players as ticitaire
from tests.domain.tickle import players as tickle
from tests.given import NOON, Outcome, given

UNTIL: Final = NOON + timedelta(days=7)

PLAYED: Final[dict[str, Played[Any]]] = {
    "ticitaire won": ticitaire.play(random.Random(25), options=Options(sealed_until=UNTIL)),
    "ticitaire given up": ticitaire.play(
        random.Random(3), options=Options(sealed_until=UNTIL), course=ticitaire.Course.GIVEN_UP, length=40
    ),
    "tickle": tickle.play(
        random.Random(4), options=TickleOptions(deck=DeckPart.HALF, target=20, sealed_until=UNTIL), players=2
    ),
    "tickle resigned": tickle.play(
        random.Random(4),
        options=TickleOptions(sealed_until=UNTIL),
        course=tickle.Course.RESIGNED,
        length=6,
    ),
    "poker": poker.play(random.Random(29), options=PokerOptions(rounds=1, sealed_until=UNTIL)),
    "poker resigned in a round": poker.play(
        random.Random(1), options=PokerOptions(rounds=3, sealed_until=UNTIL), course=poker.Course.RESIGNED, length=3
    ),
}

each_game = pytest.mark.parametrize("name", PLAYED)


def over(name: str) -> Any:
    """The table of a game that is over, with its seeds held back, as the server has it."""
    return PLAYED[name].steps[-1].before


def decider(name: str) -> AnyDecider:
    return PLAYED[name].decider


def when(name: str, command: Any, late: timedelta) -> Outcome:
    return given(table=over(name), decider=decider(name)).when(command, UNTIL + late)


# The facts


@each_game
def test_a_game_that_ends_before_the_time_holds_its_seeds_back(name: str) -> None:
    *_, last, revealing = PLAYED[name].steps
    assert isinstance(last.facts[-2], GameFinished)
    assert last.facts[-1] == SeedsHeldBack(deadline=UNTIL)
    assert over(name).held_back
    assert revealing.player is None


@each_game
def test_the_seeds_come_out_at_the_time_or_after_it(name: str) -> None:
    seeds, deals = PLAYED[name].seeds, over(name).deals
    for late in (timedelta(0), timedelta(days=30)):
        revealed = when(name, RunOutOfTime(), late)
        revealed.then(SeedsRevealed(seeds=tuple(seeds.seed(number).hex() for number in range(1, deals + 1))))
        assert (revealed.after.closed, revealed.after.held_back, revealed.after.deadline) == (True, False, None)


@each_game
def test_and_not_a_moment_before(name: str) -> None:
    when(name, RunOutOfTime(), timedelta(microseconds=-1)).refused("TIME_IS_LEFT", "G2")


@each_game
def test_they_come_out_once(name: str) -> None:
    outcome = given(table=PLAYED[name].table, decider=decider(name)).when(RunOutOfTime(), UNTIL)
    assert outcome.violation is not None
    assert outcome.violation.code == "GAME_OVER"


@each_game
def test_nothing_else_is_done_meanwhile(name: str) -> None:
    for command in (Resign(seat=1), ExtendDeadline(seconds=60)):
        refused = when(name, command, timedelta(days=-1)).violation
        assert refused is not None
        assert refused.code == "GAME_OVER"


@each_game
def test_the_command_is_found_again_from_its_facts(name: str) -> None:
    *_, last = PLAYED[name].steps
    command = decider(name).command_of(last.facts, last.before)
    assert command == RunOutOfTime()
    assert decider(name).decide(command, last.before, last.at) == last.facts


def test_a_game_that_ends_after_the_time_reveals_its_seeds_with_the_result() -> None:
    played = tickle.play(
        random.Random(4),
        options=TickleOptions(sealed_until=NOON + timedelta(seconds=1), turn_seconds=60),
        course=tickle.Course.TIMED_OUT,
        length=3,
    )
    assert isinstance(played.facts[-2], GameFinished)
    assert isinstance(played.facts[-1], SeedsRevealed)


def test_a_game_that_ends_at_the_very_time_has_nothing_to_hold_back() -> None:
    table = over("tickle")
    assert isinstance(reveal_or_hold_back(table, UNTIL, UNTIL), SeedsRevealed)
    moment_before = UNTIL - timedelta(microseconds=1)
    assert reveal_or_hold_back(table, UNTIL, moment_before) == SeedsHeldBack(deadline=UNTIL)


# What stays sealed


def viewers(name: str) -> list[Viewer]:
    return [PUBLIC, *(Viewer(seat=seat, player=player) for seat, player in enumerate(over(name).players, 1))]


def sealed(name: str) -> list[Fact]:
    """What the log has until the seeds come out."""
    return list(PLAYED[name].facts[:-1])


@each_game
def test_the_public_sees_what_whoever_has_no_seeds_sees(name: str) -> None:
    bare = fold(decider(name).evolve, decider(name).empty(None), sealed(name))
    assert decider(name).view(over(name), PUBLIC) == decider(name).view(bare, PUBLIC)


@each_game
def test_no_viewer_sees_a_card_that_another_seed_would_have_dealt_otherwise(name: str) -> None:
    """With the hidden cards of all others shuffled, a viewer sees the same."""
    table, chance = over(name), random.Random(5)
    for viewer in viewers(name):
        known = known_to(name, viewer)
        other = shuffled_but(table.deck, known, chance)
        assert other != table.deck
        assert decider(name).view(changed(table, deck=other), viewer) == decider(name).view(table, viewer)


def known_to(name: str, viewer: Viewer) -> set[Card]:
    """The cards that a viewer has met: those that the log names, and those that came to the own seat."""
    cards = {card for fact in sealed(name) for card in named_in(fact.model_dump())}
    if viewer.seat:
        for version in range(1, over(name).version + 1):
            cards |= set(decider(name).came_to(over(name), viewer.seat, version))
    return cards


def named_in(value: Any) -> set[Card]:
    match value:
        case Card():
            return {value}
        case dict():
            return set().union(*(named_in(one) for one in value.values()))
        case list() | tuple():
            return set().union(*(named_in(one) for one in value))
        case _:
            return set()


def shuffled_but(deck: tuple[Card, ...], known: set[Card], chance: random.Random) -> tuple[Card, ...]:
    free = [at for at, card in enumerate(deck) if card not in known]
    order = chance.sample(free, len(free))
    moved = dict(zip(free, order, strict=True))
    return tuple(deck[moved.get(at, at)] for at in range(len(deck)))


@each_game
def test_everything_is_open_once_the_seeds_are_out(name: str) -> None:
    bare = fold(decider(name).evolve, decider(name).empty(None), PLAYED[name].facts)
    assert decider(name).view(bare, EVERYTHING) == decider(name).view(PLAYED[name].table, EVERYTHING)
    assert repr(HIDDEN) not in repr(decider(name).view(bare, EVERYTHING))


@each_game
def test_nothing_is_open_to_anyone_and_nobody_is_waited_for(name: str) -> None:
    for viewer in viewers(name):
        assert decider(name).legal_commands(over(name), viewer) == ()
    assert decider(name).awaits(over(name)) == ()
    assert decider(name).awaited_after((), sealed(name)[-1]) == ()


@each_game
def test_a_result_is_not_proved_until_they_are_out(name: str) -> None:
    events = [event for command in PLAYED[name].events() for event in command]
    assert (result_of(events[:-1]).proved, result_of(events).proved) == (False, True)


@each_game
def test_it_is_told_until_when(name: str) -> None:
    table = over(name)
    assert decider(name).tell(SeedsHeldBack(deadline=UNTIL), table, table, {}) == (
        "The seeds are held back until 2030-05-08 12:00 UTC."
    )
