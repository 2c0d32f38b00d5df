"""Games: load, decide, append. The life of a command, from the request to the disk."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from eventsourcing.persistence import EventStore, IntegrityError, InterfaceError, OperationalError

from domain.dealing import Seeds
from domain.decider import AnyDecider, Command, Deciders
from domain.events import SERVER, Cause, Event, content_digest, key_digest, player_actor
from domain.game import Answered, Game
from domain.games import DECIDERS, RULESETS
from domain.lifecycle import GameOpened, SeedsRevealed
from domain.storage import EventMapper, EventRecorder, LogBusy
from domain.vault import Vault

__all__ = [
    "AlreadyOpened",
    "GameNotFound",
    "Games",
    "KeyReused",
    "NotHandled",
    "NotSeated",
    "Outcome",
    "Undecided",
    "VersionConflict",
]
__all__ += ["WrongKind"]

MAX_ATTEMPTS: Final = 5
"""How often a command that names no version is decided again after another server's event came first."""
MAX_APPENDS: Final = 3
"""How often the same events are offered to a database that goes away at the commit."""


class NotHandled(Exception):
    """A command was refused before the rules were asked. Nothing was recorded."""


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
    """The database went away at the commit, and whether the command was recorded can't be told yet."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command."""

    game: Game
    """At the version after the command."""
    events: tuple[Event, ...]
    repeated: bool = False
    """The key had been answered before; this is the first answer again."""


@dataclass(slots=True)
class _Entry:
    """One game in this process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the game's command from the read to the commit."""
    game: Game | None = None


