"""Where the engine's sets, rows, bytes and instructions go on real data: the tables of docs/ENGINE.md.

    python -m tests.bench.engine_anatomy tokenizer.json bfcl.jsonl.gz jsonschemabench.jsonl.gz [--callgrind]

Builds ``engine_anatomy.c`` against the engine's sources (a C compiler is needed), gives it three workloads and
prints what it says as Markdown. With ``--callgrind`` it also runs it under valgrind and prints which part of the
engine the instructions of compiles and first masks are spent in.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import hashlib
import json
import pathlib
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from engine_native.tokenizer_json import read_tokens

NATIVE = pathlib.Path(__file__).parents[2] / "engine_native"
TRIGGER, END = "<function=", "</function>"
JSON_SCHEMA, STRUCTURAL_TAG = 0, 1  # STE_KIND_... of ste.h


@dataclass(frozen=True)
class Workload:
    """Grammars (kind, text), and requests (number of the grammar, text that it accepts)."""

    name: str
    grammars: list[tuple[int, str]]
    requests: list[tuple[int, str]]


@dataclass(frozen=True)
class Call:
    """A tool call of the data."""

    name: str
    arguments: dict[str, Any]

    def text(self) -> str:
        """As the model writes it."""
        return f"{TRIGGER}{self.name}>{json.dumps(self.arguments, ensure_ascii=False)}{END}"


def records(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Of a JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def tag(tools: list[dict[str, Any]]) -> str:
    """Free text with calls of these tools."""
    tags = [
        {
            "type": "tag",
            "begin": f"{TRIGGER}{tool['name']}>",
            "content": {"type": "json_schema", "json_schema": tool["parameters"]},
            "end": END,
        }
        for tool in tools
    ]
    return json.dumps(
        {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [TRIGGER], "tags": tags}}
    )


def tools_and_calls(path: pathlib.Path) -> Iterator[tuple[list[dict[str, Any]], list[Call]]]:
    """Per conversation whose calls are known to be right: its tools and the calls."""
    for record in records(path):
        if not record.get("gold_valid"):
            continue
        tools = [tool["function"] for tool in record["tools"]]
        if all(tool.get("parameters") for tool in tools):
            yield tools, [Call(call["name"], call["arguments"]) for call in record["gold_calls"]]


def conversations(path: pathlib.Path, every: int = 3) -> Workload:
    """Each with its own few tools, as a server sees them."""
    chosen = list(tools_and_calls(path))[::every]
    grammars = [(STRUCTURAL_TAG, tag(tools)) for tools, _ in chosen]
    texts = ["I will call it.\n" + "\n".join(call.text() for call in calls) for _, calls in chosen]
    return Workload(f"{len(chosen)} conversations", grammars, list(enumerate(texts)))


def one_large_set(path: pathlib.Path, size: int = 500) -> Workload:
    """Many tools in one grammar, and the first call of each that is called."""
    tools: dict[str, dict[str, Any]] = {}
    calls: dict[str, Call] = {}
    for offered, called in tools_and_calls(path):
        for tool in offered:
            if len(tools) < size:
                tools.setdefault(tool["name"], tool)
        for call in called:
            if call.name in tools and tools[call.name] in offered:
                calls.setdefault(call.name, call)
    texts = ["I will call it.\n" + call.text() for call in calls.values()]
    return Workload(f"{size} tools at once", [(STRUCTURAL_TAG, tag(list(tools.values())))], [(0, t) for t in texts])


def schemas_alone(path: pathlib.Path, size: int = 500) -> Workload:
    """The schemas of the same tools, each compiled by itself: nothing is put off."""
    large = json.loads(one_large_set(path, size).grammars[0][1])
    contents = [one["content"]["json_schema"] for one in large["format"]["tags"]]
    return Workload(f"{size} schemas alone", [(JSON_SCHEMA, json.dumps(schema)) for schema in contents], [])


def real_schemas(path: pathlib.Path, sample: int = 32) -> Workload:
    """One in ``sample`` of the schemas, with their valid instances."""
    grammars: list[tuple[int, str]] = []
    requests: list[tuple[int, str]] = []
    for record in records(path):
        if int(hashlib.sha256(record["id"].encode()).hexdigest(), 16) % sample:
            continue
        for test in record["tests"]:
            if test["valid"] and test.get("check", "ok") == "ok" and not test.get("order"):
                requests.append((len(grammars), json.dumps(test["data"], ensure_ascii=False)))
        grammars.append((JSON_SCHEMA, json.dumps(record["schema"])))
    return Workload(f"{len(grammars)} real schemas", grammars, requests)


def write(work: Workload, tokenizer_json: pathlib.Path, to: pathlib.Path) -> None:
    """The file that engine_anatomy.c reads."""
    tokenizer = Tokenizer.from_file(str(tokenizer_json))
    tokens, special = read_tokens(json.loads(tokenizer_json.read_bytes()), None)
    special = list(special)
    out = bytearray()

    def number(*values: int) -> None:
        for value in values:
            out.extend(struct.pack("=Q", value))

    def string(value: bytes) -> None:
        number(len(value))
        out.extend(value)

    number(len(tokens), len(tokens))
    for token in tokens:
        string(token)
    number(len(special), *special, 0)
    number(len(work.grammars))
    for kind, text in work.grammars:
        number(kind)
        string(text.encode())
    number(len(work.requests))
    for grammar, text in work.requests:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        number(grammar, len(ids), *ids)
    to.write_bytes(out)


def build(to: pathlib.Path) -> None:
    """The C program, with the engine's own flags and debug symbols."""
    sources = [str(path) for path in sorted((NATIVE / "src").glob("*.c"))]
    include = [f"-I{NATIVE / 'include'}", f"-I{NATIVE / 'src'}"]
    here = str(pathlib.Path(__file__).with_suffix(".c"))
    flags = ["-std=c11", "-O3", "-g", "-D_POSIX_C_SOURCE=200809L"]
    subprocess.run(["cc", *flags, *include, here, *sources, "-lpthread", "-o", str(to)], check=True)


