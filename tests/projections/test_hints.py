"""The one listening connection of a process. What it tells is a hint, and it costs nobody anything to miss one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from psycopg.sql import SQL, Composed

from domain.storage import CHANNEL
from projections.hints import Hints
from tests.standing import StandingProxy

OTHERS = "tic_test_others"
PATIENCE = 20


class Ear:
    """Counts what it hears."""

    def __init__(self) -> None:
        self.heard = 0
        self.threads = set[int]()

    def __call__(self) -> None:
        self.heard += 1
        self.threads.add(threading.get_ident())

    async def hears(self, number: int = 1) -> None:
        """Wait until it has heard so many."""
        await until(lambda: self.heard >= number)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what the database sees tells nobody
            await asyncio.sleep(0.002)


@asynccontextmanager
async def running(hints: Hints) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(hints.run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def listening(url: str, ear: Ear, *channels: str) -> AsyncIterator[Hints]:
    """Hints that are connected; what was heard at the connection is not counted."""
    hints = Hints(url)
    for channel in channels or (CHANNEL,):
        hints.on(channel, ear)
    async with running(hints):
        await ear.hears(len(channels) or 1)
        ear.heard = 0
        yield hints


class Database:
    """What is seen from outside, and done there."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def notify(self, channel: str) -> None:
        self._connection.execute(f"NOTIFY {channel}")

    def connections(self) -> int:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"
        row = self._connection.execute(query, ("tic hints",)).fetchone()
        assert row is not None
        return int(row[0])

    def cut(self) -> None:
        self._connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'tic hints'"
        )

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


async def test_what_another_connection_notifies_is_heard_in_the_thread_of_the_loop(
    database_url: str, database: Database
) -> None:
    async with listening(database_url, ear := Ear()):
        database.notify(CHANNEL)
        await ear.hears()
    assert ear.threads == {threading.get_ident()}


async def test_each_channel_is_heard_by_those_who_asked_for_it_over_one_connection(
    database_url: str, database: Database
) -> None:
    async with listening(database_url, ear := Ear(), CHANNEL, OTHERS) as hints:
        other = Ear()
        hints.on("tic_test_third", other)
        await other.hears()  # also those that are asked for later
        database.notify("tic_test_third")
        await other.hears(2)
        assert (ear.heard, database.connections()) == (0, 1)
        database.notify(OTHERS)
        await ear.hears()


async def test_whoever_listens_here_hears_what_this_process_appends(database_url: str) -> None:
    async with listening(database_url, ear := Ear()) as hints:
        threading.Thread(target=hints.tell).start()
        await ear.hears()
    assert ear.threads == {threading.get_ident()}


async def test_another_process_hears_what_this_one_appends(database_url: str) -> None:
    async with listening(database_url, Ear()) as here, listening(database_url, there := Ear()):
        here.tell()
        await there.hears()


async def test_what_this_process_notifies_itself_is_heard_once(database_url: str, database: Database) -> None:
    async with listening(database_url, here := Ear()) as hints, listening(database_url, there := Ear()):
        hints.on(OTHERS, after := Ear())
        await after.hears()
        hints.tell()
        await there.hears()
        database.notify(OTHERS)  # comes after what the process notified itself
        await after.hears(2)
        assert here.heard == 1


async def test_many_appends_are_told_by_few_notifications(database_url: str) -> None:
    async with listening(database_url, Ear()) as here, listening(database_url, there := Ear()):
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() < began + 0.1:
            here.tell()
            await asyncio.sleep(0)
        await there.hears()
        assert there.heard <= (loop.time() - began) / 0.01 + 1


async def test_an_append_while_others_are_told_is_told_as_well(database_url: str) -> None:
    async with listening(database_url, Ear()) as here, listening(database_url, there := Ear()):
        for told in range(1, 6):
            here.tell()
            await there.hears(told)


