"""Reading records: whatever they hold comes from outside, and is hostile until it is parsed.

A record that is broken or was edited is refused, with the first line that is wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from domain.decider import AnyDecider, Misfit, write_instant
from domain.events import GENESIS, SERVER, Cause, Event, acting_player, must_be_portable, player_actor, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import CLOSING, GameOpened, SeedsRevealed, are_committed
from domain.record_lines import LONGEST_LINE, CountedLines, lines_of
from domain.records import FORMAT, BrokenRecord, Closing, Header, Record, header_of, stored_form

__all__ = ["LONGEST_LINE", "MOST_BROKEN", "MOST_BYTES", "MOST_EVENTS", "lines_of", "read_each", "read_record"]
__all__ += ["read_records"]

MOST_EVENTS: Final = 100_000
"""Events of one game that are read."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of the events of one game: more than so many of the usual length take."""
MOST_BROKEN: Final = 100
"""Broken records of one file that are told."""
PROOF: Final = b"c2sp.org/tlog-proof@v1"
"""With this line begins a proof that a log has a game, which lies beside records (``domain.notes``)."""


def read_record(lines: Iterable[bytes]) -> Record:
    """Read the one record that the lines hold, each with its end.

    Raises:
        BrokenRecord: a line is wrong, or one follows the record.
    """
    coming = CountedLines(lines)
    record = _Reading(coming).read(coming.next("the file is empty"))
    if coming.peek() is not None:
        raise BrokenRecord(coming.number + 1, "text follows the closing line")
    return record


def read_records(lines: Iterable[bytes]) -> Iterator[Record]:
    """Read the records of an archive one by one.

    Raises:
        BrokenRecord: a line is wrong; the records before it have been yielded.
    """
    coming = CountedLines(lines)
    line = coming.next("the file is empty")
    while True:
        yield _Reading(coming).read(line)
        if coming.peek() is None:
            return
        line = coming.next("")


def read_each(lines: Iterable[bytes]) -> Iterator[Record | BrokenRecord]:
    """Read the records of an archive one by one, and go on behind those that are broken: each is yielded or refused.

    A record with an event that can't follow what stands before it is yielded with its ``misfit``, for an auditor: the
    seeds at its end may show that what stands before is wrong. Nobody else should fold its events.
    After a wrong line the next header is where reading goes on. Lines may themselves end in a BrokenRecord. Behind
    ``MOST_BROKEN`` broken records reading stops, which one more says: a file may hold nothing else.
    """
    coming = CountedLines(lines)
    line: bytes | None = None
    begun = broken = 0
    while True:
        try:
            if line is None and coming.number and coming.peek() is None:
                return
            line = line or coming.next("the file is empty")
            begun = coming.number
            yield _Reading(coming, keeps_misfits=True).read(line)
            line = None
        except BrokenRecord as refused:
            yield refused
            broken += 1
            try:
                line = None if coming.breaks_off else _header_behind(coming, begun)
            except BrokenRecord as unreadable:  # the lines break off, and none of them is a header
                yield unreadable
                return
            if line is None:
                return
            if broken == MOST_BROKEN:
                yield BrokenRecord(coming.number, f"{broken} records before this line are broken: reading stops here")
                return


def _header_behind(coming: CountedLines, begun: int) -> bytes | None:
    """Take the next line that begins a record, whatever stands before it; None where there is none.

    Args:
        coming: the lines. That which was taken last may be such a one.
        begun: the line with which the record before it began.

    Raises:
        BrokenRecord: the lines break off before one.
    """
    if coming.number > begun and _is_header(coming.taken):
        return coming.taken
    while coming.peek() is not None:
        with suppress(BrokenRecord):
            if _is_header(line := coming.next("")):
                return line
    return None


def _is_header(line: bytes) -> bool:
    """Tell whether a line says that it begins a record. Whether it is right is another question."""
    try:
        stored = from_json(line) if b'"format"' in line else None
    except ValueError:
        return False
    return isinstance(stored, dict) and "format" in stored


M = TypeVar("M", Header, Closing)


