"""Whether what the clients were told and what the log holds fit together; where not, in a sentence each.

What must hold: an acknowledged command stands in the log exactly once, at the version it was told; a refused one
never; one whose outcome is unknown at most once. Who asks after somebody was answered finds at least what that answer
told, in each game: reads and commands alike, whoever was answered and on whichever server. A read is the fold of the
events up to its version. A stream of events is the log, without a gap.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple
from uuid import UUID

from domain.dealing import Seeds
from domain.events import GENESIS, SERVER, Event, chain_hash, key_digest, player_actor, read_event
from domain.game import Game
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import CLOSING, DeadlineExtended, GameOpened, TimedOut
from tests.faults.histories import Acknowledged, Heard, Histories, Refused, Request
from tests.faults.shown import expected

__all__ = ["Row", "findings"]

OF_ITSELF: Final = (TimedOut.topic, DeadlineExtended.topic)
"""With what begins what the server does without being asked."""


class Row(NamedTuple):
    """A row of the log, as the database has it."""

    position: int
    game: UUID
    seq: int
    topic: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Run:
    """The events of one command."""

    events: tuple[Event, ...]

    @property
    def first(self) -> Event:
        return self.events[0]

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def topic(self) -> str:
        return self.first.fact.topic

    def __str__(self) -> str:
        return f"events {self.first.seq} to {self.last.seq} of {self.first.game}, from {self.topic} on"


def findings(histories: Histories, log: Sequence[Row], seeds: Mapping[UUID, Seeds]) -> list[str]:
    """Return what is wrong; nothing where all is well.

    Args:
        histories: what the clients did and were told.
        log: every row of the log, in its order.
        seeds: of the games, so that a player's own hidden cards can be told. They are asked for by the game's id.
    """
    found = list(_broken(log))
    if found:
        return found  # a log that is not whole has no fold to compare with
    games = {game: tuple(events) for game, events in _by_game(read_event(row.data, FACT_TYPES) for row in log).items()}
    runs = [run for events in games.values() for run in _runs(events)]
    by_key = {run.first.cause.key: run for run in runs}
    return [
        *_told_and_stored(histories.requests, by_key),
        *_doubled(runs),
        *_unasked(histories.requests, runs),
        *_out_of_order(histories, by_key),
        *_no_folds(histories, games, seeds),
        *_gaps(histories.heard, games),
    ]


def _by_game(events: Iterable[Event]) -> dict[UUID, list[Event]]:
    games: dict[UUID, list[Event]] = defaultdict(list)
    for event in events:
        games[event.game].append(event)
    return games


# The log by itself


def _broken(log: Sequence[Row]) -> Iterator[str]:
    """Numbers without a gap in the order of positions, whole commands, a chain of hashes, and time that goes on."""
    before = 0
    last: dict[UUID, Event] = {}
    for row in log:
        if row.position <= before:
            yield f"position {row.position} comes after position {before} in the log"
        before = row.position
        event, previous = read_event(row.data, FACT_TYPES), last.get(row.game)
        last[row.game] = event
        here = f"event {event.seq} of {row.game}"
        if (event.game, event.seq, event.fact.topic) != (row.game, row.seq, row.topic):
            yield f"the row of event {row.seq} of {row.game} holds another event than it says"
        if event.seq != (previous.seq if previous else 0) + 1:
            yield f"{here} follows event {previous.seq if previous else 0}"
        if event.prev != (previous.hash if previous else GENESIS):
            yield f"{here} is not chained to the event before it"
        if previous and event.cause.at < previous.cause.at:
            yield f"{here} is earlier than the event before it"
        begins = previous is None or previous.part == previous.parts
        if event.part != (1 if previous is None or begins else previous.part + 1):
            yield f"{here} is part {event.part} of {event.parts}, out of its place"
        if previous and not begins and (event.cause, event.parts) != (previous.cause, previous.parts):
            yield f"{here} is part of another command than the event before it"
    for game, event in last.items():
        if event.part != event.parts:
            yield f"{game} ends within a command, at part {event.part} of {event.parts}"


def _runs(events: Sequence[Event]) -> Iterator[_Run]:
    for _, run in groupby(events, key=lambda event: event.seq - event.part):
        yield _Run(tuple(run))


# The log and the answers


def _told_and_stored(requests: Sequence[Request], by_key: Mapping[str | None, _Run]) -> Iterator[str]:
    for request in requests:
        run = by_key.get(key_digest(request.player, request.key))
        match request.outcome:
            case Acknowledged() as told if run is None:
                yield f"{request} was acknowledged at version {told.version}, and is not in the log"
            case Acknowledged() as told if run is not None:
                stored = tuple((event.seq, event.hash) for event in run.events)
                if (told.version, told.hash, told.events) != (run.last.seq, run.last.hash, stored):
                    yield f"{request} was acknowledged with version {told.version}, and stands in the log as {run}"
            case Refused() as refused if run is not None:
                yield f"{request} was refused with {refused.code}, and stands in the log as {run}"
            case _:
                pass  # an unknown outcome is none or one; two are found as a key that stands twice
        if run is not None:
            yield from _other_than_asked(request, run)


def _other_than_asked(request: Request, run: _Run) -> Iterator[str]:
    if run.first.cause.actor != player_actor(request.player):
        yield f"{request} stands in the log as done by {run.first.cause.actor}"
    if run.topic != request.topic:
        yield f"{request} stands in the log as {run}"
    if request.game not in (None, run.first.game):
        yield f"{request} stands in the log of another game, {run.first.game}"
    if request.expected is not None and run.first.seq != request.expected + 1:
        yield f"{request} was made for version {request.expected}, and stands in the log as {run}"


def _doubled(runs: Iterable[_Run]) -> Iterator[str]:
    seen: dict[tuple[str, UUID | None], _Run] = {}
    for run in runs:
        actor, _, key, _ = run.first.cause
        if key is None:
            continue
        # The server's own keys name what happened to all games; each game takes part in it once.
        command = key, run.first.game if actor == SERVER else None
        if command in seen:
            yield f"one command stands in the log twice: as {seen[command]}, and as {run}"
        seen.setdefault(command, run)


def _unasked(requests: Iterable[Request], runs: Iterable[_Run]) -> Iterator[str]:
    asked = {key_digest(request.player, request.key) for request in requests}
    for run in runs:
        by_itself = run.first.cause.actor == SERVER and run.topic in OF_ITSELF
        if run.first.cause.key not in asked and not by_itself:
            yield f"nobody asked for {run}"


# Real time


@dataclass(frozen=True, slots=True)
class _Answer:
    """At that moment somebody knew that the game had come to a version."""

    returned: float
    version: int
    what: str


class _Known:
    """What of each game had been told, and when."""

    def __init__(self, histories: Histories) -> None:
        answers: dict[UUID, list[_Answer]] = defaultdict(list)
        for read in histories.reads:
            answers[read.game].append(_Answer(read.returned, read.version, str(read)))
        for request in histories.requests:
            told = _told(request)
            if told is not None:
                game, version = told
                answers[game].append(_Answer(request.returned, version, f"the answer to {request}"))
        self._times: dict[UUID, list[float]] = {}
        self._newest: dict[UUID, list[_Answer]] = {}
        for game, unsorted in answers.items():
            found = sorted(unsorted, key=lambda answer: answer.returned)
            newest = found[:1]
            for answer in found[1:]:
                newest.append(max(newest[-1], answer, key=lambda one: one.version))
            self._times[game], self._newest[game] = [answer.returned for answer in found], newest

    def before(self, game: UUID, called: float) -> _Answer | None:
        """Return the answer that told most of a game before a moment."""
        index = bisect_left(self._times.get(game, []), called)
        return self._newest[game][index - 1] if index else None


def _told(request: Request) -> tuple[UUID, int] | None:
    """The version of its game that a request's answer told."""
    match request.outcome:
        case Acknowledged() as told:
            return UUID(told.shown["uuid"]), told.version
        case Refused(current=int() as current) if request.game is not None:
            return request.game, current
        case _:
            return None


