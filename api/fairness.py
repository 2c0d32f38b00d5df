"""What proves a deal: who committed to what before it, and what became of that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final
from uuid import UUID

import strawberry
from pydantic import ValidationError

from api.errors import InvalidInput, InvalidInputError, invalid_input
from api.players import Player, player
from domain.entropy import MOST_BEACON, Entropy, EntropyOptions, EntropyTable
from domain.lifecycle import Table
from domain.verification import of_finished, of_table
from projections.lobby import Status

__all__ = [
    "USUAL_LENGTHS",
    "EntropyInput",
    "EntropySettings",
    "Fairness",
    "Verification",
    "entropy_settings_of",
    "fairness_of",
    "read_32_bytes",
    "read_beacon",
    "refused_option",
    "verification_of",
    "verification_of_finished",
    "verification_of_listed",
]

strawberry.enum(
    Entropy,
    name="EntropyMode",
    description="Whether players add entropy of their own to the deal: not at all, those who want to, or everyone.",
)


@strawberry.input
class EntropyInput:
    """What a table of any kind is opened with that concerns the fairness of its deal."""

    entropy: Entropy = strawberry.field(
        default=Entropy.NONE,
        description="Whether players add entropy of their own to the deal: they commit to it when they come, and "
        "reveal it with revealEntropy once the game is started.",
    )
    reveal_seconds: int = strawberry.field(
        default=120,
        description="Time to reveal it in, 10 to 86,400 seconds from the start: who does not ends the game undealt.",
    )
    beacon: str | None = strawberry.field(
        default=None,
        description="Names a public random value of a future moment that goes into the deal, such as drand quicknet "
        "12345678: 1 to 200 letters, digits and ./:+=_- with single spaces inside. startGame gives its value.",
    )
    sealed_until: datetime | None = strawberry.field(
        default=None,
        description="The seeds, and all that is hidden, stay sealed until then where the game ends before it: for the "
        "round of a tournament. At most 366 days ahead; left out, the seeds are revealed with the result.",
    )
    entropy_commitment: str | None = strawberry.field(
        default=None,
        description="SHA-256, in lower-case hex, of 32 random bytes that you keep to yourself until they are due.",
    )


@strawberry.type
class EntropySettings:
    """What a table of any kind was opened with that concerns the fairness of its deal."""

    entropy: Entropy = strawberry.field(description="Whether players add entropy of their own to the deal.")
    reveal_seconds: int = strawberry.field(description="Time to reveal it in, from the start of the game.")
    beacon: str | None = strawberry.field(
        description="The public random value that goes into the deal, by its name; null where there is none."
    )
    sealed_until: datetime | None = strawberry.field(
        description="The seeds stay sealed until then at least; null where they are revealed with the result."
    )


def entropy_settings_of(options: EntropyOptions) -> dict[str, Any]:
    """Return the fields of ``EntropySettings``."""
    return {
        "entropy": options.entropy,
        "reveal_seconds": options.reveal_seconds,
        "beacon": options.beacon,
        "sealed_until": options.sealed_until,
    }


# Reading what is asked for

_WANTED: Final = {
    "reveal_seconds": "Time to reveal entropy in is 10 to 86,400 seconds, at a table that takes entropy.",
    "beacon": "A beacon is named in 1 to 200 letters, digits and ./:+=_- with single spaces inside.",
    "start_when_full": "A table with a beacon is started by its host, who gives its value: it can't start when full.",
    "sealed_until": "A time until which seeds are held back has its offset from UTC, as in 2030-05-01T12:00:00Z.",
}
_32_BYTES: Final = re.compile("[0-9a-f]{64}")
_BEACON: Final = re.compile("[0-9A-Za-z./:+=_-]+( [0-9A-Za-z./:+=_-]+)*")


def refused_option(error: ValidationError, wanted: Mapping[str, str]) -> InvalidInputError:
    """Tell of the first option that a table does not take, by what is wanted of it: of a kind's own, or of every table.

    Args:
        error: what the options were refused with.
        wanted: what to say of the kind's own options.
    """
    field = str(error.errors(include_input=False)[0]["loc"][0])
    first, *others = field.split("_")
    return invalid_input({**_WANTED, **wanted}[field], first + "".join(map(str.title, others)))


def read_32_bytes(text: str, name: str) -> str:
    """Return 32 bytes in lower-case hex.

    Raises:
        InvalidInput: they are not; the message does not repeat what may be a secret.
    """
    if not _32_BYTES.fullmatch(text):
        raise InvalidInput("These are 32 bytes in lower-case hex, which are 64 digits.", name)
    return text


def read_beacon(value: str | None) -> str | None:
    """Return the value of a beacon.

    Raises:
        InvalidInput: it is too long, or has characters that don't go into the salt of a deal.
    """
    if value is not None and (len(value) > MOST_BEACON or not _BEACON.fullmatch(value)):
        message = "A beacon's value has 1 to 200 letters, digits and ./:+=_- with single spaces inside."
        raise InvalidInput(message, "beacon")
    return value


# What is shown


@strawberry.enum(description="What can be said of a deal by its seeds.")
class Verification(Enum):
    """What can be said of a deal."""

    PENDING = strawberry.enum_value("pending", description="The game is not over, or its seeds are held back yet.")
    PROVED = strawberry.enum_value("proved", description="The seeds are revealed, and lead to what was committed to.")
    UNVERIFIABLE = strawberry.enum_value(
        "unverifiable",
        description="The game is over, and its seeds are missing, or lead to something else: trust nothing in it that "
        "you did not see yourself. It counts on no scoreboard, and in no statistics and ratings. Seeds that come out "
        "after all, since a lost key was found, make it PROVED.",
    )


def verification_of(table: Table, *, past: bool = False) -> Verification | None:
    """Tell what can be said of a game now, or could be at a position of the past; None of one called off undealt."""
    said = of_table(table, None if past else datetime.now(UTC))
    return None if said is None else Verification(said)


def verification_of_finished(*, proved: bool, due: datetime | None) -> Verification:
    """Tell what can be said now of a finished game, as ``domain.verification.of_finished`` does."""
    return Verification(of_finished(proved=proved, due=due, at=datetime.now(UTC)))


def verification_of_listed(status: Status, *, proved: bool, due: datetime | None) -> Verification | None:
    """Tell the same of a game that has come so far; ``proved`` and ``due`` count once it is finished."""
    match status:
        case Status.CANCELLED:
            return None
        case Status.FINISHED:
            return verification_of_finished(proved=proved, due=due)
        case _:
            return Verification.PENDING


@strawberry.type(description="What a player added to the deal.")
class PlayerEntropy:
    """A player's entropy."""

    player: Player = strawberry.field(description="Who.")
    commitment: str = strawberry.field(description="SHA-256 of the entropy's 32 bytes, hex.")
    entropy: str | None = strawberry.field(description="The bytes, hex; null until they are revealed.")


