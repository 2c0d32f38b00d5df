"""What every game shows and answers, whichever its kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

import strawberry
from rich.console import RenderableType

from api.accounts import Scope
from api.context import Info
from api.drawing import Pen
from api.errors import (
    GameNotFoundError,
    IdempotencyKeyReusedError,
    InvalidInput,
    InvalidInputError,
    NotSeatedError,
    Refusable,
    RuleViolationError,
    VersionConflictError,
    refusal,
)
from api.facts import FactPresenters, GameEvent
from api.fairness import USUAL_LENGTHS as LENGTHS_OF_FAIRNESS
from api.fairness import Fairness, fairness_of
from api.faults import BadUserInput, StillSealed
from api.ids import read_id, write_id
from api.kinds import GameKind
from api.nodes import Node, page_size
from api.observing import observed
from api.players import Player, player, players_shown
from api.statistics import Statistics
from api.tallies import status_of
from domain.application import GameNotFound, Outcome
from domain.counting import Counts
from domain.decider import Command, Fact, OpenCommand, Viewer
from domain.entropy import owing
from domain.events import Event, acting_player
from domain.game import Game as Record
from domain.gathering import Told
from domain.lifecycle import Resign, Table
from domain.seating import invitation_for
from domain.tables import TableOpened
from projections.lobby import Status

__all__ = [
    "CommandResult",
    "Game",
    "GameKind",
    "Kind",
    "LegalAction",
    "PlainAction",
    "answer",
    "game_uuid",
    "open_game",
    "play",
    "read_key",
    "show",
]

strawberry.enum(
    Status,
    name="GameStatus",
    description="How far a game has come: OPEN is not dealt yet, FINISHED is over, CANCELLED was called off undealt.",
)


@strawberry.type(description="A place at the table.")
class Seat:
    """A place at the table."""

    number: int = strawberry.field(description="1 is the first in playing order.")
    player: Player = strawberry.field(description="Who sits there.")


@strawberry.interface(description="Something that you may do now.")
class LegalAction:
    """An action that the rules allow."""

    mutation: str = strawberry.field(description="The mutation that does it.")


@strawberry.type(description="An action whose input names the game, and what the description of its mutation says.")
class PlainAction(LegalAction):
    """An action without more to tell."""


@strawberry.type(description="Events of a game, in their order.")
class GameEventPage:
    """A page of events."""

    nodes: list[GameEvent] = strawberry.field(description="The events.")
    has_more: bool = strawberry.field(description="Whether more follow: ask again with afterSeq at the last seq.")


@strawberry.interface(description="One sitting. Every kind of game has a type of its own, with its table.")
class Game(Node):
    """A game at one version, as one viewer may see it."""

    record: strawberry.Private[Record]
    viewer: strawberry.Private[Viewer]
    view: strawberry.Private[Any]
    past: strawberry.Private[bool] = False
    """Whether it is known that the game went on from this version."""

    @strawberry.field(description="The id by which the log, the deal and an auditor know the game.")
    def uuid(self) -> UUID:
        """Return the id in the log."""
        return self.record.id

    @strawberry.field(description="Which rules are played.")
    def kind(self) -> GameKind:
        """Return the kind."""
        return GameKind(self.record.decider.kind)

    @strawberry.field(description="The numbered set of rulings that the game keeps for life.")
    def ruleset(self) -> int:
        """Return the ruleset's number."""
        return self.record.decider.ruleset

    @strawberry.field(description="How far the game has come.")
    def status(self) -> Status:
        """Return the status."""
        return status_of(self._table)

    @strawberry.field(description="How many events the game has: give it as expectedVersion.")
    def version(self) -> int:
        """Return the version."""
        return self.record.version

    @strawberry.field(description="The hash of the last event: with it you can show later what you were told now.")
    def hash(self) -> str:
        """Return the head of the chain."""
        return self.record.head

    @strawberry.field(description="When the game was opened.")
    def opened_at(self) -> datetime:
        """Return when the game was opened."""
        return self.record.opened_at

    @strawberry.field(description="When the last event happened.")
    def changed_at(self) -> datetime:
        """Return when the last event happened."""
        return self.record.at

    @strawberry.field(
        description="What its opener called the games that belong together; null where it bears no label. Anyone may "
        "give any label."
    )
    def label(self) -> str | None:
        """Return the label."""
        return self._table.label

    @strawberry.field(description="Who opened it: the host starts the game, or cancels it.")
    def host(self) -> Player | None:
        """Return the host."""
        opened = self._table.opened
        return player(opened.host) if opened else None

    @strawberry.field(description="Who is at the table, in the order of joining; before the deal nobody has a seat.")
    def players(self) -> list[Player]:
        """Return the players."""
        return [player(uuid) for uuid in self._table.company]

    @strawberry.field(description="How many players the table takes.")
    def takes(self) -> int:
        """Return how many players the table takes."""
        return self._table.takes

    @strawberry.field(description="Who sits where, seat 1 first; empty before the deal (ruling G4).")
    def seats(self) -> list[Seat]:
        """Return the seats."""
        return [Seat(number=seat, player=player(uuid)) for seat, uuid in enumerate(self._table.players, 1)]

    @strawberry.field(
        description="The invitation of a private table, which others give to joinGame as `code`. Only its host is told "
        "it, while it waits for players."
    )
    def invitation(self) -> str | None:
        """Return the invitation, to the host."""
        return invitation_for(self._table, self.viewer)

    @strawberry.field(description="The id of the game that this one plays again; null where it is no rematch.")
    def rematch_of(self) -> strawberry.ID | None:
        """Return the earlier game."""
        opened = self._table.opened
        earlier = opened.rematch if isinstance(opened, TableOpened) else None
        return strawberry.ID(write_id("game", earlier.game)) if earlier else None

    @strawberry.field(description="The game that was opened to play this one again: see rematchGame.")
    async def rematch(self, info: Info) -> Game | None:
        """Return the rematch."""
        world = info.context.world
        if self.record.decider.rematch is None:
            return None
        again = await world.blocking(lambda: world.rematches.latest(self.record.id))
        return show(info, again) if again else None

    @strawberry.field(description="Your own seat; null if you have none, or came without a token.")
    def viewer_seat(self) -> int | None:
        """Return the caller's seat."""
        return self.viewer.seat or None

    @strawberry.field(
        description="Whose entropy the deal waits for (ruling G3): they reveal it with revealEntropy, before the "
        "deadline. Empty where it waits for none."
    )
    def entropy_due(self) -> list[Player]:
        """Return who owes entropy."""
        return [player(uuid) for uuid in owing(self._table)]

    @strawberry.field(
        description="The seats that the game waits for now, ascending: the one that has the turn or, while hands are "
        "declared, each that has yet to declare its own (ruling P5). Empty before the deal and after the end. In "
        "a position of the past: those that it waited for after that event."
    )
    def awaits(self) -> list[int]:
        """Return the seats."""
        return list(self.record.decider.awaits(self._table))

    @strawberry.field(
        description="When the time runs out that is running now (ruling G2), or seeds come out that are held back "
        "after the end; null where neither is so."
    )
    def deadline(self) -> datetime | None:
        """Return the deadline."""
        return self._table.deadline

    @strawberry.field(description="What proves the deal.")
    def fairness(self) -> Fairness | None:
        """Return the commitments, and what became of them."""
        return fairness_of(self._table, past=self.past)

    @strawberry.field(
        description="Exactly what you may do in this game; empty if you have no part in it, or it is over: then see "
        "rematchGame. In a position of the past: what was open to you after that event."
    )
    def legal_actions(self, info: Info) -> list[LegalAction]:
        """Return the actions open to the caller."""
        kind, deadline = info.context.world.kinds[self.record.decider.kind], self._table.deadline
        commands = self.record.legal_commands(self.viewer)
        if deadline is not None and datetime.now(UTC) >= deadline:  # the time-out is a moment behind
            commands = [command for command in commands if isinstance(command, Resign)]
        return kind.actions(self.record, commands)

    @strawberry.field(description="The events of the game after a number, those of its whole life.")
    async def events(
        self,
        info: Info,
        after_seq: Annotated[int, strawberry.argument(description="The last number you have; 0 for all.")] = 0,
        first: Annotated[int, strawberry.argument(description="At most so many, 1..100.")] = 50,
    ) -> GameEventPage:
        """Read events."""
        if after_seq < 0:
            raise BadUserInput(f"`afterSeq` is the number of an event, or 0 for all; not {after_seq}.")
        world, game_id, most = info.context.world, self.record.id, page_size(first)

        def page() -> GameEventPage:
            found = world.games.events(game_id, after=after_seq, first=most + 1)
            acting = {uuid for one in found[:most] if (uuid := acting_player(one.cause.actor))}
            people = players_shown(world.accounts, acting)
            events = [event(info, one, people) for one in found[:most]]
            return GameEventPage(nodes=events, has_more=len(found) > most)

        return await world.blocking(page)

    @strawberry.field(description="The table as it was after an event, as you may see it.")
    async def position(
        self,
        info: Info,
        version: Annotated[int, strawberry.argument(description="The number of the event, from 1.")],
        revealed: Annotated[
            bool, strawberry.argument(description="With all cards open: only once the seeds are revealed.")
        ] = False,
    ) -> Game | None:
        """Fold up to an event."""
        world, game_id = info.context.world, self.record.id
        if revealed and self._table.revealed is None:
            raise StillSealed("The cards are not revealed before the seeds of the game are: ask without `revealed`.")
        try:
            then = await world.blocking(lambda: world.games.at(game_id, version))
        except GameNotFound:
            raise BadUserInput(f"The game has the versions 1 to {self.record.version}, not {version}.") from None
        past = self.past or version < self.record.version
        return show(info, then, replace(self.viewer, everything=revealed), past=past)

    @property
    def _table(self) -> Table:
        table: Table = self.record.table
        return table


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of game is shown. Each game's module has one."""

    name: str
    game: type[Game]
    facts: FactPresenters
    """Its own facts and those of every game."""
    actions: Callable[[Record, Sequence[OpenCommand]], list[LegalAction]]
    """Shows the commands that are open."""
    types: Sequence[type]
    """The types that the schema reaches only through an interface."""
    mutation: type
    """Its mutations."""
    usual_lengths: Mapping[str, int]
    """What its lists hold as a rule, by type and field: by that the cost of a query is told."""
    efforts: Mapping[str, int]
    """What its dear fields cost besides, likewise."""
    statistics: Callable[[Counts], Statistics]
    """Shows what is counted of a player in its games."""
    draw: Callable[[Any, Fact, Pen], RenderableType]
    """Draws what a viewer may see of the table in a terminal; a fact says what has just happened."""


