"""`strictserve compile FILE`: what a schema or a structural tag compiles to, or where it is wrong."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from engine_native import Compiler, EngineError, Grammar, Vocabulary
from server.engines.scripted import byte_vocabulary


def compile_file(path: Path, tokenizer: Path | None) -> tuple[int, list[str]]:
    """Exit code and the lines to print: 0 with notes, sizes and times, or 1 with the error's place.

    Without a tokenizer the vocabulary is the 256 bytes and an end token, enough to check a grammar.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return 1, [f"{path}:{error.lineno}:{error.colno}: {error.msg}"]
    except (OSError, ValueError, RecursionError) as error:
        return 1, [f"{path}: {error}"]
    try:
        compiler = Compiler(_vocabulary(tokenizer))
        began = time.perf_counter()
        grammar = _compile(compiler, document, text)
        seconds = time.perf_counter() - began
    except EngineError as error:
        return 1, [_error_line(path, error)]
    kind = "structural tag" if _is_structural_tag(document) else "JSON schema"
    return 0, _report(path, kind, grammar, seconds, compiler.stats())


def _vocabulary(tokenizer: Path | None) -> Vocabulary:
    return byte_vocabulary() if tokenizer is None else Vocabulary.from_tokenizer_json(tokenizer)


def _is_structural_tag(document: Any) -> bool:
    """A structural tag says so; older ones can be told by their two keys."""
    if not isinstance(document, dict):
        return False
    return document.get("type") == "structural_tag" or (
        "type" not in document
        and ("format" in document or "structures" in document)
        and "properties" not in document
        and isinstance(document.get("format", {}), dict)
    )


def _compile(compiler: Compiler, document: Any, text: str) -> Grammar:
    if _is_structural_tag(document):
        return compiler.compile_structural_tag(text)
    return compiler.compile_json_schema(text)


def _error_line(path: Path, error: EngineError) -> str:
    place = error.path or "the root"
    offset = f", byte {error.offset}" if error.offset else ""
    return f"{path}: at {place}{offset}: {error.message} ({type(error).__name__})"


def _report(path: Path, kind: str, grammar: Grammar, seconds: float, stats: dict[str, Any]) -> list[str]:
    lines = [
        f"{path}: {kind}",
        f"compile time: {seconds * 1e3:.3f} ms",
        f"grammar size: {grammar.memory_bytes} bytes",
    ]
    lines.extend(f"note: {note}" for note in grammar.notes)
    for level, counts in stats["levels"].items():
        lines.append(f"cache {level}: {counts['hits']} hits, {counts['misses']} misses")
    lines.append(f"compiler holds: {stats['bytes']} bytes")
    return lines
