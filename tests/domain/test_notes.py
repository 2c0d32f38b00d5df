"""Signed notes, checkpoints and proofs that stand alone: the published example, and whatever may come from outside."""

from __future__ import annotations

import base64
import pickle
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.merkle import Tree, leaf_hash, verify_inclusion
from domain.notes import (
    LONGEST_NOTE,
    LONGEST_PROOF,
    Checkpoint,
    LogProof,
    NoteKey,
    NotSigned,
    Receipt,
    SigningKey,
    claimed,
    read_checkpoint,
    read_proof,
    read_receipt,
    signed,
)

# The example of Go's package golang.org/x/mod/sumdb/note
PETERS = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SAYING = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)

LOG = SigningKey("tic.example/log", bytes(range(32)))
OTHER = SigningKey("tic.example/log", bytes(range(1, 33)))
WITNESS = SigningKey("witness.example", bytes(range(2, 34)))
CHECKPOINT = Checkpoint("tic.example/log", 1234, leaf_hash(b"root"))
NOTE = CHECKPOINT.signed(LOG)


def test_the_published_example_is_signed_as_published() -> None:
    key = SigningKey.parse(PETERS)
    assert str(key.public) == PETER
    assert signed(SAYING, key) == f"{SAYING}\n{SIGNATURE}"


def test_the_published_key_verifies_the_published_signature() -> None:
    raw = base64.b64decode(SIGNATURE.split()[2])
    key = NoteKey.parse(PETER)
    assert raw[:4] == key.id
    assert key.verify(SAYING, raw[4:])
    assert not key.verify(SAYING + " ", raw[4:])


# Keys


def test_a_key_is_read_as_it_was_written() -> None:
    key = SigningKey.new("tic.example/log")
    assert SigningKey.parse(key.written()).public == key.public == NoteKey.parse(str(key.public))
    assert SigningKey.parse(f"{key.written()}\n").public == key.public


def test_two_new_keys_are_not_the_same() -> None:
    assert SigningKey.new("one").public.public != SigningKey.new("one").public.public


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u00a0b", "a\u2028b", "a\x7f", "x" * 201])
def test_no_key_has_the_name(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a key"):
        SigningKey.new(name)


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "++", "PeterNeumann", "PeterNeumann+c74f20a3", "PeterNeumann+c74f20a3+", PETER[:-4], PETER + "AAAA"),
        PETER.replace("c74f20a3", "c74f20a4"),
        PETER.replace("c74f20a3", "C74F20A3"),
        PETER.replace("Peter", "Pieter"),
        PETER.replace("+AR", "+AB"),
        PETER.replace("10TW", "10TX"),
        "PeterNeumann+c74f20a3+é",
        PETERS,
    ],
)
def test_no_verifying_key_is(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|base64"):
        NoteKey.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", PETER, PETERS[:-4], PETERS + "AAAA", PETERS.replace("PRIVATE", "PUBLIC"), PETERS.replace("+AY", "+BY")),
        PETERS.replace("c74f20a3", "c74f20a4"),
        PETERS.replace("Peter", "Pieter"),
        PETERS.replace("HKDFz", "HKDF0"),
        PETERS.replace("HKDFz", "HKDF\u00e9"),
    ],
)
def test_no_signing_key_is_and_no_error_shows_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|base64") as refusal:
        SigningKey.parse(text)
    told = "".join(traceback.format_exception(refusal.value))
    assert "AYEKFALV" not in told


def test_a_signing_key_is_shown_nowhere() -> None:
    key = SigningKey.parse(PETERS)
    secret = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
    for shown in (repr(key), str(key), f"{key}", repr(vars(key)), repr([key])):
        assert "AYEKFALV" not in shown
        assert secret.hex() not in shown
        assert repr(secret) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(key)


# Notes


@pytest.mark.parametrize("text", ["", "no line feed", "a tab\t\n", "a return\r\n", "\x00\n", "\ud800\n"])
def test_no_note_has_the_text(text: str) -> None:
    with pytest.raises(ValueError, match="the text of a note"):
        signed(text, LOG)


def test_a_checkpoint_is_written_as_the_specification_has_it() -> None:
    text, _, below = NOTE.rpartition("\n\n")
    assert text.split("\n") == ["tic.example/log", "1234", base64.b64encode(CHECKPOINT.root).decode()]
    assert below.startswith("— tic.example/log ")


def test_a_checkpoint_is_read_as_it_was_signed() -> None:
    assert read_checkpoint(NOTE, LOG.public) == claimed(NOTE) == CHECKPOINT


