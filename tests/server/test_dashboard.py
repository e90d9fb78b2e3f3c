"""Metrics, their page, the dashboard and the files around them agree. The vLLM side: tests/vllm/test_dashboard.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from server.__main__ import _parser
from server.options import options
from tests.server.bodies import JSON_SCHEMA_FORMAT, body
from tests.server.dashboard import DASHBOARD, REPOSITORY, metrics, queries
from tests.server.running import running

pytestmark = pytest.mark.anyio

ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\|", re.MULTILINE)


def documented() -> dict[str, tuple[str, set[str]]]:
    """Family as sampled -> (type, labels) from the page."""
    page = (REPOSITORY / "docs" / "METRICS.md").read_text(encoding="utf-8")
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROW.findall(page)}


def families(text: str) -> dict[str, tuple[str, set[str]]]:
    """The same from a scrape, without the times of creation that the Python client adds."""
    found = {}
    for family in text_string_to_metric_families(text):
        if family.name.endswith("_created"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found[name] = (family.type, labels)
    return found


async def test_page_describes_the_servers_families_and_no_others() -> None:
    async with running() as server:
        await server.chat(**body(response_format=JSON_SCHEMA_FORMAT))
        scraped = families((await server.http.get("/metrics")).text)

    ours = {name: seen for name, seen in scraped.items() if name.startswith("strictserve_")}
    page = {name: told for name, told in documented().items() if "engine" not in told[1]}
    assert page == ours


async def test_dashboard_reads_what_the_server_counts() -> None:
    async with running() as server:
        await server.chat(**body(response_format=JSON_SCHEMA_FORMAT))
        text = (await server.http.get("/metrics")).text
    samples = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}

    read = {name for _, query in queries() for name in metrics(query)}
    page = documented()
    of_the_engine = {name for name, (_, labels) in page.items() if "engine" in labels}
    family = {name: re.sub(r"_(bucket|sum|count)$", "", name) for name in read}
    assert len(queries()) > 30
    for name in read:
        if name.startswith("strictserve_") and family[name] not in of_the_engine:
            assert name in samples
    # Everything that is counted is also shown.
    assert set(page) <= set(family.values())


async def test_page_names_every_other_metric_of_the_dashboard() -> None:
    page = (REPOSITORY / "docs" / "METRICS.md").read_text(encoding="utf-8")
    for _, query in queries():
        for name in metrics(query):
            if not name.startswith("strictserve_"):
                assert f"`{re.sub(r'_bucket$', '', name)}`" in page


async def test_ready_follows_the_server() -> None:
    async with running() as server:
        before = (await server.http.get("/metrics")).text
        server.app.state.server.lifecycle.draining = True
        after = (await server.http.get("/metrics")).text
        ready = await server.http.get("/ready")
        health = await server.http.get("/health")

    assert "strictserve_ready 1.0" in before
    assert "strictserve_ready 0.0" in after
    assert (ready.status_code, health.status_code) == (503, 200)


async def test_answers_are_counted_by_status() -> None:
    async with running(api_key="k") as server:
        await server.http.get("/v1/models")
        await server.http.get("/health")
        text = (await server.http.get("/metrics")).text

    assert 'strictserve_http_responses_total{status="401"} 1.0' in text
    assert 'strictserve_http_responses_total{status="200"} 1.0' in text


def yaml_of(path: str) -> Any:
    return yaml.safe_load((REPOSITORY / path).read_text(encoding="utf-8"))


COMPOSE = yaml_of("docker/compose.yaml")
DOCKERFILES = [REPOSITORY / "docker" / f"Dockerfile.{kind}" for kind in ("cpu", "cuda")]


async def test_compose_mounts_what_exists() -> None:
    for name, service in COMPOSE["services"].items():
        for volume in service.get("volumes", ()):
            source, target, mode = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", volume).split(":")
            path = (REPOSITORY / "docker" / source).resolve()
            assert path.exists() or path == REPOSITORY / "models", (name, source)
            assert target.startswith("/")
            assert mode == "ro"
    assert COMPOSE["services"]["server"]["build"]["context"] == ".."
    assert (REPOSITORY / "docker" / "Dockerfile.cpu").is_file()


async def test_compose_and_prometheus_and_grafana_name_the_same_ports() -> None:
    server = COMPOSE["services"]["server"]
    port = server["environment"]["STRICTSERVE_PORT"]
    (scrape,) = yaml_of("configs/prometheus/prometheus.yml")["scrape_configs"]
    (source,) = yaml_of("configs/grafana/provisioning/datasources/prometheus.yml")["datasources"]
    (provider,) = yaml_of("configs/grafana/provisioning/dashboards/strictserve.yml")["providers"]

    assert server["ports"] == [f"{port}:{port}"]
    assert f"http://127.0.0.1:{port}/ready" in server["healthcheck"]["test"][-1]
    assert scrape["static_configs"] == [{"targets": [f"server:{port}"]}]
    assert scrape.get("metrics_path", "/metrics") == "/metrics"
    assert source["url"] == "http://prometheus:9090"
    assert COMPOSE["services"]["prometheus"]["ports"] == ["9090:9090"]
    dashboards = [v.split(":")[1] for v in COMPOSE["services"]["grafana"]["volumes"] if DASHBOARD.name in v]
    assert [str(Path(path).parent) for path in dashboards] == [provider["options"]["path"]]
    assert COMPOSE["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] in dashboards


async def test_compose_sets_variables_that_exist() -> None:
    known = {option.variable for option in options()}

    assert set(COMPOSE["services"]["server"]["environment"]) <= known


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.suffix[1:])
async def test_dockerfile_copies_what_exists_and_starts_a_command_that_exists(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    copied = [words.split()[:-1] for words in re.findall(r"^COPY (.*)$", text, re.MULTILINE)]
    commands = json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0])
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    known = {option.variable for option in options()}

    assert copied
    for name in [name for names in copied for name in names] + re.findall(r"-r (\S+)", text):
        assert (REPOSITORY / name).exists(), name
    assert entry == ["/opt/strictserve/.venv/bin/strictserve"]
    assert _parser().parse_args(commands).command == "serve"
    assert set(re.findall(r"STRICTSERVE_\w+", text)) <= known
    assert "EXPOSE 8000" in text


async def test_dashboard_has_different_ids_and_one_data_source() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in dashboard["panels"]]

    assert len(set(ids)) == len(ids)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            assert target["datasource"]["uid"] == "${datasource}"
