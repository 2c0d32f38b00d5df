"""The clock is moved an hour either way under load: that of the database, by which games are timed, and of servers."""

from __future__ import annotations

import asyncio
import mmap
import shutil
import struct
import subprocess
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg
import pytest

from api.embedded_postgres import embedded_postgres, find_binaries
from domain.decider import Fact
from domain.events import read_event
from domain.games import FACT_TYPES
from domain.lifecycle import GameFinished, Timed, TimedOut
from tests.api.postgres_folders import eventually
from tests.faults.house import House, Tell
from tests.faults.load import PATIENCE, Client, Mix, loaded
from tests.faults.log import log_of

HOUR: Final = timedelta(hours=1)
TIME_LIMIT: Final = 600
"""Seconds of each game: more than the test takes, and less than the clock is moved."""
SERVERS: Final = 2
BETWEEN: Final = 60
"""Commands that are acknowledged between two moves of the clock."""


class Clock:
    """A clock that programs go by instead of the machine's, once `preloaded` is in their environment."""

    def __init__(self, folder: Path) -> None:
        """Compile what is preloaded; skip the test where nothing can be compiled."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler: there is no other way to move the clock of a program")
        library, shift = folder / "clock.so", folder / "shift"
        source = Path(__file__).with_name("clock.c")
        subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, source], check=True)
        shift.write_bytes(bytes(8))
        for file in (library, shift):
            file.chmod(0o755)  # for PostgreSQL, which runs under another account
        self.preloaded: Final = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)}
        self._shift: Final = shift

    def move_to(self, shift: timedelta) -> None:
        """Put the clock to that much ahead of the machine's."""
        with self._shift.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
            shared[:] = struct.pack("=q", round(shift.total_seconds()))

    def binaries(self, folder: Path) -> Path:
        """Make a folder with PostgreSQL's programs that go by this clock."""
        real = find_binaries()
        folder.mkdir(mode=0o755)
        exports = "".join(f"export {name}={value}\n" for name, value in self.preloaded.items())
        for program in ("postgres", "initdb"):
            script = folder / program
            script.write_text(f'#!/bin/sh\n{exports}exec {real / program} "$@"\n')
            script.chmod(0o755)
        return folder


def ahead(url: str) -> timedelta:
    """How far the database's clock is ahead of the machine's."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    return timedelta(seconds=row[0] - time.time())


def logged(url: str) -> dict[UUID, list[Fact]]:
    """The facts of every game."""
    games: dict[UUID, list[Fact]] = {}
    for row in log_of(url):
        games.setdefault(row.game, []).append(read_event(row.data, FACT_TYPES).fact)
    return games


def has(kind: type[Fact], facts: Sequence[Fact]) -> bool:
    return any(isinstance(fact, kind) for fact in facts)


def extensions(facts: Sequence[Fact]) -> list[timedelta]:
    """By how much a game's deadline was moved, each time that it was."""
    deadlines = [fact.deadline for fact in facts if isinstance(fact, Timed) and fact.deadline]
    return [after - before for before, after in pairwise(deadlines)]


def wait_until_judged(url: str, outages: int) -> None:
    """Wait until so many outages are noted and given back, and each server has looked once more whose time is up."""
    query = "SELECT count(*) FILTER (WHERE given_back), count(*), (SELECT at FROM public.heartbeat) FROM public.outages"
    beats = set()

    def judged(connection: psycopg.Connection) -> bool:
        given_back, noted, beat = connection.execute(query).fetchall()[0]
        if given_back == noted == outages:
            beats.add(beat)
        return len(beats) > 2 * SERVERS

    with psycopg.connect(url, autocommit=True) as connection:
        assert eventually(partial(judged, connection), within=PATIENCE)


async def test_no_game_is_lost_when_the_clock_is_moved_an_hour_either_way(
    scratch: Path, tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(scratch)
    monkeypatch.setenv("TIC_POSTGRES_BIN", str(clock.binaries(scratch / "bin")))
    mix = Mix(opening={"timeLimit": TIME_LIMIT}, pace=0.02)
    with embedded_postgres(scratch / "tic") as url:
        async with House(url, tmp_path, tell, **clock.preloaded) as house:
            servers = [await house.serve() for _ in range(SERVERS)]
            async with loaded([server.url for server in servers], seed=8, mix=mix) as load:
                late = Client(load, "late", await load.register("late"))
                await load.until(acknowledged=BETWEEN)
                from_before = set(load.games.values())
                # To the servers a clock that leaps ahead looks as if none of them had run meanwhile (ruling G2).
                for shift, outages in ((HOUR, 1), (timedelta(), 1), (-HOUR, 1), (timedelta(), 2)):
                    # A game whose time begins in the very last moment: no server has told since that it runs.
                    await late.open("openTicitaire", **mix.opening)
                    clock.move_to(shift)
                    assert abs(ahead(url) - shift) < timedelta(seconds=5)
                    await asyncio.to_thread(wait_until_judged, url, outages)
                    await load.until(acknowledged=BETWEEN)
            house.judge("clock moved an hour ahead, back, an hour behind, and back", load)
            games = logged(url)
    assert [str(game) for game, facts in games.items() if has(TimedOut, facts)] == []
    extended = [extensions(games[game]) for game in from_before if not has(GameFinished, games[game])]
    assert len(extended) >= mix.contested
    assert all(extended)
    assert all(HOUR <= first < HOUR + timedelta(seconds=10) for first, *_ in extended)
