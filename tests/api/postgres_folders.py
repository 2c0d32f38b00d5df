"""Folders of the embedded PostgreSQL as its tests see them: who holds them, and what their servers say."""

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psycopg
import pytest

from api import postgres_launcher

HOLDER = """
import sys
from pathlib import Path
from api import postgres_launcher
from api.embedded_postgres import embedded_postgres
postgres_launcher._WATCH = sys.argv[2]
with embedded_postgres(Path(sys.argv[1])) as conninfo:
    print(conninfo, flush=True)
    sys.stdin.read()
"""
PROJECT = Path(postgres_launcher.__file__).parents[1]
ORDINARY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def eventually(condition: Callable[[], bool], within: float) -> bool:
    """Whether the condition comes true before that many seconds have passed."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def new_scratch() -> Path:
    """A folder with a path short enough for a socket, where every account may enter."""
    path = Path(tempfile.mkdtemp(prefix="tic-"))
    path.chmod(0o755)
    return path


def is_free(folder: Path) -> bool:
    """Whether no server and no guard has a hold on the folder."""
    with (folder / "server.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def postmaster(folder: Path) -> int:
    """The process id of the server, or 0 while there is none."""
    with contextlib.suppress(FileNotFoundError, IndexError):
        return int((folder / "data" / "postmaster.pid").read_text().split()[0])
    return 0


def ask(conninfo: str, query: str) -> str:
    with psycopg.connect(conninfo, connect_timeout=5) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


def can_connect(conninfo: str) -> bool:
    try:
        psycopg.connect(conninfo, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@cache
def python_for(uid: int) -> tuple[str, dict[str, str]]:
    """An interpreter that account may run, and the environment in which it finds what we have."""
    paths = [str(PROJECT), *(path for path in sys.path if path.endswith("site-packages"))]
    environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(paths)}
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            probe = [python, "-c", "import api.embedded_postgres"]
            subprocess.run(probe, check=True, env=environment, user=uid, group=uid, extra_groups=[], cwd="/")
            return python, environment
    pytest.skip(f"no {name} that uid {uid} may run")


class Holder:
    """Another process that uses the folder until its standard input ends."""

    def __init__(self, folder: Path, *, watch: str = postgres_launcher._WATCH, uid: int | None = None) -> None:
        python, environment = (sys.executable, {**os.environ}) if uid is None else python_for(uid)
        self.process = subprocess.Popen(
            [python, "-c", HOLDER, str(folder), watch],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=PROJECT,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )

    def conninfo(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode().strip()
        assert line, self.process.communicate()[1].decode()
        return line

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def leave(self) -> None:
        """End its standard input, and wait until it has ended. Does nothing the second time."""
        if self.process.returncode is None:
            self.process.communicate(timeout=60)  # a shutdown waits for the disk
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
