"""What an operator can measure, in the form of Prometheus. One registry for each application.

Labels have few values, all of them ours: kinds of games, fields of the schema, codes of faults, routes, read models. No
id, and nothing that a client has written, is a label: whoever made up new ones would fill the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any, Final, Generic, TypeVar

from graphql import OperationType
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from api.errors import InvalidInput
from api.observing import Observation, Transport
from domain.application import (
    GameNotFound,
    KeyReused,
    NotHandled,
    NotSeated,
    Outcome,
    SealedElsewhere,
    Undecided,
    VersionConflict,
    WrongKind,
)
from domain.decider import RuleViolation
from domain.events import UnknownEvent
from domain.games import RULESETS
from domain.storage import DATABASE_AWAY

__all__ = ["Metrics", "outcome_of"]

disable_created_metrics()  # type: ignore[no-untyped-call]  # a line more for each counter, of which nobody asks anything

M = TypeVar("M", bound=MetricWrapperBase)

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
FEEL_SECONDS: Final = 1.0
COMMANDS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""In one batch: see ``domain.gathering.MOST``."""

OUTCOMES: Final[tuple[tuple[str, type[BaseException] | tuple[type[BaseException], ...]], ...]] = (
    ("violation", RuleViolation),
    ("conflict", VersionConflict),
    ("key_reused", KeyReused),
    ("not_found", GameNotFound),
    ("not_seated", NotSeated),
    ("wrong_kind", WrongKind),
    ("sealed_elsewhere", SealedElsewhere),
    ("invalid_input", InvalidInput),
    ("refused", NotHandled),
    ("undecided", Undecided),
    ("unavailable", DATABASE_AWAY),
    ("newer_game", UnknownEvent),
)
"""What becomes of a command that is neither ``accepted`` nor ``repeated``; else it has ``failed``."""


def outcome_of(result: object) -> str:
    """Name what became of a command."""
    if isinstance(result, Outcome):
        return "repeated" if result.repeated else "accepted"
    return next((name for name, error in OUTCOMES if isinstance(result, error)), "failed")


class _By(Generic[M]):
    """The children of a metric by their labels, found without the lock that the library takes."""

    __slots__ = ("_children", "_metric")

    def __init__(self, metric: M) -> None:
        self._metric: Final = metric
        self._children: Final[dict[tuple[str, ...], M]] = {}

    def __call__(self, *labels: str) -> M:
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._metric.labels(*labels)
        return child


