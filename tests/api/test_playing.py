"""Playing Ticitaire over HTTP: a whole game to its win, the options of a table, and what may be done."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

import psycopg
import pytest

from domain.cards import DECK, Card, is_duo
from tests.client import Client
from tests.conftest import cloned, in_memory, started
from tests.server import ROOT

TABLE = """
  id version hash status
  columns { buried { ... on Card { name } ... on HiddenCard { hidden } } run { name } }
  low { name } high { name } waste { name }
  stock { ... on Card { name } ... on HiddenCard { hidden } }
  tally { moves turns recycles takeBacks } takeBacksLeft
  result { ending places { seat place } buried unplayed tally { moves turns recycles takeBacks } }
  legalActions { mutation ... on TicitaireMove { from to cards { name } } }
"""
SHOWN = f"... on CommandAccepted {{ events {{ seq }} game {{ ... on TicitaireGame {{ {TABLE} }} }} }}"

_CASES = json.loads((ROOT / "tests" / "vectors" / "ticitaire_solutions.json").read_text())["cases"]
SOLUTION = min(_CASES, key=lambda case: len(case["moves"]))
ORDER = tuple(map(Card.parse, SOLUTION["deck_top_first"]))

Step = tuple[str, dict[str, str]]


def steps(solution: Any) -> list[Step]:
    """The moves of a solution as mutations with their input."""

    def step(kind: str, *places: Any) -> Step:
        spots = [place if isinstance(place, str) else f"COLUMN_{place + 1}" for place in places]
        match kind:
            case "turn":
                return "turnTicitaireStock", {}
            case "recycle":
                return "recycleTicitaireWaste", {}
            case "waste_pile" | "waste_column":
                return "moveTicitaireCards", {"from": "WASTE", "to": spots[0].upper()}
            case _:
                return "moveTicitaireCards", {"from": spots[0].upper(), "to": spots[1].upper()}

    return [step(*move) for move in solution["moves"]]


def force_the_deck(patch: pytest.MonkeyPatch) -> None:
    """Deal the solved deck instead of the one that follows from the seed."""
    for module in ("domain.lifecycle", "domain.ticitaire.rules"):
        patch.setattr(f"{module}.deal_order", lambda *_, **__: ORDER)


def names(shown: Any) -> list[str]:
    """The cards that a part of an answer names, wherever they stand in it."""
    if isinstance(shown, dict):
        return [shown["name"]] if "name" in shown else [name for part in shown.values() for name in names(part)]
    return [name for part in shown for name in names(part)] if isinstance(shown, list) else []


# --- a whole game ---


@dataclass(frozen=True)
class Won:
    """What was shown of a game from its first move to the win, and of the finished game afterwards."""

    answers: list[Any]
    """The game after each command, the opening first."""
    told: list[int]
    """The numbers of the events that the commands answered with."""
    positions: list[Any]
    """What `position` shows afterwards of the version of each answer."""
    unrevealed: Any
    """The error of asking for all cards in the middle of the game."""
    revealed: Any
    """The deal with all cards open, asked for after the game."""
    events: list[Any]
    fairness: Any


def position(version: int | str, *options: str) -> str:
    arguments = ", ".join([f"version: {version}", *options])
    return f"position({arguments}) {{ ... on TicitaireGame {{ {TABLE} }} }}"


AT = f"query ($id: ID!, $version: Int!) {{ game(id: $id) {{ {position('$version')} }} }}"


async def _win(url: str) -> Won:
    async with started(url) as app, in_memory(app) as client:
        ada = await client.register()
        outcome = await ada.open_ticitaire(show=SHOWN)
        outcomes = [outcome]
        unrevealed: Any = None
        open_cards = position(3, "revealed: true")
        for number, (mutation, input) in enumerate(steps(SOLUTION)):
            if number == 100:
                unrevealed = await ada.error(
                    f"query ($id: ID!) {{ game(id: $id) {{ {open_cards} }} }}", id=outcome["game"]["id"]
                )
            outcome = await ada.play(mutation, outcome["game"], show=SHOWN, **input)
            assert outcome, f"the solution's move {number} was refused"
            outcomes.append(outcome)
        id = outcome["game"]["id"]
        answers = [each["game"] for each in outcomes]
        return Won(
            answers=answers,
            told=[event["seq"] for each in outcomes for event in each["events"]],
            positions=[(await ada.ask(AT, id=id, version=game["version"]))["game"]["position"] for game in answers],
            unrevealed=unrevealed,
            revealed=(await client.game(id, open_cards))["position"],
            events=await ada.history(id, first=7),
            fairness=(await client.game(id, "fairness { deal commitment seeds }"))["fairness"],
        )


@pytest.fixture(scope="module")
def won(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[Won]:
    """A solved deck, played over the API to its end, once for all tests that look at it."""
    with pytest.MonkeyPatch.context() as patch, cloned(admin, template, postgres) as url:
        force_the_deck(patch)
        yield asyncio.run(_win(url))


def test_a_solved_game_is_won(won: Won) -> None:
    last = won.answers[-1]
    assert (last["status"], last["result"]["ending"]) == ("FINISHED", "WON")
    assert last["result"]["places"] == [{"seat": 1, "place": 1}]
    assert (last["result"]["buried"], last["result"]["unplayed"], last["legalActions"]) == (0, 0, [])


def test_the_result_counts_what_was_done(won: Won) -> None:
    done = [mutation for mutation, _ in steps(SOLUTION)]
    assert won.answers[-1]["result"]["tally"] == {
        "moves": done.count("moveTicitaireCards"),
        "turns": done.count("turnTicitaireStock"),
        "recycles": done.count("recycleTicitaireWaste"),
        "takeBacks": 0,
    }


def test_the_answers_tell_every_event_once(won: Won) -> None:
    assert won.told == list(range(1, len(won.events) + 1))


def test_the_pages_of_events_are_contiguous_and_complete(won: Won) -> None:
    assert [event["seq"] for event in won.events] == list(range(1, won.answers[-1]["version"] + 1))
    assert [event["type"] for event in won.events[-2:]] == ["ticitaire.GameFinished", "game.SeedsRevealed"]


def test_the_chain_of_hashes_follows_from_the_bytes_alone(won: Won) -> None:
    computed = [hashlib.sha256(b"tic/event/v1\n" + event["bytes"].encode()).hexdigest() for event in won.events]
    previous = [json.loads(event["bytes"])["prev"] for event in won.events]
    assert previous == ["0" * 64, *computed[:-1]]
    assert [(event["hash"], event["previousHash"]) for event in won.events] == list(
        zip(computed, previous, strict=True)
    )


def test_every_answer_bore_the_hash_of_its_last_event(won: Won) -> None:
    assert [answer["hash"] for answer in won.answers] == [
        won.events[answer["version"] - 1]["hash"] for answer in won.answers
    ]


def test_every_position_is_shown_again_as_the_answers_showed_it(won: Won) -> None:
    assert won.positions == won.answers


def test_the_seed_that_is_revealed_is_the_one_that_was_committed_to(won: Won) -> None:
    (seed,) = won.fairness["seeds"]
    preimage = f"tic/chain/v1\n{won.fairness['deal']}\n1\n".encode() + bytes.fromhex(seed)
    assert hashlib.sha256(preimage).hexdigest() == won.fairness["commitment"]
    assert json.loads(won.events[0]["bytes"])["fact"]["commitment"] == won.fairness["commitment"]


def test_all_cards_are_not_shown_before_the_end(won: Won) -> None:
    assert won.unrevealed["extensions"]["code"] == "STILL_SEALED"


def test_all_cards_are_shown_after_the_end(won: Won) -> None:
    table = {part: won.revealed[part] for part in ("columns", "stock")}
    assert sorted(names(table)) == sorted(map(str, DECK))


def test_the_deal_showed_the_exposed_cards_and_no_other(won: Won) -> None:
    dealt = {part: won.answers[0][part] for part in ("columns", "stock")}
    assert names(dealt) == list(map(str, ORDER[49:56]))


async def test_a_player_opens_a_game_and_gives_it_up(client: Client) -> None:
    ada = await client.register()
    opened = await ada.open_ticitaire()
    assert opened["version"] == 3
    gone = await ada.play("giveUpTicitaire", opened["game"])
    assert [event["type"] for event in gone["events"]] == [
        "game.PlayerResigned",
        "ticitaire.GameFinished",
        "game.SeedsRevealed",
    ]


async def test_everyone_sees_the_game_and_only_its_player_has_a_seat_and_actions(client: Client) -> None:
    ada, bob = await client.register("Ada"), await client.register("Bob")
    game = (await ada.open_ticitaire())["game"]
    seen = [
        await viewer.game(game["id"], "viewerSeat legalActions { mutation } seats { number player { name } }")
        for viewer in (ada, bob, client)
    ]
    assert [view["viewerSeat"] for view in seen] == [1, None, None]
    assert [bool(view["legalActions"]) for view in seen] == [True, False, False]
    assert [view["seats"] for view in seen] == [[{"number": 1, "player": {"name": "Ada"}}]] * 3


# --- the options ---


async def test_the_options_of_a_table_are_kept(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire(takeBack=True, strictDuo=True, timeLimit=60))["game"]
    shown = await ada.game(game["id"], "... on TicitaireGame { options { takeBack strictDuo timeLimit } }")
    assert shown["options"] == {"takeBack": True, "strictDuo": True, "timeLimit": 60}


async def test_a_time_limit_sets_the_deadline_from_the_deal(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire(timeLimit=3600))["game"]
    shown = await ada.game(game["id"], "openedAt deadline")
    opened, deadline = (datetime.fromisoformat(shown[field]) for field in ("openedAt", "deadline"))
    assert deadline - opened == timedelta(hours=1)


async def test_after_the_deadline_nothing_but_giving_up_is_listed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire(timeLimit=60))["game"]

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(minutes=2)

    monkeypatch.setattr("api.games.datetime", Later)
    shown = await ada.ask("query ($id: ID!) { game(id: $id) { legalActions { mutation } } }", id=game["id"])
    assert shown["game"]["legalActions"] == [{"mutation": "giveUpTicitaire"}]


async def test_a_time_limit_out_of_range_is_invalid_input(client: Client) -> None:
    ada = await client.register()
    refused = [await ada.open_ticitaire(timeLimit=seconds) for seconds in (0, -1, 59, 2_592_001, 2**31 - 1)]
    assert [(one["__typename"], one["path"]) for one in refused] == [("InvalidInput", ["input", "timeLimit"])] * 5


async def test_taking_back_restores_the_position_and_keeps_what_was_seen(client: Client) -> None:
    ada = await client.register()
    before = (await ada.open_ticitaire(show=SHOWN, takeBack=True))["game"]
    turned = (await ada.play("turnTicitaireStock", before, show=SHOWN))["game"]
    after = (await ada.play("takeBackTicitaireMoves", turned, show=SHOWN))["game"]
    assert after["stock"] == [*turned["waste"], *before["stock"][1:]]
    assert {**after, "stock": 0} == {
        **before,
        "stock": 0,
        "version": 5,
        "hash": after["hash"],
        "tally": {"moves": 0, "turns": 1, "recycles": 0, "takeBacks": 1},
    }


async def test_several_moves_are_taken_back_at_once(client: Client) -> None:
    ada = await client.register()
    game = (await ada.open_ticitaire(show=SHOWN, takeBack=True))["game"]
    for _ in range(3):
        game = (await ada.play("turnTicitaireStock", game, show=SHOWN))["game"]
    assert game["takeBacksLeft"] == 3
    game = (await ada.play("takeBackTicitaireMoves", game, show=SHOWN, moves=3))["game"]
    assert (game["waste"], game["takeBacksLeft"]) == ([], 0)


def _first_loose_duo() -> int:
    """The number of the solution's first move that makes a Duo which the strict rule does not know."""
    low_and_high: dict[str, Card] = {}
    columns = [[ORDER[49 + c]] for c in range(7)]
    buried = [list(ORDER[7 * c : 7 * c + 7]) for c in range(7)]
    for number, (_, input) in enumerate(steps(SOLUTION)):
        source, target = (int(input[end][-1]) - 1 if "COLUMN" in input[end] else input[end] for end in ("from", "to"))
        assert isinstance(source, int), "the first loose Duo of the solution comes from a column"
        taken = columns[source] if isinstance(target, int) else columns[source][-1:]
        columns[source] = columns[source][: len(columns[source]) - len(taken)] or [buried[source].pop()]
        if isinstance(target, int):
            columns[target] += taken
            continue
        top = low_and_high.get(target)
        if top and is_duo(taken[0], top) and not is_duo(taken[0], top, strict=True):
            return number
        low_and_high[target] = taken[0]
    raise AssertionError("the solution has no loose Duo")


