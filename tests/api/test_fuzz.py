"""Every operation, as Schemathesis makes it from the schema: it succeeds where it should, and nothing ever breaks.

Of the documents that may ask for anything, most get ids of what exists in the place of made-up ones. The others get
arguments with which the operation must succeed. The selections are Schemathesis's in all of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
import schemathesis
from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    GraphQLObjectType,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
    StringValueNode,
    Visitor,
    parse,
    parse_value,
    print_ast,
    visit,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from api.schema import schema
from tests.api.company import HANDS, do, known_deck, laid, opened, started_by
from tests.api.finished import id_of_player
from tests.api.poker_evening import ADAS, poker_started
from tests.client import Client
from tests.conftest import cloned, in_memory, started

made = schemathesis.graphql.from_file(schema.as_str())
OPERATIONS = [
    (root, name)
    for root, type_ in (("Query", schema._schema.query_type), ("Mutation", schema._schema.mutation_type))
    for name in (type_.fields if type_ else {})
]

SUCCESSES = {
    "serverInfo": "ServerInfo",
    "viewer": "Viewer",
    "node": "Player",
    "game": "TicitaireGame",
    "games": "GameConnection",
    "replay": "Replay",
    "player": "Player",
    "scoreboard": "ScoreboardView",
    "finishedGames": "FinishedGameConnection",
    "log": "Log",
    "registerPlayer": "PlayerRegistered",
    "issueToken": "TokenIssued",
    "revokeToken": "TokenRevoked",
    "erasePlayer": "PlayerErased",
}
"""The type of an answer that is no refusal, where it is not `CommandAccepted`."""

PLAYER, GAME = "the id of a player", "the id of a game"
"""Stand for them in the arguments below."""

NESTED = {
    "games": {"first": "3", "awaitingMe": "true"},
    "events": {"afterSeq": "1", "first": "2"},
    "position": {"version": "1"},
    "playedRounds": {"after": "0", "first": "2"},
    "positions": {"afterSeq": "1", "first": "2"},
    "words": {"names": "true"},
    "lines": {"first": "2"},
    "statistics": {"kind": "TICKLE"},
    "ratingChanges": {"kind": "TICKLE", "first": "2"},
    "history": {"kind": "POKER", "first": "2", "label": '"cup"'},
    "headToHead": {"opponentId": PLAYER},
    "standing": {"board": "TICKLE_POINTS", "period": "WEEK", "of": '"2030-W18"', "neighbours": "1"},
    "inclusion": {"gameId": GAME, "seq": "1"},
    "consistency": {"old": '"0"'},
}
"""Arguments of fields within the answers with which they succeed."""

STANDING_OF = {"playerId": PLAYER, "neighbours": "1"}
"""Those of `standing` on a scoreboard, which has to be told whose."""

OF_A_HAND = {"laydowns", "checkLaydown"}
"""Fields that fail where there is no hand to look at, as in a position before the deal."""

CODES = {"BAD_USER_INPUT", "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "QUERY_TOO_COMPLEX", "ERRORS_OMITTED"}
CODES |= {"STILL_SEALED", "NOT_FOUND"}
"""The only codes of top-level errors that a known caller's query or mutation may meet."""


