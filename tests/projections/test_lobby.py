"""The list of games, as it takes in tables for several."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Cursor
from psycopg.rows import DictRow, dict_row

from domain.application import Games
from domain.decider import AnyDecider, Command
from domain.entropy import Entropy, RevealEntropy, owing
from domain.events import Event, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import Resign
from domain.rematches import Rematches
from domain.seating import invitation
from domain.storage import Datastore, Logged
from domain.tables import Cancel, Join, Leave, Seating, Start
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import Options
from domain.tickle.rules import OpenTickle
from projections.lobby import AWAITING, GameRow, Lobby, LobbyQueries, Status
from projections.runner import Follower
from projections.tables import LIVE, within
from tests.domain.poker import players as poker
from tests.domain.sittings import Played
from tests.domain.ticitaire import players as ticitaire
from tests.domain.tickle import players as tickle
from tests.golden.samples import samples
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

    def __init__(self, games: Games, *guests: UUID, label: str | None = None, **options: object) -> None:
        self._games = games
        made = Options.model_validate({"seating": Seating.AS_JOINED, **options})
        opened = games.open("tickle", OpenTickle(player=ADA, options=made, label=label), player=ADA, key=None)
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


# --- labels ---


def test_a_label_is_told_and_found(games: Games, listed: Listed) -> None:
    labelled, other, _ = Table(games, label="Ghent 2026"), Table(games, label="Ghent 2027"), Table(games)
    assert [(row.game, row.label) for row in listed(label="Ghent 2026")] == [(labelled.id, "Ghent 2026")]
    assert {row.game: row.label for row in listed()}[other.id] == "Ghent 2027"


def test_games_without_a_label_are_listed_as_such(games: Games, listed: Listed) -> None:
    Table(games)
    assert [row.label for row in listed()] == [None]


def test_a_game_of_one_can_bear_a_label(games: Games, listed: Listed) -> None:
    opening = OpenTicitaire(player=ADA, label="solo")
    game = games.open("ticitaire", opening, player=ADA, key=None).game.id
    assert [(row.game, row.status) for row in listed(label="solo")] == [(game, Status.PLAYING)]


def test_a_rematch_bears_no_label(games: Games, listed: Listed) -> None:
    table = Table(games, BOB, label="club night")
    table.start()
    table.hand_in(Resign(seat=2), BOB)
    rematch = Rematches(games).play_again(table.id, player=BOB, moved_on=False, key=None).game.id
    assert {row.game: row.label for row in listed()} == {rematch: None, table.id: "club night"}


# --- whom games wait for ---


def test_a_table_that_has_not_started_waits_for_no_seat(games: Games, listed: Listed) -> None:
    Table(games, BOB)
    assert listed(player=ADA, awaited=True) == []


def test_a_game_waits_for_the_seat_that_has_the_turn(games: Games, listed: Listed) -> None:
    table = Table(games, BOB)
    table.start()
    found = [[row.game for row in listed(player=player, awaited=True)] for player in (ADA, BOB)]
    assert found == [[table.id], []]


def test_when_a_seat_resigns_the_game_waits_for_the_next(games: Games, listed: Listed) -> None:
    table = Table(games, BOB, CYD)
    table.start()
    table.hand_in(Resign(seat=1))
    found = [[row.game for row in listed(player=player, awaited=True)] for player in (ADA, BOB, CYD)]
    assert found == [[], [table.id], []]


def test_a_game_that_is_over_waits_for_nobody(games: Games, listed: Listed) -> None:
    table = Table(games, BOB)
    table.start()
    assert listed(player=ADA, awaited=True)
    table.hand_in(Resign(seat=1))
    assert [listed(player=player, awaited=True) for player in (ADA, BOB)] == [[], []]


def own(player: UUID) -> bytes:
    """A player's own entropy."""
    return hashlib.sha256(player.bytes).digest()


class EntropyTable(Table):
    """A table to which all bring entropy, and which waits for it."""

    def __init__(self, games: Games, *guests: UUID) -> None:
        options = Options(seats=3, entropy=Entropy.DEMANDED, seating=Seating.AS_JOINED)
        commitments = {player: hashlib.sha256(own(player)).hexdigest() for player in (ADA, *guests)}
        opening = OpenTickle(player=ADA, options=options, commitment=commitments[ADA])
        self._games = games
        self.id = games.open("tickle", opening, player=ADA, key=None).game.id
        for guest in guests:
            self.hand_in(Join(player=guest, commitment=commitments[guest]), guest)
        self.start()

    def reveal(self, player: UUID) -> None:
        self.hand_in(RevealEntropy(player=player, entropy=own(player).hex()), player)


def test_a_table_waits_for_those_whose_entropy_is_due(games: Games, listed: Listed) -> None:
    table = EntropyTable(games, BOB)
    found = [[row.game for row in listed(player=player, awaited=True)] for player in (ADA, BOB, CYD)]
    assert found == [[table.id], [table.id], []]


def test_who_has_revealed_entropy_is_awaited_no_longer_until_the_turn_comes(games: Games, listed: Listed) -> None:
    table = EntropyTable(games, BOB)
    table.reveal(ADA)
    assert [len(listed(player=player, awaited=True)) for player in (ADA, BOB)] == [0, 1]
    table.reveal(BOB)
    assert [len(listed(player=player, awaited=True)) for player in (ADA, BOB)] == [1, 0]


