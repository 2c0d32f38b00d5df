"""The public audit suite of GraphQL over HTTP, run by node against the real server."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

AUDIT = Path(__file__).parents[1] / "audit"
INSTALLED = Path(__file__).parents[2] / ".tmp" / "graphql-http-audit"


@pytest.fixture(scope="module")
def suite() -> Path:
    """The folder where the suite is installed, at the versions of the lock file; once, then kept."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        _missing("the audit suite of GraphQL over HTTP needs node and npm")
    lock = (AUDIT / "package-lock.json").read_bytes()
    mark = INSTALLED / "node_modules" / "installed-lock.json"
    if not mark.exists() or mark.read_bytes() != lock:
        INSTALLED.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(AUDIT / name, INSTALLED)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        installing = subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True, timeout=120, check=False)
        if installing.returncode != 0:
            _missing(f"npm can't install the audit suite: {installing.stderr.strip()[-200:]}")
        mark.write_bytes(lock)
    return INSTALLED


def _missing(reason: str) -> NoReturn:
    """Where changes are judged the audit must run; elsewhere a machine may lack what it needs."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


async def test_all_61_audits_of_graphql_over_http_are_passed(suite: Path, address: str) -> None:
    audit = await asyncio.create_subprocess_exec(
        "node", str(AUDIT / "run.mjs"), f"http://{address}/graphql", cwd=suite, stdout=subprocess.PIPE
    )
    told, _ = await asyncio.wait_for(audit.communicate(), 60)
    results = json.loads(told)
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == 61
