"""The backup and the restore that docs/operations.md tells of, as an operator would do them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from api.embedded_postgres import find_binaries
from tests.api.roles import House
from tests.server import TIC, environment

__all__ = ["dumped", "restored", "tic"]


def _program(name: str) -> str:
    """Where a program of PostgreSQL is: beside the embedded server, or on the path."""
    beside = find_binaries() / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is missing: the embedded PostgreSQL has it, and so has Debian's postgresql-client")
        pytest.skip(f"{name} is not here")
    return found


def _run(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def dumped(rooms: House, file: Path) -> Path:
    """A backup of a database without its read models, made by its owner while servers run."""
    leave_out = ("--exclude-schema=read_models", "--exclude-schema=read_models_rebuild")
    _run(_program("pg_dump"), "--format=custom", *leave_out, f"--file={file}", f"--dbname={rooms.owners_url}")
    return file


def restored(file: Path, rooms: House) -> None:
    """Restore a backup into an empty database, by its owner, and set up the role of its servers."""
    whole = ("--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges")
    _run(_program("pg_restore"), *whole, f"--dbname={rooms.owners_url}", file)
    rooms.init()


def tic(settings: Mapping[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of `tic`."""
    return subprocess.run(
        [TIC, *words], env=environment(**settings), capture_output=True, text=True, timeout=120, check=False
    )
