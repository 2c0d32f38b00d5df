"""Whole rounds of an independent engine (``tests/vectors``), played through ``decide`` with their own decks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from domain.cards import Card
from domain.decider import Command, Fact, fold
from domain.lifecycle import changed
from domain.poker.facts import Ending, HandsRevealed, Options, PokerFinished, RoundDealt, RoundPlace
from domain.poker.hands import Strength, best_hand, strength_as
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, KeepCards, OpenPoker
from domain.poker.table import PokerTable
from domain.tables import Join, Seating, Start
from tests.given import NOON, SEEDS

VECTORS: Final = Path(__file__).parent.parent.parent / "vectors"
ROUNDS: Final[list[dict[str, Any]]] = json.loads((VECTORS / "poker_rounds.json").read_text("utf-8"))["cases"]


def told(case: dict[str, Any]) -> str:
    end = f"called in stage {last_stage(case)}" if case["caller"] is not None else "played to the end"
    return f"{case['id']}: {case['players']} players, {end}"


def last_stage(case: dict[str, Any]) -> int:
    return max(int(action["exchange_round"]) for action in case["actions"])


class Sitting:
    """A game of the one round of a case. Its players count from 0; the dealer sits last, so that seat 1 acts first."""

    def __init__(self, case: dict[str, Any], *, cards_speak: bool) -> None:
        self.case: Final = case
        self.table: PokerTable = POKER.empty(SEEDS)
        seats = case["players"]
        players = [UUID(int=10 + n, version=4) for n in range(seats)]
        options = Options(seats=seats, rounds=1, seating=Seating.AS_JOINED, cards_speak=cards_speak)
        self.do(OpenPoker(player=players[0], options=options))
        for player in players[1:]:
            self.do(Join(player=player))
        self._deal(POKER.decide(Start(player=players[0]), self.table, NOON))

    def _deal(self, facts: tuple[Fact, ...]) -> None:
        """Deal the deck of the case in the place of the one that the seeds give."""
        deck = tuple(map(Card.parse, self.case["deck_top_first"]))
        first = 3 * self.case["players"]
        for fact in facts:
            if isinstance(fact, RoundDealt):
                dealt = fact.model_copy(update={"community": deck[first : first + 2]})
                self.table = changed(POKER.evolve(self.table, dealt), deck=deck)
            else:
                self.table = POKER.evolve(self.table, fact)

    def do(self, command: Command) -> tuple[Fact, ...]:
        facts = POKER.decide(command, self.table, NOON)
        self.table = fold(POKER.evolve, self.table, facts)
        return facts

    def seat(self, player: int) -> int:
        """The seat of a player of the case."""
        return int((player - self.case["dealer"] - 1) % self.case["players"]) + 1

    @property
    def seats(self) -> list[int]:
        """The seats in the order in which the case has its players."""
        return [self.seat(player) for player in range(self.case["players"])]

    def act(self, action: dict[str, Any]) -> tuple[Fact, ...]:
        """Take a turn as the case tells it."""
        seat = self.seat(action["player"])
        assert (self.table.turn, self.table.stage) == (seat, action["exchange_round"])
        assert (self.table.caller != 0) == action["final"]
        if action["action"] == "keep":
            return self.do(KeepCards(seat=seat))
        if action["action"] == "call":
            return self.do(Call(seat=seat))
        slot = self.table.private(seat).index(Card.parse(action["card"])) + 1
        return self.do(ExchangeCards(seat=seat, slots=(slot,)))

    def best(self, seat: int) -> Strength:
        return best_hand((*self.table.private(seat), *self.table.community))


def by_themselves(_sitting: Sitting) -> None:
    """The cards speak."""


def in_seat_order(sitting: Sitting) -> None:
    for seat in sorted(sitting.seats):
        _declare(sitting, seat)


def the_dealer_first(sitting: Sitting) -> None:
    for seat in sorted(sitting.seats, reverse=True):
        _declare(sitting, seat)


def _declare(sitting: Sitting, seat: int) -> None:
    assert not sitting.table.over
    best = sitting.best(seat)
    sitting.do(DeclareHand(seat=seat, cards=best.cards, rank=best.rank))


@pytest.mark.parametrize("case", ROUNDS, ids=told)
@pytest.mark.parametrize("declare", [by_themselves, in_seat_order, the_dealer_first])
def test_a_round_goes_as_that_one(case: dict[str, Any], declare: Callable[[Sitting], None]) -> None:
    sitting = Sitting(case, cards_speak=declare is by_themselves)
    facts = [fact for action in case["actions"] for fact in sitting.act(action)]
    declare(sitting)

    (revealed,) = (fact for fact in facts if isinstance(fact, HandsRevealed))
    assert {hand.seat: sorted(map(str, hand.cards)) for hand in revealed.hands} == {
        sitting.seat(player): sorted(cards) for player, cards in enumerate(case["private"])
    }
    (played,) = sitting.table.played
    assert played.caller == (0 if case["caller"] is None else sitting.seat(case["caller"]))
    assert [str(card) for card in played.community] == case["community"]
    strengths = {fact.seat: strength_as(fact.rank, fact.cards) for fact in played.declared}
    assert [key(strengths[seat]) for seat in sitting.seats] == case["keys"]
    lines = {line.seat: line for line in played.scored.places}
    assert [lines[seat] for seat in sitting.seats] == [
        RoundPlace(seat=seat, place=place, points=points)
        for seat, place, points in zip(sitting.seats, case["places"], case["points"], strict=True)
    ]


def key(strength: Strength) -> list[int]:
    """A strength as the cases write it: rank, total, and the indices of the cards."""
    return [strength.rank, strength.total, *(card.index for card in strength.cards)]


@pytest.mark.parametrize("case", ROUNDS, ids=told)
def test_the_game_of_one_round_ends_with_its_places(case: dict[str, Any]) -> None:
    sitting = Sitting(case, cards_speak=True)
    for action in case["actions"]:
        assert not sitting.table.over
        sitting.act(action)
    end = sitting.table.finished
    assert isinstance(end, PokerFinished)
    assert end.ending == Ending.ROUNDS
    assert [(end.places[seat - 1].place, end.places[seat - 1].points) for seat in sitting.seats] == list(
        zip(case["places"], case["points"], strict=True)
    )


def test_the_cases_are_all_there() -> None:
    assert len(ROUNDS) == 28
    assert {case["players"] for case in ROUNDS} == set(range(2, 9))
    assert {last_stage(case) for case in ROUNDS if case["caller"] is not None} == {1, 2, 3}
    assert {action["action"] for case in ROUNDS for action in case["actions"]} == {"exchange", "keep", "call"}
