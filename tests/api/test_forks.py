"""What would fork a log, and is found out: old backups, copied databases, and servers that know of different things."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

import projections.rebuilding
from api.signing import CheckpointFile, Signer, Standstill
from domain import notes
from domain.merkle import leaf_hash
from domain.notes import Checkpoint, SigningKey, read_checkpoint
from domain.storage import Datastore, EventRecorder
from projections.runner import Follower
from projections.tables import set_place
from projections.transparency import Reached
from tests.api import signers
from tests.api.clock import StandingClock
from tests.api.roles import house
from tests.api.signers import KEY, events, execute, must_be_one_log, refusal, signed, sizes
from tests.conftest import cloned
from tests.logged import TREE, caught_up, log_events, rebuild
from tests.projections.shown import until


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Signer], None]]:
    with signers.running(monkeypatch) as run:
        yield run


class Restored:
    """A database as it was with 40 events, of a log that went on to 60; with two servers' copies of what was signed."""

    def __init__(self, url: str, datastore: Datastore, newer: str, folder: Path) -> None:
        self.url = url
        self.datastore = datastore
        self.newer = newer
        """The URL of the database that has them all."""
        self.knows = CheckpointFile(folder / "knows")
        """The copy of a server that has signed 60 events."""
        self.stale = CheckpointFile(folder / "stale")
        """The copy of one that has looked before that for the last time."""

    def grow(self, number: int) -> None:
        events(EventRecorder(self.datastore), self.datastore, number)

    def signer(self, copy: CheckpointFile) -> Signer:
        return Signer(self.datastore, KEY, copy)

    def given_back(self) -> None:
        """Put the events that were lost back, as a newer backup has them."""
        with psycopg.connect(self.newer) as source, psycopg.connect(self.url) as target:
            lost = source.execute("SELECT * FROM game_events ORDER BY notification_id OFFSET 40").fetchall()
            target.cursor().executemany("INSERT INTO game_events VALUES (%s, %s, %s, %s, %s)", lost)
            target.execute("SELECT setval('game_events_notification_id_seq', %s)", (lost[-1][-1],))
        caught_up(self.datastore)


@pytest.fixture
def restored(
    admin: psycopg.Connection, postgres: str, database_url: str, datastore: Datastore, tmp_path: Path
) -> Iterator[Restored]:
    knows, stale = CheckpointFile(tmp_path / "knows"), CheckpointFile(tmp_path / "stale")
    events(EventRecorder(datastore), datastore, 40)
    Signer(datastore, KEY, knows).step()
    stale.write(knows.read() or "")
    datastore.close()
    name = str(psycopg.conninfo.conninfo_to_dict(database_url)["dbname"])
    with cloned(admin, name, postgres) as backup:
        with Datastore(database_url) as now:
            events(EventRecorder(now), now, 20)
            Signer(now, KEY, knows).step()
        with Datastore(backup) as again:
            yield Restored(backup, again, database_url, tmp_path)


def told(url: str) -> list[str]:
    """What servers have told of that the log does not contain."""
    return [note for (note,) in execute(url, "SELECT note FROM log_departures ORDER BY told_at")]


# A copy that is missing


def test_a_database_that_was_signed_is_not_signed_on_without_a_copy(restored: Restored) -> None:
    restored.knows.path.unlink()
    restored.grow(50)
    said = refusal(restored.signer(restored.knows))
    assert "There is no copy of the last checkpoint" in said
    assert "`tic log adopt`" in said
    assert "needs another key (tic log key new)" in said
    assert (sizes(restored.url), restored.knows.path.exists()) == ([40], False)


def test_a_checkpoint_that_someone_has_kept_does_for_a_copy(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str, copy: CheckpointFile
) -> None:
    events(recorder, datastore, 4)
    signer.step()
    kept = copy.read() or ""
    events(recorder, datastore, 4)
    signer.step()
    copy.path.unlink()
    refusal(signer)
    copy.write(kept)
    assert signer.step() == (False, False)
    assert copy.read() == signed(database_url)[-1]


def test_a_log_of_which_nothing_was_signed_begins_by_itself(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile
) -> None:
    events(recorder, datastore, 4)
    assert signer.step() == (True, False)
    assert read_checkpoint(copy.read() or "", KEY.public).size == 4


# Copies that know of different things


def test_a_server_whose_copy_is_stale_is_stopped_by_one_whose_copy_is_not(restored: Restored) -> None:
    knows, stale = restored.signer(restored.knows), restored.signer(restored.stale)
    assert "according to the copy" in refusal(knows)
    restored.grow(50)
    said = refusal(stale)
    assert "The first 60 events are not those that were signed, according to a server that has told of it" in said
    assert sizes(restored.url) == [40]
    assert told(restored.url) == [signed(restored.newer)[-1]]


def test_a_server_that_has_forked_the_log_is_stopped_when_another_one_finds_out(restored: Restored) -> None:
    restored.grow(50)
    knows, stale = restored.signer(restored.knows), restored.signer(restored.stale)
    assert stale.step() == (True, False)
    refusal(knows)
    restored.grow(5)
    refusal(stale)
    assert sizes(restored.url) == [40, 90]


def test_a_server_with_nothing_to_sign_is_stopped_as_well(
    restored: Restored, running: Callable[[Signer], None]
) -> None:
    stale = restored.signer(restored.stale)
    running(stale)
    until(lambda: stale.refusal is None)
    refusal(restored.signer(restored.knows))
    until(lambda: stale.refusal is not None and "60 were signed" in stale.refusal)


