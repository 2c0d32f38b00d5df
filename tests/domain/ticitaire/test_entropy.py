"""How the player of Ticitaire, and a beacon, add entropy to its deal. G3."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple

import pytest

from domain.dealing import deal_order
from domain.decider import Command, Fact, OpenCommand, Viewer, fold
from domain.entropy import (
    BeaconGiven,
    Entropy,
    EntropyCommitted,
    EntropyDue,
    EntropyRevealed,
    EntropyWithheld,
    RevealEntropy,
    owing,
)
from domain.lifecycle import (
    DeadlineExtended,
    ExtendDeadline,
    GameCancelled,
    GameLabelled,
    PlayerSeated,
    Resign,
    RunOutOfTime,
)
from domain.tables import Cancel, Leave, Start
from domain.ticitaire.facts import Options, TableauDealt, TicitaireOpened
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire, TurnStock
from domain.ticitaire.table import TicitaireTable
from tests.given import NOON, PLAYER, SEEDS, Outcome, given

SECRET = "5e" * 32
COMMITMENT = hashlib.sha256(bytes.fromhex(SECRET)).hexdigest()
ALLOWED = Options(entropy=Entropy.ALLOWED)
BEACON = Options(beacon="drand quicknet 12345678")
BOTH = Options(beacon="drand quicknet 12345678", entropy=Entropy.DEMANDED, reveal_seconds=10)
DUE_AT = NOON + timedelta(seconds=120)
REVEAL = RevealEntropy(player=PLAYER, entropy=SECRET)
PLAYING = Viewer(seat=1, player=PLAYER)


def when(table: TicitaireTable, command: Command, at: datetime = NOON) -> Outcome:
    return given(table=table).when(command, at)


def opened(options: Options, commitment: str | None = None) -> TicitaireTable:
    table: TicitaireTable = when(
        TICITAIRE.empty(SEEDS), OpenTicitaire(player=PLAYER, options=options, commitment=commitment)
    ).after
    return table


def opening_of(options: Options) -> TicitaireOpened:
    return TicitaireOpened(ruleset=1, host=PLAYER, deal=SEEDS.deal, commitment=SEEDS.commitment.hex(), options=options)


DUE = opened(ALLOWED, COMMITMENT)
WAITING = opened(BEACON)


# From the opening to the deal


def test_a_game_that_is_opened_with_a_commitment_waits_for_what_is_behind_it() -> None:
    command = OpenTicitaire(player=PLAYER, options=ALLOWED, label="a round", commitment=COMMITMENT)
    when(TICITAIRE.empty(SEEDS), command).then(
        opening_of(ALLOWED),
        GameLabelled(label="a round"),
        EntropyCommitted(player=PLAYER, commitment=COMMITMENT),
        PlayerSeated(seat=1, player=PLAYER),
        EntropyDue(players=(PLAYER,), deadline=DUE_AT),
    )
    assert owing(DUE) == (PLAYER,)


def test_without_a_commitment_it_is_dealt_at_once() -> None:
    assert opened(ALLOWED).dealt is not None


def test_revealing_deals() -> None:
    first, dealt = when(DUE, REVEAL).facts
    assert first == EntropyRevealed(player=PLAYER, entropy=SECRET)
    order = deal_order(SEEDS, number=1, entropies=[SECRET])
    assert dealt == TableauDealt(number=1, entropies=(SECRET,), exposed=order[49:56])


def test_the_time_limit_runs_from_the_deal() -> None:
    waiting = opened(ALLOWED.model_copy(update={"time_limit": 60}), COMMITMENT)
    later = NOON + timedelta(seconds=100)
    assert when(waiting, REVEAL, at=later).after.deadline == later + timedelta(seconds=60)


def test_another_entropy_deals_other_cards() -> None:
    def deck(secret: str) -> object:
        commitment = hashlib.sha256(bytes.fromhex(secret)).hexdigest()
        return when(opened(ALLOWED, commitment), RevealEntropy(player=PLAYER, entropy=secret)).after.deck

    assert len({deck(f"{n:064x}") for n in range(20)}) == 20


def test_a_game_with_a_beacon_is_dealt_when_it_is_started_with_the_value() -> None:
    assert (WAITING.dealt, WAITING.deadline) == (None, None)
    given_, dealt = when(WAITING, Start(player=PLAYER, beacon="ab12")).facts
    assert given_ == BeaconGiven(beacon="ab12")
    order = deal_order(SEEDS, number=1, entropies=["-"], beacon="ab12")
    assert dealt == TableauDealt(number=1, entropies=("-",), beacon="ab12", exposed=order[49:56])


def test_with_both_the_beacon_comes_first() -> None:
    started = when(opened(BOTH, COMMITMENT), Start(player=PLAYER, beacon="ab12"))
    started.then(BeaconGiven(beacon="ab12"), EntropyDue(players=(PLAYER,), deadline=NOON + timedelta(seconds=10)))
    dealt = when(started.after, REVEAL).after.dealt
    assert (dealt.entropies, dealt.beacon) == ((SECRET,), "ab12")


# Called off


def test_a_passed_deadline_calls_the_game_off() -> None:
    when(DUE, RunOutOfTime(), at=DUE_AT).then(EntropyWithheld(player=PLAYER, deadline=DUE_AT), GameCancelled())


def test_the_player_may_call_it_off_before_the_deal() -> None:
    when(DUE, Cancel(player=PLAYER)).then(EntropyWithheld(player=PLAYER), GameCancelled())
    when(WAITING, Cancel(player=PLAYER)).then(GameCancelled())


def test_time_is_given_back() -> None:
    when(DUE, ExtendDeadline(seconds=5)).then(DeadlineExtended(deadline=DUE_AT + timedelta(seconds=5)))


def test_a_game_that_was_called_off_is_closed_and_waits_for_nobody() -> None:
    table = when(DUE, RunOutOfTime(), at=DUE_AT).after
    assert (table.closed, table.dealt, table.deadline, owing(table)) == (True, None, None, ())
    assert TICITAIRE.awaits(table) == TICITAIRE.awaits(DUE) == ()


# What is refused


class Refused(NamedTuple):
    sentence: str
    table: TicitaireTable
    command: Command
    code: str


REFUSED = [
    Refused(
        "no commitment where none is wanted",
        TICITAIRE.empty(SEEDS),
        OpenTicitaire(player=PLAYER, commitment=COMMITMENT),
        "ENTROPY_NOT_WANTED",
    ),
    Refused(
        "none missing where it is demanded", TICITAIRE.empty(SEEDS), OpenTicitaire(player=PLAYER, options=BOTH),
        "ENTROPY_DEMANDED",
    ),
    Refused(
        "no seal for ever",
        TICITAIRE.empty(SEEDS),
        OpenTicitaire(player=PLAYER, options=Options(sealed_until=NOON + timedelta(days=367))),
        "SEALED_TOO_LONG",
    ),
    Refused("no start while entropy is due", DUE, Start(player=PLAYER), "ENTROPY_IS_DUE"),
    Refused("no start without the beacon", WAITING, Start(player=PLAYER), "BEACON_MISSING"),
    Refused("no reveal before the beacon", opened(BOTH, COMMITMENT), REVEAL, "ENTROPY_NOT_DUE"),
    Refused("no other bytes", DUE, RevealEntropy(player=PLAYER, entropy=COMMITMENT), "ENTROPY_MISMATCH"),
    Refused("nothing played before the deal", DUE, TurnStock(seat=1), "NOT_STARTED"),
    Refused("nor given up", WAITING, Resign(seat=1), "NOT_STARTED"),
    Refused("nor left", WAITING, Leave(player=PLAYER), "NOT_STARTED"),
    *(
        Refused(f"no {command.name} after the deal", opened(ALLOWED), command, "ALREADY_STARTED")
        for command in (Start(player=PLAYER), Cancel(player=PLAYER), REVEAL)
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.sentence)
def test_the_rules_refuse(case: Refused) -> None:
    when(case.table, case.command).refused(case.code, "G3")


def test_a_deadline_says_no() -> None:
    when(DUE, REVEAL, at=DUE_AT).refused("TIME_IS_UP", "G2")
    when(DUE, Cancel(player=PLAYER), at=DUE_AT).refused("TIME_IS_UP", "G2")
    when(DUE, RunOutOfTime(), at=NOON).refused("TIME_IS_LEFT", "G2")
    when(WAITING, RunOutOfTime(), at=DUE_AT).refused("TIME_IS_LEFT", "G2")


# What is open, and back from facts to the command


@pytest.mark.parametrize(
    ("table", "commands"),
    [
        (DUE, (RevealEntropy, Cancel(player=PLAYER))),
        (WAITING, (Start, Cancel(player=PLAYER))),
        (when(DUE, Cancel(player=PLAYER)).after, ()),
    ],
    ids=["while entropy is due", "while the beacon is waited for", "when it was called off"],
)
def test_what_is_open(table: TicitaireTable, commands: tuple[OpenCommand, ...]) -> None:
    assert TICITAIRE.legal_commands(table, PLAYING) == commands
    assert TICITAIRE.legal_commands(table, Viewer(player=SEEDS.deal)) == ()


@pytest.mark.parametrize(
    ("table", "command", "at"),
    [
        (TICITAIRE.empty(SEEDS), OpenTicitaire(player=PLAYER, options=ALLOWED, commitment=COMMITMENT), NOON),
        (TICITAIRE.empty(SEEDS), OpenTicitaire(player=PLAYER, options=BEACON, label="x"), NOON),
        (WAITING, Start(player=PLAYER, beacon="x"), NOON),
        (opened(BOTH, COMMITMENT), Start(player=PLAYER, beacon="x"), NOON),
        (DUE, REVEAL, NOON),
        (DUE, RunOutOfTime(), DUE_AT),
        (DUE, Cancel(player=PLAYER), NOON),
        (WAITING, Cancel(player=PLAYER), NOON),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_command_is_found_again_from_its_facts(table: TicitaireTable, command: Command, at: datetime) -> None:
    facts: tuple[Fact, ...] = TICITAIRE.decide(command, table, at)
    assert TICITAIRE.command_of(facts, table) == command


def test_the_cards_are_known_to_whoever_has_the_seeds_and_to_nobody_else() -> None:
    command = OpenTicitaire(player=PLAYER, options=ALLOWED, commitment=COMMITMENT)
    opening, dealt = TICITAIRE.decide(command, TICITAIRE.empty(SEEDS), NOON), when(DUE, REVEAL)
    bare = fold(TICITAIRE.evolve, TICITAIRE.empty(None), [*opening, *dealt.facts])
    assert bare.deck is None
    assert TICITAIRE.view(bare, PLAYING) == TICITAIRE.view(dealt.after, PLAYING)
