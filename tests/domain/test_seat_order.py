"""Who sits where, by the committed shuffle, by the order of joining, or as before. G4."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import hypothesis
import pytest
from hypothesis import strategies as st

from domain.dealing import Seeds, seat_order
from domain.tables import Join, Seating, Start
from domain.tickle.facts import Options
from domain.tickle.rules import TICKLE, OpenTickle
from tests.domain.tables import ANN, BEN, CLEO, HOST, after, again, seats_of, table
from tests.given import NOON, SEEDS

AS_JOINED = Options(seating=Seating.AS_JOINED)


def second_opinion(
    joined: Sequence[UUID], seed: bytes, deal: UUID, entropies: Sequence[str] = (), beacon: str = ""
) -> list[UUID]:
    """The published shuffle of seats again, from its page; nobody added entropy unless it is told."""
    lines = "".join(f"{line}\n" for line in (*(entropies or "-" * len(joined)), beacon))
    salt = hashlib.sha256(b"tic/entropy/v1\n" + lines.encode()).digest()
    key = hmac.new(salt, seed, hashlib.sha256).digest()
    info, stream, block = f"tic/seats/v1\n{deal}\n".encode(), b"", b""
    for counter in range(1, 9):
        block = hmac.new(key, block + info + bytes([counter]), hashlib.sha256).digest()
        stream += block
    order, at = list(joined), 0
    for last in range(len(order) - 1, 0, -1):
        while stream[at] >= 256 - 256 % (last + 1):
            at += 1
        chosen = stream[at] % (last + 1)
        order[last], order[chosen] = order[chosen], order[last]
        at += 1
    return order


@hypothesis.settings(deadline=None, max_examples=40)
@hypothesis.given(
    guests=st.lists(st.uuids(version=4), min_size=1, max_size=5, unique=True).filter(lambda ids: HOST not in ids),
    last=st.binary(min_size=32, max_size=32),
    deal=st.uuids(),
)
def test_seats_are_given_by_the_published_shuffle(guests: list[UUID], last: bytes, deal: UUID) -> None:  # G4
    seeds = Seeds.backwards(deal, last=last, deals=1)
    ready = after(TICKLE.empty(seeds), OpenTickle(player=HOST), *(Join(player=guest) for guest in guests))
    seated = seats_of(TICKLE.decide(Start(player=HOST), ready, NOON))
    assert list(seated) == second_opinion((HOST, *guests), last, deal)
    assert seated == seat_order((HOST, *guests), seeds, entropies=["-"] * (1 + len(guests)))


def test_any_of_the_players_may_come_to_sit_first() -> None:
    players = (HOST, ANN, BEN)
    orders = {tuple(second_opinion(players, bytes([n]) * 32, SEEDS.deal)) for n in range(60)}
    assert len(orders) == 6


def test_the_order_of_joining_changes_the_seats() -> None:
    here, there = (
        seats_of(TICKLE.decide(Start(player=HOST), table(*guests), NOON)) for guests in ((ANN, BEN), (BEN, ANN))
    )
    assert here != there


def test_seats_are_not_shuffled_without_the_seeds() -> None:
    with pytest.raises(LookupError, match="with the seeds"):
        TICKLE.decide(Start(player=HOST), replace(table(ANN), seeds=None), NOON)


EARLIER = (ANN, BEN, HOST, CLEO)
"""Seat 1 first; the host of the rematch sat third."""


@pytest.mark.parametrize(
    ("joined", "order"),
    [
        pytest.param((ANN, BEN, CLEO), (BEN, HOST, CLEO, ANN), id="seat 2 is seat 1, and seat 1 the last"),
        pytest.param((CLEO, BEN, ANN), (BEN, HOST, CLEO, ANN), id="in whatever order they join"),
        pytest.param((ANN, CLEO), (HOST, CLEO, ANN), id="without one who does not come"),
        pytest.param((BEN, CLEO), (BEN, HOST, CLEO), id="without the one who sat first"),
        pytest.param((ANN,), (HOST, ANN), id="two are enough"),
    ],
)
def test_a_rematch_moved_on_by_one_keeps_the_earlier_order(joined: tuple[UUID, ...], order: tuple[UUID, ...]) -> None:
    for asked in (Options(), AS_JOINED):  # G4
        ready = table(*joined, options=asked, rematch=again(*EARLIER, moved_on=True))
        assert seats_of(TICKLE.decide(Start(player=HOST), ready, NOON)) == order


def test_a_rematch_may_be_seated_anew() -> None:  # G4
    ready = table(CLEO, ANN, rematch=again(*EARLIER))
    order = tuple(second_opinion((HOST, CLEO, ANN), SEEDS.seed(1), SEEDS.deal))
    assert seats_of(TICKLE.decide(Start(player=HOST), ready, NOON)) == order
    as_joined = table(CLEO, ANN, options=AS_JOINED, rematch=again(*EARLIER))
    assert seats_of(TICKLE.decide(Start(player=HOST), as_joined, NOON)) == (HOST, CLEO, ANN)
