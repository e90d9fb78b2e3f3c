"""The stored chat templates, and what they write for an assistant's turn."""

from __future__ import annotations

import copy
import datetime
import functools
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import SandboxedEnvironment

USER = "the user's message"


@functools.cache
def stored_templates(shared: Path) -> dict[str, str]:
    """All of them by `repository:name`."""
    with gzip.open(shared / "data" / "chat_templates.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        stored = [json.loads(line) for line in lines]
    return {each["id"].removeprefix("template:"): each["text"] for each in stored}


@functools.cache
def _environment() -> SandboxedEnvironment:
    """As transformers makes it, but that lists may be appended to, which Kimi's templates do."""
    environment = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC).strftime
    return environment


def _to_json(value: Any, **options: Any) -> str:
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def render(template: str, messages: list[dict[str, Any]], tools: list[Any] | None, **variables: Any) -> str:
    compiled = _environment().from_string(template)
    made = {"bos_token": "<bos>", "eos_token": "<eos>", "add_generation_prompt": False, **variables}
    return compiled.render(messages=copy.deepcopy(messages), tools=tools, **made)


def assistant_turn(
    template: str,
    message: Mapping[str, Any],
    tools: list[Any] | None,
    head: str,
    ends: tuple[str, ...],
    **variables: Any,
) -> str:
    """What the template writes after `head`, the first after the user's message, up to the first of `ends`."""
    text = render(template, [{"role": "user", "content": USER}, dict(message)], tools, **variables)
    _, found, turn = text[text.rindex(USER) :].partition(head)
    assert found, f"no {head!r} in {text[text.rindex(USER) :]!r}"
    for end in ends:
        turn = turn.partition(end)[0]
    return turn
