"""Tables of TIC Poker in a position that a test lays out card by card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from domain.cards import DECK, Card
from domain.dealing import MAX_DEALS, NO_ENTROPY, Seeds, deal_order
from domain.decider import Command, Fact
from domain.lifecycle import PlayerSeated, SeedsRevealed
from domain.poker.facts import (
    Ending,
    HandDeclared,
    HandsRevealed,
    Options,
    PokerFinished,
    PokerOpened,
    PokerResult,
    RevealedHand,
    RoundDealt,
    RoundPlace,
    RoundScored,
    Variation,
)
from domain.poker.hands import Rank
from domain.poker.rules import POKER, DeclareHand
from domain.poker.table import PokerTable
from domain.tables import PlayerJoined, Seating
from domain.turns import TurnBegan
from tests.domain.poker.players import PLAYERS
from tests.given import NOON, given

__all__ = [
    "ALL_HANDS",
    "AS_JOINED",
    "BEST_1",
    "BEST_2",
    "BEST_3",
    "CARDS_SPEAK",
    "CHAIN",
    "FIFTH",
    "FIRST",
    "FIVE_1",
    "FIVE_2",
    "FOUR",
    "FULL",
    "HAND_1",
    "HAND_2",
    "HAND_3",
    "HAND_4",
    "HIGH",
    "HIGHEST_1",
    "HIGHEST_2",
    "HIGHEST_3",
    "HIGHEST_4",
    "IN_ORDER",
    "LOW",
    "MINUTE",
    "OPEN",
    "OPEN_FOUR",
    "REST",
    "TIMED",
    "Case",
    "cards",
    "counts_as",
    "dealt",
    "declare",
    "declares_last",
    "declaring",
    "finished",
    "next_round",
    "opened",
    "order",
    "position",
    "revealed",
    "scored",
    "seated",
    "seats_given",
]

CHAIN: Final = Seeds.backwards(UUID(int=1), last=bytes(range(32)), deals=MAX_DEALS)
MINUTE: Final = timedelta(minutes=1)
AS_JOINED: Final = Options(seating=Seating.AS_JOINED)
TIMED: Final = Options(turn_seconds=60)
CARDS_SPEAK: Final = Options(cards_speak=True)

HAND_1: Final = "1-circle-violet 2-crescent-cyan 3-triangle-yellow"
HAND_2: Final = "5-star-red 4-square-orange 3-circle-red"
HAND_3: Final = "2-star-violet 4-circle-cyan 1-square-orange"
ALL_HANDS: Final = ((1, HAND_1), (2, HAND_2), (3, HAND_3))
FIVE_1: Final = f"{HAND_1} 4-square-red 5-star-orange"
FIVE_2: Final = "5-star-red 4-square-orange 3-circle-red 1-star-violet 2-triangle-cyan"
OPEN: Final = "5-star-cyan 2-square-yellow"
"""Two community cards."""
REST: Final = "4-triangle-red 3-crescent-violet 1-star-yellow 5-circle-orange"
"""The next cards of the deck."""
FIRST: Final = Card.parse("4-triangle-red")
"""The first of them."""
OPEN_FOUR: Final = f"{OPEN} 1-star-violet 1-crescent-red"
"""Four community cards."""
FULL: Final = f"{OPEN} 4-triangle-red 3-crescent-violet 1-star-yellow"
"""Five community cards."""
HIGHEST_1: Final = "5-star-cyan 4-triangle-red 3-triangle-yellow 2-square-yellow 1-star-yellow"
"""The five highest of ``HAND_1`` and ``FULL``: a Three-Card Single."""
HIGHEST_2: Final = "5-star-red 5-star-cyan 4-square-orange 4-triangle-red 3-circle-red"
"""Those of ``HAND_2``: a Tic Pair."""
HIGHEST_3: Final = "5-star-cyan 4-triangle-red 2-square-yellow 1-star-yellow 1-square-orange"
"""Those of ``HAND_3``; their total is that of ``HIGHEST_1``."""


FOUR, FIFTH = FULL.rsplit(" ", 1)
"""The first four of them, and the last."""
HIGH: Final = Rank.HIGH_CARD


class Case(NamedTuple):
    sentence: str
    table: PokerTable
    command: Command
    facts: tuple[Fact, ...]
    at: datetime = NOON


def cards(names: str) -> tuple[Card, ...]:
    """Return the cards of names with spaces between them."""
    return tuple(map(Card.parse, names.split()))


def order(number: int, players: int) -> tuple[Card, ...]:
    """Return the deck order of a deal of ``CHAIN``."""
    return deal_order(CHAIN, number=number, entropies=(NO_ENTROPY,) * players)


def opened(options: Options) -> PokerOpened:
    """Return the fact that the host opened a table, dealt from ``CHAIN``."""
    return PokerOpened(ruleset=1, host=PLAYERS[0], deal=CHAIN.deal, commitment=CHAIN.commitment.hex(), options=options)


def seated(count: int, options: Options = AS_JOINED) -> PokerTable:
    """Return a table that so many have joined."""
    facts = opened(options), *(PlayerJoined(player=player) for player in PLAYERS[:count])
    table: PokerTable = given(*facts, table=POKER.empty(CHAIN), decider=POKER).table
    return table


def dealt(number: int, dealer: int, *seats: int, players: int, variation: Variation = Variation.STANDARD) -> RoundDealt:
    """Return the fact that a round was dealt to seats, in the order of their turns."""
    private, open_cards = (5, 0) if variation is Variation.DRAW else (3, 2)
    first = private * len(seats)
    return RoundDealt(
        number=number,
        entropies=(NO_ENTROPY,) * players,
        dealer=dealer,
        seats=seats,
        private=private,
        community=order(number, players)[first : first + open_cards],
    )


def next_round(
    dealer: int, *seats: int, players: int, number: int = 3, variation: Variation = Variation.STANDARD
) -> tuple[Fact, Fact]:
    """Return the facts by which a round begins, without a limit of time."""
    turn = TurnBegan(seat=seats[0], round=number)
    return dealt(number, dealer, *seats, players=players, variation=variation), turn


def position(
    *hands: str,
    community: str = OPEN,
    deck: str = REST,
    turn: int = 1,
    number: int = 2,
    stage: int = 1,
    to_act: Sequence[int] | None = None,
    caller: int = 0,
    dealer: int = 0,
    points: Sequence[int] = (),
    resigned: Sequence[int] = (),
    timed_out: Sequence[int] = (),
    in_a_row: Sequence[int] = (),
    open_hands: Sequence[int] = (),
    declared: Sequence[HandDeclared] = (),
    options: Options | None = None,
    deadline: datetime | None = None,
) -> PokerTable:
    """Lay out a table in the second of five rounds. Cards that are not named are at the end of the deck.

    Args:
        hands: from seat 1 on, by slot; an empty one was not dealt in.
        community: the community cards, by slot.
        deck: the next card first.
        turn: the seat whose turn it is.
        number: of the round.
        stage: of the exchanges.
        to_act: the seats that have a turn yet in the stage; from the one with the turn to the dealer if left out.
        caller: the seat that called.
        dealer: the last seat if left out.
        points: of each seat; none where it is left out.
        resigned: the seats that resigned, in order; those that have a hand did so in this round.
        timed_out: the seats of all time-outs.
        in_a_row: of each seat.
        open_hands: the seats whose hands were turned up; hands are declared then.
        declared: what was declared.
        options: what the table asked for.
        deadline: of the turn, or of declaring.
    """
    asked, players = options or Options(), PLAYERS[: len(hands)]
    dealer = dealer or len(hands)
    turns = (*range(dealer + 1, len(hands) + 1), *range(1, dealer + 1))
    seats = tuple(seat for seat in turns if hands[seat - 1])
    deck_order: list[Card] = []
    slots = {}
    for seat in seats:
        held = cards(hands[seat - 1])
        slots[seat] = tuple(range(len(deck_order), len(deck_order) + len(held)))
        deck_order += held
    lying = cards(community)
    deck_order += lying
    after = len(deck_order)
    deck_order += cards(deck)
    deck_order += [card for card in DECK if card not in deck_order]
    assert sorted(deck_order) == list(DECK), "a card is named twice"
    if to_act is None:
        to_act = () if open_hands else seats[seats.index(turn) :]
    shown = tuple(RevealedHand(seat=seat, cards=cards(hands[seat - 1])) for seat in open_hands)
    return PokerTable(
        version=20,
        opened=opened(asked),
        options=asked,
        players=players,
        joined=players,
        deals=number,
        dealt=RoundDealt(
            number=number,
            entropies=(NO_ENTROPY,) * len(players),
            dealer=dealer,
            seats=seats,
            private=asked.variation.private,
            community=lying[:2],
        ),
        deadline=deadline,
        seeds=CHAIN,
        deck=tuple(deck_order),
        stage=stage,
        to_act=tuple(seat for seat in to_act if seat not in resigned),
        caller=caller,
        slots=slots,
        community=lying,
        next=after,
        revealed_hands=HandsRevealed(hands=shown, deadline=deadline) if open_hands else None,
        declared=tuple(declared),
        turn=0 if open_hands else turn,
        round=number,
        points=tuple(points) or (0,) * len(hands),
        resigned=tuple(resigned),
        timed_out=tuple(timed_out),
        in_a_row=tuple(in_a_row),
    )


def revealed(*hands: tuple[int, str], deadline: datetime | None = None) -> HandsRevealed:
    """Return the fact that the hands of seats were turned up."""
    shown = tuple(RevealedHand(seat=seat, cards=cards(names)) for seat, names in hands)
    return HandsRevealed(hands=shown, deadline=deadline)


def counts_as(seat: int, rank: Rank, names: str) -> HandDeclared:
    """Return the fact that a seat's hand counts as something; the strongest card is named first."""
    return HandDeclared(seat=seat, rank=rank, cards=cards(names))


