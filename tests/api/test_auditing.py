"""`tic audit`: files in, a report out and an exit status, without a database and without a network."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest
from typer.testing import CliRunner, Result

from api import cli
from api.ids import write_id
from domain.events import GENESIS, Event
from domain.merkle import Tree, leaf_hash
from domain.notes import Checkpoint, LogProof, Receipt, SigningKey
from domain.records import write_record
from tests.domain.adversary import Forger
from tests.domain.test_audit import GOLDEN, given_up_earlier

KEY: Final = SigningKey("tic.example/log", bytes(range(32)))
GOOD: Final = ["given-up", "tickle-target-as-joined", "poker-declared", "entropy-withheld"]
EVENTS: Final = [event for name in GOOD for event in GOLDEN[name]]
LOG: Final = Tree([leaf_hash(event.data) for event in EVENTS])
CHECKPOINT: Final = Checkpoint(KEY.public.name, LOG.size, LOG.root(LOG.size)).signed(KEY)
GAME_CHECKS: Final = ["record", "commitment", "deal", "commands", "result"]

Audit = Callable[..., Result]


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Runs the command where there is no database and no socket can be opened."""

    def no_network(*_: object, **__: object) -> NoReturn:
        raise AssertionError("an audit needs no network")

    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@nowhere.invalid:1/none")
    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    return lambda *words: CliRunner().invoke(cli.app, ["audit", *map(str, words)])


def lines_of(name: str) -> list[bytes]:
    return list(write_record(GOLDEN[name]))


def archive(folder: Path, *records: Iterable[bytes], name: str = "games.jsonl") -> Path:
    file = folder / name
    text = b"".join(line for record in records for line in record)
    file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return file


def proof_of(event: Event) -> LogProof:
    index = EVENTS.index(event)
    return LogProof(index, tuple(LOG.inclusion(index, LOG.size)), CHECKPOINT, str(event.game).encode())


def proofs(folder: Path, names: Sequence[str] = GOOD) -> Path:
    file = folder / "games.tlog-proof"
    file.write_text("".join(str(proof_of(GOLDEN[name][-1])) for name in names), "utf-8")
    return file


def receipts(folder: Path, *told: dict[str, Any]) -> Path:
    file = folder / "receipts.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in told), "utf-8")
    return file


def receipt(event: Event, **other: Any) -> dict[str, Any]:
    return {"game": str(event.game), "version": event.seq, "hash": event.hash, **other}


def forged(name: str, topic: str, **fields: Any) -> list[bytes]:
    forger = Forger(GOLDEN[name])
    forger.alter(topic, **fields)
    return forger.record()


def words_of(done: Result) -> str:
    """All that was printed, without the lines that a terminal's width makes."""
    return " ".join((done.stdout + done.stderr).split())


# Everything holds


def test_games_that_a_log_vouches_for_hold(audit: Audit, tmp_path: Path) -> None:
    file = archive(tmp_path, *map(lines_of, GOOD))
    done = audit(file, "--key", KEY.public, "--proofs", proofs(tmp_path))
    assert done.exit_code == 0, done.output
    assert f"Everything holds: {len(GOOD)} of {len(GOOD)} games." in words_of(done)


def test_all_recorded_games_hold_by_themselves(audit: Audit, tmp_path: Path) -> None:
    for name in GOLDEN:  # some of them are the same game, played otherwise
        done = audit(archive(tmp_path, lines_of(name)), "--without-log")
        assert done.exit_code == 0, done.output


