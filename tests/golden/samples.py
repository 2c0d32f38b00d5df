"""Samples of the storage format, kept for ever: what was stored once must be read by every later program.

``facts/`` has one event of every version of every fact, exactly as stored; ``games/`` has whole games, an event a
line, and beside each its notation; ``games/results.json`` says what became of them, ``games/counts.json`` what is
counted of those that were finished.
``python -m tests.golden.samples`` adds what is missing: after a new fact, a new version of one, or another game in
``GAMES``. It never touches a sample that is there.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

from domain.dealing import Seeds
from domain.decider import positions
from domain.entropy import Entropy
from domain.events import Event, chain, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import GameFinished, GameOpened, Table
from domain.poker.facts import Options as PokerOptions
from domain.poker.facts import Variation
from domain.results import result_of
from domain.tables import Rematch, Seating
from domain.ticitaire.facts import Options
from domain.tickle.facts import DeckPart
from domain.tickle.facts import Options as TickleOptions
from tests.domain.poker import players as poker
from tests.domain.ticitaire.players import Course, play
from tests.domain.tickle import players as tickle
from tests.domain.tickle.players import PLAYERS, Style

__all__ = ["FOLDER", "GAMES", "add_missing", "counts", "counts_of", "notation_of", "recorded_games", "results"]
__all__ += ["samples"]

FOLDER: Final = Path(__file__).parent


class Played(Protocol):
    """A whole game of any kind, as it was played."""

    @property
    def seeds(self) -> Seeds: ...
    @property
    def table(self) -> Table: ...
    @property
    def ending(self) -> str: ...
    def events(self) -> Iterator[tuple[Event, ...]]: ...


FAIR: Final[dict[str, Any]] = {
    "beacon": "drand quicknet 12345678",
    "sealed_until": datetime(2030, 6, 1, 18, tzinfo=UTC),
}

GAMES: Final[dict[str, Callable[[], Played]]] = {
    "won": lambda: play(random.Random(25), options=Options()),
    "won-with-take-backs": lambda: play(random.Random(34), options=Options(take_back=True)),
    "won-strict-duo": lambda: play(random.Random(64), options=Options(strict_duo=True, time_limit=3600)),
    "given-up": lambda: play(random.Random(3), options=Options(), course=Course.GIVEN_UP, length=60),
    "given-up-strict-duo-with-take-backs": lambda: play(
        random.Random(4), options=Options(strict_duo=True, take_back=True), course=Course.GIVEN_UP, length=150
    ),
    "timed-out-with-take-backs": lambda: play(
        random.Random(7), options=Options(take_back=True, time_limit=900), course=Course.TIMED_OUT, length=120
    ),
    "given-up-labelled": lambda: play(
        random.Random(5), options=Options(), course=Course.GIVEN_UP, length=20, label="Spring Cup"
    ),
    "tickle-hand-laid-half-deck": lambda: tickle.play(
        random.Random(4), options=TickleOptions(seats=2, deck=DeckPart.HALF, start_when_full=True), players=2
    ),
    "tickle-no-laydown-two-thirds-private": lambda: tickle.play(
        random.Random(8),
        options=TickleOptions(deck=DeckPart.TWO_THIRDS, private=True, turn_seconds=3600),
        styles=(Style.SLOWLY, Style.WELL),
    ),
    "tickle-six-players-one-resigned": lambda: tickle.play(
        random.Random(1),
        options=TickleOptions(turn_seconds=86_400),
        players=6,
        styles=(Style.WELL, Style.SLOWLY, Style.LOOSELY),
        accidents=0.05,
    ),
    "tickle-target-as-joined": lambda: tickle.play(
        random.Random(1), options=TickleOptions(target=40, seats=4, seating=Seating.AS_JOINED), players=4
    ),
    "tickle-target-half-deck-rematch": lambda: tickle.play(
        random.Random(10),
        options=TickleOptions(deck=DeckPart.HALF, target=60),
        rematch=Rematch(game=UUID(int=7), players=PLAYERS[:3], moved_on=True),
    ),
    "tickle-resignations": lambda: tickle.play(
        random.Random(3),
        options=TickleOptions(seats=5),
        players=5,
        course=tickle.Course.RESIGNED,
        length=30,
        styles=(Style.LOOSELY,),
    ),
    "tickle-timed-out": lambda: tickle.play(
        random.Random(5),
        options=TickleOptions(seats=3, turn_seconds=60),
        course=tickle.Course.TIMED_OUT,
        length=16,
    ),
    "tickle-cancelled": lambda: tickle.play(
        random.Random(1), options=TickleOptions(), players=4, course=tickle.Course.CANCELLED
    ),
    "tickle-target-labelled": lambda: tickle.play(
        random.Random(2), options=TickleOptions(target=30, seats=2), players=2, label="Кубок TIC, Runde 2 🏆"
    ),
    "poker-declared": lambda: poker.play(
        random.Random(29), options=PokerOptions(seats=4, rounds=2), styles=(poker.Style.WELL, poker.Style.MODESTLY)
    ),
    "poker-cards-speak-eight-players": lambda: poker.play(
        random.Random(3),
        options=PokerOptions(rounds=1, cards_speak=True, start_when_full=True, seating=Seating.AS_JOINED),
        players=8,
        styles=(poker.Style.WELL, poker.Style.MODESTLY),
    ),
    "poker-community-exchange-called-late-to-declare": lambda: poker.play(
        random.Random(7),
        options=PokerOptions(rounds=2, variation=Variation.COMMUNITY_EXCHANGE, private=True, turn_seconds=3600),
        styles=(poker.Style.WELL, poker.Style.MODESTLY),
        accidents=0.06,
    ),
    "poker-draw-rematch": lambda: poker.play(
        random.Random(1),
        options=PokerOptions(rounds=2, variation=Variation.DRAW, draw_stages=2),
        styles=(poker.Style.WELL, poker.Style.MODESTLY),
        rematch=Rematch(game=UUID(int=7), players=poker.PLAYERS[:3], moved_on=True),
    ),
    "poker-shared-first-place": lambda: poker.play(
        random.Random(15), options=PokerOptions(seats=2, rounds=2), players=2, styles=(poker.Style.MODESTLY,)
    ),
    "poker-resignations": lambda: poker.play(
        random.Random(1),
        options=PokerOptions(seats=5, rounds=3, turn_seconds=86_400),
        players=5,
        course=poker.Course.RESIGNED,
        length=25,
        styles=(poker.Style.WELL, poker.Style.MODESTLY),
        accidents=0.15,
    ),
    "poker-timed-out": lambda: poker.play(
        random.Random(2),
        options=PokerOptions(seats=3, rounds=3, turn_seconds=60, seating=Seating.AS_JOINED),
        course=poker.Course.TIMED_OUT,
        length=11,
    ),
    "poker-cancelled": lambda: poker.play(
        random.Random(1), options=PokerOptions(), players=4, course=poker.Course.CANCELLED
    ),
    "poker-labelled-one-round": lambda: poker.play(
        random.Random(4), options=PokerOptions(rounds=1), styles=(poker.Style.WELL,), label="Spring Cup"
    ),
    "won-with-entropy-beacon-and-seeds-held-back": lambda: play(
        random.Random(25), options=Options(entropy=Entropy.DEMANDED, **FAIR), label="the winter round"
    ),
    "given-up-with-entropy": lambda: play(
        random.Random(6),
        options=Options(entropy=Entropy.ALLOWED, reveal_seconds=600),
        course=Course.GIVEN_UP,
        length=20,
    ),
    "entropy-withheld": lambda: play(
        random.Random(2), options=Options(entropy=Entropy.DEMANDED), course=Course.WITHHELD
    ),
    "tickle-entropy-of-some-beacon-seeds-held-back": lambda: tickle.play(
        random.Random(2),
        options=TickleOptions(seats=4, deck=DeckPart.HALF, entropy=Entropy.ALLOWED, **FAIR),
        players=3,
        label="the winter round",
    ),
    "tickle-entropy-due-and-called-off": lambda: tickle.play(
        random.Random(2),
        options=TickleOptions(seats=3, start_when_full=True, entropy=Entropy.DEMANDED, reveal_seconds=10),
        course=tickle.Course.WITHHELD,
    ),
    "tickle-entropy-due-and-left": lambda: tickle.play(
        random.Random(10),
        options=TickleOptions(seats=3, start_when_full=True, entropy=Entropy.DEMANDED, reveal_seconds=10),
        course=tickle.Course.WITHHELD,
    ),
    "poker-entropy-of-all-beacon-seeds-held-back": lambda: poker.play(
        random.Random(1),
        options=PokerOptions(rounds=2, entropy=Entropy.DEMANDED, **FAIR),
        styles=(poker.Style.WELL, poker.Style.MODESTLY),
        label="the winter round",
    ),
    "poker-entropy-withheld": lambda: poker.play(
        random.Random(7),
        options=PokerOptions(seats=3, entropy=Entropy.ALLOWED),
        course=poker.Course.WITHHELD,
    ),
}


def samples(folder: Path = FOLDER) -> dict[str, bytes]:
    """Return the stored sample of every version of every fact, by file name."""
    return {path.name: path.read_bytes() for path in sorted((folder / "facts").glob("*.json"))}


def recorded_games(folder: Path = FOLDER) -> dict[str, list[bytes]]:
    """Return the events of every recorded game, as stored, by the game's name."""
    return {path.stem: path.read_bytes().splitlines() for path in sorted((folder / "games").glob("*.jsonl"))}


