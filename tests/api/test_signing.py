"""What is signed: a log that only grows, whatever happens to the signer, the database or the file beside it."""

from __future__ import annotations

import multiprocessing
import signal
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege
from structlog.testing import capture_logs

import api.signed_log
from api.signing import CheckpointFile, Signer
from domain.merkle import leaf_hash
from domain.notes import Checkpoint, SigningKey, read_checkpoint
from domain.storage import Datastore, EventRecorder, PersistenceError
from projections.runner import Follower
from tests.api import signers
from tests.api.roles import house
from tests.api.signers import KEY, events, execute, must_be_one_log, refusal, signed, sizes, tree_of
from tests.conftest import cloned
from tests.logged import TREE, caught_up, log_events, rebuild
from tests.projections.killing import _kill_at
from tests.projections.shown import until

# What is signed


def test_before_the_first_event_there_is_nothing_to_sign(signer: Signer, database_url: str) -> None:
    assert signer.step() == (False, False)
    assert (signed(database_url), signer.refusal) == ([], None)


def test_what_is_signed_is_the_root_of_the_logs_bytes(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    events(recorder, datastore, 700)
    assert signer.step() == (True, False)
    (note,) = signed(database_url)
    assert read_checkpoint(note, KEY.public) == Checkpoint("tic.example/log", 700, tree_of(database_url).root(700))


def test_nothing_is_signed_twice(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    events(recorder, datastore, 3)
    assert [signer.step(), signer.step()] == [(True, False), (False, False)]
    assert sizes(database_url) == [3]


def test_the_log_grows_from_each_checkpoint_to_every_later_one(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    for more in (1, 1, 2, 250, 1, 1, 300, 500):
        events(recorder, datastore, more)
        signer.step()
    assert sizes(database_url) == [1, 2, 4, 254, 255, 256, 556, 1056]
    must_be_one_log(database_url)


def test_a_long_log_is_signed_in_pieces(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.signed_log, "MOST", 300)
    monkeypatch.setattr(api.signed_log, "CHUNK", 70)
    events(recorder, datastore, 700)
    assert [signer.step() for _ in range(3)] == [(True, True), (True, True), (True, False)]
    assert sizes(database_url) == [300, 600, 700]
    must_be_one_log(database_url)


def test_the_copy_is_the_newest_checkpoint_and_can_be_read_by_its_owner_alone(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str, copy: CheckpointFile
) -> None:
    for more in (1, 5):
        events(recorder, datastore, more)
        signer.step()
        assert copy.read() == signed(database_url)[-1]
    assert stat.S_IMODE(copy.path.stat().st_mode) == 0o600
    assert list(copy.path.parent.iterdir()) == [copy.path]


def test_the_servers_role_signs(admin: psycopg.Connection, postgres: str, copy: CheckpointFile) -> None:
    with house(admin, postgres) as made:
        made.init()
        with Datastore(made.apps_url, connections=4) as datastore:
            Follower(datastore, TREE).create_tables()
            events(EventRecorder(datastore), datastore, 3)
            assert Signer(datastore, KEY, copy).step() == (True, False)
        assert sizes(made.owners_url) == [3]


# While it runs


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Signer], None]]:
    """Has signers run in threads of their own, quickly, until the test ends."""
    with signers.running(monkeypatch) as run:
        yield run


def test_while_it_runs_what_comes_is_signed(
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    database_url: str,
    running: Callable[[Signer], None],
) -> None:
    running(signer)
    for size in (1, 2, 3):
        events(recorder, datastore, 1)
        until(lambda: sizes(database_url)[-1:] == [size])  # noqa: B023
    must_be_one_log(database_url)


