"""What a table of Tickle shows before and after its seeds are revealed, and what is open between two events."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import hypothesis
import pytest

from domain.cards import DECK, HIDDEN
from domain.decider import PUBLIC, Fact, Viewer, fold
from domain.lifecycle import Resign, SeedsRevealed, TimedOut
from domain.tickle.facts import DeckPart, LaydownDeclined, LaydownPlayed, Options, TickleFinished, TurnPassed
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan
from tests.domain.tables import table as before_the_deal
from tests.domain.tickle.players import PLAYERS, Course, Played, Style, games, play
from tests.domain.tickle.positions import ABLE, GRID, REST, STUCK_1, STUCK_2, lay, position
from tests.given import given

VIEWERS = pytest.mark.parametrize(
    "viewer",
    [PUBLIC, Viewer(player=PLAYERS[5]), *(Viewer(seat=seat, player=PLAYERS[seat - 1]) for seat in (1, 2, 3))],
    ids=["the public", "a stranger", "seat 1", "seat 2", "seat 3"],
)


@cache
def played(part: DeckPart = DeckPart.HALF) -> Played:
    """A game of three that is played to its end."""
    return play(random.Random(62), options=Options(deck=part), players=3, styles=(Style.WELL, Style.SLOWLY))


@cache
def ended() -> tuple[Fact, ...]:
    """The facts of a game that ends with cards in the deck."""
    whole = played()
    at = next(number for number, step in enumerate(whole.steps) if isinstance(step.command, LayDown))
    table = whole.steps[at + 6].before
    facts = [fact for step in whole.steps[: at + 6] for fact in step.facts]
    for seat in (1, 2):
        resigned = TICKLE.decide(Resign(seat=seat), table, whole.steps[at + 6].at)
        table = fold(TICKLE.evolve, table, resigned)
        facts += resigned
    assert table.revealed
    assert table.left
    return tuple(facts)


def folded(facts: Sequence[Fact], *, seeds: bool = True) -> TickleTable:
    return fold(TICKLE.evolve, TICKLE.empty(played().seeds if seeds else None), facts)


# The deck, and what is set aside


@VIEWERS
def test_before_the_deal_there_are_no_cards_to_show(viewer: Viewer) -> None:
    shown = TICKLE.view(before_the_deal(), viewer)
    assert (shown.deck, shown.set_aside, shown.seats) == ((), (), ())


@VIEWERS
@pytest.mark.parametrize(("part", "aside"), [(DeckPart.WHOLE, 0), (DeckPart.TWO_THIRDS, 41), (DeckPart.HALF, 62)])
def test_until_the_seeds_are_revealed_there_are_as_many_hidden_cards_as_there_are(
    viewer: Viewer, part: DeckPart, aside: int
) -> None:
    tables = [step.before for step in played(part).steps if step.before.dealt]
    assert tables[-1].left < tables[0].left == 125 - aside - 3 * 6
    for table in tables:
        shown = TICKLE.view(table, viewer)
        assert (shown.deck, shown.set_aside) == ((HIDDEN,) * table.left, (HIDDEN,) * aside)


@VIEWERS
def test_a_game_that_is_over_shows_no_more_before_the_seeds_are_revealed(viewer: Viewer) -> None:
    *facts, last = ended()
    assert isinstance(facts[-1], TickleFinished)
    assert isinstance(last, SeedsRevealed)
    table = folded(facts)
    shown = TICKLE.view(table, viewer)
    assert set(shown.deck) == set(shown.set_aside) == {HIDDEN}
    for seat in shown.seats:
        assert seat.hand == (table.hand(seat.seat) if seat.seat == viewer.seat else (HIDDEN,) * len(seat.hand))


@VIEWERS
@pytest.mark.parametrize("seeds", [True, False], ids=["by the server", "by a client"])
def test_when_they_are_every_card_is_open_to_everyone(viewer: Viewer, seeds: bool) -> None:
    table = folded(ended(), seeds=seeds)
    shown = TICKLE.view(table, viewer)
    assert table.deck is not None
    assert (shown.deck, shown.set_aside) == (table.deck[table.next : table.end], table.deck[table.end :])
    assert [seat.hand for seat in shown.seats] == [table.hand(seat) for seat in (1, 2, 3)]
    laid = [card for _, card in shown.grid]
    everywhere = [*laid, *shown.deck, *shown.set_aside, *(card for seat in shown.seats for card in seat.hand)]
    assert sorted(everywhere) == list(DECK)  # type: ignore[type-var]


def test_an_earlier_position_is_shown_with_every_card_to_whoever_may_see_everything() -> None:
    table = played().steps[-20].before
    assert table.deck is not None
    shown = TICKLE.view(table, replace(PUBLIC, everything=True))
    assert (shown.deck, shown.set_aside) == (table.deck[table.next : table.end], table.deck[table.end :])
    assert [seat.hand for seat in shown.seats] == [table.hand(seat) for seat in (1, 2, 3)]


@pytest.mark.parametrize("everything", [False, True])
def test_who_has_no_seeds_shows_no_card_whoever_looks(everything: bool) -> None:
    facts = [fact for step in played().steps[:-20] for fact in step.facts]
    shown = TICKLE.view(folded(facts, seeds=False), Viewer(seat=1, player=PLAYERS[0], everything=everything))
    assert {*shown.deck, *shown.set_aside, *(card for seat in shown.seats for card in seat.hand)} == {HIDDEN}


# The target


@pytest.mark.parametrize(
    ("target", "points", "reached"),
    [
        pytest.param(None, (999, 999), False, id="there is none"),
        pytest.param(10, (0, 0), False, id="nobody has points"),
        pytest.param(10, (9, 9), False, id="nobody has enough"),
        pytest.param(10, (10, 0), True, id="the first has just enough"),
        pytest.param(10, (0, 11), True, id="the last has more"),
    ],
)
def test_the_target_is_reached_when_a_seat_has_the_points(
    target: int | None, points: tuple[int, int], reached: bool
) -> None:  # K16
    table = position(ABLE, STUCK_1, grid=GRID, deck=REST, points=points, options=Options(target=target))
    assert TICKLE.view(table, PUBLIC).target_reached is reached


def test_before_the_deal_no_target_is_reached() -> None:
    assert not TICKLE.view(before_the_deal(options=Options(target=1)), PUBLIC).target_reached


def test_the_target_is_reached_also_in_the_final_stage() -> None:  # K13, K16
    table = position("3-star-cyan", ABLE, grid=GRID, options=Options(target=2))
    begun = given(table=table, decider=TICKLE).when(lay(1, "3-star-cyan", x=2)).after
    assert (begun.closing, TICKLE.view(begun, PUBLIC).target_reached) == ("hand-laid", True)


# Between the events of a command


def between(facts: Sequence[Fact], table: TickleTable) -> Iterator[tuple[Fact, TickleTable]]:
    """Yield the tables after all facts of a command but the last, each with its fact."""
    for fact in facts[:-1]:
        table = TICKLE.evolve(table, fact)
        yield fact, table


def plays(table: TickleTable) -> list[tuple[int, object]]:
    """What is open to the seats, besides resigning."""
    seats = range(1, len(table.players) + 1)
    return [
        (seat, command)
        for seat in seats
        for command in TICKLE.legal_commands(table, Viewer(seat=seat, player=table.players[seat - 1]))
        if command is LayDown or isinstance(command, (DrawCard, DeclineLaydown))
    ]


@hypothesis.settings(deadline=None, max_examples=15, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(games())
def test_between_the_events_of_a_command_nobody_is_offered_to_play(game: Played) -> None:
    offered = [
        (step.command.name, fact.topic)
        for step in game.steps
        for fact, table in between(step.facts, step.before)
        if plays(table)
    ]
    assert offered == []


@hypothesis.settings(deadline=None, max_examples=5, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(games((Course.LEFT, Course.TO_THE_END)))
def test_after_every_command_the_seat_that_has_the_turn_is_offered_to_play_and_nobody_else(game: Played) -> None:
    tables = [step.after for step in game.steps if step.after.dealt and not step.after.over]
    assert [{seat for seat, _ in plays(table)} for table in tables] == [{table.turn} for table in tables]


@pytest.mark.parametrize("topic", [LaydownPlayed, LaydownDeclined, TimedOut, TurnPassed])
def test_there_are_events_after_which_a_turn_has_ended_and_no_other_has_begun(topic: type[Fact]) -> None:
    options, styles = Options(turn_seconds=60, deck=DeckPart.HALF), (Style.WELL, Style.SLOWLY)
    several = [
        play(random.Random(62), options=options, players=3, styles=styles),
        play(random.Random(63), options=options, players=3, course=Course.TIMED_OUT, length=9),
    ]
    steps = [step for game in several for step in game.steps]
    found = [table for step in steps for fact, table in between(step.facts, step.before) if isinstance(fact, topic)]
    assert found
    assert [table for table in found if not table.turn_ended or plays(table)] == []


def test_the_next_turn_begins_with_something_to_do() -> None:
    table = position(ABLE, "3-star-cyan " + STUCK_2, grid=GRID, deck=REST)
    played = given(table=table, decider=TICKLE).when(lay(1, "3-square-cyan", x=2))
    *_, last = played.facts
    assert isinstance(last, TurnBegan)
    assert [seat for seat, _ in plays(played.after)] == [2]


def test_one_who_is_left_alone_is_offered_nothing_before_the_game_ends() -> None:  # G1
    table = position(ABLE, STUCK_1, grid=GRID, deck=REST)
    facts = TICKLE.decide(Resign(seat=2), table, played().steps[0].at)
    assert [(type(fact).__name__, plays(now)) for fact, now in between(facts, table)] == [
        ("PlayerResigned", []),
        ("TickleFinished", []),
    ]


def test_a_seat_whose_turn_is_passed_when_another_resigns_is_offered_nothing_meanwhile() -> None:  # G1, K7
    table = position(STUCK_1, STUCK_2, ABLE, grid=GRID)
    facts = TICKLE.decide(Resign(seat=1), table, played().steps[0].at)
    assert [(type(fact).__name__, plays(now)) for fact, now in between(facts, table)] == [
        ("PlayerResigned", []),
        ("TurnPassed", []),
        ("FinalStageBegan", []),
    ]
