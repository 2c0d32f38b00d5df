"""The list of games, as it takes in tables for several."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from domain.application import Games
from domain.decider import Command
from domain.lifecycle import Resign
from domain.rematches import Rematches
from domain.seating import Cancel, Join, Leave, Seating, Start, invitation
from domain.storage import Datastore
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import Options
from domain.tickle.rules import OpenTickle
from projections.lobby import GameRow, Lobby, LobbyQueries, Status
from projections.runner import Follower
from tests.projections.shown import contents

ADA, BOB, CYD = UUID(int=1), UUID(int=2), UUID(int=3)


@pytest.fixture
def listed(datastore: Datastore) -> Callable[..., list[GameRow]]:
    """The list when it has caught up: listed(status=..., player=..., private=...)."""
    follower, queries = Follower(datastore, Lobby()), LobbyQueries(datastore)

    def ask(**wanted: object) -> list[GameRow]:
        while follower.step():
            pass
        return queries.games(**wanted)  # type: ignore[arg-type]

    return ask


Listed = Callable[..., list[GameRow]]


class Table:
    """A table of Ada's, at which things happen."""

    def __init__(self, games: Games, *guests: UUID, **options: object) -> None:
        self._games = games
        made = Options.model_validate({"seating": Seating.AS_JOINED, **options})
        opened = games.open("tickle", OpenTickle(player=ADA, options=made), player=ADA, key=None)
        self.id = opened.game.id
        code = invitation(opened.game.table.seeds) if made.private else None
        for guest in guests:
            self.hand_in(Join(player=guest, code=code), guest)

    def hand_in(self, command: Command, player: UUID = ADA) -> None:
        self._games.handle(self.id, lambda _: command, player=player, expected_version=None, key=None, seated=False)

    def start(self) -> None:
        self.hand_in(Start(player=ADA))


def test_an_open_table_tells_who_has_come_and_how_many_it_takes(games: Games, listed: Listed) -> None:
    Table(games, CYD, BOB, seats=4)
    (row,) = listed()
    assert (row.status, row.takes, row.players, row.seated) == (Status.OPEN, 4, (ADA, CYD, BOB), ())


def test_a_table_that_started_tells_the_seats(games: Games, listed: Listed) -> None:
    table = Table(games, BOB)
    table.start()
    (row,) = listed()
    assert (row.status, row.players, row.seated) == (Status.PLAYING, (ADA, BOB), (ADA, BOB))


def test_seats_are_told_in_their_own_order(games: Games, listed: Listed) -> None:
    table = Table(games, BOB, CYD)
    table.start()
    table.hand_in(Resign(seat=1))
    table.hand_in(Resign(seat=2), BOB)
    again = Rematches(games)
    rematch = [again.play_again(table.id, player=one, moved_on=True, key=None) for one in (ADA, CYD, BOB)][-1].game
    games.handle(rematch.id, lambda _: Start(player=ADA), player=ADA, expected_version=None, key=None)
    newest, _ = listed()
    assert (newest.players, newest.seated) == ((ADA, CYD, BOB), (BOB, CYD, ADA))


def test_whoever_left_is_not_listed(games: Games, listed: Listed) -> None:
    table = Table(games, BOB, CYD)
    table.hand_in(Leave(player=BOB), BOB)
    (row,) = listed()
    assert (row.players, listed(player=BOB), row.version) == ((ADA, CYD), [], 5)


def test_whoever_came_again_is_the_last(games: Games, listed: Listed) -> None:
    table = Table(games, BOB, CYD)
    table.hand_in(Leave(player=BOB), BOB)
    table.hand_in(Join(player=BOB), BOB)
    (row,) = listed()
    assert row.players == (ADA, CYD, BOB)


def test_a_cancelled_table_keeps_those_who_were_there(games: Games, listed: Listed) -> None:
    table = Table(games, BOB)
    table.hand_in(Cancel(player=ADA))
    (row,) = listed()
    assert (row.status, row.ending, row.players, row.seated) == (Status.CANCELLED, None, (ADA, BOB), ())


