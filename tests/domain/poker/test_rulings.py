"""What the rules of TIC Poker allow until the reveal: given a position, when a command, then these facts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from domain.cards import Card
from domain.decider import Fact
from domain.entropy import ENTROPY_FACTS
from domain.lifecycle import GameCancelled, GameLabelled
from domain.poker.facts import (
    FACTS,
    Called,
    CardsExchanged,
    CardsKept,
    CommunityCardExchanged,
    CommunityCardTurned,
    Options,
    RoundDealt,
    Variation,
)
from domain.poker.rules import POKER, Call, ExchangeCards, ExchangeCommunityCard, KeepCards, OpenPoker
from domain.poker.table import PokerTable
from domain.tables import Cancel, Join, Leave, PlayerJoined, PlayerLeft, Seating, Start
from domain.turns import TurnBegan
from tests.domain.poker.players import PLAYERS
from tests.domain.poker.positions import (
    ALL_HANDS,
    AS_JOINED,
    CHAIN,
    FIRST,
    FIVE_1,
    FIVE_2,
    HAND_1,
    HAND_2,
    HAND_3,
    OPEN,
    OPEN_FOUR,
    REST,
    Case,
    cards,
    dealt,
    opened,
    order,
    position,
    revealed,
    seated,
    seats_given,
)
from tests.given import given

HOST, GUEST = PLAYERS[:2]
COMMUNITY = Options(variation=Variation.COMMUNITY_EXCHANGE)
SECOND = cards(REST)[1]


def drawing(stages: int) -> Options:
    return Options(variation=Variation.DRAW, draw_stages=stages)


def starts(sentence: str, players: int, variation: Variation) -> Case:
    """Everyone who joined gets a seat, and seat 1 acts first: the last seat deals."""
    seats = tuple(range(1, players + 1))
    table = seated(players, AS_JOINED.model_copy(update={"variation": variation}))
    first = dealt(1, players, *seats, players=players, variation=variation)
    return Case(sentence, table, Start(player=HOST), (*seats_given(players), first, TurnBegan(seat=1, round=1)))


def turns_to(seat: int) -> TurnBegan:
    return TurnBegan(seat=seat, round=2)


BEFORE_THE_DEAL = [
    Case(
        "G3: a table is opened by its host, who is the first to join",
        POKER.empty(CHAIN),
        OpenPoker(player=HOST, options=AS_JOINED),
        (opened(AS_JOINED), PlayerJoined(player=HOST)),
    ),
    Case(
        "G3: its label is told after the opening, before the host joins",
        POKER.empty(CHAIN),
        OpenPoker(player=HOST, options=AS_JOINED, label="Spring Cup"),
        (opened(AS_JOINED), GameLabelled(label="Spring Cup"), PlayerJoined(player=HOST)),
    ),
    Case("G3: a guest joins", seated(1), Join(player=GUEST), (PlayerJoined(player=GUEST),)),
    Case("G3: a guest leaves", seated(2), Leave(player=GUEST), (PlayerLeft(player=GUEST),)),
    Case("G3: the host cancels", seated(2), Cancel(player=HOST), (GameCancelled(),)),
    starts("P1: the game starts with a round of three private cards and two open ones", 3, Variation.STANDARD),
    starts("P1: also for two", 2, Variation.STANDARD),
    starts("P10: and where community cards are exchanged, for eight", 8, Variation.COMMUNITY_EXCHANGE),
    starts("P11: Draw Poker starts with five private cards and no open one", 8, Variation.DRAW),
]

TURNS = [
    *(
        Case(
            f"P2: the card in slot {slot} is exchanged, and the next seat has the turn",
            position(HAND_1, HAND_2, HAND_3),
            ExchangeCards(seat=1, slots=(slot,)),
            (CardsExchanged(seat=1, slots=(slot,)), turns_to(2)),
        )
        for slot in (1, 2, 3)
    ),
    Case(
        "P2: a hand is kept",
        position(HAND_1, HAND_2, HAND_3, turn=2),
        KeepCards(seat=2),
        (CardsKept(seat=2), turns_to(3)),
    ),
    Case(
        "P2: after the first stage the third community card is turned, and the first seat has the turn",
        position(HAND_1, HAND_2, HAND_3, turn=3),
        KeepCards(seat=3),
        (CardsKept(seat=3), CommunityCardTurned(card=FIRST), turns_to(1)),
    ),
    Case(
        "P2, P4: the last seat's replacement comes before the community card",
        position(HAND_1, HAND_2, HAND_3, turn=3),
        ExchangeCards(seat=3, slots=(2,)),
        (CardsExchanged(seat=3, slots=(2,)), CommunityCardTurned(card=SECOND), turns_to(1)),
    ),
    Case(
        "P2: after the second stage comes the fourth community card",
        position(HAND_1, HAND_2, HAND_3, turn=3, stage=2, community=f"{OPEN} 1-star-violet"),
        KeepCards(seat=3),
        (CardsKept(seat=3), CommunityCardTurned(card=FIRST), turns_to(1)),
    ),
    Case(
        "P2, P5: after the third stage comes the fifth, and all private cards are turned up",
        position(HAND_1, HAND_2, HAND_3, turn=3, stage=3, community=OPEN_FOUR),
        KeepCards(seat=3),
        (CardsKept(seat=3), CommunityCardTurned(card=FIRST), revealed(*ALL_HANDS)),
    ),
    Case(
        "P1: the turns go round from the dealer's left",
        position(HAND_1, HAND_2, HAND_3, dealer=1, turn=3),
        KeepCards(seat=3),
        (CardsKept(seat=3), turns_to(1)),
    ),
    Case(
        "P1: to the dealer, who has the last",
        position(HAND_1, HAND_2, HAND_3, dealer=1, turn=1),
        KeepCards(seat=1),
        (CardsKept(seat=1), CommunityCardTurned(card=FIRST), turns_to(2)),
    ),
    Case(
        "P1, P5: hands are turned up in the order of the turns",
        position(HAND_1, HAND_2, HAND_3, dealer=2, turn=2, stage=3, community=OPEN_FOUR),
        KeepCards(seat=2),
        (
            CardsKept(seat=2),
            CommunityCardTurned(card=FIRST),
            revealed((3, HAND_3), (1, HAND_1), (2, HAND_2)),
        ),
    ),
]


def calls(sentence: str, following: int, *, seat: int, **places: int) -> Case:
    """A call leads to the turn of the seat on the caller's left."""
    table = position(HAND_1, HAND_2, HAND_3, turn=seat, **places)  # type: ignore[arg-type]
    return Case(sentence, table, Call(seat=seat), (Called(seat=seat), turns_to(following)))


