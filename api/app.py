"""The server: the one place where everything is put together."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final
from uuid import UUID

import strawberry
import structlog
from prometheus_client import Metric
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute

from api import readings
from api.accounts import TOKENS_CHANNEL, Accounts
from api.archive_routes import archive_routes
from api.context import ERASERS, WRITERS, Context, Standings, World
from api.database import prepare
from api.endpoint import GraphQLEndpoint
from api.erasing import Erasure
from api.faults import Internal, Unavailable
from api.health import Bounds, Pulse, health_routes
from api.live import Live, patiently, stopped
from api.log_routes import log_routes
from api.metrics import Metrics
from api.monitoring import monitored
from api.observing import Observatory
from api.proving import Prover
from api.records import records_route
from api.requests import Requests, Uncounted, request_id_of
from api.routes import refusal
from api.schema import DOCUMENTS, KINDS, LIMITS, schema
from api.seams import Seams
from api.settings import Settings
from api.signing import Signer, Signing
from api.subscriptions import PUBLIC
from api.telemetry import tracing_of
from api.timekeeper import Timekeeper
from domain.application import CONNECTIONS, Games
from domain.events import Event
from domain.game import Game
from domain.storage import CHANNEL, Datastore, EventRecorder
from domain.vault import Keyring, Vault
from projections.hints import Hints
from projections.lobby import LobbyQueries
from projections.models import PROJECTIONS
from projections.runner import Follower, make_tables

__all__ = ["GRAPHQL_PATH", "create_app", "kept_running"]

GRAPHQL_PATH: Final = "/graphql"
RETRY_SECONDS: Final = 0.5
STEPS_AT_ONCE: Final = 2
"""Of the followers, each with a connection: one that has much to catch up with does not hold up the others."""

_logger: Final = structlog.get_logger(__name__)

Keys = Keyring | Callable[[], Keyring]
"""The server's keys, or what tells them as they are now."""


class _House:
    """One server between its start and its end."""

    def __init__(
        self, settings: Settings, url: str, keys: Keys, served: strawberry.Schema, signing: Signing | None
    ) -> None:
        self.settings: Final = settings
        self.url: Final = url
        """Of the database itself, also where there is a pooler."""
        self.keys: Final = keys
        self.signing: Final = signing
        self.metrics: Final = Metrics() if settings.metrics_port is not None else None
        self.tracing: Final = tracing_of(os.environ)
        instruments = [each for each in (self.metrics, self.tracing) if each is not None]
        self.endpoint: Final = GraphQLEndpoint(
            served,
            context=self.context,
            limits=LIMITS,
            graphiql=settings.graphiql,
            public=PUBLIC,
            documents=DOCUMENTS if served is schema else None,
            observatory=Observatory(*instruments, parents=self.tracing is not None),
        )
        self.world: World | None = None
        self.pulse: Pulse | None = None
        self.monitored_at: str | None = None
        """The address at which metrics can be read, while they can."""
        self.hints: Final = Hints(url)
        self._tokens: Final = asyncio.Event()
        """Set where tokens may have been revoked."""

    async def context(self, connection: HTTPConnection, token: str | None, request_id: str) -> Context:  # noqa: ARG002
        """Say who calls, for one operation."""
        if self.world is None:
            raise Unavailable("The server is starting or stopping: try again in a moment.")
        return Context(self.world, await self.world.caller(token), request_id)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open the database and follow the log until the server stops."""
        # One for everyone who may want one, so that nobody waits for another: the threads that read, those that write
        # accounts or erase them, those of the commands, the followers for their steps, the timekeeper, the signer, the
        # pulse; and one more.
        connections = self.settings.threads + WRITERS + ERASERS + CONNECTIONS + STEPS_AT_ONCE + 4
        pooler = self.settings.pooler
        datastore = Datastore(pooler or self.url, connections=connections, pooled=pooler is not None)
        async with AsyncExitStack() as stack:
            stack.callback(datastore.close)
            direct = datastore
            if pooler is not None:
                direct = Datastore(self.url, connections=1)
                stack.callback(direct.close)
            if self.tracing is not None:
                stack.push_async_callback(asyncio.to_thread, self.tracing.close)
            world, following, timekeeper, signer, pulse = await asyncio.to_thread(self._build, datastore, direct)
            stack.push_async_callback(asyncio.to_thread, world.close)  # it waits for commands under way
            self.hints.on(CHANNEL, world.live.wake)
            self.hints.on(TOKENS_CHANNEL, self._tokens.set)
            if self.settings.follow:
                for follower in following:
                    self.hints.on(CHANNEL, follower.wake)
                    stack.push_async_callback(_started(follower.run))
            stack.push_async_callback(_started(timekeeper.run))
            if signer is not None:
                stack.push_async_callback(_started(signer.run))
            stack.push_async_callback(_started(pulse.run))
            for running in (world.live.run, self._watch_tokens, self.hints.run):
                stack.push_async_callback(stopped, asyncio.create_task(kept_running(running)))
            if self.metrics is not None:
                read = partial(_readings, world, pulse, datastore, timekeeper, signer)
                stack.callback(self.metrics.add(read))
                host, port = self.settings.metrics_host, self.settings.metrics_port or 0
                showing = monitored(self.metrics, lambda: self.pulse, host=host, port=port)
                self.monitored_at = await stack.enter_async_context(showing)
            self.world, self.pulse = world, pulse
            try:
                yield
            finally:
                self.world = self.pulse = None

    def _build(
        self, datastore: Datastore, direct: Datastore
    ) -> tuple[World, list[Follower], Timekeeper, Signer | None, Pulse]:
        """Put together what runs; what holds a lock over several transactions asks the database ``direct``."""
        prepare(datastore)
        recorder = EventRecorder(datastore)
        recorder.appended = self.hints.tell
        vault = Vault(datastore, self.keys)
        accounts = Accounts(datastore)
        make_tables(datastore, PROJECTIONS.values())
        turns = threading.Semaphore(STEPS_AT_ONCE)
        following = [Follower(datastore, projection, turns=turns) for projection in PROJECTIONS.values()]
        games = Games(recorder, vault, observer=self.metrics)
        timekeeper = Timekeeper(datastore, games)
        live = Live(self.url, self._past, self._newest)
        lobby = LobbyQueries(datastore)
        seams, threads = Seams(datastore, lobby, games), self.settings.threads
        signer = Signer(direct, *self.signing) if self.signing else None
        prover = Prover(
            datastore, refusal=lambda: signer.refusal if signer else None, key=signer.key if signer else None
        )
        world = World(
            games=games,
            accounts=accounts,
            erasure=Erasure(datastore, games, accounts),
            lobby=lobby,
            standings=Standings.on(datastore),
            live=live,
            seams=seams,
            prover=prover,
            receipt=signer.receipt if signer else lambda *_: None,
            kinds=KINDS,
            threads=threads,
        )
        bounds = Bounds(self.settings.ready_lag_seconds, self.settings.ready_lag_events)
        pulse = Pulse(datastore, PROJECTIONS.values(), bounds=bounds if self.settings.follow else None)
        pulse.look()
        return world, following, timekeeper, signer, pulse

    async def end_streams(self) -> None:
        """End every socket and event stream: the server is about to stop, and they would hold it up."""
        self.pulse = None  # not ready any more
        await self.endpoint.close(1001, "The server is stopping: connect again soon")

    async def _past(self, game: UUID, after: int, first: int) -> tuple[Event, ...]:
        if self.world is None:
            return ()
        games = self.world.games
        return await self.world.blocking(lambda: games.events(game, after=after, first=first))

    async def _newest(self, game: UUID) -> Game:
        if self.world is None:
            raise Unavailable("The server is stopping: try again in a moment.")
        games = self.world.games
        return await self.world.blocking(lambda: games.game(game))

    async def _watch_tokens(self) -> None:
        """End the sockets and streams whose tokens are valid no longer, whenever some may be revoked."""
        while True:
            await self._tokens.wait()
            self._tokens.clear()
            try:
                await patiently(self._end_revoked)
            except Exception:
                _logger.exception("tokens that may be revoked can't be looked up")
                await asyncio.sleep(RETRY_SECONDS)
                self._tokens.set()

    async def _end_revoked(self) -> None:
        if self.world is None:
            return
        accounts, digests = self.world.accounts, self.endpoint.open_tokens()
        accounts.forget()
        if digests:
            valid = await self.world.blocking(lambda: accounts.valid(digests))
            self.endpoint.disconnect(lambda digest: digest in digests and digest not in valid)


async def kept_running(run: Callable[[], Awaitable[None]]) -> None:
    """Run what should run as long as the server does; where it ends unasked, log that and begin it anew."""
    task = asyncio.current_task()
    while True:
        try:
            await run()
            _logger.error("what should run for ever ended, and is begun anew", what=run.__qualname__)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            _logger.exception("what should run for ever was called off, and is begun anew", what=run.__qualname__)
        except Exception:
            _logger.exception("what should run for ever broke off, and is begun anew", what=run.__qualname__)
        await asyncio.sleep(RETRY_SECONDS)


def _started(run: Callable[[threading.Event], None]) -> Callable[[], Awaitable[None]]:
    """Run something in a thread of its own; return what stops it."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), daemon=True)
    thread.start()

    async def end() -> None:
        stop.set()
        await asyncio.to_thread(thread.join)

    return end


