"""What one request may ask for: the numbers, and one walk over a document that weighs it against them.

The walk looks at every selection set once, so a document of nested fragments that would expand to 2^60 fields is
refused in the time it takes to read it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
    get_named_type,
    is_abstract_type,
    is_interface_type,
    is_list_type,
    is_object_type,
    is_wrapping_type,
)

from api.faults import Fault, QueryTooComplex

__all__ = ["Limits", "weigh"]

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
    """Fields of all operations together, with their fragments written out."""
    aliases: int = 30
    """Aliased fields of an operation with its fragments written out."""
    mutations: int = 10
    """Fields at the root of a mutation."""
    cost: int = 20_000
    """Fields of the answer, as far as can be told from the document."""
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
    socket_operations: int = 20
    """Operations that run on one socket at the same time."""
    init_seconds: float = 10
    """A socket that has not been initialised by then is closed."""
    heartbeat_seconds: float = 15
    """An event stream that says nothing for so long sends a comment."""
    write_seconds: float = 10
    """A reader that takes nothing off a full connection for so long is cut off."""


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

    @classmethod
    def either(cls, weights: Iterable["_Weight"]) -> "_Weight":
        """Weigh selections of which an object answers one; all of them stand in the document."""
        total = _NOTHING
        for weight in weights:
            total = total.beside(weight)._replace(cost=max(total.cost, weight.cost))
        return total


_NOTHING = _Weight()


class _TooDeepToWeigh(Exception):
    """The walk has gone down further than any document within the limits would take it."""


def weigh(schema: GraphQLSchema, document: DocumentNode, limits: Limits) -> Fault | None:
    """Say which limit a document exceeds, if it does. Takes time linear in its size and never raises.

    The document need not be valid: unknown fields weigh something, unknown fragments and cycles nothing more.
    """
    scales = _Scales(schema, document, limits)
    fields = 0
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
        fields += weight.fields  # every operation is validated, also those that are not asked for
        for amount, limit, allowed, what in (
            (weight.depth, "depth", limits.depth, "levels"),
            (fields, "fields", limits.fields, "fields"),
            (weight.aliases, "aliases", limits.aliases, "aliases"),
            (weight.cost, "cost", limits.cost, "fields in the answer, or fields that take much work"),
            (weight.width if is_mutation else 0, "mutations", limits.mutations, "mutations"),
        ):
            if amount > allowed:
                return _excess(limit, allowed, what)
    return None


def _excess(limit: str, allowed: int, what: str) -> QueryTooComplex:
    return QueryTooComplex(
        f"The document asks for more than {allowed} {what}.", extensions={"limit": limit, "allowed": allowed}
    )


def _said_of(table: Mapping[str, int], parent: GraphQLNamedType | None, field: str) -> int | None:
    """Return what a table says of a field: of its type, or else of an interface of it."""
    if parent is None:
        return None
    interfaces = parent.interfaces if is_object_type(parent) else ()
    names = (parent.name, *(interface.name for interface in interfaces))
    return next((table[found] for name in names if (found := f"{name}.{field}") in table), None)


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
        by_type: dict[str, _Weight] = {}
        for node in selections.selections:
            if isinstance(node, FieldNode):
                total = total.beside(self._field(node, parent, level))
                continue
            if isinstance(node, FragmentSpreadNode):
                name = self._condition(self._fragments.get(node.name.value))
                weight = self.spread(node.name.value, level)
            elif isinstance(node, InlineFragmentNode):
                name = self._condition(node)
                inner = self._schema.get_type(name) if name else parent
                weight = self.weigh(node.selection_set, inner, level + 1)
            else:
                continue
            # an object is of one type, so of the selections for several types it answers one
            if is_abstract_type(parent) and name and is_object_type(self._schema.get_type(name)):
                by_type[name] = by_type.get(name, _NOTHING).beside(weight)
            else:
                total = total.beside(weight)
        return total.beside(_Weight.either(by_type.values()))

    @staticmethod
    def _condition(node: FragmentDefinitionNode | InlineFragmentNode | None) -> str | None:
        return node.type_condition.name.value if node is not None and node.type_condition else None

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
        name = node.name.value
        effort = 1 + (_said_of(self._limits.efforts, parent, name) or 0)
        if node.selection_set is None:
            return _Weight(1, 1, 1, aliased, effort)
        if name in {"__schema", "__type"}:  # as deep and long as the schema is, and the same for everyone
            inside = self.weigh(node.selection_set, None, level + 1)
            return _Weight(1, 1, 1 + inside.fields, aliased + inside.aliases, 1 + inside.fields)
        field = parent.fields.get(name) if is_object_type(parent) or is_interface_type(parent) else None
        inner = get_named_type(field.type) if field else None
        inside = self.weigh(node.selection_set, inner, level + 1)
        times = self._length(field, node, parent) if field and parent else 1
        return _Weight(1 + inside.depth, 1, 1 + inside.fields, aliased + inside.aliases, effort + times * inside.cost)

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
