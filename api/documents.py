"""Documents: parsed, weighed and validated once a text, then executed by graphql-core without detours.

A client sends the same few documents over and over, so parsing and validation are paid once and remembered. What a
document may ask for is weighed before it is validated, by one walk that looks at every selection set once: a document
of nested fragments that would expand to 2^60 fields is refused in the time it takes to read it.
"""

import inspect
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, Self, cast

import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    IntValueNode,
    NullValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    execute,
    get_named_type,
    is_interface_type,
    is_list_type,
    is_object_type,
    is_wrapping_type,
    parse,
    specified_rules,
    subscribe,
    validate,
)
from graphql.validation import MaxIntrospectionDepthRule
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from api.faults import BadRequest, Fault, ParseFailed, QueryTooComplex, ValidationFailed, fault_of

__all__ = ["Documents", "Limits", "Operation", "Operations", "Parameters", "Prepared", "Refused", "weigh"]

_MOST_LEVELS = 60
"""Selection sets within selection sets, fragments included, that are walked at all: twice what any honest one needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every number that bounds what one request, document, socket or response may take."""

    body_bytes: int = 256 * 1024
    """The longest request body, or message on a socket."""
    characters: int = 32 * 1024
    """Characters of a document."""
    tokens: int = 2_000
    """Tokens of a document, and besides them its comments; its parser stops there."""
    depth: int = 12
    """Levels of fields; introspection counts as one."""
    fields: int = 500
    """Fields of an operation with its fragments written out."""
    aliases: int = 30
    """Aliased fields of an operation with its fragments written out."""
    mutations: int = 10
    """Fields at the root of a mutation."""
    cost: int = 5_000
    """Fields of the answer, as far as can be told from the document."""
    page_size: int = 20
    """What a paged field is taken to hold if the document gives neither `first` nor `last`."""
    largest_page: int = 100
    """What it is taken to hold if the size is left to a variable."""
    list_size: int = 20
    """What a list is taken to hold that has no pages."""
    errors: int = 20
    """Errors in one response."""
    cached_documents: int = 1_000
    cached_characters: int = 256 * 1024
    """Both bound the cache; a parsed document takes some hundred times the space of its text."""
    socket_operations: int = 20
    """Operations that run on one socket at the same time."""
    init_seconds: float = 10
    """A socket that has not been initialised by then is closed."""
    heartbeat_seconds: float = 15
    """An event stream that says nothing for so long sends a comment."""
    write_seconds: float = 10
    """A reader that takes nothing off a full connection for so long is cut off."""


