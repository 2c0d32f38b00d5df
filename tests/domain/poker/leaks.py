"""Tables of TIC Poker at which a leak is planted in every channel, to see that it is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from domain.cards import Card
from domain.decider import Command, Fact, OpenCommand, RuleViolation, Viewer
from domain.lifecycle import TimedOut
from domain.poker.facts import (
    CardsExchanged,
    CardsKept,
    CommunityCardExchanged,
    CommunityCardTurned,
    HandsRevealed,
    Options,
    RevealedHand,
    RoundDealt,
    RoundScored,
    Variation,
)
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, KeepCards
from domain.poker.table import PokerTable
from domain.poker.views import PokerView, RoundView
from domain.tables import Seating
from domain.turns import TurnBegan
from tests.domain.poker.players import PLAYERS, Played, Style, lies, play
from tests.domain.poker.secrecy import Channels, hidden_positions

__all__ = ["DRAWING", "LEAKS", "SEAT_1", "SEAT_2", "SPEAKING", "STRANGER", "WHOLE_GAME", "Where"]
__all__ += ["before_the_reveal", "last_of_a_stage", "last_to_declare", "midgame", "round_of"]

TIMED = Options(rounds=3, variation=Variation.COMMUNITY_EXCHANGE, turn_seconds=60, seating=Seating.AS_JOINED)
WHOLE_GAME = play(random.Random(5), options=TIMED, players=4, styles=(Style.BOLDLY, Style.WELL, Style.MODESTLY))
SPEAKING = play(
    random.Random(6), options=TIMED.model_copy(update={"cards_speak": True}), players=4, styles=(Style.BOLDLY,)
)
DRAWING = play(
    random.Random(7),
    options=TIMED.model_copy(update={"variation": Variation.DRAW, "rounds": 2}),
    players=3,
    styles=(Style.BOLDLY, Style.WELL),
)

SEAT_1, SEAT_2 = Viewer(seat=1, player=PLAYERS[0]), Viewer(seat=2, player=PLAYERS[1])
STRANGER = Viewer(player=PLAYERS[7])


@cache
def midgame() -> PokerTable:
    """Seat 2 has the turn in the second round, and seat 3 comes after it; nobody has called."""
    exchanges = (step.before for step in WHOLE_GAME.steps if isinstance(step.command, ExchangeCards | KeepCards))
    return next(t for t in exchanges if t.turn == 2 and t.deals == 2 and 3 in t.to_act and not t.caller)


@cache
def last_of_a_stage() -> PokerTable:
    """The stage ends with this turn: a community card is turned then."""
    kept = (step.before for step in WHOLE_GAME.steps if isinstance(step.command, ExchangeCards | KeepCards))
    return next(table for table in kept if len(table.to_act) == 1 and not table.caller and table.stage == 1)


def before_the_reveal(game: Played = WHOLE_GAME) -> PokerTable:
    """The cards are turned up after this command."""
    return next(step.before for step in game.steps if any(isinstance(fact, HandsRevealed) for fact in step.facts))


@cache
def last_to_declare() -> PokerTable:
    """The round is scored with this declaration, and the next is dealt."""
    declared = (step.before for step in WHOLE_GAME.steps if isinstance(step.command, DeclareHand))
    return next(table for table in declared if len(table.undeclared) == 1)


def round_of(shown: PokerView) -> RoundView:
    assert shown.round is not None
    return shown.round


def hidden(table: PokerTable, viewer: Viewer) -> Card:
    """A card of another seat, or the next of the deck: the secret that the planted leaks tell of."""
    assert table.deck is not None
    return table.deck[hidden_positions(table, viewer)[0]]


# A leak in every channel


def shows_a_card_of_another_hand(table: PokerTable, viewer: Viewer) -> PokerView:
    shown = POKER.view(table, viewer)
    seats = [
        replace(seat, cards=(lies(table, 3)[0], *seat.cards[1:])) if seat.seat == 3 else seat
        for seat in round_of(shown).seats
    ]
    return replace(shown, round=replace(round_of(shown), seats=tuple(seats)))


def shows_every_hand(table: PokerTable, viewer: Viewer) -> PokerView:
    return POKER.view(table, replace(viewer, everything=True))


def shows_the_next_community_card(table: PokerTable, viewer: Viewer) -> PokerView:
    shown = POKER.view(table, viewer)
    return replace(shown, round=replace(round_of(shown), community=(*table.community, table.card(table.next))))


def orders_the_seats_by_their_hands(table: PokerTable, viewer: Viewer) -> PokerView:
    shown = POKER.view(table, viewer)
    seats = sorted(round_of(shown).seats, key=lambda seat: lies(table, seat.seat)[0])
    return replace(shown, round=replace(round_of(shown), seats=tuple(seats)))


def is_shorter_by_what_another_holds(table: PokerTable, viewer: Viewer) -> PokerView:
    shown = POKER.view(table, viewer)
    return replace(shown, played=shown.played[hidden(table, viewer).colour % 2 :])


def gives_points_for_what_is_held(table: PokerTable, viewer: Viewer) -> PokerView:
    shown = POKER.view(table, viewer)
    seats = [replace(seat, points=seat.points + lies(table, 3)[0].value) for seat in shown.seats]
    return replace(shown, seats=tuple(seats))


def offers_a_call_by_what_another_holds(table: PokerTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return *POKER.legal_commands(table, viewer), *(Call(seat=viewer.seat),) * (hidden(table, viewer).number > 2)


def leaves_an_action_out(table: PokerTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return POKER.legal_commands(table, viewer)[hidden(table, viewer).shape % 2 :]


def turns_the_order_of_actions(table: PokerTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return POKER.legal_commands(table, viewer)[:: 1 if hidden(table, viewer).number > 3 else -1]


Deciding = Callable[[Command, PokerTable, datetime], tuple[Fact, ...]]


def refusing(change: Callable[[RuleViolation, set[Card], PokerTable], RuleViolation]) -> Deciding:
    def decide(command: Command, table: PokerTable, at: datetime) -> tuple[Fact, ...]:
        try:
            return POKER.decide(command, table, at)
        except RuleViolation as refused:
            raise change(refused, set(getattr(command, "cards", ())), table) from None

    return decide


def says_who_has_the_card(refused: RuleViolation, named: set[Card], table: PokerTable) -> RuleViolation:
    message = f"{refused.message} Seat 3 has it." if named & set(lies(table, 3)) else refused.message
    return RuleViolation(refused.code, refused.ruling, message, refused.reasons)


def has_a_code_for_cards_of_the_deck(refused: RuleViolation, named: set[Card], table: PokerTable) -> RuleViolation:
    there = named & set((table.deck or ())[table.next :])
    return RuleViolation("CARD_IN_DECK" if there else refused.code, refused.ruling, refused.message, refused.reasons)


def has_a_ruling_for_the_next_card(refused: RuleViolation, named: set[Card], table: PokerTable) -> RuleViolation:
    ruling = "P4" if table.card(table.next) in named else refused.ruling
    return RuleViolation(refused.code, ruling, refused.message, refused.reasons)


def refuses_an_extension_by_a_hand(command: Command, table: PokerTable, at: datetime) -> tuple[Fact, ...]:
    if command.name == "game.ExtendDeadline" and lies(table, 3)[0].number < 4:
        raise RuleViolation("NOT_WORTH_IT", "G2", "Better not.")
    return POKER.decide(command, table, at)


Changing = Callable[[tuple[Fact, ...], PokerTable], tuple[Fact, ...]]


def telling(change: Changing) -> Deciding:
    return lambda command, table, at: change(POKER.decide(command, table, at), table)


def names_slots_by_the_value_of_the_cards(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    """As if hands were sorted: the slot tells how high the discarded card is among those of the hand."""

    def told(fact: Fact) -> Fact:
        if not isinstance(fact, CardsExchanged):
            return fact
        hand = lies(table, fact.seat)
        slots = [sorted(hand).index(hand[slot - 1]) + 1 for slot in fact.slots]
        return fact.model_copy(update={"slots": tuple(sorted(slots))})

    return tuple(map(told, facts))


def turns_up_another_card(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    other = table.card(table.next + 1)
    return tuple(
        fact.model_copy(update={"card": other})
        if isinstance(fact, CommunityCardTurned | CommunityCardExchanged)
        else fact
        for fact in facts
    )


def gives_the_turn_by_what_is_held(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    if isinstance(facts[0], CardsKept):
        return facts[0], TurnBegan(seat=lies(table, 3)[0].number, round=1), *facts[1:]
    return facts


def reveals_hands_in_the_order_of_the_cards(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    """Sorted hands: who looks on would learn no slots, and who remembers slots would learn which card was new."""

    def told(fact: Fact) -> Fact:
        if not isinstance(fact, HandsRevealed):
            return fact
        hands = [RevealedHand(seat=hand.seat, cards=tuple(sorted(hand.cards))) for hand in fact.hands]
        return fact.model_copy(update={"hands": tuple(hands)})

    return tuple(map(told, facts))


def deals_open_a_card_of_a_hand(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    return tuple(
        fact.model_copy(update={"community": (table.card(table.next), *fact.community[1:])})
        if isinstance(fact, RoundDealt)
        else fact
        for fact in facts
    )


def stores_one_fact_more(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    return (*facts, facts[-1])[: len(facts) + lies(table, 3)[0].number % 2]


def turns_the_order_of_facts(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    return facts[:: 1 if lies(table, 3)[0].colour > 2 else -1]


def scores_what_is_held(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    def told(fact: Fact) -> Fact:
        if not isinstance(fact, RoundScored):
            return fact
        more = table.card(table.next).number
        return fact.model_copy(
            update={"places": tuple(line.model_copy(update={"points": line.points + more}) for line in fact.places)}
        )

    return tuple(map(told, facts))


def times_out_twice_by_what_is_held(facts: tuple[Fact, ...], table: PokerTable) -> tuple[Fact, ...]:
    late = isinstance(facts[0], TimedOut) and lies(table, 3)[0].number > 2
    return (facts[0], *facts) if late else facts


def came_with_the_next(table: PokerTable, seat: int, version: int) -> tuple[Card, ...]:
    came = POKER.came_to(table, seat, version)
    return (*came, table.card(table.next)) if came else came


def came_to_any_seat(table: PokerTable, seat: int, version: int) -> tuple[Card, ...]:
    return tuple(card for other in (1, 2, 3, 4) for card in POKER.came_to(table, other, version))


def decider(**changes: Any) -> Channels:
    return Channels(decider=replace(POKER, **changes))


def facts(change: Changing) -> Channels:
    return decider(decide=telling(change))


MIDGAME, STAGE, REVEAL, DECLARED = midgame, last_of_a_stage, before_the_reveal, last_to_declare
Where = Callable[[], PokerTable]
LEAKS: Sequence[tuple[str, Channels, str, Where]] = [
    ("a view that shows a card of another hand", decider(view=shows_a_card_of_another_hand), "view", MIDGAME),
    ("a view that shows every hand", decider(view=shows_every_hand), "view", MIDGAME),
    ("a view of the deck's next card", decider(view=shows_the_next_community_card), "view", MIDGAME),
    ("the order in a view", decider(view=orders_the_seats_by_their_hands), "view", MIDGAME),
    ("the length of a view", decider(view=is_shorter_by_what_another_holds), "view", MIDGAME),
    ("points for hidden cards", decider(view=gives_points_for_what_is_held), "view", MIDGAME),
    ("an action more", decider(legal_commands=offers_a_call_by_what_another_holds), "legal commands", MIDGAME),
    ("an action that is left out", decider(legal_commands=leaves_an_action_out), "legal commands", MIDGAME),
    ("the order of actions", decider(legal_commands=turns_the_order_of_actions), "legal commands", MIDGAME),
    ("the sentence of a refusal", decider(decide=refusing(says_who_has_the_card)), "refusals", MIDGAME),
    ("the code of a refusal", decider(decide=refusing(has_a_code_for_cards_of_the_deck)), "refusals", MIDGAME),
    ("the code of a false declaration", decider(decide=refusing(has_a_code_for_cards_of_the_deck)), "refusals",
     DECLARED),
    ("the ruling of a refusal", decider(decide=refusing(has_a_ruling_for_the_next_card)), "refusals", MIDGAME),
    ("a refusal as such", decider(decide=refuses_an_extension_by_a_hand), "refusals", MIDGAME),
    ("slots by the value of the cards", facts(names_slots_by_the_value_of_the_cards), "facts", MIDGAME),
    ("a card that is turned up before its turn", facts(turns_up_another_card), "facts", STAGE),
    ("the next turn by what is held", facts(gives_the_turn_by_what_is_held), "facts", MIDGAME),
    ("hands that are sorted before they are revealed", facts(reveals_hands_in_the_order_of_the_cards), "facts", REVEAL),
    ("a hidden card among the open ones of the next round", facts(deals_open_a_card_of_a_hand), "facts", DECLARED),
    ("the number of facts", facts(stores_one_fact_more), "facts", MIDGAME),
    ("the order of facts", facts(turns_the_order_of_facts), "facts", MIDGAME),
    ("a score of cards that are hidden", facts(scores_what_is_held), "facts", DECLARED),
    ("a time-out that depends on a hand", facts(times_out_twice_by_what_is_held), "facts", MIDGAME),
    ("the next card among those that came", decider(came_to=came_with_the_next), "cards that came", MIDGAME),
    ("cards that came to others", decider(came_to=came_to_any_seat), "cards that came", MIDGAME),
]  # fmt: skip
