"""The checker of secrecy: what a viewer receives may depend on nothing that the viewer does not know.

Two *worlds* have the same stored facts and the same known cards; the hidden cards lie in another order, and the seeds
are others. Whatever a viewer receives must be equal in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from domain.cards import Card
from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, RuleViolation, Viewer
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime, SeedsRevealed
from domain.ticitaire.dead import Verdict, verdict
from domain.ticitaire.facts import CardTurnedUp, Spot, StockTurned
from domain.ticitaire.rules import TICITAIRE, MoveCards, RecycleWaste, TakeBack, TurnStock
from domain.ticitaire.table import TicitaireTable
from tests.given import NOON

__all__ = ["CHANNELS", "Channels", "differing", "other_worlds"]

CHANNELS: Final = ("view", "legal commands", "verdict", "refusals", "facts")
SEARCH: Final = 60
"""The bound of the search in the checks: the answer may not depend on the world at any bound."""


@dataclass(frozen=True)
class Channels:
    """All ways by which something comes to a viewer."""

    decider: AnyDecider = TICITAIRE
    verdict: Callable[[TicitaireTable], Verdict] = lambda table: verdict(table, bound=SEARCH)

    def received(self, table: TicitaireTable, viewer: Viewer) -> dict[str, str]:
        """Return what the viewer gets of a table, channel by channel, in print: so order and length count too."""
        refusals, facts = [], []
        for command in _commands(viewer.seat):
            try:
                decided = self.decider.decide(command, table, NOON)
            except RuleViolation as violation:
                refusals.append((command, violation.code, violation.ruling, violation.message, violation.args))
            else:
                facts.append((command, [_told(fact, table) for fact in decided]))
        return {
            "view": repr(self.decider.view(table, viewer)),
            "legal commands": repr(self.decider.legal_commands(table, viewer)),
            "verdict": repr(self.verdict(table)),
            "refusals": repr(refusals),
            "facts": repr(facts),
        }


def _commands(seat: int) -> Iterator[Command]:
    yield from (MoveCards(seat=seat, source=source, target=target) for source in Spot for target in Spot)
    yield from (TurnStock(seat=seat), RecycleWaste(seat=seat), TakeBack(seat=seat), TakeBack(seat=seat, moves=10**6))
    yield from (Resign(seat=seat), RunOutOfTime(), ExtendDeadline(seconds=60))


def _told(fact: Any, table: TicitaireTable) -> Any:
    """Leave out what a fact is there to reveal: the very card that is due to be turned, and the seeds at the end."""
    match fact:
        case CardTurnedUp(column=column) if fact.card == table.card(table.layout.column(column).buried[-1]):
            return fact.topic, column
        case StockTurned() if fact.card == table.card(table.layout.stock[0]):
            return (fact.topic,)
        case SeedsRevealed():
            return fact.topic, len(fact.seeds)
        case _:
            return fact.topic, fact.model_dump()


def other_worlds(table: TicitaireTable, count: int) -> Iterator[TicitaireTable]:
    """Yield tables that nobody at the table can tell from this one: every hidden card is another."""
    assert table.deck is not None
    assert table.seeds is not None
    hidden = [at for at, card in enumerate(table.seen) if card is None]
    for turn in range(1, min(count, len(hidden) - 1) + 1):
        deck: list[Card] = list(table.deck)
        for at, other in zip(hidden, hidden[turn:] + hidden[:turn], strict=True):
            deck[at] = table.deck[other]
        seeds = Seeds(table.seeds.deal, [table.seeds.commitment, bytes([turn]) * 32])
        yield replace(table, deck=tuple(deck), seeds=seeds)


def differing(table: TicitaireTable, viewer: Viewer, channels: Channels, *, worlds: int) -> set[str]:
    """Return the channels by which a viewer can tell this world from some of its others."""
    here = channels.received(table, viewer)
    return {
        channel
        for other in other_worlds(table, worlds)
        for channel, received in channels.received(other, viewer).items()
        if received != here[channel]
    }