class Refused(Exception):
    """The operation has no result, only these errors: before it began, or because its stream broke off."""

    def __init__(self, *errors: GraphQLError) -> None:
        super().__init__(*(error.message for error in errors))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a client sends: the parameters of a GraphQL request, the same over every transport."""

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None

    @classmethod
    def read(cls, sent: object) -> Self:
        """Check the types of a decoded JSON object. Raise `BadRequest` if one is wrong or the query is missing."""
        if not isinstance(sent, dict):
            raise BadRequest("The request must be a JSON object with a `query`; batches are not taken.")
        query, variables, name = sent.get("query"), sent.get("variables"), sent.get("operationName")
        if not isinstance(query, str) or not query:
            raise BadRequest("`query` must be given, as a string.")
        if variables is not None and not isinstance(variables, dict):
            raise BadRequest("`variables` must be an object.")
        if name is not None and not isinstance(name, str):
            raise BadRequest("`operationName` must be a string.")
        if not isinstance(sent.get("extensions"), dict | None):
            raise BadRequest("`extensions` must be an object.")
        return cls(query, variables, name or None)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document fit to be executed, and the kinds of its operations by name."""

    document: DocumentNode
    kinds: Mapping[str | None, OperationType]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a document, with its variables, ready to run."""

    document: DocumentNode
    kind: OperationType
    name: str | None
    variables: dict[str, Any] | None


class Documents:
    """Prepared documents by their text, the least recently used forgotten first. Threads may share it.

    A document that is refused is not remembered: rubbish shall not push out what is in use.
    """

    def __init__(self, schema: GraphQLSchema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._prepared: OrderedDict[str, Prepared] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._prepared)

    def prepare(self, text: str) -> Prepared:
        """Parse, weigh and validate a document, or remember that it was. Raise `Refused` with what is wrong with it."""
        with self._lock:
            if (known := self._prepared.get(text)) is not None:
                self._prepared.move_to_end(text)
                return known
        prepared = self._examine(text)  # outside the lock: that two threads do it twice harms nobody
        self._remember(text, prepared)
        return prepared

    def _examine(self, text: str) -> Prepared:
        try:
            document = parse(
                text,
                max_tokens=self._limits.tokens,
                max_comments=self._limits.tokens,
                max_source_length=self._limits.characters,
            )
        except GraphQLSyntaxError as error:
            raise Refused(ParseFailed.about(error)) from None
        if excess := weigh(self._schema, document, self._limits):
            raise Refused(excess)
        if errors := self._validate(document):
            raise Refused(*(ValidationFailed.about(error) for error in errors))
        return Prepared(
            document,
            {
                node.name.value if node.name else None: node.operation
                for node in document.definitions
                if isinstance(node, OperationDefinitionNode)
            },
        )

    def _validate(self, document: DocumentNode) -> list[GraphQLError]:
        errors = validate(
            self._schema, document, (*specified_rules, MaxIntrospectionDepthRule), max_errors=self._limits.errors - 1
        )
        if errors:
            return errors
        try:  # Strawberry's own rules stumble over documents that the standard ones refuse, so they come second
            return validate(self._schema, document, (MaybeNullValidationRule, OneOfInputValidationRule))
        except (AttributeError, KeyError):
            # its rule for @oneOf looks variables up in the operation visited last, and a fragment may come before any
            return [GraphQLError("A @oneOf input object in a fragment must not take its value from a variable.")]

    def _remember(self, text: str, prepared: Prepared) -> None:
        if len(text) > self._limits.cached_characters:
            return
        with self._lock:
            if text not in self._prepared:
                self._characters += len(text)
            self._prepared[text] = prepared
            while (
                len(self._prepared) > self._limits.cached_documents or self._characters > self._limits.cached_characters
            ):
                oldest, _ = self._prepared.popitem(last=False)
                self._characters -= len(oldest)


class Operations:
    """Finds operations in documents and runs them on a Strawberry schema.

    graphql-core is called directly: the machinery that Strawberry puts around it for its extensions costs half as much
    again as the execution of a small mutation. Raises `ValueError` for a schema that relies on that machinery.
    """

    def __init__(self, schema: strawberry.Schema, limits: Limits) -> None:
        if schema.extensions or schema.directives:
            raise ValueError("this endpoint runs no schema extensions and no custom directives on operations")
        self._schema = schema._schema  # noqa: SLF001 - Strawberry has no public way to the schema it builds
        self._executor = schema.execution_context_class
        self.documents = Documents(self._schema, limits)

    def find(self, parameters: Parameters) -> Operation:
        """Find the operation the parameters name. Raise `Refused` if the document is, `BadRequest` if none fits."""
        prepared = self.documents.prepare(parameters.query)
        name, kinds = parameters.operation_name, prepared.kinds
        if name is None:
            if len(kinds) != 1:
                raise BadRequest("`operationName` must say which of the document's operations to run.")
            kind = next(iter(kinds.values()))
        elif (named := kinds.get(name)) is not None:
            kind = named
        else:
            raise BadRequest("The document has no operation of the name in `operationName`.")
        return Operation(prepared.document, kind, name, parameters.variables)

    async def execute(self, operation: Operation, context: object) -> ExecutionResult:
        """Run a query or a mutation to its result. Raise `Refused` if the variables don't fit."""
        running = execute(
            self._schema,
            operation.document,
            variable_values=operation.variables,
            operation_name=operation.name,
            context_value=context,
            executor_class=self._executor,
            is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]  # it narrows nothing
        )
        result = await running if inspect.isawaitable(running) else running
        if result.data is None and result.errors and all(error.path is None for error in result.errors):
            raise Refused(*result.errors)
        return result

    async def stream(self, operation: Operation, context: object, request_id: str) -> AsyncGenerator[ExecutionResult]:
        """Run any operation, result by result. Raise `Refused` if it can't begin or breaks off."""
        if operation.kind is not OperationType.SUBSCRIPTION:
            yield await self.execute(operation, context)
            return
        subscribing = subscribe(
            self._schema,
            operation.document,
            variable_values=operation.variables,
            operation_name=operation.name,
            context_value=context,
            executor_class=self._executor,
        )
        results = await subscribing if inspect.isawaitable(subscribing) else subscribing
        if isinstance(results, ExecutionResult):
            raise Refused(*results.errors or ())
        async with aclosing(cast("AsyncGenerator[ExecutionResult]", results)) as open_results:
            while True:
                try:
                    result = await anext(open_results)
                except StopAsyncIteration:
                    return
                except Exception as error:  # noqa: BLE001 - graphql-core lets through what the resolver's stream raises
                    raise Refused(fault_of(error, request_id)) from None
                yield result


class _Weight(NamedTuple):
    """What a selection set amounts to, with its fragments written out."""

    depth: int = 0
    width: int = 0  # fields at its own level
    fields: int = 0
    aliases: int = 0
    cost: int = 0

    def beside(self, other: "_Weight") -> "_Weight":
        return _Weight(
            max(self.depth, other.depth),
            self.width + other.width,
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.cost + other.cost,
        )


