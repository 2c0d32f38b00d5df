"""What the database takes, as `tic db size` tells it."""

from __future__ import annotations

import psycopg
import pytest
from typer.testing import CliRunner

from api import cli
from api.sizes import Part, measured
from domain.storage import Datastore
from projections.models import PROJECTIONS
from projections.runner import Follower
from tests.projections.finished import some_finished_games


@pytest.fixture
def filled(datastore: Datastore, database_url: str) -> tuple[int, int]:
    """A log with its read models, whose rows were just counted: how many games it has, and events."""
    some_finished_games(datastore)
    for projection in PROJECTIONS.values():
        follower = Follower(datastore, projection)
        while follower.step():
            pass
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        row = connection.execute("SELECT count(DISTINCT game), count(*) FROM game_log").fetchone()
    assert row is not None
    return row


def test_everything_that_grows_is_told_and_comes_to_what_the_database_says(
    filled: tuple[int, int], datastore: Datastore, database_url: str
) -> None:
    sizes = measured(datastore)
    assert (sizes.games, sizes.events) == filled
    assert sizes.parts[0].rows == sizes.events
    with psycopg.connect(database_url) as connection:
        query = """
            SELECT sum(pg_total_relation_size(oid)) FROM pg_class
             WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'read_models'::regnamespace)
               AND relname NOT IN ('heartbeat', 'outages', 'schema_steps', 'projection_positions')
        """
        assert connection.execute(query).fetchone() == (sizes.total.size,)


def test_each_read_model_has_a_line_with_its_rows(filled: tuple[int, int], datastore: Datastore) -> None:
    rows = {part.name: part.rows for part in measured(datastore).parts}
    assert {f"read model {name}" for name in PROJECTIONS} < rows.keys()
    assert (rows["read model lobby"] or 0) > filled[0]


@pytest.mark.usefixtures("filled")
def test_an_operator_is_told_by_event_and_game_and_what_a_year_takes(
    database_url: str, monkeypatch: pytest.MonkeyPatch, datastore: Datastore
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    done = CliRunner().invoke(cli.app, ["db", "size", "--games-a-year", "1000000"])
    assert done.exit_code == 0, done.output
    heading, *lines = [line for line in done.output.splitlines() if line][1:]
    assert heading.split() == ["rows", "MB", "bytes/event", "bytes/game", "MB", "in", "a", "year"]
    sizes = measured(datastore)
    *_, by_event, by_game, a_year = lines[-1].split()
    total: Part = sizes.total
    assert lines[-1].startswith("all of it")
    assert [int(by_event), int(by_game), int(a_year)] == [
        round(total.size / sizes.events),
        round(total.size / sizes.games),
        round(total.size / sizes.games),
    ]


def test_an_empty_log_is_told_as_well(datastore: Datastore) -> None:
    sizes = measured(datastore)
    assert (sizes.games, sizes.events, sizes.events_a_game) == (0, 0, 0)
