"""Who makes the tables, and who may do what with them: `tic db init`, and servers that run as the role it makes."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from api import cli, database, privileges, upgrading
from api.database import NotSetUp, check, init, may_show_password, prepare, prepare_tables, standing, url_as
from api.settings import write_keys
from domain import log_tables
from domain.storage import Datastore
from projections import tables
from projections.models import PROJECTIONS
from projections.runner import Follower
from projections.tables import TablesHeld, others_things
from tests.api.roles import PASSWORD, House, house
from tests.client import Client
from tests.conftest import KEYRING, in_memory, started
from tests.projections.shown import until
from tests.server import TIC, environment


@pytest.fixture
def rooms(admin: psycopg.Connection, postgres: str) -> Iterator[House]:
    """An empty database and its owner, who is no superuser, and may create roles."""
    with house(admin, postgres) as made:
        yield made


@pytest.fixture
def owned(admin: psycopg.Connection, postgres: str) -> Iterator[House]:
    """An empty database and its owner, who may not create roles."""
    with house(admin, postgres, makes_roles=False) as made:
        yield made


@pytest.fixture
def another(admin: psycopg.Connection) -> Iterator[str]:
    """A role that outlives the databases of the test; so it is asked for before them."""
    role = f"tic_another_{uuid4().hex}"
    create_role(admin, role)
    yield role
    admin.execute(SQL("DROP ROLE {}").format(Identifier(role)))


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "server.key"
    write_keys(path, KEYRING, replace=False)
    return path


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    return path


@pytest.fixture
def tic(monkeypatch: pytest.MonkeyPatch, key_file: Path) -> Callable[..., Result]:
    """Runs a command with a DATABASE_URL."""

    def run(url: str, *words: str) -> Result:
        monkeypatch.setenv("DATABASE_URL", url)
        monkeypatch.setenv("TIC_SERVER_KEY_FILE", str(key_file))
        return CliRunner().invoke(cli.app, words)

    return run


def execute(url: str, *statements: LiteralString) -> list[Any]:
    """Run statements; return the rows of the last one."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def create_role(admin: psycopg.Connection, role: str, attributes: LiteralString = "LOGIN") -> None:
    admin.execute(SQL("CREATE ROLE {} {} PASSWORD 'another'").format(Identifier(role), SQL(attributes)))


def prepared(url: str) -> None:
    with closing(Datastore(url, connections=2)) as datastore:
        prepare(datastore)


def begin_server(url: str) -> None:
    """Do with the database what a server does when it starts."""
    with closing(Datastore(url, connections=2)) as datastore:
        prepare(datastore)
        for projection in PROJECTIONS.values():
            Follower(datastore, projection).create_tables()


def refusal(url: str) -> str:
    """What is said to whoever wants to run a server with this URL."""
    with pytest.raises(NotSetUp) as refused:
        prepared(url)
    return str(refused.value)


# A server as the role that was made for it


async def caught_up(client: Client, game: Any) -> None:
    """Wait until the list shows a game at this version at least."""
    async with asyncio.timeout(20):
        while True:
            shown = await client.ask("{ games { nodes { id version } } }")
            if any(n["id"] == game["id"] and n["version"] >= game["version"] for n in shown["games"]["nodes"]):
                return
            await asyncio.sleep(0.01)


async def play_a_game(client: Client) -> Any:
    """Play a game until it is over; return it, once the list has it."""
    player = await client.register("Ada")
    game = (await player.open_ticitaire())["game"]
    for _ in range(3):
        game = (await player.play("turnTicitaireStock", game))["game"]
    over = (await player.play("giveUpTicitaire", game))["game"]
    await caught_up(client, over)
    return over


async def test_a_server_plays_a_whole_game_as_the_role_that_was_made_for_it(rooms: House) -> None:
    rooms.init()
    async with started(rooms.apps_url) as app, in_memory(app) as client:
        game = await play_a_game(client)
        events = [event["type"] for event in await client.history(game["id"])]
    assert (game["status"], events[-1]) == ("FINISHED", "game.SeedsRevealed")


async def test_an_operator_does_everything_else_as_that_role_too(rooms: House, tic: Callable[..., Result]) -> None:
    rooms.init()
    async with started(rooms.apps_url) as app, in_memory(app) as client:
        await play_a_game(client)
    (player,) = re.findall(r"^\S+", tic(rooms.apps_url, "player", "find", "Ada").stdout)
    (token,) = re.findall(r"^\S+", tic(rooms.apps_url, "token", "list", player).stdout)
    for words in (
        ("project", "rebuild", "lobby"),
        ("key", "rotate"),
        ("key", "prune"),
        ("token", "grant", player, "--scope", "audit"),
        ("token", "revoke", token),
        ("player", "erase", player, "--yes"),
        ("db", "check"),
    ):
        done = tic(rooms.apps_url, *words)
        assert done.exit_code == 0, (words, done.output, done.exception)


