"""Documents: remembered, weighed in linear time, refused with every error they have."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import strawberry
from graphql import (
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    get_introspection_query,
    get_nullable_type,
    is_list_type,
    parse,
)
from strawberry.extensions import SchemaExtension

from api.documents import Documents, NotExecuted, Operations, Parameters
from api.faults import BadRequest, Fault
from api.limits import Limits, weigh
from api.schema import LIMITS as APP_LIMITS
from api.schema import schema as app_schema
from tests.audit.toy import Query, schema

SCHEMA = schema._schema
LIMITS = Limits()


def refusal(text: str, limits: Limits = LIMITS) -> list[Fault]:
    with pytest.raises(NotExecuted) as refused:
        Documents(SCHEMA, limits).prepare(text)
    return [error for error in refused.value.errors if isinstance(error, Fault)]


def exceeded(text: str, limits: Limits = LIMITS) -> str | None:
    fault = weigh(SCHEMA, parse(text), limits)
    return None if fault is None else str((fault.extensions or {})["limit"])


UNION = build_schema("""
type Query { pets: [Pet!]! }
union Pet = Cat | Dog
type Cat { lives: [Int!]! name: String }
type Dog { name: String bark: String }
""")


def cost(schema: GraphQLSchema, text: str, **limits: Any) -> int:
    """The least cost that a document is let through at."""
    document = parse(text)
    return next(n for n in range(10_000) if weigh(schema, document, Limits(cost=n, **limits)) is None)


def test_of_selections_for_several_types_the_dearest_counts() -> None:
    cat, dog = "... on Cat { name lives }", "... on Dog { name }"
    both = cost(UNION, f"{{ pets {{ __typename {cat} {dog} }} }}")
    assert both == cost(UNION, f"{{ pets {{ __typename {cat} }} }}")


def test_selections_for_one_type_add_up_however_they_are_written() -> None:
    split = "{ pets { ... on Dog { name } ...dog } } fragment dog on Dog { bark }"
    assert cost(UNION, split) == cost(UNION, "{ pets { ... on Dog { name bark } } }")


def test_a_list_weighs_what_it_usually_holds() -> None:
    text = "{ pets { __typename } }"
    assert cost(UNION, text, usual_lengths={"Query.pets": 3}) == 4 < cost(UNION, text)


KINDS = build_schema("""
type Query { game: Game! chess: Chess! cards: Cards! }
interface Game { id: ID! moves: [Move!]! earlier: Game }
type Move { name: String }
type Chess implements Game { id: ID! moves: [Move!]! earlier: Game board: String }
type Cards implements Game { id: ID! moves: [Move!]! earlier: Game }
""")


@pytest.mark.parametrize("field", ["game", "chess", "cards"])
def test_what_a_field_of_an_interface_takes_holds_for_its_types(field: str) -> None:
    text = f"{{ {field} {{ earlier {{ id }} }} }}"
    assert cost(KINDS, text, efforts={"Game.earlier": 50}) == cost(KINDS, text) + 50


@pytest.mark.parametrize("field", ["game", "chess", "cards"])
def test_what_a_list_of_an_interface_holds_holds_for_its_types(field: str) -> None:
    text = f"{{ {field} {{ moves {{ name }} }} }}"
    assert cost(KINDS, text, usual_lengths={"Game.moves": 3}) == 1 + 1 + 3 < cost(KINDS, text)


@pytest.mark.parametrize("own", [7, 90, 0], ids=["less", "more", "nothing"])
def test_what_a_field_of_a_type_takes_counts_before_its_interface_s(own: int) -> None:
    efforts = {"Game.earlier": 50, "Chess.earlier": own}
    found = {
        field: cost(KINDS, f"{{ {field} {{ earlier {{ id }} }} }}", efforts=efforts) - 3
        for field in ("game", "chess", "cards")
    }
    assert found == {"game": 50, "chess": own, "cards": 50}


def test_what_a_list_of_a_type_holds_counts_before_its_interface_s() -> None:
    lengths = {"Game.moves": 3, "Chess.moves": 40}
    found = {
        field: cost(KINDS, f"{{ {field} {{ moves {{ name }} }} }}", usual_lengths=lengths) - 2
        for field in ("game", "chess", "cards")
    }
    assert found == {"game": 3, "chess": 40, "cards": 3}


def test_a_field_of_the_same_name_in_another_type_takes_nothing_more() -> None:
    text = "{ chess { board } }"
    assert cost(KINDS, text, efforts={"Cards.board": 50, "Query.board": 50}) == cost(KINDS, text)


@pytest.mark.parametrize("of", ["Game", "TicitaireGame", "TickleGame"])
def test_replaying_a_game_takes_as_much_whatever_it_is_called(of: str) -> None:
    positions = " ".join(f"p{n}: position(version: {n}) {{ id }}" for n in range(1, 30))
    for fields, allowed in ((positions, False), ("position(version: 1) { id }", True), ("rematch { id }", True)):
        text = f'{{ game(id: "x") {{ ... on {of} {{ {fields} }} }} }}'
        assert (weigh(app_schema._schema, parse(text), APP_LIMITS) is None) is allowed


@pytest.mark.parametrize("of", ["Game", "TicitaireGame", "TickleGame"])
def test_asking_for_a_rematch_takes_as_much_whatever_it_is_called(of: str) -> None:
    text = f'{{ game(id: "x") {{ ... on {of} {{ rematch {{ id }} }} }} }}'
    plain = text.replace("rematch { id }", "host { id }")
    limits = {"usual_lengths": APP_LIMITS.usual_lengths, "efforts": APP_LIMITS.efforts}
    assert cost(app_schema._schema, text, **limits) == cost(app_schema._schema, plain, **limits) + 50


@pytest.mark.parametrize("name", APP_LIMITS.efforts)
def test_every_effort_is_of_a_field_that_the_schema_has(name: str) -> None:
    type_name, field_name = name.split(".")
    parent = app_schema._schema.get_type(type_name)
    assert isinstance(parent, GraphQLObjectType | GraphQLInterfaceType)
    assert field_name in parent.fields


@pytest.mark.parametrize("name", APP_LIMITS.usual_lengths)
def test_every_usual_length_is_of_a_list_that_the_schema_has(name: str) -> None:
    type_name, field_name = name.split(".")
    parent = app_schema._schema.get_type(type_name)
    assert isinstance(parent, GraphQLObjectType | GraphQLInterfaceType)
    assert is_list_type(get_nullable_type(parent.fields[field_name].type))


def doubling(generations: int, spread: str = "...f{0} ...f{0}") -> str:
    """A document that is short and would expand to 2^generations fields."""
    fragments = [f"fragment f{n} on Thing {{ {spread.format(n + 1)} }}" for n in range(generations)]
    return f"{{ thing {{ ...f0 }} }} {' '.join(fragments)} fragment f{generations} on Thing {{ name }}"


def test_a_document_is_prepared_once() -> None:
    documents = Documents(SCHEMA, LIMITS)
    assert documents.prepare("{ hello }") is documents.prepare("{ hello }")


def test_a_syntax_error_is_told_every_time() -> None:
    documents = Documents(SCHEMA, LIMITS)
    codes = []
    for _ in range(2):
        with pytest.raises(NotExecuted) as refused:
            documents.prepare("{ hello")
        codes += [(error.extensions or {})["code"] for error in refused.value.errors]
    assert codes == ["GRAPHQL_PARSE_FAILED"] * 2


def test_every_validation_error_is_told_where_it_is() -> None:
    faults = refusal("{ hello nothing nowhere }")
    assert [fault.code for fault in faults] == ["GRAPHQL_VALIDATION_FAILED"] * 2
    assert [fault.locations[0].column for fault in faults if fault.locations] == [9, 17]


def test_a_refused_document_pushes_nothing_out() -> None:
    documents = Documents(SCHEMA, Limits(cached_documents=1))
    kept = documents.prepare("{ hello }")
    with pytest.raises(NotExecuted):
        documents.prepare("{ nothing }")
    assert documents.prepare("{ hello }") is kept


def test_the_document_used_least_recently_is_forgotten_first() -> None:
    documents = Documents(SCHEMA, Limits(cached_documents=2))
    first, second = documents.prepare("{ a: hello }"), documents.prepare("{ b: hello }")
    documents.prepare("{ a: hello }")
    documents.prepare("{ c: hello }")
    assert documents.prepare("{ a: hello }") is first
    assert documents.prepare("{ b: hello }") is not second


def test_the_cache_is_bounded_in_characters() -> None:
    documents = Documents(SCHEMA, Limits(cached_characters=40))
    for name in "abcdefgh":
        documents.prepare(f"{{ {name}: hello }}")  # 12 characters each
    assert len(documents) == 3


def test_a_document_larger_than_the_cache_is_not_kept() -> None:
    documents = Documents(SCHEMA, Limits(cached_characters=5))
    documents.prepare("{ hello }")
    assert len(documents) == 0


def test_threads_share_the_cache() -> None:
    documents = Documents(SCHEMA, Limits(cached_documents=8))
    texts = [f"{{ a{n % 16}: hello }}" for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        prepared = list(pool.map(documents.prepare, texts))
    assert [str(p.document.loc and p.document.loc.source.body) for p in prepared] == texts
    assert len(documents) == 8


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param("{ thing {" + " inner {" * 12 + " name }" + " }" * 13, "depth", id="fourteen levels"),
        pytest.param("{ thing { " + "name " * 600 + "} }", "fields", id="six hundred fields"),
        pytest.param("{ " + " ".join(f"a{n}: hello" for n in range(31)) + " }", "aliases", id="31 aliases"),
        pytest.param("mutation { " + 'say(word: "x") ' * 11 + "}", "mutations", id="eleven mutations"),
        pytest.param(
            "{ thing { parts { parts { parts { parts { name } } } } } }", "cost", id="lists in lists: 160,000 fields"
        ),
        pytest.param(
            "{ thing { things(first: 9000) { edges { node { name } } } } }", "cost", id="a page of 9,000 objects"
        ),
        pytest.param(
            "query q($n: Int!) { thing { things(first: $n) { edges { node { things(first: $n) { edges { node { name }"
            " } } } } } } }",
            "cost",
            id="pages in pages whose size is left to a variable",
        ),
        pytest.param(doubling(10), "fields", id="2^10 fields through fragments"),
        pytest.param(doubling(12, "inner {{ ...f{0} }}"), "depth", id="fourteen levels through fragments"),
        pytest.param(
            "{ thing { ... on Thing { ... { " + "name " * 600 + "} } } }",
            "fields",
            id="six hundred in inline fragments",
        ),
        pytest.param("{ thing " + "{ ... " * 70 + "{ name }" + " }" * 71, "depth", id="inline fragments, 70 deep"),
        pytest.param(
            "{ hello } fragment unused on Thing { " + "name " * 600 + "}", "fields", id="too much in an unused fragment"
        ),
        pytest.param(
            "mutation { ...f ...f ...f } fragment f on Mutation { " + 'say(word: "x") ' * 4 + "}",
            "mutations",
            id="twelve mutations through a fragment",
        ),
    ],
)
def test_a_document_that_asks_for_too_much_is_refused(text: str, limit: str) -> None:
    assert exceeded(text) == limit


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{ thing {" + " inner {" * 10 + " name }" + " }" * 11, id="twelve levels"),
        pytest.param("{ " + " ".join(f"a{n}: hello" for n in range(30)) + " }", id="thirty aliases"),
        pytest.param("mutation { " + 'say(word: "x") ' * 10 + "}", id="ten mutations"),
        pytest.param("{ " + "hello " * 11 + "}", id="eleven fields at the root of a query"),
        pytest.param(
            "query q($n: Int!) { thing { things(first: $n) { edges { node { name parts { name } } } } } }",
            id="one page of a size left to a variable, each with a list",
        ),
        pytest.param("{ thing { things(first: 1) { edges { node { things { edges { node { name }}}}}}}}", id="pages"),
        pytest.param(get_introspection_query(input_value_deprecation=True), id="introspection as GraphiQL does it"),
    ],
)
def test_a_document_within_the_limits_is_prepared(text: str) -> None:
    Documents(SCHEMA, LIMITS).prepare(text)


def test_the_size_of_a_page_given_in_the_document_counts() -> None:
    page = "{{ thing {{ things(first: {}) {{ edges {{ node {{ name }} }} }} }} }}"
    limits = Limits(cost=100)
    assert exceeded(page.format(30), limits) is None
    assert exceeded(page.format(40), limits) == "cost"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(doubling(60), id="each fragment spreads the next twice, 60 deep"),
        pytest.param(doubling(20, "inner {{ ...f{0} }} inner {{ ...f{0} }}"), id="each fragment nests the next twice"),
        pytest.param(
            doubling(20, "a: inner {{ ...f{0} }} b: inner {{ ...f{0} }}"), id="each nests the next under two aliases"
        ),
        pytest.param(
            "{ thing { ...a } } fragment a on Thing { ...b ...b } fragment b on Thing { ...a ...a }", id="cycle"
        ),
        pytest.param("{ " * 190 + "a" + " }" * 190, id="braces, 190 deep"),
        pytest.param("{ thing { " + " ".join(f"...f{n}" for n in range(900)) + " } }", id="900 unknown fragments"),
        pytest.param("{ " + " ".join(f"no{n}" for n in range(1900)) + " }", id="1,900 unknown fields"),
        pytest.param("#" * 200_000 + "\n{ hello }", id="a comment of 200,000 characters"),
        pytest.param("{ hello(name: " + "[" * 190 + "]" * 190 + ") }", id="lists in lists"),
    ],
)
def test_a_document_made_to_hurt_is_refused_at_once(text: str) -> None:
    before = time.process_time()
    assert refusal(text)
    assert time.process_time() - before < 0.5, "an honest one takes some milliseconds"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("type Thing { name: String }", id="a definition of a type"),
        pytest.param("fragment f on Thing { name }", id="a fragment alone"),
        pytest.param(
            "{ __schema { types { " + "fields { type { " * 4 + "name" + " } }" * 4 + " } } }",
            id="introspection in circles",
        ),
    ],
)
def test_a_document_that_is_no_use_is_invalid(text: str) -> None:
    assert {fault.code for fault in refusal(text)} == {"GRAPHQL_VALIDATION_FAILED"}


def test_at_most_so_many_validation_errors_are_looked_for() -> None:
    assert len(refusal("{ " + " ".join(f"no{n}" for n in range(100)) + " }", Limits(errors=7))) == 7


def test_a_one_of_input_with_a_variable_in_a_leading_fragment_is_refused() -> None:
    @strawberry.input(one_of=True)
    class Choice:
        this: strawberry.Maybe[int]
        that: strawberry.Maybe[int]

    @strawberry.type
    class Chooser:
        @strawberry.field
        async def choose(self, choice: Choice) -> int:
            return 1

    documents = Documents(strawberry.Schema(Chooser)._schema, LIMITS)
    with pytest.raises(NotExecuted):
        documents.prepare("fragment f on Chooser { choose(choice: { this: $n }) } query q($n: Int!) { ...f }")


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        ([], "must be a JSON object"),
        ({}, "`query`"),
        ({"query": ""}, "`query`"),
        ({"query": 1}, "`query`"),
        ({"query": "{a}", "variables": []}, "`variables`"),
        ({"query": "{a}", "operationName": 1}, "`operationName`"),
        ({"query": "{a}", "extensions": "x"}, "`extensions`"),
    ],
)
def test_parameters_of_the_wrong_type_are_refused(sent: object, complaint: str) -> None:
    with pytest.raises(BadRequest, match=complaint):
        Parameters.read(sent)


def test_the_operation_is_found_by_its_name() -> None:
    operations = Operations(schema, LIMITS)
    found = operations.find(Parameters('query a { hello } mutation b { say(word: "x") }', None, "b"))
    assert found.kind.value == "mutation"


@pytest.mark.parametrize("name", [None, "c"])
def test_an_operation_that_is_not_named_well_is_refused(name: str | None) -> None:
    operations = Operations(schema, LIMITS)
    with pytest.raises(BadRequest, match="operationName"):
        operations.find(Parameters("query a { hello } query b { hello }", None, name))


def test_a_schema_whose_extensions_would_be_ignored_is_refused() -> None:
    with pytest.raises(ValueError, match="extensions"):
        Operations(strawberry.Schema(Query, extensions=[SchemaExtension]), LIMITS)
