"""What a client is told when the database is away: what to do next, which depends on what it was doing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

import psycopg_pool
import pytest
import strawberry
from pydantic_core import from_json
from structlog.testing import capture_logs

from api.documents import NotExecuted, Operations, Parameters, response
from api.faults import fault_of, told
from api.limits import Limits
from api.sharing import Edition, Feed, Offer
from domain.application import Undecided

LIMITS = Limits()


def lost() -> Exception:
    return psycopg_pool.PoolTimeout("couldn't get a connection after 2.00 sec")


@strawberry.type
class Thing:
    @strawberry.field
    async def part(self) -> int | None:
        raise lost()


@strawberry.type
class Query:
    @strawberry.field
    async def game(self) -> int | None:
        raise lost()


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def play(self) -> int | None:
        raise lost()

    @strawberry.mutation
    async def play_on(self) -> int | None:
        raise Undecided


async def one(_edition: Edition[int] | None, _offer: Offer | None) -> AsyncGenerator[Sequence[int], None]:
    yield [1]


async def none(_edition: Edition[int] | None, _offer: Offer | None) -> AsyncGenerator[Sequence[int], None]:
    for unread in (lost(),):
        raise unread
    yield []


def thing(_item: int) -> Thing:
    return Thing()


def unshown(_item: int) -> Thing:
    raise lost()


def feed(follow: Any, show: Any) -> AsyncGenerator[Thing, None]:
    return cast("AsyncGenerator[Thing, None]", Feed(follow, lambda item: item, None, show, lambda: None))


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def stillborn(self) -> AsyncGenerator[Thing, None]:
        raise lost()

    @strawberry.subscription
    async def breaking(self) -> AsyncGenerator[Thing, None]:
        return feed(none, thing)

    @strawberry.subscription
    async def unshown(self) -> AsyncGenerator[Thing, None]:
        return feed(one, unshown)

    @strawberry.subscription
    async def things(self) -> AsyncGenerator[Thing, None]:
        return feed(one, thing)

    @strawberry.subscription
    async def plain(self) -> AsyncGenerator[Thing, None]:
        yield Thing()


schema = strawberry.Schema(Query, Mutation, Subscription)


async def executed(query: str) -> list[Any]:
    """The errors of a query or mutation, as they are answered."""
    operations = Operations(schema, LIMITS)
    result = await operations.execute(operations.find(Parameters(query, None, None)), None)
    return cast("list[Any]", response(result, "r1", LIMITS)["errors"])


async def streamed(query: str) -> list[Any]:
    """The errors that a stream tells, or of which it breaks off."""
    operations = Operations(schema, LIMITS)
    try:
        async with aclosing(operations.stream(operations.find(Parameters(query, None, None)), None, "r1")) as texts:
            return [error async for text in texts for error in from_json(text)["errors"]]
    except NotExecuted as refused:
        return told(refused.errors, "r1", limit=LIMITS.errors)


AGAIN = "The database cannot be reached: ask again in a moment."
REPEAT = "The database cannot be reached; nothing was recorded as far as known: try again with the same idempotencyKey."
RESUME = (
    "The database cannot be reached: subscribe again in a moment, to gameEvents with afterSeq: the last seq you have."
)


@pytest.mark.parametrize("ask", [executed, streamed])
@pytest.mark.parametrize(
    ("query", "message"),
    [("{ game }", AGAIN), ("mutation { play }", REPEAT), ("mutation { playOn }", REPEAT)],
)
async def test_whoever_asked_is_told_how_to_ask_again(ask: Any, query: str, message: str) -> None:
    assert [(error["message"], error["extensions"]["code"]) for error in await ask(query)] == [(message, "UNAVAILABLE")]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("subscription { stillborn { part } }", id="before it began"),
        pytest.param("subscription { breaking { part } }", id="while it was followed"),
        pytest.param("subscription { unshown { part } }", id="while an event was made ready"),
        pytest.param("subscription { things { part } }", id="below a shared event"),
        pytest.param("subscription { plain { part } }", id="below an event"),
    ],
)
async def test_whoever_follows_is_told_how_to_follow_again(query: str) -> None:
    errors = await streamed(query)
    assert [(error["message"], error["extensions"]["code"]) for error in errors] == [(RESUME, "UNAVAILABLE")]


def test_before_an_operation_nothing_was_done() -> None:
    fault = fault_of(lost(), "r1")
    assert fault.message == "The database cannot be reached, and nothing was done: try again in a moment."


@pytest.mark.parametrize(
    ("ask", "query"),
    [
        (executed, "{ game }"),
        (streamed, "mutation { play }"),
        (streamed, "subscription { stillborn { part } }"),
        (streamed, "subscription { breaking { part } }"),
        (streamed, "subscription { things { part } }"),
    ],
)
async def test_the_log_says_once_by_what_it_was_noticed(ask: Any, query: str) -> None:
    with capture_logs() as logged:
        await ask(query)
    assert logged == [
        {"log_level": "warning", "event": "database_unreachable", "request_id": "r1", "error": "PoolTimeout"}
    ]
