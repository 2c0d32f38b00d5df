"""The sealed seeds: apart from the events, encrypted by the server's key, for nobody but the server.

A seed is drawn and committed before the event that opens its game. If that event then fails, the orphan is
harmless, and the same opening command finds the same seed again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from psycopg.rows import DictRow

from domain.datastore import CONFIRMING
from domain.dealing import SEED_BYTES, Seeds
from domain.storage import Datastore

__all__ = ["TABLES", "Keyring", "NotSealedHere", "SealError", "ServerKey", "Vault"]

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12

TABLES: Final = """
CREATE TABLE IF NOT EXISTS public.sealed_seeds (
    deal uuid PRIMARY KEY,
    deals smallint NOT NULL,
    key_id text NOT NULL,
    sealed bytea NOT NULL,
    drawn_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS sealed_seeds_key_id_idx ON public.sealed_seeds (key_id);
REVOKE ALL ON public.sealed_seeds FROM PUBLIC;
"""


class SealError(Exception):
    """A sealed seed can't be opened with the keys at hand, or a key can't be read."""


class NotSealedHere(SealError):
    """There is no sealed seed of that deal."""


class ServerKey:
    """A secret key of the server, 256 bits. Its id tells which it is; its repr shows no more."""

    __slots__ = ("_cipher", "_secret", "id")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise SealError(f"a server key has {KEY_BYTES} bytes, written in base64")
        self._secret: Final = secret
        self._cipher: Final = AESGCM(secret)
        self.id: Final = hashlib.sha256(b"tic/server-key/v1\n" + secret).hexdigest()[:16]

    @classmethod
    def generate(cls) -> ServerKey:
        """Make a new key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def parse(cls, line: str) -> ServerKey:
        """Read a key as ``write`` gives it.

        Raises:
            SealError: it is not a key; the message does not repeat it.
        """
        try:
            return cls(base64.b64decode(line.strip(), validate=True))
        except binascii.Error:
            raise SealError(f"a server key has {KEY_BYTES} bytes, written in base64") from None

    def write(self) -> str:
        """Return the secret in base64, for a key file and nothing else."""
        return base64.b64encode(self._secret).decode("ascii")

    def seal(self, secret: bytes, context: bytes) -> bytes:
        """Encrypt with AES-256-GCM; ``context`` is authenticated along."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, context)

    def unseal(self, sealed: bytes, context: bytes) -> bytes:
        """Decrypt what ``seal`` gave.

        Raises:
            SealError: it was altered, or sealed by another key or for another context.
        """
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
        except (InvalidTag, ValueError):  # a nonce that was cut short is no nonce
            raise SealError(f"a seal of key {self.id} is broken") from None

    def __repr__(self) -> str:
        return f"<ServerKey {self.id}>"


class Keyring:
    """The server's keys: the first seals, all of them open."""

    def __init__(self, keys: Iterable[ServerKey]) -> None:
        self.keys: Final = tuple(keys)
        if not self.keys:
            raise SealError("there is no server key: make one with `tic key new`")
        self._by_id: Final = {key.id: key for key in self.keys}

    @classmethod
    def parse(cls, text: str) -> Keyring:
        """Read a key file: a key a line, the current one first; empty lines and lines with ``#`` are passed over.

        Raises:
            SealError: there is no key, or a line is none.
        """
        lines = (line.strip() for line in text.splitlines())
        return cls(ServerKey.parse(line) for line in lines if line and not line.startswith("#"))

    def write(self) -> str:
        """Return the text of a key file."""
        return "".join(f"{key.write()}\n" for key in self.keys)

    def rotated(self) -> Keyring:
        """Return a keyring in which a new key seals."""
        return Keyring((ServerKey.generate(), *self.keys))

    def without(self, key_ids: Iterable[str]) -> Keyring:
        """Return a keyring that lacks these keys.

        Raises:
            SealError: no key is left.
        """
        dropped = set(key_ids)
        return Keyring(key for key in self.keys if key.id not in dropped)

    @property
    def current(self) -> ServerKey:
        """The key that seals."""
        return self.keys[0]

    @property
    def old(self) -> tuple[str, ...]:
        """The ids of the keys that open and seal no longer."""
        return tuple(key.id for key in self.keys[1:])

    def key(self, key_id: str) -> ServerKey:
        """Return the key with that id.

        Raises:
            SealError: the server was not given it.
        """
        try:
            return self._by_id[key_id]
        except KeyError:
            had = ", ".join(self._by_id)
            raise SealError(
                f"a seed is sealed by key {key_id}; this server has {had}. Add the key to its file"
            ) from None

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._by_id

    def __repr__(self) -> str:
        return f"<Keyring {', '.join(self._by_id)}>"


class Vault:
    """The table of sealed seeds."""

    def __init__(self, datastore: Datastore, keys: Keyring | Callable[[], Keyring]) -> None:
        """Take the keys, or what tells them anew each time, so that a rotation needs no restart."""
        self._datastore: Final = datastore
        self._keys: Final = keys

    @property
    def keyring(self) -> Keyring:
        """The keys as they are now."""
        return self._keys if isinstance(self._keys, Keyring) else self._keys()

    def draw(self, deal: UUID, deals: int) -> Seeds:
        """Return the seeds of a deal, drawn now if it has none, and on disk before this returns.

        Raises:
            SealError: it has seeds that can't be opened.
            NotReplicated: they may not be on the standby.
            OperationalError: the database is away.
        """
        key = self.keyring.current
        sealed = key.seal(secrets.token_bytes(SEED_BYTES), _context(deal, deals, key.id))
        rows = self._datastore.read(_DRAW, (deal, deals, key.id, sealed, deal))
        return self._unsealed(deal, rows[0]) if rows else self.draw(deal, deals)  # someone drew it at the same time

    def open(self, deal: UUID) -> Seeds:
        """Return the seeds of a deal.

        Raises:
            NotSealedHere: there are none.
            SealError: they can't be opened.
            OperationalError: the database is away.
        """
        rows = self._datastore.read(_OPEN, (deal,))
        if not rows:
            raise NotSealedHere(f"there is no sealed seed of deal {deal}")
        return self._unsealed(deal, rows[0])

    def _unsealed(self, deal: UUID, row: DictRow) -> Seeds:
        context = _context(deal, row["deals"], row["key_id"])
        last = self.keyring.key(row["key_id"]).unseal(row["sealed"], context)
        return Seeds.backwards(deal, last=last, deals=row["deals"])

    def must_open_some(self) -> None:
        """Make sure that the keys are those of this database, or some of them.

        Raises:
            SealError: there are seeds, and another key than those at hand seals each of them.
            OperationalError: the database is away.
        """
        keyring, used = self.keyring, self._used()
        if used and not any(key_id in keyring for key_id in used):
            keyring.key(used[0])

    def lost(self) -> dict[str, int]:
        """Count the seeds whose key is not at hand, by the id of that key.

        However many seeds there are, those that can be opened are not looked at one by one.

        Raises:
            OperationalError: the database is away.
        """
        keyring = self.keyring
        missing = [key_id for key_id in self._used() if key_id not in keyring]
        return self.sealed_by(missing) if missing else {}

    def _used(self) -> list[str]:
        return [row["key_id"] for row in self._datastore.read(_KEYS, ())]

    def sealed_by(self, key_ids: Iterable[str]) -> dict[str, int]:
        """Count the seeds that each of these keys seals; those that seal none are left out.

        Raises:
            OperationalError: the database is away.
        """
        return {row["key_id"]: row["seeds"] for row in self._datastore.read(_COUNT, (list(key_ids),))}

    def to_reseal(self) -> int:
        """Count the seeds that an old key of the keyring seals."""
        return sum(self.sealed_by(self.keyring.old).values())

    def reseal(self, progress: Callable[[int], None], *, batch: int = 500) -> None:
        """Seal every seed by the current key; ``progress`` is told how many more were gone through.

        One that can't be opened stays as it is: ``lost`` counts those whose key is not at hand, ``sealed_by`` those
        whose seal is broken, under their old key.

        Raises:
            OperationalError: the database is away; what was done before stays.
        """
        keyring = self.keyring
        old, after = list(keyring.old), UUID(int=0)
        while True:
            with self._datastore.transaction(commit=True) as cursor:
                rows = cursor.execute(_TO_RESEAL, (old, after, batch)).fetchall()
                for row in rows:
                    with suppress(SealError):
                        sealed = _resealed(keyring, row)
                        cursor.execute(_RESEAL, (keyring.current.id, sealed, row["deal"]))
            if not rows:
                return
            after = rows[-1]["deal"]
            progress(len(rows))


_OPEN: Final = "SELECT deals, key_id, sealed FROM sealed_seeds WHERE deal = %s"
_DRAW: Final = (
    "WITH drawn AS (INSERT INTO sealed_seeds (deal, deals, key_id, sealed) VALUES (%s, %s, %s, %s)"  # noqa: S608
    " ON CONFLICT DO NOTHING RETURNING deals, key_id, sealed)"
    " SELECT deals, key_id, sealed, NULL AS confirming FROM drawn"
    f" UNION ALL SELECT deals, key_id, sealed, {CONFIRMING} FROM sealed_seeds WHERE deal = %s"
)
"""Asked twice, it draws once: it may be tried again where the answer was lost. What was drawn before may not be on the
standby yet, and is waited for as well: a game that is opened on seeds which a failover takes back can't be played."""

# From each key to the next one in the index: a DISTINCT would go through all seeds.
_KEYS: Final = """
WITH RECURSIVE used (key_id) AS (
    (SELECT key_id FROM sealed_seeds ORDER BY key_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.key_id FROM sealed_seeds AS s WHERE s.key_id > used.key_id ORDER BY s.key_id LIMIT 1)
      FROM used WHERE used.key_id IS NOT NULL
)
SELECT key_id FROM used WHERE key_id IS NOT NULL
"""
_COUNT: Final = "SELECT key_id, count(*) AS seeds FROM sealed_seeds WHERE key_id = ANY(%s) GROUP BY key_id"

# By deal, once through: what can't be sealed anew is not met again.
_TO_RESEAL: Final = (
    "SELECT deal, deals, key_id, sealed FROM sealed_seeds WHERE key_id = ANY(%s) AND deal > %s"
    " ORDER BY deal LIMIT %s FOR UPDATE"
)
_RESEAL: Final = "UPDATE sealed_seeds SET key_id = %s, sealed = %s WHERE deal = %s"


def _resealed(keyring: Keyring, row: DictRow) -> bytes:
    deal, deals, key_id = row["deal"], row["deals"], row["key_id"]
    secret = keyring.key(key_id).unseal(row["sealed"], _context(deal, deals, key_id))
    return keyring.current.seal(secret, _context(deal, deals, keyring.current.id))


def _context(deal: UUID, deals: int, key_id: str) -> bytes:
    return f"tic/sealed-seed/v1\n{deal}\n{deals}\n{key_id}\n".encode("ascii")