@strawberry.type(description="A public random value that goes into the deal.")
class Beacon:
    """A beacon."""

    name: str = strawberry.field(description="How the opening names it.")
    value: str | None = strawberry.field(description="Its value; null until the host has started the game with it.")


@strawberry.type(description="What proves the deal. docs/fairness.md says how to check it, and what it does not prove.")
class Fairness:
    """The commitments and what became of them."""

    algorithm: str = strawberry.field(description="The published algorithm of the deal.")
    deal: UUID = strawberry.field(description="The deal that the seeds belong to.")
    commitment: str = strawberry.field(description="s_0, hex: what the server committed to before the deal.")
    seeds: list[str] | None = strawberry.field(
        description="s_1, s_2, ... in hex: revealed when the game is over, or when they are held back no longer; null "
        "while they are sealed."
    )
    entropies: list[PlayerEntropy] = strawberry.field(
        description="What players committed to, in the order of joining; empty where none did."
    )
    beacon: Beacon | None = strawberry.field(description="The beacon; null where the table names none.")
    verification: Verification | None = strawberry.field(
        description="What can be said of the deal by its seeds; null for a game that was called off undealt."
    )


def fairness_of(table: Table, *, past: bool = False) -> Fairness | None:
    """Show what proves a deal, now or at a position of the past; nothing of a table that is not opened."""
    opened, revealed = table.opened, table.revealed
    if opened is None:
        return None
    entropies, beacon = _entropy(table) if isinstance(table, EntropyTable) else ([], None)
    return Fairness(
        algorithm=opened.dealing,
        deal=opened.deal,
        commitment=opened.commitment,
        seeds=list(revealed.seeds) if revealed else None,
        entropies=entropies,
        beacon=beacon,
        verification=verification_of(table, past=past),
    )


def _entropy(table: EntropyTable) -> tuple[list[PlayerEntropy], Beacon | None]:
    shown = [
        PlayerEntropy(player=player(one.player), commitment=one.commitment, entropy=one.entropy)
        for one in table.committed
    ]
    name = table.fairness.beacon
    return shown, None if name is None else Beacon(name=name, value=table.beacon or None)


USUAL_LENGTHS: Final = {"Fairness.seeds": 1, "Fairness.entropies": 3, "Game.entropyDue": 3, "EntropyDue.players": 3}
