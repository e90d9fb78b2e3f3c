"""Three hundred requests over HTTP against a real server, by the official client, every answer checked.

    python -m tests.vllm.long_run --model DIR [--requests 200] [--concurrency 16]
    python -m tests.vllm.long_run --url http://127.0.0.1:8000

Half of `--requests` force some call (`required`), half a named one, over the tools of
`../shared/data/bfcl.dev.jsonl.gz`; a quarter more each ask for a `json_schema` and for a `structural_tag`
`<answer>{...}</answer>`. Temperature 1. Prints one line per kind: how many ended by themselves, were
truncated, or are wrong. Exit code 1 if any is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import jsonschema
import openai

from tests.conftest import REPOSITORY

DATA = REPOSITORY.parent / "shared" / "data" / "bfcl.dev.jsonl.gz"
KINDS = ("required", "named", "json_schema", "structural_tag")
ROOM = 256


@dataclass(frozen=True)
class Case:
    """One request: what is sent beside model and sampling, and the schemas its answer must satisfy, by name."""

    kind: str
    body: dict[str, Any]
    schemas: dict[str, Any]


def cases(count: int) -> list[Case]:
    """`count` requests for calls and half as many for formats, the same ones every time."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row.get("tools")]
    rows = [row for row in rows if len(json.dumps(row["tools"])) < 3000]
    random.Random(2).shuffle(rows)
    kinds = [KINDS[i % 2] for i in range(count)] + [KINDS[2 + i % 2] for i in range(count // 2)]
    return [case(kind, rows[i % len(rows)]) for i, kind in enumerate(kinds)]


def case(kind: str, row: dict[str, Any]) -> Case:
    functions = [tool["function"] for tool in row["tools"]]
    first = functions[0]
    body: dict[str, Any] = {"messages": row["messages"]}
    if kind in ("required", "named"):
        choice: Any = "required"
        if kind == "named":
            choice = {"type": "function", "function": {"name": first["name"]}}
        allowed = functions if kind == "required" else [first]
        strict = [{**tool, "function": {**tool["function"], "strict": True}} for tool in row["tools"]]
        body.update(tools=strict, tool_choice=choice, parallel_tool_calls=False)
        return Case(kind, body, {function["name"]: function["parameters"] for function in allowed})
    schema = first["parameters"]
    if kind == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    else:
        content = {"type": "json_schema", "json_schema": schema}
        tag = {"type": "tag", "begin": "<answer>", "content": content, "end": "</answer>"}
        body["response_format"] = {"type": "structural_tag", "format": tag}
    return Case(kind, body, {"answer": schema})


def fault(case: Case, choice: Any) -> str | None:
    """What is wrong with a choice that ended by itself; None if nothing is."""
    message = choice.message
    if case.kind in ("required", "named"):
        calls = message.tool_calls or []
        if len(calls) != 1:
            return f"{len(calls)} calls"
        name, text = calls[0].function.name, calls[0].function.arguments
    else:
        name, text = "answer", message.content or ""
    if case.kind == "structural_tag":
        match = re.fullmatch(r"<answer>(.*)</answer>", text, re.DOTALL)
        if match is None:
            return f"no tag around {text[:80]!r}"
        text = match[1]
    if name not in case.schemas:
        return f"unknown name {name!r}"
    try:
        jsonschema.validate(json.loads(text), case.schemas[name])
    except (ValueError, jsonschema.ValidationError) as error:
        return f"{str(error).splitlines()[0]} in {text[:80]!r}"
    return None


async def ask(client: openai.AsyncOpenAI, model: str, case: Case, seed: int) -> tuple[str, str]:
    """(outcome, detail); outcome is finished, truncated, refused (a 400 that names what is unsupported) or wrong."""
    try:
        answer = await client.chat.completions.create(
            model=model, temperature=1.0, max_tokens=ROOM, seed=seed, **case.body
        )
    except openai.BadRequestError as error:
        return "refused", str(error)
    except openai.APIError as error:
        return "wrong", f"{type(error).__name__}: {error}"
    choice = answer.choices[0]
    if choice.finish_reason == "length":
        return "truncated", ""
    wrong = fault(case, choice)
    return ("finished", "") if wrong is None else ("wrong", wrong)


async def run(url: str, wanted: list[Case], concurrency: int) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    refusals: Counter[str] = Counter()
    gate = asyncio.Semaphore(concurrency)
    done = 0
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", timeout=1200, max_retries=0) as client:
        model = (await client.models.list()).data[0].id

        async def one(seed: int, item: Case) -> None:
            nonlocal done
            async with gate:
                outcome, detail = await ask(client, model, item, seed)
            counts[item.kind, outcome] += 1
            done += 1
            if outcome == "wrong":
                print(f"WRONG {item.kind} seed {seed}: {detail}", flush=True)
            elif outcome == "refused":
                refusals[detail.partition("'message': ")[2][:90]] += 1
            if done % 25 == 0:
                print(f"{done} of {len(wanted)}", flush=True)

        await asyncio.gather(*(one(seed, item) for seed, item in enumerate(wanted)))
    for text, count in refusals.most_common(10):
        print(f"refused {count} times: {text}")
    return counts


@contextmanager
def server(model: str) -> Iterator[str]:
    """A server on a free port; its URL."""
    command = [sys.executable, "-m", "server", "serve", "--model", model, "--port", "0"]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            print(line.rstrip(), flush=True)
            if found := re.search(r"ready on (http://\S+?),", line):
                yield found[1]
                return
        raise SystemExit("the server did not start")
    finally:
        process.terminate()
        process.communicate(timeout=60)


def report(url: str, counts: Counter[tuple[str, str]], seconds: float) -> None:
    print(f"\n{'kind':<16}{'finished':>10}{'truncated':>11}{'refused':>9}{'wrong':>7}")
    for kind in KINDS:
        row = [counts[kind, outcome] for outcome in ("finished", "truncated", "refused", "wrong")]
        print(f"{kind:<16}{row[0]:>10}{row[1]:>11}{row[2]:>9}{row[3]:>7}")
    print(f"{sum(counts.values())} requests in {seconds:.0f} s")
    for line in httpx.get(f"{url}/metrics").text.splitlines():
        if re.match(r"strictserve_(mask_(fill_seconds|rows)|engine_compile_seconds)_(sum|count)", line):
            print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--model", metavar="DIR")
    where.add_argument("--url")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=16)
    arguments = parser.parse_args()
    if not DATA.is_file():
        print(f"no tools at {DATA}", file=sys.stderr)
        return 1
    wanted = cases(arguments.requests)

    def measure(url: str) -> int:
        began = time.monotonic()
        counts = asyncio.run(run(url, wanted, arguments.concurrency))
        report(url, counts, time.monotonic() - began)
        return int(any(outcome == "wrong" for _, outcome in counts))

    if arguments.url:
        return measure(arguments.url.rstrip("/"))
    with server(arguments.model) as url:
        return measure(url)


if __name__ == "__main__":
    sys.exit(main())
