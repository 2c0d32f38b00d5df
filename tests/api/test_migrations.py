"""The steps by which the tables grow: each once, by their owner, while servers of several programs run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from typer.testing import CliRunner, Result

from api import cli, migrations, privileges, upgrading
from api.database import NotSetUp, prepare
from api.migrations import STEPS, Step, statements
from api.privileges import Grant
from api.upgrading import migrate
from domain import log_tables
from domain.storage import Datastore
from tests.api.roles import House, house
from tests.projections.shown import until

LANDED = {
    1: "a8ff670997e0b1417801bc87c3b32567da6fb20ee7f18a388bcb3a74b11919b0",
}
"""The digest of each step that is in a database somewhere. A line is added with a step, and never changed."""

WIDER = Step(2, "players have a colour", statements("ALTER TABLE players ADD COLUMN IF NOT EXISTS colour text"))
BESIDE = Step(3, "a table of friends", statements("CREATE TABLE IF NOT EXISTS public.friends (a uuid, b uuid)"))
NARROWER = Step(
    4, "players have no colour", statements("ALTER TABLE players DROP COLUMN IF EXISTS colour"), needs_program=3
)
BROKEN = Step(3, "a mistake", statements("CREATE TABLE public.friends ()", "SELECT FROM nowhere"))


@pytest.fixture
def rooms(admin: psycopg.Connection, postgres: str) -> Iterator[House]:
    """A database as this program sets it up, and its two roles."""
    with house(admin, postgres) as made:
        made.init()
        yield made


Knows = Callable[..., None]


@pytest.fixture
def knows(monkeypatch: pytest.MonkeyPatch) -> Knows:
    """Has this program know these steps after those that it knows."""

    def know(*further: Step) -> None:
        monkeypatch.setattr(migrations, "STEPS", (*STEPS, *further))

    return know


def migrated(url: str, *, contract: bool = False) -> tuple[list[int], list[int]]:
    """The numbers of the steps that are taken now, and of those that are left."""
    with Datastore(url, connections=2) as datastore:
        taken, left = migrate(datastore, contract=contract)
    return [step.number for step in taken], [step.number for step in left]


def begun(url: str) -> None:
    """Do with the tables what a server does when it starts."""
    with Datastore(url, connections=2) as datastore:
        prepare(datastore)


def refusal(url: str) -> str:
    with pytest.raises(NotSetUp) as refused:
        begun(url)
    return str(refused.value)


def execute(url: str, *queries: LiteralString) -> list[Any]:
    """Run statements; return the rows of the last one."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for query in queries:
            cursor.execute(query)
        return cursor.fetchall() if cursor.description else []


def noted(rooms: House) -> list[int]:
    """The steps that the database has."""
    return [number for (number,) in execute(rooms.owners_url, "SELECT number FROM schema_steps ORDER BY number")]


def columns(rooms: House) -> set[str]:
    query: LiteralString = "SELECT attname FROM pg_attribute WHERE attrelid = 'players'::regclass AND attnum > 0"
    return {name for (name,) in execute(rooms.owners_url, query)}


# The steps of this program


def test_no_step_that_has_landed_was_edited() -> None:
    """Where this fails, put the step back as it was, and let a new one make the change."""
    assert {step.number: step.checksum for step in STEPS} == LANDED


def test_steps_are_numbered_from_1_and_each_runs_on_the_program_that_brings_it() -> None:
    assert [step.number for step in STEPS] == list(range(1, len(STEPS) + 1))
    assert all(1 <= step.needs_program <= step.number for step in STEPS)


def test_a_new_database_has_every_step_with_the_program_that_took_it(rooms: House) -> None:
    query: LiteralString = "SELECT number, name, checksum, needs_program, program FROM schema_steps ORDER BY number"
    program = version("tic-server")
    expected = [(step.number, step.name, step.checksum, step.needs_program, program) for step in STEPS]
    assert execute(rooms.apps_url, query) == expected


# A database from before there were steps


@pytest.fixture
def earlier(rooms: House) -> House:
    """A database as it was set up before steps were noted."""
    execute(rooms.owners_url, "DROP TABLE schema_steps")
    return rooms


def test_a_database_from_before_is_taken_over_and_its_first_step_is_what_stands_there(earlier: House) -> None:
    assert "Run `tic db migrate` with the DATABASE_URL of tic_owner" in refusal(earlier.apps_url)
    assert migrated(earlier.owners_url) == ([1], [])
    begun(earlier.apps_url)


