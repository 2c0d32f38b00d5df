"""Operations over WebSockets: the graphql-transport-ws protocol, and nothing else."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import pytest
import strawberry
import structlog
import websockets
from starlette.websockets import WebSocketDisconnect

from api.endpoint import GraphQLEndpoint
from api.faults import Unauthenticated
from api.limits import Limits
from api.metrics import Metrics
from api.observing import Observatory
from api.sharing import Feed, Offer
from api.sockets import bearer
from tests.audit.toy import Observed, Query, digest, observed, served, toy_endpoint

ANNA = {"Authorization": "Bearer anna-token"}
SLOW = "Slow reader: connect again and subscribe with afterSeq, the last seq you have"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    vars(observed).update(vars(Observed()))
    yield
    assert observed.running == 0, "a subscription was left running"


class Peer:
    """The client's end of a socket, without a network in between."""

    def __init__(self) -> None:
        self.to_server = asyncio.Queue[dict[str, Any]]()
        self.to_client = asyncio.Queue[dict[str, Any]]()
        self.is_reading = True
        self.takes_the_end = True
        self.is_gone = False
        self.reads_on = asyncio.Event()
        self.handshake: dict[str, Any] = {}
        self.serving: asyncio.Task[None] | None = None

    def stop_reading(self) -> None:
        """Take nothing any more, not even the end."""
        self.is_reading = self.takes_the_end = False

    def read_on(self) -> None:
        self.is_reading = True
        self.reads_on.set()

    async def send_to_client(self, message: dict[str, Any]) -> None:
        if self.is_gone:
            raise OSError
        if not (self.takes_the_end if message["type"] == "websocket.close" else self.is_reading):
            await self.reads_on.wait()
        self.to_client.put_nowait(message)

    def say(self, message: object) -> None:
        self.to_server.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})

    def subscribe(self, id_: str, query: str, **more: object) -> None:
        self.say({"type": "subscribe", "id": id_, "payload": {"query": query, **more}})

    async def hear(self) -> Any:
        message = await self.to_client.get()
        if message["type"] == "websocket.close":
            raise WebSocketDisconnect(message["code"], message["reason"])
        return json.loads(message["text"])

    async def closing(self) -> tuple[int, str]:
        with pytest.raises(WebSocketDisconnect) as closed:
            await self.hear()
        return closed.value.code, closed.value.reason


@asynccontextmanager
async def opened(
    endpoint: GraphQLEndpoint | None = None,
    *,
    init: object = ...,
    protocols: list[str] | None = None,
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Peer]:
    """A socket after its handshake and, unless `init` is None, its initialisation with that payload."""
    peer = Peer()
    scope = {
        "type": "websocket",
        "path": "/graphql",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "subprotocols": ["graphql-transport-ws"] if protocols is None else protocols,
    }
    peer.to_server.put_nowait({"type": "websocket.connect"})
    async with asyncio.timeout(5):
        serving = asyncio.create_task((endpoint or toy_endpoint())(scope, peer.to_server.get, peer.send_to_client))  # type: ignore[arg-type]
        peer.handshake = await peer.to_client.get()
        if init is not None:
            peer.say({"type": "connection_init", **({} if init is ... else {"payload": init})})
            if init is ...:
                assert await peer.hear() == {"type": "connection_ack"}
        peer.serving = serving
        try:
            yield peer
        finally:
            peer.to_server.put_nowait({"type": "websocket.disconnect", "code": 1000})
            await serving


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event to offer
            await asyncio.sleep(0)


def code(message: Any) -> str:
    assert message["type"] == "error"
    return str(message["payload"][0]["extensions"]["code"])


# --- operations ---


async def test_a_subscription_sends_each_result_and_completes() -> None:
    async with opened() as peer:
        peer.subscribe("1", "subscription { count(to: 2) }")
        assert [await peer.hear() for _ in range(3)] == [
            {"id": "1", "type": "next", "payload": {"data": {"count": 0}}},
            {"id": "1", "type": "next", "payload": {"data": {"count": 1}}},
            {"id": "1", "type": "complete"},
        ]


