"""What a finished game came to, from its events: who was where, what is counted, and whether the seeds prove it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import hypothesis
import pytest

from domain.dealing import Seeds
from domain.decider import Fact
from domain.events import GENESIS, SERVER, Cause, Event, chain, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import GameFinished, GameLabelled, GameOpened, PlayerSeated, SeedsRevealed
from domain.poker.facts import HandDeclared, PokerFinished
from domain.results import Result, result_of
from tests.domain.poker import players as poker
from tests.domain.sittings import Played
from tests.domain.ticitaire import players as ticitaire
from tests.domain.tickle import players as tickle
from tests.given import NOON
from tests.golden.samples import counts, counts_of, recorded_games, results

RECORDED: Final = recorded_games()
FINISHED: Final = [name for name, told in results().items() if told["result"]]
ROUNDS: Final = "poker-declared"
"""A recorded game of two deals."""

each_finished_game = pytest.mark.parametrize("name", FINISHED)
each_kind = pytest.mark.parametrize("games", [ticitaire.games, tickle.games, poker.games], ids=lambda f: f.__module__)
some = hypothesis.settings(deadline=None, max_examples=10, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def events_of(name: str) -> list[Event]:
    return [read_event(line, FACT_TYPES) for line in RECORDED[name]]


def written(facts: Sequence[Fact]) -> list[Event]:
    """The events of facts, one a minute, as a log that was imported might hold them."""
    events: list[Event] = []
    for minute, fact in enumerate(facts):
        head = events[-1].hash if events else GENESIS
        events += chain(UUID(int=1), minute, head, [fact], Cause(SERVER, NOON + timedelta(minutes=minute)))
    return events


def facts_of(name: str) -> list[Fact]:
    return [event.fact for event in events_of(name)]


def revealing(name: str, *seeds: str) -> Result:
    """The result of a recorded game, had other seeds been revealed."""
    return result_of(written([*facts_of(name)[:-1], SeedsRevealed(seeds=seeds)]))


def seeds_of(name: str) -> tuple[str, ...]:
    last = facts_of(name)[-1]
    assert isinstance(last, SeedsRevealed)
    return last.seeds


# What it tells


@each_finished_game
def test_a_recorded_game_is_counted_as_it_was(name: str) -> None:
    assert counts_of(RECORDED[name]) == counts()[name]


@each_finished_game
def test_a_result_tells_what_its_events_tell(name: str) -> None:
    events, recorded = events_of(name), results()[name]
    result, opened = result_of(events), events[0].fact
    assert isinstance(opened, GameOpened)
    assert (result.game, result.kind, result.ruleset, result.host) == (
        events[0].game,
        opened.kind,
        opened.ruleset,
        opened.host,
    )
    assert (result.version, result.hash) == (len(events), recorded["head"])
    assert result.ending == recorded["result"]["ending"]
    assert [(seat.seat, seat.place) for seat in result.seats] == [
        (line["seat"], line["place"]) for line in recorded["result"]["places"]
    ]
    seated = {event.fact.seat: event.fact.player for event in events if isinstance(event.fact, PlayerSeated)}
    assert {seat.seat: seat.player for seat in result.seats} == seated
    assert result.label == next((event.fact.label for event in events if isinstance(event.fact, GameLabelled)), None)


def test_some_recorded_games_bear_a_label_and_others_none() -> None:
    labels = {result_of(events_of(name)).label for name in FINISHED}
    assert labels == {None, "Spring Cup", "Кубок TIC, Runde 2 🏆", "the winter round"}


def test_the_times_are_those_of_the_opening_the_first_deal_and_the_end() -> None:
    events = events_of(ROUNDS)
    at = {event.fact.topic: event.cause.at for event in reversed(events)}
    result = result_of(events)
    assert (result.opened_at, result.dealt_at, result.finished_at) == (
        at["poker.GameOpened"],
        at["poker.RoundDealt"],
        at["poker.GameFinished"],
    )
    assert result.opened_at < result.dealt_at < result.finished_at


def test_the_time_of_a_won_game_of_ticitaire_is_counted_from_its_deal_to_its_end() -> None:
    result = result_of(events_of("won"))
    lasted = result.finished_at - result.dealt_at
    assert result.seats[0].counts["time"] == lasted / timedelta(milliseconds=1)


@each_kind
def test_every_game_that_was_finished_has_a_result_and_no_other(games: Any) -> None:
    @some
    @hypothesis.given(games())
    def count(played: Played[Any]) -> None:
        events = [event for command in played.events() for event in command]
        if played.table.finished is None:
            with pytest.raises(ValueError, match="not the events of a finished game"):
                result_of(events)
        else:
            result = result_of(events)
            assert result.proved
            assert tuple(seat.player for seat in result.seats) == played.table.players

    count()


# What has no result


@pytest.mark.parametrize("name", ["poker-cancelled", "tickle-cancelled"])
def test_a_cancelled_game_has_no_result(name: str) -> None:
    with pytest.raises(ValueError, match="not the events of a finished game"):
        result_of(events_of(name))


@each_finished_game
def test_a_game_that_is_not_finished_has_no_result(name: str) -> None:
    begun = [event for event in events_of(name) if not isinstance(event.fact, GameFinished | SeedsRevealed)]
    with pytest.raises(ValueError, match="not the events of a finished game"):
        result_of(begun)


def test_no_events_have_no_result() -> None:
    with pytest.raises(ValueError, match="not the events of a finished game"):
        result_of([])


def test_the_second_half_of_a_game_has_no_result() -> None:
    with pytest.raises(ValueError, match="not the events of a finished game"):
        result_of(events_of("won")[100:])


def test_a_game_whose_rules_are_not_known_here_has_no_result() -> None:
    others = {key: decider for key, decider in DECIDERS.items() if key[0] != "poker"}
    with pytest.raises(LookupError):
        result_of(events_of(ROUNDS), others)


# Logs that were imported, which nobody judged


def test_a_game_that_was_finished_before_its_deal_has_no_result() -> None:
    opened, finished = facts_of("given-up")[0], facts_of("given-up")[-2]
    with pytest.raises(ValueError, match="finished before it was dealt"):
        result_of(written([opened, finished, SeedsRevealed(seeds=())]))


@pytest.mark.parametrize("name", ["poker-declared", "tickle-target-labelled", "won"])
def test_a_result_that_has_not_one_line_for_each_seat_is_none(name: str) -> None:
    *before, finished, revealed = facts_of(name)
    assert isinstance(finished, GameFinished)
    for places in ((), (*finished.places, finished.places[0]), finished.places[1:]):
        other = finished.model_copy(update={"places": places})
        with pytest.raises(ValueError, match="not one line for each seat"):
            result_of(written([*before, other, revealed]))


def test_a_result_of_seats_in_another_order_is_none() -> None:
    *before, finished, revealed = facts_of(ROUNDS)
    assert isinstance(finished, PokerFinished)
    other = finished.model_copy(update={"places": finished.places[::-1]})
    with pytest.raises(ValueError, match="not one line for each seat"):
        result_of(written([*before, other, revealed]))


def test_a_round_that_was_scored_with_hands_that_nobody_declared_gives_no_result() -> None:
    facts = [fact for fact in facts_of(ROUNDS) if not isinstance(fact, HandDeclared)]
    with pytest.raises(ValueError, match="do not fit together"):
        result_of(written(facts))


def test_facts_of_seats_that_there_are_not_are_counted_for_nobody() -> None:
    *before, finished, revealed = facts_of(ROUNDS)
    stray = HandDeclared(seat=64, cards=next(f.cards for f in before if isinstance(f, HandDeclared)), rank=1)
    assert result_of(written([*before, stray, finished, revealed])).seats == result_of(events_of(ROUNDS)).seats


def test_a_player_who_sits_twice_in_a_log_has_both_seats_in_the_result() -> None:
    facts = facts_of(ROUNDS)
    seated = [fact for fact in facts if isinstance(fact, PlayerSeated)]
    twice = [PlayerSeated(seat=fact.seat, player=seated[0].player) if fact in seated else fact for fact in facts]
    assert {seat.player for seat in result_of(written(twice)).seats} == {seated[0].player}


# Whether it is proved


@each_finished_game
def test_a_result_is_proved_by_the_seeds_that_were_revealed(name: str) -> None:
    assert result_of(events_of(name)).proved
    assert not result_of(events_of(name)[:-1]).proved


@each_finished_game
def test_a_seed_of_which_one_bit_is_another_proves_nothing(name: str) -> None:
    seeds = seeds_of(name)
    for nth, seed in enumerate(seeds):
        flipped = f"{int(seed, 16) ^ 1:064x}"
        assert not revealing(name, *seeds[:nth], flipped, *seeds[nth + 1 :]).proved


def test_a_seed_that_is_missing_proves_nothing() -> None:
    first, second = seeds_of(ROUNDS)
    assert revealing(ROUNDS, first, second).proved
    assert not revealing(ROUNDS, first).proved
    assert not revealing(ROUNDS, second).proved
    assert not revealing(ROUNDS).proved


def test_seeds_in_another_order_prove_nothing() -> None:
    first, second = seeds_of(ROUNDS)
    assert not revealing(ROUNDS, second, first).proved
    assert not revealing(ROUNDS, first, first).proved


def test_the_seeds_of_another_deal_prove_nothing() -> None:
    (other,) = seeds_of("poker-labelled-one-round")
    assert not revealing("poker-cards-speak-eight-players", other).proved


def test_a_chain_that_is_right_in_itself_but_not_committed_to_proves_nothing() -> None:
    opened = facts_of(ROUNDS)[0]
    assert isinstance(opened, GameOpened)
    own = Seeds.backwards(opened.deal, last=bytes(32), deals=2)
    assert not revealing(ROUNDS, *(own.seed(number).hex() for number in (1, 2))).proved


def test_more_seeds_than_deals_prove_nothing() -> None:
    assert not revealing(ROUNDS, *seeds_of(ROUNDS), "00" * 32).proved
    assert not revealing(ROUNDS, *seeds_of(ROUNDS), *["00" * 32] * 100).proved


def test_a_result_without_proof_is_told_all_the_same() -> None:
    proved, not_proved = result_of(events_of(ROUNDS)), revealing(ROUNDS)
    assert not_proved.seats == proved.seats
