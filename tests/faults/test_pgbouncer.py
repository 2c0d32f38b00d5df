"""Servers behind pgbouncer, which lends them a connection for one transaction at a time."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from api import cli
from api.addresses import AddressError, check_pooler
from api.embedded_postgres import embedded_postgres
from domain.notes import SigningKey, read_checkpoint
from tests.api.postgres_folders import eventually
from tests.conftest import memory
from tests.faults.house import House, Tell
from tests.faults.load import PATIENCE, Mix, loaded
from tests.faults.log import log_of
from tests.faults.pooling import PGBOUNCER, lent, pooled
from tests.faults.subscriber import Subscriber

KEY = SigningKey("tic.example/log", bytes(range(32)))
COMMANDS = 150
SUBSCRIBERS = 12
LENT = 4
"""Connections that pgbouncer has for two servers, each of which has more threads than that."""


class Lending(NamedTuple):
    """A database, and the way through the pooler."""

    direct: str
    folder: Path


@pytest.fixture(scope="module")
def database() -> Iterator[Lending]:
    """A database of this file's own, at a socket to which pgbouncer may come."""
    if PGBOUNCER is None:
        if "CI" in os.environ:
            pytest.fail("there is no pgbouncer: apt-get install pgbouncer")
        pytest.skip("there is no pgbouncer")
    with tempfile.TemporaryDirectory(prefix="tic-", dir=memory()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with embedded_postgres(folder / "tic") as url:
            yield Lending(url, folder)


@pytest.fixture(scope="module")
def through(database: Lending) -> Iterator[str]:
    """The database's URL through pgbouncer, by transactions."""
    with pooled(database.direct, database.folder, size=LENT) as url:
        yield url


def check(monkeypatch: pytest.MonkeyPatch, **settings: str) -> str:
    """What `tic db check` says for want of something, without line breaks."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(cli.app, ["db", "check"])
    assert done.exit_code == 1
    return " ".join(done.stderr.split())


# What is found at the start


def test_a_pooler_with_no_address_past_it_is_refused(through: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = check(monkeypatch, DATABASE_URL=through)
    assert (
        "DATABASE_URL leads through a pooler. Set DATABASE_DIRECT_URL as well, to the URL of the database its" in said
    )


def test_an_address_past_the_pooler_that_leads_through_it_is_refused(
    through: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = check(monkeypatch, DATABASE_URL=through, DATABASE_DIRECT_URL=through)
    assert "DATABASE_DIRECT_URL leads through a pooler as well" in said


def test_another_database_behind_the_pooler_is_refused(
    database: Lending, through: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = check(
        monkeypatch, DATABASE_URL=make_conninfo(through, dbname="postgres"), DATABASE_DIRECT_URL=database.direct
    )
    assert "DATABASE_URL and DATABASE_DIRECT_URL must lead to the same database" in said


def test_a_pooler_that_lends_for_single_statements_is_refused(
    database: Lending, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pooled(database.direct, database.folder, mode="statement") as url:
        said = check(monkeypatch, DATABASE_URL=url, DATABASE_DIRECT_URL=database.direct)
    assert "Of pgbouncer's modes, transaction and session do, and statement does not" in said


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("synchronous_commit", "off", "on"),
        ("synchronous_commit", "local", "on"),
        ("default_transaction_isolation", "serializable", "read committed"),
        ("client_min_messages", "error", "warning"),
    ],
)
def test_a_default_that_a_server_would_have_to_change_is_refused(
    database: Lending, name: str, value: str, needed: str
) -> None:
    with psycopg.connect(database.direct, autocommit=True) as owner:
        owner.execute(f"ALTER ROLE tic SET {name} = '{value}'".encode())
        try:
            with (
                pooled(database.direct, database.folder) as url,
                pytest.raises(AddressError, match=f"""ALTER ROLE "tic" SET {name} = '{needed}'$"""),
            ):
                check_pooler(url, database.direct)
        finally:
            owner.execute(f"ALTER ROLE tic RESET {name}".encode())


# What goes through


async def test_servers_behind_pgbouncer_play_subscribe_follow_and_sign(
    database: Lending, through: str, tmp_path: Path, tell: Tell
) -> None:
    key, copy = tmp_path / "log.key", tmp_path / "checkpoint"
    key.write_text(f"{KEY.written()}\n")
    settings = {"DATABASE_DIRECT_URL": database.direct, "TIC_LOG_KEY_FILE": str(key), "TIC_CHECKPOINT_FILE": str(copy)}
    async with House(database.direct, tmp_path, tell, through=through, **settings) as house:
        before = lent(through)
        one, other = await asyncio.gather(house.serve(), house.serve())
        async with loaded([one.url, other.url], seed=23, mix=Mix(length=10_000)) as load:
            await load.until(acknowledged=COMMANDS // 2)
            told, games = load.histories, sorted(load.games.items())
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                for number in range(SUBSCRIBERS):
                    subscriber = Subscriber(f"subscriber {number}", *games[number % len(games)], told)
                    group.create_task(subscriber.hear_all([(one, other)[number % 2].url]))
                await load.until(acknowledged=COMMANDS // 2)
                await load.close_games()
        house.judge("behind pgbouncer", load)
        assert {piece.ended for piece in told.heard} == {"complete"}
        assert lent(through) - before > COMMANDS
        length = len(log_of(database.direct))
        assert await asyncio.to_thread(eventually, lambda: _signed(copy) == length, PATIENCE)
        assert await asyncio.to_thread(eventually, lambda: _behind(database.direct) == 0, PATIENCE)


def _signed(copy: Path) -> int:
    return read_checkpoint(copy.read_text(), KEY.public).size if copy.exists() else 0


def _behind(url: str) -> int:
    """How many read models have not taken in the whole log."""
    query = (
        "SELECT count(*) FROM read_models.projection_positions"
        " WHERE position < (SELECT max(notification_id) FROM game_events)"
    )
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])
