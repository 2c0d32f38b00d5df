"""What one request may ask for: the numbers, and one walk over a document that weighs it against them.

The walk looks at every selection set once, so a document of nested fragments that would expand to 2^60 fields is
refused in the time it takes to read it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    NullValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    TokenKind,
    get_named_type,
    is_abstract_type,
    is_interface_type,
    is_list_type,
    is_object_type,
    is_wrapping_type,
)

from api.faults import Fault, QueryTooComplex

__all__ = ["Limits", "weigh"]

_TOLD_CHARACTERS: Final = 40
"""Of a name that is told to whoever chose it."""
_MOST_LEVELS: Final = 60
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
    """Fields of all operations together, with their fragments written out."""
    aliases: int = 30
    """Aliased fields of an operation with its fragments written out."""
    repeats: int = 50
    """How often one place may select the same name, or spread fragments, all types and fragments together. Validation
    compares each with each; a document that tells every kind of a thing apart has the name once for each kind."""
    mutations: int = 10
    """Fields at the root of a mutation."""
    cost: int = 20_000
    """Fields of the answer, as far as can be told from the document."""
    subscription_tokens: int = 600
    """Tokens of a document with a subscription: it stays in memory while that lasts."""
    subscription_fields: int = 200
    """Fields of a subscription with its fragments written out."""
    subscription_cost: int = 2_000
    """The same as `cost`, of each event: a document is weighed once, and a subscription asks again at every event."""
    subscription_variables: int = 4_000
    """Characters of a subscription's variables as JSON, which stay in memory as well."""
    page_size: int = 20
    """What a paged field is taken to hold if the document gives neither `first` nor `last`."""
    largest_page: int = 100
    """What it is taken to hold if the size is left to a variable."""
    list_size: int = 20
    """What a list is taken to hold that has no pages and no usual length."""
    usual_lengths: Mapping[str, int] = field(default_factory=dict)
    """What certain lists hold as a rule, by type and field: `{"Chessboard.files": 8}`."""
    efforts: Mapping[str, int] = field(default_factory=dict)
    """What certain fields cost besides what they hold, likewise: they read or compute more than others."""
    errors: int = 20
    """Errors in one response."""
    cached_documents: int = 1_000
    cached_characters: int = 256 * 1024
    """Both bound the cache; a parsed document takes some hundred times the space of its text."""
    cached_refusals: int = 200
    cached_refusal_characters: int = 256 * 1024
    """Both bound what is remembered of documents that were refused: their texts and what is wrong with them."""
    socket_operations: int = 20
    """Operations that run on one socket at the same time."""
    init_seconds: float = 10
    """A socket that has not been initialised by then is closed."""
    heartbeat_seconds: float = 15
    """An event stream that says nothing for so long sends a comment."""
    write_seconds: float = 10
    """A reader that takes nothing off a full connection for so long is cut off."""


_Place = tuple[str, ...]
"""Where in an answer something is selected: the response names that lead there, and its own."""

_AT_EACH_EVENT: Final = (
    "fields in the answer, or fields that take much work, at each event. Follow `gameEvents`, which tells what "
    "happened, and ask for the rest by a query"
)
_SPREADS: Final = "..."
"""Stands for the fragments that are spread at a place, as a name of its own."""


@dataclass(slots=True)
class _Weight:
    """What a selection set amounts to, with its fragments written out."""

    depth: int = 0
    width: int = 0  # fields at its own level
    fields: int = 0
    aliases: int = 0
    cost: int = 0
    places: Counter[_Place] = field(default_factory=Counter)

    def add(self, other: "_Weight") -> None:
        """Add what is selected beside it."""
        self.depth = max(self.depth, other.depth)
        self.width += other.width
        self.fields += other.fields
        self.aliases += other.aliases
        self.cost += other.cost
        self.places.update(other.places)


class _Excess(Exception):
    """The document exceeds a limit: there is no need to weigh the rest of it."""

    def __init__(self, limit: str, allowed: int, what: str) -> None:
        super().__init__(limit)
        self.limit = limit
        self.allowed = allowed
        self.what = what


