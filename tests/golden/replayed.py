"""Recorded games, replayed as who has no seeds but those of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from domain.dealing import Seeds
from domain.decider import AnyDecider, Fact, Position, positions
from domain.events import read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import GameOpened
from domain.telling import NOBODY_NAMED
from tests.golden.samples import FOLDER

__all__ = ["decider_of", "facts_of", "folded", "score_at", "sentence"]


def facts_of(name: str) -> list[Fact]:
    """Return the facts of a recorded game."""
    lines = (FOLDER / "games" / f"{name}.jsonl").read_bytes().splitlines()
    return [read_event(line, FACT_TYPES).fact for line in lines]


def decider_of(facts: Sequence[Fact]) -> AnyDecider:
    """Return the rules that a game keeps for life."""
    opened = facts[0]
    if not isinstance(opened, GameOpened):
        raise TypeError("a game begins with its opening")
    return DECIDERS[opened.kind, opened.ruleset]


def folded(facts: Sequence[Fact], seeds: Seeds | None = None) -> list[Position[Any]]:
    """Return every position of a game."""
    decider = decider_of(facts)
    return list(positions(decider.evolve, decider.empty(seeds), facts))


@cache
def _recorded(name: str) -> tuple[AnyDecider, Sequence[Position[Any]]]:
    facts = facts_of(name)
    return decider_of(facts), folded(facts)


def sentence(name: str, seq: int, names: Mapping[int, str] = NOBODY_NAMED) -> str:
    """Return how an event of a recorded game is told."""
    decider, game = _recorded(name)
    return decider.tell(*game[seq - 1], names)


def score_at(name: str, seq: int) -> tuple[int, ...] | None:
    """Return the score of a recorded game after an event."""
    decider, game = _recorded(name)
    return decider.score(game[seq - 1].after)