def test_a_checkpoint_may_bear_signatures_of_others_and_more_lines() -> None:
    text = CHECKPOINT.text() + "an extension\n"
    assert read_checkpoint(signed(text, WITNESS, LOG, OTHER), LOG.public) == CHECKPOINT


ROOT = base64.b64encode(CHECKPOINT.root).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"another.example/log\n1234\n{ROOT}\n",
        "tic.example/log\n1234\n",
        "tic.example/log\n",
        f"tic.example/log\n01234\n{ROOT}\n",
        f"tic.example/log\n-1\n{ROOT}\n",
        f"tic.example/log\n+1\n{ROOT}\n",
        f"tic.example/log\n1 \n{ROOT}\n",
        f"tic.example/log\n\u0661\n{ROOT}\n",
        f"tic.example/log\n{10**18}\n{ROOT}\n",
        f"tic.example/log\n1234\n{ROOT[:-4]}\n",
        f"tic.example/log\n1234\n{ROOT[:-2]}B=\n",
        f"tic.example/log\n1234\n {ROOT}\n",
        f"tic.example/log\n1234\n{ROOT}\n\nmore\n",
        f"\n1234\n{ROOT}\n",
    ],
)
def test_what_is_signed_and_no_checkpoint_of_the_log_is_refused(text: str) -> None:
    with pytest.raises(NotSigned, match="checkpoint"):
        read_checkpoint(signed(text, LOG), LOG.public)


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("", "no signatures"),
        (CHECKPOINT.text(), "no signatures"),
        (CHECKPOINT.text() + "\n", "no signatures"),
        (NOTE.removesuffix("\n"), "no signatures"),
        (NOTE + "\n", "no signature"),
        (NOTE + "more\n", "no signature"),
        (NOTE.replace("— ", "- "), "no signature"),
        (NOTE.replace("1234", "1235"), "was altered"),
        (NOTE + "x" * LONGEST_NOTE, "too long"),
        (NOTE.replace("\n", "\r\n"), "control characters"),
        (NOTE.replace("log\n", "log\ud800\n", 1), "control characters"),
        (NOTE + NOTE.splitlines()[-1].rpartition(" ")[0] + " AAAA\n", "no signature"),
        (CHECKPOINT.signed(OTHER), "none of its signatures"),
        (CHECKPOINT.signed(WITNESS), "none of its signatures"),
        (CHECKPOINT.text() + "\n" + "".join(NOTE.splitlines(keepends=True)[-1:] * 101), "no signatures"),
    ],
)
def test_what_the_key_has_not_signed_is_refused(note: str, told: str) -> None:
    with pytest.raises(NotSigned, match=told):
        read_checkpoint(note, LOG.public)


def test_a_wrong_signature_of_the_key_is_refused_beside_a_right_one() -> None:
    wrong = base64.b64encode(LOG.public.id + bytes(64)).decode()
    with pytest.raises(NotSigned, match="was altered"):
        read_checkpoint(f"{NOTE}— tic.example/log {wrong}\n", LOG.public)


@settings(max_examples=400)
@given(at=st.integers(0, len(NOTE) - 1), to=st.characters(codec=None))
def test_no_character_of_a_checkpoint_can_be_another(at: int, to: str) -> None:
    other = NOTE[:at] + to + NOTE[at + 1 :]
    if other == NOTE:
        return
    with pytest.raises(NotSigned):
        read_checkpoint(other, LOG.public)


PIECES = st.sampled_from(
    [*NOTE.splitlines(keepends=True), "\n", "— ", "tic.example/log", "0", " ", "=", "\ud800", "\0"]
)
hostile = st.text(max_size=300) | st.lists(PIECES, max_size=12).map("".join)


@settings(max_examples=300)
@given(hostile)
@example("\n\n\n")
def test_whatever_comes_for_a_checkpoint_is_read_or_refused(text: str) -> None:
    for read in (lambda: read_checkpoint(text, LOG.public), lambda: claimed(text)):
        read_or_refused(read, NotSigned)


def read_or_refused(read: Callable[[], Any], refusal: type[Exception]) -> None:
    with suppress(refusal):
        read()


@settings(max_examples=300)
@given(hostile | st.text("+Aa0=", max_size=90) | st.text(max_size=40).map(PETERS.__add__))
def test_whatever_comes_for_a_key_is_read_or_refused(text: str) -> None:
    read_or_refused(lambda: NoteKey.parse(text), ValueError)
    read_or_refused(lambda: SigningKey.parse(text), ValueError)


# Proofs that stand alone

TREE = Tree(leaf_hash(b"%d" % number) for number in range(11))
PROOF = LogProof(6, tuple(TREE.inclusion(6, 11)), Checkpoint("tic.example/log", 11, TREE.root(11)).signed(LOG))