REPLAY_EFFORT: Final = 2_000
"""What a field costs that folds a game from its start."""

EFFORTS: Final = {"Game.position": REPLAY_EFFORT, "Game.rematch": 50, "GameEvent.cards": 20, "GameListing.game": 50}
USUAL_LENGTHS: Final = {
    "CommandAccepted.events": 3,
    **LENGTHS_OF_FAIRNESS,
    "Game.legalActions": 12,
    "Game.players": 3,
    "Game.seats": 3,
    "GameEvent.cards": 2,
    "Reason.cells": 2,
    "RuleViolation.reasons": 2,
    "GameEventPage.nodes": 1,  # the page was counted where it was opened
    "GameListing.players": 3,
    "GameListing.seats": 3,
}


def show(info: Info, record: Record, viewer: Viewer | None = None, *, past: bool = False) -> Game:
    """Show a game at its version, which is ``past`` if it went on; to the caller, unless another viewer is named."""
    caller = info.context.player
    seen_by = viewer or Viewer(seat=record.table.seat_of(caller) if caller else 0, player=caller)
    kind = info.context.world.kinds[record.decider.kind]
    game_id = strawberry.ID(write_id("game", record.id))
    return kind.game(id=game_id, record=record, viewer=seen_by, view=record.view(seen_by), past=past)


