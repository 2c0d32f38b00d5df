"""The copy of the last checkpoint outside the database: where it lies, and what may lie there instead."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from api import cli
from api.log_commands import signing_of
from api.settings import Settings, SettingsError, write_keys
from api.signing import CheckpointFile, NothingSigned, Signer
from domain.application import Games
from domain.merkle import leaf_hash
from domain.notes import Checkpoint
from domain.storage import Datastore, EventRecorder
from domain.ticitaire.rules import OpenTicitaire
from tests.api import signers
from tests.api.signers import KEY, events, execute, refusal, signed, sizes
from tests.conftest import KEYRING
from tests.projections.shown import ADA, until
from tests.server import serving

NOTE = Checkpoint("tic.example/log", 3, leaf_hash(b"")).signed(KEY)


# What lies there


def test_a_link_to_another_disk_stays_one_and_the_copy_is_there(copy: CheckpointFile, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    copy.path.symlink_to(tmp_path / "disk" / "checkpoint")
    assert copy.read() is None
    for note in (NOTE, NOTE + " "):
        copy.write(note)
        assert (copy.read(), copy.path.is_symlink()) == (note, True)
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["checkpoint"]


def test_a_link_to_a_disk_that_is_not_there_is_a_missing_copy_that_can_not_be_written(
    copy: CheckpointFile, tmp_path: Path
) -> None:
    copy.path.symlink_to(tmp_path / "disk" / "checkpoint")
    assert copy.read() is None
    with pytest.raises(NothingSigned, match="No such file"):
        copy.write(NOTE)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


OTHERS: list[tuple[Callable[[Path], object], str]] = [
    (a_pipe, "is not a file"),
    (a_device, "is not a file"),
    (Path.mkdir, "can't be read: Is a directory"),
    (a_link_to_itself, "can't be read: Too many levels"),
    (a_huge_file, "is longer than a checkpoint can be"),
    (lambda path: path.write_bytes(b"\xff"), "is not UTF-8"),
    (lambda path: path.write_text("no note"), "not a signed note"),
]


@pytest.mark.parametrize(("put", "told"), OTHERS)
def test_what_is_no_copy_is_told_at_once_and_without_its_path(
    put: Callable[[Path], object],
    told: str,
    signer: Signer,
    datastore: Datastore,
    recorder: EventRecorder,
    copy: CheckpointFile,
    tmp_path: Path,
) -> None:
    events(recorder, datastore, 3)
    put(copy.path)
    said: list[str] = []
    looking = threading.Thread(target=lambda: said.append(refusal(signer)), daemon=True)
    looking.start()
    looking.join(20)
    assert not looking.is_alive(), "it waits for somebody"
    assert told in said[0]
    assert str(tmp_path) not in said[0]


def test_strangers_are_told_of_a_copy_that_can_not_be_written_without_its_path(
    datastore: Datastore, recorder: EventRecorder, tmp_path: Path
) -> None:
    events(recorder, datastore, 3)
    said = refusal(Signer(datastore, KEY, CheckpointFile(tmp_path / "missing" / "checkpoint")))
    assert "can't be written: No such file or directory" in said
    assert str(tmp_path) not in said


def test_the_log_tells_the_operator_where_the_copy_is(
    signer: Signer, recorder: EventRecorder, copy: CheckpointFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy.path.write_text("no note")
    with capture_logs() as logs, signers.running(monkeypatch) as run:
        run(signer)
        until(lambda: bool(logs))
    assert logs[0]["copy"] == str(copy.path)


# Where it lies


def own(folder: Path, **settings: Any) -> Settings:
    """The settings of a server on a database of its operator's own."""
    return Settings(database_url="postgresql://tic@localhost/tic", folder=folder, **settings)


def test_the_embedded_database_has_its_copy_outside_of_its_folder(
    tmp_path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "tic")
    copies = [Settings(folder=Path(name), database_url=None).checkpoint_copy for name in ("tic", "link", "clone")]
    assert {path.parent for path in copies} == {state_folder / "tic"}
    assert copies[0] == copies[1]
    assert copies[0] != copies[2]


def test_without_a_folder_for_state_it_is_where_such_folders_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", unset)
        copy = Settings(folder=tmp_path / "tic", database_url=None).checkpoint_copy
        assert copy.parent == Path("/home/ada/.local/state/tic")


def test_whoever_has_no_home_is_asked_to_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SettingsError, match="TIC_CHECKPOINT_FILE"):
        _ = Settings(folder=tmp_path / "tic", database_url=None).checkpoint_copy


def test_a_database_of_ones_own_has_it_beside_the_servers_key(tmp_path: Path) -> None:
    settings = own(tmp_path / "tic", server_key_file=tmp_path / "keys" / "server.key")
    assert settings.checkpoint_copy == tmp_path / "keys" / "checkpoint"


def test_beside_an_embedded_server_its_copy_is_the_same_one(tmp_path: Path) -> None:
    embedded = Settings(folder=tmp_path / "tic", database_url=None)
    beside = own(tmp_path / "tic", server_key_file=tmp_path / "tic" / "server.key")
    assert beside.checkpoint_copy == embedded.checkpoint_copy


def test_its_folder_is_made_where_nobody_has_named_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    signing = signing_of(Settings(folder=tmp_path / "tic", database_url=None))
    assert signing is not None
    signing[1].write(NOTE)
    assert signing[1].path.parent.stat().st_mode & 0o777 == 0o700
    named = signing_of(Settings(folder=tmp_path / "tic", database_url=None, checkpoint_file=tmp_path / "disk" / "copy"))
    assert named is not None
    with pytest.raises(NothingSigned):
        named[1].write(NOTE)


