"""Checkpoints of the log: signed, again and again, by servers that show beforehand that they keep what was signed.

A checkpoint says how many events the log has and what they are. What is signed once can't be taken back, so nothing is
signed before three things agree: the last checkpoint in the database; a copy of it in a file outside of the database;
and the tree, which must contain both and whose new leaves are worked out again from the log itself. A database that was
restored from an old backup, and a log or a tree that was changed, are found here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
import structlog
from psycopg import Cursor
from psycopg.rows import DictRow, tuple_row

from api.settings import SettingsError, write_whole
from domain.merkle import HASH_BYTES, HEIGHT, WIDTH, Proofs, TileId, edge, grown, leaf_hash
from domain.notes import Checkpoint, NotSigned, Receipt, SigningKey, read_checkpoint
from domain.storage import Datastore, PersistenceError, confirm
from projections.transparency import Reached, TreeQueries, asking

__all__ = ["CheckpointFile", "NothingSigned", "Signer"]

SIGN_SECONDS: Final = 5.0
"""Between two checkpoints, while events come."""
LOOK_SECONDS: Final = 1.0
"""Between two looks whether there is something new to sign."""
REMIND_SECONDS: Final = 60.0
"""How often the log tells that nothing is signed, and why."""
MOST: Final = 50_000
"""Events between two checkpoints; where more have come, there are several."""
CHUNK: Final = 2_000
"""Events that are read at once."""
LOCK_WAIT: Final = "5s"

_logger: Final = structlog.get_logger(__name__)

_LAST: Final = "SELECT note FROM public.log_checkpoints ORDER BY size DESC LIMIT 1"
_SIZE: Final = "SELECT coalesce(max(size), 0) FROM public.log_checkpoints"
_INSERT: Final = "INSERT INTO public.log_checkpoints (size, note) VALUES (%b, %b)"


# The copy


class CheckpointFile:
    """The copy of the last checkpoint that is not in the database."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def read(self) -> str | None:
        """Return the note; None where there is no file.

        Raises:
            NothingSigned: it can't be read.
        """
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise NothingSigned(f"The copy of the last checkpoint, {self.path}, can't be read: {reason}") from None

    def write(self, note: str) -> None:
        """Put a note in the place of the last one, on disk, whole or not at all.

        Raises:
            NothingSigned: it can't be written.
        """
        try:
            write_whole(self.path, note, replace=True, called="copy of the last checkpoint")
        except SettingsError as error:
            raise NothingSigned(f"{error}. Name a file that this server may write: TIC_CHECKPOINT_FILE") from None


# Signing


class NothingSigned(Exception):
    """Nothing is signed; the message says why and what to do."""


class NothingYet(NothingSigned):
    """Nothing is signed as yet; it takes nothing but time."""


