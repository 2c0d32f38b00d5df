"""The Merkle tree: published vectors, the RFC's definitions read plainly, and every small change to a proof refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.merkle import (
    EMPTY_ROOT,
    HASH_BYTES,
    WIDTH,
    NotProved,
    Tree,
    edge,
    grown,
    leaf_hash,
    node_hash,
    read_tile_path,
    tile_hash,
    tile_path,
    verify_consistency,
    verify_inclusion,
)

# What the RFC defines, read as it stands


def root_of(leaves: Sequence[bytes]) -> bytes:
    """MTH, the Merkle tree hash (RFC 9162, 2.1.1)."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = greatest_power_below(len(leaves))
    return hashlib.sha256(b"\x01" + root_of(leaves[:k]) + root_of(leaves[k:])).digest()


def path_of(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH, the Merkle inclusion proof (RFC 9162, 2.1.3.1)."""
    if len(leaves) == 1:
        return []
    k = greatest_power_below(len(leaves))
    if m < k:
        return [*path_of(m, leaves[:k]), root_of(leaves[k:])]
    return [*path_of(m - k, leaves[k:]), root_of(leaves[:k])]


def growth_of(m: int, leaves: Sequence[bytes], *, known: bool = True) -> list[bytes]:
    """PROOF and SUBPROOF, the Merkle consistency proof (RFC 9162, 2.1.4.1)."""
    if m == len(leaves):
        return [] if known else [root_of(leaves)]
    k = greatest_power_below(len(leaves))
    if m <= k:
        return [*growth_of(m, leaves[:k], known=known), root_of(leaves[k:])]
    return [*growth_of(m - k, leaves[k:], known=False), root_of(leaves[:k])]


def greatest_power_below(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def leaves_of(size: int) -> list[bytes]:
    return [leaf_hash(b"event %d" % number) for number in range(size)]


# The reference vectors of Certificate Transparency, from a tree of eight leaves

ENTRIES = [
    bytes.fromhex(entry)
    for entry in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSIONS = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
"""By the number of the leaf, from 0, and the size of the tree."""
CONSISTENCIES = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
"""By the two sizes."""

REFERENCE = Tree(map(leaf_hash, ENTRIES))


def test_an_empty_tree_has_the_hash_of_nothing() -> None:
    assert Tree().root(0).hex() == EMPTY_ROOT.hex() == hashlib.sha256().hexdigest()


@pytest.mark.parametrize("size", range(1, 9))
def test_the_reference_tree_has_the_published_roots(size: int) -> None:
    assert REFERENCE.root(size).hex() == ROOTS[size - 1]


@pytest.mark.parametrize("place", INCLUSIONS, ids=str)
def test_leaves_of_the_reference_tree_have_the_published_proofs(place: tuple[int, int]) -> None:
    assert [sibling.hex() for sibling in REFERENCE.inclusion(*place)] == INCLUSIONS[place]


@pytest.mark.parametrize("sizes", CONSISTENCIES, ids=str)
def test_the_reference_tree_has_the_published_proofs_of_growth(sizes: tuple[int, int]) -> None:
    assert [node.hex() for node in REFERENCE.consistency(*sizes)] == CONSISTENCIES[sizes]


def test_the_example_of_the_rfc_has_the_proofs_that_it_shows() -> None:
    """RFC 9162, 2.1.5: a tree of seven leaves, its nodes by the letters they have there."""
    d0, d1, d2, d3, d4, d5, d6 = leaves = leaves_of(7)
    a, b, c, d, e, f, j = d0, d1, d2, d3, d4, d5, d6
    g, h, i = node_hash(a, b), node_hash(c, d), node_hash(e, f)
    k, l = node_hash(g, h), node_hash(i, j)  # noqa: E741 - as the RFC calls it
    tree = Tree(leaves)
    assert tree.root(7) == node_hash(k, l)
    assert [tree.inclusion(n, 7) for n in (0, 3, 4, 6)] == [[b, h, l], [c, g, l], [f, j, k], [i, k]]
    assert [tree.consistency(n, 7) for n in (3, 4, 6)] == [[c, d, g, l], [l], [i, j, k]]


# Against the RFC's definitions


@pytest.mark.parametrize("size", range(1, 34))
def test_every_proof_of_a_small_tree_is_what_the_rfc_defines_and_holds(size: int) -> None:
    leaves = leaves_of(size)
    tree, root = Tree(leaves), root_of(leaves)
    assert tree.root(size) == root
    for index, leaf in enumerate(leaves):
        path = tree.inclusion(index, size)
        assert path == path_of(index, leaves)
        verify_inclusion(leaf, index, size, path, root)
    for old in range(1, size + 1):
        path = tree.consistency(old, size)
        assert path == growth_of(old, leaves)
        verify_consistency(old, root_of(leaves[:old]), size, root, path)


LARGE = leaves_of(3 * WIDTH * WIDTH // 2)
"""More than a whole tile of the second level."""
GROWN = Tree(LARGE)

sizes = st.integers(1, len(LARGE)) | st.builds(
    lambda power, around: max(1, min(len(LARGE), (1 << power) + around)), st.integers(0, 17), st.integers(-2, 2)
)


@settings(max_examples=30, deadline=None)
@given(size=sizes, share=st.floats(0, 1, exclude_max=True), old=st.floats(0, 1))
@example(size=WIDTH * WIDTH, share=0.5, old=1 / 256)
def test_proofs_of_any_size_the_tree_ever_had_are_what_the_rfc_defines_and_hold(
    size: int, share: float, old: float
) -> None:
    leaves, index, before = LARGE[:size], int(share * size), max(1, int(old * size))
    root = root_of(leaves)
    path, growth = GROWN.inclusion(index, size), GROWN.consistency(before, size)
    assert (GROWN.root(size), path, growth) == (root, path_of(index, leaves), growth_of(before, leaves))
    verify_inclusion(leaves[index], index, size, path, root)
    verify_consistency(before, root_of(leaves[:before]), size, root, growth)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.sampled_from([0, 1, 2, 3, 255, 256, 257, 511, 700, 65_536]) | st.integers(0, 300), max_size=8))
def test_however_a_tree_grows_its_tiles_are_the_same(steps: list[int]) -> None:
    steps = [step for number, step in enumerate(steps) if sum(steps[: number + 1]) <= len(LARGE)]
    tree, size = Tree(), 0
    for step in steps:
        tree.append(LARGE[size : size + step])
        size += step
    assert (tree.size, tree.tiles) == (size, Tree(LARGE[:size]).tiles)


@settings(max_examples=60, deadline=None)
@given(size=sizes, more=st.integers(1, 600))
def test_the_right_edge_is_all_that_a_tree_needs_to_grow(size: int, more: int) -> None:
    size = min(size, len(LARGE) - more)
    before, after = Tree(LARGE[:size]), Tree(LARGE[: size + more])
    tiles = {id: before.tiles[id] for id in edge(size)}
    changed = grown(size, tiles, LARGE[size : size + more])
    assert {**before.tiles, **changed} == after.tiles
    assert all(before.tiles.get(id) != tile for id, tile in changed.items())


def test_a_tree_does_not_grow_from_an_edge_with_a_tile_missing() -> None:
    with pytest.raises(KeyError):
        grown(300, {}, leaves_of(1))


def test_every_hash_of_the_right_edge_is_in_the_root() -> None:
    """What is signed was compared with these hashes: none of them may be changed unseen."""
    size = WIDTH * WIDTH + 3 * WIDTH + 7
    assert edge(size) == [(0, 259), (1, 1), (2, 0)]
    for id in edge(size):
        for number in range(size // WIDTH ** (id[0]) % WIDTH):
            tree = Tree(LARGE[:size])
            tree.tiles[id] = flipped(tree.tiles[id], 8 * HASH_BYTES * number)
            assert tree.root(size) != GROWN.root(size)


def test_a_whole_tile_has_the_hash_that_stands_above_it() -> None:
    assert GROWN.tiles[1, 0][:HASH_BYTES] == tile_hash(GROWN.tiles[0, 0]) == root_of(LARGE[:WIDTH])


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda tree: tree.root(9), "."),
        (lambda tree: tree.inclusion(8, 8), "no leaf 8"),
        (lambda tree: tree.inclusion(-1, 8), "no leaf -1"),
        (lambda tree: tree.inclusion(0, 9), "."),
        (lambda tree: tree.inclusion(0, 0), "no leaf 0"),
        (lambda tree: tree.consistency(3, 2), "did not grow"),
        (lambda tree: tree.consistency(-1, 2), "did not grow"),
        (lambda tree: tree.consistency(3, 9), "."),
    ],
)
def test_a_tree_proves_nothing_that_it_does_not_have(ask: Callable[[Tree], object], told: str) -> None:
    with pytest.raises(LookupError, match=told):
        ask(REFERENCE)


# Proofs that were tampered with

PAIRS = [(index, size) for size in range(1, 18) for index in range(size)]
GROWTHS = [*pairwise([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17]), (1, 17), (6, 17), (8, 17), (3, 12), (4, 13)]


def flipped(value: bytes, bit: int) -> bytes:
    return bytes(byte ^ (1 << bit % 8 if at == bit // 8 else 0) for at, byte in enumerate(value))


def tampered(path: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Every proof that differs by one flipped bit, or by one hash that is dropped, swapped, doubled or added."""
    for at, node in enumerate(path):
        for bit in range(8 * len(node)):
            yield [*path[:at], flipped(node, bit), *path[at + 1 :]]
        yield [*path[:at], *path[at + 1 :]]
        yield [*path[:at], node, *path[at:]]
        for to in range(at):
            if path[to] != node:
                swapped = list(path)
                swapped[to], swapped[at] = node, path[to]
                yield swapped
    for at in range(len(path) + 1):
        yield [*path[:at], leaf_hash(b"added"), *path[at:]]


def refused(check: Callable[[], None]) -> bool:
    try:
        check()
    except NotProved:
        return True
    return False


@pytest.mark.parametrize(("index", "size"), [pair for pair in PAIRS if pair[1] in (1, 2, 3, 5, 7, 8, 13)])
def test_no_tampered_proof_of_a_leaf_holds(index: int, size: int) -> None:
    leaves = leaves_of(size)
    root, path = root_of(leaves), path_of(index, leaves)
    for other in tampered(path):
        assert refused(lambda: verify_inclusion(leaves[index], index, size, other, root))  # noqa: B023
    for bit in range(8 * HASH_BYTES):
        assert refused(lambda: verify_inclusion(flipped(leaves[index], bit), index, size, path, root))  # noqa: B023
        assert refused(lambda: verify_inclusion(leaves[index], index, size, path, flipped(root, bit)))  # noqa: B023


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13])
def test_a_proof_holds_for_its_own_leaf_only(size: int) -> None:
    leaves = leaves_of(size)
    for index in range(size):
        path = path_of(index, leaves)
        for other in set(range(-1, size + 2)) - {index}:
            assert refused(lambda: verify_inclusion(leaves[index], other, size, path, root_of(leaves)))  # noqa: B023


