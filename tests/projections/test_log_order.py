"""Why the append takes a lock: without it a follower misses events."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from domain.application import Games
from domain.log_tables import APPEND_FUNCTION, LOG_LOCK, MOST_WAIT
from domain.storage import LogBusy, log_after
from domain.ticitaire.rules import OpenTicitaire

LOCK = f"SELECT pg_advisory_xact_lock({LOG_LOCK})"
INSERT = (
    "INSERT INTO game_events (originator_id, originator_version, topic, state)"
    " SELECT %s, originator_version, topic, state FROM game_events WHERE notification_id = 1 RETURNING notification_id"
)


def positions(connection: psycopg.Connection, after: int) -> list[int]:
    with connection.cursor(row_factory=dict_row) as cursor:
        found = [logged.position for logged in log_after(cursor, after, limit=100)]
    connection.rollback()
    return found


def test_without_the_lock_a_follower_would_pass_over_an_event(games: Games, database_url: str) -> None:
    player = uuid4()
    games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None)
    with (
        psycopg.connect(database_url) as slow,
        psycopg.connect(database_url) as quick,
        psycopg.connect(database_url) as follower,
    ):
        slow.execute(INSERT, (uuid4(),))  # takes position 4 and does not commit yet
        quick.execute(INSERT, (uuid4(),))
        quick.commit()
        seen = positions(follower, 0)
        slow.commit()
        assert 4 not in seen + positions(follower, max(seen))


def test_writers_take_turns_until_the_commit(games: Games, database_url: str) -> None:
    player = uuid4()
    opening = OpenTicitaire(player=player)
    with psycopg.connect(database_url) as slow, ThreadPoolExecutor(1) as pool:
        slow.execute(LOCK)
        second = pool.submit(lambda: games.open("ticitaire", opening, player=player, key=None))
        with psycopg.connect(database_url, autocommit=True) as watcher:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while watcher.execute(waiting).fetchone() == (0,):
                assert not second.done()
        slow.commit()
        assert second.result().game.version == 3


def test_a_vacuum_does_not_hold_up_a_move(games: Games, database_url: str) -> None:
    player = uuid4()
    with psycopg.connect(database_url) as vacuum:
        vacuum.execute("LOCK TABLE game_events IN SHARE UPDATE EXCLUSIVE MODE")  # what a vacuum takes
        assert games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None).game.version == 3


def test_a_log_that_is_held_for_too_long_is_said_to_be_busy_and_takes_nothing(games: Games, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(APPEND_FUNCTION.replace(MOST_WAIT, "10ms"))
    player = uuid4()
    with psycopg.connect(database_url) as slow:
        slow.execute(LOCK)
        with pytest.raises(LogBusy):
            games.open("ticitaire", OpenTicitaire(player=player), player=player, key="a game")
    assert not games.open("ticitaire", OpenTicitaire(player=player), player=player, key="a game").repeated
