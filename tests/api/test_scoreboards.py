"""Scoreboards over HTTP: places, values, periods, labels, pages, and where a player stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from api.cursors import write_cursor
from tests.api.company import id_of
from tests.api.finished import ADA, BOB, CYD, DEE, LABEL, game_id, played
from tests.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOARD = """
query (
  $board: Scoreboard!, $period: ScoreboardPeriod! = ALL_TIME, $of: String, $label: String, $first: Int = 20,
  $after: String
) {
  scoreboard(board: $board, period: $period, of: $of, label: $label) {
    board period of label players
    lines(first: $first, after: $after) {
      nodes { place player { id displayName } value medals { firsts seconds thirds } games gameId position }
      edges { cursor node { place } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
STANDING = """
query ($board: Scoreboard!, $period: ScoreboardPeriod! = ALL_TIME, $label: String, $player: ID!, $neighbours: Int = 3) {
  scoreboard(board: $board, period: $period, label: $label) {
    standing(playerId: $player, neighbours: $neighbours) {
      line { place value player { displayName } } above { player { displayName } } below { player { displayName } }
      players
    }
  }
}
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def client(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    async with played(admin, template, postgres) as client:
        yield client


async def board(client: Client, board: str, **which: Any) -> Any:
    return (await client.ask(BOARD, board=board, **which))["scoreboard"]


async def shown(client: Client, name: str, **which: Any) -> list[tuple[int, str, float]]:
    """The lines as a person reads them: place, player, value."""
    found = await board(client, name, **which)
    return [(line["place"], line["player"]["displayName"], line["value"]) for line in found["lines"]["nodes"]]


async def standing(client: Client, name: str, player: UUID, **which: Any) -> Any:
    asked = await client.ask(STANDING, board=name, player=id_of("player", player), **which)
    return asked["scoreboard"]["standing"]


async def refused(client: Client, query: str, **variables: Any) -> tuple[str, str]:
    error = await client.error(query, **variables)
    return error["extensions"]["code"], error["message"]


# --- lines ---


async def test_a_scoreboard_lists_players_by_what_they_have_together(client: Client) -> None:
    assert await shown(client, "TICKLE_POINTS") == [
        (1, "Erased player dee000", 18),
        (2, "Cyd", 1 + 11 + 1),
        (3, "Ada", -8 + 21 - 8),
        (4, "Bob", -10 + 21 - 10),
    ]


async def test_equal_values_share_a_place_and_who_got_there_first_is_listed_first(client: Client) -> None:
    assert await shown(client, "TICKLE_WINS") == [
        (1, "Cyd", 2),
        (2, "Ada", 1),
        (2, "Bob", 1),
    ]


async def test_a_line_tells_the_games_that_counted_and_the_last_that_changed_it(client: Client) -> None:
    lines = (await board(client, "TICKLE_POINTS"))["lines"]["nodes"]
    assert [(line["games"], line["gameId"]) for line in lines] == [
        (1, game_id(3)),
        (3, game_id(6)),
        (3, game_id(6)),
        (3, game_id(6)),
    ]
    assert lines[0]["position"] < lines[1]["position"]


async def test_a_line_of_best_ones_tells_the_game_that_set_it(client: Client) -> None:
    (line,) = (await board(client, "TICITAIRE_MOVES"))["lines"]["nodes"]
    assert (line["games"], line["gameId"], line["player"]["displayName"]) == (2, game_id(2), "Ada")


async def test_places_in_poker_are_told_as_medals(client: Client) -> None:
    lines = (await board(client, "POKER_PLACES"))["lines"]["nodes"]
    assert [(line["place"], line["player"]["displayName"], line["value"], line["medals"]) for line in lines] == [
        (1, "Bob", None, {"firsts": 2, "seconds": 0, "thirds": 0}),
        (2, "Ada", None, {"firsts": 1, "seconds": 1, "thirds": 0}),
        (3, "Cyd", None, {"firsts": 0, "seconds": 0, "thirds": 1}),
    ]


async def test_only_places_have_medals(client: Client) -> None:
    assert [line["medals"] for line in (await board(client, "POKER_POINTS"))["lines"]["nodes"]] == [None] * 3


async def test_times_are_told_in_seconds(client: Client) -> None:
    assert await shown(client, "TICITAIRE_TIME") == [(1, "Ada", 5.276)]


async def test_ratings_are_told_in_one_number(client: Client) -> None:
    shown_ratings = await shown(client, "POKER_RATING")
    players = "query ($id: ID!) { player(id: $id) { ratings { kind rating } } }"
    ratings = (await client.ask(players, id=id_of("player", BOB)))["player"]["ratings"]
    assert shown_ratings[0][:2] == (1, "Bob")
    assert {"kind": "POKER", "rating": shown_ratings[0][2]} in ratings


@pytest.mark.parametrize("name", ["TICITAIRE_WINS", "TICITAIRE_STREAK", "TICKLE_BEST_LAYDOWN", "TICKLE_RATING"])
async def test_every_other_scoreboard_has_whole_numbers_in_order(client: Client, name: str) -> None:
    values = [value for _, _, value in await shown(client, name)]
    assert values
    assert values == sorted(map(int, values), reverse=True)


async def test_a_scoreboard_counts_its_players(client: Client) -> None:
    assert [(await board(client, name))["players"] for name in ("TICKLE_POINTS", "TICITAIRE_WINS")] == [4, 1]


# --- periods and labels ---


async def test_a_month_has_the_games_that_finished_in_it(client: Client) -> None:
    may, june = [await shown(client, "POKER_POINTS", period="MONTH", of=of) for of in ("2030-05", "2030-06")]
    assert may == [(1, "Bob", 6), (2, "Ada", 4), (3, "Cyd", 3)]
    assert june == [(1, "Ada", 4), (1, "Bob", 4)]


async def test_a_week_has_the_games_that_finished_in_it(client: Client) -> None:
    first, second = [await shown(client, "TICKLE_POINTS", period="WEEK", of=of) for of in ("2030-W18", "2030-W19")]
    assert first == [(1, "Erased player dee000", 18), (2, "Ada", 13), (3, "Cyd", 12), (4, "Bob", 11)]
    assert second == [(1, "Cyd", 1), (2, "Ada", -8), (3, "Bob", -10)]


async def test_a_label_has_the_games_that_bear_it(client: Client) -> None:
    assert await shown(client, "TICKLE_POINTS", label=f" {LABEL.replace(' ', '   ')} ") == [
        (1, "Erased player dee000", 18),
        (2, "Ada", 13),
        (3, "Cyd", 12),
        (4, "Bob", 11),
    ]


@pytest.mark.parametrize(
    "which",
    [
        {"period": "MONTH", "of": "1999-12"},
        {"period": "WEEK", "of": "2020-W53"},
        {"label": "A cup that nobody played"},
    ],
)
async def test_where_no_game_was_played_the_scoreboard_is_empty(client: Client, which: Any) -> None:
    found = await board(client, "TICKLE_POINTS", **which)
    assert (found["players"], found["lines"]["nodes"]) == (0, [])
    assert found["lines"]["pageInfo"] == {"hasNextPage": False, "endCursor": None}


async def test_a_scoreboard_says_what_it_is(client: Client) -> None:
    wanted: list[dict[str, Any]] = [
        {"period": "ALL_TIME", "of": None, "label": None},
        {"period": "MONTH", "of": "2030-05", "label": None},
        {"period": "WEEK", "of": "2030-W18", "label": None},
        {"period": "ALL_TIME", "of": None, "label": LABEL},
    ]
    for which in wanted:
        found = await board(client, "POKER_POINTS", **which)
        assert {name: found[name] for name in ("board", "period", "of", "label")} == {"board": "POKER_POINTS", **which}


async def test_the_present_month_and_week_are_told_where_none_is_named(client: Client) -> None:
    before = datetime.now(UTC)
    month, week = [(await board(client, "TICKLE_WINS", period=period))["of"] for period in ("MONTH", "WEEK")]
    moments = (before, datetime.now(UTC))
    assert month in {f"{at:%Y-%m}" for at in moments}
    assert week in {f"{at:%G-W%V}" for at in moments}


@pytest.mark.parametrize(
    ("period", "of"),
    [
        *(("MONTH", of) for of in ("2030-13", "2030-00", "0000-01", "2030-5", "30-05", "2030-05-01", " 2030-05", "")),
        *(("MONTH", of) for of in ("2030-W18", "\uff12030-05", "2030-05\n")),
        *(("WEEK", of) for of in ("2030-W53", "2030-W00", "2030-18", "2030-w18", "2030W18", "0000-W01", "2030-W1")),
        ("ALL_TIME", "2030-05"),
        ("ALL_TIME", "2030-W18"),
    ],
)
async def test_a_month_or_week_that_is_none_is_the_clients_mistake(client: Client, period: str, of: str) -> None:
    code, message = await refused(client, BOARD, board="TICKLE_POINTS", period=period, of=of)
    assert (code, "`of`" in message) == ("BAD_USER_INPUT", True)


@pytest.mark.parametrize("which", [{"period": "MONTH"}, {"period": "WEEK", "of": "2030-W18"}, {"of": "2030-05"}])
async def test_a_label_and_a_period_exclude_each_other(client: Client, which: Any) -> None:
    code, message = await refused(client, BOARD, board="TICKLE_POINTS", label=LABEL, **which)
    assert (code, "leave out" in message) == ("BAD_USER_INPUT", True)


@pytest.mark.parametrize("label", ["", "  ", "x" * 65, "a\x00b", "a\u202eb"])
async def test_a_label_that_no_game_can_bear_is_the_clients_mistake(client: Client, label: str) -> None:
    code, message = await refused(client, BOARD, board="TICKLE_POINTS", label=label)
    assert (code, "`label`" in message) == ("BAD_USER_INPUT", True)


@pytest.mark.parametrize("which", [{"period": "MONTH"}, {"period": "WEEK", "of": "2030-W18"}, {"label": LABEL}])
async def test_ratings_are_of_all_games_only(client: Client, which: Any) -> None:
    assert (await refused(client, BOARD, board="TICKLE_RATING", **which))[0] == "BAD_USER_INPUT"


# --- pages ---


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
async def test_the_pages_tell_every_line_once_and_in_order(client: Client, size: int) -> None:
    whole, lines = (await board(client, "TICKLE_WINS"))["lines"]["nodes"], []
    after, more = None, True
    while more:
        page = (await board(client, "TICKLE_WINS", first=size, after=after))["lines"]
        assert 1 <= len(page["nodes"]) <= size
        lines += page["nodes"]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert lines == whole


async def test_a_scoreboard_is_read_on_from_any_edge(client: Client) -> None:
    whole = (await board(client, "TICKLE_WINS"))["lines"]
    for number, edge in enumerate(whole["edges"], 1):
        rest = (await board(client, "TICKLE_WINS", after=edge["cursor"]))["lines"]["nodes"]
        assert rest == whole["nodes"][number:]


@pytest.mark.parametrize("first", [0, -1, 101, 2**31 - 1])
async def test_a_page_has_1_to_100_lines(client: Client, first: int) -> None:
    code, message = await refused(client, BOARD, board="TICKLE_WINS", first=first)
    assert (code, "`first`" in message) == ("BAD_USER_INPUT", True)


async def test_a_cursor_of_another_list_is_the_clients_mistake(client: Client) -> None:
    cursors = [
        (await board(client, name, **which))["lines"]["edges"][0]["cursor"]
        for name, which in [
            ("TICKLE_POINTS", {}),
            ("TICKLE_WINS", {"period": "WEEK", "of": "2030-W18"}),
            ("TICKLE_WINS", {"label": LABEL}),
        ]
    ]
    games = (await client.ask("{ games { pageInfo { endCursor } } }"))["games"]["pageInfo"]["endCursor"]
    found = (await client.ask("{ finishedGames { pageInfo { endCursor } } }"))["finishedGames"]["pageInfo"]["endCursor"]
    for cursor in (*cursors, games, found):
        code, message = await refused(client, BOARD, board="TICKLE_WINS", after=cursor)
        assert (code, "`after`" in message) == ("BAD_USER_INPUT", True)


async def test_a_cursor_that_is_none_is_the_clients_mistake(client: Client) -> None:
    own = "scoreboard tickle_wins all-time "
    made_up = [write_cursor(1, of=own), write_cursor(1, 2, 3, of=own), write_cursor(2**63, 1, of=own)]
    made_up += [write_cursor(-1, 1, of=own)]
    for cursor in ("", "x", "\x00", "ä", "=" * 300, game_id(1), *made_up):
        assert (await refused(client, BOARD, board="TICKLE_WINS", after=cursor))[0] == "BAD_USER_INPUT"
    assert (await board(client, "TICKLE_WINS", after=write_cursor(1, 2, of=own)))["lines"]["nodes"]


async def test_a_cursor_that_was_cut_short_is_none(client: Client) -> None:
    cursor = (await board(client, "TICKLE_POINTS"))["lines"]["edges"][0]["cursor"]
    for length in range(len(cursor)):
        assert (await refused(client, BOARD, board="TICKLE_POINTS", after=cursor[:length]))[0] == "BAD_USER_INPUT"


# --- where a player stands ---


async def test_a_player_finds_the_own_line_with_those_around_it(client: Client) -> None:
    assert await standing(client, "TICKLE_POINTS", ADA, neighbours=1) == {
        "line": {"place": 3, "value": 5, "player": {"displayName": "Ada"}},
        "above": [{"player": {"displayName": "Cyd"}}],
        "below": [{"player": {"displayName": "Bob"}}],
        "players": 4,
    }


async def test_the_lines_above_are_in_the_order_of_the_scoreboard(client: Client) -> None:
    found = await standing(client, "TICKLE_POINTS", BOB)
    assert [line["player"]["displayName"] for line in found["above"]] == ["Erased player dee000", "Cyd", "Ada"]
    assert found["below"] == []


async def test_an_erased_player_still_has_a_line(client: Client) -> None:
    assert (await standing(client, "TICKLE_POINTS", DEE, neighbours=0))["line"]["place"] == 1


async def test_a_player_who_is_not_on_the_scoreboard_stands_nowhere(client: Client) -> None:
    assert await standing(client, "TICITAIRE_WINS", CYD) is None


async def test_a_player_finds_the_own_line_of_a_label(client: Client) -> None:
    assert (await standing(client, "TICKLE_POINTS", ADA, label=LABEL))["line"]["place"] == 2


async def test_a_player_leads_to_the_own_line(client: Client) -> None:
    query = """
    query ($id: ID!) { player(id: $id) {
      all: standing(board: TICKLE_POINTS, neighbours: 0) { line { value } above { place } below { place } players }
      week: standing(board: TICKLE_POINTS, period: WEEK, of: "2030-W19", neighbours: 0) { line { value } }
      label: standing(board: TICKLE_POINTS, label: "Spring Cup", neighbours: 0) { line { value } }
      none: standing(board: TICKLE_POINTS, period: MONTH, of: "2029-01") { line { value } }
    } }
    """
    assert (await client.ask(query, id=id_of("player", CYD)))["player"] == {
        "all": {"line": {"value": 13}, "above": [], "below": [], "players": 4},
        "week": {"line": {"value": 1}},
        "label": {"line": {"value": 12}},
        "none": None,
    }


@pytest.mark.parametrize("id", ["", "x", game_id(1), id_of("player", "x"), id_of("player", UUID(int=77)), "\x00"])
async def test_an_unknown_player_is_not_found(client: Client, id: str) -> None:
    assert (await refused(client, STANDING, board="TICKLE_POINTS", player=id))[0] == "NOT_FOUND"


@pytest.mark.parametrize("neighbours", [-1, 11, 2**31 - 1])
async def test_there_are_0_to_10_neighbours(client: Client, neighbours: int) -> None:
    query, player = STANDING, id_of("player", ADA)
    code, message = await refused(client, query, board="TICKLE_POINTS", player=player, neighbours=neighbours)
    assert (code, "`neighbours`" in message) == ("BAD_USER_INPUT", True)
