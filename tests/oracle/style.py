"""The styles of tool arguments, written down a second time: how a value is written, and what a text may mean.

Where a style has no labels one text can mean several values: ``5`` is a number and
a string. ``readings`` lists them all, so a text is right if one of them is.
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

BAR = "\uff5c"
FLAT = {
    "qwen_xml": ("<parameter=", ">", "</parameter>"),
    "qwen_padded_xml": ("<parameter=", ">\n", "\n</parameter>"),
    "step_xml": ('<steptml:parameter name="', '">', "</steptml:parameter>"),
    "minimax_xml": ('<parameter name="', '">', "</parameter>"),
    "glm_xml": ("<arg_key>", "</arg_key><arg_value>", "</arg_value>"),
    "longcat_xml": ("<longcat_arg_key>", "</longcat_arg_key><longcat_arg_value>", "</longcat_arg_value>"),
}
"""Before a key, between it and its value, after that; no label tells strings from other values."""
DEEPSEEK = {
    "deepseek_xml": f"{BAR}DSML{BAR}",
    "deepseek_v4_1_xml": f"{BAR}DSML{BAR} ",
    "gigachat_xml": f"{BAR}GCML{BAR}",
}
M3 = "]<]minimax[>["
GEMMA = {"gemma": '<|"|>', "function_gemma": "<escape>"}
"""The marks around strings."""
PYTHON = {"True": True, "False": False, "None": None}
PYTHON_FLAT = ("qwen_xml", "qwen_padded_xml")
"""Where Python's words may stand for a whole value."""
LITERALS = ("qwen_xml",)
"""Where arrays and objects may stand as Python prints them."""
STYLES = (*FLAT, *DEEPSEEK, "kimi_k3_xml", "cohere_xml", "minimax_m3_xml", "pythonic", *GEMMA)

MOST_READINGS = 200


@dataclass(frozen=True)
class Written:
    """A text, and the values that it may mean."""

    text: str
    readings: tuple[Json, ...]


def writings(style: str, value: dict[str, Json], rng: random.Random) -> Iterator[Written]:
    """Ways to write an object: with its arrays and objects under each label that the style has for them."""
    if style in GEMMA:
        yield Written(_gemma(GEMMA[style], value, rng), (value,))
    elif style == "pythonic":
        yield Written(_space_after_commas(_keywords(value), rng), (value,))
    elif style in FLAT:
        yield _flat(style, value, rng)
    elif style == "minimax_m3_xml":
        yield Written("".join(_m3_member(key, each, rng) for key, each in value.items()), tuple(_m3_objects(value)))
    elif style == "cohere_xml":
        for parts in product(*(list(_cohere(key, each, rng)) for key, each in value.items())):
            yield Written("".join(parts), (value,))
    else:
        label = _kimi if style == "kimi_k3_xml" else _deepseek
        yield Written("".join(label(style, key, each, rng) for key, each in value.items()), (value,))


def _space(rng: random.Random) -> str:
    return rng.choice(("", "", "", "\n", " ", "\n  "))


def _json(value: Json, rng: random.Random) -> str:
    return json.dumps(value, ensure_ascii=False, separators=rng.choice(((",", ":"), (", ", ": "))))


def _spaced(value: Json, rng: random.Random) -> str:
    return _space(rng) + _json(value, rng) + _space(rng)


def _flat(style: str, value: dict[str, Json], rng: random.Random) -> Written:
    begin, middle, end = FLAT[style]
    # White space is part of what a text may mean: the same in every order of the keys.
    same = {key: random.Random(f"{key} {json.dumps(each, sort_keys=True)}") for key, each in value.items()}
    python, literals = style in PYTHON_FLAT, style in LITERALS
    texts = {
        key: each if isinstance(each, str) else _flat_value(each, python, literals, same[key])
        for key, each in value.items()
    }
    text = "".join(f"{_space(rng)}{begin}{key}{middle}{raw}{end}" for key, raw in texts.items())
    readings = product(*(_meanings(raw, python) for raw in texts.values()))
    return Written(text, tuple(dict(zip(texts, each, strict=True)) for each in islice(readings, MOST_READINGS)))


def _flat_value(value: Json, python: bool, literals: bool, rng: random.Random) -> str:
    printed = python if value is None or isinstance(value, bool) else literals and isinstance(value, list | dict)
    if printed and rng.random() < 0.5:
        return _space(rng) + str(value) + _space(rng)
    return _spaced(value, rng)


