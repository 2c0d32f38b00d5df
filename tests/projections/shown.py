"""Games for read models to show, and what their tables hold."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import psycopg

from domain.application import Games
from domain.lifecycle import Resign
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from projections.tables import LIVE, Projection

__all__ = ["ADA", "Contents", "contents", "position", "some_games", "until"]

ADA: Final = UUID(int=1)

Contents = dict[str, list[tuple[Any, ...]]]


def some_games(games: Games, number: int = 3) -> None:
    """Games in every state; a time limit for every second one."""
    for n in range(number):
        options = Options(time_limit=60 if n % 2 else None)
        game = games.open("ticitaire", OpenTicitaire(player=ADA, options=options), player=ADA, key=None).game.id
        games.handle(game, lambda seat: TurnStock(seat=seat), player=ADA, expected_version=None, key=None)
        if n % 3 == 0:
            games.handle(game, lambda seat: Resign(seat=seat), player=ADA, expected_version=None, key=None)


def contents(database_url: str, projection: Projection, schema: str = LIVE) -> Contents:
    """All rows of a read model, with its position, as they are when nobody is writing them."""
    with psycopg.connect(database_url, options=f"-c search_path={schema}") as connection:
        query = "SELECT * FROM projection_positions WHERE name = %s FOR UPDATE"  # holds off whoever would write
        found = {"projection_positions": connection.execute(query, (projection.name,)).fetchall()}
        tables = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in projection.tables}
        return found | {table: sorted(rows) for table, rows in tables.items()}


def position(database_url: str, name: str = "lobby") -> int:
    """How far in the log a read model is."""
    with psycopg.connect(database_url) as connection:
        query = "SELECT position FROM read_models.projection_positions WHERE name = %s"
        row = connection.execute(query, (name,)).fetchone()
    assert row is not None
    return int(row[0])


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
