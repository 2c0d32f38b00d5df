"""Whoever is told the same is sent the same encoding, made once; and nobody is sent what is another's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

import pytest
import strawberry
from graphql import (
    GraphQLNamedType,
    OperationDefinitionNode,
    get_named_type,
    is_abstract_type,
    is_interface_type,
    is_object_type,
    parse,
)
from strawberry import Info
from strawberry.extensions import FieldExtension

from api.documents import NotExecuted, Operations, Parameters
from api.limits import Limits
from api.schema import schema as app_schema
from api.sharing import Edition, Encodings, Feed, Offer, Reach, reach_of
from api.subscriptions import PUBLIC

# --- what a subscription shares ---


@dataclass
class Caller:
    """The context of the toy: who asks, by which request."""

    name: str | None
    request_id: str
    uses: int = 0


shown: list[int] = []
"""The items that were shown, and so executed."""


@strawberry.interface
class Told:
    text: str


@strawberry.type
class Plain(Told):
    pass


def name_of(info: Info) -> str:
    return str(info.context.name)


@strawberry.type
class Personal(Told):
    text: str = strawberry.field(resolver=name_of)


class Extended(FieldExtension):
    def resolve(self, next_: Callable[..., Any], source: object, info: Info, **more: Any) -> Any:
        return next_(source, info, **more)


@strawberry.type
class Number:
    value: int
    told: Told
    extended: int = strawberry.field(extensions=[Extended()])

    @strawberry.field
    def twice(self) -> int:
        return 2 * self.value

    @strawberry.field
    def times(self, by: int = 1) -> int:
        return by * self.value

    @strawberry.field
    async def later(self) -> int:
        await asyncio.sleep(0)
        return self.value

    @strawberry.field
    def whose(self, info: Info) -> str:
        return str(info.context.name)

    @strawberry.field
    def uses(self, info: Info) -> int:
        info.context.uses += 1
        return cast("int", info.context.uses)

    @strawberry.field
    def broken(self) -> int | None:
        raise ValueError


def number(value: int) -> Number:
    shown.append(value)
    return Number(value=value, told=Plain(text="plain"), extended=0)


async def numbers_from(first: int, _edition: object, _offer: object) -> AsyncGenerator[Sequence[int], None]:
    yield [first, first + 1]
    yield [first + 2]


def feed(context: Caller, first: int) -> AsyncGenerator[Number, None]:
    def follow(edition: Edition[int] | None, offer: Offer | None) -> AsyncGenerator[Sequence[int], None]:
        return numbers_from(first, edition, offer)

    source = Feed(
        follow,
        key=lambda item: item,
        viewer=context.name,
        show=number,
        context=lambda: Caller(context.name, context.request_id),
    )
    return cast("AsyncGenerator[Number, None]", source)


@strawberry.type
class Query:
    nothing: int = 0


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def numbers(self, info: Info, first: int = 1) -> AsyncGenerator[Number, None]:
        return feed(info.context, first)

    @strawberry.subscription
    async def views(self, info: Info, first: int = 1) -> AsyncGenerator[Number, None]:
        return feed(info.context, first)


toy = strawberry.Schema(Query, subscription=Subscription, types=[Plain, Personal])
TOY_PUBLIC = {"Subscription.numbers", "Number.twice", "Number.times", "Number.later", "Number.broken"}


@pytest.fixture
def operations() -> Operations:
    shown.clear()
    return Operations(toy, Limits(), public=TOY_PUBLIC)


async def told(
    operations: Operations, query: str, name: str | None = None, request_id: str = "r", **variables: Any
) -> list[Any]:
    """What the subscription tells one caller."""
    operation = operations.find(Parameters(query, variables, None))
    async with aclosing(operations.stream(operation, Caller(name, request_id), request_id)) as payloads:
        return [json.loads(text) async for text in payloads]


def values(field: str, *found: Any, root: str = "numbers") -> list[Any]:
    return [{"data": {root: {field: value}}} for value in found]


@pytest.mark.parametrize("field", ["value", "twice", "later", "told { __typename }"])
async def test_whoever_is_told_the_same_is_sent_what_was_executed_once(operations: Operations, field: str) -> None:
    query = f"subscription {{ numbers {{ {field} }} }}"
    first, *others = await asyncio.gather(*(told(operations, query, name) for name in (None, "ada", "bert", None)))
    assert others == [first] * 3
    assert shown == [1, 2, 3]


async def test_what_depends_on_the_viewer_is_told_each_viewer_alone(operations: Operations) -> None:
    query = "subscription { numbers { whose } }"
    names = ["ada", None, "bert", "ada", None]
    found = await asyncio.gather(*(told(operations, query, name) for name in names))
    assert found == [values("whose", *[str(name)] * 3) for name in names]
    assert sorted(shown) == [1, 1, 1, 2, 2, 2, 3, 3, 3]  # for each of the three once


async def test_below_a_root_that_is_not_public_even_attributes_are_each_viewers_own(operations: Operations) -> None:
    query = "subscription { views { value } }"
    for name in ("ada", "ada", "bert"):
        assert await told(operations, query, name) == values("value", 1, 2, 3, root="views")
    assert shown == [1, 2, 3, 1, 2, 3]


async def test_documents_that_ask_for_other_things_share_nothing(operations: Operations) -> None:
    assert await told(operations, "subscription { numbers { value } }") == values("value", 1, 2, 3)
    assert await told(operations, "subscription { numbers { twice } }") == values("twice", 2, 4, 6)


async def test_operations_of_one_document_share_nothing(operations: Operations) -> None:
    both = "subscription a { numbers { value } } subscription b { numbers { twice } }"
    found = []
    for name in ("a", "b"):
        operation = operations.find(Parameters(both, None, name))
        found.append([json.loads(text) async for text in operations.stream(operation, Caller(None, "r"), "r")])
    assert found == [values("value", 1, 2, 3), values("twice", 2, 4, 6)]


@pytest.mark.parametrize(
    "query",
    [
        "subscription ($by: Int!) { numbers { times(by: $by) } }",
        "subscription ($by: Int!) { numbers { ...f } } fragment f on Number { times(by: $by) }",
        "subscription ($by: Int!) { ...f } fragment f on Subscription { numbers { ... { times(by: $by) } } }",
    ],
    ids=["in the field", "in a fragment", "in a fragment of the root"],
)
async def test_other_values_of_the_variables_share_nothing(operations: Operations, query: str) -> None:
    for by in (1, 7, 1):
        assert await told(operations, query, by=by) == values("times", by, 2 * by, 3 * by)
    assert shown == [1, 2, 3, 1, 2, 3]


async def test_a_variable_left_out_is_not_the_same_as_null(operations: Operations) -> None:
    query = "subscription ($no: Boolean! = false) { numbers { value @skip(if: $no) __typename } }"
    whole = values("value", 1, 2, 3)
    for one in whole:
        one["data"]["numbers"]["__typename"] = "Number"
    assert await told(operations, query) == whole
    assert await told(operations, query, no=True) == values("__typename", *["Number"] * 3)


async def test_variables_that_only_choose_the_items_do_not_keep_them_apart(operations: Operations) -> None:
    query = "subscription ($first: Int!) { numbers(first: $first) { value } }"
    assert await told(operations, query, first=1) == values("value", 1, 2, 3)
    assert await told(operations, query, first=2) == values("value", 2, 3, 4)
    assert shown == [1, 2, 3, 4]


class Remembering(Encodings):
    """Remembers the keys under which encodings were kept."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[Hashable] = []

    def keep(self, key: Hashable, text: str) -> None:
        self.keys.append(key)
        super().keep(key, text)


