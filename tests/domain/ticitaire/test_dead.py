"""Dead positions (S10): proved from seen cards alone, and the proof agrees with exhaustive search."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn, SupportsIndex

import hypothesis
import pytest
from hypothesis import event
from hypothesis import strategies as st

from domain.cards import DECK, Card, is_duo, is_tic, is_tripo
from domain.decider import Command, Viewer, fold
from domain.ticitaire.dead import Verdict, verdict
from domain.ticitaire.facts import CardTurnedUp, Options, Spot
from domain.ticitaire.rules import TICITAIRE, MoveCards, RecycleWaste, TurnStock
from domain.ticitaire.table import TicitaireTable
from tests.domain.ticitaire.positions import position
from tests.domain.ticitaire.secrecy import other_worlds
from tests.given import NOON

STRICT = Options(strict_duo=True)


def witness(table: TicitaireTable, limit: int = 3_000) -> list[Command] | None:
    """Play every sequence of commands, hidden cards and all, until one uncovers a card or plays a stock card.

    Returns the commands, or None where there are none.

    Raises:
        OverflowError: there are too many positions to try them all.
    """
    seen = {table.layout}
    waiting: deque[tuple[TicitaireTable, list[Command]]] = deque([(table, [])])
    while waiting:
        here, path = waiting.popleft()
        for command in TICITAIRE.legal_commands(here, Viewer(seat=1)):
            if not isinstance(command, (MoveCards, TurnStock, RecycleWaste)):
                continue
            facts = TICITAIRE.decide(command, here, NOON)
            from_waste = isinstance(command, MoveCards) and command.source is Spot.WASTE
            if from_waste or any(isinstance(fact, CardTurnedUp) for fact in facts):
                return [*path, command]
            there = fold(TICITAIRE.evolve, here, facts)
            if there.layout not in seen:
                if len(seen) >= limit:
                    raise OverflowError
                seen.add(there.layout)
                waiting.append((there, [*path, command]))
    return None


# Positions that speak for themselves

BLOCKED = ("1-star-red | 2-circle-cyan", "4-star-yellow")
CASES = [
    ("a card is uncovered by the next move", position("1-star-red | 2-circle-cyan", "2-circle-red"), Verdict.ALIVE),
    ("nothing moves and nothing is left to come", position(*BLOCKED), Verdict.DEAD),
    (
        "a seen card deep in the waste will fit",
        position(*BLOCKED, waste="2-circle-red 3-triangle-orange"),
        Verdict.ALIVE,
    ),
    (
        "a seen card of the stock will fit",
        position(*BLOCKED, stock="3-triangle-orange 2-circle-red", known="3-triangle-orange 2-circle-red"),
        Verdict.ALIVE,
    ),
    ("seen cards that never fit go round for ever", position(*BLOCKED, waste="3-triangle-orange"), Verdict.DEAD),
    ("an unseen card of the stock might fit", position(*BLOCKED, stock="3-triangle-orange"), Verdict.UNKNOWN),
    (
        "a buried card that is unseen can't be hoped for",
        position(*BLOCKED, stock="3-triangle-orange", known="3-triangle-orange"),
        Verdict.DEAD,
    ),
    (
        "a detour over a sequence pile uncovers a card",
        position("1-star-red | 2-circle-cyan 1-circle-violet", "2-circle-red", "4-star-yellow 3-star-yellow"),
        Verdict.ALIVE,
    ),
    (
        "a card comes down from a pile so that another can go there",
        position("1-star-red | 2-crescent-yellow", "3-triangle-red", low="1-crescent-cyan 2-triangle-red"),
        Verdict.ALIVE,
    ),
    (
        "a 5 frees its column for nothing",
        position("5-circle-cyan", "1-star-red | 2-square-yellow"),
        Verdict.DEAD,
    ),
    (
        "a Duo that is not strict helps",
        position("1-star-red | 4-square-violet", high="5-star-red"),
        Verdict.ALIVE,
    ),
    (
        "a Duo that is not strict does not help where the strict one is played",
        position("1-star-red | 4-square-violet", high="5-star-red", options=STRICT),
        Verdict.DEAD,
    ),
]


@pytest.mark.parametrize(("table", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_position_is(table: TicitaireTable, expected: Verdict) -> None:
    assert verdict(table) is expected


@pytest.mark.parametrize("table", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_the_exhaustive_search_agrees_about(table: TicitaireTable) -> None:
    expected = {True: {Verdict.ALIVE, Verdict.UNKNOWN}, False: {Verdict.DEAD, Verdict.UNKNOWN}}
    assert verdict(table) in expected[witness(table) is not None]


# Any small position

POOL = [
    *("1-circle-violet", "1-circle-cyan", "2-circle-cyan", "2-crescent-cyan", "2-crescent-violet", "3-crescent-cyan"),
    *("5-star-red", "5-star-orange", "4-star-orange", "4-square-orange", "5-square-red", "3-triangle-yellow"),
    *("5-circle-cyan", "2-star-cyan"),
]
"""Cards with many Tics and sequences among them, low and high ones."""


@st.composite
def small_positions(draw: st.DrawFn, *, unseen: bool) -> TicitaireTable:
    """A few cards in a few places; the other columns hold cards that nothing goes upon, or nothing."""
    names = iter(draw(st.permutations(POOL)))

    def some(most: int) -> str:
        return " ".join(next(names) for _ in range(draw(st.integers(0, most))))

    columns = [f"{some(1)} | {next(names)}" for _ in range(2)] + [next(names)]
    if draw(st.booleans()):
        columns += ["3-triangle-violet", "4-circle-yellow", "1-triangle-orange", "1-square-yellow"]
    low, high, waste, stock = some(2), some(1), some(2), some(2)
    return position(
        *columns,
        low=low,
        high=high,
        waste=waste,
        stock=stock,
        known="" if unseen else stock,
        options=draw(st.sampled_from([Options(), STRICT])),
    )


searching = hypothesis.settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.filter_too_much],
)


def searched(table: TicitaireTable) -> list[Command] | None:
    """As ``witness``, of a position that can be searched."""
    try:
        return witness(table)
    except OverflowError:
        hypothesis.reject()


@searching
@hypothesis.given(small_positions(unseen=False))
def test_where_the_stock_was_seen_the_proof_and_exhaustive_search_agree(table: TicitaireTable) -> None:
    found = searched(table)
    told = verdict(table, bound=10**6)
    event(told.value)
    assert told is (Verdict.DEAD if found is None else Verdict.ALIVE)


@searching
@hypothesis.given(small_positions(unseen=True))
def test_where_it_was_not_the_proof_never_contradicts_exhaustive_search(table: TicitaireTable) -> None:
    found = searched(table)
    told = verdict(table, bound=10**6)
    event(told.value)
    if told is Verdict.ALIVE:
        assert found is not None
    elif told is Verdict.DEAD:
        assert found is None


@searching
@hypothesis.given(st.one_of(small_positions(unseen=False), small_positions(unseen=True)))
def test_a_smaller_bound_knows_less_and_nothing_else(table: TicitaireTable) -> None:
    told = verdict(table, bound=10**6)
    for bound in (1, 2, 5):
        assert verdict(table, bound=bound) in (told, Verdict.UNKNOWN)


# What is not known


class Untouchable(tuple[Card, ...]):
    """A deck that must not be looked at."""

    __slots__ = ()

    def __getitem__(self, key: SupportsIndex | slice) -> NoReturn:
        raise AssertionError("a hidden card was looked at")

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("the deck was looked through")


@pytest.mark.parametrize(("table", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_proof_looks_at_no_hidden_card(table: TicitaireTable, expected: Verdict) -> None:
    assert table.deck is not None
    blind = replace(table, deck=Untouchable(table.deck), seeds=None)
    with pytest.raises(AssertionError, match="was looked at"):
        blind.deck[0]  # type: ignore[index]
    assert verdict(blind) is expected


def test_a_face_up_card_that_nobody_saw_is_an_error_and_no_guess() -> None:
    table = position(*BLOCKED)
    with pytest.raises(LookupError, match="must not look"):
        verdict(replace(table, seen=(None,) * 125))


def dead_whatever_comes() -> TicitaireTable:
    """An unseen card in the stock, and every card that would fit anywhere lies in the middle of a run."""
    low, high = Card.parse("1-circle-violet"), Card.parse("5-star-red")
    exposed: list[Card] = []
    for card in DECK:
        free = not any(is_tic(card, other) for other in (*exposed, low, high))
        if free and not any(is_duo(card, top) or is_tripo(card, top) for top in (low, high)) and len(exposed) < 7:
            exposed.append(card)
    assert len(exposed) == 7
    others = [card for card in DECK if card not in (*exposed, low, high)]
    fitting = [
        card
        for card in others
        if any(is_tic(card, other) for other in exposed)
        or any(is_duo(card, top) or is_tripo(card, top) for top in (low, high))
    ]
    top, hidden, *_ = (card for card in others if card not in fitting)
    run = " ".join(map(str, (top, *fitting, exposed[0])))
    return position(run, *map(str, exposed[1:]), low=str(low), high=str(high), stock=str(hidden))


def test_a_position_is_dead_although_a_card_is_unseen_if_none_would_fit() -> None:
    table = dead_whatever_comes()
    assert table.seen[table.layout.stock[0]] is None
    assert verdict(table) is Verdict.DEAD
    assert witness(table) is None


def test_what_was_not_seen_can_be_anything_that_was_not_seen() -> None:
    table = position(*BLOCKED, stock="3-triangle-orange")
    assert verdict(table) is Verdict.UNKNOWN
    assert {verdict(other) for other in other_worlds(table, 8)} == {Verdict.UNKNOWN}


# The bound


def test_a_search_that_is_cut_short_says_so() -> None:
    table = position("1-circle-violet", "1-star-red | 2-square-yellow")
    assert verdict(table) is Verdict.DEAD
    assert verdict(table, bound=1) is Verdict.UNKNOWN


def test_a_witness_within_the_bound_is_told() -> None:
    table = position("1-star-red | 2-circle-cyan", "2-circle-red")
    assert verdict(table, bound=1) is Verdict.ALIVE
