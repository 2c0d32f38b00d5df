"""Loading a game and making one move: 300 events against 30."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

from api.collector import settle_collector
from benchmarks.durability import MISSED, must_be_durable
from domain.application import Games
from domain.decider import Command, Viewer
from domain.lifecycle import Resign
from domain.storage import Datastore, open_recorder
from domain.ticitaire.rules import MoveCards, OpenTicitaire, RecycleWaste, TurnStock
from domain.vault import Keyring, ServerKey, Vault

__all__ = ["measure_loading"]

SHORT, LONG = 30, 300
GAMES = 6
PAIRS = 48
COLD_LIMIT, WARM_LIMIT = 3.0, 1.5


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
    recorder, vault = open_recorder(datastore), Vault(datastore, Keyring([ServerKey.generate()]))
    vault.create_table()
    warm, player = Games(recorder, vault), uuid4()
    for name, cold, limit in (("from the log", True, COLD_LIMIT), ("kept in memory", False, WARM_LIMIT)):
        # Every sample makes its game one move longer: they take turns, so that the lengths stay what they are called.
        prepared = {length: [_play_to(warm, player, length) for _ in range(GAMES)] for length in (SHORT, LONG)}
        times: dict[int, list[float]] = {SHORT: [], LONG: []}
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
            f"{'' if ok else MISSED}{name}, one move: {long:.2f} ms after {LONG} events"
            f" against {short:.2f} ms after {SHORT}: ratio {long / short:.2f} (at most {limit})"
        )
    datastore.close()