async def test_what_was_missed_while_the_connection_was_lost_is_made_up_for(
    database_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.hints.RETRY_SECONDS", 0.01)
    async with listening(database_url, ear := Ear(), CHANNEL, OTHERS):
        database.cut()
        await ear.hears(2)  # once for each channel
        ear.heard = 0
        database.notify(OTHERS)
        await ear.hears()


@pytest.mark.parametrize("has_something_to_say", [True, False], ids=["when it says something", "in silence"])
async def test_a_database_that_stands_still_is_left_and_what_was_missed_is_made_up_for(
    database_url: str, monkeypatch: pytest.MonkeyPatch, has_something_to_say: bool
) -> None:
    monkeypatch.setattr("projections.hints.RETRY_SECONDS", 0.01)
    monkeypatch.setattr("projections.hints.ANSWER_SECONDS", 0.1)
    monkeypatch.setattr("projections.hints.SILENCE_SECONDS", 3600 if has_something_to_say else 0.1)
    async with StandingProxy(database_url).listening() as proxy, listening(proxy.url, ear := Ear(), OTHERS) as hints:
        proxy.stand_still()
        if has_something_to_say:
            hints.tell()
        await ear.hears()


async def test_a_database_that_has_nothing_to_say_and_answers_is_kept(
    database_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.hints.SILENCE_SECONDS", 0.001)
    asked, say = list[str](), Hints._say

    async def noted(hints: Hints, conn: psycopg.AsyncConnection, statement: SQL | Composed) -> None:
        asked.append(statement.as_string())
        await say(hints, conn, statement)

    monkeypatch.setattr(Hints, "_say", noted)
    async with StandingProxy(database_url).listening() as proxy, listening(proxy.url, ear := Ear()):
        await until(lambda: asked.count("SELECT") >= 3)
        database.notify(CHANNEL)
        await ear.hears()
        assert proxy.accepted == 1


async def test_while_the_connection_is_lost_this_process_still_hears_itself(
    database_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[int]()

    async def refused(*_: object, **__: object) -> None:
        tries.append(1)
        raise psycopg.OperationalError("no connection")

    async with listening(database_url, ear := Ear()) as hints:
        monkeypatch.setattr("psycopg.AsyncConnection.connect", refused)
        database.cut()
        await until(lambda: bool(tries))
        hints.tell()
        await ear.hears()


async def test_what_was_appended_while_the_connection_was_lost_is_told_to_others_afterwards(
    database_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.hints.RETRY_SECONDS", 0.01)
    hints, there = Hints("host=/nowhere"), Ear()
    async with listening(database_url, there), running(hints):
        hints.tell()
        await asyncio.sleep(0)
        monkeypatch.setattr(hints, "_url", database_url)
        await there.hears()


async def test_before_it_runs_and_after_it_has_ended_telling_is_harmless_and_not_forgotten(database_url: str) -> None:
    hints, ear = Hints(database_url), Ear()
    hints.on(CHANNEL, ear)
    hints.tell()
    async with listening(database_url, there := Ear()):
        async with running(hints):
            await there.hears()
            assert ear.heard >= 1
        hints.tell()
        async with running(hints):
            await there.hears(2)


def test_telling_when_the_loop_has_ended_before_it_raises_nothing(database_url: str) -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    hints = Hints(database_url)
    hints._loop = asyncio.run(loop())
    for _ in range(2):
        hints.tell()


async def test_a_listener_that_fails_keeps_nobody_else_from_hearing(database_url: str) -> None:
    def fails() -> None:
        raise ZeroDivisionError

    hints, ear = Hints(database_url), Ear()
    hints.on(CHANNEL, fails)
    hints.on(CHANNEL, ear)
    async with running(hints) as task:
        await ear.hears()
        hints.tell()
        await ear.hears(2)
        assert not task.done()


async def test_it_ends_when_it_is_cancelled_and_leaves_no_connection(database_url: str, database: Database) -> None:
    async with listening(database_url, Ear()):
        assert database.connections() == 1
    await until(lambda: database.connections() == 0)
