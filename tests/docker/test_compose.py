"""compose.yaml gives each service what it needs, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.server import ROOT, STOPS_WITHIN

FOLDER: Final = ROOT / "docker"
COMPOSE: Final[dict[str, Any]] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: Final[dict[str, dict[str, Any]]] = COMPOSE["services"]
OURS: Final = ("init", "server", "projector")


def mounts(service: str) -> dict[str, str]:
    """What is mounted into a service, by where."""
    return {entry.split(":")[1]: entry.split(":")[0] for entry in SERVICES[service].get("volumes", [])}


def seconds(duration: str) -> int:
    found = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", duration)
    assert found
    return 60 * int(found[1] or 0) + int(found[2] or 0)


def test_servers_and_the_projector_get_the_app_roles_url_and_only_init_the_owners() -> None:
    urls = {name: SERVICES[name]["environment"]["DATABASE_URL_FILE"] for name in OURS}

    assert urls == {
        "init": "/run/secrets/owner_url",
        "server": "/run/secrets/app_url",
        "projector": "/run/secrets/app_url",
    }


def test_each_service_gets_these_secrets_and_no_others() -> None:
    assert {name: set(service["secrets"]) for name, service in SERVICES.items()} == {
        "postgres": {"postgres_password", "owner_password"},
        "init": {"owner_url", "app_password"},
        "server": {"app_url", "log_key"},
        "projector": {"app_url"},
    }
    assert [name for name in SERVICES if "./secrets/server" in mounts(name).values()] == ["server"]


def test_a_service_reads_only_secrets_that_it_gets() -> None:
    for service in SERVICES.values():
        words = " ".join([*map(str, service["environment"].values()), *service["command"]])
        assert set(re.findall(r"/run/secrets/(\w+)", words)) <= set(service["secrets"])


def test_every_secret_is_a_file_in_the_folder_that_is_kept_out_of_images() -> None:
    assert {Path(secret["file"]).parent.as_posix() for secret in COMPOSE["secrets"].values()} == {"secrets"}
    kept_in = (ROOT / ".dockerignore").read_text().split()
    assert kept_in.index("docker/*") == kept_in.index("!docker") + 1  # nothing of it but what is named after that
    assert not [line for line in kept_in if line.startswith("!docker/") and "secrets" in line]


def test_only_the_server_is_published_and_by_default_to_this_machine_alone() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["server"]
    assert SERVICES["server"]["ports"] == ["${TIC_PUBLISH:-127.0.0.1:8000}:8000"]


def test_the_database_is_on_a_network_that_leads_nowhere_else() -> None:
    assert SERVICES["postgres"]["networks"] == ["database"]
    assert COMPOSE["networks"]["database"]["internal"]


def test_the_copy_of_the_checkpoint_is_on_another_volume_than_the_database() -> None:
    assert mounts("server")["/var/lib/tic"] == "checkpoint"
    assert "checkpoint" not in mounts("postgres").values()


def test_the_database_is_kept_where_postgresql_18_has_it() -> None:
    assert mounts("postgres")["/var/lib/postgresql"] == "database"


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_may_write_nowhere_and_do_nothing_special(name: str) -> None:
    service = SERVICES[name]

    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert "no-new-privileges:true" in service["security_opt"]
    assert "user" not in service, "the image's own account is no root"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded(name: str) -> None:
    service = SERVICES[name]

    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert service["logging"]["options"]["max-size"]


def test_a_server_is_given_more_time_to_stop_than_it_takes() -> None:
    assert seconds(SERVICES["server"]["stop_grace_period"]) >= 2 * STOPS_WITHIN


def test_servers_start_after_the_database_is_set_up_and_the_set_up_after_the_database() -> None:
    assert SERVICES["init"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("server", "projector"):
        assert SERVICES[name]["depends_on"]["init"] == {"condition": "service_completed_successfully"}


def test_what_serves_comes_back_and_the_set_up_does_not() -> None:
    assert {name: service["restart"] for name, service in SERVICES.items()} == {
        "postgres": "unless-stopped",
        "init": "no",
        "server": "unless-stopped",
        "projector": "unless-stopped",
    }


def test_what_is_tried_is_what_compose_says() -> None:
    tried = (FOLDER / "try.sh").read_text()

    assert f'"{SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"]}"' in tried
    assert " ".join(SERVICES["postgres"]["command"]) in tried
    assert f"--cap-add {','.join(SERVICES['postgres']['cap_add']).lower()} " in tried
    for name in ("server", "projector"):
        (run,) = re.findall(rf"^run_tic --detach --name tic-try-{name} (?:.*\\\n)*.*$", tried, re.MULTILINE)
        for variable, value in SERVICES[name]["environment"].items():
            assert "$" in str(value) or f"--env {variable}={value} " in run


def test_prometheus_looks_where_the_metrics_are() -> None:
    scraped = yaml.safe_load((FOLDER / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = scraped["scrape_configs"]
    measured = {
        f"{name}:{service['environment']['TIC_METRICS_PORT']}"
        for name, service in SERVICES.items()
        if "monitoring" in service["networks"]
    }

    assert {target for entry in job["static_configs"] for target in entry["targets"]} == measured
    assert SERVICES["projector"]["healthcheck"]["test"][-1] == str(
        SERVICES["projector"]["environment"]["TIC_METRICS_PORT"]
    )
