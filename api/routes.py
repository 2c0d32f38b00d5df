"""What the routes have in common that are not GraphQL: how they answer, and how they say no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from api.context import World
from api.faults import NewerGame
from api.ids import game_of
from api.proving import LogUnproved, NoSuchTree, NotYetSigned
from domain.application import GameNotFound
from domain.events import UnknownEvent
from domain.storage import DATABASE_AWAY

__all__ = ["ASK_AGAIN", "FOR_EVER", "Answer", "Refused", "asked", "game_named", "kept", "refusal", "route"]

Answer = Callable[[World, Request], Awaitable[Response]]

FOR_EVER: Final = "public, max-age=31536000, immutable"
"""What is closed, or signed, never changes again."""
ASK_AGAIN: Final = "no-cache"


class Refused(Exception):
    """What was asked for is not answered."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status: Final = status
        self.code: Final = code


def route(path: str, world: Callable[[], World | None], answer: Answer) -> Route:
    """Return a route for reading; ``world`` tells None while the server starts or stops."""

    async def answered(request: Request) -> Response:
        house = world()
        if house is None:
            return refusal(503, "UNAVAILABLE", "The server is starting or stopping: try again in a moment.")
        try:
            return await answer(house, request)
        except Refused as refused:
            return refusal(refused.status, refused.code, str(refused))
        except GameNotFound:
            return refusal(404, "NOT_FOUND", _NO_GAME)
        except UnknownEvent:
            newer = NewerGame()
            return refusal(newer.status, newer.code, newer.message)
        except NotYetSigned as error:
            return refusal(409, "NOT_YET_SIGNED", str(error))
        except NoSuchTree as error:
            return refusal(404, "NOT_FOUND", str(error))
        except LogUnproved as error:
            return refusal(503, "LOG_UNPROVED", str(error))
        except DATABASE_AWAY:
            return refusal(503, "UNAVAILABLE", "The database cannot be reached: try again in a moment.")

    return Route(path, answered, methods=["GET"])  # and so HEAD


def refusal(status: int, code: str, message: str, **more: str) -> Response:
    """Say no, and what to do; and more that an answer may tell."""
    headers = {"cache-control": "no-store"} | ({"retry-after": "5"} if status in {409, 503} else {})
    return JSONResponse({"code": code, "message": message, **more}, status, headers=headers)


def kept(how: str) -> dict[str, str]:
    """Return the headers of an answer: how long it is kept, and that it is what it says it is."""
    return {"cache-control": how, "x-content-type-options": "nosniff"}


def asked(request: Request, known: set[str]) -> dict[str, str]:
    """Return what the query of an address asks for.

    Raises:
        Refused: it asks for something else, or twice.
    """
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) < len(pairs) or not found.keys() <= known:
        raise Refused(400, "BAD_USER_INPUT", f"Ask with {', '.join(sorted(known))}, each once at most.")
    return found


_NO_GAME: Final = "There is no such game. Take the id from the field `id`, or `uuid`, of a game."


def game_named(text: str) -> UUID:
    """Return the game that an address names.

    Raises:
        Refused: it names none.
    """
    try:
        return game_of(text)
    except ValueError:
        raise Refused(404, "NOT_FOUND", _NO_GAME) from None
