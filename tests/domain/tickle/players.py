"""Whole games of Tickle: players who lay cards well, badly or slowly, and Hypothesis strategies around them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import islice
from typing import Final
from uuid import UUID

from hypothesis import strategies as st

from domain.cards import DECK
from domain.dealing import Seeds
from domain.decider import Cell, Command, Fact, Viewer, fold
from domain.events import GENESIS, SERVER, Cause, Event, chain, content_digest, key_digest, player_actor
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.seating import Cancel, Join, Leave, Rematch, Seating, Start, invitation
from domain.tickle.facts import DeckPart, LaidCard, Options
from domain.tickle.grid import Laid, indexes
from domain.tickle.hints import Laydowns, best_laydowns
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle
from domain.tickle.table import TickleTable
from tests.given import NOON

__all__ = ["PLAYERS", "Course", "Played", "Step", "Style", "games", "laid_down", "play", "some_laydowns"]

PLAYERS: Final = tuple(
    UUID(f"00000000-0000-4000-8000-0000000000{letter}") for letter in ("0a", "0b", "0c", "0d", "0e", "0f")
)
"""Who plays, the host first; a player who comes and goes is none of them."""
PASSER_BY: Final = UUID("00000000-0000-4000-8000-0000000000ff")
LONGEST: Final = 1_000
SEARCH: Final = 60
"""How far players look for a good laydown."""
DAY: Final = 24 * 3600


class Course(Enum):
    """How a game is to go, unless it ends before."""

    TO_THE_END = "played to its end"
    RESIGNED = "resigned on the way, seat after seat"
    TIMED_OUT = "left to run out of time, turn after turn"
    CANCELLED = "cancelled before its deal"
    LEFT = "left lying unfinished"


MOSTLY_TO_THE_END: Final = (*(Course.TO_THE_END,) * 5, *Course)


class Style(Enum):
    """How a player plays."""

    WELL = "the best laydown that a short search finds"
    LOOSELY = "any card that fits"
    SLOWLY = "the card after which least fits; declines after every draw, so that hands grow"


@dataclass(frozen=True)
class Step:
    """One accepted command, between the tables before and after it."""

    before: TickleTable
    command: Command
    player: UUID | None
    """Whose command it is; None for the server's."""
    at: datetime
    facts: tuple[Fact, ...]

    @property
    def after(self) -> TickleTable:
        return fold(TICKLE.evolve, self.before, self.facts)


@dataclass(frozen=True)
class Played:
    """A game, or the beginning of one, as it was played."""

    seeds: Seeds
    steps: tuple[Step, ...]
    table: TickleTable
    """At the end."""
    recipe: str
    """How to play it again."""

    def __repr__(self) -> str:
        return self.recipe

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for step in self.steps for fact in step.facts)

    @property
    def ending(self) -> str:
        """How it ended: final-stage, target, resignations, timed-out, cancelled or unfinished."""
        if self.table.cancelled:
            return "cancelled"
        if self.table.finished is None:
            return "unfinished"
        timed_out = self.table.finished.ending == "resignations" and isinstance(self.steps[-1].command, RunOutOfTime)
        return "timed-out" if timed_out else str(self.table.finished.ending)

    def tables(self) -> Iterator[TickleTable]:
        """Yield the table after every fact."""
        table = TICKLE.empty(self.seeds)
        for fact in self.facts:
            table = TICKLE.evolve(table, fact)
            yield table

    def events(self) -> Iterator[tuple[Event, ...]]:
        """Yield the events of every command."""
        version, head = 0, GENESIS
        for number, step in enumerate(self.steps):
            cause = Cause(SERVER, step.at)
            if step.player is not None:
                key = f"command {number}"
                digests = key_digest(step.player, key), content_digest(step.command, key)
                cause = Cause(player_actor(step.player), step.at, *digests)
            events = chain(self.seeds.deal, version, head, step.facts, cause)
            version, head = events[-1].seq, events[-1].hash
            yield events


