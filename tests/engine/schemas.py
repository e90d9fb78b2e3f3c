"""Random JSON schemas of the core keywords, and instances near them.

Values come from small pools, so that instances meet bounds, lengths and enums
from both sides. References are only drawn below a property or an item, so every
schema has a verdict for every instance.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

KEYS = ("a", "b", "ab", "é", 'q"', "", "x y")
STRINGS = (
    "",
    "a",
    "b",
    "ab",
    "abc",
    "é",
    "日本",
    "😀",
    "a😀b",
    'q"',
    "\\",
    "\n",
    "\x7f",
    "\u2028",
    "</s>",
    "1",
    "null",
)
NUMBERS = (0, 1, -1, 2, 3, 5, 7, 9, 10, 11, 99, 100, -5, -10, 12345678901234567890, 0.5, -0.5, 1.5, 2.25, -9.75, 99.99)
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


@dataclass(frozen=True)
class Drawn:
    """A schema and the seed that gives it."""

    seed: int
    schema: dict[str, Json]


def draw_schema(seed: int) -> Drawn:
    """A root schema with up to three definitions, which may refer to each other and to the root."""
    rng = random.Random(f"schema {seed}")
    names = ("A", "b/c", "d~e")[: rng.randint(0, 3)]
    schema = _object_schema(rng, 3, names) if rng.random() < 0.5 else _schema(rng, 3, names, guarded=False)
    if names:
        schema["$defs"] = {name: _schema(rng, 2, names, guarded=False) for name in names}
    if rng.random() < 0.2:
        schema |= {"title": "t", "description": "d", "default": 1, "examples": [1]}
    return Drawn(seed, schema)


def _schema(rng: random.Random, depth: int, names: tuple[str, ...], *, guarded: bool) -> dict[str, Json]:
    """``guarded``: whether a reference here lies below a property or an item."""
    schema = _plain_schema(rng, depth, names, guarded=guarded)
    if rng.random() < 0.2:
        schema = _plain_schema(rng, min(depth, 1), names, guarded=guarded) | schema
    return schema


def _plain_schema(rng: random.Random, depth: int, names: tuple[str, ...], *, guarded: bool) -> dict[str, Json]:
    kinds = ["scalar"] * 4 + ["types", "keywords"]
    if depth > 0:
        kinds += ["array"] * 3 + ["object"] * 4 + ["several"] * 4
    if guarded:
        kinds += ["reference"] * 3
    match rng.choice(kinds):
        case "scalar":
            return _scalar(rng)
        case "types":
            types: list[Json] = list(rng.sample(TYPES, rng.randint(1, 3)))
            return {"type": types, **_keywords(rng, depth, names)}
        case "keywords":
            return _keywords(rng, depth, names)
        case "array":
            return {"type": "array", **_items(rng, depth, names)}
        case "object":
            return _object_schema(rng, depth, names)
        case "several":
            parts: list[Json] = [_schema(rng, depth - 1, names, guarded=guarded) for _ in range(rng.randint(1, 3))]
            return {rng.choice(("anyOf", "anyOf", "anyOf", "allOf")): parts}
    return _reference(rng, names)


def _scalar(rng: random.Random) -> dict[str, Json]:
    """A string, a number, or one of a few values."""
    match rng.choice(("string", "number", "const", "enum")):
        case "string":
            return {"type": "string", **_length(rng)}
        case "number":
            return {"type": rng.choice(("integer", "number")), **_range(rng)}
        case "const":
            return {"const": draw_value(rng, 2)}
    return {"enum": [draw_value(rng, 1) for _ in range(rng.randint(1, 4))]}


def _reference(rng: random.Random, names: tuple[str, ...]) -> dict[str, Json]:
    target = rng.choice(("", *("/$defs/" + name.replace("~", "~0").replace("/", "~1") for name in names)))
    return {"$ref": f"#{target}"}


def _keywords(rng: random.Random, depth: int, names: tuple[str, ...]) -> dict[str, Json]:
    """Keywords of several types together, with or without a type that they fit."""
    schema: dict[str, Json] = {}
    if rng.random() < 0.2:
        return schema
    if rng.random() < 0.4:
        schema |= _length(rng)
    if rng.random() < 0.4:
        schema |= _range(rng)
    if depth > 0 and rng.random() < 0.4:
        schema |= _items(rng, depth, names)
    if depth > 0 and rng.random() < 0.4:
        schema |= _members(rng, depth, names)
    return schema


def _length(rng: random.Random) -> dict[str, Json]:
    low, high = rng.choice((0, 0, 1, 2)), rng.choice((0, 1, 2, 3, 1000))
    return _some(rng, {"minLength": low, "maxLength": high})


def _range(rng: random.Random) -> dict[str, Json]:
    one, other = rng.choice(NUMBERS), rng.choice(NUMBERS)
    low, high = min(one, other), max(one, other)
    lower, upper = rng.choice(("minimum", "exclusiveMinimum")), rng.choice(("maximum", "exclusiveMaximum"))
    return _some(rng, {lower: low, upper: high})


def _some(rng: random.Random, keywords: dict[str, Json]) -> dict[str, Json]:
    return {keyword: value for keyword, value in keywords.items() if rng.random() < 0.6}


def _items(rng: random.Random, depth: int, names: tuple[str, ...]) -> dict[str, Json]:
    low, high = rng.choice((0, 0, 1, 2)), rng.choice((0, 1, 2, 3, 100))
    schema = _some(rng, {"minItems": low, "maxItems": high})
    if rng.random() < 0.8:
        schema["items"] = _sub(rng, depth, names)
    if rng.random() < 0.2:
        schema["prefixItems"] = [_sub(rng, depth, names) for _ in range(rng.randint(1, 2))]
    return schema


def _sub(rng: random.Random, depth: int, names: tuple[str, ...]) -> Json:
    if rng.random() < 0.1:
        return rng.random() < 0.6
    return _schema(rng, depth - 1, names, guarded=True)


def _object_schema(rng: random.Random, depth: int, names: tuple[str, ...]) -> dict[str, Json]:
    return {"type": "object", **_members(rng, depth, names)}


def _members(rng: random.Random, depth: int, names: tuple[str, ...]) -> dict[str, Json]:
    keys = rng.sample(KEYS, rng.randint(0, 3))
    schema: dict[str, Json] = {"properties": {key: _sub(rng, depth, names) for key in keys}} if keys else {}
    if rng.random() < 0.6:
        pool = keys if keys and rng.random() < 0.8 else list(KEYS)
        required: list[Json] = list(rng.sample(pool, rng.randint(0, min(2, len(pool)))))
        schema["required"] = required
    if rng.random() < 0.5:
        schema["additionalProperties"] = rng.choice((False, False, True, _sub(rng, depth, names)))
    return schema


def draw_value(rng: random.Random, depth: int) -> Json:
    """Any JSON value, nested at most ``depth`` deep."""
    kinds = ["string", "string", "number", "number", "bool", "null"] + (["array", "object"] if depth > 0 else [])
    match rng.choice(kinds):
        case "string":
            return rng.choice(STRINGS)
        case "number":
            return rng.choice(NUMBERS)
        case "bool":
            return rng.random() < 0.5
        case "null":
            return None
        case "array":
            return [draw_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {key: draw_value(rng, depth - 1) for key in rng.sample(KEYS, rng.randint(0, 3))}


def draw_instance(rng: random.Random, schema: Json, root: dict[str, Json], depth: int = 6) -> Json:
    """A value that often satisfies ``schema``, and often almost does."""
    if not isinstance(schema, dict) or depth == 0 or rng.random() < 0.08:
        return draw_value(rng, 2)
    if "$ref" in schema and rng.random() < 0.9:
        return draw_instance(rng, _resolve(str(schema["$ref"]), root), root, depth - 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        options = schema["enum"]
        assert isinstance(options, list)
        return rng.choice(options)
    if "anyOf" in schema and rng.random() < 0.7:
        branches = schema["anyOf"]
        assert isinstance(branches, list)
        branch = rng.choice(branches)
        merged = {**schema, **branch} if isinstance(branch, dict) else dict(schema)
        return draw_instance(rng, {key: value for key, value in merged.items() if key != "anyOf"}, root, depth - 1)
    if "allOf" in schema and rng.random() < 0.9:
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        parts = schema["allOf"]
        assert isinstance(parts, list)
        for part in parts:
            merged |= part if isinstance(part, dict) else {}
        return draw_instance(rng, merged, root, depth - 1)
    return _instance_of_type(rng, schema, root, depth)


def _instance_of_type(rng: random.Random, schema: dict[str, Json], root: dict[str, Json], depth: int) -> Json:
    types = schema.get("type", rng.choice(TYPES))
    kind = rng.choice(types) if isinstance(types, list) else types
    if kind == "array" or (kind is None and "items" in schema):
        low, high = int(str(schema.get("minItems", 0))), int(str(schema.get("maxItems", 3)))
        count = rng.choice((low, low, min(high, low + 1), min(high, 3), min(high, 4) + 1, max(0, low - 1)))
        prefix = schema.get("prefixItems", [])
        assert isinstance(prefix, list)
        items = [*prefix, *[schema.get("items", True)] * count][:count]
        return [draw_instance(rng, item, root, depth - 1) for item in items]
    if kind == "object":
        return _object_instance(rng, schema, root, depth)
    if kind == "string":
        return rng.choice(STRINGS)
    if kind == "integer":
        return rng.choice([number for number in NUMBERS if isinstance(number, int)])
    if kind == "number":
        return rng.choice(NUMBERS)
    return None if kind == "null" else rng.random() < 0.5


def _object_instance(rng: random.Random, schema: dict[str, Json], root: dict[str, Json], depth: int) -> Json:
    """Declared keys in declared order, then others."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    instance: dict[str, Json] = {}
    for key, value in properties.items():
        if rng.random() < (0.95 if key in required else 0.5):
            instance[key] = draw_instance(rng, value, root, depth - 1)
    for name in required:
        if isinstance(name, str) and name not in properties and rng.random() < 0.9:
            instance[name] = draw_instance(rng, schema.get("additionalProperties", True), root, depth - 1)
    if rng.random() < 0.3:
        key = rng.choice(KEYS)
        if key not in properties:
            instance[key] = draw_instance(rng, schema.get("additionalProperties", True), root, depth - 1)
    return instance


def _resolve(reference: str, root: dict[str, Json]) -> Json:
    node: Json = root
    for step in reference.removeprefix("#").split("/")[1:]:
        assert isinstance(node, dict)
        node = node[step.replace("~1", "/").replace("~0", "~")]
    return node


def key_orders(value: Json, most: int) -> Iterator[Json]:
    """``value`` itself first, then with the keys of its objects in other orders, ``most`` in all."""
    for index, ordered in enumerate(_orders(value)):
        if index == most:
            return
        yield ordered


def _orders(value: Json) -> Iterator[Json]:
    if isinstance(value, list):
        for items in product(*(list(key_orders(item, 30)) for item in value)):
            yield list(items)
    elif isinstance(value, dict):
        for items in product(*(list(key_orders(item, 30)) for item in value.values())):
            members = dict(zip(value, items, strict=True))
            for keys in permutations(members):
                yield {key: members[key] for key in keys}
    else:
        yield value
