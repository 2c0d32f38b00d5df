"""Replays over GraphQL: whole games told again, and games under way of which no more is told than may be seen."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from api.accounts import Accounts, Scope
from api.ids import write_id
from domain.events import Event, read_event
from domain.games import FACT_TYPES
from domain.storage import Datastore, EventMapper, EventRecorder
from domain.waypoints import APART
from tests.api.company import HANDS, do, id_of, opened, started_by
from tests.api.poker_evening import ADAS, poker_started
from tests.api.poker_played import ON_TABLE as ON_POKER
from tests.api.test_playing import TABLE as TICITAIRE
from tests.api.test_playing import names
from tests.api.tickle_game import ON_TABLE as ON_TICKLE
from tests.client import Client
from tests.conftest import cloned, in_memory, started
from tests.golden.replayed import score_at, sentence
from tests.golden.samples import FOLDER

TABLES: Final = {
    "ticitaire": f"... on TicitaireGame {{ {TICITAIRE} }}",
    "tickle": ON_TICKLE,
    "poker": ON_POKER,
}
"""The whole table, by kind."""
PAGE: Final = 15
"""So many whole positions may be asked for at once."""

GAMES: Final = ("tickle-target-half-deck-rematch", "poker-declared", "given-up", "poker-cancelled")
OVER: Final = GAMES[:3]
TICKLE: Final = GAMES[0]
SEATS: Final = list(zip(OVER, (1, 2, 1), strict=True))
"""Of each game a seat whose player is not erased."""


def _recorded(name: str) -> tuple[Event, ...]:
    lines = (FOLDER / "games" / f"{name}.jsonl").read_bytes().splitlines()
    return tuple(read_event(line, FACT_TYPES) for line in lines)


RECORDED: Final = {name: _recorded(name) for name in GAMES}
SEATED: Final[dict[str, list[UUID]]] = {
    name: [fact.player for event in events if (fact := event.fact).topic == "game.PlayerSeated"]  # type: ignore[attr-defined]
    for name, events in RECORDED.items()
}
ERASED: Final = SEATED[TICKLE][1]


def table_of(name: str) -> str:
    return TABLES.get(name.partition("-")[0], TABLES["ticitaire"])


def whole(name: str) -> str:
    """All that a position tells of a game, or of a kind."""
    return f"seq event {{ bytes }} words scores game {{ {table_of(name)} }}"


class House:
    """A server that has recorded games, and their players, of whom one has erased his name."""

    def __init__(self, runner: asyncio.Runner, nobody: Client, tokens: dict[UUID, str]) -> None:
        self.runner = runner
        self.nobody = nobody
        self.tokens = tokens

    def player(self, name: str, seat: int) -> Client:
        return replace(self.nobody, token=self.tokens[SEATED[name][seat - 1]])

    def replay(
        self, name: str, fields: str, *, who: Client | None = None, view: str = "PUBLIC", **variables: int
    ) -> Any:
        declared = "".join(f", ${variable}: Int!" for variable in variables)
        query = f"query ($id: ID!{declared}) {{ replay(gameId: $id, as: {view}) {{ {fields} }} }}"
        asked = (who or self.nobody).ask(query, id=write_id("game", RECORDED[name][0].game), **variables)
        return self.runner.run(asked)["replay"]

    def positions(self, name: str, told: str | None = None, *, first: int = PAGE, **how: Any) -> list[Any]:
        """All positions of a game, read page by page."""
        asked = f"positions(afterSeq: $after, first: {first}) {{ nodes {{ {told or whole(name)} }} hasMore }}"
        found: list[Any] = []
        page = {"hasMore": True}
        while page["hasMore"]:
            page = self.replay(name, asked, after=len(found), **how)["positions"]
            found += page["nodes"]
        return found

    def as_shown(self, name: str, who: Client, *options: str) -> list[Any]:
        """Every position of a game as `Game.position` shows it."""
        versions = range(1, len(RECORDED[name]) + 1)
        found: list[Any] = []
        for some in (versions[at : at + 5] for at in range(0, len(versions), 5)):
            asked = {f"v{number}": version for number, version in enumerate(some)}
            declared = "".join(f", ${v}: Int!" for v in asked)
            fields = [f"{v}: position({', '.join([f'version: ${v}', *options])}) {{ {table_of(name)} }}" for v in asked]
            query = f"query ($id: ID!{declared}) {{ game(id: $id) {{ {' '.join(fields)} }} }}"
            shown = self.runner.run(who.ask(query, id=write_id("game", RECORDED[name][0].game), **asked))
            found += [shown["game"][v] for v in asked]
        return found


@pytest.fixture(scope="module")
def house(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[House]:
    with cloned(admin, template, postgres) as url, asyncio.Runner() as runner:
        datastore = Datastore(url, connections=2)
        mapper = EventMapper()
        EventRecorder(datastore).append([[*map(mapper.to_stored_event, events)] for events in RECORDED.values()])
        players = sorted({player for seated in SEATED.values() for player in seated})
        with psycopg.connect(url) as connection:
            for number, player in enumerate(players):
                connection.execute("INSERT INTO players (id, name) VALUES (%s, %s)", (player, f"Player {number}"))
        accounts = Accounts(datastore)
        tokens = {player: accounts.issue(player, [Scope.PLAY]) for player in players if player != ERASED}
        accounts.erase(ERASED)
        datastore.close()
        stack = AsyncExitStack()
        app = runner.run(stack.enter_async_context(started(url)))
        nobody = runner.run(stack.enter_async_context(in_memory(app)))
        yield House(runner, nobody, tokens)
        runner.run(stack.aclose())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events were read from the log, each time some were."""
    counts: list[int] = []
    span = EventRecorder.span

    def counted(recorder: EventRecorder, game: UUID, *, after: int, first: int) -> list[Event]:
        found = span(recorder, game, after=after, first=first)
        counts.append(len(found))
        return found

    monkeypatch.setattr(EventRecorder, "span", counted)
    return counts