@dataclass
class House:
    """A server, who calls it, and games in every state that the mutations need."""

    runner: asyncio.Runner
    ada: Client
    bob: Client
    player: str
    game: Any
    tickle: Any
    """A game in which Ada has a hand."""
    poker: Any
    """One in which she has cards."""
    leaving: Client
    """A player who is to be erased."""
    turned_over: Any = None
    """A game whose stock is empty."""

    def open(self, **options: Any) -> Any:
        return self.runner.run(self.ada.open_ticitaire(**options))["game"]

    def play(self, mutation: str, game: Any, **input: Any) -> Any:
        return self.runner.run(self.ada.play(mutation, game, **input))["game"]

    def table(self, *, guest: bool = True, **options: Any) -> Any:
        """A table of Tickle that Ada has opened; her game as the last to come sees it."""
        return self.runner.run(opened(self.ada, *([self.bob] if guest else []), **options))

    def started(self) -> Any:
        """A game of Tickle in which Ada has the turn, and can lay."""
        return self.runner.run(started_by(self.ada, self.bob, seating="AS_JOINED"))

    def cards(self, **options: Any) -> Any:
        """A game of TIC Poker in which Ada has the turn."""
        return self.runner.run(poker_started(self.ada, self.bob, **options))

    def after(self, game: Any, *steps: tuple[Client, str], **input: Any) -> Any:
        """The game after mutations; the first of them is given the input."""
        for player, mutation in steps:
            game, input = self.runner.run(do(player, mutation, game, **input))["game"], {}
        return game

    def another_token(self) -> Client:
        issued = self.runner.run(self.ada.ask("mutation { issueToken(input: {}) { ... on TokenIssued { token } } }"))
        return replace(self.ada, token=issued["issueToken"]["token"])

    def comer(self) -> str:
        """The id of a new player, who is the next to be erased."""
        self.leaving = self.runner.run(self.ada.register("Eve"))
        return str(self.runner.run(id_of_player(self.leaving)))

    def token_id(self, caller: Client) -> str:
        tokens = self.runner.run(caller.ask("{ viewer { tokens { id current } } }"))["viewer"]["tokens"]
        return next(str(token["id"]) for token in tokens if token["current"])

    def game_with_an_empty_stock(self) -> Any:
        if self.turned_over is None:
            game = self.open(takeBack=True)
            for _ in range(69):
                game = self.play("turnTicitaireStock", game)
        else:  # it may have been recycled meanwhile
            query = "query ($id: ID!) { game(id: $id) { id version legalActions { mutation } } }"
            game = self.runner.run(self.ada.ask(query, id=self.turned_over["id"]))["game"]
            if not any(action["mutation"] == "recycleTicitaireWaste" for action in game["legalActions"]):
                game = self.play("takeBackTicitaireMoves", game)
        self.turned_over = game
        return game


def _input(**fields: Any) -> dict[str, str]:
    """An argument `input` with these fields: JSON is GraphQL but for its keys."""
    return {"input": "{%s}" % ", ".join(f"{name}: {value}" for name, value in fields.items())}  # noqa: UP031


def _upon(game: Any, **fields: str) -> dict[str, str]:
    return _input(gameId=json.dumps(game["id"]), expectedVersion=game["version"], **fields)


def _move(house: House) -> dict[str, str]:
    game = house.open()
    moves = [action for action in game["legalActions"] if action["mutation"] == "moveTicitaireCards"]
    return _upon(game, **{end: moves[0][end] for end in ("from", "to")}) if moves else _move(house)


OPENING = [(0, 0, HANDS[0][2]), (1, 0, HANDS[0][0])]
"""After it the next seat, which is Bob's, can't lay, and the seat of Ada can't when he has declined."""


def _unable(house: House) -> Any:
    """A game in which Ada can't lay."""
    steps = [(house.ada, "layTickleCards"), (house.bob, "drawTickleCard"), (house.bob, "declineTickleLaydown")]
    return house.after(house.started(), *steps, cards=laid(*OPENING))


def _turned_up(house: House) -> Any:
    """A game of TIC Poker in which hands are declared."""
    return house.after(house.cards(), (house.ada, "callPoker"), (house.bob, "keepPokerCards"))


def _cards(cards: list[tuple[int, int, str]]) -> str:
    return "[%s]" % ", ".join(f"{{card: {json.dumps(card)}, x: {x}, y: {y}}}" for x, y, card in cards)  # noqa: UP031


def _of(game: Any) -> dict[str, str]:
    return _input(gameId=json.dumps(game["id"]))


SECRET = "5e" * 32
COMMITTED = hashlib.sha256(bytes.fromhex(SECRET)).hexdigest()

