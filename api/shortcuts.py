"""The short way to values that are at hand.

graphql-core and Strawberry prepare every field for all that a field can be: arguments, extensions, something to be
waited for, an error. Most fields of a page of a hundred lines are none of it, there are thousands of them, and the
preparations cost ten times what the values do. Here what is selected of an object, as far as it is plain values and
objects and lists of such, is read and written by one function made for it. The arguments of a field are the same for
every object of a page, and are read once. Whatever turns out to be something else, an error included, goes the long
way: what is answered is the same. So a resolver that takes no `info` may be asked twice, and must do nothing but tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias
from uuid import UUID

import strawberry
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)
from graphql.execution.values import get_argument_values
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

__all__ = ["AT_HAND", "ShortExecutor", "shortened"]

AT_HAND: Final = "at-hand"
"""In the metadata of a field: a function that returns its value where the object has it, and else raises LookupError.
Then the field is resolved."""

_READ: Final = "tic-short-way"
"""Where a field keeps the function that reads its value from its object, among its extensions."""
_ARGUMENTS: Final = "tic-arguments"
"""Where it keeps the one that makes keywords for that function of its arguments, if it takes any."""
_PLAIN: Final = frozenset({str, int, float, bool, UUID, datetime})
"""Types of values that are what they seem."""
_AS_THEY_ARE: Final = {"String": str, "ID": str, "Boolean": bool}
"""Types of values that an answer has as they are, by scalar."""

_Way: TypeAlias = Callable[[Any], Any]
"""From an object, or a value, to what an answer has of it. It raises where the long way has to be gone."""


class _Plan(NamedTuple):
    """The fields that are selected of an object, by the names that they have in the answer."""

    selected: Mapping[str, Any]
    short: tuple[tuple[str, _Way], ...]
    long: dict[str, Any]


class ShortExecutor(StrawberryGraphQLCoreExecutionContext):
    """Executes as Strawberry's own does, and takes the short way where there is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._plans: dict[tuple[GraphQLObjectType, int], _Plan] = {}

    def execute_fields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Any,
        grouped_field_set: Any,
        position_context: Any,
    ) -> Any:
        """Resolve the fields of an object and complete their values."""
        plan = self._plan(parent_type, grouped_field_set)
        if not plan.short:
            return super().execute_fields(parent_type, source_value, path, grouped_field_set, position_context)
        results = dict.fromkeys(plan.selected)  # an answer keeps the order of the selection
        left = plan.long
        for name, way in plan.short:
            try:
                results[name] = way(source_value)
            except Exception:  # noqa: BLE001 - the long way meets it again, and tells it
                left = {**left, name: grouped_field_set[name]}
        if not left:
            return results
        return self._with_the_others(results, parent_type, source_value, path, left, position_context)

    def _with_the_others(self, results: dict[str, Any], *others: Any) -> Any:
        found: Any = super().execute_fields(*others)
        wanted = others[3]
        if not self.is_awaitable(found):
            return _merged(results, found, wanted)

        async def merged() -> dict[str, Any]:
            return _merged(results, await found, wanted)

        return merged()

    def _plan(self, type_: GraphQLObjectType, selected: Mapping[str, Any]) -> _Plan:
        key = type_, id(selected)  # the plan keeps what is selected, so that nothing else has its id
        plan = self._plans.get(key)
        if plan is None:
            ways = {name: self._way_of_field(type_, details) for name, details in selected.items()}
            short = tuple((name, way) for name, way in ways.items() if way is not None)
            long = {name: details for name, details in selected.items() if ways[name] is None}
            plan = self._plans[key] = _Plan(selected, short, long)
        return plan

    def _way_of_field(self, parent: GraphQLObjectType, details: Any) -> _Way | None:
        name = details[0].node.name.value
        if name == "__typename":
            return lambda _: parent.name
        field = parent.fields.get(name)
        read: _Way | None = field.extensions.get(_READ) if field is not None else None
        if field is None or read is None:
            return None
        write = self._way_of_value(field.type, details)
        if write is None:
            return None
        if field.args:
            try:
                given = self._given(field, details[0])
            except Exception:  # noqa: BLE001 - the long way meets it again, and tells it
                return None
            return lambda source: write(read(source, **given))
        return lambda source: write(read(source))

    def _given(self, field: GraphQLField, details: Any) -> dict[str, Any]:
        values = get_argument_values(
            field, details.node, self.variable_values, details.fragment_variable_values, self.hide_suggestions
        )
        keywords: dict[str, Any] = field.extensions[_ARGUMENTS](values)
        return keywords

    def _way_of_value(self, type_: Any, details: Any) -> _Way | None:
        """Return how a value of a type is written; None where that is not known beforehand."""
        inner = get_nullable_type(type_)
        if isinstance(inner, GraphQLList):
            one = self._way_of_value(inner.of_type, details)
            way = None if one is None else _list_way(one)
        elif isinstance(inner, GraphQLObjectType):
            way = self._way_of_object(inner, details)
        elif is_leaf_type(inner):
            way = self._way_of_leaf(inner)
        else:
            way = self._way_of_several(inner, details)
        if way is None or isinstance(type_, GraphQLNonNull):
            return way
        return lambda found: None if found is None else way(found)

    def _way_of_object(self, type_: GraphQLObjectType, details: Any) -> _Way | None:
        definition = type_.extensions.get("strawberry-definition")
        selected, put_off, _ = self.collect_subfields(type_, details)
        if definition is None or put_off:
            return None
        plan = self._plan(type_, selected)
        if plan.long:
            return None
        origin, fields = definition.origin, plan.short

        def write(found: Any) -> dict[str, Any]:
            if type(found) is not origin:
                _another_way()
            return {name: way(found) for name, way in fields}

        return write

    def _way_of_several(self, types: Any, details: Any) -> _Way:
        """Return how an object of one of several types is written."""
        ways: dict[type, _Way] = {}

        def write(found: Any) -> Any:
            way = ways.get(type(found))
            if way is None:
                type_ = self.schema.type_map.get(type(found).__strawberry_definition__.name)
                if not isinstance(type_, GraphQLObjectType) or not self.schema.is_sub_type(types, type_):
                    _another_way()
                way = ways[type(found)] = self._way_of_object(type_, details) or _another_way
            return way(found)

        return write

    def _way_of_leaf(self, type_: Any) -> _Way:
        if isinstance(type_, GraphQLEnumType):
            return _enum_way(type_)
        as_it_is, write, is_awaitable = _AS_THEY_ARE.get(type_.name), type_.coerce_output_value, self.is_awaitable

        def written(found: Any) -> Any:
            kind = type(found)
            if kind is as_it_is:
                return found
            if kind not in _PLAIN and (found is None or isinstance(found, Exception) or is_awaitable(found)):
                _another_way()
            told = write(found)
            return _another_way() if told is None or told is Undefined else told

        return written


