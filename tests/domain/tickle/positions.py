"""Tables of Tickle in a position that a test lays out card by card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from domain.cards import DECK, Card
from domain.decider import Cell, Command, Fact
from domain.lifecycle import SeedsRevealed
from domain.tickle.facts import (
    HAND,
    Closing,
    Ending,
    FinalStageBegan,
    HandsDealt,
    LaidCard,
    LaydownPlayed,
    Options,
    TargetReached,
    TickleFinished,
    TickleOpened,
    TickleResult,
    TurnPassed,
)
from domain.tickle.grid import Grid
from domain.tickle.rules import LayDown, laid_of
from domain.tickle.scoring import score
from domain.tickle.table import Got, TickleTable
from tests.domain.tickle.players import PLAYERS
from tests.given import NOON, SEEDS

__all__ = [
    "ABLE",
    "GRID",
    "OF_THE_END",
    "REST",
    "REVEALED",
    "STUCK_1",
    "STUCK_2",
    "STUCK_3",
    "Case",
    "cards",
    "finished",
    "laid",
    "lay",
    "lays",
    "opened",
    "played",
    "position",
    "row",
]

REVEALED: Final = SeedsRevealed(seeds=(SEEDS.seed(1).hex(),))


OF_THE_END: Final = {TurnPassed, FinalStageBegan, TargetReached, TickleFinished, SeedsRevealed}
"""The facts that come at the end of a game only."""

# One grid and hands that fit there or not

GRID: Final = {(0, 0): Card.parse("3-triangle-yellow"), (1, 0): Card.parse("3-triangle-cyan")}
"""3-star-cyan and 3-square-cyan fit on its right, and score one Tic; none of the cards of ``STUCK_1`` to 3 fits."""
STUCK_1: Final = "1-circle-violet 5-star-red"
STUCK_2: Final = "2-square-violet 4-crescent-orange"
STUCK_3: Final = "5-circle-red 1-square-violet"
ABLE: Final = "3-square-cyan 2-crescent-violet"
"""A hand with a legal laydown."""
REST: Final = "1-star-violet 2-star-violet 4-star-violet"
"""Three cards for the deck."""


class Case(NamedTuple):
    sentence: str
    table: TickleTable
    command: Command
    facts: tuple[Fact, ...]
    at: datetime = NOON


def lays(sentence: str, table: TickleTable, command: LayDown, *more: Fact) -> Case:
    """Return the case of a laydown, and what comes after the fact that it was played."""
    return Case(sentence, table, command, (played(table, command), *more))


def cards(names: str) -> tuple[Card, ...]:
    """Return the cards of names with spaces between them."""
    return tuple(map(Card.parse, names.split()))


def row(names: str, x: int = 0, y: int = 0) -> dict[Cell, Card]:
    """Return cards in a row, the first of them in a cell."""
    return {(x + at, y): card for at, card in enumerate(cards(names))}


def laid(names: str, x: int, y: int = 0) -> tuple[LaidCard, ...]:
    """Return cards in a row as a command names them, the first of them in a cell."""
    return tuple(LaidCard(x=at, y=y, card=card) for (at, y), card in row(names, x, y).items())


def lay(seat: int, names: str, x: int, y: int = 0) -> LayDown:
    """Return the command by which a seat lays cards in a row, the first of them in a cell."""
    return LayDown(seat=seat, cards=laid(names, x, y))


def played(table: TickleTable, command: LayDown) -> LaydownPlayed:
    """Return the fact that a laydown was played at a table."""
    return LaydownPlayed(seat=command.seat, cards=command.cards, score=score(table.grid, laid_of(command.cards)))


def opened(options: Options) -> TickleOpened:
    """Return the fact that the host opened a table, dealt from ``SEEDS``."""
    return TickleOpened(ruleset=1, host=PLAYERS[0], deal=SEEDS.deal, commitment=SEEDS.commitment.hex(), options=options)


def position(
    *hands: str,
    grid: Mapping[Cell, Card] | None = None,
    deck: str = "",
    turn: int = 1,
    number: int = 3,
    drawn: bool = False,
    points: Sequence[int] = (),
    resigned: Sequence[int] = (),
    timed_out: Sequence[int] = (),
    in_a_row: Sequence[int] = (),
    closing: Closing | None = None,
    target_reached: bool = False,
    options: Options | None = None,
    deadline: datetime | None = None,
) -> TickleTable:
    """Lay out a table. Cards that are not named are out of play.

    Args:
        hands: from seat 1 on, in the order in which the cards came.
        grid: the cards that lie there.
        deck: the next card first.
        turn: the seat whose turn it is.
        number: of the round.
        drawn: the last card in the hand of that seat was drawn in this turn.
        points: of each seat; none where it is left out.
        resigned: the seats that resigned, in order.
        timed_out: the seats of all time-outs.
        in_a_row: of each seat.
        closing: what began the final stage.
        target_reached: whether the target was reached.
        options: what the table asked for.
        deadline: of the turn.
    """
    order: list[Card] = []
    got = []
    for hand in hands:
        got.append(tuple(Got(len(order) + at, 5) for at in range(len(cards(hand)))))
        order += cards(hand)
    start = len(order)
    order += cards(deck)
    end = len(order)
    order += [card for card in DECK if card not in order]
    assert sorted(order) == list(DECK), "a card is named twice"
    lying = {cell: card.index for cell, card in (grid or {}).items()}
    assert not {card.index for card in order[:end]} & set(lying.values()), "a card of the grid is somewhere else, too"
    players, asked = PLAYERS[: len(hands)], options or Options()
    return TickleTable(
        version=20,
        opened=opened(asked),
        options=asked,
        players=players,
        joined=players,
        deals=1,
        dealt=HandsDealt(number=1, entropies=("-",) * len(players), each=HAND, deck=end - start, set_aside=125 - end),
        deadline=deadline,
        seeds=SEEDS,
        deck=tuple(order),
        got=tuple(got),
        held=tuple(len(hand) for hand in got),
        next=start,
        end=end,
        grid=Grid.of(lying),
        turn=turn,
        round=number,
        drawn=got[turn - 1][-1].position if drawn else None,
        points=tuple(points) or (0,) * len(hands),
        resigned=tuple(resigned),
        timed_out=tuple(timed_out),
        in_a_row=tuple(in_a_row),
        closing=closing,
        target_reached=target_reached,
    )


def finished(ending: Ending, *lines: tuple[int, int, int], resigned: Sequence[int] = ()) -> tuple[Fact, Fact]:
    """Return the last facts of a game.

    Args:
        ending: how it ended.
        lines: of each seat: its place, its points, its cards.
        resigned: the seats that resigned.
    """
    places = tuple(
        TickleResult(
            seat=seat, place=place, points=points, cards=held, total=points - 5 * held, resigned=seat in resigned
        )
        for seat, (place, points, held) in enumerate(lines, 1)
    )
    return TickleFinished(ending=ending, places=places), REVEALED
