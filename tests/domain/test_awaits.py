"""Whom a game waits for: as its table says, as the facts alone say, and as what is open to each seat says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
import pytest

from domain.decider import AnyDecider, Fact, Viewer, positions
from domain.lifecycle import Resign
from domain.poker.facts import HandsRevealed
from domain.poker.rules import POKER, Call, KeepCards
from domain.ticitaire.rules import TICITAIRE
from domain.tickle.facts import Closing, TurnPassed
from domain.tickle.rules import TICKLE, DeclineLaydown
from domain.turns import TurnBegan
from tests.domain.poker import players as poker
from tests.domain.poker.positions import CARDS_SPEAK, HAND_1, HAND_2, HAND_3, HIGH, HIGHEST_1, OPEN_FOUR, declare
from tests.domain.poker.positions import declaring as hands_are_declared
from tests.domain.poker.positions import position as poker_position
from tests.domain.poker.positions import seated as gathered
from tests.domain.sittings import Played
from tests.domain.ticitaire import players as ticitaire
from tests.domain.ticitaire.positions import opening
from tests.domain.ticitaire.positions import position as ticitaire_position
from tests.domain.tickle import players as tickle
from tests.domain.tickle.positions import ABLE, GRID, STUCK_1, STUCK_2, STUCK_3, lay
from tests.domain.tickle.positions import position as tickle_position
from tests.given import given
from tests.golden.replayed import decider_of, facts_of
from tests.golden.samples import recorded_games

each_kind = pytest.mark.parametrize("games", [ticitaire.games, tickle.games, poker.games], ids=lambda f: f.__module__)
each_recorded_game = pytest.mark.parametrize("name", recorded_games())
some = hypothesis.settings(deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def differences(
    decider: AnyDecider, facts: Sequence[Fact], table: Any = None
) -> Iterator[tuple[int, Fact, object, object]]:
    """The facts, from the first on or from a table on, after which the table and they alone do not say the same."""
    table = decider.empty(None) if table is None else table
    seats = decider.awaits(table)
    for fact, _, after in positions(decider.evolve, table, facts):
        seats = decider.awaited_after(seats, fact)
        if seats != decider.awaits(after):
            yield after.version, fact, seats, decider.awaits(after)


def able(decider: AnyDecider, table: Any) -> tuple[int, ...]:
    """The seats that can do something; giving up is something only where nobody else can go on."""
    alone = decider is TICITAIRE
    return tuple(
        seat
        for seat in range(1, len(table.players) + 1)
        if any(alone or not isinstance(command, Resign) for command in decider.legal_commands(table, Viewer(seat=seat)))
    )


@each_kind
def test_after_every_event_the_facts_alone_say_what_the_table_says(games: Any) -> None:
    @some
    @hypothesis.given(games())
    def follow(played: Played[Any]) -> None:
        assert list(differences(played.decider, played.facts)) == []

    follow()


@each_recorded_game
def test_after_every_event_of_a_recorded_game_the_facts_alone_say_what_the_table_says(name: str) -> None:
    facts = facts_of(name)
    assert list(differences(decider_of(facts), facts)) == []


@each_kind
def test_after_every_command_a_seat_is_awaited_that_can_do_something_and_no_other(games: Any) -> None:
    @some
    @hypothesis.given(games())
    def follow(played: Played[Any]) -> None:
        for step in played.steps:
            assert played.decider.awaits(step.after) == able(played.decider, step.after), step.facts

    follow()


@each_kind
def test_whom_a_game_waits_for_is_known_without_its_seeds(games: Any) -> None:
    @some
    @hypothesis.given(games())
    def follow(played: Played[Any]) -> None:
        decider = played.decider
        bare = [decider.awaits(step.after) for step in positions(decider.evolve, decider.empty(None), played.facts)]
        assert bare == [decider.awaits(table) for table in played.tables()]

    follow()


# By hand


def test_before_the_deal_nobody_is_awaited() -> None:
    assert POKER.awaits(gathered(2)) == ()
    assert TICITAIRE.awaits(TICITAIRE.empty(None)) == ()


def test_the_only_player_is_awaited_from_the_deal_to_the_end() -> None:
    table = given(*opening()).table
    assert TICITAIRE.awaits(table) == (1,)
    assert TICITAIRE.awaits(given(table=table).when(Resign(seat=1)).after) == ()


def test_the_only_player_is_awaited_also_where_nothing_is_left_but_giving_up() -> None:
    stuck = ticitaire_position("1-star-red | 2-circle-cyan")
    assert TICITAIRE.legal_commands(stuck, Viewer(seat=1)) == (Resign(seat=1),)
    assert TICITAIRE.awaits(stuck) == (1,)


def test_a_laydown_passes_the_waiting_on() -> None:
    table = tickle_position(f"3-star-cyan {STUCK_1}", ABLE, grid=GRID)
    after = given(table=table, decider=TICKLE).when(lay(1, "3-star-cyan", 2)).after
    assert (TICKLE.awaits(table), TICKLE.awaits(after)) == ((1,), (2,))


def test_a_draw_leaves_the_seat_awaited_that_drew() -> None:
    table = tickle_position(STUCK_1, ABLE, grid=GRID, drawn=True)
    assert TICKLE.awaits(table) == (1,)
    assert TICKLE.awaits(given(table=table, decider=TICKLE).when(DeclineLaydown(seat=1)).after) == (2,)


def test_seats_whose_turns_pass_are_not_awaited_after_the_command() -> None:
    table = tickle_position(f"3-star-cyan {STUCK_1}", STUCK_2, ABLE, grid=GRID)
    outcome = given(table=table, decider=TICKLE).when(lay(1, "3-star-cyan", 2))
    assert [fact for fact in outcome.facts if isinstance(fact, TurnPassed | TurnBegan)] == [
        TurnPassed(seat=2, round=3),
        TurnBegan(seat=3, round=3),
    ]
    assert TICKLE.awaits(outcome.after) == (3,)
    assert list(differences(TICKLE, outcome.facts, table)) == []


def test_a_game_that_passes_to_its_end_waits_for_nobody() -> None:
    table = tickle_position(f"3-star-cyan {STUCK_1}", STUCK_2, STUCK_3, grid=GRID, closing=Closing.NO_LAYDOWN)
    outcome = given(table=table, decider=TICKLE).when(lay(1, "3-star-cyan", 2))
    assert outcome.after.over
    assert TICKLE.awaits(outcome.after) == ()
    assert list(differences(TICKLE, outcome.facts, table)) == []


def test_another_seat_that_resigns_leaves_the_one_awaited_that_has_the_turn() -> None:
    table = tickle_position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck="1-star-violet")
    assert TICKLE.awaits(given(table=table, decider=TICKLE).when(Resign(seat=2)).after) == (1,)
    assert TICKLE.awaits(given(table=table, decider=TICKLE).when(Resign(seat=1)).after) == (2,)


def test_after_a_call_the_seat_on_its_left_is_awaited() -> None:
    table = poker_position(HAND_1, HAND_2, HAND_3, turn=3)
    assert POKER.awaits(table) == (3,)
    assert POKER.awaits(given(table=table, decider=POKER).when(Call(seat=3)).after) == (1,)


def test_when_hands_are_revealed_all_seats_are_awaited_until_each_has_declared() -> None:
    table = poker_position(HAND_1, HAND_2, HAND_3, turn=3, stage=3, community=OPEN_FOUR)
    revealed = given(table=table, decider=POKER).when(KeepCards(seat=3)).after
    assert POKER.awaits(revealed) == (1, 2, 3)
    declared = given(table=hands_are_declared(), decider=POKER).when(declare(1, HIGH, HIGHEST_1)).after
    assert POKER.awaits(declared) == (2, 3)
    assert POKER.awaits(given(table=declared, decider=POKER).when(Resign(seat=3)).after) == (2,)


def test_where_cards_speak_nobody_is_awaited_for_a_hand() -> None:
    table = poker_position(HAND_1, HAND_2, HAND_3, turn=3, stage=3, community=OPEN_FOUR, options=CARDS_SPEAK)
    outcome = given(table=table, decider=POKER).when(KeepCards(seat=3))
    assert any(isinstance(fact, HandsRevealed) for fact in outcome.facts)
    assert isinstance(outcome.facts[-1], TurnBegan)
    assert POKER.awaits(outcome.after) == (outcome.facts[-1].seat,)
    assert list(differences(POKER, outcome.facts, table)) == []
