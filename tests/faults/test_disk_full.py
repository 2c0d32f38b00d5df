"""The database's disk is full, and then not any longer."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from api.embedded_postgres import embedded_postgres
from tests.api.postgres_folders import can_connect, eventually
from tests.faults.house import House, Tell
from tests.faults.load import PATIENCE, loaded

SIZE: Final = "192m"
BETWEEN: Final = 60
"""Commands that are acknowledged before the disk is full, and again after it."""
LEFT_OPEN: Final = 5
"""Outcomes that are unknown, for want of room, before more is done."""
SMALL: Final = {"max_wal_size": "32MB", "min_wal_size": "32MB"}
"""PostgreSQL's settings for so small a disk."""


@pytest.fixture
def small_disk(scratch: Path) -> Iterator[Path]:
    """A file system of a known size of this test's own."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a file system of a known size")
    place = scratch / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "tmpfs", str(place)]
    mounted = subprocess.run(mount, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(ballast: Path) -> None:
    """Take all the room that is left on the disk."""
    with ballast.open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def run_out_of_log(url: str) -> None:
    """Ask for one file of PostgreSQL's own log after the other until there is no room for one: it can't go on then."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            for _ in range(20):
                connection.execute("SELECT pg_switch_wal(), txid_current()")
    except psycopg.OperationalError:
        pass
    assert eventually(lambda: not can_connect(url), within=PATIENCE)


async def test_what_is_acknowledged_around_a_full_disk_is_kept(small_disk: Path, tmp_path: Path, tell: Tell) -> None:
    ballast = small_disk / "ballast"
    with embedded_postgres(small_disk / "tic", settings=SMALL) as url:
        async with House(url, tmp_path, tell) as house:
            server = await house.serve()
            async with loaded([server.url], seed=9) as load:
                await load.until(acknowledged=BETWEEN)
                await asyncio.to_thread(fill, ballast)
                await load.until_unknown(LEFT_OPEN)
                await asyncio.to_thread(run_out_of_log, url)
                await load.until_unknown(LEFT_OPEN)
                ballast.unlink()
                await load.until(acknowledged=BETWEEN)
            house.judge("disk full, then not", load)
