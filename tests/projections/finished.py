"""Whole games in a log: recorded ones, told again as other games, by other players, at other times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from itertools import zip_longest
from typing import Any, Final
from uuid import UUID

from domain.decider import Fact
from domain.entropy import EntropyDue
from domain.events import GENESIS, Event, chain, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import GameCancelled, GameLabelled
from domain.storage import Datastore, EventMapper, EventRecorder
from projections.results import Results
from projections.runner import Follower
from tests.golden.samples import recorded_games

__all__ = ["FINISHED", "again", "logged", "recorded", "some_finished_games", "taken_in", "with_facts"]


@cache
def recorded(name: str) -> tuple[Event, ...]:
    """A recorded game."""
    return tuple(read_event(line, FACT_TYPES) for line in recorded_games()[name])


FINISHED: Final = tuple(name for name in recorded_games() if not isinstance(recorded(name)[-1].fact, GameCancelled))


def again(
    name: str,
    number: int,
    *,
    players: Mapping[UUID, UUID] | None = None,
    later: timedelta = timedelta(0),
    label: str | None = None,
) -> list[Event]:
    """A recorded game as the game of this number: the same deal, dealt again to others, at another time.

    A label follows the opening.
    """
    told: list[Event] = []
    for command in _commands(recorded(name)):
        facts = [_by(event.fact, players or {}) for event in command]
        if label is not None and not told:
            facts.insert(1, GameLabelled(label=label))
        told += _following(told, facts, command[0], UUID(int=number), later)
    return told


def with_facts(events: Sequence[Event], facts: Sequence[Fact]) -> list[Event]:
    """The game with these facts, each in a command of its own, caused as the events were; the last cause may go on."""
    told: list[Event] = []
    for number, fact in enumerate(facts):
        event = events[min(number, len(events) - 1)]
        told += _following(told, [fact], event, event.game, timedelta(0))
    return told


def _following(told: Sequence[Event], facts: Sequence[Fact], like: Event, game: UUID, later: timedelta) -> list[Event]:
    head = told[-1].hash if told else GENESIS
    return list(chain(game, len(told), head, facts, like.cause._replace(at=like.cause.at + later)))


def _commands(events: Iterable[Event]) -> Iterator[list[Event]]:
    command: list[Event] = []
    for event in events:
        command.append(event)
        if event.part == event.parts:
            yield command
            command = []


def _by(fact: Fact, players: Mapping[UUID, UUID]) -> Fact:
    named = {name: player for name in ("host", "player") if (player := getattr(fact, name, None)) is not None}
    others: dict[str, Any] = {name: players.get(player, player) for name, player in named.items()}
    if isinstance(fact, EntropyDue):
        others["players"] = tuple(players.get(player, player) for player in fact.players)
    return fact.model_copy(update=others)


def logged(datastore: Datastore, games: Iterable[Sequence[Event]]) -> None:
    """Have the games in the log, command by command in turn, as if they were played at the same time."""
    recorder, mapper = EventRecorder(datastore), EventMapper()
    for turn in zip_longest(*(_commands(game) for game in games)):
        appended = recorder.append(
            [[mapper.to_stored_event(event) for event in command] for command in turn if command]
        )
        assert None not in appended


def taken_in(datastore: Datastore, *, batch: int = 500) -> None:
    """Have the read model take in the whole log."""
    follower = Follower(datastore, Results(), batch=batch)
    while follower.step():
        pass


SHORT: Final = (
    "poker-declared",
    "poker-shared-first-place",
    "poker-timed-out",
    "tickle-timed-out",
    "tickle-target-as-joined",
    "given-up",
)


def some_finished_games(datastore: Datastore) -> list[list[Event]]:
    """Games of all kinds that the same players have played over some weeks, a few of them with labels, in the log."""
    told = [
        again(
            name, number * 10 + turn, later=timedelta(days=9 * turn), label="Spring Cup" if turn == number % 3 else None
        )
        for number, name in enumerate(SHORT)
        for turn in range(2)
    ]
    logged(datastore, [*told, recorded("poker-cancelled"), again("won", 900)[:150]])
    return told
