"""What is counted of a game of Ticitaire: move by move, and as sums that must agree over whole games."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

import hypothesis
import pytest

from domain.counting import Counts, Keeps, SeatCount
from domain.decider import Command, Fact, fold, positions
from domain.lifecycle import Place, Resign, RunOutOfTime
from domain.ticitaire.counting import COUNTERS, count
from domain.ticitaire.facts import Ending, MovesTakenBack, Options, TicitaireFinished
from domain.ticitaire.rules import TICITAIRE, RecycleWaste, TakeBack, TurnStock
from domain.ticitaire.table import DEALT, Column, TicitaireTable
from tests.domain.ticitaire.players import Course, Played, games
from tests.domain.ticitaire.positions import move, position
from tests.given import NOON

HOUR: Final = timedelta(hours=1)
SUMS: Final = {counter.name for counter in COUNTERS if counter.keeps is Keeps.SUM}
ENDED: Final = (Course.TO_THE_END, Course.GIVEN_UP, Course.TIMED_OUT)
TAKE_BACK: Final = Options(take_back=True)
SPARE: Final = "3-square-orange"
"""A stock card that keeps a position from being won."""

some = hypothesis.settings(deadline=None, max_examples=10, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def facts_of(table: TicitaireTable, *commands: Command) -> tuple[Fact, ...]:
    """What comes of commands at a table."""
    facts: tuple[Fact, ...] = ()
    for command in commands:
        more = TICITAIRE.decide(command, table, NOON)
        facts, table = facts + more, fold(TICITAIRE.evolve, table, more)
    return facts


def counts_of(table: TicitaireTable, facts: Sequence[Fact], lasted: timedelta = HOUR) -> Counts:
    (line,) = count(positions(TICITAIRE.evolve, table, facts), lasted)
    return line.counts


class Case(NamedTuple):
    sentence: str
    table: TicitaireTable
    commands: tuple[Command, ...]
    counts: dict[str, int]
    """What they count in a game that is given up after them; nothing else is counted."""


NOTHING: Final = dict.fromkeys(SUMS, 0) | {"games": 1, "streak": 0, "given_up": 1}
FIVE: Final = position("5-circle-cyan", stock=SPARE, options=TAKE_BACK)
"""A table with a 5 that goes from one column to the other."""
BURIED: Final = position("1-star-red 3-star-red | 1-circle-violet", "5-circle-cyan", stock=SPARE, options=TAKE_BACK)
TO_LOW: Final = move("column-1", "low")
TO_7: Final = move("column-1", "column-7")
BACK: Final = move("column-7", "column-1")

CASES: Final = [
    Case("of a game that is given up at once", FIVE, (), {}),
    Case(
        "a turn of the stock, and a recycling",
        position(stock="2-star-cyan", waste="1-star-cyan"),
        (TurnStock(seat=1), RecycleWaste(seat=1), TurnStock(seat=1)),
        {"stock_turns": 2, "recycles": 1},
    ),
    Case(
        "a move that leaves a card in the column",
        position("5-star-red 1-circle-violet", stock=SPARE),
        (TO_LOW,),
        {"moves_made": 1},
    ),
    Case(
        "a card that is turned up, in a column that is not cleared",
        BURIED,
        (TO_LOW,),
        {"moves_made": 1, "cards_turned_up": 1},
    ),
    Case(
        "a column that its last card has left",
        position("1-circle-violet", stock=SPARE),
        (TO_LOW,),
        {"moves_made": 1, "columns_cleared": 1},
    ),
    Case(
        "a column that its run has left",
        position("2-circle-cyan 2-star-cyan", "2-circle-red", stock=SPARE),
        (move("column-1", "column-2"),),
        {"moves_made": 1, "columns_cleared": 1},
    ),
    Case("each column once", FIVE, (TO_7, BACK, TO_7, BACK), {"moves_made": 4, "columns_cleared": 2}),
    Case(
        "no card of the waste as a column's",
        position(waste="1-star-cyan 5-circle-cyan"),
        (move("waste", "column-2"),),
        {"moves_made": 1},
    ),
    Case(
        "a move that was taken back as made, and no column as cleared by it",
        FIVE,
        (TO_7, TakeBack(seat=1)),
        {"moves_made": 1, "take_backs": 1},
    ),
    Case(
        "no card that was turned up and taken back",
        BURIED,
        (TO_LOW, TakeBack(seat=1)),
        {"moves_made": 1, "take_backs": 1},
    ),
    Case(
        "what was done again after it was taken back",
        BURIED,
        (TO_LOW, TakeBack(seat=1), TO_LOW),
        {"moves_made": 2, "take_backs": 1, "cards_turned_up": 1},
    ),
    Case(
        "what was done before the position that stands again",
        FIVE,
        (TO_7, BACK, TakeBack(seat=1)),
        {"moves_made": 2, "take_backs": 1, "columns_cleared": 1},
    ),
    Case(
        "a column that was cleared before, although it was cleared again and that was taken back",
        FIVE,
        (TO_7, BACK, TO_7, TakeBack(seat=1)),
        {"moves_made": 3, "take_backs": 1, "columns_cleared": 2},
    ),
    Case(
        "nothing of many moves that were taken back together, also after others",
        BURIED,
        (move("column-2", "column-3"), TakeBack(seat=1), TO_LOW, TurnStock(seat=1), TakeBack(seat=1, moves=2)),
        {"moves_made": 2, "stock_turns": 1, "take_backs": 2},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_counted_is(case: Case) -> None:
    facts = facts_of(case.table, *case.commands, Resign(seat=1))
    assert counts_of(case.table, facts) == NOTHING | case.counts


def test_a_won_game_counts_its_moves_and_its_time_and_is_one_of_a_row() -> None:
    table = position("3-star-red | 1-circle-violet")
    counts = counts_of(table, facts_of(table, TO_LOW), timedelta(minutes=3, microseconds=4_999))
    assert counts == dict.fromkeys(SUMS, 0) | {
        "games": 1,
        "wins": 1,
        "streak": 1,
        "moves": 1,
        "moves_made": 1,
        "time": 180_004,
        "cards_turned_up": 1,
    }


def test_of_a_game_that_is_not_won_neither_moves_nor_time_are_to_be_beaten() -> None:
    counts = counts_of(FIVE, facts_of(FIVE, TO_7, Resign(seat=1)))
    assert not {"moves", "time"} & counts.keys()
    assert (counts["wins"], counts["streak"]) == (0, 0)


def test_a_game_whose_time_ran_out_is_counted_as_given_up_and_as_timed_out() -> None:  # G2
    table = position("5-circle-cyan", stock=SPARE, deadline=NOON)
    assert counts_of(table, facts_of(table, RunOutOfTime())) == NOTHING | {"time_outs": 1}


def test_the_seat_has_the_first_place_or_none() -> None:
    won = position("3-star-red | 1-circle-violet")
    lines = [
        count(positions(TICITAIRE.evolve, table, facts_of(table, command)), HOUR)
        for table, command in ((won, TO_LOW), (FIVE, Resign(seat=1)))
    ]
    assert [[(line.seat, line.place, line.points, line.resigned) for line in seats] for seats in lines] == [
        [(1, 1, None, False)],
        [(1, None, None, True)],
    ]


def test_every_counter_comes_of_some_case() -> None:
    told = {name for case in CASES for name, number in (NOTHING | case.counts).items() if number}
    assert told | {"wins", "streak", "moves", "time", "time_outs"} == {counter.name for counter in COUNTERS}


def test_a_game_that_is_not_finished_is_not_counted() -> None:
    with pytest.raises(ValueError, match="not finished"):
        counts_of(FIVE, facts_of(FIVE, TO_7))


def test_what_a_result_records_is_counted_as_it_says() -> None:
    places = (Place(seat=1, place=1),)
    end = TicitaireFinished(
        ending=Ending.WON, places=places, buried=0, unplayed=0, moves=90, turns=70, recycles=3, take_backs=2
    )
    counts = counts_of(FIVE, [end])
    names = ("moves", "moves_made", "stock_turns", "recycles", "take_backs")
    assert [counts[name] for name in names] == [90, 90, 70, 3, 2]


# Whole games


def counted(played: Played) -> SeatCount:
    (line,) = count(positions(TICITAIRE.evolve, TICITAIRE.empty(None), played.facts), HOUR)
    return line


@some
@hypothesis.given(games(ENDED))
def test_what_is_counted_agrees_with_the_result_and_the_table(played: Played) -> None:
    line, table = counted(played), played.table
    counts = line.counts
    assert (line.place, line.resigned) == ((1, False) if table.layout.won else (None, True))
    assert counts["cards_turned_up"] == DEALT.buried - table.layout.buried
    assert (counts["moves_made"], counts["stock_turns"], counts["recycles"], counts["take_backs"]) == (
        table.moves,
        table.turns,
        table.recycles,
        table.take_backs,
    )
    assert counts["wins"] + counts["given_up"] == counts["games"] == 1
    assert counts["time_outs"] == (played.ending == "timed-out")


@some
@hypothesis.given(games(ENDED))
def test_the_columns_that_were_cleared_are_those_that_were_empty_at_some_position_not_taken_back(
    played: Played,
) -> None:
    tables = {table.version: table for table in played.tables() if table.dealt}
    standing = list[int]()
    for step in played.steps:
        (*_, last) = step.facts
        if isinstance(last, MovesTakenBack):
            standing = [version for version in standing if version <= last.to_version]
        standing.append(step.after.version)
    layouts = [tables[version].layout for version in standing]
    empty = {at for layout in layouts for at, column in enumerate(layout.columns) if column == Column()}
    assert counted(played).counts["columns_cleared"] == len(empty)


@some
@hypothesis.given(games(ENDED))
def test_a_game_is_counted_alike_with_its_seeds_and_without(played: Played) -> None:
    (line,) = count(positions(TICITAIRE.evolve, TICITAIRE.empty(played.seeds), played.facts), HOUR)
    assert line == counted(played)