@pytest.mark.parametrize(("old", "new"), GROWTHS)
def test_no_tampered_proof_of_growth_holds(old: int, new: int) -> None:
    leaves = leaves_of(new)
    before, after, path = root_of(leaves[:old]), root_of(leaves), growth_of(old, leaves)
    verify_consistency(old, before, new, after, path)
    for other in tampered(path):
        assert refused(lambda: verify_consistency(old, before, new, after, other))  # noqa: B023
    for bit in range(8 * HASH_BYTES):
        assert refused(lambda: verify_consistency(old, flipped(before, bit), new, after, path))  # noqa: B023
        assert refused(lambda: verify_consistency(old, before, new, flipped(after, bit), path))  # noqa: B023


@pytest.mark.parametrize(
    ("old", "old_root", "new", "new_root", "path"),
    [
        (2, root_of(leaves_of(2)), 1, root_of(leaves_of(1)), []),
        (-1, EMPTY_ROOT, 1, root_of(leaves_of(1)), []),
        (0, root_of(leaves_of(1)), 1, root_of(leaves_of(1)), []),
        (0, EMPTY_ROOT, 1, root_of(leaves_of(1)), leaves_of(1)),
        (2, root_of(leaves_of(2)), 2, root_of(leaves_of(2)), leaves_of(1)),
        (2, root_of(leaves_of(2)), 2, root_of(leaves_of(3)), []),
        (2, root_of(leaves_of(2)), 3, root_of(leaves_of(3)), []),
        (3, root_of(leaves_of(3)), 4, root_of(leaves_of(4)), []),
    ],
    ids=[
        "a tree that shrank",
        "a tree of less than nothing",
        "an empty tree with a leaf's root",
        "an empty tree with a path",
        "the same tree with a path",
        "another tree of the same size",
        "growth from a whole tree without a path",
        "growth without a path",
    ],
)
def test_no_growth_is_shown_by(old: int, old_root: bytes, new: int, new_root: bytes, path: list[bytes]) -> None:
    with pytest.raises(NotProved):
        verify_consistency(old, old_root, new, new_root, path)


