"""The rules of TIC Poker: commands, and what they lead to. ``course`` has how the table evolves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import combinations
from typing import ClassVar, Final
from uuid import UUID

from pydantic import Field

from domain import lifecycle, seating, turns
from domain.cards import Card, CardName
from domain.dealing import MAX_DEALS, Seeds
from domain.decider import Command, Decider, Fact, OpenCommand, RuleViolation, Viewer
from domain.entropy import commitment_of
from domain.lifecycle import (
    ExtendDeadline,
    PlayerResigned,
    Resign,
    RunOutOfTime,
    extended,
    in_time,
    label_of,
    still_open,
    time_out,
)
from domain.poker import facts as f
from domain.poker.counting import COUNTERS, count
from domain.poker.course import awaited_after, awaits, evolve
from domain.poker.facts import Ending, Variation
from domain.poker.fitting import must_fit
from domain.poker.hands import HAND, Rank, Strength, best_hand, highest_cards, ranks_of, strength_as
from domain.poker.table import PokerTable
from domain.poker.telling import note, score, tell
from domain.poker.views import PokerView, view
from domain.seating import must_have_started
from domain.tables import SEATING_COMMANDS, OpenTable, Rematch
from domain.turns import TurnBegan, Unfolding, deadline_at, leaving, must_be_in, must_have_the_turn, times_out

__all__ = ["POKER", "Call", "DeclareHand", "ExchangeCards", "ExchangeCommunityCard", "KeepCards", "OpenPoker"]
__all__ += ["decide", "evolve", "legal_commands"]

KIND: Final = "poker"
RULESET: Final = 1
FIRST_COMMUNITY_CARDS: Final = 2


class OpenPoker(OpenTable):
    """Open a table."""

    name: ClassVar[str] = "poker.OpenPoker"

    options: f.Options = f.Options()


class ExchangeCards(Command):
    """Exchange private cards, named by their slots (P2, P11)."""

    name: ClassVar[str] = "poker.ExchangeCards"

    slots: tuple[int, ...] = Field(max_length=HAND)


class ExchangeCommunityCard(Command):
    """Exchange a community card, named by its slot (P10)."""

    name: ClassVar[str] = "poker.ExchangeCommunityCard"

    slot: int


class KeepCards(Command):
    """Exchange nothing (P2)."""

    name: ClassVar[str] = "poker.KeepCards"


class Call(Command):
    """End the exchanges: every other seat gets one last turn (P3)."""

    name: ClassVar[str] = "poker.Call"


class DeclareHand(Command):
    """Say which five cards count, and as what (P5)."""

    name: ClassVar[str] = "poker.DeclareHand"

    cards: tuple[CardName, ...] = Field(max_length=HAND)
    rank: Rank


def empty(seeds: Seeds | None) -> PokerTable:
    """Return the table before the first fact."""
    return PokerTable(seeds=seeds)


# What a command leads to


def decide(command: Command, table: PokerTable, at: datetime) -> tuple[Fact, ...]:
    """Return the facts of a command that is given at a time, in UTC.

    Raises:
        RuleViolation: a rule refuses it.
        LookupError: it needs a hidden card, and the table was folded without its seeds.
    """
    command = leaving(command, table)
    if isinstance(command, OpenPoker):
        return seating.opening(f.PokerOpened, table, command, ruleset=RULESET, at=at)
    if seating.belongs_before_the_deal(command, table):
        return seating.decide(command, table, at, deal=lambda seated: _first_deal(seated, at), after=evolve)
    if isinstance(command, RunOutOfTime) and table.held_back:
        return (lifecycle.reveal_at_last(table, at),)
    still_open(table, "P9")
    must_have_started(table)
    match command:
        case RunOutOfTime():
            return _run_out_of_time(table, at)
        case ExtendDeadline():
            return (extended(table, command),)
        case Resign():
            return _resign(table, command.seat, at)
        case DeclareHand():
            must_be_in(table, command.seat)
            in_time(table, at)
            return _declare(command, table, at)
        case _:
            must_be_in(table, command.seat)
            if table.declaring:
                raise RuleViolation("HANDS_ARE_DECLARED", "P5", "The exchanges are over: declare your hand.")
            must_have_the_turn(table, command.seat)
            in_time(table, at)
            return _take_turn(command, table, at)


def _take_turn(command: Command, table: PokerTable, at: datetime) -> tuple[Fact, ...]:
    match command:
        case ExchangeCards():
            done = _exchange(command, table)
        case ExchangeCommunityCard():
            done = _exchange_community_card(command, table)
        case KeepCards():
            done = f.CardsKept(seat=command.seat)
        case Call():
            done = _call(command, table)
        case _:
            raise TypeError(f"{type(command).__name__} is not a command of {KIND}")
    unfolding = Unfolding(evolve, table)
    unfolding.then(done)
    return _go_on(unfolding, at)


def _exchange(command: ExchangeCards, table: PokerTable) -> Fact:
    draw = table.options.variation is Variation.DRAW
    most, ruling = (2, "P11") if draw else (1, "P2")
    slots, held = command.slots, table.options.variation.private
    if not slots:
        raise RuleViolation("NO_SLOTS", ruling, "Name the slot of the card to exchange; or keep your cards.")
    if any(not 1 <= slot <= held for slot in slots):
        raise RuleViolation("NO_SUCH_SLOT", ruling, f"Your cards lie in the slots 1 to {held}.")
    if len(set(slots)) != len(slots):
        raise RuleViolation("SLOT_TWICE", ruling, "Name each slot once.")
    if len(slots) > most:
        cards = "two cards are" if draw else "one card is"
        raise RuleViolation("TOO_MANY_SLOTS", ruling, f"At most {cards} exchanged in a turn.")
    return f.CardsExchanged(seat=command.seat, slots=tuple(sorted(slots)))


def _exchange_community_card(command: ExchangeCommunityCard, table: PokerTable) -> Fact:
    if table.options.variation is not Variation.COMMUNITY_EXCHANGE:
        message = "This table does not exchange community cards: exchange one of yours, or keep them."
        raise RuleViolation("NO_COMMUNITY_EXCHANGE", "P10", message)
    if table.caller:
        message = "After a call only private cards are exchanged: exchange one of yours, or keep them."
        raise RuleViolation("ONLY_PRIVATE_CARDS", "P10", message)
    open_cards = len(table.community)
    if not 1 <= command.slot <= open_cards:
        raise RuleViolation("NO_SUCH_SLOT", "P10", f"The community cards lie in the slots 1 to {open_cards}.")
    return f.CommunityCardExchanged(seat=command.seat, slot=command.slot, card=table.card(table.next))


def _call(command: Call, table: PokerTable) -> Fact:
    if table.options.variation is Variation.DRAW:
        raise RuleViolation("NO_CALLS", "P11", "There are no calls in Draw Poker: exchange, or keep your cards.")
    if table.caller:
        message = f"Seat {table.caller} has called: exchange one of your cards, or keep them."
        raise RuleViolation("ALREADY_CALLED", "P3", message)
    return f.Called(seat=command.seat)


def _declare(command: DeclareHand, table: PokerTable, at: datetime) -> tuple[Fact, ...]:
    seat = command.seat
    if not table.declaring:
        speak = "Cards speak at this table: the server declares the best hand of every seat."
        message = speak if table.options.cards_speak else "Hands are declared when the cards are turned up."
        raise RuleViolation("NOT_REVEALED", "P5", message)
    if seat not in table.undeclared:
        raise RuleViolation("ALREADY_DECLARED", "P5", "You have declared your hand in this round.")
    cards = set(command.cards)
    if len(cards) != HAND or len(command.cards) != HAND:
        raise RuleViolation("NOT_FIVE_CARDS", "P5", "A hand has five different cards.")
    if not cards <= {*table.private(seat), *table.community}:
        raise RuleViolation("NOT_YOUR_CARDS", "P5", "A hand is made of your private cards and the community cards.")
    if command.rank not in ranks_of(command.cards):
        name = command.rank.name.replace("_", " ").title()
        raise RuleViolation("FALSE_DECLARATION", "P5", f"These five cards are no {name}: look at them again.")
    unfolding = Unfolding(evolve, table)
    unfolding.then(_declaration(seat, strength_as(command.rank, command.cards)))
    return _score(unfolding, at)


def _declaration(seat: int, strength: Strength) -> Fact:
    return f.HandDeclared(seat=seat, cards=strength.cards, rank=strength.rank)


def _run_out_of_time(table: PokerTable, at: datetime) -> tuple[Fact, ...]:
    unfolding = Unfolding(evolve, table)
    if not table.declaring:
        unfolding.then(time_out(table, at, table.turn))  # G2: it keeps its cards
        if times_out(unfolding.table, table.turn):
            unfolding.then(PlayerResigned(seat=table.turn))
        return _go_on(unfolding, at)
    for seat in table.undeclared:
        unfolding.then(time_out(table, at, seat))
        highest = highest_cards((*table.private(seat), *table.community))
        unfolding.then(_declaration(seat, highest))  # TIC Poker P5
        if times_out(unfolding.table, seat):
            unfolding.then(PlayerResigned(seat=seat))
            if len(unfolding.table.still_in) == 1:  # G1: the last one has won, late or not
                break
    return _score(unfolding, at)


def _resign(table: PokerTable, seat: int, at: datetime) -> tuple[Fact, ...]:
    must_be_in(table, seat)
    unfolding = Unfolding(evolve, table)
    unfolding.then(PlayerResigned(seat=seat))
    if table.declaring:
        return _score(unfolding, at)
    if seat == table.turn or len(unfolding.table.still_in) == 1:
        return _go_on(unfolding, at)
    return unfolding.facts


def _go_on(unfolding: Unfolding[PokerTable], at: datetime) -> tuple[Fact, ...]:
    """Begin the next turn, or the next stage, or turn the cards up."""
    table = unfolding.table
    if len(table.still_in) == 1:
        return _finish(unfolding, at, Ending.RESIGNATIONS)  # TIC Poker P12, G1
    if not table.to_act and not table.caller:
        if table.options.variation is not Variation.DRAW:
            unfolding.then(f.CommunityCardTurned(card=table.card(table.next)))  # TIC Poker P2
        if table.stage < table.options.stages:
            return _begin_turn(unfolding, table.in_round[0], at)
    if table.to_act:
        return _begin_turn(unfolding, table.to_act[0], at)
    return _reveal(unfolding, at)


def _begin_turn(unfolding: Unfolding[PokerTable], seat: int, at: datetime) -> tuple[Fact, ...]:
    table = unfolding.table
    unfolding.then(TurnBegan(seat=seat, round=table.deals, deadline=deadline_at(table, at)))
    return unfolding.facts


def _reveal(unfolding: Unfolding[PokerTable], at: datetime) -> tuple[Fact, ...]:
    table = unfolding.table
    hands = tuple(f.RevealedHand(seat=seat, cards=table.private(seat)) for seat in table.in_round)
    speak = table.options.cards_speak
    unfolding.then(f.HandsRevealed(hands=hands, deadline=None if speak else deadline_at(table, at)))
    if speak:  # TIC Poker P5
        for hand in hands:
            unfolding.then(_declaration(hand.seat, best_hand((*hand.cards, *table.community))))
    return _score(unfolding, at)


def _score(unfolding: Unfolding[PokerTable], at: datetime) -> tuple[Fact, ...]:
    """Score the round once every hand is declared, and go on to the next."""
    table = unfolding.table
    if len(table.still_in) == 1:
        return _finish(unfolding, at, Ending.RESIGNATIONS)  # TIC Poker P12
    if table.undeclared or table.dealt is None:
        return unfolding.facts
    strengths = {
        declared.seat: strength_as(declared.rank, declared.cards)
        for declared in table.declared
        if declared.seat in table.in_round
    }
    places = {seat: 1 + sum(other > own for other in strengths.values()) for seat, own in strengths.items()}
    seats = len(table.dealt.seats)
    lines = (f.RoundPlace(seat=seat, place=place, points=seats + 1 - place) for seat, place in places.items())  # P8
    unfolding.then(f.RoundScored(places=tuple(sorted(lines, key=lambda line: (line.place, line.seat)))))
    if table.deals == table.options.rounds:  # TIC Poker P9
        return _finish(unfolding, at, Ending.ROUNDS)
    unfolding.then(_round(unfolding.table))
    return _begin_turn(unfolding, unfolding.table.in_round[0], at)


def _finish(unfolding: Unfolding[PokerTable], at: datetime, ending: Ending) -> tuple[Fact, ...]:
    table = unfolding.table
    placed = turns.places(table.points, table.resigned)
    results = tuple(
        f.PokerResult(seat=seat, place=placed[seat - 1], points=table.points[seat - 1], resigned=seat in table.resigned)
        for seat in range(1, len(table.players) + 1)
    )
    unfolding.then(f.PokerFinished(ending=ending, places=results))
    unfolding.then(lifecycle.reveal_or_hold_back(unfolding.table, table.options.sealed_until, at))
    return unfolding.facts


def _first_deal(table: PokerTable, at: datetime) -> tuple[Fact, ...]:
    unfolding = Unfolding(evolve, table)
    unfolding.then(_round(table))
    return _begin_turn(unfolding, unfolding.table.in_round[0], at)


def _round(table: PokerTable) -> f.RoundDealt:
    """Return the deal of the next round (P1)."""
    in_game = table.still_in
    if table.dealt is None:
        dealer = in_game[-1]
    else:
        left = [seat for seat in in_game if seat > table.dealt.dealer]
        dealer = left[0] if left else in_game[0]
    seats = (*(seat for seat in in_game if seat > dealer), *(seat for seat in in_game if seat <= dealer))
    private = table.options.variation.private
    dealt = f.RoundDealt(
        number=table.deals + 1,
        entropies=seating.entropies(table),
        beacon=table.beacon,
        dealer=dealer,
        seats=seats,
        private=private,
        community=(),
    )
    if table.options.variation is Variation.DRAW:
        return dealt
    order = lifecycle.order_of(table, dealt)
    if order is None:
        raise LookupError("a round is dealt with its seed")
    first = private * len(seats)
    return dealt.model_copy(update={"community": order[first : first + FIRST_COMMUNITY_CARDS]})


# Back from facts to the command, and what is open


def command_of(facts: Sequence[Fact], table: PokerTable) -> Command:
    """Return the command that these facts answered at a table.

    Raises:
        ValueError: no command of this game leads to such facts.
    """
    match facts[0]:
        case f.PokerOpened() as fact:
            return OpenPoker(
                player=fact.host,
                options=fact.options,
                rematch=fact.rematch,
                label=label_of(facts),
                commitment=commitment_of(facts),
            )
        case f.CardsExchanged() as fact:
            return ExchangeCards(seat=fact.seat, slots=fact.slots)
        case f.CommunityCardExchanged() as fact:
            return ExchangeCommunityCard(seat=fact.seat, slot=fact.slot)
        case f.CardsKept() as fact:
            return KeepCards(seat=fact.seat)
        case f.Called() as fact:
            return Call(seat=fact.seat)
        case f.HandDeclared() as fact:
            return DeclareHand(seat=fact.seat, cards=fact.cards, rank=fact.rank)
        case _:
            return seating.command_of(facts, table)


def legal_commands(table: PokerTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    """Return what ``decide`` accepts from a viewer, while there is time; of declarations only that one is due."""
    seat = viewer.seat
    if not seat or table.over or table.dealt is None:
        return seating.open_commands(table, viewer)
    if seat in table.resigned:
        return ()
    if seat in table.undeclared:
        return DeclareHand, Resign(seat=seat)
    if seat != table.turn or seat not in table.to_act or table.declaring:
        return (Resign(seat=seat),)
    return *_open_turn(table, seat), Resign(seat=seat)


def _open_turn(table: PokerTable, seat: int) -> list[Command]:
    variation = table.options.variation
    slots = range(1, variation.private + 1)
    choices = [(slot,) for slot in slots]
    commands: list[Command] = [KeepCards(seat=seat)]
    if variation is Variation.DRAW:
        return [*commands, *(ExchangeCards(seat=seat, slots=some) for some in (*choices, *combinations(slots, 2)))]
    commands += [ExchangeCards(seat=seat, slots=some) for some in choices]
    if not table.caller:
        if variation is Variation.COMMUNITY_EXCHANGE:
            commands += [ExchangeCommunityCard(seat=seat, slot=slot) for slot in range(1, len(table.community) + 1)]
        commands.append(Call(seat=seat))
    return commands


def came_to(table: PokerTable, seat: int, version: int) -> tuple[Card, ...]:
    """Return the cards that came to a seat's hand with an event, in whichever round."""
    came = table.came
    while came is not None and came.version >= version:
        if (came.version, came.seat) == (version, seat) and table.dealt is not None:
            of_then = table.dealt.model_copy(update={"number": came.deal})
            order = table.deck if came.deal == table.deals else lifecycle.order_of(table, of_then)
            return tuple(order[position] for position in came.positions) if order else ()
        came = came.before
    return ()


def rematch(table: PokerTable, game: UUID, player: UUID, moved_on: bool) -> Command:
    """Return the command by which a player plays a finished game again (G4)."""
    again = Rematch(game=game, players=table.players, moved_on=moved_on)
    return OpenPoker(player=player, options=table.options.again(), rematch=again)


POKER: Final = Decider[PokerTable, PokerView](
    kind=KIND,
    ruleset=RULESET,
    deals=MAX_DEALS,
    facts=f.FACTS,
    commands=(
        OpenPoker,
        *SEATING_COMMANDS,
        ExchangeCards,
        ExchangeCommunityCard,
        KeepCards,
        Call,
        DeclareHand,
        Resign,
        RunOutOfTime,
        ExtendDeadline,
    ),
    empty=empty,
    decide=decide,
    evolve=evolve,
    must_fit=must_fit,
    view=view,
    command_of=command_of,
    legal_commands=legal_commands,
    tell=tell,
    score=score,
    note=note,
    counters=COUNTERS,
    count=count,
    awaits=awaits,
    awaited_after=awaited_after,
    came_to=came_to,
    rematch=rematch,
)
"""TIC Poker under ruleset 1."""