_NOTHING = _Weight()


class _TooDeepToWeigh(Exception):
    """The walk has gone down further than any document within the limits would take it."""


def weigh(schema: GraphQLSchema, document: DocumentNode, limits: Limits) -> Fault | None:
    """Say which limit a document exceeds, if it does. Takes time linear in its size and never raises.

    The document need not be valid: unknown fields weigh something, unknown fragments and cycles nothing more.
    """
    scales = _Scales(schema, document, limits)
    for node in document.definitions:
        is_mutation = False
        try:
            if isinstance(node, OperationDefinitionNode):
                is_mutation = node.operation is OperationType.MUTATION
                weight = scales.weigh(node.selection_set, schema.get_root_type(node.operation), 1)
            elif isinstance(node, FragmentDefinitionNode):
                # an unused one is validated too, at a cost of time that only its fields decide
                weight = _Weight(fields=scales.spread(node.name.value, 1).fields)
            else:
                continue
        except _TooDeepToWeigh:
            return _excess("depth", limits.depth, "levels")
        for amount, limit, allowed, what in (
            (weight.depth, "depth", limits.depth, "levels"),
            (weight.fields, "fields", limits.fields, "fields"),
            (weight.aliases, "aliases", limits.aliases, "aliases"),
            (weight.cost, "cost", limits.cost, "fields in the answer"),
            (weight.width if is_mutation else 0, "mutations", limits.mutations, "mutations"),
        ):
            if amount > allowed:
                return _excess(limit, allowed, what)
    return None


def _excess(limit: str, allowed: int, what: str) -> QueryTooComplex:
    return QueryTooComplex(
        f"The document asks for more than {allowed} {what}.", extensions={"limit": limit, "allowed": allowed}
    )


class _Scales:
    """Weighs the selection sets of one document; a fragment is weighed once, wherever it is spread."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._weighed: dict[str, _Weight] = {}

    def weigh(self, selections: SelectionSetNode, parent: GraphQLNamedType | None, level: int) -> _Weight:
        if level > _MOST_LEVELS:
            raise _TooDeepToWeigh
        total = _NOTHING
        for node in selections.selections:
            if isinstance(node, FieldNode):
                total = total.beside(self._field(node, parent, level))
            elif isinstance(node, FragmentSpreadNode):
                total = total.beside(self.spread(node.name.value, level))
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                inner = self._schema.get_type(condition.name.value) if condition else parent
                total = total.beside(self.weigh(node.selection_set, inner, level + 1))
        return total

    def spread(self, name: str, level: int) -> _Weight:
        if (known := self._weighed.get(name)) is not None:
            return known
        fragment = self._fragments.get(name)
        if fragment is None:
            return _NOTHING
        self._weighed[name] = _NOTHING  # what a cycle finds on its way round; validation refuses it
        on = self._schema.get_type(fragment.type_condition.name.value)
        weight = self._weighed[name] = self.weigh(fragment.selection_set, on, level + 1)
        return weight

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None, level: int) -> _Weight:
        aliased = 1 if node.alias else 0
        if node.selection_set is None:
            return _Weight(1, 1, 1, aliased, 1)
        name = node.name.value
        if name in {"__schema", "__type"}:  # as deep and long as the schema is, and the same for everyone
            inside = self.weigh(node.selection_set, None, level + 1)
            return _Weight(1, 1, 1 + inside.fields, aliased + inside.aliases, 1 + inside.fields)
        field = parent.fields.get(name) if is_object_type(parent) or is_interface_type(parent) else None
        inner = get_named_type(field.type) if field else None
        inside = self.weigh(node.selection_set, inner, level + 1)
        times = self._length(field, node, parent) if field else 1
        return _Weight(1 + inside.depth, 1, 1 + inside.fields, aliased + inside.aliases, 1 + times * inside.cost)

    def _length(self, field: GraphQLField, node: FieldNode, parent: object) -> int:
        """How many objects a field holds, as far as its arguments and type tell."""
        if "first" in field.args or "last" in field.args:
            given = [argument.value for argument in node.arguments or () if argument.name.value in {"first", "last"}]
            sizes = [
                max(1, int(value.value)) if isinstance(value, IntValueNode) else self._limits.largest_page
                for value in given
                if not isinstance(value, NullValueNode)
            ]
            return max(sizes, default=self._limits.page_size)
        if "pageInfo" in getattr(parent, "fields", ()):
            return 1  # the edges of a connection were counted where it was opened
        length = 1
        type_: object = field.type
        while is_wrapping_type(type_):
            if is_list_type(type_):
                length *= self._limits.list_size
            type_ = type_.of_type
        return length
