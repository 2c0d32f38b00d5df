"""Tickle over several commands: a table that never opens, time-outs in a row, seats that resign, the last round."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from domain.cards import DECK
from domain.dealing import deal_order
from domain.decider import Command, Fact, Viewer, fold
from domain.lifecycle import DeadlineExtended, ExtendDeadline, PlayerResigned, Resign, RunOutOfTime, TimedOut
from domain.tables import Join, Seating, Start
from domain.tickle.facts import (
    CardDrawn,
    Closing,
    DeckPart,
    Ending,
    FinalStageBegan,
    LaydownDeclined,
    Options,
    TickleFinished,
    TurnPassed,
)
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle, decide
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan
from tests.domain.tickle.players import PLAYERS, Style, play
from tests.domain.tickle.positions import ABLE, GRID, REST, REVEALED, STUCK_1, STUCK_2, finished, lay, played, position
from tests.given import NOON, SEEDS, given

MINUTE = timedelta(minutes=1)
TIMED = Options(turn_seconds=60)


def after(table: TickleTable, *commands: Command, at: datetime = NOON) -> TickleTable:
    """The table after commands at one time; a time-out comes at its deadline."""
    for command in commands:
        when = table.deadline if isinstance(command, RunOutOfTime) and table.deadline else at
        table = fold(TICKLE.evolve, table, TICKLE.decide(command, table, when))
    return table


def dealt(players: int, options: Options) -> TickleTable:
    """A game just dealt from ``SEEDS``, its seats in the order of joining."""
    host, *guests = PLAYERS[:players]
    asked = options.model_copy(update={"seating": Seating.AS_JOINED})
    joins = [Join(player=guest) for guest in guests]
    return after(TICKLE.empty(SEEDS), OpenTickle(player=host, options=asked), *joins, Start(player=host))


def decided(table: TickleTable, command: Command, at: datetime = NOON) -> tuple[Fact, ...]:
    return TICKLE.decide(command, table, at)


# The deal


@pytest.mark.parametrize("part", DeckPart)
def test_six_cards_go_to_seat_1_then_six_to_seat_2_and_the_end_of_the_deck_is_set_aside(part: DeckPart) -> None:  # K15
    table, order = dealt(4, Options(deck=part)), deal_order(SEEDS, number=1, entropies=["-"] * 4)
    for seat in (1, 2, 3, 4):
        assert table.hand(seat) == order[6 * seat - 6 : 6 * seat]
    assert (table.card(table.next), table.left) == (order[24], 101 - part.set_aside)


def test_draws_and_refills_come_in_the_order_of_play() -> None:
    table = position("3-star-cyan " + STUCK_1, STUCK_2, grid=GRID, deck=REST + " 4-circle-violet 4-circle-orange")
    laid = after(table, lay(1, "3-star-cyan", x=2))
    assert [str(card) for card in laid.hand(1)] == [*STUCK_1.split(), *REST.split(), "4-circle-violet"]
    drawn = after(laid, DrawCard(seat=2))
    assert [str(card) for card in drawn.hand(2)] == [*STUCK_2.split(), "4-circle-orange"]
    assert (drawn.left, drawn.drawn_card) == (0, drawn.hand(2)[-1].index)


# The opening


def test_a_game_that_nobody_can_open_ends_when_the_deck_is_drawn() -> None:  # K4, K13, K14
    table = dealt(6, Options(deck=DeckPart.HALF))
    no_tics = [[card for card in DECK if card.value % 5 == rest] for rest in range(5)]
    hands = [*(cards[:11] for cards in no_tics), no_tics[0][11:22]]
    deck = [hand.pop(0) for hand in hands for _ in range(6)] + [hands[draw % 6].pop(0) for draw in range(27)]
    deck += [card for card in DECK if card not in deck]
    table = replace(table, deck=tuple(deck))
    for draw in range(26):
        seat = 1 + draw % 6
        given(table=table, decider=TICKLE).when(DrawCard(seat=seat)).then(CardDrawn(seat=seat))
        table = after(table, DrawCard(seat=seat), DeclineLaydown(seat=seat))
    table = after(table, DrawCard(seat=3))
    assert (table.held, table.left, table.round, table.closing) == ((11, 11, 11, 10, 10, 10), 0, 5, None)
    given(table=table, decider=TICKLE).when(DeclineLaydown(seat=3)).then(
        LaydownDeclined(seat=3),
        TurnPassed(seat=4, round=5),
        FinalStageBegan(seat=4, cause=Closing.NO_LAYDOWN),
        TurnPassed(seat=5, round=5),
        TurnPassed(seat=6, round=5),
        *finished(Ending.FINAL_STAGE, *[(4, 0, 11)] * 3, *[(1, 0, 10)] * 3),
    )


def test_nobody_refuses_to_open_for_ever() -> None:  # K4
    table = position("1-circle-violet 5-star-red", "2-square-violet", deck="1-circle-red " + REST)
    declined = after(table, DrawCard(seat=1), DeclineLaydown(seat=1), DrawCard(seat=2), DeclineLaydown(seat=2))
    given(table=declined, decider=TICKLE).when(DrawCard(seat=1)).refused("MUST_LAY_DOWN", "K4")
    assert LayDown in TICKLE.legal_commands(declined, Viewer(seat=1))


# The last round


def test_a_deck_that_a_draw_empties_leaves_the_others_their_turns() -> None:  # K13
    table = position(STUCK_1, ABLE, grid=GRID, deck="1-star-violet")
    declined = after(table, DrawCard(seat=1), DeclineLaydown(seat=1))
    assert (declined.turn, declined.closing) == (2, None)
    laid = lay(2, "3-square-cyan", x=2)
    given(table=declined, decider=TICKLE).when(laid).then(
        played(declined, laid),
        TurnPassed(seat=1, round=4),
        FinalStageBegan(seat=1, cause=Closing.NO_LAYDOWN),
        TurnPassed(seat=2, round=4),
        *finished(Ending.FINAL_STAGE, (2, 0, 3), (1, 2, 1)),
    )


def test_a_final_stage_that_a_seat_began_stands_when_the_seat_resigns() -> None:  # G1, K13
    table = position("3-star-cyan", ABLE, "3-triangle-red", grid=GRID)
    begun = after(table, lay(1, "3-star-cyan", x=2), Resign(seat=1))
    assert (begun.closing, begun.turn) == (Closing.HAND_LAID, 2)
    last = after(begun, lay(2, "3-square-cyan", x=1, y=1))
    assert (last.turn, last.round) == (3, 3)
    (*_, result, _) = decided(last, lay(3, "3-triangle-red", x=-1))
    assert isinstance(result, TickleFinished)
    assert result.ending is Ending.FINAL_STAGE
    assert [(line.seat, line.place, line.resigned) for line in result.places] == [
        (1, 3, True),
        (2, 2, False),
        (3, 1, False),
    ]


def test_a_target_that_a_seat_reached_stands_when_the_seat_resigns() -> None:  # G1, K16
    table = position("3-star-cyan", ABLE, STUCK_1, grid=GRID, deck=REST, options=Options(target=2))
    reached = after(table, lay(1, "3-star-cyan", x=2), Resign(seat=1))
    (*_, passed, result, _) = decided(reached, lay(2, "3-square-cyan", x=1, y=1))
    assert passed == TurnPassed(seat=3, round=3)
    assert isinstance(result, TickleFinished)
    assert (result.ending, [line.place for line in result.places]) == (Ending.TARGET, [3, 1, 2])


def test_seats_that_resign_in_the_last_round_take_no_turn_in_it() -> None:  # G1, K13
    table = position("", ABLE, "3-triangle-red", STUCK_1, grid=GRID, turn=2, closing=Closing.HAND_LAID)
    (*_, result, revealed) = decided(after(table, Resign(seat=4), Resign(seat=3)), lay(2, "3-square-cyan", x=2))
    assert isinstance(result, TickleFinished)
    assert [line.place for line in result.places] == [1, 2, 3, 4]
    assert revealed == REVEALED


def test_the_first_to_resign_is_last_whatever_was_scored() -> None:  # G1
    table = position(ABLE, "3-triangle-red", STUCK_1, STUCK_2, grid=GRID, deck=REST, points=(0, 10, 90, 50))
    ended = after(table, Resign(seat=3), Resign(seat=1), Resign(seat=4))
    assert ended.finished
    assert {line.seat: line.place for line in ended.finished.places} == {2: 1, 4: 2, 1: 3, 3: 4}


def test_a_hand_that_resigned_is_seen_by_nobody_and_never_drawn() -> None:  # G1
    table = position(ABLE, "3-triangle-red", STUCK_1, grid=GRID, deck=REST)
    resigned = after(table, Resign(seat=1))
    assert (resigned.left, resigned.held) == (3, table.held)
    assert TICKLE.legal_commands(resigned, Viewer(seat=1)) == ()
    assert not [card for card in TICKLE.view(resigned, Viewer(seat=2)).seats[0].hand if card in table.hand(1)]


def test_a_turn_that_passes_is_over_with_its_time_and_its_drawn_card() -> None:  # K7
    table = position(STUCK_1, ABLE, grid=GRID, drawn=True, options=TIMED, deadline=NOON + MINUTE)
    passed = TICKLE.evolve(table, TurnPassed(seat=2, round=3))
    assert (passed.turn, passed.round, passed.deadline, passed.drawn) == (2, 3, None, None)


def test_nobody_has_the_turn_when_the_game_is_over() -> None:
    table = position(ABLE, STUCK_1, grid=GRID, deck=REST)
    assert TICKLE.view(table, Viewer()).turn == 1
    assert TICKLE.view(after(table, Resign(seat=2)), Viewer()).turn == 0


@pytest.mark.parametrize("command", [DeclineLaydown(seat=1), Resign(seat=1)], ids=["declining", "resigning"])
@pytest.mark.parametrize("resigned", [(), (3,)], ids=["of three", "of two"])
def test_a_card_is_drawn_no_more_when_its_turn_is_over(resigned: tuple[int, ...], command: Command) -> None:
    table = position(STUCK_1, ABLE, STUCK_2, grid=GRID, drawn=True, deck=REST, resigned=resigned)
    assert TICKLE.view(after(table, command), Viewer(everything=True)).drawn is None


# Time


def test_time_outs_with_an_empty_deck_never_begin_the_final_stage() -> None:  # G2, K13
    table = position(ABLE, "3-star-cyan 1-star-orange", grid=GRID, options=TIMED, deadline=NOON + MINUTE)
    for number in (3, 3, 4, 4):
        facts = TICKLE.decide(RunOutOfTime(), table, table.deadline or NOON)
        assert [type(fact) for fact in facts] == [TimedOut, TurnBegan]
        assert table.round == number
        table = fold(TICKLE.evolve, table, facts)
    assert table.closing is None
    ended = after(table, RunOutOfTime())
    assert ended.finished
    assert (ended.finished.ending, ended.resigned) == ("resignations", (1,))


def test_a_time_out_ends_the_last_turn_of_the_last_round() -> None:  # G2, K13
    table = position(
        "", ABLE, grid=GRID, turn=2, closing=Closing.HAND_LAID, options=TIMED, deadline=NOON + MINUTE, points=(3, 20)
    )
    given(table=table, decider=TICKLE).when(RunOutOfTime(), NOON + MINUTE).then(
        TimedOut(seat=2, deadline=NOON + MINUTE), *finished(Ending.FINAL_STAGE, (2, 3, 0), (1, 20, 2))
    )


BREAKS: list[tuple[str, TickleTable, tuple[Command, ...], int]] = [
    ("a laydown", position(ABLE, "", grid=GRID, deck=REST, in_a_row=(2, 1)), (lay(1, "3-square-cyan", x=2),), 0),
    (
        "declining",
        position(STUCK_1, "", grid=GRID, deck=REST, in_a_row=(2, 1)),
        (DrawCard(seat=1), DeclineLaydown(seat=1)),
        0,
    ),
    ("not a draw", position(STUCK_1, "", grid=GRID, deck=REST, in_a_row=(2, 1)), (DrawCard(seat=1),), 2),
    (
        "not more time",
        position(STUCK_1, "", grid=GRID, deck=REST, in_a_row=(2, 1), options=TIMED, deadline=NOON + MINUTE),
        (ExtendDeadline(seconds=9),),
        2,
    ),
]


@pytest.mark.parametrize(("what", "table", "commands", "left"), BREAKS, ids=[what for what, *_ in BREAKS])
def test_a_row_of_time_outs_is_broken_by(
    what: str, table: TickleTable, commands: tuple[Command, ...], left: int
) -> None:  # G2
    assert after(table, *commands).in_a_row == (left, 1)


def test_a_turn_that_passes_by_itself_is_no_time_out_and_breaks_no_row() -> None:  # G2, K7
    table = position("3-star-cyan 1-circle-violet", STUCK_2, ABLE, grid=GRID, timed_out=(2, 2), in_a_row=(0, 2, 0))
    passed = after(table, lay(1, "3-star-cyan", x=2))
    assert (passed.turn, passed.timed_out, passed.in_a_row) == (3, (2, 2), (0, 2, 0))
    assert passed.resigned == ()


def test_a_game_is_left_to_time_from_its_deal_on() -> None:  # G2
    table = dealt(2, TIMED)
    outcomes = []
    while not table.over:
        facts = TICKLE.decide(RunOutOfTime(), table, table.deadline or NOON)
        outcomes.append([fact.model_dump()["seat"] for fact in facts if isinstance(fact, (TimedOut, PlayerResigned))])
        table = fold(TICKLE.evolve, table, facts)
    assert outcomes == [[1], [2], [1], [2], [1, 1]]


def test_a_seat_may_resign_and_none_may_play_after_the_deadline() -> None:  # G1, G2
    table = position(ABLE, STUCK_1, grid=GRID, deck=REST, options=TIMED, deadline=NOON + MINUTE)
    given(table=table, decider=TICKLE).when(lay(1, "3-square-cyan", x=2), NOON + MINUTE).refused("TIME_IS_UP", "G2")
    assert decided(table, Resign(seat=1), NOON + MINUTE)[0] == PlayerResigned(seat=1)
    extended = after(table, ExtendDeadline(seconds=60))
    assert decided(extended, lay(1, "3-square-cyan", x=2), NOON + MINUTE)


@pytest.mark.parametrize("seconds", [4, 30 * 24 * 3600 + 1, 0, -1])
def test_a_turn_has_five_seconds_to_thirty_days(seconds: int) -> None:
    with pytest.raises(ValidationError, match="turn_seconds"):
        Options(turn_seconds=seconds)


@pytest.mark.parametrize(("field", "value"), [("seats", 1), ("seats", 7), ("target", 0), ("target", 1_001)])
def test_options_have_their_bounds(field: str, value: int) -> None:
    with pytest.raises(ValidationError, match=field):
        Options.model_validate({field: value})


# Whole games


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("part", DeckPart)
def test_a_game_that_is_played_ends(part: DeckPart, count: int) -> None:
    for style in Style:
        ended = play(random.Random(count), options=Options(deck=part), players=count, styles=(style,))
        assert ended.ending == "final-stage"
        assert ended.table.left == 0


# Programming errors are no violations


class Sing(Command):
    pass


class Sung(Fact):
    topic = "toy.Sung"


def test_another_games_command_is_no_command_here() -> None:
    with pytest.raises(TypeError, match="Sing is not a command of tickle"):
        decide(Sing(seat=1), dealt(2, Options()), NOON)


def test_no_command_leads_to_facts_that_follow_from_others() -> None:
    for fact in (Sung(), REVEALED, DeadlineExtended(deadline=None), TurnPassed(seat=1, round=1)):
        with pytest.raises(ValueError, match=f"no command of tickle starts with {fact.topic}"):
            TICKLE.command_of([fact], dealt(2, Options()))


def test_a_game_is_not_opened_without_seeds() -> None:
    with pytest.raises(LookupError, match="with its seeds"):
        decide(OpenTickle(player=PLAYERS[0]), TICKLE.empty(None), NOON)


def test_a_game_is_opened_once() -> None:
    with pytest.raises(ValueError, match="opened once"):
        decide(OpenTickle(player=PLAYERS[0]), dealt(2, Options()), NOON)


@pytest.mark.parametrize("command", [DrawCard(seat=1), lay(1, "3-star-cyan", x=0)], ids=["a draw", "a laydown"])
def test_a_hidden_hand_is_not_judged_without_seeds(command: Command) -> None:
    table: Any = replace(dealt(2, Options()), deck=None, seeds=None)
    with pytest.raises(LookupError, match="folded without its seeds"):
        decide(command, table, NOON)


def test_a_fact_that_the_game_does_not_know_is_counted_and_changes_nothing_else() -> None:
    table = dealt(2, Options())
    assert TICKLE.evolve(table, Sung()) == replace(table, version=table.version + 1)


@pytest.mark.parametrize(("seat", "version"), [(0, 6), (3, 6), (1, 1), (1, 99), (-1, 6)])
def test_no_cards_come_to_no_seat_or_with_no_event(seat: int, version: int) -> None:
    assert TICKLE.came_to(dealt(2, Options()), seat, version) == ()
    assert TICKLE.came_to(TICKLE.empty(SEEDS), seat, version) == ()


def test_a_rematch_is_asked_for_with_the_seats_and_options_of_the_game() -> None:  # G4
    table = dealt(3, Options(deck=DeckPart.HALF, target=50))
    assert TICKLE.rematch
    again = TICKLE.rematch(table, UUID(int=5), PLAYERS[1], True)
    assert isinstance(again, OpenTickle)
    assert (again.player, again.options) == (PLAYERS[1], table.options)
    assert again.rematch
    assert (again.rematch.game, again.rematch.players, again.rematch.moved_on) == (UUID(int=5), PLAYERS[:3], True)
