"""Tickle, told: the sentence of each fact, and the curve."""

from __future__ import annotations

import pytest

from domain.cards import Card
from domain.decider import fold, positions
from domain.tickle.facts import CardDrawn, LaidCard, LaydownPlayed
from domain.tickle.grid import EMPTY_GRID
from domain.tickle.rules import TICKLE, laid_of
from domain.tickle.scoring import score
from domain.turns import TurnBegan
from tests.golden.replayed import facts_of, score_at, sentence


@pytest.mark.parametrize(
    ("game", "seq", "words"),
    [
        pytest.param(
            "tickle-timed-out",
            1,
            "A game of Tickle is opened for up to 3 players: the whole deck, 1 minute for each turn.",
            id="a table is opened",
        ),
        pytest.param(
            "tickle-no-laydown-two-thirds-private",
            1,
            "A game of Tickle is opened for up to 6 players by invitation: two thirds of the deck, 1 hour for "
            "each turn.",
            id="a table by invitation",
        ),
        pytest.param(
            "tickle-target-half-deck-rematch",
            1,
            "A rematch of Tickle is opened for up to 3 players: half of the deck, to 60 points.",
            id="a rematch to a target",
        ),
        pytest.param(
            "tickle-timed-out",
            8,
            "Each of 3 seats is dealt 6 cards; the deck has 107 cards left.",
            id="the deal",
        ),
        pytest.param(
            "tickle-timed-out",
            18,
            "Round 2 begins: Seat 1 has the turn.",
            id="a round begins",
        ),
        pytest.param(
            "tickle-timed-out",
            12,
            "Seat 2 has the turn.",
            id="the next turn",
        ),
        pytest.param(
            "tickle-target-as-joined",
            69,
            "Seat 3 has its last turn.",
            id="a turn of the last round",
        ),
        pytest.param(
            "tickle-hand-laid-half-deck",
            8,
            "Seat 1 opens with 2 cards, 4-triangle-violet at (0, 0) and 2-triangle-violet at (1, 0): 1 Tic makes "
            "2 points, 2 in all.",
            id="the opening",
        ),
        pytest.param(
            "tickle-timed-out",
            41,
            "Seat 2 lays 1-square-violet at (2, 1): 2 Tics (4) and a group of 4 in square and violet (4) make 8 "
            "points, 20 in all.",
            id="one card",
        ),
        pytest.param(
            "tickle-target-half-deck-rematch",
            58,
            "Seat 2 lays 5-star-violet at (6, 6): 1 Tic (2) and a Tickle in number 5 and violet (10) make 12 "
            "points, 43 in all.",
            id="a Tickle",
        ),
        pytest.param(
            "tickle-hand-laid-half-deck",
            44,
            "Seat 1 lays 3 cards, 5-circle-violet at (1, 4), 1-circle-violet at (2, 4) and 1-circle-cyan at (3, "
            "4): 3 Tics (6), a group of 4 in number 1 and violet (4) and its Extreme card 1-circle-violet (5) "
            "make 15 points, 50 in all.",
            id="an Extreme card",
        ),
        pytest.param(
            "tickle-no-laydown-two-thirds-private",
            82,
            "Seat 3 lays 6 cards, 3-square-yellow at (7, -1), 3-square-red at (8, -1), 3-crescent-red at (9, "
            "-1), 3-crescent-cyan at (10, -1), 4-crescent-cyan at (11, -1) and 4-crescent-orange at (12, -1): 6 "
            "Tics (12), a group of 3 in number 3 and yellow (3) and six cards (6) make 21 points, 75 in all.",
            id="six cards",
        ),
        pytest.param(
            "tickle-timed-out",
            23,
            "Seat 2 draws 1 card and has 6; the deck has 98 cards left.",
            id="a refill",
        ),
        pytest.param(
            "tickle-hand-laid-half-deck",
            72,
            "Seat 2 draws 2 cards and has 4; the deck is empty.",
            id="the deck's last cards",
        ),
        pytest.param(
            "tickle-timed-out",
            19,
            "Seat 1 has no legal laydown and draws a card; the deck has 99 cards left.",
            id="a draw",
        ),
        pytest.param(
            "tickle-six-players-one-resigned",
            18,
            "Seat 1 can't open and draws a card; the deck has 88 cards left.",
            id="a draw before the opening",
        ),
        pytest.param(
            "tickle-timed-out",
            14,
            "Seat 2 ends the turn without a laydown.",
            id="declining",
        ),
        pytest.param(
            "tickle-hand-laid-half-deck",
            88,
            "Seat 2 has no legal laydown and passes, for the deck is empty.",
            id="passing",
        ),
        pytest.param(
            "tickle-hand-laid-half-deck",
            87,
            "Seat 1 has laid its last card: the final stage begins, and this round is played to its end.",
            id="the last card of a hand",
        ),
        pytest.param(
            "tickle-target-as-joined",
            65,
            "Seat 1 has reached 40 points: this round is played to its end.",
            id="the target",
        ),
        pytest.param(
            "tickle-no-laydown-two-thirds-private",
            106,
            "Seat 1 has no legal laydown: the final stage begins, and this round is played to its end.",
            id="no laydown with an empty deck",
        ),
        pytest.param(
            "tickle-timed-out",
            50,
            "The time of Seat 2 runs out, and the turn is over.",
            id="a time-out",
        ),
        pytest.param(
            "tickle-timed-out",
            61,
            "Seat 1 is resigned after 3 time-outs in a row.",
            id="three time-outs in a row",
        ),
    ],
)
def test_an_event_is_told(game: str, seq: int, words: str) -> None:
    assert sentence(game, seq) == words


