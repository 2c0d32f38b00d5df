"""Ticitaire over several commands: the deal, the stock going round, taking back, time, and what is a mistake."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from domain.dealing import deal_order
from domain.decider import Command, Fact, Viewer
from domain.lifecycle import (
    DeadlineExtended,
    ExtendDeadline,
    Place,
    PlayerResigned,
    Resign,
    RunOutOfTime,
    SeedsRevealed,
)
from domain.ticitaire.facts import (
    COLUMNS,
    Ending,
    MovesTakenBack,
    Options,
    StockTurned,
    TableauDealt,
    TicitaireFinished,
)
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire, RecycleWaste, TakeBack, TurnStock, decide
from tests.domain.ticitaire.positions import cards, move, opening, position
from tests.given import NOON, PLAYER, SEEDS, given

TAKE_BACK = Options(take_back=True)
HOUR = timedelta(hours=1)
HOURLY = Options(time_limit=3600)
ORDER = deal_order(SEEDS, number=1, entropies=["-"])
REVEALED = SeedsRevealed(seeds=(SEEDS.seed(1).hex(),))
SPARE = "3-square-orange"
"""A stock card that keeps a position from being won."""

# The deal


def test_the_deal_is_seven_columns_of_seven_and_one_and_a_stock_of_69() -> None:  # S1
    table = given(*opening()).table
    for at, spot in enumerate(COLUMNS):
        column = table.layout.column(spot)
        assert [table.card(card) for card in column.buried] == list(ORDER[7 * at : 7 * at + 7])
        assert [table.card(card) for card in column.run] == [ORDER[49 + at]]
    assert [table.card(card) for card in table.layout.stock] == list(ORDER[56:])
    assert (table.layout.low, table.layout.high, table.layout.waste) == ((), (), ())


def test_the_seventh_card_of_a_column_is_turned_up_first() -> None:  # S1, S7
    table = given(*opening()).table
    for at, spot in enumerate(COLUMNS):
        emptied = table.layout.with_pile(spot, ())
        assert table.card(emptied.to_turn_up(spot)) == ORDER[7 * at + 6]


# The stock


def test_recycling_keeps_the_order_of_the_cards() -> None:  # S8
    table = given(table=position(stock="2-star-cyan 3-star-cyan 4-star-cyan")).table
    turned = []
    for _ in range(2):
        for _ in range(3):
            outcome = given(table=table).when(TurnStock(seat=1))
            turned.append(outcome.facts[0])
            table = outcome.after
        table = given(table=table).when(RecycleWaste(seat=1)).after
    assert turned[:3] == turned[3:] == [StockTurned(card=card) for card in cards("2-star-cyan 3-star-cyan 4-star-cyan")]
    assert (table.turns, table.recycles) == (6, 2)


# Taking back


def test_several_moves_are_taken_back_at_once() -> None:  # S11
    start = given(*opening(TAKE_BACK)).table
    table = start
    for _ in range(3):
        table = given(table=table).when(TurnStock(seat=1)).after
    outcome = given(table=table).when(TakeBack(seat=1, moves=2))
    outcome.then(MovesTakenBack(moves=2, to_version=4))
    assert outcome.after.layout == start.layout.stock_turned()
    assert [version for version, _ in outcome.after.earlier] == [3]


def test_a_move_and_the_card_it_turned_up_are_taken_back_together() -> None:  # S11
    table = position("3-star-red | 1-circle-violet", options=TAKE_BACK, stock=SPARE)
    moved_on = given(table=table).when(move("column-1", "low")).after
    back = given(table=moved_on).when(TakeBack(seat=1)).after
    assert back.layout == table.layout


def test_taking_back_erases_nothing_and_is_counted() -> None:  # S11
    turned = given(*opening(TAKE_BACK)).when(TurnStock(seat=1)).after
    back = given(table=turned).when(TakeBack(seat=1)).after
    assert back.version == turned.version + 1
    assert (back.turns, back.take_backs) == (1, 1)
    assert back.seen == turned.seen
    told = TicitaireFinished(
        ending=Ending.GIVEN_UP,
        places=(Place(seat=1, place=None),),
        buried=49,
        unplayed=69,
        moves=0,
        turns=1,
        recycles=0,
        take_backs=1,
    )
    resigned = given(table=back).when(Resign(seat=1))
    resigned.then(PlayerResigned(seat=1), told, REVEALED)


def test_a_take_back_is_no_move_that_can_be_taken_back() -> None:  # S11
    turned = given(*opening(TAKE_BACK)).when(TurnStock(seat=1)).after
    back = given(table=turned).when(TakeBack(seat=1)).after
    given(table=back).when(TakeBack(seat=1)).refused("NOTHING_TO_TAKE_BACK", "S11")


# Time, and the end


def test_the_time_limit_runs_from_the_deal() -> None:  # G2
    *_, dealt = opening(HOURLY, at=NOON)
    assert isinstance(dealt, TableauDealt)
    assert dealt.deadline == NOON + HOUR


def test_a_player_is_in_time_until_the_last_microsecond() -> None:  # G2
    table = given(*opening(HOURLY)).table
    last = NOON + HOUR - timedelta(microseconds=1)
    given(table=table).when(TurnStock(seat=1), at=last).then(StockTurned(card=ORDER[56]))


def test_a_player_may_give_up_even_when_the_time_is_up() -> None:  # S9, G1
    outcome = given(*opening(HOURLY)).when(Resign(seat=1), at=NOON + HOUR)
    assert outcome.facts[0] == PlayerResigned(seat=1)
    assert outcome.after.over


def test_an_extension_gives_the_player_more_time() -> None:  # G2
    table = given(*opening(HOURLY)).when(ExtendDeadline(seconds=1)).after
    given(table=table).when(TurnStock(seat=1), at=NOON + HOUR).then(StockTurned(card=ORDER[56]))
    given(table=table).when(RunOutOfTime(), at=NOON + HOUR).refused("TIME_IS_LEFT", "G2")


@pytest.mark.parametrize("seconds", [59, 30 * 24 * 3600 + 1, 0, -1])
def test_a_time_limit_is_a_minute_to_thirty_days(seconds: int) -> None:
    with pytest.raises(ValidationError, match="time_limit"):
        Options(time_limit=seconds)


def test_a_game_that_is_over_has_no_legal_command() -> None:  # S9
    table = given(*opening(TAKE_BACK)).when(Resign(seat=1)).after
    assert TICITAIRE.legal_commands(table, Viewer(seat=1)) == ()


@pytest.mark.parametrize("seat", [0, 2])
def test_whoever_has_no_seat_has_no_legal_command(seat: int) -> None:
    assert TICITAIRE.legal_commands(given(*opening()).table, Viewer(seat=seat)) == ()


def test_a_game_that_is_not_dealt_has_no_legal_command() -> None:  # G3
    assert TICITAIRE.legal_commands(TICITAIRE.empty(SEEDS), Viewer(seat=1)) == ()


# Programming errors are no violations


class Sing(Command):
    pass


class Sung(Fact):
    topic = "toy.Sung"


def test_another_games_command_is_no_command_here() -> None:
    with pytest.raises(TypeError, match="Sing is not a command of ticitaire"):
        decide(Sing(seat=1), given(*opening()).table, NOON)


def test_no_command_leads_to_facts_that_follow_from_others() -> None:
    for fact in (Sung(), REVEALED, DeadlineExtended(deadline=None)):
        with pytest.raises(ValueError, match=f"no command of ticitaire starts with {fact.topic}"):
            TICITAIRE.command_of([fact], given(*opening()).table)


def test_a_game_is_not_opened_without_seeds() -> None:
    with pytest.raises(LookupError, match="with its seeds"):
        decide(OpenTicitaire(player=PLAYER), TICITAIRE.empty(None), NOON)


def test_a_hidden_card_is_not_turned_without_seeds() -> None:
    table = given(*opening(), table=TICITAIRE.empty(None)).table
    with pytest.raises(LookupError, match="folded without its seeds"):
        decide(TurnStock(seat=1), table, NOON)


def test_a_fact_that_the_game_does_not_know_is_counted_and_changes_nothing_else() -> None:
    table = given(*opening()).table
    assert TICITAIRE.evolve(table, Sung()).layout == table.layout
    assert TICITAIRE.evolve(table, Sung()).version == table.version + 1
