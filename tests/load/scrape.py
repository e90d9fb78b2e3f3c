"""A real Prometheus scrapes a running server: each query of the dashboard has data.

    python -m tests.load.scrape --url http://127.0.0.1:8000 --seconds 90

Needs the program `prometheus` (Debian has it). Sends small constrained chats all the while, so that rates have
something to show. Prints for each panel and query how many series it has; exit code 1 if a query fails, or has none
(`--allow-empty` names panels that may be empty).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml

from tests.server.dashboard import REPOSITORY, queries

_PORT = 9099


@contextmanager
def prometheus(target: str) -> Iterator[str]:
    """Its address; the project's configuration with another target and shorter times."""
    program = shutil.which("prometheus")
    assert program is not None, "the program prometheus is not installed"
    settings: dict[str, Any] = yaml.safe_load((REPOSITORY / "configs" / "prometheus" / "prometheus.yml").read_text())
    settings["global"]["scrape_interval"] = "2s"
    settings["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "prometheus.yml"
        config.write_text(yaml.safe_dump(settings))
        address = f"127.0.0.1:{_PORT}"
        process = subprocess.Popen(
            [
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address={address}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(20)


async def traffic(url: str, seconds: float) -> int:
    """Chats that were answered."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    body = {
        "messages": [{"role": "user", "content": "A number?"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        "max_tokens": 24,
    }
    answered = 0
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            answers = await asyncio.gather(*(client.post("/v1/chat/completions", json=body) for _ in range(4)))
            answered += sum(answer.status_code == 200 for answer in answers)
            await client.post("/v1/chat/completions", json={"messages": []})
            await asyncio.sleep(0.5)
    return answered


def evaluate(address: str, query: str) -> tuple[str, int]:
    """(`success`, or what is wrong; series with a number)."""
    said = httpx.get(f"{address}/api/v1/query", params={"query": query}).json()
    if said["status"] != "success":
        return said["error"], 0
    return "success", sum(one["value"][1] != "NaN" for one in said["data"]["result"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--allow-empty", nargs="*", default=[], help="titles of panels")
    chosen = parser.parse_args()
    failed = False
    with prometheus(urlsplit(chosen.url).netloc) as address:
        print(json.dumps({"answered": asyncio.run(traffic(chosen.url, chosen.seconds))}))
        for panel, query in queries():
            status, series = evaluate(address, query)
            failed |= status != "success" or (series == 0 and panel not in chosen.allow_empty)
            print(json.dumps({"panel": panel, "query": query, "status": status, "series": series}))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
