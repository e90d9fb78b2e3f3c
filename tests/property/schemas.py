"""Random JSON schemas over all keywords, and values near what they ask for.

Everything comes from small pools: keys that match each other's patterns, strings
that meet lengths and patterns from both sides, numbers that binary floating
point holds exactly (the judge divides with it). References are only drawn where
a value has been entered, so every schema has a verdict for every value.
"""

from __future__ import annotations

import random
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Schema: TypeAlias = "dict[str, Json] | bool"

KEYS = ("a", "b", "ab", "ba", "c", "é")
STRINGS = ("", "a", "b", "ab", "ba", "abc", "é", "2020-02-29", "2021-02-29", "1.2.3.4", "1.2.3.256", 'q"')
NUMBERS = (0, 1, -1, 2, 3, 4, 6, 7, 10, -5, 0.5, -0.5, 1.5, 2.25, 100)
PATTERNS = ("^a", "b$", "^[ab]*$", "b", "^.?$", "^$", "[^a]", "^(ab|ba)+$", "c|é")
FORMATS = ("date", "ipv4")
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
SCALARS: tuple[Json, ...] = (None, True, False, 0, 1, 1.5, "a", "ab", "")


def draw_schema(seed: int) -> dict[str, Json]:
    """A root schema with up to two definitions, which may refer to each other and to the root."""
    rng = random.Random(f"keywords {seed}")
    names = ("A", "B")[: rng.randint(0, 2)]
    schema = _draw(rng, 2, names, entered=False)
    if names:
        schema["$defs"] = {name: _draw(rng, 1, names, entered=False) for name in names}
    return schema


def _sub(rng: random.Random, depth: int, names: tuple[str, ...], *, entered: bool) -> Schema:
    if depth <= 0 or rng.random() < 0.1:
        return rng.choice((True, False, _leaf(rng), _leaf(rng), _leaf(rng)))
    return _draw(rng, depth - 1, names, entered=entered)


def _leaf(rng: random.Random) -> dict[str, Json]:
    leaf = rng.choice((_string, _number, _listed, _typed))(rng)
    return leaf if rng.random() < 0.7 else leaf | rng.choice((_string, _number, _typed))(rng)


def _typed(rng: random.Random) -> dict[str, Json]:
    names: list[Json] = list(rng.sample(TYPES, rng.randint(1, 3)))
    return {"type": names if rng.random() < 0.4 else names[0]}


def _listed(rng: random.Random) -> dict[str, Json]:
    pool: tuple[Json, ...] = (*SCALARS, [], [1], ["a", 1], {}, {"a": 1}, {"a": "a", "b": 1})
    if rng.random() < 0.5:
        return {"const": rng.choice(pool)}
    return {"enum": list(rng.sample(pool, rng.randint(1, 4)))}


def _some(rng: random.Random, keywords: dict[str, Json]) -> dict[str, Json]:
    return {keyword: value for keyword, value in keywords.items() if rng.random() < 0.4}


def _string(rng: random.Random) -> dict[str, Json]:
    keywords: dict[str, Json] = {"minLength": rng.randint(0, 3), "maxLength": rng.randint(0, 4)}
    keywords["pattern"] = rng.choice(PATTERNS)
    if rng.random() < 0.2:
        keywords["format"] = rng.choice(FORMATS)
    return ({"type": "string"} if rng.random() < 0.6 else {}) | _some(rng, keywords)


def _number(rng: random.Random) -> dict[str, Json]:
    keywords: dict[str, Json] = {
        rng.choice(("minimum", "exclusiveMinimum")): rng.choice(NUMBERS),
        rng.choice(("maximum", "exclusiveMaximum")): rng.choice(NUMBERS),
        "multipleOf": rng.choice((1, 2, 3, 0.5, 0.25, 10, 1.5)),
    }
    return ({"type": rng.choice(("integer", "number"))} if rng.random() < 0.6 else {}) | _some(rng, keywords)


def _array(rng: random.Random, depth: int, names: tuple[str, ...]) -> dict[str, Json]:
    def sub() -> Schema:
        return _sub(rng, depth, names, entered=True)

    keywords: dict[str, Json] = {
        "items": sub(),
        "prefixItems": [sub() for _ in range(rng.randint(1, 2))],
        "minItems": rng.randint(0, 3),
        "maxItems": rng.randint(0, 4),
        "contains": sub(),
    }
    schema = _some(rng, keywords)
    if "contains" in schema:
        schema |= _some(rng, {"minContains": rng.randint(0, 2), "maxContains": rng.randint(0, 3)})
    if rng.random() < 0.1:
        schema["unevaluatedItems"] = sub()
    if rng.random() < 0.15:
        schema["uniqueItems"] = True
        if rng.random() < 0.4:
            schema["items"] = {"enum": list(rng.sample(SCALARS, 3))}
    return ({"type": "array"} if rng.random() < 0.7 else {}) | schema


