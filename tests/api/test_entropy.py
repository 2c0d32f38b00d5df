"""Entropy of the players, beacons and held-back seeds over HTTP. G3."""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from api.timekeeper import Timekeeper
from domain.application import Games
from domain.storage import Datastore
from projections.deadlines import Deadlines
from projections.runner import Follower
from tests.api.clock import Clock
from tests.api.company import actions, caught_up, do, house, names, opened, order_of, types
from tests.client import Client

in_company = pytest.mark.asyncio(loop_scope="module")

FAIRNESS: Final = """
  fairness {
    deal seeds verification
    entropies { player { name } commitment entropy }
    beacon { name value }
  }
  deadline entropyDue { name }
"""
LIMIT: Final = 120


class Own(NamedTuple):
    """The entropy of one player, for one table."""

    entropy: str
    commitment: str


def own() -> Own:
    entropy = secrets.token_bytes(32)
    return Own(entropy.hex(), hashlib.sha256(entropy).hexdigest())


class Company(NamedTuple):
    """Who comes to the tables."""

    ada: Client
    bob: Client
    cyd: Client
    nobody: Client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def company(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Company]:
    async with house(admin, template, postgres) as client:
        ada, bob, cyd = [await client.register(name) for name in ("Ada", "Bob", "Cyd")]
        yield Company(ada, bob, cyd, client)


def what(refused: Any) -> tuple[str, str]:
    assert refused["__typename"] == "RuleViolation", refused
    return refused["code"], refused["ruling"]


def invalid(refused: Any) -> list[str]:
    assert refused["__typename"] == "InvalidInput", refused
    path: list[str] = refused["path"]
    return path


async def gathered(company: Company, **options: Any) -> tuple[Any, Own, Own]:
    """A table of three of which the host and the last to come have committed; the game and their entropy."""
    ada, bob, cyd, _ = company
    adas, cyds = own(), own()
    options = {"entropy": "ALLOWED", **options}
    game = (await do(ada, "openTickle", entropyCommitment=adas.commitment, **options))["game"]
    await do(bob, "joinGame", game)
    game = (await do(cyd, "joinGame", game, entropyCommitment=cyds.commitment))["game"]
    return game, adas, cyds


async def closed(company: Company, **options: Any) -> tuple[Any, Own, Own]:
    """The same table, started."""
    game, adas, cyds = await gathered(company, **options)
    return (await do(company.ada, "startGame", game))["game"], adas, cyds


# --- from the opening to the deal ---


@in_company
async def test_a_table_with_commitments_is_dealt_by_the_last_reveal(company: Company) -> None:
    game, adas, cyds = await gathered(company)
    started = await do(company.ada, "startGame", game)
    assert (types(started), started["game"]["status"]) == (["game.EntropyDue"], "OPEN")
    first = await do(company.cyd, "revealEntropy", game, entropy=cyds.entropy)
    assert (types(first), first["game"]["status"]) == (["game.EntropyRevealed"], "OPEN")
    last = await do(company.ada, "revealEntropy", game, entropy=adas.entropy)
    assert types(last) == [
        "game.EntropyRevealed",
        *["game.PlayerSeated"] * 3,
        "tickle.HandsDealt",
        "game.TurnBegan",
    ]
    dealt = json.loads(last["events"][4]["bytes"])["fact"]
    assert dealt["entropies"] == [adas.entropy, "-", cyds.entropy]


@in_company
async def test_it_shows_who_committed_who_owes_and_what_was_revealed(company: Company) -> None:
    game, adas, cyds = await gathered(company)
    before = await company.nobody.game(game["id"], FAIRNESS)
    assert before["fairness"]["entropies"] == [
        {"player": {"name": "Ada"}, "commitment": adas.commitment, "entropy": None},
        {"player": {"name": "Cyd"}, "commitment": cyds.commitment, "entropy": None},
    ]
    assert (before["entropyDue"], before["deadline"]) == ([], None)
    await do(company.ada, "startGame", game)
    due = await company.nobody.game(game["id"], FAIRNESS)
    assert (names(due["entropyDue"]), due["deadline"] is not None) == (["Ada", "Cyd"], True)
    await do(company.ada, "revealEntropy", game, entropy=adas.entropy)
    after = await company.nobody.game(game["id"], FAIRNESS)
    assert [one["entropy"] for one in after["fairness"]["entropies"]] == [adas.entropy, None]
    assert names(after["entropyDue"]) == ["Cyd"]