def run(command: list[str]) -> dict[str, list[float]]:
    """What the program says: name -> numbers."""
    said: dict[str, list[float]] = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        name, *values = line.split()
        said.setdefault(name, []).extend(map(float, values))
    return said


def table(title: str, columns: list[str], rows: dict[str, list[str]]) -> None:
    """As Markdown."""
    print(f"\n| {title} | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |")


SERIES = {
    "step_items": "items of a set, per step",
    "step_waiters": "waiters, per step",
    "step_nesting": "sets on the way to bottom, per step",
    "step_allowed": "tokens allowed, per step",
    "set_items": "items, per set kept",
    "set_waiters": "waiters, per set kept",
    "row_list_tokens": "tokens of a row kept as a list",
    "rule_states": "states of a rule",
    "us_warm": "mask, the set has its row, us",
    "us_canonical": "mask, its canonical set has it, us",
    "us_cold_known": "mask, first time, local parts known, us",
    "us_cold_local": "mask, first time, with a local part, us",
    "us_accept": "accept a token, us",
}


def report(work: Workload, said: dict[str, list[float]]) -> None:
    """Distributions, then counts."""
    series = {}
    for name, title in SERIES.items():
        n, mean, p50, p90, p99, most = said[name]
        digits = 1 if name.startswith("us_") or name in ("step_items", "step_waiters") else 0
        cells = [f"{n:,.0f}", f"{mean:,.1f}", *(f"{value:,.{digits}f}" for value in (p50, p90, p99, most))]
        series[title] = cells
    table(work.name, ["n", "mean", "p50", "p90", "p99", "max"], series)
    said = {name: values for name, values in said.items() if name not in SERIES}
    counts = {name: [", ".join(f"{v:,.2f}".rstrip("0").rstrip(".") for v in values)] for name, values in said.items()}
    table("count", ["value"], counts)


