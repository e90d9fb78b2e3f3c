"""Hostile requests beside good ones: the good ones' latency stays near what it is without them.

    python -m tests.load.hostile --requests 1000

Good clients send strict tool calls all the time, to a server process with the scripted engine. First they are alone,
then hostile ones send deep and exploding schemas, patterns and grammars, giant enums, invalid UTF-8, bodies that are
too large, and bodies that stop in the middle. Prints a report as JSON; exit code 1 if a good request failed, a hostile
one was answered with a 5xx, or the server is not well at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.server.bodies import body, tool
from tests.server.processes import serving

_GOOD_CLIENTS = 4
_HOSTILE_CLIENTS = 8
_PATH = "/v1/chat/completions"


def _deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def _format(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


def _guided(**fields: Any) -> dict[str, Any]:
    return {"structured_outputs": fields}


def _exploding(i: int) -> dict[str, Any]:
    keys = [f"k{i}_{k}" for k in range(14)]
    return {"anyOf": [{"properties": {key: {"const": i}}, "required": [key]} for key in keys], "minProperties": 9}


_TOO_LARGE = json.dumps(body(user="x" * (5 << 20))).encode()
HOSTILE: tuple[Callable[[int], bytes], ...] = (
    lambda i: json.dumps(body(**_format(_deep(40 + i % 20)), max_tokens=4)).encode(),
    lambda i: b'{"messages": ' + b"[" * 5000 + str(i).encode(),
    lambda i: json.dumps(body(**_guided(regex=f"(.*a){{{20 + i % 7}}}b.{{0,5000}}(x|xx)*y"), max_tokens=4)).encode(),
    lambda i: json.dumps(body(**_guided(regex=f"(a|b)*a(a|b){{{18 + i % 9}}}"), max_tokens=4)).encode(),
    lambda i: json.dumps(body(**_format({"enum": [f"{i}-{k}" for k in range(5000)]}), max_tokens=4)).encode(),
    lambda i: json.dumps(body(**_format(_exploding(i)), max_tokens=4)).encode(),
    lambda i: json.dumps(
        body(**_guided(grammar=f'root ::= ((x{{1,100}}){{1,100}}){{1,{i + 1}}}\nx ::= "a" | "a" x'), max_tokens=4)
    ).encode(),
    lambda i: b'{"messages": [{"role": "user", "content": "' + bytes([0xC3, 0x28, 0xFF, i % 256]) + b'"}]}',
    lambda i: _TOO_LARGE,
)


@dataclass
class Report:
    """Seconds of good requests, and how hostile ones were answered."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    bad: Counter[str] = field(default_factory=Counter)
    hostile: Counter[str] = field(default_factory=Counter)
    healthy: bool = False

    def summary(self) -> dict[str, Any]:
        def figures(seconds: list[float]) -> dict[str, float]:
            hundredths = statistics.quantiles(seconds, n=100)
            return {"n": len(seconds), **{f"p{k}_ms": round(hundredths[k - 1] * 1e3, 1) for k in (50, 90, 99)}}

        return {
            "alone": figures(self.alone),
            "beside": figures(self.beside),
            "bad": dict(self.bad),
            "hostile": dict(sorted(self.hostile.items())),
            "healthy": self.healthy,
        }

    @property
    def failed(self) -> bool:
        return bool(self.bad) or not self.healthy or any(answer.startswith("5") for answer in self.hostile)


async def _good(
    client: httpx.AsyncClient, slot: int, until: Callable[[], bool], into: list[float], report: Report
) -> None:
    turn = 0
    while not until():
        parameters = {
            "type": "object",
            "properties": {f"n{slot}_{turn % 50}": {"type": "integer"}, "s": {"enum": ["a", "b"]}},
            "required": ["s"],
            "additionalProperties": False,
        }
        request = body(tools=[tool("f", parameters)], tool_choice="required", max_tokens=400)
        began = time.monotonic()
        response = await client.post(_PATH, json=request)
        into.append(time.monotonic() - began)
        if response.status_code != 200 or not response.json()["choices"][0]["message"].get("tool_calls"):
            report.bad[str(response.status_code)] += 1
        turn += 1
        await asyncio.sleep(0.01)


async def _slow_sender(url: str) -> None:
    """A body that stops in the middle; the connection stays open for a while."""
    parts = urlsplit(url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(
        f"POST {_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{{".encode()
    )
    await writer.drain()
    await asyncio.sleep(1)
    writer.close()


async def _attack(client: httpx.AsyncClient, url: str, bodies: list[bytes | None], report: Report) -> None:
    while bodies:
        content = bodies.pop()
        if content is None:
            await _slow_sender(url)
            report.hostile["slow"] += 1
            continue
        try:
            headers = {"content-type": "application/json"}
            response = await client.post(_PATH, content=content, headers=headers)
            report.hostile[str(response.status_code)] += 1
        except httpx.HTTPError as error:  # the server may close a connection whose body is too long
            report.hostile[type(error).__name__] += 1


async def load(url: str, requests: int, alone_seconds: float) -> Report:
    report = Report()
    limits = httpx.Limits(max_connections=None)
    kinds = [*HOSTILE, None]  # made before: what it takes is not the server's
    bodies = [
        None if make is None else make(i) for i, make in zip(range(requests), itertools.cycle(kinds), strict=False)
    ]
    async with (
        httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as good,
        httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as hostile,
    ):
        end = time.monotonic() + alone_seconds
        slots = range(_GOOD_CLIENTS)
        await asyncio.gather(*(_good(good, i, lambda: time.monotonic() > end, report.alone, report) for i in slots))
        attack = asyncio.gather(*(_attack(hostile, url, bodies, report) for _ in range(_HOSTILE_CLIENTS)))
        await asyncio.gather(attack, *(_good(good, i, attack.done, report.beside, report) for i in slots))
        report.healthy = (await good.get("/health")).status_code == 200
    return report


def scripted(requests: int, alone_seconds: float) -> Report:
    with serving({"remembers": False}, "--log-level", "error") as process:
        return asyncio.run(load(process.url, requests, alone_seconds))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--alone-seconds", type=float, default=20)
    chosen = parser.parse_args()
    report = scripted(chosen.requests, chosen.alone_seconds)
    print(json.dumps(report.summary()))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
