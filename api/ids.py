"""Opaque ids and cursors: what they hold is nobody's business but ours.

>>> ids = write_id("game", UUID(int=7))
>>> read_id(ids)
('game', UUID('00000000-0000-0000-0000-000000000007'))
"""

from __future__ import annotations

import base64
from typing import Final
from uuid import UUID

from api.faults import BadUserInput

__all__ = ["read_cursor", "read_id", "write_cursor", "write_id"]

LONGEST: Final = 200


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


def write_cursor(position: int) -> str:
    """Return the cursor for reading on after a position."""
    return _write(f"after:{position}")


def read_cursor(text: str | None) -> int | None:
    """Return the position that a cursor stands for.

    Raises:
        BadUserInput: it is no cursor.
    """
    if text is None:
        return None
    try:
        found, _, value = _read(text).partition(":")
        if found == "after" and value.isascii() and value.isdecimal() and len(value) < 19:
            return int(value)
    except ValueError:
        pass
    raise BadUserInput("`after` is not a cursor: give `pageInfo.endCursor` of the page before, or leave it out.")


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
