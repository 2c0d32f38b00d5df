"""The log as a whole, as everyone may have it: checkpoints, tiles and proofs, over HTTP and GraphQL, each verified."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from typer.testing import CliRunner

import api.signing
from api import cli
from api.app import create_app
from api.evidence import read_evidence
from api.ids import write_id
from api.log_commands import signing_of
from api.proving import Inclusion, LogUnproved, NoSuchTree, NotYetSigned, Prover
from api.settings import Settings, SettingsError, write_keys
from api.signing import CheckpointFile, Signer
from domain.application import Games
from domain.audit import Check, Standing, audit
from domain.merkle import HASH_BYTES, WIDTH, Tree, leaf_hash, tile_path, verify_consistency, verify_inclusion
from domain.notes import Checkpoint, NoteKey, SigningKey, read_checkpoint, read_proof, read_receipt
from domain.record_reading import read_record
from domain.storage import Datastore, EventRecorder
from domain.witness import Growth
from tests.client import Client
from tests.conftest import KEYRING, in_memory, started
from tests.logged import caught_up, log_events, rebuild
from tests.projections.shown import some_games, until
from tests.server import TIC, environment, serving

KEY = SigningKey("tic.example/log", bytes(range(32)))


def log(database_url: str) -> list[tuple[UUID, int, bytes]]:
    """All events, in the order of the log: game, number, bytes."""
    query = "SELECT originator_id, originator_version, state FROM game_events ORDER BY notification_id"
    with psycopg.connect(database_url) as connection:
        return connection.execute(query).fetchall()


def tree_of(database_url: str) -> Tree:
    return Tree(leaf_hash(state) for _, _, state in log(database_url))


def bytes_of(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


# What is proved


@pytest.fixture
def prover(datastore: Datastore, signer: Signer) -> Prover:
    return Prover(datastore, refusal=lambda: signer.refusal, key=signer.key)


@pytest.fixture
def game(datastore: Datastore, recorder: EventRecorder, signer: Signer) -> UUID:
    """A game of 700 events, of which 600 are signed."""
    log_events(recorder, 300)
    game = log_events(recorder, 300)
    caught_up(datastore)
    signer.step()
    log_events(recorder, 100)
    caught_up(datastore)
    return game


@pytest.mark.parametrize("size", [None, 600, 301, 512, 599])
def test_an_event_is_proved_in_every_tree_that_has_it(
    prover: Prover, game: UUID, database_url: str, size: int | None
) -> None:
    tree, (_, _, data) = tree_of(database_url), log(database_url)[300]
    shown = prover.inclusion(game, 1, size)
    root = tree.root(size or 600)
    assert shown == Inclusion(300, leaf_hash(data), size or 600, root, tuple(tree.inclusion(300, size or 600)))
    verify_inclusion(leaf_hash(data), shown.index, shown.size, shown.path, root)


@pytest.mark.parametrize(("old", "new"), [(0, None), (1, None), (255, 256), (300, 599), (600, 600), (0, 0)])
def test_growth_is_proved_between_all_sizes_that_were_signed_over(
    prover: Prover, game: UUID, database_url: str, old: int, new: int | None
) -> None:
    tree, end = tree_of(database_url), 600 if new is None else new
    shown = prover.consistency(old, new)
    assert shown == Growth(old, tree.root(old), end, tree.root(end), tuple(tree.consistency(old, end)))
    verify_consistency(old, shown.old_root, end, shown.new_root, shown.path)


def test_tiles_are_shown_as_far_as_a_checkpoint_covers_them(prover: Prover, game: UUID, database_url: str) -> None:
    tree = tree_of(database_url)
    for id, width in [((0, 0), 256), ((0, 1), 256), ((0, 0), 7), ((0, 2), 88), ((0, 2), 1), ((1, 0), 2), ((1, 0), 1)]:
        assert prover.tile(id, width) == tree.tiles[id][: HASH_BYTES * width]


@pytest.mark.parametrize(
    "ask",
    [
        lambda prover, game: prover.inclusion(game, 1, 300),
        lambda prover, game: prover.inclusion(game, 1, 601),
        lambda prover, game: prover.consistency(3, 601),
        lambda prover, game: prover.consistency(4, 3),
        lambda prover, game: prover.consistency(601),
        lambda prover, game: prover.tile((0, 2), 89),
        lambda prover, game: prover.tile((0, 2), 256),
        lambda prover, game: prover.tile((1, 0), 3),
        lambda prover, game: prover.tile((2, 0), 1),
        lambda prover, game: prover.tile((7, 2**50), 1),
        lambda prover, game: prover.entries(2, 89),
        lambda prover, game: prover.entries(2**50, 1),
    ],
)
def test_nothing_is_shown_that_no_checkpoint_covers(
    prover: Prover, game: UUID, ask: Callable[[Prover, UUID], object]
) -> None:
    with pytest.raises(NoSuchTree):
        ask(prover, game)


def test_an_event_that_is_not_signed_yet_is_told_as_such(
    prover: Prover, game: UUID, signer: Signer, datastore: Datastore, recorder: EventRecorder
) -> None:
    last = log_events(recorder, 1)
    for _ in range(2):  # not in the tree; then in the tree, and under no checkpoint
        with pytest.raises(NotYetSigned, match="ask again"):
            prover.proof(last, 1)
        caught_up(datastore)
    signer.step()
    assert prover.proof(last, 1).index == 700


def test_before_anything_is_signed_nothing_is_shown(prover: Prover, signer: Signer) -> None:
    signer.step()
    with pytest.raises(NotYetSigned):
        prover.newest()


def test_while_nothing_was_looked_at_nothing_is_shown(prover: Prover) -> None:
    with pytest.raises(LogUnproved, match="being looked at"):
        prover.newest()


PROOFS: list[Callable[[Prover, UUID], object]] = [
    lambda prover, game: prover.tile((0, 1), 256),
    lambda prover, game: prover.entries(1, 256),
    lambda prover, game: prover.inclusion(game, 5),
    lambda prover, game: prover.proof(game, 5),
]


def flip(url: str, level: int, number: int, byte: int) -> None:
    """Change one bit of a tile."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE read_models.merkle_tiles SET hashes = set_byte(hashes, %(at)s, get_byte(hashes, %(at)s) # 1)"
            " WHERE (level, number) = (%(level)s, %(number)s)",
            {"at": byte, "level": level, "number": number},
        )