def test_a_set_aside_part_of_the_deck_is_told() -> None:
    assert sentence("tickle-hand-laid-half-deck", 6) == (
        "Each of 2 seats is dealt 6 cards; 62 cards are set aside unseen; the deck has 51 cards left."
    )


def test_the_result_tells_shared_places_and_what_cards_in_hand_cost() -> None:
    assert sentence("tickle-target-as-joined", 75) == (
        "The last round is over: Seat 1 and Seat 2 share the first place with 21 points; Seat 4 is 3rd with 18 points; "
        "Seat 3 is 4th with 11 points; cards in hand cost Seat 1 30 points, Seat 2 30 points, Seat 3 30 points and "
        "Seat 4 30 points."
    )


def test_the_result_tells_who_resigned() -> None:
    assert sentence("tickle-timed-out", 65) == (
        "Only one seat is left: Seat 3 wins with 1 point; Seat 2 (resigned) is 2nd with -10 points; "
        "Seat 1 (resigned) is 3rd with -8 points; cards in hand cost Seat 1 30 points, Seat 2 30 points and "
        "Seat 3 30 points."
    )


def test_a_seat_is_called_by_its_name_where_there_is_one() -> None:
    assert sentence("tickle-timed-out", 14, {2: "Ben"}) == "Ben ends the turn without a laydown."
    assert sentence("tickle-timed-out", 20, {2: "Ben"}) == "Seat 1 ends the turn without a laydown."


def test_the_score_of_a_seat_grows_with_its_laydowns() -> None:
    assert [score_at("tickle-timed-out", seq) for seq in (7, 8, 10, 25)] == [None, (0, 0, 0), (4, 0, 0), (4, 4, 11)]


def test_the_score_of_a_finished_game_has_the_penalty_of_k14() -> None:
    assert score_at("tickle-timed-out", 64) == (22, 20, 31)
    assert score_at("tickle-timed-out", 65) == (-8, -10, 1)


def test_a_turn_that_is_too_long_for_a_line_has_its_points_in_the_next() -> None:
    dealt = fold(TICKLE.evolve, TICKLE.empty(None), facts_of("tickle-timed-out")[:9])
    names = ("5-star-red", "4-star-red", "3-star-red", "2-star-red", "1-star-red", "1-square-red")
    cards = tuple(LaidCard(x=x - 1000, y=-1000, card=Card.parse(name)) for x, name in enumerate(names))
    laydown = LaydownPlayed(seat=1, cards=cards, score=score(EMPTY_GRID, laid_of(cards)))
    turn = positions(TICKLE.evolve, dealt, [CardDrawn(seat=1), laydown, TurnBegan(seat=2, round=1)])

    first, second = TICKLE.note(turn)

    assert first == " 1.1  draws, (-1000,-1000)> 5*r 4*r 3*r 2*r 1*r 1#r"
    assert second == f"{'5T G5 X10 L6':>70}  +36   36"
