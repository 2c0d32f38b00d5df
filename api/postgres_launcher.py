"""Starts a program as a child under an account PostgreSQL puts up with, and sees to it that it does not outlive us.

PostgreSQL refuses to be root and must not outlive its parent. Both are arranged by a tiny launcher, which is this very
file run as a program: code between fork and exec (`preexec_fn`) can deadlock in a program that has threads. For its
sake nothing outside the standard library is imported here.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Literal, NamedTuple, NoReturn

__all__ = ["Account", "EmbeddedPostgresError", "choose_account", "run_as", "start_as"]

_ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "TZ": "UTC",
}  # ours may hold secrets: the child gets none of it

# How a server learns that its parent died: Linux sends a signal, elsewhere the launcher stays and watches a pipe.
_Watch = Literal["signal", "pipe"]
_WATCH: _Watch = "signal" if sys.platform == "linux" else "pipe"


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be run; the message says why and, where there is a way on, which."""


class Account(NamedTuple):
    """Whom the server runs as. Within a user namespace the ids are those seen inside of it."""

    how: Literal["stay", "namespace", "switch"]
    uid: int
    gid: int


# --- The account ---------------------------------------------------------------------------------------------------


def choose_account(postgres: Path, folder: Path) -> tuple[Account, int]:
    """The first account that can run the program, and the program's major version. Hands the folder over if need be.

    `postgres` is the server's program, `folder` the one it is to serve. Raises EmbeddedPostgresError if no account can;
    the message says of each that was tried why not.
    """
    refusals = []
    for account in _accounts(folder):
        answer = run_as(account, folder.parent, [str(postgres), "--version"])
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


# --- Starting a child ----------------------------------------------------------------------------------------------


def _launcher(account: Account, folder: Path, command: Sequence[str], *, watch: _Watch) -> list[str]:
    words = (os.getpid(), watch, *account, folder)
    return [sys.executable, "-I", "-S", __file__, *map(str, words), *command]


def run_as(
    account: Account, folder: Path, command: Sequence[str], *, lock: IO[bytes] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command as the account, in `folder`, to its end; its children, too, keep `lock` open.

    An account that cannot run it is told as by a command that fails: in the exit code and on standard error. On Linux
    the command is interrupted if we die meanwhile.
    """
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


def start_as(
    account: Account, folder: Path, command: Sequence[str], *, lock: IO[bytes], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start the command as the account, in `folder`, with its output in `log`; its children, too, keep `lock` open.

    It is interrupted when we die, however that happens; on Linux as soon as the thread that called this ends.
    """
    return subprocess.Popen(  # noqa: S603 - our own binaries, chosen by the operator
        _launcher(account, folder, command, watch=_WATCH),
        stdin=subprocess.PIPE if _WATCH == "pipe" else subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=_ENVIRONMENT,
        pass_fds=[lock.fileno()],
        start_new_session=True,  # Ctrl-C is for us: we shut the server down once its users have finished
    )


# --- The launcher: this file run as a program -----------------------------------------------------------------------


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
