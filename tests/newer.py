"""Tomorrow's program: this one with steps, a version of a fact and a column of a read model more.

    python -m tests.newer serve --port 0

Beside it, this program is the older one, as it is.
"""

from __future__ import annotations

from typing import Any, Final

from psycopg import Cursor
from psycopg.rows import DictRow

from api import cli, migrations
from api.migrations import STEPS, Step, statements
from domain.ticitaire.facts import MovesTakenBack
from projections.lobby import Lobby

__all__ = ["NEWER"]

NEWER: Final = MovesTakenBack
"""The fact that it writes in a version that older programs don't know."""

_LAST: Final = len(STEPS)


def _become_newer() -> None:
    migrations.STEPS = (  # type: ignore[misc]
        *STEPS,
        Step(_LAST + 1, "players have a colour", statements("ALTER TABLE players ADD COLUMN colour text")),
        Step(
            _LAST + 2,
            "players have no colour",
            statements("ALTER TABLE players DROP COLUMN colour"),
            needs_program=_LAST + 1,
        ),
    )
    NEWER.version += 1
    NEWER.upcast = classmethod(lambda _, stored, version: stored)  # type: ignore[assignment,method-assign]
    Lobby.version += 1
    create = Lobby.create_tables

    def create_tables(self: Lobby, cursor: Cursor[DictRow]) -> Any:
        create(self, cursor)
        cursor.execute("ALTER TABLE lobby_games ADD COLUMN IF NOT EXISTS colour text")

    Lobby.create_tables = create_tables  # type: ignore[method-assign]


if __name__ == "__main__":
    _become_newer()
    cli.main()
