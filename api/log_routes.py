"""The log as a whole over HTTP, for whoever follows or checks it: checkpoints, tiles and proofs. No token is asked for.

    GET /checkpoint                                      the newest checkpoint: a signed note
    GET /tile/LEVEL/NUMBER, /tile/LEVEL/NUMBER.p/WIDTH   tiles: 256 hashes, or the first WIDTH of them
    GET /tile/entries/NUMBER, .../NUMBER.p/WIDTH         the events of such a tile of leaves, each with its length
    GET /games/ID.tlog-proof                             a proof of the game's last event, to be kept with its record
    GET /log/inclusion?game=ID&seq=N[&size=N]            a proof of one event, as JSON
    GET /log/consistency?old=N[&new=N]                   a proof that the log has only grown, as JSON

Checkpoints, tiles and proofs that stand alone have the forms of the C2SP: tlog-checkpoint, tlog-tiles, tlog-proof.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from api.context import World
from api.proving import NotYetSigned
from api.routes import ASK_AGAIN, FOR_EVER, Refused, asked, game_named, kept, route
from domain.merkle import read_tile_path

__all__ = ["log_routes"]

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


def log_routes(world: Callable[[], World | None]) -> list[Route]:
    """Return the routes; ``world`` tells None while the server starts or stops."""
    return [
        route(path, world, answer)
        for path, answer in (
            ("/checkpoint", _checkpoint),
            ("/tile/{path:path}", _tile),
            ("/games/{id}.tlog-proof", _proof),
            ("/log/inclusion", _inclusion),
            ("/log/consistency", _consistency),
        )
    ]


def _shown(content: str) -> Response:
    return PlainTextResponse(content, headers=kept(ASK_AGAIN))


async def _checkpoint(world: World, _: Request) -> Response:
    try:
        note = (await world.blocking(world.prover.newest))[1]
    except NotYetSigned as error:
        raise Refused(404, "NOT_FOUND", str(error)) from None
    return _shown(note)


async def _tile(world: World, request: Request) -> Response:
    path, prover = request.path_params["path"], world.prover
    try:
        (level, number), width = read_tile_path(path.replace(_ENTRIES, "0/", 1) if path.startswith(_ENTRIES) else path)
    except ValueError as error:
        raise Refused(404, "NOT_FOUND", f"There is no such tile: {error}.") from None
    if path.startswith(_ENTRIES):
        content = _bundle(await world.blocking(lambda: prover.entries(number, width)))
    else:
        content = await world.blocking(lambda: prover.tile((level, number), width))
    return Response(content, headers=kept(FOR_EVER), media_type="application/octet-stream")


_ENTRIES: Final = "entries/"


def _bundle(entries: Sequence[bytes]) -> bytes:
    """Write events as tlog-tiles writes a bundle of entries: each after its length in two bytes, the greater first."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


async def _proof(world: World, request: Request) -> Response:
    game = game_named(request.path_params["id"])
    proof = await world.blocking(lambda: world.prover.proof(game, world.games.newest(game).seq))
    return _shown(str(proof))


async def _inclusion(world: World, request: Request) -> Response:
    wanted = asked(request, {"game", "seq", "size"})
    if "game" not in wanted:
        raise Refused(400, "BAD_USER_INPUT", "`game` is missing: the field `id`, or `uuid`, of a game.")
    game, seq = game_named(wanted["game"]), _number(wanted, "seq")
    if seq is None:
        raise Refused(400, "BAD_USER_INPUT", "`seq` is missing: the number of the event in its game, from 1.")
    size = _number(wanted, "size")
    last = await world.blocking(lambda: world.games.newest(game))
    if not 1 <= seq <= last.seq:
        raise Refused(404, "NOT_FOUND", f"The game has the events 1 to {last.seq}.")
    shown = await world.blocking(lambda: world.prover.inclusion(game, seq, size))
    return _told(
        {
            "index": shown.index,
            "leaf": _base64(shown.leaf),
            "size": shown.size,
            "root": _base64(shown.root),
            "path": _base64s(shown.path),
        }
    )


async def _consistency(world: World, request: Request) -> Response:
    wanted = asked(request, {"old", "new"})
    old, new = _number(wanted, "old"), _number(wanted, "new")
    if old is None:
        raise Refused(400, "BAD_USER_INPUT", "`old` is missing: the number of events of the older checkpoint.")
    shown = await world.blocking(lambda: world.prover.consistency(old, new))
    return _told(
        {
            "old": shown.old,
            "oldRoot": _base64(shown.old_root),
            "new": shown.new,
            "newRoot": _base64(shown.new_root),
            "path": _base64s(shown.path),
        }
    )


def _told(content: object) -> Response:
    return JSONResponse(content, headers=kept(ASK_AGAIN))


def _number(wanted: dict[str, str], name: str) -> int | None:
    text = wanted.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise Refused(400, "BAD_USER_INPUT", f"`{name}` is a number: 0, or digits that do not begin with 0.")
    return int(text)


def _base64(hash_: bytes) -> str:
    return base64.b64encode(hash_).decode("ascii")


def _base64s(hashes: Sequence[bytes]) -> list[str]:
    return [_base64(each) for each in hashes]
