"""How games are told: the facts that every kind has, and the words that all kinds use.

``tell`` of a kind says in a sentence what happened, its ``note`` writes a whole game down in short. Both tell what the
log tells, and never ask for a hidden card.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Final

from domain.cards import Card
from domain.decider import Fact, Names, write_instant
from domain.entropy import (
    BeaconGiven,
    Entropy,
    EntropyCommitted,
    EntropyDue,
    EntropyOptions,
    EntropyRevealed,
    EntropyTable,
    EntropyWithheld,
    owing,
)
from domain.lifecycle import (
    DeadlineExtended,
    GameCancelled,
    GameLabelled,
    PlayerResigned,
    PlayerSeated,
    SeedsHeldBack,
    SeedsRevealed,
    Table,
    TimedOut,
)
from domain.tables import PlayerJoined, PlayerLeft, TableOpened, TableOptions
from domain.turns import IN_A_ROW, TurnTable, times_out

__all__ = [
    "NOBODY_NAMED",
    "WIDTH",
    "counted",
    "fairness",
    "folded",
    "lasting",
    "listed",
    "named",
    "nth",
    "opening",
    "short",
    "standings",
    "tell",
    "terms",
]

NOBODY_NAMED: Final[Names] = MappingProxyType({})
WIDTH: Final = 80
"""No line of a notation is longer: it is read in a terminal."""

_SHAPES: Final = "o)^#*"
_COLOURS: Final = "vcyor"
_SPANS: Final = (("day", 24 * 3600), ("hour", 3600), ("minute", 60), ("second", 1))


# Words


def named(seat: int, names: Names = NOBODY_NAMED) -> str:
    """Return what a seat is called."""
    return names.get(seat) or f"Seat {seat}"


def counted(number: int, thing: str) -> str:
    """Return how many there are of a thing, which takes an s where it is not one.

    >>> counted(1, "Tic"), counted(0, "card")
    ('1 Tic', '0 cards')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def nth(number: int) -> str:
    """Return an ordinal number.

    >>> [nth(number) for number in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    teen = 10 < number % 100 < 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def listed(words: Sequence[object]) -> str:
    """Return words as a list.

    >>> listed(["stars"]), listed(["stars", "squares", "circles"])
    ('stars', 'stars, squares and circles')
    """
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


def lasting(seconds: int) -> str:
    """Return how long a time is.

    >>> lasting(90), lasting(24 * 3600)
    ('1 minute and 30 seconds', '1 day')
    """
    spans = []
    for span, length in _SPANS:
        number, seconds = divmod(seconds, length)
        if number:
            spans.append(counted(number, span))
    return listed(spans or ["no time"])


def standings(lines: Iterable[tuple[int, str, int]]) -> str:
    """Return who has which place, from lines of a place, who has it, and the points.

    >>> standings([(2, "Ann", 3), (1, "Ben", 6), (2, "Cleo", 3)])
    'Ben wins with 6 points; Ann and Cleo are 2nd with 3 points'
    """
    told = []
    for place, group in groupby(sorted(lines, key=itemgetter(0)), key=itemgetter(0)):
        shared = list(group)
        who, points = listed([line[1] for line in shared]), counted(shared[0][2], "point")
        if place > 1:
            told.append(f"{who} {'is' if len(shared) == 1 else 'are'} {nth(place)} with {points}")
        elif len(shared) == 1:
            told.append(f"{who} wins with {points}")
        else:
            told.append(f"{who} share the first place with {points}")
    return "; ".join(told)


# Notation


def short(card: Card) -> str:
    """Return a card in three characters: its number, a sign for its shape, the first letter of its colour.

    >>> [short(Card.parse(name)) for name in ("1-circle-violet", "3-crescent-cyan", "5-star-red")]
    ['1ov', '3)c', '5*r']
    """
    return f"{card.number}{_SHAPES[card.shape - 1]}{_COLOURS[card.colour - 1]}"


def folded(label: str, parts: Iterable[str]) -> list[str]:
    """Return the parts of a list behind its label, in lines that go no further than ``WIDTH`` where a part allows it.

    >>> folded("seats  ", ["1 keeps", "2 calls"])
    ['seats  1 keeps, 2 calls']
    """
    lines: list[str] = []
    line, margin = label, " " * len(label)
    for nth_part, part in enumerate(parts):
        if not nth_part:
            line += part
        elif len(line) + len(part) + 3 <= WIDTH:  # with a comma on each side and a space
            line += f", {part}"
        else:
            lines.append(f"{line},")
            line = margin + part
    return [*lines, line]


# The opening of a table for several


def terms(options: TableOptions, *of_the_kind: str) -> tuple[str, ...]:
    """Return what a table for several asks for, beginning with what its kind does."""
    time = () if options.turn_seconds is None else (f"{lasting(options.turn_seconds)} for each turn",)
    return *of_the_kind, *time, *fairness(options)


def fairness(options: EntropyOptions) -> tuple[str, ...]:
    """Return what a table asks for that concerns the fairness of its deal."""
    entropy = {
        Entropy.NONE: (),
        Entropy.ALLOWED: ("entropy of the players",),
        Entropy.DEMANDED: ("everyone's entropy",),
    }
    beacon = () if options.beacon is None else (f"the beacon “{options.beacon}”",)
    seal = () if options.sealed_until is None else (f"the seeds held back until {_minute(options.sealed_until)}",)
    return *entropy[options.entropy], *beacon, *seal


def _minute(at: datetime) -> str:
    """Return a time to the minute, in UTC."""
    return f"{write_instant(at)[:16].replace('T', ' ')} UTC"


def opening(opened: TableOpened, game: str, *of_the_kind: str) -> str:
    """Tell of the opening of a table for several, which every kind has as a fact of its own."""
    again = "game" if opened.rematch is None else "rematch"
    invited = " by invitation" if opened.options.private and opened.rematch is None else ""
    asked = ", ".join(terms(opened.options, *of_the_kind))
    return f"A {again} of {game} is opened for up to {opened.takes} players{invited}{asked and f': {asked}'}."


# The facts that every game has


def tell(fact: Fact, before: Table, after: Table, names: Names = NOBODY_NAMED) -> str:
    """Tell of a fact that every game has; a kind's own tell does its own facts and leaves the others to this.

    Raises:
        LookupError: there are no words for such a fact.
    """
    match fact:
        case GameLabelled(label=label):
            return f"It belongs to the games of “{label}”."
        case PlayerJoined(player=player):
            host = before.opened is not None and before.opened.host == player
            here = f"the {nth(len(after.company))} of at most {after.takes}"
            return f"The host sits down at the table, {here}." if host else f"A player joins the table, {here}."
        case PlayerLeft():
            return f"A player leaves the table, which has {counted(len(after.company), 'player')} now."
        case PlayerSeated(seat=seat):
            return f"{names[seat]} takes seat {seat}." if names.get(seat) else f"Seat {seat} is taken."
        case PlayerResigned(seat=seat):
            return _resigned(before, seat, names)
        case TimedOut(seat=seat):
            return f"The time of {named(seat, names)} runs out."
        case DeadlineExtended(deadline=deadline):
            return f"No server ran for a while: {_more_time(before.deadline, deadline)}."
        case GameCancelled() if isinstance(before, EntropyTable) and before.due:
            return "The game is called off before the deal."
        case GameCancelled():
            return "The host calls the game off before the deal."
        case SeedsHeldBack(deadline=datetime() as until):
            return f"The seeds are held back until {_minute(until)}."
        case SeedsRevealed(seeds=seeds):
            several = f"seeds of the {len(seeds)} deals are" if len(seeds) > 1 else "seed of the deal is"
            return f"The {several} revealed: anyone can deal the game again and check it."
        case _:
            return _told_of_entropy(fact, after)


def _told_of_entropy(fact: Fact, after: Table) -> str:
    match fact:
        case EntropyCommitted():
            return "The player commits to entropy for the deal."
        case BeaconGiven(beacon=beacon):
            return f"The beacon is given as “{beacon}”."
        case EntropyDue(players=players):
            return f"The table is closed, and waits for the entropy of {counted(len(players), 'player')}."
        case EntropyRevealed():
            return f"A player reveals entropy for the deal, and {_owing(after)}."
        case EntropyWithheld(deadline=None):
            return "A player withholds the entropy that is due."
        case EntropyWithheld():
            return "A player has not revealed the entropy in time."
        case _:
            raise LookupError(f"there are no words for {fact.topic}")


def _owing(table: Table) -> str:
    owed = len(owing(table))
    return f"{counted(owed, 'player')} {'owes' if owed == 1 else 'owe'} some yet" if owed else "nobody owes any more"


def _resigned(before: Table, seat: int, names: Names) -> str:
    if isinstance(before, TurnTable) and before.in_a_row and times_out(before, seat):  # G2
        in_a_row = before.in_a_row[seat - 1]
        late = f"{in_a_row} time-outs in a row" if in_a_row >= IN_A_ROW else f"{before.timed_out.count(seat)} time-outs"
        return f"{named(seat, names)} is resigned after {late}."
    return f"{named(seat, names)} resigns."


def _more_time(before: datetime | None, after: datetime | None) -> str:
    if before is None or after is None:
        return "the time is given back"
    return f"the deadline moves on by {lasting(round((after - before).total_seconds()))}"
