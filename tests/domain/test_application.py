"""Commands from the request to the disk, on a real PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import DatabaseError, IntegrityError, OperationalError, StoredEvent

from domain.application import (
    GameNotFound,
    Games,
    KeyReused,
    NotSeated,
    Outcome,
    Undecided,
    VersionConflict,
)
from domain.decider import PUBLIC, Command, RuleViolation
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.poker.rules import OpenPoker
from domain.storage import Datastore, EventRecorder, LogBusy, NoConnection
from domain.ticitaire.facts import Options, Spot
from domain.ticitaire.rules import MoveCards, OpenTicitaire, TakeBack, TurnStock
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import TICKLE, OpenTickle
from domain.vault import Keyring, ServerKey, Vault

ADA = UUID(int=1)
BOB = UUID(int=2)


def open_game(games: Games, player: UUID = ADA, key: str | None = None, **options: Any) -> Outcome:
    command = OpenTicitaire(player=player, options=Options(**options))
    return games.open("ticitaire", command, player=player, key=key)


def play(
    games: Games,
    game: UUID,
    command: Callable[[int], Command],
    *,
    player: UUID = ADA,
    expected: int | None = None,
    key: str | None = None,
) -> Outcome:
    return games.handle(game, command, player=player, expected_version=expected, key=key)


def turn(seat: int) -> Command:
    return TurnStock(seat=seat)


def resign(seat: int) -> Command:
    return Resign(seat=seat)


def rows(database_url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url) as connection:
        return connection.execute(query).fetchall()


def test_what_is_acknowledged_is_in_the_log(games: Games, database_url: str) -> None:
    opened = open_game(games)
    log = rows(database_url, "SELECT seq, type, hash FROM game_log ORDER BY position")
    assert log == [(event.seq, event.fact.topic, event.hash) for event in opened.events]


def test_the_stored_bytes_are_readable_json_and_chained(games: Games, database_url: str) -> None:
    game = open_game(games).game.id
    play(games, game, turn)
    before = "0" * 64
    for (state,) in rows(database_url, "SELECT state FROM game_events ORDER BY originator_version"):
        event = json.loads(state)
        assert list(event) == sorted(event)
        assert event["prev"] == before
        before = hashlib.sha256(b"tic/event/v1\n" + state).hexdigest()
    assert games.game(game).head == before


def test_no_hidden_card_is_stored_while_the_game_is_played(games: Games, database_url: str) -> None:
    opened = open_game(games)
    table = opened.game.table
    hidden = {str(table.deck[at]) for at, card in enumerate(table.seen) if card is None}
    stored = rows(database_url, "SELECT convert_from(state, 'UTF8') FROM game_events")
    assert not [name for name in hidden for (text,) in stored if name in text]


def test_a_seed_lies_apart_and_encrypted(games: Games, database_url: str) -> None:
    opened = open_game(games)
    seed = opened.game.table.seeds.seed(1)
    ((sealed,),) = rows(database_url, "SELECT sealed FROM sealed_seeds")
    assert seed not in sealed
    assert rows(
        database_url,
        f"SELECT count(*) FROM game_events WHERE position('{seed.hex()}' IN convert_from(state, 'UTF8')) > 0",
    ) == [(0,)]


def test_a_game_read_from_the_log_equals_the_live_one(games: Games, recorder: EventRecorder, vault: Vault) -> None:
    game = open_game(games, take_back=True).game.id
    play(games, game, turn)
    live = play(games, game, turn).game
    assert Games(recorder, vault).game(game) == live


def test_a_finished_game_is_read_without_the_servers_key(
    games: Games, recorder: EventRecorder, datastore: Datastore
) -> None:
    game = open_game(games).game.id
    over = play(games, game, resign).game
    stranger = Vault(datastore, Keyring([ServerKey.generate()]))
    assert Games(recorder, stranger).game(game).view(PUBLIC) == over.view(PUBLIC)


def test_an_earlier_position_is_the_one_that_was_shown_then(games: Games) -> None:
    game = open_game(games).game.id
    shown = play(games, game, turn).game
    play(games, game, turn)
    assert games.at(game, shown.version) == shown


@pytest.mark.parametrize("version", [0, -1, 4])
def test_a_version_that_the_game_has_not_is_not_found(games: Games, version: int) -> None:
    game = open_game(games).game.id
    with pytest.raises(GameNotFound):
        games.at(game, version)


def test_an_unknown_game_is_not_found(games: Games) -> None:
    with pytest.raises(GameNotFound):
        play(games, uuid4(), turn)


def test_a_player_without_a_seat_is_refused(games: Games) -> None:
    game = open_game(games).game.id
    with pytest.raises(NotSeated):
        play(games, game, turn, player=BOB)


def test_a_stale_version_is_refused_with_the_current_one_and_records_nothing(games: Games) -> None:
    game = open_game(games).game.id
    with pytest.raises(VersionConflict) as refused:
        play(games, game, turn, expected=2)
    assert refused.value.current == 3
    assert games.game(game).version == 3


def test_a_violation_records_nothing(games: Games) -> None:
    game = open_game(games).game.id
    with pytest.raises(RuleViolation):
        play(games, game, lambda seat: MoveCards(seat=seat, source=Spot.WASTE, target=Spot.LOW))
    assert games.game(game).version == 3


# Idempotency


def test_the_same_key_returns_the_first_outcome_however_far_the_game_has_come(games: Games) -> None:
    game = open_game(games).game.id
    first = play(games, game, turn, expected=3, key="the first turn")
    play(games, game, turn)
    again = play(games, game, turn, expected=3, key="the first turn")
    assert (again.game, again.events, again.repeated) == (first.game, first.events, True)


def test_a_key_with_other_content_is_refused(games: Games) -> None:
    game = open_game(games).game.id
    play(games, game, turn, key="a key of ada")
    with pytest.raises(KeyReused):
        play(games, game, resign, key="a key of ada")


def test_a_refusal_spends_no_key(games: Games) -> None:
    game = open_game(games).game.id
    with pytest.raises(RuleViolation):
        play(games, game, lambda seat: TakeBack(seat=seat), key="a key of ada")
    assert not play(games, game, turn, key="a key of ada").repeated


def test_a_key_lives_as_long_as_the_game(games: Games, recorder: EventRecorder, vault: Vault) -> None:
    game = open_game(games).game.id
    first = play(games, game, turn, key="a key of ada")
    assert play(Games(recorder, vault), game, turn, key="a key of ada").events == first.events


def test_the_same_key_opens_the_same_game(games: Games) -> None:
    first, again = open_game(games, key="a game of ada"), open_game(games, key="a game of ada")
    assert (again.game, again.events, again.repeated) == (first.game, first.events, True)


def test_another_players_key_opens_another_game(games: Games) -> None:
    assert open_game(games, key="a game").game.id != open_game(games, player=BOB, key="a game").game.id


def test_the_key_of_a_refused_opening_opens_no_game_that_needs_more_seeds_than_were_drawn_for_it(games: Games) -> None:
    for_ever = TickleOptions(sealed_until=datetime(2999, 1, 1, tzinfo=UTC))
    with pytest.raises(RuleViolation):
        games.open("tickle", OpenTickle(player=ADA, options=for_ever), player=ADA, key="a game of ada")
    with pytest.raises(KeyReused):
        games.open("poker", OpenPoker(player=ADA), player=ADA, key="a game of ada")
    opened = games.open("tickle", OpenTickle(player=ADA), player=ADA, key="a game of ada")
    assert len(opened.game.table.seeds) == TICKLE.deals


def test_an_opening_key_with_other_options_is_refused(games: Games) -> None:
    open_game(games, key="a game of ada")
    with pytest.raises(KeyReused):
        open_game(games, key="a game of ada", take_back=True)


def test_an_opening_that_failed_after_its_seed_was_drawn_finds_the_same_seed(
    games: Games, recorder: EventRecorder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(recorder, "append", fails_before_the_commit)
        with pytest.raises(Undecided):
            open_game(games, key="a game of ada")
    opened = open_game(games, key="a game of ada")
    assert opened.game.table.opened.commitment == vault.open(opened.game.id).commitment.hex()


def test_ten_copies_of_one_request_have_one_effect_and_one_answer(
    games: Games, recorder: EventRecorder, vault: Vault
) -> None:
    game = open_game(games).game.id
    servers = [games, Games(recorder, vault)]
    with ThreadPoolExecutor(10) as pool:
        outcomes = list(pool.map(lambda n: play(servers[n % 2], game, turn, expected=3, key="once only"), range(10)))
    assert {outcome.game.head for outcome in outcomes} == {games.game(game).head}
    assert sorted(outcome.repeated for outcome in outcomes) == [False] + [True] * 9
    assert games.game(game).version == 4


def test_a_game_that_another_server_opens_with_the_same_key_at_the_same_time_is_one_game(
    games: Games, recorder: EventRecorder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, insert = Games(recorder, vault), recorder.append

    def somebody_else_is_first(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        monkeypatch.setattr(recorder, "append", insert)
        open_game(other, key="a game of ada")
        return insert(appends, **on)

    monkeypatch.setattr(recorder, "append", somebody_else_is_first)
    opened = open_game(games, key="a game of ada")
    assert opened.repeated
    assert opened.events == open_game(other, key="a game of ada").events


def test_a_look_at_a_game_that_is_just_being_opened_does_not_disturb_it(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = recorder.append

    def looked_at(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        game_id = UUID(str(appends[0][0].originator_id))
        with pytest.raises(GameNotFound):
            games.game(game_id)
        return insert(appends, **on)

    monkeypatch.setattr(recorder, "append", looked_at)
    assert not open_game(games, key="a game of ada").repeated


# Two servers


def test_a_server_sees_what_another_has_recorded(games: Games, recorder: EventRecorder, vault: Vault) -> None:
    game, other = open_game(games).game.id, Games(recorder, vault)
    assert other.game(game).version == 3
    play(games, game, turn)
    assert other.game(game).version == 4


def test_of_two_servers_racing_on_one_version_one_wins(games: Games, recorder: EventRecorder, vault: Vault) -> None:
    game, other = open_game(games).game.id, Games(recorder, vault)
    together = threading.Barrier(2)

    def race(server: Games) -> str:
        server.game(game)
        together.wait()
        try:
            play(server, game, turn, expected=3)
        except VersionConflict:
            return "conflict"
        return "won"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(race, [games, other])) == ["conflict", "won"]


def test_a_command_that_names_no_version_is_decided_again_after_a_conflict(
    games: Games, recorder: EventRecorder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, other = open_game(games).game.id, Games(recorder, vault)
    insert = recorder.append

    def somebody_else_is_first(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        monkeypatch.setattr(recorder, "append", insert)
        play(other, game, turn)
        return insert(appends, **on)

    monkeypatch.setattr(recorder, "append", somebody_else_is_first)
    assert play(games, game, resign).game.version == 7


# What can go wrong at the commit


def fails_before_the_commit(_appends: Sequence[Sequence[StoredEvent]], **_on: Any) -> Any:
    raise OperationalError("the connection is gone")


@contextmanager
def reply_lost(recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> Iterator[None]:
    """The next commits happen, and their replies are lost on the way."""
    insert, left = recorder.append, [times]

    def lose(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        answer = insert(appends, **on)
        if left[0]:
            left[0] -= 1
            raise OperationalError("the connection is gone")
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(recorder, "append", lose)
        yield


def test_a_lost_commit_reply_is_looked_up_before_anything_is_reported(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = open_game(games).game.id
    with reply_lost(recorder, monkeypatch):
        assert play(games, game, turn, expected=3).game.version == 4
    assert games.game(game).version == 4


def test_an_outcome_that_can_not_be_told_is_said_to_be_undecided(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = open_game(games).game.id
    with monkeypatch.context() as patch:
        patch.setattr(recorder, "append", fails_before_the_commit)
        with pytest.raises(Undecided):
            play(games, game, turn, key="turn it once")
    assert not play(games, game, turn, key="turn it once").repeated


def test_a_busy_log_after_a_lost_reply_leaves_the_outcome_undecided(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = open_game(games).game.id
    faults = iter([OperationalError("the connection is gone"), LogBusy("held"), LogBusy("held")])

    def fail(_appends: Sequence[Sequence[StoredEvent]], **_on: Any) -> Any:
        raise next(faults)

    monkeypatch.setattr(recorder, "append", fail)
    with pytest.raises(Undecided):
        play(games, game, turn)


@pytest.mark.parametrize("error", [DatabaseError, IntegrityError, ValueError], ids=lambda error: error.__name__)
def test_whatever_goes_wrong_after_a_lost_reply_leaves_the_outcome_undecided(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    game = open_game(games).game.id
    insert = recorder.append

    def lost_then_wrong(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        monkeypatch.setattr(recorder, "append", wrong)
        insert(appends, **on)
        raise OperationalError("the connection is gone")

    def wrong(_appends: Sequence[Sequence[StoredEvent]], **_on: Any) -> Any:
        raise error("something else")

    monkeypatch.setattr(recorder, "append", lost_then_wrong)
    with pytest.raises(Undecided):
        play(games, game, turn)
    assert games.game(game).version == 4


def test_what_is_wrong_at_the_first_attempt_is_told_as_it_is(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = open_game(games).game.id

    def wrong(_appends: Sequence[Sequence[StoredEvent]], **_on: Any) -> Any:
        raise DatabaseError("the function is missing")

    monkeypatch.setattr(recorder, "append", wrong)
    with pytest.raises(DatabaseError, match="the function is missing"):
        play(games, game, turn)


def test_a_command_for_which_no_connection_can_be_had_is_not_in_doubt(vault: Vault, database_url: str) -> None:
    with Datastore(database_url, connections=1, patience=0.2) as datastore:
        recorder = EventRecorder(datastore)
        games = Games(recorder, vault)
        game = open_game(games).game.id
        append = recorder.append

        def while_another_has_it(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
            with datastore.get_connection():
                return append(appends, **on)

        recorder.append = while_another_has_it  # type: ignore[method-assign]
        with pytest.raises(NoConnection):
            play(games, game, turn)


# Many at a time


@contextmanager
def together(games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadPoolExecutor]:
    """Hold a first append until the block ends: what is asked for in the block goes in the next batch, together."""
    first, insert = open_game(games).game.id, recorder.append
    entered, go_on = threading.Event(), threading.Event()

    def held(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        monkeypatch.setattr(recorder, "append", insert)
        entered.set()
        assert go_on.wait(10)
        return insert(appends, **on)

    with ThreadPoolExecutor(10) as pool:
        monkeypatch.setattr(recorder, "append", held)
        holding = pool.submit(play, games, first, turn)
        assert entered.wait(10)
        yield pool
        while len(games._batches._waiting) < 2:
            pass
        go_on.set()
        assert holding.result().game.version == 4


def test_a_game_that_can_not_be_read_fails_alone_in_its_batch(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, healthy = open_game(games).game.id, open_game(games).game.id
    state = json.dumps({"game": str(newer), "seq": 4, "type": "tomorrow.Fact"}).encode()
    recorder.append([[StoredEvent(newer, 4, "tomorrow.Fact", state)]])
    with together(games, recorder, monkeypatch) as pool:
        outcomes = [pool.submit(play, games, game, turn) for game in (newer, healthy)]
    assert isinstance(outcomes[0].exception(), ValueError)
    assert outcomes[1].result().game.version == 4


def test_a_refusal_fails_alone_in_its_batch(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, healthy = open_game(games).game.id, open_game(games).game.id
    with together(games, recorder, monkeypatch) as pool:
        outcomes = [pool.submit(play, games, game, turn, expected=2 + n) for n, game in enumerate((refused, healthy))]
    assert isinstance(outcomes[0].exception(), VersionConflict)
    assert outcomes[1].result().game.version == 4


def test_closing_waits_for_every_answer_those_said_again_included(
    games: Games, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, other = open_game(games).game.id, open_game(games).game.id
    play(games, said, turn, key="the first turn")
    with ThreadPoolExecutor(1) as closing:
        with together(games, recorder, monkeypatch) as pool:
            again = pool.submit(play, games, said, turn, key="the first turn")
            new = pool.submit(play, games, other, turn)
            closed = closing.submit(games.close)
        closed.result(10)
    assert again.result(0).repeated
    assert new.result(0).game.version == 4


def test_the_recorder_reports_a_version_that_is_taken(games: Games, recorder: EventRecorder) -> None:
    opened = open_game(games)
    event = opened.events[-1]
    with pytest.raises(IntegrityError):
        recorder.insert_events([StoredEvent(event.game, event.seq, event.fact.topic, event.data)])


def test_idle_connections_that_died_are_replaced(games: Games, database_url: str) -> None:
    game = open_game(games).game.id
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert games.game(game).version == 3
    assert play(games, game, turn).game.version == 4


# The server's own commands


def test_a_time_out_is_never_early(games: Games) -> None:
    game = open_game(games, time_limit=60).game.id
    with pytest.raises(RuleViolation, match="has not run out"):
        games.act(game, RunOutOfTime())


def test_what_the_server_does_with_a_key_it_does_once(games: Games) -> None:
    game = open_game(games, time_limit=60).game.id
    later = games.act(game, ExtendDeadline(seconds=30), key="outage 1")
    again = games.act(game, ExtendDeadline(seconds=30), key="outage 1")
    assert again.game.table.deadline == later.game.table.deadline
    assert later.events[0].cause.actor == "server"


def test_guessed_ids_push_no_game_out_of_memory(recorder: EventRecorder, vault: Vault) -> None:
    games = Games(recorder, vault, keep=2)
    opened = open_game(games).game
    for _ in range(3):
        with pytest.raises(GameNotFound):
            games.game(uuid4())
        with pytest.raises(GameNotFound):
            play(games, uuid4(), turn)
    assert games.game(opened.id) is opened


def test_games_beyond_the_number_kept_are_read_again(recorder: EventRecorder, vault: Vault) -> None:
    games = Games(recorder, vault, keep=2)
    opened = [open_game(games).game.id for _ in range(4)]
    assert [games.game(game).version for game in opened] == [3] * 4
