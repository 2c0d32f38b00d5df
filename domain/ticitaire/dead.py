"""Whether a position is dead: a proof, from the cards that the player has seen and nothing else (ruling S10).

A position is *alive* if moves lead to a card uncovered or a stock card brought into play. The search goes through
the layouts that moves of open cards can reach without either. Stock and waste go round for ever, so each of their
cards can be had; one that nobody has seen may be any card that nobody has seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from enum import Enum
from functools import lru_cache
from typing import Final

from domain.cards import DECK, Card
from domain.ticitaire.facts import COLUMNS, PILES
from domain.ticitaire.moves import Faces, Reach, may_go, why_not
from domain.ticitaire.table import Layout, TicitaireTable

__all__ = ["BOUND", "Verdict", "verdict"]

Known = tuple[Card | None, ...]
"""By deck position: the card, where it was seen."""

BOUND: Final = 500
"""How many layouts are looked at before the search gives up."""


class Verdict(Enum):
    """What the search has shown."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


def verdict(table: TicitaireTable, *, bound: int = BOUND) -> Verdict:
    """Return what can be shown of a position; DEAD only where it is proved.

    Args:
        table: the position; no card that was not seen is looked at.
        bound: how many layouts to look at before answering UNKNOWN.
    """
    return _searched(table.layout, table.seen, table.options.strict_duo, bound)


@lru_cache(maxsize=4096)
def _searched(layout: Layout, known: Known, strict_duo: bool, bound: int) -> Verdict:
    """Search once a position, however often and by however many it is asked for."""
    stock_cards = _may_come(layout, known)
    unsure = _unseen_in_stock(layout, known)
    face = _open_cards(known)
    seen = {_key(layout)}
    waiting = deque([layout])
    guess = False
    while waiting:
        layout = waiting.popleft()
        reach = Reach(layout, face)
        if any(may_go(reach, card, target, strict_duo=strict_duo) for card in stock_cards for target in _TARGETS):
            return Verdict.ALIVE
        guess = guess or any(may_go(reach, card, to, strict_duo=strict_duo) for card in unsure for to in _TARGETS)
        for source in _SOURCES:
            for target in _TARGETS:
                if why_not(reach, source, target, strict_duo=strict_duo) is not None:
                    continue
                moved = layout.moved(source, target)
                if moved.to_turn_up(source) is not None:
                    return Verdict.ALIVE
                if (key := _key(moved)) not in seen:
                    if len(seen) >= bound:
                        return Verdict.UNKNOWN
                    seen.add(key)
                    waiting.append(moved)
    return Verdict.UNKNOWN if guess else Verdict.DEAD


_SOURCES: Final = (*COLUMNS, *PILES)
_TARGETS: Final = (*COLUMNS, *PILES)


def _open_cards(known: Known) -> Faces:
    def face(position: int) -> Card:
        card = known[position]
        if card is None:
            raise LookupError("the search must not look at a card that was not seen")
        return card

    return face


def _may_come(layout: Layout, known: Known) -> Collection[Card]:
    """The stock's and the waste's cards that were seen: turning and recycling brings each of them."""
    positions = (*layout.stock, *layout.waste)
    return [card for position in positions if (card := known[position]) is not None]


def _unseen_in_stock(layout: Layout, known: Known) -> Collection[Card]:
    """What an unseen card of the stock may be: any card that nobody has seen."""
    if all(known[position] is not None for position in layout.stock):
        return ()
    return set(DECK) - set(known)


def _key(layout: Layout) -> tuple[object, ...]:
    """What tells layouts apart; columns without face-down cards can stand in any order."""
    fixed = tuple((at, column.run) for at, column in enumerate(layout.columns) if column.buried)
    free = tuple(sorted(column.run for column in layout.columns if not column.buried))
    return fixed, free, layout.low, layout.high
