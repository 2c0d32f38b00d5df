"""Games of TIC Poker of three players over the API: how they are played, what is told of them, and to whom."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from domain.cards import DECK, Card
from domain.poker.hands import Rank, best_hand
from tests.api.company import do
from tests.api.poker_evening import poker_opened
from tests.client import Client, over_socket
from tests.conftest import in_memory, listening, started

__all__ = ["CARDS", "EVENT", "GAMES", "ON_TABLE", "VIEWERS", "Lay", "Played", "Script", "Told", "course", "dealt_anew"]
__all__ += ["facts", "names", "play", "shuffled", "swapped"]

CARDS: Final = "{ ... on Card { name } ... on HiddenCard { hidden } }"
HAND: Final = "{ rank total cards { name } }"
ROUND: Final = f"""{{
  number dealer stage caller declaring over community {{ name }}
  seats {{ number cards {CARDS} toAct declared {HAND} best {HAND} place points }}
}}"""
TABLE: Final = f"""
  version status hash viewerSeat turn legalActions {{ mutation ... on PokerExchange {{ slots }} }}
  standings {{ number points resigned timeOuts timeOutsInARow }} round {ROUND} playedRounds(first: 4) {ROUND}
  result {{ ending places {{ seat place points resigned }} }}
"""
ON_TABLE: Final = f"... on PokerGame {{ {TABLE} }}"
EVENT: Final = "seq type bytes hash previousHash cards { name }"
EVENTS: Final = f"subscription ($id: ID!) {{ gameEvents(gameId: $id) {{ {EVENT} }} }}"
CHANGES: Final = f"subscription ($id: ID!) {{ gameChanged(gameId: $id) {{ {ON_TABLE} }} }}"
LOOK: Final = f"query ($id: ID!) {{ game(id: $id) {{ id {ON_TABLE} }} }}"
POSITION: Final = (
    "query ($id: ID!, $version: Int!, $revealed: Boolean!) { game(id: $id) "
    f"{{ position(version: $version, revealed: $revealed) {{ {ON_TABLE} }} }} }}"
)
OUTCOME: Final = f"""
  __typename
  ... on CommandAccepted {{ events {{ {EVENT} }} game {{ id {ON_TABLE} }} }}
  ... on UserError {{ code message path }}
  ... on RuleViolation {{ ruling }}
