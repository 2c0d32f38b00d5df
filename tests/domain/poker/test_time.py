"""How time runs out, in turns and in declaring: given a position, when a command, then these facts. G2, P5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.decider import Command, Fact
from domain.lifecycle import DeadlineExtended, ExtendDeadline, PlayerResigned, RunOutOfTime, TimedOut
from domain.poker.facts import CardsKept, CommunityCardTurned, Ending, HandDeclared, Options, PokerFinished, Variation
from domain.poker.hands import Rank
from domain.poker.rules import POKER, Call, ExchangeCards, ExchangeCommunityCard, KeepCards
from domain.poker.table import PokerTable
from domain.turns import TurnBegan
from tests.domain.poker.positions import (
    ALL_HANDS,
    BEST_1,
    BEST_2,
    BEST_3,
    CARDS_SPEAK,
    FIFTH,
    FIRST,
    FOUR,
    FULL,
    HAND_1,
    HAND_2,
    HAND_3,
    HIGH,
    HIGHEST_1,
    HIGHEST_2,
    HIGHEST_3,
    MINUTE,
    OPEN,
    OPEN_FOUR,
    TIMED,
    Case,
    counts_as,
    dealt,
    declare,
    declaring,
    finished,
    position,
    revealed,
    scored,
)
from tests.given import NOON, given


def timed(turn: int = 1, timed_out: Sequence[int] = (), in_a_row: Sequence[int] = (), stage: int = 1) -> PokerTable:
    """A table on which a seat has the turn, until a minute past noon."""
    return position(
        HAND_1,
        HAND_2,
        HAND_3,
        turn=turn,
        stage=stage,
        timed_out=timed_out,
        in_a_row=in_a_row,
        community=OPEN if stage < 3 else OPEN_FOUR,
        options=TIMED,
        deadline=NOON + MINUTE,
    )


def runs_out(sentence: str, table: PokerTable, *facts: Fact, late: timedelta = timedelta(0)) -> Case:
    timed_out = TimedOut(seat=table.turn, deadline=NOON + MINUTE)
    return Case(sentence, table, RunOutOfTime(), (timed_out, *facts), NOON + MINUTE + late)


def timely(seat: int, minutes: float = 2) -> TurnBegan:
    return TurnBegan(seat=seat, round=2, deadline=NOON + minutes * MINUTE)


TIME = [
    Case(
        "G2: a turn that begins has its deadline",
        timed(),
        KeepCards(seat=1),
        (CardsKept(seat=1), timely(2, 1.5)),
        NOON + 0.5 * MINUTE,
    ),
    Case(
        "G2, P5: declaring has its deadline, too",
        timed(turn=3, stage=3),
        KeepCards(seat=3),
        (CardsKept(seat=3), CommunityCardTurned(card=FIRST), revealed(*ALL_HANDS, deadline=NOON + 1.5 * MINUTE)),
        NOON + 0.5 * MINUTE,
    ),
    runs_out("G2: a turn runs out of time, and the cards are kept", timed(), timely(2)),
    runs_out(
        "G2: the next turn counts from the moment in which the time-out is recorded",
        timed(),
        timely(2, 5),
        late=3 * MINUTE,
    ),
    runs_out("G2, P2: the last turn of a stage runs out", timed(turn=3), CommunityCardTurned(card=FIRST), timely(1)),
    runs_out("G2: two time-outs in a row are borne", timed(timed_out=(1, 2), in_a_row=(1, 1, 0)), timely(2)),
    runs_out(
        "G2: three in a row resign the seat",
        timed(timed_out=(1, 2, 1), in_a_row=(2, 1, 0)),
        PlayerResigned(seat=1),
        timely(2),
    ),
    runs_out(
        "G2: five in a game are borne",
        timed(timed_out=(1, 2, 1, 1, 2, 1, 2), in_a_row=(0, 0, 0)),
        timely(2),
    ),
    runs_out(
        "G2: six in a game resign the seat",
        timed(timed_out=(1, 2, 1, 1, 2, 1, 2, 1), in_a_row=(0, 0, 0)),
        PlayerResigned(seat=1),
        timely(2),
    ),
    runs_out(
        "G1, G2: the last seat of a stage is resigned by its time-out, and the stage is over",
        timed(turn=3, timed_out=(3, 3), in_a_row=(0, 0, 2)),
        PlayerResigned(seat=3),
        CommunityCardTurned(card=FIRST),
        timely(1),
    ),
    runs_out(
        "G1, G2: a time-out that leaves one seat ends the game, and the open round is not scored",
        position(
            HAND_1,
            HAND_2,
            turn=1,
            timed_out=(1, 1),
            in_a_row=(2, 0),
            points=(2, 1),
            options=TIMED,
            deadline=NOON + MINUTE,
        ),
        PlayerResigned(seat=1),
        *finished(Ending.RESIGNATIONS, (2, 2), (1, 1), deals=2, resigned=(1,)),
    ),
    Case(
        "G2: lost time is given back from the deadline on",
        timed(),
        ExtendDeadline(seconds=90),
        (DeadlineExtended(deadline=NOON + 2.5 * MINUTE),),
    ),
]


def late(
    sentence: str, *facts: Fact, declared: Sequence[HandDeclared] = (), in_a_row: Sequence[int] = (), after: float = 0
) -> Case:
    """The time to declare runs out."""
    table = replace(
        position(
            HAND_1,
            HAND_2,
            HAND_3,
            community=FULL,
            deck="",
            stage=3,
            open_hands=(1, 2, 3),
            declared=declared,
            timed_out=[seat for seat, times in enumerate(in_a_row, 1) for _ in range(times)],
            in_a_row=in_a_row,
            options=TIMED,
        ),
        deadline=NOON + MINUTE,
    )
    return Case(sentence, table, RunOutOfTime(), facts, NOON + MINUTE + after * MINUTE)


def timed_out(seat: int) -> TimedOut:
    return TimedOut(seat=seat, deadline=NOON + MINUTE)


def next_timed(minutes: float = 2) -> tuple[Fact, Fact]:
    return dealt(3, 1, 2, 3, 1, players=3), TurnBegan(seat=2, round=3, deadline=NOON + minutes * MINUTE)


LATE = [
    late(
        "P5, G2: one whose time runs out has declared High Card with the five highest",
        timed_out(2),
        counts_as(2, HIGH, HIGHEST_2),
        scored((1, 1, 3), (3, 2, 2), (2, 3, 1)),
        *next_timed(),
        declared=[BEST_3, BEST_1],
    ),
    late(
        "P5, G2: it runs out for all who have not declared, in the order of the turns",
        timed_out(1),
        counts_as(1, HIGH, HIGHEST_1),
        timed_out(3),
        counts_as(3, HIGH, HIGHEST_3),
        scored((2, 1, 3), (1, 2, 2), (3, 3, 1)),
        *next_timed(),
        declared=[BEST_2],
    ),
    late(
        "P5, G2: also for all seats; the next turn counts from the moment in which the time-outs are recorded",
        *(fact for seat, five in enumerate((HIGHEST_1, HIGHEST_2, HIGHEST_3), 1) for fact in (
            timed_out(seat), counts_as(seat, HIGH, five)
        )),
        scored((2, 1, 3), (1, 2, 2), (3, 3, 1)),
        *next_timed(7),
        after=5,
    ),
    late(
        "P12, G2: the third time-out in a row resigns the seat, which is then not ranked",
        timed_out(2),
        counts_as(2, HIGH, HIGHEST_2),
        PlayerResigned(seat=2),
        scored((1, 1, 3), (3, 2, 2)),
        dealt(3, 1, 3, 1, players=3),
        TurnBegan(seat=3, round=3, deadline=NOON + 2 * MINUTE),
        declared=[BEST_3, BEST_1],
        in_a_row=(1, 2, 0),
    ),
]  # fmt: skip

CASES = [*TIME, *LATE]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_time_runs_out_or_is_given_back(case: Case) -> None:
    given(table=case.table, decider=POKER).when(case.command, case.at).then(*case.facts)


def test_every_fact_of_time_comes_of_some_case() -> None:
    told = {type(fact) for case in CASES for fact in case.facts}
    assert told >= {TimedOut, DeadlineExtended, PlayerResigned}


# Time-outs in a row


def in_turn(seat: int, options: Options, in_a_row: Sequence[int]) -> PokerTable:
    return position(HAND_1, HAND_2, HAND_3, turn=seat, options=options, in_a_row=in_a_row)


COMMUNITY = Options(variation=Variation.COMMUNITY_EXCHANGE)


@pytest.mark.parametrize(
    "command",
    [ExchangeCards(seat=2, slots=(1,)), ExchangeCommunityCard(seat=2, slot=1), KeepCards(seat=2), Call(seat=2)],
    ids=lambda command: type(command).__name__,
)
def test_whoever_acts_in_a_turn_has_no_time_outs_in_a_row_any_more(command: Command) -> None:  # G2
    after = given(table=in_turn(2, COMMUNITY, (1, 2, 1)), decider=POKER).when(command).after
    assert after.in_a_row == (1, 0, 1)


def test_whoever_declares_in_time_has_no_time_outs_in_a_row_any_more() -> None:  # G2
    table = replace(declaring(), in_a_row=(2, 2, 2))
    assert given(table=table, decider=POKER).when(declare(3, HIGH, HIGHEST_3)).after.in_a_row == (2, 2, 0)


def test_a_time_out_in_declaring_is_one_in_a_row() -> None:  # G2
    case = late("", in_a_row=(0, 1, 0), declared=[BEST_1])
    after = given(table=case.table, decider=POKER).when(case.command, case.at).after
    assert (after.in_a_row, after.timed_out) == ((0, 2, 1), (2, 2, 3))


def test_time_outs_in_declaring_are_in_a_row_with_those_in_turns() -> None:  # G2
    case = late("", in_a_row=(0, 2, 0), declared=[BEST_1])
    after = given(table=case.table, decider=POKER).when(case.command, case.at).after
    assert after.resigned == (2,)


def test_whoever_was_late_to_declare_is_not_late_in_the_next_round() -> None:  # G2
    case = late("", in_a_row=(0, 0, 0), declared=[BEST_1, BEST_3])
    after = given(table=case.table, decider=POKER).when(case.command, case.at).after
    assert (after.deals, after.in_a_row) == (3, (0, 1, 0))
    revealed_again = replace(case.table, timed_out=after.timed_out, in_a_row=after.in_a_row, late=after.late)
    declared = given(table=revealed_again, decider=POKER).when(declare(2, Rank.TIC_PAIR, HIGHEST_2))
    assert declared.after.in_a_row == (0, 0, 0)


def test_hands_that_speak_say_nothing_of_whoever_ran_out_of_time() -> None:  # G2
    table = position(HAND_1, HAND_2, HAND_3, community=FOUR, deck=FIFTH, turn=3, stage=3, options=CARDS_SPEAK)
    table = replace(table, in_a_row=(2, 1, 1))
    assert given(table=table, decider=POKER).when(KeepCards(seat=3)).after.in_a_row == (2, 1, 0)


def test_the_time_to_declare_is_given_back_from_its_deadline_on() -> None:  # G2
    table = late("").table
    given(table=table, decider=POKER).when(ExtendDeadline(seconds=30)).then(
        DeadlineExtended(deadline=NOON + 1.5 * MINUTE)
    )


# G1, G2: with one seat left the game ends at once, and that seat is first, also where time runs out for all at once


@pytest.mark.parametrize("count", [2, 3, 4], ids=lambda count: f"{count} seats")
@pytest.mark.parametrize("rounds", [2, 5], ids=["in the last round", "in another round"])
def test_a_time_out_in_declaring_never_resigns_the_last_seat(rounds: int, count: int) -> None:
    table = declaring(count=count, options=Options(rounds=rounds, turn_seconds=60))
    table = replace(table, timed_out=tuple(range(1, count + 1)) * 2, in_a_row=(2,) * count)
    after = given(table=table, decider=POKER).when(RunOutOfTime(), NOON + MINUTE).after
    assert len(after.still_in) == 1
    assert isinstance(after.finished, PokerFinished)
    assert after.finished.ending is Ending.RESIGNATIONS
    assert [line.seat for line in after.finished.places if line.place == 1] == list(after.still_in)


def test_the_sixth_time_out_of_both_seats_in_declaring_leaves_one() -> None:
    table = declaring(count=2, options=TIMED)
    table = replace(table, timed_out=(1, 2) * 5, in_a_row=(0, 0))
    after = given(table=table, decider=POKER).when(RunOutOfTime(), NOON + MINUTE).after
    assert len(after.still_in) == 1