@pytest.mark.parametrize("ask", PROOFS, ids=["a tile", "events", "an inclusion", "a proof"])
@pytest.mark.parametrize("tile", [(0, 1), (1, 0)], ids=["a whole tile", "the tile above"])
def test_what_a_changed_tile_does_not_prove_is_never_shown(
    prover: Prover,
    game: UUID,
    database_url: str,
    datastore: Datastore,
    tile: tuple[int, int],
    ask: Callable[[Prover, UUID], object],
) -> None:
    before = ask(prover, game)
    for number in (0, 1):  # the one beside the event's and its own
        flip(database_url, *tile, HASH_BYTES * number + 1)
    prover._tiles.forget()
    with pytest.raises(LogUnproved, match="does not prove"):
        ask(prover, game)
    rebuild(datastore)
    assert ask(prover, game) == before


@pytest.mark.parametrize(
    "ask",
    [
        lambda prover, game: prover.inclusion(game, 5, 590),
        lambda prover, game: prover.consistency(5, 590),
        lambda prover, game: prover.consistency(590),
        lambda prover, game: prover.tile((0, 2), 1),
    ],
    ids=["an inclusion", "growth to a size in between", "growth from one", "a tile"],
)
def test_what_a_changed_right_edge_does_not_prove_is_never_shown(
    prover: Prover, game: UUID, database_url: str, ask: Callable[[Prover, UUID], object]
) -> None:
    flip(database_url, 0, 2, 1)
    with pytest.raises(LogUnproved, match="does not prove"):
        ask(prover, game)


def test_a_kept_tile_that_was_wrong_is_forgotten_once_it_is_mended(
    prover: Prover, game: UUID, database_url: str, datastore: Datastore
) -> None:
    flip(database_url, 0, 1, 0)
    with pytest.raises(LogUnproved):
        prover.tile((0, 1), 256)
    with psycopg.connect(database_url) as connection:
        (kept,) = connection.execute("SELECT hashes FROM read_models.merkle_tiles WHERE number = 1").fetchall()[0]
    prover._tiles._kept[0, 1] = kept
    rebuild(datastore)
    assert prover.tile((0, 1), 256) == tree_of(database_url).tiles[0, 1]


