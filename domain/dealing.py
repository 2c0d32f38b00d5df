"""Fair dealing, the published algorithm ``tic/deck/v1``: commitment, seeds, deck order.

Pure functions and no secrets of their own: anyone re-deals a finished game with these few lines, or with
thirty in another language. ``docs/dealing.md`` is the specification.

>>> seeds = Seeds.backwards(UUID(int=1), last=bytes(32), deals=3)
>>> seeds.seed(1) == link(UUID(int=1), 2, seeds.seed(2))
True
>>> seeds
<Seeds of 00000000-0000-0000-0000-000000000001: 3, sealed>
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeVar
from uuid import UUID

from domain.cards import DECK, Card

__all__ = [
    "ALGORITHM",
    "MAX_DEALS",
    "NO_ENTROPY",
    "SEED_BYTES",
    "Seeds",
    "are_chained",
    "deal_order",
    "deck_order",
    "entropy_salt",
    "link",
    "seat_order",
    "shuffled",
]

ALGORITHM: Final = "tic/deck/v1"
MAX_DEALS: Final = 64
SEED_BYTES: Final = 32
NO_ENTROPY: Final = "-"
"""What stands in an entropy's place for a player who gave none."""

T = TypeVar("T")


def link(deal: UUID, number: int, seed: bytes) -> bytes:
    """Return the seed before ``seed``: s_{d-1} from s_d, d = ``number``. s_0 is the commitment."""
    return hashlib.sha256(f"tic/chain/v1\n{deal}\n{number}\n".encode("ascii") + seed).digest()


def are_chained(deal: UUID, commitment: bytes, seeds: Sequence[bytes]) -> bool:
    """Tell whether the seeds s_1, s_2, ... each lead to the one before it, and the first to the commitment."""
    links = enumerate(pairwise((commitment, *seeds)), 1)
    return all(link(deal, number, seed) == before for number, (before, seed) in links)


class Seeds:
    """The chain of seeds of one deal, known up to some deal: s_0, the commitment, to s_K.

    The server knows all of them from the start; an auditor knows those that were revealed. Its repr never
    shows a seed.
    """

    __slots__ = ("_chain", "deal")

    def __init__(self, deal: UUID, chain: Sequence[bytes]) -> None:
        self.deal: Final = deal
        self._chain: Final = tuple(chain)

    @classmethod
    def backwards(cls, deal: UUID, *, last: bytes, deals: int) -> Seeds:
        """Work out the chain from its last seed, s_K with K = ``deals``.

        Raises:
            ValueError: ``last`` is not 32 bytes, or ``deals`` is not 1..64.
        """
        if len(last) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes")
        if not 1 <= deals <= MAX_DEALS:
            raise ValueError(f"a chain has 1 to {MAX_DEALS} deals")
        chain = [last]
        for number in range(deals, 0, -1):
            chain.append(link(deal, number, chain[-1]))
        return cls(deal, chain[::-1])

    @classmethod
    def revealed(cls, deal: UUID, seeds: Sequence[bytes]) -> Seeds:
        """Take the seeds s_1, s_2, ... that a finished game published.

        The commitment is computed from s_1; compare it with the one that was published before the deal.
        """
        return cls(deal, (link(deal, 1, seeds[0]), *seeds))

    @property
    def commitment(self) -> bytes:
        """s_0, published before the deal."""
        return self._chain[0]

    def seed(self, number: int) -> bytes:
        """Return s_d of deal d = ``number``, 1-based.

        Raises:
            LookupError: that seed is not known.
        """
        if not 1 <= number < len(self._chain):
            raise LookupError(f"the seed of deal {number} is not known")
        return self._chain[number]

    def __len__(self) -> int:
        """Return how many deals' seeds are known."""
        return len(self._chain) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seeds) and (self.deal, self._chain) == (other.deal, other._chain)

    def __hash__(self) -> int:
        return hash((self.deal, self.commitment))

    def __repr__(self) -> str:
        return f"<Seeds of {self.deal}: {len(self)}, sealed>"


def entropy_salt(entropies: Iterable[str], beacon: str = "") -> bytes:
    """Return the salt of a deal.

    Args:
        entropies: one for each player in the order of joining: lower-case hex, or ``"-"`` for none.
        beacon: the public random value that the table named in advance; empty if it named none.
    """
    lines = "".join(f"{line}\n" for line in (*entropies, beacon))
    return hashlib.sha256(f"tic/entropy/v1\n{lines}".encode("ascii")).digest()


def _stream(seed: bytes, salt: bytes, info: bytes) -> Iterator[int]:
    """HKDF-SHA256 (RFC 5869) as a stream of bytes: T(1), T(2), ... one after the other."""
    key = hmac.digest(salt, seed, "sha256")
    block = b""
    for counter in range(1, 256):
        block = hmac.digest(key, block + info + bytes([counter]), "sha256")
        yield from block


def shuffled(items: Sequence[T], seed: bytes, salt: bytes, info: str) -> tuple[T, ...]:
    """Shuffle at most 256 items: Fisher-Yates from the end, with rejection, one byte a draw."""
    a = list(items)
    stream = _stream(seed, salt, info.encode("ascii"))
    for i in range(len(a) - 1, 0, -1):
        m = i + 1
        limit = 256 - 256 % m
        byte = next(b for b in stream if b < limit)
        a[i], a[byte % m] = a[byte % m], a[i]
    return tuple(a)


def deck_order(seed: bytes, salt: bytes, deal: UUID, number: int) -> tuple[Card, ...]:
    """Return the 125 cards of deal ``number`` (from 1), the first dealt first."""
    return shuffled(DECK, seed, salt, f"{ALGORITHM}\n{deal}\n{number}\n")


def deal_order(seeds: Seeds, *, number: int, entropies: Iterable[str], beacon: str = "") -> tuple[Card, ...]:
    """Return the deck order of deal ``number`` of a chain of seeds, as ``deck_order`` does.

    Raises:
        LookupError: the seed of that deal is not known.
    """
    return deck_order(seeds.seed(number), entropy_salt(entropies, beacon), seeds.deal, number)


def seat_order(joined: Sequence[UUID], seeds: Seeds, *, entropies: Iterable[str], beacon: str = "") -> tuple[UUID, ...]:
    """Return the players in the order of their seats, seat 1 first: the shuffle of the order of joining (G4).

    Raises:
        LookupError: the seed of the first deal is not known.
    """
    salt = entropy_salt(entropies, beacon)
    return shuffled(joined, seeds.seed(1), salt, f"tic/seats/v1\n{seeds.deal}\n")
