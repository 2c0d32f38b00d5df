"""Facts from outside: whatever a record tells, the table that is folded of it stays small, and folding it is quick."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

import hypothesis
import pytest
from pydantic import ValidationError

from domain.decider import AnyDecider, Fact, Misfit, RuleViolation
from domain.entropy import EntropyCommitted
from domain.events import GENESIS
from domain.games import DECIDERS
from domain.lifecycle import CLOSING, GameOpened, PlayerResigned, PlayerSeated, TimedOut
from domain.poker.facts import CardsExchanged, CommunityCardExchanged, HandDeclared, RoundDealt, RoundScored
from domain.poker.facts import Options as PokerOptions
from domain.poker.rules import OpenPoker
from domain.poker.table import Came
from domain.record_reading import read_record
from domain.records import write_record
from domain.tables import PlayerJoined, PlayerLeft, Rematch
from domain.ticitaire.facts import CardsMoved, CardTurnedUp, MovesTakenBack, Options, Spot, StockTurned, WasteRecycled
from domain.ticitaire.rules import TICITAIRE
from domain.ticitaire.table import NOTHING_EARLIER, Earlier, TicitaireTable
from domain.tickle.facts import HandRefilled, HandsDealt
from tests.domain.sittings import PLAYERS, Played
from tests.domain.test_audit import GOLDEN
from tests.domain.test_entropy_games import events_of, games
from tests.given import NOON, SEEDS

ANN, BOB, CAT = PLAYERS[:3]
OF_TAKE_BACKS: Final = "won-with-take-backs"
TICKLE: Final = "tickle-target-as-joined"
POKER: Final = "poker-declared"


class Told(NamedTuple):
    """A fact of a recorded game, where it stands."""

    name: str
    number: int

    @property
    def fact(self) -> Fact:
        return GOLDEN[self.name][self.number].fact

    def before(self) -> tuple[AnyDecider, Any]:
        return folded(self.name, self.number)

    def __str__(self) -> str:
        return f"{self.fact.topic} of {self.name}"


def decider_of(name: str) -> AnyDecider:
    opened = GOLDEN[name][0].fact
    assert isinstance(opened, GameOpened)
    return DECIDERS[opened.kind, opened.ruleset]


def folded(name: str, until: int) -> tuple[AnyDecider, Any]:
    """The rules of a recorded game, and its table after so many events."""
    decider = decider_of(name)
    table = decider.empty(None)
    for event in GOLDEN[name][:until]:
        table = decider.evolve(table, event.fact)
    return decider, table


def first_of(name: str, topic: type[Fact]) -> Told:
    return Told(name, next(at for at, event in enumerate(GOLDEN[name]) if type(event.fact) is topic))


def of_each_kind() -> Iterator[Told]:
    """One fact of every sort that each kind of game records, but those that nothing follows."""
    seen = set[tuple[str, type[Fact]]]()
    for name, events in GOLDEN.items():
        for number, event in enumerate(events):
            sort = decider_of(name).kind, type(event.fact)
            if sort not in seen and not isinstance(event.fact, (GameOpened, *CLOSING)):
                seen.add(sort)
                yield Told(name, number)


def altered(fact: Fact) -> Iterator[Fact]:
    """A fact, and the same with numbers that no game has, with other places, and with its lists as long as may be."""
    yield fact
    for field, value in fact:
        others: Iterable[object] = ()
        if type(value) is int:
            others = (-(2**53), -125, -1, 0, 1, 2, 3, 125, 126, 2**53)
        elif isinstance(value, tuple) and value:
            others = (value * 2, value[:1] * 400)
        elif isinstance(value, Spot):
            others = Spot
        for other in others:
            with suppress(ValidationError):  # such a line is refused before it comes so far
                yield type(fact).model_validate({**dict(fact), field: other})


def weight(value: object) -> int:
    """How much a table holds, but for what it has in lists that are linked: those grow at no cost."""
    if isinstance(value, (Came, Earlier)):
        return 1
    if isinstance(value, Mapping):
        return sum(1 + weight(inner) for inner in value.values())
    if isinstance(value, (tuple, list, frozenset, set)):
        return sum(1 + weight(inner) for inner in value)
    return 1


def weighed(table: Any) -> int:
    """The weight of a table: what ``evolve`` may copy at each step."""
    grid = getattr(table, "grid", None)
    more = 0 if grid is None else weight(grid.cards) + weight(grid.playable)
    return more + sum(weight(value) for value in vars(table).values())


HEAVIEST: Final = 6_000
"""No game's table is heavier, however long it is."""


