"""Whatever is sent, the answer says what is wrong with it: no 500, no INTERNAL, no stack."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from api.app import create_app
from api.schema import LIMITS
from api.settings import Settings
from tests.client import Client
from tests.conftest import KEYRING, listening

NEVER_TOLD = ("Traceback", "psycopg", 'File "', "strawberry", " at 0x")
"""What would give away how the server is made."""


def codes(answer: httpx.Response) -> list[str]:
    """The codes of an answer's errors, which is checked to tell nothing of the inside."""
    assert answer.status_code < 500, answer.text
    assert [word for word in NEVER_TOLD if word in answer.text] == []
    errors = answer.json().get("errors", [])
    assert all(error["extensions"]["requestId"] == answer.headers["x-request-id"] for error in errors)
    return [error["extensions"]["code"] for error in errors]


@pytest.fixture
async def ada(client: Client) -> Client:
    return await client.register()


@pytest.fixture
async def game(ada: Client) -> Any:
    return (await ada.open_ticitaire())["game"]


MOVE = "mutation ($input: MoveTicitaireCardsInput!) { moveTicitaireCards(input: $input) { __typename } }"


async def test_a_variable_that_does_not_fit_is_the_clients_mistake(ada: Client, game: Any) -> None:
    fitting = {"gameId": game["id"], "expectedVersion": 3, "from": "COLUMN_1", "to": "LOW"}
    cases: dict[str, Any] = {
        "no input": None,
        "a list": [fitting, fitting],
        "a string": "COLUMN_1",
        "nothing in it": {},
        "a place that is none": {**fitting, "from": "COLUMN_8"},
        "a place as it is stored": {**fitting, "from": "column-1"},
        "a card": {**fitting, "from": "5-star-red"},
        "a place that is a number": {**fitting, "to": 1},
        "a null where none may be": {**fitting, "expectedVersion": None},
        "a version in words": {**fitting, "expectedVersion": "three"},
        "half a version": {**fitting, "expectedVersion": 3.5},
        "a version past 32 bits": {**fitting, "expectedVersion": 2**31},
        "a version of 300 digits": {**fitting, "expectedVersion": 10**300},
        "a boolean for a version": {**fitting, "expectedVersion": True},
        "an id that is an object": {**fitting, "gameId": {"id": game["id"]}},
        "an id that is a list": {**fitting, "gameId": [game["id"]]},
        "a field that is unknown": {**fitting, "seat": 1},
    }
    found = {what: codes(await ada.post(MOVE, input=input)) for what, input in cases.items()}
    assert {what: set(each) for what, each in found.items()} == {what: {"BAD_USER_INPUT"} for what in cases}


async def test_what_does_not_fit_the_schema_is_told_by_its_code(ada: Client, game: Any) -> None:
    id = game["id"]
    cases = {
        f'{{ game(id: "{id}") {{ hand }} }}': "GRAPHQL_VALIDATION_FAILED",
        f'{{ game(id: "{id}") {{ position {{ id }} }} }}': "GRAPHQL_VALIDATION_FAILED",
        f'{{ game(id: "{id}") {{ position(version: "3") {{ id }} }} }}': "GRAPHQL_VALIDATION_FAILED",
        f'{{ game(id: "{id}") {{ position(version: 2147483648) {{ id }} }} }}': "GRAPHQL_VALIDATION_FAILED",
        "{ games(filter: {kind: BRIDGE}) { nodes { id } } }": "GRAPHQL_VALIDATION_FAILED",
        "{ games(filter: {status: WON}) { nodes { id } } }": "GRAPHQL_VALIDATION_FAILED",
        "mutation { openTicitaire { __typename } }": "GRAPHQL_VALIDATION_FAILED",
        "mutation { openTicitaire(input: {cheat: true}) { __typename } }": "GRAPHQL_VALIDATION_FAILED",
        "{ game(id: 5-star-red) { id } }": "GRAPHQL_PARSE_FAILED",
        '{ node(id: "\\ud800") { id } }': "GRAPHQL_PARSE_FAILED",
        "{" * 5_000: "GRAPHQL_PARSE_FAILED",
        "": "BAD_REQUEST",
        "{ viewer { games { nodes { game { seats { player { name } } } } } } }" * 2: "GRAPHQL_VALIDATION_FAILED",
        "{ game(id: 1) " + "{ position(version: 1) " * 20 + "{ id }" + "}" * 21: "QUERY_TOO_COMPLEX",
        "{ games(first: 100) { nodes { game { events(first: 100) { nodes { bytes } } } } } }": "QUERY_TOO_COMPLEX",
    }
    assert {query: codes(await ada.post(query))[:1] for query in cases} == {
        query: [code] for query, code in cases.items()
    }


async def test_a_number_out_of_its_range_is_the_clients_mistake(ada: Client, game: Any) -> None:
    asked = [
        *(f"{{ games(first: {first}) {{ nodes {{ id }} }} }}" for first in (0, 101, -1, -(2**31))),
        *(f"{{ viewer {{ games(first: {first}) {{ nodes {{ id }} }} }} }}" for first in (0, 101)),
        *(f'{{ game(id: "{game["id"]}") {{ events(first: {first}) {{ hasMore }} }} }}' for first in (0, 101, -1)),
        *(f'{{ game(id: "{game["id"]}") {{ position(version: {v}) {{ id }} }} }}' for v in (0, -1, 4, 2**31 - 1)),
    ]
    assert [query for query in asked if codes(await ada.post(query)) != ["BAD_USER_INPUT"]] == []


