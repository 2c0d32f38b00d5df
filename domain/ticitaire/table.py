"""The immutable state of a game of Ticitaire.

Cards lie in piles as *deck positions*, 0..124 in the order of dealing. Which card a position holds is a second
question with two answers: ``seen`` is what the log has told everyone, ``deck`` is the whole order, known only to
whoever has the seeds. A view is built from ``seen``, so it can't tell what the log has not told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import eq
from typing import Final, NamedTuple

from domain.cards import DECK, Card
from domain.entropy import EntropyTable
from domain.ticitaire.facts import COLUMNS, Options, Spot, TableauDealt

__all__ = ["DEALT", "NOTHING_EARLIER", "Column", "Earlier", "Layout", "TicitaireTable"]

NOTHING_SEEN: Final[tuple[Card | None, ...]] = (None,) * len(DECK)
_AT: Final = {spot: at for at, spot in enumerate(COLUMNS)}


class Column(NamedTuple):
    """One of the seven columns: its face-down cards and the run over them."""

    buried: tuple[int, ...] = ()
    """Face-down, the last is turned up first."""
    run: tuple[int, ...] = ()
    """Face-up, the top first (nearest the face-down cards), the exposed card last (S2)."""


class Layout(NamedTuple):
    """Where every card lies, as deck positions."""

    columns: tuple[Column, ...] = (Column(),) * 7
    low: tuple[int, ...] = ()
    """The low sequence pile, its top last; ``high`` likewise."""
    high: tuple[int, ...] = ()
    stock: tuple[int, ...] = ()
    """The next card first."""
    waste: tuple[int, ...] = ()
    """The playable card last."""

    def column(self, spot: Spot) -> Column:
        """Return the column at a spot of ``COLUMNS``."""
        return self.columns[_AT[spot]]

    def pile(self, spot: Spot) -> tuple[int, ...]:
        """Return the face-up cards at a spot, the one in reach last."""
        at = _AT.get(spot)
        cards: tuple[int, ...] = getattr(self, spot) if at is None else self.columns[at].run
        return cards

    # A game is read by moving its cards again: the tuples below are made at once, where _replace takes its time.

    def with_pile(self, spot: Spot, cards: tuple[int, ...]) -> Layout:
        """Put other face-up cards at a spot."""
        columns, low, high, stock, waste = self
        at = _AT.get(spot)
        if at is not None:
            return self._with_column(at, Column(columns[at].buried, cards))
        if spot is Spot.LOW:
            return Layout(columns, cards, high, stock, waste)
        if spot is Spot.HIGH:
            return Layout(columns, low, cards, stock, waste)
        return Layout(columns, low, high, stock, cards)

    def _with_column(self, at: int, column: Column) -> Layout:
        columns, low, high, stock, waste = self
        return Layout((*columns[:at], column, *columns[at + 1 :]), low, high, stock, waste)

    def taken(self, source: Spot, target: Spot) -> tuple[int, ...]:
        """Return what a move takes along: the whole run between columns (S2), else the card in reach (S3, S5)."""
        pile = self.pile(source)
        return pile if source in _AT and target in _AT else pile[-1:]

    def moved(self, source: Spot, target: Spot) -> Layout:
        """Return the layout after a move, before a card is turned up."""
        left = self.pile(source)
        between_columns = source in _AT and target in _AT
        cards, rest = (left, ()) if between_columns else (left[-1:], left[:-1])
        return self.with_pile(source, rest).with_pile(target, self.pile(target) + cards)

    def to_turn_up(self, spot: Spot) -> int | None:
        """Return the face-down card that lies open there now, because no run covers it (S7)."""
        if spot not in _AT:
            return None
        column = self.column(spot)
        return column.buried[-1] if column.buried and not column.run else None

    def turned_up(self, spot: Spot) -> Layout:
        """Turn the column's last face-down card up (S7)."""
        column = self.column(spot)
        return self._with_column(_AT[spot], Column(column.buried[:-1], column.buried[-1:]))

    def stock_turned(self) -> Layout:
        """Move the stock's next card to the waste (S8)."""
        columns, low, high, stock, waste = self
        return Layout(columns, low, high, stock[1:], (*waste, stock[0]))

    def recycled(self) -> Layout:
        """Turn the waste over: its first card is the stock's next (S8)."""
        return self._replace(stock=self.waste, waste=())

    @property
    def buried(self) -> int:
        """How many cards are face-down in the columns."""
        return sum(len(column.buried) for column in self.columns)

    @property
    def unplayed(self) -> int:
        """How many cards are in stock and waste."""
        return len(self.stock) + len(self.waste)

    @property
    def won(self) -> bool:
        """No card is face-down, and stock and waste are empty (S9)."""
        return not self.buried and not self.unplayed


