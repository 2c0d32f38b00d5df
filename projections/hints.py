"""One connection by which a process hears that something was appended, and tells other processes so.

A notification is a hint: whoever gets one looks at the log at once, and everyone looks without one as well. So nothing
here needs to be certain, only quick. A transaction that notifies holds a lock of the whole database server until its
commit is on disk; so appends do not notify. This connection does, after them, in transactions of its own, for many at
once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import psycopg
import structlog
from psycopg.sql import SQL, Composed, Identifier

from domain.storage import CHANNEL
from projections.answers import ANSWER_SECONDS, answering

__all__ = ["Hints"]

RETRY_SECONDS: Final = 0.5
QUIET_SECONDS: Final = 0.01
"""Between two notifications, so that under load one speaks for many appends."""
SILENCE_SECONDS: Final = 10.0
"""After so long without a word the database is asked whether it still answers."""
_logger: Final = structlog.get_logger(__name__)


class Hints:
    """The process's one listening connection: hears that something was appended, and tells other processes so."""

    def __init__(self, url: str) -> None:
        self._url: Final = url
        self._listeners: Final[dict[str, list[Callable[[], None]]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stir = asyncio.Event()
        self._untold = False  # whether something was appended here that the other processes have not been told
        self._asked = False  # whether the loop has been asked to tell it here, and has not come to it yet
        self._quiet = False  # whether the last notification was a moment ago

    def on(self, channel: str, heard: Callable[[], None]) -> None:
        """Have ``heard`` called for each notification of a channel, and whenever some may have been missed.

        It is called in the thread of the loop that runs ``run``, and must not wait for anything. Call ``on`` in that
        thread, or before ``run``.
        """
        self._listeners.setdefault(channel, []).append(heard)
        self._stir.set()

    def tell(self) -> None:
        """Say that this process has appended something; from any thread, at any time, at no cost.

        Those who listen here are called by the loop, the other processes are notified soon.
        """
        self._untold = True
        loop = self._loop
        if loop is None or self._asked:
            return
        self._asked = True
        try:
            loop.call_soon_threadsafe(self._tell_here)
        except RuntimeError:  # the loop has ended, and with it everyone who listened
            self._asked = False

    async def run(self) -> None:
        """Listen, and notify, until cancelled; also over times when the database is away."""
        self._stir, self._asked, self._quiet = asyncio.Event(), False, False
        self._loop = asyncio.get_running_loop()
        try:
            if self._untold:
                self._hear(CHANNEL)
            while True:
                try:
                    async with await self._connected() as conn:
                        await self._attend(conn)
                except psycopg.Error as error:
                    _logger.warning("no hints until the database is back", error=type(error).__name__)
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._loop = None

    async def _connected(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._url,
            autocommit=True,
            application_name="tic hints",
            connect_timeout=2,
            # A connection that says nothing for hours must notice that the other side is gone.
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=25_000,
        )

    async def _attend(self, conn: psycopg.AsyncConnection) -> None:
        """Serve one connection until it is lost, which raises the driver's error."""
        own = conn.info.backend_pid

        def take(channel: str, sender: int) -> None:
            if sender != own:  # those who listen here know of their own process already
                self._hear(channel)

        conn.add_notify_handler(lambda come: take(come.channel, come.pid))  # those that come with an answer
        listening: set[str] = set()
        while True:
            for channel in self._listeners.keys() - listening:
                await self._say(conn, SQL("LISTEN {}").format(Identifier(channel)))
                listening.add(channel)
                self._hear(channel)  # what came before
            if self._untold and not self._quiet:
                await self._notify(conn)
            if not await self._stirred(conn.fileno()):
                await self._say(conn, SQL("SELECT"))
            conn.pgconn.consume_input()
            while come := conn.pgconn.notifies():
                take(come.relname.decode(), come.be_pid)

    async def _notify(self, conn: psycopg.AsyncConnection) -> None:
        self._untold = False  # before the notification: what is appended during it waits for the next one
        try:
            await self._say(conn, SQL("NOTIFY {}").format(Identifier(CHANNEL)))
        except psycopg.Error:
            self._untold = True
            raise
        self._quiet = True
        asyncio.get_running_loop().call_later(QUIET_SECONDS, self._speak_again)

    async def _say(self, conn: psycopg.AsyncConnection, statement: SQL | Composed) -> None:
        with answering(conn, ANSWER_SECONDS):
            await conn.execute(statement)

    def _speak_again(self) -> None:
        self._quiet = False
        if self._untold:
            self._stir.set()

    async def _stirred(self, connection: int) -> bool:
        """Wait until the connection has something to read, or there is something to say; tell whether that came."""
        loop = asyncio.get_running_loop()
        loop.add_reader(connection, self._stir.set)
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                await self._stir.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(connection)
        self._stir.clear()
        return True

    def _tell_here(self) -> None:
        self._asked = False  # before the listeners: what is appended while they are called is told again
        self._hear(CHANNEL)
        if not self._quiet:
            self._stir.set()

    def _hear(self, channel: str) -> None:
        for heard in self._listeners.get(channel, ()):
            try:
                heard()
            except Exception:
                _logger.exception("a listener failed, and is told the next time", channel=channel)
