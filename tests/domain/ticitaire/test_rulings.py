"""What the rules of Ticitaire allow, ruling by ruling: given a position, when a command, then these facts."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pytest

from domain.cards import Card
from domain.dealing import deal_order
from domain.decider import Command, Fact
from domain.entropy import ENTROPY_FACTS
from domain.lifecycle import (
    DeadlineExtended,
    ExtendDeadline,
    GameCancelled,
    GameLabelled,
    Place,
    PlayerResigned,
    PlayerSeated,
    Resign,
    RunOutOfTime,
    SeedsHeldBack,
    SeedsRevealed,
    TimedOut,
)
from domain.tables import Leave
from domain.ticitaire.facts import (
    FACTS,
    CardsMoved,
    CardTurnedUp,
    Ending,
    MovesTakenBack,
    Options,
    Spot,
    StockTurned,
    TableauDealt,
    TicitaireFinished,
    TicitaireOpened,
    WasteRecycled,
)
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire, RecycleWaste, TakeBack, TurnStock
from domain.ticitaire.table import TicitaireTable
from tests.domain.ticitaire.positions import cards, move, opening, position
from tests.given import NOON, PLAYER, SEEDS, given

STRICT = Options(strict_duo=True)
TAKE_BACK = Options(take_back=True)
HOUR = timedelta(hours=1)
HOURLY = Options(time_limit=3600)
ORDER = deal_order(SEEDS, number=1, entropies=["-"])
OPENED = TicitaireOpened(ruleset=1, host=PLAYER, deal=SEEDS.deal, commitment=SEEDS.commitment.hex(), options=Options())
DEALT = TableauDealt(number=1, entropies=("-",), exposed=ORDER[49:56], deadline=None)
REVEALED = SeedsRevealed(seeds=(SEEDS.seed(1).hex(),))
SPARE = "3-square-orange"
"""A stock card that keeps a position from being won."""


class Case(NamedTuple):
    sentence: str
    table: TicitaireTable
    command: Command
    facts: tuple[Fact, ...]


def moved(source: str, target: str, names: str) -> CardsMoved:
    return CardsMoved(source=Spot(source), target=Spot(target), cards=cards(names))


def up(column: str, name: str) -> CardTurnedUp:
    return CardTurnedUp(column=Spot(column), card=Card.parse(name))


def won(**counts: int) -> tuple[Fact, Fact]:
    none = {"buried": 0, "unplayed": 0, "moves": 0, "turns": 0, "recycles": 0, "take_backs": 0}
    places = (Place(seat=1, place=1),)
    return TicitaireFinished(ending=Ending.WON, places=places, **(none | counts)), REVEALED


def given_up(**counts: int) -> tuple[Fact, Fact]:
    none = {"buried": 0, "unplayed": 0, "moves": 0, "turns": 0, "recycles": 0, "take_backs": 0}
    places = (Place(seat=1, place=None),)
    return TicitaireFinished(ending=Ending.GIVEN_UP, places=places, **(none | counts)), REVEALED


def goes(sentence: str, table: TicitaireTable, source: str, target: str, names: str, *more: Fact) -> Case:
    return Case(sentence, table, move(source, target), (moved(source, target, names), *more))


CASES = [
    goes(
        "S2: a single card goes upon its Tic in another column",
        position("2-circle-cyan", "2-circle-red", stock=SPARE),
        *("column-1", "column-2", "2-circle-cyan"),
    ),
    goes(
        "S2: a whole run goes where its top card makes a Tic, in its order",
        position("2-circle-cyan 2-star-cyan 3-star-cyan", "2-circle-red", stock=SPARE),
        *("column-1", "column-2", "2-circle-cyan 2-star-cyan 3-star-cyan"),
    ),
    goes(
        "S3: an isolated card goes to a pile",
        position("1-circle-violet", stock=SPARE),
        *("column-1", "low", "1-circle-violet"),
    ),
    goes(
        "S3: the exposed card of a longer run goes to a pile alone, and nothing is turned up",
        position("5-star-red | 1-circle-red 1-circle-violet"),
        *("column-1", "low", "1-circle-violet"),
    ),
    goes(
        "S3: the waste's top card goes to a pile",
        position(waste="2-star-cyan 1-circle-violet"),
        *("waste", "low", "1-circle-violet"),
    ),
    goes(
        "S2: the waste's top card goes upon its Tic in a column",
        position("2-circle-cyan", waste="2-star-cyan 2-circle-red"),
        *("waste", "column-1", "2-circle-red"),
    ),
    *(
        goes(f"S4: the low pile starts with {card}", position(card, stock=SPARE), "column-1", "low", card)
        for card in ("1-circle-orange", "1-star-violet", "5-circle-violet", "1-circle-violet")
    ),
    *(
        goes(f"S4: the high pile starts with {card}", position(card, stock=SPARE), "column-1", "high", card)
        for card in ("5-star-cyan", "5-circle-red", "1-star-red", "5-star-red")
    ),
    goes(
        "S4: the sheet's Duo is laid upon its pile",
        position("4-square-red", high="5-triangle-red", stock=SPARE),
        *("column-1", "high", "4-square-red"),
    ),
    goes(
        "S4: the low pile goes down as well as up",
        position("1-crescent-yellow", low="2-triangle-yellow", stock=SPARE),
        *("column-1", "low", "1-crescent-yellow"),
    ),
    goes(
        "S4: a Tripo goes up and down at once",
        position("4-crescent-red", low="3-triangle-orange", stock=SPARE),
        *("column-1", "low", "4-crescent-red"),
    ),
    goes(
        "C4: a Duo's third property is free",
        position("4-square-violet", high="5-star-red", stock=SPARE),
        *("column-1", "high", "4-square-violet"),
    ),
    goes(
        "C4: the strict Duo has its third property equal",
        position("4-square-red", high="5-star-red", options=STRICT, stock=SPARE),
        *("column-1", "high", "4-square-red"),
    ),
    goes(
        "C4: a Tripo is a Tripo where the Duo is strict",
        position("4-square-orange", high="5-star-red", options=STRICT, stock=SPARE),
        *("column-1", "high", "4-square-orange"),
    ),
    goes(
        "S5: a pile's top card goes upon its Tic in a column",
        position("2-circle-red", low="1-circle-cyan 2-circle-cyan", stock=SPARE),
        *("low", "column-1", "2-circle-cyan"),
    ),
    goes(
        "S5: a 5 goes from a pile to an empty column, and leaves the pile to be started again",
        position(high="5-star-red", stock=SPARE),
        *("high", "column-4", "5-star-red"),
    ),
    goes(
        "S6: an empty column takes a single 5",
        position("5-circle-cyan", stock=SPARE),
        *("column-1", "column-7", "5-circle-cyan"),
    ),
    goes(
        "S6: an empty column takes a 5 from the waste",
        position(waste="1-star-cyan 5-circle-cyan"),
        *("waste", "column-2", "5-circle-cyan"),
    ),
    goes(
        "S6: an empty column takes a whole run under a 5",
        position("5-circle-cyan 4-circle-cyan", stock=SPARE),
        *("column-1", "column-2", "5-circle-cyan 4-circle-cyan"),
    ),
    goes(
        "S7: a card is turned up when its run has gone to another column",
        position("1-star-red 3-star-red | 2-circle-cyan 2-star-cyan", "2-circle-red"),
        *("column-1", "column-2", "2-circle-cyan 2-star-cyan", up("column-1", "3-star-red")),
    ),
    goes(
        "S7: a card is turned up when the single card over it has gone to a pile",
        position("1-star-red 3-star-red | 1-circle-violet"),
        *("column-1", "low", "1-circle-violet", up("column-1", "3-star-red")),
    ),
    Case(
        "S8: turning brings the stock's next card",
        position(stock="2-star-cyan 3-star-cyan", waste="1-star-cyan"),
        TurnStock(seat=1),
        (StockTurned(card=Card.parse("2-star-cyan")),),
    ),
    Case(
        "S8: the waste is turned over when the stock is empty",
        position(waste="1-star-cyan 2-star-cyan"),
        RecycleWaste(seat=1),
        (WasteRecycled(cards=2),),
    ),
    goes(
        "S9: the last waste card wins the game",
        position("2-circle-cyan", waste="2-circle-red"),
        *("waste", "column-1", "2-circle-red", *won(moves=1)),
    ),
    goes(
        "S9: the last card turned up wins the game",
        position("3-star-red | 1-circle-violet"),
        *("column-1", "low", "1-circle-violet", up("column-1", "3-star-red"), *won(moves=1)),
    ),
    goes(
        "S9: a waste card that is left keeps the game going",
        position("3-star-red | 1-circle-violet", waste="2-circle-red"),
        *("column-1", "low", "1-circle-violet", up("column-1", "3-star-red")),
    ),
    goes(
        "S9: a buried card keeps the game going",
        position("1-star-red | 2-circle-cyan", waste="2-circle-red"),
        *("waste", "column-1", "2-circle-red"),
    ),
    Case(
        "S9, G1: who gives up is told what was buried and unplayed, and has no place",
        position("1-star-red 2-star-red | 2-circle-cyan", stock="3-star-red", waste="4-star-red 5-star-red"),
        Resign(seat=1),
        (PlayerResigned(seat=1), *given_up(buried=2, unplayed=3)),
    ),
    Case(
        "G3: a game starts with its deal",
        TICITAIRE.empty(SEEDS),
        OpenTicitaire(player=PLAYER),
        (OPENED, PlayerSeated(seat=1, player=PLAYER), DEALT),
    ),
    Case(
        "G3: its label is told after the opening, before the player takes the seat",
        TICITAIRE.empty(SEEDS),
        OpenTicitaire(player=PLAYER, label="Spring Cup"),
        (OPENED, GameLabelled(label="Spring Cup"), PlayerSeated(seat=1, player=PLAYER), DEALT),
    ),
    Case(
        "S11: one move is taken back",
        given(*opening(TAKE_BACK)).when(TurnStock(seat=1)).after,
        TakeBack(seat=1),
        (MovesTakenBack(moves=1, to_version=3),),
    ),
    Case(
        "G2: lost time is given back from the deadline on",
        position("5-star-red", deadline=NOON + HOUR),
        ExtendDeadline(seconds=60),
        (DeadlineExtended(deadline=NOON + HOUR + timedelta(seconds=60)),),
    ),
    Case(
        "G2: also where that deadline is named",
        position("5-star-red", deadline=NOON + HOUR),
        ExtendDeadline(seconds=60, deadline=NOON + HOUR),
        (DeadlineExtended(deadline=NOON + HOUR + timedelta(seconds=60)),),
    ),
    Case(
        "G1: leaving is giving up",
        position("1-star-red | 5-star-red", stock="2-star-red"),
        Leave(player=PLAYER),
        (PlayerResigned(seat=1), *given_up(buried=1, unplayed=1)),
    ),
]

TIMED_OUT = Case(
    "G2: a time limit ends the game as given up",
    position("1-star-red | 5-star-red", stock="2-star-red", deadline=NOON + HOUR),
    RunOutOfTime(),
    (TimedOut(seat=1, deadline=NOON + HOUR), *given_up(buried=1, unplayed=1)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_rules_allow(case: Case) -> None:
    given(table=case.table).when(case.command).then(*case.facts)


@pytest.mark.parametrize("late", [timedelta(0), timedelta(days=3)], ids=["at the deadline", "days later"])
def test_a_time_limit_ends_the_game_as_given_up(late: timedelta) -> None:  # G2
    given(table=TIMED_OUT.table).when(TIMED_OUT.command, at=NOON + HOUR + late).then(*TIMED_OUT.facts)


def test_every_fact_comes_of_some_case() -> None:
    elsewhere = {*ENTROPY_FACTS, GameCancelled, SeedsHeldBack}  # with tests of their own
    assert {type(fact) for case in [*CASES, TIMED_OUT] for fact in case.facts} == set(FACTS) - elsewhere


def test_every_ending_comes_of_some_case() -> None:
    ends = [fact for case in CASES for fact in case.facts if isinstance(fact, TicitaireFinished)]
    assert {fact.ending for fact in ends} == set(Ending)
