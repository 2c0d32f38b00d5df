"""What a laydown scores (K9 to K12)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Final, NamedTuple

from domain.cards import DECK, Card, Colour, Shape
from domain.decider import Cell
from domain.tickle.facts import HAND, Contact, Group, Score
from domain.tickle.grid import COMMON, Grid, Laid, beside, indexes, set_of

__all__ = ["EXTREMES", "contacts_of", "score", "total"]

TIC_POINTS: Final = 2
GROUP_POINTS: Final = {3: 3, 4: 4, 5: 10}
SIX_CARD_POINTS: Final = 6
EXTREMES: Final = {
    Card(1, Shape.CIRCLE, Colour.VIOLET).index: 5,
    Card(5, Shape.STAR, Colour.RED).index: 10,
}


class _Combination(NamedTuple):
    """Two properties with their values; the third is free, and None here (K10)."""

    number: int | None
    shape: Shape | None
    colour: Colour | None

    def on(self, card: Card) -> bool:
        """Whether a card has the two properties."""
        return (
            self.number in (None, card.number)
            and self.shape in (None, card.shape)
            and self.colour in (None, card.colour)
        )


_COMBINATIONS: Final = (
    *(_Combination(number, shape, None) for number in range(1, 6) for shape in Shape),
    *(_Combination(number, None, colour) for number in range(1, 6) for colour in Colour),
    *(_Combination(None, shape, colour) for shape in Shape for colour in Colour),
)
_CARDS_WITH: Final = tuple(set_of(card.index for card in DECK if combination.on(card)) for combination in _COMBINATIONS)
"""For each combination its five cards."""
_SHARED: Final = {pair: at for at, cards in enumerate(_CARDS_WITH) for pair in permutations(indexes(cards), 2)}
"""Two cards that Tic: the combination that they share."""


class _Group(NamedTuple):
    combination: int
    cells: frozenset[Cell]
    bonus: int
    extreme: int


def contacts_of(grid: Grid, laid: Mapping[Cell, int]) -> list[tuple[Cell, Cell, int]]:
    """Return every contact of which at least one card is new, each once, with the number of common properties (K9)."""
    contacts = []
    for cell, card in laid.items():
        for neighbour in beside(cell):
            other = laid.get(neighbour)
            if other is None:
                other = grid.cards.get(neighbour)
                if other is None:
                    continue
            elif neighbour < cell:
                continue  # told at the other cell
            ends = (cell, neighbour) if cell < neighbour else (neighbour, cell)
            contacts.append((*ends, COMMON[card][other]))
    return contacts


def _connected(cell: Cell, members: int, *layers: Mapping[Cell, int]) -> frozenset[Cell]:
    """Return the cells that are connected with a cell through cards of a set."""
    found, todo = {cell}, [cell]
    while todo:
        for neighbour in beside(todo.pop()):
            if neighbour not in found:
                for layer in layers:
                    card = layer.get(neighbour)
                    if card is not None and members >> card & 1:
                        found.add(neighbour)
                        todo.append(neighbour)
    return frozenset(found)


def _groups_of(grid: Grid, laid: Mapping[Cell, int], contacts: list[tuple[Cell, Cell, int]]) -> list[_Group]:
    """Return the group of each combination that the laydown made or enlarged to three cards or more (K10).

    A group of three has two of a combination's five cards left over, so no combination has two such groups.
    """
    groups: dict[int, _Group] = {}
    old = grid.cards
    for a, b, common in contacts:
        if common != 2:
            continue
        combination = _SHARED[laid[a] if a in laid else old[a], laid[b] if b in laid else old[b]]
        if combination in groups:
            continue
        cells = _connected(a, _CARDS_WITH[combination], old, laid)
        if len(cells) in GROUP_POINTS:
            extreme = _extreme(grid, laid, combination, cells)
            groups[combination] = _Group(combination, cells, GROUP_POINTS[len(cells)], extreme)
    return list(groups.values())


def _extreme(grid: Grid, laid: Mapping[Cell, int], combination: int, cells: frozenset[Cell]) -> int:
    """Return the bonus for an Extreme card that was in no scoring group of the combination before (K11)."""
    points = 0
    for cell in cells:
        bonus = EXTREMES.get(laid[cell] if cell in laid else grid.cards[cell])
        if bonus is None:
            continue
        if cell in laid or len(_connected(cell, _CARDS_WITH[combination], grid.cards)) not in GROUP_POINTS:
            points += bonus
    return points


def total(grid: Grid, laid: Laid) -> int:
    """Return the points of a legal laydown; ``score`` takes them apart."""
    return _counted(grid, dict(laid))[-1]


def _counted(
    grid: Grid, laid: dict[Cell, int]
) -> tuple[list[tuple[Cell, Cell, int]], list[_Group], int, int, int, int, int]:
    contacts = contacts_of(grid, laid)
    groups = _groups_of(grid, laid, contacts)
    tic_points = TIC_POINTS * sum(common == 2 for *_, common in contacts)  # Tickle K9
    group_points = sum(group.bonus for group in groups)  # Tickle K10
    extreme_points = sum(group.extreme for group in groups)  # Tickle K11
    six_card_points = SIX_CARD_POINTS if len(laid) == HAND else 0  # Tickle K12
    points = (tic_points, group_points, extreme_points, six_card_points)
    return contacts, groups, *points, sum(points)


def score(grid: Grid, laid: Laid) -> Score:
    """Return what a legal laydown scores, taken apart."""
    contacts, groups, tic_points, group_points, extreme_points, six_card_points, points = _counted(grid, dict(laid))
    return Score(
        contacts=tuple(Contact(a=a, b=b, common=common) for a, b, common in sorted(contacts)),
        groups=tuple(
            Group(
                **_COMBINATIONS[group.combination]._asdict(),
                cells=tuple(sorted(group.cells)),
                bonus=group.bonus,
                extreme=group.extreme,
            )
            for group in sorted(groups)
        ),
        tic_points=tic_points,
        group_points=group_points,
        extreme_points=extreme_points,
        six_card_points=six_card_points,
        total=points,
    )
