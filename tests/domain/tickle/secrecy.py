"""The checker of secrecy: what a viewer receives may depend on no card that the viewer does not know.

Two *worlds* have the same stored facts and the same cards in the grid and in the viewer's hand; all other cards lie in
another order, and the seeds are others. Whatever a viewer receives must be equal in both.

Some facts are there to tell something of a hand: that a seat passed its turn, or has it, when the deck is empty (K7),
and that a draw was due where time ran out (G2). So facts are compared between worlds in which these things are the
same. A fact that says such a thing where it is not true tells nothing that it may, and is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from domain.cards import DECK, Card
from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Fact, RuleViolation, Viewer
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime, SeedsRevealed
from domain.tables import Cancel, Join, Leave, Start
from domain.tickle.facts import CardDrawn, LaidCard, TurnPassed
from domain.tickle.hints import Hints, best_laydowns
from domain.tickle.placement import can_lay
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown
from domain.tickle.table import TickleTable
from domain.turns import TurnBegan
from tests.domain.tickle.players import PLAYERS, some_laydowns
from tests.given import NOON

__all__ = ["CHANNELS", "Channels", "differing", "hidden_positions", "other_worlds"]

CHANNELS: Final = ("view", "legal commands", "refusals", "facts", "cards that came", "hints")
SEARCH: Final = 100
"""The bound of the search for hints in the checks: they may not depend on the world at any bound."""

Received = dict[str, dict[str, str]]
"""What came to a viewer, in print, so that order and length count too: by channel, and by what it may depend on."""


def hints(table: TickleTable, viewer: Viewer) -> Hints | None:
    """Return the best laydowns of the viewer's own hand."""
    if not viewer.seat:
        return None
    drawn = table.drawn_card if viewer.seat == table.turn else None
    return best_laydowns(table.grid, table.hand_set(viewer.seat), drawn, first=5, bound=SEARCH)


@dataclass(frozen=True)
class Channels:
    """All ways by which something comes to a viewer."""

    decider: AnyDecider = TICKLE
    hints: Callable[[TickleTable, Viewer], Hints | None] = hints

    def received(self, table: TickleTable, viewer: Viewer, of_others: Collection[Command] = ()) -> Received:
        """Return what the viewer gets of a table, and of accepted commands of other seats."""
        refusals, facts = [], {}
        commands = [*_commands(viewer, table), *of_others]
        for at, command in enumerate(commands):
            try:
                decided = self.decider.decide(command, table, _at(command, table))
            except RuleViolation as refused:
                refusals.append((at, refused.code, refused.ruling, refused.message, refused.args, refused.reasons))
            else:
                facts[f"{at} {_due(command, table, decided)}"] = repr([_told(fact) for fact in decided])
        seat, versions = viewer.seat, range(1, table.version + 2)
        return {
            "view": {"": repr(self.decider.view(table, viewer))},
            "legal commands": {"": repr(self.decider.legal_commands(table, viewer))},
            "refusals": {"": repr(refusals)},
            "facts": facts,
            "cards that came": {"": repr([self.decider.came_to(table, seat, version) for version in versions])},
            "hints": {"": repr(self.hints(table, viewer))},
        }


def _at(command: Command, table: TickleTable) -> Any:
    return table.deadline if table.deadline and isinstance(command, RunOutOfTime) else NOON


def _commands(viewer: Viewer, table: TickleTable) -> Iterator[Command]:
    """Yield all kinds of commands: laydowns of every card, whoever holds it, among them."""
    seat, player = viewer.seat, viewer.player or PLAYERS[-1]
    cells = [*sorted(table.grid.playable)[:1], *sorted(table.grid.cards)[:1], (900, 900)]
    for cell, cards in zip(cells, (DECK, DECK[::9], DECK[::9]), strict=False):
        yield from (LayDown(seat=seat, cards=(_at_cell(cell, card),)) for card in cards)
    for x, y in sorted(table.grid.playable)[-2:]:
        pairs = zip(DECK[::6], DECK[2::6], strict=False)
        yield from (LayDown(seat=seat, cards=(_at_cell((x, y), a), _at_cell((x + 1, y), b))) for a, b in pairs)
    yield LayDown(seat=seat, cards=())
    yield LayDown(seat=seat, cards=tuple(_at_cell((at, 0), card) for at, card in enumerate(DECK[:26])))
    if seat and seat == table.turn:
        yield from some_laydowns(table, 5)
    yield from (DrawCard(seat=seat), DeclineLaydown(seat=seat), RunOutOfTime(), ExtendDeadline(seconds=60))
    yield from (kind(player=player) for kind in (Join, Leave, Start, Cancel))
    if seat:
        yield Resign(seat=seat)


