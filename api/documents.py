"""Documents: parsed, weighed and validated once a text, then executed by graphql-core without detours.

A client sends the same few documents over and over, so parsing and validation are paid once and remembered. What a
document may ask for is weighed before it is validated, by one walk that looks at every selection set once: a document
of nested fragments that would expand to 2^60 fields is refused in the time it takes to read it. Refusals are remembered
as well, in a place of their own.
"""

import inspect
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Collection, Hashable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count
from threading import Lock
from typing import Any, Generic, Self, TypeVar

import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    create_source_event_stream,
    execute,
    execute_subscription_event,
    map_source_to_response_event,
    parse,
    validate,
)
from graphql.execution import Executor
from pydantic_core import to_json
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from api.faults import BadRequest, ParseFailed, QueryTooComplex, ValidationFailed, fault_of, note_absence, told
from api.limits import Limits, weigh
from api.observing import observed
from api.sharing import Edition, Encoding, Encodings, Feed, Offer, Reach, reach_of

__all__ = ["Documents", "NotExecuted", "Operation", "Operations", "Parameters", "Prepared", "encoded", "response"]

T = TypeVar("T")

_numbers = count()


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


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A document fit to be executed, and its operations by name. It is equal to no other, whatever that one's text."""

    document: DocumentNode
    kinds: Mapping[str | None, OperationType]
    declared: Mapping[str | None, tuple[str, ...]]
    """The variables that they take."""
    reaches: Mapping[str | None, Reach]
    """What the results of its subscriptions depend on."""
    tops: Mapping[str | None, tuple[str, ...]]
    """The schema's names of the fields at the top of each, sorted."""
    number: int = field(default_factory=partial(next, _numbers))
    """No other has it: what is kept under it does not keep the document."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a document, with its variables, ready to run."""

    prepared: Prepared
    kind: OperationType
    name: str | None
    variables: dict[str, Any]
    """Those that it declares: whatever else was sent is not kept."""

    @property
    def tops(self) -> tuple[str, ...]:
        """The schema's names of the fields at its top."""
        return self.prepared.tops[self.name]


def response(result: ExecutionResult, request_id: str, limits: Limits) -> dict[str, Any]:
    """Put the result of an operation into the form of a GraphQL response."""
    if result.errors:
        return {"errors": told(result.errors, request_id, limit=limits.errors), "data": result.data}
    return {"data": result.data}


def encoded(body: Mapping[str, Any]) -> bytes:
    """Write a response, or a message about one, as JSON."""
    return to_json(body, inf_nan_mode="null")


class _Recent(Generic[T]):
    """What is known of texts, the least recently used forgotten first. Threads may share it."""

    def __init__(self, *, entries: int, characters: int) -> None:
        self._most_entries = entries
        self._most_characters = characters
        self._known: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, text: str) -> T | None:
        """Return what is known of a text."""
        with self._lock:
            if (known := self._known.get(text)) is None:
                return None
            self._known.move_to_end(text)
            return known[0]

    def put(self, text: str, what: T, *, besides: int = 0) -> None:
        """Know this of a text, and forget what there is no room for: it takes so many characters besides the text."""
        characters = len(text) + besides
        if characters > self._most_characters:
            return
        with self._lock:
            if text in self._known:
                self._characters -= self._known.pop(text)[1]
            self._known[text] = what, characters
            self._characters += characters
            while len(self._known) > self._most_entries or self._characters > self._most_characters:
                self._characters -= self._known.popitem(last=False)[1][1]


