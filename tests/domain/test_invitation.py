"""What a private table is joined with: it follows from the sealed seed, and from nothing that is told. G3."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import replace
from uuid import UUID

import pytest

from domain.dealing import Seeds
from domain.decider import Viewer
from domain.lifecycle import Table
from domain.seating import invitation, invitation_for
from domain.tables import Cancel, Join, PlayerJoined, Start
from domain.tickle.facts import Options
from domain.tickle.rules import TICKLE
from tests.domain.tables import ANN, HOST, STRANGER, after, again, table
from tests.given import NOON, SEEDS, given

CODE = invitation(SEEDS)
PRIVATE = Options(private=True)


def test_an_invitation_is_an_hmac_under_the_sealed_seed() -> None:
    info = f"tic/invitation/v1\n{SEEDS.deal}\n".encode()
    digest = hmac.new(bytes(range(32)), info, hashlib.sha256).digest()[:16]
    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    bits = int.from_bytes(digest, "big") << 2
    assert "".join(alphabet[bits >> 5 * at & 31] for at in range(25, -1, -1)) == CODE


def test_an_invitation_is_26_letters_and_digits_and_another_for_every_game() -> None:
    others = [Seeds.backwards(UUID(int=n), last=bytes([n]) * 32, deals=1) for n in range(1, 20)]
    codes = {invitation(seeds) for seeds in others} | {CODE}
    assert len(codes) == 20
    assert all(re.fullmatch("[a-z2-7]{26}", code) for code in codes)


def test_an_invitation_is_in_no_fact_and_no_view_and_no_print_and_no_refusal() -> None:
    start = table(options=PRIVATE)
    joined = given(table=start, decider=TICKLE).when(Join(player=ANN, code=CODE))
    begun = given(table=joined.after, decider=TICKLE).when(Start(player=HOST))
    refused = given(table=start, decider=TICKLE).when(Join(player=ANN, code="wrong")).violation
    shown = [
        *(fact.model_dump_json() for fact in (*joined.facts, *begun.facts)),
        *(repr(seen) for seen in (start, joined.after, begun.after, SEEDS)),
        *(repr(TICKLE.view(seen, Viewer(seat=1, player=HOST))) for seen in (start, joined.after, begun.after)),
        *(repr(TICKLE.legal_commands(start, Viewer(player=player))) for player in (HOST, ANN, STRANGER)),
        repr(refused.reasons if refused else None),
    ]
    assert not [text for text in shown if CODE in text.lower()]


def test_an_invitation_follows_from_no_fact() -> None:
    other = Seeds(SEEDS.deal, [SEEDS.commitment, bytes(32)])
    assert invitation(other) != CODE
    with pytest.raises(LookupError, match="not known"):
        invitation(Seeds(SEEDS.deal, [SEEDS.commitment]))


def test_an_invitation_is_not_checked_without_the_seeds() -> None:
    with pytest.raises(LookupError, match="with the seeds"):
        TICKLE.decide(Join(player=ANN, code=CODE), replace(table(options=PRIVATE), seeds=None), NOON)


def test_the_invitation_of_a_join_is_found_again_with_the_seeds_alone() -> None:
    facts = (PlayerJoined(player=ANN),)
    assert TICKLE.command_of(facts, table(options=PRIVATE)) == Join(player=ANN, code=CODE)
    assert TICKLE.command_of(facts, replace(table(options=PRIVATE), seeds=None)) == Join(player=ANN)
    assert TICKLE.command_of(facts, table()) == Join(player=ANN)
    assert TICKLE.command_of(facts, table(options=PRIVATE, rematch=again(HOST, ANN))) == Join(player=ANN)


# Who is told


def test_the_host_of_a_private_table_is_told_its_invitation_before_the_deal() -> None:
    assert invitation_for(table(ANN, options=PRIVATE), Viewer(player=HOST)) == CODE


@pytest.mark.parametrize(
    ("seen", "viewer"),
    [
        pytest.param(table(ANN, options=PRIVATE), Viewer(player=ANN), id="a guest"),
        pytest.param(table(ANN, options=PRIVATE), Viewer(player=STRANGER), id="a stranger"),
        pytest.param(table(ANN, options=PRIVATE), Viewer(), id="the public"),
        pytest.param(table(ANN, options=PRIVATE), Viewer(everything=True), id="whoever re-plays a game"),
        pytest.param(table(ANN), Viewer(player=HOST), id="the host of a public table"),
        pytest.param(table(options=PRIVATE, rematch=again(HOST, ANN)), Viewer(player=HOST), id="the host of a rematch"),
        pytest.param(
            after(table(ANN, options=PRIVATE), Start(player=HOST)), Viewer(seat=1, player=HOST), id="the host of a game"
        ),
        pytest.param(
            after(table(options=PRIVATE), Cancel(player=HOST)), Viewer(player=HOST), id="the host who cancelled"
        ),
        pytest.param(
            replace(table(options=PRIVATE), seeds=None), Viewer(player=HOST), id="one who folded without the seeds"
        ),
        pytest.param(TICKLE.empty(SEEDS), Viewer(player=HOST), id="one before there is a table"),
        pytest.param(Table(seeds=SEEDS), Viewer(player=HOST), id="one at a table that takes nobody"),
    ],
)
def test_no_invitation_is_told_to(seen: Table, viewer: Viewer) -> None:
    assert invitation_for(seen, viewer) is None
