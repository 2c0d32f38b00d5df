"""Records over HTTP: ``GET /games/{id}.jsonl``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from api.context import World
from api.routes import ASK_AGAIN, FOR_EVER, game_named, kept, route
from domain.archive import events_up_to
from domain.lifecycle import CLOSING
from domain.records import write_record

__all__ = ["MEDIA_TYPE", "in_chunks", "records_route", "streamed"]

MEDIA_TYPE: Final = "application/jsonl"
CHUNK_BYTES: Final = 64 * 1024


def records_route(world: Callable[[], World | None]) -> Route:
    """Return the route of the records of all games; ``world`` tells None while the server starts or stops."""
    return route("/games/{id}.jsonl", world, _record)


async def _record(world: World, request: Request) -> Response:
    game = game_named(request.path_params["id"])
    last = await world.blocking(lambda: world.games.newest(game))
    headers = {
        "etag": f'"{last.hash}"',
        # A closed game has no other record, ever; a running one may have a longer one, and the ETag tells.
        **kept(FOR_EVER if isinstance(last.fact, CLOSING) else ASK_AGAIN),
    }
    if _is_named(last.hash, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    lines = write_record(events_up_to(last, world.games.events))
    return streamed(world, request, in_chunks(lines), headers, MEDIA_TYPE)


def streamed(
    world: World, request: Request, chunks: Iterator[bytes], headers: dict[str, str], media_type: str
) -> Response:
    """Answer with what is read as it is taken, off the event loop; to HEAD without it."""
    if request.method == "HEAD":
        head = Response(headers=headers, media_type=media_type)
        del head.headers["content-length"]  # which is that of the whole, and not known
        return head

    async def body() -> AsyncIterator[bytes]:
        while chunk := await world.blocking(lambda: next(chunks, b"")):
            yield chunk

    return StreamingResponse(body(), headers=headers, media_type=media_type)


def in_chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
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
