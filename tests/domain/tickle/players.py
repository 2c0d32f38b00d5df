"""Whole games of Tickle: players who lay cards well, badly or slowly, and Hypothesis strategies around them."""

from __future__ import annotations

import random
from dataclasses import replace
from enum import Enum
from itertools import islice
from typing import Final, TypeAlias
from uuid import UUID

from hypothesis import strategies as st

from domain.cards import DECK
from domain.decider import Cell, Command, Viewer
from domain.tables import Rematch, Seating
from domain.tickle.facts import DeckPart, LaidCard, Options
from domain.tickle.grid import Laid, indexes
from domain.tickle.hints import Laydowns, best_laydowns
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle
from domain.tickle.table import TickleTable
from tests.domain import sittings
from tests.domain.sittings import DAY, WITHOUT_ENTROPY, Course

__all__ = ["PLAYERS", "Course", "Played", "Step", "Style", "games", "laid_down", "play", "some_laydowns"]

PLAYERS: Final = sittings.PLAYERS[:6]
LONGEST: Final = 1_000
SEARCH: Final = 60
"""How far players look for a good laydown."""


MOSTLY_TO_THE_END: Final = (*(Course.TO_THE_END,) * 5, *WITHOUT_ENTROPY)


class Style(Enum):
    """How a player plays."""

    WELL = "the best laydown that a short search finds"
    LOOSELY = "any card that fits"
    SLOWLY = "the card after which least fits; declines after every draw, so that hands grow"


Step: TypeAlias = sittings.Step[TickleTable]
Played: TypeAlias = sittings.Played[TickleTable]


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
    label: str | None = None,
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
        label: what the game is labelled with.
    """
    sitting = sittings.Sitting(TICKLE, chance)
    opening = OpenTickle(player=PLAYERS[0], options=options, rematch=rematch, label=label)
    sitting.gather(opening, players, options, rematch)

    def choice(table: TickleTable) -> Command:
        return _choice(table, styles[table.turn % len(styles)], chance)

    return sitting.go(course, length=length, accidents=accidents, whims=whims, open_=_open, choice=choice)


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
    label = "Spring Cup" if seed % 2 else None
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
        label=label,
    )
    recipe = (
        f"play(random.Random({seed}), options={options!r}, players={count}, course={course}, length={length}, "
        f"styles={styles}, accidents={accidents}, rematch={rematch!r}, whims={whims}, label={label!r})"
    )
    return replace(played, recipe=recipe)
