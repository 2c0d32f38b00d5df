"""The second dealer, in plain Node.js, and what follows its cards: recorded games hold, and none that was altered."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from domain.lifecycle import GameCancelled
from domain.records import write_record
from tests.domain.adversary import Forger
from tests.domain.test_audit import GOLDEN

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
DEALER: Final = EXAMPLES / "verify_deal.mjs"
FOLLOWER: Final = EXAMPLES / "follow_cards.mjs"
DEALT: Final = [name for name, events in GOLDEN.items() if not isinstance(events[-1].fact, GameCancelled)]
FAIR: Final = [
    "won-with-entropy-beacon-and-seeds-held-back",
    "tickle-entropy-of-some-beacon-seeds-held-back",
    "poker-entropy-of-all-beacon-seeds-held-back",
]

Deal = Callable[[list[bytes]], subprocess.CompletedProcess[str]]


@pytest.fixture
def node() -> str:
    """Where changes are judged it must be there; elsewhere a machine may lack it."""
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail("the second dealer needs node")
        pytest.skip("the second dealer needs node")
    return node


def run(tmp_path: Path, node: str, program: Path, lines: list[bytes]) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "game.jsonl"
    file.write_bytes(b"".join(lines))
    return subprocess.run([node, program, file], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def deal(tmp_path: Path, node: str) -> Deal:
    """Runs the dealer on a record."""
    return partial(run, tmp_path, node, DEALER)


@pytest.fixture
def follow(tmp_path: Path, node: str) -> Deal:
    """Runs the dealer, and what follows its cards."""
    return partial(run, tmp_path, node, FOLLOWER)


def refused(deal: Deal, forger: Forger) -> str:
    """What is said of a record that is refused."""
    done = deal(forger.record())
    assert done.returncode == 1
    assert done.stderr.startswith("WRONG: "), done.stderr
    return done.stderr.removeprefix("WRONG: ").strip()


@pytest.mark.parametrize("program", [DEALER, FOLLOWER])
def test_it_needs_nothing_but_node(program: Path) -> None:
    imported = set(re.findall(r"from '(.+)'", program.read_text("utf-8")))
    assert imported <= {"node:crypto", "node:fs", "./verify_deal.mjs"}


def test_the_dealer_is_as_short_as_the_algorithm_is_meant_to_be() -> None:
    """Thirty lines of any language, and what reads a record and says what is wrong."""
    code = [line for line in DEALER.read_text("utf-8").splitlines() if line and not line.startswith(("//", "import"))]
    assert len(code) <= 36
    assert max(map(len, code)) <= 125


@pytest.mark.parametrize("name", DEALT)
def test_a_recorded_game_is_dealt_again_and_its_cards_are_followed(follow: Deal, name: str) -> None:
    done = follow(list(write_record(GOLDEN[name])))
    assert (done.returncode, done.stderr) == (0, "")
    assert str(GOLDEN[name][0].game) in done.stdout
    assert "Each card was where it came from." in done.stdout


def test_an_event_that_was_altered_and_not_chained_anew_is_refused(deal: Deal) -> None:
    lines = list(write_record(GOLDEN["won"]))
    lines[9] = lines[9].replace(b'"at":"20', b'"at":"19')
    done = deal(lines)
    assert (done.returncode, done.stderr) == (1, "WRONG: event 10: prev is not the hash of the event before\n")


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in DEALT])
def test_of_a_cancelled_game_there_is_nothing_to_deal(deal: Deal, name: str) -> None:
    done = deal(list(write_record(GOLDEN[name])))
    assert done.returncode == 1
    assert done.stderr.startswith("OPEN: the seeds are not out")


def test_of_an_archive_it_is_said_that_it_is_one(deal: Deal) -> None:
    done = deal([*write_record(GOLDEN["won"]), *write_record(GOLDEN["poker-declared"])])
    assert (done.returncode, done.stderr.partition(":")[0]) == (1, "NOT READ")


def flipped(digest: str) -> str:
    return ("1" if digest[0] == "0" else "0") + digest[1:]


@pytest.mark.parametrize("name", ["won", "tickle-target-as-joined", "poker-declared", *FAIR])
def test_a_flipped_seed_is_refused(deal: Deal, name: str) -> None:
    forger = Forger(GOLDEN[name])
    forger.told[-1]["fact"]["seeds"][-1] = flipped(forger.told[-1]["fact"]["seeds"][-1])
    lines = list(write_record(GOLDEN[name]))
    record = [*lines[:-2], json.dumps(forger.told[-1]).encode() + b"\n", lines[-1]]
    assert deal(record).returncode == 1
    assert "seed" in deal(record).stderr


@pytest.mark.parametrize("name", ["won", *FAIR])
def test_a_flipped_commitment_is_refused(deal: Deal, name: str) -> None:
    forger = Forger(GOLDEN[name])
    forger.told[0]["fact"]["commitment"] = flipped(forger.told[0]["fact"]["commitment"])
    assert refused(deal, forger) == "the seeds are not those that were committed to"


def another(card: str) -> str:
    """The card with another value, which lies elsewhere."""
    value, rest = card.split("-", 1)
    return f"{int(value) % 5 + 1}-{rest}"


def all_but_the_last(cards: list[Any]) -> list[Any]:
    return [*cards[:-1], another(cards[-1])]


CARDS: Final[dict[str, tuple[str, str, dict[str, Callable[[Any], Any]]]]] = {
    "of the tableau": ("won", "ticitaire.TableauDealt", {"exposed": all_but_the_last}),
    "that is turned up": ("won", "ticitaire.CardTurnedUp", {"card": another}),
    "that is turned up where moves may be taken back": (
        "won-with-take-backs",
        "ticitaire.CardTurnedUp",
        {"card": another},
    ),
    "of the stock": ("won", "ticitaire.StockTurned", {"card": another}),
    "of the community": ("poker-declared", "poker.RoundDealt", {"community": all_but_the_last}),
    "of the community that is turned": ("poker-declared", "poker.CommunityCardTurned", {"card": another}),
    "of a hand": (
        "poker-declared",
        "poker.HandsRevealed",
        {"hands": lambda hands: [*hands[:-1], {**hands[-1], "cards": all_but_the_last(hands[-1]["cards"])}]},
    ),
    "that is laid": (
        "tickle-target-as-joined",
        "tickle.LaydownPlayed",
        {"cards": lambda cards: [*cards[:-1], {**cards[-1], "card": another(cards[-1]["card"])}]},
    ),
}


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("which", [0, -1])
def test_a_flipped_card_is_refused_at_its_event(follow: Deal, card: str, which: int) -> None:
    name, topic, change = CARDS[card]
    forger = Forger(GOLDEN[name])
    line = forger.alter(topic, which, **change)
    assert refused(follow, forger).startswith(f"event {line - 1}: ")


@pytest.mark.parametrize("name", FAIR)
def test_flipped_entropy_is_refused_where_it_is_revealed(follow: Deal, name: str) -> None:
    forger = Forger(GOLDEN[name])
    line = forger.alter("game.EntropyRevealed", entropy=flipped)
    assert refused(follow, forger) == f"event {line - 1}: the entropy"


def dealt(forger: Forger) -> dict[str, Any]:
    return next(told for told in forger.told if "entropies" in told["fact"])


@pytest.mark.parametrize("name", FAIR)
def test_flipped_entropy_is_refused_where_it_goes_into_the_deal(follow: Deal, name: str) -> None:
    forger = Forger(GOLDEN[name])
    told = dealt(forger)
    told["fact"]["entropies"] = [line if line == "-" else flipped(line) for line in told["fact"]["entropies"]]
    assert refused(follow, forger).startswith(f"event {forger.line_of(told) - 1}: ")


@pytest.mark.parametrize("name", FAIR)
def test_a_beacon_that_is_another_everywhere_deals_another_deck(follow: Deal, name: str) -> None:
    """Whoever gives another value from the start is found by the cards."""
    forger = Forger(GOLDEN[name])
    for told in forger.told:
        if told["type"] == "game.BeaconGiven":
            told["fact"]["beacon"] = "another"
        if "beacon" in told["fact"] and "entropies" in told["fact"]:
            told["fact"]["beacon"] = "another"
    assert refused(follow, forger).startswith("event ")


@pytest.mark.parametrize("name", FAIR)
def test_a_beacon_that_was_not_given_is_refused(follow: Deal, name: str) -> None:
    forger = Forger(GOLDEN[name])
    forger.alter("game.BeaconGiven", beacon="another")
    assert refused(follow, forger) == f"event {forger.line_of(dealt(forger)) - 1}: the entropy of the deal"
