"""What was signed of a log, and what of it the log has: one look, at one moment of the database.

What is signed once can't be taken back, so nothing is signed before all agree: the last checkpoint in the database; a
copy of it in a file outside of the database; those that other servers have told of, because their copies were not what
the log had; and the tree, which must contain them all and whose new leaves are worked out again from the log itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from psycopg import Cursor

from api.checkpoint_file import CheckpointFile, NothingSigned, NothingYet
from domain.merkle import HASH_BYTES, HEIGHT, WIDTH, Proofs, TileId, edge, grown, leaf_hash
from domain.notes import Checkpoint, NotSigned, SigningKey, read_checkpoint
from projections.transparency import TreeQueries

__all__ = ["AT_ONE_MOMENT", "Adoptable", "SignedLog"]

MOST: Final = 50_000
"""Events between two checkpoints; where more have come, there are several."""
CHUNK: Final = 2_000
"""Events that are read at once."""

AT_ONE_MOMENT: Final[tuple[LiteralString, ...]] = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET LOCAL lock_timeout = '5s'",
    # This takes no snapshot, and a query would. Where a rebuilt tree is just being put in the place of the old one, the
    # wait is here, and the moment that is looked at comes after it.
    "LOCK TABLE read_models.merkle_tiles, read_models.merkle_beginnings IN ACCESS SHARE MODE",
)
"""With what a transaction begins that looks at the log."""

_LAST: Final = "SELECT note, signed_at FROM public.log_checkpoints ORDER BY size DESC LIMIT 1"
_INSERT: Final = "INSERT INTO public.log_checkpoints (size, note) VALUES (%b, %b)"
_DEPARTURES: Final = "SELECT note FROM public.log_departures ORDER BY told_at"
_NEWEST: Final = "SELECT state FROM public.game_events ORDER BY notification_id DESC LIMIT 1"

NO_COPY: Final = (
    "There is no copy of the last checkpoint outside the database, and the database alone can't tell whether more was"
    " signed than it knows of: it may come from a backup. Put the copy of another server, or a checkpoint that someone"
    " has kept, where TIC_CHECKPOINT_FILE says; or, where this is sure to be the newest there ever was of this log, run"
    " `tic log adopt`. What goes on from a copy of a database, as for a trial, is another log, and needs another key"
    " (tic log key new) and another database"
)


@dataclass(frozen=True, slots=True)
class Adoptable:
    """A database that knows of checkpoints, and of which there is no copy."""

    size: int
    """Events that the last checkpoint covers."""
    signed_at: datetime
    events: int
    """That the tree has."""
    newest: datetime | None
    """When the last event of the log happened; None where it does not tell."""


@dataclass(frozen=True, slots=True)
class _Signed:
    """A checkpoint as it was signed."""

    checkpoint: Checkpoint
    note: str
    where: str


class SignedLog:
    """One look at a log, and one signature, in a transaction that has begun ``AT_ONE_MOMENT``."""

    def __init__(self, cursor: Cursor[tuple[Any, ...]], key: SigningKey, copy: CheckpointFile) -> None:
        self._cursor: Final = cursor
        self._key: Final = key
        self._copy: Final = copy
        self._tree: Final = TreeQueries(self._ask)
        self.reached: Final = self._tree.reached()
        self.departed: str | None = None
        """The checkpoint of the copy, where the tree does not contain it: all who sign this log are to know of it."""
        self.departures = 0
        """How many checkpoints servers have told of because their logs did not contain them."""
        self.strangers = 0
        """How many notes among those the key has not signed."""

    def _ask(self, query: LiteralString, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._cursor.execute(query, parameters).fetchall()

    def sign(self, most: int) -> tuple[int, bool]:
        """Sign what has come, where all is as it was signed; return the size that is signed now, and whether anew.

        Not more than ``most`` events are signed in all, unless more were before.

        The copy is written before the transaction ends: what anyone is shown is in the copy. Where it ends here, the
        next look finds the copy ahead of the database, and takes that checkpoint over.

        Raises:
            NothingSigned: what was signed is not what is here, or can't be kept.
        """
        kept, copied = self._kept(), self._copied()
        last = self._contained(kept, copied)
        if last is not None and copied is None:
            raise NothingSigned(NO_COPY)
        if last is not None and last is not kept:
            self._insert(last)
        size = last.checkpoint.size if last else 0
        up_to = min(self.reached.size, most, size + MOST)
        if up_to <= size:
            if last is not None and copied is not None and copied.checkpoint.size < size:
                self._copy.write(last.note)
            return size, False
        checkpoint = Checkpoint(self._key.public.name, up_to, self._root(size, up_to))
        new = _Signed(checkpoint, checkpoint.signed(self._key), "")
        self._insert(new)
        self._copy.write(new.note)
        return up_to, True

    def adoptable(self) -> Adoptable:
        """Return what the database knows of the log, where there is no copy and all that was signed is in the tree.

        Raises:
            NothingSigned: there is a copy, or nothing to make one of; or what was signed is not what is here.
        """
        size = self._to_adopt().checkpoint.size
        ((_, signed_at),), ((newest,),) = self._ask(_LAST, ()), self._ask(_NEWEST, ())
        return Adoptable(size, signed_at, self.reached.size, _time(newest))

    def adopt(self) -> None:
        """Make a copy of the last checkpoint in the database: from now on that is what the log must contain.

        Raises:
            NothingSigned: as ``adoptable``; or the copy can't be written.
        """
        self._copy.write(self._to_adopt().note)

    def _to_adopt(self) -> _Signed:
        if self._copied() is not None:
            raise NothingSigned("There is a copy of the last checkpoint already: nothing is to be adopted")
        kept = self._kept()
        if kept is None:
            raise NothingSigned("Nothing was signed of this log yet: it begins by itself, and needs no copy for that")
        self._contained(kept, None)
        return kept

    def _contained(self, kept: _Signed | None, copied: _Signed | None) -> _Signed | None:
        """Make sure that the tree contains all that is known to be signed; return the last of it.

        Raises:
            NothingSigned: it does not.
        """
        found: dict[Checkpoint, _Signed] = {}
        for signed in (kept, copied, *self._told()):
            if signed is not None and signed.checkpoint not in found:
                found[signed.checkpoint] = signed
        for signed in found.values():
            try:
                self._must_contain(signed)
            except NothingSigned:
                if signed is copied:  # which nobody else can see
                    self.departed = signed.checkpoint.signed(self._key)
                raise
        return max(found.values(), key=lambda signed: signed.checkpoint.size, default=None)

    def _kept(self) -> _Signed | None:
        return next((self._read(note, "the database") for note, _ in self._ask(_LAST, ())), None)

    def _copied(self) -> _Signed | None:
        note = self._copy.read()
        return None if note is None else self._read(note, "the copy outside the database")

    def _told(self) -> Iterator[_Signed]:
        """Yield what other servers have told of. What the key has not signed anyone could have put there."""
        for (note,) in self._ask(_DEPARTURES, ()):
            self.departures += 1
            try:
                yield _Signed(read_checkpoint(note, self._key.public), note, "a server that has told of it")
            except NotSigned:
                self.strangers += 1

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
                f"The log ends after {total} events, and {size} were signed, according to {where}:"
                " the database was most likely restored from an old backup. Stop the servers and restore a newer one."
                " If those events are lost for good, this log has to end: tell those who follow it, and begin another"
                " one with a new key and another name (tic log key new), in a new database"
            )
        try:
            root = Proofs(self._tree.tiles).root(size)
        except LookupError:
            root = b""
        if root != signed.checkpoint.root:
            raise NothingSigned(
                f"The first {size} events are not those that were signed, according to {where}: the tree or the log was"
                " changed, or the log is another one. Run `tic project rebuild transparency`. If this is told again"
                " after that, it is the log itself: restore the database from a backup that has what was signed"
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


def _time(data: bytes) -> datetime | None:
    """Return when an event happened."""
    try:
        return datetime.fromisoformat(json.loads(data)["at"])
    except (ValueError, KeyError, TypeError):
        return None


def _changed(what: str) -> NothingSigned:
    return NothingSigned(f"The tree was changed: {what}. Run `tic project rebuild transparency`")
