"""In what two facts differ, in words: the field by its path, what one says there, and what the other does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from domain.decider import Fact

__all__ = ["difference", "short"]


def difference(told: Fact, right: Fact | None) -> str:
    """Say in what a fact that is told differs from the right one."""
    if right is None:
        return f"{told.topic} does not follow from the command by the rules"
    if type(told) is not type(right):
        return f"it tells of {told.topic}, and by the rules {right.topic} stands here"
    path, says, should = _parting(told.model_dump(mode="json"), right.model_dump(mode="json"))
    field = f"{path.lstrip('.')} of {told.topic}"
    if short(says) == short(should):  # what differs comes behind what is shown
        return f"{field} is {short(says)}, and by the rules it is {_size(should)}, where {_size(says)} stands"
    return f"{field} is {short(says)}, and by the rules it is {short(should)}"


def _size(value: Any) -> str:
    return f"one of {len(value)}" if isinstance(value, (dict, list, str)) else "another"


def _parting(says: Any, should: Any) -> tuple[str, Any, Any]:
    """Return where two values of JSON first differ, as a path, and what each has there."""
    inner: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(says, dict) and isinstance(should, dict) and says.keys() == should.keys():
        inner = ((f".{name}", says[name], should[name]) for name in should)
    elif isinstance(says, list) and isinstance(should, list) and len(says) == len(should):
        inner = ((f"[{at}]", one, other) for at, (one, other) in enumerate(zip(says, should, strict=True)))
    for step, one, other in inner:
        if one != other:
            path, *values = _parting(one, other)
            return step + path, *values
    return "", says, should


def short(value: Any) -> str:
    """Write a value in one line of JSON, cut short where it is long."""
    text = json.dumps(value, separators=(",", ":"))  # with escapes: what turns a terminal's writing round stays told
    return text if len(text) <= 200 else f"{text[:200]} ..."
