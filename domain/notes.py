"""Signed notes: the checkpoints of a log, proofs that stand alone, and receipts; in the formats of the C2SP.

- A *note* is text with signatures of named Ed25519 keys (c2sp.org/signed-note).
- A *checkpoint* is a note that says how many leaves a log has, and its root (c2sp.org/tlog-checkpoint).
- A *proof* is a checkpoint with the place of one entry and its way to the root (c2sp.org/tlog-proof@v1).
- A *receipt* is a note that says which event was a game's last when a command was answered.

Keys are written as Go's ``golang.org/x/mod/sumdb/note`` writes them, so its tools read them as they are.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = [
    "LONGEST_PROOF",
    "PROOF",
    "RECEIPT",
    "Checkpoint",
    "LogProof",
    "NotSigned",
    "NoteKey",
    "Receipt",
    "SigningKey",
    "read_checkpoint",
]
__all__ += ["read_proof", "read_receipt", "signed"]

ED25519: Final = b"\x01"
"""The type of signature, as signed-note numbers them."""
MOST_SIGNATURES: Final = 100
LONGEST_NOTE: Final = 128 * 1024
"""In characters: sixteen signatures of post-quantum keys must find room."""
MOST_HASHES: Final = 63
"""Of a path to the root of a tree that one could fill."""
PROOF: Final = "c2sp.org/tlog-proof@v1"
LONGEST_PROOF: Final = 2 * LONGEST_NOTE
RECEIPT: Final = "tic/receipt/v1"
"""The first line of a receipt. No checkpoint's second line is a UUID, so neither can pass for the other."""

_NAME: Final = re.compile(r"[^\s+\x00-\x1f\x7f]{1,200}")
_SIGNATURE: Final = re.compile(r"— (\S+) (\S+)")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class NotSigned(ValueError):
    """A note is not what it should be, or not signed by the key."""


@dataclass(frozen=True, slots=True)
class NoteKey:
    """A key that verifies: a name, and an Ed25519 public key of 32 bytes."""

    name: str
    public: bytes

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError("the name of a key has no spaces and no +, and at most 200 characters")
        if len(self.public) != 32:
            raise ValueError("an Ed25519 public key has 32 bytes")

    @property
    def id(self) -> bytes:
        """The first four bytes of a hash of the name and the key: it tells keys of one name apart."""
        return _key_id(self.name, self.public)

    def __str__(self) -> str:
        """Write the key as text: ``name+id+key``."""
        return f"{self.name}+{self.id.hex()}+{_base64(ED25519 + self.public)}"

    @classmethod
    def parse(cls, text: str) -> NoteKey:
        """Read a key.

        Raises:
            ValueError: it is none, or not an Ed25519 key.
        """
        name, id_, key = _parts(text.strip(), 3)
        found = cls(name, _of_ed25519(key))
        if found.id.hex() != id_:
            raise ValueError("the id of this key does not fit it: it was cut or altered")
        return found

    def verify(self, text: str, signature: bytes) -> bool:
        """Tell whether a signature of a text is this key's."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """A key that signs. Its repr shows the public half only."""

    def __init__(self, name: str, private: bytes) -> None:
        self._private: Final = Ed25519PrivateKey.from_private_bytes(private)
        self.public: Final = NoteKey(name, self._private.public_key().public_bytes_raw())

    @classmethod
    def new(cls, name: str) -> SigningKey:
        """Make a new key."""
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> SigningKey:
        """Read a key that was written with ``written``.

        Raises:
            ValueError: it is none. The message does not show it.
        """
        head, middle, name, id_, key = _parts(text.strip(), 5)
        if (head, middle) != ("PRIVATE", "KEY"):
            raise ValueError("this is not a signing key: it begins with PRIVATE+KEY+")
        found = cls(name, _of_ed25519(key))
        if found.public.id.hex() != id_:
            raise ValueError("the id of this key does not fit it: it was cut or altered")
        return found

    def written(self) -> str:
        """Write the key, private half and all."""
        secret = _base64(ED25519 + self._private.private_bytes_raw())
        return f"PRIVATE+KEY+{self.public.name}+{self.public.id.hex()}+{secret}"

    def sign(self, text: str) -> bytes:
        """Return the signature of a text."""
        return self._private.sign(text.encode())

    def __repr__(self) -> str:
        return f"<SigningKey {self.public}>"


def _key_id(name: str, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + public).digest()[:4]


def _parts(text: str, number: int) -> list[str]:
    parts = text.split("+", number - 1)
    if len(parts) != number:
        raise ValueError(f"a key has {number} parts with + between them")
    return parts


def _of_ed25519(key: str) -> bytes:
    raw = _bytes(key)
    if raw[:1] != ED25519 or len(raw) != 33:
        raise ValueError("only Ed25519 keys are known here")
    return raw[1:]


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _bytes(text: str) -> bytes:
    """Read base64, and only as we would write it: one text for each value.

    Raises:
        ValueError: it is not that.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = b""
    if not raw or _base64(raw) != text:
        raise ValueError("this is not base64")
    return raw