"""

VIEWERS: Final = ("seat 1", "seat 2", "seat 3", "a stranger", "nobody")


class Script(NamedTuple):
    """A game, and what its three players do."""

    options: dict[str, Any]
    steps: list[str]
    course: list[str]
    """The table after the deal and after every step that is no false declaration, as ``course`` tells it."""


GAMES: Final[dict[str, Script]] = {
    "standard": Script(
        options={"rounds": 2},
        steps=[
            *("1 exchange 2", "2 keep", "3 exchange 1"),
            *("1 keep", "2 exchange 3", "3 keep"),
            *("1 exchange 1", "2 exchange 1", "3 exchange 2"),
            *("2 declare falsely", "2 declare best", "3 declare modestly", "1 declare falsely", "1 declare best"),
            *("2 keep", "3 exchange 2", "1 exchange 3"),
            *("2 exchange 1", "3 call", "1 keep", "2 exchange 1"),
            *("3 declare best", "2 declare best", "1 declare modestly"),
        ],
        course=[
            *("1.1: 1 of 1 2 3", "1.1: 2 of 2 3", "1.1: 3 of 3"),
            *("1.2: 1 of 1 2 3", "1.2: 2 of 2 3", "1.2: 3 of 3"),
            *("1.3: 1 of 1 2 3", "1.3: 2 of 2 3", "1.3: 3 of 3"),
            *("1.3 declaring: 1 2 3", "1.3 declaring: 1 3", "1.3 declaring: 1"),
            *("2.1: 2 of 2 3 1", "2.1: 3 of 3 1", "2.1: 1 of 1"),
            *("2.2: 2 of 2 3 1", "2.2: 3 of 3 1", "2.2 called by 3: 1 of 2 1", "2.2 called by 3: 2 of 2"),
            *("2.2 called by 3 declaring: 2 3 1", "2.2 called by 3 declaring: 2 1", "2.2 called by 3 declaring: 1"),
            "2.2 called by 3 over",
        ],
    ),
    "community exchange, cards speak": Script(
        options={"rounds": 2, "variation": "COMMUNITY_EXCHANGE", "cardsSpeak": True},
        steps=[
            *("1 swap 2", "2 exchange 3", "3 swap 1"),
            *("1 keep", "2 swap 3", "3 exchange 3"),
            *("1 swap 4", "2 keep", "3 swap 1"),
            *("2 swap 1", "3 exchange 2", "1 call", "2 exchange 2", "3 exchange 2"),
        ],
        course=[
            *("1.1: 1 of 1 2 3", "1.1: 2 of 2 3", "1.1: 3 of 3"),
            *("1.2: 1 of 1 2 3", "1.2: 2 of 2 3", "1.2: 3 of 3"),
            *("1.3: 1 of 1 2 3", "1.3: 2 of 2 3", "1.3: 3 of 3"),
            *("2.1: 2 of 2 3 1", "2.1: 3 of 3 1", "2.1: 1 of 1"),
            *("2.1 called by 1: 2 of 2 3", "2.1 called by 1: 3 of 3", "2.1 called by 1 over"),
        ],
    ),
    "draw": Script(
        options={"rounds": 2, "variation": "DRAW", "drawStages": 2},
        steps=[
            *("1 exchange 4 1", "2 keep", "3 exchange 5"),
            *("1 keep", "2 exchange 3 4", "3 exchange 2 5"),
            *("3 declare best", "1 declare best", "2 declare modestly"),
            *("2 exchange 4", "3 exchange 1 3", "1 keep"),
            *("2 keep", "3 exchange 1 2", "1 exchange 5 2"),
            *("1 declare modestly", "3 declare modestly", "2 declare falsely", "2 declare best"),
        ],
        course=[
            *("1.1: 1 of 1 2 3", "1.1: 2 of 2 3", "1.1: 3 of 3"),
            *("1.2: 1 of 1 2 3", "1.2: 2 of 2 3", "1.2: 3 of 3"),
            *("1.2 declaring: 1 2 3", "1.2 declaring: 1 2", "1.2 declaring: 2"),
            *("2.1: 2 of 2 3 1", "2.1: 3 of 3 1", "2.1: 1 of 1"),
            *("2.2: 2 of 2 3 1", "2.2: 3 of 3 1", "2.2: 1 of 1"),
            *("2.2 declaring: 2 3 1", "2.2 declaring: 2 3", "2.2 declaring: 2", "2.2 over"),
        ],
    ),
}


@dataclass
class Told:
    """What one viewer was told of the game."""

    answers: list[Any] = field(default_factory=list)
    """The outcomes of the viewer's own commands, refusals left out."""
    shown: dict[int, Any] = field(default_factory=dict)
    """The game as it was, by version."""
    positions: dict[int, Any] = field(default_factory=dict)
    """What `position` shows of these versions when the game is over."""
    history: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    """What gameEvents told."""
    changes: list[Any] = field(default_factory=list)
    """What gameChanged told."""


class Declared(NamedTuple):
    """A declaration that was accepted."""

    round: int
    seat: int
    cards: list[str]
    rank: str


@dataclass
class Played:
    """A game, as it was played and told."""

    script: Script
    told: dict[str, Told]
    joined: list[int] = field(default_factory=list)
    """The seats in the order of joining."""
    declared: list[Declared] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)
    """The outcomes of false declarations."""
    early: Any = None
    """The error of asking for all cards in the middle of the game."""
    revealed: dict[int, Any] = field(default_factory=dict)
    """What everybody sees afterwards of each version, with all cards open."""
    fairness: Any = None

    @property
    def record(self) -> list[Any]:
        return self.told["nobody"].history

    @property
    def shown(self) -> list[Any]:
        """The game as everybody saw it, from the deal on."""
        return [shown for _, shown in sorted(self.told["nobody"].shown.items())]

    @property
    def over(self) -> Any:
        return self.shown[-1]


