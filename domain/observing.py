"""What happens to commands, told to whoever measures it. The domain counts nothing itself."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Observer", "Unobserved"]


class Observer(Protocol):
    """Is told of commands and appends, in whichever thread they end; it must not block, and it raises nothing."""

    def ended(self, kind: str | None, result: object, seconds: float) -> None:
        """Learn what became of a command: its ``Outcome``, or what it was refused or failed with.

        ``kind`` is None where it is not known, as of a game that there is not; ``seconds`` count from the asking.
        """

    def appended(self, commands: int, events: int, seconds: float) -> None:
        """Learn that a batch is on disk: so many commands with so many events, in the time that the database took."""

    def not_appended(self) -> None:
        """Learn that the database did not take a batch, or that it can't be told whether it did."""


class Unobserved:
    """An observer that does nothing."""

    def ended(self, kind: str | None, result: object, seconds: float) -> None:
        """Do nothing."""

    def appended(self, commands: int, events: int, seconds: float) -> None:
        """Do nothing."""

    def not_appended(self) -> None:
        """Do nothing."""
