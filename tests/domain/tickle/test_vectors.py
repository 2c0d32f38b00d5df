"""Tickle against the cases of an independent engine: ``tests/vectors``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from domain.cards import DECK, Card
from domain.decider import Command, Fact, fold
from domain.lifecycle import changed
from domain.tables import Join, Seating, Start
from domain.tickle.facts import HandsDealt, LaidCard, LaydownPlayed, Options, TickleFinished, TurnPassed
from domain.tickle.grid import Grid, Laid, set_of
from domain.tickle.hints import Laydowns
from domain.tickle.placement import can_lay, faults
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle
from domain.tickle.scoring import score, total
from domain.tickle.table import TickleTable
from tests.domain.tickle.grids import canonical, index, is_legal
from tests.given import NOON, SEEDS

VECTORS = Path(__file__).parent.parent.parent / "vectors"

CODES = {
    "more_than_6_cards": "TOO_MANY_CARDS",
    "card_not_in_hand": "CARD_NOT_IN_HAND",
    "card_played_twice": "CARD_LAID_TWICE",
    "cell_used_twice": "CELL_USED_TWICE",
    "cell_occupied": "CELL_OCCUPIED",
    "not_one_line": "NOT_ONE_LINE",
    "gap_in_line": "GAP_IN_LINE",
    "opening_needs_2_cards": "OPENING_TOO_SMALL",
    "nic_contact": "NIC_CONTACT",
    "card_without_tic": "CARD_WITHOUT_TIC",
    "group_not_attached_by_tic": "GROUP_NOT_ATTACHED",
}
"""What the cases call a reason, and what it is called here."""


def cases(name: str) -> list[Any]:
    found: list[Any] = json.loads((VECTORS / name).read_text("utf-8"))["cases"]
    return found


LAYDOWNS = cases("tickle_laydowns.json")
LEGAL = [case for case in LAYDOWNS if case["legal"]]
GAMES = cases("tickle_games.json")


def told(case: dict[str, Any]) -> str:
    return f"{case['id']}: {case['label']}, {case['source']}"


def placed(cells: Sequence[tuple[int, int, str]]) -> Laid:
    return tuple(((x, y), index(name)) for x, y, name in cells)


def laid_out(case: dict[str, Any]) -> tuple[Grid, int, Laid, int | None]:
    """The grid of a case, the hand with the drawn card, the laydown, and the drawn card."""
    drawn = None if case["drawn"] is None else index(case["drawn"])
    cards = set_of(map(index, case["hand"])) | (0 if drawn is None else 1 << drawn)
    return Grid.of(dict(placed(case["grid"]))), cards, placed(case["placement"]), drawn


@pytest.mark.parametrize("case", LAYDOWNS, ids=told)
def test_the_reasons_are_exactly_those(case: dict[str, Any]) -> None:
    reasons = faults(*laid_out(case))
    assert sorted({reason.code for reason in reasons}) == sorted(CODES[reason] for reason in case["reasons"])


@pytest.mark.parametrize("case", LEGAL, ids=told)
def test_the_score_is_that_part_by_part(case: dict[str, Any]) -> None:
    grid, _, laid, _ = laid_out(case)
    parts, expected = score(grid, laid), case["score"]
    groups = {(tuple(map(tuple, group["cells"])), group["bonus"], group["extreme"]) for group in expected["groups"]}
    assert sum(contact.common == 2 for contact in parts.contacts) == expected["tics"]
    assert {(group.cells, group.bonus, group.extreme) for group in parts.groups} == groups
    assert {pair(group.model_dump()) for group in parts.groups} == {
        tuple(group["pair"]) for group in expected["groups"]
    }
    assert len(parts.groups) == len(expected["groups"])
    assert points(parts.model_dump()) == points(expected)
    assert parts.total == total(grid, laid) == expected["total"]


def pair(group: dict[str, Any]) -> tuple[int | None, str | None, str | None]:
    """The two properties of a group as the cases write them."""
    shape, colour = group["shape"], group["colour"]
    return group["number"], shape and shape.name.lower(), colour and colour.name.lower()


def points(parts: dict[str, Any]) -> list[int]:
    return [parts[part] for part in ("tic_points", "group_points", "extreme_points", "six_card_points")]


@pytest.mark.parametrize("case", LEGAL, ids=told)
def test_a_hand_with_a_legal_laydown_has_one(case: dict[str, Any]) -> None:
    grid, cards, _, _ = laid_out(case)
    assert can_lay(grid, cards)


@pytest.mark.parametrize("case", LEGAL, ids=told)
def test_a_legal_laydown_is_among_those_that_are_found(case: dict[str, Any]) -> None:
    grid, cards, laid, drawn = laid_out(case)
    if not case["grid"]:  # found in a row from (0, 0) on
        laid = tuple(((x, 0), card) for x, (_, card) in enumerate(sorted(laid)))
    assert canonical(laid) in map(canonical, Laydowns(grid, cards, drawn, bound=None))


@pytest.mark.parametrize("case", LAYDOWNS, ids=told)
def test_the_plain_rules_of_these_tests_agree_where_cards_and_cells_are_there(case: dict[str, Any]) -> None:
    grid, _, laid, _ = laid_out(case)
    not_there = {"card_not_in_hand", "card_played_twice", "cell_used_twice", "cell_occupied"}
    if not_there.isdisjoint(case["reasons"]):
        assert is_legal(grid.cards, dict(laid)) == case["legal"]


class Sitting:
    """A game of the cases, played through ``decide`` from its own deck."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.table: TickleTable = TICKLE.empty(SEEDS)
        players = [UUID(int=10 + n, version=4) for n in range(case["players"])]
        options = Options(seats=len(players), seating=Seating.AS_JOINED, target=case["target"])
        self.do(OpenTickle(player=players[0], options=options))
        for player in players[1:]:
            self.do(Join(player=player))
        deck = tuple(map(Card.parse, case["deck_top_first"]))
        others = tuple(card for card in DECK if card not in deck)
        for fact in TICKLE.decide(Start(player=players[0]), self.table, NOON):
            if isinstance(fact, HandsDealt):
                counts = {"deck": len(deck) - 6 * len(players), "set_aside": len(others)}
                self.table = TICKLE.evolve(self.table, fact.model_copy(update=counts))
                self.table = changed(self.table, deck=deck + others)
            else:
                self.table = TICKLE.evolve(self.table, fact)

    def do(self, command: Command) -> tuple[Fact, ...]:
        facts = TICKLE.decide(command, self.table, NOON)
        self.table = fold(TICKLE.evolve, self.table, facts)
        return facts

    def take(self, turn: dict[str, Any]) -> tuple[Fact, ...]:
        """Take a turn as the case tells it."""
        seat = turn["player"] + 1
        assert self.table.turn == seat
        if turn["drew"] is not None:
            self.do(DrawCard(seat=seat))
            assert self.table.drawn_card == index(turn["drew"])
        if turn["action"] == "pass":
            return self.do(DeclineLaydown(seat=seat))
        cards = tuple(LaidCard(x=x, y=y, card=Card.parse(name)) for x, y, name in turn["placement"])
        facts = self.do(LayDown(seat=seat, cards=cards))
        played = facts[0]
        assert isinstance(played, LaydownPlayed)
        assert played.score.total == turn["score"]
        assert points(played.score.model_dump()) == points(turn["parts"])
        return facts


@pytest.mark.parametrize("case", GAMES, ids=lambda case: f"{case['id']}: {case['label']}")
def test_a_whole_game_goes_turn_by_turn_as_that_one(case: dict[str, Any]) -> None:
    sitting = Sitting(case)
    passed: list[int] = []
    for turn in case["turns"]:
        if turn["action"] == "pass" and turn["drew"] is None:  # K7: it had ended at once
            assert passed.pop(0) == turn["player"] + 1
            continue
        assert not passed
        passed = [fact.seat for fact in sitting.take(turn) if isinstance(fact, TurnPassed)]
    assert not passed
    end = sitting.table.finished
    assert isinstance(end, TickleFinished)
    assert [place.points for place in end.places] == case["points"]
    assert [place.cards for place in end.places] == case["left_in_hand"]
    assert [place.total for place in end.places] == case["final"]
    assert [place.seat - 1 for place in end.places if place.place == 1] == case["winners"]
    assert sitting.table.round == case["rounds"]


def test_the_cases_are_all_there() -> None:
    assert (len(LAYDOWNS), len(LEGAL), len(GAMES)) == (151, 91, 21)
    assert {reason for case in LAYDOWNS for reason in case["reasons"]} == set(CODES)
