"""Folders for the embedded PostgreSQL, and other programs that use them; and what signs a log."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from api import postgres_launcher
from api.checkpoint_file import CheckpointFile
from api.embedded_postgres import embedded_postgres
from api.signing import Signer
from domain.storage import Datastore
from tests.api.postgres_folders import Holder, eventually, is_free, new_scratch
from tests.api.signers import KEY


@pytest.fixture
def hold() -> Iterator[Callable[..., Holder]]:
    """Starts a `Holder`; at the end of the test all of them leave."""
    holders: list[Holder] = []

    def start(folder: Path, *, watch: str = postgres_launcher._WATCH, uid: int | None = None) -> Holder:
        holders.append(Holder(folder, watch=watch, uid=uid))
        return holders[-1]

    yield start
    for holder in holders:
        holder.leave()


@pytest.fixture
def scratch() -> Iterator[Path]:
    """An empty folder; no server may be left in it."""
    path = new_scratch()
    yield path
    busy = [lock for lock in path.rglob("server.lock") if not eventually(partial(is_free, lock.parent), within=30)]
    shutil.rmtree(path)
    assert not busy


@pytest.fixture(scope="session")
def worn() -> Iterator[Path]:
    """A folder that has been used, and serves one test after the other: saves each of them initdb's second."""
    path = new_scratch()
    with embedded_postgres(path / "tic"):
        pass
    yield path / "tic"
    shutil.rmtree(path)


@pytest.fixture
def folder(worn: Path) -> Iterator[Path]:
    """A folder that has been used; no server may be left in it."""
    yield worn
    assert eventually(partial(is_free, worn), within=30)


@pytest.fixture
def copy(tmp_path: Path) -> CheckpointFile:
    """The copy of the last checkpoint, which is not there yet."""
    return CheckpointFile(tmp_path / "checkpoint")


@pytest.fixture
def signer(datastore: Datastore, copy: CheckpointFile) -> Signer:
    return Signer(datastore, KEY, copy)
