"""Nothing that a viewer receives tells of a card that it does not know, and a leak in any channel would be found."""

from __future__ import annotations

from dataclasses import replace

import hypothesis
import pytest

from domain.cards import HIDDEN
from domain.dealing import MAX_DEALS, Seeds
from domain.decider import EVERYTHING, PUBLIC, Command, Fact, Viewer, fold
from domain.lifecycle import Resign, TimedOut
from domain.poker.facts import (
    CardsExchanged,
    CommunityCardExchanged,
    CommunityCardTurned,
    HandDeclared,
    HandsRevealed,
    Options,
    RoundDealt,
    RoundScored,
)
from domain.poker.rules import POKER, ExchangeCards, KeepCards, OpenPoker
from domain.seating import invitation
from domain.tables import Join, Seating
from tests.domain.poker.leaks import (
    DRAWING,
    LEAKS,
    SEAT_1,
    SEAT_2,
    SPEAKING,
    STRANGER,
    WHOLE_GAME,
    Where,
    before_the_reveal,
    last_of_a_stage,
    last_to_declare,
    midgame,
    round_of,
)
from tests.domain.poker.players import PLAYERS, Course, Played, games, lies
from tests.domain.poker.secrecy import CHANNELS, Channels, differing, hidden_positions, other_worlds
from tests.given import SEEDS, given

VIEWERS = pytest.mark.parametrize(
    "viewer", [PUBLIC, STRANGER, SEAT_1, SEAT_2], ids=["the public", "a stranger", "seat 1", "seat 2"]
)


# Two worlds