def test_nothing_that_writers_hold_is_made_anew_by_taking_over(earlier: House, impatient: None) -> None:
    with psycopg.connect(earlier.apps_url) as writer:
        writer.execute("SELECT public.append_events('{}', '{}', '{}', '{}', '{}')")  # and not committed
        assert migrated(earlier.owners_url) == ([1], [])


def test_an_owners_server_takes_it_over_by_itself(earlier: House) -> None:
    execute(earlier.owners_url, "DROP SCHEMA read_models, read_models_rebuild CASCADE")
    begun(earlier.owners_url)
    assert noted(earlier) == [1]


def test_a_step_that_was_lost_with_a_table_is_made(earlier: House) -> None:
    execute(earlier.owners_url, "DROP TABLE outages", "DROP TRIGGER game_events_append_only ON game_events")
    assert migrated(earlier.owners_url) == ([1], [])
    begun(earlier.apps_url)


# Taking steps


def test_steps_are_taken_in_their_order_each_once(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE)
    assert migrated(rooms.owners_url) == ([2, 3], [])
    assert migrated(rooms.owners_url) == ([], [])
    assert noted(rooms) == [1, 2, 3]


def test_of_several_that_take_steps_at_once_each_step_is_taken_by_one(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE)
    with psycopg.connect(rooms.owners_url) as first, ThreadPoolExecutor(3) as pool:
        first.execute("SELECT pg_advisory_xact_lock(hashtext('tic schema'))")
        others = [pool.submit(migrated, rooms.owners_url) for _ in range(3)]
        until(lambda: waiting(rooms) == 3)
        first.commit()
        assert [left for _, left in (other.result(20) for other in others)] == [[], [], []]
    assert noted(rooms) == [1, 2, 3]


