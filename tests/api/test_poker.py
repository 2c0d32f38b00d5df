"""Whole games of TIC Poker over HTTP and WebSockets, in all variations: what is played, what is told, and to whom."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate, combinations
from typing import Any

import psycopg
import pytest

from domain.cards import Card
from domain.poker.hands import Rank, best_hand, strength_as
from tests.api.company import DEAL, SEED, known_deal
from tests.api.poker_played import GAMES, VIEWERS, Played, course, dealt_anew, facts, names, play, shuffled
from tests.conftest import cloned


@pytest.fixture(scope="module", params=GAMES)
def played(request: pytest.FixtureRequest, admin: psycopg.Connection, template: str, postgres: str) -> Iterator[Played]:
    """A game of three, played over the API to its end, once for all tests that look at it."""
    with pytest.MonkeyPatch.context() as patch, cloned(admin, template, postgres) as url:
        known_deal(patch)
        yield asyncio.run(play(url, GAMES[request.param]))


def types(played: Played) -> list[str]:
    return [event["type"] for event in played.record]


def of_type(played: Played, topic: str) -> list[Any]:
    return [fact for kind, fact in zip(types(played), facts(played), strict=True) if kind == topic]


def tables(played: Played, viewer: str, how: str) -> list[Any]:
    told = getattr(played.told[viewer], how)
    return list(told.values() if isinstance(told, dict) else told)


every_viewer = pytest.mark.parametrize("viewer", VIEWERS)
however_shown = pytest.mark.parametrize("how", ["shown", "positions", "changes"])


# --- the course of a game ---


def test_the_turns_go_round_in_every_stage_and_the_dealer_moves_on(played: Played) -> None:
    assert [course(shown) for shown in played.shown] == played.script.course


def test_the_last_seat_deals_first_and_the_next_one_after_it(played: Played) -> None:
    dealt = [(fact["number"], fact["dealer"], fact["seats"]) for fact in of_type(played, "poker.RoundDealt")]
    assert dealt == [(1, 3, [1, 2, 3]), (2, 1, [2, 3, 1])]


def open_to(shown: Any, variation: str) -> list[tuple[str, list[int]]]:
    """What is open to the viewer of a table, exchanges with their slots."""
    seats = {seat["number"]: seat for seat in shown["round"]["seats"]}
    if shown["status"] == "FINISHED" or shown["viewerSeat"] is None:
        return []
    expected: list[tuple[str, list[int]]] = [("resignGame", [])]
    if shown["round"]["declaring"]:
        return expected + [("declarePokerHand", [])] * seats[shown["viewerSeat"]]["toAct"]
    if shown["turn"] != shown["viewerSeat"]:
        return expected
    expected.append(("keepPokerCards", []))
    draws = variation == "DRAW"
    slots = range(1, 6 if draws else 4)
    expected += [("exchangePokerCards", [slot]) for slot in slots]
    if draws:
        return expected + [("exchangePokerCards", list(two)) for two in combinations(slots, 2)]
    if shown["round"]["caller"]:
        return expected
    if variation == "COMMUNITY_EXCHANGE":
        count = len(shown["round"]["community"])
        expected += [("exchangePokerCommunityCard", [slot]) for slot in range(1, count + 1)]
    return [*expected, ("callPoker", [])]


@every_viewer
def test_what_is_open_is_listed_to_whom_it_is_open(played: Played, viewer: str) -> None:
    shown = tables(played, viewer, "shown")
    variation = played.script.options.get("variation", "STANDARD")
    listed = [[(one["mutation"], one.get("slots", [])) for one in table["legalActions"]] for table in shown]
    assert [sorted(one) for one in listed] == [sorted(open_to(table, variation)) for table in shown]


def test_what_is_told_of_a_step_is_what_was_asked_for(played: Played) -> None:
    told: dict[str, Callable[[Any], str]] = {
        "poker.CardsExchanged": lambda fact: f"exchange {' '.join(map(str, fact['slots']))}",
        "poker.CommunityCardExchanged": lambda fact: f"swap {fact['slot']}",
        "poker.CardsKept": lambda _: "keep",
        "poker.Called": lambda _: "call",
    }
    pairs = zip(types(played), facts(played), strict=True)
    steps = [f"{fact['seat']} {told[kind](fact)}" for kind, fact in pairs if kind in told]
    asked = [step.split() for step in played.script.steps if "declare" not in step]
    assert steps == [" ".join([seat, verb, *sorted(slots)]) for seat, verb, *slots in asked]


# --- who sees which cards ---


@every_viewer
@however_shown
def test_the_cards_that_a_viewer_sees_are_his_own_and_after_the_reveal_all(
    played: Played, viewer: str, how: str
) -> None:
    lays = dealt_anew(played)
    shown = [table for table in tables(played, viewer, how) if table["round"] is not None]
    found = {
        table["version"]: {one["number"]: names(one["cards"]) for one in table["round"]["seats"]} for table in shown
    }
    expected = {
        version: {
            seat: cards if lays[version].open or viewer == f"seat {seat}" else ["hidden"] * len(cards)
            for seat, cards in lays[version].private.items()
        }
        for version in found
    }
    assert found == expected
    assert len(shown) >= (2 if how == "changes" else len(played.script.course))


@every_viewer
@however_shown
def test_the_community_cards_keep_their_slots(played: Played, viewer: str, how: str) -> None:
    lays = dealt_anew(played)
    shown = [table for table in tables(played, viewer, how) if table["round"] is not None]
    found = {table["version"]: names(table["round"]["community"]) for table in shown}
    assert found == {version: lays[version].community for version in found}


@every_viewer
@however_shown
def test_a_round_that_was_played_lies_open_to_everyone(played: Played, viewer: str, how: str) -> None:
    ends = [seq for seq, kind in enumerate(types(played), 1) if kind == "poker.RoundScored"]
    at_the_end = [dealt_anew(played)[seq].private for seq in ends]
    for table in tables(played, viewer, how):
        rounds = [{seat["number"]: names(seat["cards"]) for seat in one["seats"]} for one in table["playedRounds"]]
        assert rounds == at_the_end[: sum(seq <= table["version"] for seq in ends)]


def test_all_cards_are_shown_after_the_end_as_they_follow_from_the_seeds(played: Played) -> None:
    found = {
        version: {seat["number"]: names(seat["cards"]) for seat in table["round"]["seats"]}
        for version, table in played.revealed.items()
    }
    assert found == {version: lay.private for version, lay in dealt_anew(played).items()}


def test_all_cards_are_not_shown_before_the_end(played: Played) -> None:
    assert played.early["extensions"]["code"] == "STILL_SEALED"


@every_viewer
def test_every_position_is_shown_again_as_it_was_shown_then(played: Played, viewer: str) -> None:
    told = played.told[viewer]
    assert told.positions == {
        version: {name: value for name, value in shown.items() if name != "id"} for version, shown in told.shown.items()
    }


@every_viewer
def test_whoever_follows_the_changes_sees_what_all_see_who_look(played: Played, viewer: str) -> None:
    told = played.told[viewer]
    known = [change for change in told.changes if change["version"] in told.positions]
    assert known == [told.positions[change["version"]] for change in known]
    assert told.changes[-1]["status"] == "FINISHED"


@every_viewer
@pytest.mark.parametrize("how", ["history", "events", "answers"])
def test_the_cards_that_came_with_an_event_are_told_to_the_seat_they_came_to(
    played: Played, viewer: str, how: str
) -> None:
    lays = dealt_anew(played)
    told = getattr(played.told[viewer], how)
    events = [event for answer in told for event in answer["events"]] if how == "answers" else told
    seat = int(viewer[-1]) if viewer.startswith("seat") else 0
    found = {event["seq"]: names(event["cards"]) for event in events}
    assert found == {seq: lays[seq].came.get(seat, []) if seq in lays else [] for seq in found}
    assert how == "answers" or list(found) == list(range(1, len(played.record) + 1))


@every_viewer
def test_whoever_follows_the_events_is_told_what_the_pages_tell(played: Played, viewer: str) -> None:
    assert played.told[viewer].events == played.told[viewer].history


# --- declaring, places and points ---


def best_of(played: Played) -> list[dict[int, dict[str, Any]]]:
    """For each round the best hand of each seat, from the cards as they follow from the seeds."""
    best: list[dict[int, dict[str, Any]]] = []
    for seq, lay in dealt_anew(played).items():
        if types(played)[seq - 1] == "poker.RoundScored":
            hands = {
                seat: best_hand(list(map(Card.parse, [*own, *lay.community]))) for seat, own in lay.private.items()
            }
            best.append({seat: hand_of(hand.rank, map(str, hand.cards)) for seat, hand in hands.items()})
    return best


def hand_of(rank: Rank, cards: Any) -> dict[str, Any]:
    strength = strength_as(rank, map(Card.parse, cards))
    return {"rank": rank.name, "total": strength.total, "cards": [{"name": str(card)} for card in strength.cards]}


def declared_in(played: Played) -> list[dict[int, dict[str, Any]]]:
    """For each round what each seat has declared; its best hand where the cards speak."""
    if played.script.options.get("cardsSpeak"):
        return best_of(played)
    return [
        {one.seat: hand_of(Rank[one.rank], one.cards) for one in played.declared if one.round == number}
        for number in (1, 2)
    ]


def by_seat(rounds: list[Any], what: str) -> list[dict[int, Any]]:
    return [{seat["number"]: seat[what] for seat in one["seats"]} for one in rounds]


def test_what_was_declared_stands_beside_the_best_hand_that_was_possible(played: Played) -> None:
    rounds = played.over["playedRounds"]
    assert by_seat(rounds, "declared") == declared_in(played)
    assert by_seat(rounds, "best") == best_of(played)


def test_no_best_hand_is_told_before_the_round_is_over(played: Played) -> None:
    rounds = [table["round"] for table in played.revealed.values()]
    assert {(one["over"], seat["best"] is not None) for one in rounds for seat in one["seats"]} == {
        (False, False),
        (True, True),
    }


def test_a_declaration_is_told_as_soon_as_it_is_made_and_none_before(played: Played) -> None:
    for shown in played.shown[:-1]:
        seats = shown["round"]["seats"]
        done = [seat["number"] for seat in seats if shown["round"]["declaring"] and not seat["toAct"]]
        assert [seat["number"] for seat in seats if seat["declared"]] == done, course(shown)


def test_a_false_declaration_is_refused_and_nothing_is_recorded(played: Played) -> None:
    false = [step for step in played.script.steps if step.endswith("falsely")]
    assert [(one["code"], one["ruling"], one["path"]) for one in played.refused] == [
        ("FALSE_DECLARATION", "P5", ["input"])
    ] * len(false)
    assert len(played.shown) == 1 + len(played.script.steps) - len(false)


def test_the_rank_that_was_declared_decides_the_places(played: Played) -> None:
    expected = []
    for hands in declared_in(played):
        strength = {
            seat: strength_as(Rank[hand["rank"]], map(Card.parse, names(hand["cards"]))) for seat, hand in hands.items()
        }
        expected.append({seat: 1 + sum(other > own for other in strength.values()) for seat, own in strength.items()})
    assert by_seat(played.over["playedRounds"], "place") == expected


def test_a_place_has_its_points(played: Played) -> None:
    rounds = played.over["playedRounds"]
    places = by_seat(rounds, "place")
    assert by_seat(rounds, "points") == [{seat: 4 - place for seat, place in one.items()} for one in places]


def test_points_are_added_up_round_by_round(played: Played) -> None:
    points = [[one[seat] for seat in (1, 2, 3)] for one in by_seat(played.over["playedRounds"], "points")]
    sums = list(accumulate(points, lambda a, b: [x + y for x, y in zip(a, b, strict=True)], initial=[0, 0, 0]))
    shown = [([seat["points"] for seat in table["standings"]], len(table["playedRounds"])) for table in played.shown]
    assert [points for points, _ in shown] == [sums[rounds] for _, rounds in shown]
    assert sorted({rounds for _, rounds in shown}) == [0, 1, 2]


def test_the_most_points_win_the_game(played: Played) -> None:
    points = [seat["points"] for seat in played.over["standings"]]
    lines = [
        {"seat": seat, "place": 1 + sum(more > own for more in points), "points": own, "resigned": False}
        for seat, own in enumerate(points, 1)
    ]
    assert played.over["result"] == {"ending": "ROUNDS", "places": lines}
    assert [shown["result"] for shown in played.shown[:-1]] == [None] * (len(played.shown) - 1)


# --- the record ---


def test_the_seeds_of_all_rounds_hash_to_what_was_committed_to(played: Played) -> None:
    seeds, link = played.fairness["seeds"], played.fairness["seeds"][-1]
    for number in range(len(seeds), 0, -1):
        assert link == seeds[number - 1]
        preimage = f"tic/chain/v1\n{DEAL}\n{number}\n".encode() + bytes.fromhex(link)
        link = hashlib.sha256(preimage).hexdigest()
    assert link == played.fairness["commitment"] == facts(played)[0]["commitment"]
    assert len(seeds) == 2


def test_the_seeds_of_rounds_that_were_not_played_stay_sealed(played: Played) -> None:
    assert SEED.hex() not in json.dumps([played.fairness, played.record])


def test_the_seats_follow_from_the_first_seed_and_the_order_of_joining(played: Played) -> None:
    order = shuffled(["0", "1", "2"], played.fairness["seeds"][0], f"tic/seats/v1\n{DEAL}\n", players=3)
    assert played.joined == [order.index(str(place)) + 1 for place in range(3)]


def test_the_record_names_no_private_card_before_the_reveal(played: Played) -> None:
    closed = {seq: lay for seq, lay in dealt_anew(played).items() if not lay.open}
    named = {seq: set(re.findall(r'"(\d-[a-z]+-[a-z]+)"', played.record[seq - 1]["bytes"])) for seq in closed}
    assert len(closed) > 20
    assert {seq: cards for seq, cards in named.items() if not cards <= set(closed[seq].community)} == {}


def test_the_cards_in_the_record_are_those_that_follow_from_the_seeds(played: Played) -> None:
    lays = dealt_anew(played)
    for seq, (kind, fact) in enumerate(zip(types(played), facts(played), strict=True), 1):
        match kind:
            case "poker.RoundDealt":
                assert fact["community"] == lays[seq].community
            case "poker.CommunityCardTurned":
                assert fact["card"] == lays[seq].community[-1]
            case "poker.CommunityCardExchanged":
                assert fact["card"] == lays[seq].community[fact["slot"] - 1]
            case "poker.HandsRevealed":
                assert {hand["seat"]: hand["cards"] for hand in fact["hands"]} == lays[seq].private


def test_the_stored_bytes_are_the_same_for_all(played: Played) -> None:
    stored = [[event["bytes"] for event in told.history] for told in played.told.values()]
    assert stored == [stored[0]] * len(VIEWERS)


def test_the_answers_tell_every_event_from_the_start_on_once(played: Played) -> None:
    told = [event["seq"] for told in played.told.values() for answer in told.answers for event in answer["events"]]
    assert sorted(told) == list(range(5, len(played.record) + 1))


def test_the_record_closes_with_the_result_and_the_seeds(played: Played) -> None:
    assert types(played)[-3:] == ["poker.RoundScored", "poker.GameFinished", "game.SeedsRevealed"]
