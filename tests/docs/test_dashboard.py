"""The dashboard and the alerts ask for metrics that there are, and every metric of ours is looked at by somebody."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from api.signing import CheckpointFile
from domain.notes import SigningKey
from tests.conftest import in_memory
from tests.monitored import monitored

DOCKER: Final = Path(__file__).parents[2] / "docker"
DASHBOARD: Final[dict[str, Any]] = json.loads((DOCKER / "grafana" / "tic.json").read_text(encoding="utf-8"))
RULES: Final[dict[str, Any]] = yaml.safe_load((DOCKER / "prometheus" / "rules.yml").read_text(encoding="utf-8"))
OPERATIONS: Final = (DOCKER.parent / "docs" / "operations.md").read_text(encoding="utf-8")

OF_PROMETHEUS: Final = {"up"}
NOT_LOOKED_AT: Final = {
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
    "python_gc_objects_collected",
    "python_gc_objects_uncollectable",
    "python_info",
}
"""What the library tells besides, which no panel shows."""


def asked_for(expression: str) -> set[str]:
    return set(
        re.findall(r"\b(?:(?:tic|process|python)_[a-z_]+|up)\b(?=[{\[)\s])", re.sub(r"\bby \([^)]*\)", "", expression))
    )


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, str]]:
    return [rule for group in RULES["groups"] for rule in group["rules"]]


def on_panels() -> set[str]:
    return {name for panel in panels() for target in panel["targets"] for name in asked_for(target["expr"])}


@pytest.fixture
async def told(database_url: str, tmp_path: Path) -> dict[str, str]:
    """The metrics of a server on which something has happened, as Prometheus will know them: names and families."""
    signing = SigningKey("tic.example/log", bytes(range(32))), CheckpointFile(tmp_path / "checkpoint")
    async with monitored(database_url, signing) as server, in_memory(server.app) as client:
        await (await client.register()).open_ticitaire()
        await server.holds(bool, "tic_checkpoint_size")
        text = (await server.get("/metrics")).text
    families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    found: dict[str, str] = {}
    for name, kind in families:
        endings = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        found |= {name + ending: name.removesuffix("_total") for ending in endings}
    return found


async def test_every_panel_and_every_alert_asks_for_metrics_that_there_are(told: dict[str, str]) -> None:
    asked = on_panels() | {name for rule in rules() for name in asked_for(rule["expr"])}
    assert asked - told.keys() - OF_PROMETHEUS == set()
    assert len(asked) > 30


async def test_every_metric_is_on_a_panel_or_left_out_on_purpose(told: dict[str, str]) -> None:
    shown = {told[name] for name in on_panels()}
    assert set(told.values()) - shown == NOT_LOOKED_AT


async def test_every_metric_of_ours_is_explained(told: dict[str, str]) -> None:
    ours = {name for name in told.values() if name.startswith("tic_")}
    (section,) = re.findall(r"^## Health and metrics$(.*?)^## ", OPERATIONS, re.MULTILINE | re.DOTALL)
    explained = set(re.findall(r"`(tic_[a-z_]+)(?:\{[a-z, ]*\})?`", section))
    assert {name.removesuffix("_total") for name in explained} == ours


def test_panels_take_their_data_from_the_variable_and_do_not_lie_over_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        taken |= cells
        assert at["x"] + at["w"] <= 24
    sources = [panel["datasource"]["uid"] for panel in panels()]
    sources += [target["datasource"]["uid"] for panel in panels() for target in panel["targets"]]
    assert set(sources) == {"${datasource}"}
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_it_can_be_imported_anywhere() -> None:
    assert DASHBOARD["id"] is None
    assert DASHBOARD["schemaVersion"] >= 41
    assert [variable["name"] for variable in DASHBOARD["templating"]["list"]] == ["datasource", "instance"]


def test_every_alert_says_what_is_the_matter() -> None:
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["annotations"]["summary"].endswith(".")  # type: ignore[index]
        assert rule["labels"]["severity"] in {"critical", "warning"}  # type: ignore[index]