async def test_games_from_before_the_roles_are_listed_for_the_role_that_comes(rooms: House) -> None:
    async with started(rooms.owners_url) as app, in_memory(app) as client:
        game = await play_a_game(client)
    rooms.init()
    async with started(rooms.apps_url) as app, in_memory(app) as client:
        await caught_up(client, game)
    owners = execute(rooms.owners_url, "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname LIKE 'read_models%'")
    assert owners == [(rooms.app,)]


# Setting up


def test_a_role_is_made_with_the_password_of_the_file_which_is_shown_nowhere(
    rooms: House, tic: Callable[..., Result], password_file: Path, admin: psycopg.Connection
) -> None:
    words = ("db", "init", "--app-role", rooms.app, "--app-password-file", str(password_file))
    done = tic(rooms.owners_url, *words)
    assert done.exit_code == 0
    assert PASSWORD not in done.output
    kept = admin.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (rooms.app,)).fetchone()
    assert kept is not None
    assert is_verifier_of(kept[0], PASSWORD)


def is_verifier_of(kept: str, password: str) -> bool:
    """Whether that is what PostgreSQL keeps of a password (RFC 5802)."""
    found = re.fullmatch(r"SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):.+", kept)
    assert found
    rounds, salt, stored = int(found[1]), base64.b64decode(found[2]), base64.b64decode(found[3])
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    return hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest() == stored


def test_the_next_step_is_told_with_a_url_that_works(rooms: House, tic: Callable[..., Result]) -> None:
    done = tic(rooms.owners_url, "db", "init", "--app-role", rooms.app)
    assert "tic serve" in done.stderr
    assert execute(make_conninfo(done.stdout.strip(), password=PASSWORD), "SELECT current_user") == [(rooms.app,)]


def test_setting_up_again_changes_nothing(rooms: House) -> None:
    first, again = rooms.init(), rooms.init()
    assert (first.made, again.made) == (True, False)
    assert again.lacks + again.oversteps == []


async def test_setting_up_again_keeps_events_and_read_models(rooms: House) -> None:
    rooms.init()
    async with started(rooms.apps_url) as app, in_memory(app) as client:
        await play_a_game(client)
        kept = "SELECT (SELECT count(*) FROM game_log), (SELECT count(*) FROM read_models.lobby_games)"
        before = execute(rooms.apps_url, kept)
        rooms.init()
        assert execute(rooms.apps_url, kept) == before


def test_setting_up_again_sets_the_password_of_a_role_that_the_owner_has_made(
    rooms: House, admin: psycopg.Connection
) -> None:
    rooms.init()
    with Datastore(rooms.owners_url, connections=2) as datastore:
        assert init(datastore, rooms.app, password="a new one").password_set
    kept = admin.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (rooms.app,)).fetchone()
    assert kept is not None
    assert is_verifier_of(kept[0], "a new one")


def test_an_owner_who_may_not_create_roles_uses_one_that_is_there(owned: House, admin: psycopg.Connection) -> None:
    create_role(admin, owned.app)
    done = owned.init()
    assert (done.made, done.password_set, done.lacks, done.oversteps) == (False, False, [], [])
    prepared(owned.apps_url)


def test_an_owner_who_may_not_create_roles_is_told_what_an_administrator_must_run(owned: House) -> None:
    with pytest.raises(NotSetUp, match=f'CREATE ROLE "{owned.app}" LOGIN PASSWORD'):
        owned.init()
    assert execute(owned.owners_url, "SELECT to_regclass('game_events')") == [(None,)]  # all, or nothing


def test_a_role_that_may_not_make_tables_is_told_that_first(owned: House, admin: psycopg.Connection) -> None:
    create_role(admin, owned.app)
    with Datastore(owned.apps_url, connections=2) as datastore, pytest.raises(NotSetUp, match="permission denied for"):
        init(datastore, "tic_of_nobody", password=None)


def test_a_superuser_is_no_role_for_servers_and_gets_nothing(rooms: House, admin: psycopg.Connection) -> None:
    with Datastore(rooms.owners_url, connections=2) as datastore, pytest.raises(NotSetUp, match="is a superuser"):
        init(datastore, admin.info.user, password=None)
    assert execute(rooms.owners_url, "SELECT to_regclass('game_events')") == [(None,)]


