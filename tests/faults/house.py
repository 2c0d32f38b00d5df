"""Servers on one database that can be killed and started while a load runs, and the verdict in the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx

from benchmarks.durability import must_be_durable
from tests.conftest import KEYRING
from tests.faults.checker import findings
from tests.faults.load import Load
from tests.faults.log import log_of, seeds_of
from tests.server import Server, serving

__all__ = ["House", "Tell", "kill"]

Tell = Callable[[str], object]
"""Says something to the person who runs the tests."""


NO_ANSWERS: Final = {"UNAVAILABLE"} | {
    error.__name__
    for error in (
        httpx.ConnectError,
        httpx.ReadError,
        httpx.WriteError,
        httpx.RemoteProtocolError,
        httpx.ReadTimeout,
    )
}
"""What may come for an answer while something is broken; a server says nothing else for that."""


class House:
    """One database and the servers on it."""

    def __init__(self, url: str, folder: Path, tell: Tell, *, through: str | None = None, **settings: str) -> None:
        """Take the database's URL, by which the verdict is found; the servers go ``through`` another one if given.

        Raises:
            SystemExit: the database does not keep what it acknowledges.
        """
        self.url: Final = url
        self._tell: Final = tell
        self._durable: Final = must_be_durable(url)
        key_file = folder / "server.key"
        key_file.write_text(KEYRING.write())
        self._settings: Final = {"DATABASE_URL": through or url, "TIC_SERVER_KEY_FILE": str(key_file), **settings}
        self._stack: Final = ExitStack()
        self._began: Final = time.monotonic()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # In a thread: a server that ends may still speak to its database, through a proxy that runs in this one.
        await asyncio.to_thread(self._stack.close)

    async def serve(self) -> Server:
        """Start one more server."""
        return await asyncio.to_thread(self._stack.enter_context, serving(self._settings))

    def judge(self, what: str, load: Load) -> None:
        """Fail unless what the clients were told and what the log holds fit together; say how much it was."""
        histories, log = load.histories, log_of(self.url)
        seconds = time.monotonic() - self._began
        unanswered = ", ".join(f"{why} {times}" for why, times in sorted(histories.unanswered.items()))
        self._tell(
            f"{what}: {histories}; {len(log)} events; {seconds:.1f} s"
            f"{f'; no answer: {unanswered}' if unanswered else ''} [{self._durable}]"
        )
        found = findings(histories, log, seeds_of(self.url, KEYRING, log))
        assert not found, "\n".join(found)
        assert histories.unanswered.keys() <= NO_ANSWERS


async def kill(server: Server) -> None:
    """End a server as a power cut would: it can do nothing about it."""
    server.process.kill()
    await asyncio.to_thread(server.process.wait)
