"""Whether operations are traced: where the environment asks for it by OpenTelemetry's own variables.

Without them nothing of OpenTelemetry is imported, and an operation costs nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from api.tracing import Tracing

__all__ = ["tracing_of"]

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL: Final = "http/protobuf"

_logger: Final = structlog.get_logger(__name__)


def tracing_of(environment: Mapping[str, str]) -> Tracing | None:
    """Return what traces operations; None where the environment does not ask for it, or for what can't be done."""
    said = {name: value.strip() for name, value in environment.items() if name.startswith("OTEL_") and value.strip()}
    if (
        not any(name in said for name in ENDPOINTS)
        or said.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or said.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp"
    ):
        return None
    asked = next((said[name] for name in PROTOCOLS if name in said), PROTOCOL)
    if asked != PROTOCOL:
        _logger.warning(f"operations are not traced: OTLP is spoken as {PROTOCOL} only", asked=asked)
        return None
    try:
        from api.tracing import exporting  # noqa: PLC0415 - an extra, of which nothing is imported unless it is used
    except ImportError:
        _logger.warning(
            "operations are not traced: install tic-server[telemetry], or unset OTEL_EXPORTER_OTLP_ENDPOINT"
        )
        return None
    return exporting(said)