class _Sitting:
    """A game while it is played."""

    def __init__(self, chance: random.Random) -> None:
        self.chance: Final = chance
        deal = UUID(int=chance.getrandbits(128), version=4)
        self.seeds: Final = Seeds.backwards(deal, last=chance.randbytes(32), deals=1)
        self.table = TICKLE.empty(self.seeds)
        self.at = NOON
        self.steps: list[Step] = []

    def do(self, command: Command, player: UUID | None) -> None:
        self.at += timedelta(milliseconds=self.chance.randrange(1, 50))
        if isinstance(command, RunOutOfTime) and self.table.deadline:
            self.at = self.table.deadline + timedelta(milliseconds=self.chance.randrange(500))
        self.steps.append(Step(self.table, command, player, self.at, TICKLE.decide(command, self.table, self.at)))
        self.table = self.steps[-1].after

    def of_seat(self, command: Command) -> None:
        self.do(command, self.table.players[command.seat - 1])

    def gather(self, count: int, options: Options, rematch: Rematch | None) -> None:
        """Open a table; let the players come, and some go and come again."""
        host, *guests = PLAYERS[:count]
        self.do(OpenTickle(player=host, options=options, rematch=rematch), host)
        code = invitation(self.seeds) if options.private and rematch is None else None
        most = count if rematch else options.seats
        for guest in guests:
            if self.chance.random() < 0.15:
                comer = guest if rematch else self.chance.choice([guest, PASSER_BY])
                if len(self.table.joined) + 1 < most or not options.start_when_full:
                    self.do(Join(player=comer, code=code), comer)
                    self.do(Leave(player=comer), comer)
            self.do(Join(player=guest, code=code), guest)

    def start(self) -> None:
        if not self.table.deals:
            self.do(Start(player=PLAYERS[0]), PLAYERS[0])


def play(
    chance: random.Random,
    *,
    options: Options,
    players: int = 3,
    course: Course = Course.TO_THE_END,
    length: int = LONGEST,
    styles: tuple[Style, ...] = (Style.WELL,),
    accidents: float = 0.0,
    rematch: Rematch | None = None,
    whims: tuple[int, ...] = (),
) -> Played:
    """Play a game.

    Args:
        chance: the deal and what the players can't make up their minds about.
        options: what the table asks for.
        players: how many play.
        course: how it is to go.
        length: after how many commands of the game it is resigned, timed out or left.
        styles: how the seats play, in turn.
        accidents: how often a turn runs out of time, where there is a limit; and a tenth as often, a seat resigns.
        rematch: the game before it, whose players are the first of ``PLAYERS``.
        whims: the first commands after the deal: each picks one of those that are open, whatever good comes of it.
    """
    game, pending, steps = _Sitting(chance), list(whims), 0
    game.gather(players, options, rematch)
    if course is Course.CANCELLED and not game.table.deals:
        game.do(Cancel(player=PLAYERS[0]), PLAYERS[0])
    else:
        game.start()
    while not game.table.over and steps < length:
        steps += 1
        table = game.table
        if table.deadline and chance.random() < 0.02:
            game.do(ExtendDeadline(seconds=chance.randrange(1, DAY)), None)
        elif table.deadline and chance.random() < accidents:
            game.do(RunOutOfTime(), None)
        elif len(table.still_in) > 2 and chance.random() < accidents / 10:
            game.of_seat(Resign(seat=chance.choice(table.still_in)))
        elif pending:
            commands = _open(table)
            game.of_seat(commands[pending.pop(0) % len(commands)])
        else:
            game.of_seat(_choice(table, styles[table.turn % len(styles)], chance))
    while not game.table.over and course in (Course.RESIGNED, Course.TIMED_OUT):
        if course is Course.TIMED_OUT and game.table.deadline:
            game.do(RunOutOfTime(), None)
        else:
            game.of_seat(Resign(seat=chance.choice(game.table.still_in)))
    return Played(game.seeds, tuple(game.steps), game.table, "a game played by hand")


def laid_down(seat: int, laid: Laid) -> LayDown:
    """Return the command by which a seat lays cards, given by their indexes."""
    return LayDown(seat=seat, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in laid))