def parts(key: object) -> list[object]:
    return [part for one in key for part in parts(one)] if isinstance(key, tuple) else [key]


async def test_what_is_kept_of_a_subscription_keeps_neither_its_document_nor_its_variables() -> None:
    encodings = Remembering()
    operations = Operations(toy, Limits(), public=TOY_PUBLIC, encodings=encodings)
    query = "subscription ($by: Int!, $ah: Boolean!) { numbers { times(by: $by) value @skip(if: $ah) } }"
    await told(operations, query, by=1, ah=True)
    found = [part for key in encodings.keys for part in parts(key)]
    assert {type(part) for part in found} == {bytes, int, type(None)}
    assert sum(len(part) for part in found if isinstance(part, bytes)) == 3 * 32, "a digest for each result"


async def test_results_with_errors_are_each_request_s_own(operations: Operations) -> None:
    query = "subscription { numbers { broken } }"
    found = await asyncio.gather(*(told(operations, query, request_id=request_id) for request_id in ("r1", "r2")))
    ids = [[payload["errors"][0]["extensions"]["requestId"] for payload in payloads] for payloads in found]
    assert ids == [["r1"] * 3, ["r2"] * 3]


async def test_each_item_is_resolved_in_a_context_of_its_own(operations: Operations) -> None:
    assert await told(operations, "subscription { numbers { uses } }") == values("uses", 1, 1, 1)