BEST_1: Final = counts_as(1, Rank.THREE_CARD_SINGLE, HIGHEST_1)
"""The best hand of ``HAND_1`` and ``FULL``, and so on."""
BEST_2: Final = counts_as(2, Rank.TIC_PAIR, HIGHEST_2)
BEST_3: Final = counts_as(
    3, Rank.THREE_CARD_SINGLE, "5-star-cyan 4-triangle-red 2-square-yellow 1-star-yellow 2-star-violet"
)


def declare(seat: int, rank: Rank, names: str) -> DeclareHand:
    """Return the command by which a seat declares a hand."""
    return DeclareHand(seat=seat, rank=rank, cards=cards(names))


def scored(*lines: tuple[int, int, int]) -> RoundScored:
    """Return the fact that a round was scored: the seat, its place and its points, the strongest first."""
    return RoundScored(places=tuple(RoundPlace(seat=seat, place=place, points=points) for seat, place, points in lines))


def finished(ending: Ending, *lines: tuple[int, int], deals: int, resigned: Sequence[int] = ()) -> tuple[Fact, Fact]:
    """Return the last facts of a game.

    Args:
        ending: how it ended.
        lines: of each seat: its place, its points.
        deals: how many rounds were dealt.
        resigned: the seats that resigned.
    """
    places = tuple(
        PokerResult(seat=seat, place=place, points=points, resigned=seat in resigned)
        for seat, (place, points) in enumerate(lines, 1)
    )
    seeds = tuple(CHAIN.seed(number).hex() for number in range(1, deals + 1))
    return PokerFinished(ending=ending, places=places), SeedsRevealed(seeds=seeds)


