"""Games as they are first read from the log: with their seeds, where they are sealed here and the seal opens.

A game whose seeds are not to be had is for reading: it is folded and shown as everyone may see it, and nothing in it is
open to anyone. Where it is a key of the server that is missing, that lasts until the key is there again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NoReturn
from uuid import UUID

import structlog

from domain.dealing import Seeds, are_chained
from domain.decider import AnyDecider, Deciders
from domain.events import Event, UnknownEvent
from domain.game import Game
from domain.lifecycle import CLOSING, Dealt, GameOpened, SeedsRevealed
from domain.vault import NotSealedHere, SealError, Vault

__all__ = ["NotHandled", "SealUnopened", "SealedElsewhere", "Unsealing", "lacks_its_key"]

_logger: Final = structlog.get_logger(__name__)


class NotHandled(Exception):
    """A command was refused before the rules were asked. Nothing was recorded."""


class SealedElsewhere(NotHandled):
    """The game came here as a record while it was under way: its seeds are not here, so it is only for reading."""


class SealUnopened(NotHandled):
    """The game's seeds are sealed by a key that this server has not now, or broken: till then it is for reading."""


class Unsealing:
    """Reads games for the first time, from all their events. It may be asked from many threads."""

    def __init__(self, vault: Vault, deciders: Deciders) -> None:
        self._vault: Final = vault
        self._deciders: Final = deciders
        self._told: Final[set[str]] = set()
        """What the log of the server was told already."""

    def unopened(self, game_id: UUID, events: Sequence[Event]) -> Game:
        """Return a game before its first event, under its rules and with its seeds, as all its events ask for.

        Raises:
            TypeError: the first event opens no game.
            UnknownEvent: this program does not know its kind and ruleset.
            OperationalError: the database is away.
        """
        opened, last = events[0].fact, events[-1].fact
        if not isinstance(opened, GameOpened):
            raise TypeError(f"game {game_id} does not begin with its opening")
        decider = self._deciders.get((opened.kind, opened.ruleset))
        if decider is None:
            raise UnknownEvent(f"this program knows no ruleset {opened.ruleset} of {opened.kind}")
        seeds: Seeds | None = None
        if isinstance(last, SeedsRevealed):
            seeds = _published(opened, last, events)
        elif isinstance(last, CLOSING):  # nothing was dealt, and nothing is decided any more
            with suppress(SealError):
                seeds = self._sealed(game_id, opened)
        else:
            seeds, decider = self._with_seeds(game_id, opened, decider)
        return Game.unopened(game_id, decider, decider.empty(seeds))

    def _with_seeds(self, game_id: UUID, opened: GameOpened, decider: AnyDecider) -> tuple[Seeds | None, AnyDecider]:
        """Return the seeds of a game that goes on, with its rules; None for them where it is for reading."""
        try:
            seeds = self._sealed(game_id, opened)
        except SealError as error:
            self.tell(game_id, error)
            return None, _for_reading(decider, _lacking_its_key)
        return seeds, decider if seeds else _for_reading(decider, _sealed_elsewhere)

    def opens_now(self, game: Game) -> bool:
        """Tell whether a game that lacked its key need not do so any more.

        Raises:
            OperationalError: the database is away.
        """
        try:
            self._sealed(game.id, game.table.opened)
        except SealError:
            return False
        return True

    def tell(self, game_id: UUID, error: SealError) -> None:
        """Say in the log of the server, once, why a game's seal can't be opened: it may be so with many games."""
        if (why := str(error)) not in self._told:
            self._told.add(why)
            _logger.error("a seal can't be opened, so games can be read and not played on", why=why, one=str(game_id))

    def _sealed(self, game_id: UUID, opened: GameOpened) -> Seeds | None:
        """Return the seeds that an opening commits to; None where they are not here, or are another game's."""
        if opened.deal != game_id:  # a record may name any deal, and whoever sits there would be told its cards
            return None
        try:
            seeds = self._vault.open(opened.deal)
        except NotSealedHere:
            return None
        return seeds if seeds.commitment.hex() == opened.commitment else None


def lacks_its_key(game: Game) -> bool:
    """Tell whether a game is for reading because its seal could not be opened when it was first read."""
    return game.decider.decide is _lacking_its_key


def _lacking_its_key(*_: object) -> NoReturn:
    raise SealUnopened


def _sealed_elsewhere(*_: object) -> NoReturn:
    raise SealedElsewhere


def _for_reading(decider: AnyDecider, refuse: Callable[..., NoReturn]) -> AnyDecider:
    """Return the rules of a game that is for reading: it is folded and shown, and nothing is open to anyone."""
    return replace(decider, decide=refuse, legal_commands=lambda *_: (), came_to=lambda *_: ())


def _published(opened: GameOpened, revealed: SeedsRevealed, events: Sequence[Event]) -> Seeds | None:
    """Return the seeds that a game was closed with; None where they are not those that were committed to."""
    seeds = [bytes.fromhex(seed) for seed in revealed.seeds]
    dealt = next((event.fact.number for event in reversed(events) if isinstance(event.fact, Dealt)), 0)
    fit = len(seeds) == dealt and are_chained(opened.deal, bytes.fromhex(opened.commitment), seeds)
    return Seeds.revealed(opened.deal, seeds) if seeds and fit else None
