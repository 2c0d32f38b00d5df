"""Where the list of games ends and the log goes on: what the list does not show yet is looked up in the log.

The list follows the log within moments, so whoever takes games from it must know what happened since. Each question
here first asks how far the list has come and looks into it after that, and then reads the log from there: whatever was
on disk before the question is in the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar
from uuid import UUID

import structlog

from api.faults import Unavailable
from api.tallies import UNFINISHED, Tally, is_private
from domain.application import Games
from domain.events import UnknownEvent, read_event
from domain.game import Game
from domain.games import FACT_TYPES
from domain.lifecycle import GameLabelled, GameOpened, PlayerSeated
from domain.storage import DATABASE_AWAY, Datastore
from domain.tables import PlayerJoined
from projections.lobby import LobbyQueries, Status

__all__ = ["COMING", "Opening", "Reading", "Seams", "Wanted"]

COMING: Final = (PlayerJoined, PlayerSeated)
"""The facts by which a player comes to a table; whoever opens one is the first to."""
MOST_BEHIND: Final = 50_000
"""Events that are looked through for what the list does not show yet."""
MOST_ATTENDED: Final = 1_000
"""Games that a player is found at."""

T = TypeVar("T")

_BEHIND: Final = (
    "SELECT position, (SELECT coalesce(max(notification_id), 0) FROM public.game_events) - position AS behind"
    " FROM read_models.projection_positions WHERE name = 'lobby'"
)
_CHANGED: Final = "SELECT DISTINCT originator_id AS game FROM public.game_events WHERE notification_id > %s"
_CAME: Final = (
    "SELECT DISTINCT originator_id AS game FROM public.game_events"
    " WHERE notification_id > %s AND topic = ANY (%s) AND position(%s::bytea IN state) > 0"
)
_OPENINGS: Final = (
    "SELECT state FROM public.game_events WHERE originator_id = ANY (%s) AND originator_version <= 2"
    " ORDER BY originator_id, originator_version"
)
_TOPICS: Final = [fact.topic for fact in COMING]

_logger: Final = structlog.get_logger(__name__)


class Reading(Protocol):
    """Asks what waits for the database, off the event loop; and again while the database is away."""

    async def __call__(self, ask: Callable[[], T], /) -> T:
        """Return what was answered."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a game is for life."""

    kind: str
    label: str | None
    private: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which unfinished games somebody follows; None does not matter."""

    kind: str | None = None
    label: str | None = None
    private: bool | None = None
    status: Status | None = None
    joinable: bool = False
    """Only tables that anyone may join now."""

    def may_be(self, opening: Opening | Tally) -> bool:
        """Whether a game opened like that is ever wanted."""
        return (
            self.kind in (None, opening.kind)
            and self.label in (None, opening.label)
            and self.private in (None, opening.private)
            and not (self.joinable and opening.private)
        )

    def fits(self, tally: Tally) -> bool:
        """Whether a game that stands like that is wanted."""
        statuses = UNFINISHED if self.status is None else (self.status,)
        return tally.status in statuses and self.may_be(tally) and (tally.is_joinable or not self.joinable)


class Seams:
    """Questions to the list and the log together. They wait for the database; all but ``games`` raise that it is away.

    Where the list is too far behind, as one that is being made anew, those that ask it raise ``Unavailable``.
    """

    def __init__(self, datastore: Datastore, lobby: LobbyQueries, games: Games) -> None:
        self._datastore: Final = datastore
        self._lobby: Final = lobby
        self._games: Final = games

    def listed(self, wanted: Wanted, first: int) -> tuple[list[UUID], bool]:
        """Return the newest games that are wanted and some more, and whether the list has more than ``first``.

        Among those more is every game that changed since the list was made, wanted or not.
        """
        position = self._position()
        statuses = UNFINISHED if wanted.status is None else (wanted.status,)
        rows = [
            row
            for status in statuses
            for row in self._lobby.games(
                kind=wanted.kind,
                label=wanted.label,
                private=wanted.private,
                joinable=wanted.joinable,
                status=status,
                first=first + 1,
            )
        ]
        newest = sorted(rows, key=lambda row: row.position, reverse=True)
        changed = [row["game"] for row in self._datastore.read(_CHANGED, (position,))]
        return list(dict.fromkeys([*(row.game for row in newest[:first]), *changed])), len(rows) > first

    def attended(self, player: UUID) -> list[UUID]:
        """Return the unfinished games at whose table a player is, the newest ``MOST_ATTENDED`` of each status.

        Among them may be some that the player has left, or that are over.
        """
        position = self._position()
        rows = [
            row for status in UNFINISHED for row in self._lobby.games(player=player, status=status, first=MOST_ATTENDED)
        ]
        came = self._datastore.read(_CAME, (position, _TOPICS, str(player).encode()))
        return list(dict.fromkeys([*(row.game for row in rows), *(row["game"] for row in came)]))

    def openings(self, games: Collection[UUID]) -> dict[UUID, Opening]:
        """Return what games are for life; those that this program can't read are left out."""
        found: dict[UUID, Opening] = {}
        for row in self._datastore.read(_OPENINGS, (list(games),)):
            try:
                event = read_event(row["state"], FACT_TYPES)
            except (ValueError, UnknownEvent):  # from a newer server, which tells of it
                continue
            if isinstance(event.fact, GameOpened):
                found[event.game] = Opening(event.fact.kind, None, is_private(event.fact))
            elif isinstance(event.fact, GameLabelled) and event.game in found:
                found[event.game] = Opening(found[event.game].kind, event.fact.label, found[event.game].private)
        return found

    def games(self, games: Sequence[UUID]) -> list[Game]:
        """Return games as they are now; those that can't be read are left out, and the log of the server says so."""
        found: list[Game] = []
        for game, read in zip(games, self._games.several(games), strict=True):
            if isinstance(read, Game):
                found.append(read)
            elif isinstance(read, DATABASE_AWAY):
                raise read
            else:
                _logger.error("a game can't be read, and is not told", game=str(game), exc_info=read)
        return found

    def _position(self) -> int:
        """Return how far the list has come at least."""
        rows = self._datastore.read(_BEHIND, ())
        if not rows or rows[0]["behind"] > MOST_BEHIND:
            raise Unavailable("The list of games is being made anew: try again in a while.")
        return int(rows[0]["position"])
