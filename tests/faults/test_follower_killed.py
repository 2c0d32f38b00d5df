"""A process that follows or rebuilds is killed at each statement in turn: nothing is skipped, nothing is repeated."""

from __future__ import annotations

from itertools import count

import pytest

from domain.application import Games
from domain.storage import Datastore
from projections.models import PROJECTIONS
from projections.tables import Projection
from tests.projections.killing import Act, killed_at_each


@pytest.mark.parametrize("projection", PROJECTIONS.values(), ids=list(PROJECTIONS))
@pytest.mark.parametrize("act", list(Act), ids=lambda act: str(act.value))
def test_killed_at_any_statement_it_neither_skips_nor_repeats(
    datastore: Datastore, games: Games, database_url: str, projection: Projection, act: Act
) -> None:
    killed = killed_at_each(count(), act, projection, datastore=datastore, games=games, url=database_url)
    assert killed > 20
