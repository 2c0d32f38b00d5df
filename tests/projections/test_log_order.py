"""Why the append takes a lock: without it a follower misses events."""

from __future__ import annotations

from uuid import uuid4

import psycopg
from psycopg.rows import dict_row

from domain.application import Games
from domain.storage import log_after
from domain.ticitaire.rules import OpenTicitaire

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


def test_with_the_lock_the_second_writer_waits_for_the_first_to_commit(games: Games, database_url: str) -> None:
    player = uuid4()
    games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None)
    with psycopg.connect(database_url) as slow, psycopg.connect(database_url) as quick:
        slow.execute("LOCK TABLE game_events IN EXCLUSIVE MODE")
        slow.execute(INSERT, (uuid4(),))
        quick.execute("SET lock_timeout = '50ms'")
        try:
            quick.execute("LOCK TABLE game_events IN EXCLUSIVE MODE")
        except psycopg.errors.LockNotAvailable:
            return
    raise AssertionError("the second writer did not wait")
