"""The real server as a process of its own."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

TIC = Path(sys.executable).with_name("tic")
ROOT = Path(__file__).parent.parent
STOPS_WITHIN = 10.0
"""Seconds within which a server that is told to stop has ended."""


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    url: str

    @property
    def address(self) -> str:
        """Where the server listens: host and port."""
        return urlsplit(self.url).netloc

    def stop(self) -> int:
        """Ask the server to stop; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def environment(**settings: str) -> dict[str, str]:
    """The environment of a process that takes nothing from the tester's settings."""
    ours = ("TIC_", "DATABASE_URL")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | settings


@contextmanager
def serving(settings: Mapping[str, str], *, program: Sequence[str | Path] = (TIC,)) -> Iterator[Server]:
    """Run `tic serve`, or that of another program, on a free port until the block ends."""
    process = subprocess.Popen(
        [*program, "serve", "--port", "0"],
        cwd=ROOT,
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Server(process, _address(process))
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout:
            process.stdout.close()


def _address(process: subprocess.Popen[str]) -> str:
    stdout, deadline = process.stdout, time.monotonic() + 60
    assert stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline and selector.select(deadline - time.monotonic()):
            line = stdout.readline()
            if found := re.search(r"http://\S+", line):
                return found[0]
            if not line:
                break
    raise AssertionError(f"the server did not start: {process.poll()}")