@pytest.mark.parametrize(
    ("query", "data"), [("{ defaulted }", {"defaulted": 3}), ('mutation { say(word: "x") }', {"say": "x"})]
)
async def test_queries_and_mutations_work_as_well(query: str, data: dict[str, Any]) -> None:
    async with opened() as peer:
        peer.subscribe("1", query)
        assert await peer.hear() == {"id": "1", "type": "next", "payload": {"data": data}}
        assert await peer.hear() == {"id": "1", "type": "complete"}


async def test_each_operation_has_a_context_and_a_request_id_of_its_own() -> None:
    async with opened(headers={"X-Request-Id": "request-12345"}) as peer:
        answers = []
        for id_ in ("1", "2"):
            peer.subscribe(id_, "{ hello caller }")
            answers.append((await peer.hear())["payload"]["data"])
            await peer.hear()
    assert answers == [
        {"hello": "hello world, 1", "caller": "None request-12345.1"},
        {"hello": "hello world, 1", "caller": "None request-12345.2"},
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("{ hello", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ thing {" + " inner {" * 20 + " name }" + " }" * 21, "QUERY_TOO_COMPLEX"),
        ("query q($n: Int!) { defaulted(number: $n) }", "BAD_USER_INPUT"),
        ("subscription q($n: Int!) { count(to: $n) }", "BAD_USER_INPUT"),
        ("query a { hello } query b { hello }", "BAD_REQUEST"),
        ("subscription { stillborn }", "FORBIDDEN"),
    ],
)
async def test_an_operation_that_cannot_begin_is_told_its_errors_every_time(query: str, expected: str) -> None:
    async with opened() as peer:
        for id_ in ("1", "1"):
            peer.subscribe(id_, query)
            assert code(await peer.hear()) == expected


@pytest.mark.parametrize(("how", "expected"), [("bug", "INTERNAL"), ("pool", "UNAVAILABLE"), ("slow", "SLOW_READER")])
async def test_a_stream_that_breaks_off_ends_with_an_error(how: str, expected: str) -> None:
    async with opened() as peer:
        peer.subscribe("1", "subscription q($how: String!) { breaking(how: $how) }", variables={"how": how})
        await peer.hear()
        broken = await peer.hear()
    assert (code(broken), "seven" in str(broken)) == (expected, False)


async def test_an_error_of_a_resolver_comes_with_the_result() -> None:
    async with opened() as peer:
        peer.subscribe("1", '{ hello fail(how: "bug") }')
        payload = (await peer.hear())["payload"]
    assert (payload["data"], payload["errors"][0]["path"]) == ({"hello": "hello world, 1", "fail": None}, ["fail"])


async def test_a_completed_subscription_is_stopped_and_its_id_free_again() -> None:
    async with opened() as peer:
        peer.subscribe("1", "subscription { forever }")
        await peer.hear()
        peer.say({"type": "complete", "id": "1"})
        await until(lambda: observed.running == 0)
        peer.subscribe("1", "{ defaulted }")
        assert (await peer.hear())["payload"] == {"data": {"defaulted": 3}}


async def test_subscriptions_are_stopped_when_the_client_goes_away() -> None:
    async with opened() as peer:
        for id_ in ("1", "2"):
            peer.subscribe(id_, "subscription { forever }")
            await peer.hear()
        assert observed.running == 2
    assert observed.running == 0


async def test_an_operation_too_many_is_refused_and_the_socket_stays() -> None:
    async with opened(toy_endpoint(Limits(socket_operations=1))) as peer:
        peer.subscribe("1", "subscription { forever }")
        await peer.hear()
        peer.subscribe("2", "{ hello }")
        refused = await peer.hear()
        assert (refused["id"], code(refused)) == ("2", "TOO_MANY_OPERATIONS")
        peer.say({"type": "complete", "id": "1"})
        peer.subscribe("2", "{ defaulted }")
        assert (await peer.hear())["payload"] == {"data": {"defaulted": 3}}


# --- the protocol ---


@pytest.mark.parametrize("protocols", [[], ["graphql-ws"], ["mqtt", "graphql-ws"]])
async def test_another_subprotocol_is_not_spoken(protocols: list[str]) -> None:
    async with opened(init=None, protocols=protocols) as peer:
        assert (await peer.closing())[0] == 4406