def test_a_tree_has_grown_from_an_empty_one_and_from_itself() -> None:
    verify_consistency(0, EMPTY_ROOT, 3, root_of(leaves_of(3)), [])
    verify_consistency(0, EMPTY_ROOT, 0, EMPTY_ROOT, [])
    verify_consistency(3, root_of(leaves_of(3)), 3, root_of(leaves_of(3)), [])


@given(number=st.integers(-2, 2**64), last=st.integers(-2, 2**64), path=st.lists(st.binary(max_size=40), max_size=70))
def test_whatever_a_proof_says_it_is_refused_and_nothing_else(number: int, last: int, path: list[bytes]) -> None:
    assert refused(lambda: verify_inclusion(b"leaf", number, last, path, b"root"))
    assert refused(lambda: verify_consistency(number, b"old", last, b"new", path))


# The paths of tiles


@given(level=st.integers(0, 7), number=st.integers(0, 2**48), width=st.integers(1, WIDTH))
@example(level=0, number=1_234_067, width=WIDTH)
def test_the_path_of_a_tile_leads_to_it(level: int, number: int, width: int) -> None:
    assert read_tile_path(tile_path((level, number), width)) == ((level, number), width)


@pytest.mark.parametrize(
    "path",
    [
        *("", "0", "0/", "0/1", "0/01", "0/0001", "0/001/", "/0/001", "00/001", "8/001", "-1/001", "x/001"),
        *("0/x001", "0/001/002", "0/x000/001", "0/x01/001", "0/X001/001", "0/x001x/001", "0/x001/x000/001/"),
        *("0/001.p", "0/001.p/", "0/001.p/0", "0/001.p/00", "0/001.p/01", "0/001.p/256", "0/001.p/999", "0/001.p/1/"),
        *("0/\u0660\u0660\u0661", "0/001\n", "0/ 001", "0/001.p/1\n", "../0/001", "0/x001/../001"),
        "0/" + "x001/" * 6 + "001",
    ],
)
def test_no_tile_has_the_path(path: str) -> None:
    with pytest.raises(ValueError, match="tile"):
        read_tile_path(path)
