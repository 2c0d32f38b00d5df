"""Records over HTTP: ``GET /games/{id}.jsonl``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from api.context import World
from api.faults import NewerGame
from api.ids import read_id
from domain.application import GameNotFound
from domain.archive import events_up_to
from domain.events import Event, UnknownEvent
from domain.lifecycle import CLOSING
from domain.records import write_record
from domain.storage import DATABASE_AWAY

__all__ = ["MEDIA_TYPE", "game_of", "records_route"]

MEDIA_TYPE: Final = "application/jsonl"
CHUNK_BYTES: Final = 64 * 1024

FOR_EVER: Final = "public, max-age=31536000, immutable"
"""A closed game has no other record, ever."""
ASK_AGAIN: Final = "no-cache"
"""A running one may have a longer one; the ETag tells."""


def game_of(text: str) -> UUID:
    """Return the game that an id, or a UUID as it is written in events, stands for.

    Raises:
        ValueError: it is neither.
    """
    if len(text) == len(str(UUID(int=0))):
        return UUID(text)
    return read_id(text, "game")[1]


def records_route(world: Callable[[], World | None]) -> Route:
    """Return the route of the records of all games; ``world`` tells None while the server starts or stops."""

    async def answer(request: Request) -> Response:
        house = world()
        if house is None:
            return _refusal(503, "UNAVAILABLE", "The server is starting or stopping: try again in a moment.")
        try:
            game = game_of(request.path_params["id"])
        except ValueError:
            return _not_found()
        try:
            last = await house.blocking(lambda: house.games.newest(game))
        except GameNotFound:
            return _not_found()
        except DATABASE_AWAY:
            return _refusal(503, "UNAVAILABLE", "The database cannot be reached: try again in a moment.")
        except UnknownEvent:
            newer = NewerGame()
            return _refusal(newer.status, newer.code, newer.message)
        headers = {
            "etag": f'"{last.hash}"',
            "cache-control": FOR_EVER if isinstance(last.fact, CLOSING) else ASK_AGAIN,
            "x-content-type-options": "nosniff",
        }
        if _is_named(last.hash, request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        if request.method == "HEAD":
            head = Response(headers=headers, media_type=MEDIA_TYPE)
            del head.headers["content-length"]  # which is that of the record, and not known
            return head
        return StreamingResponse(_body(house, last), headers=headers, media_type=MEDIA_TYPE)

    return Route("/games/{id}.jsonl", answer, methods=["GET"])  # and so HEAD


async def _body(world: World, last: Event) -> AsyncIterator[bytes]:
    chunks = _chunks(write_record(events_up_to(last, world.games.events)))
    while chunk := await world.blocking(lambda: next(chunks, b"")):
        yield chunk


def _chunks(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Put lines together: each chunk is a step to a thread and back."""
    together = bytearray()
    for line in lines:
        together += line
        if len(together) >= CHUNK_BYTES:
            yield bytes(together)
            together.clear()
    yield bytes(together)


def _is_named(etag: str, if_none_match: str) -> bool:
    named = (each.strip().removeprefix("W/") for each in if_none_match.split(","))
    return any(each in {"*", f'"{etag}"'} for each in named)


def _not_found() -> Response:
    return _refusal(404, "NOT_FOUND", "There is no such game. Take the id from the field `id`, or `uuid`, of a game.")


def _refusal(status: int, code: str, message: str) -> Response:
    return JSONResponse({"code": code, "message": message}, status, headers={"cache-control": "no-store"})
