"""The typed language against tags of others: it refuses what the engine refuses, and the rest keeps its meaning."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine_native import Compiler, EngineError, Matcher, Vocabulary
from structural_tags import model
from structural_tags.model import InvalidTagError, StructuralTag, from_legacy

PAGE = (Path(__file__).parents[2] / "docs" / "STRUCTURAL_TAGS.md").read_text("utf-8")
END = 256
_NODES = [each for each in vars(model).values() if isinstance(each, type) and issubclass(each, model._Format)]
_NODES.remove(model._Format)


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return Compiler(Vocabulary([*(bytes([byte]) for byte in range(256)), b"<end>"], special_token_ids=[END]))


def _facts(shared: Path) -> list[dict[str, Any]]:
    with gzip.open(shared / "data" / "grammar_facts.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        facts = [json.loads(line) for line in lines]
    return [fact for fact in facts if fact["kind"] == "structural_tag"]


def _verdicts(compiler: Compiler, tag: Any, texts: list[str]) -> list[bool] | str:
    """Which of the texts match, or the engine's error."""
    try:
        grammar = compiler.compile_structural_tag(tag)
    except EngineError as error:
        return str(error)
    verdicts = []
    for text in texts:
        matcher = Matcher(grammar)
        verdicts.append(matcher.accept_bytes(text.encode()) and matcher.can_terminate())
    return verdicts


def _read(source: Any) -> StructuralTag:
    is_legacy = isinstance(source, dict) and "triggers" in source
    return from_legacy(source) if is_legacy else StructuralTag.from_json(source)


def test_tags_of_the_facts_are_read_written_and_mean_the_same(shared: Path, compiler: Compiler) -> None:
    read = matched = 0
    for fact in _facts(shared):
        source, texts = fact["src"], [*(fact.get("accept") or ()), *(fact.get("reject") or ())]
        before = _verdicts(compiler, source, texts)
        try:
            tag = _read(source)
        except InvalidTagError:
            assert isinstance(before, str), fact["id"]
            continue
        written = tag.to_json()

        assert StructuralTag.from_json(written) == tag
        assert _verdicts(compiler, written, texts) == before, fact["id"]
        read += 1
        matched += len(before) if isinstance(before, list) else 0
    assert read >= 80
    assert matched >= 100


def test_mistakes_of_the_facts_are_found_where_the_engine_finds_them(shared: Path, compiler: Compiler) -> None:
    """A missing field stands in the place where it should be; the engine names the node that lacks it."""
    compared = 0
    for fact in _facts(shared):
        try:
            _read(fact["src"])
        except InvalidTagError as error:
            place = error.path
        else:
            continue
        with pytest.raises(EngineError) as raised:
            compiler.compile_structural_tag(fact["src"])
        if place and raised.value.path and "triggers" not in fact["src"]:
            assert place.startswith(raised.value.path), fact["id"]
            compared += 1
    assert compared >= 33


def _types(node: Any) -> set[str]:
    inside = [node] if isinstance(node, dict) else []
    values = [*node.values()] if isinstance(node, dict) else node if isinstance(node, list) else []
    return {each["type"] for each in inside if isinstance(each.get("type"), str)}.union(*map(_types, values))


def test_tags_of_the_page_are_read_and_written(compiler: Compiler) -> None:
    read: set[str] = set()
    for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL):
        source = json.loads(block)
        if "triggers" in source and "format" not in source and "type" not in source:
            tag = from_legacy(source)
        elif source.get("type") == "structural_tag":
            tag = StructuralTag.from_json(source) if "format" in source else from_legacy(source)
        else:
            source = source if "format" in source else {"type": "structural_tag", "format": source}
            tag = StructuralTag.from_json(source)

        assert StructuralTag.from_json(tag.to_json()) == tag
        assert _verdicts(compiler, tag.to_json(), []) == _verdicts(compiler, source, [])
        read |= _types(json.loads(tag.to_json()))
    assert {node.model_fields["type"].default for node in _NODES} <= read
