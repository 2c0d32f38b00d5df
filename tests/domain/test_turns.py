"""Whose turn it is, who is still in, how time-outs and places are counted. G1, G2, G4, K14."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from domain.decider import Command, Fact, RuleViolation, fold
from domain.lifecycle import DeadlineExtended, PlayerResigned, Resign, TimedOut
from domain.tables import Join, Leave, PlayerJoined, TableOpened, TableOptions
from domain.turns import (
    TurnBegan,
    TurnTable,
    Unfolding,
    acted,
    deadline_at,
    evolve,
    leaving,
    must_be_in,
    must_have_the_turn,
    places,
    times_out,
)
from tests.given import NOON, PLAYER, SEEDS

PLAYERS = (PLAYER, UUID(int=2), UUID(int=3), UUID(int=4))
STRANGER = UUID(int=99)
FOUR = TurnTable(players=PLAYERS, joined=PLAYERS, deals=1, turn=1, round=1)


def after(*facts: Fact, table: TurnTable = FOUR) -> TurnTable:
    return fold(evolve, table, facts)


def timed_out(*seats: int) -> tuple[TimedOut, ...]:
    return tuple(TimedOut(seat=seat, deadline=NOON) for seat in seats)


# Turns go round


@pytest.mark.parametrize(
    ("turn", "resigned", "following"),
    [
        pytest.param(1, (), (2, 1), id="then comes the next seat"),
        pytest.param(4, (), (1, 2), id="after the last seat comes the next round"),
        pytest.param(1, (2, 3), (4, 1), id="seats that resigned are passed over"),
        pytest.param(3, (4,), (1, 2), id="also at the end of the round"),
        pytest.param(4, (1,), (2, 2), id="and at its beginning"),
        pytest.param(2, (2,), (3, 1), id="one who resigns in the turn is followed by the next"),
        pytest.param(4, (4,), (1, 2), id="also at the end of a round"),
        pytest.param(3, (1, 4, 2), (3, 2), id="who is alone has the next turn, too"),
    ],
)
def test_the_next_turn(turn: int, resigned: tuple[int, ...], following: tuple[int, int]) -> None:
    table = replace(FOUR, turn=turn, resigned=resigned)
    assert table.next_turn == following


def test_a_turn_that_begins_is_that_of_its_seat_with_its_deadline() -> None:
    table = after(TurnBegan(seat=3, round=7, deadline=NOON))
    assert (table.turn, table.round, table.deadline, table.version) == (3, 7, NOON, 1)
    assert after(TurnBegan(seat=4, round=7), table=table).deadline is None


def test_seats_that_resigned_are_kept_in_their_order() -> None:
    table = after(PlayerResigned(seat=3), PlayerResigned(seat=1))
    assert (table.resigned, table.still_in) == ((3, 1), (2, 4))


def test_other_facts_change_no_turn() -> None:
    table = after(DeadlineExtended(deadline=NOON))
    assert (table.turn, table.round, table.deadline) == (1, 1, NOON)


# Time


def opened(seconds: int | None) -> TurnTable:
    options = TableOptions(seats=4, turn_seconds=seconds)
    fact = TableOpened(ruleset=1, host=PLAYER, deal=SEEDS.deal, commitment=SEEDS.commitment.hex(), options=options)
    return replace(FOUR, opened=fact)


def test_a_turn_runs_out_after_the_seconds_that_the_table_gives() -> None:  # G2
    assert deadline_at(opened(90), NOON) == NOON + timedelta(seconds=90)


def test_where_the_table_gives_no_limit_a_turn_has_no_deadline() -> None:  # G2
    assert deadline_at(opened(None), NOON) is None


def test_a_table_that_is_not_opened_has_no_options() -> None:
    with pytest.raises(LookupError, match="not opened"):
        deadline_at(FOUR, NOON)


@pytest.mark.parametrize(
    ("seats", "out"),
    [
        pytest.param((1,), False, id="one time-out"),
        pytest.param((1, 1), False, id="two in a row"),
        pytest.param((1, 1, 1), True, id="three in a row"),
        pytest.param((1, 2, 1, 3, 1), True, id="three in a row with those of others between"),
        pytest.param((2, 2, 3, 3, 1), False, id="those of others"),
        pytest.param((1, 1, 0, 1), False, id="three, but not in a row"),
        pytest.param((1, 1, 0, 1, 1, 0, 1), False, id="five in a game"),
        pytest.param((1, 1, 0, 1, 1, 0, 1, 0, 1), True, id="six in a game"),
    ],
)
def test_time_outs_resign_a_seat(seats: Sequence[int], out: bool) -> None:  # G2
    """0 stands for a turn that seat 1 ends by itself."""
    table = FOUR
    for seat in seats:
        table = after(*timed_out(seat), table=table) if seat else acted(table, 1)
    assert times_out(table, seats[-1]) is out


def test_one_who_acts_keeps_the_time_outs_of_the_game_and_those_of_others() -> None:  # G2
    table = acted(after(*timed_out(1, 2, 1)), 1)
    assert (table.in_a_row, table.timed_out) == ((0, 1, 0, 0), (1, 2, 1))


def test_one_who_never_timed_out_acts_without_a_change() -> None:
    assert acted(FOUR, 1) is FOUR
    table = after(*timed_out(2))
    assert acted(table, 1) is table


# Places


@pytest.mark.parametrize(
    ("scores", "resigned", "told"),
    [
        pytest.param((10, 30, 20), (), (3, 1, 2), id="the highest score is first"),
        pytest.param((20, 20, 10), (), (1, 1, 3), id="equal scores share the place, and the next is skipped"),
        pytest.param((30, 20, 20, 10), (), (1, 2, 2, 4), id="also further down"),
        pytest.param((5, 5, 5), (), (1, 1, 1), id="all may be first"),
        pytest.param((-30, -5, 0), (), (3, 2, 1), id="scores may be negative"),
        pytest.param((99, 1, 2), (1,), (3, 2, 1), id="one who resigned is behind all who finished"),
        pytest.param((99, 98, 1, 2), (2, 1), (3, 4, 2, 1), id="the first to resign is last"),
        pytest.param((99, 99, 1, 1), (1, 2), (4, 3, 1, 1), id="equal scores do not share a place after resigning"),
        pytest.param((1, 99, 98), (3, 2), (1, 2, 3), id="the one who is left is first"),
        pytest.param((5, 5, 9, 5), (3,), (1, 1, 4, 1), id="nobody is behind one who is gone"),
    ],
)
def test_places(scores: Sequence[int], resigned: Sequence[int], told: tuple[int, ...]) -> None:  # K14, G1
    assert places(scores, resigned) == told


# Leaving, and what is refused


def test_leaving_a_game_that_has_started_is_resigning() -> None:  # G1
    assert leaving(Leave(player=PLAYERS[2]), FOUR) == Resign(seat=3)


@pytest.mark.parametrize(
    ("command", "table"),
    [
        pytest.param(Leave(player=PLAYERS[2]), replace(FOUR, deals=0, players=()), id="leaving before the deal"),
        pytest.param(Leave(player=STRANGER), FOUR, id="leaving a table that one is not at"),
        pytest.param(Join(player=PLAYERS[2]), FOUR, id="joining"),
        pytest.param(Resign(seat=2), FOUR, id="resigning"),
    ],
)
def test_other_commands_stay_as_they_are(command: Command, table: TurnTable) -> None:
    assert leaving(command, table) is command


def test_a_seat_that_resigned_is_out() -> None:  # G1
    table = after(PlayerResigned(seat=2))
    must_be_in(table, 1)
    for refuse in (must_be_in, must_have_the_turn):
        with pytest.raises(RuleViolation) as refused:
            refuse(table, 2)
        assert (refused.value.code, refused.value.ruling) == ("RESIGNED", "G1")


@pytest.mark.parametrize("seat", [2, 4])
def test_only_the_seat_with_the_turn_plays(seat: int) -> None:  # G4
    must_have_the_turn(FOUR, 1)
    with pytest.raises(RuleViolation, match=f"turn of seat 1; yours is seat {seat}") as refused:
        must_have_the_turn(FOUR, seat)
    assert (refused.value.code, refused.value.ruling) == ("NOT_YOUR_TURN", "G4")


@pytest.mark.parametrize("seat", [-1, 0, 5])
def test_a_seat_that_the_game_does_not_have_is_not_in(seat: int) -> None:
    with pytest.raises(RuleViolation) as refused:
        must_be_in(FOUR, seat)
    assert (refused.value.code, refused.value.ruling) == ("NOT_AT_THE_TABLE", "G3")


# Unfolding


def test_facts_unfold_one_after_the_other_and_the_table_with_them() -> None:
    unfolding = Unfolding(evolve, replace(FOUR, joined=()))
    unfolding.then(PlayerJoined(player=STRANGER))
    unfolding.then(PlayerResigned(seat=1), TurnBegan(seat=2, round=1))
    assert unfolding.facts == (PlayerJoined(player=STRANGER), PlayerResigned(seat=1), TurnBegan(seat=2, round=1))
    assert (unfolding.table.joined, unfolding.table.resigned, unfolding.table.turn) == ((STRANGER,), (1,), 2)