@pytest.mark.parametrize(
    "name",
    ["two words", 'a "quoted" one', "o'clock", "100% %s {}", "[red]", "Grüße/?#@:", "x; DROP TABLE players", "a\\b"],
)
def test_a_role_may_have_an_odd_name(
    name: str, admin: psycopg.Connection, postgres: str, tic: Callable[..., Result]
) -> None:
    with house(admin, postgres, app=f"{name} {id(tic)}") as made:
        done = tic(made.owners_url, "db", "init", "--app-role", made.app)
        assert done.exit_code == 0, done.output
        url = make_conninfo(done.stdout.strip(), password=PASSWORD)
        assert execute(url, "SELECT current_user") == [(made.app,)]
        prepared(url)


@pytest.mark.parametrize("name", ["", "x" * 64, "a\0b"])
def test_a_role_has_a_name_that_postgresql_can_keep(name: str, rooms: House) -> None:
    with Datastore(rooms.owners_url, connections=2) as datastore, pytest.raises(NotSetUp, match="1 to 63 bytes"):
        init(datastore, name, password=None)


def test_servers_do_not_run_as_the_owner(rooms: House) -> None:
    with Datastore(rooms.owners_url, connections=2) as datastore, pytest.raises(NotSetUp, match="another role"):
        init(datastore, rooms.owner, password=None)


def test_only_the_owner_of_the_log_sets_it_up_again(rooms: House) -> None:
    rooms.init()
    with Datastore(rooms.apps_url, connections=2) as datastore, pytest.raises(NotSetUp, match=rooms.owner):
        init(datastore, "another", password=None)


def test_what_a_superuser_sets_up_again_stays_its_owners(rooms: House) -> None:
    rooms.init()
    execute(rooms.owners_url, "DROP TABLE outages", "DROP VIEW game_log")
    with Datastore(rooms.admins_url, connections=2) as datastore:
        init(datastore, rooms.app, password=None)
    query: LiteralString = "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relname = ANY(%s)"
    with psycopg.connect(rooms.owners_url) as connection:
        assert connection.execute(query, (list(privileges.TABLES),)).fetchall() == [(rooms.owner,)]


def test_what_the_owner_may_not_take_away_is_told(rooms: House, admin: psycopg.Connection) -> None:
    with psycopg.connect(rooms.admins_url) as superuser:  # as it was before PostgreSQL 15
        superuser.execute("ALTER SCHEMA public OWNER TO CURRENT_USER")
        superuser.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
    assert rooms.init().oversteps == [f'REVOKE CREATE ON SCHEMA public FROM PUBLIC, "{rooms.app}"']