@in_company
async def test_legal_actions_list_a_reveal_for_those_who_owe(company: Company) -> None:
    game, adas, _ = await closed(company)
    listed = [await actions(player, game) for player in (company.ada, company.bob, company.cyd)]
    assert listed == [["revealEntropy", "cancelGame"], ["leaveGame"], ["revealEntropy", "leaveGame"]]
    await do(company.ada, "revealEntropy", game, entropy=adas.entropy)
    assert await actions(company.ada, game) == ["cancelGame"]


@in_company
async def test_deck_and_seats_follow_from_the_entropies_as_the_page_says(company: Company) -> None:
    game, adas, cyds = await closed(company)
    await do(company.ada, "revealEntropy", game, entropy=adas.entropy)
    await do(company.cyd, "revealEntropy", game, entropy=cyds.entropy)
    for player in (company.ada, company.bob):
        await do(player, "resignGame", game)
    query = FAIRNESS + "seats { player { name } } ... on TickleGame { hands { hand { ... on Card { name } } } }"
    over = await company.nobody.game(game["id"], query)
    deck, order = order_of(over["fairness"], [adas.entropy, "-", cyds.entropy])
    assert [seat["player"]["name"] for seat in over["seats"]] == [("Ada", "Bob", "Cyd")[int(at)] for at in order]
    hands = [[card["name"] for card in hand["hand"]] for hand in over["hands"]]
    assert hands == [deck[0:6], deck[6:12], deck[12:18]]
    assert over["fairness"]["verification"] == "PROVED"


@in_company
async def test_a_reveal_said_twice_with_a_key_has_the_first_answer_again(company: Company) -> None:
    game, adas, _ = await closed(company)
    first = await do(company.ada, "revealEntropy", game, entropy=adas.entropy, idempotencyKey="revealed once")
    again = await do(company.ada, "revealEntropy", game, entropy=adas.entropy, idempotencyKey="revealed once")
    assert again == {**first, "repeated": True}


@in_company
async def test_a_table_that_is_closed_is_no_longer_listed_as_joinable(company: Company) -> None:
    game, *_ = await closed(company)
    await caught_up(company.nobody, game)
    query = "{ games(first: 100, filter: {joinable: true}) { nodes { id } } }"
    assert game["id"] not in [line["id"] for line in (await company.nobody.ask(query))["games"]["nodes"]]


@in_company
async def test_who_leaves_while_entropy_is_due_ends_the_game(company: Company) -> None:
    game, *_ = await closed(company)
    gone = await do(company.cyd, "leaveGame", game)
    assert types(gone) == ["game.EntropyWithheld", "game.PlayerLeft", "game.GameCancelled"]
    shown = await company.nobody.game(game["id"], f"status {FAIRNESS}")
    assert (shown["status"], shown["entropyDue"], shown["fairness"]["verification"]) == ("CANCELLED", [], None)


