"""The grid of cards, and where a single card may be laid beside it.

Inside the grid a card is its index (C2), and a set of cards is an integer in which bit n stands for the card of index
n. So *which cards may lie in this cell* is one integer, kept for every empty cell beside the grid, and *can this hand
be laid* is a few hundred ANDs. ``docs/tickle.md`` proves that single cards are all that must be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from domain.cards import DECK, commonness
from domain.decider import Cell

__all__ = ["COMMON", "EMPTY_GRID", "TICS", "TOUCHING", "Grid", "Laid", "beside", "indexes", "set_of"]

Laid = tuple[tuple[Cell, int], ...]
"""Cards, by index, each with its cell."""

COMMON: Final = tuple(bytes(commonness(a, b) for b in DECK) for a in DECK)
"""``COMMON[a][b]``: how many properties two cards have in common; 3 for a card and itself (C3)."""


def set_of(cards: Iterable[int]) -> int:
    """Return the set of cards of these indexes."""
    found = 0
    for card in cards:
        found |= 1 << card
    return found


def indexes(cards: int) -> Iterator[int]:
    """Yield the indexes of a set's cards, the lowest first."""
    while cards:
        lowest = cards & -cards
        yield lowest.bit_length() - 1
        cards ^= lowest


TICS: Final = tuple(set_of(b for b in range(len(DECK)) if COMMON[a][b] == 2) for a in range(len(DECK)))
"""For each card, the set of those that Tic with it (C3)."""
TOUCHING: Final = tuple(set_of(b for b in range(len(DECK)) if COMMON[a][b] in (1, 2)) for a in range(len(DECK)))
"""For each card, the set of those that Tic or Single with it, and so may lie beside it (K5)."""
ALL_CARDS: Final = (1 << len(DECK)) - 1


def beside(cell: Cell) -> tuple[Cell, Cell, Cell, Cell]:
    """Return the four cells that touch a cell along an edge."""
    x, y = cell
    return (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)


class Grid:
    """An immutable grid."""

    __slots__ = ("cards", "playable")

    def __init__(self, cards: Mapping[Cell, int], playable: Mapping[Cell, int]) -> None:
        self.cards: Final = cards
        """The card in each cell that has one."""
        self.playable: Final = playable
        """For each empty cell beside the grid, the set of cards that may be laid there alone (K5). It may be empty."""

    @classmethod
    def of(cls, cards: Mapping[Cell, int]) -> Grid:
        """Return the grid of some cards."""
        return EMPTY_GRID.after(cards.items())

    def after(self, laid: Iterable[tuple[Cell, int]]) -> Grid:
        """Return the grid with more cards in empty cells."""
        new = dict(laid)
        cards, playable = {**self.cards, **new}, dict(self.playable)
        for cell in new:
            playable.pop(cell, None)
        for cell in {near for laid_in in new for near in beside(laid_in)} - cards.keys():
            touching, tics = neighbourhood(cards, cell)
            playable[cell] = touching & tics
        return Grid(cards, playable)

    def takes_one_of(self, hand: int) -> bool:
        """Whether some card of a set may be laid alone (K5)."""
        return any(cards & hand for cards in self.playable.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.cards == other.cards

    def __hash__(self) -> int:
        return hash(frozenset(self.cards.items()))

    def __repr__(self) -> str:
        return f"<Grid of {len(self.cards)} cards>"


def neighbourhood(cards: Mapping[Cell, int], cell: Cell) -> tuple[int, int]:
    """Return the cards that make no Nic with the cards around a cell, and those that Tic with one of them."""
    touching, tics = ALL_CARDS, 0
    for neighbour in beside(cell):
        card = cards.get(neighbour)
        if card is not None:
            touching &= TOUCHING[card]
            tics |= TICS[card]
    return touching, tics


EMPTY_GRID: Final = Grid({}, {})
