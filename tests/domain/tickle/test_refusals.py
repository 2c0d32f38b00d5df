"""What the rules of Tickle refuse in the course of a game: every code, by its ruling."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import ModuleType
from typing import NamedTuple

import pytest

from domain import lifecycle, seating, turns
from domain.decider import Command, RuleViolation
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.tables import Leave
from domain.tickle import placement, rules
from domain.tickle.facts import Closing, LaidCard, Options
from domain.tickle.rules import MOST_CARDS_NAMED, TICKLE, DeclineLaydown, DrawCard, LayDown
from domain.tickle.table import TickleTable
from tests.domain.tickle.players import PLAYERS
from tests.domain.tickle.positions import ABLE, GRID, REST, STUCK_1, STUCK_2, STUCK_3, laid, lay, position, row
from tests.given import NOON, codes_of, given

MINUTE = timedelta(minutes=1)
TIMED = Options(turn_seconds=60)


class Case(NamedTuple):
    sentence: str
    table: TickleTable
    command: Command
    code: str
    ruling: str
    at: datetime = NOON


OPEN = position("3-star-cyan 3-square-cyan 1-circle-violet", ABLE.replace("3-square-cyan", "1-star-red"), deck=REST)
"""Nothing lies there, and seat 1 can open."""
UNABLE_TO_OPEN = position("1-circle-violet 5-star-red 2-square-yellow", "", deck=REST)
NEW_TO_OPEN = position("1-circle-violet 3-star-cyan 3-square-cyan", "", deck=REST, drawn=True)
"""3-square-cyan was drawn."""
LATER = position(ABLE, "3-star-cyan " + STUCK_2, STUCK_3, grid=GRID, deck=REST)
STUCK = position(STUCK_1, ABLE, grid=GRID, deck=REST)
DRAWN = position(STUCK_1 + " 3-star-cyan", ABLE, grid=GRID, deck=REST, drawn=True)
DRAWN_IN_VAIN = position(STUCK_1, ABLE, grid=GRID, deck=REST, drawn=True)
GONE = position(ABLE, STUCK_2, STUCK_3, grid=GRID, deck=REST, resigned=(3,))
TIMELY = position(ABLE, STUCK_2, grid=GRID, deck=REST, options=TIMED, deadline=NOON + MINUTE)
OVER: TickleTable = given(table=position(ABLE, STUCK_2, grid=GRID), decider=TICKLE).when(Resign(seat=1)).after

CASES = [
    # G4 is about turns
    *(
        Case(f"{type(command).__name__} of one who does not have the turn", LATER, command, "NOT_YOUR_TURN", "G4")
        for command in (
            lay(2, "3-star-cyan", x=2),
            DrawCard(seat=2),
            DeclineLaydown(seat=3),
        )
    ),
    Case("one without a seat lays cards", LATER, lay(0, "3-star-cyan", x=2), "NOT_AT_THE_TABLE", "G3"),
    Case("one without a seat resigns", LATER, Resign(seat=0), "NOT_AT_THE_TABLE", "G3"),
    # K3 and K4 are about the opening
    Case("one who can open draws", OPEN, DrawCard(seat=1), "MUST_LAY_DOWN", "K4"),
    Case("one who can open declines", OPEN, DeclineLaydown(seat=1), "NOT_DRAWN", "K4"),
    Case("one who can't open declines without a draw", UNABLE_TO_OPEN, DeclineLaydown(seat=1), "NOT_DRAWN", "K4"),
    Case("one who can open after a draw draws again", NEW_TO_OPEN, DrawCard(seat=1), "ALREADY_DRAWN", "K4"),
    Case(
        "one who drew opens without the drawn card",
        position("3-star-cyan 2-star-cyan 3-square-cyan", "", deck=REST, drawn=True),
        lay(1, "3-star-cyan 2-star-cyan", x=0),
        "ILLEGAL_LAYDOWN",
        "K4",
    ),
    Case("one opens with a Nic", UNABLE_TO_OPEN, lay(1, "1-circle-violet 5-star-red", x=0), "ILLEGAL_LAYDOWN", "K3"),
    # K6 and K7 are about later turns
    Case("one who can lay cards draws", LATER, DrawCard(seat=1), "MUST_LAY_DOWN", "K6"),
    Case("one who can lay cards passes", LATER, DeclineLaydown(seat=1), "NOT_DRAWN", "K6"),
    Case("one who can't lay cards passes without a draw", STUCK, DeclineLaydown(seat=1), "NOT_DRAWN", "K6"),
    Case("one who can lay the drawn card draws again", DRAWN, DrawCard(seat=1), "ALREADY_DRAWN", "K7"),
    Case("one who can't lay it draws again", DRAWN_IN_VAIN, DrawCard(seat=1), "ALREADY_DRAWN", "K7"),
    Case(
        "one who can lay cards draws from an empty deck",
        position(ABLE, STUCK_2, grid=GRID),
        DrawCard(seat=1),
        "MUST_LAY_DOWN",
        "K6",
    ),
    Case(
        "also in the final stage",
        position("", ABLE, grid=GRID, turn=2, closing=Closing.HAND_LAID),
        DrawCard(seat=2),
        "MUST_LAY_DOWN",
        "K6",
    ),
    # K2 and K5 are about laydowns
    Case("no card is laid", LATER, LayDown(seat=1, cards=()), "ILLEGAL_LAYDOWN", "K2"),
    Case("another seat's card is laid", LATER, lay(1, "3-star-cyan", x=2), "ILLEGAL_LAYDOWN", "K2"),
    Case("a card makes a Nic", STUCK, lay(1, "5-star-red", x=2), "ILLEGAL_LAYDOWN", "K5"),
    Case("the drawn card is kept", DRAWN, lay(1, "1-circle-violet", x=2), "ILLEGAL_LAYDOWN", "K7"),
    # G1 is about resigning, and what is over
    *(
        Case(f"{type(command).__name__} of one who resigned", GONE, command, "RESIGNED", "G1")
        for command in (
            Resign(seat=3),
            lay(3, STUCK_3, x=2),
            DrawCard(seat=3),
            DeclineLaydown(seat=3),
            Leave(player=PLAYERS[2]),
        )
    ),
    *(
        Case(f"{type(command).__name__} in a game that is over", OVER, command, "GAME_OVER", "G1")
        for command in (
            lay(2, "3-star-cyan", x=2),
            DrawCard(seat=2),
            DeclineLaydown(seat=2),
            Resign(seat=1),
            Resign(seat=2),
            RunOutOfTime(),
            ExtendDeadline(seconds=60),
        )
    ),
    # G2 is about time
    *(
        Case(f"{type(command).__name__} at the deadline", TIMELY, command, "TIME_IS_UP", "G2", NOON + MINUTE)
        for command in (lay(1, "3-square-cyan", x=2), DrawCard(seat=1), DeclineLaydown(seat=1))
    ),
    Case(
        "time runs out early", TIMELY, RunOutOfTime(), "TIME_IS_LEFT", "G2", NOON + MINUTE - timedelta(microseconds=1)
    ),
    Case("time runs out that is not limited", LATER, RunOutOfTime(), "TIME_IS_LEFT", "G2"),
    Case("time is given back that is not limited", LATER, ExtendDeadline(seconds=60), "NO_DEADLINE", "G2"),
    Case(
        "time is given back to a turn that has ended",
        TIMELY,
        ExtendDeadline(seconds=60, deadline=NOON),
        "OTHER_DEADLINE",
        "G2",
    ),
    Case("another seat's turn comes before its time", TIMELY, DrawCard(seat=2), "NOT_YOUR_TURN", "G4", NOON + MINUTE),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.ruling}: {case.sentence}")
def test_a_rule_says_no(case: Case) -> None:
    given(table=case.table, decider=TICKLE).when(case.command, case.at).refused(case.code, case.ruling)


@pytest.mark.parametrize("module", [turns, rules], ids=["turns", "the rules of Tickle"])
def test_every_code_of_the_course_of_a_game_is_refused_here(module: ModuleType) -> None:
    assert codes_of(module)
    assert codes_of(module) <= {case.code for case in CASES}


def test_every_code_that_every_game_has_is_refused_here_but_for_games_that_are_cancelled() -> None:
    assert codes_of(lifecycle) - {case.code for case in CASES} == {"GAME_CANCELLED"}


def test_the_codes_of_seating_and_of_single_cards_are_others() -> None:
    assert not codes_of(seating) & codes_of(rules)
    assert codes_of(placement) == set()


# What a refusal says


def violation(table: TickleTable, command: Command) -> RuleViolation:
    refused = given(table=table, decider=TICKLE).when(command).violation
    assert refused is not None
    return refused


def test_one_reason_is_the_refusal_itself() -> None:
    refused = violation(LATER, LayDown(seat=1, cards=()))
    (reason,) = refused.reasons
    assert (reason.code, reason.ruling, reason.message) == ("NO_CARDS", refused.ruling, refused.message)


def test_several_reasons_are_told_at_once_the_first_giving_the_ruling() -> None:
    refused = violation(LATER, LayDown(seat=1, cards=(*laid("3-star-cyan", 0), *laid("5-star-red", 7))))
    codes = [reason.code for reason in refused.reasons]
    assert codes[0] == "CARD_NOT_IN_HAND"
    assert "CELL_OCCUPIED" in codes
    assert refused.ruling == refused.reasons[0].ruling
    assert refused.message.startswith(f"There are {len(codes)} reasons why not. ")
    for reason in refused.reasons:
        assert reason.message in refused.message


def three_nics() -> RuleViolation:
    table = position(
        "3-star-cyan 5-star-red 1-circle-violet", "", grid=row("2-square-yellow 4-triangle-orange"), deck=REST
    )
    return violation(table, lay(1, "5-star-red 1-circle-violet", x=0, y=1))


def test_the_same_sentence_is_said_once() -> None:
    refused = three_nics()
    nics = [reason for reason in refused.reasons if reason.code == "NIC_CONTACT"]
    assert len(nics) == 3
    assert refused.message.count(nics[0].message) == 1


def test_different_sentences_are_counted_and_not_the_reasons() -> None:
    refused = three_nics()
    sentences = {reason.message for reason in refused.reasons}
    assert 1 < len(sentences) < len(refused.reasons)
    assert refused.message.startswith(f"There are {len(sentences)} reasons why not. ")


def test_reasons_with_one_sentence_are_told_by_that_sentence_alone() -> None:
    refused = three_nics()
    nics = [reason for reason in refused.reasons if reason.code == "NIC_CONTACT"]
    assert rules._illegal(nics).message == nics[0].message


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param("5-circle-red", ["5-circle-red"], id="one card"),
        pytest.param("5-circle-red 5-circle-red", ["5-circle-red"], id="one card twice"),
        pytest.param("5-circle-red 4-circle-red 5-circle-red", ["5-circle-red", "4-circle-red"], id="two of three"),
        pytest.param("5-circle-red 3-square-cyan 4-circle-red", ["5-circle-red", "4-circle-red"], id="one is held"),
    ],
)
def test_a_card_that_is_not_held_is_named_once(names: str, told: list[str]) -> None:
    refused = violation(OPEN, LayDown(seat=1, cards=laid_each(names)))
    (reason,) = [reason for reason in refused.reasons if reason.code == "CARD_NOT_IN_HAND"]
    found = [word.strip(".,") for word in reason.message.split() if "-" in word]
    assert found == told
    assert len(reason.cells) == len([name for name in names.split() if name in told])


def laid_each(names: str) -> tuple[LaidCard, ...]:
    """Cards in a row, of which several may be the same."""
    return tuple(laid(name, x)[0] for x, name in enumerate(names.split()))


def test_a_violation_that_needs_no_reasons_has_itself_as_the_reason() -> None:
    refused = violation(LATER, DrawCard(seat=1))
    assert [(reason.code, reason.cells) for reason in refused.reasons] == [("MUST_LAY_DOWN", ())]


def test_more_cards_than_any_laydown_has_are_judged_up_to_a_bound() -> None:
    many = laid("5-star-red", 0) * MOST_CARDS_NAMED
    assert violation(LATER, LayDown(seat=1, cards=many)).code == "ILLEGAL_LAYDOWN"
    with pytest.raises(ValueError, match="at most 26"):
        LayDown(seat=1, cards=(*many, *laid("5-star-red", 0)))


def test_whose_turn_it_is_is_said() -> None:
    assert violation(LATER, DrawCard(seat=3)).message == "It is the turn of seat 1; yours is seat 3."
