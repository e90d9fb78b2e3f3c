"""Whole grammar files: compile times, and mask times along a text, beside other engines.

    python -m tests.bench.whole_grammars tokenizer.json grammars.jsonl.gz [--engines ours,xgrammar,llguidance]

``grammars.jsonl.gz`` holds records with ``id`` and ``text``. Each engine compiles each grammar from scratch
``ROUNDS`` times and reads the same text token by token, first cold and then again. Compile times are minima
with the first mask included, mask times are means of the best round. An engine that refuses a grammar, or a
token of its text, has a dash. Priorities of rules and terminals are left out for engines that do not read them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import pathlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

ROUNDS = 3
Row = NDArray[np.int32]

C_TEXT = (
    "int main(int argc){int total = 0;for(int i = 0; i<argc; i = i+1){total = total+f(i, 2)*( 3-i );}"
    "if(total>=100){return total;}else{total = -total;}// done\n"
    "while(total<1000){total = total*2;print (total);}/* the end */return ( total );}"
)
SQL_TEXT = (
    "SELECT DISTINCT users.name AS n, COUNT(orders.id) total, "
    "CASE WHEN users.age >= 18 THEN 'adult' ELSE 'minor' END "
    "FROM users LEFT JOIN orders ON users.id = orders.user_id "
    "WHERE users.country IN ('DE', 'FR') AND orders.price * 2 > 10 "
    "GROUP BY users.name HAVING COUNT(orders.id) > 3 ORDER BY total DESC LIMIT 10"
)
GO_TEXT = """package main

import "fmt"

func sum(values []int, limit int) int {
	total := 0
	for i := 0; i < len(values); i++ {
		if values[i] > limit {
			continue
		}
		total += values[i] * 2
	}
	return total
}

func main() {
	fmt.Println(sum([]int{1, 2, 3}, 10), "done")
}
"""
JAVA_TEXT = """class Point {
    private int x = 0;
    int add(int other) {
        if (other > 10) { return x; }
        for (int i = 0; i < other; i++) { x = x + i * 2; }
        return x;
    }
}
"""
VERILOG_TEXT = """module adder (a, b, sum);
  input a, b; // operands
  output sum;
  wire carry;
  and gate1 (.A(a), .B(b), .Z(carry));
  assign sum = a ^ b & ~carry;
endmodule
"""
LARK_TEXT = """start: (item ("," item)*)?
item: NAME "=" value -> pair
    | "(" start ")"