class Signer:
    """Signs checkpoints. Several may, for one log: they take turns, and each has a copy of its own or shares one."""

    def __init__(self, datastore: Datastore, key: SigningKey, copy: CheckpointFile) -> None:
        """Take connections to the database itself: the lock of those who sign would not last behind a pooler."""
        self._datastore: Final = datastore
        self._key: Final = key
        self._copy: Final = copy
        self._seen: tuple[Reached, int] | None = None
        self._told: tuple[str, float] | None = None
        self._refusal: str | None = "The checkpoints of this log are being looked at: ask again in a moment."

    @property
    def key(self) -> str:
        """The key that verifies, as text."""
        return str(self._key.public)

    @property
    def refusal(self) -> str | None:
        """Why nothing is signed, and nothing that was signed is shown by this server; None where all is well."""
        return self._refusal

    def receipt(self, game: UUID, version: int, head: str) -> str | None:
        """Sign what a player is told after a command; None where nothing is signed at present.

        A server that does not have what was signed promises nothing new either.
        """
        return Receipt(game, version, head).signed(self._key) if self._refusal is None else None

    def run(self, stop: threading.Event) -> None:
        """Sign until ``stop`` is set, also over times when the database is away."""
        next_at = 0.0
        while not stop.is_set():
            more = False
            try:
                if time.monotonic() >= next_at and self._has_news():
                    signed, more = self.step()
                    next_at = time.monotonic() + (SIGN_SECONDS if signed and not more else 0)
            except PersistenceError as error:
                _logger.warning("the signer waits for the database", error=str(error))
            except NothingYet as reason:
                if self._is_new(str(reason)):
                    _logger.info("no checkpoint of the log is signed yet", reason=str(reason))
            except NothingSigned as reason:
                next_at = time.monotonic() + SIGN_SECONDS
                if self._is_new(str(reason)):
                    _logger.error("no checkpoint of the log is signed", reason=str(reason))  # noqa: TRY400
            except Exception as error:
                if self._is_new(str(error)):
                    _logger.exception("no checkpoint of the log is signed")
            stop.wait(0 if more else LOOK_SECONDS)

    def _is_new(self, reason: str) -> bool:
        """Tell whether the log is to tell why nothing is signed: not each time, but again after a while."""
        if self._told is not None and self._told[0] == reason and time.monotonic() - self._told[1] < REMIND_SECONDS:
            return False
        self._told = reason, time.monotonic()
        return True

    def _has_news(self) -> bool:
        """Tell whether anything is other than where all was well last."""
        ask = asking(self._datastore)
        found = TreeQueries(ask).reached(), int(ask(_SIZE, ())[0][0])
        return self._refusal is not None or found != self._seen

    def step(self) -> tuple[bool, bool]:
        """Look at what was signed, and sign what has come since; tell whether something was, and whether more has come.

        Raises:
            NothingSigned: what was signed is not what is here, or can't be kept.
            PersistenceError: the database is away, or said no.
        """
        try:
            with self._alone() as conn, conn.cursor(binary=True, row_factory=tuple_row) as cursor:
                sure = _Signing(cursor, self._key, self._copy).reached
                confirm(conn)  # what a failover could take back must not be signed: it would be another log then
                with conn.transaction():
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                    signing = _Signing(cursor, self._key, self._copy)
                    size, signed = signing.sign(sure.size)
        except NothingSigned as refusal:
            self._refusal = str(refusal)
            raise
        except PersistenceError:
            raise
        except Exception as error:
            self._refusal = f"The checkpoints of this log can't be looked at ({type(error).__name__}): see its log."
            raise
        self._seen, self._refusal = (sure, size), None
        return signed, size < sure.size

    @contextmanager
    def _alone(self) -> Iterator[psycopg.Connection[DictRow]]:
        """Hold the lock of those who sign; it ends with the connection, if not before."""
        with self._datastore.get_connection() as conn:
            with conn.transaction():
                conn.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_WAIT,))
                conn.execute("SELECT pg_advisory_lock(hashtext('tic sign'))")
            try:
                yield conn
            finally:
                try:
                    conn.execute("SELECT pg_advisory_unlock(hashtext('tic sign'))")
                except psycopg.Error:
                    conn.close()  # which gives the lock back as well


@dataclass(frozen=True, slots=True)
class _Signed:
    """A checkpoint as it was signed."""

    checkpoint: Checkpoint
    note: str
    where: str


