"""GraphQL over HTTP and server-sent events: whatever is sent, the answer is a GraphQL response with codes."""

import asyncio
import json
import selectors
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import strawberry
import structlog
from starlette.requests import HTTPConnection

from api.endpoint import GraphQLEndpoint
from api.limits import Limits
from tests.audit.toy import Observed, Query, application, context, digest, observed, schema, served, toy_endpoint

GRAPHQL = "application/graphql-response+json"
EVENTS = "text/event-stream"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    vars(observed).update(vars(Observed()))
    yield
    assert observed.running == 0, "a subscription was left running"


def client(endpoint: GraphQLEndpoint | None = None) -> httpx.AsyncClient:
    app = application(endpoint or toy_endpoint())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://toy")


async def post(body: object = None, **kwargs: Any) -> httpx.Response:
    headers = {"Content-Type": "application/json", **kwargs.pop("headers", {})}
    content = kwargs.pop("content", None) or json.dumps(body)
    async with client(kwargs.pop("endpoint", None)) as http:
        return await http.post("/graphql", content=content, headers=headers, **kwargs)


async def get(headers: dict[str, str] | None = None, /, **params: str) -> httpx.Response:
    async with client() as http:
        return await http.get("/graphql", params=params, headers=headers or {})


def code(response: httpx.Response) -> str:
    """The code of the first error; that it has a request id, and the right one, is checked on the way."""
    error = response.json()["errors"][0]
    assert error["extensions"]["requestId"] == response.headers["x-request-id"]
    return str(error["extensions"]["code"])


# --- requests and their media types ---


async def test_a_query_is_answered() -> None:
    response = await post({"query": "query q($n: String!) { hello(name: $n) }", "variables": {"n": "you"}})
    assert (response.status_code, response.json()) == (200, {"data": {"hello": "hello you, 1"}})


async def test_a_mutation_is_answered() -> None:
    response = await post({"query": 'mutation { say(word: "tic") }'})
    assert response.json() == {"data": {"say": "tic"}}


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        (GRAPHQL, GRAPHQL),
        (f"{GRAPHQL}, application/json", GRAPHQL),
        (f"application/json;q=0.5, {GRAPHQL};q=0.9", GRAPHQL),
        (f"{GRAPHQL};q=nonsense, application/json", "application/json"),
        ("text/html, */*;q=0.8", "application/json"),
    ],
)
async def test_the_media_type_is_negotiated(accept: str, media_type: str) -> None:
    response = await post({"query": "{ hello }"}, headers={"Accept": accept})
    assert response.headers["content-type"] == f"{media_type}; charset=utf-8"


async def test_an_answer_that_nobody_accepts_is_not_given() -> None:
    response = await post({"query": "{ hello }"}, headers={"Accept": "image/png"})
    assert (response.status_code, code(response)) == (406, "BAD_REQUEST")


@pytest.mark.parametrize(
    ("query", "expected"), [("{ hello", "GRAPHQL_PARSE_FAILED"), ("{ nothing }", "GRAPHQL_VALIDATION_FAILED")]
)
@pytest.mark.parametrize(("accept", "status"), [("application/json", 200), (GRAPHQL, 400)])
async def test_a_refused_document_has_the_status_of_its_media_type(
    query: str, expected: str, accept: str, status: int
) -> None:
    response = await post({"query": query}, headers={"Accept": accept})
    assert (response.status_code, code(response), "data" in response.json()) == (status, expected, False)


async def test_a_variable_of_the_wrong_type_is_the_clients_mistake() -> None:
    response = await post({"query": "query q($n: Int!) { defaulted(number: $n) }", "variables": {"n": "three"}})
    assert code(response) == "BAD_USER_INPUT"


async def test_a_null_for_an_argument_that_has_a_default_is_the_clients_mistake() -> None:
    response = await post({"query": "query q($n: Int) { defaulted(number: $n) }", "variables": {"n": None}})
    assert code(response) == "BAD_USER_INPUT"