class _Reading:
    """One record on its way in.

    Every event names the hash of the one before. So a line that was altered is known by the next one, and whether that
    one was altered itself is known by the one after it.
    """

    def __init__(self, lines: CountedLines, *, keeps_misfits: bool = False) -> None:
        self._lines: Final = lines
        self._keeps_misfits: Final = keeps_misfits
        self._misfit: BrokenRecord | None = None
        """From here on nothing is folded."""
        self._events: Final[list[Event]] = []
        self._head = GENESIS
        self._bytes = 0
        # Known from the first event on.
        self._decider: AnyDecider
        self._table: Any

    def read(self, line: bytes) -> Record:
        """Read the record that begins with a line.

        Raises:
            BrokenRecord: a line is wrong.
        """
        header = self._header(line)
        try:
            return self._behind(header, line)
        except BrokenRecord as broken:
            first = broken if self._misfit is None or broken.line < self._misfit.line else self._misfit
            raise first.of(header) from None

    def _behind(self, header: Header, line: bytes) -> Record:
        first = self._lines.number
        digest = hashlib.sha256(line)
        while True:
            line = self._lines.next("the record ends here without its closing line")
            stored = self._parsed(line)
            if "end" in stored:
                break
            if "format" in stored:
                raise self._wrong("a header stands before the closing line of the record before it")
            self._take(line, stored)
            digest.update(line)
        closing = self._closing(line, digest.hexdigest())
        self._must_agree(first, header)
        if closing.sha256 != digest.hexdigest():
            # Of a header that the events vouch for, the closing line is left.
            wrong = first if header.model_extra else self._lines.number
            raise BrokenRecord(wrong, "the header is not the one that the record was closed with")
        misfit = None if self._misfit is None else self._misfit.of(header)
        return Record(header, tuple(self._events), closing, first, misfit)

    def _wrong(self, message: str) -> BrokenRecord:
        return BrokenRecord(self._lines.number, message)

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            stored = from_json(line, allow_inf_nan=False)
        except ValueError:
            raise self._wrong("it is not JSON") from None
        if not isinstance(stored, dict):
            raise self._wrong("it is not a JSON object")
        return stored

    def _header(self, line: bytes) -> Header:
        if line.rstrip() == PROOF:
            raise self._wrong("it begins a proof that the log has a game, and no record: give proofs with --proofs")
        stored = self._parsed(line)
        if "format" not in stored:
            raise self._wrong(f"it is not the header of a record: it has no format {FORMAT}")
        if stored["format"] != FORMAT:
            raise self._wrong(f"the format {_quoted(stored['format'])} is not known here, but {FORMAT}")
        return self._model(Header, line, "a header")

    def _model(self, model: type[M], line: bytes, name: str) -> M:
        """Read a header or a closing line."""
        try:
            part = model.model_validate_json(line, strict=True)
        except ValidationError as error:
            field, *_ = error.errors(include_input=False, include_url=False)
            where = ".".join(map(str, field["loc"]))
            raise self._wrong(f"{where} is not what {name} has there: {field['msg']}") from None
        if not _is_stored_form(part.model_dump(mode="json"), line):
            raise self._wrong("it is not written as records are: keys sorted, none twice, no spaces")
        return part

    # An event

    def _take(self, line: bytes, stored: dict[str, Any]) -> None:
        if len(self._events) == MOST_EVENTS:
            raise self._wrong(f"a record that is read has at most {MOST_EVENTS} events")
        self._bytes += len(line)
        if self._bytes > MOST_BYTES:
            raise self._wrong(f"the events of a record that is read have at most {MOST_BYTES} bytes")
        event = self._event(line[:-1], stored)
        seq = len(self._events) + 1
        if event.seq != seq:
            raise self._wrong(f"this is event {event.seq}, and event {seq} should stand here")
        if event.prev != self._head:
            raise self._break_before(event)
        self._must_follow(event)
        self._fold(event)
        self._events.append(event)
        self._head = event.hash

    def _event(self, data: bytes, stored: dict[str, Any]) -> Event:
        """Read an event, which must stand as it is stored: no other bytes mean the same."""
        topic, version = stored.get("type"), stored.get("v")
        fact_type = FACT_TYPES.get(topic) if isinstance(topic, str) else None
        if fact_type is None:
            if "seq" not in stored:
                raise self._wrong("it is neither an event nor a closing line")
            raise self._wrong(f"this program knows no fact {_quoted(topic)}")
        if type(version) is not int or not 1 <= version <= fact_type.version:
            raise self._wrong(f"this program does not know version {_quoted(version)} of {topic}")
        try:
            event = read_event(data, FACT_TYPES)
            written = event.fact.model_dump(mode="json") if version == fact_type.version else stored["fact"]
        except (ValueError, OverflowError):
            raise self._wrong(f"it is not an event with the fact {topic}") from None
        try:
            must_be_portable(stored.values())
            as_stored = _is_envelope(stored, event) and _is_stored_form({**stored, "fact": written}, data)
        except (ValueError, OverflowError):  # a number that not every reader knows, a time that is none in UTC
            as_stored = False
        if not as_stored:
            raise self._wrong("it is not the stored form of an event")
        return event

    def _break_before(self, event: Event) -> BrokenRecord:
        """Tell which line is wrong where an event does not name the hash of the one before it."""
        here, following = self._lines.number, self._lines.peek()
        vouched = False
        if following is not None:
            with suppress(BrokenRecord):
                after = self._parsed(following)
                vouched = event.hash in (after.get("prev"), after.get("hash"))
        if vouched and self._events:
            return BrokenRecord(here - 1, "its bytes are not those whose hash the next event names")
        return BrokenRecord(here, "the chain is broken: `prev` is not the hash of the event before")

    def _must_follow(self, event: Event) -> None:
        """Refuse what no game's log has after what stands before."""
        if not self._events:
            self._open(event)
            return
        before = self._events[-1]
        if event.game != before.game:
            raise self._wrong("this is an event of another game")
        if isinstance(event.fact, GameOpened):
            raise self._wrong("a game is opened once")
        if isinstance(before.fact, CLOSING):
            raise self._wrong(f"no event follows {before.fact.topic}")
        if type(event.fact) not in self._decider.facts:
            raise self._wrong(f"{event.fact.topic} is no fact of {self._decider.kind}")
        if before.part < before.parts:
            if (event.part, event.parts, event.cause) != (before.part + 1, before.parts, before.cause):
                raise self._wrong(f"part {before.part + 1} of {before.parts} of a command should stand here")
        elif event.part != 1:
            raise self._wrong(f"part {event.part} of a command stands where one begins")
        if event.cause.at < before.cause.at:
            raise self._wrong("it happened before the event that stands before it")

    def _open(self, event: Event) -> None:
        opened = event.fact
        if not isinstance(opened, GameOpened) or event.part != 1:
            raise self._wrong("the first event does not open a game")
        decider = DECIDERS.get((opened.kind, opened.ruleset))
        if decider is None:
            raise self._wrong(f"this program knows no ruleset {opened.ruleset} of {opened.kind}")
        if opened.deal != event.game:
            raise self._wrong("the deal is that of another game")
        self._decider, self._table = decider, decider.empty(None)

    def _fold(self, event: Event) -> None:
        if self._misfit is not None:
            return
        fact, table = event.fact, self._table
        if isinstance(fact, SeedsRevealed) and not are_committed(fact, table):
            raise self._wrong("the seeds are not those that the first event commits to")
        try:
            self._decider.must_fit(table, fact)
            self._table = self._decider.evolve(table, fact)
        except Misfit as misfit:
            self._misfit = self._wrong(str(misfit))
        except Exception:  # noqa: BLE001 - it is what evolve does with what it was not written for
            self._misfit = self._wrong(f"{fact.topic} can't have happened after what stands before it")
        if self._misfit is not None and not self._keeps_misfits:
            raise self._misfit

    # The end

    def _closing(self, line: bytes, digest: str) -> Closing:
        closing = self._model(Closing, line, "a closing line")
        if not self._events:
            raise self._wrong("the record has no events")
        last, here = self._events[-1], self._lines.number
        if closing.events != len(self._events):
            raise self._wrong(f"it tells of {closing.events} events, and there are {len(self._events)}")
        if closing.hash != last.hash:
            if closing.sha256 != digest:
                raise BrokenRecord(here - 1, "its bytes are not those whose hash the closing line names")
            raise self._wrong("it does not name the hash of the last event")
        if last.part != last.parts:
            raise self._wrong(f"part {last.part + 1} of {last.parts} of the last command is missing")
        over_and_revealed = (self._table.over, self._table.revealed is not None)
        if self._misfit is None and (closing.over, closing.revealed) != over_and_revealed:
            raise self._wrong("it does not tell rightly whether the game is over, or its seeds are out")
        return closing

    def _must_agree(self, first: int, header: Header) -> None:
        """Refuse a header that does not say what the events say, which are known to be right by now."""
        told, says = (each.model_dump(mode="json") for each in (header_of(self._events), header))
        for name, value in told.items():
            if stored_form(value) != stored_form(says[name]):  # where 1 is not true, as it is for Python
                raise BrokenRecord(first, f"{name} is not what the events say")


