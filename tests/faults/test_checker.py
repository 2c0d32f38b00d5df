"""The checker finds each kind of fault, told from a small history and log in which all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.dealing import Seeds
from domain.decider import Command
from domain.events import SERVER, Cause, Event, chain, content_digest, key_digest, player_actor, read_event
from domain.game import Game
from domain.games import FACT_TYPES
from domain.lifecycle import ExtendDeadline, Resign, RunOutOfTime
from domain.ticitaire.facts import Options
from domain.ticitaire.rules import TICITAIRE, OpenTicitaire, TurnStock
from tests.faults.checker import Row, findings
from tests.faults.histories import Acknowledged, Heard, Histories, Read, Refused, Request, Unknown
from tests.faults.shown import expected

GAME = UUID("00000000-0000-4000-8000-000000000001")
ADA = UUID("00000000-0000-4000-8000-0000000000ad")
EVE = UUID("00000000-0000-4000-8000-0000000000ee")
SEEDS = Seeds.backwards(GAME, last=bytes(range(32)), deals=1)
NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


def row(event: Event, position: int) -> Row:
    return Row(position, event.game, event.seq, event.fact.topic, event.data)


@dataclass
class Story:
    """What happened, told step by step: the log and the clients' histories grow together."""

    game: Game = field(default_factory=lambda: Game.unopened(GAME, TICITAIRE, TICITAIRE.empty(SEEDS)))
    log: list[Row] = field(default_factory=list)
    told: Histories = field(default_factory=Histories)
    now: float = 0.0

    def tick(self) -> float:
        self.now += 1
        return self.now

    def record(self, command: Command, *, key: str, seconds: float | None = None) -> tuple[Event, ...]:
        """Put a command's events into the log."""
        at = NOON + timedelta(seconds=self.now if seconds is None else seconds)
        cause = Cause(player_actor(ADA), at, key_digest(ADA, key), content_digest(command, key))
        facts = self.game.decider.decide(command, self.game.table, at)
        return self.append(chain(self.game.id, self.game.version, self.game.head, facts, cause))

    def append(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        self.game = self.game.after(events)
        self.log += [row(event, len(self.log) + n) for n, event in enumerate(events, 1)]
        return events

    def does(self, command: Command, topic: str, *, client: str = "Ada") -> None:
        """Let a client send a command that is acknowledged."""
        key, called, version = f"key number {len(self.told.requests)}", self.tick(), self.game.version
        events = self.record(command, key=key)
        hashes = tuple((event.seq, event.hash) for event in events)
        outcome = Acknowledged(self.game.version, self.game.head, hashes, expected(self.game, ADA))
        game, made_for = (GAME, version) if version else (None, None)
        self.told.requests.append(Request(client, ADA, key, game, topic, made_for, called, self.tick(), outcome))

    def sees(self, client: str, version: int | None = None) -> None:
        """Let a client read the game, as it is or as it was."""
        seen = self.game if version is None else self.at(version)
        self.told.reads.append(Read(client, ADA, GAME, self.tick(), self.tick(), expected(seen, ADA)))

    def at(self, version: int) -> Game:
        events = [read_event(one.data, FACT_TYPES) for one in self.log[:version]]
        return Game.unopened(GAME, TICITAIRE, TICITAIRE.empty(SEEDS)).after(events)

    def hears(self, after: int, last: int, ended: str) -> None:
        """Let a subscriber hear of a part of the game."""
        events = tuple((one.seq, read_event(one.data, FACT_TYPES).hash) for one in self.log[after:last])
        self.told.heard.append(Heard("a subscriber", GAME, after, events, ended))

    def alter(self, number: int, **changes: object) -> None:
        """Change what is known of a request."""
        self.told.requests[number] = replace(self.told.requests[number], **changes)  # type: ignore[arg-type]

    def findings(self) -> list[str]:
        return findings(self.told, self.log, {GAME: SEEDS})


OPENING, FIRST, SECOND, REFUSED, NEVER, LAST = range(6)
"""The requests of the story."""


@pytest.fixture
def story() -> Story:
    """An opening, two moves, a refusal, a move without an answer that did not happen, and the end; looks in between."""
    story = Story()
    story.does(OpenTicitaire(player=ADA), "ticitaire.GameOpened")
    story.does(TurnStock(seat=1), "ticitaire.StockTurned")
    story.sees("Ada")
    story.hears(0, 4, "1001")
    story.does(TurnStock(seat=1), "ticitaire.StockTurned", client="Ada's other connection")
    story.sees("Bob")
    for outcome in (Refused("VERSION_CONFLICT", current=5), Unknown("ReadError")):
        key, called = f"key number {len(story.told.requests)}", story.tick()
        made_for = 4 if isinstance(outcome, Refused) else 5
        asked = Request("Ada", ADA, key, GAME, "ticitaire.StockTurned", made_for, called, story.tick(), outcome)
        story.told.requests.append(asked)
    story.does(Resign(seat=1), "game.PlayerResigned")
    story.sees("Ada")
    story.hears(4, 8, "complete")
    return story


def test_nothing_is_found_where_all_is_well(story: Story) -> None:
    assert story.findings() == []


def test_a_command_without_an_answer_may_have_happened_once(story: Story) -> None:
    story.alter(SECOND, outcome=Unknown("ReadError"))
    assert story.findings() == []


def told_by_the_server(story: Story, command: Command, key: str | None = None) -> None:
    """Let the server do something by itself, long after the beginning."""
    at = NOON + timedelta(hours=1)
    cause = Cause(SERVER, at, key and key_digest(SERVER, key))
    facts = TICITAIRE.decide(command, story.game.table, at)
    story.append(chain(GAME, story.game.version, story.game.head, facts, cause))


@pytest.fixture
def timed() -> Story:
    """A game with a time limit, which is over."""
    timed = Story()
    timed.does(OpenTicitaire(player=ADA, options=Options(time_limit=60)), "ticitaire.GameOpened")
    return timed


def test_what_the_server_does_by_itself_needs_nobody_who_asked(timed: Story) -> None:
    told_by_the_server(timed, ExtendDeadline(seconds=60), "outage 1")
    told_by_the_server(timed, RunOutOfTime())
    assert timed.findings() == []


def test_what_the_server_does_twice_is_found(timed: Story) -> None:
    told_by_the_server(timed, ExtendDeadline(seconds=60), "outage 1")
    told_by_the_server(timed, ExtendDeadline(seconds=60), "outage 1")
    (found,) = timed.findings()
    assert found.startswith("one command stands in the log twice: as events 4 to 4")


# What is planted, each with what the checker must say of it


def lost(story: Story) -> None:
    del story.log[5:]


def doubled(story: Story) -> None:
    story.log, story.game = story.log[:5], story.at(5)
    story.alter(LAST, outcome=Unknown("ReadError"))
    story.told.heard.clear()
    story.told.reads.pop()
    story.record(TurnStock(seat=1), key="key number 2")


def refused_and_recorded(story: Story) -> None:
    story.alter(SECOND, outcome=Refused("NOT_SEATED"))


def told_another_version(story: Story) -> None:
    told = story.told.requests[SECOND].outcome
    assert isinstance(told, Acknowledged)
    story.alter(SECOND, outcome=replace(told, version=4))


def told_of_other_events(story: Story) -> None:
    told = story.told.requests[SECOND].outcome
    assert isinstance(told, Acknowledged)
    story.alter(SECOND, outcome=replace(told, events=((5, "0" * 64),)))


def recorded_for_another_player(story: Story) -> None:
    request = story.told.requests[SECOND]
    key = key_digest(ADA, request.key)
    story.log[4:] = []
    story.game = story.at(4)
    cause = Cause(player_actor(EVE), NOON + timedelta(seconds=50), key)
    story.append(chain(GAME, 4, story.game.head, TICITAIRE.decide(TurnStock(seat=1), story.game.table, NOON), cause))


def recorded_as_another_command(story: Story) -> None:
    story.alter(SECOND, topic="ticitaire.CardsMoved")


def recorded_at_another_version(story: Story) -> None:
    story.alter(SECOND, expected=3)


def recorded_in_another_game(story: Story) -> None:
    story.alter(SECOND, game=ADA)


def nobody_asked(story: Story) -> None:
    del story.told.requests[SECOND]


def stale_read(story: Story) -> None:
    story.sees("Bob", version=7)


def read_that_goes_back(story: Story) -> None:
    story.alter(SECOND, outcome=Unknown("ReadError"))
    story.alter(REFUSED, outcome=Unknown("ReadError"))
    read = replace(story.told.reads[0], called=story.told.reads[1].returned + 0.1)
    story.told.reads[0] = replace(read, returned=read.called + 0.1)


def stale_refusal(story: Story) -> None:
    story.alter(REFUSED, outcome=Refused("VERSION_CONFLICT", current=4))


def wrong_order(story: Story) -> None:
    second = story.told.requests[SECOND]
    story.alter(FIRST, called=second.returned + 0.1, returned=second.returned + 0.2)


def read_of_a_table_that_never_was(story: Story) -> None:
    read = story.told.reads[1]
    story.told.reads[1] = replace(read, shown={**read.shown, "waste": []})


def read_with_another_hash(story: Story) -> None:
    read = story.told.reads[1]
    story.told.reads[1] = replace(read, shown={**read.shown, "hash": story.at(4).head})


def read_of_what_is_not_there(story: Story) -> None:
    read = story.told.reads[2]
    story.told.reads[2] = replace(read, shown={**read.shown, "version": 9})


def gap_in_a_stream(story: Story) -> None:
    piece = story.told.heard[1]
    story.told.heard[1] = replace(piece, events=(piece.events[0], *piece.events[2:]))


def gap_between_two_pieces(story: Story) -> None:
    story.told.heard[1] = replace(story.told.heard[1], after=5, events=story.told.heard[1].events[1:])


def event_heard_twice(story: Story) -> None:
    piece = story.told.heard[1]
    story.told.heard[1] = replace(piece, events=(piece.events[0], *piece.events))


def stream_of_other_events(story: Story) -> None:
    piece = story.told.heard[1]
    story.told.heard[1] = replace(piece, events=((5, "0" * 64), *piece.events[1:]))


def stream_ended_too_early(story: Story) -> None:
    piece = story.told.heard[1]
    story.told.heard[1] = replace(piece, events=piece.events[:-1])


def broken_chain(story: Story) -> None:
    story.log[4] = story.log[4]._replace(data=story.log[4].data.replace(b"12:00:", b"12:01:", 1))


def gap_in_the_log(story: Story) -> None:
    del story.log[4]


def positions_out_of_order(story: Story) -> None:
    story.log[4], story.log[5] = story.log[4]._replace(position=6), story.log[5]._replace(position=5)


def half_a_command(story: Story) -> None:
    del story.log[-1]


def row_of_another_event(story: Story) -> None:
    story.log[4] = story.log[4]._replace(topic="ticitaire.WasteRecycled")


def time_that_runs_backwards(story: Story) -> None:
    story.log, story.game = story.log[:5], story.at(5)
    at = NOON - timedelta(hours=1)
    facts = TICITAIRE.decide(TurnStock(seat=1), story.game.table, at)
    story.append(chain(GAME, 5, story.game.head, facts, Cause(player_actor(ADA), at, key_digest(ADA, "key number 4"))))


PLANTED: dict[Callable[[Story], None], str] = {
    lost: "was acknowledged at version 8, and is not in the log",
    doubled: "one command stands in the log twice",
    refused_and_recorded: "was refused with NOT_SEATED, and stands in the log",
    told_another_version: "was acknowledged with version 4, and stands in the log as events 5 to 5",
    told_of_other_events: "was acknowledged with version 5, and stands in the log as events 5 to 5",
    recorded_for_another_player: f"stands in the log as done by player:{EVE}",
    recorded_as_another_command: "Ada's other connection's ticitaire.CardsMoved (key number 2) stands in the log",
    recorded_at_another_version: "was made for version 3, and stands in the log as events 5 to 5",
    recorded_in_another_game: "stands in the log of another game",
    nobody_asked: "nobody asked for events 5 to 5",
    stale_read: f"Bob's read of {GAME} at version 7 comes after version 7 only, though the answer to Ada's",
    read_that_goes_back: f"Ada's read of {GAME} at version 4 comes after version 4 only, though Bob's read",
    stale_refusal: "the refusal of Ada's ticitaire.StockTurned (key number 3) comes after version 4 only",
    wrong_order: "the first event of Ada's ticitaire.StockTurned (key number 1) comes after version 3 only",
    read_of_a_table_that_never_was: "is no fold of the log up to version 5: waste differ",
    read_with_another_hash: "is no fold of the log up to version 5: hash differ",
    read_of_what_is_not_there: "shows version 9 of 8",
    gap_in_a_stream: "a subscriber heard of event 7 after event 5",
    gap_between_two_pieces: "came back after event 5, having heard up to event 4",
    event_heard_twice: "a subscriber heard of event 5 after event 5",
    stream_of_other_events: "heard of an event 5 that the log does not have",
    stream_ended_too_early: "was told that all is told at event 7 of 8",
    broken_chain: f"event 6 of {GAME} is not chained to the event before it",
    gap_in_the_log: f"event 6 of {GAME} follows event 4",
    positions_out_of_order: "position 5 comes after position 6",
    half_a_command: "ends within a command, at part 2 of 3",
    row_of_another_event: f"the row of event 5 of {GAME} holds another event",
    time_that_runs_backwards: f"event 6 of {GAME} is earlier than the event before it",
}


@pytest.mark.parametrize("plant", [pytest.param(plant, id=plant.__name__.replace("_", " ")) for plant in PLANTED])
def test_a_fault_is_found_and_named(story: Story, plant: Callable[[Story], None]) -> None:
    plant(story)
    assert [finding for finding in story.findings() if PLANTED[plant] in finding]
