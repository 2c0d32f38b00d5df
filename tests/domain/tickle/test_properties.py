"""What holds for any accepted sequence of commands, from the first guest to the last card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from uuid import UUID

import hypothesis
from hypothesis import event

from domain.cards import DECK, HIDDEN, commonness
from domain.decider import EVERYTHING, PUBLIC, Command, RuleViolation, Viewer, fold
from domain.events import read_event
from domain.games import FACT_TYPES
from domain.lifecycle import (
    ExtendDeadline,
    GameCancelled,
    PlayerResigned,
    Resign,
    RunOutOfTime,
    SeedsRevealed,
    TimedOut,
)
from domain.seating import invitation
from domain.tables import Cancel, Join, Leave, Start
from domain.tickle.facts import CardDrawn, HandRefilled, LaidCard, LaydownPlayed, TickleFinished, TurnPassed
from domain.tickle.placement import can_lay
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan, leaving
from tests.domain.tickle.players import PLAYERS, Course, Played, games, some_laydowns

ENDED = (Course.TO_THE_END, Course.RESIGNED, Course.TIMED_OUT)
STRANGER = UUID(int=99)

some = hypothesis.settings(deadline=None, max_examples=10, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def of(played: Played) -> Played:
    """Let the run tell which endings it saw."""
    event(f"ending: {played.ending}")
    if played.table.closing:
        event(f"closing: {played.table.closing}")
    return played


def now_and_then(played: Played, every: int) -> Iterator[tuple[TickleTable, datetime]]:
    """The table before every so-manieth command and the time of it, and at the end."""
    yield from ((step.before, step.at) for step in played.steps[1::every] if not isinstance(step.command, RunOutOfTime))
    yield played.table, played.steps[-1].at


def refused(command: Command, table: TickleTable, at: datetime) -> bool:
    try:
        TICKLE.decide(command, table, at)
    except RuleViolation as violation:
        event(f"refused: {violation.code}")
        return True
    return False


def player_commands(table: TickleTable, seat: int) -> list[Command]:
    """What a seat can ask for, with two laydowns that are legal if it has the turn, and a few that hardly ever are."""
    laydowns = some_laydowns(table, 2) if seat == table.turn and table.dealt and not table.over else []
    anywhere = [LayDown(seat=seat, cards=(LaidCard(x=at, y=0, card=DECK[at]),)) for at in (0, 31, 62, 93, 124)]
    return [*laydowns, *anywhere, DrawCard(seat=seat), DeclineLaydown(seat=seat), Resign(seat=seat)]


def seating_commands(table: TickleTable) -> list[Command]:
    code = invitation(table.seeds) if table.seeds else None
    players = (*PLAYERS, STRANGER)
    joins = [Join(player=player, code=code) for player in players]
    return [*joins, *(kind(player=player) for kind in (Join, Leave, Start, Cancel) for player in players)]


def test_at_least_half_of_the_generated_games_reach_their_end() -> None:
    endings, hands = Counter[str](), Counter[int]()

    @hypothesis.settings(some, max_examples=40, derandomize=True, database=None)
    @hypothesis.given(games())
    def count(played: Played) -> None:
        endings[of(played).ending] += 1
        hands[max((held for table in played.tables() for held in table.held), default=0)] += 1

    count()
    ends = {"final-stage", "target", "resignations", "timed-out", "cancelled", "unfinished"}
    assert endings.keys() == ends
    assert endings["unfinished"] <= endings.total() / 2, endings
    assert endings["final-stage"] + endings["target"] >= endings.total() / 4, endings
    assert max(hands) > 7, hands


@some
@hypothesis.given(games())
def test_every_card_lies_somewhere_and_only_there(played: Played) -> None:
    for table in of(played).tables():
        if table.dealt is None or table.deck is None:
            continue
        assert sorted(table.deck) == list(DECK)
        hands = [card.index for seat in range(1, len(table.players) + 1) for card in table.hand(seat)]
        deck = [table.card(at).index for at in range(table.next, len(DECK))]
        assert sorted([*table.grid.cards.values(), *hands, *deck]) == list(range(125))
        assert [len(table.hand(seat)) for seat in range(1, len(table.players) + 1)] == list(table.held)
        assert len(DECK) - table.end == table.dealt.set_aside


@some
@hypothesis.given(games())
def test_no_two_cards_in_the_grid_make_a_nic(played: Played) -> None:
    for table, _ in now_and_then(of(played), 9):
        cards = table.grid.cards
        for (x, y), card in cards.items():
            beside = [cards[cell] for cell in ((x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)) if cell in cards]
            common = [commonness(DECK[card], DECK[other]) for other in beside]
            assert min(common) >= 1
            assert max(common) == 2


@some
@hypothesis.given(games())
def test_every_fact_comes_back_from_its_stored_bytes(played: Played) -> None:
    for command in of(played).events():
        for told in command:
            assert read_event(told.data, FACT_TYPES) == told


@some
@hypothesis.given(games())
def test_the_fold_of_the_stored_facts_is_the_live_table(played: Played) -> None:
    stored = [read_event(told.data, FACT_TYPES).fact for command in of(played).events() for told in command]
    assert fold(TICKLE.evolve, TICKLE.empty(played.seeds), stored) == played.table


@some
@hypothesis.given(games())
def test_a_refusal_changes_nothing_and_records_nothing(played: Played) -> None:
    for table, at in now_and_then(of(played), 20):
        before = repr(table), dict(table.grid.cards), dict(table.grid.playable)
        commands = [*player_commands(table, 1), *player_commands(table, 2), *seating_commands(table)]
        assert any(refused(command, table, at) for command in commands)
        assert (repr(table), dict(table.grid.cards), dict(table.grid.playable)) == before


@some
@hypothesis.given(games())
def test_the_legal_commands_of_a_seat_are_exactly_those_that_are_accepted(played: Played) -> None:
    for table, at in now_and_then(of(played), 7):
        for seat, player in enumerate(table.players, 1):
            accepted = [command for command in player_commands(table, seat) if not refused(command, table, at)]
            laydowns = [command for command in accepted if isinstance(command, LayDown)]
            legal = TICKLE.legal_commands(table, Viewer(seat=seat, player=player))
            assert [command for command in legal if command is not LayDown] == [
                command for command in accepted if not isinstance(command, LayDown)
            ]
            assert (LayDown in legal) == bool(laydowns)
            assert (LayDown in legal) == (
                not table.over and seat == table.turn and can_lay(table.grid, table.hand_set(seat), table.drawn_card)
            )


@some
@hypothesis.given(games())
def test_the_legal_commands_before_the_deal_are_exactly_those_that_are_accepted(played: Played) -> None:
    for step in of(played).steps[1:]:
        table = step.before
        if table.dealt is not None:
            break
        for player in (*PLAYERS, STRANGER):
            commands = [kind(player=player) for kind in (Join, Leave, Start, Cancel)]
            accepted = {command for command in commands if not refused(command, table, step.at)}
            assert set(TICKLE.legal_commands(table, Viewer(player=player))) == accepted


@some
@hypothesis.given(games())
def test_whoever_has_no_seat_is_offered_nothing_after_the_deal(played: Played) -> None:
    for table in of(played).tables():
        if table.dealt is not None:
            assert TICKLE.legal_commands(table, PUBLIC) == TICKLE.legal_commands(table, Viewer(player=STRANGER)) == ()


@some
@hypothesis.given(games())
def test_the_public_view_without_seeds_is_that_of_the_full_table_at_every_version(played: Played) -> None:
    bare = TICKLE.empty(None)
    for fact, full in zip(of(played).facts, played.tables(), strict=True):
        bare = TICKLE.evolve(bare, fact)
        assert TICKLE.view(bare, PUBLIC) == TICKLE.view(full, PUBLIC)
        if bare.deck is None:
            assert TICKLE.view(bare, Viewer(seat=1)) == TICKLE.view(full, PUBLIC)


@some
@hypothesis.given(games(ENDED))
def test_after_the_reveal_everyone_can_see_everything(played: Played) -> None:
    bare = fold(TICKLE.evolve, TICKLE.empty(None), of(played).facts)
    assert (bare.deck, bare.seeds) == (played.table.deck, played.seeds)
    shown = TICKLE.view(bare, EVERYTHING)
    assert shown == TICKLE.view(played.table, EVERYTHING)
    assert HIDDEN not in [card for seat in shown.seats for card in seat.hand]


@some
@hypothesis.given(games())
def test_every_command_is_found_again_from_its_facts_and_decided_alike(played: Played) -> None:
    for step in of(played).steps:
        command = TICKLE.command_of(step.facts, step.before)
        assert command == leaving(step.command, step.before)
        assert TICKLE.decide(command, step.before, step.at) == step.facts


@some
@hypothesis.given(games())
def test_the_cards_that_came_to_a_seat_are_its_deal_its_draws_and_its_refills(played: Played) -> None:
    table = played.table
    for seat in range(1, len(of(played).table.players) + 1):
        came = [TICKLE.came_to(table, seat, version) for version in range(1, table.version + 1)]
        told = [
            6
            if fact.topic == "tickle.HandsDealt"
            else fact.cards
            if isinstance(fact, HandRefilled) and fact.seat == seat
            else int(isinstance(fact, CardDrawn) and fact.seat == seat)
            for fact in played.facts
        ]
        assert [len(cards) for cards in came] == told
        laid = [
            laid.card
            for fact in played.facts
            if isinstance(fact, LaydownPlayed) and fact.seat == seat
            for laid in fact.cards
        ]
        assert sorted(card for cards in came for card in cards) == sorted([*laid, *table.hand(seat)])


@some
@hypothesis.given(games())
def test_points_never_go_down_and_are_what_the_laydowns_scored(played: Played) -> None:
    tables = [table for table in of(played).tables() if table.points]
    assert all(all(a <= b for a, b in zip(*(t.points for t in pair), strict=True)) for pair in pairwise(tables))
    scored = Counter[int]()
    for fact in played.facts:
        if isinstance(fact, LaydownPlayed):
            scored[fact.seat] += fact.score.total
    assert list(played.table.points) == [scored[seat] for seat in range(1, len(played.table.points) + 1)]


@some
@hypothesis.given(games())
def test_turns_go_round_from_seat_1_and_every_seat_still_in_has_one_in_a_round(played: Played) -> None:
    resigned, turns = set[int](), list[tuple[int, int]]()
    for fact in of(played).facts:
        if isinstance(fact, PlayerResigned):
            resigned.add(fact.seat)
        if isinstance(fact, (TurnBegan, TurnPassed)):
            assert fact.seat not in resigned
            turns.append((fact.round, fact.seat))
    assert turns == sorted(set(turns))
    rounds = Counter(number for number, _ in turns)
    assert list(rounds) == list(range(1, len(rounds) + 1))
    for number, count in list(rounds.items())[:-1]:
        assert len(played.table.players) - len(resigned) <= count <= len(played.table.players), number


@some
@hypothesis.given(games())
def test_a_game_that_ends_by_its_rules_gives_every_seat_still_in_as_many_turns(played: Played) -> None:
    if of(played).ending in ("final-stage", "target"):
        turns = Counter(fact.seat for fact in played.facts if isinstance(fact, (TurnBegan, TurnPassed)))
        assert len({turns[seat] for seat in played.table.still_in}) == 1


@some
@hypothesis.given(games())
def test_the_final_stage_begins_with_an_empty_deck_and_never_by_a_time_out(played: Played) -> None:
    for before, after in pairwise(of(played).tables()):
        if after.closing and not before.closing:
            assert before.left == 0
    for step in played.steps:
        if isinstance(step.facts[0], TimedOut) and not any(isinstance(fact, TurnPassed) for fact in step.facts):
            assert step.after.closing == step.before.closing


@some
@hypothesis.given(games(ENDED))
def test_a_game_ends_once_with_its_result_and_then_the_seeds(played: Played) -> None:
    facts = of(played).facts
    assert [isinstance(fact, TickleFinished) for fact in facts].count(True) == 1
    assert isinstance(facts[-2], TickleFinished)
    assert facts[-1] == SeedsRevealed(seeds=(played.seeds.seed(1).hex(),))


@some
@hypothesis.given(games(ENDED))
def test_the_result_ranks_totals_and_puts_those_who_resigned_behind(played: Played) -> None:
    finished = of(played).table.finished
    assert isinstance(finished, TickleFinished)
    table, order = played.table, sorted(finished.places, key=lambda line: line.place)
    assert [line.seat for line in finished.places] == list(range(1, len(table.players) + 1))
    assert order[0].place == 1
    for line in finished.places:
        held = table.held[line.seat - 1]
        assert (line.points, line.cards) == (table.points[line.seat - 1], held)
        assert line.total == line.points - 5 * held
        assert line.resigned == (line.seat in table.resigned)
    for a, b in pairwise(order):
        assert a.resigned <= b.resigned
        if not b.resigned:
            assert (a.total > b.total) == (a.place < b.place)
            assert a.total >= b.total
    gone = [line.seat for line in order if line.resigned]
    assert gone == list(table.resigned)[::-1]
    assert [line.place for line in order if line.resigned] == list(range(len(order) - len(gone) + 1, len(order) + 1))


@some
@hypothesis.given(games((Course.CANCELLED,)))
def test_a_cancelled_game_ends_without_a_result_and_without_seeds(played: Played) -> None:
    if of(played).ending == "cancelled":
        assert played.facts[-1] == GameCancelled()
        assert (played.table.closed, played.table.deals, played.table.finished) == (True, 0, None)
        assert played.table.revealed is None


@some
@hypothesis.given(games())
def test_time_is_given_back_and_runs_out_only_where_there_is_a_limit(played: Played) -> None:
    timed = of(played).steps[-1].after.options.turn_seconds is not None
    for step in played.steps:
        if isinstance(step.command, (ExtendDeadline, RunOutOfTime)):
            assert timed
        assert (step.after.deadline is not None) == (timed and step.after.deals > 0 and not step.after.over)