def event(info: Info, one: Event, people: Mapping[UUID, Player] | None = None) -> GameEvent:
    """Show an event; the names of those ``people`` are read already."""
    return GameEvent(event=one, presenters=info.context.world.facts, people=people)


# Commands


@strawberry.type(description="The request was granted, and its events are on disk.")
class CommandAccepted:
    """A command's outcome."""

    game: Game = strawberry.field(description="The game after the command, as you may see it.")
    events: list[GameEvent] = strawberry.field(description="What happened.")
    version: int = strawberry.field(description="The game's version after it.")
    hash: str = strawberry.field(description="The hash of the last event. It fixes the whole game up to there.")
    repeated: bool = strawberry.field(
        description="Whether the idempotency key had been answered before: then this is the first answer again."
    )

    @strawberry.field(
        description="Your receipt: a note that names the game, this version and this hash, signed with the log's key. "
        "Keep it: with it anyone can show that the log was altered later. `tic audit --receipts` reads a file of them, "
        "one after the other. Null where this server signs nothing: `log.refusal` says why."
    )
    def receipt(self, info: Info) -> str | None:
        """Return the note."""
        return info.context.world.receipt(self.game.record.id, self.version, self.hash)


CommandResult: TypeAlias = Annotated[
    CommandAccepted
    | RuleViolationError
    | VersionConflictError
    | IdempotencyKeyReusedError
    | GameNotFoundError
    | NotSeatedError
    | InvalidInputError,
    strawberry.union("CommandResult", description="The outcome of a request to a game."),
]