def test_two_servers_sign_one_log(
    datastore: Datastore, recorder: EventRecorder, database_url: str, tmp_path: Path, running: Callable[[Signer], None]
) -> None:
    with Datastore(database_url, connections=4) as another:
        copies = [CheckpointFile(tmp_path / name) for name in ("one", "other")]
        both = [Signer(datastore, KEY, copies[0]), Signer(another, KEY, copies[1])]
        events(recorder, datastore, 1)
        both[0].step()
        copies[1].write(copies[0].read() or "")  # as an operator gives a new server the copy of another
        for signer in both:
            running(signer)
        for _ in range(40):
            events(recorder, datastore, 3)
        until(lambda: sizes(database_url)[-1:] == [121])
        until(lambda: [copy.read() for copy in copies] == [signed(database_url)[-1]] * 2)
        assert [signer.refusal for signer in both] == [None, None]
    must_be_one_log(database_url)
    assert len(sizes(database_url)) > 2


def test_signers_that_step_at_the_same_time_take_turns(
    datastore: Datastore, recorder: EventRecorder, database_url: str, copy: CheckpointFile
) -> None:
    events(recorder, datastore, 30)
    four = [Signer(datastore, KEY, copy) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda signer: signer.step()[0], four)) == [False, False, False, True]
    assert sizes(database_url) == [30]


def test_why_nothing_is_signed_is_told_once_and_not_each_time(
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    database_url: str,
    copy: CheckpointFile,
    running: Callable[[Signer], None],
) -> None:
    copy.path.write_text("no checkpoint")
    events(recorder, datastore, 1)
    with capture_logs() as logs:
        running(signer)
        until(lambda: bool(logs))
        copy.path.unlink()
        until(lambda: sizes(database_url) == [1])
    assert [(line["log_level"], line["event"]) for line in logs] == [("error", "no checkpoint of the log is signed")]
    assert "not one that this server's key has signed" in logs[0]["reason"]


# What is not signed


def test_a_database_restored_from_an_old_backup_is_found_out(
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    copy: CheckpointFile,
    admin: psycopg.Connection,
    database_url: str,
    postgres: str,
) -> None:
    events(recorder, datastore, 40)
    signer.step()
    datastore.close()
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    with cloned(admin, str(name), postgres) as backup:  # as it was then
        with Datastore(database_url) as now:
            events(EventRecorder(now), now, 20)
            Signer(now, KEY, copy).step()
        with Datastore(backup) as restored:
            told = refusal(Signer(restored, KEY, copy))
            assert "The log ends after 40 events, and 60 were signed" in told
            assert "old backup" in told
            events(EventRecorder(restored), restored, 50)  # a different history, longer than what was signed
            assert "The first 60 events are not those that were signed" in refusal(Signer(restored, KEY, copy))
        assert sizes(backup) == [40]