class Games:
    """All games of one event store. Every method blocks and may be called from many threads."""

    def __init__(
        self, recorder: EventRecorder, vault: Vault, *, deciders: Deciders = DECIDERS, keep: int = 2_000
    ) -> None:
        """Keep up to ``keep`` games in memory; they are read anew from the log when they are needed again."""
        self._recorder: Final = recorder
        self._store: Final = EventStore[UUID](EventMapper(), recorder)
        self._vault: Final = vault
        self._deciders: Final = deciders
        self._keep: Final = keep
        self._entries: Final[OrderedDict[UUID, _Entry]] = OrderedDict()
        self._entries_lock: Final = threading.Lock()

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
            RuleViolation: the rules refuse it.
            Undecided, OperationalError: the database is away.
        """
        if game_id is None:
            game_id = uuid4() if key is None else _game_id(player, key)
        decider = self._deciders[kind, RULESETS[kind]]
        with self._alone(game_id) as entry:
            for _ in range(MAX_ATTEMPTS):
                game, now = self._refresh(entry, game_id)
                cause = _cause(player, command, key, now)
                if game is not None:
                    return self._again(game, cause)
                unopened = Game.unopened(game_id, decider, decider.empty(self._vault.draw(game_id, decider.deals)))
                try:
                    return self._append(entry, unopened, unopened.events_of(command, cause))
                except IntegrityError:
                    continue  # another server opened it with the same key: its answer is the first
        raise Undecided

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
            GameNotFound, NotSeated, WrongKind, VersionConflict, KeyReused: nothing was recorded.
            RuleViolation: the rules refuse it, and nothing was recorded.
            Undecided, OperationalError: the database is away.
        """

        def admit(game: Game) -> None:
            if kind not in (None, game.decider.kind):
                raise WrongKind(game.decider.kind)
            if seated and not game.table.attends(player):
                raise NotSeated

        return self._handle(
            game_id,
            lambda game: command(game.table.seat_of(player)),
            lambda asked, now: _cause(player, asked, key, now),
            expected_version,
            admit,
        )

    def act(self, game_id: UUID, command: Command, *, key: str | None = None) -> Outcome:
        """Decide a command that the server gives by itself, and append its events; the same key does so once.

        Raises:
            GameNotFound: there is no such game.
            WrongKind: its kind does not know the command.
            RuleViolation: the rules refuse it, and nothing was recorded.
            Undecided, OperationalError: the database is away.
        """
        return self._handle(game_id, lambda _: command, lambda asked, now: _cause(None, asked, key, now), None)

    def _handle(
        self,
        game_id: UUID,
        command: Callable[[Game], Command],
        cause_of: Callable[[Command, datetime], Cause],
        expected_version: int | None,
        admit: Callable[[Game], None] = lambda _: None,
    ) -> Outcome:
        current = 0
        with self._alone(game_id) as entry:
            for _ in range(MAX_ATTEMPTS):
                game, now = self._refresh(entry, game_id)
                if game is None:
                    raise GameNotFound
                asked = command(game)
                cause = cause_of(asked, now)
                if cause.key in game.answered:  # before all else: who has left the table is told so again
                    return self._again(game, cause)
                admit(game)
                if not isinstance(asked, game.decider.commands):
                    raise WrongKind(game.decider.kind)
                current = game.version
                if expected_version is not None and expected_version != current:
                    raise VersionConflict(current)
                try:
                    return self._append(entry, game, game.events_of(asked, cause))
                except IntegrityError:
                    continue  # another server was first; a stale expected version is refused on the next round
            raise VersionConflict(current)

    def _append(self, entry: _Entry, game: Game, events: tuple[Event, ...]) -> Outcome:
        """Append events that follow ``game``.

        The very same bytes are offered again where the database went away: the game's sequence number is unique,
        so they stand in the log once at most, and a conflict with themselves means that they stand there.

        Raises:
            IntegrityError: others came first.
            LogBusy: another writer holds the log; nothing was appended.
            Undecided: the database is away, and the events may be in the log or not.
        """
        away: Exception | None = None
        for _ in range(MAX_APPENDS):
            try:
                self._store.put(events)
            except (OperationalError, InterfaceError) as error:
                if isinstance(error, LogBusy) and away is None:
                    raise  # nothing was offered before, so nothing is in doubt
                away = error
                self._recorder.drop_dead_connections()
                continue
            except IntegrityError:
                if not self._landed(events):
                    raise
            entry.game = game.after(events)
            return Outcome(entry.game, events)
        raise Undecided from away

    def _landed(self, events: tuple[Event, ...]) -> bool:
        last = events[-1]
        try:
            stored = self._recorder.span(last.game, after=last.seq - 1, first=1)
        except OperationalError as error:
            raise Undecided from error
        return bool(stored) and stored[0].data == last.data

    def _again(self, game: Game, cause: Cause) -> Outcome:
        first = game.answered.get(cause.key) if cause.key else None
        if first is None:
            raise AlreadyOpened
        if first.content != cause.content:
            raise KeyReused
        return Outcome(self.at(game.id, first.last), self._events_of(game.id, first), repeated=True)

    def _events_of(self, game_id: UUID, answered: Answered) -> tuple[Event, ...]:
        return self.events(game_id, after=answered.first - 1, first=answered.last - answered.first + 1)

    # Reading

    def game(self, game_id: UUID) -> Game:
        """Return the game as it is now: no older than any command that was acknowledged before the call.

        Raises:
            GameNotFound: there is none.
            OperationalError: the database is away.
        """
        game, _ = self._refresh(self._entry(game_id), game_id)
        if game is None:
            self._forget(game_id)
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
        return self._unfolded(game_id, now.decider, now.table.seeds).after(self.events(game_id, after=0, first=version))

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

    # What is kept in memory

    def _entry(self, game_id: UUID) -> _Entry:
        with self._entries_lock:
            entry = self._entries.setdefault(game_id, _Entry())
            self._entries.move_to_end(game_id)
            while len(self._entries) > self._keep:
                self._entries.popitem(last=False)
            return entry

    def _forget(self, game_id: UUID) -> None:
        """Keep no place for a game that is not there: guessed ids must not push out games that are played."""
        with self._entries_lock:
            entry = self._entries.get(game_id)
            if entry is not None and entry.game is None and not entry.lock.locked():
                del self._entries[game_id]

    @contextmanager
    def _alone(self, game_id: UUID) -> Iterator[_Entry]:
        entry = self._entry(game_id)
        try:
            with entry.lock:
                yield entry
        finally:
            if entry.game is None:
                self._forget(game_id)

    def _refresh(self, entry: _Entry, game_id: UUID) -> tuple[Game | None, datetime]:
        """Read what is newer than the game in memory; also tell the database's time."""
        known = entry.game
        events, now = self._recorder.newer(game_id, known.version if known else 0)
        if not events:
            return known, now
        game = (known or self._first_read(game_id, events)).after(events)
        if entry.game is None or entry.game.version < game.version:
            entry.game = game
        return game, now

    def _first_read(self, game_id: UUID, events: Sequence[Event]) -> Game:
        opened, last = events[0].fact, events[-1].fact
        if not isinstance(opened, GameOpened):
            raise TypeError(f"game {game_id} does not begin with its opening")
        decider = self._deciders[opened.kind, opened.ruleset]
        if isinstance(last, SeedsRevealed):
            seeds = Seeds.revealed(opened.deal, [bytes.fromhex(seed) for seed in last.seeds])
        else:
            seeds = self._vault.open(opened.deal)
        return self._unfolded(game_id, decider, seeds)

    def _unfolded(self, game_id: UUID, decider: AnyDecider, seeds: Seeds | None) -> Game:
        return Game.unopened(game_id, decider, decider.empty(seeds))


def _cause(player: UUID | None, command: Command, key: str | None, now: datetime) -> Cause:
    actor = player_actor(player) if player else SERVER
    if key is None:
        return Cause(actor, now)
    return Cause(actor, now, key_digest(player or SERVER, key), content_digest(command, key))


def _game_id(player: UUID, key: str) -> UUID:
    """Derive a game's id from who opens it with which key, so that the same request finds the same game."""
    return UUID(bytes=hashlib.sha256(f"tic/game/v1\n{player}\n{key}".encode()).digest()[:16], version=5)
