"""What all kinds share of telling: tables before their deal, time-outs, time that is given back, cards in short."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from domain.cards import DECK
from domain.decider import Fact, fold, positions
from domain.lifecycle import DeadlineExtended, GameCancelled, PlayerResigned, PlayerSeated, TimedOut, changed
from domain.tables import PlayerJoined, PlayerLeft
from domain.telling import NOBODY_NAMED, WIDTH, folded, lasting, named, short, tell
from domain.tickle.facts import Options
from domain.tickle.rules import TICKLE
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan
from tests.domain.tables import ANN, BEN, HOST, table
from tests.given import NOON


def last_told(before: TickleTable, *facts: Fact) -> str:
    *_, last = positions(TICKLE.evolve, before, facts)
    return tell(*last)


def with_seats() -> TickleTable:
    return fold(TICKLE.evolve, table(ANN), [PlayerSeated(seat=1, player=HOST), PlayerSeated(seat=2, player=ANN)])


def time_outs(*seats: int) -> Sequence[Fact]:
    return [TimedOut(seat=seat, deadline=NOON) for seat in seats]


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (PlayerJoined(player=BEN), "A player joins the table, the 3rd of at most 4."),
        (PlayerLeft(player=ANN), "A player leaves the table, which has 1 player now."),
        (PlayerSeated(seat=1, player=ANN), "Seat 1 is taken."),
        (GameCancelled(), "The host calls the game off before the deal."),
    ],
    ids=lambda told: type(told).__name__,
)
def test_what_happens_before_the_deal_is_told(fact: Fact, words: str) -> None:
    assert last_told(table(ANN, options=Options(seats=4)), fact) == words


def test_the_host_sits_down_first() -> None:
    opened = fold(TICKLE.evolve, TICKLE.empty(None), [table().table_opened])
    assert last_told(opened, PlayerJoined(player=HOST)) == "The host sits down at the table, the 1st of at most 6."


def test_who_resigns_is_told_so() -> None:
    assert last_told(with_seats(), PlayerResigned(seat=2)) == "Seat 2 resigns."


def test_who_resigns_after_fewer_time_outs_does_it_by_choice() -> None:
    assert last_told(with_seats(), *time_outs(2, 2), PlayerResigned(seat=2)) == "Seat 2 resigns."


def test_who_is_resigned_by_time_outs_in_a_row_is_told_so() -> None:
    words = last_told(with_seats(), *time_outs(2, 2, 2), PlayerResigned(seat=2))
    assert words == "Seat 2 is resigned after 3 time-outs in a row."


def test_who_is_resigned_by_time_outs_in_the_game_is_told_so() -> None:
    game = fold(TICKLE.evolve, with_seats(), time_outs(*[2] * 6))
    not_in_a_row = changed(game, in_a_row=(0, 1))
    assert last_told(not_in_a_row, PlayerResigned(seat=2)) == "Seat 2 is resigned after 6 time-outs."


def test_time_that_is_given_back_is_told_as_a_span() -> None:
    turn = TurnBegan(seat=1, round=1, deadline=NOON)
    words = last_told(with_seats(), turn, DeadlineExtended(deadline=NOON + timedelta(seconds=61)))
    assert words == "No server ran for a while: the deadline moves on by 1 minute and 1 second."


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "no time"),
        (1, "1 second"),
        (3600, "1 hour"),
        (2 * 24 * 3600 + 5, "2 days and 5 seconds"),
        (90_061, "1 day, 1 hour, 1 minute and 1 second"),
    ],
)
def test_a_span_is_told_in_its_units(seconds: int, words: str) -> None:
    assert lasting(seconds) == words


def test_a_seat_without_a_name_is_called_by_its_number() -> None:
    assert (named(3), named(3, {3: ""}), named(3, {3: "Cleo"})) == ("Seat 3", "Seat 3", "Cleo")
    assert NOBODY_NAMED == {}


def test_every_card_has_three_characters_of_its_own() -> None:
    noted = {short(card) for card in DECK}
    assert len(noted) == len(DECK)
    assert {len(card) for card in noted} == {3}


def test_a_list_that_is_too_long_goes_on_below_its_first_part() -> None:
    lines = folded("turns  ", ["1 keeps"] * 20)
    assert [len(line) <= WIDTH for line in lines] == [True, True, True]
    assert [line[:14] for line in lines] == ["turns  1 keeps", "       1 keeps", "       1 keeps"]
    assert [line[-1] for line in lines] == [",", ",", "s"]