class Documents:
    """Prepared documents by their text, the least recently used forgotten first. Threads may share it.

    What is wrong with those that were refused is remembered apart from them, and not as much of it: rubbish shall not
    push out what is in use, and whoever sends the same again and again shall not have it examined each time.
    """

    def __init__(self, schema: GraphQLSchema, limits: Limits, *, public: Collection[str] = ()) -> None:
        """Take the fields that show the same to every viewer, as ``reach_of`` has them."""
        self._schema = schema
        self._limits = limits
        self._public = public
        self._prepared = _Recent[Prepared](entries=limits.cached_documents, characters=limits.cached_characters)
        self._refused = _Recent[tuple[GraphQLError, ...]](
            entries=limits.cached_refusals, characters=limits.cached_refusal_characters
        )

    def __len__(self) -> int:
        return len(self._prepared)

    @property
    def refusals(self) -> int:
        """How many refusals are remembered."""
        return len(self._refused)

    def prepare(self, text: str) -> Prepared:
        """Parse, weigh and validate a document, or remember that it was. Raise `NotExecuted` with what is wrong."""
        if (known := self._prepared.get(text)) is not None:
            return known
        if (wrong := self._refused.get(text)) is not None:
            raise NotExecuted(*wrong)
        try:
            prepared = self._examine(text)  # that two threads do it twice harms nobody
        except NotExecuted as refused:
            if len(text) <= self._limits.characters:  # a longer one is refused without being read
                self._refused.put(text, refused.errors, besides=sum(len(error.message) for error in refused.errors))
            raise
        self._prepared.put(text, prepared)
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
        operations = {
            node.name.value if node.name else None: node
            for node in document.definitions
            if isinstance(node, OperationDefinitionNode)
        }
        return Prepared(
            document,
            {name: node.operation for name, node in operations.items()},
            {
                name: tuple(definition.variable.name.value for definition in node.variable_definitions or ())
                for name, node in operations.items()
            },
            {
                name: reach_of(self._schema, document, node, self._public)
                for name, node in operations.items()
                if node.operation is OperationType.SUBSCRIPTION
            },
            {name: _tops(document, node) for name, node in operations.items()},
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


def _tops(document: DocumentNode, operation: OperationDefinitionNode) -> tuple[str, ...]:
    """Return the names of the fields that a valid operation selects at its top; a fragment is entered once."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    found: set[str] = set()
    entered: set[str] = set()
    left = [*operation.selection_set.selections]
    while left:
        node = left.pop()
        if isinstance(node, FieldNode):
            found.add(node.name.value)
        elif isinstance(node, InlineFragmentNode):
            left += node.selection_set.selections
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in entered:
            entered.add(node.name.value)
            left += fragments[node.name.value].selection_set.selections
    return tuple(sorted(found))


class Operations:
    """Finds operations in documents and runs them on a Strawberry schema.

    graphql-core is called directly: the machinery that Strawberry puts around it for its extensions costs half as much
    again as the execution of a small mutation. Raises `ValueError` for a schema that relies on that machinery.
    """

    def __init__(
        self,
        schema: strawberry.Schema,
        limits: Limits,
        *,
        public: Collection[str] = (),
        encodings: Encodings | None = None,
        documents: Documents | None = None,
    ) -> None:
        """Take what others share: the documents of the same schema, with the same limits and public fields."""
        if schema.extensions or schema.directives:
            raise ValueError("this endpoint runs no schema extensions and no custom directives on operations")
        self._schema = schema._schema  # noqa: SLF001 - Strawberry has no public way to the schema it builds
        self._executor = schema.execution_context_class
        self._limits = limits
        self._encodings = encodings or Encodings()
        self.documents = Documents(self._schema, limits, public=public) if documents is None else documents

    def find(self, parameters: Parameters) -> Operation:
        """Find the operation that the parameters name.

        Raise `NotExecuted` if its document is refused or its variables are too long to keep, `BadRequest` if there is
        none.
        """
        prepared = self.documents.prepare(parameters.query)
        name, kinds = parameters.operation_name, prepared.kinds
        if name is None:
            if len(kinds) != 1:
                raise BadRequest("`operationName` must say which of the document's operations to run.")
            ((name, kind),) = kinds.items()
        elif (named := kinds.get(name)) is not None:
            kind = named
        else:
            raise BadRequest("The document has no operation of the name in `operationName`.")
        sent = parameters.variables or {}
        variables = {variable: sent[variable] for variable in prepared.declared[name] if variable in sent}
        allowed = self._limits.subscription_variables
        if kind is OperationType.SUBSCRIPTION and len(to_json(variables)) > allowed:
            raise NotExecuted(
                QueryTooComplex(
                    f"The variables of a subscription may take {allowed} characters as JSON.",
                    extensions={"limit": "subscriptionVariables", "allowed": allowed},
                )
            )
        return Operation(prepared, kind, name, variables)

    async def execute(self, operation: Operation, context: object) -> ExecutionResult:
        """Run a query or a mutation to its result. Raise `NotExecuted` if the variables don't fit."""
        running = execute(
            self._schema,
            operation.prepared.document,
            variable_values=operation.variables,
            operation_name=operation.name,
            context_value=context,
            executor_class=self._executor,
            is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]  # it narrows nothing
        )
        result = await running if inspect.isawaitable(running) else running
        if result.data is None and result.errors and all(error.path is None for error in result.errors):
            raise NotExecuted(*result.errors)
        note_absence(result.errors, operation.kind)
        return result

    async def stream(
        self, operation: Operation, context: object, request_id: str, offer: Offer | None = None
    ) -> AsyncGenerator[str]:
        """Run any operation; yield its responses, encoded. Raise `NotExecuted` if it can't begin or breaks off.

        What a `Feed` tells is executed and encoded once for all who are told the same. While the next response is
        awaited, it may be offered instead of yielded.
        """
        if operation.kind is not OperationType.SUBSCRIPTION:
            body = response(await self.execute(operation, context), request_id, self._limits)
            if (observation := observed()) is not None:
                observation.answered(body.get("errors"))
            yield encoded(body).decode()
            return
        # What is not needed again is dropped before a response is awaited: that may take hours, and thousands wait.
        source = await self._source(operation, context)
        del context
        try:
            if isinstance(source, Feed):
                alike, known = self._alike(source, operation), self._encodings.known
                async with aclosing(
                    source.follow(self._edition(alike, source, operation, request_id), offer)
                ) as batches:
                    async for batch in batches:
                        for item in batch:
                            text = known((alike, source.key(item)))
                            yield text or await self._encode(alike, source, operation, request_id, item)
                            del item, text
                        del batch
            else:
                async with aclosing(source) as results:
                    async for result in results:
                        yield self._told_at_event(result, request_id).text
        except Exception as error:  # noqa: BLE001 - whatever the resolver's stream raises, or showing an item
            raise NotExecuted(fault_of(error, request_id, OperationType.SUBSCRIPTION)) from None

    async def _source(self, operation: Operation, context: object) -> Feed[Any] | AsyncGenerator[ExecutionResult]:
        executor = self._executor_of(operation, context)
        creating = create_source_event_stream(executor)
        source = await creating if inspect.isawaitable(creating) else creating
        if isinstance(source, ExecutionResult):
            note_absence(source.errors, operation.kind)
            raise NotExecuted(*source.errors or ())
        return source if isinstance(source, Feed) else map_source_to_response_event(executor, source)

    def _alike(self, feed: Feed[Any], operation: Operation) -> Hashable:
        """Return what the results of a subscription depend on besides the items."""
        prepared, sent = operation.prepared, operation.variables
        reach = prepared.reaches[operation.name]
        variables = {name: sent[name] for name in reach.variables if name in sent}
        asked = sha256(to_json((prepared.number, operation.name, variables))).digest()
        return asked, None if reach.is_public else feed.viewer

    def _edition(self, alike: Hashable, feed: Feed[Any], operation: Operation, request_id: str) -> Edition[Any] | None:
        reach = operation.prepared.reaches[operation.name]
        if not reach.is_public and feed.viewer is not None:
            return None  # of what one viewer is told there are no more copies than he has windows

        async def text(item: object) -> str | None:
            await self._encode(alike, feed, operation, request_id, item)
            return self._encodings.known((alike, feed.key(item)))

        return Edition(alike, text)

    async def _encode(
        self, alike: Hashable, feed: Feed[Any], operation: Operation, request_id: str, item: object
    ) -> str:
        make = partial(self._resolved, feed, item, operation, request_id)
        return await self._encodings.ask((alike, feed.key(item)), make)

    def _resolved(
        self, feed: Feed[Any], item: object, operation: Operation, request_id: str
    ) -> Encoding | Awaitable[Encoding]:
        running = execute_subscription_event(self._executor_of(operation, feed.context(), feed.show(item)))
        if isinstance(running, ExecutionResult):
            return self._told_at_event(running, request_id)

        async def finished() -> Encoding:
            return self._told_at_event(await running, request_id)

        return finished()

    def _told_at_event(self, result: ExecutionResult, request_id: str) -> Encoding:
        note_absence(result.errors, OperationType.SUBSCRIPTION)
        return self._encoding(result, request_id)

    def _executor_of(self, operation: Operation, context: object, root: object = None) -> Executor[Any]:
        executor = self._executor.build(
            self._schema,
            operation.prepared.document,
            root,
            context,
            operation.variables,
            operation.name,
            is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]  # it narrows nothing
        )
        if isinstance(executor, list):
            raise NotExecuted(*executor)
        return executor

    def _encoding(self, result: ExecutionResult, request_id: str) -> Encoding:
        return Encoding(encoded(response(result, request_id, self._limits)).decode(), not result.errors)
