"""TIC Poker, told: the sentence of each fact, and the curve."""

from __future__ import annotations

import pytest

from tests.golden.replayed import score_at, sentence


@pytest.mark.parametrize(
    ("game", "seq", "words"),
    [
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            1,
            "A game of TIC Poker is opened for up to 8 players by invitation: 2 rounds, Community Exchange, 1 "
            "hour for each turn.",
            id="a table by invitation",
        ),
        pytest.param(
            "poker-draw-rematch",
            1,
            "A rematch of TIC Poker is opened for up to 3 players: 2 rounds, Draw Poker with 2 exchanges.",
            id="a rematch in Draw Poker",
        ),
        pytest.param(
            "poker-cards-speak-eight-players",
            1,
            "A game of TIC Poker is opened for up to 8 players: 1 round, cards speak.",
            id="cards speak",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            10,
            "Seat 3 deals round 1, 3 cards to each of 3 seats; 3-star-yellow and 5-triangle-yellow lie open.",
            id="the deal",
        ),
        pytest.param(
            "poker-draw-rematch",
            10,
            "Seat 3 deals round 1, 5 cards to each of 3 seats.",
            id="the deal in Draw Poker",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            18,
            "The second exchange begins: Seat 1 has the turn.",
            id="a stage begins",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            13,
            "Seat 2 has the turn.",
            id="the next turn",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            22,
            "Seat 3 has its last turn of the round.",
            id="a turn after a call",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            40,
            "Seat 2 exchanges private card 3.",
            id="an exchange",
        ),
        pytest.param(
            "poker-draw-rematch",
            30,
            "Seat 2 exchanges private cards 1 and 2.",
            id="an exchange of two cards",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            47,
            "Seat 2 exchanges the community card 1-star-cyan for 2-star-cyan.",
            id="an exchange of a community card",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            14,
            "Seat 2 keeps its cards.",
            id="keeping",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            21,
            "Seat 2 calls: every other seat has one last turn.",
            id="a call",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            17,
            "The 3rd community card is 4-circle-violet.",
            id="a community card",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            26,
            "The hands are revealed: Seat 1 has 1-triangle-cyan, 2-circle-red and 4-crescent-red; Seat 2 has "
            "4-circle-yellow, 1-circle-yellow and 1-triangle-yellow; Seat 3 has 4-circle-red, 5-triangle-red and "
            "4-crescent-yellow.",
            id="the reveal",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            29,
            "Seat 2 declares Two Tic Pairs with 5-triangle-yellow, 3-star-yellow, 4-circle-yellow, "
            "1-triangle-yellow and 4-circle-violet.",
            id="a declaration",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            55,
            "The time of Seat 2 to declare runs out.",
            id="time to declare runs out",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            56,
            "The hand of Seat 2 counts as High Card with 5-star-violet, 5-triangle-yellow, 4-triangle-orange, "
            "4-circle-red and 1-star-orange.",
            id="a hand that counts as what the server says",
        ),
        pytest.param(
            "poker-cards-speak-eight-players",
            60,
            "The hand of Seat 2 counts as Three-Card Single with 5-square-red, 4-square-yellow, 4-crescent-red, "
            "2-star-yellow and 2-square-orange.",
            id="a hand that speaks",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            12,
            "The time of Seat 1 runs out, and its cards are kept.",
            id="a time-out",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            30,
            "Round 1 is scored: Seat 2 wins with 3 points; Seat 3 is 2nd with 2 points; Seat 1 is 3rd with 1 point.",
            id="a round is scored",
        ),
        pytest.param(
            "poker-shared-first-place",
            27,
            "Round 1 is scored: Seat 1 and Seat 2 share the first place with 2 points.",
            id="a round with a shared first place",
        ),
        pytest.param(
            "poker-resignations",
            64,
            "Seat 1 resigns.",
            id="a resignation",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            62,
            "All rounds are played: Seat 2 wins with 6 points; Seat 1 and Seat 3 are 2nd with 3 points.",
            id="the result",
        ),
        pytest.param(
            "poker-community-exchange-called-late-to-declare",
            63,
            "The seeds of the 2 deals are revealed: anyone can deal the game again and check it.",
            id="the seeds",
        ),
    ],
)
def test_an_event_is_told(game: str, seq: int, words: str) -> None:
    assert sentence(game, seq) == words


def test_the_result_tells_who_resigned() -> None:
    assert sentence("poker-resignations", 67) == (
        "Only one seat is left: Seat 2 wins with 4 points; Seat 4 (resigned) is 2nd with 3 points; "
        "Seat 3 (resigned) is 3rd with 5 points; Seat 1 (resigned) is 4th with 2 points; "
        "Seat 5 (resigned) is 5th with 0 points."
    )


def test_a_seat_is_called_by_its_name_where_there_is_one() -> None:
    assert sentence("poker-declared", 10, {3: "Cleo", 4: "Dan"}).startswith("Cleo deals round 1, ")


def test_the_score_of_a_seat_grows_with_each_round() -> None:
    game = "poker-community-exchange-called-late-to-declare"
    assert [score_at(game, seq) for seq in (9, 10, 29, 30, 61)] == [None, (0, 0, 0), (0, 0, 0), (1, 3, 2), (3, 6, 3)]
