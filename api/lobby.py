"""The list of games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

import strawberry

from api.context import Info
from api.cursors import read_cursor, write_cursor
from api.fairness import Verification, verification_of_listed
from api.games import Game, GameKind, Seat, show
from api.ids import write_id
from api.nodes import PageInfo, page_size
from api.players import Player, players_shown
from api.results import player_uuid, read_label
from projections.lobby import GameRow, Status

__all__ = ["After", "First", "GameConnection", "GameFilter", "list_games"]

_GAMES = "games"
"""What cursors of the list belong to."""

First = Annotated[int, strawberry.argument(description="At most so many, 1..100.")]
After = Annotated[str | None, strawberry.argument(description="Read on after this `endCursor` of a page.")]


@strawberry.type(description="A game in the list, without its table. The list follows the games within moments.")
class GameListing:
    """One line of the list."""

    row: strawberry.Private[GameRow]
    people: strawberry.Private[Mapping[UUID, Player]]
    """The host and the players, with their names."""

    @strawberry.field(description="The game's id.")
    def id(self) -> strawberry.ID:
        """Return the game's global id."""
        return strawberry.ID(write_id("game", self.row.game))

    @strawberry.field(description="The id by which the log, the deal and an auditor know the game.")
    def uuid(self) -> UUID:
        """Return the id of the log."""
        return self.row.game

    @strawberry.field(description="Which rules are played.")
    def kind(self) -> GameKind:
        """Return the kind."""
        return GameKind(self.row.kind)

    @strawberry.field(description="How far the game has come.")
    def status(self) -> Status:
        """Return the status."""
        return self.row.status

    @strawberry.field(description="How it ended, as the result of its kind names it; null while it is not over.")
    def ending(self) -> str | None:
        """Return the ending."""
        return self.row.ending.upper().replace("-", "_") if self.row.ending else None

    @strawberry.field(
        description="What can be said of the deal by its seeds, as `fairness` of the game has it; null for a game that "
        "was called off undealt."
    )
    def verification(self) -> Verification | None:
        """Tell what can be said of the deal."""
        return verification_of_listed(self.row.status, proved=self.row.proved, due=self.row.seeds_due)

    @strawberry.field(
        description="What its opener called the games that belong together; null where it bears no label. Anyone may "
        "give any label."
    )
    def label(self) -> str | None:
        """Return the label."""
        return self.row.label

    @strawberry.field(description="Who opened it.")
    def host(self) -> Player:
        """Return the host."""
        return self.people[self.row.host]

    @strawberry.field(description="Who is at the table, in the order of joining.")
    def players(self) -> list[Player]:
        """Return the players."""
        return [self.people[uuid] for uuid in self.row.players]

    @strawberry.field(description="How many players the table takes.")
    def takes(self) -> int:
        """Return the number of seats."""
        return self.row.takes

    @strawberry.field(description="Whether only those join who are invited: to a private table, or to a rematch.")
    def private(self) -> bool:
        """Return whether the table is private."""
        return self.row.private

    @strawberry.field(description="Who sits where, seat 1 first; empty before the deal.")
    def seats(self) -> list[Seat]:
        """Return the seats."""
        return [Seat(number=seat, player=self.people[uuid]) for seat, uuid in enumerate(self.row.seated, 1)]

    @strawberry.field(description="How many events it has.")
    def version(self) -> int:
        """Return the version."""
        return self.row.version

    @strawberry.field(description="When it was opened.")
    def opened_at(self) -> datetime:
        """Return the time of the opening."""
        return self.row.opened_at

    @strawberry.field(description="When its last event happened.")
    def changed_at(self) -> datetime:
        """Return the time of the last event."""
        return self.row.changed_at

    @strawberry.field(description="The whole game, as you may see it.")
    async def game(self, info: Info) -> Game:
        """Load the game."""
        world, game_id = info.context.world, self.row.game
        return show(info, await world.blocking(lambda: world.games.game(game_id)))


@strawberry.type(description="A game in a page of the list.")
class GameEdge:
    """An edge."""

    cursor: str = strawberry.field(description="Give it as `after` to read on from here.")
    node: GameListing = strawberry.field(description="The game.")


@strawberry.type(description="A page of games, the newest first.")
class GameConnection:
    """A page of games."""

    edges: list[GameEdge] = strawberry.field(description="The games with their cursors.")
    page_info: PageInfo = strawberry.field(description="Where the page ends.")

    @strawberry.field(description="The games.")
    def nodes(self) -> list[GameListing]:
        """Return the games without cursors."""
        return [edge.node for edge in self.edges]

    @classmethod
    def of(cls, rows: Sequence[GameRow], most: int, people: Mapping[UUID, Player]) -> Self:
        """Make a page of at most ``most`` rows; one more says that there is a next page."""
        edges = [
            GameEdge(cursor=write_cursor(row.position, of=_GAMES), node=GameListing(row=row, people=people))
            for row in rows[:most]
        ]
        end = edges[-1].cursor if edges else None
        return cls(edges=edges, page_info=PageInfo(has_next_page=len(rows) > most, end_cursor=end))


@strawberry.input(description="Which games to list; what is left out does not matter.")
class GameFilter:
    """Which games."""

    kind: GameKind | None = strawberry.field(default=None, description="Games of this kind.")
    status: Status | None = strawberry.field(default=None, description="Games that have come this far.")
    label: str | None = strawberry.field(
        default=None, description="Games that bear this label; spaces in a row count as one."
    )
    private: bool | None = strawberry.field(
        default=None, description="Private tables and rematches, or those that are open to anyone."
    )
    joinable: bool = strawberry.field(
        default=False,
        description="Only tables that anyone may join now: open, not started, not private, with a seat left.",
    )
    player_id: strawberry.ID | None = strawberry.field(
        default=None, description="Games at whose table this player is, or was to the end."
    )


async def list_games(
    info: Info,
    *,
    wanted: GameFilter | None,
    first: int,
    after: str | None,
    player: UUID | None = None,
    awaited: bool = False,
) -> GameConnection:
    """Return a page of the list; of a player's games, or of those that wait for the player, where one is given."""
    wanted, world, most = wanted or GameFilter(), info.context.world, page_size(first)
    before, kind, label = (
        read_cursor(after, of=_GAMES),
        wanted.kind.value if wanted.kind else None,
        read_label(wanted.label),
    )
    attending = player or player_uuid(wanted.player_id, "playerId")

    def page() -> GameConnection:
        rows = world.lobby.games(
            kind=kind,
            status=wanted.status,
            label=label,
            player=attending,
            awaited=awaited,
            private=wanted.private,
            joinable=wanted.joinable,
            before=before,
            first=most + 1,
        )
        uuids = {uuid for row in rows for uuid in (row.host, *row.players)}
        return GameConnection.of(rows, most, players_shown(world.accounts, uuids))

    return await world.blocking(page)
