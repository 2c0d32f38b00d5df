"""Labels, as requests give them."""

from __future__ import annotations

import unicodedata
from typing import Final

from pydantic import TypeAdapter, ValidationError

from api.errors import InvalidInput
from domain.labels import LONGEST_LABEL, Label

__all__ = ["LABEL_DESCRIPTION", "read_label"]

LABEL_DESCRIPTION: Final = (
    f"What you call the games that belong together, such as those of a tournament: 1 to {LONGEST_LABEL} printable "
    "characters; spaces and line ends in a row count as one. Games are found and counted by it. Anyone may give any "
    "label, so it does not prove who opened a game. It is public, and stays in the log for ever: put nothing personal "
    "into it. A rematch of the game bears none."
)
"""Of the input of every mutation that opens a game."""

_LABEL: Final = TypeAdapter[str](Label)


def read_label(text: str | None) -> str | None:
    """Return a label that a game is opened with, in its simplest form and with single spaces; None for no label.

    Raises:
        InvalidInput: it is no label; the message tells what to do.
    """
    if text is None:
        return None
    try:
        # Of what looks the same one form is kept, whichever was typed.
        return _LABEL.validate_python(unicodedata.normalize("NFKC", " ".join(text.split())))
    except ValidationError as error:
        broken = error.errors()[0].get("ctx", {}).get("error")  # none where it is not even Unicode
        reason = str(broken or f"a label has 1 to {LONGEST_LABEL} printable characters")
        raise InvalidInput(f"{reason[0].upper()}{reason[1:]}.", "label") from None
