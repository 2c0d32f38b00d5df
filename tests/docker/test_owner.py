"""What PostgreSQL's image runs on a new cluster leaves an owner behind as whom `tic db init` sets up the database."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from api.embedded_postgres import embedded_postgres, find_binaries
from tests.server import ROOT, TIC, environment

SCRIPT = ROOT / "docker" / "postgres" / "owner.sh"
PASSWORD = "it's one with a quote"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The superuser's URL of a cluster on which the script has run."""
    with embedded_postgres(tmp_path_factory.mktemp("cluster")) as url:
        admin = make_conninfo(url, dbname="postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("DROP DATABASE tic")
        secret = tmp_path_factory.mktemp("secrets") / "owner.password"
        secret.write_text(PASSWORD)
        where = conninfo_to_dict(url)
        settings = {
            "PGHOST": str(where["host"]),
            "POSTGRES_USER": str(where["user"]),
            "OWNER_PASSWORD_FILE": str(secret),
            "PATH": f"{find_binaries()}:{os.environ['PATH']}",
        }
        done = subprocess.run([SCRIPT], env=environment(**settings), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        yield admin


def as_role(cluster: str, role: str) -> str:
    return make_conninfo(cluster, dbname="tic", user=role, password=PASSWORD)


def tic(url: str, *words: str | Path) -> str:
    """Run `tic` on a database; return what it says."""
    done = subprocess.run([TIC, *words], env=environment(DATABASE_URL=url), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_owner_is_no_superuser(cluster: str) -> None:
    with psycopg.connect(cluster) as connection:
        found = connection.execute("SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = 'tic_owner'")
        assert found.fetchone() == (False, True)


def test_its_password_is_the_one_in_the_file(cluster: str) -> None:
    with psycopg.connect(cluster) as connection:
        found = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'tic_owner'").fetchone()
    assert found
    # SCRAM-SHA-256$TURNS:SALT$STORED KEY:SERVER KEY, as RFC 5803 has it
    _, turns_and_salt, keys = found[0].split("$")
    turns, salt = turns_and_salt.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), base64.b64decode(salt), int(turns))
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    assert keys.split(":")[0] == base64.b64encode(stored).decode()


def test_as_it_the_database_is_set_up_so_that_a_server_may_do_nothing_more_than_it_needs(
    cluster: str, tmp_path: Path
) -> None:
    password = tmp_path / "app.password"
    password.write_text(PASSWORD)

    tic(as_role(cluster, "tic_owner"), "db", "init", "--app-role", "tic_app", "--app-password-file", password)

    assert "tic_app can run a server" in tic(as_role(cluster, "tic_app"), "db", "check")
