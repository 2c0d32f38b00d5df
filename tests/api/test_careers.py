"""What players have come to, over HTTP: statistics, ratings, finished games, and how two of them stand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio
from graphql import GraphQLObjectType

from api.schema import KINDS, schema
from domain.counting import Keeps
from domain.games import DECIDERS, RULESETS
from domain.results import result_of
from projections.players import PlayerQueries
from tests.api.company import id_of
from tests.api.finished import ADA, BOB, CYD, DEE, LABEL, PEOPLE, game_id, played
from tests.client import Client
from tests.projections.finished import recorded

pytestmark = pytest.mark.asyncio(loop_scope="module")

HISTORY = """
query ($id: ID!, $first: Int = 20, $after: String, $kind: GameKind, $label: String, $opponent: ID) {
  player(id: $id) {
  history(first: $first, after: $after, kind: $kind, label: $label, opponentId: $opponent) {
    nodes {
      game { id label seats { player { displayName } } } seat place points resigned ratingChange { change rating }
    }
    edges { cursor node { game { id } } }
    pageInfo { hasNextPage endCursor }
  } }
}
"""
CHANGES = """
query ($id: ID!, $kind: GameKind!, $first: Int = 20, $after: String) { player(id: $id) {
  ratings { kind rating mu sigma games gameId }
  ratingChanges(kind: $kind, first: $first, after: $after) {
    nodes { gameId kind place change ratingBefore rating muBefore sigmaBefore mu sigma }
    edges { cursor node { gameId } }
    pageInfo { hasNextPage endCursor }
  }
} }
"""
MEETINGS = """
query ($id: ID!, $opponent: ID!) { player(id: $id) {
  headToHead(opponentId: $opponent) { kind games ahead behind level }
} }
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def client(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    async with played(admin, template, postgres) as client:
        yield client


async def player(client: Client, uuid: UUID, query: str, **variables: Any) -> Any:
    return (await client.ask(query, id=id_of("player", uuid), **variables))["player"]


async def told(client: Client, uuid: UUID, fields: str) -> Any:
    return await player(client, uuid, f"query ($id: ID!) {{ player(id: $id) {{ {fields} }} }}")


async def refused(client: Client, uuid: UUID, query: str, **variables: Any) -> tuple[str, str]:
    error = await client.error(query, id=id_of("player", uuid), **variables)
    return error["extensions"]["code"], error["message"]


def every_number(kind: str) -> str:
    """The fields of a kind's statistics."""
    (type_,) = (type_ for type_ in KINDS[kind].types if type_.__name__.endswith("Statistics"))
    shown = schema._schema.type_map[type_.__name__]
    assert isinstance(shown, GraphQLObjectType)
    fields = " ".join("places { firsts seconds thirds }" if name == "places" else name for name in shown.fields)
    return f"statistics(kind: {kind.upper()}) {{ ... on {type_.__name__} {{ {fields} }} }}"


# --- who it is ---


async def test_a_player_is_called_by_the_name(client: Client) -> None:
    assert await told(client, ADA, "uuid name displayName") == {"uuid": str(ADA), "name": "Ada", "displayName": "Ada"}


async def test_an_erased_player_is_called_by_a_pseudonym_that_stays(client: Client) -> None:
    assert await told(client, DEE, "name displayName registeredAt") == {
        "name": None,
        "displayName": "Erased player dee000",
        "registeredAt": None,
    }


async def test_the_same_pseudonym_is_shown_wherever_the_player_is(client: Client) -> None:
    seats = (await client.game(game_id(3), "seats { player { displayName } }"))["seats"]
    assert [seat["player"]["displayName"] for seat in seats] == ["Ada", "Bob", "Cyd", "Erased player dee000"]


@pytest.mark.parametrize("id", ["", "x", "ä", game_id(0), id_of("player", "x"), id_of("player", UUID(int=77))])
async def test_a_player_who_does_not_exist_is_not_found(client: Client, id: str) -> None:
    answer = (await client.post("query ($id: ID!) { player(id: $id) { displayName } }", id=id)).json()
    assert answer["data"] == {"player": None}
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["NOT_FOUND"]


# --- statistics ---


@pytest.mark.parametrize("kind", sorted(RULESETS))
async def test_every_counter_is_shown_under_its_name(kind: str) -> None:
    (type_,) = (type_ for type_ in KINDS[kind].types if type_.__name__.endswith("Statistics"))
    counted = {
        name
        for (counted_of, _), decider in DECIDERS.items()
        if counted_of == kind
        for counter in decider.counters
        for name in ([counter.name, f"{counter.name}_now"] if counter.keeps is Keeps.IN_A_ROW else [counter.name])
    }
    shown = set(type_.__annotations__) | {"games", "wins"}
    assert shown == {"seconds" if name == "time" else name for name in counted}


async def test_what_is_counted_of_two_games_is_added_up(client: Client) -> None:
    shown = (await told(client, BOB, every_number("tickle")))["statistics"]
    games = [result_of(recorded(name)) for name in ("tickle-timed-out", "tickle-target-as-joined", "tickle-timed-out")]
    counts = [game.seats[1].counts for game in games]
    assert (shown["games"], shown["wins"], shown["points"]) == (3, 1, -10 + 21 - 10)
    assert shown["bestLaydown"] == max(count["best_laydown"] for count in counts if "best_laydown" in count)
    for name, counter in {"laydowns": "laydowns", "cardsLaid": "cards_laid", "timeOuts": "time_outs"}.items():
        assert shown[name] == sum(count[counter] for count in counts)


async def test_places_are_counted_as_medals(client: Client) -> None:
    shown = (await told(client, ADA, every_number("poker")))["statistics"]
    assert (shown["games"], shown["places"]) == (2, {"firsts": 1, "seconds": 1, "thirds": 0})


async def test_the_best_of_ticitaire_is_told_of_games_that_were_won(client: Client) -> None:
    shown = (await told(client, ADA, every_number("ticitaire")))["statistics"]
    fewest = min(result_of(recorded(name)).seats[0].counts["moves"] for name in ("won", "won-strict-duo"))
    assert {name: shown[name] for name in ("games", "wins", "streak", "streakNow", "givenUp", "moves", "seconds")} == {
        "games": 3,
        "wins": 2,
        "streak": 1,
        "streakNow": 1,
        "givenUp": 1,
        "moves": fewest,
        "seconds": 5.276,
    }


async def test_where_nothing_was_counted_sums_are_nought_and_best_ones_are_null(client: Client) -> None:
    shown = (await told(client, DEE, every_number("ticitaire")))["statistics"]
    assert shown.pop("kind") == "TICITAIRE"
    assert (shown.pop("moves"), shown.pop("seconds")) == (None, None)
    assert set(shown.values()) == {0}
    assert (await told(client, DEE, every_number("poker")))["statistics"]["places"] == {
        "firsts": 0,
        "seconds": 0,
        "thirds": 0,
    }


async def test_the_statistics_of_a_page_of_players_are_read_at_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    read = PlayerQueries.of_players

    def noted(queries: PlayerQueries, players: Any) -> Any:
        asked.append(len(players))
        return read(queries, players)

    monkeypatch.setattr(PlayerQueries, "of_players", noted)
    query = "{ scoreboard(board: TICKLE_POINTS) { lines { nodes { player { statistics(kind: TICKLE) { games } } } } } }"
    nodes = (await client.ask(query))["scoreboard"]["lines"]["nodes"]
    assert [node["player"]["statistics"]["games"] for node in nodes] == [1, 3, 3, 3]
    assert asked == [4]


# --- ratings ---


async def test_a_rating_is_what_the_changes_led_to(client: Client) -> None:
    shown = await player(client, BOB, CHANGES, kind="TICKLE")
    (rating,) = [rating for rating in shown["ratings"] if rating["kind"] == "TICKLE"]
    changes = shown["ratingChanges"]["nodes"]
    assert [change["gameId"] for change in changes] == [game_id(6), game_id(3), game_id(0)]
    assert [change["place"] for change in changes] == [2, 1, 2]
    assert rating["gameId"] == changes[0]["gameId"]
    assert rating["games"] == len(changes)
    assert {name: rating[name] for name in ("rating", "mu", "sigma")} == {
        name: changes[0][name] for name in ("rating", "mu", "sigma")
    }


async def test_changes_lead_from_one_to_the_next_from_a_newcomer_on(client: Client) -> None:
    changes = (await player(client, BOB, CHANGES, kind="TICKLE"))["ratingChanges"]["nodes"]
    before = [(change["muBefore"], change["sigmaBefore"], change["ratingBefore"]) for change in changes]
    after = [(change["mu"], change["sigma"], change["rating"]) for change in changes]
    assert before == [*after[1:], (25.0, 25 / 3, 1000)]
    assert [change["change"] for change in changes] == [change["rating"] - change["ratingBefore"] for change in changes]


async def test_a_game_changes_the_ratings_of_all_who_played_it(client: Client) -> None:
    changed = [
        uuid
        for uuid in PEOPLE
        for change in (await player(client, uuid, CHANGES, kind="TICKLE"))["ratingChanges"]["nodes"]
        if change["gameId"] == game_id(3)
    ]
    assert changed == list(PEOPLE)


async def test_who_played_no_game_for_several_has_no_rating(client: Client) -> None:
    assert [rating["kind"] for rating in (await told(client, DEE, "ratings { kind }"))["ratings"]] == ["TICKLE"]
    assert (await player(client, ADA, CHANGES, kind="TICITAIRE"))["ratingChanges"]["nodes"] == []


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_the_pages_of_changes_tell_each_once(client: Client, size: int) -> None:
    whole = (await player(client, CYD, CHANGES, kind="TICKLE"))["ratingChanges"]["nodes"]
    nodes, after, more = [], None, True
    while more:
        page = (await player(client, CYD, CHANGES, kind="TICKLE", first=size, after=after))["ratingChanges"]
        nodes += page["nodes"]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert len(whole) == 3
    assert nodes == whole


# --- finished games ---


async def test_the_history_tells_the_newest_game_first_with_what_became_of_the_player(client: Client) -> None:
    nodes = (await player(client, BOB, HISTORY))["history"]["nodes"]
    assert [(node["game"]["id"], node["seat"], node["place"], node["points"], node["resigned"]) for node in nodes] == [
        (game_id(7), 2, 1, 4, False),
        (game_id(6), 2, 2, -10, True),
        (game_id(3), 2, 1, 21, False),
        (game_id(1), 2, 1, 6, False),
        (game_id(0), 2, 2, -10, True),
    ]
    assert [seat["player"]["displayName"] for seat in nodes[2]["game"]["seats"]] == [
        "Ada",
        "Bob",
        "Cyd",
        "Erased player dee000",
    ]


async def test_the_history_tells_what_a_game_made_of_the_rating(client: Client) -> None:
    nodes = (await player(client, ADA, HISTORY))["history"]["nodes"]
    changes = {
        change["gameId"]: {"change": change["change"], "rating": change["rating"]}
        for kind in ("TICKLE", "POKER")
        for change in (await player(client, ADA, CHANGES, kind=kind))["ratingChanges"]["nodes"]
    }
    assert [node["ratingChange"] for node in nodes] == [changes.get(node["game"]["id"]) for node in nodes]
    assert len(changes) == 5


async def test_the_history_is_narrowed_by_kind_and_label(client: Client) -> None:
    async def games(**narrowed: Any) -> list[str]:
        nodes = (await player(client, ADA, HISTORY, **narrowed))["history"]["nodes"]
        return [node["game"]["id"] for node in nodes]

    assert await games(kind="TICITAIRE") == [game_id(5), game_id(4), game_id(2)]
    assert await games(label=LABEL) == [game_id(6), game_id(3), game_id(1)]
    assert await games(label=LABEL, kind="POKER") == [game_id(1)]
    assert await games(label="Autumn Cup") == []


async def test_the_games_that_two_players_are_compared_by_are_those_of_the_history_with_the_opponent(
    client: Client,
) -> None:
    met = (await player(client, ADA, MEETINGS, opponent=id_of("player", BOB)))["headToHead"]
    together = (await player(client, ADA, HISTORY, opponent=id_of("player", BOB)))["history"]["nodes"]
    assert len(together) == sum(line["games"] for line in met) == 5
    names = [{seat["player"]["displayName"] for seat in node["game"]["seats"]} for node in together]
    assert all({"Ada", "Bob"} <= seated for seated in names)


@pytest.mark.parametrize("size", [1, 3, 8])
async def test_the_pages_of_the_history_tell_each_game_once(client: Client, size: int) -> None:
    nodes, after, more = [], None, True
    while more:
        page = (await player(client, ADA, HISTORY, first=size, after=after))["history"]
        nodes += [node["game"]["id"] for node in page["nodes"]]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert nodes == [game_id(number) for number in reversed(range(8))]


@pytest.mark.parametrize("query", [HISTORY, CHANGES], ids=["history", "ratingChanges"])
async def test_cursors_and_sizes_that_are_none_are_the_clients_mistake(client: Client, query: str) -> None:
    kind = {"kind": "TICKLE"}
    others = await player(client, CYD, query, **kind)
    (connection,) = (value for value in others.values() if isinstance(value, dict))
    wrongs: list[dict[str, Any]] = [
        *({"first": first} for first in (0, 101, -1)),
        *({"after": after} for after in (connection["pageInfo"]["endCursor"], game_id(0), "x", "")),
    ]
    for wrong in wrongs:
        assert (await refused(client, BOB, query, **kind, **wrong))[0] == "BAD_USER_INPUT"


async def test_a_label_that_no_game_can_bear_is_the_clients_mistake(client: Client) -> None:
    assert (await refused(client, ADA, HISTORY, label="x" * 65))[0] == "BAD_USER_INPUT"


# --- two players ---


async def test_two_players_are_compared_kind_by_kind(client: Client) -> None:
    met = {
        (one, other): (await player(client, one, MEETINGS, opponent=id_of("player", other)))["headToHead"]
        for one, other in ((ADA, BOB), (BOB, ADA))
    }
    assert met[ADA, BOB] == [
        {"kind": "POKER", "games": 2, "ahead": 0, "behind": 1, "level": 1},
        {"kind": "TICKLE", "games": 3, "ahead": 0, "behind": 2, "level": 1},
    ]
    assert met[BOB, ADA] == [{**line, "ahead": line["behind"], "behind": line["ahead"]} for line in met[ADA, BOB]]


async def test_one_who_erased_the_account_is_a_node_as_long_as_there_are_games(client: Client) -> None:
    erased = id_of("player", DEE)
    found = await client.ask("query ($id: ID!) { node(id: $id) { id ... on Player { name } } }", id=erased)
    assert found == {"node": {"id": erased, "name": None}}


async def test_players_can_be_compared_with_one_who_erased_the_account(client: Client) -> None:
    (line,) = (await player(client, ADA, MEETINGS, opponent=id_of("player", DEE)))["headToHead"]
    assert line == {"kind": "TICKLE", "games": 1, "ahead": 1, "behind": 0, "level": 0}


async def test_players_who_never_met_are_not_compared(client: Client) -> None:
    stranger = await client.register("Eve")
    me = (await stranger.ask("{ viewer { player { id } } }"))["viewer"]["player"]["id"]
    assert (await player(client, ADA, MEETINGS, opponent=me))["headToHead"] == []


@pytest.mark.parametrize("opponent", ["x", game_id(0), id_of("player", UUID(int=77))])
async def test_an_opponent_who_does_not_exist_is_not_found(client: Client, opponent: str) -> None:
    assert (await refused(client, ADA, MEETINGS, opponent=opponent))[0] == "NOT_FOUND"