def waiting(rooms: House) -> int:
    query: LiteralString = """
        SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
    return int(execute(rooms.owners_url, query)[0][0])


def test_a_step_that_fails_leaves_nothing_of_itself_and_those_before_it_stay(rooms: House, knows: Knows) -> None:
    knows(WIDER, BROKEN)
    with pytest.raises(Exception, match="nowhere"):
        migrated(rooms.owners_url)
    assert noted(rooms) == [1, 2]
    assert execute(rooms.owners_url, "SELECT to_regclass('friends')") == [(None,)]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes steps gives up at once."""
    monkeypatch.setattr(upgrading, "LOCK_WAIT", "10ms")
    monkeypatch.setattr(upgrading, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(upgrading, "TRIES", 2)


def test_a_step_does_not_stop_those_who_hold_its_table_and_is_taken_when_they_are_gone(
    rooms: House, knows: Knows, impatient: None
) -> None:
    knows(WIDER)
    with psycopg.connect(rooms.apps_url) as server:
        server.execute("SELECT FROM players")
        with pytest.raises(NotSetUp, match="others hold its tables"):
            migrated(rooms.owners_url)
        server.execute("INSERT INTO players (id, name) VALUES (gen_random_uuid(), 'Ada')")
    assert migrated(rooms.owners_url) == ([2], [])


def test_servers_are_given_what_they_need_of_a_new_table_and_keep_what_they_have(
    rooms: House, knows: Knows, monkeypatch: pytest.MonkeyPatch
) -> None:
    knows(WIDER, BESIDE)
    fewer = tuple(grant for grant in privileges.GRANTS if grant.table != "outages")  # the newer program needs these not
    monkeypatch.setattr(privileges, "GRANTS", (*fewer, Grant("friends", "SELECT"), Grant("friends", "INSERT", ("a",))))
    migrated(rooms.owners_url)
    execute(rooms.apps_url, "INSERT INTO friends (a) VALUES (gen_random_uuid())", "SELECT FROM friends")
    execute(rooms.apps_url, "SELECT FROM outages")


def test_only_the_owner_takes_steps(rooms: House, knows: Knows) -> None:
    knows(WIDER)
    with pytest.raises(NotSetUp, match=f"belongs to {rooms.owner}"):
        migrated(rooms.apps_url)


def test_setting_up_again_takes_them_too(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE)
    rooms.init()
    assert noted(rooms) == [1, 2, 3]


def test_a_table_that_was_lost_is_made_as_the_last_step_has_it(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE)
    migrated(rooms.owners_url)
    execute(rooms.owners_url, "DROP TABLE tokens, players")
    assert migrated(rooms.owners_url) == ([], [])
    assert "colour" in columns(rooms)


# Programs side by side


def test_a_server_waits_for_the_steps_that_it_needs_and_makes_none(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE)
    said = refusal(rooms.apps_url)
    assert "has yet to be taken to step 2 (players have a colour), 3 (a table of friends)" in said
    assert f"Run `tic db migrate` with the DATABASE_URL of {rooms.owner}" in said
    assert noted(rooms) == [1]


def test_an_older_program_runs_on_steps_that_it_does_not_know(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE)
    migrated(rooms.owners_url)
    knows()
    begun(rooms.apps_url)


def test_what_takes_something_away_is_left_until_it_is_asked_for(rooms: House, knows: Knows) -> None:
    knows(WIDER, BESIDE, NARROWER)
    assert migrated(rooms.owners_url) == ([2, 3], [4])
    begun(rooms.apps_url)  # the program that brings it does without it as well
    assert migrated(rooms.owners_url, contract=True) == ([4], [])
    assert "colour" not in columns(rooms)


@pytest.mark.parametrize(
    ("known", "runs"), [((WIDER,), False), ((WIDER, BESIDE), True), ((WIDER, BESIDE, NARROWER), True)]
)
def test_after_that_a_program_needs_to_know_so_many_steps(
    rooms: House, knows: Knows, known: tuple[Step, ...], runs: bool
) -> None:
    knows(WIDER, BESIDE, NARROWER)
    migrated(rooms.owners_url, contract=True)
    knows(*known)
    if runs:
        begun(rooms.apps_url)
    else:
        told = "newer program (step 4, players have no colour, of program 0.1.0), and this one, which knows 2 steps"
        assert told in refusal(rooms.apps_url)


def test_programs_from_before_there_were_steps_are_told_as_they_understand_it(rooms: House, knows: Knows) -> None:
    note: LiteralString = (
        "SELECT substring(obj_description('game_events'::regclass, 'pg_class') FROM 'set-up ([0-9]+)')"
    )
    knows(WIDER, BESIDE, NARROWER)
    migrated(rooms.owners_url)
    assert execute(rooms.owners_url, note) == [("1",)]
    migrated(rooms.owners_url, contract=True)
    assert execute(rooms.owners_url, note) == [("3",)]


def test_an_older_program_makes_nothing_anew_of_what_a_newer_one_has_set_up(rooms: House, knows: Knows) -> None:
    knows(WIDER)
    migrated(rooms.owners_url)
    execute(rooms.owners_url, "DROP TABLE tokens, players")
    knows()
    with pytest.raises(NotSetUp, match="lacks players, tokens, and a newer program was here: start that one"):
        migrated(rooms.owners_url)


def test_a_step_of_the_same_number_that_is_another_one_is_found_out(rooms: House, knows: Knows) -> None:
    knows(WIDER)
    migrated(rooms.owners_url)
    knows(Step(2, "something else", statements("SELECT 1")))
    assert "Step 2" in refusal(rooms.apps_url)
    with pytest.raises(NotSetUp, match="is not the one that this program knows"):
        migrated(rooms.owners_url)


def test_what_would_be_made_is_told_apart_from_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = STEPS[0].checksum
    monkeypatch.setattr(log_tables, "APPEND_FUNCTION", "SELECT 'another function'")
    assert STEPS[0].checksum != before


# tic db migrate


@pytest.fixture
def tic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Runs a command with a DATABASE_URL."""

    def run(url: str, *words: str) -> Result:
        monkeypatch.setenv("DATABASE_URL", url)
        return CliRunner().invoke(cli.app, ["db", *words])

    return run


def test_an_operator_is_told_what_was_done_and_what_is_left(
    rooms: House, knows: Knows, tic: Callable[..., Result]
) -> None:
    knows(WIDER, BESIDE, NARROWER)
    done = tic(rooms.owners_url, "migrate")
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "Step 2 was taken: players have a colour.",
        "Step 3 was taken: a table of friends.",
        "Step 4 is to be taken: players have no colour. Older servers can't run on it: those that know fewer than 3.",
        "Once no such server runs: tic db migrate --contract",
    ]
    assert "Step 4 was taken" in tic(rooms.owners_url, "migrate", "--contract").stderr
    assert tic(rooms.owners_url, "migrate").stderr == "All steps were taken: there is nothing to do.\n"


def test_an_operator_may_look_first(rooms: House, knows: Knows, tic: Callable[..., Result]) -> None:
    knows(WIDER)
    done = tic(rooms.apps_url, "migrate", "--dry-run")
    assert (done.exit_code, done.stderr) == (0, "Step 2 is to be taken: players have a colour.\n")
    assert noted(rooms) == [1]


def test_a_database_that_was_never_set_up_is_told_so(admin: psycopg.Connection, postgres: str) -> None:
    with house(admin, postgres) as empty, pytest.raises(NotSetUp, match=r"There is no log .* `tic db init"):
        migrated(empty.owners_url)
