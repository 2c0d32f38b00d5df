"""`docker/secrets.sh` makes what compose.yaml hands out, once."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from domain.notes import SigningKey
from domain.vault import Keyring
from tests.server import ROOT, TIC, environment

SCRIPT = ROOT / "docker" / "secrets.sh"


def make(folder: Path, name: str = "tic.example/log") -> str:
    """Run the script; return what it says."""
    settings = environment() | {"TIC": str(TIC)}
    done = subprocess.run([SCRIPT, name, folder], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of secrets, and what was said when they were made."""
    folder = tmp_path_factory.mktemp("docker") / "secrets"
    return folder, make(folder)


@pytest.fixture(scope="module")
def folder(made: tuple[Path, str]) -> Path:
    return made[0]


@pytest.mark.parametrize("role", ["owner", "app"])
def test_the_url_of_a_role_has_its_password(folder: Path, role: str) -> None:
    assert conninfo_to_dict((folder / f"{role}.url").read_text().strip()) == {
        "user": f"tic_{role}",
        "password": (folder / f"{role}.password").read_text(),
        "host": "postgres",
        "port": "5432",
        "dbname": "tic",
    }


def test_no_two_passwords_are_the_same(folder: Path) -> None:
    passwords = {path.read_text() for path in folder.glob("*.password")}

    assert len(passwords) == 3
    assert {len(password) for password in passwords} == {64}


def test_the_keys_are_keys(folder: Path) -> None:
    assert len(Keyring.parse((folder / "server" / "server.key").read_text()).keys) == 1
    assert SigningKey.parse((folder / "log.key").read_text()).public.name == "tic.example/log"


def test_only_the_owner_comes_into_the_folder_and_a_container_can_read_each_file(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "server").stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o444}


def test_what_is_there_stays_as_it_is(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    said = make(folder, "another.example/log")

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert "made" not in said


def test_no_secret_is_told(made: tuple[Path, str]) -> None:
    folder, said = made

    private = [path.read_text().strip() for path in folder.rglob("*") if path.is_file()]
    assert private
    assert not [secret for secret in private if secret in said]


def test_without_the_logs_name_nothing_is_made(tmp_path: Path) -> None:
    done = subprocess.run([SCRIPT], env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "NAME is the log's for ever" in done.stderr


def test_git_takes_no_secret() -> None:
    command = ["git", "check-ignore", "docker/secrets/app.password", "docker/secrets/server/server.key"]
    if not (ROOT / ".git").exists():
        pytest.skip("not a work tree")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)

    assert done.stdout.split() == command[2:]
