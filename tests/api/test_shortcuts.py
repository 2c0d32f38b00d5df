"""The short way to values that are at hand: it answers what the long way does, whatever the values are."""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, datetime
from enum import Enum
from typing import Any, cast
from uuid import UUID

import pytest
import strawberry
from graphql import ExecutionResult, execute, parse
from strawberry.execution import optimized_is_awaitable

from api.shortcuts import AT_HAND, ShortExecutor, shortened

calls: list[str] = []
NOTHING: dict[str, str] = {}


async def soon(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


@strawberry.enum
class Colour(Enum):
    RED = "red"


@strawberry.interface
class Named:
    name: str


@strawberry.type
class Number(Named):
    value: int


@strawberry.type
class Letter(Named):
    @strawberry.field
    def value(self, info: strawberry.Info) -> str:
        return f"{self.name} of {info.context}"


@strawberry.type
class Thing:
    name: str
    count: int
    share: float = 0.5
    colour: Colour = Colour.RED
    at: datetime = datetime(2030, 5, 1, tzinfo=UTC)
    uuid: UUID = UUID(int=7)
    names: list[str] = strawberry.field(default_factory=lambda: ["a", "b"])
    missing: str | None = None
    other: Thing | None = None
    others: list[Thing] = strawberry.field(default_factory=list)
    broken: int | None = cast("int", "not a number")
    wrong: UUID | None = cast("UUID", ValueError("a value that is an error"))
    absent: int = cast("int", None)

    @strawberry.field
    def doubled(self) -> int:
        calls.append("doubled")
        return 2 * self.count

    @strawberry.field
    async def later(self) -> int:
        calls.append("later")
        return cast("int", await soon(self.count))

    @strawberry.field
    def whose(self, info: strawberry.Info) -> str:
        calls.append("whose")
        return f"{info.context} {info.field_name}"

    @strawberry.field
    def perhaps_later(self, info: strawberry.Info) -> str:
        calls.append("perhapsLater")
        return cast("str", soon(f"{info.field_name} of {self.name}"))

    @strawberry.field
    def failing(self) -> int | None:
        raise ValueError(f"{self.name} has failed")

    @strawberry.field
    def nothing(self) -> int:
        return cast("int", None)

    @strawberry.field(metadata={AT_HAND: lambda thing: thing.name})  # type: ignore[untyped-decorator]
    def known(self, info: strawberry.Info) -> str:
        return f"{info.field_name}, which is not at hand"

    @strawberry.field(metadata={AT_HAND: lambda thing: NOTHING[thing.name]})  # type: ignore[untyped-decorator]
    def unknown(self, info: strawberry.Info) -> str:
        calls.append("unknown")
        return cast("str", soon(f"{info.field_name} of {self.name}"))

    @strawberry.field
    def times(self, by: int = 3, most_of_all: int | None = None) -> int:
        return min(by * self.count, most_of_all or 10)

    @strawberry.field
    def told(self, info: strawberry.Info, twice: bool = False) -> str:
        return f"{info.field_name} {self.name}{self.name if twice else ''}"

    @strawberry.field
    def some(self, letters: bool = True) -> list[Named | None]:
        return [Number(name="one", value=1), None, *([Letter(name="a")] if letters else [])]


@strawberry.type
class Query:
    @strawberry.field
    def thing(self) -> Thing | None:
        return Thing(
            name="one",
            count=1,
            other=Thing(name="two", count=2),
            others=[Thing(name="three", count=3), Thing(name="four", count=4)],
        )


LONG = strawberry.Schema(query=Query)
SHORT = shortened(strawberry.Schema(query=Query, execution_context_class=ShortExecutor))


async def answer(schema: strawberry.Schema, fields: str) -> ExecutionResult:
    running = execute(
        schema._schema,
        parse(f"query ($by: Int = 2, $most: Int, $yes: Boolean = true, $none: Int) {{ thing {{ {fields} }} }}"),
        variable_values={"most": 7},
        context_value="the context",
        executor_class=schema.execution_context_class,
        is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]
    )
    return await running if inspect.isawaitable(running) else running


@pytest.mark.parametrize(
    "fields",
    [
        "name count share colour at uuid",
        "names",
        "missing",
        "name missing other { name missing other { name } } count others { count name } share",
        "later name doubled",
        "others { later name } name",
        "whose name perhapsLater",
        "others { perhapsLater unknown }",
        "unknown count",
        "times(by: 5) name times: times(by: 5)",
        "times(by: $by) others { times(by: $by, mostOfAll: $most) other: times }",
        "told told2: told(twice: true) others { told(twice: $yes) }",
        "times(by: $none)",
        "some { name ... on Number { number: value } ... on Letter { letter: value } }",
        "some(letters: false) { name __typename ... on Number { value } }",
        "some(letters: false) { name @skip(if: $yes) __typename }",
        "others { some { name } names } names",
        "a: name b: name c: times(by: 2) d: later e: __typename",
        "__typename name",
        "name broken count",
        "count wrong name",
        "other { name absent } name",
        "name failing count",
        "others { failing name } later",
        "other { nothing } name",
        "others { ...f } other { ...f } } } fragment f on Thing { name later broken doubled other { name",
        "name @skip(if: true) count @include(if: true)",
    ],
)
async def test_the_answer_is_that_of_the_long_way(fields: str) -> None:
    long, short = await answer(LONG, fields), await answer(SHORT, fields)
    assert long.data is not None
    assert long.data["thing"] is not None
    assert short.data == long.data
    assert [error.formatted for error in short.errors or []] == [error.formatted for error in long.errors or []]
    assert str(short.data) == str(long.data), "in the order of the selection"


@pytest.mark.parametrize("name", ["doubled", "later", "whose", "perhapsLater", "unknown"])
async def test_a_resolver_is_called_once(name: str) -> None:
    calls.clear()
    assert not (await answer(SHORT, f"name {name} count")).errors
    assert calls == [name]


@pytest.mark.parametrize("fields", ["name absent", "nothing name", "others { later absent }", "others { nothing }"])
async def test_what_may_not_be_null_takes_the_object_with_it_as_on_the_long_way(fields: str) -> None:
    long, short = await answer(LONG, fields), await answer(SHORT, fields)
    assert short.data == long.data == {"thing": None}
    assert [error.formatted for error in short.errors or []] == [error.formatted for error in long.errors or []]


async def test_what_is_at_hand_is_not_resolved() -> None:
    assert (await answer(SHORT, "known")).data == {"thing": {"known": "one"}}
