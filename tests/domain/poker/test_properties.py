"""What holds for any accepted sequence of commands, from the first guest to the last round."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Final
from uuid import UUID

import hypothesis

from domain.cards import DECK, Card
from domain.dealing import deal_order
from domain.decider import Command, fold
from domain.events import read_event
from domain.games import FACT_TYPES
from domain.lifecycle import ExtendDeadline, GameCancelled, RunOutOfTime, SeedsRevealed, TimedOut
from domain.poker.facts import CardsExchanged, Options, PokerFinished, RoundDealt, Variation
from domain.poker.hands import Rank, best_hand
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards
from domain.turns import leaving
from tests.domain.poker.players import ENDED, Course, Played, games, lies, of, some
from tests.domain.poker.positions import FIVE_1, FIVE_2, position

STRANGER: Final = UUID(int=99)


def in_order(command: Command) -> Command:
    """The command as its facts tell it: slots ascending, the strongest card first."""
    match command:
        case ExchangeCards(seat=seat, slots=slots):
            return ExchangeCards(seat=seat, slots=tuple(sorted(slots)))
        case DeclareHand(seat=seat, cards=cards, rank=rank):
            ordered = sorted(cards, key=lambda card: (card.value, card), reverse=True)
            return DeclareHand(seat=seat, cards=tuple(ordered), rank=rank)
        case _:
            return command


# How games go


def test_at_least_half_of_the_generated_games_reach_their_end() -> None:
    endings, seen = Counter[str](), Counter[object]()

    @hypothesis.settings(some, max_examples=120, derandomize=True, database=None)
    @hypothesis.given(games())
    def count(played: Played) -> None:
        endings[of(played).ending] += 1
        table = played.table
        seen[table.options.variation] += 1
        for one in table.played:
            seen["a call", one.stage] += bool(one.caller)
            seen["a shared place"] += len({line.place for line in one.scored.places}) < len(one.scored.places)
            seen["unranked"] += len(one.scored.places) < len(one.dealt.seats)
            best = {hand.seat: best_hand((*hand.cards, *one.community)).rank for hand in one.hands}
            seen["a modest hand"] += any(fact.rank < best[fact.seat] for fact in one.declared)
        for step in played.steps:
            seen["late to declare"] += isinstance(step.command, RunOutOfTime) and step.before.declaring

    count()
    assert endings.keys() == {"rounds", "resignations", "timed-out", "cancelled", "unfinished"}
    assert endings["unfinished"] <= endings.total() / 2, endings
    assert endings["rounds"] >= endings.total() / 3, endings
    wanted = {*Variation, *(("a call", stage) for stage in (1, 2, 3)), "a shared place", "unranked", "a modest hand"}
    assert {what for what in (*wanted, "late to declare") if not seen[what]} == set(), seen


@some
@hypothesis.given(games())
def test_every_card_of_a_round_lies_somewhere_and_only_there(played: Played) -> None:
    discarded = list[Card]()
    before = POKER.empty(played.seeds)
    for fact, table in zip(of(played).facts, played.tables(), strict=True):
        if isinstance(fact, RoundDealt):
            discarded = []
        elif table.dealt is not None:
            seats = table.dealt.seats
            gone = {*before.community, *(card for seat in seats for card in lies(before, seat))}
            discarded += gone - {*table.community, *(card for seat in seats for card in lies(table, seat))}
        if table.dealt is not None and table.deck is not None:
            hands = [card for seat in table.dealt.seats for card in lies(table, seat)]
            rest = table.deck[table.next :]
            assert sorted([*hands, *table.community, *discarded, *rest]) == list(DECK)
            assert {len(table.slots[seat]) for seat in table.dealt.seats} == {table.options.variation.private}
        before = table


@some
@hypothesis.given(games())
def test_what_is_revealed_is_what_lies_in_the_slots(played: Played) -> None:
    for table in of(played).tables():
        if table.revealed_hands is not None:
            for shown in table.revealed_hands.hands:
                assert shown.cards == lies(table, shown.seat) == table.private(shown.seat)


@some
@hypothesis.given(games())
def test_an_exchange_changes_its_slots_only_and_takes_the_next_cards(played: Played) -> None:
    for step in of(played).steps:
        match step.command:
            case ExchangeCards(seat=seat, slots=slots):
                before = lies(step.before, seat)
                changed = dict(zip(sorted(slots), step.before.deck[step.before.next :], strict=False))  # type: ignore[index]
                table = POKER.evolve(step.before, step.facts[0])
                assert lies(table, seat) == tuple(changed.get(slot, card) for slot, card in enumerate(before, 1))
            case ExchangeCommunityCard(slot=slot):
                table = POKER.evolve(step.before, step.facts[0])
                expected = list(step.before.community)
                expected[slot - 1] = step.before.card(step.before.next)
                assert list(table.community) == expected
            case _:
                pass


@some
@hypothesis.given(games())
def test_every_round_is_dealt_from_its_own_link_of_the_chain(played: Played) -> None:  # P1
    decks = []
    for fact, table in zip(of(played).facts, played.tables(), strict=True):
        if isinstance(fact, RoundDealt):
            assert fact.entropies == ("-",) * len(table.players)
            deck = deal_order(played.seeds, number=fact.number, entropies=fact.entropies)
            assert table.deck == deck
            decks.append(deck)
            for nth, seat in enumerate(fact.seats):
                assert lies(table, seat) == deck[fact.private * nth : fact.private * (nth + 1)]
            first = fact.private * len(fact.seats)
            assert fact.community == deck[first : first + (0 if table.options.variation is Variation.DRAW else 2)]
    assert len(set(decks)) == len(decks)


@some
@hypothesis.given(games())
def test_the_dealer_is_the_next_seat_still_in_and_the_last_to_act(played: Played) -> None:  # P1, P12
    dealer = None
    for fact, table in zip(of(played).facts, played.tables(), strict=True):
        if isinstance(fact, RoundDealt):
            seats = range(1, len(table.players) + 1)
            round_the_table = [seat for seat in (*seats, *seats) if seat in table.still_in]
            expected = round_the_table[-1]
            if dealer is not None:
                expected = next(seat for seat in [*range(dealer + 1, 9), *seats] if seat in table.still_in)
            assert fact.dealer == expected == fact.seats[-1]
            at = round_the_table.index(fact.dealer) + 1
            assert list(fact.seats) == round_the_table[at : at + len(table.still_in)]
            dealer = fact.dealer


@some
@hypothesis.given(games())
def test_a_round_has_its_stages_and_every_seat_a_turn_in_each(played: Played) -> None:  # P2, P3, P11
    for table in of(played).tables():
        if table.dealt is None or table.revealed_hands is None:
            continue
        draw = table.options.variation is Variation.DRAW
        lying = 0 if draw else 1 + table.stage if table.caller else 5
        assert len(table.community) == lying
        assert table.stage == (table.options.draw_stages if draw else 3) or table.caller
        assert table.to_act == ()
        assert not (draw and table.caller)


@some
@hypothesis.given(games())
def test_turns_are_those_of_seats_in_the_round_in_their_order(played: Played) -> None:
    for table in of(played).tables():
        if table.to_act and not table.over:
            assert set(table.to_act) <= set(table.in_round)
            assert table.caller not in table.to_act
            order = [*table.in_round, *table.in_round]
            start = order.index(table.to_act[0])
            assert [seat for seat in order[start:] if seat in table.to_act][: len(table.to_act)] == list(table.to_act)


@some
@hypothesis.given(games())
def test_places_and_points_follow_from_the_declared_hands(played: Played) -> None:  # P7, P8, P12
    points = Counter[int]()
    for one in of(played).table.played:
        ranked = {line.seat: line for line in one.scored.places}
        told = {fact.seat: fact for fact in one.declared if fact.seat in ranked}
        assert ranked.keys() == told.keys()
        for line in ranked.values():
            better = [
                fact
                for fact in told.values()
                if strength(fact.rank, fact.cards) > strength(told[line.seat].rank, told[line.seat].cards)
            ]
            assert (line.place, line.points) == (1 + len(better), len(one.dealt.seats) - len(better))
            points[line.seat] += line.points
        assert list(one.scored.places) == sorted(one.scored.places, key=lambda line: (line.place, line.seat))
    assert list(played.table.points) == [points[seat] for seat in range(1, len(played.table.players) + 1)]


def strength(rank: Rank, cards: tuple[Card, ...]) -> tuple[object, ...]:
    """P7 word by word."""
    in_order = sorted(((card.value, card.number, card.shape, card.colour) for card in cards), reverse=True)
    return rank, sum(card.value for card in cards), in_order


@some
@hypothesis.given(games())
def test_time_outs_are_in_a_row_until_the_seat_acts_by_itself(played: Played) -> None:  # G2
    row = Counter[int]()
    for step in of(played).steps:
        if isinstance(step.command, ExchangeCards | ExchangeCommunityCard | KeepCards | Call | DeclareHand):
            row[step.command.seat] = 0
        row.update(fact.seat for fact in step.facts if isinstance(fact, TimedOut))
        seats = range(1, len(step.after.players) + 1)
        assert list(step.after.in_a_row) in ([row[seat] for seat in seats], [] if not row.total() else None)
        out = Counter(step.after.timed_out)
        assert {seat for seat in seats if row[seat] >= 3 or out[seat] >= 6} <= set(step.after.resigned)


@some
@hypothesis.given(games())
def test_a_deadline_runs_for_whoever_has_to_act(played: Played) -> None:
    for table in of(played).tables():
        if table.deadline is not None:
            assert table.turn or table.declaring


# What is stored


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
    assert fold(POKER.evolve, POKER.empty(played.seeds), stored) == played.table


@some
@hypothesis.given(games())
def test_every_command_is_found_again_from_its_facts_and_decided_alike(played: Played) -> None:
    for step in of(played).steps:
        command = POKER.command_of(step.facts, step.before)
        assert command == in_order(leaving(step.command, step.before))
        assert POKER.decide(command, step.before, step.at) == step.facts


def test_a_table_can_be_compared_and_printed_however_long_its_game_was() -> None:
    exchanged = [CardsExchanged(seat=1, slots=(1,))] * (64 * 8 * 5)
    start = position(FIVE_1, FIVE_2, community="", deck="", options=Options(variation=Variation.DRAW))
    one, same = (fold(POKER.evolve, start, exchanged) for _ in range(2))
    assert one == same
    assert repr(one) == repr(same)


# How games end


@some
@hypothesis.given(games(ENDED))
def test_a_game_ends_once_with_its_result_and_then_the_seeds_of_its_rounds(played: Played) -> None:
    facts = of(played).facts
    assert [isinstance(fact, PokerFinished) for fact in facts].count(True) == 1
    assert isinstance(facts[-2], PokerFinished)
    rounds = [fact.number for fact in facts if isinstance(fact, RoundDealt)]
    assert rounds == list(range(1, len(rounds) + 1))
    assert facts[-1] == SeedsRevealed(seeds=tuple(played.seeds.seed(number).hex() for number in rounds))


@some
@hypothesis.given(games(ENDED))
def test_the_result_ranks_points_and_puts_those_who_resigned_behind(played: Played) -> None:
    finished = of(played).table.finished
    assert isinstance(finished, PokerFinished)
    table, order = played.table, sorted(finished.places, key=lambda line: line.place)
    assert [line.seat for line in finished.places] == list(range(1, len(table.players) + 1))
    assert order[0].place == 1
    assert not order[0].resigned
    for line in finished.places:
        assert (line.points, line.resigned) == (table.points[line.seat - 1], line.seat in table.resigned)
    for a, b in pairwise(order):
        assert a.resigned <= b.resigned
        if not b.resigned:
            assert (a.points > b.points) == (a.place < b.place)
            assert a.points >= b.points
    gone = [line.seat for line in order if line.resigned]
    assert gone == list(table.resigned)[::-1]
    assert [line.place for line in order if line.resigned] == list(range(len(order) - len(gone) + 1, len(order) + 1))


@some
@hypothesis.given(games(ENDED))
def test_a_game_that_ends_by_its_rounds_has_scored_them_all(played: Played) -> None:  # P9
    options: Options = of(played).table.options
    if played.ending == "rounds":
        assert len(played.table.played) == played.table.deals == options.rounds
    else:
        assert len(played.table.still_in) == 1
        assert len(played.table.played) == played.table.deals - 1


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
