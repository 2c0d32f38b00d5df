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
from typing import Any, Self, cast

import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    execute,
    parse,
    subscribe,
    validate,
)
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from api.faults import BadRequest, ParseFailed, ValidationFailed, fault_of
from api.limits import Limits, weigh

__all__ = ["Documents", "NotExecuted", "Operation", "Operations", "Parameters", "Prepared"]


class NotExecuted(Exception):
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
        """Parse, weigh and validate a document, or remember that it was. Raise `NotExecuted` with what is wrong."""
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
            raise NotExecuted(ParseFailed.about(error)) from None
        if excess := weigh(self._schema, document, self._limits):
            raise NotExecuted(excess)
        if errors := self._validate(document):
            raise NotExecuted(*(ValidationFailed.about(error) for error in errors))
        return Prepared(
            document,
            {
                node.name.value if node.name else None: node.operation
                for node in document.definitions
                if isinstance(node, OperationDefinitionNode)
            },
        )

    def _validate(self, document: DocumentNode) -> list[GraphQLError]:
        errors = validate(self._schema, document, max_errors=self._limits.errors - 1)
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
        """Find the operation the parameters name. Raise `NotExecuted` if the document is, `BadRequest` if none fits."""
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
        """Run a query or a mutation to its result. Raise `NotExecuted` if the variables don't fit."""
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
            raise NotExecuted(*result.errors)
        return result

    async def stream(self, operation: Operation, context: object, request_id: str) -> AsyncGenerator[ExecutionResult]:
        """Run any operation, result by result. Raise `NotExecuted` if it can't begin or breaks off."""
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
            raise NotExecuted(*results.errors or ())
        async with aclosing(cast("AsyncGenerator[ExecutionResult]", results)) as open_results:
            while True:
                try:
                    result = await anext(open_results)
                except StopAsyncIteration:
                    return
                except Exception as error:  # noqa: BLE001 - graphql-core lets through what the resolver's stream raises
                    raise NotExecuted(fault_of(error, request_id)) from None
                yield result
