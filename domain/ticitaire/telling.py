"""How a game of Ticitaire is told: its sentences, its curve, and its list of moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain import telling
from domain.cards import DECK, is_tripo
from domain.decider import Fact, Names, Position
from domain.lifecycle import GameCancelled, PlayerResigned, TimedOut
from domain.telling import NOBODY_NAMED, counted, fairness, folded, lasting, listed, named, short
from domain.ticitaire import facts as f
from domain.ticitaire.facts import COLUMNS, Ending, Spot
from domain.ticitaire.table import TicitaireTable

__all__ = ["note", "score", "tell"]


# Sentences


def tell(fact: Fact, before: TicitaireTable, after: TicitaireTable, names: Names = NOBODY_NAMED) -> str:
    """Tell of a fact of this game.

    Raises:
        LookupError: there are no words for such a fact.
    """
    match fact:
        case f.CardsMoved():
            return _moved(fact, before)
        case f.CardTurnedUp(column=column, card=card):
            left = counted(len(after.layout.column(column).buried), "face-down card")
            return f"{card} is turned up in {_place(column)}, which has {left} left."
        case f.StockTurned(card=card):
            return f"{card} is turned from the stock, which has {counted(len(after.layout.stock), 'card')} left."
        case f.WasteRecycled(cards=cards):
            return f"The waste is turned over: the stock has {counted(cards, 'card')} again."
        case f.MovesTakenBack(moves=moves, to_version=version):
            verb = "is" if moves == 1 else "are"
            return f"{counted(moves, 'step')} {verb} taken back, to the position after event {version}."
        case f.TicitaireOpened(options=options):
            asked = ", ".join(_asked(options))
            return f"A game of Ticitaire is opened{asked and f': {asked}'}."
        case f.TableauDealt(exposed=exposed):
            stock = counted(len(after.layout.stock), "card")
            return f"7 columns are dealt, with {listed(exposed)} face-up; the stock has {stock}."
        case PlayerResigned(seat=seat):
            return f"{named(seat, names)} gives up."
        case f.TicitaireFinished():
            return _result(fact, names)
        case _:
            return telling.tell(fact, before, after, names)


def _asked(options: f.Options) -> tuple[str, ...]:
    time = () if options.time_limit is None else (f"{lasting(options.time_limit)} for the game",)
    asked = *["take-backs"] * options.take_back, *["strict Duo"] * options.strict_duo, *time
    return *asked, *fairness(options)


def _place(spot: Spot) -> str:
    if spot in COLUMNS:
        return f"column {COLUMNS.index(spot) + 1}"
    return "the waste" if spot is Spot.WASTE else f"the {spot} pile"


def _moved(fact: f.CardsMoved, before: TicitaireTable) -> str:
    top, bottom = fact.cards[0], fact.cards[-1]
    what = str(top) if len(fact.cards) == 1 else f"The run of {len(fact.cards)} cards from {top} to {bottom}"
    way = f"{what} goes from {_place(fact.source)}"
    target, lying = _place(fact.target), before.layout.pile(fact.target)
    if not lying:
        return f"{way} to the empty {target}." if fact.target in COLUMNS else f"{way} and starts {target}."
    under = before.card(lying[-1])
    if fact.target in COLUMNS:
        return f"{way} to {target}, below {under}."
    return f"{way} to {target}: a {'Tripo' if is_tripo(top, under) else 'Duo'} with {under}."


def _result(fact: f.TicitaireFinished, names: Names) -> str:
    if fact.ending is Ending.WON:
        return f"{named(1, names)} wins, after {listed(_counts(fact))}."
    return f"The game is given up with {_left(fact)}, after {listed(_counts(fact))}."


def _left(fact: f.TicitaireFinished) -> str:
    return f"{counted(fact.buried, 'card')} face-down and {fact.unplayed} in stock and waste"


def _counts(fact: f.TicitaireFinished) -> list[str]:
    counts = [counted(fact.moves, "move"), f"{counted(fact.turns, 'turn')} of the stock"]
    counts += [counted(fact.recycles, "recycling")] * bool(fact.recycles)
    counts += [counted(fact.take_backs, "take-back")] * bool(fact.take_backs)
    return counts


# The curve


def score(table: TicitaireTable) -> tuple[int, ...] | None:
    """Return how many cards are in play, neither face-down nor in stock or waste: with all 125 the game is won (S9)."""
    return (len(DECK) - table.layout.buried - table.layout.unplayed,) if table.dealt else None


# The list of moves

_SIGNS: Final = {
    **{column: str(number) for number, column in enumerate(COLUMNS, 1)},
    Spot.LOW: "L",
    Spot.HIGH: "H",
    Spot.WASTE: "W",
}
_IN_A_LINE: Final = 4


def note(positions: Iterable[Position[TicitaireTable]]) -> Iterator[str]:
    """Yield the list of a game's moves, four in a line, and what became of it."""
    steps: list[str] = []
    finished: f.TicitaireFinished | None = None
    for fact, *_ in positions:
        match fact:
            case f.TicitaireOpened(options=options):
                yield from folded("Ticitaire  ", (f"ruleset {fact.ruleset}", *_asked(options)))
            case f.TableauDealt(exposed=exposed):
                yield f"           columns 1 to 7: {' '.join(map(short, exposed))}"
                yield ""
            case f.CardTurnedUp(card=card):
                steps[-1] += f" +{short(card)}"
            case GameCancelled():
                yield "           cancelled before the deal"
            case f.TicitaireFinished():
                finished = fact
            case _:
                steps += _step(fact)
    yield from _lines(steps)
    if finished:
        yield ""
        yield "Won." if finished.ending is Ending.WON else f"Given up with {_left(finished)}."
        yield from folded("", _counts(finished))


def _step(fact: Fact) -> list[str]:
    match fact:
        case f.CardsMoved(source=source, target=target, cards=cards):
            run = f"({len(cards)})" if len(cards) > 1 else ""
            return [f"{_SIGNS[source]}-{_SIGNS[target]} {short(cards[0])}{run}"]
        case f.StockTurned(card=card):
            return [f"S-W {short(card)}"]
        case f.WasteRecycled(cards=cards):
            return [f"W-S ({cards})"]
        case f.MovesTakenBack(moves=moves):
            return [f"back {moves}"]
        case PlayerResigned():
            return ["gives up"]
        case TimedOut():
            return ["times out"]
        case _:
            return []


def _lines(steps: Sequence[str]) -> Iterator[str]:
    """Yield the steps in lines that begin with the number of their first one."""
    for first in range(0, len(steps), _IN_A_LINE):
        line = "".join(f"{step:<18}" for step in steps[first : first + _IN_A_LINE])
        yield f"{first + 1:>4}. {line}".rstrip()
