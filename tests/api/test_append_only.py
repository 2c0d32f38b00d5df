"""What the role that a server runs as can't do, and what nobody can: every way to change what was once logged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from domain.log_tables import LOG_LOCK
from tests.api.roles import House, house

APPEND = "SELECT refused, positions FROM public.append_events(%s, %s, %s, %s, %s)"
GAME, OTHER = UUID(int=1), UUID(int=2)


@pytest.fixture(scope="module")
def set_up(admin: psycopg.Connection, postgres: str) -> Iterator[House]:
    """A database that is set up, with three events of one game. What a test does to it is rolled back."""
    with house(admin, postgres) as made:
        made.init()
        with psycopg.connect(made.apps_url) as connection:
            append(connection, [(0, GAME, version) for version in (1, 2, 3)])
        yield made


@pytest.fixture
def app(set_up: House) -> Iterator[psycopg.Connection]:
    """A connection as the servers' role."""
    with psycopg.connect(set_up.apps_url) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def owner(set_up: House) -> Iterator[psycopg.Connection]:
    """A connection as the log's owner."""
    with psycopg.connect(set_up.owners_url) as connection:
        yield connection
        connection.rollback()


def append(connection: psycopg.Connection, events: list[tuple[Any, Any, Any]]) -> Any:
    """Call the function with events given as append, game and version; return what it answers."""
    columns = [list(column) for column in zip(*events, strict=True)]
    states = [state(game, version) for _, game, version in events]
    return connection.execute(APPEND, [*columns, ["test"] * len(events), states]).fetchone()


def state(game: UUID, version: int, **other: Any) -> bytes:
    return json.dumps({"game": str(game), "seq": version, "type": "test", **other}).encode()


def log(connection: psycopg.Connection) -> list[Any]:
    query = "SELECT originator_id, originator_version FROM public.game_events ORDER BY notification_id"
    return connection.execute(query).fetchall()


# What the servers' role can't do

