"""Structured logs, ours and those of the libraries, in one form on the standard error stream."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from api.settings import LogFormat

__all__ = ["configure_logs", "uvicorn_log_config"]


def configure_logs(form: LogFormat) -> None:
    """Write all logs in one form: lines with colours for people, or JSON for programs."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form is LogFormat.JSON:
        last: list[Any] = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        last = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_plain)]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


_plain = structlog.dev.plain_traceback
"""Without the values of local variables: they may hold secrets."""


def uvicorn_log_config() -> dict[str, Any]:
    """Return the settings by which uvicorn leaves its logs to ours."""
    quiet = {"handlers": [], "propagate": True, "level": "WARNING"}
    return {"version": 1, "disable_existing_loggers": False, "loggers": {"uvicorn": quiet}}
