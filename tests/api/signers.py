"""Logs that are signed, and what was signed of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
import pytest

import api.signing
from api.signing import NothingSigned, Signer
from domain.merkle import Tree, leaf_hash, verify_consistency
from domain.notes import SigningKey, read_checkpoint
from domain.storage import Datastore, EventRecorder
from tests.logged import caught_up, log_events

__all__ = ["KEY", "events", "execute", "must_be_one_log", "refusal", "running", "signed", "sizes", "tree_of"]

KEY = SigningKey("tic.example/log", bytes(range(32)))


def events(recorder: EventRecorder, datastore: Datastore, number: int) -> None:
    """Append events and have the tree take them in."""
    log_events(recorder, number)
    caught_up(datastore)


def execute(url: str, *statements: LiteralString) -> list[tuple[Any, ...]]:
    """Run statements as one who may do anything; return the rows of the last one."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def signed(url: str) -> list[str]:
    """The notes of all checkpoints, in the order of their sizes."""
    return [note for (note,) in execute(url, "SELECT note FROM log_checkpoints ORDER BY size")]


def sizes(url: str) -> list[int]:
    return [read_checkpoint(note, KEY.public).size for note in signed(url)]


def tree_of(url: str) -> Tree:
    """The tree of the log's bytes, worked out apart from all tables."""
    rows = execute(url, "SELECT state FROM game_events ORDER BY notification_id")
    return Tree(leaf_hash(state) for (state,) in rows)


def must_be_one_log(url: str) -> None:
    """Every checkpoint that was ever signed is of the log as it was, and each has grown from all before it."""
    tree = tree_of(url)
    checkpoints = [read_checkpoint(note, KEY.public) for note in signed(url)]
    for one in checkpoints:
        assert one.root == tree.root(one.size)
    for number, old in enumerate(checkpoints):
        for new in checkpoints[number:]:
            verify_consistency(old.size, old.root, new.size, new.root, tree.consistency(old.size, new.size))


def refusal(signer: Signer) -> str:
    """What a signer says who signs nothing."""
    with pytest.raises(NothingSigned) as refused:
        signer.step()
    assert signer.refusal == str(refused.value)
    return str(refused.value)


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Signer], None]]:
    """Yield what has signers run in threads of their own, quickly, until the block ends."""
    monkeypatch.setattr(api.signing, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(api.signing, "SIGN_SECONDS", 0.03)
    stop, threads = threading.Event(), list[threading.Thread]()

    def run(signer: Signer) -> None:
        threads.append(threading.Thread(target=signer.run, args=(stop,)))
        threads[-1].start()

    try:
        yield run
    finally:
        stop.set()
        for thread in threads:
            thread.join()