async def test_the_subprotocol_is_chosen_and_the_request_id_told_in_the_handshake() -> None:
    async with opened(protocols=["graphql-ws", "graphql-transport-ws"], headers={"X-Request-Id": "r-1234567"}) as peer:
        assert peer.handshake["subprotocol"] == "graphql-transport-ws"
        assert (b"x-request-id", b"r-1234567") in peer.handshake["headers"]


async def test_a_ping_is_answered_and_a_pong_is_not() -> None:
    async with opened(init=None) as peer:
        peer.say({"type": "pong"})
        peer.say({"type": "ping"})
        assert await peer.hear() == {"type": "pong"}


async def test_a_socket_that_never_initialises_is_closed() -> None:
    async with opened(toy_endpoint(Limits(init_seconds=0.01)), init=None) as peer:
        assert await peer.closing() == (4408, "Connection initialisation timeout")


async def test_a_socket_once_initialised_may_be_silent() -> None:
    async with opened(toy_endpoint(Limits(init_seconds=0.02, write_seconds=5))) as peer:
        peer.subscribe("1", "subscription { forever }")
        await peer.hear()
        await asyncio.sleep(0.04)
        peer.say({"type": "ping"})
        assert await peer.hear() == {"type": "pong"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([{"type": "connection_init"}], 4429),
        ([{"type": "subscribe", "id": "1", "payload": {"query": "subscription { forever }"}}] * 2, 4409),
        ([{"type": "subscribe", "id": "1", "payload": {"query": 1}}], 4400),
        ([{"type": "subscribe", "id": "1", "payload": "{ hello }"}], 4400),
        ([{"type": "subscribe", "id": "1"}], 4400),
        ([{"type": "subscribe", "id": "", "payload": {"query": "{ hello }"}}], 4400),
        ([{"type": "subscribe", "id": "x" * 129, "payload": {"query": "{ hello }"}}], 4400),
        ([{"type": "subscribe", "payload": {"query": "{ hello }"}}], 4400),
        ([{"type": "start", "id": "1", "payload": {"query": "{ hello }"}}], 4400),
        ([{"type": ["ping"]}], 4400),
        ([["ping"]], 4400),
        ([None], 4400),
    ],
)
async def test_what_the_protocol_does_not_allow_closes_the_socket(said: list[object], expected: int) -> None:
    async with opened() as peer:
        for message in said:
            peer.say(message)
        while (answer := await peer.to_client.get())["type"] != "websocket.close":
            pass
    assert answer["code"] == expected


async def test_nobody_subscribes_before_the_socket_is_acknowledged() -> None:
    async with opened(init=None) as peer:
        peer.subscribe("1", "{ hello }")
        assert await peer.closing() == (4401, "Unauthorized")


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        pytest.param({"text": '{"type": "ping"'}, 4400, id="broken JSON"),
        pytest.param({"text": "[" * 100_000}, 4400, id="nested past any stack"),
        pytest.param({"text": '{"type": "ping", "payload": NaN}'}, 4400, id="NaN"),
        pytest.param({"bytes": b'{"type": "ping"}'}, 4400, id="bytes"),
        pytest.param({"text": json.dumps({"type": "ping", "payload": "x" * 300_000})}, 1009, id="300,000 characters"),
    ],
)
async def test_a_message_that_cannot_be_read_closes_the_socket(received: dict[str, Any], expected: int) -> None:
    async with opened() as peer:
        peer.to_server.put_nowait({"type": "websocket.receive", **received})
        assert (await peer.closing())[0] == expected


async def test_what_arrives_after_the_close_is_ignored() -> None:
    async with opened() as peer:
        peer.say(None)
        peer.subscribe("1", "subscription { forever }")
        assert (await peer.closing())[0] == 4400
    assert (observed.contexts, peer.to_client.qsize()) == (1, 0)


async def test_a_reader_that_takes_nothing_is_cut_off() -> None:
    async with opened(toy_endpoint(Limits(write_seconds=0.01))) as peer:
        peer.is_reading = False
        peer.subscribe("1", "subscription { forever }")
        assert await peer.closing() == (1013, SLOW)


