"""The tree over the log in its tables: the same as that of the log's bytes, whoever builds it and however."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import psycopg
import pytest

from domain.application import Games
from domain.merkle import WIDTH, Proofs, TileId, Tree, leaf_hash, verify_consistency, verify_inclusion
from domain.storage import Datastore, EventRecorder
from projections.runner import Follower
from projections.transparency import CachedTiles, Entry, Reached, TreeQueries, asking
from tests.logged import TREE, caught_up, log_events, rebuild
from tests.projections.shown import some_games


@pytest.fixture
def tree(datastore: Datastore) -> TreeQueries:
    return TreeQueries(asking(datastore))


def log(database_url: str) -> list[bytes]:
    """The bytes of all events, in the order of the log."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT state FROM game_events ORDER BY notification_id").fetchall()
    return [state for (state,) in rows]


def tiles_of(database_url: str) -> dict[TileId, bytes]:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT level, number, hashes FROM read_models.merkle_tiles").fetchall()
    return {(level, number): hashes for level, number, hashes in rows}


def gap(database_url: str) -> None:
    """Leave a gap between positions of the log, as an append does that fails."""
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT nextval('game_events_notification_id_seq') FROM generate_series(1, 7)")


def test_the_tiles_are_those_of_the_tree_of_the_logs_bytes(
    datastore: Datastore, games: Games, recorder: EventRecorder, database_url: str
) -> None:
    some_games(games)
    log_events(recorder, 700)
    caught_up(datastore)
    assert tiles_of(database_url) == Tree(map(leaf_hash, log(database_url))).tiles


def test_the_tree_of_an_empty_log_is_empty(datastore: Datastore, tree: TreeQueries) -> None:
    caught_up(datastore)
    assert (tree.reached(), tree.entries(0, 1), tree.position(0)) == (Reached(0, 0), [], None)


@pytest.mark.parametrize("batch", [1, 100, 255, 256, 257, 600])
def test_however_the_log_is_cut_the_tree_is_the_same(
    datastore: Datastore, recorder: EventRecorder, database_url: str, batch: int
) -> None:
    log_events(recorder, 2 * batch if batch == 1 else 1_100)
    follower = Follower(datastore, TREE, batch=batch)
    while follower.step():
        pass
    assert tiles_of(database_url) == Tree(map(leaf_hash, log(database_url))).tiles
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT number, position FROM read_models.merkle_beginnings ORDER BY number"
        ).fetchall()
        positions = connection.execute("SELECT notification_id FROM game_events ORDER BY notification_id").fetchall()
    assert rows == [(number, position) for number, (position,) in enumerate(positions[::WIDTH])]


