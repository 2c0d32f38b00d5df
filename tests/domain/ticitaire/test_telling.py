"""Ticitaire, told: the sentence of each fact, and the curve."""

from __future__ import annotations

import pytest

from tests.golden.replayed import score_at, sentence


@pytest.mark.parametrize(
    ("game", "seq", "words"),
    [
        pytest.param(
            "won",
            1,
            "A game of Ticitaire is opened.",
            id="a game is opened",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            1,
            "A game of Ticitaire is opened: take-backs, strict Duo.",
            id="a game with options",
        ),
        pytest.param(
            "timed-out-with-take-backs",
            1,
            "A game of Ticitaire is opened: take-backs, 15 minutes for the game.",
            id="a game with a time limit",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            3,
            "7 columns are dealt, with 4-square-yellow, 4-square-red, 1-circle-yellow, 5-circle-yellow, "
            "4-star-yellow, 3-star-cyan and 5-crescent-yellow face-up; the stock has 69 cards.",
            id="the deal",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            156,
            "5-square-cyan goes from column 5 to the empty column 2.",
            id="a card to an empty column",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            60,
            "The run of 9 cards from 3-triangle-orange to 2-triangle-cyan goes from column 4 to column 6, below "
            "5-triangle-orange.",
            id="a run to a column",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            121,
            "The run of 14 cards from 5-triangle-orange to 2-square-violet goes from column 6 to the empty column 2.",
            id="a run to an empty column",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            17,
            "1-circle-yellow goes from column 3 and starts the low pile.",
            id="a card that starts a pile",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            18,
            "2-circle-cyan goes from the waste to the low pile: a Duo with 1-circle-yellow.",
            id="a Duo",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            195,
            "2-circle-yellow goes from the waste to the low pile: a Tripo with 1-crescent-cyan.",
            id="a Tripo",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            5,
            "4-triangle-cyan is turned up in column 5, which has 6 face-down cards left.",
            id="a card turned up",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            16,
            "2-circle-cyan is turned from the stock, which has 68 cards left.",
            id="a card turned from the stock",
        ),
        pytest.param(
            "won-strict-duo",
            274,
            "The waste is turned over: the stock has 3 cards again.",
            id="a recycling",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            25,
            "3 steps are taken back, to the position after event 21.",
            id="steps taken back",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            205,
            "Seat 1 gives up.",
            id="giving up",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            206,
            "The game is given up with 0 cards face-down and 44 in stock and waste, after 109 moves, 36 turns of "
            "the stock and 4 take-backs.",
            id="a game given up",
        ),
        pytest.param(
            "won-strict-duo",
            285,
            "Seat 1 wins, after 158 moves, 72 turns of the stock and 1 recycling.",
            id="a game won",
        ),
        pytest.param(
            "timed-out-with-take-backs",
            70,
            "No server ran for a while: the deadline moves on by 23 hours, 39 minutes and 15 seconds.",
            id="more time",
        ),
        pytest.param(
            "timed-out-with-take-backs",
            172,
            "The time of Seat 1 runs out.",
            id="a time-out",
        ),
        pytest.param(
            "given-up-strict-duo-with-take-backs",
            207,
            "The seed of the deal is revealed: anyone can deal the game again and check it.",
            id="the seed",
        ),
    ],
)
def test_an_event_is_told(game: str, seq: int, words: str) -> None:
    assert sentence(game, seq) == words


def test_one_card_goes_below_the_exposed_card_of_a_column() -> None:
    assert sentence("timed-out-with-take-backs", 34) == (
        "3-circle-violet goes from column 3 to column 6, below 3-circle-yellow."
    )


def test_the_player_is_called_by_name_where_there_is_one() -> None:
    assert sentence("won-strict-duo", 2, {1: "Ann"}) == "Ann takes seat 1."
    assert sentence("won-strict-duo", 285, {1: "Ann"}).startswith("Ann wins, after ")


def test_the_score_counts_the_cards_in_play_up_to_all_of_them() -> None:
    assert [score_at("won", seq) for seq in (2, 3)] == [None, (7,)]
    assert score_at("won", 273) == (125,)


def test_taking_back_takes_the_score_back() -> None:
    game = "given-up-strict-duo-with-take-backs"
    assert score_at(game, 25) == score_at(game, 21)
