"""Opaque ids and cursors: what they hold is nobody's business but ours.

>>> ids = write_id("game", UUID(int=7))
>>> read_id(ids)
('game', UUID('00000000-0000-0000-0000-000000000007'))
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from typing import Final
from uuid import UUID

from api.faults import BadUserInput

__all__ = ["read_cursor", "read_id", "read_place", "write_cursor", "write_id"]

LONGEST: Final = 200
_END: Final = "."
"""Of a cursor, so that one that was cut short is none."""


def write_id(kind: str, value: UUID) -> str:
    """Return the id of a node."""
    return _write(f"{kind}:{value}")


def read_id(text: str, kind: str | None = None) -> tuple[str, UUID]:
    """Return the kind and the UUID that an id stands for.

    Raises:
        ValueError: it is no id, or not one of that kind.
    """
    found, _, value = _read(text).partition(":")
    if kind is not None and found != kind:
        raise ValueError(f"this is not the id of a {kind}; take it from the field `id` of a {kind}")
    try:
        return found, UUID(value)
    except ValueError:
        raise _no_id() from None


def write_cursor(*at: int, of: str) -> str:
    """Return the cursor for reading on after a place in a list.

    Args:
        at: the place: a position in the log, or what else the list is ordered by.
        of: which list.
    """
    return _write(":".join(["after", _digest(of), *map(str, at)]) + _END)


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
        told = _read(text)
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


def _write(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def _read(text: str) -> str:
    try:
        if len(text) > LONGEST:
            raise _no_id()
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:  # not ASCII, not base64, or not ASCII inside
        raise _no_id() from None


def _no_id() -> ValueError:
    return ValueError("this is not an id of this server")


def game_of(text: str) -> UUID:
    """Return the game that an id, or a UUID as it is written in events, stands for.

    Raises:
        ValueError: it is neither.
    """
    if len(text) == len(str(UUID(int=0))):
        return UUID(text)
    return read_id(text, "game")[1]
