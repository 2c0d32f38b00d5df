"""Durable moves over HTTP against the same mutation with an empty resolver: one worker, 64 connections on 64 games."""

from __future__ import annotations

import json
import os
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

__all__ = ["CONNECTIONS", "QUERY", "SMALL", "ask", "free_port", "load", "measure_moves", "served", "tables"]

CONNECTIONS = 64
ROUNDS = 14
SECONDS = 1.5
FLOOR = 0.8

SMALL = "version events { seq type hash }"
WHOLE = """
    version hash events { seq type hash } game { version status legalActions { mutation
    ... on TicitaireMove { from to cards { name } } } ... on TicitaireGame {
    columns { buried { ... on Card { name } } run { name } } low { name } high { name }
    stockCount waste { name } tally { moves turns recycles takeBacks } } }
"""
QUERY = "mutation ($input: MoveInput!) { %%s(input: $input) { __typename ... on CommandAccepted { %s } } }"


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask(port: int, query: str, token: str = "") -> Any:
    """Return the data of an operation."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", body, headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["data"]


@contextmanager
def served(url: str, folder: Path, **settings: str) -> Iterator[int]:
    """Run a server with such settings, on keys that are made where the folder has none; yield its port."""
    key_file, port = folder / "bench.key", free_port()
    if not key_file.exists():
        key_file.write_text(Keyring([ServerKey.generate()]).write(), encoding="ascii")
    command = [sys.executable, "-m", "benchmarks.server", url, str(key_file), str(port)]
    process = subprocess.Popen(command, env={**os.environ, **settings})
    try:
        for _ in range(200):
            try:
                ask(port, "{ serverInfo { version } }")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def load(port: int, job: dict[str, Any]) -> dict[str, Any]:
    """Load a server for some seconds; return what ``benchmarks.load`` tells."""
    command = [sys.executable, "-m", "benchmarks.load", str(port), str(SECONDS)]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def tables(port: int, count: int) -> tuple[str, list[str]]:
    """Register a player who opens games of Ticitaire, each at version 3; return the token and the games' ids."""
    registering = 'mutation { registerPlayer(input: {name: "Bench"}) { ... on PlayerRegistered { token } } }'
    token = ask(port, registering)["registerPlayer"]["token"]
    opening = "mutation { openTicitaire(input: {}) { ... on CommandAccepted { game { id } } } }"
    return token, [ask(port, opening, token)["openTicitaire"]["game"]["id"] for _ in range(count)]


def measure_moves(url: str, folder: Path) -> Iterator[str]:
    """Yield lines that tell the rates and their ratio, rounds of both kinds taking turns."""
    yield must_be_durable(url)
    with served(url, folder) as port:
        token, games = tables(port, CONNECTIONS)
        versions = [3] * CONNECTIONS
        for name, selection in (("small answer", SMALL), ("whole table", WHOLE)):
            query = QUERY % " ".join(selection.split())
            rates: dict[str, list[float]] = {"emptyTurn": [], "turnTicitaireStock": []}
            slow: list[tuple[float, float]] = []
            for number in range(ROUNDS):
                # By turns, and each first in every second round: a shared machine is slower for seconds at a time.
                for mutation, found in list(rates.items())[:: 1 if number % 2 else -1]:
                    real = mutation != "emptyTurn"
                    players = [
                        {"mutation": mutation, "query": query, "game": game, "version": version, "recycles": real}
                        | {"step": int(real), "stock": 69 - (version - 3) % 70}
                        for game, version in zip(games, versions, strict=True)
                    ]
                    result = load(port, {"token": token, "players": players})
                    found.append(result["per_second"])
                    if real:
                        versions = result["versions"]
                        slow.append((result["median_ms"], result["p99_ms"]))
            empty, moves = (statistics.median(found) for found in rates.values())
            ratio = statistics.median(real / none for none, real in zip(*rates.values(), strict=True))
            median, p99 = (statistics.median(values) for values in zip(*slow, strict=True))
            ok = ratio >= FLOOR
            yield (
                f"{'' if ok else MISSED}{name}: {moves:.0f} durable moves/s against {empty:.0f} empty mutations/s"
                f" at {CONNECTIONS} connections: ratio {ratio:.2f} (at least {FLOOR}); latency {median:.0f} ms,"
                f" 99 % below {p99:.0f} ms"
            )
