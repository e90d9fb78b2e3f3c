"""The queries of the Grafana dashboard, and the metrics that they name."""

from __future__ import annotations

import json
import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DASHBOARD = REPOSITORY / "configs" / "grafana" / "strictserve.json"

_METRIC = re.compile(r"\b(?:strictserve_|vllm:|process_|python_)\w+")


def queries() -> list[tuple[str, str]]:
    """(panel, query) of every target, with Grafana's variables filled in."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [
        (panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*"))
        for panel in panels
        for target in panel.get("targets", ())
    ]


def metrics(query: str) -> set[str]:
    """Names of the samples that a query reads."""
    return set(_METRIC.findall(query))
