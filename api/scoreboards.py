"""Scoreboards: who stands where, of all time, of a month, of a week, and of the games that bear a label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Final, cast
from uuid import UUID

import strawberry

from api.context import Info
from api.cursors import read_place, write_cursor
from api.faults import BadUserInput
from api.ids import write_id
from api.kinds import Scoreboard, ScoreboardPeriod
from api.nodes import After, First, PageInfo, page_size
from api.players import Player, must_find_player, players_shown
from api.results import read_label
from api.statistics import Medals, show_medals
from projections.scoreboards import ALL_TIME, BOARDS, Board, Line, Period, Span

__all__ = [
    "SCOREBOARD_EFFORTS",
    "SCOREBOARD_LENGTHS",
    "ScoreboardView",
    "ScoreboardsQuery",
    "Standing",
    "find_scoreboard",
]

MOST_NEIGHBOURS: Final = 10


@strawberry.type(description="One player's line on a scoreboard.")
class ScoreboardLine:
    """A line."""

    place: int = strawberry.field(
        description="1 for the best. Equal values share a place, and the next one is as many further: 1, 2, 2, 4. "
        "Among them, who was there first is listed first."
    )
    player: Player = strawberry.field(description="Whose line it is.")
    value: float | None = strawberry.field(
        description="What the scoreboard is by: points, games, moves or a rating, all whole numbers; of TICITAIRE_TIME "
        "the seconds. Null of POKER_PLACES: see medals."
    )
    medals: Medals | None = strawberry.field(description="Of POKER_PLACES, what it is by; else null.")
    games: int = strawberry.field(description="How many of the player's games have counted for this line.")
    game_id: strawberry.ID | None = strawberry.field(
        description="The game that set the value: of the best laydown, say, or the fewest moves. Of sums, ratings and "
        "medals, the last game that changed it."
    )
    position: float = strawberry.field(
        description="When the value was reached, as a place in the server's log: a whole number, which grows."
    )


def _show(board: Board, line: Line, people: Mapping[UUID, Player]) -> ScoreboardLine:
    value: float | None = line.value
    medals = None
    if board.name == "poker_places":
        value, medals = None, show_medals(line.value)
    elif board.name == "ticitaire_time":
        value = line.value / 1000
    return ScoreboardLine(
        place=line.place,
        player=people[line.player],
        value=value,
        medals=medals,
        games=line.games,
        game_id=strawberry.ID(write_id("game", line.game)) if line.game else None,
        position=line.position,
    )


@strawberry.type(description="A line of a scoreboard in a page.")
class ScoreboardEdge:
    """An edge."""

    cursor: str = strawberry.field(description="Give it as `after` to read on from here.")
    node: ScoreboardLine = strawberry.field(description="The line.")


@strawberry.type(description="A page of a scoreboard, the best first.")
class ScoreboardConnection:
    """A page of lines."""

    edges: list[ScoreboardEdge] = strawberry.field(description="The lines with their cursors.")
    nodes: list[ScoreboardLine] = strawberry.field(description="The lines.")
    page_info: PageInfo = strawberry.field(description="Where the page ends.")


@strawberry.type(description="Where a player stands on a scoreboard.")
class Standing:
    """A player's line and those around it."""

    line: ScoreboardLine = strawberry.field(description="The player's own line.")
    above: list[ScoreboardLine] = strawberry.field(
        description="The lines just above it, in the order of the scoreboard: the nearest is the last."
    )
    below: list[ScoreboardLine] = strawberry.field(description="The lines just below it: the nearest is the first.")
    players: int = strawberry.field(description="How many players are on the scoreboard.")


