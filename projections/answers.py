"""A limit to how long a connection to the database is waited for."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg

__all__ = ["ANSWER_SECONDS", "answering"]

ANSWER_SECONDS: Final = 5.0
"""How long an answer is waited for that should come at once."""


@contextmanager
def answering(connection: psycopg.AsyncConnection, seconds: float) -> Iterator[None]:
    """Hang up if what is asked in the block is not answered in time: the driver then raises `OperationalError`.

    It is for a database that stands still behind a network that does not. A cancelled query would not do: the driver
    waits for the answer to the cancellation as well.
    """
    timer = asyncio.get_running_loop().call_later(seconds, _hang_up, connection)
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(connection: psycopg.AsyncConnection) -> None:
    # It may have been lost already.
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)