async def test_whoever_observes_learns_of_a_reader_that_is_cut_off() -> None:
    @strawberry.type
    class Subscription:
        @strawberry.subscription
        async def numbers(self) -> AsyncGenerator[int, None]:
            yield 1

    metrics, schema = Metrics(), strawberry.Schema(Query, subscription=Subscription)
    limits, observatory = Limits(write_seconds=0.01), Observatory(metrics)
    async with opened(GraphQLEndpoint(schema, context=nobody, limits=limits, observatory=observatory)) as peer:
        peer.is_reading = False
        peer.subscribe("1", "subscription { numbers }")
        assert (await peer.closing())[0] == 1013
    told = {"transport": "websocket", "reason": "stalled"}
    assert metrics.registry.get_sample_value("tic_slow_readers_total", told) == 1


async def test_what_runs_on_a_socket_ends_with_its_reader_and_makes_nothing_more() -> None:
    made: list[int] = []

    @strawberry.type
    class Subscription:
        @strawberry.subscription
        async def numbers(self) -> AsyncGenerator[int, None]:
            for number in range(10):
                made.append(number)
                yield number

    endpoint = GraphQLEndpoint(
        strawberry.Schema(Query, subscription=Subscription), context=nobody, limits=Limits(write_seconds=0.01)
    )
    async with opened(endpoint) as peer:
        peer.is_reading = False
        peer.subscribe("1", "subscription { numbers }")
        assert (await peer.closing())[0] == 1013
        await until(lambda: endpoint.open_streams == 0)
    assert made == [0]


async def test_a_socket_that_takes_not_even_its_end_is_let_go() -> None:
    endpoint = toy_endpoint(Limits(write_seconds=0.01))
    async with opened(endpoint) as peer:
        peer.stop_reading()
        peer.subscribe("1", "subscription { forever }")
        assert peer.serving is not None
        await asyncio.wait_for(asyncio.shield(peer.serving), 5)  # nothing comes from the client any more
        assert (endpoint.open_streams, peer.to_client.empty()) == (0, True)


# --- what is offered to those who wait ---


async def nobody(*_: object) -> None: ...


class Offering:
    """A subscription whose items are offered as the test says; what it yields, it yields at the end."""

    def __init__(self) -> None:
        self.offer: Offer | None = None
        self.is_over = asyncio.Event()

    async def follow(self, _edition: object, offer: Offer | None) -> AsyncGenerator[list[int], None]:
        self.offer = offer
        await self.is_over.wait()
        yield [7]


@asynccontextmanager
async def offered(limits: Limits | None = None) -> AsyncIterator[tuple[Peer, Callable[[str], bool], Offering]]:
    """A socket with one subscription, named `"one"`, that waits; and what offers it a payload."""
    source = Offering()

    @strawberry.type
    class Subscription:
        @strawberry.subscription
        async def numbers(self) -> AsyncGenerator[int, None]:
            feed = Feed(source.follow, key=lambda item: item, viewer=None, show=lambda item: item, context=lambda: None)
            return cast("AsyncGenerator[int, None]", feed)

    endpoint = GraphQLEndpoint(strawberry.Schema(Query, subscription=Subscription), context=nobody, limits=limits)
    async with opened(endpoint) as peer:
        peer.subscribe("one", "subscription { numbers }")
        await until(lambda: source.offer is not None)
        assert source.offer is not None
        yield peer, source.offer, source


async def test_what_is_offered_goes_out_at_once_as_a_result_of_the_operation() -> None:
    async with offered() as (peer, offer, source):
        assert offer('{"data":{"numbers":6}}')
        assert peer.to_client.qsize() == 1
        source.is_over.set()
        heard = [await peer.hear() for _ in range(3)]
    assert heard == [
        {"id": "one", "type": "next", "payload": {"data": {"numbers": 6}}},
        {"id": "one", "type": "next", "payload": {"data": {"numbers": 7}}},
        {"id": "one", "type": "complete"},
    ]


async def test_while_an_offer_is_under_way_no_other_is_taken_and_nothing_overtakes_it() -> None:
    async with offered() as (peer, offer, source):
        peer.is_reading = False
        assert [offer(f'"{n}"') for n in (1, 2)] == [True, False]
        source.is_over.set()
        peer.say({"type": "ping"})
        for _ in range(20):
            await asyncio.sleep(0)
        assert peer.to_client.empty()
        peer.read_on()
        heard = [await peer.hear() for _ in range(4)]
    assert [message.get("payload", message["type"]) for message in heard if message["type"] != "pong"] == [
        "1",
        {"data": {"numbers": 7}},
        "complete",
    ]
    assert heard[0]["type"] == "next"


