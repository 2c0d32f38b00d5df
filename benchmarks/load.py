"""A bounded load on loopback from a process of its own: so many connections, each sending one request after the other.

    python -m benchmarks.load PORT SECONDS < requests.json

Prints the answers per second, and the median and 99th percentile of the latency. Every answer is looked at.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

__all__ = ["Figures"]

MOST_SECONDS = 60


@dataclass(frozen=True)
class Figures:
    per_second: float
    median_ms: float
    p99_ms: float


async def _connection(port: int, token: str, player: dict[str, Any], until: float, times: list[float]) -> int:
    """Send one request after the other until the time is over; return the version that the game has come to."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    version, stock = player["version"], player["stock"]
    while time.perf_counter() < until:
        mutation = player["mutation"] if stock or not player["recycles"] else "recycleTicitaireWaste"
        stock = (stock or 70) - 1
        variables = {"input": {"gameId": player["game"], "expectedVersion": version}}
        body = json.dumps({"query": player["query"] % mutation, "variables": variables}).encode()
        head = (
            f"POST /graphql HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        started = time.perf_counter()
        writer.write(head.encode() + body)
        headers = await reader.readuntil(b"\r\n\r\n")
        length = int(headers.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        answer = await reader.readexactly(length)
        times.append(time.perf_counter() - started)
        if b'"CommandAccepted"' not in answer:
            raise SystemExit(answer[:500].decode())
        version += player["step"]
    writer.close()
    return int(version)


async def _run(port: int, seconds: float, job: dict[str, Any]) -> dict[str, Any]:
    times: list[float] = []
    started = time.perf_counter()
    until = started + min(seconds, MOST_SECONDS)
    versions = await asyncio.gather(*(_connection(port, job["token"], one, until, times) for one in job["players"]))
    took = time.perf_counter() - started
    times.sort()
    return {
        "versions": versions,
        "per_second": len(times) / took,
        "median_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[int(len(times) * 0.99)] * 1000,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_run(int(sys.argv[1]), float(sys.argv[2]), json.load(sys.stdin)))))
