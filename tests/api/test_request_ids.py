"""A request has an id: in its answer, in its errors, and in every line that is logged for it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import structlog
from starlette.applications import Starlette
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from api.accounts import Accounts
from api.app import create_app
from api.logs import configure_logs
from api.settings import LogFormat, Settings
from domain.application import Games
from tests.client import Client, connected
from tests.conftest import KEYRING, in_memory, listening

OURS = "a-request.of_mine-1"


@contextmanager
def logged() -> Iterator[list[Any]]:
    """What is logged, each line with what it bears."""
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        yield lines


@pytest.mark.parametrize(
    "path", ["/graphql?query={__typename}", "/readyz", "/healthz", "/games/none.jsonl", "/checkpoint", "/nowhere", "/"]
)
async def test_every_answer_bears_the_id_that_the_request_came_with(client: Client, path: str) -> None:
    answer = await client.http.get(path, headers={"X-Request-Id": OURS})
    assert answer.headers.get_list("x-request-id") == [OURS]


@pytest.mark.parametrize("sent", ["short", "x" * 65, "with space in it", "semi;colon-and-more", "üüüüüüüüü", ""])
async def test_an_id_that_is_not_safe_to_repeat_is_replaced(client: Client, sent: str) -> None:
    answer = await client.http.get("/readyz", headers=[(b"x-request-id", sent.encode())])
    (found,) = answer.headers.get_list("x-request-id")
    assert found != sent
    assert len(found) == 32


async def test_of_two_ids_none_is_taken(client: Client) -> None:
    answer = await client.http.get(
        "/readyz", headers=[(b"x-request-id", b"one-of-two"), (b"x-request-id", b"two-of-two")]
    )
    assert answer.headers["x-request-id"] not in {"one-of-two", "two-of-two"}


async def test_without_one_each_request_gets_its_own(client: Client) -> None:
    found = {(await client.http.get("/healthz")).headers["x-request-id"] for _ in range(5)}
    assert len(found) == 5


async def test_an_error_names_the_request(client: Client) -> None:
    answer = await client.http.post("/graphql", json={"query": "{ nothing }"}, headers={"X-Request-Id": OURS})
    assert answer.json()["errors"][0]["extensions"]["requestId"] == OURS


async def test_what_is_logged_in_a_thread_for_a_request_bears_its_id(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(*_: object) -> None:
        structlog.get_logger().warning("looked up in a thread")

    monkeypatch.setattr(Accounts, "authenticate", find)
    with logged() as lines:
        await client.http.post(
            "/graphql",
            json={"query": "{ __typename }"},
            headers={"X-Request-Id": OURS, "Authorization": "Bearer unknown-token"},
        )
    assert [line["request_id"] for line in lines if line["event"] == "looked up in a thread"] == [OURS]


async def test_after_a_request_nothing_is_bound_any_more(client: Client) -> None:
    await client.http.get("/readyz", headers={"X-Request-Id": OURS})
    assert get_contextvars() == {}


@pytest.fixture
async def broken(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of a server that can't tell a game's last event."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret thing")

    monkeypatch.setattr(Games, "newest", fail)
    app = create_app(Settings(), database_url, KEYRING)
    async with app.router.lifespan_context(app), in_memory(app) as client:
        client.http._transport.raise_app_exceptions = False  # type: ignore[attr-defined]
        yield client


async def test_a_fault_of_ours_outside_of_graphql_is_told_by_its_id_alone(broken: Client) -> None:
    game = (await (await broken.register()).open_ticitaire())["game"]
    answer = await broken.http.get(f"/games/{game['id']}.jsonl", headers={"X-Request-Id": OURS})
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] == OURS
    assert (answer.json()["code"], answer.json()["requestId"]) == ("INTERNAL", OURS)
    assert "secret" not in answer.text


async def test_what_the_web_server_logs_of_such_a_fault_bears_the_id(
    broken: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It logs in its own name, after the application has ended; our form of logs adds what is bound."""
    seen: list[dict[str, Any]] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(get_contextvars())

    game = (await (await broken.register()).open_ticitaire())["game"]
    logger, noting = logging.getLogger("uvicorn.error"), Noting()
    caplog.set_level(logging.ERROR, logger.name)  # a program that was started in this process may have hushed it
    monkeypatch.setattr(logger, "disabled", False)
    logger.addHandler(noting)
    try:
        app = broken.http._transport.app  # type: ignore[attr-defined]
        async with listening(app) as address, httpx.AsyncClient(trust_env=False) as http:
            await http.get(f"http://{address}/games/{game['id']}.jsonl", headers={"X-Request-Id": OURS})
    finally:
        logger.removeHandler(noting)
    assert {"request_id": OURS} in seen


async def test_an_operation_on_a_socket_logs_the_sockets_id_with_a_number_and_its_own_beside_it(
    app: Starlette, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Games, "now", fail)
    headers, told = {"X-Request-Id": OURS}, []
    with logged() as lines:
        async with connected(address, additional_headers=headers) as socket:
            assert socket.connection.response is not None
            assert socket.connection.response.headers["x-request-id"] == OURS
            for id_ in ("first", "second\x1b[31m"):
                await socket.say({"type": "subscribe", "id": id_, "payload": {"query": "{ serverInfo { version } }"}})
                told.append(await socket.hear())
                await socket.hear()
    assert told[-1]["payload"]["errors"][0]["extensions"]["requestId"] == f"{OURS}.2"
    failed = [line for line in lines if line["event"] == "resolver_failed"]
    assert [(line["request_id"], line["operation_id"]) for line in failed] == [
        (f"{OURS}.1", "first"),
        (f"{OURS}.2", r"'second\x1b[31m'"),
    ]


def test_lines_that_are_not_ours_bear_what_is_bound(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        configure_logs(LogFormat.JSON)
        with structlog.contextvars.bound_contextvars(request_id=OURS):
            logging.getLogger("somebody.elses").warning("something")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
    assert f'"request_id": "{OURS}"' in capsys.readouterr().err
