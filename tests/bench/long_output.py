"""What a step costs as the output grows: time and memory over 100,000 accepted tokens, as a table and an SVG plot.

    python -m tests.bench.long_output tokenizer.json docs/long_output.svg

One matcher per kind of text; a step is a mask and an accepted token. Times are medians over blocks of tokens, so
that other load on the machine shows as noise and growth shows as growth.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tokenizers import Tokenizer

from engine_native import Compiler, Grammar, Matcher, Vocabulary, allocate_bitmask

TOKENS = 100_000
BLOCK = 2_000
OBJECT = {"id": 1, "name": "a few words, and a number: 42", "tags": ["x", "y"], "ok": True}
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "ok": {"type": "boolean"},
        },
        "required": ["id", "name", "tags", "ok"],
    },
}
SENTENCE = "The quick brown fox jumps over the lazy dog; 3 < 4, and <b>so</b> on.\n"


@dataclass(frozen=True)
class Case:
    """A grammar, and text for it that can go on for ever."""

    name: str
    grammar: Grammar
    begin: str
    again: str


@dataclass(frozen=True)
class Block:
    """BLOCK tokens: the median step in microseconds, and what the engine holds after them in bytes."""

    tokens: int
    step_us: float
    held: int


def cases(compiler: Compiler) -> list[Case]:
    """The three kinds of long output."""
    tool = {
        "type": "tag",
        "begin": "<tool_call>",
        "content": {"type": "json_schema", "json_schema": SCHEMA},
        "end": "</tool_call>",
    }
    tag = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool"], "tags": [tool]}}
    return [
        Case("array of objects", compiler.compile_json_schema(SCHEMA), "[", json.dumps(OBJECT) + ", "),
        Case("free text with a trigger", compiler.compile_structural_tag(tag), "", SENTENCE),
        Case("one string", compiler.compile_json_schema({"type": "string"}), '"', "words and words, "),
    ]


def tokens_of(case: Case, tokenizer: Tokenizer) -> Iterator[int]:
    """Without end."""
    yield from tokenizer.encode(case.begin, add_special_tokens=False).ids
    yield from itertools.cycle(tokenizer.encode(case.again, add_special_tokens=False).ids)


def run(case: Case, tokenizer: Tokenizer, compiler: Compiler) -> list[Block]:
    """One matcher over TOKENS tokens."""
    matcher = Matcher(case.grammar)
    row = allocate_bitmask(1, matcher.vocab_size)[0]
    blocks: list[Block] = []
    steps: list[float] = []
    for count, token in enumerate(itertools.islice(tokens_of(case, tokenizer), TOKENS), start=1):
        began = time.perf_counter()
        matcher.fill_bitmask(row)
        accepted = matcher.accept_token(token)
        steps.append((time.perf_counter() - began) * 1e6)
        if not accepted:
            raise SystemExit(f"{case.name}: token {count} was refused")
        if count % BLOCK == 0:
            blocks.append(Block(count, statistics.median(steps), compiler.stats()["bytes"]))
            steps.clear()
    return blocks


def plot(results: dict[str, list[Block]]) -> str:
    """Two panels: median step over tokens, bytes held over tokens."""
    panels = [
        ("median step, microseconds", lambda b: b.step_us),
        ("held by the engine, KiB", lambda b: b.held / 1024),
    ]
    width, height, left, colours = 430, 250, 60, ("#1b6ca8", "#c0392b", "#2e7d32")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width} {height + 60}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for p, (title, value) in enumerate(panels):
        x0, top = p * width + left, max(value(b) for blocks in results.values() for b in blocks) * 1.1
        plot_w, plot_h = width - left - 20, height - 50
        out.append(f'<text x="{x0}" y="18" font-size="13">{title}</text>')
        out.append(f'<rect x="{x0}" y="30" width="{plot_w}" height="{plot_h}" fill="none" stroke="#999"/>')
        out.append(f'<text x="{x0 - 6}" y="36" text-anchor="end">{top:.3g}</text>')
        out.append(f'<text x="{x0 - 6}" y="{30 + plot_h}" text-anchor="end">0</text>')
        out.append(f'<text x="{x0 + plot_w}" y="{46 + plot_h}" text-anchor="end">{TOKENS:,} tokens</text>')
        for (name, blocks), colour in zip(results.items(), colours, strict=True):
            points = " ".join(
                f"{x0 + plot_w * b.tokens / TOKENS:.1f},{30 + plot_h * (1 - value(b) / top):.1f}" for b in blocks
            )
            out.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5">'
                f"<title>{name}</title></polyline>"
            )
    for i, (name, colour) in enumerate(zip(results, colours, strict=True)):
        out.append(f'<text x="{left + i * 220}" y="{height + 30}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    """Measure, print, plot."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tokenizer", type=pathlib.Path)
    parser.add_argument("svg", type=pathlib.Path)
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(args.tokenizer))
    vocabulary = Vocabulary.from_tokenizer_json(args.tokenizer)
    results: dict[str, list[Block]] = {}
    for name in [case.name for case in cases(Compiler(vocabulary))]:
        compiler = Compiler(vocabulary)
        case = next(case for case in cases(compiler) if case.name == name)
        blocks = results[name] = run(case, tokenizer, compiler)
        first, last = blocks[1], blocks[-1]
        print(
            f"{name}: step {first.step_us:.2f} us at {first.tokens:,} tokens, {last.step_us:.2f} us at {last.tokens:,};"
            f" held {first.held / 1024:,.0f} KiB, {last.held / 1024:,.0f} KiB"
        )
    args.svg.write_text(plot(results), encoding="utf-8")


if __name__ == "__main__":
    main()