def some_laydowns(table: TickleTable, count: int) -> list[LayDown]:
    """Return a few legal laydowns of the seat that has the turn."""
    search = Laydowns(table.grid, table.hand_set(table.turn), table.drawn_card, bound=SEARCH)
    return [laid_down(table.turn, laid) for laid in islice(search, count)]


def _open(table: TickleTable) -> list[Command]:
    """What the seat with the turn may do, but for resigning."""
    legal = TICKLE.legal_commands(table, Viewer(seat=table.turn))
    others = [command for command in legal if isinstance(command, (DrawCard, DeclineLaydown))]
    return [*some_laydowns(table, 8), *others]


def _choice(table: TickleTable, style: Style, chance: random.Random) -> Command:
    seat = table.turn
    if style is Style.SLOWLY and table.drawn is not None:
        return DeclineLaydown(seat=seat)
    hand = table.hand_set(seat)
    if style is Style.WELL:
        hints = best_laydowns(table.grid, hand, table.drawn_card, first=1, bound=SEARCH)
        if hints.laydowns:
            return laid_down(seat, hints.laydowns[0][1])
    elif table.grid.cards:
        able = hand if table.drawn_card is None else 1 << table.drawn_card
        spots = [(cell, card) for cell, cards in table.grid.playable.items() for card in indexes(cards & able)]
        if spots and style is Style.SLOWLY:
            return laid_down(
                seat, (min(chance.sample(spots, min(len(spots), 12)), key=lambda spot: _fits(table, spot)),)
            )
        if spots:
            return laid_down(seat, (chance.choice(spots),))
    elif laydowns := some_laydowns(table, 1):
        return laydowns[0]
    return DrawCard(seat=seat) if table.drawn is None else DeclineLaydown(seat=seat)


def _fits(table: TickleTable, spot: tuple[Cell, int]) -> int:
    """How many cards fit somewhere in the grid after a card is laid: few make the hands grow."""
    fitting = 0
    for cards in table.grid.after([spot]).playable.values():
        fitting |= cards
    return fitting.bit_count()


@st.composite
def options_of_tables(draw: st.DrawFn, players: int, *, timed: bool) -> Options:
    """What a table asks for: mostly a short game, so that most games reach their end soon."""
    return Options(
        seats=draw(st.integers(players, 6)),
        start_when_full=draw(st.booleans()),
        private=draw(st.booleans()),
        seating=draw(st.sampled_from(Seating)),
        turn_seconds=draw(st.integers(5, 30 * DAY)) if timed else None,
        deck=draw(st.sampled_from([DeckPart.HALF, DeckPart.HALF, DeckPart.TWO_THIRDS, DeckPart.WHOLE])),
        target=draw(st.one_of(st.none(), st.integers(1, 120))),
    )


@st.composite
def games(draw: st.DrawFn, courses: tuple[Course, ...] = MOSTLY_TO_THE_END) -> Played:
    """Any accepted sequence of commands; most of them are whole games."""
    course = draw(st.sampled_from(courses))
    count = draw(st.integers(2, 6))
    options = draw(options_of_tables(count, timed=course is Course.TIMED_OUT or draw(st.booleans())))
    whole = course in (Course.TO_THE_END, Course.CANCELLED)
    length = LONGEST if whole else draw(st.integers(1, 25))
    styles = tuple(draw(st.lists(st.sampled_from(Style), min_size=1, max_size=3)))
    accidents = draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))
    moved_on = draw(st.sampled_from([None, None, True, False]))
    rematch = None if moved_on is None else Rematch(game=UUID(int=7), players=PLAYERS[:count], moved_on=moved_on)
    whims = tuple(draw(st.lists(st.integers(0, 9), max_size=8)))
    seed = draw(st.integers(0, 2**32))
    played = play(
        random.Random(seed),
        options=options,
        players=count,
        course=course,
        length=length,
        styles=styles,
        accidents=accidents,
        rematch=rematch,
        whims=whims,
    )
    recipe = (
        f"play(random.Random({seed}), options={options!r}, players={count}, course={course}, length={length}, "
        f"styles={styles}, accidents={accidents}, rematch={rematch!r}, whims={whims})"
    )
    return replace(played, recipe=recipe)
