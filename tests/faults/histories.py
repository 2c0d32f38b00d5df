"""What each client did and was told, with the times of it: one half of what the checker reads; the log is the other.

Times are those of one monotonic clock, that of the process in which all clients run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

__all__ = ["Acknowledged", "Hash", "Heard", "Histories", "Outcome", "Read", "Refused", "Request", "Unknown"]

Hash = tuple[int, str]
"""An event as a client was told of it: its number in the game, and its hash."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The server said that it is done, and on disk."""

    version: int
    hash: str
    events: tuple[Hash, ...]
    shown: Mapping[str, Any]
    """The game after it, as the player was shown it."""
    repeated: bool = False
    """Whether the server said that it had answered the key before."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The server said that nothing happened."""

    code: str
    current: int | None = None
    """The game's version, where the refusal tells it."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer came, or one that leaves open what happened."""

    why: str


Outcome = Acknowledged | Refused | Unknown


@dataclass(frozen=True, slots=True)
class Request:
    """One command under a key of its own; it may have been sent several times, until it was answered."""

    client: str
    player: UUID
    key: str
    game: UUID | None
    """None for an opening: the game has its id from the answer."""
    topic: str
    """The fact with which its events begin, if it is granted."""
    expected: int | None
    """The version that it was made for; None where the position did not matter."""
    called: float
    """When it was sent first."""
    returned: float
    """When its last answer came, or was not awaited any longer."""
    outcome: Outcome
    tries: int = 1

    def __str__(self) -> str:
        return f"{self.client}'s {self.topic} ({self.key})"


@dataclass(frozen=True, slots=True)
class Read:
    """A game as a client was shown it."""

    client: str
    player: UUID
    game: UUID
    called: float
    returned: float
    shown: Mapping[str, Any]

    @property
    def version(self) -> int:
        return int(self.shown["version"])

    def __str__(self) -> str:
        return f"{self.client}'s read of {self.game} at version {self.version}"


@dataclass(frozen=True, slots=True)
class Heard:
    """One piece of a subscription: what came between its beginning and its end."""

    subscriber: str
    game: UUID
    after: int
    """The number of the event after which it began."""
    events: tuple[Hash, ...]
    ended: str
    """`complete` after the last event of the game; else the close code or the error's code."""

    @property
    def last(self) -> int:
        """The number of the last event heard of."""
        return self.events[-1][0] if self.events else self.after


@dataclass(slots=True)
class Histories:
    """All of it, in the order in which it was known."""

    requests: list[Request] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    unanswered: Counter[str] = field(default_factory=Counter)
    """Why a command or a read, each time that it was sent, had no answer that tells: an error's code or kind."""

    @property
    def acknowledged(self) -> int:
        """How many requests were acknowledged."""
        return self._count(Acknowledged)

    @property
    def refused(self) -> int:
        """How many requests were refused."""
        return self._count(Refused)

    @property
    def unknown(self) -> int:
        """Of how many requests nobody was told what became."""
        return self._count(Unknown)

    def _count(self, kind: type[Outcome]) -> int:
        return sum(isinstance(request.outcome, kind) for request in self.requests)

    @property
    def looked_up(self) -> int:
        """How many were acknowledged by an answer to the same key sent again: the first answer had been lost."""
        return sum(one.outcome.repeated for one in self.requests if isinstance(one.outcome, Acknowledged))

    def __str__(self) -> str:
        again = sum(one.tries > 1 for one in self.requests)
        return (
            f"{self.acknowledged} acknowledged ({self.looked_up} of them when asked again), {self.refused} refused, "
            f"{self.unknown} unknown; {again} sent more than once; {len(self.reads)} reads"
        )