def test_a_tree_that_is_only_behind_is_waited_for(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    events(recorder, datastore, 40)
    signer.step()
    execute(
        database_url,
        "TRUNCATE read_models.merkle_tiles, read_models.merkle_beginnings",
        "UPDATE read_models.projection_positions SET position = 0 WHERE name = 'transparency'",
    )
    Follower(datastore, TREE, batch=15).step()
    assert "The tree has 15 events as yet, and 40 were signed" in refusal(signer)
    caught_up(datastore)
    log_events(recorder, 1)
    caught_up(datastore)
    assert signer.step() == (True, False)
    assert sizes(database_url) == [40, 41]


def flip(url: str, level: int, number: int, byte: int) -> None:
    """Change one bit of a tile."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE read_models.merkle_tiles SET hashes = set_byte(hashes, %(at)s, get_byte(hashes, %(at)s) # 1)"
            " WHERE (level, number) = (%(level)s, %(number)s)",
            {"at": byte, "level": level, "number": number},
        )


@pytest.mark.parametrize(
    ("level", "number", "byte"),
    [
        (0, 2, 0),
        (0, 2, 32 * 87 + 31),
        (0, 2, 32 * 88),
        (0, 2, 32 * 255),
        (0, 3, 0),
        (0, 3, 32 * 31),
        (1, 0, 0),
        (1, 0, 95),
    ],
    ids=[
        "the first leaf of the tile where the last checkpoint ends",
        "the last leaf of that checkpoint",
        "the first leaf after it",
        "the last leaf of that tile",
        "the first leaf of a new tile",
        "the last leaf of all",
        "a node over leaves that were signed",
        "a node over leaves that were not",
    ],
)
def test_one_changed_bit_of_the_tree_is_found_before_it_is_signed(
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    database_url: str,
    level: int,
    number: int,
    byte: int,
) -> None:
    events(recorder, datastore, 600)
    signer.step()
    events(recorder, datastore, 200)
    flip(database_url, level, number, byte)
    assert "tic project rebuild transparency" in refusal(signer)
    assert sizes(database_url) == [600]
    rebuild(datastore)
    assert signer.step() == (True, False)
    must_be_one_log(database_url)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DELETE FROM read_models.merkle_tiles WHERE level = 1", "are not those that were signed"),
        ("DELETE FROM read_models.merkle_tiles WHERE (level, number) = (0, 2)", "changed"),
        (
            "UPDATE read_models.merkle_tiles SET hashes = substr(hashes, 1, 50) WHERE (level, number) = (0, 2)",
            "changed",
        ),
        ("UPDATE read_models.merkle_beginnings SET position = position + 1", "was changed"),
        ("DELETE FROM read_models.merkle_beginnings", "was changed"),
    ],
)
def test_a_tree_that_lacks_something_is_found_before_it_is_signed(
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    database_url: str,
    change: LiteralString,
    told: str,
) -> None:
    events(recorder, datastore, 600)
    signer.step()
    events(recorder, datastore, 50)
    execute(database_url, change)
    assert told in refusal(signer)
    rebuild(datastore)
    assert signer.step() == (True, False)


UNGUARDED: LiteralString = "ALTER TABLE game_events DISABLE TRIGGER game_events_append_only"


def test_an_event_that_was_changed_after_it_was_signed_is_found_when_the_tree_is_built_anew(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    events(recorder, datastore, 300)
    signer.step()
    execute(database_url, UNGUARDED, "UPDATE game_events SET state = state || ' ' WHERE originator_version = 17")
    rebuild(datastore)
    told = refusal(signer)
    assert "The first 300 events are not those that were signed" in told
    assert "it is the log itself" in told


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE game_events SET state = state || ' ' WHERE originator_version = 40",
        "DELETE FROM game_events WHERE originator_version = 40",
    ],
    ids=["changed", "deleted"],
)
def test_an_event_that_came_since_and_was_altered_is_found_before_it_is_signed(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str, change: LiteralString
) -> None:
    events(recorder, datastore, 30)
    signer.step()
    events(recorder, datastore, 50)
    execute(database_url, UNGUARDED, change)
    assert "The tree was changed" in refusal(signer)
    assert sizes(database_url) == [30]


def test_checkpoints_of_another_key_are_told_as_such(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile, tmp_path: Path
) -> None:
    events(recorder, datastore, 3)
    signer.step()
    another = SigningKey("tic.example/log", bytes(32))
    told = refusal(Signer(datastore, another, CheckpointFile(tmp_path / "another")))
    assert "The last checkpoint in the database is not one that this server's key has signed" in told
    assert "TIC_LOG_KEY_FILE" in told


def test_a_copy_of_another_log_is_told_as_such(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile
) -> None:
    events(recorder, datastore, 3)
    copy.write(Checkpoint("tic.example/log", 2, leaf_hash(b"another log")).signed(KEY))
    assert "The first 2 events are not those that were signed, according to the copy" in refusal(signer)


def test_of_a_copy_that_departs_at_the_same_size_nothing_is_overwritten(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile
) -> None:
    events(recorder, datastore, 3)
    signer.step()
    note = Checkpoint("tic.example/log", 3, leaf_hash(b"another log")).signed(KEY)
    copy.write(note)
    assert "are not those that were signed, according to the copy" in refusal(signer)
    assert copy.read() == note


@pytest.mark.parametrize("content", [b"", b"no note\n", b"\xff\xfe", b"\0" * 200_000])
def test_a_copy_that_is_no_checkpoint_is_told_as_such(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile, content: bytes
) -> None:
    events(recorder, datastore, 3)
    copy.path.write_bytes(content)
    assert "copy" in refusal(signer)
    assert copy.path.read_bytes() == content


def test_what_can_not_be_copied_is_not_signed(
    datastore: Datastore, recorder: EventRecorder, tmp_path: Path, database_url: str
) -> None:
    events(recorder, datastore, 3)
    told = refusal(Signer(datastore, KEY, CheckpointFile(tmp_path / "missing" / "checkpoint")))
    assert "TIC_CHECKPOINT_FILE" in told
    assert signed(database_url) == []


def test_where_the_database_is_away_nothing_is_said_of_the_log(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    events(recorder, datastore, 3)
    signer.step()
    datastore.close()
    with pytest.raises(PersistenceError):
        signer.step()
    assert signer.refusal is None


def test_no_refusal_shows_the_key(signer: Signer, copy: CheckpointFile) -> None:
    copy.path.write_text(KEY.written())
    assert KEY.written().rpartition("+")[2] not in refusal(signer)
    assert KEY.written().rpartition("+")[2] not in repr(vars(signer))


# What happens to the signer


class Dies(CheckpointFile):
    """A copy at whose writing the signer dies: before it, or when it is on disk."""

    def __init__(self, path: Path, *, before: bool) -> None:
        super().__init__(path)
        self._before = before

    def write(self, note: str) -> None:
        if not self._before:
            super().write(note)
        raise KeyboardInterrupt


@pytest.mark.parametrize("before", [True, False], ids=["before the copy", "after the copy"])
def test_a_checkpoint_that_nobody_was_shown_is_signed_again_or_taken_over(
    datastore: Datastore, recorder: EventRecorder, database_url: str, copy: CheckpointFile, before: bool
) -> None:
    events(recorder, datastore, 3)
    with pytest.raises(KeyboardInterrupt):
        Signer(datastore, KEY, Dies(copy.path, before=before)).step()
    assert (signed(database_url), copy.path.exists()) == ([], not before)
    events(recorder, datastore, 4)
    assert Signer(datastore, KEY, copy).step() == (True, False)
    assert sizes(database_url) == ([7] if before else [3, 7])
    must_be_one_log(database_url)


_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


def _sign(url: str, path: str, statement: int) -> None:
    with Datastore(url, connections=2) as datastore:
        datastore.pool.wait()
        _kill_at(statement)
        Signer(datastore, KEY, CheckpointFile(Path(path))).step()


def test_killed_at_any_statement_a_signer_leaves_one_log(
    datastore: Datastore, recorder: EventRecorder, database_url: str, copy: CheckpointFile
) -> None:
    killed = 0
    for statement in count():
        events(recorder, datastore, 3)
        process = _PROCESSES.Process(target=_sign, args=(database_url, str(copy.path), statement))
        process.start()
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL)
        until(lambda: not execute(database_url, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"))
        newest = signed(database_url)[-1:]
        assert not newest or (copy.read() or "").split("\n")[1] >= newest[0].split("\n")[1]
        if process.exitcode == 0:
            break
        killed += 1
        assert Signer(datastore, KEY, copy).step()[1] is False
        assert copy.read() == signed(database_url)[-1]
    assert killed > 10
    assert all(old < new for old, new in pairwise(sizes(database_url)))
    must_be_one_log(database_url)


# What is signed stays


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log_checkpoints SET note = ''",
        "DELETE FROM log_checkpoints",
        "DELETE FROM log_checkpoints WHERE false",
        "TRUNCATE log_checkpoints",
        "UPDATE log_departures SET note = ''",
        "DELETE FROM log_departures",
        "DELETE FROM log_departures WHERE false",
        "TRUNCATE log_departures",
    ],
)
def test_nobody_changes_a_checkpoint_that_was_signed(
    signer: Signer, datastore: Datastore, recorder: EventRecorder, database_url: str, statement: LiteralString
) -> None:
    events(recorder, datastore, 1)
    signer.step()
    with pytest.raises(InsufficientPrivilege, match="what was signed stays"):
        execute(database_url, "SET session_replication_role = replica", statement)