async def test_a_document_that_asks_for_too_much_is_refused_with_the_limit() -> None:
    response = await post({"query": "{ thing {" + " inner {" * 20 + " name }" + " }" * 21})
    assert response.json()["errors"][0]["extensions"]["limit"] == "depth"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"query": "{ hello', id="broken off"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe\xfd", id="not UTF-8"),
        pytest.param('{"query": "{ hello }"}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b'{"query": "{ hello(name: \\"\\ud800\\") }"}', id="a lone surrogate"),
        pytest.param(b'{"query": "{ hello }", "variables": {"n": NaN}}', id="NaN"),
        pytest.param(b'{"query": "{ hello }", "variables": ' + b"[" * 100_000, id="nested past any stack"),
        pytest.param(
            b'{"query": "{ hello }", "variables": {"n": ' + b"9" * 10_000 + b"}}", id="a number of 10,000 digits"
        ),
        pytest.param(b'[{"query": "{ hello }"}]', id="a batch"),
        pytest.param(b'"{ hello }"', id="a string"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"query": ["{ hello }"]}', id="a query that is a list"),
        pytest.param(b'{"query": "{ hello }", "variables": "x"}', id="variables that are a string"),
        pytest.param(b'{"query": "{ hello }", "operationName": {}}', id="an operation name that is an object"),
        pytest.param(b'{"query": "{ hello }", "extensions": 1}', id="extensions that are a number"),
        pytest.param(b'{"query": "{ hello }", "operationName": "other"}', id="no such operation"),
        pytest.param(b'{"query": "subscription { forever }"}', id="a subscription without a stream"),
    ],
)
async def test_a_malformed_request_is_refused(content: bytes) -> None:
    response = await post(content=content or b" ")
    assert (response.status_code, code(response)) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Encoding": "gzip"},
        {"Content-Type": ""},
    ],
)
async def test_a_body_of_another_kind_is_refused(headers: dict[str, str]) -> None:
    response = await post({"query": "{ hello }"}, headers=headers)
    assert (response.status_code, code(response)) == (415, "BAD_REQUEST")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_refused(method: str) -> None:
    async with client() as http:
        response = await http.request(method, "/graphql")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST, OPTIONS")


async def test_options_tells_the_methods() -> None:
    async with client() as http:
        response = await http.options("/graphql")
    assert (response.status_code, response.headers["allow"], response.content) == (204, "GET, POST, OPTIONS", b"")


# --- GET ---


async def test_a_query_may_be_sent_by_get() -> None:
    response = await get(query="query q($n: String!) { hello(name: $n) }", variables='{"n": "you"}', operationName="q")
    assert response.json() == {"data": {"hello": "hello you, 1"}}


async def test_a_mutation_by_get_is_refused() -> None:
    response = await get(query='mutation { say(word: "tic") }')
    assert (response.status_code, response.headers["allow"], code(response)) == (405, "POST", "BAD_REQUEST")


@pytest.mark.parametrize(
    "params",
    [{"query": "{ hello }", "variables": "{"}, {"query": "{ hello }", "variables": "[]"}, {"quarry": "{ hello }"}, {}],
)
async def test_a_malformed_get_is_refused(params: dict[str, str]) -> None:
    response = await get(None, **params)
    assert (response.status_code, code(response)) == (400, "BAD_REQUEST")


async def test_a_url_with_a_thousand_parameters_is_refused() -> None:
    response = await get(None, **{f"p{n}": "1" for n in range(1000)}, query="{ hello }")
    assert (response.status_code, code(response)) == (400, "BAD_REQUEST")


