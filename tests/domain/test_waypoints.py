"""Any position of a long game is near one that is kept, so it is not folded from the start each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from domain.application import Games
from domain.decider import PUBLIC, Command, Viewer
from domain.storage import EventRecorder
from domain.ticitaire.rules import OpenTicitaire, RecycleWaste, TurnStock
from domain.vault import Vault
from domain.waypoints import APART, Waypoints

ADA = UUID(int=1)
LENGTH = 120


def by(move: type[Command]) -> Callable[[int], Command]:
    return lambda seat: move(seat=seat)


@pytest.fixture
def game(games: Games) -> UUID:
    """A game of 120 events."""
    outcome = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    while outcome.game.version < LENGTH:
        move = TurnStock if TurnStock(seat=1) in outcome.game.legal_commands(Viewer(seat=1)) else RecycleWaste
        outcome = games.handle(outcome.game.id, by(move), player=ADA, expected_version=None, key=None)
    return outcome.game.id


@pytest.fixture
def read(recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events were read from the log, each time some were."""
    counts: list[int] = []
    span = recorder.span

    def counted(game: UUID, *, after: int, first: int) -> object:
        found = span(game, after=after, first=first)
        counts.append(len(found))
        return found

    monkeypatch.setattr(recorder, "span", counted)
    return counts


def test_every_position_is_the_one_that_the_log_gives(
    games: Games, game: UUID, recorder: EventRecorder, vault: Vault
) -> None:
    shown = [games.at(game, version).view(PUBLIC) for version in reversed(range(1, LENGTH + 1))]
    afresh = [Games(recorder, vault).at(game, version).view(PUBLIC) for version in (LENGTH, 100, 64, 63, 33, 32, 1)]
    assert [shown[LENGTH - version] for version in (LENGTH, 100, 64, 63, 33, 32, 1)] == afresh


def test_after_one_look_at_the_end_no_position_takes_more_than_the_events_since_a_waypoint(
    games: Games, game: UUID, read: list[int]
) -> None:
    games.at(game, LENGTH - 1)
    read.clear()
    for version in range(1, LENGTH):
        games.at(game, version)
    assert max(read) < APART
    assert len(read) < LENGTH  # and at a waypoint nothing is read at all


def test_a_look_at_the_beginning_reads_no_further(games: Games, game: UUID, read: list[int]) -> None:
    games.at(game, 5)
    assert read == [5]


def test_a_passage_has_the_positions_that_are_asked_for_one_by_one(games: Games, game: UUID) -> None:
    now = games.game(game)
    for hidden in (False, True):
        told = list(games.passage(now, after=40, first=50, hidden=hidden))
        assert [moment.event.seq for moment in told] == list(range(41, 91))
        assert [moment.game.view(PUBLIC) for moment in told] == [games.at(game, v).view(PUBLIC) for v in range(41, 91)]
        assert [moment.before.version for moment in told] == list(range(40, 90))


def test_a_passage_is_told_without_the_seeds_and_shown_with_them_where_that_is_asked_for(
    games: Games, game: UUID
) -> None:
    (told,) = games.passage(games.game(game), after=60, first=1)
    (shown,) = games.passage(games.game(game), after=60, first=1, hidden=True)
    assert [one.table.seeds for one in (told.before, told.after, told.game, shown.after)] == [None] * 4
    assert shown.game.table.seeds is not None


def test_a_passage_reads_the_log_once_and_the_next_one_from_the_waypoint_before_it(
    games: Games, game: UUID, read: list[int]
) -> None:
    for after, first, hidden in [(0, 100, True), (100, 10, True), (100, 100, False)]:
        list(games.passage(games.game(game), after=after, first=first, hidden=hidden))
    assert read == [100, 110 - 96, LENGTH - 96]


def test_a_passage_ends_with_the_version_that_it_is_asked_of(games: Games, game: UUID) -> None:
    assert [moment.event.seq for moment in games.passage(games.at(game, 70), after=68, first=100)] == [69, 70]
    assert list(games.passage(games.at(game, 70), after=70, first=100)) == []


def test_a_long_passage_is_read_part_by_part(
    games: Games, game: UUID, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("domain.application.AT_ONCE", 50)
    told = games.passage(games.game(game), after=0, first=LENGTH)
    assert next(told).event.seq == 1
    assert read == [50]
    assert [moment.event.seq for moment in told] == list(range(2, LENGTH + 1))
    assert read == [50, 50, 20]


def test_the_games_that_were_looked_at_last_are_kept(games: Games, game: UUID) -> None:
    waypoints, there = Waypoints(games=2), games.at(game, APART)
    for id_ in (UUID(int=7), UUID(int=8), UUID(int=7), UUID(int=9)):
        if waypoints.before(id_, APART) is None:
            waypoints.keep(replace(there, id=id_))
    assert [waypoints.before(UUID(int=n), APART) is not None for n in (7, 8, 9)] == [True, False, True]
