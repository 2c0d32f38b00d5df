"""Two servers that decide at the same time: one is first, and the other decides again or says that it came late."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.api.company import do, names, opened, started_by
from tests.client import Client
from tests.servers.pair import Both, accepted, at_once


async def at_table(both: Both, *players: str) -> list[Both]:
    return [await both.register(name) for name in players]


def by_type(answers: Sequence[Any]) -> dict[str, Any]:
    """The answers, of which no two are of the same type, by their types."""
    found = {answer["__typename"]: answer for answer in answers}
    assert len(found) == len(answers), answers
    return found


# --- with an expected version ---


async def test_of_two_moves_that_both_servers_have_decided_one_is_played_and_the_other_is_a_version_conflict(
    both: Both, database_url: str
) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire"))["game"]
    moves = [do(client, "turnTicitaireStock", game) for client in ada]
    answers = by_type(await at_once(database_url, moves))
    assert answers["CommandAccepted"]["version"] == 4
    assert answers["VersionConflict"]["currentVersion"] == 4
    assert (await ada.one.game(game["id"], "version"))["version"] == 4


async def test_in_forty_races_one_of_two_servers_wins_and_the_other_is_told_the_current_version(both: Both) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire"))["game"]
    for _ in range(40):
        answers = by_type(await asyncio.gather(*(do(client, "turnTicitaireStock", game) for client in ada)))
        assert answers["VersionConflict"]["currentVersion"] == answers["CommandAccepted"]["version"]
        game = answers["CommandAccepted"]["game"]
    chain = await ada.other.history(game["id"])
    assert [event["seq"] for event in chain] == list(range(1, 44))
    assert [event["previousHash"] for event in chain[1:]] == [event["hash"] for event in chain[:-1]]


async def test_whoever_lost_the_race_plays_on_from_the_version_that_he_was_told(both: Both, database_url: str) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire"))["game"]
    answers = await at_once(database_url, [do(client, "turnTicitaireStock", game) for client in ada])
    lost = next(number for number, answer in enumerate(answers) if answer["__typename"] == "VersionConflict")
    version = answers[lost]["currentVersion"]
    assert accepted(await do(ada[lost], "turnTicitaireStock", game, expectedVersion=version))["version"] == 5


# --- without one ---


async def test_two_players_who_take_the_last_two_seats_at_once_both_get_one(both: Both, database_url: str) -> None:
    ada, bob, cyd = await at_table(both, "Ada", "Bob", "Cyd")
    game = await opened(ada.one, seats=3)
    answers = await at_once(database_url, [do(client, "joinGame", game) for client in (bob.one, cyd.other)])
    assert sorted(accepted(answer)["version"] for answer in answers) == [3, 4]
    shown = (await ada.one.game(game["id"], "players { name }"))["players"]
    assert (shown[0]["name"], sorted(names(shown))) == ("Ada", ["Ada", "Bob", "Cyd"])


async def test_of_two_players_who_take_the_last_seat_at_once_one_gets_it_and_the_other_is_told_it_is_taken(
    both: Both, database_url: str
) -> None:
    ada, bob, cyd = await at_table(both, "Ada", "Bob", "Cyd")
    game = await opened(ada.one, seats=2)
    answers = by_type(await at_once(database_url, [do(client, "joinGame", game) for client in (bob.one, cyd.other)]))
    assert answers["CommandAccepted"]["version"] == 3
    assert answers["RuleViolation"]["code"] == "TABLE_FULL"


async def test_seven_players_who_come_to_a_table_at_once_all_sit_down_and_it_starts_once(
    both: Both, database_url: str
) -> None:
    ada, *guests = await at_table(both, "Ada", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal")
    game = accepted(await do(ada.one, "openPoker", seats=8, startWhenFull=True))["game"]
    joins = [do(guest[number % 2], "joinGame", game) for number, guest in enumerate(guests)]
    answers = await at_once(database_url, joins)
    assert sorted(accepted(answer)["game"]["status"] for answer in answers) == [*["OPEN"] * 6, "PLAYING"]
    history = await ada.other.history(game["id"], fields="type")
    assert [event["type"] for event in history].count("game.PlayerSeated") == 8


async def test_two_players_of_three_who_resign_at_once_both_have_resigned_and_the_third_has_won(
    both: Both, database_url: str
) -> None:
    ada, bob, cyd = await at_table(both, "Ada", "Bob", "Cyd")
    game = await started_by(ada.one, bob.one, cyd.one)
    answers = await at_once(database_url, [do(client, "resignGame", game) for client in (bob.one, cyd.other)])
    assert sorted(accepted(answer)["game"]["status"] for answer in answers) == ["FINISHED", "PLAYING"]
    result = "... on TickleGame { result { ending places { place resigned } } }"
    shown = (await ada.other.game(game["id"], result))["result"]
    assert shown["ending"] == "RESIGNATIONS"
    assert sorted((line["place"], line["resigned"]) for line in shown["places"]) == [(1, False), (2, True), (3, True)]


async def test_of_two_players_of_two_who_resign_at_once_one_has_resigned_and_the_other_has_won(
    both: Both, database_url: str
) -> None:
    ada, bob = await at_table(both, "Ada", "Bob")
    game = await started_by(ada.one, bob.one)
    answers = by_type(await at_once(database_url, [do(client, "resignGame", game) for client in (ada.one, bob.other)]))
    assert answers["CommandAccepted"]["game"]["status"] == "FINISHED"
    assert answers["RuleViolation"]["code"] == "GAME_OVER"


async def test_whoever_joins_while_the_host_starts_has_a_seat_or_is_told_that_it_is_too_late(
    both: Both, database_url: str
) -> None:
    ada, bob, cyd = await at_table(both, "Ada", "Bob", "Cyd")
    game = await opened(ada.one, bob.one)
    started, joined = await at_once(database_url, [do(ada.one, "startGame", game), do(cyd.other, "joinGame", game)])
    shown = await ada.other.game(game["id"], "status seats { player { name } }")
    seated = sorted(seat["player"]["name"] for seat in shown["seats"])
    assert (accepted(started)["__typename"], shown["status"]) == ("CommandAccepted", "PLAYING")
    assert (joined["__typename"], seated) in [
        ("CommandAccepted", ["Ada", "Bob", "Cyd"]),
        ("RuleViolation", ["Ada", "Bob"]),
    ]


@pytest.mark.parametrize("moved_on", [False, True], ids=["seated anew", "moved on"])
async def test_two_players_who_ask_for_a_rematch_at_once_meet_at_one_table(
    both: Both, database_url: str, moved_on: bool
) -> None:
    ada, bob = await at_table(both, "Ada", "Bob")
    over = accepted(await do(bob.one, "resignGame", await started_by(ada.one, bob.one)))["game"]
    asked: list[Client] = [ada.one, bob.other]
    requests = [do(client, "rematchGame", over, movedOn=moved_on) for client in asked]
    answers = sorted(await at_once(database_url, requests), key=lambda answer: accepted(answer)["version"])
    facts = [[event["type"] for event in answer["events"]] for answer in answers]
    assert facts == [["tickle.GameOpened", "game.PlayerJoined"], ["game.PlayerJoined"]]
    again = {answer["game"]["id"] for answer in answers}
    assert again == {(await client.game(over["id"], "rematch { id }"))["rematch"]["id"] for client in both}