def results(folder: Path = FOLDER) -> dict[str, Any]:
    """Return what became of every recorded game, by the game's name."""
    return _told(folder / "games" / "results.json")


def counts(folder: Path = FOLDER) -> dict[str, Any]:
    """Return what is counted of every recorded game that was finished, by the game's name: a line for each seat."""
    return _told(folder / "games" / "counts.json")


def _told(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return told


def _tell(path: Path, told: Mapping[str, Any]) -> None:
    path.write_text(f"{json.dumps(told, indent=2, sort_keys=True)}\n", "utf-8")


def counts_of(lines: list[bytes]) -> list[dict[str, Any]]:
    """Return what is counted of a recorded game that was finished, seat 1 first."""
    result = result_of([read_event(line, FACT_TYPES) for line in lines])
    return [
        {
            "seat": seat.seat,
            "place": seat.place,
            "points": seat.points,
            "resigned": seat.resigned,
            "counts": dict(seat.counts),
        }
        for seat in result.seats
    ]


def notation_of(lines: list[bytes]) -> str:
    """Return a recorded game in the notation of its kind."""
    facts = [read_event(line, FACT_TYPES).fact for line in lines]
    opened = facts[0]
    if not isinstance(opened, GameOpened):
        raise TypeError("a game begins with its opening")
    decider = DECIDERS[opened.kind, opened.ruleset]
    return "".join(f"{line}\n" for line in decider.note(positions(decider.evolve, decider.empty(None), facts)))


def add_missing(folder: Path = FOLDER) -> Iterator[Path]:
    """Add the games and samples that are missing; yield their files."""
    (folder / "games").mkdir(parents=True, exist_ok=True)
    (folder / "facts").mkdir(exist_ok=True)
    for name, game in GAMES.items():
        path = folder / "games" / f"{name}.jsonl"
        if not path.exists():
            _add_game(folder, name, game())
            yield path
    for name, lines in recorded_games(folder).items():
        path = folder / "games" / f"{name}.txt"
        if not path.exists():
            path.write_text(notation_of(lines), "utf-8")
            yield path
        for line in lines:
            event = read_event(line, FACT_TYPES)
            path = folder / "facts" / f"{event.fact.topic}.v{event.fact.version}.json"
            if not path.exists():
                (alone,) = chain(event.game, event.seq - 1, event.prev, [event.fact], event.cause)
                path.write_bytes(alone.data)
                yield path
    yield from _add_counts(folder)


def _add_counts(folder: Path) -> Iterator[Path]:
    told, path = counts(folder), folder / "games" / "counts.json"
    missing = {name: lines for name, lines in recorded_games(folder).items() if name not in told}
    counted = {name: counts_of(lines) for name, lines in missing.items() if _finished(lines)}
    if counted:
        _tell(path, counted | told)
        yield path


def _finished(lines: list[bytes]) -> bool:
    return any(isinstance(read_event(line, FACT_TYPES).fact, GameFinished) for line in lines)


def _add_game(folder: Path, name: str, played: Played) -> None:
    events = [event for command in played.events() for event in command]
    finished = played.table.finished
    if finished is None and not played.table.cancelled:
        raise ValueError(f"the game {name} has no end")
    told = {
        "events": len(events),
        "head": events[-1].hash,
        "commitment": played.seeds.commitment.hex(),
        "timed_out": played.ending == "timed-out",
        "result": finished.model_dump(mode="json") if finished else None,
    }
    (folder / "games" / f"{name}.jsonl").write_bytes(b"".join(event.data + b"\n" for event in events))
    _tell(folder / "games" / "results.json", {name: told, **results(folder)})


if __name__ == "__main__":
    for added in add_missing():
        sys.stdout.write(f"added {added}\n")
