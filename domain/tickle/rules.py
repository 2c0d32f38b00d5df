"""The rules of Tickle: commands, what they lead to, and how the table evolves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Final
from uuid import UUID

from pydantic import Field

from domain import lifecycle, seating, turns
from domain.cards import DECK, Card
from domain.dealing import Seeds
from domain.decider import Command, Decider, Fact, OpenCommand, Reason, RuleViolation, Viewer
from domain.entropy import commitment_of
from domain.lifecycle import (
    ExtendDeadline,
    PlayerResigned,
    Resign,
    RunOutOfTime,
    SeedsRevealed,
    TimedOut,
    changed,
    extended,
    in_time,
    label_of,
    still_open,
    time_out,
)
from domain.seating import must_have_started
from domain.tables import SEATING_COMMANDS, OpenTable, Rematch
from domain.tickle import counting, telling
from domain.tickle import facts as f
from domain.tickle.facts import HAND, Closing, Ending, LaidCard
from domain.tickle.fitting import must_fit
from domain.tickle.grid import Laid
from domain.tickle.placement import can_lay, faults
from domain.tickle.scoring import score
from domain.tickle.table import Got, TickleTable, awaited_after
from domain.tickle.views import TickleView, view
from domain.turns import (
    TurnBegan,
    Unfolding,
    acted,
    awaits,
    deadline_at,
    leaving,
    must_be_in,
    must_have_the_turn,
    places,
    times_out,
)

__all__ = [
    "TICKLE",
    "DeclineLaydown",
    "DrawCard",
    "LayDown",
    "OpenTickle",
    "decide",
    "evolve",
    "laid_of",
    "legal_commands",
]

KIND: Final = "tickle"
RULESET: Final = 1
CARD_PENALTY: Final = 5
MOST_CARDS_NAMED: Final = 26
"""More cards than this no laydown needs to name, to be told what is wrong with it."""


class OpenTickle(OpenTable):
    """Open a table."""

    name: ClassVar[str] = "tickle.OpenTickle"

    options: f.Options = f.Options()


class LayDown(Command):
    """Lay cards of the hand into the grid (K2 to K5)."""

    name: ClassVar[str] = "tickle.LayDown"

    cards: tuple[LaidCard, ...] = Field(max_length=MOST_CARDS_NAMED)


class DrawCard(Command):
    """Draw a card, having no legal laydown (K4, K7)."""

    name: ClassVar[str] = "tickle.DrawCard"


class DeclineLaydown(Command):
    """End the turn after a draw (K4, K7)."""

    name: ClassVar[str] = "tickle.DeclineLaydown"


def empty(seeds: Seeds | None) -> TickleTable:
    """Return the table before the first fact."""
    return TickleTable(seeds=seeds)


def laid_of(cards: Sequence[LaidCard]) -> Laid:
    """Return cards and cells as the grid has them."""
    return tuple((card.cell, card.card.index) for card in cards)


# What a command leads to


def decide(command: Command, table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    """Return the facts of a command that is given at a time, in UTC.

    Raises:
        RuleViolation: a rule refuses it.
        LookupError: it needs a hidden card, and the table was folded without its seeds.
    """
    command = leaving(command, table)
    if isinstance(command, OpenTickle):
        return seating.opening(f.TickleOpened, table, command, ruleset=RULESET, at=at)
    if seating.belongs_before_the_deal(command, table):
        return seating.decide(command, table, at, deal=lambda seated: _deal(seated, at), after=evolve)
    if isinstance(command, RunOutOfTime) and table.held_back:
        return (lifecycle.reveal_at_last(table, at),)
    still_open(table, "G1")
    must_have_started(table)
    match command:
        case RunOutOfTime():
            return _run_out_of_time(table, at)
        case ExtendDeadline():
            return (extended(table, command),)
        case Resign():
            return _resign(table, command.seat, at)
        case _:
            must_have_the_turn(table, command.seat)
            in_time(table, at)
            return _play(command, table, at)


def _play(command: Command, table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    match command:
        case LayDown():
            return _lay_down(command, table, at)
        case DrawCard():
            return _draw(table)
        case DeclineLaydown():
            return _decline(table, at)
        case _:
            raise TypeError(f"{type(command).__name__} is not a command of {KIND}")


def _deal(table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    set_aside = table.options.deck.set_aside  # Tickle K15
    dealt = f.HandsDealt(
        number=1,
        entropies=seating.entropies(table),
        beacon=table.beacon,
        each=HAND,
        deck=len(DECK) - set_aside - HAND * len(table.players),
        set_aside=set_aside,
    )
    return dealt, TurnBegan(seat=1, round=1, deadline=deadline_at(table, at))


def _lay_down(command: LayDown, table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    seat, laid = command.seat, laid_of(command.cards)
    reasons = faults(table.grid, table.hand_set(seat), laid, table.drawn_card)
    if reasons:
        raise _illegal(reasons)
    unfolding = Unfolding(evolve, table)
    unfolding.then(f.LaydownPlayed(seat=seat, cards=command.cards, score=score(table.grid, laid)))
    refill = min(HAND - unfolding.table.held[seat - 1], unfolding.table.left)
    if refill > 0:  # Tickle K8
        unfolding.then(f.HandRefilled(seat=seat, cards=refill))
    after = unfolding.table
    if not after.last_round:
        if not after.held[seat - 1]:  # Tickle K13: the deck is empty, else the hand was filled
            unfolding.then(f.FinalStageBegan(seat=seat, cause=Closing.HAND_LAID))
        elif after.options.target is not None and after.points[seat - 1] >= after.options.target:  # Tickle K16
            unfolding.then(f.TargetReached(seat=seat))
    return _next_turn(unfolding, at)


def _illegal(reasons: Sequence[Reason]) -> RuleViolation:
    messages = tuple(dict.fromkeys(reason.message for reason in reasons))
    message = messages[0] if len(messages) == 1 else f"There are {len(messages)} reasons why not. {' '.join(messages)}"
    return RuleViolation("ILLEGAL_LAYDOWN", reasons[0].ruling, message, reasons)


def _draw(table: TickleTable) -> tuple[Fact, ...]:
    seat = table.turn
    opening = "" if table.grid.cards else " opening"
    ruling = "K7" if table.grid.cards else "K4"
    if table.drawn is not None:
        message = "You have drawn in this turn: lay cards with the drawn one among them, or decline."
        raise RuleViolation("ALREADY_DRAWN", ruling, message)
    if can_lay(table.grid, table.hand_set(seat)):  # Tickle K4, K6
        message = f"You have a legal{opening} laydown, and so must make one: the field `laydowns` finds some."
        raise RuleViolation("MUST_LAY_DOWN", "K6" if table.grid.cards else "K4", message)
    return (f.CardDrawn(seat=seat),)  # the deck has a card, else the turn would have ended at once (K7)


def _decline(table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    if table.drawn is None:
        ruling = "K6" if table.grid.cards else "K4"
        message = "A turn is declined only after a draw: make a laydown, or draw if you have none."
        raise RuleViolation("NOT_DRAWN", ruling, message)
    unfolding = Unfolding(evolve, table)
    unfolding.then(f.LaydownDeclined(seat=table.turn))
    return _next_turn(unfolding, at)


def _run_out_of_time(table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    seat = table.turn
    unfolding = Unfolding(evolve, table)
    unfolding.then(time_out(table, at, seat))
    if table.drawn is None and table.left and not can_lay(table.grid, table.hand_set(seat)):
        unfolding.then(f.CardDrawn(seat=seat))  # Tickle G2: the draw that was due
    if times_out(unfolding.table, seat):
        unfolding.then(PlayerResigned(seat=seat))
    return _next_turn(unfolding, at)


def _resign(table: TickleTable, seat: int, at: datetime) -> tuple[Fact, ...]:
    must_be_in(table, seat)
    unfolding = Unfolding(evolve, table)
    unfolding.then(PlayerResigned(seat=seat))
    if seat == table.turn or len(unfolding.table.still_in) == 1:
        return _next_turn(unfolding, at)
    return unfolding.facts


def _next_turn(unfolding: Unfolding[TickleTable], at: datetime) -> tuple[Fact, ...]:
    """Begin the turn of the next seat that can act, or end the game."""
    while True:
        table = unfolding.table
        if len(table.still_in) == 1:
            return _finish(unfolding, at, Ending.RESIGNATIONS)  # G1
        seat, number = table.next_turn  # Tickle K1
        if number > table.round and table.last_round:  # Tickle K13, K16
            return _finish(unfolding, at, Ending.FINAL_STAGE if table.closing else Ending.TARGET)
        if table.left or can_lay(table.grid, table.hand_set(seat)):
            unfolding.then(TurnBegan(seat=seat, round=number, deadline=deadline_at(table, at)))
            return unfolding.facts
        unfolding.then(f.TurnPassed(seat=seat, round=number))  # Tickle K7
        if not table.last_round:
            unfolding.then(f.FinalStageBegan(seat=seat, cause=Closing.NO_LAYDOWN))  # Tickle K13


def _finish(unfolding: Unfolding[TickleTable], at: datetime, ending: Ending) -> tuple[Fact, ...]:
    table = unfolding.table
    totals = [points - CARD_PENALTY * cards for points, cards in zip(table.points, table.held, strict=True)]  # K14
    placed = places(totals, table.resigned)
    results = tuple(
        f.TickleResult(
            seat=seat,
            place=placed[seat - 1],
            points=table.points[seat - 1],
            cards=table.held[seat - 1],
            total=totals[seat - 1],
            resigned=seat in table.resigned,
        )
        for seat in range(1, len(table.players) + 1)
    )
    unfolding.then(f.TickleFinished(ending=ending, places=results))
    unfolding.then(lifecycle.reveal_or_hold_back(unfolding.table, table.options.sealed_until, at))
    return unfolding.facts


# How the table evolves


def evolve(table: TickleTable, fact: Fact) -> TickleTable:
    """Return the table after a fact; never refuses."""
    after = turns.evolve(table, fact)
    match fact:
        case f.LaydownPlayed(seat=seat):
            return changed(
                acted(after, seat),
                grid=table.grid.after(laid_of(fact.cards)),
                held=_added(table.held, seat, -len(fact.cards)),
                points=_added(table.points, seat, fact.score.total),
                drawn=None,
                turn_ended=True,
            )
        case f.HandRefilled(seat=seat, cards=cards):
            return _drew(after, seat, cards)
        case f.CardDrawn(seat=seat):
            return changed(_drew(after, seat, 1), drawn=table.next)
        case f.LaydownDeclined(seat=seat):
            return changed(acted(after, seat), drawn=None, turn_ended=True)
        case TurnBegan():
            return changed(after, drawn=None, turn_ended=False)
        case f.TurnPassed(seat=seat, round=number):
            return changed(after, turn=seat, round=number, drawn=None, deadline=None, turn_ended=True)
        case TimedOut():
            return changed(after, turn_ended=True)
        case _:
            return _evolve_seldom(after, fact)


def _evolve_seldom(after: TickleTable, fact: Fact) -> TickleTable:
    match fact:
        case f.TickleOpened():
            return changed(after, options=fact.options)
        case f.HandsDealt():
            return _dealt(after, fact)
        case f.FinalStageBegan():
            return changed(after, closing=fact.cause)
        case f.TargetReached():
            return changed(after, target_reached=True)
        case f.TickleFinished():
            return changed(after, drawn=None)
        case SeedsRevealed():
            return changed(after, deck=lifecycle.order_of(after, after.dealt) if after.dealt else None)
        case _:
            return after


def _dealt(table: TickleTable, fact: f.HandsDealt) -> TickleTable:
    seats, each = len(table.players), fact.each
    return changed(
        table,
        dealt=fact,
        deck=lifecycle.order_of(table, fact),
        got=tuple(tuple(Got(each * at + nth, table.version) for nth in range(each)) for at in range(seats)),
        held=(each,) * seats,
        points=(0,) * seats,
        next=each * seats,
        end=len(DECK) - fact.set_aside,
    )


def _drew(table: TickleTable, seat: int, cards: int) -> TickleTable:
    new = (Got(position, table.version) for position in range(table.next, table.next + cards))
    got = tuple((*had, *new) if at == seat else had for at, had in enumerate(table.got, 1))
    return changed(table, got=got, held=_added(table.held, seat, cards), next=table.next + cards)


def _added(values: tuple[int, ...], seat: int, more: int) -> tuple[int, ...]:
    return *values[: seat - 1], values[seat - 1] + more, *values[seat:]


# Back from facts to the command, and what is open


def command_of(facts: Sequence[Fact], table: TickleTable) -> Command:
    """Return the command that these facts answered at a table.

    Raises:
        ValueError: no command of this game leads to such facts.
    """
    match facts[0]:
        case f.TickleOpened() as fact:
            return OpenTickle(
                player=fact.host,
                options=fact.options,
                rematch=fact.rematch,
                label=label_of(facts),
                commitment=commitment_of(facts),
            )
        case f.LaydownPlayed() as fact:
            return LayDown(seat=fact.seat, cards=fact.cards)
        case f.CardDrawn() as fact:
            return DrawCard(seat=fact.seat)
        case f.LaydownDeclined() as fact:
            return DeclineLaydown(seat=fact.seat)
        case _:
            return seating.command_of(facts, table)


def legal_commands(table: TickleTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    """Return what ``decide`` accepts from a viewer, while there is time; of laydowns only that there are some."""
    seat = viewer.seat
    if not seat or table.over or table.dealt is None:
        return seating.open_commands(table, viewer)
    if seat in table.resigned:
        return ()
    if seat != table.turn or table.turn_ended or len(table.still_in) == 1:
        return (Resign(seat=seat),)
    able = can_lay(table.grid, table.hand_set(seat), table.drawn_card)
    commands: list[OpenCommand] = [LayDown] if able else []
    if table.drawn is not None:
        commands.append(DeclineLaydown(seat=seat))
    elif not able:
        commands.append(DrawCard(seat=seat))
    return *commands, Resign(seat=seat)


def came_to(table: TickleTable, seat: int, version: int) -> tuple[Card, ...]:
    """Return the cards that came to a seat's hand with an event."""
    return table.came_to(seat, version) if table.dealt and 1 <= seat <= len(table.got) else ()


def rematch(table: TickleTable, game: UUID, player: UUID, moved_on: bool) -> Command:
    """Return the command by which a player plays a finished game again (G4)."""
    again = Rematch(game=game, players=table.players, moved_on=moved_on)
    return OpenTickle(player=player, options=table.options.again(), rematch=again)


TICKLE: Final = Decider[TickleTable, TickleView](
    kind=KIND,
    ruleset=RULESET,
    deals=1,
    facts=f.FACTS,
    commands=(OpenTickle, *SEATING_COMMANDS, LayDown, DrawCard, DeclineLaydown, Resign, RunOutOfTime, ExtendDeadline),
    empty=empty,
    decide=decide,
    evolve=evolve,
    must_fit=must_fit,
    view=view,
    command_of=command_of,
    legal_commands=legal_commands,
    tell=telling.tell,
    score=telling.score,
    note=telling.note,
    counters=counting.COUNTERS,
    count=counting.count,
    awaits=awaits,
    awaited_after=awaited_after,
    came_to=came_to,
    rematch=rematch,
)
"""Tickle under ruleset 1."""
