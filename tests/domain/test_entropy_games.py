"""What holds for whole games of every kind with entropy, beacons and held-back seeds; the worked case at a table."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import hypothesis
from hypothesis import strategies as st

from domain.audit import Check, Standing, audit
from domain.dealing import Seeds
from domain.decider import PUBLIC, Command, RuleViolation, Viewer, fold
from domain.entropy import Entropy, EntropyCommitted, EntropyRevealed, EntropyTable, RevealEntropy, owing
from domain.events import Event, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import Dealt, GameCancelled
from domain.poker.facts import Options as PokerOptions
from domain.poker.rules import POKER, KeepCards, OpenPoker
from domain.record_reading import read_record
from domain.records import write_record
from domain.tables import Cancel, Join, Leave, Seating, Start
from domain.ticitaire.facts import Options
from domain.tickle.facts import DeckPart
from domain.tickle.facts import Options as TickleOptions
from domain.turns import leaving
from tests.domain.poker import players as poker
from tests.domain.sittings import BEACON, PLAYERS, Played, Sitting, entropy_of
from tests.domain.test_dealing import second_opinion
from tests.domain.test_seat_order import second_opinion as second_opinion_on_seats
from tests.domain.ticitaire import players as ticitaire
from tests.domain.tickle import players as tickle
from tests.given import NOON

STRANGER: Final = UUID(int=99)
some = hypothesis.settings(deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow])


@st.composite
def fair(draw: st.DrawFn, *, beacon: bool = True) -> dict[str, Any]:
    """What a table asks for that concerns the fairness of its deal."""
    entropy = draw(st.sampled_from([Entropy.ALLOWED, Entropy.ALLOWED, Entropy.DEMANDED, Entropy.NONE]))
    return {
        "entropy": entropy,
        **({"reveal_seconds": draw(st.integers(10, 86_400))} if entropy is not Entropy.NONE else {}),
        "beacon": draw(st.sampled_from([None, "drand quicknet 12345678"])) if beacon else None,
        "sealed_until": draw(st.sampled_from([None, *(NOON + timedelta(seconds=s) for s in (1, 3_600, 5_184_000))])),
    }


@st.composite
def games(draw: st.DrawFn) -> Played[Any]:
    """A game of any kind, mostly to its end."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    way = draw(st.sampled_from(["TO_THE_END", "TO_THE_END", "TO_THE_END", "WITHHELD", "CANCELLED", "LEFT"]))
    kind = draw(st.sampled_from(["ticitaire", "tickle", "poker"]))
    if kind == "ticitaire":
        course = ticitaire.Course[way if way != "CANCELLED" else "GIVEN_UP"]
        return ticitaire.play(chance, options=Options(**draw(fair())), course=course, length=60)
    when_full = draw(st.booleans())
    players = draw(st.integers(2, 6))
    shared: dict[str, Any] = {
        **draw(fair(beacon=not when_full)),
        "start_when_full": when_full,
        "seats": players,
        "seating": draw(st.sampled_from(Seating)),
        "private": draw(st.booleans()),
        "turn_seconds": draw(st.sampled_from([None, 60])),
    }
    length = 10 if way == "LEFT" else 3_000
    if kind == "tickle":
        options = TickleOptions(**shared, deck=DeckPart.HALF, target=10)
        styles = (tickle.Style.LOOSELY,)
        return tickle.play(
            chance, options=options, players=players, course=tickle.Course[way], styles=styles, length=length
        )
    return poker.play(
        chance, options=PokerOptions(**shared, rounds=2), players=players, course=poker.Course[way], length=length
    )


def events_of(played: Played[Any]) -> list[Event]:
    return [event for command in played.events() for event in command]


