"""The legal laydowns of a hand: all of them where they are few, the best that a bounded search finds where not.

By the theorem of ``docs/tickle.md`` every group of new cards has an *anchor*, a card that may be laid there alone. The
search starts only from such cards. Of a laydown's anchors it takes the first one along the line, so that it comes
upon each laydown once.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import Final, NamedTuple

from domain.decider import Cell
from domain.tickle.facts import HAND
from domain.tickle.grid import TICS, TOUCHING, Grid, Laid, indexes, neighbourhood
from domain.tickle.scoring import total

__all__ = ["BOUND", "Hints", "Laydowns", "best_laydowns"]

BOUND: Final = 5_000
"""How many cards a search puts down, to see how it goes on, before it ends."""

_RIGHT: Final = (1, 0)
_DOWN: Final = (0, 1)


class Laydowns:
    """The legal laydowns of a hand, each once: iterate, then see whether the bound was reached.

    On an empty grid only those are told that lie in a row from (0, 0) on: the others are the same elsewhere (K3).
    """

    def __init__(self, grid: Grid, hand: int, drawn: int | None = None, *, bound: int | None = BOUND) -> None:
        """Search the laydowns of a hand, a set of cards; after a forced draw, those with the drawn card (K7)."""
        self._grid: Final = grid
        self._hand: Final = hand
        self._must: Final = 0 if drawn is None else 1 << drawn
        self._bound: Final = bound
        self._around: Final = dict[Cell, tuple[int, int]]()
        self.steps = 0
        """How many cards were put down so far."""
        self.bound_reached = False
        """Whether the search ended before it had seen everything."""

    def __iter__(self) -> Iterator[Laid]:
        self.steps, self.bound_reached = 0, False
        found = self._in_the_grid() if self._grid.cards else self._openings()
        must = self._must
        for laid in found:
            if not must or any(must >> card & 1 for _, card in laid):
                yield laid

    def _step(self) -> bool:
        """Count a card that is put down; tell whether the search may go on."""
        self.steps += 1
        if self._bound is not None and self.steps > self._bound:
            self.bound_reached = True
        return not self.bound_reached

    def _look(self, cell: Cell) -> tuple[int, int]:
        """Return the cards of the hand that make no Nic with the cards around a cell, and those that Tic with one."""
        found = self._around.get(cell)
        if found is None:
            touching, tics = neighbourhood(self._grid.cards, cell)
            found = self._around[cell] = touching & self._hand, tics & self._hand
        return found

    # In the grid (K5)

    def _in_the_grid(self) -> Iterator[Laid]:
        grid, hand = self._grid, self._hand
        anchors = [
            (total(grid, ((cell, card),)), cell, card)
            for cell, cards in grid.playable.items()
            if cards & hand
            for card in indexes(cards & hand)
        ]
        anchors.sort(reverse=True)  # where one card scores much, more cards do: a bounded search sees these first
        for _, cell, card in anchors:
            yield ((cell, card),)
        for _, cell, card in anchors:
            for step in (_RIGHT, _DOWN):
                for before, rest in self._before(cell, card, step, hand & ~(1 << card), ()):
                    laid = (*before, (cell, card))
                    if before:
                        yield laid
                    yield from self._onwards(laid, cell, card, step, rest, tic=True)
                    if self.bound_reached:
                        return

    def _before(self, cell: Cell, card: int, step: Cell, rest: int, laid: Laid) -> Iterator[tuple[Laid, int]]:
        """Yield the ways to put cards before the anchor, each with what is left of the hand.

        They touch the grid in Singles at most, else they would be anchors themselves.
        """
        yield laid, rest
        if len(laid) == HAND - 1:
            return
        cell = cell[0] - step[0], cell[1] - step[1]
        if cell in self._grid.cards:
            return
        touching, tics = self._look(cell)
        for other in indexes(rest & touching & ~tics & TOUCHING[card]):
            if not self._step():
                return
            left = rest & ~(1 << other)
            if TICS[card] >> other & 1:
                yield from self._before(cell, other, step, left, ((cell, other), *laid))
            else:
                yield from self._propped(cell, other, step, left, ((cell, other), *laid))

    def _propped(self, cell: Cell, card: int, step: Cell, rest: int, laid: Laid) -> Iterator[tuple[Laid, int]]:
        """Go on before a card that has no Tic yet: the one before it must give it one."""
        if len(laid) == HAND - 1:
            return
        cell = cell[0] - step[0], cell[1] - step[1]
        if cell in self._grid.cards:
            return
        touching, tics = self._look(cell)
        for other in indexes(rest & touching & ~tics & TICS[card]):
            if not self._step():
                return
            yield from self._before(cell, other, step, rest & ~(1 << other), ((cell, other), *laid))

    def _onwards(
        self, laid: Laid, cell: Cell, card: int, step: Cell, rest: int, *, tic: bool, attached: bool = True
    ) -> Iterator[Laid]:
        """Yield the laydowns that go on after a last card.

        Args:
            laid: the cards so far.
            cell: the last card's.
            card: the last card.
            step: the direction.
            rest: what is left of the hand.
            tic: whether the last card has a Tic.
            attached: whether its group has a Tic with the grid.
        """
        if len(laid) == HAND or not rest:
            return
        x, y = cell[0] + step[0], cell[1] + step[1]
        cards = self._grid.cards
        if (x, y) not in cards:
            touching, tics = self._look((x, y))
            if not attached and not self._may_attach((x, y), step, rest, HAND - len(laid)):
                return
            able = rest & touching & (TOUCHING[card] if tic else TICS[card])
            linked = TICS[card]
        elif tic and attached:
            while (x, y) in cards:
                x, y = x + step[0], y + step[1]
            if not self._may_attach((x, y), step, rest, HAND - len(laid)):
                return
            touching, tics = self._look((x, y))
            able, linked, attached = rest & touching, 0, False
        else:
            return
        for other in indexes(able):
            if not self._step():
                return
            with_it = (*laid, ((x, y), other))
            anchors = bool(tics >> other & 1)
            has_tic, holds = anchors or bool(linked >> other & 1), attached or anchors
            if has_tic and holds:
                yield with_it
            yield from self._onwards(with_it, (x, y), other, step, rest & ~(1 << other), tic=has_tic, attached=holds)

    def _may_attach(self, cell: Cell, step: Cell, rest: int, most: int) -> bool:
        """Whether one of the next cells has a card of the rest that Tics with the grid."""
        for _ in range(most):
            if cell in self._grid.cards:
                return False
            touching, tics = self._look(cell)
            if touching & tics & rest:
                return True
            cell = cell[0] + step[0], cell[1] + step[1]
        return False

    # The opening (K3)

    def _openings(self) -> Iterator[Laid]:
        for card in indexes(self._hand):
            yield from self._row((((0, 0), card),), card, self._hand & ~(1 << card))

    def _row(self, laid: Laid, card: int, rest: int) -> Iterator[Laid]:
        if len(laid) == HAND:
            return
        for other in indexes(rest & TICS[card]):
            if not self._step():
                return
            longer = (*laid, ((len(laid), 0), other))
            yield longer
            yield from self._row(longer, other, rest & ~(1 << other))


class Hints(NamedTuple):
    """The best laydowns that a search found, with their points, the best first."""

    laydowns: tuple[tuple[int, Laid], ...]
    bound_reached: bool
    """Whether there may be better ones that the search did not come to."""


def best_laydowns(grid: Grid, hand: int, drawn: int | None = None, *, first: int, bound: int | None = BOUND) -> Hints:
    """Return at most ``first`` legal laydowns, those with most points first; of equal ones, those with fewer cards."""
    search = Laydowns(grid, hand, drawn, bound=bound)
    ranked = ((total(grid, laid), -len(laid), laid) for laid in search)
    best = nlargest(first, ranked)
    return Hints(tuple((points, laid) for points, _, laid in best), search.bound_reached)
