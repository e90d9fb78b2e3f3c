"""Numbers with an exponent between bounds, against exact arithmetic."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from engine_native import Matcher, SchemaError
from tests.engine.vocabularies import accepts, compiler

BOUNDS = ["0", "1", "-1", "5", "10", "-10", "0.5", "-0.25", "99.99", "1e5", "-1e-7", "123456789.125", "1e-30", "0.001"]


def _schemas(rng: random.Random) -> tuple[dict[str, Any], str]:
    """A schema as JSON text, because bounds have to be exact, and its bounds."""
    bounds = {}
    for names in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if rng.random() < 0.75:
            bounds[rng.choice(names)] = rng.choice(BOUNDS)
    text = "".join(f', "{name}": {value}' for name, value in bounds.items())
    return bounds, f'{{"type": "number"{text}}}'


def _spelled(rng: random.Random) -> str:
    near = Decimal(rng.choice(BOUNDS))
    _, digits, _exponent = near.as_tuple()
    shifted = "".join(map(str, digits)).lstrip("0") or rng.choice("123456789")
    if rng.random() < 0.6:
        place = rng.randrange(len(shifted))
        shifted = shifted[:place] + rng.choice("0123456789") + shifted[place + 1 :]
    if shifted[0] == "0":
        shifted = "1" + shifted[1:]
    shifted += rng.choice(["", "", "0", "1", "000", "0001"])
    mantissa = shifted[0] + ("." + shifted[1:] if len(shifted) > 1 else "")
    power = near.adjusted() + rng.choice([0, 0, 0, 1, -1, 7])
    sign = "-" if power < 0 else rng.choice(["", "+"])
    return f"{rng.choice(['', '', '-'])}{mantissa}{rng.choice('eE')}{sign}{rng.choice(['', '0', '00'])}{abs(power)}"


def _inside(value: Decimal, bounds: dict[str, str]) -> bool:
    limits = {name: Decimal(text) for name, text in bounds.items()}
    return (
        value >= limits.get("minimum", value)
        and value <= limits.get("maximum", value)
        and ("exclusiveMinimum" not in limits or value > limits["exclusiveMinimum"])
        and ("exclusiveMaximum" not in limits or value < limits["exclusiveMaximum"])
    )


@pytest.mark.parametrize("seed", range(40))
def test_scientific_notation_is_accepted_exactly_between_the_bounds(seed: int) -> None:
    rng = random.Random(seed)
    bounds, schema = _schemas(rng)
    try:
        grammar = compiler().compile_json_schema(schema)
    except SchemaError:  # the bounds leave nothing
        grammar = None
    for _ in range(250):
        text = _spelled(rng)
        accepted = grammar is not None and accepts(Matcher(grammar), text)
        assert accepted == _inside(Decimal(text), bounds), (schema, text)


def test_exponents_that_doubles_do_not_have_are_refused_beside_bounds() -> None:
    grammar = compiler().compile_json_schema({"type": "number", "exclusiveMinimum": 0})

    assert accepts(Matcher(grammar), "1e300")
    assert accepts(Matcher(grammar), "1e-300")
    assert not accepts(Matcher(grammar), "1e301")
    assert not accepts(Matcher(grammar), "1e-301")  # many readers would take it for 0


@pytest.mark.parametrize("text", ["10e3", "0e3", "1.e3", "1e", "1e+", "1e1.5", ".5e3", "12.5e1"])
def test_other_mantissas_and_no_numbers_are_refused_beside_bounds(text: str) -> None:
    grammar = compiler().compile_json_schema({"type": "number", "maximum": 1000000})

    assert not accepts(Matcher(grammar), text)


def test_integers_have_no_exponent() -> None:
    assert not accepts(Matcher(compiler().compile_json_schema({"type": "integer", "minimum": 5})), "1e3")


@pytest.mark.parametrize("step", ["0.5", "40", "3", "0.75", "1000", "12500", "7"])
def test_one_digit_with_an_exponent_is_accepted_exactly_if_it_is_a_multiple(step: str) -> None:
    grammar = compiler().compile_json_schema(f'{{"type": "number", "multipleOf": {step}}}')
    for digit in range(1, 10):
        for power in (0, 1, 2, 3, 4, 5, 9, 40, 307, 308, 309):
            text = f"{digit}e{power}"
            multiple = (digit * 10**power * 100) % int(Decimal(step) * 100) == 0
            finite = float(text) != float("inf")
            assert accepts(Matcher(grammar), text) == (multiple and finite), text
    assert not accepts(Matcher(grammar), "5e-1")


def test_whole_multiples_have_exponents_from_draft_6_on() -> None:
    schema = {"type": "integer", "multipleOf": 0.5}
    draft_4 = schema | {"$schema": "http://json-schema.org/draft-04/schema#"}

    assert accepts(Matcher(compiler().compile_json_schema(schema)), "1e308")
    assert not accepts(Matcher(compiler().compile_json_schema(draft_4)), "1e308")
