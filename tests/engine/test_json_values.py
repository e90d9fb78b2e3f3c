"""Values become JSON text exactly, or are refused."""

from __future__ import annotations

import collections
import math

import pytest

from engine_native import EngineError, GrammarSyntaxError, Matcher
from tests.engine.vocabularies import accepts, compiler


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_number_that_is_no_json_is_refused_where_it_means_something(value: float) -> None:
    with pytest.raises(GrammarSyntaxError, match="not a JSON value"):
        compiler().compile_json_schema({"const": value})
    with pytest.raises(GrammarSyntaxError, match="not a JSON value"):
        compiler().compile_json_schema({"enum": [1, value]})
    with pytest.raises(EngineError):
        compiler().compile_json_schema({"minimum": value})
    assert accepts(Matcher(compiler().compile_json_schema({"title": "null", "default": value})), "1")


def test_schema_object_with_what_the_fast_encoder_refuses_is_read_all_the_same() -> None:
    big = 1 << 80
    assert accepts(Matcher(compiler().compile_json_schema({"const": big})), str(big))
    assert accepts(Matcher(compiler().compile_json_schema({"const": None, "default": None})), "null")
    assert accepts(Matcher(compiler().compile_json_schema({"const": collections.OrderedDict(a=1)})), '{"a": 1}')
    with pytest.raises(GrammarSyntaxError, match="not a JSON value"):
        compiler().compile_json_schema({"const": b"bytes"})
