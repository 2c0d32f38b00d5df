"""Records over HTTP, and from one store into another by the command line."""

from __future__ import annotations

import gzip
import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
import structlog.testing
from starlette.applications import Starlette
from typer.testing import CliRunner, Result

from api import cli
from api.ids import read_id
from api.proving import Prover
from api.signing import CheckpointFile, Signer
from api.timekeeper import Timekeeper
from domain.application import Games
from domain.archive import events_up_to, take_in
from domain.decider import Command
from domain.lifecycle import GameLabelled, RunOutOfTime
from domain.notes import NoteKey, SigningKey
from domain.record_reading import read_record, read_records
from domain.records import write_record
from domain.storage import Datastore, EventRecorder, PersistenceError
from domain.tables import Join
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import OpenTickle
from domain.vault import Vault
from projections.deadlines import Deadlines
from projections.runner import Follower
from tests import logged
from tests.api.company import caught_up, id_of
from tests.client import Client
from tests.conftest import KEYRING, cloned, in_memory, started
from tests.domain.test_archive import ARCHIVE, DIFFERENT
from tests.domain.test_records import GAMES, RECORDS, TICITAIRE, TICKLE

ADA = UUID(int=1)

Run = Callable[..., Result]
Play = Callable[..., UUID]


def kept(recorder: EventRecorder, *lines: bytes) -> None:
    """Take records into the store."""
    list(take_in(recorder, read_records(lines)))


def beginning(name: str, length: int) -> list[bytes]:
    return list(write_record(GAMES[name][:length]))


async def record(client: Client, id: object, **headers: str) -> httpx.Response:
    return await client.http.get(f"/games/{id}.jsonl", headers=headers)


# Over HTTP


@pytest.mark.parametrize("name", [TICITAIRE, TICKLE, "poker-cancelled"])
async def test_the_record_of_a_game_is_had_by_its_uuid_and_by_its_id(
    client: Client, recorder: EventRecorder, name: str
) -> None:
    kept(recorder, *RECORDS[name])
    uuid = GAMES[name][0].game
    by_uuid, by_id = await record(client, uuid), await record(client, id_of("game", uuid))
    assert by_uuid.content == by_id.content == b"".join(RECORDS[name])
    assert by_uuid.headers["content-type"] == "application/jsonl"


async def test_the_record_of_a_closed_game_is_the_same_for_ever(client: Client, recorder: EventRecorder) -> None:
    kept(recorder, *RECORDS[TICKLE])
    headers = (await record(client, GAMES[TICKLE][0].game)).headers
    assert headers["etag"] == f'"{GAMES[TICKLE][-1].hash}"'
    assert headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_the_record_of_a_running_game_is_a_beginning_and_asked_for_again(client: Client) -> None:
    player = await client.register()
    game = (await player.open_ticitaire())["game"]
    early = await record(client, game["uuid"])
    turned = await player.play("turnTicitaireStock", game)
    late = await record(client, game["uuid"])
    assert read_record(late.content.splitlines(keepends=True)).closing.hash == turned["hash"]
    assert late.content.splitlines()[:4] == early.content.splitlines()[:4]
    assert early.headers["cache-control"] == late.headers["cache-control"] == "no-cache"
    assert early.headers["etag"] != late.headers["etag"] == f'"{turned["hash"]}"'