FORBIDDEN: dict[str, LiteralString] = {
    "insert an event past the function": "INSERT INTO game_events VALUES (gen_random_uuid(), 1, 'test', '{{}}', 99)",
    "insert an event through the view": "INSERT INTO game_log (game, seq) VALUES (gen_random_uuid(), 1)",
    "copy events in": "COPY game_events FROM STDIN",
    "merge events in": """
        MERGE INTO game_events USING (SELECT 1) AS one ON false
        WHEN NOT MATCHED THEN INSERT VALUES (gen_random_uuid(), 1, 'test', '{{}}', 99)
    """,
    "update events": "UPDATE game_events SET state = '{{}}'",
    "update no event": "UPDATE game_events SET state = '{{}}' WHERE false",
    "update events through the view": "UPDATE game_log SET type = 'test'",
    "delete events": "DELETE FROM game_events",
    "delete events through the view": "DELETE FROM game_log",
    "truncate the log": "TRUNCATE game_events",
    "add a column to the log": "ALTER TABLE game_events ADD COLUMN more text",
    "rename the log": "ALTER TABLE game_events RENAME TO events",
    "move the log to another schema": "ALTER TABLE game_events SET SCHEMA read_models",
    "own the log": "ALTER TABLE game_events OWNER TO {app}",
    "drop the log": "DROP TABLE game_events CASCADE",
    "add rows by a table that inherits from the log": "CREATE TABLE read_models.more () INHERITS (game_events)",
    "hold on to events by a foreign key": """
        CREATE TABLE read_models.more (
            game uuid, version bigint,
            FOREIGN KEY (game, version) REFERENCES game_events (originator_id, originator_version)
        )
    """,
    "index the log": "CREATE INDEX ON game_events (topic)",
    "disable the trigger": "ALTER TABLE game_events DISABLE TRIGGER game_events_append_only",
    "disable all triggers": "ALTER TABLE game_events DISABLE TRIGGER ALL",
    "drop the trigger": "DROP TRIGGER game_events_append_only ON game_events",
    "add a trigger": """
        CREATE TRIGGER mine BEFORE INSERT ON game_events
        FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()
    """,
    "add a rule": "CREATE RULE mine AS ON INSERT TO game_events DO INSTEAD NOTHING",
    "replace the append function": """
        CREATE OR REPLACE FUNCTION public.append_events(integer[], uuid[], bigint[], text[], bytea[])
        RETURNS void LANGUAGE sql AS ''
    """,
    "alter the append function": """
        ALTER FUNCTION append_events(integer[], uuid[], bigint[], text[], bytea[]) RESET search_path
    """,
    "drop the append function": "DROP FUNCTION append_events(integer[], uuid[], bigint[], text[], bytea[])",
    "call the trigger's function for a table of its own": """
        CREATE TEMP TABLE mine (); CREATE TRIGGER mine BEFORE INSERT ON mine EXECUTE FUNCTION keep_game_events()
    """,
    "replace the view of the log": "CREATE OR REPLACE VIEW public.game_log AS SELECT 1 AS position",
    "note another version of the set-up": "COMMENT ON TABLE game_events IS 'set-up 99'",
    "create a table in public": "CREATE TABLE public.mine ()",
    "create a function in public": "CREATE FUNCTION public.mine() RETURNS void LANGUAGE sql AS ''",
    "create a view in public": "CREATE VIEW public.mine AS SELECT 1",
    "create a type in public": "CREATE TYPE public.mine AS (one int)",
    "create a schema": "CREATE SCHEMA mine",
    "drop the schema of the read models": "DROP SCHEMA read_models CASCADE",
    "act as the owner": "SET ROLE {owner}",
    "log in as the owner within the session": "SET SESSION AUTHORIZATION {owner}",
    "give the owner another password": "ALTER ROLE {owner} PASSWORD 'mine'",
    "make itself a superuser": "ALTER ROLE {app} SUPERUSER",
    "become a member of the owner": "GRANT {owner} TO {app}",
    "call itself a replica, for which triggers do not fire": "SET session_replication_role = replica",
    "lock writers out of the log": "LOCK TABLE game_events IN EXCLUSIVE MODE",
    "lock readers out of the log": "LOCK TABLE game_events IN ACCESS EXCLUSIVE MODE",
    "lock rows of the log": "SELECT * FROM game_events FOR UPDATE",
    "lock rows of the log for sharing": "SELECT * FROM game_events FOR KEY SHARE",
    "spend positions of the log": "SELECT nextval('game_events_notification_id_seq')",
    "set the next position of the log": "SELECT setval('game_events_notification_id_seq', 1)",
    "restart the positions of the log": "ALTER SEQUENCE game_events_notification_id_seq RESTART",
    "read passwords": "SELECT * FROM pg_authid",
    "read files of the server": "SELECT pg_read_file('postgresql.conf')",
    "run programs on the server": "COPY game_events TO PROGRAM 'cat'",
    "delete sealed seeds": "DELETE FROM sealed_seeds",
    "truncate the sealed seeds": "TRUNCATE sealed_seeds",
    "give a sealed seed to another deal": "UPDATE sealed_seeds SET deal = gen_random_uuid()",
    "truncate the players": "TRUNCATE players CASCADE",
    "delete tokens without their player": "DELETE FROM tokens",
    "give a token to another player": "UPDATE tokens SET player = gen_random_uuid()",
    "give a token more scopes": "UPDATE tokens SET scopes = ARRAY['organise']",
    "forget an outage": "DELETE FROM outages",
    "forget a checkpoint": "DELETE FROM log_checkpoints",
    "change a checkpoint": "UPDATE log_checkpoints SET note = ''",
    "change a checkpoint where it is inserted again": """
        INSERT INTO log_checkpoints (size, note) VALUES (1, '') ON CONFLICT (size) DO UPDATE SET note = ''
    """,
    "truncate the checkpoints": "TRUNCATE log_checkpoints",
    "choose when a checkpoint was signed": "INSERT INTO log_checkpoints VALUES (1, '', now())",
    "disable the trigger of the checkpoints": "ALTER TABLE log_checkpoints DISABLE TRIGGER ALL",
    "drop the checkpoints": "DROP TABLE log_checkpoints",
    "forget a departure": "DELETE FROM log_departures",
    "change a departure": "UPDATE log_departures SET note = ''",
    "truncate the departures": "TRUNCATE log_departures",
    "choose when a departure was told": "INSERT INTO log_departures VALUES ('', now())",
    "disable the trigger of the departures": "ALTER TABLE log_departures DISABLE TRIGGER ALL",
}


@pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=list(FORBIDDEN))
def test_the_servers_role_can_not(statement: LiteralString, app: psycopg.Connection, set_up: House) -> None:
    names = {"owner": Identifier(set_up.owner), "app": Identifier(set_up.app)}
    with pytest.raises(InsufficientPrivilege):
        app.execute(SQL(statement).format(**names))
    app.rollback()
    assert log(app) == [(GAME, 1), (GAME, 2), (GAME, 3)]


