"""A fixed loop of pure Python: what other times are multiples of where there is no peer to compare with."""

from __future__ import annotations

import time

__all__ = ["calibration_seconds"]

STEPS = 100_000


def _loop() -> int:
    total, seen = 0, dict[int, int]()
    for n in range(STEPS):
        key = n * 7919 % 1009
        total += seen.get(key, 0) ^ n
        seen[key] = total & 0xFFFF
    return total


def calibration_seconds(runs: int = 9) -> float:
    """Return the least time of several runs of the loop, in seconds (about 0.02 on a machine of 2024)."""
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        _loop()
        best = min(best, time.perf_counter() - started)
    return best
