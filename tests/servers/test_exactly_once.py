"""One request, however often and wherever it is sent: one effect, and the first answer every time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest

from tests.api.company import do, opened
from tests.client import Client
from tests.servers.pair import Both, accepted, at_once, log_size, turned

KEY = "said-many-times"

Request = Callable[[Client], Coroutine[Any, Any, Any]]


def first_and_again(answers: list[Any]) -> list[Any]:
    """The answers, without what tells which of them was the first, and that one of them was."""
    assert sorted(accepted(answer)["repeated"] for answer in answers) == [False, *[True] * (len(answers) - 1)]
    return [{**answer, "repeated": None} for answer in answers]


# --- at the same time ---


async def opening(player: Both, _: Both) -> Request:
    return lambda client: do(client, "openTicitaire", idempotencyKey=KEY)


async def opening_a_table(player: Both, _: Both) -> Request:
    return lambda client: do(client, "openTickle", private=True, idempotencyKey=KEY)


async def move(player: Both, _: Both) -> Request:
    game = accepted(await do(player.one, "openTicitaire"))["game"]
    return lambda client: do(client, "turnTicitaireStock", game, idempotencyKey=KEY)


async def join(player: Both, host: Both) -> Request:
    game = await opened(host.one)
    return lambda client: do(client, "joinGame", game, idempotencyKey=KEY)


async def start(player: Both, guest: Both) -> Request:
    game = await opened(player.one, guest.other)
    return lambda client: do(client, "startGame", game, idempotencyKey=KEY)


async def resignation(player: Both, host: Both) -> Request:
    game = accepted(await do(host.one, "startGame", await opened(host.one, player.one)))["game"]
    return lambda client: do(client, "resignGame", game, idempotencyKey=KEY)


async def rematch(player: Both, host: Both) -> Request:
    game = accepted(await do(host.one, "startGame", await opened(host.one, player.one)))["game"]
    over = accepted(await do(host.one, "resignGame", game))["game"]
    return lambda client: do(client, "rematchGame", over, idempotencyKey=KEY)


@pytest.mark.parametrize("cut_off", [False, True], ids=["connected", "cut off from the database as they append"])
@pytest.mark.parametrize("asked", [opening, opening_a_table, move, join, start, resignation, rematch])
async def test_ten_copies_at_once_on_two_servers_have_one_effect_and_one_answer(
    both: Both, database_url: str, asked: Callable[[Both, Both], Awaitable[Request]], cut_off: bool
) -> None:
    player = await both.register("Ada")
    ask = await asked(player, await both.register("Bob"))
    before = await log_size(database_url)
    answers = first_and_again(await at_once(database_url, player.copies(ask, 5), cut_off=cut_off))
    assert answers == [answers[0]] * 10
    assert await log_size(database_url) - before == len(answers[0]["events"])


async def test_ten_copies_of_each_move_as_they_come_have_one_effect_and_one_answer(both: Both) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire"))["game"]
    for version in range(4, 10):
        ask = partial(do, mutation="turnTicitaireStock", game=game, idempotencyKey=f"turn to {version}")
        answers = first_and_again(await asyncio.gather(*ada.copies(ask, 5)))
        assert answers == [answers[0]] * 10
        game = answers[0]["game"]
    history = await ada.other.history(game["id"])
    assert [event["seq"] for event in history] == list(range(1, 10))


async def test_the_same_key_of_two_players_at_once_is_two_requests(both: Both, database_url: str) -> None:
    ada, bob = await both.register("Ada"), await both.register("Bob")
    requests = [do(client, "openTicitaire", idempotencyKey=KEY) for client in (ada.one, bob.other)]
    adas, bobs = await at_once(database_url, requests)
    assert (accepted(adas)["repeated"], accepted(bobs)["repeated"]) == (False, False)
    assert adas["game"]["id"] != bobs["game"]["id"]


async def test_one_key_for_two_moves_at_once_is_spent_on_one_of_them(both: Both, database_url: str) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire", takeBack=True))["game"]
    game = await turned(ada, game, 1)
    moves = zip(ada, ("turnTicitaireStock", "takeBackTicitaireMoves"), strict=True)
    answers = await at_once(database_url, [do(client, move, game, idempotencyKey=KEY) for client, move in moves])
    assert sorted(answer["__typename"] for answer in answers) == ["CommandAccepted", "IdempotencyKeyReused"]
    assert (await ada.one.game(game["id"], "version"))["version"] == 5


# --- long afterwards, at the other server ---


class Said(NamedTuple):
    """A move that was played at the one server with a key, many moves ago."""

    player: Both
    before: Any
    """The game before it."""
    first: Any
    """The outcome."""
    game: Any
    """The game as it is now."""

    async def again(self, **changes: Any) -> Any:
        """Say it again at the other server, with other content if some is given."""
        asked = {"mutation": "turnTicitaireStock", "game": self.before, "idempotencyKey": KEY, **changes}
        return await do(self.player.other, **asked)


async def said(both: Both, *, after_it: Callable[[Both], Sequence[Client]]) -> Said:
    ada = await both.register()
    before = accepted(await do(ada.one, "openTicitaire", takeBack=True))["game"]
    first = accepted(await do(ada.one, "turnTicitaireStock", before, idempotencyKey=KEY))
    return Said(ada, before, first, await turned(after_it(ada), first["game"], 30))


PLAYED_ON = pytest.mark.parametrize(
    "after_it",
    [
        pytest.param(lambda player: [player.one], id="the other server has never seen the game"),
        pytest.param(lambda player: player, id="both servers have the game in memory"),
    ],
)


@PLAYED_ON
async def test_an_hour_of_moves_later_the_first_answer_comes_again(
    both: Both, after_it: Callable[[Both], Sequence[Client]]
) -> None:
    move = await said(both, after_it=after_it)
    assert await move.again() == {**move.first, "repeated": True}
    assert (await move.player.one.game(move.game["id"], "version"))["version"] == 34


@PLAYED_ON
async def test_an_hour_of_moves_later_the_key_is_refused_with_other_content(
    both: Both, after_it: Callable[[Both], Sequence[Client]]
) -> None:
    move = await said(both, after_it=after_it)
    refused = await move.again(mutation="takeBackTicitaireMoves", game=move.game, moves=1)
    assert refused["__typename"] == "IdempotencyKeyReused"
    assert (await move.player.one.game(move.game["id"], "version"))["version"] == 34


@PLAYED_ON
async def test_when_the_game_is_over_the_first_answer_comes_again(
    both: Both, after_it: Callable[[Both], Sequence[Client]]
) -> None:
    move = await said(both, after_it=after_it)
    accepted(await do(move.player.one, "giveUpTicitaire", move.game))
    assert await move.again() == {**move.first, "repeated": True}


async def test_the_opening_of_a_game_that_is_over_has_its_first_answer_again(both: Both) -> None:
    ada = await both.register()
    first = accepted(await do(ada.one, "openTicitaire", idempotencyKey=KEY))
    accepted(await do(ada.one, "giveUpTicitaire", await turned([ada.one], first["game"], 20)))
    assert await do(ada.other, "openTicitaire", idempotencyKey=KEY) == {**first, "repeated": True}
    refused = await do(ada.other, "openTicitaire", idempotencyKey=KEY, takeBack=True)
    assert refused["__typename"] == "IdempotencyKeyReused"


async def test_whoever_has_left_the_table_is_told_again_how_he_joined_it(both: Both) -> None:
    ada, bob = await both.register("Ada"), await both.register("Bob")
    game = await opened(ada.one)
    first = accepted(await do(bob.one, "joinGame", game, idempotencyKey=KEY))
    accepted(await do(bob.one, "leaveGame", game))
    assert await do(bob.other, "joinGame", game, idempotencyKey=KEY) == {**first, "repeated": True}
    assert [player["name"] for player in (await ada.other.game(game["id"], "players { name }"))["players"]] == ["Ada"]
