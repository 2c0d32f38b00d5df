"""How a game of Tickle is told: its sentences, its curve, and its score sheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from domain import telling
from domain.cards import DECK, Colour, Shape
from domain.decider import Fact, Names, Position
from domain.lifecycle import GameCancelled, PlayerResigned, TimedOut
from domain.telling import NOBODY_NAMED, WIDTH, counted, folded, listed, named, nth, short, standings, terms
from domain.tickle import facts as f
from domain.tickle.facts import Closing, DeckPart, Ending
from domain.tickle.scoring import EXTREMES
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan

__all__ = ["note", "score", "tell"]

_TICKLE: Final = 5
"""How many cards a group has that is called a Tickle."""

_ENDINGS: Final = {
    Ending.FINAL_STAGE: "The final stage is over",
    Ending.TARGET: "The last round is over",
    Ending.RESIGNATIONS: "Only one seat is left",
}
_CLOSINGS: Final = {
    Closing.HAND_LAID: "has laid its last card",
    Closing.NO_LAYDOWN: "has no legal laydown",
}
_DECKS: Final = {
    DeckPart.WHOLE: "the whole deck",
    DeckPart.TWO_THIRDS: "two thirds of the deck",
    DeckPart.HALF: "half of the deck",
}
_EXTREMES: Final = {points: DECK[card] for card, points in EXTREMES.items()}
"""The Extreme cards by their bonus (K11)."""


# Sentences


def tell(fact: Fact, before: TickleTable, after: TickleTable, names: Names = NOBODY_NAMED) -> str:
    """Tell of a fact of this game.

    Raises:
        LookupError: there are no words for such a fact.
    """
    match fact:
        case f.LaydownPlayed():
            return _laydown(fact, before, after, names)
        case f.HandRefilled(seat=seat, cards=cards):
            return (
                f"{named(seat, names)} draws {counted(cards, 'card')} and has {after.held[seat - 1]}; {_deck(after)}."
            )
        case f.CardDrawn(seat=seat):
            cannot = "has no legal laydown" if before.grid.cards else "can't open"
            return f"{named(seat, names)} {cannot} and draws a card; {_deck(after)}."
        case f.LaydownDeclined(seat=seat):
            return f"{named(seat, names)} ends the turn without a laydown."
        case f.TurnPassed(seat=seat):
            return f"{named(seat, names)} has no legal laydown and passes, for the deck is empty."
        case TurnBegan(seat=seat, round=number):
            turn = "its last turn" if before.last_round else "the turn"
            new = f"Round {number} begins: " if number > before.round else ""
            return f"{new}{named(seat, names)} has {turn}."
        case TimedOut(seat=seat):
            return f"The time of {named(seat, names)} runs out, and the turn is over."
        case _:
            return _tell_seldom(fact, before, after, names)


def _tell_seldom(fact: Fact, before: TickleTable, after: TickleTable, names: Names) -> str:
    match fact:
        case f.TickleOpened():
            return telling.opening(fact, "Tickle", *_asked(fact.options))
        case f.HandsDealt():
            aside = f"; {counted(fact.set_aside, 'card')} are set aside unseen" if fact.set_aside else ""
            return f"Each of {len(after.players)} seats is dealt {counted(fact.each, 'card')}{aside}; {_deck(after)}."
        case f.FinalStageBegan(seat=seat, cause=cause):
            return (
                f"{named(seat, names)} {_CLOSINGS[cause]}: the final stage begins, and this round is played to its end."
            )
        case f.TargetReached(seat=seat):
            points = counted(after.options.target or 0, "point")
            return f"{named(seat, names)} has reached {points}: this round is played to its end."
        case f.TickleFinished():
            return _result(fact, names)
        case _:
            return telling.tell(fact, before, after, names)


def _asked(options: f.Options) -> tuple[str, ...]:
    target = () if options.target is None else (f"to {counted(options.target, 'point')}",)
    return _DECKS[options.deck], *target


def _deck(table: TickleTable) -> str:
    if not table.left:
        return "the deck is empty"
    return f"the deck has {counted(table.left, 'card')} left"


def _laydown(fact: f.LaydownPlayed, before: TickleTable, after: TickleTable, names: Names) -> str:
    verb = "lays" if before.grid.cards else "opens with"
    where = listed([f"{laid.card} at ({laid.x}, {laid.y})" for laid in fact.cards])
    few = where if len(fact.cards) == 1 else f"{len(fact.cards)} cards, {where}"
    points = counted(fact.score.total, "point")
    total = after.points[fact.seat - 1]
    return f"{named(fact.seat, names)} {verb} {few}: {_apart(fact.score)} {points}, {total} in all."


def _apart(score: f.Score) -> str:
    """Return what makes the points, and how many each part makes where there are several."""
    tics = sum(contact.common == 2 for contact in score.contacts)
    parts = [(counted(tics, "Tic"), score.tic_points)]
    for group in score.groups:
        size = len(group.cells)
        kind = "a Tickle" if size == _TICKLE else f"a group of {size}"
        parts.append((f"{kind} in {_combination(group)}", group.bonus))
        if group.extreme:
            parts.append((f"its Extreme card {_EXTREMES[group.extreme]}", group.extreme))
    if score.six_card_points:
        parts.append(("six cards", score.six_card_points))
    if len(parts) == 1:
        return f"{parts[0][0]} {'makes' if tics == 1 else 'make'}"
    return f"{listed([f'{what} ({points})' for what, points in parts])} make"


def _combination(group: f.Group) -> str:
    number = () if group.number is None else (f"number {group.number}",)
    shape = () if group.shape is None else (Shape(group.shape).name.lower(),)
    colour = () if group.colour is None else (Colour(group.colour).name.lower(),)
    return listed([*number, *shape, *colour])


def _result(fact: f.TickleFinished, names: Names) -> str:
    who = {line.seat: named(line.seat, names) + (" (resigned)" if line.resigned else "") for line in fact.places}
    told = standings((line.place, who[line.seat], line.total) for line in fact.places)
    lost = ((line.seat, line.points - line.total) for line in fact.places)
    cost = [f"{named(seat, names)} {counted(points, 'point')}" for seat, points in lost if points]
    penalty = f"; cards in hand cost {listed(cost)}" if cost else ""
    return f"{_ENDINGS[fact.ending]}: {told}{penalty}."


# The curve


def score(table: TickleTable) -> tuple[int, ...] | None:
    """Return what each seat's laydowns have scored, and once the game is over its total with the penalty (K14)."""
    if isinstance(table.finished, f.TickleFinished):
        return tuple(line.total for line in table.finished.places)
    return table.points if table.dealt else None


