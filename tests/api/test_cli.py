"""The command line, as an operator uses it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest
from typer.testing import CliRunner, Result

from api import cli
from api.accounts import MOST_TOKENS, Accounts, Scope, token_id
from api.settings import KEY_FILE, KeyFile, Settings, SettingsError
from domain.application import Games
from domain.catalogue import catalogue
from domain.storage import Datastore
from domain.ticitaire.rules import OpenTicitaire
from domain.vault import Keyring, Vault
from tests.conftest import KEYRING
from tests.server import TIC, environment, serving

ADA = UUID(int=1)

Run = Callable[..., Result]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "server.key"
    path.write_text(KEYRING.write())
    return path


@pytest.fixture
def tic(database_url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on this test's database."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("TIC_SERVER_KEY_FILE", str(key_file))
    return lambda *words: CliRunner().invoke(cli.app, words)


def fails(*words: str, **settings: str) -> str:
    """Run a command that must fail; return what it said."""
    done = subprocess.run([TIC, *words], capture_output=True, text=True, env=environment(**settings), check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


# serve


def test_the_server_says_where_it_listens_and_stops_when_it_is_asked(database_url: str, key_file: Path) -> None:
    with serving({"DATABASE_URL": database_url, "TIC_SERVER_KEY_FILE": str(key_file)}) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/graphql", server.url)
        assert server.stop() == 0


def test_an_open_event_stream_does_not_hold_up_a_server_that_stops(database_url: str, key_file: Path) -> None:
    with serving({"DATABASE_URL": database_url, "TIC_SERVER_KEY_FILE": str(key_file)}) as server:
        stream = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        opening = 'mutation { registerPlayer(input: {name: "A"}) { ... on PlayerRegistered { token } } }'
        token = httpx.post(server.url, json={"query": opening}).json()["data"]["registerPlayer"]["token"]
        opening = "mutation { openTicitaire(input: {}) { ... on CommandAccepted { game { id } } } }"
        bearer = {"Authorization": f"Bearer {token}"}
        opened = httpx.post(server.url, json={"query": opening}, headers=bearer).json()["data"]["openTicitaire"]
        following = f'subscription {{ gameEvents(gameId: "{opened["game"]["id"]}") {{ seq }} }}'
        with httpx.stream("POST", server.url, json={"query": following}, headers=stream) as answer:
            lines = answer.iter_lines()
            assert any(line == "event: next" for line in lines)
            server.process.send_signal(signal.SIGTERM)
            assert any("The server is stopping" in line for line in lines)
        assert server.process.wait(4) == 0


def test_a_server_that_is_given_a_database_must_be_given_its_key(database_url: str) -> None:
    assert "tic key new > server.key" in fails("serve", DATABASE_URL=database_url)


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path, database_url: str) -> None:
    said = fails("serve", DATABASE_URL=database_url, TIC_SERVER_KEY_FILE=str(tmp_path / "none"))
    assert "There is no key file" in said


def test_a_database_that_can_not_be_reached_is_said_without_its_password() -> None:
    url = "postgresql://tic:geheim@127.0.0.1:1/tic"
    said = fails("player", "erase", str(ADA), DATABASE_URL=url)
    assert "can't be reached" in said
    assert "geheim" not in said


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("TIC_PORT", "eighty", "TIC_PORT: Input should be a valid integer"),
        ("TIC_LOG_FORMAT", "xml", "TIC_LOG_FORMAT: Input should be 'console' or 'json'"),
        ("TIC_CORS_ORIGINS", "https://example.org", "lists are written as JSON"),
        ("DATABASE_URL", "mysql://tic:geheim@x/y", "DATABASE_URL is not a PostgreSQL URL"),
        ("DATABASE_URL", "postgresql://tic:geheim@127.0.0.1:1/tic", "Connection refused"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(setting: str, value: str, named: str, key_file: Path) -> None:
    said = fails("serve", "--port", "0", **{"TIC_SERVER_KEY_FILE": str(key_file), setting: value})
    assert named in said
    assert "geheim" not in said


def test_a_port_that_is_taken_is_said_before_a_database_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = fails("serve", "--port", port, TIC_FOLDER=str(tmp_path / "tic"))
    assert f"can't listen on 127.0.0.1, port {port}" in said
    assert not (tmp_path / "tic").exists()


@pytest.mark.parametrize("words", [("key", "list"), ("key", "rotate"), ("project", "rebuild", "lobby")])
def test_no_command_but_serve_makes_a_server_where_none_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "There is no server in" in fails(*words, TIC_FOLDER=str(tmp_path / "tic"))
    assert not (tmp_path / "tic").exists()


# key


def test_a_new_key_fits_a_key_file() -> None:
    printed = CliRunner().invoke(cli.app, ["key", "new"]).stdout
    assert len(Keyring.parse(printed).keys) == 1


def test_keys_are_listed_by_their_ids_alone(tic: Run) -> None:
    listed = tic("key", "list").stdout
    assert listed.split() == [KEYRING.current.id]


def test_a_rotation_seals_with_a_new_key_and_keeps_the_old_one(tic: Run, games: Games, key_file: Path) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    assert tic("key", "rotate").exit_code == 0
    keyring = Keyring.parse(key_file.read_text())
    assert [key.id for key in keyring.keys][1:] == [KEYRING.current.id]


def test_pruning_drops_the_old_keys_when_nothing_needs_them(
    tic: Run, games: Games, key_file: Path, database_url: str
) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    tic("key", "rotate")
    assert tic("key", "prune").exit_code == 0
    (key,) = Keyring.parse(key_file.read_text()).keys
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT DISTINCT key_id FROM sealed_seeds").fetchall() == [(key.id,)]


def test_a_running_server_follows_a_rotation_and_a_pruning(tic: Run, datastore: Datastore, key_file: Path) -> None:
    vault = Vault(datastore, KeyFile(Settings(server_key_file=key_file)))
    deal = UUID(int=7)
    seeds = vault.draw(deal, 1)
    tic("key", "rotate")
    tic("key", "prune")
    assert vault.open(deal) == seeds
    assert [vault.keyring.current.id] == [key.id for key in Keyring.parse(key_file.read_text()).keys]


def test_a_server_goes_on_with_its_keys_while_the_file_is_unreadable(key_file: Path) -> None:
    keys = KeyFile(Settings(server_key_file=key_file))
    key_file.write_text("not a key")
    assert keys().current.id == KEYRING.current.id
    key_file.unlink()
    assert keys().current.id == KEYRING.current.id


def test_the_embedded_databases_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path / "tic", database_url=None, server_key_file=None)
    first, again = settings.keyring(create=True), settings.keyring(create=True)
    assert first.current.id == again.current.id
    assert (tmp_path / "tic" / KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_a_key_file_with_something_else_in_it_is_refused_without_repeating_it(tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    path.write_text("not a key")
    settings = Settings(server_key_file=path)
    with pytest.raises(SettingsError) as refused:
        settings.keyring()
    assert "not a key" not in str(refused.value)


# token, player


def test_a_granted_token_has_the_scopes_that_were_named(tic: Run, datastore: Datastore) -> None:
    accounts = Accounts(datastore)
    player, _ = accounts.register("Ada")
    token = tic("token", "grant", str(player.id), "--scope", "audit", "--scope", "organise").stdout.strip()
    caller = accounts.authenticate(token)
    assert caller is not None
    assert caller.scopes == {Scope.AUDIT, Scope.ORGANISE}


def test_an_operator_finds_a_player_and_the_tokens_by_name(tic: Run, datastore: Datastore) -> None:
    player, token = Accounts(datastore).register("Ada Lovelace")
    assert str(player.id) in tic("player", "find", "ada").stdout
    assert tic("player", "find", "lovelace").stdout == ""
    assert token_id(token) in tic("token", "list", str(player.id)).stdout


def test_no_player_has_more_tokens_than_one_may_have(tic: Run, datastore: Datastore) -> None:
    accounts = Accounts(datastore)
    player, _ = accounts.register("Ada")
    for _ in range(MOST_TOKENS - 1):
        accounts.issue(player.id, [Scope.PLAY])
    assert tic("token", "grant", str(player.id), "--scope", "audit").exit_code == 1


def test_no_token_is_granted_to_a_player_who_is_not_there(tic: Run) -> None:
    assert tic("token", "grant", str(ADA), "--scope", "audit").exit_code == 1


def test_a_revoked_token_stands_for_nobody(tic: Run, datastore: Datastore) -> None:
    accounts = Accounts(datastore)
    _, token = accounts.register("Ada")
    caller = accounts.authenticate(token)
    assert caller is not None
    assert tic("token", "revoke", caller.token_id).exit_code == 0
    assert accounts.authenticate(token) is None
    assert tic("token", "revoke", caller.token_id).exit_code == 1


def test_an_erased_player_leaves_neither_name_nor_token(tic: Run, datastore: Datastore) -> None:
    accounts = Accounts(datastore)
    player, token = accounts.register("Ada")
    assert tic("player", "erase", str(player.id)).exit_code == 0
    assert accounts.players([player.id]) == {}
    assert accounts.authenticate(token) is None
    assert tic("player", "erase", str(player.id)).exit_code == 1


@pytest.mark.parametrize("player", ["nobody", "Z2FtZTow"])
def test_a_player_is_named_by_an_id(tic: Run, player: str) -> None:
    assert tic("player", "erase", player).exit_code == 2


# project


def test_a_rebuilt_list_holds_every_game_again(tic: Run, games: Games, database_url: str) -> None:
    for _ in range(3):
        games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    done = tic("project", "rebuild", "lobby")
    assert done.exit_code == 0
    assert "9 events taken in" in done.stderr
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM read_models.lobby_games").fetchone() == (3,)


def test_of_two_rebuilds_of_one_read_model_the_second_is_refused(
    tic: Run, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.rebuilding.TAKE_OVER_WAIT", "10ms")
    with psycopg.connect(database_url) as first:
        first.execute("SELECT pg_advisory_lock(hashtext('tic rebuild lobby'))")
        done = tic("project", "rebuild", "lobby")
    assert done.exit_code == 1
    assert "lobby is being rebuilt already" in done.stderr


def test_an_unknown_read_model_is_refused_with_those_there_are(tic: Run) -> None:
    done = tic("project", "rebuild", "nonsense")
    assert done.exit_code == 2
    assert "lobby" in done.stderr


def test_a_projector_of_its_own_follows_until_it_is_stopped(games: Games, database_url: str, key_file: Path) -> None:
    settings = environment(DATABASE_URL=database_url, TIC_SERVER_KEY_FILE=str(key_file))
    with subprocess.Popen([TIC, "project", "run"], env=settings, stderr=subprocess.DEVNULL) as process:
        games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SET statement_timeout = '30s'")
            connection.execute(
                "DO $$ BEGIN WHILE (SELECT count(*) FROM read_models.lobby_games) = 0"
                " LOOP PERFORM pg_sleep(0.05); END LOOP; END $$"
            )
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


# schema, events


def test_the_schema_is_printed() -> None:
    assert "type TicitaireGame" in CliRunner().invoke(cli.app, ["schema"]).stdout


def test_the_catalogue_of_events_is_written_to_a_file(tmp_path: Path) -> None:
    CliRunner().invoke(cli.app, ["events", "--output", str(tmp_path / "events.json")])
    assert json.loads((tmp_path / "events.json").read_text()) == catalogue()


def test_the_published_catalogue_is_the_catalogue() -> None:
    published = Path(__file__).parents[2] / "docs" / "events.schema.json"
    assert json.loads(published.read_text()) == catalogue()
