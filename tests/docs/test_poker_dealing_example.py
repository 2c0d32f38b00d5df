"""What docs/dealing.md says of TIC Poker, run on whole games as a reader would run it."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import pytest

from domain.dealing import Seeds
from domain.decider import Command, Fact, Viewer, fold
from domain.lifecycle import Resign
from domain.poker.facts import Options, Variation
from domain.poker.hands import best_hand
from domain.poker.rules import POKER, DeclareHand, OpenPoker
from domain.poker.table import PokerTable
from domain.tables import Join, Start

PAGE: Final = Path(__file__).parents[2] / "docs" / "dealing.md"
NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
SEATS: Final = 4


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """What the example defines, by name."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    return names


class Played(NamedTuple):
    """A finished game."""

    tables: list[PokerTable]
    """The table after each fact."""
    events: list[dict[str, Any]]
    """Its events as a reader of the log has them, of which only type and fact matter here."""

    def only(self, type_: str) -> dict[str, Any]:
        """Return the fact of the one event of a type."""
        (event,) = (event for event in self.events if event["type"] == type_)
        return dict(event["fact"])

    @property
    def chain(self) -> tuple[Any, ...]:
        """The commitment, the deal, and the seeds."""
        opened = self.only("poker.GameOpened")
        return opened["commitment"], opened["deal"], self.only("game.SeedsRevealed")["seeds"]


def _next(table: PokerTable, chance: random.Random) -> Command:
    """Return anything that is open, but resigning: that comes in the second round."""
    if table.deals == 2 and 2 in table.still_in and table.turn == 3:
        return Resign(seat=2)
    if table.declaring:
        seat = table.undeclared[0]
        best = best_hand((*table.private(seat), *table.community))
        return DeclareHand(seat=seat, cards=best.cards, rank=best.rank)
    commands = POKER.legal_commands(table, Viewer(seat=table.turn))
    return chance.choice([one for one in commands if isinstance(one, Command) and not isinstance(one, Resign)])


def _play(options: Options) -> Played:
    chance, players = random.Random(2), [UUID(int=1_000 + n) for n in range(SEATS)]
    table = POKER.empty(Seeds.backwards(UUID(int=9), last=bytes([9]) * 32, deals=POKER.deals))
    tables: list[PokerTable] = []
    facts: list[Fact] = []

    def do(command: Command) -> None:
        nonlocal table
        for fact in POKER.decide(command, table, NOON):
            table = fold(POKER.evolve, table, [fact])
            tables.append(table)
            facts.append(fact)

    do(OpenPoker(player=players[0], options=options))
    for player in players[1:]:
        do(Join(player=player))
    do(Start(player=players[0]))
    while not table.over:
        do(_next(table, chance))
    return Played(tables, [{"type": fact.topic, "fact": json.loads(fact.model_dump_json())} for fact in facts])


@pytest.fixture(scope="module", params=list(Variation))
def played(request: pytest.FixtureRequest) -> Played:
    return _play(Options(seats=SEATS, rounds=4, variation=request.param))


def test_the_example_deals_each_round_as_the_game_did(example: dict[str, Any], played: Played) -> None:
    _, deal, seeds = played.chain
    rounds = [(event["fact"], table) for event, table in zip(played.events, played.tables, strict=True)]
    dealt = [(fact, table) for fact, table in rounds if "dealer" in fact]
    assert [fact["number"] for fact, _ in dealt] == list(range(1, len(seeds) + 1)) == [1, 2, 3, 4]
    for fact, table in dealt:
        hands, community, deck = example["deal_poker"](
            deal,
            fact["number"],
            seeds[fact["number"] - 1],
            fact["seats"],
            fact["private"],
            len(fact["community"]),
            fact["entropies"],
            fact["beacon"],
        )
        assert hands == {seat: [str(card) for card in table.private(seat)] for seat in fact["seats"]}
        assert community == fact["community"]
        assert deck == [str(card) for card in (table.deck or ())[table.next :]]