# --- whole games ---


@pytest.mark.parametrize("name", GAMES)
def test_a_replay_tells_every_event_once_and_in_order(house: House, name: str) -> None:
    told = house.positions(name, "seq event { bytes }")
    assert [one["seq"] for one in told] == list(range(1, len(RECORDED[name]) + 1))
    assert [one["event"]["bytes"].encode() for one in told] == [event.data for event in RECORDED[name]]


@pytest.mark.parametrize("name", GAMES)
def test_everyone_is_shown_every_position_as_a_stranger_is(house: House, name: str) -> None:
    shown = [one["game"] for one in house.positions(name)]
    assert shown == house.as_shown(name, house.nobody)


@pytest.mark.parametrize(("name", "seat"), SEATS, ids=OVER)
def test_a_seat_is_shown_every_position_as_its_player_is(house: House, name: str, seat: int) -> None:
    player = house.player(name, seat)
    shown = [one["game"] for one in house.positions(name, who=player, view=f"SEAT_{seat}")]
    assert shown == house.as_shown(name, player)


@pytest.mark.parametrize("name", OVER)
def test_who_asks_for_all_is_shown_every_position_with_all_cards_open(house: House, name: str) -> None:
    shown = [one["game"] for one in house.positions(name, view="ALL")]
    assert shown == house.as_shown(name, house.nobody, "revealed: true")


@pytest.mark.parametrize(("name", "seat"), SEATS[:2], ids=OVER[:2])
def test_after_the_end_a_stranger_may_look_at_a_hand_as_its_player_did(house: House, name: str, seat: int) -> None:
    hands = "game { ... on TickleGame { hands { hand { ... on Card { name } } } } ... on PokerGame { round { seats {"
    hands += " number cards { ... on Card { name } } } } } }"
    strangers = house.positions(name, hands, view=f"SEAT_{seat}")
    assert strangers == house.positions(name, hands, who=house.player(name, seat), view=f"SEAT_{seat}")
    assert strangers != house.positions(name, hands)


