"""A database that is lost, and what a backup brings back: every game, its proofs, and play where it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from api.app import create_app
from api.embedded_postgres import embedded_postgres
from api.settings import Settings
from api.signing import CheckpointFile
from domain.merkle import Tree, leaf_hash
from domain.notes import Checkpoint, SigningKey, read_checkpoint
from tests.api.company import do
from tests.api.finished import give_up, resigned
from tests.api.poker_evening import poker_started
from tests.api.roles import House, house
from tests.client import Client
from tests.conftest import KEYRING, in_memory
from tests.faults.backups import dumped, restored, tic
from tests.faults.house import Tell
from tests.servers.pair import accepted

KEY: Final = SigningKey("tic.example/log", bytes(range(32)))


@dataclass(frozen=True)
class Kept:
    """What is kept apart from the database."""

    folder: Path

    @property
    def copy(self) -> CheckpointFile:
        """The copy of the last checkpoint."""
        return CheckpointFile(self.folder / "checkpoint")

    @property
    def signed(self) -> Checkpoint | None:
        """The checkpoint in it."""
        note = self.copy.read()
        return read_checkpoint(note, KEY.public) if note else None

    @asynccontextmanager
    async def serve(self, rooms: House) -> AsyncIterator[Client]:
        """A client without a token, of a server that signs."""
        app = create_app(Settings(), rooms.apps_url, KEYRING, signing=(KEY, self.copy))
        async with app.router.lifespan_context(app), in_memory(app) as client:
            yield client


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    (tmp_path / "server.key").write_text(KEYRING.write())
    return Kept(tmp_path)


def log(url: str) -> list[tuple[int, bytes]]:
    """Positions and bytes of all events, in the order of the log."""
    with psycopg.connect(url) as connection:
        query = "SELECT notification_id, state FROM game_events ORDER BY notification_id"
        return connection.execute(query).fetchall()


async def until_signed(kept: Kept, rooms: House) -> Checkpoint:
    """Wait until the copy covers the whole log; return the checkpoint."""
    async with asyncio.timeout(30):
        while (signed := kept.signed) is None or signed.size < len(log(rooms.owners_url)):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
    return signed


async def games_of_all_kinds(ada: Client, bob: Client) -> list[Any]:
    """Games that are over, one of each kind."""
    poker = await poker_started(ada, bob)
    return [
        await give_up(ada),
        await resigned(ada, bob),
        accepted(await do(bob, "resignGame", poker))["game"],
    ]


async def turned(player: Client, game: Any, times: int) -> Any:
    for _ in range(times):
        game = accepted(await do(player, "turnTicitaireStock", game))["game"]
    return game


@dataclass(frozen=True)
class Lost:
    """A database that is no more, and what is left of it."""

    token: str
    """Ada's."""
    finished: list[Any]
    under_way: Any
    """As it was when the newest backup was made."""
    backup: Path
    older_backup: Path
    """From before the last events were signed."""
    log: list[tuple[int, bytes]]
    signed: Checkpoint


async def lost(kept: Kept, rooms: House) -> Lost:
    """Play on a database, sign, and back it up twice while the server runs. Whoever calls drops it."""
    rooms.init()
    async with kept.serve(rooms) as client:
        ada, bob = [await client.register(name) for name in ("Ada", "Bob")]
        finished = await games_of_all_kinds(ada, bob)
        game = await turned(ada, accepted(await do(ada, "openTicitaire"))["game"], 3)
        await until_signed(kept, rooms)
        older = await asyncio.to_thread(dumped, rooms, kept.folder / "older.dump")
        game = await turned(ada, game, 3)
        signed = await until_signed(kept, rooms)
        backup = await asyncio.to_thread(dumped, rooms, kept.folder / "newest.dump")
        return Lost(str(ada.token), finished, game, backup, older, log(rooms.owners_url), signed)


@pytest.fixture
def another_postgres(scratch: Path) -> Iterator[str]:
    """Another PostgreSQL server, without the database and without its roles."""
    with embedded_postgres(scratch / "another") as url:
        yield url


async def test_after_the_database_was_lost_a_backup_brings_everything_back(
    admin: psycopg.Connection, postgres: str, another_postgres: str, kept: Kept, tell: Tell
) -> None:
    with house(admin, postgres) as rooms:
        before = await lost(kept, rooms)

    with ExitStack() as stack:
        other = stack.enter_context(psycopg.connect(another_postgres, autocommit=True))
        rooms = stack.enter_context(house(other, another_postgres))
        restored(before.backup, rooms)
        settings = {"DATABASE_URL": rooms.apps_url, "TIC_SERVER_KEY_FILE": str(kept.folder / "server.key")}
        for words in (("db", "check"), ("project", "rebuild")):
            done = tic(settings, *words)
            assert done.returncode == 0, done.stderr
        assert log(rooms.owners_url) == before.log

        async with kept.serve(rooms) as client:
            ada = replace(client, token=before.token)
            shown = await ada.game(before.under_way["id"], "version status")
            assert shown == {"version": before.under_way["version"], "status": "PLAYING"}
            game = await turned(ada, before.under_way, 2)
            over = accepted(await do(ada, "giveUpTicitaire", game))["game"]
            assert over["status"] == "FINISHED"
            listed = (await client.ask("{ games(first: 10) { nodes { id } } }"))["games"]["nodes"]
            assert {node["id"] for node in listed} == {each["id"] for each in (*before.finished, game)}
            signed = await until_signed(kept, rooms)

        # The log has grown from what was signed before it was lost.
        tree = Tree(leaf_hash(state) for _, state in log(rooms.owners_url))
        assert before.signed.size < signed.size
        assert [tree.root(each.size) for each in (before.signed, signed)] == [before.signed.root, signed.root]

        records, proofs = kept.folder / "games.jsonl.gz", kept.folder / "games.tlog-proof"
        exported = tic(settings, "export", "--all", "--output", records, "--proofs", proofs)
        assert "Games: 4." in exported.stderr, exported.stderr
        assert "Proofs: 4." in exported.stderr
        audited = tic({}, "audit", records, "--key", str(KEY.public), "--proofs", proofs)
        assert audited.returncode == 0, audited.stdout + audited.stderr
        tell(f"restored: {len(before.log)} events in {before.backup.stat().st_size} bytes of backup")


async def test_of_a_backup_that_is_older_than_what_was_signed_nothing_is_signed_and_play_goes_on(
    admin: psycopg.Connection, postgres: str, kept: Kept
) -> None:
    with house(admin, postgres) as rooms:
        before = await lost(kept, rooms)
    with house(admin, postgres) as rooms:
        restored(before.older_backup, rooms)
        async with kept.serve(rooms) as client:
            async with asyncio.timeout(30):
                while "old backup" not in (refusal := await told(client)):  # noqa: ASYNC110 - the signer tells nobody
                    await asyncio.sleep(0.05)
            assert f"ends after {len(log(rooms.owners_url))} events, and {before.signed.size} were signed" in refusal
            ada = replace(client, token=before.token)
            shown = await ada.game(before.under_way["id"], "id uuid version")
            assert shown["version"] == before.under_way["version"] - 3
            await turned(ada, shown, 1)
        assert kept.signed == before.signed


async def told(client: Client) -> str:
    """Why nothing is signed."""
    return str((await client.ask("{ log { refusal } }"))["log"]["refusal"])
