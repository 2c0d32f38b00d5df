"""Finished games: the list of all, for programs that follow it, and each player's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

import strawberry

from api import labels
from api.context import Info
from api.cursors import read_cursor, write_cursor
from api.errors import InvalidInput
from api.fairness import Verification, verification_of_finished
from api.faults import BadUserInput
from api.ids import read_id, write_id
from api.kinds import GameKind
from api.nodes import First, PageInfo, page_size
from api.players import Player, players_shown
from api.statistics import RatingChange, show_change
from projections import ratings as rated
from projections import results as finished

__all__ = ["RESULTS_EFFORTS", "RESULTS_LENGTHS", "FinishedGame", "PlayedGameConnection", "ResultsQuery", "list_played"]
__all__ += ["player_uuid", "read_label"]


def read_label(label: str | None) -> str | None:
    """Return a label that games are looked for by, with single spaces.

    Raises:
        BadUserInput: no game can bear it.
    """
    try:
        return labels.read_label(label)
    except InvalidInput as error:
        raise BadUserInput(f"`label` is none that a game can bear. {error}") from None


@strawberry.type(description="A seat of a finished game.")
class FinishedSeat:
    """A seat, and what its player came to."""

    number: int = strawberry.field(description="The seat, from 1.")
    player: Player = strawberry.field(description="Who sat there.")
    place: int | None = strawberry.field(
        description="1 for the winner; equal ones share a place. Null where the game has no places."
    )
    points: int | None = strawberry.field(
        description="What the result comes to: in Tickle the total, with the penalty for cards left in hand taken off "
        "(ruling K14). Null in a game without points."
    )
    resigned: bool = strawberry.field(description="Whether the player resigned, or was out of time.")


@strawberry.type(description="A game that is over. The list follows the games within moments.")
class FinishedGame:
    """A finished game."""

    id: strawberry.ID = strawberry.field(description="The game's id: `game` shows the whole of it.")
    uuid: UUID = strawberry.field(description="The id by which the log, the deal and an auditor know the game.")
    kind: GameKind = strawberry.field(description="Which rules were played.")
    ruleset: int = strawberry.field(description="The numbered set of rulings that the game keeps for life.")
    label: str | None = strawberry.field(description="What its organiser called the games that belong together.")
    host: Player = strawberry.field(description="Who opened it.")
    ending: str = strawberry.field(description="How it ended, as the result of its kind names it.")
    opened_at: datetime = strawberry.field(description="When it was opened.")
    dealt_at: datetime = strawberry.field(description="When it was first dealt.")
    finished_at: datetime = strawberry.field(
        description="When it ended: it counts in this month and this week, in UTC."
    )
    version: int = strawberry.field(description="How many events it has.")
    hash: str = strawberry.field(description="The hash of the last one, to which all others are chained.")
    proved: bool = strawberry.field(
        description="Whether its revealed seeds lead to what the server committed to before the deal. A game that is "
        "not proved counts on no scoreboard, and in no statistics and ratings. Where seeds are held back it is not "
        "proved until they come out, and counts from then on."
    )
    verification: Verification = strawberry.field(
        description="What can be said of the deal by its seeds, as `fairness` of the game has it. Of a game that is "
        "not proved it tells whether seeds are held back, and may prove it yet, or are missing, so that nothing does."
    )
    seats: list[FinishedSeat] = strawberry.field(description="Who sat where and came to what, seat 1 first.")
    record_url: str = strawberry.field(
        description="Where this server serves the whole record, as a path: /games/<uuid>.jsonl (docs/records.md)."
    )


def _show(row: finished.FinishedGame, people: Mapping[UUID, Player]) -> FinishedGame:
    return FinishedGame(
        id=strawberry.ID(write_id("game", row.game)),
        uuid=row.game,
        kind=GameKind(row.kind),
        ruleset=row.ruleset,
        label=row.label,
        host=people[row.host],
        ending=row.ending.upper().replace("-", "_"),
        opened_at=row.opened_at,
        dealt_at=row.dealt_at,
        finished_at=row.finished_at,
        version=row.version,
        hash=row.hash,
        proved=row.proved,
        verification=verification_of_finished(proved=row.proved, due=row.seeds_due),
        seats=[
            FinishedSeat(
                number=seat.seat,
                player=people[seat.player],
                place=seat.place,
                points=seat.points,
                resigned=seat.resigned,
            )
            for seat in row.seats
        ],
        record_url=f"/games/{row.game}.jsonl",
    )


def _people_of(rows: Sequence[finished.FinishedGame]) -> set[UUID]:
    return {row.host for row in rows} | {seat.player for row in rows for seat in row.seats}


# The list of all


@strawberry.type(description="A finished game in a page.")
class FinishedGameEdge:
    """An edge."""

    cursor: str = strawberry.field(description="Give it as `after` to read on from here.")
    node: FinishedGame = strawberry.field(description="The game.")


@strawberry.type(description="A page of finished games, in the order in which they finished.")
class FinishedGameConnection:
    """A page of finished games."""

    edges: list[FinishedGameEdge] = strawberry.field(description="The games with their cursors.")
    nodes: list[FinishedGame] = strawberry.field(description="The games.")
    page_info: PageInfo = strawberry.field(
        description="Where the page ends. Its endCursor is never null and never expires: on an empty page it is the "
        "one to ask with again later."
    )


@strawberry.input(description="Which finished games to list; what is left out does not matter.")
class FinishedGameFilter:
    """Which finished games."""

    kind: GameKind | None = strawberry.field(default=None, description="Games of this kind.")
    label: str | None = strawberry.field(default=None, description="Games that bear this label.")
    player_id: strawberry.ID | None = strawberry.field(default=None, description="Games that this player played.")
    host_id: strawberry.ID | None = strawberry.field(default=None, description="Games that this player opened.")
    proved: bool | None = strawberry.field(
        default=None,
        description="Games that count, true, or those that do not: their seeds prove no deal, or are not out.",
    )


def player_uuid(id: str | None, field: str) -> UUID | None:
    """Return the player of an id that a filter has in a field; None where it has none.

    Raises:
        BadUserInput: it is no id of a player.
    """
    try:
        return read_id(id, "player")[1] if id is not None else None
    except ValueError as error:
        raise BadUserInput(f"{field}: {error}") from None


_FINISHED: Final = "finished games"
"""The list that its cursors are of."""


@strawberry.type
class ResultsQuery:
    """Finished games."""

    @strawberry.field(
        description="All finished games, those that finished first at the top, so that a program can follow them for "
        "ever. Begin without `after`; keep `pageInfo.endCursor` where it outlives the program, and ask with it again: "
        "at once while `hasNextPage` is true, else every few seconds. No game is told twice or left out, whatever is "
        "restarted in between, and the cursor stays good for ever; with another filter it goes on from the same "
        "moment. A game whose seeds are held back has its place where it finished, and may be proved only long after "
        "that: to follow those too, leave `proved` out of the filter, and ask `game` for the `fairness` of those that "
        "were not proved when they were told."
    )
    async def finished_games(
        self,
        info: Info,
        filter: Annotated[FinishedGameFilter | None, strawberry.argument(description="Which of them.")] = None,
        first: First = 20,
        after: Annotated[
            str | None, strawberry.argument(description="Read on after this `endCursor`, however old it is.")
        ] = None,
    ) -> FinishedGameConnection:
        """List finished games in the order of the log."""
        wanted, world, most = filter or FinishedGameFilter(), info.context.world, page_size(first)
        position = read_cursor(after, of=_FINISHED) or 0
        kind, label = wanted.kind.value if wanted.kind else None, read_label(wanted.label)
        player, host = player_uuid(wanted.player_id, "playerId"), player_uuid(wanted.host_id, "hostId")

        def read() -> tuple[list[finished.FinishedGame], dict[UUID, Player]]:
            rows = world.standings.results.finished(
                after=position,
                kind=kind,
                label=label,
                player=player,
                host=host,
                proved=wanted.proved,
                first=most + 1,
            )
            return rows, players_shown(world.accounts, _people_of(rows[:most]))

        rows, people = await world.blocking(read)
        nodes = [_show(row, people) for row in rows[:most]]
        edges = [
            FinishedGameEdge(cursor=write_cursor(row.position, of=_FINISHED), node=node)
            for row, node in zip(rows, nodes, strict=False)
        ]
        end = edges[-1].cursor if edges else write_cursor(position, of=_FINISHED)
        page_info = PageInfo(has_next_page=len(rows) > most, end_cursor=end)
        return FinishedGameConnection(edges=edges, nodes=nodes, page_info=page_info)


# A player's own


@strawberry.type(description="A finished game, as one who played it looks back at it.")
class PlayedGame:
    """A finished game of one player."""

    game: FinishedGame = strawberry.field(description="The game.")
    seat: int = strawberry.field(description="The player's seat, from 1.")
    place: int | None = strawberry.field(description="The player's place; null where the game has no places.")
    points: int | None = strawberry.field(
        description="What the result comes to for the player, as in FinishedSeat; null in a game without points."
    )
    resigned: bool = strawberry.field(description="Whether the player resigned, or was out of time.")
    rating_change: RatingChange | None = strawberry.field(
        description="What the game made of the player's rating; null where it was not rated."
    )


@strawberry.type(description="A finished game of a player in a page.")
class PlayedGameEdge:
    """An edge."""

    cursor: str = strawberry.field(description="Give it as `after` to read on from here.")
    node: PlayedGame = strawberry.field(description="The game.")


@strawberry.type(description="A page of a player's finished games, those that finished last at the top.")
class PlayedGameConnection:
    """A page of a player's games."""

    edges: list[PlayedGameEdge] = strawberry.field(description="The games with their cursors.")
    nodes: list[PlayedGame] = strawberry.field(description="The games.")
    page_info: PageInfo = strawberry.field(description="Where the page ends.")


