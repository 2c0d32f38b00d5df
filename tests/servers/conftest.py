"""One pair of servers for all tests of this folder; every test has players and games of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from tests.conftest import KEYRING, cloned
from tests.server import serving
from tests.servers.pair import Both, Pair, calling


@pytest.fixture(scope="package")
def database_url(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[str]:
    """The URL of the database that both servers are on, also for the fixtures that look into one."""
    with cloned(admin, template, postgres) as url:
        yield url


@pytest.fixture(scope="package")
def pair(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers, each an operating-system process, on one database."""
    key_file = tmp_path_factory.mktemp("keys") / "server.key"
    key_file.write_text(KEYRING.write())
    settings = {"DATABASE_URL": database_url, "TIC_SERVER_KEY_FILE": str(key_file)}
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        one, other = threads.map(lambda _: stack.enter_context(serving(settings)), range(2))
        yield Pair(one, other, settings)
        for server in (one, other):  # both at once: each takes a moment
            server.process.terminate()


@pytest.fixture
async def both(pair: Pair) -> AsyncIterator[Both]:
    """A caller without a token, at either server."""
    async with calling(pair.one) as one, calling(pair.other) as other:
        yield Both(one, other)
