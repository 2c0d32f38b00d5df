"""The Merkle tree over all events of the log, as RFC 9162 (section 2.1) has it, kept in tiles.

A leaf is an event's stored bytes. The tree of n leaves is made of complete subtrees, whose hashes never change again,
so they are kept: 256 of one level together are a *tile* (C2SP tlog-tiles). Tile (t, i) has the hashes of the subtrees
of 256**t leaves with the numbers 256 i to 256 i + 255, as many as are complete. Roots and proofs, of every size that
the tree ever had, are worked out from the few tiles on their way.

What makes a proof and what checks one are written apart from each other: who verifies needs nothing of the tiles.

>>> tree = Tree(leaf_hash(entry) for entry in (b"a", b"b", b"c"))
>>> path = tree.inclusion(1, 3)
>>> verify_inclusion(leaf_hash(b"b"), 1, 3, path, tree.root(3))
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol, TypeAlias

__all__ = [
    "EMPTY_ROOT",
    "HASH_BYTES",
    "HEIGHT",
    "WIDTH",
    "NotProved",
    "Proofs",
    "TileId",
    "Tiles",
    "Tree",
    "edge",
    "grown",
    "leaf_hash",
    "node_hash",
    "read_tile_path",
    "tile_hash",
    "tile_path",
    "verify_consistency",
    "verify_inclusion",
]

HEIGHT: Final = 8
WIDTH: Final = 2**HEIGHT
"""Hashes of a whole tile."""
HASH_BYTES: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()

TileId: TypeAlias = tuple[int, int]
"""The level of tiles, 0 for those of leaves, and the number on that level."""
Tiles: TypeAlias = Mapping[TileId, bytes]
"""Tiles, each as its hashes one after the other."""
Subtree: TypeAlias = tuple[int, int]
"""A complete subtree: its level, 0 for a leaf, and its number on that level."""


class NotProved(ValueError):
    """A proof does not show what it is to show."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node over two others (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


# Growing


