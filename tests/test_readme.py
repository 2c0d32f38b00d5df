"""What a newcomer reads and runs first works as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import KEYRING, cloned
from tests.server import ROOT, Server, environment, serving

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def server(
    admin: psycopg.Connection, template: str, postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One server for all of them: each has players and games of its own."""
    key_file = tmp_path_factory.mktemp("keys") / "server.key"
    key_file.write_text(KEYRING.write())
    with (
        cloned(admin, template, postgres) as url,
        serving({"DATABASE_URL": url, "TIC_SERVER_KEY_FILE": str(key_file)}) as server,
    ):
        yield server


def test_the_readmes_move_and_refusal_are_what_the_server_answers(server: Server) -> None:
    (transcript,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shown = re.findall(r"^# (\{.*)$", transcript, re.MULTILINE)
    program = transcript.replace("http://127.0.0.1:8000/graphql", server.url)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == shown
    assert len(shown) == 2


def test_the_example_client_plays_watches_and_reads_a_game(server: Server) -> None:
    command = [sys.executable, str(ROOT / "examples" / "play.py"), server.url, "--moves", "40"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "every hash is right" in done.stdout.splitlines()[-1]


def test_the_players_of_the_example_play_a_whole_game_of_tickle(server: Server) -> None:
    command = [sys.executable, str(ROOT / "examples" / "tickle.py"), server.url, "--players", "3", "--deck", "HALF"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3].startswith("1. seat ")
    assert "GameFinished" in done.stdout


def test_the_players_of_the_example_play_rounds_of_poker(server: Server) -> None:
    command = [sys.executable, str(ROOT / "examples" / "poker.py"), server.url, "--players", "3", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3].startswith("1. seat ")


@pytest.mark.parametrize(
    ("example", "libraries"), [("play.py", {"websockets"}), ("tickle.py", set()), ("poker.py", set())]
)
def test_an_example_client_imports_nothing_of_ours(example: str, libraries: set[str]) -> None:
    source = (ROOT / "examples" / example).read_text(encoding="utf-8")
    imported = {line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert imported - set(sys.stdlib_module_names) == libraries


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_points_to_every_page_of_the_docs() -> None:
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in README] == []
