"""An evening of TIC Poker between two players, which is dealt as is known."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tests.api.company import do
from tests.client import Client

__all__ = ["ADAS", "BOBS", "Evening", "poker_opened", "poker_started", "what"]

ADAS: Final = ["3-star-violet", "2-square-red", "3-star-yellow", "5-square-red", "4-square-orange"]
"""Seat 1's private cards as they are dealt to two players, and the community cards: Two Tic Pairs."""
BOBS: Final = ["1-circle-violet", "5-square-orange", "2-square-yellow", "5-square-red", "4-square-orange"]
"""Seat 2's: a Four-Card Single."""


class Evening(NamedTuple):
    """Two players, a game between them that is dealt as is known, and others."""

    ada: Client
    """At seat 1."""
    bob: Client
    """At seat 2."""
    eve: Client
    """At no seat."""
    game: Any

    async def then(self, *steps: tuple[str, int], **input: Any) -> Evening:
        """The evening after a seat, 0 or 1, has done something; the last step is given the input."""
        game = self.game
        for step, (mutation, seat) in enumerate(steps, 1):
            outcome = await do(self[seat], mutation, game, **(input if step == len(steps) else {}))
            assert outcome["__typename"] == "CommandAccepted", outcome
            game = outcome["game"]
        return self._replace(game=game)

    async def playing(self, **options: Any) -> Evening:
        """The evening with another game between the two."""
        return self._replace(game=await poker_started(self.ada, self.bob, **options))

    async def called(self) -> Evening:
        return await self.then(("callPoker", 0))

    async def declaring(self) -> Evening:
        """The evening when cards are turned up, with two community cards."""
        return await self.then(("callPoker", 0), ("keepPokerCards", 1))

    async def version(self) -> int:
        return int((await self.ada.game(self.game["id"], "version"))["version"])


async def poker_opened(host: Client, *guests: Client, **options: Any) -> Any:
    """Open a table of TIC Poker that guests come to; return the game as the last of them sees it."""
    outcome = await do(host, "openPoker", **options)
    for guest in guests:
        outcome = await do(guest, "joinGame", outcome["game"])
    return outcome["game"]


async def poker_started(host: Client, *guests: Client, **options: Any) -> Any:
    """Open a table of TIC Poker, with seats in the order of joining, and start; return the game as its host sees it."""
    game = await poker_opened(host, *guests, **{"seating": "AS_JOINED", **options})
    return (await do(host, "startGame", game))["game"]


def what(refused: Any) -> tuple[str, str]:
    """The code and the ruling of a rule that said no, with a sentence."""
    assert refused["__typename"] == "RuleViolation", refused
    assert refused["message"].endswith(".")
    assert refused["path"] == ["input"]
    return refused["code"], refused["ruling"]