async def test_a_browser_gets_the_graphiql_page() -> None:
    response = await get({"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (response.status_code, "GraphiQL" in response.text) == (200, True)


async def test_the_graphiql_page_can_be_switched_off() -> None:
    async with client(toy_endpoint(graphiql=False)) as http:
        response = await http.get("/graphql", headers={"Accept": "text/html"})
    assert (response.status_code, code(response)) == (406, "BAD_REQUEST")


# --- the size of the body ---


async def test_a_body_that_is_declared_too_long_is_not_read() -> None:
    response = await post(content=b'{"query": "{ hello }"}' + b" " * 300_000)
    assert (response.status_code, code(response)) == (413, "BODY_TOO_LARGE")


@pytest.mark.parametrize("declared", [{}, {"Content-Length": "10"}], ids=["no length", "a lying length"])
async def test_a_body_is_read_no_further_than_the_limit(declared: dict[str, str]) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while read < 10_000_000:
            read += 10_000
            yield b" " * 10_000

    response = await post(content=endless(), headers=declared, endpoint=toy_endpoint(Limits(body_bytes=100_000)))
    assert (response.status_code, code(response)) == (413, "BODY_TOO_LARGE")
    assert read <= 120_000


async def test_a_client_that_hangs_up_halfway_through_its_body_is_not_answered() -> None:
    sent: list[Any] = []
    received = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    await toy_endpoint()(scope, receive, send)
    assert sent == []


# --- who is asking ---


async def test_the_context_is_made_of_the_token_and_the_request_id() -> None:
    headers = {"Authorization": "Bearer anna-token", "X-Request-Id": "request-12345"}
    response = await post({"query": "{ caller }"}, headers=headers)
    assert response.json() == {"data": {"caller": "anna-token request-12345"}}


async def test_a_request_without_a_token_is_nobodys() -> None:
    response = await post({"query": "{ caller }"})
    assert response.json()["data"]["caller"].startswith("None ")


@pytest.mark.parametrize(
    "credentials",
    [
        ["Basic YW5uYQ=="],
        ["Bearer"],
        ["Bearer "],
        ["anna-token"],
        [""],
        ["Bearer anna token"],
        ["Bearer anna-token", "Bearer anna-token"],
        ["Bearer unknown"],
    ],
)
async def test_a_bad_token_is_unauthenticated(credentials: list[str]) -> None:
    headers = [("Content-Type", "application/json"), *(("Authorization", value) for value in credentials)]
    async with client() as http:
        response = await http.post("/graphql", json={"query": "{ hello }"}, headers=headers[1:])
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert code(response) == "UNAUTHENTICATED"


async def test_a_database_lost_before_anything_ran_is_a_503() -> None:
    observed.is_database_lost = True
    response = await post({"query": "{ hello }"})
    assert (response.status_code, code(response)) == (503, "UNAVAILABLE")


async def test_a_broken_context_is_an_internal_error() -> None:
    async def broken(connection: HTTPConnection, token: str | None, request_id: str) -> object:
        raise RuntimeError("the seven of stars is on top")

    response = await post({"query": "{ hello }"}, endpoint=GraphQLEndpoint(schema, context=broken))
    assert (response.status_code, code(response), "seven" in response.text) == (500, "INTERNAL", False)


@pytest.mark.parametrize("sent", ["short", "with space in it", "x" * 65, "line\tbreak1", "ünsichtbar"])
async def test_a_request_id_that_is_not_safe_to_repeat_is_replaced(sent: str) -> None:
    response = await post({"query": "{ hello }"}, headers={"X-Request-Id": sent.encode("latin-1")})
    assert len(response.headers["x-request-id"]) == 32


async def test_the_request_id_is_bound_for_the_log_and_only_meanwhile() -> None:
    seen: list[Any] = []

    async def watching(connection: HTTPConnection, token: str | None, request_id: str) -> object:
        seen.append(structlog.contextvars.get_contextvars())
        return await context(connection, token, request_id)

    endpoint = GraphQLEndpoint(schema, context=watching)
    await post({"query": "{ hello }"}, headers={"X-Request-Id": "request-12345"}, endpoint=endpoint)
    assert (seen, structlog.contextvars.get_contextvars()) == ([{"request_id": "request-12345"}], {})


# --- what resolvers raise ---


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('{ fail(how: "bug") }', "INTERNAL"),
        ('{ fail(how: "graphql") }', "INTERNAL"),
        ("{ wrong }", "INTERNAL"),
        ("{ card { title } }", "INTERNAL"),
        ('{ fail(how: "pool") }', "UNAVAILABLE"),
        ('{ fail(how: "fault") }', "FORBIDDEN"),
    ],
)
async def test_what_a_resolver_raises_or_returns_amiss_is_told_under_its_code_and_no_more(
    query: str, expected: str
) -> None:
    response = await post({"query": query})
    assert (response.status_code, code(response)) == (200, expected)
    assert "seven" not in response.text


