"""The log as a whole in the schema: its checkpoint, and proofs that an event is in it and that it has only grown."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

import strawberry

from api.context import Info
from api.faults import BadUserInput, Unavailable
from api.ids import game_of
from api.proving import Inclusion, LogUnproved, NoSuchTree, NotYetSigned
from domain.application import GameNotFound
from domain.notes import claimed
from domain.witness import Growth

__all__ = ["LOG_EFFORTS", "LOG_LENGTHS", "LogQuery"]

T = TypeVar("T")

LONGEST_PATH: Final = 20
"""What a path is taken to hold: its length is the logarithm of the log's."""

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_DIGITS: Final = "in decimal digits, for it may outgrow 32 bits"


@strawberry.type(description="The proof that an event is in the log: hash it with the path, and it leads to the root.")
class LogInclusion:
    """The proof that an event is in the log."""

    proof: strawberry.Private[Inclusion]

    @strawberry.field(description=f"The number of the event's leaf, from 0; {_DIGITS}.")
    def index(self) -> str:
        """Return the number of the leaf."""
        return str(self.proof.index)

    @strawberry.field(description="The hash of the leaf, which is the event's stored bytes; in base64, as all hashes.")
    def leaf(self) -> str:
        """Return the hash of the leaf."""
        return _base64(self.proof.leaf)

    @strawberry.field(description=f"The events of the log that has the root; {_DIGITS}.")
    def size(self) -> str:
        """Return the size of the tree."""
        return str(self.proof.size)

    @strawberry.field(description="The root of the log of that size.")
    def root(self) -> str:
        """Return the root."""
        return _base64(self.proof.root)

    @strawberry.field(description="The hashes beside the way from the leaf to the root (RFC 9162, 2.1.3).")
    def path(self) -> list[str]:
        """Return the path."""
        return [_base64(each) for each in self.proof.path]


@strawberry.type(description="The proof that the log has only grown from one size to another.")
class LogConsistency:
    """The proof that the log has only grown."""

    proof: strawberry.Private[Growth]

    @strawberry.field(description=f"The older size; {_DIGITS}.")
    def old(self) -> str:
        """Return the older size."""
        return str(self.proof.old)

    @strawberry.field(description="The root of the older log.")
    def old_root(self) -> str:
        """Return the older root."""
        return _base64(self.proof.old_root)

    @strawberry.field(description=f"The newer size; {_DIGITS}.")
    def new(self) -> str:
        """Return the newer size."""
        return str(self.proof.new)

    @strawberry.field(description="The root of the newer log.")
    def new_root(self) -> str:
        """Return the newer root."""
        return _base64(self.proof.new_root)

    @strawberry.field(description="The hashes that lead to both roots (RFC 9162, 2.1.4).")
    def path(self) -> list[str]:
        """Return the path."""
        return [_base64(each) for each in self.proof.path]


@strawberry.type(description="The log of all events of all games, in one Merkle tree.")
class Log:
    """The log as a whole."""

    note: strawberry.Private[str | None]
    refused: strawberry.Private[str | None]

    @strawberry.field(
        description="The key that verifies checkpoints, as Go's `sumdb/note` writes keys; null if this server does not "
        "sign. Compare it with what you have from elsewhere."
    )
    def key(self, info: Info) -> str | None:
        """Return the key."""
        return info.context.world.prover.key

    @strawberry.field(description="The newest checkpoint: a signed note (c2sp.org/tlog-checkpoint); null if none is.")
    def checkpoint(self) -> str | None:
        """Return the note."""
        return self.note

    @strawberry.field(description=f"The events that the newest checkpoint covers; {_DIGITS}.")
    def size(self) -> str:
        """Return the size."""
        return str(claimed(self.note).size if self.note else 0)

    @strawberry.field(description="Why nothing is signed or proved at present; null where it is.")
    def refusal(self) -> str | None:
        """Return the reason."""
        return self.refused

    @strawberry.field(
        description="The proof that an event is in the log; null while no checkpoint covers it. One is signed every "
        "few seconds: ask again then."
    )
    async def inclusion(
        self,
        info: Info,
        game_id: Annotated[strawberry.ID, strawberry.argument(description="The game's `id`, or its `uuid`.")],
        seq: Annotated[int, strawberry.argument(description="The event's number in its game.")],
        size: Annotated[
            str | None,
            strawberry.argument(description=f"In the log of so many events, {_DIGITS}; else the newest checkpoint's."),
        ] = None,
    ) -> LogInclusion | None:
        """Prove an event."""
        world, asked = info.context.world, _number("size", size)
        try:
            game = game_of(game_id)
            last = await world.blocking(lambda: world.games.newest(game))
        except (ValueError, GameNotFound):
            raise BadUserInput("`gameId` names no game. Take it from the field `id`, or `uuid`, of a game.") from None
        if not 1 <= seq <= last.seq:
            raise BadUserInput(f"`seq` is the number of an event: this game has the events 1 to {last.seq}.")
        found = await _proved(info, lambda: world.prover.inclusion(game, seq, asked))
        return LogInclusion(proof=found) if found else None

    @strawberry.field(description="The proof that the log has only grown; null where nothing was signed yet.")
    async def consistency(
        self,
        info: Info,
        old: Annotated[str, strawberry.argument(description=f"From so many events, {_DIGITS}.")],
        new: Annotated[
            str | None,
            strawberry.argument(description=f"To so many, {_DIGITS}; else to the newest checkpoint's."),
        ] = None,
    ) -> LogConsistency | None:
        """Prove growth."""
        prover, begin, end = info.context.world.prover, _number("old", old), _number("new", new)
        found = await _proved(info, lambda: prover.consistency(begin or 0, end))
        return LogConsistency(proof=found) if found else None


async def _proved(info: Info, prove: Callable[[], T]) -> T | None:
    try:
        return await info.context.world.blocking(prove)
    except NotYetSigned:
        return None
    except NoSuchTree as error:
        raise BadUserInput(str(error)) from None
    except LogUnproved as error:
        raise Unavailable(str(error)) from None


def _number(name: str, text: str | None) -> int | None:
    if text is not None and not _NUMBER.fullmatch(text):
        raise BadUserInput(f"`{name}` is a number in decimal digits: 0, or one that does not begin with 0.")
    return None if text is None else int(text)


def _base64(hash_: bytes) -> str:
    return base64.b64encode(hash_).decode("ascii")


@strawberry.type
class LogQuery:
    """The log as a whole."""

    @strawberry.field(description="The log of all events, as it was signed last.")
    async def log(self, info: Info) -> Log:
        """Return the log."""
        prover = info.context.world.prover
        try:
            return Log(note=(await info.context.world.blocking(prover.newest))[1], refused=None)
        except NotYetSigned:
            return Log(note=None, refused=None)
        except LogUnproved as error:
            return Log(note=None, refused=str(error))


LOG_EFFORTS: Final = {"Log.inclusion": 50, "Log.consistency": 50}
LOG_LENGTHS: Final = {"LogInclusion.path": LONGEST_PATH, "LogConsistency.path": LONGEST_PATH}