def _enum_way(type_: GraphQLEnumType) -> _Way:
    names: dict[Any, Any] = {}

    def write(found: Any) -> Any:
        told = names.get(found)
        if told is None:
            told = names[found] = type_.coerce_output_value(found)
        return told

    return write


def _list_way(one: _Way) -> _Way:
    def write(found: Any) -> list[Any]:
        if type(found) is not list and type(found) is not tuple:
            _another_way()
        return [one(each) for each in found]

    return write


def _another_way(*_: object) -> NoReturn:
    raise ValueError("this is nothing for the short way")


def _merged(results: dict[str, Any], found: dict[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Put values in their places; those that are not there at all leave none."""
    results.update(found)
    for name in wanted:
        if name not in found:
            del results[name]
    return results


def shortened(schema: strawberry.Schema) -> strawberry.Schema:
    """Give the fields of a schema's objects their short ways, where Strawberry would do no more; return the schema.

    The roots stay as they are: an operation has few of their fields.
    """
    core = schema._schema  # noqa: SLF001 - Strawberry has no public way to the schema it builds
    roots = {core.query_type, core.mutation_type, core.subscription_type}
    for type_ in core.type_map.values():
        if not isinstance(type_, GraphQLObjectType) or type_ in roots:
            continue
        for field in type_.fields.values():
            definition = field.extensions.get("strawberry-definition")
            if (
                isinstance(definition, StrawberryField)
                and not definition.extensions
                and not definition.permission_classes
            ):
                _shorten(schema, field, definition)
    return schema


def _shorten(schema: strawberry.Schema, field: GraphQLField, definition: StrawberryField) -> None:
    read: Callable[[Any], Any] | None = definition.metadata.get(AT_HAND)
    resolver, told = definition.base_resolver, schema.config.info_class
    if resolver is None:
        read = attrgetter(definition.python_name)
    elif not isinstance(resolver.wrapped_func, staticmethod | classmethod):
        call = resolver.wrapped_func
        match list(resolver.signature.parameters):
            case ["self"]:
                field.resolve = lambda source, _info: call(source)
                read = read or (None if definition.is_async else call)
            case ["self", "info"]:
                field.resolve = lambda source, info: call(source, told(_raw_info=info, _field=definition))
            case ["self", *others] if "info" not in others and not definition.is_async:
                read = call
                field.extensions[_ARGUMENTS] = partial(
                    convert_arguments,
                    arguments=definition.arguments,
                    scalar_registry=schema.schema_converter.scalar_registry,
                    config=schema.config,
                )
            case _:
                return
    if read is not None:
        field.extensions[_READ] = read