@pytest.mark.parametrize(("strict", "expected"), [(False, None), (True, "NO_STRICT_DUO")])
async def test_the_strict_duo_is_asked_for_where_the_table_plays_it(
    client: Client, monkeypatch: pytest.MonkeyPatch, strict: bool, expected: str | None
) -> None:
    force_the_deck(monkeypatch)
    ada = await client.register()
    outcome = await ada.open_ticitaire(strictDuo=strict)
    for mutation, input in steps(SOLUTION)[: _first_loose_duo() + 1]:
        outcome = await ada.play(mutation, outcome["game"], **input)
    assert outcome.get("code") == expected


# --- what may be done ---


@pytest.fixture
async def in_the_middle(client: Client, monkeypatch: pytest.MonkeyPatch) -> tuple[Client, Any]:
    """A player and a game that can be taken back, some way into the solution."""
    force_the_deck(monkeypatch)
    ada = await client.register()
    game = (await ada.open_ticitaire(takeBack=True))["game"]
    for mutation, input in steps(SOLUTION)[:60]:
        game = (await ada.play(mutation, game, **input))["game"]
    return ada, game


async def test_every_legal_action_is_accepted(in_the_middle: tuple[Client, Any]) -> None:
    ada, game = in_the_middle
    assert len(game["legalActions"]) > 5
    for action in game["legalActions"]:  # giving up comes last
        mutation, route = action["mutation"], {end: action[end] for end in ("from", "to") if end in action}
        outcome = await ada.play(mutation, game, **route)
        assert outcome["__typename"] == "CommandAccepted", (action, outcome)
        if mutation not in {"takeBackTicitaireMoves", "giveUpTicitaire"}:
            outcome = await ada.play("takeBackTicitaireMoves", outcome["game"])
        game = outcome["game"]
    assert game["status"] == "FINISHED"


async def test_no_move_is_accepted_that_is_not_listed(in_the_middle: tuple[Client, Any]) -> None:
    ada, game = in_the_middle
    legal = {(action["from"], action["to"]) for action in game["legalActions"] if "from" in action}
    spots = [*(f"COLUMN_{n}" for n in range(1, 8)), "LOW", "HIGH", "WASTE"]
    others = [(source, target) for source in spots for target in spots if (source, target) not in legal]
    outcomes = [await ada.play("moveTicitaireCards", game, **{"from": s, "to": t}) for s, t in others]
    assert {outcome["__typename"] for outcome in outcomes} == {"RuleViolation"}
