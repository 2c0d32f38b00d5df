"""What tables for several ask of the application: strangers who come, ids that are known, commands of another kind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from domain.application import AlreadyOpened, Games, KeyReused, NotSeated, Outcome, VersionConflict, WrongKind
from domain.decider import Command
from domain.lifecycle import Resign
from domain.storage import EventRecorder
from domain.tables import Join, Leave, Seating, Start
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from domain.tickle.facts import Options
from domain.tickle.rules import OpenTickle
from domain.vault import Vault

ADA, BOB, EVE = UUID(int=1), UUID(int=2), UUID(int=9)
ID = UUID("00000000-0000-5000-8000-000000000007")


def opened(games: Games, player: UUID = ADA, *, key: str | None = None, game_id: UUID | None = None) -> Outcome:
    command = OpenTickle(player=player, options=Options(seating=Seating.AS_JOINED))
    return games.open("tickle", command, player=player, key=key, game_id=game_id)


def hand_in(
    games: Games,
    game: UUID,
    command: Command | Callable[[int], Command],
    player: UUID = BOB,
    *,
    seated: bool = True,
    expected: int | None = None,
    key: str | None = None,
    kind: str | None = None,
) -> Outcome:
    made = (lambda _: command) if isinstance(command, Command) else command
    return games.handle(game, made, player=player, expected_version=expected, key=key, seated=seated, kind=kind)


# Who may ask


def test_a_stranger_is_heard_where_no_seat_is_needed(games: Games) -> None:
    game = opened(games).game.id
    assert hand_in(games, game, Join(player=BOB), seated=False).game.table.joined == (ADA, BOB)


def test_a_stranger_is_not_heard_where_a_seat_is_needed(games: Games) -> None:
    game = opened(games).game.id
    with pytest.raises(NotSeated):
        hand_in(games, game, Leave(player=BOB))


def test_whoever_has_joined_is_heard_before_there_are_seats(games: Games) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    assert hand_in(games, game, Leave(player=BOB)).game.table.joined == (ADA,)


def test_whoever_has_left_is_not_heard_any_more(games: Games) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    hand_in(games, game, Leave(player=BOB))
    with pytest.raises(NotSeated):
        hand_in(games, game, Leave(player=BOB))


def test_whoever_has_left_is_told_so_again_by_the_key(games: Games, recorder: EventRecorder, vault: Vault) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    first = hand_in(games, game, Leave(player=BOB), key="bob leaves")
    for server in (games, Games(recorder, vault)):
        again = hand_in(server, game, Leave(player=BOB), key="bob leaves")
        assert (again.events, again.game.version, again.repeated) == (first.events, first.game.version, True)


def test_whoever_has_left_is_not_heard_with_another_key(games: Games) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    hand_in(games, game, Leave(player=BOB), key="bob leaves")
    with pytest.raises(NotSeated):
        hand_in(games, game, Leave(player=BOB), key="bob leaves again")


def test_a_key_that_was_used_for_something_else_is_refused_also_to_whoever_has_left(games: Games) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    hand_in(games, game, Leave(player=BOB), key="bob leaves")
    with pytest.raises(KeyReused):
        hand_in(games, game, Resign(), key="bob leaves")


def test_a_stranger_does_not_get_the_answer_to_another_s_key(games: Games) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    hand_in(games, game, Leave(player=BOB), key="bob leaves")
    with pytest.raises(NotSeated):
        hand_in(games, game, Leave(player=EVE), EVE, key="bob leaves")


def test_a_command_is_made_of_the_seat_that_the_player_has_by_then(games: Games) -> None:
    game = opened(games).game.id
    seats: list[int] = []

    def told(command: Command) -> Callable[[int], Command]:
        def make(seat: int) -> Command:
            seats.append(seat)
            return command.model_copy(update={"seat": seat})

        return make

    hand_in(games, game, told(Join(player=BOB)), seated=False)
    hand_in(games, game, told(Start(player=ADA)), ADA)
    hand_in(games, game, told(Resign()))
    assert seats == [0, 0, 2]


def test_a_stranger_s_stale_version_is_refused(games: Games) -> None:
    game = opened(games).game.id
    with pytest.raises(VersionConflict):
        hand_in(games, game, Join(player=BOB), seated=False, expected=1)


def test_many_who_come_through_two_servers_at_once_all_join_once(
    games: Games, recorder: EventRecorder, vault: Vault
) -> None:
    game, servers = opened(games).game.id, [games, Games(recorder, vault)]
    crowd = [UUID(int=100 + number) for number in range(5)]

    def join(number: int) -> None:
        hand_in(servers[number % 2], game, Join(player=crowd[number]), crowd[number], seated=False)

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(join, range(5)))
    joined = games.game(game).table.joined
    assert (joined[0], sorted(joined[1:])) == (ADA, crowd)


# A game that must have a certain id


def test_a_game_is_opened_under_the_id_that_is_asked_for(games: Games) -> None:
    outcome = opened(games, game_id=ID)
    assert (outcome.game.id, outcome.game.table.opened.deal, games.game(ID)) == (ID, ID, outcome.game)


def test_the_same_key_finds_it_again(games: Games) -> None:
    first, later = [opened(games, game_id=ID, key="a key of ada") for _ in range(2)]
    assert (later.game, later.events, later.repeated) == (first.game, first.events, True)


@pytest.mark.parametrize(
    ("player", "key"),
    [
        pytest.param(ADA, None, id="the same player without a key"),
        pytest.param(ADA, "another key", id="the same player with another key"),
        pytest.param(BOB, "a key of ada", id="another player with the same key"),
        pytest.param(BOB, None, id="another player without a key"),
    ],
)
def test_another_request_does_not_open_it_again(games: Games, player: UUID, key: str | None) -> None:
    opened(games, game_id=ID, key="a key of ada")
    with pytest.raises(AlreadyOpened):
        opened(games, player, game_id=ID, key=key)
    assert games.game(ID).version == 2


def test_a_key_that_opened_it_otherwise_is_a_key_reused(games: Games) -> None:
    opened(games, game_id=ID, key="a key of ada")
    command = OpenTickle(player=ADA, options=Options(seats=2))
    with pytest.raises(KeyReused) as refused:
        games.open("tickle", command, player=ADA, key="a key of ada", game_id=ID)
    assert not isinstance(refused.value, AlreadyOpened)


# Commands of another kind


def test_a_command_of_another_kind_is_refused_and_records_nothing(games: Games) -> None:
    game = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id
    with pytest.raises(WrongKind) as refused:
        hand_in(games, game, Join(player=BOB), seated=False)
    assert (refused.value.kind, games.game(game).version) == ("ticitaire", 3)


def test_a_move_of_ticitaire_is_refused_at_a_table_of_tickle(games: Games) -> None:
    game = opened(games).game.id
    with pytest.raises(WrongKind) as refused:
        hand_in(games, game, TurnStock(), ADA)
    assert refused.value.kind == "tickle"


@pytest.mark.parametrize("kind", [None, "tickle", "ticitaire"])
def test_a_command_that_several_kinds_know_may_be_kept_to_one(games: Games, kind: str | None) -> None:
    game = opened(games).game.id
    hand_in(games, game, Join(player=BOB), seated=False)
    hand_in(games, game, Start(player=ADA), ADA)
    if kind == "ticitaire":
        with pytest.raises(WrongKind) as refused:
            hand_in(games, game, Resign(seat=2), kind=kind)
        assert (refused.value.kind, games.game(game).table.over) == ("tickle", False)
    else:
        assert hand_in(games, game, Resign(seat=2), kind=kind).game.table.over


def test_the_kind_counts_before_the_seat(games: Games) -> None:
    with pytest.raises(WrongKind):
        hand_in(games, opened(games).game.id, Resign(), EVE, kind="ticitaire")


def test_the_kind_counts_before_the_version(games: Games) -> None:
    game = opened(games).game.id
    with pytest.raises(WrongKind):
        hand_in(games, game, TurnStock(), ADA, expected=99)


def test_the_server_s_own_command_of_another_kind_is_refused(games: Games) -> None:
    game = games.open("ticitaire", OpenTicitaire(player=ADA), player=ADA, key=None).game.id
    with pytest.raises(WrongKind):
        games.act(game, Join(player=ADA))
