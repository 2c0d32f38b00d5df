"""A synchronous standby, and the primary's place taken by it: what was acknowledged is on both.

What the primary alone has can be seen there, for instance when its wait for the standby was called off. It is not
acknowledged, and where the standby takes over it was never there.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import psycopg
import pytest

from api.accounts import Accounts
from api.database import prepare
from api.signing import CheckpointFile, Signer
from domain.application import Games, Outcome, Undecided
from domain.events import GENESIS
from domain.merkle import Tree, leaf_hash
from domain.notes import SigningKey, read_checkpoint
from domain.storage import Datastore, EventRecorder, NotReplicated, PersistenceError
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from domain.vault import Vault
from projections.models import PROJECTIONS
from projections.runner import Follower
from tests.api.postgres_folders import eventually
from tests.conftest import KEYRING, memory
from tests.faults.house import House, Tell
from tests.faults.load import PATIENCE, Mix, loaded
from tests.faults.log import log_of
from tests.faults.standby import Cluster, Node, cluster, missing
from tests.faults.subscriber import Subscriber
from tests.logged import caught_up

ADA = UUID(int=1)
KEY = SigningKey("tic.example/log", bytes(range(32)))
BETWEEN = 80
"""Commands that are acknowledged before the failover, and again after it."""
LEFT_OPEN = 3
"""Outcomes that are unknown before the standby takes over: nobody is quicker than that."""


@pytest.fixture
def both() -> Iterator[Cluster]:
    """A primary and a synchronous standby."""
    if lacking := missing():
        if "CI" in os.environ:
            pytest.fail(lacking)
        pytest.skip(lacking)
    with tempfile.TemporaryDirectory(prefix="tic-", dir=memory()) as name:
        folder = Path(name)
        folder.chmod(0o755)  # whoever the servers run as has to come in
        with cluster(folder) as both:
            yield both


class Played(NamedTuple):
    """A game on the two servers."""

    both: Cluster
    datastore: Datastore
    games: Games
    id: UUID

    def turn(self, key: str) -> Outcome:
        """Turn the stock."""
        return self.games.handle(self.id, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=key)

    def version(self) -> int | None:
        """How far the game is, as a player would be told; None while the database is away."""
        try:
            return self.games.game(self.id).version
        except PersistenceError:
            return None


@pytest.fixture
def played(both: Cluster) -> Iterator[Played]:
    datastore = Datastore(both.url, connections=8)
    prepare(datastore)
    for projection in PROJECTIONS.values():
        Follower(datastore, projection).create_tables()
    games = Games(EventRecorder(datastore), Vault(datastore, KEYRING))
    opened = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key="opening")
    played = Played(both, datastore, games, opened.game.id)
    played.turn("before")
    yield played
    games.close()
    datastore.close()


@contextmanager
def called_off(node: Node, how: str) -> Iterator[None]:
    """End each wait for the standby as soon as it begins, until the block ends."""
    ended = threading.Event()

    def end() -> None:
        with psycopg.connect(node.url, autocommit=True) as connection:
            while not ended.wait(0.02):
                waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                for (pid,) in connection.execute(waits).fetchall():
                    connection.execute(f"SELECT {how}(%s)".encode(), (pid,))

    thread = threading.Thread(target=end)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def read_for(seconds: float, played: Played) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        played.games.game(played.id)


def comes_about(check: Callable[[], bool]) -> None:
    assert eventually(check, within=PATIENCE)


# What the standby has not confirmed


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_command_that_the_standby_has_not_confirmed_is_not_acknowledged(played: Played, how: str) -> None:
    primary, standby = played.both
    before = played.version()
    assert before is not None
    standby.stop()
    with called_off(primary, how):
        with pytest.raises(Undecided):
            played.turn("in doubt")
        assert played.version() == before + 1  # the primary has it, and shows it
        for _ in range(2):  # found there under its key it is no nearer to the standby
            with pytest.raises((Undecided, PersistenceError)):
                played.turn("in doubt")
        with pytest.raises(PersistenceError):
            Accounts(played.datastore).register("Ada")
    standby.start()
    comes_about(played.both.replicates)
    outcome = played.turn("in doubt")
    assert (outcome.game.version, outcome.repeated) == (before + 1, True)
    comes_about(lambda: standby.ask("SELECT count(*) FROM game_events") == before + 1)


def test_what_the_primary_alone_had_was_never_there_once_the_standby_has_taken_over(played: Played) -> None:
    primary, standby = played.both
    before = played.version()
    assert before is not None
    standby.stop()
    with called_off(primary, "pg_cancel_backend"), pytest.raises(Undecided):
        played.turn("lost")
    assert played.version() == before + 1  # and so it is in this server's memory
    primary.kill()
    standby.start()
    standby.promote()
    comes_about(lambda: played.version() is not None)
    assert played.version() == before
    outcome = played.turn("another")
    assert (outcome.game.version, outcome.repeated) == (before + 1, False)
    assert played.turn("lost").repeated is False
    last = GENESIS
    for event in played.games.events(played.id, after=0, first=100):
        assert event.prev == last
        last = event.hash


def test_an_old_primary_that_comes_back_is_not_believed_and_can_become_the_standby(played: Played) -> None:
    old, new = played.both
    known = played.version()
    old.kill()
    new.promote()
    comes_about(lambda: played.version() == known)
    old.clear()
    old.start()  # by somebody who has not read the manual
    new.ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'tic'")
    with pytest.raises(PersistenceError, match=r"timeline 1, and was on 2 before: it is a primary of before"):
        read_for(PATIENCE, played)  # a connection to the new one may live a moment longer
    old.stop()
    new.ask("SELECT pg_create_physical_replication_slot('standby')")
    source = f"host={new.socket} port=5432 user=tic dbname=tic"
    old.run("pg_rewind", "--target-pgdata", str(old.folder / "data"), f"--source-server={source}", "-R")
    new.ask(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({old.name})'")
    new.ask("SELECT pg_reload_conf()")
    old.start()
    comes_about(Cluster(new, old).replicates)
    comes_about(lambda: played.version() == known)
    assert played.turn("after").repeated is False


def test_nothing_is_signed_that_a_failover_could_take_back(played: Played, tmp_path: Path) -> None:
    primary, standby = played.both
    copy = tmp_path / "checkpoint"
    signer = Signer(played.datastore, KEY, CheckpointFile(copy))
    caught_up(played.datastore)
    signer.step()
    signed = copy.read_text()
    standby.stop()
    with called_off(primary, "pg_cancel_backend"):
        with pytest.raises(Undecided):
            played.turn("in doubt")
        caught_up(played.datastore)
        with pytest.raises(NotReplicated):
            signer.step()
    assert copy.read_text() == signed
    standby.start()
    comes_about(played.both.replicates)
    signer.step()
    assert read_checkpoint(copy.read_text(), KEY.public).size == read_checkpoint(signed, KEY.public).size + 1


# Under load


async def test_a_standby_takes_over_under_load_and_nothing_that_was_acknowledged_is_lost(
    both: Cluster, tmp_path: Path, tell: Tell
) -> None:
    key, copy = tmp_path / "log.key", tmp_path / "checkpoint"
    key.write_text(f"{KEY.written()}\n")
    settings = {"TIC_LOG_KEY_FILE": str(key), "TIC_CHECKPOINT_FILE": str(copy)}
    async with House(both.url, tmp_path, tell, **settings) as house:
        servers = await asyncio.gather(house.serve(), house.serve())
        async with loaded([server.url for server in servers], seed=17, mix=Mix(length=10_000)) as load:
            await load.until(acknowledged=BETWEEN)
            assert await asyncio.to_thread(eventually, copy.exists, PATIENCE)
            told, games = load.histories, sorted(load.games.items())
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                subscribers = [
                    (Subscriber(f"subscriber {number}", *game, told), server.url)
                    for number, (server, game) in enumerate(product(servers, games))
                ]
                for subscriber, url in subscribers:
                    group.create_task(subscriber.hear_all([url]))
                await asyncio.gather(*(subscriber.hearing.wait() for subscriber, _ in subscribers))
                await asyncio.to_thread(both.first.kill)
                signed = read_checkpoint(copy.read_text(), KEY.public)
                await load.until_unknown(LEFT_OPEN)
                await asyncio.to_thread(both.second.promote)
                await load.until(acknowledged=BETWEEN)
                await load.close_games()
        house.judge("primary killed, standby promoted", load)
        assert {piece.ended for piece in told.heard} <= {"complete", "UNAVAILABLE"}
        log = Tree(leaf_hash(row.data) for row in log_of(both.url))
        assert log.root(signed.size) == signed.root

        def has_grown() -> bool:
            return read_checkpoint(copy.read_text(), KEY.public).size > signed.size

        assert await asyncio.to_thread(eventually, has_grown, PATIENCE)  # no server refuses to sign on
        grown = read_checkpoint(copy.read_text(), KEY.public)
        assert log.root(grown.size) == grown.root