KEY_LENGTH: Final = range(8, 101)


def game_uuid(id: str) -> UUID:
    """Return the game that an id of the input stands for.

    Raises:
        InvalidInput: it is not the id of a game.
    """
    try:
        return read_id(id, "game")[1]
    except ValueError:
        raise InvalidInput("This is not the id of a game. Take it from the field `id` of a game.", "gameId") from None


def read_key(key: str | None) -> str | None:
    """Return an idempotency key.

    Raises:
        InvalidInput: it is too short, too long, or has characters that can't be printed.
    """
    if key is not None and (len(key) not in KEY_LENGTH or not key.isprintable()):
        raise InvalidInput(
            "An idempotency key has 8 to 100 printable characters; a random UUID is a good one.", "idempotencyKey"
        )
    return key


async def open_game(info: Info, kind: str, command: Callable[[UUID], Command], key: str | None) -> CommandResult:
    """Open a game of a kind for the caller, and answer."""
    caller, world = info.context.must_have(Scope.PLAY), info.context.world

    def ask(told: Told[Outcome]) -> None:
        asked = command(caller.player)
        world.games.ask_to_open(kind, asked, player=caller.player, key=read_key(key), told=told)

    return await answer(info, lambda: world.told(ask), kind=kind)


async def play(
    info: Info, input: PlayInput, command: Callable[[int], Command], *, seated: bool = True, kind: str | None = None
) -> CommandResult:
    """Hand the caller's command to a game, and answer; ``seated`` and ``kind`` as ``Games.handle`` has them."""
    caller, world = info.context.must_have(Scope.PLAY), info.context.world

    def ask(told: Told[Outcome]) -> None:
        world.games.ask(
            game_uuid(input.game_id),
            command,
            player=caller.player,
            expected_version=input.expected_version,
            key=read_key(input.idempotency_key),
            told=told,
            seated=seated,
            kind=kind,
        )

    return await answer(info, lambda: world.told(ask), kind=kind)


async def answer(info: Info, ask: Callable[[], Awaitable[Outcome]], *, kind: str | None = None) -> CommandResult:
    """Tell what became of a command, which only a game of that ``kind`` knows where one is named."""
    observation = observed()
    try:
        outcome = await ask()
    except Refusable as error:
        refused = refusal(error)
        if observation is not None:
            observation.commanded(kind or "unknown", refused.code.lower())
        return refused
    if observation is not None:
        observation.commanded(outcome.game.decider.kind, "repeated" if outcome.repeated else "accepted")
    return answer_of(info, outcome)


def answer_of(info: Info, outcome: Outcome) -> CommandAccepted:
    """Show an outcome."""
    return CommandAccepted(
        game=show(info, outcome.game, past=outcome.repeated),
        events=[event(info, one) for one in outcome.events],
        version=outcome.game.version,
        hash=outcome.game.head,
        repeated=outcome.repeated,
    )


@strawberry.input(description="Which game, and how to say it twice safely.")
class PlayInput:
    """What a command to a game carries, where the position does not matter."""

    game_id: strawberry.ID = strawberry.field(description="The game's id.")
    expected_version: int | None = strawberry.field(
        default=None, description="If it is given and the game has moved on from it, nothing happens."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="8 to 100 characters of your choice. The same key again returns the first outcome, so that a "
        "request whose answer was lost can be sent again safely; with other content it is refused. A refusal spends "
        "no key.",
    )


@strawberry.input(description="Which game, at which version, and how to say it twice safely.")
class MoveInput(PlayInput):
    """What a command carries that was decided upon by looking at the position."""

    expected_version: int = strawberry.field(
        description="The version of the game that you decided upon. If it has moved on, nothing happens."
    )
