"""Cursors: where a list is read on. What they hold is nobody's business but ours."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final

from api.faults import BadUserInput
from api.ids import opaque, read_opaque

__all__ = ["read_cursor", "read_place", "write_cursor"]

_END: Final = "."
"""Of a cursor, so that one that was cut short is none."""


def write_cursor(*at: int, of: str) -> str:
    """Return the cursor for reading on after a place in a list.

    Args:
        at: the place: a position in the log, or what else the list is ordered by.
        of: which list.
    """
    return opaque(":".join(["after", _digest(of), *map(str, at)]) + _END)


def read_cursor(text: str | None, *, of: str) -> int | None:
    """Return the position that a cursor stands for in a list.

    Raises:
        BadUserInput: it is no cursor, or one of another list.
    """
    found = read_place(text, 1, of=of)
    return found[0] if found else None


def read_place(text: str | None, numbers: int, *, of: str) -> tuple[int, ...] | None:
    """Return the place that a cursor stands for in a list that is ordered by so many numbers.

    Raises:
        BadUserInput: it is no cursor, or one of another list.
    """
    if text is None:
        return None
    try:
        told = read_opaque(text)
        word, *found = told.removesuffix(_END).split(":")
        list_, place = found[:-numbers], found[-numbers:]
        is_of_it = told.endswith(_END) and word == "after" and list_ == [_digest(of)]
        if is_of_it and len(place) == numbers and all(map(_NUMBER.fullmatch, place)):
            read = tuple(map(int, place))
            if max(read) < 2**63:  # what the database can be asked for
                return read
    except ValueError:
        pass
    raise BadUserInput(
        "`after` is not a cursor of this list: give `pageInfo.endCursor` of the page before, or leave it out."
    )


_NUMBER: Final = re.compile("[0-9]{1,19}")


@lru_cache(maxsize=1_000)
def _digest(list_: str) -> str:
    return hashlib.sha256(list_.encode()).hexdigest()[:16]
