"""Many spectators in a process of their own, on loopback: each a socket that does no more than count its frames.

    python -m benchmarks.audience PORT PATH COUNT [GAME AFTER]

With a game they subscribe to its events; without one the sockets are plain. Says `ready` as soon as every one of them
is connected, and has been told the event after AFTER. Then obeys the lines it reads: `count N` waits for N frames more,
over all sockets, and prints in how many seconds they came, from the first to the last, and how many characters they
had; `watch N` does so too, and prints for each frame the event's number and the time of its receipt, by the clock that
all processes share.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
import time
from typing import Any

import uvloop

__all__ = ["QUERY"]

QUERY = """
    subscription ($game: ID!, $after: Int!) { gameEvents(gameId: $game, afterSeq: $after) {
    seq at player { name } part parts type fact { type } bytes hash previousHash } }
"""
MOST = 5_000
PATIENCE_SECONDS = 120
_MASK = b"\0\0\0\0"  # a client must mask, and may choose how
_SEQ = re.compile(rb'"seq":(\d+)')


class Count:
    """The frames of all spectators together."""

    def __init__(self) -> None:
        self.frames = self.characters = self.wanted = 0
        self.first = self.last = 0.0
        self.receipts: list[tuple[float, bytes]] | None = None
        self.there = asyncio.Event()

    def expect(self, frames: int, *, watching: bool = False) -> None:
        self.frames = self.characters = 0
        self.wanted = frames
        self.receipts = [] if watching else None
        self.there.clear()

    def add(self, text: bytes) -> None:
        self.last = time.perf_counter()
        if not self.frames:
            self.first = self.last
        self.frames += 1
        self.characters += len(text)
        if self.receipts is not None:
            self.receipts.append((self.last, text))
        if self.frames == self.wanted:
            self.there.set()


class Spectator(asyncio.Protocol):
    """One WebSocket without extensions, and of the protocol only what is needed to follow a game."""

    def __init__(self, path: str, game: str | None, after: int, count: Count) -> None:
        self.path, self.game, self.after, self.count = path, game, after, count
        self.rest = b""
        self.is_open = False
        self.is_told = game is None
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(
            f"GET {self.path} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n"
            "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n".encode()
        )

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(error or ConnectionError("the server closed the connection"))

    def say(self, opcode: int, content: bytes) -> None:
        size = len(content)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.transport.write(bytes([0x80 | opcode]) + length + _MASK + content)

    def say_json(self, message: object) -> None:
        self.say(1, json.dumps(message).encode())

    def data_received(self, data: bytes) -> None:
        data = self.rest + data if self.rest else data
        at, size = 0, len(data)
        if not self.is_open:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self.rest = data
                return
            if not data.startswith(b"HTTP/1.1 101"):
                raise SystemExit(data.decode(errors="replace"))
            self.is_open, at = True, end + 4
            if self.game is None:
                self.ready.set_result(None)
            else:
                self.say_json({"type": "connection_init"})
        while at + 2 <= size:
            length, begin = data[at + 1], at + 2
            if length == 126:
                length, begin = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
            elif length == 127:
                length, begin = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            end = begin + length
            if end > size or begin > size:
                break
            self.take(data[at] & 0x0F, data[begin:end])
            at = end
        self.rest = data[at:]

    def take(self, opcode: int, content: bytes) -> None:
        if opcode == 9:
            self.say(10, content)
        elif opcode != 1:
            raise SystemExit(f"unexpected frame: {opcode} {content!r}")
        elif self.is_told:
            self.count.add(content)
        elif content == b'{"type":"connection_ack"}':
            payload = {"query": QUERY, "variables": {"game": self.game, "after": self.after}}
            self.say_json({"type": "subscribe", "id": "1", "payload": payload})
        elif b'"type":"next"' in content:
            self.is_told = True
            self.ready.set_result(None)
        else:
            raise SystemExit(content.decode())


async def _attend(port: int, path: str, number: int, game: str | None, after: int) -> None:
    loop, count = asyncio.get_running_loop(), Count()
    for begin in range(0, number, 50):  # not all at once: the server's queue of new connections is short
        arriving = [
            (await loop.create_connection(lambda: Spectator(path, game, after, count), "127.0.0.1", port))[1]
            for _ in range(begin, min(begin + 50, number))
        ]
        await asyncio.gather(*(spectator.ready for spectator in arriving))
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        what, frames = line.split()
        count.expect(int(frames), watching=what == "watch")
        print("counting", flush=True)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await count.there.wait()
        found: dict[str, Any] = {"seconds": count.last - count.first, "characters": count.characters / count.frames}
        if count.receipts is not None:
            found["receipts"] = [(int(_SEQ.findall(text)[0]), at) for at, text in count.receipts]
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    port, path, number, *followed = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    game, after = (followed[0], int(followed[1])) if followed else (None, 0)
    uvloop.run(_attend(int(port), path, min(int(number), MOST), game, after))