PARTS = {  # functions that callers in other files call, so no compiler inlines them
    "tag_front": "read the structural tag",
    "schema_front": "read and lower a schema",
    "schema_expr": "lower a schema to expressions",
    "json_other_string_automaton": "keys that are none of the declared ones",
    "builder_finish": "expressions to automata",
    "fsm_determinise": "determinise",
    "fsm_minimise": "minimise",
    "store_intern": "intern the rules",
    "name_build": "build a rule that was only a text until now",
    "set_step_slow": "steps that no one made before",
    "set_loop": "find out whether a set is a loop",
    "walk_subtree": "walk the trie, steps included",
    "row_intern": "intern rows of bits",
    "row_write": "write the row out",
    "store_alloc": "allocate memory",
}


def instructions(title: str, program: pathlib.Path, mode: str, file: pathlib.Path, inside: str) -> None:
    """Shares of the instructions inside one function: by source file, and below some functions (they overlap)."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "callgrind.out"
        options = [f"--callgrind-out-file={out}", "--collect-atstart=no", f"--toggle-collect={inside}"]
        command = ["valgrind", "--tool=callgrind", *options, str(program), mode, str(file)]
        subprocess.run(command, check=True, capture_output=True)
        by_file, below = costs(out.read_text())
    total = sum(by_file.values())
    print(f"\n{title}: {total / 1e6:,.1f} million instructions inside {inside}")
    table("by file", ["share"], {n: [f"{100 * c / total:.1f} %"] for n, c in by_file.most_common() if c * 100 >= total})
    parts = {f"{PARTS[n]} (`{n}`)": [f"{100 * c / total:.1f} %"] for n, c in below.most_common() if n in PARTS}
    table("below", ["share"], parts)


HEADERS = {"fl": "file", "fi": "file", "fe": "file", "cfi": "", "cfl": "", "fn": "function", "cfn": "callee"}


def costs(text: str) -> tuple[collections.Counter[str], collections.Counter[str]]:
    """Of a callgrind file: own cost by source file, and inclusive cost by function called."""
    names: dict[tuple[bool, str], str] = {}
    place: dict[str, str] = {}
    by_file: collections.Counter[str] = collections.Counter()
    below: collections.Counter[str] = collections.Counter()
    calling = False
    for line in text.splitlines():
        kind, equals, value = line.partition("=")
        if equals and kind in HEADERS:
            number, _, name = value.partition(" ")  # the name comes with the first use of its number only
            key = "fn" in kind, number
            place[HEADERS[kind]] = names.setdefault(key, name)
        elif equals and kind == "calls":
            calling = True
        elif re.match(r"[0-9+*-]", line):
            cost = int(line.split()[1])
            callee, function = (place.get(which, "").split("'")[0] for which in ("callee", "function"))
            if not calling:
                by_file[part_of(place["file"])] += cost
            elif callee != function:
                below[callee] += cost
            calling = False
    return by_file, below


def part_of(file: str) -> str:
    """A source file of the engine by its name; the rest is libc's."""
    return pathlib.Path(file).name if str(NATIVE) in str(pathlib.Path(file).resolve()) else "libc"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tokenizer", type=pathlib.Path)
    parser.add_argument("tools", type=pathlib.Path)
    parser.add_argument("schemas", type=pathlib.Path)
    parser.add_argument("--callgrind", action="store_true")
    args = parser.parse_args()
    large = one_large_set(args.tools)
    with tempfile.TemporaryDirectory() as scratch:
        program, file = pathlib.Path(scratch) / "engine_anatomy", pathlib.Path(scratch) / "workload"
        build(program)
        for work in (conversations(args.tools), large, real_schemas(args.schemas)):
            write(work, args.tokenizer, file)
            report(work, run([str(program), "masks", str(file)]))
        if args.callgrind:
            write(schemas_alone(args.tools), args.tokenizer, file)
            instructions("schemas alone", program, "compile", file, "ste_compile")
            write(large, args.tokenizer, file)
            instructions("one tag", program, "compile", file, "ste_compile")
            instructions("masks", program, "masks", file, "ste_matcher_fill")
            instructions("tokens", program, "masks", file, "ste_matcher_accept_token")


if __name__ == "__main__":
    main()