class _Signing:
    """One look and one signature, of one moment of the database."""

    def __init__(self, cursor: Cursor[tuple[Any, ...]], key: SigningKey, copy: CheckpointFile) -> None:
        self._cursor: Final = cursor
        self._key: Final = key
        self._copy: Final = copy
        self._tree: Final = TreeQueries(self._ask)
        self.reached: Final = self._tree.reached()

    def _ask(self, query: LiteralString, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._cursor.execute(query, parameters).fetchall()

    def sign(self, most: int) -> tuple[int, bool]:
        """Sign what has come, where all is as it was signed; return the size that is signed now, and whether anew.

        Not more than ``most`` events are signed in all, unless more were before.

        The copy is written before the transaction ends: what anyone is shown is in the copy. Where it ends here, the
        next look finds the copy ahead of the database, and takes that checkpoint over.
        """
        rows = self._ask(_LAST, ())
        kept = self._read(rows[0][0], "the database") if rows else None
        written = self._copy.read()
        copied = self._read(written, f"the copy {self._copy.path}") if written is not None else None
        known = [signed for signed in (kept, copied) if signed is not None]
        for signed in known:
            if signed is kept or kept is None or signed.checkpoint != kept.checkpoint:
                self._must_contain(signed)
        last = max(known, key=lambda signed: signed.checkpoint.size, default=None)
        if last is not None and last is not kept:
            self._insert(last)
        size = last.checkpoint.size if last else 0
        up_to = min(self.reached.size, most, size + MOST)
        if up_to <= size:
            if last is not None and last is kept and (copied is None or copied.note != last.note):
                self._copy.write(last.note)
            return size, False
        checkpoint = Checkpoint(self._key.public.name, up_to, self._root(size, up_to))
        new = _Signed(checkpoint, checkpoint.signed(self._key), "")
        self._insert(new)
        self._copy.write(new.note)
        return up_to, True

    def _insert(self, signed: _Signed) -> None:
        self._cursor.execute(_INSERT, (signed.checkpoint.size, signed.note))

    def _read(self, note: str, where: str) -> _Signed:
        try:
            return _Signed(read_checkpoint(note, self._key.public), note, where)
        except NotSigned as error:
            raise NothingSigned(
                f"The last checkpoint in {where} is not one that this server's key has signed: {error}. Give the"
                " server the key and the copy of this log (TIC_LOG_KEY_FILE, TIC_CHECKPOINT_FILE)"
            ) from None

    def _must_contain(self, signed: _Signed) -> None:
        """Make sure that the tree contains a checkpoint.

        Raises:
            NothingSigned: it does not.
        """
        size, where = signed.checkpoint.size, signed.where
        lacking = size - self.reached.size
        if lacking > 0:
            there = self._tree.more(after=self.reached.position, most=lacking)
            if there == lacking:
                raise NothingYet(
                    f"The tree has {self.reached.size} events as yet, and {size} were signed: it is being filled from"
                    " the log, and what was signed is compared with it then"
                )
            if (total := self._tree.more(after=0, most=size)) == size:
                raise _changed(f"it ends after {self.reached.size} events, and the log does not")
            raise NothingSigned(
                f"The log ends after {total} events, and {size} were signed, by {where}: the"
                " database was most likely restored from an old backup. Stop the servers and restore a newer one. If"
                " those events are lost for good, this log has to end: tell those who follow it, and begin another one"
                " with a new key and another name (tic log key new), in a new database"
            )
        try:
            root = Proofs(self._tree.tiles).root(size)
        except LookupError:
            root = b""
        if root != signed.checkpoint.root:
            raise NothingSigned(
                f"The first {size} events are not those that were signed, by {where}: the tree or the log was changed,"
                " or the log is another one. Run `tic project rebuild transparency`. If this is told again after that,"
                " it is the log itself: restore the database from a backup that has what was signed"
            )

    def _root(self, size: int, up_to: int) -> bytes:
        """Return the root of the tree of ``up_to`` events, from a tree of ``size`` that is known and from the log.

        Raises:
            NothingSigned: a tile is not what these events lead to.
        """
        tiles = {id: tile[: HASH_BYTES * _width(id, size)] for id, tile in self._tree.tiles(edge(size)).items()}
        position = self._tree.position(size - 1) if size else 0
        while size < up_to and position is not None:
            found = self._tree.leaves(after=position, up_to=self.reached.position, most=min(CHUNK, up_to - size))
            if not found:
                break
            changed = grown(size, tiles, [leaf_hash(data) for _, data in found])
            kept = self._tree.tiles(list(changed))
            for id, tile in changed.items():
                if not kept.get(id, b"").startswith(tile):
                    raise _changed(f"the tile {id[1]} of level {id[0]} is not what the events of the log lead to")
            size, position = size + len(found), found[-1][0]
            tiles = {id: {**tiles, **changed}[id] for id in edge(size)}
        if size != up_to:
            raise _changed(f"the log has {size} events where the tree has {up_to}")
        return Proofs(lambda ids: {id: tiles[id] for id in ids}).root(size)


def _width(id: TileId, size: int) -> int:
    """Return how many hashes a tile of the right edge has in a tree of that size."""
    return (size >> HEIGHT * id[0]) % WIDTH


def _changed(what: str) -> NothingSigned:
    return NothingSigned(f"The tree was changed: {what}. Run `tic project rebuild transparency`")