def called(turn: int, *to_act: int, caller: int = 2, community: str = OPEN, stage: int = 1) -> PokerTable:
    """A table on which a seat has called, and others have a last turn."""
    return position(HAND_1, HAND_2, HAND_3, turn=turn, to_act=to_act, caller=caller, community=community, stage=stage)


CALLS = [
    calls("P3: the first seat calls, and the next has a last turn", 2, seat=1),
    calls("P3: a seat calls after another has acted", 3, seat=2),
    calls("P3: the last seat of a stage calls, and those who had acted have a last turn", 1, seat=3),
    calls("P3: a call in the second stage", 3, seat=2, stage=2),
    calls("P3: a call in the third stage", 1, seat=3, stage=3),
    calls("P1, P3: the caller's left is counted round the table, not from the dealer", 3, seat=2, dealer=2),
    Case(
        "P3: the last turns go round from the caller's left",
        called(3, 3, 1),
        KeepCards(seat=3),
        (CardsKept(seat=3), turns_to(1)),
    ),
    Case(
        "P3: a card is exchanged in a last turn",
        called(3, 3, 1),
        ExchangeCards(seat=3, slots=(1,)),
        (CardsExchanged(seat=3, slots=(1,)), turns_to(1)),
    ),
    Case(
        "P3: after the last turns no community card is turned",
        called(1, 1),
        KeepCards(seat=1),
        (CardsKept(seat=1), revealed(*ALL_HANDS)),
    ),
    Case(
        "P3: also not in the second stage",
        called(1, 1, stage=2, community=f"{OPEN} 1-star-violet"),
        KeepCards(seat=1),
        (CardsKept(seat=1), revealed(*ALL_HANDS)),
    ),
    Case(
        "P3: nor in the third",
        called(1, 1, stage=3, community=OPEN_FOUR),
        KeepCards(seat=1),
        (CardsKept(seat=1), revealed(*ALL_HANDS)),
    ),
    Case(
        "P3, P4: the card that came in a last turn is turned up in its slot",
        called(1, 1),
        ExchangeCards(seat=1, slots=(2,)),
        (
            CardsExchanged(seat=1, slots=(2,)),
            revealed((1, f"1-circle-violet {FIRST} 3-triangle-yellow"), (2, HAND_2), (3, HAND_3)),
        ),
    ),
]


def exchanges(sentence: str, slot: int, card: Card, *facts: Fact, turn: int = 1, community: str = OPEN) -> Case:
    """A community card is exchanged for the deck's next."""
    table = position(HAND_1, HAND_2, HAND_3, options=COMMUNITY, turn=turn, community=community)
    exchanged = CommunityCardExchanged(seat=turn, slot=slot, card=card)
    return Case(sentence, table, ExchangeCommunityCard(seat=turn, slot=slot), (exchanged, *facts))


def draws(sentence: str, *facts: Fact, slots: Sequence[int], turn: int = 1, stage: int = 1, stages: int = 3) -> Case:
    """Private cards of Draw Poker are exchanged; kept where there are no slots."""
    hands = (FIVE_1, FIVE_2)
    table = position(
        *hands, options=drawing(stages), turn=turn, stage=stage, community="", deck="2-star-red 4-star-red"
    )
    command = ExchangeCards(seat=turn, slots=tuple(slots)) if slots else KeepCards(seat=turn)
    return Case(sentence, table, command, facts)