async def test_a_cursor_that_is_none_is_the_clients_mistake(ada: Client, game: Any) -> None:
    after = ["", "x", "nonsense", "\x00", "ä", "YWZ0ZXI6LTE", "YWZ0ZXI6MWUz", game["id"], "9" * 1_000]
    query = "query ($after: String) { games(after: $after) { nodes { id } } }"
    assert [cursor for cursor in after if codes(await ada.post(query, after=cursor)) != ["BAD_USER_INPUT"]] == []


async def test_a_filter_for_a_player_that_is_none_is_the_clients_mistake(ada: Client, game: Any) -> None:
    query = "query ($player: ID) { games(filter: {playerId: $player}) { nodes { id } } }"
    players = ["", "x", "\x00", game["id"], "ä" * 300]
    assert [id for id in players if codes(await ada.post(query, player=id)) != ["BAD_USER_INPUT"]] == []


async def test_an_id_of_nothing_finds_nothing(ada: Client) -> None:
    ids: list[Any] = ["", "x", "\x00", "ä", "\ue000", "=" * 64, "Z2FtZTo", "x" * 100_000, 5, 10**40, -1]
    query = "query ($id: ID!) { node(id: $id) { id } game(id: $id) { id } }"
    answers = [await ada.post(query, id=id) for id in ids]
    assert [codes(answer) for answer in answers] == [[]] * len(ids)
    assert [answer.json()["data"] for answer in answers] == [{"node": None, "game": None}] * len(ids)


async def raw(client: Client, body: bytes, **headers: bytes) -> httpx.Response:
    fields = [(b"content-type", b"application/json"), *((name.encode(), value) for name, value in headers.items())]
    return await client.http.post("/graphql", content=body, headers=fields)


async def test_a_body_that_is_no_request_is_refused(client: Client) -> None:
    bodies = {
        "broken JSON": b'{"query": "{ __typename }"',
        "nothing": b"",
        "a list": b"[]",
        "a number": b"7",
        "a string": b'"{ __typename }"',
        "not UTF-8": b'{"query": "\xff"}',
        "a lone surrogate": b'{"query": "query ($id: ID!) { node(id: $id) { id } }", "variables": {"id": "\\ud800"}}',
        "nested past any stack": b'{"query": ' + b"[" * 100_000,
        "a number of 5,000 digits": b'{"query": "{ __typename }", "variables": {"n": ' + b"9" * 5_000 + b"}}",
        "NaN": b'{"query": "{ __typename }", "variables": {"n": NaN}}',
        "variables in a list": b'{"query": "{ __typename }", "variables": []}',
    }
    answers = {what: await raw(client, body) for what, body in bodies.items()}
    assert [what for what, answer in answers.items() if codes(answer) != ["BAD_REQUEST"]] == []
    assert {answer.status_code for answer in answers.values()} == {400}


async def test_a_body_of_ten_megabytes_is_not_read(client: Client) -> None:
    body = json.dumps({"query": "{ __typename }", "variables": {"x": "x" * 10_000_000}}).encode()
    answer = await raw(client, body)
    assert (answer.status_code, codes(answer)) == (413, ["BODY_TOO_LARGE"])


async def test_deep_values_are_refused_like_others(ada: Client) -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = {"input": deep}
    assert set(codes(await ada.post(MOVE, input=deep))) == {"BAD_USER_INPUT"}


async def test_a_header_that_is_no_text_is_turned_away(client: Client) -> None:
    answer = await raw(client, b'{"query": "{ __typename }"}', Authorization=b"Bearer \x80\xff")
    assert (answer.status_code, codes(answer)) == (401, ["UNAUTHENTICATED"])


async def test_a_request_id_that_is_none_is_replaced(client: Client) -> None:
    answer = await replace(client, headers={"X-Request-Id": "<script>"}).post("{ nothing }")
    assert codes(answer) == ["GRAPHQL_VALIDATION_FAILED"]
    assert answer.headers["x-request-id"] != "<script>"


async def test_a_socket_that_is_never_initialised_is_closed(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.app.LIMITS", replace(LIMITS, init_seconds=0.05))
    app = create_app(Settings(), database_url, KEYRING)
    protocol = Subprotocol("graphql-transport-ws")
    async with (
        listening(app) as address,
        connect(f"ws://{address}/graphql", subprotocols=[protocol], proxy=None) as connection,
        asyncio.timeout(5),
    ):
        with pytest.raises(ConnectionClosed):
            await connection.recv()
    assert connection.close_code == 4408


@pytest.mark.parametrize("payload", [None, "x", {"type": "connection_init", "payload": {"Authorization": "Bearer x"}}])
async def test_a_socket_that_begins_with_something_else_is_closed(address: str, payload: object) -> None:
    protocol = Subprotocol("graphql-transport-ws")
    async with (
        connect(f"ws://{address}/graphql", subprotocols=[protocol], proxy=None) as connection,
        asyncio.timeout(5),
    ):
        await connection.send(json.dumps(payload))
        with pytest.raises(ConnectionClosed):
            await connection.recv()
    assert connection.close_code in {4400, 4403}
