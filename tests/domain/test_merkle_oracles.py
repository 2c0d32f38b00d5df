"""The tree and its notes against programs that others have written.

- Go's `golang.org/x/mod/sumdb`, which its checksum database stands on. It needs `go` and that module's source: on
  Debian the packages `golang-go` and `golang-golang-x-mod-dev`.
- `pymerkle`, from the package index.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from domain.merkle import (
    HASH_BYTES,
    Tree,
    leaf_hash,
    read_tile_path,
    tile_path,
    verify_consistency,
    verify_inclusion,
)
from domain.notes import Checkpoint, SigningKey, read_checkpoint, signed

ORACLE = Path(__file__).parent.parent / "oracles" / "tlog.go"
GOPATH = Path(os.environ.get("TIC_TEST_GOPATH", "/usr/share/gocode"))

ENTRIES = 66_000
"""More than a whole tile of the second level."""
SIZES = [1, 2, 3, 7, 8, 255, 256, 257, 511, 1_000, 65_535, 65_536, 65_537, ENTRIES]
INCLUSIONS = sorted({(share * (size - 1) // 4, size) for size in SIZES for share in range(5)})
GROWTHS = sorted({(max(1, size * share // 5), size) for size in SIZES for share in range(1, 6)})
KEY = SigningKey("tic.example/log", bytes(range(32)))


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(leaf_hash(b"event %d" % number) for number in range(ENTRIES))


@pytest.fixture(scope="module")
def notes(tree: Tree) -> list[str]:
    """A checkpoint that is signed, and some that are not."""
    checkpoint = Checkpoint(KEY.public.name, ENTRIES, tree.root(ENTRIES))
    note = checkpoint.signed(KEY)
    another = SigningKey(KEY.public.name, bytes(32))
    return [
        note,
        signed(checkpoint.text(), another, KEY),
        checkpoint.signed(another),
        note.replace("66000", "66001"),
        note + "\n",
        note.removesuffix("\n"),
    ]


@pytest.fixture(scope="module")
def answers(notes: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What Go says."""
    go = shutil.which("go")
    if go is None or not (GOPATH / "src/golang.org/x/mod/sumdb/tlog").is_dir():
        pytest.skip("it takes Go and golang.org/x/mod: apt-get install golang-go golang-golang-x-mod-dev")
    question = {
        "entries": ENTRIES,
        "sizes": SIZES,
        "inclusions": INCLUSIONS,
        "growths": GROWTHS,
        "key": str(KEY.public),
        "notes": notes,
        "signing_key": KEY.written(),
        "text": "a text\nof two lines\n",
    }
    folder = tmp_path_factory.mktemp("go")
    environment = {"GO111MODULE": "off", "GOPATH": str(GOPATH), "GOCACHE": str(folder), "HOME": str(folder)}
    run = subprocess.run(
        [go, "run", str(ORACLE)],
        input=json.dumps(question),
        env={**environment, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def base64s(hashes: list[bytes]) -> list[str]:
    return [base64.b64encode(each).decode() for each in hashes]


def test_go_comes_to_the_same_roots(tree: Tree, answers: Any) -> None:
    assert base64s([tree.root(size) for size in SIZES]) == answers["roots"]


def test_go_proves_leaves_and_growth_with_the_same_hashes(tree: Tree, answers: Any) -> None:
    assert [base64s(tree.inclusion(*pair)) for pair in INCLUSIONS] == answers["inclusions"]
    assert [base64s(tree.consistency(*pair)) for pair in GROWTHS] == answers["growths"]


def test_go_keeps_the_same_tiles_at_the_same_paths(tree: Tree, answers: Any) -> None:
    theirs = {path.removeprefix("tile/8/"): base64.b64decode(tile) for path, tile in answers["tiles"].items()}
    ids = {path: read_tile_path(path) for path in theirs}
    assert {id for id, _ in ids.values()} == tree.tiles.keys()
    assert theirs == {path: tree.tiles[id][: HASH_BYTES * width] for path, (id, width) in ids.items()}
    assert {tile_path(id, len(tile) // HASH_BYTES) for id, tile in tree.tiles.items()} <= theirs.keys()


def test_go_opens_the_notes_that_we_sign_and_no_others(notes: list[str], answers: Any) -> None:
    text = notes[0].rpartition("\n\n")[0] + "\n"
    assert answers["opened"] == [text, text, "", "", "", ""]


def test_go_signs_as_we_do(answers: Any) -> None:
    assert answers["signed"] == signed("a text\nof two lines\n", KEY)


def test_a_checkpoint_that_go_opens_is_what_we_read(tree: Tree, notes: list[str]) -> None:
    assert read_checkpoint(notes[1], KEY.public).root == tree.root(ENTRIES)


def test_pymerkle_comes_to_the_same_roots_and_proofs() -> None:
    pymerkle = pytest.importorskip("pymerkle")
    theirs, ours = pymerkle.InmemoryTree(algorithm="sha256"), Tree()
    for number in range(70):
        theirs.append_entry(b"event %d" % number)
        ours.append([leaf_hash(b"event %d" % number)])
        size = number + 1
        root = ours.root(size)
        assert theirs.get_root(size) == root
        for index in range(0, size, 3):
            path = ours.inclusion(index, size)
            assert theirs.prove_inclusion(index + 1, size).path[1:] == path
            verify_inclusion(leaf_hash(b"event %d" % index), index, size, path, root)
        for old in range(1, size, 3):
            proof = theirs.prove_consistency(old, size)
            pymerkle.verify_consistency(ours.root(old), root, proof)
            verify_consistency(old, ours.root(old), size, root, ours.consistency(old, size))