def edge(size: int) -> list[TileId]:
    """Return the tiles on the right edge of a tree of ``size`` leaves that are not whole: the next leaves go there."""
    found, level = [], 0
    while size:
        if size % WIDTH:
            found.append((level, size // WIDTH))
        size, level = size // WIDTH, level + 1
    return found


def grown(size: int, tiles: Tiles, leaves: Sequence[bytes]) -> dict[TileId, bytes]:
    """Return the tiles that change, and those that come to be, when leaves are added to a tree.

    Args:
        size: the number of leaves before.
        tiles: those of ``edge(size)`` at least.
        leaves: the hashes of the new leaves.

    Raises:
        KeyError: a tile is missing.
    """
    changed: dict[TileId, bytes] = {}
    level, first, hashes = 0, size, list(leaves)
    while hashes:
        above: list[bytes] = []
        begun = first // WIDTH
        for index in range(begun, (first + len(hashes) - 1) // WIDTH + 1):
            begin, end = max(first, index * WIDTH), min(first + len(hashes), (index + 1) * WIDTH)
            before = tiles[level, index] if index == begun and first % WIDTH else b""
            tile = before + b"".join(hashes[begin - first : end - first])
            changed[level, index] = tile
            if len(tile) == WIDTH * HASH_BYTES:
                above.append(tile_hash(tile))
        level, first, hashes = level + 1, begun, above
    return changed


def tile_hash(tile: bytes) -> bytes:
    """Return the hash over a whole tile: a hash of a tile one level above."""
    return _levels(tile)[HEIGHT][0]


def _hashes(tile: bytes) -> list[bytes]:
    return [tile[at : at + HASH_BYTES] for at in range(0, len(tile), HASH_BYTES)]


def tile_path(id: TileId, width: int = WIDTH) -> str:
    """Return the path of a tile below ``tile/``, as C2SP tlog-tiles writes it; of fewer hashes where it is not whole.

    >>> tile_path((0, 1234067)), tile_path((1, 5), 17)
    ('0/x001/x234/067', '1/005.p/17')
    """
    level, number = id
    groups = f"{number:,}".split(",")
    groups[0] = groups[0].zfill(3)
    return f"{level}/{'/'.join([f'x{group}' for group in groups[:-1]] + groups[-1:])}" + (
        "" if width == WIDTH else f".p/{width}"
    )


def read_tile_path(path: str) -> tuple[TileId, int]:
    """Return the tile that a path below ``tile/`` names, and how many of its hashes.

    Raises:
        ValueError: it names none, or is not written as ``tile_path`` writes it.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        raise ValueError(
            "the path of a tile is level/number, or level/number.p/width, with three digits: 0/000, 0/x001/234"
        )
    level, number, width = int(match[1]), int(re.sub("[x/]", "", match[2])), int(match[3] or WIDTH)
    if tile_path((level, number), width) != path or not 1 <= width <= WIDTH:
        raise ValueError("a tile has one path: no zeros before its number, and .p/1 to .p/255 where it is not whole")
    return (level, number), width


_PATH: Final = re.compile(r"([0-7])/((?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


# Roots and proofs


def _complete(begin: int, end: int) -> list[Subtree]:
    """Return the complete subtrees that the leaves from ``begin`` to ``end`` consist of, as the tree has them."""
    found = []
    while begin < end:
        level = (begin & -begin).bit_length() - 1 if begin else end.bit_length() - 1
        level = min(level, (end - begin).bit_length() - 1)
        found.append((level, begin >> level))
        begin += 1 << level
    return found


def _split(size: int) -> int:
    """Return the greatest power of two below ``size``: where the tree of so many leaves divides (RFC 9162, 2.1.1)."""
    return 1 << (size - 1).bit_length() - 1


def _inclusion(index: int, size: int) -> list[tuple[int, int]]:
    """Return the ranges of leaves whose hashes prove a leaf, from its neighbour up (RFC 9162, 2.1.3.1)."""
    begin, end, ranges = 0, size, []
    while end - begin > 1:
        middle = begin + _split(end - begin)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((begin, middle))
            begin = middle
    return ranges[::-1]


def _consistency(old: int, new: int) -> list[tuple[int, int]]:
    """Return the ranges of leaves whose hashes prove that a tree grew from another (RFC 9162, 2.1.4.1)."""
    if not old or old == new:
        return []
    begin, end, ranges, whole = 0, new, [], True
    while old != end:
        middle = begin + _split(end - begin)
        if old <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((begin, middle))
            begin, whole = middle, False
    if not whole:
        ranges.append((begin, end))
    return ranges[::-1]


class Source(Protocol):
    """Where tiles are."""

    def __call__(self, ids: Sequence[TileId], /) -> Tiles:
        """Return tiles, all that are asked for."""


class Proofs:
    """Roots and proofs of a tree, worked out from its tiles: a few of them for each, whatever its size."""

    def __init__(self, source: Source) -> None:
        self._source: Final = source

    def root(self, size: int) -> bytes:
        """Return the root of the tree as it was with so many leaves.

        Raises:
            LookupError: a tile is missing, or has too few hashes: the tree is smaller.
        """
        return self._over([(0, size)])[0] if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return the proof that a leaf, from 0, is in the tree of so many leaves; from the leaf up.

        Raises:
            LookupError: there is no such leaf, or the tree is smaller.
        """
        if not 0 <= index < size:
            raise LookupError(f"a tree of {size} leaves has no leaf {index}")
        return self._over(_inclusion(index, size))

    def consistency(self, old: int, new: int) -> list[bytes]:
        """Return the proof that the tree of ``new`` leaves grew from that of ``old``.

        Raises:
            LookupError: the tree is smaller, or did not grow.
        """
        if not 0 <= old <= new:
            raise LookupError(f"a tree of {new} leaves did not grow from one of {old}")
        return self._over(_consistency(old, new))

    def _over(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the hash over each range of leaves. All tiles are asked for at once."""
        parts = [_complete(begin, end) for begin, end in ranges]
        wanted = sorted({_tile_of(subtree) for part in parts for subtree in part})
        tiles = self._source(wanted) if wanted else {}
        return [_folded([_hash_in(tiles, subtree) for subtree in part]) for part in parts]


def _tile_of(subtree: Subtree) -> TileId:
    level, number = subtree
    return level // HEIGHT, (number << level % HEIGHT) // WIDTH


def _hash_in(tiles: Tiles, subtree: Subtree) -> bytes:
    level, number = subtree
    width = 1 << level % HEIGHT
    try:
        return _levels(tiles[_tile_of(subtree)])[level % HEIGHT][number % (WIDTH // width)]
    except IndexError:
        raise LookupError(f"the tree has no complete subtree {number} of level {level}") from None


@lru_cache(maxsize=512)
def _levels(tile: bytes) -> tuple[tuple[bytes, ...], ...]:
    """Return the hashes of a tile, those of each two of them, and so on: all complete subtrees within it.

    Those that many proofs go through are kept.
    """
    levels = [tuple(_hashes(tile))]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append(tuple(map(node_hash, below[::2], below[1::2])))
    return tuple(levels)


def _folded(hashes: Sequence[bytes]) -> bytes:
    """Return the hash over complete subtrees side by side: the smaller ones on the right are joined first."""
    *others, result = hashes
    for left in reversed(others):
        result = node_hash(left, result)
    return result


class Tree(Proofs):
    """A tree in memory."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self.size = 0
        self.tiles: Final[dict[TileId, bytes]] = {}
        super().__init__(lambda ids: {id: self.tiles[id] for id in ids})
        self.append(list(leaves))

    def append(self, leaves: Sequence[bytes]) -> None:
        """Add leaves by their hashes."""
        self.tiles.update(grown(self.size, self.tiles, leaves))
        self.size += len(leaves)


# Checking


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Check that a leaf, by its hash, is in the tree that a root commits to (RFC 9162, 2.1.3.2).

    Raises:
        NotProved: the path does not lead from the leaf to the root.
    """
    if not 0 <= index < size:
        raise NotProved(f"a tree of {size} leaves has no leaf {index}")
    found = leaf
    for sibling, is_left in _sides(index, size - 1, path):
        found = node_hash(sibling, found) if is_left else node_hash(found, sibling)
    if found != root:
        raise NotProved("the path leads to another root")


def verify_consistency(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> None:
    """Check that the tree of a root has grown from that of an older one, with nothing changed (RFC 9162, 2.1.4.2).

    Raises:
        NotProved: the path does not show that.
    """
    if not 0 <= old <= new:
        raise NotProved(f"a tree of {new} leaves did not grow from one of {old}")
    if old in (0, new):
        if path or old_root != (new_root if old else EMPTY_ROOT):
            raise NotProved("two trees of one size have different roots" if old else "an empty tree has another root")
        return
    number, last = old - 1, new - 1
    while number % 2:
        number, last = number // 2, last // 2
    # The greatest complete subtree at the old edge: where it is the whole old tree, its root is known.
    if number and not path:
        raise NotProved("the path is empty")
    first, *siblings = path if number else (old_root, *path)
    was = become = first
    for sibling, is_left in _sides(number, last, siblings):
        if is_left:
            was, become = node_hash(sibling, was), node_hash(sibling, become)
        else:
            become = node_hash(become, sibling)
    if was != old_root:
        raise NotProved("the path leads to another old root")
    if become != new_root:
        raise NotProved("the path leads to another new root")


def _sides(number: int, last: int, path: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Climb from a node to the root; yield each sibling on the way, and whether it is on the left.

    Raises:
        NotProved: the path is too short or too long.
    """
    for sibling in path:
        if not last:
            raise NotProved("the path goes on above the root")
        is_left = number % 2 == 1 or number == last
        yield sibling, is_left
        if is_left:
            while not number % 2 and number:
                number, last = number // 2, last // 2
        number, last = number // 2, last // 2
    if last:
        raise NotProved("the path ends below the root")
