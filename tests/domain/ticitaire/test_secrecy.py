"""Nothing that a viewer receives tells of a hidden card, and a leak in any channel would be found."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import hypothesis
import pytest

from domain.cards import Card
from domain.decider import PUBLIC, Command, Fact, OpenCommand, RuleViolation, Viewer, fold
from domain.ticitaire.dead import Verdict, verdict
from domain.ticitaire.facts import CardsMoved, CardTurnedUp, Options, StockTurned, TicitaireFinished
from domain.ticitaire.rules import TICITAIRE, MoveCards, TakeBack, TurnStock, legal_commands
from domain.ticitaire.table import TicitaireTable
from domain.ticitaire.views import TicitaireView
from tests.domain.ticitaire.players import Course, Played, games, play
from tests.domain.ticitaire.secrecy import CHANNELS, Channels, differing, other_worlds

SEAT_1 = Viewer(seat=1)
VIEWERS = pytest.mark.parametrize("viewer", [PUBLIC, SEAT_1], ids=["the public", "seat 1"])
MIDGAME = play(random.Random(5), options=Options(take_back=True), course=Course.LEFT, length=40).table
SEES_ALL = replace(MIDGAME, seen=MIDGAME.deck or ())


def hidden(table: TicitaireTable) -> Card:
    """The stock's next card: the secret that the planted leaks tell of."""
    assert table.deck is not None
    return table.deck[table.layout.stock[0]]


