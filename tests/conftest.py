"""A real PostgreSQL for every test that needs one: each gets a database of its own, cloned from a template."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import uvicorn
from hypothesis import settings
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from starlette.applications import Starlette

from api.app import create_app
from api.database import prepare
from api.embedded_postgres import embedded_postgres
from api.listening import uvicorn_options
from api.settings import Settings
from domain.application import Games
from domain.storage import Datastore, EventRecorder
from domain.vault import Keyring, ServerKey, Vault
from projections.models import PROJECTIONS
from projections.runner import Follower
from tests.client import Client

SHARED_SERVER = "TIC_TEST_POSTGRES"
"""The environment variable by which the workers of one run learn of its server."""

KEYRING = Keyring([ServerKey(b"a key for the tests, 32 bytes ..")])

# Machines are shared: how long an example takes tells nothing.
settings.register_profile("tic", deadline=None)
settings.load_profile("tic")

MEMORY = Path("/dev/shm")
ROOM = 2**31
"""Bytes that must be free there; the databases of a run take a few hundred megabytes."""


def memory() -> Path | None:
    """A folder whose files lie in memory, where there is one with room enough.

    Each test makes a database and drops it, and both wait for the disk for longer than most tests take. The server
    syncs all the same: only a power cut would tell the difference, and no test on the shared server has one.
    """
    if not os.access(MEMORY, os.W_OK):
        return None
    found = os.statvfs(MEMORY)
    return MEMORY if found.f_bavail * found.f_frsize >= ROOM else None


@contextmanager
def _embedded() -> Iterator[str]:
    """The URL of a server of this run's own."""
    with (
        tempfile.TemporaryDirectory(prefix="tic-tests-", dir=memory()) as folder,
        embedded_postgres(Path(folder) / "postgres") as url,
    ):
        yield url


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Run one server for all workers, in the one process that outlives them."""
    if "DATABASE_URL" in os.environ:
        return
    stack = ExitStack()
    config.add_cleanup(stack.close)
    os.environ[SHARED_SERVER] = stack.enter_context(_embedded())


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where programs keep their state, also those that tests start: not in the tester's home."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server: DATABASE_URL, or an embedded one of this run's own."""
    running = os.environ.get("DATABASE_URL") or os.environ.get(SHARED_SERVER)
    if running:
        yield running
        return
    with _embedded() as url:
        yield url


def url_of(server: str, database: str) -> str:
    return make_conninfo(server, dbname=database)


def _drop(admin: psycopg.Connection, database: str) -> None:
    admin.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(database)))


@pytest.fixture(scope="session")
def admin(postgres: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def template(admin: psycopg.Connection, postgres: str) -> Iterator[str]:
    """The name of a database with all tables and no rows."""
    name = f"tic_template_{uuid4().hex}"
    admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    datastore = Datastore(url_of(postgres, name), connections=4)
    prepare(datastore)
    for projection in PROJECTIONS.values():
        Follower(datastore, projection).create_tables()
    datastore.close()
    yield name
    _drop(admin, name)


@contextmanager
def cloned(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[str]:
    """The URL of a new database with all tables and no rows."""
    name = f"tic_test_{uuid4().hex}"
    # Files in memory are copied sooner than they are written, page by page, to the log of the database server. On a
    # disk each would have to be synced.
    how = SQL("STRATEGY file_copy" if MEMORY in Path(admin.info.host).parents else "")
    admin.execute(SQL("CREATE DATABASE {} TEMPLATE {} {}").format(Identifier(name), Identifier(template), how))
    yield url_of(postgres, name)
    _drop(admin, name)


@pytest.fixture
def database_url(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[str]:
    """The URL of a database of this test's own."""
    with cloned(admin, template, postgres) as url:
        yield url


@pytest.fixture
def datastore(database_url: str) -> Iterator[Datastore]:
    datastore = Datastore(database_url, connections=8)
    yield datastore
    datastore.close()


@pytest.fixture
def recorder(datastore: Datastore) -> EventRecorder:
    return EventRecorder(datastore)


@pytest.fixture
def vault(datastore: Datastore) -> Vault:
    return Vault(datastore, KEYRING)


@pytest.fixture
def games(recorder: EventRecorder, vault: Vault) -> Games:
    return Games(recorder, vault)


@asynccontextmanager
async def started(url: str) -> AsyncIterator[Starlette]:
    """The server, started, on the database at ``url``."""
    app = create_app(Settings(), url, KEYRING)
    async with app.router.lifespan_context(app):
        yield app


@asynccontextmanager
async def in_memory(app: Starlette) -> AsyncIterator[Client]:
    """A client without a token, over HTTP in memory."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://tic.test") as http:
        yield Client(http)


@asynccontextmanager
async def listening(app: Starlette, sockets: list[socket.socket] | None = None, **options: Any) -> AsyncIterator[str]:
    """The address, host and port, at which a started server listens on the loopback interface, as `tic serve` does.

    ``options`` are uvicorn's, where a test needs others.
    """
    options = {**uvicorn_options(), "timeout_graceful_shutdown": 1, **options}
    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None, **options)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets))
    try:
        async with asyncio.timeout(10):
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event to wait for
                await asyncio.sleep(0.001)
        yield "{}:{}".format(*server.servers[0].sockets[0].getsockname())
    finally:
        server.should_exit = True
        await serving


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[Starlette]:
    """The server, started, on a database of its own."""
    async with started(database_url) as app:
        yield app


@pytest.fixture
async def client(app: Starlette) -> AsyncIterator[Client]:
    """A client without a token, over HTTP in memory."""
    async with in_memory(app) as client:
        yield client


@pytest.fixture
async def address(app: Starlette) -> AsyncIterator[str]:
    """The address, host and port, at which the server of ``app`` listens, for WebSockets and event streams."""
    async with listening(app) as address:
        yield address