def test_what_an_administrator_has_yet_to_run_ends_with_status_1(
    rooms: House, admin: psycopg.Connection, tic: Callable[..., Result]
) -> None:
    create_role(admin, rooms.app, "NOLOGIN")
    done = tic(rooms.owners_url, "db", "init", "--app-role", rooms.app)
    assert done.exit_code == 1
    assert f'ALTER ROLE "{rooms.app}" LOGIN' in done.stderr


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("ALTER ROLE {app} SUPERUSER", "ALTER ROLE {app} NOSUPERUSER"),
        ("ALTER ROLE {app} CREATEROLE", "ALTER ROLE {app} NOCREATEROLE"),
        ("GRANT {owner} TO {app}", "REVOKE {owner} FROM {app}"),
        ("GRANT {superuser} TO {app}", "REVOKE {superuser} FROM {app}"),
        ("GRANT {superuser} TO {another}; GRANT {another} TO {app}", "REVOKE {another} FROM {app}"),
        ("ALTER ROLE {another} CREATEROLE; GRANT {another} TO {app}", "REVOKE {another} FROM {app}"),
        ("ALTER ROLE {app} NOINHERIT; GRANT pg_write_all_data TO {app}", 'REVOKE "pg_write_all_data" FROM {app}'),
        ("GRANT pg_execute_server_program TO {app}", 'REVOKE "pg_execute_server_program" FROM {app}'),
        (
            """
            GRANT pg_write_all_data TO {another} WITH ADMIN OPTION;
            SET LOCAL ROLE {another};
            GRANT pg_write_all_data TO {app};
            RESET ROLE
            """,
            'REVOKE "pg_write_all_data" FROM {app} GRANTED BY {another}',
        ),
        ("ALTER DATABASE {database} OWNER TO {app}", "ALTER DATABASE {database} OWNER TO {owner}"),
        (
            "ALTER DATABASE {database} OWNER TO {another}; GRANT {another} TO {app}",
            "REVOKE {another} FROM {app}",
        ),
        ("ALTER SCHEMA public OWNER TO {app}", 'ALTER SCHEMA "public" OWNER TO {owner}'),
        ("ALTER TABLE players OWNER TO {app}", 'ALTER TABLE "public"."players" OWNER TO {owner}'),
        ("GRANT CREATE ON DATABASE {database} TO {app}", "REVOKE CREATE ON DATABASE {database} FROM PUBLIC, {app}"),
        ("GRANT INSERT ON game_events TO {app}", 'REVOKE INSERT ON "public"."game_events" FROM PUBLIC, {app}'),
        ("GRANT UPDATE (topic) ON game_events TO {app}", 'REVOKE UPDATE ON "public"."game_events" FROM PUBLIC, {app}'),
        ("GRANT DELETE ON sealed_seeds TO PUBLIC", 'REVOKE DELETE ON "public"."sealed_seeds" FROM PUBLIC, {app}'),
        ("GRANT UPDATE ON sealed_seeds TO {app}", 'REVOKE UPDATE ON "public"."sealed_seeds" FROM PUBLIC, {app}'),
        (
            "GRANT USAGE ON SEQUENCE game_events_notification_id_seq TO {app}",
            'REVOKE ALL ON SEQUENCE "public"."game_events_notification_id_seq" FROM PUBLIC, {app}',
        ),
    ],
)
def test_what_a_role_may_do_and_need_not_is_told_with_what_takes_it_away(
    given: LiteralString, taken: str, another: str, owned: House, admin: psycopg.Connection
) -> None:
    create_role(admin, owned.app)  # by the owner, the owner would be a member of it
    owned.init()
    roles = {"app": owned.app, "owner": owned.owner, "another": another, "superuser": admin.info.user}
    names = {name: Identifier(role) for name, role in {**roles, "database": owned.database}.items()}
    with Datastore(owned.admins_url, connections=2) as datastore, datastore.transaction() as cursor:
        cursor.execute(SQL(given).format(**names))
        told = privileges.oversteps(cursor, owned.app)
        assert told == [taken.format(**{name: quoted.as_string() for name, quoted in names.items()})]
        cursor.execute(told[0].encode())
        assert privileges.oversteps(cursor, owned.app) == []


# Servers that find less than they need


@pytest.mark.parametrize(
    "taken",
    [
        'GRANT SELECT ON "public"."game_events" TO {app}',
        'GRANT UPDATE ("key_id", "sealed") ON "public"."sealed_seeds" TO {app}',
        f"GRANT EXECUTE ON FUNCTION {log_tables.APPEND_SIGNATURE} TO {{app}}",
        'GRANT CREATE ON SCHEMA "read_models_rebuild" TO {app}',
    ],
)
def test_a_privilege_that_is_missing_is_named(taken: LiteralString, rooms: House) -> None:
    rooms.init()
    given = SQL(taken).format(app=Identifier(rooms.app)).as_string()
    execute(rooms.owners_url, given.replace("GRANT", "REVOKE").replace(" TO ", " FROM ").encode())  # type: ignore[arg-type]
    said = refusal(rooms.apps_url)
    assert said.endswith(f"Missing: {given}")
    assert f"Run `tic db init --app-role {rooms.app}` with the DATABASE_URL of {rooms.owner}" in said


def test_a_database_without_set_up_is_told_as_such(rooms: House, admin: psycopg.Connection) -> None:
    create_role(admin, rooms.app)
    said = refusal(rooms.apps_url)
    assert "permission denied for schema public" in said
    assert f"Run `tic db init --app-role {rooms.app}` with the DATABASE_URL of {rooms.owner}" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM schema_steps", "has yet to be taken to step 1 (the log,"),
        ("DROP TABLE schema_steps", "Run `tic db migrate` with the DATABASE_URL of tic_owner"),
        ("REVOKE SELECT ON schema_steps FROM PUBLIC, {app}", 'GRANT SELECT ON "public"."schema_steps"'),
        ("COMMENT ON TABLE game_events IS 'set-up 99'", "set up by a newer program"),
        ("DROP TABLE outages", "lacks outages. Run `tic db init"),
        ("ALTER TABLE game_events DISABLE TRIGGER USER", "append-only, is missing or disabled. Only tic_owner"),
        ("DROP TRIGGER game_events_append_only ON game_events", "append-only, is missing or disabled. Only tic_owner"),
        ("ALTER TABLE log_checkpoints DISABLE TRIGGER USER", "append-only, is missing or disabled. Only tic_owner"),
        ("ALTER TABLE log_departures DISABLE TRIGGER USER", "append-only, is missing or disabled. Only tic_owner"),
        ("DROP TABLE log_checkpoints", "lacks log_checkpoints. Run `tic db init"),
        ("DROP TABLE log_departures", "lacks log_departures. Run `tic db init"),
        ("DROP SCHEMA read_models", "Missing: GRANT USAGE"),
    ],
    ids=[
        "an older one",
        "one from before there were steps",
        "one whose steps it may not read",
        "a newer one",
        "one that lost a table",
        "one whose guard is off",
        "one that lost its guard",
        "one whose checkpoints' guard is off",
        "one whose departures' guard is off",
        "one of before there were checkpoints",
        "one of before there were departures",
        "one without read models",
    ],
)
def test_a_server_does_not_start_on_a_set_up_that_is(change: LiteralString, said: str, rooms: House) -> None:
    rooms.init()
    execute(rooms.owners_url, SQL(change).format(app=Identifier(rooms.app)).as_string().encode())  # type: ignore[arg-type]
    assert said in refusal(rooms.apps_url)


