"""Checkpoints held against each other: what can be true of one log, and what convicts whoever has signed it."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pytest

from domain.merkle import NotProved, Tree, leaf_hash
from domain.notes import Checkpoint
from domain.witness import Forked, Growth, Witness

LOG: Final = Tree(leaf_hash(b"%d" % number) for number in range(40))
FORKED: Final = Tree(leaf_hash(b"%d" % (number if number < 20 else number + 1)) for number in range(40))


def checkpoint(size: int, tree: Tree = LOG) -> Checkpoint:
    return Checkpoint("tic.example/log", size, tree.root(size))


def growth(old: int, new: int, tree: Tree = LOG) -> Growth:
    return Growth(old, tree.root(old), new, tree.root(new), tuple(tree.consistency(old, new)))


def watching(*sizes: int) -> Witness:
    witness = Witness()
    for size in sizes:
        witness.saw(checkpoint(size), f"line {size}")
    return witness


def test_checkpoints_in_any_order_are_tied_by_proofs_of_growth_between_them() -> None:
    witness = watching(30, 7, 40, 19)
    assert witness.untied() == [7, 19, 30]
    for old, new in pairwise([7, 19, 30, 40]):
        witness.grew(growth(old, new))
    assert (witness.sizes(), witness.untied()) == ([7, 19, 30, 40], [])


def test_the_same_checkpoint_again_says_nothing_new() -> None:
    witness = watching(7, 7)
    assert (witness.sizes(), witness.untied()) == ([7], [])


def test_growth_may_be_shown_over_sizes_that_nobody_signed() -> None:
    witness = watching(7, 40)
    witness.grew(growth(7, 13))
    assert witness.untied() == [7]
    witness.grew(growth(13, 40))
    assert witness.untied() == []


def test_two_logs_of_one_size_convict_whoever_signed_them() -> None:
    with pytest.raises(Forked, match="two different logs of 30 events, here and in line 30"):
        watching(30).saw(checkpoint(30, FORKED), "line 31")


def test_two_logs_that_have_both_grown_from_one_are_not_tied_by_it() -> None:
    witness = watching(20, 40)
    witness.saw(checkpoint(30, FORKED), "elsewhere")
    witness.grew(growth(20, 40))
    witness.grew(growth(20, 30, FORKED))
    assert witness.untied() == [30]


def test_growth_of_another_log_ties_nothing() -> None:
    witness = watching(25, 40)
    witness.grew(growth(25, 40, FORKED))
    assert witness.untied() == [25]


def test_growth_that_was_not_shown_is_refused() -> None:
    shown = growth(7, 40)
    wrong = Growth(shown.old, shown.old_root, shown.new, FORKED.root(40), shown.path)
    with pytest.raises(NotProved):
        watching(7, 40).grew(wrong)


def test_one_place_in_the_log_has_one_event() -> None:
    witness = Witness()
    for _ in range(2):
        witness.placed(5, leaf_hash(b"5"), "line 1")
    with pytest.raises(Forked, match=r"event 5 of the log .* in line 1"):
        witness.placed(5, leaf_hash(b"6"), "line 9")


def test_an_empty_log_is_tied_to_nothing_and_by_nothing() -> None:
    assert (Witness().sizes(), Witness().untied()) == ([], [])