# The score sheet

_LAYDOWN: Final = 44
_APART: Final = 19


def note(positions: Iterable[Position[TickleTable]]) -> Iterator[str]:
    """Yield the score sheet of a game: its turns, and the running totals by round."""
    words: list[str] = []
    laid: f.Score | None = None
    totals: dict[int, tuple[int, ...]] = {}
    for fact, before, after in positions:
        if words and isinstance(fact, _AFTER_A_TURN):
            yield from _turn(before, words, laid)
            words, laid = [], None
        if before.round and isinstance(fact, TurnBegan | f.TurnPassed | f.TickleFinished):
            totals[before.round] = before.points
        match fact:
            case f.LaydownPlayed():
                words, laid = [*words, _noted(fact)], fact.score
            case PlayerResigned(seat=seat) if seat != before.turn:
                yield f"{before.round:2}.{seat}  resigns"
            case f.FinalStageBegan(seat=seat, cause=cause):
                yield f"      final stage: seat {seat} {_CLOSINGS[cause]}"
            case f.TargetReached(seat=seat):
                yield f"      target: seat {seat} has reached it"
            case f.TickleFinished():
                yield from _sheet(fact, totals)
            case _:
                words += _word(fact)
                yield from _beginning(fact, after)


_AFTER_A_TURN: Final = (TurnBegan, f.TurnPassed, f.FinalStageBegan, f.TargetReached, f.TickleFinished)
_WORDS: Final[Mapping[type[Fact], str]] = {
    f.CardDrawn: "draws",
    f.LaydownDeclined: "declines",
    f.TurnPassed: "passes",
    TimedOut: "times out",
    PlayerResigned: "resigns",
}


def _word(fact: Fact) -> list[str]:
    return [_WORDS[type(fact)]] if type(fact) in _WORDS else []


def _beginning(fact: Fact, after: TickleTable) -> Iterator[str]:
    match fact:
        case f.TickleOpened():
            yield from folded("Tickle  ", terms(fact.options, f"ruleset {fact.ruleset}", *_asked(fact.options)))
        case f.HandsDealt():
            yield f"        {len(after.players)} seats, {fact.each} cards each, {after.left} in the deck"
            yield ""
        case GameCancelled():
            yield "        cancelled before the deal"
        case _:
            pass


def _noted(fact: f.LaydownPlayed) -> str:
    """Return a laydown as its first cell, its direction and its cards along the line."""
    (first, *others) = sorted(fact.cards, key=lambda laid: laid.cell)
    along_row = all(laid.y == first.y for laid in others)
    noted = [f"({first.x},{first.y}){'' if not others else '>' if along_row else 'v'}", short(first.card)]
    for last, laid in zip((first, *others), others, strict=False):
        between = (laid.x - last.x) + (laid.y - last.y) - 1
        noted += [f"[{between}]"] * bool(between) + [short(laid.card)]
    return " ".join(noted)


def _turn(table: TickleTable, words: Sequence[str], laid: f.Score | None) -> Iterator[str]:
    """Yield a turn: its round and seat, what was done, what the points are for, the points, the running total."""
    turn, done = f"{table.round:2}.{table.turn}", ", ".join(words)
    apart, points = (_signs(laid), f"+{laid.total}") if laid else ("", "")
    total = table.points[table.turn - 1]
    if len(done) > _LAYDOWN or len(apart) > _APART:
        yield f"{turn}  {done}"
        yield f"{apart:>{WIDTH - 10}}{points:>5}{total:>5}"
    else:
        yield f"{turn}  {done:<{_LAYDOWN}} {apart:<{_APART}}{points:>5}{total:>5}"


def _signs(score: f.Score) -> str:
    tics = sum(contact.common == 2 for contact in score.contacts)
    groups = [f"G{len(group.cells)}" for group in score.groups]
    extremes = [f"X{group.extreme}" for group in score.groups if group.extreme]
    return " ".join([f"{tics}T", *groups, *extremes, *(["L6"] if score.six_card_points else [])])


def _sheet(fact: f.TickleFinished, totals: Mapping[int, Sequence[int]]) -> Iterator[str]:
    lines = fact.places

    def row(label: str, values: Iterable[object]) -> str:
        return f"{label:<10}{''.join(f'{value!s:>8}' for value in values)}".rstrip()

    yield ""
    yield row("", (f"Seat {line.seat}" for line in lines))
    for number, points in totals.items():
        yield row(f"round {number}", points)
    yield row("in hand", (line.total - line.points for line in lines))
    yield row("total", (line.total for line in lines))
    yield row("place", (nth(line.place) for line in lines))
    if any(line.resigned for line in lines):
        yield row("resigned", ("yes" if line.resigned else "" for line in lines))
    yield ""
    yield f"{_ENDINGS[fact.ending]}."
