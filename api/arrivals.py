"""From the threads in which commands are decided to the event loop in which their answers are waited for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from domain.gathering import Told

__all__ = ["Arrivals"]

T = TypeVar("T")


class Arrivals:
    """Answers that come in other threads: the event loop is woken once for all that come at the same time."""

    def __init__(self) -> None:
        self._arrived: Final[deque[tuple[asyncio.Future[Any], Any]]] = deque()
        self._woken = False

    async def told(self, ask: Callable[[Told[T]], object]) -> T:
        """Return what is told to the function that ``ask`` is given, in whichever thread; raise an error."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        ask(partial(self._add, answer))
        return await answer

    def _add(self, answer: asyncio.Future[Any], result: object) -> None:
        self._arrived.append((answer, result))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                answer.get_loop().call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._woken = False  # before it is looked what is there: whatever comes from now on wakes the loop again
        while self._arrived:
            answer, result = self._arrived.popleft()
            if answer.done():
                continue  # whoever asked has gone
            if isinstance(result, BaseException):
                answer.set_exception(result)
            else:
                answer.set_result(result)
