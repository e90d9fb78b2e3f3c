"""What a tool's schema says about the text of one argument: a string as it stands, JSON, or either.

Styles without labels write the string 3 and the number 3 alike. The schema decides, as it decided when the text was
written: where it allows no strings the text is JSON, where it allows nothing else the text is a string. Where it
allows both, JSON that the schema can mean is read as such, and all else as a string.

The types that a schema allows are found from its keywords; what cannot be told is taken to be allowed. Only
references into the same schema are followed, up to a depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from structural_tags.output.arguments.base import PYTHON_WORDS
from structural_tags.output.arguments.fits import fits, resolved, type_of
from structural_tags.output.arguments.keywords import KeywordsReader

Schema = Mapping[str, Any] | bool
"""A JSON Schema; only `true`, `false` and objects are schemas, anything else is taken for `true`."""

TYPES = frozenset(("string", "number", "boolean", "null", "array", "object"))
_DEEPEST = 32
_OUTSIDE = re.compile(
    r"""[\[\]{}]|'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)""",
    re.DOTALL,
)
"""Brackets, and strings as a whole, up to the end where nothing closes them."""
_MAYBE = "a part that holds under a condition"
"""Not a keyword: marks a subschema of which only the whole object tells whether it must be satisfied."""


class Kind(Enum):
    STRING = "string"
    JSON = "json"
    EITHER = "either"


@dataclass(frozen=True)
class Reading:
    """How to read one argument: one that is `schema`, in a tool's `root`.

    `listed`: some values of it are listed, and white space may stand around them. `python`: templates of the family
    print Python's words, so that they count like JSON's; else they are read only where no string can stand.
    `literals`: and arrays and objects.
    """

    kind: Kind
    schema: Schema = True
    wished: Schema = True
    """... and what it may have to satisfy as well."""
    root: Schema = True
    listed: bool = False
    python: bool = False
    literals: bool = False

    @property
    def whole(self) -> bool:
        """The text must be read as a whole before anything can be said."""
        return self.kind is Kind.EITHER or (self.kind is Kind.STRING and self.listed)

    def types(self) -> frozenset[str]:
        """The JSON types that the value may have."""
        return _types(self.schema, self.root, 0)

    def can_be_text(self, raw: str) -> bool:
        """Whether the string `raw` surely satisfies the schema."""
        return fits(raw, self.schema, self.root) is True

    def value(self, raw: str) -> str:
        """The JSON text that `raw` means: its first meaning that satisfies the schema, or else that may do so."""
        meanings = list(self._meanings(raw))
        for schema, wanted in ((self.wished, True), (self.wished, None), (self.schema, True), (self.schema, None)):
            for value, text in meanings:
                if fits(value, schema, self.root) is wanted:
                    return text
        return meanings[0][1]

    def _meanings(self, raw: str) -> Iterator[tuple[Any, str]]:
        """Values and their JSON texts, the likeliest first."""
        if self.kind is not Kind.STRING:
            for value in _parsed(raw):
                yield value, raw.strip()
        word = PYTHON_WORDS.get(raw.strip()) if self.kind is Kind.JSON or self.python else None
        if word is not None and self.kind is not Kind.STRING:
            yield json.loads(word), word
        if self.literals and self.kind is not Kind.STRING and not _parsed(raw):
            yield from _parsed_literal(raw)
        if self.kind is not Kind.JSON or not _parsed(raw):
            for text in dict.fromkeys((raw, raw.strip()) if self.listed else (raw,)):
                yield text, json.dumps(text, ensure_ascii=False)


def reading_of(
    schema: Schema,
    key: str,
    *,
    label: Kind | None = None,
    root: Schema | None = None,
    python: bool = False,
    literals: bool = False,
) -> Reading:
    """The reading of member `key` of an object that is `schema`, a part of a tool's `root` (None: the root itself).

    A label of the style decides between string and JSON.
    """
    root = schema if root is None else root
    parts = list(_parts(schema, key, root, 0))
    certain = [part for part in parts if not _is_maybe(part)]
    wished = [*certain, *(one for part in parts if _is_maybe(part) for one in part[_MAYBE])]
    listed = any(_is_listed(part, root, 0) for part in parts)
    types = _types_of_property(schema, key, root, 0)
    return Reading(label or _kind(types), {"allOf": certain}, {"allOf": wished}, root, listed, python, literals)


def reading_of_item(array: Reading, index: int) -> Reading:
    """The reading of the item `index` of an array."""
    schema: Schema = {"allOf": list(_item_parts(array.schema, index, array.root, 0))}
    return Reading(_kind(_types(schema, array.root, 0)), schema, schema, array.root, _is_listed(schema, array.root, 0))


def _kind(types: frozenset[str]) -> Kind:
    return Kind.STRING if types == {"string"} else Kind.EITHER if "string" in types else Kind.JSON


def _is_maybe(part: Any) -> bool:
    return isinstance(part, Mapping) and _MAYBE in part


def _parsed(raw: str) -> list[Any]:
    """The value that `raw` is as JSON, but a JSON string; or nothing."""
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return []
    return [] if isinstance(value, str) else [value]


