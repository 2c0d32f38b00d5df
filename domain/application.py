"""Games: load, decide, append. The life of a command, from the request to the disk.

Commands that come while others are on their way to the disk gather. A batch of them, one of each game at most, is read
for with one query, decided one after the other, and appended in one transaction.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from eventsourcing.persistence import InterfaceError, OperationalError

from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Deciders
from domain.events import (
    SERVER,
    Cause,
    Event,
    content_digest,
    key_digest,
    player_actor,
    read_event,
)
from domain.game import Answered, Game
from domain.games import DECIDERS, FACT_TYPES, RULESETS
from domain.gathering import Gathering, Item, Told, asked
from domain.lifecycle import CLOSING
from domain.observing import Observer, Unobserved
from domain.storage import EventMapper, EventRecorder, NotAsked, NotReplicated
from domain.unsealing import NotHandled, SealedElsewhere, SealUnopened, Unsealing, lacks_its_key
from domain.vault import SealError, Vault
from domain.waypoints import Waypoints, next_waypoint

__all__ = [
    "CONNECTIONS",
    "AlreadyOpened",
    "GameNotFound",
    "Games",
    "KeyReused",
    "Moment",
    "NotHandled",
    "NotSeated",
    "Outcome",
    "SealUnopened",
    "SealedElsewhere",
    "Undecided",
    "VersionConflict",
]
__all__ += ["WrongKind"]

MAX_ATTEMPTS: Final = 12
"""How often a command that names no version is decided again after another server's event came first."""
ASIDE: Final = 2
"""Threads for what one request alone needs before its batch, a game read or seeds drawn, and as many for what it needs
after it, an answer found again."""
CONNECTIONS: Final = 2 * ASIDE + 1
"""To the database, at most; beside those of the threads that call ``Games`` to read."""
AT_ONCE: Final = 500
"""Events of a game that is told again which are read together: more than most games have."""
MAX_APPENDS: Final = 3
"""How often the same events are offered to a database that goes away at the commit."""


class GameNotFound(NotHandled):
    """There is no such game."""


class NotSeated(NotHandled):
    """The player has no seat in the game."""


class WrongKind(NotHandled):
    """The game is of a kind that does not know the command."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"this is a game of {kind}")
        self.kind: Final = kind


class VersionConflict(NotHandled):
    """The game is not at the version that the command was made for."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the game is at version {current}")
        self.current: Final = current


class KeyReused(NotHandled):
    """The idempotency key was used with other content."""


class AlreadyOpened(KeyReused):
    """The game of that id was opened by another request."""


class Undecided(Exception):
    """Whether the command was recorded can't be told yet.

    The database went away at the commit; or it was recorded, and a failover to the standby may lose it.
    """


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command."""

    game: Game
    """At the version after the command."""
    events: tuple[Event, ...]
    repeated: bool = False
    """The key had been answered before; this is the first answer again."""


class Moment(NamedTuple):
    """An event of a game that is told again, with the game around it."""

    event: Event
    before: Game
    """As it follows from the log alone, like ``after``: what is told from them can't tell of a hidden card."""
    after: Game
    game: Game
    """After the event, as a viewer is shown it: with the hidden cards where they were asked for."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The events that would follow a game."""

    game: Game
    events: tuple[Event, ...]


class _Found(NamedTuple):
    """Games as the log has them."""

    games: list[Game | Exception | None]
    """In one's place why it can't be read; None where there is none."""
    now: datetime
    """The database's time."""
    timeline: int
    """The database's."""


@dataclass(frozen=True, slots=True)
class _Repeat:
    """The key was answered before: the game, and what answered it."""

    game: Game
    first: Answered


@dataclass(frozen=True, slots=True)
class _Request:
    """A command for a game, and how it is decided."""

    game_id: UUID
    decide: Callable[[Game | None, datetime], _Step | _Repeat]
    """Takes the game as the log has it, None where there is no such game, and the database's time.

    It raises what the request is refused with.
    """


_Waiting: TypeAlias = Item[_Request, Outcome]


