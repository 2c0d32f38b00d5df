"""What a laydown scores, part by part (K9 to K12), and against a count that is as plain as can be."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import NamedTuple

import hypothesis
import pytest
from hypothesis import event
from hypothesis import strategies as st

from domain.cards import DECK
from domain.decider import Cell, Command
from domain.tickle.facts import LaidCard, LaydownPlayed, Score
from domain.tickle.grid import Grid, Laid
from domain.tickle.rules import TICKLE, LayDown
from domain.tickle.scoring import score, total
from tests.domain.tickle.grids import PROPERTIES, Turn, around, column, common, game, grid, is_legal, row, table
from tests.given import given


class Case(NamedTuple):
    sentence: str
    grid: Grid
    laid: Laid
    tic_points: int
    groups: tuple[tuple[int, int], ...] = ()
    """The bonus and the Extreme bonus of each."""
    six_card_points: int = 0


PAIR = grid("1-circle-red 1-star-red")
TWO = grid("1-circle-cyan 2-circle-cyan")
CASES = [
    # K9
    Case("K9: a Tic", PAIR, row(2, 0, "2-star-red"), 2),
    Case("K9: a Tic of two new cards counts once", PAIR, row(2, 0, "2-star-red 2-square-red"), 4),
    Case("K9: a Single beside a Tic scores nothing", PAIR, row(0, 1, "1-circle-cyan 1-triangle-cyan"), 4),
    Case("K9: an opening scores its Tics", grid(""), row(0, 0, "1-star-red 2-star-red"), 2),
    Case(
        "K9: three Tics of one card",
        grid(". 2-star-red .\n1-circle-red . 1-star-cyan"),
        row(1, 1, "1-star-red"),
        6,
    ),
    Case(
        "K9: what lay there before scores nothing",
        grid("1-star-red 2-star-red 2-square-red"),
        row(3, 0, "2-square-cyan"),
        2,
    ),
    # K10
    Case("K10: two make no group", grid("1-circle-cyan"), row(1, 0, "2-circle-cyan"), 2),
    Case("K10: a group of three", TWO, row(2, 0, "3-circle-cyan"), 2, ((3, 0),)),
    Case("K10: a group of four", TWO, row(2, 0, "3-circle-cyan 4-circle-cyan"), 4, ((4, 0),)),
    Case("K10: a Tickle", TWO, row(2, 0, "3-circle-cyan 4-circle-cyan 5-circle-cyan"), 6, ((10, 0),)),
    Case(
        "K10: four Tics and a Tickle, as in the sheet",
        grid("1-circle-cyan"),
        row(1, 0, "2-circle-cyan 3-circle-cyan 4-circle-cyan 5-circle-cyan"),
        8,
        ((10, 0),),
    ),
    Case(
        "K10: a group of a number and a shape", grid("4-star-red 4-star-cyan"), row(2, 0, "4-star-orange"), 2, ((3, 0),)
    ),
    Case(
        "K10: a group of a number and a colour",
        grid("4-star-cyan 4-circle-cyan"),
        row(2, 0, "4-square-cyan"),
        2,
        ((3, 0),),
    ),
    Case("K10: an L", TWO, column(1, 1, "3-circle-cyan"), 2, ((3, 0),)),
    Case("K10: a T", grid("1-circle-cyan 2-circle-cyan 3-circle-cyan"), column(1, 1, "4-circle-cyan"), 2, ((4, 0),)),
    Case(
        "K10: a cross",
        grid(". 1-circle-cyan .\n2-circle-cyan . 3-circle-cyan\n. 4-circle-cyan ."),
        row(1, 1, "5-circle-cyan"),
        8,
        ((10, 0),),
    ),
    Case(
        "K10: a square", grid("1-circle-cyan 2-circle-cyan\n3-circle-cyan ."), row(1, 1, "4-circle-cyan"), 4, ((4, 0),)
    ),
    Case(
        "K10: corner to corner is not connected",
        grid("1-circle-cyan .\n2-circle-cyan 3-circle-red"),
        column(1, 2, "3-circle-cyan"),
        2,
    ),
    Case(
        "K10: cards that Tic, each in another way, make no group",
        grid("1-circle-cyan 1-circle-red"),
        row(2, 0, "1-star-red"),
        2,
    ),
    Case(
        "K10: a group of three enlarged scores as four",
        grid("1-circle-cyan 2-circle-cyan 3-circle-cyan"),
        row(3, 0, "4-circle-cyan"),
        2,
        ((4, 0),),
    ),
    Case(
        "K10: a group of three enlarged by two scores as five",
        grid("1-circle-cyan 2-circle-cyan 3-circle-cyan"),
        row(3, 0, "4-circle-cyan 5-circle-cyan"),
        4,
        ((10, 0),),
    ),
    Case(
        "K10: a group of four enlarged scores as five",
        grid("1-circle-cyan 2-circle-cyan 3-circle-cyan 4-circle-cyan"),
        row(4, 0, "5-circle-cyan"),
        2,
        ((10, 0),),
    ),
    Case(
        "K10: two pairs joined make five",
        grid("1-circle-cyan 2-circle-cyan . 3-circle-cyan 4-circle-cyan"),
        row(2, 0, "5-circle-cyan"),
        4,
        ((10, 0),),
    ),
    Case(
        "K10: a group that no new card belongs to does not score again",
        grid("1-circle-cyan 2-circle-cyan 3-circle-cyan"),
        column(0, 1, "1-square-cyan"),
        2,
    ),
    Case(
        "K10: of one combination a group of three scores, a pair does not",
        grid("1-circle-cyan 2-circle-cyan . 3-circle-red . 4-circle-cyan"),
        row(2, 0, "3-circle-cyan . 5-circle-cyan"),
        6,
        ((3, 0),),
    ),
    Case(
        "K10: one card in groups of two combinations",
        grid("1-circle-cyan 2-circle-cyan .\n. . 3-circle-red\n. . 3-circle-orange"),
        row(2, 0, "3-circle-cyan"),
        4,
        ((3, 0), (3, 0)),
    ),
    Case(
        "K10: two cards, each in a group of its own",
        grid("1-circle-cyan 4-star-red\n2-circle-cyan 2-star-red"),
        row(0, 2, "3-circle-cyan 3-star-red"),
        4,
        ((3, 0), (3, 0)),
    ),
    Case(
        "K10: one line of new cards with two groups",
        grid("1-circle-cyan"),
        row(1, 0, "2-circle-cyan 3-circle-cyan 3-circle-red 3-circle-orange"),
        8,
        ((3, 0), (3, 0)),
    ),
    # K11
    Case("K11: the low Extreme", grid("2-circle-violet 3-circle-violet"), row(2, 0, "1-circle-violet"), 2, ((3, 5),)),
    Case("K11: the high Extreme", grid("2-star-red 3-star-red"), row(2, 0, "5-star-red"), 2, ((3, 10),)),
    Case("K11: an Extreme in a pair pays nothing", grid("3-star-red"), row(1, 0, "5-star-red"), 2),
    Case(
        "K11: an Extreme beside a group of which it is none pays nothing",
        grid("1-star-red 1-star-cyan"),
        row(-1, 0, "5-star-red . . 1-star-orange"),
        4,
        ((3, 0),),
    ),
    Case(
        "K11: an Extreme that lay there before", grid("5-star-red 4-star-red"), row(2, 0, "3-star-red"), 2, ((3, 10),)
    ),
    Case(
        "K11: an Extreme that is joined to a group of three",
        grid("5-star-red . 1-star-red 2-star-red 3-star-red"),
        row(1, 0, "4-star-red"),
        4,
        ((10, 10),),
    ),
    Case(
        "K11: an Extreme laid to a group of four",
        grid("4-star-red 1-star-red 2-star-red 3-star-red"),
        row(4, 0, "5-star-red"),
        2,
        ((10, 10),),
    ),
    Case(
        "K11: three enlarged to four pays the Extreme no more",
        grid("5-star-red 4-star-red 3-star-red"),
        row(3, 0, "2-star-red"),
        2,
        ((4, 0),),
    ),
    Case(
        "K11: three enlarged to five pays the Extreme no more",
        grid("2-circle-violet 1-circle-violet 3-circle-violet"),
        row(3, 0, "4-circle-violet 5-circle-violet"),
        4,
        ((10, 0),),
    ),
    Case(
        "K11: four enlarged to five pays the Extreme no more",
        grid("5-star-red 4-star-red 3-star-red 2-star-red"),
        row(4, 0, "1-star-red"),
        2,
        ((10, 0),),
    ),
    Case(
        "K11: an Extreme that was paid for one combination is paid for another",
        grid("5-star-red 4-star-red 3-star-red\n5-star-cyan . ."),
        row(0, 2, "5-star-orange"),
        2,
        ((3, 10),),
    ),
    Case(
        "K11: an Extreme in groups of two combinations at once is paid for both",
        grid(". 4-star-red 3-star-red\n5-star-cyan . .\n5-star-orange . ."),
        row(0, 0, "5-star-red"),
        4,
        ((3, 10), (3, 10)),
    ),
    Case(
        "K11: an Extreme in groups of all its combinations",
        grid(
            ". . 5-star-cyan . .\n. . 5-star-orange . .\n5-circle-red 5-square-red . 4-star-red 3-star-red",
        ),
        row(2, 2, "5-star-red"),
        6,
        ((3, 10), (3, 10), (3, 10)),
    ),
    # K12
    Case(
        "K12: six cards",
        grid("1-circle-red"),
        row(1, 0, "1-star-red 1-star-cyan 2-star-cyan 2-square-cyan 2-square-red 3-square-red"),
        12,
        (),
        6,
    ),
    Case(
        "K12: five cards",
        grid("1-circle-red"),
        row(1, 0, "1-star-red 1-star-cyan 2-star-cyan 2-square-cyan 2-square-red"),
        10,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_a_laydown_scores_that_part_by_part(case: Case) -> None:
    parts = score(case.grid, case.laid)
    bonuses = tuple((group.bonus, group.extreme) for group in parts.groups)
    assert (parts.tic_points, bonuses, parts.six_card_points) == (case.tic_points, case.groups, case.six_card_points)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_parts_add_up(case: Case) -> None:
    parts = score(case.grid, case.laid)
    assert parts.group_points == sum(bonus for bonus, _ in case.groups)
    assert parts.extreme_points == sum(extreme for _, extreme in case.groups)
    points = case.tic_points + case.six_card_points + sum(map(sum, case.groups))
    assert parts.total == total(case.grid, case.laid) == points


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_every_case_is_a_legal_laydown(case: Case) -> None:
    assert is_legal(case.grid.cards, dict(case.laid))


SIX = "2-star-red 3-star-red 4-star-red 5-star-red 5-star-cyan 4-star-cyan"


@pytest.mark.parametrize(
    ("cards", "six_card_points"),
    [(SIX, 6), (SIX + " 1-square-cyan 2-square-cyan", 6), ("2-star-red 3-star-red", 0)],
    ids=["six of six", "six of eight", "two of two, all there are"],
)
def test_six_cards_of_any_hand_have_the_six_card_bonus(cards: str, six_card_points: int) -> None:  # K12
    laid = row(2, 0, " ".join(cards.split()[:6]))
    command: Command = LayDown(seat=1, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in laid))
    played = given(table=table(PAIR, cards), decider=TICKLE).when(command).facts[0]
    assert isinstance(played, LaydownPlayed)
    assert played.score.six_card_points == six_card_points


def test_contacts_and_groups_are_told_in_full() -> None:
    parts = score(grid("5-star-red 4-star-red\n1-star-cyan ."), (*row(1, 1, "1-star-red"), *row(1, 2, "3-star-red")))
    assert parts.model_dump(mode="json") == {
        "contacts": [
            {"a": [0, 1], "b": [1, 1], "common": 2},
            {"a": [1, 0], "b": [1, 1], "common": 2},
            {"a": [1, 1], "b": [1, 2], "common": 2},
        ],
        "groups": [
            {
                "number": None,
                "shape": 5,
                "colour": 5,
                "cells": [[0, 0], [1, 0], [1, 1], [1, 2]],
                "bonus": 4,
                "extreme": 10,
            }
        ],
        "tic_points": 6,
        "group_points": 4,
        "extreme_points": 10,
        "six_card_points": 0,
        "total": 20,
    }


# Against a plain count

EXTREMES = {(1, 1, 1): 5, (5, 5, 5): 10}
Combination = tuple[tuple[int, int], tuple[int, int]]
"""Two properties, 0 number, 1 shape, 2 colour, each with its value."""


class Ledger:
    """The score of a whole game, counted contact by contact and group by group, with a book of what was paid (K11)."""

    def __init__(self) -> None:
        self.paid: set[tuple[Combination, int]] = set()

    def count(self, turn: Turn) -> dict[str, object]:
        laid, both = dict(turn.laid), {**turn.old, **dict(turn.laid)}
        contacts = sorted(
            (a, b, common(both[a], both[b]))
            for a, b in combinations(sorted(both), 2)
            if b in around(a) and (a in laid or b in laid)
        )
        groups = []
        for pair in combinations(range(3), 2):
            for values in product(range(1, 6), repeat=2):
                combination = (pair[0], values[0]), (pair[1], values[1])
                cells = {cell for cell, card in both.items() if all(PROPERTIES[card][p] == v for p, v in combination)}
                touched = [group for group in components(cells) if group & laid.keys()]
                group = max(touched, key=len, default=set())
                if len(group) >= 3:
                    groups.append((combination, tuple(sorted(group)), self.pay(combination, group, both)))
        bonus = sum({3: 3, 4: 4, 5: 10}[len(cells)] for _, cells, _ in groups)
        extreme = sum(extra for _, _, extra in groups)
        tics = 2 * sum(kind == 2 for _, _, kind in contacts)
        six = 6 if len(laid) == 6 else 0
        return {
            "contacts": contacts,
            "groups": sorted(groups),
            "points": (tics, bonus, extreme, six, tics + bonus + extreme + six),
        }

    def pay(self, combination: Combination, group: set[Cell], both: Mapping[Cell, int]) -> int:
        points = 0
        for cell in group:
            card = both[cell]
            if PROPERTIES[card] in EXTREMES and (combination, card) not in self.paid:
                self.paid.add((combination, card))
                points += EXTREMES[PROPERTIES[card]]
        return points


def components(cells: set[Cell]) -> Iterator[set[Cell]]:
    left = set(cells)
    while left:
        group = {left.pop()}
        while more := {near for cell in group for near in around(cell)} & left:
            group |= more
            left -= more
        yield group


def as_counted(parts: Score) -> dict[str, object]:
    """A score in the form of the plain count."""

    def combination(values: tuple[int | None, ...]) -> tuple[tuple[int, int], ...]:
        return tuple((p, int(v)) for p, v in enumerate(values) if v is not None)

    return {
        "contacts": [(contact.a, contact.b, contact.common) for contact in parts.contacts],
        "groups": sorted(
            (combination((group.number, group.shape, group.colour)), group.cells, group.extreme)
            for group in parts.groups
        ),
        "points": (parts.tic_points, parts.group_points, parts.extreme_points, parts.six_card_points, parts.total),
    }


def turns(seed: int, rich: bool) -> Iterator[Turn]:
    """Yield the turns of a game; in a rich one the cards that Tic with an Extreme come first."""
    chance = random.Random(seed)
    deck = chance.sample(range(125), 125)
    if rich:
        deck.sort(key=lambda card: not any(common(card, extreme) >= 2 for extreme in (0, 124)))
    return game(chance, 100, deck)


@hypothesis.settings(deadline=None, max_examples=5, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(seed=st.integers(0, 2**32), rich=st.booleans())
def test_every_laydown_of_a_game_scores_what_a_plain_count_finds(seed: int, rich: bool) -> None:
    ledger = Ledger()
    for turn in turns(seed, rich):
        parts = score(Grid.of(turn.old), turn.laid)
        assert as_counted(parts) == ledger.count(turn)
        assert total(Grid.of(turn.old), turn.laid) == parts.total
        for group in parts.groups:
            event(f"a group of {len(group.cells)}, Extreme bonus {group.extreme}")


def test_such_games_have_groups_of_every_size_with_and_without_an_extreme_bonus() -> None:
    seen = Counter(
        (len(group.cells), bool(group.extreme))
        for seed in range(8)
        for turn in turns(seed, rich=True)
        for group in score(Grid.of(turn.old), turn.laid).groups
    )
    assert seen.keys() == set(product((3, 4, 5), (False, True))), seen