NO_OPTIONS: Final = Options()
NOTHING_DEALT: Final = Layout()
DEALT: Final = Layout(
    columns=tuple(Column(tuple(range(7 * c, 7 * c + 7)), (49 + c,)) for c in range(7)),
    stock=tuple(range(56, 125)),
)
"""The layout after the deal (S1): seven to each column in turn, then one face-up on each; the rest is the stock."""


class Earlier:
    """The positions that can be returned to, each with its version: immutable, and linked backwards.

    So one more is added at no cost, however many there are: a game may have thousands.
    """

    __slots__ = ("_before", "_count", "_layout", "_version")

    def __init__(self, before: Earlier | None = None, version: int = 0, layout: Layout = NOTHING_DEALT) -> None:
        """Add a position to those before it; without any, there are none."""
        self._before: Final = before
        self._version: Final = version
        self._layout: Final = layout
        self._count: Final[int] = 0 if before is None else len(before) + 1

    def and_then(self, version: int, layout: Layout) -> Earlier:
        """Return these with a later one."""
        return Earlier(self, version, layout)

    def before_the_last(self, moves: int) -> tuple[int, Layout, Earlier]:
        """Return the version and the position before the last so many moves, and those that can be returned to then.

        Raises:
            LookupError: there are not so many.
        """
        for at, (version, layout, before) in enumerate(self._backwards(), 1):
            if at == moves:
                return version, layout, before
        raise LookupError(f"there are {self._count} positions to return to, and not {moves}")

    def _backwards(self) -> Iterator[tuple[int, Layout, Earlier]]:
        one = self
        while one._before is not None:
            yield one._version, one._layout, one._before
            one = one._before

    def __iter__(self) -> Iterator[tuple[int, Layout]]:
        """Yield each version and position, the latest first."""
        return ((version, layout) for version, layout, _ in self._backwards())

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Earlier) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash((self._count, self._version))

    def __repr__(self) -> str:
        return f"<{self._count} earlier positions>"


NOTHING_EARLIER: Final = Earlier()


@dataclass(frozen=True, kw_only=True)
class TicitaireTable(EntropyTable):
    """The state of one game."""

    options: Options = NO_OPTIONS
    layout: Layout = NOTHING_DEALT
    seen: tuple[Card | None, ...] = NOTHING_SEEN
    """By deck position: the card, once the log has told it."""
    deck: tuple[Card, ...] | None = field(default=None, repr=False)
    """The whole order, for whoever has the seeds."""
    dealt: TableauDealt | None = None
    earlier: Earlier = NOTHING_EARLIER
    """The positions that can be returned to; kept if the table allows it."""
    moves: int = 0
    turns: int = 0
    recycles: int = 0
    take_backs: int = 0

    def card(self, position: int) -> Card:
        """Return a face-up card, or any card to whoever has the seeds.

        Raises:
            LookupError: the card is hidden and this table was folded without its seeds.
        """
        card = self.seen[position]
        if card is None:
            if self.deck is None:
                raise LookupError("a hidden card of a table that was folded without its seeds")
            return self.deck[position]
        return card

    def saw(self, position: int, card: Card) -> tuple[Card | None, ...]:
        """Return ``seen`` with one more card."""
        return (*self.seen[:position], card, *self.seen[position + 1 :])
