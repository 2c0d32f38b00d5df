"""Ask what serves in this container whether it lives: exit status 0 where its /healthz answers 200.

    python3 -IS healthcheck.py [PORT]

PORT is TIC_PORT if left out, or 8000. It runs every few seconds, so it imports next to nothing, and it needs neither
curl nor a shell.
"""

import os
import socket
import sys

SECONDS = 2.0


def lives(port: int) -> bool:
    """Whether /healthz answers 200 at that port of this machine, within a few seconds. Raises OSError: nothing does."""
    with socket.create_connection((None, port), timeout=SECONDS) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        with connection.makefile("rb") as answer:
            return answer.readline(64).startswith(b"HTTP/1.1 200 ")


def main() -> None:
    """Ask, and tell by the exit status; where it is not well, say in a line why."""
    port = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TIC_PORT") or 8000)
    try:
        well = lives(port)
    except OSError as error:
        sys.exit(f"no answer from port {port}: {error}")
    if not well:
        sys.exit(f"/healthz at port {port} did not answer 200")


if __name__ == "__main__":
    main()
