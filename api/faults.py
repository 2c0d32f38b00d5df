"""Top-level errors: everything a response may carry under `errors`, and what is said about it.

A refusal that belongs to the game is a value in the schema and never comes here. What does come here is about who is
calling, how the request was made, what is too much, and what broke. Each such error carries `extensions.code`, one of
the codes below, and `extensions.requestId`, which the log knows too.

    Fault
    ├── BadRequest           BAD_REQUEST                 the HTTP request or socket message is malformed
    │   └── BodyTooLarge     BODY_TOO_LARGE              it is longer than this server reads
    ├── ParseFailed          GRAPHQL_PARSE_FAILED        the document is not GraphQL
    ├── ValidationFailed     GRAPHQL_VALIDATION_FAILED   the document does not fit the schema
    │   └── QueryTooComplex  QUERY_TOO_COMPLEX           it fits, and asks for too much
    ├── BadUserInput         BAD_USER_INPUT              a variable or argument has the wrong type
    ├── Unauthenticated      UNAUTHENTICATED             the token is missing, malformed, unknown or revoked
    ├── Forbidden            FORBIDDEN                   the caller is known and may not
    │   └── StillSealed      STILL_SEALED                nobody may before the game is over
    ├── NotFound             NOT_FOUND                   there is nothing with that id
    ├── TooManyOperations    TOO_MANY_OPERATIONS         the socket runs as many operations as it may
    ├── SlowReader           SLOW_READER                 the subscriber fell behind and was cut off
    ├── Unavailable          UNAVAILABLE                 the database cannot be reached
    ├── NewerGame            NEWER_GAME                  a newer server plays this game, and this one can't read it
    ├── Internal             INTERNAL                    a bug; the log has it, the response does not
    └── Omitted              ERRORS_OMITTED              stands for the errors beyond what one response lists
"""

import traceback
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Self

import structlog
from graphql import GraphQLError, OperationType, ValueNode

from domain.application import Undecided
from domain.events import UnknownEvent
from domain.storage import DATABASE_AWAY

__all__ = [
    "BadRequest",
    "BadUserInput",
    "BodyTooLarge",
    "Fault",
    "Forbidden",
    "Internal",
    "NewerGame",
    "NotFound",
    "Omitted",
    "ParseFailed",
    "QueryTooComplex",
    "SlowReader",
    "StillSealed",
    "TooManyOperations",
    "Unauthenticated",
    "Unavailable",
    "ValidationFailed",
    "fault_of",
    "note_absence",
    "told",
]

_FRAMES = 12
"""Frames of a traceback that are logged, the innermost."""

_ABSENCES: Final = (*DATABASE_AWAY, Undecided)
"""How the absence of the database is noticed."""

_log = structlog.stdlib.get_logger(__name__)


class Fault(GraphQLError):
    """An error whose message is written for the client and is sent as it stands.

    Raised from a resolver it reaches the client at the path of the field; raised while the caller is being identified
    it is the whole answer, with `status` as the status over HTTP. Never put a hidden card, a token or another person's
    words in the message.
    """

    code: ClassVar[str] = "INTERNAL"
    default_status: ClassVar[int] = 400

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, extensions={**(extensions or {}), "code": self.code})
        self.status = status or self.default_status
        self.headers = dict(headers or {})

    @classmethod
    def about(cls, error: GraphQLError) -> Self:
        """Say what `error` says, at the same place in the document, under this fault's code."""
        fault = cls(error.message)
        fault.locations = error.locations
        return fault


class BadRequest(Fault):
    """The HTTP request or the socket message is malformed; nothing was executed."""

    code = "BAD_REQUEST"


class BodyTooLarge(BadRequest):
    """The request's body is longer than this server reads."""

    code = "BODY_TOO_LARGE"
    default_status = 413


class ParseFailed(Fault):
    """The document is not GraphQL, or has more tokens than this server parses."""

    code = "GRAPHQL_PARSE_FAILED"


class ValidationFailed(Fault):
    """The document does not fit the schema."""

    code = "GRAPHQL_VALIDATION_FAILED"


class QueryTooComplex(ValidationFailed):
    """The document asks for more than one request may."""

    code = "QUERY_TOO_COMPLEX"


class BadUserInput(Fault):
    """A variable or an argument does not have the type the schema gives it."""

    code = "BAD_USER_INPUT"


class Unauthenticated(Fault):
    """The token is missing where one is needed, malformed, unknown, expired or revoked."""

    code = "UNAUTHENTICATED"
    default_status = 401

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Fault):
    """The caller is known and may not do this."""

    code = "FORBIDDEN"
    default_status = 403


class StillSealed(Forbidden):
    """Cards were asked for that are open to everyone once the seeds are revealed, and to nobody who asks before."""

    code = "STILL_SEALED"


class NotFound(Fault):
    """There is nothing with that id."""

    code = "NOT_FOUND"
    default_status = 404


class TooManyOperations(Fault):
    """The socket already runs as many operations as one socket may."""

    code = "TOO_MANY_OPERATIONS"
    default_status = 429