class Games:
    """All games of one event store.

    ``open``, ``handle`` and ``act`` block until the command is on disk or refused; ``ask_to_open`` and ``ask`` do not,
    and tell the outcome, or what would have been raised, in another thread. All may be called from many threads.
    """

    def __init__(
        self,
        recorder: EventRecorder,
        vault: Vault,
        *,
        deciders: Deciders = DECIDERS,
        keep: int = 2_000,
        observer: Observer | None = None,
    ) -> None:
        """Keep up to ``keep`` games in memory; they are read anew from the log when they are needed again.

        The ``observer`` is told of every command and every append.
        """
        self._recorder: Final = recorder
        self._mapper: Final = EventMapper()
        self._vault: Final = vault
        self._deciders: Final = deciders
        self._unsealing: Final = Unsealing(vault, deciders)
        self._keep: Final = keep
        self._observer: Final[Observer] = observer or Unobserved()
        self._known: Final[OrderedDict[UUID, Game]] = OrderedDict()
        self._known_lock: Final = threading.Lock()
        self._timeline = 0
        """That of the database when games were read last: what is in memory was read on it."""
        self._waypoints = Waypoints()
        self._public_waypoints = Waypoints()
        """Of games as they follow from the log alone."""
        self._batches: Final = Gathering[_Request, Outcome](self._serve, key=lambda request: request.game_id)
        self._before: Final = ThreadPoolExecutor(ASIDE, thread_name_prefix="tic-before")
        self._after: Final = ThreadPoolExecutor(ASIDE, thread_name_prefix="tic-after")

    @property
    def waiting(self) -> int:
        """How many commands wait for the batch that is at work."""
        return len(self._batches)

    def close(self) -> None:
        """Wait until every command that was asked for is on disk or refused. Nothing can be asked for any more."""
        self._before.shutdown()
        self._batches.close()
        self._after.shutdown()

    # Commands

    def open(
        self, kind: str, command: Command, *, player: UUID, key: str | None, game_id: UUID | None = None
    ) -> Outcome:
        """Open a game under the newest ruleset of its kind. The same player and key find the same game again.

        Args:
            kind: which rules are played.
            command: opens it.
            player: who opens it.
            key: the same key again returns the first outcome.
            game_id: the game's id, where it must be a certain one; else a new one.

        Raises:
            KeyReused: the key opened a game with other content.
            AlreadyOpened: the game of that id was opened by another request.
            SealUnopened: seeds were drawn for it before, whose seal can't be opened now.
            RuleViolation: the rules refuse it.
            Undecided, OperationalError: the database is away.
        """
        outcome: Future[Outcome] = asked(
            lambda told: self.ask_to_open(kind, command, player=player, key=key, told=told, game_id=game_id)
        )
        return outcome.result()

    def ask_to_open(
        self,
        kind: str,
        command: Command,
        *,
        player: UUID,
        key: str | None,
        told: Told[Outcome],
        game_id: UUID | None = None,
    ) -> None:
        """Do what ``open`` does, and tell the outcome."""
        told = self._observed(told, kind)
        if game_id is None:
            game_id = uuid4() if key is None else _game_id(player, key)
        decider = self._deciders[kind, RULESETS[kind]]

        def prepare() -> _Request:
            # On disk before the event that commits to it; where the game is there already, its seeds are there too.
            try:
                drawn = self._vault.draw(game_id, decider.deals)
            except SealError as error:
                self._unsealing.tell(game_id, error)
                drawn = None
            if drawn is not None and len(drawn) < decider.deals:
                raise KeyReused  # for a kind with fewer deals, whose opening was refused: these seeds would run out
            unopened = self._unfolded(game_id, decider, drawn)

            def decide(game: Game | None, now: datetime) -> _Step | _Repeat:
                cause = _cause(player, command, key, now)
                if game is not None:
                    return _answered(game, cause)
                if drawn is None:
                    raise SealUnopened
                return _Step(unopened, unopened.events_of(command, cause))

            return _Request(game_id, decide)

        self._prepared(prepare, told)

    def handle(
        self,
        game_id: UUID,
        command: Callable[[int], Command],
        *,
        player: UUID,
        expected_version: int | None,
        key: str | None,
        seated: bool = True,
        kind: str | None = None,
    ) -> Outcome:
        """Decide a player's command and append its events.

        Args:
            game_id: the game.
            command: makes the command of the player's seat; 0 where the player has none.
            player: who asks.
            seated: only a player who is at the table may ask for it.
            kind: only in a game of this kind; None where every kind that knows the command will do.
            expected_version: refuse where the game is at another version; None where the position does not matter.
            key: the same key again returns the first outcome.

        Raises:
            GameNotFound, NotSeated, WrongKind, VersionConflict, KeyReused, SealedElsewhere, SealUnopened: nothing was
                recorded.
            RuleViolation: the rules refuse it, and nothing was recorded.
            Undecided, OperationalError: the database is away.
        """
        outcome: Future[Outcome] = asked(
            lambda told: self.ask(
                game_id,
                command,
                player=player,
                expected_version=expected_version,
                key=key,
                told=told,
                seated=seated,
                kind=kind,
            )
        )
        return outcome.result()

    def ask(
        self,
        game_id: UUID,
        command: Callable[[int], Command],
        *,
        player: UUID,
        expected_version: int | None,
        key: str | None,
        told: Told[Outcome],
        seated: bool = True,
        kind: str | None = None,
    ) -> None:
        """Do what ``handle`` does, and tell the outcome."""

        def admit(game: Game) -> None:
            if kind not in (None, game.decider.kind):
                raise WrongKind(game.decider.kind)
            if seated and not game.table.attends(player):
                raise NotSeated

        self._ask(
            game_id,
            lambda game: command(game.table.seat_of(player)),
            lambda made, now: _cause(player, made, key, now),
            expected_version,
            told,
            admit,
        )

    def act(self, game_id: UUID, command: Command, *, key: str | None = None) -> Outcome:
        """Decide a command that the server gives by itself, and append its events; the same key does so once.

        Raises:
            GameNotFound: there is no such game.
            WrongKind: its kind does not know the command.
            SealedElsewhere: it came here as a record.
            SealUnopened: its seal can't be opened now.
            RuleViolation: the rules refuse it, and nothing was recorded.
            Undecided, OperationalError: the database is away.
        """
        outcome: Future[Outcome] = asked(
            lambda told: self._ask(
                game_id, lambda _: command, lambda made, now: _cause(None, made, key, now), None, told
            )
        )
        return outcome.result()

    def _ask(
        self,
        game_id: UUID,
        command: Callable[[Game], Command],
        cause_of: Callable[[Command, datetime], Cause],
        expected_version: int | None,
        told: Told[Outcome],
        admit: Callable[[Game], None] = lambda _: None,
    ) -> None:
        def decide(game: Game | None, now: datetime) -> _Step | _Repeat:
            if game is None:
                raise GameNotFound
            made = command(game)
            cause = cause_of(made, now)
            if cause.key in game.answered:  # before all else: who has left the table is told so again
                return _answered(game, cause)
            admit(game)
            if not isinstance(made, game.decider.commands):
                raise WrongKind(game.decider.kind)
            if expected_version is not None and expected_version != game.version:
                raise VersionConflict(game.version)
            return _Step(game, game.events_of(made, cause))

        request = _Request(game_id, decide)
        known = self._known.get(game_id)
        told = self._observed(told, known.decider.kind if known else None)
        if known is not None:
            self._batches.submit(request, told)
            return

        def read() -> _Request:
            self._read([game_id])
            return request

        self._prepared(read, told)

    def _observed(self, told: Told[Outcome], kind: str | None) -> Told[Outcome]:
        """Have the observer told as well, before whoever asked."""
        began, observer = time.perf_counter(), self._observer

        def ended(result: Outcome | BaseException) -> None:
            found = result.game.decider.kind if isinstance(result, Outcome) else kind
            observer.ended(found, result, time.perf_counter() - began)
            told(result)

        return ended

    def _prepared(self, prepare: Callable[[], _Request], told: Told[Outcome]) -> None:
        """Hand in a request that needs the database first, for itself alone: others must not wait for that."""

        def run() -> None:
            try:
                request = prepare()
            except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it was
                told(error)
            else:
                self._batches.submit(request, told)

        self._before.submit(run)

    # A batch

    def _serve(self, items: Sequence[_Waiting]) -> None:
        """Decide and append requests for different games, each as if it came alone."""
        waiting = items
        for _ in range(MAX_ATTEMPTS):
            waiting = self._append(*self._decide(waiting))
            if not waiting:
                return
            # Another server was first. A stale expected version is refused on the next round.
        for item in waiting:
            known = self._known.get(item.value.game_id)
            item.end(VersionConflict(known.version) if known else Undecided())

    def _decide(self, items: Sequence[_Waiting]) -> tuple[list[tuple[_Waiting, _Step]], int]:
        """Return what would follow, and on which timeline of the database that is so."""
        steps: list[tuple[_Waiting, _Step]] = []
        found: _Step | _Repeat | Exception
        games, now, timeline = self._read([item.value.game_id for item in items])
        for item, game in zip(items, games, strict=True):
            try:
                found = game if isinstance(game, Exception) else item.value.decide(game, now)
                if isinstance(found, _Repeat):
                    self._after.submit(self._tell_again, item, found)
            except Exception as error:  # noqa: BLE001 - a refusal, or a fault of this game alone
                found = error
            if isinstance(found, Exception):
                item.end(found)
            elif isinstance(found, _Repeat):
                item.ended_later()
            else:
                steps.append((item, found))
        return steps, timeline

    def _append(self, steps: Sequence[tuple[_Waiting, _Step]], timeline: int) -> list[_Waiting]:
        """Append what was decided; return those before whose events others came.

        The very same bytes are offered again where the database went away: a game's sequence number is unique, so
        they stand in the log once at most, and a conflict with themselves means that they stand there. That a failover
        would not lose them is asked for apart: a primary that was killed and comes back has them, and perhaps alone.
        """
        offered = [[self._mapper.to_stored_event(event) for event in step.events] for _, step in steps]
        away: Exception | None = None
        for _ in range(MAX_APPENDS if steps else 0):
            began = time.perf_counter()
            try:
                appended = self._recorder.append(offered, timeline=timeline)
            except NotAsked as error:
                if away is None:  # nothing was offered before either, so nothing is in doubt
                    self._observer.not_appended()
                    return _fail(steps, type(error), error)
                away = error
            except NotReplicated as error:  # to offer it again would wait for the standby, and everyone with it
                self._observer.not_appended()
                return _fail(steps, Undecided, error)
            except (OperationalError, InterfaceError) as error:
                away = error
                self._recorder.drop_dead_connections()
            except Exception as error:
                if away is None:
                    raise
                away = error  # what was offered before may stand in the log all the same
            else:
                events = sum(len(positions or ()) for positions in appended)
                self._observer.appended(len(steps), events, time.perf_counter() - began)
                there = [positions is not None for positions in appended]
                return self._told(steps, there, timeline, in_doubt=away is not None)
            self._observer.not_appended()
        return _fail(steps, Undecided, away)

    def _told(
        self, steps: Sequence[tuple[_Waiting, _Step]], appended: Sequence[bool], timeline: int, *, in_doubt: bool
    ) -> list[_Waiting]:
        late: list[_Waiting] = []
        for (item, step), is_there in zip(steps, appended, strict=True):
            try:
                if is_there or (in_doubt and self._landed(step.events)):
                    game = step.game.after(step.events)
                    self._keep_in_mind(game, timeline)
                    item.end(Outcome(game, step.events))
                else:
                    late.append(item)
            except Exception as error:  # noqa: BLE001 - a fault of this game alone
                item.end(error)
        return late

    def _landed(self, events: tuple[Event, ...]) -> bool:
        last = events[-1]
        try:
            stored = self._recorder.safe_span(last.game, after=last.seq - 1, first=1)
        except Exception as error:
            raise Undecided from error
        return bool(stored) and stored[0].data == last.data

    def _tell_again(self, item: _Waiting, repeat: _Repeat) -> None:
        """Tell the first outcome again. It has to be read and folded, for which nobody else should wait.

        Nobody may have been told it before: it is acknowledged here and now.
        """
        game_id, first = repeat.game.id, repeat.first
        try:
            found = self._recorder.safe_span(game_id, after=first.first - 1, first=first.last - first.first + 1)
            events = tuple(found)
            item.end(Outcome(self.at(game_id, first.last), events, repeated=True))
        except NotReplicated as error:
            item.end(_because(Undecided(), error))
        except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it was
            item.end(error)

    # Reading

    def game(self, game_id: UUID) -> Game:
        """Return the game as it is now: no older than any command that was acknowledged before the call.

        Raises:
            GameNotFound: there is none.
            OperationalError: the database is away.
        """
        (game,) = self._read([game_id]).games
        if isinstance(game, Exception):
            raise game
        if game is None:
            raise GameNotFound
        return game

    def at(self, game_id: UUID, version: int) -> Game:
        """Return the game as it was after the event ``version``.

        Raises:
            GameNotFound: there is no such game, or it has not come that far.
            OperationalError: the database is away.
        """
        now = self.game(game_id)
        if version == now.version:
            return now
        if not 1 <= version < now.version:
            raise GameNotFound
        waypoints = self._waypoints
        game = waypoints.before(game_id, version) or self._unfolded(game_id, now.decider, now.table.seeds)
        while game.version < version:
            wanted = min(version, next_waypoint(game.version))
            game = game.after(self.events(game_id, after=game.version, first=wanted - game.version))
            _keep_waypoint(waypoints, game)
        return game

    def passage(self, game: Game, *, after: int, first: int, hidden: bool = False) -> Iterator[Moment]:
        """Yield at most ``first`` moments of a game up to its version, those after a sequence number.

        The log is read once, and folded once from the nearest waypoint; where the ``hidden`` cards are to be known as
        well, once with them and once without. No more than ``AT_ONCE`` events are held.

        Raises:
            OperationalError: the database is away.
        """
        until = min(after + first, game.version)
        waypoints, public_waypoints = self._waypoints, self._public_waypoints
        told = public_waypoints.before(game.id, after) or self._unfolded(game.id, game.decider, None)
        known = told
        if hidden:
            nearest = waypoints.before(game.id, after)
            known = nearest or self._unfolded(game.id, game.decider, game.table.seeds)
        start = min(told.version, known.version)
        for read in range(start, until, AT_ONCE):
            for event in self.events(game.id, after=read, first=min(AT_ONCE, until - read)):
                before = told
                if event.seq > told.version:
                    told = told.after([event])
                    public_waypoints.keep(told)
                if hidden and event.seq > known.version:
                    known = known.after([event])
                    _keep_waypoint(waypoints, known)
                if event.seq > after:
                    yield Moment(event, before, told, known if hidden else told)

    def now(self) -> datetime:
        """Return the database's time, which is the time of events.

        Raises:
            OperationalError: the database is away.
        """
        return self._recorder.now()

    def events(self, game_id: UUID, *, after: int, first: int) -> tuple[Event, ...]:
        """Return at most ``first`` events of a game after a sequence number; none where there is no such game.

        Raises:
            OperationalError: the database is away.
        """
        return tuple(self._recorder.span(game_id, after=after, first=first))

    def newest(self, game_id: UUID) -> Event:
        """Return the last event of a game.

        Raises:
            GameNotFound: there is no such game.
            OperationalError: the database is away.
        """
        event = self._recorder.newest(game_id)
        if event is None:
            raise GameNotFound
        return event

    # What is kept in memory

    def several(self, game_ids: Sequence[UUID]) -> list[Game | Exception | None]:
        """Return games as they are now, read together: in one's place why it can't be read, None where there is none.

        Raises:
            OperationalError: the database is away.
        """
        return self._read(game_ids).games

    def _read(self, game_ids: Sequence[UUID]) -> _Found:
        """Return the games as the log has them."""
        timeline = self._timeline
        known = [self._known.get(game_id) for game_id in game_ids]
        wanted = [(game_id, game.version if game else 0) for game_id, game in zip(game_ids, known, strict=True)]
        newer, now, found = self._recorder.newer(wanted)
        if found != timeline:
            self._be_on(found)
            if timeline:
                return self._read(game_ids)
        games: list[Game | Exception | None] = []
        for game_id, game, stored in zip(game_ids, known, newer, strict=True):
            try:
                games.append(self._brought_up(game_id, game, stored, found))
            except Exception as error:  # noqa: BLE001 - one game that can't be read must not stop the others
                games.append(error)
        return _Found(games, now, found)

    def _be_on(self, timeline: int) -> None:
        """Forget what was read on an earlier timeline of the database: the standby may not have had all of it.

        Raises:
            OperationalError: it is an earlier one itself.
        """
        with self._known_lock:
            if timeline < self._timeline:
                raise OperationalError(
                    f"the database is on timeline {timeline}, and was on {self._timeline} before: it is a primary of"
                    " before the failover. Stop it. If it is another database, start this server anew"
                )
            if timeline > self._timeline:
                self._known.clear()
                # Others, not the same ones emptied: who is on the way through a game keeps what was, in the old ones.
                self._waypoints, self._public_waypoints = Waypoints(), Waypoints()
                self._timeline = timeline

    def _brought_up(self, game_id: UUID, known: Game | None, newer: Sequence[bytes], timeline: int) -> Game | None:
        if known is None and not newer:
            return None
        events = [read_event(stored, FACT_TYPES) for stored in newer]
        if known is not None and lacks_its_key(known) and (_closes(events) or self._unsealing.opens_now(known)):
            events = list(self.events(game_id, after=0, first=known.version + len(events)))
            known = None
        game = (known or self._unsealing.unopened(game_id, events)).after(events)
        self._keep_in_mind(game, timeline)
        return game

    def _keep_in_mind(self, game: Game, timeline: int) -> None:
        with self._known_lock:
            if timeline != self._timeline:  # another thread has found a failover meanwhile
                return
            known = self._known.get(game.id)
            # One that lacks its key gives way to the same version, which may have it.
            if known is None or known.version < game.version + lacks_its_key(known):
                self._known[game.id] = game
            self._known.move_to_end(game.id)
            while len(self._known) > self._keep:
                self._known.popitem(last=False)

    def _unfolded(self, game_id: UUID, decider: AnyDecider, seeds: Seeds | None) -> Game:
        return Game.unopened(game_id, decider, decider.empty(seeds))