@in_company
async def test_every_new_fact_is_shown_with_its_fields(company: Company) -> None:
    game, adas, _ = await gathered(company, beacon="drand quicknet 12345678")
    await do(company.ada, "startGame", game, beacon="ab12")
    await do(company.ada, "revealEntropy", game, entropy=adas.entropy)
    await do(company.cyd, "leaveGame", game)
    fields = """
      fact {
        type
        ... on EntropyCommitted { player { name } commitment }
        ... on BeaconGiven { beacon }
        ... on EntropyDue { players { name } due: deadline }
        ... on EntropyRevealed { player { name } entropy }
        ... on EntropyWithheld { player { name } passed: deadline }
      }
    """
    told = {line["fact"]["type"]: line["fact"] for line in await company.nobody.history(game["id"], fields=fields)}
    assert told["game.BeaconGiven"]["beacon"] == "ab12"
    assert names(told["game.EntropyDue"]["players"]) == ["Ada", "Cyd"]
    assert told["game.EntropyRevealed"] | {"type": ""} == {
        "type": "",
        "player": {"name": "Ada"},
        "entropy": adas.entropy,
    }
    assert told["game.EntropyWithheld"] | {"type": ""} == {"type": "", "player": {"name": "Cyd"}, "passed": None}


# --- what is refused ---


@in_company
async def test_commitments_that_a_table_does_not_take_are_refused(company: Company) -> None:
    mine = own().commitment
    plain = await opened(company.ada)
    demanding = (await do(company.ada, "openTickle", entropy="DEMANDED", entropyCommitment=mine))["game"]
    refused = [
        await do(company.bob, "joinGame", plain, entropyCommitment=mine),
        await do(company.bob, "joinGame", demanding),
        await do(company.bob, "joinGame", demanding, entropyCommitment=mine),
        await do(company.bob, "openTickle", entropy="DEMANDED"),
    ]
    assert [what(one) for one in refused] == [
        ("ENTROPY_NOT_WANTED", "G3"),
        ("ENTROPY_DEMANDED", "G3"),
        ("ENTROPY_REPEATED", "G3"),
        ("ENTROPY_DEMANDED", "G3"),
    ]


@in_company
async def test_what_was_not_committed_to_is_refused_and_not_repeated(company: Company) -> None:
    game, _, cyds = await closed(company)
    refused = await do(company.ada, "revealEntropy", game, entropy=cyds.entropy)
    assert what(refused) == ("ENTROPY_MISMATCH", "G3")
    assert cyds.entropy not in json.dumps(refused)


@in_company
@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "AB" * 32, "0" * 64 + "\n", "é" * 64], ids=range(6))
async def test_what_are_no_32_bytes_is_invalid_input(company: Company, text: str) -> None:
    game = await opened(company.ada, entropy="ALLOWED")
    refused = [
        await do(company.ada, "revealEntropy", game, entropy=text),
        await do(company.bob, "joinGame", game, entropyCommitment=text),
        await do(company.ada, "openTickle", entropy="ALLOWED", entropyCommitment=text),
        await do(company.ada, "openTicitaire", entropy="ALLOWED", entropyCommitment=text),
    ]
    assert [invalid(one)[-1] for one in refused] == ["entropy", *["entropyCommitment"] * 3]
    assert not text or text.strip() not in json.dumps(refused)


@in_company
@pytest.mark.parametrize("mutation", ["openTickle", "openPoker", "openTicitaire"])
@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"entropy": "ALLOWED", "revealSeconds": 9}, "revealSeconds"),
        ({"revealSeconds": 60}, "revealSeconds"),
        ({"beacon": ""}, "beacon"),
        ({"beacon": "a\nb"}, "beacon"),
        ({"beacon": "a" * 201}, "beacon"),
        ({"sealedUntil": "2030-05-01T12:00:00"}, "sealedUntil"),
    ],
)
async def test_options_that_make_no_sense_are_invalid_input(
    company: Company, mutation: str, asked: dict[str, Any], path: str
) -> None:
    assert invalid(await do(company.ada, mutation, **asked)) == ["input", path]


@in_company
async def test_a_table_with_a_beacon_does_not_start_when_it_is_full(company: Company) -> None:
    refused = await do(company.ada, "openPoker", beacon="drand 1", startWhenFull=True)
    assert invalid(refused) == ["input", "startWhenFull"]


@in_company
async def test_seeds_are_not_held_back_for_ever(company: Company) -> None:
    refused = await do(company.ada, "openTicitaire", sealedUntil="9999-12-31T23:59:59Z")
    assert what(refused) == ("SEALED_TOO_LONG", "G3")


