"""Opaque ids: what they hold is nobody's business but ours.

>>> ids = write_id("game", UUID(int=7))
>>> read_id(ids)
('game', UUID('00000000-0000-0000-0000-000000000007'))
"""

from __future__ import annotations

import base64
from typing import Final
from uuid import UUID

__all__ = ["game_of", "opaque", "read_id", "read_opaque", "write_id"]

LONGEST: Final = 200


def write_id(kind: str, value: UUID) -> str:
    """Return the id of a node."""
    return opaque(f"{kind}:{value}")


def read_id(text: str, kind: str | None = None) -> tuple[str, UUID]:
    """Return the kind and the UUID that an id stands for.

    Raises:
        ValueError: it is no id, or not one of that kind.
    """
    found, _, value = read_opaque(text).partition(":")
    if kind is not None and found != kind:
        raise ValueError(f"this is not the id of a {kind}; take it from the field `id` of a {kind}")
    try:
        return found, UUID(value)
    except ValueError:
        raise _no_id() from None


def game_of(text: str) -> UUID:
    """Return the game that an id, or a UUID as it is written in events, stands for.

    Raises:
        ValueError: it is neither.
    """
    if len(text) == len(str(UUID(int=0))):
        return UUID(text)
    return read_id(text, "game")[1]


def opaque(text: str) -> str:
    """Return a text in the form in which ids and cursors are told."""
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def read_opaque(text: str) -> str:
    """Return what an id or a cursor holds.

    Raises:
        ValueError: it is neither.
    """
    try:
        if len(text) > LONGEST:
            raise _no_id()
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:  # not ASCII, not base64, or not ASCII inside
        raise _no_id() from None


def _no_id() -> ValueError:
    return ValueError("this is not an id of this server")
