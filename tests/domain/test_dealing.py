"""Fair dealing: the worked case, a second implementation, and what the chain of seeds gives away."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import hypothesis
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import strategies as st

from domain.cards import DECK
from domain.dealing import MAX_DEALS, Seeds, deal_order, deck_order, entropy_salt, link, shuffled

WORKED: dict[str, Any] = json.loads((Path(__file__).parent.parent / "vectors" / "dealing.json").read_text("utf-8"))
DEAL = UUID(WORKED["game"])
ENTROPIES = [entropy or "-" for entropy in WORKED["entropies"]]
LAST = bytes.fromhex(WORKED["s_K"])
SEEDS = Seeds.backwards(DEAL, last=LAST, deals=WORKED["K"])
OTHER_DEAL = UUID(int=2)

worked_deal = pytest.mark.parametrize("deal", WORKED["deals"], ids=lambda deal: f"deal {deal['deal']}")


def second_opinion(seed: bytes, entropies: list[str], beacon: str, deal: UUID, number: int) -> list[int]:
    """The published algorithm again, from its page: the whole stream first, by another library's HKDF."""
    digest = hashlib.sha256()
    digest.update(b"tic/entropy/v1\n")
    for line in [*entropies, beacon]:
        digest.update(line.encode() + b"\n")
    info = b"\n".join([b"tic/deck/v1", str(deal).encode(), str(number).encode(), b""])
    stream = list(HKDF(algorithm=SHA256(), length=255 * 32, salt=digest.digest(), info=info).derive(seed))
    deck = list(range(125))
    size = 125
    while size > 1:
        byte = stream.pop(0)
        if byte // size < 256 // size:
            chosen = byte % size
            size -= 1
            deck[chosen], deck[size] = deck[size], deck[chosen]
    return deck


def test_the_worked_case_has_its_commitment() -> None:
    assert SEEDS.commitment.hex() == WORKED["commit"]
    assert len(SEEDS) == len(WORKED["deals"]) == WORKED["K"]


@worked_deal
def test_the_worked_case_has_its_seeds(deal: dict[str, Any]) -> None:
    assert SEEDS.seed(deal["deal"]).hex() == deal["s"]


@worked_deal
def test_the_worked_case_has_its_decks(deal: dict[str, Any]) -> None:
    order = deal_order(SEEDS, number=deal["deal"], entropies=ENTROPIES)
    assert [card.index for card in order] == deal["deck"]


@worked_deal
def test_the_worked_case_comes_out_of_the_second_implementation(deal: dict[str, Any]) -> None:
    assert second_opinion(bytes.fromhex(deal["s"]), ENTROPIES, "", DEAL, deal["deal"]) == deal["deck"]


@worked_deal
def test_the_worked_case_rejects_bytes_so_that_a_biased_shuffle_shows(deal: dict[str, Any]) -> None:
    assert deal["bytes"] - deal["rejected"] == 124
    assert deal["rejected"] > 0


@hypothesis.settings(deadline=None, max_examples=40)
@hypothesis.given(
    seed=st.binary(min_size=32, max_size=32),
    entropies=st.lists(st.one_of(st.just("-"), st.binary(min_size=32, max_size=32).map(bytes.hex)), max_size=8),
    beacon=st.text("0123456789abcdef", max_size=64),
    deal=st.uuids(),
    number=st.integers(1, MAX_DEALS),
)
def test_two_implementations_deal_the_same(
    seed: bytes, entropies: list[str], beacon: str, deal: UUID, number: int
) -> None:
    order = deck_order(seed, entropy_salt(entropies, beacon), deal, number)
    assert [card.index for card in order] == second_opinion(seed, entropies, beacon, deal, number)
    assert sorted(order) == list(DECK)


def test_each_seed_hashes_to_the_one_before() -> None:
    chain = [SEEDS.commitment, *(SEEDS.seed(number) for number in (1, 2, 3))]
    for number in (1, 2, 3):
        preimage = f"tic/chain/v1\n{DEAL}\n{number}\n".encode() + chain[number]
        assert chain[number - 1] == hashlib.sha256(preimage).digest() == link(DEAL, number, chain[number])


