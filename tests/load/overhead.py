"""Processor time of a server's front-end process per streamed token.

    python -m tests.load.overhead --url http://127.0.0.1:8000 --pid PID

For any OpenAI-compatible server whose engine runs in a process of its own, vLLM's included (`python -m
vllm.entrypoints.openai.api_server`): run it on both, one after the other, and compare. Free text of a fixed number of
tokens, so that both do the same; processor time, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

import httpx


def processor_seconds(pid: int) -> float:
    """User and system time of the process, its ended children left out."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _stream(client: httpx.AsyncClient, model: str, tokens: int) -> int:
    """Tokens that the server counted."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Tell me a long story."}],
        "max_tokens": tokens,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    counted = 0
    async with client.stream("POST", "/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if '"usage":{' in line.replace(" ", ""):
                counted = json.loads(line.removeprefix("data: "))["usage"]["completion_tokens"]
    return counted


async def measure(url: str, pid: int, streams: int, tokens: int, rounds: int) -> dict[str, float]:
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=httpx.Limits(max_connections=None)) as client:
        model = (await client.get("/v1/models")).json()["data"][0]["id"]
        await asyncio.gather(*(_stream(client, model, 20) for _ in range(streams)))
        before, counted = processor_seconds(pid), 0
        for _ in range(rounds):
            counted += sum(await asyncio.gather(*(_stream(client, model, tokens) for _ in range(streams))))
        spent = processor_seconds(pid) - before
    return {"tokens": counted, "processor_seconds": round(spent, 2), "us_per_token": round(spent / counted * 1e6, 1)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--pid", type=int, required=True, help="the front end's process")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    print(json.dumps(asyncio.run(measure(chosen.url, chosen.pid, chosen.streams, chosen.tokens, chosen.rounds))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
