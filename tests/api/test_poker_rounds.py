"""Rounds of TIC Poker over HTTP: declaring, resigning in the middle of it, and playing again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from tests.api.company import actions, do, house, known_deck, types
from tests.api.company import names as names_of
from tests.api.poker_evening import ADAS, BOBS, Evening, poker_started, what
from tests.api.poker_played import ON_TABLE, names
from tests.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def nobody(admin: psycopg.Connection, template: str, postgres: str) -> AsyncIterator[Client]:
    """A client without a token."""
    async with house(admin, template, postgres) as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
def deck() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        known_deck(patch)
        yield


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def company(nobody: Client) -> list[Client]:
    return [await nobody.register(name) for name in ("Ada", "Bob", "Cyd")]


@pytest_asyncio.fixture(loop_scope="module")
async def evening(company: list[Client]) -> Evening:
    """The evening when cards are turned up, in the first of two rounds."""
    ada, bob, cyd = company
    return await Evening(ada, bob, cyd, await poker_started(ada, bob, rounds=2)).declaring()


async def declare(player: Client, game: Any, cards: list[str], rank: str, **input: Any) -> Any:
    """Declare without a version."""
    return await do(player, "declarePokerHand", {"id": game["id"]}, cards=cards, rank=rank, **input)


async def shown(viewer: Client, game: Any) -> Any:
    return await viewer.game(game["id"], ON_TABLE)


# --- declaring ---


@pytest.mark.parametrize("rank", ["TWO_TIC_PAIRS", "LITTLE_HOUSE", "TIC_PAIR", "THREE_CARD_SINGLE", "HIGH_CARD"])
async def test_every_rank_that_the_cards_have_may_be_declared(evening: Evening, rank: str) -> None:
    outcome = await declare(evening.ada, evening.game, ADAS, rank)
    assert types(outcome) == ["poker.HandDeclared"]
    declared = (await shown(evening.bob, evening.game))["round"]["seats"][0]["declared"]
    assert (declared["rank"], declared["total"]) == (rank, 9 + 11 + 11 + 14 + 12)


async def test_a_declared_hand_shows_its_strongest_card_first(evening: Evening) -> None:
    await declare(evening.ada, evening.game, ADAS, "HIGH_CARD")
    declared = (await shown(evening.bob, evening.game))["round"]["seats"][0]["declared"]
    order = ["5-square-red", "4-square-orange", "3-star-yellow", "2-square-red", "3-star-violet"]
    assert names(declared["cards"]) == order


@pytest.mark.parametrize(
    "rank",
    ["FOUR_CARD_SINGLE", "FIVE_CARD_SINGLE", "THREE_CARD_TIC", "BIG_HOUSE", "FOUR_CARD_TIC", "FIVE_CARD_TIC"],
)
async def test_a_rank_that_the_cards_do_not_have_is_refused(evening: Evening, rank: str) -> None:
    refused = await declare(evening.ada, evening.game, ADAS, rank)
    assert what(refused) == ("FALSE_DECLARATION", "P5")
    assert await evening.version() == evening.game["version"]


async def test_after_a_false_declaration_a_true_one_is_accepted(evening: Evening) -> None:
    await declare(evening.ada, evening.game, ADAS, "BIG_HOUSE")
    assert types(await declare(evening.ada, evening.game, ADAS, "TIC_PAIR")) == ["poker.HandDeclared"]


async def test_a_false_declaration_spends_no_key(evening: Evening) -> None:
    key = {"idempotencyKey": "my hand in round 1"}
    await declare(evening.ada, evening.game, ADAS, "BIG_HOUSE", **key)
    assert types(await declare(evening.ada, evening.game, ADAS, "TIC_PAIR", **key)) == ["poker.HandDeclared"]


@pytest.mark.parametrize(
    ("cards", "code"),
    [
        pytest.param(BOBS, "NOT_YOUR_CARDS", id="another seat's"),
        pytest.param([*ADAS[:4], "5-star-red"], "NOT_YOUR_CARDS", id="one that lies nowhere"),
        pytest.param([*ADAS[:4], ADAS[0]], "NOT_FIVE_CARDS", id="one twice"),
        pytest.param([ADAS[0]] * 5, "NOT_FIVE_CARDS", id="one five times"),
    ],
)
async def test_a_hand_of_other_cards_is_refused(evening: Evening, cards: list[str], code: str) -> None:
    assert what(await declare(evening.ada, evening.game, cards, "HIGH_CARD")) == (code, "P5")
    assert await evening.version() == evening.game["version"]


@pytest.mark.parametrize(
    ("cards", "path"),
    [
        pytest.param([], ["cards"], id="no cards"),
        pytest.param(ADAS[:4], ["cards"], id="four cards"),
        pytest.param([*ADAS, "5-star-red"], ["cards"], id="six cards"),
        *(
            pytest.param([*ADAS[:3], name, ADAS[4]], ["cards", "3"], id=id)
            for name, id in {
                "": "no name",
                "5-square": "half a name",
                "6-square-red": "a number too high",
                "5-square-green": "a colour that is none",
                "5-SQUARE-RED": "in capitals",
                " 5-square-red": "with a blank",
                "red-square-5": "in another order",
                "\N{ARABIC-INDIC DIGIT FIVE}-square-red": "a digit of another script",
            }.items()
        ),
    ],
)
async def test_what_is_no_hand_is_invalid_input(evening: Evening, cards: list[str], path: list[str]) -> None:
    refused = await declare(evening.ada, evening.game, cards, "HIGH_CARD")
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["input", *path])


async def test_a_rank_that_there_is_none_of_is_the_clients_mistake(evening: Evening) -> None:
    document = "mutation ($input: DeclarePokerHandInput!) { declarePokerHand(input: $input) { __typename } }"
    input = {"gameId": evening.game["id"], "cards": ADAS}
    errors = [await evening.ada.error(document, input={**input, "rank": rank}) for rank in ("FLUSH", 1, "high_card")]
    assert [error["extensions"]["code"] for error in errors] == ["BAD_USER_INPUT"] * 3


async def test_hands_are_declared_when_the_cards_are_turned_up(evening: Evening) -> None:
    for step in (0, 1):
        game = await poker_started(evening.ada, evening.bob)
        if step:
            await do(evening.ada, "callPoker", game)
        assert what(await declare(evening.ada, game, ADAS, "HIGH_CARD")) == ("NOT_REVEALED", "P5")


async def test_a_seat_declares_once_in_a_round(evening: Evening) -> None:
    await declare(evening.ada, evening.game, ADAS, "TIC_PAIR")
    refused = await declare(evening.ada, evening.game, ADAS, "TWO_TIC_PAIRS")
    assert what(refused) == ("ALREADY_DECLARED", "P5")


@pytest.mark.parametrize(
    ("rank", "places"), [("TWO_TIC_PAIRS", [(1, 2), (2, 1)]), ("HIGH_CARD", [(2, 1), (1, 2)])], ids=["best", "modest"]
)
async def test_a_hand_counts_as_what_was_declared(evening: Evening, rank: str, places: Any) -> None:
    await declare(evening.ada, evening.game, ADAS, rank)
    outcome = await declare(evening.bob, evening.game, BOBS, "FOUR_CARD_SINGLE")
    assert types(outcome) == ["poker.HandDeclared", "poker.RoundScored", "poker.RoundDealt", "game.TurnBegan"]
    played = (await shown(evening.bob, evening.game))["playedRounds"][0]
    assert [(seat["place"], seat["points"]) for seat in played["seats"]] == places
    assert [seat["best"]["rank"] for seat in played["seats"]] == ["TWO_TIC_PAIRS", "FOUR_CARD_SINGLE"]


async def test_hands_may_be_declared_at_once(company: list[Client]) -> None:
    game = await of_three(company, rounds=1)
    for player, mutation in zip(company, ("callPoker", "keepPokerCards", "keepPokerCards"), strict=True):
        game = (await do(player, mutation, game))["game"]
    turned_up = (await shown(company[0], game))["round"]
    hands = [names([*seat["cards"], *turned_up["community"]]) for seat in turned_up["seats"]]
    outcomes = await asyncio.gather(
        *(declare(player, game, hand, "HIGH_CARD") for player, hand in zip(company, hands, strict=True))
    )
    assert sorted(len(types(outcome)) for outcome in outcomes) == [1, 1, 4]
    assert sorted(seat["points"] for seat in (await shown(company[0], game))["standings"]) == [1, 2, 3]


async def test_a_round_that_was_played_is_shown_in_the_next_one_as_it_was_shown_then(evening: Evening) -> None:
    closed = evening.game["version"] - 1  # the last turn was over, and the cards were not turned up
    await declare(evening.ada, evening.game, ADAS, "TIC_PAIR")
    await declare(evening.bob, evening.game, BOBS, "HIGH_CARD")
    then = f"position(version: {closed}) {{ {ON_TABLE} }}"
    hidden = ["hidden"] * 3
    for viewer, expected in (
        (evening.ada, [ADAS[:3], hidden]),
        (evening.bob, [hidden, BOBS[:3]]),
        (evening.eve, [hidden, hidden]),
    ):
        seats = (await viewer.game(evening.game["id"], then))["position"]["round"]["seats"]
        assert [names(seat["cards"]) for seat in seats] == expected


# --- what the facts tell ---


async def told(game: Any, viewer: Client, *fields: str) -> list[Any]:
    found = await viewer.history(game["id"], fields=f"fact {{ type {' '.join(fields)} }}")
    return [{**event["fact"]} for event in found]


async def test_the_facts_of_a_round_are_told_with_their_types(evening: Evening) -> None:
    await declare(evening.ada, evening.game, ADAS, "TIC_PAIR")
    await declare(evening.bob, evening.game, BOBS, "HIGH_CARD")
    facts = await told(
        evening.game,
        evening.eve,
        "... on PokerRoundDealt { number dealer seats private community { name } entropies beacon }",
        "... on TurnBegan { seat deadline }",
        "... on PokerCalled { seat }",
        "... on PokerCardsKept { seat }",
        "... on PokerHandsRevealed { hands { seat cards { name } } deadline }",
        "... on PokerHandDeclared { seat hand { rank } }",
        "... on PokerRoundScored { places { seat place points } }",
    )
    start = next(seq for seq, fact in enumerate(facts) if fact["type"] == "poker.RoundDealt")
    dealt = {"type": "poker.RoundDealt", "private": 3, "community": [{"name": name} for name in ADAS[3:]]}
    dealt |= {"entropies": ["-", "-"], "beacon": ""}
    hands = [
        {"seat": seat, "cards": [{"name": name} for name in cards[:3]]} for seat, cards in enumerate([ADAS, BOBS], 1)
    ]
    places = [{"seat": 1, "place": 1, "points": 2}, {"seat": 2, "place": 2, "points": 1}]
    assert facts[start:] == [
        {**dealt, "number": 1, "dealer": 2, "seats": [1, 2]},
        {"type": "game.TurnBegan", "seat": 1, "deadline": None},
        {"type": "poker.Called", "seat": 1},
        {"type": "game.TurnBegan", "seat": 2, "deadline": None},
        {"type": "poker.CardsKept", "seat": 2},
        {"type": "poker.HandsRevealed", "hands": hands, "deadline": None},
        {"type": "poker.HandDeclared", "seat": 1, "hand": {"rank": "TIC_PAIR"}},
        {"type": "poker.HandDeclared", "seat": 2, "hand": {"rank": "HIGH_CARD"}},
        {"type": "poker.RoundScored", "places": places},
        {**dealt, "number": 2, "dealer": 1, "seats": [2, 1]},
        {"type": "game.TurnBegan", "seat": 2, "deadline": None},
    ]


async def test_the_end_is_told_with_its_places(evening: Evening) -> None:
    await do(evening.ada, "resignGame", evening.game)
    facts = await told(
        evening.game, evening.eve, "... on PokerFinished { ending places { seat place points resigned } }"
    )
    places = [{"seat": seat, "place": 3 - seat, "points": 0, "resigned": seat == 1} for seat in (1, 2)]
    assert facts[-2] == {"type": "poker.GameFinished", "ending": "RESIGNATIONS", "places": places}


async def test_exchanges_are_told_with_their_slots_and_open_cards(evening: Evening) -> None:
    exchanging = await evening.playing(variation="COMMUNITY_EXCHANGE")
    exchanging = await exchanging.then(("exchangePokerCards", 0), slots=[3])
    exchanging = await exchanging.then(("exchangePokerCommunityCard", 1), slot=2)
    facts = await told(
        exchanging.game,
        evening.eve,
        "... on PokerCardsExchanged { seat slots }",
        "... on PokerCommunityCardExchanged { seat slot card { name } }",
        "... on PokerCommunityCardTurned { card { name } }",
    )
    assert [fact for fact in facts if fact["type"].startswith("poker.C")] == [
        {"type": "poker.CardsExchanged", "seat": 1, "slots": [3]},
        {"type": "poker.CommunityCardExchanged", "seat": 2, "slot": 2, "card": {"name": "3-crescent-red"}},
        {"type": "poker.CommunityCardTurned", "card": {"name": "4-crescent-orange"}},
    ]


# --- resigning ---


async def of_three(company: list[Client], **options: Any) -> Any:
    """A game of three, Ada's turn."""
    return await poker_started(*company, **options)