# Notes


def signed(text: str, *keys: SigningKey) -> str:
    """Return a text as a note that the keys have signed.

    Raises:
        ValueError: the text can't be one: it has no line feed at its end, or control characters.
    """
    if not text.endswith("\n") or not _is_plain(text):
        raise ValueError("the text of a note is Unicode, ends with a line feed, and has no other control characters")
    lines = (f"— {key.public.name} {_base64(key.public.id + key.sign(text))}\n" for key in keys)
    return f"{text}\n{''.join(lines)}"


def _is_plain(text: str) -> bool:
    """Tell whether a text has no control characters but line feeds, and can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return not any(character < " " and character != "\n" for character in text)


def _opened(note: str, keys: Sequence[NoteKey]) -> str:
    """Return the text of a note that one of the keys has signed; signatures of others are passed over.

    Raises:
        NotSigned: it is no note, none of the keys has signed it, or a signature of theirs is wrong.
    """
    if len(note) > LONGEST_NOTE or not _is_plain(note):
        raise NotSigned("this is not a signed note: it is too long, or has control characters")
    text, gap, below = note.rpartition("\n\n")
    lines = below.removesuffix("\n").split("\n")
    if not gap or not below.endswith("\n") or len(lines) > MOST_SIGNATURES:
        raise NotSigned("this is not a signed note: no signatures follow an empty line")
    text, known, found = text + "\n", {(key.name, key.id): key for key in keys}, False
    for line in lines:
        match = _SIGNATURE.fullmatch(line)
        try:
            raw = _bytes(match[2]) if match else b""
        except ValueError:
            raw = b""
        if match is None or len(raw) <= 4:
            raise NotSigned("this is not a signed note: a line below the text is no signature")
        if key := known.get((match[1], raw[:4])):
            if not key.verify(text, raw[4:]):
                raise NotSigned(f"the signature of {key.name} is wrong: the text was altered after it was signed")
            found = True
    if not found:
        raise NotSigned(f"none of its signatures is of {' or '.join(str(key) for key in keys) or 'a known key'}")
    return text


# Checkpoints


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a log was, and what it held."""

    origin: str
    """Names the log."""
    size: int
    """Its leaves."""
    root: bytes

    def text(self) -> str:
        """Write it as the text of a note."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"

    def signed(self, key: SigningKey) -> str:
        """Write it as a note, signed."""
        return signed(self.text(), key)


def read_checkpoint(note: str, key: NoteKey) -> Checkpoint:
    """Read a checkpoint of the log that bears the name of a key, which must have signed it.

    Raises:
        NotSigned: it is none, of another log, or not signed by that key.
    """
    found = _checkpoint(_opened(note, [key]))
    if found.origin != key.name:
        raise NotSigned(f"it is a checkpoint of {found.origin!r}, not of {key.name!r}")
    return found


def claimed(note: str) -> Checkpoint:
    """Return what a checkpoint says, whoever has signed it: good where it is only passed on to those who verify it.

    Raises:
        NotSigned: it is none.
    """
    text, gap, _ = note.rpartition("\n\n")
    if not gap or len(note) > LONGEST_NOTE:
        raise NotSigned("this is not a signed note: it is too long, or no signatures follow an empty line")
    return _checkpoint(text + "\n")


def _checkpoint(text: str) -> Checkpoint:
    origin, *lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or not origin or not all(lines) or not _NUMBER.fullmatch(lines[0]):
        raise NotSigned("this is no checkpoint: it tells no number of leaves and root")
    try:
        root = _bytes(lines[1])
    except ValueError:
        root = b""
    if len(root) != hashlib.sha256().digest_size:
        raise NotSigned("this is no checkpoint: its root is not a hash")
    return Checkpoint(origin, int(lines[0]), root)


# Receipts


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was answered to a command: a game's version, and the hash of its last event."""

    game: UUID
    version: int
    hash: str
    """In hex."""
    vouched: bool = False
    """Whether the log's key has signed it. If not, it is the word of whoever shows it."""
    source: str = field(default="", compare=False)
    """Where it was found, for whoever is told of it."""

    def text(self) -> str:
        """Write it as the text of a note."""
        return f"{RECEIPT}\n{self.game}\n{self.version}\n{self.hash}\n"

    def signed(self, key: SigningKey) -> str:
        """Write it as a note, signed."""
        return signed(self.text(), key)


