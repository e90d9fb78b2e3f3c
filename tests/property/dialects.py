"""Random schemas over every keyword of every draft, with references of every kind.

As in ``schemas.py`` everything comes from small pools, and a reference stands only
where a value has been entered, so every schema has a verdict for every value.
``unevaluated...`` is drawn for 2020-12 only: what evaluates in 2019-09 the judge does
not know (there ``contains`` does not, and an ``additionalProperties`` of a schema does).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.property.schemas import FORMATS, KEYS, NUMBERS, PATTERNS, SCALARS, TYPES, Json

DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    8: "https://json-schema.org/draft/2019-09/schema",
    9: "https://json-schema.org/draft/2020-12/schema",
}
"""By the number that orders them: 8 is 2019-09, 9 is 2020-12."""

LISTED: tuple[Json, ...] = (
    *SCALARS,
    [],
    [1],
    ["a", 1],
    {},
    {"a": 1},
    {"a": "a", "b": 1},
    {"a": {"b": 1, "c": 2}},
    [{"a": 1, "b": 2}],
)
STEPS = (1, 2, 3, 4, 0.5, 0.25, 10, 1.5)
NAMES = ("A", "b/c", "d%e~f")
"""Of definitions: a reference spells them with escapes."""


@dataclass(frozen=True)
class _Drawer:
    """Draws the schemas of one document."""

    rng: random.Random
    draft: int
    references: tuple[dict[str, Json], ...]

    def some(self, keywords: dict[str, Json], share: float) -> dict[str, Json]:
        return {keyword: value for keyword, value in keywords.items() if self.rng.random() < share}

    def keys(self, low: int, high: int) -> list[Json]:
        return list(self.rng.sample(KEYS, self.rng.randint(low, high)))

    def boolean(self) -> Json:
        """A schema that holds always or never; draft 4 has no booleans for that."""
        if self.draft == 4:
            return {} if self.rng.random() < 0.5 else {"not": {}}
        return self.rng.random() < 0.5

    def sub(self, depth: int, *, entered: bool) -> Json:
        if self.rng.random() < 0.08:
            return self.boolean()
        return self.schema(depth - 1, entered=entered) if depth > 0 else self.leaf()

    def typed(self) -> dict[str, Json]:
        names: list[Json] = list(self.rng.sample(TYPES, self.rng.randint(1, 3)))
        return {"type": names if self.rng.random() < 0.4 else names[0]}

    def listed(self) -> dict[str, Json]:
        if self.draft > 4 and self.rng.random() < 0.5:
            return {"const": self.rng.choice(LISTED)}
        return {"enum": list(self.rng.sample(LISTED, self.rng.randint(1, 4)))}

    def string(self) -> dict[str, Json]:
        rng = self.rng
        keywords: dict[str, Json] = {
            "minLength": rng.randint(0, 3),
            "maxLength": rng.randint(0, 4),
            "pattern": rng.choice(PATTERNS),
        }
        chosen = self.some(keywords, 0.4) | self.some({"format": rng.choice(FORMATS)}, 0.15)
        return ({"type": "string"} if rng.random() < 0.6 else {}) | chosen

    def number(self) -> dict[str, Json]:
        rng = self.rng
        keywords: dict[str, Json] = {
            "minimum": rng.choice(NUMBERS),
            "maximum": rng.choice(NUMBERS),
            "multipleOf": rng.choice(STEPS),
        }
        if self.draft > 4:
            keywords |= {"exclusiveMinimum": rng.choice(NUMBERS), "exclusiveMaximum": rng.choice(NUMBERS)}
        schema = self.some(keywords, 0.35)
        if self.draft == 4:
            for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
                if bound in schema:
                    schema |= self.some({exclusive: rng.random() < 0.7}, 0.5)
        return ({"type": rng.choice(("integer", "number"))} if rng.random() < 0.6 else {}) | schema

    def leaf(self) -> dict[str, Json]:
        leaf = self.rng.choice((self.string, self.number, self.listed, self.typed))()
        return leaf if self.rng.random() < 0.7 else leaf | self.rng.choice((self.string, self.number, self.typed))()

    def array(self, depth: int) -> dict[str, Json]:
        rng = self.rng

        def sub() -> Json:
            return self.sub(depth, entered=True)

        first: list[Json] = [sub() for _ in range(rng.randint(1, 2))]
        if self.draft == 9:
            schema = self.some({"prefixItems": first, "items": sub()}, 0.4)
        elif rng.random() < 0.5:
            schema = self.some({"items": first}, 0.7) | self.some({"additionalItems": sub()}, 0.5)
        else:
            schema = self.some({"items": sub()}, 0.5)
        schema |= self.some({"minItems": rng.randint(0, 3), "maxItems": rng.randint(0, 4)}, 0.35)
        if self.draft > 4 and rng.random() < 0.35:
            schema["contains"] = sub()
            if self.draft >= 8:
                schema |= self.some({"minContains": rng.randint(0, 2), "maxContains": rng.randint(0, 3)}, 0.4)
        if self.draft == 9 and rng.random() < 0.15:
            schema["unevaluatedItems"] = sub()
        if rng.random() < 0.12:
            schema["uniqueItems"] = rng.random() < 0.9
        return ({"type": "array"} if rng.random() < 0.7 else {}) | schema

    def object(self, depth: int, *, entered: bool) -> dict[str, Json]:
        rng = self.rng

        def sub() -> Json:
            return self.sub(depth, entered=True)

        often: dict[str, Json] = {
            "properties": {str(key): sub() for key in self.keys(1, 3)},
            "required": self.keys(1, 2),
            "additionalProperties": rng.choice((False, sub())),
        }
        rare: dict[str, Json] = {
            "patternProperties": {pattern: sub() for pattern in rng.sample(PATTERNS, rng.randint(1, 3))},
            "minProperties": rng.randint(0, 3),
            "maxProperties": rng.randint(0, 3),
        }
        needs: dict[str, Json] = {str(key): self.keys(1, 2) for key in self.keys(1, 2)}
        schemas: dict[str, Json] = {str(key): self.sub(depth, entered=entered) for key in self.keys(1, 1)}
        if self.draft > 4:
            rare["propertyNames"] = rng.choice((self.string(), self.listed(), self.boolean()))
        if self.draft >= 8:
            rare |= {"dependentRequired": needs, "dependentSchemas": schemas}
        else:
            rare["dependencies"] = needs | schemas
        if self.draft == 9:
            rare["unevaluatedProperties"] = self.boolean()
        chosen = self.some(often, 0.4) | self.some(rare, 0.17)
        return ({"type": "object"} if rng.random() < 0.7 else {}) | chosen

    def combined(self, depth: int, *, entered: bool) -> dict[str, Json]:
        def sub() -> Json:
            return self.sub(depth, entered=entered)

        keywords = ["anyOf", "allOf", "oneOf", "oneOf", "not"] + ["if", "if"] * (self.draft >= 7)
        match self.rng.choice(keywords):
            case "not":
                return {"not": sub()}
            case "if":
                return {"if": sub()} | self.some({"then": sub(), "else": sub()}, 0.6)
            case keyword:
                return {keyword: [sub() for _ in range(self.rng.randint(1, 3))]}

    def schema(self, depth: int, *, entered: bool) -> dict[str, Json]:
        rng = self.rng
        if entered and self.references and rng.random() < 0.2:
            reference = rng.choice(self.references)
            if rng.random() < 0.5:
                return reference
            return self.own(depth, entered=entered) | reference
        return self.own(depth, entered=entered)

    def own(self, depth: int, *, entered: bool) -> dict[str, Json]:
        match self.rng.choice(("leaf", "array", "object", "object", "combined", "combined")):
            case "leaf":
                schema = self.leaf()
            case "array":
                schema = self.array(depth)
            case "object":
                schema = self.object(depth, entered=entered)
            case _:
                schema = self.combined(depth, entered=entered)
        if self.rng.random() < 0.35:
            schema = self.combined(depth, entered=entered) | schema
        return schema


def _pointer(words: str, name: str) -> str:
    return f"#/{words}/" + name.replace("~", "~0").replace("/", "~1").replace("%", "%25")


def draw_dialect_schema(seed: int, draft: int) -> dict[str, Json]:
    """A root schema with definitions that are referred to by pointer, anchor, URI and dynamic anchor."""
    rng = random.Random(f"dialect {draft} {seed}")
    words = "$defs" if draft >= 8 else "definitions"
    names = NAMES[: rng.randint(0, 3)]
    based = rng.random() < 0.3
    references: list[dict[str, Json]] = [{"$ref": _pointer(words, name)} for name in names]
    references += [{"$ref": "#"}] if rng.random() < 0.3 else []
    if based and names:
        references.append({"$ref": "inner.json"})
    anchored = draft >= 6 and bool(names) and rng.random() < 0.4
    if anchored:
        references.append({"$ref": "#here"})
    dynamic = draft >= 8 and rng.random() < 0.3
    if dynamic:
        references.append({"$dynamicRef": "#node"} if draft == 9 else {"$recursiveRef": "#"})
    drawer = _Drawer(rng, draft, tuple(references))
    schema = drawer.schema(2, entered=False)
    definitions = {name: drawer.own(1, entered=False) for name in names}
    if dynamic:
        schema |= {"$dynamicAnchor": "node"} if draft == 9 else {"$recursiveAnchor": True}
    if anchored:
        definitions[names[-1]] |= {"$anchor": "here"} if draft >= 8 else {"$id": "#here"}
    if based and names and not (anchored and len(names) == 1):
        schema["id" if draft == 4 else "$id"] = "http://strictserve.test/outer.json"
        definitions[names[0]] = _resource(drawer, draft, dynamic=dynamic)
    elif based and names:
        schema["id" if draft == 4 else "$id"] = "http://strictserve.test/inner.json"
    if definitions:
        schema[words] = dict(definitions)
    return {"$schema": DRAFTS[draft]} | schema


def _resource(drawer: _Drawer, draft: int, *, dynamic: bool) -> dict[str, Json]:
    """A resource within the document: its own references lead to itself."""
    inner = _Drawer(drawer.rng, draft, ({"$ref": "#"}, {"$ref": "inner.json"}))
    schema = inner.own(1, entered=False) | {"id" if draft == 4 else "$id": "inner.json"}
    if dynamic and drawer.rng.random() < 0.5:
        schema |= {"$dynamicAnchor": "node"} if draft == 9 else {"$recursiveAnchor": True}
    return schema
