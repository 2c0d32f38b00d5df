"""Metrics of the programs themselves, as processes of their own."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.settings import write_keys
from domain.application import Games
from domain.ticitaire.rules import OpenTicitaire
from tests.conftest import KEYRING
from tests.given import PLAYER
from tests.projections.shown import until
from tests.server import TIC, environment


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> dict[str, str]:
    """What a program on this test's database needs, with metrics at any free port."""
    write_keys(tmp_path / "server.key", KEYRING, replace=False)
    return environment(
        DATABASE_URL=database_url, TIC_SERVER_KEY_FILE=str(tmp_path / "server.key"), TIC_METRICS_PORT="0"
    )


@pytest.fixture(params=[("serve", "--port", "0"), ("project", "run")], ids=" ".join)
def monitored_at(request: pytest.FixtureRequest, settings: dict[str, str]) -> Iterator[str]:
    """Where the metrics of a program can be read that runs as long as the test does, and is to end well."""
    words = [TIC, *request.param]
    with subprocess.Popen(words, env=settings, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "metrics can be read" in line)
        found = re.search(r"http://[0-9.:]+", line)
        assert found is not None
        yield found[0]
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(20) == 0


def test_a_server_and_a_projector_tell_how_far_the_read_models_are(monitored_at: str, games: Games) -> None:
    games.open("ticitaire", OpenTicitaire(player=PLAYER), player=PLAYER, key=None)

    def has_followed() -> bool:
        told = httpx.get(f"{monitored_at}/metrics", trust_env=False).text
        position = re.search(r"^tic_log_position (\S+)$", told, re.MULTILINE)
        lag = re.search(r'^tic_follower_lag_events\{follower="lobby"\} (\S+)$', told, re.MULTILINE)
        return position is not None and float(position[1]) > 0 and lag is not None and float(lag[1]) == 0

    until(has_followed)
    assert httpx.get(f"{monitored_at}/readyz", trust_env=False).json()["ready"] is True


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("project", "run")], ids=" ".join)
def test_an_address_for_metrics_that_is_taken_is_said_in_a_sentence(
    words: tuple[str, ...], settings: dict[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = subprocess.run(
            [TIC, *words], env={**settings, "TIC_METRICS_PORT": port}, capture_output=True, text=True, check=False
        )
    assert told.returncode == 1
    assert f"can't listen on 127.0.0.1, port {port}" in " ".join(told.stderr.split())
    assert "set TIC_METRICS_PORT" in told.stderr
    assert "Traceback" not in told.stderr
