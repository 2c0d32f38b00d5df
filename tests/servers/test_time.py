"""Time-outs of games that the timekeepers of two servers look at: each fires, and fires once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from domain.application import Games
from domain.decider import Command
from domain.storage import Datastore
from domain.tables import Join, Seating, Start
from domain.ticitaire.facts import Options as TicitaireOptions
from domain.ticitaire.rules import OpenTicitaire
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import OpenTickle
from projections.deadlines import DeadlineQueries
from tests.api.clock import Clock
from tests.client import PATIENCE
from tests.servers.pair import APPENDS, TIMEKEEPING, Pair, holding

LIMIT = 3600


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of ``games``, which are on the servers' database; the servers have the real one."""
    return Clock(monkeypatch)


def of_one(games: Games) -> UUID:
    """A game of Ticitaire, with the limit for all of it."""
    player, options = uuid4(), TicitaireOptions(time_limit=LIMIT)
    return games.open("ticitaire", OpenTicitaire(player=player, options=options), player=player, key=None).game.id


def of_two(games: Games) -> UUID:
    """A game of Tickle, with the limit for each turn; seat 1 has the turn."""
    host, guest, options = uuid4(), uuid4(), TickleOptions(turn_seconds=LIMIT, seating=Seating.AS_JOINED)
    game = games.open("tickle", OpenTickle(player=host, options=options), player=host, key=None).game.id

    def hand_in(player: UUID, command: Command) -> None:
        games.handle(game, lambda _: command, player=player, expected_version=None, key=None, seated=False)

    hand_in(guest, Join(player=guest))
    hand_in(host, Start(player=host))
    return game


async def test_what_has_run_out_is_ended_once_though_two_servers_have_decided_it(
    pair: Pair, games: Games, clock: Clock, datastore: Datastore, database_url: str
) -> None:
    begun: dict[UUID, int] = {}
    deadlines = DeadlineQueries(datastore)

    async def due() -> set[UUID]:
        found = await asyncio.to_thread(lambda: deadlines.due(games.now(), first=1_000))
        return {deadline.game for deadline in found} & begun.keys()

    async with asyncio.timeout(2 * PATIENCE), AsyncExitStack() as stack:
        async with holding(database_url, TIMEKEEPING) as looks:
            clock.wind_on(-2 * LIMIT)
            begun |= {game: games.game(game).version for game in (begin(games) for begin in (of_one, of_two) * 10)}
            clock.wind_on(2 * LIMIT)
            while await due() != begun.keys():  # noqa: ASYNC110 - nobody is told when the list follows
                await asyncio.sleep(0.02)
            await looks.awaited_by(2)
            appends = await stack.enter_async_context(holding(database_url, APPENDS))
        await appends.awaited_by(2)  # both have decided the first
        await stack.aclose()
        while await due():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        async with holding(database_url, TIMEKEEPING) as looks:
            await looks.awaited_by(2)  # both are done with what they saw

    ends = [
        [event.fact.topic for event in games.events(game, after=version, first=100)] for game, version in begun.items()
    ]
    assert [end.count("game.TimedOut") for end in ends] == [1] * 20
    assert ends[::2] == [["game.TimedOut", "ticitaire.GameFinished", "game.SeedsRevealed"]] * 10
    assert [end.count("game.TurnBegan") for end in ends[1::2]] == [1] * 10
