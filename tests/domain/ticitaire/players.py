"""Whole games of Ticitaire: a player that often wins, and Hypothesis strategies around it."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import Final
from uuid import UUID

from hypothesis import strategies as st

from domain.dealing import Seeds
from domain.decider import Command, Viewer
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.tables import Start
from domain.ticitaire.facts import PILES, Options, Spot
from domain.ticitaire.rules import (
    TICITAIRE,
    MoveCards,
    OpenTicitaire,
    RecycleWaste,
    TakeBack,
    TurnStock,
    legal_commands,
)
from domain.ticitaire.table import TicitaireTable
from tests.domain import sittings
from tests.domain.sittings import BEACON, Step, commitment_of, reveal_what_is_due
from tests.given import NOON, PLAYER

__all__ = ["Course", "Played", "Step", "games", "play"]

PATIENCE: Final = 150
"""After so many commands without progress a player gives up."""
LONGEST: Final = 700
DAY: Final = 24 * 3600


class Course(Enum):
    """How a game is to go, unless it is won before."""

    TO_THE_END = "played until it is won or stuck"
    GIVEN_UP = "given up on the way"
    TIMED_OUT = "timed out on the way"
    WITHHELD = "called off, for its player does not reveal the entropy that is due"
    LEFT = "left lying unfinished"


WITHOUT_ENTROPY: Final = tuple(course for course in Course if course is not Course.WITHHELD)


class Played(sittings.Played[TicitaireTable]):
    """A game, or the beginning of one, as it was played."""

    @property
    def ending(self) -> str:
        """How it ended: won, given-up, timed-out, cancelled or unfinished."""
        if self.table.finished is None:
            return "cancelled" if self.table.cancelled else "unfinished"
        last = next(step for step in reversed(self.steps) if not step.before.over)
        timed_out = isinstance(last.command, RunOutOfTime)
        return "timed-out" if timed_out else str(self.table.finished.ending)


def play(
    chance: random.Random,
    *,
    options: Options,
    course: Course = Course.TO_THE_END,
    length: int = LONGEST,
    whims: tuple[int, ...] = (),
    label: str | None = None,
) -> Played:
    """Play a game.

    Args:
        chance: the deal and what the player can't make up its mind about.
        options: what the table asks for.
        course: how it is to go.
        length: after how many commands it is given up, timed out or left; a game to the end is given up then.
        whims: the first commands: each picks one of those that are open, whatever good comes of it.
        label: what the game is labelled with.
    """
    game = _Game(chance)
    commitment = commitment_of(game.seeds.deal, PLAYER, options)
    game.do(OpenTicitaire(player=PLAYER, options=options, label=label, commitment=commitment), PLAYER)
    if options.beacon is not None:
        game.do(Start(player=PLAYER, beacon=BEACON), PLAYER)
    reveal_what_is_due(game, withheld=course is Course.WITHHELD)
    pending = list(whims)
    progress, since = (0, 0), 0
    while not game.table.over and len(game.steps) < length and since < PATIENCE:
        game.at += timedelta(milliseconds=chance.randrange(1, 50))
        if game.table.deadline and chance.random() < 0.02:
            game.do(ExtendDeadline(seconds=chance.randrange(1, DAY)), None)
        elif pending:
            ranked = _ranked(game.table, chance)
            game.do(ranked[pending.pop(0) % len(ranked)], PLAYER)
        else:
            game.do(_choice(game.table, chance), PLAYER)
        now = (game.table.layout.buried, game.table.layout.unplayed)
        progress, since = (now, 0) if now != progress else (progress, since + 1)
    if not game.table.over and course is Course.TIMED_OUT and game.table.deadline:
        game.do(RunOutOfTime(), None)
    elif not game.table.over and course is not Course.LEFT:
        game.do(Resign(seat=1), PLAYER)
    if game.table.held_back and course is not Course.LEFT:
        game.do(RunOutOfTime(), None)
    return Played(TICITAIRE, game.seeds, tuple(game.steps), game.table, "a game played by hand")


class _Game:
    """A game while it is played."""

    def __init__(self, chance: random.Random) -> None:
        self.chance: Final = chance
        deal = UUID(int=chance.getrandbits(128), version=4)
        self.seeds: Final = Seeds.backwards(deal, last=chance.randbytes(32), deals=1)
        self.table = TICITAIRE.empty(self.seeds)
        self.at = NOON
        self.steps: list[Step[TicitaireTable]] = []

    def do(self, command: Command, player: UUID | None) -> None:
        if isinstance(command, RunOutOfTime) and self.table.deadline:
            self.at = max(self.at, self.table.deadline)
        facts = TICITAIRE.decide(command, self.table, self.at)
        self.steps.append(Step(TICITAIRE, self.table, command, player, self.at, facts))
        self.table = self.steps[-1].after


def _choice(table: TicitaireTable, chance: random.Random) -> Command:
    """Progress where there is some; else now and then a move to and fro, which may open a way."""
    if table.earlier and chance.random() < 0.03:
        return TakeBack(seat=1, moves=chance.randint(1, min(4, len(table.earlier))))
    ranked = _ranked(table, chance)
    if _rank(ranked[0], table) < NO_PROGRESS or chance.random() < 0.6:
        return ranked[0]
    aside = [command for command in ranked if isinstance(command, MoveCards)]
    return chance.choice(aside) if aside else ranked[0]


def _ranked(table: TicitaireTable, chance: random.Random) -> list[Command]:
    """All that is open, the best first; giving up only where there is nothing else."""
    open_commands = [command for command in legal_commands(table, Viewer(seat=1)) if isinstance(command, Command)]
    commands = [command for command in open_commands if not isinstance(command, Resign)] or open_commands
    chance.shuffle(commands)
    return sorted(commands, key=lambda command: _rank(command, table))


NO_PROGRESS: Final = 4


def _rank(command: Command, table: TicitaireTable) -> int:
    match command:
        case MoveCards(source=source, target=target):
            if table.layout.moved(source, target).to_turn_up(source) is not None:
                return 1 if target in PILES else 0
            if source is Spot.WASTE:
                return 2 if target in PILES else 3
            return 5
        case TurnStock() | RecycleWaste():
            return NO_PROGRESS
        case TakeBack():
            return 6
        case _:
            return 7


@st.composite
def games(draw: st.DrawFn, courses: tuple[Course, ...] = WITHOUT_ENTROPY) -> Played:
    """Any accepted sequence of commands; most of them are whole games, for a third or so ends won."""
    course = draw(st.sampled_from(courses))
    timed = course is Course.TIMED_OUT or draw(st.booleans())
    options = Options(
        take_back=draw(st.booleans()),
        strict_duo=draw(st.sampled_from([False, False, True])),
        time_limit=draw(st.integers(60, 30 * DAY)) if timed else None,
    )
    seed = draw(st.integers(0, 2**32))
    label = "Spring Cup" if seed % 2 else None
    length = LONGEST if course is Course.TO_THE_END else draw(st.integers(1, 300))
    whims = tuple(draw(st.lists(st.integers(0, 30), max_size=25)))
    played = play(random.Random(seed), options=options, course=course, length=length, whims=whims, label=label)
    recipe = (
        f"play(random.Random({seed}), options={options!r}, course={course}, length={length}, whims={whims}, "
        f"label={label!r})"
    )
    return replace(played, recipe=recipe)
