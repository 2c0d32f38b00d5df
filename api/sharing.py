"""One encoding for all who are told the same: of a subscription's results, made once and kept for a moment.

What a result depends on is said twice, so that nothing is shared by being forgotten. The source of a subscription says
what each item is and who is asking. The schema's author names the fields that show the same to everyone, and whoever
selects any other field shares with nobody but himself.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    ListValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_abstract_type,
    is_interface_type,
    is_object_type,
)

__all__ = ["Edition", "Encoding", "Encodings", "Feed", "Offer", "Reach", "reach_of"]

T = TypeVar("T")


Offer = Callable[[str], bool]
"""Hands a subscriber an encoded result at once, if he waits for it and nothing is in the way; says whether it did."""


@dataclass(frozen=True, slots=True)
class Edition(Generic[T]):
    """What many subscribers are told in the same words: whoever hands out items can have them encoded beforehand."""

    key: Hashable
    """Two editions with the same key are the same."""
    text: Callable[[T], Awaitable[str | None]] = field(compare=False)
    """Encodes an item; None where each subscriber must do it for himself."""


@dataclass(frozen=True, slots=True)
class Feed(Generic[T]):
    """The source of a subscription whose items others are told as well.

    To graphql-core it is an ordinary stream of what its root field shows.
    """

    follow: Callable[[Edition[T] | None, Offer | None], AsyncGenerator[Sequence[T], None]]
    """Yields the items: those that are there at once come together.

    While it waits for the next one, it may have it encoded by the edition and offer that instead of yielding the item.
    """
    key: Callable[[T], Hashable]
    """What an item is: where the keys are equal, the items are, whichever subscription they come from."""
    viewer: Hashable
    """Who is asking: to equal viewers everything looks the same. None is for whoever came without a name."""
    show: Callable[[T], object]
    """Makes of an item what the root field shows. It is called only where nobody else has been told the item."""
    context: Callable[[], object]
    """Makes the context in which one item is resolved, so that nothing that was loaded for it outlives it."""

    async def __aiter__(self) -> AsyncGenerator[object, None]:
        """Yield what the root field shows, one by one."""
        async with aclosing(self.follow(None, None)) as batches:
            async for batch in batches:
                for item in batch:
                    yield self.show(item)


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoded result."""

    text: str
    is_shared: bool
    """Whether it is as good for others: one with errors is not, since they tell of one request."""