def test_the_last_seed_is_the_one_that_was_drawn() -> None:
    assert SEEDS.seed(3) == LAST


def test_revealed_seeds_give_the_commitment_back() -> None:
    told = Seeds.revealed(DEAL, [SEEDS.seed(1), SEEDS.seed(2), SEEDS.seed(3)])
    assert told == SEEDS
    assert hash(told) == hash(SEEDS)


def test_seeds_revealed_in_part_say_nothing_of_the_next_deal() -> None:
    told = Seeds.revealed(DEAL, [SEEDS.seed(1)])
    assert (told.commitment, len(told)) == (SEEDS.commitment, 1)
    with pytest.raises(LookupError, match="deal 2 is not known"):
        deal_order(told, number=2, entropies=["-"])


def test_another_seed_reveals_another_commitment() -> None:
    assert Seeds.revealed(DEAL, [bytes(32)]).commitment != SEEDS.commitment


@pytest.mark.parametrize("number", [-1, 0, 4])
def test_the_seed_of_a_deal_that_is_not_there_is_not_known(number: int) -> None:
    with pytest.raises(LookupError, match=f"deal {number} is not known"):
        SEEDS.seed(number)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_seed_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Seeds.backwards(DEAL, last=bytes(size), deals=1)


@pytest.mark.parametrize("deals", [0, MAX_DEALS + 1])
def test_a_chain_of_another_length_is_refused(deals: int) -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        Seeds.backwards(DEAL, last=LAST, deals=deals)


def test_the_longest_chain_has_64_deals() -> None:
    assert len(Seeds.backwards(DEAL, last=LAST, deals=MAX_DEALS)) == 64


def test_seeds_differ_by_deal_and_from_other_things() -> None:
    assert Seeds.backwards(OTHER_DEAL, last=LAST, deals=3) != SEEDS
    assert SEEDS != "seeds"


@pytest.mark.parametrize("show", [repr, str, "{}".format], ids=["repr", "str", "format"])
def test_no_seed_shows_in_print(show: Any) -> None:
    shown = show(SEEDS)
    for number in (1, 2, 3):
        assert SEEDS.seed(number).hex() not in shown
        assert repr(SEEDS.seed(number)) not in shown
    assert shown == f"<Seeds of {DEAL}: 3, sealed>"


def test_every_part_of_a_deal_changes_the_deck() -> None:
    seed, salt = SEEDS.seed(1), entropy_salt(["-"])
    decks = {
        deck_order(seed, salt, DEAL, 1),
        deck_order(SEEDS.seed(2), salt, DEAL, 1),
        deck_order(seed, entropy_salt(["aa" * 32]), DEAL, 1),
        deck_order(seed, entropy_salt(["-"], "beacon"), DEAL, 1),
        deck_order(seed, salt, OTHER_DEAL, 1),
        deck_order(seed, salt, DEAL, 2),
    }
    assert len(decks) == 6


def test_the_salt_of_the_second_player_is_not_that_of_the_first() -> None:
    assert entropy_salt(["aa", "-"]) != entropy_salt(["-", "aa"])


def test_a_stream_that_runs_dry_stops_instead_of_starting_again() -> None:
    # 256 things need a byte each without rejection, 257 have no byte that is fair to all: no deck comes near it.
    with pytest.raises(StopIteration):
        shuffled(range(257), LAST, bytes(32), "too many")


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_and_one_thing_are_shuffled_already(count: int) -> None:
    assert shuffled(range(count), LAST, bytes(32), "few") == tuple(range(count))


def test_the_first_of_two_seats_is_drawn_by_the_first_byte() -> None:
    seeds = [bytes([n]) * 32 for n in range(20)]
    orders = {shuffled("ab", seed, bytes(32), "tic/seats/v1\n") for seed in seeds}
    assert orders == {("a", "b"), ("b", "a")}
