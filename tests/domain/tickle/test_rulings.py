"""What the rules of Tickle allow, ruling by ruling: given a position, when a command, then these facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from domain.decider import Fact
from domain.entropy import ENTROPY_FACTS
from domain.lifecycle import (
    DeadlineExtended,
    ExtendDeadline,
    GameCancelled,
    GameLabelled,
    PlayerResigned,
    PlayerSeated,
    RunOutOfTime,
    SeedsHeldBack,
    TimedOut,
)
from domain.tables import Cancel, Join, Leave, PlayerJoined, PlayerLeft, Seating, Start
from domain.tickle.facts import (
    FACTS,
    CardDrawn,
    Closing,
    DeckPart,
    Ending,
    FinalStageBegan,
    HandRefilled,
    HandsDealt,
    LaydownDeclined,
    Options,
    TurnPassed,
)
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, OpenTickle
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan
from tests.domain.tickle.players import PLAYERS
from tests.domain.tickle.positions import (
    ABLE,
    GRID,
    OF_THE_END,
    REST,
    STUCK_1,
    STUCK_2,
    STUCK_3,
    Case,
    finished,
    lay,
    lays,
    opened,
    position,
)
from tests.given import NOON, SEEDS, given

HOST, GUEST, THIRD = PLAYERS[:3]
MINUTE = timedelta(minutes=1)
TIMED = Options(turn_seconds=60)
AS_JOINED = Options(seating=Seating.AS_JOINED)


def seated(count: int, options: Options = AS_JOINED) -> TickleTable:
    """A table that so many have joined."""
    facts = opened(options), *(PlayerJoined(player=player) for player in PLAYERS[:count])
    table: TickleTable = given(*facts, decider=TICKLE).table
    return table


def deals(sentence: str, part: DeckPart, *, deck: int, set_aside: int) -> Case:
    seats = [PlayerSeated(seat=seat, player=player) for seat, player in enumerate(PLAYERS[:3], 1)]
    dealt = HandsDealt(number=1, entropies=("-", "-", "-"), each=6, deck=deck, set_aside=set_aside)
    table = seated(3, Options(seating=Seating.AS_JOINED, deck=part))
    return Case(sentence, table, Start(player=HOST), (*seats, dealt, TurnBegan(seat=1, round=1)))


def runs_out(sentence: str, table: TickleTable, *facts: Fact, late: timedelta = timedelta(0)) -> Case:
    timed_out = TimedOut(seat=table.turn, deadline=NOON + MINUTE)
    return Case(sentence, table, RunOutOfTime(), (timed_out, *facts), NOON + MINUTE + late)


def timed(
    *hands: str,
    deck: str = REST,
    drawn: bool = False,
    timed_out: Sequence[int] = (),
    in_a_row: Sequence[int] = (),
) -> TickleTable:
    """A table on which seat 1 has the turn, until a minute past noon."""
    return position(
        *hands,
        grid=GRID,
        deck=deck,
        drawn=drawn,
        timed_out=timed_out,
        in_a_row=in_a_row,
        options=TIMED,
        deadline=NOON + MINUTE,
    )


BEFORE_THE_DEAL = [
    Case(
        "G3: a table is opened by its host, who is the first to join",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, options=AS_JOINED),
        (opened(AS_JOINED), PlayerJoined(player=HOST)),
    ),
    Case(
        "G3: its label is told after the opening, before the host joins",
        TICKLE.empty(SEEDS),
        OpenTickle(player=HOST, options=AS_JOINED, label="Spring Cup"),
        (opened(AS_JOINED), GameLabelled(label="Spring Cup"), PlayerJoined(player=HOST)),
    ),
    Case("G3: a guest joins", seated(1), Join(player=GUEST), (PlayerJoined(player=GUEST),)),
    Case("G3: a guest leaves", seated(2), Leave(player=GUEST), (PlayerLeft(player=GUEST),)),
    Case("G3: the host cancels", seated(2), Cancel(player=HOST), (GameCancelled(),)),
    deals("G3: the game starts with its deal, of six cards to each", DeckPart.WHOLE, deck=107, set_aside=0),
    deals("K15: a third of the deck is set aside", DeckPart.TWO_THIRDS, deck=66, set_aside=41),
    deals("K15: half of the deck is set aside", DeckPart.HALF, deck=45, set_aside=62),
]

LAYDOWNS = [
    lays(
        "K3, K8: the opening is two cards that Tic, and the hand is filled to six",
        position("3-star-cyan 3-square-cyan 1-circle-violet 5-star-red 2-square-yellow 1-star-orange", "", deck=REST),
        lay(1, "3-star-cyan 3-square-cyan", x=-7, y=4),
        HandRefilled(seat=1, cards=2),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K4: after a draw the opening has the drawn card",
        position("1-circle-violet 3-star-cyan 3-square-cyan", "2-star-cyan", deck=REST, drawn=True),
        lay(1, "3-star-cyan 3-square-cyan", x=0),
        HandRefilled(seat=1, cards=3),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K5: a card that Tics is laid beside the grid",
        position("3-star-cyan " + STUCK_1, ABLE, grid=GRID, deck=REST),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=3),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K7: after a draw the laydown has the drawn card",
        position(STUCK_1 + " 3-star-cyan", ABLE, grid=GRID, deck=REST, drawn=True),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=3),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K8: a hand of seven that lays one card draws nothing",
        position(f"3-star-cyan {STUCK_1} {STUCK_2} {STUCK_3}", ABLE, grid=GRID, deck=REST),
        lay(1, "3-star-cyan", x=2),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K8: a hand of seven that lays two cards draws one",
        position(f"3-star-cyan {STUCK_1} {STUCK_2} 5-circle-red 5-star-cyan", ABLE, grid=GRID, deck=REST),
        lay(1, "3-star-cyan 5-star-cyan", x=2),
        HandRefilled(seat=1, cards=1),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K8: a hand is filled as far as the deck goes",
        position("3-star-cyan " + STUCK_1, ABLE, grid=GRID, deck="1-star-violet"),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=1),
        TurnBegan(seat=2, round=3),
    ),
    lays(
        "K1: after the last seat the first has the turn, in the next round",
        position(ABLE, STUCK_2, "3-star-cyan " + STUCK_1, grid=GRID, deck=REST, turn=3),
        lay(3, "3-star-cyan", x=2),
        HandRefilled(seat=3, cards=3),
        TurnBegan(seat=1, round=4),
    ),
    lays(
        "G1: seats that resigned are passed over",
        position("3-star-cyan " + STUCK_1, STUCK_2, ABLE, STUCK_3, grid=GRID, deck=REST, resigned=(4, 2)),
        lay(1, "3-star-cyan", x=2),
        HandRefilled(seat=1, cards=3),
        TurnBegan(seat=3, round=3),
    ),
]

DRAWS = [
    Case(
        "K4: one who can't open draws a card",
        position("1-circle-violet 5-star-red 2-square-yellow", STUCK_2, deck=REST),
        DrawCard(seat=1),
        (CardDrawn(seat=1),),
    ),
    Case(
        "K4: one who has drawn and does not open ends the turn",
        position("1-circle-violet 5-star-red 2-square-yellow", STUCK_2, deck=REST, drawn=True),
        DeclineLaydown(seat=1),
        (LaydownDeclined(seat=1), TurnBegan(seat=2, round=3)),
    ),
    Case(
        "K7: one who has no laydown draws a card",
        position(STUCK_1, ABLE, grid=GRID, deck=REST),
        DrawCard(seat=1),
        (CardDrawn(seat=1),),
    ),
    Case(
        "K7: after a draw one may decline, laydown or not",
        position(STUCK_1 + " 3-star-cyan", ABLE, grid=GRID, deck=REST, drawn=True),
        DeclineLaydown(seat=1),
        (LaydownDeclined(seat=1), TurnBegan(seat=2, round=3)),
    ),
    Case(
        "K13: a draw that empties the deck does not begin the final stage",
        position(STUCK_1, ABLE, grid=GRID, deck="1-star-violet"),
        DrawCard(seat=1),
        (CardDrawn(seat=1),),
    ),
    Case(
        "K13: nor does declining after it",
        position(STUCK_1, ABLE, grid=GRID, drawn=True),
        DeclineLaydown(seat=1),
        (LaydownDeclined(seat=1), TurnBegan(seat=2, round=3)),
    ),
]

NEXT = TurnBegan(seat=2, round=3, deadline=NOON + 2 * MINUTE)
TIME = [
    Case(
        "G2: a turn that begins has its deadline",
        timed(STUCK_1, ABLE, drawn=True),
        DeclineLaydown(seat=1),
        (LaydownDeclined(seat=1), TurnBegan(seat=2, round=3, deadline=NOON + 1.5 * MINUTE)),
        NOON + 0.5 * MINUTE,
    ),
    runs_out("G2: a turn runs out of time, with the draw that was due", timed(STUCK_1, ABLE), CardDrawn(seat=1), NEXT),
    runs_out("G2: no draw is due to one who could lay cards", timed(ABLE, STUCK_2), NEXT),
    runs_out("G2: nor to one who has drawn", timed(STUCK_1, ABLE, drawn=True), NEXT),
    runs_out("G2: nor where the deck is empty", timed(ABLE, "3-star-cyan", deck=""), NEXT),
    runs_out(
        "G2: the next turn counts from the moment in which the time-out is recorded",
        timed(ABLE, STUCK_2),
        TurnBegan(seat=2, round=3, deadline=NOON + 5 * MINUTE),
        late=3 * MINUTE,
    ),
    runs_out(
        "G2, K13: a draw that was due may empty the deck; what follows is the next seat's",
        timed(STUCK_1, STUCK_2, ABLE, deck="1-star-violet"),
        CardDrawn(seat=1),
        TurnPassed(seat=2, round=3),
        FinalStageBegan(seat=2, cause=Closing.NO_LAYDOWN),
        TurnBegan(seat=3, round=3, deadline=NOON + 2 * MINUTE),
    ),
    runs_out(
        "G2: two time-outs in a row are borne",
        timed(ABLE, STUCK_2, STUCK_3, timed_out=(1, 2), in_a_row=(1, 1, 0)),
        NEXT,
    ),
    runs_out(
        "G2: three in a row resign the seat",
        timed(ABLE, STUCK_2, STUCK_3, timed_out=(1, 2, 1), in_a_row=(2, 1, 0)),
        PlayerResigned(seat=1),
        NEXT,
    ),
    runs_out(
        "G2: five in a game are borne",
        timed(ABLE, STUCK_2, STUCK_3, timed_out=(1, 2, 1, 1, 2, 1, 2), in_a_row=(0, 0, 0)),
        NEXT,
    ),
    runs_out(
        "G2: six in a game resign the seat",
        timed(ABLE, STUCK_2, STUCK_3, timed_out=(1, 2, 1, 1, 2, 1, 2, 1), in_a_row=(0, 0, 0)),
        PlayerResigned(seat=1),
        NEXT,
    ),
    runs_out(
        "G2: a time-out that leaves one seat ends the game",
        timed(STUCK_1, ABLE, timed_out=(1, 1), in_a_row=(2, 0)),
        CardDrawn(seat=1),
        PlayerResigned(seat=1),
        *finished(Ending.RESIGNATIONS, (2, 0, 3), (1, 0, 2), resigned=(1,)),
    ),
    Case(
        "G2: lost time is given back from the deadline on",
        timed(ABLE, STUCK_2),
        ExtendDeadline(seconds=90),
        (DeadlineExtended(deadline=NOON + 2.5 * MINUTE),),
    ),
    Case(
        "G2: also where that deadline is named",
        timed(ABLE, STUCK_2),
        ExtendDeadline(seconds=90, deadline=NOON + MINUTE),
        (DeadlineExtended(deadline=NOON + 2.5 * MINUTE),),
    ),
]

CASES = [*BEFORE_THE_DEAL, *LAYDOWNS, *DRAWS, *TIME]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_rules_allow(case: Case) -> None:
    given(table=case.table, decider=TICKLE).when(case.command, case.at).then(*case.facts)


def test_every_fact_before_the_end_comes_of_some_case() -> None:
    elsewhere = {*OF_THE_END, *ENTROPY_FACTS, SeedsHeldBack}
    assert {type(fact) for case in CASES for fact in case.facts} >= set(FACTS) - elsewhere
