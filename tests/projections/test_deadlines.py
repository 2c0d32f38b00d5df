"""What a batch of turns comes to: each game has one deadline, the newest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.decider import Fact
from domain.events import GENESIS, SERVER, Cause, chain
from domain.games import FACT_TYPES
from domain.lifecycle import DeadlineExtended, GameCancelled, SeedsHeldBack, SeedsRevealed
from domain.storage import Logged
from domain.ticitaire.facts import Ending, TicitaireFinished
from domain.turns import TurnBegan
from projections.deadlines import Deadlines

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
GAMES = tuple(UUID(int=number) for number in range(1, 4))

Happened = tuple[UUID, str]


def logged(happened: Sequence[Happened]) -> list[Logged]:
    """A log in which that happened, a minute after the other."""
    found = []
    for minute, (game, what) in enumerate(happened):
        at = NOON + timedelta(minutes=minute)
        fact = _fact(what, at)
        (event,) = chain(game, minute, GENESIS, [fact], Cause(SERVER, at))
        found.append(Logged(minute + 1, game, event.seq, fact.topic, event.data, FACT_TYPES))
    return found


def _fact(what: str, at: datetime) -> Fact:
    match what:
        case "timed":
            return TurnBegan(seat=1, round=1, deadline=at + timedelta(hours=1))
        case "untimed":
            return TurnBegan(seat=1, round=1, deadline=None)
        case "extended":
            return DeadlineExtended(deadline=at + timedelta(hours=2))
        case "held back":
            return SeedsHeldBack(deadline=at + timedelta(hours=3))
        case "revealed":
            return SeedsRevealed(seeds=())
        case "cancelled":
            return GameCancelled()
        case _:
            numbers = dict.fromkeys(("buried", "unplayed", "moves", "turns", "recycles", "take_backs"), 0)
            return TicitaireFinished(ending=Ending.GIVEN_UP, places=(), **numbers)


def told(happened: Sequence[Happened]) -> set[tuple[Any, ...]]:
    """What the table must hold: told event by event."""
    rows = dict[UUID, tuple[datetime, datetime]]()
    for minute, (game, what) in enumerate(happened):
        at = NOON + timedelta(minutes=minute)
        if what == "timed":
            rows[game] = at + timedelta(hours=1), at
        elif what == "held back":
            rows[game] = at + timedelta(hours=3), at
        elif what == "extended" and game in rows:
            rows[game] = at + timedelta(hours=2), rows[game][1]
        elif what != "extended":
            rows.pop(game, None)
    return {(game, due_at, since) for game, (due_at, since) in rows.items()}


WHAT = ("timed", "untimed", "extended", "finished", "held back", "revealed", "cancelled")
happenings = st.lists(st.tuples(st.sampled_from(GAMES), st.sampled_from(WHAT)), max_size=12)


def held(url: str, happened: Sequence[Happened], cuts: Sequence[int]) -> set[tuple[Any, ...]]:
    """What the table holds after that, taken in in batches; nothing of it stays."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection, connection.cursor() as cursor:
        cursor.execute("SET LOCAL search_path = read_models")
        log, edges = logged(happened), sorted({0, len(happened), *cuts})
        for start, end in pairwise(edges):
            with connection.pipeline():
                Deadlines().apply(cursor, log[start:end])
        rows = cursor.execute("SELECT game, due_at, since FROM deadlines").fetchall()
        connection.rollback()
    return {tuple(row.values()) for row in rows}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(happened=happenings, cuts=st.lists(st.integers(0, 12), max_size=3))
def test_a_batch_leaves_what_its_events_leave_one_by_one(
    database_url: str, happened: list[Happened], cuts: list[int]
) -> None:
    assert held(database_url, happened, [cut for cut in cuts if cut <= len(happened)]) == told(happened)


@pytest.mark.parametrize(
    ("happened", "left"),
    [
        (("timed", "extended"), (NOON + timedelta(minutes=1, hours=2), NOON)),
        (("timed", "timed"), (NOON + timedelta(minutes=1, hours=1), NOON + timedelta(minutes=1))),
        (("timed", "finished", "held back"), (NOON + timedelta(minutes=2, hours=3), NOON + timedelta(minutes=2))),
    ],
    ids=[
        "time given back runs since the turn began",
        "a new turn runs since it began",
        "seeds are held back since the end",
    ],
)
def test_a_deadline_knows_since_when_it_runs(
    database_url: str, happened: tuple[str, ...], left: tuple[datetime, datetime]
) -> None:
    assert held(database_url, [(GAMES[0], what) for what in happened], []) == {(GAMES[0], *left)}


@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2]])
@pytest.mark.parametrize(
    "happened",
    [("timed", "cancelled"), ("timed", "finished"), ("finished", "held back", "revealed")],
    ids=["a game that is called off", "a game that is over", "seeds that are out"],
)
def test_nothing_is_due_any_more_of(database_url: str, happened: tuple[str, ...], cuts: list[int]) -> None:
    assert held(database_url, [(GAMES[0], what) for what in happened], cuts) == set()
