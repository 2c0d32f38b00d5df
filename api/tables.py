"""What every table for several does: join, leave, start, cancel, resign, play again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import strawberry
from pydantic import ValidationError

from api.accounts import Scope
from api.context import Info
from api.errors import InvalidInput, invalid_input
from api.facts import Opened, opened_of
from api.fairness import (
    EntropyInput,
    EntropySettings,
    entropy_settings_of,
    read_32_bytes,
    read_beacon,
    refused_option,
)
from api.games import CommandResult, LegalAction, PlainAction, PlayInput, answer, game_uuid, open_game, play, read_key
from api.ids import write_id
from api.labels import LABEL_DESCRIPTION, read_label
from api.players import Player, player
from domain.decider import Command, OpenCommand
from domain.entropy import RevealEntropy
from domain.lifecycle import Resign
from domain.tables import Cancel, Join, Leave, Seating, Start, TableOpened, TableOptions

__all__ = [
    "OpenTableInput",
    "OpenedTable",
    "TableSettings",
    "TablesMutation",
    "open_table",
    "opening_of",
    "plain_action",
    "read_commitment",
    "settings_of",
]

strawberry.enum(
    Seating,
    name="Seating",
    description="How seats are given (ruling G4): by the committed shuffle of the players, or in the order of joining.",
)

LONGEST_CODE: Final = 64


@strawberry.input
class OpenTableInput(EntropyInput):
    """What a table for several is opened with, of whichever kind."""

    start_when_full: bool = strawberry.field(
        default=False, description="Deal as soon as the last seat is taken; else the host starts."
    )
    private: bool = strawberry.field(
        default=False, description="Join with the invitation only, which the host reads in the game's `invitation`."
    )
    seating: Seating = strawberry.field(default=Seating.SHUFFLED, description="How seats are given (ruling G4).")
    turn_seconds: int | None = strawberry.field(
        default=None,
        description="Time for each turn (ruling G2): 5 to 2,592,000 seconds; left out, there is no limit.",
    )
    label: str | None = strawberry.field(default=None, description=LABEL_DESCRIPTION)
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="8 to 100 characters of your choice. The same key again finds the same game, so that a request "
        "whose answer was lost can be sent again safely.",
    )


@strawberry.type
class TableSettings(EntropySettings):
    """What a table for several was opened with, of whichever kind."""

    seats: int = strawberry.field(description="How many players it takes at most.")
    start_when_full: bool = strawberry.field(description="It is dealt as soon as the last seat is taken.")
    private: bool = strawberry.field(description="It is joined with the invitation only.")
    seating: Seating = strawberry.field(description="How seats are given (ruling G4).")
    turn_seconds: int | None = strawberry.field(description="Time for each turn (ruling G2); null for no limit.")


def settings_of(options: TableOptions) -> dict[str, Any]:
    """Return the fields of ``TableSettings``."""
    return {
        **entropy_settings_of(options),
        "seats": options.seats,
        "start_when_full": options.start_when_full,
        "private": options.private,
        "seating": options.seating,
        "turn_seconds": options.turn_seconds,
    }


@strawberry.type
class OpenedTable(Opened):
    """What the opening of a table for several tells, of whichever kind; each kind adds its options."""

    rematch_of: strawberry.ID | None = strawberry.field(
        description="The id of the game that is played again; null where this is no rematch."
    )
    rematch_players: list[Player] = strawberry.field(
        description="Who sat in that game, seat 1 first: they alone may join; empty where this is no rematch."
    )
    moved_on: bool = strawberry.field(
        description="A rematch's: seats are given in the earlier order moved on by one (ruling G4)."
    )


def opening_of(fact: TableOpened) -> dict[str, Any]:
    """Return the fields of ``OpenedTable``."""
    rematch = fact.rematch
    return {
        **opened_of(fact),
        "rematch_of": strawberry.ID(write_id("game", rematch.game)) if rematch else None,
        "rematch_players": [player(one) for one in rematch.players] if rematch else [],
        "moved_on": rematch is not None and rematch.moved_on,
    }


Options = TypeVar("Options", bound=TableOptions)

_BESIDE_THE_OPTIONS: Final = frozenset({"idempotency_key", "label", "entropy_commitment"})
"""What the input of an opening has besides the table's options."""