def _out_of_order(histories: Histories, by_key: Mapping[str | None, _Run]) -> Iterator[str]:
    known = _Known(histories)
    for read in histories.reads:
        yield from _too_old(str(read), known.before(read.game, read.called), read.version)
    for request in histories.requests:
        told, run = _told(request), by_key.get(key_digest(request.player, request.key))
        if run is not None:
            # Its events come after all that was known: so its first one is one more at least.
            before = known.before(run.first.game, request.called)
            yield from _too_old(f"the first event of {request}", before, run.first.seq - 1)
        elif told is not None:
            game, current = told
            yield from _too_old(f"the refusal of {request}", known.before(game, request.called), current)


def _too_old(what: str, known: _Answer | None, version: int) -> Iterator[str]:
    if known is not None and version < known.version:
        yield f"{what} comes after version {version} only, though {known.what} had told of version {known.version}"


# Reads and streams


class _Sight(NamedTuple):
    what: str
    player: UUID
    shown: Mapping[str, Any]


def _no_folds(
    histories: Histories, games: Mapping[UUID, tuple[Event, ...]], seeds: Mapping[UUID, Seeds]
) -> Iterator[str]:
    for game, sights in _sights(histories).items():
        events = games.get(game, ())
        for version in sorted(sights):
            if version > len(events):
                yield from (f"{sight.what} shows version {version} of {len(events)}" for sight in sights[version])
        if events:
            yield from _compared(events, sights, seeds.get(game))


