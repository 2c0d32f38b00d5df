"""A process that follows or rebuilds is killed. At some statements here; at every one in ``tests/faults``."""

from __future__ import annotations

import pytest

from domain.application import Games
from domain.storage import Datastore
from projections.models import PROJECTIONS
from tests.projections.killing import Act, killed_at_each

SOME = {Act.FOLLOW: (0, 7, 15, 21, 28), Act.REBUILD: (3, 20, 48, 75, 88)}
"""Statements at the beginning, in the middle and near the end."""


@pytest.mark.parametrize("act", list(Act), ids=lambda act: str(act.value))
def test_killed_at_some_statement_it_neither_skips_nor_repeats(
    datastore: Datastore, games: Games, database_url: str, act: Act
) -> None:
    lobby = PROJECTIONS["lobby"]
    killed = killed_at_each(SOME[act], act, lobby, datastore=datastore, games=games, url=database_url)
    assert killed == len(SOME[act])
