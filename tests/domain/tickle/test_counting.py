"""What is counted of a game of Tickle: fact by fact, and as sums that must agree over whole games."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

import hypothesis
import pytest

from domain.counting import Counts, Keeps, SeatCount
from domain.decider import Fact, Position, positions
from domain.lifecycle import PlayerResigned, TimedOut
from domain.tickle.counting import COUNTERS, count
from domain.tickle.facts import (
    CardDrawn,
    Closing,
    Contact,
    DeckPart,
    Ending,
    FinalStageBegan,
    Group,
    HandRefilled,
    LaydownDeclined,
    LaydownPlayed,
    Options,
    Score,
    TargetReached,
    TickleFinished,
    TurnPassed,
)
from domain.tickle.rules import TICKLE
from domain.turns import TurnBegan
from tests.domain.tickle.players import Course, Played, games, play
from tests.domain.tickle.positions import finished, laid
from tests.given import NOON

HOUR: Final = timedelta(hours=1)
SUMS: Final = {counter.name for counter in COUNTERS if counter.keeps is Keeps.SUM}
ENDED: Final = (Course.TO_THE_END, Course.RESIGNED, Course.TIMED_OUT)
FIVE_CARDS: Final = "1-star-violet 2-star-violet 3-star-violet 4-star-violet 5-star-violet"
SIX_CARDS: Final = f"{FIVE_CARDS} 5-star-cyan"

some = hypothesis.settings(deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def group(cards: int, extreme: int = 0) -> Group:
    bonus = {3: 3, 4: 4, 5: 10}[cards]
    cells = tuple((x, 0) for x in range(cards))
    return Group(number=None, shape=5, colour=1, cells=cells, bonus=bonus, extreme=extreme)


def lays(seat: int, names: str, *, tics: int, singles: int = 0, groups: Sequence[Group] = ()) -> LaydownPlayed:
    """The fact that a seat laid cards, with so many contacts and these groups."""
    contacts = tuple(Contact(a=(x, 0), b=(x, 1), common=2 if x < tics else 1) for x in range(tics + singles))
    cards = laid(names, 0)
    parts = {
        "tic_points": 2 * tics,
        "group_points": sum(group.bonus for group in groups),
        "extreme_points": sum(group.extreme for group in groups),
        "six_card_points": 6 if len(cards) == 6 else 0,
    }
    score = Score(contacts=contacts, groups=tuple(groups), total=sum(parts.values()), **parts)
    return LaydownPlayed(seat=seat, cards=cards, score=score)


END: Final = finished(Ending.FINAL_STAGE, (1, 50, 0), (2, 10, 3))[0]


def of_seats(*facts: Fact, end: Fact = END) -> tuple[SeatCount, ...]:
    """What facts count for, of which no table needs to be folded."""
    table = TICKLE.empty(None)
    return count((Position(fact, table, table) for fact in (*facts, end)), HOUR)


def of_seat_1(*facts: Fact, end: Fact = END) -> Counts:
    return of_seats(*facts, end=end)[0].counts


class Case(NamedTuple):
    sentence: str
    facts: tuple[Fact, ...]
    counts: dict[str, int]
    """What they count for the first seat; nothing else is counted for it."""


NOTHING: Final = dict.fromkeys(SUMS, 0) | {"games": 1, "wins": 1, "points": 50, "best_game": 50}
LAID: Final = lays(1, "3-star-cyan", tics=1)

CASES: Final = [
    Case("of a game in which a seat did nothing", (), {}),
    Case(
        "a laydown of one card with one Tic",
        (LAID,),
        {"laydowns": 1, "cards_laid": 1, "tics": 1, "best_laydown": 2},
    ),
    Case(
        "Tics and Singles apart",
        (lays(1, "3-star-cyan 4-star-cyan", tics=2, singles=3),),
        {"laydowns": 1, "cards_laid": 2, "tics": 2, "singles": 3, "best_laydown": 4},
    ),
    Case(
        "groups by their size",
        (lays(1, "3-star-cyan", tics=1, groups=[group(3), group(3), group(4)]),),
        {"laydowns": 1, "cards_laid": 1, "tics": 1, "groups_of_three": 2, "groups_of_four": 1, "best_laydown": 12},
    ),
    Case(
        "a group of five as a Tickle",
        (lays(1, FIVE_CARDS, tics=4, groups=[group(5)]),),
        {"laydowns": 1, "cards_laid": 5, "tics": 4, "tickles": 1, "best_laydown": 18},
    ),
    Case(
        "a group each time that it scores",
        (lays(1, "3-star-cyan", tics=1, groups=[group(3)]), lays(1, "4-star-cyan", tics=1, groups=[group(4)])),
        {"laydowns": 2, "cards_laid": 2, "tics": 2, "groups_of_three": 1, "groups_of_four": 1, "best_laydown": 6},
    ),
    Case(
        "each group with an Extreme bonus, whatever the bonus",
        (lays(1, "5-star-red", tics=2, groups=[group(3, extreme=10), group(3), group(4, extreme=5)]),),
        {
            "laydowns": 1,
            "cards_laid": 1,
            "tics": 2,
            "groups_of_three": 2,
            "groups_of_four": 1,
            "extremes": 2,
            "best_laydown": 29,
        },
    ),
    Case(
        "six cards in one turn",
        (lays(1, SIX_CARDS, tics=5),),
        {"laydowns": 1, "cards_laid": 6, "tics": 5, "six_card_laydowns": 1, "best_laydown": 16},
    ),
    Case(
        "the best of several laydowns, wherever it stands",
        (LAID, lays(1, "4-star-cyan 5-star-cyan", tics=3), LAID),
        {"laydowns": 3, "cards_laid": 4, "tics": 5, "best_laydown": 6},
    ),
    Case("a draw", (CardDrawn(seat=1),), {"draws": 1}),
    Case("a draw that was declined", (CardDrawn(seat=1), LaydownDeclined(seat=1)), {"draws": 1, "declined": 1}),
    Case(
        "a draw that was due when the time ran out",
        (TimedOut(seat=1, deadline=NOON), CardDrawn(seat=1)),
        {"draws": 1, "time_outs": 1},
    ),
    Case("a hand that was filled up as no draw", (HandRefilled(seat=1, cards=4),), {}),
    Case("the last card of a hand", (FinalStageBegan(seat=1, cause=Closing.HAND_LAID),), {"hands_laid": 1}),
    Case("a final stage for want of a laydown as no hand", (FinalStageBegan(seat=1, cause=Closing.NO_LAYDOWN),), {}),
    Case("neither a turn nor its passing", (TurnBegan(seat=1, round=1), TurnPassed(seat=1, round=2)), {}),
    Case("not the reaching of a target", (TargetReached(seat=1),), {}),
    Case("every time-out", (TimedOut(seat=1, deadline=NOON),) * 2, {"time_outs": 2}),
    Case(
        "nothing of another seat",
        (
            lays(2, SIX_CARDS, tics=5, singles=1, groups=[group(3, extreme=5), group(4), group(5)]),
            CardDrawn(seat=2),
            LaydownDeclined(seat=2),
            TimedOut(seat=2, deadline=NOON),
            FinalStageBegan(seat=2, cause=Closing.HAND_LAID),
        ),
        {},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_counted_is(case: Case) -> None:
    assert of_seat_1(*case.facts) == NOTHING | case.counts


def test_every_counter_comes_of_some_case() -> None:
    told = {name for case in CASES for name, number in (NOTHING | case.counts).items() if number}
    assert told | {"resignations"} == {counter.name for counter in COUNTERS}


def test_the_result_gives_place_points_and_who_resigned() -> None:
    end, _ = finished(Ending.RESIGNATIONS, (1, 20, 2), (3, 90, 6), (2, 12, 4), resigned=(2, 3))
    lines = of_seats(PlayerResigned(seat=2), PlayerResigned(seat=3), end=end)
    assert [(line.seat, line.place, line.points, line.resigned) for line in lines] == [
        (1, 1, 10, False),
        (2, 3, 60, True),
        (3, 2, -8, True),
    ]
    assert [(line.counts["wins"], line.counts["points"], line.counts["best_game"]) for line in lines] == [
        (1, 10, 10),
        (0, 60, 60),
        (0, -8, -8),
    ]
    assert [line.counts["resignations"] for line in lines] == [0, 1, 1]


def test_a_shared_first_place_is_a_win_of_each() -> None:
    end, _ = finished(Ending.FINAL_STAGE, (1, 20, 0), (1, 20, 0), (3, 12, 0))
    assert [line.counts["wins"] for line in of_seats(end=end)] == [1, 1, 0]


def test_who_made_no_laydown_has_no_best_one() -> None:
    first, second = of_seats(LAID)
    assert "best_laydown" in first.counts
    assert "best_laydown" not in second.counts


def test_a_game_that_is_not_finished_is_not_counted() -> None:
    table = TICKLE.empty(None)
    with pytest.raises(ValueError, match="not finished"):
        count([Position(LAID, table, table)], HOUR)


# Whole games


def counted(played: Played, facts: Iterable[Fact] | None = None) -> tuple[SeatCount, ...]:
    return count(positions(TICKLE.evolve, TICKLE.empty(None), facts or played.facts), HOUR)


def result_of(played: Played) -> TickleFinished:
    assert isinstance(played.table.finished, TickleFinished)
    return played.table.finished


@some
@hypothesis.given(games(ENDED))
def test_what_is_counted_agrees_with_the_result_and_the_table(played: Played) -> None:
    table = played.table
    for line, told in zip(counted(played), result_of(played).places, strict=True):
        counts = line.counts
        assert (line.seat, line.place, line.points, line.resigned) == (told.seat, told.place, told.total, told.resigned)
        assert counts.keys() - {"best_laydown"} == SUMS | {"best_game"}
        assert counts["points"] == counts["best_game"] == told.points - 5 * told.cards
        assert counts["resignations"] == (line.seat in table.resigned)
        assert counts["time_outs"] == table.timed_out.count(line.seat)
        assert counts["cards_laid"] == len(table.got[line.seat - 1]) - told.cards
        assert ("best_laydown" in counts) == (counts["laydowns"] > 0)
        assert counts.get("best_laydown", 0) <= told.points <= counts["laydowns"] * counts.get("best_laydown", 0)


@some
@hypothesis.given(games(ENDED))
def test_what_is_counted_makes_up_the_points_of_the_laydowns(played: Played) -> None:  # K9 to K12
    for line, told in zip(counted(played), result_of(played).places, strict=True):
        counts = line.counts
        groups = 3 * counts["groups_of_three"] + 4 * counts["groups_of_four"] + 10 * counts["tickles"]
        plain = 2 * counts["tics"] + groups + 6 * counts["six_card_laydowns"]
        assert plain + 5 * counts["extremes"] <= told.points <= plain + 10 * counts["extremes"]


@some
@hypothesis.given(games(ENDED))
def test_what_the_seats_count_is_what_lies_on_the_table(played: Played) -> None:
    lines, table = counted(played), played.table

    def of_all(name: str) -> int:
        return sum(line.counts[name] for line in lines)

    assert of_all("cards_laid") == len(table.grid.cards)
    assert of_all("tics") + of_all("singles") == sum((x + 1, y) in table.grid.cards for x, y in table.grid.cards) + sum(
        (x, y + 1) in table.grid.cards for x, y in table.grid.cards
    )
    assert of_all("hands_laid") == (table.closing is Closing.HAND_LAID)
    assert of_all("draws") == sum(isinstance(fact, CardDrawn) for fact in played.facts)
    assert of_all("declined") <= of_all("draws")
    assert of_all("games") == len(table.players)
    assert of_all("wins") >= 1


@some
@hypothesis.given(games(ENDED))
def test_a_game_is_counted_alike_with_its_seeds_and_without(played: Played) -> None:
    assert count(positions(TICKLE.evolve, TICKLE.empty(played.seeds), played.facts), HOUR) == counted(played)


def test_a_game_is_counted_alike_before_its_seeds_are_revealed_and_after() -> None:
    played = play(random.Random(4), options=Options(deck=DeckPart.HALF, seats=2), players=2)
    assert counted(played, played.facts[:-1]) == counted(played)