async def test_who_resigns_out_of_turn_is_passed_over(company: list[Client]) -> None:
    ada, bob, _ = company
    game = await of_three(company)
    resigned = await do(bob, "resignGame", game)
    kept = await do(ada, "keepPokerCards", resigned["game"])
    assert [types(resigned), types(kept)] == [["game.PlayerResigned"], ["poker.CardsKept", "game.TurnBegan"]]
    assert (await shown(ada, game))["turn"] == 3


async def test_who_resigns_on_his_turn_ends_it(company: list[Client]) -> None:
    ada, bob, _ = company
    game = await of_three(company)
    assert types(await do(ada, "resignGame", game)) == ["game.PlayerResigned", "game.TurnBegan"]
    assert (await shown(bob, game))["turn"] == 2


async def test_who_resigned_before_the_reveal_is_not_revealed_and_not_ranked(company: list[Client]) -> None:
    ada, bob, cyd = company
    game = await of_three(company, rounds=2, cardsSpeak=True)
    resigned = await do(bob, "resignGame", game)
    called = await do(ada, "callPoker", resigned["game"])
    await do(cyd, "keepPokerCards", called["game"])
    for viewer in company:
        seats = {seat["number"]: seat for seat in (await shown(viewer, game))["playedRounds"][0]["seats"]}
        assert (names(seats[2]["cards"]) == ["hidden"] * 3) == (viewer is not bob)  # his own he still sees
        assert [seats[2][what] for what in ("declared", "place", "points")] == [None] * 3
        assert (seats[2]["best"] is None) == (viewer is not bob)
        assert sorted((seats[seat]["place"], seats[seat]["points"]) for seat in (1, 3)) == [(1, 3), (2, 2)]