@VIEWERS
@hypothesis.settings(deadline=None, max_examples=8, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(games((Course.LEFT,)))
def test_two_worlds_that_differ_in_hidden_cards_only_look_the_same(viewer: Viewer, played: Played) -> None:
    hypothesis.assume(not played.table.over)
    for step in [*played.steps[1::60], played.steps[-1]]:
        if step.before.dealt is not None:
            assert differing(step.before, viewer, Channels(), worlds=2) == set()


@VIEWERS
def test_the_games_of_the_planted_leaks_have_none_without_them(viewer: Viewer) -> None:
    assert differing(MIDGAME, viewer, Channels(), worlds=8) == set()


def test_the_other_worlds_have_other_hidden_cards_and_the_same_facts() -> None:
    for other in other_worlds(MIDGAME, 8):
        assert other.deck is not None
        assert MIDGAME.deck is not None
        for at, seen in enumerate(MIDGAME.seen):
            assert (other.deck[at] == MIDGAME.deck[at]) == (seen is not None)
        assert sorted(other.deck) == sorted(MIDGAME.deck)
        assert other.seen == MIDGAME.seen
        assert other.opened == MIDGAME.opened


def test_when_all_cards_are_seen_there_is_no_other_world() -> None:
    assert list(other_worlds(SEES_ALL, 8)) == []


# A leak in every channel


def shows_a_hidden_card(table: TicitaireTable, viewer: Viewer) -> TicitaireView:
    shown = TICITAIRE.view(table, viewer)
    return replace(shown, stock=(hidden(table), *shown.stock[1:]))


def shows_the_number_of_hidden_fives(table: TicitaireTable, viewer: Viewer) -> TicitaireView:
    assert table.deck is not None
    fives = sum(table.deck[at].number == 5 for at in table.layout.stock)
    return replace(TICITAIRE.view(table, viewer), take_backs_left=fives)


def orders_the_stock_by_its_cards(table: TicitaireTable, viewer: Viewer) -> TicitaireView:
    shown = TICITAIRE.view(table, viewer)
    return replace(shown, columns=shown.columns[:: 1 if hidden(table).number > 2 else -1])


def is_shorter_by_what_will_fit(table: TicitaireTable, viewer: Viewer) -> TicitaireView:
    shown = TICITAIRE.view(table, viewer)
    return replace(shown, stock=shown.stock[hidden(table).colour % 2 :])


def offers_no_turn_in_vain(table: TicitaireTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    commands = legal_commands(table, viewer)
    if hidden(table).shape < 3:
        return tuple(command for command in commands if not isinstance(command, TurnStock))
    return commands


def turns_the_order_of_commands(table: TicitaireTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return legal_commands(table, viewer)[:: 1 if hidden(table).number > 3 else -1]


def offers_one_command_more(table: TicitaireTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return *(TurnStock(seat=1),) * (hidden(table).number % 2), *legal_commands(table, viewer)


def says_what_is_in_the_way(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    try:
        return TICITAIRE.decide(command, table, at)
    except RuleViolation as violation:
        message = f"{violation.message} Under it lies {hidden(table)}."
        raise RuleViolation(violation.code, violation.ruling, message) from None


def refuses_by_another_rule(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    try:
        return TICITAIRE.decide(command, table, at)
    except RuleViolation as violation:
        code = "NO_HOPE" if hidden(table).number < 3 else violation.code
        raise RuleViolation(code, violation.ruling, violation.message) from None


def refuses_a_turn_that_brings_no_five(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    if isinstance(command, TurnStock) and hidden(table).number < 4:
        raise RuleViolation("NOT_WORTH_IT", "S8", "Better not.")
    return TICITAIRE.decide(command, table, at)


def stores_the_next_card(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    facts = TICITAIRE.decide(command, table, at)
    return tuple(
        fact.model_copy(update={"cards": (*fact.cards, hidden(table))}) if isinstance(fact, CardsMoved) else fact
        for fact in facts
    )


def stores_one_fact_more(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    facts = TICITAIRE.decide(command, table, at)
    return facts * (1 + hidden(table).number % 2)


def turns_two_cards(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    facts = TICITAIRE.decide(command, table, at)
    assert table.deck is not None
    second = table.deck[table.layout.stock[1]]
    return (*facts, StockTurned(card=second)) if isinstance(facts[0], StockTurned) else facts


def turns_the_wrong_card(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    facts = TICITAIRE.decide(command, table, at)
    assert table.deck is not None
    last = table.deck[table.layout.stock[-1]]
    return (StockTurned(card=last),) if isinstance(facts[0], StockTurned) else facts


def counts_hidden_fives_in_the_result(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    return tuple(
        fact.model_copy(update={"buried": hidden(table).number}) if isinstance(fact, TicitaireFinished) else fact
        for fact in TICITAIRE.decide(command, table, at)
    )


def despairs_of_what_will_come(table: TicitaireTable) -> Verdict:
    return Verdict.DEAD if hidden(table).number < 4 else verdict(table, bound=10)


def decider(**changes: Any) -> Channels:
    return Channels(decider=replace(TICITAIRE, **changes))


LEAKS: Sequence[tuple[str, Channels, str]] = [
    ("a view that shows a hidden card", decider(view=shows_a_hidden_card), "view"),
    ("a view that counts hidden cards", decider(view=shows_the_number_of_hidden_fives), "view"),
    ("the order in a view", decider(view=orders_the_stock_by_its_cards), "view"),
    ("the length of a view", decider(view=is_shorter_by_what_will_fit), "view"),
    (
        "an action that is left out",
        decider(legal_commands=offers_no_turn_in_vain),
        "legal commands",
    ),
    ("the order of actions", decider(legal_commands=turns_the_order_of_commands), "legal commands"),
    ("the number of actions", decider(legal_commands=offers_one_command_more), "legal commands"),
    ("the sentence of a refusal", decider(decide=says_what_is_in_the_way), "refusals"),
    ("the code of a refusal", decider(decide=refuses_by_another_rule), "refusals"),
    ("a refusal as such", decider(decide=refuses_a_turn_that_brings_no_five), "refusals"),
    ("a fact that holds a hidden card", decider(decide=stores_the_next_card), "facts"),
    ("the number of facts", decider(decide=stores_one_fact_more), "facts"),
    ("a second card turned with the first", decider(decide=turns_two_cards), "facts"),
    ("a card turned from the wrong end", decider(decide=turns_the_wrong_card), "facts"),
    ("a result that counts hidden cards", decider(decide=counts_hidden_fives_in_the_result), "facts"),
    ("a verdict that looks ahead", Channels(verdict=despairs_of_what_will_come), "verdict"),
]


@pytest.mark.parametrize(("channels", "channel"), [leak[1:] for leak in LEAKS], ids=[leak[0] for leak in LEAKS])
def test_a_leak_is_found(channels: Channels, channel: str) -> None:
    assert channel in differing(MIDGAME, SEAT_1, channels, worlds=8)


def test_there_is_a_leak_planted_in_every_channel() -> None:
    assert {channel for _, _, channel in LEAKS} == set(CHANNELS)


# What is told is no secret


def test_a_card_that_is_turned_up_is_shown_from_then_on() -> None:
    played = play(random.Random(5), options=Options())
    at, turned = next((at, fact) for at, fact in enumerate(played.facts) if isinstance(fact, CardTurnedUp))
    before, after = (fold(TICITAIRE.evolve, TICITAIRE.empty(None), played.facts[:end]) for end in (at, at + 1))
    assert repr(turned.card) not in repr(TICITAIRE.view(before, PUBLIC))
    assert repr(turned.card) in repr(TICITAIRE.view(after, PUBLIC))


def test_a_buried_card_that_was_seen_before_a_take_back_stays_shown() -> None:
    moves = (
        step
        for step in play(random.Random(5), options=Options(take_back=True), course=Course.LEFT, length=40).steps
        if isinstance(step.command, MoveCards) and isinstance(step.facts[-1], CardTurnedUp)
    )
    step = next(moves)
    turned = step.facts[-1]
    assert isinstance(turned, CardTurnedUp)
    take_back = legal_commands(step.after, Viewer(seat=1))[-2]
    assert isinstance(take_back, TakeBack)
    (back,) = TICITAIRE.decide(take_back, step.after, step.at)
    shown = TICITAIRE.view(TICITAIRE.evolve(step.after, back), PUBLIC)
    assert turned.card in {card for column in shown.columns for card in column.buried}