def fits(decider: AnyDecider, table: Any, fact: Fact) -> Any | None:
    """The table after a fact that fits; None after another one."""
    try:
        decider.must_fit(table, fact)
        return decider.evolve(table, fact)
    except (Misfit, LookupError, ValueError, TypeError, AttributeError):
        return None


def heaviest(decider: AnyDecider, table: Any, facts: Iterable[Fact]) -> int:
    """The weight that a table comes to with facts one after the other, those left out that do not fit."""
    most = weighed(table)
    for number, fact in enumerate(facts):
        table = fits(decider, table, fact) or table
        if number % 8 == 0:  # often enough for what doubles
            most = max(most, weighed(table))
            if most > HEAVIEST:
                break
    return most


# Bounds


@pytest.mark.parametrize("told", list(of_each_kind()), ids=str)
def test_no_fact_makes_a_table_grow_without_end_however_often_it_comes(told: Told) -> None:
    decider, table = told.before()
    for fact in altered(told.fact):
        assert heaviest(decider, table, [fact] * 200) <= HEAVIEST, fact


@pytest.mark.parametrize("name", [OF_TAKE_BACKS, TICKLE, POKER])
def test_no_facts_in_any_order_make_a_table_grow_without_end(name: str) -> None:
    decider, start = folded(name, 1)
    chance = random.Random(7)
    own = [event.fact for event in GOLDEN[name][1:-1]]
    told = [told.fact for told in of_each_kind() if decider_of(told.name).kind == decider.kind]
    facts = [other for fact in [*own, *told] for other in islice(altered(fact), 12)]
    for begun in (1, len(own) // 3, len(own) // 2):
        _, table = folded(name, begun)
        assert heaviest(decider, table, chance.choices(facts, k=3_000)) <= HEAVIEST
    assert weighed(start) > 1


@pytest.mark.parametrize("name", GOLDEN)
def test_the_tables_of_recorded_games_are_far_from_the_bound(name: str) -> None:
    decider = decider_of(name)
    assert heaviest(decider, decider.empty(None), [event.fact for event in GOLDEN[name]]) < HEAVIEST / 2


@pytest.mark.parametrize("name", GOLDEN)
def test_every_fact_of_a_recorded_game_fits(name: str) -> None:
    decider = decider_of(name)
    table = decider.empty(None)
    for event in GOLDEN[name]:
        decider.must_fit(table, event.fact)
        table = decider.evolve(table, event.fact)


@hypothesis.settings(deadline=None, max_examples=60, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(games())
def test_every_game_that_is_played_by_the_rules_can_be_read(played: Played[Any]) -> None:
    events = events_of(played)
    assert list(read_record(write_record(events)).events) == events


# What does not fit


def refusal(told: Told, *facts: Fact) -> str:
    """What is said of the last of some facts, of which those before it fit."""
    decider, table = told.before()
    *before, last = facts
    for fact in before:
        decider.must_fit(table, fact)
        table = decider.evolve(table, fact)
    with pytest.raises(Misfit) as refused:
        decider.must_fit(table, last)
    return str(refused.value)


def test_no_more_players_join_than_the_table_takes() -> None:
    start = first_of(TICKLE, PlayerSeated)
    _, table = start.before()
    more = [PlayerJoined(player=UUID(int=number)) for number in range(table.takes - len(table.joined) + 1)]
    assert refusal(start, *more) == f"the table takes {table.takes} players, and they are there"


def test_nobody_joins_twice() -> None:
    joined = first_of(TICKLE, PlayerJoined)
    assert refusal(joined, joined.fact, joined.fact) == "this player has joined already"


def test_nobody_leaves_who_is_not_there() -> None:
    stranger = PlayerLeft(player=UUID(int=99))
    assert refusal(first_of(TICKLE, PlayerSeated), stranger) == "this player is not at the table"


def test_nobody_joins_or_leaves_once_the_cards_are_dealt() -> None:
    dealt = first_of(TICKLE, HandsDealt)
    _, table = dealt.before()
    assert refusal(dealt, dealt.fact, PlayerJoined(player=UUID(int=99))) == "nobody joins a table once it is closed"
    assert "after its deal" in refusal(dealt, dealt.fact, PlayerLeft(player=table.joined[0]))


def test_nobody_is_seated_twice() -> None:
    seated = first_of(TICKLE, PlayerSeated)
    again = seated.fact.model_copy(update={"seat": 2})
    assert refusal(seated, seated.fact, again) == "this player has a seat already"


def test_nobody_is_seated_who_has_not_joined() -> None:
    seated = PlayerSeated(seat=1, player=UUID(int=99))
    assert refusal(first_of(TICKLE, PlayerSeated), seated) == "this player has not joined the table"


def test_a_game_of_one_player_seats_one() -> None:
    seated = first_of(OF_TAKE_BACKS, PlayerSeated)
    other = PlayerSeated(seat=2, player=UUID(int=99))
    assert refusal(seated, seated.fact, other) == "the table takes 1 players, and they are seated"


def test_nobody_commits_to_entropy_twice_or_without_coming_to_the_table() -> None:
    name = "tickle-entropy-of-some-beacon-seeds-held-back"
    committed = first_of(name, EntropyCommitted)
    assert refusal(committed, committed.fact, committed.fact) == "this player has committed to entropy already"
    stranger = EntropyCommitted(player=UUID(int=99), commitment=GENESIS)
    assert refusal(committed, stranger) == "this player is not at the table"


@pytest.mark.parametrize("seat", [-1, 0, 9])
@pytest.mark.parametrize("sort", [TimedOut, PlayerResigned], ids=lambda sort: str(sort.topic))
def test_there_is_no_such_seat(sort: type[Fact], seat: int) -> None:
    told = first_of("poker-resignations" if sort is PlayerResigned else "tickle-timed-out", sort)
    assert refusal(told, told.fact.model_copy(update={"seat": seat})) == f"there is no seat {seat}"


def test_a_seat_that_has_resigned_does_not_do_so_again() -> None:
    resigned = first_of("poker-resignations", PlayerResigned)
    assert "has resigned" in refusal(resigned, resigned.fact, resigned.fact)


def test_a_seat_runs_out_of_time_six_times_at_most() -> None:
    late = first_of("tickle-timed-out", TimedOut)
    assert "has run out of time 6 times" in refusal(late, *[late.fact] * 7)


def test_no_more_cards_are_drawn_than_the_deck_has() -> None:
    refilled = first_of(TICKLE, HandRefilled)
    _, table = refilled.before()
    seat = HandRefilled(seat=1, cards=table.left)
    assert refusal(refilled, seat, HandRefilled(seat=1, cards=1)) == "the deck has 0 cards left"


def test_a_deck_is_dealt_from_once() -> None:
    dealt = first_of(TICKLE, HandsDealt)
    again = dealt.fact.model_copy(update={"number": 2})
    assert refusal(dealt, dealt.fact, again) == "the cards are dealt once"


def test_no_more_cards_are_exchanged_than_the_deck_has() -> None:
    exchanged = first_of(POKER, CardsExchanged)
    _, table = exchanged.before()
    left = 125 - table.next
    assert refusal(exchanged, *[exchanged.fact] * (left + 1)) == "the deck has 0 cards left"


def test_a_community_card_is_exchanged_where_one_lies() -> None:
    exchanged = first_of("poker-community-exchange-called-late-to-declare", CommunityCardExchanged)
    told = exchanged.fact.model_copy(update={"slot": 5})
    assert refusal(exchanged, told) == "no community card lies in slot 5"


@pytest.mark.parametrize("seats", [(1, 1), (0, 1), (1, 9), (1,) * 6_000])
def test_a_round_is_dealt_to_seats_of_the_table_each_once(seats: tuple[int, ...]) -> None:
    dealt = first_of(POKER, RoundDealt)
    told = dealt.fact.model_copy(update={"seats": seats, "community": (), "private": 0})
    assert refusal(dealt, told) == "the seats dealt in are not seats of this table, each once"


def test_no_more_rounds_are_dealt_than_the_table_plays() -> None:
    dealt = first_of(POKER, RoundDealt)
    _, table = dealt.before()
    rounds = [dealt.fact.model_copy(update={"number": number}) for number in range(1, table.options.rounds + 2)]
    assert refusal(dealt, *rounds) == f"this table plays {table.options.rounds} rounds"


def test_a_hand_is_declared_once_in_a_round() -> None:
    declared = first_of(POKER, HandDeclared)
    assert "has declared its hand" in refusal(declared, declared.fact, declared.fact)


def test_a_round_is_scored_once() -> None:
    scored = first_of(POKER, RoundScored)
    assert refusal(scored, scored.fact, scored.fact) == "no round is under way that could be scored"


@pytest.mark.parametrize("spot", Spot)
def test_a_move_that_goes_nowhere_would_double_the_cards(spot: Spot) -> None:
    moved = first_of(OF_TAKE_BACKS, CardsMoved)
    told = moved.fact.model_copy(update={"source": spot, "target": spot})
    assert refusal(moved, told) == "cards go from one place to another"


@pytest.mark.parametrize("column", [Spot.COLUMN_1, Spot.LOW, Spot.WASTE])
def test_a_card_is_turned_up_where_one_lies_open(column: Spot) -> None:
    decider, table = folded(OF_TAKE_BACKS, 3)
    with pytest.raises(Misfit, match=f"no face-down card lies open in {column}"):
        decider.must_fit(table, CardTurnedUp(column=column, card=table.dealt.exposed[0]))


# Rematches


@pytest.mark.parametrize("players", [(ANN, BOB, BOB), (ANN,), ()], ids=["a player twice", "one player", "nobody"])
class TestARematchOfWhatWasNoGame:
    def rematch(self, players: tuple[UUID, ...]) -> Rematch:
        return Rematch(game=UUID(int=1), players=players, moved_on=True)

    def test_is_not_opened(self, players: tuple[UUID, ...]) -> None:
        decider = DECIDERS["poker", 1]
        command = OpenPoker(player=ANN, options=PokerOptions(), rematch=self.rematch(players))
        with pytest.raises(RuleViolation) as refused:
            decider.decide(command, decider.empty(SEEDS), NOON)
        assert (refused.value.code, refused.value.ruling) == ("NO_REMATCH", "G4")

    @pytest.mark.parametrize("kind", ["poker", "tickle"])
    def test_does_not_fit(self, players: tuple[UUID, ...], kind: str) -> None:
        name = next(name for name, events in GOLDEN.items() if decider_of(name).kind == kind)
        decider, opened = decider_of(name), GOLDEN[name][0].fact
        forged = opened.model_copy(update={"rematch": self.rematch(players)})
        with pytest.raises(Misfit, match="two or more players"):
            decider.must_fit(decider.empty(None), forged)


# Time


def with_take_backs(length: int) -> Sequence[Fact]:
    """An honest game that turns its stock over and over, and could take all of it back."""
    begun = [event.fact for event in GOLDEN[OF_TAKE_BACKS]][:3]
    decider, table = folded(OF_TAKE_BACKS, 3)
    facts = list(begun)
    while len(facts) < length:
        stock = table.layout.stock
        fact = StockTurned(card=table.dealt.exposed[0]) if stock else WasteRecycled(cards=len(table.layout.waste))
        table = decider.evolve(table, fact)
        facts.append(fact)
    return facts


def test_a_move_that_could_be_taken_back_adds_one_position_and_copies_none() -> None:
    *facts, last = with_take_backs(2_000)
    table = TICITAIRE.empty(None)
    for fact in facts:
        TICITAIRE.must_fit(table, fact)
        table = TICITAIRE.evolve(table, fact)
    after = TICITAIRE.evolve(table, last)
    assert len(after.earlier) == len(table.earlier) + 1
    assert after.earlier._before is table.earlier


# Positions to return to


def positions_of(versions: Iterable[int]) -> Earlier:
    earlier = NOTHING_EARLIER
    for version in versions:
        earlier = earlier.and_then(version, TicitaireTable().layout)
    return earlier


def test_the_positions_to_return_to_come_back_the_latest_first() -> None:
    assert [version for version, _ in positions_of([3, 4, 6])] == [6, 4, 3]


def test_taking_back_some_moves_leaves_the_positions_before_them() -> None:
    version, _, left = positions_of([3, 4, 6]).before_the_last(2)
    assert (version, left) == (4, positions_of([3]))


@pytest.mark.parametrize("moves", [-1, 0, 4])
def test_no_more_moves_are_taken_back_than_there_are(moves: int) -> None:
    with pytest.raises(LookupError, match="3 positions to return to"):
        positions_of([3, 4, 6]).before_the_last(moves)


def test_positions_are_compared_and_let_go_of_however_many_there_are() -> None:
    assert positions_of(range(30_000)) == positions_of(range(30_000)) != positions_of(range(29_999))
    assert hash(positions_of([1, 2])) == hash(positions_of([1, 2]))


def test_moves_that_were_never_made_are_not_taken_back() -> None:
    decider, table = folded(OF_TAKE_BACKS, 3)
    with pytest.raises(Misfit, match="there are 0 moves to take back"):
        decider.must_fit(table, MovesTakenBack(moves=1, to_version=3))


def test_a_table_without_take_backs_keeps_no_positions() -> None:
    table = TicitaireTable(options=Options())
    assert not TICITAIRE.evolve(table, CardsMoved(source="column-1", target="low", cards=["1-star-red"])).earlier
