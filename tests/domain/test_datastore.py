"""Connections: opened so that the log keeps its promises, whatever the database or the URL has for defaults."""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.connection import wait
from typing import LiteralString

import psycopg
import pytest
from eventsourcing.persistence import OperationalError
from psycopg.conninfo import make_conninfo

from domain.storage import Datastore


def set_default(database_url: str, name: str, value: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        database = connection.info.dbname
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")


def shown(datastore: Datastore, name: str) -> str:
    (row,) = datastore.read("SELECT current_setting(%s) AS value", (name,))
    return str(row["value"])


@pytest.mark.parametrize(
    ("name", "default", "ours"),
    [
        pytest.param("default_transaction_isolation", "repeatable read", "read committed", id="isolation"),
        pytest.param("synchronous_commit", "off", "on", id="commits that are not on disk"),
        pytest.param("synchronous_commit", "remote_apply", "remote_apply", id="commits that are on another disk too"),
    ],
)
def test_a_default_of_the_database_takes_no_promise_away(database_url: str, name: str, default: str, ours: str) -> None:
    set_default(database_url, name, default)
    with Datastore(database_url) as datastore:
        assert shown(datastore, name) == ours


def test_a_machine_that_has_vanished_is_noticed_unless_the_url_says_otherwise(database_url: str) -> None:
    with Datastore(database_url) as datastore, datastore.get_connection() as connection:
        assert connection.info.get_parameters()["tcp_user_timeout"] == "10000"
        assert connection.info.get_parameters()["keepalives_idle"] == "10"
    patient = make_conninfo(database_url, tcp_user_timeout=60_000, application_name="a patient one")
    with Datastore(patient) as datastore, datastore.get_connection() as connection:
        assert connection.info.get_parameters()["tcp_user_timeout"] == "60000"
        assert connection.info.get_parameters()["keepalives_idle"] == "10"
        assert connection.info.get_parameters()["application_name"] == "a patient one"


WRITE: LiteralString = "DELETE FROM sealed_seeds RETURNING deal"


def test_a_database_that_was_read_only_for_a_while_is_written_again(database_url: str) -> None:
    set_default(database_url, "default_transaction_read_only", "on")
    with Datastore(database_url, connections=1) as datastore:
        with pytest.raises(OperationalError):  # it is away, and not broken
            datastore.read(WRITE, ())
        set_default(database_url, "default_transaction_read_only", "off")
        with suppress(OperationalError):
            datastore.read(WRITE, ())  # on a connection that was opened before that, perhaps
        assert datastore.read(WRITE, ()) == []


def test_a_connection_whose_transaction_has_slept_too_long_is_away_and_not_broken(datastore: Datastore) -> None:
    def sleep_too_long() -> None:
        with datastore.transaction() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = 1")
            wait([cursor.connection.fileno()], timeout=10)  # until the database says that it is over
            cursor.execute("SELECT 1")

    with pytest.raises(OperationalError):
        sleep_too_long()
