"""Operations as they are seen from outside: by metrics, by traces, by whoever else is to be told of them.

What is told has few values, all of them ours: names of the schema, codes of faults, kinds of games. Nothing that a
client has written is among them, but for a request id and a traceparent of the forms that are taken over.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, Final, Literal, Protocol, Self

from graphql import OperationType

__all__ = ["Instrument", "Observation", "Observatory", "Transport", "observed"]

Transport = Literal["http", "sse", "websocket"]
"""How an operation came, and how it is answered."""

_WORST: Final = ("INTERNAL", "UNAVAILABLE")
"""Of several errors in an answer these are told first."""
_TRACEPARENT: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

_current: Final[ContextVar[Observation | None]] = ContextVar("observation", default=None)


def observed() -> Observation | None:
    """Return the operation that runs here; None outside of any."""
    return _current.get()


class Instrument(Protocol):
    """Measures operations. It must not block, and it raises nothing."""

    def found(self, operation: Observation) -> None:
        """Learn that an operation was found in its document, and begins."""

    def operated(self, operation: Observation) -> None:
        """Learn that an operation is over."""

    def stalled(self, transport: Transport) -> None:
        """Learn that a client was cut off which took nothing of what was sent."""


class Observation:
    """One operation from its coming to its end; there may be thousands at a time, so it is small."""

    __slots__ = (
        "_reset",
        "_told",
        "began",
        "commands",
        "fields",
        "outcome",
        "parent",
        "request_id",
        "transport",
        "type",
    )

    def __init__(
        self, transport: Transport, request_id: str, told: Sequence[Instrument], parent: str | None = None
    ) -> None:
        self.transport: Transport = transport
        self.request_id: Final = request_id
        self.parent: Final = parent
        """The traceparent that came with it, of a form that can be read."""
        self.began: Final = time.perf_counter()
        self.type: OperationType | None = None
        """None as long as no operation was found."""
        self.fields: tuple[str, ...] = ()
        """The schema's names of the fields at its top."""
        self.outcome: str | None = None
        """``ok``, or the code of what is worst in the answer, in small letters; ``left`` where the client was gone."""
        self.commands: tuple[tuple[str, str], ...] = ()
        """What became of its commands: the kind of game, and the type of the answer."""
        self._told: Final = told
        self._reset: Token[Observation | None] | None = None

    @property
    def seconds(self) -> float:
        """How long ago it came."""
        return time.perf_counter() - self.began

    def found(self, type_: OperationType, fields: tuple[str, ...]) -> None:
        """Say what it is."""
        self.type, self.fields = type_, fields
        for instrument in self._told:
            instrument.found(self)

    def answered(self, errors: Iterable[Mapping[str, Any]] | None) -> None:
        """Say what it is answered: the errors of the response, as they are sent. The first answer counts."""
        if self.outcome is None:
            codes = [error["extensions"]["code"] for error in errors or ()]
            self.outcome = next((code for code in (*_WORST, *codes) if code in codes), "ok").lower()

    def commanded(self, kind: str, outcome: str) -> None:
        """Say what became of a command to a game."""
        if self._told:
            self.commands += ((kind, outcome),)

    def __enter__(self) -> Self:
        """Have ``observed`` return it."""
        self._reset = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Tell its end, if there was an operation at all, or the lack of one was told."""
        if self._reset is not None:
            _current.reset(self._reset)
        if self.outcome is None:
            if self.type is None:
                return
            self.outcome = "ok" if self.type is OperationType.SUBSCRIPTION else "left"
        for instrument in self._told:
            instrument.operated(self)


class Observatory:
    """Where operations are observed from: all instruments of one server."""

    def __init__(self, *instruments: Instrument, parents: bool = False) -> None:
        """Take the instruments; with ``parents``, the traceparent of each request is read for them."""
        self._instruments: Final = instruments
        self._parents: Final = parents

    def operation(
        self, transport: Transport, request_id: str, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> Observation:
        """Begin to observe an operation."""
        return Observation(transport, request_id, self._instruments, _parent(headers) if self._parents else None)

    def stalled(self, transport: Transport) -> None:
        """Say that a client was cut off which took nothing of what was sent."""
        for instrument in self._instruments:
            instrument.stalled(transport)


def _parent(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    found = [value for name, value in headers if name == b"traceparent"]
    return found[0].decode() if len(found) == 1 and _TRACEPARENT.fullmatch(found[0]) else None
