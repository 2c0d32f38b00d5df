"""What one viewer may see of a game of TIC Poker: what lies open, who has acted, and the viewer's own cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, overload

from domain.cards import HIDDEN, Card, Hidden
from domain.decider import Viewer
from domain.lifecycle import order_of
from domain.poker.facts import HandDeclared, Options, PokerFinished
from domain.poker.hands import Comparison, Strength, best_hand, compared, strength_as
from domain.poker.table import PlayedRound, PokerTable

__all__ = ["PlayedRounds", "PokerView", "RoundSeatView", "RoundView", "SeatView", "view"]


@dataclass(frozen=True, slots=True)
class SeatView:
    """One seat."""

    seat: int
    points: int
    """From the rounds that were scored."""
    resigned: bool
    time_outs: int
    """In the whole game (G2)."""
    time_outs_in_a_row: int


@dataclass(frozen=True, slots=True)
class RoundSeatView:
    """One seat in a round."""

    seat: int
    cards: tuple[Card | Hidden, ...]
    """By slot."""
    to_act: bool
    """Whether it has a turn in this stage yet, or a hand to declare."""
    declared: HandDeclared | None
    late: bool
    """Whether its time to declare ran out (P5)."""
    place: int | None
    points: int | None


@dataclass(frozen=True, slots=True)
class RoundView:
    """A round."""

    number: int
    dealer: int
    stage: int
    """The exchange stage, from 1; the last one reached in a round that is over."""
    caller: int
    """The seat that called; 0 for none."""
    declaring: bool
    over: bool
    community: tuple[Card, ...]
    """By slot."""
    seats: tuple[RoundSeatView, ...]
    """Those dealt in, in the order of their turns."""

    def best(self, seat: RoundSeatView) -> Strength | None:
        """Return the best hand that was possible for a seat whose cards lie open, once the round is over."""
        cards = [card for card in seat.cards if isinstance(card, Card)]
        return best_hand((*cards, *self.community)) if self.over and len(cards) == len(seat.cards) else None

    def decided(self, seat: RoundSeatView) -> Comparison | None:
        """Return what put a seat's hand behind the next stronger one (P7); None for the strongest, and the unranked."""
        stronger = [other for other in self.seats if other.place and seat.place and other.place < seat.place]
        if seat.declared is None or not stronger:
            return None
        ahead = max(stronger, key=lambda other: other.place or 0).declared
        if ahead is None:
            return None
        own = strength_as(seat.declared.rank, seat.declared.cards)
        return compared(own, strength_as(ahead.rank, ahead.cards))


class PlayedRounds(Sequence[RoundView]):
    """The rounds that were scored, as a viewer may see them; each is made when it is asked for."""

    def __init__(self, table: PokerTable, viewer: Viewer) -> None:
        self._table: Final = table
        self._viewer: Final = viewer

    def __len__(self) -> int:
        return len(self._table.played)

    @overload
    def __getitem__(self, at: int) -> RoundView: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[RoundView, ...]: ...
    def __getitem__(self, at: int | slice) -> RoundView | tuple[RoundView, ...]:
        if isinstance(at, slice):
            return tuple(_played(self._table, played, self._viewer) for played in self._table.played[at])
        return _played(self._table, self._table.played[at], self._viewer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, slots=True)
class PokerView:
    """The whole table as a viewer may see it."""

    version: int
    options: Options
    seats: tuple[SeatView, ...]
    round: RoundView | None
    """The round that is played, or was played last."""
    played: Sequence[RoundView]
    """The rounds that were scored."""
    turn: int
    """The seat whose turn it is; 0 where none has it."""
    result: PokerFinished | None


def view(table: PokerTable, viewer: Viewer) -> PokerView:
    """Return what the viewer may see."""
    return PokerView(
        version=table.version,
        options=table.options,
        seats=tuple(
            SeatView(
                seat=seat,
                points=points,
                resigned=seat in table.resigned,
                time_outs=table.timed_out.count(seat),
                time_outs_in_a_row=table.in_a_row[seat - 1] if table.in_a_row else 0,
            )
            for seat, points in enumerate(table.points, 1)
        ),
        round=_round(table, viewer),
        played=PlayedRounds(table, viewer),
        turn=0 if table.over else table.turn,
        result=table.finished if isinstance(table.finished, PokerFinished) else None,
    )


def _round(table: PokerTable, viewer: Viewer) -> RoundView | None:
    if table.dealt is None:
        return None
    if len(table.played) == table.deals:
        return PlayedRounds(table, viewer)[-1]
    declared = {fact.seat: fact for fact in table.declared}
    acting = () if table.over else table.undeclared if table.declaring else table.to_act

    def cards(seat: int) -> tuple[Card | Hidden, ...]:
        shown = table.revealed_hands is not None and seat in {hand.seat for hand in table.revealed_hands.hands}
        open_ = viewer.everything or seat == viewer.seat or table.revealed is not None
        return (
            table.private(seat) if shown or (open_ and table.deck is not None) else (HIDDEN,) * len(table.slots[seat])
        )

    return RoundView(
        number=table.dealt.number,
        dealer=table.dealt.dealer,
        stage=table.stage,
        caller=table.caller,
        declaring=table.declaring,
        over=False,
        community=table.community,
        seats=tuple(
            RoundSeatView(
                seat=seat,
                cards=cards(seat),
                to_act=seat in acting,
                declared=declared.get(seat),
                late=seat in table.late,
                place=None,
                points=None,
            )
            for seat in table.dealt.seats
        ),
    )


def _played(table: PokerTable, played: PlayedRound, viewer: Viewer) -> RoundView:
    hands = {hand.seat: hand.cards for hand in played.hands}
    unseen = [seat for seat in played.dealt.seats if seat not in hands]
    if not (viewer.everything or table.revealed is not None):
        unseen = [seat for seat in unseen if seat == viewer.seat]
    if unseen and (order := order_of(table, played.dealt)) is not None:  # they resigned before the reveal
        hands |= {seat: tuple(order[position] for position in played.slots[seat]) for seat in unseen}
    declared = {fact.seat: fact for fact in played.declared}
    places = {line.seat: line for line in played.scored.places}

    def seat_view(seat: int) -> RoundSeatView:
        cards, line = hands.get(seat), places.get(seat)
        return RoundSeatView(
            seat=seat,
            cards=cards or (HIDDEN,) * played.dealt.private,
            to_act=False,
            declared=declared.get(seat),
            late=seat in played.late,
            place=line.place if line else None,
            points=line.points if line else None,
        )

    return RoundView(
        number=played.dealt.number,
        dealer=played.dealt.dealer,
        stage=played.stage,
        caller=played.caller,
        declaring=False,
        over=True,
        community=played.community,
        seats=tuple(map(seat_view, played.dealt.seats)),
    )
