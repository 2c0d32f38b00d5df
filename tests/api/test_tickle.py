"""A whole game of Tickle over HTTP and WebSockets: what is played, what is told of it, and to whom."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.api.company import DEAL, HANDS, known_deal, order_of
from tests.api.tickle_game import VIEWERS, Played, play_over_the_api
from tests.conftest import cloned


@pytest.fixture(scope="module")
def played(admin: psycopg.Connection, template: str, postgres: str) -> Iterator[Played]:
    """A game of two, played over the API to its end, once for all tests that look at it."""
    with pytest.MonkeyPatch.context() as patch, cloned(admin, template, postgres) as url:
        known_deal(patch)
        yield asyncio.run(play_over_the_api(url))


def names(hand: list[Any]) -> list[str]:
    """The open cards of a hand."""
    return [card["name"] for card in hand if "name" in card]


def facts(played: Played) -> list[Any]:
    return [json.loads(event["bytes"])["fact"] for event in played.record]


def types(played: Played) -> list[str]:
    return [event["type"] for event in played.record]


# --- the game ---


def test_the_game_ends_with_its_final_stage_and_counts_the_cards_in_hand(played: Played) -> None:
    lost = {"seat": 1, "place": 2, "points": 98, "cards": 1, "total": 93, "resigned": False}
    won = {"seat": 2, "place": 1, "points": 131, "cards": 0, "total": 131, "resigned": False}
    assert (played.over["status"], played.over["finalStage"]) == ("FINISHED", "HAND_LAID")
    assert played.over["result"] == {"ending": "FINAL_STAGE", "places": [lost, won]}


def test_the_points_of_a_seat_are_those_of_its_laydowns(played: Played) -> None:
    sums = [sum(laydown.scored["total"] for laydown in played.laydowns if laydown.seat == seat) for seat in (1, 2)]
    assert [seat["points"] for seat in played.over["hands"]] == sums


def test_a_laydown_scores_what_the_search_and_the_check_promised(played: Played) -> None:
    assert [(one.promised, one.checked["score"]) for one in played.laydowns] == [
        (one.scored["total"], one.scored) for one in played.laydowns
    ]


def test_a_laydown_that_is_played_was_legal_before(played: Played) -> None:
    assert [(one.checked["legal"], one.checked["reasons"]) for one in played.laydowns] == [(True, [])] * 19


def test_the_parts_of_a_score_make_its_total(played: Played) -> None:
    parts = ("ticPoints", "groupPoints", "extremePoints", "sixCardPoints")
    scores = [one.scored for one in played.laydowns]
    assert [sum(score[part] for part in parts) for score in scores] == [score["total"] for score in scores]
    assert [sum(group["bonus"] for group in score["groups"]) for score in scores] == [
        score["groupPoints"] for score in scores
    ]
    assert [sum(group["extreme"] for group in score["groups"]) for score in scores] == [
        score["extremePoints"] for score in scores
    ]


def test_every_new_contact_is_told_once_and_as_what_it_is(played: Played) -> None:
    grid: dict[tuple[int, int], str] = {}
    for laydown in played.laydowns:
        new = {(one["x"], one["y"]): one["card"] for one in laydown.cards}
        grid |= new
        expected = {
            ((x, y), other): len(set(card.split("-")) & set(grid[other].split("-")))
            for (x, y), card in grid.items()
            for other in ((x + 1, y), (x, y + 1))
            if other in grid and ((x, y) in new or other in new)
        }
        told = {
            ((one["a"]["x"], one["a"]["y"]), (one["b"]["x"], one["b"]["y"])): {"TIC": 2, "SINGLE": 1}[one["kind"]]
            for one in laydown.scored["contacts"]
        }
        assert (told, len(laydown.scored["contacts"])) == (expected, len(expected))
        assert laydown.scored["ticPoints"] == 2 * sum(common == 2 for common in expected.values())


def test_six_cards_and_the_extreme_cards_were_paid_for(played: Played) -> None:
    assert {one.scored["sixCardPoints"] for one in played.laydowns if len(one.cards) == 6} == {6}
    assert sum(one.scored["extremePoints"] for one in played.laydowns) > 0


def test_the_grid_shows_what_was_laid_row_by_row(played: Played) -> None:
    laid = [one for laydown in played.laydowns for one in laydown.cards]
    shown = [{**one, "card": one["card"]["name"]} for one in played.over["grid"]]
    assert shown == sorted(laid, key=lambda one: (one["y"], one["x"]))


def test_what_was_done_was_listed_as_open(played: Played) -> None:
    assert [(legal, done) for legal, done in played.chosen if done not in legal] == []
    assert {done for _, done in played.chosen} == {"layTickleCards", "drawTickleCard", "declineTickleLaydown"}


def test_drawing_was_open_only_where_laying_was_not(played: Played) -> None:
    open_to = [set(legal) for legal, _ in played.chosen]
    assert [legal for legal in open_to if legal >= {"layTickleCards", "drawTickleCard"}] == []


def test_the_deck_runs_out_and_the_cards_set_aside_stay(played: Played) -> None:
    counts = [shown["deckCount"] for _, shown in sorted(played.told["nobody"].shown.items())]
    assert (counts[0], counts[-1]) == (125 - 62 - 12, 0)
    assert counts == sorted(counts, reverse=True)
    assert {shown["setAsideCount"] for shown in played.told["nobody"].shown.values()} == {62}


# --- who sees which cards ---


def tables_of(played: Played, viewer: str, how: str) -> list[Any]:
    """The tables that a viewer was shown in one of the ways."""
    told = getattr(played.told[viewer], how)
    return list(told.values() if isinstance(told, dict) else told)


def hidden_cards(table: Any) -> list[Any]:
    """As many hidden cards as the deck and what is set aside have."""
    return [{"hidden": True}] * (table["deckCount"] + table["setAsideCount"])


@pytest.mark.parametrize("viewer", VIEWERS)
@pytest.mark.parametrize("how", ["shown", "positions", "changes"])
def test_a_hand_is_open_to_its_own_seat_and_hidden_from_all_others(played: Played, viewer: str, how: str) -> None:
    tables = tables_of(played, viewer, how)
    hands = [hand for table in tables if table["version"] < played.over["version"] for hand in table["hands"]]
    assert hands
    for hand in hands:
        open_cards = len(names(hand["hand"]))
        assert len(hand["hand"]) == hand["handCount"]
        assert open_cards == (hand["handCount"] if viewer == f"seat {hand['number']}" else 0), hand


@pytest.mark.parametrize("viewer", VIEWERS)
@pytest.mark.parametrize("how", ["shown", "positions", "changes"])
def test_all_cards_are_open_to_all_once_the_game_is_over(played: Played, viewer: str, how: str) -> None:
    (last,) = [table for table in tables_of(played, viewer, how) if table["version"] == played.over["version"]]
    deck, _ = order_of(played.fairness, ["-", "-"])
    shown = [names(seat["hand"]) for seat in last["hands"]]
    assert ([len(hand) for hand in shown], names(last["deck"]), names(last["setAside"])) == ([1, 0], [], deck[-62:])


@pytest.mark.parametrize("viewer", VIEWERS)
@pytest.mark.parametrize("how", ["shown", "positions", "changes"])
def test_the_deck_and_what_is_set_aside_are_hidden_from_all_before_that(played: Played, viewer: str, how: str) -> None:
    tables = [table for table in tables_of(played, viewer, how) if table["version"] < played.over["version"]]
    assert [(len(table["deck"]), len(table["setAside"])) for table in tables] == [
        (table["deckCount"], table["setAsideCount"]) for table in tables
    ]
    assert [table["version"] for table in tables if table["deck"] + table["setAside"] != hidden_cards(table)] == []


@pytest.mark.parametrize("viewer", VIEWERS)
def test_the_card_that_was_drawn_is_told_to_the_seat_that_drew_it(played: Played, viewer: str) -> None:
    shown = played.told[viewer].shown.values()
    turns = [table["turn"] for table in shown if table["turn"] and table["turn"]["drawn"]]
    assert len(turns) == 4
    assert [turn for turn in turns if ("name" in turn["drawn"]) != (viewer == f"seat {turn['seat']}")] == []


def test_the_hands_that_were_dealt_are_those_that_follow_from_the_seed(played: Played) -> None:
    first = min(played.told["nobody"].shown)
    hands = [played.told[f"seat {seat}"].shown[first]["hands"][seat - 1]["hand"] for seat in (1, 2)]
    assert [tuple(names(hand)) for hand in hands] == list(HANDS)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_every_position_is_shown_again_as_it_was_shown_then(played: Played, viewer: str) -> None:
    told = played.told[viewer]
    assert told.positions == {
        version: {name: value for name, value in shown.items() if name != "id"} for version, shown in told.shown.items()
    }


@pytest.mark.parametrize("viewer", VIEWERS)
def test_whoever_follows_the_changes_sees_what_all_see_who_look(played: Played, viewer: str) -> None:
    told = played.told[viewer]
    known = [change for change in told.changes if change["version"] in told.positions]
    assert known == [told.positions[change["version"]] for change in known]
    assert told.changes[-1]["status"] == "FINISHED"


def test_all_hands_are_not_shown_before_the_end(played: Played) -> None:
    assert played.refused["extensions"]["code"] == "STILL_SEALED"


# --- the record ---


def redealt(played: Played) -> tuple[dict[int, list[list[str]]], dict[int, tuple[int, list[str]]]]:
    """The hands after every event, and who got which cards with it, from the record and the seed alone."""
    deck, _ = order_of(played.fairness, ["-", "-"])
    hands, after, came, at = [deck[:6], deck[6:12]], {}, dict[int, tuple[int, list[str]]](), 12
    for seq, event in enumerate(played.record, 1):
        fact = json.loads(event["bytes"])["fact"]
        match event["type"]:
            case "tickle.HandRefilled" | "tickle.CardDrawn":
                new = deck[at : at + fact.get("cards", 1)]
                at += len(new)
                hands[fact["seat"] - 1] = [*hands[fact["seat"] - 1], *new]
                came[seq] = fact["seat"], new
            case "tickle.LaydownPlayed":
                gone = [one["card"] for one in fact["cards"]]
                hands[fact["seat"] - 1] = [card for card in hands[fact["seat"] - 1] if card not in gone]
        after[seq] = list(hands)
    return after, came


def test_the_seed_that_is_revealed_is_the_one_that_was_committed_to(played: Played) -> None:
    (seed,), deal = played.fairness["seeds"], played.fairness["deal"]
    preimage = f"tic/chain/v1\n{deal}\n1\n".encode() + bytes.fromhex(seed)
    opening = facts(played)[0]
    assert (deal, opening["deal"]) == (str(DEAL), str(DEAL))
    assert hashlib.sha256(preimage).hexdigest() == played.fairness["commitment"] == opening["commitment"]


def test_the_seats_follow_from_the_seed_and_the_order_of_joining(played: Played) -> None:
    of_type = {
        topic: [fact["player"] for kind, fact in zip(types(played), facts(played), strict=True) if kind == topic]
        for topic in ("game.PlayerJoined", "game.PlayerSeated")
    }
    _, order = order_of(played.fairness, ["-", "-"])
    joined = of_type["game.PlayerJoined"]
    assert of_type["game.PlayerSeated"] == [joined[int(place)] for place in order]


def test_all_hands_are_shown_after_the_end_as_they_follow_from_the_seed(played: Played) -> None:
    after, _ = redealt(played)
    shown = {version: [names(seat["hand"]) for seat in table["hands"]] for version, table in played.revealed.items()}
    assert shown == {version: after[version] for version in played.revealed}


def test_the_deck_of_every_position_is_shown_after_the_end_as_it_follows_from_the_seed(played: Played) -> None:
    deck, _ = order_of(played.fairness, ["-", "-"])
    for table in played.revealed.values():
        left = deck[63 - table["deckCount"] : 63]
        assert (names(table["deck"]), names(table["setAside"])) == (left, deck[63:]), table["version"]


@pytest.mark.parametrize("viewer", VIEWERS)
@pytest.mark.parametrize("how", ["history", "events", "answers"])
def test_the_cards_that_came_with_an_event_are_told_to_the_seat_they_came_to(
    played: Played, viewer: str, how: str
) -> None:
    _, came = redealt(played)
    dealt = types(played).index("tickle.HandsDealt") + 1
    expected = {seq: cards for seq, (seat, cards) in came.items() if viewer == f"seat {seat}"}
    if viewer.startswith("seat"):
        expected[dealt] = list(HANDS[int(viewer[-1]) - 1])
    told = getattr(played.told[viewer], how)
    events = [event for answer in told for event in answer["events"]] if how == "answers" else told
    shown = {event["seq"]: names(event["cards"]) for event in events}
    assert shown == {seq: expected.get(seq, []) for seq in shown}
    assert how == "answers" or list(shown) == list(range(1, len(played.record) + 1))


def test_the_answers_tell_every_event_from_the_start_on_once(played: Played) -> None:
    told = [event["seq"] for told in played.told.values() for answer in told.answers for event in answer["events"]]
    assert sorted(told) == list(range(4, len(played.record) + 1))


@pytest.mark.parametrize("viewer", VIEWERS)
def test_whoever_follows_the_events_is_told_what_the_pages_tell(played: Played, viewer: str) -> None:
    assert played.told[viewer].events == played.told[viewer].history


def test_the_stored_bytes_are_the_same_for_all(played: Played) -> None:
    stored = [[event["bytes"] for event in told.history] for told in played.told.values()]
    assert stored == [stored[0]] * len(VIEWERS)


def test_the_record_names_no_card_before_it_is_laid(played: Played) -> None:
    deck, _ = order_of(played.fairness, ["-", "-"])
    named = [card for event in played.record for card in deck if f'"{card}"' in event["bytes"]]
    assert sorted(named) == sorted(one["card"] for laydown in played.laydowns for one in laydown.cards)


def test_the_chain_of_hashes_follows_from_the_bytes_alone(played: Played) -> None:
    computed = [hashlib.sha256(b"tic/event/v1\n" + event["bytes"].encode()).hexdigest() for event in played.record]
    previous = [json.loads(event["bytes"])["prev"] for event in played.record]
    assert previous == ["0" * 64, *computed[:-1]]
    assert [event["hash"] for event in played.record] == computed


def test_the_record_closes_with_the_seeds(played: Played) -> None:
    assert types(played)[-2:] == ["tickle.GameFinished", "game.SeedsRevealed"]