async def test_a_reader_that_does_not_take_what_was_offered_is_cut_off() -> None:
    async with offered(Limits(write_seconds=0.01)) as (peer, offer, _):
        peer.is_reading = False
        assert offer('"1"')
        assert await peer.closing() == (1013, SLOW)
        assert not offer('"2"')


async def test_an_offer_to_a_client_that_has_gone_is_not_taken() -> None:
    with structlog.testing.capture_logs() as logs:
        async with offered() as (peer, offer, source):
            peer.is_gone = True
            assert not offer('"1"')
            source.is_over.set()  # and whoever waits for it then sends it to nobody
    assert (peer.to_client.empty(), logs) == (True, [])


async def test_a_socket_that_ends_gives_up_what_was_offered() -> None:
    async with offered() as (peer, offer, _):
        peer.is_reading = False
        assert offer('"1"')
    peer.read_on()
    await asyncio.sleep(0)
    assert peer.to_client.empty()


# --- who is asking ---


@pytest.mark.parametrize(
    ("init", "headers"),
    [
        (ANNA, {}),
        ({"authorization": "Bearer anna-token"}, {}),
        ({}, ANNA),
        (ANNA, {"Authorization": "Bearer bert-token"}),
    ],
    ids=["payload", "payload in lower case", "handshake", "payload before handshake"],
)
async def test_the_token_comes_from_the_payload_or_the_handshake(init: object, headers: dict[str, str]) -> None:
    async with opened(init=init, headers=headers) as peer:
        await peer.hear()
        peer.subscribe("1", "{ caller }")
        assert (await peer.hear())["payload"]["data"]["caller"].startswith("anna-token ")


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ({"Authorization": "Basic YW5uYQ=="}, 4403),
        ({"Authorization": ""}, 4403),
        ({"Authorization": 1}, 4403),
        ({**ANNA, "authorization": "Bearer anna-token"}, 4403),
        ({"Authorization": "Bearer unknown"}, 4403),
        ("Bearer anna-token", 4400),
    ],
)
async def test_bad_credentials_close_the_socket(init: object, expected: int) -> None:
    async with opened(init=init) as peer:
        assert (await peer.closing())[0] == expected


async def test_a_database_lost_at_the_start_asks_the_client_to_come_back() -> None:
    observed.is_database_lost = True
    async with opened(init={}) as peer:
        close_code, reason = await peer.closing()
    assert (close_code, "connect again" in reason, len(reason.encode()) <= 123) == (1013, True, True)


async def test_a_context_that_breaks_at_the_start_closes_the_socket() -> None:
    def broken() -> None:
        raise RuntimeError("the seven of stars is on top")

    observed.during_authentication = broken
    async with opened(init={}) as peer:
        close_code, reason = await peer.closing()
    assert (close_code, "seven" in reason) == (4500, False)


async def test_a_database_lost_later_is_told_to_the_operation_alone() -> None:
    async with opened() as peer:
        observed.is_database_lost = True
        peer.subscribe("1", "{ hello }")
        assert code(await peer.hear()) == "UNAVAILABLE"
        peer.say({"type": "ping"})
        assert await peer.hear() == {"type": "pong"}


async def test_a_token_that_has_become_bad_is_found_out_by_the_next_operation() -> None:
    async with opened(init=ANNA) as peer:
        await peer.hear()
        observed.revoked.add("anna-token")
        peer.subscribe("1", "{ hello }")
        assert code(await peer.hear()) == "UNAUTHENTICATED"


async def test_a_revoked_token_closes_its_sockets_at_once_and_no_other() -> None:
    endpoint = toy_endpoint()
    async with opened(endpoint, init=ANNA) as anna, opened(endpoint) as bert:
        await anna.hear()
        for peer in (anna, bert):
            peer.subscribe("1", "subscription { forever }")
            await peer.hear()
        assert endpoint.disconnect(lambda of: of == digest("anna-token"), reason="revoked") == 1
        assert await anna.closing() == (4403, "revoked")
        await until(lambda: observed.running == 1)
        bert.say({"type": "ping"})
        assert await bert.hear() == {"type": "pong"}