@pytest.mark.parametrize("name", GAMES)
def test_the_words_are_what_the_log_alone_tells_whoever_looks(house: House, name: str) -> None:
    spoken = [sentence(name, seq) for seq in range(1, len(RECORDED[name]) + 1)]
    assert [one["words"] for one in house.positions(name, "words")] == spoken
    if name in OVER:
        assert [one["words"] for one in house.positions(name, "words", view="ALL")] == spoken


def test_seats_are_called_by_their_names_if_asked_and_by_a_pseudonym_where_the_name_is_erased(house: House) -> None:
    told = [one["words"] for one in house.positions(TICKLE, "words(names: true)")]
    turns = [words for words in told if words.endswith(" has the turn.")]
    assert any(words.startswith("Player ") for words in turns)
    assert any(words.startswith(f"Erased player {ERASED.hex[:6]} ") for words in turns)
    assert not any("Seat 1" in words for words in told if not words.startswith("Seat 1 is taken"))


@pytest.mark.parametrize("name", GAMES)
def test_the_curve_has_the_scores_of_every_position(house: House, name: str) -> None:
    scores = [one["scores"] for one in house.positions(name, "scores")]
    assert [tuple(each) if each else None for each in scores] == [
        score_at(name, seq) for seq in range(1, len(RECORDED[name]) + 1)
    ]
    curve = house.replay(name, "curve { seat scores }")["curve"]
    assert [line["seat"] for line in curve] == list(range(1, len(SEATED[name]) + 1))
    assert [line["scores"] for line in curve] == [
        [each[seat] if each else None for each in scores] for seat in range(len(SEATED[name]))
    ]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (GAMES[0], "... on TickleGame { result { places { points: total } } }"),
        (GAMES[1], "... on PokerGame { result { places { points } } }"),
    ],
    ids=GAMES[:2],
)
def test_the_curve_ends_with_the_result(house: House, name: str, fields: str) -> None:
    told = house.replay(name, f"curve {{ scores }} game {{ {fields} }}")
    result = [place["points"] for place in told["game"]["result"]["places"]]
    assert [line["scores"][-1] for line in told["curve"]] == result


@pytest.mark.parametrize("name", GAMES)
def test_the_notation_is_that_of_the_whole_game(house: House, name: str) -> None:
    written = (FOLDER / "games" / f"{name}.txt").read_text(encoding="utf-8")
    assert house.replay(name, "notation")["notation"] == written.splitlines()


# --- pages ---


@pytest.mark.parametrize("view", ["PUBLIC", "ALL"])
def test_pages_of_any_size_join(house: House, view: str) -> None:
    told = house.positions(TICKLE, "seq words scores game { hash }", first=100, view=view)
    assert house.positions(TICKLE, "seq words scores game { hash }", first=7, view=view) == told


@pytest.mark.parametrize("view", ["PUBLIC", "SEAT_1", "ALL"])
def test_a_page_reads_the_log_once_however_long_it_is(house: House, read: list[int], view: str) -> None:
    house.replay(TICKLE, "positions(first: 100) { nodes { words scores game { version } } }", view=view)
    assert read == [len(RECORDED[TICKLE])]


@pytest.mark.parametrize(
    "fields",
    [
        "positions(first: 100) { nodes { words(names: true) event { player { name displayName } } } }",
        "game { events(first: 100) { nodes { player { name registeredAt } } } }",
    ],
    ids=["positions", "events"],
)
def test_a_page_reads_the_names_once_however_long_it_is(
    house: House, monkeypatch: pytest.MonkeyPatch, fields: str
) -> None:
    asked: list[set[UUID]] = []
    accounts = Accounts.players

    def counted(self: Accounts, ids: Collection[UUID]) -> dict[UUID, Any]:
        asked.append(set(ids))
        return accounts(self, ids)

    monkeypatch.setattr(Accounts, "players", counted)
    house.replay(TICKLE, fields)
    assert asked == [set(SEATED[TICKLE])]