@pytest.mark.parametrize("privilege", ["INSERT", "UPDATE", "DELETE", "TRUNCATE", "TRIGGER", "REFERENCES"])
def test_the_servers_role_can_not_grant_itself(
    privilege: LiteralString, app: psycopg.Connection, set_up: House
) -> None:
    app.execute(SQL("GRANT {} ON game_events TO {}").format(SQL(privilege), Identifier(set_up.app)))
    asked = app.execute("SELECT has_table_privilege('game_events', %s)", (privilege,))
    assert asked.fetchone() == (False,)


# What nobody can do

CHANGES: dict[str, LiteralString] = {
    "update events": "UPDATE game_events SET state = '{}'",
    "update no event": "UPDATE game_events SET state = '{}' WHERE false",
    "delete events": "DELETE FROM game_events",
    "delete no event": "DELETE FROM game_events WHERE false",
    "truncate the log": "TRUNCATE game_events",
    "update an event where it is inserted again": """
        INSERT INTO game_events SELECT * FROM game_events ON CONFLICT (originator_id, originator_version)
        DO UPDATE SET state = '{}'
    """,
}


@pytest.mark.parametrize("statement", CHANGES.values(), ids=list(CHANGES))
def test_the_trigger_lets_not_even_the_owner(statement: LiteralString, owner: psycopg.Connection) -> None:
    with pytest.raises(InsufficientPrivilege, match="the log is append-only"):
        owner.execute(statement)


@pytest.mark.parametrize("statement", CHANGES.values(), ids=list(CHANGES))
def test_the_trigger_lets_not_even_a_superuser_who_calls_himself_a_replica(
    statement: LiteralString, set_up: House
) -> None:
    with psycopg.connect(set_up.admins_url) as superuser:
        superuser.execute("SET LOCAL session_replication_role = replica")
        with pytest.raises(InsufficientPrivilege, match="the log is append-only"):
            superuser.execute(statement)


# What the function takes


def test_the_function_takes_the_next_events_of_several_games(app: psycopg.Connection) -> None:
    refused, positions = append(app, [(5, OTHER, 1), (5, OTHER, 2), (7, GAME, 4)])
    assert (refused, len(positions)) == ([], 3)
    assert log(app)[3:] == [(OTHER, 1), (OTHER, 2), (GAME, 4)]


NOT_NEXT = {
    "an event that leaves a gap": [(0, GAME, 5)],
    "a first event that is the second": [(0, OTHER, 2)],
    "events with a gap between them": [(0, GAME, 4), (0, GAME, 6)],
    "a version that is taken": [(0, GAME, 3)],
    "a version that is taken, and the next": [(0, GAME, 3), (0, GAME, 4)],
    "events in the wrong order": [(0, GAME, 5), (0, GAME, 4)],
    "an event twice": [(0, GAME, 4), (0, GAME, 4)],
    "an event with no version before the first": [(0, OTHER, 0)],
    "an event with a version below zero": [(0, OTHER, -1)],
    "events of two games in one append": [(0, GAME, 4), (0, OTHER, 1)],
}


@pytest.mark.parametrize("events", NOT_NEXT.values(), ids=list(NOT_NEXT))
def test_the_function_refuses(events: list[tuple[int, UUID, int]], app: psycopg.Connection) -> None:
    assert append(app, events) == ([0], [])
    assert log(app) == [(GAME, 1), (GAME, 2), (GAME, 3)]


def test_the_function_refuses_an_append_with_events_of_another_between_its_own(app: psycopg.Connection) -> None:
    refused, positions = append(app, [(0, GAME, 4), (1, OTHER, 1), (0, GAME, 5)])
    assert (refused, len(positions)) == ([0], 1)
    assert log(app)[3:] == [(OTHER, 1)]


