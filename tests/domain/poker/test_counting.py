"""What is counted of a game of TIC Poker: fact by fact, and as sums that must agree over whole games."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, NamedTuple

import hypothesis
import pytest
from hypothesis import strategies as st

from domain.cards import DECK
from domain.counting import SeatCount
from domain.decider import Fact, Position, positions
from domain.lifecycle import PlayerResigned, TimedOut
from domain.poker.counting import COUNTERS, count, medals
from domain.poker.facts import (
    Called,
    CardsExchanged,
    CardsKept,
    CommunityCardExchanged,
    CommunityCardTurned,
    Ending,
    HandDeclared,
    Options,
    RoundScored,
)
from domain.poker.hands import Rank
from domain.poker.rules import POKER
from domain.turns import TurnBegan
from tests.domain.poker.players import ENDED, Played, games
from tests.domain.poker.positions import HIGH, dealt, finished, opened, revealed, scored, seats_given
from tests.given import NOON

HOUR: Final = timedelta(hours=1)
NAMES: Final = {counter.name for counter in COUNTERS}
FIVE: Final = DECK[:5]
FIRST, SECOND = 1 << 40, 1 << 20

some = hypothesis.settings(deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def declares(seat: int, rank: Rank = HIGH) -> HandDeclared:
    return HandDeclared(seat=seat, cards=FIVE, rank=rank)


ROUND: Final = dealt(1, 2, 1, 2, players=2)
NEXT_ROUND: Final = dealt(2, 1, 2, 1, players=2)
SHOWN: Final = revealed((1, "1-circle-violet"), (2, "5-star-red"))
FIRST_WINS: Final = scored((1, 1, 2), (2, 2, 1))
SECOND_WINS: Final = scored((2, 1, 2), (1, 2, 1))
END: Final = finished(Ending.ROUNDS, (1, 9), (2, 6), deals=1)[0]
SEATED: Final = seats_given(2)
RANKS: Final = {rank.name.lower() for rank in Rank}
RAN_OUT: Final = TimedOut(seat=1, deadline=NOON)


def of_seats(*facts: Fact, end: Fact = END) -> tuple[SeatCount, ...]:
    """What facts of a game of two count for."""
    return count(positions(POKER.evolve, POKER.empty(None), (opened(Options()), *facts, end)), HOUR)


class Case(NamedTuple):
    sentence: str
    facts: tuple[Fact, ...]
    counts: dict[str, int]
    """What they count for the first seat; nothing else is counted for it."""


NOTHING: Final = dict.fromkeys(NAMES, 0) | {"games": 1, "wins": 1, "points": 9, "places": FIRST}
BOTH: Final = (declares(1, Rank.TIC_PAIR), declares(2))

CASES: Final = [
    Case("of a game in which a seat did nothing", (), {}),
    Case(
        "a turn with an exchange, of one card or of two",
        (CardsExchanged(seat=1, slots=(2,)), CardsExchanged(seat=1, slots=(1, 3))),
        {"exchanges": 2},
    ),
    Case("a community card as an exchange", (CommunityCardExchanged(seat=1, slot=1, card=DECK[9]),), {"exchanges": 1}),
    Case("a turn in which the cards were kept", (CardsKept(seat=1),), {"kept": 1}),
    Case("a turn that ran out of time as no keeping", (RAN_OUT,), {"time_outs": 1}),
    Case(
        "neither a turn nor a card that is turned", (TurnBegan(seat=1, round=1), CommunityCardTurned(card=FIVE[0])), {}
    ),
    Case(
        "a round that was won, by its hand",
        (SHOWN, *BOTH, FIRST_WINS),
        {"rounds": 1, "rounds_won": 1, "tic_pair": 1},
    ),
    Case("a round that was lost, by its hand", (SHOWN, *BOTH, SECOND_WINS), {"rounds": 1, "tic_pair": 1}),
    Case(
        "a round whose first place is shared as won",
        (SHOWN, *BOTH, scored((1, 1, 2), (2, 1, 2))),
        {"rounds": 1, "rounds_won": 1, "tic_pair": 1},
    ),
    Case(
        "a call that won",
        (Called(seat=1), SHOWN, *BOTH, FIRST_WINS),
        {"calls": 1, "calls_won": 1, "rounds": 1, "rounds_won": 1, "tic_pair": 1},
    ),
    Case("a call that lost", (Called(seat=1), SHOWN, *BOTH, SECOND_WINS), {"calls": 1, "rounds": 1, "tic_pair": 1}),
    Case(
        "another seat's call as none of its own",
        (Called(seat=2), SHOWN, *BOTH, FIRST_WINS),
        {"rounds": 1, "rounds_won": 1, "tic_pair": 1},
    ),
    Case("a call in a round that was not scored", (Called(seat=1), PlayerResigned(seat=2)), {"calls": 1}),
    Case(
        "the call of one round not in the next",
        (
            *(Called(seat=1), SHOWN, *BOTH, SECOND_WINS),
            *(NEXT_ROUND, SHOWN, declares(1, Rank.BIG_HOUSE), declares(2), FIRST_WINS),
        ),
        {"calls": 1, "rounds": 2, "rounds_won": 1, "tic_pair": 1, "big_house": 1},
    ),
    Case("a hand of a round that was not scored as none", (SHOWN, declares(1), PlayerResigned(seat=2)), {}),
    Case(
        "nothing of a round in which the seat was not ranked",
        (SHOWN, declares(1), PlayerResigned(seat=1), declares(2), scored((2, 1, 2))),
        {},
    ),
    Case(
        "a declaration that came late, as High Card",
        (SHOWN, RAN_OUT, declares(1), declares(2), SECOND_WINS),
        {"rounds": 1, "high_card": 1, "late_declarations": 1, "time_outs": 1},
    ),
    Case(
        "nothing of another seat",
        (
            *(CardsExchanged(seat=2, slots=(2,)), CommunityCardExchanged(seat=2, slot=1, card=DECK[9])),
            *(CardsKept(seat=2), Called(seat=2), TimedOut(seat=2, deadline=NOON)),
            *(SHOWN, TimedOut(seat=2, deadline=NOON), declares(2), declares(1), SECOND_WINS),
        ),
        {"rounds": 1, "high_card": 1},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_counted_is(case: Case) -> None:
    assert of_seats(*SEATED, ROUND, *case.facts)[0].counts == NOTHING | case.counts


@pytest.mark.parametrize("rank", Rank)
def test_a_hand_is_counted_by_the_name_of_its_rank(rank: Rank) -> None:
    counts = of_seats(*SEATED, ROUND, SHOWN, declares(1, rank), declares(2), FIRST_WINS)[0].counts
    assert {name for name in RANKS if counts[name]} == {rank.name.lower()}


def test_where_cards_speak_a_hand_is_counted_all_the_same() -> None:
    speak = opened(Options(cards_speak=True))
    table = POKER.evolve(POKER.empty(None), speak)
    facts = (*SEATED, ROUND, SHOWN, *BOTH, FIRST_WINS, END)
    counts = count(positions(POKER.evolve, table, facts), HOUR)[0].counts
    assert (counts["tic_pair"], counts["late_declarations"]) == (1, 0)


def test_every_counter_comes_of_some_case() -> None:
    told = {name for case in CASES for name, number in (NOTHING | case.counts).items() if number}
    assert told | RANKS | {"resignations"} == NAMES


def test_the_result_gives_place_points_and_who_resigned() -> None:
    end, _ = finished(Ending.RESIGNATIONS, (1, 3), (4, 0), (3, 8), (2, 5), deals=1, resigned=(2, 3, 4))
    lines = of_seats(end=end)
    assert [(line.seat, line.place, line.points, line.resigned) for line in lines] == [
        (1, 1, 3, False),
        (2, 4, 0, True),
        (3, 3, 8, True),
        (4, 2, 5, True),
    ]
    names = ("points", "wins", "resignations", "places")
    assert [tuple(line.counts[name] for name in names) for line in lines] == [
        (3, 1, 0, FIRST),
        (0, 0, 1, 0),
        (8, 0, 1, 1),
        (5, 0, 1, SECOND),
    ]


def test_a_game_that_is_not_finished_is_not_counted() -> None:
    table = POKER.empty(None)
    with pytest.raises(ValueError, match="not finished"):
        count([Position(CardsKept(seat=1), table, table)], HOUR)


# Medals


def test_medals_are_places_in_one_number() -> None:
    assert [medals(value) for value in (0, 1, SECOND, FIRST, 3 * FIRST + 2 * SECOND + 7)] == [
        (0, 0, 0),
        (0, 0, 1),
        (0, 1, 0),
        (1, 0, 0),
        (3, 2, 7),
    ]


several = st.lists(st.integers(1, 8), max_size=60)


@hypothesis.given(several, several)
def test_sums_of_places_compare_like_a_table_of_medals(mine: list[int], yours: list[int]) -> None:
    def summed(places: list[int]) -> int:
        ends = (finished(Ending.ROUNDS, (place, 0), deals=1)[0] for place in places)
        return sum(of_seats(end=end)[0].counts["places"] for end in ends)

    def table(places: list[int]) -> tuple[int, ...]:
        return places.count(1), places.count(2), places.count(3)

    assert medals(summed(mine)) == table(mine)
    assert (summed(mine) < summed(yours)) == (table(mine) < table(yours))


# Whole games


def counted(played: Played, facts: Iterable[Fact] | None = None) -> tuple[SeatCount, ...]:
    return count(positions(POKER.evolve, POKER.empty(None), facts or played.facts), HOUR)


@some
@hypothesis.given(games(ENDED))
def test_what_is_counted_agrees_with_the_result_and_the_rounds(played: Played) -> None:
    table = played.table
    for line in counted(played):
        counts, seat = line.counts, line.seat
        assert counts.keys() == NAMES
        assert counts["points"] == line.points == table.points[seat - 1]
        assert line.resigned == counts["resignations"] == (seat in table.resigned)
        assert counts["time_outs"] == table.timed_out.count(seat)
        ranked = [(one, place) for one in table.played for place in one.scored.places if place.seat == seat]
        assert counts["rounds"] == len(ranked) == sum(counts[name] for name in RANKS)
        assert counts["rounds_won"] == sum(place.place == 1 for _, place in ranked)
        assert counts["calls_won"] == sum(place.place == 1 and one.caller == seat for one, place in ranked)
        assert counts["calls_won"] <= counts["calls"]
        late = sum(one.late.count(seat) for one in table.played)
        assert late <= counts["late_declarations"] <= late + (len(table.played) < table.deals)


@some
@hypothesis.given(games(ENDED))
def test_what_the_seats_count_is_what_was_played(played: Played) -> None:
    lines, table = counted(played), played.table

    def of_all(name: str) -> int:
        return sum(line.counts[name] for line in lines)

    assert of_all("rounds") == sum(isinstance(fact, RoundScored) and len(fact.places) for fact in played.facts)
    assert of_all("rounds_won") >= len(table.played)
    assert of_all("exchanges") == sum(isinstance(f, CardsExchanged | CommunityCardExchanged) for f in played.facts)
    assert of_all("kept") == sum(isinstance(fact, CardsKept) for fact in played.facts)
    assert of_all("calls") == sum(isinstance(fact, Called) for fact in played.facts)
    turns = sum(isinstance(fact, TurnBegan) for fact in played.facts)
    done = sum(of_all(name) for name in ("exchanges", "kept", "calls"))
    unplayed = of_all("resignations") + of_all("time_outs")
    assert done <= turns <= done + unplayed
    assert of_all("games") == len(table.players)
    assert of_all("wins") >= 1


@some
@hypothesis.given(games(ENDED))
def test_a_game_is_counted_alike_with_its_seeds_and_without(played: Played) -> None:
    with_seeds = count(positions(POKER.evolve, POKER.empty(played.seeds), played.facts), HOUR)
    assert with_seeds == counted(played) == counted(played, played.facts[:-1])