def test_when_a_newer_backup_is_there_all_go_on_by_themselves(restored: Restored) -> None:
    knows, stale = restored.signer(restored.knows), restored.signer(restored.stale)
    refusal(knows)
    refusal(stale)
    restored.given_back()
    assert [stale.step(), knows.step()] == [(False, False), (False, False)]
    restored.grow(10)
    assert stale.step() == (True, False)
    assert sizes(restored.url) == [40, 60, 70]
    must_be_one_log(restored.url)


def test_what_a_server_has_told_of_is_told_once(restored: Restored) -> None:
    knows = restored.signer(restored.knows)
    refusal(knows)
    refusal(knows)
    assert len(told(restored.url)) == 1


def test_a_copy_with_the_signatures_of_witnesses_is_told_of_with_the_logs_own(restored: Restored) -> None:
    text, _, _ = (restored.knows.read() or "").rpartition("\n\n")
    witnesses = [SigningKey(f"witness.example/{number}", bytes([number] * 32)) for number in range(80)]
    restored.knows.write(notes.signed(f"{text}\n", KEY, *witnesses))
    assert len(restored.knows.read() or "") > 8_000  # more than the table takes
    refusal(restored.signer(restored.knows))
    assert told(restored.url) == [signed(restored.newer)[-1]]


def test_where_the_others_can_not_be_told_nothing_is_signed_all_the_same(restored: Restored) -> None:
    execute(restored.url, "ALTER TABLE log_departures ADD CHECK (false)")
    with capture_logs() as logs:
        assert "60 were signed" in refusal(restored.signer(restored.knows))
    assert [line["log_level"] for line in logs] == ["warning"]


def test_what_the_key_has_not_signed_counts_for_nothing_and_is_told_once(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    another = Checkpoint("tic.example/log", 9, leaf_hash(b"")).signed(SigningKey("tic.example/log", bytes(32)))
    with psycopg.connect(database_url) as connection:
        for note in ("nonsense", another):
            connection.execute("INSERT INTO log_departures (note) VALUES (%s)", (note,))
    with capture_logs() as logs:
        for _ in range(2):
            events(recorder, datastore, 3)
            assert signer.step() == (True, False)
    assert [(line["log_level"], line["notes"]) for line in logs] == [("warning", 2)]


def test_the_servers_role_tells_the_others(admin: psycopg.Connection, postgres: str, copy: CheckpointFile) -> None:
    with house(admin, postgres) as made:
        made.init()
        lost = Checkpoint("tic.example/log", 9, leaf_hash(b"")).signed(KEY)
        copy.write(lost)
        with Datastore(made.apps_url, connections=4) as datastore:
            Follower(datastore, TREE).create_tables()
            refusal(Signer(datastore, KEY, copy))
        assert told(made.owners_url) == [lost]


# While a rebuilt tree is put in the place of the old one


def test_a_look_while_the_trees_are_exchanged_finds_the_one_or_the_other(
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events(recorder, datastore, 300)
    signer.step()
    exchanging, go_on = threading.Event(), threading.Event()

    def held_up(*arguments: Any) -> None:
        exchanging.set()
        assert go_on.wait(20)
        set_place(*arguments)

    monkeypatch.setattr(projections.rebuilding, "set_place", held_up)
    log_events(recorder, 10)
    with ThreadPoolExecutor(2) as threads:
        rebuilt = threads.submit(rebuild, datastore)
        assert exchanging.wait(20)
        looked = threads.submit(signer.step)
        until(lambda: bool(execute(database_url, "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'")))
        go_on.set()
        rebuilt.result()
        assert looked.result() == (True, False)
    assert sizes(database_url) == [300, 310]
    must_be_one_log(database_url)


# A tree that stands still


def test_a_tree_that_stands_still_while_the_log_goes_on_is_told_after_ten_seconds_and_again_each_minute() -> None:
    clock, told_at = StandingClock(), []
    still = Standstill(clock)
    for second in range(200):
        clock.now = 1_000.0 + second
        if still.is_to_be_told(Reached(5, 5), behind=True):
            told_at.append(second)
    assert told_at == [10, 70, 130, 190]


@pytest.mark.parametrize(
    "looks",
    [[(5, False)] * 60, [(size, True) for size in range(60)], [(5, True)] * 9 + [(5, False)] + [(5, True)] * 9],
    ids=["it has the whole log", "it goes on", "it has caught up meanwhile"],
)
def test_nothing_is_told_of_a_tree_while(looks: list[tuple[int, bool]]) -> None:
    clock = StandingClock()
    still = Standstill(clock)
    for size, behind in looks:
        assert not still.is_to_be_told(Reached(size, size), behind=behind)
        clock.now += 1


def test_the_log_says_what_to_do_about_a_tree_that_nobody_follows(
    datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile, running: Callable[[Signer], None]
) -> None:
    log_events(recorder, 30)
    seconds = count(1_000.0)  # one passes whenever it is asked
    with capture_logs() as logs:
        running(Signer(datastore, KEY, copy, clock=lambda: next(seconds)))
        until(lambda: bool(logs))
    assert logs[0]["log_level"] == "warning"
    assert "`tic project run`" in logs[0]["event"]
    assert "TIC_FOLLOW" in logs[0]["event"]
