"""Documents: remembered, weighed in linear time, refused with every error they have."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
import strawberry
from graphql import (
    DocumentNode,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    get_introspection_query,
    get_nullable_type,
    is_list_type,
    parse,
)
from graphql.validation.rules import overlapping_fields_can_be_merged
from strawberry.extensions import SchemaExtension

from api.documents import Documents, NotExecuted, Operation, Operations, Parameters
from api.faults import BadRequest, Fault
from api.limits import Limits, weigh
from api.schema import LIMITS as APP_LIMITS
from api.schema import schema as app_schema
from benchmarks import audience
from tests.api import poker_played, tickle_game
from tests.audit.toy import Query, schema

SCHEMA = schema._schema
LIMITS = Limits(repeats=40)


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


REFUSED = [
    pytest.param("{ hello", id="not GraphQL"),
    pytest.param("{ thing { " + "name " * 600 + "} }", id="too much"),
    pytest.param("{ nothing nowhere }", id="not in the schema"),
]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed."""
    texts: list[str] = []

    def counting(text: str, **limits: Any) -> DocumentNode:
        texts.append(text)
        return parse(text, **limits)

    monkeypatch.setattr("api.documents.parse", counting)
    return texts


def test_what_one_has_examined_need_not_be_examined_by_those_who_share_it(parsed: list[str]) -> None:
    documents = Documents(SCHEMA, LIMITS)
    for _ in range(2):
        Operations(schema, LIMITS, documents=documents).find(Parameters("{ __typename }", None, None))
    assert parsed == ["{ __typename }"]


def refuse(documents: Documents, text: str) -> list[str]:
    with pytest.raises(NotExecuted) as refused:
        documents.prepare(text)
    return [error.message for error in refused.value.errors]


@pytest.mark.parametrize("text", REFUSED)
def test_a_document_is_refused_again_without_being_examined_again(parsed: list[str], text: str) -> None:
    documents = Documents(SCHEMA, LIMITS)
    first, *others = [refuse(documents, text) for _ in range(3)]
    assert (others, parsed) == ([first] * 2, [text])


def test_what_was_refused_is_remembered_of_a_few_only(parsed: list[str]) -> None:
    documents = Documents(SCHEMA, Limits(cached_refusals=2))
    for name in ("n0", "n1", "n2", "n2", "n0"):
        refuse(documents, f"{{ {name} }}")
    assert parsed == ["{ n0 }", "{ n1 }", "{ n2 }", "{ n0 }"]
    assert documents.refusals == 2


def test_what_was_refused_is_bounded_by_its_text_and_what_is_said_of_it() -> None:
    documents = Documents(SCHEMA, Limits(cached_refusal_characters=200))
    said = [len(f"{{ n{n} }}") + sum(map(len, refuse(documents, f"{{ n{n} }}"))) for n in range(20)]
    assert documents.refusals == 200 // max(said) > 0


def test_a_document_too_long_to_be_read_is_not_remembered() -> None:
    documents = Documents(SCHEMA, Limits(characters=100))
    refuse(documents, "{ hello } #" + "x" * 100)
    assert documents.refusals == 0


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
        pytest.param(doubling(10), "repeats", id="2^10 fields of one name through fragments"),
        pytest.param(
            "{ thing { "
            + " ".join(f"a{n}: inner {{ ...f }}" for n in range(20))
            + " } } fragment f on Thing { "
            + "name " * 30
            + "}",
            "fields",
            id="six hundred fields through a fragment",
        ),
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


REPEATED = [
    pytest.param("{ thing { " + "name " * 41 + "} }", "name", id="side by side"),
    pytest.param("{ " + "a: hello " * 41 + "}", "a", id="under one alias"),
    pytest.param("{ thing { " + "... { name } " * 41 + "} }", "name", id="in inline fragments"),
    pytest.param("{ thing { " + "... { ... on Thing { name } name } " * 21 + "} }", "name", id="in nested ones"),
    pytest.param("{ " + ("thing { " + "name " * 7 + "} ") * 7 + "}", "name", id="in fields that repeat as well"),
    pytest.param(
        "{ " + ("thing { " + ("inner { " + "name " * 4 + "} ") * 4 + "} ") * 4 + "}", "name", id="at three levels"
    ),
    pytest.param(
        "{ " + "thing { ...f } " * 7 + "} fragment f on Thing { " + "name " * 7 + "}",
        "name",
        id="in a fragment under fields that repeat",
    ),
    pytest.param(
        "{ thing { ...f ...g } } fragment f on Thing { "
        + "name " * 21
        + "} fragment g on Thing { "
        + "name " * 21
        + "}",
        "name",
        id="in several fragments",
    ),
    pytest.param("{ hello } fragment f on Thing { " + "name " * 41 + "}", "name", id="in a fragment nobody uses"),
    pytest.param(
        "{ thing { ...f } } fragment f on Thing { " + "name " * 41 + "} fragment f on Thing { name }",
        "name",
        id="in a fragment whose name is used twice",
    ),
    pytest.param("mutation { " + 'say(word: "x") ' * 41 + "}", "say", id="in a mutation"),
    pytest.param("subscription { " + "forever " * 41 + "}", "forever", id="in a subscription"),
    pytest.param("{ " + "nope { nothing } " * 41 + "}", "nope", id="of a field that is not there"),
]


