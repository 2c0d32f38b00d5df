"""As whom a game is looked at again."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ReplayView"]


class ReplayView(StrEnum):
    """As whom a game is looked at again."""

    PUBLIC = "PUBLIC"
    SEAT_1 = "SEAT_1"
    SEAT_2 = "SEAT_2"
    SEAT_3 = "SEAT_3"
    SEAT_4 = "SEAT_4"
    SEAT_5 = "SEAT_5"
    SEAT_6 = "SEAT_6"
    SEAT_7 = "SEAT_7"
    SEAT_8 = "SEAT_8"
    ALL = "ALL"

    @property
    def seat(self) -> int:
        """The seat that is named; 0 for none."""
        _, _, number = self.partition("_")
        return int(number or 0)
