"""Typed errors: a refusal is a value. What the domain raises becomes one of these types here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import strawberry

from api.grid import GridCell, cells
from domain import decider
from domain.application import (
    GameNotFound,
    KeyReused,
    NotSeated,
    SealedElsewhere,
    SealUnopened,
    VersionConflict,
    WrongKind,
)
from domain.decider import RuleViolation

__all__ = [
    "GameNotFoundError",
    "IdempotencyKeyReusedError",
    "InvalidInput",
    "InvalidInputError",
    "NotSeatedError",
    "Reason",
    "Refusable",
    "Refusal",
    "RuleViolationError",
    "UserError",
    "VersionConflictError",
    "invalid_input",
    "reasons",
    "refusal",
]


@strawberry.interface(description="Why a request was refused. Nothing was recorded.")
class UserError:
    """Every typed error."""

    code: str = strawberry.field(description="What is wrong, in capitals; stable, for programs.")
    message: str = strawberry.field(description="What is wrong and what to do next, for people.")
    path: list[str] = strawberry.field(description="Which part of the input it is about, from the outside in.")


@strawberry.type(description="One rule that says no.")
class Reason:
    """One rule that says no."""

    code: str = strawberry.field(description="The rule, in capitals; stable, for programs.")
    ruling: str = strawberry.field(description="The ruling's id, as in docs/rules.md: K5, for example.")
    message: str = strawberry.field(description="What is wrong, for people.")
    cells: list[GridCell] = strawberry.field(description="Where, in a game with a grid; else empty.")


def reasons(shown: Iterable[decider.Reason]) -> list[Reason]:
    """Show the rules that say no."""
    return [
        Reason(code=reason.code, ruling=reason.ruling, message=reason.message, cells=cells(reason.cells))
        for reason in shown
    ]


@strawberry.type(name="RuleViolation", description="A rule of the game says no.")
class RuleViolationError(UserError):
    """A rule said no."""

    ruling: str = strawberry.field(description="The ruling's id, as in docs/rules.md: S2, for example.")
    reasons: list[Reason] = strawberry.field(
        description="Every rule that says no, each with the place: a laydown may break several at once."
    )


@strawberry.type(name="VersionConflict", description="The game is not at the version that you expected; look again.")
class VersionConflictError(UserError):
    """A stale version."""

    current_version: int = strawberry.field(description="The version that the game is at.")


@strawberry.type(
    name="IdempotencyKeyReused",
    description="This idempotency key was used before, with other content. Take a new one for a new request.",
)
class IdempotencyKeyReusedError(UserError):
    """The key is spent."""


@strawberry.type(name="GameNotFound", description="There is no such game.")
class GameNotFoundError(UserError):
    """No such game."""


@strawberry.type(name="NotSeated", description="You are not at this table: you can watch the game.")
class NotSeatedError(UserError):
    """Somebody else's game."""


@strawberry.type(name="InvalidInput", description="A value of the input is not what its description asks for.")
class InvalidInputError(UserError):
    """A value that the schema's types let through."""


Refusal: TypeAlias = (
    RuleViolationError
    | VersionConflictError
    | IdempotencyKeyReusedError
    | GameNotFoundError
    | NotSeatedError
    | InvalidInputError
)


class InvalidInput(Exception):
    """A value of the input is not what its description asks for."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


def invalid_input(message: str, *path: str) -> InvalidInputError:
    """Tell of a value of the input, ``path`` leading to it."""
    return InvalidInputError(code="INVALID_INPUT", message=message, path=["input", *path])


Refusable = (
    RuleViolation,
    VersionConflict,
    KeyReused,
    GameNotFound,
    NotSeated,
    WrongKind,
    SealedElsewhere,
    SealUnopened,
    InvalidInput,
)
"""What ``refusal`` tells as a value; everything else is a top-level error."""


def refusal(error: Exception) -> Refusal:
    """Tell a refusal as a value.

    Raises:
        Exception: ``error`` itself, where it is not one of ``Refusable``.
    """
    match error:
        case RuleViolation():
            return RuleViolationError(
                code=error.code,
                message=error.message,
                path=["input"],
                ruling=error.ruling,
                reasons=reasons(error.reasons),
            )
        case VersionConflict():
            return VersionConflictError(
                code="VERSION_CONFLICT",
                message=f"The game is at version {error.current}: look at it again, then decide again.",
                path=["input", "expectedVersion"],
                current_version=error.current,
            )
        case KeyReused():
            return IdempotencyKeyReusedError(
                code="IDEMPOTENCY_KEY_REUSED",
                message="You used this idempotency key before, for another request: take a new one, or send that "
                "request unchanged.",
                path=["input", "idempotencyKey"],
            )
        case GameNotFound():
            return GameNotFoundError(
                code="GAME_NOT_FOUND",
                message="There is no such game. Take the id from the field `id` of a game.",
                path=["input", "gameId"],
            )
        case NotSeated():
            return NotSeatedError(
                code="NOT_SEATED",
                message="You are not at this table. You can watch it with gameEvents or gameChanged.",
                path=["input", "gameId"],
            )
        case WrongKind():
            return invalid_input(
                f"This is a game of {error.kind}, which does not know this request: see its legalActions.", "gameId"
            )
        case SealedElsewhere():
            return invalid_input(
                "This game came here as a record while it was under way: it can be watched, and is played on where it "
                "was opened.",
                "gameId",
            )
        case SealUnopened():
            return invalid_input(
                "The seed of this game is sealed, and this server has no key that opens it: the game can be watched, "
                "and is played on once the key is there again. Tell the server's operator, or open another game.",
                "gameId",
            )
        case InvalidInput():
            return invalid_input(str(error), *error.path)
        case _:
            raise error