?value: NUMBER | /[a-z]+/i
%import common.NUMBER
%ignore " "
"""
JSON_TEXT = (
    '[\n{"id": 1, "name": "a few words, and a number: 42", "tags": ["x", "y\\u00e9"], "ok": true},\n'
    '{"id": -2.5e3, "name": "", "tags": [], "nested": {"a": [1, 2, {"b": null}], "c": "d"}}]'
)
CHESS_TEXT = (
    "1. e4 e5\n2. Nf3 Nc6\n3. Bb5 a6\n4. Ba4 Nf6\n5. O-O Be7\n6. Re1 b5\n7. Bb3 d6\n8. c3 O-O\n9. h3 Nb8\n10. d4 Nbd7\n"
)
CALC_TEXT = "1 + 2 * (3.5 - 4e2) / 7 - (8 + (9 * 10)) + 11\n"
SMILES_TEXT = "O=C=NC1=CC(CC2=CC=C(C=C2N=C=O)CC3=CC=C(C=C3)N=C=O)=CC=C1"

CASES = {
    "C": ("ggml-org/llama.cpp/grammars/c.gbnf", C_TEXT),
    "JSON": ("ggml-org/llama.cpp/grammars/json_arr.gbnf", JSON_TEXT),
    "chess": ("ggml-org/llama.cpp/grammars/chess.gbnf", CHESS_TEXT),
    "SMILES": ("epfl-dlab/transformers-CFG/examples/grammars/SMILES/isocyanates.ebnf", SMILES_TEXT),
    "arithmetic": ("structuredllm/syncode/syncode/parsers/grammars/calc.lark", CALC_TEXT),
    "SQL": ("structuredllm/syncode/syncode/parsers/grammars/sql.lark", SQL_TEXT),
    "Go": ("structuredllm/syncode/syncode/parsers/grammars/go.lark", GO_TEXT),
    "Java": ("structuredllm/syncode/syncode/parsers/grammars/java.lark", JAVA_TEXT),
    "Verilog": ("lark-parser/lark/examples/grammars/verilog.lark", VERILOG_TEXT),
    "Lark": ("guidance-ai/llguidance/sample_parser/data/lark.lark", LARK_TEXT),
}


class Walker(Protocol):
    """One sequence."""

    def fill(self, row: Row) -> None:
        """Write the mask."""

    def accept(self, token: int) -> bool:
        """Go on with ``token``."""


Compile = Callable[[str, bool], Any]
"""Grammar text and whether it is Lark -> a grammar without anything remembered from before."""

Engine = tuple[Compile, Callable[[Any], Walker]]


@dataclass(frozen=True)
class Figures:
    """Milliseconds to the first mask; microseconds per mask when everything is new, its maximum, and when it is not."""

    ready_ms: float
    cold_us: float
    cold_max_us: float
    warm_us: float


class _Ours:
    def __init__(self, grammar: Any) -> None:
        from engine_native import Matcher

        self._matcher = Matcher(grammar)

    def fill(self, row: Row) -> None:
        self._matcher.fill_bitmask(row)

    def accept(self, token: int) -> bool:
        return self._matcher.accept_token(token)


def ours(path: str, size: int) -> Engine:
    """This engine; a new compiler each time, so that nothing is cached."""
    from engine_native import Compiler, Vocabulary

    vocabulary = Vocabulary.from_tokenizer_json(path, vocab_size=size)

    def compile_text(text: str, lark: bool) -> Any:
        compiler = Compiler(vocabulary)
        return compiler.compile_lark(text) if lark else compiler.compile_ebnf(text)

    return compile_text, _Ours


class _XGrammar:
    def __init__(self, grammar: Any) -> None:
        import xgrammar

        self._matcher = xgrammar.GrammarMatcher(grammar)

    def fill(self, row: Row) -> None:
        self._matcher.fill_next_token_bitmask(row.reshape(1, -1))

    def accept(self, token: int) -> bool:
        return bool(self._matcher.accept_token(token))


def xgrammar_engine(path: str, size: int) -> Engine:
    """xgrammar with its dynamic compilation, as vLLM uses it, without its caches."""
    import xgrammar
    from transformers import PreTrainedTokenizerFast

    info = xgrammar.TokenizerInfo.from_huggingface(PreTrainedTokenizerFast(tokenizer_file=path), vocab_size=size)
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False, enable_dynamic_compilation=True)

    def compile_text(text: str, lark: bool) -> Any:
        return compiler.compile_lark(without_priorities(text)) if lark else compiler.compile_grammar(text)

    return compile_text, _XGrammar


class _LLGuidance:
    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher.deep_copy()

    def fill(self, row: Row) -> None:
        self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.size * row.itemsize)
        if self._matcher.is_error():
            raise RuntimeError(self._matcher.get_error())

    def accept(self, token: int) -> bool:
        return bool(self._matcher.consume_token(token))


def llguidance_engine(path: str, size: int) -> Engine:
    """llguidance; GBNF goes through its own converter."""
    import llguidance
    import llguidance.hf
    from llguidance.gbnf_to_lark import any_to_lark
    from transformers import PreTrainedTokenizerFast

    tokenizer = llguidance.hf.from_tokenizer(PreTrainedTokenizerFast(tokenizer_file=path), n_vocab=size, eos_token=0)

    def compile_text(text: str, lark: bool) -> Any:
        source = without_priorities(text) if lark else any_to_lark(text)
        matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(source), log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    return compile_text, _LLGuidance


ENGINES: dict[str, Callable[[str, int], Engine]] = {
    "ours": ours,
    "xgrammar": xgrammar_engine,
    "llguidance": llguidance_engine,
}


def without_priorities(text: str) -> str:
    """Lark text with ``NAME.2:`` as ``NAME:``."""
    return re.sub(r"(?m)^(\s*[?!]*\w+)\s*\.-?\d+(\s*:)", r"\1\2", text)


def measure(engine: Engine, text: str, lark: bool, tokens: Sequence[int], words: int) -> Figures:
    """The best of ``ROUNDS`` rounds. ValueError when the engine refuses the text."""
    compile_text, walk = engine
    row = np.zeros(words, dtype=np.int32)
    ready, cold, cold_max, warm = (math.inf,) * 4
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        grammar = compile_text(text, lark)
        walk(grammar).fill(row)
        ready = min(ready, time.perf_counter() - begin)
        first = _along(walk(grammar), tokens, row)
        cold, cold_max = min((cold, cold_max), (sum(first) / len(first), max(first)))
        again = _along(walk(grammar), tokens, row)
        warm = min(warm, sum(again) / len(again))
    return Figures(ready * 1e3, cold * 1e6, cold_max * 1e6, warm * 1e6)


def _along(walker: Walker, tokens: Sequence[int], row: Row) -> list[float]:
    times = []
    for token in tokens:
        begin = time.perf_counter()
        walker.fill(row)
        times.append(time.perf_counter() - begin)
        if not row[token >> 5] >> (token & 31) & 1 or not walker.accept(token):
            raise ValueError(f"token {token} is refused")
    return times


def main() -> None:
    """Print a table with a row per grammar and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("grammars", type=pathlib.Path)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--cases", default=",".join(CASES))
    arguments = parser.parse_args()
    with gzip.open(arguments.grammars, "rt", encoding="utf-8") as lines:
        texts = {record["id"].removeprefix("grammar:"): record["text"] for record in map(json.loads, lines)}
    tokenizer = Tokenizer.from_file(arguments.tokenizer)
    size = tokenizer.get_vocab_size()
    engines = {name: ENGINES[name](arguments.tokenizer, size) for name in arguments.engines.split(",")}
    print("| grammar | engine | ready ms | first masks us | their max | again us |")
    print("|---|---|---|---|---|---|")
    for case in arguments.cases.split(","):
        name, text = CASES[case]
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        for engine_name, engine in engines.items():
            try:
                f = measure(engine, texts[name], name.endswith(".lark"), tokens, (size + 31) // 32)
            except Exception as error:  # whatever an engine raises is a refusal
                reason = " ".join(str(error).split())[:90]
                print(f"| {case} | {engine_name} | - | - | - | {reason} |")
                continue
            columns = (f"{f.ready_ms:.2f}", f"{f.cold_us:.1f}", f"{f.cold_max_us:.0f}", f"{f.warm_us:.1f}")
            print(f"| {case} | {engine_name} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