async def test_an_error_is_told_at_its_path_and_place() -> None:
    error = (await post({"query": '{ hello x: fail(how: "fault") }'})).json()["errors"][0]
    assert (error["path"], error["locations"]) == (["x"], [{"line": 1, "column": 9}])


async def test_the_log_has_what_the_client_may_not_see_and_never_what_it_sent() -> None:
    with structlog.testing.capture_logs() as logs:
        headers = {"X-Request-Id": "request-12345", "Authorization": "Bearer anna-token"}
        variables = {"how": "bug", "secret": "hunter2"}
        await post(
            {
                "query": "query q($how: String!) { fail(how: $how) }",
                "variables": variables,
                "extensions": {"a": "hunter3"},
            },
            headers=headers,
        )
    (entry,) = logs
    assert (entry["event"], entry["request_id"], entry["error"]) == ("resolver_failed", "request-12345", "ValueError")
    assert "the seven of stars is on top" in entry["exception"]
    assert not any(word in repr(entry) for word in ("hunter", "anna-token", "query q"))


async def test_an_answer_that_cannot_be_encoded_is_an_internal_error() -> None:
    response = await post({"query": '{ fail(how: "surrogate") }'})
    assert (response.status_code, code(response)) == (500, "INTERNAL")


async def test_only_so_many_errors_are_told() -> None:
    errors = (await post({"query": "{ broken { part } }"})).json()["errors"]
    assert (len(errors), errors[-1]["extensions"]["code"]) == (21, "ERRORS_OMITTED")
    assert errors[-1]["message"] == "20 more errors are left out."


# --- server-sent events ---


def events(text: str) -> list[tuple[str, Any]]:
    told = []
    for block in text.split("\n\n"):
        fields = dict(line.split(":", 1) for line in block.splitlines())
        if "event" in fields:
            told.append((fields["event"].strip(), json.loads(fields["data"] or "null")))
    return told


async def stream(query: str, **kwargs: Any) -> list[tuple[str, Any]]:
    response = await post({"query": query}, headers={"Accept": EVENTS, **kwargs.pop("headers", {})}, **kwargs)
    assert (response.status_code, response.headers["content-type"]) == (200, f"{EVENTS}; charset=utf-8")
    return events(response.text)


async def test_a_subscription_is_answered_in_events() -> None:
    counted = [("next", {"data": {"count": number}}) for number in range(3)]
    assert await stream("subscription { count(to: 3) }") == [*counted, ("complete", None)]


async def test_a_subscription_may_be_sent_by_get() -> None:
    response = await get({"Accept": EVENTS}, query="subscription { count(to: 1) }")
    assert events(response.text) == [("next", {"data": {"count": 0}}), ("complete", None)]


@pytest.mark.parametrize(
    ("query", "data"), [("{ defaulted }", {"defaulted": 3}), ('mutation { say(word: "x") }', {"say": "x"})]
)
async def test_a_query_and_a_mutation_are_answered_in_events_too(query: str, data: dict[str, Any]) -> None:
    assert await stream(query) == [("next", {"data": data}), ("complete", None)]