async def heard(results: AsyncGenerator[Any]) -> list[Any]:
    return [next(iter(result["data"].values())) async for result in results]


VERBS: Final = {
    "exchange": "exchangePokerCards",
    "swap": "exchangePokerCommunityCard",
    "keep": "keepPokerCards",
    "call": "callPoker",
}


async def _declare(player: Client, seen: Any, how: str, played: Played) -> Any:
    """Declare without a version, from the cards that the player sees."""
    own = next(seat["cards"] for seat in seen["round"]["seats"] if seat["number"] == seen["viewerSeat"])
    best = best_hand([Card.parse(name) for name in names([*own, *seen["round"]["community"]])])
    rank = {"best": best.rank, "modestly": Rank.HIGH_CARD, "falsely": Rank.FIVE_CARD_TIC}[how]
    cards = sorted(map(str, best.cards))
    if how != "falsely":
        played.declared.append(Declared(seen["round"]["number"], seen["viewerSeat"], cards, rank.name))
    return await do(player, "declarePokerHand", {"id": seen["id"]}, show=OUTCOME, cards=cards, rank=rank.name)


async def _step(player: Client, seen: Any, step: str, played: Played) -> Any:
    _, verb, *rest = step.split()
    if verb == "declare":
        return await _declare(player, seen, rest[0], played)
    slots = list(map(int, rest))
    inputs: dict[str, dict[str, Any]] = {"exchange": {"slots": slots}, "swap": {"slot": sum(slots)}}
    return await do(player, VERBS[verb], seen, show=OUTCOME, **inputs.get(verb, {}))


async def play(url: str, script: Script) -> Played:
    """Play a game to its end, and look at it as everyone may."""
    async with started(url) as app, in_memory(app) as nobody, listening(app) as address:
        company = [await nobody.register(name) for name in ("Ada", "Bob", "Cyd")]
        host = company[0]
        id = (await poker_opened(*company, **script.options))["id"]
        seats = {"a stranger": await nobody.register("Eve"), "nobody": nobody}
        played = Played(script, {viewer: Told() for viewer in VIEWERS})
        dealt = await do(host, "startGame", {"id": id}, show=OUTCOME)
        for player in company:
            seat = (await player.game(id, "viewerSeat"))["viewerSeat"]
            played.joined.append(seat)
            seats[f"seat {seat}"] = player
        played.told[f"seat {played.joined[0]}"].answers.append(dealt)
        following = {
            (viewer, query): asyncio.ensure_future(heard(over_socket(address, query, token=client.token, id=id)))
            for viewer, client in seats.items()
            for query in (EVENTS, CHANGES)
        }

        async def look() -> None:
            for viewer, client in seats.items():
                shown = (await client.ask(LOOK, id=id))["game"]
                played.told[viewer].shown[shown["version"]] = shown

        async def at(viewer: Client, version: int, *, revealed: bool = False) -> Any:
            return (await viewer.ask(POSITION, id=id, version=version, revealed=revealed))["game"]["position"]

        await look()
        for step in script.steps:
            told = played.told[f"seat {step[0]}"]
            outcome = await _step(seats[f"seat {step[0]}"], told.shown[max(told.shown)], step, played)
            if outcome["__typename"] == "CommandAccepted":
                told.answers.append(outcome)
            else:
                played.refused.append(outcome)
            await look()
            if played.early is None:
                played.early = await host.error(POSITION, id=id, version=8, revealed=True)
        async with asyncio.timeout(10):
            for (viewer, query), told_of in following.items():
                setattr(played.told[viewer], "events" if query == EVENTS else "changes", await told_of)
        for viewer, client in seats.items():
            told = played.told[viewer]
            told.history = await client.history(id, fields=EVENT, first=25)
            for version in told.shown:
                told.positions[version] = await at(client, version)
        first = [event["type"] for event in played.record].index("poker.RoundDealt") + 1
        for version in range(first, len(played.record) + 1):
            played.revealed[version] = await at(nobody, version, revealed=True)
        played.fairness = (await nobody.game(id, "fairness { algorithm deal commitment seeds }"))["fairness"]
        return played