VARIATIONS = [
    exchanges("P10: a community card is exchanged at once", 1, FIRST, turns_to(2)),
    exchanges("P10: also one that was turned later", 3, FIRST, turns_to(2), community=f"{OPEN} 1-star-violet"),
    exchanges(
        "P10: after the stage's last exchange the next community card is turned",
        2,
        FIRST,
        CommunityCardTurned(card=SECOND),
        turns_to(1),
        turn=3,
    ),
    Case(
        "P10: a private card may be exchanged instead",
        position(HAND_1, HAND_2, HAND_3, options=COMMUNITY),
        ExchangeCards(seat=1, slots=(3,)),
        (CardsExchanged(seat=1, slots=(3,)), turns_to(2)),
    ),
    Case(
        "P10: after a call private cards only are exchanged",
        position(HAND_1, HAND_2, HAND_3, options=COMMUNITY, turn=1, to_act=(1, 2), caller=3),
        ExchangeCards(seat=1, slots=(1,)),
        (CardsExchanged(seat=1, slots=(1,)), turns_to(2)),
    ),
    Case(
        "P3, P10: and there are calls",
        position(HAND_1, HAND_2, HAND_3, options=COMMUNITY),
        Call(seat=1),
        (Called(seat=1), turns_to(2)),
    ),
    draws("P11: one card is exchanged", CardsExchanged(seat=1, slots=(5,)), turns_to(2), slots=(5,)),
    draws("P11: two cards are exchanged", CardsExchanged(seat=1, slots=(2, 4)), turns_to(2), slots=(2, 4)),
    draws(
        "P11: two slots that are named in another order are told as they lie",
        CardsExchanged(seat=1, slots=(1, 5)),
        turns_to(2),
        slots=(5, 1),
    ),
    draws("P11: cards are kept", CardsKept(seat=1), turns_to(2), slots=()),
    draws("P11: after a stage no card is turned", CardsKept(seat=2), turns_to(1), slots=(), turn=2),
    draws(
        "P11: after the agreed stages the hands are turned up",
        CardsKept(seat=2),
        revealed((1, FIVE_1), (2, FIVE_2)),
        slots=(),
        turn=2,
        stage=3,
    ),
    draws(
        "P11: which may be after the first",
        CardsKept(seat=2),
        revealed((1, FIVE_1), (2, FIVE_2)),
        slots=(),
        turn=2,
        stages=1,
    ),
    draws("P11: or not yet after the fourth", CardsKept(seat=2), turns_to(1), slots=(), turn=2, stage=4, stages=5),
    draws(
        "P11: but after the fifth",
        CardsKept(seat=2),
        revealed((1, FIVE_1), (2, FIVE_2)),
        slots=(),
        turn=2,
        stage=5,
        stages=5,
    ),
    draws(
        "P11, P4: the lowest of two slots gets the next card",
        CardsExchanged(seat=2, slots=(2, 3)),
        revealed((1, FIVE_1), (2, "5-star-red 2-star-red 4-star-red 1-star-violet 2-triangle-cyan")),
        slots=(3, 2),
        turn=2,
        stage=3,
    ),
]


LATER = {"poker.HandDeclared", "poker.RoundScored", "game.PlayerResigned", "game.DeadlineExtended", "game.TimedOut"}
LATER |= {"poker.GameFinished", "game.SeedsHeldBack", "game.SeedsRevealed"}
LATER |= {fact.topic for fact in ENTROPY_FACTS}
"""Facts that come of the cases of other files."""
CASES = [*BEFORE_THE_DEAL, *TURNS, *CALLS, *VARIATIONS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_rules_allow(case: Case) -> None:
    given(table=case.table, decider=POKER).when(case.command, case.at).then(*case.facts)


def test_every_fact_before_the_hands_are_declared_comes_of_some_case() -> None:
    told = {type(fact) for case in CASES for fact in case.facts}
    assert {fact.topic for fact in set(FACTS) - told} == LATER


def test_the_cards_of_a_round_lie_in_the_deck_as_they_are_dealt() -> None:
    table: PokerTable = given(table=seated(3), decider=POKER).when(Start(player=HOST)).after
    deck = order(1, 3)
    assert [table.private(seat) for seat in (1, 2, 3)] == [deck[0:3], deck[3:6], deck[6:9]]
    assert (table.community, table.card(table.next)) == (deck[9:11], deck[11])


def test_seats_are_shuffled_where_the_table_asks_for_it() -> None:
    outcome = given(table=seated(3, Options(seating=Seating.SHUFFLED)), decider=POKER).when(Start(player=HOST))
    assert isinstance(outcome.facts[3], RoundDealt)
    assert sorted(outcome.after.players) == sorted(PLAYERS[:3])
