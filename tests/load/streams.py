"""Many streams at once against a server process: none lost, mixed or malformed, and nothing leaks.

    python -m tests.load.streams --streams 500 --seconds 300
    python -m tests.load.streams --url http://127.0.0.1:8000 --pid PID --streams 32

Each stream has a text of its own, the only one that its constraint allows, so a piece of another stream's text would
show. Every third client goes away in the middle. The server's memory and file descriptors are read once a second.
Without `--url` a server process with the scripted engine is started. Prints a report as JSON; exit code 1 if a stream
was not what it had to be, or something is left running.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.server.processes import serving


@dataclass
class Report:
    """`faults` says what was wrong with streams; `rss_kib` and `descriptors` are samples, one a second."""

    whole: int = 0
    left: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    rss_kib: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    running_at_end: float = -1

    def summary(self) -> dict[str, Any]:
        """Memory in MiB: at a fifth of the time, and at the end."""
        early = len(self.rss_kib) // 5
        return {
            "whole": self.whole,
            "left": self.left,
            "faults": dict(self.faults),
            "chunks": self.chunks,
            "rss_mib": [round(self.rss_kib[i] / 1024, 1) for i in (early, -1)] if self.rss_kib else [],
            "descriptors": [self.descriptors[early], max(self.descriptors), self.descriptors[-1]]
            if self.descriptors
            else [],
            "running_at_end": self.running_at_end,
        }


def text_of(slot: int) -> str:
    return f"stream {slot}: " + f"<{slot * 7919 % 1000003}>" * 4


def fault_of(lines: list[str], text: str) -> str | None:
    """What is wrong with a stream's lines; None if it is a whole stream of `text`."""
    events = [line for line in lines if line]
    if not events or events[-1] != "data: [DONE]":
        return "no [DONE]"
    said, ids, finish, usage = "", set(), None, None
    for line in events[:-1]:
        if not line.startswith("data: "):
            return "a line that is no event"
        chunk = json.loads(line.removeprefix("data: "))
        if "error" in chunk:
            return f"error: {chunk['error']['message']}"
        ids.add(chunk["id"])
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            said += choice["delta"].get("content") or ""
            finish = choice["finish_reason"] or finish
    if said != text:
        return "another text"
    return None if (len(ids), finish) == (1, "stop") and usage is not None else "id, finish reason or usage"


async def _stream(client: httpx.AsyncClient, slot: int, turn: int, report: Report) -> None:
    text = text_of(slot)
    body = {
        "messages": [{"role": "user", "content": f"{slot}"}],
        "structured_outputs": {"choice": [text]},
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 200,
    }
    lines: list[str] = []
    leaves_after = 10 if (slot + turn) % 3 == 0 else None
    async with client.stream("POST", "/v1/chat/completions", json=body) as response:
        if response.status_code != 200:
            report.faults[f"status {response.status_code}"] += 1
            return
        async for line in response.aiter_lines():
            lines.append(line)
            report.chunks += bool(line)
            if leaves_after is not None and len(lines) >= leaves_after:
                report.left += 1
                return
    fault = fault_of(lines, text)
    report.whole += fault is None
    if fault is not None:
        report.faults[fault] += 1


async def _slot(client: httpx.AsyncClient, slot: int, until: float, report: Report) -> None:
    turn = 0
    while time.monotonic() < until:
        try:
            await _stream(client, slot, turn, report)
        except httpx.HTTPError as error:
            report.faults[repr(error)] += 1
        turn += 1


async def _sample(pid: int, report: Report) -> None:
    process = Path("/proc") / str(pid)
    while True:
        resident = re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text())
        report.rss_kib.append(int(resident.group(1)) if resident else 0)
        report.descriptors.append(len(list((process / "fd").iterdir())))
        await asyncio.sleep(1)


async def _running(client: httpx.AsyncClient) -> float:
    """Requests that the engine still works on, once they are none or two seconds have passed."""
    for _ in range(20):
        metrics = (await client.get("/metrics")).text
        found = re.search(r"^strictserve_requests_running (\S+)$", metrics, re.MULTILINE)
        now = float(found.group(1)) if found else -1
        if now == 0:
            break
        await asyncio.sleep(0.1)
    return now


async def load(url: str, pid: int, streams: int, seconds: float) -> Report:
    report = Report()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=streams)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        sampling = asyncio.create_task(_sample(pid, report))
        until = time.monotonic() + seconds
        await asyncio.gather(*(_slot(client, slot, until, report) for slot in range(streams)))
        report.running_at_end = await _running(client)
        sampling.cancel()
    return report


def scripted(streams: int, seconds: float) -> Report:
    """The load on a server process of its own, with the scripted engine."""
    with serving({"step_seconds": 0.02, "remembers": False}, "--log-level", "warning") as process:
        return asyncio.run(load(process.url, process.popen.pid, streams, seconds))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--url")
    parser.add_argument("--pid", type=int, help="the server's process, with --url")
    chosen = parser.parse_args()
    if chosen.url is None:
        report = scripted(chosen.streams, chosen.seconds)
    else:
        report = asyncio.run(load(chosen.url, chosen.pid, chosen.streams, chosen.seconds))
    print(json.dumps(report.summary()))
    return 1 if report.faults or report.running_at_end != 0 or report.whole == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
