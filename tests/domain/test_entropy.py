"""How players and a beacon add entropy to a deal, tried at tables of Tickle. G3."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import ValidationError

from domain import entropy
from domain.dealing import deal_order, seat_order
from domain.decider import PUBLIC, Command, OpenCommand, RuleViolation, Viewer
from domain.entropy import (
    BeaconGiven,
    Committed,
    Entropy,
    EntropyCommitted,
    EntropyDue,
    EntropyOptions,
    EntropyRevealed,
    EntropyWithheld,
    RevealEntropy,
    owing,
)
from domain.events import content_digest
from domain.lifecycle import DeadlineExtended, ExtendDeadline, GameCancelled, RunOutOfTime
from domain.poker.rules import OpenPoker
from domain.tables import Cancel, Join, Leave, PlayerJoined, PlayerLeft, Rematch, Start, TableOptions
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import Options
from domain.tickle.rules import TICKLE, DrawCard, OpenTickle
from domain.tickle.rules import rematch as rematch_of
from domain.tickle.table import TickleTable
from tests.domain.tables import ANN, BEN, CLEO, HOST, STRANGER, after
from tests.given import NOON, SEEDS, Outcome, codes_of, given

ALLOWED = Options(entropy=Entropy.ALLOWED)
DEMANDED = Options(entropy=Entropy.DEMANDED)
BEACON = Options(beacon="drand quicknet 12345678")
BOTH = Options(beacon="drand quicknet 12345678", entropy=Entropy.ALLOWED)
DUE_AT = NOON + timedelta(seconds=120)


def bytes_of(player: UUID) -> str:
    """The 32 bytes that a player keeps."""
    return hashlib.sha256(player.bytes).hexdigest()


def commitment(player: UUID) -> str:
    return hashlib.sha256(bytes.fromhex(bytes_of(player))).hexdigest()


def reveal(player: UUID) -> RevealEntropy:
    return RevealEntropy(player=player, entropy=bytes_of(player))


def opened(options: Options = ALLOWED, *, by_host: bool = True) -> TickleTable:
    return after(
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, options=options, commitment=commitment(HOST) if by_host else None),
    )


def joined(*guests: UUID, options: Options = ALLOWED, by_host: bool = True) -> TickleTable:
    """A table at which everybody has committed, but for Ben."""
    joins = (Join(player=guest, commitment=None if guest == BEN else commitment(guest)) for guest in guests)
    return after(opened(options, by_host=by_host), *joins)


def due(*guests: UUID, options: Options = ALLOWED, by_host: bool = True) -> TickleTable:
    return after(joined(*guests, options=options, by_host=by_host), Start(player=HOST))


def when(table: TickleTable, command: Command, at: datetime = NOON) -> Outcome:
    return given(table=table, decider=TICKLE).when(command, at)


# Committing


def test_a_host_commits_when_opening() -> None:
    outcome = when(
        TICKLE.empty(SEEDS), OpenTickle(player=HOST, options=ALLOWED, label="a round", commitment=commitment(HOST))
    )
    assert [fact.topic for fact in outcome.facts] == [
        "tickle.GameOpened",
        "game.GameLabelled",
        "game.PlayerJoined",
        "game.EntropyCommitted",
    ]
    assert outcome.facts[-1] == EntropyCommitted(player=HOST, commitment=commitment(HOST))


def test_a_guest_commits_when_joining() -> None:
    when(opened(), Join(player=ANN, commitment=commitment(ANN))).then(
        PlayerJoined(player=ANN), EntropyCommitted(player=ANN, commitment=commitment(ANN))
    )


def test_a_guest_need_not_commit_where_entropy_is_allowed() -> None:
    when(opened(), Join(player=ANN)).then(PlayerJoined(player=ANN))


def test_who_leaves_before_the_start_takes_the_commitment_along() -> None:
    table = after(joined(ANN, CLEO), Leave(player=ANN))
    assert [one.player for one in table.committed] == [HOST, CLEO]
    back = after(table, Join(player=ANN, commitment=commitment(ANN)))
    assert [one.player for one in back.committed] == [HOST, CLEO, ANN]


def test_a_commitment_that_was_taken_along_is_free_for_another() -> None:
    table = after(joined(ANN), Leave(player=ANN))
    assert not when(table, Join(player=CLEO, commitment=commitment(ANN))).violation


# From the start to the deal


def test_a_start_without_commitments_deals_at_once() -> None:
    outcome = when(joined(BEN, by_host=False), Start(player=HOST))
    assert outcome.after.deals == 1
    assert outcome.after.dealt.entropies == ("-", "-")


def test_a_start_with_a_commitment_closes_the_table_and_waits() -> None:
    when(joined(ANN, BEN), Start(player=HOST)).then(EntropyDue(players=(HOST, ANN), deadline=DUE_AT))


def test_a_table_that_is_full_waits_likewise() -> None:
    full = Options(seats=2, start_when_full=True, entropy=Entropy.DEMANDED, reveal_seconds=10)
    when(opened(full), Join(player=ANN, commitment=commitment(ANN))).then(
        PlayerJoined(player=ANN),
        EntropyCommitted(player=ANN, commitment=commitment(ANN)),
        EntropyDue(players=(HOST, ANN), deadline=NOON + timedelta(seconds=10)),
    )


def test_who_owes_is_told_until_each_has_revealed() -> None:
    table = due(ANN, BEN, CLEO)
    assert owing(table) == (HOST, ANN, CLEO)
    assert owing(after(table, reveal(ANN))) == (HOST, CLEO)
    assert owing(after(table, reveal(CLEO), reveal(HOST), reveal(ANN))) == ()
    assert owing(joined(ANN)) == ()


def test_a_reveal_that_is_not_the_last_only_tells_what_it_reveals() -> None:
    when(due(ANN, CLEO), reveal(CLEO)).then(EntropyRevealed(player=CLEO, entropy=bytes_of(CLEO)))


def test_the_last_reveal_seats_and_deals_in_the_same_command() -> None:
    outcome = when(after(due(ANN, BEN), reveal(ANN)), reveal(HOST))
    assert [fact.topic for fact in outcome.facts] == [
        "game.EntropyRevealed",
        *["game.PlayerSeated"] * 3,
        "tickle.HandsDealt",
        "game.TurnBegan",
    ]
    assert (outcome.after.deals, outcome.after.deadline) == (1, None)


def test_the_deal_has_the_entropies_in_the_order_of_joining_in_whatever_order_they_came() -> None:
    for order in ((HOST, ANN, CLEO), (CLEO, HOST, ANN)):
        table = after(due(ANN, BEN, CLEO), *map(reveal, order))
        assert table.dealt is not None
        assert table.dealt.entropies == (bytes_of(HOST), bytes_of(ANN), "-", bytes_of(CLEO))


def test_seats_and_deck_follow_from_the_entropies() -> None:
    lines = [bytes_of(HOST), "-", bytes_of(CLEO)]
    table = after(due(BEN, CLEO), reveal(CLEO), reveal(HOST))
    assert table.players == seat_order((HOST, BEN, CLEO), SEEDS, entropies=lines)
    assert table.deck == deal_order(SEEDS, number=1, entropies=lines)


def dealt_with(secret: str) -> TickleTable:
    """A game of four of which one has these 32 bytes."""
    own = hashlib.sha256(bytes.fromhex(secret)).hexdigest()
    table = after(joined(ANN, BEN), Join(player=CLEO, commitment=own), Start(player=HOST), reveal(HOST), reveal(ANN))
    return after(table, RevealEntropy(player=CLEO, entropy=secret))


def test_the_entropy_of_one_player_changes_the_deck_and_the_seats() -> None:
    tables = [dealt_with(hashlib.sha256(bytes([n])).hexdigest()) for n in range(40)]
    assert len({table.deck for table in tables}) == 40
    assert len({table.players for table in tables}) > 12


def test_each_seat_may_come_to_see_each_other_card_for_the_entropy_of_one() -> None:
    firsts = {table.deck[0] for table in map(dealt_with, (f"{n:064x}" for n in range(60))) if table.deck}
    assert len(firsts) > 30


def test_time_is_given_back_to_those_who_owe() -> None:
    longer = when(due(ANN), ExtendDeadline(seconds=30, deadline=DUE_AT))
    longer.then(DeadlineExtended(deadline=DUE_AT + timedelta(seconds=30)))
    assert when(longer.after, reveal(ANN), at=DUE_AT).violation is None


# Withholding


def test_the_time_that_runs_out_ends_the_game_and_names_all_who_owe() -> None:
    table = after(due(ANN, BEN, CLEO), reveal(ANN))
    for late in (timedelta(0), timedelta(days=1)):
        when(table, RunOutOfTime(), at=DUE_AT + late).then(
            EntropyWithheld(player=HOST, deadline=DUE_AT),
            EntropyWithheld(player=CLEO, deadline=DUE_AT),
            PlayerLeft(player=HOST),
            PlayerLeft(player=CLEO),
            GameCancelled(),
        )


def test_what_was_given_back_is_waited_for() -> None:
    table = after(due(ANN), ExtendDeadline(seconds=30))
    when(table, RunOutOfTime(), at=DUE_AT).refused("TIME_IS_LEFT", "G2")
    first, *_ = when(table, RunOutOfTime(), at=DUE_AT + timedelta(seconds=30)).facts
    assert first == EntropyWithheld(player=HOST, deadline=DUE_AT + timedelta(seconds=30))


def test_who_leaves_while_owing_is_named_and_ends_the_game() -> None:
    when(due(ANN, BEN), Leave(player=ANN)).then(EntropyWithheld(player=ANN), PlayerLeft(player=ANN), GameCancelled())


@pytest.mark.parametrize(
    "table", [due(ANN, BEN), after(due(ANN, BEN), reveal(HOST))], ids=["one who never committed", "when others have"]
)
def test_who_leaves_owing_nothing_ends_the_game_too(table: TickleTable) -> None:
    when(table, Leave(player=BEN)).then(PlayerLeft(player=BEN), GameCancelled())


def test_a_host_who_calls_it_off_while_owing_is_named() -> None:
    when(due(ANN), Cancel(player=HOST)).then(EntropyWithheld(player=HOST), GameCancelled())
    when(after(due(ANN), reveal(HOST)), Cancel(player=HOST)).then(GameCancelled())


def test_a_game_that_was_called_off_is_closed_without_cards_and_keeps_who_had_committed() -> None:
    table = after(due(ANN), reveal(ANN), Leave(player=ANN))
    assert (table.closed, table.deals, table.deadline, owing(table)) == (True, 0, None, ())
    assert table.committed == (
        Committed(HOST, commitment(HOST)),
        Committed(ANN, commitment(ANN), bytes_of(ANN)),
    )


# The beacon


def test_a_beacon_comes_with_the_start_and_goes_into_the_deal() -> None:
    table = after(TICKLE.empty(SEEDS), OpenTickle(player=HOST, options=BEACON), Join(player=BEN))
    outcome = when(table, Start(player=HOST, beacon="ab12"))
    assert outcome.facts[0] == BeaconGiven(beacon="ab12")
    assert outcome.after.dealt.beacon == "ab12"
    assert outcome.after.deck == deal_order(SEEDS, number=1, entropies="--", beacon="ab12")
    assert outcome.after.players == seat_order((HOST, BEN), SEEDS, entropies="--", beacon="ab12")


def test_a_beacon_comes_before_the_first_entropy_is_revealed() -> None:
    outcome = when(joined(ANN, options=BOTH), Start(player=HOST, beacon="ab12"))
    outcome.then(BeaconGiven(beacon="ab12"), EntropyDue(players=(HOST, ANN), deadline=DUE_AT))
    table = after(outcome.after, reveal(ANN), reveal(HOST))
    assert table.dealt is not None
    assert (table.dealt.entropies, table.dealt.beacon) == ((bytes_of(HOST), bytes_of(ANN)), "ab12")


# What is refused


class Refused(NamedTuple):
    sentence: str
    table: TickleTable
    command: Command
    code: str


REFUSED = [
    Refused(
        "no host commits where nothing is wanted",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, commitment=commitment(HOST)),
        "ENTROPY_NOT_WANTED",
    ),
    Refused(
        "no guest either",
        opened(Options(), by_host=False),
        Join(player=ANN, commitment=commitment(ANN)),
        "ENTROPY_NOT_WANTED",
    ),
    Refused(
        "no host opens without where it is demanded",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, options=DEMANDED),
        "ENTROPY_DEMANDED",
    ),
    Refused("no guest joins without", opened(DEMANDED), Join(player=ANN), "ENTROPY_DEMANDED"),
    Refused(
        "no guest copies the host's commitment",
        opened(),
        Join(player=ANN, commitment=commitment(HOST)),
        "ENTROPY_REPEATED",
    ),
    Refused("nor another guest's", joined(ANN), Join(player=CLEO, commitment=commitment(ANN)), "ENTROPY_REPEATED"),
    Refused(
        "a full table is told before a commitment",
        joined(ANN, options=Options(seats=2, entropy=Entropy.DEMANDED)),
        Join(player=CLEO),
        "TABLE_FULL",
    ),
    Refused("nothing is revealed before the start", joined(ANN), reveal(ANN), "ENTROPY_NOT_DUE"),
    Refused("nor at a table without", opened(Options(), by_host=False), reveal(HOST), "ENTROPY_NOT_DUE"),
    Refused("nor by one who never committed", due(ANN, BEN), reveal(BEN), "NOTHING_COMMITTED"),
    Refused("nor by a stranger", due(ANN), reveal(STRANGER), "NOTHING_COMMITTED"),
    Refused("nor twice", after(due(ANN, CLEO), reveal(ANN)), reveal(ANN), "ENTROPY_REVEALED"),
    Refused(
        "nor anything else",
        due(ANN),
        RevealEntropy(player=ANN, entropy=bytes_of(HOST)),
        "ENTROPY_MISMATCH",
    ),
    Refused(
        "nor the commitment itself",
        due(ANN),
        RevealEntropy(player=ANN, entropy=commitment(ANN)),
        "ENTROPY_MISMATCH",
    ),
    Refused("nor after the deal", after(due(ANN), reveal(ANN), reveal(HOST)), reveal(ANN), "ALREADY_STARTED"),
    Refused("nor after it was called off", after(due(ANN), Cancel(player=HOST)), reveal(ANN), "GAME_CANCELLED"),
    Refused("a closed table takes nobody", due(ANN), Join(player=CLEO, commitment=commitment(CLEO)), "ENTROPY_IS_DUE"),
    Refused("nor is it started twice", due(ANN), Start(player=HOST), "ENTROPY_IS_DUE"),
    Refused("its host does not leave", due(ANN), Leave(player=HOST), "HOST_STAYS"),
    Refused("nor one who is not there", due(ANN), Leave(player=CLEO), "NOT_AT_THE_TABLE"),
    Refused("nor does a guest call it off", due(ANN), Cancel(player=ANN), "NOT_THE_HOST"),
    Refused("nor is anything played", due(ANN), DrawCard(seat=0), "NOT_STARTED"),
    Refused(
        "a beacon that was named is given",
        after(opened(BEACON, by_host=False), Join(player=BEN)),
        Start(player=HOST),
        "BEACON_MISSING",
    ),
    Refused("and no other", joined(BEN, by_host=False), Start(player=HOST, beacon="ab12"), "BEACON_NOT_WANTED"),
    Refused(
        "seeds are not held back for ever",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, options=Options(sealed_until=NOON + timedelta(days=366, microseconds=1))),
        "SEALED_TOO_LONG",
    ),
    Refused(
        "nor until a time that is past",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, options=Options(sealed_until=NOON - timedelta(microseconds=1))),
        "SEAL_IS_PAST",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.sentence)
def test_a_table_refuses(case: Refused) -> None:
    when(case.table, case.command).refused(case.code, "G3")


@pytest.mark.parametrize("command", [reveal(ANN), Leave(player=ANN), Cancel(player=HOST)], ids=lambda one: one.name)
def test_a_deadline_says_no(command: Command) -> None:
    when(due(ANN), command, at=DUE_AT).refused("TIME_IS_UP", "G2")
    assert when(due(ANN), command, at=DUE_AT - timedelta(microseconds=1)).violation is None


def test_time_never_runs_out_early_or_where_none_runs() -> None:
    when(due(ANN), RunOutOfTime(), at=DUE_AT - timedelta(microseconds=1)).refused("TIME_IS_LEFT", "G2")
    when(joined(ANN), RunOutOfTime(), at=DUE_AT).refused("NOT_STARTED", "G3")


def test_every_code_of_the_entropy_is_refused_here() -> None:
    assert {case.code for case in REFUSED} >= codes_of(entropy)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.sentence)
def test_no_refusal_repeats_what_may_be_a_secret(case: Refused) -> None:
    refused = when(case.table, case.command).violation
    assert isinstance(refused, RuleViolation)
    assert not [player for player in (HOST, ANN, CLEO) if bytes_of(player) in refused.message]


# The options


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param({"reveal_seconds": 60}, "allow it, or leave the time out", id="a time without entropy"),
        pytest.param({"entropy": "allowed", "reveal_seconds": 9}, "greater than or equal to 10", id="too short a time"),
        pytest.param({"entropy": "allowed", "reveal_seconds": 86_401}, "less than or equal to 86400", id="too long"),
        pytest.param({"beacon": ""}, "at least 1", id="no name"),
        pytest.param({"beacon": "a" * 201}, "at most 200", id="too long a name"),
        *(
            pytest.param({"beacon": text}, "should match pattern", id=f"a name with {what}")
            for what, text in {
                "a line feed": "drand\n1",
                "a line feed at its end": "drand\n",
                "two spaces": "drand  1",
                "a space at its end": "drand ",
                "another letter": "dränd",
                "a quotation mark": 'drand"1',
            }.items()
        ),
        pytest.param({"beacon": "drand 1", "start_when_full": True}, "started by its host", id="a beacon when full"),
        pytest.param({"sealed_until": datetime(2030, 1, 1)}, "needs its offset", id="a time without an offset"),  # noqa: DTZ001
        pytest.param(
            {"sealed_until": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))}, "in UTC", id="no time in UTC"
        ),
    ],
)
def test_a_combination_that_makes_no_sense_is_refused_with_a_sentence(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TableOptions(seats=2, **asked)


def test_a_time_with_another_offset_is_kept_in_utc() -> None:
    asked = datetime(2030, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    kept = EntropyOptions(sealed_until=asked).sealed_until
    assert kept == NOON
    assert kept is not None
    assert kept.tzinfo is UTC


def test_options_that_are_not_asked_for_are_not_written() -> None:
    assert EntropyOptions().model_dump(mode="json") == {}
    asked = EntropyOptions(entropy=Entropy.ALLOWED, reveal_seconds=10, beacon="b", sealed_until=NOON)
    assert asked.model_dump(mode="json") == {
        "entropy": "allowed",
        "reveal_seconds": 10,
        "beacon": "b",
        "sealed_until": "2030-05-01T12:00:00.000000Z",
    }
    assert EntropyOptions.model_validate(asked.model_dump(mode="json")) == asked


@pytest.mark.parametrize(
    ("command", "content"),
    [
        (Join(player=ANN), "40cc58697e984f90d3aaa872b4694ebbf4563f6163f6aa275339852b1f51eb40"),
        (Start(player=HOST), "ab0e6b437df5ef0bfd7361567ae278ea39abffdddc9ca774df4c2c1dff657d5d"),
        (OpenTickle(player=HOST), "ae828911539848049158e968d622cfb46e3cd4dc2191e1186303fdde6b655875"),
        (OpenPoker(player=HOST), "ff70f03eb2337825313f648f5b9c56685f0704abeb53cfc4175b7ce395055138"),
        (OpenTicitaire(player=HOST), "641789041eeb704ec01ad788dc3b0b478a4e14defa33da128d89977e99b424d4"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_the_digest_of_a_command_without_entropy_is_what_it_was(command: Command, content: str) -> None:
    assert content_digest(command, "a key of old") == content


def test_a_rematch_takes_entropy_as_its_game_did_and_names_neither_beacon_nor_seal() -> None:
    asked = Options(entropy=Entropy.ALLOWED, reveal_seconds=10, beacon="b", sealed_until=NOON, seats=3)
    table = after(opened(asked), Join(player=BEN), Start(player=HOST, beacon="c"), reveal(HOST))
    command = rematch_of(table, SEEDS.deal, HOST, False)
    assert isinstance(command, OpenTickle)
    assert command.options == Options(entropy=Entropy.ALLOWED, reveal_seconds=10, seats=3)
    assert command.rematch == Rematch(game=SEEDS.deal, players=table.players, moved_on=False)


# What is open


OPEN: list[tuple[str, TickleTable, UUID, tuple[OpenCommand, ...]]] = [
    ("a stranger joins where entropy is allowed", opened(), ANN, (Join(player=ANN),)),
    ("a stranger joins with a commitment that is demanded", opened(DEMANDED), ANN, (Join,)),
    ("the host starts", joined(ANN), HOST, (Start(player=HOST), Cancel(player=HOST))),
    (
        "the host starts with a beacon",
        after(opened(BEACON, by_host=False), Join(player=BEN)),
        HOST,
        (Start, Cancel(player=HOST)),
    ),
    ("the host reveals or cancels", due(ANN), HOST, (RevealEntropy, Cancel(player=HOST))),
    ("a guest reveals or leaves", due(ANN), ANN, (RevealEntropy, Leave(player=ANN))),
    ("a guest who has revealed leaves", after(due(ANN), reveal(ANN)), ANN, (Leave(player=ANN),)),
    ("a guest who never committed leaves", due(ANN, BEN), BEN, (Leave(player=BEN),)),
    ("no stranger joins a closed table", due(ANN), CLEO, ()),
    ("nothing is open when it was called off", after(due(ANN), Cancel(player=HOST)), ANN, ()),
]


@pytest.mark.parametrize(("sentence", "table", "player", "commands"), OPEN, ids=[case[0] for case in OPEN])
def test_what_is_open(sentence: str, table: TickleTable, player: UUID, commands: tuple[OpenCommand, ...]) -> None:
    assert TICKLE.legal_commands(table, Viewer(player=player)) == commands
    assert TICKLE.legal_commands(table, PUBLIC) == ()


def test_nobody_has_a_seat_to_wait_for_before_the_deal() -> None:
    table, seats = due(ANN), tuple[int, ...]()
    assert TICKLE.awaits(table) == ()
    for fact in when(table, RunOutOfTime(), at=DUE_AT).facts:
        seats = TICKLE.awaited_after(seats, fact)
    assert seats == ()


# Back from facts to the command


@pytest.mark.parametrize(
    ("table", "command", "at"),
    [
        (TICKLE.empty(SEEDS), OpenTickle(player=HOST, options=ALLOWED, label="x", commitment=commitment(HOST)), NOON),
        (opened(), Join(player=ANN, commitment=commitment(ANN)), NOON),
        (opened(), Join(player=ANN), NOON),
        (joined(ANN), Start(player=HOST), NOON),
        (joined(ANN, options=BOTH), Start(player=HOST, beacon="x"), NOON),
        (after(opened(BEACON, by_host=False), Join(player=BEN)), Start(player=HOST, beacon="x"), NOON),
        (due(ANN), reveal(ANN), NOON),
        (after(due(ANN), reveal(ANN)), reveal(HOST), NOON),
        (due(ANN), RunOutOfTime(), DUE_AT),
        (due(ANN, by_host=False), RunOutOfTime(), DUE_AT),
        (due(ANN, by_host=False), Leave(player=ANN), NOON),
        (due(ANN, BEN), Leave(player=BEN), NOON),
        (due(ANN), Cancel(player=HOST), NOON),
        (due(ANN, by_host=False), Cancel(player=HOST), NOON),
        (due(ANN), ExtendDeadline(seconds=7), NOON),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_command_is_found_again_from_its_facts(table: TickleTable, command: Command, at: datetime) -> None:
    facts = TICKLE.decide(command, table, at)
    again_ = TICKLE.command_of(facts, table)
    assert again_ == command
    assert TICKLE.decide(again_, table, at) == facts


def test_no_print_of_a_reveal_shows_the_entropy() -> None:
    assert bytes_of(ANN) not in repr(reveal(ANN)) + str(reveal(ANN))
    with pytest.raises(ValidationError) as raised:
        RevealEntropy(player=ANN, entropy=bytes_of(ANN).upper())
    assert bytes_of(ANN).upper() not in str(raised.value)