def test_most_of_the_generated_games_reach_their_end_with_entropy() -> None:
    endings, dealt = Counter[str](), Counter[tuple[str, bool, bool]]()

    @hypothesis.settings(some, max_examples=60, derandomize=True, database=None)
    @hypothesis.given(games())
    def count(played: Played[Any]) -> None:
        endings[played.ending] += 1
        deals = [fact for fact in played.facts if isinstance(fact, Dealt)]
        if deals and played.table.closed:
            with_entropy = {*deals[0].entropies} != {"-"}
            dealt[played.decider.kind, with_entropy, bool(deals[0].beacon)] += 1

    count()
    assert endings["unfinished"] < endings.total() / 4, endings
    assert endings["cancelled"] > 2, endings
    assert {kind for kind, with_entropy, _ in dealt if with_entropy} == {"ticitaire", "tickle", "poker"}
    assert {with_entropy for _, with_entropy, _ in dealt} == {True, False}
    assert {beacon for *_, beacon in dealt} == {True, False}


@some
@hypothesis.given(games())
def test_every_deck_is_the_published_one_of_what_was_revealed(played: Played[Any]) -> None:
    table = played.decider.empty(played.seeds)
    revealed: dict[UUID, str] = {}
    for fact in played.facts:
        if isinstance(fact, EntropyRevealed):
            revealed[fact.player] = fact.entropy
        table = played.decider.evolve(table, fact)
        if isinstance(fact, Dealt):
            lines = [revealed.get(player, "-") for player in table.company]
            beacon = "" if table.opened.options.beacon is None else BEACON
            assert (list(fact.entropies), fact.beacon) == (lines, beacon)
            seed = played.seeds.seed(fact.number)
            order = second_opinion(seed, lines, beacon, played.seeds.deal, fact.number)
            assert [card.index for card in table.deck] == order


@some
@hypothesis.given(games())
def test_seats_are_given_by_the_published_shuffle_of_what_was_revealed(played: Played[Any]) -> None:
    table = played.table
    if table.deals and played.decider.kind != "ticitaire" and table.options.seating is Seating.SHUFFLED:
        deal, seed, dealt = played.seeds.deal, played.seeds.seed(1), table.dealt
        order = second_opinion_on_seats(table.joined, seed, deal, dealt.entropies, dealt.beacon)
        assert list(table.players) == order


@some
@hypothesis.given(games())
def test_whoever_revealed_had_committed_to_that_before_the_table_was_closed(played: Played[Any]) -> None:
    committed: dict[UUID, str] = {}
    for fact in played.facts:
        if isinstance(fact, EntropyCommitted):
            committed[fact.player] = fact.commitment
        if isinstance(fact, EntropyRevealed):
            assert hashlib.sha256(bytes.fromhex(fact.entropy)).hexdigest() == committed[fact.player]


@some
@hypothesis.given(games())
def test_every_command_is_found_again_from_its_facts_and_decided_alike(played: Played[Any]) -> None:
    for step in played.steps:
        command = played.decider.command_of(step.facts, step.before)
        assert type(command) is type(leaving(step.command, step.before))
        assert played.decider.decide(command, step.before, step.at) == step.facts


@some
@hypothesis.given(games())
def test_every_game_comes_back_from_its_stored_bytes(played: Played[Any]) -> None:
    told = events_of(played)
    assert [read_event(event.data, FACT_TYPES) for event in told] == told
    stored = [read_event(event.data, FACT_TYPES).fact for event in told]
    assert fold(played.decider.evolve, played.decider.empty(played.seeds), stored) == played.table


@some
@hypothesis.given(games())
def test_an_auditor_finds_every_game_in_order(played: Played[Any]) -> None:
    record = read_record(write_record(events_of(played)))
    audited = audit(record)
    assert audited.wrong is None
    if played.table.revealed is not None:
        assert {audited.checks[check] for check in (Check.COMMITMENT, Check.DEAL, Check.COMMANDS, Check.RESULT)} == {
            Standing.HOLDS
        }


@some
@hypothesis.given(games())
def test_the_public_view_without_seeds_is_that_of_the_full_table_at_every_version(played: Played[Any]) -> None:
    bare, full = played.decider.empty(None), played.decider.empty(played.seeds)
    for fact in played.facts:
        bare, full = played.decider.evolve(bare, fact), played.decider.evolve(full, fact)
        assert played.decider.view(bare, PUBLIC) == played.decider.view(full, PUBLIC)
        assert owing(bare) == owing(full)