def test_the_example_follows_every_round_to_the_end_of_the_game(example: dict[str, Any], played: Played) -> None:
    kinds = {event["type"] for event in played.events}
    assert {"poker.CardsExchanged", "poker.HandsRevealed", "game.PlayerResigned"} <= kinds
    example["follow_rounds"](*played.chain, played.events)


def _told(fact: dict[str, Any]) -> list[list[str]]:
    """Return the lists of cards in a fact, of which one is put in another order below."""
    if "hands" in fact:
        return [hand["cards"] for hand in fact["hands"]]
    return [fact["community"]] if "community" in fact else []


@pytest.mark.parametrize(
    ("variation", "type_"),
    [
        (Variation.STANDARD, "poker.RoundDealt"),
        (Variation.STANDARD, "poker.CommunityCardTurned"),
        (Variation.COMMUNITY_EXCHANGE, "poker.CommunityCardExchanged"),
        (Variation.DRAW, "poker.HandsRevealed"),
    ],
)
def test_the_example_finds_a_card_that_was_not_dealt(example: dict[str, Any], variation: Variation, type_: str) -> None:
    played = _play(Options(seats=SEATS, rounds=4, variation=variation))
    for at in [at for at, event in enumerate(played.events) if event["type"] == type_]:
        events = copy.deepcopy(played.events)
        fact = events[at]["fact"]
        if "card" in fact:
            fact["card"] = next(name for name in example["CARDS"] if name != fact["card"])
        else:
            _told(fact)[-1].reverse()
        with pytest.raises(ValueError, match=f"{type_} tells a card that was not dealt"):
            example["follow_rounds"](*played.chain, events)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda seeds: ["00" * 32, *seeds[1:]], id="the first"),
        pytest.param(lambda seeds: [*seeds[:-1], "00" * 32], id="the last"),
    ],
)
def test_the_example_refuses_a_seed_that_is_not_of_the_chain(
    example: dict[str, Any], played: Played, change: Callable[[list[str]], list[str]]
) -> None:
    commitment, deal, seeds = played.chain
    with pytest.raises(ValueError, match="not the one that was committed to"):
        example["follow_rounds"](commitment, deal, change(seeds), played.events)


def test_the_example_finds_a_hand_that_the_reveal_leaves_out(example: dict[str, Any], played: Played) -> None:
    events = copy.deepcopy(played.events)
    next(event for event in events if event["type"] == "poker.HandsRevealed")["fact"]["hands"].pop()
    with pytest.raises(ValueError, match="HandsRevealed"):
        example["follow_rounds"](*played.chain, events)


@pytest.mark.parametrize("slot", [0, -1, 9])
def test_the_example_refuses_a_slot_that_there_is_not(example: dict[str, Any], played: Played, slot: int) -> None:
    events = copy.deepcopy(played.events)
    next(event for event in events if event["type"] == "poker.CardsExchanged")["fact"]["slots"] = [slot]
    with pytest.raises(ValueError, match="a slot that there is not"):
        example["follow_rounds"](*played.chain, events)


def test_the_example_misses_a_seed_that_was_not_revealed(example: dict[str, Any], played: Played) -> None:
    commitment, deal, seeds = played.chain
    with pytest.raises(ValueError, match="the seed of round 4 is missing"):
        example["follow_rounds"](commitment, deal, seeds[:-1], played.events)


def test_the_example_finds_the_rounds_dealt_in_their_order(example: dict[str, Any], played: Played) -> None:
    example["check_dealers"](played.events)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("field", ["number", "dealer", "seats"])
def test_the_example_finds_a_round_that_was_dealt_in_another_order(
    example: dict[str, Any], played: Played, number: int, field: str
) -> None:
    events = copy.deepcopy(played.events)
    dealt = [event["fact"] for event in events if event["type"] == "poker.RoundDealt"][number - 1]
    dealt[field] = dealt[field][::-1] if field == "seats" else dealt[field] + 1
    with pytest.raises(ValueError, match=f"round {number} was not dealt in its order"):
        example["check_dealers"](events)
