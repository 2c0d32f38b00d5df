"""Scoreboards of games under way: how one game stands, a whole lobby, and the games that wait for a player."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Self

import strawberry

from api.context import Info
from api.fairness import Verification, verification_of_listed
from api.faults import BadUserInput
from api.games import Game, GameKind, show
from api.ids import write_id
from api.players import Player, player
from api.results import read_label
from api.seams import Wanted
from api.tallies import UNFINISHED, Tally, TallyLine
from api.watching import LobbyNews
from domain.entropy import owing
from domain.game import Game as Record
from projections.lobby import Status

__all__ = [
    "BOARD_LENGTHS",
    "GameScoreboard",
    "LobbyChange",
    "LobbyFilter",
    "ViewerGameChange",
    "show_board",
    "show_change",
    "show_news",
    "wanted_by",
]

BOARD_LENGTHS: Final = {"GameScoreboard.lines": 3, "LobbyChange.games": 20}


@strawberry.type(description="One player's line on the scoreboard of a game.")
class GameScoreboardLine:
    """A player's line."""

    seat: int | None = strawberry.field(description="The seat, from 1; null before the deal.")
    player: Player = strawberry.field(description="Who it is.")
    score: int | None = strawberry.field(
        description="What the seat has scored so far; after the end of the game, what its result says. In Ticitaire, "
        "how many cards are in play: with all 125 it is won. Null before the deal."
    )
    place: int | None = strawberry.field(
        description="The place by the scores so far, 1 for the leader. Equal scores share the place; those who "
        "resigned stand behind all others, as at the end. Null before the deal. In Ticitaire null, but for a game that "
        "is won."
    )
    resigned: bool = strawberry.field(description="Whether the player gave up, or ran out of time for good.")
    awaited: bool = strawberry.field(
        description="Whether the game waits for this player now: for the seat to act or, before the deal, for entropy "
        "that is due."
    )

    @classmethod
    def of(cls, line: TallyLine) -> Self:
        """Show a line."""
        return cls(
            seat=line.seat,
            player=player(line.player),
            score=line.score,
            place=line.place,
            resigned=line.resigned,
            awaited=line.awaited,
        )


@strawberry.type(description="How a game stands. It is the same for everyone: no card is told in it.")
class GameScoreboard:
    """A game's scoreboard."""

    id: strawberry.ID = strawberry.field(description="The game's id.")
    kind: GameKind = strawberry.field(description="Which rules are played.")
    status: Status = strawberry.field(description="How far the game has come.")
    label: str | None = strawberry.field(description="The label that it was opened with; null where it bears none.")
    private: bool = strawberry.field(
        description="Whether only those join who are invited: to a private table, or to a rematch."
    )
    takes: int = strawberry.field(description="How many players the table takes.")
    opened_at: datetime = strawberry.field(description="When it was opened.")
    version: int = strawberry.field(
        description="The number of the event after which it stood so. Events that change nothing here are not told."
    )
    round: int | None = strawberry.field(
        description="The round: in Tickle one turn of each seat still in (ruling K1), in TIC Poker a deal (ruling P1). "
        "Null before the deal, and in Ticitaire."
    )
    deadline: datetime | None = strawberry.field(
        description="When the time runs out that is running now (ruling G2), or seeds come out that are held back "
        "after the end; null where neither is so."
    )
    verification: Verification | None = strawberry.field(
        description="What can be said of the deal by its seeds, as `fairness` of the game has it, when this was told; "
        "null for a game that was called off undealt."
    )
    lines: list[GameScoreboardLine] = strawberry.field(
        description="A line for each player, the leader first and seats that share a place in their order; before the "
        "deal in the order of joining."
    )


def show_board(tally: Tally) -> GameScoreboard:
    """Show how a game stands."""
    return GameScoreboard(
        id=strawberry.ID(write_id("game", tally.game)),
        kind=GameKind(tally.kind),
        status=tally.status,
        label=tally.label,
        private=tally.private,
        takes=tally.takes,
        opened_at=tally.opened_at,
        version=tally.version,
        round=tally.round,
        deadline=tally.deadline,
        verification=verification_of_listed(tally.status, proved=tally.proved, due=tally.deadline),
        lines=[GameScoreboardLine.of(line) for line in tally.lines],
    )


@strawberry.type(description="What is new in the lobby.")
class LobbyChange:
    """News of the lobby."""

    games: list[GameScoreboard] = strawberry.field(
        description="First the newest 100 games that fit the filter, the newest first; then those that changed, as "
        "they stand now. One that fits no longer is told once more: its status is FINISHED or CANCELLED, or is not "
        "that of the filter, or anyone may join no longer."
    )
    has_more: bool = strawberry.field(
        description="Whether there are older games that fit the filter: they are told when they change; `games` lists "
        "them all."
    )


def show_news(news: LobbyNews) -> LobbyChange:
    """Show what is new."""
    return LobbyChange(games=[show_board(tally) for tally in news.tallies], has_more=news.has_more)


@strawberry.input(description="Which games of the lobby to follow; what is left out does not matter.")
class LobbyFilter:
    """Which games."""

    kind: GameKind | None = strawberry.field(default=None, description="Games of this kind.")
    label: str | None = strawberry.field(
        default=None, description="Games that bear this label; spaces in a row count as one."
    )
    status: Status | None = strawberry.field(
        default=None, description="OPEN or PLAYING; left out, both. The end of a game is told in any case."
    )
    private: bool | None = strawberry.field(
        default=None, description="Private tables and rematches, or those that are open to anyone."
    )
    joinable: bool = strawberry.field(
        default=False,
        description="Only tables that anyone may join now: open, not started, not private, with a seat left.",
    )


def wanted_by(asked: LobbyFilter | None) -> Wanted:
    """Return which games a filter asks for.

    Raises:
        BadUserInput: no game can be followed by it.
    """
    asked = asked or LobbyFilter()
    if asked.status is not None and asked.status not in UNFINISHED:
        raise BadUserInput(
            "The lobby has games that are OPEN or PLAYING, and tells the end of each: ask for one of the two, or leave "
            "`status` out. Games that are over are listed by `games`."
        )
    return Wanted(
        kind=asked.kind.value if asked.kind else None,
        label=read_label(asked.label),
        private=asked.private,
        status=asked.status,
        joinable=asked.joinable,
    )


@strawberry.type(description="One of your games, as it is now.")
class ViewerGameChange:
    """A game of the caller."""

    game: Game = strawberry.field(description="The game, as you may see it.")
    awaiting_you: bool = strawberry.field(
        description="Whether the game waits for you. If so, choose one of its `legalActions`, and send that mutation "
        "with `version` as `expectedVersion`."
    )
    version: int = strawberry.field(description="The game's version.")


def show_change(info: Info, record: Record) -> ViewerGameChange:
    """Show a game to the caller, who is or was at its table."""
    player = info.context.player
    seat = record.table.seat_of(player) if player else 0
    awaiting = seat in record.decider.awaits(record.table) or player in owing(record.table)
    return ViewerGameChange(game=show(info, record), awaiting_you=awaiting, version=record.version)