async def list_played(
    info: Info,
    player: UUID,
    *,
    first: int,
    after: str | None,
    kind: str | None,
    label: str | None,
    opponent: UUID | None,
) -> PlayedGameConnection:
    """Return a page of a player's finished games, the newest first; only those with an opponent, if one is named.

    Raises:
        BadUserInput: ``first`` is no size of a page, ``after`` no cursor of this list, or ``label`` no label.
    """
    world, most, list_ = info.context.world, page_size(first), f"history {player}"
    before, wanted = read_cursor(after, of=list_), read_label(label)

    def read() -> tuple[list[finished.FinishedGame], dict[UUID, Player], dict[UUID, rated.RatingChange]]:
        rows = world.standings.results.finished(
            before=before,
            kind=kind,
            label=wanted,
            player=player,
            opponent=opponent,
            first=most + 1,
            newest_first=True,
        )
        shown = rows[:most]
        changes = world.standings.ratings.changes_in(player, [row.game for row in shown])
        return rows, players_shown(world.accounts, _people_of(shown)), changes

    rows, people, changes = await world.blocking(read)
    edges = []
    for row in rows[:most]:
        own = next(seat for seat in row.seats if seat.player == player)
        change = changes.get(row.game)
        node = PlayedGame(
            game=_show(row, people),
            seat=own.seat,
            place=own.place,
            points=own.points,
            resigned=own.resigned,
            rating_change=show_change(change) if change else None,
        )
        edges.append(PlayedGameEdge(cursor=write_cursor(row.position, of=list_), node=node))
    end = edges[-1].cursor if edges else None
    page_info = PageInfo(has_next_page=len(rows) > most, end_cursor=end)
    return PlayedGameConnection(edges=edges, nodes=[edge.node for edge in edges], page_info=page_info)


RESULTS_EFFORTS: Final = {"Query.finishedGames": 50}
RESULTS_LENGTHS: Final = {"FinishedGame.seats": 3}
