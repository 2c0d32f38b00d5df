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
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from api.context import World
from api.ids import game_of
from api.proving import LogUnproved, NoSuchTree, NotYetSigned
from domain.application import GameNotFound
from domain.merkle import read_tile_path
from domain.storage import DATABASE_AWAY

__all__ = ["log_routes"]

T = TypeVar("T")

FOR_EVER: Final = "public, max-age=31536000, immutable"
"""What is signed never changes again, the beginning of a tile neither."""
ASK_AGAIN: Final = "no-cache"

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


class _Refused(Exception):
    """What was asked for is not answered."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status: Final = status
        self.code: Final = code


def log_routes(world: Callable[[], World | None]) -> list[Route]:
    """Return the routes; ``world`` tells None while the server starts or stops."""

    def route(path: str, answer: Callable[[World, Request], Awaitable[Response]]) -> Route:
        async def answered(request: Request) -> Response:
            house = world()
            if house is None:
                return _refusal(503, "UNAVAILABLE", "The server is starting or stopping: try again in a moment.")
            try:
                return await answer(house, request)
            except _Refused as refused:
                return _refusal(refused.status, refused.code, str(refused))
            except NotYetSigned as error:
                return _refusal(409, "NOT_YET_SIGNED", str(error))
            except NoSuchTree as error:
                return _refusal(404, "NOT_FOUND", str(error))
            except LogUnproved as error:
                return _refusal(503, "LOG_UNPROVED", str(error))
            except DATABASE_AWAY:
                return _refusal(503, "UNAVAILABLE", "The database cannot be reached: try again in a moment.")

        return Route(path, answered, methods=["GET"])  # and so HEAD

    return [
        route("/checkpoint", _checkpoint),
        route("/tile/{path:path}", _tile),
        route("/games/{id}.tlog-proof", _proof),
        route("/log/inclusion", _inclusion),
        route("/log/consistency", _consistency),
    ]


def _refusal(status: int, code: str, message: str) -> Response:
    headers = {"cache-control": "no-store"} | ({"retry-after": "5"} if status in {409, 503} else {})
    return JSONResponse({"code": code, "message": message}, status, headers=headers)


def _shown(content: str) -> Response:
    headers = {"cache-control": ASK_AGAIN, "x-content-type-options": "nosniff"}
    return PlainTextResponse(content, headers=headers)


async def _checkpoint(world: World, _: Request) -> Response:
    try:
        note = (await world.blocking(world.prover.newest))[1]
    except NotYetSigned as error:
        raise _Refused(404, "NOT_FOUND", str(error)) from None
    return _shown(note)


async def _tile(world: World, request: Request) -> Response:
    path, prover = request.path_params["path"], world.prover
    try:
        (level, number), width = read_tile_path(path.replace(_ENTRIES, "0/", 1) if path.startswith(_ENTRIES) else path)
    except ValueError as error:
        raise _Refused(404, "NOT_FOUND", f"There is no such tile: {error}.") from None
    if path.startswith(_ENTRIES):
        content = _bundle(await world.blocking(lambda: prover.entries(number, width)))
    else:
        content = await world.blocking(lambda: prover.tile((level, number), width))
    headers = {"cache-control": FOR_EVER, "x-content-type-options": "nosniff"}
    return Response(content, headers=headers, media_type="application/octet-stream")


_ENTRIES: Final = "entries/"


def _bundle(entries: Sequence[bytes]) -> bytes:
    """Write events as tlog-tiles writes a bundle of entries: each after its length in two bytes, the greater first."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


async def _proof(world: World, request: Request) -> Response:
    game = _game(request.path_params["id"])
    proof = await _existing(world, lambda: world.prover.proof(game, world.games.newest(game).seq))
    return _shown(str(proof))


async def _inclusion(world: World, request: Request) -> Response:
    asked = _asked(request, {"game", "seq", "size"})
    if "game" not in asked:
        raise _Refused(400, "BAD_USER_INPUT", "`game` is missing: the field `id`, or `uuid`, of a game.")
    game, seq = _game(asked["game"]), _number(asked, "seq")
    if seq is None:
        raise _Refused(400, "BAD_USER_INPUT", "`seq` is missing: the number of the event in its game, from 1.")
    size = _number(asked, "size")
    last = await _existing(world, lambda: world.games.newest(game))
    if not 1 <= seq <= last.seq:
        raise _Refused(404, "NOT_FOUND", f"The game has the events 1 to {last.seq}.")
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
    asked = _asked(request, {"old", "new"})
    old, new = _number(asked, "old"), _number(asked, "new")
    if old is None:
        raise _Refused(400, "BAD_USER_INPUT", "`old` is missing: the number of events of the older checkpoint.")
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
    return JSONResponse(content, headers={"cache-control": ASK_AGAIN, "x-content-type-options": "nosniff"})


async def _existing(world: World, call: Callable[[], T]) -> T:
    try:
        return await world.blocking(call)
    except GameNotFound:
        raise _no_game() from None


def _no_game() -> _Refused:
    return _Refused(404, "NOT_FOUND", "There is no such game. Take the id from the field `id`, or `uuid`, of a game.")


def _game(text: str) -> UUID:
    try:
        return game_of(text)
    except ValueError:
        raise _no_game() from None


def _asked(request: Request, known: set[str]) -> dict[str, str]:
    pairs = request.query_params.multi_items()
    asked = dict(pairs)
    if len(asked) < len(pairs) or not asked.keys() <= known:
        raise _Refused(400, "BAD_USER_INPUT", f"Ask with {', '.join(sorted(known))}, each once at most.")
    return asked


def _number(asked: dict[str, str], name: str) -> int | None:
    text = asked.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise _Refused(400, "BAD_USER_INPUT", f"`{name}` is a number: 0, or digits that do not begin with 0.")
    return int(text)


def _base64(hash_: bytes) -> str:
    return base64.b64encode(hash_).decode("ascii")


def _base64s(hashes: Sequence[bytes]) -> list[str]:
    return [_base64(each) for each in hashes]
