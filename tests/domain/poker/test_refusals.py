"""What the rules of TIC Poker refuse in the course of a game: every code, by its ruling."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from types import ModuleType
from typing import Final, NamedTuple

import pytest

from domain import lifecycle, seating, turns
from domain.decider import Command, RuleViolation
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.poker import hands, rules, views
from domain.poker.facts import Options, Variation
from domain.poker.hands import Rank
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards
from domain.poker.table import PokerTable
from domain.tables import Leave
from domain.tickle.rules import DrawCard
from tests.domain.poker.players import PLAYERS
from tests.domain.poker.positions import (
    FIVE_1,
    FIVE_2,
    FULL,
    HAND_1,
    HAND_2,
    HAND_3,
    HIGHEST_1,
    HIGHEST_2,
    HIGHEST_3,
    MINUTE,
    OPEN,
    TIMED,
    cards,
    counts_as,
    declare,
    position,
    seated,
)
from tests.given import NOON, codes_of, given


class Case(NamedTuple):
    sentence: str
    table: PokerTable
    command: Command
    code: str
    ruling: str
    at: datetime = NOON


COMMUNITY: Final = Options(variation=Variation.COMMUNITY_EXCHANGE)
TURN = position(HAND_1, HAND_2, HAND_3)
"""Seat 1 has the turn."""
COMMUNITY_TURN = position(HAND_1, HAND_2, HAND_3, options=COMMUNITY, community=f"{OPEN} 1-star-violet")
COMMUNITY_CALLED = replace(COMMUNITY_TURN, caller=3, to_act=(1, 2))
DRAW_TURN = position(FIVE_1, FIVE_2, community="", deck="", options=Options(variation=Variation.DRAW))
CALLED = position(HAND_1, HAND_2, HAND_3, turn=1, to_act=(1, 2), caller=3)
SHOWN = position(
    HAND_1,
    HAND_2,
    HAND_3,
    community=FULL,
    deck="",
    stage=3,
    open_hands=(1, 2, 3),
    declared=[counts_as(3, Rank.HIGH_CARD, HIGHEST_3)],
)
"""Hands are declared: seat 3 has done so."""
GONE = position(HAND_1, HAND_2, HAND_3, resigned=(3,))
GONE_SHOWN = replace(SHOWN, resigned=(3,), declared=())
TIMELY = replace(TURN, options=TIMED, deadline=NOON + MINUTE)
TIMELY_SHOWN = replace(SHOWN, options=TIMED, deadline=NOON + MINUTE)
LATE_GONE = replace(GONE_SHOWN, options=TIMED, deadline=NOON + MINUTE)
OVER: PokerTable = given(table=position(HAND_1, HAND_2), decider=POKER).when(Resign(seat=1)).after
IN_TURN: Final = (
    ExchangeCards(seat=1, slots=(1,)),
    ExchangeCommunityCard(seat=1, slot=1),
    KeepCards(seat=1),
    Call(seat=1),
)
DECLARE_1: Final = declare(1, Rank.THREE_CARD_SINGLE, HIGHEST_1)


def of(seat: int, *commands: Command) -> tuple[Command, ...]:
    """The same commands of a seat."""
    return tuple(command.model_copy(update={"seat": seat}) for command in commands)


def untrue(sentence: str, rank: Rank, names: str) -> Case:
    return Case(f"{sentence} is declared as {rank.name}", SHOWN, declare(2, rank, names), "FALSE_DECLARATION", "P5")


def not_held(sentence: str, names: str, table: PokerTable = SHOWN, seat: int = 1) -> Case:
    return Case(sentence, table, declare(seat, Rank.HIGH_CARD, names), "NOT_YOUR_CARDS", "P5")


COUNTED = "5-star-cyan 4-triangle-red 3-triangle-yellow 2-square-yellow"
"""Four cards of seat 1."""

TURNS = [
    *(
        Case(f"{type(command).__name__} of one who does not have the turn", TURN, command, "NOT_YOUR_TURN", "G4")
        for command in of(2, *IN_TURN)
    ),
    *(
        Case(f"{type(command).__name__} of one without a seat", TURN, command, "NOT_AT_THE_TABLE", "G3")
        for command in of(0, *IN_TURN, DECLARE_1, Resign())
    ),
    Case("a seat that the table does not have resigns", TURN, Resign(seat=4), "NOT_AT_THE_TABLE", "G3"),
    *(
        Case(f"{type(command).__name__} before the start", seated(3), command, "NOT_STARTED", "G3")
        for command in (*IN_TURN, DECLARE_1, Resign(seat=1))
    ),
    *(
        Case(f"{type(command).__name__} after the reveal", SHOWN, command, "HANDS_ARE_DECLARED", "P5")
        for command in (*of(1, *IN_TURN), *of(3, *IN_TURN))
    ),
]

EXCHANGES = [
    Case("no card is exchanged", TURN, ExchangeCards(seat=1, slots=()), "NO_SLOTS", "P2"),
    Case("no card of five is exchanged", DRAW_TURN, ExchangeCards(seat=1, slots=()), "NO_SLOTS", "P11"),
    *(
        Case(f"slot {slot} of three", TURN, ExchangeCards(seat=1, slots=(slot,)), "NO_SUCH_SLOT", "P2")
        for slot in (-1, 0, 4, 5)
    ),
    *(
        Case(f"slot {slot} of five", DRAW_TURN, ExchangeCards(seat=1, slots=(1, slot)), "NO_SUCH_SLOT", "P11")
        for slot in (-5, 0, 6)
    ),
    Case("one slot twice", TURN, ExchangeCards(seat=1, slots=(2, 2)), "SLOT_TWICE", "P2"),
    Case("one slot of five twice", DRAW_TURN, ExchangeCards(seat=1, slots=(5, 5)), "SLOT_TWICE", "P11"),
    Case("two cards of three", TURN, ExchangeCards(seat=1, slots=(1, 2)), "TOO_MANY_SLOTS", "P2"),
    Case("two cards in a last turn", CALLED, ExchangeCards(seat=1, slots=(1, 2)), "TOO_MANY_SLOTS", "P2"),
    Case("two cards where community cards are exchanged", COMMUNITY_TURN, ExchangeCards(seat=1, slots=(1, 3)),
         "TOO_MANY_SLOTS", "P2"),
    Case("three cards of five", DRAW_TURN, ExchangeCards(seat=1, slots=(1, 2, 3)), "TOO_MANY_SLOTS", "P11"),
    *(
        Case(f"a community card {sentence}", table, ExchangeCommunityCard(seat=1, slot=1), code, "P10")
        for sentence, table, code in (
            ("in the standard game", TURN, "NO_COMMUNITY_EXCHANGE"),
            ("in a last turn of the standard game", CALLED, "NO_COMMUNITY_EXCHANGE"),
            ("of Draw Poker", DRAW_TURN, "NO_COMMUNITY_EXCHANGE"),
            ("after a call", COMMUNITY_CALLED, "ONLY_PRIVATE_CARDS"),
        )
    ),
    *(
        Case(f"slot {slot} of three community cards", COMMUNITY_TURN, ExchangeCommunityCard(seat=1, slot=slot),
             "NO_SUCH_SLOT", "P10")
        for slot in (-1, 0, 4)
    ),
]  # fmt: skip

CALLS = [
    Case("a second call", CALLED, Call(seat=1), "ALREADY_CALLED", "P3"),
    Case("the caller calls again", CALLED, Call(seat=3), "NOT_YOUR_TURN", "G4"),
    Case("the caller exchanges", CALLED, ExchangeCards(seat=3, slots=(1,)), "NOT_YOUR_TURN", "G4"),
    Case("a call in Draw Poker", DRAW_TURN, Call(seat=1), "NO_CALLS", "P11"),
]

DECLARATIONS = [
    Case("a hand is declared before the reveal", TURN, DECLARE_1, "NOT_REVEALED", "P5"),
    Case("also after a call", CALLED, DECLARE_1, "NOT_REVEALED", "P5"),
    *(
        Case(f"another hand is declared {sentence}", SHOWN, declare(3, Rank.HIGH_CARD, names), "ALREADY_DECLARED", "P5")
        for sentence, names in (("again", HIGHEST_3), ("of other cards", FULL))
    ),
    *(
        Case(sentence, SHOWN, DeclareHand(seat=1, cards=cards(names), rank=Rank.HIGH_CARD), "NOT_FIVE_CARDS", "P5")
        for sentence, names in (
            ("no card is declared", ""),
            ("four cards are declared", COUNTED),
            ("a card is declared twice", f"{COUNTED} 5-star-cyan"),
        )
    ),
    not_held("another seat's card is declared", f"{COUNTED} 5-star-red"),
    *(
        not_held(f"a card of seat {other} is declared by seat 2", f"{' '.join(HIGHEST_2.split()[:4])} {card}", seat=2)
        for other, card in ((1, "3-triangle-yellow"), (3, "2-star-violet"))
    ),
    not_held("a card that lies in the deck is declared", f"{COUNTED} 5-star-violet"),
    not_held("five cards of another seat and the table are declared", HIGHEST_2),
    not_held(
        "a community card that was not turned after a call is declared",
        "5-star-cyan 2-square-yellow 1-circle-violet 2-crescent-cyan 4-triangle-red",
        replace(SHOWN, community=SHOWN.community[:2]),
    ),
    untrue("a Tic Pair", Rank.TWO_TIC_PAIRS, HIGHEST_2),
    untrue("a Tic Pair", Rank.FOUR_CARD_SINGLE, HIGHEST_2),
    untrue("a Tic Pair", Rank.FIVE_CARD_TIC, HIGHEST_2),
    untrue("a Tic Pair", Rank.LITTLE_HOUSE, HIGHEST_2),
    untrue("a High Card", Rank.TIC_PAIR, "5-star-cyan 3-circle-red 2-square-yellow 1-star-yellow 3-crescent-violet"),
    untrue("five cards that would be better with others", Rank.TIC_PAIR, FULL),
]

LEAVING = [
    *(
        Case(f"{type(command).__name__} of one who resigned", GONE, command, "RESIGNED", "G1")
        for command in (*of(3, *IN_TURN, DECLARE_1, Resign()), Leave(player=PLAYERS[2]))
    ),
    *(
        Case(f"{type(command).__name__} of one who resigned, after the reveal", GONE_SHOWN, command, "RESIGNED", "G1")
        for command in of(3, *IN_TURN, DECLARE_1, Resign())
    ),
    *(
        Case(f"{type(command).__name__} in a game that is over", OVER, command, "GAME_OVER", "P9")
        for command in (*of(2, *IN_TURN, DECLARE_1, Resign()), RunOutOfTime(), ExtendDeadline(seconds=60))
    ),
]  # fmt: skip

TIME = [
    *(
        Case(f"{type(command).__name__} at the deadline", TIMELY, command, "TIME_IS_UP", "G2", NOON + MINUTE)
        for command in IN_TURN
    ),
    Case("a hand is declared at the deadline", TIMELY_SHOWN, DECLARE_1, "TIME_IS_UP", "G2", NOON + MINUTE),
    *(
        Case(sentence, table, RunOutOfTime(), "TIME_IS_LEFT", "G2", NOON + MINUTE - timedelta(microseconds=1))
        for sentence, table in (("time for a turn runs out early", TIMELY), ("time to declare", TIMELY_SHOWN))
    ),
    Case("time runs out that is not limited", TURN, RunOutOfTime(), "TIME_IS_LEFT", "G2"),
    Case("time to declare runs out that is not limited", SHOWN, RunOutOfTime(), "TIME_IS_LEFT", "G2"),
    Case("time is given back that is not limited", TURN, ExtendDeadline(seconds=60), "NO_DEADLINE", "G2"),
    Case(
        "time is given back to a turn that has ended",
        TIMELY,
        ExtendDeadline(seconds=60, deadline=NOON),
        "OTHER_DEADLINE",
        "G2",
    ),
    Case("one who resigned declares late", LATE_GONE, of(3, DECLARE_1)[0], "RESIGNED", "G1", NOON + MINUTE),
    Case("another's turn comes before its time", TIMELY, KeepCards(seat=2), "NOT_YOUR_TURN", "G4", NOON + MINUTE),
]

CASES = [*TURNS, *EXCHANGES, *CALLS, *DECLARATIONS, *LEAVING, *TIME]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.ruling}: {case.sentence}")
def test_a_rule_says_no(case: Case) -> None:
    given(table=case.table, decider=POKER).when(case.command, case.at).refused(case.code, case.ruling)


@pytest.mark.parametrize("module", [turns, rules], ids=["turns", "the rules of TIC Poker"])
def test_every_code_of_the_course_of_a_game_is_refused_here(module: ModuleType) -> None:
    assert codes_of(module)
    assert codes_of(module) <= {case.code for case in CASES}


def test_every_code_that_every_game_has_is_refused_here_but_for_games_that_are_cancelled() -> None:
    assert codes_of(lifecycle) - {case.code for case in CASES} == {"GAME_CANCELLED"}


def test_the_codes_of_seating_are_others() -> None:
    assert codes_of(seating) & codes_of(rules) == set()
    assert codes_of(hands) | codes_of(views) == set()


# What a refusal says, and leaves


def violation(table: PokerTable, command: Command) -> RuleViolation:
    refused = given(table=table, decider=POKER).when(command).violation
    assert refused is not None
    return refused


def test_whose_turn_it_is_is_said() -> None:
    assert violation(TURN, KeepCards(seat=3)).message == "It is the turn of seat 1; yours is seat 3."


def test_which_slots_there_are_is_said() -> None:
    assert "1 to 3" in violation(TURN, ExchangeCards(seat=1, slots=(4,))).message
    assert "1 to 5" in violation(DRAW_TURN, ExchangeCards(seat=1, slots=(6,))).message
    assert "1 to 3" in violation(COMMUNITY_TURN, ExchangeCommunityCard(seat=1, slot=4)).message


def test_who_called_is_said() -> None:
    assert "Seat 3" in violation(CALLED, Call(seat=1)).message


def test_a_false_declaration_leaves_the_seat_free_to_declare_again() -> None:  # P5
    false, true = declare(2, Rank.BIG_HOUSE, HIGHEST_2), declare(2, Rank.TIC_PAIR, HIGHEST_2)
    given(table=SHOWN, decider=POKER).when(false).refused("FALSE_DECLARATION", "P5")
    assert SHOWN.undeclared == (1, 2)
    given(table=SHOWN, decider=POKER).when(true).then(counts_as(2, Rank.TIC_PAIR, HIGHEST_2))


def test_a_command_of_another_kind_is_no_command_of_this_one() -> None:
    with pytest.raises(TypeError, match=r"no(t a)? command of"):
        POKER.decide(DrawCard(seat=1), TURN, NOON)


@pytest.mark.parametrize("names", [f"{COUNTED} 1-star-yellow 3-crescent-violet"], ids=["six cards"])
def test_more_cards_than_a_hand_has_are_no_declaration(names: str) -> None:
    with pytest.raises(ValueError, match="at most 5"):
        declare(1, Rank.HIGH_CARD, names)
