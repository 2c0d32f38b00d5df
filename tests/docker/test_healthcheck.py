"""The image's health check tells a server that lives from one that does not."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.server import ROOT, environment

SCRIPT = ROOT / "docker" / "healthcheck.py"


@contextmanager
def answering(answer: bytes | None, family: socket.AddressFamily = socket.AF_INET) -> Iterator[tuple[int, list[bytes]]]:
    """A port where one request gets that answer, or None: never one; and what was asked."""
    asked: list[bytes] = []
    loopback = "::1" if family is socket.AF_INET6 else "127.0.0.1"
    with socket.create_server((loopback, 0), family=family) as listening:

        def answer_one() -> None:
            connection, _ = listening.accept()
            with connection:
                asked.append(connection.recv(4096))
                if answer is None:
                    connection.recv(1)  # until it hangs up
                else:
                    connection.sendall(answer)

        thread = Thread(target=answer_one)
        thread.start()
        yield listening.getsockname()[1], asked
        thread.join()


def check(port: int, *, told: bool = True) -> subprocess.CompletedProcess[str]:
    """Run it as the image does: by the port it is told, or the one in the environment."""
    settings = environment() if told else environment(TIC_PORT=str(port))
    command = [sys.executable, "-IS", str(SCRIPT), *([str(port)] if told else [])]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=10)


def test_a_server_that_answers_is_well() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\nok\n") as (port, asked):
        assert check(port).returncode == 0

    assert asked[0].startswith(b"GET /healthz HTTP/1.1\r\n")


def test_it_asks_where_the_server_listens() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\n") as (port, _):
        assert check(port, told=False).returncode == 0


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_it_finds_a_server_that_listens_on_ipv6_alone() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\n", socket.AF_INET6) as (port, _):
        assert check(port).returncode == 0


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 503 Service Unavailable\r\n\r\n200", b"HTTP/1.1 307 See\r\n\r\n", b"", b"\r\n", b"200 " * 100],
    ids=["not available", "elsewhere", "nothing", "an empty line", "something else"],
)
def test_any_other_answer_is_not_well(answer: bytes) -> None:
    with answering(answer) as (port, _):
        done = check(port)

    assert (done.returncode, done.stderr) == (1, f"/healthz at port {port} did not answer 200\n")


def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with answering(None) as (port, _):
        done = check(port)

    assert (done.returncode, done.stderr) == (1, f"no answer from port {port}: timed out\n")


def test_where_nothing_listens_it_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    done = check(port)

    assert done.returncode == 1
    assert done.stderr.startswith(f"no answer from port {port}: ")