# --- beacons ---


@in_company
async def test_a_beacon_is_given_with_the_start(company: Company) -> None:
    game = await opened(company.ada, company.bob, beacon="drand quicknet 12345678")
    assert what(await do(company.ada, "startGame", game)) == ("BEACON_MISSING", "G3")
    assert invalid(await do(company.ada, "startGame", game, beacon="a  b")) == ["input", "beacon"]
    before = await company.nobody.game(game["id"], FAIRNESS)
    assert before["fairness"]["beacon"] == {"name": "drand quicknet 12345678", "value": None}
    started = await do(company.ada, "startGame", game, beacon="5f" * 32)
    assert types(started)[0] == "game.BeaconGiven"
    after = await company.nobody.game(game["id"], FAIRNESS)
    assert after["fairness"]["beacon"] == {"name": "drand quicknet 12345678", "value": "5f" * 32}


@in_company
async def test_no_beacon_is_given_where_none_is_named(company: Company) -> None:
    game = await opened(company.ada, company.bob)
    assert what(await do(company.ada, "startGame", game, beacon="ab12")) == ("BEACON_NOT_WANTED", "G3")


# --- the options ---

SETTINGS: Final = "options { entropy revealSeconds beacon sealedUntil }"


@in_company
@pytest.mark.parametrize("kind", ["Tickle", "Poker", "Ticitaire"])
async def test_the_options_of_a_fair_deal_are_shown(company: Company, kind: str) -> None:
    until = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    asked: dict[str, Any] = {"entropy": "ALLOWED", "revealSeconds": 600, "beacon": "drand 1", "sealedUntil": until}
    query, shown = f"... on {kind}Game {{ {SETTINGS} }}", []
    for options in (dict[str, Any](), asked):
        game = (await do(company.ada, f"open{kind}", **options))["game"]
        shown.append((await company.nobody.game(game["id"], query))["options"])
    assert shown == [{"entropy": "NONE", "revealSeconds": 120, "beacon": None, "sealedUntil": None}, asked]


# --- Ticitaire ---


@in_company
async def test_ticitaire_with_entropy_is_dealt_by_the_reveal(company: Company) -> None:
    mine = own()
    game = (await do(company.ada, "openTicitaire", entropy="ALLOWED", entropyCommitment=mine.commitment))["game"]
    assert (game["status"], await actions(company.ada, game)) == ("OPEN", ["revealEntropy", "cancelGame"])
    dealt = await do(company.ada, "revealEntropy", game, entropy=mine.entropy)
    assert (types(dealt), dealt["game"]["status"]) == (["game.EntropyRevealed", "ticitaire.TableauDealt"], "PLAYING")
    await do(company.ada, "giveUpTicitaire", game)
    over = await company.nobody.game(game["id"], FAIRNESS)
    deck, _ = order_of(over["fairness"], [mine.entropy])
    exposed = json.loads(dealt["events"][1]["bytes"])["fact"]["exposed"]
    assert exposed == deck[49:56]


@in_company
async def test_ticitaire_is_called_off_before_its_deal(company: Company) -> None:
    game = (await do(company.ada, "openTicitaire", entropy="ALLOWED", entropyCommitment=own().commitment))["game"]
    ended = await do(company.ada, "cancelGame", game)
    assert types(ended) == ["game.EntropyWithheld", "game.GameCancelled"]
    assert (await company.nobody.game(game["id"], "status"))["status"] == "CANCELLED"


# --- rematches ---


