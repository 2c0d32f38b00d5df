"""Whatever was acknowledged by one server is seen by whoever asks the other one after it."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.api.company import caught_up, do, names, opened, started_by
from tests.client import Client
from tests.servers.pair import Both, accepted, turned

AS_IT_IS = """
  query ($id: ID!, $after: Int!) {
    game(id: $id) { version hash events(afterSeq: $after, first: 1) { nodes { seq hash } } }
  }
"""


async def sees(reader: Client, outcome: Any) -> bool:
    """Whether a reader who asks now is shown the game no older than after a command, and the command's event."""
    version, hash_ = outcome["version"], outcome["hash"]
    shown = (await reader.ask(AS_IT_IS, id=outcome["game"]["id"], after=version - 1))["game"]
    newer = shown["version"] > version or (shown["version"], shown["hash"]) == (version, hash_)
    return newer and shown["events"]["nodes"] == [{"seq": version, "hash": hash_}]


async def test_what_was_played_at_one_server_is_read_at_the_other_at_once(both: Both) -> None:
    ada = await both.register()
    outcome = accepted(await do(ada.one, "openTicitaire"))
    seen = [await sees(both.other, outcome)]
    for _ in range(25):
        for player, reader in ((ada.one, both.other), (ada.other, both.one)):
            outcome = accepted(await do(player, "turnTicitaireStock", outcome["game"]))
            seen.append(await sees(reader, outcome))
    assert seen == [True] * 51


async def test_it_is_so_while_both_servers_play_the_game_against_each_other(both: Both) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire"))["game"]

    async def play(player: Client, reader: Client) -> list[bool]:
        """Turn the stock twenty times, whatever the other does, and read at the other server after each time."""
        seen, latest = list[bool](), game
        while len(seen) < 20:
            outcome = await do(player, "turnTicitaireStock", latest)
            if outcome["__typename"] == "VersionConflict":
                latest = {**game, "version": outcome["currentVersion"]}
            else:
                latest = accepted(outcome)["game"]
                seen.append(await sees(reader, outcome))
        return seen

    seen = list(await asyncio.gather(play(ada.one, both.other), play(ada.other, both.one)))
    assert seen == [[True] * 20] * 2
    assert (await both.one.game(game["id"], "version"))["version"] == 43


async def test_many_who_read_while_a_game_is_played_see_no_version_after_a_newer_one(both: Both) -> None:
    ada = await both.register()
    game = accepted(await do(ada.one, "openTicitaire"))["game"]

    async def read() -> list[int]:
        """Read at both servers by turns, each time after the answer before, until the last move is seen."""
        seen = [0]
        while seen[-1] < 23:
            seen.append((await both[len(seen) % 2].game(game["id"], "version"))["version"])
        return seen

    *read_by, _ = await asyncio.gather(read(), read(), read(), read(), turned(ada, game, 20))
    assert all(seen == sorted(seen) for seen in read_by)


async def test_a_server_that_was_left_behind_catches_up_when_it_is_asked(both: Both) -> None:
    ada = await both.register()
    game = await turned([ada.other], accepted(await do(ada.other, "openTicitaire"))["game"], 1)
    there = await turned([ada.one], game, 20)
    read = await both.other.game(game["id"], "version hash events(afterSeq: 4) { nodes { seq } }")
    events = {"nodes": [{"seq": seq} for seq in range(5, 25)]}
    assert read == {"version": 24, "hash": (await both.one.game(game["id"], "hash"))["hash"], "events": events}
    played = accepted(await do(ada.other, "turnTicitaireStock", there))
    assert (await both.one.game(game["id"], "version hash")) == {"version": 25, "hash": played["hash"]}


async def test_a_server_that_was_left_behind_refuses_a_move_made_for_what_it_has_in_memory(both: Both) -> None:
    ada = await both.register()
    stale = await turned([ada.other], accepted(await do(ada.other, "openTicitaire"))["game"], 1)
    await turned([ada.one], stale, 20)
    refused = await do(ada.other, "turnTicitaireStock", stale)
    assert (refused["__typename"], refused["currentVersion"]) == ("VersionConflict", 24)


async def test_a_server_that_was_left_behind_shows_positions_that_came_since(both: Both) -> None:
    ada = await both.register()
    game = await turned([ada.other], accepted(await do(ada.other, "openTicitaire"))["game"], 1)
    await turned([ada.one], game, 20)
    position = "position(version: 20) { version hash ... on TicitaireGame { stockCount waste { name } } }"
    there, here = [await client.game(game["id"], position) for client in both]
    assert (there["position"]["version"], here) == (20, there)


async def test_a_player_who_registers_at_one_server_is_known_at_the_other_at_once(both: Both) -> None:
    players = [await both.register(f"Ada {number}") for number in range(10)]
    shown = [(await player.other.ask("{ viewer { player { name } } }"))["viewer"]["player"] for player in players]
    assert names(shown) == [f"Ada {number}" for number in range(10)]


async def test_whoever_is_at_a_table_is_seen_at_the_other_server_at_once(both: Both) -> None:
    ada, bob = await both.register("Ada"), await both.register("Bob")
    game = await opened(ada.one)
    seen = []
    for mutation in ("joinGame", "leaveGame") * 5:
        accepted(await do(bob.one, mutation, game))
        seen.append(names((await ada.other.game(game["id"], "players { name }"))["players"]))
    assert seen == [["Ada", "Bob"], ["Ada"]] * 5


async def test_a_rematch_that_was_looked_for_in_vain_is_seen_as_soon_as_it_is_opened_at_the_other_server(
    both: Both,
) -> None:
    ada, bob = await both.register("Ada"), await both.register("Bob")
    over = accepted(await do(bob.one, "resignGame", await started_by(ada.one, bob.one)))["game"]
    before = await both.other.game(over["id"], "rematch { id }")
    again = accepted(await do(ada.one, "rematchGame", over))["game"]
    after = await both.other.game(over["id"], "rematch { id }")
    assert (before, after) == ({"rematch": None}, {"rematch": {"id": again["id"]}})


async def test_games_of_both_servers_are_soon_in_the_list_of_either_once_and_as_they_are(both: Both) -> None:
    ada = await both.register()
    openings = [do(ada[number % 2], "openTicitaire") for number in range(10)]
    played = [await turned(ada, outcome["game"], 3) for outcome in await asyncio.gather(*openings)]
    listing = "{ viewer { games(first: 100) { nodes { id version } } } }"
    for player in ada:
        await caught_up(player, *played)
        lines = (await player.ask(listing))["viewer"]["games"]["nodes"]
        assert sorted((line["id"], line["version"]) for line in lines) == sorted((game["id"], 6) for game in played)