async def test_an_item_that_can_not_be_shown_breaks_the_stream_off(
    operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.number", lambda _: 1 // 0)
    with pytest.raises(NotExecuted) as broken:
        await told(operations, "subscription { numbers { value } }")
    assert [(error.extensions or {})["code"] for error in broken.value.errors] == ["INTERNAL"]


async def test_a_feed_is_an_ordinary_stream_to_graphql_core() -> None:
    results = await toy.subscribe("subscription { numbers { twice } }", context_value=Caller(None, "r"))
    assert [result.data async for result in cast("AsyncGenerator[Any, None]", results)] == [
        {"numbers": {"twice": 2}},
        {"numbers": {"twice": 4}},
        {"numbers": {"twice": 6}},
    ]


# --- what is public ---


def reach(text: str, schema: strawberry.Schema = toy, public: Any = TOY_PUBLIC) -> Reach:
    document = parse(text)
    (operation,) = (node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    return reach_of(schema._schema, document, operation, public)


@pytest.mark.parametrize(
    ("selected", "public"),
    [
        ("value", True),
        ("__typename", True),
        ("twice", True),
        ("mine: twice", True),
        ("whose", False),
        ("twice whose", False),
        ("value: whose", False),
        ("... { whose }", False),
        ("... on Number { whose }", False),
        ("...f", False),
        ("extended", False),
        ("told { ... on Plain { text } }", True),
        ("told { ... on Personal { text } }", False),
        ("told { text }", False),
        ("told { __typename }", True),
    ],
)
def test_a_document_is_public_only_if_every_field_of_it_is(selected: str, public: bool) -> None:
    text = f"subscription {{ numbers {{ {selected} }} }} fragment f on Number {{ whose }}"
    assert reach(text).is_public is public
    assert reach(text.replace("numbers", "views")).is_public is False


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("subscription ($a: Int!) { numbers(first: $a) { value } }", ()),
        ("subscription ($a: Int!, $b: Int!) { numbers(first: $a) { times(by: $b) } }", ("b",)),
        ("subscription ($a: Int!) { numbers(first: $a) { times(by: $a) } }", ("a",)),
        ("subscription ($a: Boolean!) { numbers { value @include(if: $a) } }", ("a",)),
        ("subscription ($a: Boolean!) { numbers { ... @include(if: $a) { value } } }", ("a",)),
        ("subscription ($a: Boolean!) { numbers { ...f @skip(if: $a) } } fragment f on Number { value }", ("a",)),
        ("subscription ($a: Int!) { ...f } fragment f on Subscription { numbers(first: $a) { value } }", ()),
        ("subscription ($a: [Int!]!) { numbers { times(by: [{x: $a}]) } }", ("a",)),
    ],
)
def test_results_differ_by_the_variables_below_the_root(text: str, variables: tuple[str, ...]) -> None:
    assert reach(text).variables == variables


JUDGED = {"GameEvent.cards"}
"""The fields below public subscriptions that are computed for the one who asks: nobody else is told what they show."""
JUDGED |= {f"Player.{field}" for field in ("statistics", "ratings", "ratingChanges")}
JUDGED |= {f"Player.{field}" for field in ("history", "headToHead", "standing")}
"""And those that change without anything happening in the game: each is told what they show now."""


@pytest.mark.parametrize(("root", "fewest"), [("GameEvent", 40), ("GameScoreboard", 3), ("LobbyChange", 4)])
def test_every_field_that_is_computed_below_what_is_shared_was_judged(root: str, fewest: int) -> None:
    """Whoever adds one says here whether it shows the same to everyone: to `PUBLIC`, or to `JUDGED` above."""
    schema, seen, unjudged = app_schema._schema, set[str](), []

    def walk(type_: GraphQLNamedType) -> None:
        if type_.name in seen or not (is_object_type(type_) or is_abstract_type(type_)):
            return
        seen.add(type_.name)
        for possible in schema.get_possible_types(type_) if is_abstract_type(type_) else ():
            walk(possible)
        if not is_object_type(type_) and not is_interface_type(type_):
            return
        for name, field in type_.fields.items():
            definition = field.extensions["strawberry-definition"]
            is_computed = definition.base_resolver or definition.extensions or definition.permission_classes
            if is_computed and f"{type_.name}.{name}" not in PUBLIC | JUDGED:
                unjudged.append(f"{type_.name}.{name}")
            if f"{type_.name}.{name}" not in JUDGED:  # below those nothing is shared
                walk(get_named_type(field.type))

    shared = schema.get_type(root)
    assert shared is not None
    walk(shared)
    assert unjudged == []
    assert len(seen) >= fewest


@pytest.mark.parametrize("name", sorted(PUBLIC | JUDGED))
def test_every_field_that_was_judged_is_there(name: str) -> None:
    type_name, field = name.split(".")
    type_ = app_schema._schema.get_type(type_name)
    assert is_object_type(type_)
    assert field in type_.fields


EVERYTHING = "seq at player { id uuid name } part parts type fact { type } bytes hash previousHash"


@pytest.mark.parametrize(
    ("text", "public"),
    [
        (f'subscription {{ gameEvents(gameId: "x") {{ {EVERYTHING} }} }}', True),
        ('subscription { gameEvents(gameId: "x") { fact { ... on PlayerJoined { player { name } } } } }', True),
        ('subscription { gameEvents(gameId: "x") { seq cards { name } } }', False),
        ('subscription { scoreboardChanged(gameId: "x") { version lines { score player { name } } } }', True),
        ("subscription { lobbyChanged { games { id lines { player { displayName } } } hasMore } }", True),
        ("subscription { lobbyChanged { games { lines { player { ratings { kind } } } } } }", False),
        ("subscription { viewerGameChanged { version } }", False),
        ('subscription { gameChanged(gameId: "x") { version } }', False),
        ('subscription { gameChanged(gameId: "x") { id } }', False),
        ('subscription { gameChanged(gameId: "x") { __typename } }', False),
    ],
)
def test_events_without_one_s_own_cards_and_scoreboards_are_public_and_a_game_never_is(text: str, public: bool) -> None:
    assert reach(text, app_schema, PUBLIC).is_public is public
