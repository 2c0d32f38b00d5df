"""One game and its spectators: deliveries, memory, and how long after a move's acknowledgement it is received.

Deliveries: a thousand spectators follow one game over WebSockets, live, while it is played as fast as it goes. Against
that, in the same server and between the rounds of it, a thousand plain sockets are sent frames of the same length that
were made beforehand, in a loop. The programs that receive are the same. The server's share is all there is to compare,
so it also plays the game, appends and reads it: that counts against the spectators.

Memory: what a server's resident memory grows by when a thousand spectators come and are told some events, against a
thousand plain sockets in another run of it. No compression is agreed on for either, which would only level them.

Latency: fifty moves a second, twenty spectators; from the answer to a move to each spectator's receipt of its event. An
event is told from the log, after the commit, while the answer is on its way: so some are received before it.
"""

from __future__ import annotations

import json
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.durability import MISSED, must_be_durable
from domain.vault import Keyring, ServerKey

__all__ = ["measure_spectators"]

SPECTATORS = 1_000
ROUNDS = 5
EVENTS = 100
DELIVERY_FLOOR = 0.5
MEMORY_CEILING = 1.4
WATCHERS = 20
MOVES_PER_SECOND = 50
SECONDS = 10
AHEAD = 4
"""Moves that are sent before the first of them is answered, so that the server need not wait for the player."""
SETTLE_SECONDS = 2.0

