"""The log as the database has it, for the checker."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import psycopg

from domain.dealing import Seeds
from domain.storage import Datastore
from domain.vault import Keyring, Vault
from tests.faults.checker import Row

__all__ = ["log_of", "seeds_of"]


def log_of(url: str) -> list[Row]:
    """Return every row of the log, in its order."""
    query = (
        "SELECT notification_id, originator_id, originator_version, topic, state"
        " FROM public.game_events ORDER BY notification_id"
    )
    with psycopg.connect(url) as connection:
        return [
            Row(position, game, seq, topic, bytes(data))
            for position, game, seq, topic, data in connection.execute(query)
        ]


def seeds_of(url: str, keyring: Keyring, log: Sequence[Row]) -> dict[UUID, Seeds]:
    """Return the sealed seeds of all games in the log."""
    datastore = Datastore(url, connections=1)
    try:
        vault = Vault(datastore, keyring)
        return {game: vault.open(game) for game in {row.game for row in log}}
    finally:
        datastore.close()