@strawberry.type(description="A scoreboard. It follows the games within moments.")
class ScoreboardView:
    """A scoreboard of some games."""

    shown: strawberry.Private[Board]
    games: strawberry.Private[Period]

    board: Scoreboard = strawberry.field(description="What it is by.")
    period: ScoreboardPeriod = strawberry.field(description="Which games it is of.")
    of: str | None = strawberry.field(
        description="The month, as 2026-11, or the week, as 2026-W48; null where it is of all time or of a label."
    )
    label: str | None = strawberry.field(description="The label that its games bear; null where it is of all games.")

    @strawberry.field(description="How many players are on it.")
    async def players(self, info: Info) -> int:
        """Count the lines."""
        world = info.context.world
        return await world.blocking(lambda: world.standings.scoreboards.players(self.shown, self.games))

    @strawberry.field(
        description="Its lines, the best first. Any page of the longest scoreboard is told at once. Lines that move "
        "while you read page by page can be told twice or not at all; a line that stays is told once."
    )
    async def lines(self, info: Info, first: First = 20, after: After = None) -> ScoreboardConnection:
        """Return a page of lines."""
        world, most, list_ = info.context.world, page_size(first), self._list
        place = cast("tuple[int, int] | None", read_place(after, 2, of=list_))

        def read() -> tuple[list[Line], dict[UUID, Player]]:
            lines = world.standings.scoreboards.lines(self.shown, self.games, after=place, first=most + 1)
            return lines, players_shown(world.accounts, [line.player for line in lines[:most]])

        lines, people = await world.blocking(read)
        nodes = [_show(self.shown, line, people) for line in lines[:most]]
        edges = [
            ScoreboardEdge(cursor=write_cursor(*line.after, of=list_), node=node)
            for line, node in zip(lines, nodes, strict=False)
        ]
        end = edges[-1].cursor if edges else None
        page_info = PageInfo(has_next_page=len(lines) > most, end_cursor=end)
        return ScoreboardConnection(edges=edges, nodes=nodes, page_info=page_info)

    @strawberry.field(
        description="A player's line with those around it, wherever it stands; null for a player who is not on the "
        "scoreboard."
    )
    async def standing(
        self,
        info: Info,
        player_id: Annotated[strawberry.ID, strawberry.argument(description="The player.")],
        neighbours: Annotated[
            int, strawberry.argument(description="How many lines above and below at most, 0..10.")
        ] = 3,
    ) -> Standing | None:
        """Find a player's line."""
        player = await must_find_player(info, player_id)
        return await self.line_of(info, player.uuid, neighbours)

    async def line_of(self, info: Info, player: UUID, neighbours: int) -> Standing | None:
        """Return a player's line with its neighbours; None where the player has none.

        Raises:
            BadUserInput: that is no number of neighbours.
        """
        if not 0 <= neighbours <= MOST_NEIGHBOURS:
            raise BadUserInput(f"`neighbours` is 0 to {MOST_NEIGHBOURS}, not {neighbours}.")
        world = info.context.world

        def read() -> Standing | None:
            found = world.standings.scoreboards.standing(self.shown, self.games, player, neighbours=neighbours)
            if found is None:
                return None
            lines = (*found.above, found.line, *found.below)
            people = players_shown(world.accounts, [line.player for line in lines])

            def show(lines: Sequence[Line]) -> list[ScoreboardLine]:
                return [_show(self.shown, line, people) for line in lines]

            (line,) = show([found.line])
            return Standing(line=line, above=show(found.above), below=show(found.below), players=found.players)

        return await world.blocking(read)

    @property
    def _list(self) -> str:
        """The list that cursors are of."""
        return f"scoreboard {self.shown.name} {self.games.span} {self.games.name}"


async def find_scoreboard(
    info: Info, board: str, period: ScoreboardPeriod, *, of: str | None, label: str | None
) -> ScoreboardView:
    """Return a scoreboard; one of games that do not exist yet is empty.

    Raises:
        BadUserInput: the arguments name none.
    """
    shown, games = BOARDS[board], await _period(info, period, of, read_label(label))
    if shown.keeps is None and games != ALL_TIME:
        raise BadUserInput(
            "A scoreboard of ratings is of all time and all games: leave `period`, `of` and `label` out."
        )
    of_calendar = games.span in {Span.MONTH, Span.WEEK}
    return ScoreboardView(
        shown=shown,
        games=games,
        board=Scoreboard(board),
        period=period,
        of=games.name if of_calendar else None,
        label=games.name if games.span is Span.LABEL else None,
    )


async def _period(info: Info, period: ScoreboardPeriod, of: str | None, label: str | None) -> Period:
    span = Span(period.value)
    if label is not None:
        if span is not Span.ALL_TIME or of is not None:
            raise BadUserInput("A scoreboard is of a label or of a month or week: leave out `label`, or the others.")
        return Period(Span.LABEL, label)
    if span is Span.ALL_TIME:
        if of is not None:
            raise BadUserInput("`of` names a month or a week: ask for `period: MONTH` or `period: WEEK` with it.")
        return ALL_TIME
    if of is None:
        return Period.of(span, await info.context.world.blocking(info.context.world.games.now))
    if not _is_in_the_calendar(span, of):
        form = "2026-11, a year and a month" if span is Span.MONTH else "2026-W48, a year and one of its weeks"
        raise BadUserInput(f"`of` names no {span}: write it as {form} of the calendar.")
    return Period(span, of)


_FORMS: Final = {Span.MONTH: re.compile("([0-9]{4})-([0-9]{2})"), Span.WEEK: re.compile("([0-9]{4})-W([0-9]{2})")}


def _is_in_the_calendar(span: Span, of: str) -> bool:
    if not (written := _FORMS[span].fullmatch(of)):
        return False
    year, number = map(int, written.groups())
    try:
        if span is Span.MONTH:
            date(year, number, 1)
        else:
            date.fromisocalendar(year, number, 1)
    except ValueError:
        return False
    return True


@strawberry.type
class ScoreboardsQuery:
    """Scoreboards."""

    @strawberry.field(
        description="A scoreboard: of all games that count, of those finished in a month or a week, or of those that "
        "bear a label. Those of ratings are of all time and all games."
    )
    async def scoreboard(
        self,
        info: Info,
        board: Annotated[Scoreboard, strawberry.argument(description="What it is by.")],
        period: Annotated[
            ScoreboardPeriod, strawberry.argument(description="Which games it is of.")
        ] = ScoreboardPeriod.ALL_TIME,
        of: Annotated[
            str | None,
            strawberry.argument(
                description="Which month, as 2026-11, or week of ISO 8601, as 2026-W48; left out, the present one."
            ),
        ] = None,
        label: Annotated[
            str | None,
            strawberry.argument(description="Of the games that bear this label; then period and of stay out."),
        ] = None,
    ) -> ScoreboardView:
        """Find a scoreboard."""
        return await find_scoreboard(info, board.value, period, of=of, label=label)


SCOREBOARD_EFFORTS: Final = {
    "ScoreboardView.lines": 50,
    "ScoreboardView.standing": 50,
    "ScoreboardView.players": 20,
}
SCOREBOARD_LENGTHS: Final = {"Standing.above": 3, "Standing.below": 3}