@VIEWERS
@hypothesis.settings(deadline=None, max_examples=4, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(games((Course.LEFT, Course.TO_THE_END, Course.RESIGNED)))
def test_two_worlds_that_differ_in_hidden_cards_only_look_the_same(viewer: Viewer, played: Played) -> None:
    looking = replace(viewer, player=played.table.players[viewer.seat - 1]) if viewer.seat else viewer
    dealt = [step.before for step in played.steps if step.before.dealt is not None]
    for table in [*dealt[:: 1 + len(dealt) // 4], *dealt[-2:], played.table]:
        if table.dealt is not None and table.revealed is None:
            assert differing(table, looking, Channels(), worlds=2) == set()


@VIEWERS
@pytest.mark.parametrize("game", [WHOLE_GAME, SPEAKING, DRAWING], ids=["declared", "cards speak", "Draw Poker"])
def test_whole_games_tell_only_what_is_turned_up(game: Played, viewer: Viewer) -> None:
    for step in game.steps[10::6]:
        assert differing(step.before, viewer, Channels(), worlds=1) == set()


@VIEWERS
def test_the_tables_of_the_planted_leaks_have_none_without_them(viewer: Viewer) -> None:
    for table in (midgame(), last_of_a_stage(), before_the_reveal(), before_the_reveal(SPEAKING), last_to_declare()):
        assert differing(table, viewer, Channels(), worlds=4) == set()


@VIEWERS
def test_the_other_worlds_have_other_hidden_cards_and_the_same_open_ones(viewer: Viewer) -> None:
    here = midgame()
    assert here.deck is not None
    secret = set(hidden_positions(here, viewer))
    assert secret >= {at for seat in (3, 4) for at in here.slots[seat]} | set(range(here.next, 125))
    for other in other_worlds(here, viewer, 8):
        assert other.deck is not None
        assert {at for at in range(125) if other.deck[at] != here.deck[at]} == secret
        assert sorted(other.deck) == sorted(here.deck)
        assert (other.slots, other.community, other.played) == (here.slots, here.community, here.played)
        if viewer.seat:
            assert lies(other, viewer.seat) == lies(here, viewer.seat)


def test_every_fact_that_turns_cards_up_is_compared() -> None:
    tables = (midgame(), last_of_a_stage(), before_the_reveal(), before_the_reveal(SPEAKING), last_to_declare())
    told = "".join(
        facts
        for table in tables
        for viewer in (SEAT_1, SEAT_2)
        for facts in Channels().received(table, viewer, [KeepCards(seat=table.turn)])["facts"].values()
    )
    turning: tuple[type[Fact], ...] = (CommunityCardExchanged, CommunityCardTurned, HandsRevealed, RoundDealt)
    others: tuple[type[Fact], ...] = (CardsExchanged, HandDeclared, RoundScored, TimedOut)
    for fact in (*turning, *others):
        assert fact.topic in told


@pytest.mark.parametrize("private", [False, True], ids=["a public table", "a private table"])
@VIEWERS
def test_before_the_deal_nothing_tells_of_the_seeds(viewer: Viewer, private: bool) -> None:
    options = Options(seating=Seating.AS_JOINED, private=private)
    table = given(decider=POKER).when(OpenPoker(player=PLAYERS[0], options=options)).after
    table = given(table=table, decider=POKER).when(Join(player=PLAYERS[1], code=invitation(SEEDS))).after
    chain = Seeds.backwards(SEEDS.deal, last=bytes(32), deals=MAX_DEALS)
    seeds = Seeds(SEEDS.deal, [SEEDS.commitment, *(chain.seed(number) for number in range(1, MAX_DEALS + 1))])
    here = replace(table, seeds=Seeds.backwards(SEEDS.deal, last=bytes(range(32)), deals=MAX_DEALS))
    looking = replace(viewer, seat=0)
    assert Channels().received(here, looking) == Channels().received(replace(table, seeds=seeds), looking)


# A leak in every channel


@pytest.mark.parametrize(("leak", "channels", "channel", "where"), LEAKS, ids=[leak for leak, *_ in LEAKS])
def test_a_planted_leak_is_found(leak: str, channels: Channels, channel: str, where: Where) -> None:
    found = [differing(where(), viewer, channels, worlds=4) for viewer in (SEAT_2, SEAT_1, PUBLIC)]
    assert any(channel in differ for differ in found)


def test_there_is_a_leak_planted_in_every_channel() -> None:
    assert {channel for _, _, channel, _ in LEAKS} == set(CHANNELS)


# What is told is no secret


def test_a_seat_sees_its_own_hand_by_slot_and_the_public_none() -> None:
    for step in WHOLE_GAME.steps:
        table = step.after
        if table.dealt is None or table.revealed_hands is not None:
            continue
        for viewer in (PUBLIC, SEAT_1, SEAT_2):
            shown = round_of(POKER.view(table, viewer))
            assert {seat.seat: seat.cards for seat in shown.seats} == {
                seat: lies(table, seat) if seat == viewer.seat else (HIDDEN,) * 3 for seat in table.dealt.seats
            }


def test_a_hand_is_never_sorted() -> None:
    unsorted = 0
    for step in (*WHOLE_GAME.steps, *DRAWING.steps):
        if isinstance(step.command, ExchangeCards):
            seat, slots = step.command.seat, set(step.command.slots)
            table = POKER.evolve(step.before, step.facts[0])
            before, after = lies(step.before, seat), lies(table, seat)
            assert [slot for slot in range(1, len(before) + 1) if before[slot - 1] != after[slot - 1]] == sorted(slots)
            unsorted += list(after) != sorted(after)
    assert unsorted > 5


def test_whoever_replays_the_game_sees_every_hand() -> None:
    table = midgame()
    shown = round_of(POKER.view(table, EVERYTHING))
    assert {seat.seat: seat.cards for seat in shown.seats} == {seat: lies(table, seat) for seat in (1, 2, 3, 4)}


def test_the_hand_of_a_seat_that_resigned_is_not_turned_up() -> None:  # P12
    table, hand = midgame(), lies(midgame(), 3)
    commands: list[Command] = [Resign(seat=3), KeepCards(seat=2)]
    while not table.declaring:
        command = commands.pop(0) if commands else KeepCards(seat=table.turn)
        table = given(table=table, decider=POKER).when(command).after
    for viewer in (PUBLIC, SEAT_1):
        assert not [card for card in hand if repr(card) in repr(POKER.view(table, viewer).round)]


def test_a_table_in_print_shows_neither_its_deck_nor_a_seed_nor_a_hand() -> None:
    table = midgame()
    shown = repr(table)
    assert "deck=(" not in shown
    assert not [number for number in range(1, 4) if WHOLE_GAME.seeds.seed(number).hex() in shown]
    now = shown.split("played=")[0]
    assert not [card for seat in (1, 2, 3, 4) for card in lies(table, seat) if repr(card) in now or str(card) in now]


def test_a_community_card_that_is_turned_is_shown_from_then_on() -> None:
    turned = [(at, fact) for at, fact in enumerate(WHOLE_GAME.facts) if isinstance(fact, CommunityCardTurned)]
    for at, fact in turned[:3]:
        before, after = (fold(POKER.evolve, POKER.empty(None), WHOLE_GAME.facts[:end]) for end in (at, at + 1))
        assert fact.card not in round_of(POKER.view(before, PUBLIC)).community
        assert round_of(POKER.view(after, PUBLIC)).community[-1] == fact.card
