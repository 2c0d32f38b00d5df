"""Grids, hands and laydowns from names; and Tickle once more, in the plainest way: the measure for the real rules.

What is plain here takes nothing from ``domain.tickle`` but its types: it follows the rulings word by word, tries
everything, and is slow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Final, NamedTuple
from uuid import UUID

from domain.cards import Card
from domain.decider import Cell, fold
from domain.lifecycle import changed
from domain.tables import Join, Start
from domain.tickle.grid import Grid, Laid
from domain.tickle.rules import TICKLE, OpenTickle
from domain.tickle.table import Got, TickleTable
from tests.given import NOON, PLAYER, SEEDS

__all__ = [
    "Position",
    "Turn",
    "canonical",
    "chosen",
    "column",
    "common",
    "edge",
    "game",
    "grid",
    "hand",
    "is_legal",
    "laydowns",
    "position",
    "row",
    "stuck",
    "table",
]

MOST: Final = 6
ACROSS: Final = (1, 0)
DOWN: Final = (0, 1)
OTHER: Final = UUID("00000000-0000-4000-8000-00000000000b")

# From names


def index(name: str) -> int:
    return Card.parse(name).index


def hand(names: str) -> int:
    """Return the set of the cards of names with spaces between them."""
    return sum({1 << index(name) for name in names.split()})


def grid(picture: str, at: Cell = (0, 0)) -> Grid:
    """Return the grid of a picture: a line for each row, ``.`` for an empty cell.

    Args:
        picture: names with spaces between them.
        at: the cell of its first name.
    """
    lines = [line.split() for line in picture.strip().splitlines()]
    return Grid.of(
        {
            (at[0] + x, at[1] + y): index(name)
            for y, names in enumerate(lines)
            for x, name in enumerate(names)
            if name != "."
        }
    )


def row(x: int, y: int, names: str) -> Laid:
    """Return cards laid from a cell to the right, where ``.`` leaves a cell out."""
    return tuple(((x + n, y), index(name)) for n, name in enumerate(names.split()) if name != ".")


def column(x: int, y: int, names: str) -> Laid:
    """Return cards laid from a cell downwards, where ``.`` leaves a cell out."""
    return tuple(((x, y + n), index(name)) for n, name in enumerate(names.split()) if name != ".")


def table(lies: Grid, cards: str, drawn: str | None = None) -> TickleTable:
    """Return a table of two in the middle of a game, with seat 1 to move.

    Args:
        lies: the grid.
        cards: the hand of seat 1, without the drawn card.
        drawn: the card that it has drawn in this turn.
    """
    start = TICKLE.empty(SEEDS)
    for command in (OpenTickle(player=PLAYER), Join(player=OTHER), Start(player=PLAYER)):
        start = fold(TICKLE.evolve, start, TICKLE.decide(command, start, NOON))
    assert start.deck is not None
    mine = [Card.parse(name) for name in (*cards.split(), *([drawn] if drawn else ()))]
    rest = [card for card in start.deck if card not in mine and card.index not in lies.cards.values()]
    got = (
        tuple(Got(at, start.version) for at in range(len(mine))),
        tuple(Got(len(mine) + at, start.version) for at in range(MOST)),
    )
    return changed(
        start,
        grid=lies,
        deck=(*mine, *rest),
        got=got,
        held=(len(mine), MOST),
        turn=1,
        next=len(mine) + MOST,
        end=len(mine) + len(rest),
        drawn=len(mine) - 1 if drawn else None,
    )


# The plain rules

PROPERTIES: Final = tuple((n, s, c) for n in range(1, 6) for s in range(1, 6) for c in range(1, 6))
"""Number, shape, colour of each card, in canonical order (C2)."""


@cache
def common(a: int, b: int) -> int:
    """Return how many properties two cards have in common (C3)."""
    return sum(p == q for p, q in zip(PROPERTIES[a], PROPERTIES[b], strict=True))


def around(cell: Cell) -> list[Cell]:
    x, y = cell
    return [(x, y - 1), (x - 1, y), (x + 1, y), (x, y + 1)]


def edge(cards: Mapping[Cell, int]) -> list[Cell]:
    """Return the empty cells beside cards."""
    return sorted({near for cell in cards for near in around(cell)} - cards.keys())


def following(cards: Mapping[Cell, int], cell: Cell, step: Cell) -> Cell:
    """Return the next empty cell in a direction."""
    while True:
        cell = cell[0] + step[0], cell[1] + step[1]
        if cell not in cards:
            return cell


def is_legal(old: Mapping[Cell, int], new: Mapping[Cell, int]) -> bool:
    """Whether cards that are in hand may be laid in cells that are empty (K2, K3, K5)."""
    if not 1 <= len(new) <= MOST:
        return False
    both = {**old, **new}
    xs, ys = sorted(x for x, _ in new), sorted(y for _, y in new)
    if len(set(xs)) > 1 and len(set(ys)) > 1:
        return False
    for cell in product(range(xs[0], xs[-1] + 1), range(ys[0], ys[-1] + 1)):
        if cell not in both:
            return False
    kinds = {
        cell: {near: common(card, both[near]) for near in around(cell) if near in both} for cell, card in new.items()
    }
    if not old:
        return len(new) > 1 and all(kind == 2 for near in kinds.values() for kind in near.values())
    if any(kind == 0 for near in kinds.values() for kind in near.values()):
        return False
    if not all(2 in near.values() for near in kinds.values()):
        return False
    tied = {cell for cell in new if any(near in old and kind == 2 for near, kind in kinds[cell].items())}
    while grown := {near for cell in tied for near in around(cell) if near in new} - tied:
        tied |= grown
    return tied == set(new)


def starting_at(old: Mapping[Cell, int], cards: tuple[int, ...], start: Cell, step: Cell) -> Iterator[Laid]:
    """Yield every legal laydown whose first card lies in a cell, and the others in the empty cells that follow.

    An unbroken line has its new cards in consecutive empty cells (K2). Cards are tried in every order; where a card
    makes a Nic nothing further is laid behind it, for the Nic would stay.
    """
    cells = [start]
    while len(cells) < MOST:
        cells.append(following(old, cells[-1], step))
    beside = [[old[near] for near in around(cell) if near in old] for cell in cells]
    if not any(beside):
        return  # it touches nothing that lay there before (K5)

    def on(new: dict[Cell, int], left: tuple[int, ...]) -> Iterator[Laid]:
        if new and is_legal(old, new):
            yield tuple(new.items())
        if len(new) == MOST:
            return
        at = len(new)
        near = [*beside[at], *(new[cell] for cell in around(cells[at]) if cell in new)]
        for card in left:
            if all(common(card, other) for other in near):
                yield from on({**new, cells[at]: card}, tuple(other for other in left if other != card))

    yield from on({}, cards)


def starts(old: Mapping[Cell, int]) -> list[Cell]:
    """Return every empty cell from which a laydown can reach the grid."""
    xs, ys = [x for x, _ in old], [y for _, y in old]
    reach = product(range(min(xs) - MOST, max(xs) + MOST + 1), range(min(ys) - MOST, max(ys) + MOST + 1))
    return [cell for cell in reach if cell not in old]


def openings(cards: tuple[int, ...]) -> Iterator[Laid]:
    """Yield every opening in a row from (0, 0) on (K3)."""

    def on(new: tuple[int, ...]) -> Iterator[Laid]:
        laid = tuple(((x, 0), card) for x, card in enumerate(new))
        if is_legal({}, dict(laid)):
            yield laid
        if len(new) < MOST:
            for card in cards:
                if card not in new and (not new or common(new[-1], card)):
                    yield from on((*new, card))

    yield from on(())


def laydowns(old: Mapping[Cell, int], cards: int, drawn: int | None = None) -> set[Laid]:
    """Return every legal laydown, in canonical form: tried one by one.

    A single card lies in a row and in a column at once, and is one laydown.
    """
    names = members(cards)
    found: set[Laid]
    if old:
        found = {
            canonical(laid)
            for start in starts(old)
            for step in (ACROSS, DOWN)
            for laid in starting_at(old, names, start, step)
        }
    else:
        found = set(openings(names))
    return {laid for laid in found if drawn is None or any(card == drawn for _, card in laid)}


def canonical(laid: Laid) -> Laid:
    """Return a laydown with its cells sorted."""
    return tuple(sorted(laid))


def members(cards: int) -> tuple[int, ...]:
    return tuple(card for card in range(len(PROPERTIES)) if cards >> card & 1)


# Positions that are reached by play


class Turn(NamedTuple):
    """A laydown of a game that was played."""

    old: Mapping[Cell, int]
    laid: Laid


class Position(NamedTuple):
    """What a player has before them."""

    old: Mapping[Cell, int]
    hand: int
    unseen: tuple[int, ...]
    """The cards that are neither in the grid nor in the hand."""

    @property
    def grid(self) -> Grid:
        return Grid.of(self.old)


def game(chance: random.Random, cards: int, deck: list[int]) -> Iterator[Turn]:
    """Yield the turns of a game that one player plays alone, until the grid has so many cards or the deck is out.

    Each turn is any legal laydown of six cards; where they have none, others are taken.
    """
    old: dict[Cell, int] = {}
    held, rest = deck[:MOST], deck[MOST:]
    while len(old) < cards and held:
        laid = chosen(chance, old, held)
        if laid is None:
            held, rest = rest[:MOST], rest[MOST:]
            continue
        yield Turn(dict(old), laid)
        old.update(laid)
        held = [card for card in held if card not in dict(laid).values()]
        more = MOST - len(held)
        held, rest = held + rest[:more], rest[more:]


def chosen(chance: random.Random, old: Mapping[Cell, int], cards: list[int]) -> Laid | None:
    """Return a legal laydown: a card that can be laid alone, and others that happen to go with it."""
    if not old:
        return chance.choice(found) if (found := list(openings(tuple(cards)))) else None
    alone = [(cell, card) for cell in edge(old) for card in cards if is_legal(old, {cell: card})]
    if not alone:
        return None
    new = dict([chance.choice(alone)])
    forth = chance.choice((ACROSS, DOWN))
    for _ in range(20):
        left = [card for card in cards if card not in new.values()]
        step = chance.choice((forth, (-forth[0], -forth[1])))
        longer, last = dict(new), max(new) if step > (0, 0) else min(new)
        for card in chance.sample(left, min(len(left), MOST - len(new), chance.choice((1, 1, 2)))):
            last = following({**old, **longer}, last, step)
            longer[last] = card
        if is_legal(old, longer):
            new = longer
    return tuple(new.items())


def position(seed: int, cards: int, held: int) -> Position:
    """Return a grid of about so many cards that was reached by play, and a hand of so many of the other cards."""
    chance = random.Random(seed)
    deck = chance.sample(range(len(PROPERTIES)), len(PROPERTIES))
    old: dict[Cell, int] = {}
    for turn in game(chance, cards, deck):
        old = {**turn.old, **dict(turn.laid)}
    unseen = [card for card in deck if card not in old.values()]
    chance.shuffle(unseen)
    return Position(old, sum(1 << card for card in unseen[:held]), tuple(unseen[held:]))


def stuck(seed: int, cards: int, held: int) -> Position:
    """Return a position by play with a hand of cards of which none can be laid alone, as far as there are such."""
    before = position(seed, cards, 0)
    cells = edge(before.old)
    dead = [card for card in before.unseen if not any(is_legal(before.old, {cell: card}) for cell in cells)]
    if not before.old:
        dead = [card for n, card in enumerate(dead) if all(common(card, other) < 2 for other in dead[:n])]
    mine = dead[:held]
    unseen = tuple(card for card in before.unseen if card not in mine)
    return Position(before.old, sum(1 << card for card in mine), unseen)
