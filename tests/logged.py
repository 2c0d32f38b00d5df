"""Events in the log that are games of nobody: for what looks at their bytes and their order and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from uuid import UUID, uuid4

from eventsourcing.persistence import StoredEvent

from domain.storage import Datastore, EventRecorder
from projections.models import PROJECTIONS
from projections.runner import Follower

__all__ = ["TREE", "caught_up", "log_events", "rebuild"]

TREE = PROJECTIONS["transparency"]
TOPIC = "ticitaire.StockTurned"
CHUNK = 5_000


def log_events(recorder: EventRecorder, number: int) -> UUID:
    """Append so many events of a new game; return the game."""
    game = uuid4()
    for first in range(1, number + 1, CHUNK):
        seqs = range(first, min(first + CHUNK, number + 1))
        recorder.append([[StoredEvent(game, seq, TOPIC, stored(game, seq)) for seq in seqs]])
    return game


def stored(game: UUID, seq: int) -> bytes:
    return json.dumps({"game": str(game), "seq": seq, "type": TOPIC}).encode()


def caught_up(datastore: Datastore) -> Follower:
    """Have the tree take in the whole log."""
    follower = Follower(datastore, TREE)
    while follower.step():
        pass
    return follower


def rebuild(datastore: Datastore, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
    """Build the tree anew."""
    Follower(datastore, TREE).rebuild(progress)
