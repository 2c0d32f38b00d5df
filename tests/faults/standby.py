"""A PostgreSQL primary and its synchronous standby, each of which can be ended at any moment and in any way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, NamedTuple
from urllib.parse import quote

import psycopg

from api.embedded_postgres import EmbeddedPostgresError, embedded_postgres, find_binaries
from api.postgres_launcher import choose_account, run_as, start_as
from tests.api.postgres_folders import can_connect, eventually, postmaster
from tests.faults.load import PATIENCE

__all__ = ["Cluster", "Node", "cluster", "missing"]

PROGRAMS: Final = ("pg_basebackup", "pg_rewind")
PORT: Final = 5432
SETTINGS: Final = {
    "listen_addresses": "",
    "port": str(PORT),
    "shared_buffers": "32MB",
    "max_wal_size": "128MB",
    "fsync": "on",
    "synchronous_commit": "on",
}
NONE: Final[Mapping[str, str]] = MappingProxyType({})


def missing() -> str | None:
    """Say which of PostgreSQL's programs are not here; None where all are."""
    try:
        folder = find_binaries()
    except EmbeddedPostgresError as error:
        return str(error)
    lacking = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    return f"{folder} has no {' and no '.join(lacking)}" if lacking else None


class Node:
    """One PostgreSQL server, started by hand: nothing starts it again."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, in which there is one named ``data``."""
        self.folder: Final = folder
        self._binaries: Final = find_binaries()
        self._account: Final = choose_account(self._binaries / "postgres", folder)[0]
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def name(self) -> str:
        """By which the other one knows it."""
        return self.folder.name

    @property
    def socket(self) -> Path:
        """The folder of its socket, which is its host."""
        return self.folder / "socket"

    @property
    def url(self) -> str:
        """The URL of its database, whether it is the primary or not."""
        return f"postgresql://tic@/tic?host={quote(str(self.socket), safe='')}&port={PORT}&connect_timeout=2"

    def start(self, settings: Mapping[str, str] = NONE) -> None:
        """Start it, and wait until it answers."""
        options = {**SETTINGS, "cluster_name": self.name, "unix_socket_directories": str(self.socket), **settings}
        command = [str(self._binaries / "postgres"), "-D", str(self.folder / "data")]
        command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        self._log = (self.folder / "by-hand.log").open("ab")
        self._process = start_as(self._account, self.folder, command, lock=self._log, log=self._log)
        answers = eventually(lambda: can_connect(self.url), within=PATIENCE)
        assert answers, (self.folder / "by-hand.log").read_text()[-2000:]

    def run(self, program: str, *words: str) -> None:
        """Run one of PostgreSQL's programs as whoever the server runs as."""
        done = run_as(self._account, self.folder, [str(self._binaries / program), *words])
        assert done.returncode == 0, done.stderr

    def ask(self, query: str) -> object:
        """Return the one value that answers a query, outside of a transaction."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            done = connection.execute(query.encode())
            row = done.fetchone() if done.description else None
        return row[0] if row else None

    def kill(self) -> None:
        """Kill the server and in the same moment every process of its, as a power cut would."""
        assert self._process is not None
        with psycopg.connect(self.url) as connection:
            backends = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity")]
        for pid in (postmaster(self.folder), *backends):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._ended()

    def stop(self) -> None:
        """Shut it down, if it runs; whoever is connected is cut off."""
        self._end(signal.SIGINT)

    def throw_away(self) -> None:
        """End it, if it runs, and leave its data as they are."""
        self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._ended()

    def _ended(self) -> None:
        assert self._process is not None
        assert self._log is not None
        self._process.wait(PATIENCE)
        self._log.close()
        self._process = None

    def promote(self) -> None:
        """Make the primary of a standby, and wait until it is that."""
        assert self.ask("SELECT pg_promote()") is True

    def clear(self) -> None:
        """Remove what a server that was killed has left: another process may have its id by now."""
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)


class Cluster(NamedTuple):
    """Two servers."""

    first: Node
    second: Node

    @property
    def url(self) -> str:
        """The database's URL as a server of ours has it: both, and the one of them that takes writes is meant."""
        hosts = quote(f"{self.first.socket},{self.second.socket}", safe="")
        ask = f"host={hosts}&port={PORT},{PORT}&target_session_attrs=read-write&connect_timeout=2"
        return f"postgresql://tic@/tic?{ask}"

    def replicates(self) -> bool:
        """Whether the second confirms what the first commits."""
        query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
        return self.first.ask(query) == 1


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run a primary and a synchronous standby, as docs/operations.md has it, until the block ends."""
    one, other = folder / "one", folder / "other"
    with embedded_postgres(one):
        pass  # makes its data, and the database
    other.mkdir(mode=0o700)
    first, second = Node(one), Node(other)
    try:
        second.socket.mkdir(mode=0o700)
        shutil.copystat(one, other)
        owner = one.stat()
        for made in (other, second.socket):
            os.chown(made, owner.st_uid, owner.st_gid)
        first.start({"synchronous_standby_names": f"FIRST 1 ({second.name})"})
        source = f"host={first.socket} port={PORT} user=tic"
        slot = ("--create-slot", "--slot", "standby", "--write-recovery-conf", "--wal-method", "stream")
        second.run("pg_basebackup", "-D", str(other / "data"), "-d", source, "--checkpoint", "fast", *slot)
        second.start()
        both = Cluster(first, second)
        assert eventually(both.replicates, within=PATIENCE)
        yield both
    finally:
        second.throw_away()
        first.throw_away()