def test_a_page_further_on_is_read_from_the_waypoint_before_it(house: House, read: list[int]) -> None:
    house.replay(TICKLE, "positions(first: 100) { nodes { seq } }")
    read.clear()
    house.replay(TICKLE, "positions(afterSeq: 70, first: 2) { nodes { words } }")
    assert read == [72 - 70 // APART * APART]


def test_the_page_after_the_last_event_is_empty(house: House) -> None:
    last = len(RECORDED[TICKLE])
    page = house.replay(TICKLE, f"positions(afterSeq: {last}) {{ nodes {{ seq }} hasMore }}")
    assert page["positions"] == {"nodes": [], "hasMore": False}


@pytest.mark.parametrize(
    "arguments",
    [
        "first: 0",
        "first: 101",
        "first: -1",
        "first: 2147483647",
        "afterSeq: -1",
        "afterSeq: 79",
        "afterSeq: 2147483647",
    ],
)
def test_a_page_that_there_is_not_is_refused(house: House, arguments: str) -> None:
    id = write_id("game", RECORDED[TICKLE][0].game)
    asked = f'{{ replay(gameId: "{id}") {{ positions({arguments}) {{ nodes {{ seq }} }} }} }}'
    error = house.runner.run(house.nobody.error(asked))
    assert error["extensions"]["code"] in {"BAD_USER_INPUT", "QUERY_TOO_COMPLEX"}


@pytest.mark.parametrize("id", ["", "no id", id_of("game", UUID(int=5)), id_of("player", UUID(int=5))])
def test_where_there_is_no_game_there_is_no_replay(house: House, id: str) -> None:
    asked = "query ($id: ID!) { replay(gameId: $id) { notation } }"
    assert house.runner.run(house.nobody.ask(asked, id=id)) == {"replay": None}


# --- what may not be seen ---


def _refused(house: House, game: str, view: str, who: Client | None = None) -> str:
    """The code with which a view of a game is refused."""
    asked = "query ($id: ID!, $as: ReplayView!) { replay(gameId: $id, as: $as) { notation } }"
    error = house.runner.run((who or house.nobody).error(asked, id=game, **{"as": view}))
    return str(error["extensions"]["code"])


def test_a_seat_that_the_game_does_not_have_is_refused(house: House) -> None:
    assert _refused(house, write_id("game", RECORDED[TICKLE][0].game), "SEAT_7") == "BAD_USER_INPUT"


@pytest.mark.parametrize("view", ["SEAT_1", "ALL"])
def test_a_game_that_was_called_off_has_no_cards_to_show(house: House, view: str) -> None:
    assert _refused(house, write_id("game", RECORDED["poker-cancelled"][0].game), view) == "BAD_USER_INPUT"


@pytest.fixture(scope="module")
def running(house: House) -> tuple[Client, dict[str, Any]]:
    """Ada, who sits at seat 1, and games of hers that are under way, or not dealt yet, by their kind."""
    ada, bob = (house.runner.run(house.nobody.register(name)) for name in ("Ada", "Bob"))
    games = {
        "tickle": house.runner.run(started_by(ada, bob, seating="AS_JOINED")),
        "poker": house.runner.run(poker_started(ada, bob)),
        "ticitaire": house.runner.run(ada.open_ticitaire())["game"],
        "open": house.runner.run(opened(ada, bob, private=False)),
    }
    return ada, games


@pytest.mark.parametrize("kind", ["tickle", "poker", "ticitaire", "open"])
@pytest.mark.parametrize("view", ["SEAT_2", "ALL"])
def test_of_a_game_under_way_nobody_is_shown_what_is_sealed(
    house: House, running: tuple[Client, dict[str, Any]], kind: str, view: str
) -> None:
    ada, games = running
    assert _refused(house, games[kind]["id"], view, ada) == "STILL_SEALED"
    assert _refused(house, games[kind]["id"], view) == "STILL_SEALED"


@pytest.mark.parametrize("kind", ["tickle", "poker", "ticitaire", "open"])
def test_a_seat_of_a_game_under_way_is_shown_to_its_player_alone(
    house: House, running: tuple[Client, dict[str, Any]], kind: str
) -> None:
    assert _refused(house, running[1][kind]["id"], "SEAT_1") == "STILL_SEALED"


def test_the_refusal_says_when_the_cards_can_be_had(house: House, running: tuple[Client, dict[str, Any]]) -> None:
    ada, games = running
    asked = f'{{ replay(gameId: "{games["tickle"]["id"]}", as: SEAT_2) {{ notation }} }}'
    error = house.runner.run(ada.error(asked))
    assert "sealed until the game is over" in error["message"]
    assert "SEAT_1, which is yours" in error["message"]


def _running(house: House, kind: str, game: Any, who: Client, view: str) -> list[Any]:
    page = f"positions(first: {PAGE}) {{ nodes {{ {whole(kind)} }} }}"
    asked = f"query ($id: ID!) {{ replay(gameId: $id, as: {view}) {{ {page} }} }}"
    told: list[Any] = house.runner.run(who.ask(asked, id=game["id"]))["replay"]["positions"]["nodes"]
    return told


@pytest.mark.parametrize("kind", ["tickle", "poker", "ticitaire"])
def test_a_player_is_shown_a_game_under_way_as_by_its_positions(
    house: House, running: tuple[Client, dict[str, Any]], kind: str
) -> None:
    ada, games = running
    query = f"query ($id: ID!, $v: Int!) {{ game(id: $id) {{ position(version: $v) {{ {table_of(kind)} }} }} }}"
    for one in _running(house, kind, games[kind], ada, "SEAT_1"):
        shown = house.runner.run(ada.ask(query, id=games[kind]["id"], v=one["seq"]))
        assert one["game"] == shown["game"]["position"]


def test_a_player_is_shown_his_own_hand_and_no_other(house: House, running: tuple[Client, dict[str, Any]]) -> None:
    ada, games = running
    (*_, last) = _running(house, "tickle", games["tickle"], ada, "SEAT_1")
    own, other = (set(names(hand["hand"])) for hand in last["game"]["hands"])
    assert (len(own), other) == (len(HANDS[0]), set())
    (*_, last) = _running(house, "poker", games["poker"], ada, "SEAT_1")
    by_seat = {seat["number"]: names(seat["cards"]) for seat in last["game"]["round"]["seats"]}
    assert (len(by_seat[1]), by_seat[2]) == (len(ADAS) - 2, [])


@pytest.mark.parametrize("kind", ["tickle", "poker"])
def test_even_a_player_who_asks_for_what_everyone_sees_is_shown_no_hand(
    house: House, running: tuple[Client, dict[str, Any]], kind: str
) -> None:
    ada, games = running
    assert _running(house, kind, games[kind], ada, "PUBLIC") == _running(
        house, kind, games[kind], house.nobody, "PUBLIC"
    )


def test_as_soon_as_the_game_is_over_everything_is_open_to_anyone(house: House) -> None:
    ada, bob = (house.runner.run(house.nobody.register(name)) for name in ("Ada", "Bob"))
    game = house.runner.run(started_by(ada, bob, seating="AS_JOINED"))
    before = _running(
        house, "tickle", game, house.nobody, "PUBLIC"
    )  # what is kept of it must not be what is told later
    house.runner.run(do(bob, "resignGame", game))
    told = _running(house, "tickle", game, house.nobody, "ALL")
    assert [len(names(hand["hand"])) for hand in told[len(before) - 1]["game"]["hands"]] == [6, 6]
