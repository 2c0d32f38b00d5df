"""Whether a laydown is legal: the one source of legality, which tells every reason at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from domain.cards import DECK
from domain.decider import Cell, Reason
from domain.tickle.facts import HAND
from domain.tickle.grid import TICS, Grid, Laid, beside, indexes
from domain.tickle.scoring import contacts_of

__all__ = ["FARTHEST_OPENING", "can_lay", "faults"]

FARTHEST_OPENING: Final = 1_000
"""How far from (0, 0) the opening may lie, so that coordinates stay small for ever."""


MOST_GAPS: Final = 100
"""Where more cells than these are empty between new cards, they are not listed."""


def can_lay(grid: Grid, hand: int, drawn: int | None = None) -> bool:
    """Whether a hand has a legal laydown, exactly (K6).

    After a forced draw only laydowns with the drawn card count (K7, K4). No laydown is enumerated: there is a legal one
    if and only if a legal one of a single card exists; in the opening, of two cards. docs/tickle.md has the proof.

    Args:
        grid: the grid.
        hand: the set of cards in hand, the drawn one included.
        drawn: the card that was drawn in this turn, from a hand that had no legal laydown.
    """
    if grid.cards:
        return grid.takes_one_of(hand if drawn is None else 1 << drawn)
    return any(TICS[card] & hand for card in (indexes(hand) if drawn is None else (drawn,)))


def faults(grid: Grid, hand: int, laid: Laid, drawn: int | None = None) -> tuple[Reason, ...]:
    """Return every reason why a laydown is illegal; none where it is legal.

    Contacts are looked at only where every card has a free cell of its own, and groups as they lie, also off a line.
    """
    reasons = [*_of_the_hand(hand, laid, drawn, opening=not grid.cards), *_of_the_cells(grid, laid)]
    if len({card for _, card in laid}) == len({cell for cell, _ in laid} - grid.cards.keys()) == len(laid):
        placed = dict(laid)
        reasons += _of_the_line(grid, placed)
        reasons += _of_the_opening(grid, placed) if not grid.cards else _of_the_contacts(grid, placed)
    return tuple(reasons)


def _named(cards: Iterable[int]) -> str:
    return ", ".join(str(DECK[card]) for card in cards)


def _of_the_hand(hand: int, laid: Laid, drawn: int | None, *, opening: bool) -> Iterator[Reason]:
    if not laid:
        yield Reason("NO_CARDS", "K2", "A laydown has 1 to 6 cards: name at least one.")
    if len(laid) > HAND:
        yield Reason("TOO_MANY_CARDS", "K2", f"A laydown has 1 to {HAND} cards, not {len(laid)}.")
    missing = [(cell, card) for cell, card in laid if not hand >> card & 1]
    if missing:
        names = _named(dict.fromkeys(card for _, card in missing))
        cells = tuple(cell for cell, _ in missing)
        yield Reason("CARD_NOT_IN_HAND", "K2", f"You do not hold {names}.", cells)
    twice = [card for card, times in Counter(card for _, card in laid).items() if times > 1]
    for card in twice:
        cells = tuple(cell for cell, other in laid if other == card)
        yield Reason("CARD_LAID_TWICE", "K2", f"{DECK[card]} is there once: lay it in one cell.", cells)
    if drawn is not None and all(card != drawn for _, card in laid):
        yield Reason(
            "DRAWN_CARD_MISSING",
            "K4" if opening else "K7",
            f"After a draw the laydown must have the drawn card, {DECK[drawn]}; or decline.",
        )


def _of_the_cells(grid: Grid, laid: Laid) -> Iterator[Reason]:
    twice = tuple(cell for cell, times in Counter(cell for cell, _ in laid).items() if times > 1)
    if twice:
        yield Reason("CELL_USED_TWICE", "K2", "A cell takes one card: lay the others elsewhere.", twice)
    occupied = tuple(dict.fromkeys(cell for cell, _ in laid if cell in grid.cards))
    if occupied:
        yield Reason("CELL_OCCUPIED", "K2", "A card lies there already: take an empty cell.", occupied)


def _of_the_line(grid: Grid, laid: Mapping[Cell, int]) -> Iterator[Reason]:
    if not laid:
        return
    (left, top), (right, bottom) = (
        tuple(extreme(cell[axis] for cell in laid) for axis in (0, 1)) for extreme in (min, max)
    )
    if left != right and top != bottom:
        yield Reason("NOT_ONE_LINE", "K2", "All new cards lie in one row or one column.", tuple(sorted(laid)))
        return
    length = right - left + bottom - top + 1
    if length > len(laid) + len(grid.cards) + MOST_GAPS:
        yield Reason("GAP_IN_LINE", "K2", "Between the first and the last new card every cell has a card.")
        return
    line = [(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)]
    gaps = tuple(cell for cell in line if cell not in laid and cell not in grid.cards)
    if gaps:
        yield Reason("GAP_IN_LINE", "K2", "Between the first and the last new card every cell has a card.", gaps)


def _of_the_opening(grid: Grid, laid: Mapping[Cell, int]) -> Iterator[Reason]:
    if len(laid) == 1:
        yield Reason("OPENING_TOO_SMALL", "K3", "The opening has at least 2 cards.", tuple(laid))
    for a, b, common in sorted(contacts_of(grid, laid)):
        if common != 2:
            kind = "a Single" if common else "a Nic"
            yield Reason(
                "OPENING_CONTACT_NO_TIC", "K3", f"Every contact of the opening is a Tic; this is {kind}.", (a, b)
            )
    if any(abs(at) > FARTHEST_OPENING for cell in laid for at in cell):
        yield Reason(
            "OPENING_TOO_FAR",
            "K3",
            f"Lay the opening within {FARTHEST_OPENING} cells of (0, 0): where does not matter.",
        )


def _of_the_contacts(grid: Grid, laid: Mapping[Cell, int]) -> Iterator[Reason]:
    contacts = sorted(contacts_of(grid, laid))
    for a, b, common in contacts:
        if common == 0:
            yield Reason("NIC_CONTACT", "K5", "Cards that touch have a property in common; these make a Nic.", (a, b))
    tics = [(a, b) for a, b, common in contacts if common == 2]
    in_tics = {cell for ends in tics for cell in ends}
    for cell in sorted(laid):
        if cell not in in_tics:
            message = f"Every new card makes a Tic with a card beside it; {DECK[laid[cell]]} makes none."
            yield Reason("CARD_WITHOUT_TIC", "K5", message, (cell,))
    attached = {cell for ends in tics if not all(end in laid for end in ends) for cell in ends}
    for group in _groups(laid):
        if not attached & group:
            yield Reason(
                "GROUP_NOT_ATTACHED",
                "K5",
                "New cards beside one another make at least one Tic with a card that lay there before the turn.",
                tuple(sorted(group)),
            )


def _groups(laid: Mapping[Cell, int]) -> Iterator[frozenset[Cell]]:
    """Yield the groups of new cards that lie next to each other (K5)."""
    left = set(laid)
    while left:
        group, todo = set[Cell](), [min(left)]
        while todo:
            cell = todo.pop()
            if cell in left:
                left.remove(cell)
                group.add(cell)
                todo.extend(beside(cell))
        yield frozenset(group)
