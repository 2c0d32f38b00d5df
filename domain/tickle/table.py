"""The immutable state of a game of Tickle.

Which *deck positions* each seat got is public: it follows from the deal and from how many cards were drawn. Which
cards they are is known only to whoever has the seeds, and once they lie in the grid to everyone. So a hand is worked
out where it is asked for, from the positions, the deck order and the grid, and no part of the state holds one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from domain import turns
from domain.cards import DECK, Card
from domain.decider import Fact
from domain.tickle.facts import Closing, HandsDealt, Options, TurnPassed
from domain.tickle.grid import EMPTY_GRID, Grid, set_of
from domain.turns import TurnTable

__all__ = ["Got", "TickleTable", "awaited_after"]

NO_OPTIONS: Final = Options()


class Got(NamedTuple):
    """A card that came to a hand."""

    position: int
    """In the deck order."""
    version: int
    """The number of the event with which it came."""


@dataclass(frozen=True, kw_only=True)
class TickleTable(TurnTable):
    """The state of one game."""

    options: Options = NO_OPTIONS
    grid: Grid = EMPTY_GRID
    deck: tuple[Card, ...] | None = field(default=None, repr=False)
    """The whole order, for whoever has the seeds."""
    dealt: HandsDealt | None = None
    got: tuple[tuple[Got, ...], ...] = ()
    """For each seat, every card that it was dealt or drew, in that order."""
    held: tuple[int, ...] = ()
    """For each seat, how many cards it has in hand."""
    next: int = 0
    """The deck position of the next card."""
    end: int = len(DECK)
    """Where the deck ends: what follows is set aside (K15)."""
    turn_ended: bool = False
    """The seat that has the turn has done with it, and the next turn has not begun."""
    drawn: int | None = None
    """The deck position of the card that was drawn in this turn."""
    points: tuple[int, ...] = ()
    """For each seat, what its laydowns scored."""
    closing: Closing | None = None
    """What began the final stage (K13)."""
    target_reached: bool = False
    """A running score has reached the target (K16)."""

    @property
    def left(self) -> int:
        """How many cards the deck has left."""
        return self.end - self.next

    @property
    def last_round(self) -> bool:
        """Whether the game ends with this round (K13, K16)."""
        return self.closing is not None or self.target_reached

    def hand(self, seat: int) -> tuple[Card, ...]:
        """Return the cards that a seat has in hand, or had when it resigned, in the order in which it got them.

        Raises:
            LookupError: this table was folded without its seeds.
        """
        laid = set(self.grid.cards.values())
        cards = (self.card(got.position) for got in self.got[seat - 1])
        return tuple(card for card in cards if card.index not in laid)

    def came_to(self, seat: int, version: int) -> tuple[Card, ...]:
        """Return the cards that came to a seat's hand with an event. Raises LookupError as ``hand`` does."""
        return tuple(self.card(got.position) for got in self.got[seat - 1] if got.version == version)

    def hand_set(self, seat: int) -> int:
        """Return a seat's hand as a set of cards (``grid``). Raises LookupError as ``hand`` does."""
        return set_of(card.index for card in self.hand(seat))

    def card(self, position: int) -> Card:
        """Return the card at a deck position.

        Raises:
            LookupError: this table was folded without its seeds.
        """
        if self.deck is None:
            raise LookupError("a hidden card of a table that was folded without its seeds")
        return self.deck[position]

    @property
    def drawn_card(self) -> int | None:
        """The index of the card that was drawn in this turn. Raises LookupError as ``card`` does."""
        return None if self.drawn is None else self.card(self.drawn).index


def awaited_after(seats: tuple[int, ...], fact: Fact) -> tuple[int, ...]:
    """Return the seats that a game waits for after a fact, from those before it."""
    if isinstance(fact, TurnPassed):  # Tickle K7: its turn, which was over as it began
        return (fact.seat,)
    return turns.awaited_after(seats, fact)