@in_company
async def test_a_rematch_takes_entropy_as_its_game_did(company: Company) -> None:
    ada, bob, _, _ = company
    first, second = own(), own()
    game = (await do(ada, "openTickle", entropy="DEMANDED", entropyCommitment=first.commitment))["game"]
    await do(bob, "joinGame", game, entropyCommitment=second.commitment)
    await do(ada, "startGame", game)
    for player, mine in ((ada, first), (bob, second)):
        await do(player, "revealEntropy", game, entropy=mine.entropy)
    await do(bob, "resignGame", game)
    assert what(await do(ada, "rematchGame", game)) == ("ENTROPY_DEMANDED", "G3")
    again = await do(ada, "rematchGame", game, entropyCommitment=own().commitment)
    assert types(again) == ["tickle.GameOpened", "game.PlayerJoined", "game.EntropyCommitted"]
    joined = await do(bob, "rematchGame", game, entropyCommitment=own().commitment)
    assert types(joined) == ["game.PlayerJoined", "game.EntropyCommitted"]


# --- what the timekeeper does ---


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Passing:
    """Lets time pass: follows the log, winds the clock on, and has the timekeeper look."""

    def __init__(self, datastore: Datastore, games: Games, clock: Clock, url: str) -> None:
        self._keeper = Timekeeper(datastore, games, clock=itertools.count().__next__)
        self._follower, self._clock, self._url = Follower(datastore, Deadlines()), clock, url
        self._keeper.step()

    def deadlines(self) -> int:
        """How many games have a deadline."""
        while self._follower.step():
            pass
        with psycopg.connect(self._url) as connection:
            row = connection.execute("SELECT count(*) FROM read_models.deadlines").fetchone()
        assert row is not None
        return int(row[0])

    def wind_on(self, seconds: int) -> None:
        self.deadlines()
        self._clock.wind_on(seconds)
        with psycopg.connect(self._url) as connection:
            connection.execute("UPDATE read_models.deadlines SET due_at = clock_timestamp()")
        self._keeper.step()


@pytest.fixture
def passing(datastore: Datastore, games: Games, clock: Clock, database_url: str) -> Passing:
    return Passing(datastore, games, clock, database_url)


@pytest_asyncio.fixture
async def three(client: Client) -> Company:
    ada, bob, cyd = [await client.register(name) for name in ("Ada", "Bob", "Cyd")]
    return Company(ada, bob, cyd, client)


async def facts_after(viewer: Client, game: Any) -> list[tuple[str, str | None]]:
    """The facts since a game was shown, each with whose request it was."""
    events = await viewer.history(game["id"], fields="type player { name } seq")
    return [(one["type"], one["player"] and one["player"]["name"]) for one in events if one["seq"] > game["version"]]


async def test_entropy_that_is_withheld_ends_the_game_at_the_deadline(three: Company, passing: Passing) -> None:
    game, adas, _ = await closed(three)
    game = (await do(three.ada, "revealEntropy", game, entropy=adas.entropy))["game"]
    assert passing.deadlines() == 1
    passing.wind_on(LIMIT)
    assert await facts_after(three.nobody, game) == [
        ("game.EntropyWithheld", None),
        ("game.PlayerLeft", None),
        ("game.GameCancelled", None),
    ]
    shown = await three.nobody.game(game["id"], f"status players {{ name }} {FAIRNESS}")
    assert (shown["status"], names(shown["players"]), shown["entropyDue"]) == ("CANCELLED", ["Ada", "Bob"], [])
    assert [one["entropy"] for one in shown["fairness"]["entropies"]] == [adas.entropy, None]
    assert passing.deadlines() == 0


async def test_nothing_is_revealed_after_the_deadline(three: Company, clock: Clock) -> None:
    game, adas, _ = await closed(three)
    clock.wind_on(LIMIT)
    refused = await do(three.ada, "revealEntropy", game, entropy=adas.entropy)
    assert what(refused) == ("TIME_IS_UP", "G2")


async def test_a_table_that_was_called_off_while_entropy_was_due_has_no_deadline(
    three: Company, passing: Passing
) -> None:
    game, *_ = await closed(three)
    await do(three.ada, "cancelGame", game)
    assert passing.deadlines() == 0