def test_a_copy_that_is_put_back_together_with_the_database_is_warned_of(tmp_path: Path) -> None:
    with capture_logs() as logs:
        signing_of(Settings(folder=tmp_path / "tic", database_url=None, checkpoint_file=tmp_path / "tic" / "copy"))
    assert [(line["log_level"], line["copy"]) for line in logs] == [("warning", str(tmp_path / "tic" / "copy"))]


def test_an_embedded_server_whose_folder_was_put_back_finds_what_it_has_signed_since(scratch: Path) -> None:
    settings = Settings(folder=scratch / "tic", database_url=None)
    key = settings.log_key(create=True)
    assert key is not None
    settings.checkpoint_copy.parent.mkdir(exist_ok=True)
    CheckpointFile(settings.checkpoint_copy).write(Checkpoint(key.public.name, 60, leaf_hash(b"lost")).signed(key))
    with serving({"TIC_FOLDER": str(settings.folder)}) as server:
        until(lambda: "60 were signed" in httpx.get(f"http://{server.address}/checkpoint").text)


# tic log adopt


@pytest.fixture
def adopt(database_url: str, tmp_path: Path) -> Callable[..., Result]:
    """`tic log adopt`, with the log's key, on the database of the test."""
    write_keys(tmp_path / "server.key", KEYRING, replace=False)
    (tmp_path / "log.key").write_text(KEY.written())
    environment = {
        "DATABASE_URL": database_url,
        "TIC_SERVER_KEY_FILE": str(tmp_path / "server.key"),
        "TIC_LOG_KEY_FILE": str(tmp_path / "log.key"),
    }

    def run(*words: str, input: str | None = None) -> Result:
        return CliRunner().invoke(cli.app, ["log", "adopt", *words], input=input, env=environment)

    return run


@pytest.fixture
def without_copy(signer: Signer, datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile) -> None:
    """A log of 40 events that were signed, and two more, whose copy is gone."""
    events(recorder, datastore, 40)
    signer.step()
    events(recorder, datastore, 2)
    copy.path.unlink()


@pytest.mark.usefixtures("without_copy")
def test_an_operator_who_is_sure_makes_the_copy_from_the_database(
    adopt: Callable[..., Result], signer: Signer, database_url: str, copy: CheckpointFile
) -> None:
    refusal(signer)
    done = adopt(input="y\n")
    assert done.exit_code == 0, done.output
    assert "42 events" in done.output
    assert "The last checkpoint in the database is of 40, signed 20" in done.output
    assert str(copy.path) in done.output
    assert copy.read() == signed(database_url)[-1]
    assert signer.step() == (True, False)
    assert sizes(database_url) == [40, 42]


@pytest.mark.usefixtures("without_copy")
def test_one_who_is_not_sure_changes_nothing(adopt: Callable[..., Result], copy: CheckpointFile) -> None:
    assert adopt(input="n\n").exit_code == 1
    assert not copy.path.exists()


@pytest.mark.usefixtures("without_copy")
def test_a_program_does_not_ask(adopt: Callable[..., Result], copy: CheckpointFile) -> None:
    assert adopt("--yes").exit_code == 0
    assert copy.path.exists()


@pytest.mark.usefixtures("without_copy")
def test_the_newest_event_is_told_with_its_time(adopt: Callable[..., Result], games: Games) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    assert "the newest of 20" in adopt("--yes").output


@pytest.mark.usefixtures("without_copy")
def test_a_copy_that_is_there_is_not_replaced(adopt: Callable[..., Result], copy: CheckpointFile) -> None:
    copy.write(NOTE)
    done = adopt("--yes")
    assert (done.exit_code, copy.read()) == (1, NOTE)
    assert "There is a copy of the last checkpoint already" in done.output


def test_where_nothing_was_signed_nothing_is_adopted(
    adopt: Callable[..., Result], datastore: Datastore, recorder: EventRecorder, copy: CheckpointFile
) -> None:
    events(recorder, datastore, 3)
    done = adopt("--yes")
    assert (done.exit_code, copy.path.exists()) == (1, False)
    assert "begins by itself" in done.output


@pytest.mark.usefixtures("without_copy")
def test_what_the_log_does_not_contain_is_not_adopted(
    adopt: Callable[..., Result], database_url: str, copy: CheckpointFile
) -> None:
    execute(
        database_url,
        "ALTER TABLE game_events DISABLE TRIGGER game_events_append_only",
        "DELETE FROM game_events WHERE originator_version > 20",
        "TRUNCATE read_models.merkle_tiles, read_models.merkle_beginnings",
        "UPDATE read_models.projection_positions SET position = 0 WHERE name = 'transparency'",
    )
    done = adopt("--yes")
    assert (done.exit_code, copy.path.exists()) == (1, False)
    assert "and 40 were signed" in done.output


@pytest.mark.usefixtures("without_copy")
def test_what_another_server_has_told_of_is_not_passed_over(
    adopt: Callable[..., Result], database_url: str, datastore: Datastore, copy: CheckpointFile, tmp_path: Path
) -> None:
    knows = CheckpointFile(tmp_path / "knows")
    knows.write(Checkpoint("tic.example/log", 60, leaf_hash(b"lost")).signed(KEY))
    refusal(Signer(datastore, KEY, knows))
    done = adopt("--yes")
    assert (done.exit_code, copy.path.exists()) == (1, False)
    assert "60 were signed" in done.output


def test_without_the_logs_key_nothing_is_adopted(database_url: str) -> None:
    done = CliRunner().invoke(cli.app, ["log", "adopt"], env={"DATABASE_URL": database_url, "TIC_LOG_KEY_FILE": ""})
    assert isinstance(done.exception, SettingsError)
    assert "TIC_LOG_KEY_FILE" in str(done.exception)
