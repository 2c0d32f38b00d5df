"""Read models whose tables an older program made, or nobody yet: they are made, and filled from the log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Cursor
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow

import projections.tables
from domain.application import Games
from domain.storage import Datastore, Logged, PersistenceError
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.rules import OpenTickle
from projections.lobby import Lobby, LobbyQueries, Status
from projections.models import PROJECTIONS
from projections.runner import Follower, make_tables
from projections.tables import OthersThings, TablesHeld

ADA: Final = UUID(int=1)

BESIDE_THE_LOG: Final = """
DROP SCHEMA read_models, read_models_rebuild CASCADE;
CREATE TABLE lobby_games (
    game uuid PRIMARY KEY,
    position bigint NOT NULL UNIQUE,
    kind text NOT NULL,
    ruleset integer NOT NULL,
    status text NOT NULL,
    host uuid NOT NULL,
    opened_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    version bigint NOT NULL,
    ending text
);
CREATE TABLE lobby_seats (
    game uuid NOT NULL,
    seat integer NOT NULL,
    player uuid NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (game, seat)
);
CREATE INDEX lobby_games_by_kind ON lobby_games (kind, position);
CREATE INDEX lobby_seats_by_player ON lobby_seats (player, position);
CREATE TABLE lobby_players (game uuid NOT NULL, player uuid NOT NULL);
CREATE TABLE deadlines (game uuid PRIMARY KEY, due_at timestamptz NOT NULL, since timestamptz NOT NULL);
CREATE TABLE projection_positions (name text PRIMARY KEY, position bigint NOT NULL);
INSERT INTO projection_positions VALUES ('lobby', 3), ('deadlines', 3);
"""
"""What earlier programs left, in the schema of the log."""


def some_games(games: Games) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA, options=Options(time_limit=60)), player=ADA, key=None)
    games.open("tickle", OpenTickle(player=ADA), player=ADA, key=None)


def rows(database_url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url) as connection:
        return connection.execute(query).fetchall()


def positions(database_url: str) -> dict[str, tuple[int, int]]:
    """Where each read model is in the log, and of which version its tables are."""
    found = rows(database_url, "SELECT name, position, version FROM read_models.projection_positions")
    return {name: (position, version) for name, position, version in found}


@pytest.fixture
def earlier(games: Games, database_url: str) -> None:
    """A log, and the tables as earlier programs left them."""
    some_games(games)
    with psycopg.connect(database_url) as connection:
        connection.execute(BESIDE_THE_LOG)


def caught_up(follower: Follower) -> None:
    follower.create_tables()
    while follower.step():
        pass


@pytest.mark.usefixtures("earlier")
def test_what_earlier_programs_kept_beside_the_log_is_made_anew_and_filled_from_it(
    datastore: Datastore, database_url: str
) -> None:
    for projection in PROJECTIONS.values():
        caught_up(Follower(datastore, projection))
    listed = LobbyQueries(datastore).games(player=ADA)
    assert [(row.kind, row.status, row.takes, row.players) for row in listed] == [
        ("tickle", Status.OPEN, 6, (ADA,)),
        ("ticitaire", Status.PLAYING, 1, (ADA,)),
    ]
    assert positions(database_url) == {name: (5, projection.version) for name, projection in PROJECTIONS.items()}
    assert rows(database_url, "SELECT count(*) FROM read_models.deadlines") == [(1,)]


def beside_the_log(database_url: str) -> set[str]:
    found = rows(database_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {table for (table,) in found}


@pytest.mark.usefixtures("earlier")
def test_what_earlier_programs_kept_beside_the_log_is_gone(datastore: Datastore, database_url: str) -> None:
    Follower(datastore, Lobby()).create_tables()
    left = beside_the_log(database_url)
    assert left.isdisjoint({"lobby_games", "lobby_players", "lobby_seats", "deadlines", "projection_positions"})
    assert "game_events" in left


@pytest.mark.usefixtures("earlier")
def test_an_old_table_on_which_something_was_built_stays(datastore: Datastore, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE VIEW mine AS SELECT kind FROM lobby_games")
    caught_up(Follower(datastore, Lobby()))
    assert beside_the_log(database_url) & {"lobby_games", "lobby_seats"} == {"lobby_games"}
    assert positions(database_url)["lobby"] == (5, Lobby.version)


def test_making_tables_that_are_there_changes_nothing(games: Games, datastore: Datastore, database_url: str) -> None:
    some_games(games)
    follower = Follower(datastore, Lobby())
    caught_up(follower)
    before = rows(database_url, "SELECT * FROM read_models.lobby_games"), positions(database_url)
    follower.create_tables()
    assert (rows(database_url, "SELECT * FROM read_models.lobby_games"), positions(database_url)) == before


@pytest.mark.usefixtures("earlier")
def test_of_several_servers_that_start_at_once_one_makes_them_anew(datastore: Datastore, database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: Follower(datastore, Lobby()).create_tables(), range(4)))
    caught_up(Follower(datastore, Lobby()))
    assert rows(database_url, "SELECT count(*) FROM read_models.lobby_games") == [(2,)]


class Counter:
    """A read model that counts events, under one of several versions."""

    name = "counter"
    tables: tuple[str, ...] = ("counted",)

    def __init__(self, version: int) -> None:
        self.version = version

    def create_tables(self, cursor: Cursor[DictRow]) -> None:
        cursor.execute("CREATE TABLE IF NOT EXISTS counted (events bigint, by integer)")

    def apply(self, cursor: Cursor[DictRow], events: Sequence[Logged]) -> None:
        cursor.execute("INSERT INTO counted VALUES (%s, %s)", (len(events), self.version))


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param([1], [(5, 1)], id="first of all"),
        pytest.param([1, 2], [(5, 2)], id="then a newer one"),
        pytest.param([1, 2, 5], [(5, 5)], id="then one that leaves some out"),
    ],
)
def test_a_newer_version_takes_in_the_whole_log(
    games: Games, datastore: Datastore, database_url: str, versions: list[int], expected: list[tuple[int, int]]
) -> None:
    some_games(games)
    for version in versions:
        caught_up(Follower(datastore, Counter(version)))
    assert rows(database_url, "SELECT events, by FROM read_models.counted") == expected


@pytest.fixture
def newer(games: Games, datastore: Datastore) -> None:
    """A log, and tables that a newer program filled from it; then the log went on."""
    some_games(games)
    caught_up(Follower(datastore, Counter(2)))
    some_games(games)


def counted(database_url: str) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """What the tables hold, and their position and version."""
    return rows(database_url, "SELECT events, by FROM read_models.counted"), positions(database_url)["counter"]


def rebuild(follower: Follower) -> int:
    return follower.rebuild(lambda _done, _total: None)


@pytest.mark.parametrize(
    ("known", "begin"),
    [
        pytest.param(1, Follower.step, id="a step of an older program"),
        pytest.param(3, Follower.step, id="a step of a newer one that has made no tables yet"),
        pytest.param(1, rebuild, id="a rebuild of an older program"),
    ],
)
@pytest.mark.usefixtures("newer")
def test_tables_of_another_version_are_refused_and_nothing_is_written(
    datastore: Datastore, database_url: str, known: int, begin: Callable[[Follower], int]
) -> None:
    before = counted(database_url)
    with pytest.raises(LookupError, match=f"counter have version 2; this program knows {known}"):
        begin(Follower(datastore, Counter(known)))
    assert counted(database_url) == before == ([(5, 2)], (5, 2))


@pytest.mark.usefixtures("newer")
def test_a_rebuild_by_a_newer_program_takes_the_place_of_what_older_ones_show(
    datastore: Datastore, database_url: str
) -> None:
    follower = Follower(datastore, Counter(3))
    follower.create_tables(keep_older=True)
    assert counted(database_url) == ([(5, 2)], (5, 2))
    assert rebuild(follower) == 10
    assert counted(database_url) == ([(10, 3)], (10, 3))


@pytest.mark.usefixtures("newer")
def test_who_goes_back_to_an_older_program_builds_its_read_models_over_the_newer_ones(
    datastore: Datastore, database_url: str
) -> None:
    older = Follower(datastore, Counter(1))
    assert older.rebuild(lambda _done, _total: None, over_newer=True) == 10
    assert counted(database_url) == ([(10, 1)], (10, 1))


@pytest.mark.usefixtures("newer")
def test_an_older_program_goes_on_with_its_tables_while_a_newer_one_builds_beside(
    datastore: Datastore, database_url: str
) -> None:
    older, newer = Follower(datastore, Counter(2)), Follower(datastore, Counter(3))
    newer.create_tables(keep_older=True)
    shown = []

    def while_it_builds(_done: int, _total: int) -> None:
        shown.append((older.step(), counted(database_url)))

    newer.rebuild(while_it_builds, batch=10)
    assert shown[0] == (5, ([(5, 2), (5, 2)], (10, 2)))


@pytest.mark.usefixtures("newer")
def test_an_older_program_leaves_newer_tables_alone(datastore: Datastore, database_url: str) -> None:
    made: list[int] = []

    class Older(Counter):
        def create_tables(self, cursor: Cursor[DictRow]) -> None:
            made.append(self.version)
            cursor.execute("ALTER TABLE counted RENAME TO taken")

    Follower(datastore, Older(1)).create_tables()
    assert (made, counted(database_url)) == ([], ([(5, 2)], (5, 2)))


@pytest.mark.usefixtures("newer")
def test_the_newer_program_goes_on_from_where_it_was(datastore: Datastore, database_url: str) -> None:
    Follower(datastore, Counter(1)).create_tables()
    caught_up(Follower(datastore, Counter(2)))
    assert counted(database_url) == ([(5, 2), (5, 2)], (10, 2))


def test_a_step_without_tables_says_so(datastore: Datastore) -> None:
    with pytest.raises(LookupError, match="has no tables yet"):
        Follower(datastore, Counter(1)).step()


# Readers of tables that are to be dropped


@pytest.fixture
def older(games: Games, datastore: Datastore) -> None:
    """Tables that an older program has filled."""
    some_games(games)
    caught_up(Follower(datastore, Counter(1)))


@pytest.fixture
def stays(database_url: str) -> Iterator[psycopg.Connection]:
    """A reader who stays in whatever he reads, as a dump does."""
    with psycopg.connect(database_url, application_name="a long dump") as connection:
        yield connection
        connection.rollback()


COUNTED: Final = "SELECT events, by FROM read_models.counted"


@pytest.mark.usefixtures("older")
def test_while_a_newer_program_waits_for_a_reader_of_the_older_tables_others_go_on_reading_them(
    datastore: Datastore, database_url: str, stays: psycopg.Connection, tries: threading.Semaphore
) -> None:
    with ThreadPoolExecutor(1) as pool:
        stays.execute(COUNTED)
        making = pool.submit(Follower(datastore, Counter(2)).create_tables)
        try:
            for _ in range(3):
                assert tries.acquire(timeout=20)
                assert counted(database_url) == ([(5, 1)], (5, 1))
        finally:
            stays.rollback()
        making.result(20)
    assert counted(database_url) == ([], (0, 2))


@pytest.mark.usefixtures("older")
def test_the_older_program_goes_on_with_its_tables_while_a_newer_one_waits(
    games: Games,
    datastore: Datastore,
    database_url: str,
    stays: psycopg.Connection,
    tries: threading.Semaphore,
) -> None:
    with ThreadPoolExecutor(1) as pool:
        stays.execute(COUNTED)
        making = pool.submit(Follower(datastore, Counter(2)).create_tables)
        try:
            assert tries.acquire(timeout=20)
            some_games(games)
            assert Follower(datastore, Counter(1)).step() == 5
        finally:
            stays.rollback()
        making.result(20)


@pytest.mark.usefixtures("older", "tries")
def test_a_reader_who_stays_too_long_is_named_and_the_older_tables_stand(
    datastore: Datastore, database_url: str, stays: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projections.tables, "TRIES", 2)
    stays.execute(COUNTED)
    with pytest.raises(TablesHeld, match=rf"read_models\.counted: held by a long dump .* {stays.info.backend_pid}\)"):
        Follower(datastore, Counter(2)).create_tables()
    assert counted(database_url) == ([(5, 1)], (5, 1))


@pytest.mark.usefixtures("earlier", "tries")
def test_a_table_beside_the_log_that_is_being_read_stays_until_the_next_start(
    datastore: Datastore, database_url: str, stays: psycopg.Connection
) -> None:
    stays.execute("SELECT FROM public.lobby_games")
    caught_up(Follower(datastore, Lobby()))
    assert beside_the_log(database_url) & {"lobby_games", "lobby_seats"} == {"lobby_games"}
    stays.rollback()
    Follower(datastore, Lobby()).create_tables()
    assert "lobby_games" not in beside_the_log(database_url)


@pytest.mark.usefixtures("earlier", "tries")
def test_what_waits_for_a_lock_afterwards_waits_as_long_as_it_takes(
    datastore: Datastore, stays: psycopg.Connection
) -> None:
    waits = list[str]()

    class Asking(Counter):
        def create_tables(self, cursor: Cursor[DictRow]) -> None:
            super().create_tables(cursor)
            waits.extend(row["lock_timeout"] for row in cursor.execute("SHOW lock_timeout").fetchall())

    stays.execute("SELECT FROM public.lobby_games")
    Follower(datastore, Asking(1)).create_tables()
    assert waits == ["0"]


# Who makes the tables


def test_the_transaction_that_makes_the_tables_is_the_one_that_keeps_others_from_it(datastore: Datastore) -> None:
    held = list[DictRow]()
    query = "SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()"

    class Looking(Counter):
        def create_tables(self, cursor: Cursor[DictRow]) -> None:
            super().create_tables(cursor)
            held.extend(cursor.execute(query).fetchall())

    Follower(datastore, Looking(1)).create_tables()
    assert held == [{"mode": "ExclusiveLock"}]


def test_the_tables_of_all_read_models_are_made_in_one_transaction(datastore: Datastore, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("DROP SCHEMA read_models, read_models_rebuild CASCADE")
    make_tables(datastore, PROJECTIONS.values())
    made = rows(
        database_url, "SELECT DISTINCT xmin::text FROM pg_class WHERE relnamespace = 'read_models'::regnamespace"
    )
    assert len(made) == 1
    assert positions(database_url) == {name: (0, projection.version) for name, projection in PROJECTIONS.items()}


@pytest.mark.usefixtures("older")
def test_older_tables_of_one_read_model_are_made_anew_beside_those_of_another(
    datastore: Datastore, database_url: str
) -> None:
    before = positions(database_url)
    make_tables(datastore, [*PROJECTIONS.values(), Counter(2)])
    assert positions(database_url) == {**before, "counter": (0, 2)}


def test_a_start_needs_one_connection(database_url: str) -> None:
    with Datastore(database_url, connections=1, patience=0.2) as datastore:
        Follower(datastore, Counter(1)).create_tables()
    assert positions(database_url)["counter"] == (0, 1)


# Roles


ROLE: Final = """
DROP SCHEMA read_models, read_models_rebuild CASCADE;
CREATE ROLE {role};
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT SELECT ON game_events TO {role};
"""
ROOM: Final = """
CREATE SCHEMA read_models;
CREATE SCHEMA read_models_rebuild;
GRANT USAGE, CREATE ON SCHEMA read_models, read_models_rebuild TO {role};
"""


@pytest.fixture
def app_role(games: Games, database_url: str) -> Iterator[str]:
    """A role that may read the log, and make nothing in the database."""
    some_games(games)
    role = f"tic_test_{uuid4().hex}"
    with psycopg.connect(database_url) as connection:
        connection.execute(ROLE.format(role=role))
    yield role
    with psycopg.connect(database_url) as connection:
        connection.execute(f"DROP OWNED BY {role}")
        connection.execute(f"DROP ROLE {role}")


def test_a_role_that_has_the_two_schemas_only_can_follow_and_rebuild(database_url: str, app_role: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(ROOM.format(role=app_role))
    with Datastore(make_conninfo(database_url, options=f"-c role={app_role}"), connections=2) as datastore:
        for projection in PROJECTIONS.values():
            follower = Follower(datastore, projection)
            caught_up(follower)
            assert follower.rebuild(lambda _done, _total: None) == 5
            caught_up(follower)
        assert len(LobbyQueries(datastore).games()) == 2


IN_THE_WAY: Final = """
DROP TABLE read_models.projection_positions;
SET ROLE {role};
CREATE TABLE read_models.called (by text);
GRANT INSERT ON read_models.called TO PUBLIC;
CREATE VIEW read_models.projection_positions AS SELECT 'counter'::text AS name, 0::bigint AS position, 1 AS version;
GRANT ALL ON read_models.projection_positions TO PUBLIC;
CREATE FUNCTION read_models.mine() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO read_models.called VALUES (current_user); RETURN NULL; END $$;
CREATE TRIGGER mine INSTEAD OF INSERT ON read_models.projection_positions
    FOR EACH ROW EXECUTE FUNCTION read_models.mine();
"""
"""What a role that may create something can leave where the owner is about to write."""


def test_what_another_role_has_put_in_the_place_of_a_table_is_not_written_to(
    datastore: Datastore, database_url: str, app_role: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(ROOM.format(role=app_role))
        connection.execute("CREATE TABLE read_models.projection_positions ()")
        connection.execute(IN_THE_WAY.format(role=app_role))
    with pytest.raises(OthersThings, match=f"belongs to the role {app_role}"):
        Follower(datastore, Counter(1)).create_tables()
    assert rows(database_url, "SELECT by FROM read_models.called") == []


def test_a_role_that_has_no_room_for_read_models_is_told_so(database_url: str, app_role: str) -> None:
    url = make_conninfo(database_url, options=f"-c role={app_role}")
    with Datastore(url, connections=2) as datastore, pytest.raises(PersistenceError, match="permission denied"):
        Follower(datastore, Lobby()).create_tables()
