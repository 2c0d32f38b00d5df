"""The database's two addresses, as settings have them; what pgbouncer does to them is in tests/faults."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from api.addresses import AddressError, check_pooler, must_not_be_pooled
from api.settings import Settings, SettingsError
from tests.conftest import url_of

POOLER = "postgresql://tic:geheim@pooler:6432/tic"
DIRECT = "postgresql://tic:geheim@db:5432/tic"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)


def test_one_address_is_the_database_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", DIRECT)
    settings = Settings.load()
    assert settings.pooler is None
    with settings.database() as url:
        assert url == DIRECT


def test_of_two_addresses_one_leads_through_the_pooler_and_the_other_past_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", POOLER)
    monkeypatch.setenv("DATABASE_DIRECT_URL", DIRECT)
    settings = Settings.load()
    assert settings.pooler == POOLER
    with settings.database() as url:
        assert url == DIRECT


def test_the_address_past_the_pooler_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{DIRECT}\n")
    monkeypatch.setenv("DATABASE_URL", POOLER)
    monkeypatch.setenv("DATABASE_DIRECT_URL_FILE", str(tmp_path / "url"))
    with Settings.load().database() as url:
        assert url == DIRECT


def test_an_address_past_nothing_is_refused_without_being_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_DIRECT_URL", DIRECT)
    with pytest.raises(SettingsError, match="DATABASE_DIRECT_URL is set, and DATABASE_URL is not") as refused:
        Settings.load()
    assert "geheim" not in str(refused.value)


def test_a_database_without_a_pooler_is_told_as_such(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        must_not_be_pooled(connection, "DATABASE_URL")


def test_two_databases_are_told_apart(database_url: str, postgres: str) -> None:
    with pytest.raises(AddressError, match="must lead to the same database on the same server, as the same role"):
        check_pooler(url_of(postgres, "postgres"), database_url)


def test_a_pooler_that_is_not_there_is_told_as_such(database_url: str) -> None:
    with pytest.raises(AddressError, match="the pooler of DATABASE_URL does not do"):
        check_pooler("host=/nowhere", database_url)