async def open_table(
    info: Info,
    kind: str,
    input: OpenTableInput,
    options: type[Options],
    command: Callable[[UUID, Options, str | None, str | None], Command],
    wanted: Mapping[str, str],
) -> CommandResult:
    """Open a table of a kind, and answer.

    Args:
        info: of the caller, who is its host.
        kind: which rules are played.
        input: has the options by their names.
        options: the kind's own.
        command: opens a game for a host, with options, the label or None, and the commitment to entropy or None.
        wanted: what to say of an option that the table does not take.
    """
    info.context.must_have(Scope.PLAY)
    asked = {name: value for name, value in vars(input).items() if name not in _BESIDE_THE_OPTIONS}
    try:
        chosen, label = options(**asked), read_label(input.label)
        commitment = read_commitment(input.entropy_commitment)
    except ValidationError as error:
        return refused_option(error, wanted)
    except InvalidInput as error:
        return invalid_input(str(error), *error.path)
    return await open_game(info, kind, lambda host: command(host, chosen, label, commitment), input.idempotency_key)


def read_commitment(commitment: str | None) -> str | None:
    """Return a commitment to entropy.

    Raises:
        InvalidInput: it is none.
    """
    return None if commitment is None else read_32_bytes(commitment, "entropyCommitment")


_ACTIONS: Final[dict[type[Command], str]] = {
    Join: "joinGame",
    Leave: "leaveGame",
    Start: "startGame",
    RevealEntropy: "revealEntropy",
    Cancel: "cancelGame",
    Resign: "resignGame",
}


def plain_action(command: OpenCommand, own: dict[type[Command], str]) -> LegalAction:
    """Show what is open: a command of every table, or one of a kind's ``own``, with the mutation that gives it."""
    kind = command if isinstance(command, type) else type(command)
    return PlainAction(mutation=own.get(kind) or _ACTIONS[kind])


@strawberry.input(description="Which table to come to.")
class JoinGameInput(PlayInput):
    """Which table."""

    code: str | None = strawberry.field(
        default=None, description="The invitation of a private table, as its host reads it in the game's `invitation`."
    )
    entropy_commitment: str | None = strawberry.field(
        default=None,
        description="SHA-256, in lower-case hex, of 32 random bytes that you keep to yourself until they are due.",
    )


@strawberry.input(description="Which game to start, with which beacon.")
class StartGameInput(PlayInput):
    """Which table."""

    beacon: str | None = strawberry.field(
        default=None,
        description="The value of the beacon that the table names, once it is public: 1 to 200 letters, digits and "
        "./:+=_- with single spaces inside. It is to come after the last player has joined.",
    )


@strawberry.input(description="The entropy behind a commitment.")
class RevealEntropyInput(PlayInput):
    """Which table, and what."""

    entropy: str = strawberry.field(
        description="The 32 bytes, in lower-case hex, whose SHA-256 you have committed to. Send them while the game's "
        "`entropyDue` names you, and not before: whoever knows them earlier could take them into account."
    )


@strawberry.input(description="Which game to play again.")
class RematchGameInput:
    """Which finished game."""

    game_id: strawberry.ID = strawberry.field(description="The finished game's id.")
    moved_on: bool = strawberry.field(
        default=False,
        description="Seat in the earlier order moved on by one, so that its seat 2 begins; else anew (ruling G4). It "
        "counts for the one who asks first.",
    )
    entropy_commitment: str | None = strawberry.field(
        default=None,
        description="To entropy of yours for the new game, where that takes it: as joinGame has it.",
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="8 to 100 characters of your choice. The same key again returns the first outcome.",
    )


