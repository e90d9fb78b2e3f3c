"""vLLM's structured-output backend on our engine: one compiler per engine process, one matcher per request.

Grammars are cached inside the compiler by content, so the choices of `n > 1` and later requests with the same
text share one. Compiles run on vLLM's compile threads, never on the step loop; a matcher belongs to the step
loop.

What vLLM calls "terminated" is: a stop token was accepted. From then on tokens are ignored and rows are
unconstrained.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

import torch
from vllm.logger import init_logger
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from engine_native import Cancellation, Compiler, Grammar, Matcher, Vocabulary
from server.vllm_plugin.step_stats import COMPILE_SECONDS, StatsWriter, open_writer
from server.vllm_plugin.stop_tokens import stop_token_ids

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.tokenizers import TokenizerLike

Whitespace = Literal["bounded", "none"]

logger = init_logger(__name__)

ROWS_AHEAD = 16
"""Mask rows of a request computed while its prompt is being read."""


class RequestGrammar(StructuredOutputGrammar):
    """One request's position in its grammar. Belongs to the step loop's thread."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self._budget: int | None = None

    def set_budget(self, tokens: int) -> None:
        """From here on, and after every `reset`: be whole within so many tokens, the stop token not counted.

        Raises:
            ValueError: fewer than the grammar needs.
            engine_native.EngineError: the grammar cannot be kept to a budget.
        """
        self.matcher.set_token_budget(tokens)
        self._budget = tokens

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Advance by `tokens`; False at the first forbidden one, with the ones before it accepted.

        Tokens after the stop token are ignored, as vLLM expects.
        """
        for token in tokens:
            if self.matcher.is_terminated():
                return True
            if not self.matcher.accept_token(token):
                logger.error("request %s: the grammar forbids the sampled token %d", request_id, token)
                return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The longest prefix that would be accepted; the position does not move."""
        return tokens[: self.matcher.validate_tokens(tokens)]

    def rollback(self, num_tokens: int) -> None:
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Fill one row. The step loop fills whole batches instead, see `batch_fill`."""
        self.matcher.fill_bitmask(bitmask[batch_index].numpy())

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated()

    def reset(self) -> None:
        self.matcher.reset()
        if self._budget is not None:
            self.matcher.set_token_budget(self._budget)


class NativeBackend(StructuredOutputBackend):
    """The backend of one engine process."""

    def __init__(self, vllm_config: VllmConfig, tokenizer: TokenizerLike, vocab_size: int) -> None:
        """Build vocabulary and compiler. `vocab_size` is the width of the logits, padding included."""
        super().__init__(vllm_config, tokenizer, vocab_size)
        stop = stop_token_ids(vllm_config.model_config, tokenizer)
        self.vocabulary = Vocabulary.from_tokenizer(tokenizer, vocab_size=vocab_size, stop_token_ids=stop)
        self.compiler = Compiler(self.vocabulary)
        self.stats: StatsWriter | None = open_writer(vllm_config.parallel_config.data_parallel_rank)
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="rows-ahead")
        self._closing = Cancellation()
        self._whitespace: Whitespace = (
            "none" if vllm_config.structured_outputs_config.disable_any_whitespace else "bounded"
        )

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> RequestGrammar:
        """Compile, or find again, and open a matcher that ends at `stop_token_ids`.

        Raises:
            engine_native.EngineError: the text cannot be enforced. Only this request fails.
        """
        began = time.perf_counter()
        grammar = compile_text(self.compiler, request_type, grammar_spec, whitespace=self._whitespace)
        matcher = Matcher(grammar, stop_token_ids=None if stop_token_ids is None else sorted(stop_token_ids))
        if self.stats is not None:
            self.stats.observe((COMPILE_SECONDS, time.perf_counter() - began))
            self.stats.set_compiler(self.compiler.stats())
        self._ahead.submit(grammar.precompute, ROWS_AHEAD, cancellation=self._closing)
        return RequestGrammar(matcher)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """int32 rows on the CPU: (max_num_seqs, ceil(vocab_size / 32)), nothing forbidden."""
        return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

    def destroy(self) -> None:
        self._closing.cancel()
        self._ahead.shutdown(cancel_futures=True)
        if self.stats is not None:
            self.stats.close()
            self.stats = None


def compile_text(
    compiler: Compiler, request_type: StructuredOutputOptions, text: str, *, whitespace: Whitespace = "bounded"
) -> Grammar:
    """Compile what vLLM carries as (kind, text).

    Raises:
        engine_native.EngineError: the text is malformed or cannot be enforced exactly.
    """
    # EBNF defines rules with "::=", Lark with ":". A list of grammars is JSON.
    ebnf = "::=" in text and not text.lstrip().startswith("{")
    compile_grammar = compiler.compile_ebnf if ebnf else compiler.compile_lark
    kinds: dict[StructuredOutputOptions, Callable[[], Grammar]] = {
        StructuredOutputOptions.JSON: lambda: compiler.compile_json_schema(text, whitespace=whitespace),
        StructuredOutputOptions.JSON_OBJECT: compiler.compile_json_object,
        StructuredOutputOptions.REGEX: lambda: compiler.compile_regex(text),
        StructuredOutputOptions.GRAMMAR: lambda: compile_grammar(text),
        StructuredOutputOptions.CHOICE: lambda: compiler.compile_choice(json.loads(text)),
        StructuredOutputOptions.STRUCTURAL_TAG: lambda: compiler.compile_structural_tag(text),
    }
    return kinds[request_type]()