def _at_cell(cell: tuple[int, int], card: Card) -> LaidCard:
    return LaidCard(x=cell[0], y=cell[1], card=card)


def _due(command: Command, table: TickleTable, facts: Collection[Fact]) -> list[tuple[str, int]]:
    """Return the things that the facts of a command are there to tell of hands, as far as they are true."""
    told: list[tuple[str, int]] = []
    for fact in facts:
        able = bool(table.turn) and can_lay(table.grid, table.hand_set(table.turn))
        match fact:
            case CardDrawn(seat=seat) if isinstance(command, RunOutOfTime) and seat == table.turn and not able:
                told.append(("a draw was due", seat))
            case TurnPassed(seat=seat) if not table.left and not can_lay(table.grid, table.hand_set(seat)):
                told.append(("passed with an empty deck", seat))
            case TurnBegan(seat=seat) if not table.left and can_lay(table.grid, table.hand_set(seat)):
                told.append(("can lay with an empty deck", seat))
        table = TICKLE.evolve(table, fact)
    return told


def _told(fact: Any) -> Any:
    """Leave out what a fact is there to reveal: the seeds at the end."""
    return (fact.topic, len(fact.seeds)) if isinstance(fact, SeedsRevealed) else (fact.topic, fact.model_dump())


def hidden_positions(table: TickleTable, viewer: Viewer, known: Collection[Card] = ()) -> list[int]:
    """Return the deck positions of the cards that a viewer does not know, without some that count as known."""
    assert table.deck is not None
    laid = {DECK[card] for card in table.grid.cards.values()} | set(known)
    own = {got.position for got in table.got[viewer.seat - 1]} if viewer.seat else set()
    return [at for at, card in enumerate(table.deck) if at not in own and card not in laid]


def other_worlds(table: TickleTable, viewer: Viewer, count: int, known: Collection[Card] = ()) -> Iterator[TickleTable]:
    """Yield tables that the viewer can't tell from this one: every card that the viewer does not know is another."""
    assert table.deck is not None
    assert table.seeds is not None
    hidden = hidden_positions(table, viewer, known)
    for number in range(1, min(count, len(hidden) - 1) + 1):
        turn = 1 + (number - 1) * (len(hidden) - 1) // count
        deck = list(table.deck)
        for at, other in zip(hidden, hidden[turn:] + hidden[:turn], strict=True):
            deck[at] = table.deck[other]
        seeds = Seeds(table.seeds.deal, [table.seeds.commitment, bytes([number]) * 32])
        yield replace(table, deck=tuple(deck), seeds=seeds)


def differing(table: TickleTable, viewer: Viewer, channels: Channels, *, worlds: int) -> set[str]:
    """Return the channels by which a viewer can tell this world from some of its others.

    What becomes of another seat's laydown, resignation or end of a turn is told to all, and so are the cards laid.
    """
    laydowns = some_laydowns(table, 2) if table.turn not in (0, viewer.seat) and not table.over else []
    others: list[Command] = [
        *laydowns,
        *(Resign(seat=seat) for seat in table.still_in if seat != viewer.seat and not table.over),
    ]
    if table.drawn is not None and table.turn != viewer.seat:
        others.append(DeclineLaydown(seat=table.turn))
    known = {laid.card for laydown in laydowns for laid in laydown.cards}
    here = channels.received(table, viewer, others)
    return {
        channel
        for other in other_worlds(table, viewer, worlds, known)
        for channel, received in channels.received(other, viewer, others).items()
        if any(here[channel][what] != received[what] for what in here[channel].keys() & received.keys())
        or (channel != "facts" and here[channel].keys() != received.keys())
    }