async def test_who_resigned_is_dealt_no_more_cards(company: list[Client]) -> None:
    ada, bob, cyd = company
    game = await of_three(company, rounds=2, cardsSpeak=True)
    resigned = await do(ada, "resignGame", game)
    called = await do(bob, "callPoker", resigned["game"], expectedVersion=resigned["version"])
    await do(cyd, "keepPokerCards", called["game"])
    dealt = (await shown(bob, game))["round"]
    assert (dealt["number"], dealt["dealer"], [seat["number"] for seat in dealt["seats"]]) == (2, 2, [3, 2])


async def test_a_call_of_one_who_resigned_stands(company: list[Client]) -> None:
    ada, bob, _ = company
    game = await of_three(company)
    called = await do(ada, "callPoker", game)
    await do(ada, "resignGame", called["game"])
    assert (await shown(bob, game))["round"]["caller"] == 1
    assert "callPoker" not in await actions(bob, game)


async def test_the_last_hand_that_is_waited_for_may_be_resigned(company: list[Client]) -> None:
    ada, bob, cyd = company
    game = await of_three(company, rounds=1)
    called = await do(ada, "callPoker", game)
    kept = await do(bob, "keepPokerCards", called["game"])
    await do(cyd, "keepPokerCards", kept["game"])
    for player in (bob, cyd):
        seats = (await shown(player, game))["round"]["seats"]
        own = next(seat for seat in seats if seat["number"] == (2 if player is bob else 3))
        await declare(
            player, game, names([*own["cards"], *(await shown(player, game))["round"]["community"]]), "HIGH_CARD"
        )
    outcome = await do(ada, "resignGame", game)
    assert types(outcome) == ["game.PlayerResigned", "poker.RoundScored", "poker.GameFinished", "game.SeedsRevealed"]
    result = (await shown(ada, game))["result"]
    assert sorted((line["place"], line["points"], line["resigned"]) for line in result["places"]) == [
        (1, 3, False),
        (2, 2, False),
        (3, 0, True),
    ]


