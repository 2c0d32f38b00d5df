"""Rematches on a real PostgreSQL: one table for all who ask, whoever asks first, and however often."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import StoredEvent

from domain.application import GameNotFound, Games, KeyReused, NotSeated, Outcome, WrongKind
from domain.decider import Command, RuleViolation
from domain.lifecycle import Resign
from domain.rematches import MOST, MOST_EACH, Rematches
from domain.storage import EventRecorder
from domain.tables import Cancel, Join, Leave, Seating, Start
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import DeckPart, Options
from domain.tickle.rules import OpenTickle
from domain.vault import Vault

ADA, BOB, EVE = UUID(int=1), UUID(int=2), UUID(int=9)
OPTIONS = Options(seats=2, deck=DeckPart.HALF, seating=Seating.AS_JOINED)


def hand_in(games: Games, game: UUID, command: Command, player: UUID) -> Outcome:
    return games.handle(game, lambda _: command, player=player, expected_version=None, key=None, seated=False)


def started(games: Games) -> UUID:
    """A game that Ada plays at seat 1, and Bob at seat 2."""
    game = games.open("tickle", OpenTickle(player=ADA, options=OPTIONS), player=ADA, key=None).game.id
    hand_in(games, game, Join(player=BOB), BOB)
    hand_in(games, game, Start(player=ADA), ADA)
    return game


def codes_of(rematches: Rematches, game: UUID, player: UUID = ADA, key: str | None = None) -> tuple[str, str]:
    """The code and the ruling by which a rematch is refused."""
    with pytest.raises(RuleViolation) as refused:
        again(rematches, game, player, key=key)
    return refused.value.code, refused.value.ruling


@pytest.fixture
def finished(games: Games) -> UUID:
    game = started(games)
    hand_in(games, game, Resign(seat=2), BOB)
    return game


@pytest.fixture
def rematches(games: Games) -> Rematches:
    return Rematches(games)


@pytest.fixture
def elsewhere(recorder: EventRecorder, vault: Vault) -> Rematches:
    """The rematches as another server finds them."""
    return Rematches(Games(recorder, vault))


def again(
    rematches: Rematches, game: UUID, player: UUID = ADA, *, key: str | None = None, moved_on: bool = False
) -> Outcome:
    return rematches.play_again(game, player=player, moved_on=moved_on, key=key)


def topics(outcome: Outcome) -> list[str]:
    return [event.fact.topic for event in outcome.events]


def test_a_game_has_no_rematch_before_one_is_asked_for(rematches: Rematches, finished: UUID) -> None:
    assert rematches.latest(finished) is None


def test_the_first_to_ask_opens_it_with_the_same_options(rematches: Rematches, finished: UUID) -> None:
    outcome = again(rematches, finished, BOB)
    opened = outcome.game.table.table_opened
    assert topics(outcome) == ["tickle.GameOpened", "game.PlayerJoined"]
    assert (opened.host, opened.options, opened.rematch.game) == (BOB, OPTIONS, finished)
    assert opened.rematch.players == (ADA, BOB)


def test_a_rematch_has_a_deal_of_its_own(rematches: Rematches, games: Games, finished: UUID) -> None:
    opened = again(rematches, finished).game.table.opened
    before = games.game(finished).table.opened
    assert opened.deal != before.deal
    assert opened.commitment != before.commitment


def test_another_server_finds_it_and_lets_the_second_join(
    rematches: Rematches, elsewhere: Rematches, finished: UUID
) -> None:
    first, second = again(rematches, finished), again(elsewhere, finished, BOB)
    assert topics(second) == ["game.PlayerJoined"]
    assert second.game.id == first.game.id
    latest = rematches.latest(finished)
    assert latest is not None
    assert latest.table.joined == (ADA, BOB)


def test_two_who_ask_two_servers_at_the_same_time_come_to_one_table(
    rematches: Rematches, elsewhere: Rematches, games: Games
) -> None:
    for _ in range(5):
        game, together = started(games), threading.Barrier(2)
        hand_in(games, game, Resign(seat=1), ADA)

        def ask(who: tuple[Rematches, UUID], game: UUID = game, together: threading.Barrier = together) -> Outcome:
            together.wait()
            return again(who[0], game, who[1])

        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(ask, [(rematches, ADA), (elsewhere, BOB)]))
        assert len({outcome.game.id for outcome in outcomes}) == 1
        assert sorted(map(topics, outcomes)) == [["game.PlayerJoined"], ["tickle.GameOpened", "game.PlayerJoined"]]


def test_who_is_second_at_the_last_moment_joins(
    rematches: Rematches, elsewhere: Rematches, finished: UUID, recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = recorder.append

    def bob_is_first(appends: Sequence[Sequence[StoredEvent]], **on: Any) -> Any:
        monkeypatch.setattr(recorder, "append", insert)
        again(elsewhere, finished, BOB)
        return insert(appends, **on)

    monkeypatch.setattr(recorder, "append", bob_is_first)
    outcome = again(rematches, finished)
    assert topics(outcome) == ["game.PlayerJoined"]
    assert outcome.game.table.opened.host == BOB


# Keys


def test_the_same_key_returns_the_first_outcome_to_each(
    rematches: Rematches, elsewhere: Rematches, finished: UUID
) -> None:
    first = [again(rematches, finished, player, key="once again") for player in (ADA, BOB)]
    later = [again(elsewhere, finished, player, key="once again") for player in (ADA, BOB)]
    assert [outcome.events for outcome in later] == [outcome.events for outcome in first]
    assert [outcome.repeated for outcome in (*first, *later)] == [False, False, True, True]


def test_ten_copies_of_one_request_have_one_effect(rematches: Rematches, elsewhere: Rematches, finished: UUID) -> None:
    servers = [rematches, elsewhere]
    with ThreadPoolExecutor(10) as pool:
        outcomes = list(pool.map(lambda n: again(servers[n % 2], finished, key="once again"), range(10)))
    assert sorted(outcome.repeated for outcome in outcomes) == [False] + [True] * 9
    assert {outcome.game.version for outcome in outcomes} == {2}


def test_a_key_with_other_content_is_refused(rematches: Rematches, finished: UUID) -> None:
    again(rematches, finished, key="once again")
    with pytest.raises(KeyReused):
        again(rematches, finished, key="once again", moved_on=True)


def test_without_a_key_whoever_asks_again_has_joined(rematches: Rematches, finished: UUID) -> None:
    again(rematches, finished)
    assert codes_of(rematches, finished) == ("ALREADY_JOINED", "G3")


# Cancelled


def cancel(games: Games, rematch: Outcome) -> None:
    host = rematch.game.table.opened.host
    hand_in(games, rematch.game.id, Cancel(player=host), host)


def test_after_a_cancelled_one_another_is_opened(
    rematches: Rematches, elsewhere: Rematches, games: Games, finished: UUID
) -> None:
    first = again(rematches, finished)
    cancel(games, first)
    between = rematches.latest(finished)
    second = again(elsewhere, finished, BOB)
    assert between is None
    assert (second.game.id != first.game.id, second.game.table.opened.host) == (True, BOB)
    assert [found.latest(finished) == second.game for found in (rematches, elsewhere)] == [True, True]


def test_a_rematch_is_the_latest_also_when_it_is_over(rematches: Rematches, games: Games, finished: UUID) -> None:
    outcome = [again(rematches, finished, player) for player in (ADA, BOB)][-1]
    hand_in(games, outcome.game.id, Start(player=ADA), ADA)
    hand_in(games, outcome.game.id, Resign(seat=1), ADA)
    latest = rematches.latest(finished)
    assert latest is not None
    assert (latest.id, latest.table.over) == (outcome.game.id, True)


def test_whoever_has_cancelled_three_opens_no_other(rematches: Rematches, games: Games, finished: UUID) -> None:
    for _ in range(MOST_EACH):
        cancel(games, again(rematches, finished))
    assert codes_of(rematches, finished) == ("NO_MORE_REMATCHES", "G4")
    assert rematches.latest(finished) is None


def test_another_still_opens_one_that_whoever_cancelled_three_joins(
    rematches: Rematches, games: Games, finished: UUID
) -> None:
    for _ in range(MOST_EACH):
        cancel(games, again(rematches, finished))
    opened = again(rematches, finished, BOB)
    joined = again(rematches, finished)
    assert [topics(opened), topics(joined)] == [["tickle.GameOpened", "game.PlayerJoined"], ["game.PlayerJoined"]]
    assert joined.game.table.joined == (BOB, ADA)


def test_those_that_another_cancelled_do_not_count(rematches: Rematches, games: Games, finished: UUID) -> None:
    for player in [ADA, BOB] * (MOST_EACH - 1):
        cancel(games, again(rematches, finished, player))
    last = again(rematches, finished)
    assert topics(last) == ["tickle.GameOpened", "game.PlayerJoined"]
    cancel(games, last)
    assert codes_of(rematches, finished) == ("NO_MORE_REMATCHES", "G4")
    assert again(rematches, finished, BOB).game.table.joined == (BOB,)


def test_there_is_a_table_for_everybody_though_all_the_others_have_cancelled_theirs() -> None:
    most_players = 6
    assert most_players * MOST_EACH < MOST


def test_by_its_key_a_cancelled_one_is_found_though_no_other_is_opened(
    rematches: Rematches, games: Games, finished: UUID
) -> None:
    outcomes = []
    for number in range(MOST_EACH):
        outcomes.append(again(rematches, finished, key=f"rematch {number}"))
        cancel(games, outcomes[-1])
    later = [again(rematches, finished, key=f"rematch {number}") for number in range(MOST_EACH)]
    assert [(outcome.events, outcome.repeated) for outcome in later] == [(one.events, True) for one in outcomes]


# Started


def dealt(rematches: Rematches, games: Games, game: UUID) -> UUID:
    """The rematch of a game, which Ada and Bob came to with keys and started."""
    opened, _ = [again(rematches, game, player, key=f"rematch of {player.int}") for player in (ADA, BOB)]
    hand_in(games, opened.game.id, Start(player=ADA), ADA)
    return opened.game.id


@pytest.mark.parametrize("player", [ADA, BOB])
@pytest.mark.parametrize("key", [None, "another key"])
@pytest.mark.parametrize("over", [False, True], ids=["played", "over"])
def test_a_game_whose_rematch_was_dealt_is_not_played_again(
    rematches: Rematches, games: Games, finished: UUID, player: UUID, key: str | None, over: bool
) -> None:
    rematch = dealt(rematches, games, finished)
    if over:
        hand_in(games, rematch, Resign(seat=1), ADA)
    version = games.game(rematch).version
    assert codes_of(rematches, finished, player, key) == ("REMATCH_STARTED", "G4")
    assert games.game(rematch).version == version


def test_by_the_key_the_first_outcome_is_told_though_it_was_dealt(
    rematches: Rematches, games: Games, finished: UUID
) -> None:
    dealt(rematches, games, finished)
    outcomes = [again(rematches, finished, player, key=f"rematch of {player.int}") for player in (ADA, BOB)]
    assert [(outcome.repeated, outcome.game.version) for outcome in outcomes] == [(True, 2), (True, 3)]


def test_the_rematch_is_itself_played_again(rematches: Rematches, games: Games, finished: UUID) -> None:
    rematch = dealt(rematches, games, finished)
    hand_in(games, rematch, Resign(seat=1), ADA)
    third = again(rematches, rematch, BOB).game.table.table_opened.rematch
    assert third is not None
    assert third.game == rematch


# Refused


def test_whoever_did_not_play_is_refused(rematches: Rematches, finished: UUID) -> None:
    with pytest.raises(NotSeated):
        again(rematches, finished, EVE)
    assert rematches.latest(finished) is None


def test_whoever_resigned_plays_again(rematches: Rematches, finished: UUID) -> None:
    assert again(rematches, finished, BOB).game.table.joined == (BOB,)


def test_a_game_that_is_played_is_not_played_again_yet(rematches: Rematches, games: Games) -> None:
    assert codes_of(rematches, started(games)) == ("NOT_FINISHED", "G4")


@pytest.mark.parametrize("player", [ADA, BOB], ids=["its host", "its guest"])
@pytest.mark.parametrize("cancelled", [False, True], ids=["open", "cancelled"])
def test_a_table_before_its_deal_is_not_played_again(
    rematches: Rematches, games: Games, player: UUID, cancelled: bool
) -> None:
    opened = games.open("tickle", OpenTickle(player=ADA, options=OPTIONS), player=ADA, key=None)
    hand_in(games, opened.game.id, Join(player=BOB), BOB)
    if cancelled:
        cancel(games, opened)
    assert codes_of(rematches, opened.game.id, player) == ("NOT_FINISHED", "G4")


def test_whoever_left_before_the_deal_is_a_stranger(rematches: Rematches, games: Games) -> None:
    game = games.open("tickle", OpenTickle(player=ADA, options=OPTIONS), player=ADA, key=None).game.id
    hand_in(games, game, Join(player=BOB), BOB)
    hand_in(games, game, Leave(player=BOB), BOB)
    with pytest.raises(NotSeated):
        again(rematches, game, BOB)


def test_a_kind_without_rematches_says_so(rematches: Rematches, games: Games) -> None:
    game = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id
    with pytest.raises(WrongKind) as refused:
        again(rematches, game)
    assert refused.value.kind == "ticitaire"


def test_a_game_that_does_not_exist_is_not_found(rematches: Rematches) -> None:
    with pytest.raises(GameNotFound):
        again(rematches, uuid4())