def _meanings(raw: str, python: bool = False) -> list[Json]:
    """The text itself; and what it is as JSON, but a JSON string, or as a word of Python."""
    if python and raw.strip() in PYTHON:
        return [raw, PYTHON[raw.strip()]]
    if python and raw.strip()[:1] in ("[", "{"):
        with suppress(ValueError, SyntaxError):
            return [raw, ast.literal_eval(raw.strip())]
    try:
        parsed = json.loads(raw)
    except json.JSONDecodeError:
        return [raw]
    return [raw] if isinstance(parsed, str) else [raw, parsed]


def _deepseek(style: str, key: str, value: Json, rng: random.Random) -> str:
    mark, is_string = DEEPSEEK[style], isinstance(value, str)
    label = "true" if is_string else "false"
    raw = value if is_string else _spaced(value, rng)
    return f'{_space(rng)}<{mark}parameter name="{key}" string="{label}">{raw}</{mark}parameter>'


def _kimi(_: str, key: str, value: Json, rng: random.Random) -> str:
    match value:
        case str():
            label = "string"
        case bool():
            label = "boolean"
        case None:
            label = "null"
        case list():
            label = "array"
        case dict():
            label = "object"
        case _:
            label = "number"
    raw = value if isinstance(value, str) else _spaced(value, rng)
    return f'{_space(rng)}<|open|>argument key="{key}" type="{label}"<|sep|>{raw}<|close|>argument<|sep|>'


def _cohere(key: str | None, value: Json, rng: random.Random) -> Iterator[str]:
    begin = f"{_space(rng)}<cofl:value " + ("" if key is None else f'name="{key}" ')
    for label, body in _cohere_bodies(value, rng):
        yield f'{begin}type="{label}">{body}</cofl:value>'


def _cohere_bodies(value: Json, rng: random.Random) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "raw", value
        return
    if isinstance(value, (list, dict)):
        named = [(None, each) for each in value] if isinstance(value, list) else list(value.items())
        for parts in islice(product(*(list(_cohere(key, each, rng)) for key, each in named)), 30):
            yield ("list" if isinstance(value, list) else "dict"), "".join(parts)
    yield "json", _spaced(value, rng)


def _m3_member(key: str, value: Json, rng: random.Random) -> str:
    return f"{_space(rng)}{M3}<{key}>{_m3(value, rng)}{M3}</{key}>"


def _m3(value: Json, rng: random.Random) -> str:
    if isinstance(value, list):
        return "".join(_m3_member("item", each, rng) for each in value)
    if isinstance(value, dict):
        return "".join(_m3_member(key, each, rng) for key, each in value.items())
    return value if isinstance(value, str) else _json(value, rng)


def _m3_meanings(value: Json) -> list[Json]:
    """What the text of ``value`` may mean. Without a mark in it, it is a text or JSON; an empty one is also empty.

    A list of one item is written like an object whose only key is ``item``.
    """
    if isinstance(value, list) and value:
        lists = [list(each) for each in islice(product(*(_m3_meanings(item) for item in value)), MOST_READINGS)]
        return [*lists, *({"item": each[0]} for each in lists if len(each) == 1)]
    if isinstance(value, dict) and value:
        objects = list(_m3_objects(value))
        return [*objects, *([each["item"]] for each in objects if [*each] == ["item"])]
    if value in ("", [], {}) and not isinstance(value, (bool, int, float)):
        return ["", [], {}]
    raw = value if isinstance(value, str) else json.dumps(value)
    return [each for each in _meanings(raw) if not isinstance(each, (list, dict))]


def _m3_objects(value: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for each in islice(product(*(_m3_meanings(inner) for inner in value.values())), MOST_READINGS):
        yield dict(zip(value, each, strict=True))


def _gemma(quote: str, value: Json, rng: random.Random) -> str:
    if isinstance(value, str):
        return quote + value + quote
    if isinstance(value, list):
        return "[" + ",".join(_space(rng) + _gemma(quote, each, rng) for each in value) + "]"
    if isinstance(value, dict):
        members = (f"{_space(rng)}{key}:{_gemma(quote, each, rng)}" for key, each in value.items())
        return "{" + ",".join(members) + "}"
    if value is None and quote == GEMMA["gemma"]:
        return rng.choice(("null", "None"))
    return json.dumps(value)


def _keywords(value: dict[str, Json]) -> list[str]:
    return [f"{key}={_python(each)}" for key, each in value.items()]


def _space_after_commas(parts: list[str], rng: random.Random) -> str:
    return rng.choice((", ", ",", ",\n")).join(parts)


def _python(value: Json) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_python, value)) + "]"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_python(each)}" for key, each in value.items())
            + "}"
        )
    return str(value) if value is None or isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