def _object(rng: random.Random, depth: int, names: tuple[str, ...]) -> dict[str, Json]:
    def sub() -> Schema:
        return _sub(rng, depth, names, entered=True)

    def keys(low: int, high: int) -> list[Json]:
        return list(rng.sample(KEYS, rng.randint(low, high)))

    keywords: dict[str, Json] = {
        "properties": {str(key): sub() for key in keys(1, 3)},
        "required": keys(1, 2),
        "additionalProperties": rng.choice((False, sub())),
    }
    rare: dict[str, Json] = {
        "patternProperties": {pattern: sub() for pattern in rng.sample(PATTERNS, rng.randint(1, 2))},
        "propertyNames": rng.choice((_string(rng), _listed(rng), True)),
        "minProperties": rng.randint(0, 3),
        "maxProperties": rng.randint(0, 3),
        "dependentRequired": {str(key): keys(1, 2) for key in keys(1, 2)},
        "dependentSchemas": {str(key): _sub(rng, depth, names, entered=False) for key in keys(1, 1)},
        "unevaluatedProperties": rng.choice((False, sub())),
    }
    chosen = {keyword: value for keyword, value in rare.items() if rng.random() < 0.15}
    return ({"type": "object"} if rng.random() < 0.7 else {}) | _some(rng, keywords) | chosen


def _combined(rng: random.Random, depth: int, names: tuple[str, ...], *, entered: bool) -> dict[str, Json]:
    def sub() -> Schema:
        return _sub(rng, depth, names, entered=entered)

    match rng.choice(("anyOf", "allOf", "oneOf", "oneOf", "not", "not", "if")):
        case "not":
            return {"not": sub()}
        case "if":
            return {"if": sub()} | _some(rng, {"then": sub(), "else": sub()})
        case keyword:
            return {keyword: [sub() for _ in range(rng.randint(1, 3))]}


def _draw(rng: random.Random, depth: int, names: tuple[str, ...], *, entered: bool) -> dict[str, Json]:
    if entered and names and rng.random() < 0.15:
        return {"$ref": f"#/$defs/{rng.choice(names)}"}
    match rng.choice(("leaf", "array", "object", "object", "combined", "combined")):
        case "leaf":
            schema = _leaf(rng)
        case "array":
            schema = _array(rng, depth, names)
        case "object":
            schema = _object(rng, depth, names)
        case _:
            schema = _combined(rng, depth, names, entered=entered)
    if rng.random() < 0.35:
        schema = _combined(rng, depth, names, entered=entered) | schema
    return schema


def draw_value(rng: random.Random, depth: int = 2) -> Json:
    """Any value over the pools."""
    kind = rng.choice(("string", "string", "number", "number", "scalar", "array", "object", "object"))
    if depth == 0 or kind == "scalar":
        return rng.choice(SCALARS)
    if kind == "string":
        return rng.choice(STRINGS)
    if kind == "number":
        return rng.choice(NUMBERS)
    if kind == "array":
        return [draw_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {key: draw_value(rng, depth - 1) for key in rng.sample(KEYS, rng.randint(0, 3))}


def mutate(rng: random.Random, value: Json) -> Json:
    """The value with one thing changed."""
    if isinstance(value, list) and value:
        changed = list(value)
        match rng.choice(("drop", "add", "inner")):
            case "drop":
                del changed[rng.randrange(len(changed))]
            case "add":
                changed.insert(rng.randrange(len(changed) + 1), draw_value(rng, 1))
            case _:
                place = rng.randrange(len(changed))
                changed[place] = mutate(rng, changed[place])
        return changed
    if isinstance(value, dict) and value:
        members = dict(value)
        key = rng.choice(list(members))
        match rng.choice(("drop", "add", "inner")):
            case "drop":
                del members[key]
            case "add":
                members[rng.choice(KEYS)] = draw_value(rng, 1)
            case _:
                members[key] = mutate(rng, members[key])
        return members
    return draw_value(rng, 1)
