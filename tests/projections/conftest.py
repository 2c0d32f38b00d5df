"""What tests of read models begin with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import pytest

import projections.tables
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.tables import Projection


@pytest.fixture(params=PROJECTIONS.values(), ids=list(PROJECTIONS))
def projection(request: pytest.FixtureRequest) -> Projection:
    """Each read model in its turn."""
    model: Projection = request.param
    return model


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Has tables that others hold be waited for in short tries, and tells of each that was in vain."""
    in_vain = threading.Semaphore(0)
    monkeypatch.setattr(projections.tables, "LOCK_WAIT", "10ms")
    monkeypatch.setattr(projections.tables, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(projections.tables, "TRIES", 10_000)
    monkeypatch.setattr(projections.tables._logger, "warning", lambda *_, **__: in_vain.release())
    return in_vain


class Running(Protocol):
    """Has a follower run in a thread of its own as long as the block lasts."""

    def __call__(self, follower: Follower) -> AbstractContextManager[threading.Thread]: ...


@pytest.fixture
def running() -> Running:
    @contextmanager
    def run(follower: Follower) -> Iterator[threading.Thread]:
        stop = threading.Event()
        thread = threading.Thread(target=follower.run, args=(stop,))
        thread.start()
        try:
            yield thread
        finally:
            stop.set()
            thread.join()

    return run
