"""pgbouncer before a PostgreSQL, as Debian has it."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from api.embedded_postgres import find_binaries
from api.postgres_launcher import choose_account, start_as
from tests.api.postgres_folders import eventually
from tests.faults.load import PATIENCE

__all__ = ["PGBOUNCER", "lent", "pooled"]

PGBOUNCER: Final = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")

CONFIGURATION: Final = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listens}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
logfile = {folder}/pgbouncer.log
admin_users = {user}
"""
"""Whoever is on this machine may come in while the test runs: there is nothing in there."""


@contextmanager
def pooled(url: str, folder: Path, *, mode: str = "transaction", size: int = 8) -> Iterator[str]:
    """Run pgbouncer before a database until the block ends; the URL through it.

    Args:
        url: of the database itself, which listens at a socket of the file system.
        folder: for its files; whoever the database runs as may come in.
        mode: pgbouncer's ``pool_mode``.
        size: how many connections to the database it keeps.
    """
    assert PGBOUNCER is not None
    to = conninfo_to_dict(url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listens = free.getsockname()[1]
    place = folder / f"pgbouncer-{mode}-{listens}"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    settings = CONFIGURATION.format(
        host=to["host"], port=to["port"], listens=listens, mode=mode, size=size, folder=place, user=to["user"]
    )
    (place / "pgbouncer.ini").write_text(settings)
    (place / "users").write_text(f'"{to["user"]}" ""\n')
    account, _ = choose_account(find_binaries() / "postgres", folder)
    through = make_conninfo("", host="127.0.0.1", port=listens, user=to["user"], dbname=to["dbname"], sslmode="disable")
    with (place / "printed.log").open("ab") as log:
        process = start_as(account, place, [PGBOUNCER, str(place / "pgbouncer.ini")], lock=log, log=log)
        try:
            assert eventually(lambda: _lends(through), within=PATIENCE), (place / "printed.log").read_text()[-2000:]
            yield through
        finally:
            process.kill()
            process.wait()


def _lends(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2, autocommit=True).close()
    except psycopg.OperationalError:
        return False
    return True


def lent(url: str) -> int:
    """How many transactions pgbouncer has lent its connections for."""
    with psycopg.connect(make_conninfo(url, dbname="pgbouncer"), autocommit=True, prepare_threshold=None) as admin:
        cursor = psycopg.ClientCursor(admin)
        names = [column.name for column in cursor.execute("SHOW STATS").description or ()]
        return sum(row[names.index("total_xact_count")] for row in cursor.fetchall())
