"""What docs/dealing.md says of seats and hands in Tickle, run on whole games as a reader would run it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import pytest

from domain.cards import DECK
from domain.dealing import Seeds
from domain.decider import Command, Fact, fold
from domain.lifecycle import Resign
from domain.tables import Join, Leave, Seating, Start
from domain.tickle.facts import DeckPart, LaidCard, Options
from domain.tickle.hints import best_laydowns
from domain.tickle.rules import TICKLE, DeclineLaydown, DrawCard, LayDown, OpenTickle
from domain.tickle.table import TickleTable

PAGE: Final = Path(__file__).parents[2] / "docs" / "dealing.md"
NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """What the example defines, by name."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    return names


class Played(NamedTuple):
    """A finished game."""

    table: TickleTable
    events: list[dict[str, Any]]
    """Its events as a reader of the log has them, of which only type and fact matter here."""

    def only(self, type_: str) -> dict[str, Any]:
        """Return the fact of the one event of a type."""
        (event,) = (event for event in self.events if event["type"] == type_)
        return dict(event["fact"])


def _turn(table: TickleTable) -> Command:
    """Return what a seat does that lays the best that a short search finds."""
    seat = table.turn
    found = best_laydowns(table.grid, table.hand_set(seat), table.drawn_card, first=1, bound=50).laydowns
    if found:
        return LayDown(seat=seat, cards=tuple(LaidCard(x=x, y=y, card=DECK[card]) for (x, y), card in found[0][1]))
    return DrawCard(seat=seat) if table.drawn is None else DeclineLaydown(seat=seat)


def _play(seats: int, options: Options) -> Played:
    """Play a game in which one player comes, goes and comes back before the deal, and one resigns in its midst."""
    players = [UUID(int=1_000 + n) for n in range(seats)]
    table = TICKLE.empty(Seeds.backwards(UUID(int=seats), last=bytes([seats]) * 32, deals=TICKLE.deals))
    facts: list[Fact] = []

    def do(command: Command) -> None:
        nonlocal table
        decided = TICKLE.decide(command, table, NOON)
        table = fold(TICKLE.evolve, table, decided)
        facts.extend(decided)

    do(OpenTickle(player=players[0], options=options))
    for player in players[1:]:
        do(Join(player=player))
    do(Leave(player=players[1]))
    do(Join(player=players[1]))
    do(Start(player=players[0]))
    while not table.over:
        do(Resign(seat=2) if table.round == 3 and seats > 2 and 2 in table.still_in else _turn(table))
    return Played(table, [{"type": fact.topic, "fact": json.loads(fact.model_dump_json())} for fact in facts])


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((2, Options()), id="two, with the whole deck"),
        pytest.param((4, Options(deck=DeckPart.TWO_THIRDS)), id="four, with two thirds of it"),
        pytest.param((6, Options(deck=DeckPart.HALF)), id="six, with half of it"),
    ],
)
def played(request: pytest.FixtureRequest) -> Played:
    return _play(*request.param)


def test_the_example_seats_the_players_as_the_game_did(example: dict[str, Any], played: Played) -> None:
    joined: list[str] = []
    for event in played.events:
        if event["type"] == "game.PlayerJoined":
            joined.append(event["fact"]["player"])
        elif event["type"] == "game.PlayerLeft":
            joined.remove(event["fact"]["player"])
    opened, dealt = played.only("tickle.GameOpened"), played.only("tickle.HandsDealt")
    (seed,) = played.only("game.SeedsRevealed")["seeds"]

    order = example["seat_order"](opened["deal"], seed, joined, dealt["entropies"], dealt["beacon"])

    assert order == [event["fact"]["player"] for event in played.events if event["type"] == "game.PlayerSeated"]


def test_the_example_follows_every_hand_to_the_end_of_the_game(example: dict[str, Any], played: Played) -> None:
    opened, dealt = played.only("tickle.GameOpened"), played.only("tickle.HandsDealt")
    places = played.only("tickle.GameFinished")["places"]

    hands, deck, aside = example["deal_tickle"](
        opened["commitment"],
        opened["deal"],
        played.only("game.SeedsRevealed")["seeds"],
        len(places),
        dealt["set_aside"],
        dealt["entropies"],
        dealt["beacon"],
    )
    assert (len(deck), len(aside)) == (dealt["deck"], dealt["set_aside"])
    example["follow_hands"](hands, deck, played.events)

    assert hands == [[str(card) for card in played.table.hand(seat)] for seat in range(1, len(places) + 1)]
    assert [len(hand) for hand in hands] == [place["cards"] for place in places]
    assert len(deck) == played.table.left


def test_the_example_finds_a_card_that_was_not_in_the_hand(example: dict[str, Any]) -> None:
    laid = {"type": "tickle.LaydownPlayed", "fact": {"seat": 1, "cards": [{"x": 0, "y": 0, "card": "1-star-red"}]}}
    with pytest.raises(ValueError, match="not in list"):
        example["follow_hands"]([["5-star-red"], ["1-star-red"]], [], [laid])


def test_a_table_that_seats_as_joined_does_not_shuffle() -> None:
    played = _play(3, Options(seating=Seating.AS_JOINED))
    assert played.table.players == played.table.joined