class Metrics:
    """The metrics of one application. It is an ``Instrument``, an ``Observer`` of games, and counts requests."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        registry = self.registry
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        Gauge("tic_info", "Which program this is.", ("version",), registry=registry).labels(version("tic-server")).set(
            1
        )

        self._appends: Final = Counter("tic_appends", "Batches of commands that are on disk.", registry=registry)
        self._events: Final = Counter("tic_appended_events", "Events that are on disk.", registry=registry)
        self._not_appended: Final = Counter(
            "tic_append_failures",
            "Batches that the database did not take, or not so that it can be told.",
            registry=registry,
        )
        self._batch: Final = Histogram(
            "tic_append_commands", "Commands in one batch.", buckets=COMMANDS, registry=registry
        )
        self._append_seconds: Final = Histogram(
            "tic_append_seconds", "From the offer of a batch to its commit.", buckets=SECONDS, registry=registry
        )
        self._commands: Final = _By(
            Counter(
                "tic_commands", "Commands to games, the server's own included.", ("kind", "outcome"), registry=registry
            )
        )
        self._command_seconds: Final = _By(
            Histogram(
                "tic_command_seconds",
                "From the asking for a command to its outcome.",
                ("kind",),
                buckets=SECONDS,
                registry=registry,
            )
        )
        self._operations: Final = _By(
            Counter(
                "tic_graphql_operations", "GraphQL operations that are over.", ("type", "outcome"), registry=registry
            )
        )
        self._operation_seconds: Final = _By(
            Histogram(
                "tic_graphql_operation_seconds",
                "From a query or mutation to its answer.",
                ("type",),
                buckets=SECONDS,
                registry=registry,
            )
        )
        self._subscriptions: Final = _By(
            Gauge("tic_subscriptions", "Subscriptions that are open.", ("field", "transport"), registry=registry)
        )
        self._slow: Final = _By(
            Counter(
                "tic_slow_readers",
                "Clients that were cut off: too many events waited (backlog), or nothing of what was sent was taken"
                " (stalled).",
                ("transport", "reason"),
                registry=registry,
            )
        )
        self._requests: Final = _By(
            Counter("tic_http_requests", "HTTP requests that were answered.", ("route", "status"), registry=registry)
        )
        self._request_seconds: Final = _By(
            Histogram(
                "tic_http_request_seconds",
                "From a request to the beginning of its answer.",
                ("route",),
                buckets=SECONDS,
                registry=registry,
            )
        )
        self._websockets: Final = Gauge("tic_websockets", "WebSockets that are open.", registry=registry)
        self.loop_delay: Final = Histogram(
            "tic_event_loop_delay_seconds",
            "How much later than asked for the event loop comes to something, looked at once a second.",
            buckets=SECONDS,
            registry=registry,
        )

        self._begin_at_none()

    async def feel_the_loop(self) -> None:
        """Measure, until cancelled, how late the event loop is."""
        clock = asyncio.get_running_loop().time
        while True:
            due = clock() + FEEL_SECONDS
            await asyncio.sleep(FEEL_SECONDS)
            self.loop_delay.observe(max(0.0, clock() - due))

    def _begin_at_none(self) -> None:
        """Show the faults that an alert waits for from the start: of a counter that is new, no growth is seen."""
        for kind in (*RULESETS, "unknown"):
            for outcome in ("undecided", "unavailable", "failed"):
                self._commands(kind, outcome)
        for type_ in OperationType:
            for outcome in ("internal", "unavailable"):
                self._operations(type_.value, outcome)
        for transport in ("sse", "websocket"):
            for reason in ("backlog", "stalled"):
                self._slow(transport, reason)

    def add(self, read: Callable[[], Iterable[Any]]) -> Callable[[], None]:
        """Have what ``read`` returns among the metrics from now on; return what ends that."""
        collector = _Readings(read)
        self.registry.register(collector)
        return lambda: self.registry.unregister(collector)

    def written(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics as text, in the format that an Accept header asks for, and its media type."""
        encode, media_type = choose_encoder(accept)
        return encode(self.registry), media_type

    # Commands: see domain.observing

    def ended(self, kind: str | None, result: object, seconds: float) -> None:
        """Count a command."""
        name = kind or "unknown"
        self._commands(name, outcome_of(result)).inc()
        self._command_seconds(name).observe(seconds)

    def appended(self, commands: int, events: int, seconds: float) -> None:
        """Count a batch."""
        self._appends.inc()
        self._events.inc(events)
        self._batch.observe(commands)
        self._append_seconds.observe(seconds)

    def not_appended(self) -> None:
        """Count a batch that is not on disk."""
        self._not_appended.inc()

    # Requests: see api.requests

    def requested(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests(route, str(status)).inc()
        self._request_seconds(route).observe(seconds)

    def connected(self, change: int) -> None:
        """Count WebSockets."""
        self._websockets.inc(change)

    # Operations: see api.observing. It is told of them in the loop's thread.

    def found(self, operation: Observation) -> None:
        """Count a subscription that begins."""
        if operation.type is OperationType.SUBSCRIPTION:
            self._subscriptions(_field(operation), operation.transport).inc()

    def operated(self, operation: Observation) -> None:
        """Count an operation that is over."""
        kind, outcome = operation.type.value if operation.type else "unknown", operation.outcome or "left"
        self._operations(kind, outcome).inc()
        if operation.type is OperationType.SUBSCRIPTION:
            self._subscriptions(_field(operation), operation.transport).dec()
            if outcome == "slow_reader":
                self._slow(operation.transport, "backlog").inc()
        elif operation.type is not None:
            self._operation_seconds(kind).observe(operation.seconds)

    def stalled(self, transport: Transport) -> None:
        """Count a client that was cut off."""
        self._slow(transport, "stalled").inc()


def _field(operation: Observation) -> str:
    """Return the one field of a subscription: a valid one has no other."""
    return operation.fields[0] if len(operation.fields) == 1 else "other"


class _Readings(Collector):
    """Asks for what is measured elsewhere, at each scrape."""

    def __init__(self, read: Callable[[], Iterable[Any]]) -> None:
        self._read: Final = read

    def collect(self) -> Iterable[Any]:
        """Read."""
        return self._read()
