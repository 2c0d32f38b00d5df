"""Making one move late in a game against one early in it: from the log alone, and as a server does it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

from api.collector import settle_collector
from api.database import prepare
from benchmarks.durability import MISSED, must_be_durable
from domain.application import Games
from domain.decider import Command, Viewer
from domain.lifecycle import Resign
from domain.storage import Datastore, EventRecorder
from domain.ticitaire.rules import MoveCards, OpenTicitaire, RecycleWaste, TurnStock
from domain.vault import Keyring, ServerKey, Vault

__all__ = ["measure_loading"]

GAMES = 6
PAIRS = 48
COLD = (30, 300, 3.0)
"""Events of the short and of the long game, and the limit of the ratio: read from the log, without snapshots."""
WARM = (20, 500, 1.2)
"""The same of games that the server keeps in memory."""


def _next(games: Games, game: UUID) -> Command:
    """A move of cards where there is one, and the stock every third time."""
    now = games.game(game)
    commands = [
        command
        for command in now.legal_commands(Viewer(seat=1))
        if isinstance(command, Command) and not isinstance(command, Resign)
    ]
    moves = [command for command in commands if isinstance(command, MoveCards)]
    turns = [command for command in commands if isinstance(command, TurnStock | RecycleWaste)]
    return turns[0] if turns and (not moves or now.version % 3 == 0) else moves[now.version % len(moves)]


def _play_to(games: Games, player: UUID, length: int) -> UUID:
    while True:
        game = games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None).game.id
        while games.game(game).version < length and not games.game(game).table.over:
            command = _next(games, game)
            games.handle(game, lambda _, c=command: c, player=player, expected_version=None, key=None)  # type: ignore[misc]
        if not games.game(game).table.over:
            return game


def measure_loading(url: str, _folder: Path) -> Iterator[str]:
    """Yield lines that tell the ratios: from the log alone, and as a server does it, which keeps games in memory."""
    yield must_be_durable(url)
    settle_collector()  # as the server does
    datastore = Datastore(url)
    prepare(datastore)
    recorder, vault = EventRecorder(datastore), Vault(datastore, Keyring([ServerKey.generate()]))
    warm, player = Games(recorder, vault), uuid4()
    for name, cold, (few, many, limit) in (("from the log", True, COLD), ("kept in memory", False, WARM)):
        # Every sample makes its game one move longer: they take turns, so that the lengths stay what they are called.
        prepared = {length: [_play_to(warm, player, length) for _ in range(GAMES)] for length in (few, many)}
        times: dict[int, list[float]] = {few: [], many: []}
        for sample in range(PAIRS):
            for length, found in times.items():
                game = prepared[length][sample % GAMES]
                command = _next(warm, game)
                games = Games(recorder, vault) if cold else warm
                started = time.perf_counter()
                games.handle(game, lambda _, c=command: c, player=player, expected_version=None, key=None)  # type: ignore[misc]
                found.append(time.perf_counter() - started)
        # The lower quartile: what else runs on a shared machine only adds.
        short, long = (statistics.quantiles(found, n=4)[0] * 1000 for found in times.values())
        ok = long / short <= limit
        yield (
            f"{'' if ok else MISSED}{name}, one move: {long:.2f} ms after {many} events"
            f" against {short:.2f} ms after {few}: ratio {long / short:.2f} (at most {limit})"
        )
    datastore.close()