def test_several_files_packed_ones_too_are_audited_with_the_key_in_a_file(audit: Audit, tmp_path: Path) -> None:
    one = archive(tmp_path, lines_of(GOOD[0]), name="one.jsonl")
    more = archive(tmp_path, *map(lines_of, GOOD[1:]), name="more.jsonl.gz")
    key = tmp_path / "log.key"
    key.write_text(f"{KEY.public}\n", "utf-8")
    done = audit(one, more, "--key", key, "--proofs", proofs(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    assert [len(file["games"]) for file in json.loads(done.stdout)["files"]] == [1, len(GOOD) - 1]


def test_progress_goes_to_the_standard_error(audit: Audit, tmp_path: Path) -> None:
    done = audit(archive(tmp_path, lines_of("given-up")), "--without-log", "--json")
    assert "Auditing games.jsonl" in done.stderr
    assert json.loads(done.stdout)["holds"] is True


# Something does not


def test_an_archive_is_audited_on_behind_what_is_broken_or_altered(audit: Audit, tmp_path: Path) -> None:
    good, other = lines_of("given-up"), lines_of("poker-declared")
    altered = forged("tickle-target-as-joined", "tickle.HandRefilled", cards=1)
    broken = [*other[:9], other[9].replace(b'"seq":9', b'"seq":8'), *other[10:]]
    file = archive(tmp_path, good, broken, altered, other)
    done = audit(file, "--without-log", "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    first, second, third, fourth = report["files"][0]["games"]
    assert (report["report"], report["holds"], report["files"][0]["holds"]) == ("tic/audit/v1", False, False)
    assert first == {
        "game": str(GOLDEN["given-up"][0].game),
        "kind": "ticitaire",
        "line": 1,
        "events": len(GOLDEN["given-up"]),
        "holds": True,
        "checks": dict.fromkeys(GAME_CHECKS, "holds"),
        "wrong": None,
        "also": [],
        "remarks": [],
    }
    assert (second["holds"], second["wrong"]["check"], second["wrong"]["line"]) == (False, "record", len(good) + 10)
    begun = len(good) + len(broken)
    assert (third["line"], third["holds"], third["wrong"]["check"]) == (begun + 1, False, "commands")
    assert third["wrong"]["line"] == begun + 1 + altered.index(
        next(
            line for line, old in zip(altered[1:], lines_of("tickle-target-as-joined")[1:], strict=True) if line != old
        )
    )
    assert "cards of tickle.HandRefilled is 1" in third["wrong"]["message"]
    assert fourth["holds"] is True


def test_people_read_the_same(audit: Audit, tmp_path: Path) -> None:
    altered = forged("given-up", "ticitaire.GameFinished", ending="won")
    file = archive(tmp_path, lines_of("poker-declared"), altered, lines_of("tickle-target-as-joined")[:-1])
    done = audit(file, "--without-log")
    said = words_of(done)
    assert done.exit_code == 1
    line = len(lines_of("poker-declared")) + len(altered) - 2
    assert f'line {line}: ending of ticitaire.GameFinished is "won"' in said
    assert "the record ends here without its closing line" in said
    assert "Records: 3. Everything holds: 1. Something is wrong: 2. Can't be told: 0." in said


@pytest.mark.parametrize("text", [b"", b"\n", b"a\n", b"\xff\xfe", b"[" * 40_000])
def test_a_file_that_is_no_record_does_not_hold(audit: Audit, tmp_path: Path, text: bytes) -> None:
    done = audit(archive(tmp_path, [text]), "--without-log", "--json")
    assert done.exit_code == 1
    assert not json.loads(done.stdout)["files"][0]["holds"]


def test_a_packed_file_that_is_cut_short_is_reported_with_the_games_before(audit: Audit, tmp_path: Path) -> None:
    file = archive(tmp_path, lines_of("given-up"), lines_of("won"), name="games.jsonl.gz")
    file.write_bytes(file.read_bytes()[:-2_000])
    done = audit(file, "--without-log", "--json")
    assert done.exit_code == 1
    first, last = json.loads(done.stdout)["files"][0]["games"]
    assert first["holds"]
    assert "cut short" in last["wrong"]["message"]


def test_a_game_without_a_proof_is_open(audit: Audit, tmp_path: Path) -> None:
    done = audit(archive(tmp_path, *map(lines_of, GOOD)), "--key", KEY.public, "--proofs", proofs(tmp_path, GOOD[1:]))
    assert done.exit_code == 1
    assert "no proof was given" in words_of(done)
    assert "Something is wrong: 0. Can't be told: 1." in words_of(done)


def test_another_possible_game_is_found_by_its_proof(audit: Audit, tmp_path: Path) -> None:
    file, other = archive(tmp_path, write_record(given_up_earlier())), proofs(tmp_path)
    assert audit(file, "--without-log").exit_code == 0
    done = audit(file, "--key", KEY.public, "--proofs", other, "--json")
    assert done.exit_code == 1
    (game,) = json.loads(done.stdout)["files"][0]["games"]
    assert game["checks"] == {**dict.fromkeys(GAME_CHECKS, "holds"), "inclusion": "wrong"}


def test_another_key_does_not_hold(audit: Audit, tmp_path: Path) -> None:
    other = SigningKey(KEY.public.name, bytes(range(1, 33))).public
    done = audit(archive(tmp_path, lines_of(GOOD[0])), "--key", other, "--proofs", proofs(tmp_path))
    assert done.exit_code == 1
    assert "none of its signatures is of tic.example/log" in words_of(done)


# What can't be told


def unfinished(name: str, topic: str) -> list[bytes]:
    forger = Forger(GOLDEN[name])
    forger.end_before(topic)
    return forger.record()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (unfinished("tickle-target-as-joined", "tickle.CardDrawn"), "the game is under way"),
        (unfinished("won-with-entropy-beacon-and-seeds-held-back", "game.SeedsRevealed"), "seeds are held back until"),
    ],
)
def test_a_game_whose_seeds_are_not_out_is_not_said_to_hold(
    audit: Audit, tmp_path: Path, lines: list[bytes], said: str
) -> None:
    done = audit(archive(tmp_path, lines), "--without-log")
    assert done.exit_code == 1
    assert said in words_of(done)


def test_a_cancelled_game_holds(audit: Audit, tmp_path: Path) -> None:
    assert audit(archive(tmp_path, lines_of("poker-cancelled")), "--without-log").exit_code == 0


# The log against itself


def proof_in(tree: Tree, index: int, event: Event) -> str:
    checkpoint = Checkpoint(KEY.public.name, tree.size, tree.root(tree.size)).signed(KEY)
    return str(LogProof(index, tuple(tree.inclusion(index, tree.size)), checkpoint, str(event.game).encode()))


def written(folder: Path, name: str, *texts: str) -> Path:
    file = folder / name
    file.write_text("".join(texts), "utf-8")
    return file


def test_two_logs_of_one_size_convict_whoever_signed_them(audit: Audit, tmp_path: Path) -> None:
    """A server shows each of two players the log with another end."""
    one, other = GOLDEN["given-up"][-1], GOLDEN["poker-declared"][-1]
    behind = [leaf_hash(b"%d" % number) for number in range(400)]
    texts = [proof_in(Tree([*behind, leaf_hash(event.data)]), 400, event) for event in (one, other)]
    file = archive(tmp_path, lines_of("given-up"), lines_of("poker-declared"))
    done = audit(file, "--key", KEY.public, "--proofs", written(tmp_path, "two.tlog-proof", *texts))
    assert done.exit_code == 1
    assert "has signed two different logs of 401 events, here and in the proof of" in words_of(done)


def test_two_games_in_one_place_of_the_log_convict_whoever_signed_it(audit: Audit, tmp_path: Path) -> None:
    one, other = GOLDEN["given-up"][-1], GOLDEN["poker-declared"][-1]
    behind = [leaf_hash(b"%d" % number) for number in range(400)]
    texts = [
        proof_in(Tree([*behind, leaf_hash(event.data), *[leaf_hash(b"more")] * more]), 400, event)
        for more, event in enumerate((one, other))
    ]
    file = archive(tmp_path, lines_of("given-up"), lines_of("poker-declared"))
    done = audit(file, "--key", KEY.public, "--proofs", written(tmp_path, "two.tlog-proof", *texts))
    assert done.exit_code == 1
    assert "the event 400 of the log was proved to be another one" in words_of(done)


def kept(size: int) -> str:
    return Checkpoint(KEY.public.name, size, LOG.root(size)).signed(KEY)


def grown(old: int, new: int) -> str:
    """What /log/consistency answers."""
    root = {size: base64.b64encode(LOG.root(size)).decode() for size in (old, new)}
    path = [base64.b64encode(sibling).decode() for sibling in LOG.consistency(old, new)]
    return json.dumps({"old": old, "oldRoot": root[old], "new": new, "newRoot": root[new], "path": path}) + "\n"


def test_checkpoints_that_someone_kept_are_tied_to_that_of_the_proofs(audit: Audit, tmp_path: Path) -> None:
    file = archive(tmp_path, *map(lines_of, GOOD))
    words = file, proofs(tmp_path), "--key", KEY.public, "--checkpoints"
    texts = [kept(7), grown(7, 90), kept(90), grown(90, LOG.size)]
    done = audit(*words, written(tmp_path, "kept.txt", *texts))
    assert done.exit_code == 0, done.output
    assert f"Checkpoints of the log: 7, 90, {LOG.size} events." in words_of(done)


def test_a_kept_checkpoint_that_nothing_ties_to_the_log_is_told(audit: Audit, tmp_path: Path) -> None:
    file = archive(tmp_path, *map(lines_of, GOOD))
    words = file, proofs(tmp_path), "--key", KEY.public, "--checkpoints"
    done = audit(*words, written(tmp_path, "kept.txt", kept(7), kept(90), grown(90, LOG.size)), "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert (report["checkpoints"], report["untied"], report["holds"]) == ([7, 90, LOG.size], [7], False)


@pytest.mark.parametrize(
    "text",
    [
        "x\n",
        "{}\n",
        grown(7, 90).replace('"old": 7', '"old": 8'),
        grown(7, 90).replace("path", "way"),
        kept(7).replace("\n7\n", "\n8\n"),
        Checkpoint("other.example/log", 7, LOG.root(7)).signed(SigningKey("other.example/log", bytes(range(32)))),
    ],
)
def test_what_is_no_checkpoint_and_ties_none_is_refused_with_its_line(audit: Audit, tmp_path: Path, text: str) -> None:
    kept_ = written(tmp_path, "kept.txt", kept(90), text)
    done = audit(archive(tmp_path, lines_of("given-up")), "--key", KEY.public, "--checkpoints", kept_)
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.search(r"kept\.txt, line \d: ", words_of(done)), words_of(done)


def checked(*words: object) -> Result:
    return CliRunner().invoke(cli.app, ["log", "check", *map(str, words)])


def test_checkpoints_are_compared_with_those_of_others_without_any_game(tmp_path: Path) -> None:
    mine = written(tmp_path, "mine.txt", kept(7), grown(7, 90))
    done = checked(mine, written(tmp_path, "yours.txt", kept(90)), "--key", KEY.public)
    assert done.exit_code == 0, done.output
    assert done.stdout.split("\n")[:2] == ["           7 events  the same log", "          90 events  the same log"]


def test_what_was_not_compared_is_told_with_where_to_ask(tmp_path: Path) -> None:
    done = checked(written(tmp_path, "mine.txt", kept(7), kept(90)), "--key", KEY.public)
    assert done.exit_code == 1
    assert "7 events not shown to be the same log" in words_of(done)
    assert "/log/consistency?old=7&new=90" in words_of(done)


def test_two_checkpoints_of_one_size_that_differ_convict_whoever_signed_them(tmp_path: Path) -> None:
    other = Checkpoint(KEY.public.name, 90, leaf_hash(b"another root")).signed(KEY)
    done = checked(written(tmp_path, "mine.txt", kept(90), other), "--key", KEY.public)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "has signed two different logs of 90 events" in words_of(done)


def test_where_nothing_was_kept_nothing_is_checked(tmp_path: Path) -> None:
    done = checked(written(tmp_path, "mine.txt", "\n"), "--key", KEY.public)
    assert (done.exit_code, done.stdout) == (1, "")


def test_a_game_that_has_a_proof_and_no_record_is_told(audit: Audit, tmp_path: Path) -> None:
    file = archive(tmp_path, *map(lines_of, GOOD[1:]))
    done = audit(file, "--key", KEY.public, proofs(tmp_path))
    assert done.exit_code == 1
    assert f"a proof of game {GOLDEN[GOOD[0]][0].game}, and none of the files has it" in words_of(done)
    assert "Games that are missing: 1." in words_of(done)


# A game that is there twice


@pytest.mark.parametrize("together", [True, False])
def test_two_different_records_of_one_game_are_told_where_they_part(
    audit: Audit, tmp_path: Path, together: bool
) -> None:
    one, other = lines_of("given-up"), list(write_record(given_up_earlier()))
    files = (
        [archive(tmp_path, one, other)] if together else [archive(tmp_path, one), archive(tmp_path, other, name="b")]
    )
    report = json.loads((done := audit(*files, "--without-log", "--json")).stdout)
    games = [game for file in report["files"] for game in file["games"]]
    parting = next(number for number, (line, its) in enumerate(zip(one, other, strict=False)) if line != its)
    assert done.exit_code == 1
    assert [game["holds"] for game in games] == [True, False]
    assert (games[1]["wrong"]["check"], games[1]["wrong"]["line"]) == ("record", games[1]["line"] + parting)
    assert f"too, with another event {parting}:" in games[1]["wrong"]["message"]


def test_the_same_record_twice_is_one_game(audit: Audit, tmp_path: Path) -> None:
    done = audit(archive(tmp_path, *[lines_of("given-up")] * 2), "--without-log")
    assert done.exit_code == 0
    assert "Everything holds: 1 of 1 games, in 2 records." in words_of(done)
    assert "line 1, too" in words_of(done)


# Receipts


def test_receipts_of_clients_hold_by_id_or_by_uuid(audit: Audit, tmp_path: Path) -> None:
    events = GOLDEN["given-up"]
    by_id = receipt(events[9], game=write_id("game", events[0].game), repeated=False)
    kept = receipts(tmp_path, receipt(events[2]), by_id)
    done = audit(archive(tmp_path, lines_of("given-up")), "--without-log", "--receipts", kept, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["files"][0]["games"][0]["checks"]["receipts"] == "holds"


def test_a_receipt_that_was_kept_in_capitals_is_the_same(audit: Audit, tmp_path: Path) -> None:
    event = GOLDEN["given-up"][2]
    kept = receipts(tmp_path, receipt(event, hash=event.hash.upper()))
    done = audit(archive(tmp_path, lines_of("given-up")), "--without-log", "--receipts", kept)
    assert done.exit_code == 0, done.output


def test_a_receipt_shows_where_the_log_departs(audit: Audit, tmp_path: Path) -> None:
    kept = receipts(tmp_path, *map(receipt, GOLDEN["given-up"]))
    done = audit(archive(tmp_path, write_record(given_up_earlier())), "--without-log", "--receipts", kept, "--json")
    assert done.exit_code == 1
    wrong = json.loads(done.stdout)["files"][0]["games"][0]["wrong"]
    same = sum(one == other for one, other in zip(GOLDEN["given-up"], given_up_earlier(), strict=False))
    assert (wrong["check"], wrong["line"]) == ("receipts", same + 2)


def test_a_game_that_is_missing_is_told_by_its_receipt(audit: Audit, tmp_path: Path) -> None:
    missing = GOLDEN["poker-declared"][5]
    kept = receipts(tmp_path, receipt(GOLDEN["given-up"][5]), receipt(missing))
    file = archive(tmp_path, lines_of("given-up"))
    done = audit(file, "--without-log", "--receipts", kept, "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert (report["holds"], report["files"][0]["holds"]) == (False, True)
    assert report["missing"] == [receipt(missing)]
    people = audit(file, "--without-log", "--receipts", kept)
    assert people.exit_code == 1
    assert f"receipts of game {missing.game} ({kept}, line 2), and none of the files has it" in words_of(people)
    assert "Everything holds: 1 of 1" not in words_of(people)


@pytest.mark.parametrize(
    "line",
    ["x", "{}", "[]", '{"game":"x","version":1,"hash":"' + GENESIS + '"}', '{"game":7,"version":"1","hash":"0"}'],
)
def test_what_is_no_receipt_is_refused_with_its_line(audit: Audit, tmp_path: Path, line: str) -> None:
    kept = receipts(tmp_path, receipt(GOLDEN["given-up"][5]))
    kept.write_text(kept.read_text("utf-8") + "\n" + line + "\n", "utf-8")
    done = audit(archive(tmp_path, lines_of("given-up")), "--without-log", "--receipts", kept)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "line 3: this is not a receipt" in words_of(done)


def signed_receipts(folder: Path, *events: Event, key: SigningKey = KEY) -> Path:
    file = folder / "receipts.txt"
    notes = [Receipt(event.game, event.seq, event.hash).signed(key) for event in events]
    file.write_text("".join(notes), "utf-8")
    return file


def test_signed_receipts_hold_one_after_the_other_beside_those_that_are_not(audit: Audit, tmp_path: Path) -> None:
    file, proved = archive(tmp_path, lines_of("given-up")), proofs(tmp_path, ["given-up"])
    signed = signed_receipts(tmp_path, *GOLDEN["given-up"][4:9])
    plain = receipts(tmp_path, receipt(GOLDEN["given-up"][2]))
    words = "--key", KEY.public, "--proofs", proved, "--receipts", signed, "--receipts", plain
    done = audit(file, *words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(("signed", "said"), [(True, "that the log's key has signed"), (False, "is not signed")])
def test_whose_word_a_receipt_is_stands_where_a_log_departs_from_it(
    audit: Audit, tmp_path: Path, signed: bool, said: str
) -> None:
    told, departed = GOLDEN["given-up"], given_up_earlier()
    kept = signed_receipts(tmp_path, *told) if signed else receipts(tmp_path, *map(receipt, told))
    tree = Tree([leaf_hash(departed[-1].data)])
    checkpoint = Checkpoint(KEY.public.name, 1, tree.root(1)).signed(KEY)
    proof = tmp_path / "game.tlog-proof"
    proof.write_text(str(LogProof(0, (), checkpoint, str(told[0].game).encode())), "utf-8")
    file = archive(tmp_path, write_record(departed))
    done = audit(file, "--key", KEY.public, "--proofs", proof, "--receipts", kept)
    assert done.exit_code == 1
    assert said in words_of(done)


@pytest.mark.parametrize(
    "change",
    [
        lambda note: note.replace("\n7\n", "\n8\n"),
        lambda note: note[:-10] + "\n",
        lambda note: note.replace(GOLDEN["given-up"][6].hash, GENESIS),
    ],
)
def test_a_signed_receipt_that_was_altered_is_refused_with_its_line(
    audit: Audit, tmp_path: Path, change: Callable[[str], str]
) -> None:
    kept = signed_receipts(tmp_path, *GOLDEN["given-up"][5:7])
    first, gap, second = kept.read_text("utf-8").rpartition("tic/receipt/v1\n")
    kept.write_text(first + change(gap + second), "utf-8")
    done = audit(
        archive(tmp_path, lines_of("given-up")), "--key", KEY.public, "--proofs", proofs(tmp_path), "--receipts", kept
    )
    assert (done.exit_code, done.stdout) == (1, "")
    assert "receipts.txt, line 7: " in words_of(done)


def test_a_receipt_that_another_key_has_signed_is_refused(audit: Audit, tmp_path: Path) -> None:
    other = SigningKey("tic.example/log", bytes(range(1, 33)))
    kept = signed_receipts(tmp_path, GOLDEN["given-up"][5], key=other)
    done = audit(
        archive(tmp_path, lines_of("given-up")), "--key", KEY.public, "--proofs", proofs(tmp_path), "--receipts", kept
    )
    assert (done.exit_code, done.stdout) == (1, "")
    assert "none of its signatures is of" in words_of(done)


# How it is asked for


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["games.jsonl"],
        ["games.jsonl", "--key", str(KEY.public), "--without-log"],
        ["games.jsonl", "--proofs", "games.tlog-proof", "--without-log"],
        ["games.jsonl", "--key", "no key"],
        ["games.jsonl", "--key", "x" * 5_000],
        ["games.jsonl", "--key", str(KEY.public)[:-4]],
        ["games.jsonl", "--key", KEY.written()],
        ["--without-log"],
        ["games.jsonl", "--without-log", "--what"],
    ],
)
def test_a_wrong_call_is_a_usage_error(audit: Audit, words: list[str]) -> None:
    done = audit(*words)
    assert (done.exit_code, done.stdout) == (2, "")


def test_a_signing_key_that_is_given_by_mistake_is_not_shown(audit: Audit) -> None:
    assert KEY.written()[-20:] not in words_of(audit("games.jsonl", "--key", KEY.written()))


def test_a_file_that_can_not_be_read_is_named(audit: Audit, tmp_path: Path) -> None:
    done = audit(tmp_path / "none.jsonl", "--without-log")
    assert done.exit_code == 1
    assert "none.jsonl can't be read: No such file or directory" in words_of(done)


@pytest.mark.parametrize(
    "text",
    [
        b"x\n",
        b"\xff",
        str(LogProof(0, (), CHECKPOINT)).encode(),
        str(LogProof(0, (), CHECKPOINT, b"no game")).encode(),
        str(LogProof(0, (), CHECKPOINT, b"\xff")).encode(),
    ],
    ids=["text", "bytes", "of no game", "of something else", "of bytes"],
)
def test_what_is_no_proof_is_refused_with_its_file(audit: Audit, tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "bad.tlog-proof"
    file.write_bytes(text)
    done = audit(archive(tmp_path, lines_of("given-up")), "--key", KEY.public, "--proofs", file)
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.search(r"bad\.tlog-proof(, line 1)?: this", words_of(done))
    assert "proof" in words_of(done)
