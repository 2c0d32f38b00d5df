"""The account the embedded PostgreSQL runs under, and its death with its owner: real accounts, real kills."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api import postgres_launcher
from api.embedded_postgres import embedded_postgres
from api.postgres_launcher import Account, EmbeddedPostgresError
from tests.api.postgres_folders import ORDINARY, Holder, ask, can_connect, eventually, is_free, needs_root, postmaster

NAMELESS = 54321  # a uid no system gives out
GONE_WITHIN = 3  # seconds: it is promised within one, and takes a fifth of that; the rest is for busy machines
NO_SUCH_ACCOUNT = Account("namespace", 2**32 - 1, 2**32 - 1)  # the kernel refuses to map it


def give(path: Path, uid: int) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, uid, uid)


@pytest.fixture
def lent(folder: Path) -> Iterator[Path]:
    """Such a folder for tests that give it to another account: it is taken back."""
    yield folder
    give(folder, os.geteuid())


# --- Life and death ------------------------------------------------------------------------------------------------


def gone_after_kill(folder: Path, owner: Holder) -> bool:
    conninfo = owner.conninfo()
    owner.kill()
    return eventually(lambda: is_free(folder), within=GONE_WITHIN) and not can_connect(conninfo)


WATCHES = [
    pytest.param("pipe", id="told by a pipe"),
    pytest.param(
        "signal", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux only"), id="told by a signal"
    ),
]


@pytest.mark.parametrize("watch", WATCHES)
def test_the_server_is_gone_within_a_second_of_its_owners_kill(
    folder: Path, hold: Callable[..., Holder], watch: str
) -> None:
    assert gone_after_kill(folder, hold(folder, watch=watch))


def test_a_launch_whose_parent_has_died_comes_to_nothing(scratch: Path) -> None:
    stay = Account("stay", os.geteuid(), os.getegid())
    words = postgres_launcher._launcher(stay, scratch, ["/bin/echo", "launched"], watch="signal")
    orphaned_words = [word if word != str(os.getpid()) else "1" for word in words]
    alive, orphaned = (
        subprocess.run(each, check=False, capture_output=True, text=True) for each in (words, orphaned_words)
    )
    assert (alive.stdout, orphaned.stdout) == ("launched\n", "")


# --- Accounts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uid", "has_name", "expected"),
    [
        pytest.param(1000, True, ["stay"], id="an ordinary user stays"),
        pytest.param(1000, False, ["namespace", "stay"], id="a user without a name gets one in a namespace"),
        pytest.param(0, True, ["namespace", "switch"], id="root prefers a namespace"),
    ],
)
def test_the_accounts_are_tried_in_order(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, uid: int, has_name: bool, expected: list[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(postgres_launcher, "_has_name", lambda _uid: has_name)
    if uid == 0 and scratch.stat().st_uid:
        pytest.skip("root is offered the namespace only on a folder of its own")
    assert [account.how for account in postgres_launcher._accounts(scratch)] == expected


@needs_root
@pytest.mark.parametrize("uid", [pytest.param(ORDINARY, id="with a name"), pytest.param(NAMELESS, id="without a name")])
def test_an_ordinary_user_has_a_server_of_its_own_that_dies_with_it(
    scratch: Path, hold: Callable[..., Holder], uid: int
) -> None:
    os.chown(scratch, uid, uid)
    owner = hold(scratch / "tic", uid=uid)
    conninfo = owner.conninfo()
    assert (scratch / "tic" / "data").stat().st_uid == uid
    owner.kill()
    assert eventually(lambda: is_free(scratch / "tic"), within=GONE_WITHIN)
    assert not can_connect(conninfo)


@needs_root
def test_the_folder_of_somebody_else_is_refused(scratch: Path, hold: Callable[..., Holder]) -> None:
    (scratch / "tic").mkdir(mode=0o700)
    stranger = hold(scratch / "tic", uid=ORDINARY)
    _, errors = stranger.process.communicate(timeout=20)
    assert b"EmbeddedPostgresError: [Errno 13] Permission denied" in errors


@needs_root
def test_root_runs_the_server_on_somebodys_folder_as_its_owner(scratch: Path) -> None:
    folder = scratch / "tic"
    folder.mkdir(mode=0o700)
    os.chown(folder, ORDINARY, ORDINARY)
    with embedded_postgres(folder) as conninfo:
        assert ask(conninfo, "SELECT 1") == "1"
        assert {(folder / "data").stat().st_uid, (folder / "socket").stat().st_uid} == {ORDINARY}


@needs_root
def test_root_without_namespaces_runs_the_server_as_an_unprivileged_account(
    lent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_launcher, "_namespace", lambda: NO_SUCH_ACCOUNT)
    parent = lent.parent.stat()
    with embedded_postgres(lent) as conninfo:
        assert ask(conninfo, "SELECT 1") == "1"
        assert Path(f"/proc/{postmaster(lent)}").stat().st_uid == postgres_launcher._unprivileged().uid != 0
        assert Path(f"/proc/{postmaster(lent)}/status").read_text().count("Groups:\t \n") == 1  # none of root's
    assert (lent.parent.stat().st_mode, lent.parent.stat().st_uid) == (parent.st_mode, parent.st_uid)


@needs_root
def test_the_server_of_an_unprivileged_account_is_gone_within_a_second_of_roots_kill(
    lent: Path, hold: Callable[..., Holder]
) -> None:
    give(lent, ORDINARY)
    assert gone_after_kill(lent, hold(lent))


@needs_root
def test_a_parent_the_unprivileged_account_may_not_enter_is_named_and_left_alone(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_launcher, "_namespace", lambda: NO_SUCH_ACCOUNT)
    private = scratch / "private"
    private.mkdir(mode=0o700)
    with (
        pytest.raises(EmbeddedPostgresError, match=f"{private} may not be entered"),
        embedded_postgres(private / "tic"),
    ):
        pass
    assert (private.stat().st_mode & 0o777, private.stat().st_uid) == (0o700, 0)