def test_two_appends_to_one_place_are_both_undone(app: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        append(app, [(0, GAME, 4), (1, GAME, 4)])


def test_a_version_is_taken_also_for_whoever_sees_an_older_log(admin: psycopg.Connection, postgres: str) -> None:
    with house(admin, postgres) as made:
        made.init()
        with psycopg.connect(made.apps_url) as late, psycopg.connect(made.apps_url) as early:
            late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            assert log(late) == []  # and it goes on seeing that
            append(early, [(0, GAME, 1)])
            early.commit()
            with pytest.raises(psycopg.errors.UniqueViolation):
                append(late, [(0, GAME, 1)])


MALFORMED: dict[str, list[Any]] = {
    "no append": [[None], [GAME], [4], ["test"], [b"{}"]],
    "no game": [[0], [None], [4], ["test"], [b"{}"]],
    "no version": [[0], [GAME], [None], ["test"], [b"{}"]],
    "no topic": [[0], [GAME], [4], [None], [b"{}"]],
    "no state": [[0], [GAME], [4], ["test"], [None]],
    "fewer appends than events": [[0], [GAME, GAME], [4, 5], ["test"] * 2, [b"{}"] * 2],
    "fewer games than events": [[0, 0], [GAME], [4, 5], ["test"] * 2, [b"{}"] * 2],
    "fewer versions than events": [[0, 0], [GAME, GAME], [4], ["test"] * 2, [b"{}"] * 2],
    "fewer topics than events": [[0, 0], [GAME, GAME], [4, 5], ["test"], [b"{}"] * 2],
    "fewer states than events": [[0, 0], [GAME, GAME], [4, 5], ["test"] * 2, [b"{}"]],
    "no appends at all": [None, [GAME], [4], ["test"], [b"{}"]],
    "no states at all": [[0], [GAME], [4], ["test"], None],
}


@pytest.mark.parametrize("columns", MALFORMED.values(), ids=list(MALFORMED))
def test_the_function_takes_nothing_where_there_is(columns: list[Any], app: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        app.execute(APPEND, columns)
    app.rollback()
    assert log(app) == [(GAME, 1), (GAME, 2), (GAME, 3)]


NO_EVENTS: dict[str, bytes] = {
    "bytes that are not JSON": b"not JSON",
    "bytes that are not UTF-8": b'{"game": "\xff"}',
    "JSON that is no object": b"[1, 2, 3]",
    "an object without a name": b"{}",
    "another game's": state(UUID(int=99), 4),
    "another place's": state(GAME, 5),
    "another type's": state(GAME, 4, type="other"),
}


@pytest.mark.parametrize("stored", NO_EVENTS.values(), ids=list(NO_EVENTS))
def test_what_is_no_event_of_its_place_is_not_taken(stored: bytes, app: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DataError):
        app.execute(APPEND, [[0, 1], [UUID(int=8), GAME], [1, 4], ["test"] * 2, [state(UUID(int=8), 1), stored]])
    app.rollback()
    assert log(app) == [(GAME, 1), (GAME, 2), (GAME, 3)]


# What a role can put in the way of a function that runs as the owner

IN_THE_WAY = """
CREATE FUNCTION read_models.mine() RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'called as %', current_user; END $$;
CREATE FUNCTION read_models.pg_advisory_xact_lock(integer) RETURNS boolean LANGUAGE sql AS 'SELECT read_models.mine()';
CREATE FUNCTION read_models.set_config(text, text, boolean) RETURNS boolean LANGUAGE sql AS 'SELECT read_models.mine()';
CREATE FUNCTION read_models.mine(uuid, uuid) RETURNS boolean LANGUAGE sql AS 'SELECT read_models.mine()';
CREATE FUNCTION read_models.mine(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT read_models.mine()';
CREATE OPERATOR read_models.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = read_models.mine);
CREATE OPERATOR read_models.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = read_models.mine);
CREATE OPERATOR read_models.- (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = read_models.mine);
CREATE TEMP TABLE game_events (LIKE public.game_events);
SET search_path = pg_temp, read_models, pg_catalog, public
"""


@pytest.mark.parametrize(
    "call",
    [
        f"SELECT pg_advisory_xact_lock({LOG_LOCK})",
        "SELECT set_config('lock_timeout', '5s', true)",
        "SELECT gen_random_uuid() = gen_random_uuid()",
        "SELECT 1::bigint = 1::bigint",
    ],
)
def test_what_is_put_in_the_way_is_what_the_role_itself_calls(
    call: LiteralString, app: psycopg.Connection, set_up: House
) -> None:
    app.execute(IN_THE_WAY)
    with pytest.raises(psycopg.errors.RaiseException, match=set_up.app):
        app.execute(call)


def test_the_function_calls_nothing_that_is_put_in_its_way(app: psycopg.Connection) -> None:
    app.execute(IN_THE_WAY)
    refused, _ = append(app, [(0, GAME, 4)])
    assert refused == []
    assert app.execute("TABLE pg_temp.game_events").fetchall() == []
    app.execute("RESET search_path")
    assert log(app)[3:] == [(GAME, 4)]
