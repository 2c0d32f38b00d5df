"""All games of a label over HTTP: their records and their proofs, as an auditor takes them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api.auditing import Auditor, FileReport
from api.checkpoint_file import CheckpointFile
from api.evidence import read_evidence
from api.signing import Signer
from domain.notes import SigningKey
from domain.record_reading import read_records
from domain.storage import Datastore
from tests import logged
from tests.client import Client

KEY = SigningKey("tic.example/log", bytes(range(32)))
CUP = "Spring Cup 2026"


async def finished(player: Client, label: str | None) -> Any:
    """A game that was opened and given up."""
    given = {} if label is None else {"label": label}
    game = (await player.open_ticitaire(**given))["game"]
    await player.play("giveUpTicitaire", game)
    return game


async def listed(client: Client, number: int) -> None:
    """Wait until so many finished games are listed."""
    async with asyncio.timeout(20):
        while True:
            shown = await client.ask("{ finishedGames(first: 50) { nodes { id } } }")
            if len(shown["finishedGames"]["nodes"]) >= number:
                return
            await asyncio.sleep(0.01)


@pytest.fixture
async def cup(client: Client) -> list[Any]:
    """Three finished games of the label, one of another, one of none, and one of the label that is under way."""
    player = await client.register()
    games = [await finished(player, label) for label in (CUP, "another", CUP, None, CUP)]
    await player.open_ticitaire(label=CUP)
    await listed(client, len(games))
    return [games[0], games[2], games[4]]


async def test_the_finished_games_of_a_label_are_one_archive(client: Client, cup: list[Any]) -> None:
    answer = await client.http.get("/games.jsonl", params={"label": CUP})
    assert answer.headers["content-type"] == "application/jsonl"
    records = list(read_records(answer.content.splitlines(keepends=True)))
    assert [str(record.game) for record in records] == [game["uuid"] for game in cup]
    singly = [(await client.http.get(f"/games/{game['uuid']}.jsonl")).content for game in cup]
    assert answer.content == b"".join(singly)


async def test_a_tournament_is_audited_from_three_downloads(
    client: Client, cup: list[Any], datastore: Datastore, tmp_path: Path
) -> None:
    await asyncio.to_thread(logged.caught_up, datastore)
    await asyncio.to_thread(Signer(datastore, KEY, CheckpointFile(tmp_path / "checkpoint")).step)
    records = (await client.http.get("/games.jsonl", params={"label": CUP})).content
    (tmp_path / "cup.tlog-proof").write_bytes((await client.http.get(f"/games.tlog-proof?label={quote(CUP)}")).content)
    auditor = Auditor(read_evidence(KEY.public, proofs=[tmp_path / "cup.tlog-proof"]))
    found = tuple(auditor.audited("cup.jsonl", iter(records.splitlines(keepends=True))))
    report = auditor.report([FileReport("cup.jsonl", found)])
    assert (len(found), report.holds, len(report.checkpoints)) == (3, True, 1), report


async def test_the_head_of_an_archive_has_no_body(client: Client, cup: list[Any]) -> None:
    answer = await client.http.head("/games.jsonl", params={"label": CUP})
    assert (answer.status_code, answer.content) == (200, b"")


async def test_more_games_than_are_looked_up_at_once_come_whole(
    client: Client, cup: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.archive_routes.PAGE", 2)
    answer = await client.http.get("/games.jsonl", params={"label": CUP})
    assert len(list(read_records(answer.content.splitlines(keepends=True)))) == len(cup)


async def test_a_label_is_read_as_it_is_where_a_game_is_opened(client: Client, cup: list[Any]) -> None:
    answer = await client.http.get("/games.jsonl", params={"label": "  Spring   Cup 2026 "})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/games.jsonl", "/games.tlog-proof"])
@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "BAD_USER_INPUT"),
        ("?label=", 400, "BAD_USER_INPUT"),
        ("?label=%00", 400, "BAD_USER_INPUT"),
        ("?label=%ff%fe", 404, "NOT_FOUND"),
        (f"?label={'x' * 5000}", 400, "BAD_USER_INPUT"),
        ("?label=a&label=b", 400, "BAD_USER_INPUT"),
        ("?label=a&more=b", 400, "BAD_USER_INPUT"),
        ("?label=nobody", 404, "NOT_FOUND"),
        ("?label=spring%20cup%202026", 404, "NOT_FOUND"),
    ],
)
async def test_what_asks_for_no_games_is_told_so(
    client: Client, cup: list[Any], datastore: Datastore, tmp_path: Path, path: str, query: str, status: int, code: str
) -> None:
    await asyncio.to_thread(logged.caught_up, datastore)
    await asyncio.to_thread(Signer(datastore, KEY, CheckpointFile(tmp_path / "checkpoint")).step)
    answer = await client.http.get(path + query)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["cache-control"] == "no-store"


async def test_while_nothing_is_signed_there_is_no_proof(client: Client, cup: list[Any]) -> None:
    answer = await client.http.get("/games.tlog-proof", params={"label": CUP})
    assert (answer.status_code, answer.json()["code"]) == (409, "NOT_YET_SIGNED")