def read_receipt(note: str, key: NoteKey | None) -> Receipt:
    """Read a receipt, which the key must have signed; without a key, what it says is not vouched for.

    Raises:
        NotSigned: it is none, or not signed by that key.
    """
    text = note.rpartition("\n\n")[0] + "\n" if key is None else _opened(note, [key])
    first, *lines = text.split("\n")
    if first != RECEIPT or len(lines) != 4 or not _NUMBER.fullmatch(lines[1]) or not _DIGEST.fullmatch(lines[2]):
        raise NotSigned(f"this is no receipt: {RECEIPT!r}, a game, a version and a hash, each a line")
    try:
        game = UUID(lines[0])
    except ValueError:
        game = None
    if game is None or str(game) != lines[0]:
        raise NotSigned("this is no receipt: it does not name a game by its UUID")
    return Receipt(game, int(lines[1]), lines[2], vouched=key is not None)


# Proofs that stand alone


@dataclass(frozen=True, slots=True)
class LogProof:
    """Where an entry is in a log, its way to the root, and the checkpoint with that root, as it was signed."""

    index: int
    """From 0."""
    path: tuple[bytes, ...]
    checkpoint: str
    extra: bytes = b""
    """Whatever helps whoever verifies. It is not signed."""

    def __str__(self) -> str:
        """Write it as text."""
        extra = f"extra {_base64(self.extra)}\n" if self.extra else ""
        hashes = "".join(f"{_base64(sibling)}\n" for sibling in self.path)
        return f"{PROOF}\n{extra}index {self.index}\n{hashes}\n{self.checkpoint}"


def read_proof(text: str) -> LogProof:
    """Read a proof; nothing is verified yet.

    Raises:
        ValueError: it is none.
    """
    head, gap, checkpoint = text.partition("\n\n")
    first, *lines = head.split("\n")
    if first != PROOF or not gap or len(text) > LONGEST_PROOF:
        raise ValueError(f"this is not a proof: its first line is {PROOF!r}, and a checkpoint follows an empty line")
    extra = _bytes(lines.pop(0).removeprefix("extra ")) if lines and lines[0].startswith("extra ") else b""
    index = lines.pop(0).removeprefix("index ") if lines and lines[0].startswith("index ") else ""
    if not _NUMBER.fullmatch(index):
        raise ValueError("this is not a proof: it does not say `index` and the number of an entry")
    path = tuple(_bytes(line) for line in lines)
    if len(path) > MOST_HASHES or any(len(sibling) != hashlib.sha256().digest_size for sibling in path):
        raise ValueError("this is not a proof: its path is not made of hashes")
    return LogProof(int(index), path, checkpoint, extra)
