"""What the fault tests have in common."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.conftest import scratch
from tests.faults.house import House, Tell

__all__ = ["scratch"]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Says what happened, also of a test that passes."""

    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {line}\n")

    return say


@pytest.fixture
async def house(database_url: str, tmp_path: Path, tell: Tell) -> AsyncIterator[House]:
    """Servers on a database of this test's own."""
    async with House(database_url, tmp_path, tell) as house:
        yield house