def seats_given(count: int) -> tuple[PlayerSeated, ...]:
    """Return the facts that players got seats in the order of joining."""
    return tuple(PlayerSeated(seat=seat, player=player) for seat, player in enumerate(PLAYERS[:count], 1))


# Tables on which hands are declared

HAND_4: Final = "1-circle-red 2-circle-cyan 1-crescent-cyan"
HIGHEST_4: Final = "5-star-cyan 4-triangle-red 2-square-yellow 1-star-yellow 1-circle-red"
HANDS: Final = (HAND_1, HAND_2, HAND_3, HAND_4)
LOW: Final = tuple(
    counts_as(seat, Rank.HIGH_CARD, five) for seat, five in enumerate((HIGHEST_1, HIGHEST_2, HIGHEST_3, HIGHEST_4), 1)
)
"""The hands as High Card: seat 2 wins, then come 1, 3 and 4."""
IN_ORDER: Final = ((2, 1, 3), (1, 2, 2), (3, 3, 1))
"""The places and points of three seats."""


def declaring(
    *declared: HandDeclared,
    count: int = 3,
    dealer: int = 0,
    resigned: Sequence[int] = (),
    gone: Sequence[int] = (),
    points: Sequence[int] = (),
    options: Options | None = None,
) -> PokerTable:
    """Return a table on which hands are declared.

    Args:
        declared: what was declared.
        count: how many seats there are.
        dealer: the last seat if left out.
        resigned: the seats that resigned, in order.
        gone: those of them that were not dealt in.
        points: of each seat.
        options: what the table asked for.
    """
    seats = range(1, count + 1)
    table = position(
        *("" if seat in gone else HANDS[seat - 1] for seat in seats),
        community=FULL,
        deck="",
        stage=3,
        dealer=dealer,
        open_hands=[seat for seat in seats if seat not in resigned],
        declared=declared,
        resigned=resigned,
        points=points,
        options=options,
    )
    return replace(table, deadline=NOON + MINUTE) if table.options.turn_seconds else table


def declares_last(sentence: str, table: PokerTable, seat: int, *facts: Fact) -> Case:
    """Return the case that a seat declares High Card as the last."""
    hand = LOW[seat - 1]
    command = declare(seat, HIGH, " ".join(map(str, hand.cards)))
    return Case(sentence, table, command, (hand, *facts))
