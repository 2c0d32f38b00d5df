"""One span for each operation, where the environment asks for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from structlog.testing import capture_logs

import api.app
from api.observing import Observatory
from api.settings import Settings
from api.telemetry import tracing_of
from api.tracing import Tracing
from domain.application import Games
from tests.client import Client, connected
from tests.conftest import KEYRING, in_memory, listening
from tests.server import environment

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


class Spans:
    """What has been exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def taken(self) -> list[ReadableSpan]:
        spans = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return spans

    def one(self) -> ReadableSpan:
        (span,) = self.taken()
        return span


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
async def traced(database_url: str, spans: Spans, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of a server whose operations are traced."""
    monkeypatch.setattr(api.app, "tracing_of", lambda _: Tracing(spans.provider))
    app = api.app.create_app(Settings(), database_url, KEYRING)
    async with app.router.lifespan_context(app), in_memory(app) as client:
        yield client


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_an_operation_is_a_span_with_its_type_its_fields_and_its_outcome(traced: Client, spans: Spans) -> None:
    query = "query Mine { mine: serverInfo { version } ...More } fragment More on Query { viewer { scopes } }"
    await traced.http.post("/graphql", json={"query": query}, headers={"X-Request-Id": "my-request-1"})
    span = spans.one()
    assert span.name == "query"
    assert attributes(span) == {
        "graphql.operation.type": "query",
        "tic.fields": ("serverInfo", "viewer"),
        "tic.transport": "http",
        "tic.outcome": "ok",
        "tic.request_id": "my-request-1",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert span.start_time is not None
    assert span.end_time is not None
    assert 0 < span.end_time - span.start_time < 60e9


async def test_a_command_tells_the_kind_of_game_and_what_became_of_it(traced: Client, spans: Spans) -> None:
    ada = await traced.register()
    game = (await ada.open_ticitaire())["game"]
    await ada.play("turnTicitaireStock", game)
    await ada.play("turnTicitaireStock", game)
    _, opened, played, refused = spans.taken()
    assert attributes(opened)["tic.kinds"] == ("ticitaire",)
    assert attributes(opened)["tic.commands"] == attributes(played)["tic.commands"] == ("accepted",)
    assert attributes(refused)["tic.commands"] == ("version_conflict",)
    assert attributes(refused)["tic.outcome"] == "ok"


async def test_a_span_holds_nothing_of_what_was_asked_with(traced: Client, spans: Spans) -> None:
    ada = await traced.register("Ada Lovelace")
    game = (await ada.open_ticitaire())["game"]
    query = "query Secretive($id: ID!) { alias: game(id: $id) { id } }"
    await ada.http.post(
        "/graphql",
        json={"query": query, "variables": {"id": game["id"]}, "operationName": "Secretive"},
        headers={"Authorization": f"Bearer {ada.token}", "tracestate": "vendor=opaque", "traceparent": TRACEPARENT},
    )
    told = "".join(span.to_json() for span in spans.taken())
    for secret in ("Lovelace", str(ada.token), game["id"], game["uuid"], "Secretive", "alias", "opaque"):
        assert secret not in told


async def test_a_span_goes_on_with_the_trace_of_the_request(traced: Client, spans: Spans) -> None:
    await traced.http.post("/graphql", json={"query": "{ __typename }"}, headers={"traceparent": TRACEPARENT})
    span = spans.one()
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == TRACE


@pytest.mark.parametrize(
    "sent", ["", "00-" + "0" * 32 + f"-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01", TRACEPARENT.upper(), TRACEPARENT + "-x"]
)
async def test_a_traceparent_that_can_not_be_read_begins_a_trace(traced: Client, spans: Spans, sent: str) -> None:
    await traced.http.post("/graphql", json={"query": "{ __typename }"}, headers={"traceparent": sent})
    assert spans.one().parent is None


async def test_a_fault_of_the_servers_is_an_error_and_one_of_the_clients_is_not(
    traced: Client, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    await traced.post("{ nothing }")
    monkeypatch.setattr(Games, "now", fail)
    await traced.post("{ serverInfo { version } }")
    wrong, broken = spans.taken()
    assert (wrong.status.status_code, attributes(wrong)["tic.outcome"]) == (
        StatusCode.UNSET,
        "graphql_validation_failed",
    )
    assert (broken.status.status_code, attributes(broken)["tic.outcome"]) == (StatusCode.ERROR, "internal")


async def test_a_subscription_is_one_span_from_its_beginning_to_its_end(traced: Client, spans: Spans) -> None:
    game = (await (await traced.register()).open_ticitaire())["game"]
    spans.taken()
    app: Any = traced.http._transport
    async with listening(app.app) as address, connected(address) as socket:
        await socket.subscribe("subscription ($id: ID!) { gameEvents(gameId: $id) { seq } }", id=game["id"])
        await socket.next()
        assert spans.taken() == []
    span = spans.one()
    assert (span.name, attributes(span)["tic.fields"]) == ("subscription", ("gameEvents",))
    assert (attributes(span)["tic.transport"], attributes(span)["tic.outcome"]) == ("websocket", "ok")


# When there are any


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "true"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_traced_unless_the_environment_says_where_to(said: dict[str, str]) -> None:
    assert tracing_of(said) is None


def test_another_protocol_is_not_spoken_and_that_is_said() -> None:
    with capture_logs() as lines:
        assert tracing_of({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) is None
    assert [line["asked"] for line in lines] == ["grpc"]


def test_without_the_packages_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "api.tracing", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with capture_logs() as lines:
        assert tracing_of(ENDPOINT) is None
    assert "tic-server[telemetry]" in lines[0]["event"]


def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for() -> None:
    program = (
        "import sys; from api.app import create_app; from api.settings import Settings; from domain.vault import *;"
        "create_app(Settings(), 'postgresql://', Keyring([ServerKey.generate()]));"
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    asked = {name: value for name, value in environment().items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", program], env=asked, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_spans_are_sent_to_the_address_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        serving = Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        said = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
            "OTEL_SERVICE_NAME": "cards",
        }
        for name, value in said.items():
            monkeypatch.setenv(name, value)
        try:
            tracing = tracing_of(said)
            assert tracing is not None
            with Observatory(tracing).operation("http", "an-id") as operation:
                operation.answered([{"extensions": {"code": "BAD_REQUEST"}}])
            tracing.close()
        finally:
            collector.shutdown()
            serving.join()
    ((path, body),) = got
    assert path == "/v1/traces"
    assert b"cards" in body
    assert b"bad_request" in body