def test_a_search_path_that_leads_elsewhere_is_told(rooms: House) -> None:
    rooms.init()
    assert "search_path" in refusal(make_conninfo(rooms.apps_url, options="-c search_path=read_models"))


def test_read_models_of_the_servers_role_are_not_the_owners_to_follow(rooms: House) -> None:
    rooms.init()
    with Datastore(rooms.apps_url, connections=2) as datastore:
        Follower(datastore, PROJECTIONS["lobby"]).create_tables()
    assert f"belong to the role {rooms.app}" in refusal(rooms.owners_url)
    with Datastore(rooms.owners_url, connections=2) as datastore:
        prepare_tables(datastore)  # an operator's commands for players, tokens and keys go on


def test_who_looks_is_told_what_a_server_is_told_of_read_models_that_are_the_owners(
    rooms: House, tic: Callable[..., Result]
) -> None:
    rooms.init()
    execute(rooms.owners_url, "CREATE TABLE read_models.left_over ()")
    said = refusal(rooms.apps_url)
    assert f"belong to the role {rooms.owner}" in said
    assert f"connected. Run `tic db init --app-role {rooms.app}`" in said
    assert "Run servers as" not in said
    with Datastore(rooms.apps_url, connections=1) as datastore, pytest.raises(NotSetUp) as refused:
        check(datastore)
    assert str(refused.value) == said


def test_an_owners_server_is_warned_where_a_role_for_servers_was_made(rooms: House) -> None:
    rooms.init()
    execute(rooms.owners_url, "DROP SCHEMA read_models, read_models_rebuild CASCADE")
    with capture_logs() as logged:
        prepared(rooms.owners_url)
    assert [line["roles_for_servers"] for line in logged] == [[rooms.app]]


def test_an_owners_server_says_nothing_where_there_is_no_other_role(rooms: House) -> None:
    with capture_logs() as logged:
        prepared(rooms.owners_url)
    assert logged == []


def test_an_owners_server_that_mends_the_guard_says_so(rooms: House) -> None:
    prepared(rooms.owners_url)
    execute(rooms.owners_url, "DROP TRIGGER game_events_append_only ON game_events")
    with capture_logs() as logged:
        prepared(rooms.owners_url)
    assert ["missing or disabled" in line["event"] for line in logged] == [True]


# What a role can put in the way of an owner who runs a server

LEFT_IN_THE_WAY: LiteralString = """
CREATE VIEW read_models.projection_positions AS SELECT ''::text AS name, 0::bigint AS position, 0 AS version;
GRANT ALL ON read_models.projection_positions TO PUBLIC;
CREATE FUNCTION read_models.mine() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN ALTER TABLE public.game_events DISABLE TRIGGER ALL; RETURN NULL; END $$;
CREATE TRIGGER mine INSTEAD OF INSERT ON read_models.projection_positions
    FOR EACH ROW EXECUTE FUNCTION read_models.mine();
"""


def test_nothing_that_the_servers_role_leaves_is_called_as_the_owner(rooms: House) -> None:
    rooms.init()
    execute(rooms.apps_url, LEFT_IN_THE_WAY)
    with pytest.raises(NotSetUp, match=rooms.app):
        begin_server(rooms.owners_url)
    with Datastore(rooms.owners_url, connections=1) as datastore, datastore.transaction() as cursor:
        assert standing(cursor).guarded


