"""The command line, as an operator uses it."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from api import cli
from api.accounts import MOST_TOKENS, Accounts, Scope, token_id
from api.settings import KEY_FILE, KeyFile, Settings, SettingsError, write_keys
from domain.application import Games
from domain.catalogue import catalogue
from domain.storage import Datastore
from domain.ticitaire.rules import OpenTicitaire
from domain.vault import Keyring, ServerKey, Vault
from projections.models import PROJECTIONS
from projections.runner import Follower
from tests.conftest import KEYRING
from tests.server import TIC, environment, serving

ADA = UUID(int=1)

Run = Callable[..., Result]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "server.key"
    write_keys(path, KEYRING, replace=False)
    return path


@pytest.fixture
def tic(database_url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on this test's database."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("TIC_SERVER_KEY_FILE", str(key_file))
    return lambda *words, **more: CliRunner().invoke(cli.app, words, **more)


def fails(*words: str, **settings: str) -> str:
    """Run a command that must fail; return what it said."""
    done = subprocess.run([TIC, *words], capture_output=True, text=True, env=environment(**settings), check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_commands_start_without_what_only_a_server_needs() -> None:
    told = [sys.executable, "-c", "import sys, api.cli; print(*sys.modules)"]
    loaded = subprocess.run(told, capture_output=True, text=True, check=True).stdout.split()
    assert {"graphql", "starlette", "strawberry", "uvicorn"}.isdisjoint(loaded)


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
    assert "tic key new --output server.key" in fails("serve", DATABASE_URL=database_url)


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
        ("DATABASE_URL", "postgresql://tic:p@geheim@127.0.0.1:1/tic", "written as %40 for @"),
        ("DATABASE_URL", "postgresql://tic:%geheim@127.0.0.1:1/tic", "written as %40 for @"),
        ("DATABASE_URL", "postgresql://127.0.0.1:geheim/tic", "written as %40 for @"),
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


@pytest.mark.parametrize(
    "words",
    [
        ("token", "list", str(ADA)),
        ("player", "find", "Ada"),
        ("project", "run"),
        ("project", "rebuild", "lobby"),
        ("key", "rotate"),
        ("db", "check"),
    ],
)
def test_every_command_tells_the_databases_reason(words: tuple[str, ...], database_url: str, key_file: Path) -> None:
    url = make_conninfo(database_url, dbname="tic_of_nobody")
    assert 'database "tic_of_nobody" does not exist' in fails(
        *words, DATABASE_URL=url, TIC_SERVER_KEY_FILE=str(key_file)
    )


def test_a_setting_that_is_empty_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("TIC_PORT", "")
    settings = Settings.load()
    assert (settings.database_url, settings.port) == (None, 8000)


def test_a_server_does_not_start_with_the_keys_of_another_database(
    games: Games, database_url: str, tmp_path: Path
) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    other = tmp_path / "other.key"
    write_keys(other, Keyring([ServerKey.generate()]), replace=False)
    said = fails("serve", "--port", "0", DATABASE_URL=database_url, TIC_SERVER_KEY_FILE=str(other))
    assert f"a seed is sealed by key {KEYRING.current.id}; this server has" in said


def test_a_server_starts_without_some_of_the_keys_and_says_how_many_decks_that_costs(
    games: Games, database_url: str, tmp_path: Path
) -> None:
    rotated = KEYRING.rotated()
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    with closing(Datastore(database_url, connections=1)) as datastore:
        Vault(datastore, rotated).draw(UUID(int=7), 1)
    part = tmp_path / "part.key"
    write_keys(part, rotated.without([KEYRING.current.id]), replace=False)
    said = logged_by_a_server_that_starts(DATABASE_URL=database_url, TIC_SERVER_KEY_FILE=str(part))
    (warned,) = [line for line in said if "decks_by_key" in line]
    assert warned["decks_by_key"] == {KEYRING.current.id: 1}


def logged_by_a_server_that_starts(**settings: str) -> list[dict[str, object]]:
    """Run a server until it listens, and stop it; return what it has logged."""
    settings = environment(**settings, TIC_LOG_FORMAT="json")
    words = [str(TIC), "serve", "--port", "0"]
    said = []
    with subprocess.Popen(words, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("{"):
                said.append(json.loads(line))
                if said[-1]["event"] == "listening":
                    process.terminate()
    return said


def test_a_server_whose_log_is_for_machines_says_there_that_it_listens_and_that_it_has_stopped(
    database_url: str, key_file: Path
) -> None:
    said = logged_by_a_server_that_starts(DATABASE_URL=database_url, TIC_SERVER_KEY_FILE=str(key_file))
    assert [line["event"] for line in said if line["event"] in {"listening", "stopped"}] == ["listening", "stopped"]


# key


def test_a_new_key_fits_a_key_file() -> None:
    printed = CliRunner().invoke(cli.app, ["key", "new"]).stdout
    assert len(Keyring.parse(printed).keys) == 1


def test_a_new_key_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.key"
    assert CliRunner().invoke(cli.app, ["key", "new", "--output", str(path)]).exit_code == 0
    assert len(Keyring.parse(path.read_text()).keys) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_key_is_not_written_over_another(key_file: Path) -> None:
    done = CliRunner().invoke(cli.app, ["key", "new", "--output", str(key_file)])
    assert (done.exit_code, key_file.read_text()) == (1, KEYRING.write())


def test_a_key_file_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    assert "No such file or directory" in fails("key", "new", "--output", str(tmp_path / "nowhere" / "new.key"))


@pytest.mark.parametrize(("mode", "warnings"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o644, 1)])
def test_a_key_file_that_others_can_read_is_warned_of(mode: int, warnings: int, key_file: Path) -> None:
    key_file.chmod(mode)
    with capture_logs() as logged:
        KeyFile(Settings(server_key_file=key_file))
    assert len(logged) == warnings


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


@pytest.mark.parametrize("words", [("key", "rotate"), ("key", "prune")])
def test_a_key_file_keeps_its_owner_its_group_and_its_mode(
    words: tuple[str, ...], tic: Run, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_file.chmod(0o640)
    before, given = key_file.stat(), list[tuple[int, int]]()
    monkeypatch.setattr(os, "fchown", lambda _, user, group: given.append((user, group)))
    assert tic(*words).exit_code == 0
    assert set(given) == {(before.st_uid, before.st_gid)}
    assert key_file.stat().st_mode == before.st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_key_file_stays_the_servers_users_where_root_rotates(tic: Run, key_file: Path) -> None:
    os.chown(key_file, 12345, 23456)
    assert tic("key", "rotate").exit_code == 0
    assert (key_file.stat().st_uid, key_file.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize("words", [("key", "rotate"), ("key", "prune")])
def test_nothing_is_sealed_anew_where_the_key_file_would_change_hands(
    words: tuple[str, ...], games: Games, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    path, keyring = tmp_path / "rotated.key", KEYRING.rotated()
    write_keys(path, keyring, replace=False)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("TIC_SERVER_KEY_FILE", str(path))
    monkeypatch.setattr(os, "fchown", refuse)
    done = CliRunner().invoke(cli.app, words)
    assert isinstance(done.exception, SettingsError)
    assert "servers could no longer read it" in str(done.exception)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == keyring.write()
    assert sealed_by(database_url) == [KEYRING.current.id]


def sealed_by(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [key_id for (key_id,) in connection.execute("SELECT DISTINCT key_id FROM sealed_seeds ORDER BY 1")]


def lose(url: str, deal: UUID, key_id: str) -> None:
    """Seal a deck by a key that nobody has."""
    with closing(Datastore(url, connections=1)) as datastore:
        Vault(datastore, KEYRING).draw(deal, 1)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE sealed_seeds SET key_id = %s WHERE deal = %s", (key_id, deal))


def test_a_rotation_seals_what_it_can_and_counts_what_it_can_not(
    tic: Run, games: Games, key_file: Path, database_url: str
) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    lose(database_url, UUID(int=7), "d02e")
    done = tic("key", "rotate")
    assert done.exit_code == 1
    assert "key d02e still seals 1 deck, and it is not in the file" in done.stderr
    assert sealed_by(database_url) == sorted(["d02e", Keyring.parse(key_file.read_text()).current.id])


def test_a_lost_key_does_not_keep_others_from_being_dropped(tic: Run, key_file: Path, database_url: str) -> None:
    lose(database_url, UUID(int=7), "d02e")
    tic("key", "rotate")
    done = tic("key", "prune")
    assert done.exit_code == 0
    assert "1 old key was dropped" in done.stderr
    assert len(Keyring.parse(key_file.read_text()).keys) == 1


def test_a_key_that_is_still_needed_is_not_dropped_and_named(
    tic: Run, games: Games, key_file: Path, database_url: str
) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE sealed_seeds SET sealed = sealed || '\\x00'")
    tic("key", "rotate")
    tic("key", "rotate")
    done = tic("key", "prune")
    assert done.exit_code == 1
    assert f"key {KEYRING.current.id} still seals 1 deck" in done.stderr
    assert [key.id for key in Keyring.parse(key_file.read_text()).keys][1:] == [KEYRING.current.id]


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
    assert tic("player", "erase", str(player.id), "--yes").exit_code == 0
    assert accounts.players([player.id]) == {}
    assert accounts.authenticate(token) is None
    assert tic("player", "erase", str(player.id)).exit_code == 1


def test_an_erased_player_is_taken_out_of_games_under_way(tic: Run, games: Games, datastore: Datastore) -> None:
    player, _ = Accounts(datastore).register("Ada")
    game = games.open("ticitaire", OpenTicitaire(player=player.id), player=player.id, key=None).game
    erased = tic("player", "erase", str(player.id), "--yes")
    assert "1 game under way" in erased.stderr
    assert games.game(game.id).table.over


def test_one_who_erased_the_account_is_taken_out_of_what_was_begun_meanwhile(
    tic: Run, games: Games, datastore: Datastore
) -> None:
    player, _ = Accounts(datastore).register("Ada")
    assert Accounts(datastore).erase(player.id)
    game = games.open("ticitaire", OpenTicitaire(player=player.id), player=player.id, key=None).game
    Follower(datastore, PROJECTIONS["lobby"]).step()
    assert "1 game under way" in tic("player", "erase", str(player.id)).stderr
    assert games.game(game.id).table.over


def test_a_player_is_erased_also_where_the_servers_key_is_not_at_hand(
    tic: Run, games: Games, datastore: Datastore, key_file: Path
) -> None:
    accounts = Accounts(datastore)
    player, _ = accounts.register("Ada")
    game = games.open("ticitaire", OpenTicitaire(player=player.id), player=player.id, key=None).game
    key_file.unlink()
    assert "Games under way stay" in tic("player", "erase", str(player.id), "--yes").stderr
    assert accounts.players([player.id]) == {}
    assert not games.game(game.id).table.over


@pytest.mark.parametrize(("answer", "left"), [("n\n", 1), ("", 1), ("y\n", 0)])
def test_a_player_is_erased_when_the_operator_has_said_yes(
    answer: str, left: int, tic: Run, datastore: Datastore
) -> None:
    player, _ = Accounts(datastore).register("Ada")
    done = tic("player", "erase", str(player.id), input=answer)
    assert "Erase 'Ada'" in done.stderr
    assert len(Accounts(datastore).players([player.id])) == left


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


def test_without_a_name_all_read_models_are_rebuilt(tic: Run, games: Games) -> None:
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    done = tic("project", "rebuild")
    assert done.exit_code == 0
    assert sorted(re.findall(r"(\w+): 3 events taken in", done.stderr)) == sorted(PROJECTIONS)


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
    with subprocess.Popen([TIC, "project", "run"], env=settings, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Following the log for")
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