def _readings(
    world: World, pulse: Pulse, datastore: Datastore, timekeeper: Timekeeper, signer: Signer | None
) -> Iterator[Metric]:
    yield from readings.following(pulse, datastore, signer)
    yield from readings.serving(world, timekeeper)


async def _failed(request: Request, _: Exception) -> Response:
    """Answer what no other route had an answer for; whoever raised it is logged further out."""
    fault, request_id = Internal(), request_id_of(request.scope)
    answer = refusal(fault.status, fault.code, fault.message, requestId=request_id)
    answer.headers["x-request-id"] = request_id
    return answer


async def _to_graphql(_: Request) -> Response:
    return RedirectResponse(GRAPHQL_PATH)


def create_app(
    settings: Settings, url: str, keys: Keys, served: strawberry.Schema = schema, *, signing: Signing | None = None
) -> Starlette:
    """Return the ASGI application on the database at ``url``. It touches nothing before it starts.

    Without ``signing`` it shows what others have signed.
    """
    house = _House(settings, url, keys, served, signing)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with house.open():
            yield

    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST"],
        allow_headers=["Accept", "Authorization", "Content-Type", "X-Request-Id", "traceparent"],
        expose_headers=["ETag", "X-Request-Id"],
    )
    routes = [
        Route("/", _to_graphql),
        *health_routes(lambda: house.pulse),
        records_route(lambda: house.world),
        *archive_routes(lambda: house.world),
        *log_routes(lambda: house.world),
        Route(GRAPHQL_PATH, house.endpoint),
        WebSocketRoute(GRAPHQL_PATH, house.endpoint),
    ]
    named = Middleware(
        Requests,
        routes={route.endpoint: route.path for route in routes if isinstance(route, Route)},
        counting=house.metrics or Uncounted(),
    )
    app = Starlette(routes=routes, middleware=[named, cors], exception_handlers={Exception: _failed}, lifespan=lifespan)
    app.state.end_streams = house.end_streams
    app.state.monitored_at = lambda: house.monitored_at
    return app