def _too_much(limit: str, allowed: int, what: str) -> _Excess:
    return _Excess(limit, allowed, f"asks for more than {allowed} {what}")


def weigh(schema: GraphQLSchema, document: DocumentNode, limits: Limits) -> Fault | None:
    """Say which limit a document exceeds, if it does. Takes time linear in its size and never raises.

    The document need not be valid: unknown fields weigh something, unknown fragments and cycles nothing more.
    """
    scales = _Scales(schema, document, limits)
    try:
        for node in document.definitions:
            if isinstance(node, OperationDefinitionNode):
                scales.weigh_operation(node)
            elif isinstance(node, FragmentDefinitionNode):
                scales.weigh_fragment(node)
    except _Excess as excess:
        return QueryTooComplex(
            f"The document {excess.what}.", extensions={"limit": excess.limit, "allowed": excess.allowed}
        )
    return None


def _tokens(document: DocumentNode) -> int:
    found, token = 0, document.loc.start_token.next if document.loc else None
    while token is not None and token.kind is not TokenKind.EOF:
        found, token = found + 1, token.next
    return found


def _said_of(table: Mapping[str, int], parent: GraphQLNamedType | None, field: str) -> int | None:
    """Return what a table says of a field: of its type, or else of an interface of it."""
    if parent is None:
        return None
    interfaces = parent.interfaces if is_object_type(parent) else ()
    names = (parent.name, *(interface.name for interface in interfaces))
    return next((table[found] for name in names if (found := f"{name}.{field}") in table), None)


