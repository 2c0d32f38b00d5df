"""A process that follows or rebuilds is killed. At some statements here; at every one in ``tests/faults``."""

from __future__ import annotations

import pytest

from domain.application import Games
from domain.storage import Datastore
from projections.models import PROJECTIONS
from tests.projections.killing import Act, killed_at_each

SOME = {
    ("lobby", Act.FOLLOW): (0, 20, 41, 75),
    ("lobby", Act.REBUILD): (3, 45, 140, 172),
    ("results", Act.FOLLOW): (5, 33, 50, 72),
    ("results", Act.REBUILD): (3, 60, 110, 175),
}
"""Statements at the beginning, in the middle and near the end."""


@pytest.mark.parametrize("name", ["lobby", "results"])
@pytest.mark.parametrize("act", list(Act), ids=lambda act: str(act.value))
def test_killed_at_some_statement_it_neither_skips_nor_repeats(
    datastore: Datastore, games: Games, database_url: str, act: Act, name: str
) -> None:
    some = SOME[name, act]
    killed = killed_at_each(some, act, PROJECTIONS[name], datastore=datastore, games=games, url=database_url)
    assert killed == len(some)