@pytest.mark.parametrize("extra", [b"", b"more"])
def test_a_proof_is_read_as_it_was_written_and_holds(extra: bytes) -> None:
    written = LogProof(PROOF.index, PROOF.path, PROOF.checkpoint, extra)
    proof = read_proof(str(written))
    checkpoint = read_checkpoint(proof.checkpoint, LOG.public)
    verify_inclusion(leaf_hash(b"6"), proof.index, checkpoint.size, proof.path, checkpoint.root)
    assert proof == written


def test_a_proof_is_written_as_the_specification_has_it() -> None:
    first, second, *path = str(PROOF).split("\n\n")[0].split("\n")
    assert (first, second) == ("c2sp.org/tlog-proof@v1", "index 6")
    assert path == [base64.b64encode(sibling).decode() for sibling in PROOF.path]
    assert str(PROOF).endswith(f"\n\n{PROOF.checkpoint}")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text.replace("@v1", "@v2"),
        lambda text: text.replace("index 6", "index 06"),
        lambda text: text.replace("index 6", "index -6"),
        lambda text: text.replace("index 6\n", ""),
        lambda text: text.replace("index 6", "index 6\nextra AAAA"),
        lambda text: text.replace("index 6", "extra \nindex 6"),
        lambda text: text.replace("index 6", "index 6\nAAAA"),
        lambda text: text.replace("index 6", "index 6\n" + "\n".join([ROOT] * 64)),
        lambda text: text.partition("\n\n")[0],
        lambda text: text + "x" * LONGEST_PROOF,
    ],
)
def test_no_proof_is(change: Callable[[str], str]) -> None:
    with pytest.raises(ValueError, match=r"proof|base64"):
        read_proof(change(str(PROOF)))


@settings(max_examples=300)
@given(hostile | st.lists(st.sampled_from(str(PROOF).splitlines(keepends=True)), max_size=12).map("".join))
def test_whatever_comes_for_a_proof_is_read_or_refused(text: str) -> None:
    read_or_refused(lambda: read_proof(text), ValueError)


# Receipts

RECEIPT = Receipt(UUID(int=5), 12, leaf_hash(b"event").hex())
KEPT = RECEIPT.signed(LOG)


def test_a_receipt_is_read_as_it_was_signed() -> None:
    read = read_receipt(KEPT, LOG.public)
    assert (read.game, read.version, read.hash, read.vouched) == (RECEIPT.game, 12, RECEIPT.hash, True)


def test_without_a_key_a_receipt_is_not_vouched_for() -> None:
    assert read_receipt(KEPT, None) == RECEIPT


@settings(max_examples=400)
@given(at=st.integers(0, len(KEPT) - 1), to=st.characters(codec=None))
def test_no_character_of_a_receipt_can_be_another(at: int, to: str) -> None:
    other = KEPT[:at] + to + KEPT[at + 1 :]
    if other == KEPT:
        return
    with pytest.raises(NotSigned):
        read_receipt(other, LOG.public)


def test_a_receipt_that_another_key_has_signed_is_refused() -> None:
    with pytest.raises(NotSigned, match="none of its signatures"):
        read_receipt(RECEIPT.signed(OTHER), LOG.public)


@pytest.mark.parametrize(
    "text",
    [
        "tic/receipt/v2\n" + RECEIPT.text().split("\n", 1)[1],
        RECEIPT.text().replace("12", "012"),
        RECEIPT.text() + "more\n",
        RECEIPT.text().replace(RECEIPT.hash, RECEIPT.hash.upper()),
        RECEIPT.text().replace(str(RECEIPT.game), RECEIPT.game.hex),
        RECEIPT.text().replace(str(RECEIPT.game), "x"),
        CHECKPOINT.text(),
    ],
)
def test_what_is_signed_and_no_receipt_is_refused(text: str) -> None:
    with pytest.raises(NotSigned, match="no receipt"):
        read_receipt(signed(text, LOG), LOG.public)


def test_a_receipt_is_no_checkpoint_whatever_the_log_is_called() -> None:
    key = SigningKey("tic/receipt/v1", bytes(range(32)))
    with pytest.raises(NotSigned, match="no checkpoint"):
        read_checkpoint(RECEIPT.signed(key), key.public)


@settings(max_examples=300)
@given(hostile | st.lists(st.sampled_from(KEPT.splitlines(keepends=True)), max_size=12).map("".join))
def test_whatever_comes_for_a_receipt_is_read_or_refused(text: str) -> None:
    for key in (LOG.public, None):
        read_or_refused(lambda key=key: read_receipt(text, key), NotSigned)  # type: ignore[misc]