async def test_a_mutation_by_get_is_refused_in_front_of_a_stream_as_well() -> None:
    response = await get({"Accept": EVENTS}, query='mutation { say(word: "x") }')
    assert (response.status_code, code(response)) == (405, "BAD_REQUEST")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("subscription { forever", "GRAPHQL_PARSE_FAILED"),
        ("subscription { never }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { stillborn }", "FORBIDDEN"),
        ('subscription { breaking(how: "bug") }', "INTERNAL"),
        ('subscription { breaking(how: "pool") }', "UNAVAILABLE"),
        ('subscription { breaking(how: "slow") }', "SLOW_READER"),
    ],
)
async def test_an_error_is_an_event_and_ends_the_stream(query: str, expected: str) -> None:
    *_, (event, body), last = await stream(query)
    assert (event, body["errors"][0]["extensions"]["code"], last) == ("next", expected, ("complete", None))


async def test_who_may_not_subscribe_is_told_by_the_status() -> None:
    headers = {"Accept": EVENTS, "Authorization": "Bearer unknown"}
    response = await post({"query": "subscription { forever }"}, headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (401, "application/json; charset=utf-8")


async def test_a_resolver_with_a_time_out_around_its_results_streams() -> None:
    assert len(await stream("subscription { timely }")) == 3


@asynccontextmanager
async def connected(
    endpoint: GraphQLEndpoint,
    token: str | None = None,
    *,
    query: str = "subscription { forever }",
    stuck_at: bytes | None = None,
    patience: float = 5,
) -> AsyncIterator[AsyncIterator[str]]:
    """Subscribe and read the events line by line, as they are sent, until the answer ends; hang up with the block.

    A client that is stuck takes nothing from the first part on that has these bytes in it.
    """
    lines = asyncio.Queue[str | None]()
    hung_up = asyncio.Event()
    blocked = asyncio.Event()
    requests = [{"type": "http.request", "body": json.dumps({"query": query}).encode(), "more_body": False}]
    is_stuck = False

    async def receive() -> Any:
        if requests:
            return requests.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal is_stuck
        is_stuck = is_stuck or (stuck_at is not None and stuck_at in message.get("body", message["type"].encode()))
        if is_stuck:
            await blocked.wait()
        for line in message.get("body", b"").decode().splitlines():
            lines.put_nowait(line)

    async def reading() -> AsyncIterator[str]:
        while (line := await lines.get()) is not None:
            yield line

    headers = [(b"accept", EVENTS.encode()), (b"content-type", b"application/json")]
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b"", "headers": headers}
    async with asyncio.timeout(patience):
        serving = asyncio.create_task(endpoint(scope, receive, send))
        serving.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            yield reading()
        finally:
            hung_up.set()
            await serving


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event to offer
            await asyncio.sleep(0)


async def test_a_silent_stream_sends_comments() -> None:
    async with connected(toy_endpoint(Limits(heartbeat_seconds=0.01))) as lines:
        assert [await anext(lines) for _ in range(12)].count(":") >= 3


async def test_a_subscription_is_stopped_when_the_client_goes_away() -> None:
    endpoint = toy_endpoint()
    async with connected(endpoint):
        await until(lambda: observed.running == 1)
    assert (observed.running, endpoint.open_streams) == (0, 0)


class Skipping(asyncio.SelectorEventLoop):
    """An event loop for which time passes at once, where nothing is to be done until then."""

    def __init__(self) -> None:
        super().__init__(selector := selectors.DefaultSelector())
        self._passed = 0.0
        select = selector.select

        def skipping(timeout: float | None = None) -> Any:
            self._passed += timeout or 0
            return select(0)

        selector.select = skipping  # type: ignore[method-assign]

    def time(self) -> float:
        return self._passed


def endpoint_of(numbers: Callable[[], AsyncGenerator[int]]) -> GraphQLEndpoint:
    """An endpoint whose only subscription is this one."""

    @strawberry.type
    class Subscription:
        @strawberry.subscription
        async def numbers(self) -> AsyncGenerator[int]:
            async for number in numbers():
                yield number

    return GraphQLEndpoint(strawberry.Schema(Query, subscription=Subscription), context=context)


