"""Between the log and records: what is written out of a store, and what another one takes in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain import archive
from domain.application import Games, SealedElsewhere
from domain.archive import HeldOtherwise, events_up_to, holds, take_in
from domain.dealing import Seeds
from domain.decider import PUBLIC, Command, Viewer
from domain.events import GENESIS, Event, chain, player_actor
from domain.lifecycle import Resign, RunOutOfTime
from domain.record_reading import read_record, read_records
from domain.records import BrokenRecord, Closing, Record, header_of, write_record
from domain.storage import EventRecorder, log_after
from domain.tables import Join, Start
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import OpenTickle
from domain.vault import Vault
from tests.domain.test_records import GAMES, RECORDS, TICITAIRE, TICKLE

ADA = UUID(int=1)

DIFFERENT = list({events[0].game: name for name, events in reversed(GAMES.items())}.values())[::-1]
"""The names of games with different ids, by which one store can hold them."""
ARCHIVE = [line for name in DIFFERENT for line in RECORDS[name]]


def record_of(recorder: EventRecorder, game: UUID) -> Record:
    last = recorder.newest(game)
    assert last is not None
    return read_record(write_record(events_up_to(last, recorder.span)))


def beginning(name: str, length: int) -> Record:
    return read_record(write_record(GAMES[name][:length]))


def taken(recorder: EventRecorder, *records: Record) -> list[bool]:
    return list(take_in(recorder, records))


# Out of the log


@pytest.mark.parametrize("page", [1, 7, 10_000])
def test_a_game_is_read_page_by_page(recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(archive, "PAGE", page)
    taken(recorder, read_record(RECORDS[TICKLE]))
    assert list(record_of(recorder, GAMES[TICKLE][0].game).lines()) == RECORDS[TICKLE]


def test_what_happens_while_a_game_is_read_is_left_out(recorder: EventRecorder, games: Games) -> None:
    game = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id
    last = games.newest(game)
    coming = events_up_to(last, recorder.span)
    read = [next(coming)]
    games.handle(game, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=None)
    assert [event.seq for event in [*read, *coming]] == [1, 2, 3]


def test_games_are_found_in_the_order_of_the_log(recorder: EventRecorder) -> None:
    taken(recorder, *read_records(ARCHIVE))
    every = {GAMES[name][0].fact.topic for name in DIFFERENT}
    ids = [GAMES[name][0].game for name in DIFFERENT]
    assert recorder.opened(every) == ids
    of_tickle = [GAMES[name][0].game for name in DIFFERENT if name.startswith("tickle")]
    assert recorder.opened(["tickle.GameOpened"]) == of_tickle
    assert recorder.opened(every, among=[ids[7], ids[2], uuid4()]) == [ids[2], ids[7]]


def test_games_that_went_on_after_a_position_are_found(recorder: EventRecorder, games: Games) -> None:
    one, other, third = (
        games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id for _ in range(3)
    )
    with recorder._datastore.transaction() as cursor:
        position = log_after(cursor, 0, limit=100)[5].position
    games.handle(one, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=None)
    assert recorder.opened(["ticitaire.GameOpened"], changed_after=position) == [one, third]
    assert other not in recorder.opened(["ticitaire.GameOpened"], changed_after=position)


# Into the log


def test_what_was_taken_in_is_written_out_again_byte_for_byte(recorder: EventRecorder) -> None:
    assert taken(recorder, *read_records(ARCHIVE)) == [True] * len(DIFFERENT)
    again = [line for name in DIFFERENT for line in record_of(recorder, GAMES[name][0].game).lines()]
    assert again == ARCHIVE


def test_a_game_that_the_store_holds_is_passed_over(recorder: EventRecorder) -> None:
    one, other = read_record(RECORDS[TICKLE]), read_record(RECORDS[TICITAIRE])
    assert taken(recorder, one) == [True]
    assert taken(recorder, one, other) == [False, True]


def test_an_earlier_record_of_a_game_that_the_store_holds_is_passed_over(recorder: EventRecorder) -> None:
    assert taken(recorder, read_record(RECORDS[TICITAIRE]), beginning(TICITAIRE, 3)) == [True, False]


def test_a_later_record_of_a_game_that_the_store_holds_is_refused(recorder: EventRecorder) -> None:
    taken(recorder, beginning(TICITAIRE, 3))
    with pytest.raises(HeldOtherwise):
        taken(recorder, read_record(RECORDS[TICITAIRE]))
    assert list(record_of(recorder, GAMES[TICITAIRE][0].game).lines()) == list(beginning(TICITAIRE, 3).lines())


def test_a_game_that_the_store_holds_with_other_events_is_refused(recorder: EventRecorder, games: Games) -> None:
    game = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id
    early = record_of(recorder, game)
    games.handle(game, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=None)
    other = Record(early.header, early.events, early.closing.model_copy(update={"hash": "0" * 64}))
    with pytest.raises(HeldOtherwise, match=str(game)):
        holds(recorder, other)


def test_a_record_that_another_writer_comes_before_is_refused_and_the_others_are_taken_in(
    recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, other = read_record(RECORDS[TICITAIRE]), read_record(RECORDS[TICKLE])
    append = recorder.append

    def come_first(appends: Any) -> Any:
        monkeypatch.setattr(recorder, "append", append)
        append([appends[0][:3]])
        return append(appends)

    monkeypatch.setattr(recorder, "append", come_first)
    done = list[bool]()
    with pytest.raises(HeldOtherwise) as refused:
        done.extend(take_in(recorder, [late, other]))
    assert refused.value.record is late
    assert record_of(recorder, other.game) == other


def test_many_games_go_in_one_transaction(recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "TOGETHER", 200)
    commits = list[None]()
    recorder.appended = lambda: commits.append(None)
    taken(recorder, *read_records(ARCHIVE))
    assert 1 < len(commits) < len(DIFFERENT)


def test_an_archive_is_taken_in_while_it_is_read(recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "TOGETHER", 1)
    read = list[UUID]()

    def coming() -> Iterator[Record]:
        for record in read_records(ARCHIVE):
            read.append(record.game)
            yield record

    next(take_in(recorder, coming()))
    assert len(read) == 2


# What a server makes of it


@pytest.mark.parametrize("name", GAMES)
def test_a_game_that_was_taken_in_is_read_at_its_end_and_in_its_course(
    recorder: EventRecorder, games: Games, name: str
) -> None:
    taken(recorder, read_record(RECORDS[name]))
    last = GAMES[name][-1]
    game = games.game(last.game)
    assert (game.version, game.head, game.table.over) == (last.seq, last.hash, True)
    assert games.at(last.game, last.seq - 1).version == last.seq - 1


def ends_of_commands(events: list[Event]) -> list[int]:
    return [event.seq for event in events if event.part == event.parts]


@pytest.mark.parametrize("name", [TICITAIRE, TICKLE, "poker-declared", "tickle-no-laydown-two-thirds-private"])
def test_a_running_game_that_was_taken_in_is_shown_and_open_to_nobody(
    recorder: EventRecorder, games: Games, name: str
) -> None:
    running = beginning(name, ends_of_commands(GAMES[name])[-2])
    taken(recorder, running)
    game = games.game(running.game)
    assert game.view(PUBLIC) is not None
    for seat, player in enumerate(game.table.players, 1):
        viewer = Viewer(seat=seat, player=player)
        assert game.view(viewer) is not None
        assert game.legal_commands(viewer) == ()
        assert all(game.decider.came_to(game.table, seat, version) == () for version in range(1, game.version))


@pytest.mark.parametrize("name", [TICITAIRE, TICKLE])
def test_a_running_game_that_was_taken_in_is_not_played_on(recorder: EventRecorder, games: Games, name: str) -> None:
    running = beginning(name, ends_of_commands(GAMES[name])[-2])
    taken(recorder, running)
    player = running.header.seats[0]
    with pytest.raises(SealedElsewhere):
        games.handle(running.game, lambda seat: Resign(seat=seat), player=player, expected_version=None, key=None)
    assert games.newest(running.game).seq == len(running.events)


def test_seeds_that_are_sealed_here_for_another_game_of_that_id_deal_nothing(
    recorder: EventRecorder, games: Games, vault: Vault
) -> None:
    running = beginning(TICITAIRE, 3)
    drawn: Seeds = vault.draw(running.game, 1)
    taken(recorder, running)
    assert drawn.commitment.hex() != running.header.commitment
    assert games.game(running.game).table.seeds is None


def test_who_opened_a_game_elsewhere_is_told_so_again_here(recorder: EventRecorder, games: Games) -> None:
    running = beginning(TICITAIRE, 3)
    taken(recorder, running)
    player = running.header.seats[0]
    assert running.events[0].cause.actor == player_actor(player)
    again = games.handle(
        running.game, lambda seat: OpenTicitaire(player=player), player=player, expected_version=None, key="command 0"
    )
    assert (again.repeated, again.game.version) == (True, 3)


def test_a_record_that_names_the_deal_of_another_game_opens_no_seal(recorder: EventRecorder, games: Games) -> None:
    bob, eve = UUID(int=2), UUID(int=3)
    game = games.open("tickle", OpenTickle(player=ADA, options=TickleOptions(seats=2)), player=ADA, key=None).game.id
    coming: tuple[tuple[UUID, Command], ...] = (bob, Join(player=bob)), (ADA, Start(player=ADA))
    for player, command in coming:
        games.handle(game, lambda _, c=command: c, player=player, expected_version=None, key=None, seated=False)  # type: ignore[misc]
    events = games.events(game, after=0, first=100)
    seated = [
        event.fact.model_copy(update={"player": eve}) if getattr(event.fact, "player", None) == bob else event.fact
        for event in events
    ]
    forged = chain(uuid4(), 0, GENESIS, seated, events[0].cause)
    lines = list(write_record(forged))
    with pytest.raises(BrokenRecord, match=r"^line 2: the deal is that of another game"):
        read_record(lines)
    unread = Record(header_of(forged), forged, Closing.model_validate_json(lines[-1]))
    assert taken(recorder, unread) == [True]
    table = games.game(forged[0].game).table
    assert (table.seeds, table.deck) == (None, None)
    with pytest.raises(SealedElsewhere):
        games.handle(forged[0].game, lambda seat: Resign(seat=seat), player=eve, expected_version=None, key=None)
    with pytest.raises(SealedElsewhere):
        games.act(forged[0].game, RunOutOfTime())
