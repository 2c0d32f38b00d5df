"""Whether the server lives, and whether it is ready: what whoever balances load, or watches over processes, asks.

A probe asks nobody. A thread looks at the database every two seconds, over the pool that is there already; a probe is
told what that look found and how long ago it was. So a probe costs nothing, however many come, and one that can't be
answered well is answered at once.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from domain.storage import Datastore, PersistenceError
from projections.tables import Projection

__all__ = ["Behind", "Bounds", "Look", "Pulse", "health_routes"]

LOOK_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 6.0
"""Without a look that is younger than this, the database counts as silent."""
MOST_ENDS: Final = 3_600
"""Of the log's ends that are remembered: with one every two seconds, of the last two hours."""

_logger: Final = structlog.get_logger(__name__)

_LOOK: Final = (
    "SELECT (SELECT coalesce(max(notification_id), 0) FROM public.game_events) AS log_end,"
    " current_setting('transaction_read_only') = 'on' AS read_only,"
    " (SELECT json_object_agg(name, json_build_array(position, version)) FROM read_models.projection_positions)"
    " AS positions,"
    " (SELECT json_build_array(size, extract(epoch FROM signed_at)) FROM public.log_checkpoints"
    " ORDER BY size DESC LIMIT 1) AS signed"
)


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a follower is behind the log."""

    events: int
    """Positions in the log that it has not come to; a few may be gaps, so this is what it lacks at most."""
    seconds: float
    """For how long the log has been further than the follower is, as far as this process has seen."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in the database."""

    at: float
    """When it was asked, by the pulse's clock."""
    seconds: float
    """How long the answer took."""
    log_end: int
    """The position of the newest event."""
    is_read_only: bool
    """Whether it takes no writes: a standby, or one whose disk is full."""
    behind: Mapping[str, Behind | None]
    """By read model; None where its tables are another program's, or are being made."""
    signed: tuple[int, float] | None
    """Of the newest checkpoint: how many events were signed, and when (seconds since 1970)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a follower may be behind on a server that is ready; 0 where that does not matter."""

    seconds: float
    events: int

    def allow(self, behind: Behind | None) -> bool:
        """Tell whether it may."""
        if behind is None:
            return True
        return not (0 < self.seconds < behind.seconds or 0 < self.events < behind.events)


class _Ends:
    """Where the log ended, look after look: how long ago it had an event that a follower has not come to."""

    def __init__(self) -> None:
        self._positions: Final[list[int]] = []
        self._times: Final[list[float]] = []

    def note(self, at: float, end: int, *, needed: int) -> None:
        """Take an end, and forget those that are not after ``needed``, the position of the last of the followers."""
        if not self._positions or self._positions[-1] < end:
            self._positions.append(end)
            self._times.append(at)
        elif self._positions[-1] > end:  # an older backup was restored
            self._positions[:], self._times[:] = [end], [at]
        forgotten = max(bisect_right(self._positions, needed), len(self._positions) - MOST_ENDS)
        del self._positions[:forgotten], self._times[:forgotten]

    def behind(self, now: float, position: int, end: int) -> Behind:
        """Tell how far a position is behind."""
        if position >= end:
            return Behind(0, 0.0)
        first = bisect_right(self._positions, position)
        return Behind(end - position, now - self._times[first] if first < len(self._times) else 0.0)


class Pulse:
    """Looks at the database again and again, in a thread of its own, and tells what was found last."""

    def __init__(
        self,
        datastore: Datastore,
        projections: Iterable[Projection],
        *,
        bounds: Bounds | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the read models, and how far behind they may be; None where that is not this process's business."""
        self._datastore: Final = datastore
        self._versions: Final = {projection.name: projection.version for projection in projections}
        self._bounds: Final = bounds
        self._clock: Final = clock
        self._ends: Final = _Ends()
        self._is_told = False
        self.last: Look | None = None
        """What was found last."""

    def run(self, stop: threading.Event) -> None:
        """Look until ``stop`` is set, also over times when the database is away."""
        while not stop.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception:  # the next look may find what this one could not
                _logger.exception("whether this server is ready could not be looked at")

    def look(self) -> None:
        """Look once. Where the database does not answer, what was found before stands, and grows old."""
        began = self._clock()
        try:
            row = self._datastore.read(_LOOK, ())[0]
        except PersistenceError as error:
            if not self._is_told:
                _logger.warning("the database does not answer: this server is not ready", error=type(error).__name__)
            self._is_told = True
            return
        now, end, positions = self._clock(), int(row["log_end"]), dict(row["positions"] or {})
        known = {
            name: int(positions[name][0]) if name in positions and positions[name][1] == version else None
            for name, version in self._versions.items()
        }
        self._ends.note(began, end, needed=min((place for place in known.values() if place is not None), default=end))
        behind = {
            name: None if place is None else self._ends.behind(began, place, end) for name, place in known.items()
        }
        signed = (int(row["signed"][0]), float(row["signed"][1])) if row["signed"] else None
        self.last = Look(began, now - began, end, bool(row["read_only"]), behind, signed)
        if self._is_told:
            _logger.info("the database answers again")
        self._is_told = False

    @property
    def answers(self) -> bool:
        """Whether the database has answered within the last seconds."""
        return self.last is not None and self._clock() - self.last.at <= ANSWER_SECONDS

    def parts(self) -> dict[str, dict[str, Any]]:
        """Return each part of the server that must be ready, with what was found of it."""
        look = self.last
        if look is None or not self.answers:
            return {"database": {"ready": False, "reason": "it does not answer"}}
        if look.is_read_only:
            return {"database": {"ready": False, "reason": "it takes no writes"}}
        parts: dict[str, dict[str, Any]] = {"database": {"ready": True}}
        if self._bounds is None:
            return parts
        for name, behind in look.behind.items():
            parts[name] = {"ready": self._bounds.allow(behind)}
            if behind is not None:
                parts[name] |= {"eventsBehind": behind.events, "secondsBehind": round(behind.seconds, 1)}
        return parts


def health_routes(pulse: Callable[[], Pulse | None]) -> list[Route]:
    """Return ``/healthz`` and ``/readyz``; ``pulse`` tells None while the server starts or stops."""

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n", headers=_FRESH)

    async def ready(_: Request) -> Response:
        found = pulse()
        if found is None:
            parts: dict[str, dict[str, Any]] = {"server": {"ready": False, "reason": "it starts or stops"}}
        else:
            parts = found.parts()
        is_ready = all(part["ready"] for part in parts.values())
        return JSONResponse({"ready": is_ready, "parts": parts}, 200 if is_ready else 503, headers=_FRESH)

    return [Route("/healthz", healthy), Route("/readyz", ready)]


_FRESH: Final = {"cache-control": "no-store"}