def test_an_event_that_was_changed_is_proved_by_nothing(prover: Prover, game: UUID, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("ALTER TABLE game_events DISABLE TRIGGER game_events_append_only")
        connection.execute("UPDATE game_events SET state = state || ' ' WHERE originator_version = 5")
    for ask in (lambda: prover.proof(game, 5), lambda: prover.entries(1, 256)):
        with pytest.raises(LogUnproved, match="does not prove"):
            ask()


def test_what_is_no_checkpoint_and_stands_where_one_should_is_never_shown(
    prover: Prover, game: UUID, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO log_checkpoints (size, note) VALUES (999, 'x')")
    with pytest.raises(LogUnproved, match="is none"):
        prover.proof(game, 5)


# Over HTTP


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has checkpoints be signed often."""
    monkeypatch.setattr(api.signing, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(api.signing, "SIGN_SECONDS", 0.02)


@pytest.fixture
async def app(database_url: str, tmp_path: Path, quick: None) -> AsyncIterator[Starlette]:
    """A server that signs."""
    signing = KEY, CheckpointFile(tmp_path / "checkpoint")
    app = create_app(Settings(), database_url, KEYRING, signing=signing)
    async with app.router.lifespan_context(app):
        yield app


async def when_signed(client: Client, size: int) -> Checkpoint:
    """Wait until so many events are signed; return the checkpoint."""
    async with asyncio.timeout(20):
        while True:
            answer = await client.http.get("/checkpoint")
            if answer.status_code == 200:
                checkpoint = read_checkpoint(answer.text, KEY.public)
                if checkpoint.size >= size:
                    return checkpoint
            await asyncio.sleep(0.01)


@pytest.fixture
async def signed(client: Client, games: Games, database_url: str) -> Checkpoint:
    """Some games, all of them signed."""
    await asyncio.to_thread(some_games, games, 6)
    return await when_signed(client, len(log(database_url)))


async def test_a_checkpoint_is_shown_to_everyone_and_asked_for_again(
    client: Client, signed: Checkpoint, database_url: str
) -> None:
    answer = await client.http.get("/checkpoint")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    tree = tree_of(database_url)
    assert signed == Checkpoint("tic.example/log", tree.size, tree.root(tree.size))


async def test_the_tiles_of_a_checkpoint_make_up_its_root(client: Client, games: Games, database_url: str) -> None:
    await asyncio.to_thread(some_games, games, 80)
    signed, leaves = await when_signed(client, len(log(database_url))), b""
    assert signed.size > WIDTH
    for number in range(signed.size // WIDTH + 1):
        width = min(WIDTH, signed.size - number * WIDTH)
        answer = await client.http.get(f"/tile/{tile_path((0, number), width)}")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        leaves += answer.content
    tree = Tree(leaves[at : at + HASH_BYTES] for at in range(0, len(leaves), HASH_BYTES))
    assert tree.root(tree.size) == signed.root
    assert (await client.http.get("/tile/1/000.p/1")).content == tree.tiles[1, 0]


def entries_of(bundle: bytes) -> list[bytes]:
    """Take a bundle apart: each entry stands after its length in two bytes."""
    found = []
    while bundle:
        length = int.from_bytes(bundle[:2], "big")
        found.append(bundle[2 : 2 + length])
        bundle = bundle[2 + length :]
    return found


async def test_whoever_keeps_a_copy_is_given_all_events_in_their_order(
    client: Client, games: Games, database_url: str
) -> None:
    await asyncio.to_thread(some_games, games, 80)
    signed = await when_signed(client, len(log(database_url)))
    rest = signed.size - WIDTH
    bundles = [(await client.http.get(f"/tile/entries/{path}")).content for path in ("000", f"001.p/{rest}")]
    entries = [entry for bundle in bundles for entry in entries_of(bundle)]
    assert entries == [data for _, _, data in log(database_url)]
    assert Tree(map(leaf_hash, entries)).root(signed.size) == signed.root


NOT_THERE = ["0/0", "0/x000/000", "0/999", "0/000.p/0", "0/000.p/256", "9/000", ""]
NOT_THERE += ["entries/000", "entries/0", "entries/0/000", "entries/999.p/1", "entries/000.p/0", "entries/"]


@pytest.mark.parametrize("path", NOT_THERE)
async def test_of_a_tile_that_there_is_not_it_is_said_so(client: Client, signed: Checkpoint, path: str) -> None:
    answer = await client.http.get(f"/tile/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("by_uuid", [True, False])
async def test_the_proof_of_a_game_holds_for_its_last_event(
    client: Client, signed: Checkpoint, database_url: str, by_uuid: bool
) -> None:
    game, _, last = log(database_url)[-1]
    answer = await client.http.get(f"/games/{game if by_uuid else write_id('game', game)}.tlog-proof")
    proof = read_proof(answer.text)
    checkpoint = read_checkpoint(proof.checkpoint, KEY.public)
    verify_inclusion(leaf_hash(last), proof.index, checkpoint.size, proof.path, checkpoint.root)
    assert UUID(proof.extra.decode()) == game


async def test_an_auditor_takes_the_record_and_the_proof_that_a_server_gives(client: Client, tmp_path: Path) -> None:
    player = await client.register()
    game = (await player.open_ticitaire())["game"]
    await player.play("giveUpTicitaire", game)
    await when_signed(client, 5)
    given = (await client.http.get(f"/games/{game['uuid']}.tlog-proof")).text
    (tmp_path / "game.tlog-proof").write_text(given)
    proofs = read_evidence(KEY.public, proofs=[tmp_path / "game.tlog-proof"]).proofs[UUID(game["uuid"])]
    record = read_record((await client.http.get(f"/games/{game['uuid']}.jsonl")).content.splitlines(keepends=True))
    found = audit(record, proofs=proofs, key=KEY.public)
    assert found.checks[Check.INCLUSION] is Standing.HOLDS, found


async def test_an_answer_can_bear_a_receipt_that_the_logs_key_has_signed(client: Client, signed: Checkpoint) -> None:
    player = await client.register()
    told = await player.open_ticitaire(show="... on CommandAccepted { game { uuid } version hash receipt }")
    receipt = read_receipt(told["receipt"], KEY.public)
    assert (str(receipt.game), receipt.version, receipt.hash) == (told["game"]["uuid"], told["version"], told["hash"])


async def test_an_event_is_proved_as_json(client: Client, signed: Checkpoint, database_url: str) -> None:
    game, seq, data = log(database_url)[7]
    shown = (await client.http.get(f"/log/inclusion?game={game}&seq={seq}")).json()
    assert (shown["index"], shown["size"], bytes_of(shown["root"])) == (7, signed.size, signed.root)
    verify_inclusion(leaf_hash(data), 7, signed.size, [bytes_of(each) for each in shown["path"]], signed.root)
    smaller = (await client.http.get(f"/log/inclusion?game={game}&seq={seq}&size=8")).json()
    assert bytes_of(smaller["root"]) == tree_of(database_url).root(8)


async def test_growth_is_proved_as_json(client: Client, signed: Checkpoint, database_url: str) -> None:
    shown = (await client.http.get("/log/consistency?old=17")).json()
    assert (shown["old"], shown["new"], bytes_of(shown["newRoot"])) == (17, signed.size, signed.root)
    path = [bytes_of(each) for each in shown["path"]]
    verify_consistency(17, tree_of(database_url).root(17), signed.size, signed.root, path)


UNKNOWN = UUID(int=7)


async def when_told(client: Client, reason: str) -> None:
    """Wait until the server says why it shows no checkpoint."""
    async with asyncio.timeout(20):
        while True:
            if reason in (await client.http.get("/checkpoint")).text:
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"/games/{UNKNOWN}.tlog-proof", 404, "NOT_FOUND"),
        ("/games/nonsense.tlog-proof", 404, "NOT_FOUND"),
        ("/log/inclusion", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game=x&seq=1", 404, "NOT_FOUND"),
        (f"/log/inclusion?game={UNKNOWN}", 400, "BAD_USER_INPUT"),
        (f"/log/inclusion?game={UNKNOWN}&seq=1", 404, "NOT_FOUND"),
        ("/log/inclusion?game={game}&seq=0", 404, "NOT_FOUND"),
        ("/log/inclusion?game={game}&seq=999999", 404, "NOT_FOUND"),
        ("/log/inclusion?game={game}&seq=-1", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game={game}&seq=01", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game={game}&seq=%D9%A1", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game={game}&seq=9999999999999999999", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game={game}&seq=1&seq=2", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game={game}&seq=1&more=2", 400, "BAD_USER_INPUT"),
        ("/log/inclusion?game={game}&seq=1&size=0", 404, "NOT_FOUND"),
        ("/log/inclusion?game={game}&seq=1&size=999999", 404, "NOT_FOUND"),
        ("/log/consistency", 400, "BAD_USER_INPUT"),
        ("/log/consistency?old=1&new=x", 400, "BAD_USER_INPUT"),
        ("/log/consistency?old=2&new=1", 404, "NOT_FOUND"),
        ("/log/consistency?old=999999", 404, "NOT_FOUND"),
    ],
)
async def test_a_question_about_the_log_that_does_not_fit_is_told_so(
    client: Client, signed: Checkpoint, database_url: str, path: str, status: int, code: str
) -> None:
    answer = await client.http.get(path.format(game=log(database_url)[0][0]))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["message"].endswith(".")


async def test_what_is_shown_of_the_log_is_only_read(client: Client) -> None:
    for path in ("/checkpoint", "/tile/0/000", "/log/inclusion", f"/games/{UNKNOWN}.tlog-proof"):
        assert (await client.http.post(path)).status_code == 405


async def answers(client: Client, game: UUID) -> list[httpx.Response]:
    paths = ("/checkpoint", "/tile/0/000.p/1", f"/games/{game}.tlog-proof", "/log/consistency?old=1")
    return [await client.http.get(path) for path in paths]


async def test_a_server_without_a_key_shows_what_others_have_signed(
    database_url: str, datastore: Datastore, games: Games, signer: Signer
) -> None:
    await asyncio.to_thread(some_games, games, 2)
    async with started(database_url) as app, in_memory(app) as client:
        game = log(database_url)[0][0]
        caught_up(datastore)
        assert [answer.status_code for answer in await answers(client, game)] == [404, 409, 409, 409]
        await asyncio.to_thread(signer.step)
        assert [answer.status_code for answer in await answers(client, game)] == [200] * 4
        assert (await client.ask("{ log { key refusal size } }"))["log"] == {"key": None, "refusal": None, "size": "11"}


async def test_a_server_whose_log_is_not_what_was_signed_shows_nothing_of_it_and_says_why(
    database_url: str, datastore: Datastore, games: Games, tmp_path: Path, quick: None
) -> None:
    copy = CheckpointFile(tmp_path / "checkpoint")
    copy.write(Checkpoint("tic.example/log", 60, leaf_hash(b"newer than the backup")).signed(KEY))
    await asyncio.to_thread(some_games, games, 2)
    game = log(database_url)[0][0]
    app = create_app(Settings(), database_url, KEYRING, signing=(KEY, copy))
    async with app.router.lifespan_context(app), in_memory(app) as client:
        await when_told(client, "old backup")
        for answer in await answers(client, game):
            assert (answer.status_code, answer.json()["code"]) == (503, "LOG_UNPROVED")
            assert "old backup" in answer.json()["message"]
        shown = (await client.ask("{ log { checkpoint refusal } }"))["log"]
        assert shown["checkpoint"] is None
        assert "old backup" in shown["refusal"]
        error = await client.error('{ log { consistency(old: "0") { new } } }')
        assert error["extensions"]["code"] == "UNAVAILABLE"
        player = await client.register()
        opened = await player.open_ticitaire(show="... on CommandAccepted { version receipt }")
        assert opened == {"version": 3, "receipt": None}  # games go on, and nothing new is promised of them


# Over GraphQL

PROVED = """
query ($game: ID!, $seq: Int!, $size: String, $old: String!, $new: String) {
  log {
    key checkpoint size refusal
    inclusion(gameId: $game, seq: $seq, size: $size) { index leaf size root path }
    consistency(old: $old, new: $new) { old oldRoot new newRoot path }
  }
}
"""


async def test_graphql_tells_the_same(client: Client, signed: Checkpoint, database_url: str) -> None:
    game, seq, data = log(database_url)[9]
    shown: Any = (await client.ask(PROVED, game=write_id("game", game), seq=seq, old="9"))["log"]
    assert NoteKey.parse(shown["key"]) == KEY.public
    assert read_checkpoint(shown["checkpoint"], KEY.public) == signed
    assert (shown["size"], shown["refusal"]) == (str(signed.size), None)
    proved, grown = shown["inclusion"], shown["consistency"]
    path = [bytes_of(each) for each in proved["path"]]
    assert (proved["index"], bytes_of(proved["leaf"])) == ("9", leaf_hash(data))
    verify_inclusion(leaf_hash(data), 9, int(proved["size"]), path, bytes_of(proved["root"]))
    path = [bytes_of(each) for each in grown["path"]]
    verify_consistency(9, bytes_of(grown["oldRoot"]), int(grown["new"]), bytes_of(grown["newRoot"]), path)


@pytest.mark.parametrize("seq", [0, -1, 99, 2**31 - 1])
async def test_an_event_that_there_is_not_is_bad_input(
    client: Client, signed: Checkpoint, database_url: str, seq: int
) -> None:
    game = write_id("game", log(database_url)[0][0])
    error = await client.error(PROVED, game=game, seq=seq, old="0")
    assert (error["extensions"]["code"], "has the events 1 to" in error["message"]) == ("BAD_USER_INPUT", True)


@pytest.mark.parametrize("id", ["none", str(UNKNOWN), write_id("game", UNKNOWN)])
async def test_the_events_of_a_game_that_there_is_not_are_bad_input(
    client: Client, signed: Checkpoint, id: str
) -> None:
    error = await client.error(PROVED, game=id, seq=1, old="0")
    assert (error["extensions"]["code"], "`gameId`" in error["message"]) == ("BAD_USER_INPUT", True)


async def test_an_event_that_no_checkpoint_covers_yet_has_no_proof(
    database_url: str, datastore: Datastore, games: Games
) -> None:
    await asyncio.to_thread(some_games, games, 2)
    async with started(database_url) as app, in_memory(app) as client:
        game, seq, _ = log(database_url)[0]
        shown = await client.ask(PROVED, game=str(game), seq=seq, old="0")
        assert shown["log"]["inclusion"] is None


@pytest.mark.parametrize(
    "asked",
    [{"size": "0"}, {"size": "-1"}, {"size": "99999"}, {"size": "x"}, {"old": ""}, {"old": "5", "new": "4"}],
    ids=str,
)
async def test_a_number_that_does_not_fit_is_bad_input(
    client: Client, signed: Checkpoint, database_url: str, asked: dict[str, str]
) -> None:
    variables: dict[str, Any] = {"game": write_id("game", log(database_url)[0][0]), "seq": 1, "old": "0", **asked}
    assert (await client.error(PROVED, **variables))["extensions"]["code"] == "BAD_USER_INPUT"


# Keys and settings


def run(*words: str, **environment: str) -> Any:
    return CliRunner().invoke(cli.app, words, env={"DATABASE_URL": "", "TIC_LOG_KEY_FILE": "", **environment})


def test_an_operator_makes_a_key_and_is_shown_the_half_that_verifies(tmp_path: Path) -> None:
    file = tmp_path / "log.key"
    made = run("log", "key", "new", "--name", "tic.example/log", "--output", str(file))
    assert (made.exit_code, file.stat().st_mode & 0o777) == (0, 0o600)
    key = SigningKey.parse(file.read_text())
    assert NoteKey.parse(made.stdout) == key.public
    shown = run("log", "key", "show", TIC_LOG_KEY_FILE=str(file))
    assert shown.stdout == made.stdout
    assert key.written().rpartition("+")[2] not in made.output + shown.output


def test_a_key_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (file := tmp_path / "log.key").write_text("precious")
    again = run("log", "key", "new", "--name", "tic.example/log", "--output", str(file))
    assert (again.exit_code, file.read_text()) == (1, "precious")


def test_a_key_has_a_name_that_notes_can_bear(tmp_path: Path) -> None:
    refused = run("log", "key", "new", "--name", "two words", "--output", str(tmp_path / "log.key"))
    assert (refused.exit_code, list(tmp_path.iterdir())) == (2, [])


def test_the_embedded_database_has_a_key_of_its_own_that_stays(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path / "tic", database_url=None)
    with pytest.raises(SettingsError, match="tic log key new"):
        settings.log_key()
    first, again = settings.log_key(create=True), settings.log_key(create=True)
    assert first is not None
    assert again is not None
    assert first.public == again.public
    assert first.public.name.startswith("localhost/tic-")


def test_with_a_database_of_ones_own_nothing_is_signed_without_a_key() -> None:
    assert signing_of(Settings(database_url="postgresql://tic@localhost/tic")) is None


def test_the_copy_lies_beside_the_servers_key_or_where_it_is_told_to(tmp_path: Path) -> None:
    write_keys(tmp_path / "server.key", KEYRING, replace=False)
    (tmp_path / "log.key").write_text(KEY.written())
    own = {
        "database_url": "postgresql://tic@localhost/tic",
        "server_key_file": tmp_path / "server.key",
        "log_key_file": tmp_path / "log.key",
    }
    beside, elsewhere = Settings(**own), Settings(**own, checkpoint_file=tmp_path / "elsewhere")  # type: ignore[arg-type]
    for settings, path in [(beside, tmp_path / "checkpoint"), (elsewhere, tmp_path / "elsewhere")]:
        signing = signing_of(settings)
        assert signing is not None
        assert (signing[0].public, signing[1].path) == (KEY.public, path)


@pytest.mark.parametrize(
    "content", [b"", b"PRIVATE+KEY+x", b"\xff", KEY.written()[:-4].encode(), str(KEY.public).encode()]
)
def test_a_key_file_that_holds_no_key_is_told_without_what_it_holds(tmp_path: Path, content: bytes) -> None:
    (file := tmp_path / "log.key").write_bytes(content)
    settings = Settings(log_key_file=file, database_url="postgresql://tic@localhost/tic")
    with pytest.raises(SettingsError, match="can't be used") as refused:
        settings.log_key()
    assert KEY.written().rpartition("+")[2][:8] not in str(refused.value)


def test_a_missing_key_file_is_told_with_what_makes_one(tmp_path: Path) -> None:
    settings = Settings(log_key_file=tmp_path / "log.key")
    with pytest.raises(SettingsError, match="tic log key new --name ORIGIN --output"):
        settings.log_key(create=True)


# Processes


def logged(process: subprocess.Popen[str], words: str) -> None:
    """Wait until a process says something."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it ended and did not say {words!r}")


@pytest.mark.parametrize("signs", [True, False])
def test_a_projector_signs_where_it_has_a_key_and_says_where_it_has_none(
    games: Games, database_url: str, tmp_path: Path, signs: bool
) -> None:
    write_keys(tmp_path / "server.key", KEYRING, replace=False)
    (tmp_path / "log.key").write_text(KEY.written())
    settings = {"DATABASE_URL": database_url, "TIC_SERVER_KEY_FILE": str(tmp_path / "server.key")}
    if signs:
        settings["TIC_LOG_KEY_FILE"] = str(tmp_path / "log.key")
    some_games(games, 1)
    process = subprocess.Popen([TIC, "project", "run"], env=environment(**settings), stderr=subprocess.PIPE, text=True)
    with process, ending(process):
        logged(process, "Following the log for" if signs else "No checkpoints of the log are signed")
        if signs:
            until((tmp_path / "checkpoint").exists)
            assert read_checkpoint((tmp_path / "checkpoint").read_text(), KEY.public).size == len(log(database_url))
        process.terminate()
        assert process.wait(20) == 0


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """Have a process that a failed test has left end as well."""
    try:
        yield
    finally:
        process.kill()


def test_a_server_on_the_embedded_database_signs_from_its_first_start_on(scratch: Path) -> None:
    copy = Settings(folder=scratch / "tic", database_url=None).checkpoint_copy
    with serving({"TIC_FOLDER": str(scratch / "tic")}) as server:
        query = {"query": 'mutation { registerPlayer(input: {name: "Ada"}) { ... on PlayerRegistered { token } } }'}
        token = httpx.post(server.url, json=query).json()["data"]["registerPlayer"]["token"]
        query = {"query": "mutation { openTicitaire(input: {}) { __typename } }"}
        httpx.post(server.url, json=query, headers={"Authorization": f"Bearer {token}"}).raise_for_status()
        until(copy.exists)
        note = copy.read_text()
        until(lambda: httpx.get(f"http://{server.address}/checkpoint").text == note)
        shown = run("log", "key", "show", TIC_FOLDER=str(scratch / "tic"))
        assert read_checkpoint(note, NoteKey.parse(shown.stdout)).size > 0
