"""The embedded PostgreSQL: real servers, real kills."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from api import embedded_postgres as module
from api.embedded_postgres import EmbeddedPostgresError, default_folder, embedded_postgres, find_binaries
from tests.api.postgres_folders import (
    ORDINARY,
    Holder,
    ask,
    can_connect,
    eventually,
    is_free,
    needs_root,
    new_scratch,
    postmaster,
)


def is_ours(folder: Path) -> bool:
    """Whether the postmaster is a child of this very process."""
    with contextlib.suppress(subprocess.CalledProcessError):
        return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(postmaster(folder))])) == os.getpid()
    return False


def note(conninfo: str, word: str) -> None:
    with psycopg.connect(conninfo) as connection:
        connection.execute("DROP TABLE IF EXISTS note")
        connection.execute("CREATE TABLE note (word text)")
        connection.execute("INSERT INTO note VALUES (%s)", [word])


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[str, Path]]:
    """The conninfo and the folder of a server for those who only look."""
    path = new_scratch()
    with embedded_postgres(path / "not" / "yet", settings={"max_connections": "17"}) as conninfo:
        yield conninfo, path / "not" / "yet"
    shutil.rmtree(path)


@pytest.fixture
def hollow(scratch: Path) -> Path:
    """A folder that passes for one of ours until a server is started on it."""
    (scratch / "tic" / "data").mkdir(parents=True)
    (scratch / "tic" / "data" / "PG_VERSION").write_text("18\n")
    return scratch / "tic"


# --- One user ------------------------------------------------------------------------------------------------------


def test_an_empty_folder_becomes_a_server_with_a_database_of_ours(server: tuple[str, Path]) -> None:
    conninfo, _ = server
    assert ask(conninfo, "SELECT current_database() || ' ' || current_user") == "tic tic"


def test_a_folder_that_is_made_is_closed_to_others(server: tuple[str, Path]) -> None:
    _, folder = server
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_was_written_is_there_the_next_time(folder: Path) -> None:
    with embedded_postgres(folder) as conninfo:
        note(conninfo, "kept")
    with embedded_postgres(folder) as conninfo:
        assert ask(conninfo, "SELECT word FROM note") == "kept"


def test_the_server_is_gone_when_the_block_is_left(folder: Path) -> None:
    with embedded_postgres(folder) as conninfo:
        pass
    assert is_free(folder)
    assert not can_connect(conninfo)


def test_a_block_left_by_an_error_ends_the_server_and_passes_the_error_on(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), embedded_postgres(folder):
        raise ZeroDivisionError
    assert is_free(folder)


def test_a_dropped_database_is_made_again(folder: Path) -> None:
    with embedded_postgres(folder) as conninfo, psycopg.connect(conninfo.replace("/tic?", "/postgres?")) as connection:
        connection.autocommit = True
        connection.execute("DROP DATABASE tic WITH (FORCE)")
    with embedded_postgres(folder) as conninfo:
        assert ask(conninfo, "SELECT current_database()") == "tic"


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit", "autovacuum", "data_checksums"])
def test_a_setting_that_keeps_what_was_committed_is_on(server: tuple[str, Path], setting: str) -> None:
    conninfo, _ = server
    assert ask(conninfo, f"SHOW {setting}") == "on"


def test_nothing_listens_on_the_network(server: tuple[str, Path]) -> None:
    conninfo, _ = server
    assert ask(conninfo, "SHOW listen_addresses") == ""


def test_the_socket_is_in_a_folder_of_ours_alone(server: tuple[str, Path]) -> None:
    _, folder = server
    assert (folder / "socket" / ".s.PGSQL.5432").exists()
    assert (folder / "socket").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("PGHOSTADDR", "127.0.0.1", id="PGHOSTADDR"),
        pytest.param("PGSERVICE", "elsewhere", id="a PGSERVICE with an address"),
    ],
)
def test_an_environment_that_names_another_server_is_not_followed(
    folder: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    (scratch / "services").write_text("[elsewhere]\nhostaddr=127.0.0.1\nport=1\ndbname=theirs\nuser=them\n")
    monkeypatch.setenv("PGSERVICEFILE", str(scratch / "services"))
    monkeypatch.setenv(name, value)
    with embedded_postgres(folder, timeout=5) as conninfo:
        assert ask(conninfo, "SHOW unix_socket_directories") == str(folder.resolve() / "socket")


def test_settings_of_the_caller_count(server: tuple[str, Path]) -> None:
    conninfo, _ = server
    assert ask(conninfo, "SHOW max_connections") == "17"


@pytest.mark.parametrize("setting", [*module.PROMISES, "unix_socket_directories"])
def test_a_setting_that_would_break_a_promise_is_refused(scratch: Path, setting: str) -> None:
    with pytest.raises(ValueError, match=setting), embedded_postgres(scratch, settings={setting: "off"}):
        pass


def test_the_server_outlives_the_thread_that_asked_for_it(folder: Path) -> None:
    with contextlib.ExitStack() as stack:
        started: list[tuple[str, int]] = []

        def enter() -> None:
            started.append((stack.enter_context(embedded_postgres(folder)), postmaster(folder)))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        conninfo, pid = started[0]
        assert ask(conninfo, "SELECT 1") == "1"
        assert postmaster(folder) == pid


def test_a_statement_that_fails_is_not_written_to_the_log(server: tuple[str, Path]) -> None:
    conninfo, folder = server
    with pytest.raises(psycopg.errors.DivisionByZero):
        ask(conninfo, "SELECT 1 / 0 AS hunter2")
    log = (folder / "postgres.log").read_text()
    assert "division by zero" in log
    assert "hunter2" not in log


def test_a_log_that_has_grown_long_is_set_aside(folder: Path) -> None:
    (folder / "postgres.log").write_bytes(b"x" * (module._LOG_LIMIT + 1))
    with embedded_postgres(folder):
        assert (folder / "postgres.log").stat().st_size < 100_000
        assert (folder / "postgres.log.1").stat().st_size == module._LOG_LIMIT + 1


# --- Several users -------------------------------------------------------------------------------------------------


def test_a_second_process_attaches_to_the_server_of_the_first(folder: Path, hold: Callable[..., Holder]) -> None:
    theirs = hold(folder).conninfo()
    pid = postmaster(folder)
    with embedded_postgres(folder) as ours:
        assert ours == theirs
        assert postmaster(folder) == pid


def test_a_second_user_in_the_same_process_attaches_too(folder: Path) -> None:
    with embedded_postgres(folder) as first:
        pid = postmaster(folder)
        with embedded_postgres(folder) as second:
            assert (second, postmaster(folder)) == (first, pid)
        assert ask(first, "SELECT 1") == "1"


def test_processes_that_come_to_an_empty_folder_at_once_share_one_server(
    scratch: Path, hold: Callable[..., Holder]
) -> None:
    holders = [hold(scratch / "tic") for _ in range(2)]
    assert len({ask(holder.conninfo(), "SELECT pg_postmaster_start_time()") for holder in holders}) == 1


def test_an_attached_process_takes_over_when_the_owner_is_killed(folder: Path, hold: Callable[..., Holder]) -> None:
    owner = hold(folder)
    note(owner.conninfo(), "committed")
    with embedded_postgres(folder) as conninfo:
        owner.kill()
        assert eventually(lambda: is_ours(folder) and can_connect(conninfo), within=30)
        assert ask(conninfo, "SELECT word FROM note") == "committed"


def test_an_attached_process_takes_over_when_the_owner_leaves(folder: Path, hold: Callable[..., Holder]) -> None:
    owner = hold(folder)
    note(owner.conninfo(), "committed")
    with embedded_postgres(folder) as conninfo:
        owner.leave()
        assert eventually(lambda: is_ours(folder) and can_connect(conninfo), within=30)
        assert ask(conninfo, "SELECT word FROM note") == "committed"


def test_a_take_over_that_fails_is_told_in_the_log_and_tried_again(
    folder: Path, hold: Callable[..., Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = hold(folder)
    owner.conninfo()
    with embedded_postgres(folder) as conninfo, monkeypatch.context() as patch:
        patch.setenv("TIC_POSTGRES_BIN", "/nowhere")
        owner.leave()
        log = folder / "postgres.log"
        assert eventually(lambda: "no server for now: TIC_POSTGRES_BIN is /nowhere" in log.read_text(), within=30)
        patch.undo()
        assert eventually(lambda: can_connect(conninfo), within=30)


def test_the_second_user_in_a_process_takes_over_from_the_first(folder: Path) -> None:
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        first.enter_context(embedded_postgres(folder))
        conninfo = second.enter_context(embedded_postgres(folder))
        first.close()
        assert eventually(lambda: can_connect(conninfo), within=30)


# --- Death and what it leaves --------------------------------------------------------------------------------------


def test_a_server_that_is_killed_is_started_again(folder: Path) -> None:
    with embedded_postgres(folder) as conninfo:
        note(conninfo, "committed")
        killed = postmaster(folder)
        os.kill(killed, signal.SIGKILL)
        assert eventually(lambda: postmaster(folder) not in {0, killed} and can_connect(conninfo), within=30)
        assert ask(conninfo, "SELECT word FROM note") == "committed"


def test_a_crash_of_both_is_recovered_from(folder: Path, hold: Callable[..., Holder]) -> None:
    owner = hold(folder)
    note(owner.conninfo(), "committed")
    os.kill(postmaster(folder), signal.SIGKILL)
    owner.kill()
    with embedded_postgres(folder, timeout=5) as conninfo:
        assert ask(conninfo, "SELECT word FROM note") == "committed"


def test_a_dead_server_whose_process_id_is_in_use_again_is_known_as_dead(folder: Path) -> None:
    with embedded_postgres(folder):
        remains = (folder / "data" / "postmaster.pid").read_text().splitlines()[1:]
    (folder / "data" / "postmaster.pid").write_text("\n".join([str(os.getpid()), *remains, ""]))
    (folder / "socket" / ".s.PGSQL.5432.lock").write_text("\n".join([str(os.getpid()), *remains[:4], ""]))
    (folder / "socket" / ".s.PGSQL.5432").touch()
    with embedded_postgres(folder, timeout=5) as conninfo:
        assert ask(conninfo, "SELECT 1") == "1"


def test_a_new_server_waits_for_the_last_process_of_the_old_one(folder: Path, hold: Callable[..., Holder]) -> None:
    owner = hold(folder)
    note(owner.conninfo(), "committed")
    old = postmaster(folder)
    os.kill(old, signal.SIGSTOP)
    owner.kill()
    still_held = not is_free(folder)
    os.kill(old, signal.SIGCONT)
    with embedded_postgres(folder, timeout=5) as conninfo:
        assert still_held
        assert ask(conninfo, "SELECT word FROM note") == "committed"


def test_a_server_started_by_hand_is_left_alone(folder: Path, hold: Callable[..., Holder]) -> None:
    # To the folder's new place, the server of the old place is a stranger.
    conninfo = hold(folder).conninfo()
    moved = folder.with_name("moved")
    moved.mkdir()
    (moved / "data").symlink_to(folder / "data")
    with pytest.raises(EmbeddedPostgresError, match=r"postmaster\.pid.* already exists"), embedded_postgres(moved):
        pass
    assert ask(conninfo, "SELECT 1") == "1"


def test_an_interrupted_initdb_leaves_nothing_behind(scratch: Path, hold: Callable[..., Holder]) -> None:
    owner = hold(scratch)
    assert eventually((scratch / "data.unfinished" / "PG_VERSION").exists, within=20)
    owner.kill()
    assert not (scratch / "data").exists()
    with embedded_postgres(scratch) as conninfo:
        assert ask(conninfo, "SELECT 1") == "1"
    assert not (scratch / "data.unfinished").exists()


def test_a_failing_initdb_is_told_and_leaves_nothing_behind(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (scratch / "bin").mkdir()
    (scratch / "bin" / "postgres").symlink_to(find_binaries() / "postgres")
    (scratch / "bin" / "initdb").write_text("#!/bin/sh\necho the disk is full >&2\nexit 1\n")
    (scratch / "bin" / "initdb").chmod(0o755)
    monkeypatch.setenv("TIC_POSTGRES_BIN", str(scratch / "bin"))
    with pytest.raises(EmbeddedPostgresError, match="the disk is full"), embedded_postgres(scratch / "tic"):
        pass
    assert [path.name for path in (scratch / "tic").iterdir()] == ["server.lock"]


# --- Refusals ------------------------------------------------------------------------------------------------------


def test_a_folder_of_another_major_version_is_refused_with_a_way_on(hollow: Path) -> None:
    (hollow / "data" / "PG_VERSION").write_text("15\n")
    with pytest.raises(EmbeddedPostgresError, match=r"made by PostgreSQL 15.*holds PostgreSQL 18.*TIC_POSTGRES_BIN"):
        embedded_postgres(hollow).__enter__()


def test_a_folder_that_is_not_postgresqls_is_refused(scratch: Path) -> None:
    (scratch / "data").mkdir()
    with pytest.raises(EmbeddedPostgresError, match="PG_VERSION"), embedded_postgres(scratch):
        pass


def test_a_server_that_does_not_start_is_reported_with_the_end_of_its_log(folder: Path) -> None:
    (folder / "postgres.log").write_text("of an earlier start\n")
    with pytest.raises(EmbeddedPostgresError) as refusal, embedded_postgres(folder, settings={"jit": "perhaps"}):
        pass
    assert 'parameter "jit" requires a Boolean value' in str(refusal.value)
    assert "earlier" not in str(refusal.value)


def test_a_server_that_does_not_answer_in_time_is_reported_and_ended(folder: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="no answer in 0 s"), embedded_postgres(folder, timeout=0):
        pass
    assert is_free(folder)


# --- The socket ----------------------------------------------------------------------------------------------------


@pytest.fixture
def deep(hollow: Path) -> Iterator[Path]:
    """A folder whose path is too long for a socket; the fallback of its socket is removed at the end."""
    deep = hollow.rename(hollow.parent / ("d" * 120))
    fallback = module._socket_folder(deep)
    yield deep
    if fallback.is_symlink():
        fallback.unlink()
    else:
        shutil.rmtree(fallback)


def test_a_path_too_long_for_a_socket_gets_a_short_one_closed_to_others(deep: Path, folder: Path) -> None:
    shutil.rmtree(deep / "data")
    (folder / "data").rename(deep / "data")
    try:
        with embedded_postgres(deep) as conninfo:
            assert ask(conninfo, "SELECT 1") == "1"
            assert module._socket_folder(deep).stat().st_mode & 0o777 == 0o700
    finally:
        (deep / "data").rename(folder / "data")


def test_a_short_socket_folder_that_others_may_enter_is_refused(deep: Path) -> None:
    module._socket_folder(deep).mkdir()
    module._socket_folder(deep).chmod(0o755)
    with pytest.raises(EmbeddedPostgresError, match="mode 0700"), embedded_postgres(deep):
        pass


def test_a_short_socket_folder_that_is_a_link_is_refused(deep: Path, scratch: Path) -> None:
    (scratch / "trap").mkdir(mode=0o700)
    module._socket_folder(deep).symlink_to(scratch / "trap")
    with pytest.raises(EmbeddedPostgresError, match="must be a folder of ours"), embedded_postgres(deep):
        pass


@needs_root
def test_a_short_socket_folder_of_somebody_else_is_refused(deep: Path) -> None:
    module._socket_folder(deep).mkdir(mode=0o700)
    os.chown(module._socket_folder(deep), ORDINARY, ORDINARY)
    with pytest.raises(EmbeddedPostgresError, match="must be a folder of ours"), embedded_postgres(deep):
        pass


# --- Where things are ----------------------------------------------------------------------------------------------


def programs(folder: Path) -> Path:
    folder.mkdir()
    for name in ("postgres", "initdb"):
        (folder / name).touch(mode=0o755)
    return folder


def test_the_binaries_of_the_installed_extra_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIC_POSTGRES_BIN", raising=False)
    monkeypatch.setenv("PATH", "")
    assert find_binaries().parts[-3:] == ("embedded_postgres", "pginstall", "bin")


def test_the_binaries_named_in_the_environment_come_first(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIC_POSTGRES_BIN", str(programs(scratch / "bin")))
    assert find_binaries() == (scratch / "bin").resolve()


def test_an_environment_that_names_no_binaries_is_refused(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIC_POSTGRES_BIN", str(scratch))
    with pytest.raises(EmbeddedPostgresError, match="TIC_POSTGRES_BIN"):
        find_binaries()


def test_without_the_extra_the_binaries_on_the_path_are_found(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIC_POSTGRES_BIN", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(programs(scratch / "bin")))
    assert find_binaries() == (scratch / "bin").resolve()


def test_without_any_binaries_the_message_says_what_to_do(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIC_POSTGRES_BIN", raising=False)
    monkeypatch.setattr(module, "_usual_places", lambda: iter(()))
    with (
        pytest.raises(EmbeddedPostgresError, match=r"tic-server\[embedded\].*DATABASE_URL"),
        embedded_postgres(scratch),
    ):
        pass


@pytest.mark.parametrize(
    ("platform", "base", "expected"),
    [
        pytest.param("linux", "/srv/games", "/srv/games/tic", id="XDG_DATA_HOME"),
        pytest.param("linux", "", "/home/ada/.local/share/tic", id="the default of XDG"),
        pytest.param("linux", "relative", "/home/ada/.local/share/tic", id="a relative XDG_DATA_HOME counts as unset"),
        pytest.param("darwin", "", "/home/ada/Library/Application Support/tic", id="macOS"),
    ],
)
def test_the_default_folder_is_where_the_system_keeps_such_things(
    monkeypatch: pytest.MonkeyPatch, platform: str, base: str, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_DATA_HOME", base)
    assert default_folder() == Path(expected)