# --- what was told, and what follows from the record and the seeds alone ---


def names(cards: Iterable[Any]) -> list[str]:
    """The names of cards; "hidden" for those that are."""
    return [card.get("name", "hidden") for card in cards]


def facts(played: Played) -> list[Any]:
    return [json.loads(event["bytes"])["fact"] for event in played.record]


def course(shown: Any) -> str:
    """Where a table stands: the round and its stage, who called, who has the turn, and of whom."""
    now = shown["round"]
    where = f"{now['number']}.{now['stage']}" + (f" called by {now['caller']}" if now["caller"] is not None else "")
    to_act = " ".join(str(seat["number"]) for seat in now["seats"] if seat["toAct"])
    if shown["turn"] is not None:
        return f"{where}: {shown['turn']} of {to_act}"
    return where + (f" declaring: {to_act}" if now["declaring"] else " over" if now["over"] else "")


def shuffled(items: Sequence[str], seed: str, info: str, players: int) -> list[str]:
    """The shuffle of docs/dealing.md, written out; no player gave entropy."""
    lines = "-\n" * players + "\n"
    salt = hashlib.sha256(b"tic/entropy/v1\n" + lines.encode()).digest()
    key, block, stream = hmac.digest(salt, bytes.fromhex(seed), "sha256"), b"", b""
    for counter in range(1, 20):
        block = hmac.digest(key, block + info.encode() + bytes([counter]), "sha256")
        stream += block
    order, draws = list(items), iter(stream)
    for last in range(len(order) - 1, 0, -1):
        size = last + 1
        draw = next(byte for byte in draws if byte < 256 - 256 % size)
        order[last], order[draw % size] = order[draw % size], order[last]
    return order


class Lay(NamedTuple):
    """How the cards lay after an event."""

    number: int
    private: dict[int, list[str]]
    """For each seat its cards by slot."""
    community: list[str]
    came: dict[int, list[str]]
    """For each seat the cards that came to it with the event."""
    open: bool
    """Whether private cards lie open to everyone."""


def swapped(cards: list[str], slot: int, card: str) -> list[str]:
    return [*cards[: slot - 1], card, *cards[slot:]]


def dealt_anew(played: Played) -> dict[int, Lay]:
    """How the cards lay after each event from the first deal on, from the slots in the record and from the seeds."""
    after: dict[int, Lay] = {}
    deck: list[str] = []
    for seq, fact in enumerate(facts(played), 1):
        kind = played.record[seq - 1]["type"]
        lay = after[seq - 1]._replace(came={}) if seq - 1 in after else Lay(0, {}, [], {}, open=False)
        if kind == "poker.RoundDealt":
            seed, info = played.fairness["seeds"][fact["number"] - 1], f"{played.fairness['deal']}\n{fact['number']}\n"
            deck = shuffled(list(map(str, DECK)), seed, f"tic/deck/v1\n{info}", players=3)
            size, community = (5, 0) if facts(played)[0]["options"]["variation"] == "draw" else (3, 2)
            private = {seat: [deck.pop(0) for _ in range(size)] for seat in fact["seats"]}
            lay = Lay(fact["number"], private, [deck.pop(0) for _ in range(community)], private, open=False)
        elif kind == "poker.CardsExchanged":
            seat, new = fact["seat"], [deck.pop(0) for _ in fact["slots"]]
            cards = lay.private[seat]
            for slot, card in zip(fact["slots"], new, strict=True):
                cards = swapped(cards, slot, card)
            lay = lay._replace(private={**lay.private, seat: cards}, came={seat: new})
        elif kind == "poker.CommunityCardExchanged":
            lay = lay._replace(community=swapped(lay.community, fact["slot"], deck.pop(0)))
        elif kind == "poker.CommunityCardTurned":
            lay = lay._replace(community=[*lay.community, deck.pop(0)])
        elif kind == "poker.HandsRevealed":
            lay = lay._replace(open=True)
        if lay.number:
            after[seq] = lay
    return after