@pytest.mark.parametrize(("text", "name"), REPEATED)
def test_a_name_that_one_place_selects_too_often_is_refused(text: str, name: str) -> None:
    (fault,) = refusal(text)
    assert (fault.extensions or {})["limit"] == "repeats"
    assert fault.message == f"The document selects `{name}` more than 40 times in one place."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{ thing { " + "...f " * 41 + "} } fragment f on Thing { name }", id="one, again and again"),
        pytest.param(
            "{ thing { "
            + " ".join(f"...f{n}" for n in range(41))
            + "} }"
            + " ".join(f"fragment f{n} on Thing {{ n{n} }}" for n in range(41)),
            id="many",
        ),
        pytest.param("{ thing { " + "...f " * 41 + "} }", id="one that is not there"),
        pytest.param(
            "{ ...f } fragment f on Query { ...g ...g ...g } fragment g on Query { " + "...h " * 14 + "}",
            id="through others",
        ),
    ],
)
def test_a_place_that_spreads_too_many_fragments_is_refused(text: str) -> None:
    (fault,) = refusal(text)
    assert fault.message == "The document spreads fragments more than 40 times in one place."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{ thing { " + "name " * 40 + "} }", id="forty times in one place"),
        pytest.param(
            "{ thing { " + " ".join(f"a{n}: inner {{ ...f ...f }}" for n in range(15)) + "} } "
            "fragment f on Thing { name name }",
            id="a few times in each of many places",
        ),
    ],
)
def test_a_name_may_come_again(text: str) -> None:
    Documents(SCHEMA, LIMITS).prepare(text)


