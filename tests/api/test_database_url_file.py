"""The database's URL, and with it its password, comes from a file as well as from the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from api.log_commands import signing_of
from api.settings import KeyFile, Settings, SettingsError
from domain.notes import SigningKey
from domain.vault import Keyring, ServerKey

URL = "postgresql://tic_app:geheim@db.example.org/tic"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("TIC_", "DATABASE_URL"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that DATABASE_URL_FILE names; it is not there yet."""
    path = tmp_path / "app.url"
    monkeypatch.setenv("DATABASE_URL_FILE", str(path))
    return path


def told() -> str:
    with pytest.raises(SettingsError) as raised:
        Settings.load()
    return str(raised.value)


@pytest.mark.parametrize("text", [URL, f"{URL}\n", f"{URL}\r\n"], ids=["bare", "a line", "a line of Windows"])
def test_the_file_names_the_database(file: Path, text: str) -> None:
    file.write_bytes(text.encode())

    with Settings.load().database() as url:
        assert url == URL


def test_a_database_from_a_file_needs_a_key_file_like_any_other(file: Path) -> None:
    file.write_text(URL)

    with pytest.raises(SettingsError, match=r"tic key new --output server\.key"):
        _ = Settings.load().key_file


def test_an_empty_name_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL_FILE", "")

    assert Settings.load().database_url is None


def test_one_of_the_two_is_refused_beside_the_other(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(URL)
    monkeypatch.setenv("DATABASE_URL", URL)

    assert told() == "DATABASE_URL and DATABASE_URL_FILE are both set: leave one of them out"


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    assert told() == f"DATABASE_URL_FILE is {file}, which can't be read: No such file or directory"


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", f"{URL}\n{URL}\n".encode(), URL.encode() + b"x" * 5000, URL.encode() + b"\xff"],
    ids=["empty", "an empty line", "two lines", "far too long", "not UTF-8"],
)
def test_a_file_that_holds_something_else_is_refused_without_telling_what(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    said = told()

    assert said.startswith(f"DATABASE_URL_FILE is {file}, which ")
    assert "geheim" not in said


def test_the_password_is_in_no_repr(file: Path) -> None:
    file.write_text(URL)

    assert "geheim" not in repr(Settings.load())


def warnings_of_keys_that_others_can_read(folder: Path) -> list[str]:
    server, log = folder / "server.key", folder / "log.key"
    server.write_text(Keyring([ServerKey.generate()]).write())
    log.write_text(SigningKey.new("tic.example/log").written())
    for key in (server, log):
        key.chmod(0o444)
    settings = Settings(server_key_file=server, log_key_file=log)
    with capture_logs() as logs:
        KeyFile(settings)
        signing_of(settings)
    return [entry["event"] for entry in logs]


def test_keys_that_others_can_read_are_warned_of(tmp_path: Path) -> None:
    assert [said.rpartition(": ")[2] for said in warnings_of_keys_that_others_can_read(tmp_path)] == ["chmod 600"] * 2


def test_keys_on_a_read_only_mount_are_not_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = os.statvfs(tmp_path)
    mounted = os.statvfs_result((*found[:8], found.f_flag | os.ST_RDONLY, found[9]))
    monkeypatch.setattr(os, "statvfs", lambda _: mounted)

    assert warnings_of_keys_that_others_can_read(tmp_path) == []