@some
@hypothesis.given(games())
def test_the_legal_commands_before_the_deal_are_exactly_those_that_are_accepted(played: Played[Any]) -> None:
    for step in played.steps[1:]:
        table = step.before
        if table.deals:
            break
        for player in (*PLAYERS, STRANGER):
            viewer = Viewer(seat=table.seat_of(player), player=player)
            accepted = {
                type(command) for command in possible(table, player) if accepts(played, table, command, step.at)
            }
            legal = played.decider.legal_commands(table, viewer)
            assert {one if isinstance(one, type) else type(one) for one in legal} == accepted, (player, step)
            for one in legal:
                assert not isinstance(one, Command) or accepts(played, table, one, step.at)


def possible(table: Any, player: UUID) -> list[Command]:
    """What a player might ask for before the deal, with what only that player knows."""
    opened = table.opened
    options, secret = opened.options, entropy_of(opened.deal, player)
    open_to_all = not getattr(options, "private", False)
    commitment = hashlib.sha256(bytes.fromhex(secret)).hexdigest() if options.entropy is Entropy.DEMANDED else None
    joins: list[Command] = [Join(player=player, commitment=commitment)] if len(table.company) and open_to_all else []
    return [
        *(joins if opened.kind != "ticitaire" else []),
        Leave(player=player),
        Start(player=player, beacon=None if options.beacon is None else BEACON),
        Cancel(player=player),
        RevealEntropy(player=player, entropy=secret),
    ]


def accepts(played: Played[Any], table: EntropyTable, command: Command, at: Any) -> bool:
    if table.deadline is not None and at >= table.deadline:
        at = table.deadline - timedelta(microseconds=1)
    try:
        played.decider.decide(command, table, at)
    except RuleViolation:
        return False
    return True


@some
@hypothesis.given(games())
def test_nothing_is_dealt_where_entropy_is_withheld(played: Played[Any]) -> None:
    topics = [fact.topic for fact in played.facts]
    if "game.EntropyWithheld" in topics:
        assert isinstance(played.facts[-1], GameCancelled)
        assert not [fact for fact in played.facts if isinstance(fact, Dealt)]
        assert played.table.revealed is None


# The worked case, at a table

WORKED: dict[str, Any] = json.loads((Path(__file__).parent.parent / "vectors" / "dealing.json").read_text("utf-8"))


def test_a_table_of_the_worked_case_is_dealt_as_the_case_says() -> None:
    seeds = Seeds.backwards(UUID(WORKED["game"]), last=bytes.fromhex(WORKED["s_K"]), deals=WORKED["K"])
    players = PLAYERS[:3]
    secrets: dict[UUID, str | None] = dict(zip(players, WORKED["entropies"], strict=True))
    commitments = {
        player: None if secret is None else hashlib.sha256(bytes.fromhex(secret)).hexdigest()
        for player, secret in secrets.items()
    }
    host, *guests = players
    options = PokerOptions(rounds=WORKED["K"], cards_speak=True, entropy=Entropy.ALLOWED)
    sitting = Sitting(POKER, random.Random(1), seeds=seeds)
    sitting.do(OpenPoker(player=host, options=options, commitment=commitments[host]), host)
    for guest in guests:
        sitting.do(Join(player=guest, commitment=commitments[guest]), guest)
    sitting.do(Start(player=host), host)
    for player, secret in secrets.items():
        if secret is not None:
            sitting.do(RevealEntropy(player=player, entropy=secret), player)
    decks = {}
    while not sitting.table.over:
        assert sitting.table.deck is not None
        decks[sitting.table.deals] = [card.index for card in sitting.table.deck]
        sitting.of_seat(KeepCards(seat=sitting.table.turn))
    assert decks == {deal["deal"]: deal["deck"] for deal in WORKED["deals"]}