def test_a_tile_above_has_the_hash_of_each_whole_tile(
    datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    log_events(recorder, 3 * WIDTH)
    caught_up(datastore)
    assert {id: len(tile) // 32 for id, tile in tiles_of(database_url).items()} == {
        **{(0, number): WIDTH for number in range(3)},
        (1, 0): 3,
    }


def test_a_rebuild_gives_the_same_tables(datastore: Datastore, recorder: EventRecorder, database_url: str) -> None:
    log_events(recorder, 900)
    caught_up(datastore)
    before = tiles_of(database_url)
    rebuild(datastore)
    assert tiles_of(database_url) == before


def test_an_event_is_found_by_its_leaf_and_a_leaf_by_its_event(
    datastore: Datastore, recorder: EventRecorder, database_url: str, tree: TreeQueries
) -> None:
    games = []
    for _ in range(5):
        games.append(log_events(recorder, 120))
        gap(database_url)
    caught_up(datastore)
    entries = [Entry(index, games[index // 120], index % 120 + 1, data) for index, data in enumerate(log(database_url))]
    with psycopg.connect(database_url) as connection:
        positions = connection.execute("SELECT notification_id FROM game_events ORDER BY 1").fetchall()
    for index in (0, 1, 119, 120, 254, 255, 256, 257, 500, 511, 512, 599):
        assert tree.entry(entries[index].game, entries[index].seq) == entries[index]
        assert tree.entries(index // WIDTH, index % WIDTH + 1)[-1] == entries[index].data
        assert (tree.position(index),) == positions[index]
    assert tree.position(600) is None
    assert tree.entries(2, WIDTH) == [entry.data for entry in entries[512:]]
    assert tree.entry(games[0], 121) is None


def test_an_event_that_the_tree_has_not_taken_in_is_not_in_it(
    datastore: Datastore, recorder: EventRecorder, tree: TreeQueries
) -> None:
    game = log_events(recorder, 10)
    Follower(datastore, TREE, batch=6).step()
    assert tree.reached().size == 6
    found = [(tree.entry(game, seq) is not None, tree.position(seq - 1) is not None) for seq in (6, 7)]
    assert found == [(True, True), (False, False)]
    assert len(tree.entries(0, WIDTH)) == 6


def test_proofs_from_the_tables_hold(datastore: Datastore, recorder: EventRecorder, tree: TreeQueries) -> None:
    game = log_events(recorder, 600)
    caught_up(datastore)
    proofs = Proofs(tree.tiles)
    for seq in (1, 256, 257, 600):
        entry = tree.entry(game, seq)
        assert entry is not None
        verify_inclusion(leaf_hash(entry.data), entry.index, 600, proofs.inclusion(entry.index, 600), proofs.root(600))
    for old in (1, 255, 256, 300, 512, 600):
        verify_consistency(old, proofs.root(old), 600, proofs.root(600), proofs.consistency(old, 600))


def test_a_tree_with_a_tile_missing_takes_in_nothing_more(
    datastore: Datastore, recorder: EventRecorder, database_url: str
) -> None:
    log_events(recorder, 300)
    caught_up(datastore)
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM read_models.merkle_tiles WHERE level = 1")
    log_events(recorder, 300)
    with pytest.raises(LookupError, match="tic project rebuild transparency"):
        caught_up(datastore)
    rebuild(datastore)
    assert tiles_of(database_url) == Tree(map(leaf_hash, log(database_url))).tiles


def test_whoever_reads_while_it_is_built_anew_finds_a_whole_tree(
    datastore: Datastore, recorder: EventRecorder, database_url: str, tree: TreeQueries
) -> None:
    log_events(recorder, 800)
    caught_up(datastore)
    roots = Tree(map(leaf_hash, log(database_url)))
    found, done = [], threading.Event()

    def read() -> None:
        while not done.is_set():
            size = tree.reached().size
            found.append(size == 800 and Proofs(tree.tiles).root(size) == roots.root(size))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(3):
            rebuild(datastore)
    finally:
        done.set()
        reader.join()
    assert found
    assert all(found)


# What is kept of them


class Counted:
    """A source of tiles that notes what it was asked for."""

    def __init__(self, tiles: dict[TileId, bytes]) -> None:
        self.tiles = tiles
        self.asked: list[list[TileId]] = []

    def __call__(self, ids: Sequence[TileId]) -> dict[TileId, bytes]:
        self.asked.append(list(ids))
        return {id: self.tiles[id] for id in ids if id in self.tiles}


@pytest.fixture
def counted() -> Counted:
    return Counted(Tree(leaf_hash(b"%d" % number) for number in range(3 * WIDTH + 5)).tiles)


def test_whole_tiles_are_asked_for_once_and_others_each_time(counted: Counted) -> None:
    cached = CachedTiles(counted)
    for _ in range(2):
        assert cached([(0, 0), (0, 3), (0, 9)]) == {(0, 0): counted.tiles[0, 0], (0, 3): counted.tiles[0, 3]}
    assert counted.asked == [[(0, 0), (0, 3), (0, 9)], [(0, 3), (0, 9)]]


def test_no_more_tiles_are_kept_than_may_be(counted: Counted) -> None:
    cached = CachedTiles(counted, most=2)
    for number in (0, 1, 0, 2, 0, 1):
        cached([(0, number)])
    assert counted.asked == [[(0, 0)], [(0, 1)], [(0, 2)], [(0, 1)]]


def test_what_was_kept_can_be_forgotten(counted: Counted) -> None:
    cached = CachedTiles(counted)
    cached([(0, 0)])
    cached.forget()
    cached([(0, 0)])
    assert len(counted.asked) == 2