HONEST: Mapping[str, Callable[[House], dict[str, str]]] = {
    "serverInfo": lambda _: {},
    "viewer": lambda _: {},
    "node": lambda house: {"id": json.dumps(house.player)},
    "game": lambda house: {"id": json.dumps(house.game["id"])},
    "games": lambda house: {"first": "3", "filter": f'{{playerId: {json.dumps(house.player)}, label: "cup"}}'},
    "player": lambda house: {"id": json.dumps(house.player)},
    "scoreboard": lambda _: {"board": "POKER_PLACES", "period": "MONTH", "of": '"2030-05"', "label": "null"},
    "finishedGames": lambda house: {"first": "3", "filter": f'{{playerId: {json.dumps(house.player)}, label: "cup"}}'},
    "replay": lambda house: {"gameId": json.dumps(house.tickle["id"]), "as": "SEAT_1"},
    "log": lambda _: {},
    "registerPlayer": lambda _: _input(name='"Grace"'),
    "issueToken": lambda _: _input(scopes="null"),
    "revokeToken": lambda house: _input(tokenId=json.dumps(house.token_id(house.another_token()))),
    "erasePlayer": lambda house: _input(playerId=json.dumps(house.comer())),
    "openTicitaire": lambda _: _input(takeBack="true", timeLimit="60", label='"cup"'),
    "moveTicitaireCards": _move,
    "turnTicitaireStock": lambda house: _upon(house.open()),
    "recycleTicitaireWaste": lambda house: _upon(house.game_with_an_empty_stock()),
    "takeBackTicitaireMoves": lambda house: _upon(house.play("turnTicitaireStock", house.open(takeBack=True))),
    "giveUpTicitaire": lambda house: _of(house.open()),
    "openTickle": lambda _: _input(
        seats=3, deck="HALF", seating="AS_JOINED", private="true", target=100, label='" a  b "'
    ),
    "joinGame": lambda house: _of(house.runner.run(opened(house.bob))),
    "leaveGame": lambda house: _of(house.runner.run(opened(house.bob, house.ada))),
    "startGame": lambda house: _of(house.table()),
    "revealEntropy": lambda house: _input(
        gameId=json.dumps(house.open(entropy="ALLOWED", entropyCommitment=COMMITTED)["id"]), entropy=json.dumps(SECRET)
    ),
    "cancelGame": lambda house: _of(house.table(guest=False)),
    "resignGame": lambda house: _of(house.started()),
    "rematchGame": lambda house: _of(house.after(house.started(), (house.bob, "resignGame"))),
    "layTickleCards": lambda house: _upon(house.started(), cards=_cards(OPENING)),
    "drawTickleCard": lambda house: _upon(_unable(house)),
    "declineTickleLaydown": lambda house: _upon(house.after(_unable(house), (house.ada, "drawTickleCard"))),
    "openPoker": lambda _: _input(
        rounds=2, variation="DRAW", drawStages=2, cardsSpeak="true", turnSeconds=60, label='"cup"'
    ),
    "exchangePokerCards": lambda house: _upon(house.cards(), slots="[2]"),
    "exchangePokerCommunityCard": lambda house: _upon(house.cards(variation="COMMUNITY_EXCHANGE"), slot="1"),
    "keepPokerCards": lambda house: _upon(house.cards()),
    "callPoker": lambda house: _upon(house.cards()),
    "declarePokerHand": lambda house: _upon(_turned_up(house), cards=json.dumps(ADAS), rank="TIC_PAIR"),
}
"""The arguments, as GraphQL writes them, with which each operation succeeds."""


def _arguments(values: Mapping[str, str]) -> tuple[ArgumentNode, ...]:
    return tuple(ArgumentNode(name=NameNode(value=name), value=parse_value(text)) for name, text in values.items())


class _Succeeding(Visitor):
    """Gives the operation, and the fields in its answer that take any, arguments with which they succeed.

    The operation is asked for the type of its answer as well, under the name `outcome`.
    """

    def __init__(self, operation: str, arguments: Mapping[str, str], player: str, game: str) -> None:
        super().__init__()
        self.arguments = {**NESTED, operation: arguments}
        self.ids = {PLAYER: json.dumps(player), GAME: json.dumps(game)}

    def leave_field(self, node: FieldNode, *_: Any) -> FieldNode:
        if node.name.value in OF_A_HAND:
            return FieldNode(alias=node.alias, name=NameNode(value="__typename"))
        known = self.arguments.get(node.name.value)
        if known is None or not node.arguments:  # whatever may be left out has a default that fits
            return node
        if node.name.value == "standing" and any(argument.name.value == "playerId" for argument in node.arguments):
            known = STANDING_OF
        given = {name: self.ids.get(value, value) for name, value in known.items()}
        return FieldNode(
            alias=node.alias, name=node.name, arguments=_arguments(given), selection_set=node.selection_set
        )

    def leave_operation_definition(self, node: OperationDefinitionNode, *_: Any) -> OperationDefinitionNode:
        (root,) = node.selection_set.selections
        assert isinstance(root, FieldNode)
        assert root.selection_set is not None
        selections = SelectionSetNode(selections=(*root.selection_set.selections, _TYPE))
        field = FieldNode(alias=root.alias, name=root.name, arguments=root.arguments, selection_set=selections)
        return OperationDefinitionNode(operation=node.operation, selection_set=SelectionSetNode(selections=(field,)))


