"""The schema as a document: published as it is, described throughout, and with errors of one form."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    get_named_type,
    is_specified_scalar_type,
)

from api.schema import schema
from tests.server import ROOT


@pytest.fixture(scope="module")
def built() -> GraphQLSchema:
    """The schema as a client reads it."""
    return build_schema(schema.as_str())


def own_types(built: GraphQLSchema) -> list[GraphQLNamedType]:
    named = built.type_map.values()
    return [type_ for type_ in named if not type_.name.startswith("__") and not is_specified_scalar_type(type_)]


def described(built: GraphQLSchema) -> Iterator[tuple[str, str | None]]:
    """Everything that can bear a description, by its path, with what it bears."""
    for type_ in own_types(built):
        yield type_.name, type_.description
        if isinstance(type_, GraphQLEnumType):
            continue  # the values of an enumeration are told by its own description
        if isinstance(type_, GraphQLInputObjectType):
            for name, field in type_.fields.items():
                yield f"{type_.name}.{name}", field.description
        if isinstance(type_, (GraphQLObjectType, GraphQLInterfaceType)):
            for name, output in type_.fields.items():
                yield f"{type_.name}.{name}", output.description
                for argument, input in output.args.items():
                    yield f"{type_.name}.{name}({argument})", input.description


def mutations(built: GraphQLSchema) -> dict[str, GraphQLField]:
    assert built.mutation_type is not None
    fields: dict[str, GraphQLField] = built.mutation_type.fields
    return fields


def test_the_published_schema_is_the_schema() -> None:
    published = (ROOT / "schema.graphql").read_text(encoding="utf-8")
    assert published.rstrip("\n") == schema.as_str().rstrip("\n"), "write it: tic schema --output schema.graphql"


def test_everything_has_a_description(built: GraphQLSchema) -> None:
    everything = dict(described(built))
    assert [path for path, description in everything.items() if not (description or "").strip()] == []
    assert len(everything) > 200


def test_descriptions_are_sentences(built: GraphQLSchema) -> None:
    assert [path for path, text in described(built) if text and not re.search(r"[.:?]$", text)] == []


def test_names_are_written_as_graphql_writes_them(built: GraphQLSchema) -> None:
    for path, _ in described(built):
        type_, _, rest = path.partition(".")
        assert re.fullmatch(r"[A-Z][A-Za-z]*", type_), path
        assert all(re.fullmatch(r"[a-z][A-Za-z]*", name) for name in re.split(r"[()]", rest) if name), path


def test_mutations_are_a_verb_and_what_it_is_about(built: GraphQLSchema) -> None:
    verbs = {re.split(r"(?=[A-Z])", name)[0] for name in mutations(built) if re.search(r"[A-Z]", name)}
    assert len(mutations(built)) == len([name for name in mutations(built) if re.search(r"[A-Z]", name)])
    of_accounts = {"register", "issue", "revoke", "erase"}
    of_tables = {"open", "join", "leave", "start", "reveal", "cancel", "resign", "rematch"}
    of_games = {"move", "turn", "recycle", "take", "give", "lay", "draw", "decline"}
    of_games |= {"exchange", "keep", "call", "declare"}
    assert verbs == of_accounts | of_tables | of_games


def test_every_mutation_takes_one_input(built: GraphQLSchema) -> None:
    for name, field in mutations(built).items():
        assert list(field.args) == ["input"], name
        input = field.args["input"].type
        assert isinstance(input, GraphQLNonNull), name
        assert isinstance(input.of_type, GraphQLInputObjectType), name


def test_every_mutation_that_can_be_refused_answers_a_union_of_one_success_and_errors(built: GraphQLSchema) -> None:
    user_error = built.get_type("UserError")
    for name, field in mutations(built).items():
        answer = get_named_type(field.type)
        assert isinstance(answer, GraphQLUnionType), name
        successes = [member for member in answer.types if user_error not in member.interfaces]
        assert len(successes) == 1, name
        assert len(answer.types) > 1, name


def test_every_error_has_a_code_a_message_and_a_path(built: GraphQLSchema) -> None:
    user_error = built.get_type("UserError")
    assert isinstance(user_error, GraphQLInterfaceType)
    assert {name: str(field.type) for name, field in user_error.fields.items()} == {
        "code": "String!",
        "message": "String!",
        "path": "[String!]!",
    }


def test_every_error_is_the_answer_of_some_mutation(built: GraphQLSchema) -> None:
    user_error = built.get_type("UserError")
    assert isinstance(user_error, GraphQLInterfaceType)
    answers = [get_named_type(field.type) for field in mutations(built).values()]
    answered = {member.name for answer in answers if isinstance(answer, GraphQLUnionType) for member in answer.types}
    assert {error.name for error in built.get_possible_types(user_error)} <= answered


def test_pages_are_asked_for_with_first(built: GraphQLSchema) -> None:
    paged = [
        (type_.name, name, set(field.args))
        for type_ in own_types(built)
        if isinstance(type_, (GraphQLObjectType, GraphQLInterfaceType))
        for name, field in type_.fields.items()
        if get_named_type(field.type).name.endswith(("Connection", "Page"))
    ]
    assert len(paged) >= 3
    assert [where for *where, arguments in paged if "first" not in arguments] == []


def test_what_may_not_be_seen_has_a_type_that_says_so(built: GraphQLSchema) -> None:
    slot = built.get_type("CardSlot")
    assert isinstance(slot, GraphQLUnionType)
    assert {member.name for member in slot.types} == {"Card", "HiddenCard"}