def test_a_document_may_tell_every_kind_of_fact_apart() -> None:
    fact = app_schema._schema.get_type("Fact")
    assert isinstance(fact, GraphQLInterfaceType)
    kinds = app_schema._schema.get_possible_types(fact)
    told = {kind.name: " ".join(name for name in ("type", "seat") if name in kind.fields) for kind in kinds}
    fragments = "".join(f"fragment {name} on {name} {{ {fields} }} " for name, fields in told.items())
    text = f'{{ game(id: "x") {{ events {{ nodes {{ fact {{ {" ".join(f"...{name}" for name in told)} }} }} }} }} }}'
    Documents(app_schema._schema, APP_LIMITS).prepare(text + fragments)
    assert len(kinds) > 30


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the fields that validation compares with each other, which no budget of ours bounds."""
    compared: list[str] = []
    compare = overlapping_fields_can_be_merged.find_conflict

    def counting(context: Any, rule: Any, exclusive: bool, name: str, *fields: Any) -> Any:
        compared.append(name)
        return compare(context, rule, exclusive, name, *fields)

    monkeypatch.setattr(overlapping_fields_can_be_merged, "find_conflict", counting)
    return compared


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(param.values[0], id=f"too often, {param.id}") for param in REPEATED),
        pytest.param("{ " + "thing { name } " * 240 + "}", id="240 times, 480 fields"),
        pytest.param("{ " + "thing { ...f } " * 240 + "} fragment f on Thing { name }", id="240 times, a fragment"),
        pytest.param(
            "{ " + " ".join(f"n{n} {{ name }} " * 40 for n in range(6)) + "}", id="six names, each 40 times, 480 fields"
        ),
        pytest.param(
            "{ " + "thing { inner { name } parts { name } } " * 40 + "}", id="40 times in two levels, 200 fields"
        ),
    ],
)
def test_validation_compares_a_bounded_number_of_fields(comparisons: list[str], text: str) -> None:
    with suppress(NotExecuted):
        Documents(SCHEMA, LIMITS).prepare(text)
    assert len(comparisons) <= LIMITS.fields * LIMITS.repeats / 2


def test_fields_are_still_compared(comparisons: list[str]) -> None:
    faults = refusal('{ a: hello a: hello(name: "x") }')
    assert (comparisons, [fault.code for fault in faults]) == (["a"], ["GRAPHQL_VALIDATION_FAILED"])


# --- subscriptions, which are weighed once and pay at every event ---

FOLLOWED = 'subscription {{ gameChanged(gameId: "x") {{ {} }} }}'
ASKED = '{{ game(id: "x") {{ {} }} }}'
COSTLY = [
    pytest.param("position(version: 1) { id }", id="position"),
    pytest.param("... on TicitaireGame { prospect }", id="prospect"),
    pytest.param("... on TickleGame { laydowns(first: 1) { nodes { points } } }", id="laydowns"),
    pytest.param(
        "... on PokerGame { playedRounds(first: 64) { seats { best { cards { name } } } } }", id="many rounds"
    ),
    pytest.param(" ".join(f"p{n}: events(first: 100) {{ nodes {{ hash }} }}" for n in range(20)), id="2,000 events"),
]


def app_excess(text: str) -> Fault | None:
    return weigh(app_schema._schema, parse(text), APP_LIMITS)


@pytest.mark.parametrize("fields", COSTLY)
def test_what_takes_much_work_is_not_done_at_every_event(fields: str) -> None:
    fault = app_excess(FOLLOWED.format(fields))
    assert fault is not None
    assert (fault.extensions or {})["limit"] == "subscriptionCost"
    assert fault.message.endswith("Follow `gameEvents`, which tells what happened, and ask for the rest by a query.")


@pytest.mark.parametrize("fields", COSTLY)
def test_what_takes_much_work_is_had_by_a_query(fields: str) -> None:
    assert app_excess(ASKED.format(fields)) is None


def test_a_document_that_stays_in_memory_is_short() -> None:
    fields = "... @skip(if: false) { version } " * 40 + "... @skip(if: false) { hash } " * 40
    assert app_excess(ASKED.format(fields)) is None
    fault = app_excess(FOLLOWED.format(fields))
    assert fault is not None
    assert fault.message == "The document has more than 600 tokens, too many to follow."


def test_a_subscription_has_fewer_fields_than_a_query() -> None:
    fields = "host { id uuid name registeredAt } " * 40
    assert app_excess(ASKED.format(fields)) is None
    fault = app_excess(FOLLOWED.format(fields))
    assert fault is not None
    assert fault.message == "The document asks for more than 200 fields in a subscription."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(tickle_game.CHANGES, id="a game of Tickle"),
        pytest.param(poker_played.CHANGES, id="a game of TIC Poker"),
        pytest.param(tickle_game.EVENTS, id="its events"),
        pytest.param(audience.QUERY, id="the benchmark's"),
    ],
)
def test_a_whole_game_can_be_followed(text: str) -> None:
    assert app_excess(text) is None


def find(query: str, **variables: Any) -> Operation:
    return Operations(schema, LIMITS).find(Parameters(query, variables, None))


def test_an_operation_keeps_the_variables_that_it_declares_and_no_others() -> None:
    found = find("query ($name: String!) { hello(name: $name) }", name="x", rubbish="y" * 100_000)
    assert found.variables == {"name": "x"}


def test_each_operation_of_a_document_keeps_its_own_variables() -> None:
    both = "query a($a: String) { hello(name: $a) } query b($b: String) { hello(name: $b) }"
    found = Operations(schema, LIMITS).find(Parameters(both, {"a": "1", "b": "2"}, "b"))
    assert found.variables == {"b": "2"}


def test_a_subscription_keeps_no_long_variables() -> None:
    with pytest.raises(NotExecuted, match="The variables of a subscription may take 4000 characters as JSON"):
        find("subscription ($how: String!) { breaking(how: $how) }", how="x" * 4_000)


def test_what_a_subscription_does_not_declare_does_not_count() -> None:
    found = find("subscription ($how: String!) { breaking(how: $how) }", how="x" * 3_000, rubbish="y" * 100_000)
    assert len(found.variables["how"]) == 3_000


def test_a_query_takes_long_variables() -> None:
    assert find("query ($name: String!) { hello(name: $name) }", name="x" * 100_000).kind.value == "query"


# --- the rest ---


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
