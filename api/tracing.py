"""One span of OpenTelemetry for each GraphQL operation. Importing this needs ``tic-server[telemetry]``.

A span says what was done, never with what: no document, no variable, no token, and no name that a client has made up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from api.observing import Observation, Transport

__all__ = ["Tracing", "exporting"]

OURS: Final = ("internal", "unavailable")
"""Outcomes that are faults of the server's: their spans are errors."""
MOST_FIELDS: Final = 20
CLOSING_MILLISECONDS: Final = 2_000
"""For what is left to be sent when the server stops."""

_PARENTS: Final = TraceContextTextMapPropagator()


class Tracing:
    """Makes a span of each operation when it is over: an ``Instrument``."""

    def __init__(self, provider: TracerProvider) -> None:
        """Take what spans are given to."""
        self._provider: Final = provider
        self._tracer: Final = provider.get_tracer("tic")

    def found(self, operation: Observation) -> None:
        """Do nothing: a span is made at the end, when all of it is known."""

    def stalled(self, transport: Transport) -> None:
        """Do nothing."""

    def operated(self, operation: Observation) -> None:
        """Make the span of an operation that is over."""
        now = time.time_ns()
        name = operation.type.value if operation.type else "unknown"
        outcome = operation.outcome or "left"
        attributes: dict[str, str | tuple[str, ...]] = {
            "graphql.operation.type": name,
            "tic.fields": operation.fields[:MOST_FIELDS],
            "tic.transport": operation.transport,
            "tic.outcome": outcome,
            "tic.request_id": operation.request_id,
        }
        if operation.commands:
            attributes["tic.kinds"] = tuple(kind for kind, _ in operation.commands)
            attributes["tic.commands"] = tuple(became for _, became in operation.commands)
        span = self._tracer.start_span(
            name,
            context=_PARENTS.extract({"traceparent": operation.parent}) if operation.parent else None,
            kind=SpanKind.SERVER,
            attributes=attributes,
            start_time=now - int(operation.seconds * 1e9),
        )
        if outcome in OURS:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end_time=now)

    def close(self) -> None:
        """Send what is left. It may wait for the collector, but not for long."""
        self._provider.force_flush(CLOSING_MILLISECONDS)
        self._provider.shutdown()


def exporting(said: Mapping[str, str]) -> Tracing:
    """Return what sends spans to where the process's environment says, of which ``said`` is what names a service."""
    # What is given here would count for more than what the environment says.
    is_named = "OTEL_SERVICE_NAME" in said or "service.name=" in said.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if is_named else {"service.name": "tic"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
