"""Replays: a game told again from its first event on, position by position, as one viewer may see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final
from uuid import UUID

import strawberry

from api.accounts import display_name
from api.context import Info
from api.facts import FactPresenters, GameEvent
from api.fairness import Verification, verification_of
from api.faults import BadUserInput, StillSealed
from api.games import REPLAY_EFFORT, Game, show
from api.ids import read_id
from api.nodes import page_size
from api.players import Player, player
from api.viewpoints import ReplayView
from domain.application import GameNotFound, Moment
from domain.decider import PUBLIC, Names, Position, Viewer
from domain.game import Game as Record
from domain.lifecycle import Table
from domain.telling import NOBODY_NAMED

__all__ = ["REPLAY_EFFORTS", "REPLAY_LENGTHS", "Replay", "ReplaysQuery", "viewer_of"]


strawberry.enum(
    ReplayView,
    description="Whose eyes a replay is seen with: everyone's, those of a seat, or those of who sees every card. Once "
    "the game is over and its seeds are revealed, anyone may ask for any; before that, for PUBLIC and the own seat.",
)


def viewer_of(wanted: ReplayView, table: Table, own: Viewer = PUBLIC) -> Viewer:
    """Return the viewer whom a replay is shown to.

    Args:
        wanted: what is asked for.
        table: the table as it is now.
        own: who asks.

    Raises:
        StillSealed: it would show cards that are not open yet.
        BadUserInput: the game has no such seat, or no cards.
    """
    if wanted is ReplayView.PUBLIC:
        return PUBLIC
    if own.seat and wanted.seat == own.seat:
        return own
    if table.cancelled:
        raise BadUserInput("This game was called off before its deal and has no cards: ask for PUBLIC.")
    if table.revealed is None:
        yours = f", or for SEAT_{own.seat}, which is yours" if own.seat else ""
        raise StillSealed(
            f"The cards that {wanted} shows are sealed until the game is over and its seeds are out: ask again then. "
            f"Till then ask for PUBLIC{yours}."
        )
    seats = len(table.players)
    if wanted.seat > seats:
        raise BadUserInput(f"There is no {wanted} in this game: it has {seats} seat{'' if seats == 1 else 's'}.")
    return Viewer(seat=wanted.seat, everything=wanted is ReplayView.ALL)


@strawberry.type(description="One position of a replay: an event, and the game after it.")
class ReplayPosition:
    """One position of a replay."""

    moment: strawberry.Private[Moment]
    viewer: strawberry.Private[Viewer]
    people: strawberry.Private[Mapping[UUID, Player]]
    """Who is at the table; read for the whole page, for one who waits for a name waits longer than for the sentence."""
    presenters: strawberry.Private[FactPresenters]
    names: strawberry.Private[Names]
    """What the seats are called where they are called by names."""
    past: strawberry.Private[bool]
    """Whether others follow it."""

    @strawberry.field(description="The number of the event, from 1: the game's version after it.")
    def seq(self) -> int:
        """Return the number of the event."""
        return self.moment.event.seq

    @strawberry.field(description="What happened.")
    def event(self) -> GameEvent:
        """Show the event."""
        return GameEvent(event=self.moment.event, presenters=self.presenters, people=self.people)

    @strawberry.field(
        description="A commentator's sentence on what happened. It says what everyone at the table may know, whoever "
        "the replay is for."
    )
    def words(
        self,
        names: Annotated[
            bool,
            strawberry.argument(
                description="Whether to call the seats by what their players are called, as displayName has it."
            ),
        ] = False,
    ) -> str:
        """Tell of the event."""
        told, before, after, _ = self.moment
        return after.decider.tell(told.fact, before.table, after.table, self.names if names else NOBODY_NAMED)

    @strawberry.field(
        description="What each seat has scored so far, seat 1 first; after the end of the game, what its result says. "
        "In Ticitaire, how many cards are in play. Null before the deal."
    )
    def scores(self) -> list[int] | None:
        """Return the running totals."""
        return _scores(self.moment)

    @strawberry.field(description="The game after the event, as the viewer of the replay may see it.")
    def game(self, info: Info) -> Game:
        """Show the position."""
        return show(info, self.moment.game, self.viewer, past=self.past)


@strawberry.type(description="Positions of a replay, in their order.")
class ReplayPage:
    """A page of positions."""

    nodes: list[ReplayPosition] = strawberry.field(description="The positions.")
    has_more: bool = strawberry.field(description="Whether more follow: ask again with afterSeq at the last seq.")


@strawberry.type(description="The scores of one seat throughout a game.")
class ReplayCurve:
    """One seat's line of a chart."""

    seat: int = strawberry.field(description="The seat, from 1.")
    scores: list[int | None] = strawberry.field(
        description="As `scores` of the positions has them: after the event 1, the event 2 and so on."
    )