async def test_the_last_one_left_wins_an_open_round_that_is_not_scored(evening: Evening) -> None:
    await declare(evening.ada, evening.game, ADAS, "TWO_TIC_PAIRS")
    outcome = await do(evening.ada, "resignGame", evening.game)
    assert types(outcome) == ["game.PlayerResigned", "poker.GameFinished", "game.SeedsRevealed"]
    over = await shown(evening.eve, evening.game)
    lines = [{"seat": 1, "place": 2, "points": 0, "resigned": True}]
    lines += [{"seat": 2, "place": 1, "points": 0, "resigned": False}]
    assert (over["result"], over["playedRounds"]) == ({"ending": "RESIGNATIONS", "places": lines}, [])


async def test_all_cards_of_a_game_that_ends_in_the_middle_lie_open(evening: Evening) -> None:
    game = await poker_started(evening.ada, evening.bob)
    await do(evening.bob, "resignGame", game)
    seats = (await shown(evening.eve, game))["round"]["seats"]
    assert [names(seat["cards"]) for seat in seats] == [ADAS[:3], BOBS[:3]]


async def test_who_resigned_does_not_play(company: list[Client]) -> None:
    _, bob, _ = company
    game = (await do(bob, "resignGame", await of_three(company)))["game"]
    assert what(await do(bob, "keepPokerCards", game)) == ("RESIGNED", "G1")
    assert await actions(bob, game) == []