THINGS: dict[str, LiteralString] = {
    "a table": "CREATE TABLE read_models_rebuild.mine ()",
    "a view": "CREATE VIEW read_models.mine AS SELECT 1",
    "a view that keeps its rows": "CREATE MATERIALIZED VIEW read_models.mine AS SELECT 1",
    "a sequence": "CREATE SEQUENCE read_models.mine",
    "a function": "CREATE FUNCTION read_models.mine(\"a b\" integer) RETURNS void LANGUAGE sql AS ''",
    "a procedure": "CREATE PROCEDURE read_models.mine() LANGUAGE sql AS ''",
    "an aggregate": "CREATE AGGREGATE read_models.mine(bigint) (SFUNC = int8pl, STYPE = bigint)",
    "an operator": "CREATE OPERATOR read_models.= (LEFTARG = bigint, RIGHTARG = smallint, FUNCTION = int82eq)",
    "a prefix operator": "CREATE OPERATOR read_models.!! (RIGHTARG = bigint, FUNCTION = int8abs)",
    "a type": "CREATE TYPE read_models.mine AS ENUM ()",
    "a type of rows": 'CREATE TYPE read_models."my Rows" AS (one integer)',
    "a domain": "CREATE DOMAIN read_models.mine AS text",
    "a collation": 'CREATE COLLATION read_models.mine FROM "C"',
    "a search configuration": "CREATE TEXT SEARCH CONFIGURATION read_models.mine (COPY = simple)",
    "statistics": """
        CREATE TABLE read_models.mine (a int, b int);
        CREATE STATISTICS read_models.mine ON a, b FROM read_models.mine
    """,
    "a table in parts": "CREATE TABLE read_models.mine (a int) PARTITION BY LIST (a)",
}


@pytest.mark.parametrize("thing", THINGS.values(), ids=list(THINGS))
def test_an_owner_runs_no_server_where_another_role_has_left(thing: LiteralString, rooms: House) -> None:
    rooms.init()
    execute(rooms.apps_url, thing)
    revoke = SQL("REVOKE CREATE ON SCHEMA read_models, read_models_rebuild FROM {}").format(Identifier(rooms.app))
    with psycopg.connect(rooms.owners_url) as owner:
        owner.execute(revoke)
    assert f"belong to the role {rooms.app}" in refusal(rooms.owners_url)


def test_an_owner_runs_no_server_where_another_role_may_leave_something_at_any_time(rooms: House) -> None:
    rooms.init()
    assert f"belong to the role {rooms.app}" in refusal(rooms.owners_url)


def test_an_owner_runs_no_server_where_everyone_may_leave_something(rooms: House) -> None:
    begin_server(rooms.owners_url)
    execute(rooms.owners_url, "GRANT CREATE ON SCHEMA read_models TO PUBLIC")
    assert "REVOKE ALL ON SCHEMA read_models, read_models_rebuild FROM PUBLIC" in refusal(rooms.owners_url)


# Another role for servers


def take_over(rooms: House, role: str) -> database.AppRole:
    with Datastore(rooms.owners_url, connections=2) as datastore:
        return init(datastore, role, password=None, take_over=True)


def test_read_models_of_one_role_are_not_dropped_for_another_unasked(another: str, rooms: House) -> None:
    rooms.init()
    begin_server(rooms.apps_url)
    told = f"belong to the role {rooms.app}. With --take-over they are dropped"
    with Datastore(rooms.owners_url, connections=2) as datastore, pytest.raises(NotSetUp, match=told):
        init(datastore, another, password=None)
    assert execute(rooms.apps_url, "SELECT to_regclass('read_models.lobby_games')::text") == [
        ("read_models.lobby_games",)
    ]


def test_room_that_one_role_was_given_is_not_taken_for_another_unasked(another: str, rooms: House) -> None:
    rooms.init()
    with Datastore(rooms.owners_url, connections=2) as datastore, pytest.raises(NotSetUp, match=rooms.app):
        init(datastore, another, password=None)


def test_a_role_that_takes_over_runs_servers_and_the_one_before_it_does_not(another: str, rooms: House) -> None:
    rooms.init()
    begin_server(rooms.apps_url)
    done = take_over(rooms, another)
    assert (done.lacks, done.oversteps) == ([], [])
    begin_server(make_conninfo(rooms.admins_url, user=another, password="another"))
    assert "Missing: GRANT USAGE ON SCHEMA" in refusal(rooms.apps_url)


@pytest.mark.parametrize("thing", THINGS.values(), ids=list(THINGS))
def test_nothing_is_left_by_the_role_before_of(thing: LiteralString, another: str, rooms: House) -> None:
    rooms.init()
    execute(rooms.apps_url, thing)
    take_over(rooms, another)
    with Datastore(rooms.owners_url, connections=1) as datastore, datastore.transaction() as cursor:
        assert others_things(cursor, another) == []


