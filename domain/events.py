"""A fact in its envelope: the exact bytes that are stored and hashed, and the chain that joins them.

The bytes are UTF-8 JSON with sorted keys, no spaces, no floats and integers within 2^53. Whoever verifies hashes
the bytes as they are given and never serialises anything again. ``docs/events.md`` is the specification.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from pydantic_core import from_json

from domain.decider import Command, Fact, write_instant

__all__ = [
    "GENESIS",
    "SERVER",
    "Cause",
    "Event",
    "FactTypes",
    "UnknownEvent",
    "acting_player",
    "chain",
    "chain_hash",
    "content_digest",
    "key_digest",
    "must_be_known",
    "must_be_portable",
    "player_actor",
    "read_event",
]

GENESIS: Final = "0" * 64
"""``prev`` of a game's first event."""
SERVER: Final = "server"
"""The actor of what the server does by itself."""
MAX_INTEGER: Final = 2**53

FactTypes = Mapping[str, type[Fact]]
"""Every fact by its topic."""


class UnknownEvent(Exception):
    """A newer program has written this: a fact, a version of a fact, or rules that this one does not know."""


def chain_hash(data: bytes) -> str:
    """Return an event's hash, hex, from its bytes as stored."""
    return hashlib.sha256(b"tic/event/v1\n" + data).hexdigest()


def player_actor(player: UUID) -> str:
    """Name a player as an actor: by the random id, which tells nothing else."""
    return f"player:{player}"


def acting_player(actor: str) -> UUID | None:
    """Return the player whom an actor names; None for the server."""
    who, _, player = actor.partition(":")
    return UUID(player) if who == "player" else None


def key_digest(who: UUID | str, key: str) -> str:
    """Return what stands in the log for an idempotency key: SHA-256 of the player, or the server, and the key, hex."""
    return hashlib.sha256(f"tic/key/v1\n{who}\n{key}".encode()).hexdigest()


def content_digest(command: Command, key: str) -> str:
    """Return the digest of what a command asks for, hex: the same key must come with the same content.

    It is an HMAC under the idempotency key, which is in the log as a digest only: what a command says of hidden cards
    can't be found by trying.
    """
    content = json.dumps(command.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hmac.digest(key.encode(), f"tic/command/v1\n{command.name}\n{content}".encode(), "sha256").hex()


class Cause(NamedTuple):
    """Who asked for what, and when: what the events of one command share."""

    actor: str
    at: datetime
    """In UTC, by the database's clock; never before the event that precedes."""
    key: str | None = None
    """See ``key_digest``; None where the command came without an idempotency key."""
    content: str | None = None
    """See ``content_digest``; None where there is no key."""


class Event(NamedTuple):
    """A fact in its envelope.

    ``originator_id`` and ``originator_version`` are the eventsourcing library's names for the game and the
    sequence number.
    """

    originator_id: UUID
    originator_version: int
    fact: Fact
    cause: Cause
    part: int
    """1..parts: the facts of one command stand together."""
    parts: int
    prev: str
    """The hash of the event before."""
    data: bytes
    """The bytes as stored."""

    @property
    def game(self) -> UUID:
        """The game's id."""
        return self.originator_id

    @property
    def seq(self) -> int:
        """The sequence number in the game, from 1."""
        return self.originator_version

    @property
    def hash(self) -> str:
        """The hash of the bytes, hex; computed when it is asked for."""
        return chain_hash(self.data)


def chain(game: UUID, version: int, head: str, facts: Sequence[Fact], cause: Cause) -> tuple[Event, ...]:
    """Put the facts of one command into envelopes that follow the event ``head`` of a game at ``version``."""
    events: list[Event] = []
    for part, fact in enumerate(facts, 1):
        seq = version + part
        data = _write(
            {
                "actor": cause.actor,
                "at": write_instant(cause.at),
                "content": cause.content,
                "fact": fact.model_dump(mode="json"),
                "game": str(game),
                "key": cause.key,
                "of": len(facts),
                "part": part,
                "prev": head,
                "seq": seq,
                "type": fact.topic,
                "v": fact.version,
            }
        )
        event = Event(game, seq, fact, cause, part, len(facts), head, data)
        events.append(event)
        head = event.hash
    return tuple(events)


def must_be_known(topic: str, version: int, types: FactTypes) -> type[Fact]:
    """Return the type of a fact.

    Raises:
        UnknownEvent: there is none of that topic, or this program knows older versions of it only.
    """
    fact_type = types.get(topic)
    if fact_type is None:
        raise UnknownEvent(f"this program knows no fact {topic}")
    if version > fact_type.version:
        raise UnknownEvent(f"{topic} version {version} is not known here (this program knows {fact_type.version})")
    return fact_type


def read_event(data: bytes, types: FactTypes) -> Event:
    """Read an event from its stored bytes.

    Raises:
        UnknownEvent: a newer program has written it.
        ValueError: the bytes are not an event.
    """
    try:
        stored: dict[str, Any] = from_json(data, allow_inf_nan=False)
        version, fact = stored["v"], stored["fact"]
        fact_type = must_be_known(stored["type"], version, types)
        if version != fact_type.version:
            fact = fact_type.upcast(fact, version)
        return Event(
            _uuid(stored["game"]),
            stored["seq"],
            fact_type.__pydantic_validator__.validate_python(fact),
            Cause(stored["actor"], datetime.fromisoformat(stored["at"]), stored["key"], stored["content"]),
            stored["part"],
            stored["of"],
            stored["prev"],
            data,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"these bytes are not an event that this program knows: {error!r}") from error


_uuid = lru_cache(maxsize=1024)(UUID)
"""A game's events are read together, and all of them name the game."""


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _write(fields: dict[str, Any]) -> bytes:
    must_be_portable(fields.values())
    return _ENCODER.encode(fields).encode()


def must_be_portable(values: Iterable[Any]) -> None:
    """Refuse numbers that some JSON reader would not give back as they were written, and what is not JSON at all.

    Raises:
        ValueError: there is a float, an integer beyond 2^53, or what JSON does not have.
    """
    for value in values:
        kind = type(value)
        if kind is str or value is None or kind is bool or (kind is int and -MAX_INTEGER <= value <= MAX_INTEGER):
            continue
        if kind is dict:
            must_be_portable(value.values())
        elif kind is list or kind is tuple:
            must_be_portable(value)
        else:
            raise ValueError(f"{value!r} does not belong into an event: no floats, integers within 2^53")
