"""How a game of TIC Poker goes: the table after each fact."""

from __future__ import annotations

from collections.abc import Sequence

from domain import lifecycle, turns
from domain.decider import Fact
from domain.lifecycle import PlayerResigned, PlayerSeated, SeedsRevealed, TimedOut, changed
from domain.poker import facts as f
from domain.poker.table import Came, PlayedRound, PokerTable
from domain.turns import TurnBegan, acted

__all__ = ["awaited_after", "awaits", "evolve"]


def evolve(table: PokerTable, fact: Fact) -> PokerTable:
    """Return the table after a fact; never refuses."""
    after = turns.evolve(table, fact)
    match fact:
        case TurnBegan():
            if table.to_act:
                return after
            return changed(after, stage=table.stage + 1, to_act=table.in_round)
        case f.CardsExchanged(seat=seat, slots=slots):
            return _drew(changed(acted(after, seat), to_act=_without(table.to_act, seat)), seat, slots)
        case f.CommunityCardExchanged(seat=seat, slot=slot, card=card):
            community = (*table.community[: slot - 1], card, *table.community[slot:])
            to_act = _without(table.to_act, seat)
            return changed(acted(after, seat), to_act=to_act, community=community, next=table.next + 1)
        case f.CardsKept(seat=seat):
            return changed(acted(after, seat), to_act=_without(table.to_act, seat))
        case f.Called(seat=seat):
            return changed(acted(after, seat), caller=seat, to_act=_others(table, seat))
        case f.CommunityCardTurned(card=card):
            return changed(after, community=(*table.community, card), next=table.next + 1)
        case _:
            return _evolve_seldom(table, after, fact)


def _evolve_seldom(table: PokerTable, after: PokerTable, fact: Fact) -> PokerTable:
    match fact:
        case f.PokerOpened():
            return changed(after, options=fact.options)
        case PlayerSeated():
            return changed(after, points=(*after.points, 0))
        case f.RoundDealt():
            return _dealt(after, fact)
        case TimedOut(seat=seat):
            late = (*table.late, seat) if table.declaring else table.late
            return changed(after, to_act=_without(table.to_act, seat), late=late)
        case PlayerResigned(seat=seat):
            return changed(after, to_act=_without(table.to_act, seat))
        case f.HandsRevealed():
            return changed(after, revealed_hands=fact, turn=0)
        case f.HandDeclared(seat=seat):
            by_itself = not table.options.cards_speak and seat not in table.late
            return changed(acted(after, seat) if by_itself else after, declared=(*table.declared, fact))
        case f.RoundScored():
            return _scored(after, fact)
        case SeedsRevealed():
            return changed(after, deck=lifecycle.order_of(after, after.dealt) if after.dealt else None)
        case _:
            return after


def _dealt(table: PokerTable, fact: f.RoundDealt) -> PokerTable:
    private, came, slots = fact.private, table.came, dict[int, tuple[int, ...]]()
    for nth, seat in enumerate(fact.seats):
        slots[seat] = tuple(range(private * nth, private * (nth + 1)))
        came = Came(table.version, seat, fact.number, slots[seat], came)
    return changed(
        table,
        dealt=fact,
        deck=lifecycle.order_of(table, fact),
        stage=0,
        to_act=(),
        caller=0,
        slots=slots,
        community=fact.community,
        next=private * len(fact.seats) + len(fact.community),
        revealed_hands=None,
        declared=(),
        late=(),
        came=came,
    )


def _drew(table: PokerTable, seat: int, slots: Sequence[int]) -> PokerTable:
    positions = range(table.next, table.next + len(slots))
    held = list(table.slots[seat])
    for slot, position in zip(slots, positions, strict=True):
        held[slot - 1] = position
    came = Came(table.version, seat, table.deals, tuple(positions), table.came)
    return changed(table, slots={**table.slots, seat: tuple(held)}, next=table.next + len(slots), came=came)


def _scored(table: PokerTable, fact: f.RoundScored) -> PokerTable:
    points = list(table.points)
    for line in fact.places:
        points[line.seat - 1] += line.points
    if table.dealt is None or table.revealed_hands is None:
        return table
    played = PlayedRound(
        dealt=table.dealt,
        stage=table.stage,
        caller=table.caller,
        community=table.community,
        slots=table.slots,
        hands=table.revealed_hands.hands,
        declared=table.declared,
        late=table.late,
        scored=fact,
    )
    return changed(table, points=tuple(points), played=(*table.played, played), deadline=None)


def _without(seats: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return tuple(other for other in seats if other != seat)


def _others(table: PokerTable, seat: int) -> tuple[int, ...]:
    """Return the other seats of the round, from the left of one on (P3)."""
    seats = table.in_round
    at = seats.index(seat)
    return *seats[at + 1 :], *seats[:at]


def awaits(table: PokerTable) -> tuple[int, ...]:
    """Return the seats that a game waits for, ascending: the one that has the turn, or those with a hand to declare.

    Where cards speak the hands are declared by the command that reveals them (P5), and it leaves none of them awaited.
    """
    if table.revealed_hands is None:
        return turns.awaits(table)
    if table.over:
        return ()
    done = {declared.seat for declared in table.declared}
    return tuple(sorted(seat for seat in table.in_round if seat not in done))


def awaited_after(seats: tuple[int, ...], fact: Fact) -> tuple[int, ...]:
    """Return the seats that a game waits for after a fact, from those before it."""
    match fact:
        case f.HandsRevealed(hands=hands):
            return tuple(sorted(hand.seat for hand in hands))
        case f.HandDeclared(seat=seat):
            return _without(seats, seat)
        case _:
            return turns.awaited_after(seats, fact)
