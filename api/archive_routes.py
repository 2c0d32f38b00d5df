"""All finished games that bear a label, over HTTP, for whoever audits a tournament. No token is asked for.

    GET /games.jsonl?label=LABEL         their records, one after the other
    GET /games.tlog-proof?label=LABEL    the proofs of their last events, under one checkpoint

Games stand in the order in which they finished. The list is the read model's, which follows within moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.context import World
from api.errors import InvalidInput
from api.labels import read_label
from api.proving import NotYetSigned
from api.records import MEDIA_TYPE, in_chunks, streamed
from api.routes import ASK_AGAIN, Refused, asked, kept, route
from domain.archive import events_up_to
from domain.events import Event
from domain.records import write_record

__all__ = ["archive_routes"]

PAGE: Final = 100
"""Games that are looked up at once."""


def archive_routes(world: Callable[[], World | None]) -> list[Route]:
    """Return the routes; ``world`` tells None while the server starts or stops."""
    return [route("/games.jsonl", world, _records), route("/games.tlog-proof", world, _proofs)]


async def _records(world: World, request: Request) -> Response:
    ends = await _first(world, _ends(world, _label(request)))
    records = (write_record(events_up_to(last, world.games.events)) for last in ends)
    return streamed(world, request, in_chunks(chain.from_iterable(records)), kept(ASK_AGAIN), MEDIA_TYPE)


async def _proofs(world: World, request: Request) -> Response:
    signed = await world.blocking(world.prover.newest)
    ends = await _first(world, _ends(world, _label(request)))

    def proofs() -> Iterator[bytes]:
        for last in ends:
            with suppress(NotYetSigned):  # its proof is there with the next checkpoint
                yield str(world.prover.proof(last.game, last.seq, signed)).encode()

    return streamed(world, request, in_chunks(proofs()), kept(ASK_AGAIN), "text/plain")


def _label(request: Request) -> str:
    try:
        label = read_label(asked(request, {"label"}).get("label"))
    except InvalidInput as error:
        raise Refused(400, "BAD_USER_INPUT", str(error)) from None
    if label is None:
        raise Refused(400, "BAD_USER_INPUT", "`label` is missing: ?label=LABEL asks for the games that bear it.")
    return label


def _ends(world: World, label: str) -> Iterator[Event]:
    """Yield the last event of each game; the list is read as it is taken."""
    after = 0
    while page := world.standings.results.finished(label=label, after=after, first=PAGE):
        yield from (world.games.newest(row.game) for row in page)
        after = page[-1].position


async def _first(world: World, ends: Iterator[Event]) -> Iterator[Event]:
    """Take the first, so that what is refused is refused before the answer begins."""
    first = await world.blocking(lambda: next(ends, None))
    if first is None:
        raise Refused(404, "NOT_FOUND", "No finished game bears this label. Capitals and small letters differ.")
    return chain([first], ends)