def test_a_table_that_is_called_off_waits_for_nobodys_entropy(games: Games, listed: Listed) -> None:
    table = EntropyTable(games, BOB)
    assert listed(player=BOB, awaited=True)
    table.hand_in(Cancel(player=ADA))
    assert [listed(player=player, awaited=True) for player in (ADA, BOB)] == [[], []]


def test_a_table_that_waits_for_entropy_is_joined_by_nobody(games: Games, listed: Listed) -> None:
    EntropyTable(games, BOB)
    assert [(row.status, row.closed) for row in listed()] == [(Status.OPEN, True)]
    assert listed(joinable=True) == []


def test_of_a_players_games_those_that_wait_are_read_page_by_page(games: Games, listed: Listed) -> None:
    tables = [Table(games, BOB) for _ in range(5)]
    for nth in (0, 2, 3):
        tables[nth].start()
    newest, next_one = listed(player=ADA, awaited=True, first=2)
    (oldest,) = listed(player=ADA, awaited=True, first=2, before=next_one.position)
    assert [row.game for row in (newest, next_one, oldest)] == [tables[nth].id for nth in (3, 2, 0)]


def test_what_waits_for_nobody_in_particular_is_not_asked_for(listed: Listed) -> None:
    with pytest.raises(ValueError, match="name the player"):
        listed(awaited=True)


class Ledger:
    """The list in a transaction that is never committed, and beside it the tables that it tells of."""

    def __init__(self, cursor: Cursor[DictRow]) -> None:
        within(cursor, LIVE)
        self._cursor = cursor
        self._position = 0
        self._tables: dict[UUID, tuple[AnyDecider, Any]] = {}

    def take_in(self, told: Sequence[tuple[AnyDecider, Event]]) -> None:
        """Take in events as one batch, and fold each into its table."""
        batch = []
        for decider, event in told:
            self._position += 1
            topic = event.fact.topic
            batch.append(Logged(self._position, event.game, event.seq, topic, event.data, FACT_TYPES))
            _, table = self._tables.get(event.game, (decider, decider.empty(None)))
            self._tables[event.game] = decider, decider.evolve(table, event.fact)
        with self._cursor.connection.pipeline():
            Lobby().apply(self._cursor, batch)

    def listed(self) -> Awaited:
        query = "SELECT game, array_agg(player) AS players FROM lobby_players WHERE awaited GROUP BY game"
        return {row["game"]: frozenset(row["players"]) for row in self._cursor.execute(query).fetchall()}

    def true(self) -> Awaited:
        waiting = {
            game: frozenset(
                [table.players[seat - 1] for seat in decider.awaits(table)] + list(filter(table.attends, owing(table)))
            )
            for game, (decider, table) in self._tables.items()
        }
        return {game: players for game, players in waiting.items() if players}


Awaited = dict[UUID, frozenset[UUID]]
"""The players that games wait for; nothing of those that wait for none."""


@contextmanager
def ledger_in(database_url: str) -> Iterator[Ledger]:
    # Not from a pool: its threads draw random numbers while Hypothesis makes an example, which it takes for ours.
    with (
        psycopg.connect(database_url, row_factory=dict_row) as connection,
        connection.transaction(force_rollback=True),
    ):
        yield Ledger(connection.cursor())


def in_one_log(chance: random.Random, *played: Played[Any]) -> Iterator[tuple[AnyDecider, Event]]:
    """The events of games that are played at the same time."""
    waiting = [(game.decider, list(game.events())) for game in played]
    while waiting:
        decider, commands = chance.choice(waiting)
        yield from ((decider, event) for event in commands.pop(0))
        waiting = [game for game in waiting if game[1]]


few = settings(
    deadline=None, max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
"""The games of every example are taken back, so the database may be the same."""


@pytest.mark.parametrize("played", [tickle, poker, ticitaire], ids=lambda kind: kind.__name__.split(".")[-2])
def test_after_every_event_those_players_are_awaited_whom_the_table_waits_for(
    database_url: str, played: ModuleType
) -> None:
    @few
    @given(played.games())
    def follow(game: Played[Any]) -> None:
        with ledger_in(database_url) as ledger:
            for told in in_one_log(random.Random(0), game):
                ledger.take_in([told])
                assert ledger.listed() == ledger.true()

    follow()


of_each_kind = st.tuples(tickle.games(), poker.games(), ticitaire.games()).filter(
    lambda played: len({game.seeds.deal for game in played}) == len(played)
)


@few
@given(of_each_kind, st.sampled_from([2, 7, 50, 500]), st.integers(0, 2**32))
def test_however_the_log_is_cut_the_right_players_are_awaited(
    database_url: str, played: Sequence[Played[Any]], batch: int, seed: int
) -> None:
    told = list(in_one_log(random.Random(seed), *played))
    with ledger_in(database_url) as ledger:
        for start in range(0, len(told), batch):
            ledger.take_in(told[start : start + batch])
            assert ledger.listed() == ledger.true()


@pytest.mark.parametrize("sample", samples().values(), ids=samples())
def test_no_fact_but_those_that_are_read_changes_whom_a_game_waits_for(sample: bytes) -> None:
    fact = read_event(sample, FACT_TYPES).fact
    before = [(), (1,), (1, 2, 3)]
    after = {
        decider.awaited_after(seats, fact)
        for decider in DECIDERS.values()
        if type(fact) in decider.facts
        for seats in before
    }
    assert isinstance(fact, AWAITING) or after == set(before)