STOCK = 69
MOVE = "mutation ($input: MoveInput!) { %s(input: $input) { __typename } }"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Stage:
    """A server, and one game in it that is played by whoever holds the token."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        token = self.ask('mutation { registerPlayer(input: {name: "Bench"}) { ... on PlayerRegistered { token } } }')
        self.token: str = token["registerPlayer"]["token"]
        opening = "mutation { openTicitaire(input: {}) { ... on CommandAccepted { version game { id } } } }"
        opened = self.ask(opening)["openTicitaire"]
        self.game: str = opened["game"]["id"]
        self.version: int = opened["version"]
        self.stock = STOCK

    def post(self, path: str, body: object) -> bytes:
        headers = {"Content-Type": "application/json"}
        if hasattr(self, "token"):
            headers["Authorization"] = f"Bearer {self.token}"
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=120
        ) as answer:
            return bytes(answer.read())

    def ask(self, query: str) -> Any:
        return json.loads(self.post("/graphql", {"query": query}))["data"]

    def request(self) -> bytes:
        """Return the next move as it is sent; the game's version goes on."""
        mutation = "turnTicitaireStock" if self.stock else "recycleTicitaireWaste"
        self.stock = (self.stock or STOCK + 1) - 1
        variables = {"input": {"gameId": self.game, "expectedVersion": self.version}}
        self.version += 1
        body = json.dumps({"query": MOVE % mutation, "variables": variables})
        return (
            f"POST /graphql HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()

    def play(self, moves: int, *, per_second: float | None = None) -> dict[int, float]:
        """Play on; return when each version was acknowledged."""
        acknowledged: dict[int, float] = {}
        first = self.version + 1
        with socket.create_connection(("127.0.0.1", self.port)) as connection, connection.makefile("rb") as answers:
            ahead = AHEAD if per_second is None else 1
            for _ in range(min(ahead, moves)):
                connection.sendall(self.request())
            started = time.perf_counter()
            for number in range(moves):
                length = 0
                while (line := answers.readline().lower().strip()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                answer = answers.read(length)
                acknowledged[first + number] = time.perf_counter()
                if b'"CommandAccepted"' not in answer:
                    raise SystemExit(answer[:500].decode())
                if number + ahead < moves:
                    if per_second is not None:
                        time.sleep(max(0.0, started + (number + 1) / per_second - time.perf_counter()))
                    connection.sendall(self.request())
        return acknowledged

    def resident_kib(self) -> int:
        found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) if found else 0


@contextmanager
def _stage(url: str, folder: Path) -> Iterator[_Stage]:
    key_file, port = folder / "bench.key", _free_port()
    if not key_file.exists():
        key_file.write_text(Keyring([ServerKey.generate()]).write(), encoding="ascii")
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.gallery", url, str(key_file), str(port)])
    try:
        for _ in range(300):
            try:
                stage = _Stage(process, port)
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        else:
            raise SystemExit("the server did not start")
        stage.play(STOCK)
        yield stage
    finally:
        process.terminate()
        process.wait(20)


class _Audience:
    """The program with the spectators."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._hear("ready")

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _hear(self, wanted: str) -> None:
        if (heard := self._line()) != wanted:
            raise SystemExit(f"the spectators say {heard!r}, not {wanted!r}")

    def expect(self, frames: int, *, watching: bool = False) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{'watch' if watching else 'count'} {frames}\n")
        self._process.stdin.flush()
        self._hear("counting")

    def found(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._line() or "{}")
        if not found:
            raise SystemExit("the spectators were not told everything")
        return found


@contextmanager
def _audience(stage: _Stage, number: int, *, plain: bool = False) -> Iterator[_Audience]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.audience",
        str(stage.port),
        "/plain" if plain else "/graphql",
        str(number),
    ]
    if not plain:
        command += [stage.game, str(stage.version - 1)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _Audience(process)
        finally:
            process.terminate()


def _deliveries(url: str, folder: Path) -> Iterator[str]:
    live: list[float] = []
    plain: list[float] = []
    with (
        _stage(url, folder) as stage,
        _audience(stage, SPECTATORS) as spectators,
        _audience(stage, SPECTATORS, plain=True) as sockets,
    ):
        frames, characters = SPECTATORS * EVENTS, 0
        for _ in range(ROUNDS):
            spectators.expect(frames)
            stage.play(EVENTS)
            found = spectators.found()
            live.append(frames / found["seconds"])
            characters = round(found["characters"])
            sockets.expect(frames)
            stage.post("/plain", {"frames": EVENTS, "characters": characters})
            plain.append(frames / sockets.found()["seconds"])
    told, sent = statistics.median(live), statistics.median(plain)
    ratio = told / sent
    yield (
        f"{'' if ratio >= DELIVERY_FLOOR else MISSED}{told:.0f} deliveries/s to {SPECTATORS} spectators of one game"
        f" against {sent:.0f} plain frames/s of {characters} characters: ratio {ratio:.2f} (at least {DELIVERY_FLOOR})"
    )


def _memory(url: str, folder: Path) -> Iterator[str]:
    if not Path("/proc/self/status").exists():
        yield "memory: this system does not tell (Linux does)"
        return
    found: dict[bool, float] = {}
    for plain in (True, False):
        with _stage(url, folder) as stage:
            with _audience(stage, 20, plain=plain):  # whatever is made once is there
                stage.play(5)
            time.sleep(SETTLE_SECONDS)
            before = stage.resident_kib()
            with _audience(stage, SPECTATORS, plain=plain) as audience:
                audience.expect(10 * SPECTATORS)
                if plain:
                    stage.post("/plain", {"frames": 10, "characters": 600})
                else:
                    stage.play(10)
                audience.found()
                time.sleep(SETTLE_SECONDS)
                found[plain] = (stage.resident_kib() - before) / SPECTATORS
    ratio = found[False] / found[True]
    yield (
        f"{'' if ratio <= MEMORY_CEILING else MISSED}{found[False]:.1f} KiB a spectator against {found[True]:.1f} KiB a"
        f" bare connection: ratio {ratio:.2f} (at most {MEMORY_CEILING})"
    )


def _latency(url: str, folder: Path) -> Iterator[str]:
    moves = MOVES_PER_SECOND * SECONDS
    with _stage(url, folder) as stage, _audience(stage, WATCHERS) as audience:
        audience.expect(moves * WATCHERS, watching=True)
        acknowledged = stage.play(moves, per_second=MOVES_PER_SECOND)
        found = audience.found()
    times = sorted((at - acknowledged[seq]) * 1000 for seq, at in found["receipts"])
    median, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    yield (
        f"{WATCHERS} spectators, {MOVES_PER_SECOND} moves/s: received {median:.1f} ms after the acknowledgement"
        f" (median), 99 % within {p99:.1f} ms"
    )


def measure_spectators(url: str, folder: Path) -> Iterator[str]:
    """Yield lines that tell the deliveries per second, the memory and the latency."""
    yield must_be_durable(url)
    yield from _deliveries(url, folder)
    yield from _memory(url, folder)
    yield from _latency(url, folder)
