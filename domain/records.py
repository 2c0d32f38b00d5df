"""Records: a game as lines of JSON, with the exact bytes of its events, for whoever keeps, replays or audits it.

A record is a header line, one line for each event, and a closing line. An archive is records, one after the other.
``docs/records.md`` is the specification.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from domain.decider import Digest
from domain.events import Event
from domain.lifecycle import Dealt, GameCancelled, GameFinished, GameOpened, PlayerSeated, SeedsRevealed

__all__ = [
    "FORMAT",
    "BrokenRecord",
    "Closing",
    "Header",
    "Record",
    "header_of",
    "stored_form",
    "write_record",
]

FORMAT: Final = "tic/record/v1"


class BrokenRecord(ValueError):
    """A line is not what a record has there: it is broken, or was edited."""

    def __init__(self, line: int, message: str, *, game: UUID | None = None, kind: str | None = None) -> None:
        super().__init__(f"line {line}: {message}")
        self.line: Final = line
        """The first wrong line, from 1."""
        self.message: Final = message
        """What is wrong with it."""
        self.game: Final = game
        """The game that the record's header names; None where the header could not be read."""
        self.kind: Final = kind
        """What the header says that it is a game of; None likewise."""

    def of(self, header: Header) -> BrokenRecord:
        """Return the same of a record whose header could be read."""
        return BrokenRecord(self.line, self.message, game=header.game, kind=header.kind)


class Header(BaseModel):
    """The first line: what the events say, for whoever looks for a game. Fields that are not known here are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    format: Literal["tic/record/v1"] = FORMAT
    game: UUID
    kind: str
    ruleset: int
    options: dict[str, Any]
    """As the opening has them."""
    seats: tuple[UUID, ...]
    """Who sits where, seat 1 first; empty where nothing was dealt."""
    commitment: Digest


class Closing(BaseModel):
    """The last line: that nothing is missing. Fields that are not known here are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    end: Literal["tic/record/v1"] = FORMAT
    events: int
    """How many there are."""
    hash: Digest
    """The last event's."""
    over: bool
    """Whether the game is finished, or was cancelled. A record of a running game is a beginning of what will be."""
    revealed: bool
    """Whether the seeds are out, so that the game can be dealt again from this record."""
    sha256: Digest
    """Of all lines before this one, their ends included."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read: the events are one unbroken chain, and every line is right where there is no misfit."""

    header: Header
    events: tuple[Event, ...]
    closing: Closing
    line: int = 1
    """Where its header stands."""
    misfit: BrokenRecord | None = None
    """The first line of an event that can't follow what stands before it; ``read_each`` alone lets one pass. The rules
    may find a line before it that is wrong already."""

    @property
    def game(self) -> UUID:
        """The game's id."""
        return self.header.game

    def lines(self) -> Iterator[bytes]:
        """Write it again, byte for byte as it was read."""
        yield _line(self.header)
        for event in self.events:
            yield event.data + b"\n"
        yield _line(self.closing)


# Writing


def write_record(events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the lines of a game's record, from all its events or from those up to the end of some command.

    It holds no more of them than those before the first deal, by which the seats are known.

    Raises:
        ValueError: there is no event, or the first one does not open a game.
    """
    coming = iter(events)
    begun = _until_the_deal(coming)
    header = _line(header_of(begun))
    digest, count, over = hashlib.sha256(header), 0, False
    yield header
    last = begun[0]
    for event in chain(begun, coming):
        line = event.data + b"\n"
        digest.update(line)
        count, last, over = count + 1, event, over or _ends(event)
        yield line
    revealed = isinstance(last.fact, SeedsRevealed)
    yield _line(Closing(events=count, hash=last.hash, over=over, revealed=revealed, sha256=digest.hexdigest()))


def _until_the_deal(coming: Iterator[Event]) -> list[Event]:
    """Take the events up to the first deal, or all of them where nothing is dealt."""
    begun: list[Event] = []
    for event in coming:
        begun.append(event)
        if isinstance(event.fact, Dealt):
            break
    return begun


def header_of(begun: Sequence[Event]) -> Header:
    """Return what the header says of a game that begins with these events, up to its first deal or further.

    Raises:
        ValueError: there is no event, or the first one does not open a game.
    """
    opened = begun[0].fact if begun else None
    if not isinstance(opened, GameOpened):
        raise ValueError("a record begins with the event that opens its game")  # noqa: TRY004 - no type is wrong
    told = opened.model_dump(mode="json")
    seats = tuple(event.fact.player for event in begun if isinstance(event.fact, PlayerSeated))
    return Header(
        game=begun[0].game,
        kind=opened.kind,
        ruleset=opened.ruleset,
        options=told["options"],
        seats=seats,
        commitment=opened.commitment,
    )


def _ends(event: Event) -> bool:
    return isinstance(event.fact, (GameFinished, GameCancelled))


def _line(part: BaseModel) -> bytes:
    return stored_form(part.model_dump(mode="json")) + b"\n"


def stored_form(fields: Any) -> bytes:
    """Write JSON in the one form that there is of it: as events are stored.

    Raises:
        ValueError: it holds a number or a text that JSON does not have.
    """
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()