async def test_a_revocation_waits_for_nobody_who_reads_nothing() -> None:
    endpoint = toy_endpoint(Limits(write_seconds=3600))
    async with opened(endpoint, init=ANNA) as anna, opened(endpoint, init=ANNA) as another:
        for peer in (anna, another):
            await peer.hear()
            peer.subscribe("1", "subscription { forever }")
            await peer.hear()
        anna.stop_reading()
        assert endpoint.disconnect(lambda _: True, reason="revoked") == 2
        assert await another.closing() == (4403, "revoked")
        await until(lambda: observed.running == 0)
        anna.read_on()


async def test_whoever_reads_nothing_holds_up_the_end_of_all_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.sockets.FAREWELL_SECONDS", 0.01)
    endpoint = toy_endpoint(Limits(write_seconds=3600))
    async with opened(endpoint) as stuck, opened(endpoint) as another:
        stuck.stop_reading()
        await endpoint.close(1001, "stopping")
        assert another.to_client.get_nowait()["code"] == 1001
        stuck.read_on()


async def test_a_token_revoked_while_it_is_checked_closes_the_socket_all_the_same() -> None:
    endpoint = toy_endpoint()
    ended: list[int] = []
    observed.during_authentication = lambda: ended.append(endpoint.disconnect(lambda of: of == digest("anna-token")))
    async with opened(endpoint, init=ANNA) as peer:
        while (message := await peer.to_client.get())["type"] != "websocket.close":
            pass
    assert (message["code"], ended) == (4403, [1])


async def test_the_tokens_of_open_sockets_are_known_by_their_digests() -> None:
    endpoint = toy_endpoint()
    async with opened(endpoint, init=ANNA) as anna, opened(endpoint):
        await anna.hear()
        assert endpoint.open_tokens() == {digest("anna-token")}
    assert endpoint.open_tokens() == set()


async def test_a_closed_socket_is_held_no_longer() -> None:
    endpoint = toy_endpoint()
    async with opened(endpoint):
        assert endpoint.open_streams == 1
    assert endpoint.open_streams == 0


async def test_nothing_is_logged_of_what_was_sent() -> None:
    with structlog.testing.capture_logs() as logs:
        async with opened(init=ANNA) as peer:
            await peer.hear()
            peer.subscribe(
                "1",
                'query q($secret: String) { fail(how: "bug") hello(name: $secret) }',
                variables={"secret": "hunter2"},
            )
            await peer.hear()
    assert [entry["event"] for entry in logs] == ["resolver_failed"]
    assert not any(word in repr(logs) for word in ("hunter2", "anna-token"))


@pytest.mark.parametrize("value", ["Bearer abc", "bearer abc", "BEARER   abc"])
def test_the_scheme_is_read_in_any_case(value: str) -> None:
    assert bearer([value]) == "abc"


@pytest.mark.parametrize("value", ["Bearer abc\n", " Bearer abc", "Bearer a,b", "Bearer " + "x" * 5000, "Bearer ä"])
def test_what_cannot_be_a_token_is_refused(value: str) -> None:
    with pytest.raises(Unauthenticated):
        bearer([value])


# --- over a real network ---


async def test_a_real_client_on_a_real_server_is_cut_off_by_a_revocation() -> None:
    endpoint = toy_endpoint()
    with served(endpoint) as (port, loop):
        async with websockets.connect(
            f"ws://127.0.0.1:{port}/graphql", subprotocols=[websockets.Subprotocol("graphql-transport-ws")]
        ) as socket:
            await socket.send(json.dumps({"type": "connection_init", "payload": ANNA}))
            await socket.send(
                json.dumps({"type": "subscribe", "id": "1", "payload": {"query": "subscription { forever }"}})
            )
            assert [json.loads(await socket.recv())["type"] for _ in range(2)] == ["connection_ack", "next"]
            loop.call_soon_threadsafe(
                partial(endpoint.disconnect, lambda of: of == digest("anna-token"), reason="revoked")
            )
            with pytest.raises(websockets.ConnectionClosed) as closed:
                await asyncio.wait_for(socket.recv(), 5)
    assert (closed.value.rcvd and closed.value.rcvd.code, observed.running) == (4403, 0)
