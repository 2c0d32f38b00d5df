"""Whole games of TIC Poker: players who play well, boldly or modestly, and Hypothesis strategies around them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import Final, TypeAlias
from uuid import UUID

import hypothesis
from hypothesis import strategies as st

from domain.cards import Card
from domain.decider import Command, Viewer
from domain.lifecycle import Resign
from domain.poker.facts import Options, Variation
from domain.poker.hands import HAND, Rank, best_hand, ranks_of
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards, OpenPoker
from domain.poker.table import PokerTable
from domain.tables import Rematch, Seating
from tests.domain import sittings
from tests.domain.sittings import DAY, PLAYERS, WITHOUT_ENTROPY, Course

__all__ = ["ENDED", "PLAYERS", "Course", "Played", "Step", "Style", "best_declaration", "games", "lies", "of", "play"]
__all__ += ["some"]

ENDED: Final = (Course.TO_THE_END, Course.RESIGNED, Course.TIMED_OUT)
"""The courses that lead to an end."""
MOSTLY_TO_THE_END: Final = (*(Course.TO_THE_END,) * 6, *WITHOUT_ENTROPY, Course.RESIGNED, Course.TIMED_OUT)
LONGEST: Final = 3_000


class Style(Enum):
    """How a player plays."""

    WELL = "exchanges what the best hand does not need, calls with a strong hand, declares the best"
    BOLDLY = "exchanges anything, calls now and then, names slots and cards in any order"
    MODESTLY = "keeps mostly, declares the community cards as High Card, or any five cards as anything that they are"


Step: TypeAlias = sittings.Step[PokerTable]
Played: TypeAlias = sittings.Played[PokerTable]


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
        chance: the deals and what the players can't make up their minds about.
        options: what the table asks for.
        players: how many play.
        course: how it is to go.
        length: after how many commands of the game it is resigned, timed out or left.
        styles: how the seats play, in turn.
        accidents: how often a time runs out, where there is a limit; and a tenth as often, a seat resigns.
        rematch: the game before it, whose players are the first of ``PLAYERS``.
        whims: the first commands after the deal: each picks one of those that are open, whatever good comes of it.
        label: what the game is labelled with.
    """
    sitting = sittings.Sitting(POKER, chance)
    opening = OpenPoker(player=PLAYERS[0], options=options, rematch=rematch, label=label)
    sitting.gather(opening, players, options, rematch)

    def choice(table: PokerTable) -> Command:
        seat = chance.choice(table.undeclared) if table.declaring else table.turn
        return _choice(table, seat, styles[seat % len(styles)], chance)

    return sitting.go(course, length=length, accidents=accidents, whims=whims, open_=_open, choice=choice)


def best_declaration(table: PokerTable, seat: int) -> DeclareHand:
    """Return the command by which a seat declares the best hand that it has."""
    best = best_hand((*table.private(seat), *table.community))
    return DeclareHand(seat=seat, cards=best.cards, rank=best.rank)


def lies(table: PokerTable, seat: int) -> tuple[Card, ...]:
    """Return the private cards of a seat as they lie in its slots, whatever was revealed."""
    return tuple(table.card(position) for position in table.slots[seat])


def _open(table: PokerTable) -> list[Command]:
    """What the seat with the turn may do, but for resigning."""
    legal = POKER.legal_commands(table, Viewer(seat=table.turn))
    return [command for command in legal if isinstance(command, Command) and not isinstance(command, Resign)]


def _choice(table: PokerTable, seat: int, style: Style, chance: random.Random) -> Command:
    if table.declaring:
        return _declaration(table, seat, style, chance)
    if style is Style.MODESTLY and chance.random() < 0.7:
        return KeepCards(seat=seat)
    if style is Style.WELL:
        return _well_considered(table, seat)
    command = chance.choice(_open(table))
    if isinstance(command, Call) and chance.random() < 0.5:
        return KeepCards(seat=seat)
    if isinstance(command, ExchangeCards) and style is Style.BOLDLY:
        return ExchangeCards(seat=seat, slots=tuple(chance.sample(command.slots, len(command.slots))))
    return command