def test_a_stream_sends_a_comment_only_where_nothing_was_said_for_long() -> None:
    async def every_ten_seconds() -> AsyncGenerator[int]:
        for number in range(5):
            await asyncio.sleep(10)
            yield number
        await asyncio.sleep(20)

    async def heard() -> list[str]:
        endpoint = endpoint_of(every_ten_seconds)
        async with connected(endpoint, query="subscription { numbers }", patience=3600) as lines:
            return [line async for line in lines if line == ":" or line.startswith("event")]

    with asyncio.Runner(loop_factory=Skipping) as runner:
        assert runner.run(heard()) == [":", *["event: next"] * 5, ":", "event: complete"]


async def test_a_stream_that_is_ended_as_it_ends_is_completed_once() -> None:
    async def ending() -> AsyncGenerator[int]:
        yield 0
        endpoint.disconnect(lambda _: True)

    endpoint = endpoint_of(ending)
    async with connected(endpoint, query="subscription { numbers }") as lines:
        events = [line async for line in lines if line.startswith("event")]
    assert events == ["event: next", "event: complete"]


@pytest.mark.parametrize("part", [b"start", b":", b"event", b"complete"], ids=["head", "comment", "event", "end"])
@pytest.mark.parametrize("query", ["subscription { forever }", "subscription { count(to: 1) }", "{ refused }"])
async def test_a_reader_that_takes_nothing_is_cut_off_and_sent_nothing_more(query: str, part: bytes) -> None:
    endpoint = toy_endpoint(Limits(write_seconds=0.01))
    async with connected(endpoint, query=query, stuck_at=part) as lines:
        if part == b"complete" and "forever" in query:
            await until(lambda: observed.running == 1)
            endpoint.disconnect(lambda _: True)
        assert "event: complete" not in [line async for line in lines]
        assert (observed.running, endpoint.open_streams) == (0, 0)


async def test_a_revoked_token_ends_its_stream_and_no_other() -> None:
    endpoint = toy_endpoint()
    async with connected(endpoint, "anna-token") as annas, connected(endpoint, "bert-token"):
        await until(lambda: observed.running == 2)
        assert endpoint.disconnect(lambda of: of == digest("anna-token"), reason="revoked") == 1
        told = [line async for line in annas]
        assert ("UNAUTHENTICATED" in "".join(told), observed.running) == (True, 1)


async def test_every_stream_can_be_ended_when_the_server_stops() -> None:
    endpoint = toy_endpoint()
    async with connected(endpoint) as lines:
        await until(lambda: observed.running == 1)
        await endpoint.close(1001, "the server is restarting")
        assert "UNAVAILABLE" in "".join([line async for line in lines])


async def test_a_token_revoked_while_it_is_checked_ends_the_stream_all_the_same() -> None:
    endpoint = toy_endpoint()
    ended: list[int] = []

    def revoke() -> None:
        ended.append(endpoint.disconnect(lambda of: of == digest("anna-token")))

    observed.during_authentication = revoke
    async with asyncio.timeout(5):
        anna = {"Authorization": "Bearer anna-token"}
        told = await stream("subscription { forever }", headers=anna, endpoint=endpoint)
    assert [body and "errors" in body for _, body in told][-2:] == [True, None]
    assert ended == [1]


# --- over a real network ---


async def test_ten_megabytes_are_refused_by_a_real_server() -> None:
    with served(toy_endpoint()) as (port, _):
        async with httpx.AsyncClient() as http:
            response = await http.post(
                f"http://127.0.0.1:{port}/graphql",
                content=b" " * 10_000_000,
                headers={"Content-Type": "application/json"},
            )
    assert (response.status_code, code(response)) == (413, "BODY_TOO_LARGE")


async def test_a_real_client_that_hangs_up_stops_its_subscription() -> None:
    with served(toy_endpoint()) as (port, _):
        async with httpx.AsyncClient(headers={"Accept": EVENTS}) as http:
            url = f"http://127.0.0.1:{port}/graphql?query=subscription{{forever}}"
            async with http.stream("GET", url) as response:
                lines = response.aiter_lines()
                while await anext(lines) != "event: next":
                    pass
                assert observed.running == 1
        await until(lambda: observed.running == 0)