class _Scales:
    """Weighs the selection sets of one document; a fragment is weighed once, wherever it is spread.

    What has become too large is not built upon: so merging the places of selection sets takes bounded time as well.
    """

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, limits: Limits) -> None:
        self._schema = schema
        self._document = document
        self._limits = limits
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._weighed: dict[str, _Weight] = {}
        self._fields = 0  # of all definitions: each is validated, also those that are not asked for

    def weigh_operation(self, node: OperationDefinitionNode) -> None:
        """Weigh an operation; raise `_Excess` if it is too heavy."""
        limits = self._limits
        weight = self.weigh(node.selection_set, self._schema.get_root_type(node.operation), 1)
        self._count(weight)
        self._demand("depth", weight.depth, limits.depth, "levels")
        self._demand("aliases", weight.aliases, limits.aliases, "aliases")
        self._demand("cost", weight.cost, limits.cost, "fields in the answer, or fields that take much work")
        if node.operation is OperationType.MUTATION:
            self._demand("mutations", weight.width, limits.mutations, "mutations")
        if node.operation is OperationType.SUBSCRIPTION:
            if _tokens(self._document) > (allowed := limits.subscription_tokens):
                raise _Excess("subscriptionTokens", allowed, f"has more than {allowed} tokens, too many to follow")
            self._demand("subscriptionFields", weight.fields, limits.subscription_fields, "fields in a subscription")
            self._demand("subscriptionCost", weight.cost, limits.subscription_cost, _AT_EACH_EVENT)

    def weigh_fragment(self, node: FragmentDefinitionNode) -> None:
        """Weigh a fragment for itself, used or not; raise `_Excess` if it is too heavy."""
        name = node.name.value
        if node is self._fragments[name]:
            self.spread(name, 1)
        else:  # another one of the same name is what is spread, but both are validated
            self._count(self.weigh(node.selection_set, self._schema.get_type(node.type_condition.name.value), 1))

    def weigh(self, selections: SelectionSetNode, parent: GraphQLNamedType | None, level: int) -> _Weight:
        if level > _MOST_LEVELS:
            raise _too_much("depth", self._limits.depth, "levels")
        total = _Weight()
        by_type: dict[str, int] = {}
        for node in selections.selections:
            if isinstance(node, FieldNode):
                self._add(total, self._field(node, parent, level))
                continue
            if isinstance(node, FragmentSpreadNode):
                name = self._condition(self._fragments.get(node.name.value))
                weight = self.spread(node.name.value, level)
                total.places[_SPREADS,] += 1
            elif isinstance(node, InlineFragmentNode):
                name = self._condition(node)
                inner = self._schema.get_type(name) if name else parent
                weight = self.weigh(node.selection_set, inner, level + 1)
            else:
                continue
            self._add(total, weight)
            # an object is of one type, so of the selections for several types it answers one
            if is_abstract_type(parent) and name and is_object_type(self._schema.get_type(name)):
                by_type[name] = by_type.get(name, 0) + weight.cost
        total.cost -= sum(by_type.values()) - max(by_type.values(), default=0)
        return total

    def _add(self, total: _Weight, weight: _Weight) -> None:
        total.add(weight)
        self._demand("fields", total.fields, self._limits.fields, "fields")

    @staticmethod
    def _condition(node: FragmentDefinitionNode | InlineFragmentNode | None) -> str | None:
        return node.type_condition.name.value if node is not None and node.type_condition else None

    def spread(self, name: str, level: int) -> _Weight:
        if (known := self._weighed.get(name)) is not None:
            return known
        fragment = self._fragments.get(name)
        if fragment is None:
            return _Weight()
        self._weighed[name] = _Weight()  # what a cycle finds on its way round; validation refuses it
        on = self._schema.get_type(fragment.type_condition.name.value)
        weight = self._weighed[name] = self.weigh(fragment.selection_set, on, level + 1)
        self._count(weight)
        return weight

    def _count(self, weight: _Weight) -> None:
        """Count a definition, which is validated by itself whatever else is in the document."""
        self._fields += weight.fields
        self._demand("fields", self._fields, self._limits.fields, "fields")
        place, times = max(weight.places.items(), key=itemgetter(1), default=((), 0))
        if times > self._limits.repeats:
            what = "spreads fragments" if place[-1] == _SPREADS else f"selects `{place[-1][:_TOLD_CHARACTERS]}`"
            allowed = self._limits.repeats
            raise _Excess("repeats", allowed, f"{what} more than {allowed} times in one place")

    @staticmethod
    def _demand(limit: str, amount: int, allowed: int, what: str) -> None:
        if amount > allowed:
            raise _too_much(limit, allowed, what)

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None, level: int) -> _Weight:
        aliased = 1 if node.alias else 0
        name = node.name.value
        effort = 1 + (_said_of(self._limits.efforts, parent, name) or 0)
        shown = (node.alias or node.name).value
        if node.selection_set is None:
            return _Weight(1, 1, 1, aliased, effort, Counter({(shown,): 1}))
        # introspection is as deep and long as the schema is, and the same for everyone
        is_introspection = name in {"__schema", "__type"}
        field = parent.fields.get(name) if is_object_type(parent) or is_interface_type(parent) else None
        inner = get_named_type(field.type) if field and not is_introspection else None
        inside = self.weigh(node.selection_set, inner, level + 1)
        places = Counter({(shown,): 1, **{(shown, *place): times for place, times in inside.places.items()}})
        fields, aliases = 1 + inside.fields, aliased + inside.aliases
        if is_introspection:
            return _Weight(1, 1, fields, aliases, fields, places)
        times = self._length(field, node, parent) if field and parent else 1
        return _Weight(1 + inside.depth, 1, fields, aliases, effort + times * inside.cost, places)

    def _length(self, field: GraphQLField, node: FieldNode, parent: GraphQLNamedType) -> int:
        """How many objects a field holds, as far as its arguments and type tell."""
        if "first" in field.args or "last" in field.args:
            given = [argument.value for argument in node.arguments or () if argument.name.value in {"first", "last"}]
            sizes = [
                max(1, int(value.value)) if isinstance(value, IntValueNode) else self._limits.largest_page
                for value in given
                if not isinstance(value, NullValueNode)
            ]
            return max(sizes, default=self._limits.page_size)
        if (usual := _said_of(self._limits.usual_lengths, parent, node.name.value)) is not None:
            return usual
        if "pageInfo" in getattr(parent, "fields", ()):
            return 1  # the edges of a connection were counted where it was opened
        length = 1
        type_: object = field.type
        while is_wrapping_type(type_):
            if is_list_type(type_):
                length *= self._limits.list_size
            type_ = type_.of_type
        return length