class Encodings:
    """Encoded results by what they depend on, each made once however many ask for it, and kept for a moment.

    For a moment only, since some of what they show can change without a new key: a player erases the name, say. What
    is kept is bounded in characters, those of the keys included; the oldest goes first. What is over is not told any
    more, and goes with the next that is kept: until then it is within the same bound, and pins nothing but itself.
    """

    def __init__(
        self, *, seconds: float = 2.0, characters: int = 8_000_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds: Final = seconds
        self._most: Final = characters
        self._clock: Final = clock
        self._kept: Final[OrderedDict[Hashable, tuple[str, float]]] = OrderedDict()
        self._waiting: Final[dict[Hashable, list[asyncio.Future[str | None]]]] = {}
        self._characters = 0

    @property
    def characters(self) -> int:
        """How many characters are kept."""
        return self._characters

    def known(self, key: Hashable) -> str | None:
        """Return what is kept under a key."""
        kept = self._kept.get(key)
        return kept[0] if kept is not None and kept[1] > self._clock() else None

    def keep(self, key: Hashable, text: str) -> None:
        """Keep an encoding for those who ask in the next moments."""
        now = self._clock()
        self._drop(key)
        self._kept[key] = text, now + self._seconds
        self._characters += len(text) + _length(key)
        while self._kept:
            oldest, (_, until) = next(iter(self._kept.items()))
            if until > now and self._characters <= self._most:
                return
            self._drop(oldest)

    async def ask(self, key: Hashable, make: Callable[[], Encoding | Awaitable[Encoding]]) -> str:
        """Return what is kept under a key, or have it made; those who ask meanwhile wait for it.

        If it can't be shared, or could not be made, each of them makes it for himself.

        Raises:
            Exception: what ``make`` raised.
        """
        if (known := self.known(key)) is not None:
            return known
        if (waiting := self._waiting.get(key)) is not None:
            # One future each, which costs a third of shielding a common one from those who go away.
            waiter: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
            waiting.append(waiter)
            if (text := await waiter) is not None:
                return text
            made = make()
            return (made if isinstance(made, Encoding) else await made).text
        made = make()
        if isinstance(made, Encoding):
            if made.is_shared:
                self.keep(key, made.text)
            return made.text
        # A task of its own: whoever asked first may go away, and the others must not go with him.
        self._waiting[key] = []
        making = asyncio.ensure_future(made)
        making.add_done_callback(partial(self._made, key))
        return (await asyncio.shield(making)).text

    def _made(self, key: Hashable, making: asyncio.Future[Encoding]) -> None:
        is_good = not making.cancelled() and making.exception() is None and making.result().is_shared
        text = making.result().text if is_good else None
        if text is not None:
            self.keep(key, text)
        for waiter in self._waiting.pop(key):
            if not waiter.done():  # he may have gone away
                waiter.set_result(text)

    def _drop(self, key: Hashable) -> None:
        if (dropped := self._kept.pop(key, None)) is not None:
            self._characters -= len(dropped[0]) + _length(key)


def _length(key: Hashable) -> int:
    """Count the characters and bytes of a key."""
    if isinstance(key, tuple):
        return sum(map(_length, key))
    return len(key) if isinstance(key, str | bytes) else 0


@dataclass(frozen=True, slots=True)
class Reach:
    """What the results of a subscription depend on besides its items."""

    is_public: bool
    """Whether they are the same for every viewer."""
    variables: tuple[str, ...]
    """The variables by which they differ: all but those that only choose the items."""


def reach_of(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, public: Collection[str]
) -> Reach:
    """Say what a subscription in a valid document reaches.

    ``public`` names the fields, as `Type.field`, that show the same to every viewer of the same object. An attribute of
    an object shows the same in any case: nothing is computed for it, and of a public field's objects none is made for a
    viewer. Everything else is taken to depend on who looks.
    """
    walk = _Walk(schema, document, public)
    walk.directives(operation.directives)
    walk.selections(operation.selection_set, schema.get_root_type(operation.operation))
    return Reach(walk.is_public, tuple(sorted(walk.variables)))


class _Walk:
    """One walk over all that an operation selects; a fragment is entered once, wherever it is spread."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, public: Collection[str]) -> None:
        self._schema: Final = schema
        self._public: Final = public
        self._fragments: Final = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._entered: Final[set[str]] = set()
        self.is_public = True
        self.variables: Final[set[str]] = set()

    def selections(self, selections: SelectionSetNode, parent: GraphQLNamedType | None) -> None:
        for node in selections.selections:
            self.directives(node.directives)
            if isinstance(node, FieldNode):
                self._field(node, parent)
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                inner = self._schema.get_type(condition.name.value) if condition else parent
                self.selections(node.selection_set, inner)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in self._entered:
                self._entered.add(node.name.value)
                fragment = self._fragments[node.name.value]
                self.directives(fragment.directives)
                self.selections(fragment.selection_set, self._schema.get_type(fragment.type_condition.name.value))

    def directives(self, directives: Iterable[DirectiveNode] | None) -> None:
        for directive in directives or ():
            for argument in directive.arguments or ():
                self.variables.update(_variables(argument.value))

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None) -> None:
        if parent is not self._schema.subscription_type:  # the root field's arguments choose the items
            for argument in node.arguments or ():
                self.variables.update(_variables(argument.value))
        name = node.name.value
        if name == "__typename":
            return
        field = parent.fields.get(name) if is_object_type(parent) or is_interface_type(parent) else None
        types = self._schema.get_possible_types(parent) if is_abstract_type(parent) else (parent,)
        self.is_public = self.is_public and field is not None and all(self._shows_all_the_same(t, name) for t in types)
        if node.selection_set is not None:
            self.selections(node.selection_set, get_named_type(field.type) if field else None)

    def _shows_all_the_same(self, type_: GraphQLNamedType | None, name: str) -> bool:
        if not isinstance(type_, GraphQLObjectType) or name not in type_.fields:
            return False
        if f"{type_.name}.{name}" in self._public:
            return True
        definition = type_.fields[name].extensions.get("strawberry-definition")
        return (
            type_ is not self._schema.subscription_type
            and definition is not None
            and definition.base_resolver is None
            and not definition.extensions
            and not definition.permission_classes
        )


def _variables(value: ValueNode) -> Iterator[str]:
    if isinstance(value, VariableNode):
        yield value.name.value
    elif isinstance(value, ListValueNode):
        for element in value.values:
            yield from _variables(element)
    elif isinstance(value, ObjectValueNode):
        for field in value.fields:
            yield from _variables(field.value)