def _is_one_container(raw: str) -> bool:
    """Whether the bracket that the text begins with is closed by its last character; strings are Python's or JSON's."""
    depth = 0
    for found in _OUTSIDE.finditer(raw):
        sign = found.group()
        depth += (sign in "[{") - (sign in "]}")
        if depth == 0:
            return found.end() == len(raw) and raw[0] in "[{"
    return False


def _parsed_literal(raw: str) -> list[tuple[Any, str]]:
    """The array or object that `raw` is as Python prints it, and its JSON text; or nothing."""
    raw = raw.strip()
    written, rest = KeywordsReader(")").read(f"x={raw})") if _is_one_container(raw) else ("", None)
    found = _parsed(written) if rest == ")" else []
    try:
        return [(each["x"], json.dumps(each["x"], ensure_ascii=False)) for each in found]
    except RecursionError:
        return []


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    parts = schema.get(keyword)
    return parts if isinstance(parts, list) else []


def _target(schema: Mapping[str, Any], root: Schema) -> Any:
    found = resolved(schema, root)
    return True if found is None else found


def _parts(schema: Any, key: str, root: Schema, depth: int) -> Iterator[Any]:
    """Subschemas that the value of `key` must satisfy in every object of the schema."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    yield from _property(schema, key)
    if "$ref" in schema:
        yield from _parts(_target(schema, root), key, root, depth + 1)
    for part in _list(schema, "allOf"):
        yield from _parts(part, key, root, depth + 1)
    for keyword in ("then", "else"):
        branch = list(_parts(schema.get(keyword), key, root, depth + 1))
        if branch:
            yield {_MAYBE: branch}
    for keyword in ("anyOf", "oneOf"):
        branches = [list(_parts(part, key, root, depth + 1)) for part in _list(schema, keyword)]
        if branches and all(branches):
            sure = [[part for part in parts if not _is_maybe(part)] for parts in branches]
            yield {"anyOf": [{"allOf": parts} for parts in sure]}


def _item_parts(schema: Any, index: int, root: Schema, depth: int) -> Iterator[Any]:
    """Subschemas that the item must satisfy in every array of the schema."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    yield from _item(schema, index)
    if "$ref" in schema:
        yield from _item_parts(_target(schema, root), index, root, depth + 1)
    for part in _list(schema, "allOf"):
        yield from _item_parts(part, index, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        arrays = [part for part in _list(schema, keyword) if "array" in _types(part, root, depth + 1)]
        branches = [list(_item_parts(part, index, root, depth + 1)) for part in arrays]
        if branches and all(branches):
            yield {"anyOf": [{"allOf": parts} for parts in branches]}


def _item(schema: Mapping[str, Any], index: int) -> list[Any]:
    """The subschemas that the array schema itself has for the item `index`."""
    items = schema.get("items")
    first = _list(schema, "prefixItems") or (items if isinstance(items, list) else [])
    if index < len(first):
        return [first[index]]
    rest = schema.get("additionalItems") if isinstance(items, list) else items
    return [] if rest is None else [rest]


def _property(schema: Mapping[str, Any], key: str) -> list[Any]:
    """The subschemas that the object schema itself has for `key`."""
    found = []
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        found.append(properties[key])
    patterns = schema.get("patternProperties")
    for pattern, subschema in patterns.items() if isinstance(patterns, Mapping) else ():
        if _matches(pattern, key):
            found.append(subschema)
    if not found and "additionalProperties" in schema:
        found.append(schema["additionalProperties"])
    return found


def _matches(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False


def _types_of_property(schema: Any, key: str, root: Schema, depth: int) -> frozenset[str]:
    """The types that the value of `key` may have in objects of the schema."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return TYPES
    types = TYPES
    for subschema in _property(schema, key):
        types &= _types(subschema, root, depth + 1)
    if "$ref" in schema:
        types &= _types_of_property(_target(schema, root), key, root, depth + 1)
    for part in _list(schema, "allOf"):
        types &= _types_of_property(part, key, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        parts = _list(schema, keyword)
        if parts:
            types &= frozenset().union(*(_types_of_property(part, key, root, depth + 1) for part in parts))
    return types


def _types(schema: Any, root: Schema, depth: int) -> frozenset[str]:
    """The types that values of the schema may have."""
    if schema is False:
        return frozenset()
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return TYPES
    types = _named_types(schema.get("type"))
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(listed, list):
        types &= {type_of(value) for value in listed}
    if "$ref" in schema:
        types &= _types(_target(schema, root), root, depth + 1)
    for part in _list(schema, "allOf"):
        types &= _types(part, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        parts = _list(schema, keyword)
        if parts:
            types &= frozenset().union(*(_types(part, root, depth + 1) for part in parts))
    return types


def _named_types(named: Any) -> frozenset[str]:
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list):
        return TYPES
    return frozenset("number" if name == "integer" else name for name in names if isinstance(name, str))


def _is_listed(schema: Any, root: Schema, depth: int) -> bool:
    """Whether the schema lists values anywhere in its alternatives."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return False
    if "const" in schema or "enum" in schema:
        return True
    parts = [part for keyword in ("anyOf", "oneOf", "allOf") for part in _list(schema, keyword)]
    if "$ref" in schema:
        parts.append(_target(schema, root))
    return any(_is_listed(part, root, depth + 1) for part in parts)
