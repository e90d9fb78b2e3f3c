"""Masks of loops that share their characters with something else, against what accept_token takes."""

import numpy as np
import pytest

from engine_native import Compiler, Matcher, Vocabulary

_CASES = {
    "another reading takes more than the count leaves": (
        "root ::= .{3,4} | R\nR ::= R . | . .",
        [b"a", b"aa", b"aaaa"],
    ),
    "left by a byte beyond ASCII once the least count is there": (
        'root ::= (("€" | [A-ࡠ]) ab){1,}\nab ::= [\\x00-a]{2,}',
        [b"a", b"aa\xe2", b"a\xe2", b"aaa\xe2\x82"],
    ),
    "left by a byte that the least count does not let in yet": (
        'root ::= "<" [a-zA-Z]{3,6} ">" "x"*',
        [b"<", b"a", b"ab>", b"abc>", b"abc>x", b"abcdef>", b"abcdefg", b"<ab>", b"<abc>xx"],
    ),
    "what follows the least count may begin with one of its characters": (
        'root ::= [\\x00-a]{3,60} "a\ue000"',
        [b"a", b"a%a\xee", b"%%\xee", b"%a\xee", b"\x80\x80"],
    ),
    "what follows the count begins with its characters": (
        'root ::= [a-z]{2,4} "zz"',
        [b"a", b"z", b"zz", b"aazz", b"aaaazz", b"aaaaazz", b"aaaa", b"aaaaa"],
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_mask_of_a_loop_is_what_accept_token_takes(name: str) -> None:
    grammar, tokens = _CASES[name]
    compiled = Compiler(Vocabulary(tokens, stop_token_ids=[])).compile_ebnf(grammar)
    todo, seen = [[]], 0
    while todo:
        prefix = todo.pop()
        matcher = Matcher(compiled)
        assert matcher.accept_tokens(prefix) == len(prefix)
        row = np.zeros(1, dtype=np.int32)
        matcher.fill_bitmask(row)
        allowed = {t for t in range(len(tokens)) if row[0] >> t & 1}

        taken = {t for t in range(len(tokens)) if Matcher(compiled).accept_tokens([*prefix, t]) == len(prefix) + 1}

        assert allowed == taken, prefix
        seen += 1
        if len(prefix) < 4:
            todo += [[*prefix, t] for t in sorted(taken)]
    assert seen > 4
