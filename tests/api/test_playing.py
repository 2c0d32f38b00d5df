"""Playing Ticitaire over HTTP."""

from __future__ import annotations

from tests.client import Client


async def test_a_player_opens_a_game_and_gives_it_up(client: Client) -> None:
    ada = await client.register()
    opened = await ada.open_ticitaire()
    assert opened["version"] == 3
    gone = await ada.play("giveUpTicitaire", opened["game"])
    assert [event["type"] for event in gone["events"]] == [
        "game.PlayerResigned",
        "ticitaire.GameFinished",
        "game.SeedsRevealed",
    ]


async def test_the_same_key_finds_the_same_game(client: Client) -> None:
    ada = await client.register()
    first = await ada.open_ticitaire(idempotencyKey="a-first-game")
    again = await ada.open_ticitaire(idempotencyKey="a-first-game")
    assert again == {**first, "repeated": True}
