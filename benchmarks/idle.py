"""How much memory an idle server takes, its embedded PostgreSQL included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["measure_idle"]

SETTLE_SECONDS = 5.0


def _descendants(pid: int) -> list[int]:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [pid, *(below for child in children for below in _descendants(child))]


def _proportional_kib(pid: int) -> int:
    """A process's memory, its share of what it shares with others counted in proportion (PSS)."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def measure_idle(_url: str, folder: Path) -> Iterator[str]:
    """Yield a line that tells the memory of a server and of its database, a few seconds after the start."""
    if not Path("/proc/self/smaps_rollup").exists():
        yield "this system does not tell (Linux does)"
        return
    environment = {**os.environ, "TIC_FOLDER": str(folder / "idle"), "XDG_STATE_HOME": str(folder / "state")}
    environment.pop("DATABASE_URL", None)
    command = [str(Path(sys.executable).with_name("tic")), "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(SETTLE_SECONDS)
        server, *database = _descendants(process.pid)
        server_mib = _proportional_kib(server) / 1024
        database_mib = sum(map(_proportional_kib, database)) / 1024
        process.terminate()
    yield (
        f"{server_mib + database_mib:.0f} MiB: the server {server_mib:.0f}, PostgreSQL {database_mib:.0f} in"
        f" {len(database)} processes (PSS)"
    )
