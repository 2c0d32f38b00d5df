"""A toy schema with something of everything the endpoint is tested on, and the loopback server the tests need."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

import psycopg_pool
import strawberry
import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Route, WebSocketRoute
from strawberry import Info

from api.endpoint import GraphQLEndpoint
from api.faults import Forbidden, SlowReader, Unauthenticated
from api.limits import Limits

TOKENS = ("anna-token", "bert-token")


def digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


@dataclass
class ToyContext:
    """What a toy resolver knows: who asks, under which request id, and how often this very context was used."""

    token: str | None
    request_id: str
    uses: int = 0


@dataclass
class Observed:
    """What went on in the toy, for the tests to look at."""

    contexts: int = 0
    running: int = 0
    is_database_lost: bool = False
    revoked: set[str] = field(default_factory=set)
    during_authentication: Callable[[], None] | None = None


observed = Observed()


@strawberry.type
class PageInfo:
    has_next_page: bool = False


@strawberry.type
class Edge:
    node: "Thing"


@strawberry.type
class Connection:
    edges: list[Edge] = strawberry.field(default_factory=list)
    page_info: PageInfo = strawberry.field(default_factory=PageInfo)


@strawberry.type
class Thing:
    name: str = "thing"

    @strawberry.field
    async def inner(self) -> "Thing":
        return Thing()

    @strawberry.field
    async def parts(self) -> "list[Thing]":
        return [Thing()]

    @strawberry.field
    async def things(self, first: int = 20) -> Connection:
        return Connection(edges=[Edge(node=Thing())] * min(first, 2))


@strawberry.interface
class Named:
    title: str = "named"


@strawberry.type
class Card(Named):
    """A type that graphql-core checks what a resolver returned against, and quotes it if it does not fit."""


def failing(how: str) -> str:
    match how:
        case "bug":
            raise ValueError("the seven of stars is on top")
        case "graphql":
            raise strawberry.exceptions.StrawberryGraphQLError("the seven of stars is on top")
        case "pool":
            raise psycopg_pool.PoolTimeout("couldn't get a connection after 2.00 sec")
        case "fault":
            raise Forbidden("You are not seated here.")
        case "surrogate":
            return "\ud800"
        case _:
            return how


@strawberry.type
class Query:
    @strawberry.field
    async def hello(self, info: Info, name: str = "world") -> str:
        info.context.uses += 1
        return f"hello {name}, {info.context.uses}"

    @strawberry.field
    async def caller(self, info: Info) -> str:
        return f"{info.context.token} {info.context.request_id}"

    @strawberry.field
    async def fail(self, how: str) -> str | None:
        return failing(how)

    @strawberry.field
    async def fails(self) -> list[str | None]:
        return [None] * 40

    @strawberry.field
    async def wrong(self) -> int:
        return cast("int", "the seven of stars is on top")

    @strawberry.field
    async def card(self) -> Card | None:
        return cast("Card", "the seven of stars is on top")

    @strawberry.field
    async def defaulted(self, number: int = 3) -> int:
        return number

    @strawberry.field
    async def thing(self) -> Thing:
        return Thing()

    @strawberry.field
    async def broken(self) -> list["Broken"]:
        return [Broken()] * 40


@strawberry.type
class Broken:
    @strawberry.field
    async def part(self) -> str | None:
        raise ValueError("the seven of stars is on top")


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def say(self, word: str) -> str:
        return word


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def count(self, info: Info, to: int) -> AsyncGenerator[int]:
        for number in range(to):
            yield number

    @strawberry.subscription
    async def forever(self) -> AsyncGenerator[int]:
        observed.running += 1
        try:
            yield 0
            await asyncio.Event().wait()
        finally:
            observed.running -= 1

    @strawberry.subscription
    async def timely(self) -> AsyncGenerator[int]:
        """Needs to be run by one task: a time-out spans its results."""
        async with asyncio.timeout(60):
            yield 0
            await asyncio.sleep(0)
            yield 1

    @strawberry.subscription
    async def breaking(self, how: str) -> AsyncGenerator[str]:
        yield "fine"
        if how == "slow":
            raise SlowReader("You fell behind; resume after the last event you saw.")
        yield failing(how)

    @strawberry.subscription
    async def stillborn(self) -> AsyncGenerator[str]:
        yield failing("fault")


schema = strawberry.Schema(Query, Mutation, Subscription)


async def context(connection: HTTPConnection, token: str | None, request_id: str) -> ToyContext:
    observed.contexts += 1
    if observed.is_database_lost:
        raise psycopg_pool.PoolTimeout("couldn't get a connection after 2.00 sec")
    if observed.during_authentication:
        observed.during_authentication()
        await asyncio.sleep(0)  # a real check asks the database
    if token in observed.revoked or token not in {*TOKENS, None}:
        raise Unauthenticated("The token is unknown or was revoked.")
    return ToyContext(token, request_id)


def application(endpoint: GraphQLEndpoint) -> Starlette:
    return Starlette(routes=[Route("/graphql", endpoint), WebSocketRoute("/graphql", endpoint)])


def toy_endpoint(limits: Limits | None = None, *, graphiql: bool = True) -> GraphQLEndpoint:
    return GraphQLEndpoint(schema, context=context, limits=limits, graphiql=graphiql)


@contextmanager
def served(endpoint: GraphQLEndpoint) -> Iterator[tuple[int, asyncio.AbstractEventLoop]]:
    """Serve the endpoint on a free port of the loopback interface, from a thread; gives the port and the loop there."""
    server = uvicorn.Server(uvicorn.Config(application(endpoint), port=0, log_level="critical", lifespan="off"))
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve()

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server took too long to start"
            time.sleep(0.005)
        yield server.servers[0].sockets[0].getsockname()[1], loops[0]
    finally:
        server.should_exit = True
        thread.join()
