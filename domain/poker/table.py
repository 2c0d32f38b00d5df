"""The immutable state of a game of TIC Poker.

A round's cards lie as *deck positions*: which position each slot of each seat holds is public, for it follows from the
deal and the slots that were exchanged. Which card a position holds is known from the log for the community cards and,
after the reveal, for the private ones; for the others it is known only to whoever has the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from domain.cards import Card
from domain.poker.facts import HandDeclared, HandsRevealed, Options, RevealedHand, RoundDealt, RoundScored
from domain.turns import TurnTable

__all__ = ["Came", "PlayedRound", "PokerTable"]

NO_OPTIONS: Final = Options()


class Came(NamedTuple):
    """Cards that came to a hand with an event; a list that is linked backwards, so that it grows at no cost."""

    version: int
    seat: int
    deal: int
    positions: tuple[int, ...]
    before: Came | None


class PlayedRound(NamedTuple):
    """A round that was scored."""

    dealt: RoundDealt
    stage: int
    """The last exchange stage."""
    caller: int
    """The seat that called; 0 for none."""
    community: tuple[Card, ...]
    slots: Mapping[int, tuple[int, ...]]
    """For each seat dealt in, the deck position of the card in each of its slots."""
    hands: tuple[RevealedHand, ...]
    declared: tuple[HandDeclared, ...]
    late: tuple[int, ...]
    """The seats whose time to declare ran out."""
    scored: RoundScored


@dataclass(frozen=True, kw_only=True)
class PokerTable(TurnTable):
    """The state of one game."""

    options: Options = NO_OPTIONS
    points: tuple[int, ...] = ()
    """For each seat, from the rounds that are over."""
    dealt: RoundDealt | None = None
    """The round that is played, or was played last."""
    deck: tuple[Card, ...] | None = field(default=None, repr=False)
    """The round's whole order, for whoever has its seed."""
    stage: int = 0
    """The exchange stage, from 1; 0 before the first deal."""
    to_act: tuple[int, ...] = ()
    """The seats that have a turn in this stage yet, in order; the first of them has the turn."""
    caller: int = 0
    """The seat that called in this round; 0 for none."""
    slots: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each seat dealt in, the deck position of the card in each of its slots."""
    community: tuple[Card, ...] = ()
    """By slot."""
    next: int = 0
    """The deck position of the next card."""
    revealed_hands: HandsRevealed | None = None
    """Of this round, once it has come so far."""
    declared: tuple[HandDeclared, ...] = ()
    """In the order of declaring."""
    late: tuple[int, ...] = ()
    """The seats whose time to declare ran out in this round."""
    played: tuple[PlayedRound, ...] = ()
    """The rounds that were scored."""
    came: Came | None = field(default=None, repr=False, compare=False)
    """Every card that came to a hand, in the whole game: a long chain, and the facts tell it all."""

    @property
    def in_round(self) -> tuple[int, ...]:
        """The seats that were dealt in and have not resigned, in the order of their turns."""
        return tuple(seat for seat in (self.dealt.seats if self.dealt else ()) if seat not in self.resigned)

    @property
    def declaring(self) -> bool:
        """Whether hands are declared now."""
        due = self.revealed_hands is not None and not self.options.cards_speak
        return due and not self.over and len(self.played) < self.deals

    @property
    def undeclared(self) -> tuple[int, ...]:
        """The seats that have not declared their hands yet, while hands are declared."""
        done = {declared.seat for declared in self.declared}
        return tuple(seat for seat in self.in_round if seat not in done) if self.declaring else ()

    def private(self, seat: int) -> tuple[Card, ...]:
        """Return a seat's private cards by slot; none for a seat that is not in the round.

        Raises:
            LookupError: they are not revealed, and this table was folded without the round's seed.
        """
        if self.revealed_hands is not None:
            for hand in self.revealed_hands.hands:
                if hand.seat == seat:
                    return hand.cards
        return tuple(self.card(position) for position in self.slots.get(seat, ()))

    def card(self, position: int) -> Card:
        """Return the card at a deck position of this round.

        Raises:
            LookupError: this table was folded without the round's seed.
        """
        if self.deck is None:
            raise LookupError("a hidden card of a table that was folded without its seeds")
        return self.deck[position]
