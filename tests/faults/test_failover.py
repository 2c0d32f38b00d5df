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
from typing import Any, NamedTuple
from uuid import UUID

import httpx
import psycopg
import pytest
from typer.testing import CliRunner

from api import cli
from api.accounts import Accounts, token_id
from api.database import prepare
from api.signing import CheckpointFile, Signer
from api.timekeeper import Timekeeper
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
from tests.monitored import monitored

ADA = UUID(int=1)
KEY = SigningKey("tic.example/log", bytes(range(32)))
BETWEEN = 80
"""Commands that are acknowledged before the failover, and again after it."""
LEFT_OPEN = 20
"""Commands and reads without an answer before the standby takes over: nobody is quicker than that."""


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


def test_what_was_done_before_is_not_said_to_be_done_until_the_standby_has_it(played: Played) -> None:
    primary, standby = played.both
    accounts, vault, deal = Accounts(played.datastore), Vault(played.datastore, KEYRING), UUID(int=2)
    player, token = accounts.register("Ada")
    standby.stop()
    with called_off(primary, "pg_cancel_backend"):
        for _ in range(2):  # the second time it is found done, by this primary alone
            with pytest.raises(NotReplicated):
                vault.draw(deal, 1)
            with pytest.raises(NotReplicated):
                accounts.revoke(token_id(token))
            with pytest.raises(NotReplicated):
                accounts.erase(player.id)
    standby.start()
    comes_about(played.both.replicates)
    assert accounts.erase(player.id) is False
    seeds = vault.draw(deal, 1)
    comes_about(lambda: standby.ask(f"SELECT count(*) FROM sealed_seeds WHERE deal = '{deal}'") == 1)
    assert vault.draw(deal, 1) == seeds


def test_no_server_counts_as_running_while_no_move_can_be_acknowledged(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.timekeeper.GRACE_SECONDS", 2)
    primary, standby = played.both
    Follower(played.datastore, PROJECTIONS["deadlines"]).step()
    timekeeper, ended = Timekeeper(played.datastore, played.games), threading.Event()
    timekeeper.step()
    standby.stop()
    thread = threading.Thread(target=timekeeper.run, args=(ended,))
    thread.start()
    try:
        comes_about(lambda: primary.ask("SELECT clock_timestamp() - at > interval '3 s' FROM heartbeat") is True)
        standby.start()  # the time in between is an outage, and is given back
        comes_about(lambda: primary.ask("SELECT bool_and(given_back) FROM outages") is True)
    finally:
        ended.set()
        primary.ask("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        thread.join()


def test_no_key_is_dropped_while_the_standby_may_have_seals_by_it(
    played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = played.both
    file, keyring = tmp_path / "server.key", KEYRING.rotated()
    file.write_text(keyring.write())
    monkeypatch.setenv("DATABASE_URL", played.both.url)
    monkeypatch.setenv("TIC_SERVER_KEY_FILE", str(file))
    standby.stop()
    with called_off(primary, "pg_cancel_backend"):
        for _ in range(2):  # the second time every deck is found sealed anew, by this primary alone
            assert isinstance(CliRunner().invoke(cli.app, ["key", "prune"]).exception, NotReplicated)
            assert file.read_text() == keyring.write()
    standby.start()
    comes_about(played.both.replicates)
    assert CliRunner().invoke(cli.app, ["key", "prune"]).exit_code == 0
    assert file.read_text() == keyring.without(keyring.old).write()


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


async def test_reads_go_on_while_those_who_register_wait_for_the_standby(both: Cluster) -> None:
    def wait() -> bool:
        return both.first.ask("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'") is True

    async with monitored(both.url, threads=1) as server:
        through = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=through, base_url="http://tic.example", timeout=None) as http:

            async def ask(document: str) -> Any:
                return (await http.post("/graphql", json={"query": document})).json()

            await asyncio.to_thread(both.second.stop)
            async with asyncio.TaskGroup() as group:
                name = '(input: {name: "Ada"}) { ... on PlayerRegistered { token } }'
                coming = [group.create_task(ask(f"mutation {{ registerPlayer{name} }}")) for _ in range(4)]
                assert await asyncio.to_thread(eventually, wait, PATIENCE)
                async with asyncio.timeout(PATIENCE):
                    assert await ask("{ games(first: 1) { nodes { id } } }") == {"data": {"games": {"nodes": []}}}
                assert not any(task.done() for task in coming)
                await asyncio.to_thread(both.second.start)
            assert all("token" in task.result()["data"]["registerPlayer"] for task in coming)


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
                await load.until_unanswered(LEFT_OPEN)
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
