"""Whole games of TIC Poker: players who play well, boldly or modestly, and Hypothesis strategies around them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final
from uuid import UUID

import hypothesis
from hypothesis import strategies as st

from domain.cards import Card
from domain.dealing import MAX_DEALS, Seeds
from domain.decider import Command, Fact, Viewer, fold
from domain.events import GENESIS, SERVER, Cause, Event, chain, content_digest, key_digest, player_actor
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.poker.facts import Options, Variation
from domain.poker.hands import HAND, Rank, best_hand, ranks_of
from domain.poker.rules import POKER, Call, DeclareHand, ExchangeCards, ExchangeCommunityCard, KeepCards, OpenPoker
from domain.poker.table import PokerTable
from domain.seating import Cancel, Join, Leave, Rematch, Seating, Start, invitation
from tests.domain.tickle.players import Course
from tests.given import NOON

__all__ = ["ENDED", "PLAYERS", "Course", "Played", "Step", "Style", "best_declaration", "games", "lies", "of", "play"]
__all__ += ["some"]

PLAYERS: Final = tuple(UUID(f"00000000-0000-4000-8000-0000000000{number:02x}") for number in range(10, 18))
"""Who plays, the host first; a player who comes and goes is none of them."""
PASSER_BY: Final = UUID("00000000-0000-4000-8000-0000000000ff")
ENDED: Final = (Course.TO_THE_END, Course.RESIGNED, Course.TIMED_OUT)
"""The courses that lead to an end."""
MOSTLY_TO_THE_END: Final = (*(Course.TO_THE_END,) * 6, *Course, Course.RESIGNED, Course.TIMED_OUT)
LONGEST: Final = 3_000
DAY: Final = 24 * 3600


class Style(Enum):
    """How a player plays."""

    WELL = "exchanges what the best hand does not need, calls with a strong hand, declares the best"
    BOLDLY = "exchanges anything, calls now and then, names slots and cards in any order"
    MODESTLY = "keeps mostly, declares the community cards as High Card, or any five cards as anything that they are"


@dataclass(frozen=True)
class Step:
    """One accepted command, between the tables before and after it."""

    before: PokerTable
    command: Command
    player: UUID | None
    """Whose command it is; None for the server's."""
    at: datetime
    facts: tuple[Fact, ...]

    @property
    def after(self) -> PokerTable:
        return fold(POKER.evolve, self.before, self.facts)


@dataclass(frozen=True)
class Played:
    """A game, or the beginning of one, as it was played."""

    seeds: Seeds
    steps: tuple[Step, ...]
    table: PokerTable
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
        """How it ended: rounds, resignations, timed-out, cancelled or unfinished."""
        if self.table.cancelled:
            return "cancelled"
        if self.table.finished is None:
            return "unfinished"
        timed_out = self.table.finished.ending == "resignations" and isinstance(self.steps[-1].command, RunOutOfTime)
        return "timed-out" if timed_out else str(self.table.finished.ending)

    def tables(self) -> Iterator[PokerTable]:
        """Yield the table after every fact."""
        table = POKER.empty(self.seeds)
        for fact in self.facts:
            table = POKER.evolve(table, fact)
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
        self.seeds: Final = Seeds.backwards(deal, last=chance.randbytes(32), deals=MAX_DEALS)
        self.table = POKER.empty(self.seeds)
        self.at = NOON
        self.steps: list[Step] = []

    def do(self, command: Command, player: UUID | None) -> None:
        self.at += timedelta(milliseconds=self.chance.randrange(1, 50))
        if isinstance(command, RunOutOfTime) and self.table.deadline:
            self.at = self.table.deadline + timedelta(milliseconds=self.chance.randrange(500))
        self.steps.append(Step(self.table, command, player, self.at, POKER.decide(command, self.table, self.at)))
        self.table = self.steps[-1].after

    def of_seat(self, command: Command) -> None:
        self.do(command, self.table.players[command.seat - 1])

    def gather(self, count: int, options: Options, rematch: Rematch | None) -> None:
        """Open a table; let the players come, and some go and come again."""
        host, *guests = PLAYERS[:count]
        self.do(OpenPoker(player=host, options=options, rematch=rematch), host)
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
        chance: the deals and what the players can't make up their minds about.
        options: what the table asks for.
        players: how many play.
        course: how it is to go.
        length: after how many commands of the game it is resigned, timed out or left.
        styles: how the seats play, in turn.
        accidents: how often a time runs out, where there is a limit; and a tenth as often, a seat resigns.
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
        elif pending and not table.declaring:
            commands = _open(table)
            game.of_seat(commands[pending.pop(0) % len(commands)])
        else:
            seat = chance.choice(table.undeclared) if table.declaring else table.turn
            game.of_seat(_choice(table, seat, styles[seat % len(styles)], chance))
    while not game.table.over and course in (Course.RESIGNED, Course.TIMED_OUT):
        if course is Course.TIMED_OUT and game.table.deadline:
            game.do(RunOutOfTime(), None)
        else:
            game.of_seat(Resign(seat=chance.choice(game.table.still_in)))
    return Played(game.seeds, tuple(game.steps), game.table, "a game played by hand")


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


some: Final = hypothesis.settings(
    deadline=None, max_examples=12, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)


def of(played: Played) -> Played:
    """Let the run tell which endings and variations it saw."""
    hypothesis.event(f"ending: {played.ending}")
    hypothesis.event(f"variation: {played.table.options.variation}")
    return played
