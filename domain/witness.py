"""What someone knows of a log from its signed checkpoints: whether all of it can be true of one log that only grows.

Two checkpoints that do not fit together convict whoever has signed them, but only where somebody holds them against
each other. That two of one size have one root is seen at once; that a later one has grown from an earlier one takes a
consistency proof, which the log gives to anybody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.merkle import verify_consistency
from domain.notes import Checkpoint

__all__ = ["Forked", "Growth", "Witness"]

_Tree: TypeAlias = tuple[int, bytes]
"""A number of leaves, and their root."""


class Forked(Exception):
    """What was signed can't all be true of one log."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A consistency proof: that a tree has grown from an older one. It needs no signature: the hashes show it."""

    old: int
    old_root: bytes
    new: int
    new_root: bytes
    path: tuple[bytes, ...]


class Witness:
    """Holds against each other what checkpoints, inclusion proofs and consistency proofs of one log say."""

    def __init__(self) -> None:
        self._roots: Final[dict[int, tuple[bytes, str]]] = {}
        self._leaves: Final[dict[int, tuple[bytes, str]]] = {}
        self._grown_from: Final = defaultdict[_Tree, set[_Tree]](set)

    def saw(self, checkpoint: Checkpoint, where: str) -> None:
        """Take note of a checkpoint whose signature was verified; ``where`` says where it came from.

        Raises:
            Forked: another one of that size has another root.
        """
        root, before = self._roots.setdefault(checkpoint.size, (checkpoint.root, where))
        if root != checkpoint.root:
            raise Forked(
                f"the log's key has signed two different logs of {checkpoint.size} events, here and in {before}: keep"
                " both, together they show it to anyone"
            )

    def placed(self, index: int, leaf: bytes, where: str) -> None:
        """Take note of a leaf that was proved to stand at an index, from 0.

        Raises:
            Forked: another one was.
        """
        known, before = self._leaves.setdefault(index, (leaf, where))
        if known != leaf:
            raise Forked(f"the event {index} of the log was proved to be another one in {before}: keep both proofs")

    def grew(self, growth: Growth) -> None:
        """Take note of a consistency proof.

        Raises:
            NotProved: it does not show it.
        """
        verify_consistency(growth.old, growth.old_root, growth.new, growth.new_root, growth.path)
        self._grown_from[growth.new, growth.new_root].add((growth.old, growth.old_root))

    def sizes(self) -> Sequence[int]:
        """Return the sizes of the checkpoints, in order."""
        return sorted(self._roots)

    def untied(self) -> Sequence[int]:
        """Return the sizes of checkpoints that the newest one was not shown to have grown from, in order."""
        found: set[_Tree] = set()
        waiting = [(size, self._roots[size][0]) for size in self.sizes()[-1:]]
        while waiting:
            tree = waiting.pop()
            if tree not in found:
                found.add(tree)
                waiting += self._grown_from[tree]
        return [size for size in self.sizes() if (size, self._roots[size][0]) not in found]