class SlowReader(Fault):
    """The subscriber fell too far behind and was cut off; it may resume from the last event it saw."""

    code = "SLOW_READER"
    default_status = 429


class Unavailable(Fault):
    """The database cannot be reached."""

    code = "UNAVAILABLE"
    default_status = 503

    def __init__(self, message: str, *, because: Exception | None = None) -> None:
        super().__init__(message)
        self.because = because
        """By what it was noticed, where the log does not know it yet."""

    @classmethod
    def during(cls, kind: OperationType | None, because: Exception | None = None) -> Self:
        """Say what to do when the database was lost during an operation, or before one had begun."""
        return cls(f"The database cannot be reached{_AFTER_ABSENCE[kind]}", because=because)


_AFTER_ABSENCE: Final = {
    None: ", and nothing was done: try again in a moment.",
    OperationType.QUERY: ": ask again in a moment.",
    OperationType.MUTATION: "; nothing was recorded as far as known: try again with the same idempotencyKey.",
    OperationType.SUBSCRIPTION: ": subscribe again in a moment, to gameEvents with afterSeq: the last seq you have.",
}


class NewerGame(Fault):
    """The game has events of a newer program, as comes to pass while servers are upgraded; nothing was done."""

    code = "NEWER_GAME"
    default_status = 503

    def __init__(self) -> None:
        super().__init__(
            "This game is played by a newer server, and this one can't read it: ask again in a moment, with the same"
            " idempotencyKey if there was one. Other games go on."
        )


class Internal(Fault):
    """A bug. The client is told the request id and nothing else; the log is told the rest."""

    code = "INTERNAL"
    default_status = 500

    def __init__(self) -> None:
        super().__init__("Something went wrong on our side; quote the requestId to the operator.")


class Omitted(Fault):
    """Stands for the errors beyond what one response lists."""

    code = "ERRORS_OMITTED"


def fault_of(error: Exception, request_id: str, kind: OperationType | None = None) -> Fault:
    """What the client may be told about an exception, whichever it is, in an operation of this kind or before any.

    A `Fault` stands for itself, a lost database is `Unavailable`, what a newer program has written is `NewerGame`, all
    else is `Internal`; these three are logged.
    """
    cause = _root(error)
    because = cause.because if isinstance(cause, Unavailable) else cause
    if isinstance(because, _ABSENCES):
        _log.warning("database_unreachable", request_id=request_id, error=type(because).__name__)
        return cause if isinstance(cause, Fault) else Unavailable.during(kind)
    if isinstance(cause, Fault):
        return cause
    if isinstance(cause, UnknownEvent):
        _log.warning("event_of_newer_program", request_id=request_id, error=str(cause))
        return NewerGame()
    # formatted here, and not by whichever processor is configured: some show the local variables, which hold secrets
    trace = "".join(traceback.format_exception(cause, limit=-_FRAMES))
    _log.error("resolver_failed", request_id=request_id, error=type(cause).__name__, exception=trace)
    return Internal()


def note_absence(errors: Iterable[GraphQLError] | None, kind: OperationType) -> None:
    """Note in the errors of a result, where the database was lost, during what: what to do next depends on it."""
    for error in errors or ():
        if isinstance(cause := _root(error), _ABSENCES):
            error.original_error = Unavailable.during(kind, cause)


def told(errors: Iterable[GraphQLError], request_id: str, *, limit: int) -> list[dict[str, Any]]:
    """Put the errors of a result into the form of a response, masked, at most `limit` of them.

    If some are left out, one more entry says how many.
    """
    every = list(errors)
    rows = [_row(error, _fault_in_result(error, request_id), request_id) for error in every[:limit]]
    if len(every) > limit:
        omission = Omitted(f"{len(every) - limit} more errors are left out.")
        rows.append(_row(omission, omission, request_id))
    return rows


def _root(error: Exception) -> Exception:
    """Find the exception that graphql-core wrapped, through however many layers."""
    while not isinstance(error, Fault) and isinstance(error, GraphQLError) and error.original_error is not None:
        error = error.original_error
    return error


def _fault_in_result(error: GraphQLError, request_id: str) -> Fault:
    """Tell the client's mistakes, which graphql-core finds itself, from exceptions of resolvers.

    An error without a path arose before any resolver ran: a variable of the wrong type. One that points at a value in
    the document is about that argument. Anything else that graphql-core says is about what a resolver returned, and may
    quote it: that is masked.
    """
    cause = _root(error)
    if not isinstance(cause, Fault):
        if error.path is None:
            return BadUserInput(error.message)
        if isinstance(cause, GraphQLError) and cause.nodes and isinstance(cause.nodes[0], ValueNode):
            return BadUserInput(cause.message)
    return fault_of(cause, request_id)


def _row(error: GraphQLError, fault: Fault, request_id: str) -> dict[str, Any]:
    row: dict[str, Any] = {"message": fault.message}
    if error.locations:
        row["locations"] = [location.formatted for location in error.locations]
    if error.path is not None:
        row["path"] = error.path
    row["extensions"] = {**(fault.extensions or {}), "requestId": request_id}
    return row