def test_tables_are_found_by_how_far_they_have_come(games: Games, listed: Listed) -> None:
    tables = {status: Table(games, BOB) for status in Status}
    for status in (Status.PLAYING, Status.FINISHED):
        tables[status].start()
    tables[Status.FINISHED].hand_in(Resign(seat=2), BOB)
    tables[Status.CANCELLED].hand_in(Cancel(player=ADA))
    found = {status: [row.game for row in listed(status=status)] for status in Status}
    assert found == {status: [table.id] for status, table in tables.items()}


def test_tables_are_found_by_whether_they_are_private(games: Games, listed: Listed) -> None:
    private, public = Table(games, BOB, private=True), Table(games)
    found = [[row.game for row in listed(private=wanted)] for wanted in (True, False)]
    assert found == [[private.id], [public.id]]


def test_a_rematch_takes_those_who_played(games: Games, listed: Listed) -> None:
    table = Table(games, BOB, seats=6, private=True)
    table.start()
    table.hand_in(Resign(seat=2), BOB)
    Rematches(games).play_again(table.id, player=BOB, moved_on=False, key=None)
    newest, _ = listed()
    assert (newest.host, newest.takes, newest.private) == (BOB, 2, True)


def test_a_rematch_is_private_though_the_game_before_it_was_not(games: Games, listed: Listed) -> None:
    table = Table(games, BOB)
    table.start()
    table.hand_in(Resign(seat=2), BOB)
    rematch = Rematches(games).play_again(table.id, player=BOB, moved_on=False, key=None).game.id
    assert {row.game: row.private for row in listed()} == {rematch: True, table.id: False}


def test_a_table_that_anyone_may_join_now_is_found_as_such(games: Games, listed: Listed) -> None:
    tables = {
        "open": Table(games, BOB, seats=3),
        "full": Table(games, BOB, CYD, seats=3),
        "full again": Table(games, BOB, seats=2),
        "left": Table(games, BOB, seats=2),
        "private": Table(games, BOB, seats=3, private=True),
        "started": Table(games, BOB, seats=3),
        "finished": Table(games, BOB, seats=3),
        "cancelled": Table(games, BOB, seats=3),
        "alone": Table(games),
    }
    tables["full again"].hand_in(Leave(player=BOB), BOB)
    tables["full again"].hand_in(Join(player=CYD), CYD)
    tables["left"].hand_in(Leave(player=BOB), BOB)
    for what in ("started", "finished"):
        tables[what].start()
    tables["finished"].hand_in(Resign(seat=2), BOB)
    tables["cancelled"].hand_in(Cancel(player=ADA))
    rematch = Rematches(games).play_again(tables["finished"].id, player=ADA, moved_on=False, key=None).game.id
    games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None)
    names = {table.id: what for what, table in tables.items()} | {rematch: "rematch"}
    assert [names.get(row.game) for row in listed(joinable=True)] == ["alone", "left", "open"]
    assert len(listed(joinable=False)) == len(tables) + 2


def test_joinable_narrows_what_else_is_asked_for(games: Games, listed: Listed) -> None:
    mine, newest = Table(games, BOB), Table(games)
    found = [listed(joinable=True, player=BOB), listed(joinable=True, kind="ticitaire"), listed(joinable=True, first=1)]
    assert [[row.game for row in rows] for rows in found] == [[mine.id], [], [newest.id]]


@pytest.mark.parametrize("batch", [1, 2, 3, 500])
def test_however_the_log_is_cut_the_list_is_the_same(
    games: Games, datastore: Datastore, database_url: str, batch: int
) -> None:
    tables = [Table(games, BOB, CYD) for _ in range(3)]
    for table in tables:
        table.hand_in(Leave(player=BOB), BOB)
        table.hand_in(Join(player=BOB), BOB)
    tables[0].start()
    tables[0].hand_in(Resign(seat=2), CYD)
    tables[1].hand_in(Cancel(player=ADA))
    follower = Follower(datastore, Lobby(), batch=batch)
    while follower.step():
        pass
    in_pieces = contents(database_url, Lobby())
    follower.rebuild(lambda _done, _total: None)
    assert contents(database_url, Lobby()) == in_pieces
    assert [len(in_pieces[table]) for table in Lobby.tables] == [3, 9]