Input = strawberry.argument(description="The request.")


@strawberry.type
class TablesMutation:
    """The mutations of every table for several."""

    @strawberry.mutation(
        description="Come to an open table (ruling G3). The game may start with it, if the table starts when full."
    )
    async def join_game(self, info: Info, input: Annotated[JoinGameInput, Input]) -> CommandResult:
        """Join a table."""
        me, code = info.context.must_have(Scope.PLAY).player, (input.code or "").strip()
        if len(code) > LONGEST_CODE or not code.isascii():
            return invalid_input("An invitation has 26 letters and digits: ask the host of the table for it.", "code")
        try:
            commitment = read_commitment(input.entropy_commitment)
        except InvalidInput as error:
            return invalid_input(str(error), *error.path)
        join = Join(player=me, code=code or None, commitment=commitment)
        return await play(info, input, lambda _: join, seated=False)

    @strawberry.mutation(description="Leave a table before its deal; leaving a started game is resigning (ruling G1).")
    async def leave_game(self, info: Info, input: Annotated[PlayInput, Input]) -> CommandResult:
        """Leave a table."""
        me = info.context.must_have(Scope.PLAY).player
        return await play(info, input, lambda _: Leave(player=me))

    @strawberry.mutation(
        description="The host's: give seats and deal to those who have joined, two at least. Where some of them have "
        "committed to entropy, it closes the table, and the deal follows the last revealEntropy (ruling G3)."
    )
    async def start_game(self, info: Info, input: Annotated[StartGameInput, Input]) -> CommandResult:
        """Start a game."""
        me = info.context.must_have(Scope.PLAY).player
        try:
            beacon = read_beacon(input.beacon)
        except InvalidInput as error:
            return invalid_input(str(error), *error.path)
        return await play(info, input, lambda _: Start(player=me, beacon=beacon))

    @strawberry.mutation(
        description="Reveal the entropy that you have committed to (ruling G3), while the game's `entropyDue` names "
        "you. The last one to do so brings on the deal; if one does not in time, the game is called off."
    )
    async def reveal_entropy(self, info: Info, input: Annotated[RevealEntropyInput, Input]) -> CommandResult:
        """Reveal entropy."""
        me = info.context.must_have(Scope.PLAY).player
        try:
            revealed = read_32_bytes(input.entropy, "entropy")
        except InvalidInput as error:
            return invalid_input(str(error), *error.path)
        return await play(info, input, lambda _: RevealEntropy(player=me, entropy=revealed))

    @strawberry.mutation(description="The host's: call the game off before its deal (ruling G3).")
    async def cancel_game(self, info: Info, input: Annotated[PlayInput, Input]) -> CommandResult:
        """Cancel a game."""
        me = info.context.must_have(Scope.PLAY).player
        return await play(info, input, lambda _: Cancel(player=me))

    @strawberry.mutation(description="Give up a game that has started (ruling G1), at any time.")
    async def resign_game(self, info: Info, input: Annotated[PlayInput, Input]) -> CommandResult:
        """Resign."""
        return await play(info, input, lambda seat: Resign(seat=seat))

    @strawberry.mutation(
        description="Play a finished game again with those who played it, on a table with the same options (ruling "
        "G4). Whoever asks first opens it and is its host; whoever asks after that joins it. The host starts it, with "
        "all or with fewer."
    )
    async def rematch_game(self, info: Info, input: Annotated[RematchGameInput, Input]) -> CommandResult:
        """Open the rematch of a game, or join it."""
        me, world = info.context.must_have(Scope.PLAY).player, info.context.world
        return await answer(
            info,
            lambda: world.blocking(
                lambda: world.rematches.play_again(
                    game_uuid(input.game_id),
                    player=me,
                    moved_on=input.moved_on,
                    key=read_key(input.idempotency_key),
                    commitment=read_commitment(input.entropy_commitment),
                )
            ),
        )
