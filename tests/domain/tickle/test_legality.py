"""What is legal by the plain rules is legal, and nothing else; and how a command for it is refused (K2 to K5)."""

from __future__ import annotations

import random

import hypothesis
import pytest
from hypothesis import event
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.cards import DECK
from domain.tickle.facts import LaidCard
from domain.tickle.grid import Laid
from domain.tickle.placement import faults
from domain.tickle.rules import TICKLE, LayDown
from tests.domain.tickle.grids import chosen, grid, is_legal, position, row, table
from tests.given import given

PAIR = grid("1-circle-red 1-star-red")


def lay(laid: Laid) -> LayDown:
    return LayDown(seat=1, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in laid))


def test_a_refusal_tells_every_reason_and_is_named_after_the_first() -> None:
    laid = (*row(2, 0, "2-circle-cyan"), *row(0, 1, "1-circle-cyan"))
    outcome = given(table=table(PAIR, "1-circle-cyan"), decider=TICKLE).when(lay(laid))
    outcome.refused("ILLEGAL_LAYDOWN", "K2")
    assert outcome.violation is not None
    assert [reason.code for reason in outcome.violation.reasons] == [
        "CARD_NOT_IN_HAND",
        "NOT_ONE_LINE",
        "NIC_CONTACT",
        "CARD_WITHOUT_TIC",
        "GROUP_NOT_ATTACHED",
    ]


def test_a_refusal_for_one_reason_has_its_sentence() -> None:
    outcome = given(table=table(PAIR, "2-square-red 2-triangle-red"), decider=TICKLE).when(
        lay(row(2, 0, "2-square-red 2-triangle-red"))
    )
    outcome.refused("ILLEGAL_LAYDOWN", "K5")
    assert outcome.violation is not None
    assert [reason.message for reason in outcome.violation.reasons] == [outcome.violation.message]


def test_twenty_six_cards_are_told_all_that_is_wrong_with_them() -> None:
    laid = tuple(((x, 1), card) for x, card in enumerate(range(26)))
    given(table=table(PAIR, "2-star-red"), decider=TICKLE).when(lay(laid)).refused("ILLEGAL_LAYDOWN", "K2")


def test_more_than_twenty_six_cards_are_no_command() -> None:
    with pytest.raises(ValidationError, match="at most 26 items"):
        lay(tuple(((x, 1), card) for x, card in enumerate(range(27))))


@hypothesis.settings(deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(seed=st.integers(0, 2**32), cards=st.integers(0, 30))
def test_a_laydown_is_legal_exactly_where_the_plain_rules_say_so(seed: int, cards: int) -> None:
    chance, where = random.Random(seed), position(seed, cards, 0)
    for _ in range(12):
        laid = chosen(chance, where.old, chance.sample(where.unseen, min(6, len(where.unseen))))
        if laid is None:
            continue
        for changed_one in (laid, *(altered(chance, laid, where.unseen) for _ in range(6))):
            cells = {cell for cell, _ in changed_one}
            if len(cells - where.old.keys()) == len(changed_one):
                legal = is_legal(where.old, dict(changed_one))
                event(f"legal: {legal}")
                assert (not faults(where.grid, sum(1 << card for _, card in changed_one), changed_one)) == legal


def altered(chance: random.Random, laid: Laid, others: tuple[int, ...]) -> Laid:
    """Return a laydown with another card or another cell, one card less or one more."""
    cells = dict(laid)
    cell = chance.choice(sorted(cells))
    free = [card for card in others if card not in cells.values()]
    match chance.randrange(4):
        case 0 if free:
            cells[cell] = chance.choice(free)
        case 1:
            cells[cell[0] + chance.randint(-1, 1), cell[1] + chance.randint(-1, 1)] = cells.pop(cell)
        case 2 if len(cells) > 1:
            del cells[cell]
        case _ if free:
            cells[cell[0] + chance.randint(-1, 1), cell[1] + chance.randint(-1, 1)] = chance.choice(free)
        case _:
            pass
    return tuple(cells.items())