@pytest.mark.parametrize("named", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
async def test_a_record_that_is_known_is_not_sent_again(client: Client, recorder: EventRecorder, named: str) -> None:
    kept(recorder, *RECORDS[TICKLE])
    last = GAMES[TICKLE][-1]
    answer = await record(client, last.game, **{"If-None-Match": named.format(last.hash)})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == f'"{last.hash}"'


async def test_a_record_that_has_grown_is_sent_again(client: Client) -> None:
    player = await client.register()
    game = (await player.open_ticitaire())["game"]
    etag = (await record(client, game["uuid"])).headers["etag"]
    await player.play("turnTicitaireStock", game)
    assert (await record(client, game["uuid"], **{"If-None-Match": etag})).status_code == 200


async def test_the_head_of_a_record_is_what_a_get_would_have(client: Client, recorder: EventRecorder) -> None:
    kept(recorder, *RECORDS[TICKLE])
    path = f"/games/{GAMES[TICKLE][0].game}.jsonl"
    one = {"X-Request-Id": "one-and-the-same"}
    head, got = await client.http.head(path, headers=one), await client.http.get(path, headers=one)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == got.headers


@pytest.mark.parametrize(
    "id",
    [
        UUID(int=7),
        id_of("game", UUID(int=7)),
        id_of("player", UUID(int=7)),
        "nonsense",
        "x" * 36,
        "{00000000-0000-0000-0000-0000000007}",
        "%00",
    ],
)
async def test_of_a_game_that_there_is_not_it_is_said_so_in_a_sentence(client: Client, id: object) -> None:
    answer = await record(client, id)
    assert answer.status_code == 404
    assert answer.json() == {
        "code": "NOT_FOUND",
        "message": "There is no such game. Take the id from the field `id`, or `uuid`, of a game.",
    }


async def test_a_record_is_only_read(client: Client, recorder: EventRecorder) -> None:
    kept(recorder, *RECORDS[TICKLE])
    assert (await client.http.post(f"/games/{GAMES[TICKLE][0].game}.jsonl")).status_code == 405


async def test_a_page_of_another_origin_may_read_a_record_and_its_etag(client: Client, recorder: EventRecorder) -> None:
    kept(recorder, *RECORDS[TICKLE])
    headers = (await record(client, GAMES[TICKLE][0].game, Origin="https://example.org")).headers
    assert headers["access-control-allow-origin"] == "*"
    assert "ETag" in headers["access-control-expose-headers"]


async def test_a_database_that_is_away_is_said_in_a_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> Any:
        raise psycopg.OperationalError("host geheim")

    monkeypatch.setattr(EventRecorder, "newest", away)
    answer = await record(client, UUID(int=7))
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
    assert "geheim" not in answer.text


async def test_a_server_that_has_stopped_says_so(database_url: str) -> None:
    async with started(database_url) as app:
        pass
    async with in_memory(app) as client:
        assert (await record(client, UUID(int=7))).status_code == 503


async def test_a_record_that_breaks_off_is_not_ended(
    client: Client, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(recorder, *RECORDS[TICKLE])
    monkeypatch.setattr("domain.archive.PAGE", 10)
    span, asked = EventRecorder.span, itertools.count()

    def away_soon(self: EventRecorder, game: UUID, *, after: int, first: int) -> Any:
        if next(asked) > 2:
            raise PersistenceError("the database is away")
        return span(self, game, after=after, first=first)

    monkeypatch.setattr(EventRecorder, "span", away_soon)
    with pytest.raises(PersistenceError):  # which is what makes the server cut the connection
        await record(client, GAMES[TICKLE][0].game)


async def test_a_private_table_shows_what_its_events_show_to_anyone(client: Client) -> None:
    host = await client.register()
    opening = (
        "mutation { openTickle(input: {private: true}) { ... on CommandAccepted { game { id uuid invitation } } } }"
    )
    game = (await host.ask(opening))["openTickle"]["game"]
    text = (await record(host, game["uuid"])).content
    shown = [event["bytes"] for event in await client.history(game["id"])]
    assert [line.decode() for line in text.splitlines()[1:-1]] == shown
    assert game["invitation"].encode() not in text.lower()


# By the command line


@pytest.fixture
def tic(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on this test's database."""
    key_file = tmp_path / "server.key"
    key_file.write_text(KEYRING.write())
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("TIC_SERVER_KEY_FILE", str(key_file))
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli.app, list(map(str, words)), catch_exceptions=False)


@pytest.fixture
def elsewhere(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[str]:
    """The URL of a second, empty store."""
    with cloned(admin, template, postgres) as url:
        yield url


def said(result: Result) -> str:
    return " ".join(result.stderr.split())


def test_an_import_takes_no_pipe_for_it_reads_twice(tic: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for coming in ("pipe", "-"):
        refused = tic("import", coming)
        assert refused.exit_code == 1
        assert f"{coming} is no file that can be read twice" in said(refused)


def test_all_games_are_exported_in_the_order_of_the_log(tic: Run, recorder: EventRecorder) -> None:
    kept(recorder, *ARCHIVE)
    done = tic("export", "--all")
    assert done.stdout_bytes == b"".join(ARCHIVE)
    assert f"Games: {len(DIFFERENT)}. Events: {len(ARCHIVE) - 2 * len(DIFFERENT)}." in said(done)


def test_games_are_exported_by_their_ids(tic: Run, recorder: EventRecorder) -> None:
    kept(recorder, *ARCHIVE)
    first, second = DIFFERENT[2], DIFFERENT[-1]
    done = tic("export", GAMES[second][0].game, id_of("game", GAMES[first][0].game))
    assert done.stdout_bytes == b"".join([*RECORDS[first], *RECORDS[second]])


def test_games_of_a_kind_are_exported(tic: Run, recorder: EventRecorder) -> None:
    kept(recorder, *ARCHIVE)
    exported = tic("export", "--kind", "tickle").stdout_bytes
    of_tickle = [line for name in DIFFERENT if name.startswith("tickle") for line in RECORDS[name]]
    assert exported == b"".join(of_tickle)


def test_games_that_bear_a_label_are_exported(tic: Run, recorder: EventRecorder) -> None:
    kept(recorder, *ARCHIVE)
    labels = {name: event.fact.label for name in DIFFERENT if isinstance((event := GAMES[name][1]).fact, GameLabelled)}
    (label,) = {*list(labels.values())[:1]}
    bearing = [line for name in DIFFERENT if labels.get(name) == label for line in RECORDS[name]]
    assert tic("export", "--label", label).stdout_bytes == b"".join(bearing)
    assert tic("export", "--label", "nobody's").stdout_bytes == b""


def test_what_has_come_since_an_export_is_exported_from_the_position_that_it_told(
    tic: Run, recorder: EventRecorder
) -> None:
    kept(recorder, *RECORDS[TICKLE])
    position = re.search(r"--since (\d+)", said(tic("export", "--all")))
    assert position is not None
    assert tic("export", "--since", position[1]).stdout_bytes == b""
    kept(recorder, *RECORDS[TICITAIRE])
    assert tic("export", "--since", position[1]).stdout_bytes == b"".join(RECORDS[TICITAIRE])


def test_a_compressed_archive_is_the_same_bytes_again(tic: Run, recorder: EventRecorder, tmp_path: Path) -> None:
    kept(recorder, *ARCHIVE)
    for name in ("one.jsonl.gz", "other.jsonl.gz"):
        assert tic("export", "--all", "--output", name).exit_code == 0
    one, other = (tmp_path / "one.jsonl.gz").read_bytes(), (tmp_path / "other.jsonl.gz").read_bytes()
    assert one == other
    assert gzip.decompress(one) == b"".join(ARCHIVE)


def test_an_export_that_fails_leaves_the_file_that_was_there(
    tic: Run, recorder: EventRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(recorder, *ARCHIVE)
    (tmp_path / "games.jsonl").write_bytes(b"an old one")
    monkeypatch.setattr(EventRecorder, "span", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tic("export", "--all", "--output", "games.jsonl")
    assert (tmp_path / "games.jsonl").read_bytes() == b"an old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games.jsonl", "server.key"]


def signed(datastore: Datastore, copy: Path) -> NoteKey:
    """Have the log as it is signed; return the key that verifies that."""
    logged.caught_up(datastore)
    key = SigningKey("tic.example/log", bytes(range(32)))
    Signer(datastore, key, CheckpointFile(copy)).step()
    return key.public


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_auditor_takes_an_archive_with_the_proofs_that_were_exported_beside_it(
    tic: Run, recorder: EventRecorder, datastore: Datastore, tmp_path: Path, suffix: str
) -> None:
    kept(recorder, *ARCHIVE)
    key = signed(datastore, tmp_path / "checkpoint")
    files = f"games.jsonl{suffix}", f"games.tlog-proof{suffix}"
    exported = tic("export", "--all", "--output", files[0], "--proofs", files[1])
    assert f"Proofs: {len(DIFFERENT)}." in said(exported)
    audited = tic("audit", files[0], "--key", key, "--proofs", files[1])
    assert f"Everything holds: {len(DIFFERENT)} of {len(DIFFERENT)} games." in audited.stdout, audited.output
    assert audited.exit_code == 0


def test_all_proofs_of_an_export_are_under_one_checkpoint_though_more_are_signed_meanwhile(
    tic: Run, recorder: EventRecorder, datastore: Datastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(recorder, *ARCHIVE)
    signed(datastore, tmp_path / "checkpoint")
    prove, told = Prover.proof, []

    def signing_meanwhile(prover: Prover, *asked: Any) -> Any:
        told.append(prove(prover, *asked).checkpoint)
        logged.log_events(recorder, 1)
        signed(datastore, tmp_path / "checkpoint")
        return prove(prover, *asked)

    monkeypatch.setattr(Prover, "proof", signing_meanwhile)
    assert tic("export", "--all", "--output", "games.jsonl", "--proofs", "games.tlog-proof").exit_code == 0
    assert (len(told), len(set(told))) == (len(DIFFERENT), 1)


def test_what_no_checkpoint_covers_yet_is_exported_without_a_proof_and_said_so(
    tic: Run, recorder: EventRecorder, datastore: Datastore, tmp_path: Path
) -> None:
    kept(recorder, *RECORDS[TICKLE])
    signed(datastore, tmp_path / "checkpoint")
    kept(recorder, *RECORDS[TICITAIRE])
    done = tic("export", "--all", "--output", "games.jsonl", "--proofs", "games.tlog-proof")
    assert done.exit_code == 0
    assert "Proofs: 1. Not covered by a checkpoint yet: 1." in said(done)
    assert (tmp_path / "games.tlog-proof").read_text().count("c2sp.org/tlog-proof@v1") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name the games, or ask for --all"),
        ((str(UUID(int=7)), "--all"), "name the games, or ask for --all"),
        (("--kind", "whist"), "there is no kind 'whist'; there are:"),
        (("nonsense",), "this is not an id of this server, or the game's UUID"),
        ((str(UUID(int=7)),), f"there is no game {UUID(int=7)}"),
    ],
)
def test_what_can_not_be_exported_is_said(tic: Run, words: tuple[str, ...], told: str) -> None:
    done = tic("export", *words)
    assert done.exit_code != 0
    assert told in re.sub(r"[│╭╮╰╯─\s]+", " ", done.stderr)
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
async def test_games_go_from_one_store_into_another_and_read_the_same(
    app: Starlette, tic: Run, recorder: EventRecorder, elsewhere: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kept(recorder, *ARCHIVE)
    assert tic("export", "--all", "--output", name).exit_code == 0
    monkeypatch.setenv("DATABASE_URL", elsewhere)
    assert f"games taken in: {len(DIFFERENT)}; here already: 0." in said(tic("import", name))
    assert tic("export", "--all").stdout_bytes == b"".join(ARCHIVE)
    ids = [id_of("game", GAMES[each][0].game) for each in DIFFERENT]
    versions = [{"id": id, "version": len(GAMES[each])} for id, each in zip(ids, DIFFERENT, strict=True)]
    async with started(elsewhere) as other, in_memory(app) as here, in_memory(other) as there:
        await caught_up(there, *versions)
        for id in ids:
            assert await there.history(id) == await here.history(id)
            assert await there.game(id, SHOWN) == await here.game(id, SHOWN)


SHOWN = """
  __typename id uuid version hash status openedAt changedAt seats { number player { id name } }
  fairness { commitment seeds } position(version: 5) { version hash } legalActions { mutation }
  ... on TicitaireGame { columns { run { name } } waste { name } patience: result { ending } }
  ... on TickleGame { tickle: result { ending places { seat place } } }
  ... on PokerGame { poker: result { ending places { seat place points } } }
"""


def test_an_import_that_was_interrupted_is_run_again(tic: Run, recorder: EventRecorder, tmp_path: Path) -> None:
    (tmp_path / "games.jsonl").write_bytes(b"".join(ARCHIVE))
    kept(recorder, *RECORDS[DIFFERENT[0]], *RECORDS[DIFFERENT[1]])
    assert f"games taken in: {len(DIFFERENT) - 2}; here already: 2." in said(tic("import", "games.jsonl"))


def test_a_broken_file_is_refused_whole_with_its_name_and_its_first_wrong_line(
    tic: Run, recorder: EventRecorder, tmp_path: Path
) -> None:
    edited = list(ARCHIVE)
    edited[-10] = edited[-10].replace(b"2030", b"2031")
    (tmp_path / "games.jsonl").write_bytes(b"".join(edited))
    done = tic("import", "games.jsonl")
    assert done.exit_code == 1
    assert f"games.jsonl, line {len(ARCHIVE) - 9}: its bytes are not those whose hash the next event names" in said(
        done
    )
    assert recorder.newest(GAMES[DIFFERENT[0]][0].game) is None


def test_files_before_a_broken_one_are_taken_in(tic: Run, recorder: EventRecorder, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(b"".join(RECORDS[TICKLE]))
    (tmp_path / "other.jsonl").write_bytes(b"".join(RECORDS[TICITAIRE][:-1]))
    done = tic("import", "one.jsonl", "other.jsonl")
    assert done.exit_code == 1
    assert "other.jsonl, line 110: the record ends here without its closing line" in said(done)
    assert recorder.newest(GAMES[TICKLE][0].game) is not None
    assert recorder.newest(GAMES[TICITAIRE][0].game) is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(b"".join(RECORDS[TICITAIRE]))[:-2_000], "is cut short here"),
        (b"".join(RECORDS[TICITAIRE]), "line 1: the file is not compressed as .gz files are"),
        (gzip.compress(b"x" * 10_000_000), "line 1: it has more than 16384 bytes"),
        (gzip.compress(b""), "line 1: the file is empty"),
    ],
    ids=["cut short", "not compressed", "a bomb", "empty"],
)
def test_a_compressed_file_that_is_broken_is_refused(tic: Run, tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "games.jsonl.gz").write_bytes(content)
    done = tic("import", "games.jsonl.gz")
    assert done.exit_code == 1
    assert told in said(done)


def test_a_file_that_is_not_there_is_said(tic: Run) -> None:
    done = tic("import", "none.jsonl")
    assert done.exit_code == 1
    assert "none.jsonl can't be read: No such file or directory" in said(done)


def test_a_game_that_has_gone_on_is_not_taken_into_the_store_that_has_less_of_it(
    tic: Run, recorder: EventRecorder, tmp_path: Path
) -> None:
    kept(recorder, *beginning(TICITAIRE, 3))
    (tmp_path / "games.jsonl").write_bytes(b"".join([*RECORDS[TICKLE], *RECORDS[TICITAIRE]]))
    done = tic("import", "games.jsonl")
    assert done.exit_code == 1
    assert f"games.jsonl, line {len(RECORDS[TICKLE]) + 1}: the store holds the game" in said(done)
    assert recorder.newest(GAMES[TICKLE][0].game) is None


# A running game that was imported


@pytest.fixture
def play_elsewhere(elsewhere: str, recorder: EventRecorder) -> Iterator[Play]:
    """Opens a game in another store, lets others join it, and takes its record into this test's."""
    with closing(Datastore(elsewhere, connections=8)) as datastore:
        games = Games(EventRecorder(datastore), Vault(datastore, KEYRING))

        def play(kind: str, opening: Command, host: UUID, *others: UUID) -> UUID:
            game = games.open(kind, opening, player=host, key=None).game.id
            for other in others:
                command = Join(player=other)
                games.handle(
                    game, partial(_whatever_seat, command), player=other, expected_version=None, key=None, seated=False
                )
            last = games.newest(game)
            kept(recorder, *write_record(events_up_to(last, games.events)))
            return game

        yield play
        games.close()


def _whatever_seat(command: Command, _: int) -> Command:
    return command


async def registered(client: Client) -> tuple[Client, UUID]:
    player = await client.register()
    shown = await player.ask("{ viewer { player { id } } }")
    return player, read_id(shown["viewer"]["player"]["id"], "player")[1]


async def test_who_would_play_on_a_game_that_came_as_a_record_is_told_where_it_is_played(
    client: Client, play_elsewhere: Play
) -> None:
    player, uuid = await registered(client)
    game = id_of("game", play_elsewhere("ticitaire", OpenTicitaire(player=uuid), uuid))
    refused = await player.mutate("turnTicitaireStock", gameId=game, expectedVersion=3)
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", "gameId"])
    assert refused["message"].startswith("This game came here as a record while it was under way")
    shown = await player.game(game, "version status viewerSeat legalActions { mutation }")
    assert shown == {"version": 3, "status": "PLAYING", "viewerSeat": 1, "legalActions": []}


async def test_a_seat_of_a_game_that_came_as_a_record_sees_no_hand(client: Client, play_elsewhere: Play) -> None:
    player, uuid = await registered(client)
    opening = OpenTickle(player=uuid, options=TickleOptions(seats=2, start_when_full=True))
    game = id_of("game", play_elsewhere("tickle", opening, uuid, ADA))
    shown = await player.game(
        game,
        "status legalActions { mutation } ... on TickleGame { hands { hand { __typename } } laydowns { bound }"
        ' checkLaydown(cards: [{card: "5-star-red", x: 0, y: 0}]) { legal } }',
    )
    assert (shown["status"], shown["legalActions"]) == ("PLAYING", [])
    assert (shown["laydowns"], shown["checkLaydown"]) == (None, None)
    assert {card["__typename"] for seat in shown["hands"] for card in seat["hand"]} == {"HiddenCard"}
    assert {len(event["cards"]) for event in await player.history(game, fields="cards { name }")} == {0}


def test_the_timekeeper_leaves_a_game_alone_that_came_as_a_record(
    datastore: Datastore, recorder: EventRecorder, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = "timed-out-with-take-backs"
    kept(recorder, *beginning(timed, 3))
    keeper = Timekeeper(datastore, games, clock=itertools.count().__next__)
    Follower(datastore, Deadlines()).step()
    with datastore.transaction(commit=True) as cursor:
        cursor.execute("UPDATE read_models.deadlines SET due_at = now() - interval '1 hour'")
    tried, act = list[object](), games.act

    def acts(game: UUID, command: Any, *, key: str | None = None) -> Any:
        tried.append(command)
        return act(game, command, key=key)

    monkeypatch.setattr(games, "act", acts)
    with structlog.testing.capture_logs() as logs:
        for _ in range(100):
            keeper.step()
    assert (tried, logs) == ([RunOutOfTime()], [])