def _keep_waypoint(waypoints: Waypoints, game: Game) -> None:
    if not lacks_its_key(game):  # its positions would lack the cards for as long as they are kept
        waypoints.keep(game)


def _closes(events: Sequence[Event]) -> bool:
    return bool(events) and isinstance(events[-1].fact, CLOSING)


def _answered(game: Game, cause: Cause) -> _Repeat:
    first = game.answered.get(cause.key) if cause.key else None
    if first is None:
        raise AlreadyOpened
    if first.content != cause.content:
        raise KeyReused
    return _Repeat(game, first)


def _fail(
    steps: Sequence[tuple[_Waiting, _Step]], error: type[Exception], cause: Exception | None = None
) -> list[_Waiting]:
    for item, _ in steps:
        item.end(_because(error(), cause))
    return []


def _because(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


def _cause(player: UUID | None, command: Command, key: str | None, now: datetime) -> Cause:
    actor = player_actor(player) if player else SERVER
    if key is None:
        return Cause(actor, now)
    return Cause(actor, now, key_digest(player or SERVER, key), content_digest(command, key))


def _game_id(player: UUID, key: str) -> UUID:
    """Derive a game's id from who opens it with which key, so that the same request finds the same game."""
    return UUID(bytes=hashlib.sha256(f"tic/game/v1\n{player}\n{key}".encode()).digest()[:16], version=5)
