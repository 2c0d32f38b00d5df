"""What is shown of the log as a whole: its checkpoints, its tiles, and proofs, none of which is shown unverified.

Only what a signed checkpoint covers is shown. Each proof and each tile is checked against the newest checkpoint by what
a reader would check it with, so that a tile that was changed is told as such and never handed on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

import structlog

from domain.merkle import (
    HASH_BYTES,
    WIDTH,
    NotProved,
    Proofs,
    TileId,
    leaf_hash,
    tile_hash,
    verify_consistency,
    verify_inclusion,
)
from domain.notes import Checkpoint, LogProof, NotSigned, claimed
from domain.storage import Datastore
from domain.witness import Growth
from projections.transparency import CachedTiles, TreeQueries, asking

__all__ = ["Inclusion", "LogUnproved", "NoSuchTree", "NotYetSigned", "Prover"]

T = TypeVar("T")

_logger: Final = structlog.get_logger(__name__)

_NEWEST: Final = "SELECT note FROM public.log_checkpoints ORDER BY size DESC LIMIT 1"


class LogUnproved(Exception):
    """Nothing is shown of the log: what was signed is not what is here. Says why."""


class NotYetSigned(LookupError):
    """The event is there, or soon will be, and no checkpoint covers it yet."""


class NoSuchTree(LookupError):
    """No checkpoint covers a tree of that size, or a leaf or tile of that number."""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """The proof that an event is in the log."""

    index: int
    """Of its leaf, from 0."""
    leaf: bytes
    size: int
    root: bytes
    path: tuple[bytes, ...]


class Prover:
    """Shows the log as a whole. All of it waits for the database."""

    def __init__(self, datastore: Datastore, *, refusal: Callable[[], str | None], key: str | None) -> None:
        """Take what tells why nothing may be shown, None where it may; and the key that verifies, as far as known."""
        self._ask: Final = asking(datastore)
        self._refusal: Final = refusal
        self.key: Final = key
        self._queries: Final = TreeQueries(self._ask)
        self._tiles: Final = CachedTiles(self._queries.tiles)
        self._proofs: Final = Proofs(self._tiles)

    def newest(self) -> tuple[Checkpoint, str]:
        """Return what the newest checkpoint says, and how it was signed.

        Raises:
            NotYetSigned: there is none.
            LogUnproved: what was signed is not what is here.
            OperationalError: the database is away.
        """
        if (refusal := self._refusal()) is not None:
            raise LogUnproved(refusal)
        rows = self._ask(_NEWEST, ())
        if not rows:
            raise NotYetSigned("No checkpoint of this log was signed yet.")
        try:
            return claimed(rows[0][0]), rows[0][0]
        except NotSigned as error:
            _logger.error("the newest checkpoint in the database is none", error=str(error))  # noqa: TRY400
            raise LogUnproved("The newest checkpoint in the database is none. The operator is told.") from None

    def proof(self, game: UUID, seq: int, signed: tuple[Checkpoint, str] | None = None) -> LogProof:
        """Return the proof that stands alone of an event, under a checkpoint that was the newest, or else the newest.

        Raises:
            NotYetSigned: no checkpoint covers the event, or there is none.
            LogUnproved, OperationalError: as ``newest``.
        """
        checkpoint, note = signed or self.newest()
        shown = self._included(checkpoint, game, seq, checkpoint.size)
        return LogProof(shown.index, shown.path, note, extra=str(game).encode())  # whose it is, among many in one file

    def inclusion(self, game: UUID, seq: int, size: int | None = None) -> Inclusion:
        """Return the proof of an event, in the tree of so many leaves or else that of the newest checkpoint.

        Raises:
            NotYetSigned: no checkpoint covers the event, or there is none.
            NoSuchTree: no checkpoint covers a tree of that size, or the event came after it.
            LogUnproved, OperationalError: as ``newest``.
        """
        checkpoint, _ = self.newest()
        size = checkpoint.size if size is None else size
        self._must_cover(checkpoint, size)
        return self._included(checkpoint, game, seq, size)

    def consistency(self, old: int, new: int | None = None) -> Growth:
        """Return the proof that the log has only grown from one size to another, or else to the newest checkpoint's.

        Raises:
            NoSuchTree: no checkpoint covers trees of these sizes, or they shrink.
            NotYetSigned, LogUnproved, OperationalError: as ``newest``.
        """
        checkpoint, _ = self.newest()
        new = checkpoint.size if new is None else new
        self._must_cover(checkpoint, new)
        if not 0 <= old <= new:
            raise NoSuchTree(f"A log of {new} events did not grow from one of {old}.")

        def prove() -> Growth:
            new_root = self._root(checkpoint, new)
            old_root, path = self._proofs.root(old), self._proofs.consistency(old, new)
            verify_consistency(old, old_root, new, new_root, path)
            return Growth(old, old_root, new, new_root, tuple(path))

        return self._proved(prove)

    def tile(self, id: TileId, width: int) -> bytes:
        """Return the first hashes of a tile, so many of them.

        Raises:
            NoSuchTree: no checkpoint covers so much of it.
            NotYetSigned, LogUnproved, OperationalError: as ``newest``.
        """
        checkpoint, _ = self.newest()
        level, number = id
        if (number * WIDTH + width) * WIDTH**level > checkpoint.size:
            raise NoSuchTree(f"The newest checkpoint covers {checkpoint.size} events, and less of this tile.")
        return self._proved(lambda: self._tile(checkpoint, id)[: HASH_BYTES * width])

    def entries(self, number: int, width: int) -> list[bytes]:
        """Return the stored bytes of the first events of a tile of leaves, so many of them.

        Raises:
            NoSuchTree: no checkpoint covers so much of it.
            NotYetSigned, LogUnproved, OperationalError: as ``newest``.
        """
        checkpoint, _ = self.newest()
        if number * WIDTH + width > checkpoint.size:
            raise NoSuchTree(f"The newest checkpoint covers {checkpoint.size} events, and less of this bundle.")

        def prove() -> list[bytes]:
            tile, found = self._tile(checkpoint, (0, number)), self._queries.entries(number, width)
            if b"".join(map(leaf_hash, found)) != tile[: HASH_BYTES * width]:
                raise NotProved("the events are not those of the leaves")
            return found

        return self._proved(prove)

    def _must_cover(self, checkpoint: Checkpoint, size: int) -> None:
        if not 0 <= size <= checkpoint.size:
            raise NoSuchTree(f"The newest checkpoint covers {checkpoint.size} events, and no tree of {size}.")

    def _included(self, checkpoint: Checkpoint, game: UUID, seq: int, size: int) -> Inclusion:
        entry = self._queries.entry(game, seq)
        if entry is None or entry.index >= checkpoint.size:
            raise NotYetSigned("No checkpoint covers this event yet. One is signed every few seconds: ask again then.")
        if entry.index >= size:
            raise NoSuchTree(f"The event is that of the leaf {entry.index}, which a tree of {size} does not have.")
        leaf = leaf_hash(entry.data)

        def prove() -> Inclusion:
            root, path = self._root(checkpoint, size), self._proofs.inclusion(entry.index, size)
            verify_inclusion(leaf, entry.index, size, path, root)
            return Inclusion(entry.index, leaf, size, root, tuple(path))

        return self._proved(prove)

    def _root(self, checkpoint: Checkpoint, size: int) -> bytes:
        """Return the root of a tree from which that of the checkpoint has grown.

        Raises:
            NotProved: it has not.
        """
        if size == checkpoint.size:
            return checkpoint.root
        root = self._proofs.root(size)
        path = self._proofs.consistency(size, checkpoint.size)
        verify_consistency(size, root, checkpoint.size, checkpoint.root, path)
        return root

    def _tile(self, checkpoint: Checkpoint, id: TileId) -> bytes:
        """Return a tile as far as the checkpoint covers it.

        Raises:
            NotProved: its hashes are not those that the checkpoint commits to.
        """
        level, number = id
        width = min(WIDTH, checkpoint.size // WIDTH**level - number * WIDTH)
        tile = self._tiles([id])[id][: HASH_BYTES * width]
        if width < WIDTH:  # on the right edge, every hash of which is in the root
            if self._proofs.root(checkpoint.size) != checkpoint.root:
                raise NotProved("the right edge leads to another root")
        else:
            above, place = self._tile(checkpoint, (level + 1, number // WIDTH)), HASH_BYTES * (number % WIDTH)
            if tile_hash(tile) != above[place : place + HASH_BYTES]:
                raise NotProved("the tile above has another hash")
        return tile

    def _proved(self, prove: Callable[[], T]) -> T:
        """Return what was proved and verified; tried twice, since a tile that was kept may have been mended since.

        Raises:
            LogUnproved: it can't be.
        """
        try:
            return prove()
        except (NotProved, LookupError):
            self._tiles.forget()
        try:
            return prove()
        except (NotProved, LookupError) as error:
            _logger.error("the tree does not prove what was signed", error=str(error))  # noqa: TRY400
            raise LogUnproved(
                "The tree does not prove what was signed: it is being built anew, or was changed. The operator is told."
            ) from None