def test_an_operator_says_so_by_an_option(another: str, rooms: House, tic: Callable[..., Result]) -> None:
    rooms.init()
    words = ("db", "init", "--app-role", another)
    assert (tic(rooms.owners_url, *words).exit_code, tic(rooms.owners_url, *words, "--take-over").exit_code) == (1, 0)


def test_where_someone_stays_in_the_read_models_nothing_is_taken_over(
    another: str, rooms: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LOCK_WAIT", "10ms")
    monkeypatch.setattr(tables, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(tables, "TRIES", 2)
    rooms.init()
    begin_server(rooms.apps_url)
    with psycopg.connect(rooms.apps_url, application_name="a long dump") as stays:
        stays.execute("SELECT FROM read_models.lobby_games")
        with pytest.raises(TablesHeld, match=f"held by a long dump .role {rooms.app}"):
            take_over(rooms, another)
    begin_server(rooms.apps_url)


def test_a_server_that_can_not_start_says_why_in_a_sentence(
    rooms: House, admin: psycopg.Connection, key_file: Path
) -> None:
    create_role(admin, rooms.app)
    settings = environment(DATABASE_URL=rooms.apps_url, TIC_SERVER_KEY_FILE=str(key_file))
    done = subprocess.run(
        [TIC, "serve", "--port", "0"], capture_output=True, text=True, env=settings, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tic: The database")
    assert len(done.stderr.splitlines()) == 1


# An owner who needs no set-up


def test_an_owners_server_makes_what_is_missing(rooms: House) -> None:
    prepared(rooms.owners_url)
    execute(rooms.owners_url, "DROP TABLE outages", "ALTER TABLE game_events DISABLE TRIGGER USER")
    prepared(rooms.owners_url)
    with Datastore(rooms.owners_url, connections=1) as datastore, datastore.transaction() as cursor:
        assert standing(cursor).up_to_date


def test_what_a_newer_program_sets_up_meanwhile_is_left_as_it_is(rooms: House) -> None:
    prepared(rooms.owners_url)
    execute(rooms.owners_url, "DROP TABLE schema_steps")
    with ThreadPoolExecutor(1) as pool, psycopg.connect(rooms.owners_url) as newer:
        newer.execute("SELECT pg_advisory_xact_lock(hashtext('tic schema'))")
        older = pool.submit(refusal, rooms.owners_url)
        until(lambda: waits_for_its_turn(rooms))
        newer.execute("COMMENT ON TABLE game_events IS 'set-up 99'")
        newer.commit()
        assert "set up by a newer program" in older.result(20)
    assert execute(rooms.owners_url, "SELECT obj_description('game_events'::regclass, 'pg_class')") == [("set-up 99",)]


def waits_for_its_turn(rooms: House) -> bool:
    query: LiteralString = """
        SELECT count(*) FROM pg_locks
         WHERE locktype = 'advisory' AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
    return execute(rooms.owners_url, query) == [(1,)]


def test_an_owners_server_starts_while_another_writes(rooms: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrading, "LOCK_WAIT", "10ms")
    prepared(rooms.owners_url)
    with psycopg.connect(rooms.owners_url) as writer:
        writer.execute("LOCK TABLE game_events IN ROW EXCLUSIVE MODE")  # what an append takes
        prepared(rooms.owners_url)


def test_what_would_hold_up_writers_is_given_up(rooms: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrading, "LOCK_WAIT", "10ms")
    monkeypatch.setattr(upgrading, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(upgrading, "TRIES", 2)
    prepared(rooms.owners_url)
    execute(rooms.owners_url, "ALTER TABLE game_events DISABLE TRIGGER USER")
    with psycopg.connect(rooms.owners_url) as writer:
        writer.execute("LOCK TABLE game_events IN ROW EXCLUSIVE MODE")
        with pytest.raises(NotSetUp, match="Try again in a moment"):
            prepared(rooms.owners_url)


FIRST: tuple[LiteralString, ...] = (
    """
    CREATE TABLE game_events (
        originator_id uuid NOT NULL,
        originator_version bigint NOT NULL,
        topic text,
        state bytea,
        notification_id bigserial,
        PRIMARY KEY (originator_id, originator_version)
    )
    """,
    """
    CREATE FUNCTION append_events(games uuid[], versions bigint[], topics text[], states bytea[])
    RETURNS SETOF bigint LANGUAGE sql AS 'SELECT 1::bigint'
    """,
    "INSERT INTO game_events VALUES ('00000000-0000-0000-0000-000000000001', 1, 'test', '{}')",
    "CREATE TABLE lobby_games (game uuid)",
    "CREATE TABLE projection_positions (name text)",
)
"""Of a database as version 0.1.0 first made it."""


def test_a_database_of_the_first_program_is_guarded_and_keeps_its_events(rooms: House) -> None:
    execute(rooms.owners_url, *FIRST)
    rooms.init()
    assert execute(rooms.apps_url, "SELECT seq, type FROM game_log") == [(1, "test")]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        execute(rooms.owners_url, "DELETE FROM game_events")


def test_a_database_of_the_first_program_loses_what_nothing_needs(rooms: House) -> None:
    execute(rooms.owners_url, *FIRST)
    rooms.init()
    query: LiteralString = """
        SELECT to_regprocedure('append_events(uuid[], bigint[], text[], bytea[])'),
               to_regclass('lobby_games'), to_regclass('projection_positions')
    """
    assert execute(rooms.owners_url, query) == [(None, None, None)]


# tic db check


def test_a_role_that_may_do_too_much_is_found_out(rooms: House, tic: Callable[..., Result]) -> None:
    rooms.init()
    execute(rooms.owners_url, "GRANT TRUNCATE ON players TO PUBLIC")
    done = tic(rooms.apps_url, "db", "check")
    assert done.exit_code == 1
    assert 'REVOKE TRUNCATE ON "public"."players"' in done.stderr


def test_an_owner_is_told_that_the_log_depends_on_him(rooms: House, tic: Callable[..., Result]) -> None:
    rooms.init()
    done = tic(rooms.owners_url, "db", "check")
    assert done.exit_code == 1
    assert "owns the log" in done.stderr


def test_looking_makes_nothing(rooms: House) -> None:
    with Datastore(rooms.owners_url, connections=1) as datastore, pytest.raises(NotSetUp):
        check(datastore)
    assert execute(rooms.owners_url, "SELECT to_regclass('game_events')") == [(None,)]


# tic db init, as it is called


def test_the_embedded_database_needs_no_roles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("TIC_FOLDER", str(tmp_path / "tic"))
    done = CliRunner().invoke(cli.app, ["db", "init", "--app-role", "tic_app"])
    assert (done.exit_code, (tmp_path / "tic").exists()) == (1, False)


@pytest.mark.parametrize("text", ["", "\n", "two\nlines\n"])
def test_a_password_file_holds_a_line(text: str, rooms: House, tic: Callable[..., Result], password_file: Path) -> None:
    password_file.write_text(text)
    words = ("db", "init", "--app-role", rooms.app, "--app-password-file", str(password_file))
    done = tic(rooms.owners_url, *words)
    assert done.exit_code == 1
    assert "must hold one line" in done.stderr


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://own:geheim@db.example.org/tic", "postgresql://app@db.example.org/tic"),
        ("postgresql://own:geheim@db:6432/tic?sslmode=verify-full", "postgresql://app@db:6432/tic?sslmode=verify-full"),
        ("host=db user=own password=geheim sslpassword=geheim", "postgresql://app@db/tic"),
        ("postgresql://own@/x?host=/run/pg&port=5433", "postgresql://app@/tic?host=%2Frun%2Fpg&port=5433"),
        ("postgresql://own:geheim@a:1,b:2/tic", "postgresql://app@/tic?host=a%2Cb&port=1%2C2"),
        ("postgresql:///x", "postgresql://app@/tic"),
    ],
)
def test_the_url_for_servers_is_the_owners_with_another_role_and_no_secret(url: str, told: str) -> None:
    assert url_as(url, "app", database="tic") == told


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("postgresql://own:p@ss@db/tic", True),
        ("postgresql://own:p@ss:word@db/tic", True),
        ("postgresql://own:p@s,s@db:5432/tic", True),
        ("postgresql://own:p@s/s@db/tic", True),
        ("postgresql://own:p/ss@db/tic", True),
        ("postgresql://own:12/34@db/tic", True),
        ("postgresql://db:word/tic", True),
        ("postgresql://own:p%40ss%2F@db/tic", False),
        ("postgresql://own:p?s#s@db/t%40c", False),
        ("postgresql://own@a:1,b:2/tic?user=own@example.org", False),
        ("postgresql:///tic", False),
        ("host=db user=own@db password=p@ss", False),
        ("host=db password='p://s@s'", False),
    ],
)
def test_a_password_that_is_taken_apart_with_the_url_is_noticed(url: str, may: bool) -> None:
    assert may_show_password(url) is may
