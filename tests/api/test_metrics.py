"""What an operator can measure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import Future
from threading import Event
from typing import Any
from uuid import uuid4

import httpx
import pytest
from eventsourcing.persistence import OperationalError
from graphql import OperationType

from api.ids import write_id
from api.metrics import Metrics, outcome_of
from api.observing import Observatory
from api.signing import CheckpointFile
from domain.application import Games, NotHandled, Outcome, Undecided
from domain.decider import RuleViolation
from domain.events import UnknownEvent
from domain.gathering import asked
from domain.storage import EventRecorder
from domain.ticitaire.rules import OpenTicitaire
from domain.vault import Vault
from tests.api.signers import KEY
from tests.client import Client, connected, over_events
from tests.conftest import in_memory, listening
from tests.monitored import Monitored, monitored
from tests.projections.shown import until


@pytest.fixture(autouse=True)
def _quick_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.health.LOOK_SECONDS", 0.02)


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[Monitored]:
    async with monitored(database_url) as server:
        yield server


@pytest.fixture
async def ada(server: Monitored) -> AsyncIterator[Client]:
    async with in_memory(server.app) as client:
        yield await client.register()


async def becomes(server: Monitored, wanted: float, name: str, **labels: str) -> None:
    """Wait until a metric has a value."""
    await server.holds(lambda value: value == wanted, name, **labels)


# Commands and the log


async def test_commands_are_counted_by_kind_and_outcome(server: Monitored, ada: Client) -> None:
    game = (await ada.open_ticitaire())["game"]
    for _ in range(2):
        await ada.play("turnTicitaireStock", game, idempotencyKey="the same key")
    await ada.play("turnTicitaireStock", game)  # at a version that is over
    await ada.play("recycleTicitaireWaste", game, expectedVersion=game["version"] + 1)
    counted = {
        dict(labels)["outcome"]: value
        for (name, labels), value in (await server.samples()).items()
        if name == "tic_commands_total" and dict(labels)["kind"] == "ticitaire" and value
    }
    assert counted == {"accepted": 2, "repeated": 1, "conflict": 1, "violation": 1}


async def test_a_command_to_no_game_has_no_kind(server: Monitored, ada: Client) -> None:
    await ada.mutate("giveUpTicitaire", gameId=write_id("game", uuid4()))
    assert await server.value("tic_commands_total", kind="unknown", outcome="not_found") == 1


async def test_appends_tell_their_batches_and_their_events(server: Monitored, ada: Client) -> None:
    game = (await ada.open_ticitaire())["game"]
    await ada.play("turnTicitaireStock", game)
    found = await server.samples()
    none: frozenset[tuple[str, str]] = frozenset()
    assert found["tic_appends_total", none] == 2
    assert found["tic_appended_events_total", none] == game["version"] + 1
    assert found["tic_append_commands_sum", none] == 2
    assert found["tic_append_seconds_count", none] == 2
    assert found["tic_command_seconds_count", frozenset({("kind", "ticitaire")})] == 2


async def test_a_batch_that_the_database_does_not_take_is_counted(
    recorder: EventRecorder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, player = Metrics(), uuid4()
    games = Games(recorder, vault, observer=metrics)

    def lost(_: object, **_on: object) -> Any:
        raise OperationalError

    monkeypatch.setattr(recorder, "append", lost)
    with pytest.raises(Undecided):
        games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None)
    assert metrics.registry.get_sample_value("tic_append_failures_total") == 3
    told = {"kind": "ticitaire", "outcome": "undecided"}
    assert metrics.registry.get_sample_value("tic_commands_total", told) == 1


def test_every_refusal_has_a_name_of_its_own_and_what_is_unknown_has_failed() -> None:
    class New(NotHandled):
        pass

    assert outcome_of(RuleViolation("X", "K1", "No.")) == "violation"
    assert outcome_of(New()) == "refused"
    assert outcome_of(UnknownEvent("from a newer program")) == "newer_game"
    assert outcome_of(ZeroDivisionError()) == "failed"


# Operations


async def test_operations_are_counted_by_type_and_by_what_they_were_answered(server: Monitored, ada: Client) -> None:
    before = await server.samples()
    await ada.ask("{ serverInfo { version } }")
    await ada.post("{ nothingOfTheKind }")
    await ada.post("{ node(id: 7")
    await Client(ada.http, "no-such-token").post("{ serverInfo { version } }")
    await ada.ask('mutation { registerPlayer(input: {name: "Bo"}) { __typename } }')
    await ada.http.post("/graphql", content=b"{", headers={"Content-Type": "application/json"})
    found = {
        tuple(sorted(dict(labels).values())): value - before.get((name, labels), 0)
        for (name, labels), value in (await server.samples()).items()
        if name == "tic_graphql_operations_total" and value != before.get((name, labels), 0)
    }
    assert found == {
        ("ok", "query"): 1,
        ("graphql_validation_failed", "unknown"): 1,
        ("graphql_parse_failed", "unknown"): 1,
        ("query", "unauthenticated"): 1,
        ("mutation", "ok"): 1,
        ("bad_request", "unknown"): 1,
    }


async def test_a_page_for_browsers_and_a_preflight_are_no_operations(server: Monitored, ada: Client) -> None:
    before = await server.samples()
    await ada.http.get("/graphql", headers={"Accept": "text/html"})
    await ada.http.options("/graphql")
    after = await server.samples()
    operations = [key for key in after if key[0] == "tic_graphql_operations_total"]
    assert [after[key] for key in operations] == [before[key] for key in operations]


async def test_nothing_that_a_client_makes_up_is_among_the_metrics(server: Monitored, ada: Client) -> None:
    hostile = "query Evil { evilAlias: serverInfo { evilAlias: version } }"
    await ada.http.post(
        "/graphql", json={"query": hostile, "operationName": "Evil"}, headers={"X-Request-Id": "evilRequest"}
    )
    await ada.http.get("/evilPath")
    await ada.http.get("/games/evilGame.jsonl")
    assert "evil" not in (await server.get("/metrics")).text


async def test_subscriptions_are_told_by_field_and_transport_as_long_as_they_run(
    server: Monitored, ada: Client
) -> None:
    game = (await ada.open_ticitaire())["game"]
    query = "subscription ($id: ID!) { alias: gameEvents(gameId: $id) { seq } }"
    async with listening(server.app) as address:
        events = over_events(address, query, id=game["id"])
        await anext(events)
        async with connected(address) as socket:
            await socket.subscribe(query, id=game["id"])
            await socket.next()
            for transport in ("websocket", "sse"):
                await becomes(server, 1, "tic_subscriptions", field="gameEvents", transport=transport)
            await becomes(server, 1, "tic_websockets")
        await becomes(server, 0, "tic_subscriptions", field="gameEvents", transport="websocket")
        await becomes(server, 0, "tic_websockets")
        await events.aclose()
        await becomes(server, 0, "tic_subscriptions", field="gameEvents", transport="sse")
    assert await server.value("tic_graphql_operations_total", type="subscription", outcome="ok") == 2


def test_faults_are_there_from_the_start_so_that_the_first_one_is_seen_as_growth() -> None:
    count = Metrics().registry.get_sample_value
    for type_ in ("query", "mutation", "subscription"):
        assert count("tic_graphql_operations_total", {"type": type_, "outcome": "internal"}) == 0
    for kind in ("ticitaire", "tickle", "poker"):
        assert count("tic_commands_total", {"kind": kind, "outcome": "failed"}) == 0


def test_readers_that_are_cut_off_are_counted_by_why() -> None:
    metrics = Metrics()
    observatory = Observatory(metrics)
    with observatory.operation("sse", "an-id") as operation:
        operation.found(OperationType.SUBSCRIPTION, ("gameEvents",))
        operation.answered([{"extensions": {"code": "SLOW_READER"}}])
    observatory.stalled("websocket")
    count = metrics.registry.get_sample_value
    assert count("tic_slow_readers_total", {"transport": "sse", "reason": "backlog"}) == 1
    assert count("tic_slow_readers_total", {"transport": "websocket", "reason": "stalled"}) == 1
    assert count("tic_subscriptions", {"field": "gameEvents", "transport": "sse"}) == 0


def test_of_several_errors_the_worst_is_counted() -> None:
    metrics = Metrics()
    with Observatory(metrics).operation("http", "an-id") as operation:
        operation.found(OperationType.QUERY, ("game",))
        operation.answered([{"extensions": {"code": code}} for code in ("NOT_FOUND", "UNAVAILABLE", "INTERNAL")])
    told = {"type": "query", "outcome": "internal"}
    assert metrics.registry.get_sample_value("tic_graphql_operations_total", told) == 1


# Requests


async def test_requests_are_counted_by_route_and_status(server: Monitored, ada: Client) -> None:
    game = (await ada.open_ticitaire())["game"]
    for path in (f"/games/{game['id']}.jsonl", "/games/none.jsonl", "/nowhere", "/etc/passwd"):
        await ada.http.get(path)
    await ada.http.delete("/graphql")
    count = {
        (dict(labels)["route"], dict(labels)["status"]): value
        for (name, labels), value in (await server.samples()).items()
        if name == "tic_http_requests_total"
    }
    assert count == {
        ("/graphql", "200"): 2,
        ("/graphql", "405"): 1,
        ("/games/{id}.jsonl", "200"): 1,
        ("/games/{id}.jsonl", "404"): 1,
        ("none", "404"): 2,
    }


# What is read at each scrape


async def test_the_lag_of_every_follower_is_told_and_goes_away(server: Monitored, ada: Client) -> None:
    await ada.open_ticitaire()
    await server.holds(bool, "tic_log_position")  # it was looked at since
    for follower in ("lobby", "deadlines", "results", "transparency"):
        for lag in ("tic_follower_lag_events", "tic_follower_lag_seconds"):
            await becomes(server, 0, lag, follower=follower)


async def test_the_database_and_its_connections_are_told(server: Monitored) -> None:
    found = await server.samples()
    none: frozenset[tuple[str, str]] = frozenset()
    assert found["tic_database_answers", none] == 1
    assert found["tic_database_read_only", none] == 0
    assert sum(found["tic_database_connections", frozenset({("state", state)})] for state in ("idle", "used")) >= 1
    assert found["tic_database_connections_limit", none] >= found["tic_threads", none]
    assert found["tic_database_connection_requests_total", none] >= 1
    assert found["tic_database_connection_waiters", none] >= 0
    assert found["process_resident_memory_bytes", none] > 0


async def test_the_timekeeper_tells_when_it_was_done_last(server: Monitored) -> None:
    await server.holds(bool, "tic_timekeeper_timestamp_seconds")
    assert await server.value("tic_timekeeper_games_set_aside") == 0


async def test_the_signer_tells_what_is_signed_and_that_it_does_not_refuse(
    database_url: str, copy: CheckpointFile
) -> None:
    async with monitored(database_url, (KEY, copy)) as server, in_memory(server.app) as client:
        game = (await (await client.register()).open_ticitaire())["game"]
        await becomes(server, game["version"], "tic_checkpoint_size")
        assert (await server.value("tic_checkpoint_timestamp_seconds") or 0) > 0
        assert await server.value("tic_signer_refuses") == 0


async def test_a_server_that_does_not_sign_says_nothing_of_a_signer(server: Monitored) -> None:
    assert await server.value("tic_signer_refuses") is None


# Where they are read


async def test_players_do_not_come_by_the_metrics(server: Monitored, ada: Client) -> None:
    assert (await ada.http.get("/metrics")).status_code == 404
    assert (await server.get("/metrics")).status_code == 200
    assert (await server.get("/graphql")).status_code == 404


async def test_they_come_in_the_form_that_is_asked_for(server: Monitored) -> None:
    plain = await server.get("/metrics")
    asked_for = await server.get("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert plain.headers["content-type"].startswith("text/plain")
    assert asked_for.headers["content-type"].startswith("application/openmetrics-text")
    assert asked_for.text.endswith("# EOF\n")


async def test_without_a_port_for_them_there_are_none(app: Any) -> None:
    assert app.state.monitored_at() is None


async def test_two_servers_in_one_process_have_metrics_of_their_own(database_url: str) -> None:
    async with monitored(database_url) as one, monitored(database_url) as other, in_memory(one.app) as client:
        await client.register()
        assert await one.value("tic_http_requests_total", route="/graphql", status="200") == 1
        assert await other.value("tic_http_requests_total", route="/graphql", status="200") is None


async def test_what_is_measured_ends_with_the_server(database_url: str) -> None:
    async with monitored(database_url) as server:
        at = server.at
    with pytest.raises(httpx.ConnectError):
        await Monitored(server.app, at).get("/metrics")


def test_commands_that_wait_are_counted(recorder: EventRecorder, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    games, player, held = Games(recorder, vault), uuid4(), Event()
    newer = recorder.newer
    entered = Event()

    def slow(wanted: Any) -> Any:
        entered.set()
        held.wait(10)
        return newer(wanted)

    monkeypatch.setattr(recorder, "newer", slow)

    def begun() -> Future[Outcome]:
        return asked(
            lambda told: games.ask_to_open(
                "ticitaire", OpenTicitaire(player=player), player=player, key=None, told=told
            )
        )

    first = begun()
    assert entered.wait(10)
    others = [begun() for _ in range(3)]
    until(lambda: games.waiting == 3)
    held.set()
    assert all(each.result(10).game.version for each in (first, *others))
    assert games.waiting == 0