@strawberry.type(description="A game told again, from its first event to the version it has come to.")
class Replay:
    """A game told again."""

    record: strawberry.Private[Record]
    viewer: strawberry.Private[Viewer]

    @strawberry.field(description="The game as it is now, as the viewer of the replay may see it.")
    def game(self, info: Info) -> Game:
        """Show the game."""
        return show(info, self.record, self.viewer)

    @strawberry.field(
        description="What can be said of the deal by its seeds now, whichever position is looked at: the scores and "
        "places of a game that is UNVERIFIABLE prove nothing. Null for a game that was called off undealt."
    )
    def verification(self) -> Verification | None:
        """Tell what can be said of the deal."""
        return verification_of(self.record.table)

    @strawberry.field(
        description="The position after each event. Any page of the longest game is told at once: it need not be read "
        "from the start."
    )
    async def positions(
        self,
        info: Info,
        after_seq: Annotated[int, strawberry.argument(description="The last number you have; 0 for all.")] = 0,
        first: Annotated[int, strawberry.argument(description="At most so many, 1..100.")] = 20,
    ) -> ReplayPage:
        """Tell a page of positions."""
        record, most = self.record, page_size(first)
        if not 0 <= after_seq <= record.version:
            raise BadUserInput(f"The game has {record.version} events: `afterSeq` is 0 to {record.version}.")
        world, hidden = info.context.world, self.viewer != PUBLIC

        def page() -> ReplayPage:
            known = world.accounts.players(record.table.company)
            people = {uuid: player(uuid, known.get(uuid)) for uuid in record.table.company}
            names = {seat: display_name(uuid, known.get(uuid)) for seat, uuid in enumerate(record.table.players, 1)}
            moments = world.games.passage(record, after=after_seq, first=most, hidden=hidden)
            nodes = [
                ReplayPosition(
                    moment=moment,
                    viewer=self.viewer,
                    people=people,
                    presenters=world.facts,
                    names=names,
                    past=moment.event.seq < record.version,
                )
                for moment in moments
            ]
            return ReplayPage(nodes=nodes, has_more=after_seq + len(nodes) < record.version)

        return await world.blocking(page)

    @strawberry.field(description="The scores after every event, a line for each seat, seat 1 first; for a chart.")
    async def curve(self, info: Info) -> list[ReplayCurve]:
        """Return the scores of every seat."""
        games, record = info.context.world.games, self.record

        def draw() -> list[ReplayCurve]:
            told = [_scores(moment) for moment in games.passage(record, after=0, first=record.version)]
            return [
                ReplayCurve(seat=seat, scores=[scores[seat - 1] if scores else None for scores in told])
                for seat in range(1, len(record.table.players) + 1)
            ]

        return await info.context.world.blocking(draw)

    @strawberry.field(
        description="The game so far in the short notation of its kind, line by line (docs/notation.md). It has what "
        "is in the events and nothing else, whoever the replay is for."
    )
    async def notation(self, info: Info) -> list[str]:
        """Write the game down."""
        games, record = info.context.world.games, self.record

        def note() -> list[str]:
            moments = games.passage(record, after=0, first=record.version)
            told = (Position(one.event.fact, one.before.table, one.after.table) for one in moments)
            return list(record.decider.note(told))

        return await info.context.world.blocking(note)


def _scores(moment: Moment) -> list[int] | None:
    scores = moment.after.decider.score(moment.after.table)
    return None if scores is None else list(scores)


@strawberry.type
class ReplaysQuery:
    """Games told again."""

    @strawberry.field(
        description="A game told again, position by position; null if there is none with this id. One that is still "
        "played is told as far as it has come."
    )
    async def replay(
        self,
        info: Info,
        game_id: Annotated[strawberry.ID, strawberry.argument(description="The game's id.")],
        as_: Annotated[
            ReplayView, strawberry.argument(name="as", description="Whose eyes it is seen with.")
        ] = ReplayView.PUBLIC,
    ) -> Replay | None:
        """Tell a game again."""
        world, caller = info.context.world, info.context.player
        try:
            uuid = read_id(game_id, "game")[1]
            record = await world.blocking(lambda: world.games.game(uuid))
        except (ValueError, GameNotFound):
            return None
        own = Viewer(seat=record.table.seat_of(caller) if caller else 0, player=caller)
        return Replay(record=record, viewer=viewer_of(as_, record.table, own))


REPLAY_EFFORTS: Final = {
    "Replay.positions": REPLAY_EFFORT,
    "Replay.curve": REPLAY_EFFORT,
    "Replay.notation": REPLAY_EFFORT,
    "ReplayPosition.words": 2,
    "ReplayPosition.game": 5,
}
REPLAY_LENGTHS: Final = {
    "Replay.curve": 3,
    "ReplayPage.nodes": 1,  # the page was counted where it was opened
}
