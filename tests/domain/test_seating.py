"""How a table for several comes to its deal: opened, joined, left, started or cancelled, tried at Tickle. G3, G4."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import pytest
from pydantic import ValidationError

from domain import seating
from domain.dealing import Seeds
from domain.decider import PUBLIC, Command, Fact, OpenCommand, Viewer
from domain.lifecycle import GameCancelled, PlayerSeated, Resign
from domain.seating import invitation
from domain.tables import Cancel, Join, Leave, PlayerJoined, PlayerLeft, Rematch, Seating, Start, TableOptions
from domain.tickle.facts import HandsDealt, Options, TickleOpened
from domain.tickle.rules import TICKLE, DrawCard, OpenTickle
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan
from tests.domain.tables import ANN, BEN, CLEO, HOST, STRANGER, after, again, seats_of, table
from tests.given import NOON, SEEDS, codes_of, given

CODE = invitation(SEEDS)
PRIVATE = Options(private=True)
AS_JOINED = Options(seating=Seating.AS_JOINED)
FULL = Options(seats=2, start_when_full=True, seating=Seating.AS_JOINED)


STARTED = after(table(ANN, options=AS_JOINED), Start(player=HOST))
CANCELLED = after(table(ANN), Cancel(player=HOST))
OVER = after(STARTED, Resign(seat=1))


# What is allowed


class Allowed(NamedTuple):
    sentence: str
    table: TickleTable
    command: Command
    facts: tuple[Fact, ...]


DEAL = (
    PlayerSeated(seat=1, player=HOST),
    PlayerSeated(seat=2, player=ANN),
    HandsDealt(number=1, entropies=("-", "-"), each=6, deck=113, set_aside=0),
    TurnBegan(seat=1, round=1),
)

ALLOWED = [
    Allowed("a guest joins", table(), Join(player=ANN), (PlayerJoined(player=ANN),)),
    Allowed(
        "a code where none is asked for does no harm", table(), Join(player=ANN, code="x"), (PlayerJoined(player=ANN),)
    ),
    Allowed(
        "a guest takes the last seat",
        table(ANN, options=Options(seats=3)),
        Join(player=BEN),
        (PlayerJoined(player=BEN),),
    ),
    Allowed(
        "the last seat starts the game where the table says so",
        table(options=FULL),
        Join(player=ANN),
        (PlayerJoined(player=ANN), *DEAL),
    ),
    Allowed("a guest leaves", table(ANN, BEN), Leave(player=ANN), (PlayerLeft(player=ANN),)),
    Allowed("the host starts with two", table(ANN, options=AS_JOINED), Start(player=HOST), DEAL),
    Allowed(
        "the host starts though there are seats left",
        table(ANN, options=FULL.model_copy(update={"seats": 6})),
        Start(player=HOST),
        DEAL,
    ),
    Allowed("the host cancels alone", table(), Cancel(player=HOST), (GameCancelled(),)),
    Allowed("the host cancels with guests", table(ANN, BEN), Cancel(player=HOST), (GameCancelled(),)),
    Allowed(
        "one who was invited joins a private table",
        table(options=PRIVATE),
        Join(player=ANN, code=CODE),
        (PlayerJoined(player=ANN),),
    ),
    Allowed(
        "also in capitals, with spaces around",
        table(options=PRIVATE),
        Join(player=ANN, code=f" {CODE.upper()}\n"),
        (PlayerJoined(player=ANN),),
    ),
    Allowed(
        "one who played before joins the rematch",
        table(rematch=again(HOST, ANN)),
        Join(player=ANN),
        (PlayerJoined(player=ANN),),
    ),
    Allowed(
        "also that of a private table, without an invitation",
        table(options=PRIVATE, rematch=again(HOST, ANN)),
        Join(player=ANN),
        (PlayerJoined(player=ANN),),
    ),
    Allowed(
        "a rematch is full with those who played before",
        table(options=FULL.model_copy(update={"seats": 6}), rematch=again(HOST, ANN)),
        Join(player=ANN),
        (PlayerJoined(player=ANN), *DEAL),
    ),
]


@pytest.mark.parametrize("case", ALLOWED, ids=lambda case: case.sentence)
def test_a_table_allows(case: Allowed) -> None:  # G3
    given(table=case.table, decider=TICKLE).when(case.command).then(*case.facts)


@pytest.mark.parametrize("case", ALLOWED, ids=lambda case: case.sentence)
def test_the_command_is_found_again_from_its_facts_and_decided_alike(case: Allowed) -> None:
    command = TICKLE.command_of(case.facts, case.table)
    assert type(command) is type(case.command)
    assert TICKLE.decide(command, case.table, NOON) == case.facts


@pytest.mark.parametrize("rematch", [None, again(HOST, ANN)], ids=["for the first time", "again"])
def test_a_table_is_opened_by_its_host_who_joins_first(rematch: Rematch | None) -> None:
    opening = OpenTickle(player=HOST, options=PRIVATE, rematch=rematch)
    outcome = given(decider=TICKLE).when(opening)
    opened, joined = outcome.facts
    assert opened == TickleOpened(
        ruleset=1,
        host=HOST,
        deal=SEEDS.deal,
        commitment=SEEDS.commitment.hex(),
        options=PRIVATE,
        rematch=rematch,
    )
    assert joined == PlayerJoined(player=HOST)
    assert TICKLE.command_of(outcome.facts, TICKLE.empty(SEEDS)) == opening


def test_one_who_left_may_come_again_and_is_the_last_then() -> None:
    back = after(table(ANN, BEN), Leave(player=ANN), Join(player=ANN))
    assert back.joined == (HOST, BEN, ANN)
    assert back.version == table(ANN, BEN).version + 2


def test_who_attends_is_who_has_joined() -> None:
    present = table(ANN)
    assert [present.attends(player) for player in (HOST, ANN, BEN)] == [True, True, False]
    assert [present.seat_of(player) for player in (HOST, ANN)] == [0, 0]
    assert [STARTED.seat_of(player) for player in (HOST, ANN, BEN)] == [1, 2, 0]
    assert not after(present, Leave(player=ANN)).attends(ANN)


def test_the_company_of_a_table_is_who_has_joined_in_that_order() -> None:
    assert table(BEN, ANN).company == after(table(BEN, ANN), Start(player=HOST)).company == (HOST, BEN, ANN)


@pytest.mark.parametrize(
    ("seats", "rematch", "most"),
    [(4, None, 4), (6, again(HOST, ANN, BEN), 3), (2, again(HOST, ANN, BEN), 2)],
    ids=["as many as it has seats", "a rematch those who played", "no more than it has seats"],
)
def test_a_table_takes(seats: int, rematch: Rematch | None, most: int) -> None:
    assert table(options=Options(seats=seats), rematch=rematch).table_opened.takes == most


def test_a_seat_left_free_is_taken_by_another_and_then_the_game_starts() -> None:
    waiting = table(ANN, options=FULL.model_copy(update={"seats": 3}))
    facts = TICKLE.decide(Join(player=CLEO), after(waiting, Leave(player=ANN), Join(player=BEN)), NOON)
    assert seats_of(facts) == (HOST, BEN, CLEO)


def test_the_turn_after_the_deal_has_its_deadline() -> None:  # G2
    timed = table(ANN, options=Options(turn_seconds=60))
    *_, began = TICKLE.decide(Start(player=HOST), timed, NOON)
    assert isinstance(began, TurnBegan)
    assert began.deadline is not None
    assert (began.deadline - NOON).total_seconds() == 60


def test_a_cancelled_game_is_over_and_closed_and_shows_no_seeds() -> None:  # G3
    assert (CANCELLED.over, CANCELLED.closed, CANCELLED.finished, CANCELLED.revealed) == (True, True, None, None)


# What is refused


class Refused(NamedTuple):
    sentence: str
    table: TickleTable
    command: Command
    code: str
    ruling: str


FULL_TABLE = table(ANN, options=Options(seats=2))

REFUSED = [
    Refused("nobody joins twice", table(ANN), Join(player=ANN), "ALREADY_JOINED", "G3"),
    Refused("nor the host", table(), Join(player=HOST), "ALREADY_JOINED", "G3"),
    Refused("nor where the table is full", FULL_TABLE, Join(player=ANN), "ALREADY_JOINED", "G3"),
    Refused("a full table takes nobody", FULL_TABLE, Join(player=BEN), "TABLE_FULL", "G3"),
    Refused(
        "a private table takes nobody without a code", table(options=PRIVATE), Join(player=ANN), "NOT_INVITED", "G3"
    ),
    *(
        Refused(f"nor with {what}", table(options=PRIVATE), Join(player=ANN, code=code), "NOT_INVITED", "G3")
        for what, code in [
            ("an empty one", ""),
            ("spaces", "   "),
            ("another", "a" * 26),
            ("a part of it", CODE[:-1]),
            ("more than it", CODE + "a"),
            ("letters of other alphabets", "ä" * 26),
            ("the game's id", str(SEEDS.deal)),
            ("the commitment", SEEDS.commitment.hex()),
            ("that of another game", invitation(Seeds.backwards(SEEDS.deal, last=bytes(32), deals=1))),
        ]
    ),
    Refused(
        "a private table says nothing of its seats to a stranger",
        table(ANN, options=Options(private=True, seats=2)),
        Join(player=BEN, code="x"),
        "NOT_INVITED",
        "G3",
    ),
    Refused(
        "a full private table takes nobody with the code",
        table(ANN, options=Options(private=True, seats=2)),
        Join(player=BEN, code=CODE),
        "TABLE_FULL",
        "G3",
    ),
    Refused(
        "a rematch is for those who played before",
        table(rematch=again(HOST, ANN)),
        Join(player=BEN),
        "NOT_INVITED",
        "G4",
    ),
    Refused(
        "an invitation does not help there",
        table(options=PRIVATE, rematch=again(HOST, ANN)),
        Join(player=BEN, code=CODE),
        "NOT_INVITED",
        "G4",
    ),
    Refused(
        "nor does anyone else open one",
        TICKLE.empty(SEEDS),
        OpenTickle(player=BEN, rematch=again(HOST, ANN)),
        "NOT_INVITED",
        "G4",
    ),
    Refused(
        "nor is there one in which a player has two seats",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, rematch=again(HOST, ANN, ANN)),
        "NO_REMATCH",
        "G4",
    ),
    Refused(
        "nor one of a single player",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, rematch=again(HOST)),
        "NO_REMATCH",
        "G4",
    ),
    Refused("the host does not leave", table(ANN), Leave(player=HOST), "HOST_STAYS", "G3"),
    Refused("one who is not there does not leave", table(ANN), Leave(player=BEN), "NOT_AT_THE_TABLE", "G3"),
    Refused("nor twice", after(table(ANN), Leave(player=ANN)), Leave(player=ANN), "NOT_AT_THE_TABLE", "G3"),
    Refused("a guest does not start", table(ANN), Start(player=ANN), "NOT_THE_HOST", "G3"),
    Refused("a stranger does not start", table(ANN), Start(player=STRANGER), "NOT_THE_HOST", "G3"),
    Refused("a guest does not cancel", table(ANN), Cancel(player=ANN), "NOT_THE_HOST", "G3"),
    Refused("nobody plays alone", table(), Start(player=HOST), "TOO_FEW_PLAYERS", "G3"),
    Refused(
        "nor when the other has left", after(table(ANN), Leave(player=ANN)), Start(player=HOST), "TOO_FEW_PLAYERS", "G3"
    ),
    *(
        Refused(f"no {command.name} after the deal", STARTED, command, "ALREADY_STARTED", "G3")
        for command in (Join(player=BEN), Join(player=ANN), Leave(player=BEN), Start(player=HOST), Cancel(player=HOST))
    ),
    *(
        Refused(f"no {command.name} after it was cancelled", CANCELLED, command, "GAME_CANCELLED", "G3")
        for command in (
            Join(player=BEN),
            Leave(player=ANN),
            Start(player=HOST),
            Cancel(player=HOST),
            Resign(seat=1),
            DrawCard(seat=1),
        )
    ),
    Refused("no one joins what is over", OVER, Join(player=BEN), "GAME_OVER", "G3"),
    Refused("no one leaves what is over", OVER, Leave(player=ANN), "GAME_OVER", "G1"),
    Refused("no one plays before the deal", table(ANN), DrawCard(seat=0), "NOT_STARTED", "G3"),
    Refused("no one resigns before the deal", table(ANN), Resign(seat=0), "NOT_STARTED", "G3"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.sentence)
def test_a_table_refuses(case: Refused) -> None:
    given(table=case.table, decider=TICKLE).when(case.command).refused(case.code, case.ruling)


def test_every_code_of_the_seating_is_refused_here() -> None:
    while_entropy_is_due = {"ENTROPY_IS_DUE"}  # refused where entropy is tried
    assert {case.code for case in REFUSED} >= codes_of(seating) - while_entropy_is_due


def test_a_code_is_no_longer_than_any_invitation_could_be() -> None:
    with pytest.raises(ValidationError, match="at most 64"):
        Join(player=ANN, code="a" * 65)


# What is open


@pytest.mark.parametrize(
    ("seen", "player", "commands"),
    [
        pytest.param(table(), HOST, (Cancel(player=HOST),), id="to the host alone"),
        pytest.param(table(ANN), HOST, (Start(player=HOST), Cancel(player=HOST)), id="to the host with a guest"),
        pytest.param(table(ANN), ANN, (Leave(player=ANN),), id="to a guest"),
        pytest.param(table(ANN), BEN, (Join(player=BEN),), id="to a stranger"),
        pytest.param(table(ANN), None, (), id="to nobody in particular"),
        pytest.param(FULL_TABLE, BEN, (), id="to a stranger where it is full"),
        pytest.param(FULL_TABLE, ANN, (Leave(player=ANN),), id="to a guest where it is full"),
        pytest.param(table(ANN, options=PRIVATE), BEN, (), id="to a stranger at a private table"),
        pytest.param(table(ANN, options=PRIVATE), ANN, (Leave(player=ANN),), id="to a guest at a private table"),
        pytest.param(table(rematch=again(HOST, ANN)), ANN, (Join(player=ANN),), id="to one who played before"),
        pytest.param(table(rematch=again(HOST, ANN)), BEN, (), id="to one who did not"),
        pytest.param(
            table(options=PRIVATE, rematch=again(HOST, ANN)), ANN, (Join(player=ANN),), id="to one who played privately"
        ),
        pytest.param(STARTED, BEN, (), id="to a stranger after the deal"),
        pytest.param(CANCELLED, HOST, (), id="to the host after it was cancelled"),
        pytest.param(CANCELLED, BEN, (), id="to a stranger after it was cancelled"),
        pytest.param(OVER, BEN, (), id="to a stranger after the end"),
        pytest.param(TICKLE.empty(SEEDS), HOST, (), id="before there is a table"),
    ],
)
def test_what_is_open(seen: TickleTable, player: UUID | None, commands: tuple[OpenCommand, ...]) -> None:
    assert TICKLE.legal_commands(seen, Viewer(player=player)) == commands


def test_nothing_is_open_to_the_public() -> None:
    for seen in (table(), table(ANN), STARTED, OVER):
        assert TICKLE.legal_commands(seen, PUBLIC) == ()


# Options, and mistakes


def test_a_table_is_public_shuffled_untimed_and_started_by_its_host_unless_it_says_otherwise() -> None:
    assert TableOptions(seats=4).model_dump() == {
        "seats": 4,
        "start_when_full": False,
        "private": False,
        "seating": "shuffled",
        "turn_seconds": None,
    }


def test_a_command_that_is_none_of_the_seating_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="DrawCard is no command of a table before its deal"):
        seating.decide(DrawCard(seat=1), table(ANN), NOON, deal=lambda _: (), after=TICKLE.evolve)
