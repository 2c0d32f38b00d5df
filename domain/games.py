"""Every game, one line each."""

from __future__ import annotations

from typing import Final

from domain.decider import AnyDecider, Deciders
from domain.events import FactTypes
from domain.poker.rules import POKER
from domain.tables import TableOpened
from domain.ticitaire.rules import TICITAIRE
from domain.tickle.rules import TICKLE

__all__ = ["DECIDERS", "FACT_TYPES", "FOR_SEVERAL", "RULESETS"]

_GAMES: Final[tuple[AnyDecider, ...]] = (TICITAIRE, TICKLE, POKER)

DECIDERS: Final[Deciders] = {(decider.kind, decider.ruleset): decider for decider in _GAMES}
"""By kind and ruleset; a ruleset, once played, stays for ever."""

FACT_TYPES: Final[FactTypes] = {fact.topic: fact for decider in _GAMES for fact in decider.facts}

RULESETS: Final = {decider.kind: decider.ruleset for decider in sorted(_GAMES, key=lambda decider: decider.ruleset)}
"""The ruleset under which a new game of each kind is opened: the newest."""

FOR_SEVERAL: Final = frozenset(
    decider.kind for decider in _GAMES if any(issubclass(fact, TableOpened) for fact in decider.facts)
)
"""The kinds that several play against each other."""