_TYPE = FieldNode(alias=NameNode(value="outcome"), name=NameNode(value="__typename"))


class _WithIds(Visitor):
    """Puts ids of what exists in the place of those that were made up."""

    def __init__(self, ids: Mapping[str, str]) -> None:
        super().__init__()
        self.ids = ids

    def _leave(self, node: Any, *_: Any) -> Any:
        known = self.ids.get(node.name.value)
        return type(node)(name=node.name, value=StringValueNode(value=known)) if known else node

    leave_argument = _leave
    leave_object_field = _leave


@pytest.fixture(scope="module")
def house(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[House]:
    with cloned(admin, template, postgres) as url, asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        known_deck(patch)
        stack = AsyncExitStack()
        app = runner.run(stack.enter_async_context(started(url)))
        client = runner.run(stack.enter_async_context(in_memory(app)))
        ada, bob = runner.run(client.register()), runner.run(client.register("Bob"))
        player = runner.run(ada.ask("{ viewer { player { id } } }"))["viewer"]["player"]["id"]
        game = runner.run(ada.open_ticitaire())["game"]
        tickle = runner.run(started_by(ada, bob, seating="AS_JOINED"))
        poker = runner.run(poker_started(ada, bob))
        yield House(runner, ada, bob, player, game, tickle, poker, leaving=bob)
        runner.run(stack.aclose())


def _ask(house: House, name: str, document: DocumentNode) -> Any:
    """Send a document; return the body of the answer, of which is checked what is true of every answer."""
    caller = house.leaving if name == "erasePlayer" else house.ada
    if name == "revokeToken":
        caller = house.another_token()
    answer = house.runner.run(caller.post(print_ast(document)))
    assert answer.status_code in {200, 400}, answer.text
    body = answer.json()
    for error in body.get("errors", []):
        assert error["extensions"]["code"] in CODES, error
        assert error["extensions"]["requestId"] == answer.headers["x-request-id"]
    assert "errors" in body or body["data"] is not None
    return body


# The server's own threads, its pool of connections for one, draw random numbers while Hypothesis makes an example.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning"
)
operations = pytest.mark.parametrize(("root", "name"), OPERATIONS, ids=[name for _, name in OPERATIONS])
few = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # shrinking takes minutes: the games it would play are real
    suppress_health_check=list(HealthCheck),
)


@operations
def test_whatever_is_asked_nothing_breaks(house: House, root: str, name: str) -> None:
    @settings(few, max_examples=24)
    @given(case=made[root][name].as_strategy(), game=st.sampled_from([None, house.game, house.tickle, house.poker]))
    def ask(case: schemathesis.Case[Any], game: Any) -> None:
        assert isinstance(case.body, str)
        ids = {"id": game["id"], "gameId": game["id"], "playerId": house.player} if game else {}
        ids |= {"id": house.player, "opponentId": house.player} if game and name == "player" else {}
        _ask(house, name, visit(parse(case.body), _WithIds(ids)))

    ask()


def test_every_field_of_an_answer_that_takes_arguments_is_given_some_with_which_it_succeeds() -> None:
    types = schema._schema.type_map.values()
    roots = {"Query", "Mutation", "Subscription"}
    taking = {
        name
        for type_ in types
        if isinstance(type_, GraphQLObjectType) and type_.name not in roots and not type_.name.startswith("__")
        for name, field in type_.fields.items()
        if field.args
    }
    assert taking == NESTED.keys() | OF_A_HAND


@operations
def test_with_arguments_that_fit_the_operation_succeeds(house: House, root: str, name: str) -> None:
    outcomes: list[str] = []

    @settings(few, max_examples=8)
    @given(case=made[root][name].as_strategy())
    def ask(case: schemathesis.Case[Any]) -> None:
        assert isinstance(case.body, str)
        fitting = _Succeeding(name, HONEST[name](house), house.player, house.game["id"])
        body = _ask(house, name, visit(parse(case.body), fitting))
        codes = {error["extensions"]["code"] for error in body.get("errors", [])}
        assert codes <= {"QUERY_TOO_COMPLEX"}, body
        if not codes:
            (shown,) = body["data"].values()
            outcomes.append(shown["outcome"])

    ask()
    assert set(outcomes) == {SUCCESSES.get(name, "CommandAccepted")}