def _sights(histories: Histories) -> dict[UUID, dict[int, list[_Sight]]]:
    """What was seen of each game, at each version; also in the answers to commands."""
    sights: dict[UUID, dict[int, list[_Sight]]] = defaultdict(lambda: defaultdict(list))
    for read in histories.reads:
        sights[read.game][read.version].append(_Sight(str(read), read.player, read.shown))
    for request in histories.requests:
        if isinstance(told := request.outcome, Acknowledged):
            sight = _Sight(f"the answer to {request}", request.player, told.shown)
            sights[UUID(told.shown["uuid"])][told.version].append(sight)
    return sights


def _compared(events: Sequence[Event], sights: Mapping[int, Sequence[_Sight]], seeds: Seeds | None) -> Iterator[str]:
    game = _unopened(events[0], seeds)
    for event in events:
        game = game.after((event,))
        for sight in sights.get(event.seq, ()):
            fold = expected(game, sight.player)
            wrong = [name for name, value in fold.items() if sight.shown.get(name) != value]
            if wrong:
                yield f"{sight.what} is no fold of the log up to version {event.seq}: {', '.join(wrong)} differ"


def _unopened(opening: Event, seeds: Seeds | None) -> Game:
    opened = opening.fact
    if not isinstance(opened, GameOpened):
        raise TypeError(f"{opening.game} begins with {opened.topic}")
    decider = DECIDERS[opened.kind, opened.ruleset]
    return Game.unopened(opening.game, decider, decider.empty(seeds))


def _gaps(heard: Sequence[Heard], games: Mapping[UUID, tuple[Event, ...]]) -> Iterator[str]:
    pieces: dict[str, list[Heard]] = defaultdict(list)
    for piece in heard:
        pieces[piece.subscriber].append(piece)
    for subscriber, joined in pieces.items():
        events = games.get(joined[0].game, ())
        known = 0
        for piece in joined:
            if piece.after != known:
                yield f"{subscriber} came back after event {piece.after}, having heard up to event {known}"
            known = piece.after
            for seq, hash_ in piece.events:
                if seq != known + 1:
                    yield f"{subscriber} heard of event {seq} after event {known}"
                if seq > len(events) or chain_hash(events[seq - 1].data) != hash_:
                    yield f"{subscriber} heard of an event {seq} that the log does not have"
                known = seq
        whole = bool(events) and known == len(events) and isinstance(events[-1].fact, CLOSING)
        if joined[-1].ended == "complete" and not whole:
            yield f"{subscriber} was told that all is told at event {known} of {len(events)}"
