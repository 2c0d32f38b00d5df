"""The log on a real PostgreSQL: many appends in one transaction, one order, and a follower that misses nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict

from domain.application import Games
from domain.decider import Command
from domain.gathering import Gathering, Item
from domain.lifecycle import Resign
from domain.storage import Datastore, EventRecorder, Logged, log_after
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from domain.vault import Vault

WRITERS = 6


def events(game: UUID, *versions: int) -> list[StoredEvent]:
    def state(version: int) -> bytes:
        return json.dumps({"game": str(game), "seq": version, "type": "test"}).encode()

    return [StoredEvent(game, version, "test", state(version)) for version in versions]


# Many appends in one transaction


def test_appends_get_their_positions_in_the_order_in_which_they_are_given(recorder: EventRecorder) -> None:
    appended = recorder.append([events(uuid4(), 1, 2), events(uuid4(), 1), events(uuid4(), 1, 2, 3)])
    assert appended == [[1, 2], [3], [4, 5, 6]]


def test_a_conflict_of_one_game_fails_its_append_alone(recorder: EventRecorder) -> None:
    taken = uuid4()
    recorder.append([events(taken, 1, 2)])
    appended = recorder.append([events(uuid4(), 1), events(taken, 2, 3), events(uuid4(), 1)])
    assert appended == [[3], None, [4]]


def test_an_append_that_leaves_a_gap_in_its_game_is_refused(recorder: EventRecorder) -> None:
    game = uuid4()
    recorder.append([events(game, 1)])
    assert recorder.append([events(game, 3), events(uuid4(), 2), events(game, 2, 4)]) == [None, None, None]


def test_of_two_appends_for_one_place_in_one_transaction_neither_is_taken(recorder: EventRecorder) -> None:
    game = uuid4()
    with pytest.raises(IntegrityError):
        recorder.append([events(game, 1), events(game, 1)])
    assert recorder.append([events(game, 1)]) != [None]


def test_on_another_timeline_of_the_database_than_the_games_were_read_on_nothing_is_appended(
    recorder: EventRecorder,
) -> None:
    game = uuid4()
    here = recorder.newer([(game, 0)]).timeline
    assert recorder.append([events(game, 1), events(uuid4(), 1)], timeline=here + 1) == [None, None]
    assert recorder.append([events(game, 1)], timeline=here) != [None]


def test_after_each_commit_it_is_said_that_something_was_appended(recorder: EventRecorder) -> None:
    told: list[bool] = []
    recorder.appended = lambda: told.append(True)
    recorder.append([events(uuid4(), 1), events(uuid4(), 1)])
    recorder.append([events(uuid4(), 1)])
    assert len(told) == 2


def test_whoever_appends_while_a_commit_is_under_way_shares_the_next_one(datastore: Datastore) -> None:
    recorder, commits = EventRecorder(datastore), list[int]()
    gathered, first_is_at_work = threading.Event(), threading.Event()

    def append(items: list[Item[list[StoredEvent], int]]) -> None:
        first_is_at_work.set()
        assert gathered.wait(10)
        commits.append(len(items))
        for item, found in zip(items, recorder.append([item.value for item in items]), strict=True):
            assert found is not None
            item.end(found[0])

    group = Gathering[list[StoredEvent], int](append, key=lambda batch: batch[0].originator_id)  # type: ignore[arg-type]
    positions, all_told = list[int | BaseException](), threading.Event()

    def told(position: int | BaseException) -> None:
        positions.append(position)
        if len(positions) == 21:
            all_told.set()

    group.submit(events(uuid4(), 1), told)
    assert first_is_at_work.wait(10)
    for _ in range(20):
        group.submit(events(uuid4(), 1), told)
    gathered.set()
    assert all_told.wait(10)
    assert positions == list(range(1, 22))
    assert commits == [1, 20]


# One order, and nothing passed over


class Follower(threading.Thread):
    """Reads on from the last position it has seen, as fast as it can, until it has seen so many events."""

    def __init__(self, url: str, wanted: Callable[[list[Logged]], bool]) -> None:
        super().__init__()
        self._url = url
        self._wanted = wanted
        self.seen: list[Logged] = []

    def run(self) -> None:
        with Datastore(self._url, connections=1) as datastore:
            while not self._wanted(self.seen):
                with datastore.transaction() as cursor:
                    position = self.seen[-1].position if self.seen else 0
                    self.seen += log_after(cursor, position, limit=100)


def test_six_writers_and_a_follower_that_misses_nothing(datastore: Datastore, vault: Vault, database_url: str) -> None:
    def all_over(seen: list[Logged]) -> bool:
        return sum(logged.event.fact.topic == "game.SeedsRevealed" for logged in seen) == 2 * WRITERS

    follower = Follower(database_url, all_over)
    follower.start()

    def write(player: UUID) -> None:
        games = Games(EventRecorder(datastore), vault)  # nothing is shared with the other writers but the database
        for _ in range(2):
            game = games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None).game.id
            moves: list[Callable[[int], Command]] = [
                *[lambda seat: TurnStock(seat=seat)] * 30,
                lambda s: Resign(seat=s),
            ]
            for move in moves:
                games.handle(game, move, player=player, expected_version=None, key=None)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, [uuid4() for _ in range(WRITERS)]))
    follower.join(20)
    with psycopg.connect(database_url) as connection:
        log = connection.execute(
            "SELECT notification_id, originator_id, originator_version FROM game_events ORDER BY 1"
        ).fetchall()
    assert [(one.position, one.event.game, one.event.seq) for one in follower.seen] == log
    assert len(log) == 2 * WRITERS * 36
    assert all(one.position < other.position for one, other in pairwise(follower.seen))


def test_with_the_librarys_own_function_a_follower_passes_over_an_event(database_url: str) -> None:
    where = conninfo_to_dict(database_url)
    library = PostgresDatastore(
        dbname=str(where["dbname"]),
        host=str(where.get("host", "")),
        port=str(where.get("port", "")),
        user=str(where.get("user", "")),
        password="",
        enable_db_functions=True,
        pool_size=1,
    )
    with library, psycopg.connect(database_url) as slow:
        recorder = PostgresApplicationRecorder(library, events_table_name="library_events")
        recorder.create_table()
        calls = "SELECT es_insert_events_uuid(ARRAY[(%s::uuid, 1, 'slow', ''::bytea)]::stored_event_uuid[])"
        slow.execute(calls, (uuid4(),))  # has its position and not committed yet
        recorder.insert_events([StoredEvent(uuid4(), 1, "quick", b"")])
        seen = recorder.select_notifications(start=None, limit=10)
        slow.commit()
        later = recorder.select_notifications(start=seen[-1].id, limit=10, inclusive_of_start=False)
    assert [notification.topic for notification in (*seen, *later)] == ["quick"]
