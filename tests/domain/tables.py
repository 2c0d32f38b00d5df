"""Tables for several before their deal, as Tickle has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from domain.decider import Command, Fact, fold
from domain.lifecycle import PlayerSeated
from domain.tables import PlayerJoined, Rematch
from domain.tickle.facts import Options, TickleOpened
from domain.tickle.rules import TICKLE
from domain.tickle.table import TickleTable
from tests.given import NOON, PLAYER, SEEDS

__all__ = ["ANN", "BEN", "CLEO", "HOST", "STRANGER", "after", "again", "seats_of", "table"]

HOST: Final = PLAYER
ANN, BEN, CLEO = (UUID(f"00000000-0000-4000-8000-00000000000{letter}") for letter in "bcd")
STRANGER: Final = UUID(int=99)


def table(*joined: UUID, options: Options | None = None, rematch: Rematch | None = None) -> TickleTable:
    """A table of the host's that others have joined."""
    fact = TickleOpened(
        ruleset=1,
        host=HOST,
        deal=SEEDS.deal,
        commitment=SEEDS.commitment.hex(),
        options=options or Options(),
        rematch=rematch,
    )
    facts = [fact, *(PlayerJoined(player=player) for player in (HOST, *joined))]
    return fold(TICKLE.evolve, TICKLE.empty(SEEDS), facts)


def again(*players: UUID, moved_on: bool = False) -> Rematch:
    """A rematch of a game of these players, seat 1 first."""
    return Rematch(game=UUID(int=5), players=players, moved_on=moved_on)


def after(before: TickleTable, *commands: Command) -> TickleTable:
    """The table after commands."""
    for command in commands:
        before = fold(TICKLE.evolve, before, TICKLE.decide(command, before, NOON))
    return before


def seats_of(facts: Sequence[Fact]) -> tuple[UUID, ...]:
    """Who was seated, seat 1 first."""
    seated = [fact for fact in facts if isinstance(fact, PlayerSeated)]
    assert [fact.seat for fact in seated] == list(range(1, len(seated) + 1))
    return tuple(fact.player for fact in seated)
