"""The lists say of each game's seeds what the game itself says, however the log is cut."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from domain.application import Games
from domain.lifecycle import GameFinished
from domain.storage import Datastore
from domain.verification import of_finished, of_table
from projections.lobby import Lobby, LobbyQueries, Status
from projections.models import PROJECTIONS
from projections.results import ResultQueries, Results
from projections.runner import Follower
from tests.projections.finished import FINISHED, again, logged, recorded
from tests.projections.shown import contents
from tests.projections.verified import SAID, every_sort

BATCHES = pytest.mark.parametrize("batch", [1, 7, 5000])


def taken_in(datastore: Datastore, *, batch: int) -> None:
    for projection in (Lobby(), Results()):
        follower = Follower(datastore, projection, batch=batch)
        while follower.step():
            pass


def said_in(rows: Any, at: datetime) -> dict[UUID, Any]:
    return {row.game: of_finished(proved=row.proved, due=row.seeds_due, at=at) for row in rows}


@BATCHES
def test_both_lists_say_what_the_game_says(datastore: Datastore, games: Games, batch: int) -> None:
    sorts = every_sort()
    logged(datastore, sorts.values())
    taken_in(datastore, batch=batch)
    now = datetime.now(UTC)
    told = {name: of_table(games.game(events[0].game).table, now) for name, events in sorts.items()}
    over = {events[0].game: told[name] for name, events in sorts.items() if is_finished(events)}
    assert told == SAID
    assert said_in(LobbyQueries(datastore).games(status=Status.FINISHED, first=100), now) == over
    assert said_in(ResultQueries(datastore).finished(first=100), now) == over


def is_finished(events: Any) -> bool:
    return any(isinstance(event.fact, GameFinished) for event in events)


@BATCHES
def test_whatever_the_batches_are_every_row_is_the_same(datastore: Datastore, database_url: str, batch: int) -> None:
    logged(datastore, every_sort().values())
    taken_in(datastore, batch=batch)
    for name in ("lobby", "results"):
        followed = contents(database_url, PROJECTIONS[name])
        Follower(datastore, PROJECTIONS[name]).rebuild(lambda *_: None)
        assert contents(database_url, PROJECTIONS[name]) == followed


@pytest.mark.parametrize("name", FINISHED)
def test_the_list_of_games_finds_every_recorded_game_proved(datastore: Datastore, name: str) -> None:
    logged(datastore, [recorded(name)])
    taken_in(datastore, batch=5000)
    ((row,), (game,)) = LobbyQueries(datastore).games(), ResultQueries(datastore).finished(first=1)
    assert (row.proved, row.seeds_due, game.proved, game.seeds_due) == (True, None, True, None)


def test_a_list_that_has_come_to_the_end_and_not_to_the_seeds_of_the_same_command_calls_no_game_unverifiable(
    datastore: Datastore,
) -> None:
    events = again("given-up", 1)
    logged(datastore, [events])
    end = next(n for n, event in enumerate(events, 1) if isinstance(event.fact, GameFinished))
    for projection in (Lobby(), Results()):
        Follower(datastore, projection, batch=end).step()
    at = events[end - 1].cause.at
    assert end < len(events)
    for rows in (LobbyQueries(datastore).games(), ResultQueries(datastore).finished(first=1, newest_first=True)):
        assert [one.name for one in said_in(rows, at).values()] == ["PENDING"]
