"""What viewers see and may do at any time of a game: exactly what is accepted, and no card too early."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import combinations
from typing import Final
from uuid import UUID

import hypothesis
from hypothesis import event

from domain.cards import DECK, HIDDEN
from domain.decider import EVERYTHING, PUBLIC, Command, RuleViolation, Viewer, fold
from domain.lifecycle import Resign, RunOutOfTime, order_of
from domain.poker.facts import CardsExchanged, RoundDealt
from domain.poker.hands import Rank, Step, best_hand
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards
from domain.poker.table import PokerTable
from domain.seating import invitation
from domain.tables import Cancel, Join, Leave, Start
from tests.domain.poker.players import ENDED, PLAYERS, Course, Played, best_declaration, games, lies, of, some

STRANGER: Final = UUID(int=99)


def now_and_then(played: Played, every: int) -> Iterator[tuple[PokerTable, datetime]]:
    """The table before every so-manieth command and the time of it, and at the end."""
    yield from ((step.before, step.at) for step in played.steps[1::every] if not isinstance(step.command, RunOutOfTime))
    yield played.table, played.steps[-1].at


def refused(command: Command, table: PokerTable, at: datetime) -> bool:
    try:
        POKER.decide(command, table, at)
    except RuleViolation as violation:
        event(f"refused: {violation.code}")
        return True
    return False


def listed_commands(table: PokerTable, seat: int) -> list[Command]:
    """Everything that a seat can ask for, and can be told of command by command, in the order of telling it."""
    slots = range(7)
    exchanges = [ExchangeCards(seat=seat, slots=some) for some in [(slot,) for slot in slots]]
    pairs = [ExchangeCards(seat=seat, slots=some) for some in combinations(slots, 2)]
    lying = [ExchangeCommunityCard(seat=seat, slot=slot) for slot in slots]
    return [KeepCards(seat=seat), *exchanges, *pairs, *lying, Call(seat=seat), Resign(seat=seat)]


def declarations(table: PokerTable, seat: int) -> list[Command]:
    """A declaration that is true if it is due, and a few that hardly ever are."""
    five = DECK[:5]
    never = [DeclareHand(seat=seat, cards=five, rank=rank) for rank in (Rank.HIGH_CARD, Rank.FIVE_CARD_TIC)]
    return [best_declaration(table, seat), *never] if seat in table.undeclared else [*never]


def seating_commands(table: PokerTable) -> list[Command]:
    code = invitation(table.seeds) if table.seeds else None
    players = (*PLAYERS, STRANGER)
    joins = [Join(player=player, code=code) for player in players]
    return [*joins, *(kind(player=player) for kind in (Join, Leave, Start, Cancel) for player in players)]


# What is refused, and what is open


@some
@hypothesis.given(games())
def test_a_refusal_changes_nothing_and_records_nothing(played: Played) -> None:
    for table, at in now_and_then(of(played), 20):
        before = repr(table), dict(table.slots)
        commands = [*seating_commands(table)]
        for seat in (1, 2):
            commands += [*listed_commands(table, seat), *declarations(table, seat)]
        assert any(refused(command, table, at) for command in commands)
        assert (repr(table), dict(table.slots)) == before


@some
@hypothesis.given(games())
def test_the_legal_commands_of_a_seat_are_exactly_those_that_are_accepted(played: Played) -> None:
    for table, at in now_and_then(of(played), 7):
        for seat, player in enumerate(table.players, 1):
            accepted = [command for command in listed_commands(table, seat) if not refused(command, table, at)]
            true = [command for command in declarations(table, seat) if not refused(command, table, at)]
            legal = POKER.legal_commands(table, Viewer(seat=seat, player=player))
            assert [command for command in legal if command is not DeclareHand] == accepted
            assert legal.count(DeclareHand) == len(true)


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
            assert set(POKER.legal_commands(table, Viewer(player=player))) == accepted


@some
@hypothesis.given(games())
def test_whoever_has_no_seat_is_offered_nothing_after_the_deal(played: Played) -> None:
    for table in of(played).tables():
        if table.dealt is not None:
            assert POKER.legal_commands(table, PUBLIC) == POKER.legal_commands(table, Viewer(player=STRANGER)) == ()


# What is seen


@some
@hypothesis.given(games())
def test_the_public_view_without_seeds_is_that_of_the_full_table_at_every_version(played: Played) -> None:
    bare = POKER.empty(None)
    for fact, full in zip(of(played).facts, played.tables(), strict=True):
        bare = POKER.evolve(bare, fact)
        assert POKER.view(bare, PUBLIC) == POKER.view(full, PUBLIC)
        if bare.deck is None:
            assert POKER.view(bare, Viewer(seat=1)) == POKER.view(full, PUBLIC)


@some
@hypothesis.given(games(ENDED))
def test_after_the_reveal_everyone_can_see_everything(played: Played) -> None:
    bare = fold(POKER.evolve, POKER.empty(None), of(played).facts)
    assert bare.deck == played.table.deck
    for viewer in (EVERYTHING, *(Viewer(seat=seat) for seat in range(1, len(played.table.players) + 1))):
        assert POKER.view(bare, viewer) == POKER.view(played.table, viewer)
    for seat in range(1, len(played.table.players) + 1):
        for version in range(1, bare.version + 1):
            assert POKER.came_to(bare, seat, version) == POKER.came_to(played.table, seat, version)


@some
@hypothesis.given(games((Course.RESIGNED, Course.TIMED_OUT, Course.TO_THE_END)))
def test_nobody_has_to_act_in_a_game_that_is_over(played: Played) -> None:
    shown = POKER.view(of(played).table, PUBLIC)
    if played.table.over and shown.round is not None:
        assert (shown.turn, shown.round.declaring) == (0, False)
        assert not [seat.seat for seat in shown.round.seats if seat.to_act]


@some
@hypothesis.given(games())
def test_whoever_has_to_act_is_offered_more_than_resigning(played: Played) -> None:
    for table, _ in now_and_then(of(played), 3):
        shown = POKER.view(table, PUBLIC)
        if shown.round is None or table.over:
            continue
        acting = {seat.seat for seat in shown.round.seats if seat.to_act}
        able = {seat for seat in table.still_in if len(POKER.legal_commands(table, Viewer(seat=seat))) > 1}
        assert able == (acting if shown.round.declaring else {shown.turn})
        assert able <= acting


@some
@hypothesis.given(games())
def test_the_cards_that_came_to_a_seat_are_its_deals_and_its_exchanges(played: Played) -> None:
    table, tables = of(played).table, list(played.tables())
    for seat in range(1, len(table.players) + 1):
        for version, (fact, after) in enumerate(zip(played.facts, tables, strict=True), 1):
            came = POKER.came_to(table, seat, version)
            assert came == POKER.came_to(after, seat, version)
            match fact:
                case RoundDealt():
                    assert came == (lies(after, seat) if seat in fact.seats else ())
                case CardsExchanged(slots=slots) if fact.seat == seat:
                    assert came == tuple(lies(after, seat)[slot - 1] for slot in slots)
                case _:
                    assert came == ()


@some
@hypothesis.given(games())
def test_what_lies_open_is_shown_to_everyone(played: Played) -> None:
    for table in of(played).tables():
        shown, now = POKER.view(table, PUBLIC), table.dealt
        assert (shown.version, shown.options, len(shown.played)) == (table.version, table.options, len(table.played))
        assert [(seat.seat, seat.points, seat.resigned, seat.time_outs) for seat in shown.seats] == [
            (seat, points, seat in table.resigned, table.timed_out.count(seat))
            for seat, points in enumerate(table.points, 1)
        ]
        assert [seat.time_outs_in_a_row for seat in shown.seats] == list(table.in_a_row or (0,) * len(table.points))
        if shown.round is None or now is None:
            assert now is None
            continue
        assert (shown.round.number, shown.round.dealer) == (now.number, now.dealer)
        assert (shown.round.stage, shown.round.caller, shown.round.community) == (
            table.stage,
            table.caller,
            table.community,
        )
        declared = {fact.seat: fact for fact in table.declared}
        revealed = {hand.seat: hand.cards for hand in table.revealed_hands.hands} if table.revealed_hands else {}
        for seat in shown.round.seats:
            assert seat.declared == declared.get(seat.seat)
            if table.revealed is None:
                assert seat.cards == revealed.get(seat.seat, (HIDDEN,) * now.private)
            else:
                assert seat.cards == lies(table, seat.seat)


@some
@hypothesis.given(games())
def test_a_round_that_is_over_is_shown_with_its_places_and_the_best_hands(played: Played) -> None:
    table = of(played).table
    for shown, one in zip(POKER.view(table, PUBLIC).played, played.table.played, strict=True):
        assert (shown.over, shown.declaring, shown.caller, shown.stage) == (True, False, one.caller, one.stage)
        assert (shown.number, shown.dealer, shown.community) == (one.dealt.number, one.dealt.dealer, one.community)
        assert tuple(seat.seat for seat in shown.seats) == one.dealt.seats
        lines = {line.seat: (line.place, line.points) for line in one.scored.places}
        hands = {hand.seat: hand.cards for hand in one.hands}
        declared = {fact.seat: fact for fact in one.declared}
        for seat in shown.seats:
            assert (seat.place, seat.points) == lines.get(seat.seat, (None, None))
            assert (seat.declared, seat.to_act) == (declared.get(seat.seat), False)
            if seat.seat not in hands and table.revealed is not None:
                order = order_of(table, one.dealt)
                assert order is not None
                hands[seat.seat] = tuple(order[position] for position in one.slots[seat.seat])
            assert seat.cards == hands.get(seat.seat, (HIDDEN,) * one.dealt.private)
            best = best_hand((*hands[seat.seat], *one.community)) if seat.seat in hands else None
            assert shown.best(seat) == best


@some
@hypothesis.given(games())
def test_each_hand_but_the_strongest_is_told_what_put_it_behind_the_next_stronger_one(played: Played) -> None:
    for shown in POKER.view(of(played).table, PUBLIC).played:
        ranked = sorted((seat for seat in shown.seats if seat.place), key=lambda seat: seat.place or 0)
        for seat in shown.seats:
            ahead = [other for other in ranked if seat.place and (other.place or 0) < seat.place]
            decided = shown.decided(seat)
            assert (decided is None) == (not ahead)
            if decided is not None and seat.declared and ahead[-1].declared:
                assert decided.stronger == -1
                ranks = (seat.declared.rank, ahead[-1].declared.rank)
                assert (decided.step is Step.RANK) == (ranks[0] != ranks[1])


@some
@hypothesis.given(games())
def test_a_seat_that_resigned_before_the_reveal_sees_its_own_cards_for_ever_and_nobody_else_does(
    played: Played,
) -> None:
    table = of(played).table
    if table.revealed is not None:
        return
    for at, one in enumerate(table.played):
        for gone in set(one.dealt.seats) - {hand.seat for hand in one.hands}:
            for viewer in (*range(9),):
                (seat,) = (s for s in POKER.view(table, Viewer(seat=viewer)).played[at].seats if s.seat == gone)
                assert (HIDDEN in seat.cards) == (viewer != gone)


@some
@hypothesis.given(games())
def test_the_best_hands_of_a_round_are_told_only_when_it_is_over(played: Played) -> None:
    for table in of(played).tables():
        shown = POKER.view(table, EVERYTHING).round
        if shown is not None and not shown.over:
            assert [shown.best(seat) for seat in shown.seats] == [None] * len(shown.seats)
