"""Labels: what an organiser calls the games that belong together.

Anybody may give any label, so none proves who gave it. But a label is shown to everyone, and two that look the same
should be the same: so it has no characters that nobody sees, and only one way to write those that have several.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby
from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

__all__ = ["LONGEST_LABEL", "Label", "StoredLabel"]

LONGEST_LABEL: Final = 64

_UNSEEN: Final = frozenset(
    map(
        chr,
        (
            0x034F,  # combining grapheme joiner
            *(0x115F, 0x1160),  # Hangul fillers; the others become these by NFKC
            *(0x17B4, 0x17B5),  # Khmer inherent vowels
            *(0x180B, 0x180C, 0x180D, 0x180F),  # Mongolian variation selectors
            0x2800,  # Braille blank
            *range(0xFE00, 0xFE10),  # variation selectors
            *range(0xE0100, 0xE01F0),
        ),
    )
)
"""Characters that Unicode counts among letters, marks and symbols, and that show nothing."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The categories of characters that break, order or hide text."""
_MOST_MARKS: Final = 4
"""No language has more upon one letter; a heap of them grows into the lines above and below."""


def _must_be_a_label(text: str) -> str:
    if len(text) > LONGEST_LABEL:
        raise ValueError(f"a label has 1 to {LONGEST_LABEL} characters: shorten this one of {len(text)}")
    if not text or text != " ".join(text.split()):
        raise ValueError("a label has visible characters, with single spaces between: give some, or give no label")
    if not text.isprintable() or not _UNSEEN.isdisjoint(text):
        raise ValueError("a label has no characters that nobody sees: type it anew instead of pasting it")
    if text != (written := unicodedata.normalize("NFKC", text)):
        raise ValueError(f"a label is written in its simplest form, which is Unicode's NFKC: write “{written}”")
    if any(map(_is_mark, (word[0] for word in text.split()))) or _marks_in_a_row(text) > _MOST_MARKS:
        raise ValueError(f"an accent of a label stands upon a letter, and at most {_MOST_MARKS} stand upon one")
    return text


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")


def _marks_in_a_row(text: str) -> int:
    return max(len(list(marks)) if are_marks else 0 for are_marks, marks in groupby(text, _is_mark))


def _must_be_fit_to_store(text: str) -> str:
    if not _HIDDEN.isdisjoint(map(unicodedata.category, text)):
        raise ValueError("a label has no characters that order or hide text")
    return text


Label = Annotated[str, AfterValidator(_must_be_a_label)]
"""A label that is given now."""

StoredLabel = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_LABEL), AfterValidator(_must_be_fit_to_store)
]
"""A label that was given once. It is asked for no more than holds in every version of Unicode: what is printable grows
with each of them, and what was stored must be read for ever."""