async def test_ticitaire_that_is_not_revealed_in_time_is_called_off(three: Company, passing: Passing) -> None:
    game = (await do(three.ada, "openTicitaire", entropy="ALLOWED", entropyCommitment=own().commitment))["game"]
    passing.wind_on(LIMIT)
    assert await facts_after(three.nobody, game) == [("game.EntropyWithheld", None), ("game.GameCancelled", None)]


SEALED: Final = """
  status deadline fairness { seeds verification }
  ... on TickleGame { hands { hand { __typename } } deck { __typename } }
"""


def kinds_of_cards(shown: Any) -> list[set[str]]:
    return [{card["__typename"] for card in hand["hand"]} for hand in shown["hands"]]


async def held_back(company: Company, days: int = 7) -> tuple[Any, UUID]:
    """A game that is over, with its seeds held back."""
    until = datetime.now(UTC) + timedelta(days=days)
    game = await opened(company.ada, company.bob, seating="AS_JOINED", sealedUntil=until.isoformat())
    await do(company.ada, "startGame", game)
    ended = await do(company.bob, "resignGame", game)
    assert types(ended)[-2:] == ["tickle.GameFinished", "game.SeedsHeldBack"]
    return ended["game"], UUID(ended["game"]["uuid"])


async def test_seeds_that_are_held_back_come_out_at_their_time(three: Company, passing: Passing) -> None:
    game, _ = await held_back(three)
    assert passing.deadlines() == 1
    passing.wind_on(7 * 24 * 3600)
    assert await facts_after(three.nobody, game) == [("game.SeedsRevealed", None)]
    shown = await three.nobody.game(game["id"], SEALED)
    assert (shown["status"], shown["deadline"], shown["fairness"]["verification"]) == ("FINISHED", None, "PROVED")
    assert kinds_of_cards(shown) == [{"Card"}] * 2
    assert passing.deadlines() == 0


async def test_until_then_nobody_is_shown_what_was_hidden(three: Company) -> None:
    game, _ = await held_back(three)
    shown = await three.nobody.game(game["id"], SEALED)
    assert (shown["status"], shown["fairness"]) == ("FINISHED", {"seeds": None, "verification": "PENDING"})
    assert shown["deadline"] is not None
    assert kinds_of_cards(shown) == [{"HiddenCard"}] * 2
    assert {card["__typename"] for card in shown["deck"]} == {"HiddenCard"}
    own_seats = [await player.game(game["id"], SEALED) for player in (three.ada, three.bob)]
    assert [kinds_of_cards(seen) for seen in own_seats] == [[{"Card"}, {"HiddenCard"}], [{"HiddenCard"}, {"Card"}]]


async def test_until_then_no_position_and_no_replay_opens_the_cards(three: Company) -> None:
    game, _ = await held_back(three)
    query = "query ($id: ID!) { game(id: $id) { position(version: 5, revealed: true) { id } } }"
    assert (await three.ada.error(query, id=game["id"]))["extensions"]["code"] == "STILL_SEALED"
    for view, code in (("ALL", "STILL_SEALED"), ("SEAT_2", "STILL_SEALED")):
        asked = f"query ($id: ID!) {{ replay(gameId: $id, as: {view}) {{ __typename }} }}"
        assert (await three.ada.error(asked, id=game["id"]))["extensions"]["code"] == code


async def test_until_then_its_record_says_that_it_is_over_and_not_revealed(three: Company) -> None:
    _, uuid = await held_back(three)
    lines = (await three.nobody.http.get(f"/games/{uuid}.jsonl")).text.splitlines()
    closing = json.loads(lines[-1])
    assert (closing["over"], closing["revealed"]) == (True, False)


async def test_a_game_whose_seeds_are_held_back_can_be_played_again(three: Company) -> None:
    game, _ = await held_back(three)
    again = await do(three.ada, "rematchGame", game)
    shown = await three.nobody.game(again["game"]["id"], "... on TickleGame { options { sealedUntil } }")
    assert shown["options"]["sealedUntil"] is None