def _well_considered(table: PokerTable, seat: int) -> Command:
    private = table.private(seat)
    known = (*private, *table.community)
    needed = set(best_hand(known).cards) if table.options.variation is not Variation.DRAW else _alike(private)
    if not table.caller and len(known) > 5 and best_hand(known).rank >= Rank.TWO_TIC_PAIRS:
        return Call(seat=seat)
    spare = [slot for slot, card in enumerate(private, 1) if card not in needed]
    if spare:
        return ExchangeCards(seat=seat, slots=tuple(spare[: 2 if table.options.variation is Variation.DRAW else 1]))
    lying = [slot for slot, card in enumerate(table.community, 1) if card not in needed]
    if lying and table.options.variation is Variation.COMMUNITY_EXCHANGE and not table.caller:
        return ExchangeCommunityCard(seat=seat, slot=lying[0])
    return KeepCards(seat=seat)


def _alike(private: tuple[Card, ...]) -> set[Card]:
    """Return the cards of the colour that most of a hand has."""
    colours = [card.colour for card in private]
    return {card for card in private if card.colour == max(colours, key=colours.count)}


def _declaration(table: PokerTable, seat: int, style: Style, chance: random.Random) -> Command:
    best = best_declaration(table, seat)
    if style is Style.WELL:
        return best
    if style is Style.BOLDLY:
        return DeclareHand(seat=seat, cards=tuple(chance.sample(best.cards, HAND)), rank=best.rank)
    if len(table.community) == HAND and chance.random() < 0.5:
        return DeclareHand(seat=seat, cards=_strongest_first(table.community), rank=Rank.HIGH_CARD)
    five = chance.sample([*table.private(seat), *table.community], HAND)
    return DeclareHand(seat=seat, cards=_strongest_first(five), rank=chance.choice(sorted(ranks_of(five))))


def _strongest_first(cards: Iterable[Card]) -> tuple[Card, ...]:
    return tuple(sorted(cards, key=lambda card: (card.value, card), reverse=True))


@st.composite
def options_of_tables(draw: st.DrawFn, players: int, *, timed: bool) -> Options:
    """What a table asks for: mostly few rounds, so that most games reach their end soon."""
    return Options(
        seats=draw(st.integers(players, 8)),
        start_when_full=draw(st.booleans()),
        private=draw(st.booleans()),
        seating=draw(st.sampled_from(Seating)),
        turn_seconds=draw(st.integers(5, 30 * DAY)) if timed else None,
        rounds=draw(st.sampled_from([1, 2, 2, 3, 3, 4, 5, 6, 9])),
        variation=draw(st.sampled_from(Variation)),
        draw_stages=draw(st.integers(1, 5)),
        cards_speak=draw(st.sampled_from([False, False, True])),
    )


@st.composite
def games(draw: st.DrawFn, courses: tuple[Course, ...] = MOSTLY_TO_THE_END) -> Played:
    """Any accepted sequence of commands; most of them are whole games."""
    course = draw(st.sampled_from(courses))
    count = draw(st.integers(2, 8))
    options = draw(options_of_tables(count, timed=course is Course.TIMED_OUT or draw(st.booleans())))
    whole = course in (Course.TO_THE_END, Course.CANCELLED)
    length = LONGEST if whole else draw(st.integers(1, 25))
    styles = tuple(draw(st.lists(st.sampled_from(Style), min_size=1, max_size=3)))
    accidents = draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))
    moved_on = draw(st.sampled_from([None, None, True, False]))
    rematch = None if moved_on is None else Rematch(game=UUID(int=7), players=PLAYERS[:count], moved_on=moved_on)
    whims = tuple(draw(st.lists(st.integers(0, 19), max_size=8)))
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


some: Final = hypothesis.settings(
    deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)


def of(played: Played) -> Played:
    """Let the run tell which endings and variations it saw."""
    hypothesis.event(f"ending: {played.ending}")
    hypothesis.event(f"variation: {played.table.options.variation}")
    return played