# --- playing again ---


async def test_a_rematch_has_the_same_options_and_moves_on_by_one(evening: Evening) -> None:
    asked = {"rounds": 7, "variation": "DRAW", "drawStages": 2, "cardsSpeak": True, "turnSeconds": 90}
    game = await poker_started(evening.ada, evening.bob, **asked)
    over = (await do(evening.bob, "resignGame", game))["game"]
    opened = await do(evening.bob, "rematchGame", {"id": over["id"]}, movedOn=True)
    assert types(opened) == ["poker.GameOpened", "game.PlayerJoined"]
    await do(evening.ada, "rematchGame", {"id": over["id"]})
    started = (await do(evening.bob, "startGame", {"id": opened["game"]["id"]}))["game"]
    assert names_of([seat["player"] for seat in started["seats"]]) == ["Bob", "Ada"]
    fields = "... on PokerGame { options { rounds variation stages cardsSpeak turnSeconds } }"
    kept = (await evening.eve.game(started["id"], fields))["options"]
    assert kept == {"rounds": 7, "variation": "DRAW", "stages": 2, "cardsSpeak": True, "turnSeconds": 90}


async def test_the_opening_of_a_rematch_tells_what_is_played_again(evening: Evening) -> None:
    over = (await do(evening.bob, "resignGame", evening.game))["game"]
    opened = (await do(evening.bob, "rematchGame", {"id": over["id"]}, movedOn=True))["game"]
    fields = "... on PokerOpened { host { name } rematchOf rematchPlayers { name } movedOn options { rounds } ruleset }"
    first = (await told(opened, evening.eve, fields))[0]
    assert first == {
        "type": "poker.GameOpened",
        "host": {"name": "Bob"},
        "rematchOf": over["id"],
        "rematchPlayers": [{"name": "Ada"}, {"name": "Bob"}],
        "movedOn": True,
        "options": {"rounds": 2},
        "ruleset": 1,
    }
