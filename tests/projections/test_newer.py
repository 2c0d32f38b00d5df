"""Beside a newer program: read models with columns that this one does not know, and events that it can't read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from eventsourcing.persistence import StoredEvent
from psycopg.sql import SQL, Identifier

from domain.events import UnknownEvent
from domain.games import FACT_TYPES
from domain.storage import Datastore, EventMapper, EventRecorder
from projections.deadlines import DeadlineQueries
from projections.lobby import LobbyQueries
from projections.models import PROJECTIONS
from projections.players import PlayerQueries
from projections.ratings import RatingQueries
from projections.results import ResultQueries
from projections.runner import Follower
from projections.scoreboards import ALL_TIME, BOARDS, ScoreboardQueries
from projections.tables import LIVE, Projection
from projections.transparency import TreeQueries, asking
from tests.given import NOON
from tests.projections.finished import again, logged, some_finished_games

# Columns more


@pytest.fixture
def filled(datastore: Datastore) -> UUID:
    """A player; the read models hold games."""
    games = some_finished_games(datastore)
    for projection in PROJECTIONS.values():
        follower = Follower(datastore, projection)
        while follower.step():
            pass
    seated = [event.fact.player for event in games[0] if event.fact.topic == "game.PlayerSeated"]  # type: ignore[attr-defined]
    return UUID(str(seated[0]))


@pytest.fixture
def alone(database_url: str) -> Iterator[Datastore]:
    """One connection, which prepares each statement once."""
    with Datastore(database_url, connections=1) as datastore:
        yield datastore


def asked(datastore: Datastore, player: UUID) -> list[object]:
    """All that is asked of read models."""
    ratings, boards, players = RatingQueries(datastore), ScoreboardQueries(datastore), PlayerQueries(datastore)
    deadlines, tree = DeadlineQueries(datastore), TreeQueries(asking(datastore))
    changes = ratings.changes(player, kind="poker", first=5)
    return [
        LobbyQueries(datastore).games(),
        LobbyQueries(datastore).games(player=player),
        ResultQueries(datastore).finished(first=5),
        changes,
        ratings.ratings(player),
        ratings.of_players([player]),
        ratings.of_game(changes[0].game),
        ratings.changes_in(player, [changes[0].game]),
        [boards.lines(board, ALL_TIME, first=5) for board in BOARDS.values()],
        [boards.standing(board, ALL_TIME, player, neighbours=2) for board in BOARDS.values()],
        [boards.players(board, ALL_TIME) for board in BOARDS.values()],
        players.statistics(player),
        players.of_players([player]),
        players.head_to_head(player, UUID(int=2)),
        deadlines.due(NOON, first=5),
        deadlines.running_during(NOON, NOON),
        tree.reached(),
        tree.tiles([(0, 0)]),
        tree.position(0),
    ]


def test_what_is_shown_of_read_models_does_not_change_with_columns_of_a_newer_program(
    filled: UUID, alone: Datastore, database_url: str
) -> None:
    before = asked(alone, filled)
    with psycopg.connect(database_url) as newer:
        for projection in PROJECTIONS.values():
            for table in projection.tables:
                newer.execute(SQL("ALTER TABLE {} ADD COLUMN tomorrow text").format(Identifier(LIVE, table)))
    assert asked(alone, filled) == before


# Events that it can't read

KNOWN: Final = 150


def a_new_fact(event: dict[str, Any]) -> None:
    event["type"] = "tomorrow.Fact"


def a_new_version(event: dict[str, Any]) -> None:
    event["v"] = FACT_TYPES[event["type"]].version + 1


@pytest.fixture(params=[a_new_fact, a_new_version])
def newer(request: pytest.FixtureRequest, datastore: Datastore) -> int:
    """A log that goes on with an event of a newer program, and then with others; the position of that one."""
    make: Callable[[dict[str, Any]], None] = request.param
    mapper, recorder = EventMapper(), EventRecorder(datastore)
    game = again("won", 1)
    logged(datastore, [game[:KNOWN]])
    event = json.loads(game[KNOWN].data)
    make(event)
    state = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
    (positions,) = recorder.append([[StoredEvent(game[KNOWN].game, KNOWN + 1, event["type"], state)]])
    recorder.append([[mapper.to_stored_event(event) for event in again("given-up", 2)[:3]]])
    assert positions is not None
    return positions[0]


def position(database_url: str, projection: Projection) -> int:
    with psycopg.connect(database_url) as connection:
        query = "SELECT position FROM read_models.projection_positions WHERE name = %s"
        row = connection.execute(query, (projection.name,)).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_read_model_takes_in_what_comes_before_them_and_stops_there(
    newer: int, datastore: Datastore, database_url: str, name: str
) -> None:
    follower = Follower(datastore, PROJECTIONS[name])
    assert follower.step() == KNOWN
    for _ in range(2):
        with pytest.raises(UnknownEvent):
            follower.step()
    assert position(database_url, PROJECTIONS[name]) < newer


def test_it_goes_on_where_a_newer_program_has_taken_them_in(
    newer: int, datastore: Datastore, database_url: str
) -> None:
    follower = Follower(datastore, PROJECTIONS["lobby"])
    follower.step()
    with psycopg.connect(database_url) as other:
        other.execute("UPDATE read_models.projection_positions SET position = %s WHERE name = 'lobby'", (newer,))
    assert follower.step() == 3
    assert follower.step() == 0


def test_nothing_is_built_anew_without_them(newer: int, datastore: Datastore, database_url: str) -> None:
    follower = Follower(datastore, PROJECTIONS["lobby"])
    follower.step()
    with pytest.raises(UnknownEvent):
        follower.rebuild(lambda _done, _total: None, batch=100)
    assert position(database_url, PROJECTIONS["lobby"]) == newer - 1
