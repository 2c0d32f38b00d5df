"""A benchmark of durable moves means nothing on a database that forgets: refuse to run there."""

from __future__ import annotations

import psycopg

__all__ = ["MISSED", "must_be_durable"]

MISSED = "MISSED: "
"""Stands before a line whose ratio is not what it must be."""

SETTINGS = ("fsync", "full_page_writes", "synchronous_commit")


def must_be_durable(url: str) -> str:
    """Return the settings that make a commit durable, all on.

    Raises:
        SystemExit: one of them is off.
    """
    with psycopg.connect(url) as connection:
        values = {name: str(connection.execute(f"SHOW {name}").fetchone()[0]) for name in SETTINGS}  # type: ignore[index]
    shown = ", ".join(f"{name} {value}" for name, value in values.items())
    if set(values.values()) != {"on"}:
        raise SystemExit(f"These benchmarks refuse to run with {shown}: a commit would not be durable.")
    return shown