def _is_envelope(stored: dict[str, Any], event: Event) -> bool:
    """Tell whether an envelope has the fields that it must have, each of its type and in its one form."""
    return (
        stored.keys() == _ENVELOPE
        and stored["game"] == str(event.game)
        and all(type(stored[name]) is int and stored[name] > 0 for name in ("seq", "part", "of"))
        and stored["part"] <= stored["of"]
        and _is_digest(event.prev)
        and _is_cause(stored, event.cause)
    )


def _is_cause(stored: dict[str, Any], cause: Cause) -> bool:
    return (
        all(digest is None or _is_digest(digest) for digest in (cause.key, cause.content))
        and (cause.key is None) == (cause.content is None)
        and cause.at.tzinfo is not None
        and stored["at"] == write_instant(cause.at)
        and _is_actor(cause.actor)
    )


def _is_actor(actor: object) -> bool:
    if not isinstance(actor, str):
        return False
    try:
        player = acting_player(actor)
    except ValueError:
        return False
    return actor == (SERVER if player is None else player_actor(player))


_ENVELOPE: Final = {"actor", "at", "content", "fact", "game", "key", "of", "part", "prev", "seq", "type", "v"}


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == len(GENESIS) and set(value) <= _HEX


_HEX: Final = frozenset("0123456789abcdef")


def _is_stored_form(fields: Any, line: bytes) -> bool:
    try:
        return stored_form(fields) == line.removesuffix(b"\n")
    except ValueError:  # a number or a text that JSON does not have
        return False


def _quoted(value: object) -> str:
    """Show what stands in a line that may hold anything."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]} ..."
